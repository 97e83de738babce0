"""A conflict is a proof, and a smallest one; a relaxation is an answer, and a nearest one.

The oracle is brute force with the compiled rules: every assignment of the widened domains breaks
some parts of the question; a conflict is a set of parts of which every assignment breaks one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, islice, product
from typing import Any as Anything

import pytest
import z3

from parsolve.constraints.profile import Config, holds
from parsolve.solver import explain as explaining
from parsolve.solver.answer import Conflict, Repair, Undecided, to_json
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.explain import _Problem, explain
from parsolve.solver.query import Query
from parsolve.solver.relax import (
    MOST_RELAXED,
    MOST_VALUES,
    NEAR_WORLDS,
    held,
    relaxations,
    releasable,
    widened,
)
from parsolve.solver.solve import best, solutions
from tests.solver.questions import HALO, question

Asked = dict[str, Anything]
MOE: Asked = {"model_kind": "moe", "assume_pp": True}

QUESTIONS: dict[str, tuple[int, Asked]] = {
    "an axis that divides nothing": (8, {"tp_size": 3}),
    "two axes that do not go together": (8, {"tp_size": 2, "cp_size": 2}),
    "three axes": (8, {"tp_size": 2, "cp_size": 2, "pp_size": 2}),
    "a condition alone": (8, {"where": "tp > 8"}),
    "a condition that nothing satisfies": (8, {"where": "tp != tp"}),
    "a condition that no rule allows": (8, {"where": "tp*cp > 8"}),
    "two conditions": (8, {"where": ["tp > 2", "cp > 2"]}),
    "conditions that exclude each other": (8, {"where": ["dp > 4", "dp < 4"]}),
    "a pin and a condition": (8, {"tp_size": 4, "where": "dp == 8"}),
    "a condition on a number that divides nothing": (8, {"where": "tp == 5"}),
    "the race of groups in one domain": (8, {**MOE, "ep_size": 4, "expert_tp_size": 1}),
    "the same by conditions": (8, {**MOE, "where": ["ep == 4", "etp == 1"]}),
    "experts that do not divide": (8, {"num_experts": 6, "ep_size": 8}),
    "experts in a dense model": (8, {"model_kind": "dense", "where": "ep > 1", "vary": ["ep"]}),
    "a size of 0": (8, {**MOE, "ep_size": 0}),
    "a negative size": (8, {"tp_size": -3}),
    "the release gate": (8, {"where": "pp > 1"}),
    "a stage that is no whole domain": (8, {"pp_size": 2, "assume_pp": True}),
    "a trainer without pipeline": (
        8,
        {"pp_size": 2, "assume_pp": True, "trainer": "embedding", "gpus_per_node": 4},
    ),
    "hsdp with tp": (8, {"use_hsdp": True, "tp_size": 2}),
    "hsdp and a condition": (8, {"use_hsdp": True, "where": "is_ep_mode", "vary": ["ep"]}),
    "a node that does not tile": (12, {"gpus_per_node": 8}),
    "a domain that does not tile": (8, {"gpus_per_node": 4, "nvlink_domain_size": 6}),
    "a domain and an axis": (8, {"gpus_per_node": 2, "nvlink_domain_size": 2, "tp_size": 4}),
    "an illegal scope": (8, {**MOE, "ep_scope": "nonsense", "tp_size": 1, "cp_size": 1}),
    "a scope and a condition": (
        8,
        {**MOE, "ep_scope": "node", "cp_size": 1, "pp_size": 1, "where": "ep_scope == 'global'"},
    ),
    "a length that is too long": (
        8,
        {
            "ep_size": 8,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "hidden_size": 8192,
            "ep_rows_per_device": 1,
            "max_length": 32768,
            "cp_size": 1,
        },
    ),
    "an optional number that matters not": (8, {"tp_size": 3, "max_length": 4096}),
    "a batch that does not divide": (
        8,
        {
            "pp_size": 2,
            "gpus_per_node": 4,
            "assume_pp": True,
            "trainer": "sft",
            "max_length": 64,
            "per_device_train_batch_size": 3,
        },
    ),
    "a scope that no auto comes to": (8, {**MOE, "where": ["ep_scope == 'global'", "ep*etp == 1"]}),
    "a switch held at its default": (8, {"where": "use_hsdp and tp > 1"}),
    "a switch that is only asked for": (16, {"gpus_per_node": 8, "where": "use_hsdp"}),
    "a pin or a switch that is held": (8, {"tp_size": 1, "where": "use_hsdp and tp > 1"}),
    "a switch held and a pin": (8, {"tp_size": 2, "where": "use_hsdp"}),
    "a choice held at its default": (8, {"where": "trainer == 'sft'", "cp_size": 1}),
    "two held at their defaults": (8, {"where": "use_hsdp and dtype == 'fp16'", "pp_size": 1}),
    "held, but no help": (8, {"where": "use_hsdp and tp*cp > 8", "pp_size": 1}),
    "a switch that is pinned where it stands": (
        8,
        {"where": "use_hsdp", "use_hsdp": False, "tp_size": 1},
    ),
    "a switch that is varied": (8, {"where": "use_hsdp and tp > 1", "vary": ["use_hsdp"]}),
    "the same condition twice": (8, {"where": ["tp > 8", "tp > 8"]}),
    "a quantity made of what is not given": (8, {**MOE, "where": "experts_per_rank >= 0"}),
    "a quantity of unknown rows": (8, {"max_length": 4096, "where": "tokens_per_rank >= 0"}),
    "every near world is out of reach": (8, {"gpus_per_node": 100, "nvlink_domain_size": 100}),
    "only a larger world": (1, {"tp_size": 2}),
    "a domain of an odd size": (20, {"tp_size": 2, "gpus_per_node": 5}),
    "quantized": (8, {"quantized": True, "tp_size": 2, "fsdp_defer_grad_sync": True}),
    "an auto node that does not tile": (12, {}),
    "a condition on what is unknown there": (12, {"where": "nodes >= 1"}),
    "a pin at its default": (8, {"tp_size": 3, "use_hsdp": False, "cp_size": 1}),
    "a fact and a knob": (8, {"quantized": True, "init_from_scratch": True}),
    "facts that nobody can change": (
        8,
        {"natively_quantized_experts": True, "model_kind": "moe", "pp_size": 1, "cp_size": 1},
    ),
}


@dataclass(frozen=True)
class Brute:
    """What every assignment of the widened domains breaks."""

    parts: tuple[tuple[str, object], ...]
    broken: frozenset[frozenset[int]]

    def conflicting(self, chosen: frozenset[int]) -> bool:
        """Whether every assignment breaks one of the chosen parts."""
        return all(chosen & broken for broken in self.broken)

    def smallest(self) -> list[frozenset[int]]:
        """Every conflicting set of the smallest size."""
        sizes = range(1, len(self.parts) + 1)
        for size in sizes:
            found = [
                frozenset(chosen)
                for chosen in combinations(range(len(self.parts)), size)
                if self.conflicting(frozenset(chosen))
            ]
            if found:
                return found
        return []


def asked(name: str) -> Query:
    world, given = QUESTIONS[name]
    return question(world, **given)


@cache
def conflict(name: str) -> Conflict:
    answer = solutions(asked(name))
    assert isinstance(answer, Conflict), answer
    return answer


@cache
def brute(name: str) -> Brute:
    query, world = asked(name), asked(name).worlds[-1]
    config = Config(HALO, query.completed(world, (), ()))
    released = [pin for pin in query.pins if releasable(config, pin)]
    fixed = (*released, *held(query))
    names = (*query.free, *fixed)
    parts: list[tuple[str, object]] = [("pin", pin) for pin in released]
    parts += [("held", name) for name in held(query)]
    parts += [("condition", condition.text) for condition in query.conditions]
    rules = len(parts)
    parts += [("rule", rule.id) for rule in HALO.rules]
    broken: set[frozenset[int]] = set()
    for chosen in product(*(widened(query, config, name) for name in names)):
        one = config.replaced(dict(zip(names, chosen, strict=True)))
        if not all(holds(HALO, spelling, one.values) for spelling in query.canonical):
            continue
        breaks = {rules + index for index in HALO._judge(one.values)[0]}
        breaks |= {i for i, name in enumerate(fixed) if one[name] != config[name]}
        for index, condition in enumerate(query.conditions, len(fixed)):
            if not holds(HALO, condition.formula, one.values):
                breaks.add(index)
        broken.add(frozenset(breaks))
    minimal = {one for one in broken if not any(other < one for other in broken)}
    return Brute(tuple(parts), frozenset(minimal))


def parts_of(answer: Conflict, oracle: Brute) -> frozenset[int]:
    """Positions of the reported parts."""
    said: list[tuple[str, object]] = [("rule", rule.rule) for rule in answer.rules]
    said += [("condition", text) for text in answer.conditions]
    said += [("pin", name) for name in answer.pins]
    said += [("held", name) for name in answer.held]
    return frozenset(oracle.parts.index(part) for part in said)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_conflict_is_a_proof_of_which_no_part_can_be_spared(name: str) -> None:
    oracle, answer = brute(name), conflict(name)
    core = parts_of(answer, oracle)
    assert oracle.conflicting(core)
    for part in core:
        assert not oracle.conflicting(core - {part})
    kinds = (answer.rules, answer.conditions, answer.pins, answer.held)
    assert len(core) == sum(map(len, kinds))
    assert answer.world == QUESTIONS[name][0]
    assert answer.worlds == 1
    for pin, value in answer.pins.items():
        assert asked(name).pins[pin] == value
    for unset, value in answer.held.items():
        assert unset not in asked(name).pins
        assert HALO.field_of[unset].default == value


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_conflict_is_smallest_and_the_one_of_the_earliest_parts(name: str) -> None:
    """Of equally small ones, the user's own words come first, and then the framework's order."""
    oracle, answer = brute(name), conflict(name)
    assert answer.smallest
    relevant = {part for broken in oracle.broken for part in broken}
    assert parts_of(answer, oracle) <= relevant
    core = parts_of(answer, oracle)
    for size in range(1, len(core)):
        for chosen in combinations(sorted(relevant), size):
            assert not oracle.conflicting(frozenset(chosen))
    equal = [
        frozenset(chosen)
        for chosen in combinations(sorted(relevant), len(core))
        if oracle.conflicting(frozenset(chosen))
    ]
    assert core == min(equal, key=sorted)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_question_gets_the_same_bytes(name: str) -> None:
    again = solutions(asked(name))
    assert to_json(again) == to_json(conflict(name))


def test_the_best_of_nothing_is_the_same_conflict() -> None:
    query = question(8, objectives=[("dp", True)], tp_size=3)
    assert to_json(best(query)) == to_json(conflict("an axis that divides nothing"))


@pytest.mark.parametrize("name", QUESTIONS)
def test_rules_of_a_conflict_are_told_in_words(name: str) -> None:
    index = {rule.id: position for position, rule in enumerate(HALO.rules)}
    query = asked(name)
    values = query.completed(query.worlds[-1], (), ())
    for rule in conflict(name).rules:
        position = index[rule.rule]
        assert rule.because == HALO.says(position)
        assert (rule.reason, rule.remedy) == HALO.prose(position, values)
        assert rule.stage == HALO.rules[position].stage
        assert rule.reason
        assert rule.remedy
        assert rule.source == str(HALO.rules[position].source)


def test_a_variant_of_a_rule_tells_what_the_question_s_own_values_break() -> None:
    """TP and CP together: the reason speaks of the two, not of supported sets at large."""
    (told,) = conflict("two axes that do not go together").rules
    rule = next(rule for rule in HALO.rules if rule.id == told.rule == "axis-set-unsupported")
    assert told.reason != rule.reason
    assert (told.reason, told.remedy) in [(v.reason, v.remedy) for v in rule.variants]


def test_the_user_s_own_words_come_before_the_framework_s() -> None:
    """Each is a conflict of so few parts in several ways; the earliest parts are told."""
    both = conflict("a switch held at its default")
    assert (both.pins, both.held, both.conditions, both.rules) == (
        {},
        {"use_hsdp": False},
        ("use_hsdp and tp > 1",),
        (),
    )
    either = conflict("a pin or a switch that is held")
    assert (either.pins, either.held) == ({"tp_size": 1}, {})
    pinned = conflict("a switch that is pinned where it stands")
    assert (pinned.held, pinned.conditions) == ({}, ("use_hsdp",))
    first = conflict("an auto node that does not tile").rules
    assert [rule.rule for rule in first] == ["world-not-multiple-of-node"]


def test_what_is_held_is_what_a_condition_names_and_nobody_set() -> None:
    both = "use_hsdp and dtype == 'fp16' and tp > 1"
    assert held(question(8, where=both)) == ("use_hsdp", "dtype")
    assert held(question(8, where=both, dtype="bf16")) == ("use_hsdp",)
    assert held(question(8, where=both, vary=["use_hsdp"])) == ("dtype",)
    assert held(question(8, where="requires_rdma or is_hsdp")) == ()
    assert held(question(8, where="tp > 1 and gpus_per_node == 8")) == ()
    assert held(question(8, use_hsdp=True)) == ()


def test_warnings_of_the_question_are_told_with_its_conflict() -> None:
    for name in QUESTIONS:
        query = asked(name)
        values = query.completed(query.worlds[-1], (), ())
        told = [caution.warning for caution in conflict(name).warnings]
        assumed = [f"{offer.otherwise}-assumed" for offer in query.assumed]
        assert told == [*assumed, *(HALO.warnings[index].id for index in HALO.warned(values))]
        assert ("pp-not-in-release" in told) == (query.pins.get("pp_size", 1) > 1)
        assert ("gpus-per-node-assumed" in told) == ("gpus_per_node" not in query.pins)
        assert "dense-assumed" not in told or "model_kind" not in QUESTIONS[name][1]
    assert conflict("an axis that divides nothing").warnings[0].warning == "dense-assumed"


# Relaxations.


def given_up(query: Query, one: Config) -> tuple[frozenset[str], frozenset[str]]:
    """Pins that a configuration does not keep and conditions that do not hold at it."""
    pins = frozenset(name for name, value in query.pins.items() if one[name] != value)
    texts = frozenset(c.text for c in query.conditions if not holds(HALO, c.formula, one.values))
    return pins, texts


def knobs(query: Query) -> tuple[str, ...]:
    """Pins of knobs, and what is held at its default, that a relaxation may change."""
    config = Config(HALO, query.completed(query.worlds[-1], (), ()))
    pins = tuple(
        pin
        for pin in query.pins
        if HALO.field_of[pin].role != "cluster" and releasable(config, pin)
    )
    return (*pins, *held(query))


def cluster() -> tuple[str, ...]:
    """Numbers of the cluster, which change where no knob and no condition helps."""
    return tuple(
        field.name
        for field in HALO.fields
        if field.role == "cluster" and field.flag and field.name not in {HALO.world, "gpu_memory"}
    )


def losses(query: Query, released: tuple[str, ...]) -> set[tuple[frozenset[str], frozenset[str]]]:
    """What accepted configurations of the widened domains give up, by brute force."""
    config = Config(HALO, query.completed(query.worlds[-1], (), ()))
    names = tuple(dict.fromkeys((*query.free, *released)))
    found = set()
    for chosen in product(*(widened(query, config, name) for name in names)):
        one = config.replaced(dict(zip(names, chosen, strict=True)))
        if one.accepted() and all(holds(HALO, c, one.values) for c in query.canonical):
            changed = frozenset(name for name in released if one[name] != config[name])
            found.add((changed, given_up(query, one)[1]))
    return found


def near_worlds(query: Query) -> list[int]:
    """The nearest smaller and larger world at which anything is valid, by brute force."""
    if query.conditions or len(query.worlds) > 1:
        return []
    world = query.worlds[-1]
    found: list[int] = []
    for step in (-1, 1):
        others = (world + step * n for n in range(1, NEAR_WORLDS + 1))
        found += islice((w for w in others if w >= 1 and valid_at(query, w)), 1)
    return found


def valid_at(query: Query, world: int) -> bool:
    every = product(*(query.domain(name, world) for name in query.free))
    completions = (query.completed(world, query.free, chosen) for chosen in every)
    return any(
        HALO.accepts(values) and all(holds(HALO, c, values) for c in query.canonical)
        for values in completions
    )


def said_by(repair: Repair) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(repair.change), frozenset(repair.drop or ())


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_relaxation_is_accepted_and_gives_up_exactly_what_it_says(name: str) -> None:
    query = asked(name)
    for repair in conflict(name).repairs:
        one = HALO.config(repair.config)
        assert one.accepted()
        for field, value in repair.change.items():
            assert one[field] == value
            before = Config(HALO, query.completed(query.worlds[-1], (), ()))[field]
            assert value != before
        pins, texts = given_up(query, one)
        assert pins == set(repair.change) & set(query.pins)
        assert texts == set(repair.drop or ())
        fixed = set(HALO.field_of) - set(query.free) - set(repair.change)
        base = Config(HALO, query.completed(query.worlds[-1], (), ()))
        assert all(one[field] == base[field] for field in fixed)


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_smaller_relaxation_exists_and_none_is_missing(name: str) -> None:
    query, answer = asked(name), conflict(name)
    moved = [repair for repair in answer.repairs if HALO.world in repair.change]
    nearby = answer.repairs[: len(answer.repairs) - len(moved)]
    assert not any(HALO.world in repair.change for repair in nearby)  # worlds come last
    said = [said_by(repair) for repair in nearby]
    assert len(said) == len(set(said))
    found = losses(query, knobs(query))
    if not any(size_of(loss) <= MOST_RELAXED for loss in found):
        found = {loss for loss in losses(query, cluster()) if not loss[1]}
    fewest = min(map(size_of, found), default=99)
    smallest = {loss for loss in found if size_of(loss) == fewest <= MOST_RELAXED}
    assert set(said) <= smallest
    assert len(said) == min(len(smallest), explaining.SHOWN_RELAXATIONS)
    worlds = near_worlds(query)[: explaining.SHOWN_RELAXATIONS - len(said)]
    assert [repair.change for repair in moved] == [{HALO.world: world} for world in worlds]
    assert all(repair.drop is None for repair in moved)


def size_of(loss: tuple[frozenset[str], frozenset[str]]) -> int:
    return len(loss[0]) + len(loss[1])


def relaxed(name: str) -> list[tuple[Mapping[str, object], tuple[str, ...]]]:
    return [(repair.change, repair.drop or ()) for repair in conflict(name).repairs]


def test_relaxations_keep_values_near() -> None:
    assert relaxed("an axis that divides nothing") == [
        ({"tp_size": 4}, ()),
        ({"world_size": 6}, ()),
    ]
    assert relaxed("two axes that do not go together") == [
        ({"tp_size": 1}, ()),
        ({"cp_size": 1}, ()),
    ]
    assert relaxed("a condition that no rule allows") == [({}, ("tp*cp > 8",))]
    assert relaxed("a pin and a condition") == [({"tp_size": 1}, ()), ({}, ("dp == 8",))]
    assert relaxed("a node that does not tile") == [
        ({"gpus_per_node": 6}, ()),
        ({"world_size": 8}, ()),
        ({"world_size": 16}, ()),
    ]
    assert relaxed("an optional number that matters not") == [
        ({"tp_size": 4}, ()),
        ({"world_size": 6}, ()),
    ]


def test_what_is_held_at_its_default_may_be_set() -> None:
    assert relaxed("a switch that is only asked for") == [
        ({"use_hsdp": True}, ()),
        ({}, ("use_hsdp",)),
    ]
    assert relaxed("a choice held at its default") == [
        ({"trainer": "sft"}, ()),
        ({}, ("trainer == 'sft'",)),
    ]
    assert relaxed("a switch held at its default") == [({}, ("use_hsdp and tp > 1",))]


def test_a_condition_given_twice_is_given_up_once() -> None:
    assert relaxed("the same condition twice") == [({}, ("tp > 8",))]


def test_an_unset_number_is_a_value_that_a_relaxation_may_give() -> None:
    assert relaxed("a length that is too long") == [
        ({"ep_size": 1}, ()),
        ({"max_length": None}, ()),
        ({"cp_size": 2}, ()),
    ]
    changed = conflict("a length that is too long").repairs[1]
    assert "max_length" not in changed.config
    assert '"max_length": null' in to_json(changed)


def test_the_cluster_is_changed_where_nothing_said_helps() -> None:
    """On 12 GPUs, nodes of 8 that nobody stated: state nodes of another size."""
    answer = conflict("an auto node that does not tile")
    assert answer.pins == {}
    assert [rule.rule for rule in answer.rules] == ["world-not-multiple-of-node"]
    assert [repair.change for repair in answer.repairs] == [
        {"gpus_per_node": 6},
        {"world_size": 8},
        {"world_size": 16},
    ]
    assert all(repair.drop is None for repair in answer.repairs)


def test_another_world_is_near_and_one_that_can_be_asked_about() -> None:
    """At most 64 GPUs away, within the sizes that a cluster may have."""
    assert relaxed("every near world is out of reach") == [({"gpus_per_node": 8}, ())]
    assert relaxed("only a larger world") == [({"tp_size": 1}, ()), ({"world_size": 2}, ())]
    largest = solutions(question(10**9, gpus_per_node=7))
    assert isinstance(largest, Conflict)
    assert [repair.change for repair in largest.repairs] == [
        {"gpus_per_node": 8},
        {"world_size": 10**9 - 6},  # 10**9 + 1 would do as well, were it not too large
    ]
    for edge, offered in ((100 - NEAR_WORLDS, [100]), (99 - NEAR_WORLDS, [])):
        answer = solutions(question(edge, gpus_per_node=100, nvlink_domain_size=100))
        assert isinstance(answer, Conflict)
        worlds = [r.change[HALO.world] for r in answer.repairs if HALO.world in r.change]
        assert worlds == offered


def test_no_other_world_is_offered_under_a_condition_or_for_several_worlds() -> None:
    for query in (
        question(12, where="tp >= 1"),
        question(12, 20),
    ):
        answer = solutions(query)
        assert isinstance(answer, Conflict)
        assert answer.repairs
        assert not any(HALO.world in repair.change for repair in answer.repairs)


def test_facts_that_were_told_are_never_relaxed() -> None:
    """A fact that a condition speaks of, and that nobody told, may be told."""
    for name in QUESTIONS:
        for repair in conflict(name).repairs:
            for field in repair.change:
                role = HALO.field_of[field].role
                assert role in {"knob", "cluster"} or field in held(asked(name))


def test_facts_have_no_relaxation() -> None:
    answer = conflict("facts that nobody can change")
    assert [rule.rule for rule in answer.rules] == ["ep-natively-quantized-experts"]
    assert answer.pins == {}
    assert answer.repairs == ()


def test_of_a_fact_and_a_knob_the_knob_is_relaxed() -> None:
    answer = conflict("a fact and a knob")
    assert [rule.rule for rule in answer.rules] == ["init-from-scratch-quantized"]
    assert answer.pins == {"init_from_scratch": True}
    assert relaxed("a fact and a knob") == [({"init_from_scratch": False}, ())]


def test_several_worlds_are_explained_at_the_last_and_relaxed_at_any() -> None:
    answer = solutions(question(6, 9, 8, tp_size=5))
    assert isinstance(answer, Conflict)
    assert answer.world == 8
    assert answer.worlds == 3
    assert answer.pins == {"tp_size": 5}
    assert [repair.change for repair in answer.repairs] == [{"tp_size": 6}]
    assert answer.repairs[0].config["world_size"] == 6


# Where Z3 or the time gives out.


def problem(name: str, seconds: float | None = None) -> _Problem:
    query = asked(name)
    return _Problem(query, query.worlds[-1], Deadline(seconds))


def test_a_question_with_an_answer_has_no_conflict() -> None:
    query = question(8)
    assert _Problem(query, 8, Deadline()).smallest_core() == (None, False)
    answer = explain(query, Deadline())
    assert isinstance(answer, Undecided)
    assert not answer.complete


def test_without_rounds_the_conflict_is_shrunk_and_not_called_smallest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explaining, "MOST_ROUNDS", 0)
    for name in QUESTIONS:
        answer = explain(asked(name), Deadline())
        assert isinstance(answer, Conflict)
        assert not answer.smallest
        oracle = brute(name)
        core = parts_of(answer, oracle)
        assert oracle.conflicting(core)
        assert not any(oracle.conflicting(core - {part}) for part in core)


def test_z3_that_does_not_decide_leaves_the_conflict_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(z3.Solver, "check", lambda *_: z3.unknown)
        answer = explain(asked("three axes"), Deadline())
    assert isinstance(answer, Undecided)
    assert answer.reason == ("nothing valid was found, but Z3 did not decide which parts conflict")
    assert answer.searched.startswith("tp_size, cp_size, pp_size over the divisors of 8")


def test_time_runs_out_in_a_conflict_as_anywhere() -> None:
    with pytest.raises(TimedOut):
        problem("three axes", 0).smallest_core()
    with pytest.raises(TimedOut):
        list(relaxations(asked("three axes"), Deadline(0)))
    assert problem("three axes", 1000).smallest_core()[1]


def test_what_is_searched_names_the_free_sizes() -> None:
    assert conflict("an axis that divides nothing").searched == (
        "pp_size, cp_size, tp_size over the divisors of 8 and every number that the question "
        "names; one spelling of each configuration"
    )
    fixed: Asked = {**dict.fromkeys(HALO.axes, 1), "where": "dp > 8"}
    answer = solutions(question(8, **fixed))
    assert isinstance(answer, Conflict)
    assert answer.conditions == ("dp > 8",)
    many = solutions(question(720720, cp_size=17))
    assert isinstance(many, Conflict)
    assert many.searched.startswith(
        "pp_size, tp_size, cp_size over 48 of the 240 divisors of 720720 and every number that "
    )


def test_of_many_values_a_conflict_considers_some_small_and_large_ones() -> None:
    query = question(720720, cp_size=17, where="tp > 1000 and cp != 1001")
    config = Config(HALO, query.completed(720720, (), ()))
    every = query.domain("tp_size", 720720)
    assert len(every) == 240
    assert widened(question(720, cp_size=7), config.replaced({"world_size": 720}), "tp_size") == (
        query.domain("tp_size", 720)
    )
    for name, beside in (("tp_size", [999, 1000, 1001]), ("cp_size", [17, 1000, 1001, 1002])):
        values = widened(query, config, name)
        thinned = [value for value in values if value in every and value not in beside]
        assert set(values) == {*thinned, *beside}
        assert MOST_VALUES - 3 <= len(thinned) <= MOST_VALUES
        assert thinned[:20] == list(every[:20])
        assert thinned[-1] == every[-1] == 720720
        assert thinned == sorted(thinned)
