"""Built-in functions that go over a collection and say one thing about all of it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from parsolve.solver.symbolic import terms
from parsolve.solver.symbolic.collect import entries, table_of
from parsolve.solver.symbolic.containers import SPENT, Lazy, each, gathered
from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.kinds import described
from parsolve.solver.symbolic.lists import (
    Mapped,
    Member,
    as_mapped,
    conjoined,
    disjoined,
    empty,
    every,
    is_unknown,
    negated,
    some,
    statement,
)
from parsolve.solver.symbolic.merge import merged
from parsolve.solver.symbolic.operators import binary, compare, length_of_object, truth
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Condition,
    Departed,
    Instance,
    Mutable,
    Numbers,
    Refused,
    Unsupported,
    Value,
    both,
    either,
    is_concrete,
    is_numeric,
    is_text,
    is_truth,
    number,
    opposite,
    tried,
)

NOTHING: Any = object()
"""No such argument."""


def mapped_from(state: State, value: Value) -> Mapped | None:
    """What is made of an unknown list, if the value is that; an iterator is read by this."""
    if is_unknown(value):
        return as_mapped(value)
    if isinstance(value, Mutable) and value.kind is Iterator:
        content = state.held(value.place)
        if isinstance(content, Lazy) and content.mapped is not None:
            state.objects[value.place] = SPENT
            return content.mapped(state)
    return None


def quantified(machine: Core, state: State, values: Value, *, universal: bool) -> Condition:
    """`all` if it is universal, else `any`."""
    return machine.lifted(
        state, lambda here, held: _quantified(machine, here, held, universal=universal), values
    )


def _quantified(machine: Core, state: State, values: Value, *, universal: bool) -> Condition:
    mapped = mapped_from(state, values)
    if mapped is not None:
        said = statement(mapped.element) or truth(machine, state, mapped.element)
        if universal:
            return every(mapped.member, disjoined(negated(mapped.present), said))
        return some(mapped.member, conjoined(mapped.present, said))
    if not (isinstance(values, Mutable) and values.kind is Iterator):
        found = entries(state, values)
        if all(is_truth(value) for _, value in found):
            if universal:
                return both(*(either(opposite(present), value) for present, value in found))
            return either(*(both(present, value) for present, value in found))
    stopped: list[tuple[State, Value]] = []

    def stop(here: State) -> None:
        stopped.append((here.leave(), not universal))
        raise Departed

    def look(here: State, value: Value) -> None:
        holds = truth(machine, here, value)
        machine.when(here, opposite(holds) if universal else holds, stop)

    def go(here: State) -> None:
        before = here.path
        try:
            each(machine, here, values, look, in_order=False)
        except Unsupported:
            if here.path is before:  # the gap is everywhere, also where something stopped
                stopped.clear()
            raise

    machine.attempt(state, go)
    return machine.meet(state, [(state, universal), *stopped])


def first_of(machine: Core, state: State, values: Value, default: Value = NOTHING) -> Value:
    """`next`."""
    if not isinstance(values, Mutable) or values.kind is not Iterator:
        message = f"the next entry of {described(values)}"
        raise Unsupported(message)
    content = state.held(values.place)
    if isinstance(content, tuple) and content and content[0][0] is True:
        state.objects[values.place] = content[1:]
        return content[0][1]
    stopped: list[tuple[State, Value]] = []

    def stop(here: State, value: Value) -> None:
        stopped.append((here.leave(), value))
        raise Departed

    machine.attempt(state, lambda here: each(machine, here, values, stop))
    if default is NOTHING and not state.dead:
        machine.depart(state, Refused(StopIteration))
    return machine.meet(state, [(state, default), *stopped])


def folded(
    machine: Core, state: State, operation: type[ast.operator], values: Value, start: Value
) -> Value:
    """The start and all entries, joined by an operator from left to right."""
    if is_text(start) and operation is ast.Add:
        raise Refused(TypeError)
    return reduced(
        machine, state, lambda here, a, b: binary(machine, here, operation, a, b), values, start
    )


def reduced(
    machine: Core,
    state: State,
    join: Callable[[State, Value, Value], Value],
    values: Value,
    start: Value = NOTHING,
) -> Value:
    """`functools.reduce`; without a start, a collection without entries is a `TypeError`."""
    place = machine.new(state, {} if start is NOTHING else {"so far": start})

    def go_on(here: State, value: Value) -> None:
        so_far = here.objects[place].get("so far", NOTHING)
        if so_far is not NOTHING:
            value = join(here, here.narrowed(so_far), value)
        here.objects[place] = {"so far": value}

    if start is NOTHING:
        found = gathered(machine, state, values)
        if found and found[0][0] is not True:
            message = "a reduction of entries of which the first may be absent"
            raise Unsupported(message)
        values = tuple(value for _, value in found) if all(p is True for p, _ in found) else values
    each(machine, state, values, go_on)
    held = state.objects.pop(place)
    if not held:
        raise Refused(TypeError)
    return held["so far"]


def total(machine: Core, state: State, values: Value, start: Value) -> Value:
    """`sum`."""

    def add(here: State, held: Value) -> Value:
        if not (isinstance(held, Mutable) and held.kind is Iterator) and is_numeric(start):
            found = entries(here, held)
            if all(is_numeric(value) for _, value in found):
                so_far: terms.Integer = number(start)
                for present, value in found:
                    addend = merged(machine.labels, present, number(value), 0)
                    so_far = terms.plus(so_far, addend)
                return so_far
        return folded(machine, here, ast.Add, held, start)

    return machine.lifted(state, add, values)


def extreme(
    machine: Core,
    state: State,
    relation: type[ast.cmpop],
    arguments: tuple[Value, ...],
    named: dict[str, Value],
) -> Value:
    """`min` and `max`: the first value that none of the others is better than."""
    key, default = named.pop("key", None), named.pop("default", NOTHING)
    if named or not arguments or (default is not NOTHING and len(arguments) > 1):
        raise Refused(TypeError)
    values = arguments if len(arguments) > 1 else arguments[0]
    search = _Search(machine, relation, key, default)
    if isinstance(values, tuple):
        return search.best(state, values)
    return machine.lifted(state, search.best, values)


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for the best entry of a collection."""

    machine: Core
    relation: type[ast.cmpop]
    key: Value
    default: Value

    def best(self, state: State, values: Value) -> Value:
        mapped = mapped_from(state, values)
        if mapped is not None:
            return self._smallest(state, mapped)
        place = self.machine.new(state, {"found": False})
        each(
            self.machine,
            state,
            values,
            lambda here, value: self._look(here, place, value),
            in_order=self.key is not None,
        )
        held = state.objects.pop(place)
        return self._found(state, held["found"], held.get("best"))

    def _found(self, state: State, found: Condition, best: Value) -> Value:
        if self.default is NOTHING:
            self.machine.refuse(state, opposite(found), ValueError)
            return state.narrowed(best)
        return self.machine.fork(
            state, found, lambda here: here.narrowed(best), lambda _: self.default
        )

    def _look(self, state: State, place: int, value: Value) -> None:
        rank = value if self.key is None else self.machine.call(state, self.key, (value,))
        held = state.objects[place]

        def first(here: State) -> None:
            here.objects[place] = {"found": True, "best": value, "rank": rank}

        def later(here: State) -> None:
            best, highest = here.narrowed(held["best"]), here.narrowed(held["rank"])
            found = compare(self.machine, here, self.relation, rank, highest)
            better = truth(self.machine, here, found)
            here.objects[place] = {
                "found": True,
                "best": merged(self.machine.labels, better, value, best),
                "rank": merged(self.machine.labels, better, rank, highest),
            }

        self.machine.fork(state, held["found"], later, first)

    def _smallest(self, state: State, values: Mapped) -> Value:
        """The smallest entry of an unknown list."""
        plain = isinstance(values.element, Member) and values.present is True
        if not plain or self.relation is not ast.Lt or self.key is not None:
            message = "the largest entry of an unknown list, or another one than the smallest"
            raise Unsupported(message)
        source = values.member.source
        return self._found(state, opposite(empty(source)), source.smallest)


