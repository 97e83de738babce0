"""A generator of near-valid Megatron configurations, and the independent verdict on them.

Sizes tile the cluster and knobs stand at their defaults at first; then a few are disturbed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from parsolve.constraints.fields import Choice, Flag
from parsolve.constraints.megatron import MEGATRON
from parsolve.constraints.profile import Config
from parsolve.reference import megatron as reference

NAMES = {
    "world_size": "world_size",
    "tp_size": "tensor_model_parallel_size",
    "pp_size": "pipeline_model_parallel_size",
    "cp_size": "context_parallel_size",
    "ep_size": "expert_model_parallel_size",
    "expert_tp_size": "expert_tensor_parallel_size",
    "sequence_parallel": "sequence_parallel",
    "weight_shards": "tensor_parallel_num_weight_shards",
    "expert_weight_shards": "expert_tensor_parallel_num_weight_shards",
    "hierarchical_cp_sizes": "hierarchical_context_parallel_sizes",
    "hybrid_cp": "hybrid_context_parallel",
    "tp_pp_dp_order": "use_tp_pp_dp_mapping",
    "virtual_stages": "num_virtual_stages_per_pipeline_rank",
    "layers_per_virtual_stage": "num_layers_per_virtual_pipeline_stage",
    "first_stage_layers": "decoder_first_pipeline_num_layers",
    "last_stage_layers": "decoder_last_pipeline_num_layers",
    "account_for_embedding": "account_for_embedding_in_pipeline_split",
    "account_for_loss": "account_for_loss_in_pipeline_split",
    "microbatch_group_size": "microbatch_group_size_per_vp_stage",
    "overlap_p2p": "overlap_p2p_comm",
    "defer_embedding_wgrad": "defer_embedding_wgrad_compute",
    "micro_batch": "micro_batch_size",
    "requested_global_batch": "global_batch_size",
    "decrease_batch": "decrease_batch_size_if_needed",
    "eval_micro_batch": "eval_micro_batch_size",
    "eval_global_batch": "eval_global_batch_size",
    "seq_length": "seq_length",
    "max_position_embeddings": "max_position_embeddings",
    "calculate_per_token_loss": "calculate_per_token_loss",
    "dataloader_type": "dataloader_type",
    "optimizer": "optimizer",
    "distributed_optimizer": "use_distributed_optimizer",
    "optimizer_instances": "num_distributed_optimizer_instances",
    "overlap_grad_reduce": "overlap_grad_reduce",
    "overlap_param_gather": "overlap_param_gather",
    "overlap_param_gather_with_step": "overlap_param_gather_with_optimizer_step",
    "precision_aware_optimizer": "use_precision_aware_optimizer",
    "optimizer_offload": "optimizer_cpu_offload",
    "gloo": "use_gloo_process_groups",
    "torch_fsdp2": "use_torch_fsdp2",
    "megatron_fsdp": "use_megatron_fsdp",
    "sharding_strategy": "data_parallel_sharding_strategy",
    "meta_device_init": "init_model_with_meta_device",
    "weight_hash_check": "check_weight_hash_across_dp_replicas_interval",
    "ckpt_format": "ckpt_format",
    "gradient_accumulation_fusion": "gradient_accumulation_fusion",
    "freeze_all_layers": "freeze_all_layers",
    "recompute_num_layers": "recompute_num_layers",
    "recompute_modules": "recompute_modules",
    "distribute_saved_activations": "distribute_saved_activations",
    "tp_comm_overlap": "tp_comm_overlap",
    "num_experts": "num_experts",
    "num_experts_per_tok": "moe_router_topk",
    "moe_intermediate_size": "moe_ffn_hidden_size",
    "router_score": "moe_router_score_function",
    "router_pre_softmax": "moe_router_pre_softmax",
    "load_balancing": "moe_router_load_balancing_type",
    "router_groups": "moe_router_num_groups",
    "router_group_topk": "moe_router_group_topk",
    "dispatcher": "moe_token_dispatcher_type",
    "flex_backend": "moe_flex_dispatcher_backend",
    "overlap_ep": "overlap_moe_expert_parallel_comm",
    "delay_wgrad": "delay_wgrad_compute",
    "early_attention_release": "ep_overlap_early_attn_memory_release",
    "shared_expert_overlap": "moe_shared_expert_overlap",
    "grouped_gemm": "moe_grouped_gemm",
    "single_grouped_weight": "moe_single_grouped_weight",
    "num_hidden_layers": "num_layers",
    "hidden_size": "hidden_size",
    "num_attention_heads": "num_attention_heads",
    "num_key_value_heads": "num_query_groups",
    "head_dim": "kv_channels",
    "intermediate_size": "ffn_hidden_size",
    "shared_intermediate_size": "moe_shared_expert_intermediate_size",
    "mtp_layers": "mtp_num_layers",
    "mla": "multi_latent_attention",
    "bias_linear": "add_bias_linear",
    "linear_attention_freq": "linear_attention_freq",
    "linear_key_heads": "linear_num_key_heads",
    "linear_value_heads": "linear_num_value_heads",
    "untie_embeddings": "untie_embeddings_and_output_weights",
    "transformer_impl": "transformer_impl",
    "compute_capability": "device_arch_version",
    "cuda_device_max_connections": "cuda_device_max_connections",
}
"""Fields of the profile, and the arguments of Megatron that they are."""


def asked(config: Config) -> reference.Config:
    """The configuration as the independent validator takes it."""
    given = {NAMES[name]: value for name, value in config.as_dict(everything=True).items()
             if name in NAMES and value is not None}  # fmt: skip
    if given.get("num_experts") is None:
        given.pop("num_experts", None)
    layout = config["pipeline_layout"]
    kind = config["recompute"]
    method = config["recompute_method"]
    variant = config["attention_variant"]
    given.setdefault("micro_batch_size", 1)
    given.setdefault("max_position_embeddings", given["seq_length"])
    return reference.Config(
        **given,
        bf16=config["precision"] == "bf16",
        fp16=config["precision"] == "fp16",
        pipeline_model_parallel_layout=None if layout is None else "|".join(layout),
        recompute_granularity=None if kind == "none" else kind,
        recompute_method=None if method == "none" else method,
        cp_comm_type=(config["cp_comm_type"],),
        experimental_attention_variant=None if variant == "none" else variant,
        cpu_offloading_num_layers=config["cpu_offloading_layers"] or 0,
        apply_rope_fusion=False,
        position_embedding_type="rope",
    )


UNSHARED = {"batch_invariant", "single_grouped_weight"}
"""What needs an argument that the profile does not have, or that the validator does not know."""

FLAGS = tuple(
    field.name
    for field in MEGATRON.fields
    if isinstance(field, Flag) and field.name not in UNSHARED
)  # fmt: skip
CHOICES = {
    field.name: field.choices
    for field in MEGATRON.fields
    if isinstance(field, Choice)
    and field.role == "knob"
    and field.name not in {"launcher", "transformer_impl", "attention_variant"}
}


def _divisor(random_: random.Random, number: int, most: int = 10**9) -> int:
    return random_.choice([d for d in range(1, min(number, most) + 1) if number % d == 0])


def drawn(random_: random.Random) -> dict[str, Any]:
    """A configuration whose grids mostly tile, with a few knobs off their defaults."""
    world = random_.choice([1, 2, 4, 6, 8, 8, 16, 16, 24, 32, 48, 64, 64, 128, 1024])
    tp = _divisor(random_, world, 8)
    pp = _divisor(random_, world // tp, 16)
    cp = _divisor(random_, world // tp // pp, 4) if random_.random() < 0.4 else 1
    dp = world // tp // pp // cp
    micro = random_.choice([1, 1, 2, 4])
    given: dict[str, Any] = {
        "world_size": world,
        "tp_size": tp,
        "pp_size": pp,
        "cp_size": cp,
        "num_hidden_layers": random_.choice([pp, 2 * pp, 4 * pp, 8 * pp, 4 * pp + 1, 61]),
        "num_attention_heads": random_.choice([8, 16, 32, 64]) * (3 if tp % 3 == 0 else 1),
        "seq_length": random_.choice([2048, 4096, 8192]) * (3 if tp % 3 == 0 else 1),
        "micro_batch": micro,
        "requested_global_batch": dp * micro * random_.choice([1, 2, 4, 8, pp, 2 * pp]),
        "cuda_device_max_connections": 1,
    }
    given["hidden_size"] = given["num_attention_heads"] * 64
    given["intermediate_size"] = 4 * given["hidden_size"]
    given["head_dim"] = 64 if tp % 3 else 96
    if random_.random() < 0.5:
        given["num_key_value_heads"] = random_.choice([1, 2, 4, 8, 6, given["num_attention_heads"]])
    if random_.random() < 0.5:
        inner = world // pp
        etp = random_.choice([None, 1, 1, _divisor(random_, inner)])
        given |= {
            "num_experts": random_.choice([8, 16, 60, 64, 128]),
            "ep_size": _divisor(random_, inner // (etp or 1), 64),
            "expert_tp_size": etp,
            "moe_intermediate_size": given["intermediate_size"],
            "bias_linear": False,
            "model_kind": "moe",
            "sequence_parallel": tp > 1 and random_.random() < 0.9,
        }
    else:
        given |= {"model_kind": "dense", "sequence_parallel": random_.random() < 0.4}
    if pp > 1 and random_.random() < 0.4:
        chunks = random_.choice([2, 3, 4])
        given["num_hidden_layers"] = pp * chunks * random_.choice([1, 2, 3])
        given["requested_global_batch"] = dp * micro * pp * random_.choice([1, 2, 3])
        given[random_.choice(["virtual_stages", "virtual_stages", "layers_per_virtual_stage"])] = (
            chunks
        )
    for _ in range(random_.choice([0, 0, 1, 1, 2, 3])):
        _disturb(random_, given)
    return given


def _disturb(random_: random.Random, given: dict[str, Any]) -> None:
    pp, layers = given["pp_size"], given["num_hidden_layers"]
    kind = random_.randrange(10)
    if kind < 3:
        name = random_.choice(FLAGS)
        given[name] = not MEGATRON.field_of[name].default
    elif kind == 3:
        name = random_.choice(sorted(CHOICES))
        given[name] = random_.choice(CHOICES[name])
    elif kind == 4:
        name = random_.choice(["first_stage_layers", "last_stage_layers"])
        given[name] = random_.choice([1, 2, 3, 4, max(1, layers // max(1, pp)), layers])
    elif kind == 5:
        name = random_.choice(["account_for_embedding", "account_for_loss"])
        given[name] = True
        given["num_hidden_layers"] = max(1, layers - random_.choice([0, 1, 2]))
    elif kind == 6:
        name, values = random_.choice(_NUMBERS)
        given[name] = random_.choice(values)
        if name == "optimizer_instances":
            given["distributed_optimizer"] = True
    elif kind == 7:
        given |= random_.choice(
            [
                {"recompute": "full", "recompute_method": "uniform", "recompute_num_layers": 1},
                {"recompute": "selective", "recompute_modules": ["moe", "layernorm"]},
                {"recompute": "selective", "recompute_modules": ["moe_act"]},
                {"recompute": "full", "recompute_method": "block"},
            ]
        )
    elif kind == 8:
        given |= random_.choice(
            [
                {"torch_fsdp2": True, "gradient_accumulation_fusion": False,
                 "untie_embeddings": True, "cuda_device_max_connections": 8},
                {"megatron_fsdp": True, "ckpt_format": "fsdp_dtensor",
                 "cuda_device_max_connections": None},
                {"overlap_param_gather": True, "overlap_grad_reduce": True,
                 "distributed_optimizer": True},
                {"overlap_ep": True, "dispatcher": "alltoall"},
            ]
        )  # fmt: skip
    else:
        given["pipeline_layout"] = _layout(random_, pp, layers)
        given.pop("virtual_stages", None)
        given.pop("layers_per_virtual_stage", None)


_NUMBERS: Sequence[tuple[str, Sequence[int]]] = (
    ("requested_global_batch", (1, 7, 12, 96)),
    ("eval_global_batch", (8, 12, 64)),
    ("seq_length", (1000, 3000, 4098)),
    ("max_position_embeddings", (1024, 4096)),
    ("optimizer_instances", (2, 3, 4)),
    ("microbatch_group_size", (1, 2, 4, 5, 8)),
    ("num_experts_per_tok", (1, 8)),
    ("router_group_topk", (1, 2, 6)),
    ("router_groups", (3, 4)),
    ("weight_shards", (2, 4, 8)),
    ("intermediate_size", (1410, 4096)),
    ("moe_intermediate_size", (1410, 2048)),
    ("shared_intermediate_size", (1410, 2048)),
    ("head_dim", (48, 128)),
    ("mtp_layers", (0, 1, 2)),
    ("recompute_num_layers", (1, 2)),
    ("cpu_offloading_layers", (1, 100)),
    ("weight_hash_check", (10,)),
    ("compute_capability", (8, 10)),
    ("cuda_device_max_connections", (1, 8)),
    ("tp_size", (1, 2, 3, 4, 8)),
    ("pp_size", (1, 2, 3, 4)),
    ("ep_size", (1, 2, 4, 8)),
    ("expert_tp_size", (1, 2, 4)),
)


def _layout(random_: random.Random, pp: int, layers: int) -> str:
    stages = pp * random_.choice([1, 1, 2])
    counts = [layers // stages] * stages
    for place in range(layers % stages):
        counts[place] += 1
    texts = ["t" * count for count in counts]
    texts[0] = "E" + texts[0]
    texts[-1] += random_.choice(["L", "L", "L", "mL", ""])
    if random_.random() < 0.2:
        texts.append("t")
    return "|".join(texts)


def told(verdict: reference.Verdict) -> tuple[str, str]:
    """The stage of a refusal, and the place that raises."""
    return (verdict.stage or "accepted", verdict.where or "")


def config_of(given: Mapping[str, Any]) -> Config:
    """The configuration of the profile."""
    return MEGATRON.config(given)
