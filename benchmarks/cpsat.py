# ruff: noqa: ANN401  (the modelling library wants expressions, variables and integers alike)
"""A query of parsolve as a model of OR-Tools CP-SAT: the same folded formulas, node by node.

CP-SAT's integers have 64 bits. A term that reads one knob alone becomes a table of its values
(`add_allowed_assignments`), as a modeller would write it; any other operation becomes its
constraint. What may be undefined carries the literal under which it is defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any as Anything
from typing import assert_never

from ortools.sat.python import cp_model

from parsolve.constraints.evaluate import compiled, defined_source, derived_lines, term_source
from parsolve.constraints.formula import (
    NEGATED,
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
    fields_of,
    named_in,
)
from parsolve.constraints.simplify import arithmetic
from parsolve.solver.certify import consistent_domains
from parsolve.solver.query import Query
from parsolve.solver.search import residue

LARGEST = 2**62
LONGEST_TABLE = 1_000

Value = tuple[Anything, int, int, Anything]
"""An expression, its least and greatest value, and the literal under which it is defined."""


class Optimum:
    """The largest (or least) value of the query's first objective at one world."""

    def __init__(self, query: Query, world: int) -> None:
        self.query = query
        objective = query.objectives[0]
        left = residue(query, world, (objective.term,))
        self.model: Anything = cp_model.CpModel()
        self.true = self.model.new_constant(1)
        self.labels: dict[str, int] = {}
        self.domains = consistent_domains(query, left, world)
        self.knobs = {name: self._knob(name) for name in query.free}
        self._terms: dict[int, Value] = {}
        self._formulas: dict[int, tuple[Anything, Anything]] = {}
        self._kept: list[object] = []
        for _, when, requires in left.rules:
            applies, _ = self.formula(when)
            _, fails = self.formula(requires)
            self.model.add_bool_or([applies.negated(), fails.negated()])
        for need in left.needs:
            self.model.add_bool_or([self.formula(need)[0]])
        term = left.terms[0]
        assert term is not None
        goal, _, _, defined = self.term(term)
        self.model.add_bool_or([defined])
        (self.model.maximize if objective.maximize else self.model.minimize)(goal)
        self.goal = goal

    def solve(self) -> int | None:
        """The proved optimum; None where nothing is valid."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 2
        status = solver.solve(self.model)
        if status == cp_model.INFEASIBLE:
            return None
        if status != cp_model.OPTIMAL:
            message = f"CP-SAT proves nothing: {solver.status_name(status)} {self.model.validate()}"
            raise RuntimeError(message)
        return int(solver.value(self.goal))

    def _code(self, value: Anything) -> int:
        if isinstance(value, str):
            return self.labels.setdefault(value, len(self.labels))
        return int(value)

    def _knob(self, name: str) -> Anything:
        codes = [self._code(value or 0) for value in self.domains[name]]
        return self.model.new_int_var_from_domain(cp_model.Domain.from_values(codes), name)

    def _new(self, least: int, greatest: int) -> Anything:
        if max(abs(least), abs(greatest)) > LARGEST:
            message = "beyond 64 bits"
            raise OverflowError(message)
        return self.model.new_int_var(least, greatest, "")

    def _both(self, *literals: Anything) -> Anything:
        wanted = [literal for literal in literals if literal is not self.true]
        if len(wanted) <= 1:
            return wanted[0] if wanted else self.true
        both = self.model.new_bool_var("")
        self.model.add_bool_and(wanted).only_enforce_if(both)
        self.model.add_bool_or([literal.negated() for literal in wanted] + [both])
        return both

    def term(self, term: Term) -> Value:
        if id(term) not in self._terms:
            self._kept.append(term)
            read = fields_of(term)
            table = len(read) == 1 and not isinstance(term, (Variable, Const))
            self._terms[id(term)] = self._table(term, min(read)) if table else self._term(term)
        return self._terms[id(term)]

    def _table(self, term: Term, name: str) -> Value:
        """A term of one knob: its value for each of the knob's."""
        values = self.domains[name]
        lines = [f"{name} = values", *derived_lines(named_in(term))]
        defined = defined_source(term)
        known = compiled("known", [*lines, f"return bool({defined})"])
        read = compiled("read", [*lines, f"return {term_source(term)} if {defined} else 0"])
        rows = [(self._code(value or 0), value) for value in values]
        results = [self._code(read(value)) for _, value in rows]
        result = self._new(min(results), max(results))
        is_known = self.model.new_bool_var("")
        self.model.add_allowed_assignments(
            [self.knobs[name], result, is_known],
            [
                (code, number, int(known(value)))
                for (code, value), number in zip(rows, results, strict=True)
            ],
        )
        return result, min(results), max(results), is_known

    def _term(self, term: Term) -> Value:
        match term:
            case Const(value):
                code = self._code(value)
                return code, code, code, self.true
            case Variable(name):
                codes = [self._code(value or 0) for value in self.domains[name]]
                return self.knobs[name], min(codes), max(codes), self.true
            case Named(_, inner):
                return self.term(inner)
            case Arith(operation, left, right):
                return self._arithmetic(operation, self.term(left), self.term(right))
            case Quotient(left, right):
                one, other = self.term(left), self.term(right)
                quotient = self._arithmetic("//", one, other)
                rest = self._arithmetic("%", one, other)
                exact = self._related("==", rest[0], 0)
                return (*quotient[:3], self._both(quotient[3], exact))
            case If(condition, then, other):
                return self._choice(condition, self.term(then), self.term(other))
            case Feature():
                message = "a list's feature must be known"
                raise ValueError(message)
            case _:
                assert_never(term)

    def _choice(self, condition: Formula, then: Value, other: Value) -> Value:
        yes, no = self.formula(condition)
        least, greatest = min(then[1], other[1]), max(then[2], other[2])
        result = self._new(least, greatest)
        self.model.add(result == then[0]).only_enforce_if(yes)
        self.model.add(result == other[0]).only_enforce_if(no)
        defined = self.model.new_bool_var("")
        self.model.add_implication(self._both(yes, then[3]), defined)
        self.model.add_implication(self._both(no, other[3]), defined)
        self.model.add_bool_or(
            [defined.negated(), self._both(yes, then[3]), self._both(no, other[3])]
        )
        return result, least, greatest, defined

    def _arithmetic(self, operation: Anything, one: Value, other: Value) -> Value:
        a, b = one[0], other[0]
        defined = self._both(one[3], other[3])
        if operation in {"//", "%"} and other[1] <= 0:
            defined = self._both(defined, self._related(">", b, 0))
            greatest = max(1, other[2])
            positive = self._new(1, greatest)
            self.model.add_max_equality(positive, [b, 1])
            other = (positive, 1, greatest, defined)
            b = positive
        if isinstance(a, int) and isinstance(b, int):
            value = arithmetic(operation, a, b) if b or operation not in {"//", "%"} else 0
            return value, value, value, defined
        ends = [
            arithmetic(operation, x, y)
            for x in one[1:3]
            for y in other[1:3]
            if y or operation not in {"//", "%"}
        ]
        if operation == "%":
            ends = [0, max(abs(other[1]), abs(other[2]))]
        result = self._new(min(ends), max(ends))
        match operation:
            case "+":
                self.model.add(result == a + b)
            case "-":
                self.model.add(result == a - b)
            case "*" if isinstance(a, int) or isinstance(b, int):
                self.model.add(result == a * b)
            case "*":
                self.model.add_multiplication_equality(result, [a, b])
            case "//":
                self.model.add_division_equality(result, a, b)
            case "%":
                self.model.add_modulo_equality(result, a, b)
            case "max":
                self.model.add_max_equality(result, [a, b])
            case "min":
                self.model.add_min_equality(result, [a, b])
        return result, min(ends), max(ends), defined

    def _related(self, relation: str, a: Anything, b: Anything) -> Anything:
        tests = {
            "==": lambda x, y: x == y,
            "!=": lambda x, y: x != y,
            "<": lambda x, y: x < y,
            "<=": lambda x, y: x <= y,
            ">": lambda x, y: x > y,
            ">=": lambda x, y: x >= y,
        }
        if isinstance(a, int) and isinstance(b, int):
            return self.true if tests[relation](a, b) else self.true.negated()
        holds = self.model.new_bool_var("")
        self.model.add(tests[relation](a, b)).only_enforce_if(holds)
        self.model.add(tests[NEGATED[relation]](a, b)).only_enforce_if(holds.negated())  # type: ignore[index]
        return holds

    def formula(self, formula: Formula) -> tuple[Anything, Anything]:
        """Literals for true and for false; neither where it is undefined."""
        if id(formula) not in self._formulas:
            self._kept.append(formula)
            self._formulas[id(formula)] = self._formula(formula)
        return self._formulas[id(formula)]

    def _formula(self, formula: Formula) -> tuple[Anything, Anything]:
        match formula:
            case Truth(value):
                literal = self.true if value else self.true.negated()
                return literal, literal.negated()
            case BoolVariable(name):
                holds = self._related("==", self.knobs[name], 1)
                return holds, holds.negated()
            case Compare(relation, left, right):
                one, other = self.term(left), self.term(right)
                holds = self._related(relation, one[0], other[0])
                defined = self._both(one[3], other[3])
                return self._both(holds, defined), self._both(holds.negated(), defined)
            case Divides(divisor, dividend):
                one, other = self.term(dividend), self.term(divisor)
                rest = self._arithmetic("%", one, other)
                holds = self._related("==", rest[0], 0)
                return self._both(holds, rest[3]), self._both(holds.negated(), rest[3])
            case Not(part):
                yes, no = self.formula(part)
                return no, yes
            case All(parts):
                return self._junction(parts)
            case Any(parts):
                no, yes = self._junction(tuple(Not(part) for part in parts))
                return yes, no
            case NamedFormula(_, inner):
                return self.formula(inner)
            case _:
                assert_never(formula)

    def _junction(self, parts: Sequence[Formula]) -> tuple[Anything, Anything]:
        """As read from left to right: the first part that is false settles it."""
        so_far = self.true
        false = []
        for part in parts:
            yes, no = self.formula(part)
            false.append(self._both(so_far, no))
            so_far = self._both(so_far, yes)
        some = self.model.new_bool_var("")
        self.model.add_bool_or([*false, some.negated()])
        for each in false:
            self.model.add_implication(each, some)
        return so_far, some
