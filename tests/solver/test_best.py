"""The best configurations: none better, none missing, in the stated order."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any as Anything

import pytest

from parsolve.constraints.evaluate import Values, compiled, defined_source, prologue, term_source
from parsolve.constraints.formula import Term, quotient
from parsolve.constraints.halo import fields as f
from parsolve.solver.answer import Best, Conflict, Undecided
from parsolve.solver.deadline import Deadline
from parsolve.solver.query import Objective, Query, QueryError
from parsolve.solver.solve import best
from parsolve.solver.where import ConditionError
from tests.solver.questions import HALO, brute_force, question

MOE: dict[str, Anything] = {"model_kind": "moe", "assume_pp": True}
EP_FIRST = (
    "EP first, then EP with expert TP, with CP, with TP, expert TP alone, TP, CP, plain data "
    "parallelism"
)


def optimum(query: Query, **options: Anything) -> Best:  # noqa: ANN401 - options of best
    answer = best(query, **options)
    assert isinstance(answer, Best)
    return answer


def scored(query: Query) -> list[tuple[Values, tuple[int, ...]]]:
    """Everything accepted, by brute force, with the values of the objectives."""
    readers = [reader(objective.term) for objective in query.objectives]
    return [
        (values, scores)
        for values in brute_force(query)
        if None not in (scores := tuple(read(values) for read in readers))
    ]


def reader(term: Term) -> Anything:  # noqa: ANN401 - a compiled function
    source = f"return {term_source(term)} if {defined_source(term)} else None"
    return compiled("read", [*prologue(HALO.fields, [term]), source])


def signed(query: Query, scores: tuple[int, ...]) -> tuple[int, ...]:
    """Objective values of which more is better."""
    return tuple(
        score if objective.maximize else -score
        for objective, score in zip(query.objectives, scores, strict=True)
    )


def configs(answer: Best) -> list[Values]:
    return [HALO.config(row.config).values for row in answer.solutions]


QUESTIONS: tuple[tuple[tuple[int, ...], dict[str, Anything]], ...] = (
    ((8,), {"objectives": [("dp", True)]}),
    ((8,), {"objectives": [("dp", False)]}),
    ((16,), {"objectives": [("ep_group_size", True), ("dp", True)]}),
    ((16,), {"objectives": [("dp", True), ("ep_group_size", True)]}),
    ((16,), {"objectives": [("ep_groups", False), ("tp", True), ("cp", False)]}),
    ((16,), {"objectives": [("tp*cp", True), ("world - dp", False)], "where": "is_ep_mode"}),
    ((12,), {"objectives": [("fsdp_width", True)], "gpus_per_node": 6}),
    ((16,), {"objectives": [("max(tp, etp) * 2 + pp", True)], "gpus_per_node": 4}),
    ((8,), {"objectives": [("experts_per_rank", False)], "num_experts": 12}),
    ((6, 8, 9, 12), {"objectives": [("dp", True)], "where": "tp > 1"}),
    ((6, 8, 9, 12), {"objectives": [("world", False)], "where": "dp >= 4 and ep > 1"}),
    ((8, 16), {"objectives": [("world", True), ("num_ep_groups", True)]}),
    ((16,), {"objectives": [("pp", True)], "vary": ["use_hsdp"]}),
)


@pytest.mark.parametrize(("worlds", "asked"), QUESTIONS)
def test_the_optimum_is_at_least_every_member_and_its_ties_are_complete(
    worlds: tuple[int, ...], asked: dict[str, Anything]
) -> None:
    query = question(*worlds, **MOE, **asked)
    answer = optimum(query)
    everything = scored(query)
    top = max(signed(query, scores) for _, scores in everything)
    ties = {values for values, scores in everything if signed(query, scores) == top}
    assert set(configs(answer)) == ties
    assert answer.count == len(answer.solutions) == len(ties)
    assert answer.optimal
    assert answer.certificate.status == "proved"
    values = tuple(goal.value for goal in answer.objectives)
    assert signed(query, values) == top  # type: ignore[arg-type]
    texts = [text for text, _ in asked["objectives"]]
    for row in answer.solutions:
        assert row.objectives == dict(zip(texts, values, strict=True))


FRONTS: tuple[tuple[tuple[int, ...], dict[str, Anything]], ...] = (
    ((16,), {"objectives": [("dp", True), ("ep_group_size", True)]}),
    ((16,), {"objectives": [("dp", True), ("tp*cp*etp", True)]}),
    ((16,), {"objectives": [("dp", False), ("tp", False), ("ep", True)]}),
    ((8, 12), {"objectives": [("world", False), ("dp", True)]}),
    ((12,), {"objectives": [("tp", True), ("tp", False)], "gpus_per_node": 6}),
    ((8,), {"objectives": [("experts_per_rank", False), ("dp", True)], "num_experts": 6}),
)


@pytest.mark.parametrize(("worlds", "asked"), FRONTS)
def test_the_pareto_front_equals_brute_force(
    worlds: tuple[int, ...], asked: dict[str, Anything]
) -> None:
    query = question(*worlds, pareto=True, **MOE, **asked)
    answer = optimum(query)
    everything = [(values, signed(query, scores)) for values, scores in scored(query)]

    def dominated(one: tuple[int, ...]) -> bool:
        return any(
            other != one and all(b >= a for a, b in zip(one, other, strict=True))
            for _, other in everything
        )

    front = {values for values, scores in everything if not dominated(scores)}
    assert set(configs(answer)) == front
    assert answer.count == len(front)
    assert answer.pareto
    assert [goal.value for goal in answer.objectives] == [None] * len(query.objectives)


def test_the_main_job_of_the_seed() -> None:
    """An MoE on 64 GPUs in nodes of 8, as much data parallelism as can be."""
    query = question(64, gpus_per_node=8, model_kind="moe", objectives=[("dp", True)])
    answer = optimum(query)
    assert [goal.value for goal in answer.objectives] == [64]
    assert answer.count == 8
    first = answer.solutions[0].config
    assert first["ep_size"] == 8
    assert [first[axis] for axis in HALO.axes if axis != "ep_size"] == [1] * 4
    assert answer.order == (
        EP_FIRST,
        "expert groups inside one NVLink domain first",
        "wider expert groups first",
    )
    assert [(row.config["ep_size"], row.derived["ep_scope"]) for row in answer.solutions] == [
        (8, "node"),
        (4, "node"),
        (2, "node"),
        (64, "global"),
        (32, "global"),
        (16, "global"),
        (8, "global"),
        (1, "node"),
    ]


def test_equally_good_ones_stand_in_the_stated_order() -> None:
    query = question(16, gpus_per_node=8, objectives=[("world", True)], **MOE)
    rows = optimum(query).solutions
    modes = [
        frozenset(axis.partition("_size")[0] for axis in HALO.axes if row.config[axis] > 1)
        for row in rows
    ]
    pp = {"pp", "tp", "cp", "expert_tp", "ep"}
    order = [
        {"ep"},
        {"ep", "expert_tp"},
        {"ep", "cp"},
        {"ep", "tp"},
        {"expert_tp"},
        {"tp"},
        {"cp"},
        set(),
    ]
    assert all(mode <= pp for mode in modes)
    seen = [mode for mode in dict.fromkeys(modes) if "pp" not in mode]
    assert seen == order
    for before, after in pairwise(rows):
        mode = {axis for axis in HALO.axes if before.config[axis] > 1}
        if mode != {axis for axis in HALO.axes if after.config[axis] > 1}:
            continue
        scopes = (before.derived["ep_scope"], after.derived["ep_scope"])
        assert scopes != ("global", "node")
        if scopes[0] == scopes[1]:
            assert before.derived["ep_group_size"] >= after.derived["ep_group_size"]


def test_the_same_question_gets_the_same_answer() -> None:
    asked: dict[str, Anything] = {
        "objectives": [("dp", True), ("ep", False)],
        "where": "tp*cp*etp > 1",
    }
    first = optimum(question(24, 48, **MOE, **asked))
    second = optimum(question(24, 48, **MOE, **asked))
    assert first.solutions == second.solutions
    assert first.objectives == second.objectives


def test_the_order_of_objectives_matters() -> None:
    groups = [("ep_group_size", True), ("dp", True)]
    wide = optimum(question(16, objectives=groups, **MOE))
    fast = optimum(question(16, objectives=[*reversed(groups)], where="ep > 1", **MOE))
    sharded = optimum(question(16, objectives=[("tp", True), ("dp", True)], **MOE))
    spread = optimum(question(16, objectives=[("dp", True), ("tp", True)], **MOE))
    assert [goal.value for goal in wide.objectives] == [16, 16]
    assert [goal.value for goal in fast.objectives] == [16, 16]
    assert [goal.value for goal in sharded.objectives] == [8, 2]
    assert [goal.value for goal in spread.objectives] == [16, 1]


def test_the_smallest_world_of_a_range() -> None:
    query = question(
        *range(1, 200),
        gpus_per_node=8,
        objectives=[("world", False)],
        where=["dp >= 16", "tp >= 4"],
        **MOE,
    )
    answer = optimum(query)
    assert [goal.value for goal in answer.objectives] == [64]
    assert {row.config["world_size"] for row in answer.solutions} == {64}


def test_a_limit_bounds_what_is_shown_not_what_is_counted() -> None:
    query = question(64, gpus_per_node=8, objectives=[("dp", True)], **MOE)
    whole, cut = optimum(query), optimum(query, limit=3)
    assert cut.count == whole.count == 8
    assert cut.solutions == whole.solutions[:3]
    for limit in (0, -1):
        with pytest.raises(QueryError, match="a limit is at least 1 configuration"):
            best(query, limit=limit)


def test_the_first_one_s_warnings_are_told() -> None:
    answer = optimum(question(16, objectives=[("dp", True)], **MOE))
    assert [caution.warning for caution in answer.warnings] == ["gpus-per-node-assumed"]
    piped = optimum(question(16, gpus_per_node=8, objectives=[("pp", True)], **MOE))
    assert [caution.warning for caution in piped.warnings] == ["pp-not-in-release"]
    flat = optimum(question(16, gpus_per_node=8, objectives=[("pp", False)], **MOE))
    assert flat.warnings == ()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("fsdp_widht", ConditionError, 'unknown name fsdp_widht: did you mean "fsdp_width"?'),
        ("ep_scope", QueryError, "ep_scope is not a number and cannot be an objective"),
        ("is_ep_mode", QueryError, "is_ep_mode is not a number and cannot be an objective"),
        ("use_hsdp", ConditionError, "use_hsdp is a flag, not a number"),
        ("dtype", ConditionError, "this is a label, not a number"),
        ("dp >= 4", ConditionError, "expected a number, a field or a derived quantity"),
        ("", ConditionError, "a condition must not be empty"),
    ],
)
def test_an_objective_that_is_none(text: str, error: type[ValueError], message: str) -> None:
    with pytest.raises(error) as caught:
        question(8, objectives=[(text, True)])
    assert str(caught.value).startswith(message)


def test_a_number_that_is_not_given_is_no_objective() -> None:
    for text in ("experts", "max(dp, experts)"):
        with pytest.raises(QueryError) as caught:
            question(8, objectives=[("dp", True), (text, False)], **MOE)
        assert str(caught.value) == (
            f'"{text}" asks about num_experts, which is not given; give --experts'
        )
    with pytest.raises(QueryError) as caught:
        best(question(8, objectives=[("experts_per_rank", True)], **MOE))
    assert str(caught.value) == (
        "experts_per_rank is unknown in every valid configuration: give --experts"
    )


def test_an_objective_that_is_unknown_everywhere_is_said_to_be() -> None:
    odd = Objective("experts / 2", quotient(f.num_experts, 2), maximize=True)
    query = replace(question(8, num_experts=7), objectives=(odd,))
    with pytest.raises(QueryError) as caught:
        best(query)
    assert str(caught.value) == (
        "experts / 2 is unknown in every valid configuration: all that it is made of is given, "
        "and leaves it open, as a division with a rest does"
    )
    known = replace(question(8, num_experts=8), objectives=(odd,))
    assert [goal.value for goal in optimum(known).objectives] == [4]


def test_nothing_valid_is_a_conflict_not_an_optimum() -> None:
    answer = best(question(8, 16, tp_size=3, objectives=[("dp", True)]))
    assert isinstance(answer, Conflict)
    assert answer.world == 16
    assert answer.pins == {"tp_size": 3}


def test_a_time_limit_shows_the_best_so_far() -> None:
    query = question(*range(1, 3000), objectives=[("dp", True)], **MOE)
    answer = best(query, deadline=Deadline(0.3))
    assert isinstance(answer, Undecided)
    assert not answer.optimal
    assert not answer.complete
    assert answer.reason == "the time limit of 0.3 s passed"
    assert answer.count >= len(answer.solutions)
