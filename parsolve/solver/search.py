"""Every completion of a query that no rule refuses, found by loops made from the formulas.

The free knobs become nested loops, outermost first. Fields that are known are folded into
the rules, and each rule that remains is checked in the outermost loop in which all that it
reads is bound. The loops are Python text compiled once per query; they use no solver, and
`certify` has Z3 confirm that nothing lies outside what they find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any as Anything

from parsolve.constraints.evaluate import (
    DEFINED,
    compiled,
    defined_source,
    derived_lines,
    formula_source,
    term_source,
    violated_source,
)
from parsolve.constraints.fields import Size
from parsolve.constraints.formula import (
    All,
    Formula,
    Named,
    NamedFormula,
    Node,
    Term,
    Truth,
    fields_of,
    named_in,
)
from parsolve.constraints.simplify import Simplifier, Undefined
from parsolve.solver.deadline import Deadline
from parsolve.solver.query import Query, Shape

FALSE = Truth(value=False)

KEPT = 64
"""Shapes of queries of which a process keeps what is made of them."""

TICKING_LOOPS = 2
"""The outer loops look at the clock; inner ones would only slow down."""

Found = tuple[int, tuple[Anything, ...], tuple[int | None, ...]]
"""A world, the values of the free knobs, and the values of the scored terms."""


@dataclass(frozen=True, slots=True)
class Residue:
    """What is left of a query's rules and conditions once the known fields are folded in.

    ``rules`` are (catalogue index, when, requires); ``needs`` must be defined and hold.
    """

    rules: tuple[tuple[int, Formula, Formula], ...]
    needs: tuple[Formula, ...]
    terms: tuple[Term | None, ...]


def residue(query: Query, world: int | None, terms: tuple[Term, ...] = ()) -> Residue:
    """Fold the known fields into rules, conditions and the given terms (None: undefined).

    Without a world, the world stays open; with one, what is left for all worlds is folded
    once more.
    """
    opened = _open_residue(query.shape, terms)
    if world is None:
        return opened
    return _folded(
        Simplifier({query.profile.world: world}), opened.rules, opened.needs, opened.terms
    )


@lru_cache(maxsize=KEPT)
def _open_residue(shape: Shape, terms: tuple[Term, ...]) -> Residue:
    query = shape.query
    rules = ((i, rule.when, rule.requires) for i, rule in enumerate(query.limits))
    asked = (condition.formula for condition in query.conditions)
    if not query.bounded:
        asked = (node for node in asked if not query.profile.is_evaluated(node))
    questions = (check.requires for check in query.profile.questions)
    needs = (*query.canonical, *asked, *questions)
    return _folded(Simplifier(query.known), rules, needs, terms)


def is_shut(query: Query, world: int) -> bool:
    """Whether rules and conditions that read the world alone already exclude everything.

    Most worlds of a range are, such as those that are no whole nodes; folding every rule for
    each of them would take most of the time.
    """
    return _shutter(query.shape)(world)


@lru_cache(maxsize=KEPT)
def _shutter(shape: Shape) -> Callable[[Anything], bool]:
    query = shape.query
    opened = _open_residue(shape, tuple(objective.term for objective in query.objectives))
    name = query.profile.world
    rules = [(when, need) for _, when, need in opened.rules if fields_of(when, need) <= {name}]
    needs = [need for need in opened.needs if fields_of(need) <= {name}]
    named = named_in(*(node for pair in rules for node in pair), *needs)
    lines = [f"{name} = values", *derived_lines(named)]
    lines += [f"if {violated_source(*pair)}: return True" for pair in rules]
    lines += [f"if {_unmet(need)}: return True" for need in needs]
    return compiled("shut", [*lines, "return False"])


def _folded(
    simplifier: Simplifier,
    rules: Iterable[tuple[int, Formula, Formula]],
    needs: Iterable[Formula],
    terms: Iterable[Term | None],
) -> Residue:
    left = []
    for index, when, requires in rules:
        try:
            applies, needed = simplifier.formula(when), simplifier.formula(requires)
        except Undefined:
            continue
        if not (_is(applies, value=False) or _is(needed, value=True)):
            left.append((index, applies, needed))
    return Residue(
        tuple(left),
        tuple(
            need for formula in needs if not _is(need := _needed(simplifier, formula), value=True)
        ),
        tuple(None if term is None else _known(simplifier, term) for term in terms),
    )


def _is(formula: Formula, *, value: bool) -> bool:
    return isinstance(formula, Truth) and formula.value == value


def _needed(simplifier: Simplifier, formula: Formula) -> Formula:
    try:
        return simplifier.formula(formula)
    except Undefined:
        return FALSE


def _known(simplifier: Simplifier, term: Term) -> Term | None:
    try:
        return simplifier.term(term)
    except Undefined:
        return None


@dataclass(slots=True)
class Cut:
    """A value of the first term below which rows are of no use; it may rise while they come.

    With ``maximize`` false, it is a value above which they are of no use.
    """

    maximize: bool
    value: int | None = None


def search(
    query: Query,
    terms: Sequence[Term] = (),
    deadline: Deadline | None = None,
    cut: Cut | None = None,
) -> Iterator[Found]:
    """Yield every accepted completion, in loop order, with the values of the given terms.

    A term's value is None where it is undefined. ``cut`` leaves out rows, as early as their
    first term is known. Raises `TimedOut` at the deadline.
    """
    loops = _loops(query.shape, tuple(terms), None if cut is None else cut.maximize)
    limit = deadline or Deadline()
    for found in loops(query.worlds, query.domain, limit.check, cut):
        yield found[0], found[1], found[2]


@lru_cache(maxsize=KEPT)
def _loops(
    shape: Shape,
    terms: tuple[Term, ...],
    maximize: bool | None,  # noqa: FBT001  (a cut's direction)
) -> Callable[..., Iterator[Found]]:
    """Compile the nested loops of a query, for any worlds.

    Folding the rules and compiling them takes longer than running them, so both are kept for
    the next query of the shape; ``maximize`` is the direction of a cut, if there is one. Every
    derived quantity is computed in the outermost loop in which all that it is made of is bound,
    and every check made there.
    """
    query, left = shape.query, _open_residue(shape, terms)
    world = query.profile.world
    order = (world, *query.free)
    level_of = {name: level for level, name in enumerate(order)}

    def level(*nodes: Node) -> int:
        return max((level_of[name] for name in fields_of(*nodes)), default=0)

    checks = _checks(left, level)
    scored = [term for term in left.terms if term is not None]
    if maximize is not None and left.terms[0] is not None:
        checks.append((level(scored[0]), _cut_test(scored[0], maximize), (scored[0],)))
    waiting = [
        (level(quantity), quantity)
        for quantity in named_in(*(node for _, _, nodes in checks for node in nodes), *scored)
    ]

    lines = ["def loops(worlds, domain, tick, cut):"]
    bound: set[int] = set()
    picked: list[str] = []

    def bind(nodes: Sequence[Node], indent: str) -> None:
        fresh: list[Named | NamedFormula] = []
        for quantity in named_in(*nodes):
            if id(quantity) not in bound:
                bound.add(id(quantity))
                fresh.append(quantity)
        lines.extend(indent + line for line in derived_lines(fresh))

    for depth, name in enumerate(order):
        indent = "    " * (depth + 1)
        source = "worlds" if depth == 0 else f"domain({name!r}, {world})"
        if depth > 1:
            # a domain depends on the world alone: look it up once per world
            source = f"domain_{name}"
        inner = indent + "    "
        field = query.profile.field_of[name]
        if isinstance(field, Size) and field.optional:
            lines.append(f"{indent}for chosen_{name} in {source}:")
            lines.append(
                f"{inner}{name} = {field.unset} if chosen_{name} is None else chosen_{name}"
            )
            picked.append(f"chosen_{name}")
        else:
            lines.append(f"{indent}for {name} in {source}:")
            picked.append(name)
        if depth <= TICKING_LOOPS:
            lines.append(f"{inner}tick()")
        if depth == 0:
            lines.extend(f"{inner}domain_{free} = domain({free!r}, {world})" for free in order[2:])
        for at, test, nodes in checks:
            if at == depth:
                bind(nodes, inner)
                lines.append(f"{inner}if {test}: continue")
        bind([quantity for at, quantity in waiting if at == depth], inner)
    innermost = "    " * (len(order) + 1)
    scores = "".join(f"{_score(term)}, " for term in left.terms)
    chosen = "".join(f"{name}, " for name in picked[1:])
    lines.append(f"{innermost}yield {world}, ({chosen}), ({scores})")
    scope: dict[str, Anything] = {}
    exec("\n".join(lines), scope)  # noqa: S102  (our own text)
    loops: Callable[..., Iterator[Found]] = scope["loops"]
    return loops


def _checks(left: Residue, level: Callable[..., int]) -> list[tuple[int, str, tuple[Node, ...]]]:
    """What each row must pass: the loop that binds all of it, its negation, what it reads."""
    checks: list[tuple[int, str, tuple[Node, ...]]] = []
    for _, when, requires in left.rules:
        checks += [
            (level(when, part), violated_source(when, part), (when, part))
            for part in _parts(requires)
        ]
    checks += [(level(need), _unmet(need), (need,)) for need in left.needs]
    return checks


def _unmet(need: Formula) -> str:
    """Python for "the formula is undefined or does not hold"."""
    defined, holds = defined_source(need), formula_source(need)
    return f"not {holds}" if defined == DEFINED else f"not ({defined} and {holds})"


def _cut_test(term: Term, maximize: bool) -> str:  # noqa: FBT001  (a cut's direction)
    """Python for "the term is worse than the cut"."""
    worse = f"{term_source(term)} {'<' if maximize else '>'} cut.value"
    defined = defined_source(term)
    known = "" if defined == DEFINED else f"{defined} and "
    return f"cut.value is not None and {known}{worse}"


def _parts(requires: Formula) -> tuple[Formula, ...]:
    """Conjuncts that can be checked apart: only where every one is always defined."""
    if isinstance(requires, All) and all(defined_source(p) == DEFINED for p in requires.parts):
        return requires.parts
    return (requires,)


def _score(term: Term | None) -> str:
    if term is None:
        return "None"
    defined = defined_source(term)
    source = term_source(term)
    return source if defined == DEFINED else f"({source} if {defined} else None)"
