"""The claims of a profile: proved for all sizes, or refuted by a configuration.

A claim is unsatisfiable negated, or there is a configuration at which it fails. One that Z3 offers
counts only once the plain evaluator has read the claim there and found it false, and a proof
counts only beside a configuration that the claim speaks about: what is said of nothing at all
is no fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias

import z3

from parsolve.constraints.claim import Claim, Instead, Verdict, at_default
from parsolve.constraints.evaluate import (
    Values,
    compiled,
    defined_source,
    formula_source,
    prologue,
    term_source,
)
from parsolve.constraints.fields import FieldError, Flag
from parsolve.constraints.formula import Named, fields_of, stated_in
from parsolve.constraints.profile import Profile
from parsolve.solver.arithmetic import LONGEST, Arithmetic, Pair, laws_hold
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.integers import IntegerEncoder
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.differences import neighbours
from parsolve.solver.prove.obligation import Finding, Goal, Obligation
from parsolve.solver.prove.prover import STEPS, Prover

Key: TypeAlias = "tuple[int, int]"
"""The identities of two terms."""

Judged: TypeAlias = "tuple[list[int], dict[str, Any]]"
"""Rules that are violated, and the derived quantities."""

_, LAWS, CHAINED, DEFINITIONS = STEPS

SMALL, MEDIUM, LARGE = 8, 24, 144
"""Worlds up to which configurations are looked for."""

PATIENCE = 2.0
"""Seconds that one such look may take."""


def obligations(profile: Profile) -> Iterator[Obligation]:
    """One obligation per claim."""
    proofs = Proofs(profile)
    for claim in profile.claims:
        yield Obligation(
            name=f"claims/{claim.id}", says=claim.says, decide=partial(proofs.decide, claim)
        )


class Proofs:
    """Decides the claims of one profile, with encodings that they share."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._theories: dict[tuple[Instead, ...], Theory] = {}
        self._parts: dict[frozenset[str], Part] = {}

    @cached_property
    def catalogue(self) -> Catalogue:
        """The rules over unknown inputs."""
        return Catalogue(self.profile)

    @cached_property
    def examples(self) -> tuple[Values, ...]:
        """The configurations that the rules' own examples show."""
        return tuple(
            self.profile.config(side).values
            for rule in self.profile.rules
            for side in (rule.example.instead, rule.example.rejects)
        )

    def theory(self, changes: tuple[Instead, ...]) -> Theory:
        """What proofs of claims about these changes may use."""
        if changes not in self._theories:
            known = self.theory(()) if changes else None
            claims = [claim for claim in self.profile.claims if claim.changed == changes]
            self._theories[changes] = Theory(self.catalogue, changes, claims, known)
        return self._theories[changes]

    def part(self, claim: Claim) -> Theory:
        """What concerns the claim: rules about the cluster, what a search varies, its own fields.

        What follows from these follows from all.
        """
        fields = self.fields_of(claim)
        if len(fields) == len(self.profile.fields):
            return self.theory(claim.changed)
        if fields not in self._parts:
            self._parts[fields] = Part(self.profile, fields)
        return Theory(self._parts[fields], claim.changed, [claim])

    def fields_of(self, claim: Claim) -> frozenset[str]:
        """The cluster, what a search varies, and what the claim itself reads."""
        changes = [term for instead in claim.changed for term in instead.terms.values()]
        named = {verdict.rule for verdict in claim.verdicts}
        rules = [node for rule in self.profile.rules if rule.id in named for node in rule.nodes]
        known = self.profile.field_of
        read = frozenset().union(*(rule.reads for rule in self.profile.rules))
        cluster = [n for n, field in known.items() if field.role == "cluster" and n in read]
        own = fields_of(claim.when, claim.then, *changes, *rules) & known.keys()
        return frozenset(own).union(cluster, self.profile.searched)

    def decide(self, claim: Claim, deadline: Deadline) -> Finding:
        """Whether the claim is as it is said to be."""
        question = Question(self, claim, deadline)
        try:
            return question.affirmed() if claim.holds else question.denied()
        except TimedOut:
            return Finding(status="undecided", note="The time limit came first.")


