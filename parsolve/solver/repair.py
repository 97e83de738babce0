"""Repairs: the smallest changes of knobs that make a rejected configuration accepted.

Whatever repairs a configuration must change a knob that each violated rule reads, or that rule
would still be violated. Branching on the knobs of one of them, change by change, is therefore
complete (Reiter's hitting-set tree), and each leaf is verified by the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log2
from typing import assert_never

from parsolve.constraints.evaluate import Values, compiled, defined_source, prologue, term_source
from parsolve.constraints.fields import Bytes, Choice, Flag, Size, Sizes
from parsolve.constraints.formula import Divides, Variable
from parsolve.constraints.memory.hardware import MEMORY_SIZES
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.numbers import divisors

MOST_CHANGES = 4
"""Changes in one repair, at most: beyond this it is another configuration."""

NEIGHBOURS = 16
"""How far from its value a plain count (a batch, a length) is changed step by step."""

IN_A_ROW = 3
"""Values of the same knobs that are shown before those of others get their turn."""

MOST_CANDIDATES = 40_000
"""Changes tried before the search gives up."""

Change = dict[str, object]


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest repairs, as changes of fields, in a fixed order.

    ``complete`` is false where the search gave up at `MOST_CANDIDATES`: others may be as near
    or, where there are no changes, some repair may exist.
    """

    changes: tuple[Mapping[str, object], ...]
    complete: bool


def repairs(config: Config, violated: Sequence[int] | None = None) -> Nearest:
    """The nearest accepted configurations; ``violated`` are the rules that it breaks, if known.

    Nearest is: fewest knobs changed, then fewest axes switched off; ties are sorted by how
    little the values move. No changes if no repair of
    at most `MOST_CHANGES` knobs exists. Where a rule that reads no knob is violated, no knob
    could mend that, and numbers of the cluster count as knobs.
    """
    profile = config.profile
    if violated is None:
        violated = profile.violated(config.values)
    cluster = not all(mends(profile, index, cluster=False) for index in violated)
    search = _Search(profile, cluster)
    for size in range(1, MOST_CHANGES + 1):
        found = {
            tuple(sorted(change.items(), key=lambda item: item[0])): change
            for change in search.repairs(config.values, violated, {}, size)
        }
        if found or search.left < 0:
            return Nearest(_nearest(config, list(found.values())), complete=search.left >= 0)
    return Nearest((), complete=True)


@dataclass(slots=True)
class _Search:
    profile: Profile
    cluster: bool
    left: int = MOST_CANDIDATES

    def repairs(
        self, values: Values, violated: Sequence[int], change: Change, size: int
    ) -> Iterator[Change]:
        """Repairs with exactly ``size`` more changes."""
        profile = self.profile
        if not violated:
            return
        open_ = [mends(profile, index, cluster=self.cluster) for index in violated]
        for name in min(open_, key=len):
            others = [fields for fields in open_ if name not in fields]
            if name in change or not within(size - 1, others, change):
                continue
            index = profile.index_of[name]
            for value in candidates(profile, values, name):
                self.left -= 1
                if self.left < 0:
                    return
                changed = (*values[:index], value, *values[index + 1 :])
                if size > 1:
                    left = profile.violated(changed)
                    yield from self.repairs(changed, left, {**change, name: value}, size - 1)
                elif profile.accepts(changed) and profile.is_question(changed):
                    yield {**change, name: value}


def within(changes: int, rules: Iterable[tuple[str, ...]], taken: Container[str]) -> bool:
    """Whether so many changes of fields not taken could reach every rule: a necessary test.

    Rules that share no open field need a change each.
    """
    reached: set[str] = set()
    for fields in rules:
        still_open = [name for name in fields if name not in taken]
        if reached.isdisjoint(still_open):
            changes -= 1
            reached.update(still_open)
            if changes < 0 or not still_open:
                return False
    return True


