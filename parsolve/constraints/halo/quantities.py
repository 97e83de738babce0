"""Derived quantities of the halo profile, as formulas.

Source: resolution order of `_resolve_and_validate` in
``src/distributed/parallelism_config.py``; the derived properties of the same class, of
`EPConfig` (``expert_parallel/config.py``) and of the token budget in
``_validate_ep_token_budget``.
"""

from parsolve.constraints.formula import (
    Named,
    NamedFormula,
    all_of,
    any_of,
    if_,
    known_where,
    largest,
    one_of,
    quotient,
    round_up,
    smallest,
)
from parsolve.constraints.halo import fields as f

ASSUMED_GPUS_PER_NODE = 8
"""What "detect" means before there is a node to look at."""

gpus_per_node = Named(
    "gpus_per_node",
    largest(
        1,
        if_(
            f.gpus_per_node == 0,
            smallest(ASSUMED_GPUS_PER_NODE, f.world_size),
            f.gpus_per_node,
        ),
    ),
    about="GPUs per OS node, after auto.",
)

_requested_domain = Named(
    "requested_nvlink_domain",
    if_(
        f.nvlink_domain_size != 0,
        f.nvlink_domain_size,
        if_(f.nvlink_domain_env > 0, f.nvlink_domain_env, gpus_per_node),
    ),
    about="GPUs per NVLink domain as asked for, before the clamp.",
)
is_domain_clamped = NamedFormula(
    "is_domain_clamped",
    all_of(_requested_domain > f.world_size, f.world_size <= gpus_per_node),
    about="The requested NVLink domain is wider than a one-node world and is cut to it.",
)
nvlink_domain_size = Named(
    "nvlink_domain_size",
    largest(1, if_(is_domain_clamped, f.world_size, _requested_domain)),
    about="GPUs per NVLink domain, after auto and clamp.",
)
num_nodes = Named("num_nodes", quotient(f.world_size, gpus_per_node), about="OS nodes.")
stage_world_size = Named(
    "stage_world_size",
    quotient(f.world_size, f.pp_size),
    about="Ranks per pipeline stage.",
)
nodes_per_stage = Named(
    "nodes_per_stage",
    quotient(stage_world_size, gpus_per_node),
    about="OS nodes per pipeline stage.",
)
num_nvlink_domains = Named(
    "num_nvlink_domains",
    quotient(stage_world_size, nvlink_domain_size),
    about="NVLink domains per pipeline stage.",
)
ep_group_size = Named(
    "ep_group_size",
    f.ep_size * f.expert_tp_size,
    about="Ranks of one full expert group: ep_size * expert_tp_size.",
)
ep_scope = Named(
    "ep_scope",
    if_(
        ep_group_size == 1,
        "node",
        if_(
            f.ep_scope != "auto",
            f.ep_scope,
            if_(ep_group_size <= nvlink_domain_size, "node", "global"),
        ),
    ),
    about="Where an EP group lives, after auto; a one-rank group is always node-local.",
)
data_parallel_size = Named(
    "data_parallel_size",
    quotient(stage_world_size, largest(f.tp_size, f.cp_size, f.expert_tp_size)),
    about="Distinct batches per step: stage ranks / max(tp, cp, etp). EP never divides it.",
)
non_dp_replication = Named(
    "non_dp_replication",
    f.pp_size * largest(f.tp_size, f.cp_size, f.expert_tp_size),
    about="Ranks that see the same batch.",
)
is_ep_mode = NamedFormula(
    "is_ep_mode", ep_group_size > 1, about="An expert group exists (pure expert TP counts)."
)
is_expert_tp_mode = NamedFormula("is_expert_tp_mode", f.expert_tp_size > 1, about="Expert TP.")
is_tp_mode = NamedFormula("is_tp_mode", f.tp_size > 1, about="Tensor parallelism.")
is_cp_mode = NamedFormula("is_cp_mode", f.cp_size > 1, about="Context parallelism.")
is_pp_mode = NamedFormula("is_pp_mode", f.pp_size > 1, about="Pipeline parallelism.")
is_ep_tp_mode = NamedFormula(
    "is_ep_tp_mode", all_of(ep_group_size > 1, f.tp_size > 1), about="Experts with attention TP."
)
is_ep_cp_mode = NamedFormula(
    "is_ep_cp_mode", all_of(ep_group_size > 1, f.cp_size > 1), about="Experts with CP."
)
needs_ep_wrappers = NamedFormula(
    "needs_ep_wrappers",
    any_of(ep_group_size > 1, f.use_grouped_gemm),
    about="MoE blocks are wrapped.",
)
experts_fsdp_managed = NamedFormula(
    "experts_fsdp_managed",
    all_of(f.fsdp_shard_ep1_experts, ep_group_size == 1),
    about="FSDP shards the experts.",
)
num_ep_groups = Named(
    "num_ep_groups",
    if_(
        ep_group_size <= 1,
        stage_world_size,
        if_(
            ep_scope == "node",
            quotient(nvlink_domain_size, ep_group_size) * num_nvlink_domains,
            quotient(nvlink_domain_size, quotient(ep_group_size, num_nvlink_domains)),
        ),
    ),
    about="EP groups per pipeline stage.",
)
requires_rdma = NamedFormula(
    "requires_rdma",
    all_of(ep_group_size > 1, ep_scope == "global", num_nvlink_domains > 1),
    about="Expert dispatch leaves the NVLink domain.",
)
is_hsdp = NamedFormula(
    "is_hsdp", all_of(f.use_hsdp, num_nvlink_domains > 1), about="HSDP has more than one replica."
)
dp_shard_size = Named(
    "dp_shard_size",
    if_(is_hsdp, nvlink_domain_size, stage_world_size),
    about="Ranks that shard the data-parallel states.",
)
dp_replicate_size = Named(
    "dp_replicate_size",
    if_(is_hsdp, num_nvlink_domains, 1),
    about="Replicas of those states.",
)
is_deferred_dp = NamedFormula(
    "is_deferred_dp",
    all_of(ep_group_size > 1, f.expert_tp_size == 1, num_nvlink_domains > 1, num_ep_groups > 1),
    about="Gradients of an EP group are averaged across groups after the backward pass.",
)
defer_grad_sync = NamedFormula(
    "defer_grad_sync",
    all_of(~experts_fsdp_managed, any_of(f.pp_size > 1, num_ep_groups > 1)),
    about="Expert gradients are synchronised after the backward pass.",
)
fsdp_width = Named(
    "fsdp_width",
    if_(
        f.tp_size > 1,
        data_parallel_size,
        if_(is_deferred_dp, ep_group_size, if_(is_hsdp, nvlink_domain_size, stage_world_size)),
    ),
    about="Ranks that FSDP shards non-expert parameters over.",
)
is_moe = NamedFormula(
    "is_moe",
    any_of(f.model_kind == "moe", all_of(f.model_kind != "dense", f.num_experts > 0)),
    about="The model is known to have routed experts.",
)
is_dense = NamedFormula(
    "is_dense", f.model_kind == "dense", about="The model is known to have no routed experts."
)
experts_per_rank = Named(
    "experts_per_rank",
    known_where(f.num_experts > 0, quotient(f.num_experts, f.ep_size)),
    about="Routed experts per rank and layer.",
)

