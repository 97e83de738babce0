"""The split of a model's layers over pipeline ranks and chunks whose slowest rank is fastest.

Layers cost the same, so how many each chunk holds decides everything, and giving one layer after
the other to the cheapest rank is exact (Gross 1956, for convex separable costs). Costs are in
thousandths of a layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heapreplace

from parsolve.solver.pipeline.costs import LAYER, Costs

Counts = Sequence[Sequence[int]]
"""Layers by pipeline rank and chunk."""


@dataclass(frozen=True)
class Split:
    """Layers by pipeline rank and chunk; all MTP layers are in the last chunk of ``mtp_rank``."""

    layers: Counts
    mtp_layers: int
    mtp_rank: int
    costs: Costs

    @cached_property
    def chunk_costs(self) -> list[list[int]]:
        """Costs by rank and chunk."""
        extra = _extra(
            len(self.layers), len(self.layers[0]), self.mtp_layers, self.mtp_rank, self.costs
        )
        return [
            [LAYER * held + more for held, more in zip(counts, extras, strict=True)]
            for counts, extras in zip(self.layers, extra, strict=True)
        ]

    @cached_property
    def rank_costs(self) -> list[int]:
        """Costs by rank."""
        return [sum(costs) for costs in self.chunk_costs]

    @cached_property
    def order(self) -> tuple[int, int, int, int]:
        """Better ones first: the slowest rank, how uneven ranks are, then the same of chunks."""
        chunks = [cost for costs in self.chunk_costs for cost in costs]
        return (
            max(self.rank_costs),
            sum(cost * cost for cost in self.rank_costs),
            max(chunks),
            sum(cost * cost for cost in chunks),
        )

    def stages(self) -> list[str]:
        """What each stage holds, as a layout says it, in the order of a micro-batch's way."""
        ranks = len(self.layers)
        held = [
            "t" * counts[chunk] for chunk in range(len(self.layers[0])) for counts in self.layers
        ]
        held[0] = "E" + held[0]
        held[self.mtp_rank - ranks] += "m" * self.mtp_layers
        held[-1] += "L"
        return held


def _extra(ranks: int, chunks: int, mtp: int, mtp_rank: int, costs: Costs) -> list[list[int]]:
    """Costs by rank and chunk of what is no layer."""
    extra = [[0] * chunks for _ in range(ranks)]
    extra[0][0] += costs.embedding
    extra[mtp_rank][-1] += mtp * costs.mtp
    extra[-1][-1] += (1 + mtp) * costs.loss
    return extra


def balanced(layers: int, ranks: int, chunks: int, mtp_layers: int, costs: Costs) -> Split:
    """The split whose ranks are best, see `Split.order`, each in chunks as equal as can be.

    Among equal ones, early ranks hold fewer layers, since they hold the activations of more
    micro-batches. MTP layers stand behind every other layer,
    so no later stage holds any.
    """

    def filled(mtp_rank: int) -> Split:
        extra = _extra(ranks, chunks, mtp_layers, mtp_rank, costs)
        takes = [chunks if rank <= mtp_rank else chunks - 1 for rank in range(ranks)]
        by_rank = _given_out(layers, [sum(each) for each in extra], takes)
        held = [
            _given_out(count, each, [chunk < most for chunk in range(chunks)])
            for count, each, most in zip(by_rank, extra, takes, strict=True)
        ]
        return Split(held, mtp_layers, mtp_rank, costs)

    places = {ranks - 1, max(ranks - 2, 0), 0} if mtp_layers else {ranks - 1}
    return min(map(filled, sorted(places, reverse=True)), key=lambda split: split.order)


def _given_out(layers: int, extra: Sequence[int], takes: Sequence[object]) -> list[int]:
    """So many layers, each to the cheapest place that takes some; among equals, to the last."""
    heap = [(cost, -place) for place, cost in enumerate(extra) if takes[place]]
    heapify(heap)
    counts = [0] * len(extra)
    for _ in range(layers):
        cost, place = heap[0]
        counts[-place] += 1
        heapreplace(heap, (cost + LAYER, place))
    return counts


def placed(counts: Counts, mtp_layers: int, costs: Costs) -> Split:
    """The split that options make, where MTP layers stand on the last rank."""
    return Split(counts, mtp_layers, len(counts) - 1, costs)


def room_below(limit: int, split: Split) -> int:
    """Layers that fit where every rank costs less than ``limit``, wherever MTP layers are."""
    ranks, chunks = len(split.layers), len(split.layers[0])
    return max(_rooms(limit, ranks, chunks, split))


def _rooms(limit: int, ranks: int, chunks: int, split: Split) -> Iterator[int]:
    for place in range(ranks) if split.mtp_layers else (ranks - 1,):
        extra = [sum(each) for each in _extra(ranks, chunks, split.mtp_layers, place, split.costs)]
        if max(extra) >= limit:
            yield 0
            continue
        yield sum(
            (limit - more - 1) // LAYER
            for rank, more in enumerate(extra)
            if rank <= place or chunks > 1
        )
