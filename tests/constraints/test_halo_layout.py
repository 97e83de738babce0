"""Rank groups as terms, against the imperative layout and the framework's recorded groups."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.constraints.formula import fields_of, named_in
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo.layout import LAYOUT
from parsolve.constraints.layout import GROUP, POSITION, RANK, Grouping
from parsolve.constraints.profile import Config, holds
from parsolve.reference import halo_layout as reference

HALO = PROFILES["halo"]
GROUPINGS = {g.name: g for g in (*LAYOUT.groupings, LAYOUT.batches) if g is not None}
PLACES_OF = {n: g.places(HALO.fields, f.world_size) for n, g in GROUPINGS.items()}
GROUPS_OF = {n: g.groups(HALO.fields) for n, g in GROUPINGS.items()}

REFERENCE_NAMES = {
    "stage": "stage",
    "pp": "pp",
    "tp": "tp",
    "cp": "cp",
    "ep": "ep",
    "expert-replicas": "expert_replicas",
    "dispatch": "dispatch",
    "etp": "expert_tp",
    "hsdp-shard": "dp_shard",
    "hsdp-replicate": "dp_replicate",
}
"""Kinds of group by their names here and in the reference."""

WORLDS = (1, 2, 3, 4, 6, 8, 12, 16, 18)

Groups = list[list[int]]


def divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def accepted(world: int) -> Iterator[Config]:
    """Every accepted way to use the world, with sizes that divide it."""
    for node, domain in itertools.product(divisors(world), repeat=2):
        cluster = {"gpus_per_node": node, "nvlink_domain_size": domain}
        bare = HALO.config({"world_size": world, "assume_pp": True, **cluster})
        if not bare.accepted():
            continue
        for mode, scope, hsdp in itertools.product(HALO.modes, ("node", "global"), (False, True)):
            for sizes in itertools.product(divisors(world)[1:], repeat=len(mode)):
                axes = dict(zip(sorted(mode), sizes, strict=True))
                config = bare.replaced({**axes, "ep_scope": scope, "use_hsdp": hsdp})
                if config.accepted():
                    yield config


def means_something(grouping: Grouping, values: Values) -> bool:
    return holds(HALO, grouping.where, values)


def laid_out(config: Config) -> reference.Layout:
    derived = HALO.derive(config.values)
    resolved = ("gpus_per_node", "nvlink_domain_size", "ep_scope")
    plain = (*HALO.axes, "world_size", "use_hsdp")
    return reference.layout(
        **{name: derived[name] for name in resolved}, **{name: config[name] for name in plain}
    )


def transposed(groups: Groups, stages: int) -> Groups:
    """What stands at one position in the groups of a stage, stage after stage."""
    per = len(groups) // stages
    parts = (groups[start : start + per] for start in range(0, len(groups), per))
    return [list(column) for part in parts for column in zip(*part, strict=True)]


def sharding(made: reference.Layout, config: Config, columns: Groups) -> Groups:
    """The groups that FSDP shards over, by the width that the framework gives them."""
    stages = config["pp_size"]
    domains = len(made.stage[0]) // HALO.derive(config.values)["nvlink_domain_size"]
    if config["tp_size"] > 1:
        return columns
    deferred = domains > 1 and config["ep_size"] > 1 == config["expert_tp_size"]
    if deferred and len(made.ep) > stages:
        return made.ep
    if domains > 1 and config["use_hsdp"]:
        return made.dp_shard
    return made.stage


@pytest.mark.parametrize("world", WORLDS)
def test_groups_are_those_of_the_imperative_layout(world: int) -> None:
    for config in accepted(world):
        made = laid_out(config)
        expected = {n: getattr(made, theirs) for n, theirs in REFERENCE_NAMES.items()}
        expected["dp"] = made.stage
        if config["tp_size"] > 1:
            expected["dp"] = transposed(made.tp, config["pp_size"])
        expected["fsdp"] = sharding(made, config, expected["dp"])
        for name, groups in expected.items():
            if means_something(GROUPINGS[name], config.values):
                assert GROUPS_OF[name](config.values) == groups, (name, config.as_dict())


@pytest.mark.parametrize("world", WORLDS)
def test_data_parallel_ranks_are_those_of_the_imperative_layout(world: int) -> None:
    for config in accepted(world):
        batches = [batch for batch, _ in PLACES_OF["same-batch"](config.values)]
        assert batches == laid_out(config).data_parallel_ranks, config.as_dict()


@pytest.mark.parametrize("world", WORLDS)
def test_members_and_places_say_the_same(world: int) -> None:
    for config in accepted(world):
        for name, grouping in GROUPINGS.items():
            if means_something(grouping, config.values):
                groups = GROUPS_OF[name](config.values)
                places = PLACES_OF[name](config.values)
                assert [groups[index][at] for index, at in places] == list(range(world)), name


def test_the_worlds_reach_every_kind_of_group() -> None:
    reached = Counter(
        (name, HALO.derive(config.values)["ep_scope"])
        for world in WORLDS
        for config in accepted(world)
        for name, grouping in GROUPINGS.items()
        if means_something(grouping, config.values)
    )
    split = ("ep", "expert-replicas", "dispatch", "etp", "same-batch")
    assert all(reached[name, "node"] > 20 for name in GROUPINGS)
    assert all(reached[name, "global"] > 20 for name in split)


def test_places_are_read_by_the_terms_themselves() -> None:
    places = {RANK.name, GROUP.name, POSITION.name}
    assert not places & HALO.index_of.keys()
    for grouping in GROUPINGS.values():
        assert fields_of(grouping.index, grouping.position) & places == {RANK.name}
        assert fields_of(grouping.member) & places == {GROUP.name, POSITION.name}
        assert not fields_of(grouping.size, grouping.count, grouping.where) & places
        assert not fields_of(*named_in(grouping.index, grouping.member)) & places


def test_names_are_unique_and_every_grouping_is_described() -> None:
    assert len(GROUPINGS) == len(LAYOUT.groupings) + 1
    assert all(grouping.about.endswith(".") for grouping in GROUPINGS.values())


# The framework's recorded groups. What is asked of a refused configuration is a low-level object
# of the framework; the terms say what it is all the same.

ROWS: dict[int, dict[str, Any]] = dict(
    enumerate(
        map(
            json.loads,
            (Path(__file__).parent.parent / "data" / "halo_layouts.jsonl")
            .read_text(encoding="utf-8")
            .splitlines(),
        ),
        start=1,
    )
)
NO_GROUPS = {34: "which rank writes a checkpoint is no group", 36: "laws of every shape"}


class Row(NamedTuple):
    """The terms at the configuration of a row, and the rank that it asks about."""

    values: Values
    rank: int

    def groups(self, name: str) -> Groups:
        return GROUPS_OF[name](self.values)

    def places(self, name: str) -> list[tuple[int, int]]:
        return PLACES_OF[name](self.values)

    def place(self, name: str) -> tuple[int, int]:
        return self.places(name)[self.rank]

    def own(self, name: str) -> list[int]:
        return self.groups(name)[self.place(name)[0]]

    def batches(self) -> list[int]:
        return [batch for batch, _ in self.places("same-batch")]

    def per_stage(self, name: str) -> int:
        return len(self.groups(name)) // len(self.groups("stage"))

    def confined(self, name: str) -> bool:
        """Whether no group of the kind leaves its stage."""
        stages = [stage for stage, _ in self.places("stage")]
        return all(len({stages[rank] for rank in group}) == 1 for group in self.groups(name))

    def partitions(self, *names: str) -> bool:
        ranks = list(range(len(self.batches())))
        return all(sorted(itertools.chain(*self.groups(name))) == ranks for name in names)

    def replicas(self) -> list[tuple[int, int]]:
        """EP group and EP rank of each replica of the rank's experts."""
        return [self.places("ep")[rank] for rank in self.own("expert-replicas")]


