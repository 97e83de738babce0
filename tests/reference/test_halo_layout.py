"""The imperative halo layout against the framework's recorded groups, and by its own laws."""

import dataclasses
import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from parsolve.reference.halo import Derived, Rejected, validate
from parsolve.reference.halo_layout import Group, Groups, Layout, layout

Row = dict[str, Any]

PATH = Path(__file__).parent.parent / "data" / "halo_layouts.jsonl"
ROWS: dict[int, Row] = dict(
    enumerate(map(json.loads, PATH.read_text(encoding="utf-8").splitlines()), start=1)
)
"""By line number, from 1."""

UNANSWERED = {34: "which rank writes a checkpoint is a choice among ranks, not a group"}
REFUSED_AS_RUN = {
    18: "ep-single-domain-multi-group",
    21: "axis-set-unsupported",
    22: "axis-set-unsupported",
    23: "axis-set-unsupported",
}
"""Rows about low-level group objects: the run that would create them is refused, by this rule."""

SWEEP = 36
"""The row that states laws of every accepted shape."""

KINDS = tuple(
    field.name for field in dataclasses.fields(Layout) if field.name != "data_parallel_ranks"
)


class Shape(NamedTuple):
    """An accepted configuration by its effective values, and the layout it gets."""

    sizes: dict[str, int]
    derived: Derived
    made: Layout


def effective(sizes: dict[str, int], derived: Derived) -> dict[str, Any]:
    """The arguments of `layout`, apart from HSDP, for inputs that were accepted."""
    axes = ("ep_size", "expert_tp_size", "tp_size", "cp_size", "pp_size")
    return {
        "world_size": sizes["world_size"],
        "gpus_per_node": derived.gpus_per_node,
        "nvlink_domain_size": derived.nvlink_domain_size,
        "ep_scope": derived.ep_scope,
        **{axis: sizes.get(axis, 1) for axis in axes},
    }


def laid_out(*, use_hsdp: bool = False, **inputs: Any) -> Layout:  # noqa: ANN401 - any field
    """The layout of an accepted configuration, its defaults resolved by the gate."""
    derived = validate(**inputs, use_hsdp=use_hsdp, assume_pp=inputs.get("pp_size", 1) > 1)
    return layout(**effective(inputs, derived), use_hsdp=use_hsdp)


def row_layout(number: int) -> Layout:
    inputs = {name: value for name, value in ROWS[number]["inputs"].items() if name != "rank"}
    if number not in REFUSED_AS_RUN:
        return laid_out(**inputs)
    with pytest.raises(Rejected) as caught:
        laid_out(**inputs)
    assert caught.value.rule == REFUSED_AS_RUN[number]
    unset = {"ep_size": 1, "expert_tp_size": 1, "tp_size": 1, "cp_size": 1, "ep_scope": "node"}
    return layout(**{**unset, **inputs})


def group_of(rank: int, groups: Groups) -> Group:
    (group,) = (group for group in groups if rank in group)
    return group


def inside(group: Group, blocks: Groups) -> bool:
    return any(set(group) <= set(block) for block in blocks)


def is_partition(groups: Groups, world: int) -> bool:
    return sorted(itertools.chain.from_iterable(groups)) == list(range(world))


def stage_ep_groups(made: Layout, rank: int) -> Groups:
    """The EP groups of the rank's stage: a group's index counts these."""
    stage = group_of(rank, made.stage)
    return [group for group in made.ep if inside(group, [stage])]


def per_stage(made: Layout, groups: Groups) -> int:
    (count,) = {sum(inside(group, [stage]) for group in groups) for stage in made.stage}
    return count


def replica_places(made: Layout, rank: int) -> list[tuple[int, int]]:
    """EP group index and EP rank of every replica of the rank's experts."""
    groups = stage_ep_groups(made, rank)
    replicas = group_of(rank, made.expert_replicas)
    return [
        (index, group.index(replica))
        for replica in replicas
        for index, group in enumerate(groups)
        if replica in group
    ]


def chains_share_batches(made: Layout) -> bool:
    batches = [{made.data_parallel_ranks[rank] for rank in chain} for chain in made.pp]
    return all(len(batch) == 1 for batch in batches) and set().union(*batches) == {0, 1, 2, 3}


