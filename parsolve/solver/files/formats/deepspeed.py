"""DeepSpeed's JSON: ZeRO, the batch triple, tensor and sequence parallelism.

Keys and defaults are those of deepspeed 0.19.8 (``runtime/config.py``, ``runtime/zero``,
``runtime/tensor_parallel/config.py``). No profile has DeepSpeed's own rules: arithmetic judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsolve.solver.files.format import AUTO, OFF, Format, Key, constant, switch

TRIPLE = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
"""DeepSpeed computes what is missing of them, and asserts the product."""


HALF = ("bf16.enabled", "fp16.enabled")


def absent(given: Mapping[str, Any]) -> Mapping[str, tuple[str, Any]]:
    """What DeepSpeed takes where a key is left out: no ZeRO, fp32, heads for the sequence."""
    said: dict[str, tuple[str, Any]] = {}
    if given.get("sequence_parallel_size", 1) != 1:
        said["cp_kind"] = ("", "ulysses")
    zero = given.get("zero_optimization", {})
    if isinstance(zero, bool):
        said["zero_stage"] = ("zero_optimization", "1" if zero else "0")
    elif "zero_optimization.stage" not in given:
        said["zero_stage"] = ("", "0")
    if not any(given.get(key) for key in HALF):
        said["precision_policy"] = ("", "fp32")
    return said


def triple(given: Mapping[str, Any], fields: Mapping[str, Any], world: int) -> Mapping[str, Any]:
    """What DeepSpeed computes of the batch triple, rounded down as it does."""
    if any(given.get(key) == "auto" for key in TRIPLE):
        return {}
    whole = fields.get("requested_global_batch")
    micro = fields.get("micro_batch")
    steps = fields.get("gradient_accumulation_steps")
    if micro is not None:
        return {} if whole is not None else {"gradient_accumulation_steps": 1}
    if whole is None:
        return {}
    split = (fields.get("tp_size"), fields.get("pp_size"), fields.get("cp_size"))
    ranks = world
    for size in split:
        ranks //= size or 1
    steps = steps or 1
    return {
        "gradient_accumulation_steps": steps,
        "micro_batch": max(1, whole // max(1, ranks) // steps),
    }


STAGES = constant("auto", AUTO) | {(int, stage): str(stage) for stage in range(4)}
OFFLOAD = {(str, "cpu"): True, (str, "nvme"): True, (str, "none"): False}

DEEPSPEED = Format(
    name="deepspeed",
    title="DeepSpeed configuration",
    kinds=frozenset({"json", "yaml"}),
    profile_name="generic",
    once=True,
    judged_by_another=True,
    marks=frozenset(
        {
            "train_batch_size",
            "train_micro_batch_size_per_gpu",
            "zero_optimization",
            "zero_optimization.stage",
            "tensor_parallel.autotp_size",
            "sequence_parallel_size",
            "bf16.enabled",
            "fp16.enabled",
        }
    ),
    keys=(
        Key(path="train_batch_size", of="requested_global_batch", values=constant("auto", AUTO)),
        Key(
            path="train_micro_batch_size_per_gpu",
            of="micro_batch",
            values=constant("auto", AUTO),
        ),
        Key(
            path="gradient_accumulation_steps",
            of="gradient_accumulation_steps",
            values=constant("auto", AUTO),
        ),
        Key(path="zero_optimization.stage", of="zero_stage", values=STAGES),
        Key(
            path="zero_optimization.offload_optimizer.device",
            of="optimizer_offload",
            values=OFFLOAD,
        ),
        Key(path="tensor_parallel.autotp_size", of="tp_size", values=constant(0, 1)),
        Key(path="sequence_parallel_size", of="cp_size"),
        *(
            Key(
                path=path,
                of="precision_policy",
                values=switch(on="mixed-adam", off=OFF) | constant("auto", AUTO),
            )
            for path in HALF
        ),
    ),
    sections=(),
    derived=absent,
    filled=triple,
    remarks={
        "pipeline.stages": "DeepSpeed takes the stages from its PipelineModule, not from here; "
        "give --pp",
    },
)
