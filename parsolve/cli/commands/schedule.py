"""``parsolve schedule``."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, TextIO

import typer

from parsolve.cli.common import OUTPUT, reports_misuse
from parsolve.cli.options import speaks
from parsolve.cli.output import OutputFile, check_writable, write_to
from parsolve.constraints.fields import FieldError
from parsolve.solver.answer import Schedule, to_json

PIPELINE, TIMES = "Pipeline", "Times"


class TimelineFormat(StrEnum):
    """How a timeline is written."""

    TEXT = "text"
    JSON = "json"
    SVG = "svg"


@speaks("megatron")
@reports_misuse
def schedule(
    pp: Annotated[
        int,
        typer.Option(
            "--pp",
            metavar="N",
            help="Pipeline ranks, each with one stage of the model.",
            rich_help_panel=PIPELINE,
        ),
    ],
    microbatches: Annotated[
        int,
        typer.Option(
            "--microbatches",
            metavar="N",
            help="Micro-batches of a step.",
            rich_help_panel=PIPELINE,
        ),
    ],
    virtual_stages: Annotated[
        int,
        typer.Option(
            "--virtual-stages",
            metavar="N",
            help="Chunks of layers per pipeline rank (vpp).",
            rich_help_panel=PIPELINE,
        ),
    ] = 1,
    schedule: Annotated[
        str | None,
        typer.Option(
            "--schedule",
            metavar="NAME",
            help="One of gpipe, 1f1b, interleaved.",
            rich_help_panel=PIPELINE,
            show_default="1f1b; interleaved with virtual stages",
        ),
    ] = None,
    microbatch_group_size: Annotated[
        int | None,
        typer.Option(
            "--microbatch-group-size",
            metavar="N",
            help="Micro-batches that a chunk takes in a row (interleaved).",
            rich_help_panel=PIPELINE,
            show_default="as many as pipeline ranks",
        ),
    ] = None,
    layers_per_stage: Annotated[
        str | None,
        typer.Option(
            "--layers-per-stage",
            metavar="N,N",
            help="Layers of each rank, such as 4,4,4,3, or of its chunks, such as 2+2,2+1; times "
            "are then per layer.",
            rich_help_panel=TIMES,
            show_default="each stage counts as one",
        ),
    ] = None,
    forward_time: Annotated[
        int,
        typer.Option(
            "--forward-time",
            metavar="UNITS",
            help="Time of a forward through one stage, in any unit.",
            rich_help_panel=TIMES,
        ),
    ] = 1,
    backward_time: Annotated[
        int,
        typer.Option(
            "--backward-time",
            metavar="UNITS",
            help="Time of a backward through one stage, in the same unit.",
            rich_help_panel=TIMES,
        ),
    ] = 2,
    format: Annotated[  # noqa: A002
        TimelineFormat,
        typer.Option("--format", help="How to write the timeline.", rich_help_panel=OUTPUT),
    ] = TimelineFormat.TEXT,
    output: OutputFile = None,
) -> None:
    """Run ``parsolve schedule``."""
    from parsolve.solver.pipeline.schedule import schedule as simulate  # noqa: PLC0415

    check_writable(output)
    answer = simulate(
        pp=pp,
        microbatches=microbatches,
        virtual_stages=virtual_stages,
        schedule=schedule,
        microbatch_group_size=microbatch_group_size,
        layers_per_stage=None if layers_per_stage is None else _layers(layers_per_stage),
        forward_time=forward_time,
        backward_time=backward_time,
    )
    write_to(output, lambda stream: _write(answer, format, stream))


def _write(answer: Schedule, format_: TimelineFormat, stream: TextIO) -> None:
    match format_:
        case TimelineFormat.JSON:
            stream.write(to_json(answer, indent=2) + "\n")
        case TimelineFormat.SVG:
            from parsolve.cli.timeline_svg import svg  # noqa: PLC0415

            stream.write(svg(answer))
        case TimelineFormat.TEXT:
            from parsolve.cli.text import show  # noqa: PLC0415

            show(answer, stream)


def _layers(text: str) -> Sequence[int | Sequence[int]]:
    """``4,4,3`` as numbers of ranks, ``2+2,2+1`` as lists of their chunks."""
    try:
        parts = [[int(one) for one in rank.split("+")] for rank in text.split(",")]
    except ValueError:
        raise FieldError(
            f"--layers-per-stage takes numbers such as 4,4,4,3 or 2+2,2+1, got {text!r:.60}"
        ) from None
    return [part[0] if len(part) == 1 else part for part in parts]
