"""Pictures of the report for the documentation: ``python -m tests.browser.screenshots``.

Writes docs/images/*.png with an installed Chromium.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import arguments, installed
from tests.cli.run import ROOT, cli

IMAGES = ROOT / "docs" / "images"
MEGATRON = (
    "--profile", "megatron", "--world", "64", "--gpus-per-node", "8", "--model", "qwen3-30b-a3b",
    "--gpu", "h100", "--seq-length", "4096", "--global-batch", "64", "--pareto", "memory,dp",
)  # fmt: skip
REJECTED = ("--world", "8", "--gpus-per-node", "8", "--ep", "4")


@dataclass(frozen=True)
class Picture:
    """A part of a report: from the top of one element on, so many pixels high."""

    name: str
    report: tuple[str, ...]
    scheme: str
    start: str
    height: int
    rows_matching: str = ""
    rank: int = 0


PICTURES = (
    Picture("report", MEGATRON, "light", "#configurations", 1225),
    Picture("report-selected", MEGATRON, "dark", "#ranks-title", 722, "pp 4 ep 4 etp 4", 21),
    Picture("report-rejected", REJECTED, "light", "h1", 640),
)


def taken(browser: Browser, picture: Picture, page_path: Path) -> None:
    """Write the picture of a report's file."""
    page = browser.new_page(
        viewport={"width": 1120, "height": 900},
        color_scheme="dark" if picture.scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    page.goto(page_path.as_uri())
    page.wait_for_selector("#plot svg")
    page.locator("#page-size").select_option("10")
    page.add_style_tag(content="header { position: static !important }")
    if picture.rows_matching:
        page.locator("#filter-text").fill(picture.rows_matching)
        page.locator("#table tbody tr").first.click()
    if picture.rank:
        page.locator("#ranks-rank").fill(str(picture.rank))
    page.wait_for_timeout(500)
    page.evaluate("scrollTo(0, 0)")
    top = page.locator(picture.start).bounding_box()
    assert top is not None
    page.screenshot(
        path=IMAGES / f"{picture.name}.png",
        full_page=True,
        clip={"x": 0, "y": max(0, top["y"] - 12), "width": 1120, "height": picture.height},
    )
    page.close()


def main() -> None:
    """Take every picture."""
    path = installed()
    if path is None:
        sys.exit("no browser is installed")
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=path, args=arguments())
        for picture in PICTURES:
            page = Path(folder) / f"{picture.name}.html"
            cli("report", "-o", str(page), *picture.report)
            taken(browser, picture, page)
        browser.close()


if __name__ == "__main__":
    main()
