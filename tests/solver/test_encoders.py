"""Every reading of a tree agrees with the compiled one, in value and in definedness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any as Anything

import pytest
import z3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsolve.constraints.evaluate import (
    Values,
    compiled,
    defined_source,
    formula_source,
    prologue,
    term_source,
)
from parsolve.constraints.fields import Size
from parsolve.constraints.formula import (
    Formula,
    Named,
    Node,
    Operation,
    Relation,
    Term,
    Truth,
    all_of,
    any_of,
    divides,
    fields_of,
    named_in,
    quotient,
)
from parsolve.constraints.simplify import Simplifier, Undefined, arithmetic, related
from parsolve.solver.finite import FiniteEncoder
from parsolve.solver.finite import Literal as Z3Literal
from parsolve.solver.integers import IntegerEncoder
from tests import trees
from tests.trees import FIELDS, assignment, colour, count, fast, split, width

THOROUGH = settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
DEFAULTS = tuple(field.default for field in FIELDS)
FREE = tuple(field.name for field in FIELDS if field.name != "split")


def of_formula(formula: Formula, values: Values) -> bool | None:
    """The compiled reading: the formula's truth, None where it is undefined."""
    value: bool | None = read(formula, formula_source(formula), values)
    return value


def of_term(term: Term, values: Values) -> int | str | None:
    """The compiled reading: the term's value, None where it is undefined."""
    value: int | str | None = read(term, term_source(term), values)
    return value


def read(node: Node, source: str, values: Values) -> Anything:  # noqa: ANN401 - any value
    lines = [*prologue(FIELDS, [node]), f"return {source} if {defined_source(node)} else None"]
    return compiled("read", lines)(values)


def readings(values: Values) -> dict[str, int | str | bool]:
    """Values as formulas read them, list features included."""
    given_values = assignment(values)
    entries = given_values.pop("split") or ()
    known = {
        field.name: field.unset if isinstance(field, Size) and value is None else value
        for field, value in zip(FIELDS, given_values.values(), strict=False)
    }
    return known | {
        "split.length": len(entries),
        "split.smallest": min(entries, default=0),
        "split.gcd": math.gcd(*entries),
    }


def features(values: Values) -> dict[str, int | str | bool]:
    return {name: value for name, value in readings(values).items() if "." in name}


def folded(formula: Formula, known: Mapping[str, int | str | bool]) -> Formula | None:
    try:
        return Simplifier(known).formula(formula)
    except Undefined:
        return None


def truth_of(verdict: tuple[Z3Literal, Z3Literal]) -> bool | None:
    """The truth that a verdict of constants stands for."""
    assert verdict in {(True, False), (False, True), (False, False)}
    return {(True, False): True, (False, True): False}.get(verdict)


def possible(solver: z3.Solver, literal: Z3Literal) -> bool:
    """Whether the literal can hold beside what the solver holds."""
    solver.push()
    solver.add(literal)
    result = solver.check()
    solver.pop()
    assert result != z3.unknown
    return bool(result == z3.sat)


# Finite domains.


@THOROUGH
@given(trees.formulas(), trees.values())
def test_a_formula_over_single_values_is_decided_without_z3(
    formula: Formula, values: Values
) -> None:
    encoder = FiniteEncoder({name: (assignment(values)[name],) for name in FREE})
    left = folded(formula, features(values))
    verdict = (False, False) if left is None else encoder.formula(left)
    assert truth_of(verdict) is of_formula(formula, values)
    assert encoder.axioms == []


@THOROUGH
@given(trees.terms(), trees.values())
def test_a_term_over_single_values_has_that_value_or_none(term: Term, values: Values) -> None:
    encoder = FiniteEncoder({name: (assignment(values)[name],) for name in FREE})
    expected = of_term(term, values)
    try:
        table = encoder.term(Simplifier(features(values)).term(term))
    except Undefined:
        table = {}
    assert table == ({} if expected is None else {expected: True})


@THOROUGH
@given(trees.formulas(), st.lists(trees.values(), min_size=2, max_size=4), st.data())
def test_a_formula_over_several_values_agrees_at_a_chosen_assignment(
    formula: Formula, several: list[Values], data: st.DataObject
) -> None:
    """Z3's truth and falsehood under the chosen literals are those of the compiled reading."""
    rows = [assignment(values) for values in several]
    domains = {name: tuple(dict.fromkeys(row[name] for row in rows)) for name in FREE}
    chosen = {name: data.draw(st.sampled_from(domains[name])) for name in FREE}
    values = tuple({**chosen, "split": rows[0]["split"]}[field.name] for field in FIELDS)
    encoder = FiniteEncoder(domains)
    left = folded(formula, features(values))
    yes, no = (False, False) if left is None else encoder.formula(left)
    solver = z3.Solver()
    solver.add(*encoder.axioms)
    solver.add(*(encoder.chosen(name, value) for name, value in chosen.items()))
    assert solver.check() == z3.sat
    expected = of_formula(formula, values)
    assert possible(solver, yes) == (expected is True)
    assert possible(solver, no) == (expected is False)


