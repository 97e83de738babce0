"""What every SVG file of parsolve has: it needs nothing outside, and follows light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias
from xml.etree import ElementTree as ET

NAMESPACE = "http://www.w3.org/2000/svg"

PAD = 16
"""Space around all in pixels."""

DIGIT = 7
"""Pixels of a digit."""

Colours: TypeAlias = Mapping[str, tuple[str, str]]
"""Colours by name, each on a light and on a dark page."""

PAGE: Colours = {"page": ("#ffffff", "#0d1117"), "text": ("#1b1f24", "#e6edf3")}

BLUE, GREEN = ("#9ecbff", "#1f5fa8"), ("#a6e3b8", "#1f7a3d")


def canvas(title: str, about: str, style: str, width: str, height: str) -> ET.Element:
    """An empty file of so many pixels, with what it says to those who do not see it."""
    root = ET.Element(
        "svg",
        xmlns=NAMESPACE,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        attrib={"aria-labelledby": "title description"},
    )
    leaf(root, "title", title, id="title")
    leaf(root, "desc", about, id="description")
    leaf(root, "style", style)
    leaf(root, "rect", width="100%", height="100%", attrib={"class": "page"})
    return root


def leaf(
    parent: ET.Element,
    tag: str,
    text: str = "",
    attrib: Mapping[str, str] | None = None,
    **more: str,
) -> None:
    """Add an element without children; attributes that are no Python names go by ``attrib``."""
    ET.SubElement(parent, tag, {**more, **(attrib or {})}).text = text or None


def style_sheet(colours: Colours, fills: Colours, rules: Iterable[str], line: str = "") -> str:
    """The style of texts and lines, a class for each of the ``fills``, and other ``rules``.

    Rules read a colour as a variable of its name. ``line`` adds to the look of lines.
    """
    every = {**PAGE, **colours, **fills}
    light, dark = (
        "; ".join(f"--{name}: {pair[side]}" for name, pair in every.items()) for side in (0, 1)
    )
    lines = (
        "text { font: 12px system-ui, sans-serif; fill: var(--text) }",
        ".head { font-weight: 600 }",
        ".n { text-anchor: middle; font-size: 11px }",
        ".page { fill: var(--page) }",
        f"line {{ stroke: var(--line){line} }}",
        *(f".{name} {{ fill: var(--{name}) }}" for name in fills),
        *rules,
        f":root {{ color-scheme: light dark; {light} }}",
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}",
    )
    return "".join(f"{each}\n" for each in lines)


def written(root: ET.Element) -> str:
    """The text of the file."""
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode") + "\n"
