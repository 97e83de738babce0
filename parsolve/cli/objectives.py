"""``--maximize`` and ``--minimize`` in the order in which they were typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from parsolve.cli import completion
from parsolve.constraints.profile import Profile

PANEL = "Question"
MAXIMIZE = ("--maximize", "--maximise")
MINIMIZE = ("--minimize", "--minimise")

Maximize = Annotated[
    list[str] | None,
    typer.Option(
        *MAXIMIZE,
        metavar="QUANTITY",
        help="Objective: a field, a derived quantity or an expression; repeatable, the first "
        "counts most.",
        rich_help_panel=PANEL,
        show_default="the profile's own, such as dp for halo",
        autocompletion=completion.quantities,
    ),
]
Minimize = Annotated[
    list[str] | None,
    typer.Option(
        *MINIMIZE,
        metavar="QUANTITY",
        help="The same, to minimise.",
        rich_help_panel=PANEL,
        autocompletion=completion.quantities,
    ),
]
Pareto = Annotated[
    bool,
    typer.Option(
        "--pareto",
        help="All configurations that no other one beats in every objective; --pareto memory,dp "
        "names them, each in the direction that people want.",
        rich_help_panel=PANEL,
    ),
]

ParetoOver = Annotated[
    str | None,
    typer.Option("--pareto-over", hidden=True, help="What --pareto QUANTITY,QUANTITY becomes."),
]


Prefer = Annotated[
    list[str] | None,
    typer.Option(
        "--prefer",
        metavar="NAME",
        help="Prefer this above every objective, such as tp-in-domain; repeatable, the first "
        "counts most. Each profile has its own.",
        rich_help_panel=PANEL,
        autocompletion=completion.preferences,
    ),
]


def expanded(arguments: Sequence[str]) -> list[str]:
    """``--pareto memory,dp``, an option with a value that may be left out, as two options."""
    result: list[str] = []
    for argument in arguments:
        if result and result[-1] == "--pareto" and argument[:1] not in {"-", ""}:
            result += ["--pareto-over", argument]
        elif argument.startswith("--pareto="):
            result += ["--pareto", "--pareto-over", argument.partition("=")[2]]
        else:
            result.append(argument)
    return result


def compared(profile: Profile, quantities: str) -> list[tuple[str, bool]]:
    """The quantities of a front, each in the direction that people want it in."""
    names = [name.strip() for name in quantities.split(",")]
    return [(name, not wants_less(profile, name)) for name in names]


def wants_less(profile: Profile, text: str) -> bool:
    """Whether people want the quantity small: bytes in use or sent, and what the profile says."""
    quantity = profile.quantity_of.get(text)
    name = quantity.name if quantity is not None else profile.spellings.get(text, text)
    in_bytes = getattr(quantity, "unit", "") == "bytes"
    return name in profile.less_is_better or (in_bytes and name not in profile.more_is_better)


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
