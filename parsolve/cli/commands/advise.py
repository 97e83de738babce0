"""``parsolve advise``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer

from parsolve.cli.common import (
    ASK,
    AnswerFormat,
    Format,
    Gpu,
    Model,
    ProfileName,
    Timeout,
    finish,
    gathered,
    one_world,
    reports_misuse,
    time_limit,
)
from parsolve.cli.options import profile_named, takes_fields
from parsolve.constraints import DEFAULT_PROFILE
from parsolve.constraints.profile import Config


class SymptomOption(StrEnum):
    """What hurts."""

    OOM = "oom"
    SLOW = "slow"
    BUBBLES = "bubbles"
    LONG_CONTEXT = "long-context"
    IMBALANCE = "imbalance"


@takes_fields
@reports_misuse
def advise(
    given: Mapping[str, object],
    world: Annotated[
        str,
        typer.Option(
            "--world",
            metavar="N",
            help="World size: GPUs in the job, one rank each.",
            rich_help_panel="Cluster",
        ),
    ],
    profile: ProfileName = DEFAULT_PROFILE,
    model: Model = None,
    gpu: Gpu = None,
    symptom: Annotated[
        SymptomOption | None,
        typer.Option(
            "--symptom",
            help="What hurts: what lies behind it in numbers, and what relieves it.",
            rich_help_panel=ASK,
        ),
    ] = None,
    timeout: Timeout = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Run ``parsolve advise``."""
    from parsolve.solver.advise.advise import advise as advice  # noqa: PLC0415
    from parsolve.solver.advise.question import climb_of, symptom_named  # noqa: PLC0415

    chosen = profile_named(profile)
    size = one_world(world, "advise")

    def read(changes: Mapping[str, object]) -> Config:
        said = {**given, **changes}
        facts = gathered(chosen, said, model, gpu, [size], needs_size=True)
        return chosen.config({chosen.world: size, **facts})

    climb = climb_of(read({}), given, None if model is None else read)
    finish(advice(climb, symptom=symptom_named(symptom), deadline=time_limit(timeout)), format)
