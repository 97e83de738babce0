"""What acceptance says about the sizes that terms are made of.

Sizes are such as ranks per stage, or blocks per domain. A term needs its divisions to be exact and
its divisors to be positive, and which branch a conditional one takes depends on the configuration.
All that follows from the rules. So do facts that a proof may use: what rules demand, and that a
conditional size is one of its branches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

import z3

from parsolve.constraints.describe import words
from parsolve.constraints.evaluate import (
    Values,
    compiled,
    defined_source,
    formula_source,
    prologue,
)
from parsolve.constraints.fields import Size
from parsolve.constraints.formula import (
    All,
    Any,
    Arith,
    Compare,
    Divides,
    Formula,
    If,
    Node,
    Quotient,
    Term,
    Variable,
    children,
    fields_of,
    is_label,
)
from parsolve.constraints.profile import Profile
from parsolve.solver.arithmetic import LONGEST
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.digits import Unproved
from parsolve.solver.prove.obligation import Goal

Taken: TypeAlias = Mapping[int, Term]
"""What conditional terms are, by their ids."""

Fact: TypeAlias = "Compare | Divides"


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One way in which conditions go."""

    holds: tuple[Formula, ...]
    taken: Taken


def cases(where: Formula, terms: Iterable[Term]) -> list[Case]:
    """Every way in which the conditions go that stand in the terms, not in their quantities."""
    conditionals = [term for term in _stated(terms) if isinstance(term, If)]
    conditions = list({id(term.condition): term.condition for term in conditionals}.values())
    found: list[Case] = []
    for truths in itertools.product((True, False), repeat=len(conditions)):
        true = {id(part): truth for part, truth in zip(conditions, truths, strict=True)}
        signed = (part if true[id(part)] else ~part for part in conditions)
        taken = {id(t): t.then if true[id(t.condition)] else t.other for t in conditionals}
        found.append(Case((where, *signed), taken))
    return found


def _stated(terms: Iterable[Term]) -> Iterator[Term]:
    """The terms and those in them, outside of derived quantities and conditions."""
    for term in terms:
        yield term
        match term:
            case If(_, first, second) | Arith(_, first, second) | Quotient(first, second):
                yield from _stated((first, second))


def is_conditional(node: Node) -> TypeGuard[If | Arith]:
    """Whether it is an If, or the larger or smaller of two terms."""
    return isinstance(node, If) or (isinstance(node, Arith) and node.operation in {"max", "min"})


def branches(node: If | Arith) -> tuple[Term, Term]:
    """What a conditional term can be."""
    return (node.then, node.other) if isinstance(node, If) else (node.left, node.right)


def met(nodes: Iterable[Node], taken: Taken, *, within: bool = False) -> list[Node]:
    """The nodes met in reading. Conditional terms hide their branches, except ``within``."""
    found: dict[int, Node] = {}
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if id(node) in taken:
            todo.append(taken[id(node)])
        elif id(node) not in found:
            found[id(node)] = node
            if not is_conditional(node):
                todo += children(node)
            elif within:
                todo += branches(node)
    return list(found.values())


