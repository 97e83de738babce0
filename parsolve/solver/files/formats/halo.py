"""Training files of halo: the arguments of its trainers, as YAML or on a command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsolve.solver.files.format import MODEL, Format, Key

EXPERT_PROJECTIONS = frozenset({"gate_up_proj", "down_proj"})
"""Weights that all experts of a layer hold in one tensor: native LoRA adapts these."""


PROMPT, COMPLETION = "max_prompt_length", "max_completion_length"


def together(given: Mapping[str, Any]) -> Mapping[str, tuple[str | tuple[str, ...], Any]]:
    """What several arguments say: adapted experts, and the longest example of a rollout."""
    said: dict[str, tuple[str | tuple[str, ...], Any]] = {}
    key = "lora_target_modules"
    targets = given.get(key)
    ep_size = given.get("expert_parallel_size", 1)
    wrapped = given.get("use_grouped_gemm", True) or (isinstance(ep_size, int) and ep_size > 1)
    if given.get("use_peft") and wrapped and isinstance(targets, list):
        named = {target for target in targets if isinstance(target, str)}
        if named & EXPERT_PROJECTIONS:
            said["expert_lora"] = (key, True)
    lengths = (given.get(PROMPT), given.get(COMPLETION))
    if given.get("max_length") is None and all(type(each) is int for each in lengths):
        said["max_length"] = ((PROMPT, COMPLETION), sum(filter(None, lengths)))
    return said


def in_vain(_given: Mapping[str, Any], fields: Mapping[str, Any], _world: int) -> Mapping[str, Any]:
    """A dense model has no experts that an adapter could train."""
    adapts = fields.get("expert_lora") is True and fields.get("model_kind") == "dense"
    return {"expert_lora": None} if adapts else {}


HALO = Format(
    name="halo",
    title="halo training arguments",
    kinds=frozenset({"yaml", "json", "script"}),
    profile_name="halo",
    marks=frozenset(
        {
            "expert_parallel_size",
            "tensor_parallel_size",
            "pipeline_parallel_size",
            "context_parallel_size",
            "expert_tensor_parallel_size",
            "ep_scope",
            "per_device_train_batch_size",
            "model_name_or_path",
        }
    ),
    keys=(Key(path="model_name_or_path", of=MODEL),),
    derived=together,
    filled=in_vain,
)
