"""Megatron's rules and its independent validator: the same verdict, for all sizes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from parsolve.constraints.megatron import MEGATRON
from parsolve.constraints.profile import Profile
from parsolve.reference import megatron as reference
from parsolve.reference.megatron_fields import validate
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove.completeness import obligations
from parsolve.solver.prove.obligation import UNBOUNDED, Finding
from parsolve.solver.prove.validator import Validator
from tests.near_valid_megatron import asked, drawn


def decided(profile: Profile, name: str) -> Finding:
    """What becomes of one obligation."""
    found = next(each for each in obligations(profile) if each.name == f"completeness/{name}")
    return found.decide(Deadline(200))


def test_the_catalogue_equals_the_validator_for_all_sizes() -> None:
    statements = list(obligations(MEGATRON))
    assert len(statements) == len(MEGATRON.rules) + 2
    for statement in statements:
        finding = statement.decide(Deadline(200))
        status, scope, asked_z3 = finding.status, finding.scope, len(finding.goals)
        assert (status, scope) == ("proved", UNBOUNDED), statement.name
        assert asked_z3 > 0, statement.name


@pytest.mark.parametrize(
    "rule",
    [
        "grouped-gemm-on-old-gpu",
        "sparse-attention-with-bias",
        "optimizer-instances-not-dividing-dp-cp",
    ],
)
def test_without_a_rule_it_is_not_proved(rule: str) -> None:
    """Whether a configuration that shows it is found in time depends on the machine."""
    rules = tuple(each for each in MEGATRON.rules if each.id != rule)
    finding = decided(replace(MEGATRON, rules=rules), "accepts")
    status, counterexample = finding.status, finding.counterexample
    assert status != "proved"
    assert (status == "refuted") == (counterexample is not None)


def test_field_by_field_the_validator_says_what_it_says_of_a_whole_configuration() -> None:
    rng = random.Random(20)
    validator = Validator(validate, MEGATRON)
    compared = accepted = 0
    while compared < 1500:
        given = drawn(rng)
        config = MEGATRON.config(given)
        if any(config[name] != MEGATRON.field_of[name].default for name in MEGATRON.out_of_reach):
            continue
        expected = reference.check(asked(config))
        outcome = validator.run(config.values)
        assert outcome.accepted == expected.accepted, (given, expected, outcome)
        if not expected.accepted:
            assert outcome.raised is not None
            assert outcome.raised.args[:2] == (expected.rule, expected.where)
        compared += 1
        accepted += expected.accepted
    assert 300 < accepted < 1200
