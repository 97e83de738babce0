"""The generic profile: no framework's gate, only the arithmetic that every framework shares."""

from itertools import combinations

from parsolve.constraints.experts import CONTRADICTION, OFFER
from parsolve.constraints.formula import all_of
from parsolve.constraints.generic import batch
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import quantities as q
from parsolve.constraints.generic.memory import ACCOUNT, BOUNDS
from parsolve.constraints.generic.notices import NOTICES
from parsolve.constraints.generic.rules import RULES
from parsolve.constraints.profile import (
    Column,
    Pipeline,
    Preference,
    Profile,
    Settled,
)

AXES = (f.pp_size, f.tp_size, f.cp_size, f.expert_tp_size, f.ep_size)

GENERIC = Profile(
    name="generic",
    title="generic (PyTorch-native stacks: FSDP2, DeepSpeed ZeRO, HSDP; arithmetic only)",
    fields=f.FIELDS,
    derived=(*q.DERIVED, *batch.DERIVED),
    rules=RULES,
    warnings=NOTICES,
    run_time_checks=(),
    input_checks=(CONTRADICTION,),
    axes=tuple(axis.name for axis in AXES),
    modes=tuple(
        frozenset(axis.name for axis in axes)
        for size in range(len(AXES) + 1)
        for axes in combinations(AXES, size)
    ),
    searched=tuple(axis.name for axis in AXES),
    offers=(OFFER,),
    canonical={},
    preferences=(
        Preference(q.model_parallel_size, "smaller tp * pp * cp first"),
        Preference(f.pp_size, "fewer pipeline stages first"),
        Preference(f.cp_size, "less context parallelism first"),
        Preference(f.expert_tp_size, "whole experts first"),
        Preference(0 - f.ep_size, "wider expert groups first"),
    ),
    world="world_size",
    objective="dp",
    launchers=(
        "launcher",
        {
            "torchrun": "torchrun --nnodes {nodes} --nproc_per_node {node} {rendezvous}SCRIPT",
            "accelerate": "accelerate launch --num_machines {nodes} --num_processes {world} SCRIPT",
            "deepspeed": "deepspeed --num_nodes {nodes} --num_gpus {node} SCRIPT",
        },
    ),
    settled=(
        Settled(
            "gradient_accumulation_steps",
            by="global_batch",
            quantity="microbatches",
            where=all_of(f.pp_size <= 1, ~batch.is_batch_stated),
        ),
        Settled(
            "num_microbatches",
            by="global_batch",
            quantity="microbatches",
            where=all_of(f.pp_size > 1, ~batch.is_batch_stated),
        ),
    ),
    nodes="num_nodes",
    node="gpus_per_node",
    domain="nvlink_domain_size",
    summary=(
        Column("data_parallel_size", "dp"),
        Column("expert_data_parallel_size", "expert dp", q.ep_group_size > 1),
        Column("shard_group_size", "shards"),
        Column("global_batch", "batch"),
        Column("bubble", "bubble ‰", f.pp_size > 1),
    ),
    short_names={
        "dp": "data_parallel_size",
        "expert_dp": "expert_data_parallel_size",
        "nodes": "num_nodes",
        "memory": "memory_per_gpu",
    },
    less_is_better=frozenset({"world_size", "bubble", "model_parallel_size"}),
    account=ACCOUNT,
    ladder_in="parsolve.constraints.generic.ladder",
    batch=batch.STEP,
    pipeline=Pipeline(
        ranks=f.pp_size,
        microbatches=batch.microbatches_in_pipeline,
        chunks=f.virtual_stages,
        group=f.pp_size,
        schedule=f.pp_schedule.name,
    ),
    bounds=BOUNDS,
    bounding=("gpu_memory", "requested_global_batch"),
    shown=(
        "world_size",
        "gpus_per_node",
        "nvlink_domain_size",
        "tp_size",
        "pp_size",
        "cp_size",
        "ep_size",
        "expert_tp_size",
        "zero_stage",
    ),
)
