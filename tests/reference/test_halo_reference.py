"""The imperative halo gate against the framework's recorded verdicts, and on its own."""

import dataclasses
import inspect
import itertools
from typing import Any

import pytest

from parsolve.reference.halo import Derived, Rejected, validate
from tests.halo_cases import (
    EARLIER_RULE,
    GATES,
    RESHAPED,
    RULES_OF_HINT,
    SEED_VERDICTS,
    SKIPPED,
    Row,
    fields_of,
    rows,
    rules_of,
    verdict_of,
)

DERIVED = frozenset(field.name for field in dataclasses.fields(Derived))
ROWS = [row for row in rows() if row["id"] not in SKIPPED]


def accepted(**fields: Any) -> Derived:  # noqa: ANN401 - fields of every type
    return validate(**fields)


def refusal(**fields: Any) -> Rejected:  # noqa: ANN401 - fields of every type
    with pytest.raises(Rejected) as caught:
        validate(**fields)
    return caught.value


def first_rule(**fields: Any) -> str:  # noqa: ANN401 - fields of every type
    return refusal(**fields).rule


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['gate']}-{row['id']}" for row in ROWS])
def test_recorded_verdict(row: Row) -> None:
    fields = fields_of(row)
    assert fields is not None
    if verdict_of(row) == "accept":
        derived = dataclasses.asdict(validate(**fields))
        expected = {k: v for k, v in row.get("derived", {}).items() if k in DERIVED}
        assert {name: derived[name] for name in expected} == expected
    else:
        refused = refusal(**fields)
        allowed = rules_of(row)
        assert allowed is None or refused.rule in allowed, refused


def test_every_row_is_accounted_for() -> None:
    ids = [row["id"] for row in rows()]
    assert len(ids) == len(set(ids)) == 339
    assert {*SKIPPED, *RESHAPED, *SEED_VERDICTS, *EARLIER_RULE} <= set(ids)


def test_every_hint_is_translated_and_no_other() -> None:
    assert {row["rule_hint"] for row in rows(GATES) if "rule_hint" in row} == set(RULES_OF_HINT)


def test_message_carries_the_numbers() -> None:
    refused = refusal(world_size=8, ep_size=4)
    assert refused.rule == "ep-single-domain-multi-group"
    assert "ep_size = 4 > 2" in refused.message
    assert "nvlink_domain_size = 8 > ep_group_size = 4" in refused.message


def test_fields_are_keywords_with_defaults_except_the_world() -> None:
    parameters = inspect.signature(validate).parameters.values()
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
    assert [p.name for p in parameters if p.default is p.empty] == ["world_size"]


def test_defaults_on_one_node() -> None:
    assert validate(world_size=8) == Derived(
        gpus_per_node=8,
        nvlink_domain_size=8,
        ep_scope="node",
        stage_world_size=8,
        ep_group_size=1,
        num_nodes=1,
        num_nvlink_domains=1,
        data_parallel_size=8,
        num_ep_groups=8,
        requires_rdma=False,
        is_ep_mode=False,
        needs_ep_wrappers=True,
        experts_fsdp_managed=True,
        is_hsdp=False,
        dp_shard_size=8,
        dp_replicate_size=1,
        is_deferred_dp=False,
        defer_grad_sync=False,
        fsdp_width=8,
    )


