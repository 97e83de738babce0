"""``--export``: a configuration as the file, or the command line, that launches it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, NoReturn

import typer

from parsolve.cli.common import NO, OUTPUT, YES, Format, finish
from parsolve.cli.launching import launch_line, launch_words
from parsolve.cli.options import UsageError
from parsolve.cli.output import is_standard, write_to
from parsolve.constraints.fields import shown
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.answer import Rejected


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
        help="Write the accepted configuration as this framework's own file, with the launch "
        "line; nothing else goes to standard output.",
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


def export_config(config: Config, name: ExportName, output: str | None) -> NoReturn:
    """Write the configuration as a file of that framework, or say on standard error why not."""
    from parsolve.solver.check import check  # noqa: PLC0415
    from parsolve.solver.files.export import EXPORTS, text, translated, written  # noqa: PLC0415

    export = EXPORTS[name]
    target = export.profile
    moved = translated(config, export)
    if moved.axes:
        _say(f"{target.title} has no such axis: {_listed(moved.axes)}; nothing is exported")
        raise typer.Exit(NO)
    answer = check(moved.config)
    if isinstance(answer, Rejected):
        if target is not config.profile:
            _say(f"in {target.title}'s words it is rejected there, so nothing is exported:")
        finish(answer, Format.TEXT, sys.stderr)
    stopped = {notice.id for notice in target.warnings if not notice.launchable}
    blocked = [each.warning for each in answer.warnings if each.warning in stopped]
    if blocked:
        _say(f"nobody can launch this ({', '.join(blocked)}), so nothing is exported")
        raise typer.Exit(NO)
    values, derived = moved.config.as_dict(everything=True), answer.derived
    words = launch_words(target, values)
    environment = "".join(f"{each} " for each in words.environment)
    if export.kind == "script":
        line = launch_line(target, values, derived, "".join(words.arguments))
        facts = {of: held for of, held in _facts(target, values).items() if held is not None}
        notes = _notes(target, words.unsaid | facts, moved.lost)
        written_text = "".join(f"# {note}\n" for note in notes) + environment + _folded(line) + "\n"
    else:
        file = quote(export.file if output is None or is_standard(output) else Path(output).name)
        tail = export.arguments.format(file=file)
        line = environment + launch_line(target, values, derived, tail, export.line)
        found = written(moved.config, export)
        said_elsewhere = {target.launchers[0], *_in_environment(target)}
        unsaid = {of: held for of, held in found.unsaid.items() if of not in said_elsewhere}
        notes = _notes(target, unsaid, moved.lost)
        comments = [f"launch: {line}", *_other_line(export.options_since, target, values, derived)]
        if export.kind == "json":  # holds no comments
            _say(comments[0])
        written_text = text(export, found.settings, (*comments, *notes))
    for note in notes:
        _say(note)
    write_to(output, lambda stream: stream.write(written_text))
    raise typer.Exit(YES)


def _other_line(
    since: str, target: Profile, values: Mapping[str, Any], derived: Mapping[str, Any]
) -> list[str]:
    if not since:
        return []
    words = launch_words(target, values)
    return [f"with {since}: {launch_line(target, values, derived, ''.join(words.arguments))}"]


def _notes(profile: Profile, unsaid: Mapping[str, Any], lost: Mapping[str, Any]) -> list[str]:
    """What the file does not say: settings to make elsewhere, facts taken for granted, losses."""
    knobs = {of: held for of, held in unsaid.items() if profile.field_of[of].role == "knob"}
    facts = {of: held for of, held in unsaid.items() if of not in knobs}
    notes = []
    if knobs:
        notes.append(f"not said here, set it elsewhere: {_listed(knobs)}")
    if facts:
        notes.append(f"checked for: {_listed(facts)}")
    if lost:
        notes.append(f"without counterpart in {profile.name}, left out: {_listed(lost)}")
    return notes


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{of} = {shown(held)}" for of, held in values.items())


def _facts(profile: Profile, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a command line takes for granted: of the model, the cluster and the run."""
    return {
        each.name: values[each.name]
        for each in profile.fields
        if each.role != "knob"
        and values[each.name] != each.default
        and not (each.launch or getattr(each, "env", "") or getattr(each, "launch_off", ""))
        and each.name not in {profile.world, "gpus_per_node"}
    }


def _in_environment(profile: Profile) -> set[str]:
    """Fields that only a variable of the environment gives."""
    return {each.name for each in profile.fields if getattr(each, "env", "") and not each.launch}


def _folded(line: str) -> str:
    """One option a line."""
    return line.replace(" --", " \\\n    --")


def _say(text: str) -> None:
    sys.stderr.write(f"parsolve: {text}\n")
