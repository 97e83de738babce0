"""Hugging Face accelerate 1.15.0: its ParallelismConfig, and that against the processes that run.

Source: the accelerate wheel of that version, files and lines as each rule says.
"""

from itertools import combinations

from parsolve.constraints.accelerate import fields as f
from parsolve.constraints.accelerate import quantities as q
from parsolve.constraints.accelerate.layout import LAYOUT
from parsolve.constraints.accelerate.notices import NOTICES
from parsolve.constraints.accelerate.rules import RULES
from parsolve.constraints.formula import any_of
from parsolve.constraints.profile import Column, Preference, Profile

IMPLIED = {
    "cp-with-fsdp1": (
        "dp-replicate-not-positive",
        "dp-shard-not-positive",
        "tp-not-positive",
        "sp-not-positive",
        "wrapper-unsupported",
    ),
}
"""With cp above 1 the product of legal sizes is too, which the first FSDP is refused for."""

AXES = (f.tp_size, f.cp_size, f.sp_size)

ACCELERATE = Profile(
    name="accelerate",
    title="Hugging Face accelerate 1.15.0 (ParallelismConfig)",
    fields=f.FIELDS,
    derived=q.DERIVED,
    rules=RULES,
    warnings=NOTICES,
    run_time_checks=(),
    input_checks=(),
    axes=tuple(axis.name for axis in AXES),
    modes=tuple(
        frozenset(axis.name for axis in axes)
        for size in range(len(AXES))
        for axes in combinations(AXES, size)
        if not {"cp_size", "sp_size"} <= {axis.name for axis in axes}
    ),
    searched=(
        f.dp_replicate_size.name,
        f.dp_shard_size.name,
        f.tp_size.name,
        f.cp_size.name,
    ),
    offers=(),
    canonical={f.dp_shard_size.name: any_of(q.total_size != 1, f.world_size == 1)},
    preferences=(
        Preference(q.model_parallel_size, "smaller tp * cp * sp first"),
        Preference(f.dp_replicate_size, "fewer replicas first"),
        Preference(f.cp_size, "less context parallelism first"),
    ),
    world="world_size",
    objective="dp",
    launchers=(
        "launcher",
        {
            "accelerate": "accelerate launch --num_machines {nodes} --num_processes {world}"
            "{arguments} SCRIPT",
        },
    ),
    settled=(),
    reads_argparse=True,
    nodes="num_nodes",
    node="gpus_per_node",
    domain="nvlink_domain_size",
    batch=q.STEP,
    stages_about={
        "config": "dies where the configuration object is made",
        "state": "dies where the accelerator's state is made, on every GPU",
        "accelerator": "dies where the accelerator is made, on every GPU",
    },
    summary=(
        Column("data_parallel_size", "dp"),
        Column("shard_group_size", "shards"),
        Column("global_batch", "batch"),
    ),
    short_names={"dp": "data_parallel_size", "nodes": "num_nodes"},
    less_is_better=frozenset({"world_size", "model_parallel_size"}),
    implied=IMPLIED,
    layout=LAYOUT,
    shown=(
        "world_size",
        "gpus_per_node",
        "nvlink_domain_size",
        "dp_replicate_size",
        "dp_shard_size",
        "tp_size",
        "cp_size",
        "sp_size",
    ),
)