VALUES: dict[str, Callable[[Layout, int], Any]] = {
    "ep_rank": lambda made, rank: group_of(rank, made.ep).index(rank),
    "ep_group_idx": lambda made, rank: stage_ep_groups(made, rank).index(group_of(rank, made.ep)),
    "data_parallel_rank": lambda made, rank: made.data_parallel_ranks[rank],
    "ep_group_ranks": lambda made, rank: group_of(rank, made.ep),
    "expert_replica_ranks": lambda made, rank: group_of(rank, made.expert_replicas),
    "num_ep_groups": lambda made, rank: len(stage_ep_groups(made, rank)),
    "cp_group_ranks": lambda made, rank: group_of(rank, made.cp),
    "replica_count": lambda made, rank: len(group_of(rank, made.expert_replicas)),
    "replicas_share_ep_rank": lambda made, rank: (
        len({ep_rank for _, ep_rank in replica_places(made, rank)}) == 1
    ),
    "replica_group_indices": lambda made, rank: [index for index, _ in replica_places(made, rank)],
    "stage_base_rank": lambda made, rank: group_of(rank, made.stage)[0],
    "pp_rank": lambda made, rank: group_of(rank, made.pp).index(rank),
    "pp_group_ranks": lambda made, rank: group_of(rank, made.pp),
    "stage_local_rank": lambda made, rank: group_of(rank, made.stage).index(rank),
    "data_parallel_size": lambda made, _: len(set(made.data_parallel_ranks)),
    "data_parallel_rank_by_rank": lambda made, _: made.data_parallel_ranks,
    "cp_rank_by_rank": lambda made, _: [
        group_of(rank, made.cp).index(rank) for rank in range(len(made.data_parallel_ranks))
    ],
    "stages": lambda made, _: made.stage,
    "chains": lambda made, _: made.pp,
    "ep_groups": lambda made, _: made.ep,
    "cp_groups": lambda made, _: made.cp,
    "dispatch_groups": lambda made, _: made.dispatch,
    "expert_tp_groups": lambda made, _: made.expert_tp,
    "expert_replica_groups": lambda made, _: made.expert_replicas,
    "dp_scope_groups": lambda made, _: made.stage,
    "stage_world_size": lambda made, _: len(made.stage[0]),
    "ep_groups_per_stage": lambda made, _: per_stage(made, made.ep),
    "num_ep_groups_per_stage": lambda made, _: per_stage(made, made.ep),
    "cp_groups_per_stage": lambda made, _: per_stage(made, made.cp),
    "confined_to_stage": lambda made, _: all(inside(group, made.stage) for group in made.ep),
    "replicas_confined_to_stage": lambda made, _: all(
        inside(group, made.stage) for group in made.expert_replicas
    ),
    "partition": lambda made, _: (
        is_partition(made.ep, len(made.data_parallel_ranks))
        and is_partition(made.cp, len(made.data_parallel_ranks))
    ),
    "expert_tp_groups_partition_world": lambda made, _: is_partition(
        made.expert_tp, len(made.data_parallel_ranks)
    ),
}
"""What a layout, or one of its ranks, says where a row records a value."""

CLAIMS: dict[str, Callable[[Layout, int, Any], bool]] = {
    "same_data_parallel_rank_as": lambda made, rank, other: (
        made.data_parallel_ranks[rank] == made.data_parallel_ranks[other]
    ),
    "an_expert_tp_group": lambda made, _, group: group in made.expert_tp,
    "data_parallel_ranks_of_chains": lambda made, _, words: (
        words == "each chain one rank, all of 0..3 used" and chains_share_batches(made)
    ),
}
"""Where a row records one example, a relation or a sentence."""


@pytest.mark.parametrize("number", sorted(ROWS.keys() - {SWEEP}))
def test_recorded_layout(number: int) -> None:
    if number in UNANSWERED:
        pytest.skip(UNANSWERED[number])
    row = ROWS[number]
    made = row_layout(number)
    rank = row["inputs"].get("rank", -1)
    for name, recorded in row["layout"].items():
        if name in CLAIMS:
            assert CLAIMS[name](made, rank, recorded), name
        else:
            assert VALUES[name](made, rank) == recorded, name


