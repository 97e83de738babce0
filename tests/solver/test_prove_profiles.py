"""Every profile's rules, axes, claims, rank groups and teeth are proved, none of them specially."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

import pytest
import z3

from parsolve.constraints import PROFILES
from parsolve.constraints.claim import Claim
from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Sizes
from parsolve.constraints.formula import Truth
from parsolve.constraints.layout import POSITION
from parsolve.constraints.profile import Profile
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove import allowlist, claims, layouts, rules, teeth
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.instances import find, is_question, smaller
from parsolve.solver.prove.lists import Lists
from parsolve.solver.prove.obligation import Finding, Obligation
from parsolve.solver.prove.repair import Repair

FAMILIES = {
    "rules": rules.obligations,
    "allowlist": allowlist.obligations,
    "claims": claims.obligations,
    "layouts": layouts.obligations,
    "teeth": teeth.obligations,
}
SLICES = {("megatron", "rules"): 10, ("megatron", "teeth"): 3, ("torchtitan", "teeth"): 2}
"""Families that take long, and into how many tests each is cut."""

MEGATRON, ACCELERATE, TORCHTITAN = (
    PROFILES[name] for name in ("megatron", "accelerate", "torchtitan")
)


def cases() -> Iterator[tuple[str, str, int]]:
    """Every family of every profile but halo, which has test modules of its own."""
    for profile in PROFILES:
        for family in FAMILIES:
            if profile != "halo":
                yield from ((profile, family, n) for n in range(SLICES.get((profile, family), 1)))


@cache
def asked(name: str, family: str) -> list[Obligation]:
    """Every statement of a family, made once: they share what they know of the profile."""
    return list(FAMILIES[family](PROFILES[name]))


@pytest.mark.parametrize(("name", "family", "part"), tuple(cases()))
def test_everything_is_proved(name: str, family: str, part: int) -> None:
    every = SLICES.get((name, family), 1)
    found = {each.name: each.decide(Deadline(120)) for each in asked(name, family)[part::every]}
    unproved = {name: f.note for name, f in found.items() if f.status != "proved"}
    assert not unproved


def decided(obligations: Iterator[Obligation], name: str) -> Finding:
    return next(each for each in obligations if each.name == name).decide(Deadline(60))


def index_of(profile: Profile, rule: str) -> int:
    return [each.id for each in profile.rules].index(rule)


def without(profile: Profile, rule: str) -> Profile:
    """The profile in which the rule refuses nothing."""
    changed = list(profile.rules)
    place = index_of(profile, rule)
    changed[place] = dataclasses.replace(changed[place], requires=Truth(value=True))
    return dataclasses.replace(profile, rules=tuple(changed))


# Sets of axes.


def test_a_rule_about_two_axes_refuses_every_set_that_has_both() -> None:
    refused = [o for o in allowlist.obligations(ACCELERATE) if "refused" in o.says]
    assert [each.name for each in refused] == ["allowlist/cp+sp", "allowlist/tp+cp+sp"]
    assert {each.decide(Deadline(60)).note for each in refused} == {"by cp-with-sp"}


def test_a_set_that_no_rule_about_axes_refuses_is_shown() -> None:
    weak = without(ACCELERATE, "cp-with-sp")
    finding = decided(allowlist.obligations(weak), "allowlist/cp+sp")
    assert finding.status == "refuted"
    values = weak.config(finding.counterexample or {}).values
    sizes = dict(zip(weak.index_of, values, strict=True))
    assert sizes["cp_size"] > 1
    assert sizes["sp_size"] > 1


def test_an_axis_that_is_not_given_is_not_active() -> None:
    """Megatron's etp is tp where it is not given, and then no axis of its own."""
    finding = decided(allowlist.obligations(MEGATRON), "allowlist/tp")
    assert finding.status == "proved"
    assert MEGATRON.config(finding.witness or {})["expert_tp_size"] is None


# Rules that others imply.


@pytest.mark.parametrize("profile", [MEGATRON, ACCELERATE], ids=lambda profile: profile.name)
def test_what_is_implied_must_be_recorded(profile: Profile) -> None:
    name = next(iter(profile.implied))
    silent = dataclasses.replace(profile, implied={})
    finding = decided(rules.obligations(silent), f"rules/{name}")
    assert finding.status == "refuted"
    assert set(profile.implied[name]) == set(
        finding.note.partition("implied by ")[2].partition(";")[0].split(", ")
    )


# Rank groups.


def test_a_wrong_order_of_ranks_is_refuted_by_a_rank() -> None:
    first, *others = MEGATRON.layout.groupings
    twisted = dataclasses.replace(first, member=first.member + POSITION)
    layout = dataclasses.replace(MEGATRON.layout, groupings=(twisted, *others))
    doctored = dataclasses.replace(MEGATRON, layout=layout)
    finding = decided(layouts.obligations(doctored), "layouts/tp/partition")
    assert finding.status == "refuted"
    assert finding.counterexample is not None


def test_without_the_rule_that_grids_tile_nothing_is_proved_of_them() -> None:
    weak = without(MEGATRON, "world-not-divisible-by-expert-parallel")
    finding = decided(layouts.obligations(weak), "layouts/ep/partition")
    assert finding.status != "proved"


# Claims.


def test_what_a_docstring_says_wrongly_may_not_be_called_true() -> None:
    wrong = next(claim for claim in MEGATRON.claims if claim.truth)
    doctored = dataclasses.replace(wrong, truth="", fails_at={})
    profile = dataclasses.replace(MEGATRON, claims=(doctored,))
    finding = decided(claims.obligations(profile), f"claims/{wrong.id}")
    assert finding.status == "refuted"
    assert finding.counterexample is not None