class Guesses:
    """What may hold of the sizes in terms.

    ``needs`` are what gives a node a value, by its id, if those below it have one. ``stated`` are
    these and all others that relate sizes. ``tiling`` are those that relate the world to sizes that
    are not in the terms.
    """

    def __init__(
        self,
        case: Case,
        terms: Sequence[Term],
        fields: Container[str],
        demands: Iterable[Fact],
        world: str,
    ) -> None:
        own = met(terms, case.taken, within=True)
        read = {node.name for node in own if isinstance(node, Variable)}
        close = [demand for demand in demands if fields_of(demand) <= read]
        self.tiling = [d for d in demands if world in fields_of(d) and not fields_of(d) <= read]
        nodes = met((*terms, *self.tiling), case.taken, within=True)
        conditional = [node for node in nodes if is_conditional(node)]
        sizes = [node for node in nodes if isinstance(node, Size) and node.name in fields]
        self.case = case
        self.terms = terms
        self.needs = {id(node): fact for node in own if (fact := _need(node)) is not None}
        self.branches = [(node, way, node == way) for node in conditional for way in branches(node)]
        self.positive = [(node, node >= 1) for node in (*conditional, *sizes)]
        units = (size == 1 for size in sizes)
        whole = (
            Divides(node.right, node.left)
            for node in nodes
            if isinstance(node, Arith) and node.operation == "//" and _is_of(node, fields)
        )
        self.stated: tuple[Fact, ...] = (
            *self.needs.values(),
            *units,
            *whole,
            *close,
            *self.tiling,
        )

    def __iter__(self) -> Iterator[Fact]:
        yield from self.stated
        yield from (guess for *_, guess in self.branches)
        yield from (guess for _, guess in self.positive)

    def taken(self, true: frozenset[int]) -> Taken:
        """What conditional terms are if the guesses with these ids hold."""
        known = {id(node): way for node, way, guess in self.branches if id(guess) in true}
        return {**known, **self.case.taken}


def _is_of(node: Node, fields: Container[str]) -> bool:
    return all(name in fields for name in fields_of(node))


