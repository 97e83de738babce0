"""Rules that read the model: decided as soon as its numbers are given."""

from parsolve.constraints.formula import all_of, any_of, divides, one_of
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.axes import any_active
from parsolve.constraints.halo.sources import (
    BALANCING,
    CP_VALIDATION,
    EP_PATCHING,
    LOADING,
    PARALLELISM_CONFIG,
    PARALLELIZE_ATTENTION,
    TRAINER_VALIDATION,
)
from parsolve.constraints.rule import Example, Rule, Source

SHAPE = Source(PARALLELISM_CONFIG, "validate_against_model_config")
BUDGET = Source(PARALLELISM_CONFIG, "_validate_ep_token_budget")
LAUNCH = Source(TRAINER_VALIDATION, "_validate_parallelism_modes; asked by the loader too")
LOAD = Source(LOADING, "load-time checks")
ROUTER = Source(BALANCING, "expert count lookup")
ATTENTION = Source(PARALLELIZE_ATTENTION, "parallelize_attention")
CP_CHECKS = Source(CP_VALIDATION, "validate_model_for_cp")
PATCH = Source(EP_PATCHING, "MoE patching")

WIRE_INDEX_LIMIT = 2**31
"""The dispatch buffer indexes its elements with a signed 32-bit number."""

BUDGET_KNOWN = all_of(
    f.ep_size > 1,
    q.tokens_per_rank > 0,
    f.num_experts_per_tok > 0,
    f.hidden_size > 0,
)
AXIS_WITHOUT_ACCELERATE = any_of(q.ep_group_size > 1, f.cp_size > 1, f.tp_size > 1, f.pp_size > 1)
MOE8 = {"world_size": 8, "ep_size": 8, "num_experts": 128, "hidden_size": 8192}
BUSY = {**MOE8, "num_experts_per_tok": 8, "ep_rows_per_device": 1}