@pytest.mark.parametrize("claim", MEGATRON.claims, ids=lambda claim: claim.id)
def test_a_claim_of_megatron_is_one_sentence_with_a_source(claim: Claim) -> None:
    assert claim.says.endswith(".")
    assert claim.source.file.endswith(".py")
    assert claim.source.lines
    assert not claim.truth or claim.truth in {other.id for other in MEGATRON.claims}


# Lists whose entries decide more than Z3 can say.


def lists_of(profile: Profile) -> Lists:
    return Catalogue(profile).lists


def test_only_lists_of_which_more_is_read_are_looked_for() -> None:
    assert set(lists_of(PROFILES["generic"]).features) == {"num_key_value_heads"}
    assert not lists_of(PROFILES["halo"]).features
    assert set(lists_of(MEGATRON).features) == {
        "hierarchical_cp_sizes",
        "pipeline_layout",
        "recompute_modules",
    }


def test_known_lists_are_real_and_rules_tell_them_apart() -> None:
    lists = lists_of(MEGATRON)
    for name, features in lists.features.items():
        field = MEGATRON.field_of[name]
        assert isinstance(field, Sizes)
        told = set()
        for value in lists.near(name):
            assert field.parse(value) == value
            told.add(tuple(field.features(value)[feature] for feature in features))
        assert len(told) == len(lists.near(name)) > 10


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pipeline_layout", "Ett|tL"),
        ("recompute_modules", ["moe"]),
        ("hierarchical_cp_sizes", [2, 2]),
        ("pipeline_layout", None),
    ],
)
def test_a_list_is_known_to_z3_as_it_is_read(name: str, value: object) -> None:
    """What is assumed of every list holds of a real one, and a model of it is that list again."""
    values = MEGATRON.config({"world_size": 8, name: value}).values
    catalogue = Catalogue(MEGATRON)
    solver = z3.Solver()
    solver.add(*catalogue.lists.axioms, *catalogue.exactly(values))
    assert solver.check() == z3.sat
    place = MEGATRON.index_of[name]
    field, found = MEGATRON.field_of[name], catalogue.values(solver.model())[place]
    assert isinstance(field, Sizes)
    read = catalogue.lists.features[name]
    before, after = field.features(values[place]), field.features(found)
    assert [after[feature] for feature in read] == [before[feature] for feature in read]


def test_an_empty_list_has_no_features() -> None:
    catalogue = Catalogue(MEGATRON)
    solver = z3.Solver()
    solver.add(*catalogue.inputs.axioms, z3.Int("pipeline_layout.length") == 0)
    solver.add(z3.Int("pipeline_layout.decoders") > 0)
    assert solver.check() == z3.unsat


def test_a_layout_is_found_for_what_rules_ask_of_it() -> None:
    catalogue = Catalogue(MEGATRON)
    solver = z3.SolverFor("QF_UFLIA")
    solver.add(*catalogue.inputs.axioms, *catalogue.meaning, *catalogue.encoder.arithmetic.laws())
    wanted = (z3.Int("pipeline_layout.length") == 2, catalogue.accepted)
    found = find(catalogue, solver, wanted, MEGATRON.accepts, Deadline(30)).values
    assert found is not None
    assert len(found[MEGATRON.index_of["pipeline_layout"]]) == 2


def test_that_no_known_list_fits_does_not_make_it_impossible() -> None:
    catalogue = Catalogue(MEGATRON)
    solver = z3.SolverFor("QF_UFLIA")
    solver.add(*catalogue.inputs.axioms)
    many = z3.Int("pipeline_layout.decoders") == 1000
    found = find(catalogue, solver, (many,), lambda _: False, Deadline(30))
    assert found.values is None
    assert not found.impossible


@pytest.mark.parametrize("rule", ["layout-mtp-not-all", "mla-recompute-without-mla"])
def test_an_example_with_texts_becomes_smaller(rule: str) -> None:
    index = index_of(MEGATRON, rule)
    start = MEGATRON.config(MEGATRON.rules[index].example.rejects).values

    def wanted(values: Values) -> bool:
        return is_question(MEGATRON, values) and MEGATRON.violated(values) == [index]

    small = smaller(MEGATRON, start, wanted)
    assert wanted(small)
    assert small[MEGATRON.index_of["world_size"]] < 8


# Looking near what is known.


def test_a_configuration_is_repaired_until_it_breaks_one_rule_alone() -> None:
    """The example also breaks a rule that only another optimizer mends, in two more fields."""
    index = index_of(MEGATRON, "param-gather-with-step-without-distributed-optimizer")
    start = MEGATRON.config(MEGATRON.rules[index].example.rejects).values
    assert MEGATRON.violated(start) != [index]

    def wanted(values: Values) -> bool:
        return is_question(MEGATRON, values) and index in MEGATRON.violated(values)

    others = set(range(len(MEGATRON.rules))) - {index}
    found = Repair(MEGATRON, lists_of(MEGATRON)).found([start], wanted, others)
    assert found is not None
    assert MEGATRON.violated(found) == [index]


def test_what_cannot_be_repaired_is_not_found() -> None:
    start = MEGATRON.config({"world_size": 8}).values
    repair = Repair(MEGATRON, lists_of(MEGATRON))
    assert repair.found([start], lambda _: False, {0}) is None


def test_drawn_configurations_are_always_the_same_ones() -> None:
    repair = Repair(TORCHTITAN, lists_of(TORCHTITAN))
    start = TORCHTITAN.config({"world_size": 8}).values
    names = frozenset({"pp_size", "num_hidden_layers"})
    first, second = (list(repair.drawn([start], names))[:50] for _ in range(2))
    assert first == second
    assert len(set(first)) > 10
    assert list(repair.drawn([start], frozenset())) == []
