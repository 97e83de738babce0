"""Grids of GPUs: where on the nodes each group lies, drawn in characters beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parsolve.cli.screen import Screen
from parsolve.solver.answer import GroupKind, RankLayout

ACROSS_DOMAINS, ACROSS_NODES = "*", "+"
"""Signs of a group that leaves its NVLink domain, and of one that leaves its node alone."""

STYLES = tuple(
    f"{weight}{colour}"
    for weight in ("", "bold reverse ")
    for colour in ("cyan", "yellow", "magenta", "blue", "green", "red")
)
"""Styles of groups, in turns."""

MOST_ROWS = 24
"""Rows that are drawn; of more, the first and the last."""

FIRST_ROWS, LAST_ROWS = 4, 2

TIDY = (8, 4)
"""A node that is too wide is cut into equal rows of a multiple of the first of these, if it can."""

GAP = "   "
MARGIN = "  "


@dataclass(frozen=True, slots=True)
class Row:
    """Consecutive ranks of one node, ``end`` not among them.

    ``opens_node`` and ``opens_domain`` say whether the row before is of another node, or not of
    the same NVLink domains, which are named in ``domains``.
    """

    first: int
    end: int
    domains: str
    opens_node: bool
    opens_domain: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """The grid of one or several kinds that have the same groups.

    ``numbers`` are the groups of each rank. ``sign`` is that of every group; where they differ,
    ``signs`` are those of each.
    """

    names: str
    kind: GroupKind
    sign: str
    numbers: Sequence[int]
    signs: Sequence[str]

    @property
    def title(self) -> str:
        """The names, with a sign where that stands for every group."""
        return f"{self.names} {self.sign}".rstrip()

    @property
    def width(self) -> int:
        """Characters of a group's number and its sign."""
        return len(str(self.kind.count - 1)) + any(self.signs)

    def cell(self, rank: int) -> tuple[str, str]:
        """Text and style of a rank."""
        number = self.numbers[rank]
        text = f"{number}{self.signs[number]}" if any(self.signs) else str(number)
        if any(self.signs) and not self.signs[number]:
            text += " "
        return text.rjust(self.width), STYLES[number % len(STYLES)]


def alike(kinds: Sequence[GroupKind]) -> list[list[GroupKind]]:
    """The kinds, those with the same groups in the same order together."""
    found: dict[tuple[tuple[int, ...], ...], list[GroupKind]] = {}
    for kind in kinds:
        found.setdefault(kind.groups or (), []).append(kind)
    return list(found.values())


def is_drawn(kind: GroupKind) -> bool:
    """Whether a grid shows anything: neither one group of all nor each rank alone."""
    return kind.size > 1 and kind.count > 1


def panel(kinds: Sequence[GroupKind], world: int) -> Panel:
    """The panel of kinds with the same groups.

    Where all groups leave their domain or node, the sign stands at the title alone.
    """
    kind = kinds[0]
    numbers = [0] * world
    for number, group in enumerate(kind.groups or ()):
        for rank in group:
            numbers[rank] = number
    signs = [""] * kind.count
    for number in kind.groups_across_nodes or ():
        signs[number] = ACROSS_NODES
    for number in kind.groups_across_domains or ():
        signs[number] = ACROSS_DOMAINS
    common = signs[0] if len(set(signs)) == 1 else ""
    return Panel(
        names=", ".join(each.name for each in kinds),
        kind=kind,
        sign=common,
        numbers=numbers,
        signs=[] if len(set(signs)) == 1 else signs,
    )


def rows(answer: RankLayout, cells: int) -> list[Row]:
    """A row for each node, or several where a node has more GPUs than so many."""
    wide = _row(answer.gpus_per_node, max(cells, 1))
    found: list[Row] = []
    for node in range(answer.nodes):
        start = node * answer.gpus_per_node
        stop = min(start + answer.gpus_per_node, answer.world)
        for first in range(start, stop, wide):
            end = min(first + wide, stop)
            domains = _domains(
                first // answer.nvlink_domain_size, (end - 1) // answer.nvlink_domain_size
            )
            opens_domain = not found or found[-1].domains != domains
            found.append(Row(first, end, domains, first == start, opens_domain))
    return found


