"""Methods of texts and collections, on values of which some are unknown."""

from __future__ import annotations

import ast
import logging
from collections.abc import Callable, Iterator
from functools import partial

import z3

from parsolve.solver.symbolic.collect import (
    VIEWS,
    entries,
    hashable,
    is_set,
    known_entries,
    pairs_of,
    table_of,
)
from parsolve.solver.symbolic.containers import (
    combined,
    gathered,
    set_of,
    with_key,
)
from parsolve.solver.symbolic.core import Builtin, Core
from parsolve.solver.symbolic.equality import contains, equal, included
from parsolve.solver.symbolic.formats import formatted_by_name
from parsolve.solver.symbolic.kinds import described, kind_of
from parsolve.solver.symbolic.lists import is_unknown
from parsolve.solver.symbolic.registry import Methods
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.subscripts import deleted, found_at, looked_up
from parsolve.solver.symbolic.terms import plus
from parsolve.solver.symbolic.values import (
    Condition,
    Items,
    Label,
    Method,
    Mutable,
    Refused,
    Table,
    Text,
    Unsupported,
    Value,
    both,
    cases,
    is_concrete,
    is_text,
    number,
    opposite,
    tried,
)

METHODS = Methods()
LEVELS = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})


def method_of(kind: type, name: str, owner: Value) -> Value | None:
    """The method of a value that is no object of the program's own, if it is one of ours."""
    found = METHODS.get((kind, name))
    if found is not None:
        if is_unknown(owner) or (isinstance(owner, Mutable) and owner.kind is Iterator):
            return None
        return Method(found, owner)
    if isinstance(owner, (logging.Logger, logging.LoggerAdapter)) and name in LEVELS:
        return Builtin(said_nothing)
    return None


def said_nothing(machine: Core, state: State, *arguments: Value, **named: Value) -> None:
    """Say something to a person: it changes no verdict."""


def _own(owner: Value) -> Mutable:
    """The owner, if it is the program's to change."""
    if not isinstance(owner, Mutable):
        message = f"changing {described(owner)} that other programs see"
        raise Unsupported(message)
    return owner


# --- texts --------------------------------------------------------------------------------


@METHODS.of(str)
def _lower(machine: Core, state: State, owner: Value) -> Value:  # noqa: ARG001  (as all methods)
    return _changed(machine, owner, str.lower)


@METHODS.of(str)
def _replace(machine: Core, state: State, owner: Value, old: Value, new: Value) -> Value:  # noqa: ARG001
    if not (isinstance(old, str) and isinstance(new, str)):
        message = "replacing by an unknown text"
        raise Unsupported(message)
    return _changed(machine, owner, lambda text: text.replace(old, new))


def _changed(machine: Core, owner: Value, change: Callable[[str], str]) -> Value:
    """The text changed: for each one that anything is compared with; others become any text."""
    if isinstance(owner, str):
        return change(owner)
    if not isinstance(owner, Label):
        message = f"changing {described(owner)}"
        raise Unsupported(message)
    code: z3.ArithRef = z3.FreshInt("changed text")
    for text, number_ in list(machine.labels.numbers.items()):
        code = z3.If(owner.code == number_, machine.labels.of(change(text)), code)
    return Label(code)


@METHODS.of(str)
def _join(machine: Core, state: State, owner: Value, parts: Value) -> Value:
    if is_unknown(parts):
        raise Refused(TypeError)
    found = gathered(machine, state, parts)
    texts = [value for _, value in found]
    for present, value in found:
        for guard, each in cases(value):
            if not is_text(each) and not isinstance(each, str):
                machine.refuse(state, both(present, guard), TypeError)
    if type(owner) is str and all(p is True for p, _ in found) and all(map(is_concrete, texts)):
        return owner.join(texts)
    return Text()


@METHODS.of(str)
def _format(machine: Core, state: State, owner: Value, *arguments: Value, **named: Value) -> Value:
    if is_concrete(owner) and is_concrete(arguments) and all(map(is_concrete, named.values())):
        return tried(partial(owner.format, *arguments, **named))
    return formatted_by_name(machine, state, owner, arguments, named)


