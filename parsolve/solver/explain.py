"""Why nothing is valid: a smallest conflicting set of rules, conditions and pins.

Every rule, condition and pin becomes a named assumption over the finite values of the query
at one world. The set that is reported cannot be satisfied, and no smaller one is
unsatisfiable (implicit hitting sets; Ignatiev et al., "Smallest MUS Extraction with Minimal
Hitting Set Dualization", CP 2015). Equally small sets are decided by a fixed order, so the
same question always gets the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any as Anything
from typing import assert_never

import z3

from parsolve.constraints.formula import Formula
from parsolve.constraints.profile import Config, read_values
from parsolve.constraints.rule import Rule
from parsolve.constraints.simplify import Simplifier, Undefined
from parsolve.solver.answer import Conflict, Fields, Undecided, Violation
from parsolve.solver.check import cautions
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import decide
from parsolve.solver.finite import FiniteEncoder, conjunction, negation
from parsolve.solver.finite import Literal as Z3Literal
from parsolve.solver.numbers import divisors
from parsolve.solver.query import Condition, Query, assumptions
from parsolve.solver.relax import MOST_VALUES, held, relaxations, releasable, widened

MOST_ROUNDS = 200
"""Hitting-set rounds before the conflict is only shrunk, not proved smallest."""

SHOWN_RELAXATIONS = 6


@dataclass(frozen=True, slots=True)
class _Part:
    """One assumption: a rule, a condition, or a pin."""

    content: Rule | Condition | str
    literal: Z3Literal
    index: int = -1


def explain(query: Query, deadline: Deadline) -> Conflict | Undecided:
    """A smallest conflict of a query without a solution, and what to relax."""
    world = query.worlds[-1]
    problem = _Problem(query, world, deadline)
    core, smallest = problem.smallest_core()
    if core is None:
        return Undecided(
            profile=query.profile.name,
            reason="nothing valid was found, but Z3 did not decide which parts conflict",
            searched=problem.searched,
        )
    profile = query.profile
    rules, conditions = [], []
    pins: dict[str, Anything] = {}
    defaults: dict[str, Anything] = {}
    for part in core:
        match part.content:
            case Rule() as rule:
                reason, remedy = profile.prose(part.index, problem.config.values)
                rules.append(
                    Violation(
                        rule=rule.id,
                        stage=rule.stage,
                        reason=reason,
                        because=profile.says(part.index),
                        remedy=remedy,
                        source=str(rule.source),
                    )
                )
            case Condition(text):
                conditions.append(text)
            case str(name):
                (pins if name in query.pins else defaults)[name] = problem.config[name]
            case _:
                assert_never(part.content)
    return Conflict(
        profile=profile.name,
        world=world,
        worlds=len(query.worlds),
        pins=Fields(pins),
        held=Fields(defaults),
        conditions=tuple(conditions),
        rules=tuple(rules),
        smallest=smallest,
        searched=problem.searched,
        repairs=tuple(islice(relaxations(query, deadline), SHOWN_RELAXATIONS)),
        warnings=(*assumptions(query), *cautions(problem.config)),
    )


class _Problem:
    def __init__(self, query: Query, world: int, deadline: Deadline) -> None:
        self.query, self.world, self.deadline = query, world, deadline
        profile = query.profile
        self.config = config = Config(profile, query.completed(world, (), ()))
        released = [n for n in query.pins if releasable(config, n)]
        unsaid = held(query)
        names = (*query.free, *released, *unsaid)
        domains = {name: widened(query, config, name) for name in names}
        simplifier = Simplifier(read_values(profile, config.values, but=names))
        encoder = FiniteEncoder(domains, deadline.check)
        self.solver = z3.Solver()
        self.parts: list[_Part] = []
        for name in (*released, *unsaid):
            self._add(name, encoder.chosen(name, config[name]))
        for condition in query.conditions:
            self._add(condition, _true(simplifier, encoder, condition.formula))
        for index, rule in enumerate(profile.rules):
            try:
                when, requires = simplifier.formula(rule.when), simplifier.formula(rule.requires)
            except Undefined:
                continue
            broken = conjunction((encoder.formula(when)[0], encoder.formula(requires)[1]))
            self._add(rule, negation(broken), index)
        for spelling in query.canonical:
            self.solver.add(_true(simplifier, encoder, spelling))
        for axiom in encoder.axioms:
            self.solver.add(axiom)
        self.searched = _searched(query, names, world)

    def _add(self, content: Rule | Condition | str, literal: Z3Literal, index: int = -1) -> None:
        if literal is not True:
            self.parts.append(_Part(content, literal, index))

    def smallest_core(self) -> tuple[list[_Part] | None, bool]:
        """A smallest unsatisfiable set of parts and whether that is proved; None: undecided."""
        parts = self.parts
        names = [z3.Bool(f"part!{i}") for i in range(len(parts))]
        for name, part in zip(names, parts, strict=True):
            self.solver.add(name if part.literal is True else z3.Implies(name, part.literal))

        def satisfied(chosen: frozenset[int]) -> frozenset[int] | None:
            """Parts that a model of the chosen ones satisfies; None if there is no model."""
            assumed = [names[i] for i in sorted(chosen)]
            result = decide(self.solver, self.deadline, assumed)
            if result == z3.unknown:
                raise _UnknownError
            if result == z3.unsat:
                return None
            model = self.solver.model()
            holds = (
                i
                for i, part in enumerate(parts)
                if z3.is_true(model.eval(_ref(part.literal), model_completion=True))
            )
            return chosen | frozenset(holds)

        try:
            everything = frozenset(range(len(parts)))
            if satisfied(everything) is not None:
                return None, False
            to_hit: list[frozenset[int]] = []
            for _ in range(MOST_ROUNDS):
                core = _smallest_hitting_set(to_hit)
                kept = satisfied(core)
                if kept is None:
                    return [parts[i] for i in sorted(core)], True
                for i in sorted(everything - kept, reverse=True):
                    if i not in kept and (more := satisfied(kept | {i})) is not None:
                        kept = more
                to_hit.append(everything - kept)
            core = everything
            for i in range(len(parts)):
                if satisfied(core - {i}) is None:
                    core -= {i}
            return [parts[i] for i in sorted(core)], False
        except _UnknownError:
            return None, False


class _UnknownError(Exception):
    """Z3 did not decide."""


def _ref(literal: Z3Literal) -> z3.BoolRef:
    return z3.BoolVal(literal) if isinstance(literal, bool) else literal


def _true(simplifier: Simplifier, encoder: FiniteEncoder, formula: Formula) -> Z3Literal:
    try:
        return encoder.formula(simplifier.formula(formula))[0]
    except Undefined:
        return False


def _smallest_hitting_set(sets: Sequence[frozenset[int]]) -> frozenset[int]:
    """A smallest set that meets every given one; of equally small ones, that of earliest parts.

    The user's own pins and conditions come first, then the rules in the framework's order.
    """
    best: list[frozenset[int]] = [frozenset().union(*sets)]

    def extend(chosen: frozenset[int], rest: Sequence[frozenset[int]]) -> None:
        if not rest:
            if (len(chosen), sorted(chosen)) < (len(best[0]), sorted(best[0])):
                best[0] = chosen
            return
        if len(chosen) + 1 > len(best[0]):
            return
        smallest = min(rest, key=lambda s: (len(s), sorted(s)))
        for i in sorted(smallest):
            extend(chosen | {i}, [s for s in rest if i not in s])

    extend(frozenset(), list(sets))
    return best[0]


def _searched(query: Query, names: Sequence[str], world: int) -> str:
    """Which values a conflict considers, as a sentence."""
    sizes = [n for n in names if getattr(query.profile.field_of[n], "divides", "")]
    if not sizes:
        parts = ["no size is free"]
    else:
        everything = len(divisors(world))
        some = f"{MOST_VALUES} of the {everything}" if everything > MOST_VALUES else "the"
        over = f"{some} divisors of {world} and every number that the question names"
        parts = [f"{', '.join(sizes)} over {over}"]
    if query.canonical:
        parts.append("one spelling of each configuration")
    return "; ".join(parts)