class Question:
    """One claim, and what is known of it so far."""

    def __init__(self, proofs: Proofs, claim: Claim, deadline: Deadline) -> None:
        self.claim = claim
        self.deadline = deadline
        self.proofs = proofs
        self.profile = proofs.profile
        self.theory = proofs.theory(claim.changed)
        self.reading = Reading(proofs.profile, claim)

    def affirmed(self) -> Finding:
        """What becomes of a sentence that is said to be true."""
        found = (
            self._proof()
            or self._certified(self.proofs.examples, truth=False)
            or self._proof_by_definition()
            or self._certified(self._candidates(truth=False), truth=False)
        )
        if isinstance(found, Goal):
            return self._proved(found)
        if found is None:
            return Finding(status="undecided", note="Neither a proof nor a counterexample.")
        shown = off_default(self.profile, found)
        return Finding(status="refuted", counterexample=shown, note="Not true.")

    def denied(self) -> Finding:
        """What becomes of a sentence that is said to be untrue."""
        if self.claim.fails_at:
            recorded = self.profile.config(self.claim.fails_at).values
            if self._certified([recorded], truth=False) is None:
                note = "The configuration that is recorded against it does not contradict it."
                return Finding(status="refuted", note=note)
            return self._untrue(recorded)
        found = (
            self._certified(self._candidates(truth=False), truth=False)
            or self._proof()
            or self._proof_by_definition()
        )
        if isinstance(found, Goal):
            note = "True, although the profile says that it is not."
            return Finding(status="refuted", note=note, goals=(found,))
        if found is None:
            return Finding(status="undecided", note="Neither a proof nor a counterexample.")
        return self._untrue(found)

    def _untrue(self, values: Values) -> Finding:
        shown = off_default(self.profile, values)
        note = f"Not true as it is said, see the counterexample; {self.claim.truth} is."
        return Finding(status="proved", counterexample=shown, note=note)

    def _proof(self) -> Goal | None:
        """A proof that knows products and quotients by laws."""
        when, fails = self.theory.stated[self.claim.id]
        verdict = self.theory.prover.refute(self.claim.id, when, fails, deadline=self.deadline)
        return verdict.goal if verdict.proved else None

    def _proof_by_definition(self) -> Goal | None:
        """A proof that knows what products and quotients are, and only rules that matter."""
        part = self.proofs.part(self.claim)
        goal = part.goal(self.claim.id, *part.stated[self.claim.id])
        result, _ = asked(goal, self.deadline.sooner(LONGEST))
        return goal if result == z3.unsat else None

    def _proved(self, goal: Goal) -> Finding:
        if laws_hold() != "proved":
            return Finding(status="undecided", note="The laws of arithmetic are not proved.")
        witness = self._certified(self._candidates(truth=True), truth=True)
        if witness is not None:
            shown = off_default(self.profile, witness)
            return Finding(status="proved", witness=shown, goals=(goal,))
        premise, _ = self.theory.stated[self.claim.id]
        empty = self.theory.goal(f"{self.claim.id} premise", premise)
        if asked(empty, self.deadline.sooner(LONGEST))[0] == z3.unsat:
            note = "Vacuous: it speaks about no configuration at all."
            return Finding(status="refuted", note=note, goals=(empty,))
        return Finding(status="undecided", note="True, but perhaps of no configuration at all.")

    def _certified(self, candidates: Iterable[Values], *, truth: bool) -> Values | None:
        """The first of the configurations at which the claim really is true, or false."""

        def fits(values: Values) -> bool:
            return self.reading.truth(values) is truth

        for values in candidates:
            if fits(values) and is_question(self.profile, values):
                return smaller(self.profile, values, fits)
        return None

    def _candidates(self, *, truth: bool) -> Iterator[Values]:
        """Configurations at which the claim may be true, or false; likely and plain ones first.

        Z3 is asked with fields at their default that the claim does not state, or not read.
        """
        yield from self.proofs.examples
        yield from self._beside_examples()
        when, fails = self.theory.stated[self.claim.id]
        assertions = [when] if truth else [when, fails]
        stated = stated_in(self.claim.when, self.claim.then) | {self.profile.world}
        yield from self._model(*assertions, *self._plain_but(stated), self._world <= MEDIUM)
        plain = self._plain_but(self.proofs.fields_of(self.claim))
        for most in (SMALL, MEDIUM, LARGE):
            yield from self._model(*assertions, *plain, self._world <= most)
        yield from self._model(*assertions, self._world <= LARGE)
        yield from self._model(*assertions)

    def _beside_examples(self) -> Iterator[Values]:
        """Examples with one of the fields changed that the claim states."""
        stated = stated_in(self.claim.when, self.claim.then) & self.profile.index_of.keys()
        for values in self.proofs.examples:
            yield from neighbours(self.profile, values, stated)

    @property
    def _world(self) -> z3.ArithRef:
        return z3.Int(self.profile.world)

    def _plain_but(self, fields: frozenset[str]) -> list[z3.BoolRef]:
        """That other fields are at their default, flags apart: those cost Z3 nothing."""
        return [
            self.theory.here.formula(at_default(field))[0]
            for field in self.profile.fields
            if field.name not in fields and not isinstance(field, Flag)
        ]

    def _model(self, *assertions: z3.BoolRef) -> Iterator[Values]:
        goal = self.theory.goal(self.claim.id, *assertions)
        _, model = asked(goal, self.deadline.sooner(PATIENCE))
        if model is not None:
            yield self.theory.first.values(model)


