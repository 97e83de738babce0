"""Repairs: the smallest changes of knobs that make a rejected configuration accepted.

Whatever repairs a configuration must change a knob that its first violated rule reads, or
that rule would still be violated. Branching on those knobs only, change by change, is
therefore complete (Reiter's hitting-set tree), and each leaf is verified by the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from math import log2

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Choice, Flag, Size, Sizes
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.numbers import divisors

MOST_CHANGES = 4
"""Changes in one repair, at most: beyond this it is another configuration."""

NEIGHBOURS = 16
"""How far from its value a plain count (a batch, a length) is changed step by step."""

Change = dict[str, object]


def repairs(config: Config) -> list[Mapping[str, object]]:
    """The nearest accepted configurations, as changes of knobs, in a fixed order.

    Nearest is: fewest knobs changed, then fewest axes switched off or on a legal value
    given up for 1; ties are sorted by how little the values move. Empty if no repair of at
    most `MOST_CHANGES` knobs exists.
    """
    profile = config.profile
    for size in range(1, MOST_CHANGES + 1):
        found = {
            tuple(sorted(change.items(), key=lambda item: item[0])): change
            for change in _repairs(profile, config.values, {}, size)
        }
        if found:
            return _nearest(config, list(found.values()))
    return []


def _repairs(profile: Profile, values: Values, change: Change, left: int) -> Iterator[Change]:
    """Repairs with exactly ``left`` more changes."""
    violated = profile.violated(values)
    if not violated:
        return
    for name in _knobs(profile, min(violated, key=lambda i: len(_knobs(profile, i)))):
        if name in change:
            continue
        index = profile.index_of[name]
        for value in candidates(profile, values, name):
            changed = (*values[:index], value, *values[index + 1 :])
            if left == 1:
                if profile.accepts(changed):
                    yield {**change, name: value}
            else:
                yield from _repairs(profile, changed, {**change, name: value}, left - 1)


@cache
def _knobs(profile: Profile, rule: int) -> tuple[str, ...]:
    """Knobs that the rule reads, in field order; where it reads none, what it reads of the
    cluster: no knob could mend that."""
    reads = [field for field in profile.fields if field.name in profile.rules[rule].reads]
    knobs = tuple(field.name for field in reads if field.role == "knob")
    return knobs or tuple(f.name for f in reads if f.role == "cluster" and f.flag)


def candidates(profile: Profile, values: Values, name: str) -> tuple[object, ...]:
    """Other values that a repair may give a knob."""
    field = profile.field_of[name]
    value = values[profile.index_of[name]]
    match field:
        case Flag():
            return (not value,)
        case Choice(choices=choices):
            return tuple(choice for choice in choices if choice not in {value, "unknown"})
        case Sizes():
            return () if value is None else (None,)
        case Size(divides=whole) if whole:
            world = values[profile.index_of[whole]]
            return tuple(d for d in divisors(world) if d != value)
        case Size(role="cluster") if name != profile.world:
            world = values[profile.index_of[profile.world]]
            return tuple(d for d in divisors(world) if d != value)
        case Size(default=default):
            return _counts(value, field.minimum, default)


def _counts(value: int | None, minimum: int, default: int | None) -> tuple[object, ...]:
    """Values near a count, smaller halves of it, and its default; an unset one stays unset."""
    if value is None:
        return ()
    near = range(max(minimum, value - NEIGHBOURS), max(minimum, value) + NEIGHBOURS + 1)
    halves = [value >> bits for bits in range(1, max(1, value.bit_length()))] if value > 0 else []
    known = [] if default is None else [default]
    return tuple(n for n in dict.fromkeys([*known, *near, *halves]) if n != value and n >= minimum)


def _nearest(config: Config, changes: list[Change]) -> list[Mapping[str, object]]:
    """Those that give up the fewest axes, least movement first."""

    def given_up(change: Change) -> int:
        axes = config.profile.axes
        return sum(1 for name, value in change.items() if name in axes and value == 1)

    fewest = min(given_up(change) for change in changes)
    kept: list[Mapping[str, object]] = []
    sides: set[object] = set()
    for change in sorted(
        (change for change in changes if given_up(change) == fewest),
        key=lambda change: _movement(config, change),
    ):
        side = _side(config, change)
        if side is None or side not in sides:
            kept.append(change)
            sides.add(side)
    return kept


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


def _movement(config: Config, change: Change) -> tuple[object, ...]:
    """How far the values move (in doublings), then field order and value: a total order."""
    moved = 0.0
    place: list[tuple[int, str]] = []
    for name, value in change.items():
        before = config[name]
        if isinstance(value, int) and isinstance(before, int) and not isinstance(value, bool):
            moved += abs(log2(max(1, value)) - log2(max(1, before)))
        else:
            moved += 1
        place.append((config.profile.index_of[name], f"{value!s:>20}"))
    return (round(moved, 9), sorted(place))
