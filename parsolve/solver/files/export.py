"""Configurations written as files of a framework: the tables that read them, in reverse."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from parsolve.constraints.fields import Field, Misuse, Size
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.compare import divides_ranks, known_as
from parsolve.solver.files.document import Document, Entry, Kind, Place
from parsolve.solver.files.format import CLUSTER, GPUS_PER_NODE, NODES, WORLD, Format, plain
from parsolve.solver.files.formats.accelerate import ACCELERATE
from parsolve.solver.files.formats.deepspeed import DEEPSPEED
from parsolve.solver.files.formats.halo import HALO
from parsolve.solver.files.formats.megatron import MEGATRON
from parsolve.solver.files.formats.torchtitan import TORCHTITAN
from parsolve.solver.files.reading import interpreted, values_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A kind of file that a configuration of ``format``'s profile is written as.

    ``file`` is its name where nobody names one, ``arguments`` what the launch line says of it
    (``{file}``), ``line`` the launch line where it is not the profile's. ``always`` are settings
    that such a file needs. ``options_since`` is the version that takes
    all of it as options instead. ``rest`` is the size that takes what the others leave, where the
    framework does not compute it. ``launchable`` are notices that stop another launch, not this.
    """

    format: Format
    kind: Kind
    file: str
    arguments: str
    line: str = ""
    always: Mapping[str, Any] = field(default_factory=dict)
    options_since: str = ""
    rest: str = ""
    launchable: frozenset[str] = frozenset()

    @property
    def profile(self) -> Profile:
        """Whose rules the configuration must keep."""
        return self.format.profile


EXPORTS: Mapping[str, Export] = {
    "halo": Export(format=HALO, kind="yaml", file="train.yaml", arguments=" {file}"),
    "megatron": Export(format=MEGATRON, kind="script", file="train.sh", arguments=""),
    "accelerate": Export(
        format=ACCELERATE,
        kind="yaml",
        file="accelerate.yaml",
        rest="dp_shard_size",
        # accelerate looks at its options before it reads the file
        launchable=frozenset({"launch-refuses-sizes"}),
        arguments=" {file}",
        line="accelerate launch --config_file{arguments} {machines}SCRIPT",
        always={"compute_environment": "LOCAL_MACHINE", "machine_rank": 0},
    ),
    "deepspeed": Export(
        format=DEEPSPEED, kind="json", file="ds_config.json", arguments=" --deepspeed_config {file}"
    ),
    "torchtitan": Export(
        format=TORCHTITAN,
        kind="toml",
        file="train.toml",
        arguments=" --job.config_file {file}",
        line="torchrun --nnodes {nodes} --nproc_per_node {node} {rendezvous}-m torchtitan.train",
        options_since="torchtitan 0.3, which reads no TOML",
    ),
}


@dataclass(frozen=True, slots=True)
class Written:
    """The settings of a file, by path, and the fields that it cannot give their values."""

    settings: Mapping[str, Any]
    unsaid: Mapping[str, Any]


def written(config: Config, export: Export) -> Written:
    """The configuration as settings of a file: whatever reading them does not give is unsaid."""
    form = export.format
    silent = _read(export, {}, config)
    settings = dict(export.always)
    cluster = _cluster(config)
    settings |= {
        key.path: cluster[key.of] for key in form.keys if key.of in CLUSTER and "." not in key.path
    }
    for each in form.profile.fields:
        value = config[each.name]
        if value != silent[each.name] or _is_told(form, each):
            settings |= form.written(each, value)
    if not form.marks & {plain(path) for path in settings}:  # nothing off its default
        axis = form.profile.field_of[form.profile.axes[0]]
        settings |= form.written(axis, config[axis.name])
    found = _read(export, settings, config)
    fields = (each.name for each in form.profile.fields)
    changed = {of: config[of] for of in fields if found[of] != config[of]}
    # what nobody gave is the framework's to fill in
    open_ = {of for of, value in changed.items() if value is None and form.filled is not None}
    return Written(settings, {of: held for of, held in changed.items() if of not in open_})


def _is_told(form: Format, field: Field) -> bool:
    """Whether a file says the field whatever its value: a phrase gives it."""
    return field.name in form.in_phrases.values()


