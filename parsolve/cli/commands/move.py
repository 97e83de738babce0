"""``parsolve move``."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from parsolve.cli.common import (
    ASK,
    EXIT,
    OUTPUT,
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
from parsolve.cli.options import UsageError, reads_files, takes_fields
from parsolve.cli.output import check_writable, is_standard, write_to
from parsolve.cli.sides import World, facts_of, told
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.document import FileProblem
from parsolve.solver.files.reading import decoded
from parsolve.solver.sides import Told, known_to

ORIGIN = "Where the recipe is from"


@takes_fields
@reads_files
@reports_misuse
def move(
    given: Mapping[str, object],
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="A file, options in quotes, both in quotes, or a JSON object. Options outside of "
            "quotes say what holds on the new cluster.",
        ),
    ],
    world: World = None,
    nodes: Nodes = None,
    per_node: PerNode = None,
    profile: ProfileOfFile = None,
    model: Model = None,
    gpu: Gpu = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="KNOB",
            help="Do not change this knob, such as tp; repeatable.",
            rich_help_panel=ASK,
        ),
    ] = None,
    from_world: Annotated[
        str | None,
        typer.Option(
            "--from-world",
            metavar="N",
            help="GPUs that the recipe is for, if it does not say: its global batch follows.",
            rich_help_panel=ORIGIN,
        ),
    ] = None,
    from_nodes: Annotated[
        int | None,
        typer.Option(
            "--from-nnodes",
            metavar="N",
            min=1,
            help="OS nodes that the recipe is for.",
            rich_help_panel=ORIGIN,
        ),
    ] = None,
    from_per_node: Annotated[
        int | None,
        typer.Option(
            "--from-nproc-per-node",
            metavar="N",
            min=1,
            help="GPUs of each node that the recipe is for.",
            rich_help_panel=ORIGIN,
        ),
    ] = None,
    from_gpu: Annotated[
        str | None,
        typer.Option(
            "--from-gpu",
            metavar="NAME",
            help="GPU that the recipe is for, such as h100.",
            rich_help_panel=ORIGIN,
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="Show at most so many ways that are equally good.",
            rich_help_panel=OUTPUT,
        ),
    ] = 3,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|-",
            help="Write the recipe's file here with the changed values, everything else in it as "
            "it was; - instead of the answer.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ] = None,
    write: Annotated[
        bool,
        typer.Option("--write", help="Change the recipe's file in place.", rich_help_panel=OUTPUT),
    ] = False,
    rank: Annotated[
        int,
        typer.Option(
            "--rank",
            metavar="K",
            min=1,
            help="Write the K-th of the ways that are shown.",
            rich_help_panel=OUTPUT,
        ),
    ] = 1,
) -> None:
    """Run ``parsolve move``."""
    from parsolve.solver.move import Elsewhere, file_moved  # noqa: PLC0415
    from parsolve.solver.move import move as find  # noqa: PLC0415

    side = told(recipe, profile, model, None)
    path = _target(side, output, write=write)
    size = None if world is None else one_world(world, "move")
    was = None if from_world is None else one_world(from_world, "move")
    named = side.model if isinstance(side.model, str) else model
    moved = find(
        side,
        Elsewhere(
            facts=side.facts if gpu is None else facts_of(named, gpu),
            cluster=Cluster(world=size, nodes=nodes, gpus_per_node=per_node),
            given=known_to(side, given, [side]),
            names_gpu=gpu is not None,
            from_facts=side.facts if from_gpu is None else facts_of(named, from_gpu),
            from_cluster=Cluster(world=was, nodes=from_nodes, gpus_per_node=from_per_node),
            kept=keep or (),
        ),
        shown=limit,
    )
    if path is not None and moved.answer.moves:
        if rank > len(moved.answer.moves):
            message = f"{len(moved.answer.moves)} are shown; there is no number {rank}"
            raise UsageError(message, param_hint="'--rank'")
        mark, text = _read(side.reading.document.name)
        new = mark + file_moved(moved, text, rank - 1)
        if is_standard(path):
            sys.stdout.write(new)
            raise typer.Exit(EXIT[moved.answer.status])
        write_to(path, lambda stream: stream.write(new))
    finish(moved.answer, format)


def _target(side: Told, output: str | None, *, write: bool) -> str | None:
    """Where the file goes, if anywhere. Raises `Misuse`."""
    if output is None and not write:
        return None
    if not side.is_file:
        message = f"{side.name} names no file to write anew"
        raise UsageError(message)
    source = side.reading.document.name
    if output is None:
        return source
    if write:
        message = "either change the file in place, or write another one with -o"
        raise UsageError(message, param_hint="'--write'")
    check_writable(output)
    if not is_standard(output) and Path(output).exists() and Path(output).samefile(source):
        message = f"{output} is the recipe itself; --write changes it in place"
        raise UsageError(message, param_hint="'--output'")
    return output


def _read(name: str) -> tuple[str, str]:
    """The byte order mark of a file, and its text."""
    content = Path(name).read_bytes()
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        message = "it is in UTF-16; save it in UTF-8 to have it written anew"
        raise FileProblem(name, None, message)
    return "\ufeff" if content.startswith(BOM_UTF8) else "", decoded(name, content)
