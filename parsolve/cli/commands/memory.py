"""``parsolve memory``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from parsolve.cli.common import (
    OUTPUT,
    AnswerFormat,
    Format,
    Gpu,
    Model,
    ProfileName,
    World,
    finish,
    gathered,
    one_world,
    reports_misuse,
)
from parsolve.cli.options import profile_named, takes_fields
from parsolve.constraints import DEFAULT_PROFILE


@takes_fields
@reports_misuse
def memory(
    given: Mapping[str, object],
    world: World,
    profile: ProfileName = DEFAULT_PROFILE,
    model: Model = None,
    gpu: Gpu = None,
    repairs: Annotated[
        int,
        typer.Option(
            "--repairs",
            min=0,
            metavar="N",
            rich_help_panel=OUTPUT,
            help="Show at most so many of the nearest configurations that fit.",
        ),
    ] = 6,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Run ``parsolve memory``."""
    from parsolve.solver.check import check  # noqa: PLC0415
    from parsolve.solver.memory import memory as account  # noqa: PLC0415
    from parsolve.solver.memory import usage  # noqa: PLC0415

    chosen = profile_named(profile)
    size = one_world(world, "memory")
    facts = gathered(chosen, given, model, gpu, [size], needs_size=True)
    config = chosen.config({chosen.world: size, **facts})
    if usage(config) is None and not config.accepted():
        finish(check(config, shown_repairs=repairs), format)  # a shape that has no memory
    finish(account(config, shown_repairs=repairs), format)
