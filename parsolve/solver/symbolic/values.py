"""What a variable can hold while a program runs on symbolic input.

Concrete Python objects stand for themselves, Z3 integers and truth values for unknown ones.
The classes here are the rest: texts, collections whose entries may be absent, things that the
program made and may change, and a value that is one of several under conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import z3

from parsolve.solver.symbolic.terms import (
    Condition,
    Integer,
    both,
    choose,
    either,
    integer,
    opposite,
)

__all__ = [
    "Condition",
    "Departed",
    "Instance",
    "Items",
    "Label",
    "Labels",
    "Lost",
    "Method",
    "Mutable",
    "Numbers",
    "Opaque",
    "Refused",
    "Symbolic",
    "Text",
    "Union",
    "Unsupported",
    "Value",
    "both",
    "cases",
    "either",
    "opposite",
]

Value: TypeAlias = Any
"""A value of the program: a Python object, a Z3 term, or one of the classes below."""

Entry: TypeAlias = "tuple[Condition, Value]"
"""An entry of a collection, and when it is present."""


class Unsupported(Exception):  # noqa: N818  (a limit of this tool, not an error of the program)
    """Something that cannot be executed on symbolic values. The message names it."""


class Refused(Exception):  # noqa: N818  (what the program does, not an error of this tool)
    """The program raises an exception of this kind here, whatever the unknown values are."""

    def __init__(self, kind: type[BaseException]) -> None:
        super().__init__(kind.__name__)
        self.kind = kind


class Departed(Exception):  # noqa: N818  (no error of anybody)
    """Every path has left here: by an exit, a return or a gap that is on record already."""


class Symbolic:
    """A value that is no Python object of the program's own."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Label(Symbolic):
    """An unknown text that is only ever compared: its number in a table of labels."""

    code: z3.ArithRef


@dataclass(frozen=True, slots=True, eq=False)
class Text(Symbolic):
    """A text that nobody looks into, such as a message with numbers."""

    filled: bool = False
    """Whether it is known to have at least one character."""


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Symbolic):
    """A value of which nothing is known; it can be handed around and printed."""

    what: str


@dataclass(frozen=True, slots=True, eq=False)
class Union(Symbolic):
    """One of several values; on each path exactly one condition holds."""

    cases: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Numbers(Symbolic):
    """An unknown list of integers: its length and what is read off it.

    ``gcd`` is the greatest common divisor of the entries, 0 where there is none or all are 0;
    ``smallest`` is any integer where there is no entry.
    """

    length: z3.ArithRef
    smallest: z3.ArithRef
    gcd: z3.ArithRef
    kind: type = list


@dataclass(frozen=True, slots=True, eq=False)
class Items(Symbolic):
    """A collection that cannot change. Its entries are distinct if it is a set."""

    kind: type
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Mutable(Symbolic):
    """A list, set, dict or iterator that the program made; what it holds is in the state."""

    kind: type
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Instance(Symbolic):
    """An object of a class that the program made; its attributes are in the state."""

    type: type
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Method(Symbolic):
    """A function together with the object that it is called on."""

    function: Value
    owner: Value


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What a dict holds: by key, when the key is present and its value."""

    entries: dict[Any, Entry]
    ordered: bool = True
    """Whether it is known which key came first."""


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """What something holds after the program did what cannot be followed. Says what that was."""

    what: str


class Unbound(Symbolic):
    """What a name or an attribute holds on paths that never assigned it."""

    __slots__ = ()


UNBOUND = Unbound()


def cases(value: Value) -> Iterator[Entry]:
    """The alternatives of a value, flat."""
    if not isinstance(value, Union):
        yield True, value
        return
    for condition, inner in value.cases:
        for nested, last in cases(inner):
            yield both(condition, nested), last


def tried(compute: Callable[..., Value], *given: Value) -> Value:
    """What Python itself computes; where it raises, so does the program."""
    try:
        return compute(*given)
    except RecursionError:  # of this tool's, which runs deeper than the program
        raise
    except Exception as error:
        raise Refused(type(error)) from error


def is_concrete(value: Value) -> bool:
    """Whether it is a Python object through and through."""
    if isinstance(value, tuple):
        return all(map(is_concrete, value))
    return not isinstance(value, (Symbolic, z3.ExprRef))


def is_number(value: Value) -> bool:
    """An integer, known or not. Truth values count in Python, but are handled apart."""
    kind = type(value)
    return (
        kind is int
        or kind is z3.ArithRef
        or kind is z3.IntNumRef
        or (isinstance(value, int) and isinstance(value, Enum))
    )


def is_truth(value: Value) -> bool:
    """A truth value, known or not."""
    return isinstance(value, (bool, z3.BoolRef))


def is_numeric(value: Value) -> bool:
    """What arithmetic takes: integers and truth values."""
    return is_number(value) or is_truth(value)


def is_text(value: Value) -> bool:
    """A text, known or not."""
    return isinstance(value, (Label, Text)) or is_known_text(value)


def is_known_text(value: Value) -> bool:
    """A text that is known, be it a member of an enumeration."""
    return type(value) is str or (isinstance(value, str) and isinstance(value, Enum))


def number(value: Value) -> Integer:
    """The value as an integer; truth values are 0 or 1."""
    if isinstance(value, z3.BoolRef):
        return choose(value, 1, 0)
    return int(value) if isinstance(value, int) else value


class Labels:
    """The table of texts that are compared: each has a number, unknown ones have others."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The number of the text."""
        return self.numbers.setdefault(str.__str__(text), len(self.numbers))

    def of(self, value: str | Label) -> z3.ArithRef:
        """The number of a text, as Z3 has it."""
        return value.code if isinstance(value, Label) else integer(self.code(value))
