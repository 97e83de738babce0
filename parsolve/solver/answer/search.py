"""What a search finds: the best configurations, all of them, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parsolve.solver.answer.verdict import Caution, Fields, Repair, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """An accepted configuration, with its derived quantities."""

    config: Fields
    derived: Fields
    objectives: Fields | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """An objective. ``value`` is its optimum, absent on a Pareto front."""

    quantity: str
    direction: Literal["maximize", "minimize"]
    value: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What Z3 confirmed, and in how much time.

    ``claim`` is the statement whose negation Z3 found unsatisfiable; ``domains`` says which
    values were searched; ``divisors`` whether Z3 proved, for every cluster, that no other
    values can be accepted.
    """

    status: Literal["proved", "undecided"]
    claim: str
    seconds: float
    domains: str
    divisors: Literal["proved", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """No configuration satisfies pins, conditions and rules together.

    ``pins``, ``conditions``, ``rules`` and what is ``held`` at its default though a condition
    speaks of it are a smallest set that already excludes each other at ``world``, one of
    ``worlds`` on which nothing is valid; ``searched`` says within which values. ``repairs``
    are smallest relaxations of the question that have an answer. ``method`` is how it was found
    that no smaller set conflicts.
    """

    profile: str
    world: int
    worlds: int
    pins: Fields
    held: Fields
    conditions: tuple[str, ...]
    rules: tuple[Violation, ...]
    smallest: bool
    searched: str
    repairs: tuple[Repair, ...] = ()
    warnings: tuple[Caution, ...] = ()
    method: Literal["Z3", "search"] = "Z3"
    answer: Literal["conflict"] = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Solutions:
    """The accepted configurations; ``complete`` says whether these are all of them."""

    profile: str
    searched: str
    solutions: tuple[Solution, ...]
    count: int
    complete: bool
    certificate: Certificate | None = None
    answer: Literal["solutions"] = "solutions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best configurations, in the profile's stated order of preference.

    ``count`` is how many reach the optimum (or lie on the Pareto front). ``optimal`` is true
    only where Z3 proved that nothing valid is better and nothing equally good is missing.
    """

    profile: str
    searched: str
    objectives: tuple[Goal, ...]
    pareto: bool
    solutions: tuple[Solution, ...]
    count: int
    optimal: bool
    order: tuple[str, ...]
    certificate: Certificate
    warnings: tuple[Caution, ...] = ()
    answer: Literal["best"] = "best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """The time limit passed, or a solver did not know. ``solutions`` are the best found."""

    profile: str
    reason: str
    searched: str
    solutions: tuple[Solution, ...] = ()
    count: int = 0
    objectives: tuple[Goal, ...] = ()
    optimal: bool = False
    complete: bool = False
    answer: Literal["undecided"] = "undecided"
