"""Why nothing is valid: a smallest conflicting set of rules, conditions and pins.

Every rule, condition and pin becomes a named assumption over the finite values of the query
at one world. The set that is reported cannot be satisfied, and no smaller one is
unsatisfiable (implicit hitting sets; Ignatiev et al., "Smallest MUS Extraction with Minimal
Hitting Set Dualization", CP 2015). Equally small sets are decided by a fixed order, so the
same question always gets the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice
from typing import Any as Anything
from typing import assert_never

import z3

from parsolve.constraints.fields import Choice, Flag, Size
from parsolve.constraints.formula import Compare, Const, Formula, Node, Variable, children
from parsolve.constraints.profile import Config
from parsolve.constraints.rule import Rule
from parsolve.constraints.simplify import Simplifier, Undefined
from parsolve.solver.answer import Conflict, Repair, Undecided, Violation
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import decide
from parsolve.solver.finite import FiniteEncoder, conjunction, negation
from parsolve.solver.finite import Literal as Z3Literal
from parsolve.solver.numbers import divisors
from parsolve.solver.query import Condition, Query, domain, read_values
from parsolve.solver.repair import effective_values
from parsolve.solver.search import search

MOST_ROUNDS = 200
"""Hitting-set rounds before the conflict is only shrunk, not proved smallest."""

MOST_RELAXED = 3
"""Parts of the question that one relaxation gives up, at most."""

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
    rules, conditions, pins = [], [], {}
    for part in core:
        match part.content:
            case Rule() as rule:
                rules.append(
                    Violation(
                        rule=rule.id,
                        stage=rule.stage,
                        reason=rule.reason,
                        because=query.profile.says(part.index),
                        remedy=rule.remedy,
                        source=str(rule.source),
                    )
                )
            case Condition(text):
                conditions.append(text)
            case str(name):
                pins[name] = query.pins[name]
            case _:
                assert_never(part.content)
    return Conflict(
        profile=query.profile.name,
        world=world,
        pins=pins,
        conditions=tuple(conditions),
        rules=tuple(rules),
        smallest=smallest,
        searched=problem.searched,
        repairs=tuple(islice(relaxations(query, deadline), SHOWN_RELAXATIONS)),
    )


class _Problem:
    def __init__(self, query: Query, world: int, deadline: Deadline) -> None:
        self.query, self.world, self.deadline = query, world, deadline
        profile = query.profile
        config = Config(profile, query.completed(world, (), ()))
        released = [n for n in query.pins if _releasable(config, n)]
        names = (*query.free, *released)
        domains = {name: _widened(query, config, name) for name in names}
        simplifier = Simplifier(read_values(profile, config.values, but=names))
        encoder = FiniteEncoder(domains)
        self.solver = z3.Solver()
        self.parts: list[_Part] = []
        for index, rule in enumerate(profile.rules):
            try:
                when, requires = simplifier.formula(rule.when), simplifier.formula(rule.requires)
            except Undefined:
                continue
            broken = conjunction((encoder.formula(when)[0], encoder.formula(requires)[1]))
            self._add(rule, negation(broken), index)
        for condition in query.conditions:
            self._add(condition, _true(simplifier, encoder, condition.formula))
        for name in released:
            self._add(name, encoder.chosen(name, query.pins[name]))
        for spelling in query.canonical:
            self.solver.add(_true(simplifier, encoder, spelling))
        for axiom in encoder.axioms:
            self.solver.add(axiom)
        searched = [n for n in names if getattr(profile.field_of[n], "divides", "")]
        self.searched = (
            f"{', '.join(searched)} over the divisors of {world} and every number that the "
            "question names"
            if searched
            else "no size is free"
        ) + ("; one spelling of each configuration" if query.canonical else "")

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
    """A smallest set that meets every given one; of equally small ones, that of latest parts.

    Later parts are the user's own pins and conditions, which say more than rules do.
    """
    best: list[frozenset[int]] = [frozenset().union(*sets)]

    def extend(chosen: frozenset[int], rest: Sequence[frozenset[int]]) -> None:
        if not rest:
            if (len(chosen), sorted(-i for i in chosen)) < (
                len(best[0]),
                sorted(-i for i in best[0]),
            ):
                best[0] = chosen
            return
        if len(chosen) + 1 > len(best[0]):
            return
        smallest = min(rest, key=lambda s: (len(s), sorted(s)))
        for i in sorted(smallest, reverse=True):
            extend(chosen | {i}, [s for s in rest if i not in s])

    extend(frozenset(), list(sets))
    return best[0]


def _releasable(config: Config, name: str) -> bool:
    """Whether a pin can be let go: a knob, or a number of the cluster, off its default."""
    field = config.profile.field_of[name]
    if config[name] == field.default and name not in config.profile.axes:
        return False
    if isinstance(field, (Flag, Choice)):
        return field.role == "knob"
    return isinstance(field, Size) and field.role in {"cluster", "knob"}


def _widened(query: Query, config: Config, name: str) -> tuple[Anything, ...]:
    """Values of a knob in a conflict: those searched, the pinned one, those conditions name."""
    profile = query.profile
    field = profile.field_of[name]
    world = config[profile.world]
    values: list[Anything] = []
    if isinstance(field, Size) and not field.divides:
        values += [field.default, *(divisors(world) if field.role == "cluster" else ())]
    else:
        values += domain(profile, name, world)
    if name in query.pins:
        values.append(query.pins[name])
    if isinstance(field, Size):
        named = {n for c in query.conditions for n in _compared(c.formula, name)}
        values += sorted(n for n in named if n >= field.minimum)
    return tuple(dict.fromkeys(values))


def _compared(node: Node, name: str) -> Iterator[int]:
    """Constants that a condition compares the field with, and their neighbours."""
    if isinstance(node, Compare):
        sides = (node.left, node.right)
        for side, other in (sides, sides[::-1]):
            if isinstance(side, Variable) and side.name == name and isinstance(other, Const):
                value = other.value
                if isinstance(value, int):
                    yield from (value - 1, value, value + 1)
    for child in children(node):
        yield from _compared(child, name)


def relaxations(query: Query, deadline: Deadline) -> Iterator[Repair]:
    """Smallest relaxations of the question that have a valid answer, nearest value first.

    Each gives up as few pins and conditions as possible; pins keep a value, but another one.
    Where none of them helps, the numbers of the cluster are tried.
    """
    profile = query.profile
    config = Config(profile, query.completed(query.worlds[-1], (), ()))
    asked: list[str | Condition] = [
        *(
            name
            for name in query.pins
            if profile.field_of[name].role != "cluster" and _releasable(config, name)
        ),
        *query.conditions,
    ]
    hardware: list[str | Condition] = [
        field.name
        for field in profile.fields
        if field.role == "cluster" and field.flag and field.name != profile.world
    ]
    for parts in (asked, hardware):
        for size in range(1, MOST_RELAXED + 1):
            found = False
            for chosen in combinations(parts, size):
                deadline.check()
                repair = _relaxed(query, config, chosen, deadline)
                if repair is not None:
                    found = True
                    yield repair
            if found:
                return


def _relaxed(
    query: Query, config: Config, chosen: Sequence[str | Condition], deadline: Deadline
) -> Repair | None:
    names = tuple(part for part in chosen if isinstance(part, str))
    dropped = tuple(part.text for part in chosen if isinstance(part, Condition))
    free = tuple(dict.fromkeys((*query.free, *names)))
    opened = _Opened(
        query.profile,
        query.worlds,
        {name: value for name, value in query.pins.items() if name not in names},
        tuple(c for c in query.conditions if c.text not in dropped),
        free=free,
        config=config,
        question=query,
    )
    best: tuple[tuple[Anything, ...], Config] | None = None
    before = effective_values(config)
    preferences = [preference.term for preference in query.profile.preferences]
    for world, values, order in search(opened, preferences, deadline):
        candidate = Config(query.profile, opened.completed(world, free, values))
        moved = tuple(_distance(before[name], candidate[name]) for name in names)
        key = (sum(moved), world, order, tuple(map(str, values)))
        if best is None or key < best[0]:
            best = (key, candidate)
    if best is None:
        return None
    accepted = best[1]
    return Repair(
        change={name: accepted[name] for name in names},
        config=accepted.as_dict(),
        drop=dropped or None,
    )


def _distance(before: object, after: object) -> float:
    if isinstance(before, int) and isinstance(after, int) and not isinstance(after, bool):
        high, low = max(before, after, 1), max(1, min(before, after))
        return high / low - 1
    return float(before != after)


@dataclass(frozen=True, eq=False)
class _Opened(Query):
    """A query some of whose pins are free, over the values that a conflict considers."""

    config: Config = field(kw_only=True)
    question: Query = field(kw_only=True)

    @cached_property
    def canonical(self) -> tuple[Formula, ...]:
        """Those of the question: a pin that is let go may take any spelling."""
        return self.question.canonical

    def domain(self, name: str, world: int) -> tuple[Anything, ...]:
        """Values of the conflict's widened domain."""
        changed = self.config.replaced({self.profile.world: world})
        return _widened(self.question, changed, name)