# The first failure wins.


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"trainer": "dpo", "lowp_precision": "fp8", "cp_size": 2, "pp_size": 2}, "lowp-non-sft"),
        (
            {"trainer": "dpo", "lowp_keep_first_blocks": -1, "cp_size": 2},
            "lowp-shape-knob-non-sft",
        ),
        ({"trainer": "dpo", "init_from_scratch": True, "cp_size": 2}, "init-from-scratch-non-sft"),
        ({"trainer": "embedding", "cp_size": 2, "pp_size": 2}, "trainer-no-cp"),
        ({"trainer": "embedding", "pp_size": 2, "assume_pp": True}, "trainer-no-pp"),
        ({"trainer": "sft", "pp_size": 2, "ep_size": 0}, "pp-release-gate"),
        ({"ep_size": 0, "tp_size": 0, "ep_scope": "far"}, "size-ep-min"),
        ({"ep_buffer_backend": "v3", "tp_size": 2, "cp_size": 2}, "ep-buffer-backend-enum"),
        ({"tp_size": 2, "cp_size": 2, "gpus_per_node": 3}, "axis-set-unsupported"),
        ({"gpus_per_node": 3, "nvlink_domain_size": -1}, "world-not-multiple-of-node"),
        ({"gpus_per_node": -8, "nvlink_domain_size": -1}, "gpus-per-node-nonpositive"),
        ({"nvlink_domain_size": -1, "pp_microbatches": 2}, "nvlink-domain-negative"),
        ({"pp_microbatches": 2, "pp_schedule": "gpipe"}, "pp-knob-microbatches-without-pp"),
        ({"pp_size": 2, "assume_pp": True, "use_hsdp": True}, "pp-stage-not-whole-domains"),
        ({"tp_size": 3, "use_hsdp": True}, "tp-not-dividing-stage"),
        ({"ep_size": 4, "use_hsdp": True}, "ep-single-domain-multi-group"),
        ({"ep_size": 8, "cp_size": 2, "fsdp_shard_ep1_experts": False, "lowp_precision": "x"},
         "fsdp-unsharded-ep1-with-tp-or-cp"),
        ({"lowp_precision": "fp8", "lowp_keep_last_blocks": -1, "quantized": True},
         "lowp-keep-blocks-min"),
        ({"ep_size": 8, "launcher": "accelerate", "dtype": "fp32"},
         "accelerate-launch-with-custom-axes"),
        ({"ep_size": 8, "num_experts": 9, "model_kind": "moe", "quantized": True},
         "experts-not-divisible-by-ep"),
        ({"tp_size": 2, "quantized": True, "use_peft": True},
         "qlora-with-ep-tp-pp-or-grouped-gemm-moe"),
        ({"tp_size": 2, "expert_lora": True, "use_peft": True}, "trainer-tp-expert-lora"),
        ({"save_sharded_ep": True, "merge_expert_lora_on_save": True},
         "trainer-merge-without-expert-lora"),
        ({"save_sharded_ep": True, "sync_ref_model": True}, "sharded-save-not-single-group"),
    ],
)  # fmt: skip
def test_first_failure_wins(fields: dict[str, Any], rule: str) -> None:
    assert first_rule(world_size=8, **fields) == rule


def test_pipeline_preparation_asks_for_the_reference_model_first() -> None:
    run: dict[str, Any] = {
        "world_size": 16,
        "gpus_per_node": 8,
        "pp_size": 2,
        "assume_pp": True,
        "trainer": "dpo",
    }
    assert first_rule(**run, reference_model="live") == "pp-trainer-live-ref-model"
    assert first_rule(**run, save_sharded_ep=True) == "pp-trainer-max-length"
    assert first_rule(**run, max_length=1, save_sharded_ep=True) == "pp-trainer-sharded-save"
    assert first_rule(**{**run, "trainer": "unspecified"}, save_sharded_ep=True) == (
        "sharded-save-not-single-group"
    )


def test_microbatches_fill_a_1f1b_pipeline() -> None:
    run: dict[str, Any] = {"world_size": 32, "gpus_per_node": 8, "pp_size": 4, "assume_pp": True}
    run |= {"trainer": "sft", "max_length": 1, "per_device_train_batch_size": 6}
    assert first_rule(**run) == "pp-trainer-batch-not-divisible"
    accepted(**run, pp_schedule="gpipe")
    assert first_rule(**run, pp_schedule="gpipe", gradient_accumulation_steps=4) == (
        "pp-trainer-batch-not-divisible"
    )
    assert first_rule(**run, pp_microbatches=3) == "pp-trainer-batch-not-divisible"
    accepted(**run, pp_microbatches=6)


# Rules that no recorded row reaches: the least that breaks each, and the value that mends it.

STAGES = {"world_size": 16, "pp_size": 2, "assume_pp": True}
PIPED_RUN = STAGES | {"trainer": "sft", "max_length": 1}

