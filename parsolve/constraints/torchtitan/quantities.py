"""Derived quantities of the torchtitan profile."""

from parsolve.constraints import cluster, experts
from parsolve.constraints.batch import Batch, bubble, tokens_per_step
from parsolve.constraints.formula import (
    Named,
    NamedFormula,
    if_,
    known_where,
    largest,
    one_of,
    quotient,
)
from parsolve.constraints.torchtitan import fields as f

gpus_per_node = cluster.gpus_per_node
nvlink_domain_size = cluster.nvlink_domain_size
num_nodes = cluster.num_nodes
is_moe = experts.is_moe
model_parallel_size = Named(
    "model_parallel_size", f.tp_size * f.pp_size * f.cp_size, about="tp * pp * cp."
)
unsharded_size = Named(
    "unsharded_size",
    f.dp_replicate_size * model_parallel_size,
    about="Product of every size but dp_shard and ep.",
)
dp_shard_size = Named(
    "dp_shard_size",
    if_(
        f.dp_shard_size == -1,
        quotient(f.world_size, unsharded_size),
        f.dp_shard_size,
    ),
    about="Data-parallel ranks that FSDP shards over, after -1.",
)
data_parallel_size = Named(
    "data_parallel_size",
    f.dp_replicate_size * dp_shard_size,
    about="Distinct batches per step: dp_replicate * dp_shard.",
)
shard_group_size = Named(
    "shard_group_size", dp_shard_size * f.cp_size, about="Ranks that FSDP shards over."
)
expert_shard_size = Named(
    "expert_shard_size",
    known_where(f.ep_size > 1, quotient(dp_shard_size * f.cp_size * f.tp_size, f.ep_size)),
    about="Ranks that FSDP shards experts over: dp_shard * cp * tp / ep.",
)
experts_per_rank = Named(
    "experts_per_rank",
    known_where(f.num_experts > 0, quotient(f.num_experts, f.ep_size)),
    about="Routed experts per rank and layer.",
)
samples_per_pass = Named(
    "samples_per_pass",
    f.micro_batch * data_parallel_size,
    about="Sequences that all data-parallel ranks take in one pass.",
)
global_batch = Named(
    "global_batch",
    if_(f.requested_global_batch == 0, samples_per_pass, f.requested_global_batch),
    about="Samples per optimizer step over all GPUs.",
)
_tokens = tokens_per_step(global_batch, f.seq_length)
STEP = Batch(
    samples=global_batch,
    per_pass=samples_per_pass,
    tokens=_tokens,
    micro_batch=f.micro_batch.name,
    asked=f.requested_global_batch.name,
    ranks=(f.dp_replicate_size.name, f.dp_shard_size.name),
)
gradient_accumulation = Named(
    "gradient_accumulation",
    quotient(global_batch, largest(1, samples_per_pass)),
    about="Passes per optimizer step.",
)
microbatches = Named(
    "microbatches",
    f.micro_batch // f.pp_microbatch,
    about="Micro-batches in one run of the pipeline.",
)
is_single_stage = NamedFormula(
    "is_single_stage",
    one_of(f.pp_schedule, ("1F1B", "GPipe")),
    about="The schedule gives every rank one stage.",
)
counted_layers = Named(
    "counted_layers",
    f.num_hidden_layers + f.first_stage_less + f.last_stage_less,
    about="Layers that stages share, with what embedding and output count as.",
)
num_stages = Named(
    "num_stages",
    if_(
        f.layers_per_stage > 0,
        known_where(
            f.num_hidden_layers > 0,
            (counted_layers + f.layers_per_stage - 1) // largest(1, f.layers_per_stage),
        ),
        f.pp_size * if_(is_single_stage, 1, 2),
    ),
    about="Stages of the pipeline over all ranks.",
)
stages_per_rank = Named(
    "stages_per_rank", quotient(num_stages, f.pp_size), about="Stages of each rank."
)
least_layers = Named(
    "least_layers",
    known_where(f.num_hidden_layers > 0, counted_layers // largest(1, num_stages)),
    about="Layers of the smallest stage, with what embedding and output count as.",
)
rounds = Named(
    "rounds",
    largest(1, microbatches // f.pp_size),
    about="Rounds of an interleaved schedule.",
)

DERIVED = (
    gpus_per_node,
    nvlink_domain_size,
    num_nodes,
    model_parallel_size,
    dp_shard_size,
    data_parallel_size,
    shard_group_size,
    expert_shard_size,
    experts_per_rank,
    global_batch,
    gradient_accumulation,
    _tokens,
    microbatches,
    num_stages,
    bubble(f.pp_size, microbatches, largest(1, num_stages // f.pp_size)),
)
