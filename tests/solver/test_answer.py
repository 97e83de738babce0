"""The JSON of answers is a public format: its keys, its schema, and what is left out."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any as Anything

import jsonschema
import pytest

from parsolve.solver.answer import (
    Accepted,
    Answer,
    Best,
    Conflict,
    Fields,
    Rejected,
    Solutions,
    Undecided,
    Unreadable,
    as_data,
    json_schema,
    plain,
    to_json,
)
from parsolve.solver.check import check
from parsolve.solver.deadline import Deadline
from parsolve.solver.solve import best, solutions
from tests.solver.questions import config, question

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "answer.schema.json"
DP = [("dp", True)]
CONSTANTS: dict[str, Anything] = {"world_size": 100800, "gpus_per_node": 8, "assume_pp": True}
AXES = ("ep_size", "tp_size", "cp_size", "expert_tp_size", "pp_size")


@cache
def answers() -> dict[str, Answer | Unreadable]:
    """Every kind of answer, with each of its optional parts somewhere."""
    moe: dict[str, Anything] = {"model_kind": "moe"}
    return {
        "accepted": check(config(world_size=8, gpus_per_node=8)),
        "accepted, warned": check(config(world_size=8, num_attention_heads=[8, 4], use_hsdp=True)),
        "rejected": check(config(world_size=8, ep_size=4)),
        "rejected, more repairs": check(config(world_size=8, ep_size=4), shown_repairs=1),
        "rejected, no repairs": check(config(world_size=8, ep_size=4), shown_repairs=0),
        "rejected, cut short": check(config(**CONSTANTS, **dict.fromkeys(AXES, 100800))),
        "rejected, unknown quantities": check(config(world_size=12, gpus_per_node=8, tp_size=0)),
        "conflict": solutions(question(8, tp_size=3)),
        "conflict, conditions": solutions(question(8, where="tp*cp > 8")),
        "conflict, of none": solutions(
            question(
                8,
                ep_size=8,
                num_experts=128,
                num_experts_per_tok=8,
                hidden_size=8192,
                ep_rows_per_device=1,
                max_length=32768,
                cp_size=1,
            )
        ),
        "solutions": solutions(question(16, **moe)),
        "solutions, cut": solutions(question(16, **moe), limit=2),
        "solutions, none free": solutions(
            question(8, vary=["use_hsdp"], tp_size=1, cp_size=1, pp_size=1)
        ),
        "best": best(question(16, objectives=DP, **moe)),
        "best, front": best(question(16, objectives=[*DP, ("tp", True)], pareto=True, **moe)),
        "undecided": solutions(question(64, **moe), deadline=Deadline(0)),
        "undecided, best": best(question(64, objectives=DP, **moe), deadline=Deadline(0)),
        "error": Unreadable(line=3, error="not JSON"),
    }


KINDS = (
    "accepted",
    "accepted, warned",
    "rejected",
    "rejected, more repairs",
    "rejected, no repairs",
    "rejected, cut short",
    "rejected, unknown quantities",
    "conflict",
    "conflict, conditions",
    "conflict, of none",
    "solutions",
    "solutions, cut",
    "solutions, none free",
    "best",
    "best, front",
    "undecided",
    "undecided, best",
    "error",
)


@cache
def schema() -> dict[str, Anything]:
    return json_schema()


def test_every_kind_of_answer_is_among_them() -> None:
    kinds = {type(answer) for answer in answers().values()}
    assert kinds == {Accepted, Rejected, Conflict, Solutions, Best, Undecided, Unreadable}
    assert set(answers()) == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_an_answer_is_as_the_schema_says(name: str) -> None:
    data = as_data(answers()[name])
    jsonschema.Draft202012Validator(schema()).validate(data)
    assert data["answer"] == name.partition(",")[0]
    assert next(iter(data)) == "answer"
    assert json.loads(to_json(answers()[name], indent=2)) == data


@pytest.mark.parametrize("name", KINDS)
def test_what_does_not_apply_is_left_out(name: str) -> None:
    """No attribute is null; null occurs only as the value of a field."""
    answer = answers()[name]
    data = as_data(answer)
    for field in dataclasses.fields(answer):
        assert (field.name in data) == (getattr(answer, field.name) is not None)
    assert None not in data.values()


def test_the_schema_is_a_schema_and_refuses_what_is_no_answer() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    validator = jsonschema.Draft202012Validator(schema())
    good = as_data(answers()["rejected"])
    for broken in (
        {},
        {"answer": "maybe"},
        {**good, "answer": "accepted", "config": 3},
        {key: value for key, value in good.items() if key != "violations"},
        {**good, "violations": [{"rule": "only-this"}]},
        {**good, "repairs": [{"change": 1, "config": {}}]},
        {**good, "repairs_complete": "no"},
    ):
        assert not validator.is_valid(broken), broken
    assert validator.is_valid(good)


def test_the_schema_in_the_documentation_is_fresh() -> None:
    """Write it with: parsolve schema > docs/schema/answer.schema.json."""
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == json_schema()


def test_keys_of_the_public_format() -> None:
    accepted = as_data(answers()["accepted"])
    assert accepted.keys() >= {"answer", "profile", "config", "derived", "warnings"}
    rejected = as_data(answers()["rejected"])
    assert rejected.keys() >= {
        "answer", "profile", "config", "derived", "violations", "warnings", "repairs",
    }  # fmt: skip
    for violation in rejected["violations"]:
        assert set(violation) == {"rule", "stage", "reason", "because", "remedy", "source"}
    for repair in rejected["repairs"]:
        assert set(repair) == {"change", "config"}
    assert set(rejected["warnings"][0]) == {"warning", "reason", "because", "source"}
    conflict = as_data(answers()["conflict, conditions"])
    assert conflict.keys() >= {
        "profile", "world", "worlds", "pins", "held", "conditions", "rules", "smallest", "searched",
        "warnings",
    }  # fmt: skip
    for rule in conflict["rules"]:
        assert set(rule) == {"rule", "stage", "reason", "because", "remedy", "source"}
    assert set(conflict["repairs"][0]) == {"change", "config", "drop"}
    listed = as_data(answers()["solutions"])
    assert listed.keys() >= {"profile", "searched", "solutions", "count", "complete", "certificate"}
    assert set(listed["solutions"][0]) == {"config", "derived"}
    assert set(listed["certificate"]) == {"status", "claim", "seconds", "domains", "divisors"}
    optimum = as_data(answers()["best"])
    assert optimum.keys() >= {
        "profile", "searched", "solutions", "objectives", "optimal", "count", "order", "pareto",
    }  # fmt: skip
    assert set(optimum["solutions"][0]) == {"config", "derived", "objectives"}
    assert optimum["objectives"] == [{"quantity": "dp", "direction": "maximize", "value": 16}]
    front = as_data(answers()["best, front"])
    assert front["objectives"][0] == {"quantity": "dp", "direction": "maximize"}
    undecided = as_data(answers()["undecided"])
    assert undecided.keys() >= {"profile", "reason", "searched", "solutions", "optimal", "complete"}
    assert as_data(answers()["error"]) == {"answer": "error", "line": 3, "error": "not JSON"}


def test_the_numbers_of_a_verdict_are_in_its_json() -> None:
    rejected = as_data(answers()["rejected"])
    assert rejected["violations"][0]["rule"] == "ep-single-domain-multi-group"
    assert rejected["violations"][0]["because"] == (
        "num_nvlink_domains = 1, ep_size = 4 > 2, nvlink_domain_size = 8 > ep_group_size = 4"
    )
    assert rejected["config"]["ep_size"] == 4
    assert rejected["derived"]["ep_group_size"] == 4
    assert [repair["change"] for repair in rejected["repairs"]] == [
        {"ep_size": 2},
        {"ep_size": 8},
        {"expert_tp_size": 2},
    ]
    assert as_data(answers()["rejected, more repairs"])["more_repairs"] == 2


def test_a_null_field_of_a_change_is_kept() -> None:
    conflict = as_data(answers()["conflict, of none"])
    assert {"max_length": None} in [repair["change"] for repair in conflict["repairs"]]


def test_an_unknown_quantity_is_left_out_not_zero() -> None:
    derived = as_data(answers()["rejected, unknown quantities"])["derived"]
    assert "num_nodes" not in derived
    assert derived["gpus_per_node"] == 8


def test_lists_of_fields_are_lists_and_text_is_text() -> None:
    data = as_data(answers()["accepted, warned"])
    assert data["config"]["num_attention_heads"] == [8, 4]
    assert [caution["warning"] for caution in data["warnings"]] == [
        "gpus-per-node-assumed",
        "hsdp-single-domain-noop",
    ]
    text = to_json(answers()["rejected"])
    assert "·" in text
    assert "\\u" not in text


def fields_in(value: object) -> Iterator[Fields]:
    """Every dictionary of an answer, at any depth."""
    if isinstance(value, dict):
        assert isinstance(value, Fields)
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from fields_in(part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from fields_in(getattr(value, field.name))


def changed_in_place(fields: Fields) -> None:
    fields |= {"tp_size": 64}


CHANGES: dict[str, Callable[[Fields], object]] = {
    "setitem": lambda fields: fields.__setitem__("tp_size", 64),
    "del": lambda fields: fields.__delitem__(next(iter(fields), "tp_size")),
    "|=": changed_in_place,
    "update": lambda fields: fields.update({"tp_size": 64}),
    "update by name": lambda fields: fields.update(tp_size=64),
    "update with nothing": lambda fields: fields.update(),
    "pop": lambda fields: fields.pop(next(iter(fields), "tp_size")),
    "pop with a default": lambda fields: fields.pop("nothing", None),
    "popitem": lambda fields: fields.popitem(),
    "setdefault": lambda fields: fields.setdefault("tp_size", 64),
    "clear": lambda fields: fields.clear(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", KINDS)
def test_dictionaries_of_an_answer_cannot_be_changed(name: str, change: str) -> None:
    answer = answers()[name]
    before = to_json(answer)
    for fields in fields_in(answer):
        with pytest.raises(TypeError, match="an answer cannot be changed; copy it with dict"):
            CHANGES[change](fields)
    assert to_json(answer) == before


def test_dictionaries_of_an_answer_are_dictionaries() -> None:
    kinds = ("accepted", "rejected", "conflict", "solutions", "best", "undecided, best")
    found = [fields for name in kinds for fields in fields_in(answers()[name])]
    assert len(found) > 50
    for fields in found:
        plain_dict = dict(fields)
        assert fields == plain_dict
        assert plain_dict == fields
        assert json.dumps(fields) == json.dumps(plain_dict)
        assert to_json(fields) == to_json(plain_dict)
        assert repr(fields) == repr(plain_dict)
        assert type(fields | {"tp_size": 64}) is dict
        assert type({"tp_size": 64} | fields) is dict
    mine = dict(found[0])
    mine["tp_size"] = 64
    assert mine != found[0]


COPIES: dict[str, Callable[[Anything], Anything]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": (lambda value, p=protocol: pickle.loads(pickle.dumps(value, p)))  # type: ignore[misc]  # noqa: S301 - our own
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", KINDS)
def test_answers_can_be_copied_and_pickled(name: str, way: str) -> None:
    answer = answers()[name]
    copied = COPIES[way](answer)
    assert copied == answer
    assert copied is not answer
    assert to_json(copied) == to_json(answer)
    for fields, again in zip(fields_in(answer), fields_in(copied), strict=True):
        assert COPIES[way](fields) == again == fields
        assert type(COPIES[way](fields)) is type(again) is Fields
        with pytest.raises(TypeError):
            again["tp_size"] = 64


def test_answers_as_nested_dictionaries() -> None:
    for answer in answers().values():
        nested = dataclasses.asdict(answer)
        assert nested.keys() == {field.name for field in dataclasses.fields(answer)}


def test_parts_are_plain_data_too() -> None:
    rejected = answers()["rejected"]
    assert isinstance(rejected, Rejected)
    assert rejected.repairs is not None
    assert plain(rejected.repairs[0])["change"] == {"ep_size": 2}
    assert json.loads(to_json(rejected.violations[0]))["stage"] == "composition"
