"""What is accepted and still worth knowing: each notice where it belongs, and only there."""

from __future__ import annotations

import re

import pytest

from parsolve.constraints import PROFILES

HALO = PROFILES["halo"]
Fields = dict[str, object]

NODE: Fields = {"world_size": 8, "gpus_per_node": 8}
TWO_NODES: Fields = {"world_size": 16, "gpus_per_node": 8}
STAGES: Fields = {**TWO_NODES, "pp_size": 2, "assume_pp": True}
DOMAIN_OF_TWO: Fields = {"world_size": 24, "gpus_per_node": 6, "nvlink_domain_size": 12}

CASES: tuple[tuple[str, Fields, Fields, str], ...] = (
    (
        "model-changed",
        {**NODE, "model_changes": "qwen3-8b with 40 layers"},
        NODE,
        "model_changes = qwen3-8b with 40 layers",
    ),
    ("pp-not-in-release", STAGES, TWO_NODES, "pp_size = 2 > 1"),
    ("gpus-per-node-assumed", {"world_size": 8}, NODE, "gpus_per_node = auto"),
    (
        "nvlink-domain-from-environment",
        {**TWO_NODES, "nvlink_domain_env": 16},
        {**TWO_NODES, "nvlink_domain_env": 16, "nvlink_domain_size": 8},
        "nvlink_domain_size = auto, nvlink_domain_env = 16 > 0",
    ),
    (
        "nvlink-domain-environment-ignored",
        {**TWO_NODES, "nvlink_domain_env": -4},
        {**TWO_NODES, "nvlink_domain_env": 0},
        "nvlink_domain_size = auto, nvlink_domain_env = -4 < 0",
    ),
    (
        "nvlink-domain-clamped",
        {**NODE, "nvlink_domain_size": 72},
        {**NODE, "nvlink_domain_size": 8},
        "= 72 > world_size = 8, world_size = 8 <= gpus_per_node = 8",
    ),
    (
        "ep-scope-forced-to-node",
        {**TWO_NODES, "ep_scope": "global"},
        {**TWO_NODES, "ep_scope": "global", "ep_size": 16},
        "ep_scope = global, ep_group_size = 1",
    ),
    (
        "pp-fp32-grad-buffer",
        {**STAGES, "fp32_grad_reduce": True},
        {**TWO_NODES, "fp32_grad_reduce": True},
        "pp_size = 2 > 1, fp32_grad_reduce = true",
    ),
    (
        "pp-fp32-grad-buffer",
        {**STAGES, "fp32_non_ep_params": True},
        STAGES,
        "pp_size = 2 > 1, fp32_non_ep_params = true",
    ),
    (
        "hsdp-single-domain-noop",
        {**NODE, "use_hsdp": True},
        {**TWO_NODES, "use_hsdp": True},
        "use_hsdp = true, num_nvlink_domains = 1",
    ),
    *(
        (
            "lowp-knobs-inert",
            {**NODE, knob: value},
            {**NODE, knob: value, "lowp_precision": "fp8"},
            knob,
        )
        for knob, value in (
            ("lowp_apply_dense_mlp", False),
            ("lowp_apply_moe_experts", False),
            ("lowp_keep_first_blocks", 1),
            ("lowp_keep_last_blocks", 1),
        )
    ),
    (
        "legacy-buffer-straddles-nodes",
        {**DOMAIN_OF_TWO, "ep_size": 4, "ep_buffer_backend": "legacy"},
        {**DOMAIN_OF_TWO, "ep_size": 2, "ep_buffer_backend": "legacy"},
        "ep_size = 4 does not divide gpus_per_node = 6",
    ),
    (
        "legacy-buffer-straddles-nodes",
        {**DOMAIN_OF_TWO, "ep_size": 4, "ep_buffer_backend": "legacy"},
        {**DOMAIN_OF_TWO, "ep_size": 4},
        "ep_buffer_backend = legacy",
    ),
    *(
        (name, {**NODE, option: value}, {**NODE, option: value, **given}, f"{option} = ")
        for name, option, value, given in (
            ("lora-rank-without-peft", "lora_rank", 8, {"use_peft": True}),
            (
                "peft-target-without-peft",
                "peft_inside_ep_layers",
                True,
                {"use_peft": True, "peft_inside_ep_layers": False},
            ),
            (
                "reentrant-without-checkpointing",
                "reentrant_checkpointing",
                True,
                {"gradient_checkpointing": True},
            ),
            ("eval-batch-without-eval", "per_device_eval_batch_size", 4, {"do_eval": True}),
            (
                "aux-loss-coefficient-without-aux-loss",
                "aux_loss_coefficient_positive",
                True,
                {"moe_balancing": "aux_loss"},
            ),
            ("ep-buffer-without-ep", "ep_buffer_backend", "legacy", {"ep_size": 8}),
        )
    ),
    (
        "fused-loss-under-cp",
        {**NODE, "fused_linear_cross_entropy": True, "cp_size": 2},
        {**NODE, "fused_linear_cross_entropy": True},
        "fused_linear_cross_entropy = true, cp_size = 2 > 1",
    ),
    (
        "explicit-ref-model-dense-replica",
        {**NODE, "trainer": "dpo", "reference_model": "live", "ep_size": 8},
        {**NODE, "trainer": "dpo", "reference_model": "precomputed", "ep_size": 8},
        "reference_model = live, ep_group_size = 8 > 1",
    ),
    (
        "explicit-ref-model-dense-replica",
        {**NODE, "trainer": "dpo", "reference_model": "live", "tp_size": 2},
        {**NODE, "trainer": "dpo", "reference_model": "live"},
        "reference_model = live, tp_size = 2 > 1",
    ),
)


def shown(fields: Fields) -> dict[str, str]:
    """Ids of the notices shown for a configuration, with the numbers that raise them."""
    values = HALO.config(fields).values
    return {HALO.warnings[i].id: HALO.warned_because(i, values) for i in HALO.warned(values)}


@pytest.mark.parametrize(
    ("name", "fires", "silent", "because"),
    CASES,
    ids=[f"{name}-{number}" for number, (name, *_) in enumerate(CASES)],
)
def test_a_notice_fires_and_does_not(
    name: str, fires: Fields, silent: Fields, because: str
) -> None:
    """Both configurations are accepted: a notice is no verdict."""
    assert HALO.config(fires).accepted()
    assert HALO.config(silent).accepted()
    assert because in shown(fires)[name]
    assert name not in shown(silent)


def test_every_notice_has_a_case() -> None:
    assert {name for name, *_ in CASES} == {notice.id for notice in HALO.warnings}


def test_a_plain_configuration_shows_nothing() -> None:
    assert shown(NODE) == {}


def test_notices_say_whole_sentences_and_cite_a_file() -> None:
    for notice in HALO.warnings:
        assert notice.reason.endswith(".")
        assert re.fullmatch(r"src/[a-z_/]+\.py|parsolve", notice.source.file)


def test_a_notice_that_meets_an_undefined_quantity_keeps_silent() -> None:
    """Ten ranks on nodes of four have no number of domains, so none can be counted."""
    fields: Fields = {"world_size": 10, "gpus_per_node": 4, "use_hsdp": True}
    assert "hsdp-single-domain-noop" not in shown(fields)
