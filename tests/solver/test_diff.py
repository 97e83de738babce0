"""What changes between two configurations: laws that hold for any two."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import parsolve
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import FieldError
from parsolve.solver.answer import Accepted, Difference, as_data, json_schema

KNOBS = {
    "halo": ("tp_size", "ep_size", "cp_size", "gradient_accumulation_steps"),
    "generic": ("tp_size", "pp_size", "ep_size", "micro_batch"),
    "megatron": ("tp_size", "pp_size", "ep_size", "requested_global_batch"),
    "torchtitan": ("tp_size", "pp_size", "dp_shard_size", "micro_batch"),
    "accelerate": ("tp_size", "dp_shard_size", "cp_size", "micro_batch"),
}


def drawn(random: Random, profile: str) -> dict[str, object]:
    sizes = {name: random.choice((1, 1, 2, 4)) for name in KNOBS[profile]}
    return {"world_size": random.choice((8, 16)), **sizes}


@pytest.mark.parametrize("seed", range(30))
def test_the_way_back_is_the_reverse(seed: int) -> None:
    random = Random(seed)
    profile = random.choice(list(KNOBS))
    one, two = drawn(random, profile), drawn(random, profile)
    there, back = (parsolve.diff(*p, profile=profile) for p in ((one, two), (two, one)))
    assert there.status == back.status
    assert (there.violated, there.cured) == (back.cured, back.violated)
    assert (there.warned, there.unwarned) == (back.unwarned, back.warned)
    assert (there.before, there.after) == (back.after, back.before)
    forth: tuple[Any, ...] = (*there.settings, *there.quantities, *there.memory, *there.groups)
    reverse: tuple[Any, ...] = (*back.settings, *back.quantities, *back.memory, *back.groups)
    assert {(str(c.before), str(c.after)) for c in forth} == {
        (str(c.after), str(c.before)) for c in reverse
    }


@pytest.mark.parametrize("seed", range(10))
def test_nothing_differs_from_itself(seed: int) -> None:
    random = Random(seed)
    profile = random.choice(list(KNOBS))
    one = drawn(random, profile)
    answer = parsolve.diff(one, dict(one), profile=profile)
    assert answer.status == "same"
    changes = (*answer.settings, *answer.quantities, *answer.groups, *answer.memory)
    assert changes == ()


@pytest.mark.parametrize("seed", range(10))
def test_every_difference_is_told_and_no_other(seed: int) -> None:
    random = Random(seed)
    profile = PROFILES[random.choice(list(KNOBS))]
    one, two = drawn(random, profile.name), drawn(random, profile.name)
    answer = parsolve.diff(one, two, profile=profile.name)
    first, second = (profile.config(each) for each in (one, two))
    differing = {f.name for f in profile.fields if first[f.name] != second[f.name]}
    assert differing <= {c.before.of for c in answer.settings if c.before is not None}
    told = {change.name: (change.before, change.after) for change in answer.quantities}
    known, now = (profile.derive(each.values) for each in (first, second))
    for name in known.keys() | now.keys():
        if name not in profile.field_of:
            pair = known.get(name), now.get(name)
            assert (told.get(name) == pair) == (pair[0] != pair[1])


def test_a_requested_value_that_comes_to_the_same_has_no_effect() -> None:
    base = {"world_size": 8, "ep_size": 8}
    answer = parsolve.diff(base, {**base, "ep_scope": "node"})
    (change,) = answer.settings
    assert not change.matters
    assert answer.status == "same"


def test_memory_and_groups_are_those_of_the_commands() -> None:
    sides = [{"world_size": 16, "max_length": 4096, "ep_size": size} for size in (8, 2)]
    answer = parsolve.diff(*sides, model="gpt-oss-20b")
    memory = [parsolve.memory(each, model="gpt-oss-20b").bytes["total"] for each in sides]
    total = next(each for each in answer.memory if each.name == "total")
    assert [total.before, total.after] == memory
    layouts = [parsolve.layout(each, model="gpt-oss-20b") for each in sides]
    assert answer.groups
    for change in answer.groups:
        for laid, kind in zip(layouts, (change.before, change.after), strict=True):
            kinds = {each["name"]: each for each in as_data(laid)["kinds"]}
            assert (kind is None) == (change.name not in kinds)
            if kind is None:
                continue
            same = kinds[change.name]
            assert (kind.count, kind.size) == (same["count"], same["size"])
            assert kind.across_domains == same["across_domains"]
            assert kind.groups is None


def test_groups_of_what_is_rejected_are_not_compared() -> None:
    answer = parsolve.diff({"ep_size": 8}, {"ep_size": 4}, world_size=8)
    assert answer.violated == ("ep-single-domain-multi-group",)
    assert answer.groups == ()
    assert answer.groups_unknown == "the configuration is rejected"
    assert isinstance(answer.before.detail, Accepted)


def test_files_of_two_frameworks(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("expert_parallel_size: 8\nuse_grouped_gemm: false\n", encoding="utf-8")
    other = {"ep_size": 4, "tp_size": 2}
    answer = parsolve.diff(path, other, profile=None, world_size=8)
    assert answer.before.format == "halo"
    spelled = {c.before.of: c.before for c in answer.settings if c.before is not None}
    assert (spelled["ep_size"].key, spelled["ep_size"].line) == ("expert_parallel_size", 1)


def test_shared_fields_hold_for_every_side_that_has_them() -> None:
    with pytest.raises(FieldError, match="no_such is nothing of halo"):
        parsolve.diff({"ep_size": 8}, {"ep_size": 4}, world_size=8, no_such=1)


def test_it_is_a_public_answer() -> None:
    answer = parsolve.diff({"world_size": 16}, {"world_size": 8})
    assert isinstance(answer, Difference)
    assert as_data(answer)["answer"] == "difference"
    assert {"Difference", "Moves"} <= json_schema()["$defs"].keys()
