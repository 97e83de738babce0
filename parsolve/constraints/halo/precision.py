"""Low precision: which formats exist and whether they apply to anything."""

from parsolve.constraints.formula import all_of, any_of, one_of
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo.sources import PARALLELISM_CONFIG
from parsolve.constraints.rule import Example, Rule, Source

LOWP = Source(PARALLELISM_CONFIG, "_validate_lowp")

PRECISION = (
    Rule(
        id="lowp-enum",
        stage="low-precision",
        requires=one_of(f.lowp_precision, f.lowp_precision.choices),
        reason="No kernel of this precision is wired.",
        remedy="Use bf16, fp8, fp4 or mxfp4.",
        source=LOWP,
        example=Example(
            rejects={"world_size": 8, "lowp_precision": "int8"},
            instead={"world_size": 8, "lowp_precision": "fp8"},
        ),
    ),
    Rule(
        id="lowp-keep-blocks-min",
        stage="low-precision",
        requires=all_of(f.lowp_keep_first_blocks >= 0, f.lowp_keep_last_blocks >= 0),
        reason="A negative number of blocks cannot be kept in bf16.",
        remedy="Use a count that is not negative.",
        source=LOWP,
        example=Example(
            rejects={"world_size": 8, "lowp_precision": "fp8", "lowp_keep_first_blocks": -1},
            instead={"world_size": 8, "lowp_precision": "fp8", "lowp_keep_first_blocks": 1},
        ),
    ),
    Rule(
        id="lowp-applies-to-nothing",
        stage="low-precision",
        when=f.lowp_precision != "bf16",
        requires=any_of(f.lowp_apply_dense_mlp, f.lowp_apply_moe_experts),
        reason="Low precision is on, but switched off for dense MLPs and for experts alike.",
        remedy="Apply it to one of them, or use bf16.",
        source=LOWP,
        example=Example(
            rejects={
                "world_size": 8,
                "lowp_precision": "fp8",
                "lowp_apply_dense_mlp": False,
                "lowp_apply_moe_experts": False,
            },
            instead={"world_size": 8, "lowp_precision": "fp8", "lowp_apply_dense_mlp": False},
        ),
    ),
)