def _domains(first: int, last: int) -> str:
    return f"domain {first}" if first == last else f"domains {first}-{last}"


def _row(node: int, cells: int) -> int:
    """GPUs of a row, given those of a node and how many fit."""
    if node <= cells:
        return node
    for unit in TIDY:
        for wide in range(cells // unit * unit, 0, -unit):
            if node % wide == 0:
                return wide
    return cells


def shown(every: Sequence[Row], most: int, first: int, last: int) -> tuple[Sequence[Row], int]:
    """All rows, or the first and last ones and how many of them come before what is left out."""
    if len(every) <= most:
        return every, len(every)
    return [*every[:first], *every[-last:]], first


def show_grids(screen: Screen, answer: RankLayout, panels: Sequence[Panel], room: int) -> None:
    """The panels, as many beside each other as there is room for."""
    widest = max(each.width for each in panels) + 1
    labels = _Labels(answer)
    every = rows(answer, (room - labels.width) // widest)
    drawn, before = shown(every, MOST_ROWS, FIRST_ROWS, LAST_ROWS)
    for band in _bands(panels, drawn, room - labels.width):
        screen.line()
        widths = [_width(each, drawn) for each in band]
        titles = (each.title.ljust(wide) for each, wide in zip(band, widths, strict=True))
        screen.line(f"{' ' * labels.width}{GAP.join(titles)}".rstrip(), "bold")
        for place, row in enumerate(drawn):
            if place == before:
                left = sum(row.end - row.first for row in every) - sum(
                    row.end - row.first for row in drawn
                )
                screen.line(f"{MARGIN}... {left:,} GPUs are not drawn ...")
            label = labels.of(row, first=place in {0, before})
            grids = [
                _line(screen, each, row, answer, wide)
                for each, wide in zip(band, widths, strict=True)
            ]
            screen.line(f"{label}{GAP.join(grids)}".rstrip())


class _Labels:
    """What stands left of a row: its domain where that is not the node, its node, its ranks."""

    def __init__(self, answer: RankLayout) -> None:
        self._answer = answer
        self._rank = len(str(answer.world - 1))
        self._node = len(f"node {answer.nodes - 1}")
        self._domain = 0
        if answer.nvlink_domain_size != answer.gpus_per_node:
            self._domain = max(len(row.domains) for row in rows(answer, answer.world))
        self.width = len(self.of(rows(answer, answer.world)[0], first=True))

    def of(self, row: Row, *, first: bool) -> str:
        """The label of a row; the first row of a part always says its domain."""
        parts = []
        if self._domain:
            says = first or row.opens_domain
            parts.append((row.domains if says else "").ljust(self._domain))
        node = row.first // self._answer.gpus_per_node
        parts.append((f"node {node}" if first or row.opens_node else "").ljust(self._node))
        ranks = f"{row.first:>{self._rank}}-{row.end - 1}"
        if row.end - row.first == 1:
            ranks = f"{row.first:>{self._rank}}"
        parts.append(ranks.ljust(2 * self._rank + 1))
        return f"{MARGIN}{'  '.join(parts)}{GAP}"


def _bands(panels: Sequence[Panel], drawn: Sequence[Row], room: int) -> Iterator[list[Panel]]:
    band: list[Panel] = []
    used = 0
    for each in panels:
        wide = _width(each, drawn) + len(GAP)
        if band and used + wide > room + len(GAP):
            yield band
            band, used = [], 0
        band.append(each)
        used += wide
    if band:
        yield band


def _width(each: Panel, drawn: Sequence[Row]) -> int:
    cells = max(row.end - row.first for row in drawn)
    return max(len(each.title), cells * (each.width + 1) - 1)


def _line(screen: Screen, each: Panel, row: Row, answer: RankLayout, wide: int) -> str:
    """The cells of a row, a bar where a domain starts in its midst, filled up with spaces."""
    parts = []
    length = 0
    for rank in range(row.first, row.end):
        if rank > row.first:
            parts.append(" " if rank % answer.nvlink_domain_size else "|")
        text, style = each.cell(rank)
        parts.append(screen.styled(text, style))
        length += len(text)
    return "".join(parts) + " " * (wide - length - (row.end - row.first - 1))
