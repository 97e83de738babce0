"""The timeline of a pipeline schedule: who does what when, what idles, what is in flight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import gcd

from parsolve.solver.answer import Bubble, Item, RankTimeline, Schedule, Share
from parsolve.solver.pipeline.order import Shape, order_of_work, turns, warmup_forwards
from parsolve.solver.pipeline.request import LONGEST, layers_of, positive, shape_of
from parsolve.solver.pipeline.simulate import Simulation


def schedule(  # noqa: PLR0913
    *,
    pp: int,
    microbatches: int,
    virtual_stages: int = 1,
    schedule: str | None = None,
    microbatch_group_size: int | None = None,
    layers_per_stage: Sequence[int | Sequence[int]] | None = None,
    forward_time: int = 1,
    backward_time: int = 2,
) -> Schedule:
    """Simulate one step; see `parsolve.schedule`."""
    shape = shape_of(pp, microbatches, virtual_stages, schedule, microbatch_group_size)
    positive("forward_time", forward_time, LONGEST)
    positive("backward_time", backward_time, LONGEST)
    if layers_per_stage is None:
        layers = None
        ticks_per_unit = virtual_stages // gcd(virtual_stages, forward_time, backward_time)
        weights = ((1,) * virtual_stages,) * pp
        scale = Fraction(ticks_per_unit, virtual_stages)
    else:
        weights = layers = layers_of(layers_per_stage, pp, virtual_stages)
        ticks_per_unit, scale = 1, Fraction(1)
    forward, backward = (
        [[int(time * scale * weight) for weight in chunks] for chunks in weights]
        for time in (forward_time, backward_time)
    )
    taken = turns(shape)
    orders = [order_of_work(shape, rank, taken) for rank in range(pp)]
    timelines = Simulation(shape, orders).run(forward, backward)
    total = max(items[-1].end for items in timelines)
    work = [sum(f) + sum(b) for f, b in zip(forward, backward, strict=True)]
    ideal = microbatches * max(work)
    return Schedule(
        schedule=shape.name,
        pp=pp,
        microbatches=microbatches,
        virtual_stages=virtual_stages,
        microbatch_group_size=shape.group if shape.name == "interleaved" else None,
        layers=layers,
        forward_time=forward_time,
        backward_time=backward_time,
        ticks_per_unit=ticks_per_unit,
        total_time=total,
        ideal_time=ideal,
        bubble=_bubble(Fraction(total - ideal, ideal)),
        formula=_formula(shape) if len(set(weights)) == len(set(weights[0])) == 1 else None,
        ranks=tuple(_timeline(shape, rank, items, total) for rank, items in enumerate(timelines)),
    )


def _formula(shape: Shape) -> Bubble:
    """(pp - 1) / (m * v) of the ideal time (Narayanan et al., arXiv:2104.04473, section 2.2)."""
    return _bubble(Fraction(shape.pp - 1, shape.microbatches * shape.virtual_stages))


def _bubble(of_ideal: Fraction) -> Bubble:
    return Bubble(of_ideal=_share(of_ideal), of_step=_share(of_ideal / (1 + of_ideal)))


def _share(part: Fraction) -> Share:
    return Share(numerator=part.numerator, denominator=part.denominator, per_mille=int(1000 * part))


def _timeline(shape: Shape, rank: int, items: list[Item], total: int) -> RankTimeline:
    busy = sum(item.end - item.start for item in items)
    microbatches, chunks = _in_flight(items)
    return RankTimeline(
        rank=rank,
        warmup=warmup_forwards(shape, rank),
        busy_time=busy,
        idle_time=total - busy,
        in_flight=microbatches,
        in_flight_chunks=chunks,
        items=tuple(items),
    )


def _in_flight(items: list[Item]) -> tuple[int, int]:
    """Most micro-batches, and most chunks of them, between their forward and their backward."""
    kept: Counter[int] = Counter()
    chunks = most_chunks = most = 0
    for item in items:
        if item.kind == "F":
            kept[item.microbatch] += 1
            chunks += 1
            most_chunks, most = max(most_chunks, chunks), max(most, len(kept))
        else:
            chunks -= 1
            kept[item.microbatch] -= 1
            if not kept[item.microbatch]:
                del kept[item.microbatch]
    return most, most_chunks