class Theory:
    """What statements about a configuration, and about some changed ones, may use."""

    def __init__(
        self,
        first: Catalogue,
        changes: Sequence[Instead],
        claims: Sequence[Claim],
        known: Theory | None = None,
    ) -> None:
        self.first = first
        theory = [*first.inputs.axioms, *first.meaning]
        arithmetic = _continued(first.encoder.arithmetic)
        self.here = IntegerEncoder(arithmetic, first.encoder.labels)
        self.beside = {instead: Beside(first, instead, self.here) for instead in changes}
        for beside in self.beside.values():
            theory += [beside.exists, *beside.meaning]
        means = {
            verdict.name: self._means(verdict) for claim in claims for verdict in claim.verdicts
        }
        encoder = IntegerEncoder(arithmetic, first.encoder.labels, means)
        self.stated = {
            claim.id: (encoder.formula(claim.when)[0], z3.Not(encoder.formula(claim.then)[0]))
            for claim in claims
        }
        self.prover: Remembering = Remembering(arithmetic, theory, known.prover if known else None)

    def goal(self, name: str, *assertions: z3.BoolRef) -> Goal:
        """The assertions beside all that there is to know."""
        return self.prover.goal(name, DEFINITIONS, assertions)

    def _means(self, verdict: Verdict) -> z3.BoolRef:
        """When the verdict is true."""
        catalogue = self.beside[verdict.instead] if verdict.instead else self.first
        if verdict.kind == "accepted":
            return catalogue.accepted
        if verdict.kind == "same":
            return self._same(self.beside[verdict.instead])  # type: ignore[index]
        for index, rule in enumerate(catalogue.profile.rules):
            if rule.id == verdict.rule:
                return catalogue.first(index) if verdict.kind == "first" else catalogue.marks[index]
        return z3.BoolVal(val=False)

    def _same(self, beside: Beside) -> z3.BoolRef:
        """The same rules are violated, and every quantity is as known and has the same value."""
        pairs = list(zip(self.first.marks, beside.marks, strict=True))
        same = [a == b for a, b in pairs if a is not b]
        for quantity in self.first.profile.derived:
            if isinstance(quantity, Named):
                (a, known), (b, known_beside) = (
                    encoder.term(quantity) for encoder in (self.here, beside.encoder)
                )
                same += [known == known_beside, z3.Implies(known, a == b)]
            else:
                yes, no = self.here.formula(quantity)
                yes_beside, no_beside = beside.encoder.formula(quantity)
                same += [yes == yes_beside, no == no_beside]
        return z3.And(same)


