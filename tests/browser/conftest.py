"""A real Chromium without a window; where none is installed, what needs it is skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEIGHT = 900
"""Pixels of the window."""


expect.set_options(timeout=30_000)  # milliseconds: a process of tests keeps each core busy


def installed() -> str | None:
    """The path of the first browser that there is; Playwright downloads none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def arguments() -> list[str]:
    """Chromium refuses its sandbox to root, as whom containers run."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = installed()
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=arguments())
        yield found
        found.close()


class Opened:
    """A page from a file, and what it complained about or asked the network for."""

    def __init__(
        self, browser: Browser, path: Path, scheme: str = "light", width: int = 1200
    ) -> None:
        self.path = path
        self.page: Page = browser.new_page(
            viewport={"width": width, "height": HEIGHT},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html.ready")

    def close(self) -> None:
        """Close the page, having complained about nothing and asked for nothing but itself."""
        self.page.wait_for_timeout(100)
        self.page.close()
        assert self.complaints == []
        assert self.requests == [self.path.as_uri()]