def test_every_row_is_accounted_for() -> None:
    assert len(ROWS) == 38
    replayed = ROWS.keys() - UNANSWERED.keys() - {SWEEP}
    assert len(replayed) == 36
    answered = {name for number in replayed for name in ROWS[number]["layout"]}
    assert answered == {*VALUES, *CLAIMS}
    for number in UNANSWERED:
        assert ROWS[number]["layout"].keys() == {"shared_fs_writer_ranks", "per_node_writer_ranks"}


def test_rows_of_refused_runs_are_the_low_level_ones() -> None:
    low_level = {n for n, row in ROWS.items() if "low-level" in row.get("notes", "")}
    assert low_level == REFUSED_AS_RUN.keys()


# Documented examples that no row holds.


def test_narrow_global_groups_take_one_rank_of_each_domain() -> None:
    made = laid_out(world_size=16, gpus_per_node=8, ep_size=2, ep_scope="global")
    assert made.ep == [[r, r + 8] for r in range(8)]
    assert made.dispatch == made.ep
    assert made.expert_replicas == [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]]


def test_replicas_of_global_groups_stay_in_their_domain() -> None:
    made = laid_out(world_size=16, gpus_per_node=8, ep_size=8, ep_scope="global")
    low, high = [[r, r + 4] for r in range(4)], [[r, r + 4] for r in range(8, 12)]
    assert made.expert_replicas == low + high
    assert made.expert_tp == [[r] for r in (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15)]


def test_expert_tp_inside_two_groups_of_a_domain() -> None:
    made = laid_out(world_size=8, ep_size=2, expert_tp_size=2)
    assert made.ep == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert made.dispatch == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert made.expert_tp == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert made.expert_replicas == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert made.data_parallel_ranks == [0, 2, 0, 2, 1, 3, 1, 3]


def test_expert_tp_in_one_group_reads_a_batch_per_dispatch_rank() -> None:
    made = laid_out(world_size=8, ep_size=4, expert_tp_size=2)
    assert made.data_parallel_ranks == [0, 1, 2, 3, 0, 1, 2, 3]
    assert made.expert_replicas == [[r] for r in range(8)]


def test_expert_tp_across_domains_keeps_each_domain_together() -> None:
    made = laid_out(world_size=16, gpus_per_node=8, ep_size=2, expert_tp_size=8, ep_scope="global")
    assert made.ep == [list(range(16))]
    assert made.dispatch == [[r, r + 8] for r in range(8)]
    assert made.expert_tp == [list(range(8)), list(range(8, 16))]
    assert made.data_parallel_ranks == [0] * 8 + [1] * 8


def test_expert_tp_without_expert_parallelism() -> None:
    made = laid_out(world_size=8, expert_tp_size=2)
    assert made.ep == made.expert_tp == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert made.dispatch == [[r] for r in range(8)]
    assert made.data_parallel_ranks == [0, 0, 1, 1, 2, 2, 3, 3]


def test_expert_and_context_parallelism_share_a_domain() -> None:
    made = laid_out(world_size=8, ep_size=8, cp_size=2)
    assert made.ep == [list(range(8))]
    assert made.cp == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert made.data_parallel_ranks == [0, 0, 1, 1, 2, 2, 3, 3]


def test_batches_start_again_in_every_stage() -> None:
    made = laid_out(world_size=16, gpus_per_node=8, pp_size=2, ep_size=2)
    assert made.pp == [[r, r + 8] for r in range(8)]
    assert made.data_parallel_ranks == [*range(8), *range(8)]


def test_without_experts_split_a_stage_is_one_set_of_replicas() -> None:
    made = laid_out(world_size=16, gpus_per_node=8, pp_size=2)
    assert made.ep == made.dispatch == made.expert_tp == [[r] for r in range(16)]
    assert made.expert_replicas == made.stage == [list(range(8)), list(range(8, 16))]


