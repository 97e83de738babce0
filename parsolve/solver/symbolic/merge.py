"""One value for two that hold on different paths."""

from __future__ import annotations

from collections.abc import Mapping

import z3

from parsolve.solver.symbolic.terms import (
    Condition,
    both,
    choose,
    either,
    if_then_else,
    opposite,
)
from parsolve.solver.symbolic.values import (
    UNBOUND,
    Entry,
    Instance,
    Items,
    Label,
    Labels,
    Lost,
    Mutable,
    Table,
    Text,
    Union,
    Value,
    cases,
    is_truth,
)

INTEGERS = (int, z3.ArithRef, z3.IntNumRef)
"""Exact types: members of an enumeration stay what they are."""


def merged(labels: Labels, condition: Condition, then: Value, other: Value) -> Value:
    """``then`` where the condition holds, else ``other``."""
    if isinstance(condition, bool):
        return then if condition else other
    if then is other:
        return then
    if type(then) in INTEGERS and type(other) in INTEGERS:
        if type(then) is int and type(other) is int and then == other:
            return then
        return choose(condition, then, other)
    if is_truth(then) and is_truth(other):
        return if_then_else(condition, then, other)
    if type(then) in {str, Label} and type(other) in {str, Label}:
        if type(then) is str and type(other) is str and then == other:
            return then
        return Label(choose(condition, labels.of(then), labels.of(other)))
    if isinstance(then, Text) and isinstance(other, Text):
        return Text(filled=then.filled and other.filled)
    if isinstance(then, Items) and isinstance(other, Items) and then.kind is other.kind:
        return Items(then.kind, merged_entries(labels, condition, then.entries, other.entries))
    if type(then) is tuple and type(other) is tuple and len(then) == len(other):
        pairs = zip(then, other, strict=True)
        return tuple(merged(labels, condition, a, b) for a, b in pairs)
    return _union(labels, condition, then, other)


def _union(labels: Labels, condition: z3.BoolRef, then: Value, other: Value) -> Value:
    """One alternative for each kind of value, so that nested unions do not multiply."""
    result: list[Entry] = []
    sides = [(both(condition, guard), value) for guard, value in cases(then)]
    sides += [(both(opposite(condition), guard), value) for guard, value in cases(other)]
    for guard, value in sides:
        for place, (present, known) in enumerate(result):
            if _alike(known, value):
                same = merged(labels, guard, value, known)
                result[place] = (either(present, guard), same)
                break
        else:
            result.append((guard, value))
    return result[0][1] if len(result) == 1 else Union(tuple(result))


def _alike(known: Value, value: Value) -> bool:
    """Whether merging the two makes no union."""
    if known is value:
        return True
    one, two = type(known), type(value)
    if one in INTEGERS:
        return two in INTEGERS
    if is_truth(known):
        return is_truth(value)
    if one in {str, Label}:
        return two in {str, Label}
    if isinstance(known, (Instance, Mutable)):
        return isinstance(value, (Instance, Mutable)) and known.place == value.place
    if one is tuple:
        return two is tuple and len(known) == len(value)
    if isinstance(known, Items):
        return isinstance(value, Items) and known.kind is value.kind
    return one is Text and two is Text


def merged_entries(
    labels: Labels, condition: Condition, then: tuple[Entry, ...], other: tuple[Entry, ...]
) -> tuple[Entry, ...]:
    """Entries that both share at the front stay; what follows is merged if it is as long.

    If it is not, each entry is present on its own side only.
    """
    shared = 0
    while shared < min(len(then), len(other)) and then[shared] is other[shared]:
        shared += 1
    same, one, two = then[:shared], then[shared:], other[shared:]
    if len(one) == len(two) and all(present is True for present, _ in (*one, *two)):
        pairs = zip(one, two, strict=True)
        return (*same, *((True, merged(labels, condition, a, b)) for (_, a), (_, b) in pairs))
    denied = opposite(condition)
    return (
        *same,
        *((both(condition, present), value) for present, value in one),
        *((both(denied, present), value) for present, value in two),
    )


def merged_names(
    labels: Labels, condition: Condition, then: Mapping[str, Value], other: Mapping[str, Value]
) -> dict[str, Value]:
    """What each name holds, whichever side was taken."""
    result = dict(then)
    for name, value in other.items():
        known = then.get(name, UNBOUND)
        if known is not value:
            result[name] = merged(labels, condition, known, value)
    for name, value in then.items():
        if name not in other:
            result[name] = merged(labels, condition, value, UNBOUND)
    return result


def merged_contents(labels: Labels, condition: z3.BoolRef, then: Value, other: Value) -> Value:
    """What a thing holds that both sides know and one or both changed."""
    match then, other:
        case dict(), dict():
            return merged_names(labels, condition, then, other)
        case tuple(), tuple():
            return merged_entries(labels, condition, then, other)
        case Table(), Table():
            return _merged_tables(labels, condition, then, other)
        case Lost(), _:
            return then
        case _, Lost():
            return other
        case _:
            return Lost("something that was read on one path and not on another")


def _merged_tables(labels: Labels, condition: z3.BoolRef, then: Table, other: Table) -> Table:
    denied = opposite(condition)
    keys = _in_order(list(then.entries), list(other.entries))
    ordered = then.ordered and other.ordered and keys is not None
    result: dict[Value, Entry] = {}
    for key in keys or {**then.entries, **other.entries}:
        one, two = then.entries.get(key), other.entries.get(key)
        if one is not None and two is not None:
            present = if_then_else(condition, one[0], two[0])
            same = one is two
            result[key] = one if same else (present, merged(labels, condition, one[1], two[1]))
        elif one is not None:
            result[key] = (both(condition, one[0]), one[1])
        elif two is not None:
            result[key] = (both(denied, two[0]), two[1])
    return Table(result, ordered)


def _in_order(one: list[Value], two: list[Value]) -> list[Value] | None:
    """All keys, in an order that both agree with, if there is one."""
    common = set(one) & set(two)
    if [key for key in one if key in common] != [key for key in two if key in common]:
        return None
    result: list[Value] = []
    rest = list(two)
    for key in one:
        if key in common:
            cut = rest.index(key)
            result += rest[:cut]
            rest = rest[cut + 1 :]
        result.append(key)
    return result + rest
