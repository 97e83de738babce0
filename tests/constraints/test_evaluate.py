"""The compiled reading against a slow interpreter with its own idea of undefined."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any as Anything
from typing import assert_never

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsolve.constraints.evaluate import (
    Values,
    compiled,
    defined_source,
    formula_source,
    prologue,
    term_source,
    violated_source,
)
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
    Node,
    Not,
    Quotient,
    Term,
    Truth,
    Variable,
    all_of,
    any_of,
    children,
    divides,
    if_,
    implies,
    largest,
    one_of,
    quotient,
    round_up,
    smallest,
)
from tests import trees
from tests.trees import FIELDS, batch, colour, count, fast, rows, split, wide, width

STAND_INS = {"batch": 0, "rows": -1}
THOROUGH = settings(
    max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


class UndefinedError(Exception):
    """A quotient with a remainder."""


@dataclass(frozen=True)
class Interpreter:
    """The meaning of trees, one node at a time: slow and plain."""

    given: dict[str, Anything]

    def number(self, term: Term) -> Anything:  # noqa: ANN401 - an integer or a label
        match term:
            case Const(value):
                return value
            case Variable(name):
                value = self.given[name]
                return STAND_INS[name] if value is None else value
            case Feature(name, feature):
                entries = list(self.given[name] or [])
                if feature == "length":
                    return len(entries)
                if feature == "smallest":
                    return min(entries, default=0)
                common = [d for d in range(1, 7) if all(entry % d == 0 for entry in entries)]
                return max(common) if any(entries) else 0
            case Arith(operation, left, right):
                return self.calculated(operation, self.number(left), self.number(right))
            case Quotient(left, right):
                dividend, divisor = self.number(left), self.number(right)
                if divisor < 1 or math.remainder(dividend, divisor) != 0:
                    raise UndefinedError
                return round(dividend / divisor)
            case If(condition, then, other):
                return self.number(then) if self.truth(condition) else self.number(other)
            case Named(_, inner):
                return self.number(inner)
            case _:
                assert_never(term)

    @staticmethod
    def calculated(operation: str, left: int, right: int) -> int:
        match operation:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "max":
                return max(left, right)
            case "min":
                return min(left, right)
        if right < 1:
            raise UndefinedError
        whole = math.floor(left / right)
        return whole if operation == "//" else left - whole * right

    def truth(self, formula: Formula) -> bool:
        match formula:
            case Truth(value):
                return value
            case BoolVariable(name):
                return bool(self.given[name])
            case Compare(relation, left, right):
                low, high = self.number(left), self.number(right)
                if relation in {"==", "!="}:
                    return bool(low == high) == (relation == "==")
                order = (low > high) - (low < high)
                wanted: tuple[int, ...] = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (1, 0)}[
                    relation
                ]
                return order in wanted
            case Divides(divisor, dividend):
                by, whole = self.number(divisor), self.number(dividend)
                return bool(by >= 1 and math.remainder(whole, by) == 0)
            case All(parts):
                for part in parts:  # noqa: SIM110 - the order of reading is the point
                    if not self.truth(part):
                        return False
                return True
            case Any(parts):
                for part in parts:  # noqa: SIM110 - the order of reading is the point
                    if self.truth(part):
                        return True
                return False
            case Not(part):
                return not self.truth(part)
            case NamedFormula(_, inner):
                return self.truth(inner)
            case _:
                assert_never(formula)


def interpreted(node: Node, drawn: Values) -> Anything:  # noqa: ANN401 - any value
    """The node's value; None where it is undefined."""
    interpreter = Interpreter(trees.assignment(drawn))
    try:
        match node:
            case Const() | Variable() | Feature() | Arith() | Quotient() | If() | Named():
                return interpreter.number(node)
            case _:
                return interpreter.truth(node)
    except UndefinedError:
        return None


def source_of(node: Node) -> str:
    match node:
        case Const() | Variable() | Feature() | Arith() | Quotient() | If() | Named():
            return term_source(node)
        case _:
            return formula_source(node)


def reader(node: Node) -> Callable[[Values], Anything]:
    """The compiled reading: the node's value; None where it is undefined."""
    result = f"return {source_of(node)} if {defined_source(node)} else None"
    return compiled("read", [*prologue(FIELDS, [node]), result])


def read(node: Node, **given: Anything) -> Anything:  # noqa: ANN401 - any value
    """The compiled reading at the defaults and these values."""
    return reader(node)(tuple(given.get(field.name, field.default) for field in FIELDS))


def violated(when: Formula, requires: Formula) -> Callable[[Values], bool]:
    lines = prologue(FIELDS, [when, requires])
    return compiled("violated", [*lines, f"return bool({violated_source(when, requires)})"])


@THOROUGH
@given(trees.terms(), st.lists(trees.values(), min_size=1, max_size=5))
def test_terms_mean_what_the_interpreter_says(term: Term, drawn: list[Values]) -> None:
    """Same value where defined, and defined at the same places."""
    compiled_term = reader(term)
    for one in drawn:
        assert compiled_term(one) == interpreted(term, one)


@THOROUGH
@given(trees.formulas(), st.lists(trees.values(), min_size=1, max_size=5))
def test_formulas_mean_what_the_interpreter_says(formula: Formula, drawn: list[Values]) -> None:
    """Same truth where defined, and defined at the same places."""
    compiled_formula = reader(formula)
    for one in drawn:
        value = compiled_formula(one)
        assert value == interpreted(formula, one)
        assert value is None or isinstance(value, bool)


