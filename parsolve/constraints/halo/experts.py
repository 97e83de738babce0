"""Expert groups: where they may lie, how they split, and which of them race."""

from parsolve.constraints.formula import all_of, any_of, divides, one_of, quotient
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.sources import PARALLELISM_CONFIG
from parsolve.constraints.rule import Example, Rule, Source

GROUP = Source(PARALLELISM_CONFIG, "_validate_ep_group")
EXPERT_TP_SOURCE = Source(PARALLELISM_CONFIG, "_validate_expert_tp")
EP_CP_SOURCE = Source(PARALLELISM_CONFIG, "_validate_ep_cp")
RACE = Source(PARALLELISM_CONFIG, "_validate_single_domain_multigroup_ep")
BUFFER = Source(PARALLELISM_CONFIG, "_validate_ep_buffer_backend")

LEGACY_WIDTHS = (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 144, 160)
"""Dispatch widths that the legacy buffer ships tuning tables for."""

LEGACY_PEERS = 8
"""Peers that the legacy buffer reaches by CUDA IPC."""

IN_DOMAIN = all_of(q.ep_group_size > 1, q.ep_scope == "node")
ACROSS = all_of(q.ep_group_size > 1, q.ep_scope == "global")

BLOCKS = (
    "Dispatch inside a domain addresses peers by device offset, so each domain's members of a "
    "group must be one contiguous block, equal in every domain."
)
TWO_NODES = {"world_size": 16, "gpus_per_node": 8}
FOUR_NODES = {"world_size": 32, "gpus_per_node": 8}

EP_GROUP = (
    Rule(
        id="ep-node-group-exceeds-domain",
        stage="axis-locality",
        when=IN_DOMAIN,
        requires=q.ep_group_size <= q.nvlink_domain_size,
        reason=BLOCKS,
        remedy="Let the group span domains with ep_scope global, or make it smaller.",
        source=GROUP,
        example=Example(
            rejects={**TWO_NODES, "ep_size": 16, "ep_scope": "node"},
            instead={**TWO_NODES, "ep_size": 16, "ep_scope": "global"},
        ),
    ),
    Rule(
        id="ep-node-group-not-dividing-domain",
        stage="axis-locality",
        when=IN_DOMAIN,
        requires=divides(q.ep_group_size, q.nvlink_domain_size),
        reason=BLOCKS,
        remedy="Use a group that divides the NVLink domain.",
        source=GROUP,
        example=Example(
            rejects={"world_size": 8, "ep_size": 3}, instead={"world_size": 8, "ep_size": 2}
        ),
    ),
    Rule(
        id="ep-global-group-exceeds-stage",
        stage="axis-locality",
        when=ACROSS,
        requires=q.ep_group_size <= q.stage_world_size,
        reason="An EP group cannot have more ranks than its pipeline stage.",
        remedy="Use a group that divides the stage.",
        source=GROUP,
        example=Example(rejects={**TWO_NODES, "ep_size": 32}, instead={**TWO_NODES, "ep_size": 16}),
    ),
    Rule(
        id="ep-global-group-not-dividing-stage",
        stage="axis-locality",
        when=ACROSS,
        requires=divides(q.ep_group_size, q.stage_world_size),
        reason="EP groups tile the ranks of a pipeline stage.",
        remedy="Use a group that divides the stage.",
        source=GROUP,
        example=Example(rejects={**TWO_NODES, "ep_size": 12}, instead={**TWO_NODES, "ep_size": 16}),
    ),
    Rule(
        id="ep-global-world-not-whole-domains",
        stage="axis-locality",
        when=ACROSS,
        requires=divides(q.nvlink_domain_size, q.stage_world_size),
        reason=BLOCKS,
        remedy="Use stages of whole NVLink domains.",
        source=GROUP,
        example=Example(
            rejects={
                **FOUR_NODES,
                "nvlink_domain_size": 32,
                "pp_size": 2,
                "ep_size": 16,
                "ep_scope": "global",
                "assume_pp": True,
            },
            instead={
                **FOUR_NODES,
                "pp_size": 2,
                "ep_size": 16,
                "ep_scope": "global",
                "assume_pp": True,
            },
        ),
    ),
    Rule(
        id="ep-global-not-multiple-of-domains",
        stage="axis-locality",
        when=ACROSS,
        requires=divides(q.num_nvlink_domains, q.ep_group_size),
        reason=BLOCKS,
        remedy="Use one group over the whole stage, or node scope.",
        source=GROUP,
        example=Example(
            rejects={"world_size": 24, "gpus_per_node": 8, "ep_size": 4, "ep_scope": "global"},
            instead={"world_size": 24, "gpus_per_node": 8, "ep_size": 24, "ep_scope": "global"},
        ),
    ),
    Rule(
        id="ep-global-block-not-dividing-domain",
        stage="axis-locality",
        when=ACROSS,
        requires=divides(quotient(q.ep_group_size, q.num_nvlink_domains), q.nvlink_domain_size),
        reason=BLOCKS,
        remedy="Use one group over the whole stage, or node scope.",
        source=GROUP,
        example=Example(
            rejects={**TWO_NODES, "ep_size": 12, "ep_scope": "global"},
            instead={**TWO_NODES, "ep_size": 8, "ep_scope": "global"},
        ),
    ),
)

