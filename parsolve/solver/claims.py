"""Claims that the search relies on, proved for every cluster before it relies on them.

A search tries only divisors of the world for a size that is declared to divide it
(`Size.divides`). That loses nothing if every accepted configuration has such a size, for all
integers; Z3 decides this from the rules themselves.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import z3

from parsolve.constraints.fields import Choice, Field, Flag, Size, Sizes
from parsolve.constraints.formula import ALWAYS, Formula, any_of, divides, largest
from parsolve.constraints.profile import Profile
from parsolve.solver.arithmetic import DIVISIBILITY, LONGEST, Status, laws_hold
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.integers import IntegerEncoder

Value: TypeAlias = int | str | bool | None
"""What a claim may hold a field at."""


@cache
def divisor_claims(
    profile: Profile, seconds: float = LONGEST, held: tuple[tuple[str, Value], ...] = ()
) -> dict[str, Status]:
    """Whether each size that is said to divide another does so in every accepted configuration.

    With ``held``, in every one in which these fields have these values.

    Products and quotients are known by their laws only, so a model proves nothing: what is not
    proved is undecided.
    """
    claimed = [field for field in profile.fields if isinstance(field, Size) and field.divides]
    axes = {field.name for field in claimed}
    layout = axes | {
        field.name
        for field in profile.fields
        if field.role == "cluster" or isinstance(field, Choice)
    }
    encoder = IntegerEncoder()
    solver = SeparateSolver()
    grids = [
        rule
        for rule in profile.rules
        if rule.reads <= layout or (profile.world in rule.reads and rule.reads & axes)
    ]
    for rule in grids:
        applies, _ = encoder.formula(rule.when)
        _, broken = encoder.formula(rule.requires)
        solver.add(z3.Not(z3.And(applies, broken)))
    goals = {
        field.name: encoder.formula(
            any_of(field == field.unset, divides(largest(1, field), whole))
            if field.optional
            else divides(field, whole)
        )[1]
        for field in claimed
        if isinstance(whole := profile.field_of[field.divides], Size)
    }
    read = layout.union(*(rule.reads for rule in grids))
    for name in sorted(read):
        solver.add(*encoder.legal(profile.field_of[name]))
    for name, value in held:
        if name in read:
            solver.add(encoder.formula(_is(profile.field_of[name], value))[0])
    solver.add(*encoder.arithmetic.laws(chained=True, among=DIVISIBILITY))
    trusted = laws_hold(seconds, DIVISIBILITY) == "proved"
    return {
        name: "proved"
        if trusted and decide(solver, Deadline(seconds), [goal]) == z3.unsat
        else "undecided"
        for name, goal in goals.items()
    }


def _is(field: Field, value: Value) -> Formula:
    match field:
        case Size():
            return field == (field.unset if value is None else value)
        case Choice():
            return field == str(value)
        case Flag():
            return field if value else ~field
        case Sizes():
            return ALWAYS
