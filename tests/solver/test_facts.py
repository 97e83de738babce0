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
