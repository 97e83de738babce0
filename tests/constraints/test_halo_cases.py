"""The catalogue against recorded facts: the framework's tests, its recipes, public threads."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any as Anything

import pytest

from parsolve.constraints import PROFILES
from tests.halo_cases import GATES, Row, fields_of, rows, rules_of, verdict_of

HALO = PROFILES["halo"]
DERIVED = {quantity.name for quantity in HALO.derived}
DATA = Path(__file__).parents[1] / "data"


def lines(name: str) -> list[Row]:
    with (DATA / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def first_rule(fields: dict[str, Anything]) -> str | None:
    violated = HALO.violated(HALO.config(fields).values)
    return HALO.rules[violated[0]].id if violated else None


# Verdicts of the framework's own tests and documents.

ROWS = [(row, fields) for row in rows() if (fields := fields_of(row)) is not None]
OTHER_KEYS = {
    "active_axes", "chains", "contiguous_cover", "cp_size", "data_parallel_rank_of_rank3",
    "distinct_data_parallel_ranks", "ep_group_ranks", "ep_group_ranks_rank3", "ep_groups",
    "ep_groups_confined_to_stage", "ep_size", "every_stage_nonempty", "expert_range_dispatch_rank3",
    "expert_range_rank0", "expert_replica_group_size", "expert_replicas_confined_to_stage",
    "expert_tp_size", "fp32_non_ep_params", "fsdp_shard_ep1_experts", "global_rank",
    "last_stage_layers", "limit_tokens_per_rank_exclusive", "loads_reference", "lowp_precision",
    "mode_string", "node_never_straddles_stage", "num_ep_groups_is_per_stage", "pp_chain_length",
    "pp_rank", "pp_size", "pp_split", "shared_fs_writers", "stage_base_rank", "stage_bounds",
    "stage_layers", "stage_local_rank", "stages", "suggested_ep_sizes", "warns_dense_replica",
    "per_node_fs_writers",
}  # fmt: skip
"""Recorded values that are echoes of inputs, facts of one rank, or layouts of whole groups."""


@pytest.mark.parametrize(
    ("row", "fields"), ROWS, ids=[f"{row['gate']}-{row['id']}" for row, _ in ROWS]
)
def test_recorded_verdict(row: Row, fields: dict[str, Anything]) -> None:
    config = HALO.config(fields)
    first = first_rule(fields)
    assert config.accepted() == (verdict_of(row) == "accept"), first
    if verdict_of(row) == "accept":
        derived = HALO.derive(config.values)
        recorded = {k: v for k, v in row.get("derived", {}).items() if k in DERIVED}
        assert {name: derived.get(name) for name in recorded} == recorded
    else:
        allowed = rules_of(row)
        assert allowed is None or first in allowed


def test_the_recorded_rows_are_many_and_their_quantities_are_compared() -> None:
    assert len(ROWS) == 339
    assert Counter(verdict_of(row) for row, _ in ROWS)["reject"] > 100
    recorded = Counter(key for row, _ in ROWS for key in row.get("derived", {}))
    assert sum(n for key, n in recorded.items() if key in DERIVED) > 60
    assert set(recorded) - DERIVED <= OTHER_KEYS


LAUNCHERS = {
    "torchrun": "torchrun",
    "accelerate multi-gpu (DDP)": "accelerate",
    "accelerate FSDP": "accelerate",
}
FAMILIES = {
    "gemma4": {"model_type": "gemma4"},
    "zaya": {"model_type": "zaya"},
    "qwen3": {"model_type": "qwen3", "model_kind": "dense"},
}
LOAD_RULES = {
    "EP/CP/TP need torchrun, not accelerate launch": "accelerate-launch-with-custom-axes",
    "fp32 training not with EP dispatch": "fp32-training-with-ep",
    "family refuses fp32 non-EP params under EP": "fp32-non-ep-family-unsupported",
    "family refuses gradient checkpointing": "trainer-ep-gc-family-unsupported",
    "random initialisation only on dense data-parallel runs": "init-from-scratch-with-axes",
}
RUN_TIME_ROWS = {"t0627": "a TP plan that shards nothing is known only once the model is loaded"}
LOADED = [row for row in rows(("launch", "load")) if row["id"] not in RUN_TIME_ROWS]


@pytest.mark.parametrize("row", LOADED, ids=[row["id"] for row in LOADED])
def test_recorded_verdict_of_launcher_and_loader(row: Row) -> None:
    fields = dict(row["inputs"])
    fields.setdefault("world_size", fields.get("ep_size", 1))
    if "launcher" in fields:
        fields["launcher"] = LAUNCHERS[fields["launcher"]]
    if "model" in fields:
        fields["model_kind"] = fields.pop("model")
    fields |= FAMILIES.get(fields.pop("model_family", ""), {})
    rule = LOAD_RULES[row["rule_hint"]] if row["verdict"] == "reject" else None
    assert first_rule(fields) == rule


def test_launcher_and_loader_rows_are_all_replayed_but_one() -> None:
    assert len(LOADED) == 17
    assert set(RUN_TIME_ROWS) == {"t0627"}
    assert not {"launch", "load"} & set(GATES)


# Shipped recipes.

NOT_OF_THE_PROFILE = (
    "kl_beta",
    "lora_alpha",
    "lora_dropout",
    "lora_modules_to_save",
    "lora_target_modules",
    "max_completion_length",
    "max_prompt_length",
    "num_generations",
    "optim",
    "reference_kl_coef",
    "rollout_max_tokens",
    "teacher_model",
)
"""Keys of the recipes that no field stands for; the adapter's targets are read below."""

