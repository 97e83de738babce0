"""A list of labels, of which rules ask whether one of them is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parsolve.constraints.fields import MOST_ENTRIES, FieldError, Sizes, shown
from parsolve.constraints.formula import Compare


@dataclass(frozen=True, eq=False, kw_only=True)
class Labels(Sizes):
    """A list of labels, or null. Labels that rules do not know are taken and counted."""

    labels: tuple[str, ...]

    @property
    def reading(self) -> Mapping[str, str]:  # type: ignore[override]
        """How many there are, whether each known one is among them, and how many are unknown."""
        known = {label: f"int({label!r} in entries)" for label in self.labels}
        unknown = f"sum(entry not in {self.labels!r} for entry in entries)"
        return {"length": "len(entries)", **known, "unknown": unknown}

    def has(self, label: str) -> Compare:
        """Whether the label is in the list."""
        return self.feature(label) == 1

    def parse(self, value: object) -> tuple[str, ...] | None:
        """Return the labels, or raise `FieldError`."""
        if value is None:
            return None
        entries = value.replace(",", " ").split() if isinstance(value, str) else value
        if (
            not isinstance(entries, (list, tuple))
            or not 0 < len(entries) <= MOST_ENTRIES
            or not all(isinstance(entry, str) and entry for entry in entries)
        ):
            message = f"{self.name} takes labels such as {', '.join(self.labels[:3])}, "
            message += f"got {shown(value)}"
            raise FieldError(message)
        return tuple(entries)
