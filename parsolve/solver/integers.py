"""The tree read as Z3, for every cluster: fields are unbounded integers.

``b % a`` with a variable divisor defeats nonlinear solvers, so a division is replaced by its
Euclidean witnesses: integers q and r with ``b = a*q + r`` and ``0 <= r < a``, which exist and
are unique for every ``a >= 1``. Then ``a`` divides ``b`` exactly where r is 0, and the exact
quotient is q. Labels become distinct integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never

import z3

from parsolve.constraints.fields import Choice, Field, Size
from parsolve.constraints.formula import (
    All,
    Any,
    Arith,
    BoolVariable,
    Compare,
    Const,
    Divides,
    Feature,
    Formula,
    If,
    Named,
    NamedFormula,
    Not,
    Quotient,
    Term,
    Truth,
    Variable,
)

Value: TypeAlias = "tuple[z3.ArithRef, z3.BoolRef]"
"""A term's value and the condition under which it is defined."""

Verdict: TypeAlias = "tuple[z3.BoolRef, z3.BoolRef]"
"""When a formula is true, and when it is false."""

TRUE = z3.BoolVal(val=True)
FALSE = z3.BoolVal(val=False)


class IntegerEncoder:
    """Encodes trees over unbounded integers.

    ``axioms`` say that sizes are at least their minimum, that choices are one of their
    labels, and what each Euclidean witness is. They hold in every legal configuration.

    With ``abstract``, the defining equation of the witnesses is left out, which only admits
    more: what is unsatisfiable then is so in truth. `order_lemmas` puts back what proofs of
    divisibility need.
    """

    def __init__(self, fields: Sequence[Field], *, abstract: bool = False) -> None:
        self.axioms: list[z3.BoolRef] = []
        self.abstract = abstract
        self._fields = {field.name: field for field in fields}
        self._labels: dict[str, int] = {}
        self._variables: dict[str, z3.ArithRef] = {}
        self._witnesses: dict[tuple[int, int], tuple[z3.ArithRef, z3.ArithRef]] = {}
        self._terms: dict[int, Value] = {}
        self._formulas: dict[int, Verdict] = {}
        self._kept: list[object] = []

    def variable(self, name: str) -> z3.ArithRef:
        """The field's variable."""
        if name not in self._variables:
            variable = z3.Int(name)
            self._variables[name] = variable
            field = self._fields[name]
            if isinstance(field, Size):
                self.axioms.append(variable >= field.least)
            elif isinstance(field, Choice) and not field.open:
                labels = [self._label(label) for label in field.choices]
                self.axioms.append(z3.Or([variable == label for label in labels]))
        return self._variables[name]

    def _label(self, label: str) -> int:
        return self._labels.setdefault(label, len(self._labels))

    def divided(self, left: z3.ArithRef, right: z3.ArithRef) -> tuple[z3.ArithRef, z3.ArithRef]:
        """Quotient and remainder of ``left`` by ``right``, which must be at least 1."""
        key = (left.get_id(), right.get_id())
        if key not in self._witnesses:
            number = len(self._witnesses)
            quotient, remainder = z3.Int(f"q!{number}"), z3.Int(f"r!{number}")
            self._kept += [left, right]
            self._witnesses[key] = (quotient, remainder)
            bounds = [remainder >= 0, remainder < right]
            if not self.abstract:
                bounds.append(left == right * quotient + remainder)
            self.axioms.append(z3.Implies(right >= 1, z3.And(bounds)))
        return self._witnesses[key]

    def exact(self, divisor: z3.ArithRef, dividend: z3.ArithRef) -> z3.BoolRef:
        """``divisor`` is at least 1 and divides ``dividend``."""
        return z3.And(divisor >= 1, self.divided(dividend, divisor)[1] == 0)

    def order_lemmas(self, terms: Sequence[Term]) -> list[z3.BoolRef]:
        """Instances of `LAWS` for the given terms and their parts.

        Only chains of divisions that the encoded formulas or the laws speak of are instantiated.
        """
        values = {value.get_id(): value for value in (self.term(term)[0] for term in terms)}
        lemmas: list[z3.BoolRef] = []
        for term in terms:
            inner = term
            while isinstance(inner, Named):
                inner = inner.term
            match inner:
                case Arith("*", left, right):
                    lemmas.append(factors_divide(self, self.term(left)[0], self.term(right)[0]))
                case Quotient(left, right):
                    lemmas.append(quotients_divide(self, self.term(left)[0], self.term(right)[0]))
                case _:
                    pass
        spoken = {(a, b) for b, a in self._witnesses if a in values and b in values}
        while grown := {(a, d) for a, b in spoken for c, d in spoken if b == c} - spoken:
            spoken |= grown
        for a, b in sorted(spoken):
            lemmas.append(one_divides(self, values[a], values[b]))
            lemmas += [
                division_is_transitive(self, values[a], values[b], values[c])
                for c in values
                if (b, c) in spoken and (a, c) in spoken and a != b != c
            ]
        return lemmas

    def term(self, term: Term) -> Value:
        """The term's value and when it is defined."""
        if id(term) not in self._terms:
            self._kept.append(term)
            self._terms[id(term)] = self._term(term)
        return self._terms[id(term)]

    def formula(self, formula: Formula) -> Verdict:
        """When the formula is true and when it is false."""
        if id(formula) not in self._formulas:
            self._kept.append(formula)
            self._formulas[id(formula)] = self._formula(formula)
        return self._formulas[id(formula)]

    def _term(self, term: Term) -> Value:
        match term:
            case Const(str() as label):
                return (z3.IntVal(self._label(label)), TRUE)
            case Const(value):
                return (z3.IntVal(value), TRUE)
            case Variable(name):
                return (self.variable(name), TRUE)
            case Feature(name, feature):
                return (z3.Int(f"{name}.{feature}"), TRUE)
            case Quotient(left, right):
                (a, first), (b, second) = self.term(left), self.term(right)
                quotient, remainder = self.divided(a, b)
                return (quotient, z3.And(first, second, b >= 1, remainder == 0))
            case Arith(operation, left, right):
                (a, first), (b, second) = self.term(left), self.term(right)
                defined = z3.And(first, second)
                match operation:
                    case "+":
                        return (a + b, defined)
                    case "-":
                        return (a - b, defined)
                    case "*":
                        return (a * b, defined)
                    case "max":
                        return (z3.If(a >= b, a, b), defined)
                    case "min":
                        return (z3.If(a <= b, a, b), defined)
                    case "//":
                        return (self.divided(a, b)[0], z3.And(defined, b >= 1))
                    case "%":
                        return (self.divided(a, b)[1], z3.And(defined, b >= 1))
                    case _:
                        assert_never(operation)
            case If(condition, then, other):
                yes, no = self.formula(condition)
                (a, first), (b, second) = self.term(then), self.term(other)
                return (z3.If(yes, a, b), z3.Or(z3.And(yes, first), z3.And(no, second)))
            case Named(_, inner):
                return self.term(inner)
            case _:
                assert_never(term)

    def _formula(self, formula: Formula) -> Verdict:
        match formula:
            case Truth(value):
                return (z3.BoolVal(value), z3.BoolVal(not value))
            case BoolVariable(name):
                flag = z3.Bool(name)
                return (flag, z3.Not(flag))
            case Compare(relation, left, right):
                (a, first), (b, second) = self.term(left), self.term(right)
                match relation:
                    case "==":
                        holds = a == b
                    case "!=":
                        holds = a != b
                    case "<":
                        holds = a < b
                    case "<=":
                        holds = a <= b
                    case ">":
                        holds = a > b
                    case ">=":
                        holds = a >= b
                    case _:
                        assert_never(relation)
                return (z3.And(first, second, holds), z3.And(first, second, z3.Not(holds)))
            case Divides(divisor, dividend):
                (a, first), (b, second) = self.term(divisor), self.term(dividend)
                _, remainder = self.divided(b, a)
                exact = z3.And(a >= 1, remainder == 0)
                return (z3.And(first, second, exact), z3.And(first, second, z3.Not(exact)))
            case Not(part):
                yes, no = self.formula(part)
                return (no, yes)
            case All(parts):
                return self._junction(parts)
            case Any(parts):
                no, yes = self._junction(tuple(Not(part) for part in parts))
                return (yes, no)
            case NamedFormula(_, inner):
                return self.formula(inner)
            case _:
                assert_never(formula)

    def _junction(self, parts: Sequence[Formula]) -> Verdict:
        so_far: z3.BoolRef = TRUE
        false: list[z3.BoolRef] = []
        for part in parts:
            yes, no = self.formula(part)
            false.append(z3.And(so_far, no))
            so_far = z3.And(so_far, yes)
        return (so_far, z3.Or(false) if false else FALSE)


