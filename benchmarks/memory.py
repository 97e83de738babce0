"""Peak memory of `parsolve list --format jsonl`, a process, as the number of results grows.

The question is that of 64 GPUs in nodes of 8, MoE, assume_pp, with ever more knobs varied that
hardly constrain anything: the rows multiply, the rules do not. Rows are written as they are
found, so memory must not grow with their number. That number is compared with what the
reference validator accepts, and each listing is certified complete.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from benchmarks.handwritten import Layout, validated
from benchmarks.measure import PARSOLVE, Row, Target, process, same
from parsolve.reference import halo as reference
from tests.near_valid import REFERENCE_FIELDS

WORLD, NODE = 64, 8
KNOBS = (
    "ep_lazy_loading",
    "ep_fp32_router",
    "ep_fp32_experts",
    "fp32_output_conversion",
    "fp32_grad_reduce",
    "model_config",
    "mla",
    "reentrant_checkpointing",
    "image_data",
    "do_eval",
    "torch_compile",
)
VARIED = (0, 5, 11)

# a child's peak starts at what its parent holds, so its parent must be small
SMALL_PARENT = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
unit = 2**20 if sys.platform == "darwin" else 2**10
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit)
sys.stderr.write(done.stderr)
sys.exit(done.returncode)
"""


def rows(_: int) -> Iterator[Row]:
    least: float | None = None
    for number in VARIED:
        knobs = KNOBS[:number]
        found, peak = listed(knobs)
        same(f"rows with {number} knobs varied", found, expected(knobs))
        least = peak if least is None else least
        first = number == VARIED[0]
        yield Row(
            what=f"{found:,} rows ({number} knobs varied)",
            ours=peak,
            unit="MiB",
            against="" if first else "the fewest rows",
            theirs=None if first else least,
            ratio=None if first else peak / least,
            target=None if first else Target(1.1),
        )


def listed(knobs: Sequence[str]) -> tuple[int, float]:
    """Rows of a complete listing, and the peak of its process in MiB."""
    question = ["--world", str(WORLD), "--gpus-per-node", str(NODE), "--moe", "--assume-pp"]
    for knob in knobs:
        question += ["--vary", knob]
    command = (*PARSOLVE, "list", "--format", "jsonl", *question)
    done = process(sys.executable, "-c", SMALL_PARENT, *command)
    complete = re.search(r"complete: (\d+) valid; Z3 proved", done.stderr)
    assert complete, done.stderr
    return int(complete[1]), float(done.stdout)


def expected(knobs: Sequence[str]) -> int:
    """How many the reference accepts; a knob that it does not read doubles them."""
    read = [knob for knob in knobs if knob in REFERENCE_FIELDS]
    layouts = validated(WORLD, NODE, assume_pp=True)
    flags = product((False, True), repeat=len(read))
    accepted = sum(
        reference_accepts(layout, dict(zip(read, chosen, strict=True)))
        for layout, chosen in product(layouts, flags)
    )
    return accepted << (len(knobs) - len(read))


def reference_accepts(layout: Layout, given: Mapping[str, Any]) -> bool:
    try:
        reference.validate(
            world_size=WORLD,
            gpus_per_node=NODE,
            model_kind="moe",
            assume_pp=True,
            pp_size=layout.pp,
            tp_size=layout.tp,
            cp_size=layout.cp,
            expert_tp_size=layout.etp,
            ep_size=layout.ep,
            ep_scope=layout.scope,
            **given,
        )
    except reference.Rejected:
        return False
    return True
