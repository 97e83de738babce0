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
    profile: ProfileName = "halo",
    model: Model = None,
    where: Where = None,
    vary: Vary = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, metavar="N", help="Stop after so many.", rich_help_panel=OUTPUT
        ),
    ] = None,
    timeout: Timeout = None,
    format: Annotated[  # noqa: A002
        ListFormat,
        typer.Option("--format", help="How to write the listing.", rich_help_panel=OUTPUT),
    ] = ListFormat.TABLE,
) -> None:
    """List every valid configuration of a cluster, and say whether the list is complete.

    Example: parsolve list --world 64 --gpus-per-node 8 --moe --format jsonl
    """
    from parsolve.cli.listing import write_listing  # noqa: PLC0415
    from parsolve.solver.query import build_query  # noqa: PLC0415
    from parsolve.solver.solve import Listing, no_solution  # noqa: PLC0415

    chosen = profile_named(profile)
    query = build_query(
        chosen,
        worlds(world),
        gathered(chosen, given, model),
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
    certificate = listing.certificate
    if listing.timed_out or (certificate is not None and certificate.status != "proved"):
        raise typer.Exit(UNDECIDED)
