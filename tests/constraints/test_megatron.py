"""The Megatron-Core profile: its catalogue, the recorded verdicts of the real one, threads."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from itertools import product
from typing import Any

import pytest

from parsolve.constraints.fields import FieldError
from parsolve.constraints.formula import fields_of
from parsolve.constraints.megatron import MEGATRON
from parsolve.constraints.rule import Rule
from parsolve.solver.answer import Accepted, Solutions
from parsolve.solver.check import check
from parsolve.solver.claims import divisor_claims
from parsolve.solver.query import build_query
from parsolve.solver.solve import solutions
from tests.megatron_cases import broken, configured, first_as_recorded, recorded
from tests.real import megatron as real

KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")

ALSO = {
    "world-not-divisible-by-model-parallel": {"world-not-divisible-by-expert-parallel"},
    "global-batch-not-divisible": {"training-batch-not-divisible"},
    "virtual-stages-stated-twice": {
        "micro-batch-group-out-of-range",
        "micro-batch-group-remainder",
    },
    "param-gather-with-step-without-distributed-optimizer": {
        "param-gather-overlap-without-sharding"
    },
    "megatron-fsdp-single-grouped-weight": {"single-grouped-weight-without-grouped-gemm"},
    "megatron-fsdp-optimizer": {"layer-wise-optimizer-checkpoint-format"},
    "distributed-activations-without-method": {"full-recompute-without-method"},
    "torch-dcp-with-pp": {"torch-dcp-without-fsdp2"},
    "layer-wise-optimizer-checkpoint-format": {"layer-wise-optimizer-with-fsdp2"},
    "heads-not-divisible-by-tp": {"query-groups-not-shared-equally"},
    "layout-embedding-not-first": {"layout-embedding-not-once"},
    "layout-loss-not-last": {"layout-loss-not-once"},
    "layout-mtp-not-in-last-chunk": {"layout-mtp-before-layer"},
    "first-stage-not-whole-chunks": {"last-stage-not-whole-chunks"},
    "last-stage-not-whole-chunks": {"middle-layers-not-divisible"},
    "ep-overlap-with-full-recompute": {
        "ep-overlap-with-recompute-method",
        "ep-overlap-with-recompute-layers",
    },
    "optimizer-instances-not-dividing-dp-cp": {"optimizer-instances-not-dividing-expert-dp"},
    "micro-batch-group-out-of-range": {"micro-batch-group-remainder"},
}
"""What the example of a rule breaks beside it."""


def rules_broken(**given: object) -> list[str]:
    return [rule.id for rule in broken(MEGATRON.config({"world_size": 8, **given}))]


def notices(**given: object) -> dict[str, str | None]:
    values = MEGATRON.config({"world_size": 8, **given}).values
    return {MEGATRON.warnings[i].id: MEGATRON.warnings[i].kind for i in MEGATRON.warned(values)}


def derived(**given: object) -> dict[str, Any]:
    return MEGATRON.derive(MEGATRON.config({"world_size": 8, **given}).values)


# --- the catalogue --------------------------------------------------------------------------


@pytest.mark.parametrize("rule", MEGATRON.limits, ids=[rule.id for rule in MEGATRON.limits])
def test_a_rule_rejects_its_example_and_nothing_its_remedy(rule: Rule) -> None:
    assert set(rules_broken(**rule.example.rejects)) == {rule.id} | ALSO.get(rule.id, set())
    assert rules_broken(**rule.example.instead) == []


def test_ids_prose_and_sources_are_in_order() -> None:
    ids = [rule.id for rule in MEGATRON.limits] + [notice.id for notice in MEGATRON.warnings]
    assert len(ids) == len(set(ids))
    assert all(map(KEBAB.fullmatch, ids))
    assert ids.count("") == 0
    for rule in MEGATRON.rules:
        assert rule.reason.endswith(".")
        assert rule.remedy.endswith(".")
        assert rule.source.lines or rule.source.file.startswith("transformer_engine"), rule.id
        assert rule.stage in MEGATRON.stages_about


def test_stages_are_in_megatrons_order() -> None:
    order = list(MEGATRON.stages_about)
    places = [order.index(rule.stage) for rule in MEGATRON.rules]
    assert places == sorted(places)


def test_names_and_flags_are_unique() -> None:
    flags = [field.flag for field in MEGATRON.fields if field.flag]
    assert len(flags) == len(set(flags))
    assert len(MEGATRON.field_of) == len(MEGATRON.fields)
    assert all(field.about.endswith(".") for field in MEGATRON.fields)


def test_every_field_is_read() -> None:
    """What no rule, notice or account reads would promise something."""
    account = MEGATRON.account
    assert account is not None
    nodes: list[Any] = [node for rule in MEGATRON.limits for node in rule.nodes]
    nodes += [notice.when for notice in MEGATRON.warnings] + list(account.named)
    assert set(MEGATRON.field_of) - fields_of(*nodes) == {"launcher"}


def test_the_defaults_are_accepted() -> None:
    assert rules_broken(world_size=1) == []
    assert rules_broken(world_size=1_000_003) == []


# --- against the real one -------------------------------------------------------------------


def test_recorded_verdicts() -> None:
    """Verdict, stage, raising line and what is derived, of 4,000 configurations.

    Where a configuration dies in the process groups and in the layers of a stage, the tool that
    recorded the verdicts meets the layers first and Megatron the groups.
    """
    differing = Counter[str]()
    lines = Counter[str]()
    for row in recorded():
        config = configured(row["inputs"])
        rules = broken(config)
        assert (not rules) == row["accept"], (row, rules)
        if rules:
            first = first_as_recorded(rules)
            file, _, line = row["where"].split()[0].rpartition(":")
            assert first.source.file == file, row
            assert int(line) in first.source.lines, row
            assert first.source.function == row["where"].split()[1], row
            lines[first.id] += 1
            differing[f"{rules[0].stage} {first.stage}"] += rules[0] is not first
            continue
        expected = row["derived"]
        found = MEGATRON.derive(config.values)
        assert found["data_parallel_size"] == expected["dp"]
        assert found["sequence_parallel"] == expected["sp"]
        assert found["global_batch"] == expected["gbs"]
        assert found["expert_tp_size"] == expected["etp"]
        assert found["microbatches"] == expected["microbatches"]
        assert found["virtual_stages"] == (expected.get("vpp") or 1)
        sizes = {
            "tp": config["tp_size"],
            "pp": config["pp_size"],
            "cp": config["cp_size"],
            "dp": found["data_parallel_size"],
            "dp_cp": found["dp_cp_size"],
            "ep": config["ep_size"],
            "etp": found["expert_tp_size"],
            "edp": found["expert_data_parallel_size"],
        }
        assert sizes == expected["sizes"]
        lists = MEGATRON.with_lists(config.values, found)
        assert lists["layers_per_stage"] == expected["layers_per_stage"], row
    assert +differing == {"groups model": 13}
    assert len(lines) == 26


# --- what Megatron changes, and what it takes though it hurts --------------------------------


@pytest.mark.parametrize(
    ("given", "changed", "effective"),
    [
        (
            {"tp_size": 2, "num_experts": 8, "sequence_parallel": True, "bias_linear": False},
            "etp-follows-tp",
            ("expert_tp_size", 2),
        ),
        (
            {"sequence_parallel": True},
            "sequence-parallel-switched-off",
            ("sequence_parallel", False),
        ),
        (
            {"pp_size": 2, "virtual_stages": 1},
            "one-virtual-stage-is-none",
            ("virtual_stages", 1),
        ),
        ({}, "global-batch-defaulted", ("global_batch", 8)),
        (
            {"global_batch": 12, "decrease_batch": True, "eval_global_batch": 8},
            "global-batch-rounded-down",
            ("global_batch", 8),
        ),
        (
            {"megatron_fsdp": True, "ckpt_format": "fsdp_dtensor"},
            "distributed-optimizer-switched-on",
            ("distributed_optimizer", True),
        ),
    ],
)
def test_silent_changes_are_said(
    given: dict[str, object], changed: str, effective: tuple[str, object]
) -> None:
    assert rules_broken(**given) == []
    assert notices(**given)[changed] == "change"
    name, value = effective
    assert derived(**given)[name] == value


@pytest.mark.parametrize(
    ("given", "hazard"),
    [
        (
            {"num_attention_heads": 16, "num_key_value_heads": 3},
            "heads-not-multiple-of-query-groups",
        ),
        (
            {"num_experts": 4, "num_experts_per_tok": 8},
            "top-k-above-experts",
        ),
        ({"cp_size": 2, "cp_comm_type": "banana"}, "cp-comm-type-unknown"),
        ({"tp_size": 8, "nvlink_domain_size": 4}, "tp-leaves-nvlink-domain"),
        (
            {"pp_size": 2, "num_hidden_layers": 8, "first_stage_layers": 10},
            "middle-stages-with-negative-layers",
        ),
        (
            {"num_hidden_layers": 8, "first_stage_layers": 4, "last_stage_layers": 2},
            "stages-do-not-hold-all-layers",
        ),
        (
            {
                "num_hidden_layers": 8,
                "recompute": "full",
                "recompute_method": "uniform",
                "recompute_num_layers": 999,
            },
            "recompute-beyond-stage",
        ),
    ],
)
def test_what_is_taken_though_it_hurts_is_a_hazard(given: dict[str, object], hazard: str) -> None:
    assert rules_broken(**given) == []
    assert notices(**given)[hazard] == "hazard"


# --- public threads -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("thread", "given", "expected"),
    [
        ("B01", {"world_size": 1, "cp_size": 2}, ["world-not-divisible-by-model-parallel"]),
        ("B01", {"world_size": 8, "cp_size": 2}, []),
        (
            "B15",
            {"tp_size": 8, "num_attention_heads": 28, "num_key_value_heads": 4},
            ["heads-not-divisible-by-tp"],
        ),
        ("B15", {"tp_size": 4, "num_attention_heads": 28, "num_key_value_heads": 4}, []),
        (
            "B22",
            {"world_size": 64, "tp_size": 8, "pp_size": 4, "ep_size": 16, "expert_tp_size": 1,
             "num_hidden_layers": 46, "num_experts": 128, "sequence_parallel": True},
            ["layers-not-divisible-by-pp"],
        ),
        (
            "B22",
            {"world_size": 64, "tp_size": 8, "pp_size": 4, "ep_size": 16, "expert_tp_size": 1,
             "num_hidden_layers": 46, "num_experts": 128, "sequence_parallel": True,
             "first_stage_layers": 11, "last_stage_layers": 11},
            [],
        ),
        ("B23", {"pp_size": 8, "num_hidden_layers": 92}, ["layers-not-divisible-by-pp"]),
        (
            "B23",
            {"pp_size": 8, "num_hidden_layers": 92, "first_stage_layers": 10,
             "last_stage_layers": 10},
            [],
        ),
        (
            "B24",
            {"world_size": 16, "pp_size": 16, "num_hidden_layers": 80, "virtual_stages": 2,
             "global_batch": 16},
            ["layers-not-whole-chunks"],
        ),
        (
            "B24",
            {"world_size": 16, "pp_size": 16, "num_hidden_layers": 80, "virtual_stages": 5,
             "global_batch": 16},
            [],
        ),
        ("B25", {"pp_size": 4, "num_hidden_layers": 30}, ["layers-not-divisible-by-pp"]),
        (
            "B25",
            {"pp_size": 4, "num_hidden_layers": 30, "first_stage_layers": 7,
             "last_stage_layers": 7},
            [],
        ),
        (
            "B26",
            {"world_size": 512, "tp_size": 4, "pp_size": 8, "num_hidden_layers": 78,
             "global_batch": 64},
            ["layers-not-divisible-by-pp"],
        ),
        (
            "B26",
            {"world_size": 512, "tp_size": 4, "pp_size": 4, "num_hidden_layers": 78,
             "last_stage_layers": 18, "global_batch": 64},
            [],
        ),
        (
            "B61",
            {"world_size": 16, "pp_size": 2, "ep_size": 8, "num_hidden_layers": 43,
             "num_experts": 256, "global_batch": 16},
            ["layers-not-divisible-by-pp"],
        ),
    ],
)  # fmt: skip
def test_threads(thread: str, given: dict[str, object], expected: list[str]) -> None:
    assert rules_broken(**given) == expected, thread


# --- the guide under the real code ------------------------------------------------------------


def test_deepseek_v3_on_1024_gpus_as_the_guide_has_it() -> None:
    guide = {
        "world_size": 1024,
        "tp_size": 2,
        "pp_size": 16,
        "ep_size": 64,
        "num_hidden_layers": 61,
        "num_experts": 256,
        "sequence_parallel": True,
        "bias_linear": False,
    }
    assert "layers-not-divisible-by-pp" in rules_broken(**guide)
    assert "world-not-divisible-by-expert-parallel" in rules_broken(**guide)
    right = {**guide, "expert_tp_size": 1, "first_stage_layers": 3, "last_stage_layers": 2}
    answer = check(MEGATRON.config(right))
    assert isinstance(answer, Accepted)
    assert answer.derived["data_parallel_size"] == 32
    assert answer.derived["expert_data_parallel_size"] == 1
    assert answer.derived["layers_per_stage"] == [[3], *[[4]] * 14, [2]]


def test_mixtral_of_the_guide_dies_in_the_first_step() -> None:
    mixtral = {"tp_size": 2, "ep_size": 4, "num_experts": 8, "bias_linear": False}
    assert rules_broken(**mixtral) == ["experts-with-tp-without-sequence-parallel"]


# --- layouts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        ("Ettt|(tt|)*2,m|L", ("Ettt", "tt", "tt", "m", "L")),
        ("E,t*3|t*2L", ("Ettt", "ttL")),
        ("Et||L", ("Et", "", "L")),
        (["Et", "tL"], ("Et", "tL")),
    ],
)
def test_a_layout_is_read_as_megatron_reads_it(text: object, stages: tuple[str, ...]) -> None:
    assert MEGATRON.config({"world_size": 8, "pipeline_layout": text})["pipeline_layout"] == stages


@pytest.mark.parametrize("text", ["Ex|tL", 3, "(E)*999999999t", ["E", 1], "t*100000|" * 9])
def test_a_layout_that_cannot_be_read_is_misuse(text: object) -> None:
    with pytest.raises(FieldError, match="pipeline_layout"):
        MEGATRON.config({"world_size": 8, "pipeline_layout": text})


# --- searches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [1, 6, 12])
def test_a_search_finds_what_loops_find(world: int) -> None:
    given = {"model_kind": "moe", "bias_linear": False, "sequence_parallel": True}
    found = solutions(build_query(MEGATRON, [world], given))
    assert isinstance(found, Solutions)
    assert found.complete
    names = MEGATRON.searched
    listed = {tuple(s.config[n] for n in names) for s in found.solutions}
    divisors = [n for n in range(1, world + 1) if world % n == 0]
    expected = {
        (pp, tp, cp, etp, ep)
        for pp, tp, cp, etp, ep in product(divisors, repeat=5)
        if world % (tp * pp * cp) == 0 and world % (ep * etp * pp) == 0
    }
    assert listed == expected


def test_sizes_divide_the_world_by_proof() -> None:
    assert set(divisor_claims(MEGATRON).values()) == {"proved"}


# --- the real one, asked now --------------------------------------------------------------------


@pytest.mark.real_frameworks
@pytest.mark.real_megatron
@pytest.mark.filterwarnings("ignore")
def test_fresh_configurations(capsys: pytest.CaptureFixture[str]) -> None:
    real.installed()
    with capsys.disabled():
        found = real.fresh(random.randrange(10**9), sys.stdout.write)
    assert found.differences == []