# --- lists --------------------------------------------------------------------------------


@METHODS.of(list)
def _append(_machine: Core, state: State, owner: Value, value: Value) -> None:
    place = _own(owner).place
    state.objects[place] = (*state.held(place), (True, value))


@METHODS.of(list)
def _extend(machine: Core, state: State, owner: Value, values: Value) -> None:
    place = _own(owner).place
    if is_unknown(values):
        message = "the entries of an unknown list one by one"
        raise Unsupported(message)
    found = gathered(machine, state, values)
    state.objects[place] = (*state.held(place), *found)


@METHODS.of(list)
def _insert(_machine: Core, state: State, owner: Value, at: Value, value: Value) -> None:
    place = _own(owner).place
    if at == 0 and type(at) is int:
        state.objects[place] = ((True, value), *state.held(place))
        return
    found = known_entries(state, owner)
    if type(at) is not int:
        message = f"an insertion at {described(at)}"
        raise Unsupported(message)
    found.insert(at, value)
    state.objects[place] = tuple((True, each) for each in found)


@METHODS.of(list)
def _pop(_machine: Core, state: State, owner: Value, at: Value = -1) -> Value:
    place = _own(owner).place
    found = known_entries(state, owner)
    if type(at) is not int:
        message = f"taking the entry at {described(at)}"
        raise Unsupported(message)
    try:
        taken = found.pop(at)
    except IndexError as error:
        raise Refused(IndexError) from error
    state.objects[place] = tuple((True, each) for each in found)
    return taken


@METHODS.of(list)
def _reverse(_machine: Core, state: State, owner: Value) -> None:
    place = _own(owner).place
    state.objects[place] = tuple(reversed(state.held(place)))


@METHODS.of(list, set, dict)
def _clear(_machine: Core, state: State, owner: Value) -> None:
    state.objects[_own(owner).place] = Table({}) if owner.kind is dict else ()


@METHODS.of(list, set, frozenset, dict)
def _copy(machine: Core, state: State, owner: Value) -> Value:
    kind = kind_of(owner)
    if kind is dict:
        pairs = pairs_of(state, owner)
        return machine.made(state, dict, Table({key: (p, held) for p, key, held in pairs}))
    return owner if kind is frozenset else machine.made(state, kind, entries(state, owner))


@METHODS.of(list, tuple)
def _count(machine: Core, state: State, owner: Value, value: Value) -> Value:
    count: Value = 0
    for present, each in entries(state, owner):
        same = both(present, equal(machine.labels, state, each, value))
        count = plus(count, number(same))
    return count


@METHODS.of(list, tuple)
def _index(machine: Core, state: State, owner: Value, value: Value) -> Value:
    found = known_entries(state, owner)
    fits = [(equal(machine.labels, state, each, value), at) for at, each in enumerate(found)]
    return found_at(machine, state, fits, ValueError)


# --- sets ---------------------------------------------------------------------------------


@METHODS.of(set)
def _add(machine: Core, state: State, owner: Value, value: Value) -> None:
    place = _own(owner).place
    hashable(value)
    held = state.held(place)
    new = state.settled(opposite(contains(machine.labels, state, owner, value)))
    if new is not False:
        state.objects[place] = (*held, (new, value))


@METHODS.of(set)
def _discard(machine: Core, state: State, owner: Value, value: Value) -> None:
    place = _own(owner).place
    hashable(value, into_set=True)
    state.objects[place] = tuple(
        (left, each)
        for present, each in state.held(place)
        if (left := both(present, opposite(equal(machine.labels, state, each, value)))) is not False
    )


@METHODS.of(set)
def _remove(machine: Core, state: State, owner: Value, value: Value) -> None:
    known = contains(machine.labels, state, owner, value)
    machine.refuse(state, opposite(known), KeyError)
    _discard(machine, state, owner, value)


def _set_method(name: str, operation: type[ast.operator]) -> None:
    def run(machine: Core, state: State, owner: Value, *others: Value) -> Value:
        for other in others:
            found = gathered(machine, state, other, in_order=False)
            right = other if is_set(other) else set_of(machine, state, frozenset, found)
            owner = combined(machine, state, operation, owner, right)
        return owner

    METHODS.of(set, frozenset, name=name)(run)


