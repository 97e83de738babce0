"""One shape under every profile: each verdict is that profile's own."""

from __future__ import annotations

import re
from itertools import product

import jsonschema
import pytest

import parsolve
from parsolve.constraints import PROFILES
from parsolve.solver.answer import Accepted, as_data, json_schema
from parsolve.solver.compare import every
from tests.cli.run import cli

SHAPES = [
    {"world_size": world, "gpus_per_node": 8, "tp_size": tp, "pp_size": pp, "cp_size": cp}
    for world, tp, pp, cp in product((8, 64, 72), (1, 2, 8), (1, 2), (1, 3))
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_each_verdict_is_that_of_check(shape: dict[str, int]) -> None:
    compared = parsolve.compare(shape)
    assert [verdict.profile for verdict in compared.verdicts] == list(PROFILES)
    jsonschema.validate(as_data(compared), json_schema())
    for verdict in compared.verdicts:
        known = {n: v for n, v in shape.items() if n in PROFILES[verdict.profile].spellings}
        assert verdict.ignored == {n: v for n, v in shape.items() if n not in known}
        missing = [name for name in verdict.ignored if shape[name] > 1 and name.endswith("_size")]
        assert list(verdict.lacks or ()) == [name for name in missing if name != "world_size"]
        if verdict.lacks:
            assert (verdict.verdict, verdict.detail) == ("no such axis", None)
        else:
            alone = parsolve.check(known, profile=verdict.profile, repairs=1)
            assert verdict.detail == alone
            assert (verdict.verdict == "accepted") == isinstance(alone, Accepted)
    assert compared.accepted == sum(each.verdict == "accepted" for each in compared.verdicts)


def test_every_field_of_every_profile_may_be_said() -> None:
    spellings = every().spellings
    for name in PROFILES:
        for field in PROFILES[name].fields:
            assert field.name in spellings or field.flag.replace("-", "_") in spellings


def test_another_word_for_the_same_is_understood() -> None:
    compared = parsolve.compare(world_size=8, per_device_train_batch_size=3)
    details = {verdict.profile: verdict.detail for verdict in compared.verdicts}
    for name in ("generic", "megatron", "accelerate", "torchtitan"):
        detail = details[name]
        assert detail is not None
        assert detail.derived["global_batch"] == 24
    assert details["halo"] is not None
    assert details["halo"].config["per_device_train_batch_size"] == 3


def test_a_switch_is_no_number() -> None:
    compared = parsolve.compare(world_size=8, tp_size=2, sp=2)
    by_name = {verdict.profile: verdict for verdict in compared.verdicts}
    assert by_name["megatron"].lacks == ("sp",)  # there, sp is a switch
    assert by_name["accelerate"].lacks is None


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({}, "world_size is missing"),
        ({"world_size": 8, "tensor_size": 2}, "tensor_size is known to no profile"),
        ({"world_size": 8, "tp_size": True}, "tp_size is no switch; got True"),
        ({"world_size": 0}, "world_size must be at least 1, got 0"),
        ({"world_size": "8"}, "world_size must be an integer"),
    ],
)
def test_misuse_says_what_to_change(question: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        parsolve.compare(question)


def test_what_one_profile_cannot_read_is_its_own_verdict() -> None:
    compared = parsolve.compare(world_size=8, pp_size=2, pp_schedule="Interleaved1F1B")
    by_name = {verdict.profile: verdict for verdict in compared.verdicts}
    assert by_name["generic"].verdict == "no question"
    assert 'pp_schedule has no value "Interleaved1F1B"' in str(by_name["generic"].error)
    assert by_name["torchtitan"].detail is not None


class TestCommandLine:
    SHAPE = ("check", "--profile", "all", "--world", "64", "--gpus-per-node", "8", "--tp", "2",
             "--ep", "8", "--experts", "64")  # fmt: skip

    def test_a_table_of_profiles_and_verdicts(self) -> None:
        done = cli(*self.SHAPE, columns=80)
        assert done.code == 1
        assert max(map(len, done.out.splitlines())) <= 80
        assert done.out.startswith("1 of 5 accept  --gpus-per-node 8 --tp 2 --ep 8 --experts 64")
        rows = [line.split()[:2] for line in done.out.splitlines()[3:8]]
        assert rows == [
            ["halo", "rejected"],
            ["generic", "accepted"],
            ["megatron", "rejected"],
            ["accelerate", "no"],
            ["torchtitan", "rejected"],
        ]
        assert "ignored --ep 8 --experts 64" in done.words
        assert "nearest --tp 2 --ep 8 --disable-cuda-graphs" in done.words

    def test_it_says_yes_only_where_all_accept(self) -> None:
        shape = ("check", "--profile", "all", "--world", "8", "--dp-shard", "8")
        assert cli(*shape).code == 0
        assert cli(*shape, "--tp", "3").code == 1

    def test_a_list_for_one_model_is_one_number(self) -> None:
        done = cli("check", "--profile", "all", "--world", "8", "--heads", "64", "--tp", "8")
        assert "error" not in done.words

    def test_every_spelling_is_taken(self) -> None:
        done = cli("check", "--profile", "all", "--world", "16",
                   "--pipeline-model-parallel-size", "4", "--num-layers", "64",
                   "--parallelism.tensor_parallel_degree", "2")  # fmt: skip
        assert "--pp 4" in done.words
        assert "--layers 64" in done.words

    def test_a_size_that_a_profile_does_not_have_is_in_its_row(self) -> None:
        done = cli("check", "--profile", "all", "--world", "8", "--dp-shard", "8")
        assert "megatron accepted 8 (without --dp-shard 8)" in done.words

    def test_json_has_every_verdict(self) -> None:
        answer = cli(*self.SHAPE, "--format", "json").data
        jsonschema.validate(answer, json_schema())
        assert len(answer["verdicts"]) == len(PROFILES)

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("check", "--profile", "all"), "give the world size"),
            (("check", "--profile", "all", "--world", "0"), "must be at least 1, got 0"),
            (("check", "--profile", "all", "--world", "8", "--model", "nope"), "cannot read nope"),
            (("check", "--profile", "all", "--jsonl", "-"), "one profile; name it"),
            (("check", "--profile", "all", "--world", "8", "--no-such"), "No such option"),
            (("solve", "--profile", "all", "--world", "8"), "only parsolve check takes all"),
        ],
    )
    def test_misuse(self, arguments: tuple[str, ...], says: str) -> None:
        done = cli(*arguments)
        assert done.code == 2
        assert says in done.words
