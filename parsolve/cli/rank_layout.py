"""Rank groups as text: what kinds there are, where their groups lie, and where one rank is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from parsolve.cli.rank_grid import (
    ACROSS_DOMAINS,
    ACROSS_NODES,
    alike,
    is_drawn,
    panel,
    show_grids,
)
from parsolve.cli.screen import LABEL, Screen
from parsolve.cli.table import BELOW, UNWRAPPED, Table, measured
from parsolve.cli.verdicts import show_cautions, show_model
from parsolve.cli.wording import cluster, differences
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import gib
from parsolve.solver.answer import GroupKind, Membership, RankLayout, RankPlace

MOST_GROUPS = 4
"""Groups that are listed; of more, the first two and the last."""

MOST_RUNS = 3
"""Stretches of ranks that are listed; of more, evenly spaced, the first two and the last."""

MOST_NUMBERS = 4
"""Numbers of crossing groups that are listed."""


def show_layout(screen: Screen, answer: RankLayout) -> None:
    """Headline, kinds of group and their grids; or the ranks that were asked for."""
    screen.headline("layout", headline(answer), "bold")
    show_model(screen, PROFILES[answer.profile], answer.config)
    if answer.ranks is None:
        _show_groups(screen, answer)
    else:
        for place in answer.ranks:
            screen.line()
            _show_rank(screen, answer, place)
    screen.line()
    _show_legend(screen, answer)
    show_cautions(screen, answer.warnings)


def headline(answer: RankLayout) -> str:
    """The configuration and the cluster in words."""
    profile = PROFILES[answer.profile]
    derived = {
        profile.nodes: answer.nodes,
        profile.node: answer.gpus_per_node,
        profile.domain: answer.nvlink_domain_size,
    }
    chosen = differences(profile, answer.config)
    return f"[{profile.name}] {chosen} on {cluster(profile, answer.config, derived)}"


# --- kinds of group -------------------------------------------------------------------------


def _show_groups(screen: Screen, answer: RankLayout) -> None:
    together = alike(answer.kinds)
    first_of = {kind.name: same[0] for same in together for kind in same}
    wide = max(LABEL, *(len(kind.name) for kind in answer.kinds))
    screen.line()
    for kind in answer.kinds:
        screen.entry(kind.name, kind.about, wide)
        same = first_of[kind.name]
        told = [f"the groups of {same.name}"]
        if same is kind:
            told = [f"{how_many(kind)}: {_listed(kind)}", *crossing(kind, answer)]
        screen.entry("", "; ".join([*told, *sent(kind)]), wide)
    drawn = [same for same in together if is_drawn(same[0])]
    if drawn:
        panels = [panel(same, answer.world) for same in drawn]
        show_grids(screen, answer, panels, screen.width or UNWRAPPED)


def how_many(kind: GroupKind) -> str:
    """How many groups of how many ranks."""
    return f"{kind.count:,} group{'s' if kind.count > 1 else ''} of {kind.size:,}"


def _listed(kind: GroupKind) -> str:
    """The groups, or the first and the last of them."""
    groups = kind.groups or ()
    if len(groups) <= MOST_GROUPS:
        return " | ".join(map(members, groups))
    first, second, last = map(members, (*groups[:2], groups[-1]))
    return f"{first} | {second} | .. | {last}"


def crossing(kind: GroupKind, answer: RankLayout) -> list[str]:
    """Which groups leave their NVLink domain, and which their node where that is another matter."""
    parts = []
    if kind.across_domains:
        which = _leave(kind, kind.groups_across_domains, "NVLink domain")
        parts.append(f"{ACROSS_DOMAINS} {which}")
    if answer.nvlink_domain_size != answer.gpus_per_node and kind.across_nodes:
        parts.append(f"{ACROSS_NODES} {_leave(kind, kind.groups_across_nodes, 'node')}")
    return parts


def _leave(kind: GroupKind, numbers: Sequence[int] | None, what: str) -> str:
    numbers = numbers or ()
    if len(numbers) == kind.count:
        return f"each leaves its {what}" if kind.count > 1 else f"leaves its {what}"
    listed = ", ".join(map(str, numbers[:MOST_NUMBERS]))
    more = ", .." if len(numbers) > MOST_NUMBERS else ""
    leave = "leave their" if len(numbers) > 1 else "leaves its"
    return f"{len(numbers):,} of {kind.count:,} ({listed}{more}) {leave} {what}"


def sent(kind: GroupKind) -> list[str]:
    """What a GPU sends inside its group, if it sends anything."""
    return [f"{gib(kind.traffic)} per GPU and step"] if kind.traffic else []


def members(ranks: Sequence[int]) -> str:
    """The ranks of a group in order: ``0-7``, ``0, 8, .., 56``, ``0-3, 8-11``."""
    runs = [[ranks[0], ranks[0]]]
    for before, rank in pairwise(ranks):
        if rank == before + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    listed = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    if len(runs) <= MOST_RUNS:
        return ", ".join(listed)
    lengths = {last - first for first, last in runs}
    steps = {second[0] - first[0] for first, second in pairwise(runs)}
    if len(lengths) == len(steps) == 1:
        return f"{listed[0]}, {listed[1]}, .., {listed[-1]}"
    return f"{', '.join(listed[:MOST_RUNS])}, ... {listed[-1]} ({len(ranks):,} ranks)"


# --- ranks ----------------------------------------------------------------------------------


def _show_rank(screen: Screen, answer: RankLayout, place: RankPlace) -> None:
    """Where the rank is, what it holds, and its groups."""
    parts = [
        f"GPU {place.local_rank} of node {place.node}",
        f"NVLink domain {place.domain}",
        f"data-parallel rank {place.data_parallel_rank}",
    ]
    if place.stage is not None:
        parts.append(f"pipeline stage {place.stage}")
    if place.layers is not None:
        parts.append(f"layers {_spans(place.layers)}" if place.layers else "no layers")
    if place.experts is not None:
        parts.append(f"experts {_spans([place.experts])}")
    screen.entry(f"rank {place.rank}", ", ".join(parts))
    traffic = {kind.name: kind.traffic for kind in answer.kinds}
    per_step = ["sent per step"] if any(traffic.values()) else []
    rows = [
        [
            each.kind,
            str(each.group),
            str(each.position),
            str(len(each.ranks)),
            _leaves(each),
            *(_bytes(traffic[each.kind]) for _ in per_step),
            members(each.ranks),
        ]
        for each in place.groups
    ]
    headings = ["kind", "group", "position", "of", "leaves", *per_step, "ranks in it"]
    columns = measured(headings, rows)
    needed = sum(2 + max(column.width, len(column.heading)) for column in columns)
    below = 0 < screen.width < needed
    table = Table(screen, columns[:-1] if below else columns)
    for row in rows:
        table.row(row[:-1] if below else row)
        if below:
            screen.line(f"{BELOW}{row[-1]}")


def _bytes(size: int | None) -> str:
    return "-" if size is None else gib(size)


def _leaves(each: Membership) -> str:
    if each.leaves_domain:
        return f"domain {ACROSS_DOMAINS}"
    return f"node {ACROSS_NODES}" if each.leaves_node else "-"


def _spans(spans: Sequence[tuple[int, int]]) -> str:
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


# --- legend ---------------------------------------------------------------------------------


def _show_legend(screen: Screen, answer: RankLayout) -> None:
    if answer.ranks is None and any(map(is_drawn, answer.kinds)):
        screen.entry("numbers", f"of groups; all count from 0{_signs(answer)}")
    else:
        screen.entry("numbers", f"all count from 0{_signs(answer)}")
    undrawn = [kind.name for kind in answer.kinds if not is_drawn(kind)]
    if answer.ranks is None and undrawn:
        screen.entry("not drawn", f"{', '.join(undrawn)}: one group of all, or of one each")
    if answer.traffic_unknown is not None:
        screen.entry("traffic", f"not known: {answer.traffic_unknown}")
        return
    uncounted = ", ".join(kind.name for kind in answer.kinds if kind.traffic is None)
    none = f"; none is counted for {uncounted} alone" if uncounted else ""
    screen.entry(
        "traffic",
        f"what a GPU of the fullest stage sends inside its group, if collectives are rings{none}",
    )


def _signs(answer: RankLayout) -> str:
    domains = any(kind.across_domains for kind in answer.kinds)
    nodes = any(kind.across_nodes > kind.across_domains for kind in answer.kinds)
    parts = []
    if domains:
        parts.append(f"{ACROSS_DOMAINS} leaves its NVLink domain")
    if nodes:
        parts.append(f"{ACROSS_NODES} leaves its node, not its NVLink domain")
    return "".join(f"; {part}" for part in parts)
