"""Entries by key or place: reading, setting and deleting them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from enum import EnumMeta

from parsolve.solver.symbolic import terms
from parsolve.solver.symbolic.collect import entries, hashable, known_entries, table_of
from parsolve.solver.symbolic.containers import collection_of, fresh, with_key
from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.equality import equal
from parsolve.solver.symbolic.kinds import check_inside, described, kind_of
from parsolve.solver.symbolic.lists import is_unknown
from parsolve.solver.symbolic.merge import merged
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Entry,
    Mutable,
    Refused,
    Table,
    Unsupported,
    Value,
    both,
    either,
    is_concrete,
    is_numeric,
    number,
    opposite,
    tried,
)

READABLE = (tuple, list, str, dict, range, type, EnumMeta)
"""Types whose entries Python itself may look up."""


def item(machine: Core, state: State, owner: Value, key: Value) -> Value:
    """``owner[key]``."""
    return machine.lifted(state, lambda here, held, at: _item(machine, here, held, at), owner, key)


def _item(machine: Core, state: State, owner: Value, key: Value) -> Value:
    if is_concrete(owner) and is_concrete(key) and isinstance(owner, READABLE):
        found = tried(operator.getitem, owner, key)
        return fresh(machine, state, found) if isinstance(key, slice) else found
    check_inside(owner)
    table = table_of(state, owner)
    if table is not None:
        hashable(key)
        if is_concrete(key):
            present, value = table.get(key, (False, None))
            machine.refuse(state, opposite(present), KeyError)
            return value
        fits = [
            (both(present, equal(machine.labels, state, known, key)), value)
            for known, (present, value) in table.items()
        ]
        return found_at(machine, state, fits, KeyError)
    kind = kind_of(owner)
    if owner is None or is_numeric(owner) or kind in {set, frozenset, float}:
        raise Refused(TypeError)
    if is_unknown(owner) or kind not in {list, tuple, str}:
        message = f"an entry of {described(owner)}"
        raise Unsupported(message)
    if isinstance(key, slice):
        return collection_of(
            machine, state, kind, [(True, each) for each in known_entries(state, owner)[key]]
        )
    if not is_numeric(key):
        raise Refused(TypeError)
    place = number(key)
    if isinstance(place, int):
        return _nth(machine, state, entries(state, owner), place)
    return _at(machine, state, known_entries(state, owner), place)


def _nth(machine: Core, state: State, found: Sequence[Entry], place: int) -> Value:
    """The entry at a known place, counting those that are present."""
    if place < 0:
        found, place = found[::-1], -place - 1
    before: terms.Integer = 0
    fits: list[Entry] = []
    for present, value in found:
        fits.append((both(present, terms.equal(before, place)), value))
        before = terms.plus(before, number(present))
    return found_at(machine, state, fits, IndexError)


def _at(machine: Core, state: State, found: Sequence[Value], place: terms.Integer) -> Value:
    """The entry at an unknown place."""
    size = len(found)
    fits = [
        (either(terms.equal(place, index), terms.equal(place, index - size)), value)
        for index, value in enumerate(found)
    ]
    return found_at(machine, state, fits, IndexError)


def found_at(machine: Core, state: State, fits: list[Entry], missing: type[Exception]) -> Value:
    """The first value that fits; an exception where there is none."""
    machine.refuse(state, opposite(either(*(fit for fit, _ in fits))), missing)
    *others, (_, last) = fits
    for fit, value in reversed(others):
        last = merged(machine.labels, state.settled(fit), value, last)
    return last


def looked_up(machine: Core, state: State, owner: Value, key: Value, default: Value) -> Value:
    """``owner.get(key, default)`` of a dict."""
    table = table_of(state, owner) or {}
    hashable(key)
    if is_concrete(key):
        present, value = table.get(key, (False, None))
        return merged(machine.labels, state.settled(present), value, default)
    for known, (present, value) in table.items():
        fits = both(present, equal(machine.labels, state, known, key))
        default = merged(machine.labels, state.settled(fits), value, default)
    return default


# --- changing -----------------------------------------------------------------------------


def store(machine: Core, state: State, owner: Value, key: Value, value: Value) -> None:
    """``owner[key] = value``."""

    def change(here: State, held: Value) -> None:
        if isinstance(held, Mutable) and held.kind is dict:
            table = here.held(held.place)
            here.objects[held.place] = with_key(machine, table, key, value)
            return
        if isinstance(held, Mutable) and held.kind is list and type(key) is int:
            known_entries(here, held)
            found = list(here.held(held.place))
            if not -len(found) <= key < len(found):
                raise Refused(IndexError)
            found[key] = (True, value)
            here.objects[held.place] = tuple(found)
            return
        if held is None or is_numeric(held) or isinstance(held, (str, tuple, frozenset)):
            raise Refused(TypeError)
        message = f"changing {described(held)} in place"
        raise Unsupported(message)

    machine.lifted(state, change, owner)


def deleted(machine: Core, state: State, owner: Value, key: Value, *default: Value) -> Value:
    """``owner.pop(key)`` of a dict; without a default, ``del owner[key]``."""
    if not isinstance(owner, Mutable) or owner.kind is not dict or not is_concrete(key):
        message = f"deleting from {described(owner)}"
        raise Unsupported(message)
    hashable(key)
    table = state.held(owner.place)
    present, value = table.entries.get(key, (False, None))
    if default:
        value = merged(machine.labels, state.settled(present), value, default[0])
    else:
        machine.refuse(state, opposite(present), KeyError)
    left = {known: held for known, held in table.entries.items() if known != key}
    state.objects[owner.place] = Table(left, table.ordered)
    return value