def length(machine: Core, state: State, value: Value) -> Value:
    """`len`."""
    match value:
        case Numbers():
            return value.length
        case Mapped(member, True):
            return member.source.length
        case Mutable() if value.kind is Iterator:
            raise Refused(TypeError)
        case Instance():
            size = length_of_object(machine, state, value)
            if size is None:
                raise Refused(TypeError)
            return size
    table = table_of(state, value)
    found = entries(state, value) if table is None else tuple(table.values())
    sure = sum(present is True for present, _ in found)
    count: terms.Integer = sure
    for present, _ in found:
        if present is not True:
            count = terms.plus(count, number(present))
    return count


def in_order(machine: Core, state: State, values: Value, key: Value, reverse: Value) -> Value:
    """`sorted`, by ranks that are all known."""
    found = gathered(machine, state, values, in_order=False)
    ranks: list[Value] = []
    for present, value in found:
        if key is None:
            ranks.append(value)
        elif present is True:
            ranks.append(machine.call(state, key, (value,)))
        else:
            ranks.append(machine.aside(state, machine.call, key, (value,)))
    if not all(map(is_concrete, ranks)) or not is_concrete(reverse):
        message = "an order of unknown values"
        raise Unsupported(message)
    pairs = list(zip(ranks, found, strict=True))
    found = tried(partial(sorted, pairs, key=operator.itemgetter(0), reverse=bool(reverse)))
    return machine.made_list(state, (entry for _, entry in found))
