"""Rules and warnings: one formula each, with the prose that a person needs beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from parsolve.constraints.formula import ALWAYS, Formula, fields_of


@dataclass(frozen=True, slots=True)
class Source:
    """Where the framework decides this: a file and a function in it, and the lines that raise."""

    file: str
    function: str
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        lines = f":{','.join(map(str, self.lines))}" if self.lines else ""
        return f"{self.file}{lines} · {self.function}"


@dataclass(frozen=True, slots=True)
class Example:
    """Field values that the rule rejects, and values to use instead. Both are tested."""

    rejects: Mapping[str, object]
    instead: Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A more exact reason and remedy for the violations where ``when`` holds."""

    when: Formula
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rule:
    """One thing that must hold for a configuration to be accepted.

    The rule is violated where ``when`` holds and ``requires`` does not, both being defined.
    ``reason`` and ``remedy`` are prose without numbers: the numbers come from reading the
    formula at a configuration. The id names the offence and reads after "allow".
    """

    id: str
    stage: str
    requires: Formula
    reason: str
    remedy: str
    source: Source
    example: Example
    when: Formula = ALWAYS
    variants: tuple[Variant, ...] = ()
    reads: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", fields_of(self.when, self.requires))

    @property
    def nodes(self) -> tuple[Formula, Formula]:
        """The two formulas, in reading order."""
        return (self.when, self.requires)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Notice:
    """Something accepted that the user should know: shown where ``when`` holds.

    A ``change`` is one that the framework makes to the configuration in silence, a ``hazard``
    something that it takes and that hurts or trains wrongly. Where it is not ``launchable``, no
    launch line is offered.
    """

    id: str
    when: Formula
    reason: str
    source: Source
    kind: Literal["change", "hazard"] | None = None
    launchable: bool = True


@dataclass(frozen=True, slots=True)
class InputCheck:
    """Something that makes no question at all: reported as misuse, not as a verdict.

    ``message`` states values as ``{name}`` or ``{name.feature}``.
    """

    requires: Formula
    message: str


@dataclass(frozen=True, slots=True)
class RunTimeCheck:
    """A check that needs the running job or the loaded model: listed, never decided here."""

    id: str
    when: str
    stage: str
    source: Source
