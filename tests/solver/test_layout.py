"""`parsolve.layout`: the groups of ranks, where they lie, and what they send."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import parsolve
from parsolve.constraints import PROFILES
from parsolve.solver.answer import (
    GroupKind,
    RankLayout,
    RankPlace,
    Rejected,
    as_data,
    json_schema,
)
from tests.halo_layouts import NO_GROUPS, ROWS, Groups, Row, check
from tests.megatron_cases import group_rows, is_recorded_as


def laid_out(
    config: Mapping[str, object] | None = None,
    /,
    **fields: Any,  # noqa: ANN401 - each has a type of its own
) -> RankLayout:
    answer = parsolve.layout(config, repairs=0, **fields)
    assert isinstance(answer, RankLayout), answer
    return answer


def groups_of(answer: RankLayout) -> dict[str, Groups]:
    return {kind.name: [list(group) for group in kind.groups or ()] for kind in answer.kinds}


def batches_of(answer: RankLayout) -> list[int]:
    """The data-parallel rank of every rank."""
    groups = groups_of(answer)["same-batch"]
    of = {rank: number for number, group in enumerate(groups) for rank in group}
    return [of[rank] for rank in range(answer.world)]


def kind_of(answer: RankLayout, name: str) -> GroupKind:
    return next(kind for kind in answer.kinds if kind.name == name)


def place_of(rank: int, **fields: Any) -> RankPlace:  # noqa: ANN401 - see `laid_out`
    places = laid_out(ranks=rank, **fields).ranks
    assert places is not None
    return places[0]


def blocks(size: int, world: int, first: int = 0) -> Groups:
    return [list(range(start, start + size)) for start in range(first, first + world, size)]


TWO_NODES = {"world_size": 16, "gpus_per_node": 8}
EIGHT = {"world_size": 8, "gpus_per_node": 8}


class TestByHand:
    """The tables of how halo lays groups out, section by section."""

    def test_expert_groups_inside_a_domain(self) -> None:
        answer = laid_out(TWO_NODES, ep_size=4)
        groups = groups_of(answer)
        assert groups["ep"] == blocks(4, 16)
        assert groups["expert-replicas"][2] == [2, 6, 10, 14]
        place = place_of(10, **TWO_NODES, ep_size=4)
        (ep,) = (each for each in place.groups if each.kind == "ep")
        assert (ep.group, ep.position, ep.ranks) == (2, 2, (8, 9, 10, 11))

    @pytest.mark.parametrize(
        ("ep", "expected", "replicas"),
        [
            (
                8,
                [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]],
                [[0, 4], [1, 5], [2, 6], [3, 7], [8, 12], [9, 13], [10, 14], [11, 15]],
            ),
            (2, [[n, n + 8] for n in range(8)], [list(range(8)), list(range(8, 16))]),
            (16, [list(range(16))], [[n] for n in range(16)]),
        ],
    )
    def test_expert_groups_across_domains(
        self, ep: int, expected: Groups, replicas: Groups
    ) -> None:
        answer = laid_out(TWO_NODES, ep_size=ep, ep_scope="global")
        groups = groups_of(answer)
        assert groups["ep"] == groups["dispatch"] == expected
        assert groups["expert-replicas"] == replicas
        assert kind_of(answer, "ep").across_domains == len(expected)
        assert kind_of(answer, "expert-replicas").across_domains == 0

    def test_the_second_stage_has_the_groups_of_the_first_one_shifted(self) -> None:
        given = {"world_size": 32, "gpus_per_node": 8, "pp_size": 2, "assume_pp": True}
        groups = groups_of(laid_out(given, ep_size=8, ep_scope="global"))
        first, second = groups["ep"][:2], groups["ep"][2:]
        assert first == [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]
        assert second == [[rank + 16 for rank in group] for group in first]

    @pytest.mark.parametrize(
        ("shape", "ep", "dispatch", "etp", "batches"),
        [
            (
                {**EIGHT, "ep_size": 4, "expert_tp_size": 2},
                blocks(8, 8),
                blocks(4, 8),
                [[0, 4], [1, 5], [2, 6], [3, 7]],
                [0, 1, 2, 3, 0, 1, 2, 3],
            ),
            (
                {**EIGHT, "ep_size": 2, "expert_tp_size": 2},
                blocks(4, 8),
                blocks(2, 8),
                [[0, 2], [1, 3], [4, 6], [5, 7]],
                [0, 2, 0, 2, 1, 3, 1, 3],
            ),
            (
                {**EIGHT, "expert_tp_size": 2},
                blocks(2, 8),
                None,
                blocks(2, 8),
                [0, 0, 1, 1, 2, 2, 3, 3],
            ),
            (
                {**TWO_NODES, "ep_size": 2, "expert_tp_size": 8, "ep_scope": "global"},
                blocks(16, 16),
                [[n, n + 8] for n in range(8)],
                blocks(8, 16),
                [0] * 8 + [1] * 8,
            ),
        ],
    )
    def test_expert_groups_that_are_split(
        self,
        shape: dict[str, Any],
        ep: Groups,
        dispatch: Groups | None,
        etp: Groups,
        batches: list[int],
    ) -> None:
        answer = laid_out(shape)
        groups = groups_of(answer)
        assert groups["ep"] == ep
        assert groups.get("dispatch") == dispatch
        assert groups["etp"] == etp
        assert batches_of(answer) == batches

    def test_experts_follow_the_dispatch_rank(self) -> None:
        shape = {**EIGHT, "ep_size": 4, "expert_tp_size": 2, "num_experts": 64}
        held = [place_of(rank, **shape).experts for rank in range(8)]
        assert held == [(0, 15), (16, 31), (32, 47), (48, 63)] * 2
        whole = place_of(3, **EIGHT, num_experts=64)
        assert whole.experts == (0, 63)

    def test_tensor_parallelism_has_rows_and_columns(self) -> None:
        groups = groups_of(laid_out(EIGHT, tp_size=4))
        assert groups["tp"] == blocks(4, 8)
        assert groups["dp"] == groups["fsdp"] == [[0, 4], [1, 5], [2, 6], [3, 7]]
        wide = groups_of(laid_out(TWO_NODES, tp_size=8, ep_size=16))
        assert wide["dp"] == [[n, n + 8] for n in range(8)]
        assert "dp" not in groups_of(laid_out(EIGHT, tp_size=8))

    def test_experts_with_context_parallelism(self) -> None:
        answer = laid_out(EIGHT, ep_size=8, cp_size=2)
        groups = groups_of(answer)
        assert groups["ep"] == blocks(8, 8)
        assert groups["cp"] == blocks(2, 8)
        assert batches_of(answer) == [0, 0, 1, 1, 2, 2, 3, 3]

    def test_a_pipeline(self) -> None:
        given = {**TWO_NODES, "pp_size": 2, "ep_size": 2, "assume_pp": True}
        answer = laid_out(given)
        groups = groups_of(answer)
        assert groups["pp"] == [[n, n + 8] for n in range(8)]
        assert groups["expert-replicas"] == [
            [0, 2, 4, 6],
            [1, 3, 5, 7],
            [8, 10, 12, 14],
            [9, 11, 13, 15],
        ]
        assert batches_of(answer) == [*range(8), *range(8)]
        assert kind_of(answer, "pp").across_nodes == kind_of(answer, "pp").across_domains == 8

    @pytest.mark.parametrize(
        ("shape", "width"),
        [
            (TWO_NODES, 16),
            ({**TWO_NODES, "tp_size": 4}, 4),
            ({**TWO_NODES, "ep_size": 4}, 4),
            ({**TWO_NODES, "use_hsdp": True}, 8),
        ],
    )
    def test_the_width_of_fsdp(self, shape: dict[str, Any], width: int) -> None:
        assert kind_of(laid_out(shape), "fsdp").size == width

    def test_a_quantized_base_is_not_sharded(self) -> None:
        lora = {"use_peft": True, "quantized": True}
        assert "fsdp" not in groups_of(laid_out(EIGHT, **lora))


# --- recorded groups ------------------------------------------------------------------------

ALONE = {"pp", "cp", "dispatch", "etp"}
"""Kinds that there are none of where their axis is off: every rank is then by itself."""


class Answered(Row):
    """The public answer at the configuration of a row."""

    def __init__(self, answer: RankLayout, rank: int) -> None:
        self.rank = rank
        self._world = answer.world
        self._groups = groups_of(answer)

    def groups(self, name: str) -> Groups:
        missing = [[rank] for rank in range(self._world)] if name in ALONE else None
        return self._groups.get(name) or missing or [list(range(self._world))]

    def places(self, name: str) -> list[tuple[int, int]]:
        found = {
            rank: (number, position)
            for number, group in enumerate(self.groups(name))
            for position, rank in enumerate(group)
        }
        return [found[rank] for rank in range(self._world)]


REFUSED = {18, 21, 22, 23}
"""Rows about low-level objects at configurations that the framework refuses as a whole."""


@pytest.mark.parametrize("number", sorted(ROWS.keys() - NO_GROUPS.keys()))
def test_the_answer_replays_what_halo_recorded(number: int) -> None:
    inputs = {"assume_pp": True, **ROWS[number]["inputs"]}
    rank = inputs.pop("rank", -1)
    answer = parsolve.layout(inputs, repairs=0)
    assert isinstance(answer, Rejected) == (number in REFUSED)
    if isinstance(answer, RankLayout):
        check(Answered(answer, rank), number)


@pytest.mark.parametrize("row", group_rows(), ids=lambda row: "-".join(map(str, row.values()))[:40])
def test_the_answer_replays_what_megatron_recorded(row: dict[str, Any]) -> None:
    answer = laid_out(
        profile="megatron",
        world_size=row["world_size"],
        tp_size=row["tp"],
        pp_size=row["pp"],
        cp_size=row["cp"],
        ep_size=row["ep"],
        expert_tp_size=row["etp"],
        tp_pp_dp_order=row["order"] == "tp-cp-ep-pp-dp",
        num_experts=2 * row["ep"],
        bias_linear=False,
        sequence_parallel=True,
    )
    groups = groups_of(answer)
    assert len(groups) == 9
    for name in ("tp", "cp", "dp", "dp_cp", "pp", "etp", "ep"):
        assert is_recorded_as(groups[name], row["groups"][name]), name
    assert is_recorded_as(groups["expert_dp"], row["groups"]["edp"])
    in_dp = {r: place for group in groups["dp"] for place, r in enumerate(group)}
    assert batches_of(answer) == [in_dp[rank] for rank in range(answer.world)]


# --- laws -----------------------------------------------------------------------------------

SMALL = st.sampled_from([1, 1, 2, 3, 4])


def divisor(draw: st.DrawFn, number: int) -> int:
    return draw(st.sampled_from([n for n in range(1, number + 1) if number % n == 0]))


@st.composite
def halo(draw: st.DrawFn) -> dict[str, Any]:
    profile = PROFILES["halo"]
    per_domain, domains, stages = (draw(SMALL) for _ in range(3))
    node = draw(st.sampled_from([1, 2, 3, 4, 8]))
    domain = node * per_domain
    mode = draw(st.sampled_from(profile.modes))
    pp = stages if "pp_size" in mode else 1
    sizes = {axis: divisor(draw, domain) for axis in sorted(mode - {"pp_size"})}
    if draw(st.booleans()) and "ep_size" in mode:
        sizes["ep_size"] = divisor(draw, domain * domains)
    return {
        "world_size": domain * domains * pp,
        "gpus_per_node": node,
        "nvlink_domain_size": domain,
        "pp_size": pp,
        "assume_pp": True,
        "ep_scope": draw(st.sampled_from(["auto", "node", "global"])),
        "use_hsdp": draw(st.booleans()),
        **sizes,
    }


@st.composite
def megatron(draw: st.DrawFn) -> dict[str, Any]:
    tp, cp, dp, pp = (draw(SMALL) for _ in range(4))
    etp = divisor(draw, tp * cp * dp)
    ep = divisor(draw, tp * cp * dp // etp)
    return {
        **cluster(draw, tp * cp * dp * pp),
        "tp_size": tp,
        "cp_size": cp,
        "pp_size": pp,
        "expert_tp_size": etp,
        "ep_size": ep,
        "num_experts": 2 * ep,
        "bias_linear": False,
        "sequence_parallel": True,
        "tp_pp_dp_order": draw(st.booleans()),
    }


@st.composite
def accelerate(draw: st.DrawFn) -> dict[str, Any]:
    names = ("dp_replicate_size", "dp_shard_size", "tp_size", "cp_size")
    sizes = {name: draw(SMALL) for name in names}
    return {**cluster(draw, prod(sizes.values())), **sizes}


@st.composite
def torchtitan(draw: st.DrawFn) -> dict[str, Any]:
    names = ("pp_size", "dp_replicate_size", "dp_shard_size", "tp_size", "cp_size")
    sizes = {name: draw(SMALL) for name in names}
    inner = sizes["dp_shard_size"] * sizes["tp_size"] * sizes["cp_size"]
    extra = {"seq_length": 2304, "micro_batch": 12, "disable_cuda_graphs": True}
    shape = {**cluster(draw, prod(sizes.values())), **sizes, **extra}
    return {**shape, "ep_size": divisor(draw, inner)}


def cluster(draw: st.DrawFn, world: int) -> dict[str, int]:
    """Nodes and domains of any size: some do not divide the world, or each other."""
    node, domain = (draw(st.integers(1, 9)) for _ in range(2))
    return {"world_size": world, "gpus_per_node": node, "nvlink_domain_size": domain}


def obeys_the_laws(answer: RankLayout) -> None:
    """Partitions of the stated sizes, and crossings that are those of every rank looked at."""
    nodes = {rank // answer.gpus_per_node for rank in range(answer.world)}
    domains = {rank // answer.nvlink_domain_size for rank in range(answer.world)}
    assert (len(nodes), len(domains)) == (answer.nodes, answer.domains)
    for kind in answer.kinds:
        assert kind.groups is not None
        assert sorted(itertools.chain(*kind.groups)) == list(range(answer.world))
        assert len(kind.groups) == kind.count
        assert {len(group) for group in kind.groups} == {kind.size}
        for block, listed, count in (
            (answer.gpus_per_node, kind.groups_across_nodes, kind.across_nodes),
            (answer.nvlink_domain_size, kind.groups_across_domains, kind.across_domains),
        ):
            leaving = [
                number
                for number, group in enumerate(kind.groups)
                if len({rank // block for rank in group}) > 1
            ]
            assert list(listed or ()) == leaving
            assert count == len(leaving)


def places_agree(answer: RankLayout, asked: RankLayout) -> None:
    """What is said of single ranks is what the groups say."""
    kinds = {kind.name: kind for kind in answer.kinds}
    batches = batches_of(answer)
    for place in asked.ranks or ():
        rank = place.rank
        assert (place.node, place.local_rank) == divmod(rank, answer.gpus_per_node)
        assert place.domain == rank // answer.nvlink_domain_size
        assert place.data_parallel_rank == batches[rank]
        assert [each.kind for each in place.groups] == list(kinds)
        for each in place.groups:
            kind = kinds[each.kind]
            assert kind.groups is not None
            assert each.ranks == kind.groups[each.group]
            assert each.ranks[each.position] == rank
            assert each.leaves_node == (each.group in (kind.groups_across_nodes or ()))
            assert each.leaves_domain == (each.group in (kind.groups_across_domains or ()))
    for kind in asked.kinds:
        other = kinds[kind.name]
        lists = {kind.groups, kind.groups_across_nodes, kind.groups_across_domains}
        assert lists == {None}
        assert (kind.size, kind.count) == (other.size, other.count)
        assert kind.across_domains == other.across_domains


@pytest.mark.parametrize("strategy", [halo, megatron, accelerate, torchtitan])
def test_laws(strategy: Callable[[], st.SearchStrategy[dict[str, Any]]]) -> None:
    name = strategy.__name__
    seen: set[str] = set()

    @settings(max_examples=300, derandomize=True)  # what is reached is asserted below
    @given(shape=strategy(), data=st.data())
    def obeyed(shape: dict[str, Any], data: st.DataObject) -> None:
        config = PROFILES[name].config(shape)
        assume(config.accepted())
        answer = laid_out(shape, profile=name)
        obeys_the_laws(answer)
        seen.update(kind.name for kind in answer.kinds if kind.size > 1)
        ranks = data.draw(st.lists(st.integers(0, answer.world - 1), min_size=1, unique=True))
        asked = laid_out(shape, profile=name, ranks=ranks)
        assert [place.rank for place in asked.ranks or ()] == ranks
        places_agree(answer, asked)

    obeyed()
    assert seen == {kind.name for kind in PROFILES[name].layout.kinds}


# --- traffic --------------------------------------------------------------------------------

MOE = {"model": "qwen3-30b-a3b"}
RUNS: list[tuple[str, dict[str, Any]]] = [
    ("halo", {**TWO_NODES, "max_length": 4096, "ep_size": 8}),
    ("halo", {**TWO_NODES, "max_length": 4096, "ep_size": 2, "ep_scope": "global"}),
    ("halo", {**TWO_NODES, "max_length": 4096, "ep_size": 16, "tp_size": 4}),
    ("halo", {**TWO_NODES, "max_length": 4096, "use_hsdp": True}),
    ("halo", {**TWO_NODES, "max_length": 4096, "use_hsdp": True, "fsdp_shard_ep1_experts": True}),
    ("halo", {**TWO_NODES, "max_length": 4096, "cp_size": 2}),
    ("halo", {**TWO_NODES, "max_length": 4096, "use_peft": True, "lora_rank": 16}),
    (
        "halo",
        {
            **TWO_NODES,
            "max_length": 4096,
            "use_peft": True,
            "lora_rank": 16,
            "quantized": True,
            "model": "qwen3-8b",
        },
    ),
    ("halo", {**TWO_NODES, "max_length": 4096, "pp_size": 2, "assume_pp": True, "ep_size": 2}),
    ("halo", {**EIGHT, "max_length": 4096, "ep_size": 4, "expert_tp_size": 2}),
    ("megatron", {**TWO_NODES, "seq_length": 4096, "ep_size": 8}),
    ("megatron", {**TWO_NODES, "seq_length": 4096, "cp_size": 2, "pp_size": 2, "ep_size": 4}),
    (
        "megatron",
        {
            **TWO_NODES,
            "seq_length": 4096,
            "tp_size": 2,
            "sequence_parallel": True,
            "distributed_optimizer": True,
        },
    ),
]
PARTS = {
    "halo": {"dp": ("dp", "fsdp", "hsdp-replicate", "expert-replicas"), "ep": ("dispatch",)},
    "megatron": {"dp": ("dp_cp", "expert_dp"), "ep": ("ep",)},
}


@pytest.mark.parametrize(("profile", "shape"), RUNS)
def test_every_byte_is_that_of_one_kind_of_group(profile: str, shape: dict[str, Any]) -> None:
    answer = laid_out(profile=profile, **{**MOE, **shape})
    assert answer.traffic_unknown is None
    sent = {kind.name: kind.traffic or 0 for kind in answer.kinds}
    config = PROFILES[profile].config(answer.config)
    known = PROFILES[profile].filled(config.values)
    parts = {axis: (axis,) for axis in ("tp", "cp", "etp", "pp")} | PARTS[profile]
    for axis, kinds in parts.items():
        total = sum(sent.get(name, 0) for name in kinds)
        assert total == known.get(f"comm_volume_{axis}", 0), axis
    assert sum(sent.values()) == known["comm_volume"]
    assert known["comm_volume_dp"] > 0
    for kind in answer.kinds:
        assert (kind.carries is None) == (kind.traffic is None)
        assert kind.size > 1 or not kind.traffic


def test_traffic_that_is_not_known_says_what_is_missing() -> None:
    plain = laid_out(EIGHT)
    assert plain.traffic_unknown is not None
    assert "--model" in plain.traffic_unknown
    assert all(kind.traffic is None for kind in plain.kinds)
    lora = laid_out(EIGHT, **MOE, max_length=4096, use_peft=True)
    assert lora.traffic_unknown is not None
    assert "--lora-r" in lora.traffic_unknown
    mesh = laid_out(world_size=8, dp_shard_size=8, profile="accelerate")
    assert mesh.traffic_unknown == "the accelerate profile does not count it"


# --- layers ---------------------------------------------------------------------------------


def test_layers_follow_the_stage() -> None:
    given = {**TWO_NODES, "pp_size": 2, "assume_pp": True}
    assert place_of(9, **given, num_hidden_layers=24).layers == ((12, 23),)
    assert place_of(9, **given, num_hidden_layers=25).layers is None
    assert place_of(9, **given, num_hidden_layers=25, pp_split=[12, 13]).layers == ((12, 24),)
    assert place_of(9, **given).layers is None
    assert place_of(9, **given).stage == 1


def test_chunks_of_an_interleaved_pipeline_take_turns() -> None:
    given: dict[str, Any] = {
        "profile": "megatron",
        "world_size": 4,
        "pp_size": 4,
        "num_hidden_layers": 16,
        "virtual_stages": 2,
        "requested_global_batch": 8,
    }
    held = [place_of(rank, **given).layers for rank in range(4)]
    assert held == [tuple((2 * n, 2 * n + 1) for n in (r, r + 4)) for r in range(4)]


def test_a_stage_without_layers_says_so() -> None:
    given = {"profile": "megatron", "world_size": 2, "pp_size": 2, "num_hidden_layers": 4}
    assert place_of(1, **given, pipeline_layout="Etttt|L").layers == ()


def test_without_pipelines_there_is_no_stage() -> None:
    place = place_of(3, world_size=8, dp_shard_size=8, profile="accelerate")
    assert {place.stage, place.layers, place.experts} == {None}


# --- sizes ----------------------------------------------------------------------------------


def test_one_gpu() -> None:
    answer = laid_out(world_size=1)
    obeys_the_laws(answer)
    assert (answer.nodes, answer.domains) == (1, 1)
    assert {kind.count for kind in answer.kinds} == {1}


def test_a_rack_is_one_domain() -> None:
    answer = laid_out(world_size=144, gpus_per_node=4, nvlink_domain_size=72, ep_size=72)
    obeys_the_laws(answer)
    ep = kind_of(answer, "ep")
    assert (ep.count, ep.across_nodes, ep.across_domains) == (2, 2, 0)
    replicas = kind_of(answer, "expert-replicas")
    assert (replicas.count, replicas.across_domains) == (72, 72)


@pytest.mark.parametrize("profile", ["halo", "megatron", "torchtitan"])
def test_many_gpus(profile: str) -> None:
    answer = laid_out(profile=profile, world_size=16384, gpus_per_node=8, tp_size=8)
    obeys_the_laws(answer)
    tp = kind_of(answer, "tp")
    assert (tp.count, tp.across_nodes) == (2048, 0)


def test_a_last_node_that_is_not_full() -> None:
    answer = laid_out(profile="megatron", world_size=12, gpus_per_node=8, tp_size=4)
    obeys_the_laws(answer)
    assert answer.nodes == 2
    assert kind_of(answer, "tp").across_nodes == 0
    assert kind_of(answer, "dp").groups_across_nodes == (0, 1, 2, 3)


# --- questions ------------------------------------------------------------------------------


def test_kinds_are_named_in_many_ways_and_told_in_one_order() -> None:
    for axes in (["dispatch", "TP"], ["tensor_parallel_size", "dispatch"], ["tp_size", "Dispatch"]):
        answer = laid_out(EIGHT, ep_size=8, tp_size=2, axes=axes)
        assert [kind.name for kind in answer.kinds] == ["tp", "dispatch"]
    one = laid_out(EIGHT, ep_size=8, axes="expert-dp")
    assert [kind.name for kind in one.kinds] == ["expert-replicas"]
    other = laid_out(profile="megatron", world_size=8, axes=["edp", "dp-cp"])
    assert [kind.name for kind in other.kinds] == ["dp_cp", "expert_dp"]


def test_a_rejected_configuration_is_answered_as_a_check_is() -> None:
    given: dict[str, Any] = {**EIGHT, "ep_size": 4}
    assert parsolve.layout(given) == parsolve.check(given)
    bounded: dict[str, Any] = {**EIGHT, "max_length": 4096, "gpu_memory": "1GiB"}
    assert isinstance(parsolve.layout(bounded, repairs=0, model="qwen3-8b"), Rejected)


def test_only_warnings_about_the_cluster_are_told() -> None:
    answer = laid_out(profile="megatron", world_size=8)
    assert [each.warning for each in answer.warnings] == ["gpus-per-node-assumed"]
    assert not laid_out(EIGHT).warnings


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({**EIGHT, "ranks": 8}, ("no rank 8", "ranks 0 to 7")),
        ({**EIGHT, "ranks": [0, -1]}, ("no rank -1",)),
        ({"world_size": 1, "ranks": 1}, ("rank 0 alone",)),
        ({**EIGHT, "ranks": "1"}, ("ranks must be list",)),
        ({**EIGHT, "ranks": [True]}, ("each of ranks must be int",)),
        ({**EIGHT, "axes": "foo"}, ("no kind of group 'foo'", "tp", "dispatch", "same-batch")),
        ({**EIGHT, "axes": [3]}, ("each of axes must be str",)),
        ({**EIGHT, "axes": "tp"}, ("has no tp groups", "it has: dp, fsdp, same-batch")),
        ({**EIGHT, "profile": "generic"}, ("generic profile", "halo, megatron, accelerate and")),
        ({"world_size": 10**9}, ("at most 131,072 GPUs", "1,000,000,000")),
        ({**EIGHT, "profile": "nemo"}, ("no profile 'nemo'",)),
        ({"tp_size": 2}, ("world_size is missing",)),
        (
            {"world_size": 8, "profile": "accelerate", "sp_size": 8, "distributed": "deepspeed"},
            ("accelerate profile does not say", "where DeepSpeed makes them"),
        ),
        (
            {
                "world_size": 8,
                "profile": "megatron",
                "weight_shards": 2,
                "requested_global_batch": 8,
            },
            ("megatron profile does not say", "weights are gathered again"),
        ),
    ],
)
def test_misuse(arguments: dict[str, Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the message is looked at below)
        parsolve.layout(**arguments)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("ranks", [(), (0, 7)])
def test_answers_follow_the_schema(ranks: tuple[int, ...]) -> None:
    answer = laid_out(EIGHT, ep_size=2, num_experts=8, ranks=ranks)
    data = as_data(answer)
    jsonschema.validate(data, json_schema())
    assert data["answer"] == "layout"
    assert json.loads(json.dumps(data)) == data
    assert ("ranks" in data) == bool(ranks)
