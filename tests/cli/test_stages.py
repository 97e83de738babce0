"""`parsolve stages`: what it prints is what the framework and parsolve themselves take."""

from __future__ import annotations

import shlex

import jsonschema
import pytest

from parsolve.solver.answer import json_schema
from tests.cli.run import cli, process


def printed_options(out: str) -> list[list[str]]:
    """Every group of options among the lines of an unwrapped answer."""
    lines = (line.removeprefix("  or").strip() for line in out.splitlines())
    return [shlex.split(line) for line in lines if line.startswith("--")]


@pytest.mark.parametrize(
    "question",
    [
        ("--layers", "61", "--pp", "16"),
        ("--layers", "46", "--pp", "2,4,8"),
        ("--num-layers", "94", "--pipeline-model-parallel-size", "8", "--vpp", "2"),
        ("--layers", "78", "--pp", "3..6", "--mtp-layers", "1"),
    ],
)
def test_check_accepts_every_printed_option(question: tuple[str, ...]) -> None:
    done = cli("stages", *question)
    assert (done.code, done.err) == (0, "")
    found = printed_options(done.out)
    assert len(found) >= 5
    mtp = ("--mtp-num-layers", "1") if "--mtp-layers" in question else ()
    for options in found:
        pp = options[options.index("--pipeline-model-parallel-size") + 1]
        checked = cli("check", "--profile", "megatron", "--world", pp, "--num-layers",
                      question[1], "--global-batch-size", pp, *mtp, *options)  # fmt: skip
        assert checked.code == 0, checked.words


def test_the_answer_fits_a_terminal() -> None:
    done = cli("stages", "--model", "deepseek-v3", "--pp", "16", columns=80)
    assert max(map(len, done.out.splitlines())) <= 80
    assert "layer 1, embedding 0, loss 1.583" in done.words
    assert "1. slowest rank 4, mean 3.911; layers 3, 4 x 14, 2" in done.words
    assert "proof the slowest rank costs at least 4" in done.words


def test_json_keeps_to_the_schema() -> None:
    done = cli("stages", "--layers", "61", "--pp", "8,16", "--mtp-layers", "1", "--limit", "2",
               "--format", "json")  # fmt: skip
    jsonschema.validate(done.data, json_schema())
    assert [split["pp"] for split in done.data["splits"]] == [8, 8, 16, 16]
    assert sum(map(sum, done.data["splits"][0]["layers_per_stage"])) == 61


def test_a_layout_longer_than_a_screen_is_left_to_json() -> None:
    done = cli("stages", "--layers", "1000", "--pp", "64", "--vpp", "8", columns=80)
    assert "or a layout that is long: --format json has it" in done.words


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--pp", "4"), "layers is missing; give the layers, or a model that has some"),
        (("--layers", "61"), "Missing option '--pp'"),
        (("--layers", "61", "--pp", "16..4"), "write the smaller pipeline size first"),
        (("--layers", "61", "--pp", "1..1000"), "at most 64 pipeline sizes at once"),
        (("--layers", "61", "--pp", "x"), "a pipeline size is a number, a list (8,16) or a range"),
        (("--layers", "61", "--pp", "4", "--loss-cost", "much"), "such as 1.5, got 'much'"),
        (("--layers", "61", "--pp", "4", "--profile", "none"), "no profile 'none'"),
        (("--layers", "61", "--pp", "4", "--profile", "halo"), "profiles with others: megatron"),
        (("--model", "no-such", "--pp", "4"), "no such file, folder or model"),
    ],
)
def test_misuse_says_what_to_change(arguments: tuple[str, ...], says: str) -> None:
    done = cli("stages", *arguments)
    assert done.code == 2
    assert says in done.words
    assert done.out == ""


def test_a_rejected_check_shows_splits_as_the_nearest() -> None:
    done = cli("check", "--profile", "megatron", "--world", "32", "--pp", "16", "--layers", "61")
    assert done.code == 1
    # the best balanced first: the slowest rank of the last one costs 5
    order = ["--pp 16 --pipeline-layout 'Et*3|t*3|(t*4|)*13t*3L'",
             "--pp 16 --last-stage-layers 1", "--pp 16 --first-stage-layers 1"]  # fmt: skip
    places = [done.words.index(option) for option in order]
    assert places == sorted(places)


def test_a_layout_that_lacks_a_layer_is_mended() -> None:
    done = cli("check", "--profile", "megatron", "--world", "32", "--pp", "4", "--layers", "46",
               "--pipeline-layout", "Et*12|t*12|t*12|t*9L")  # fmt: skip
    assert "nearest --pp 4 --pipeline-layout 'Et*11|(t*12|)*2t*11L'" in done.words


def test_no_solver_is_loaded() -> None:
    done = process("stages", "--layers", "61", "--pp", "16", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.code == 0
    assert "z3" not in done.err
