"""Pipeline schedules: laws of every timeline, tiny ones by hand, the formula, what is in flight."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from types import ModuleType
from typing import Any as Anything
from typing import Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parsolve
from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import compiled, prologue
from parsolve.constraints.generic import activations as generic
from parsolve.constraints.megatron import activations as megatron
from parsolve.constraints.profile import Config
from parsolve.solver.answer import Item, Schedule, as_data, json_schema
from parsolve.solver.pipeline.order import Shape, order_of_work, turns
from parsolve.solver.pipeline.simulate import Simulation

MEGATRON, GENERIC = PROFILES["megatron"], PROFILES["generic"]


def takes_group(pp: int, microbatches: int, group: int) -> bool:
    """What the interleaved schedule demands (schedules.py:1133-1153)."""
    rest = microbatches % group
    return pp <= group <= microbatches and (rest == 0 or rest >= pp)


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Anything]:
    """Sizes of a schedule that is none of them refuses."""
    name = draw(st.sampled_from(["gpipe", "1f1b", "interleaved"]))
    if name != "interleaved":
        return {
            "schedule": name,
            "pp": draw(st.integers(1, 7)),
            "microbatches": draw(st.integers(1, 14)),
        }
    pp = draw(st.integers(2, 5))
    group = draw(st.integers(pp, pp + 4))
    fitting = [m for m in range(1, 3 * group + 1) if takes_group(pp, m, group)]
    return {
        "schedule": name,
        "pp": pp,
        "virtual_stages": draw(st.integers(2, 4)),
        "microbatches": draw(st.sampled_from(fitting)),
        "microbatch_group_size": group,
    }


times = st.fixed_dictionaries(
    {"forward_time": st.integers(1, 5), "backward_time": st.integers(1, 5)}
)


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Anything]:
    """A schedule with its times, on equal or on unequal stages."""
    asked = {**draw(shapes()), **draw(times)}
    if draw(st.booleans()):
        chunks = st.lists(
            st.integers(1, 4),
            min_size=asked.get("virtual_stages", 1),
            max_size=asked.get("virtual_stages", 1),
        )
        asked["layers_per_stage"] = [draw(chunks) for _ in range(asked["pp"])]
    return asked


def needed(
    answer: Schedule, rank: int, item: Item
) -> tuple[int, Literal["F", "B"], int, int] | None:
    """Rank, kind, micro-batch and chunk of what an item waits for."""
    last = answer.pp - 1
    if item.kind == "F":
        if rank > 0:
            return rank - 1, "F", item.microbatch, item.chunk
        return (last, "F", item.microbatch, item.chunk - 1) if item.chunk else None
    if rank < last:
        return rank + 1, "B", item.microbatch, item.chunk
    if item.chunk < answer.virtual_stages - 1:
        return 0, "B", item.microbatch, item.chunk + 1
    return rank, "F", item.microbatch, item.chunk


@given(questions())
def test_each_item_once_in_its_time(asked: dict[str, Anything]) -> None:
    answer = parsolve.schedule(**asked)
    layers = asked.get(
        "layers_per_stage",
        [[Fraction(1, answer.virtual_stages)] * answer.virtual_stages] * answer.pp,
    )
    took = {"F": answer.forward_time, "B": answer.backward_time}
    for rank in answer.ranks:
        done = sorted((item.kind, item.microbatch, item.chunk) for item in rank.items)
        assert done == [
            (kind, microbatch, chunk)
            for kind in "BF"
            for microbatch in range(answer.microbatches)
            for chunk in range(answer.virtual_stages)
        ]
        for item in rank.items:
            duration = took[item.kind] * layers[rank.rank][item.chunk] * answer.ticks_per_unit
            assert item.end - item.start == duration


@given(questions())
def test_nothing_overlaps_precedes_what_it_needs_or_could_start_earlier(
    asked: dict[str, Anything],
) -> None:
    answer = parsolve.schedule(**asked)
    ends = {
        (rank.rank, item.kind, item.microbatch, item.chunk): item.end
        for rank in answer.ranks
        for item in rank.items
    }
    for rank in answer.ranks:
        free = 0
        for item in rank.items:
            before = needed(answer, rank.rank, item)
            assert item.start == max(free, ends[before] if before else 0)
            free = item.end
    assert answer.total_time == max(ends.values())


@given(questions())
def test_busy_and_idle_fill_the_step(asked: dict[str, Anything]) -> None:
    answer = parsolve.schedule(**asked)
    assert [rank.rank for rank in answer.ranks] == list(range(answer.pp))
    for rank in answer.ranks:
        assert rank.busy_time == sum(item.end - item.start for item in rank.items)
        assert rank.busy_time + rank.idle_time == answer.total_time
    assert answer.ideal_time == max(rank.busy_time for rank in answer.ranks)
    idle = answer.total_time - answer.ideal_time
    of_ideal, of_step = answer.bubble.of_ideal, answer.bubble.of_step
    assert Fraction(of_ideal.numerator, of_ideal.denominator) == Fraction(idle, answer.ideal_time)
    assert Fraction(of_step.numerator, of_step.denominator) == Fraction(idle, answer.total_time)
    assert of_step.per_mille == 1000 * idle // answer.total_time


@given(shapes(), times)
def test_the_bubble_is_the_formula_where_stages_are_equal(
    asked: dict[str, Anything], took: dict[str, Anything]
) -> None:
    answer = parsolve.schedule(**asked, **took)
    assert answer.formula == answer.bubble
    share = answer.bubble.of_step
    p, chunks = answer.pp, answer.microbatches * answer.virtual_stages
    assert Fraction(share.numerator, share.denominator) == Fraction(p - 1, chunks + p - 1)


@given(shapes(), st.integers(1, 3))
def test_equal_layers_are_longer_stages(asked: dict[str, Anything], layers: int) -> None:
    virtual_stages = asked.get("virtual_stages", 1)
    split = parsolve.schedule(**asked, layers_per_stage=[layers * virtual_stages] * asked["pp"])
    whole = parsolve.schedule(
        **asked, forward_time=layers * virtual_stages, backward_time=2 * layers * virtual_stages
    )
    assert split.ranks == whole.ranks
    assert split.bubble == split.formula == whole.bubble


def test_unequal_stages_have_no_formula_and_wait_for_the_busiest() -> None:
    equal = parsolve.schedule(pp=4, microbatches=8, layers_per_stage=[4, 4, 4, 4])
    uneven = parsolve.schedule(pp=4, microbatches=8, layers_per_stage=[4, 4, 4, 3])
    assert uneven.formula is None
    assert uneven.ideal_time == equal.ideal_time
    assert uneven.ranks[3].idle_time > uneven.ranks[0].idle_time


@pytest.mark.parametrize("virtual_stages", [2, 3])
@pytest.mark.parametrize("pp", [2, 3, 4])
def test_what_the_interleaved_schedule_refuses_would_stop_or_idle_longer(
    pp: int, virtual_stages: int
) -> None:
    refused = 0
    for microbatches in range(1, 10):
        for group in range(1, 12):
            if takes_group(pp, microbatches, group):
                continue
            refused += 1
            with pytest.raises(ValueError, match="microbatch"):
                parsolve.schedule(
                    pp=pp,
                    microbatches=microbatches,
                    virtual_stages=virtual_stages,
                    microbatch_group_size=group,
                )
            shape = Shape(
                name="interleaved",
                pp=pp,
                microbatches=microbatches,
                virtual_stages=virtual_stages,
                group=group,
            )
            orders = [order_of_work(shape, rank, turns(shape)) for rank in range(pp)]
            alike = [[1] * virtual_stages] * pp
            items = Simulation(shape, orders).run(alike, alike)
            ends = [row[-1].end for row in items if len(row) == 2 * microbatches * virtual_stages]
            if group <= microbatches:
                assert len(ends) < pp or max(ends) > 2 * (microbatches * virtual_stages + pp - 1)
    assert refused > 20


class TestInFlight:
    @given(shapes())
    def test_of_each_schedule(self, asked: dict[str, Anything]) -> None:
        answer = parsolve.schedule(**asked)
        pp, m, virtual_stages = answer.pp, answer.microbatches, answer.virtual_stages
        for rank in answer.ranks:
            expected = {
                "gpipe": m,
                "1f1b": min(pp - rank.rank, m),
                "interleaved": min(
                    2 * (pp - rank.rank - 1)
                    + (virtual_stages - 1) * (answer.microbatch_group_size or 0)
                    + 1,
                    m * virtual_stages,
                ),
            }[answer.schedule]
            assert rank.in_flight_chunks == expected
            assert rank.in_flight_chunks / virtual_stages <= rank.in_flight <= min(m, expected)
            assert virtual_stages > 1 or rank.in_flight == expected

    @given(shapes())
    def test_is_what_the_memory_of_megatron_counts(self, asked: dict[str, Anything]) -> None:
        """Where a chunk takes pp micro-batches in a row, which is the default."""
        pp, virtual_stages, m = asked["pp"], asked.get("virtual_stages", 1), asked["microbatches"]
        if asked["schedule"] == "gpipe" or asked.get("microbatch_group_size", pp) != pp:
            return
        answer = parsolve.schedule(**asked)
        config = MEGATRON.config(
            {
                "world_size": pp,
                "pp_size": pp,
                "virtual_stages": virtual_stages if virtual_stages > 1 else None,
                "num_hidden_layers": pp * virtual_stages,
                "requested_global_batch": m,
            }
        )
        assert counted(config, megatron) == ends(answer)

    @given(shapes())
    def test_is_what_the_memory_of_generic_counts(self, asked: dict[str, Anything]) -> None:
        pp, virtual_stages, m = asked["pp"], asked.get("virtual_stages", 1), asked["microbatches"]
        if pp == 1 or asked.get("microbatch_group_size", pp) != pp:
            return
        config = GENERIC.config(
            {
                "world_size": pp,
                "pp_size": pp,
                "virtual_stages": virtual_stages,
                "pp_schedule": asked["schedule"],
                "num_microbatches": m,
                "num_hidden_layers": pp * virtual_stages,
            }
        )
        assert counted(config, generic) == ends(parsolve.schedule(**asked))


def counted(config: Config, account: ModuleType) -> tuple[int, int]:
    """Chunks in flight on the first and the last stage, as the memory account has them."""
    both = [account.first_in_flight, account.last_in_flight]
    lines = prologue(config.profile.fields, both)
    read = compiled("read", [*lines, "return its_first_in_flight, its_last_in_flight"])
    found: tuple[int, int] = read(config.values)
    return found


def ends(answer: Schedule) -> tuple[int, int]:
    """Chunks in flight on the first and the last rank."""
    return answer.ranks[0].in_flight_chunks, answer.ranks[-1].in_flight_chunks


def told(answer: Schedule, rank: int) -> str:
    """A rank's items as ``F0a 0-1``: micro-batch, chunk, start and end."""
    return ", ".join(
        f"{item.kind}{item.microbatch}{'abc'[item.chunk]} {item.start}-{item.end}"
        for item in answer.ranks[rank].items
    )


