"""The framework's recorded verdicts as inputs of the halo profile.

A row of `data/halo_verdicts.jsonl` names its inputs as the framework's tests do, and leaves out
what the tested function never reads. `fields_of` spells a row as fields of the profile and adds the
least that lets the whole gate reach the rule under test; every addition is said here.
"""

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Fields = dict[str, Any]

PATH = Path(__file__).parent / "data" / "halo_verdicts.jsonl"

GATES = ("config", "cli_builder", "release", "model_shape", "token_budget", "trainer")
"""The gates that a whole configuration passes; the others ask single objects or live ranks."""

GATES_BEHIND_RELEASE = ("config", "model_shape", "token_budget", "trainer")
"""Gates whose rows enter after the entry script, where PP is still a question."""

SAME_NAME = (
    "world_size",
    "gpus_per_node",
    "nvlink_domain_size",
    "ep_size",
    "expert_tp_size",
    "tp_size",
    "cp_size",
    "pp_size",
    "ep_scope",
    "pp_schedule",
    "pp_microbatches",
    "pp_split",
    "max_concurrent_loading",
    "use_grouped_gemm",
    "fsdp_reshard_after_forward",
    "fsdp_reshard_after_backward",
    "fsdp_defer_grad_sync",
    "fsdp_shard_ep1_experts",
    "use_hsdp",
    "lowp_precision",
    "lowp_apply_moe_experts",
    "lowp_keep_first_blocks",
    "fp32_non_ep_params",
    "fp32_grad_reduce",
    "merge_expert_lora_on_save",
    "num_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "hidden_size",
    "max_position_embeddings",
    "quantized",
    "model_type",
    "max_length",
    "use_peft",
    "save_sharded_ep",
    "shared_filesystem",
)

READ_OTHERWISE = (
    "allow_low_precision",
    "attention_wrapper",
    "cp",
    "data_parallel_size",
    "ep",
    "expert_lora_r",
    "expert_tp",
    "model",
    "model_family",
    "model_has_ep_layers",
    "num_attention_heads_per_layer",
    "num_key_value_heads",
    "per_device_rows",
    "per_device_train_batch_size",
    "pp",
    "precompute_ref_log_probs",
    "quantization_signal",
    "reference_model",
    "rows_per_example",
    "trainer",
)

UNREAD = {
    "config_layout": "where config.json nests its numbers; the fields are read already",
    "expert_lora_alpha": "strength of the adapter that expert_lora_r announces",
    "rank": "whose view is asked for; the verdict is the job's",
    "via": "the entry script, which is what the release gate means",
}

TRAINERS = {
    "dpo/kto": "dpo",
    "other (base mixin default)": "unspecified",
}

RESHAPED: dict[str, tuple[Fields, str]] = {
    "t0201": (
        {"world_size": 3, "gpus_per_node": 3, "nvlink_domain_size": 3},
        "the test sets ep_size = 3 after an 8-rank config was accepted",
    ),
    "t0203": (
        {"world_size": 3, "gpus_per_node": 3, "nvlink_domain_size": 3},
        "the test sets ep_size = 3 after an 8-rank config was accepted",
    ),
    "t0204": (
        {"world_size": 3, "gpus_per_node": 3, "nvlink_domain_size": 3},
        "the test sets expert_tp_size = 3 after an 8-rank config was accepted",
    ),
}
"""Rows that bypass the topology rules, in the smallest job that holds their axis."""

SKIPPED: dict[str, str] = {}
"""Row id to the reason why no configuration can stand for it."""

SEED_VERDICTS: dict[str, tuple[str, str, str]] = {
    "t0587": (
        "reject",
        "trainer-no-cp",
        "the newer commit lets offline GRPO split the context; the seed refuses it",
    ),
    "t0629": (
        "reject",
        "trainer-tp-lora",
        "this commit lets a dense SFT run train LoRA under pure TP; the seed never does",
    ),
}
"""Rows of another version: the seed's verdict, its rule, and what they disagree about."""

