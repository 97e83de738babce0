"""torchtitan 0.3.0: ParallelDims, the trainer's checks and the stages of its pipelines.

Source: the torchtitan wheel of that version, and PyTorch 2.13.0 for the schedules; files and
lines as each rule says.
"""

from itertools import combinations

from parsolve.constraints.experts import CONTRADICTION
from parsolve.constraints.formula import all_of, any_of, one_of
from parsolve.constraints.profile import Column, Offer, Pipeline, Preference, Profile
from parsolve.constraints.torchtitan import fields as f
from parsolve.constraints.torchtitan import quantities as q
from parsolve.constraints.torchtitan.layout import LAYOUT
from parsolve.constraints.torchtitan.notices import NOTICES
from parsolve.constraints.torchtitan.rules import RULES

AXES = (f.pp_size, f.tp_size, f.cp_size, f.ep_size)

_REFUSES_GRAPHS = any_of(
    f.pp_size > 1,
    all_of(
        f.ep_size > 1,
        f.ep_dispatcher != "minimal_async_ep",
        any_of(f.ep_dispatcher != "hybridep", ~f.static_dispatch),
    ),
)

TORCHTITAN = Profile(
    name="torchtitan",
    title="torchtitan 0.3.0",
    fields=f.FIELDS,
    derived=q.DERIVED,
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
    searched=(*(axis.name for axis in AXES), f.disable_cuda_graphs.name),
    offers=(
        Offer(
            (f.ep_size.name,),
            given="model_kind",
            unknown="unknown",
            value="moe",
            otherwise="dense",
            about="The model has routed experts, or has none.",
            assumption="Nothing says that the model has routed experts, so EP is not offered; "
            "--moe (or the number of experts) offers it.",
            implied_by=("num_experts",),
        ),
    ),
    canonical={
        f.disable_cuda_graphs.name: any_of(
            all_of(f.disable_cuda_graphs, _REFUSES_GRAPHS),
            all_of(~f.disable_cuda_graphs, ~_REFUSES_GRAPHS),
        ),
    },
    preferences=(
        Preference(q.model_parallel_size, "smaller tp * pp * cp first"),
        Preference(f.pp_size, "fewer pipeline stages first"),
        Preference(f.cp_size, "less context parallelism first"),
        Preference(0 - f.ep_size, "wider expert groups first"),
    ),
    world="world_size",
    objective="dp",
    launchers=(
        "launcher",
        {
            "torchrun": "torchrun --nnodes {nodes} --nproc_per_node {node} {rendezvous}"
            "-m torchtitan.train --module MODULE --config CONFIG",
        },
    ),
    settled=(),
    reads_argparse=True,
    of_model=lambda shape: {"tied_embeddings": shape.tied},
    nodes="num_nodes",
    node="gpus_per_node",
    domain="nvlink_domain_size",
    stages_about={
        "config": "dies where the trainer's configuration is made, before anything runs",
        "dims": "dies where the sizes are read, on every GPU",
        "trainer": "dies before the model is built, on every GPU",
        "model": "dies where the model is configured",
        "batch": "dies after the model is built, before it is sharded",
        "pipeline": "dies where the model is cut into stages",
    },
    batch=q.STEP,
    pipeline=Pipeline(
        ranks=f.pp_size,
        microbatches=q.microbatches,
        chunks=q.stages_per_rank,
        group=f.pp_size,
        schedule=f.pp_schedule.name,
        where=one_of(f.pp_schedule, ("1F1B", "GPipe", "Interleaved1F1B")),
    ),
    summary=(
        Column("data_parallel_size", "dp"),
        Column("shard_group_size", "shards"),
        Column("expert_shard_size", "expert shards", f.ep_size > 1),
        Column("microbatches", "micro-batches", f.pp_size > 1),
        Column("global_batch", "batch"),
        Column("bubble", "bubble ‰", f.pp_size > 1),
    ),
    short_names={"dp": "data_parallel_size", "nodes": "num_nodes"},
    less_is_better=frozenset({"world_size", "bubble", "model_parallel_size"}),
    layout=LAYOUT,
    shown=(
        "world_size",
        "gpus_per_node",
        "nvlink_domain_size",
        "dp_replicate_size",
        "dp_shard_size",
        "tp_size",
        "pp_size",
        "cp_size",
        "ep_size",
    ),
)