MODEL = (
    Rule(
        id="accelerate-launch-with-custom-axes",
        stage="model-aware",
        when=f.launcher == "accelerate",
        requires=~AXIS_WITHOUT_ACCELERATE,
        reason="Under accelerate launch, accelerate owns the FSDP wrap.",
        remedy="Launch with torchrun.",
        source=LAUNCH,
        example=Example(
            rejects={"world_size": 8, "ep_size": 2, "launcher": "accelerate"},
            instead={"world_size": 8, "ep_size": 2, "launcher": "torchrun"},
        ),
    ),
    Rule(
        id="fp32-training-with-ep",
        stage="model-aware",
        when=f.dtype == "fp32",
        requires=f.ep_size <= 1,
        reason="The dispatch buffer is sized for tokens of two bytes per element.",
        remedy="Load the model in bf16, or drop EP.",
        source=LOAD,
        example=Example(
            rejects={"world_size": 8, "ep_size": 2, "dtype": "fp32"},
            instead={"world_size": 8, "ep_size": 2, "dtype": "bf16"},
        ),
    ),
    Rule(
        id="experts-not-divisible-by-ep",
        stage="model-aware",
        when=all_of(f.ep_size > 1, f.num_experts > 0),
        requires=divides(f.ep_size, f.num_experts),
        reason="Every EP rank holds the same number of experts.",
        remedy="Use an EP size that divides the number of experts.",
        source=ROUTER,
        example=Example(
            rejects={"world_size": 8, "ep_size": 8, "num_experts": 100},
            instead={"world_size": 8, "ep_size": 2, "num_experts": 100},
        ),
    ),
    Rule(
        id="expert-ffn-not-divisible-by-etp",
        stage="model-aware",
        when=all_of(f.expert_tp_size > 1, f.moe_intermediate_size > 0),
        requires=divides(f.expert_tp_size, f.moe_intermediate_size),
        reason="Expert TP cuts the width of each expert's FFN into equal shards.",
        remedy="Use an expert-TP size that divides the expert FFN width.",
        source=SHAPE,
        example=Example(
            rejects={"world_size": 8, "expert_tp_size": 8, "moe_intermediate_size": 1020},
            instead={"world_size": 8, "expert_tp_size": 4, "moe_intermediate_size": 1020},
        ),
    ),
    Rule(
        id="fp32-non-ep-with-fsdp-managed-experts",
        stage="model-aware",
        when=all_of(f.fp32_non_ep_params, f.num_experts > 0),
        requires=~q.experts_fsdp_managed,
        reason="Experts and other parameters would sit in one shard group with different dtypes.",
        remedy="Drop fp32_non_ep_params, or switch fsdp_shard_ep1_experts off without PP, TP "
        "and CP.",
        source=SHAPE,
        example=Example(
            rejects={"world_size": 8, "num_experts": 8, "fp32_non_ep_params": True},
            instead={"world_size": 8, "num_experts": 8},
        ),
    ),
    Rule(
        id="tp-heads-not-divisible",
        stage="model-aware",
        when=all_of(f.tp_size > 1, f.num_attention_heads.length > 0),
        requires=divides(f.tp_size, f.num_attention_heads.gcd),
        reason="A split inside an attention head corrupts attention.",
        remedy="Use a TP size that divides the attention heads of every layer.",
        source=ATTENTION,
        example=Example(
            rejects={"world_size": 8, "tp_size": 8, "num_attention_heads": 12},
            instead={"world_size": 8, "tp_size": 4, "num_attention_heads": 12},
        ),
    ),
    Rule(
        id="tp-kv-heads-not-divisible",
        stage="model-aware",
        when=all_of(f.tp_size > 1, ~f.mla, f.num_key_value_heads.length > 0),
        requires=divides(f.tp_size, f.num_key_value_heads.gcd),
        reason="Key/value heads are split like query heads; only MLA is exempt.",
        remedy="Use a TP size that divides the key/value heads of every layer.",
        source=ATTENTION,
        example=Example(
            rejects={"world_size": 8, "tp_size": 4, "num_key_value_heads": 2},
            instead={"world_size": 8, "tp_size": 2, "num_key_value_heads": 2},
        ),
    ),
    Rule(
        id="ep-token-budget-wire-index",
        stage="model-aware",
        when=BUDGET_KNOWN,
        requires=q.dispatch_capacity * f.num_experts_per_tok * q.padded_hidden_size
        < WIRE_INDEX_LIMIT,
        reason="The dispatch buffer's index would overflow.",
        remedy="Shorten max_length, lower the micro-batch, or add CP.",
        source=BUDGET,
        example=Example(
            rejects={**BUSY, "max_length": 32768}, instead={**BUSY, "max_length": 16384}
        ),
    ),
    Rule(
        id="ep-token-budget-gin-ceiling",
        stage="model-aware",
        when=all_of(
            f.ep_size > 1,
            q.tokens_per_rank > 0,
            q.requires_rdma,
            f.gin_max_tokens_per_rank > 0,
        ),
        requires=q.dispatch_capacity <= f.gin_max_tokens_per_rank,
        reason="A larger dispatch across NVLink domains hangs.",
        remedy="Shorten max_length, lower the micro-batch, or use node-scope EP.",
        source=BUDGET,
        example=Example(
            rejects={**BUSY, "world_size": 16, "ep_size": 16, "max_length": 16384},
            instead={**BUSY, "world_size": 16, "ep_size": 8, "max_length": 16384},
        ),
    ),
    Rule(
        id="accelerate-launch-with-grouped-gemm-moe",
        stage="model-aware",
        when=all_of(f.launcher == "accelerate", q.is_moe, ~any_active),
        requires=~f.use_grouped_gemm,
        reason="Grouped GEMMs wrap the MoE blocks, which accelerate's own wrap does not expect.",
        remedy="Launch with torchrun, or switch use_grouped_gemm off.",
        source=LOAD,
        example=Example(
            rejects={"world_size": 8, "num_experts": 8, "launcher": "accelerate"},
            instead={
                "world_size": 8,
                "num_experts": 8,
                "launcher": "accelerate",
                "use_grouped_gemm": False,
            },
        ),
    ),
    Rule(
        id="cp-live-attention-sinks",
        stage="model-aware",
        when=f.cp_size > 1,
        requires=~f.live_attention_sinks,
        reason="CP kernels drop the sink column.",
        remedy="Reset the sinks, or drop CP.",
        source=CP_CHECKS,
        example=Example(
            rejects={"world_size": 8, "cp_size": 2, "live_attention_sinks": True},
            instead={"world_size": 8, "cp_size": 2},
        ),
    ),
    Rule(
        id="fp32-non-ep-family-unsupported",
        stage="model-aware",
        when=all_of(f.fp32_non_ep_params, f.ep_size > 1),
        requires=~one_of(f.model_type, f.GEMMA4),
        reason="This model family opts out of fp32 parameters outside the experts under EP.",
        remedy="Drop fp32_non_ep_params.",
        source=LOAD,
        example=Example(
            rejects={
                "world_size": 8,
                "ep_size": 8,
                "fp32_non_ep_params": True,
                "model_type": "gemma4",
            },
            instead={"world_size": 8, "ep_size": 8, "model_type": "gemma4"},
        ),
    ),
    Rule(
        id="qlora-with-ep-tp-pp-or-grouped-gemm-moe",
        stage="model-aware",
        when=f.quantized,
        requires=~any_of(
            q.ep_group_size > 1,
            f.tp_size > 1,
            f.pp_size > 1,
            all_of(q.needs_ep_wrappers, q.is_moe),
        ),
        reason="The loaders of these modes would de-quantize the weights.",
        remedy="Train QLoRA on plain data parallelism (an MoE without grouped GEMMs) or on a "
        "dense model with CP.",
        source=LOAD,
        example=Example(
            rejects={"world_size": 8, "tp_size": 2, "quantized": True},
            instead={"world_size": 8, "cp_size": 2, "quantized": True},
        ),
    ),
    Rule(
        id="init-from-scratch-with-axes",
        stage="model-aware",
        when=f.init_from_scratch,
        requires=~AXIS_WITHOUT_ACCELERATE,
        reason="There is no sharded random initialisation.",
        remedy="Initialise on plain data parallelism, or load a checkpoint.",
        source=LOAD,
        example=Example(
            rejects={"world_size": 8, "tp_size": 2, "init_from_scratch": True},
            instead={"world_size": 8, "init_from_scratch": True},
        ),
    ),
    Rule(
        id="init-from-scratch-quantized",
        stage="model-aware",
        when=f.init_from_scratch,
        requires=~f.quantized,
        reason="Random weights cannot be quantized on load.",
        remedy="Drop one of the two.",
        source=LOAD,
        example=Example(
            rejects={"world_size": 8, "init_from_scratch": True, "quantized": True},
            instead={"world_size": 8, "init_from_scratch": True},
        ),
    ),
    Rule(
        id="expert-axis-on-model-without-wrapped-moe",
        stage="model-aware",
        when=q.ep_group_size > 1,
        requires=~q.is_dense,
        reason="No MoE layer gets patched, so the loader raises; the configuration gate itself "
        "stays silent, and the framework's guide even says that EP does nothing here.",
        remedy="Use TP or CP on a dense model, else plain FSDP.",
        source=PATCH,
        example=Example(
            rejects={"world_size": 8, "ep_size": 8, "model_kind": "dense"},
            instead={"world_size": 8, "tp_size": 8, "model_kind": "dense"},
        ),
    ),
    Rule(
        id="ep-natively-quantized-experts",
        stage="model-aware",
        when=q.needs_ep_wrappers,
        requires=~f.natively_quantized_experts,
        reason="A wrapped MoE block must hold floating-point tensors.",
        remedy="Use a bf16 export of the checkpoint.",
        source=PATCH,
        example=Example(
            rejects={"world_size": 8, "ep_size": 8, "natively_quantized_experts": True},
            instead={
                "world_size": 8,
                "use_grouped_gemm": False,
                "natively_quantized_experts": True,
            },
        ),
    ),
    Rule(
        id="cp-linear-attention-layers",
        stage="model-aware",
        when=f.cp_size > 1,
        requires=~f.linear_attention_layers,
        reason="Linear attention, convolutions and scans carry a state along the sequence.",
        remedy="Drop CP.",
        source=CP_CHECKS,
        example=Example(
            rejects={"world_size": 8, "cp_size": 2, "linear_attention_layers": True},
            instead={"world_size": 8, "tp_size": 2, "linear_attention_layers": True},
        ),
    ),
    Rule(
        id="cp-attention-class-unsupported",
        stage="model-aware",
        when=all_of(f.cp_size > 1, f.attention_class != "unknown"),
        requires=one_of(f.attention_class, f.CP_ATTENTION_CLASSES),
        reason="Ulysses has no wrapper for this attention class.",
        remedy="Drop CP.",
        source=CP_CHECKS,
        example=Example(
            rejects={"world_size": 8, "cp_size": 2, "attention_class": "Step3p7Attention"},
            instead={"world_size": 8, "cp_size": 2, "attention_class": "Qwen3Attention"},
        ),
    ),
    Rule(
        id="cp-needs-flash-attention",
        stage="model-aware",
        when=all_of(
            f.cp_size > 1,
            f.attn_implementation != "unknown",
            ~one_of(f.attention_class, f.BAILING_CLASSES),
        ),
        requires=one_of(f.attn_implementation, f.FLASH),
        reason="Ulysses wraps flash attention only.",
        remedy="Use a flash attention implementation.",
        source=CP_CHECKS,
        example=Example(
            rejects={"world_size": 8, "cp_size": 2, "attn_implementation": "sdpa"},
            instead={"world_size": 8, "cp_size": 2, "attn_implementation": "flash_attention_2"},
        ),
    ),
    Rule(
        id="cp-heads-unknown",
        stage="model-aware",
        when=all_of(f.cp_size > 1, f.model_config),
        requires=f.num_attention_heads.length > 0,
        reason="Ulysses re-splits heads and must know how many there are.",
        remedy="Drop CP for this model.",
        source=CP_CHECKS,
        example=Example(
            rejects={"world_size": 8, "cp_size": 2, "model_config": True},
            instead={
                "world_size": 8,
                "cp_size": 2,
                "model_config": True,
                "num_attention_heads": 32,
            },
        ),
    ),
    Rule(
        id="cp-heads-not-divisible",
        stage="model-aware",
        when=all_of(f.cp_size > 1, f.num_attention_heads.length > 0),
        requires=divides(f.cp_size, f.num_attention_heads.gcd),
        reason="Ulysses gives every CP rank the same number of heads.",
        remedy="Use a CP size that divides the attention heads.",
        source=CP_CHECKS,
        example=Example(
            rejects={"world_size": 8, "cp_size": 8, "num_attention_heads": 12},
            instead={"world_size": 8, "cp_size": 4, "num_attention_heads": 12},
        ),
    ),
    Rule(
        id="cp-kv-heads-not-divisible",
        stage="model-aware",
        when=all_of(
            f.cp_size > 1,
            ~f.mla,
            ~one_of(f.attention_class, f.MLA_CLASSES),
            f.num_key_value_heads.length > 0,
        ),
        requires=divides(f.cp_size, f.num_key_value_heads.gcd),
        reason="Ulysses gives every CP rank the same number of key/value heads; MLA wrappers "
        "count query heads instead.",
        remedy="Use a CP size that divides the key/value heads.",
        source=CP_CHECKS,
        example=Example(
            rejects={"world_size": 8, "cp_size": 8, "num_key_value_heads": 4},
            instead={"world_size": 8, "cp_size": 4, "num_key_value_heads": 4},
        ),
    ),
    Rule(
        id="tp-attention-class-unsupported",
        stage="model-aware",
        when=all_of(f.tp_size > 1, q.is_moe, f.attention_class != "unknown"),
        requires=one_of(f.attention_class, f.TP_ATTENTION_CLASSES),
        reason="Selective TP on an MoE model shards none of these attention layers.",
        remedy="Drop TP; use EP with expert TP.",
        source=ATTENTION,
        example=Example(
            rejects={
                "world_size": 8,
                "tp_size": 2,
                "model_kind": "moe",
                "attention_class": "Step3p7Attention",
            },
            instead={
                "world_size": 8,
                "ep_size": 2,
                "model_kind": "moe",
                "attention_class": "Step3p7Attention",
            },
        ),
    ),
    Rule(
        id="lowp-with-quantized-base",
        stage="model-aware",
        when=f.lowp_precision != "bf16",
        requires=~f.quantized,
        reason="Low-precision compute needs floating-point base weights.",
        remedy="Use bf16 compute, or an unquantized base.",
        source=LOAD,
        example=Example(
            rejects={"world_size": 8, "lowp_precision": "fp8", "quantized": True},
            instead={"world_size": 8, "lowp_precision": "fp8"},
        ),
    ),
    Rule(
        id="lowp-with-fp16",
        stage="model-aware",
        when=f.lowp_precision != "bf16",
        requires=f.dtype != "fp16",
        reason="The low-precision kernels take bf16 inputs.",
        remedy="Load the model in bf16.",
        source=LOAD,
        example=Example(
            rejects={"world_size": 8, "lowp_precision": "fp8", "dtype": "fp16"},
            instead={"world_size": 8, "lowp_precision": "fp8", "dtype": "bf16"},
        ),
    ),
)