EARLIER_RULE: dict[str, tuple[str, str]] = {
    "t0632": ("axis-set-unsupported", "TP with expert TP never reaches a trainer"),
    "t0633": ("axis-set-unsupported", "TP with CP never reaches a trainer"),
    "t0634": ("axis-set-unsupported", "TP with PP never reaches a trainer"),
}
"""Rows that ask a trainer about a config the config object refuses first."""

RULES_OF_HINT: dict[str, frozenset[str]] = {
    # config
    "EP group exceeds the world": frozenset({"ep-global-group-exceeds-stage"}),
    "CP must divide the NVLink domain": frozenset({"cp-not-dividing-domain"}),
    "NVLink domain must be positive": frozenset({"nvlink-domain-negative"}),
    "PP must divide the world": frozenset({"world-not-multiple-of-pp"}),
    "PP stage must own whole NVLink domains": frozenset({"pp-stage-not-whole-domains"}),
    "PP-only knob set while PP is off": frozenset(
        {
            "pp-knob-split-without-pp",
            "pp-knob-microbatches-without-pp",
            "pp-knob-schedule-without-pp",
        }
    ),
    "TP exceeds the (stage) world": frozenset({"tp-exceeds-stage"}),
    "TP must divide the (stage) world": frozenset({"tp-not-dividing-stage"}),
    "TP must divide the NVLink domain": frozenset({"tp-not-dividing-domain"}),
    "TP must divide the NVLink domain (an EP tiling guard may fire first)": frozenset(
        {
            "tp-not-dividing-domain",
            "ep-global-not-multiple-of-domains",
            "ep-global-block-not-dividing-domain",
        }
    ),
    "ZeRO-3 not allowed with TP and data parallelism": frozenset({"fsdp-full-shard-with-tp-dp"}),
    "axis set not supported: EP with ETP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: EP with ETP with TP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: EP with ETP with TP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: EP with TP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: ETP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: ETP with TP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: ETP with TP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with EP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with EP with ETP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with EP with ETP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with EP with ETP with TP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with EP with ETP with TP with CP": frozenset(
        {"axis-set-unsupported"}
    ),
    "axis set not supported: PP with EP with TP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with EP with TP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with ETP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with ETP with TP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with ETP with TP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with TP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: PP with TP with CP": frozenset({"axis-set-unsupported"}),
    "axis set not supported: TP with CP": frozenset({"axis-set-unsupported"}),
    "axis size below one": frozenset(
        {"size-ep-min", "size-tp-min", "size-cp-min", "size-etp-min", "size-pp-min"}
    ),
    "deferred gradient sync contradicts ZeRO-3": frozenset({"fsdp-defer-vs-full-shard"}),
    "deferred gradient sync has nothing to defer under PP": frozenset(
        {"fsdp-defer-without-reduce"}
    ),
    "expert LoRA not with PP": frozenset({"pp-expert-lora"}),
    "expert TP must divide the NVLink domain": frozenset({"etp-not-dividing-domain"}),
    "global EP group must split into equal blocks over the domains": frozenset(
        {"ep-global-not-multiple-of-domains", "ep-global-block-not-dividing-domain"}
    ),
    "keeping params unsharded after backward contradicts ZeRO-3": frozenset(
        {"fsdp-backward-keep-vs-full-shard"}
    ),
    "keeping params unsharded after backward not wired for PP": frozenset(
        {"fsdp-backward-keep-with-tp-or-pp"}
    ),
    "keeping params unsharded after backward not wired for TP": frozenset(
        {"fsdp-backward-keep-with-tp-or-pp"}
    ),
    "kept-block count must not be negative": frozenset({"lowp-keep-blocks-min"}),
    "node-scope EP group exceeds the NVLink domain": frozenset({"ep-node-group-exceeds-domain"}),
    "node-scope EP group must divide the NVLink domain": frozenset(
        {"ep-node-group-not-dividing-domain"}
    ),
    "pipeline microbatch count must not be negative": frozenset({"pp-microbatches-min"}),
    "several EP dispatch groups across NVLink domains combined with expert TP": frozenset(
        {"ep-etp-multi-domain-multi-group"}
    ),
    "unknown pipeline schedule": frozenset({"pp-schedule-enum"}),
    "unsharded ep1 experts not honoured under CP": frozenset({"fsdp-unsharded-ep1-with-tp-or-cp"}),
    "unsharded ep1 experts not with PP": frozenset({"pp-unsharded-ep1-experts"}),
    # release, cli_builder
    "PP not available in this release": frozenset({"pp-release-gate"}),
    "low precision only for trainers that allow it (SFT)": frozenset({"lowp-non-sft"}),
    "trainer does not support context parallelism": frozenset({"trainer-no-cp"}),
    # model_shape
    "TP would shard no attention layer of this family": frozenset(
        {"tp-attention-class-unsupported"}
    ),
    "attention heads must divide by TP size (every per-layer count)": frozenset(
        {"tp-heads-not-divisible"}
    ),
    "expert TP must divide the expert FFN width": frozenset({"expert-ffn-not-divisible-by-etp"}),
    "expert count must divide by EP size": frozenset({"experts-not-divisible-by-ep"}),
    "fp32 non-EP params with FSDP-managed ep1 experts (mixed dtype shard group)": frozenset(
        {"fp32-non-ep-with-fsdp-managed-experts"}
    ),
    "model family has no CP attention wrapper": frozenset({"cp-attention-class-unsupported"}),
    # token_budget
    "cross-node dispatch tokens per rank above the ceiling": frozenset(
        {"ep-token-budget-gin-ceiling"}
    ),
    "dispatch arena index overflows 32 bits (tokens per rank x top-k x padded hidden)": frozenset(
        {"ep-token-budget-wire-index"}
    ),
    # trainer
    "LoRA under TP not with a quantised base": frozenset(
        {"qlora-with-ep-tp-pp-or-grouped-gemm-moe"}
    ),
    "LoRA under TP only for dense models": frozenset({"trainer-tp-lora"}),
    "LoRA under TP only in pure TP with dp 1": frozenset({"trainer-tp-lora"}),
    "LoRA/PEFT not with TP": frozenset({"trainer-tp-lora"}),
    "live reference model not possible under PP": frozenset({"pp-trainer-live-ref-model"}),
    "sharded EP save precondition: family has no registered EP layer class": frozenset(
        {"sharded-save-family-unregistered"}
    ),
    "sharded EP save precondition: needs EP layers": frozenset({"sharded-save-no-ep-layers"}),
    "sharded EP save precondition: no merge-on-save of expert LoRA": frozenset(
        {"sharded-save-with-merge"}
    ),
    "sharded EP save precondition: not with CP": frozenset({"sharded-save-cp"}),
    "sharded EP save precondition: shared filesystem needed on several nodes": frozenset(
        {"sharded-save-no-shared-filesystem"}
    ),
}
"""What a recorded reason is called here. A quantised base is refused at load, before its LoRA."""


