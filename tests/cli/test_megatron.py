"""The Megatron profile at the command line: stages in words, launch lines, preferences."""

from __future__ import annotations

from tests.cli.run import cli

MEGATRON = ("--profile", "megatron")
LLAMA = (
    *MEGATRON, "--model", "llama-3-70b", "--world", "64", "--gpu", "h100", "--seq-length", "8192",
    "--sequence-parallel", "--distributed-optimizer", "--global-batch", "128",
)  # fmt: skip


def test_a_late_death_says_what_let_it_pass() -> None:
    done = cli("check", *MEGATRON, "--world", "8", "--tp", "2", "--ep", "4", "--experts", "8",
               "--no-bias-linear")  # fmt: skip
    assert done.code == 1
    assert (
        "first-step: dies in the first training step, after arguments, batch, config, groups, "
        "model let it pass"
    ) in done.words
    assert "megatron/core/transformer/moe/moe_layer.py:630 · forward" in done.words
    assert "changed etp-follows-tp" in done.words


def test_a_launch_line_is_what_argparse_reads() -> None:
    done = cli("check", *MEGATRON, "--world", "8", "--pp", "2", "--layers", "3",
               "--pipeline-layout", "Ett|tL", "--recompute", "selective", "--recompute-modules",
               "moe,mlp", "--no-overlap-p2p", "--no-bias-linear")  # fmt: skip
    assert done.code == 0
    assert (
        "pretrain_gpt.py --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "
        "'Ett|tL' --no-overlap-p2p-communication --micro-batch-size 1 --bf16 "
        "--recompute-granularity selective --recompute-modules moe mlp --num-layers 3 "
        "--disable-bias-linear"
    ) in done.words


def test_setting_an_axis_that_is_unset_switches_none_off() -> None:
    done = cli("check", *MEGATRON, "--world", "8", "--ep", "8", "--tp", "4")
    assert done.code == 1
    assert "--tp 4 --ep 8 --etp 1" in done.words


def test_a_preference_stands_above_the_objective() -> None:
    def best(*options: str) -> dict[str, int]:
        answer = cli("solve", *LLAMA, "--minimize", "memory", *options, "--format", "json").data
        config: dict[str, int] = answer["solutions"][0]["config"]
        return config

    assert best()["tp_size"] == 64
    assert best("--prefer", "tp-in-domain")["tp_size"] == 8


def test_an_unknown_preference_names_those_there_are() -> None:
    done = cli("solve", *LLAMA, "--prefer", "speed")
    assert done.code == 2
    assert "no preference 'speed'; there are: tp-in-domain" in done.words