@THOROUGH
@given(trees.rules(), st.lists(trees.values(), min_size=1, max_size=5))
def test_a_rule_is_violated_where_both_parts_are_defined_and_only_the_second_fails(
    rule: tuple[Formula, Formula], drawn: list[Values]
) -> None:
    when, requires = rule
    compiled_rule = violated(when, requires)
    for one in drawn:
        expected = interpreted(when, one) is True and interpreted(requires, one) is False
        assert compiled_rule(one) is expected


def test_the_trees_reach_every_outcome_and_every_kind() -> None:
    """The generator draws all node kinds, and each of true, false and undefined often enough."""
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()

    @settings(max_examples=400, deadline=None, database=None, derandomize=True)
    @given(trees.formulas(), trees.values())
    def collect(formula: Formula, drawn: Values) -> None:
        outcomes[str(interpreted(formula, drawn))] += 1
        stack: list[Node] = [formula]
        while stack:
            node = stack.pop()
            kinds[type(node).__name__] += 1
            stack.extend(children(node))

    collect()
    assert min(outcomes["True"], outcomes["False"], outcomes["None"]) >= 30, outcomes
    leaves = {"Size", "Choice", "Flag", "Const", "Feature", "Truth"}
    inner = {"Arith", "Quotient", "If", "Named", "Compare", "Divides"}
    junctions = {"All", "Any", "Not", "NamedFormula"}
    assert set(kinds) == leaves | inner | junctions, kinds


# Each kind by example.


@pytest.mark.parametrize(
    ("node", "given_values", "expected"),
    [
        (count + 2 - 1, {"count": 3}, 4),
        (7 - count, {"count": 9}, -2),
        (3 * count, {"count": 3}, 9),
        ((count - 5) // width, {"count": 2, "width": 2}, -2),
        ((count - 5) % width, {"count": 2, "width": 2}, 1),
        (largest(count, 4, width), {"count": 3, "width": 6}, 6),
        (smallest(count, 4, width), {"count": 3, "width": 6}, 3),
        (round_up(count, 4), {"count": 5}, 8),
        (round_up(count, 4), {"count": 8}, 8),
        (quotient(count, width), {"count": 6, "width": 3}, 2),
        (quotient(count, width), {"count": 7, "width": 3}, None),
        (if_(fast, count, width), {"fast": True, "count": 5}, 5),
        (if_(fast, "red", colour), {"colour": "blue"}, "blue"),
        (batch + 0, {}, 0),
        (rows + 0, {}, -1),
        (rows + 0, {"rows": 0}, 0),
        (split.length + 0, {}, 0),
        (split.smallest + 0, {}, 0),
        (split.gcd + 0, {}, 0),
        (split.length + 0, {"split": (4, 6)}, 2),
        (split.smallest + 0, {"split": (4, 6)}, 4),
        (split.gcd + 0, {"split": (4, 6)}, 2),
        (divides(width, split.gcd), {"width": 3, "split": (9, 12)}, True),
        (divides(width, split.gcd), {"width": 3, "split": (9, 13)}, False),
        (one_of(colour, ("red", "blue")), {"colour": "blue"}, True),
        (one_of(colour, ("red", "blue")), {"colour": "green"}, False),
        (implies(fast, wide), {"fast": True}, False),
        (implies(fast, wide), {}, True),
        (all_of(), {}, True),
        (any_of(), {}, False),
        (~(count > 2), {"count": 2}, True),
    ],
)
def test_value(node: Node, given_values: dict[str, Anything], expected: Anything) -> None:  # noqa: ANN401
    assert read(node, **given_values) == expected


HALF = quotient(count, 2)
ODD = {"count": 3}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (HALF > 0, None),
        (~(HALF > 0), None),
        (divides(width, HALF), None),
        (divides(largest(1, HALF), width), None),
        (HALF + 1 > HALF, None),
        (if_(HALF > 0, 1, 1) == 1, None),
        (if_(fast, HALF, 7) == 7, True),
        (if_(wide, HALF, 7) == 7, None),
        (all_of(fast, HALF > 0), False),
        (all_of(wide, HALF > 0), None),
        (all_of(HALF > 0, fast), None),
        (all_of(wide, fast, HALF > 0), False),
        (any_of(wide, HALF > 0), True),
        (any_of(fast, HALF > 0), None),
        (any_of(HALF > 0, wide), None),
        (implies(fast, HALF > 0), True),
        (implies(wide, HALF > 0), None),
        (NamedFormula("is_half", HALF > 0), None),
        (any_of(wide, NamedFormula("is_half", HALF > 0)), True),
        (Named("half", HALF) > 0, None),
        (all_of(fast, Named("half", HALF) > 0), False),
    ],
)
def test_undefined_spreads_until_something_settles_it(
    formula: Formula,
    expected: object,
) -> None:
    """Junctions and conditions are read from left to right and stop as soon as they can."""
    assert read(formula, **ODD, fast=False, wide=True) is expected


@pytest.mark.parametrize(
    ("when", "requires"), [(HALF > 0, Truth(value=False)), (Truth(value=True), HALF > 9)]
)
def test_an_undefined_rule_is_not_violated(when: Formula, requires: Formula) -> None:
    assert not violated(when, requires)((3, 1, 1, None, None, "red", False, False, None))
    assert violated(when, requires)((4, 1, 1, None, None, "red", False, False, None))


@pytest.mark.parametrize("illegal", [0, -2])
@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (divides(width, count), False),
        (count // width, None),
        (count % width, None),
        (quotient(count, width), None),
        (Named("per", count // width), None),
    ],
)
def test_an_illegal_divisor_is_undefined_and_divides_nothing(
    node: Node,
    expected: object,
    illegal: int,
) -> None:
    """A checked field may hold a value below its minimum; reading it never raises."""
    assert read(node, width=illegal, count=6) is expected