PAIRED_TRAINERS = ("smpo", "dpo", "reward")
"""Trainers that feed two rows per example."""

rows_per_device = Named(
    "rows_per_device",
    if_(
        f.ep_rows_per_device >= 0,
        f.ep_rows_per_device,
        if_(
            f.trainer == f.UNSPECIFIED,
            0,
            f.per_device_train_batch_size * if_(one_of(f.trainer, PAIRED_TRAINERS), 2, 1),
        ),
    ),
    about="Rows per GPU and forward pass.",
)
row_length = Named(
    "row_length",
    if_(f.max_length > 0, f.max_length, f.max_position_embeddings),
    about="Tokens per row that the dispatch buffer must hold.",
)
tokens_per_rank = Named(
    "tokens_per_rank",
    known_where(
        all_of(rows_per_device > 0, row_length > 0),
        rows_per_device * row_length // f.cp_size,
    ),
    about="Tokens per rank and forward pass.",
)
dispatch_capacity = Named(
    "dispatch_capacity",
    round_up(tokens_per_rank, 256),
    about="Tokens per rank, rounded up to the buffer's granularity of 256.",
)
padded_hidden_size = Named(
    "padded_hidden_size",
    round_up(f.hidden_size, 256),
    about="Hidden size rounded up to a multiple of 256.",
)
_stated_parts = largest(
    1,
    if_(f.pp_microbatches > 0, f.pp_microbatches, f.gradient_accumulation_steps),
)
pipeline_batch_parts = Named(
    "pipeline_batch_parts",
    largest(_stated_parts, if_(f.pp_schedule == "1f1b", f.pp_size, 1)),
    about="Micro-batches that the pipeline cuts a batch into.",
)

DERIVED = (
    gpus_per_node,
    nvlink_domain_size,
    ep_scope,
    stage_world_size,
    data_parallel_size,
    ep_group_size,
    num_ep_groups,
    num_nvlink_domains,
    num_nodes,
    nodes_per_stage,
    non_dp_replication,
    requires_rdma,
    fsdp_width,
    dp_shard_size,
    dp_replicate_size,
    is_ep_mode,
    is_expert_tp_mode,
    is_tp_mode,
    is_cp_mode,
    is_pp_mode,
    is_ep_tp_mode,
    is_ep_cp_mode,
    is_hsdp,
    needs_ep_wrappers,
    experts_fsdp_managed,
    is_deferred_dp,
    defer_grad_sync,
    experts_per_rank,
    tokens_per_rank,
)