def _need(node: Node) -> Fact | None:
    match node:
        case Quotient(left, right):
            return Divides(right, left)
        case Arith("//" | "%", _, right):
            return right >= 1
        case _ if is_conditional(node):
            return Compare("==", node, node)  # true exactly where it has a value
        case _:
            return None


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What holds in a case: relations of sizes, and what conditional terms are.

    ``positive`` are the names of unknowns that are at least 1. ``goal`` is what was asked.
    """

    stated: tuple[Fact, ...]
    taken: Taken
    positive: frozenset[str]
    goal: Goal


class Accepted:
    """The accepted configurations, as far as some fields go.

    Only rules that read no other fields are used: they are fewer, and whatever is accepted
    satisfies them too. ``samples`` are values that satisfy them.
    """

    def __init__(self, profile: Profile, fields: frozenset[str], samples: Sequence[Values]) -> None:
        self.profile = about(profile, fields)
        self.samples = samples
        self._demands = [part for rule in self.profile.rules for part in _equalities(rule.requires)]
        catalogue = Catalogue(self.profile)
        self._encoder = catalogue.encoder
        self._rules = (*catalogue.inputs.axioms, *catalogue.meaning, catalogue.accepted)
        self._theory: tuple[z3.BoolRef, ...] = ()
        self._solver = SeparateSolver()
        self._spoken_of = (0, 0)
        self._values: dict[int, int] = {}

    def true(self, *formulas: Formula) -> list[z3.BoolRef]:
        """When each formula is defined and holds, for Z3."""
        return [self._encoder.formula(formula)[0] for formula in formulas]

    def name(self, node: Node) -> str | None:
        """The unknown that a field or a conditional term is; equal terms are the same one."""
        if isinstance(node, Variable):
            return node.name
        if not is_conditional(node):
            return None
        value = self._encoder.term(node)[0].get_id()
        return f"value {self._values.setdefault(value, len(self._values))}"

    def occurs(self, case: Case) -> bool:
        """Whether the case is that of a sample."""
        return any(map(self._reader(case, ()), self.samples))

    def never(self, name: str, assertions: Iterable[z3.BoolRef], deadline: Deadline) -> Goal:
        """Show that no accepted configuration satisfies the assertions, or raise `Unproved`."""
        found = self._asked(name, tuple(assertions), deadline)
        if not isinstance(found, Goal):
            raise Unproved(name)
        return found

    def _asked(
        self, name: str, assertions: tuple[z3.BoolRef, ...], deadline: Deadline
    ) -> Goal | z3.ModelRef:
        """What was asked if nothing satisfies the assertions, else a model of them.

        Products and quotients are known by their laws, so it may be one of these only.
        """
        arithmetic = self._encoder.arithmetic
        spoken_of = (len(arithmetic.divisions), len(arithmetic.products))
        if spoken_of != self._spoken_of:
            self._spoken_of = spoken_of
            self._theory = (*self._rules, *arithmetic.laws(chained=True))
            self._solver = SeparateSolver(z3.SolverFor, "QF_UFLIA")
            self._solver.add(*self._theory)
        self._solver.push()
        self._solver.add(*assertions)
        result = decide(self._solver, deadline.sooner(LONGEST))
        model = self._solver.model() if result == z3.sat else None
        self._solver.pop()
        if result == z3.unsat:
            return Goal(name, (*self._theory, *assertions))
        if model is None:
            raise Unproved(name)
        return model

    def guesses(self, case: Case, terms: Sequence[Term]) -> Guesses:
        """What may hold in the case. Made for all cases first: laws are for all that occurs."""
        guesses = Guesses(case, terms, self.profile.field_of, self._demands, self.profile.world)
        self.true(*case.holds, *guesses)
        return guesses

    def facts(self, name: str, guesses: Guesses, deadline: Deadline) -> Facts:
        """Which guesses hold. Raises `Unproved` unless they give every term a value."""
        true, goal = self._true(name, guesses, deadline)
        taken = guesses.taken(true)
        read = met(guesses.terms, taken)
        for node in read:
            need = guesses.needs.get(id(node))
            if need is not None and id(need) not in true:
                raise Unproved(f"{name}: {words(need)}")
        tiling = [demand for demand in guesses.tiling if id(demand) in true]
        known = set(map(self.name, met((*guesses.terms, *tiling), taken)))
        stated = tuple(
            fact
            for fact in guesses.stated
            if id(fact) in true and known.issuperset(map(self.name, met((fact,), taken)))
        )
        positive = (self.name(node) for node, guess in guesses.positive if id(guess) in true)
        return Facts(stated, taken, frozenset(filter(None, positive)), goal)

    def _true(self, name: str, guesses: Guesses, deadline: Deadline) -> tuple[frozenset[int], Goal]:
        """Ids of the guesses that hold in all of the case, and what was asked.

        A guess is given up where a sample or a model of Z3's is against it.
        """
        left = self._true_in_samples(guesses.case, list(guesses))
        while True:
            truths = self.true(*left)
            some_fails = z3.Not(z3.And(truths))
            found = self._asked(name, (*self.true(*guesses.case.holds), some_fails), deadline)
            if isinstance(found, Goal):
                return frozenset(map(id, left)), found
            values = [found.eval(truth, model_completion=True) for truth in truths]
            left = [guess for guess, is_ in zip(left, values, strict=True) if not z3.is_false(is_)]

    def _true_in_samples(self, case: Case, guesses: Sequence[Fact]) -> list[Fact]:
        true = [True] * len(guesses)
        for truths in filter(None, map(self._reader(case, guesses), self.samples)):
            true = [a and b for a, b in zip(true, truths[1:], strict=True)]
        return list(itertools.compress(guesses, true))

    def _reader(self, case: Case, guesses: Sequence[Fact]) -> Callable[[Values], tuple[bool, ...]]:
        """A reader of values: True and which guesses hold, or () outside of the case."""
        lines = prologue(self.profile.fields, (*case.holds, *guesses))
        lines.append(f"if not ({' and '.join(map(true_source, case.holds))}): return ()")
        truths = "".join(f"{true_source(guess)}, " for guess in guesses)
        return compiled("truths", [*lines, f"return (True, {truths})"])


def true_source(formula: Formula) -> str:
    """Python for whether the formula is defined and holds."""
    return f"bool({defined_source(formula)} and {formula_source(formula)})"


def about(profile: Profile, fields: frozenset[str]) -> Profile:
    """The profile with the rules that read no other fields."""
    return replace(profile, rules=tuple(rule for rule in profile.rules if rule.reads <= fields))


def _equalities(formula: Formula) -> Iterator[Fact]:
    """The equations and divisions that a formula demands, or offers among others."""
    match formula:
        case All(parts) | Any(parts):
            for part in parts:
                yield from _equalities(part)
        case Divides():
            yield formula
        case Compare("==", left, _) if not is_label(left):
            yield formula
        case _:
            return