EXAMPLES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("size-tp-min", {"tp_size": 0}, {"tp_size": 1}),
    ("ep-scope-enum", {"ep_scope": "local"}, {"ep_scope": "node"}),
    ("max-concurrent-loading-min", {"max_concurrent_loading": -1}, {"max_concurrent_loading": 0}),
    ("pp-split-length", {**STAGES, "pp_split": [3]}, {"pp_split": [3, 5]}),
    ("pp-split-entry-min", {**STAGES, "pp_split": [3, 0]}, {"pp_split": [3, 1]}),
    ("pp-hsdp", {**STAGES, "use_hsdp": True}, {"pp_size": 1}),
    ("pp-reshard-after-forward", {**STAGES, "fsdp_reshard_after_forward": True}, {"pp_size": 1}),
    ("pp-lowp", {**STAGES, "lowp_precision": "fp8"}, {"pp_size": 1}),
    ("pp-lowp", {**STAGES, "lowp_precision": "int3"}, {"lowp_precision": "bf16"}),
    (
        "pp-unsharded-ep1-experts",
        {**STAGES, "fsdp_shard_ep1_experts": False},
        {"use_grouped_gemm": False},
    ),
    ("cp-exceeds-domain", {"cp_size": 16}, {"cp_size": 8}),
    ("ep-not-multiple-of-tp", {"ep_size": 2, "tp_size": 4}, {"ep_size": 8}),
    (
        "ep-tp-multi-domain-multi-group",
        {"world_size": 16, "ep_size": 8, "tp_size": 2},
        {"ep_size": 16},
    ),
    ("etp-expert-lora", {"expert_tp_size": 2, "expert_lora": True}, {"expert_tp_size": 1}),
    (
        "ep-cp-global-scope",
        {"world_size": 16, "ep_size": 16, "cp_size": 2},
        {"ep_size": 8},
    ),
    ("ep-cp-group-not-domain", {"ep_size": 2, "cp_size": 2}, {"ep_size": 8}),
    (
        "legacy-buffer-width",
        {
            "world_size": 16,
            "nvlink_domain_size": 16,
            "ep_size": 16,
            "ep_scope": "node",
            "ep_buffer_backend": "legacy",
        },
        {"ep_buffer_backend": "elastic"},
    ),
    (
        "legacy-buffer-untuned-width",
        {"world_size": 6, "ep_size": 6, "ep_buffer_backend": "legacy"},
        {"ep_size": 2},
    ),
    ("hsdp-with-tp-or-etp", {"use_hsdp": True, "tp_size": 2}, {"tp_size": 1}),
    ("hsdp-with-tp-or-etp", {"use_hsdp": True, "expert_tp_size": 2}, {"expert_tp_size": 1}),
    ("hsdp-with-ep", {"use_hsdp": True, "ep_size": 8}, {"ep_size": 1, "cp_size": 2}),
    (
        "fsdp-defer-without-reduce",
        {"tp_size": 8, "fsdp_defer_grad_sync": True},
        {"tp_size": 4},
    ),
    (
        "fsdp-full-shard-with-expert-group",
        {"expert_tp_size": 2, "fsdp_reshard_after_forward": True},
        {"expert_tp_size": 1},
    ),
    (
        "fsdp-full-shard-with-tp-dp",
        {"tp_size": 4, "fsdp_reshard_after_forward": True},
        {"tp_size": 8},
    ),
    ("lowp-enum", {"lowp_precision": "int3"}, {"lowp_precision": "mxfp4"}),
    (
        "lowp-applies-to-nothing",
        {"lowp_precision": "fp4", "lowp_apply_dense_mlp": False, "lowp_apply_moe_experts": False},
        {"lowp_apply_dense_mlp": True},
    ),
    ("fp32-training-with-ep", {"ep_size": 8, "dtype": "fp32"}, {"ep_size": 1, "expert_tp_size": 8}),
    (
        "accelerate-launch-with-grouped-gemm-moe",
        {"launcher": "accelerate", "num_experts": 8},
        {"use_grouped_gemm": False},
    ),
    ("cp-live-attention-sinks", {"cp_size": 2, "live_attention_sinks": True}, {"cp_size": 1}),
    (
        "fp32-non-ep-family-unsupported",
        {"ep_size": 8, "fp32_non_ep_params": True, "model_type": "gemma4_moe"},
        {"ep_size": 1, "expert_tp_size": 8},
    ),
    (
        "qlora-with-ep-tp-pp-or-grouped-gemm-moe",
        {"quantized": True, "model_kind": "moe"},
        {"use_grouped_gemm": False},
    ),
    ("init-from-scratch-with-axes", {"init_from_scratch": True, "cp_size": 2}, {"cp_size": 1}),
    (
        "init-from-scratch-quantized",
        {"init_from_scratch": True, "quantized": True},
        {"quantized": False},
    ),
    (
        "ep-natively-quantized-experts",
        {"natively_quantized_experts": True},
        {"use_grouped_gemm": False},
    ),
    ("cp-linear-attention-layers", {"cp_size": 2, "linear_attention_layers": True}, {"cp_size": 1}),
    (
        "cp-attention-class-unsupported",
        {"cp_size": 2, "attention_class": "Lfm2MoeAttention"},
        {"cp_size": 1, "tp_size": 2},
    ),
    (
        "tp-attention-class-unsupported",
        {"tp_size": 2, "attention_class": "other", "model_kind": "moe"},
        {"model_kind": "dense"},
    ),
    ("cp-heads-not-divisible", {"cp_size": 4, "num_attention_heads": [4, 6]}, {"cp_size": 2}),
    (
        "lowp-with-quantized-base",
        {"lowp_precision": "fp8", "quantized": True},
        {"quantized": False},
    ),
    ("lowp-with-fp16", {"lowp_precision": "fp8", "dtype": "fp16"}, {"dtype": "bf16"}),
    (
        "pp-trainer-reentrant-gc",
        {**PIPED_RUN, "gradient_checkpointing": True, "reentrant_checkpointing": True},
        {"gradient_checkpointing": False},
    ),
    (
        "pp-trainer-eval-batch",
        {
            **PIPED_RUN,
            "do_eval": True,
            "per_device_train_batch_size": 2,
            "per_device_eval_batch_size": 4,
        },
        {"do_eval": False},
    ),
    ("pp-trainer-peft", {**PIPED_RUN, "use_peft": True}, {"use_peft": False}),
    (
        "pp-trainer-activation-offloading",
        {**PIPED_RUN, "activation_offloading": True},
        {"pp_size": 1},
    ),
    ("pp-trainer-image-data", {**PIPED_RUN, "image_data": True}, {"pp_size": 1}),
    ("pp-trainer-torch-compile", {**PIPED_RUN, "torch_compile": True}, {"pp_size": 1}),
    (
        "pp-trainer-microbatches-and-grad-accum",
        {**PIPED_RUN, "pp_microbatches": 2, "gradient_accumulation_steps": 2},
        {"gradient_accumulation_steps": 1},
    ),
    (
        "trainer-aux-loss-unconsumed",
        {
            "moe_balancing": "aux_loss",
            "aux_loss_coefficient_positive": True,
            "loss_adds_aux_loss": False,
        },
        {"moe_balancing": "bias"},
    ),
    ("trainer-load-best-ep-cp", {"load_best_model_at_end": True, "cp_size": 2}, {"use_peft": True}),
    (
        "trainer-load-best-ep-cp",
        {"load_best_model_at_end": True, "model_kind": "moe"},
        {"use_grouped_gemm": False},
    ),
    ("trainer-load-best-tp-dp", {"load_best_model_at_end": True, "tp_size": 4}, {"tp_size": 8}),
    (
        "trainer-qlora-fsdp-knobs",
        {"quantized": True, "fsdp_reshard_after_backward": False},
        {"launcher": "accelerate"},
    ),
    (
        "trainer-qlora-fsdp-knobs",
        {"quantized": True, "cp_size": 2, "fsdp_defer_grad_sync": True},
        {"quantized": False},
    ),
    (
        "trainer-peft-inside-ep-layer",
        {"ep_size": 8, "use_peft": True, "peft_inside_ep_layers": True},
        {"peft_inside_ep_layers": False},
    ),
    (
        "trainer-expert-lora-unrealized",
        {"expert_lora": True, "use_grouped_gemm": False},
        {"use_grouped_gemm": True},
    ),
    (
        "trainer-expert-lora-unrealized",
        {"expert_lora": True, "model_kind": "dense"},
        {"model_kind": "moe"},
    ),
    (
        "trainer-ep-gc-family-unsupported",
        {"gradient_checkpointing": True, "model_type": "zaya"},
        {"gradient_checkpointing": False},
    ),
    (
        "sharded-save-expert-lora",
        {"ep_size": 8, "save_sharded_ep": True, "expert_lora": True},
        {"expert_lora": False},
    ),
    (
        "sharded-save-etp",
        {"ep_size": 4, "expert_tp_size": 2, "save_sharded_ep": True},
        {"ep_size": 8, "expert_tp_size": 1},
    ),
    ("trainer-sync-ref-model", {"sync_ref_model": True}, {"launcher": "accelerate"}),
    ("trainer-sync-ref-model", {"world_size": 8, "sync_ref_model": True}, {"world_size": 1}),
    ("cp-trainer-label-smoothing", {"cp_size": 2, "label_smoothing": True}, {"cp_size": 1}),
    ("cp-trainer-dft-loss", {"cp_size": 2, "dft_loss": True}, {"cp_size": 1}),
    ("cp-trainer-compute-metrics", {"cp_size": 2, "compute_metrics": True}, {"cp_size": 1}),
    ("cp-trainer-packing", {"cp_size": 2, "packing": True}, {"cp_size": 1}),
    ("cp-trainer-padding-free", {"cp_size": 2, "padding_free": True}, {"cp_size": 1}),
]


