"""``parsolve schema``."""

from __future__ import annotations

from parsolve.cli.common import reports_misuse, write_json


@reports_misuse
def schema() -> None:
    """Print the JSON schema of every answer."""
    from parsolve.solver.answer import json_schema  # noqa: PLC0415

    write_json(json_schema())
