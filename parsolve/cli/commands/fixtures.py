"""``parsolve fixtures``."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from parsolve.cli.common import (
    ASK,
    OUTPUT,
    ProfileName,
    reports_misuse,
    spinner,
)
from parsolve.cli.options import profile_named, ranges
from parsolve.cli.output import OutputFile, check_writable, write_to
from parsolve.constraints import DEFAULT_PROFILE


class FixturesFormat(StrEnum):
    """How fixtures are written."""

    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    PYTEST = "pytest"


@reports_misuse
def fixtures(
    profile: ProfileName = DEFAULT_PROFILE,
    world: Annotated[
        str | None,
        typer.Option(
            "--world",
            metavar="N|N,N|N..N",
            help="World sizes of the fixtures, in GPUs.",
            rich_help_panel="Cluster",
            show_default="as small as each can be",
        ),
    ] = None,
    per_rule: Annotated[
        int,
        typer.Option(
            "--per-rule",
            metavar="N",
            help="Configurations that each rule alone rejects, the smallest first.",
            rich_help_panel=ASK,
        ),
    ] = 1,
    strength: Annotated[
        int,
        typer.Option(
            "--strength",
            metavar="N",
            help="Cover every valid combination of values of so many knobs, such as 2 for pairs; "
            "0 covers none.",
            rich_help_panel=ASK,
        ),
    ] = 0,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            help="Decides which are taken where several would do.",
            rich_help_panel=ASK,
        ),
    ] = 0,
    format: Annotated[  # noqa: A002
        FixturesFormat,
        typer.Option(
            "--format",
            help="How to write them; pytest is a file of tests that runs by itself.",
            rich_help_panel=OUTPUT,
        ),
    ] = FixturesFormat.JSON,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="MODULE:CALLABLE",
            help="The validator that the pytest file calls: a function, or a class that checks "
            "itself.",
            rich_help_panel=OUTPUT,
            show_default="a line to edit",
        ),
    ] = None,
    output: OutputFile = None,
) -> None:
    """Run ``parsolve fixtures``."""
    from parsolve.cli.fixture_formats import check_asked, summary, written  # noqa: PLC0415
    from parsolve.solver.fixtures.build import MOST_WORLDS  # noqa: PLC0415
    from parsolve.solver.fixtures.build import fixtures as make  # noqa: PLC0415

    check_writable(output)
    check_asked(format.value, against)
    chosen = profile_named(profile)
    sizes = [] if world is None else ranges(world, "--world", ("world", "worlds"), MOST_WORLDS)
    with spinner() as step:
        answer = make(chosen, sizes, per_rule=per_rule, strength=strength, seed=seed, progress=step)
    write_to(output, lambda stream: stream.write(written(answer, format.value, against)))
    sys.stderr.write(summary(answer))
