"""Concrete configurations with a property: found from Z3's models, certified, made small.

Z3 knows products and quotients by their laws only, so its models are proposals: what is shown
was evaluated in plain Python. A proposal that fails tells the solver what the arithmetic at
its numbers really is, and it is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice, product
from operator import is_not

import z3

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Choice, Field, Flag, Size, Sizes
from parsolve.constraints.profile import Profile
from parsolve.solver.arithmetic import PRODUCT, QUOTIENT, REMAINDER, Arithmetic
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.decide import decide
from parsolve.solver.prove.catalogue import Catalogue

MOST_PROPOSALS = 60
"""Models that are looked at before the search gives up."""

FEW_PROPOSALS = 8
"""Models that are looked at before small worlds are asked about."""

SMALL_WORLDS = (1, 2, 4, 8, 16)
"""GPUs of the clusters on which most rules can be broken."""

FEW_WORLDS = 64
"""Worlds below which every single one is asked about."""

MOST_RESIZED = 8192
"""Configurations that are tried on smaller worlds than the one that was found."""

EVERY_SIZE = 6
"""GPUs of the largest world on which every size is tried; beyond that, those that divide it."""

Holds = Callable[[Values], bool]


@dataclass(frozen=True, slots=True)
class Found:
    """A configuration with the property; or that there is none (``impossible``); or neither."""

    values: Values | None = None
    impossible: bool = False


def find(
    catalogue: Catalogue,
    solver: z3.Solver,
    assertions: Sequence[z3.BoolRef],
    holds: Holds,
    deadline: Deadline,
) -> Found:
    """A configuration that satisfies the assertions and, read in plain Python, ``holds``.

    The solver holds what is known of every configuration, and is left as it was. It is asked for
    plain configurations first; where its proposals fail, about one small world after the other.
    """
    world = z3.Int(catalogue.profile.world)
    found = _plain(catalogue, solver, assertions, holds, deadline)
    if found is not None:
        return found
    found = _proposed(catalogue, solver, assertions, holds, deadline, FEW_PROPOSALS)
    if found is not None:
        return found
    for size in SMALL_WORLDS:
        small = [world == size, *_bounded(catalogue.profile, 2 * size)]
        found = _proposed(
            catalogue, solver, [*assertions, *small], holds, deadline, FEW_PROPOSALS * 2
        )
        if found is not None and found.values is not None:
            return found
    return _proposed(catalogue, solver, assertions, holds, deadline, MOST_PROPOSALS) or Found()


def _plain(
    catalogue: Catalogue,
    solver: z3.Solver,
    assertions: Sequence[z3.BoolRef],
    holds: Holds,
    deadline: Deadline,
) -> Found | None:
    """What comes of small models that leave as many fields as they can at their defaults.

    Models of Z3's own choice have wild values everywhere, and with them rules that are violated
    only when the arithmetic is true.
    """
    profile, inputs = catalogue.profile, catalogue.inputs
    kept = [z3.Not(off) for field in profile.fields for off in inputs.off_default(field)]
    kept += [z3.Int(profile.world) <= SMALL_WORLDS[-1], *_bounded(profile, 2 * SMALL_WORLDS[-1])]
    solver.push()
    try:
        solver.add(*assertions, *catalogue.lists.among)
        proposals = 0
        while proposals < MOST_PROPOSALS:
            try:
                result = decide(solver, deadline, kept)
            except TimedOut:
                return None
            if result == z3.unsat:
                core = {literal.get_id() for literal in solver.unsat_core()}
                if not core:
                    return None if catalogue.lists.features else Found(impossible=True)
                kept = [literal for literal in kept if literal.get_id() not in core]
                continue
            if result != z3.sat:
                return None
            proposals += 1
            model = solver.model()
            values = catalogue.values(model)
            if holds(values):
                return Found(values)
            facts = list(_facts(catalogue.encoder.arithmetic, model))
            if not facts:
                return None
            solver.add(*facts)
        return None
    finally:
        solver.pop()


def _bounded(profile: Profile, most: int) -> Iterator[z3.BoolRef]:
    """Sizes of the cluster and of the axes are no larger than this, and hardly negative."""
    for field in profile.fields:
        if isinstance(field, Size) and (field.role == "cluster" or field.name in profile.axes):
            size = z3.Int(field.name)
            yield z3.And(size >= -1, size <= most)


def none_below(  # noqa: PLR0913, PLR0917  (one question, and how long it may be asked)
    catalogue: Catalogue,
    solver: z3.Solver,
    assertions: Sequence[z3.BoolRef],
    worlds: int,
    holds: Holds,
    deadline: Deadline,
) -> Found:
    """The same for worlds of fewer GPUs, one after the other: the smallest, or impossible."""
    world = z3.Int(catalogue.profile.world)
    impossible = True
    for size in range(1, worlds):
        asked = [*assertions, world == size]
        found = _proposed(catalogue, solver, asked, holds, deadline, MOST_PROPOSALS)
        if found is not None and found.values is not None:
            return found
        impossible = impossible and found is not None
    return Found(impossible=impossible)


def _proposed(  # noqa: PLR0913, PLR0917  (one question, and how long it may be asked)
    catalogue: Catalogue,
    solver: z3.Solver,
    assertions: Sequence[z3.BoolRef],
    holds: Holds,
    deadline: Deadline,
    most: int,
) -> Found | None:
    """What came of so many proposals; None where they do not suffice.

    Lists are known ones first. That there is none with these says nothing of others.
    """
    among = catalogue.lists.among
    if among:
        found = _answered(catalogue, solver, [*assertions, *among], holds, deadline, most)
        if found is None or not found.impossible:
            return found
        most = 1
    return _answered(catalogue, solver, assertions, holds, deadline, most)


def _answered(  # noqa: PLR0913, PLR0917  (one question, and how long it may be asked)
    catalogue: Catalogue,
    solver: z3.Solver,
    assertions: Sequence[z3.BoolRef],
    holds: Holds,
    deadline: Deadline,
    most: int,
) -> Found | None:
    solver.push()
    try:
        solver.add(*assertions)
        for _ in range(most):
            try:
                result = decide(solver, deadline)
            except TimedOut:
                return None
            if result != z3.sat:
                return Found(impossible=True) if result == z3.unsat else None
            model = solver.model()
            values = catalogue.values(model)
            if holds(values):
                return Found(values)
            facts = list(_facts(catalogue.encoder.arithmetic, model))
            if not facts:
                return None
            solver.add(*facts)
        return None
    finally:
        solver.pop()


def _facts(arithmetic: Arithmetic, model: z3.ModelRef) -> Iterator[z3.BoolRef]:
    """What the arithmetic really gives at the model's numbers, where the model errs."""

    def number(term: z3.ArithRef) -> int:
        return int(model.eval(term, model_completion=True).as_long())

    for left, right in arithmetic.products.values():
        a, b = number(left), number(right)
        if number(PRODUCT(left, right)) != a * b:
            yield z3.Implies(left == a, PRODUCT(left, right) == a * right)
            yield z3.Implies(right == b, PRODUCT(left, right) == left * b)
    for left, right in arithmetic.divisions.values():
        a, b = number(left), number(right)
        if b == 0:
            continue
        quotient, remainder = QUOTIENT(left, right), REMAINDER(left, right)
        if number(quotient) != a // b or number(remainder) != a % b:
            yield z3.Implies(
                right == b,
                z3.And(
                    left == b * quotient + remainder,
                    *(
                        (remainder >= 0, remainder < b)
                        if b > 0
                        else (remainder <= 0, remainder > b)
                    ),
                ),
            )


