"""``parsolve advise``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from parsolve.cli.common import (
    ASK,
    AnswerFormat,
    Format,
    Gpu,
    Model,
    Nodes,
    PerNode,
    ProfileOfFile,
    Timeout,
    finish,
    gathered,
    on_each_node,
    one_world,
    reports_misuse,
    time_limit,
)
from parsolve.cli.options import UsageError, profile_named, reads_files, takes_fields
from parsolve.cli.sides import World, facts_of
from parsolve.constraints import DEFAULT_PROFILE
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.sides import of_file

if TYPE_CHECKING:
    from parsolve.solver.advise.question import Climb


class SymptomOption(StrEnum):
    """What hurts."""

    OOM = "oom"
    SLOW = "slow"
    BUBBLES = "bubbles"
    LONG_CONTEXT = "long-context"
    IMBALANCE = "imbalance"


@takes_fields
@reads_files
@reports_misuse
def advise(
    given: Mapping[str, object],
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A training file or launch script, as parsolve check reads it, that says the "
            "current configuration, the cluster and the model. Options replace what it says.",
            show_default=False,
        ),
    ] = None,
    world: World = None,
    nodes: Nodes = None,
    per_node: PerNode = None,
    profile: ProfileOfFile = None,
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
    from parsolve.solver.advise.file import advise_file  # noqa: PLC0415
    from parsolve.solver.advise.question import symptom_named  # noqa: PLC0415

    cluster = Cluster(
        world=None if world is None else one_world(world, "advise"),
        nodes=nodes,
        gpus_per_node=on_each_node(given, per_node),
    )
    hurts, limit = symptom_named(symptom), time_limit(timeout)
    if file is not None:
        side = of_file(file, profile, facts_of(model, gpu), model)
        side = replace(side, given=given, cluster=cluster)
        finish(advise_file(side, symptom=hurts, deadline=limit), format)
    climb = _climb(given, cluster, profile_named(profile or DEFAULT_PROFILE), model, gpu)
    finish(advice(climb, symptom=hurts, deadline=limit), format)


def _climb(
    given: Mapping[str, object],
    cluster: Cluster,
    chosen: Profile,
    model: str | None,
    gpu: str | None,
) -> Climb:
    """The climb of what options say."""
    from parsolve.solver.advise.question import climb_of  # noqa: PLC0415

    size, on_each = cluster.sizes()
    if size is None:
        message = "give the world size, or a FILE that says it"
        raise UsageError(message, param_hint="'--world'")
    own = {} if on_each is None else {"gpus_per_node": on_each}

    def read(changes: Mapping[str, object]) -> Config:
        said = {**given, **own, **changes}
        facts = gathered(chosen, said, model, gpu, [size], needs_size=True)
        return chosen.config({chosen.world: size, **facts})

    return climb_of(read({}), given, None if model is None else read)
