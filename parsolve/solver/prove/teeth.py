"""Teeth: what is proved of the catalogue and its reference is no longer so with one mistake.

Each rule is removed and weakened in every place, each check of the reference validator removed
and changed in every place. A mutant is killed by a configuration on which it and the unchanged
one give different verdicts, run in plain Python; or proved equivalent, for all integers. One
that is neither is a finding: nobody would notice the mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, Literal

import z3

from parsolve.constraints.evaluate import Values, compiled, prologue, violated_source
from parsolve.constraints.profile import Profile
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.differences import nearby, neighbours
from parsolve.solver.prove.instances import find, is_question, off_default
from parsolve.solver.prove.mutants import ProgramMutant, RuleMutant, rule_mutants
from parsolve.solver.prove.obligation import Finding, Goal, Mutant, Obligation, Status
from parsolve.solver.prove.program import Program
from parsolve.solver.prove.prover import Prover
from parsolve.solver.prove.repair import Repair
from parsolve.solver.prove.validator import Executed, Outcome, Validator, loaded
from parsolve.solver.symbolic.values import Condition

ENOUGH = 10.0
"""Seconds that the search for one configuration may take."""

ENOUGH_DRAWN = 64
"""Configurations drawn at random that tell a rule from its mutant."""

MUTANT_FILE = "<mutant>"


def obligations(profile: Profile) -> Iterator[Obligation]:
    """One for each rule of the catalogue, and one for each function of the reference."""
    teeth = Teeth(profile)
    for index, rule in enumerate(profile.rules):
        yield Obligation(
            name=f"teeth/catalogue/{rule.id}",
            says=f"{rule.id} removed or weakened anywhere is noticed",
            decide=partial(teeth.of_rule, index),
        )
    if profile.reference:
        for function in teeth.program.functions:
            yield Obligation(
                name=f"teeth/reference/{function}",
                says=f"a check of {function} removed or changed anywhere is noticed",
                decide=partial(teeth.of_function, function),
            )


@dataclass(frozen=True, slots=True)
class _Sample:
    """A configuration, and the indices of the rules that it violates."""

    values: Values
    violated: tuple[int, ...]


class Teeth:
    """What the obligations about one profile share."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    @cached_property
    def validator(self) -> Validator:
        """The reference, unchanged."""
        return Validator(loaded(self.profile.reference), self.profile)

    @cached_property
    def program(self) -> Program:
        """The reference's module, whose functions can be exchanged."""
        return Program(loaded(self.profile.reference))

    @cached_property
    def samples(self) -> list[_Sample]:
        """Configurations near the rules' examples."""
        return [
            _Sample(values, tuple(self.profile.violated(values)))
            for values in dict.fromkeys(nearby(self.profile))
            if is_question(self.profile, values)
        ]

    @cached_property
    def outcomes(self) -> list[object]:
        """What the unchanged reference does with each sample."""
        return [_told(self.validator.run(sample.values)) for sample in self.samples]

    def _remember(self, values: Values, names: frozenset[str]) -> None:
        """Try what killed one mutant, and its neighbours, on the next ones too."""
        for each in (values, *neighbours(self.profile, values, names)):
            if is_question(self.profile, each):
                self.samples.append(_Sample(each, tuple(self.profile.violated(each))))
                self.outcomes.append(_told(self.validator.run(each)))

    @cached_property
    def catalogue(self) -> Catalogue:
        """The rules as formulas."""
        return Catalogue(self.profile)

    @cached_property
    def repair(self) -> Repair:
        """Changes configurations until they have a property."""
        return Repair(self.profile, self.catalogue.lists)

    @cached_property
    def theory(self) -> list[z3.BoolRef]:
        """What is known of every input."""
        return [*self.catalogue.inputs.axioms, *self.catalogue.meaning]

    # --- the catalogue ------------------------------------------------------------------

    def of_rule(self, index: int, deadline: Deadline) -> Finding:
        """Kill every mutant of a rule, or prove it equivalent."""
        known = self._in_question(index)
        mutants = rule_mutants(self.profile.rules[index])
        return _summed([self._rule_mutant(index, mutant, known, deadline) for mutant in mutants])

    def _in_question(self, index: int) -> list[_Sample]:
        """Samples whose verdict hangs on this rule or on later ones."""
        silencing = set(self.profile.legality) - {index}
        return [
            sample
            for sample in self.samples
            if (not sample.violated or sample.violated[0] >= index)
            and not silencing.intersection(sample.violated)
        ]

    def _rule_mutant(
        self, index: int, mutant: RuleMutant, known: Sequence[_Sample], deadline: Deadline
    ) -> tuple[Mutant, Goal | None]:
        lines = prologue(self.profile.fields, [mutant.when, mutant.requires])
        fires = compiled(
            "fires", [*lines, f"return {violated_source(mutant.when, mutant.requires)}"]
        )
        for sample in known:
            if bool(fires(sample.values)) != (index in sample.violated):
                return self._killed(mutant.name, sample.values), None
        found = self._drawn(index, fires)
        if found is not None:
            return self._killed(mutant.name, found), None
        breaks = self.catalogue.breaks(mutant.when, mutant.requires)
        mutated = self.catalogue.heard(index, breaks)
        marks = self.catalogue.marks
        differs = [*map(z3.Not, marks[:index]), z3.Xor(marks[index], mutated)]
        prover = Prover(self.catalogue.encoder.arithmetic, self.theory)
        verdict = prover.refute(mutant.name, *differs, deadline=deadline)
        if verdict.proved:
            return Mutant(mutant.name, "equivalent"), verdict.goal
        legal = set(self.profile.legality) - {index}

        def noticed(values: Values) -> bool:
            violated = self.profile.violated(values)
            if legal.intersection(violated) or any(broken < index for broken in violated):
                return False
            changed = bool(fires(values)) != (index in violated)
            return changed and is_question(self.profile, values)

        proposed = find(
            self.catalogue, prover.solver("laws"), differs, noticed, deadline.sooner(ENOUGH)
        )
        if proposed.values is None:
            return Mutant(mutant.name, "survived"), None
        return self._killed(mutant.name, proposed.values), None

    def _drawn(self, index: int, fires: Callable[[Values], Any]) -> Values | None:
        """A configuration that tells the rule from its mutant, drawn at random near examples.

        Where earlier rules are violated as well, it is changed until none is.
        """
        rule, profile = self.profile.rules[index], self.profile
        lines = prologue(profile.fields, rule.nodes)
        original = compiled("original", [*lines, f"return {violated_source(*rule.nodes)}"])
        starts = [profile.config(e).values for e in (rule.example.rejects, rule.example.instead)]

        def differs(values: Values) -> bool:
            return bool(fires(values)) != bool(original(values)) and is_question(profile, values)

        telling = islice(filter(differs, self.repair.drawn(starts, rule.reads)), ENOUGH_DRAWN)
        return self.repair.found(telling, differs, ({*range(index), *profile.legality} - {index}))

    def _killed(self, name: str, values: Values) -> Mutant:
        return Mutant(name, "killed", off_default(self.profile, values))

    # --- the reference ------------------------------------------------------------------

    def of_function(self, function: str, deadline: Deadline) -> Finding:
        """Kill every mutant of a function of the reference, or prove it equivalent."""
        mutants = self.program.mutants[function]
        return _summed([self.of_mutant(mutant, deadline) for mutant in mutants])

    def of_mutant(self, mutant: ProgramMutant, deadline: Deadline) -> tuple[Mutant, Goal | None]:
        """Kill one mutant, or prove it equivalent."""
        with self.program.changed(mutant) as function:
            validator = Validator(function, self.profile, sources=self.program.sources(mutant))
            for sample, outcome in zip(self.samples, self.outcomes, strict=True):
                if _told(validator.run(sample.values)) != outcome:
                    return self._killed(mutant.name, sample.values), None
            return self._settled(mutant, validator, deadline)

    @cached_property
    def original(self) -> Executed:
        """The reference as formulas."""
        return Executed(self.validator, self.catalogue)

    def _settled(
        self, mutant: ProgramMutant, validator: Validator, deadline: Deadline
    ) -> tuple[Mutant, Goal | None]:
        """Whether the mutant ends as the original does, for every input."""
        changed = Executed(validator, self.catalogue)
        prover = Prover(self.catalogue.encoder.arithmetic, self.theory)
        goal: Goal | None = None
        for name, before, after in _ends(self.original, changed):
            ours, theirs = _formula(before), _formula(after)
            if ours.eq(theirs):
                continue
            differs = z3.Xor(ours, theirs)
            verdict = prover.refute(f"{mutant.name}: {name}", differs, deadline=deadline)
            if verdict.proved:
                prover.learn(z3.Not(differs))
                goal = goal or verdict.goal
                continue

            def noticed(values: Values) -> bool:
                fits = is_question(self.profile, values)
                return fits and _told(self.validator.run(values)) != _told(validator.run(values))

            found = find(
                self.catalogue, prover.solver("laws"), [differs], noticed, deadline.sooner(ENOUGH)
            )
            values = found.values or self._near_example(name, noticed)
            if values is None:
                return Mutant(mutant.name, "survived"), None
            self._remember(values, self._reads(name))
            return self._killed(mutant.name, values), None
        return Mutant(mutant.name, "equivalent"), goal

    def _reads(self, rule: str) -> frozenset[str]:
        return next((r.reads for r in self.profile.rules if r.id == rule), frozenset())

    def _near_example(self, name: str, noticed: Callable[[Values], bool]) -> Values | None:
        """A configuration two changes away from an example of the rule, or one that is drawn."""
        for rule in self.profile.rules:
            if rule.id == name:
                sides = (rule.example.rejects, rule.example.instead)
                starts = [self.profile.config(side).values for side in sides]
                for start in starts:
                    for once in neighbours(self.profile, start, rule.reads):
                        for twice in neighbours(self.profile, once, rule.reads):
                            if noticed(twice):
                                return twice
                return next(filter(noticed, self.repair.drawn(starts, rule.reads)), None)
        return None


