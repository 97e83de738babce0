"""Text on a terminal or in a pipe: wrapped and coloured on the one, plain on the other.

In a pipe, nothing is wrapped unless COLUMNS is exported, so that lines can be searched.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from typing import TextIO

YES, NO, OPEN = "bold green", "bold red", "bold yellow"
"""Styles of answers."""

WIDEST = 100
LABEL = 10

OPTION_AND_VALUE = re.compile(r"(--[\w-]+) (?=[^\s-])")
TOGETHER = "\0"
"""Stands for a space at which no line ends."""


class Screen:
    """Writes labelled paragraphs and tables. Colours only on a terminal without NO_COLOR."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.terminal = self.stream.isatty()
        wraps = self.terminal or os.environ.get("COLUMNS", "").isdecimal()
        self.width = min(shutil.get_terminal_size().columns, WIDEST) if wraps else 0
        self.colour = (
            self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )

    def line(self, text: str = "", style: str = "") -> None:
        """One line as it is."""
        self.stream.write(f"{self.styled(text, style)}\n")

    def styled(self, text: str, style: str) -> str:
        """The text with a style of rich's, if colours are on."""
        if not (style and self.colour):
            return text
        from rich.style import Style  # noqa: PLC0415  (only where there is colour)

        return Style.parse(style).render(text)

    def headline(self, word: str, text: str, style: str) -> None:
        """A verdict and what it is about."""
        head, *rest = self._wrapped(f"{word}  {text}", "", "    ")
        self.line(f"{self.styled(word, style)}{head[len(word) :]}")
        for line in rest:
            self.line(line)

    def paragraph(self, text: str, indent: int) -> None:
        """Text without a label."""
        for line in self._wrapped(text, " " * indent, " " * indent):
            self.line(line)

    def entry(self, label: str, text: str, wide: int = LABEL) -> None:
        """A labelled paragraph, indented; labels take so many columns."""
        first = f"  {label:<{wide}} "
        for line in self._wrapped(text, first, " " * len(first)):
            self.line(line)

    def _wrapped(self, text: str, first: str, rest: str) -> list[str]:
        if not self.width:
            return [first + text]
        lines = textwrap.wrap(
            OPTION_AND_VALUE.sub(rf"\1{TOGETHER}", text),
            self.width,
            initial_indent=first,
            subsequent_indent=rest,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return [line.replace(TOGETHER, " ") for line in lines] or [first]
