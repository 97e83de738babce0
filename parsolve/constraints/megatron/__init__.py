"""Megatron-Core 0.19.2: every place where a configuration can die, in Megatron's order.

Source: the megatron-core wheel of that version, files and lines as each rule says.
"""

from itertools import combinations

from parsolve.constraints.experts import CONTRADICTION, OFFER
from parsolve.constraints.formula import all_of, implies, one_of
from parsolve.constraints.locality import PREFERENCES
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.megatron.arguments import ARGUMENTS
from parsolve.constraints.megatron.build import FIRST_STEP, GROUPS, MODEL
from parsolve.constraints.megatron.claims import CLAIMS
from parsolve.constraints.megatron.config import CONFIG
from parsolve.constraints.megatron.implied import IMPLIED
from parsolve.constraints.megatron.layout import LAYOUT
from parsolve.constraints.megatron.memory import ACCOUNT, BOUNDS
from parsolve.constraints.megatron.model import of_model
from parsolve.constraints.megatron.notices import NOTICES
from parsolve.constraints.megatron.splits import SPLITS
from parsolve.constraints.megatron.stages import lists
from parsolve.constraints.profile import Column, InputCheck, Pipeline, Preference, Profile, Settled

AXES = (f.pp_size, f.tp_size, f.cp_size, f.expert_tp_size, f.ep_size)

MEGATRON = Profile(
    name="megatron",
    title="Megatron-Core 0.19.2",
    fields=f.FIELDS,
    derived=q.DERIVED,
    rules=(*ARGUMENTS, *CONFIG, *GROUPS, *MODEL, *FIRST_STEP),
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
        Preference(q.expert_tp_size, "whole experts first"),
        Preference(0 - f.ep_size, "wider expert groups first"),
    ),
    world="world_size",
    objective="dp",
    launchers=(
        "launcher",
        {
            "torchrun": "torchrun --nnodes {nodes} --nproc_per_node {node} {rendezvous}"
            "pretrain_gpt.py",
            "srun": "srun -N {nodes} --ntasks-per-node {node} python pretrain_gpt.py",
        },
    ),
    settled=(
        Settled("micro_batch", by="world_size", quantity="micro_batch"),
        Settled("max_position_embeddings", by="seq_length", quantity="max_position_embeddings"),
    ),
    reads_argparse=True,
    of_model=of_model,
    claims=CLAIMS,
    layout=LAYOUT,
    implied=IMPLIED,
    lists=lists,
    splits=SPLITS,
    batch=q.STEP,
    pipeline=Pipeline(
        ranks=f.pp_size,
        microbatches=q.microbatches,
        chunks=q.virtual_stages,
        group=q.microbatch_group_size,
    ),
    reference="parsolve.reference.megatron_fields:validate",
    reference_needs={
        f.num_hidden_layers.name: 16,
        f.hidden_size.name: 1024,
        f.num_attention_heads.name: 16,
        f.seq_length.name: 4096,
        f.intermediate_size.name: 4096,
        f.head_dim.name: 64,
        f.cuda_device_max_connections.name: 1,
    },
    reference_takes=(
        InputCheck(
            implies(f.num_experts == 0, f.model_kind == "dense"),
            "where nothing says how many experts there are, Megatron takes it that there are none",
        ),
        InputCheck(
            implies(f.optimizer_instances > 1, all_of(q.distributed_optimizer, ~q.is_emerging)),
            "instances of no distributed optimizer are a hazard here, and refused by the validator",
        ),
        InputCheck(
            one_of(f.cp_comm_type, ("p2p", "all_gather", "a2a", "a2a+p2p")),
            "an exchange that nobody knows is a hazard here, and refused by the validator",
        ),
    ),
    out_of_reach={
        f.pipeline_layout.name: "a text; its stages are no numbers",
        f.hierarchical_cp_sizes.name: "a list; the product of its entries is no formula",
        f.recompute_modules.name: "a list of labels",
        f.single_grouped_weight.name: "needs an argument that is no field: the operator fuser",
        f.batch_invariant.name: "the validator does not know it",
    },
    prefers=PREFERENCES,
    nodes="num_nodes",
    node="gpus_per_node",
    domain="nvlink_domain_size",
    stages_about={
        "arguments": "refused by validate_args, before anything runs",
        "batch": "refused by the micro-batch calculator",
        "config": "dies where the model's configuration object is made",
        "groups": "dies in initialize_model_parallel, on every GPU",
        "model": "dies while the model is built",
        "first-step": "dies in the first training step",
    },
    summary=(
        Column("data_parallel_size", "dp"),
        Column("expert_data_parallel_size", "expert dp", q.is_moe),
        Column("microbatches", "micro-batches"),
        Column("global_batch", "batch"),
        Column("bubble", "bubble ‰", f.pp_size > 1),
        Column("crossing_groups", "crosses"),
    ),
    short_names={
        "dp": "data_parallel_size",
        "expert_dp": "expert_data_parallel_size",
        "nodes": "num_nodes",
        "memory": "memory_per_gpu",
    },
    less_is_better=frozenset({"world_size", "bubble", "model_parallel_size"}),
    account=ACCOUNT,
    ladder_in="parsolve.constraints.megatron.ladder",
    bounds=BOUNDS,
    bounding=("gpu_memory",),
    shown=(
        "world_size",
        "gpus_per_node",
        "nvlink_domain_size",
        "tp_size",
        "pp_size",
        "cp_size",
        "ep_size",
        "expert_tp_size",
    ),
)
