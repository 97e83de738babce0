"""What a check says it could not judge, against the verdicts that the missing facts would give."""

from __future__ import annotations

import random
from typing import Any

from parsolve.constraints.fields import Choice
from parsolve.constraints.profile import Config
from parsolve.solver.unjudged import unjudged
from tests.near_valid import near_valid
from tests.solver.questions import HALO


def config(**given: Any) -> Config:  # noqa: ANN401  (fields of any type)
    return HALO.config({"world_size": 8, "gpus_per_node": 8, **given})


def test_facts_that_decide_nothing_are_not_asked_for() -> None:
    assert unjudged(config()) == {}
    assert unjudged(config(cp_size=1, model_kind="dense")) == {}
    known = {"num_attention_heads": 32, "num_key_value_heads": 8, "model_kind": "dense"}
    assert unjudged(config(tp_size=2, **known)) == {}


def test_each_missing_fact_comes_with_the_rules_that_wait_for_it() -> None:
    waiting = unjudged(config(cp_size=2))
    assert waiting["trainer"] == ["trainer-no-cp"]
    assert waiting["num_attention_heads"] == ["cp-heads-not-divisible"]
    assert "cp-needs-flash-attention" in waiting["attn_implementation"]
    assert "trainer" not in unjudged(config(cp_size=2, trainer="sft"))
    assert unjudged(config(ep_size=8))["num_experts"] == ["experts-not-divisible-by-ep"]
    assert "num_experts" not in unjudged(config(ep_size=8, num_experts=64))


def test_a_choice_that_could_reject_is_always_named() -> None:
    """For accepted configurations: a label that changes the verdict belongs to a named field."""
    rng = random.Random(20261129)
    choices = [f for f in HALO.fields if isinstance(f, Choice) and f.flag]
    seen = 0
    for _ in range(1500):
        found = HALO.config(near_valid(rng))
        if not found.accepted():
            continue
        waiting = unjudged(found)
        for field in choices:
            if found[field.name] not in {"unknown", "unspecified"}:
                continue
            for label in field.choices:
                if not found.replaced({field.name: label}).accepted():
                    seen += 1
                    assert field.name in waiting
    assert seen > 100