def test_a_list_must_be_known_before_encoding() -> None:
    with pytest.raises(ValueError, match="gcd of split must be known before encoding"):
        FiniteEncoder({}).term(split.gcd)


def test_a_value_outside_the_domain_is_never_chosen() -> None:
    encoder = FiniteEncoder({"width": (1, 2)})
    assert encoder.chosen("width", 3) is False
    assert list(encoder.values("width")) == [1, 2]


def test_an_unset_size_is_read_as_its_stand_in() -> None:
    encoder = FiniteEncoder({"batch": (None, 4), "rows": (None, -1)})
    assert list(encoder.term(trees.batch)) == [0, 4]
    assert list(encoder.term(trees.rows)) == [-1]


def test_long_work_is_ticked_and_a_tick_may_end_it() -> None:
    """Once for each value of each table, while it is made and while it is read."""
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1

    values = tuple(range(1, 41))
    domains = dict.fromkeys(("width", "depth", "batch"), values)
    product_of_three = trees.width * trees.depth * trees.batch
    quiet = FiniteEncoder(domains).formula(product_of_three <= 600)
    watched = FiniteEncoder(domains, tick).formula(product_of_three <= 600)
    twos = {a * b for a in values for b in values}
    threes = {a * b for a in twos for b in values}
    assert ticks >= len(values) + 2 * len(twos) + 2 * len(threes)
    assert [z3.eq(one, other) for one, other in zip(quiet, watched, strict=True)] == [True, True]

    class EnoughError(Exception):
        pass

    for most in (1, 10, ticks // 2, ticks):
        left = most

        def count_down() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise EnoughError

        with pytest.raises(EnoughError):
            FiniteEncoder(domains, count_down).formula(product_of_three <= 600)


# Unbounded integers.


@settings(THOROUGH, max_examples=250)
@given(trees.formulas(height=2), trees.values())
def test_the_integer_reading_agrees_where_every_variable_is_pinned(
    formula: Formula, values: Values
) -> None:
    encoder = IntegerEncoder()
    yes, no = encoder.formula(formula)
    solver = z3.Solver()
    solver.set("timeout", 10_000)
    for name, value in readings(values).items():
        if isinstance(value, bool):
            solver.add(z3.Bool(name) == value)
        elif isinstance(value, str):
            solver.add(z3.Int(name) == encoder.label(value))
        else:
            solver.add(z3.Int(name) == value)
    solver.add(*encoder.arithmetic.definitions())
    assert solver.check() == z3.sat
    expected = of_formula(formula, values)
    assert possible(solver, yes) == (expected is True)
    assert possible(solver, no) == (expected is False)
    assert possible(solver, z3.Not(z3.Or(yes, no))) == (expected is None)


def test_a_label_is_an_integer_of_its_own() -> None:
    encoder = IntegerEncoder()
    solver = z3.Solver()
    yes, _ = encoder.formula(
        all_of(colour != "red", colour != "green", colour != "blue", trees.width >= 1)
    )
    solver.add(yes, *(known for field in FIELDS for known in encoder.legal(field)))
    assert solver.check() == z3.unsat


def test_equal_divisions_are_the_same_terms() -> None:
    encoder = IntegerEncoder()
    one, two = z3.Int("count"), z3.Int("width")
    (first, rest), (again, other) = (encoder.arithmetic.divided(one, two) for _ in range(2))
    assert first.eq(again)
    assert rest.eq(other)
    assert len(encoder.arithmetic.divisions) == 1
    assert encoder.term(count) is encoder.term(count)


def test_a_field_may_stand_for_another_term() -> None:
    encoder = IntegerEncoder(given={"count": z3.IntVal(7), "fast": z3.BoolVal(val=True)})
    value, _ = encoder.term(count)
    yes, _ = encoder.formula(fast)
    assert value.eq(z3.IntVal(7))
    assert z3.is_true(yes)


# Partial knowledge.


def illegal_too(values: Values, least: int, lower: int) -> Values:
    """The same with sizes below their minimum, as a field that a rule checks may have."""
    row = assignment(values) | {"width": least, "depth": lower}
    return tuple(row[field.name] for field in FIELDS)


PARTS = st.sets(st.sampled_from([*FREE, "split"]))
SIZES = st.sampled_from((None, None, (0, 1), (-2, 3), (2, 0), (0, -1)))


def told(
    values: Values, names: set[str], sizes: tuple[int, int] | None
) -> tuple[Values, dict[str, int | str | bool]]:
    """Values, illegal sizes included, and what is known of them."""
    if sizes is not None:
        values = illegal_too(values, *sizes)
        names = names | {"width", "depth"}
    return values, {n: v for n, v in readings(values).items() if n.partition(".")[0] in names}


@settings(THOROUGH, max_examples=400)
@given(trees.formulas(), trees.values(), PARTS, SIZES)
def test_what_is_left_of_a_formula_means_the_same(
    formula: Formula, values: Values, names: set[str], sizes: tuple[int, int] | None
) -> None:
    """Folding known values in and reading the rest equals reading it all."""
    values, known = told(values, names, sizes)
    expected = of_formula(formula, values)
    left = folded(formula, known)
    if left is None:
        assert expected is None
    else:
        assert of_formula(left, values) is expected
        assert fields_of(left).isdisjoint(name.partition(".")[0] for name in known)


@settings(THOROUGH, max_examples=400)
@given(trees.terms(), trees.values(), PARTS, SIZES)
def test_what_is_left_of_a_term_means_the_same(
    term: Term, values: Values, names: set[str], sizes: tuple[int, int] | None
) -> None:
    values, known = told(values, names, sizes)
    expected = of_term(term, values)
    try:
        left = Simplifier(known).term(term)
    except Undefined:
        assert expected is None
    else:
        assert of_term(left, values) == expected
        assert fields_of(left).isdisjoint(name.partition(".")[0] for name in known)


@settings(THOROUGH, max_examples=200)
@given(trees.formulas(), trees.values())
def test_a_formula_of_known_fields_is_a_constant_or_undefined(
    formula: Formula, values: Values
) -> None:
    left = folded(formula, readings(values))
    expected = of_formula(formula, values)
    assert (left is None) == (expected is None)
    assert left is None or (isinstance(left, Truth) and left.value is expected)


def test_shared_quantities_stay_shared() -> None:
    shared = Named("half", quotient(count, width))
    left = Simplifier({"fast": True}).formula(all_of(shared > 1, fast, shared < 9))
    found = [node for node in named_in(left) if isinstance(node, Named)]
    assert [node.name for node in found] == ["half"]


@pytest.mark.parametrize(
    ("formula", "at", "expected"),
    [
        (divides(width, count), {"count": 6}, False),
        (count // width == 0, {"count": 6}, None),
        (quotient(count, width) == 0, {"count": 6}, None),
        (divides(width, quotient(count, 4)), {"count": 6}, None),
        (divides(width, quotient(count, 4)), {"count": 8}, False),
        (divides(width * trees.depth, count), {"count": 6}, False),
        (count % (width * trees.depth) == 0, {"count": 6}, None),
        (quotient(count, width * trees.depth) == 0, {"count": 6}, None),
        (any_of(fast, count % width == 0), {"fast": True}, True),
    ],
)
def test_a_known_size_below_its_minimum_divides_nothing(
    formula: Formula, at: dict[str, Anything], expected: object
) -> None:
    """A user may pin a size to 0: the reading is the compiled one, not a crash."""
    values = tuple((assignment(DEFAULTS) | {"width": 0} | at)[field.name] for field in FIELDS)
    assert of_formula(formula, values) is expected
    left = folded(formula, {"width": 0})
    assert (None if left is None else of_formula(left, values)) is expected


@pytest.mark.parametrize("operation", ["+", "-", "*", "//", "%", "max", "min"])
def test_arithmetic_is_that_of_python(operation: Operation) -> None:
    for left in range(-4, 5):
        for right in (1, 2, 3):
            expected = {
                "+": left + right,
                "-": left - right,
                "*": left * right,
                "//": left // right,
                "%": left % right,
                "max": max(left, right),
                "min": min(left, right),
            }
            assert arithmetic(operation, left, right) == expected[operation]


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("==", [False, True, False]),
        ("!=", [True, False, True]),
        ("<", [True, False, False]),
        ("<=", [True, True, False]),
        (">", [False, False, True]),
        (">=", [False, True, True]),
    ],
)
def test_relations_are_those_of_integers(relation: Relation, expected: list[bool]) -> None:
    assert [related(relation, left, 2) for left in (1, 2, 3)] == expected
