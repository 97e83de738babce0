"""Derived quantities of the generic profile: nodes, groups and what shards over them."""

from parsolve.constraints import cluster, experts
from parsolve.constraints.formula import (
    Named,
    if_,
    known_where,
    largest,
    quotient,
)
from parsolve.constraints.generic import fields as f

gpus_per_node = cluster.gpus_per_node
nvlink_domain_size = cluster.nvlink_domain_size
num_nodes = cluster.num_nodes
is_moe = experts.is_moe

model_parallel_size = Named(
    "model_parallel_size", f.tp_size * f.pp_size * f.cp_size, about="tp * pp * cp."
)
data_parallel_size = Named(
    "data_parallel_size",
    quotient(f.world_size, model_parallel_size),
    about="Distinct batches per step: world / (tp * pp * cp). EP never divides it.",
)
shard_group_size = Named(
    "shard_group_size",
    quotient(data_parallel_size * f.cp_size, f.dp_replicate_size),
    about="Ranks that ZeRO shards dense states over: dp * cp / dp_replicate.",
)
ep_group_size = Named(
    "ep_group_size",
    f.ep_size * f.expert_tp_size,
    about="Ranks that hold all experts of a layer: ep * etp.",
)
expert_data_parallel_size = Named(
    "expert_data_parallel_size",
    quotient(f.world_size, ep_group_size * f.pp_size),
    about="Copies of each expert: world / (etp * ep * pp).",
)
expert_shard_size = Named(
    "expert_shard_size",
    largest(1, expert_data_parallel_size // f.dp_replicate_size),
    about="Ranks that ZeRO shards experts over.",
)
head_ranks = Named(
    "head_ranks",
    f.tp_size * if_(f.cp_kind == "ulysses", f.cp_size, 1),
    about="Ranks that share a layer's attention heads: tp, times cp with Ulysses.",
)
experts_per_rank = Named(
    "experts_per_rank",
    known_where(f.num_experts > 0, quotient(f.num_experts, f.ep_size)),
    about="Routed experts per rank and layer.",
)

DERIVED = (
    gpus_per_node,
    nvlink_domain_size,
    num_nodes,
    model_parallel_size,
    data_parallel_size,
    shard_group_size,
    ep_group_size,
    expert_data_parallel_size,
    expert_shard_size,
    experts_per_rank,
)
