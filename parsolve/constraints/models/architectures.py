"""Which modules each ``model_type`` has, as transformers builds it.

Source: ``modeling_*.py`` and ``configuration_*.py`` of transformers 5.24.0. What a config.json
decides is read from it; this table holds what the code decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Switch: TypeAlias = bool | tuple[str, bool]
"""Fixed, or the key of a config.json that says it and its default there."""

ATTENTION_BIAS = ("attention_bias", False)
MLP_BIAS = ("mlp_bias", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The modules of one ``model_type``.

    ``qk_norm`` is what ``qk_norm_if`` switches. ``head_dim`` is the default of the class (0:
    the hidden size over the heads). ``kv_heads`` must be stated, or are as many as heads unless
    they are, or there is no such thing. ``positions`` is the number of learned positions beyond the
    context length, None for none. ``experts`` names the key of an expert's width; empty for
    dense ones. ``first_dense`` is whether ``first_k_dense_replace`` must be stated. Shared
    experts have the biases of ``mlp_bias``, routed ones those of ``expert_bias``.
    """

    qkv_bias: Switch = False
    o_bias: Switch = False
    mlp_bias: Switch = False
    qk_norm: Literal["none", "head", "all"] = "none"
    qk_norm_if: Switch = True
    sinks: bool = False
    mla: bool = False
    head_dim: int = 0
    kv_heads: Literal["stated", "optional", "none"] = "stated"
    norms: int = 2
    norm_vectors: int = 1
    matrices: int = 3
    tied: bool = False
    positions: int | None = None
    experts: str = ""
    dense_ffn: str = "intermediate_size"
    first_dense: bool = False
    shared: Literal["", "count", "width", "one"] = ""
    shared_gate: bool = False
    expert_bias: bool = False
    router_bias: bool = False
    score_bias: bool = False


LLAMA = Architecture(
    qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS, kv_heads="optional"
)
PLAIN = Architecture()
QWEN2 = Architecture(qkv_bias=True)
QWEN3 = Architecture(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, qk_norm="head", head_dim=128)
QWEN3_MOE = replace(QWEN3, experts="moe_intermediate_size", head_dim=0)
GEMMA = Architecture(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, head_dim=256, tied=True)
GLM = Architecture(qkv_bias=("attention_bias", True), head_dim=128)
OLMO2 = replace(LLAMA, mlp_bias=False, qk_norm="all")
COHERE = replace(LLAMA, mlp_bias=False, norms=1, tied=True)
DEEPSEEK_V2 = Architecture(
    qkv_bias=ATTENTION_BIAS,
    o_bias=ATTENTION_BIAS,
    mla=True,
    kv_heads="optional",
    experts="moe_intermediate_size",
    first_dense=True,
    shared="count",
)
DEEPSEEK_V3 = replace(DEEPSEEK_V2, score_bias=True)
GPT = Architecture(
    qkv_bias=True,
    o_bias=True,
    mlp_bias=True,
    kv_heads="none",
    norm_vectors=2,
    matrices=2,
)

