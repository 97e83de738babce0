"""Command lines that a reader can repeat: of the page itself, and of each configuration in it."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from shlex import join, quote

from parsolve.cli.wording import CHOSEN, option
from parsolve.constraints import DEFAULT_PROFILE
from parsolve.constraints.fields import Size
from parsolve.constraints.profile import Profile


@dataclass(frozen=True, slots=True)
class Said:
    """What the user typed: all arguments, and those that every configuration of it shares.

    ``given`` maps fields to values.
    """

    profile: Profile
    arguments: Sequence[str]
    given: Mapping[str, object]
    model: str | None
    gpu: str | None

    def command(self) -> str:
        """The command line that makes the page, with what the environment adds to it."""
        return f"{self._environment()}{join(['parsolve', 'report', *self.arguments])}"

    def of_row(self, own: Container[str]) -> dict[str, str]:
        """Commands about a configuration, in pieces: the verb follows the ``program``.

        Then come what stands ``before`` the world and ``after`` it. The options by which the
        configuration differs from the defaults are to be added, and those of the fields that are
        its ``own``.
        """
        named = "" if self.profile.name == DEFAULT_PROFILE else f"--profile {self.profile.name}"
        shared = [
            f"--{name} {quote(value)}"
            for name, value in (("model", self.model), ("gpu", self.gpu))
            if value is not None
        ]
        for name, value in self.given.items():
            field = self.profile.field_of[name]
            if field.role not in CHOSEN and name not in own:
                shared.append(option(field, field.parse(value)))
        return {
            "program": f"{self._environment()}parsolve",
            "before": named,
            "after": " ".join(shared),
        }

    def _environment(self) -> str:
        """Variables that the profile reads where their field is not given."""
        return "".join(
            f"{field.env}={quote(os.environ[field.env])} "
            for field in self.profile.fields
            if isinstance(field, Size)
            and field.env
            and field.name not in self.given
            and field.env in os.environ
        )
