"""What docs/advise.md shows is real: ``python tests/test_advise_page.py --write``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "advise.md"

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402  (after the path)

from parsolve.constraints import PROFILES  # noqa: E402
from parsolve.constraints.describe import words  # noqa: E402
from tests.advise_guide import ITEMS, ROWS, Item, Row, table  # noqa: E402

MADE = re.compile(r"(<!-- made: (?P<what>[a-z ]+) -->\n\n).*?(\n<!-- end -->)", re.DOTALL)


def made(what: str) -> str:
    """A table that the page has from the data."""
    kind, _, name = what.partition(" ")
    return {"guide": table, "rungs": rungs, "patterns": patterns}[kind](name)


def rungs(name: str) -> str:
    """The rungs of a profile, the least intrusive first."""
    ladder = PROFILES[name].ladder
    assert ladder is not None
    lines = ["| rung | sets | what it does | what it costs | only where |", "|---|---|---|---|---|"]
    for rung in ladder.rungs:
        sets = [f"{knob.name} = {str(value).lower()}" for knob, value in rung.sets]
        sets += [f"{rung.size.name} > 1"] if rung.size is not None else []
        only = f"{rung.need}: `{words(rung.only)}`" if rung.need else ""
        if rung.forbidden:
            only = f"nowhere: `{rung.forbidden}`"
        numbers = (
            f" ({', '.join(f'`{number}`' for number in rung.numbers)})" if rung.numbers else ""
        )
        lines.append(
            f"| {rung.name} | {', '.join(f'`{each}`' for each in sets)} | {rung.about} "
            f"| {rung.cost}{numbers} | {only} |"
        )
    return "\n".join(lines) + "\n"


def patterns(name: str) -> str:
    """The anti-patterns of a profile."""
    ladder = PROFILES[name].ladder
    assert ladder is not None
    lines = ["| anti-pattern | named where | measured by | source |", "|---|---|---|---|"]
    lines += [
        f"| `{each.id}` | `{words(each.when)}` "
        f"| {', '.join(f'`{number}`' for number in each.numbers)} | {each.source} |"
        for each in ladder.anti_patterns
    ]
    return "\n".join(lines) + "\n"


def with_tables(text: str) -> str:
    """The page with the tables of today."""
    return MADE.sub(lambda found: f"{found[1]}{made(found['what'])}{found[3]}", text)


def test_the_page_is_fresh() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- made: ") == len(MADE.findall(text)) == 8
    assert text == with_tables(text), "run python tests/test_advise_page.py --write"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.table} {row.says}")
def test_advice_agrees_with_the_guide_or_the_page_says_why_not(row: Row) -> None:
    """A reason stands where the advice is another one, and only there."""
    advice = row.advice()
    assert advice.certificate.status == "proved"
    assert row.agrees(advice) != bool(row.why)
    if row.why:
        assert row.why in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.table} {row.says}")
def test_a_row_is_what_the_guide_recommends(row: Row) -> None:
    """Its example is in the ranges that it allows, and only memory may refuse it."""
    config = row.guided()
    for axis, (low, high) in row.ranges.items():
        assert low <= config[axis] <= high or row.says == "<2K"
    refused = {config.profile.limits[i].id for i in config.profile.violated(config.values)}
    assert refused <= {"memory-exceeds-gpu"}


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.says)
def test_halo_is_advised_as_its_own_list_says(item: Item) -> None:
    """Never a pipeline, which is item 5."""
    advice = item.advice()
    assert advice.status == "advised"
    assert item.used(advice).keys() == item.axes
    assert {"pp_size"}.isdisjoint(item.axes)
    assert {rung.rung: rung.state for rung in advice.rungs}["PP"] == "impossible"


def test_every_row_of_the_guide_is_there() -> None:
    """Six sizes, three topologies, four lengths; two rows have a second example."""
    tables = [row.table for row in ROWS]
    assert (tables.count("size"), tables.count("topology"), tables.count("length")) == (6, 4, 5)


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
