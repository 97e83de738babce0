"""The tree read as Z3, for every cluster: fields are unbounded integers.

Divisions are those of `arithmetic`: ``a`` divides ``b`` exactly where the remainder is 0, and the
exact quotient is then the quotient. Labels become distinct integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from parsolve.solver.arithmetic import Arithmetic

Value: TypeAlias = "tuple[z3.ArithRef, z3.BoolRef]"
"""A term's value and the condition under which it is defined."""

Verdict: TypeAlias = "tuple[z3.BoolRef, z3.BoolRef]"
"""When a formula is true, and when it is false."""

TRUE = z3.BoolVal(val=True)
FALSE = z3.BoolVal(val=False)


class IntegerEncoder:
    """Encodes trees over unbounded integers.

    ``arithmetic`` collects what is multiplied and divided, ``labels`` numbers the labels; both
    may be shared with other formulas. ``given`` has what some fields stand for (by name, or
    ``name.feature``) where that is not the variable of their name: another configuration, say.
    """

    def __init__(
        self,
        arithmetic: Arithmetic | None = None,
        labels: dict[str, int] | None = None,
        given: Mapping[str, z3.ExprRef] | None = None,
    ) -> None:
        self.arithmetic = arithmetic or Arithmetic()
        self.labels = {} if labels is None else labels
        self.given = given or {}
        self._terms: dict[int, Value] = {}
        self._formulas: dict[int, Verdict] = {}
        self._kept: list[object] = []

    def label(self, text: str) -> int:
        """The number of a label."""
        return self.labels.setdefault(text, len(self.labels))

    def integer(self, name: str) -> z3.ArithRef:
        """What the field, or a list's feature, stands for."""
        return self.given[name] if name in self.given else z3.Int(name)

    def legal(self, field: Field) -> list[z3.BoolRef]:
        """That the field has a value that no rule about this field alone rejects."""
        variable = self.integer(field.name)
        if isinstance(field, Size):
            return [variable >= field.least]
        if isinstance(field, Choice) and not field.open:
            return [z3.Or([variable == self.label(label) for label in field.choices])]
        return []

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
                return (z3.IntVal(self.label(label)), TRUE)
            case Const(value):
                return (z3.IntVal(value), TRUE)
            case Variable(name):
                return (self.integer(name), TRUE)
            case Feature(name, feature):
                return (self.integer(f"{name}.{feature}"), TRUE)
            case Quotient(left, right):
                (a, first), (b, second) = self.term(left), self.term(right)
                quotient, remainder = self.arithmetic.divided(a, b)
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
                        return (self.arithmetic.product(a, b), defined)
                    case "max":
                        return (z3.If(a >= b, a, b), defined)
                    case "min":
                        return (z3.If(a <= b, a, b), defined)
                    case "//":
                        return (self.arithmetic.divided(a, b)[0], z3.And(defined, b >= 1))
                    case "%":
                        return (self.arithmetic.divided(a, b)[1], z3.And(defined, b >= 1))
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
                flag = self.given[name] if name in self.given else z3.Bool(name)
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
                _, remainder = self.arithmetic.divided(b, a)
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
