"""Why nothing fits: a conflict of which the memory account is a part.

The framework's rules are taken as given. What conflicts are pins (the GPU's memory is one) and
conditions: a smallest set of them that leaves no valid configuration, found by searching
without one after the other.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, islice
from typing import TypeAlias

from parsolve.constraints.formula import fields_of
from parsolve.constraints.profile import Config
from parsolve.solver.answer import Conflict, Fields, Violation
from parsolve.solver.check import cautions
from parsolve.solver.deadline import Deadline
from parsolve.solver.query import Condition, Query, assumptions
from parsolve.solver.relax import opened, relaxations, releasable
from parsolve.solver.search import search
from parsolve.solver.solve import searched

SHOWN_RELAXATIONS = 6

MOST_PARTS = 8
"""Parts up to which every subset is tried; beyond, parts are dropped one by one."""

Part: TypeAlias = str | Condition
"""A pin, or a condition."""


def is_about_memory(query: Query, deadline: Deadline) -> bool:
    """Whether something valid is left once bounds and conditions on memory are put aside."""
    return query.narrow is not query and any(True for _ in search(query.narrow, deadline=deadline))


def explain_fit(query: Query, deadline: Deadline) -> Conflict:
    """The conflict of a question whose rules, pins and other conditions leave something valid."""
    profile, world = query.profile, query.worlds[-1]
    config = Config(profile, query.completed(world, (), ()))
    core, smallest = _Fit(query, config, deadline).core()
    pins = {part: config[part] for part in core if isinstance(part, str)}
    least = _least(query, deadline)
    broken = () if least is None else profile.violated(least.values)
    violations = tuple(
        Violation(
            rule=bound.id,
            stage=bound.stage,
            reason=bound.reason,
            because=profile.because(index, least.values)
            if index in broken
            else profile.says(index),
            remedy=bound.remedy,
            source=str(bound.source),
        )
        for index, bound in enumerate(profile.bounds, len(profile.rules))
        if least is not None and not fields_of(bound.when).isdisjoint(pins)
    )
    return Conflict(
        profile=profile.name,
        world=world,
        worlds=len(query.worlds),
        pins=Fields(pins),
        held=Fields({}),
        conditions=tuple(part.text for part in core if isinstance(part, Condition)),
        rules=violations,
        smallest=smallest,
        searched=f"{searched(query)}; the framework's rules are taken as given",
        repairs=tuple(islice(relaxations(query, deadline), SHOWN_RELAXATIONS)),
        warnings=(*assumptions(query), *cautions(config)),
        method="search",
    )


def _least(query: Query, deadline: Deadline) -> Config | None:
    """What needs the least memory of everything that the rest of the question allows."""
    profile = query.profile
    if profile.account is None:
        return None
    rest = replace(query, bounded=False)
    rows = search(rest, [profile.account.total], deadline)
    known = [(scores[0], world, chosen) for world, chosen, scores in rows if scores[0] is not None]
    if not known:
        return None
    _, world, chosen = min(known, key=lambda row: row[0])
    return Config(profile, rest.completed(world, rest.free, chosen))


class _Fit:
    """Whether anything is left where only some pins and conditions are kept."""

    def __init__(self, query: Query, config: Config, deadline: Deadline) -> None:
        self.query, self.config, self.deadline = query, config, deadline
        bounds = {name for bound in query.profile.bounds for name in fields_of(bound.when)}
        self.bounding = bounds & query.pins.keys()
        pins = [n for n in query.pins if n in bounds or releasable(config, n)]
        conditions = {condition.text: condition for condition in query.conditions}
        self.parts: tuple[Part, ...] = (*pins, *conditions.values())

    def core(self) -> tuple[tuple[Part, ...], bool]:
        """A smallest set of parts that leaves nothing, and whether that was shown."""
        parts = self.parts
        if len(parts) <= MOST_PARTS:
            for size in range(len(parts) + 1):
                for kept in combinations(parts, size):
                    if not self._leaves(kept):
                        return kept, True
        core = parts
        for part in reversed(parts):
            fewer = tuple(other for other in core if other is not part)
            if not self._leaves(fewer):
                core = fewer
        return core, False

    def _leaves(self, kept: tuple[Part, ...]) -> bool:
        self.deadline.check()
        released = [part for part in self.parts if isinstance(part, str) and part not in kept]
        conditions = [part for part in kept if isinstance(part, Condition)]
        # a bound that nobody asks about is left out; of another, any value will do
        stated = fields_of(*(condition.formula for condition in conditions))
        without = [name for name in released if name in self.bounding - stated]
        question = opened(
            self.query,
            self.config,
            [name for name in released if name not in without],
            conditions=conditions,
            without=without,
        )
        return any(True for _ in search(question, deadline=self.deadline))