@pytest.mark.parametrize(("rule", "broken", "mended"), EXAMPLES)
def test_rule_by_example(rule: str, broken: dict[str, Any], mended: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"world_size": 8} | broken
    assert first_rule(**fields) == rule
    accepted(**(fields | mended))


# Axis sets.

SUPPORTED: tuple[set[str], ...] = (
    set(), {"ep"}, {"etp"}, {"tp"}, {"cp"}, {"pp"},
    {"ep", "tp"}, {"ep", "cp"}, {"ep", "etp"}, {"pp", "ep"}, {"pp", "etp"},
)  # fmt: skip


@pytest.mark.parametrize("active", list(itertools.product((False, True), repeat=5)))
def test_eleven_axis_sets_are_supported(active: tuple[bool, ...]) -> None:
    ep, etp, tp, cp, pp = active
    names = {n for n, on in zip(("ep", "etp", "tp", "cp", "pp"), active, strict=True) if on}
    fields = {
        "world_size": 4 * (1 + pp),
        "gpus_per_node": 4,
        "ep_size": 1 + ep + 2 * (ep and cp),
        "expert_tp_size": 1 + etp,
        "tp_size": 1 + tp,
        "cp_size": 1 + cp,
        "pp_size": 1 + pp,
        "assume_pp": True,
    }
    if any(names == known for known in SUPPORTED):
        assert accepted(**fields).ep_group_size == fields["ep_size"] * fields["expert_tp_size"]
    else:
        assert first_rule(**fields) == "axis-set-unsupported"


