"""Stages of a pipeline, and its timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parsolve.solver.answer.verdict import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSplit:
    """A valid split of layers over pipeline ranks; costs are in layers.

    ``settings`` are the fields that make it beside the number of ranks, ``layout`` states the
    same split stage by stage. ``layers_per_stage`` and ``costs`` are by rank, the former by chunk
    too. ``slowest`` is the dearest rank's cost and ``slowest_chunk`` the dearest chunk's; were
    every rank cheaper than that, they would hold ``room_below`` layers.
    """

    pp: int
    virtual_stages: int
    settings: Fields
    layout: str
    layers_per_stage: tuple[tuple[int, ...], ...]
    costs: tuple[float, ...]
    slowest: float
    slowest_chunk: float
    mean: float
    room_below: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Valid splits, for each number of ranks and of chunks the best first.

    ``count`` is how many there are without stating every stage; the best layout is beside them
    where none of them is as good. ``costs`` of the parts are in layers: an MTP layer's is without
    its loss, which the last stage computes.
    """

    profile: str
    layers: int
    mtp_layers: int
    costs: Fields
    costs_are: str
    splits: tuple[StageSplit, ...]
    count: int
    answer: Literal["stages"] = "stages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An exact fraction, and how many thousandths of the whole it is, rounded down."""

    numerator: int
    denominator: int
    per_mille: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubble:
    """Time that the busiest rank of a pipeline idles, as a share of two wholes.

    ``of_ideal`` is relative to that rank's work, ``of_step`` to the whole step.
    """

    of_ideal: Share
    of_step: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A forward (F) or backward (B) of one chunk of a rank for one micro-batch, in ticks."""

    kind: Literal["F", "B"]
    microbatch: int
    chunk: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTimeline:
    """What one pipeline rank does in a step; times are in ticks.

    ``warmup`` counts forwards before the steady state, each of one chunk. ``in_flight`` is the
    largest number of micro-batches of which the rank keeps activations at once,
    ``in_flight_chunks`` that of (micro-batch, chunk) pairs, which is what fills memory.
    """

    rank: int
    warmup: int
    busy_time: int
    idle_time: int
    in_flight: int
    in_flight_chunks: int
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The timeline of one step of a pipeline, simulated from each rank's order of work.

    A forward takes ``forward_time`` units per stage, or per layer where ``layers`` are given (by
    rank and chunk); a backward ``backward_time``. Other times are ticks, of which a unit has
    ``ticks_per_unit``, so that all are integers. ``ideal_time`` is the work of the busiest rank.
    ``formula`` is what the published formula says of the bubble, absent for unequal stages.
    ``microbatch_group_size`` is there for the interleaved schedule alone.
    """

    schedule: Literal["gpipe", "1f1b", "interleaved"]
    pp: int
    microbatches: int
    virtual_stages: int
    microbatch_group_size: int | None = None
    layers: tuple[tuple[int, ...], ...] | None = None
    forward_time: int
    backward_time: int
    ticks_per_unit: int
    total_time: int
    ideal_time: int
    bubble: Bubble
    formula: Bubble | None = None
    ranks: tuple[RankTimeline, ...]
    answer: Literal["schedule"] = "schedule"
