"""The tree read as JavaScript, run by Chromium, against the tree read as Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING
from typing import Any as Anything

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsolve.constraints import PROFILES, javascript
from parsolve.constraints import evaluate as python
from parsolve.constraints.fields import Field, Size, Sizes
from parsolve.constraints.formula import (
    All,
    Any,
    BoolVariable,
    Compare,
    Divides,
    Formula,
    NamedFormula,
    Not,
    Term,
    Truth,
)
from parsolve.constraints.profile import holds
from parsolve.solver.query import build_query
from parsolve.solver.search import search
from tests import trees

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

UNDEFINED = "undefined"
FORMULAS = (Truth, BoolVariable, Compare, Divides, All, Any, Not, NamedFormula)


@pytest.fixture(scope="module")
def blank(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


def known(fields: tuple[Field, ...], values: python.Values) -> dict[str, Anything]:
    """Values by name as the page has them: unset sizes and the features of lists resolved."""
    found: dict[str, Anything] = {}
    for field, value in zip(fields, values, strict=True):
        if isinstance(field, Sizes):
            found |= {f"{field.name}_{name}": n for name, n in field.features(value).items()}
        elif isinstance(field, Size) and value is None:
            found[field.name] = field.unset
        else:
            found[field.name] = value
    return found


def in_browser(page: Page, node: Term | Formula, values: dict[str, Anything]) -> Anything:  # noqa: ANN401
    """The node's value, or `UNDEFINED`."""
    is_term = not isinstance(node, FORMULAS)
    source = javascript.term_source(node) if is_term else javascript.formula_source(node)  # type: ignore[arg-type]
    body = [javascript.PRELUDE, *javascript.bound([node])]
    body.append(f"return {javascript.defined_source(node)} ? {source} : {UNDEFINED!r};")
    text = "\n".join(body)
    return page.evaluate(f"(known) => {{ {text} }}", values)


def in_python(node: Term | Formula, values: python.Values) -> Anything:  # noqa: ANN401
    is_term = not isinstance(node, FORMULAS)
    source = python.term_source(node) if is_term else python.formula_source(node)  # type: ignore[arg-type]
    lines = python.prologue(trees.FIELDS, [node])
    defined = python.defined_source(node)
    lines.append(f"return {source} if {defined} else {UNDEFINED!r}")
    return python.compiled("value", lines)(values)


THOROUGH = settings(max_examples=300, suppress_health_check=list(HealthCheck))


@THOROUGH
@given(node=st.one_of(trees.terms(), trees.formulas()), values=trees.values())
def test_every_tree_is_read_alike(blank: Page, node: Term | Formula, values: Anything) -> None:  # noqa: ANN401
    assert in_browser(blank, node, known(trees.FIELDS, values)) == in_python(node, values)


@pytest.mark.parametrize("divisor", [1, 2, 3, 7])
def test_division_rounds_down_as_in_python(blank: Page, divisor: int) -> None:
    numbers = [*range(-20, 21), 2**53 - 1, -(2**52)]
    text = f"{javascript.PRELUDE} return numbers.map((n) => [div(n, {divisor}), mod(n, {divisor})])"
    found = blank.evaluate(f"(numbers) => {{ {text} }}", numbers)
    assert found == [[n // divisor, n % divisor] for n in numbers]


def test_two_decimals_are_those_of_python(blank: Page) -> None:
    script = files("parsolve.cli.report").joinpath("state.js").read_text(encoding="utf-8")
    line = next(line for line in script.splitlines() if line.startswith("const fixed"))
    numbers = [n / 16 for n in range(-200, 2000)] + [n / 1000 for n in range(4000)]
    found = blank.evaluate(f"(numbers) => {{ {line} return numbers.map(fixed); }}", numbers)
    assert found == [f"{number:.2f}" for number in numbers]


CLUSTERS = [
    ("halo", 64, {"gpus_per_node": 8}),
    ("halo", 48, {"gpus_per_node": 8, "use_hsdp": True}),
    ("halo", 144, {"gpus_per_node": 4, "nvlink_domain_size": 72}),
    ("halo", 32, {"gpus_per_node": 8, "assume_pp": True}),
    ("megatron", 64, {"gpus_per_node": 8}),
    ("megatron", 48, {"gpus_per_node": 8, "tp_pp_dp_order": True}),
    ("torchtitan", 32, {"gpus_per_node": 8}),
]
SAMPLE = 30


@pytest.mark.parametrize(("name", "world", "given"), CLUSTERS)
def test_a_page_places_ranks_where_the_framework_does(
    blank: Page, name: str, world: int, given: dict[str, object]
) -> None:
    profile = PROFILES[name]
    query = build_query(profile, [world], {"model_kind": "moe", **given})
    accepted = [query.completed(at, query.free, chosen) for at, chosen, _ in search(query)]
    assert accepted
    kinds = profile.layout.kinds
    source = javascript.groupings_source(kinds)
    places = [each.places(profile.fields, profile.field_of[profile.world]) for each in kinds]  # type: ignore[arg-type]
    members = [each.groups(profile.fields) for each in kinds]
    for values in random.Random(name).sample(accepted, min(SAMPLE, len(accepted))):
        found = blank.evaluate(
            f"""([known, world]) => {{
                {javascript.PRELUDE}
                const ranks = Array.from({{length: world}}, (_, rank) => rank);
                return ({source})(known).filter((each) => each.holds).map((each) => [
                    each.name, ranks.map((rank) => [each.index(rank), each.position(rank)]),
                    Array.from({{length: each.count}}, (_, group) =>
                        Array.from({{length: each.size}}, (_, place) => each.member(group, place))),
                ]);
            }}""",
            [known(profile.fields, values), world],
        )
        assert found == [
            [each.name, [list(place) for place in place_of(values)], groups_of(values)]
            for each, place_of, groups_of in zip(kinds, places, members, strict=True)
            if holds(profile, each.where, values)
        ]
