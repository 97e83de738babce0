"""Answers keep within 80 columns, and say everything that was given, differs or was searched."""

from __future__ import annotations

import re

import pytest

from parsolve.cli.screen import Screen
from parsolve.cli.table import Column, Table
from tests.cli.run import cli

WIDTH = 80
HALO = ("--model", "qwen3-8b", "--max-length", "4096")
GENERIC = ("--profile", "generic", "--model", "qwen3-8b", "--seq-length", "4096")
MOE = ("--model", "qwen3-30b-a3b", "--max-length", "4096", "--gpu", "b200")
FUSED = ("--vary", "fused_linear_cross_entropy", "--vary", "gradient_checkpointing")

TABLES = [
    ("solve", "--world", "8..64", "--moe"),
    ("solve", "--world", "8..64", *MOE, "--minimize", "world", *FUSED),
    ("solve", "--world", "8", *MOE, "--pareto", "memory,dp", *FUSED),
    ("solve", "--world", "1024", "--model", "deepseek-v3", "--gpu", "b300", "--max-length", "4096"),
    ("solve", "--world", "8,16", *GENERIC, "--pareto", "memory,dp", "--vary", "micro_batch"),
    ("list", "--world", "8..32", *MOE, "--limit", "40"),
    ("list", "--world", "8", *HALO, "--gpu", "h100", *FUSED),
    ("list", "--world", "8", *GENERIC, "--vary", "recompute", "--vary", "micro_batch"),
    ("list", "--world", "100000", "--moe", "--limit", "40"),
    ("models",),
    ("models", "deepseek-v3"),
    ("memory", "--world", "8", *MOE, "--ep", "8"),
    ("memory", "--world", "8", *GENERIC),
]


