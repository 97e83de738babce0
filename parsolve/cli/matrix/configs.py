"""What the matrix says of one configuration: its options, dp, refusing rule and gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from parsolve.cli.matrix.markdown import code
from parsolve.cli.wording import option
from parsolve.constraints.profile import Config, Profile

Given: TypeAlias = Mapping[str, object]
"""Field values by name; the other fields have their defaults."""

LIFTED: Given = {"assume_pp": True}
"""What lifts a gate of the release, to see the contracts behind it."""


def known(profile: Profile, given: Given) -> Given:
    """The part of the given values that the profile has fields for."""
    return {name: value for name, value in given.items() if name in profile.field_of}


def options(config: Config) -> str:
    """Options that give the configuration, in a shell."""
    profile = config.profile
    names = [
        field.name
        for field in profile.fields
        if field.flag and (field.name == profile.world or config[field.name] != field.default)
    ]
    return code(" ".join(option(profile.field_of[name], config[name]) for name in names))


def dp(config: Config) -> str:
    """The number of data-parallel ranks."""
    profile = config.profile
    return str(profile.derive(config.values).get(profile.short_names["dp"], "not whole"))


def first_violated(config: Config) -> str:
    """The rule that the framework names: the first violated one, or nothing."""
    profile = config.profile
    violated = profile.violated(config.values)
    return profile.rules[violated[0]].id if violated else ""


def gate(config: Config) -> str:
    """The rule that refuses the configuration in this release, gates not lifted; or nothing."""
    profile = config.profile
    standing = {name: profile.field_of[name].default for name in known(profile, LIFTED)}
    return first_violated(config.replaced(standing))
