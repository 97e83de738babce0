"""axolotl's YAML, whose sizes reach accelerate's ``ParallelismConfig`` by its environment.

Keys and defaults are those of axolotl 0.19.0 (``utils/schemas``, ``utils/trainer.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsolve.solver.files.format import AXIS, MODEL, Format, Key, Unjudged

CP = "context_parallel_size"
OLD_CP = "sequence_parallel_degree"


def together(given: Mapping[str, Any]) -> Mapping[str, tuple[str, Any]]:
    """The wrapper, by which of fsdp_config and deepspeed is given; sizes that are left out."""
    said: dict[str, tuple[str, Any]] = {}
    size = given.get(CP) or given.get(OLD_CP) or 1
    if not given.get(CP) and isinstance(given.get(OLD_CP), int):
        said["cp_size"] = (OLD_CP, size)
    said["distributed"] = _wrapper(given)
    if said["distributed"][1] == "ddp" and isinstance(size, int) and size > 1:
        why = "axolotl patches accelerate to split sequences without FSDP"
        said["cp_size"] = (CP if given.get(CP) else OLD_CP, Unjudged(why))
    for key, of, value in (
        ("micro_batch_size", "micro_batch", 1),
        ("sequence_len", "seq_length", 512),
    ):
        if given.get(key) is None:
            said[of] = ("", value)
    if given.get("batch_size") and given.get("gradient_accumulation_steps") is None:
        whole, micro = given["batch_size"], given.get("micro_batch_size") or 1
        if isinstance(whole, int) and isinstance(micro, int):
            steps = max(1, whole // micro)
            said["gradient_accumulation_steps"] = ("batch_size", steps)
    return said


def _wrapper(given: Mapping[str, Any]) -> tuple[str, str]:
    below = [key for key in given if key.startswith("fsdp_config.")]
    if given.get("fsdp") or below or given.get("fsdp_config"):
        for key in ("fsdp_version", "fsdp_config.fsdp_version", "fsdp_config.version"):
            if given.get(key) is not None:
                return key, "fsdp2" if str(given[key]) == "2" else "fsdp1"
        return next(key for key in ("fsdp", *below, "fsdp_config") if given.get(key)), "fsdp1"
    if given.get("deepspeed"):
        return "deepspeed", "deepspeed"
    return "", "ddp"


AXOLOTL = Format(
    name="axolotl",
    title="axolotl configuration",
    kinds=frozenset({"yaml"}),
    profile_name="accelerate",
    judged_by_another=True,
    needed=frozenset({"base_model"}),
    marks=frozenset(
        {
            "base_model",
            "sequence_len",
            "micro_batch_size",
            "dp_shard_size",
            "dp_replicate_size",
            "tensor_parallel_size",
            "context_parallel_size",
            "expert_parallel_size",
        }
    ),
    keys=(
        Key(path="base_model", of=MODEL),
        Key(path="dp_replicate_size", of="dp_replicate_size"),
        Key(path="dp_shard_size", of="dp_shard_size"),
        Key(path="tensor_parallel_size", of="tp_size"),
        Key(path=CP, of="cp_size"),
        Key(path="expert_parallel_size", of=AXIS),
        Key(path="micro_batch_size", of="micro_batch"),
        Key(path="gradient_accumulation_steps", of="gradient_accumulation_steps"),
        Key(path="sequence_len", of="seq_length"),
    ),
    sections=(),
    derived=together,
)