@pytest.mark.parametrize("arguments", TABLES, ids=" ".join)
def test_all_is_within_80_columns(arguments: tuple[str, ...]) -> None:
    done = cli(*arguments, columns=WIDTH)
    assert done.code in {0, 1}
    assert [line for line in done.out.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize("arguments", TABLES, ids=" ".join)
def test_a_pipe_gets_the_same_tables(arguments: tuple[str, ...]) -> None:
    def rows(text: str) -> list[str]:
        return [line for line in text.splitlines() if re.match(r"  +[#\d]+  ", line)]

    assert rows(cli(*arguments).out) == rows(cli(*arguments, columns=WIDTH).out)


@pytest.mark.parametrize("arguments", [a for a in TABLES if a[0] == "solve"], ids=" ".join)
def test_no_column_is_empty(arguments: tuple[str, ...]) -> None:
    lines = cli(*arguments).out.splitlines()
    table = [line.split() for line in lines if re.match(r" +\d+ .*[0-9]", line)]
    width = min(len(row) for row in table)
    for place in range(1, width + 1):
        assert {row[-place] for row in table} != {"-"}


def test_a_front_over_the_world_has_one_column_of_worlds() -> None:
    done = cli("solve", "--world", "8,16", *HALO, "--pareto", "memory,world")
    table = [line for line in done.out.splitlines() if line.startswith("  #")]
    assert [line.split()[:3] for line in table] == [["#", "world", "options"]]


def test_options_wrap_between_each_other_and_stand_below_where_one_is_too_long(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = Table(Screen(), [Column("options", 99, right=False, wraps=True), Column("n", 50)])
    table.row(["--tp 2 --cp 4 --ep 8", "1"])
    table.row(["--gradient-accumulation-steps 64 --tp 2", "2"])
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        f"  {'options':<26}  {'n':>50}",
        f"  {'--tp 2 --cp 4 --ep 8':<26}  {'1':>50}",
        f"  {'':<26}  {'2':>50}",
        "      --gradient-accumulation-steps 64 --tp 2",
    ]


class TestEverythingIsSaid:
    def test_what_was_given_is_in_the_headline(self) -> None:
        run = ("--precision-policy", "fp32", "--trainer", "dpo", "--reference-model", "live")
        done = cli("check", "--world", "8", *HALO, *run)
        headline = done.out.splitlines()[0]
        assert headline.endswith(
            "--precision-policy fp32 --trainer dpo --max-length 4096 --reference-model live on "
            "8 GPUs, 1 node of 8, NVLink domain 8"
        )
        assert "model      --dense --expert-ffn 12288 --hidden-size 4096" in done.out

    def test_a_rejected_configuration_is_said(self) -> None:
        done = cli("check", "--world", "8", "--tp", "3", "--trainer", "dpo")
        assert "given      --tp 3 --trainer dpo on 8 GPUs, 1 node of 8" in done.out

    def test_the_memory_of_a_gpu_is_said(self) -> None:
        done = cli("solve", "--world", "8", *HALO, "--gpu", "h100")
        assert "cluster    8 GPUs of 79.65 GiB, 1 node of 8, NVLink domain 8" in done.out

    def test_rows_that_differ_in_a_field_of_the_run_look_different(self) -> None:
        done = cli(
            *("solve", "--world", "8", *HALO, "--vary", "precision_policy"),
            *("--where", 'precision_policy == "bf16" or precision_policy == "fp32"'),
        )
        rows = [line.split()[1:3] for line in done.out.splitlines() if re.match(r"  \d ", line)]
        assert rows == [["--precision-policy", "bf16"], ["--precision-policy", "fp32"]]

    def test_what_was_searched_and_is_alike_everywhere_is_said(self) -> None:
        done = cli("solve", "--world", "64", "--moe", "--vary", "use_hsdp", "--limit", "3")
        assert "all with   --no-use-hsdp\n" in done.out

    def test_a_listing_says_it_too(self) -> None:
        arguments = ("list", "--world", "8", *HALO, "--trainer", "dpo", "--vary", "use_hsdp")
        done = cli(*arguments)
        assert "all with   --trainer dpo --max-length 4096" in done.out
        rows = [line for line in done.out.splitlines() if " GiB" in line]
        assert rows
        assert all("use-hsdp" in line for line in rows)
        header, *lines = cli(*arguments, "--format", "csv").out.splitlines()
        assert {"trainer", "use_hsdp", "max_length"} <= {*header.split(",")}
        assert len({*lines}) == len(lines) == len(rows)


class TestLaunch:
    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (("--global-batch", "64"), "--gradient_accumulation_steps 8 "),
            (("--global-batch", "64", "--micro-batch", "2"), "--gradient_accumulation_steps 4 "),
            (("--global-batch", "8"), "--gradient_accumulation_steps 1 "),
        ],
    )
    def test_accumulation_follows_from_the_global_batch(
        self, given: tuple[str, ...], said: str
    ) -> None:
        done = cli("check", "--world", "8", *HALO, *given)
        launch = done.out.splitlines()[-1]
        assert said in launch
        assert "global_batch" not in launch
        solved = cli("solve", "--world", "8", *HALO, *given)
        assert said in solved.out

    def test_given_steps_are_said_once(self) -> None:
        given = ("--global-batch", "64", "--gradient-accumulation-steps", "8")
        launch = cli("check", "--world", "8", *HALO, *given).out.splitlines()[-1]
        assert launch.count("gradient_accumulation_steps 8") == 1

    def test_a_stack_without_arguments_is_told_names_and_values(self) -> None:
        done = cli("check", "--world", "16", *GENERIC, "--global-batch", "64", "--pp", "2")
        assert "also set pp_size = 2, requested_global_batch = 64, num_microbatches = 8" in done.out
        flat = cli("check", "--world", "16", *GENERIC, "--global-batch", "64")
        assert "gradient_accumulation_steps = 4, " in flat.out


class TestOtherProfilesOptions:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--seq-length", "4096"), "No such option: --seq-length. Did you mean --max-length?"),
            (("--sequence_length=4096",), "Did you mean --max-length?"),
            (("--zero", "3"), "No such option: --zero; the generic profile has it."),
            (("--no-reshard-after-forward",), "the generic profile has it."),
            (("--profile", "generic", "--use-hsdp"), "the halo profile has it."),
        ],
    )
    @pytest.mark.parametrize("verb", ["check", "solve", "list", "memory"])
    def test_it_is_said(self, verb: str, arguments: tuple[str, ...], said: str) -> None:
        done = cli(verb, "--world", "8", *arguments)
        assert (done.code, done.out) == (2, "")
        assert said in done.words


def test_a_conflict_says_what_was_tried_of_what_was_asked() -> None:
    done = cli("solve", "--world", "8", "--model", "llama-3-70b", *HALO[2:], "--gpu", "a100-40")
    assert done.code == 1
    searched = next(line for line in done.out.splitlines() if "searched" in line)
    assert "to see what conflicts, also without gpu_memory, gpus_per_node at 4 other v" in searched
    assert searched.endswith("the framework's rules hold throughout")
