"""Every valid configuration in order, what refuses the others, and the timelines of pipelines."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from parsolve.constraints import PROFILES
from parsolve.constraints.profile import Config, holds
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.facts import with_facts
from parsolve.solver.memory import usage
from parsolve.solver.pipeline.planned import plan
from parsolve.solver.query import Query, build_query
from parsolve.solver.solve import best, solutions
from parsolve.solver.survey import MOST_CANDIDATES, refusals, survey

HALO = {"gpus_per_node": 8, "model_kind": "moe"}
QUESTIONS: list[tuple[str, list[int], dict[str, object], dict[str, Any]]] = [
    ("halo", [16], HALO, {"objectives": [("dp", True)]}),
    ("halo", [8, 12, 16], HALO, {"objectives": [("world", False), ("fsdp_width", True)]}),
    ("halo", [16], HALO, {"objectives": [("dp", True)], "where": ["tp <= 2", "dp >= 4"]}),
    ("megatron", [24], {"model_kind": "moe"}, {"objectives": [("dp", False)]}),
    ("accelerate", [8], {}, {"objectives": [("dp", True)], "vary": ["dp_shard_size"]}),
]


def asked(name: str, worlds: list[int], given: dict[str, object], how: dict[str, Any]) -> Query:
    return build_query(PROFILES[name], worlds, given, **how)


def of_model(**how: Any) -> Query:  # noqa: ANN401
    profile = PROFILES["halo"]
    facts = with_facts(profile, {"max_length": 4096}, "gpt-oss-20b", "h100", [16])
    return build_query(profile, [16], facts, **how)


def reached(query: Query, config: Config) -> list[Any]:
    """What a configuration reaches in each objective, where it is known."""
    profile = query.profile
    values = [profile.filled(config.values) if profile.account else {}]
    values += [profile.derive(config.values), config.as_dict(everything=True)]
    found = []
    for goal in query.objectives:
        quantity = profile.quantity_of.get(goal.text)
        name = profile.spellings.get(goal.text) if quantity is None else quantity.name
        score = next((known[name] for known in values if name in known), None)
        if score is not None:
            found.append(-score if goal.maximize else score)
    return found


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q[0]} {q[1]}")
def test_a_survey_is_the_listing_in_order(question: Any) -> None:  # noqa: ANN401
    query = asked(*question)
    found = survey(query, limit=10_000, deadline=Deadline())
    listed: Any = solutions(query)
    configs = [config.as_dict() for config in found.configs]
    assert found.count == len(configs) == listed.count
    assert all(dict(each.config) in configs for each in listed.solutions)
    assert found.complete
    assert found.certificate is not None
    assert found.certificate.claim == listed.certificate.claim
    keys = [reached(query, config) for config in found.configs]
    assert any(keys)
    assert keys == sorted(keys)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q[0]} {q[1]}")
def test_the_first_of_a_survey_are_the_best_in_their_order(question: Any) -> None:  # noqa: ANN401
    query = asked(*question)
    answer: Any = best(query)
    found = survey(query, limit=answer.count, deadline=Deadline())
    assert [config.as_dict() for config in found.configs] == [s.config for s in answer.solutions]


def test_a_bound_on_memory_holds_for_all() -> None:
    found = survey(of_model(objectives=[("memory", False)]), limit=100, deadline=Deadline())
    used = [usage(config) for config in found.configs]
    totals = [each.bytes["total"] for each in used if each is not None]
    assert found.complete
    assert totals == sorted(totals)
    listed: Any = solutions(of_model())
    assert len([*listed.solutions]) == found.count
    assert found.certificate is not None
    assert found.certificate.claim == listed.certificate.claim
    assert "were evaluated on every configuration" in found.certificate.claim
    assert all(each is not None and each.state != "over" for each in used)


@pytest.mark.parametrize("limit", [1, 3, 7, 40])
def test_a_limit_keeps_the_best_and_counts_all(limit: int) -> None:
    query = asked("generic", [16], {"model_kind": "moe"}, {"objectives": [("dp", True)]})
    every = survey(query, limit=10_000, deadline=Deadline())
    some = survey(query, limit=limit, deadline=Deadline())
    assert some.count == every.count > 40
    assert some.configs == every.configs[:limit]
    assert not some.complete


def test_what_is_not_counted_any_more_is_not_better(monkeypatch: pytest.MonkeyPatch) -> None:
    query = asked("generic", [64], {"model_kind": "moe"}, {"objectives": [("dp", True)]})
    every = survey(query, limit=10_000, deadline=Deadline())
    monkeypatch.setattr("parsolve.solver.survey.MOST_COUNTED", 100)
    some = survey(query, limit=10, deadline=Deadline())
    assert some.configs == every.configs[:10]
    assert not some.counted
    assert not some.complete
    assert 100 < some.count < every.count
    assert every.counted


def test_what_was_found_in_time_is_kept_and_not_called_complete() -> None:
    query = asked(*QUESTIONS[0])
    found = survey(query, limit=10, deadline=Deadline(0))
    assert not found.complete
    assert found.stopped == "the time limit of 0 s passed"
    with pytest.raises(TimedOut):
        refusals(query, Deadline(0))


def test_every_candidate_is_accepted_or_refused_by_its_first_rule() -> None:
    query = asked(*QUESTIONS[2])
    profile = query.profile
    expected: Counter[str] = Counter()
    accepted = 0
    for chosen in product(*(query.domain(name, 16) for name in query.free)):
        values = query.completed(16, query.free, chosen)
        violated = profile.violated(values)
        failed = [c.text for c in query.conditions if not holds(profile, c.formula, values)]
        if violated or failed:
            expected[profile.limits[violated[0]].id if violated else failed[0]] += 1
        else:
            accepted += 1
    found = refusals(query, Deadline())
    assert found.knobs == len(found.searched) == len(query.free)
    counts = {
        each.rule.rule if each.rule else each.condition: each.count for each in found.refusals
    }
    assert counts == expected
    assert found.candidates == accepted + expected.total()
    assert {"dp >= 4", "tp <= 2"} & counts.keys()


def test_the_example_of_a_rule_is_refused_by_it_and_no_simpler_one_is() -> None:
    query = asked(*QUESTIONS[0])
    profile = query.profile

    def used(config: Config) -> int:
        return sum(config[name] != profile.field_of[name].default for name in query.free)

    least: dict[str, int] = {}
    for chosen in product(*(query.domain(name, 16) for name in query.free)):
        config = Config(profile, query.completed(16, query.free, chosen))
        if violated := profile.violated(config.values):
            rule = profile.limits[violated[0]].id
            least[rule] = min(used(config), least.get(rule, 99))
    found = refusals(query, Deadline())
    for each in found.refusals:
        assert each.rule is not None
        first = profile.violated(each.config.values)[0]
        assert profile.limits[first].id == each.rule.rule
        assert used(each.config) == least[each.rule.rule]


def test_a_large_space_is_cut_to_few_knobs() -> None:
    query = asked("generic", [720_720], {"model_kind": "moe"}, {"objectives": [("dp", True)]})
    found = refusals(query, Deadline())
    assert 0 < found.candidates <= MOST_CANDIDATES
    assert found.knobs < len(found.searched)


PIPELINES: list[tuple[str, dict[str, object], tuple[Any, ...]]] = [
    ("halo", {"pp_size": 2, "assume_pp": True, "pp_microbatches": 6}, (2, 6, 1, "1f1b", None)),
    ("halo", {"pp_size": 2, "assume_pp": True, "pp_microbatches": 6, "pp_schedule": "gpipe"},
     (2, 6, 1, "gpipe", None)),
    ("generic", {"pp_size": 4, "num_microbatches": 8, "pp_schedule": "interleaved",
                 "virtual_stages": 2}, (4, 8, 2, None, 4)),
    ("megatron", {"pp_size": 4, "requested_global_batch": 32, "micro_batch": 1},
     (4, 8, 1, None, None)),
    ("megatron", {"pp_size": 4, "requested_global_batch": 32, "micro_batch": 1,
                  "virtual_stages": 2, "num_hidden_layers": 16}, (4, 8, 2, None, 4)),
    ("torchtitan", {"pp_size": 2, "micro_batch": 8}, (2, 8, 1, "1f1b", None)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "expected"), PIPELINES)
def test_a_timeline_is_that_of_the_configuration(
    name: str, given: dict[str, object], expected: tuple[Any, ...]
) -> None:
    profile = PROFILES[name]
    config = profile.config({profile.world: 16, **given})
    found = plan(config)
    assert found is not None
    assert (
        found.pp, found.microbatches, found.virtual_stages, found.schedule, found.group,
    ) == expected  # fmt: skip
    known = {**profile.derive(config.values), **profile.filled(config.values)}
    if "bubble" in known:
        assert found.simulated().bubble.of_step.per_mille == known["bubble"]
    assert found.work == sum(len(rank.items) for rank in found.simulated().ranks)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("accelerate", {}),
        ("halo", {}),
        ("megatron", {"pp_size": 4, "requested_global_batch": 31, "micro_batch": 1}),
        ("torchtitan", {"pp_size": 2, "micro_batch": 8, "pp_schedule": "DualPipeV"}),
    ],
)
def test_no_timeline_is_made_up(name: str, given: dict[str, object]) -> None:
    profile = PROFILES[name]
    assert plan(profile.config({profile.world: 16, **given})) is None
