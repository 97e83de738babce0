"""Equality, identity and membership of values of which some are unknown."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from parsolve.solver.symbolic import terms
from parsolve.solver.symbolic.collect import entries, hashable, is_set
from parsolve.solver.symbolic.kinds import check_inside, described, kind_of
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    UNBOUND,
    Condition,
    Entry,
    Instance,
    Items,
    Labels,
    Mutable,
    Numbers,
    Refused,
    Symbolic,
    Text,
    Union,
    Unsupported,
    Value,
    both,
    cases,
    either,
    is_concrete,
    is_numeric,
    is_text,
    is_truth,
    number,
    opposite,
    tried,
)

Relation: TypeAlias = Callable[[Labels, State, Value, Value], Condition]

LARGEST = 256
"""Pairs of entries of two sequences that are compared while it is unknown which are present."""

PLAIN = frozenset({int, bool, float, str, list, tuple, set, frozenset, dict, type(None)})
"""Kinds that equal nothing of another kind, numbers and sets among each other apart."""


def equal(labels: Labels, state: State, a: Value, b: Value) -> Condition:
    """``a == b``."""
    if isinstance(a, Union) or isinstance(b, Union):
        return _by_case(equal, labels, state, a, b)
    if is_truth(a) and is_truth(b):
        return terms.same_truth(a, b)
    if is_numeric(a) and is_numeric(b):
        return terms.equal(number(a), number(b))
    if is_concrete(a) and is_concrete(b):
        return tried(lambda: bool(a == b))
    one, two = kind_of(a), kind_of(b)
    if is_text(a) and is_text(b):
        return _equal_texts(labels, a, b)
    if isinstance(a, float) or isinstance(b, float):
        known, other = (a, b) if isinstance(a, float) else (b, a)
        if is_numeric(other):
            whole = math.isfinite(known) and known.is_integer()
            return whole and terms.equal(number(other), int(known))
    if is_set(a) and is_set(b):
        return both(included(labels, state, a, b), included(labels, state, b, a))
    if one is two and one in {list, tuple}:
        return _equal_sequences(labels, state, a, b)
    if isinstance(a, Instance) or isinstance(b, Instance):
        return _equal_objects(labels, state, a, b)
    if not (one is two or issubclass(one, Symbolic) or issubclass(two, Symbolic)) and all(
        _compares_plainly(kind) for kind in (one, two)
    ):
        return False
    message = f"the equality of {described(a)} and {described(b)}"
    raise Unsupported(message)


def _by_case(relation: Relation, labels: Labels, state: State, a: Value, b: Value) -> Condition:
    """Any of the pairs of alternatives that are possible here."""
    return either(
        *(
            both(one, other, relation(labels, state, x, y))
            for one, x in cases(a)
            if state.settled(one) is not False
            for other, y in cases(b)
            if state.settled(other) is not False
        )
    )


def _equal_texts(labels: Labels, a: Value, b: Value) -> Condition:
    if not isinstance(a, Text) and not isinstance(b, Text):
        return terms.equal(labels.of(a), labels.of(b))
    formatted, other = (a, b) if isinstance(a, Text) else (b, a)
    if formatted.filled and is_concrete(other) and not other:
        return False
    message = "the equality of a formatted text"
    raise Unsupported(message)


def _equal_sequences(labels: Labels, state: State, a: Value, b: Value) -> Condition:
    if a is b or (isinstance(a, Mutable) and isinstance(b, Mutable) and a.place == b.place):
        return True
    if isinstance(a, Numbers) or isinstance(b, Numbers):
        unknown, other = (a, b) if isinstance(a, Numbers) else (b, a)
        if not isinstance(other, Numbers) and not entries(state, other):
            return terms.equal(unknown.length, 0)
        message = "the equality of unknown lists"
        raise Unsupported(message)
    left, right = entries(state, a), entries(state, b)
    if all(present is True for present, _ in (*left, *right)):
        if len(left) != len(right):
            return False
        pairs = zip(left, right, strict=True)
        return both(*(equal(labels, state, x, y) for (_, x), (_, y) in pairs))
    if len(left) * len(right) > LARGEST:
        message = "the equality of long lists of unknown length"
        raise Unsupported(message)
    return _equal_entries(labels, state, left, right)


def _equal_entries(
    labels: Labels, state: State, left: tuple[Entry, ...], right: tuple[Entry, ...]
) -> Condition:
    """Whether the entries that are present are pairwise equal, by tails, the shortest first."""

    def absent(found: tuple[Entry, ...]) -> Condition:
        return both(*(opposite(present) for present, _ in found))

    below = [absent(right[place:]) for place in range(len(right) + 1)]
    for row in reversed(range(len(left))):
        here, value = left[row]
        tails: list[Condition] = [absent(left[row:])]
        for column in reversed(range(len(right))):
            there, other = right[column]
            same = both(equal(labels, state, value, other), below[column + 1])
            paired = terms.if_then_else(there, same, tails[0])
            tails.insert(0, terms.if_then_else(here, paired, below[column]))
        below = tails
    return below[0]


def _equal_objects(labels: Labels, state: State, a: Value, b: Value) -> Condition:
    """Of objects that the program made: by identity, or by fields as `dataclass` does it."""
    if isinstance(a, Instance) and isinstance(b, Instance) and a.place == b.place:
        return True
    one, two = kind_of(a), kind_of(b)
    plain = {kind for kind in (one, two) if _compares_plainly(kind)}
    by_fields = {kind for kind in (one, two) if _compares_fields(kind)}
    if {one, two} - plain - by_fields:
        message = f"the equality of {described(a)} and {described(b)}"
        raise Unsupported(message)
    if one is not two or one in plain:
        return False
    names = [each.name for each in dataclasses.fields(one) if each.compare]
    return both(
        *(equal(labels, state, _field(state, a, name), _field(state, b, name)) for name in names)
    )


def _compares_plainly(kind: type) -> bool:
    """Whether it equals nothing of another kind."""
    equals: object = kind.__eq__
    return kind in PLAIN or equals is object.__eq__


def _compares_fields(kind: type) -> bool:
    code = getattr(kind.__eq__, "__code__", None)
    return dataclasses.is_dataclass(kind) and code is not None and code.co_filename == "<string>"


def _field(state: State, owner: Value, name: str) -> Value:
    if not isinstance(owner, Instance):
        return getattr(owner, name)
    found = state.held(owner.place).get(name, UNBOUND)
    if any(value is UNBOUND for _, value in cases(found)):
        message = f"the equality of objects without {name}"
        raise Unsupported(message)
    return found


def included(labels: Labels, state: State, a: Value, b: Value) -> Condition:
    """Whether every entry of a set is in another one."""
    return both(
        *(
            either(opposite(present), contains(labels, state, b, value))
            for present, value in entries(state, a)
        )
    )


def contains(labels: Labels, state: State, collection: Value, value: Value) -> Condition:
    """Whether the value is in the collection."""
    if is_text(collection) and not is_text(value):
        raise Refused(TypeError)
    check_inside(collection)
    if is_concrete(collection) and is_concrete(value):
        return tried(lambda: value in collection)
    if is_text(collection):
        message = "a search in an unknown text"
        raise Unsupported(message)
    if is_set(collection) or kind_of(collection) is dict:
        hashable(value, into_set=is_set(collection))
    if isinstance(collection, range) and collection.step == 1 and is_numeric(value):
        known = number(value)
        return both(terms.at_most(collection.start, known), terms.less(known, collection.stop))
    if not isinstance(collection, Items) and kind_of(collection) not in {*PLAIN, range}:
        message = f"a search in {described(collection)}"
        raise Unsupported(message)
    return either(
        *(
            both(present, equal(labels, state, item, value))
            for present, item in entries(state, collection)
        )
    )


def identical(labels: Labels, state: State, a: Value, b: Value) -> Condition:
    """``a is b``, for what programs compare so: None, truth values, classes, own objects."""
    if isinstance(a, Union) or isinstance(b, Union):
        return _by_case(identical, labels, state, a, b)
    if a is None or b is None:
        return a is b
    if is_truth(a) and is_truth(b):
        return terms.same_truth(a, b)
    if isinstance(a, (Instance, Mutable)) and isinstance(b, (Instance, Mutable)):
        return a.place == b.place
    one, two = kind_of(a), kind_of(b)
    unknown = issubclass(one, Symbolic) or issubclass(two, Symbolic)
    if not unknown and one is not two:
        return False
    known = is_concrete(a) and is_concrete(b)
    if known and (isinstance(a, Enum) or not isinstance(a, (int, str, float, tuple))):
        return a is b
    if known and a != b:
        return False
    message = f"the identity of {described(a)} and {described(b)}"
    raise Unsupported(message)
