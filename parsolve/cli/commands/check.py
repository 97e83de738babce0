"""``parsolve check``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, NoReturn

import typer

from parsolve.cli.common import (
    ASK,
    MISUSE,
    NO,
    OUTPUT,
    YES,
    CheckFormat,
    Format,
    Gpu,
    Model,
    Nodes,
    PerNode,
    finish,
    gathered,
    on_each_node,
    one_world,
    reports_misuse,
)
from parsolve.cli.completion import offers
from parsolve.cli.exporting import ExportTo, check_options
from parsolve.cli.options import ALL, UsageError, profile_named, reads_files, takes_fields
from parsolve.cli.output import OutputFile, check_writable
from parsolve.constraints import DEFAULT_PROFILE, PROFILES
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.files.cluster import Cluster


@takes_fields
@reads_files
@reports_misuse
def check(
    given: Mapping[str, object],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Files to check, or folders of them, or - for standard input: training YAML, "
            "launch scripts, accelerate, DeepSpeed, torchtitan and axolotl configurations. "
            "Nothing is executed. Options replace what a file says.",
            show_default=False,
        ),
    ] = None,
    world: Annotated[
        str | None,
        typer.Option(
            "--world",
            metavar="N",
            help="World size: GPUs in the job, one rank each.",
            rich_help_panel="Cluster",
            show_default="none; needed without --jsonl",
        ),
    ] = None,
    nodes: Nodes = None,
    per_node: PerNode = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Framework whose rules hold; all gives the verdict of every one.",
            rich_help_panel=ASK,
            autocompletion=offers(lambda _: (*PROFILES, ALL)),
            show_default="halo; the file's own, where FILE is given",
        ),
    ] = None,
    model: Model = None,
    gpu: Gpu = None,
    jsonl: Annotated[
        str | None,
        typer.Option(
            "--jsonl",
            metavar="FILE|-",
            rich_help_panel=ASK,
            help="Check many: one JSON object a line in, one verdict a line out. Other "
            "options hold for every line that does not say otherwise.",
        ),
    ] = None,
    skip_unknown: Annotated[
        bool,
        typer.Option(
            "--skip-unknown",
            rich_help_panel=ASK,
            help="Skip FILEs of no known format too, as those in folders.",
        ),
    ] = False,
    repairs: Annotated[
        int | None,
        typer.Option(
            "--repairs",
            min=0,
            metavar="N",
            rich_help_panel=OUTPUT,
            help="Show at most so many of the nearest valid alternatives.",
            show_default="6; 0 with --jsonl, to keep up with the stream",
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        CheckFormat,
        typer.Option(
            "--format",
            help="How to write the answer; github (annotations) and sarif take files.",
            rich_help_panel=OUTPUT,
        ),
    ] = CheckFormat.TEXT,
    export: ExportTo = None,
    output: OutputFile = None,
) -> None:
    """Run ``parsolve check``."""
    from parsolve.solver.answer import Rejected  # noqa: PLC0415
    from parsolve.solver.check import SHOWN_REPAIRS  # noqa: PLC0415
    from parsolve.solver.check import check as check_config  # noqa: PLC0415

    check_options(export, output, format)
    check_writable(output)
    if export is not None and (jsonl is not None or profile == ALL):
        message = "one configuration under one profile is exported"
        raise UsageError(message, param_hint="'--export'")
    shown = SHOWN_REPAIRS if repairs is None else repairs
    cluster = Cluster(
        world=None if world is None else one_world(world),
        nodes=nodes,
        gpus_per_node=on_each_node(given, per_node),
    )
    if files:
        from parsolve.cli.file_checks import asked_of, check_files  # noqa: PLC0415

        if jsonl is not None:
            message = "give files, or a stream of configurations with --jsonl, not both"
            raise UsageError(message, param_hint="'--jsonl'")
        asked = asked_of(given, cluster, profile, model, gpu)
        asked = replace(asked, skips_unknown=skip_unknown, shown_repairs=shown)
        check_files(files, asked, format, export, output)
    if format not in {CheckFormat.TEXT, CheckFormat.JSON}:
        message = f"{format} annotates lines of files; give FILE"
        raise UsageError(message, param_hint="'--format'")
    if profile == ALL:
        _check_all(given, cluster, model, gpu, jsonl, repairs, Format(format))
    chosen = profile_named(profile or DEFAULT_PROFILE)
    size, on_each = cluster.sizes()
    world = None if size is None else str(size)
    if on_each is not None:
        given = {**given, "gpus_per_node": on_each}
    sizes = [one_world(world)] if world is not None else []
    facts = gathered(chosen, given, model, gpu, sizes)
    if jsonl is not None:
        if world is not None:
            facts[chosen.world] = chosen.field_of[chosen.world].parse(one_world(world))
        _check_lines(chosen, jsonl, facts, repairs or 0)
    if world is None:
        raise _no_world()
    config = chosen.config({chosen.world: one_world(world), **facts})
    answer = check_config(config, shown_repairs=shown)
    if export is None:
        finish(answer, Format(format))
    if isinstance(answer, Rejected):
        finish(answer, Format.TEXT, sys.stderr)
    from parsolve.cli.artefacts import export_config  # noqa: PLC0415

    export_config(config, export, output)


def _check_lines(
    chosen: Profile, jsonl: str, facts: dict[str, object], shown_repairs: int
) -> NoReturn:
    """The verdict on every line."""
    from parsolve.cli.jsonl import check_lines  # noqa: PLC0415
    from parsolve.cli.output import FileError  # noqa: PLC0415

    tally = check_lines(chosen, jsonl, facts, shown_repairs)
    if not (tally.accepted or tally.rejected or tally.unreadable):
        message = f"{'standard input' if jsonl == '-' else jsonl} holds no configuration"
        raise FileError(message)
    if tally.unreadable:
        raise typer.Exit(MISUSE)
    raise typer.Exit(NO if tally.rejected else YES)


def _no_world() -> UsageError:
    message = "give the world size, or a file of configurations with --jsonl"
    return UsageError(message, param_hint="'--world'")


def _check_all(
    given: Mapping[str, object],
    cluster: Cluster,
    model: str | None,
    gpu: str | None,
    jsonl: str | None,
    repairs: int | None,
    format_: Format,
) -> NoReturn:
    """Every profile's verdict on one shape."""
    from parsolve.solver.compare import compare  # noqa: PLC0415

    if jsonl is not None:
        message = "a file of configurations is checked against one profile; name it"
        raise UsageError(message, param_hint="'--profile'")
    size, on_each = cluster.sizes()
    if size is None:
        raise _no_world()
    if on_each is not None:
        given = {**given, "gpus_per_node": on_each}

    def read(profile: Profile, said: Mapping[str, object]) -> Config:
        return profile.config(gathered(profile, said, model, gpu, [size]))

    finish(
        compare(
            {"world_size": size, **given}, read, shown_repairs=1 if repairs is None else repairs
        ),
        format_,
    )
