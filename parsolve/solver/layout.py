"""Which ranks form which group under a configuration: its profile's layout, read at its values.

No solver is imported: the compiled terms decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values, compiled, defined_source, prologue, term_source
from parsolve.constraints.fields import FieldError, Size
from parsolve.constraints.formula import fields_of
from parsolve.constraints.layout import Grouping, Place
from parsolve.constraints.profile import Config, Profile, holds
from parsolve.solver.answer import (
    Caution,
    Fields,
    GroupKind,
    Membership,
    RankLayout,
    RankPlace,
    Rejected,
)
from parsolve.solver.check import SHOWN_REPAIRS, cautions, check
from parsolve.solver.memory import missing, usage

NUM_EXPERTS = "num_experts"

MOST_RANKS = 131_072
"""Ranks of the largest cluster whose groups are told."""


def layout(
    config: Config,
    *,
    ranks: Sequence[int] = (),
    axes: Sequence[str] = (),
    shown_repairs: int = SHOWN_REPAIRS,
) -> RankLayout | Rejected:
    """The groups of an accepted configuration; the verdict on any other one.

    With ``ranks``, where these are and in which groups, instead of all groups. ``axes`` names the
    kinds of group that are told; none means all. Raises `FieldError` for more than `MOST_RANKS`
    GPUs, a profile or a configuration whose groups are not known, an unknown kind, or a rank that
    is none.
    """
    profile, values = config.profile, config.values
    _refuse_unknown(profile)
    world: int = config[profile.world]
    if world > MOST_RANKS:
        message = f"the groups of at most {MOST_RANKS:,} GPUs are told, got a world of {world:,}"
        raise FieldError(message)
    wanted = _named(profile, axes)
    for rank in ranks:
        if not 0 <= rank < world:
            has = f"ranks 0 to {world - 1:,}" if world > 1 else "rank 0 alone"
            message = f"there is no rank {rank}: a world of {world:,} has {has}"
            raise FieldError(message)
    violated, known = profile.judged(values)
    if violated:
        verdict = check(config, shown_repairs=shown_repairs)
        assert isinstance(verdict, Rejected)  # noqa: S101  (a check looks at the same rules)
        return verdict
    _refuse_unsaid(config)
    found = _read(config, _chosen(config, wanted))
    unknown = _traffic_unknown(config)
    cluster = _Cluster(known[profile.node], known[profile.domain])
    kinds = tuple(kind.told(values, cluster, counted=unknown is None) for kind in found)
    return RankLayout(
        profile=profile.name,
        config=Fields(config.as_dict()),
        world=world,
        nodes=-(-world // cluster.node),
        gpus_per_node=cluster.node,
        domains=-(-world // cluster.domain),
        nvlink_domain_size=cluster.domain,
        kinds=tuple(map(_summarised, kinds)) if ranks else kinds,
        ranks=_places(config, found, ranks, cluster) if ranks else None,
        traffic_unknown=unknown,
        warnings=_placement_cautions(config),
    )


def _placement_cautions(config: Config) -> tuple[Caution, ...]:
    """Warnings that are about the cluster, which decides where ranks are."""
    profile = config.profile
    sizes = (profile.quantity_of[profile.node], profile.quantity_of[profile.domain])
    cluster = fields_of(*sizes) - {profile.world}
    warned = zip(profile.warned(config.values), cautions(config), strict=True)
    return tuple(
        caution for index, caution in warned if fields_of(profile.warnings[index].when) & cluster
    )


def _refuse_unknown(profile: Profile) -> None:
    if not profile.layout.kinds:
        known = [name for name in PROFILES if PROFILES[name].layout.kinds]
        message = (
            f"the {profile.name} profile does not say which ranks form which group; "
            f"{', '.join(known[:-1])} and {known[-1]} do"
        )
        raise FieldError(message)


def groups_unsaid(config: Config) -> str:
    """Why the groups of an accepted configuration are not known; empty where they are."""
    profile = config.profile
    silent = f"the {profile.name} profile does not say which ranks form which group"
    if not profile.layout.kinds:
        return silent
    for each in profile.layout.unsaid:
        if holds(profile, each.when, config.values):
            return f"{silent} {each.why}"
    return ""


def _refuse_unsaid(config: Config) -> None:
    if why := groups_unsaid(config):
        raise FieldError(why)


# --- kinds of group -------------------------------------------------------------------------


def _named(profile: Profile, axes: Sequence[str]) -> list[Grouping]:
    """The kinds of group that the names mean. Raises `FieldError` for one that means none."""
    spelled = {
        _plain(spelling): grouping
        for grouping in profile.layout.kinds
        for spelling in (grouping.name, *grouping.also)
    }
    wanted = []
    for axis in axes:
        field = profile.spellings.get(axis.lower().replace("-", "_"), "")
        grouping = spelled.get(_plain(axis)) or spelled.get(_plain(field.removesuffix("_size")))
        if grouping is None:
            names = ", ".join(kind.name for kind in profile.layout.kinds)
            raise FieldError(f"no kind of group {axis!r:.60}; there are: {names}")
        wanted.append(grouping)
    return wanted


def _chosen(config: Config, wanted: Sequence[Grouping]) -> list[Grouping]:
    """The kinds that there are, or the wanted ones of them."""
    profile = config.profile
    there = [g for g in profile.layout.kinds if holds(profile, g.where, config.values)]
    for grouping in wanted:
        if grouping not in there:
            names = ", ".join(kind.name for kind in there)
            message = f"this configuration has no {grouping.name} groups; it has: {names}"
            raise FieldError(message)
    return [grouping for grouping in there if not wanted or grouping in wanted]


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class _Cluster:
    """GPUs per OS node and per NVLink domain."""

    node: int
    domain: int


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of group and its groups."""

    profile: Profile
    grouping: Grouping
    groups: Sequence[Sequence[int]]

    def told(self, values: Values, cluster: _Cluster, *, counted: bool) -> GroupKind:
        """The kind as an answer has it."""
        grouping, quantity = self.grouping, self.grouping.traffic
        across_nodes = _leaving(self.groups, cluster.node)
        across_domains = _leaving(self.groups, cluster.domain)
        traffic = _traffic(self.profile, grouping)(values) if counted else None
        return GroupKind(
            name=grouping.name,
            about=grouping.about,
            size=len(self.groups[0]),
            count=len(self.groups),
            across_nodes=len(across_nodes),
            across_domains=len(across_domains),
            traffic=traffic,
            carries=None if traffic is None or quantity is None else quantity.about,
            groups=tuple(map(tuple, self.groups)),
            groups_across_nodes=across_nodes,
            groups_across_domains=across_domains,
        )


