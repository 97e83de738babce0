"""What help says of an option: what it is, and its default in the same words everywhere."""

from __future__ import annotations

from enum import Enum
from typing import Any

from rich.markup import escape

from parsolve.cli.options import switches
from parsolve.constraints.profile import Profile


def spell_out(profile: Profile, parameters: list[Any]) -> None:
    """Have each option say its default, and each field's switch the side that changes something.

    That is ``--use-hsdp`` for what is off by default, ``--no-...`` for what is on. For help alone:
    the parameters parse no more.
    """
    known = switches(profile)
    for parameter in parameters:
        default = stated_default(parameter)
        if default:
            tail = escape(f"[default: {default}]")
            parameter.help = f"{parameter.help} [dim]{tail}[/]"
        parameter.show_default = False
        if parameter.name in known and parameter.secondary_opts:
            on = known[parameter.name]
            parameter.opts = parameter.secondary_opts if on else parameter.opts
            parameter.secondary_opts = []


def stated_default(parameter: Any) -> str:  # noqa: ANN401  (typer's own)
    """The default in words; empty where something has to be given, and for ``--help``."""
    if parameter.required or parameter.name == "help":
        return ""
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    match parameter.default:
        case None:
            return "none"
        case bool(on):
            return "on" if on else "off"
        case Enum(value=value):
            return str(value)
        case value:
            return str(value)