@cache
def mends(profile: Profile, rule: int, *, cluster: bool) -> tuple[str, ...]:
    """Fields whose change may mend the rule: the knobs that it reads, switches first.

    A bound reads nearly all of them; those that the memory account names as levers count.
    """
    is_bound = rule >= len(profile.rules)
    levers = profile.account.levers if is_bound and profile.account is not None else None
    found = [
        field
        for field in profile.fields
        if field.name in profile.limits[rule].reads
        and (levers is None or field.name in levers or field.role == "cluster")
        and (field.role == "knob" or (cluster and field.role == "cluster" and field.flag))
    ]
    # those with few values first: a search that is cut short has seen them
    return tuple(field.name for field in sorted(found, key=lambda f: isinstance(f, (Size, Sizes))))


def candidates(profile: Profile, values: Values, name: str) -> tuple[object, ...]:
    """Other values that a repair may give a knob."""
    field = profile.field_of[name]
    value = values[profile.index_of[name]]
    splits = profile.splits
    if splits is not None and name in {splits.layout, *splits.counts}:
        return (*_of_splits(profile, values, name), *(() if value is None else (None,)))
    match field:
        case Flag():
            return (not value,)
        case Choice(choices=choices):
            return tuple(choice for choice in choices if choice not in {value, "unknown"})
        case Sizes():
            return () if value is None else (None,)
        case Bytes():
            return tuple(size for size in MEMORY_SIZES if size > (value or 0))
        case Size(divides=whole) if whole:
            world = values[profile.index_of[whole]]
            return tuple(d for d in divisors(world) if d != value)
        case Size(role="cluster") if name != profile.world:
            world = values[profile.index_of[profile.world]]
            return tuple(d for d in divisors(world) if d != value)
        case Size(default=default):
            counts = _counts(value, field.minimum, default)
            return tuple(dict.fromkeys((*multiples(profile, values, name), *counts)))
        case _:
            assert_never(field)


def _of_splits(profile: Profile, values: Values, name: str) -> tuple[object, ...]:
    """What the best balanced splits of the layers give the field."""
    splits = profile.splits
    assert splits is not None  # noqa: S101  (asked only where there are some)
    layers, ranks, chunks, mtp_layers = (
        values[profile.index_of[each]]
        for each in (splits.layers, splits.ranks, splits.chunks, splits.mtp_layers)
    )
    if not layers or ranks < 2:  # noqa: PLR2004  (a pipeline)
        return ()
    from parsolve.solver.pipeline.stages import proposals  # noqa: PLC0415  (rarely needed)

    found = proposals(profile, layers, ranks, chunks or 1, mtp_layers or 0).get(name, ())
    return tuple(each for each in found if each != values[profile.index_of[name]])


def multiples(profile: Profile, values: Values, name: str) -> Iterator[int]:
    """The nearest multiples, on both sides of a count, of what must divide it."""
    value = values[profile.index_of[name]]
    if value is None:
        return
    for divisor_of in _divisors_of(profile, name):
        divisor = divisor_of(values)
        if divisor is not None and divisor > 1:
            below = value // divisor * divisor
            yield from (n for n in (below, below + divisor) if n != value and n > 0)


@cache
def _divisors_of(profile: Profile, name: str) -> tuple[Callable[[Values], int | None], ...]:
    """What some rule wants to divide the field, each as a function of a configuration."""
    divisors_ = [
        rule.requires.divisor
        for rule in profile.limits
        if isinstance(rule.requires, Divides)
        and isinstance(rule.requires.dividend, Variable)
        and rule.requires.dividend.name == name
    ]
    return tuple(
        compiled(
            "divisor",
            [
                *prologue(profile.fields, [term]),
                f"return {term_source(term)} if {defined_source(term)} else None",
            ],
        )
        for term in divisors_
    )


