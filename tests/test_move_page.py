"""Transcripts of docs/move.md are real; ``python tests/test_move_page.py --write``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "move.md"

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.test_readme import rewritten  # noqa: E402  (after the path)


def test_the_page_is_fresh() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- transcript -->") == text.count("```console") >= 3
    assert text == rewritten(text), "run python tests/test_move_page.py --write"


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
