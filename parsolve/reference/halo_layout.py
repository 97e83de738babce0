"""The halo process groups as its framework would create them: loops that fill lists of ranks.

Every number in a group is a global rank. All ranks create all groups of all stages in one order:
stage after stage, and inside a stage by group index.
"PC" below is the framework's `src/distributed/parallelism_config.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

Group = list[int]
Groups = list[Group]


@dataclass(frozen=True, slots=True)
class Layout:
    """Who is grouped with whom, by global rank; an axis of size 1 makes every rank its own group.

    `pp` holds one chain per position in a stage. `expert_replicas` holds, per stage and EP rank,
    the ranks with that EP rank. `dispatch` and `expert_tp` follow the order of the EP groups they
    split. `data_parallel_ranks` says which batch a rank reads, and is indexed by rank.
    """

    tp: Groups
    cp: Groups
    ep: Groups
    dispatch: Groups
    expert_tp: Groups
    expert_replicas: Groups
    pp: Groups
    stage: Groups
    dp_shard: Groups
    dp_replicate: Groups
    data_parallel_ranks: list[int]


def _fill(members: Iterable[T], size: int) -> list[list[T]]:
    """Deal members out in order: `size` to the first group, `size` to the next, and so on."""
    groups: list[list[T]] = []
    for member in members:
        if not groups or len(groups[-1]) == size:
            groups.append([])
        groups[-1].append(member)
    return groups


def _join(groups: Iterable[list[T]]) -> list[T]:
    """Put groups behind each other."""
    joined: list[T] = []
    for group in groups:
        joined.extend(group)
    return joined


def _across(groups: list[list[T]]) -> list[list[T]]:
    """Group what stands at the same position of equally long groups."""
    columns: list[list[T]] = [[] for _ in groups[0]]
    for group in groups:
        for column, member in zip(columns, group, strict=True):
            column.append(member)
    return columns


def _create_domains(*, world_size: int, gpus_per_node: int, nvlink_domain_size: int) -> Groups:
    """Rack ranks into nodes, and whole nodes into NVLink domains; sizes in ranks.

    Source: PC (placement); `group_layout.py`.
    """
    nodes = _fill(range(world_size), gpus_per_node)
    racks = _fill(nodes, nvlink_domain_size // gpus_per_node)
    return [_join(rack) for rack in racks]


def _create_node_local_groups(domains: Groups, size: int) -> Groups:
    """Cut each domain into groups of `size` ranks, domain after domain.

    Source: `group_layout.py`; for context parallelism also `context_parallel/config.py`.
    """
    groups: Groups = []
    for domain in domains:
        groups += _fill(domain, size)
    return groups


def _create_cross_domain_groups(domains: Groups, size: int) -> Groups:
    """Give every group of `size` ranks an equal, contiguous share of each domain of a stage.

    Source: `group_layout.py`; `expert_parallel/config.py`.
    """
    per_domain = size // len(domains)
    shares_by_domain = [_fill(domain, per_domain) for domain in domains]
    return [_join(shares) for shares in _across(shares_by_domain)]


def _create_ep_groups(domains: Groups, *, ep_scope: str, ep_group_size: int) -> Groups:
    """Create the EP groups of one stage, `ep_group_size` = EP x expert-TP ranks each.

    Source: `expert_parallel/config.py`.
    """
    if ep_scope == "node":
        return _create_node_local_groups(domains, ep_group_size)
    return _create_cross_domain_groups(domains, ep_group_size)


def _split_ep_group(
    ep_group: Group, *, ep_scope: str, ep_size: int, expert_tp_size: int
) -> tuple[Groups, Groups]:
    """Split one EP group into its dispatch groups and its expert-TP groups.

    Dispatch inside a domain addresses peers by offset, so its groups are the contiguous ones;
    across domains the expert-TP groups are, so that their reduction stays in a domain.
    Source: `expert_parallel/config.py`.
    """
    if ep_scope == "node":
        dispatch = _fill(ep_group, ep_size)
        return dispatch, _across(dispatch)
    expert_tp = _fill(ep_group, expert_tp_size)
    return _across(expert_tp), expert_tp


def _create_hsdp_groups(domains: Groups, *, use_hsdp: bool) -> tuple[Groups, Groups]:
    """Shard over a domain and replicate over domains, or shard over the whole stage.

    Source: `mesh.py`; PC `get_*` methods.
    """
    if use_hsdp and len(domains) > 1:
        return domains, _across(domains)
    stage = _join(domains)
    return [stage], _fill(stage, 1)


def _get_batch_sharers(
    *,
    tp: Groups,
    cp: Groups,
    expert_tp_by_ep_group: list[Groups],
    tp_size: int,
    cp_size: int,
    expert_tp_size: int,
) -> Groups:
    """List the groups of one stage whose ranks read one batch, first batch first.

    Source: PC `get_*` methods.
    """
    if expert_tp_size > 1:
        # All EP groups take a batch for their first dispatch rank before any does for its second.
        return _join(_across(expert_tp_by_ep_group))
    if cp_size > tp_size:
        return cp
    return tp  # singletons when no axis shares a batch


def _number_batches(sharers: Groups) -> list[int]:
    """Number the batches of one stage from 0, and list them by rank of that stage.

    Source: PC `get_*` methods.
    """
    batch_of: dict[int, int] = {}
    for batch, partners in enumerate(sharers):
        for rank in partners:
            batch_of[rank] = batch
    return [batch_of[rank] for rank in sorted(batch_of)]


def _create_stage_layout(
    domains: Groups,
    *,
    ep_size: int,
    expert_tp_size: int,
    tp_size: int,
    cp_size: int,
    ep_scope: str,
    use_hsdp: bool,
) -> Layout:
    """Create the groups of one stage, as if it were a pipeline of its own.

    Source: PC `get_*` methods; `expert_parallel/config.py`; `mesh.py`.
    """
    stage = _join(domains)
    tp = _fill(stage, tp_size)
    cp = _create_node_local_groups(domains, cp_size)
    ep = _create_ep_groups(domains, ep_scope=ep_scope, ep_group_size=ep_size * expert_tp_size)

    dispatch: Groups = []
    expert_tp_by_ep_group: list[Groups] = []
    for ep_group in ep:
        own_dispatch, own_expert_tp = _split_ep_group(
            ep_group, ep_scope=ep_scope, ep_size=ep_size, expert_tp_size=expert_tp_size
        )
        dispatch += own_dispatch
        expert_tp_by_ep_group.append(own_expert_tp)

    dp_shard, dp_replicate = _create_hsdp_groups(domains, use_hsdp=use_hsdp)
    sharers = _get_batch_sharers(
        tp=tp,
        cp=cp,
        expert_tp_by_ep_group=expert_tp_by_ep_group,
        tp_size=tp_size,
        cp_size=cp_size,
        expert_tp_size=expert_tp_size,
    )
    return Layout(
        tp=tp,
        cp=cp,
        ep=ep,
        dispatch=dispatch,
        expert_tp=_join(expert_tp_by_ep_group),
        expert_replicas=_across(ep),
        pp=_across([stage]),
        stage=[stage],
        dp_shard=dp_shard,
        dp_replicate=dp_replicate,
        data_parallel_ranks=_number_batches(sharers),
    )


def layout(
    *,
    world_size: int,
    gpus_per_node: int,
    nvlink_domain_size: int,
    ep_size: int,
    expert_tp_size: int,
    tp_size: int,
    cp_size: int,
    pp_size: int,
    ep_scope: str,
    use_hsdp: bool = False,
) -> Layout:
    """Create every group of an accepted configuration.

    Sizes are in ranks and are the effective ones: nothing is detected, clamped or refused here,
    and `ep_scope` is `node` or `global`.
    Source: `group_layout.py`; PC `get_*` methods.
    """
    domains = _create_domains(
        world_size=world_size, gpus_per_node=gpus_per_node, nvlink_domain_size=nvlink_domain_size
    )
    stages = [
        _create_stage_layout(
            stage_domains,
            ep_size=ep_size,
            expert_tp_size=expert_tp_size,
            tp_size=tp_size,
            cp_size=cp_size,
            ep_scope=ep_scope,
            use_hsdp=use_hsdp,
        )
        for stage_domains in _fill(domains, len(domains) // pp_size)
    ]
    blocks = _join(stage.stage for stage in stages)
    return Layout(
        tp=_join(stage.tp for stage in stages),
        cp=_join(stage.cp for stage in stages),
        ep=_join(stage.ep for stage in stages),
        dispatch=_join(stage.dispatch for stage in stages),
        expert_tp=_join(stage.expert_tp for stage in stages),
        expert_replicas=_join(stage.expert_replicas for stage in stages),
        pp=_across(blocks),
        stage=blocks,
        dp_shard=_join(stage.dp_shard for stage in stages),
        dp_replicate=_join(stage.dp_replicate for stage in stages),
        data_parallel_ranks=_join(stage.data_parallel_ranks for stage in stages),
    )
