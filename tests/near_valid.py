"""A generator of near-valid halo configurations, and the independent verdict on them.

Uniformly random configurations are useless: almost none is accepted and almost none breaks
one rule alone. This one starts from sizes that tile the cluster and knobs at their defaults,
then disturbs a few of them.
"""

from __future__ import annotations

import dataclasses
import inspect
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Choice, Field, Flag, Size, Sizes
from parsolve.constraints.memory.facts import FACT_NAMES
from parsolve.reference import halo as reference

HALO = PROFILES["halo"]
AXES = ("pp_size", "tp_size", "cp_size", "expert_tp_size", "ep_size")
CLUSTERS = (
    (1, 1, 0),
    (2, 1, 0),
    (4, 1, 0),
    (6, 6, 0),
    (8, 8, 0),
    (8, 8, 0),
    (8, 0, 0),
    (16, 8, 0),
    (16, 8, 0),
    (16, 8, 16),
    (16, 2, 4),
    (24, 8, 0),
    (24, 6, 12),
    (32, 4, 0),
    (40, 8, 0),
    (64, 8, 0),
    (64, 8, 32),
    (72, 4, 72),
    (144, 4, 72),
    (144, 8, 72),
    (512, 8, 0),
)
"""World, GPUs per node and NVLink domain of clusters that tile; 0 is auto."""

ODD_CLUSTERS = (
    (12, 8, 0),
    (8, -1, 0),
    (8, 3, 0),
    (8, 8, -8),
    (8, 8, 4),
    (4, 8, 0),
    (4, 8, 72),
    (8, 0, 72),
    (16, 8, 72),
    (16, 8, 24),
    (24, 8, 16),
    (16, 16, 24),
)
"""Clusters that do not tile, or only after the domain is clamped."""

COUNTS = {
    "num_experts": (8, 64, 100, 128),
    "num_experts_per_tok": (2, 8),
    "moe_intermediate_size": (768, 1020),
    "hidden_size": (2880, 8192),
    "max_position_embeddings": (16384, 32768),
    "max_length": (4096, 16384, 32768),
    "per_device_train_batch_size": (1, 2, 3),
    "per_device_eval_batch_size": (1, 2),
    "gradient_accumulation_steps": (1, 4),
    "pp_microbatches": (0, 2, 4, -1),
    "max_concurrent_loading": (0, 2, -1),
    "lowp_keep_first_blocks": (1, -1),
    "lowp_keep_last_blocks": (2,),
    "ep_rows_per_device": (0, 1, 2),
    "gin_max_tokens_per_rank": (0, 4096),
    "nvlink_domain_env": (0, -4, 4, 16),
}
LISTS = {
    "pp_split": ((1, 1), (4, 4), (2, 0), (3, 3, 3)),
    "num_attention_heads": ((32,), (12,), (4, 6)),
    "num_key_value_heads": ((8,), (2,), (4, 6)),
}


PP_TRAINERS = ("sft", "smpo", "dpo", "kto", "offline_grpo", "reward", "classification")
OTHER_TRAINERS = ("online_grpo", "sdpg", "env_grpo", "distillation", "embedding")
CLASSES = ("Qwen3Attention", "Lfm2MoeAttention", "BailingMoeV2Attention", "other")

Bundle = Mapping[str, Sequence[object]]

