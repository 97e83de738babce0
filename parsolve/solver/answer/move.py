"""A recipe on another cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from parsolve.solver.answer.difference import Difference, Side
from parsolve.solver.answer.verdict import ALWAYS, Accepted, Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """A setting of a file to change: ``key`` and values as the file spells them.

    ``line`` and ``before`` are absent where the setting is new.
    """

    key: str
    line: int | None = None
    before: Any = None
    after: Any = field(metadata=ALWAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way to run a recipe on another cluster: fields to change, and what it comes to.

    ``knobs`` are those of them that do not make up the global batch. That is ``off`` by so many
    samples, and a multiple of ``unit``; all three are absent where it is not known. ``edits``
    are what to change in the file, with what the cluster is called there.
    """

    change: Fields
    knobs: tuple[str, ...]
    global_batch: int | None = None
    off: int | None = None
    unit: int | None = None
    edits: tuple[FileEdit, ...] | None = None
    detail: Accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """How a recipe runs on another cluster, with the fewest knobs changed, best first.

    ``origin`` is the recipe on its own cluster, where that is known, and ``unchanged`` the same on
    the other one. ``global_batch`` is what was to be kept. The moves come nearest to it, and those
    after ``nearest`` of them change fewer knobs for a global batch that is further off; ``more``
    counts those that are as good and not shown. Rules in ``unmended`` are violated whatever knob
    changes. ``searched`` says among which values. ``complete`` is false where the search was cut
    short: fewer changes may do, or some.
    ``difference`` is between the origin and the first move.
    """

    profile: str
    name: str
    origin: Side | None = None
    unchanged: Side
    global_batch: int | None = None
    moves: tuple[Way, ...]
    nearest: int
    more: int | None = None
    most_knobs: int
    unmended: tuple[str, ...] = ()
    searched: str
    complete: bool
    difference: Difference | None = None
    answer: Literal["moves"] = "moves"

    @property
    def status(self) -> str:
        """What decides the exit code."""
        if self.moves:
            return "moved"
        return "stuck" if self.complete else "undecided"
