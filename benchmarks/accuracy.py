"""Predicted against measured memory: ``python -m benchmarks.accuracy [FILE]``.

Every run that the tests carry (or those of another file of the same form) is predicted from its
configuration alone, and compared with the peak of PyTorch's allocator that it reported. A run
that ended out of memory should be predicted as not fitting its GPU, any other as fitting.

No run reports its weights and optimizer state apart. What can be held against measurements are
the parameters on a rank, where a run states them, and the rise from one run to another of the
same page that differs in one thing alone which changes what is stored or gathered, and nothing
of the activations: gradients deferred, HSDP, experts replicated, ZeRO-3, fewer GPUs.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

from parsolve.constraints.fields import GIB
from parsolve.solver.memory import usage
from tests.halo_memory import RUNS, Run, rows, runs


@dataclass(frozen=True)
class Prediction:
    """A run beside what the account says of it, in bytes."""

    run: Run
    allocated: int
    total: int
    limit: int

    @property
    def error(self) -> float:
        """Predicted over measured peak, less one."""
        assert self.run.peak is not None
        return self.allocated / self.run.peak - 1


def predictions(found: Iterable[Run | str]) -> tuple[list[Prediction], list[str]]:
    """Every run that states what happened, predicted; and why the others are left out."""
    predicted, left = [], []
    for run in found:
        if isinstance(run, str):
            left.append(run)
            continue
        known = usage(run.config)
        if known is None or known.limit is None:
            left.append(f"{run.row['id']}: its memory is not known")
            continue
        predicted.append(
            Prediction(run, known.bytes["allocated"], known.bytes["total"], known.limit)
        )
    return predicted, left


def worst_decile(errors: Sequence[float]) -> float:
    """The size of error that nine in ten runs stay within."""
    ordered = sorted(map(abs, errors))
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]


def local_parameters(path: Path) -> list[tuple[str, float, float]]:
    """Rows that state the parameters on a rank: id, predicted and stated, in billions."""
    stated = {row["id"]: row["local_params_b"] for row in rows(path) if "local_params_b" in row}
    found = []
    for run in runs(path):
        if isinstance(run, Run) and run.row["id"] in stated:
            known = run.config.profile.filled(run.config.values)["local_parameters"] / 1e9
            found.append((str(run.row["id"]), known, stated[run.row["id"]]))
    return found


STORED = {
    "deferred gradients": ("fsdp_defer_grad_sync",),
    "HSDP": ("use_hsdp",),
    "replicated experts": ("fsdp_shard_ep1_experts",),
    "ZeRO-2 for ZeRO-3": ("fsdp_reshard_after_forward",),
    "fewer GPUs": ("world_size", "gpus_per_node"),
}
"""Fields that decide what a GPU stores and not what it computes, by what a change is called."""


@dataclass(frozen=True)
class Rise:
    """Two runs that differ in what is stored, the smaller first; bytes of the difference."""

    change: str
    less: Prediction
    more: Prediction

    @property
    def measured(self) -> int:
        """By how much the peak rose."""
        return (self.more.run.peak or 0) - (self.less.run.peak or 0)

    @property
    def predicted(self) -> int:
        """By how much the predicted peak rises."""
        return self.more.allocated - self.less.allocated

    @property
    def error(self) -> float:
        """Predicted over measured rise, less one."""
        return self.predicted / self.measured - 1


def rises(ran: Iterable[Prediction]) -> list[Rise]:
    """Every such pair, each run in one pair of a change at most."""
    measured = list(ran)
    found = []
    for change, names in STORED.items():
        alike: dict[object, dict[object, list[Prediction]]] = defaultdict(dict)
        for each in measured:
            config = each.run.config
            index = config.profile.index_of
            places = {index[name] for name in names}
            rest = tuple(repr(v) for i, v in enumerate(config.values) if i not in places)
            value = tuple(config.values[place] for place in sorted(places))
            key = (each.run.row["source"], each.run.row["model"], rest)
            alike[key].setdefault(value, []).append(each)
        for values in alike.values():
            for (_, one), (_, other) in combinations(values.items(), 2):
                for pair in zip(one, other, strict=False):
                    less, more = sorted(pair, key=lambda each: each.run.peak or 0)
                    found.append(Rise(change, less, more))
    return found


def by_change(found: Iterable[Rise]) -> dict[str, list[Rise]]:
    """The pairs of each change."""
    groups: dict[str, list[Rise]] = defaultdict(list)
    for rise in found:
        groups[rise.change].append(rise)
    return groups


def report_of_stored(path: Path, ran: Iterable[Prediction]) -> Iterable[str]:
    """Weights and optimizer state, as far as runs state them."""
    yield "weights and optimizer state"
    for name, known, stated in local_parameters(path):
        error = 100 * (known / stated - 1)
        yield (f"  {name}: parameters on a rank {known:.3f}B, stated {stated:.3f}B, {error:+.2f}%")
    for change, pairs in by_change(rises(ran)).items():
        middle = 100 * median(abs(rise.error) for rise in pairs)
        yield f"  {change}: {len(pairs)} pair{'s' * (len(pairs) > 1)}, median {middle:.1f}%"
        yield from (
            f"    {rise.less.run.row['id']} {rise.more.run.row['id']}: measured "
            f"{rise.measured / GIB:+.1f} GiB, predicted {rise.predicted / GIB:+.1f} GiB, "
            f"{100 * rise.error:+.1f}%"
            for rise in pairs
        )


def report(path: Path) -> Iterable[str]:
    """The whole comparison as lines."""
    predicted, left = predictions(runs(path))
    ran = [each for each in predicted if each.run.peak is not None]
    groups: dict[tuple[str, str], list[Prediction]] = defaultdict(list)
    for each in ran:
        groups[str(each.run.row["model"]), each.run.mode].append(each)
    yield f"{'id':<6} {'tokens':>9}  {'measured':>9}  {'predicted':>9}  {'error':>6}"
    for (model, mode), members in sorted(groups.items()):
        yield f"{model}: {mode}"
        for each in members:
            row = each.run.row
            peak = (each.run.peak or 0) / GIB
            yield (
                f"{row['id']:<6} {row['micro_batch']:>2} x {row['seq_len']:<6} {peak:>7.1f}  "
                f"{each.allocated / GIB:>9.1f}  {100 * each.error:>+5.1f}%"
            )
    yield ""
    yield "median and worst decile of the error's size, by model"
    by_model: dict[str, list[float]] = defaultdict(list)
    for each in ran:
        by_model[str(each.run.row["model"])].append(each.error)
        by_model["all"].append(each.error)
    for model, errors in by_model.items():
        middle = median(map(abs, errors))
        yield (
            f"  {model:<28} {len(errors):>4} runs  {100 * middle:>5.1f}%  "
            f"{100 * worst_decile(errors):>5.1f}%  worst {100 * max(map(abs, errors)):>5.1f}%"
        )
    yield ""
    yield from report_of_stored(path, ran)
    yield ""
    over = [each for each in predicted if each.run.peak is None]
    missed = [each for each in over if each.total <= each.limit]
    refused = [each for each in ran if each.total > each.limit]
    yield f"out of memory: {len(over)} runs, {len(over) - len(missed)} predicted as not fitting"
    yield from (
        f"  missed {each.run.row['id']}: {each.total / GIB:.1f} of {each.limit / GIB:.1f} GiB; "
        f"{each.run.mode}; {each.run.row.get('notes', '')}"
        for each in missed
    )
    yield f"ran: {len(ran)} runs, {len(ran) - len(refused)} predicted as fitting"
    yield from (f"  refused {each.run.row['id']}" for each in refused)
    yield f"left out: {len(left)}"
    yield from (f"  {reason}" for reason in left if "no peak stated" not in reason)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=RUNS, help="runs, one a line")
    for line in report(parser.parse_args().file):
        print(line)


if __name__ == "__main__":
    main()
