"""Shapes and parameter counts: published ones, recorded ones, and some counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsolve.constraints.models.architectures import ARCHITECTURES, NOT_MODELLED
from parsolve.constraints.models.catalogue import PRESETS, Preset
from parsolve.constraints.models.config import DECIDES, shape_of
from parsolve.constraints.models.lookup import ModelError
from parsolve.constraints.models.parameters import Parameters, count, facts
from parsolve.constraints.models.presets import find, known

DATA = Path(__file__).resolve().parents[1] / "data"
SIZES = (DATA / "model_sizes.jsonl").read_text(encoding="utf-8")
RECORDED = [json.loads(line) for line in SIZES.splitlines()]
BUILT = json.loads((DATA / "preset_sizes.json").read_text(encoding="utf-8"))

EXACT = {
    "command-r": 34_980_831_232,
    "deepseek-v2": 235_741_434_880,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v3": 671_026_419_200,
    "gemma-2-27b": 27_227_128_320,
    "gemma-7b": 8_537_680_896,
    "gpt-neox-20b": 20_554_567_680,
    "gpt-oss-120b": 116_829_156_672,
    "gpt-oss-20b": 20_914_757_184,
    "gpt2": 124_439_808,
    "llama-2-70b": 68_976_648_192,
    "llama-2-7b": 6_738_415_616,
    "llama-3-70b": 70_553_706_496,
    "llama-3-8b": 8_030_261_248,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "mistral-7b": 7_241_732_096,
    "mixtral-8x22b": 140_620_634_112,
    "mixtral-8x7b": 46_702_792_704,
    "olmoe-1b-7b": 6_919_161_856,
    "phi-4": 14_659_507_200,
    "qwen1.5-moe-a2.7b": 14_315_784_192,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen2.5-7b": 7_615_616_512,
    "qwen3-235b-a22b": 235_093_634_560,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-32b": 32_762_123_264,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
}
"""What the published safetensors files, or the papers, add up to."""

SPECIAL = (
    *("text_config", "vision_config", "layer_types", "mlp_layer_types", "moe_layers"),
    *("moe_layer_freq", "mlp_only_layers", "decoder_sparse_step", "tie_word_embeddings"),
    *("head_dim", "attention_bias", "word_embed_proj_dim", "num_nextn_predict_layers"),
)
"""Keys that are read beside the numbers."""

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 10,
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 3,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "q_lora_rank": 4,
    "kv_lora_rank": 5,
    "qk_nope_head_dim": 3,
    "qk_rope_head_dim": 1,
    "v_head_dim": 2,
    "first_k_dense_replace": 1,
    "intermediate_size": 20,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 6,
    "n_shared_experts": 1,
    "vocab_size": 10,
    "num_nextn_predict_layers": 1,
}
GPT2 = {
    "model_type": "gpt2",
    "n_layer": 1,
    "n_embd": 4,
    "n_head": 2,
    "n_positions": 3,
    "vocab_size": 5,
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "num_hidden_layers": 1,
    "hidden_size": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 2,
    "intermediate_size": 3,
    "num_local_experts": 2,
    "num_experts_per_tok": 1,
    "vocab_size": 5,
}


def total(config: dict[str, Any]) -> int:
    return count(shape_of(config)).total


def without(config: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != key}


class TestPresets:
    @pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
    def test_a_preset_has_as_many_parameters_as_are_published(self, preset: Preset) -> None:
        assert total(dict(preset.config)) == pytest.approx(preset.published, rel=0.005)
        assert preset.source

    @pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
    def test_a_preset_has_as_many_as_transformers_builds(self, preset: Preset) -> None:
        assert total(dict(preset.config)) == BUILT[preset.name]

    @pytest.mark.parametrize("name", EXACT)
    def test_where_every_digit_is_known_every_digit_is_right(self, name: str) -> None:
        assert total(dict(find(name).config)) == find(name).published == EXACT[name]

    @pytest.mark.parametrize(
        ("name", "files", "layer", "hidden", "vocab"),
        [
            ("glm-4.5-air", 110_468_824_832, 2_341_492_864, 4096, 151552),
            ("glm-4.5", 358_337_791_296, 3_935_625_632, 5120, 151552),
            ("deepseek-v3", 684_489_845_504, 11_507_286_272, 7168, 129280),
        ],
    )
    def test_files_with_a_layer_of_multi_token_prediction_hold_that_much_more(
        self, name: str, files: int, layer: int, hidden: int, vocab: int
    ) -> None:
        """One more layer, a projection of two states, three norms, both embeddings again."""
        shape = shape_of(find(name).config)
        assert shape.left_out == ("1 layer of multi-token prediction",)
        more = layer + 2 * hidden * hidden + 3 * hidden + 2 * vocab * hidden
        assert count(shape).total + more == files

    @pytest.mark.parametrize(
        ("name", "billions"),
        [
            ("qwen3-30b-a3b", 3.3),
            ("qwen3-235b-a22b", 22),
            ("mixtral-8x7b", 12.9),
            ("mixtral-8x22b", 39),
            ("deepseek-v3", 37),
            ("hy3-295b-a21b", 21),
        ],
    )
    def test_as_many_are_active_as_are_published(self, name: str, billions: float) -> None:
        active = count(shape_of(find(name).config)).active
        assert active / 1e9 == pytest.approx(billions, rel=0.02)

    @pytest.mark.parametrize(
        ("said", "name"),
        [
            ("llama-3-70b", "llama-3-70b"),
            ("meta-llama/Meta-Llama-3-70B-Instruct", "llama-3-70b"),
            ("unsloth/gpt-oss-20b-BF16", "gpt-oss-20b"),
            ("Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"),
            ("Qwen/Qwen3-235B-A22B-Thinking-2507", "qwen3-235b-a22b"),
            ("LLaMA-7B", "llama-7b"),
            ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
            ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
            ("google/gemma-2-9b-it", "gemma-2-9b"),
            (" GPT3_175B ", "gpt3-175b"),
        ],
    )
    def test_is_found_by_what_people_call_it(self, said: str, name: str) -> None:
        assert find(said).name == name

    def test_no_name_stands_for_two(self) -> None:
        names = [name for preset in PRESETS for name in (preset.name, *preset.also)]
        assert sorted(names) == sorted(set(names))
        assert all(known(name) for name in names)

    @pytest.mark.parametrize(
        ("said", "part"),
        [
            ("lama-3-8b", "did you mean llama-3-8b"),
            ("qwen3-9b", "did you mean qwen3-8b"),
            ("banana", "no model is named 'banana' (parsolve models lists the names"),
            ("-instruct", "no model is named"),
        ],
    )
    def test_an_unknown_name_is_told_the_near_ones(self, said: str, part: str) -> None:
        with pytest.raises(ModelError) as caught:
            find(said)
        assert part in str(caught.value)
        assert str(caught.value).endswith("a config.json works too)")


class TestByHand:
    def test_dense(self) -> None:
        # q and o 8*8 each, k and v 8*4 each; 3 matrices of 8*16; 2 norms a layer and a last one
        shape = shape_of(LLAMA)
        assert count(shape) == Parameters(
            embedding=80, output=80, attention=2 * 192, dense_ffn=2 * 384, norms=40
        )
        assert count(shape).total == count(shape).active == 1352
        assert facts(shape) == {
            "num_hidden_layers": 2,
            "num_moe_layers": 0,
            "hidden_size": 8,
            "vocab_size": 10,
            "embedding_parameters": 80,
            "output_parameters": 80,
            "attention_parameters": 384,
            "dense_ffn_parameters": 768,
            "routed_expert_parameters": 0,
            "shared_expert_parameters": 0,
            "other_parameters": 40,
            "layer_dense_parameters": 592,
            "layer_expert_parameters": 0,
            "query_width": 8,
            "key_width": 4,
            "value_width": 4,
            "attention_output_width": 8,
            "intermediate_size": 16,
            "moe_intermediate_size": 0,
            "shared_intermediate_size": 0,
            "num_experts": 0,
            "num_experts_per_tok": 0,
            "ffn_matrices": 3,
        }

    def test_latent_attention_and_experts(self) -> None:
        # q 8*4 + 4*8, kv 8*6 + 5*10, o 4*8; an expert 3*8*6; a router 4*(8 + 1)
        shape = shape_of(DEEPSEEK)
        assert count(shape) == Parameters(
            embedding=80,
            output=80,
            attention=3 * 194,
            dense_ffn=480,
            routed_experts=2 * 576,
            shared_experts=2 * 144,
            router=2 * 36,
            norms=3 * (16 + 4 + 5) + 8,
            idle=2 * 288,
        )
        assert (count(shape).total, count(shape).active) == (2817, 2241)
        found = facts(shape)
        assert found["num_moe_layers"] == 2
        assert found["other_parameters"] == 155
        assert found["layer_dense_parameters"] == 194 + 480 + 25
        assert found["layer_expert_parameters"] == 576
        widths = ("query_width", "key_width", "value_width", "attention_output_width")
        assert [found[width] for width in widths] == [8, 8, 4, 4]
        sizes = ("intermediate_size", "moe_intermediate_size", "shared_intermediate_size")
        assert [found[size] for size in sizes] == [20, 6, 6]
        assert (found["num_experts"], found["num_experts_per_tok"]) == (4, 2)

    def test_biases_learned_positions_and_two_matrices(self) -> None:
        shape = shape_of(GPT2)
        assert count(shape) == Parameters(
            embedding=5 * 4 + 3 * 4,
            attention=(4 + 1) * 12 + (4 + 1) * 4,
            dense_ffn=(4 + 1) * 16 + (16 + 1) * 4,
            norms=3 * 8,
        )
        assert (facts(shape)["ffn_matrices"], facts(shape)["intermediate_size"]) == (2, 16)

    def test_sinks_and_biases_of_experts(self) -> None:
        shape = shape_of(GPT_OSS)
        assert count(shape) == Parameters(
            embedding=20,
            output=20,
            attention=5 * 4 + 5 * 2 + 5 * 2 + (4 * 4 + 4) + 2,
            routed_experts=2 * (5 * 6 + 4 * 4),
            router=2 * 5,
            norms=12,
            idle=46,
        )
        assert facts(shape)["intermediate_size"] == 0

    @pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
    def test_the_parts_sum_to_the_total(self, preset: Preset) -> None:
        found = facts(shape_of(preset.config))
        parts = [n for name, n in found.items() if name.endswith("_parameters")]
        layers = found["layer_dense_parameters"] + found["layer_expert_parameters"]
        assert sum(parts) - layers == total(dict(preset.config))


class TestConfig:
    @pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["config"]["model_type"])
    def test_as_many_as_transformers_builds(self, row: dict[str, Any]) -> None:
        assert total(row["config"]) == row["parameters"]

    def test_every_architecture_is_recorded_or_a_preset_or_the_same_as_one(self) -> None:
        seen = {row["config"]["model_type"] for row in RECORDED}
        seen |= {preset.config["model_type"] for preset in PRESETS}
        same = [ARCHITECTURES[kind] for kind in seen]
        assert all(architecture in same for architecture in ARCHITECTURES.values())

    def test_the_texts_own_is_nested(self) -> None:
        nested = {"model_type": "llava", "text_config": LLAMA, "vision_config": {"depth": 2}}
        assert total(nested) == 1352
        assert shape_of(nested).left_out == ("the vision tower",)
        assert total({**nested, "tie_word_embeddings": True}) == 1352 - 80

    @pytest.mark.parametrize(
        ("more", "parameters"),
        [
            ({"num_attention_heads": [4, 2], "head_dim": 2}, 1352 - 64),
            ({"num_key_value_heads": [2, 1]}, 1352 - 32),
            ({"intermediate_size": [16, 8]}, 1352 - 192),
            ({"num_key_value_heads": None}, 1352 + 2 * 64),
            ({"layer_types": ["full_attention", "sliding_attention"]}, 1352),
        ],
    )
    def test_per_layer_lists(self, more: dict[str, Any], parameters: int) -> None:
        assert total({**LLAMA, **more}) == parameters

    @pytest.mark.parametrize(
        ("more", "layers"),
        [
            ({}, 2),
            ({"first_k_dense_replace": 0}, 3),
            ({"first_k_dense_replace": None}, 3),
            ({"moe_layer_freq": 2}, 1),
            ({"moe_layer_freq": [0, 1, 0]}, 1),
            ({"mlp_layer_types": ["sparse", "dense", "sparse"]}, 2),
            ({"moe_layers": [0]}, 1),
            ({"mlp_only_layers": [1]}, 1),
            ({"decoder_sparse_step": 2}, 1),
            ({"first_k_dense_replace": 3}, 0),
        ],
    )
    def test_layers_with_experts(self, more: dict[str, Any], layers: int) -> None:
        assert len(shape_of({**DEEPSEEK, **more}).experts) == layers

    def test_no_dense_width_is_asked_for_where_no_layer_is_dense(self) -> None:
        config = without({**DEEPSEEK, "first_k_dense_replace": 0}, "intermediate_size")
        assert shape_of(config).dense == ()

    @pytest.mark.parametrize(
        ("config", "keys"),
        [
            (
                {**LLAMA, "model_type": "qwen2"},
                (
                    *("num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads"),
                    *("num_key_value_heads", "intermediate_size"),
                ),
            ),
            (
                DEEPSEEK,
                (
                    *("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"),
                    *("intermediate_size", "moe_intermediate_size", "num_experts_per_tok"),
                    *("n_shared_experts", "first_k_dense_replace"),
                ),
            ),
        ],
    )
    def test_what_is_missing_is_named_with_what_it_decides(
        self, config: dict[str, Any], keys: tuple[str, ...]
    ) -> None:
        for key in keys:
            with pytest.raises(ModelError) as caught:
                shape_of(without(config, key), "some/config.json")
            expected = f"some/config.json: {key} is missing: it decides {DECIDES[key]}"
            assert str(caught.value) == expected

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({}, "model_type is missing: it decides which biases, norms and routers there are"),
            (without(LLAMA, "model_type"), "model_type is missing"),
            ({**LLAMA, "model_type": ["llama"]}, "model_type is no text (['llama'])"),
            ({**LLAMA, "num_attention_heads": 0}, "num_attention_heads is 0: it decides"),
            (without(GPT2, "n_positions"), "max_position_embeddings is missing: it decides the"),
            (without(DEEPSEEK, "n_routed_experts"), "num_experts is missing: it decides how many"),
            ({**LLAMA, "model_type": "lama"}, 'is not known: did you mean "llama"?'),
            ({**LLAMA, "model_type": "x" * 500}, "the parameters of model_type 'xxx"),
            ({**LLAMA, "num_experts": 8}, "it states experts, and those of llama are not modelled"),
            ({**LLAMA, "layer_types": ["full_attention"]}, "layer_types has 1 entries for 2"),
            (
                {**LLAMA, "layer_types": ["mamba", "linear_attention"]},
                "layers of type linear_attention, mamba are not modelled",
            ),
            ({**LLAMA, "num_attention_heads": [4]}, "num_attention_heads has 1 entries for 2"),
            ({**LLAMA, "num_attention_heads": [4, 0]}, "has an entry that is no positive integer"),
            ({**LLAMA, "num_attention_heads": 3}, "head_dim is missing, and hidden_size 8 is no"),
            ({**LLAMA, "num_key_value_heads": 3}, "num_key_value_heads 3 does not divide 4 heads"),
            ({**LLAMA, "attention_bias": "no"}, "attention_bias is neither true nor false: 'no'"),
            ({**LLAMA, "vocab_size": "many"}, "vocab_size is not a positive integer: 'many'"),
            ({**LLAMA, "vocab_size": 10**10}, "vocab_size is beyond any real model: 10000000000"),
            ({**LLAMA, "num_hidden_layers": 5000}, "num_hidden_layers is beyond any real model"),
            ({**LLAMA, "word_embed_proj_dim": 4}, "word_embed_proj_dim differs from hidden_size"),
            ({**DEEPSEEK, "num_experts_per_tok": 5}, "num_experts_per_tok 5 is more than 4"),
            ({**DEEPSEEK, "mlp_layer_types": ["dense"]}, "mlp_layer_types has 1 entries for 3"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, config: dict[str, Any], message: str) -> None:
        with pytest.raises(ModelError) as caught:
            shape_of(config)
        assert message in str(caught.value)
        assert len(str(caught.value)) < 300

    @given(st.data())
    def test_whatever_stands_there_is_counted_or_refused(self, data: st.DataObject) -> None:
        config = dict(data.draw(st.sampled_from([row["config"] for row in RECORDED])))
        keys = st.sampled_from([*config, *DECIDES, *SPECIAL])
        plain = st.none() | st.booleans() | st.integers(-1, 5) | st.just(2**70)
        some: st.SearchStrategy[Any] = st.one_of(plain, st.text(), st.floats())
        junk = st.one_of(some, st.lists(some, max_size=4), st.dictionaries(st.text(), some))
        config |= data.draw(st.dictionaries(keys, junk, max_size=3))
        try:
            found = count(shape_of(config))
        except ModelError:
            return
        assert 0 < found.active <= found.total

    @pytest.mark.parametrize("kind", NOT_MODELLED)
    def test_what_is_not_modelled_is_refused_by_name(self, kind: str) -> None:
        with pytest.raises(ModelError) as caught:
            shape_of({**LLAMA, "model_type": kind})
        assert f"parameters of {kind} cannot be counted: {NOT_MODELLED[kind]}" in str(caught.value)

    def test_what_is_known_is_not_refused(self) -> None:
        assert ARCHITECTURES.keys().isdisjoint(NOT_MODELLED)