class Beside(Catalogue):
    """The rules over a changed configuration. Rules that no change concerns keep their marks."""

    def __init__(self, first: Catalogue, instead: Instead, here: IntegerEncoder) -> None:
        self.unchanged = first
        self.profile = first.profile
        self.name = f"{instead.name} "
        self.touched = [not rule.reads.isdisjoint(instead.fields) for rule in self.profile.rules]
        terms = {field: here.term(term) for field, term in instead.terms.items()}
        self.exists = z3.And([defined for _, defined in terms.values()])
        given: dict[str, z3.ExprRef] = {field: value for field, (value, _) in terms.items()}
        given |= {field: z3.BoolVal(flag) for field, flag in instead.flags.items()}
        self.encoder = IntegerEncoder(here.arithmetic, here.labels, given)

    @cached_property
    def broken(self) -> tuple[z3.BoolRef, ...]:
        """When each rule's own formulas say that it is violated."""
        rows = zip(self.touched, self.profile.rules, self.unchanged.broken, strict=True)
        return tuple(self.breaks(*rule.nodes) if new else old for new, rule, old in rows)

    @cached_property
    def violated(self) -> tuple[z3.BoolRef, ...]:
        """When each rule is reported."""
        rows = zip(self.touched, self.broken, self.unchanged.violated, strict=True)
        return tuple(
            self.heard(index, broken) if new else old
            for index, (new, broken, old) in enumerate(rows)
        )

    @cached_property
    def marks(self) -> tuple[z3.BoolRef, ...]:
        """One truth value per rule."""
        rows = zip(self.touched, self.profile.rules, self.unchanged.marks, strict=True)
        return tuple(
            z3.Bool(f"{self.name}violates {rule.id}") if new else old for new, rule, old in rows
        )

    @cached_property
    def meaning(self) -> tuple[z3.BoolRef, ...]:
        """What the marks stand for that are its own."""
        rows = zip(self.touched, self.marks, self.violated, strict=True)
        return tuple(mark == violated for new, mark, violated in rows if new)


class Part(Catalogue):
    """The rules that read no field but these; of the others nothing is known."""

    def __init__(self, profile: Profile, fields: frozenset[str]) -> None:
        super().__init__(profile)
        self.known = [rule.reads <= fields for rule in profile.rules]

    @cached_property
    def broken(self) -> tuple[z3.BoolRef, ...]:
        """When each rule's own formulas say that it is violated."""
        rows = zip(self.known, self.profile.rules, strict=True)
        return tuple(
            self.breaks(*rule.nodes) if known else z3.Bool(f"broken {rule.id}")
            for known, rule in rows
        )


class Remembering(Prover):
    """A prover that adds to the laws of arithmetic that another has stated."""

    def __init__(
        self, arithmetic: Arithmetic, theory: Sequence[z3.BoolRef], known: Remembering | None
    ) -> None:
        super().__init__(arithmetic, theory, (LAWS, CHAINED))
        self.known = known

    def _assumed(self, step: str) -> list[z3.BoolRef]:
        if step == DEFINITIONS:
            return [*self._near(), *self.arithmetic.definitions()]
        if step == LAWS and self.known is not None:
            stated = self.known._arithmetic(CHAINED)  # noqa: SLF001  (of its own kind)
            return [*stated, *self._beyond(self.known).laws(chained=True)]
        return super()._assumed(step)

    def _near(self) -> list[z3.BoolRef]:
        if self.known is None:
            return self._arithmetic(LAWS)
        stated = self.known._near()  # noqa: SLF001  (of its own kind)
        return [*stated, *self._beyond(self.known).laws()]

    def _beyond(self, other: Prover) -> Arithmetic:
        """What the other does not know of."""
        new = Arithmetic()
        new.products = _added(self.arithmetic.products, other.arithmetic.products)
        new.divisions = _added(self.arithmetic.divisions, other.arithmetic.divisions)
        return new


