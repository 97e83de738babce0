"""Every valid configuration of a question, best first, and what the rules refuse beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import inf
from typing import Any as Anything

from parsolve.constraints.evaluate import Values
from parsolve.constraints.profile import Config, holds
from parsolve.solver.answer import Certificate, Violation
from parsolve.solver.check import violation
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.query import Query
from parsolve.solver.search import Cut, search
from parsolve.solver.solve import certificate, computed, whole

Scores = tuple[int | None, ...]
"""What a configuration reaches in each objective; None where that is unknown."""

MOST_COUNTED = 1_000_000
"""Valid configurations that are counted; after so many, only better ones are looked for."""

MOST_CANDIDATES = 60_000
"""Candidates that are judged one by one, so that what refuses them can be counted."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The valid configurations of a question, the best first.

    ``count`` is how many were found, of which the first ones are here; ``counted`` is false where
    there may be more, none of them better. ``certificate`` says that there are no others, where
    all are here; ``stopped`` why the search did not end, so that even better ones may be missing.
    """

    configs: tuple[Config, ...]
    count: int
    counted: bool = True
    certificate: Certificate | None = None
    stopped: str = ""

    @property
    def complete(self) -> bool:
        """Whether these are all, and Z3 proved it."""
        return self.certificate is not None and self.certificate.status == "proved"


def survey(query: Query, *, limit: int, deadline: Deadline) -> Survey:
    """Look at every valid completion of the query and keep the best ``limit``.

    Better is: in the first objective that differs, then in the profile's stated order. There must
    be an objective. Never raises `TimedOut`: what was found until then is the answer.
    """
    rows: list[tuple[Anything, int, tuple[Anything, ...], Scores]] = []
    goals, preferences = query.objectives, query.profile.preferences
    terms = [*(goal.term for goal in goals), *(each.term for each in preferences)]
    count, stopped, proof = 0, "", None
    cut = Cut(goals[0].maximize)
    try:
        for world, chosen, found in search(query, terms, deadline, cut):
            count += 1
            scores, order = found[: len(goals)], found[len(goals) :]
            key = (_worst_last(query, scores), tuple(map(_low_first, order)), world)
            rows.append((key, world, chosen, scores))
            if len(rows) >= 4 * limit:
                rows = _first(rows, limit)
                if count > MOST_COUNTED:
                    cut.value = rows[-1][-1][0]  # what is worse than the last would not be kept
        if count <= limit:
            proof = _proof(query, deadline)
    except TimedOut:
        stopped = f"the time limit of {deadline.seconds:g} s passed"
    shown = _first(rows, limit)
    return Survey(
        configs=tuple(
            Config(query.profile, query.completed(world, query.free, chosen))
            for _, world, chosen, _ in shown
        ),
        count=count,
        counted=cut.value is None,
        certificate=proof,
        stopped=stopped,
    )


def _first(rows: list[Anything], limit: int) -> list[Anything]:
    """The best rows; equally good ones stay in the order in which the search found them."""
    return sorted(rows, key=lambda row: row[0])[:limit]


def _worst_last(query: Query, scores: Scores) -> tuple[float, ...]:
    pairs = zip(query.objectives, scores, strict=True)
    return tuple(
        inf if score is None else -score if goal.maximize else score for goal, score in pairs
    )


def _low_first(score: int | None) -> float:
    return inf if score is None else score


def _proof(query: Query, deadline: Deadline) -> Certificate:
    started = time.monotonic()
    proved, shapes = whole(query.narrow, deadline)
    suffix = "" if query.narrow is query else computed(shapes)
    return certificate(
        query,
        f"nothing valid lies outside this list{suffix}",
        proved=proved,
        seconds=time.monotonic() - started,
        deadline=deadline,
    )


@dataclass(frozen=True, slots=True)
class Refusal:
    """What refuses candidates first, how many, and the simplest of them.

    It is a rule, broken at ``config``, or else one of the question's conditions.
    """

    config: Config
    count: int
    rule: Violation | None = None
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Refusals:
    """What refuses the candidates of a question on one world.

    Candidates are the completions that differ from the defaults in at most ``knobs`` of the
    ``searched`` ones, so many that all can be judged.
    """

    world: int
    knobs: int
    searched: tuple[str, ...]
    candidates: int
    refusals: tuple[Refusal, ...]


def refusals(query: Query, deadline: Deadline) -> Refusals:
    """Judge the candidates of the query's first world. Raises `TimedOut`."""
    profile, world = query.profile, query.worlds[0]
    knobs, candidates = _candidates(query, world)
    judged = 0
    counts: dict[str, int] = {}
    simplest: dict[str, Values] = {}
    for values in candidates():
        deadline.check()
        if not profile.is_question(values):
            continue
        judged += 1
        refused_by = _refused_by(query, values)
        if not refused_by:
            continue
        counts[refused_by] = counts.get(refused_by, 0) + 1
        simplest.setdefault(refused_by, values)
    index_of = {rule.id: index for index, rule in enumerate(profile.limits)}
    return Refusals(
        world=world,
        knobs=knobs,
        searched=query.free,
        candidates=judged,
        refusals=tuple(
            Refusal(
                config=(config := Config(profile, simplest[name])),
                count=count,
                rule=violation(config, index_of[name]) if name in index_of else None,
                condition="" if name in index_of else name,
            )
            for name, count in sorted(counts.items(), key=lambda each: -each[1])
        ),
    )


def _refused_by(query: Query, values: Values) -> str:
    """The first rule or condition that refuses the values; nothing if they are accepted."""
    profile = query.profile
    if violated := profile.violated(values):
        return profile.limits[violated[0]].id
    conditions = query.conditions
    return next((c.text for c in conditions if not holds(profile, c.formula, values)), "")


def _candidates(query: Query, world: int) -> tuple[int, Callable[[], Iterator[Values]]]:
    """In how many knobs the candidates differ at most from the defaults, and those, in order."""
    default = {name: query.profile.field_of[name].default for name in query.free}
    others = {
        name: [value for value in query.domain(name, world) if value != default[name]]
        for name in query.free
    }

    def changing(knobs: int) -> Iterator[Values]:
        for names in combinations(query.free, knobs):
            for chosen in product(*(others[name] for name in names)):
                full = {**default, **dict(zip(names, chosen, strict=True))}
                yield query.completed(world, query.free, [full[name] for name in query.free])

    sizes = [_count(others, knobs) for knobs in range(len(query.free) + 1)]
    most = max((k for k in range(len(sizes)) if sum(sizes[: k + 1]) <= MOST_CANDIDATES), default=0)
    return most, lambda: (values for knobs in range(most + 1) for values in changing(knobs))


def _count(others: dict[str, list[Anything]], knobs: int) -> int:
    """How many ways there are to change exactly so many knobs."""
    ways = [1, *[0] * knobs]
    for values in others.values():
        for place in range(knobs, 0, -1):
            ways[place] += ways[place - 1] * len(values)
    return ways[knobs]
