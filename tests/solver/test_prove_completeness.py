"""The catalogue equals the imperative reference for all inputs, and a mistake in either shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
import z3

from parsolve.cli.app import EXAMPLES
from parsolve.constraints.formula import Named, Truth
from parsolve.constraints.profile import Profile
from parsolve.reference import halo as reference
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove import completeness, teeth
from parsolve.solver.prove.completeness import Comparison
from parsolve.solver.prove.mutants import program_mutants, rule_mutants
from parsolve.solver.prove.obligation import Finding, Obligation
from parsolve.solver.prove.program import Program
from parsolve.solver.prove.run import decided
from parsolve.solver.prove.validator import Validator, loaded
from tests.cli.run import cli
from tests.solver.questions import HALO

DERIVED = {field.name for field in dataclasses.fields(reference.Derived)}
IDS = [rule.id for rule in HALO.rules]


@cache
def found() -> dict[str, Any]:
    """Every proof about the unchanged catalogue, asked for as `parsolve prove --help` shows."""
    done = cli(*EXAMPLES["prove"].split()[1:], "--format", "json")
    assert done.code == 0
    return {proof["name"]: proof for proof in done.data["obligations"]}


def test_the_catalogue_is_complete_and_sound_for_every_cluster() -> None:
    assert {proof["status"] for proof in found().values()} == {"proved"}
    assert {proof["scope"] for proof in found().values()} == {"unbounded"}


def test_every_rule_every_derived_value_crashes_and_acceptance_are_obligations() -> None:
    names = {name.partition("/")[2] for name in found()}
    assert names == {*IDS, *DERIVED, "only-refuses", "accepts"}


def test_the_proofs_rest_on_satisfiable_theories() -> None:
    """Nothing is proved from contradictory assumptions: the reference accepts something."""
    comparison = Comparison(HALO, Validator(loaded(HALO.reference), HALO))
    values = HALO.config({"world_size": 8, "gpus_per_node": 8, "ep_size": 8}).values
    solver = z3.Solver()
    solver.add(*comparison.prover.theory, *comparison.returned.theory)
    arithmetic = comparison.catalogue.encoder.arithmetic
    solver.add(*arithmetic.laws(chained=True), *arithmetic.definitions())
    solver.add(*comparison.catalogue.inputs.exactly(values))
    assert solver.check() == z3.sat


def without(identity: str) -> Profile:
    rules = tuple(
        dataclasses.replace(rule, requires=Truth(value=True)) if rule.id == identity else rule
        for rule in HALO.rules
    )
    return dataclasses.replace(HALO, rules=rules)


def decide(profile: Profile, name: str) -> Finding:
    every: Mapping[str, Obligation] = {o.name: o for o in completeness.obligations(profile)}
    return every[name].decide(Deadline(60))


@pytest.mark.parametrize(
    "identity",
    ["ep-single-domain-multi-group", "world-not-multiple-of-pp", "tp-kv-heads-not-divisible"],
)
def test_a_missing_rule_is_refuted_with_both_verdicts(identity: str) -> None:
    finding = decide(without(identity), f"completeness/{identity}")
    assert finding.status == "refuted"
    assert finding.counterexample is not None
    given: dict[str, Any] = dict(finding.counterexample)
    with pytest.raises(reference.Rejected) as rejected:
        reference.validate(**given)
    assert rejected.value.rule == identity
    assert f"the validator rejects ({identity})" in finding.note


def test_a_wrong_derived_value_is_refuted() -> None:
    dp = next(q for q in HALO.derived if q.name == "data_parallel_size")
    assert isinstance(dp, Named)
    wrong = dataclasses.replace(dp, term=dp.term + 1)
    derived = tuple(wrong if q is dp else q for q in HALO.derived)
    finding = decide(dataclasses.replace(HALO, derived=derived), "completeness/data_parallel_size")
    assert finding.status == "refuted"
    assert finding.note == "both accept, and differ in data_parallel_size"


def test_no_time_means_undecided() -> None:
    assert decide(HALO, "completeness/tp-exceeds-stage").status == "proved"
    every = {o.name: o for o in completeness.obligations(HALO)}
    obligation = every["completeness/ep-single-domain-multi-group"]
    (result,) = decided([obligation], Deadline(0))
    assert result.finding.status == "undecided"
    assert result.finding.note == "the time limit passed"


# Teeth: a sample; `parsolve prove teeth` plants every mistake.

SAMPLED = (
    "teeth/catalogue/axis-set-unsupported",
    "teeth/catalogue/ep-global-world-not-whole-domains",
    "teeth/catalogue/size-pp-min",
    "teeth/catalogue/pp-split-entry-min",
    "teeth/catalogue/tp-heads-not-divisible",
    "teeth/catalogue/etp-global-not-one-group-per-domain",
    "teeth/reference/_validate_tp",
    "teeth/reference/_validate_lowp",
    "teeth/reference/_get_data_parallel_size",
    "teeth/reference/_validate_single_domain_multigroup_ep",
)


@cache
def biting() -> dict[str, Obligation]:
    return {obligation.name: obligation for obligation in teeth.obligations(HALO)}


@pytest.mark.parametrize("name", SAMPLED)
def test_every_mistake_is_killed_or_proved_equivalent(name: str) -> None:
    finding = biting()[name].decide(Deadline(None))
    assert finding.status == "proved", finding.note
    assert finding.mutants
    for mutant in finding.mutants:
        assert mutant.outcome in {"killed", "equivalent"}
        assert (mutant.counterexample is None) == (mutant.outcome == "equivalent")


def test_every_rule_and_every_function_with_a_check_has_teeth() -> None:
    names = set(biting())
    assert {f"teeth/catalogue/{identity}" for identity in IDS} <= names
    assert sum(name.startswith("teeth/reference/") for name in names) == 47


def test_a_killed_mistake_is_one_that_a_configuration_shows() -> None:
    """Run again, apart from the search: the mutant and the reference differ at it."""
    program = Program(loaded(HALO.reference))
    finding = biting()["teeth/reference/_validate_single_domain_multigroup_ep"].decide(
        Deadline(None)
    )
    mutants = {m.name: m for m in program.mutants["_validate_single_domain_multigroup_ep"]}
    original = Validator(reference.validate, HALO)
    for planted in finding.mutants:
        if planted.counterexample is None:
            continue
        values = HALO.config(planted.counterexample).values
        with program.changed(mutants[planted.name]) as function:
            changed = Validator(function, HALO).run(values)
        assert changed.rule(HALO) != original.run(values).rule(HALO)


def test_a_catalogue_without_its_legality_rule_still_reports_survivors() -> None:
    """A rule that says nothing has no teeth: its removal is proved to change nothing."""
    mute = without("hsdp-with-ep")
    every = {o.name: o for o in teeth.obligations(mute)}
    finding = every["teeth/catalogue/hsdp-with-ep"].decide(Deadline(None))
    assert {mutant.outcome for mutant in finding.mutants} == {"equivalent"}


def test_mutants_are_many_and_differ() -> None:
    import ast  # noqa: PLC0415
    import inspect  # noqa: PLC0415

    tree = ast.parse(inspect.getsource(reference))
    before = ast.dump(tree)
    programs = [ast.dump(mutant.function) for mutant in program_mutants(tree)]
    assert ast.dump(tree) == before
    assert len(programs) == len(set(programs)) > 700
    assert sum(1 for rule in HALO.rules for _ in rule_mutants(rule)) > 600
