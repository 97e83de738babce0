"""Which ranks form which group in halo.

Ranks are placed in order: consecutive ranks fill a node, nodes fill an NVLink domain, domains
fill a pipeline stage. Every group but the pipeline's lives in one stage, so terms are written for
the ranks of a stage, counted from 0, and `_in_every_stage` makes them terms for all. Groups are
numbered stage by stage.

Source: ``src/distributed/group_layout.py`` for blocks and columns, ``expert_parallel/config.py``
and ``context_parallel/config.py`` for who uses which, ``mesh.py`` for TP and HSDP, the ``get_*``
methods of `ParallelismConfig` in ``src/distributed/parallelism_config.py`` for stages and the
data-parallel rank.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from parsolve.constraints.formula import (
    Formula,
    Named,
    Term,
    any_of,
    if_,
    largest,
    quotient,
)
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo import traffic
from parsolve.constraints.layout import (
    GROUP,
    POSITION,
    RANK,
    SAME_BATCH,
    SAME_BATCH_ABOUT,
    SAME_BATCH_ALSO,
    Grouping,
    Layout,
    StageLayers,
)

Rank: TypeAlias = Callable[[Term, Term], Term]
"""The rank at a group and a position."""

STAGE = q.stage_world_size
DOMAIN = q.nvlink_domain_size

_stage = RANK // STAGE
_local = RANK % STAGE
_domain = _local // DOMAIN
_slot = _local % DOMAIN


def _in_every_stage(
    name: str,
    about: str,
    *,
    index: Term,
    position: Term,
    member: Rank,
    size: Term,
    count: Term,
    where: Formula,
    inside: Term = STAGE,
    also: tuple[str, ...] = (),
    traffic: Named | None = None,
) -> Grouping:
    """The grouping whose terms for the ranks of one stage are given."""
    return Grouping(
        name=name,
        about=about,
        index=_stage * count + index,
        position=position,
        member=GROUP // count * STAGE + member(GROUP % count, POSITION),
        size=size,
        count=f.pp_size * count,
        where=where,
        inside=inside,
        also=also,
        traffic=traffic,
    )


# --- blocks inside a domain -----------------------------------------------------------------


def _blocks_per_domain(size: Term) -> Term:
    return quotient(DOMAIN, size)


def _block(size: Term) -> Term:
    """The block of a rank, domain by domain."""
    return _domain * _blocks_per_domain(size) + _slot // size


def _in_block(size: Term) -> Rank:
    """The rank at a position of a block of ``size`` consecutive ranks of one domain."""
    per = _blocks_per_domain(size)
    return lambda block, position: block // per * DOMAIN + block % per * size + position


# --- expert groups --------------------------------------------------------------------------

NODE = q.ep_scope == "node"
GROUP_SIZE = q.ep_group_size
GROUPS = q.num_ep_groups

_column = quotient(GROUP_SIZE, q.num_nvlink_domains)
"""Ranks of one domain in an expert group that spans all domains."""

_expert_group = if_(NODE, _block(GROUP_SIZE), _slot // _column)
_expert_rank = if_(NODE, _slot % GROUP_SIZE, _domain * _column + _slot % _column)


def _expert_member(group: Term, rank: Term) -> Term:
    """The rank of a stage at a group and a rank in it: a block, or a column through all domains."""
    in_column = rank // _column * DOMAIN + group * _column + rank % _column
    return if_(NODE, _in_block(GROUP_SIZE)(group, rank), in_column)


SPLIT = f.expert_tp_size > 1

_dispatch_rank = if_(
    SPLIT,
    if_(NODE, _expert_rank % f.ep_size, _expert_rank // f.expert_tp_size),
    _expert_rank,
)
_slice = if_(SPLIT, if_(NODE, _expert_rank // f.ep_size, _expert_rank % f.expert_tp_size), 0)
"""The expert-TP rank: which part of the FFN width a rank holds."""


def _split(dispatch: Term, part: Term) -> Term:
    """The rank in an expert group, given the ranks in its dispatch and its expert-TP group."""
    split = if_(NODE, part * f.ep_size + dispatch, dispatch * f.expert_tp_size + part)
    return if_(SPLIT, split, dispatch)


def _dispatched(group: Term, position: Term) -> Term:
    inner = _split(position, group % f.expert_tp_size)
    return _expert_member(group // f.expert_tp_size, inner)


def _sliced(group: Term, position: Term) -> Term:
    return _expert_member(group // f.ep_size, _split(group % f.ep_size, position))


# --- groups ---------------------------------------------------------------------------------

STAGES = Grouping(
    name="stage",
    about="Ranks that hold the same layers: the scope of data parallelism.",
    index=_stage,
    position=_local,
    member=GROUP * STAGE + POSITION,
    size=STAGE,
    count=f.pp_size,
    where=q.is_pp_mode,
    inside=STAGE,
)
CHAINS = Grouping(
    name="pp",
    about="Ranks that pass one micro-batch through all stages, in stage order.",
    index=_local,
    position=_stage,
    member=POSITION * STAGE + GROUP,
    size=f.pp_size,
    count=STAGE,
    where=q.is_pp_mode,
    traffic=traffic.pp,
)
TENSOR = _in_every_stage(
    "tp",
    "Ranks that split each attention layer.",
    index=_local // f.tp_size,
    position=_local % f.tp_size,
    member=lambda group, position: group * f.tp_size + position,
    size=f.tp_size,
    count=quotient(STAGE, f.tp_size),
    where=q.is_tp_mode,
    inside=DOMAIN,
    traffic=traffic.tp,
)
DATA = _in_every_stage(
    "dp",
    "Ranks that hold the same part of the dense layers: their gradients are averaged.",
    index=_local % f.tp_size,
    position=_local // f.tp_size,
    member=lambda group, position: position * f.tp_size + group,
    size=quotient(STAGE, f.tp_size),
    count=f.tp_size,
    where=any_of(~q.is_tp_mode, q.data_parallel_size > 1),
    traffic=traffic.unsharded,
)
CONTEXT = _in_every_stage(
    "cp",
    "Ranks that split each sequence.",
    index=_block(f.cp_size),
    position=_slot % f.cp_size,
    member=_in_block(f.cp_size),
    size=f.cp_size,
    count=_blocks_per_domain(f.cp_size) * q.num_nvlink_domains,
    where=q.is_cp_mode,
    inside=DOMAIN,
    traffic=traffic.cp,
)
EXPERT = _in_every_stage(
    "ep",
    "Ranks that hold all experts of a layer between them.",
    index=_expert_group,
    position=_expert_rank,
    member=_expert_member,
    size=GROUP_SIZE,
    count=GROUPS,
    where=q.is_ep_mode,
    inside=if_(NODE, DOMAIN, STAGE),
)
REPLICAS = _in_every_stage(
    "expert-replicas",
    "Ranks that hold the same part of the same experts, one in each expert group.",
    index=_expert_rank,
    position=_expert_group,
    member=lambda group, position: _expert_member(position, group),
    size=GROUPS,
    count=GROUP_SIZE,
    where=q.is_ep_mode,
    inside=if_(NODE, STAGE, DOMAIN),
    also=("expert-dp", "edp"),
    traffic=traffic.between_expert_groups,
)
DISPATCH = _in_every_stage(
    "dispatch",
    "Ranks of an expert group that send each other tokens.",
    index=_expert_group * f.expert_tp_size + _slice,
    position=_dispatch_rank,
    member=_dispatched,
    size=f.ep_size,
    count=GROUPS * f.expert_tp_size,
    where=f.ep_size > 1,
    inside=if_(NODE, DOMAIN, STAGE),
    traffic=traffic.ep,
)
EXPERT_TENSOR = _in_every_stage(
    "etp",
    "Ranks of an expert group that split the same experts.",
    index=_expert_group * f.ep_size + _dispatch_rank,
    position=_slice,
    member=_sliced,
    size=f.expert_tp_size,
    count=GROUPS * f.ep_size,
    where=q.is_expert_tp_mode,
    inside=DOMAIN,
    also=("expert-tp",),
    traffic=traffic.etp,
)
SHARDING = _in_every_stage(
    "fsdp",
    "Ranks that FSDP shards the dense parameters over.",
    index=if_(
        q.is_tp_mode,
        _local % f.tp_size,
        if_(q.is_deferred_dp, _expert_group, if_(q.is_hsdp, _domain, 0)),
    ),
    position=if_(
        q.is_tp_mode,
        _local // f.tp_size,
        if_(q.is_deferred_dp, _expert_rank, if_(q.is_hsdp, _slot, _local)),
    ),
    member=lambda group, position: if_(
        q.is_tp_mode,
        position * f.tp_size + group,
        if_(
            q.is_deferred_dp,
            _expert_member(group, position),
            if_(q.is_hsdp, group * DOMAIN + position, position),
        ),
    ),
    size=q.fsdp_width,
    count=quotient(STAGE, q.fsdp_width),
    where=~f.quantized,
    traffic=traffic.sharded,
)
SHARD = _in_every_stage(
    "hsdp-shard",
    "Ranks that shard the data-parallel states: a domain.",
    index=_domain,
    position=_slot,
    member=lambda group, position: group * DOMAIN + position,
    size=DOMAIN,
    count=q.num_nvlink_domains,
    where=q.is_hsdp,
    inside=DOMAIN,
    also=("dp-shard",),
)
REPLICATE = _in_every_stage(
    "hsdp-replicate",
    "Ranks that hold the same shard, one in each domain.",
    index=_slot,
    position=_domain,
    member=lambda group, position: position * DOMAIN + group,
    size=q.num_nvlink_domains,
    count=DOMAIN,
    where=q.is_hsdp,
    also=("dp-replicate",),
    traffic=traffic.between_domains,
)

# --- batches --------------------------------------------------------------------------------

_width = largest(f.tp_size, f.cp_size)
_copies = if_(SPLIT, f.expert_tp_size, _width)
"""Ranks of a stage that get the same batch."""


def _same_batch(batch: Term, copy: Term) -> Term:
    """The rank of a stage at a data-parallel rank and a copy."""
    experts = _expert_member(batch % GROUPS, _split(batch // GROUPS, copy))
    return if_(SPLIT, experts, batch * _width + copy)


BATCHES = Grouping(
    name=SAME_BATCH,
    about=SAME_BATCH_ABOUT,
    also=SAME_BATCH_ALSO,
    index=if_(SPLIT, _dispatch_rank * GROUPS + _expert_group, _local // _width),
    position=_stage * _copies + if_(SPLIT, _slice, _local % _width),
    member=POSITION // _copies * STAGE + _same_batch(GROUP, POSITION % _copies),
    size=q.non_dp_replication,
    count=q.data_parallel_size,
)


def stage_layers(given: Mapping[str, Any], _: Mapping[str, Any]) -> StageLayers:
    """As split, or evenly; who gets one more of an uneven rest is not known."""
    layers, stages = given["num_hidden_layers"], given["pp_size"]
    if given["pp_split"]:
        return [[count] for count in given["pp_split"]]
    if not layers or layers % stages:
        return None
    return [[layers // stages]] * stages


LAYOUT = Layout(
    (
        STAGES,
        CHAINS,
        TENSOR,
        DATA,
        CONTEXT,
        EXPERT,
        REPLICAS,
        DISPATCH,
        EXPERT_TENSOR,
        SHARDING,
        SHARD,
        REPLICATE,
    ),
    BATCHES,
    stages=CHAINS,
    experts=DISPATCH,
    layers=stage_layers,
)
