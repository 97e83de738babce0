"""Rank groups of frameworks that lay ranks out on a mesh, against loops over its coordinates."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import pytest

from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.constraints.layout import Grouping
from parsolve.constraints.profile import Config, Profile, holds

WORLDS = (1, 2, 4, 6, 8, 12, 16)

Groups = list[list[int]]


def along(shape: Mapping[str, int], *turning: str) -> Groups:
    """Ranks that differ in these dimensions of a mesh alone; its last dimension is the fastest."""
    found: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for rank, place in enumerate(itertools.product(*map(range, shape.values()))):
        still = zip(shape, place, strict=True)
        found[tuple(at for name, at in still if name not in turning)].append(rank)
    return list(found.values())


def factorised(world: int, sizes: int) -> Iterator[tuple[int, ...]]:
    """Every way to write the world as a product of so many sizes."""
    divisors = [n for n in range(1, world + 1) if world % n == 0]
    for chosen in itertools.product(divisors, repeat=sizes):
        if prod(chosen) == world:
            yield chosen


def groups_of(profile: Profile, values: Values) -> dict[str, Groups]:
    return {
        grouping.name: grouping.groups(profile.fields)(values)
        for grouping in profile.layout.kinds
        if holds(profile, grouping.where, values)
    }


def accepted(profile: Profile, given: dict[str, Any]) -> Config | None:
    config = profile.config(given)
    return config if config.accepted() else None


@pytest.mark.parametrize("world", WORLDS)
def test_torchtitan(world: int) -> None:
    profile = PROFILES["torchtitan"]
    reached = 0
    for pp, replicas, shards, cp, tp in factorised(world, 5):
        for ep in [n for n in range(1, shards * cp * tp + 1) if shards * cp * tp % n == 0]:
            config = accepted(
                profile,
                {
                    "world_size": world,
                    "pp_size": pp,
                    "dp_replicate_size": replicas,
                    "dp_shard_size": shards if world % 3 else -1,
                    "cp_size": cp,
                    "tp_size": tp,
                    "ep_size": ep,
                    "seq_length": 2304,
                    "micro_batch": 16,
                    "disable_cuda_graphs": True,
                },
            )
            if config is None:
                continue
            reached += 1
            dense = {"pp": pp, "replicate": replicas, "shard": shards, "cp": cp, "tp": tp}
            sparse = {"pp": pp, "replicate": replicas, "efsdp": shards * cp * tp // ep, "ep": ep}
            expected = {
                "pp": along(dense, "pp") if pp > 1 else None,
                "dp": along(dense, "replicate", "shard"),
                "dp_replicate": along(dense, "replicate") if replicas > 1 else None,
                "fsdp": along(dense, "shard", "cp"),
                "cp": along(dense, "cp") if cp > 1 else None,
                "tp": along(dense, "tp") if tp > 1 else None,
                "ep": along(sparse, "ep") if ep > 1 else None,
                "efsdp": along(sparse, "efsdp") if ep > 1 else None,
                "loss": along(dense, "replicate", "shard", "cp"),
                "same-batch": batches(dense, ("replicate", "shard")),
            }
            found = groups_of(profile, config.values)
            assert found == {name: groups for name, groups in expected.items() if groups}
    assert reached >= world // 2


def batches(shape: Mapping[str, int], axes: tuple[str, ...]) -> Groups:
    """Ranks by their place in these axes together."""
    others = [name for name in shape if name not in axes]
    return along(shape, *others)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("distributed", ["fsdp2", "ddp", "deepspeed", "fsdp1"])
def test_accelerate(world: int, distributed: str) -> None:
    profile = PROFILES["accelerate"]
    reached = 0
    for replicas, shards, cp, tp in factorised(world, 4):
        config = accepted(
            profile,
            {
                "world_size": world,
                "dp_replicate_size": replicas,
                "dp_shard_size": shards,
                "cp_size": cp,
                "tp_size": tp,
                "distributed": distributed,
            },
        )
        if config is None:
            continue
        found = groups_of(profile, config.values)
        if distributed == "deepspeed" and world > 1:
            assert not found
            continue
        reached += 1
        mesh = {"replicate": replicas, "shard": shards, "cp": cp, "tp": tp}
        expected = {
            "tp": along(mesh, "tp") if tp > 1 else None,
            "cp": along(mesh, "cp") if cp > 1 else None,
            "dp": along(mesh, "replicate", "shard"),
            "fsdp": along(mesh, "shard", "cp") if distributed == "fsdp2" else None,
            "dp_replicate": along(mesh, "replicate") if replicas > 1 else None,
            "same-batch": batches(mesh, ("replicate", "shard")),
        }
        assert found == {name: groups for name, groups in expected.items() if groups}
    assert reached or world > 1


@pytest.mark.parametrize("distributed", ["fsdp2", "ddp", "deepspeed", "fsdp1"])
def test_without_sizes_accelerate_has_one_group_of_all(distributed: str) -> None:
    profile = PROFILES["accelerate"]
    config = accepted(profile, {"world_size": 8, "distributed": distributed})
    assert config is not None
    found = groups_of(profile, config.values)
    assert found.pop("same-batch") == [[rank] for rank in range(8)]
    assert set(map(str, found.values())) == {str([list(range(8))])}
    assert set(found) == {"dp", "fsdp"} - (set() if distributed == "fsdp2" else {"fsdp"})


def test_groups_that_accelerate_does_not_make_are_left_out() -> None:
    profile = PROFILES["accelerate"]
    given = {"world_size": 8, "sp_size": 4, "distributed": "deepspeed", "dp_shard_size": 2}
    config = accepted(profile, given)
    assert config is not None
    assert not groups_of(profile, config.values)
    assert [holds(profile, each.when, config.values) for each in profile.layout.unsaid] == [True]


@pytest.mark.parametrize("name", ["halo", "megatron", "accelerate", "torchtitan"])
def test_names_are_told_apart(name: str) -> None:
    kinds: tuple[Grouping, ...] = PROFILES[name].layout.kinds
    names = [spelling.replace("_", "-") for kind in kinds for spelling in (kind.name, *kind.also)]
    assert len(names) == len(set(names))
    assert all(kind.about.endswith(".") for kind in kinds)
