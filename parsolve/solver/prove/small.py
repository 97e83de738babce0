"""Small clusters, with every way to use them that makes a difference to some terms."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Choice, Field, Flag, Size
from parsolve.constraints.formula import Node, fields_of, named_in, stated_in
from parsolve.constraints.profile import Config, Profile

WORLDS = (1, 2, 3, 4, 6, 8, 12, 16)
"""GPUs of the clusters."""


def small(profile: Profile, nodes: Iterable[Node]) -> Iterator[Values]:
    """Values that the profile accepts, fewest GPUs first; one of those that the nodes tell apart.

    The parallel sizes, each of a supported set of axes, and the cluster's sizes divide the world;
    so do data-parallel sizes that the nodes read. Other fields that the nodes read take every
    label; all else is at its default.
    """
    nodes = tuple(nodes)
    stated = sorted(stated_in(*nodes) & profile.index_of.keys())
    wanted = sorted(quantity.name for quantity in named_in(*nodes))
    seen = set()
    for config in _likely(profile, fields_of(*nodes)):
        if config.accepted():
            known = profile.derive(config.values)
            told = (*(config[name] for name in stated), *map(known.get, wanted))
            if told not in seen:
                seen.add(told)
                yield config.values


def _likely(profile: Profile, names: frozenset[str]) -> Iterator[Config]:
    read = [field for field in profile.fields if field.name in names]
    cluster = [f for f in read if f.role == "cluster" and f.name != profile.world]
    switches = [
        field
        for field in read
        if isinstance(field, (Choice, Flag))
        or (isinstance(field, Size) and field.divides and field.name not in profile.axes)
    ]
    for world in WORLDS:
        bare = Config(profile, profile.defaults).replaced({profile.world: world})
        clusters = [config for config in _varied(bare, cluster, world) if config.accepted()]
        for shape in dict.fromkeys(_shapes(profile, world)):
            sizes = dict(zip(profile.axes, shape, strict=True))
            for config in clusters:
                yield from _varied(config.replaced(sizes), switches, world)


def _shapes(profile: Profile, world: int) -> Iterator[tuple[int, ...]]:
    """Parallel sizes that divide the world, all but those of a supported set being 1."""
    divisors = [n for n in range(1, world + 1) if world % n == 0]
    for mode in profile.modes:
        yield from itertools.product(*(divisors if axis in mode else (1,) for axis in profile.axes))


def _varied(config: Config, fields: Sequence[Field], world: int) -> Iterator[Config]:
    """The configuration with every combination of values of the fields."""
    options = [_options(field, world) for field in fields]
    for values in itertools.product(*options):
        yield config.replaced({f.name: value for f, value in zip(fields, values, strict=True)})


def _options(field: Field, world: int) -> tuple[object, ...]:
    match field:
        case Choice(choices=choices):
            return choices
        case Flag():
            return (False, True)
        case Size() if field.divides or not field.env:
            return (field.default, *(n for n in range(1, world + 1) if world % n == 0))
        case _:
            return (field.default,)


def completed(profile: Profile, values: Values, read: frozenset[str]) -> Values | None:
    """The values with at most one other switch changed, such that the profile accepts them."""
    config = Config(profile, values)
    others = [f for f in profile.fields if isinstance(f, (Choice, Flag)) and f.name not in read]
    changes = [{}, *({f.name: option} for f in others for option in _options(f, 0))]
    return next((c.values for c in map(config.replaced, changes) if c.accepted()), None)