# Resolution of automatic values.


def test_explicit_scope_without_expert_groups_is_forced_to_node() -> None:
    assert accepted(world_size=16, ep_scope="global").ep_scope == "node"


@pytest.mark.parametrize(("ep_size", "scope"), [(8, "node"), (16, "global")])
def test_automatic_scope(ep_size: int, scope: str) -> None:
    assert accepted(world_size=16, ep_size=ep_size).ep_scope == scope


def test_domain_is_clamped_on_one_node_only() -> None:
    assert accepted(world_size=4, nvlink_domain_size=72).nvlink_domain_size == 4
    assert first_rule(world_size=16, nvlink_domain_size=72) == (
        "nvlink-domain-exceeds-multinode-world"
    )


def test_domain_from_the_environment() -> None:
    assert accepted(world_size=16, nvlink_domain_env=16).nvlink_domain_size == 16
    assert accepted(world_size=16, nvlink_domain_env=-1).nvlink_domain_size == 8
    assert accepted(world_size=16, nvlink_domain_env=16, nvlink_domain_size=8).num_nodes == 2
    assert first_rule(world_size=16, nvlink_domain_env=12) == "nvlink-domain-not-multiple-of-node"


def test_node_width_is_detected() -> None:
    assert accepted(world_size=4).gpus_per_node == 4
    assert accepted(world_size=16, local_width=4).num_nodes == 4
    assert first_rule(world_size=12) == "world-not-multiple-of-node"
    assert first_rule(world_size=8, local_width=0) == "gpus-per-node-nonpositive"


# Sections 11 to 13 of the rules.


