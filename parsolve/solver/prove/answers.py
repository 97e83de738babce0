"""Results of proving as an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Fields, Mistake, Proof, Proofs, Recheck
from parsolve.solver.prove import completeness
from parsolve.solver.prove.obligation import Status
from parsolve.solver.prove.run import Result


def proof(result: Result) -> Proof:
    """One result, in public form."""
    finding = result.finding
    return Proof(
        name=result.obligation.name,
        status=finding.status,
        seconds=round(result.seconds, 3),
        scope=finding.scope,
        counterexample=_fields(finding.counterexample),
        says=result.obligation.says,
        note=finding.note or None,
        witness=_fields(finding.witness),
        mutants=tuple(
            Mistake(name=m.name, outcome=m.outcome, counterexample=_fields(m.counterexample))
            for m in finding.mutants
        )
        or None,
    )


def proofs(
    profile: Profile,
    found: Sequence[Proof],
    seconds: float,
    *,
    against: str | None = None,
    recheck: Recheck | None = None,
) -> Proofs:
    """All results together."""
    compares = any(each.name.startswith(completeness.FAMILY) for each in found)
    held = profile.out_of_reach if compares else {}
    needs = ", ".join(profile.reference_needs)
    taken = [check.message for check in profile.reference_takes]
    assumed = ((f"given: {needs}",) if needs else ()) + tuple(taken)
    return Proofs(
        profile=profile.name,
        status=together((each.status for each in found), recheck),
        seconds=round(seconds, 3),
        obligations=tuple(found),
        out_of_reach=Fields(held) if held else None,
        assumed=assumed if compares and assumed else None,
        against=against,
        recheck=recheck,
    )


def together(statuses: Iterable[Status], recheck: Recheck | None = None) -> Status:
    """Refuted if any is, or if two solvers contradict each other; else undecided if any is."""
    known = set(statuses)
    if "refuted" in known or (recheck is not None and recheck.contradicted):
        return "refuted"
    return "undecided" if "undecided" in known else "proved"


def _fields(values: Mapping[str, Any] | None) -> Fields | None:
    return None if values is None else Fields(values)
