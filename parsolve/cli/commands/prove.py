"""``parsolve prove``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from parsolve.cli import completion
from parsolve.cli.common import (
    ASK,
    EXIT,
    OUTPUT,
    AnswerFormat,
    Format,
    Jobs,
    ProfileName,
    Timeout,
    finish,
    reports_misuse,
    time_limit,
)
from parsolve.cli.options import profile_named, takes_fields
from parsolve.constraints import DEFAULT_PROFILE


@takes_fields
@reports_misuse
def prove(
    given: Mapping[str, object],
    families: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FAMILY]...",
            help="What to prove: laws, completeness, rules, allowlist, claims, layouts, teeth, or "
            "a name such as claims/ep-keeps-dp.",
            show_default="everything",
            autocompletion=completion.families,
        ),
    ] = None,
    profile: ProfileName = DEFAULT_PROFILE,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="MODULE:CALLABLE",
            rich_help_panel=ASK,
            help="Compare the rules with your own validator: a function of keyword arguments, or "
            "a dataclass that checks itself. Imports the module and runs the validator on "
            "configurations: only name code that you trust.",
        ),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="PARAMETER=FIELD",
            rich_help_panel=ASK,
            help="A parameter of that validator and the field that it stands for; repeatable.",
        ),
    ] = None,
    timeout: Timeout = None,
    jobs: Jobs = 1,
    emit: Annotated[
        Path | None,
        typer.Option(
            "--emit",
            metavar="DIR",
            rich_help_panel=OUTPUT,
            help="Write what was asked of Z3 as SMT-LIB 2 files.",
        ),
    ] = None,
    recheck: Annotated[
        str | None,
        typer.Option(
            "--recheck",
            metavar="cvc5",
            rich_help_panel=OUTPUT,
            help="Have a second solver decide the same files.",
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", rich_help_panel=OUTPUT, help="Show every statement and mutant."
        ),
    ] = False,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Run ``parsolve prove``."""
    from parsolve.cli import proving  # noqa: PLC0415
    from parsolve.solver.jobs import processes  # noqa: PLC0415

    started = time.perf_counter()
    chosen = profile_named(profile)
    question = proving.Question(
        profile=chosen.name,
        names=tuple(families or ()),
        against=against,
        mapped=tuple(map_ or ()),
        pins=tuple(given.items()),
    )
    workers = processes(jobs)
    solver = proving.second_solver(recheck) if recheck else None
    if emit:
        proving.writable(emit)
    results, asked = proving.results(
        question, time_limit(timeout), workers, scripted=bool(emit or solver)
    )
    second = proving.second_opinion(asked, solver) if solver else None
    if emit:
        proving.written(asked, emit)
    answer = proving.answer(chosen, results, time.perf_counter() - started, against, second)
    if format is Format.TEXT:
        proving.show(answer, verbose=verbose)
        raise typer.Exit(EXIT[answer.status])
    finish(answer, format)
