"""``parsolve check``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NoReturn

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
    finish,
    gathered,
    one_world,
    reports_misuse,
)
from parsolve.cli.completion import offers
from parsolve.cli.options import ALL, UsageError, profile_named, takes_fields
from parsolve.constraints import DEFAULT_PROFILE, PROFILES
from parsolve.constraints.profile import Config, Profile


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
            show_default="none; needed without --jsonl",
        ),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Framework whose rules hold; all gives the verdict of every one.",
            rich_help_panel=ASK,
            autocompletion=offers(lambda _: (*PROFILES, ALL)),
        ),
    ] = DEFAULT_PROFILE,
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
            help="Show at most so many of the nearest valid alternatives.",
            show_default="6; 0 with --jsonl, to keep up with the stream",
        ),
    ] = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Run ``parsolve check``."""
    from parsolve.solver.check import SHOWN_REPAIRS  # noqa: PLC0415
    from parsolve.solver.check import check as check_config  # noqa: PLC0415

    if profile == ALL:
        _check_all(given, world, model, gpu, jsonl, repairs, format)
    chosen = profile_named(profile)
    sizes = [one_world(world)] if world is not None else []
    facts = gathered(chosen, given, model, gpu, sizes)
    if jsonl is not None:
        from parsolve.cli.jsonl import check_lines  # noqa: PLC0415
        from parsolve.cli.output import FileError  # noqa: PLC0415

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
        raise _no_world()
    config = chosen.config({chosen.world: one_world(world), **facts})
    shown = SHOWN_REPAIRS if repairs is None else repairs
    finish(check_config(config, shown_repairs=shown), format)


def _no_world() -> UsageError:
    message = "give the world size, or a file of configurations with --jsonl"
    return UsageError(message, param_hint="'--world'")


def _check_all(
    given: Mapping[str, object],
    world: str | None,
    model: str | None,
    gpu: str | None,
    jsonl: str | None,
    repairs: int | None,
    format_: Format,
) -> NoReturn:
    """Every profile's verdict on one shape."""
    from parsolve.solver.compare import compare  # noqa: PLC0415

    if jsonl is not None:
        message = "a file of configurations is checked against one profile; name it"
        raise UsageError(message, param_hint="'--profile'")
    if world is None:
        raise _no_world()
    size = one_world(world)

    def read(profile: Profile, said: Mapping[str, object]) -> Config:
        return profile.config(gathered(profile, said, model, gpu, [size]))

    finish(
        compare(
            {"world_size": size, **given}, read, shown_repairs=1 if repairs is None else repairs
        ),
        format_,
    )