class TestByHand:
    """Worked out on paper, with a forward of 1 unit and a backward of 2."""

    def test_1f1b(self) -> None:
        answer = parsolve.schedule(pp=2, microbatches=2)
        assert told(answer, 0) == "F0a 0-1, F1a 1-2, B0a 4-6, B1a 7-9"
        assert told(answer, 1) == "F0a 1-2, B0a 2-4, F1a 4-5, B1a 5-7"
        assert (answer.total_time, answer.ideal_time) == (9, 6)

    def test_gpipe(self) -> None:
        answer = parsolve.schedule(pp=2, microbatches=2, schedule="gpipe")
        assert told(answer, 0) == "F0a 0-1, F1a 1-2, B0a 5-7, B1a 7-9"
        assert told(answer, 1) == "F0a 1-2, F1a 2-3, B0a 3-5, B1a 5-7"

    def test_interleaved(self) -> None:
        answer = parsolve.schedule(pp=2, microbatches=2, virtual_stages=2)
        assert (answer.ticks_per_unit, answer.total_time, answer.ideal_time) == (2, 15, 12)
        assert told(answer, 0) == (
            "F0a 0-1, F1a 1-2, F0b 2-3, F1b 3-4, B0b 6-8, B1b 9-11, B0a 11-13, B1a 13-15"
        )
        assert told(answer, 1) == (
            "F0a 1-2, F1a 2-3, F0b 3-4, B0b 4-6, F1b 6-7, B1b 7-9, B0a 9-11, B1a 11-13"
        )

    def test_unequal_layers(self) -> None:
        answer = parsolve.schedule(pp=2, microbatches=1, layers_per_stage=[1, 2])
        assert (told(answer, 0), told(answer, 1)) == ("F0a 0-1, B0a 7-9", "F0a 1-3, B0a 3-7")
        assert (answer.total_time, answer.ideal_time) == (9, 6)

    def test_one_rank_never_waits(self) -> None:
        answer = parsolve.schedule(pp=1, microbatches=2)
        assert told(answer, 0) == "F0a 0-1, B0a 1-3, F1a 3-4, B1a 4-6"
        assert answer.bubble.of_step.per_mille == 0

    def test_turns_of_the_framework_s_own_example(self) -> None:
        """schedules.py: "PP2 N3M5 with VP2", a comment in the interleaved schedule."""
        found = turns(Shape(name="interleaved", pp=2, microbatches=5, virtual_stages=2, group=3))
        assert [microbatch for microbatch, _ in found] == [0, 1, 2, 0, 1, 2, 3, 4, 3, 4]
        assert [chunk for _, chunk in found] == [0, 0, 0, 1, 1, 1, 0, 0, 1, 1]

    def test_warm_up_of_the_interleaved_paper_s_figure(self) -> None:
        """Narayanan et al., figure 4: 4 devices, 8 micro-batches, 2 chunks each."""
        answer = parsolve.schedule(pp=4, microbatches=8, virtual_stages=2)
        assert [rank.warmup for rank in answer.ranks] == [10, 8, 6, 4]
        assert (answer.bubble.of_ideal.numerator, answer.bubble.of_ideal.denominator) == (3, 16)


