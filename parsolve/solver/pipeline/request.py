"""What somebody asks of a pipeline schedule: checked, with what is left out filled in."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TypeAlias, get_args

from parsolve.constraints.fields import FieldError, shown
from parsolve.solver.pipeline.order import Name, Shape

Layers: TypeAlias = tuple[tuple[int, ...], ...]
"""Layers by rank and chunk."""

MOST_WORK = 16_384
"""Ranks times micro-batches times virtual stages of one timeline."""

MOST_STAGES = 1024
"""Ranks of one timeline."""

LONGEST = 1_000_000
"""Units of time, or layers, of one piece of work."""

NAMES: tuple[Name, ...] = get_args(Name)


def positive(name: str, value: object, most: int) -> int:
    """The value, if it is a number from 1 to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise FieldError(f"{name} must be an integer, got {shown(value)}")
    if value < 1:
        raise FieldError(f"{name} must be at least 1, got {shown(value)}")
    if value > most:
        raise FieldError(f"{name} must be at most {most:,}, got {shown(value)}")
    return value


def shape_of(
    pp: int, microbatches: int, virtual_stages: int, schedule: str | None, group: int | None
) -> Shape:
    """The schedule that is meant, or misuse that says what to change."""
    positive("pp", pp, MOST_STAGES)
    positive("microbatches", microbatches, MOST_WORK)
    positive("virtual_stages", virtual_stages, MOST_WORK)
    name = _name(schedule, virtual_stages)
    if name == "interleaved":
        if virtual_stages == 1:
            raise FieldError(
                "schedule interleaved needs virtual_stages of at least 2: with one chunk of layers "
                "per rank there is nothing to interleave; raise virtual_stages, or use schedule "
                "1f1b"
            )
        if pp == 1:
            raise FieldError(
                f"virtual_stages={virtual_stages} needs pp of at least 2: one rank has no pipeline "
                "to interleave; raise pp, or use virtual_stages=1"
            )
    elif virtual_stages > 1:
        raise FieldError(
            f"schedule {name} has one chunk of layers per rank, virtual_stages={virtual_stages} "
            f"asks for {virtual_stages}; use virtual_stages=1, or schedule interleaved"
        )
    elif group is not None:
        raise FieldError(
            f"microbatch_group_size belongs to the interleaved schedule, this is {name}; leave it "
            "out, or use virtual_stages of at least 2"
        )
    size = 1
    if name == "interleaved":
        size = pp if group is None else positive("microbatch_group_size", group, MOST_WORK)
        _check_group(pp, microbatches, size)
    if (work := pp * microbatches * virtual_stages) > MOST_WORK:
        raise FieldError(
            f"pp * microbatches * virtual_stages must be at most {MOST_WORK:,} for a timeline, got "
            f"{pp} * {microbatches} * {virtual_stages} = {work:,}; the steady state repeats, so "
            "that fewer microbatches show the same"
        )
    return Shape(
        name=name, pp=pp, microbatches=microbatches, virtual_stages=virtual_stages, group=size
    )


def _name(schedule: object, virtual_stages: int) -> Name:
    if schedule is None:
        return "interleaved" if virtual_stages > 1 else "1f1b"
    for name in NAMES:
        if schedule == name:
            return name
    close = get_close_matches(schedule, NAMES, n=1) if isinstance(schedule, str) else []
    hint = f": did you mean {close[0]}?" if close else ""
    raise FieldError(f"schedule must be one of {', '.join(NAMES)}, got {shown(schedule)}{hint}")


def _fits(pp: int, microbatches: int, group: int) -> bool:
    rest = microbatches % group
    return microbatches >= group and (rest == 0 or rest >= pp)


def _check_group(pp: int, microbatches: int, group: int) -> None:
    """What `forward_backward_pipelining_with_interleaving` demands (schedules.py:1133-1153)."""
    if group < pp:
        raise FieldError(
            f"microbatch_group_size={group} is less than pp={pp}: a chunk takes at least pp "
            f"micro-batches in a row; use microbatch_group_size={pp} or more"
        )
    if _fits(pp, microbatches, group):
        return
    below = next((m for m in range(microbatches, group - 1, -1) if _fits(pp, m, group)), None)
    above = next(
        m
        for m in range(max(microbatches, group), 2 * microbatches + group + 1)
        if _fits(pp, m, group)
    )
    nearest = f"microbatches={above}" if below is None else f"microbatches={below} or {above}"
    if microbatches < group:
        raise FieldError(
            f"microbatches={microbatches} is less than microbatch_group_size={group}"
            f"{' (pp unless given)' if group == pp else ''}: the interleaved schedule takes a "
            f"whole group; nearest that works: {nearest}"
        )
    raise FieldError(
        f"microbatches={microbatches} leaves {microbatches % group} after groups of "
        f"microbatch_group_size={group}; the interleaved schedule needs 0, or at least pp={pp}; "
        f"nearest that work: {nearest}"
    )


def layers_of(given: object, pp: int, virtual_stages: int) -> Layers:
    """Layers by rank and chunk; a rank's number is split evenly over its chunks."""
    if not isinstance(given, (list, tuple)):
        raise FieldError(f"layers_per_stage must be a list of numbers, got {shown(given)}")
    if len(given) != pp:
        raise FieldError(
            f"layers_per_stage must have a number for each of the pp={pp} ranks, got {len(given)}"
        )
    return tuple(_chunks(rank, one, virtual_stages) for rank, one in enumerate(given))


def _chunks(rank: int, given: object, virtual_stages: int) -> tuple[int, ...]:
    name = f"layers_per_stage of rank {rank}"
    if 0 in (given if isinstance(given, (list, tuple)) else (given,)):
        message = f"{name} must be at least 1 in each chunk: empty stages are not simulated"
        raise FieldError(message)
    if isinstance(given, (list, tuple)):
        if len(given) != virtual_stages:
            raise FieldError(
                f"{name} must have a number for each of the virtual_stages={virtual_stages} "
                f"chunks, got {len(given)}"
            )
        return tuple(positive(name, one, LONGEST) for one in given)
    layers = positive(name, given, LONGEST)
    if layers % virtual_stages:
        raise FieldError(
            f"{name} is {layers}, which virtual_stages={virtual_stages} does not divide; give the "
            f"layers of each chunk, such as {'+'.join(map(str, _even(layers, virtual_stages)))}"
            if layers >= virtual_stages
            else f"{name} is {layers}, less than one for each of "
            f"virtual_stages={virtual_stages} chunks"
        )
    return (layers // virtual_stages,) * virtual_stages


def _even(layers: int, chunks: int) -> list[int]:
    return [layers // chunks + (chunk < layers % chunks) for chunk in range(chunks)]
