"""A configuration in words: options, the cluster, what resolved to something else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from shlex import quote
from typing import Any

from parsolve.cli.screen import NO, OPEN, YES
from parsolve.constraints.fields import Bytes, Field, Flag, Size, Sizes, gib, size_text
from parsolve.constraints.locality import SUFFIX
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Usage


def option(field: Field, value: object) -> str:
    """The command line option, or the environment, that gives the field this value."""
    if not field.flag:
        if isinstance(field, Size) and field.env:
            return f"{field.env}={value}"
        return f"--{value}" if value in {"moe", "dense"} else f"({field.name} = {value})"
    if isinstance(field, Flag):
        return f"--{field.flag}" if value else f"--no-{field.flag}"
    if isinstance(field, Sizes) and isinstance(value, (list, tuple)):
        return f"--{field.flag} {quote(field.written(value))}"
    if isinstance(field, Bytes) and isinstance(value, int):
        return f"--{field.flag} {size_text(value)}"
    return f"--{field.flag} {'unset' if value is None else quote(str(value))}"


CHOSEN = frozenset({"knob", "run"})
"""Roles of what somebody chose for a run: an answer states it wherever it is off its default."""


def differences(profile: Profile, config: Mapping[str, Any], also: Iterable[str] = ()) -> str:
    """Options for what was chosen off its default, and for the fields named in ``also``."""
    wanted = set(also)
    parts = [
        option(field, config.get(field.name, field.default))
        for field in profile.fields
        if field.flag and (field.name in wanted or _is_chosen(field, config))
    ]
    return " ".join(parts) or "(defaults)"


def _is_chosen(field: Field, config: Mapping[str, Any]) -> bool:
    return field.role in CHOSEN and config.get(field.name, field.default) != field.default


def gpus(count: int) -> str:
    """So many GPUs, in words."""
    return f"{count} GPU{'s' if count != 1 else ''}"


def cluster(profile: Profile, config: Mapping[str, Any], derived: Mapping[str, Any]) -> str:
    """The cluster in words, effective sizes beside requested ones."""
    world = config[profile.world]
    limit = config.get(profile.account.limit.name) if profile.account is not None else None
    text = gpus(world) + (f" of {gib(limit)}" if limit is not None else "")
    if (nodes := derived.get(profile.nodes)) is not None:
        text += f", {nodes} node{'s' if nodes != 1 else ''} of {derived[profile.node]}"
    if (domain := derived.get(profile.domain)) is not None:
        text += f", NVLink domain {domain}"
    return text


def effective(profile: Profile, config: Mapping[str, Any], derived: Mapping[str, Any]) -> str:
    """Requested values that resolved to something else."""
    parts = []
    for field in profile.fields:
        name = field.name
        if name in derived and name in config and derived[name] != config[name]:
            if isinstance(config[name], int) and config[name] < 0:
                continue
            asked = (config[name] == 0 and getattr(field, "zero", "")) or config[name]
            asked = "unset" if asked is None else asked
            parts.append(f"{name} = {derived[name]} (requested {asked})")
    return ", ".join(parts)


def quantities(derived: Mapping[str, Any]) -> str:
    """The derived quantities that are numbers, labels or lists; a list says which groups cross."""
    return ", ".join(
        f"{name} = {listed(value) if isinstance(value, list) else value}"
        for name, value in derived.items()
        if not isinstance(value, bool) and not name.endswith(SUFFIX)
    )


def listed(entries: list[Any]) -> str:
    """Entries in order, equal neighbours once with how often: ``3, 4 x 14, 2``; ``-`` for none."""
    words = ["+".join(map(str, e)) if isinstance(e, list) else str(e) for e in entries]
    runs = [(word, len(list(equal))) for word, equal in groupby(words)]
    return ", ".join(f"{word} x {n}" if n > 1 else word for word, n in runs) or "-"


STATES = {
    "fits": ("fits", YES),
    "near": ("near the limit", OPEN),
    "over": ("does not fit", NO),
}


def usage_words(usage: Usage) -> str:
    """The total against the limit, and its largest parts."""
    parts = sorted(
        ((n, size) for n, size in usage.bytes.items() if n not in {"allocated", "total"}),
        key=lambda part: -part[1],
    )
    largest = ", ".join(f"{name.replace('_', ' ')} {gib(size)}" for name, size in parts[:3] if size)
    against = f" of {gib(usage.limit)}" if usage.limit is not None else ""
    word = f"{STATES[usage.state][0]}: " if usage.state else ""
    return f"{word}{gib(usage.bytes['total'])}{against} on the fullest GPU ({largest}, ...)"
