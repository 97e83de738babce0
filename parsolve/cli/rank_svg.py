"""Rank groups as one SVG file: a grid of GPUs for each kind of group, a box for each rank.

Nothing outside the file is needed. Colours follow the reader's choice of light or dark; what they
say is also the number in a box and its tooltip. Of a large cluster the first and last rows are
drawn, and the file says what is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from parsolve.cli.rank_grid import (
    ACROSS_DOMAINS,
    ACROSS_NODES,
    Panel,
    Row,
    alike,
    is_drawn,
    panel,
    rows,
    shown,
)
from parsolve.cli.rank_layout import crossing, headline, how_many, sent
from parsolve.cli.svg import BLUE, DIGIT, GREEN, PAD, canvas, leaf, style_sheet, written
from parsolve.solver.answer import GroupKind, RankLayout, RankPlace

BETWEEN = 28
"""Space between grids in pixels."""

BOX, ROW, LINE = 20, 24, 18
"""Height of a box, of a row of boxes and of a line of text, in pixels."""

WIDEST = 1200
"""Pixels of grids beside each other, at most."""

CELLS = 32
"""Boxes of a row, at most: a wider node takes several rows."""

MOST_ROWS, MOST_BOXES = 64, 4096
"""Rows of a grid, and boxes of all grids together, at most."""

COLOURS = {"line": ("#57606a", "#8b949e"), "mark": ("#cf222e", "#ff7b72")}

FILLS = (
    BLUE,
    ("#ffd8a8", "#8a5a12"),
    GREEN,
    ("#e2c5ff", "#6a3fa0"),
    ("#ffb3ba", "#9a3040"),
    ("#b8f0f0", "#17707a"),
    ("#d0d7de", "#484f58"),
    ("#fff3a3", "#7a6a00"),
)
"""Fills of groups, in turns, on a light and on a dark page."""


@dataclass(frozen=True, slots=True)
class _Grid:
    """A panel, what is written above it, its rows, and the width of labels and boxes in pixels."""

    panel: Panel
    head: tuple[str, ...]
    rows: Sequence[Row]
    before: int
    label: int
    box: int

    @property
    def width(self) -> int:
        """Pixels, its title included."""
        cells = max(row.end - row.first for row in self.rows)
        return max(self.label + cells * self.box, *(DIGIT * len(text) for text in self.head))

    @property
    def top(self) -> int:
        """Pixels above the first row."""
        return LINE * len(self.head) + 4

    @property
    def height(self) -> int:
        """Pixels, with a row for what is left out."""
        return self.top + ROW * (len(self.rows) + (self.before < len(self.rows)))


def svg(answer: RankLayout, marked: Sequence[RankPlace] = ()) -> str:
    """The whole file; groups of the ``marked`` ranks stand out."""
    together = alike(answer.kinds)
    drawn = [same for same in together if is_drawn(same[0])] or together
    every = rows(answer, CELLS)
    cells = len(drawn) * max(row.end - row.first for row in every)
    most = max(min(MOST_ROWS, MOST_BOXES // cells), 2)
    kept, before = shown(every, most, most - most // 2, most // 2)
    labels = max(len(_label(answer, row, first=True)) for row in kept)
    grids = []
    for same in drawn:
        each = panel(same, answer.world)
        box = max(BOX, DIGIT * each.width + 6)
        leaves = "; ".join(crossing(each.kind, answer)) or "each within its NVLink domain"
        head = (each.title, "; ".join((how_many(each.kind), *_sent(same))), leaves)
        grids.append(_Grid(each, head, kept, before, DIGIT * (labels + 1), box))
    places, wide, high = _places(grids)
    title = f"Rank groups: {headline(answer)}"
    left_out = answer.world - sum(row.end - row.first for row in kept)
    undrawn = [kind.name for same in together if same not in drawn for kind in same]
    notes = _notes(answer, undrawn, left_out)
    if marked:
        ranks = ", ".join(str(each.rank) for each in marked)
        notes.insert(0, f"Framed are rank {ranks} and the ranks in its groups.")
    about = ". ".join(f"{grid.panel.names}: {'; '.join(grid.head[1:])}" for grid in grids)
    texts = (title, *notes)
    top = PAD + 2 * LINE
    width = 2 * PAD + max(wide, *((DIGIT + 0.5) * len(text) for text in texts))
    height = top + high + LINE * len(notes) + PAD
    root = canvas(title, f"{about}. {' '.join(notes)}", _style(), f"{width:.0f}", str(height))
    leaf(root, "text", title, x=str(PAD), y=str(PAD + 10), attrib={"class": "head"})
    for grid, (x, y) in zip(grids, places, strict=True):
        group = ET.SubElement(root, "g", transform=f"translate({x} {top + y})")
        _draw(group, answer, grid, marked)
    for place, note in enumerate(notes):
        leaf(root, "text", note, x=str(PAD), y=str(top + high + LINE * place + 6))
    return written(root)


def _sent(same: Sequence[GroupKind]) -> list[str]:
    """What each of the kinds sends, by name where there are several."""
    if len(same) == 1:
        return sent(same[0])
    return [f"{kind.name} {text}" for kind in same for text in sent(kind)]


def _places(grids: Sequence[_Grid]) -> tuple[list[tuple[int, int]], int, int]:
    """Where each grid stands, from the left to the right in lines; and the whole's size."""
    places = []
    x, y, line, wide = PAD, 0, 0, 0
    for grid in grids:
        if x > PAD and x + grid.width > WIDEST:
            x, y, line = PAD, y + line + BETWEEN, 0
        places.append((x, y))
        wide = max(wide, x - PAD + grid.width)
        line = max(line, grid.height)
        x += grid.width + BETWEEN
    return places, wide, y + line + BETWEEN


