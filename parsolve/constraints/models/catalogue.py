"""Known models by name: their ``config.json`` as data, and the size that is published.

Only what decides sizes and rules is kept. Weights are meant as they are trained, in bf16: the
quantization that some are published in (gpt-oss, DeepSeek-V3) is left out. The context length is
that of the named repository, or of the base model where several share the shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HUB = "huggingface.co/"


@dataclass(frozen=True, slots=True)
class Preset:
    """A model: its configuration, the published total and who publishes it.

    ``source`` says where the total stands; a repository alone means the parameters that its
    safetensors files add up to. ``also`` are further names, in lower case.
    """

    name: str
    config: Mapping[str, Any]
    published: int
    source: str
    also: tuple[str, ...] = ()


def _config(
    kind: str,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    ffn: int,
    vocab: int,
    context: int,
    **more: Any,  # noqa: ANN401  (what JSON holds)
) -> dict[str, Any]:
    return {
        "model_type": kind,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": ffn,
        "vocab_size": vocab,
        "max_position_embeddings": context,
        "tie_word_embeddings": False,
        **more,
    }


def _gpt(layers: int, hidden: int, heads: int, vocab: int, context: int) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "n_layer": layers,
        "n_embd": hidden,
        "n_head": heads,
        "n_inner": None,
        "vocab_size": vocab,
        "n_positions": context,
    }


def _opt(layers: int, hidden: int, heads: int) -> dict[str, Any]:
    return {
        "model_type": "opt",
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "ffn_dim": 4 * hidden,
        "vocab_size": 50272,
        "max_position_embeddings": 2048,
        "word_embed_proj_dim": hidden,
    }


def _experts(number: int, top_k: int, width: int, **more: object) -> dict[str, Any]:
    return {
        "num_experts": number,
        "num_experts_per_tok": top_k,
        "moe_intermediate_size": width,
        **more,
    }


def _deepseek(q_lora: int | None, first_dense: int, number: int, **more: object) -> dict[str, Any]:
    return {
        "q_lora_rank": q_lora,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "first_k_dense_replace": first_dense,
        "moe_layer_freq": 1,
        "n_routed_experts": number,
        **more,
    }


_TIED: dict[str, Any] = {"tie_word_embeddings": True}
_HEAD_128: dict[str, Any] = {"head_dim": 128}

PRESETS = (
    Preset(
        "llama-7b",
        _config("llama", 32, 4096, 32, 32, 11008, 32000, 2048),
        6_738_415_616,
        f"{HUB}huggyllama/llama-7b",
    ),
    Preset(
        "llama-13b",
        _config("llama", 40, 5120, 40, 40, 13824, 32000, 2048),
        13_015_864_320,
        f"{HUB}huggyllama/llama-13b",
    ),
    Preset(
        "llama-65b",
        _config("llama", 80, 8192, 64, 64, 22016, 32000, 2048),
        65_285_660_672,
        f"{HUB}huggyllama/llama-65b",
    ),
    Preset(
        "llama-2-7b",
        _config("llama", 32, 4096, 32, 32, 11008, 32000, 4096),
        6_738_415_616,
        f"{HUB}meta-llama/Llama-2-7b-hf",
        ("llama2-7b",),
    ),
    Preset(
        "llama-2-13b",
        _config("llama", 40, 5120, 40, 40, 13824, 32000, 4096),
        13_015_864_320,
        f"{HUB}meta-llama/Llama-2-13b-hf",
        ("llama2-13b",),
    ),
    Preset(
        "llama-2-70b",
        _config("llama", 80, 8192, 64, 8, 28672, 32000, 4096),
        68_976_648_192,
        f"{HUB}meta-llama/Llama-2-70b-hf",
        ("llama2-70b",),
    ),
    Preset(
        "llama-3-8b",
        _config("llama", 32, 4096, 32, 8, 14336, 128256, 8192),
        8_030_261_248,
        f"{HUB}meta-llama/Meta-Llama-3-8B",
        ("meta-llama-3-8b", "llama3-8b"),
    ),
    Preset(
        "llama-3-70b",
        _config("llama", 80, 8192, 64, 8, 28672, 128256, 8192),
        70_553_706_496,
        f"{HUB}meta-llama/Meta-Llama-3-70B",
        ("meta-llama-3-70b", "llama3-70b"),
    ),
    Preset(
        "llama-3.1-8b",
        _config("llama", 32, 4096, 32, 8, 14336, 128256, 131072),
        8_030_261_248,
        f"{HUB}meta-llama/Llama-3.1-8B",
        ("meta-llama-3.1-8b", "llama3.1-8b"),
    ),
    Preset(
        "llama-3.1-70b",
        _config("llama", 80, 8192, 64, 8, 28672, 128256, 131072),
        70_553_706_496,
        f"{HUB}meta-llama/Llama-3.1-70B",
        ("meta-llama-3.1-70b", "llama3.1-70b", "llama-3.3-70b", "llama3.3-70b"),
    ),
    Preset(
        "llama-3.1-405b",
        _config("llama", 126, 16384, 128, 8, 53248, 128256, 131072),
        405_853_388_800,
        f"{HUB}meta-llama/Llama-3.1-405B",
        ("meta-llama-3.1-405b", "llama3.1-405b", "llama-3-405b", "llama3-405b"),
    ),
    Preset(
        "llama-3.2-1b",
        _config("llama", 16, 2048, 32, 8, 8192, 128256, 131072, head_dim=64, **_TIED),
        1_235_814_400,
        f"{HUB}meta-llama/Llama-3.2-1B",
        ("llama3.2-1b",),
    ),
    Preset(
        "llama-3.2-3b",
        _config("llama", 28, 3072, 24, 8, 8192, 128256, 131072, **_HEAD_128, **_TIED),
        3_212_749_824,
        f"{HUB}meta-llama/Llama-3.2-3B",
        ("llama3.2-3b",),
    ),
    Preset(
        "yi-34b",
        _config("llama", 60, 7168, 56, 8, 20480, 64000, 4096),
        34_388_917_248,
        f"{HUB}01-ai/Yi-34B",
    ),
    Preset(
        "mistral-7b",
        _config("mistral", 32, 4096, 32, 8, 14336, 32000, 32768),
        7_241_732_096,
        f"{HUB}mistralai/Mistral-7B-v0.1",
    ),
    Preset(
        "mistral-nemo-12b",
        _config("mistral", 40, 5120, 32, 8, 14336, 131072, 131072, **_HEAD_128),
        12_247_782_400,
        f"{HUB}mistralai/Mistral-Nemo-Base-2407",
        ("mistral-nemo-base-2407", "mistral-nemo-instruct-2407"),
    ),
    Preset(
        "mistral-small-24b",
        _config("mistral", 40, 5120, 32, 8, 32768, 131072, 32768, **_HEAD_128),
        23_572_403_200,
        f"{HUB}mistralai/Mistral-Small-24B-Base-2501",
        ("mistral-small-24b-base-2501", "mistral-small-24b-instruct-2501"),
    ),
    Preset(
        "mistral-large-123b",
        _config("mistral", 88, 12288, 96, 8, 28672, 32768, 131072, **_HEAD_128),
        122_610_069_504,
        f"{HUB}mistralai/Mistral-Large-Instruct-2407",
        ("mistral-large-instruct-2407", "mistral-large-2407", "mistral-large-2"),
    ),
    Preset(
        "mixtral-8x7b",
        _config(
            "mixtral",
            32,
            4096,
            32,
            8,
            14336,
            32000,
            32768,
            num_local_experts=8,
            num_experts_per_tok=2,
        ),
        46_702_792_704,
        f"{HUB}mistralai/Mixtral-8x7B-v0.1",
    ),
    Preset(
        "mixtral-8x22b",
        _config(
            "mixtral",
            56,
            6144,
            48,
            8,
            16384,
            32000,
            65536,
            num_local_experts=8,
            num_experts_per_tok=2,
        ),
        140_620_634_112,
        f"{HUB}mistralai/Mixtral-8x22B-v0.1",
    ),
    Preset(
        "qwen2.5-0.5b",
        _config("qwen2", 24, 896, 14, 2, 4864, 151936, 32768, **_TIED),
        494_032_768,
        f"{HUB}Qwen/Qwen2.5-0.5B",
    ),
    Preset(
        "qwen2.5-1.5b",
        _config("qwen2", 28, 1536, 12, 2, 8960, 151936, 131072, **_TIED),
        1_543_714_304,
        f"{HUB}Qwen/Qwen2.5-1.5B",
    ),
    Preset(
        "qwen2.5-3b",
        _config("qwen2", 36, 2048, 16, 2, 11008, 151936, 32768, **_TIED),
        3_085_938_688,
        f"{HUB}Qwen/Qwen2.5-3B",
    ),
    Preset(
        "qwen2.5-7b",
        _config("qwen2", 28, 3584, 28, 4, 18944, 152064, 131072),
        7_615_616_512,
        f"{HUB}Qwen/Qwen2.5-7B",
    ),
    Preset(
        "qwen2.5-14b",
        _config("qwen2", 48, 5120, 40, 8, 13824, 152064, 131072),
        14_770_033_664,
        f"{HUB}Qwen/Qwen2.5-14B",
    ),
    Preset(
        "qwen2.5-32b",
        _config("qwen2", 64, 5120, 40, 8, 27648, 152064, 131072),
        32_763_876_352,
        f"{HUB}Qwen/Qwen2.5-32B",
    ),
    Preset(
        "qwen2.5-72b",
        _config("qwen2", 80, 8192, 64, 8, 29568, 152064, 131072),
        72_706_203_648,
        f"{HUB}Qwen/Qwen2.5-72B",
    ),
    Preset(
        "qwen1.5-moe-a2.7b",
        _config(
            "qwen2_moe",
            24,
            2048,
            16,
            16,
            5632,
            151936,
            8192,
            **_experts(60, 4, 1408, shared_expert_intermediate_size=5632, decoder_sparse_step=1),
        ),
        14_315_784_192,
        f"{HUB}Qwen/Qwen1.5-MoE-A2.7B",
    ),
    Preset(
        "qwen3-0.6b",
        _config("qwen3", 28, 1024, 16, 8, 3072, 151936, 40960, **_HEAD_128, **_TIED),
        596_049_920,
        f"{HUB}Qwen/Qwen3-0.6B model card: 0.6B",
    ),
    Preset(
        "qwen3-1.7b",
        _config("qwen3", 28, 2048, 16, 8, 6144, 151936, 40960, **_HEAD_128, **_TIED),
        1_720_574_976,
        f"{HUB}Qwen/Qwen3-1.7B model card: 1.7B",
    ),
    Preset(
        "qwen3-4b",
        _config("qwen3", 36, 2560, 32, 8, 9728, 151936, 40960, **_HEAD_128, **_TIED),
        4_022_468_096,
        f"{HUB}Qwen/Qwen3-4B",
    ),
    Preset(
        "qwen3-8b",
        _config("qwen3", 36, 4096, 32, 8, 12288, 151936, 40960, **_HEAD_128),
        8_190_735_360,
        f"{HUB}Qwen/Qwen3-8B",
    ),
    Preset(
        "qwen3-14b",
        _config("qwen3", 40, 5120, 40, 8, 17408, 151936, 40960, **_HEAD_128),
        14_768_307_200,
        f"{HUB}Qwen/Qwen3-14B",
    ),
    Preset(
        "qwen3-32b",
        _config("qwen3", 64, 5120, 64, 8, 25600, 151936, 40960, **_HEAD_128),
        32_762_123_264,
        f"{HUB}Qwen/Qwen3-32B",
    ),
    Preset(
        "qwen3-30b-a3b",
        _config(
            "qwen3_moe",
            48,
            2048,
            32,
            4,
            6144,
            151936,
            40960,
            **_HEAD_128,
            **_experts(128, 8, 768, decoder_sparse_step=1, mlp_only_layers=[]),
        ),
        30_532_122_624,
        f"{HUB}Qwen/Qwen3-30B-A3B",
        ("qwen3-coder-30b-a3b",),
    ),
    Preset(
        "qwen3-235b-a22b",
        _config(
            "qwen3_moe",
            94,
            4096,
            64,
            4,
            12288,
            151936,
            40960,
            **_HEAD_128,
            **_experts(128, 8, 1536, decoder_sparse_step=1, mlp_only_layers=[]),
        ),
        235_093_634_560,
        f"{HUB}Qwen/Qwen3-235B-A22B",
    ),
    Preset(
        "qwen3-coder-480b-a35b",
        _config(
            "qwen3_moe",
            62,
            6144,
            96,
            8,
            8192,
            151936,
            262144,
            **_HEAD_128,
            **_experts(160, 8, 2560, decoder_sparse_step=1, mlp_only_layers=[]),
        ),
        480_000_000_000,
        f"{HUB}Qwen/Qwen3-Coder-480B-A35B-Instruct model card: 480B",
    ),
    Preset(
        "deepseek-v2-lite",
        _config(
            "deepseek_v2",
            27,
            2048,
            16,
            16,
            10944,
            102400,
            163840,
            **_deepseek(None, 1, 64, n_shared_experts=2),
            num_experts_per_tok=6,
            moe_intermediate_size=1408,
        ),
        15_706_484_224,
        f"{HUB}deepseek-ai/DeepSeek-V2-Lite",
        ("deepseek-coder-v2-lite",),
    ),
    Preset(
        "deepseek-v2",
        _config(
            "deepseek_v2",
            60,
            5120,
            128,
            128,
            12288,
            102400,
            163840,
            **_deepseek(1536, 1, 160, n_shared_experts=2),
            num_experts_per_tok=6,
            moe_intermediate_size=1536,
        ),
        235_741_434_880,
        f"{HUB}deepseek-ai/DeepSeek-V2",
        ("deepseek-v2.5", "deepseek-coder-v2"),
    ),
    Preset(
        "deepseek-v3",
        _config(
            "deepseek_v3",
            61,
            7168,
            128,
            128,
            18432,
            129280,
            163840,
            **_deepseek(1536, 3, 256, n_shared_experts=1),
            num_experts_per_tok=8,
            moe_intermediate_size=2048,
            num_nextn_predict_layers=1,
        ),
        671_026_419_200,
        f"{HUB}deepseek-ai/DeepSeek-V3 model card: 671B of the main model, MTP left out",
        ("deepseek-r1", "deepseek-v3.1"),
    ),
    Preset(
        "kimi-k2",
        _config(
            "kimi_k2",
            61,
            7168,
            64,
            64,
            18432,
            163840,
            131072,
            **_deepseek(1536, 1, 384, n_shared_experts=1),
            num_experts_per_tok=8,
            moe_intermediate_size=2048,
        ),
        1_026_000_000_000,
        f"{HUB}moonshotai/Kimi-K2-Base: 1,026B (the model card rounds to 1T)",
    ),
    Preset(
        "gpt-oss-20b",
        _config(
            "gpt_oss",
            24,
            2880,
            64,
            8,
            2880,
            201088,
            131072,
            head_dim=64,
            attention_bias=True,
            num_local_experts=32,
            num_experts_per_tok=4,
        ),
        20_914_757_184,
        f"{HUB}openai/gpt-oss-20b model card: 20.9B; unsloth/gpt-oss-20b-BF16",
    ),
    Preset(
        "gpt-oss-120b",
        _config(
            "gpt_oss",
            36,
            2880,
            64,
            8,
            2880,
            201088,
            131072,
            head_dim=64,
            attention_bias=True,
            num_local_experts=128,
            num_experts_per_tok=4,
        ),
        116_829_156_672,
        f"{HUB}openai/gpt-oss-120b model card: 116.8B; unsloth/gpt-oss-120b-BF16",
    ),
    Preset(
        "glm-4.5-air",
        _config(
            "glm4_moe",
            46,
            4096,
            96,
            8,
            10944,
            151552,
            131072,
            **_HEAD_128,
            attention_bias=True,
            use_qk_norm=False,
            first_k_dense_replace=1,
            n_routed_experts=128,
            num_experts_per_tok=8,
            moe_intermediate_size=1408,
            n_shared_experts=1,
            num_nextn_predict_layers=1,
        ),
        106_852_251_264,
        f"{HUB}zai-org/GLM-4.5-Air: 110,468,824,832, less the MTP layer's 3,616,573,568",
    ),
    Preset(
        "glm-4.5",
        _config(
            "glm4_moe",
            92,
            5120,
            96,
            8,
            12288,
            151552,
            131072,
            **_HEAD_128,
            attention_bias=True,
            use_qk_norm=True,
            first_k_dense_replace=3,
            n_routed_experts=160,
            num_experts_per_tok=8,
            moe_intermediate_size=1536,
            n_shared_experts=1,
            num_nextn_predict_layers=1,
        ),
        352_797_829_024,
        f"{HUB}zai-org/GLM-4.5: 358,337,791,296, less the MTP layer's 5,539,962,272",
    ),
    Preset(
        "minimax-m2",
        _config(
            "minimax_m2",
            62,
            3072,
            48,
            8,
            1536,
            200064,
            196608,
            **_HEAD_128,
            num_local_experts=256,
            num_experts_per_tok=8,
        ),
        229_000_000_000,
        f"{HUB}MiniMaxAI/MiniMax-M2: 229B",
    ),
    Preset(
        "hy3-295b-a21b",
        _config(
            "hy_v3",
            80,
            4096,
            64,
            8,
            13312,
            120832,
            131072,
            **_HEAD_128,
            **_experts(192, 8, 1536, num_shared_experts=1),
            mlp_layer_types=["dense"] + ["sparse"] * 79,
        ),
        295_000_000_000,
        "github.com/NVIDIA-NeMo/Automodel/pull/2546: Hy3-preview 295B-A21B",
        ("hy3", "hy3-preview", "hy3-295b"),
    ),
    Preset(
        "olmoe-1b-7b",
        _config(
            "olmoe", 16, 2048, 16, 16, 1024, 50304, 4096, num_experts=64, num_experts_per_tok=8
        ),
        6_919_161_856,
        f"{HUB}allenai/OLMoE-1B-7B-0924",
        ("olmoe-1b-7b-0924",),
    ),
    Preset(
        "olmo-2-13b",
        _config("olmo2", 40, 5120, 40, 40, 13824, 100352, 4096),
        13_716_198_400,
        f"{HUB}allenai/OLMo-2-1124-13B",
        ("olmo-2-1124-13b",),
    ),
    Preset(
        "phi-3-mini",
        _config("phi3", 32, 3072, 32, 32, 8192, 32064, 4096),
        3_821_079_552,
        f"{HUB}microsoft/Phi-3-mini-4k-instruct",
        ("phi-3-mini-4k",),
    ),
    Preset(
        "phi-4",
        _config("phi3", 40, 5120, 40, 10, 17920, 100352, 16384),
        14_659_507_200,
        f"{HUB}microsoft/phi-4",
        ("phi-4-14b",),
    ),
    Preset(
        "gemma-2b",
        _config("gemma", 18, 2048, 8, 1, 16384, 256000, 8192, head_dim=256, **_TIED),
        2_506_172_416,
        f"{HUB}google/gemma-2b",
    ),
    Preset(
        "gemma-7b",
        _config("gemma", 28, 3072, 16, 16, 24576, 256000, 8192, head_dim=256, **_TIED),
        8_537_680_896,
        f"{HUB}google/gemma-7b",
    ),
    Preset(
        "gemma-2-2b",
        _config("gemma2", 26, 2304, 8, 4, 9216, 256000, 8192, head_dim=256, **_TIED),
        2_614_341_888,
        f"{HUB}google/gemma-2-2b",
    ),
    Preset(
        "gemma-2-9b",
        _config("gemma2", 42, 3584, 16, 8, 14336, 256000, 8192, head_dim=256, **_TIED),
        9_241_705_984,
        f"{HUB}google/gemma-2-9b",
    ),
    Preset(
        "gemma-2-27b",
        _config("gemma2", 46, 4608, 32, 16, 36864, 256000, 8192, **_HEAD_128, **_TIED),
        27_227_128_320,
        f"{HUB}google/gemma-2-27b",
    ),
    Preset(
        "gemma-3-1b",
        _config("gemma3_text", 26, 1152, 4, 1, 6912, 262144, 32768, head_dim=256, **_TIED),
        999_885_952,
        f"{HUB}google/gemma-3-1b-pt",
    ),
    Preset(
        "command-r",
        _config("cohere", 40, 8192, 64, 64, 22528, 256000, 131072, **_TIED),
        34_980_831_232,
        f"{HUB}CohereForAI/c4ai-command-r-v01",
        ("c4ai-command-r-v01",),
    ),
    Preset(
        "gpt-neox-20b",
        _config("gpt_neox", 44, 6144, 64, 64, 24576, 50432, 2048),
        20_554_567_680,
        "arXiv:2204.06745, section 3: 20,554,567,680",
    ),
    Preset(
        "opt-13b",
        _opt(40, 5120, 40),
        12_853_473_280,
        f"{HUB}facebook/opt-13b model card: 13B",
    ),
    Preset(
        "opt-66b",
        _opt(64, 9216, 72),
        66_000_000_000,
        "arXiv:2205.01068, table 1: 66B",
    ),
    Preset(
        "gpt2",
        _gpt(12, 768, 12, 50257, 1024),
        124_439_808,
        f"{HUB}openai-community/gpt2 model card: 124M",
        ("gpt2-small", "gpt-2"),
    ),
    Preset(
        "gpt2-xl",
        _gpt(48, 1600, 25, 50257, 1024),
        1_557_611_200,
        f"{HUB}openai-community/gpt2-xl model card: 1.5B",
        ("gpt2-1.5b", "gpt-2-xl"),
    ),
    Preset(
        "gpt-22b",
        _gpt(48, 6144, 64, 51200, 2048),
        22_000_000_000,
        "arXiv:2205.05198, table 3: 22B",
    ),
    Preset(
        "gpt3-175b",
        _gpt(96, 12288, 96, 51200, 2048),
        175_000_000_000,
        "arXiv:2005.14165, table 2.1: 175.0B; vocabulary padded as in arXiv:2205.05198, table 3",
        ("gpt-3-175b", "gpt-175b", "gpt3", "gpt-3"),
    ),
    Preset(
        "mt-nlg-530b",
        _gpt(105, 20480, 128, 51200, 2048),
        530_000_000_000,
        "arXiv:2201.11990: 530B",
        ("megatron-turing-530b", "mtnlg-530b", "gpt-530b"),
    ),
    Preset(
        "gpt-1t",
        _gpt(128, 25600, 160, 51200, 2048),
        1_008_000_000_000,
        "arXiv:2104.04473, table 1: 1008.0B",
        ("gpt3-1t",),
    ),
)