def _told(outcome: Outcome) -> object:
    """What can be compared between two copies of a program."""
    if outcome.raised is not None:
        return (type(outcome.raised).__name__, outcome.raised.args[:1])
    returned = outcome.returned
    names: Sequence[str] = getattr(type(returned), "__slots__", ()) or tuple(vars(returned))
    return tuple((name, getattr(returned, name)) for name in names)


def _ends(before: Executed, after: Executed) -> Iterator[tuple[str, Condition, Condition]]:
    """Conditions of every way to end, of both programs, in order of the first."""
    for rule in before.catalogue.profile.rules:
        yield rule.id, before.raises(rule.id), after.raises(rule.id)
    yield "accepts", before.accepted, after.accepted
    if before.end.dead or after.end.dead:
        return
    for quantity in before.catalogue.profile.derived:
        ours, theirs = before.derived(quantity.name), after.derived(quantity.name)
        if ours is None:
            continue
        ours, theirs = getattr(ours, "code", ours), getattr(theirs, "code", theirs)
        differs = z3.And(_formula(before.accepted), _formula(ours) != _formula(theirs))
        yield quantity.name, False, differs


def _formula(value: Any) -> Any:  # noqa: ANN401
    return z3.BoolVal(value) if isinstance(value, bool) else value


def _summed(results: Sequence[tuple[Mutant, Goal | None]]) -> Finding:
    mutants = tuple(mutant for mutant, _ in results)
    goals = tuple(goal for _, goal in results if goal is not None)
    count = {kind: sum(m.outcome == kind for m in mutants) for kind in KINDS}
    note = ", ".join(f"{number} {kind}" for kind, number in count.items() if number)
    status: Status = "refuted" if count["survived"] else "proved"
    return Finding(status=status, note=note or "nothing to change", goals=goals, mutants=mutants)


KINDS: tuple[Literal["killed", "equivalent", "survived"], ...] = (
    "killed",
    "equivalent",
    "survived",
)