def test_legacy_group_may_straddle_nodes_of_six() -> None:
    fields = {"world_size": 24, "gpus_per_node": 6, "nvlink_domain_size": 12, "ep_size": 4}
    assert accepted(**fields, ep_buffer_backend="legacy").num_ep_groups == 6


def test_legacy_global_scope_is_cross_node_without_rdma() -> None:
    fields = {"world_size": 16, "gpus_per_node": 8, "nvlink_domain_size": 16}
    wide = {"ep_size": 8, "expert_tp_size": 2, "ep_scope": "global"}
    assert first_rule(**fields, **wide) == "etp-global-not-one-group-per-domain"
    one_group = {"ep_size": 16, "ep_scope": "global"}
    assert not accepted(**fields, **one_group).requires_rdma
    assert first_rule(**fields, **one_group, ep_buffer_backend="legacy") == (
        "legacy-buffer-cross-node"
    )
    assert first_rule(world_size=16, ep_size=8, ep_scope="global", ep_buffer_backend="legacy") == (
        "legacy-buffer-cross-node"
    )


def test_race_reads_the_whole_group_width() -> None:
    assert first_rule(world_size=8, ep_size=4) == "ep-single-domain-multi-group"
    assert accepted(world_size=8, ep_size=4, expert_tp_size=2).num_ep_groups == 1
    assert first_rule(world_size=8, ep_size=4, tp_size=2) == "ep-single-domain-multi-group"


def test_race_counts_domains_of_a_stage() -> None:
    assert accepted(world_size=16, ep_size=4).num_nvlink_domains == 2
    assert first_rule(world_size=16, ep_size=4, pp_size=2, assume_pp=True) == (
        "ep-single-domain-multi-group"
    )


def test_world_must_be_a_multiple_of_pp() -> None:
    assert first_rule(world_size=8, gpus_per_node=2, pp_size=3, assume_pp=True) == (
        "world-not-multiple-of-pp"
    )


def test_single_rank_stage_needs_a_domain_of_one() -> None:
    fields = {"world_size": 2, "pp_size": 2, "assume_pp": True}
    assert first_rule(**fields, gpus_per_node=1) == "pp-single-rank-stage"
    assert first_rule(**fields, gpus_per_node=2) == "pp-stage-not-whole-domains"


def test_one_rack_of_72_leaves_two_pure_expert_widths() -> None:
    legal = set()
    for ep_size in range(2, 73):
        try:
            validate(world_size=72, nvlink_domain_size=72, ep_size=ep_size)
        except Rejected:
            continue
        legal.add(ep_size)
    assert legal == {2, 72}


def test_nobody_checks_that_the_world_is_positive() -> None:
    assert accepted(world_size=-8, gpus_per_node=8).data_parallel_size == -8


@pytest.mark.parametrize("pp_size", [1, 2])
def test_dead_expert_rules_are_never_first(pp_size: int) -> None:
    dead = {"ep-global-world-not-whole-domains", "ep-global-block-not-dividing-domain"}
    seen = set()
    for world, node, domain, ep, etp in itertools.product(
        range(1, 25), range(1, 9), range(1, 13), range(1, 13), (1, 2, 3)
    ):
        try:
            validate(
                world_size=world,
                gpus_per_node=node,
                nvlink_domain_size=domain,
                ep_size=ep,
                expert_tp_size=etp,
                pp_size=pp_size,
                ep_scope="global",
                assume_pp=True,
            )
        except Rejected as refused:
            seen.add(refused.rule)
    assert "ep-global-not-multiple-of-domains" in seen
    assert not seen & dead


def test_remedies_for_the_race_on_one_node() -> None:
    """Of 148 racy widths, two groups of a pair do not fit 33; filling or shrinking always does."""
    racy = []
    for width, ep_size in itertools.product(range(1, 73), range(2, 73)):
        try:
            validate(world_size=width, gpus_per_node=width, ep_size=ep_size)
        except Rejected as refused:
            if refused.rule == "ep-single-domain-multi-group":
                racy.append((width, ep_size))
    assert len(racy) == 148
    assert sum(width % 2 for width, _ in racy) == 33
    for width, ep_size in racy:
        accepted(
            world_size=width,
            gpus_per_node=width,
            ep_size=ep_size,
            expert_tp_size=width // ep_size,
        )
        accepted(world_size=ep_size, gpus_per_node=ep_size, ep_size=ep_size)


