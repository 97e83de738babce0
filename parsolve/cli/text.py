"""Answers as text."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, TextIO

from parsolve.cli.screen import Screen

WRITERS = {
    "accepted": ("verdicts", "show_accepted"),
    "rejected": ("verdicts", "show_rejected"),
    "memory": ("account", "show_memory"),
    "schedule": ("timeline", "show_schedule"),
    "comparison": ("comparing", "show_comparison"),
    "files": ("files", "show_files"),
    "difference": ("differing", "show_difference"),
    "moves": ("moving", "show_moves"),
    "stages": ("staging", "show_stages"),
    "layout": ("rank_layout", "show_layout"),
    "advice": ("advice", "show_advice"),
    "best": ("ranking", "show_best"),
    "conflict": ("unanswered", "show_conflict"),
    "undecided": ("unanswered", "show_undecided"),
}
"""Module under `parsolve.cli` and function that writes each kind of answer."""

OF_SEARCHES = frozenset({"best", "undecided"})
"""Kinds whose solutions name the knobs that were searched."""


def show(
    answer: Any,  # noqa: ANN401  (imported late)
    stream: TextIO | None = None,
    varied: Iterable[str] = (),
) -> None:
    """Write an answer for people, to standard output unless told otherwise.

    ``varied`` are knobs that were searched because somebody asked for that.
    """
    module, function = WRITERS[answer.answer]
    write = getattr(import_module(f"parsolve.cli.{module}"), function)
    searched = (varied,) if answer.answer in OF_SEARCHES else ()
    write(Screen(stream), answer, *searched)
