"""CP and TP: both exchange data in every layer and must stay on NVLink."""

from parsolve.constraints.formula import all_of, divides, quotient
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.sources import PARALLELISM_CONFIG
from parsolve.constraints.rule import Example, Rule, Source

CP_SOURCE = Source(PARALLELISM_CONFIG, "_validate_cp_locality")
TP_SOURCE = Source(PARALLELISM_CONFIG, "_validate_tp")

CP_REASON = "Ulysses runs an all-to-all in every layer, which must stay on NVLink."
TP_REASON = "Some TP group would straddle two NVLink domains."
TILES = "TP groups are equal blocks of a stage's ranks."

CONTEXT = (
    Rule(
        id="cp-exceeds-domain",
        stage="axis-locality",
        when=f.cp_size > 1,
        requires=f.cp_size <= q.nvlink_domain_size,
        reason=CP_REASON,
        remedy="Use a CP size that divides the NVLink domain.",
        source=CP_SOURCE,
        example=Example(
            rejects={"world_size": 16, "gpus_per_node": 8, "cp_size": 16},
            instead={"world_size": 16, "gpus_per_node": 8, "cp_size": 8},
        ),
    ),
    Rule(
        id="cp-not-dividing-domain",
        stage="axis-locality",
        when=f.cp_size > 1,
        requires=divides(f.cp_size, q.nvlink_domain_size),
        reason=CP_REASON,
        remedy="Use a CP size that divides the NVLink domain.",
        source=CP_SOURCE,
        example=Example(
            rejects={"world_size": 8, "cp_size": 3}, instead={"world_size": 8, "cp_size": 2}
        ),
    ),
)

TENSOR = (
    Rule(
        id="tp-exceeds-stage",
        stage="axis-locality",
        when=f.tp_size > 1,
        requires=f.tp_size <= q.stage_world_size,
        reason=TILES,
        remedy="Use a TP size that divides the NVLink domain.",
        source=TP_SOURCE,
        example=Example(
            rejects={"world_size": 8, "tp_size": 16}, instead={"world_size": 8, "tp_size": 8}
        ),
    ),
    Rule(
        id="tp-not-dividing-stage",
        stage="axis-locality",
        when=f.tp_size > 1,
        requires=divides(f.tp_size, q.stage_world_size),
        reason=TILES,
        remedy="Use a TP size that divides the NVLink domain.",
        source=TP_SOURCE,
        example=Example(
            rejects={"world_size": 8, "tp_size": 3}, instead={"world_size": 8, "tp_size": 4}
        ),
    ),
    Rule(
        id="ep-not-multiple-of-tp",
        stage="composition",
        when=all_of(f.tp_size > 1, f.ep_size > 1),
        requires=divides(f.tp_size, f.ep_size),
        reason="An EP group must hold whole TP groups, else gradients count twice and tokens go "
        "to the wrong rank.",
        remedy="Use an EP size that is a multiple of the TP size and that the other rules allow.",
        source=TP_SOURCE,
        example=Example(
            rejects={"world_size": 8, "ep_size": 2, "tp_size": 4},
            instead={"world_size": 8, "ep_size": 8, "tp_size": 4},
        ),
    ),
    Rule(
        id="tp-not-dividing-domain",
        stage="axis-locality",
        when=f.tp_size > 1,
        requires=divides(f.tp_size, q.nvlink_domain_size),
        reason=TP_REASON,
        remedy="Use a TP size that divides the NVLink domain, and data parallelism across domains.",
        source=TP_SOURCE,
        example=Example(
            rejects={"world_size": 16, "gpus_per_node": 8, "tp_size": 16},
            instead={"world_size": 16, "gpus_per_node": 8, "tp_size": 8},
        ),
    ),
    Rule(
        id="ep-tp-multi-domain-multi-group",
        stage="composition",
        when=all_of(f.tp_size > 1, f.ep_size > 1, q.num_nvlink_domains > 1),
        requires=quotient(q.stage_world_size, q.ep_group_size) <= 1,
        reason="The average across expert replicas assumes a mesh of EP groups, while EP with TP "
        "runs on a mesh of data-parallel and TP ranks.",
        remedy="Use one global EP group over all ranks, or drop TP.",
        source=TP_SOURCE,
        example=Example(
            rejects={"world_size": 16, "gpus_per_node": 8, "ep_size": 8, "tp_size": 2},
            instead={"world_size": 16, "gpus_per_node": 8, "ep_size": 16, "tp_size": 2},
        ),
    ),
)