def off_default(profile: Profile, values: Values) -> dict[str, object]:
    """The fields that a configuration sets: the world, and what is not at its default."""
    return {
        field.name: list(value) if isinstance(value, tuple) else value
        for field, value in zip(profile.fields, values, strict=True)
        if value != field.default or field.name == profile.world
    }


def smaller(profile: Profile, values: Values, holds: Holds) -> Values:
    """The configuration with fewer GPUs, fewer fields set and smaller numbers, as far as easy."""
    world = profile.index_of[profile.world]
    while True:
        for candidate in _steps(profile, values, world):
            if holds(candidate):
                values = candidate
                break
        else:
            return values


def fewest(profile: Profile, values: Values, holds: Holds, places: Sequence[int]) -> Values:
    """The configuration on the smallest world on which other sizes at these places allow it.

    `smaller` changes one size at a time, or all alike, and can end where several must change.
    """
    world = profile.index_of[profile.world]
    resized = (
        _replaced(values, {world: size, **dict(zip(places, sizes, strict=True))})
        for size in range(1, values[world])
        for sizes in product(*(_sizes(profile, values, place, size) for place in places))
    )
    return next(filter(holds, islice(resized, MOST_RESIZED)), values)


def _sizes(profile: Profile, values: Values, place: int, world: int) -> tuple[int, ...]:
    """Sizes of one field on a world of so many GPUs, as large as it beside the old world."""
    default, old = profile.fields[place].default, values[place]
    if old < 0:
        return tuple(dict.fromkeys((-1, -world)))
    if old == 0 != default:
        return (old,)
    whole = values[profile.index_of[profile.world]]
    sizes = range(1, world + 1) if world <= EVERY_SIZE else divisors(world)
    beyond = (world + 1, 2 * world) if old > whole else ()
    return tuple(dict.fromkeys((default, *sizes, *beyond)))


