"""`parsolve advise`: what people read, what programs read, and how it ends."""

from __future__ import annotations

import re
from pathlib import Path
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

    @pytest.mark.parametrize("world", ["9973", "12"])
    def test_a_long_list_of_rungs_fits_a_terminal(self, world: str) -> None:
        out = cli(
            "advise", "--profile", "megatron", "--model", "qwen3-30b-a3b", "--gpu", "gb200",
            "--gpu-memory", "1TiB", "--seq-len", "128", "--world", world, columns=80,
        ).out  # fmt: skip
        assert max(map(len, out.splitlines())) <= 80
        whole = "none: 9973 GPUs are no whole number of nodes of 4" in out
        assert whole == (world == "9973"), "a launch line starts every GPU or is none"

    def test_what_is_lighter_is_told_as_the_advice_is(self) -> None:
        """What it has of the ladder, without what it takes back of the advice."""
        out = cli(
            "advise", "--profile", "megatron", "--model", "llama-3.1-70b", "--gpu", "h100",
            "--seq-len", "4096", "--world", "64", "--global-batch", "512",
        ).out  # fmt: skip
        (lighter,) = re.findall(r"^  lighter +(.*)", out, re.MULTILINE)
        assert lighter.startswith("sends least per sample of all that fits: --distributed-opt")
        assert " --pp " in lighter
        assert "--no-" not in lighter
        assert "torch_dist" not in lighter


SCRIPT = """\
#!/bin/bash
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py \\
  --tensor-model-parallel-size 4 --sequence-parallel --context-parallel-size 2 \\
  --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --num-layers 32 \\
  --use-distributed-optimizer --log-interval 1
"""
RECIPE = """\
# an SFT run
model_name_or_path: Qwen/Qwen3-30B-A3B
expert_parallel_size: 8
per_device_train_batch_size: 1
max_length: 16384
learning_rate: 1.0e-5
"""


class TestFile:
    @pytest.fixture
    def recipe(self, tmp_path: Path) -> str:
        path = tmp_path / "sft.yaml"
        path.write_text(RECIPE, encoding="utf-8")
        return str(path)

    @pytest.fixture
    def script(self, tmp_path: Path) -> str:
        path = tmp_path / "run.sh"
        path.write_text(SCRIPT, encoding="utf-8")
        return str(path)

    def test_the_advice_is_in_the_words_of_the_file(self, recipe: str) -> None:
        done = cli("advise", recipe, "--gpu", "h100", "--world", "16")
        assert (done.code, done.err) == (0, "")
        assert "  read       model_name_or_path Qwen/Qwen3-30B-A3B (2), expert_" in done.out
        assert "  ignored    learning_rate (6): no rule asks for them" in done.out
        assert (
            "advice  [halo] fsdp_reshard_after_forward: true, gradient_checkpointing: true is the "
            "simplest" in done.out
        )
        assert "  current    expert_parallel_size: 8\n" in done.out
        assert (
            "  change     add fsdp_reshard_after_forward true; add gradient_checkpointing true; "
            "expert_parallel_size 8 -> 1 (line 3)" in done.out
        )

    def test_a_script_says_the_cluster_and_options_replace_what_it_says(self, script: str) -> None:
        told = ("advise", script, "--gpu", "h100", "--model", "llama-3.1-8b")
        out = cli(*told).out
        assert "  current    --tensor-model-parallel-size 4 --context-parallel-size 2" in out
        assert "cp-without-long-sequences" in out
        assert "--context-parallel-size 2 -> 1 (line 3)" in out
        assert "  cluster    32 GPUs of 79.65 GiB, 4 nodes of 8" in out
        replaced = cli(*told, "--cp", "1", "--nnodes", "2")
        assert "cp-without-long-sequences" not in replaced.out
        assert "  cluster    16 GPUs of 79.65 GiB, 2 nodes of 8" in replaced.out

    def test_the_same_said_by_options_is_the_same_advice(self, recipe: str) -> None:
        file = data("advise", recipe, "--gpu", "h100", "--world", "16")
        options = data(*MODEL, "--world", "16", "--ep", "8", "--micro-batch", "1",
                       "--max-length", "16384")  # fmt: skip
        assert file.pop("file")["ignored"]
        assert [edit["key"] for edit in file.pop("edits")][-1] == "expert_parallel_size"
        for answer in (file, options):
            answer["certificate"].pop("seconds")
        assert file == options

    def test_a_file_without_any_rung_is_a_configuration_too(self, tmp_path: Path) -> None:
        path = tmp_path / "plain.yaml"
        path.write_text("model_name_or_path: meta-llama/Meta-Llama-3-8B\nmax_length: 4096\n"
                        "dataloader_num_workers: 2\n", encoding="utf-8")  # fmt: skip
        out = cli("advise", str(path), "--gpu", "h100", "--world", "8").out
        assert "  current    every rung off\n" in out
        assert "  change     nothing\n" in out

    def test_a_change_of_the_batch_is_told(self, tmp_path: Path) -> None:
        path = tmp_path / "cp.yaml"
        path.write_text(RECIPE.replace("expert_parallel_size: 8", "context_parallel_size: 4"),
                        encoding="utf-8")  # fmt: skip
        out = cli("advise", str(path), "--gpu", "h100", "--world", "16").out
        assert "  batch      global_batch 4 -> 16: adapt" in out

    def test_layers_alone_are_no_size_of_a_model(self, script: str) -> None:
        """Without a model nothing fits or not: its weights are not known."""
        for name in ("advise", "check"):
            done = cli(name, script, "--gpu", "h100")
            assert done.code == 2
            assert "the model's size is missing" in done.out + done.err

    def test_a_framework_without_a_ladder_says_so_first(self, tmp_path: Path) -> None:
        path = tmp_path / "accelerate.yaml"
        path.write_text("distributed_type: MULTI_GPU\nnum_processes: 8\nmixed_precision: bf16\n")
        done = cli("advise", str(path), "--gpu", "h100", "--world", "8")
        assert done.code == 2
        assert "has no ladder" in done.err

    def test_lines_fit_a_terminal(self, recipe: str, script: str) -> None:
        for told in ((recipe, "--world", "16"), (script, "--model", "llama-3.1-8b")):
            out = cli("advise", *told, "--gpu", "h100", "--symptom", "oom", columns=80).out
            assert max(len(line) for line in out.splitlines() if ".sh:" not in line
                       and ".yaml:" not in line) <= 80  # fmt: skip


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
            (MODEL, "give the world size, or a FILE that says it"),
            ((*MODEL, "--world", "8", "--nnodes", "3"), "not the same number on each of 3 nodes"),
            (("advise", "no.yaml", "--world", "8"), "no.yaml: cannot be read"),
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