def _counts(value: int | None, minimum: int, default: int | None) -> tuple[object, ...]:
    """Values near a count, smaller halves of it, and its default; an unset one stays unset."""
    if value is None:
        return ()
    near = range(max(minimum, value - NEIGHBOURS), max(minimum, value) + NEIGHBOURS + 1)
    halves = [value >> bits for bits in range(1, max(1, value.bit_length()))] if value > 0 else []
    known = [] if default is None else [default]
    return tuple(n for n in dict.fromkeys([*known, *near, *halves]) if n != value and n >= minimum)


def given_up(config: Config, change: Change) -> int:
    """How many axes that are in use the change switches off; an unset one is none to give up."""
    axes = config.profile.axes
    return sum(name in axes and value == 1 < (config[name] or 1) for name, value in change.items())


def _nearest(config: Config, changes: list[Change]) -> tuple[Mapping[str, object], ...]:
    """Those that give up the fewest axes, least movement first."""
    fewest = min((given_up(config, change) for change in changes), default=0)
    effective = effective_values(config)
    kept: list[Mapping[str, object]] = []
    sides: set[object] = set()
    for change in sorted(
        (change for change in changes if given_up(config, change) == fewest),
        key=lambda change: movement(config, effective, change),
    ):
        side = _side(config, change)
        if side is None or side not in sides:
            kept.append(change)
            sides.add(side)
    return tuple(_varied(kept))


def _varied(changes: list[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """In the same order, but no more than `IN_A_ROW` values of one knob before another's turn."""
    seen: dict[frozenset[str], int] = {}
    turns: list[tuple[int, int]] = []
    for position, change in enumerate(changes):
        knobs = frozenset(change)
        turns.append((seen.get(knobs, 0) // IN_A_ROW, position))
        seen[knobs] = seen.get(knobs, 0) + 1
    return [changes[position] for _, position in sorted(turns)]


def _side(config: Config, change: Change) -> object:
    """Equal for changes of which only the least is worth showing: a count moved the same way."""
    for name, value in change.items():
        field, before = config.profile.field_of[name], config[name]
        plain = isinstance(field, Size) and (
            not field.divides or field.name == config.profile.world
        )
        if plain and isinstance(value, int) and isinstance(before, int):
            rest = sorted((n, str(v)) for n, v in change.items() if n != name)
            return (name, value > before, tuple(rest))
    return None


def effective_values(config: Config) -> Mapping[str, object]:
    """Every field's value; of a number that was left to auto, what it comes to."""
    derived = config.profile.derive(config.values)
    numbers = {name: value for name, value in derived.items() if type(value) is int}
    return config.as_dict(everything=True) | numbers


def movement(config: Config, effective: Mapping[str, object], change: Change) -> tuple[object, ...]:
    """Knobs that nobody had set last; then badly balanced stages; then how far values move.

    That is in doublings, and what moves as far stands in the order of its fields.
    """
    moved = 0.0
    place: list[tuple[int, str]] = []
    for name, value in change.items():
        before = effective[name]
        if isinstance(value, int) and isinstance(before, int) and not isinstance(value, bool):
            moved += abs(log2(max(1, value)) - log2(max(1, before)))
        else:
            moved += 1
        place.append((config.profile.index_of[name], f"{value!s:>20}"))
    fresh = sum(config[name] == config.profile.field_of[name].default for name in change)
    return (fresh, _imbalance(config, change), round(moved, 9), sorted(place))


def _imbalance(config: Config, change: Change) -> tuple[int, ...]:
    """How well a change of the split of layers is balanced; equal for all other changes."""
    splits = config.profile.splits
    if splits is None or not {splits.layout, *splits.counts} & change.keys():
        return ()
    from parsolve.solver.pipeline.balance import placed  # noqa: PLC0415  (rarely needed)
    from parsolve.solver.pipeline.costs import Costs  # noqa: PLC0415

    changed = config.replaced(change)
    layers = config.profile.lists_of(changed.values).get("layers_per_stage")
    if layers is None:
        return ()
    return placed(layers, changed[splits.mtp_layers] or 0, Costs()).order
