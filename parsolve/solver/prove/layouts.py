"""Rank groups: that they partition the ranks and stay where they should, for all sizes.

Each law is about a `Grouping` in every accepted configuration in which it means something:

* "partition": ``index`` and ``position`` are in range, ``count * size`` is the world, and
  ``member`` at a rank's index and position is the rank. So no two ranks share a place; there are
  as many places as ranks; hence every place is taken by one rank, every rank is in one group,
  and every group has ``size`` ranks. For batches the same law ("cover") says that every
  data-parallel rank is taken by equally many ranks.
* "inside": which block of ``inside`` ranks a rank lies in is a function of its group alone, namely
  the block of that group's first member.

A law is first read by the plain evaluator on small clusters, where a rank that breaks it is a
counterexample. Then it is proved in three steps: the cases are all there are; acceptance says what
the sizes in the terms are to each other (`sizes`); and from that alone the law follows for every
rank, written in digits (`digits`). Z3 decides the first two with the laws of `arithmetic`, and in
the third whatever is linear in digits and products; multiplying out and dividing by the lemmas of
`sums` is done here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeAlias

import z3

from parsolve.constraints.describe import term_words, words
from parsolve.constraints.evaluate import (
    Values,
    compiled,
    defined_source,
    prologue,
    term_source,
)
from parsolve.constraints.fields import Size
from parsolve.constraints.formula import (
    Arith,
    Compare,
    Const,
    Divides,
    Named,
    Quotient,
    Term,
    Variable,
    fields_of,
)
from parsolve.constraints.layout import GROUP, POSITION, RANK, Grouping
from parsolve.constraints.profile import Profile
from parsolve.solver.arithmetic import laws_hold
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.prove.digits import Digits, Unproved
from parsolve.solver.prove.instances import off_default
from parsolve.solver.prove.obligation import Finding, Goal, Obligation
from parsolve.solver.prove.sizes import (
    Accepted,
    Fact,
    Facts,
    about,
    cases,
    is_conditional,
    true_source,
)
from parsolve.solver.prove.small import completed, small
from parsolve.solver.prove.sums import ZERO, Sum, lemmas_hold

PLACES = frozenset({RANK.name, GROUP.name, POSITION.name})

Breaking: TypeAlias = "tuple[int, int | None, int | None] | tuple[()]"
"""A rank that breaks a law, its group and its position, these if they have a value; or no rank."""


def obligations(profile: Profile) -> Iterator[Obligation]:
    """One obligation per law and grouping."""
    proofs = Proofs(profile)
    for grouping in profile.layout.groupings:
        yield proofs.obligation("partition", grouping, PARTITION)
        if grouping.inside is not None:
            yield proofs.obligation("inside", grouping, INSIDE)
    if profile.layout.batches is not None:
        yield proofs.obligation("cover", profile.layout.batches, COVER)


def _terms(grouping: Grouping) -> tuple[Term, ...]:
    places = (grouping.index, grouping.position, grouping.member)
    inside = () if grouping.inside is None else (grouping.inside,)
    return (*places, grouping.size, grouping.count, *inside)


# --- laws -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Something that holds of a grouping.

    ``broken`` is Python for whether it fails at a rank, where ``world``, ``rank``, ``group`` and
    ``position`` are bound. ``show`` shows it for unknown sizes and an unknown rank.
    """

    says: str
    broken: Callable[[Grouping], str]
    show: Callable[[Grouping, Reading], None]


def _breaks_partition(grouping: Grouping) -> str:
    member, size, count = map(term_source, (grouping.member, grouping.size, grouping.count))
    return (
        f"not (0 <= group < {count} and 0 <= position < {size} "
        f"and {count} * {size} == world and {member} == rank)"
    )


def _show_partition(grouping: Grouping, read: Reading) -> None:
    index, position = read(grouping.index), read(grouping.position)
    size, count = read(grouping.size), read(grouping.count)
    member = read(grouping.member, {GROUP.name: index, POSITION.name: position})
    read.digits.show_between("that the index is in range", index, count)
    read.digits.show_between("that the position is in range", position, size)
    read.digits.show_equal("that count * size is the world", count * size, read.world)
    read.digits.show_equal("that the member at index and position is the rank", member, read.rank)