BUNDLES: tuple[Bundle, ...] = (
    {
        "trainer": ("dpo", "embedding", "sft"),
        "init_from_scratch": (True,),
        "quantized": (False, True),
    },
    {"ep_buffer_backend": ("legacy",), "ep_scope": ("auto", "auto", "node", "global")},
    {
        "fsdp_reshard_after_backward": (True, False),
        "fsdp_reshard_after_forward": (True,),
        "fsdp_defer_grad_sync": (False, False, True),
    },
    {
        "lowp_precision": ("fp8", "mxfp4"),
        "lowp_apply_dense_mlp": (False, True),
        "lowp_apply_moe_experts": (False, True),
    },
    {
        "lowp_precision": ("fp8", "fp4"),
        "dtype": ("bf16", "fp16"),
        "quantized": (False, False, True),
    },
    {
        "num_experts": (8, 64, None),
        "fp32_non_ep_params": (True,),
        "fsdp_shard_ep1_experts": (True, False),
        "model_type": ("unknown", "gemma4", "gemma4_moe", "zaya"),
    },
    {
        "ep_rows_per_device": (1, 2, None),
        "trainer": ("sft", "smpo", "reward", "kto"),
        "per_device_train_batch_size": (1,),
        "max_length": (4096, 8193, 16384, 32768, None),
        "max_position_embeddings": (32768, None),
        "num_experts_per_tok": (8,),
        "hidden_size": (2880, 8192),
        "gin_max_tokens_per_rank": (8192, 8192, 0),
    },
    {
        "ep_size": (2, 16),
        "ep_scope": ("global",),
        "ep_rows_per_device": (1, 2),
        "max_length": (8192, 8193, 16384),
        "num_experts_per_tok": (8, None),
        "hidden_size": (2880, None),
        "gin_max_tokens_per_rank": (8192, 8192, 4096),
    },
    {
        "launcher": ("accelerate",),
        "model_kind": ("moe", "dense"),
        "use_grouped_gemm": (True, False),
    },
    {"dtype": ("fp32",)},
    {"lowp_precision": ("fp8", "nonsense"), "trainer": ("dpo", "unspecified")},
    {"num_experts": (64, 100, 7), "moe_intermediate_size": (768, 1020, 7)},
    {"gradient_checkpointing": (True,), "model_type": ("zaya", "qwen3_moe")},
    {"pp_schedule": ("gpipe", "nonsense"), "ep_scope": ("auto", "nonsense")},
    {
        "quantized": (True,),
        "use_grouped_gemm": (False,),
        "use_hsdp": (True, False),
        "fsdp_defer_grad_sync": (True, False),
    },
    {
        "attention_class": CLASSES,
        "attn_implementation": ("sdpa", "flash_attention_2", "unknown"),
        "model_kind": ("unknown", "moe"),
        "num_attention_heads": ((32,), (12, 20), None),
        "model_config": (False, True),
        "mla": (False, True),
    },
    {
        "moe_balancing": ("aux_loss", "bias"),
        "aux_loss_coefficient_positive": (True, False),
        "loss_adds_aux_loss": (False, True),
    },
    {
        "expert_lora": (True, True, False),
        "use_grouped_gemm": (False, True),
        "merge_expert_lora_on_save": (False, True),
        "model_kind": ("unknown", "dense", "moe"),
    },
    {"load_best_model_at_end": (True,), "model_kind": ("dense", "moe"), "use_peft": (False, True)},
    {
        "use_peft": (True,),
        "peft_inside_ep_layers": (True, False),
        "quantized": (True, False),
        "use_grouped_gemm": (True, False),
    },
)
"""Knobs that mean something together: each field with its options."""

PIPELINE_BUNDLES: tuple[Bundle, ...] = (
    {},
    {"max_length": (None,)},
    {"trainer": OTHER_TRAINERS},
    {"reference_model": ("live", "precomputed"), "trainer": ("dpo", "kto")},
    {"save_sharded_ep": (True,)},
    {"gradient_checkpointing": (True,), "reentrant_checkpointing": (True, False)},
    {
        "do_eval": (True,),
        "per_device_train_batch_size": (2,),
        "per_device_eval_batch_size": (2, 4, 8, None),
    },
    {"use_peft": (True,)},
    {"activation_offloading": (True,)},
    {"image_data": (True,)},
    {"torch_compile": (True,)},
    {"pp_microbatches": (2, 4), "gradient_accumulation_steps": (1, 2)},
    {
        "per_device_train_batch_size": (2, 3, 4),
        "gradient_accumulation_steps": (1, 4),
        "pp_schedule": ("1f1b", "gpipe"),
    },
    {"pp_split": ((4, 4), (4, 0), (4, 4, 4), (-1, 4))},
    {"use_hsdp": (True,)},
    {"fsdp_reshard_after_forward": (True,)},
    {"fsdp_shard_ep1_experts": (False,), "use_grouped_gemm": (True, False)},
    {"expert_lora": (True,)},
    {"lowp_precision": ("fp8",), "trainer": ("sft",)},
)
"""What a pipelined trainer is asked; without a knob of these it is given all it needs."""

SAVE_BUNDLE: Bundle = {
    "save_sharded_ep": (True,),
    "ep_scope": ("auto",),
    "model_type": ("unknown", "unknown", "qwen3_moe", "other"),
    "shared_filesystem": (True, True, False),
    "expert_lora": (False, False, True),
    "merge_expert_lora_on_save": (False, False, True),
    "use_grouped_gemm": (True, False),
    "cp_size": (1, 1, 2),
}
"""A sharded save, for one expert group over the whole world."""

REFERENCE_FIELDS = frozenset(inspect.signature(reference.validate).parameters)
"""What the independent validator reads; it has no parameter for fields that no rule reads."""


MEMORY_ONLY = FACT_NAMES | {
    "model_changes",
    "gpu_memory",
    "requested_global_batch",
    "precision_policy",
    "weight_bytes",
    "gradient_bytes",
    "optimizer_bytes",
    "lora_rank",
    "fused_linear_cross_entropy",
}
GATED = tuple(field for field in HALO.fields if field.name not in MEMORY_ONLY)
"""Fields of the gate: those that only the memory account reads change no verdict."""


def divisors(n: int) -> list[int]:
    """Every divisor, in order."""
    return [d for d in range(1, n + 1) if n % d == 0]


