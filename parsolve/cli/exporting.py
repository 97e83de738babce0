"""``--export``: the options of commands that write a configuration as a framework's file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from parsolve.cli.common import OUTPUT, Format
from parsolve.cli.options import UsageError


class ExportName(StrEnum):
    """Whose file is written."""

    HALO = "halo"
    MEGATRON = "megatron"
    ACCELERATE = "accelerate"
    DEEPSPEED = "deepspeed"
    TORCHTITAN = "torchtitan"


ExportTo = Annotated[
    ExportName | None,
    typer.Option(
        "--export",
        metavar="NAME",
        help="Write the accepted configuration as this framework's own file, with the launch "
        f"line, and nothing else to standard output. One of {', '.join(ExportName)}.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]


def check_options(export: ExportName | None, output: str | None, format_: str) -> None:
    """Refuse options that do not go together."""
    if export is None:
        if output is not None:
            message = "-o writes what --export makes; give --export"
            raise UsageError(message, param_hint="'--output'")
    elif format_ != Format.TEXT:
        message = "--export writes the configuration itself; leave --format out"
        raise UsageError(message, param_hint="'--format'")
