"""``parsolve check FILE...``: the verdict on every file, or one file as another framework's."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NoReturn

import typer

from parsolve.cli.common import EXIT, CheckFormat, Format, finish
from parsolve.cli.exporting import ExportName
from parsolve.cli.options import ALL, UsageError, profile_named
from parsolve.cli.sides import facts_of
from parsolve.solver.answer import Files
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.document import LARGEST_FILE, FileProblem
from parsolve.solver.files.judging import STANDARD_INPUT, Asked
from parsolve.solver.files.judging import check_files as judged
from parsolve.solver.files.reading import decoded


def asked_of(
    given: Mapping[str, object],
    cluster: Cluster,
    profile: str | None,
    model: str | None,
    gpu: str | None,
) -> Asked:
    """What options say of every file."""
    if profile == ALL:
        message = "a file is judged by the rules of its own framework; leave --profile out"
        raise UsageError(message, param_hint="'--profile'")
    return Asked(
        facts=facts_of(model, gpu),
        given=given,
        cluster=cluster,
        replaces_model=model is not None,
        profile=None if profile is None else profile_named(profile).name,
    )


def check_files(
    files: list[str],
    asked: Asked,
    format_: CheckFormat,
    export: ExportName | None,
    output: str | None,
) -> NoReturn:
    """Write the verdict on every file, or export the one file, and exit."""
    answer = judged(files, asked, _standard_input() if "-" in files else None)
    if export is not None:
        _export_file(answer, export, output)
    match format_:
        case CheckFormat.GITHUB:
            from parsolve.cli.annotations import write_github  # noqa: PLC0415

            write_github(answer, sys.stdout)
        case CheckFormat.SARIF:
            from parsolve.cli.annotations import write_sarif  # noqa: PLC0415

            write_sarif(answer, sys.stdout)
        case _:
            finish(answer, Format(format_))
    raise typer.Exit(EXIT[answer.status])


def _export_file(answer: Files, export: ExportName, output: str | None) -> NoReturn:
    from parsolve.cli.artefacts import export_config  # noqa: PLC0415

    if len(answer.files) != 1:
        message = "one file is exported at a time"
        raise UsageError(message, param_hint="'--export'")
    (verdict,) = answer.files
    if verdict.detail is None or verdict.verdict != "accepted":
        finish(answer, Format.TEXT, sys.stderr)
    chosen = profile_named(verdict.detail.profile)
    export_config(chosen.config(verdict.detail.config), export, output)


def _standard_input() -> str:
    content = sys.stdin.buffer.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise FileProblem(STANDARD_INPUT, None, f"larger than {LARGEST_FILE:,} bytes")
    return decoded(STANDARD_INPUT, content)