MISUSE: list[tuple[dict[str, Anything], tuple[str, ...]]] = [
    ({"pp": 0}, ("pp must be at least 1", "got 0")),
    ({"pp": -4}, ("pp must be at least 1", "got -4")),
    ({"pp": True}, ("pp must be an integer", "true")),
    ({"pp": 2.0}, ("pp must be an integer", "2.0")),
    ({"pp": 10**30}, ("pp must be at most 1,024",)),
    ({"pp": 10**5000}, ("pp must be at most 1,024", "too long to show")),
    ({"microbatches": 0}, ("microbatches must be at least 1",)),
    ({"microbatches": 8192, "pp": 8}, ("pp * microbatches * virtual_stages", "16,384", "65,536")),
    ({"virtual_stages": 0}, ("virtual_stages must be at least 1",)),
    ({"virtual_stages": 2, "pp": 1}, ("virtual_stages=2", "pp of at least 2")),
    ({"forward_time": 0}, ("forward_time must be at least 1",)),
    ({"backward_time": 10**9}, ("backward_time must be at most 1,000,000",)),
    (
        {"schedule": "gpipe", "virtual_stages": 2},
        ("schedule gpipe", "virtual_stages=1", "interleaved"),
    ),
    (
        {"schedule": "1f1b", "virtual_stages": 2},
        ("schedule 1f1b", "virtual_stages=1", "interleaved"),
    ),
    ({"schedule": "interleaved"}, ("interleaved needs virtual_stages of at least 2", "1f1b")),
    ({"schedule": "interleave"}, ("schedule must be one of", "did you mean", "interleaved")),
    ({"schedule": 1}, ("schedule must be one of gpipe, 1f1b, interleaved, got 1",)),
    ({"microbatch_group_size": 4}, ("microbatch_group_size", "1f1b", "leave it out")),
    (
        {"virtual_stages": 2, "microbatch_group_size": 3},
        ("microbatch_group_size=3", "pp=4", "=4 or more"),
    ),
    (
        {"virtual_stages": 2, "microbatch_group_size": 9},
        ("microbatches=8", "=9", "nearest that works", "9"),
    ),
    (
        {"virtual_stages": 2, "microbatches": 3},
        ("microbatches=3", "pp unless given", "microbatches=4"),
    ),
    ({"virtual_stages": 2, "microbatches": 10}, ("leaves 2", "pp=4", "microbatches=8 or 12")),
    (
        {"virtual_stages": 2, "microbatches": 9, "microbatch_group_size": 6},
        ("leaves 3", "microbatches=6 or 10"),
    ),
    ({"layers_per_stage": [4, 4, 4]}, ("layers_per_stage", "pp=4", "got 3")),
    ({"layers_per_stage": "4,4,4,4"}, ("layers_per_stage must be a list",)),
    ({"layers_per_stage": [4, 4, 4, 0]}, ("layers_per_stage of rank 3", "at least 1")),
    ({"layers_per_stage": [4, 4, 4, "4"]}, ("layers_per_stage of rank 3", "integer")),
    (
        {"virtual_stages": 2, "layers_per_stage": [8, 8, 8, 7]},
        ("rank 3", "7", "virtual_stages=2", "4+3"),
    ),
    ({"virtual_stages": 2, "layers_per_stage": [8, 8, 8, 1]}, ("rank 3", "less than one for each")),
    (
        {"virtual_stages": 2, "layers_per_stage": [8, 8, 8, [4]]},
        ("rank 3", "virtual_stages=2", "got 1"),
    ),
]


