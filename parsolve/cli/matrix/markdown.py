"""How Markdown is written: code, links, prose, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from textwrap import fill

from parsolve.constraints.profile import Profile

WIDTH = 100
"""Columns of a line of prose."""

PADDED = 120
"""Widest table whose cells are padded; in a wider one the padding would be most of it."""


def code(text: str) -> str:
    """The text set as code."""
    return f"`{text}`"


def marked(profile: Profile, text: str) -> str:
    """The text with names set as code."""
    return _names(profile).sub(lambda match: code(match[0]), text)


@cache
def _names(profile: Profile) -> re.Pattern[str]:
    """Ids of the catalogue, and whatever is spelled like a name in code."""
    known = [rule.id for rule in profile.rules]
    known += [notice.id for notice in profile.warnings]
    known += [at_run_time.id for at_run_time in profile.run_time_checks]
    ids = "|".join(re.escape(identity) for identity in known if "-" in identity)
    return re.compile(rf"(?<![\w`-])(?:{ids}|\w*_\w*(?:\(\))?)(?![\w`-])")


def lower(text: str) -> str:
    """The text inside a sentence: first letter small, unless its word is an abbreviation."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def link(heading: str) -> str:
    """A link to the section with this heading."""
    anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
    return f"[{heading}](#{anchor})"


def prose(profile: Profile, text: str) -> str:
    """A paragraph, wrapped, with names set as code."""
    return _wrapped(profile, text)


def bullets(profile: Profile, items: Iterable[str]) -> str:
    """A list, its items written as prose."""
    return "\n".join(_wrapped(profile, f"- {item}", indent="  ") for item in items)


def _wrapped(profile: Profile, text: str, indent: str = "") -> str:
    return fill(
        marked(profile, text),
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; pipes inside its cells are escaped."""
    cells = [[text.replace("|", "\\|") for text in row] for row in (head, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    if sum(widths) > PADDED:
        widths = [0] * len(widths)
    ruler = ["-" * max(3, width) for width in widths]
    lines = [
        f"| {' | '.join(text.ljust(width) for text, width in zip(row, widths, strict=True))} |"
        for row in (cells[0], ruler, *cells[1:])
    ]
    return "\n".join(lines)
