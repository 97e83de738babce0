"""Why nothing fits: a conflict of which the memory account is a part.

The framework's rules are taken as given. What conflicts are pins (the GPU's memory is one) and
conditions: a smallest set of them that leaves no valid configuration, found by searching
without one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, islice
from typing import TypeAlias

from parsolve.constraints.formula import fields_of
from parsolve.constraints.profile import Config
from parsolve.solver.answer import Conflict, Fields, Violation
from parsolve.solver.check import cautions
from parsolve.solver.deadline import Deadline
from parsolve.solver.query import Condition, Query, assumptions
from parsolve.solver.relax import adjustable, opened, relaxations, widened
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
    fit = _Fit(query, config, deadline)
    core, smallest = fit.core()
    pins = {part: config[part] for part in core if isinstance(part, str)}
    least = _least(fit.question(core, bounded=False), pins, deadline)
    broken = set() if least is None else set(profile.violated(least.values))
    violations = tuple(
        Violation(
            rule=bound.id,
            stage=bound.stage,
            reason=bound.reason,
            because=profile.because(index, least.values)
            if least is not None and index in broken
            else profile.says(index),
            remedy=bound.remedy,
            source=str(bound.source),
        )
        for index, bound in enumerate(profile.bounds, len(profile.rules))
        if not bound.reads.isdisjoint(pins.keys() & set(profile.bounding))
        and (index in broken or not broken)
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
        searched=fit.searched,
        repairs=tuple(islice(relaxations(query, deadline), SHOWN_RELAXATIONS)),
        warnings=(*assumptions(query), *cautions(config)),
        method="search",
    )


def _least(rest: Query, pins: Mapping[str, object], deadline: Deadline) -> Config | None:
    """What needs the least memory of everything that is left without the bounds.

    Where memory is not known, the first of it.
    """
    profile = rest.profile
    terms = () if profile.account is None else (profile.account.total,)
    found = [
        (scores[0] if scores and scores[0] is not None else 0, world, chosen)
        for world, chosen, scores in search(rest, terms, deadline)
    ]
    if not found:
        return None
    _, world, chosen = min(found, key=lambda row: row[0])
    bare = Config(profile, rest.completed(world, rest.free, chosen))
    return bare.replaced({name: pins[name] for name in profile.bounding if name in pins})


class _Fit:
    """Whether anything is left where only some pins and conditions are kept."""

    def __init__(self, query: Query, config: Config, deadline: Deadline) -> None:
        self.query, self.config, self.deadline = query, config, deadline
        self.bounding = query.pins.keys() & set(query.profile.bounding)
        pins = [n for n in query.pins if n in self.bounding or adjustable(query, config, n)]
        conditions = {condition.text: condition for condition in query.conditions}
        self.parts: tuple[Part, ...] = (*pins, *conditions.values())

    @property
    def searched(self) -> str:
        """Which values were tried, those of pins that were let go included."""
        without = [p for p in self.parts if isinstance(p, str) and p in self.unstated(self.parts)]
        moved = [p for p in self.parts if isinstance(p, str) and p not in without]
        let_go = [f"without {name}" for name in without]
        for name in moved:
            others = {*widened(self.query, self.config, name)} - {self.config[name]}
            let_go.append(f"{name} at {len(others)} other value{'s' if len(others) != 1 else ''}")
        tried = f"; to see what conflicts, also {', '.join(let_go)}" if let_go else ""
        return f"{searched(self.query)}{tried}; the framework's rules hold throughout"

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
        return any(True for _ in search(self.question(kept), deadline=self.deadline))

    def question(self, kept: tuple[Part, ...], *, bounded: bool = True) -> Query:
        """What is asked where only these parts are kept.

        A bound that nobody asks about is left out; of another, any value will do.
        """
        released = [part for part in self.parts if isinstance(part, str) and part not in kept]
        conditions = [part for part in kept if isinstance(part, Condition)]
        without = [name for name in released if name in self.unstated(kept)]
        question = opened(
            self.query,
            self.config,
            [name for name in released if name not in without],
            conditions=conditions,
            without=without,
        )
        return question if bounded else replace(question, bounded=False)

    def unstated(self, kept: tuple[Part, ...]) -> set[str]:
        """Bounds that no condition that is kept speaks of: without their pins nobody asks."""
        conditions = (part.formula for part in kept if isinstance(part, Condition))
        return self.bounding - fields_of(*conditions)
