"""Repairs: accepted, nearest, complete, always the same, and never of what nobody can change."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from typing import Any as Anything

import pytest

from parsolve.constraints.fields import Choice, Flag, Size
from parsolve.constraints.profile import Config, Profile
from parsolve.solver import repair as repairing
from parsolve.solver.answer import Rejected, as_data, to_json
from parsolve.solver.check import check
from parsolve.solver.repair import (
    IN_A_ROW,
    MOST_CANDIDATES,
    MOST_CHANGES,
    Nearest,
    candidates,
    repairs,
)
from tests.near_valid import near_valid, neighbours
from tests.solver.questions import HALO, config

Change = Mapping[str, object]

KNOBS = tuple(field.name for field in HALO.fields if field.role == "knob")
CLUSTER = tuple(
    field.name
    for field in HALO.fields
    if field.role == "cluster" and field.name != "nvlink_domain_env"
)


@cache
def rejected(count: int, seed: int = 11) -> tuple[Config, ...]:
    """Near-valid configurations that the rules reject."""
    rng = random.Random(seed)
    found: dict[object, Config] = {}
    while len(found) < count:
        one = HALO.config(near_valid(rng))
        if not one.accepted():
            found[one.values] = one
    return tuple(found.values())


def cluster_broken(one: Config) -> bool:
    """Whether some violated rule reads no knob, so that no knob mends it."""
    return any(HALO.rules[i].reads.isdisjoint(KNOBS) for i in HALO.violated(one.values))


def single_changes(one: Config, names: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    for name in names:
        for value in candidates(HALO, one.values, name):
            yield name, value


def brute_force(one: Config, size: int) -> list[Change]:
    """Every accepted change of so many fields, over the same candidate values."""
    names = (*CLUSTER, *KNOBS) if cluster_broken(one) else KNOBS
    reads = frozenset().union(*(HALO.rules[i].reads for i in HALO.violated(one.values)))
    options = list(single_changes(one, names))
    found: list[Change] = []
    if size == 1:
        for name, value in options:
            if one.replaced({name: value}).accepted():
                found.append({name: value})
        return found
    # a change that no violated rule reads mends nothing: one of the two must be read
    for (first, low), (second, high) in combinations(options, 2):
        if first != second and (first in reads or second in reads):
            change = {first: low, second: high}
            if one.replaced(change).accepted():
                found.append(change)
    return found


def names_of(change: Change) -> tuple[str, ...]:
    return tuple(sorted(change))


def test_the_seed_s_own_example() -> None:
    """Four EP ranks on eight GPUs: two, or eight, or four with expert TP of two; no TP."""
    nearest = repairs(config(world_size=8, gpus_per_node=8, ep_size=4))
    assert nearest == Nearest(
        ({"ep_size": 2}, {"ep_size": 8}, {"expert_tp_size": 2}), complete=True
    )
    answer = check(config(world_size=8, gpus_per_node=8, ep_size=4))
    assert isinstance(answer, Rejected)
    assert answer.repairs is not None
    assert [repair.change for repair in answer.repairs] == list(nearest.changes)
    assert all("tp_size" not in repair.change for repair in answer.repairs)
    assert [repair.config["ep_size"] for repair in answer.repairs] == [2, 8, 4]
    assert answer.more_repairs is None
    assert answer.repairs_complete is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"world_size": 8, "tp_size": 3}, [{"tp_size": 4}, {"tp_size": 2}, {"tp_size": 8}]),
        (
            {"world_size": 8, "tp_size": 0},
            [{"tp_size": 1}, {"tp_size": 2}, {"tp_size": 4}, {"tp_size": 8}],
        ),
        ({"world_size": 8, "use_hsdp": True, "tp_size": 2}, [{"use_hsdp": False}]),
        ({"world_size": 8, "pp_schedule": "nonsense"}, [{"pp_schedule": "1f1b"}]),
        ({"world_size": 8, "pp_split": [4, 4]}, [{"pp_split": None}]),
        ({"world_size": 12}, [{"world_size": 16}, {"world_size": 8}, {"gpus_per_node": 6}]),
        (
            {"world_size": 12, "gpus_per_node": 8},
            [{"world_size": 16}, {"gpus_per_node": 6}, {"world_size": 8}, {"gpus_per_node": 12}],
        ),
        ({"world_size": 8, "gpus_per_node": -1}, [{"gpus_per_node": 1}]),
        ({"world_size": 8, "max_concurrent_loading": -1}, [{"max_concurrent_loading": 0}]),
        (
            {"world_size": 8, "quantized": True, "init_from_scratch": True},
            [{"init_from_scratch": False}],
        ),
        (
            {"world_size": 8, "trainer": "dpo", "init_from_scratch": True},
            [{"init_from_scratch": False}],
        ),
        (
            {"world_size": 8, "tp_size": 2, "init_from_scratch": True},
            [{"init_from_scratch": False}],
        ),
        (
            {
                "world_size": 8,
                "natively_quantized_experts": True,
                "ep_size": 8,
                "use_grouped_gemm": False,
            },
            [{"ep_size": 1}],
        ),
        ({"world_size": 8, "ep_size": 8, "num_experts": 7}, [{"ep_size": 1}]),
    ],
)
def test_repairs_by_example(given: dict[str, Anything], expected: list[Change]) -> None:
    assert list(repairs(config(**given)).changes) == expected


def fresh(one: Config, change: Change) -> int:
    """How many of the knobs to change are at their default, which nobody set."""
    return sum(one[name] == HALO.field_of[name].default for name in change)


def test_knobs_that_were_set_come_before_those_left_at_their_default() -> None:
    """Then those that move least; no knob takes more than a few places before the others."""
    mixed = 0
    for one in rejected(400):
        changes = repairs(one).changes
        before_it: Counter[frozenset[str]] = Counter()
        order = []
        for change in changes:
            knobs = frozenset(change)
            order.append((before_it[knobs] // IN_A_ROW, fresh(one, change)))
            before_it[knobs] += 1
        assert order == sorted(order)
        mixed += len(set(order)) > 1
        for first, second in pairwise(changes):
            if first.keys() != second.keys() or len(first) > 1:
                continue
            (name,) = first
            before, near, far = one[name], first[name], second[name]
            if not isinstance(before, bool) and min(map(size, (before, near, far))) >= 1:
                assert ratio(before, near) <= ratio(before, far)
    assert mixed > 10


def size(value: object) -> int:
    return value if isinstance(value, int) else 0


def ratio(one: object, other: object) -> Fraction:
    low, high = sorted((size(one), size(other)))
    return Fraction(high, low)


def test_every_repair_is_accepted_and_is_a_change() -> None:
    for one in rejected(800):
        for change in repairs(one).changes:
            assert one.replaced(change).accepted()
            assert 1 <= len(change) <= MOST_CHANGES
            assert all(one[name] != value for name, value in change.items())


def test_repairs_touch_knobs_or_a_broken_cluster_and_never_facts() -> None:
    touched = set()
    for one in rejected(800):
        for change in repairs(one).changes:
            roles = {HALO.field_of[name].role for name in change}
            touched |= roles
            assert roles <= {"knob", "cluster"}
            if "cluster" in roles:
                assert cluster_broken(one)
    assert touched == {"knob", "cluster"}


def test_repairs_are_legal_values() -> None:
    for one in rejected(400):
        for change in repairs(one).changes:
            for name, value in change.items():
                field = HALO.field_of[name]
                assert field.parse(list(value) if isinstance(value, tuple) else value) == value
                match field:
                    case Size(minimum=minimum, optional=optional):
                        assert value is None or (isinstance(value, int) and value >= minimum)
                        assert value is not None or optional
                    case Choice(choices=choices):
                        assert value in choices
                        assert value != "unknown"
                    case Flag():
                        assert isinstance(value, bool)


def test_no_repair_has_fewer_changes_and_none_of_one_change_is_missed() -> None:
    """Over the same candidate values, by brute force, for one and two changes."""
    pairs = 0
    for one in rejected(150):
        nearest = repairs(one)
        assert nearest.complete
        size = len(nearest.changes[0]) if nearest.changes else MOST_CHANGES + 1
        assert all(len(change) == size for change in nearest.changes)
        singles = brute_force(one, 1)
        if size == 1:
            assert {names_of(change) for change in nearest.changes} <= set(map(names_of, singles))
            assert all(change in singles for change in nearest.changes)
            continue
        assert singles == []
        if size == 2 or pairs >= 25:
            continue
        pairs += 1
        assert brute_force(one, 2) == []
    assert pairs >= 10


def test_every_repair_of_one_change_that_gives_up_no_more_axes_is_found() -> None:
    for one in rejected(150, seed=12):
        nearest = repairs(one).changes
        singles = brute_force(one, 1)
        if not singles:
            continue

        def given_up(change: Change, one: Config = one) -> int:
            return sum(
                1 for name, value in change.items() if name in HALO.axes and value == 1 < one[name]
            )

        fewest = min(map(given_up, singles))
        assert {given_up(change) for change in nearest} == {fewest}
        wanted = {names_of(change) for change in singles if given_up(change) == fewest}
        assert {names_of(change) for change in nearest} == wanted
        for name in wanted:
            if name[0] in HALO.axes or not isinstance(HALO.field_of[name[0]], Size):
                every = [c for c in singles if names_of(c) == name and given_up(c) == fewest]
                assert len([c for c in nearest if names_of(c) == name]) == len(every)


def test_every_repair_of_two_changes_is_found() -> None:
    checked = 0
    for one in rejected(150, seed=13):
        nearest = repairs(one).changes
        if not nearest or len(nearest[0]) != 2:
            continue
        checked += 1
        found = brute_force(one, 2)
        assert all(change in found for change in nearest)

        def given_up(change: Change, one: Config = one) -> int:
            return sum(
                1 for name, value in change.items() if name in HALO.axes and value == 1 < one[name]
            )

        fewest = min(map(given_up, found))
        wanted = {names_of(change) for change in found if given_up(change) == fewest}
        assert {names_of(change) for change in nearest} == wanted
        if checked == 10:
            return
    assert checked == 10


def test_the_same_configuration_gets_the_same_repairs() -> None:
    for one in rejected(100):
        again = Config(HALO, tuple(one.values))
        assert repairs(one) == repairs(again)
        assert to_json(check(one)) == to_json(check(again))


def test_examples_of_rules_and_their_neighbours_are_repaired() -> None:
    repaired = 0
    for given in neighbours():
        one = HALO.config(given)
        if one.accepted():
            assert repairs(one) == Nearest((), complete=True)
            continue
        for change in repairs(one).changes:
            assert one.replaced(change).accepted()
            repaired += 1
    assert repaired > 1000


def test_a_broken_cluster_is_mended_with_all_else_in_one_change() -> None:
    """A node size that tiles neither the world nor a CP group: one number mends both."""
    one = config(world_size=20, gpus_per_node=8, cp_size=5)
    assert {HALO.rules[i].stage for i in HALO.violated(one.values)} == {"topology", "axis-locality"}
    changes = repairs(one).changes
    assert {"gpus_per_node": 10} in changes or {"gpus_per_node": 5} in changes
    assert all(len(change) == 1 for change in changes)


def test_a_cluster_that_is_whole_is_left_alone() -> None:
    """A smaller domain would do as well, but the hardware is what it is."""
    one = config(world_size=16, gpus_per_node=8, ep_size=4, cp_size=2)
    assert all(set(change) <= set(KNOBS) for change in repairs(one).changes)


# Candidates.


def test_candidates_are_other_values_near_or_smaller() -> None:
    one = config(world_size=12, gpus_per_node=6, max_length=64, per_device_train_batch_size=3)
    values = one.values
    assert candidates(HALO, values, "tp_size") == (2, 3, 4, 6, 12)
    assert candidates(HALO, values, "gpus_per_node") == (1, 2, 3, 4, 12)
    assert candidates(HALO, values, "use_hsdp") == (True,)
    assert candidates(HALO, values, "ep_scope") == ("node", "global")
    assert candidates(HALO, values, "attn_implementation")[0] == "eager"
    assert candidates(HALO, values, "pp_split") == ()
    assert candidates(HALO, values, "per_device_eval_batch_size") == ()
    near = candidates(HALO, values, "max_length")
    assert set(near) == {*range(48, 64), *range(65, 81), 32, 16, 8, 4, 2, 1}
    assert candidates(HALO, values, "per_device_train_batch_size")[0] == 1
    assert 12 not in candidates(HALO, values, "world_size")
    assert min(candidates(HALO, values, "world_size")) == 1  # type: ignore[type-var]
    split = config(world_size=8, pp_split=[1, 2], lowp_keep_first_blocks=-4)
    assert candidates(HALO, split.values, "pp_split") == (None,)
    assert candidates(HALO, split.values, "lowp_keep_first_blocks") == tuple(range(17))


# Work is bounded.


def wide(world: int) -> Config:
    """Every axis as wide as the world: each has many values and many rules object."""
    return config(
        world_size=world,
        gpus_per_node=8,
        assume_pp=True,
        **dict.fromkeys(HALO.axes, world),
    )


def counted(monkeypatch: pytest.MonkeyPatch, one: Config) -> tuple[int, Nearest]:
    """How many candidates the search looks at, and what it finds."""
    searches: list[repairing._Search] = []

    class Watched(repairing._Search):
        def __init__(self, profile: Profile, cluster: bool) -> None:  # noqa: FBT001
            super().__init__(profile, cluster)
            searches.append(self)

    with monkeypatch.context() as patched:
        patched.setattr(repairing, "_Search", Watched)
        nearest = repairs(one)
    return MOST_CANDIDATES - searches[0].left, nearest


def test_near_valid_configurations_are_far_from_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2,000, counted rather than timed: the same on every machine."""
    rng = random.Random(7)
    most = 0
    for _ in range(2000):
        one = HALO.config(near_valid(rng))
        if one.accepted():
            continue
        work, nearest = counted(monkeypatch, one)
        assert nearest.complete
        most = max(most, work)
    assert most < MOST_CANDIDATES / 2


