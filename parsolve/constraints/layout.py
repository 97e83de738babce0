"""Which ranks form which group, as data.

Every kind of group is a partition of the ranks: a rank is in one group, at one position in it.
Both ways of reading that are terms, from a rank to its group and position, and back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from parsolve.constraints.evaluate import Values, compiled, prologue, term_source
from parsolve.constraints.fields import Field, Size
from parsolve.constraints.formula import ALWAYS, Formula, Named, Operand, Term, largest

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

    ``also`` are other names of it. ``traffic`` is what one GPU sends inside its group per optimizer
    step, in bytes; no byte is that of two kinds of group. None where nobody counts it.
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
    also: tuple[str, ...] = ()
    traffic: Named | None = None

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


def turning(
    name: str,
    about: str,
    *,
    world: Size,
    size: Term,
    stride: Operand,
    where: Formula = ALWAYS,
    also: tuple[str, ...] = (),
    traffic: Named | None = None,
) -> Grouping:
    """The groups along one axis of a grid of ranks whose neighbours lie ``stride`` ranks apart."""
    apart = largest(1, stride)
    width = largest(1, size)
    block = apart * width
    return Grouping(
        name=name,
        about=about,
        index=RANK // block * apart + RANK % apart,
        position=RANK // apart % width,
        member=GROUP // apart * block + GROUP % apart + POSITION * apart,
        size=width,
        count=world // width,
        where=where,
        inside=block,
        also=also,
        traffic=traffic,
    )


def same_batch(*, world: Size, size: Term, stride: Operand, where: Formula = ALWAYS) -> Grouping:
    """The ranks at one place of the data-parallel axis of a grid: all groups but `turning`'s."""
    apart = largest(1, stride)
    width = largest(1, size)
    return Grouping(
        name=SAME_BATCH,
        about=SAME_BATCH_ABOUT,
        index=RANK // apart % width,
        position=RANK // (apart * width) * apart + RANK % apart,
        member=POSITION // apart * (apart * width) + GROUP * apart + POSITION % apart,
        size=world // width,
        count=width,
        where=where,
        also=SAME_BATCH_ALSO,
    )


SAME_BATCH = "same-batch"
SAME_BATCH_ALSO = ("batch",)
SAME_BATCH_ABOUT = "Ranks that get the same batch: the group's number is the data-parallel rank."

StageLayers: TypeAlias = "list[list[int]] | None"
"""Layers by pipeline stage and chunk, or None where they are not known."""


@dataclass(frozen=True, slots=True, eq=False)
class Unsaid:
    """Configurations whose groups the layout does not know, and why not."""

    when: Formula
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The groups that a framework makes, and which ranks get the same batch.

    The index in ``batches`` is the data-parallel rank, the position in ``stages`` the pipeline
    stage. The routed experts are spread over the positions in ``experts``, equally many on each.
    ``layers`` reads the layers of each stage from field values and derived quantities.
    """

    groupings: tuple[Grouping, ...] = ()
    batches: Grouping | None = None
    stages: Grouping | None = None
    experts: Grouping | None = None
    layers: Callable[[Mapping[str, Any], Mapping[str, Any]], StageLayers] | None = None
    unsaid: tuple[Unsaid, ...] = ()

    @property
    def kinds(self) -> tuple[Grouping, ...]:
        """Every kind of group, that of the ranks with one batch last."""
        return (*self.groupings, *(() if self.batches is None else (self.batches,)))
