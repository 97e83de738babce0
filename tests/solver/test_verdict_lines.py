"""A line of a stream is the JSON of a check, byte by byte."""

from __future__ import annotations

import random

import pytest

from parsolve.constraints import PROFILES
from parsolve.solver.answer import to_json
from parsolve.solver.check import check
from parsolve.solver.facts import with_facts
from parsolve.solver.verdict_lines import verdict_line
from tests.near_valid import near_valid

HALO, GENERIC = PROFILES["halo"], PROFILES["generic"]


def test_near_valid_configurations() -> None:
    rng = random.Random(5)
    seen = set()
    for _ in range(1500):
        config = HALO.config(near_valid(rng))
        answer = check(config, shown_repairs=0)
        accepted = answer.answer == "accepted"
        seen.add(accepted)
        assert verdict_line(config, shown_repairs=0) == (accepted, to_json(answer))
    assert seen == {True, False}


@pytest.mark.parametrize(
    "given",
    [
        {"world_size": 8},
        {"world_size": 12, "gpus_per_node": 8, "tp_size": 5},
        {"world_size": 8, "pp_schedule": "gpipe", "num_attention_heads": [4, 12], "tp_size": 8},
        {"world_size": 8, "global_batch": 7},
        {"world_size": 8, "gpu_memory": "1GiB", **with_facts(GENERIC, {}, "llama-3-8b")},
    ],
)
@pytest.mark.parametrize("repairs", [0, 3])
def test_another_profile_with_and_without_memory_and_repairs(
    given: dict[str, object], repairs: int
) -> None:
    config = GENERIC.config({"seq_length": 4096, **given})
    answer = check(config, shown_repairs=repairs)
    line = (answer.answer == "accepted", to_json(answer))
    assert verdict_line(config, shown_repairs=repairs) == line


def test_text_that_json_escapes() -> None:
    for label in ('a "quoted" one', "%s {} []", "\u00fc\n", "\udcff"):
        config = HALO.config({"world_size": 8, "model_type": label, "attention_class": label})
        assert verdict_line(config, shown_repairs=0)[1] == to_json(check(config, shown_repairs=0))
