"""Ranks in mixed radix: division of sums by products of unknown sizes.

A rank becomes a sum of digits times radixes, ``stage*S + slot`` say, as it is divided. A sum of
multiples of the divisor and of a rest has a known quotient and remainder wherever the rest fits
under the divisor, which Z3 decides; where it does not, quotient and remainder are new digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import z3

from parsolve.solver.arithmetic import LONGEST
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.prove.obligation import Goal
from parsolve.solver.prove.sums import (
    ONE,
    ZERO,
    Product,
    Sum,
    multiples_are_ordered,
    without,
)

PATIENCE = 2.0
"""Seconds to find out whether a rest fits, which need not be so."""


class Unproved(Exception):  # noqa: N818  (an outcome, not an error)
    """A step of a proof did not succeed. The message says what was to be shown."""


class Digits:
    """Unknown integers: sizes are at least 1, all others are digits.

    Unknowns that are sums of others are replaced by them everywhere. ``goals`` are what Z3 proved
    so far, named ``about``.
    """

    def __init__(self, about: str, deadline: Deadline) -> None:
        self.goals: list[Goal] = []
        self._about = about
        self._deadline = deadline
        self._sizes: set[str] = set()
        self._digits = 0
        self._replaced: dict[str, Sum] = {}
        self._equations: list[Sum] = []
        self._negative_never: list[Sum] = []
        self._tops: dict[str, tuple[Sum, ...]] = {}
        self._exact: dict[tuple[Sum, Sum], Sum] = {}
        self._divided: dict[tuple[Sum, Sum], tuple[Sum, Sum]] = {}

    # --- what is known ----------------------------------------------------------------------

    def normal(self, value: Sum) -> Sum:
        """The same sum, without unknowns that are replaced."""
        return value.replaced(self._replaced)

    def size(self, name: str) -> Sum:
        """An unknown that is at least 1."""
        if name not in self._sizes:
            self._sizes.add(name)
            self.at_least(Sum.of(name), ONE)
        return self.normal(Sum.of(name))

    def digit(self, name: str, top: Sum) -> Sum:
        """An unknown that is at least 0 and below ``top``."""
        self._tops[name] = (top,)
        digit = Sum.of(name)
        self.at_least(digit, ZERO)
        self.at_least(top, digit + ONE)
        return digit

    def at_least(self, value: Sum, least: Sum) -> None:
        """Take it as known that the value is not below the least."""
        self._negative_never.append(value - least)

    def equal(self, left: Sum, right: Sum) -> None:
        """Take it as known that the sums of sizes are equal.

        Sizes on both sides cancel. What is left replaces a size by a product where it can.
        """
        difference = self.normal(left - right)
        for name in sorted(self._sizes):
            while difference.parts and (less := difference.divided((name,))) is not None:
                difference = less
        if not difference.parts:
            return
        for name, product in _equated(difference):
            if name in self._sizes and name not in product:
                self._replace(name, Sum({product: 1}))
                return
        self._equations.append(difference)

    def _replace(self, name: str, value: Sum) -> None:
        """Replace an unknown, then take up again what was known in its terms."""
        by = {name: value}
        self._replaced = {old: was.replaced(by) for old, was in self._replaced.items()} | by
        equations, self._equations = self._equations, []
        exact, self._exact = self._exact, {}
        for equation in equations:
            self.equal(equation, ZERO)
        for (whole, divisor), quotient in exact.items():
            self.equal(self._quotient(whole, divisor, quotient), quotient)

    # --- division ---------------------------------------------------------------------------

    def exact(self, whole: Sum, divisor: Sum) -> Sum:
        """The quotient of two products of sizes, known to have no remainder.

        It is a size, since the whole is at least 1.
        """
        self._factors(self.normal(whole))
        new = Sum.of(f"size {len(self._sizes) + 1}")
        quotient = self._quotient(whole, divisor, new)
        if quotient is new:
            self.size(str(new))
            self.equal(whole, divisor * new)
        return self.normal(quotient)

    def _quotient(self, whole: Sum, divisor: Sum, new: Sum) -> Sum:
        """The exact quotient, if it is known by now, else the new one."""
        whole, divisor = self.normal(whole), self.normal(divisor)
        known = whole.divided(self._factors(divisor))
        return known or self._exact.setdefault((whole, divisor), new)

    def divide(self, whole: Sum, divisor: Sum) -> tuple[Sum, Sum]:
        """Quotient and remainder by a product of sizes."""
        key = whole, divisor = self.normal(whole), self.normal(divisor)
        by = self._factors(divisor)
        if key not in self._divided:
            fitting = self._fitting(whole, by)
            if fitting is None and self._divides_rest(whole, by):
                return self.divide(whole, divisor)
            self._divided[key] = fitting or self._split(self.normal(whole), by)
        quotient, remainder = self._divided[key]
        return (self.normal(quotient), self.normal(remainder))

    def _factors(self, value: Sum) -> Product:
        product = value.product
        if product is None or not self._sizes.issuperset(product):
            raise Unproved(f"that {value} is a product of sizes")
        return product

    def _fitting(self, whole: Sum, by: Product) -> tuple[Sum, Sum] | None:
        """Quotient and remainder, if what is no multiple of the divisor is below it."""
        whole = self._refined(whole, by)
        multiples = Sum({p: n for p, n in whole.parts.items() if without(p, by) is not None})
        rest = whole - multiples
        name = f"that {rest} is below {'*'.join(by)}"
        fits = self.proves(name, rest, Sum({by: 1}) - ONE - rest, seconds=PATIENCE)
        return (multiples.divided(by) or ZERO, rest) if fits else None

    def _divides_rest(self, whole: Sum, by: Product) -> bool:
        """Divide what is no multiple of the divisor, if that is one digit and not the whole."""
        whole = self.normal(whole)
        rest = Sum({p: n for p, n in whole.parts.items() if without(p, by) is None})
        if rest == whole or rest.unknown is None or rest.unknown in self._sizes:
            return False
        self.divide(rest, Sum({by: 1}))
        return self.normal(whole) != whole

    def _refined(self, whole: Sum, by: Product) -> Sum:
        """The sum with digits divided by what their radixes lack of the divisor."""
        for product in whole.parts:
            for name in self._digits_of(product):
                radix = without(product, (name,))
                lacking = without(by, radix) if radix else None
                if not lacking or self._stays_below(name, Sum({lacking: 1})):
                    continue
                self.divide(Sum.of(name), Sum({lacking: 1}))
                finer = self.normal(whole)
                if finer != whole:
                    return self._refined(finer, by)
        return whole

    def _digits_of(self, product: Product) -> list[str]:
        return [name for name in product if name not in self._sizes]

    def _stays_below(self, digit: str, top: Sum) -> bool:
        return any(self.normal(known) == top for known in self._tops[digit])

    def _split(self, whole: Sum, by: Product) -> tuple[Sum, Sum]:
        """Two new digits. If the whole is a digit itself, they replace it."""
        self._digits += 1
        divisor, quotient = Sum({by: 1}), Sum.of(f"quotient {self._digits}")
        self._tops[str(quotient)] = tuple(self._ceilings(whole, by))
        name = whole.unknown
        if name is None or name in self._sizes:
            remainder = whole - divisor * quotient
            self.at_least(remainder, ZERO)
            self.at_least(divisor, remainder + ONE)
        else:
            remainder = self.digit(f"remainder {self._digits}", divisor)
            self._replace(name, divisor * quotient + remainder)
        return (quotient, remainder)

    def _ceilings(self, whole: Sum, by: Product) -> Iterator[Sum]:
        """What the quotient may turn out to be below."""
        for top in self._tops.get(whole.unknown or "", ()):
            ceiling = self.normal(top).divided(by)
            if ceiling is not None:
                yield ceiling
        for equation in self._equations:
            lefts = (without(product, by) for product in equation.parts)
            yield from (Sum({left: 1}) for left in lefts if left is not None)

    # --- proof ------------------------------------------------------------------------------

    def show_between(self, name: str, value: Sum, top: Sum) -> None:
        """Show that the value is at least 0 and below the top, or raise `Unproved`."""
        if not self.proves(name, value, top - ONE - value):
            raise Unproved(name)

    def show_equal(self, name: str, left: Sum, right: Sum) -> None:
        """Show that the two are equal, or raise `Unproved`."""
        if not self.proves(name, left - right, right - left):
            raise Unproved(name)

    def proves(self, name: str, *values: Sum, seconds: float = LONGEST) -> bool:
        """Whether Z3 shows that none of the sums is negative."""
        claims = [self.normal(value) for value in values]
        known = list(dict.fromkeys(map(self.normal, self._negative_never)))
        stated = [*claims, *known, *self._equations]
        assertions = (
            *(value.z3 >= 0 for value in known),
            *(equation.z3 == 0 for equation in self._equations),
            *self._instances(product for value in stated for product in value.parts),
            z3.Not(z3.And(*(claim.z3 >= 0 for claim in claims))),
        )
        solver = SeparateSolver(z3.SimpleSolver)
        solver.set("arith.nl", False)  # noqa: FBT003  (products are unknowns)
        solver.add(*assertions)
        if decide(solver, self._deadline.sooner(seconds)) != z3.unsat:
            return False
        self.goals.append(Goal(f"{self._about}: {name}", assertions))
        return True

    def _instances(self, products: Iterable[Product]) -> Iterator[z3.BoolRef]:
        """Lemmas for the products and for those that they bring in."""
        todo = list(products)
        seen: set[Product] = set()
        while todo:
            product = todo.pop()
            if not product[1:] or product in seen:
                continue
            seen.add(product)
            digits = self._digits_of(product)
            if len(digits) > 1:
                continue
            for name in digits or sorted(set(product)):
                rest = Sum({without(product, (name,)) or (): 1})
                todo += rest.parts
                tops = (ZERO, *map(self.normal, self._tops[name])) if digits else (ONE,)
                for top in tops:
                    todo += (top * rest).parts
                    yield multiples_are_ordered(Sum.of(name), top, rest)


def _equated(difference: Sum) -> Iterator[tuple[str, Product]]:
    """Unknowns that the equation with 0 says to be a product."""
    match sorted(difference.parts.items(), key=lambda part: (len(part[0]), part[0])):
        case [(first, one), (second, other)] if one == -other:
            for product, by in ((first, second), (second, first)):
                if len(product) == 1:
                    yield (product[0], by)
        case _:
            return
