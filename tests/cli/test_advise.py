"""`parsolve advise`: what people read, what programs read, and how it ends."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest

from parsolve.solver.answer import json_schema
from tests.cli.run import cli

MODEL = ("advise", "--model", "qwen3-30b-a3b", "--gpu", "h100")
EXAMPLE = (*MODEL, "--world", "16", "--seq-len", "32768")


def data(*arguments: str) -> dict[str, Any]:
    """The answer as JSON, which its schema allows."""
    answer = cli(*arguments, "--format", "json").data
    assert isinstance(answer, dict)
    jsonschema.validate(answer, json_schema())
    return answer


class TestText:
    def test_the_climb_is_told_rung_by_rung(self) -> None:
        """Each with its memory, why the next is needed, and what it costs; then the flags."""
        done = cli(*EXAMPLE)
        assert (done.code, done.err) == (0, "")
        lines = done.out.splitlines()
        assert lines[0] == (
            "advice  [halo] --fsdp-reshard-after-forward --gradient-checkpointing is the simplest "
            "that is valid and fits (proved)"
        )
        climb = [line for line in lines if re.match(r"  (FSDP2|ZeRO-3|recompute|EP|PP) ?", line)]
        assert [re.split(r"  +", line.strip())[:2] for line in climb] == [
            ["FSDP2 (ZeRO-2)", "too big"],
            ["ZeRO-3", "too big"],
            ["recompute", "fits"],
            ["EP, expert TP, CP, TP"],
            ["PP", "not here"],
        ]
        assert (
            "326.87 GiB -> 269.60 GiB: 189.95 GiB too much at best, so more is needed" in climb[1]
        )
        assert "269.60 GiB -> 50.67 GiB: 28.98 GiB to spare, so nothing more is needed" in climb[2]
        assert "comm_volume_dp 106.63 GiB -> 159.95 GiB" in done.out
        assert "--fsdp_reshard_after_forward true --max_length 32768" in done.out
        assert "nothing valid lies outside of the 4 valid configurations" in done.out

    def test_it_ends_with_two_checks_and_both_launch_lines(self) -> None:
        out = cli(*EXAMPLE).out
        assert "same-step: run one step of both, in fp32 and without dropout" in out
        assert re.search(r"  split, 2 layers: torchrun --nnodes 2 --nproc_per_node 8 .*SCRIPT", out)
        assert re.search(r"  unsplit, 2 layers: torchrun --nnodes 1 --nproc_per_node 1 SCRIPT", out)
        assert "measure: compare the peak memory and the time of a step" in out

    def test_a_stated_configuration_is_judged_with_numbers(self) -> None:
        out = cli(*EXAMPLE, "--profile", "generic", "--tp", "16", "--zero", "1").out
        assert "  current    --tp 16 --zero 1\n" in out
        assert "tp_size = 16 > nvlink_domain_size = 8; comm_volume_tp 45.00 GiB" in out
        assert "zero-at-dp-1" in out

    def test_a_refused_configuration_names_the_rules(self) -> None:
        out = cli(*EXAMPLE, "--tp", "3").out
        assert re.search(r"^  refused    by .*tp-not-dividing-domain", out, re.MULTILINE)

    def test_what_would_do_instead_of_the_last_rung_is_told(self) -> None:
        """A fused loss, and TP is not needed."""
        out = cli(*EXAMPLE, "--profile", "generic").out
        assert "or, one rung lower: --fused-linear-cross-entropy (" in out
        fused = cli(*EXAMPLE, "--profile", "generic", "--fused-linear-cross-entropy").out
        assert fused.startswith("advice  [generic] --zero 3 --recompute full is the simplest")

    def test_where_nothing_fits_the_headline_says_how_many_gpus_would_do(self) -> None:
        done = cli(
            "advise", "--profile", "generic", "--model", "llama-3-70b", "--gpu", "h100",
            "--seq-len", "4096", "--world", "8",
        )  # fmt: skip
        assert done.code == 1
        assert done.out.startswith(
            "nothing fits  [generic] no valid configuration of the ladder fits on 8 GPUs (proved); "
            "on 32 GPUs something does"
        )
        assert "at least: does not fit" in done.out

    @pytest.mark.parametrize("symptom", ["oom", "slow", "bubbles", "long-context", "imbalance"])
    def test_a_symptom_is_told_with_its_numbers(self, symptom: str) -> None:
        done = cli(*EXAMPLE, "--symptom", symptom)
        assert done.code == 0
        assert f"  symptom    {symptom} (advised): " in done.out

    def test_lines_fit_a_terminal(self) -> None:
        shape = ("--profile", "megatron", "--tp", "4", "--pp", "2", "--symptom", "slow")
        out = cli(*EXAMPLE, *shape, columns=80).out
        assert max(map(len, out.splitlines())) <= 80


class TestJson:
    def test_every_status_has_its_shape_and_exit_code(self) -> None:
        found = {}
        for arguments in (
            EXAMPLE,
            (*EXAMPLE, "--gpu-memory", "8GiB"),
            (*EXAMPLE, "--timeout", "0.000001"),
        ):
            answer = data(*arguments)
            status = answer.get("status", answer["answer"])
            found[status] = cli(*arguments).code
        assert found == {"advised": 0, "nothing-fits": 1, "undecided": 3}

    def test_the_advice_is_a_configuration_that_check_accepts(self) -> None:
        answer = data(*EXAMPLE, "--profile", "megatron", "--global-batch", "32")
        (top,) = (rung for rung in answer["rungs"] if rung["state"] == "fits")
        options: list[str] = []
        flags = {
            "distributed_optimizer": "--distributed-optimizer",
            "megatron_fsdp": "--use-megatron-fsdp",
            "ckpt_format": "--ckpt-format",
            "sharding_strategy": "--data-parallel-sharding-strategy",
            "recompute": "--recompute",
            "recompute_method": "--recompute-method",
            "recompute_num_layers": "--recompute-num-layers",
            "sequence_parallel": "--sequence-parallel",
            "tp_size": "--tp",
        }
        for name, value in top["settings"].items():
            options += [flags[name]] if value is True else [flags[name], str(value)]
        done = cli("check", *EXAMPLE[1:], "--profile", "megatron", "--global-batch", "32",
                   "--etp", "1", *options)  # fmt: skip
        assert done.code == 0, done.out

    def test_memory_is_that_of_the_advice(self) -> None:
        answer = data(*EXAMPLE)
        (top,) = (rung for rung in answer["rungs"] if rung["state"] == "fits")
        assert answer["memory"]["bytes"]["total"] == top["memory"]


class TestMisuse:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("advise", "--world", "8", "--model", "llama-3-8b"), "give --gpu or --gpu-memory"),
            (("advise", "--world", "8", "--gpu", "h100"), "give --model"),
            ((*MODEL, "--world", "8,16"), "advise takes one world"),
            ((*MODEL, "--world", "8", "--profile", "accelerate"), "has no ladder"),
            ((*EXAMPLE, "--symptom", "noise"), "--symptom"),
            ((*EXAMPLE, "--timeout", "-1"), "a time limit is a positive number"),
        ],
    )
    def test_says_what_to_change(self, arguments: tuple[str, ...], says: str) -> None:
        done = cli(*arguments)
        assert done.code == 2
        assert says in done.err