# Derived quantities.


@pytest.mark.parametrize(
    ("fields", "width"),
    [
        ({"world_size": 16}, 16),
        ({"world_size": 16, "tp_size": 4}, 4),
        ({"world_size": 16, "ep_size": 8}, 8),
        ({"world_size": 16, "ep_size": 16}, 16),
        ({"world_size": 16, "use_hsdp": True}, 8),
        ({"world_size": 8, "use_hsdp": True}, 8),
        ({"world_size": 16, "ep_size": 2, "expert_tp_size": 8}, 16),
        ({"world_size": 32, "pp_size": 2, "assume_pp": True}, 16),
    ],
)
def test_fsdp_width(fields: dict[str, Any], width: int) -> None:
    assert accepted(**fields).fsdp_width == width


@pytest.mark.parametrize(
    ("fields", "deferred", "defer"),
    [
        ({"world_size": 8, "ep_size": 8}, False, False),
        ({"world_size": 16, "ep_size": 8}, True, True),
        ({"world_size": 16, "ep_size": 8, "pp_size": 2}, False, True),
        ({"world_size": 16, "pp_size": 2}, False, False),
        ({"world_size": 16, "expert_tp_size": 2, "pp_size": 2}, False, True),
        ({"world_size": 1}, False, False),
    ],
)
def test_deferred_gradient_sync(fields: dict[str, Any], deferred: bool, defer: bool) -> None:  # noqa: FBT001
    derived = accepted(**fields, assume_pp=True)
    assert (derived.is_deferred_dp, derived.defer_grad_sync) == (deferred, defer)


# Model and token budget.


def test_rows_follow_the_trainer_unless_given() -> None:
    run = {"world_size": 8, "ep_size": 8, "hidden_size": 8192, "num_experts_per_tok": 8}
    run |= {"max_length": 16384, "per_device_train_batch_size": 1}
    accepted(**run, trainer="sft")
    accepted(**run)
    assert first_rule(**run, trainer="dpo") == "ep-token-budget-wire-index"
    accepted(**run, trainer="dpo", ep_rows_per_device=0)
    assert first_rule(**run, ep_rows_per_device=2) == "ep-token-budget-wire-index"


def test_cross_domain_ceiling_can_be_switched_off() -> None:
    run = {"world_size": 16, "ep_size": 16, "max_length": 8193, "ep_rows_per_device": 1}
    assert first_rule(**run) == "ep-token-budget-gin-ceiling"
    accepted(**run, gin_max_tokens_per_rank=0)
    accepted(**run, full_determinism=False, gin_max_tokens_per_rank=8448)


def test_latent_attention_has_no_key_value_heads() -> None:
    heads = {"num_attention_heads": [8], "num_key_value_heads": [1]}
    assert first_rule(world_size=8, tp_size=2, **heads) == "tp-kv-heads-not-divisible"
    assert first_rule(world_size=8, cp_size=2, **heads) == "cp-kv-heads-not-divisible"
    accepted(world_size=8, tp_size=2, mla=True, **heads)
    accepted(world_size=8, cp_size=2, mla=True, **heads)


def test_missing_heads_matter_once_the_config_was_read() -> None:
    accepted(world_size=8, cp_size=2)
    assert first_rule(world_size=8, cp_size=2, model_config=True) == "cp-heads-unknown"


def test_bailing_attention_needs_no_flash() -> None:
    run = {"world_size": 8, "cp_size": 2, "attn_implementation": "sdpa"}
    assert first_rule(**run) == "cp-needs-flash-attention"
    assert first_rule(**run, attention_class="Qwen3Attention") == "cp-needs-flash-attention"
    accepted(**run, attention_class="BailingMoeV2Attention")


def test_expert_axes_on_a_dense_model_fail_at_load() -> None:
    assert first_rule(world_size=8, ep_size=8, model_kind="dense") == (
        "expert-axis-on-model-without-wrapped-moe"
    )
    accepted(world_size=8, ep_size=8)


def test_determinism_needs_experts_inside_a_domain() -> None:
    accepted(world_size=16, ep_size=8, full_determinism=True)
    assert first_rule(world_size=16, ep_size=16, full_determinism=True) == (
        "determinism-cross-domain-ep"
    )
