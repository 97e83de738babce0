"""How ranks, nodes, NVLink domains and pipeline stages must tile one another."""

from parsolve.constraints.formula import divides
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.sources import PARALLELISM_CONFIG
from parsolve.constraints.rule import Example, Rule, Source

NODES = Source(PARALLELISM_CONFIG, "_validate_node_topology")
RESOLVE = Source(PARALLELISM_CONFIG, "_resolve_and_validate")

TOPOLOGY = (
    Rule(
        id="world-not-multiple-of-node",
        stage="topology",
        requires=divides(q.gpus_per_node, f.world_size),
        reason="Nodes must be equally full: rounding down would drop the trailing ranks.",
        remedy="Use whole nodes, or state the GPUs per node.",
        source=NODES,
        example=Example(
            rejects={"world_size": 12, "gpus_per_node": 8},
            instead={"world_size": 12, "gpus_per_node": 4},
        ),
    ),
    Rule(
        id="gpus-per-node-nonpositive",
        stage="topology",
        requires=f.gpus_per_node >= 0,
        reason="Every later rule divides by the GPUs per node.",
        remedy="Set the launcher's variable, or pass the real number.",
        source=NODES,
        example=Example(
            rejects={"world_size": 8, "gpus_per_node": -1},
            instead={"world_size": 8, "gpus_per_node": 8},
        ),
    ),
    Rule(
        id="nvlink-domain-negative",
        stage="topology",
        requires=f.nvlink_domain_size >= 0,
        reason="A negative size would slip through the divisibility checks.",
        remedy="Use a positive size, or zero for auto.",
        source=NODES,
        example=Example(
            rejects={"world_size": 8, "nvlink_domain_size": -8}, instead={"world_size": 8}
        ),
    ),
    Rule(
        id="nvlink-domain-exceeds-multinode-world",
        stage="topology",
        requires=q.nvlink_domain_size <= f.world_size,
        reason="A job on several nodes may span racks, so cutting the domain to the world would "
        "invent a fabric that nobody promised.",
        remedy="Set the domain to the world if all of it is one rack, else leave it unset.",
        source=RESOLVE,
        example=Example(
            rejects={"world_size": 16, "gpus_per_node": 4, "nvlink_domain_size": 72},
            instead={"world_size": 16, "gpus_per_node": 4, "nvlink_domain_size": 16},
        ),
    ),
    Rule(
        id="nvlink-domain-not-multiple-of-node",
        stage="topology",
        requires=divides(q.gpus_per_node, q.nvlink_domain_size),
        reason="Groups are contiguous blocks of whole nodes; NVLink islands inside a node cannot "
        "be expressed.",
        remedy="Leave the domain unset, or describe each island as a node.",
        source=RESOLVE,
        example=Example(
            rejects={"world_size": 8, "gpus_per_node": 8, "nvlink_domain_size": 4},
            instead={"world_size": 8, "gpus_per_node": 4, "nvlink_domain_size": 4},
        ),
    ),
    Rule(
        id="world-not-multiple-of-domain",
        stage="topology",
        requires=divides(q.nvlink_domain_size, f.world_size),
        reason="A partly filled last domain would orphan its ranks.",
        remedy="Use whole NVLink domains, or a domain that divides the world.",
        source=RESOLVE,
        example=Example(
            rejects={"world_size": 24, "gpus_per_node": 8, "nvlink_domain_size": 16},
            instead={"world_size": 32, "gpus_per_node": 8, "nvlink_domain_size": 16},
        ),
    ),
    Rule(
        id="world-not-multiple-of-pp",
        stage="topology",
        requires=divides(f.pp_size, f.world_size),
        reason="Pipeline stages are equal blocks of ranks.",
        remedy="Use a number of stages that divides the world.",
        source=RESOLVE,
        example=Example(
            rejects={"world_size": 16, "pp_size": 3, "assume_pp": True},
            instead={"world_size": 16, "pp_size": 2, "assume_pp": True},
        ),
    ),
)