def _read(config: Config, groupings: Sequence[Grouping]) -> list[_Kind]:
    profile = config.profile
    return [_Kind(profile, g, _groups(profile, g)(config.values)) for g in groupings]


@cache
def _groups(profile: Profile, grouping: Grouping) -> Callable[[Values], list[list[int]]]:
    return grouping.groups(profile.fields)


def _leaving(groups: Sequence[Sequence[int]], block: int) -> tuple[int, ...]:
    """Groups with ranks in several blocks: nodes and domains are blocks of consecutive ranks."""
    return tuple(
        number
        for number, group in enumerate(groups)
        if len(group) > 1 and min(group) // block != max(group) // block
    )


def _summarised(kind: GroupKind) -> GroupKind:
    return replace(kind, groups=None, groups_across_nodes=None, groups_across_domains=None)


# --- traffic --------------------------------------------------------------------------------


def traffic(config: Config) -> dict[str, int]:
    """What one GPU sends per optimizer step in bytes, by kind of group, where that is known."""
    profile, values = config.profile, config.values
    if _traffic_unknown(config) is not None:
        return {}
    sent = {
        g.name: _traffic(profile, g)(values)
        for g in profile.layout.kinds
        if holds(profile, g.where, values)
    }
    return {name: size for name, size in sent.items() if size is not None}


