"""A file format: what its keys say of a profile's fields, in both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Choice, Field, Flag, Size
from parsolve.constraints.profile import Profile
from parsolve.solver.files.document import Kind

NODES = "cluster.nodes"
GPUS_PER_NODE = "cluster.gpus_per_node"
WORLD = "cluster.world_size"
CLUSTER = (NODES, GPUS_PER_NODE, WORLD)
"""What a key may say of the cluster: OS nodes, GPUs of each, GPUs in all."""

ENVIRONMENT = "env."
"""How the keys of what stands in the environment begin."""

MODEL = "model"
"""What a key may say beside: the name of a model."""

AXIS = "axis"
"""What a key says that splits ranks, and that the rules have no field for."""

Derived: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, tuple[str | tuple[str, ...], Any]]]
"""Reads all values of a file, by path with underscores: for a field, the path or paths that say it
(empty where the absence of one does), and the value."""


class Unsaid:
    """Marks a value of a file that says nothing, such as ``auto``."""

    def __init__(self, why: str) -> None:
        self.why = why


class Unjudged:
    """Marks a value of a file that the rules cannot judge: there is no verdict, and ``why``."""

    def __init__(self, why: str) -> None:
        self.why = why


Filled: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any], int], Mapping[str, Any]]
"""What the framework itself fills in once the world is known: of the values of a file, of those of
fields, and the world, more values of fields; None for one that a file gives in vain."""

AUTO = Unsaid("auto: whoever calls fills it in")
OFF = Unsaid("off: another key may say more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What one key says: of a field, of the cluster or the model's name (``of``).

    ``values`` translates what the file holds into what the field holds, or into `Unsaid`; what
    is not in it is the field's own to judge.
    """

    path: str
    of: str
    values: Mapping[Any, Any] = field(default_factory=dict)

    def read(self, value: Any) -> Any:  # noqa: ANN401  (a file holds anything)
        """What the field holds where the file holds this value."""
        try:
            return self.values.get(_hashed(value), value)
        except TypeError:  # a list
            return value

    def write(self, value: Any) -> Any:  # noqa: ANN401
        """What the file holds where the field holds this value; None where it holds none.

        A switch holds true and false only.
        """
        for (_, said), meant in self.values.items():
            if type(meant) is type(value) and meant == value:
                return said
        is_switch = (bool, True) in self.values
        return None if is_switch and not isinstance(value, bool) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """Keys that together say a field's value: all of ``says`` must be held, as text."""

    of: str
    value: Any
    says: Mapping[str, Any]

    def holds(self, given: Mapping[str, Any]) -> bool:
        """Whether a file with these values, by path with underscores, says so."""
        return all(
            path in given and str(given[path]).lower() == str(held).lower()
            for path, held in ((plain(path), held) for path, held in self.says.items())
        )


def _hashed(value: Any) -> tuple[type, Any]:  # noqa: ANN401
    """A value that is told apart from what Python calls equal: true is not 1."""
    return type(value), value


def values(**texts: Any) -> dict[Any, Any]:  # noqa: ANN401
    """Texts of a file, with what the field holds."""
    return {_hashed(text): meant for text, meant in texts.items()}


def switch(on: Any, off: Any) -> dict[Any, Any]:  # noqa: ANN401
    """What true and false mean to the field."""
    return {(bool, True): on, (bool, False): off}


def constant(text: Any, meant: Any) -> dict[Any, Any]:  # noqa: ANN401
    """What one value of a file means to the field; every other means itself."""
    return {_hashed(text): meant}


