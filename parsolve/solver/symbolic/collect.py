"""What collections hold, whoever made them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import EnumMeta
from types import FunctionType, MethodType

from parsolve.solver.symbolic.kinds import described, is_written, kind_of
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Condition,
    Entry,
    Instance,
    Items,
    Mutable,
    Refused,
    Table,
    Union,
    Unsupported,
    Value,
    cases,
    is_concrete,
    is_numeric,
    tried,
)

MOST_ENTRIES = 4096
"""Entries of one collection."""

_EMPTY: dict[Value, Value] = {}
VIEWS = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))
"""Classes of the keys, values and items of a dict."""

COLLECTIONS = (tuple, list, set, frozenset, *VIEWS)


class Unknown(Exception):  # noqa: N818  (no error)
    """Something in a value is unknown."""


def entries(state: State, value: Value) -> tuple[Entry, ...]:
    """The entries of a collection, each with when it is present."""
    match value:
        case Items():
            return value.entries
        case Mutable():
            content = state.held(value.place)
            if isinstance(content, Table):
                _check_order(content)
                return tuple((present, key) for key, (present, _) in content.entries.items())
            if value.kind is Iterator:
                message = "what is left of an iterator"
                raise Unsupported(message)
            return content  # type: ignore[no-any-return]
        case _ if value is None or is_numeric(value) or isinstance(value, float):
            raise Refused(TypeError)
        case tuple() | list() | set() | frozenset() | dict() | range() | str() | EnumMeta():
            pass
        case _ if type(value) not in VIEWS:
            message = f"the entries of {described(value)}"
            raise Unsupported(message)
    if len(value) > MOST_ENTRIES:
        message = f"a collection of {len(value)} entries"
        raise Unsupported(message)
    return tuple((True, item) for item in value)


def known_entries(state: State, value: Value) -> list[Value]:
    """The entries of a collection of which all are present, in an order that is known."""
    found = entries(state, value)
    if any(present is not True for present, _ in found):
        message = f"the places of entries in {described(value)} of unknown length"
        raise Unsupported(message)
    return [item for _, item in found]


def pairs_of(state: State, value: Value) -> list[tuple[Condition, Value, Value]]:
    """What a dict holds, in order: when a key is present, the key and its value."""
    if isinstance(value, Mutable) and value.kind is dict:
        content = state.held(value.place)
        _check_order(content)
        return [(present, key, held) for key, (present, held) in content.entries.items()]
    return [(True, key, held) for key, held in value.items()]


def _check_order(content: Table) -> None:
    if not content.ordered:
        message = "a mapping whose order hangs on unknown values"
        raise Unsupported(message)


def table_of(state: State, value: Value) -> dict[Value, Entry] | None:
    """What a dict holds; None for anything else."""
    if isinstance(value, Mutable) and value.kind is dict:
        return state.held(value.place).entries  # type: ignore[no-any-return]
    if isinstance(value, dict):
        return {key: (True, held) for key, held in value.items()}
    return None


def is_set(value: Value) -> bool:
    """Whether it is a set, frozen or not."""
    return kind_of(value) in {set, frozenset}


def is_ordered(value: Value, found: Sequence[Entry]) -> bool:
    """Whether it is known in which order the entries come: not in sets that the program made."""
    return not is_set(value) or isinstance(value, (set, frozenset)) or len(found) <= 1


def hashable(value: Value, *, into_set: bool = False) -> None:
    """Refuse what cannot be in a set, or be a key; sets may be looked for in sets."""
    if isinstance(value, Union):
        kinds = {kind_of(each) for _, each in cases(value)}
        if kinds & {list, dict, set}:
            message = "a key that may be a list"
            raise Unsupported(message)
    kind = kind_of(value)
    if into_set and kind is set:
        return
    if is_concrete(value):
        tried(hash, value)
    if kind in {list, dict, set}:
        raise Refused(TypeError)
    if isinstance(value, Instance):
        hashes: object = kind.__hash__
        if hashes is None:
            raise Refused(TypeError)
        if is_written(hashes):
            message = f"the hash of {described(value)}"
            raise Unsupported(message)
    if isinstance(value, tuple):
        for part in value:
            hashable(part)


def as_key(value: Value) -> Value:
    """The value as a Python object, where a set that cannot change is all known."""
    if isinstance(value, tuple):
        return tuple(map(as_key, value))
    frozen = isinstance(value, Items) and value.kind in {tuple, frozenset}
    if frozen and all(p is True and is_concrete(v) for p, v in value.entries):
        return value.kind(inner for _, inner in value.entries)
    return value


def known_object(state: State, value: Value) -> Value:
    """The value as a Python object, for a function that neither keeps nor changes it."""
    if isinstance(value, Mutable) and value.kind is not Iterator:
        content = state.held(value.place)
        if isinstance(content, Table):
            return {
                _immutable(key): _immutable(held)
                for key, (present, held) in content.entries.items()
                if _sure(present)
            }
        return value.kind([_immutable(each) for present, each in content if _sure(present)])
    if not is_concrete(value) or isinstance(value, (FunctionType, MethodType)):
        raise Unknown
    return value


def _sure(present: object) -> bool:
    if not isinstance(present, bool):
        raise Unknown
    return present


def _immutable(value: Value) -> Value:
    if not is_concrete(value) or kind_of(value) in {list, set, dict}:
        raise Unknown
    return value
