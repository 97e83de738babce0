"""The catalogue against the imperative validator: the same verdict for every input.

The validator is executed on symbolic values. Where its exceptions name rules, each must happen
exactly where that rule is the first violated one; else it must refuse whatever a rule is the first
to reject. It must return exactly where no rule is violated and, where it returns quantities that
the catalogue derives, the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import z3

from parsolve.constraints.fields import FieldError, Size
from parsolve.constraints.formula import Named, NamedFormula
from parsolve.constraints.profile import Profile
from parsolve.constraints.rule import Example, Rule
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.differences import LARGEST_SWEPT, Difference, Differences
from parsolve.solver.prove.instances import off_default
from parsolve.solver.prove.obligation import Finding, Obligation
from parsolve.solver.prove.prover import STEPS, Prover
from parsolve.solver.prove.validator import Executed, Validator, loaded
from parsolve.solver.symbolic.execute import Gap
from parsolve.solver.symbolic.values import Condition, Label

FAMILY = "completeness"


def obligations(profile: Profile) -> Iterator[Obligation]:
    """Completeness and soundness against the profile's own reference validator."""
    if profile.reference:
        asked = as_known(profile)
        yield from Comparison(asked, Validator(loaded(profile.reference), asked)).obligations()


def as_known(profile: Profile, unless: Collection[str] = ()) -> Profile:
    """The profile as its reference knows it: what that takes for granted is so.

    Fields named in ``unless`` may be left out.
    """
    needs = {name: n for name, n in profile.reference_needs.items() if name not in unless}
    fields = tuple(
        dataclasses.replace(field, optional=False, default=needs[field.name])
        if field.name in needs and isinstance(field, Size)
        else field
        for field in profile.fields
    )
    taken = (*profile.input_checks, *profile.reference_takes)
    known = dataclasses.replace(profile, fields=fields, input_checks=taken)
    rules = tuple(_with_kind(known, rule) for rule in profile.rules)
    return dataclasses.replace(known, rules=rules)


def _with_kind(profile: Profile, rule: Rule) -> Rule:
    """The rule with examples that are questions: where a model's kind must be said, it is."""

    def said(given: Mapping[str, object]) -> Mapping[str, object]:
        kinds = [{offer.given: offer.otherwise} for offer in profile.offers]
        for kind in ({}, *kinds):
            try:
                profile.config({**kind, **given})
            except FieldError:
                continue
            return {**kind, **given}
        return given

    example = Example(rejects=said(rule.example.rejects), instead=said(rule.example.instead))
    return dataclasses.replace(rule, example=example)