def _traffic_unknown(config: Config) -> str | None:
    """Why no traffic is known, or None where it is."""
    if config.profile.account is None:
        return f"the {config.profile.name} profile does not count it"
    if usage(config) is None:
        return missing(config)
    return None


@cache
def _traffic(profile: Profile, grouping: Grouping) -> Callable[[Values], int | None]:
    quantity = grouping.traffic
    if quantity is None:
        return lambda _: None
    defined = defined_source(quantity)
    lines = prologue(profile.fields, [quantity])
    return compiled("traffic", [*lines, f"return {term_source(quantity)} if {defined} else None"])


# --- ranks ----------------------------------------------------------------------------------


def _places(
    config: Config, kinds: Sequence[_Kind], ranks: Sequence[int], cluster: _Cluster
) -> tuple[RankPlace, ...]:
    layout_ = config.profile.layout
    batch = _placed(config, layout_.batches)
    chain = _placed(config, layout_.stages)
    experts = _placed(config, layout_.experts)
    chunks = _chunks(config)
    places = [(kind, _places_in(config, kind.grouping)) for kind in kinds]
    return tuple(
        RankPlace(
            rank=rank,
            node=rank // cluster.node,
            local_rank=rank % cluster.node,
            domain=rank // cluster.domain,
            data_parallel_rank=batch(rank)[0],
            stage=None if layout_.stages is None else chain(rank)[1],
            layers=None if chunks is None else chunks[chain(rank)[1]],
            experts=_experts(config, experts(rank)[1]),
            groups=tuple(_membership(kind, at[rank], cluster) for kind, at in places),
        )
        for rank in dict.fromkeys(ranks)
    )


@cache
def _reader(profile: Profile, grouping: Grouping) -> Callable[[Values], list[Place]]:
    world = profile.field_of[profile.world]
    assert isinstance(world, Size)  # noqa: S101  (the world of every profile is a size)
    return grouping.places(profile.fields, world)


def _places_in(config: Config, grouping: Grouping) -> list[Place]:
    return _reader(config.profile, grouping)(config.values)


def _placed(config: Config, grouping: Grouping | None) -> Callable[[int], Place]:
    """A rank's group and position; alone there are one of each."""
    if grouping is None or not holds(config.profile, grouping.where, config.values):
        return lambda _: (0, 0)
    return _places_in(config, grouping).__getitem__


def _membership(kind: _Kind, place: Place, cluster: _Cluster) -> Membership:
    number, position = place
    group = kind.groups[number]
    return Membership(
        kind=kind.grouping.name,
        group=number,
        position=position,
        ranks=tuple(group),
        leaves_node=bool(_leaving([group], cluster.node)),
        leaves_domain=bool(_leaving([group], cluster.domain)),
    )


def _experts(config: Config, share: int) -> tuple[int, int] | None:
    """First and last expert of one of the equal shares."""
    profile, grouping = config.profile, config.profile.layout.experts
    experts: int | None = config[NUM_EXPERTS] if NUM_EXPERTS in profile.index_of else None
    if grouping is None or not experts:
        return None
    shared = holds(profile, grouping.where, config.values)
    shares = len(_groups(profile, grouping)(config.values)[0]) if shared else 1
    each = experts // shares
    return (share * each, (share + 1) * each - 1)


def _chunks(config: Config) -> list[tuple[tuple[int, int], ...]] | None:
    """First and last layer of each chunk, by stage; second chunks follow all first ones."""
    profile, values = config.profile, config.values
    if profile.layout.layers is None:
        return None
    given: dict[str, Any] = dict(zip(profile.index_of, values, strict=True))
    counts = profile.layout.layers(given, profile.derive(values))
    if counts is None:
        return None
    found: list[list[tuple[int, int]]] = [[] for _ in counts]
    first = 0
    for chunk in range(len(counts[0])):
        for stage, layers in zip(found, counts, strict=True):
            if layers[chunk]:
                stage.append((first, first + layers[chunk] - 1))
            first += layers[chunk]
    return [tuple(stage) for stage in found]
