"""The timeline that a configuration's own pipeline has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from parsolve.constraints.evaluate import (
    DEFINED,
    Values,
    compiled,
    defined_source,
    prologue,
    term_source,
)
from parsolve.constraints.profile import Config, Pipeline, Profile, holds
from parsolve.solver.answer import Schedule
from parsolve.solver.pipeline.schedule import schedule

SIMPLE = {"1f1b", "gpipe"}
"""Schedules that give each rank one chunk; those with several are all interleaved."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pipeline's timeline is made of; equal plans have the same one."""

    pp: int
    microbatches: int
    virtual_stages: int
    schedule: str | None
    group: int | None

    @property
    def work(self) -> int:
        """Pieces of work of all ranks, forwards and backwards apart."""
        return 2 * self.pp * self.microbatches * self.virtual_stages

    def simulated(self) -> Schedule:
        """The timeline of a step. Raises `FieldError` for what cannot be simulated."""
        return schedule(
            pp=self.pp,
            microbatches=self.microbatches,
            virtual_stages=self.virtual_stages,
            schedule=self.schedule,
            microbatch_group_size=self.group,
        )


def plan(config: Config) -> Plan | None:
    """The plan of a configuration; None without a pipeline, or where it is not known."""
    profile, values = config.profile, config.values
    pipeline = profile.pipeline
    if pipeline is None or not holds(profile, pipeline.where, values):
        return None
    sizes = _reader(profile, pipeline)(values)
    if None in sizes:
        return None
    ranks, microbatches, chunks, group = sizes
    if min(sizes) < 1 or ranks == 1:
        return None
    named = str(config[pipeline.schedule]).lower() if pipeline.schedule else ""
    return Plan(
        pp=ranks,
        microbatches=microbatches,
        virtual_stages=chunks,
        schedule=named if named in SIMPLE else None,
        group=group if chunks > 1 else None,
    )


@cache
def _reader(profile: Profile, pipeline: Pipeline) -> Callable[[Values], tuple[Any, ...]]:
    terms = (pipeline.ranks, pipeline.microbatches, pipeline.chunks, pipeline.group)
    parts = [
        source if defined == DEFINED else f"({source} if {defined} else None)"
        for source, defined in ((term_source(term), defined_source(term)) for term in terms)
    ]
    return compiled("sizes", [*prologue(profile.fields, terms), f"return ({', '.join(parts)},)"])
