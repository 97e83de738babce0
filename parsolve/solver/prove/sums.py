"""Sums of products of unknown integers, and what is known of such products.

A sum is multiplied out and its products are kept in one order, so equal polynomials are the same
sum. Z3 is given each product as a product, but is not asked to reason about it: it learns
instances of `LEMMAS`, and the rest is linear.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

import z3

from parsolve.solver.arithmetic import LONGEST
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.prove.obligation import Goal, Status

Product: TypeAlias = tuple[str, ...]
"""Names of unknowns in order, each as often as it is a factor; () is 1."""


class Sum:
    """A polynomial: an integer for every product that occurs in it."""

    __slots__ = ("parts",)

    def __init__(self, parts: Mapping[Product, int]) -> None:
        self.parts = {product: times for product, times in parts.items() if times}

    @staticmethod
    def of(value: int | str) -> Sum:
        """A number, or the unknown of that name."""
        return Sum({(value,): 1}) if isinstance(value, str) else Sum({(): value})

    def __add__(self, other: Sum) -> Sum:
        parts = dict(self.parts)
        for product, times in other.parts.items():
            parts[product] = parts.get(product, 0) + times
        return Sum(parts)

    def __sub__(self, other: Sum) -> Sum:
        return self + Sum({product: -times for product, times in other.parts.items()})

    def __mul__(self, other: Sum) -> Sum:
        parts: dict[Product, int] = {}
        for product, times in self.parts.items():
            for by, more in other.parts.items():
                whole = tuple(sorted(product + by))
                parts[whole] = parts.get(whole, 0) + times * more
        return Sum(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(frozenset(self.parts.items()))

    def __str__(self) -> str:
        parts = [(times, "*".join(product) or "1") for product, times in self.parts.items()]
        return " + ".join(name if times == 1 else f"{times}*{name}" for times, name in parts) or "0"

    @property
    def product(self) -> Product | None:
        """The product that it is, if it is one."""
        match list(self.parts.items()):
            case [(product, 1)]:
                return product
            case _:
                return None

    @property
    def unknown(self) -> str | None:
        """The unknown that it is, if it is one."""
        match self.product:
            case (name,):
                return name
            case _:
                return None

    def replaced(self, known: Mapping[str, Sum]) -> Sum:
        """The same with sums for unknowns."""
        if not any(name in known for product in self.parts for name in product):
            return self
        result = ZERO
        for product, times in self.parts.items():
            part = Sum.of(times)
            for name in product:
                part *= known.get(name) or Sum.of(name)
            result += part
        return result

    def divided(self, by: Product) -> Sum | None:
        """The sum without a factor that all its products have."""
        parts: dict[Product, int] = {}
        for product, times in self.parts.items():
            left = without(product, by)
            if left is None:
                return None
            parts[left] = times
        return Sum(parts)

    @property
    def z3(self) -> z3.ArithRef:
        """The sum for Z3."""
        return _sum(self)


@cache
def _sum(value: Sum) -> z3.ArithRef:
    parts = [_product(names) if n == 1 else n * _product(names) for names, n in value.parts.items()]
    return z3.Sum(parts) if parts else z3.IntVal(0)


@cache
def _product(product: Product) -> z3.ArithRef:
    if len(product) > 1:
        return _product(product[:-1]) * z3.Int(product[-1])
    return z3.Int(product[0]) if product else z3.IntVal(1)


ZERO, ONE = Sum.of(0), Sum.of(1)


def without(product: Product, factors: Product) -> Product | None:
    """What is left of a product without these factors; None unless it has them all."""
    left = list(product)
    for name in factors:
        if name not in left:
            return None
        left.remove(name)
    return tuple(left)


@cache
def multiples_are_ordered(a: Sum, b: Sum, n: Sum) -> z3.BoolRef:
    """Multiples of n >= 1 stand in the order of their factors, and at least n apart."""
    below = z3.Implies(a.z3 < b.z3, (a * n + n).z3 <= (b * n).z3)
    above = z3.Implies(a.z3 >= b.z3, (a * n).z3 >= (b * n).z3)
    return z3.Implies(n.z3 >= 1, z3.And(below, above))


def factors_cancel(a: Sum, b: Sum, n: Sum) -> z3.BoolRef:
    """A positive factor of both sides of an equation cancels."""
    return z3.Implies(z3.And(n.z3 >= 1, (a * n).z3 == (b * n).z3), a.z3 == b.z3)


def quotients_are_positive(a: Sum, n: Sum) -> z3.BoolRef:
    """What times a positive integer gives a positive integer is positive."""
    return z3.Implies(z3.And(n.z3 >= 1, (a * n).z3 >= 1), a.z3 >= 1)


def division_is_unique(n: Sum, p: Sum, s: Sum, q: Sum, r: Sum) -> z3.BoolRef:
    """A multiple of n plus what is not negative and below n says quotient and remainder by n."""
    rests = z3.And(s.z3 >= 0, s.z3 < n.z3, r.z3 >= 0, r.z3 < n.z3)
    same = (n * p + s).z3 == (n * q + r).z3
    return z3.Implies(z3.And(rests, same), z3.And(p.z3 == q.z3, s.z3 == r.z3))


LEMMAS = (
    (multiples_are_ordered, 3),
    (factors_cancel, 3),
    (quotients_are_positive, 2),
    (division_is_unique, 5),
)
"""All that is used of products beside multiplying out, each with the integers it is about.

Z3 uses instances of the first; `digits.Digits` works by the others.
"""


@cache
def lemmas_hold(seconds: float = LONGEST) -> tuple[Status, tuple[Goal, ...]]:
    """Whether every lemma is valid for all integers, and what was asked."""
    goals: list[Goal] = []
    for lemma, integers in LEMMAS:
        statement = lemma(*map(Sum.of, "abcde"[:integers]))
        goals.append(Goal(lemma.__name__, (z3.Not(statement),)))
        solver = SeparateSolver()
        solver.add(*goals[-1].assertions)
        result = decide(solver, Deadline(seconds))
        if result != z3.unsat:
            return ("refuted" if result == z3.sat else "undecided", tuple(goals))
    return ("proved", tuple(goals))
