"""A pipeline schedule as one SVG file: a row for each rank, a box for each piece of work.

Nothing outside the file is needed. Colours follow the reader's choice of light or dark; what they
say is also in the legend and in the tooltip of every box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from parsolve.cli.svg import BLUE, DIGIT, GREEN, PAD, canvas, leaf, style_sheet, written
from parsolve.cli.timeline import sizes, time
from parsolve.solver.answer import Item, Schedule

ROW, BOX = 26, 20
"""Height of a row and of its boxes in pixels."""

LABEL = 64
"""Pixels left of the timeline."""

NARROW, WIDEST = 20, 12_000
"""Pixels of the shortest piece of work, and of the whole timeline at most."""

BETWEEN_MARKS = 60
"""Pixels between two numbers of the axis, at least."""

SHADES = 4
"""Shades of a kind of work; of more chunks, the fifth looks like the first."""

MOST_ALIKE = 3
"""Chunks of one shade that the legend names."""

LEGEND_ROW = 22
"""Height of a row of the legend in pixels."""

FILLS = {
    "f0": BLUE,
    "f1": ("#5fa8f5", "#15467f"),
    "f2": ("#c8e1ff", "#2f78cc"),
    "f3": ("#7fb9f7", "#1a5293"),
    "b0": GREEN,
    "b1": ("#64c283", "#155a2c"),
    "b2": ("#cdf0d7", "#2a9850"),
    "b3": ("#84d29d", "#196a35"),
}
"""Shades of forwards and of backwards, on a light and on a dark page."""


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
    share = answer.bubble.of_step
    about = (
        f"{time(answer, answer.total_time)} units a step, {time(answer, answer.ideal_time)} of "
        f"work; bubble {share.numerator}/{share.denominator} of the step "
        f"({share.numerator / share.denominator:.1%})"
    )
    said = f"{about}. One row for each rank, time to the right."
    root = canvas(title, said, _style(), _short(width), str(height))
    leaf(root, "text", title, x=str(PAD), y=str(PAD + 8), attrib={"class": "head"})
    leaf(root, "text", about, x=str(PAD), y=str(PAD + 26))
    left = PAD + LABEL
    _axis(root, answer, scale, (left, chart, below))
    for rank in answer.ranks:
        top = chart + ROW * rank.rank + (ROW - BOX) // 2
        leaf(root, "text", f"rank {rank.rank}", x=str(PAD), y=str(top + 14))
        row = ET.SubElement(root, "g", transform=f"translate({left} {top})")
        for item in rank.items:
            _box(row, answer, rank.rank, item, scale)
    _legend(root, entries, below + 40)
    return written(root)


def _box(row: ET.Element, answer: Schedule, rank: int, item: Item, scale: float) -> None:
    kind = "forward" if item.kind == "F" else "backward"
    chunk = f", chunk {item.chunk}" if answer.virtual_stages > 1 else ""
    group = ET.SubElement(row, "g")
    leaf(
        group,
        "title",
        f"{kind} of micro-batch {item.microbatch}{chunk} on rank {rank}: "
        f"{time(answer, item.start)} to {time(answer, item.end)} units",
    )
    wide = (item.end - item.start) * scale
    leaf(
        group,
        "rect",
        x=_short(item.start * scale),
        width=_short(wide),
        height=str(BOX),
        attrib={"class": _look(item.kind, item.chunk)},
    )
    if wide >= DIGIT * len(str(item.microbatch)) + 2:
        middle = _short(item.start * scale + wide / 2)
        leaf(group, "text", str(item.microbatch), x=middle, y="14", attrib={"class": "n"})


def _axis(root: ET.Element, answer: Schedule, scale: float, place: tuple[int, int, int]) -> None:
    """Vertical lines at round numbers of units, with the numbers below."""
    left, top, bottom = place
    unit = answer.ticks_per_unit * scale
    step = next(step for step in _round_numbers() if step * unit >= BETWEEN_MARKS)
    for mark in range(0, answer.total_time // answer.ticks_per_unit + 1, step):
        x = _short(left + mark * unit)
        leaf(root, "line", x1=x, x2=x, y1=str(top), y2=str(bottom + 4))
        leaf(root, "text", f"{mark:,}", x=x, y=str(bottom + 18), attrib={"class": "n"})
    leaf(root, "text", "units", x=str(PAD), y=str(bottom + 18))


def _legend(root: ET.Element, entries: Sequence[Sequence[tuple[str, str]]], top: int) -> None:
    """A row for forwards and one for backwards."""
    for row, looks in enumerate(entries):
        x, y = PAD, top + LEGEND_ROW * row
        for look, text in looks:
            box = {"x": str(x), "y": str(y), "width": "14", "height": "14", "class": look}
            leaf(root, "rect", attrib=box)
            leaf(root, "text", text, x=str(x + 20), y=str(y + 12))
            x += _legend_width(text)
    below = top + LEGEND_ROW * len(entries) + 12
    leaf(root, "text", "The number is the micro-batch.", x=str(PAD), y=str(below))


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
    return style_sheet({"line": ("#d0d7de", "#30363d")}, FILLS, ["g rect { stroke: var(--page) }"])


def _round_numbers() -> Iterator[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def _short(number: float) -> str:
    """At most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
