"""The tree read in part: what is left of it once some fields are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from parsolve.constraints.formula import (
    UNDEFINED,
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
    Operation,
    Quotient,
    Relation,
    Term,
    Truth,
    Variable,
    largest,
    least,
)


class Undefined(Exception):  # noqa: N818  (a state of a formula, not an error of anybody's)
    """The known fields alone already make the tree undefined."""


def arithmetic(operation: Operation, left: int, right: int) -> int:
    """The operation on two integers, as Python does it."""
    match operation:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//":
            return left // right
        case "%":
            return left % right
        case "max":
            return max(left, right)
        case "min":
            return min(left, right)


def related(relation: Relation, left: int | str, right: int | str) -> bool:
    """Whether two constants are so related. Labels are only ever compared for equality."""
    match relation:
        case "==":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right  # type: ignore[operator]
        case "<=":
            return left <= right  # type: ignore[operator]
        case ">":
            return left > right  # type: ignore[operator]
        case ">=":
            return left >= right  # type: ignore[operator]


class Simplifier:
    """Rewrites trees under known field values; shared subtrees stay shared.

    ``known`` maps a field's name, or ``"name.feature"`` for a list's feature, to its value
    as formulas read it. Raises `Undefined` where a tree is undefined whatever the rest is.
    """

    def __init__(self, known: Mapping[str, int | str | bool]) -> None:
        self._known = known
        self._terms: dict[int, Term | None] = {}
        self._formulas: dict[int, Formula | None] = {}
        self._kept: list[object] = []

    def term(self, term: Term) -> Term:
        """The term with known fields folded in."""
        if id(term) not in self._terms:
            self._kept.append(term)
            try:
                self._terms[id(term)] = self._term(term)
            except Undefined:
                self._terms[id(term)] = None
        result = self._terms[id(term)]
        if result is None:
            raise Undefined
        return result

    def formula(self, formula: Formula) -> Formula:
        """The formula with known fields folded in."""
        if id(formula) not in self._formulas:
            self._kept.append(formula)
            try:
                self._formulas[id(formula)] = self._formula(formula)
            except Undefined:
                self._formulas[id(formula)] = None
        result = self._formulas[id(formula)]
        if result is None:
            raise Undefined
        return result

    def _term(self, term: Term) -> Term:
        match term:
            case Const():
                return term
            case Variable(name):
                return Const(self._known[name]) if name in self._known else term
            case Feature(name, feature):
                key = f"{name}.{feature}"
                return Const(self._known[key]) if key in self._known else term
            case Arith(operation, left, right):
                low, high = self.term(left), self.term(right)
                if isinstance(low, Const) and isinstance(high, Const):
                    a, b = _number(low), _number(high)
                    if operation in {"//", "%"} and b <= 0:
                        raise Undefined
                    return Const(arithmetic(operation, a, b))
                if operation in {"//", "%"}:
                    return _guarded(high, lambda by: Arith(operation, low, by))
                return Arith(operation, low, high)
            case Quotient(left, right):
                low, high = self.term(left), self.term(right)
                if isinstance(low, Const) and isinstance(high, Const):
                    a, b = _number(low), _number(high)
                    if b <= 0 or a % b:
                        raise Undefined
                    return Const(a // b)
                if isinstance(high, Const) and high.value == 1:
                    return low
                return _guarded(high, lambda by: Quotient(low, by))
            case If(condition, then, other):
                decided = self.formula(condition)
                if isinstance(decided, Truth):
                    return self.term(then if decided.value else other)
                return If(decided, self._branch(then), self._branch(other))
            case Named(name, inner):
                result = self.term(inner)
                return result if isinstance(result, Const) else Named(name, result, term.about)
            case _:
                assert_never(term)

    def _branch(self, term: Term) -> Term:
        """The term; where it is undefined, a term that always is (only one branch is read)."""
        try:
            return self.term(term)
        except Undefined:
            return UNDEFINED

    def _formula(self, formula: Formula) -> Formula:
        match formula:
            case Truth():
                return formula
            case BoolVariable(name):
                return Truth(bool(self._known[name])) if name in self._known else formula
            case Compare(relation, left, right):
                low, high = self.term(left), self.term(right)
                if isinstance(low, Const) and isinstance(high, Const):
                    return Truth(related(relation, low.value, high.value))
                return Compare(relation, low, high)
            case Divides(divisor, dividend):
                by, of = self.term(divisor), self.term(dividend)
                if isinstance(by, Const) and (isinstance(of, Const) or not _partial(of)):
                    if _number(by) <= 0:
                        return Truth(value=False)
                    if isinstance(of, Const):
                        return Truth(_number(of) % _number(by) == 0)
                    if by.value == 1:
                        return Truth(value=True)
                if least(by) >= 1:
                    return Divides(by, of)
                return All((Divides(largest(1, by), of), by >= 1))
            case Not(part):
                inner = self.formula(part)
                return Truth(not inner.value) if isinstance(inner, Truth) else ~inner
            case All(parts):
                return self._junction(parts, settles=False)
            case Any(parts):
                return self._junction(parts, settles=True)
            case NamedFormula(name, inner):
                result = self.formula(inner)
                return result if isinstance(result, Truth) else NamedFormula(name, result)
            case _:
                assert_never(formula)

    def _junction(self, parts: tuple[Formula, ...], *, settles: bool) -> Formula:
        """A conjunction (settled by false) or a disjunction (settled by true)."""
        kept: list[Formula] = []
        for part in parts:
            try:
                inner = self.formula(part)
            except Undefined:
                if not kept:
                    raise
                inner = Compare("==", UNDEFINED, Const(0))
            if not isinstance(inner, Truth):
                kept.append(inner)
            elif inner.value == settles:
                if not any(_partial(earlier) for earlier in kept):
                    return Truth(settles)
                kept.append(inner)
                break
        if not kept:
            return Truth(not settles)
        if len(kept) == 1:
            return kept[0]
        return Any(tuple(kept)) if settles else All(tuple(kept))


def _guarded(divisor: Term, divided: Callable[[Term], Term]) -> Term:
    """The division, undefined where the divisor is below 1.

    Known values may be illegal (a size of 0 that a rule reports), and then so may a divisor.
    """
    if least(divisor) >= 1:
        return divided(divisor)
    if isinstance(divisor, Const):
        raise Undefined
    return If(divisor >= 1, divided(largest(1, divisor)), UNDEFINED)


def _number(constant: Const) -> int:
    if isinstance(constant.value, str):
        message = f"labels are never calculated with: {constant.value}"
        raise TypeError(message)
    return constant.value


def _partial(node: Term | Formula) -> bool:
    from parsolve.constraints.evaluate import DEFINED, defined_source  # noqa: PLC0415

    return defined_source(node) != DEFINED
