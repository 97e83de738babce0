"""Rank groups as terms, against the imperative layout and the framework's recorded groups."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest

from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.constraints.formula import fields_of, named_in
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo.layout import LAYOUT
from parsolve.constraints.layout import GROUP, POSITION, RANK, Grouping
from parsolve.constraints.profile import Config, holds
from parsolve.reference import halo_layout as reference
from tests.halo_layouts import NO_GROUPS, ROWS, Groups, Row, check

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


class Terms(Row):
    """The terms at the configuration of a row."""

    def __init__(self, values: Values, rank: int) -> None:
        self.values, self.rank = values, rank

    def groups(self, name: str) -> Groups:
        return GROUPS_OF[name](self.values)

    def places(self, name: str) -> list[tuple[int, int]]:
        return PLACES_OF[name](self.values)


@pytest.mark.parametrize("number", sorted(ROWS.keys() - NO_GROUPS.keys()))
def test_recorded_groups(number: int) -> None:
    given = dict(ROWS[number]["inputs"])
    rank = given.pop("rank", -1)
    check(Terms(HALO.config(given).values, rank), number)
