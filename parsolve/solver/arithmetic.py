"""Products and quotients of unknown integers, as functions that laws speak about.

``b % a`` with a variable divisor defeats nonlinear solvers, and so does a product beside
enough other formulas. So product, quotient and remainder are functions of which a solver knows
only that equal arguments give equal results, and as much more as a proof asks for:

* ``laws``: a remainder is smaller than its divisor, divisibility is transitive, factors divide
  their product, and the like, for the terms that occur. `LAWS` has them all; `laws_hold` has
  Z3 prove each for all integers from the definitions.
* ``definitions``: what products, quotients and remainders are. Division is Python's: for a
  divisor a != 0, ``b = a*q + r`` where r lies between 0 and a, a excluded.

What is unsatisfiable without some of these is so with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Literal, TypeAlias

import z3

from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import SeparateSolver, decide

Pair: TypeAlias = "tuple[z3.ArithRef, z3.ArithRef]"
Status: TypeAlias = Literal["proved", "refuted", "undecided"]

_INT = z3.IntSort()
PRODUCT = z3.Function("product", _INT, _INT, _INT)
QUOTIENT = z3.Function("quotient", _INT, _INT, _INT)
REMAINDER = z3.Function("remainder", _INT, _INT, _INT)

LONGEST = 10.0
"""Seconds that the proof of one law may take where the question has no limit."""


def in_order(factor: z3.ArithRef) -> tuple[int, int]:
    """Where a factor stands: by its hash, whatever other terms the process has made before."""
    return factor.hash(), factor.get_id()


class Arithmetic:
    """Multiplies and divides, and remembers what was multiplied and divided."""

    def __init__(self) -> None:
        self.products: dict[tuple[int, int], Pair] = {}
        self.divisions: dict[tuple[int, int], Pair] = {}
        self._exact: dict[tuple[int, int], z3.BoolRef] = {}
        self._stated: dict[tuple[str | int, ...], z3.BoolRef] = {}

    def product(self, left: z3.ArithRef, right: z3.ArithRef) -> z3.ArithRef:
        """The product. The order of factors does not matter, and constants stay linear.

        It is the term of the factors `in_order`; equal factors that are not the same term may
        come the other way round, for which there is a law.
        """
        if z3.is_int_value(left) or z3.is_int_value(right):
            return left * right
        for factor, other in ((left, right), (right, left)):
            if z3.is_app_of(factor, z3.Z3_OP_ITE):
                condition, then, otherwise = factor.children()
                if z3.is_int_value(then) or z3.is_int_value(otherwise):
                    first, second = self.product(then, other), self.product(otherwise, other)
                    return z3.If(condition, first, second)
        left, right = sorted((left, right), key=in_order)
        self.products[left.get_id(), right.get_id()] = (left, right)
        return PRODUCT(left, right)

    def divided(self, left: z3.ArithRef, right: z3.ArithRef) -> Pair:
        """Quotient and remainder of ``left`` by ``right``, which must not be 0."""
        if z3.is_int_value(right) and right.as_long() > 0:
            return left / right, left % right
        self.divisions[left.get_id(), right.get_id()] = (left, right)
        return QUOTIENT(left, right), REMAINDER(left, right)

    def exact(self, divisor: z3.ArithRef, dividend: z3.ArithRef) -> z3.BoolRef:
        """``divisor`` is at least 1 and divides ``dividend``."""
        pair = (divisor.get_id(), dividend.get_id())
        if pair not in self._exact:
            self._exact[pair] = z3.And(divisor >= 1, self.divided(dividend, divisor)[1] == 0)
        return self._exact[pair]

    def laws(self, *, chained: bool = False, among: Sequence[Law] = ()) -> list[z3.BoolRef]:
        """Instances of `LAWS`, or of some, for what was multiplied and divided so far.

        With ``chained``, also for quotients, factors, and chains of divisions through them.
        """
        divisions, products = list(self.divisions.values()), list(self.products.values())
        nested = [
            (*right.children(), left)
            for left, right in divisions
            if z3.is_app(right) and right.decl() == QUOTIENT
        ]
        repeated = [
            (*left.children(), right)
            for left, right in divisions
            if z3.is_app(left) and left.decl() == QUOTIENT
        ]
        occurring = {
            "division": divisions,
            "product": products,
            "nested": nested,
            "repeated": repeated,
            "chain": [],
        }
        found: list[z3.BoolRef] = []
        for law in among or LAWS:
            if law.near or chained:
                found += [self._instance(law, *terms) for terms in occurring[law.about]]
        spoken = [(divisor, dividend) for dividend, divisor in divisions]
        if chained:
            spoken += [(leaf, dividend) for by, dividend in spoken for leaf in _leaves(by)]
            spoken += [(QUOTIENT(*pair), pair[0]) for pair in divisions]
            spoken += [(factor, PRODUCT(*pair)) for pair in products for factor in pair]
        return found + [self._instance(CHAINS, *terms) for terms in _chains(spoken, closed=chained)]

    def _instance(self, law: Law, *terms: z3.ArithRef) -> z3.BoolRef:
        """What a law says of these terms, which is asked of every proof again: made once."""
        key = (law.name, *(term.get_id() for term in terms))
        if key not in self._stated:
            self._stated[key] = law.states(self._spoken_by_laws, *terms)
        return self._stated[key]

    @cached_property
    def _spoken_by_laws(self) -> Arithmetic:
        """What laws multiply and divide, of which no laws are asked."""
        return Arithmetic()

    def definitions(self) -> list[z3.BoolRef]:
        """What product, quotient and remainder are, for what was multiplied and divided."""
        found = [PRODUCT(a, b) == a * b for a, b in self.products.values()]
        for left, right in self.divisions.values():
            found += _divides_with(left, right, QUOTIENT(left, right), REMAINDER(left, right))
        return found


def _leaves(term: z3.ArithRef) -> list[z3.ArithRef]:
    """What a conditional term can be, if it is one, and what its branches can be."""
    if not z3.is_app_of(term, z3.Z3_OP_ITE):
        return []
    _, then, otherwise = term.children()
    return [leaf for side in (then, otherwise) for leaf in (side, *_leaves(side))]


def _chains(
    spoken: Iterable[Pair], *, closed: bool
) -> Iterator[tuple[z3.ArithRef, z3.ArithRef, z3.ArithRef]]:
    """Where transitivity speaks: of three divisions spoken of, or that follow if ``closed``."""
    terms = list({term.get_id(): term for pair in spoken for term in pair}.values())
    places = {term.get_id(): place for place, term in enumerate(terms)}
    pairs = {(places[a.get_id()], places[b.get_id()]) for a, b in spoken}
    while closed and (grown := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs):
        pairs |= grown
    after: dict[int, list[int]] = {}
    for a, b in sorted(pairs):
        after.setdefault(a, []).append(b)
    for a, b in sorted(pairs):
        for c in after.get(b, ()):
            if a != b != c and a != c:
                yield terms[a], terms[b], terms[c]


@dataclass(frozen=True, slots=True)
class Law:
    """A statement about all integers.

    ``about`` is what it is instantiated for: a "division" (dividend, divisor), a "product"
    (two factors), a "chain" of divisions (three integers), a division "nested" in the divisor
    of another (its dividend and divisor, and the other's dividend), or a "repeated" one, whose
    quotient is divided again (its dividend and divisor, and the other's divisor). A ``near`` law
    speaks of nothing that was not spoken of before.
    """

    name: str
    about: Literal["division", "product", "chain", "nested", "repeated"]
    states: Callable[..., z3.BoolRef]
    near: bool = True

    @property
    def integers(self) -> int:
        """How many integers it speaks of."""
        return 3 if self.about in {"chain", "nested", "repeated"} else 2


def remainder_is_smaller(within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """A remainder lies between 0 and the divisor."""
    _, remainder = within.divided(a, b)
    return z3.And(
        z3.Implies(b >= 1, z3.And(remainder >= 0, remainder < b)),
        z3.Implies(b <= -1, z3.And(remainder <= 0, remainder > b)),
    )


def quotient_is_smaller(within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """The quotient of integers that are not negative lies between 0 and the dividend.

    It is the dividend only where one divides, or where that is 0.
    """
    quotient, _ = within.divided(a, b)
    return z3.And(
        z3.Implies(z3.And(a >= 0, b >= 1), z3.And(quotient >= 0, quotient <= a)),
        z3.Implies(z3.And(a >= 1, b > 1), quotient < a),
    )


def smaller_is_its_own_remainder(within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """What is smaller than the divisor is left over whole; what is not goes in at least once."""
    quotient, remainder = within.divided(a, b)
    return z3.And(
        z3.Implies(z3.And(a >= 0, a < b), z3.And(quotient == 0, remainder == a)),
        z3.Implies(z3.And(b >= 1, a >= b), quotient >= 1),
    )


def one_divides(within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """Dividing by one changes nothing, and what goes into something once without rest is that."""
    quotient, remainder = within.divided(a, b)
    return z3.And(
        z3.Implies(b == 1, z3.And(quotient == a, remainder == 0)),
        z3.Implies(z3.And(a == b, b >= 1), z3.And(quotient == 1, remainder == 0)),
        z3.Implies(z3.And(b >= 1, quotient == 1, remainder == 0), a == b),
    )


def quotient_divides(within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """The exact quotient of a positive integer divides it, as often as the divisor says."""
    quotient, _ = within.divided(a, b)
    undone, _ = within.divided(a, quotient)
    divides = z3.And(within.exact(quotient, a), quotient >= 1, quotient <= a, undone == b)
    return z3.Implies(z3.And(within.exact(b, a), a >= 1), divides)


def exact_quotient_multiplies_back(
    within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef
) -> z3.BoolRef:
    """An exact quotient times the divisor is the dividend, whichever factor comes first."""
    quotient, _ = within.divided(a, b)
    back = z3.And(PRODUCT(quotient, b) == a, PRODUCT(b, quotient) == a)
    return z3.Implies(within.exact(b, a), back)


def order_of_factors_is_free(_: Arithmetic, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """Two factors have one product, whichever comes first: equal ones may come either way."""
    return PRODUCT(a, b) == PRODUCT(b, a)


def one_is_neutral(within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """Multiplying by one changes nothing, and by zero leaves nothing."""
    product = within.product(a, b)
    return z3.And(
        z3.Implies(a == 1, product == b),
        z3.Implies(b == 1, product == a),
        z3.Implies(z3.Or(a == 0, b == 0), product == 0),
    )


def product_is_larger(within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """The product of positive integers is no smaller than either, and larger where both are."""
    product = within.product(a, b)
    return z3.And(
        z3.Implies(z3.And(a >= 1, b >= 1), z3.And(product >= a, product >= b)),
        z3.Implies(z3.And(a > 1, b >= 1), product > b),
        z3.Implies(z3.And(a >= 1, b > 1), product > a),
    )


def factors_divide(within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """Positive factors divide their product."""
    product = within.product(a, b)
    divide = z3.And(within.exact(a, product), within.exact(b, product))
    return z3.Implies(z3.And(a >= 1, b >= 1), divide)


def division_is_transitive(
    within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef, c: z3.ArithRef
) -> z3.BoolRef:
    """A divisor of a divisor is a divisor."""
    return z3.Implies(z3.And(within.exact(a, b), within.exact(b, c)), within.exact(a, c))


def common_factor_cancels(
    within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef, c: z3.ArithRef
) -> z3.BoolRef:
    """For k = a/b and m = c/k, both exact: m divides b only where c divides a."""
    common, _ = within.divided(a, b)
    rest, _ = within.divided(c, common)
    known = (a >= 1, c >= 1, within.exact(b, a), within.exact(common, c), within.exact(rest, b))
    return z3.Implies(z3.And(known), within.exact(c, a))


def common_factor_extends(
    within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef, c: z3.ArithRef
) -> z3.BoolRef:
    """For k = a/b and m = c/k, both exact: b = m * (a/c) where c divides a."""
    common, _ = within.divided(a, b)
    rest, _ = within.divided(c, common)
    known = (a >= 1, c >= 1, within.exact(b, a), within.exact(common, c), within.exact(c, a))
    often, _ = within.divided(a, c)
    extends = z3.Implies(z3.And(known), b == within.product(rest, often))
    return z3.And(extends, factors_divide(within, rest, often))


def order_of_divisors_is_free(
    within: Arithmetic, a: z3.ArithRef, b: z3.ArithRef, c: z3.ArithRef
) -> z3.BoolRef:
    """What b and then c divide, c divides too, and a/c is a/b/c times b."""
    quotient, _ = within.divided(a, b)
    twice, _ = within.divided(quotient, c)
    other, _ = within.divided(a, c)
    known = z3.And(within.exact(b, a), within.exact(c, quotient))
    back = (PRODUCT(twice, b) == other, PRODUCT(b, twice) == other)
    return z3.Implies(known, z3.And(within.exact(c, a), *back))


CHAINS = Law("division is transitive", "chain", division_is_transitive)
LAWS = (
    Law("a remainder is smaller than its divisor", "division", remainder_is_smaller),
    Law("a quotient is no larger than the dividend", "division", quotient_is_smaller),
    Law("what is smaller is left over", "division", smaller_is_its_own_remainder),
    Law("one divides all", "division", one_divides),
    Law("an exact quotient divides", "division", quotient_divides, near=False),
    Law(
        "an exact quotient multiplies back", "division", exact_quotient_multiplies_back, near=False
    ),
    Law("the order of factors is free", "product", order_of_factors_is_free),
    Law("one is neutral", "product", one_is_neutral),
    Law("a product is no smaller than its factors", "product", product_is_larger),
    Law("factors divide the product", "product", factors_divide, near=False),
    Law("a common factor cancels", "nested", common_factor_cancels, near=False),
    Law("a common factor extends", "nested", common_factor_extends, near=False),
    Law("the order of divisors is free", "repeated", order_of_divisors_is_free, near=False),
    CHAINS,
)
"""Every law that a proof may use."""


def negations(law: Law) -> Iterator[list[z3.BoolRef]]:
    """Definitions with the negation of each part of the law: all unsatisfiable where it holds.

    Plain nonlinear integer arithmetic, without functions: that is what solvers decide best.
    """
    statement = law.states(Arithmetic(), *z3.Ints(" ".join("abc"[: law.integers])))
    for part in statement.children() if z3.is_and(statement) else [statement]:
        formulas = [z3.Not(part)]
        while (applied := _innermost(z3.And(formulas))) is not None:
            left, right = applied.children()
            if applied.decl() == PRODUCT:
                plain = [(applied, left * right)]
            else:
                number = len(formulas)
                quotient, remainder = z3.Int(f"q{number}"), z3.Int(f"r{number}")
                plain = [(QUOTIENT(left, right), quotient), (REMAINDER(left, right), remainder)]
                formulas += _divides_with(left, right, quotient, remainder)
            formulas = [z3.substitute(formula, *plain) for formula in formulas]
        yield formulas


def _innermost(formula: z3.ExprRef) -> z3.ExprRef | None:
    """A product or a division in the formula whose operands have none."""
    for child in formula.children():
        found = _innermost(child)
        if found is not None:
            return found
    is_one = z3.is_app(formula) and formula.decl() in {PRODUCT, QUOTIENT, REMAINDER}
    return formula if is_one else None


def _divides_with(
    left: z3.ArithRef, right: z3.ArithRef, quotient: z3.ArithRef, remainder: z3.ArithRef
) -> list[z3.BoolRef]:
    """What quotient and remainder are, for a divisor that is not 0."""
    exact = left == right * quotient + remainder
    return [
        z3.Implies(right >= 1, z3.And(exact, remainder >= 0, remainder < right)),
        z3.Implies(right <= -1, z3.And(exact, remainder <= 0, remainder > right)),
    ]


_TELLING = (
    one_divides,
    quotient_divides,
    product_is_larger,
    factors_divide,
    division_is_transitive,
)
DIVISIBILITY = tuple(law for law in LAWS if law.states in _TELLING)
"""The laws that tell which sizes divide which: few, since every search waits for them."""


@cache
def laws_hold(seconds: float = LONGEST, among: tuple[Law, ...] = ()) -> Status:
    """Whether every law, or each of some, is valid for all integers."""
    for negation in chain.from_iterable(map(negations, among or LAWS)):
        solver = SeparateSolver()
        solver.add(*negation)
        result = decide(solver, Deadline(seconds))
        if result != z3.unsat:
            return "refuted" if result == z3.sat else "undecided"
    return "proved"
