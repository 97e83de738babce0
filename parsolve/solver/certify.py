"""Certificates: Z3 confirms what the search found, or says that it does not know.

Three claims, each the unsatisfiability of its negation over every value that was searched:
nothing accepted lies outside a listing; nothing accepted is better than the best; nothing
equally good is missing. That the searched values suffice is a claim about every cluster
(`claims`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any as Anything
from typing import Literal, TypeAlias

import z3

from parsolve.constraints.evaluate import compiled, derived_lines, violated_source
from parsolve.constraints.formula import Const, Formula, Term, Truth, fields_of, named_in
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import decide
from parsolve.solver.finite import FiniteEncoder, conjunction, disjunction, negation
from parsolve.solver.finite import Literal as Z3Literal
from parsolve.solver.query import Objective, Query
from parsolve.solver.search import Residue, is_shut, residue

Status: TypeAlias = Literal["proved", "undecided"]


class SolverDisagreementError(RuntimeError):
    """Z3 and the search contradict each other: a bug in parsolve, never an answer."""


class Certifier:
    """The query at one world, as a Z3 problem over its free knobs."""

    def __init__(self, query: Query, world: int, deadline: Deadline) -> None:
        self.query = query
        self.world = world
        self.deadline = deadline
        self._terms = tuple(objective.term for objective in query.objectives)
        self._rests: dict[tuple[int, tuple[tuple[Anything, ...], ...]], Z3Literal] = {}

    @cached_property
    def left(self) -> Residue:
        """What is left of rules, conditions and objectives at this world."""
        return residue(self.query, self.world, self._terms)

    @cached_property
    def empty(self) -> bool:
        """Whether the known fields, or one knob alone, already exclude everything."""
        return (
            is_shut(self.query, self.world)
            or any(_always_violated(*rule[1:]) for rule in self.left.rules)
            or any(isinstance(need, Truth) and not need.value for need in self.left.needs)
            or not all(self._domains.values())
        )

    @cached_property
    def _domains(self) -> dict[str, tuple[Anything, ...]]:
        return consistent_domains(self.query, self.left, self.world)

    @cached_property
    def encoder(self) -> FiniteEncoder:
        """The query's trees over the values that no rule excludes by themselves."""
        return FiniteEncoder(self._domains, self.deadline.check)

    @cached_property
    def solver(self) -> z3.Solver:
        """Rules, conditions and axioms, asserted."""
        encoder = self.encoder
        solver = z3.SolverFor("QF_FD")
        literals: list[Z3Literal] = []
        for _, when, requires in self.left.rules:
            applies, _ = encoder.formula(when)
            _, broken = encoder.formula(requires)
            literals.append(negation(conjunction((applies, broken))))
            self.deadline.check()
        literals += [encoder.formula(need)[0] for need in self.left.needs]
        for literal in (*literals, *encoder.axioms):
            if literal is not True:
                solver.add(literal)
        return solver

    def _add(self, literal: Z3Literal) -> None:
        if literal is not True:
            self.solver.add(literal)

    def _chosen(self, names: Sequence[str], values: Sequence[Anything]) -> Z3Literal:
        return conjunction(map(self.encoder.chosen, names, values))

    def _check(self, claim: Z3Literal) -> Status:
        """Whether the claim is impossible; the solver's state is left as it was."""
        if claim is False:
            return "proved"
        self.solver.push()
        self._add(claim)
        result = decide(self.solver, self.deadline)
        model = self.solver.model() if result == z3.sat else None
        self.solver.pop()
        if model is not None:
            raise SolverDisagreementError(self._report(model))
        return "proved" if result == z3.unsat else "undecided"

    def _report(self, model: z3.ModelRef) -> str:
        chosen = {
            name: next(
                value
                for value, literal in self.encoder.values(name).items()
                if literal is True or z3.is_true(model.eval(literal, model_completion=True))
            )
            for name in self.query.free
        }
        values = self.query.completed(self.world, self.query.free, list(chosen.values()))
        accepted = self.query.profile.accepts(values)
        return (
            f"parsolve contradicts itself at {self.query.profile.world} = {self.world}, {chosen}: "
            f"Z3 finds a configuration that the search did not report (the rules "
            f"{'accept' if accepted else 'reject'} it). This is a bug; please report it."
        )

    def group_is_whole(
        self, prefix: Sequence[Anything], found: Sequence[Sequence[Anything]]
    ) -> Status:
        """Nothing accepted starts with ``prefix`` beside what was found.

        Afterwards the prefix counts as settled, see `nothing_outside`.
        """
        if self.empty:
            return "proved"
        names = self.query.free
        start = self._chosen(names[: len(prefix)], prefix)
        rests = [row[len(prefix) :] for row in found]
        status = self._check(conjunction((start, self._beside(rests, len(prefix)))))
        self._add(negation(start))
        return status

    def nothing_outside(self) -> Status:
        """Nothing accepted starts with a prefix that was not settled."""
        return "proved" if self.empty else self._check(claim=True)

    def nothing_better(self, front: Iterable[Sequence[int]], *, pareto: bool) -> Status:
        """Nothing accepted beats the objective values: lexicographically, or the Pareto front."""
        if self.empty:
            return "proved"
        beats = conjunction(
            (self._improves if pareto else self._precedes)(self.query.objectives, best)
            for best in front
        )
        if beats is False:
            return "proved"
        known = (disjunction(self._table(term).values()) for term in self.left.terms)
        return self._check(conjunction((*known, beats)))

    def no_more_ties(self, best: Sequence[int], found: Sequence[Sequence[Anything]]) -> Status:
        """Nothing accepted has exactly these objective values beside what was found."""
        if self.empty:
            return "proved"
        equal: list[Z3Literal] = []
        for term, value in zip(self.left.terms, best, strict=True):
            equal.append(self._table(term).get(value, False))
            if equal[-1] is False:
                return "proved"
        return self._check(conjunction((*equal, self._beside(found))))

    def _beside(self, found: Sequence[Sequence[Anything]], level: int = 0) -> Z3Literal:
        """That it is none of those found, whose knobs from ``level`` on are given.

        A knob has a value that none of them has, or one of theirs and then the rest is beside
        those. Rests repeat (the batch goes with most layouts): each becomes a literal once.
        """
        if not found:
            return True
        if level == len(self.query.free):
            return False
        key = (level, tuple(map(tuple, found)))
        if key not in self._rests:
            rests: dict[Anything, list[Sequence[Anything]]] = {}
            for row in found:
                rests.setdefault(row[0], []).append(row[1:])
            self._rests[key] = disjunction(
                conjunction((literal, self._beside(rests.get(value, ()), level + 1)))
                for value, literal in self.encoder.values(self.query.free[level]).items()
            )
        return self._rests[key]

    def _table(self, term: Term | None) -> Mapping[Anything, Z3Literal]:
        if isinstance(term, Const):
            return {term.value: True}
        return {} if term is None else self.encoder.term(term)

    def _better(self, objective: Objective, term: Term | None, than: int) -> Z3Literal:
        table = self._table(term)
        return disjunction(lit for value, lit in table.items() if objective.better(value, than))

    def _precedes(self, objectives: Sequence[Objective], best: Sequence[int]) -> Z3Literal:
        cases: list[Z3Literal] = []
        equal: list[Z3Literal] = []
        for objective, term, value in zip(objectives, self.left.terms, best, strict=True):
            cases.append(conjunction((*equal, self._better(objective, term, value))))
            equal.append(self._table(term).get(value, False))
            if equal[-1] is False:
                break
        return disjunction(cases)

    def _improves(self, objectives: Sequence[Objective], best: Sequence[int]) -> Z3Literal:
        triples = zip(objectives, self.left.terms, best, strict=True)
        return disjunction(self._better(*triple) for triple in triples)


def _always_violated(when: object, requires: object) -> bool:
    return (
        isinstance(when, Truth)
        and when.value
        and isinstance(requires, Truth)
        and not requires.value
    )


def consistent_domains(query: Query, left: Residue, world: int) -> dict[str, tuple[Anything, ...]]:
    """Values of each free knob that no rule excludes by that knob alone."""
    by_itself: dict[str, list[tuple[Formula, Formula]]] = {}
    for _, when, requires in left.rules:
        read = fields_of(when, requires)  # walks the whole tree: once a rule, not once a knob
        if len(read) == 1:
            by_itself.setdefault(next(iter(read)), []).append((when, requires))
    domains: dict[str, tuple[Anything, ...]] = {}
    for name in query.free:
        alone = by_itself.get(name)
        if not alone:
            domains[name] = query.domain(name, world)
            continue
        lines = [f"{name} = values", *derived_lines(named_in(*(n for pair in alone for n in pair)))]
        lines += [f"if {violated_source(*pair)}: return False" for pair in alone]
        possible = compiled("possible", [*lines, "return True"])
        domains[name] = tuple(filter(possible, query.domain(name, world)))
    return domains