@pytest.mark.parametrize(("change", "parts"), MISUSE)
def test_misuse_says_what_to_change(change: dict[str, Anything], parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"must|use|raise|give|leave|nearest|less") as caught:
        parsolve.schedule(**{"pp": 4, "microbatches": 8, **change})
    for part in parts:
        assert part in str(caught.value)


@given(st.integers(2, 6), st.integers(1, 40), st.integers(0, 5))
def test_the_micro_batches_that_are_offered_work(pp: int, microbatches: int, more: int) -> None:
    asked: dict[str, Anything] = {"pp": pp, "virtual_stages": 2, "microbatch_group_size": pp + more}
    if takes_group(pp, microbatches, pp + more):
        return
    with pytest.raises(ValueError, match="nearest") as caught:
        parsolve.schedule(**asked, microbatches=microbatches)
    offered = [int(number) for number in str(caught.value).rpartition("=")[2].split(" or ")]
    assert all(takes_group(pp, one, pp + more) for one in offered)
    between = range(min(offered) + 1, max(offered)) if len(offered) > 1 else range(offered[0])
    assert not any(takes_group(pp, one, pp + more) for one in between)


@settings(max_examples=15)
@given(questions())
def test_json_is_in_the_schema(asked: dict[str, Anything]) -> None:
    answer = parsolve.schedule(**asked)
    data = as_data(answer)
    jsonschema.validate(data, SCHEMA)
    assert data["answer"] == "schedule"
    assert ("layers" in data) == ("layers_per_stage" in asked)
    assert ("microbatch_group_size" in data) == (answer.schedule == "interleaved")
    assert data["ranks"][0]["items"][0] == {
        "kind": "F",
        "microbatch": 0,
        "chunk": 0,
        "start": 0,
        "end": answer.ranks[0].items[0].end,
    }


SCHEMA = json_schema()


def test_an_answer_is_frozen() -> None:
    answer: Anything = parsolve.schedule(pp=2, microbatches=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.pp = 3
