"""Proving: families of obligations, one after the other, with what became of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import z3

from parsolve.constraints.profile import Profile
from parsolve.solver.arithmetic import LAWS, Law, negations
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.prove import allowlist, claims, completeness, layouts, rules, teeth
from parsolve.solver.prove.obligation import Finding, Goal, Obligation


def laws(_: Profile) -> Iterator[Obligation]:
    """One for each law of arithmetic that other proofs use."""
    for law in LAWS:
        name = law.name.replace(" ", "-")
        yield Obligation(
            name=f"laws/{name}", says=f"{law.name}, for all integers", decide=_law(law)
        )


def _law(law: Law) -> Callable[[Deadline], Finding]:
    def decide_law(deadline: Deadline) -> Finding:
        goals = []
        for negation in negations(law):
            solver = SeparateSolver()
            solver.add(*negation)
            result = decide(solver, deadline)
            if result != z3.unsat:
                return Finding(status="refuted" if result == z3.sat else "undecided")
            goals.append(Goal(law.name, tuple(negation)))
        return Finding(status="proved", goals=tuple(goals))

    return decide_law


FAMILIES: Mapping[str, tuple[str, Callable[[Profile], Iterator[Obligation]]]] = {
    "laws": ("the arithmetic that the other proofs use", laws),
    "completeness": (
        "the catalogue and the imperative reference give the same verdict",
        completeness.obligations,
    ),
    "rules": ("every rule can be violated, alone or with what implies it", rules.obligations),
    "allowlist": ("supported axis sets are inhabited, others refused", allowlist.obligations),
    "claims": ("what the framework's documents say of accepted configurations", claims.obligations),
    "layouts": ("rank groups partition the ranks and stay where they must", layouts.obligations),
    "teeth": ("one mistake anywhere is noticed", teeth.obligations),
}
"""Each family's subject, and its obligations about a profile."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """An obligation, what became of it, and how long that took."""

    obligation: Obligation
    finding: Finding
    seconds: float


def decided(obligations: Sequence[Obligation], deadline: Deadline) -> Iterator[Result]:
    """Decide each in turn; what no time is left for is undecided."""
    for obligation in obligations:
        started = time.perf_counter()
        try:
            finding = obligation.decide(deadline)
        except TimedOut:
            finding = Finding(status="undecided", note="the time limit passed")
        yield Result(obligation, finding, time.perf_counter() - started)
