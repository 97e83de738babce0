"""``--maximize`` and ``--minimize`` in the order in which they were typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

PANEL = "Question"
MAXIMIZE = ("--maximize", "--maximise")
MINIMIZE = ("--minimize", "--minimise")

Maximize = Annotated[
    list[str] | None,
    typer.Option(
        *MAXIMIZE,
        metavar="QUANTITY",
        help="Objective: a field, a derived quantity or an expression; repeatable, the first "
        "counts most. [default: dp]",
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


class RemembersOrder(TyperCommand):
    """Two repeatable options lose their mutual order in parsing; this notes it before."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  (typer's own)
        """Note the order of the objectives, then parse as usual."""
        names = [argument.partition("=")[0] for argument in args]
        _typed[:] = [name in MAXIMIZE for name in names if name in MAXIMIZE + MINIMIZE]
        return super().parse_args(ctx, args)


def in_order(
    maximize: Sequence[str] | None, minimize: Sequence[str] | None
) -> list[tuple[str, bool]]:
    """Objectives as (quantity, whether to maximise), in the typed order."""
    waiting = {True: list(maximize or ()), False: list(minimize or ())}
    return [(waiting[kind].pop(0), kind) for kind in _typed if waiting[kind]]
