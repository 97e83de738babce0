"""``parsolve layout``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, TextIO

import typer

from parsolve.cli import completion
from parsolve.cli.common import (
    ASK,
    NO,
    OUTPUT,
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
from parsolve.cli.options import profile_named, ranges, takes_fields
from parsolve.cli.output import OutputFile, check_writable, write_to
from parsolve.constraints import DEFAULT_PROFILE
from parsolve.solver.answer import RankLayout, RankPlace, to_json

MOST_NAMED = 1024
"""Ranks that one question may name."""

NUMBERS = re.compile(r"\[\s+(\d+(?:,\s+\d+)*)\s+\]")
"""A list of numbers on lines of their own: there are many, and each is one thing."""


class LayoutFormat(StrEnum):
    """How rank groups are written."""

    TEXT = "text"
    JSON = "json"
    SVG = "svg"


@takes_fields
@reports_misuse
def layout(
    given: Mapping[str, object],
    world: World,
    profile: ProfileName = DEFAULT_PROFILE,
    model: Model = None,
    gpu: Gpu = None,
    rank: Annotated[
        list[str] | None,
        typer.Option(
            "--rank",
            metavar="N|N,N|N..N",
            rich_help_panel=ASK,
            help="Say where these ranks are and in which groups; repeatable.",
        ),
    ] = None,
    axis: Annotated[
        list[str] | None,
        typer.Option(
            "--axis",
            metavar="NAME",
            rich_help_panel=ASK,
            help="Show this kind of group, such as tp or dispatch; repeatable.",
            autocompletion=completion.groups,
            show_default="all",
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        LayoutFormat,
        typer.Option("--format", help="How to write the groups.", rich_help_panel=OUTPUT),
    ] = LayoutFormat.TEXT,
    output: OutputFile = None,
) -> None:
    """Run ``parsolve layout``."""
    from parsolve.solver.layout import layout as laid_out  # noqa: PLC0415

    check_writable(output)
    chosen = profile_named(profile)
    size = one_world(world, "layout")
    config = chosen.config({chosen.world: size, **gathered(chosen, given, model, gpu, [size])})
    ranks = [one for text in rank or () for one in _ranks(text)]
    axes = axis or ()
    answer = laid_out(config, ranks=ranks, axes=axes)
    if not isinstance(answer, RankLayout):
        if format is LayoutFormat.JSON:
            rejection = to_json(answer, indent=2) + "\n"
            write_to(output, lambda stream: stream.write(rejection))
            raise typer.Exit(NO)
        finish(answer, Format.TEXT)
    marked = answer.ranks or ()
    if format is LayoutFormat.SVG and ranks:
        answer = laid_out(config, axes=axes)  # its ranks are marked, and all groups drawn
        assert isinstance(answer, RankLayout)  # noqa: S101  (it was one with ranks)
    laid: RankLayout = answer
    write_to(output, lambda stream: _write(laid, format, stream, marked))


def _ranks(text: str) -> list[int]:
    return ranges(text, "--rank", ("rank", "ranks"), MOST_NAMED)


def _write(
    answer: RankLayout, format_: LayoutFormat, stream: TextIO, marked: Sequence[RankPlace]
) -> None:
    match format_:
        case LayoutFormat.JSON:
            text = to_json(answer, indent=2)
            stream.write(NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n")
        case LayoutFormat.SVG:
            from parsolve.cli.rank_svg import svg  # noqa: PLC0415

            stream.write(svg(answer, marked))
        case LayoutFormat.TEXT:
            from parsolve.cli.text import show  # noqa: PLC0415

            show(answer, stream)
