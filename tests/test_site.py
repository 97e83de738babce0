"""The documentation builds without a warning, asks no other host, and leaves no page out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.__main__ import main
from docs.reference import commands, options
from docs.staging import DOCS, PAGES, ROOT, kept
from parsolve.cli.app import SUMMARIES
from parsolve.constraints import PROFILES

ASKS = re.compile(
    r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]*)"|<link\b[^>]*\bhref="([^"]*)"'
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documentation") / "docs"
    assert main([], folder) == 0
    return folder


def test_every_page_is_in_the_navigation(place: Path) -> None:
    config = tomllib.loads((DOCS / "zensical.toml").read_text(encoding="utf-8"))
    pages = {path.relative_to(place / PAGES).as_posix() for path in (place / PAGES).rglob("*.md")}
    assert sorted(leaves(config["project"]["nav"])) == sorted(pages)


def leaves(nav: object) -> Iterator[str]:
    """The paths that a navigation leads to."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for each in nav.values():
            yield from leaves(each)
    elif isinstance(nav, list):
        for each in nav:
            yield from leaves(each)


def test_pages_load_only_what_the_site_holds(place: Path) -> None:
    pages = [*(place / "site").rglob("*.html")]
    assert len(pages) > 20
    for page in pages:
        for found in ASKS.finditer(page.read_text(encoding="utf-8")):
            target = (found[1] or found[2]).partition("#")[0].partition("?")[0]
            assert "//" not in target, f"{page.name} asks {target}"
            if target and not target.startswith("/"):
                assert (page.parent / target).exists(), f"{page.name} lacks {target}"


def test_a_pipe_in_a_table_stays_one(place: Path) -> None:
    page = (place / "site" / "reference" / "commands.html").read_text(encoding="utf-8")
    assert "<code>N|N,N|N..N</code>" in page


def test_images_of_pages_exist() -> None:
    for page in kept():
        if page.suffix == ".md":
            targets: list[str] = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text("utf-8"))
            assert [name for name in targets if not (page.parent / name).exists()] == []


def test_pages_pin_the_version_that_they_describe() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [page.read_text("utf-8") for page in kept() if page.suffix == ".md"]
    pinned = {version for text in texts for version in re.findall(r"parsolve==([\d.]+)", text)}
    assert pinned == {project["version"]}


@pytest.mark.parametrize("name", PROFILES)
def test_the_reference_names_every_option_of_a_profile(name: str) -> None:
    text = options(PROFILES[name])
    for field in PROFILES[name].fields:
        if field.flag and field.name != PROFILES[name].world:
            assert f"--{field.flag}`" in text or f"--no-{field.flag}`" in text
            assert f"`{field.name}`" in text


@pytest.mark.parametrize("name", PROFILES)
def test_every_rule_can_be_linked_to(name: str, place: Path) -> None:
    page = place / "site" / "reference" / f"{name}-rules.html"
    text = page.read_text(encoding="utf-8")
    for rule in PROFILES[name].limits:
        assert f'id="{rule.id}"' in text
    for quantity in PROFILES[name].derived:
        assert not quantity.about or f"<code>{quantity.name}</code>" in text
    for notice in PROFILES[name].warnings:
        assert f"<code>{notice.id}</code>" in text


def test_the_reference_names_every_command() -> None:
    text = commands()
    assert all(f"\n## {name}\n\n{summary}\n" in text for name, summary in SUMMARIES.items())


def test_misuse_of_the_builder_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish"]) == 2
    assert capsys.readouterr().err == "usage: python -m docs [serve]\n"
