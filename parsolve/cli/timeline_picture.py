"""A pipeline's timeline drawn in characters, on so many columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd
from string import ascii_uppercase

from parsolve.solver.answer import Item, RankTimeline, Schedule

IDLE, BOTH, REST = ".", "x", "-"
CUT = " ~ "

FORWARD, BACKWARD = "cyan", "green"
CHUNKS = ("cyan", "yellow", "magenta", "blue", "green", "red")
"""Styles of chunks, in turns."""

BETWEEN_MARKS = 9
"""Columns between two numbers of the axis, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """How a timeline is drawn.

    ``column`` is its ticks; ``windows`` the columns that are shown, as first and end.
    Each piece of work is drawn by itself (``itemised``), with its micro-batch where that fits
    into each (``numbered``), and with a letter for its chunk where there are several
    (``lettered``); or else a column says what happens in it.
    """

    column: Fraction
    windows: tuple[tuple[int, int], ...]
    unit: int
    itemised: bool
    numbered: bool
    lettered: bool

    def cells(self, rank: RankTimeline) -> list[tuple[str, str]]:
        """Text and style of a row, from the left to the right."""
        draw = self._items if self.itemised else self._sums
        cells: list[tuple[str, str]] = []
        for window in self.windows:
            cells += [(CUT, ""), *draw(rank.items, *window)]
        return cells[1:]

    def _items(self, items: Sequence[Item], first: int, last: int) -> list[tuple[str, str]]:
        cells = []
        here = first
        for item in items:
            start, end = int(item.start / self.column), int(item.end / self.column)
            if end <= first:
                continue
            if start >= last:
                break
            letter, style = self._look(item)
            fill = REST if self.numbered else letter
            text = f"{letter}{item.microbatch if self.numbered else ''}".ljust(end - start, fill)
            begin, stop = max(start, first), min(end, last)
            cells.append((IDLE * (begin - here), ""))
            cells.append((text[begin - start : stop - start], style))
            here = stop
        cells.append((IDLE * (last - here), ""))
        return [cell for cell in cells if cell[0]]

    def _look(self, item: Item) -> tuple[str, str]:
        forward = item.kind == "F"
        if not self.lettered:
            return item.kind, FORWARD if forward else BACKWARD
        letter = ascii_uppercase[item.chunk]
        colour = CHUNKS[item.chunk % len(CHUNKS)]
        return (letter, colour) if forward else (letter.lower(), f"reverse {colour}")

    def _sums(self, items: Sequence[Item], first: int, last: int) -> list[tuple[str, str]]:
        """What each column holds: idle for most of it, forwards, backwards or both."""
        width = int(self.column)
        busy = [{"F": 0, "B": 0} for _ in range(first, last)]
        for item in items:
            start = item.start
            while start < item.end:
                place = start // width
                stop = min(item.end, (place + 1) * width)
                busy[place - first][item.kind] += stop - start
                start = stop
        return [_summed(column["F"], column["B"], width) for column in busy]

    def axis(self) -> str:
        """Numbers of units below their columns."""
        columns_of_unit = self.unit / self.column
        step = 1
        while step * columns_of_unit < BETWEEN_MARKS:
            step = _next_round(step)
        parts = []
        for first, last in self.windows:
            line = ""
            mark = ceil(first / (step * columns_of_unit)) * step
            while (place := int(mark * columns_of_unit) - first) < last - first:
                text = f"{mark:,}"
                if place + len(text) <= max(last - first, 1):
                    line = line.ljust(place) + text
                mark += step
            parts.append(line.ljust(last - first))
        return CUT.join(parts).rstrip()

    def legend(self) -> str:
        """What the characters mean, and how much time a column is."""
        scale = f"one column = {_units(self.column / self.unit)}"
        if not self.itemised:
            return (
                f"F forwards, B backwards, {BOTH} both, {IDLE} idle for most of it; {scale}, which "
                "is longer than a piece of work"
            )
        which = " of micro-batch 0" if self.numbered else ""
        zero = "0" if self.numbered else ""
        if self.lettered:
            what = f"A{zero} forward{which} in chunk 0, a{zero} its backward, B and b in chunk 1"
        elif self.numbered:
            what = f"F0 forward{which}, B0 its backward"
        else:
            what = "F forward, B backward"
        left_out = ""
        if len(self.windows) > 1:
            columns = self.windows[1][0] - self.windows[0][1]
            time = _units(columns * self.column / self.unit)
            left_out = f"; ~ leaves out {time} of steady state"
        return f"{what}, {IDLE} idle; {scale}{left_out}"


def picture(answer: Schedule, room: int) -> Picture:
    """The finest picture that fits into so many columns, no finer than its numbers need.

    If pieces of work are too short for that, the middle is left out, if warm-up and cool-down
    can be shown; else columns sum up.
    """
    total = answer.total_time
    durations = {
        item.end - item.start
        for rank in answer.ranks
        for item in _one_of_each(rank, answer.virtual_stages)
    }
    step, shortest = gcd(*durations), min(durations)
    label = 1 + len(str(answer.microbatches - 1))
    column = Fraction(step, ceil(Fraction(label * step, shortest)))
    if total > room * column:
        column = Fraction(step * ceil(Fraction(total, step * room)))
    part = (room - len(CUT)) // 2
    coarsest = Fraction(shortest // step * step)
    whole = ceil(total / column)
    windows: tuple[tuple[int, int], ...] = ((0, whole),)
    if shortest < column and _both_ends_fit(answer, part * coarsest):
        column, whole = coarsest, ceil(total / coarsest)
        windows = ((0, part), (whole - part, whole))
    itemised = shortest >= column
    return Picture(
        column=column,
        windows=windows,
        unit=answer.ticks_per_unit,
        itemised=itemised,
        numbered=shortest // column >= label,
        lettered=itemised and 1 < answer.virtual_stages <= len(ascii_uppercase),
    )


def _both_ends_fit(answer: Schedule, time: Fraction) -> bool:
    """The first rank's warm-up and first backward, and what follows its last forward."""
    items = answer.ranks[0].items
    begin = next(item.end for item in items if item.kind == "B")
    end = next(item.start for item in reversed(items) if item.kind == "F")
    return begin <= time and answer.total_time - end <= time


def _one_of_each(rank: RankTimeline, virtual_stages: int) -> list[Item]:
    """A forward and a backward of each chunk of a rank."""
    found: dict[tuple[str, int], Item] = {}
    for item in rank.items:
        found.setdefault((item.kind, item.chunk), item)
        if len(found) == 2 * virtual_stages:
            break
    return list(found.values())


def _summed(forward: int, backward: int, width: int) -> tuple[str, str]:
    if 2 * (forward + backward) < width:
        return IDLE, ""
    if forward and backward:
        return BOTH, ""
    return ("F", FORWARD) if forward else ("B", BACKWARD)


def _units(time: Fraction) -> str:
    return f"{time} unit{'s' if time > 1 else ''}"


def _next_round(step: int) -> int:
    """1, 2, 5, 10, 20, 50 and so on."""
    return step * 5 // 2 if str(step).startswith("2") else step * 2