ANSWERS: dict[str, Callable[[Row], Any]] = {
    "ep_rank": lambda row: row.place("ep")[1],
    "ep_group_idx": lambda row: row.place("ep")[0],
    "num_ep_groups": lambda row: row.per_stage("ep"),
    "replica_count": lambda row: len(row.replicas()),
    "replicas_share_ep_rank": lambda row: len({at for _, at in row.replicas()}) == 1,
    "replica_group_indices": lambda row: [index for index, _ in row.replicas()],
    "data_parallel_rank": lambda row: row.batches()[row.rank],
    "data_parallel_rank_by_rank": lambda row: row.batches(),
    "data_parallel_size": lambda row: len(set(row.batches())),
    "ep_group_ranks": lambda row: row.own("ep"),
    "expert_replica_ranks": lambda row: row.own("expert-replicas"),
    "cp_group_ranks": lambda row: row.own("cp"),
    "cp_rank_by_rank": lambda row: [at for _, at in row.places("cp")],
    "pp_group_ranks": lambda row: row.own("pp"),
    "pp_rank": lambda row: row.place("pp")[1],
    "stage_base_rank": lambda row: row.own("stage")[0],
    "stage_local_rank": lambda row: row.place("stage")[1],
    "stage_world_size": lambda row: len(row.groups("stage")[0]),
    "stages": lambda row: row.groups("stage"),
    "dp_scope_groups": lambda row: row.groups("stage"),
    "chains": lambda row: row.groups("pp"),
    "ep_groups": lambda row: row.groups("ep"),
    "expert_replica_groups": lambda row: row.groups("expert-replicas"),
    "dispatch_groups": lambda row: row.groups("dispatch"),
    "expert_tp_groups": lambda row: row.groups("etp"),
    "cp_groups": lambda row: row.groups("cp"),
    "ep_groups_per_stage": lambda row: row.per_stage("ep"),
    "num_ep_groups_per_stage": lambda row: row.per_stage("ep"),
    "cp_groups_per_stage": lambda row: row.per_stage("cp"),
    "confined_to_stage": lambda row: row.confined("ep"),
    "replicas_confined_to_stage": lambda row: row.confined("expert-replicas"),
    "partition": lambda row: row.partitions("ep", "cp"),
    "expert_tp_groups_partition_world": lambda row: row.partitions("etp"),
}
CLAIMS: dict[str, Callable[[Row, Any], bool]] = {
    "same_data_parallel_rank_as": lambda row, other: (
        row.batches()[row.rank] == row.batches()[other]
    ),
    "an_expert_tp_group": lambda row, group: group in row.groups("etp"),
    "data_parallel_ranks_of_chains": lambda row, _: (
        [{row.batches()[rank] for rank in chain} for chain in row.groups("pp")]
        == [{0}, {1}, {2}, {3}]
    ),
}
"""Where a row records one example, a relation or a sentence."""


@pytest.mark.parametrize("number", sorted(ROWS.keys() - NO_GROUPS.keys()))
def test_recorded_groups(number: int) -> None:
    given = dict(ROWS[number]["inputs"])
    row = Row(rank=given.pop("rank", -1), values=HALO.config(given).values)
    for name, recorded in ROWS[number]["layout"].items():
        if name in CLAIMS:
            assert CLAIMS[name](row, recorded), name
        else:
            assert ANSWERS[name](row) == recorded, name
