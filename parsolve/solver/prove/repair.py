"""Configurations with a property, reached from known ones by changing one field after the other.

Plain Python alone: what Z3 cannot decide, such as a product beside many rules, or a layout's text,
is often few changes away from an example.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Size
from parsolve.constraints.profile import Profile
from parsolve.solver.prove.differences import neighbours
from parsolve.solver.prove.lists import Lists

WIDTH = 16
"""Configurations that are kept after each change."""

CHANGES = 4
"""Fields that are changed one after the other."""

LARGE = 2**40
"""A number that exceeds every bound on the width of an index."""

DRAWN = 20_000
"""Configurations that are drawn at random in each pass, always the same ones."""


class Repair:
    """Looks near configurations of a profile, whose lists may become other known ones."""

    def __init__(self, profile: Profile, lists: Lists) -> None:
        self.profile = profile
        self.lists = lists

    def beside(self, values: Values, names: frozenset[str]) -> Iterator[Values]:
        """The configuration with one of the named fields changed."""
        yield from neighbours(self.profile, values, names)
        for name in sorted(names & self.lists.features.keys()):
            place = self.profile.index_of[name]
            for other in self.lists.near(name):
                yield (*values[:place], other, *values[place + 1 :])

    def found(
        self,
        starts: Iterable[Values],
        wanted: Callable[[Values], bool],
        kept: Collection[int],
    ) -> Values | None:
        """A configuration that is ``wanted`` and violates none of the rules with these indices.

        Only wanted ones are looked at. Those that violate the fewest of the rules are changed in
        the fields that these read.
        """
        rules = self.profile.limits
        seen: set[Values] = set()
        reached: list[tuple[int, Values]] = []

        def look(each: Values) -> bool:
            """Keep a wanted configuration; whether it is what is looked for."""
            if each in seen or not wanted(each):
                return False
            seen.add(each)
            count = sum(broken in kept for broken in self.profile.violated(each))
            reached.append((count, each))
            return count == 0

        for each in starts:
            if look(each):
                return each
        for _ in range(CHANGES):
            best = sorted(reached, key=lambda pair: pair[0])[:WIDTH]
            reached.clear()
            for _, values in best:
                broken = [i for i in self.profile.violated(values) if i in kept]
                names = frozenset[str]().union(*(rules[i].reads for i in broken))
                for each in self.beside(values, names):
                    if look(each):
                        return each
        return None

    def drawn(self, starts: Sequence[Values], names: frozenset[str]) -> Iterator[Values]:
        """The configurations with a few of the named fields changed at random.

        First to numbers near by, then to huge ones too.
        """
        known = sorted(names)
        plain = [[self._options(start, name) for name in known] for start in starts]
        large = [
            [
                [*each, LARGE] if isinstance(self.profile.field_of[name], Size) else each
                for name, each in zip(known, options, strict=True)
            ]
            for options in plain
        ]
        for options in (plain, large) if known else ():
            yield from self._drawn(starts, known, options)

    def _drawn(
        self, starts: Sequence[Values], known: Sequence[str], options: Sequence[list[list[Any]]]
    ) -> Iterator[Values]:
        source = random.Random(0)  # noqa: S311  (always the same)
        for _ in range(DRAWN):
            which = source.randrange(len(starts))
            values = list(starts[which])
            for chosen in source.sample(range(len(known)), min(len(known), source.randint(2, 4))):
                if options[which][chosen]:
                    place = self.profile.index_of[known[chosen]]
                    values[place] = source.choice(options[which][chosen])
            yield tuple(values)

    def _options(self, values: Values, name: str) -> list[Any]:
        place = self.profile.index_of[name]
        return [each[place] for each in self.beside(values, frozenset({name}))]