EXPERT_TARGETS = {"gate_up_proj", "down_proj"}
DENSE_MODELS = {"Qwen/Qwen3.5-9B"}
ASSUMED_NODE = {None: 8}
"""The rack's recipe leaves the node open; any multiple that tiles the domain of 72 does."""

RECIPES = lines("halo_recipes.jsonl")


def recipe_fields(recipe: Row) -> dict[str, Anything]:
    """A recipe as fields of the profile, spelled as its file spells them."""
    given = recipe["fields"]
    topology = recipe["topology"]
    fields = {name: value for name, value in given.items() if name not in NOT_OF_THE_PROFILE}
    fields["world_size"] = topology["world_size"]
    fields["gpus_per_node"] = ASSUMED_NODE.get(topology["gpus_per_node"], topology["gpus_per_node"])
    fields["trainer"] = recipe["trainer"]
    is_dense = recipe["model"] in DENSE_MODELS
    fields["model_kind"] = "dense" if is_dense else "moe"
    wrapped = given.get("expert_parallel_size", 1) > 1 or given.get("use_grouped_gemm", True)
    targets = set(given.get("lora_target_modules", ()))
    if given.get("use_peft") and targets & EXPERT_TARGETS and wrapped and not is_dense:
        fields["expert_lora"] = True
    return fields


@pytest.mark.parametrize(
    "recipe", RECIPES, ids=[f"{n}-{Path(r['source']).stem}" for n, r in enumerate(RECIPES)]
)
def test_a_shipped_recipe_is_accepted(recipe: Row) -> None:
    assert recipe["verdict"] == "accept"
    config = HALO.config(recipe_fields(recipe))
    assert [HALO.rules[i].id for i in HALO.violated(config.values)] == []


def test_the_recipes_say_something() -> None:
    """Their axes, adapters and trainers reach the catalogue; what is skipped is all listed."""
    configs = [HALO.config(recipe_fields(recipe)) for recipe in RECIPES]
    assert len(configs) == 38
    assert {config["ep_size"] for config in configs} == {1, 2, 4, 8, 16}
    assert len({config["trainer"] for config in configs}) >= 9
    assert sum(config["expert_lora"] for config in configs) == 4
    keys = {key for recipe in RECIPES for key in recipe["fields"]}
    assert keys - set(HALO.spellings) == set(NOT_OF_THE_PROFILE)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"expert_parallel_size": 4}, "ep-single-domain-multi-group"),
        ({"expert_parallel_size": 3}, "ep-node-group-not-dividing-domain"),
        ({"fsdp_reshard_after_forward": True}, "fsdp-full-shard-with-expert-group"),
        ({"pipeline_parallel_size": 2}, "pp-release-gate"),
    ],
)
def test_a_spoilt_recipe_is_rejected(change: dict[str, Anything], rule: str) -> None:
    """The first recipe (eight EP ranks on one node) with one key changed."""
    assert first_rule(recipe_fields(RECIPES[0]) | change) == rule


# Public threads.

THREAD_KEYS = {
    "world": "world_size",
    "gpus_per_node": "gpus_per_node",
    "tp": "tp_size",
    "cp": "cp_size",
    "ep": "ep_size",
    "etp": "expert_tp_size",
    "nvlink_domain": "nvlink_domain_size",
    "ep_scope": "ep_scope",
}
UNREAD_THREAD_KEYS = ("dispatcher",)
VERDICTS = {"accept": True, "reject": False, "hang": False}


def thread_cases() -> list[tuple[str, dict[str, Anything], bool]]:
    """Each thread's configuration and its variants, with whether it runs."""
    cases = []
    for thread in lines("halo_threads.jsonl"):
        told = {k: v for k, v in thread["inputs"].items() if k not in UNREAD_THREAD_KEYS}
        versions: list[tuple[Row, str]] = [({}, thread["truth"])]
        versions += [(variant["change"], variant["truth"]) for variant in thread["variants"]]
        for number, (change, truth) in enumerate(versions):
            fields = {THREAD_KEYS[key]: value for key, value in {**told, **change}.items()}
            cases.append((f"{thread['id']}-{number}", fields, VERDICTS[truth]))
    return cases


@pytest.mark.parametrize(
    ("fields", "runs"),
    [case[1:] for case in thread_cases()],
    ids=[case[0] for case in thread_cases()],
)
def test_a_thread_is_judged_as_it_went(fields: dict[str, Anything], runs: bool) -> None:  # noqa: FBT001
    assert HALO.config(fields).accepted() == runs


def test_the_threads_about_the_race_name_it() -> None:
    assert len(thread_cases()) == 9
    (name, fields, _), *_ = thread_cases()
    assert name == "B43-0"
    assert first_rule(fields) == "ep-single-domain-multi-group"
