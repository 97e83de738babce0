"""``parsolve report``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from parsolve.cli import objectives
from parsolve.cli.common import (
    EXIT,
    OUTPUT,
    Gpu,
    Model,
    ProfileName,
    Timeout,
    Vary,
    Where,
    Worlds,
    gathered,
    one_world,
    progress_bar,
    reports_misuse,
    time_limit,
)
from parsolve.cli.options import UsageError, profile_named, takes_fields, worlds
from parsolve.cli.output import OutputFile, check_writable, is_standard, write_to
from parsolve.constraints import DEFAULT_PROFILE
from parsolve.constraints.profile import Profile

MOST_ROWS = 5_000


class Ask(StrEnum):
    """What a report is about."""

    CHECK = "check"
    SOLVE = "solve"


@takes_fields
@reports_misuse
def report(
    world: Worlds,
    given: Mapping[str, object],
    context: typer.Context,
    ask: Annotated[
        Ask | None,
        typer.Argument(
            metavar="[check|solve]",
            help="Judge what is given, or search what is open.",
            show_default="check where an axis is given and nothing asks for a search, else solve",
        ),
    ] = None,
    profile: ProfileName = DEFAULT_PROFILE,
    model: Model = None,
    gpu: Gpu = None,
    maximize: objectives.Maximize = None,
    minimize: objectives.Minimize = None,
    pareto: objectives.Pareto = False,
    pareto_over: objectives.ParetoOver = None,
    prefer: objectives.Prefer = None,
    where: Where = None,
    vary: Vary = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            min=1,
            metavar="N",
            help="Put at most so many configurations into the table, the best ones.",
            rich_help_panel=OUTPUT,
        ),
    ] = MOST_ROWS,
    repairs: Annotated[
        int | None,
        typer.Option(
            "--repairs",
            min=0,
            metavar="N",
            rich_help_panel=OUTPUT,
            help="Show at most so many of the nearest valid alternatives.",
            show_default="6",
        ),
    ] = None,
    timeout: Timeout = None,
    output: OutputFile = None,
) -> None:
    """Run ``parsolve report``."""
    from parsolve.cli.report.charts import require_charts  # noqa: PLC0415  (only a report needs it)

    require_charts()
    _check_output(output)
    chosen, sizes = profile_named(profile), worlds(world)
    search = {
        "--maximize": maximize, "--minimize": minimize, "--pareto": pareto or pareto_over,
        "--prefer": prefer, "--where": where, "--vary": vary,
    }  # fmt: skip
    asked_for = [name for name, value in search.items() if value]
    ask = ask or _meant(chosen, given, sizes, asked_for)
    facts = gathered(chosen, given, model, gpu, sizes)
    deadline = time_limit(timeout)
    from parsolve.cli.report.commands import Said  # noqa: PLC0415  (only a report needs it)
    from parsolve.cli.report.making import checked, solved  # noqa: PLC0415

    said = Said(chosen, context.meta["arguments"], given, model, gpu)

    if ask is Ask.CHECK:
        if asked_for:
            message = f"report check judges one configuration; {asked_for[0]} asks for a search"
            raise UsageError(message, param_hint=f"'{asked_for[0]}'")
        made = checked(
            chosen,
            one_world(world, "report check"),
            facts,
            shown_repairs=repairs,
            limit=limit,
            deadline=deadline,
            said=said,
        )
    else:
        if repairs is not None:
            message = "report solve searches, and has no alternatives to show; leave it out"
            raise UsageError(message, param_hint="'--repairs'")
        goals = objectives.in_order(maximize, minimize)
        goals += objectives.compared(chosen, pareto_over) if pareto_over else []
        with progress_bar(len(sizes)) as progress:
            made = solved(
                chosen,
                sizes,
                facts,
                goals=goals,
                prefer=prefer or (),
                pareto=pareto,
                where=where or (),
                vary=vary or (),
                limit=limit,
                deadline=deadline,
                progress=progress,
                said=said,
            )
    from parsolve.cli.report.page import page  # noqa: PLC0415

    answer = made.answer.answer
    kind = f" ({ask}: {answer})"
    write_to(output, lambda stream: stream.write(page(made)), kind)
    if is_standard(output):
        sys.stderr.write(f"parsolve: wrote standard output{kind}\n")
    raise typer.Exit(EXIT[answer])


def _meant(
    chosen: Profile, given: Mapping[str, object], sizes: Sequence[int], search: Sequence[str]
) -> Ask:
    """What is asked where nobody says: a given axis is something to judge."""
    pinned = any(name in chosen.axes for name in given)
    return Ask.CHECK if pinned and not search and len(sizes) == 1 else Ask.SOLVE


def _check_output(output: str | None) -> None:
    """A page is no text for a terminal: there, a file has to be named."""
    if output is None and sys.stdout.isatty():
        message = "give the file to write: -o report.html"
        raise UsageError(message, param_hint="'--output' / '-o'")
    check_writable(output)
