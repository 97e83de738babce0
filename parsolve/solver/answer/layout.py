"""Which ranks form which group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parsolve.solver.answer.verdict import Caution, Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKind:
    """One kind of group: ``count`` groups of ``size`` ranks each.

    ``across_nodes`` and ``across_domains`` count the groups that have ranks on several OS nodes or
    in several NVLink domains. ``traffic`` is what a GPU sends inside its group per optimizer step,
    in bytes, and ``carries`` what that is; absent where it is not known or not counted. ``groups``
    are the ranks of each group in the order of their positions; a group's number is its place, and
    the last two attributes are places in ``groups``. These three are absent where ranks are asked
    for.
    """

    name: str
    about: str
    size: int
    count: int
    across_nodes: int
    across_domains: int
    traffic: int | None = None
    carries: str | None = None
    groups: tuple[tuple[int, ...], ...] | None = None
    groups_across_nodes: tuple[int, ...] | None = None
    groups_across_domains: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The group of one kind that a rank is in, and the rank's position in it, both from 0 on."""

    kind: str
    group: int
    position: int
    ranks: tuple[int, ...]
    leaves_node: bool
    leaves_domain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlace:
    """Where a rank is, what it holds, and its groups. Everything counts from 0.

    ``local_rank`` is its place on the node. ``layers`` are the first and last layer of each of its
    chunks, ``experts`` the first and last routed expert of every layer that it holds, a slice of
    each under expert TP; absent where not known. ``stage`` is absent where there are no pipelines.
    """

    rank: int
    node: int
    local_rank: int
    domain: int
    data_parallel_rank: int
    stage: int | None = None
    layers: tuple[tuple[int, int], ...] | None = None
    experts: tuple[int, int] | None = None
    groups: tuple[Membership, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLayout:
    """Which ranks form which group.

    Rank r is on node r // ``gpus_per_node`` and in NVLink domain r // ``nvlink_domain_size``.
    ``traffic_unknown`` says why no traffic is known; ``ranks`` are those that were asked for.
    """

    profile: str
    config: Fields
    world: int
    nodes: int
    gpus_per_node: int
    domains: int
    nvlink_domain_size: int
    kinds: tuple[GroupKind, ...]
    ranks: tuple[RankPlace, ...] | None = None
    traffic_unknown: str | None = None
    warnings: tuple[Caution, ...] = ()
    answer: Literal["layout"] = "layout"
