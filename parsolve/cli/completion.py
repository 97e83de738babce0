"""What a shell offers for a value, read off the catalogue of the profile that is named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import typer

from parsolve.cli.entry import OWN_OPTIONS
from parsolve.constraints import PROFILES
from parsolve.constraints.profile import Profile

Completer: TypeAlias = Callable[..., list[str]]

LINES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Environment variables in which a shell hands over the line that is being typed."""

FIRST_IS_OPTION = re.compile(r"(\s*\S+\s+)(-\S*)")


def offers(names: Callable[[Profile], Iterable[str]]) -> Completer:
    """Offer those of the names that begin as the word does."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        command: Any = ctx.command
        return [name for name in names(command.profile) if name.startswith(incomplete)]

    return complete


def _models(_: Profile) -> Iterable[str]:
    from parsolve.constraints.models.catalogue import PRESETS  # noqa: PLC0415  (only here)

    return (preset.name for preset in PRESETS)


def _gpus(_: Profile) -> Iterable[str]:
    from parsolve.constraints.memory.hardware import GPUS  # noqa: PLC0415  (only here)

    return GPUS


def _families(_: Profile) -> Iterable[str]:
    from parsolve.solver.prove.run import FAMILIES  # noqa: PLC0415  (it loads Z3)

    return FAMILIES


profiles = offers(lambda _: PROFILES)
models = offers(_models)
gpus = offers(_gpus)
families = offers(_families)
quantities = offers(lambda profile: sorted({*profile.quantity_of, *profile.axes, profile.world}))
knobs = offers(lambda profile: (f.name for f in profile.fields if f.role in {"knob", "run"}))
preferences = offers(lambda profile: profile.prefers)
rules = offers(lambda profile: (rule.id for rule in profile.limits))
stages = offers(lambda profile: profile.stages)
groups = offers(lambda profile: (group.name for group in profile.layout.kinds))


def with_default_command() -> None:
    """``parsolve --world 64 --ep<TAB>`` asks for options of solve."""
    for name in LINES:
        found = FIRST_IS_OPTION.match(line := os.environ.get(name, ""))
        if found and found[2] not in OWN_OPTIONS:
            os.environ[name] = f"{found[1]}solve {line[found.end(1) :]}"
            if position := os.environ.get("COMP_CWORD"):
                os.environ["COMP_CWORD"] = str(int(position) + 1)
