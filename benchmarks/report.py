"""Rows as text, as JSON and as the page `docs/benchmarks.md`."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from benchmarks.measure import Row, Unit

HEADINGS = ("measured", "figure", "against", "figure", "ratio", "target", "met")
MET = {True: "yes", False: "NO", None: ""}

PAGE = """# Benchmarks

Written by `python -m benchmarks --markdown docs/benchmarks.md`, from the project root, in an
environment with `parsolve[test,benchmark]`; about four minutes. `python -m benchmarks NAME...` runs
some of
{names}; `--runs N` sets how often each thing is
measured, `--json FILE` keeps the figures.

Every ratio is ours / theirs, of two things measured in the same run, in turns (A B A B); figures
and ratios are medians, so a ratio is not exactly the quotient of the figures beside it. What the
two answer is compared before anything is timed. Nothing here is asserted: a target that is
missed is printed as missed. Speeds depend on the machine; ratios do so much less.

{machine}
"""


def machine(runs: int) -> str:
    """What it ran on, without names or paths; the load says how quiet it was."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("z3-solver", "typer"))
    return (
        f"{datetime.now(UTC).date()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} CPUs, Python {platform.python_version()}, {packages}; {runs} runs; "
        f"load {os.getloadavg()[0]:.2f} at the start."
    )


def figure(value: float | None, unit: Unit) -> str:
    if value is None:
        return ""
    if unit == "MiB":
        return f"{value:.1f} MiB"
    if unit == "rows/s":
        return f"{value:,.0f}/s"
    if value < 0.001:
        return f"{value * 1e6:.0f} µs"
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value:,.0f} s"


def cells(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        figure(row.ours, row.unit),
        row.against,
        figure(row.theirs, row.unit),
        "" if row.ratio is None else f"{row.ratio:.3g}",
        "" if row.target is None else str(row.target),
        MET[row.met],
    )


def line(row: Row) -> str:
    """One row as plain text, printed as soon as it is known."""
    what, ours, against, theirs, ratio, target, met = cells(row)
    text = f"  {what}: {ours}"
    if theirs:
        text += f"; {against}: {theirs}; ratio {ratio}"
    if target:
        text += f"; target {target}: {'met' if met == 'yes' else 'MISSED'}"
    return text + (f"\n    {row.note}" if row.note else "")


def page(results: Mapping[str, Sequence[Row]], about: Mapping[str, str], where: str) -> str:
    names = ", ".join(f"`{name}`" for name in about)
    parts = [PAGE.format(names=names, machine=where)]
    for name, rows in results.items():
        table = [HEADINGS, ("---", "--:", "---", "--:", "--:", "---", "---"), *map(cells, rows)]
        notes = "\n".join(f"- {row.note}" for row in rows if row.note)
        lines = "\n".join(f"| {' | '.join(entries)} |" for entries in table)
        parts.append(f"## {name}\n\n{about[name].strip()}\n\n{lines}\n")
        if notes:
            parts.append(notes + "\n")
    return "\n".join(parts)
