"""Megatron-LM's command line: the profile's own options, and what their absence means there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsolve.solver.files.format import ENVIRONMENT, Format, Key


def absent(given: Mapping[str, Any]) -> Mapping[str, tuple[str, Any]]:
    """What Megatron takes where an option is left out.

    Weights are in fp32, there are no experts, and groups of queries count only beside
    ``--group-query-attention``, where one is its default (``megatron/training/arguments.py``).
    """
    said: dict[str, tuple[str, Any]] = {}
    if not given.get("bf16") and not given.get("fp16"):
        said["precision"] = ("", "fp32")
    if not given.get("num_experts"):
        said["model_kind"] = ("", "dense")
    if not given.get("group_query_attention"):
        said["num_key_value_heads"] = ("", None)
    elif "num_query_groups" not in given:
        said["num_key_value_heads"] = ("group_query_attention", 1)
    return said


CONNECTIONS = Key(
    path=f"{ENVIRONMENT}CUDA_DEVICE_MAX_CONNECTIONS", of="cuda_device_max_connections"
)

MEGATRON = Format(
    name="megatron",
    title="Megatron-LM arguments",
    kinds=frozenset({"script"}),
    profile_name="megatron",
    marks=frozenset(
        {
            "tensor_model_parallel_size",
            "pipeline_model_parallel_size",
            "expert_model_parallel_size",
            "micro_batch_size",
            "global_batch_size",
            "num_layers",
            "num_attention_heads",
        }
    ),
    keys=(CONNECTIONS,),
    derived=absent,
)