def _breaks_inside(grouping: Grouping) -> str:
    member, block = term_source(grouping.member), term_source(_inside(grouping))
    return f"rank // {block} != (lambda position: {member} // {block})(0)"


def _show_inside(grouping: Grouping, read: Reading) -> None:
    block, index = read(_inside(grouping)), read(grouping.index)
    first = read(grouping.member, {GROUP.name: index, POSITION.name: ZERO})
    own, _ = read.digits.divide(read.rank, block)
    of_first, _ = read.digits.divide(first, block)
    read.digits.show_equal("that the block is that of the group's first member", own, of_first)


def _inside(grouping: Grouping) -> Term:
    return Const(1) if grouping.inside is None else grouping.inside


PARTITION = Law(
    "the groups partition the ranks and have the stated sizes", _breaks_partition, _show_partition
)
COVER = replace(PARTITION, says="data-parallel ranks are 0..dp-1, each that of equally many ranks")
INSIDE = Law("no group leaves its block of consecutive ranks", _breaks_inside, _show_inside)


# --- proofs ---------------------------------------------------------------------------------


class Reading:
    """Terms as sums of sizes and digits, in one case."""

    def __init__(self, accepted: Accepted, facts: Facts, world: Size, digits: Digits) -> None:
        self.digits = digits
        self._accepted = accepted
        self._facts = facts
        self._places: Mapping[str, Sum] = {}
        for fact in facts.stated:
            self._assume(fact)
        self.world = self(world)
        self.rank = digits.digit(RANK.name, self.world)
        self._places = {RANK.name: self.rank}

    def __call__(self, term: Term, places: Mapping[str, Sum] | None = None) -> Sum:
        """The term, at a group and a position if it reads these."""
        before = self._places
        self._places = before if places is None else places
        found = self._read(term)
        self._places = before
        return found

    def _assume(self, fact: Fact) -> None:
        with suppress(Unproved):  # a fact that cannot be read is not used
            match fact:
                case Divides(divisor, dividend):
                    self.digits.exact(self(dividend), self(divisor))
                case Compare("==", left, right):
                    self.digits.equal(self(left), self(right))
                case _:  # a divisor is at least 1: what it is made of is known to be
                    return

    def _read(self, term: Term) -> Sum:
        match term:
            case _ if id(term) in self._facts.taken:
                return self._read(self._facts.taken[id(term)])
            case Named(_, inner):
                return self._read(inner)
            case Const(int() as value):
                return Sum.of(value)
            case Variable(name) if name in self._places:
                return self._places[name]
            case Quotient(left, right):
                return self.digits.exact(self._read(left), self._read(right))
            case Arith() if not is_conditional(term):
                return self._calculated(term)
            case _:
                return self._unknown(term)

    def _calculated(self, term: Arith) -> Sum:
        left, right = self._read(term.left), self._read(term.right)
        match term.operation:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "//":
                return self.digits.divide(left, right)[0]
            case _:
                return self.digits.divide(left, right)[1]

    def _unknown(self, term: Term) -> Sum:
        name = self._accepted.name(term)
        if name is None or name not in self._facts.positive:
            raise Unproved(f"that {term_words(term)} is at least 1")
        return self.digits.size(name)


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """What holds in each case of a grouping that occurs, and what Z3 was asked."""

    facts: tuple[Facts, ...]
    goals: tuple[Goal, ...]


