"""What the site is made of: the pages that are kept here, and the reference that is generated."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from docs.reference import pages

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CONFIG = "zensical.toml"
PAGES = "pages"
KEPT = (".md", ".json", ".png", ".css")
"""What kinds of files belong to the site."""

TABLE_ROW = re.compile(r"^\|.*$", re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def kept() -> Iterator[Path]:
    """Files of this folder that belong to the site."""
    return (path for path in sorted(DOCS.rglob("*")) if path.suffix in KEPT)


def stage(folder: Path) -> None:
    """Put ``zensical.toml`` and all pages there, in place of what was there."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in kept():
        place = folder / PAGES / path.relative_to(DOCS)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            place.write_text(plain_pipes(inside(path)), encoding="utf-8")
        else:
            shutil.copyfile(path, place)
    for name, text in pages():
        place = folder / PAGES / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(plain_pipes(text), encoding="utf-8")
    shutil.copyfile(DOCS / CONFIG, folder / CONFIG)


def plain_pipes(text: str) -> str:
    """The text as the site's Markdown has it: a pipe inside of code in a table is not escaped."""
    return TABLE_ROW.sub(
        lambda row: CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text
    )


def inside(page: Path) -> str:
    """A page whose links to other files of the repository are only their text: no site has them."""

    def kept_or_text(link: re.Match[str]) -> str:
        target = (page.parent / link["target"]).resolve()
        leads_out = "://" not in link["target"] and not target.is_relative_to(DOCS)
        return link["text"] if leads_out else link[0]

    return LINK.sub(kept_or_text, page.read_text(encoding="utf-8"))
