"""A scatter of a few points in plain characters: one digit or letter per point."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

MARKS = "123456789" + ascii_lowercase + ascii_uppercase
MORE = "*"
"""Mark of points beyond those, and of several in one place."""

HEIGHT = 12
MARGIN = 12
"""Columns left of the axis, for its numbers."""


def scatter(
    points: Sequence[tuple[float, float]],
    ends: Sequence[tuple[str, str]],
    names: tuple[str, str],
    width: int,
) -> list[str]:
    """Lines of a plot; ``ends`` are the lowest and highest number of each axis as text."""
    across = max(20, width - MARGIN - 2)
    (left, right), (low, high) = ((min(axis), max(axis)) for axis in zip(*points, strict=True))
    rows = [[" "] * across for _ in range(HEIGHT)]
    for position, (x, y) in enumerate(points):
        column = round((x - left) / (right - left) * (across - 1)) if right > left else 0
        row = HEIGHT - 1 - (round((y - low) / (high - low) * (HEIGHT - 1)) if high > low else 0)
        mark = MARKS[position] if position < len(MARKS) else MORE
        rows[row][column] = mark if rows[row][column] == " " else MORE
    (first, last), (bottom, top) = ends
    labels = {0: top, HEIGHT - 1: bottom}
    lines = [f"{names[1]:>{MARGIN}}"]
    lines += [
        f"{labels.get(number, ''):>{MARGIN}} |{''.join(row).rstrip()}"
        for number, row in enumerate(rows)
    ]
    lines.append(f"{'':>{MARGIN}} +{'-' * across}")
    gap = max(1, across - len(first) - len(last) - len(names[0]))
    half = gap // 2
    lines.append(
        f"{'':>{MARGIN}}  {first}{' ' * half}{names[0]}{' ' * (gap - half)}{last}".rstrip()
    )
    return lines