def test_hybrid_sharding_shards_a_domain_and_replicates_across() -> None:
    made = laid_out(world_size=16, gpus_per_node=8, use_hsdp=True)
    assert made.dp_shard == [list(range(8)), list(range(8, 16))]
    assert made.dp_replicate == [[r, r + 8] for r in range(8)]


@pytest.mark.parametrize(("world_size", "use_hsdp"), [(16, False), (8, True)])
def test_otherwise_the_stage_is_sharded_and_nothing_replicated(
    *, world_size: int, use_hsdp: bool
) -> None:
    made = laid_out(world_size=world_size, gpus_per_node=8, use_hsdp=use_hsdp)
    assert made.dp_shard == [list(range(world_size))]
    assert made.dp_replicate == [[r] for r in range(world_size)]


# Laws, on every accepted shape of many small worlds.


def divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def topologies(world: int) -> Iterator[dict[str, int]]:
    for node in divisors(world):
        for domains in divisors(world // node):
            domain = world // domains
            for stages in divisors(domains):
                yield {
                    "world_size": world,
                    "gpus_per_node": node,
                    "nvlink_domain_size": domain,
                    "pp_size": stages,
                }


def axis_sizes(legal: list[int]) -> Iterator[dict[str, int]]:
    """Sizes of the four inner axes; no three of them are ever accepted together."""
    for ep, etp, tp, cp in itertools.product(legal, repeat=4):
        if sum(size > 1 for size in (ep, etp, tp, cp)) <= 2:
            yield {"ep_size": ep, "expert_tp_size": etp, "tp_size": tp, "cp_size": cp}


def accepted(sizes: dict[str, Any], ep_scope: str, *, use_hsdp: bool) -> Shape | None:
    try:
        derived = validate(**sizes, ep_scope=ep_scope, use_hsdp=use_hsdp, assume_pp=True)
    except Rejected:
        return None
    return Shape(sizes, derived, layout(**effective(sizes, derived), use_hsdp=use_hsdp))


@functools.cache
def shapes_of(world: int) -> tuple[Shape, ...]:
    """Every accepted shape; an explicit scope that the gate overrules would only repeat one."""
    asked = (
        accepted(topology | axes, ep_scope, use_hsdp=use_hsdp)
        for topology in topologies(world)
        for axes in axis_sizes(divisors(world // topology["pp_size"]))
        for ep_scope in ("node", "global")
        if ep_scope == "node" or axes["ep_size"] * axes["expert_tp_size"] > 1
        for use_hsdp in (False, True)
    )
    return tuple(shape for shape in asked if shape is not None)


WORLDS = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 18)
every_world = pytest.mark.parametrize("world", WORLDS)


def domains_of(shape: Shape) -> Groups:
    world, size = shape.sizes["world_size"], shape.derived.nvlink_domain_size
    return [list(range(start, start + size)) for start in range(0, world, size)]


def stated_sizes(shape: Shape) -> dict[str, tuple[int, int]]:
    """Size of a group, and groups per stage, of every kind (chains are counted once for all)."""
    sizes, derived = shape.sizes, shape.derived
    stage, width = derived.stage_world_size, derived.ep_group_size
    ep, etp = sizes["ep_size"], sizes["expert_tp_size"]
    groups = derived.num_ep_groups
    shard, replicate = derived.dp_shard_size, derived.dp_replicate_size
    return {
        "tp": (sizes["tp_size"], stage // sizes["tp_size"]),
        "cp": (sizes["cp_size"], stage // sizes["cp_size"]),
        "ep": (width, groups),
        "dispatch": (ep, etp * groups),
        "expert_tp": (etp, ep * groups),
        "expert_replicas": (groups, width),
        "pp": (sizes["pp_size"], stage),
        "stage": (stage, 1),
        "dp_shard": (shard, replicate),
        "dp_replicate": (replicate, shard),
    }


def batches(shape: Shape, group: Group) -> set[int]:
    return {shape.made.data_parallel_ranks[rank] for rank in group}


@every_world
def test_every_kind_of_group_partitions_the_ranks(world: int) -> None:
    for shape in shapes_of(world):
        for kind in KINDS:
            assert is_partition(getattr(shape.made, kind), world), (kind, shape)


@every_world
def test_groups_have_the_stated_sizes_and_numbers(world: int) -> None:
    for shape in shapes_of(world):
        for kind, (size, number) in stated_sizes(shape).items():
            groups: Groups = getattr(shape.made, kind)
            stages = 1 if kind == "pp" else shape.sizes["pp_size"]
            assert {len(group) for group in groups} == {size}, (kind, shape)
            assert len(groups) == number * stages, (kind, shape)


@every_world
def test_group_ranks_follow_global_ranks(world: int) -> None:
    for shape in shapes_of(world):
        for kind in KINDS:
            groups: Groups = getattr(shape.made, kind)
            assert all(group == sorted(group) for group in groups), (kind, shape)
            # The expert-TP groups follow the EP groups they split, which may reach far.
            assert kind == "expert_tp" or groups == sorted(groups), (kind, shape)


@every_world
def test_only_chains_leave_a_stage(world: int) -> None:
    for shape in shapes_of(world):
        for kind in KINDS:
            for group in getattr(shape.made, kind):
                assert kind == "pp" or inside(group, shape.made.stage), (kind, shape)
        for chain in shape.made.pp:
            places = [stage.index(r) for r, stage in zip(chain, shape.made.stage, strict=True)]
            assert len(set(places)) == 1


@every_world
def test_local_groups_stay_in_a_domain(world: int) -> None:
    for shape in shapes_of(world):
        kinds = {"tp", "cp", "expert_tp"}
        node = shape.derived.ep_scope == "node"
        kinds |= {"ep", "dispatch"} if node else {"expert_replicas"}
        kinds |= {"dp_shard"} if shape.derived.is_hsdp else set()
        for kind in kinds:
            for group in getattr(shape.made, kind):
                assert inside(group, domains_of(shape)), (kind, shape)


@every_world
def test_local_groups_are_consecutive_ranks(world: int) -> None:
    for shape in shapes_of(world):
        kinds = {"tp", "cp", "stage", "dp_shard"}
        kinds |= {"ep", "dispatch"} if shape.derived.ep_scope == "node" else {"expert_tp"}
        for kind in kinds:
            for group in getattr(shape.made, kind):
                assert group == list(range(group[0], group[0] + len(group))), (kind, shape)


@every_world
def test_global_groups_hold_an_equal_block_of_every_domain(world: int) -> None:
    for shape in shapes_of(world):
        if shape.derived.ep_scope == "node":
            continue
        share = shape.derived.ep_group_size // shape.derived.num_nvlink_domains
        for group in shape.made.ep:
            stage = group_of(group[0], shape.made.stage)
            for domain in domains_of(shape):
                members = [rank for rank in group if rank in domain]
                if inside(domain, [stage]):
                    assert members == list(range(members[0], members[0] + share)), shape


@every_world
def test_an_ep_group_is_a_grid_of_dispatch_and_expert_tp(world: int) -> None:
    for shape in shapes_of(world):
        made = shape.made
        for kind in (made.dispatch, made.expert_tp):
            owners = [made.ep.index(group_of(group[0], made.ep)) for group in kind]
            assert owners == sorted(owners), shape
            assert all(inside(group, made.ep) for group in kind), shape
        for rank in range(world):
            dispatch = group_of(rank, made.dispatch)
            partners = group_of(rank, made.expert_tp)
            assert set(dispatch) & set(partners) == {rank}, shape
            places = {group_of(partner, made.dispatch).index(partner) for partner in partners}
            assert places == {dispatch.index(rank)}, shape


@every_world
def test_replicas_hold_one_rank_of_each_ep_group_at_one_place(world: int) -> None:
    for shape in shapes_of(world):
        for replicas in shape.made.expert_replicas:
            places = replica_places(shape.made, replicas[0])
            assert [index for index, _ in places] == list(range(shape.derived.num_ep_groups)), shape
            assert len({ep_rank for _, ep_rank in places}) == 1, shape


@every_world
def test_replicas_hold_one_rank_of_each_shard_at_one_place(world: int) -> None:
    for shape in shapes_of(world):
        made = shape.made
        for replicas in made.dp_replicate:
            shards = [group_of(rank, made.dp_shard) for rank in replicas]
            places = {shard.index(r) for r, shard in zip(replicas, shards, strict=True)}
            assert len({*map(tuple, shards)}) == len(replicas), shape
            assert len(places) == 1, shape


# The laws that one row states, under its words.


def batches_are_numbered(shape: Shape) -> bool:
    found = set(shape.made.data_parallel_ranks)
    return found == set(range(shape.derived.data_parallel_size))


def batches_are_read_equally_often(shape: Shape) -> bool:
    sizes = shape.sizes
    inner = max(sizes["tp_size"], sizes["cp_size"], sizes["expert_tp_size"])
    readers = set(Counter(shape.made.data_parallel_ranks).values())
    by_world = {sizes["world_size"] // shape.derived.data_parallel_size}
    return readers == by_world == {sizes["pp_size"] * inner}


def partners_share_a_batch(shape: Shape) -> bool:
    made = shape.made
    partners = made.cp + made.tp + made.expert_tp + made.pp
    return all(len(batches(shape, group)) == 1 for group in partners)


def dispatch_positions_differ(shape: Shape) -> bool:
    """Of the groups that expert TP splits; TP and CP partners may meet in a dispatch group."""
    split = shape.sizes["expert_tp_size"] > 1
    return not split or all(
        len(batches(shape, group)) == len(group) for group in shape.made.dispatch
    )


def ep_leaves_the_batches_alone(shape: Shape) -> bool:
    sizes = shape.sizes
    inner = max(sizes["tp_size"], sizes["cp_size"], sizes["expert_tp_size"])
    return len(set(shape.made.data_parallel_ranks)) == shape.derived.stage_world_size // inner


LAWS = {
    "data-parallel ranks are exactly 0..dp-1": batches_are_numbered,
    "each claimed world/dp times": batches_are_read_equally_often,
    "CP, TP, ETP partners and PP chain members share one data-parallel rank": (
        partners_share_a_batch
    ),
    "ETP dispatch positions differ in data-parallel rank": dispatch_positions_differ,
    "EP size does not change data_parallel_size": ep_leaves_the_batches_alone,
}


@every_world
@pytest.mark.parametrize("law", LAWS)
def test_batch_law(world: int, law: str) -> None:
    for shape in shapes_of(world):
        assert LAWS[law](shape), shape


def active(shape: Shape) -> frozenset[str]:
    axes = ("pp_size", "ep_size", "expert_tp_size", "tp_size", "cp_size")
    return frozenset(axis for axis in axes if shape.sizes[axis] > 1)


def test_recorded_sweep_is_part_of_the_laws() -> None:
    recorded = ROWS[SWEEP]["layout"]
    assert recorded["for_every_accepted_shape"] == list(LAWS)
    assert recorded["sweep_axes"] == ["pp", "ep", "etp", "tp", "cp"]
    assert recorded["scopes"] == ["node", "global"]
    legal = set(recorded["sweep_sizes"])
    swept = [
        shape
        for world in (8, 16)
        for shape in shapes_of(world)
        if legal.issuperset(shape.sizes[axis] for axis in active(shape))
    ]
    assert len({active(shape) for shape in swept}) == 11
    assert len(swept) > 100


def test_shapes_reach_every_way_of_grouping() -> None:
    shapes = [shape for world in WORLDS for shape in shapes_of(world)]
    assert len({active(shape) for shape in shapes}) == 11

    def reached(way: Callable[[Shape], bool]) -> int:
        return sum(map(way, shapes))

    assert reached(lambda s: s.derived.is_hsdp) > 50
    assert reached(lambda s: s.derived.is_hsdp and s.sizes["cp_size"] > 1) > 20
    assert reached(lambda s: s.derived.nvlink_domain_size > s.derived.gpus_per_node) > 500
    assert reached(lambda s: s.derived.requires_rdma and s.derived.num_ep_groups > 1) > 50
    assert reached(lambda s: s.derived.requires_rdma and s.sizes["pp_size"] > 1) > 20
    assert reached(lambda s: s.derived.requires_rdma and s.sizes["expert_tp_size"] > 1) > 20
    assert reached(lambda s: s.sizes["expert_tp_size"] > 1 and s.derived.num_ep_groups > 1) > 50
