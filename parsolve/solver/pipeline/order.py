"""The order in which each rank of a pipeline does its work.

A step runs every micro-batch forward and backward through every chunk of layers. The model's
chunks lie on a ring: chunk c of rank r is the (c * pp + r)-th part of the model.

``gpipe``: Huang et al. 2019 (arXiv:1811.06965): all forwards, then all backwards.
``1f1b``: PipeDream-Flush, Narayanan et al. (arXiv:2104.04473, figure 4): warm-up forwards, then
one forward and one backward in turns, then the backwards that are left; as
`forward_backward_pipelining_without_interleaving` does it.
``interleaved``: the same paper, section 2.2, as `forward_backward_pipelining_with_interleaving`
does it, with `get_schedule_table` and `get_pp_rank_microbatches` (Megatron-Core 0.19.2,
core/pipeline_parallel/schedules.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Name: TypeAlias = Literal["gpipe", "1f1b", "interleaved"]


class Work(NamedTuple):
    """One forward (F) or backward (B) of a rank's chunk for a micro-batch."""

    kind: Literal["F", "B"]
    microbatch: int
    chunk: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A schedule and its sizes: ranks, micro-batches, chunks per rank, micro-batches in a row.

    ``group`` is how many micro-batches a chunk takes before the next chunk has its turn.
    """

    name: Name
    pp: int
    microbatches: int
    virtual_stages: int = 1
    group: int = 1


def warmup_forwards(shape: Shape, rank: int) -> int:
    """Forwards of one chunk that a rank does before its first backward follows a forward."""
    pp, whole = shape.pp, shape.microbatches * shape.virtual_stages
    match shape.name:
        case "gpipe":
            return whole
        case "1f1b":
            return min(pp - rank - 1, whole)
        case "interleaved":
            return min(2 * (pp - rank - 1) + (shape.virtual_stages - 1) * shape.group, whole)


def turns(shape: Shape) -> list[tuple[int, int]]:
    """Micro-batch and chunk of each forward: groups of micro-batches, chunk after chunk."""
    size = shape.group if shape.name == "interleaved" else shape.microbatches
    return [
        (microbatch, chunk)
        for first in range(0, shape.microbatches, size)
        for chunk in range(shape.virtual_stages)
        for microbatch in range(first, min(first + size, shape.microbatches))
    ]


def order_of_work(shape: Shape, rank: int, taken: Sequence[tuple[int, int]]) -> list[Work]:
    """All work of a rank in order; ``taken`` are the shape's `turns`.

    Backwards take the same turns, the last chunk first.
    """
    forwards = [Work("F", microbatch, chunk) for microbatch, chunk in taken]
    backwards = [
        Work("B", microbatch, shape.virtual_stages - 1 - chunk) for microbatch, chunk in taken
    ]
    warmup = warmup_forwards(shape, rank)
    steady = zip(forwards[warmup:], backwards, strict=False)
    rest = backwards[len(forwards) - warmup :]
    return [*forwards[:warmup], *(work for pair in steady for work in pair), *rest]
