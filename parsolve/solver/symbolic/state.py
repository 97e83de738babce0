"""Where a program is: the path that led here, and what every object and name holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import z3

from parsolve.solver.symbolic.merge import merged, merged_contents
from parsolve.solver.symbolic.terms import (
    Condition,
    both,
    conjuncts,
    either,
    key,
    opposite,
)
from parsolve.solver.symbolic.values import UNBOUND, Labels, Lost, Union, Unsupported, Value

Facts: TypeAlias = "dict[int, tuple[z3.BoolRef, dict[Path, bool]]]"
"""By term: the term, so that it stays in use, and on which paths it is known to hold or not."""


class Path:
    """Conditions that all hold; each path continues the one before its last condition."""

    __slots__ = ("before", "condition", "depth", "facts")

    def __init__(self, before: Path | None = None, condition: Condition = True) -> None:  # noqa: FBT002
        self.before = before or self
        self.condition = condition
        self.depth: int = before.depth + 1 if before else 0
        self.facts: Facts = before.facts if before else {}
        """What is known on this path and on all others from the same start."""

    def note(self, condition: z3.BoolRef) -> None:
        """The condition, and each part of a conjunction, is known from here on."""
        for known in (condition, *conjuncts(condition)):
            for term, truth in ((known, True), (opposite(known), False)):
                self.facts.setdefault(key(term), (term, {}))[1][self] = truth

    def continues(self, other: Path) -> bool:
        """Whether this is the other path, or goes on from it."""
        here = self
        while here.depth > other.depth:
            here = here.before
        return here is other

    def since(self, other: Path) -> list[z3.BoolRef]:
        """The conditions after another path that this one goes on from."""
        found: list[z3.BoolRef] = []
        here = self
        while here is not other:
            found.append(here.condition)
            here = here.before
        found.reverse()
        return found

    @property
    def conditions(self) -> list[z3.BoolRef]:
        """All of them, in the order in which they were met."""
        start = self
        while start.depth:
            start = start.before
        return self.since(start)


def condition_of(path: Path) -> Condition:
    """All of a path's conditions at once."""
    return both(*path.conditions)


@dataclass(slots=True, eq=False)
class State:
    """One merged state; ``dead`` once nothing goes on from here.

    ``objects`` has what each thing holds that can change, by its place: a dict of attributes or
    of local names, a tuple of entries, a `Table`. These are replaced, never changed.
    """

    path: Path = field(default_factory=Path)
    objects: dict[int, Value] = field(default_factory=dict)
    dead: bool = False

    def copy(self) -> State:
        """An independent state that starts here."""
        return State(self.path, dict(self.objects), self.dead)

    def leave(self) -> State:
        """The state as it is here, for something else to go on with; this one is dead."""
        gone = State(self.path, self.objects, self.dead)
        self.dead = True
        return gone

    def become(self, other: State) -> None:
        """Continue as the other state."""
        self.path, self.objects, self.dead = other.path, other.objects, other.dead

    def settled(self, condition: Condition) -> Condition:
        """The condition, or a truth value where the path already decides it."""
        if isinstance(condition, bool):
            return condition
        path = self.path
        found = path.facts.get(key(condition))
        if found is None:
            return condition
        _, known = found
        while path not in known:
            if not path.depth:
                return condition
            path = path.before
        return known[path]

    def narrowed(self, value: Value) -> Value:
        """The value without alternatives that the path excludes."""
        if not isinstance(value, Union):
            return value
        left = []
        for condition, inner in value.cases:
            holds = self.settled(condition)
            if holds is True:
                return inner
            if holds is not False:
                left.append((condition, inner))
        if len(left) == 1:
            return left[0][1]
        return value if len(left) == len(value.cases) else Union(tuple(left))

    def assume(self, condition: Condition) -> None:
        """From here on the condition holds."""
        condition = self.settled(condition)
        if condition is False:
            self.dead = True
        elif not isinstance(condition, bool):
            self.path = Path(self.path, condition)
            self.path.note(condition)

    def agrees(self, other: State) -> bool:
        """Whether all that the other state knows is unchanged here."""
        return all(self.objects.get(place) is held for place, held in other.objects.items())

    @property
    def condition(self) -> Condition:
        """When the program gets here."""
        return condition_of(self.path)

    def held(self, place: int) -> Value:
        """What the thing at the place holds."""
        content = self.objects[place]
        if isinstance(content, Lost):
            raise Unsupported(content.what)
        return content


