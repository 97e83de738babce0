"""Exact fractions of terms: published formulas divide everywhere, whole bytes only once."""

from __future__ import annotations

from dataclasses import dataclass

from parsolve.constraints.formula import Formula, Operand, Term, as_term, if_


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """One term over another that cannot be 0. It stands on the left of every operator."""

    above: Term
    below: Term

    def __add__(self, other: Ratio | Operand) -> Ratio:
        b = ratio(other)
        return Ratio(self.above * b.below + b.above * self.below, self.below * b.below)

    def __mul__(self, other: Ratio | Operand) -> Ratio:
        b = ratio(other)
        return Ratio(self.above * b.above, self.below * b.below)

    def __truediv__(self, other: Operand) -> Ratio:
        return Ratio(self.above, self.below * other)

    def floor(self) -> Term:
        """The largest whole number that is not above it."""
        return self.above // self.below


def ratio(above: Ratio | Operand, below: Operand = 1) -> Ratio:
    """The fraction of two terms."""
    if isinstance(above, Ratio):
        return above / below
    return Ratio(as_term(above), as_term(below))


def either(condition: Formula, then: Ratio | Operand, other: Ratio | Operand) -> Ratio:
    """One fraction where the condition holds, else the other."""
    a, b = ratio(then), ratio(other)
    return Ratio(if_(condition, a.above, b.above), if_(condition, a.below, b.below))
