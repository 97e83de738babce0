"""One of several configurations on a command line: what `parsolve check` takes, in one argument."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from parsolve.cli.app import command
from parsolve.cli.common import WORLD, Gpu, Model, Nodes, PerNode, gathered, one_world
from parsolve.cli.options import UsageError, profile_named, reads_files, takes_fields
from parsolve.constraints import DEFAULT_PROFILE
from parsolve.constraints.fields import shown
from parsolve.constraints.profile import Profile
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.judging import Facts
from parsolve.solver.sides import Told, of_fields, of_file

World = Annotated[str | None, WORLD]


def facts_of(model: str | None, gpu: str | None) -> Facts:
    """What the user said, over what a model and a GPU of these names say."""

    def facts(
        chosen: Profile, said: Mapping[str, object], own_model: str | None, sizes: list[int]
    ) -> dict[str, Any]:
        return gathered(chosen, said, own_model if model is None else model, gpu, sizes)

    return facts


def told(text: str, profile: str | None, model: str | None, gpu: str | None) -> Told:
    """The configuration that an argument says: a file, options, both, or a JSON object.

    ``profile``, ``model`` and ``gpu`` hold where it says nothing of them. Raises `Misuse`.
    """
    text = text.strip()
    if text.startswith("{"):
        return _of_object(text, profile, model, gpu)
    if Path(text).is_file():
        return _of_options(text, _Said(files=[text], profile=profile, model=model, gpu=gpu))
    try:
        words = shlex.split(text)
    except ValueError as error:
        message = f"{shown(text)} cannot be read as options: {error}"
        raise UsageError(message) from None
    if not words:
        message = "an empty argument says nothing; give a file, or options in quotes"
        raise UsageError(message)
    said = _parsed(text, words)
    return _of_options(
        text,
        replace(
            said,
            profile=said.profile or profile,
            model=said.model or model,
            gpu=said.gpu or gpu,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _Said:
    """What the words of an argument say."""

    given: Mapping[str, object] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    cluster: Cluster = field(default_factory=Cluster)
    profile: str | None = None
    model: str | None = None
    gpu: str | None = None


def _parsed(text: str, words: list[str]) -> _Said:
    """The words as `parsolve check` reads them."""
    found: list[_Said] = []

    @takes_fields
    @reads_files
    def configuration(
        given: Mapping[str, object],
        files: Annotated[list[str] | None, typer.Argument(metavar="[FILE]")] = None,
        world: World = None,
        nodes: Nodes = None,
        per_node: PerNode = None,
        profile: Annotated[str | None, typer.Option("--profile")] = None,
        model: Model = None,
        gpu: Gpu = None,
    ) -> None:
        size = None if world is None else one_world(world, "each side")
        cluster = Cluster(world=size, nodes=nodes, gpus_per_node=per_node)
        found.append(
            _Said(
                given=given,
                files=files or [],
                cluster=cluster,
                profile=profile,
                model=model,
                gpu=gpu,
            )
        )

    built = command("configuration", configuration, "", words)
    built.main(words, prog_name=shown(text), standalone_mode=False)
    if not found:  # it was --help
        message = f"{shown(text)} is no configuration"
        raise UsageError(message)
    return found[0]


def _of_options(name: str, said: _Said) -> Told:
    if len(said.files) > 1:
        message = f"{shown(name)} names several files: {', '.join(said.files)}; give one"
        raise UsageError(message)
    if said.profile is not None:
        profile_named(said.profile)
    facts = facts_of(said.model, said.gpu)
    if said.files:
        side = of_file(said.files[0], said.profile, facts, said.model)
    else:
        side = of_fields(
            name, {}, profile_named(said.profile or DEFAULT_PROFILE), facts, said.model
        )
    return replace(side, name=name, given=said.given, cluster=said.cluster)


def _of_object(name: str, profile: str | None, model: str | None, gpu: str | None) -> Told:
    """The fields of a JSON object, the world among them."""
    from parsolve.cli.jsonl import configuration  # noqa: PLC0415  (few sides are one)

    chosen = profile_named(profile or DEFAULT_PROFILE)
    return of_fields(name, configuration(name.encode()), chosen, facts_of(model, gpu), model)
