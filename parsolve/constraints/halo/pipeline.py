"""Pipeline parallelism: what a stage must own, and what does not compose with it."""

from parsolve.constraints.formula import Compare, all_of, divides
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.sources import PARALLELISM_CONFIG
from parsolve.constraints.rule import Example, Rule, Source

PIPELINE_SOURCE = Source(PARALLELISM_CONFIG, "_validate_pipeline_parallel")
ON = f.pp_size > 1
TWO_STAGES = {"world_size": 16, "gpus_per_node": 8, "pp_size": 2, "assume_pp": True}


def _inert_knob(identity: str, knob: str, off: Compare, value: object) -> Rule:
    return Rule(
        id=identity,
        stage="composition",
        when=f.pp_size == 1,
        requires=off,
        reason="Without pipeline stages nothing reads this knob, so it would promise what does "
        "not happen.",
        remedy="Remove it, or set a pipeline size.",
        source=PIPELINE_SOURCE,
        example=Example(rejects={"world_size": 8, knob: value}, instead={"world_size": 8}),
    )


PIPELINE = (
    _inert_knob("pp-knob-split-without-pp", "pp_split", f.pp_split.length == 0, [1, 1]),
    _inert_knob("pp-knob-microbatches-without-pp", "pp_microbatches", f.pp_microbatches == 0, 8),
    _inert_knob("pp-knob-schedule-without-pp", "pp_schedule", f.pp_schedule == "1f1b", "gpipe"),
    Rule(
        id="pp-expert-lora",
        stage="composition",
        when=ON,
        requires=~f.expert_lora,
        reason="Adapter files would carry layer numbers that are local to a stage.",
        remedy="Train expert adapters without PP.",
        source=PIPELINE_SOURCE,
        example=Example(rejects={**TWO_STAGES, "expert_lora": True}, instead=TWO_STAGES),
    ),
    Rule(
        id="pp-split-length",
        stage="composition",
        when=all_of(ON, f.pp_split.length > 0),
        requires=f.pp_split.length == f.pp_size,
        reason="The split must state one layer count per stage.",
        remedy="Give as many counts as stages, or leave the split out.",
        source=PIPELINE_SOURCE,
        example=Example(
            rejects={**TWO_STAGES, "pp_split": [4, 4, 4]},
            instead={**TWO_STAGES, "pp_split": [6, 6]},
        ),
    ),
    Rule(
        id="pp-split-entry-min",
        stage="composition",
        when=all_of(ON, f.pp_split.length > 0),
        requires=f.pp_split.smallest >= 1,
        reason="Every stage needs at least one layer.",
        remedy="Give each stage a layer, or use fewer stages.",
        source=PIPELINE_SOURCE,
        example=Example(
            rejects={**TWO_STAGES, "pp_split": [12, 0]},
            instead={**TWO_STAGES, "pp_split": [6, 6]},
        ),
    ),
    Rule(
        id="pp-stage-not-whole-domains",
        stage="composition",
        when=ON,
        requires=divides(q.nvlink_domain_size, q.stage_world_size),
        reason="A stage of whole NVLink domains keeps every inner group inside it, so that only "
        "activations cross.",
        remedy="Use a number of stages that divides the number of NVLink domains.",
        source=PIPELINE_SOURCE,
        example=Example(rejects={**TWO_STAGES, "pp_size": 4}, instead=TWO_STAGES),
    ),
    Rule(
        id="pp-single-rank-stage",
        stage="composition",
        when=ON,
        requires=q.stage_world_size != 1,
        reason="The stage's FSDP wrap assumes at least two ranks.",
        remedy="Use fewer stages.",
        source=PIPELINE_SOURCE,
        example=Example(
            rejects={"world_size": 2, "gpus_per_node": 1, "pp_size": 2, "assume_pp": True},
            instead={"world_size": 4, "gpus_per_node": 1, "pp_size": 2, "assume_pp": True},
        ),
    ),
    Rule(
        id="pp-unsharded-ep1-experts",
        stage="composition",
        when=all_of(ON, q.needs_ep_wrappers, q.ep_group_size == 1),
        requires=f.fsdp_shard_ep1_experts,
        reason="Stages with and without experts would run different collectives at the "
        "gradient norm.",
        remedy="Let FSDP shard the experts.",
        source=PIPELINE_SOURCE,
        example=Example(
            rejects={**TWO_STAGES, "fsdp_shard_ep1_experts": False}, instead=TWO_STAGES
        ),
    ),
    Rule(
        id="pp-hsdp",
        stage="composition",
        when=ON,
        requires=~f.use_hsdp,
        reason="The two-dimensional HSDP mesh cannot be limited to one stage's block of ranks.",
        remedy="Use plain FSDP inside the stages.",
        source=PIPELINE_SOURCE,
        example=Example(
            rejects={**TWO_STAGES, "world_size": 32, "use_hsdp": True},
            instead={**TWO_STAGES, "world_size": 32},
        ),
    ),
    Rule(
        id="pp-reshard-after-forward",
        stage="composition",
        when=ON,
        requires=~f.fsdp_reshard_after_forward,
        reason="The schedule keeps a stage gathered; nobody has shown that ZeRO-3 composes with "
        "that.",
        remedy="Use ZeRO-2 with activation checkpointing.",
        source=PIPELINE_SOURCE,
        example=Example(
            rejects={**TWO_STAGES, "fsdp_reshard_after_forward": True}, instead=TWO_STAGES
        ),
    ),
    Rule(
        id="pp-lowp",
        stage="composition",
        when=ON,
        requires=f.lowp_precision == "bf16",
        reason="The numbering of blocks kept in bf16 restarts in every stage.",
        remedy="Use low precision without PP.",
        source=PIPELINE_SOURCE,
        example=Example(rejects={**TWO_STAGES, "lowp_precision": "fp8"}, instead=TWO_STAGES),
    ),
)
