"""``--maximize`` and ``--minimize`` in the order in which they were typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

PANEL = "Question"
MAXIMIZE = ("--maximize", "--maximise")
MINIMIZE = ("--minimize", "--minimise")

Maximize = Annotated[
    list[str] | None,
    typer.Option(
        *MAXIMIZE,
        metavar="QUANTITY",
        help="Objective: a field, a derived quantity or an expression; repeatable, the first "
        "counts most. (default: the profile's own, dp for halo)",
        rich_help_panel=PANEL,
    ),
]
Minimize = Annotated[
    list[str] | None,
    typer.Option(
        *MINIMIZE, metavar="QUANTITY", help="The same, to minimise.", rich_help_panel=PANEL
    ),
]
Pareto = Annotated[
    bool,
    typer.Option(
        "--pareto",
        help="All configurations that no other one beats in every objective.",
        rich_help_panel=PANEL,
    ),
]

_typed: list[bool] = []
"""Whether each objective of the command line maximises, in order."""


def remember(arguments: Sequence[str]) -> None:
    """Note in which order objectives were typed: parsing keeps two lists apart."""
    names = [argument.partition("=")[0] for argument in arguments]
    _typed[:] = [name in MAXIMIZE for name in names if name in MAXIMIZE + MINIMIZE]


def in_order(
    maximize: Sequence[str] | None, minimize: Sequence[str] | None
) -> list[tuple[str, bool]]:
    """Objectives as (quantity, whether to maximise), in the typed order."""
    waiting = {True: list(maximize or ()), False: list(minimize or ())}
    return [(waiting[kind].pop(0), kind) for kind in _typed if waiting[kind]]
