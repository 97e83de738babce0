"""Hypothesis strategies for small trees of the rule language and for values of their fields.

Every node kind occurs. Sizes are small and non-negative, and a divisor is a term that cannot
be 0, so that every reading of a tree must agree on every value drawn here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar
from typing import Any as Anything

from hypothesis import strategies as st

from parsolve.constraints.fields import Choice, Field, Flag, Size, Sizes
from parsolve.constraints.formula import (
    All,
    Any,
    Arith,
    Compare,
    Const,
    Divides,
    Feature,
    Formula,
    If,
    Named,
    NamedFormula,
    Not,
    Operation,
    Quotient,
    Relation,
    Term,
    Truth,
    implies,
    largest,
    one_of,
)

if TYPE_CHECKING:
    from parsolve.constraints.evaluate import Values

T = TypeVar("T")

ABOUT = "A field of the tests."
LABELS = ("red", "green", "blue")

count = Size("count", default=0, about=ABOUT)
width = Size("width", minimum=1, about=ABOUT)
depth = Size("depth", minimum=1, about=ABOUT)
batch = Size("batch", default=None, optional=True, minimum=1, about=ABOUT)
rows = Size("rows", default=None, optional=True, unset=-1, about=ABOUT)
colour = Choice("colour", choices=LABELS, default="red", about=ABOUT)
fast = Flag("fast", about=ABOUT)
wide = Flag("wide", about=ABOUT)
split = Sizes(name="split", about=ABOUT)

FIELDS: tuple[Field, ...] = (count, width, depth, batch, rows, colour, fast, wide, split)

ARITHMETIC: tuple[Operation, ...] = ("+", "-", "*", "max", "min")
DIVISIONS: tuple[Operation, ...] = ("//", "%")
RELATIONS: tuple[Relation, ...] = ("==", "!=", "<", "<=", ">", ">=")
FEATURES: tuple[str, ...] = ("length", "smallest", "gcd")


def values() -> st.SearchStrategy[Values]:
    """One legal value for each of `FIELDS`, small enough to collide with the constants."""
    small, positive = st.integers(0, 6), st.integers(1, 6)
    return st.tuples(
        small,
        positive,
        positive,
        st.none() | positive,
        st.none() | small,
        st.sampled_from(LABELS),
        st.booleans(),
        st.booleans(),
        st.none() | st.lists(small, min_size=1, max_size=3).map(tuple),
    )


INTEGERS = {most: st.integers(0, most) for most in range(16)}


@dataclass
class Grower:
    """Grows trees by Hypothesis's choices; ``terms`` and ``truths`` are shared quantities.

    Recursion in Python rather than nested strategies: building those costs far more than
    drawing from them.
    """

    draw: st.DrawFn
    terms: list[Named] = field(default_factory=list)
    truths: list[NamedFormula] = field(default_factory=list)

    def number(self, most: int) -> int:
        """From 0 to ``most``; Hypothesis shrinks towards 0, so simple cases come first."""
        return self.draw(INTEGERS[most])

    def one(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.number(len(options) - 1)]

    def leaf(self) -> Term:
        """A term without parts, or a shared quantity."""
        match self.number(3 if self.terms else 2):
            case 0:
                return Const(self.number(7))
            case 1:
                return self.one((count, width, depth, batch, rows))
            case 2:
                return Feature("split", self.one(FEATURES))
            case _:
                return self.one(self.terms)

    def divisor(self, height: int) -> Term:
        """A term that cannot be 0 for legal values."""
        options: tuple[Term, ...] = (width, depth, Const(1), Const(2), Const(3))
        simple = self.one(options)
        match self.number(5 if height > 0 else 1):
            case 2:
                return Arith("*", simple, self.divisor(height - 1))
            case 3:
                return largest(1, self.term(height - 1))
            case 4:
                return If(self.formula(height - 1), simple, self.divisor(height - 1))
            case 5:
                return Quotient(self.divisor(height - 1), simple)
            case _:
                return simple

    def label(self, height: int) -> Term:
        """A term that stands for a label."""
        options: tuple[Term, ...] = (colour, *map(Const, LABELS))
        simple = self.one(options)
        if height > 0 and self.number(3) == 3:
            return If(self.formula(height - 1), simple, self.label(height - 1))
        return simple

    def term(self, height: int) -> Term:
        """An integer term of at most this height above the shared quantities."""
        if height <= 0:
            return self.leaf()
        below = height - 1
        match self.number(5):
            case 0:
                return self.leaf()
            case 1:
                return Arith(self.one(ARITHMETIC), self.term(below), self.term(below))
            case 2:
                return Arith(self.one(DIVISIONS), self.term(below), self.divisor(below))
            case 3 | 4:
                return Quotient(self.term(below), self.divisor(below))
            case _:
                return If(self.formula(below), self.term(below), self.term(below))

    def atom(self) -> Formula:
        """A formula without parts worth the name, or a shared truth."""
        match self.number(3 if self.truths else 2):
            case 0:
                return Truth(bool(self.number(1)))
            case 1:
                return self.one((fast, wide))
            case 2:
                return Compare(self.one(RELATIONS), self.leaf(), Const(self.number(7)))
            case _:
                return self.one(self.truths)

    def formula(self, height: int) -> Formula:
        """A formula of at most this height above the shared quantities."""
        if height <= 0:
            return self.atom()
        below = height - 1
        match self.number(9):
            case 0:
                return self.atom()
            case 1 | 2:
                return Compare(self.one(RELATIONS), self.term(below), self.term(below))
            case 3:
                return Compare(self.one(RELATIONS[:2]), self.label(below), self.label(below))
            case 4:
                return Divides(self.divisor(below), self.term(below))
            case 5:
                return All(tuple(self.formula(below) for _ in range(self.number(3))))
            case 6:
                return Any(tuple(self.formula(below) for _ in range(self.number(3))))
            case 7:
                return Not(self.formula(below))
            case 8:
                return implies(self.formula(below), self.formula(below))
            case _:
                return one_of(self.term(below), (1, 2, 4))

    def shared(self) -> None:
        """Draw up to two derived numbers and one derived truth, later ones made of earlier."""
        for name in ("half", "third")[: self.number(2)]:
            self.terms.append(Named(name, self.term(1)))
        if self.number(1):
            self.truths.append(NamedFormula("is_odd", self.formula(1)))


@st.composite
def terms(draw: st.DrawFn, height: int = 3) -> Term:
    """An integer term with derived quantities of its own."""
    grower = Grower(draw)
    grower.shared()
    return grower.term(height)


@st.composite
def formulas(draw: st.DrawFn, height: int = 3) -> Formula:
    """A formula with derived quantities of its own."""
    grower = Grower(draw)
    grower.shared()
    return grower.formula(height)


@st.composite
def rules(draw: st.DrawFn, height: int = 2) -> tuple[Formula, Formula]:
    """The two formulas of a rule, ``when`` and ``requires``, over shared quantities."""
    grower = Grower(draw)
    grower.shared()
    return grower.formula(height), grower.formula(height)


def assignment(drawn: Values) -> dict[str, Anything]:
    """Values by field name, as they were drawn."""
    return {field.name: value for field, value in zip(FIELDS, drawn, strict=True)}
