"""A pipeline schedule as one SVG file: a row for each rank, a box for each piece of work.

Nothing outside the file is needed. Colours follow the reader's choice of light or dark; what they
say is also in the legend and in the tooltip of every box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias
from xml.etree import ElementTree as ET

from parsolve.cli.timeline import sizes, time
from parsolve.solver.answer import Item, Schedule

NAMESPACE = "http://www.w3.org/2000/svg"

ROW, BOX, PAD = 26, 20, 16
"""Height of a row and of its boxes, and the space around all, in pixels."""

LABEL = 64
"""Pixels left of the timeline."""

NARROW, WIDEST = 20, 12_000
"""Pixels of the shortest piece of work, and of the whole timeline at most."""

DIGIT = 7
"""Pixels of a digit."""

BETWEEN_MARKS = 60
"""Pixels between two numbers of the axis, at least."""

SHADES = 4
"""Shades of a kind of work; of more chunks, the fifth looks like the first."""

MOST_ALIKE = 3
"""Chunks of one shade that the legend names."""

LEGEND_ROW = 22
"""Height of a row of the legend in pixels."""

Colours: TypeAlias = Mapping[str, str | tuple[str, ...]]

LIGHT: Colours = {
    "page": "#ffffff",
    "text": "#1b1f24",
    "line": "#d0d7de",
    "f": ("#9ecbff", "#5fa8f5", "#c8e1ff", "#7fb9f7"),
    "b": ("#a6e3b8", "#64c283", "#cdf0d7", "#84d29d"),
}
DARK: Colours = {
    "page": "#0d1117",
    "text": "#e6edf3",
    "line": "#30363d",
    "f": ("#1f5fa8", "#15467f", "#2f78cc", "#1a5293"),
    "b": ("#1f7a3d", "#155a2c", "#2a9850", "#196a35"),
}


def svg(answer: Schedule) -> str:
    """The whole file."""
    shortest = min(item.end - item.start for rank in answer.ranks for item in rank.items)
    scale = min(NARROW / shortest, WIDEST / answer.total_time)
    title = f"Pipeline schedule: {sizes(answer)}"
    entries = _legend_entries(answer.virtual_stages)
    legend = max(sum(_legend_width(text) for _, text in row) for row in entries)
    width = 2 * PAD + max(LABEL + answer.total_time * scale + PAD, legend, (DIGIT + 1) * len(title))
    chart = PAD + 36
    below = chart + ROW * answer.pp
    height = below + 48 + LEGEND_ROW * (len(entries) + 1)
    root = ET.Element(
        "svg",
        xmlns=NAMESPACE,
        viewBox=f"0 0 {_short(width)} {height}",
        width=_short(width),
        height=str(height),
        role="img",
        attrib={"aria-labelledby": "title description"},
    )
    share = answer.bubble.of_step
    about = (
        f"{time(answer, answer.total_time)} units a step, {time(answer, answer.ideal_time)} of "
        f"work; bubble {share.numerator}/{share.denominator} of the step "
        f"({share.numerator / share.denominator:.1%})"
    )
    _leaf(root, "title", title, id="title")
    _leaf(root, "desc", f"{about}. One row for each rank, time to the right.", id="description")
    _leaf(root, "style", _style())
    _leaf(root, "rect", width="100%", height="100%", attrib={"class": "page"})
    _leaf(root, "text", title, x=str(PAD), y=str(PAD + 8), attrib={"class": "head"})
    _leaf(root, "text", about, x=str(PAD), y=str(PAD + 26))
    left = PAD + LABEL
    _axis(root, answer, scale, (left, chart, below))
    for rank in answer.ranks:
        top = chart + ROW * rank.rank + (ROW - BOX) // 2
        _leaf(root, "text", f"rank {rank.rank}", x=str(PAD), y=str(top + 14))
        row = ET.SubElement(root, "g", transform=f"translate({left} {top})")
        for item in rank.items:
            _box(row, answer, rank.rank, item, scale)
    _legend(root, entries, below + 40)
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode") + "\n"


def _box(row: ET.Element, answer: Schedule, rank: int, item: Item, scale: float) -> None:
    kind = "forward" if item.kind == "F" else "backward"
    chunk = f", chunk {item.chunk}" if answer.virtual_stages > 1 else ""
    group = ET.SubElement(row, "g")
    _leaf(
        group,
        "title",
        f"{kind} of micro-batch {item.microbatch}{chunk} on rank {rank}: "
        f"{time(answer, item.start)} to {time(answer, item.end)} units",
    )
    wide = (item.end - item.start) * scale
    _leaf(
        group,
        "rect",
        x=_short(item.start * scale),
        width=_short(wide),
        height=str(BOX),
        attrib={"class": _look(item.kind, item.chunk)},
    )
    if wide >= DIGIT * len(str(item.microbatch)) + 2:
        middle = _short(item.start * scale + wide / 2)
        _leaf(group, "text", str(item.microbatch), x=middle, y="14", attrib={"class": "n"})


def _axis(root: ET.Element, answer: Schedule, scale: float, place: tuple[int, int, int]) -> None:
    """Vertical lines at round numbers of units, with the numbers below."""
    left, top, bottom = place
    unit = answer.ticks_per_unit * scale
    step = next(step for step in _round_numbers() if step * unit >= BETWEEN_MARKS)
    for mark in range(0, answer.total_time // answer.ticks_per_unit + 1, step):
        x = _short(left + mark * unit)
        _leaf(root, "line", x1=x, x2=x, y1=str(top), y2=str(bottom + 4))
        _leaf(root, "text", f"{mark:,}", x=x, y=str(bottom + 18), attrib={"class": "n"})
    _leaf(root, "text", "units", x=str(PAD), y=str(bottom + 18))


def _legend(root: ET.Element, entries: Sequence[Sequence[tuple[str, str]]], top: int) -> None:
    """A row for forwards and one for backwards."""
    for row, looks in enumerate(entries):
        x, y = PAD, top + LEGEND_ROW * row
        for look, text in looks:
            box = {"x": str(x), "y": str(y), "width": "14", "height": "14", "class": look}
            _leaf(root, "rect", attrib=box)
            _leaf(root, "text", text, x=str(x + 20), y=str(y + 12))
            x += _legend_width(text)
    below = top + LEGEND_ROW * len(entries) + 12
    _leaf(root, "text", "The number is the micro-batch.", x=str(PAD), y=str(below))


def _legend_entries(virtual_stages: int) -> list[list[tuple[str, str]]]:
    """Looks and what they mean."""
    if virtual_stages == 1:
        return [[(_look("F", 0), "forward"), (_look("B", 0), "backward")]]
    rows = []
    for kind, name in (("F", "forward"), ("B", "backward")):
        row = []
        for shade in range(min(virtual_stages, SHADES)):
            alike = range(shade, virtual_stages, SHADES)
            more = ", ..." if len(alike) > MOST_ALIKE else ""
            chunks = ", ".join(map(str, alike[:MOST_ALIKE]))
            row.append((_look(kind, shade), f"{name}, chunk {chunks}{more}"))
        rows.append(row)
    return rows


def _legend_width(text: str) -> int:
    return 36 + DIGIT * len(text)


def _look(kind: str, chunk: int) -> str:
    return f"{kind.lower()}{chunk % SHADES}"


def _style() -> str:
    return (
        "text { font: 12px system-ui, sans-serif; fill: var(--text) }\n"
        ".head { font-weight: 600 }\n"
        ".n { text-anchor: middle; font-size: 11px }\n"
        ".page { fill: var(--page) }\n"
        "line { stroke: var(--line) }\n"
        "g rect { stroke: var(--page) }\n"
        + "".join(
            f".{kind}{shade} {{ fill: var(--{kind}{shade}) }}\n"
            for kind in "fb"
            for shade in range(SHADES)
        )
        + f":root {{ color-scheme: light dark; {_variables(LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}\n"
    )


def _variables(colours: Colours) -> str:
    """Colours as CSS variables; several of a name are numbered."""
    pairs = []
    for name, colour in colours.items():
        if isinstance(colour, str):
            pairs.append(f"--{name}: {colour}")
        else:
            pairs += [f"--{name}{shade}: {one}" for shade, one in enumerate(colour)]
    return "; ".join(pairs)


def _round_numbers() -> Iterator[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def _short(number: float) -> str:
    """At most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _leaf(
    parent: ET.Element,
    tag: str,
    text: str = "",
    attrib: dict[str, str] | None = None,
    **more: str,
) -> None:
    ET.SubElement(parent, tag, {**more, **(attrib or {})}).text = text or None