class Comparison:
    """A validator and a profile's catalogue, compared for all inputs.

    ``pins`` are fields that have one value throughout. A field that the validator does not take
    is at its default, unless it is pinned.
    """

    def __init__(
        self,
        profile: Profile,
        validator: Validator,
        family: str = FAMILY,
        pins: Mapping[str, object] | None = None,
    ) -> None:
        self.profile = profile
        self.validator = validator
        self.family = family
        self.pins = dict(pins or {})

    @cached_property
    def catalogue(self) -> Catalogue:
        """The rules as formulas."""
        return Catalogue(self.profile)

    @cached_property
    def executed(self) -> Executed:
        """The validator as formulas."""
        return Executed(self.validator, self.catalogue)

    @cached_property
    def fixed(self) -> dict[str, object]:
        """Fields that have one value in everything that is compared."""
        defaults = self.profile.defaults
        unread = {name: defaults[self.profile.index_of[name]] for name in self.validator.unread}
        return unread | self.pins

    @cached_property
    def differences(self) -> Differences:
        """The search for configurations that the two judge differently."""
        return Differences(self.profile, self.validator, self.fixed)

    @cached_property
    def within(self) -> list[z3.BoolRef]:
        """What is known of every input."""
        known = [*self.catalogue.inputs.axioms, *self.catalogue.meaning]
        read = frozenset().union(*(rule.reads for rule in self.profile.rules))
        fixed = {name: value for name, value in self.fixed.items() if name in read}
        return [*known, *self.catalogue.inputs.fixed(fixed)]

    @cached_property
    def prover(self) -> Prover:
        """Decides goals about verdicts."""
        executed = self.executed
        marks = [
            z3.Bool(f"raises {rule.id}") == _formula(executed.raises(rule.id))
            for rule in self.profile.rules
        ]
        gap = z3.Bool("reaches a gap") == _formula(executed.unknown)
        return Prover(self.catalogue.encoder.arithmetic, [*self.within, *marks, gap])

    @cached_property
    def returned(self) -> Prover:
        """Decides goals about what is returned."""
        accepted = _formula(self.executed.accepted)
        return Prover(self.catalogue.encoder.arithmetic, [*self.within, accepted])

    def obligations(self) -> Iterator[Obligation]:
        """For each rule, for crashes, for acceptance and for each derived value.

        Where the exceptions name rules, the rule is compared; else only whether it refuses.
        """
        for index, rule in enumerate(self.profile.rules):
            if self.executed.names_rules:
                says = f"it raises {rule.id} exactly where that is the first violated rule"
                yield self._obligation(rule.id, says, partial(self._first, index))
            else:
                says = f"it refuses every configuration that {rule.id} is the first to reject"
                yield self._obligation(rule.id, says, partial(self._refuses, index))
        yield self._obligation(
            "only-refuses", "it never fails in another way than by refusing", self._crashes
        )
        yield self._obligation(
            "accepts", "it accepts exactly where no rule is violated", self._accepts
        )
        for quantity in self.profile.derived:
            if self.executed.derived(quantity.name) is not None:
                yield self._obligation(
                    quantity.name,
                    f"where it accepts, it returns the derived {quantity.name}",
                    partial(self._derives, quantity),
                )
        gaps = {(gap.what, gap.place): gap for gap in self.executed.gaps}
        for number, gap in enumerate(gaps.values()):
            again = sum(
                other.place.line == gap.place.line for other in list(gaps.values())[:number]
            )
            suffix = f"-{again + 1}" if again else ""
            yield self._obligation(
                f"line-{gap.place.line}{suffix}",
                f"it agrees where it reaches {said(gap)}",
                partial(self._tried, gap),
            )

    def _refuses(self, index: int, deadline: Deadline) -> Finding:
        rule = self.profile.rules[index].id
        accepted = _formula(self.executed.accepted)
        return self._impossible(
            rule,
            z3.And(self.catalogue.first(index), accepted),
            deadline,
            lambda d: d.ours == rule and d.verdicts_differ,
        )

    def _tried(self, gap: Gap, deadline: Deadline) -> Finding:
        """Nothing is proved here: both are run on a bounded set of configurations."""
        found, tried = self.differences.sweep(deadline)
        bound = f"bounded to {tried:,} configurations of up to {LARGEST_SWEPT} GPUs"
        if found is not None:
            finding = self._refuted(found) or Finding(status="undecided")
            return dataclasses.replace(finding, scope=bound)
        note = f"cannot execute {said(gap)} on unknown values; no difference on those tried"
        return Finding(status="undecided", scope=bound, note=note)

    def _obligation(
        self, name: str, says: str, decide: Callable[[Deadline], Finding]
    ) -> Obligation:
        return Obligation(name=f"{self.family}/{name}", says=says, decide=decide)

    def _first(self, index: int, deadline: Deadline) -> Finding:
        rule = self.profile.rules[index].id
        raises = z3.Bool(f"raises {rule}")
        return self._equivalent(
            rule,
            self.catalogue.first(index),
            raises,
            deadline,
            lambda d: rule in {d.ours, d.theirs},
        )

    def _accepts(self, deadline: Deadline) -> Finding:
        accepted = _formula(self.executed.accepted)
        goals = []
        for part in () if self.executed.names_rules else self._parts():
            verdict = self.prover.refute("accepts by parts", part, deadline=deadline)
            if verdict.proved:
                self.prover.learn(z3.Not(part))
                goals.append(verdict.goal)
            elif refuted := self._differs(part, deadline, lambda d: d.verdicts_differ):
                return refuted
        found = self._equivalent(
            "accepts", self.catalogue.accepted, accepted, deadline, lambda d: d.verdicts_differ
        )
        return dataclasses.replace(found, goals=(*goals, *found.goals))

    def _parts(self) -> Iterator[z3.BoolRef]:
        """What each exit and each rule by itself excludes; the whole follows more easily."""
        accepted = _formula(self.executed.accepted)
        for exit_ in self.executed.exits:
            yield z3.And(self.catalogue.accepted, _formula(exit_.condition))
        for index in range(len(self.profile.rules)):
            yield z3.And(self.catalogue.first(index), accepted)

    def _differs(
        self, unequal: z3.BoolRef, deadline: Deadline, matters: Callable[[Difference], bool]
    ) -> Finding | None:
        """A configuration where the two differ so, by what the prover knows."""
        laws = self.prover.solver("laws")
        found = self.differences.search(self.catalogue, unequal, matters, deadline, laws)
        return None if found is None else self._refuted(found) or Finding(status="undecided")

    def _crashes(self, deadline: Deadline) -> Finding:
        goals = []
        for exit_ in self.executed.exits:
            if exit_.stated or exit_.kind is AssertionError:
                continue
            name = f"{exit_.kind.__name__} at {exit_.place}"
            verdict = self.prover.refute(name, _formula(exit_.condition), deadline=deadline)
            goals.append(verdict.goal)
            if not verdict.proved:
                found = self.differences.search(
                    self.catalogue, _formula(exit_.condition), lambda d: d.crashed, deadline
                )
                return self._refuted(found) or Finding(status="undecided", note=name)
            self.prover.learn(z3.Not(_formula(exit_.condition)))
        return self._unless_gaps(Finding(status="proved", goals=tuple(goals)))

    def _equivalent(
        self,
        name: str,
        ours: z3.BoolRef,
        theirs: z3.BoolRef,
        deadline: Deadline,
        matters: Callable[[Difference], bool],
    ) -> Finding:
        """Prove that two verdicts agree, or find a configuration on which they do not."""
        return self._impossible(name, z3.Xor(ours, theirs), deadline, matters)

    def _impossible(
        self,
        name: str,
        disagreement: z3.BoolRef,
        deadline: Deadline,
        matters: Callable[[Difference], bool],
    ) -> Finding:
        """Prove that two verdicts never disagree so, or find where they do."""
        unequal = z3.And(disagreement, z3.Not(z3.Bool("reaches a gap")))
        quick, thorough = STEPS[:-1], STEPS[-1:]
        for steps in (quick, thorough):
            verdict = self.prover.refute(name, unequal, deadline=deadline, steps=steps)
            if verdict.proved:
                self.prover.learn(z3.Not(unequal))
                return self._unless_gaps(Finding(status="proved", goals=(verdict.goal,)))
            if steps is quick:  # what is not so is often seen before it is long in doubt
                refuted = self._differs(unequal, deadline, matters)
                if refuted is not None:
                    return refuted
        return Finding(status="undecided", note="no difference was found")

    def _unless_gaps(self, finding: Finding) -> Finding:
        """With a gap, the statement holds only of what does not reach it."""
        if not self.executed.gaps:
            return finding
        places = ", ".join(dict.fromkeys(str(gap.place) for gap in self.executed.gaps))
        return dataclasses.replace(
            finding, status="undecided", note=f"proved for what does not reach {places}"
        )

    def _refuted(self, found: Difference | None) -> Finding | None:
        if found is None:
            return None
        shown = off_default(self.profile, found.values)
        return Finding(status="refuted", counterexample=shown, note=str(found))

    def _derives(self, quantity: Named | NamedFormula, deadline: Deadline) -> Finding:
        value = self.executed.derived(quantity.name)
        encoder = self.catalogue.encoder
        if isinstance(quantity, Named):
            ours, defined = encoder.term(quantity)
            theirs = value.code if isinstance(value, Label) else value
            agrees = z3.And(defined, ours == theirs)
        else:
            yes, no = encoder.formula(quantity)
            agrees = z3.And(z3.Or(yes, no), yes == _formula(value))
        verdict = self.returned.refute(quantity.name, z3.Not(agrees), deadline=deadline)
        if verdict.proved:
            return self._unless_gaps(Finding(status="proved", goals=(verdict.goal,)))
        found = self.differences.search(
            self.catalogue,
            z3.And(_formula(self.executed.accepted), z3.Not(agrees)),
            lambda d: quantity.name in d.derived,
            deadline,
        )
        return self._refuted(found) or Finding(status="undecided")


def said(gap: Gap) -> str:
    """What could not be executed, and where."""
    return f"{gap.what} ({gap.place})"


def _formula(condition: Condition) -> Any:  # noqa: ANN401
    return z3.BoolVal(condition) if isinstance(condition, bool) else condition
