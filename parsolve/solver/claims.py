"""Claims that the search relies on, proved for every cluster before it relies on them.

A search tries only divisors of the world for a size that is declared to divide it
(`Size.divides`). That loses nothing if every accepted configuration has such a size, for all
integers; Z3 decides this from the rules themselves.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

import z3

from parsolve.constraints.fields import Choice, Size
from parsolve.constraints.formula import Divides, Node, Quotient, Term, children, divides
from parsolve.constraints.profile import Profile
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import decide
from parsolve.solver.integers import LAWS, IntegerEncoder

Status: TypeAlias = Literal["proved", "refuted", "undecided"]


LONGEST = 10.0
"""Seconds that one claim may take where the question has no limit."""


@cache
def laws_hold(seconds: float = LONGEST) -> Status:
    """Whether the laws of divisibility that `divisor_claims` instantiates are valid."""
    for law, number in LAWS.values():
        encoder = IntegerEncoder(())
        statement = law(encoder, *z3.Ints(" ".join("abc"[:number])))
        solver = z3.Solver()
        solver.add(*encoder.axioms, z3.Not(statement))
        result = decide(solver, Deadline(seconds))
        if result != z3.unsat:
            return "refuted" if result == z3.sat else "undecided"
    return "proved"


@cache
def divisor_claims(profile: Profile, seconds: float = LONGEST) -> dict[str, Status]:
    """Whether each size that is said to divide another does so in every accepted configuration.

    Without the defining equations of the witnesses a model proves nothing, so what is not
    proved is undecided.
    """
    claimed = [field for field in profile.fields if isinstance(field, Size) and field.divides]
    axes = {field.name for field in claimed}
    layout = axes | {
        field.name
        for field in profile.fields
        if field.role == "cluster" or isinstance(field, Choice)
    }
    rules = [rule for rule in profile.rules if rule.reads <= layout and rule.reads & axes]
    rules += [rule for rule in profile.rules if rule.reads <= layout - axes]
    encoder = IntegerEncoder(profile.fields, abstract=True)
    solver = z3.Solver()
    terms: dict[int, Term] = {id(field): field for field in claimed}
    for rule in rules:
        applies, _ = encoder.formula(rule.when)
        _, broken = encoder.formula(rule.requires)
        solver.add(z3.Not(z3.And(applies, broken)))
        for node in rule.nodes:
            _divided_terms(node, terms)
    goals = {
        field.name: encoder.formula(divides(field, whole))[1]
        for field in claimed
        if isinstance(whole := profile.field_of[field.divides], Size)
    }
    for field in claimed:
        whole = profile.field_of[field.divides]
        if isinstance(whole, Size):
            terms[id(whole)] = whole
    for lemma in encoder.order_lemmas(tuple(terms.values())):
        solver.add(lemma)
    for axiom in encoder.axioms:
        solver.add(axiom)
    trusted = laws_hold(seconds) == "proved"
    return {
        name: "proved"
        if trusted and decide(solver, Deadline(seconds), [goal]) == z3.unsat
        else "undecided"
        for name, goal in goals.items()
    }


def _divided_terms(node: Node, found: dict[int, Term]) -> None:
    """Collect both sides of every division."""
    if isinstance(node, Divides):
        found[id(node.divisor)] = node.divisor
        found[id(node.dividend)] = node.dividend
    if isinstance(node, Quotient):
        found[id(node)] = node
        found[id(node.left)] = node.left
        found[id(node.right)] = node.right
    for child in children(node):
        _divided_terms(child, found)