def _added(now: Mapping[Key, Pair], before: Mapping[Key, Pair]) -> dict[Key, Pair]:
    return {key: pair for key, pair in now.items() if key not in before}


def asked(goal: Goal, deadline: Deadline) -> tuple[z3.CheckSatResult, z3.ModelRef | None]:
    """The verdict on a goal by a solver of its own, which may simplify as it likes."""
    solver = SeparateSolver()
    solver.add(*goal.assertions)
    result = decide(solver, deadline)
    return result, solver.model() if result == z3.sat else None


def _continued(arithmetic: Arithmetic) -> Arithmetic:
    """One that remembers the same, and more from here on."""
    result = Arithmetic()
    result.products |= arithmetic.products
    result.divisions |= arithmetic.divisions
    return result


class Reading:
    """A claim read at configurations by the plain evaluator."""

    def __init__(self, profile: Profile, claim: Claim) -> None:
        self.profile = profile
        self.verdicts = claim.verdicts
        self._index = {rule.id: index for index, rule in enumerate(profile.rules)}
        self._changers = {instead: _changer(profile, instead) for instead in claim.changed}
        if any(verdict.kind == "same" for verdict in self.verdicts):
            self._judged = profile.judged
        else:  # nothing hangs on what is derived
            self._judged = lambda values: (profile.violated(values), {})
        flags = [Flag(verdict.name, about="") for verdict in self.verdicts]
        when, then = (
            f"{defined_source(formula)} and {formula_source(formula)}"
            for formula in (claim.when, claim.then)
        )
        lines = prologue([*profile.fields, *flags], [claim.when, claim.then])
        lines += [f"if not ({when}): return None", f"return bool({then})"]
        self._truth = compiled("truth", lines)

    def truth(self, values: Values) -> bool | None:
        """Whether the claim is true there; None where it says nothing."""
        judged: dict[Instead | None, Judged] = {None: self._judged(values)}
        for instead, changer in self._changers.items():
            changed = changer(values)
            if changed is None:
                return None
            judged[instead] = self._judged(changed)
        flags = tuple(self._says(verdict, judged) for verdict in self.verdicts)
        found: bool | None = self._truth((*values, *flags))
        return found

    def _says(self, verdict: Verdict, judged: Mapping[Instead | None, Judged]) -> bool:
        fired, _ = judged[verdict.instead]
        match verdict.kind:
            case "accepted":
                return not fired
            case "violates":
                return self._index.get(verdict.rule) in fired
            case "first":
                return fired[:1] == [self._index.get(verdict.rule)]
            case "same":
                return judged[verdict.instead] == judged[None]


def _changer(profile: Profile, instead: Instead) -> Callable[[Values], Values | None]:
    """The changed values of a configuration; None where a change is undefined."""
    lines = [*prologue(profile.fields, instead.terms.values()), "changed = list(values)"]
    for name, term in instead.terms.items():
        lines.append(f"if not {defined_source(term)}: return None")
        lines.append(f"changed[{profile.index_of[name]}] = {term_source(term)}")
    for name, flag in instead.flags.items():
        lines.append(f"changed[{profile.index_of[name]}] = {flag}")
    return compiled("changed", [*lines, "return tuple(changed)"])


def smaller(profile: Profile, values: Values, fits: Callable[[Values], bool]) -> Values:
    """The values with as many fields at their default as still fit."""
    for index, default in enumerate(profile.defaults):
        tried = (*values[:index], default, *values[index + 1 :])
        if tried != values and is_question(profile, tried) and fits(tried):
            return smaller(profile, tried, fits)
    return values


def is_question(profile: Profile, values: Values) -> bool:
    """Whether the values make a configuration that can be asked about."""
    try:
        for field, value in zip(profile.fields, values, strict=True):
            field.parse(value)
        profile.checked(values)
    except FieldError:
        return False
    return True


def off_default(profile: Profile, values: Values) -> dict[str, Any]:
    """Field values by name, those at their default left out."""
    rows = zip(profile.fields, values, strict=True)
    return {field.name: value for field, value in rows if value != field.default}
