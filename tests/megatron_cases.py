"""Recorded verdicts and rank groups of Megatron-Core 0.19.2."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parsolve.constraints.megatron import MEGATRON
from parsolve.constraints.profile import Config
from parsolve.constraints.rule import Rule

GROUPS = Path(__file__).parent / "data" / "megatron_groups.jsonl"
VERDICTS = Path(__file__).parent / "data" / "megatron_verdicts.jsonl"

FIELDS = {
    "world_size": "world_size",
    "tp": "tp_size",
    "pp": "pp_size",
    "cp": "cp_size",
    "ep": "ep_size",
    "etp": "expert_tp_size",
    "sp": "sequence_parallel",
    "vpp": "virtual_stages",
    "layers_per_vpp": "layers_per_virtual_stage",
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "groups": "num_key_value_heads",
    "experts": "num_experts",
    "mbs": "micro_batch",
    "gbs": "requested_global_batch",
    "seq": "seq_length",
    "dist_opt": "distributed_optimizer",
    "recompute": "recompute",
    "recompute_method": "recompute_method",
    "recompute_layers": "recompute_num_layers",
    "first_layers": "first_stage_layers",
    "last_layers": "last_stage_layers",
    "num_distributed_optimizer_instances": "optimizer_instances",
    "account_for_embedding_in_pipeline_split": "account_for_embedding",
    "account_for_loss_in_pipeline_split": "account_for_loss",
}
"""The keys of recorded inputs, and the fields of the profile that they are."""

STAGES = {
    "args": "arguments",
    "batch": "batch",
    "config": "config",
    "layers": "model",
    "groups": "groups",
    "runtime": "first-step",
}
"""The tool that recorded the verdicts asks for the layers of each stage before it makes process
groups; Megatron itself makes the groups first."""

AS_RECORDED = tuple(STAGES.values())


def recorded() -> Iterator[dict[str, Any]]:
    """Every row. The file's first line names what the others hold by position.

    A row is inputs, stage, and the place that refused or what was derived; the layers of equal
    pipeline ranks stand once, with their number.
    """
    with VERDICTS.open(encoding="utf-8") as lines:
        head = json.loads(next(lines))
        for line in lines:
            inputs, stage, outcome = json.loads(line)
            given = dict(zip(head["inputs"], inputs, strict=False))
            row = {"inputs": {key: value for key, value in given.items() if value is not None}}
            if isinstance(outcome, int):
                yield {**row, "accept": False, "stage": stage, "where": head["where"][outcome]}
                continue
            derived = dict(zip(head["derived"], outcome, strict=True))
            derived["sizes"] = dict(zip(head["sizes"], derived["sizes"], strict=True))
            ranks = derived["layers_per_stage"]
            derived["layers_per_stage"] = [rank for rank, count in ranks for _ in range(count)]
            yield {**row, "accept": True, "stage": stage, "where": "", "derived": derived}


def configured(inputs: Mapping[str, Any]) -> Config:
    """The configuration of a row, with what the tool always gave beside it."""
    given = {FIELDS[key]: value for key, value in inputs.items() if value is not None}
    is_moe = bool(inputs.get("experts"))
    return MEGATRON.config(
        {
            **given,
            "cuda_device_max_connections": 1,
            "gradient_accumulation_fusion": False,
            "max_position_embeddings": inputs["seq"],
            "bias_linear": not is_moe,
            "model_kind": "moe" if is_moe else "dense",
        }
    )


def broken(config: Config) -> list[Rule]:
    """Every violated rule, in Megatron's order."""
    return [MEGATRON.limits[index] for index in MEGATRON.violated(config.values)]


def first_as_recorded(rules: list[Rule]) -> Rule:
    """The rule that the recording tool meets first."""
    return min(rules, key=lambda rule: AS_RECORDED.index(rule.stage))


def group_rows() -> list[dict[str, Any]]:
    """What the real rank generator made of sizes."""
    with GROUPS.open(encoding="utf-8") as rows:
        return [json.loads(row) for row in rows]


def is_recorded_as(groups: list[list[int]], recorded: object) -> bool:
    """Groups of small worlds are recorded whole, of large ones as a digest of their JSON."""
    if isinstance(recorded, list):
        return groups == recorded
    text = json.dumps(groups, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16] == recorded