def near_valid(rng: random.Random) -> dict[str, Any]:
    """Fields of one configuration: a plausible layout with a few knobs disturbed."""
    given = layout(rng)
    world = given["world_size"]
    chance = rng.random()
    if chance < 0.4:
        given |= drawn(rng, rng.choice(BUNDLES))
    elif chance < 0.46:
        given |= drawn(rng, SAVE_BUNDLE)
        half = world // 2 if rng.random() < 0.2 and world % 2 == 0 else world
        given |= {"ep_size": half, "expert_tp_size": world // half, "tp_size": 1, "pp_size": 1}
    if given.get("pp_size", 1) > 1 and rng.random() < 0.8:
        given |= {"trainer": rng.choice(PP_TRAINERS), "max_length": 4096}
        given |= drawn(rng, rng.choice(PIPELINE_BUNDLES))
    for _ in range(rng.choice((0, 0, 0, 0, 1, 1, 1, 2, 3, 6))):
        disturb(rng, given)
    if given.get("model_kind") == "dense":
        given.pop("num_experts", None)
    return given


def layout(rng: random.Random) -> dict[str, Any]:
    """A cluster and sizes of its axes that mostly tile it."""
    world, node, domain = rng.choice(CLUSTERS if rng.random() < 0.93 else ODD_CLUSTERS)
    given: dict[str, Any] = {
        "world_size": world,
        "gpus_per_node": node,
        "nvlink_domain_size": domain,
        "assume_pp": rng.random() < 0.9,
    }
    local = max(1, min(domain or node or 8, world))
    mode = rng.choice(HALO.modes) if rng.random() < 0.85 else frozenset(rng.sample(AXES, 2))
    for axis in sorted(mode):
        given[axis] = rng.choice(divisors(world if rng.random() < 0.3 else local))
        if axis == "pp_size" and rng.random() < 0.7:
            given[axis] = rng.choice(divisors(max(1, world // local)))
        if axis == "ep_size" and rng.random() < 0.6:
            given[axis] = rng.choice((2, local, local, world))
        if rng.random() < 0.02:
            given[axis] += 1
    if rng.random() < 0.35:
        given["ep_scope"] = rng.choice(("node", "global"))
    return given


def drawn(rng: random.Random, bundle: Bundle) -> dict[str, Any]:
    """One option for each field of the bundle."""
    return {name: rng.choice(options) for name, options in bundle.items()}


def disturb(rng: random.Random, given: dict[str, Any]) -> None:
    """Change one field that the layout does not fix, or an axis."""
    field = rng.choice(GATED)
    if field.name in given and field.name not in AXES:
        return
    match field:
        case Flag(default=default):
            given[field.name] = not default
        case Choice(choices=choices, checked=checked):
            illegal = ("nonsense",) if checked and rng.random() < 0.2 else ()
            given[field.name] = rng.choice((*choices, *illegal))
        case Sizes(name=name):
            given[name] = rng.choice(LISTS[name])
        case Size(name=name):
            given[name] = rng.choice(COUNTS.get(name, (0, 1, 2, 3, 4, 5, 6, 8, 16)))


def reference_verdict(given: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """First rule that the independent validator raises, or None and its derived values."""
    try:
        derived = reference.validate(**{k: v for k, v in given.items() if k in REFERENCE_FIELDS})
    except reference.Rejected as rejection:
        return rejection.rule, {}
    return None, dataclasses.asdict(derived)


def catalogue_verdict(given: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """First violated rule of the catalogue, or None and its derived values."""
    config = HALO.config(given)
    violated = HALO.violated(config.values)
    if violated:
        return HALO.rules[violated[0]].id, {}
    return None, HALO.derive(config.values)


def neighbours() -> Iterator[dict[str, Any]]:
    """Both sides of every rule's example, and each with one field that the rule reads changed.

    Sizes move by one, flags flip, choices take every label, lists every list of `LISTS`.
    """
    for rule in HALO.rules:
        for side in (rule.example.rejects, rule.example.instead):
            given = HALO.config(side).as_dict()
            yield given
            for name in sorted(rule.reads):
                for value in others(HALO.field_of[name], given.get(name)):
                    changed = {**given, name: value}
                    dense = changed.get("model_kind") == "dense" and changed.get("num_experts")
                    if changed["world_size"] >= 1 and not dense:
                        yield changed


def others(field: Field, value: Any) -> Sequence[object]:  # noqa: ANN401 - a value of any field
    """Values of the field close to a given one."""
    match field:
        case Flag(default=default):
            return (not (default if value is None else value),)
        case Choice(choices=choices):
            return choices
        case Sizes(name=name):
            return (None, *LISTS[name])
        case Size(optional=optional, minimum=minimum, checked=checked, default=default):
            known = default if value is None else value
            if known is None:
                return (minimum, minimum + 1, 4)
            near = [known - 1, known + 1, known * 2, *([None] if optional else [])]
            return [v for v in near if checked or v is None or v >= minimum]
