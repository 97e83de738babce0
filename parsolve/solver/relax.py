"""What to give up of a question that has no answer, and what that would give.

Also the values that a conflict considers: `explain` and the relaxations look at the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any as Anything

from parsolve.constraints.fields import Bytes, Choice, Flag, Size
from parsolve.constraints.formula import (
    Compare,
    Const,
    Formula,
    Node,
    Variable,
    children,
    fields_of,
    stated_in,
)
from parsolve.constraints.memory.hardware import MEMORY_SIZES
from parsolve.constraints.profile import Config
from parsolve.solver.answer import Fields, Repair
from parsolve.solver.deadline import Deadline
from parsolve.solver.numbers import divisors
from parsolve.solver.query import Condition, Query, domain
from parsolve.solver.repair import effective_values, multiples
from parsolve.solver.search import search

MOST_RELAXED = 3
"""Parts of the question that one relaxation gives up, at most."""

MOST_RELAXED_TO_FIT = 2
"""The same where the memory is in question: every search computes an account."""

MOST_VALUES = 48
"""Values of one size that a conflict considers: enough to show it, few enough to be quick."""

UNSAID = 1e9
"""How far from any number it is to give none."""

NEAR_WORLDS = 64
"""How far from the world that was asked another one is offered."""


def held(query: Query) -> tuple[str, ...]:
    """Switches and choices that conditions speak of and that nobody set: they stay at default."""
    profile = query.profile
    said = stated_in(*(condition.formula for condition in query.conditions))
    if query.narrow is not query and profile.account is not None:
        said |= frozenset(profile.account.levers)
    return tuple(
        field.name
        for field in profile.fields
        if field.name in said
        and field.flag
        and isinstance(field, (Flag, Choice))
        and field.name not in query.pins
        and field.name not in query.free
    )


def releasable(config: Config, name: str) -> bool:
    """Whether a pin can be let go: a knob, or a number of the cluster, off its default."""
    field = config.profile.field_of[name]
    if config[name] == field.default and name not in config.profile.axes:
        return False
    if isinstance(field, (Flag, Choice)):
        return field.role == "knob"
    return isinstance(field, Size) and field.role in {"cluster", "knob"}


def adjustable(query: Query, config: Config, name: str) -> bool:
    """Whether a pin can be let go where memory is in question: also what only the account reads."""
    profile = query.profile
    if releasable(config, name):
        return True
    account = profile.account
    field = profile.field_of[name]
    return (
        query.narrow is not query
        and account is not None
        and field.role == "run"
        and config[name] != field.default
        and name in fields_of(account.total)
    )


def widened(query: Query, config: Config, name: str) -> tuple[Anything, ...]:
    """Values of a knob in a conflict: those searched, the pinned one, those conditions name."""
    profile = query.profile
    field = profile.field_of[name]
    world = config[profile.world]
    values: list[Anything] = []
    if isinstance(field, Size) and not field.divides:
        if isinstance(field, Bytes):
            values += [size for size in MEMORY_SIZES if size > (config[name] or 0)]
        elif field.role == "cluster":
            values += [field.default, *_thinned(list(divisors(world)))]
        else:
            values.append(field.default)
        if query.narrow is not query and field.role == "knob" and config[name]:
            values += [config[name] >> bits for bits in range(1, config[name].bit_length())]
            values += multiples(profile, config.values, name)
    else:
        values += _thinned(list(domain(profile, name, world)))
    if name in query.pins:
        values.append(query.pins[name])
    if isinstance(field, Size):
        named = {n for c in query.conditions for n in _compared(c.formula, name, set())}
        values += sorted(n for n in named if n >= field.minimum)
    return tuple(dict.fromkeys(values))


def _thinned(values: list[Anything]) -> list[Anything]:
    """At most `MOST_VALUES` of them: the smaller half as it is, the rest spread out."""
    if len(values) <= MOST_VALUES:
        return values
    half = MOST_VALUES // 2
    rest = values[half:]
    return values[:half] + [rest[i * (len(rest) - 1) // (half - 1)] for i in range(half)]


def _compared(node: Node, name: str, seen: set[int]) -> Iterator[int]:
    """Constants that a condition compares the field with, and their neighbours."""
    if id(node) in seen:
        return  # the account's quantities are shared by many others
    seen.add(id(node))
    if isinstance(node, Compare):
        sides = (node.left, node.right)
        for side, other in (sides, sides[::-1]):
            if isinstance(side, Variable) and side.name == name and isinstance(other, Const):
                value = other.value
                if isinstance(value, int):
                    yield from (value - 1, value, value + 1)
    for child in children(node):
        yield from _compared(child, name, seen)


MOST_TIMES = 64
"""How many times the world that was asked is offered where something does not fit."""


def relaxations(query: Query, deadline: Deadline) -> Iterator[Repair]:
    """Smallest relaxations of the question that have a valid answer, nearest value first.

    Each gives up as few pins and conditions as possible; pins keep a value, but another one.
    Where none of them helps, the numbers of the cluster are tried. The nearest worlds on which
    the question has an answer come last.
    """
    profile = query.profile
    config = Config(profile, query.completed(query.worlds[-1], (), ()))
    asked: list[str | Condition] = [
        *(
            name
            for name in query.pins
            if profile.field_of[name].role != "cluster" and adjustable(query, config, name)
        ),
        *held(query),
        *{condition.text: condition for condition in query.conditions}.values(),
    ]
    hardware: list[str | Condition] = [
        field.name
        for field in profile.fields
        if field.role == "cluster"
        and field.flag
        and field.name != profile.world
        and (field.name in query.pins or not isinstance(field, Bytes))
    ]
    most = MOST_RELAXED if query.narrow is query else MOST_RELAXED_TO_FIT
    for parts in (asked, hardware):
        for size in range(1, most + 1):
            found = False
            for chosen in combinations(parts, size):
                deadline.check()
                repair = _relaxed(query, config, chosen, deadline)
                if repair is not None:
                    found = True
                    yield repair
            if found:
                break
        if found:
            break
    if not query.conditions:
        yield from _other_worlds(query, deadline)


def _other_worlds(query: Query, deadline: Deadline) -> Iterator[Repair]:
    """The nearest smaller and larger world on which the rest of the question has an answer."""
    world = query.worlds[-1]
    field = query.profile.field_of[query.profile.world]
    if len(query.worlds) > 1 or not isinstance(field, Size):
        return
    smaller: Sequence[int] = range(world - 1, world - NEAR_WORLDS - 1, -1)
    larger: Sequence[int] = range(world + 1, world + NEAR_WORLDS + 1)
    if query.narrow is not query:
        # what does not fit needs more GPUs, and whole multiples of them
        larger = (*larger, *(world * factor for factor in range(2, MOST_TIMES + 1)))
    for worlds in (smaller, larger):
        legal = tuple(n for n in worlds if field.minimum <= n <= field.maximum)
        moved = replace(query, worlds=legal)
        deadline.check()
        found = next(search(moved, deadline=deadline), None) if legal else None
        if found is not None:
            other, chosen, _ = found
            accepted = Config(query.profile, moved.completed(other, moved.free, chosen))
            change = Fields({query.profile.world: other})
            yield Repair(change=change, config=Fields(accepted.as_dict()))


def _relaxed(
    query: Query, config: Config, chosen: Sequence[str | Condition], deadline: Deadline
) -> Repair | None:
    names = tuple(part for part in chosen if isinstance(part, str))
    dropped = tuple(part.text for part in chosen if isinstance(part, Condition))
    free = tuple(dict.fromkeys((*query.free, *names)))
    question = opened(query, config, names, [c for c in query.conditions if c.text not in dropped])
    best: tuple[tuple[Anything, ...], Config] | None = None
    before = effective_values(config)
    preferences = [preference.term for preference in query.profile.preferences]
    for world, values, order in search(question, preferences, deadline):
        candidate = Config(query.profile, question.completed(world, free, values))
        moved = tuple(_distance(before[name], candidate[name]) for name in names)
        key = (sum(moved), world, order, tuple(map(str, values)))
        if best is None or key < best[0]:
            best = (key, candidate)
    if best is None:
        return None
    accepted = best[1]
    return Repair(
        change=Fields({name: accepted[name] for name in names}),
        config=Fields(accepted.as_dict()),
        drop=dropped or None,
    )


def opened(
    query: Query,
    config: Config,
    released: Sequence[str],
    conditions: Sequence[Condition],
    without: Sequence[str] = (),
) -> Query:
    """The question with some pins free, over a conflict's values, and some left out."""
    return _Opened(
        query.profile,
        query.worlds,
        {n: value for n, value in query.pins.items() if n not in (*released, *without)},
        tuple(conditions),
        free=tuple(dict.fromkeys((*query.free, *released))),
        config=config,
        question=query,
    )


def _distance(before: object, after: object) -> float:
    if isinstance(before, int) and isinstance(after, int) and not isinstance(after, bool):
        high, low = max(before, after, 1), max(1, min(before, after))
        return high / low - 1
    if after is None and before is not None:
        return UNSAID  # a number that is said anew tells more than one that is not said
    return float(before != after)


@dataclass(frozen=True, eq=False)
class _Opened(Query):
    """A query some of whose pins are free, over the values that a conflict considers."""

    config: Config = field(kw_only=True)
    question: Query = field(kw_only=True)

    @cached_property
    def canonical(self) -> tuple[Formula, ...]:
        """Those of the question: a pin that is let go may take any spelling."""
        return self.question.canonical

    def domain(self, name: str, world: int) -> tuple[Anything, ...]:
        """Values of the conflict's widened domain."""
        changed = self.config.replaced({self.profile.world: world})
        return widened(self.question, changed, name)
