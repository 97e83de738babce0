"""Building, reading and changing lists, tuples, sets and dicts of which some is unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeAlias

from parsolve.solver.symbolic.collect import (
    MOST_ENTRIES,
    as_key,
    entries,
    hashable,
    is_ordered,
    is_set,
    pairs_of,
)
from parsolve.solver.symbolic.core import Action, Core
from parsolve.solver.symbolic.equality import contains, equal
from parsolve.solver.symbolic.kinds import described, kind_of
from parsolve.solver.symbolic.lists import Mapped, is_unknown
from parsolve.solver.symbolic.merge import merged
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Condition,
    Departed,
    Entry,
    Items,
    Lost,
    Mutable,
    Table,
    Union,
    Unsupported,
    Value,
    both,
    either,
    is_concrete,
    number,
    opposite,
)

Body: TypeAlias = Callable[[State, Value], None]

SPENT = Lost("an iterator that was read in part")


class Run(Protocol):
    """Runs a body for each of several entries, as `each` does."""

    def __call__(self, state: State, body: Body, /, *, in_order: bool) -> None:
        """In some order, if not ``in_order``, where the order is unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class Lazy:
    """What an iterator has yet to compute."""

    run: Run
    mapped: Callable[[State], Mapped] | None = None
    """Where it goes over an unknown list: what it makes of that."""


# --- building -----------------------------------------------------------------------------


def tuple_of(found: Iterable[Entry]) -> Value:
    """A tuple of the present entries."""
    found = tuple(found)
    if all(present is True for present, _ in found):
        return tuple(value for _, value in found)
    return Items(tuple, found)


def distinct(machine: Core, state: State, found: Iterable[Entry]) -> tuple[Entry, ...]:
    """Entries of a set: an equal one before it makes an entry absent."""
    kept: list[Entry] = []
    for present, value in found:
        hashable(value)
        again = either(
            *(both(other, equal(machine.labels, state, value, known)) for other, known in kept)
        )
        once = state.settled(both(present, opposite(again)))
        if once is not False:
            kept.append((once, value))
    return tuple(kept)


def set_of(machine: Core, state: State, kind: type, found: Iterable[Entry]) -> Value:
    """A set of the present entries, frozen or not."""
    kept = distinct(machine, state, found)
    return machine.made(state, set, kept) if kind is set else Items(frozenset, kept)


def collection_of(machine: Core, state: State, kind: type, found: Iterable[Entry]) -> Value:
    """A list, tuple, set or frozenset."""
    if kind is list:
        return machine.made_list(state, found)
    return tuple_of(found) if kind is tuple else set_of(machine, state, kind, found)


def with_key(
    machine: Core,
    table: Table,
    key: Value,
    value: Value,
    present: Condition = True,  # noqa: FBT002
) -> Table:
    """The mapping with one more pair, where that is present."""
    hashable(key)
    key = as_key(key)
    if not is_concrete(key):
        message = "a mapping with unknown keys"
        raise Unsupported(message)
    old = table.entries.get(key)
    if old is None or old[0] is False:
        rest = {known: held for known, held in table.entries.items() if known != key}
        return Table({**rest, key: (present, value)}, table.ordered)
    known, held = old
    ordered = table.ordered and (known is True or next(reversed(table.entries)) == key)
    now = merged(machine.labels, present, value, held)
    return Table({**table.entries, key: (either(known, present), now)}, ordered)


def fresh(machine: Core, state: State, value: Value) -> Value:
    """A collection that Python has just made, as one that the program may change."""
    if type(value) in {list, set}:
        return machine.made(state, type(value), tuple((True, each) for each in value))
    if type(value) is dict:
        table = {key: (True, held) for key, held in value.items()}
        return machine.made(state, dict, Table(table))
    if isinstance(value, Iterator):
        found = tuple(islice(value, MOST_ENTRIES + 1))
        if len(found) > MOST_ENTRIES:
            message = f"an iterator over more than {MOST_ENTRIES} entries"
            raise Unsupported(message)
        return iterator_of(machine, state, ((True, each) for each in found))
    return value


def iterator_of(machine: Core, state: State, found: Iterable[Entry]) -> Value:
    """An iterator over these entries."""
    return machine.made(state, Iterator, tuple(found))


# --- reading ------------------------------------------------------------------------------


