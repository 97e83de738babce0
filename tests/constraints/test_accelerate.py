"""The accelerate profile: its catalogue, recorded verdicts of the real package, searches."""

from __future__ import annotations

import random

import pytest

from parsolve.constraints.accelerate import ACCELERATE
from parsolve.constraints.formula import fields_of
from parsolve.constraints.rule import Rule
from parsolve.solver.answer import Solutions
from parsolve.solver.claims import divisor_claims
from parsolve.solver.query import build_query
from parsolve.solver.solve import solutions
from tests.real import accelerate as real
from tests.real.verdicts import agrees, fresh, installed, predicted, recorded

ALSO = {"cp-with-fsdp1": {"wrapper-unsupported"}}
"""What the example of a rule breaks beside it."""

ONCE_READ = {
    "launcher",
    "micro_batch",
    "gradient_accumulation_steps",
}
"""Fields of which a quantity or the launch line alone speaks."""


def broken(**given: object) -> set[str]:
    values = ACCELERATE.config({"world_size": 8, **given}).values
    return {ACCELERATE.rules[index].id for index in ACCELERATE.violated(values)}


def notices(**given: object) -> dict[str, str | None]:
    values = ACCELERATE.config({"world_size": 8, "gpus_per_node": 8, **given}).values
    warnings = (ACCELERATE.warnings[index] for index in ACCELERATE.warned(values))
    return {warning.id: warning.kind for warning in warnings}


@pytest.mark.parametrize("rule", ACCELERATE.rules, ids=[rule.id for rule in ACCELERATE.rules])
def test_a_rule_rejects_its_example_and_nothing_its_remedy(rule: Rule) -> None:
    assert broken(**rule.example.rejects) == {rule.id} | ALSO.get(rule.id, set())
    assert broken(**rule.example.instead) == set()
    assert rule.source.lines
    assert rule.stage in ACCELERATE.stages_about


def test_every_field_is_read() -> None:
    nodes = [node for rule in ACCELERATE.rules for node in rule.nodes]
    read = fields_of(*nodes, *(notice.when for notice in ACCELERATE.warnings))
    assert set(ACCELERATE.field_of) - read == ONCE_READ


def test_recorded_verdicts() -> None:
    rows = list(recorded("accelerate"))
    assert len(rows) == 4000
    assert [row for row in rows if not agrees(ACCELERATE, *row)] == []
    assert {predicted(ACCELERATE, given)[0] for given, _ in rows} == {
        "",
        *(rule.id for rule in ACCELERATE.rules),
    }


@pytest.mark.real_frameworks
@pytest.mark.filterwarnings("ignore")
def test_fresh_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    installed("accelerate", real.VERSION)
    seed = random.randrange(10**9)
    assert fresh(ACCELERATE, real.drawn, lambda given: real.asked(given, monkeypatch), seed) == []


def test_what_it_changes_and_takes() -> None:
    assert notices(distributed="ddp") == {"all-ones-become-replicas": "change"}
    assert notices() == {"all-ones-are-ignored": "change"}
    odd = {"dp_shard_size": 2, "sp_size": 3, "distributed": "deepspeed"}
    assert broken(**odd) == set()
    assert notices(**odd) == {
        "sp-product-unchecked": "hazard",
        "sp-not-dividing-world": "hazard",
        "launch-refuses-sizes": None,
    }


def test_only_divisors_need_be_searched_while_sp_is_1() -> None:
    query = build_query(ACCELERATE, [8], {})
    assert set(divisor_claims(ACCELERATE).values()) == {"undecided"}
    assert set(divisor_claims(ACCELERATE, held=query.held).values()) == {"proved"}
    found = solutions(query)
    assert isinstance(found, Solutions)
    assert len(found.solutions) == 13
