"""What the page shows of a selected configuration: memory, rank groups, timeline, commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parsolve.cli.launching import launch
from parsolve.cli.report.rows import Row, Rows
from parsolve.cli.timeline import sizes, time
from parsolve.cli.verdicts import LABELS
from parsolve.cli.wording import STATES
from parsolve.constraints.fields import FieldError
from parsolve.constraints.formula import fields_of
from parsolve.constraints.profile import Profile, read_values
from parsolve.solver.answer import Schedule
from parsolve.solver.check import cautions
from parsolve.solver.layout import MOST_RANKS, groups_unsaid, traffic
from parsolve.solver.memory import missing, usage
from parsolve.solver.pipeline.planned import Plan, plan

MOST_WORK = 4_096
"""Forwards and backwards of one timeline in a page; more are too narrow to be seen."""

MOST_TIMELINES = 100_000
"""Forwards and backwards of all timelines of a page."""


def memory(rows: Rows) -> dict[str, Any]:
    """Bytes of each part by row, and what they are compared with; or why nothing is known."""
    account = rows.profile.account
    found = [usage(row.config) for row in rows.rows]
    if account is None or not any(found):
        lacking = missing(rows.rows[0].config) if rows.rows else "there is no configuration"
        return {"unknown": lacking}
    shown = [account.limit.name, *(part.name for part in account.parts)]
    known = next(each for each in found if each is not None)
    peaks = list(dict.fromkeys(each.peak for each in found if each is not None))
    assumed = list(dict.fromkeys(", ".join(each.assumed) for each in found if each is not None))
    return {
        "limit": known.limit,
        "states": [None if each is None else each.state for each in found],
        "words": {state: words for state, (words, _) in STATES.items()},
        "parts": [{"name": p.name.replace("_", " "), "how": p.assumes} for p in account.parts],
        "bytes": [None if e is None else [e.bytes[name] for name in shown[1:]] for e in found],
        "peaks": peaks,
        "peak": [None if each is None else peaks.index(each.peak) for each in found],
        "assumptions": assumed,
        "assumed": [None if e is None else assumed.index(", ".join(e.assumed)) for e in found],
        "total": account.total.name,
    }


def layout(rows: Rows) -> dict[str, Any]:
    """Values that the rank groups are made of, by row, and how GPUs are placed."""
    profile = rows.profile
    nodes = [
        node
        for g in profile.layout.kinds
        for node in (g.where, g.size, g.count, g.index, g.position, g.member)
    ]
    unread = profile.index_of.keys() - fields_of(*nodes)
    values = [
        {
            name.replace(".", "_"): value
            for name, value in read_values(profile, row.config.values, but=unread).items()
        }
        for row in rows.rows
    ]
    base = values[0] if values else {}
    return {
        "base": base,
        "changed": [{n: v for n, v in each.items() if base[n] != v} for each in values],
        "unknown": [_unknown_groups(row) for row in rows.rows],
        "traffic": [traffic(row.config) if row.accepted else {} for row in rows.rows],
        "worlds": _one_or_all([row.config[profile.world] for row in rows.rows]),
        "nodes": _one_or_all([known.get(profile.node) for known in rows.known]),
        "domains": _one_or_all([known.get(profile.domain) for known in rows.known]),
    }


def _unknown_groups(row: Row) -> str:
    """Why the groups of a row are not known; empty where they are."""
    if not row.accepted:
        return "the configuration is rejected, so the framework makes no groups of it"
    if why := groups_unsaid(row.config):
        return why
    world = row.config[row.config.profile.world]
    if world > MOST_RANKS:
        return f"the groups of at most {MOST_RANKS:,} GPUs are told, this is a world of {world:,}"
    return ""


def _one_or_all(values: list[Any]) -> Any:  # noqa: ANN401  (a value, or one for each row)
    return values[0] if values and all(value == values[0] for value in values) else values


def timelines(rows: Rows) -> dict[str, Any]:
    """Each distinct timeline once, the first rows' first, and which row has which.

    One that is too large to be shown, or that cannot be simulated, says so.
    """
    plans = [plan(row.config) if row.accepted else None for row in rows.rows]
    distinct = list(dict.fromkeys(each for each in plans if each is not None))
    place = {each: index for index, each in enumerate(distinct)}
    room = MOST_TIMELINES
    shown = []
    for each in distinct:
        shown.append(_timeline(each, room))
        room -= each.work if "ranks" in shown[-1] else 0
    return {
        "simulated": rows.profile.pipeline is not None,
        "of": [-1 if each is None else place[each] for each in plans],
        "timelines": shown,
    }


def _timeline(wanted: Plan, room: int) -> dict[str, Any]:
    command = _schedule_command(wanted)
    words = f"{wanted.work:,} forwards and backwards"
    if wanted.work > MOST_WORK:
        why = f"{words} are too many to be seen on a page"
        return {"command": command, "why": why}
    if wanted.work > room:
        return {"command": command, "why": "this page holds as many timelines as it has room for"}
    try:
        answer = wanted.simulated()
    except FieldError as error:
        return {"command": command, "why": str(error)}
    return {"command": command, **_drawn(answer)}


def _drawn(answer: Schedule) -> dict[str, Any]:
    share = answer.bubble.of_step
    return {
        "title": sizes(answer),
        "about": f"{time(answer, answer.total_time)} units a step, "
        f"{time(answer, answer.ideal_time)} of work; the bubble is "
        f"{share.numerator}/{share.denominator} of the step "
        f"({share.numerator / share.denominator:.1%})",
        "unit": answer.ticks_per_unit,
        "chunks": answer.virtual_stages,
        # kind (0 forward, 1 backward), micro-batch, chunk, start, end: one list for each rank
        "ranks": [
            [
                n
                for i in rank.items
                for n in (int(i.kind == "B"), i.microbatch, i.chunk, i.start, i.end)
            ]
            for rank in answer.ranks
        ],
        "idle": [f"{rank.idle_time / answer.total_time:.1%}" for rank in answer.ranks],
        "in_flight": [rank.in_flight for rank in answer.ranks],
    }


def _schedule_command(wanted: Plan) -> str:
    parts = [f"parsolve schedule --pp {wanted.pp} --microbatches {wanted.microbatches}"]
    if wanted.virtual_stages > 1:
        parts.append(f"--virtual-stages {wanted.virtual_stages}")
    if wanted.schedule is not None and wanted.schedule != "1f1b":
        parts.append(f"--schedule {wanted.schedule}")
    if wanted.group is not None and wanted.group != wanted.pp:
        parts.append(f"--microbatch-group-size {wanted.group}")
    return " ".join(parts)


def warnings(rows: Rows) -> dict[str, Any]:
    """What is accepted and worth knowing of each row: each text once, and which a row has."""
    place: dict[tuple[str, ...], int] = {}
    of = []
    for row in rows.rows:
        told = [
            (LABELS[c.kind], c.warning, c.reason, c.because, c.source) for c in cautions(row.config)
        ]
        of.append([place.setdefault(each, len(place)) for each in told])
    return {"texts": list(place), "of": of}


def launches(rows: Rows) -> list[str]:
    """The launch line of each row; empty where there is none."""
    profile = rows.profile
    stopped = [index for index, each in enumerate(profile.warnings) if not each.launchable]
    return [
        launch(profile, config, known)
        if row.accepted and not _blocked(profile, row.config.values, stopped)
        else ""
        for row, config, known in zip(rows.rows, rows.configs, rows.known, strict=True)
    ]


def _blocked(profile: Profile, values: tuple[Any, ...], stopped: Sequence[int]) -> bool:
    return bool(stopped) and not set(stopped).isdisjoint(profile.warned(values))
