"""A model's config.json: what halo would read from it, and what is said of a bad file."""

from __future__ import annotations

import codecs
import io
import json
import os
from pathlib import Path
from typing import Any as Anything

import pytest

from parsolve.solver.check import check
from parsolve.solver.huggingface import (
    LARGEST_FILE,
    ModelError,
    model_fields,
    read_model,
    read_model_facts,
)
from tests.solver.questions import HALO

Facts = dict[str, Anything]

LLAMA = """{
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8192,
  "intermediate_size": 28672, "max_position_embeddings": 131072, "num_attention_heads": 64,
  "num_hidden_layers": 80, "num_key_value_heads": 8, "torch_dtype": "bfloat16"
}"""
MIXTRAL = """{
  "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 4096,
  "intermediate_size": 14336, "max_position_embeddings": 32768, "num_attention_heads": 32,
  "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "num_local_experts": 8, "router_aux_loss_coef": 0.02
}"""
DEEPSEEK = """{
  "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168,
  "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840,
  "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
  "num_attention_heads": 128, "num_experts_per_tok": 8, "num_key_value_heads": 128,
  "qk_rope_head_dim": 64,
  "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}
}"""
GPT_OSS = """{
  "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880,
  "intermediate_size": 2880, "layer_types": ["sliding_attention", "full_attention"],
  "max_position_embeddings": 131072, "num_attention_heads": 64, "num_experts_per_tok": 4,
  "num_key_value_heads": 8, "num_local_experts": 128,
  "quantization_config": {"modules_to_not_convert": ["lm_head"], "quant_method": "mxfp4"}
}"""
QWEN3_VL = """{
  "architectures": ["Qwen3VLMoeForConditionalGeneration"], "model_type": "qwen3_vl_moe",
  "text_config": {
    "model_type": "qwen3_vl_moe_text", "hidden_size": 4096, "intermediate_size": 12288,
    "max_position_embeddings": 262144, "moe_intermediate_size": 1536,
    "num_attention_heads": 64, "num_experts": 128, "num_experts_per_tok": 8,
    "num_key_value_heads": 4
  },
  "vision_config": {"hidden_size": 1152, "num_heads": 16}
}"""
QWEN3_NEXT = """{
  "model_type": "qwen3_next", "hidden_size": 2048, "num_experts": 512, "num_experts_per_tok": 10,
  "moe_intermediate_size": 512, "num_attention_heads": 16, "num_key_value_heads": 2,
  "layer_types": ["linear_attention", "linear_attention", "full_attention"]
}"""

READ: dict[str, tuple[str, Facts]] = {
    "Llama, dense": (
        LLAMA,
        {
            "model_config": True,
            "model_kind": "dense",
            "model_type": "llama",
            "hidden_size": 8192,
            "moe_intermediate_size": 28672,
            "max_position_embeddings": 131072,
            "num_attention_heads": [64],
            "num_key_value_heads": [8],
            "mla": False,
            "live_attention_sinks": False,
        },
    ),
    "Mixtral: intermediate_size is the width of an expert": (
        MIXTRAL,
        {
            "model_config": True,
            "model_kind": "moe",
            "model_type": "mixtral",
            "num_experts": 8,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 14336,
            "hidden_size": 4096,
            "max_position_embeddings": 32768,
            "num_attention_heads": [32],
            "num_key_value_heads": [8],
            "mla": False,
            "live_attention_sinks": False,
        },
    ),
    "DeepSeek: MLA, quantized in blocks": (
        DEEPSEEK,
        {
            "model_config": True,
            "model_kind": "moe",
            "model_type": "deepseek_v3",
            "num_experts": 256,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 2048,
            "hidden_size": 7168,
            "max_position_embeddings": 163840,
            "num_attention_heads": [128],
            "num_key_value_heads": [128],
            "mla": True,
            "live_attention_sinks": False,
            "quantized": True,
        },
    ),
    "GPT-OSS: sinks, experts in MXFP4": (
        GPT_OSS,
        {
            "model_config": True,
            "model_kind": "moe",
            "model_type": "gpt_oss",
            "num_experts": 128,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 2880,
            "hidden_size": 2880,
            "max_position_embeddings": 131072,
            "num_attention_heads": [64],
            "num_key_value_heads": [8],
            "mla": False,
            "linear_attention_layers": False,
            "live_attention_sinks": True,
            "natively_quantized_experts": True,
        },
    ),
    "Qwen3-VL: the text's configuration is nested": (
        QWEN3_VL,
        {
            "model_config": True,
            "model_kind": "moe",
            "model_type": "qwen3_vl_moe",
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 1536,
            "hidden_size": 4096,
            "max_position_embeddings": 262144,
            "num_attention_heads": [64],
            "num_key_value_heads": [4],
            "mla": False,
            "live_attention_sinks": False,
        },
    ),
    "Qwen3-Next: linear attention": (
        QWEN3_NEXT,
        {
            "model_config": True,
            "model_kind": "moe",
            "model_type": "qwen3_next",
            "num_experts": 512,
            "num_experts_per_tok": 10,
            "moe_intermediate_size": 512,
            "hidden_size": 2048,
            "num_attention_heads": [16],
            "num_key_value_heads": [2],
            "mla": False,
            "linear_attention_layers": True,
            "live_attention_sinks": False,
        },
    ),
}