_set_method("union", ast.BitOr)
_set_method("intersection", ast.BitAnd)
_set_method("difference", ast.Sub)
_set_method("symmetric_difference", ast.BitXor)


@METHODS.of(set, name="update")
def _update_set(machine: Core, state: State, owner: Value, *others: Value) -> None:
    for other in others:
        for present, value in gathered(machine, state, other, in_order=False):
            machine.when(state, present, partial(_add, machine), owner, value)


@METHODS.of(set, frozenset)
def _issubset(machine: Core, state: State, owner: Value, other: Value) -> Condition:
    return included(machine.labels, state, owner, _as_set(machine, state, other))


@METHODS.of(set, frozenset)
def _issuperset(machine: Core, state: State, owner: Value, other: Value) -> Condition:
    return included(machine.labels, state, _as_set(machine, state, other), owner)


@METHODS.of(set, frozenset)
def _isdisjoint(machine: Core, state: State, owner: Value, other: Value) -> Condition:
    right = _as_set(machine, state, other)
    return both(
        *(
            opposite(both(present, contains(machine.labels, state, right, value)))
            for present, value in entries(state, owner)
        )
    )


def _as_set(machine: Core, state: State, value: Value) -> Value:
    if is_set(value):
        return value
    return set_of(machine, state, frozenset, gathered(machine, state, value, in_order=False))


# --- dicts --------------------------------------------------------------------------------


@METHODS.of(dict)
def _get(machine: Core, state: State, owner: Value, key: Value, default: Value = None) -> Value:
    return machine.lifted(state, lambda here, at: looked_up(machine, here, owner, at, default), key)


@METHODS.of(dict)
def _values(_machine: Core, state: State, owner: Value) -> Value:
    return Items(VIEWS[1], tuple((present, held) for present, _, held in pairs_of(state, owner)))


@METHODS.of(dict)
def _items(_machine: Core, state: State, owner: Value) -> Value:
    pairs = pairs_of(state, owner)
    return Items(VIEWS[2], tuple((present, (key, held)) for present, key, held in pairs))


@METHODS.of(dict)
def _keys(_machine: Core, state: State, owner: Value) -> Value:
    return Items(VIEWS[0], tuple((present, key) for present, key, _ in pairs_of(state, owner)))


@METHODS.of(dict)
def _setdefault(
    machine: Core, state: State, owner: Value, key: Value, default: Value = None
) -> Value:
    place = _own(owner).place
    hashable(key)
    if not is_concrete(key):
        message = "a mapping with unknown keys"
        raise Unsupported(message)
    present, _ = state.held(place).entries.get(key, (False, None))

    def fill(here: State) -> Value:
        here.objects[place] = with_key(machine, here.held(place), key, default)
        return default

    def keep(here: State) -> Value:
        return here.held(place).entries[key][1]

    return machine.fork(state, present, keep, fill)


@METHODS.of(dict, name="update")
def _update_dict(
    machine: Core, state: State, owner: Value, other: Value = (), **named: Value
) -> None:
    place = _own(owner).place
    table = state.held(place)
    for present, key, held in (
        *pairs_from(machine, state, other),
        *((True, k, v) for k, v in named.items()),
    ):
        table = with_key(machine, table, key, held, present)
    state.objects[place] = table


@METHODS.of(dict, name="pop")
def _pop_key(machine: Core, state: State, owner: Value, key: Value, *default: Value) -> Value:
    _own(owner)
    return deleted(machine, state, owner, key, *default)


def pairs_from(machine: Core, state: State, value: Value) -> list[tuple[Condition, Value, Value]]:
    """The pairs of a mapping, or of a collection of pairs."""
    if table_of(state, value) is not None:
        return pairs_of(state, value)
    pairs = []
    for present, pair in gathered(machine, state, value):
        parts = known_entries(state, pair)
        if len(parts) != 2:  # noqa: PLR2004  (a key and a value)
            raise Refused(ValueError)
        pairs.append((present, parts[0], parts[1]))
    return pairs