@pytest.mark.parametrize("world", [100800, 720720, 735134400])
def test_the_largest_worlds_are_repaired_within_the_limit(
    monkeypatch: pytest.MonkeyPatch, world: int
) -> None:
    for given in (
        {"ep_size": 7, "tp_size": 9, "cp_size": 11, "expert_tp_size": 13, "pp_size": 10},
        {"ep_size": world, "tp_size": world},
        {"ep_size": 3, "expert_tp_size": 5, "quantized": True, "use_hsdp": True},
    ):
        one = config(world_size=world, gpus_per_node=8, assume_pp=True, **given)
        work, nearest = counted(monkeypatch, one)
        assert work <= MOST_CANDIDATES + MOST_CHANGES
        for change in nearest.changes:
            assert one.replaced(change).accepted()
    work, nearest = counted(monkeypatch, wide(world))
    assert MOST_CANDIDATES < work < MOST_CANDIDATES + 1000
    assert not nearest.complete


def test_a_search_that_was_cut_short_says_so() -> None:
    one = wide(100800)
    answer = check(one)
    assert isinstance(answer, Rejected)
    assert answer.repairs_complete is False
    assert as_data(answer)["repairs_complete"] is False
    assert answer.repairs
    for repair in answer.repairs:
        assert HALO.config(repair.config).accepted()
    assert to_json(check(one)) == to_json(answer)
    unasked = check(one, shown_repairs=0)
    assert isinstance(unasked, Rejected)
    assert (unasked.repairs, unasked.more_repairs, unasked.repairs_complete) == (None, None, None)


def test_a_search_cut_short_before_it_finds_anything_claims_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(repairing._Search.__init__, "__defaults__", (0,))
    nearest = repairs(config(world_size=8, tp_size=3))
    assert nearest == Nearest((), complete=False)


def test_an_answer_shows_so_many_and_counts_the_rest() -> None:
    one = config(world_size=720, gpus_per_node=8, nvlink_domain_size=720, tp_size=7)
    every = repairs(one).changes
    assert len(every) > 6
    for shown in (1, 6, 100):
        answer = check(one, shown_repairs=shown)
        assert isinstance(answer, Rejected)
        assert answer.repairs is not None
        assert [repair.change for repair in answer.repairs] == list(every[:shown])
        assert answer.more_repairs == (len(every) - shown if shown < len(every) else None)
