"""The reading as words: what a formula says, and which numbers make it hold or fail."""

from __future__ import annotations

from typing import Any as Anything

import pytest
from hypothesis import assume, given, settings

from parsolve.constraints import PROFILES
from parsolve.constraints.describe import Fact, because_source, term_words, told, words
from parsolve.constraints.evaluate import (
    Values,
    compiled,
    defined_source,
    formula_source,
    prologue,
)
from parsolve.constraints.formula import (
    Const,
    Formula,
    Named,
    NamedFormula,
    Term,
    Truth,
    all_of,
    any_of,
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
from tests.trees import FIELDS, batch, colour, count, depth, fast, rows, split, wide, width

HALF = Named("half", quotient(count, 2))
TIDY = NamedFormula("is_tidy", all_of(width > 1, fast))


def facts(formula: Formula, values: Values, *, holds: bool) -> list[Fact]:
    source = because_source(formula, holds=holds)
    found: list[Fact] = compiled("f", [*prologue(FIELDS, [formula]), f"return {source}"])(values)
    return found


def because(formula: Formula, **given_values: Anything) -> str:  # noqa: ANN401 - any value
    """The line for a formula that holds, or fails, at the defaults and these values."""
    values = tuple(given_values.get(field.name, field.default) for field in FIELDS)
    lines = prologue(FIELDS, [formula])
    truth = compiled("t", [*lines, f"return {formula_source(formula)}"])(values)
    return told(facts(formula, values, holds=truth))


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (Const(3), "3"),
        (Const("red"), "red"),
        (count, "count"),
        (HALF, "half"),
        (split.length, "length of split"),
        (split.smallest, "smallest of split"),
        (split.gcd, "gcd of split"),
        (count + 1, "count + 1"),
        ((count - 1) - (count - 2), "(count - 1) - (count - 2)"),
        ((count + 1) * width, "(count + 1) * width"),
        (count * width * (depth * 2), "count * width * depth * 2"),
        ((count // 2) % 3, "(count // 2) % 3"),
        (round_up(count, 4), "((count + 3) // 4) * 4"),
        (largest(1, count, width), "max(1, count, width)"),
        (smallest(largest(1, count), 3), "min(max(1, count), 3)"),
        (quotient(count + 1, 2), "(count + 1) / 2"),
        (quotient(count, quotient(width, depth)), "count / (width / depth)"),
        (if_(fast, count, width + 1), "count if fast else width + 1"),
        (if_(fast, count, width) + 1, "(count if fast else width) + 1"),
    ],
)
def test_term_words(term: Term, text: str) -> None:
    assert term_words(term) == text


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (Truth(value=True), "always"),
        (Truth(value=False), "never"),
        (fast, "fast"),
        (TIDY, "is_tidy"),
        (~fast, "not fast"),
        (~TIDY, "not is_tidy"),
        (~Truth(value=True), "not always"),
        (colour == "red", "colour is red"),
        (colour != "red", "colour is not red"),
        (~(colour == "red"), "colour is not red"),
        (count > 1, "count > 1"),
        (count == width, "count == width"),
        (~(count > 1), "count <= 1"),
        (~(count <= width), "count > width"),
        (divides(width, count + 1), "width divides (count + 1)"),
        (~divides(width, count), "width does not divide count"),
        (all_of(), "always"),
        (any_of(), "never"),
        (all_of(any_of(fast)), "fast"),
        (all_of(fast, wide), "fast and wide"),
        (all_of(fast, any_of(wide, count > 1)), "fast and (wide or count > 1)"),
        (any_of(all_of(fast, wide), count > 1), "(fast and wide) or count > 1"),
        (~all_of(fast, wide), "not (fast and wide)"),
        (~any_of(fast, wide), "not (fast or wide)"),
        (implies(fast, wide), "if fast then wide"),
        (implies(all_of(fast, wide), count > 1), "if fast and wide then count > 1"),
        (all_of(implies(fast, wide), wide), "(if fast then wide) and wide"),
        (one_of(colour, ("red", "blue")), "colour is one of red, blue"),
    ],
)
def test_words(formula: Formula, text: str) -> None:
    assert words(formula) == text


