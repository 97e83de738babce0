"""``parsolve list``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer

from parsolve.cli.common import (
    OUTPUT,
    UNDECIDED,
    Format,
    Gpu,
    Model,
    ProfileName,
    Timeout,
    Vary,
    Where,
    Worlds,
    finish,
    gathered,
    progress_bar,
    reports_misuse,
    time_limit,
)
from parsolve.cli.options import profile_named, takes_fields, worlds
from parsolve.constraints import DEFAULT_PROFILE


class ListFormat(StrEnum):
    """How a listing is written."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"


@takes_fields
@reports_misuse
def list_configurations(
    world: Worlds,
    given: Mapping[str, object],
    profile: ProfileName = DEFAULT_PROFILE,
    model: Model = None,
    gpu: Gpu = None,
    where: Where = None,
    vary: Vary = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=1,
            metavar="N",
            help="Stop after so many configurations.",
            rich_help_panel=OUTPUT,
            show_default="all",
        ),
    ] = None,
    timeout: Timeout = None,
    format: Annotated[  # noqa: A002
        ListFormat,
        typer.Option("--format", help="How to write the listing.", rich_help_panel=OUTPUT),
    ] = ListFormat.TABLE,
) -> None:
    """Run ``parsolve list``."""
    from parsolve.cli.listing import write_listing  # noqa: PLC0415
    from parsolve.solver.query import build_query  # noqa: PLC0415
    from parsolve.solver.solve import Listing, no_solution  # noqa: PLC0415

    chosen = profile_named(profile)
    sizes = worlds(world)
    query = build_query(
        chosen,
        sizes,
        gathered(chosen, given, model, gpu, sizes),
        where=where or (),
        vary=vary or (),
    )
    steps = 0 if sys.stdout.isatty() else len(query.worlds)
    with progress_bar(steps) as progress:
        listing = Listing(query, limit, time_limit(timeout), progress)
        found = write_listing(listing, format.value)
    if not found:
        nothing = (
            no_solution(query, listing.deadline) if listing.complete else listing.undecided(())
        )
        rows_only = format in {ListFormat.JSONL, ListFormat.CSV}
        finish(
            nothing,
            Format.JSON if format is ListFormat.JSON else Format.TEXT,
            stream=sys.stderr if rows_only else sys.stdout,
        )
    if listing.undecided_yet:
        raise typer.Exit(UNDECIDED)
