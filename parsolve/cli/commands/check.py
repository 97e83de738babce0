"""``parsolve check``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from parsolve.cli.common import (
    ASK,
    MISUSE,
    NO,
    OUTPUT,
    YES,
    AnswerFormat,
    Format,
    Gpu,
    Model,
    ProfileName,
    finish,
    gathered,
    one_world,
    reports_misuse,
)
from parsolve.cli.options import UsageError, profile_named, takes_fields
from parsolve.constraints import DEFAULT_PROFILE


@takes_fields
@reports_misuse
def check(
    given: Mapping[str, object],
    world: Annotated[
        str | None,
        typer.Option(
            "--world",
            metavar="N",
            help="World size: GPUs in the job, one rank each.",
            rich_help_panel="Cluster",
        ),
    ] = None,
    profile: ProfileName = DEFAULT_PROFILE,
    model: Model = None,
    gpu: Gpu = None,
    jsonl: Annotated[
        str | None,
        typer.Option(
            "--jsonl",
            metavar="FILE|-",
            rich_help_panel=ASK,
            help="Check many: one JSON object a line in, one verdict a line out. Other "
            "options hold for every line that does not say otherwise.",
        ),
    ] = None,
    repairs: Annotated[
        int | None,
        typer.Option(
            "--repairs",
            min=0,
            metavar="N",
            rich_help_panel=OUTPUT,
            help="Show at most so many of the nearest valid alternatives. "
            "(default: 6; 0 with --jsonl, to keep up with the stream)",
        ),
    ] = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Run ``parsolve check``."""
    from parsolve.solver.check import SHOWN_REPAIRS  # noqa: PLC0415
    from parsolve.solver.check import check as check_config  # noqa: PLC0415

    chosen = profile_named(profile)
    sizes = [one_world(world)] if world is not None else []
    facts = gathered(chosen, given, model, gpu, sizes)
    if jsonl is not None:
        from parsolve.cli.jsonl import FileError, check_lines  # noqa: PLC0415

        if world is not None:
            facts[chosen.world] = chosen.field_of[chosen.world].parse(one_world(world))
        tally = check_lines(chosen, jsonl, facts, repairs or 0)
        if not (tally.accepted or tally.rejected or tally.unreadable):
            message = f"{'standard input' if jsonl == '-' else jsonl} holds no configuration"
            raise FileError(message)
        if tally.unreadable:
            raise typer.Exit(MISUSE)
        raise typer.Exit(NO if tally.rejected else YES)
    if world is None:
        message = "give the world size, or a file of configurations with --jsonl"
        raise UsageError(message, param_hint="'--world'")
    config = chosen.config({chosen.world: one_world(world), **facts})
    shown = SHOWN_REPAIRS if repairs is None else repairs
    finish(check_config(config, shown_repairs=shown), format)
