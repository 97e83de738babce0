"""HTML text in which everything is escaped that is not markup itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape

VOID = frozenset({"input", "meta", "link", "br"})
"""Elements without an end tag."""

ESCAPES = {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def markup(content: str | Iterable[str]) -> Markup:
    """Pieces in order; those that are plain text are escaped."""
    if isinstance(content, str):
        return content if isinstance(content, Markup) else Markup(escape(content))
    return Markup("".join(map(markup, content)))


def tag(name: str, *content: str | Iterable[str], **attributes: str | bool) -> Markup:
    """An element. Attributes are spelled with ``_`` for ``-``; True is one without a value."""
    pairs = (
        (key.strip("_").replace("_", "-"), value)
        for key, value in attributes.items()
        if value is not False
    )
    written = "".join(
        f" {key}" if value is True else f' {key}="{escape(str(value))}"' for key, value in pairs
    )
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{markup(map(markup, content))}</{name}>")


def script_json(value: object) -> Markup:
    """JSON that can stand in a script element: no character in it starts a tag or an entity."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escape_ in ESCAPES.items():
        text = text.replace(character, escape_)
    return Markup(text)
