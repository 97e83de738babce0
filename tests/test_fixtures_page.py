"""Transcripts of docs/fixtures.md are real; ``python tests/test_fixtures_page.py --write``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import get_args, get_type_hints

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "fixtures.md"

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from parsolve.cli.fixture_tests import TO_EDIT  # noqa: E402  (after the path)
from parsolve.solver.answer import LeftOut, Shows  # noqa: E402
from tests.test_readme import rewritten  # noqa: E402


def test_the_page_is_fresh() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- transcript -->") == text.count("```console") >= 3
    assert text == rewritten(text), "run python tests/test_fixtures_page.py --write"


def test_it_explains_every_kind_and_every_reason_and_shows_the_line_to_edit() -> None:
    text = PAGE.read_text(encoding="utf-8")
    kinds = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert kinds == ["kind", *get_args(get_type_hints(Shows)["kind"])]
    assert all(f"`{why}`" in text for why in get_args(get_type_hints(LeftOut)["why"]))
    assert TO_EDIT in text


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
