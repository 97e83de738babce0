"""The launch line of a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

from parsolve.cli.screen import Screen
from parsolve.constraints.fields import Choice, Field, Flag, Sizes
from parsolve.constraints.profile import Profile, holds
from parsolve.solver.answer import (
    Accepted,
    Caution,
    Solution,
)

MACHINES = "--machine_rank RANK --main_process_ip HOST --main_process_port PORT "
"""What accelerate asks for beside its file where there are several machines."""


def text_of(value: object) -> str:
    """A value as one word of a command line."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def argument(profile: Profile, field: Field, value: Any) -> str:  # noqa: ANN401
    """The framework's own arguments that give the field this value; nothing if it has none."""
    match field:
        case Choice(said=(_, *_)):
            return f" {dict(field.said)[value]}".rstrip()
        case Flag() if not value and field.launch_off:
            return f" --{field.launch_off}"
        case Flag() if profile.reads_argparse and field.launch:
            return f" --{field.launch}" if value else ""
        case Sizes() if profile.reads_argparse and field.launch and value:
            words = value if field.separator == "," else (field.written(value),)
            return f" --{field.launch} {' '.join(quote(str(word)) for word in words)}"
        case _ if field.launch:
            return f" --{field.launch} {quote(text_of(value))}"
        case _:
            return ""


@dataclass(frozen=True, slots=True)
class Words:
    """What a launch line says of a configuration, in parts.

    ``arguments`` are the framework's own, ``environment`` variables; ``unsaid`` are settings
    that it has no argument for, by field.
    """

    arguments: list[str]
    environment: list[str]
    unsaid: dict[str, Any]


def launch_words(profile: Profile, config: Mapping[str, Any]) -> Words:
    """What the framework's own command line says of a configuration, and what it cannot."""
    words = Words([], [], {})
    has_arguments = any(field.launch for field in profile.fields)
    settled = _settled(profile, config)
    # what the framework has no argument for is said by what it settles
    own = {profile.spellings[each.by] for each in profile.settled} if has_arguments else set()
    for field in profile.fields:
        value = settled.get(field.name, config.get(field.name, field.default))
        always = isinstance(field, Choice) and field.said
        if value == field.default and field.name not in settled and not always:
            continue
        if said := argument(profile, field, value):
            words.arguments.append(said)
        elif field.name in own or field.launch or always:
            continue
        elif env := getattr(field, "env", ""):
            words.environment.append(f"{env}={value}")
        elif field.role == "knob" and field.name not in profile.launchers:
            words.unsaid[field.name] = value
    return words


def launch_line(
    profile: Profile,
    config: Mapping[str, Any],
    derived: Mapping[str, Any],
    arguments: str,
    line: str = "",
) -> str:
    """The launcher's command line around arguments; ``line`` is one of the framework's other."""
    knob, lines = profile.launchers
    line = line or lines[config.get(knob, profile.field_of[knob].default)]
    return (line if "{arguments}" in line else f"{line}{{arguments}}").format(
        arguments=arguments,
        nodes=derived.get(profile.nodes, 1),
        node=derived.get(profile.node, 1),
        world=config[profile.world],
        rendezvous="--rdzv_endpoint HOST:PORT " if derived.get(profile.nodes, 1) > 1 else "",
        machines=MACHINES if derived.get(profile.nodes, 1) > 1 else "",
    )


def launch(profile: Profile, config: Mapping[str, Any], derived: Mapping[str, Any]) -> str:
    """The launch line with the framework's own arguments, and what it cannot say.

    Or that there is none, where the world is no whole number of nodes.
    """
    world, node = config[profile.world], derived.get(profile.node)
    if node and world % node:
        return f"none: {world} GPUs are no whole number of nodes of {node}"
    words = launch_words(profile, config)
    line = launch_line(profile, config, derived, "".join(words.arguments))
    has_arguments = any(field.launch for field in profile.fields)
    unsaid = [f"{name} = {text_of(value)}" for name, value in words.unsaid.items()]
    how = ", which has no argument" if has_arguments else " in SCRIPT's own way"
    rest = f"; also set {', '.join(unsaid)}{how}" if unsaid else ""
    return f"{''.join(f'{each} ' for each in words.environment)}{line}{rest}"


def _settled(profile: Profile, config: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that were not given and that given ones decide, with their values."""
    values = tuple(config.get(field.name, field.default) for field in profile.fields)
    found: dict[str, Any] = {}
    for each in profile.settled:
        name, by = profile.spellings[each.field], profile.spellings[each.by]
        if (
            config.get(by) is not None
            and config.get(name) is None
            and holds(profile, each.where, values)
        ):
            known = {**profile.filled(values), **profile.derive(values)}
            if each.quantity in known:
                found[name] = known[each.quantity]
    return found


def show_launch(
    screen: Screen,
    label: str,
    profile: Profile,
    answer: Accepted | Solution,
    cautions: Iterable[Caution],
) -> None:
    """How to launch the configuration, unless a warning says that nobody can."""
    stopped = {notice.id for notice in profile.warnings if not notice.launchable}
    blocked = [caution.warning for caution in cautions if caution.warning in stopped]
    if blocked:
        screen.entry(label, f"none: {', '.join(blocked)}")
    else:
        screen.entry(label, launch(profile, answer.config, answer.derived))
