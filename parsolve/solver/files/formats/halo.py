"""Training files of halo: the arguments of its trainers, as YAML or on a command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsolve.solver.files.format import MODEL, Format, Key

EXPERT_PROJECTIONS = frozenset({"gate_up_proj", "down_proj"})
"""Weights that all experts of a layer hold in one tensor: native LoRA adapts these."""


def adapters(given: Mapping[str, Any]) -> Mapping[str, tuple[str, Any]]:
    """Whether LoRA adapts the experts: it targets their weights, and the layers are wrapped."""
    key = "lora_target_modules"
    targets = given.get(key)
    ep_size = given.get("expert_parallel_size", 1)
    wrapped = given.get("use_grouped_gemm", True) or (isinstance(ep_size, int) and ep_size > 1)
    if not (given.get("use_peft") and wrapped and isinstance(targets, list)):
        return {}
    named = {target for target in targets if isinstance(target, str)}
    return {"expert_lora": (key, True)} if named & EXPERT_PROJECTIONS else {}


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
    derived=adapters,
)
