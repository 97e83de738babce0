"""docs/fixtures.md explains all that fixtures are made of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

from parsolve.cli.fixture_tests import TO_EDIT
from parsolve.solver.answer import LeftOut, Shows

PAGE = Path(__file__).resolve().parents[1] / "docs" / "fixtures.md"


def test_it_explains_every_kind_and_every_reason_and_shows_the_line_to_edit() -> None:
    text = PAGE.read_text(encoding="utf-8")
    kinds = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert kinds == ["kind", *get_args(get_type_hints(Shows)["kind"])]
    assert all(f"`{why}`" in text for why in get_args(get_type_hints(LeftOut)["why"]))
    assert TO_EDIT in text
