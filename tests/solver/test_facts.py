"""Models and GPUs by name, through the Python API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import parsolve
from parsolve.constraints import PROFILES
from parsolve.constraints.models.presets import find
from parsolve.solver.facts import with_facts

HALO = PROFILES["halo"]


def test_a_name_a_path_and_a_loaded_configuration_say_the_same(tmp_path: Path) -> None:
    import json  # noqa: PLC0415

    config = find("qwen3-8b").config
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    models: list[Any] = ["qwen3-8b", str(file), tmp_path, config]
    said = [with_facts(HALO, {}, model) for model in models]
    assert said[0] == said[1] == said[2] == said[3]
    assert said[0]["num_hidden_layers"] == 36
    assert said[0]["hidden_size"] == 4096
    assert "num_experts" not in said[0]


def test_what_is_given_wins() -> None:
    facts = with_facts(HALO, {"hidden_size": 1, "gpu_memory": "1GiB"}, "qwen3-8b", "h100", [8])
    assert (facts["hidden_size"], facts["gpu_memory"]) == (1, "1GiB")


@pytest.mark.parametrize(
    ("gpu", "worlds", "node", "domain"),
    [
        ("h100", [8, 16], 8, None),
        ("h100", [8, 12], 8, None),
        ("h100", [4], 4, None),
        ("h100", [4, 8], None, None),
        ("gb200", [72, 144], 4, 72),
        ("gb200", [8, 16], 4, None),
        ("GB200", [6], 4, None),
    ],
)
def test_the_usual_node_and_domain_count_where_they_fit(
    gpu: str, worlds: list[int], node: int | None, domain: int | None
) -> None:
    facts = with_facts(HALO, {}, gpu=gpu, worlds=worlds)
    assert facts.get("gpus_per_node") == node
    assert facts.get("nvlink_domain_size") == domain


def test_a_domain_that_divides_some_worlds_only_is_asked_about() -> None:
    with pytest.raises(ValueError, match="ask about them apart, or give --nvlink-domain"):
        with_facts(HALO, {}, gpu="gb200", worlds=[64, 72])
    given = with_facts(HALO, {"nvlink_domain_size": 4}, gpu="gb200", worlds=[64, 72])
    assert given["nvlink_domain_size"] == 4


def test_the_api_takes_them_everywhere() -> None:
    asked: dict[str, Any] = {"model": "llama-3-8b", "gpu": "h100", "max_length": 8192}
    need = parsolve.memory(world_size=8, **asked)
    assert need.limit == 81_559 * 2**20
    assert need.state == "fits"
    checked = parsolve.check(world_size=8, **asked)
    assert checked.memory is not None
    assert checked.memory.bytes == need.bytes
    best = parsolve.best(world=8, minimize="memory", **asked)
    listed = parsolve.solutions(world=8, **asked)
    assert best.answer == "best"
    assert listed.answer == "solutions"
    least = min(each.derived["memory_per_gpu"] for each in listed.solutions)
    assert best.objectives[0].value == least


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": 3}, "model must be str or"),
        ({"gpu": 80}, "gpu must be str or None, got 80"),
        ({"gpu": "h101"}, 'did you mean "h100"'),
        ({"model": "llama-9"}, "no such file, folder or model"),
        ({"gpu": "h100"}, "the model's size is missing"),
        ({"model": {"model_type": "mamba"}, "gpu": "h100"}, "mamba"),
    ],
)
def test_misuse_says_what_to_change(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parsolve.check(world_size=8, **arguments)


def counts(model: str, **given: object) -> dict[str, Any]:
    return with_facts(HALO, given, model)


def test_counts_follow_a_number_that_is_given() -> None:
    whole, half = counts("llama-3-70b"), counts("llama-3-70b", num_hidden_layers=40)
    for name in ("attention_parameters", "dense_ffn_parameters"):
        assert half[name] * 2 == whole[name]
    assert half["embedding_parameters"] == whole["embedding_parameters"]
    assert half["model_changes"] == "llama-3-70b with 40 layers"
    assert "model_changes" not in whole


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        (
            "llama-3-70b",
            {"num_attention_heads": 32, "num_key_value_heads": (4,)},
            {"query_width": 8192, "key_width": 1024},  # 32 heads of 256
        ),
        ("llama-3-70b", {"vocab_size": 1000}, {"output_parameters": 8192 * 1000}),
        ("qwen3-8b", {"hidden_size": 1024}, {"query_width": 4096, "vocab_size": 151936}),
        (
            "llama-3-70b",
            {"intermediate_size": 1024},
            {"dense_ffn_parameters": 80 * 3 * 8192 * 1024, "moe_intermediate_size": 1024},
        ),
        (
            "qwen3-30b-a3b",
            {"num_experts": 8, "moe_intermediate_size": 100},
            {"routed_expert_parameters": 48 * 8 * 3 * 2048 * 100},
        ),
        # one key, and here the experts' width
        (
            "mixtral-8x7b",
            {"moe_intermediate_size": 1024},
            {"routed_expert_parameters": 32 * 8 * 3 * 4096 * 1024},
        ),
        ("qwen3-8b", {"max_position_embeddings": 100}, {"hidden_size": 4096}),
    ],
)
def test_every_number_of_the_shape_can_be_given(
    model: str, given: dict[str, object], expected: dict[str, int]
) -> None:
    facts = counts(model, **given)
    assert {name: facts[name] for name in expected} == expected
    assert HALO.config({"world_size": 8, **facts})["model_changes"].startswith(f"{model} with ")


def test_the_models_own_numbers_change_nothing() -> None:
    own = counts("qwen3-30b-a3b")
    assert counts("qwen3-30b-a3b", **own) == own
    checked = parsolve.check(world_size=8, model="qwen3-30b-a3b")
    assert parsolve.check(checked.config, model="qwen3-30b-a3b") == checked


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        ("llama-3-70b", {"attention_parameters": 5}, "counted from llama-3-70b and cannot"),
        ("llama-3-70b", {"num_experts": 8}, "states experts, and those of llama are not"),
        ("llama-3-70b", {"moe_intermediate_size": 8}, "has no expert FFN width to change"),
        ("mixtral-8x7b", {"intermediate_size": 8}, "has no FFN width to change"),
        ("deepseek-v3", {"num_key_value_heads": 8}, "has no key/value heads to change"),
        ("llama-3-70b", {"num_key_value_heads": 7}, "7 does not divide 64 heads"),
        ("qwen3-30b-a3b", {"num_experts": 4}, "num_experts_per_tok 8 is more than 4"),
        ("qwen3-30b-a3b", {"hidden_size": None}, "hidden_size cannot be unset"),
        ("qwen3-30b-a3b", {"model_kind": "dense"}, "has routed experts, but model_kind dense"),
        ("llama-3-70b", {"model_kind": "moe"}, "has no routed experts, but model_kind moe"),
    ],
)
def test_what_counts_cannot_follow_is_refused(
    model: str, given: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        counts(model, **given)


def test_layers_that_are_listed_are_cut_but_not_invented() -> None:
    listed = {**find("qwen3-8b").config, "layer_types": ["full_attention"] * 36}
    facts = with_facts(HALO, {"num_hidden_layers": 4}, listed)
    assert facts["model_changes"] == "the configuration with 4 layers"
    with pytest.raises(ValueError, match="layer_types has 36 entries for 40 layers"):
        with_facts(HALO, {"num_hidden_layers": 40}, listed)


def test_counts_follow_also_where_the_profile_has_no_field_for_what_was_changed() -> None:
    """Megatron is told the layers themselves."""
    answer = parsolve.memory(
        profile="megatron", world_size=8, model="qwen3-30b-a3b", num_hidden_layers=2,
        seq_length=4096,
    )  # fmt: skip
    assert answer.config["num_hidden_layers"] == answer.config["num_moe_layers"] == 2