def relevant(facts: Facts) -> Facts:
    """A dense model's FFN width is read by no rule: it may be told or not."""
    return {
        name: value
        for name, value in facts.items()
        if not (name == "moe_intermediate_size" and facts["model_kind"] == "dense")
    }


def written(folder: Path, text: str | bytes, name: str = "config.json") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize("name", READ)
def test_a_model_is_read(tmp_path: Path, name: str) -> None:
    text, facts = READ[name]
    file = written(tmp_path, text)
    assert relevant(read_model(file)) == relevant(facts)
    assert read_model(tmp_path) == read_model(str(tmp_path)) == read_model(file)


@pytest.mark.parametrize("name", READ)
def test_what_is_read_can_be_checked(name: str) -> None:
    facts = model_fields(json.loads(READ[name][0]))
    answer = check(HALO.config({"world_size": 8, **facts}))
    assert answer.config["model_kind"] in {"dense", "moe"}


def test_a_name_is_read_as_its_file_would_be() -> None:
    facts = read_model("openai/gpt-oss-20b")
    assert facts == read_model_facts("gpt-oss-20b").fields
    assert (facts["num_experts"], facts["num_attention_heads"]) == (32, [64])
    assert "natively_quantized_experts" not in facts
    assert read_model("gpt3-175b")["hidden_size"] == 12288


def test_an_existing_path_wins_over_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpt2").mkdir()
    written(tmp_path / "gpt2", LLAMA)
    assert read_model("gpt2")["model_type"] == "llama"
    assert read_model_facts("gpt2").preset is None
    assert read_model("gpt2-xl")["model_type"] == "gpt2"


@pytest.mark.parametrize("name", ["./gpt2", "gpt2/", "gpt2.json", "/gpt2", Path("gpt2")])
def test_a_path_is_no_name(
    name: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="No such file or directory"):
        read_model(name)


def test_an_unknown_name_is_told_the_near_ones() -> None:
    with pytest.raises(ModelError) as caught:
        read_model("qwen3-9b")
    assert str(caught.value).startswith(
        "cannot read qwen3-9b: no such file, folder or model: did you mean qwen3-8b"
    )


def test_what_a_memory_model_needs() -> None:
    found = read_model_facts("mixtral-8x7b")
    assert found.preset is not None
    assert found.counted().name == found.preset.name == "mixtral-8x7b"
    memory = found.memory()
    assert memory["routed_expert_parameters"] == 32 * 8 * 3 * 4096 * 14336
    assert memory["embedding_parameters"] == 32000 * 4096


def test_a_file_that_cannot_be_counted_is_still_read(tmp_path: Path) -> None:
    file = written(tmp_path, QWEN3_NEXT)
    found = read_model_facts(file)
    assert found.fields == read_model(file)
    assert found.shape is None
    with pytest.raises(ModelError) as caught:
        found.memory()
    assert str(caught.value) == found.uncounted
    assert found.uncounted.startswith(f"{file}: the parameters of qwen3_next cannot be counted")


