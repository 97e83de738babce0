"""What help says of an option: what it is, and its default in the same words everywhere."""

from __future__ import annotations

import re
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
        _name_value(parameter)
        default = stated_default(parameter)
        if default:
            tail = escape(f"[default: {default}]")
            parameter.help = f"{parameter.help} [dim]{tail}[/]"
        parameter.show_default = False
        if parameter.name in known and parameter.secondary_opts:
            on = known[parameter.name]
            parameter.opts = parameter.secondary_opts if on else parameter.opts
            parameter.secondary_opts = []


def _name_value(parameter: Any) -> None:  # noqa: ANN401  (typer's own)
    """Say what to write for a value in one word, and list many choices in the sentence."""
    choices = [str(getattr(each, "value", each)) for each in getattr(parameter.type, "choices", ())]
    if parameter.param_type_name == "argument":
        parameter.metavar = re.sub(r"[\[\].]", "", parameter.metavar)
        parameter.type = _Unsaid()
    elif choices:
        together = "|".join(choices)
        if len(together) <= WIDEST:
            parameter.metavar = together
        else:
            parameter.metavar = "NAME"
            parameter.help = f"{parameter.help} One of {', '.join(choices)}."
        parameter.type = _Unsaid()
    elif hasattr(parameter.type, "min"):
        parameter.type = _Unsaid()


WIDEST = 24
"""Columns that choices take beside an option; more are told in its help."""


class _Unsaid:
    """A type of which help says nothing beside the value's name."""

    def get_metavar(self, **_: object) -> str:
        return ""


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
