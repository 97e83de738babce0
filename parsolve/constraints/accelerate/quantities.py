"""Derived quantities of the accelerate profile."""

from parsolve.constraints import cluster
from parsolve.constraints.accelerate import fields as f
from parsolve.constraints.batch import Batch
from parsolve.constraints.formula import Named, NamedFormula, all_of, if_, known_where

gpus_per_node = cluster.gpus_per_node
nvlink_domain_size = cluster.nvlink_domain_size
num_nodes = cluster.num_nodes
total_size = Named(
    "total_size",
    f.dp_replicate_size * f.dp_shard_size * f.tp_size * f.cp_size * f.sp_size,
    about="Product of all sizes as given.",
)
is_ignored = NamedFormula(
    "is_ignored",
    all_of(total_size == 1, f.world_size > 1),
    about="Every size is 1, so the wrapper alone decides.",
)
dp_replicate_size = Named(
    "dp_replicate_size",
    if_(all_of(is_ignored, f.distributed == "ddp"), f.world_size, f.dp_replicate_size),
    about="Replicas, after what accelerate fills in.",
)
data_parallel_size = Named(
    "data_parallel_size",
    if_(is_ignored, f.world_size, f.dp_replicate_size * f.dp_shard_size),
    about="Distinct batches per step: dp_replicate * dp_shard.",
)
model_parallel_size = Named(
    "model_parallel_size", f.tp_size * f.cp_size * f.sp_size, about="tp * cp * sp."
)
shard_group_size = Named(
    "shard_group_size",
    known_where(
        f.distributed == "fsdp2",
        if_(is_ignored, f.world_size, f.dp_shard_size * f.cp_size),
    ),
    about="Ranks that FSDP2 shards over: dp_shard * cp.",
)
global_batch = Named(
    "global_batch",
    known_where(
        f.micro_batch > 0, f.micro_batch * data_parallel_size * f.gradient_accumulation_steps
    ),
    about="Samples per optimizer step over all GPUs.",
)
STEP = Batch(
    samples=global_batch,
    per_pass=f.micro_batch * data_parallel_size,
    micro_batch=f.micro_batch.name,
    passes=(f.gradient_accumulation_steps.name,),
    ranks=(f.dp_replicate_size.name, f.dp_shard_size.name),
)

DERIVED = (
    gpus_per_node,
    nvlink_domain_size,
    num_nodes,
    total_size,
    dp_replicate_size,
    data_parallel_size,
    model_parallel_size,
    shard_group_size,
    global_batch,
)
