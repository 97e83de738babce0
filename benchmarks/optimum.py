"""The largest data parallelism of a cluster, proved, against an exhaustive loop.

The loop tries every divisor of the world for every axis and every scope, asks the compiled
rules (`accepts`), and keeps the best; it proves nothing. With more than two million candidates
(some 20 s) it is not run: its time is extrapolated from a random sample. The answer, with
everything that is equally good, is compared with the loop's where it ran, and with that of the
hand-written loops everywhere. A certificate's seconds are Z3's part: building the problem,
proving the optimum and its ties and, once in a process, proving for every cluster that sizes
divide the world.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from statistics import median
from typing import Any

from benchmarks.handwritten import Layout, data_parallel, inline
from benchmarks.listing import HALO, NODE, ORDER, layout
from benchmarks.measure import Row, Target, in_turns, process, same, seconds
from parsolve import best
from parsolve.constraints.profile import holds
from parsolve.solver.answer import Best
from parsolve.solver.numbers import divisors

WORLDS = (64, 1_024, 8_192, 131_072, 100_800)
SCOPES = ("auto", "node", "global")
MOST_CANDIDATES = 2_000_000
SAMPLE = 20_000

FRESH = """
import sys, time
started = time.perf_counter()
from parsolve import best
answer = best(world=int(sys.argv[1]), moe=True, maximize="dp", gpus_per_node=8,
              assume_pp=sys.argv[2] == "True")
print([answer.certificate.seconds, time.perf_counter() - started])
"""

Optimum = tuple[int, frozenset[Layout]]
Candidate = tuple[Any, ...]


def rows(runs: int) -> Iterator[Row]:
    for world in WORLDS:
        yield from _rows(world, runs, assume_pp=False)
    yield from _rows(100_800, runs, assume_pp=True)


def _rows(world: int, runs: int, *, assume_pp: bool) -> Iterator[Row]:
    name = f"{world:,} GPUs{', assume_pp' if assume_pp else ''}"
    solve = partial(solved, world, assume_pp=assume_pp)
    loop = partial(exhaustive, world, assume_pp=assume_pp)
    size = len(divisors(world)) ** len(ORDER) * len(SCOPES)
    sampled = random.Random(0).choices(divisors(world), k=SAMPLE * len(ORDER))
    sample = zip(*[iter(sampled)] * len(ORDER), SCOPES * SAMPLE, strict=False)
    estimate = seconds(lambda: loop(sample)) / SAMPLE * size
    runs_loop = size <= MOST_CANDIDATES

    value, ties = ours = optimum(solve())
    same(f"{name}, by hand", ours, by_hand(world, assume_pp=assume_pp))
    if runs_loop:
        same(f"{name}, exhaustively", ours, loop())

    target = None if assume_pp else Target(0.5, of="ours")
    command = (sys.executable, "-c", FRESH, str(world), str(assume_pp))
    fresh = [json.loads(process(*command).stdout) for _ in range(runs)]
    yield Row(
        what=f"{name}: certificate, fresh process",
        ours=median(own for own, _ in fresh),
        against="all of `best`, with imports",
        theirs=median(wall for _, wall in fresh),
        ratio=median(own / wall for own, wall in fresh),
        target=target,
        note=f"{name}: dp = {value:,} is best, reached by {len(ties)}"
        + ("." if runs_loop else f"; {size:,} candidates are too many for the exhaustive loop."),
    )
    certificates: list[float] = []
    walls = [seconds(lambda: certificates.append(solve().certificate.seconds)) for _ in range(runs)]
    yield Row(
        what=f"{name}: certificate, warm",
        ours=median(certificates),
        against="all of `best`",
        theirs=median(walls),
        ratio=median(own / wall for own, wall in zip(certificates, walls, strict=True)),
        target=target,
    )
    if runs_loop:
        timed = in_turns(solve, loop, runs if estimate < 1 else 1)
        mine, theirs, ratio = timed.ours, timed.theirs, timed.ratio
    else:
        mine, theirs, ratio = median(walls), estimate, median(walls) / estimate
    yield Row(
        what=f"{name}: `best`, warm",
        ours=mine,
        against="exhaustive loop" if runs_loop else "exhaustive loop (extrapolated, not run)",
        theirs=theirs,
        ratio=ratio,
    )


def solved(world: int, *, assume_pp: bool) -> Best:
    answer = best(world=world, moe=True, maximize="dp", gpus_per_node=NODE, assume_pp=assume_pp)
    assert isinstance(answer, Best)
    assert answer.optimal
    return answer


def optimum(answer: Best) -> Optimum:
    (goal,) = answer.objectives
    assert goal.value is not None
    return goal.value, frozenset(layout(s.config, s.derived) for s in answer.solutions)


def by_hand(world: int, *, assume_pp: bool) -> Optimum:
    layouts = inline(world, NODE, assume_pp=assume_pp)
    top = max(data_parallel(world, found) for found in layouts)
    return top, frozenset(found for found in layouts if data_parallel(world, found) == top)


def exhaustive(
    world: int, candidates: Iterable[Candidate] | None = None, *, assume_pp: bool
) -> Optimum:
    """The best of all candidates, or of those given."""
    given = {"gpus_per_node": NODE, "model_kind": "moe", "assume_pp": assume_pp}
    values = list(HALO.config({"world_size": world, **given}).values)
    places = [HALO.index_of[name] for name in (*ORDER, "ep_scope")]
    canonical = HALO.canonical["ep_scope"]
    accepts = HALO.accepts
    top: int = 0
    ties: set[Layout] = set()
    for chosen in candidates or product(*[divisors(world)] * len(ORDER), SCOPES):
        for place, value in zip(places, chosen, strict=True):
            values[place] = value
        completed = tuple(values)
        if accepts(completed) and holds(HALO, canonical, completed):
            derived = HALO.derive(completed)
            reached = derived["data_parallel_size"]
            if reached > top:
                top, ties = reached, set()
            if reached == top:
                ties.add(Layout._make([*chosen[:-1], derived["ep_scope"]]))
    return top, frozenset(ties)