def test_gpt_oss_in_mxfp4_cannot_be_wrapped() -> None:
    answer = check(HALO.config({"world_size": 8, **model_fields(json.loads(GPT_OSS))}))
    assert answer.answer == "rejected"
    assert [v.rule for v in answer.violations] == ["ep-natively-quantized-experts"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, {"model_config": True, "model_kind": "dense", "mla": False}),
        ({"num_attention_heads": [32, 64, 32]}, {"num_attention_heads": [32, 64]}),
        ({"num_attention_heads_per_layer": [8, 0, 4]}, {"num_attention_heads": [4, 8]}),
        ({"n_head": 12}, {"num_attention_heads": [12]}),
        ({"num_key_value_heads": [4, 2]}, {"num_key_value_heads": [2, 4]}),
        ({"num_experts": [0, 64, 64]}, {"num_experts": 64, "model_kind": "moe"}),
        ({"moe_intermediate_size": [512, 512], "num_experts": 4}, {"moe_intermediate_size": 512}),
        ({"num_experts": [0, 0]}, {"model_kind": "unknown"}),
        ({"num_experts": 0, "num_local_experts": 16}, {"num_experts": 16}),
        ({"num_experts": None, "n_routed_experts": 16}, {"num_experts": 16}),
        ({"num_routed_experts": 4, "num_moe_experts": 8}, {"num_experts": 4}),
        ({"moe_num_experts": 8}, {"num_experts": 8, "model_kind": "moe"}),
        ({"expert_count": 8}, {"model_kind": "unknown"}),
        ({"moe_layers": [1, 2]}, {"model_kind": "unknown"}),
        ({"num_experts": 0}, {"model_kind": "dense"}),
        ({"num_experts": None}, {"model_kind": "dense"}),
        ({"num_experts": 0, "moe_layers": [], "is_moe": False}, {"model_kind": "dense"}),
        ({"text_config": {"num_experts": 0, "moe_layers": None}}, {"model_kind": "dense"}),
        ({"moe": {}}, {"model_kind": "dense"}),
        ({"blocks": [{"num_experts": 0}, {}]}, {"model_kind": "dense"}),
        ({"num_experts": 0, "expert_count": 8}, {"model_kind": "unknown"}),
        ({"ffn_config": {"moe_num_experts": 16}}, {"model_kind": "unknown"}),
        ({"moe_config": {"layers": 2}}, {"model_kind": "unknown"}),
        ({"blocks": [{}, {"ffn": {"num_experts": 8}}]}, {"model_kind": "unknown"}),
        ({"a": {"b": {"c": {"d": {"num_experts": 8}}}}}, {"model_kind": "unknown"}),
        ({"model_type": "qwen2_moe"}, {"model_kind": "unknown"}),
        ({"text_config": {"model_type": "olmoe"}}, {"model_kind": "unknown"}),
        ({"model_type": "mixture_of_experts"}, {"model_kind": "unknown"}),
        ({"model_type": "qwen2_moe", "num_experts": 4}, {"model_kind": "moe"}),
        ({"architectures": ["Qwen3MoeForCausalLM"]}, {"model_kind": "dense"}),
        ({"text_config": {"num_experts": 8}}, {"num_experts": 8, "model_kind": "moe"}),
        ({"text_config": {"moe_layers": 3}}, {"model_kind": "unknown"}),
        ({"text_config": None, "hidden_size": 64}, {"hidden_size": 64}),
        ({"hidden_size": 1, "text_config": {"hidden_size": 2}}, {"hidden_size": 1}),
        ({"hidden_size": None, "text_config": {"hidden_size": 2}}, {"hidden_size": 2}),
        ({"top_k": 2, "num_experts": 4}, {"num_experts_per_tok": 2}),
        ({"moe_router_topk": 3, "top_k": 2}, {"num_experts_per_tok": 3}),
        (
            {"expert_intermediate_size": 3, "intermediate_size": 2, "num_experts": 2},
            {"moe_intermediate_size": 3},
        ),
        ({"max_seq_length": 2048}, {"max_position_embeddings": 2048}),
        ({"n_positions": 1024}, {"max_position_embeddings": 1024}),
        ({"kv_lora_rank": 512}, {"mla": True}),
        ({"qk_rope_head_dim": 64}, {"mla": True}),
        ({"kv_lora_rank": None}, {"mla": False}),
        ({"layer_types": ["linear_attention"]}, {"linear_attention_layers": True}),
        ({"layer_types": ["full_attention"]}, {"linear_attention_layers": False}),
        ({"text_config": {"layer_types": ["linear_attention"]}}, {"linear_attention_layers": True}),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, {"quantized": True}),
        ({"quantization_config": {}}, {}),
        ({"model_type": "zaya"}, {"model_type": "zaya", "live_attention_sinks": False}),
    ],
)
def test_spellings(config: Facts, expected: Facts) -> None:
    facts = model_fields(config)
    assert {name: facts[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("config", "absent"),
    [
        ({}, ("num_experts", "hidden_size", "num_attention_heads", "model_type", "quantized")),
        ({"model_type": 3}, ("model_type", "live_attention_sinks")),
        ({"model_type": ""}, ("model_type",)),
        ({"layer_types": "linear_attention"}, ("linear_attention_layers",)),
        ({"quantization_config": "fp8"}, ("quantized", "natively_quantized_experts")),
        ({"num_attention_heads": [0, 0]}, ("num_attention_heads",)),
        ({"max_position_embeddings": 5, "text_config": {}}, ("max_position_embeddings",)),
    ],
)
def test_what_a_file_does_not_say_is_not_said(config: Facts, absent: tuple[str, ...]) -> None:
    assert model_fields(config).keys().isdisjoint(absent)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_experts": "eight"}, "num_experts or num_local_experts is not a positive integer"),
        ({"num_experts": 8.5}, "num_experts or num_local_experts is not a positive integer: 8.5"),
        ({"num_experts": -8}, "num_experts or num_local_experts is not a positive integer: -8"),
        ({"num_experts": True}, "is not a positive integer: True"),
        ({"num_experts": [8, 16]}, "is not a positive integer: [8, 16]"),
        ({"num_experts": [[8], [16]]}, "is not a positive integer: [[8], [16]]"),
        ({"num_experts": {"a": 1}}, "is not a positive integer: {'a': 1}"),
        ({"hidden_size": "x" * 300}, "hidden_size or n_embd is not a positive integer: 'xxx"),
        ({"num_attention_heads": "many"}, "num_attention_heads is neither an integer nor a list"),
        ({"num_attention_heads": [8, None]}, "num_attention_heads is neither"),
        ({"num_attention_heads": [-8]}, "num_attention_heads is neither"),
        ({"num_key_value_heads": True}, "num_key_value_heads is neither"),
        ({"num_key_value_heads": {"0": 8}}, "num_key_value_heads is neither"),
    ],
)
def test_wrong_types_are_named(config: Facts, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        model_fields(config, "model/config.json")
    assert str(caught.value).startswith("model/config.json: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("{", "is not JSON at line 1"),
        ('{\n"a": 1,\n}', "is not JSON at line 3"),
        ("hidden_size: 8192", "is not JSON at line 1"),
        ("[1, 2]", "holds no JSON object"),
        ("null", "holds no JSON object"),
        ('"text"', "holds no JSON object"),
        ("[" * 100_000, "is not JSON"),
        (
            '{"hidden_size": ' + "9" * 5000 + "}",
            "holds a number of more digits than any model's",
        ),
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "is not UTF-8 text"),
        (b"\x80\x04\x95", "is not UTF-8 text"),
    ],
)
def test_a_file_that_is_no_model(tmp_path: Path, text: str | bytes, message: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ModelError) as caught:
        read_model(file)
    assert str(caught.value) == f"{file} {message}"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "missing.json"
    with pytest.raises(ModelError) as caught:
        read_model(file)
    assert str(caught.value) == f"cannot read {file}: No such file or directory"


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        read_model(tmp_path)
    assert str(caught.value) == f"cannot read {tmp_path}/config.json: No such file or directory"


