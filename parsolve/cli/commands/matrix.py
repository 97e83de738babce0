"""``parsolve matrix``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from parsolve.cli.common import NO, OUTPUT, ProfileName, reports_misuse
from parsolve.cli.options import UsageError, profile_named
from parsolve.constraints import DEFAULT_PROFILE

MATRIX = "matrix.md"
"""Where the default profile's matrix stands."""


@reports_misuse
def matrix(
    profile: ProfileName = DEFAULT_PROFILE,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the matrix stands.",
            rich_help_panel=OUTPUT,
            show_default="matrix.md, for the default profile",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write nothing; fail if the file is stale.", rich_help_panel=OUTPUT
        ),
    ] = False,
) -> None:
    """Run ``parsolve matrix``."""
    from parsolve.cli.matrix import matrix_text  # noqa: PLC0415
    from parsolve.cli.output import FileError  # noqa: PLC0415

    if output is None:
        if profile != DEFAULT_PROFILE:
            message = f"{MATRIX} is the {DEFAULT_PROFILE} profile's; say where this one stands"
            raise UsageError(message, param_hint="'--output'")
        output = Path(MATRIX)
    text = matrix_text(profile_named(profile))
    try:
        if not check:
            output.write_text(text, encoding="utf-8")
            sys.stderr.write(f"parsolve: wrote {output}\n")
            return
        stale = output.read_text(encoding="utf-8") != text
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot use {output}: {getattr(error, 'strerror', None) or error}"
        raise FileError(message) from None
    if stale:
        sys.stderr.write(f"parsolve: {output} is stale; run parsolve matrix\n")
        raise typer.Exit(NO)
    sys.stderr.write(f"parsolve: {output} is fresh\n")
