"""The contract of the rule language: what a tree refuses, and what it says about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import compiled, prologue, violated_source
from parsolve.constraints.formula import (
    NEGATED,
    All,
    Any,
    Arith,
    Compare,
    Const,
    Formula,
    Named,
    NamedFormula,
    Node,
    Not,
    Quotient,
    Term,
    Truth,
    all_of,
    any_of,
    children,
    divides,
    fields_of,
    if_,
    implies,
    is_label,
    largest,
    least,
    named_in,
    one_of,
    quotient,
    round_up,
    smallest,
)
from parsolve.constraints.profile import holds
from tests.trees import FIELDS, batch, colour, count, depth, fast, rows, split, wide, width

NO_TRUTH = r"no truth value: combine with & \| ~ \(or all_of, any_of\)"
NO_ZERO = r"a divisor must be a term that cannot be 0: guard it with largest\(1, \.\.\.\)"
INFINITY = float("inf")


# No truth value.


@pytest.mark.parametrize(
    "use",
    [
        lambda: bool(count),
        lambda: bool(count == 1),
        lambda: bool(fast),
        lambda: not (count == 1),  # noqa: SIM201 - the very mistake
        lambda: fast and count == 1,  # type: ignore[redundant-expr]
        lambda: fast or wide,  # type: ignore[redundant-expr]
        lambda: 1 < count < 3,
        lambda: count in (1, 2),
        lambda: 1 in [count],  # noqa: FURB171 - the very mistake
        lambda: 1 if count > 2 else 0,
        lambda: [x for x in (count,) if x == 1],
        lambda: max(count, width),
        lambda: all([fast, wide]),
        lambda: any([count == 1]),
        lambda: sorted([count, width]),
    ],
)
def test_a_tree_has_no_truth_value(use: Callable[[], object]) -> None:
    """Python would answer silently and wrongly; the message names the cure instead."""
    with pytest.raises(TypeError, match=NO_TRUTH):
        use()


def test_comparing_builds_a_formula() -> None:
    formula = count == width
    assert isinstance(formula, Compare)
    assert formula.left is count
    assert formula.right is width


@pytest.mark.parametrize(
    ("formula", "relation"),
    [
        (count == 1, "=="),
        (count != 1, "!="),
        (count < 1, "<"),
        (count <= 1, "<="),
        (count > 1, ">"),
        (count >= 1, ">="),
        (1 < count, ">"),  # noqa: SIM300 - reflected on purpose
        (1 >= count, "<="),  # noqa: SIM300 - reflected on purpose
    ],
)
def test_every_relation_keeps_its_meaning(formula: Compare, relation: str) -> None:
    assert formula.relation == relation
    assert formula.left is count
    assert isinstance(formula.right, Const)
    assert formula.right.value == 1


def test_every_relation_has_its_opposite() -> None:
    assert {NEGATED[NEGATED[relation]] for relation in NEGATED} == set(NEGATED)
    assert all(NEGATED[NEGATED[relation]] == relation for relation in NEGATED)


def test_trees_are_immutable_and_hashed_by_identity() -> None:
    first, second = count + 1, count + 1
    with pytest.raises(FrozenInstanceError):
        first.operation = "-"  # type: ignore[misc]
    assert len({first: 1, second: 2}) == 2
    assert {first: 1}[first] == 1


# Operands.


@pytest.mark.parametrize(
    "build",
    [
        lambda: count + True,
        lambda: count + 1.5,  # type: ignore[operator]
        lambda: count + None,  # type: ignore[operator]
        lambda: count == None,  # noqa: E711 - the very mistake
        lambda: count + fast,  # type: ignore[operator]
        lambda: largest(fast, 1),  # type: ignore[arg-type]
        lambda: divides(2, fast),  # type: ignore[arg-type]
    ],
)
def test_an_operand_is_a_term_an_integer_or_a_label(build: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="expected a term, an integer or a label, got"):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: fast & 1,  # type: ignore[operator]
        lambda: fast | count,  # type: ignore[operator]
        lambda: all_of(count),  # type: ignore[arg-type]
        lambda: any_of(fast, "wide"),  # type: ignore[arg-type]
    ],
)
def test_a_part_is_a_formula_or_a_truth_value(build: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="expected a formula or a bool, got"):
        build()


def test_truth_values_may_stand_among_parts() -> None:
    formula = all_of(fast, True)  # noqa: FBT003 - a part like any other
    assert isinstance(formula.parts[1], Truth)
    assert formula.parts[1].value is True


def test_negating_twice_is_the_formula_itself() -> None:
    assert ~~fast is fast
    assert isinstance(~fast, Not)


def test_operators_and_functions_build_the_same_kinds() -> None:
    assert isinstance(fast & wide, All)
    assert isinstance(fast | wide, Any)
    assert isinstance(implies(fast, wide), Any)
    assert [part.right.value for part in one_of(count, (1, 2)).parts] == [1, 2]  # type: ignore[union-attr]


# Labels.


@pytest.mark.parametrize(
    "build",
    [
        lambda: colour < "red",
        lambda: colour >= "red",
        lambda: colour == 1,
        lambda: count == "red",
        lambda: colour == count,
        lambda: if_(fast, "red", colour) == 2,
    ],
)
def test_labels_are_compared_with_labels_for_equality_only(build: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="labels may only be compared with labels, by == or !="):
        build()


@pytest.mark.parametrize(
    ("term", "label"),
    [
        (colour, True),
        (Const("red"), True),
        (if_(fast, "red", "blue"), True),
        (Named("tint", if_(fast, "red", colour)), True),
        (count, False),
        (Const(3), False),
        (split.gcd, False),
        (count + 1, False),
        (quotient(count, 2), False),
        (if_(fast, 1, 2), False),
    ],
)
def test_is_label(term: Term, label: bool) -> None:  # noqa: FBT001
    assert is_label(term) is label


# Divisors.


@pytest.mark.parametrize(
    "build",
    [
        lambda: count // 0,
        lambda: count % count,
        lambda: count // batch,
        lambda: count // rows,
        lambda: count // -2,
        lambda: quotient(width, count),
        lambda: divides(count, width),
        lambda: divides(split.gcd, width),
        lambda: divides(width - 1, count),
        lambda: divides(width // 2, count),
        lambda: divides(width % 2, count),
        lambda: divides(smallest(width, count), count),
        lambda: divides(if_(fast, width, 0), count),
        lambda: divides(quotient(count, width), count),
        lambda: divides("red", count),
        lambda: divides(Named("n", count), width),
    ],
)
def test_a_divisor_that_may_be_zero_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=NO_ZERO):
        build()


@pytest.mark.parametrize(
    "divisor",
    [
        Const(1),
        width,
        width * depth,
        width + count,
        largest(1, count),
        largest(count, width),
        smallest(2, width),
        if_(fast, width, depth),
        quotient(width, depth),
        Named("n", width * 2),
    ],
)
def test_a_divisor_that_cannot_be_zero_is_taken(divisor: Term) -> None:
    assert least(divisor) >= 1
    assert divides(divisor, count).divisor is divisor
    assert quotient(count, divisor).right is divisor
    assert (count % divisor).right is divisor


@pytest.mark.parametrize(
    ("term", "bound"),
    [
        (Const(-3), -3),
        (Const("red"), -INFINITY),
        (colour, -INFINITY),
        (count, 0),
        (width, 1),
        (batch, 0),
        (rows, -1),
        (split.length, 0),
        (split.smallest - 0, -INFINITY),
        (width + depth + 3, 5),
        (width * depth * 4, 4),
        (rows * width, -INFINITY),
        (width - count, -INFINITY),
        (count // width, 0),
        (rows // width, -INFINITY),
        (width % 2, 0),
        (largest(width, 7), 7),
        (smallest(width, 7), 1),
        (if_(fast, width, rows), -1),
        (quotient(width, depth), 1),
        (quotient(count, width), -INFINITY),
        (Named("n", width + 1), 2),
        (round_up(width, 4), 0),
    ],
)
def test_least_is_a_lower_bound(term: Term, bound: float) -> None:
    assert least(term) == bound


def test_every_divisor_of_the_profile_is_positive() -> None:
    """The constructor refuses others, so this only fails if the constructor stops doing so."""
    for rule in PROFILES["halo"].rules:
        stack: list[Node] = list(rule.nodes)
        while stack:
            node = stack.pop()
            stack.extend(children(node))
            if isinstance(node, Quotient) or (
                isinstance(node, Arith) and node.operation in {"//", "%"}
            ):
                assert least(node.right) >= 1


# What a tree says about itself.


def test_children_come_in_reading_order() -> None:
    condition, then, other = count > 1, width + 1, depth + 1
    assert [id(x) for x in children(if_(condition, then, other))] == [
        id(condition),
        id(then),
        id(other),
    ]
    assert [id(x) for x in children(divides(width, then))] == [id(width), id(then)]
    assert children(count) == children(fast) == children(Const(1)) == ()


def test_fields_of_reads_through_derived_quantities() -> None:
    half = Named("half", quotient(count, width))
    tidy = NamedFormula("tidy", divides(depth, split.gcd))
    assert fields_of(all_of(half > 1, tidy, ~fast)) == {"count", "width", "depth", "split", "fast"}
    assert fields_of(if_(wide, colour, "red") == "red", batch + rows) == {
        "wide",
        "colour",
        "batch",
        "rows",
    }
    assert fields_of(Truth(value=True)) == fields_of() == frozenset()


def test_named_in_lists_each_quantity_once_after_those_it_is_made_of() -> None:
    inner = Named("inner", count + 1)
    outer = Named("outer", inner * 2)
    flag = NamedFormula("flag", outer > inner)
    found = named_in(flag & (outer > 3), inner > 1)
    assert [quantity.name for quantity in found] == ["inner", "outer", "flag"]
    assert named_in(count > 1) == ()


def test_named_quantities_of_the_profile_stand_after_their_parts() -> None:
    nodes = [node for rule in PROFILES["halo"].rules for node in rule.nodes]
    seen: set[str] = set()
    for quantity in named_in(*nodes):
        inner = quantity.term if isinstance(quantity, Named) else quantity.formula
        assert {part.name for part in named_in(inner)} <= seen
        assert quantity.name not in seen
        seen.add(quantity.name)


# Undefined quotients.

HALF = quotient(count, 2)


@pytest.mark.parametrize(
    ("when", "requires"),
    [
        (HALF > 0, Truth(value=False)),
        (Truth(value=True), HALF > 99),
        (Truth(value=True), ~(HALF > 0)),
        (Truth(value=True), divides(2, HALF)),
        (Truth(value=True), if_(HALF > 0, 0, 0) > 0),
        (fast, all_of(fast, HALF > 99)),
        (fast, any_of(wide, HALF > 99)),
        (any_of(wide, HALF > 0), Truth(value=False)),
    ],
)
def test_a_rule_that_meets_an_undefined_quotient_is_neither_kept_nor_violated(
    when: Formula, requires: Formula
) -> None:
    lines = prologue(FIELDS, [when, requires])
    violated = compiled("v", [*lines, f"return bool({violated_source(when, requires)})"])
    kept = compiled("k", [*lines, f"return bool({violated_source(when, ~requires)})"])
    values = (3, 1, 1, None, None, "red", True, False, None)
    assert not violated(values)
    assert not kept(values)


@pytest.mark.parametrize(
    ("when", "requires"),
    [
        (fast, all_of(wide, HALF > 0)),
        (any_of(fast, HALF > 0), Truth(value=False)),
        (fast, ~any_of(fast, HALF > 0)),
        (fast, if_(fast, count, HALF) > 3),
        (fast, all_of(~any_of(fast, HALF > 0), HALF > 0)),
    ],
)
def test_a_quotient_that_is_never_reached_does_not_matter(when: Formula, requires: Formula) -> None:
    """Junctions and conditions are read lazily, from left to right."""
    lines = prologue(FIELDS, [when, requires])
    violated = compiled("v", [*lines, f"return bool({violated_source(when, requires)})"])
    assert violated((3, 1, 1, None, None, "red", True, False, None))


def test_holds_is_false_where_undefined() -> None:
    halo = PROFILES["halo"]
    experts = halo.quantity_of["experts_per_rank"]
    assert isinstance(experts, Named)
    even = halo.config({"world_size": 8, "ep_size": 8, "num_experts": 16}).values
    odd = halo.config({"world_size": 8, "ep_size": 8, "num_experts": 15}).values
    assert holds(halo, experts == 2, even)
    assert not holds(halo, experts == 2, odd)
    assert not holds(halo, ~(experts == 2), odd)