def one_divides(encoder: IntegerEncoder, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """One divides every integer."""
    return z3.Implies(a == 1, encoder.exact(a, b))


def division_is_transitive(
    encoder: IntegerEncoder, a: z3.ArithRef, b: z3.ArithRef, c: z3.ArithRef
) -> z3.BoolRef:
    """A divisor of a divisor is a divisor."""
    return z3.Implies(z3.And(encoder.exact(a, b), encoder.exact(b, c)), encoder.exact(a, c))


def factors_divide(encoder: IntegerEncoder, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """Positive factors divide their product and are no larger."""
    product = a * b
    divide = z3.And(encoder.exact(a, product), encoder.exact(b, product))
    return z3.Implies(z3.And(a >= 1, b >= 1), z3.And(divide, product >= a, product >= b))


def quotients_divide(encoder: IntegerEncoder, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """The exact quotient of a positive integer divides it and is no larger."""
    quotient, _ = encoder.divided(a, b)
    divides = z3.And(encoder.exact(quotient, a), quotient >= 1, quotient <= a)
    return z3.Implies(z3.And(encoder.exact(b, a), a >= 1), divides)


LAWS: dict[str, tuple[Callable[..., z3.BoolRef], int]] = {
    "one divides all": (one_divides, 2),
    "division is transitive": (division_is_transitive, 3),
    "factors divide the product": (factors_divide, 2),
    "an exact quotient divides": (quotients_divide, 2),
}
"""The laws of divisibility that `IntegerEncoder.order_lemmas` instantiates, with how many integers
each is about. `claims` has Z3 prove every one of them for all integers."""
