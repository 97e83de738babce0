"""The default profile: the parallelism gate of the halo training framework.

Rules stand in the framework's order of evaluation: entry script, configuration object,
determinism, model, trainer.
"""

from parsolve.constraints.experts import CONTRADICTION, OFFER
from parsolve.constraints.formula import Const, Term, all_of, any_of, if_
from parsolve.constraints.halo import batch
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.axes import (
    AXES,
    CAPABILITY_MATRIX,
    FIELD_SANITY,
    SUPPORTED_AXIS_SETS,
    exactly,
)
from parsolve.constraints.halo.claims import CLAIMS
from parsolve.constraints.halo.disagreements import DISAGREEMENTS
from parsolve.constraints.halo.entry import AFTER_CONFIG, ENTRY
from parsolve.constraints.halo.experts import EP_CP, EP_GROUP, EXPERT_TP, LEGACY_BUFFER, RACY
from parsolve.constraints.halo.implied import IMPLIED
from parsolve.constraints.halo.layout import LAYOUT
from parsolve.constraints.halo.locality import CONTEXT, TENSOR
from parsolve.constraints.halo.memory import ACCOUNT, BOUNDS
from parsolve.constraints.halo.model import MODEL
from parsolve.constraints.halo.notices import NOTICES
from parsolve.constraints.halo.pipeline import PIPELINE
from parsolve.constraints.halo.precision import PRECISION
from parsolve.constraints.halo.run_time import RUN_TIME_CHECKS
from parsolve.constraints.halo.sharding import FSDP, HSDP
from parsolve.constraints.halo.topology import TOPOLOGY
from parsolve.constraints.halo.trainer import TRAINER
from parsolve.constraints.profile import (
    Column,
    Pipeline,
    Preference,
    Profile,
    Settled,
)

MODE_ORDER = ("ep", "ep etp", "ep cp", "ep tp", "etp", "tp", "cp", "", "pp ep", "pp etp", "pp")
"""Modes in the order in which the framework's guide says to reach for them."""


def _mode_rank() -> Term:
    rank: Term = Const(len(MODE_ORDER))
    for position in range(len(MODE_ORDER) - 1, -1, -1):
        rank = if_(exactly(MODE_ORDER[position]), position, rank)
    return rank


HALO = Profile(
    name="halo",
    title="halo (FSDP2 + DeepEP training framework)",
    fields=f.FIELDS,
    derived=q.DERIVED,
    rules=(
        *ENTRY,
        *FIELD_SANITY,
        *CAPABILITY_MATRIX,
        *TOPOLOGY,
        *PIPELINE,
        *EP_GROUP,
        *CONTEXT,
        *TENSOR,
        *EXPERT_TP,
        *EP_CP,
        *RACY,
        *LEGACY_BUFFER,
        *HSDP,
        *FSDP,
        *PRECISION,
        *AFTER_CONFIG,
        *MODEL,
        *TRAINER,
    ),
    warnings=NOTICES,
    run_time_checks=RUN_TIME_CHECKS,
    input_checks=(CONTRADICTION,),
    axes=tuple(axis.name for axis in AXES),
    modes=SUPPORTED_AXIS_SETS,
    searched=("pp_size", "tp_size", "cp_size", "expert_tp_size", "ep_size", "ep_scope"),
    offers=(OFFER,),
    canonical={
        "ep_scope": any_of(
            f.ep_scope == "auto",
            all_of(
                q.ep_group_size > 1,
                f.ep_scope != if_(q.ep_group_size <= q.nvlink_domain_size, "node", "global"),
            ),
        )
    },
    preferences=(
        Preference(
            _mode_rank(),
            "EP first, then EP with expert TP, with CP, with TP, expert TP alone, TP, CP, plain "
            "data parallelism",
        ),
        Preference(if_(q.ep_scope == "node", 0, 1), "expert groups inside one NVLink domain first"),
        Preference(0 - q.ep_group_size, "wider expert groups first"),
    ),
    world="world_size",
    objective="dp",
    launchers=(
        "launcher",
        {
            "torchrun": "torchrun --nnodes {nodes} --nproc_per_node {node} {rendezvous}SCRIPT",
            "accelerate": "accelerate launch --num_machines {nodes} --num_processes {world} SCRIPT",
        },
    ),
    settled=(
        Settled(
            "gradient_accumulation_steps",
            by="global_batch",
            quantity="accumulation_steps",
            where=f.pp_size <= 1,
        ),
    ),
    nodes="num_nodes",
    node="gpus_per_node",
    domain="nvlink_domain_size",
    summary=(
        Column("data_parallel_size", "dp"),
        Column("num_ep_groups", "EP groups", q.is_ep_mode),
        Column("ep_scope", "scope", q.is_ep_mode),
        Column("num_nvlink_domains", "domains"),
        Column("fsdp_width", "FSDP"),
    ),
    short_names={
        "dp": "data_parallel_size",
        "ep_groups": "num_ep_groups",
        "domains": "num_nvlink_domains",
        "nodes": "num_nodes",
        "memory": "memory_per_gpu",
    },
    less_is_better=frozenset({"world_size", "bubble"}),
    account=ACCOUNT,
    ladder_in="parsolve.constraints.halo.ladder",
    bounds=BOUNDS,
    bounding=("gpu_memory", "requested_global_batch"),
    disagreements=DISAGREEMENTS,
    claims=CLAIMS,
    layout=LAYOUT,
    batch=batch.STEP,
    pipeline=Pipeline(
        ranks=f.pp_size,
        microbatches=batch.microbatches,
        chunks=Const(1),
        group=f.pp_size,
        schedule=f.pp_schedule.name,
    ),
    implied=IMPLIED,
    reference="parsolve.reference.halo:validate",
    shown=(
        "world_size",
        "gpus_per_node",
        "nvlink_domain_size",
        "tp_size",
        "cp_size",
        "ep_size",
        "expert_tp_size",
        "pp_size",
        "ep_scope",
    ),
)