def _draw(group: ET.Element, answer: RankLayout, grid: _Grid, marked: Sequence[RankPlace]) -> None:
    """Title, rows and what is left out between them."""
    looks = _looks(grid.panel.kind, marked)
    for line, text in enumerate(grid.head):
        leaf(group, "text", text, y=str(LINE * line + 10), attrib=_class("head", line == 0))
    top = grid.top
    for place, row in enumerate(grid.rows):
        if place == grid.before:
            leaf(group, "text", "...", y=str(top + 15))
            top += ROW
        label = _label(answer, row, first=place in {0, grid.before})
        leaf(group, "text", label, y=str(top + 15))
        for rank in range(row.first, row.end):
            x = grid.label + (rank - row.first) * grid.box
            _box(group, answer, grid, rank, (x, top), looks.get(rank, ""))
            if rank > row.first and rank % answer.nvlink_domain_size == 0:
                _line(group, (x, top - 2), (x, top + BOX + 2))
        if row.opens_domain and place not in {0, grid.before} and _is_wide(answer):
            end = grid.label + (row.end - row.first) * grid.box
            _line(group, (0, top - 2), (end, top - 2))
        top += ROW


def _looks(kind: GroupKind, marked: Sequence[RankPlace]) -> dict[int, str]:
    """How the boxes of the marked ranks and of those in their groups look."""
    groups = (one for each in marked for one in each.groups if one.kind == kind.name)
    looks: dict[int, str] = {rank: "with" for one in groups for rank in one.ranks}
    return looks | {each.rank: "own" for each in marked}


def _box(
    parent: ET.Element,
    answer: RankLayout,
    grid: _Grid,
    rank: int,
    place: tuple[int, int],
    look: str,
) -> None:
    each = grid.panel
    number = each.numbers[rank]
    position = (each.kind.groups or ())[number].index(rank)
    x, y = place
    group = ET.SubElement(parent, "g")
    leaves = {ACROSS_DOMAINS: "; it leaves its NVLink domain", ACROSS_NODES: "; it leaves its node"}
    sign = each.signs[number] if each.signs else each.sign
    leaf(
        group,
        "title",
        f"rank {rank}: position {position} in group {number} of {each.names}"
        f"{leaves.get(sign, '')}; node {rank // answer.gpus_per_node}, NVLink domain "
        f"{rank // answer.nvlink_domain_size}",
    )
    leaf(
        group,
        "rect",
        x=str(x + 1),
        y=str(y),
        width=str(grid.box - 2),
        height=str(BOX),
        attrib={"class": f"f{number % len(FILLS)} {look}".rstrip()},
    )
    middle = {"x": str(x + grid.box // 2), "y": str(y + 14), "class": "n"}
    leaf(group, "text", each.cell(rank)[0].strip(), attrib=middle)


def _line(parent: ET.Element, start: tuple[int, int], end: tuple[int, int]) -> None:
    (x1, y1), (x2, y2) = start, end
    leaf(parent, "line", x1=str(x1), y1=str(y1), x2=str(x2), y2=str(y2))


def _is_wide(answer: RankLayout) -> bool:
    return answer.nvlink_domain_size > answer.gpus_per_node


def _label(answer: RankLayout, row: Row, *, first: bool) -> str:
    """The node of a row and, where a domain is another thing and starts here, the domain."""
    node = row.first // answer.gpus_per_node
    if not (row.opens_node or first):
        return f"{row.first}-{row.end - 1}"
    if not (row.opens_domain or first) or answer.nvlink_domain_size == answer.gpus_per_node:
        return f"node {node}"
    return f"node {node}, {row.domains}"


def _notes(answer: RankLayout, undrawn: Sequence[str], left_out: int) -> list[str]:
    """What the numbers and signs mean, and what is not drawn."""
    notes = ["Numbers are those of groups, from 0 on; hold the pointer over a box for more."]
    if any(kind.across_domains for kind in answer.kinds):
        notes.append(
            f"{ACROSS_DOMAINS} leaves its NVLink domain; at a title it stands for every group."
        )
    if any(kind.across_nodes > kind.across_domains for kind in answer.kinds):
        notes.append(f"{ACROSS_NODES} leaves its node, not its NVLink domain.")
    if undrawn:
        notes.append(f"Not drawn, one group of all or of one each: {', '.join(undrawn)}.")
    if left_out:
        notes.append(
            f"{left_out:,} of {answer.world:,} GPUs are left out of every grid, at the dots; fewer "
            "kinds at once (--axis) leave out fewer."
        )
    if answer.traffic_unknown is not None:
        notes.append(f"Traffic is not known: {answer.traffic_unknown}.")
    return notes


def _style() -> str:
    framed = (
        "g .with, g .own { stroke: var(--mark); stroke-width: 2 }",
        "g .own { stroke-width: 4 }",
    )
    fills = {f"f{place}": pair for place, pair in enumerate(FILLS)}
    return style_sheet(COLOURS, fills, framed, line="; stroke-width: 2")


def _class(name: str, wanted: bool) -> dict[str, str]:
    return {"class": name} if wanted else {}
