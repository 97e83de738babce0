"""What is proved of the rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from parsolve.solver.answer.verdict import ALWAYS, Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A mistake planted into a rule or into a validator.

    It is killed by a configuration that shows it, proved equivalent for all integers, or
    survives: nobody would notice it.
    """

    name: str
    outcome: Literal["killed", "equivalent", "survived"]
    counterexample: Fields | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What became of one statement about the rules.

    ``scope`` is "unbounded" for all integers, else the bound. ``counterexample`` is a
    configuration at which the statement fails, null if there is none; ``witness`` one that
    shows what the statement says to exist.
    """

    name: str
    status: Literal["proved", "refuted", "undecided"]
    seconds: float
    scope: str
    counterexample: Fields | None = field(metadata=ALWAYS)
    says: str
    note: str | None = None
    witness: Fields | None = None
    mutants: tuple[Mistake, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """What a second solver said of the same questions: how many it confirmed.

    ``unknown`` are those it did not decide within its limit, ``contradicted`` the names of
    those that it answered the other way round.
    """

    solver: str
    confirmed: int
    unknown: int
    contradicted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """Statements about the rules, for all sizes; ``status`` is proved only if all are.

    ``against`` names the validator that the rules were compared with, where it was the user's.
    Where it is the profile's own, ``out_of_reach`` names fields that stay at their default, and
    why, and ``assumed`` says what is taken for granted.
    """

    profile: str
    status: Literal["proved", "refuted", "undecided"]
    seconds: float
    obligations: tuple[Proof, ...]
    out_of_reach: Fields | None = None
    assumed: tuple[str, ...] | None = None
    against: str | None = None
    recheck: Recheck | None = None
    answer: Literal["proofs"] = "proofs"