EXPERT_TP = (
    Rule(
        id="etp-expert-lora",
        stage="composition",
        when=f.expert_tp_size > 1,
        requires=~f.expert_lora,
        reason="The replicated half of each expert adapter would get a partial gradient that "
        "nobody synchronises.",
        remedy="Use EP without expert TP, or drop the expert targets.",
        source=EXPERT_TP_SOURCE,
        example=Example(
            rejects={"world_size": 8, "ep_size": 4, "expert_tp_size": 2, "expert_lora": True},
            instead={"world_size": 8, "ep_size": 8, "expert_lora": True},
        ),
    ),
    Rule(
        id="etp-not-dividing-domain",
        stage="axis-locality",
        when=f.expert_tp_size > 1,
        requires=divides(f.expert_tp_size, q.nvlink_domain_size),
        reason="Expert TP reduces in every MoE layer, which must stay on NVLink.",
        remedy="Use an expert-TP size that divides the NVLink domain.",
        source=EXPERT_TP_SOURCE,
        example=Example(
            rejects={"world_size": 8, "expert_tp_size": 3},
            instead={"world_size": 8, "expert_tp_size": 2},
        ),
    ),
    Rule(
        id="ep-etp-multi-domain-multi-group",
        stage="composition",
        when=all_of(f.expert_tp_size > 1, f.ep_size > 1, q.num_nvlink_domains > 1),
        requires=quotient(q.stage_world_size, q.ep_group_size) <= 1,
        reason="Expert TP keeps the deferred path off, so the reduction over all data-parallel "
        "ranks races the narrower combine.",
        remedy="Use a single group over the whole stage, or no expert TP.",
        source=EXPERT_TP_SOURCE,
        example=Example(
            rejects={**TWO_NODES, "ep_size": 2, "expert_tp_size": 2},
            instead={**TWO_NODES, "ep_size": 2, "expert_tp_size": 8},
        ),
    ),
    Rule(
        id="etp-global-not-one-group-per-domain",
        stage="composition",
        when=all_of(f.expert_tp_size > 1, q.ep_scope == "global"),
        requires=all_of(
            f.expert_tp_size == quotient(q.ep_group_size, q.num_nvlink_domains),
            f.ep_size == q.num_nvlink_domains,
        ),
        reason="One expert-TP group per domain keeps its reduction on NVLink while dispatch "
        "crosses.",
        remedy="Fill each domain with expert TP and use as many EP ranks as domains, or node "
        "scope.",
        source=EXPERT_TP_SOURCE,
        example=Example(
            rejects={**TWO_NODES, "ep_size": 4, "expert_tp_size": 4},
            instead={**TWO_NODES, "ep_size": 2, "expert_tp_size": 8},
        ),
    ),
)

