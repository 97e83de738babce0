"""``parsolve diff``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from parsolve.cli.common import (
    AnswerFormat,
    Format,
    Gpu,
    Model,
    Nodes,
    PerNode,
    ProfileOfFile,
    finish,
    one_world,
    reports_misuse,
)
from parsolve.cli.options import reads_files, takes_fields
from parsolve.cli.sides import World, told
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.sides import known_to


@takes_fields
@reads_files
@reports_misuse
def diff(
    given: Mapping[str, object],
    before: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A configuration: a file, options in quotes, both in quotes, or a JSON object.",
        ),
    ],
    after: Annotated[
        str,
        typer.Argument(metavar="B", help="Another one. Options outside of quotes hold for both."),
    ],
    world: World = None,
    nodes: Nodes = None,
    per_node: PerNode = None,
    profile: ProfileOfFile = None,
    model: Model = None,
    gpu: Gpu = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Run ``parsolve diff``."""
    from parsolve.solver.difference import difference  # noqa: PLC0415

    size = None if world is None else one_world(world, "diff")
    cluster = Cluster(world=size, nodes=nodes, gpus_per_node=per_node)
    sides = [told(text, profile, model, gpu) for text in (before, after)]
    first, second = (side.over(known_to(side, given, sides), cluster) for side in sides)
    finish(difference(first, second), format)
