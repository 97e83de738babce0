"""The torchtitan profile: its catalogue, recorded verdicts of the real package, searches."""

from __future__ import annotations

import random

import pytest

from parsolve.constraints.formula import fields_of
from parsolve.constraints.rule import Rule
from parsolve.constraints.torchtitan import TORCHTITAN
from parsolve.solver.answer import Best
from parsolve.solver.claims import divisor_claims
from parsolve.solver.query import build_query
from parsolve.solver.solve import best
from tests.real import torchtitan as real
from tests.real.verdicts import agrees, fresh, installed, predicted, recorded


def broken(**given: object) -> set[str]:
    values = TORCHTITAN.config({"world_size": 8, **given}).values
    return {TORCHTITAN.rules[index].id for index in TORCHTITAN.violated(values)}


@pytest.mark.parametrize("rule", TORCHTITAN.rules, ids=[rule.id for rule in TORCHTITAN.rules])
def test_a_rule_alone_rejects_its_example_and_nothing_its_remedy(rule: Rule) -> None:
    assert broken(**rule.example.rejects) == {rule.id}
    assert broken(**rule.example.instead) == set()
    assert rule.source.lines
    assert rule.stage in TORCHTITAN.stages_about


def test_every_field_is_read() -> None:
    nodes = [node for rule in TORCHTITAN.rules for node in rule.nodes]
    read = fields_of(*nodes, *(notice.when for notice in TORCHTITAN.warnings))
    assert set(TORCHTITAN.field_of) - read == {"launcher"}


def test_recorded_verdicts() -> None:
    rows = list(recorded("torchtitan"))
    assert len(rows) == 3000
    assert [row for row in rows if not agrees(TORCHTITAN, *row)] == []
    met = {predicted(TORCHTITAN, given)[0] for given, _ in rows}
    assert met == {"", *(rule.id for rule in TORCHTITAN.rules)}


@pytest.mark.real_frameworks
@pytest.mark.filterwarnings("ignore")
def test_fresh_configurations() -> None:
    installed("torchtitan", real.VERSION)
    assert fresh(TORCHTITAN, real.drawn, real.asked, random.randrange(10**9)) == []


def test_dp_shard_is_what_the_others_leave() -> None:
    values = TORCHTITAN.config({"world_size": 64, "tp_size": 8, "dp_replicate_size": 2}).values
    derived = TORCHTITAN.derive(values)
    assert derived["dp_shard_size"] == 4
    assert derived["data_parallel_size"] == 8
    assert derived["global_batch"] == 64


def test_the_best_has_all_of_dp() -> None:
    query = build_query(TORCHTITAN, [64], {"model_kind": "moe"}, objectives=[("dp", True)])
    assert set(divisor_claims(TORCHTITAN, held=query.held).values()) == {"proved"}
    found = best(query)
    assert isinstance(found, Best)
    assert found.optimal
    sizes = [solution.config["ep_size"] for solution in found.solutions]
    assert sizes == [64, 32, 16, 8, 4, 2, 1]