class Proofs:
    """Decides the laws of one profile's layout, with what they share."""

    def __init__(self, profile: Profile) -> None:
        layout, world = profile.layout, profile.field_of[profile.world]
        if not isinstance(world, Size):
            raise TypeError(f"{world.name} is no size")
        groupings = (*layout.groupings, *((layout.batches,) if layout.batches else ()))
        self.profile = profile
        self.world = world
        self.nodes = tuple(node for g in groupings for node in (g.where, *_terms(g)))
        of_cluster = {field.name for field in profile.fields if field.role == "cluster"}
        self.fields = (fields_of(*self.nodes) - PLACES) | of_cluster | {*profile.axes}
        self._settled: dict[int, Settled] = {}

    @cached_property
    def accepted(self) -> Accepted:
        """The accepted configurations, as far as the layout's fields go."""
        samples = tuple(small(about(self.profile, self.fields), self.nodes))
        return Accepted(self.profile, self.fields, samples)

    def obligation(self, name: str, grouping: Grouping, law: Law) -> Obligation:
        """That the grouping obeys the law."""
        return Obligation(
            name=f"layouts/{grouping.name}/{name}",
            says=f"{grouping.about} In every accepted configuration with such groups, {law.says}.",
            decide=partial(self.decide, grouping, law),
        )

    def decide(self, grouping: Grouping, law: Law, deadline: Deadline) -> Finding:
        """Whether the grouping obeys the law."""
        refuted = self.tried(grouping, law)
        if refuted is not None:
            return refuted
        try:
            return Finding(status="proved", goals=tuple(self.proof(grouping, law, deadline)))
        except Unproved as step:
            note = f"Z3 does not show {step}; none of the small clusters tried refutes it."
            return Finding(status="undecided", note=note)
        except TimedOut:
            return Finding(status="undecided", note="The time limit was reached.")

    def tried(self, grouping: Grouping, law: Law) -> Finding | None:
        """The finding that small clusters suffice for: a rank of one breaks the law."""
        breaking = self._breaking(grouping, law)
        meant = False
        for values in self.accepted.samples:
            found = breaking(values)
            meant = meant or found is not None
            whole = completed(self.profile, values, self.fields) if found else None
            if found and whole is not None:
                rank, index, position = found
                placed = f"Rank {rank} gets position {position} in group {index}."
                return Finding(
                    status="refuted",
                    counterexample={**off_default(self.profile, whole), RANK.name: rank},
                    note=placed if index is not None else "Some term has no value.",
                )
        return (
            None if meant else Finding(status="undecided", note="No small cluster has such groups.")
        )

    def _breaking(self, grouping: Grouping, law: Law) -> Callable[[Values], Breaking | None]:
        """A reader of values: a rank that breaks the law; None where no group means anything.

        A term without a value breaks every law.
        """
        terms = _terms(grouping)
        group, position = term_source(grouping.index), term_source(grouping.position)
        lines = [
            *prologue(self.profile.fields, (grouping.where, *terms, self.world)),
            f"if not {true_source(grouping.where)}: return None",
            "rank = group = position = 0",
            f"if not ({' and '.join(map(defined_source, terms))}): return (0, None, None)",
            f"world = {self.world.name}",
            "for rank in range(world):",
            f"    group, position = {group}, {position}",
            f"    if {law.broken(grouping)}: return (rank, group, position)",
            "return ()",
        ]
        return compiled("breaking", lines)

    def proof(self, grouping: Grouping, law: Law, deadline: Deadline) -> Iterator[Goal]:
        """Whatever Z3 is asked for the law. Raises `Unproved` where it does not succeed."""
        lemmas, asked = lemmas_hold()
        if not laws_hold() == lemmas == "proved":
            raise Unproved("the laws of arithmetic")
        settled = self._settle(grouping, deadline)
        yield from (*asked, *settled.goals)
        for facts in settled.facts:
            digits = Digits(facts.goal.name, deadline)
            law.show(grouping, Reading(self.accepted, facts, self.world, digits))
            yield from digits.goals

    def _settle(self, grouping: Grouping, deadline: Deadline) -> Settled:
        """The cases of the grouping, shown to be all, and what holds in them."""
        if id(grouping) in self._settled:
            return self._settled[id(grouping)]
        accepted, terms = self.accepted, (*_terms(grouping), self.world)
        possible = [accepted.guesses(c, terms) for c in cases(grouping.where, terms)]
        holds = [accepted.true(*guesses.case.holds) for guesses in possible]
        none_holds = (*accepted.true(grouping.where), *(z3.Not(z3.And(case)) for case in holds))
        goals = [accepted.never(f"{grouping.name}: there is no other case", none_holds, deadline)]
        facts: list[Facts] = []
        for guesses, hold in zip(possible, holds, strict=True):
            name = f"{grouping.name}, if {' and '.join(map(words, guesses.case.holds))}"
            if not accepted.occurs(guesses.case):
                with suppress(Unproved):
                    goals.append(accepted.never(f"{name}: this is never so", hold, deadline))
                    continue
            facts.append(accepted.facts(name, guesses, deadline))
            goals.append(facts[-1].goal)
        self._settled[id(grouping)] = Settled(tuple(facts), tuple(goals))
        return self._settled[id(grouping)]
