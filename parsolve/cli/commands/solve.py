"""``parsolve solve``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from parsolve.cli import objectives
from parsolve.cli.common import (
    OUTPUT,
    AnswerFormat,
    Format,
    Gpu,
    Model,
    ProfileName,
    Timeout,
    Vary,
    Where,
    Worlds,
    finish,
    gathered,
    progress_bar,
    reports_misuse,
    time_limit,
)
from parsolve.cli.exporting import ExportTo, check_options
from parsolve.cli.options import UsageError, profile_named, takes_fields, worlds
from parsolve.cli.output import OutputFile, check_writable
from parsolve.constraints import DEFAULT_PROFILE


@takes_fields
@reports_misuse
def solve(
    world: Worlds,
    given: Mapping[str, object],
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
        int | None,
        typer.Option(
            "--limit",
            min=1,
            metavar="N",
            help="Show at most so many configurations.",
            rich_help_panel=OUTPUT,
            show_default="all that are equally good",
        ),
    ] = None,
    timeout: Timeout = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
    export: ExportTo = None,
    rank: Annotated[
        int | None,
        typer.Option(
            "--rank",
            min=1,
            metavar="K",
            help="Export the K-th of those that are shown.",
            show_default="1",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output: OutputFile = None,
) -> None:
    """Run ``parsolve solve``."""
    from parsolve.solver.answer import Best  # noqa: PLC0415
    from parsolve.solver.query import build_query, preferred  # noqa: PLC0415
    from parsolve.solver.solve import best  # noqa: PLC0415

    check_options(export, output, format)
    check_writable(output)
    if rank is not None and export is None:
        message = "--rank chooses what --export writes; give --export"
        raise UsageError(message, param_hint="'--rank'")
    chosen = profile_named(profile)
    asked = objectives.in_order(maximize, minimize)
    asked += objectives.compared(chosen, pareto_over) if pareto_over else []
    asked = preferred(chosen, prefer or ()) + (asked or [(chosen.objective, True)])
    sizes = worlds(world)
    query = build_query(
        chosen,
        sizes,
        gathered(chosen, given, model, gpu, sizes),
        where=where or (),
        objectives=asked,
        pareto=pareto,
        vary=vary or (),
    )
    with progress_bar(len(query.worlds)) as progress:
        answer = best(query, limit=limit, deadline=time_limit(timeout), progress=progress)
    if export is not None and isinstance(answer, Best):
        from parsolve.cli.artefacts import export_config  # noqa: PLC0415

        place = rank or 1
        if place > len(answer.solutions):
            message = f"{len(answer.solutions)} are shown; there is no number {place}"
            raise UsageError(message, param_hint="'--rank'")
        export_config(chosen.config(answer.solutions[place - 1].config), export, output)
    stream = None if export is None else sys.stderr
    finish(
        answer, format, stream, varied=[name for name in query.free if name not in chosen.searched]
    )
