"""Test cases made from the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parsolve.solver.answer.verdict import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Shows:
    """One reason why a fixture is among the others.

    ``rejects``: the rule alone rejects it (with those in ``implied_by``, where there are any).
    ``accepts``: the nearest accepted configuration to the fixture ``beside``, ``change`` away.
    ``boundary`` and ``condition``: the rule's verdict, or what the derived ``quantity`` comes to,
    hangs on this condition alone, which ``holds`` or does not; a boundary compares numbers.
    ``mode``: a supported set of ``axes``, the ``smallest`` configuration or a ``realistic`` one;
    ``unsupported``: a set that is not.
    ``combination``: settings of some knobs that no fixture before it has together.
    """

    kind: Literal[
        "rejects", "accepts", "boundary", "condition", "mode", "unsupported", "combination"
    ]
    rule: str | None = None
    quantity: str | None = None
    implied_by: tuple[str, ...] | None = None
    beside: str | None = None
    change: Fields | None = None
    condition: str | None = None
    holds: bool | None = None
    axes: tuple[str, ...] | None = None
    size: Literal["smallest", "realistic"] | None = None
    combinations: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """A test case for a validator: a configuration and the verdict that is expected of it.

    ``config`` holds the world and the fields that are not at their default. ``rule`` is the first
    of those ``violated``, absent where it is accepted; ``derived`` are quantities that are known.
    """

    id: str
    verdict: Literal["accepted", "rejected"]
    rule: str | None = None
    violated: tuple[str, ...]
    config: Fields
    derived: Fields
    shows: tuple[Shows, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something for which there is no fixture: none can exist, or none was found."""

    what: str
    why: Literal["proved impossible", "not found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixtures:
    """Test cases made from a profile's rules, the same for the same version and options.

    ``worlds`` are the only numbers of GPUs, where they were given. ``combinations`` counts the
    settings of ``strength`` knobs that the fixtures cover.
    """

    version: str
    profile: str
    title: str
    worlds: tuple[int, ...] | None = None
    per_rule: int
    strength: int
    seed: int
    fixtures: tuple[Fixture, ...]
    combinations: int | None = None
    left_out: tuple[LeftOut, ...]
    answer: Literal["fixtures"] = "fixtures"
