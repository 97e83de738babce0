"""``parsolve stages``."""

from __future__ import annotations

from typing import Annotated

import typer

from parsolve.cli import completion
from parsolve.cli.common import ASK, OUTPUT, AnswerFormat, Format, Model, finish, reports_misuse
from parsolve.cli.options import profile_named, ranges, speaks

PIPELINE = "Pipeline"
COSTS = "Costs"

NUMBER = ("number of virtual stages", "numbers of virtual stages")
MOST_SIZES = 64
"""Numbers of ranks, or of chunks, that one question covers."""


@speaks("megatron")
@reports_misuse
def stages(
    pp: Annotated[
        str,
        typer.Option(
            "--pp",
            metavar="N|N,N|N..N",
            help="Pipeline-parallel size; a list or a range answers for every one.",
            rich_help_panel=PIPELINE,
        ),
    ],
    layers: Annotated[
        int | None,
        typer.Option(
            "--layers",
            metavar="N",
            help="Layers of the decoder, MTP layers not counted.",
            rich_help_panel="Model",
            show_default="the model's",
        ),
    ] = None,
    model: Model = None,
    virtual_stages: Annotated[
        str,
        typer.Option(
            "--virtual-stages",
            metavar="N|N,N|N..N",
            help="Chunks of layers per pipeline rank (vpp; interleaved schedule).",
            rich_help_panel=PIPELINE,
        ),
    ] = "1",
    mtp_layers: Annotated[
        int,
        typer.Option(
            "--mtp-num-layers",
            metavar="N",
            help="Layers that predict further tokens (MTP), all in one stage.",
            rich_help_panel="Model",
        ),
    ] = 0,
    seq_length: Annotated[
        int | None,
        typer.Option(
            "--seq-length",
            metavar="N",
            help="Tokens per sequence: with --model, attention scores cost something too.",
            rich_help_panel=COSTS,
            show_default="none: they cost nothing",
        ),
    ] = None,
    embedding_cost: Annotated[
        str | None,
        typer.Option(
            "--embedding-cost",
            metavar="X",
            help="Cost of the embedding, in layers.",
            rich_help_panel=COSTS,
            show_default="0",
        ),
    ] = None,
    loss_cost: Annotated[
        str | None,
        typer.Option(
            "--loss-cost",
            metavar="X",
            help="Cost of the output projection and the loss, in layers.",
            rich_help_panel=COSTS,
            show_default="1, or the model's",
        ),
    ] = None,
    mtp_cost: Annotated[
        str | None,
        typer.Option(
            "--mtp-cost",
            metavar="X",
            help="Cost of an MTP layer without its loss, in layers.",
            rich_help_panel=COSTS,
            show_default="1, or the model's",
        ),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Framework that splits the layers.",
            rich_help_panel=ASK,
            autocompletion=completion.profiles,
        ),
    ] = "megatron",
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            min=1,
            metavar="N",
            help="Show so many splits for each number of ranks and of chunks.",
            rich_help_panel=OUTPUT,
        ),
    ] = 5,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Run ``parsolve stages``."""
    from parsolve.solver.huggingface import read_model_facts  # noqa: PLC0415
    from parsolve.solver.pipeline.stages import stages as split  # noqa: PLC0415

    answer = split(
        profile_named(profile),
        layers=layers,
        shape=None if model is None else read_model_facts(model).counted(),
        ranks=ranges(pp, "--pp", ("pipeline size", "pipeline sizes"), MOST_SIZES),
        chunks=ranges(virtual_stages, "--virtual-stages", NUMBER, MOST_SIZES),
        mtp_layers=mtp_layers,
        sequence=seq_length,
        embedding_cost=embedding_cost,
        loss_cost=loss_cost,
        mtp_cost=mtp_cost,
        limit=limit,
    )
    finish(answer, format)
