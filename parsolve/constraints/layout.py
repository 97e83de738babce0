"""Which ranks form which group, as data.

Every kind of group is a partition of the ranks: a rank is in one group, at one position in it.
Both ways of reading that are terms, from a rank to its group and position, and back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from parsolve.constraints.evaluate import Values, compiled, prologue, term_source
from parsolve.constraints.fields import Field, Size
from parsolve.constraints.formula import Formula, Term
from parsolve.constraints.rule import ALWAYS

RANK = Size("rank", default=0, about="A global rank, from 0 on.")
GROUP = Size("group", default=0, about="A group of one kind, from 0 on.")
POSITION = Size("position", default=0, about="A rank's place in its group, from 0 on.")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Grouping:
    """One kind of group: ``count`` groups of ``size`` ranks each.

    ``index`` (the group, below ``count``) and ``position`` (the place in it, below ``size``) are
    terms over `RANK`; ``member`` is the rank at `GROUP` and `POSITION`. The three read these
    variables themselves, never through a derived quantity. All means something where ``where``
    holds. A group never leaves a block of ``inside`` consecutive ranks that starts at a multiple
    of ``inside``.
    """

    name: str
    about: str
    index: Term
    position: Term
    member: Term
    size: Term
    count: Term
    where: Formula = ALWAYS
    inside: Term | None = None

    def places(self, fields: tuple[Field, ...], world: Size) -> Callable[[Values], list[Place]]:
        """A reader of a configuration's values: group and position of each of its ranks."""
        pair = f"({term_source(self.index)}, {term_source(self.position)})"
        lines = prologue(fields, (self.index, self.position, world))
        return compiled("places", [*lines, f"return [{pair} for rank in range({world.name})]"])

    def groups(self, fields: tuple[Field, ...]) -> Callable[[Values], list[list[int]]]:
        """A reader of a configuration's values: the members of each group, in order."""
        size, count, member = map(term_source, (self.size, self.count, self.member))
        group = f"[{member} for position in range({size})]"
        lines = prologue(fields, (self.size, self.count, self.member))
        return compiled("groups", [*lines, f"return [{group} for group in range({count})]"])


Place = tuple[int, int]
"""A group and a position in it."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The groups that a framework makes, and which ranks get the same batch.

    The index in ``batches`` is the data-parallel rank.
    """

    groupings: tuple[Grouping, ...] = ()
    batches: Grouping | None = None