@pytest.mark.parametrize("name", ["n" * 5000, "a\0b"])
def test_a_name_that_no_file_can_have(name: str) -> None:
    with pytest.raises(ModelError, match="cannot read"):
        read_model(name)


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()
    with pytest.raises(ModelError) as caught:
        read_model(tmp_path)
    assert str(caught.value) == f"{tmp_path}/config.json is no ordinary file"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_a_device_is_not_read(device: str) -> None:
    """It might never end."""
    with pytest.raises(ModelError) as caught:
        read_model(device)
    assert str(caught.value) == f"{device} is no ordinary file"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody writes to it: opening it would hang."""
    pipe = tmp_path / "config.json"
    os.mkfifo(pipe)
    for name in (pipe, tmp_path):
        with pytest.raises(ModelError) as caught:
            read_model(name)
        assert str(caught.value) == f"{pipe} is no ordinary file"


def test_a_link_to_an_ordinary_file_is_read(tmp_path: Path) -> None:
    file = written(tmp_path, LLAMA, "llama.json")
    (tmp_path / "config.json").symlink_to(file)
    assert read_model(tmp_path) == read_model(file)


@pytest.mark.parametrize("name", READ)
def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path, name: str) -> None:
    text, facts = READ[name]
    file = written(tmp_path, codecs.BOM_UTF8 + text.encode())
    assert relevant(read_model(file)) == relevant(facts)


def test_a_byte_order_mark_alone_is_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is empty"):
        read_model(written(tmp_path, codecs.BOM_UTF8))


def test_the_largest_file_is_read(tmp_path: Path) -> None:
    assert LARGEST_FILE == 10 * 1024 * 1024
    file = written(tmp_path, LLAMA.ljust(LARGEST_FILE))
    assert file.stat().st_size == LARGEST_FILE
    assert relevant(read_model(file)) == relevant(READ["Llama, dense"][1])
    written(tmp_path, LLAMA.ljust(LARGEST_FILE + 1))
    with pytest.raises(ModelError, match="is too large"):
        read_model(file)


def test_no_more_is_read_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the file says that it is, or grows to be."""
    asked: list[int] = []

    class Watched(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            asked.append(size)
            return b" " * size

    file = written(tmp_path, LLAMA)
    monkeypatch.setattr(Path, "open", lambda *_: Watched())
    with pytest.raises(ModelError, match="is too large"):
        read_model(file)
    assert asked == [LARGEST_FILE + 1]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    with file.open("wb") as stream:
        stream.truncate(LARGEST_FILE + 1)
    with pytest.raises(ModelError) as caught:
        read_model(file)
    assert str(caught.value) == (
        f"{file} is too large for a config.json ({LARGEST_FILE} bytes at most)"
    )