def each(machine: Core, state: State, source: Value, body: Body, *, in_order: bool = True) -> None:
    """Run the body for each present entry, one after the other.

    Without ``in_order``, entries of sets whose order is unknown are taken in some order; that
    is a gap if the body leaves for some of them.
    """
    if isinstance(source, Union):
        machine.lifted(
            state, lambda here, held: each(machine, here, held, body, in_order=in_order), source
        )
        return
    if isinstance(source, Mutable) and source.kind is Iterator:
        content = state.held(source.place)
        state.objects[source.place] = SPENT
        if isinstance(content, Lazy):
            content.run(state, body, in_order=in_order)
        else:
            rounds(machine, state, content, body)
        state.objects[source.place] = ()
        return
    found = entries(state, source)
    watched = [source] if isinstance(source, Mutable) else []
    if is_ordered(source, found):
        rounds(machine, state, found, body, watched)
    elif in_order:
        message = "the order of a set"
        raise Unsupported(message)
    else:
        _unordered(machine, state, lambda here: rounds(machine, here, found, body, watched))


def rounds(
    machine: Core,
    state: State,
    found: Iterable[Entry],
    body: Body,
    watched: Sequence[Mutable] = (),
) -> None:
    """Run the body for each present entry, while the collections that they are from stay."""
    before = [state.objects[each.place] for each in watched]
    for present, value in found:
        machine.step()
        machine.when(state, present, body, value)
        if any(state.objects[w.place] is not b for w, b in zip(watched, before, strict=True)):
            message = f"a {watched[0].kind.__name__} that changes while a loop goes over it"
            raise Unsupported(message)


def _unordered(machine: Core, state: State, loop: Action) -> None:
    """Run a loop over a set whose order is unknown, provided that it always runs to its end."""
    raised, gaps = len(machine.raised), len(machine.gaps)
    inner = state.copy()
    machine.attempt(inner, loop)
    if len(machine.raised) > raised or len(machine.gaps) > gaps:
        del machine.raised[raised:], machine.gaps[gaps:]
        message = "what hangs on the order of a set"
        raise Unsupported(message)
    state.become(inner)
    if state.dead:
        raise Departed


def gathered(
    machine: Core, state: State, source: Value, *, in_order: bool = True
) -> tuple[Entry, ...]:
    """All entries, computed now where that was left for later."""
    if not isinstance(source, (Mutable, Union)) or (
        isinstance(source, Mutable) and source.kind is not Iterator
    ):
        found = entries(state, source)
        if in_order and not is_ordered(source, found):
            message = "the order of a set"
            raise Unsupported(message)
        return found
    place = machine.new(state, ())
    each(machine, state, source, lambda here, v: _append(here, place, v), in_order=in_order)
    return state.objects.pop(place)  # type: ignore[no-any-return]


def _append(state: State, place: int, value: Value) -> None:
    state.objects[place] = (*state.objects[place], (True, value))


# --- operators ----------------------------------------------------------------------------


def combined(
    machine: Core, state: State, operation: type[ast.operator], a: Value, b: Value
) -> Value | None:
    """``a operation b`` of collections; None where collections have no such operator."""
    one, two = kind_of(a), kind_of(b)
    if is_unknown(a) or is_unknown(b):
        message = f"`{operation.__name__}` on an unknown list"
        raise Unsupported(message)
    if is_set(a) and is_set(b):
        found = _set_operation(machine, state, operation, a, b)
        return None if found is None else set_of(machine, state, one, found)
    if one is two and one in {list, tuple} and operation is ast.Add:
        return collection_of(machine, state, one, (*entries(state, a), *entries(state, b)))
    if one is dict and two is dict and operation is ast.BitOr:
        table = Table({})
        for present, key, value in (*pairs_of(state, a), *pairs_of(state, b)):
            table = with_key(machine, table, key, value, present)
        return machine.made(state, dict, table)
    if operation is ast.Mult and {one, two} & {list, tuple} and {one, two} & {int, bool}:
        owner, count = (a, b) if one in {list, tuple} else (b, a)
        times = number(count)
        once = entries(state, owner)
        if isinstance(times, int) and times * len(once) <= MOST_ENTRIES:
            return collection_of(machine, state, kind_of(owner), once * times)
        message = f"repeating {described(owner)}"
        raise Unsupported(message)
    return None


def _set_operation(
    machine: Core, state: State, operation: type[ast.operator], a: Value, b: Value
) -> list[Entry] | None:
    left, right = entries(state, a), entries(state, b)

    def outside(found: Iterable[Entry], other: Value) -> list[Entry]:
        return [
            (both(present, opposite(contains(machine.labels, state, other, value))), value)
            for present, value in found
        ]

    if operation is ast.BitOr:
        return [*left, *right]
    if operation is ast.BitXor:
        return [*outside(left, b), *outside(right, a)]
    if operation is ast.Sub:
        return outside(left, b)
    if operation is ast.BitAnd:
        return [
            (both(present, contains(machine.labels, state, b, value)), value)
            for present, value in left
        ]
    return None
