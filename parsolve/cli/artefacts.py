"""A configuration as the file, or the command line, that launches it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, NoReturn

import typer

from parsolve.cli.common import NO, YES, Format, finish
from parsolve.cli.exporting import ExportName
from parsolve.cli.launching import Words, launch_line, launch_words
from parsolve.cli.output import is_standard, write_to
from parsolve.constraints.fields import shown
from parsolve.constraints.memory.facts import FACT_NAMES
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.answer import Rejected
from parsolve.solver.check import check
from parsolve.solver.files.export import EXPORTS, Export, text, translated, written
from parsolve.solver.files.format import ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Artefact:
    """What is written, and what is said beside it on standard error."""

    text: str
    beside: list[str]


def export_config(config: Config, name: ExportName, output: str | None) -> NoReturn:
    """Write the configuration as a file of that framework, or say on standard error why not."""
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
    stopped -= export.format.not_by_file
    blocked = [each.warning for each in answer.warnings if each.warning in stopped]
    if blocked:
        _say(f"nobody can launch this ({', '.join(blocked)}), so nothing is exported")
        raise typer.Exit(NO)
    file = export.file if output is None or is_standard(output) else Path(output).name
    made = artefact(moved.config, export, file, moved.lost)
    for line in made.beside:
        _say(line)
    for caution in answer.warnings:
        if caution.kind is not None and caution.warning not in export.format.not_by_file:
            _say(f"{caution.kind}: {caution.warning}: {caution.reason}")
    write_to(output, lambda stream: stream.write(made.text))
    raise typer.Exit(YES)


def artefact(config: Config, export: Export, file: str, lost: Mapping[str, Any]) -> Artefact:
    """The file of a configuration, ``file`` being its name, or the whole command line.

    ``lost`` is what had no counterpart in the framework's words.
    """
    if export.kind == "script":
        return _command_line(config, export, lost)
    profile, values = config.profile, config.as_dict(everything=True)
    derived = profile.derive(config.values)
    words = launch_words(profile, values)
    tail = export.arguments.format(file=quote(file))
    launch = "".join(
        (_environment(words), launch_line(profile, values, derived, tail, export.line))
    )
    found = written(config, export)
    in_launch = {profile.launchers[0], *_in_environment(profile)}
    unsaid = {of: held for of, held in found.unsaid.items() if of not in in_launch}
    notes = _notes(profile, unsaid, lost)
    launches = [f"launch: {launch}"]
    if export.options_since:
        line = launch_line(profile, values, derived, "".join(words.arguments))
        launches.append(f"with {export.options_since}: {line}")
    no_comments = export.kind == "json"
    return Artefact(
        text(export, found.settings, (*launches, *notes)),
        [*launches, *notes] if no_comments else notes,
    )


def _command_line(config: Config, export: Export, lost: Mapping[str, Any]) -> Artefact:
    profile, values = config.profile, config.as_dict(everything=True)
    words = launch_words(profile, values)
    line = launch_line(profile, values, profile.derive(config.values), "".join(words.arguments))
    exported = {
        key.path.removeprefix(ENVIRONMENT): values[key.of]
        for key in export.format.keys
        if key.path.startswith(ENVIRONMENT) and values[key.of] is not None
    }
    said = {key.of for key in export.format.keys if key.path.startswith(ENVIRONMENT)}
    facts = {of: held for of, held in _facts(profile, values).items() if of not in said}
    notes = _notes(profile, words.unsaid | facts, lost)
    comments = "".join(f"# {note}\n" for note in notes)
    variables = "".join(f"{name}={held} " for name, held in exported.items())
    return Artefact(f"{comments}{variables}{_environment(words)}{_folded(line)}\n", notes)


def _environment(words: Words) -> str:
    return "".join(f"{each} " for each in words.environment)


def _notes(profile: Profile, unsaid: Mapping[str, Any], lost: Mapping[str, Any]) -> list[str]:
    """What the file does not say: settings to make elsewhere, facts taken for granted, losses."""
    knobs = {of: held for of, held in unsaid.items() if profile.field_of[of].role == "knob"}
    facts = {of: held for of, held in unsaid.items() if of not in {*knobs, *FACT_NAMES}}
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
