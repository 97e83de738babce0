"""Measured runs of halo, and of stock TRL beside it, as fields of the halo profile.

A row states what ran; what it leaves out is the framework's default. Nothing here depends on
which model a row is about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import GIB, Misuse
from parsolve.constraints.memory.hardware import gpu_named
from parsolve.constraints.profile import Config
from parsolve.solver.huggingface import read_model_facts

HALO = PROFILES["halo"]
RUNS = Path(__file__).parent / "data" / "halo_memory.jsonl"

Row = Mapping[str, Any]

SAME_NAME = (
    "ep_size",
    "tp_size",
    "cp_size",
    "pp_size",
    "expert_tp_size",
    "ep_scope",
    "use_hsdp",
    "fsdp_defer_grad_sync",
    "fsdp_shard_ep1_experts",
    "gradient_accumulation_steps",
    "gradient_checkpointing",
    "packing",
    "ep_buffer_backend",
)
"""Keys of a row's configuration that are fields of the profile."""

TRL = "stock TRL"
"""The runs beside halo: FSDP2 with fp32 sharded weights, and Liger's fused loss throughout.

That the short ones fuse the loss too is read off their slope over tokens, which leaves no room
for logits; the page says it of the long ones.
"""


@dataclass(frozen=True)
class Run:
    """One run: where it stands, its configuration, and its peak in bytes (None: out of memory)."""

    row: Row
    config: Config
    peak: int | None

    @property
    def mode(self) -> str:
        """What distinguishes the run from others of its model."""
        config, given = self.config, self.row["config"]
        parts = ["TRL"] if TRL in given.get("framework", "") else []
        parts += [
            f"{name[:-5].replace('expert_tp', 'etp')}{config[name]}"
            for name in ("ep_size", "expert_tp_size", "tp_size", "cp_size")
            if config[name] > 1
        ]
        parts.append("ZeRO-3" if config["fsdp_reshard_after_forward"] else "ZeRO-2")
        parts += ["HSDP"] if config["use_hsdp"] else []
        parts += ["deferred gradients"] if config["fsdp_defer_grad_sync"] else []
        parts += ["fused loss"] if config["fused_linear_cross_entropy"] else []
        parts += [] if config["gradient_checkpointing"] else ["no recompute"]
        return ", ".join(parts)


def rows(path: Path = RUNS) -> list[Row]:
    """Every row of a file of runs."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def runs(path: Path = RUNS) -> Iterator[Run | str]:
    """The runs that state a peak, or that they ran out of memory; else why a row says neither."""
    for row in rows(path):
        name = str(row.get("id", "?"))
        out_of_memory = bool(row.get("oom"))
        if row.get("peak_mem_gib") is None and not out_of_memory:
            yield f"{name}: no peak stated"
        elif not row.get("seq_len") or not row.get("micro_batch"):
            yield f"{name}: no sequence length or micro-batch stated"
        else:
            try:
                config = HALO.config(fields(row))
            except Misuse as error:
                yield f"{name}: {error}"
                continue
            yield Run(row, config, None if out_of_memory else round(row["peak_mem_gib"] * GIB))


def fields(row: Row) -> dict[str, Any]:
    """The run as fields of the profile. Raises `Misuse` for a model that cannot be counted."""
    given = row["config"]
    model = read_model_facts(str(row["model"]))
    found: dict[str, Any] = {
        name: value
        for name, value in {**model.fields, **model.memory()}.items()
        if value and name in HALO.field_of
    }
    found |= cluster(str(row["gpus"]))
    found |= {"max_length": row["seq_len"], "per_device_train_batch_size": row["micro_batch"]}
    found |= {name: given[name] for name in SAME_NAME if name in given}
    if "ep1_experts_sharded" in given:
        found["fsdp_shard_ep1_experts"] = given["ep1_experts_sharded"]
    if "grouped_gemm" in given:
        found["use_grouped_gemm"] = given["grouped_gemm"]
    sharding = f"{given.get('fsdp', '')} {given.get('framework', '')}"
    found["fsdp_reshard_after_forward"] = "ZeRO-3" in sharding
    if "fp32 moments" in given.get("optimizer", ""):
        found["precision_policy"] = "fp32"
    if "fp32_non_ep_params" in given.get("master_regime", ""):
        found["fp32_non_ep_params"] = True
    trl = TRL in given.get("framework", "")
    found["fused_linear_cross_entropy"] = trl or "fused" in given.get("loss", "")
    return found


def cluster(gpus: str) -> dict[str, Any]:
    """``16x B300 (2x8)``: the world, the node and the GPU's memory."""
    match = re.match(r"(\d+)x\s*(\S+)(?:\s*\((\d+)x(\d+)\))?", gpus)
    if match is None:
        message = f"no cluster is read off {gpus!r}"
        raise Misuse(message)
    world, name, _, node = match.groups()
    size = {"world_size": int(world), "gpu_memory": gpu_named(name).memory}
    return {**size, "gpus_per_node": int(node or world)}
