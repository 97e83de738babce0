"""What is to be proved, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import z3  # noqa: TC002  (a guard around one import costs the reader more than it saves)

from parsolve.solver.deadline import Deadline

Status: TypeAlias = Literal["proved", "refuted", "undecided"]

UNBOUNDED = "unbounded"
"""Scope of a statement about all integers; any other scope names its bound."""


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """Assertions that must be unsatisfiable (or satisfiable) for a statement to hold.

    They are what a second solver is asked, too. Whatever laws they use stand among them.
    """

    name: str
    assertions: tuple[z3.BoolRef, ...]
    expected: Literal["unsat", "sat"] = "unsat"


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """A planted mistake: noticed at a configuration, proved to be none, or missed."""

    name: str
    outcome: Literal["killed", "equivalent", "survived"]
    counterexample: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Finding:
    """What became of an obligation.

    ``counterexample`` holds field values by name, off their defaults, where the statement fails;
    ``witness`` those where what was looked for exists. ``note`` is one sentence for a person.
    """

    status: Status
    scope: str = UNBOUNDED
    counterexample: Mapping[str, Any] | None = None
    witness: Mapping[str, Any] | None = None
    note: str = ""
    goals: tuple[Goal, ...] = ()
    mutants: tuple[Mutant, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Obligation:
    """One named statement. ``name`` starts with its family: "claims/ep-keeps-dp"."""

    name: str
    says: str
    decide: Callable[[Deadline], Finding] = field(repr=False)

    @property
    def family(self) -> str:
        """The first part of the name."""
        return self.name.partition("/")[0]
