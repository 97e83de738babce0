"""The entry script: what it refuses before any configuration object exists, and after one."""

from parsolve.constraints.formula import all_of, any_of, one_of
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.sources import PARALLELISM_ARGS
from parsolve.constraints.rule import Example, Rule, Source

ARGS = Source(PARALLELISM_ARGS, "parallelism_config_from_args")

CP_TRAINERS = ("sft", "smpo")
"""Trainers whose loss can be computed from a chunk of the sequence.

The framework's newest tree adds offline GRPO; the project's source document does not.
"""
PP_TRAINERS = ("sft", "smpo", "dpo", "kto", "offline_grpo", "reward", "classification")
"""Trainers whose loss is a function of the last stage."""

GIVEN = f.trainer != f.UNSPECIFIED
NOT_SFT = all_of(GIVEN, f.trainer != "sft")

ENTRY = (
    Rule(
        id="lowp-non-sft",
        stage="trainer-construction",
        when=NOT_SFT,
        requires=f.lowp_precision == "bf16",
        reason="Only the SFT script hands low precision to the loader.",
        remedy="Remove it, or use the SFT trainer.",
        source=ARGS,
        example=Example(
            rejects={"world_size": 8, "trainer": "dpo", "lowp_precision": "fp8"},
            instead={"world_size": 8, "trainer": "sft", "lowp_precision": "fp8"},
        ),
    ),
    Rule(
        id="lowp-shape-knob-non-sft",
        stage="trainer-construction",
        when=NOT_SFT,
        requires=all_of(
            f.lowp_apply_dense_mlp,
            f.lowp_apply_moe_experts,
            f.lowp_keep_first_blocks == 0,
            f.lowp_keep_last_blocks == 0,
        ),
        reason="Scripts other than SFT would drop these low-precision knobs unread.",
        remedy="Remove them.",
        source=ARGS,
        example=Example(
            rejects={"world_size": 8, "trainer": "dpo", "lowp_keep_last_blocks": 2},
            instead={"world_size": 8, "trainer": "dpo"},
        ),
    ),
    Rule(
        id="init-from-scratch-non-sft",
        stage="trainer-construction",
        when=NOT_SFT,
        requires=~f.init_from_scratch,
        reason="Scripts other than SFT would train the pretrained weights instead.",
        remedy="Use the SFT trainer.",
        source=ARGS,
        example=Example(
            rejects={"world_size": 8, "trainer": "dpo", "init_from_scratch": True},
            instead={"world_size": 8, "trainer": "sft", "init_from_scratch": True},
        ),
    ),
    Rule(
        id="trainer-no-cp",
        stage="trainer-construction",
        when=all_of(GIVEN, f.cp_size > 1),
        requires=one_of(f.trainer, CP_TRAINERS),
        reason="This trainer's loss cannot be computed from a chunk of the sequence.",
        remedy="Drop CP; use EP and/or TP.",
        source=ARGS,
        example=Example(
            rejects={"world_size": 8, "trainer": "dpo", "cp_size": 2},
            instead={"world_size": 8, "trainer": "dpo", "tp_size": 2},
        ),
    ),
    Rule(
        id="trainer-no-pp",
        stage="trainer-construction",
        when=all_of(GIVEN, f.pp_size > 1),
        requires=one_of(f.trainer, PP_TRAINERS),
        reason="This trainer's loss needs more than what the last pipeline stage computes.",
        remedy="Drop PP; use EP and/or TP.",
        source=ARGS,
        example=Example(
            rejects={"world_size": 16, "trainer": "embedding", "pp_size": 2, "assume_pp": True},
            instead={"world_size": 16, "trainer": "embedding", "ep_size": 16},
        ),
    ),
    Rule(
        id="pp-release-gate",
        stage="release-gate",
        when=~f.assume_pp,
        requires=f.pp_size <= 1,
        reason="The pipeline schedule engine is not part of this release.",
        remedy="Shard with EP, TP or CP instead.",
        source=ARGS,
        example=Example(
            rejects={"world_size": 16, "pp_size": 2}, instead={"world_size": 16, "tp_size": 2}
        ),
    ),
)

AFTER_CONFIG = (
    Rule(
        id="determinism-cross-domain-ep",
        stage="trainer-construction",
        when=f.full_determinism,
        requires=~q.requires_rdma,
        reason="Expert dispatch across NVLink domains has no deterministic mode.",
        remedy="Use node-scope EP, a wider NVLink domain, or drop full_determinism.",
        source=ARGS,
        example=Example(
            rejects={"world_size": 16, "ep_size": 16, "full_determinism": True},
            instead={"world_size": 16, "ep_size": 8, "full_determinism": True},
        ),
    ),
)

LOWP_KNOBS = any_of(
    ~f.lowp_apply_dense_mlp,
    ~f.lowp_apply_moe_experts,
    f.lowp_keep_first_blocks > 0,
    f.lowp_keep_last_blocks > 0,
)
