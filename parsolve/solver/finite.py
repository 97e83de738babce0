"""The tree read as Z3, for one cluster: every field has finitely many values.

A term becomes the table of its possible values, each with the condition under which it has
that value; where it has none of them, it is undefined. Every operation is therefore done by
Python on constants, and Z3 sees only propositional logic: nothing is lost to nonlinear
arithmetic, and `//`, `%`, `max` mean exactly what they mean in a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any as Anything
from typing import TypeAlias, assert_never

import z3

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
from parsolve.constraints.simplify import arithmetic, related

Literal: TypeAlias = "z3.BoolRef | bool"
Table: TypeAlias = dict[int | str, Literal]
Verdict: TypeAlias = tuple[Literal, Literal]
"""When a formula is true, and when it is false; neither: it is undefined."""


def conjunction(parts: Iterable[Literal]) -> Literal:
    """All of the literals, constants folded."""
    kept: list[z3.BoolRef] = []
    for part in parts:
        if part is False:
            return False
        if part is not True:
            kept.append(part)
    return _joined(z3.Z3_mk_and, kept) if kept else True


def disjunction(parts: Iterable[Literal]) -> Literal:
    """One of the literals, constants folded."""
    kept: list[z3.BoolRef] = []
    for part in parts:
        if part is True:
            return True
        if part is not False:
            kept.append(part)
    return _joined(z3.Z3_mk_or, kept) if kept else False


def _joined(make: Callable[..., Anything], parts: Sequence[z3.BoolRef]) -> z3.BoolRef:
    """The junction of one or more literals.

    ``z3.And`` and ``z3.Or`` examine every argument again, which takes most of the time that
    building a problem takes; these literals are known to be Booleans of one context.
    """
    if len(parts) == 1:
        return parts[0]
    context = z3.main_ctx()
    arguments = (z3.Ast * len(parts))(*(part.as_ast() for part in parts))
    return z3.BoolRef(make(context.ref(), len(parts), arguments), context)


def negation(literal: Literal) -> Literal:
    """Not the literal."""
    return not literal if isinstance(literal, bool) else z3.Not(literal)


class FiniteEncoder:
    """Encodes trees over knobs with finite domains.

    ``domains`` maps each free knob to its values. Other fields must have been folded away
    (`simplify`). ``tick`` is called again and again during long work, and may raise.
    ``axioms`` say that each knob has exactly one of its values.
    """

    def __init__(
        self, domains: Mapping[str, Sequence[Anything]], tick: Callable[[], None] = lambda: None
    ) -> None:
        self._tick = tick
        self._selectors: dict[str, dict[Anything, Literal]] = {}
        self.axioms: list[Literal] = []
        self._terms: dict[int, Table] = {}
        self._formulas: dict[int, Verdict] = {}
        self._kept: list[object] = []
        for name, values in domains.items():
            self._selectors[name] = self._selector(name, values)

    def _selector(self, name: str, values: Sequence[Anything]) -> dict[Anything, Literal]:
        if len(values) == 1:
            return {values[0]: True}
        if set(values) == {False, True} and all(isinstance(value, bool) for value in values):
            switch = z3.Bool(name)
            return {True: switch, False: z3.Not(switch)}
        literals: dict[Anything, Literal] = {value: z3.Bool(f"{name}={value}") for value in values}
        self.axioms.append(z3.PbEq([(literal, 1) for literal in literals.values()], 1))
        return literals

    def chosen(self, name: str, value: object) -> Literal:
        """The knob has this value."""
        return self._selectors[name].get(value, False)

    def values(self, name: str) -> Mapping[Anything, Literal]:
        """The knob's values, each with its literal."""
        return self._selectors[name]

    def term(self, term: Term) -> Table:
        """The term's values and the conditions under which it has them."""
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

    def _term(self, term: Term) -> Table:
        match term:
            case Const(value):
                return {value: True}
            case Variable(name):
                unset = getattr(term, "unset", 0)
                return self._table(
                    (unset if value is None else value, literal)
                    for value, literal in self._selectors[name].items()
                )
            case Feature(name, feature):
                message = f"{feature} of {name} must be known before encoding"
                raise ValueError(message)
            case Arith(("//" | "%") as operation, left, right):
                return self._combined(
                    left, right, lambda a, b: arithmetic(operation, a, b) if b > 0 else None
                )
            case Arith(operation, left, right):
                return self._combined(left, right, lambda a, b: arithmetic(operation, a, b))
            case Quotient(left, right):
                return self._combined(
                    left, right, lambda a, b: a // b if b > 0 and a % b == 0 else None
                )
            case If(condition, then, other):
                yes, no = self.formula(condition)
                return self._table(
                    (value, conjunction((guard, literal)))
                    for guard, branch in ((yes, then), (no, other))
                    if guard is not False
                    for value, literal in self.term(branch).items()
                )
            case Named(_, inner):
                return self.term(inner)
            case _:
                assert_never(term)

    def _combined(
        self, left: Term, right: Term, operation: Callable[[Anything, Anything], int | None]
    ) -> Table:
        def pairs() -> Iterator[tuple[int | str, Literal]]:
            rights = self.term(right)
            for a, first in self.term(left).items():
                self._tick()
                for b, second in rights.items():
                    value = operation(a, b)
                    if value is not None:
                        yield value, conjunction((first, second))

        return self._table(pairs())

    def _formula(self, formula: Formula) -> Verdict:
        match formula:
            case Truth(value):
                return (value, not value)
            case BoolVariable(name):
                selectors = self._selectors[name]
                return (selectors.get(True, False), selectors.get(False, False))
            case Compare(relation, left, right):
                return self._related(left, right, lambda a, b: related(relation, a, b))
            case Divides(divisor, dividend):
                return self._related(divisor, dividend, lambda a, b: a > 0 and b % a == 0)
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

    def _related(
        self, left: Term, right: Term, holds: Callable[[Anything, Anything], bool]
    ) -> Verdict:
        """Group by the side with fewer values, so that shared tables stay small."""
        true: list[Literal] = []
        false: list[Literal] = []
        rights = self.term(right)
        for a, first in self.term(left).items():
            self._tick()
            yes = disjunction(second for b, second in rights.items() if holds(a, b))
            no = disjunction(second for b, second in rights.items() if not holds(a, b))
            true.append(conjunction((first, yes)))
            false.append(conjunction((first, no)))
        return (disjunction(true), disjunction(false))

    def _junction(self, parts: Sequence[Formula]) -> Verdict:
        """A conjunction, settled from left to right by the first part that is false."""
        so_far: Literal = True
        false: list[Literal] = []
        for part in parts:
            yes, no = self.formula(part)
            false.append(conjunction((so_far, no)))
            so_far = conjunction((so_far, yes))
            if so_far is False:
                break
        return (so_far, disjunction(false))

    def _table(self, pairs: Iterable[tuple[int | str, Literal]]) -> Table:
        grouped: dict[int | str, list[Literal]] = {}
        for value, literal in pairs:
            if literal is not False:
                grouped.setdefault(value, []).append(literal)
        table: Table = {}
        for value in list(grouped):
            self._tick()
            table[value] = disjunction(grouped.pop(value))  # giving back millions takes time too
        return table