def _cluster(config: Config) -> dict[str, int]:
    profile = config.profile
    derived = profile.derive(config.values)
    return {
        WORLD: config[profile.world],
        NODES: derived.get(profile.nodes, 1),
        GPUS_PER_NODE: derived.get(profile.node, 1),
    }


def _read(export: Export, settings: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """The value of every field as a file of these settings says it, on the same cluster."""
    form, profile = export.format, export.profile
    entries = tuple(
        Entry(path, value, Place(line, 1)) for line, (path, value) in enumerate(settings.items(), 1)
    )
    document = Document(export.file, export.kind, entries)
    said = interpreted(document, form).said
    fields = {
        of: each.value
        for of, each in said.items()
        if of in profile.field_of and not each.unjudged and each.value is not None
    }
    world = config[profile.world]
    if form.filled is not None:
        fields = {**form.filled(values_of(document), fields, world), **fields}
    cluster = {profile.world: world, "gpus_per_node": config["gpus_per_node"]}
    values = {each.name: each.default for each in profile.fields}
    return values | fields | cluster


def text(export: Export, settings: Mapping[str, Any], comments: Iterable[str]) -> str:
    """The file: its settings, below comments where it may hold any."""
    tree = _tree(settings)
    match export.kind:
        case "json":
            return json.dumps(tree, indent=2) + "\n"
        case "toml":
            body = _toml(tree)
        case _:
            import yaml  # noqa: PLC0415  (most commands write none)

            body = yaml.safe_dump(tree, sort_keys=False) if tree else ""
    return "".join(f"# {line}\n" for line in comments) + body


def _tree(settings: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in settings.items():
        *above, name = path.split(".")
        place = tree
        for part in above:
            place = place.setdefault(part, {})
        place[name] = value
    return tree


def _toml(tree: Mapping[str, Any]) -> str:
    """Tables of plain values, as job configurations have them."""
    tables = (
        "\n".join((f"[{table}]", *(f"{key} = {json.dumps(held)}" for key, held in rows.items())))
        for table, rows in tree.items()
    )
    return "\n\n".join(tables) + "\n" if tree else ""


@dataclass(frozen=True, slots=True)
class Translated:
    """A configuration in another framework's fields, and what has no counterpart there.

    ``axes`` are those of ``lost`` that split ranks.
    """

    config: Config
    lost: Mapping[str, Any]
    axes: Mapping[str, Any]


def translated(config: Config, export: Export) -> Translated:
    """The configuration in the fields of the export's profile, by the words that both have.

    Sizes are said whether they are defaults or not, since another framework's may differ.
    Raises `Misuse` where the other profile takes no such value.
    """
    source, target = config.profile, export.profile
    if source is target:
        return Translated(config, {}, {})
    given: dict[str, Any] = {}
    lost: dict[str, Any] = {}
    derived = source.derive(config.values)
    for each in source.fields:
        value = config[each.name]
        is_size = each.name in source.axes or each.name == source.world
        if value == each.default and not is_size:
            continue
        found = _counterpart(target, each, value)
        if found is None:
            if value != each.default:
                lost[each.name] = value
        else:
            given.setdefault(found.name, value)
    if "gradient_accumulation_steps" in lost and "requested_global_batch" in target.field_of:
        given.setdefault("requested_global_batch", derived.get("global_batch"))
        del lost["gradient_accumulation_steps"]
    fields: dict[str, Any] = {}
    for name, value in given.items():
        try:
            fields[name] = target.field_of[name].parse(value)
        except Misuse:
            lost[name] = value
    if export.rest and export.rest not in fields:
        others = prod(fields.get(each.name, 1) for each in _factors(target, export.rest))
        world = config[source.world]
        fields[export.rest] = world // others if others and world % others == 0 else 1
    axes = {of: held for of, held in lost.items() if of in source.axes and divides_ranks(held)}
    return Translated(target.config(fields), lost, axes)


def _factors(profile: Profile, rest: str) -> Iterator[Field]:
    """Sizes whose product with the one called ``rest`` is the world."""
    for each in profile.fields:
        divides = isinstance(each, Size) and bool(each.divides)
        if each.name != rest and (divides or each.name in profile.axes):
            yield each


def _counterpart(target: Profile, field: Field, value: object) -> Field | None:
    words = (field.name, field.flag, field.launch, *field.also)
    found = (known_as(target, word, value) for word in words if word and " " not in word)
    return next((each for each in found if each is not None), None)