@dataclass(frozen=True, kw_only=True)
class Format:
    """One kind of file that says how to train.

    ``marks`` are paths of which a file must hold one, and all of ``needed``; the format of most
    marks is taken. A key that ``keys`` does not list is read by the profile's own spellings below
    each of ``sections`` (``""`` is the root). Of the ``phrases`` of a field the first that holds
    says its value. ``derived`` gives what else several keys say together, ``filled`` what follows
    from them and the world. ``remarks`` tell, by path, why a key says nothing.
    With ``overrides`` a command line says its settings as ``key=value``, not as options.
    ``not_by_file`` are warnings about a launch by options, which such a file is none of.
    ``once``: the framework refuses a key that is given twice, where others take the last.
    ``judged_by_another``: the profile is not that of the framework whose files these are.
    """

    name: str
    title: str
    kinds: frozenset[Kind]
    profile_name: str
    marks: frozenset[str]
    keys: tuple[Key, ...] = ()
    sections: tuple[str, ...] = ("",)
    phrases: tuple[Phrase, ...] = ()
    derived: Derived | None = None
    filled: Filled | None = None
    needed: frozenset[str] = frozenset()
    remarks: Mapping[str, str] = field(default_factory=dict)
    not_by_file: frozenset[str] = frozenset()
    overrides: bool = False
    once: bool = False
    judged_by_another: bool = False

    @property
    def profile(self) -> Profile:
        """Whose rules judge such files."""
        return PROFILES[self.profile_name]

    @cached_property
    def of_path(self) -> Mapping[str, Key]:
        """Keys by path, in the frameworks' one spelling of dashes."""
        listed = self.keys
        if "script" in self.kinds or self.sections:
            listed = (*_of_command_line(self.profile), *listed)
        if "script" in self.kinds:  # as readers of launch lines call them
            listed = (*(Key(path=part, of=part) for part in CLUSTER), *listed)
        return {plain(key.path): key for key in listed}

    def key(self, path: str) -> Key | None:
        """What the key at a path says; None where it says nothing that rules ask for."""
        word = plain(path)
        known = self.of_path.get(word)
        if known is not None:
            return known
        spellings = self.profile.spellings
        for section in self.sections:
            rest = word.removeprefix(f"{section}.") if section else word
            if (section == "" or rest != word) and rest in spellings:
                return Key(path=path, of=spellings[rest])
        return None

    @cached_property
    def in_phrases(self) -> Mapping[str, str]:
        """The field that a path tells about beside others, by path with underscores."""
        return {plain(path): phrase.of for phrase in self.phrases for path in phrase.says}

    def path_of(self, field: Field) -> str:
        """How such a file calls a field; empty where it has no key for it."""
        listed = next((key.path for key in self.keys if key.of == field.name), "")
        if listed or "" not in self.sections:
            return listed
        return field.launch if " " not in field.launch else ""

    def written(
        self,
        field: Field,
        value: Any,  # noqa: ANN401
        own: Mapping[str, str] | None = None,
    ) -> Mapping[str, Any]:
        """The settings, by path, that give the field this value; none where none do.

        ``own`` names, by field, the path that a file already has for it.
        """
        for phrase in self.phrases:
            if phrase.of == field.name and phrase.value == value:
                return phrase.says
        path = (own or {}).get(field.name) or self.path_of(field)
        if not path or value is None:
            return {}
        key = self.key(path)
        if key is None or key.of != field.name:  # several keys said it
            path = self.path_of(field)
            key = self.key(path)
        if not path:
            return {}
        held = value if key is None else key.write(value)
        if held is None:
            return {}
        return {path: list(held) if isinstance(held, tuple) else held}

    def setting(
        self,
        kind: Kind,
        field: Field,
        value: Any,  # noqa: ANN401
        own: Mapping[str, str] | None = None,
    ) -> str:
        """The lines of such a file that give the field this value; empty where none do."""
        return ", ".join(line(kind, *each) for each in self.written(field, value, own).items())


def line(kind: Kind, path: str, held: Any) -> str:  # noqa: ANN401
    """One setting as such a file holds it, or as an override of a command line."""
    match kind:
        case "yaml":
            return f"{path}: {_plain_scalar(held)}"
        case "json":
            return f"{json.dumps(path)}: {json.dumps(held)}"
        case "toml":
            return f"{path} = {json.dumps(held)}"
        case "script":
            return f"{path}={_plain_scalar(held)}"


def _of_command_line(profile: Profile) -> Iterator[Key]:
    """Options of the framework that are no field's own name: ``--bf16``, ``--disable-x``."""
    for each in profile.fields:
        match each:
            case Flag(launch_off=str(off)) if off:
                yield Key(path=off, of=each.name, values=switch(on=False, off=OFF))
            case Choice(said=(_, *_)):
                for label, option in each.said:
                    if option:
                        path = option.removeprefix("--")
                        yield Key(path=path, of=each.name, values=switch(on=label, off=OFF))
            case Size(env=str(name)) if name:
                yield Key(path=f"{ENVIRONMENT}{name}", of=each.name)


def plain(path: str) -> str:
    """A path with the one spelling of dashes."""
    return path.replace("-", "_")


def _plain_scalar(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, str):
        return value
    return json.dumps(value)