def divisors(number: int) -> tuple[int, ...]:
    """Every positive divisor, the smallest first."""
    return tuple(size for size in range(1, number + 1) if number % size == 0)


def _steps(profile: Profile, values: Values, world: int) -> Iterator[Values]:
    """Simpler configurations, the most welcome first."""
    places = [
        i for i, field in enumerate(profile.fields) if i != world and values[i] != field.default
    ]
    for size in _smaller_numbers(values[world], 1):
        yield from _with_world(profile, values, world, size, places)
    for place in places:
        yield _replaced(values, {place: profile.fields[place].default})
    for place in places:
        for value in _simpler(profile.fields[place], values[place]):
            yield _replaced(values, {place: value})
    integers = [i for i in places if type(values[i]) is int]
    for number in sorted({values[i] for i in integers}, reverse=True):
        same = [i for i in integers if values[i] == number]
        for size in _smaller_numbers(number, 1):
            yield _replaced(values, dict.fromkeys(same, size))


def _with_world(
    profile: Profile, values: Values, world: int, size: int, places: Sequence[int]
) -> Iterator[Values]:
    """A smaller world alone, with every size scaled, and with sizes cut to it."""
    yield _replaced(values, {world: size})
    whole = values[world]
    integers = [i for i in places if type(values[i]) is int and values[i] > 0]
    yield _replaced(values, {world: size, **{i: values[i] * size // whole or 1 for i in integers}})
    yield _replaced(values, {world: size, **{i: min(values[i], size) for i in integers}})
    same = {i: size for i in integers if values[i] == whole}
    yield _replaced(values, {world: size, **same})
    if profile.node in profile.index_of:  # several nodes, without many GPUs
        node = profile.index_of[profile.node]
        for width in {1, max(1, size // 2)}:
            cut = {i: min(values[i], size) for i in integers}
            yield _replaced(values, {**cut, world: size, node: width})
            yield _replaced(values, {world: size, node: width})


def _smaller_numbers(number: int, least: int) -> Iterator[int]:
    """Numbers between the bound and this one, few enough to try: small ones, then fractions."""
    seen = set()
    for candidate in (
        *range(least, min(number, least + 24)),
        *(number // k for k in range(9, 1, -1)),
    ):
        if least <= candidate < number and candidate not in seen:
            seen.add(candidate)
            yield candidate


def _simpler(field: Field, value: object) -> Iterator[object]:
    match field:
        case Size() if isinstance(value, int):
            if value < 0:
                yield from (number for number in (-1, 0) if number > value)
            else:
                yield from _smaller_numbers(value, field.minimum)
        case Sizes() if isinstance(value, tuple):
            for length in _smaller_numbers(len(value), 1):
                yield value[:length]
            for place, entry in enumerate(value):
                if len(value) > 1:
                    yield (*value[:place], *value[place + 1 :])
                if isinstance(entry, int):  # a label is as simple as any other
                    for number in _smaller_numbers(entry, field.minimum or 0):
                        yield (*value[:place], number, *value[place + 1 :])
        case Choice() if isinstance(value, str):
            known = (*field.choices, value)
            yield from field.choices[: known.index(value)]
        case Flag() | _:
            return


def _replaced(values: Values, changes: dict[int, object]) -> Values:
    changed = list(values)
    for place, value in changes.items():
        changed[place] = value
    return tuple(changed)


def is_question(profile: Profile, values: Values) -> bool:
    """Whether these values make a question: each is what its field takes."""
    world = profile.index_of[profile.world]
    changed = compress(enumerate(values), map(is_not, values, profile.defaults))
    try:  # a field takes its default, unless that is the world's, which is none
        for place, value in ((world, values[world]), *changed):
            if profile.fields[place].parse(value) != value:
                return False
    except ValueError:
        return False
    return profile.is_question(values)