ARCHITECTURES = {
    "llama": LLAMA,
    "granite": LLAMA,
    "mistral": PLAIN,
    "phi3": PLAIN,
    "mixtral": replace(PLAIN, experts="intermediate_size"),
    "qwen2": QWEN2,
    "qwen2_vl": QWEN2,
    "qwen2_vl_text": QWEN2,
    "qwen2_5_vl": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen2_moe": replace(
        QWEN2,
        qkv_bias=("qkv_bias", True),
        experts="moe_intermediate_size",
        shared="width",
        shared_gate=True,
    ),
    "qwen3": QWEN3,
    "qwen3_vl_text": QWEN3,
    "qwen3_moe": QWEN3_MOE,
    "qwen3_vl_moe_text": QWEN3_MOE,
    "deepseek_v2": DEEPSEEK_V2,
    "deepseek_v3": DEEPSEEK_V3,
    "kimi_k2": DEEPSEEK_V3,  # the same code, kept beside the weights
    "gpt_oss": Architecture(
        qkv_bias=("attention_bias", True),
        o_bias=("attention_bias", True),
        sinks=True,
        head_dim=64,
        experts="intermediate_size",
        expert_bias=True,
        router_bias=True,
    ),
    "glm4_moe": Architecture(
        qkv_bias=ATTENTION_BIAS,
        qk_norm="head",
        qk_norm_if=("use_qk_norm", False),
        experts="moe_intermediate_size",
        first_dense=True,
        shared="count",
        score_bias=True,
    ),
    "hy_v3": Architecture(
        qkv_bias=ATTENTION_BIAS,
        o_bias=ATTENTION_BIAS,
        mlp_bias=MLP_BIAS,
        qk_norm="head",
        experts="moe_intermediate_size",
        first_dense=True,
        shared="count",
        score_bias=True,
    ),
    "minimax_m2": Architecture(
        qk_norm="all",
        experts="intermediate_size",
        score_bias=True,
    ),
    "llama4_text": Architecture(
        qkv_bias=ATTENTION_BIAS,
        o_bias=ATTENTION_BIAS,
        experts="intermediate_size",
        dense_ffn="intermediate_size_mlp",
        shared="one",
    ),
    "gemma": GEMMA,
    "gemma2": replace(GEMMA, norms=4),
    "gemma3_text": replace(GEMMA, norms=4, qk_norm="head"),
    "olmo": replace(LLAMA, mlp_bias=False, norm_vectors=0),
    "olmo2": OLMO2,
    "olmo3": OLMO2,
    "olmoe": Architecture(
        qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, qk_norm="all", experts="intermediate_size"
    ),
    "cohere": COHERE,
    "cohere2": COHERE,
    "dots1": replace(QWEN3_MOE, first_dense=True, shared="count", score_bias=True),
    "glm": GLM,
    "glm4": replace(GLM, norms=4),
    "glm4_moe_lite": DEEPSEEK_V3,
    "hunyuan_v1_dense": replace(LLAMA, mlp_bias=False, qk_norm="head"),
    "ministral": PLAIN,
    "seed_oss": Architecture(
        qkv_bias=("attention_bias", True),
        o_bias=("attention_out_bias", False),
        mlp_bias=MLP_BIAS,
        head_dim=128,
    ),
    "smollm3": replace(LLAMA, kv_heads="stated", tied=True),
    "starcoder2": Architecture(
        qkv_bias=("use_bias", True),
        o_bias=("use_bias", True),
        mlp_bias=("use_bias", True),
        norm_vectors=2,
        matrices=2,
        tied=True,
    ),
    "gpt2": replace(GPT, tied=True, positions=0),
    "opt": replace(GPT, tied=True, positions=2),
    "gpt_neox": replace(GPT, qkv_bias=("attention_bias", True), o_bias=("attention_bias", True)),
}

NOT_MODELLED = {
    "bamba": "Mamba layers",
    "dbrx": "its own layout of experts (ffn_config)",
    "deepseek_v32": "the indexer of its sparse attention",
    "deepseek_v4": "its compressed and sparse attention and its hyper-connections",
    "falcon_mamba": "Mamba layers",
    "gemma3n": "its per-layer embeddings and alternating updates",
    "gemma3n_text": "its per-layer embeddings and alternating updates",
    "gemma4": "its per-layer embeddings and shared key-value layers",
    "gemma4_text": "its per-layer embeddings and shared key-value layers",
    "glm_moe_dsa": "the indexer of its sparse attention",
    "granitemoehybrid": "Mamba layers",
    "jamba": "Mamba layers",
    "kimi_linear": "linear attention",
    "mamba": "Mamba layers",
    "mamba2": "Mamba layers",
    "minimax": "linear (lightning) attention",
    "nemotron_h": "Mamba layers",
    "qwen3_5": "linear attention (gated delta net)",
    "qwen3_5_moe": "linear attention (gated delta net)",
    "qwen3_5_moe_text": "linear attention (gated delta net)",
    "qwen3_5_text": "linear attention (gated delta net)",
    "qwen3_next": "linear attention (gated delta net)",
    "zamba2": "Mamba layers",
}
"""What a known ``model_type`` has that no shape holds."""