def joined(labels: Labels, ends: Sequence[tuple[State, Value]]) -> tuple[State, Value]:
    """One state for several whose paths exclude each other, and one value for theirs.

    Where two sides of one condition meet again, only what they learned since is kept.
    """
    alive = [(state, value) for state, value in ends if not state.dead]
    if not alive:
        return State(dead=True), UNBOUND
    if len(alive) == 1:
        return alive[0]
    base = alive[0][0].path
    for state, _ in alive:
        while not state.path.continues(base):
            base = base.before
    whole = _met(labels, [_Side(s.path.since(base), s.objects, value) for s, value in alive])
    state = State(base, whole.objects)
    for condition in whole.since:
        state.assume(condition)
    return state, whole.value


@dataclass(slots=True, eq=False)
class _Side:
    """One of the states that are joined: what its path says after the part that all share."""

    since: list[z3.BoolRef]
    objects: dict[int, Value]
    value: Value

    def starts(self, condition: z3.BoolRef) -> bool:
        return bool(self.since[0].eq(condition))

    def skip(self) -> _Side:
        return _Side(self.since[1:], self.objects, self.value)


def _met(labels: Labels, sides: list[_Side]) -> _Side:
    """One side for all, that is taken wherever one of them is."""
    turns: list[_Turn] = []
    while len(sides) > 1:
        whole = next((side for side in sides if not side.since), None)
        if whole is not None:  # it excludes the others, so no input leads there
            sides = [whole]
            break
        head = sides[0].since[0]
        against: z3.BoolRef = opposite(head)
        on = [side for side in sides if side.starts(head)]
        off = [side for side in sides if not side.starts(head)]
        if not off:
            turns.append(_Turn(head, None))
            sides = [side.skip() for side in on]
        elif all(side.starts(against) for side in off):
            if len(on) > len(off):
                head, on, off = against, off, on
            turns.append(_Turn(head, _met(labels, [side.skip() for side in on])))
            sides = [side.skip() for side in off]
        elif len(on) > len(off):
            apart = _met(labels, off)
            taken: z3.BoolRef = both(*apart.since)
            apart.since = []
            clean = taken.eq(against)
            turns.append(_Turn(taken, apart, clean=clean))
            sides = [side.skip() for side in on] if clean else on
        else:
            apart = _met(labels, [side.skip() for side in on])
            turns.append(_Turn(head, apart, clean=False))
            sides = off
    rest = sides[0]
    for turn in reversed(turns):
        rest = turn.back(labels, rest)
    return rest


@dataclass(frozen=True, slots=True)
class _Turn:
    """A side that was set apart under a condition; none where all sides share the condition.

    It is ``clean`` if the others stand under the opposite condition, now left out of theirs.
    """

    condition: z3.BoolRef
    apart: _Side | None
    clean: bool = True

    def back(self, labels: Labels, rest: _Side) -> _Side:
        """The rest together with the side that was set apart from it."""
        head, apart = self.condition, self.apart
        if apart is None:
            return _Side([head, *rest.since], rest.objects, rest.value)
        against, path = opposite(head), both(*rest.since)
        if not self.clean and isinstance(path, z3.BoolRef) and path.eq(against):
            rest.since = []
        elif not self.clean:  # paths exclude each other: the one tells which was taken
            head = both(head, *apart.since)
            return _merged(labels, [either(head, path)], head, apart, rest)
        learned = [either(against, known) for known in apart.since]
        learned += [either(head, known) for known in rest.since]
        return _merged(labels, learned, head, apart, rest)


def _merged(
    labels: Labels, learned: list[Condition], head: z3.BoolRef, then: _Side, other: _Side
) -> _Side:
    since = [known for known in learned if not isinstance(known, bool)]
    objects = dict(then.objects)
    for place, content in other.objects.items():
        known = objects.setdefault(place, content)
        if known is not content:
            objects[place] = merged_contents(labels, head, known, content)
    return _Side(since, objects, merged(labels, head, then.value, other.value))
