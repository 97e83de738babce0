"""A table that keeps within the screen.

Headings wrap at spaces where that helps. One column, of options, takes several lines of a row;
where even one option is too long for it, they stand below the row.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from parsolve.cli.screen import Screen

UNWRAPPED = 80
"""Columns of a table where nothing else is wrapped."""

BETWEEN_OPTIONS = re.compile(r" (?=--|[A-Z(])")
NARROWEST = 18
"""Columns that options need beside the rest: `--ep-scope global` and more."""

BELOW = " " * 6


@dataclass(frozen=True)
class Column:
    """A heading, the width of its cells, and whether they stand right; ``wraps``: options."""

    heading: str
    width: int
    right: bool = True
    wraps: bool = False


class Table:
    """Rows that are written as they come, in columns whose widths are known before."""

    def __init__(self, screen: Screen, columns: Sequence[Column]) -> None:
        self.screen, self.columns = screen, columns
        self.limit = screen.width or UNWRAPPED
        heads = [[column.heading] for column in columns]
        if self._room(heads) < self._wanted:
            heads = [textwrap.wrap(c.heading, max(c.width, _longest(c.heading))) for c in columns]
        room = self._room(heads)
        self.fits = self._wanted <= room
        self.widths = [
            min(max(column.width, len(column.heading)), max(room, len(column.heading)))
            if column.wraps
            else max(column.width, *map(len, head))
            for column, head in zip(columns, heads, strict=True)
        ]
        height = max(map(len, heads))
        for line in range(height):
            cells = [([""] * (height - len(head)) + head)[line] for head in heads]
            self._line(cells, "bold")

    @property
    def _wanted(self) -> int:
        return sum(column.width for column in self.columns if column.wraps)

    def _room(self, heads: Sequence[Sequence[str]]) -> int:
        """Columns that the others leave for what wraps."""
        others = [
            max(column.width, *map(len, head))
            for column, head in zip(self.columns, heads, strict=True)
            if not column.wraps
        ]
        return self.limit - 2 * (len(self.columns)) - sum(others)

    def row(self, cells: Sequence[str]) -> None:
        """One row, on as many lines as its options take."""
        lines = [list(cells)]
        below: list[str] = []
        for place, column in enumerate(self.columns):
            if not column.wraps:
                continue
            parts = _filled(cells[place], self.widths[place])
            if any(len(part) > self.widths[place] for part in parts):
                parts, below = [""], _filled(cells[place], self.limit - len(BELOW))
            blank = [""] * len(cells)
            lines += [list(blank) for _ in parts[1:]]
            for line, part in zip(lines, parts, strict=True):
                line[place] = part
        for line in lines:
            self._line(line)
        for part in below:
            self.screen.line(f"{BELOW}{part}")

    def _line(self, cells: Sequence[str], style: str = "") -> None:
        padded = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(cells, self.widths, self.columns, strict=True)
        )
        self.screen.line(f"  {'  '.join(padded)}".rstrip(), style)


def show_table(
    screen: Screen, headings: Sequence[str], rows: Sequence[Sequence[str]], wraps: str = ""
) -> None:
    """A table of rows that are all there: columns as wide as their widest cell."""
    table = Table(screen, measured(headings, rows, wraps))
    for row in rows:
        table.row(row)


def measured(
    headings: Sequence[str], rows: Sequence[Sequence[str]], wraps: str = ""
) -> list[Column]:
    """The columns of these rows; numbers stand to the right."""
    return [
        Column(
            heading,
            max(len(row[place]) for row in rows),
            right=all(row[place].lstrip("-").isdigit() or row[place] in {"", "-"} for row in rows),
            wraps=heading == wraps,
        )
        for place, heading in enumerate(headings)
    ]


def room_beside(screen: Screen, columns: Sequence[Column]) -> int:
    """Columns that are left for options where the headings of the others wrap."""
    others = [max(c.width, _longest(c.heading)) for c in columns if not c.wraps]
    return (screen.width or UNWRAPPED) - 2 * len(columns) - sum(others)


def _longest(heading: str) -> int:
    return max(map(len, heading.split()), default=0)


def _filled(text: str, width: int) -> list[str]:
    """Lines of whole options."""
    lines = [""]
    for part in BETWEEN_OPTIONS.split(text):
        if not lines[-1]:
            lines[-1] = part
        elif len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines
