"""Measuring two things in turns, and the row that a benchmark reports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["s", "rows/s", "MiB"]

PARSOLVE = (sys.executable, "-c", "from parsolve.cli import main; main()")
"""The console script, on this interpreter wherever it is installed."""


@dataclass(frozen=True, slots=True)
class Target:
    """A limit of the ratio, or of our own figure."""

    limit: float
    of: Literal["ratio", "ours"] = "ratio"
    at_least: bool = False

    def __str__(self) -> str:
        sign = "at least" if self.at_least else "at most"
        return f"{sign} {self.limit:g}{' s' if self.of == 'ours' else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of ours beside another of the same run. ``note`` is shown under the table."""

    what: str
    ours: float
    unit: Unit = "s"
    against: str = ""
    theirs: float | None = None
    ratio: float | None = None
    target: Target | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        figure = self.ratio if self.target.of == "ratio" else self.ours
        assert figure is not None
        return figure >= self.target.limit if self.target.at_least else figure <= self.target.limit


@dataclass(frozen=True, slots=True)
class Timed:
    """Median seconds of two things, and the median of the ratios of neighbouring runs."""

    ours: float
    theirs: float
    ratio: float


def seconds(work: Callable[[], object]) -> float:
    """How long it takes once."""
    started = perf_counter()
    work()
    return perf_counter() - started


def in_turns(ours: Callable[[], object], theirs: Callable[[], object], runs: int) -> Timed:
    """Time both A B A B, so that whatever slows the machine slows both."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(runs)]
    return Timed(
        median(a for a, _ in pairs), median(b for _, b in pairs), median(a / b for a, b in pairs)
    )


def process(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and keep what it writes."""
    return subprocess.run(command, capture_output=True, text=True, check=False)


def quiet_process(*command: str) -> int:
    """Run a command to its end and throw away what it writes; its exit code."""
    return subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    ).returncode


def same(what: str, ours: object, theirs: object) -> None:
    """Refuse to time two things that do not answer alike."""
    if ours != theirs:
        message = f"{what}: the answers differ, so there is nothing to time"
        if isinstance(ours, set | frozenset) and isinstance(theirs, set | frozenset):
            message += f"; only ours {_some(ours - theirs)}, only theirs {_some(theirs - ours)}"
        raise AssertionError(message)


def _some(items: set[object] | frozenset[object]) -> Sequence[object]:
    return sorted(items, key=repr)[:3]