def rows(gates: tuple[str, ...] = GATES) -> list[Row]:
    """The recorded rows of some gates, in file order."""
    with PATH.open(encoding="utf-8") as lines:
        every: list[Row] = [json.loads(line) for line in lines]
    return [row for row in every if row["gate"] in gates]


def verdict_of(row: Row) -> str:
    """`accept` or `reject`, by the seed where versions differ."""
    if row["id"] in SEED_VERDICTS:
        return SEED_VERDICTS[row["id"]][0]
    verdict: str = row["verdict"]
    return verdict


def rules_of(row: Row) -> frozenset[str] | None:
    """The rules that may be the first to refuse a row; None when the row names no reason."""
    if row["id"] in SEED_VERDICTS:
        return frozenset({SEED_VERDICTS[row["id"]][1]})
    if row["id"] in EARLIER_RULE:
        return frozenset({EARLIER_RULE[row["id"]][0]})
    hint = row.get("rule_hint")
    return None if hint is None else RULES_OF_HINT[hint]


def fields_of(row: Row) -> Fields | None:
    """A row's inputs as fields of the halo profile; None when it is in SKIPPED."""
    if row["id"] in SKIPPED:
        return None
    given: Row = row["inputs"]
    strangers = set(given) - set(SAME_NAME) - set(READ_OTHERWISE) - set(UNREAD)
    if strangers:
        raise KeyError(f"{row['id']} has inputs that no field stands for: {sorted(strangers)}")
    fields: Fields = {name: given[name] for name in SAME_NAME if name in given}
    _add_axes_by_name(given, fields)
    _add_world(given, fields)
    _add_model(given, fields)
    _add_run(given, fields)
    if row["id"] in RESHAPED:
        fields |= RESHAPED[row["id"]][0]
    if row["gate"] in GATES_BEHIND_RELEASE and fields.get("pp_size", 1) > 1:
        fields["assume_pp"] = True
        if "trainer" in fields:
            fields.setdefault("max_length", 4096)  # a trainer needs one before the rule in question
    return fields