EP_CP = (
    Rule(
        id="ep-cp-global-scope",
        stage="composition",
        when=all_of(q.ep_group_size > 1, f.cp_size > 1),
        requires=q.ep_scope != "global",
        reason="EP membership must be orthogonal to the blocks that CP cuts inside a domain.",
        remedy="Use node-scope EP that fills the NVLink domain.",
        source=EP_CP_SOURCE,
        example=Example(
            rejects={**TWO_NODES, "ep_size": 16, "cp_size": 2},
            instead={**TWO_NODES, "ep_size": 8, "cp_size": 2},
        ),
    ),
    Rule(
        id="ep-cp-group-not-domain",
        stage="composition",
        when=all_of(q.ep_group_size > 1, f.cp_size > 1, q.ep_scope == "node"),
        requires=q.ep_group_size == q.nvlink_domain_size,
        reason="EP membership must be orthogonal to the blocks that CP cuts inside a domain.",
        remedy="Fill the NVLink domain with the EP group.",
        source=EP_CP_SOURCE,
        example=Example(
            rejects={**TWO_NODES, "ep_size": 4, "cp_size": 2},
            instead={**TWO_NODES, "ep_size": 8, "cp_size": 2},
        ),
    ),
)

RACY = (
    Rule(
        id="ep-single-domain-multi-group",
        stage="composition",
        requires=~all_of(
            q.num_nvlink_domains == 1,
            f.ep_size > 2,
            q.nvlink_domain_size > q.ep_group_size,
        ),
        reason="The combine barriers of several DeepEP dispatch groups race FSDP2's collectives, "
        "which span the whole domain: hangs with the legacy buffer, faults with the elastic one.",
        remedy="Use two EP ranks, fill the NVLink domain with the EP group (expert TP helps, "
        "attention TP does not), or run on fewer GPUs.",
        source=RACE,
        example=Example(
            rejects={"world_size": 8, "ep_size": 4},
            instead={"world_size": 8, "ep_size": 4, "expert_tp_size": 2},
        ),
    ),
)

LEGACY = all_of(f.ep_buffer_backend == "legacy", f.ep_size > 1)
LEGACY_BUFFER = (
    Rule(
        id="legacy-buffer-cross-node",
        stage="composition",
        when=LEGACY,
        requires=~all_of(q.num_nodes > 1, q.ep_scope != "node"),
        reason="The legacy buffer reaches its peers by CUDA IPC, which ends at the OS node.",
        remedy="Use the elastic buffer, or node scope.",
        source=BUFFER,
        example=Example(
            rejects={
                **TWO_NODES,
                "ep_size": 8,
                "ep_scope": "global",
                "ep_buffer_backend": "legacy",
            },
            instead={**TWO_NODES, "ep_size": 8, "ep_scope": "node", "ep_buffer_backend": "legacy"},
        ),
    ),
    Rule(
        id="legacy-buffer-width",
        stage="composition",
        when=LEGACY,
        requires=~any_of(f.ep_size > LEGACY_PEERS, f.ep_size > q.gpus_per_node),
        reason="The legacy buffer dispatches among the GPUs of one OS node only.",
        remedy="Use the elastic buffer, or an EP size within the node.",
        source=BUFFER,
        example=Example(
            rejects={
                "world_size": 16,
                "gpus_per_node": 16,
                "ep_size": 16,
                "ep_buffer_backend": "legacy",
            },
            instead={"world_size": 16, "gpus_per_node": 16, "ep_size": 16},
        ),
    ),
    Rule(
        id="legacy-buffer-untuned-width",
        stage="composition",
        when=LEGACY,
        requires=one_of(f.ep_size, LEGACY_WIDTHS),
        reason="The legacy buffer ships tuning tables for a few widths and has none for this one.",
        remedy="Use the elastic buffer, or a width that has a table.",
        source=BUFFER,
        example=Example(
            rejects={"world_size": 6, "ep_size": 6, "ep_buffer_backend": "legacy"},
            instead={"world_size": 6, "ep_size": 6},
        ),
    ),
)
