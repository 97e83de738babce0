"""Unknown lists of integers: what can be said of all their entries, or of some.

An entry is an entry, whichever: a loop over the list runs once, with a `Member`. A statement
about it holds for all entries, or for some, where that can be read off the list's features:
``d`` divides all entries exactly where it divides their greatest common divisor, and all are
at least ``c`` exactly where the smallest is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from parsolve.solver.symbolic import terms
from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.kinds import described
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Condition,
    Numbers,
    Opaque,
    Refused,
    Symbolic,
    Union,
    Unsupported,
    Value,
    both,
    either,
    is_concrete,
    is_number,
    is_numeric,
    is_truth,
    number,
    opposite,
)

MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}


@dataclass(frozen=True, slots=True, eq=False)
class Member(Symbolic):
    """Any entry of an unknown list."""

    source: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Remainder(Symbolic):
    """What an entry leaves when divided by something."""

    about: Member
    divides: Condition
    """Whether no entry leaves anything."""
    positive: bool
    """Whether the divisor is known to be positive."""


@dataclass(frozen=True, slots=True, eq=False)
class Each(Symbolic):
    """A statement about any entry: when it holds for all, and when for some, if that is known."""

    about: Member
    every: Condition | None = None
    some: Condition | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Mapped(Symbolic):
    """A list with one element for every entry of an unknown list for which ``present`` holds."""

    member: Member
    present: Statement
    element: Value


Statement: TypeAlias = "Condition | Each"
ABOUT_ENTRIES = (Member, Remainder)


def is_unknown(value: Value) -> bool:
    """Whether it is an unknown list, or one made from it."""
    return isinstance(value, (Numbers, Mapped))


def empty(source: Numbers) -> Condition:
    """Whether the list has no entries."""
    return terms.equal(source.length, 0)


def remainder(machine: Core, state: State, member: Member, divisor: Value) -> Remainder:
    """``member % divisor``."""
    if divisor is None:
        raise Refused(TypeError)
    if not is_numeric(divisor):
        message = f"a remainder by {described(divisor)}"
        raise Unsupported(message)
    by = number(divisor)
    machine.refuse(state, terms.equal(by, 0), ZeroDivisionError)
    _, left = machine.arithmetic.divided(member.source.gcd, terms.integer(by))
    return Remainder(member, terms.equal(left, 0), isinstance(by, int) and by > 0)


def compared(operation: type[ast.cmpop], a: Value, b: Value) -> Statement:
    """A comparison of an entry, or its remainder, with something else."""
    if isinstance(b, ABOUT_ENTRIES):
        a, b, operation = b, a, MIRRORED.get(operation, operation)
    found: Statement | None = None
    if b is None:
        found = {ast.Is: False, ast.Eq: False, ast.IsNot: True, ast.NotEq: True}.get(operation)
    elif isinstance(a, Remainder) and b == 0:
        if operation is ast.Eq:
            found = Each(a.about, every=a.divides)
        elif operation is ast.NotEq or (operation is ast.Gt and a.positive):
            found = Each(a.about, some=opposite(a.divides))
    elif isinstance(a, Member) and is_number(b):
        found = _compared_with(operation, a, number(b))
    if found is None:
        message = "such a comparison of the entries of an unknown list"
        raise Unsupported(message)
    return found


def _compared_with(operation: type[ast.cmpop], member: Member, known: terms.Integer) -> Each | None:
    smallest = member.source.smallest
    if operation is ast.GtE:
        return Each(member, every=terms.at_most(known, smallest))
    if operation is ast.Gt:
        return Each(member, every=terms.less(known, smallest))
    if operation is ast.LtE:
        return Each(member, some=terms.at_most(smallest, known))
    if operation is ast.Lt:
        return Each(member, some=terms.less(smallest, known))
    if isinstance(known, int) and known == 0:
        nothing = terms.equal(member.source.gcd, 0)
        if operation is ast.Eq:
            return Each(member, every=nothing)
        if operation is ast.NotEq:
            return Each(member, some=opposite(nothing))
    return None


def statement(value: Value) -> Each | None:
    """The truth of an entry or its remainder, or a statement about it; None for others."""
    match value:
        case Each():
            return value
        case Remainder(about, divides):
            return Each(about, some=opposite(divides))
        case Member(source):
            return Each(value, some=opposite(terms.equal(source.gcd, 0)))
        case Union():
            return _statement_of_cases(value)
        case _:
            return None


def _statement_of_cases(value: Union) -> Each | None:
    """A statement that is one of several, under conditions that are about no entry."""
    said = [(guard, statement(inner) or inner) for guard, inner in value.cases]
    about = next((each.about for _, each in said if isinstance(each, Each)), None)
    if about is None or not all(isinstance(each, Each) or is_truth(each) for _, each in said):
        return None
    for _, each in said:
        _check_about(about, each)
    every = [(guard, each.every if isinstance(each, Each) else each) for guard, each in said]
    some = [(guard, each.some if isinstance(each, Each) else each) for guard, each in said]
    return Each(about, _one_of(every), _one_of(some))


def _one_of(said: list[tuple[Condition, Condition | None]]) -> Condition | None:
    if any(holds is None for _, holds in said):
        return None
    return either(*(both(guard, holds) for guard, holds in said if holds is not None))


def negated(said: Statement) -> Statement:
    """That it does not hold."""
    if not isinstance(said, Each):
        return opposite(said)
    return Each(
        said.about,
        every=None if said.some is None else opposite(said.some),
        some=None if said.every is None else opposite(said.every),
    )


def conjoined(one: Statement, two: Statement) -> Statement:
    """That both hold of an entry."""
    if isinstance(one, Each) and isinstance(two, Each):
        _check_about(one.about, two)
        return Each(one.about, every=_joined(both, one.every, two.every))
    if isinstance(one, Each):
        one, two = two, one
    if isinstance(two, Each):
        return Each(two.about, _joined(both, two.every, one), _joined(both, two.some, one))
    return both(one, two)


def _check_about(member: Member, said: Statement) -> None:
    if isinstance(said, Each) and said.about is not member:
        message = "entries of one unknown list beside those of another"
        raise Unsupported(message)


def disjoined(one: Statement, two: Statement) -> Statement:
    """That one of the two holds of an entry."""
    return negated(conjoined(negated(one), negated(two)))


def _joined(
    join: Callable[..., Condition], one: Condition | None, two: Condition | None
) -> Condition | None:
    return None if one is None or two is None else join(one, two)


def every(member: Member, said: Statement) -> Condition:
    """Whether it holds for all entries."""
    _check_about(member, said)
    holds = said.every if isinstance(said, Each) else said
    if holds is None:
        message = "whether all entries of an unknown list are so"
        raise Unsupported(message)
    return either(empty(member.source), holds)


def some(member: Member, said: Statement) -> Condition:
    """Whether it holds for one of the entries."""
    _check_about(member, said)
    holds = said.some if isinstance(said, Each) else said
    if holds is None:
        message = "whether an entry of an unknown list is so"
        raise Unsupported(message)
    return both(opposite(empty(member.source)), holds)


def as_mapped(value: Value) -> Mapped:
    """An unknown list as one that was made from it."""
    if isinstance(value, Mapped):
        return value
    member = Member(value)
    return Mapped(member, present=True, element=member)


def hidden(element: Value) -> Value:
    """What was made of an entry, once it no longer stands for any entry."""
    if isinstance(element, tuple):
        return tuple(map(hidden, element))
    return element if is_concrete(element) else Opaque("an entry of an unknown list")