def _add_axes_by_name(given: Row, fields: Fields) -> None:
    """`ep: true` and the like: an axis that is on, at an unstated size."""
    for name, field in (
        ("ep", "ep_size"),
        ("expert_tp", "expert_tp_size"),
        ("cp", "cp_size"),
        ("pp", "pp_size"),
    ):
        if given.get(name):
            fields[field] = 2
    if given.get("save_sharded_ep") and "ep_size" not in fields:
        fields["ep_size"] = given.get("world_size", 1)  # a sharded save needs one whole group


def _add_world(given: Row, fields: Fields) -> None:
    """The smallest job for rows that state axes, or axes and data-parallel size, only."""
    if "world_size" not in fields:
        width = max(fields.get(axis, 1) for axis in ("ep_size", "tp_size", "cp_size"))
        fields["world_size"] = given.get("data_parallel_size", 1) * width


def _add_model(given: Row, fields: Fields) -> None:
    """Facts of the checkpoint under the row's own names."""
    if "model" in given:
        fields["model_kind"] = given["model"]
    if given.get("model_family") == "step3p7":
        fields["model_kind"] = "moe"
        fields["attention_class"] = "other"  # the family is in neither attention registry
    if given.get("model_has_ep_layers") is False:
        fields["model_kind"] = "dense"
    if "num_attention_heads_per_layer" in given:
        fields["num_attention_heads"] = given["num_attention_heads_per_layer"]
    if "num_key_value_heads" in given:
        fields["num_key_value_heads"] = [given["num_key_value_heads"]]
    if "quantization_signal" in given:
        fields["quantized"] = True


def _add_run(given: Row, fields: Fields) -> None:
    """Trainer, adapters and batch under the row's own names."""
    if "trainer" in given:
        fields["trainer"] = TRAINERS.get(given["trainer"], given["trainer"])
    if given.get("allow_low_precision") is False:
        fields["trainer"] = "dpo"  # any trainer but SFT
    if "expert_lora_r" in given or given.get("merge_expert_lora_on_save"):
        fields["expert_lora"] = True  # merging is about adapters that exist
    if "reference_model" in given:
        fields["reference_model"] = given["reference_model"] or "none"
    if given.get("precompute_ref_log_probs"):
        fields["reference_model"] = "precomputed"
    if "per_device_rows" in given:
        fields["ep_rows_per_device"] = given["per_device_rows"]
    if "rows_per_example" in given:
        fields["per_device_train_batch_size"] = given["per_device_train_batch_size"]
        fields["trainer"] = {1: "sft", 2: "dpo"}[given["rows_per_example"]]