@pytest.mark.parametrize(
    ("formula", "given_values", "line"),
    [
        # truth values and flags
        (Truth(value=True), {}, ""),
        (Truth(value=False), {}, ""),
        (fast, {"fast": True}, "fast = true"),
        (fast, {"fast": False}, "fast = false"),
        (~fast, {"fast": False}, "fast = false"),
        # relations with a constant: the bound is named where the value alone does not show it
        (count == 3, {"count": 3}, "count = 3"),
        (count == 3, {"count": 4}, "count = 4"),
        (count != 3, {"count": 4}, "count = 4"),
        (count > 3, {"count": 2}, "count = 2 <= 3"),
        (count > 3, {"count": 3}, "count = 3 <= 3"),
        (count > 3, {"count": 4}, "count = 4 > 3"),
        (count >= 3, {"count": 3}, "count = 3 >= 3"),
        (count >= 3, {"count": 5}, "count = 5 >= 3"),
        (count < 3, {"count": 2}, "count = 2 < 3"),
        (colour == "red", {}, "colour = red"),
        (colour == "red", {"colour": "blue"}, "colour = blue"),
        # relations of two terms
        (count <= width, {"count": 1, "width": 2}, "count = 1 <= width = 2"),
        (count <= width, {"count": 3, "width": 2}, "count = 3 > width = 2"),
        (count == width, {"count": 2, "width": 2}, "count = width = 2"),
        (count == width, {"count": 3, "width": 2}, "count = 3 is not width = 2"),
        # divisibility
        (divides(width, count), {"width": 2, "count": 4}, "width = 2 divides count = 4"),
        (divides(width, count), {"width": 2, "count": 3}, "width = 2 does not divide count = 3"),
        (divides(2, count), {"count": 3}, "2 does not divide count = 3"),
        # fields that are not given
        (batch > 0, {}, "batch = unset"),
        (batch > 0, {"batch": 2}, "batch = 2 > 0"),
        (rows >= 0, {}, "rows = unset < 0"),
        (rows >= 1, {"rows": 0}, "rows = 0 < 1"),
        # lists
        (split.length > 0, {"split": (1, 2)}, ""),
        (split.length == 2, {"split": (1, 2, 3)}, "length of split = 3"),
        (split.smallest >= 1, {"split": (2, 0)}, "split = 2, 0 < 1"),
        (split.smallest >= 1, {}, "split = unset < 1"),
        (
            divides(width, split.gcd),
            {"width": 4, "split": (4, 6)},
            "width = 4 does not divide split = 4, 6",
        ),
        # arithmetic and derived quantities
        (count * width < 8, {"count": 3, "width": 3}, "count * width = 9 >= 8"),
        (largest(1, count) < 2, {"count": 3}, "max(1, count) = 3 >= 2"),
        (quotient(count, 2) > 1, {"count": 6}, "count / 2 = 3 > 1"),
        (
            if_(fast, count, width) > 2,
            {"count": 3, "fast": True},
            "count if fast else width = 3 > 2",
        ),
        (HALF > 1, {"count": 6}, "half = 3 > 1"),
        (TIDY, {"width": 3, "fast": True}, "width = 3 > 1, fast = true"),
        (TIDY, {"width": 3}, "fast = false"),
        (TIDY, {"fast": True}, "width = 1"),
        # junctions: every part where all matter, the first one where one settles it
        (all_of(count > 1, width > 1), {"count": 3, "width": 2}, "count = 3 > 1, width = 2 > 1"),
        (all_of(count > 1, width > 1), {"count": 1, "width": 1}, "count = 1"),
        (any_of(count > 1, width > 1), {"count": 3, "width": 2}, "count = 3 > 1"),
        (any_of(count > 1, width > 1), {"count": 1, "width": 2}, "width = 2 > 1"),
        (any_of(count > 1, width > 1), {"count": 1, "width": 1}, "count = 1, width = 1"),
        (~all_of(count > 1, fast), {"count": 2, "fast": True}, "count = 2 > 1, fast = true"),
        (~all_of(count > 1, fast), {"count": 2}, "fast = false"),
        (implies(fast, count > 3), {"fast": True, "count": 1}, "fast = true, count = 1 <= 3"),
        (one_of(colour, ("green", "blue")), {}, "colour = red"),
        (one_of(count, (1, 2)), {"count": 2}, "count = 2"),
        (all_of(), {}, ""),
        (any_of(), {}, ""),
    ],
)
def test_because(formula: Formula, given_values: dict[str, Anything], line: str) -> None:
    assert because(formula, **given_values) == line


@pytest.mark.parametrize(
    ("formula", "line"),
    [
        (all_of(count > 1, count > 2, count != 9), "count = 6 > 1"),
        (all_of(HALF == 3, HALF > 2, count > HALF), "half = 3, count = 6 > half = 3"),
        (all_of(count > width, width > 1), "count = 6 > width = 2"),
        (
            all_of(width > 1, fast, count > width),
            "width = 2 > 1, fast = true, count = 6 > width = 2",
        ),
        (all_of(fast, width > 1, fast), "fast = true, width = 2 > 1"),
        (all_of(TIDY, width > 1, fast), "width = 2 > 1, fast = true"),
    ],
)
def test_a_fact_that_only_repeats_values_is_left_out(formula: Formula, line: str) -> None:
    assert because(formula, count=6, width=2, fast=True) == line


@settings(max_examples=400, deadline=None, derandomize=True)
@given(trees.formulas(), trees.values())
def test_every_formula_can_say_why(formula: Formula, values: Values) -> None:
    """Wherever it is defined, the facts can be read, and none is told twice."""
    lines = prologue(FIELDS, [formula])
    assume(compiled("d", [*lines, f"return {defined_source(formula)}"])(values))
    truth = compiled("t", [*lines, f"return {formula_source(formula)}"])(values)
    found = facts(formula, values, holds=truth)
    kept: list[Fact] = []
    for fact in found:
        if told([*kept, fact]) != told(kept):
            kept.append(fact)
    assert len({text for text, _ in kept}) == len(kept)
    assert told(kept) == told(found)
    assert words(formula)


def test_the_line_of_a_verdict() -> None:
    """The numbers in force, derived ones included, in the order in which the rule reads them."""
    halo = PROFILES["halo"]
    values = halo.config({"world_size": 8, "ep_size": 4}).values
    (index,) = halo.violated(values)
    assert halo.because(index, values) == (
        "num_nvlink_domains = 1, ep_size = 4 > 2, nvlink_domain_size = 8 > ep_group_size = 4"
    )


def test_every_rule_and_warning_of_the_profile_has_a_line() -> None:
    halo = PROFILES["halo"]
    for index, rule in enumerate(halo.rules):
        values = halo.config(rule.example.rejects).values
        line = halo.because(index, values)
        named = rule.reads | set(halo.quantity_of)
        assert any(name in line for name in named), (rule.id, line)
        assert "None" not in line, (rule.id, line)
