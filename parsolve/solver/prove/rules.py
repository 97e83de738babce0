"""No dead rule: every rule can be violated, and alone, or others imply it.

A smallest configuration has the fewest GPUs, then the fewest fields off their defaults; that
nothing is smaller in this sense is proved as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import z3

from parsolve.constraints.evaluate import Values
from parsolve.constraints.profile import Profile
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.instances import (
    FEW_WORLDS,
    Found,
    Holds,
    find,
    is_question,
    none_below,
    off_default,
    smaller,
)
from parsolve.solver.prove.obligation import Finding, Goal, Obligation, Status
from parsolve.solver.prove.repair import Repair

ENOUGH = 10.0
"""Seconds that one question to Z3 may take."""


def obligations(profile: Profile) -> Iterator[Obligation]:
    """One for each rule: what violates it, and what violates it alone."""
    rules = _Rules(profile)
    for index, rule in enumerate(profile.rules):
        yield Obligation(
            name=f"rules/{rule.id}",
            says=f"{rule.id} can be violated, alone or together with rules that imply it",
            decide=partial(rules.decide, index),
        )


class _Rules:
    """What the obligations about one profile's rules share."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.catalogue = Catalogue(profile)
        self.theory = [*self.catalogue.inputs.axioms, *self.catalogue.meaning]
        arithmetic = self.catalogue.encoder.arithmetic
        self.definitions = arithmetic.definitions()
        self.facts = [*self.theory, *arithmetic.laws(chained=True)]
        self.solver = SeparateSolver(z3.SolverFor, "QF_UFLIA")
        self.solver.add(*self.facts)
        self.proposer = SeparateSolver(z3.SolverFor, "QF_UFLIA")
        self.proposer.add(*self.theory, *arithmetic.laws())
        self.repair = Repair(profile, self.catalogue.lists)
        self.world = z3.Int(profile.world)
        self.changed = [
            off for field in profile.fields for off in self.catalogue.inputs.off_default(field)
        ]

    def decide(self, index: int, deadline: Deadline) -> Finding:
        """Find the smallest configurations, or the rules that imply this one."""
        rule = self.profile.rules[index]
        marks = self.catalogue.marks
        recorded = self.profile.implied.get(rule.id)
        others = [z3.Not(mark) for place, mark in enumerate(marks) if place != index]
        example = self.profile.config(rule.example.rejects).values
        fires, least = self._smallest(
            [marks[index]],
            lambda values: index in self.profile.violated(values),
            [example],
            deadline,
        )
        if fires.values is None:
            status: Status = "refuted" if fires.impossible else "undecided"
            return Finding(status=status, note="never violated" if fires.impossible else "")
        alone, alone_least = self._smallest(
            [marks[index], *others],
            lambda values: self.profile.violated(values) == [index],
            [fires.values, example],
            deadline,
            alone=index,
        )
        witness = off_default(self.profile, fires.values)
        if alone.values is not None:
            shown = off_default(self.profile, alone.values)
            note = (
                "violated alone"
                if alone_least and least
                else "violated alone (smaller ones undecided)"
            )
            goals = (self._shown(rule.id, index, alone.values, alone=True),)
            if recorded is not None:
                note = f"violated alone, though recorded as implied by {', '.join(recorded)}"
                return Finding(status="refuted", counterexample=shown, note=note)
            return Finding(status="proved", witness=shown, note=note, goals=goals)
        if not alone.impossible:
            return Finding(status="undecided", witness=witness, note="violated; alone: undecided")
        implying, implication = self._implying(index, deadline)
        shown_goal = self._shown(rule.id, index, fires.values)
        note = f"implied by {', '.join(implying)}"
        if recorded is None or not set(recorded) <= set(implying):
            return self._as_recorded(index, recorded, implying, witness, deadline)
        return Finding(status="proved", witness=witness, note=note, goals=(shown_goal, implication))

    def _as_recorded(
        self,
        index: int,
        recorded: tuple[str, ...] | None,
        implying: Sequence[str],
        witness: dict[str, object],
        deadline: Deadline,
    ) -> Finding:
        """Check the recorded reason, which may be another one than was found."""
        rule = self.profile.rules[index]
        found = f"implied by {', '.join(implying)}"
        if recorded is None:
            note = f"never violated alone: {found}; record that in the profile's `implied`"
            return Finding(status="refuted", witness=witness, note=note)
        names = [each.id for each in self.profile.rules]
        denied = [z3.Not(self.catalogue.marks[names.index(each)]) for each in recorded]
        holds = self._ask([self.catalogue.marks[index], *denied], deadline)
        spare = [
            each
            for place, each in enumerate(recorded)
            if self._ask(
                [self.catalogue.marks[index], *denied[:place], *denied[place + 1 :]], deadline
            )
            == z3.unsat
        ]
        if holds == z3.unsat and not spare:
            goal = self._goal(rule.id, self.catalogue.marks[index], *denied)
            note = f"implied by {', '.join(recorded)}"
            return Finding(status="proved", witness=witness, note=note, goals=(goal,))
        note = f"recorded as implied by {', '.join(recorded)}, found {found}"
        return Finding(status="refuted" if holds != z3.unknown else "undecided", note=note)

    def _ask(self, assertions: Sequence[z3.BoolRef], deadline: Deadline) -> z3.CheckSatResult:
        return decide(self.solver, deadline.sooner(ENOUGH), assertions)

    def _implying(self, index: int, deadline: Deadline) -> tuple[tuple[str, ...], Goal]:
        """A smallest set of rules one of which is violated wherever this one is."""
        marks = self.catalogue.marks
        kept = [place for place in range(len(marks)) if place != index]
        self._ask([marks[index], *(z3.Not(marks[place]) for place in kept)], deadline)
        core = {
            literal.arg(0).get_id() for literal in self.solver.unsat_core() if z3.is_not(literal)
        }
        kept = [place for place in kept if marks[place].get_id() in core]
        for place in list(kept):
            fewer = [other for other in kept if other != place]
            denied = [z3.Not(marks[other]) for other in fewer]
            if self._ask([marks[index], *denied], deadline) == z3.unsat:
                kept = fewer
        rules = self.profile.rules
        denied = [z3.Not(marks[place]) for place in kept]
        goal = self._goal(rules[index].id, marks[index], *denied)
        return tuple(rules[place].id for place in kept), goal

    def _goal(self, name: str, *assertions: z3.BoolRef) -> Goal:
        return Goal(f"{name} is implied", (*self.facts, *assertions))

    def _shown(self, name: str, index: int, values: Values, *, alone: bool = False) -> Goal:
        """A configuration that violates the rule, as a question with one possible answer."""
        marks = self.catalogue.marks
        others = [z3.Not(mark) for place, mark in enumerate(marks) if alone and place != index]
        fixed = self.catalogue.exactly(values)
        assertions = (*self.theory, *self.definitions, *fixed, marks[index], *others)
        return Goal(f"{name} is violated{' alone' if alone else ''}", assertions, "sat")

    def _smallest(
        self,
        assertions: Sequence[z3.BoolRef],
        holds: Holds,
        known: Sequence[Values],
        deadline: Deadline,
        alone: int | None = None,
    ) -> tuple[Found, bool]:
        """A smallest configuration with the property, and whether nothing smaller was proved.

        It is looked for among the known ones first. ``alone`` is the rule that is to be violated
        alone, if that is the property.
        """
        profile = self.profile

        def fits(values: Values) -> bool:
            return holds(values) and is_question(profile, values)

        values = next(filter(fits, known), None)
        if values is None:
            if self._ask(assertions, deadline) == z3.unsat:
                return Found(impossible=True), False
            if alone is not None:
                values = self._repaired(alone, known)
        if values is None:
            found = find(self.catalogue, self.proposer, assertions, fits, deadline.sooner(ENOUGH))
            if found.values is None:
                return found, False
            values = found.values
        while True:
            values = smaller(profile, values, fits)
            less = self._smaller(assertions, values, fits, deadline)
            if less.values is None:
                return Found(values), less.impossible
            values = less.values

    def _repaired(self, index: int, starts: Sequence[Values]) -> Values | None:
        """A configuration that violates the rule alone, a few changes away."""
        profile = self.profile

        def wanted(values: Values) -> bool:
            return is_question(profile, values) and index in profile.violated(values)

        others = set(range(len(profile.limits))) - {index}
        return self.repair.found(starts, wanted, others)

    def _smaller(
        self, assertions: Sequence[z3.BoolRef], values: Values, holds: Holds, deadline: Deadline
    ) -> Found:
        world = values[self.profile.index_of[self.profile.world]]
        fields = len(off_default(self.profile, values)) - 1
        fewer = z3.PbLe([(off, 1) for off in self.changed], fields - 1)
        proved = True
        for bound in ((self.world < world,), (self.world == world, fewer)):
            if (world == 1 and len(bound) == 1) or (fields == 0 and len(bound) > 1):
                continue
            asked = [*assertions, *bound]
            if self._ask(asked, deadline) == z3.unsat:
                continue
            found = find(self.catalogue, self.proposer, asked, holds, deadline.sooner(ENOUGH))
            if found.values is not None:
                return found
            if not found.impossible and len(bound) == 1 and world <= FEW_WORLDS:
                found = none_below(
                    self.catalogue, self.proposer, assertions, world, holds, deadline.sooner(ENOUGH)
                )
                if found.values is not None:
                    return found
            proved = proved and found.impossible
        return Found(impossible=proved)
