"""The best configuration under a memory bound, proved, against OR-Tools CP-SAT on the same model.

Both maximise data parallelism over every axis, micro-batch, recomputation and ZeRO stage on GPUs
of 80 GiB. CP-SAT is given the same folded formulas (`benchmarks.cpsat`), two workers, and returns
the optimum's value; parsolve also returns every configuration that reaches it. Both have answered
once before, so that neither pays for imports or for the laws that parsolve proves once in a
process; building the model is included. The target in seconds is one on the whole of `best`, from
the question to the answer; what a certificate takes, Z3's part, stands in the note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from benchmarks.measure import Row, Target, in_turns, same
from parsolve.cli.common import gathered
from parsolve.constraints import PROFILES
from parsolve.solver.answer import Best
from parsolve.solver.query import Query, build_query
from parsolve.solver.solve import best

WORLDS = {1_024: 0.5, 131_072: 1.0, 100_800: 2.0}
"""Seconds that `best` may take at each world, building the query included."""

CLUSTER = {"gpus_per_node": 8, "gpu_memory": "80GiB"}
QUESTIONS = (
    ("halo", "qwen3-30b-a3b", {"max_length": 8192}),
    ("halo", "llama-3-70b", {"max_length": 8192}),
    ("generic", "deepseek-v3", {"seq_length": 8192}),
    ("generic", "llama-3.1-405b", {"seq_length": 8192, "zero_stage": 1}),
)
VARIED = {
    "halo": (
        "gradient_checkpointing",
        "fsdp_reshard_after_forward",
        "per_device_train_batch_size",
    ),
    "generic": ("zero_stage", "recompute", "micro_batch"),
}


def question(profile: str, model: str, pins: Mapping[str, object], world: int) -> Query:
    """The query that both are asked."""
    chosen = PROFILES[profile]
    vary = [name for name in VARIED[profile] if name not in pins]
    facts = gathered(chosen, {**CLUSTER, **pins}, model)
    return build_query(chosen, [world], facts, objectives=[("dp", True)], vary=vary)


def _ours(asked: Callable[[], Query]) -> object:
    return best(asked(), limit=1)


def _theirs(asked: Callable[[], Query], world: int) -> int | None:
    from benchmarks.cpsat import Optimum  # noqa: PLC0415  (OR-Tools is a benchmark's dependency)

    return Optimum(asked(), world).solve()


def rows(runs: int) -> Iterator[Row]:
    for profile, model, pins in QUESTIONS:
        for world, target in WORLDS.items():
            asked = partial(question, profile, model, pins, world)
            name = f"{profile}, {model}, {world:,} GPUs"
            ours = best(asked(), limit=1)
            assert isinstance(ours, Best), ours
            same(name, ours.objectives[0].value, _theirs(asked, world))
            timed = in_turns(partial(_ours, asked), partial(_theirs, asked, world), runs)
            again = best(asked(), limit=1)
            assert isinstance(again, Best)
            yield Row(
                what=f"{name}: `best`",
                ours=timed.ours,
                against="CP-SAT",
                theirs=timed.theirs,
                ratio=timed.ratio,
                target=Target(1.0),
                note=f"{name}: dp = {again.objectives[0].value:,}, reached by {again.count:,}",
            )
            yield Row(
                what=f"{name}: `best`, whole",
                ours=timed.ours,
                target=Target(target, of="ours"),
                note=f"{name}: one certificate took {again.certificate.seconds:.3g} s",
            )
