"""The generic profile on the command line: every command takes it."""

from __future__ import annotations

from parsolve.constraints.generic import GENERIC
from tests.cli.run import cli

PROFILE = ("--profile", "generic")
LLAMA = ("--model", "llama-3-70b", "--seq-length", "4096", "--gpu", "h100")


def test_check_says_what_follows() -> None:
    told = cli(
        "check", *PROFILE, "--world", "64", "--tp", "8", "--pp", "2", "--format", "json"
    ).data
    assert told["answer"] == "accepted"
    assert told["derived"]["data_parallel_size"] == 4


def test_a_batch_that_misses_gets_its_nearest_multiples() -> None:
    job = ("--world", "7", "--gpus-per-node", "7", "--micro-batch", "2")
    done = cli("check", *PROFILE, *job, "--global-batch", "128")
    assert done.code == 1
    assert "14 does not divide requested_global_batch = 128" in done.out
    assert "--global-batch 126" in done.out


def test_memory_and_a_bound() -> None:
    fits = cli("memory", *PROFILE, "--world", "64", *LLAMA, "--recompute", "full")
    assert fits.code == 0
    assert fits.out.startswith("fits  [generic]")
    over = cli("check", *PROFILE, "--world", "8", *LLAMA, "--recompute", "full")
    assert over.code == 1
    assert "memory-exceeds-gpu" in over.out


def test_solve_finds_a_stage_and_recomputation_that_fit() -> None:
    vary = ("--vary", "zero_stage", "--vary", "recompute", "--maximize", "dp", "--limit", "1")
    found = cli("solve", *PROFILE, "--world", "64", *LLAMA, *vary, "--format", "json").data
    assert found["answer"] == "best"
    assert found["objectives"][0]["value"] == 64
    assert found["solutions"][0]["config"]["recompute"] == "full"


def test_list_is_complete() -> None:
    done = cli("list", *PROFILE, "--world", "12", "--moe", "--gpus-per-node", "4")
    assert done.code == 0
    assert "complete" in done.err


def test_every_rule_is_told() -> None:
    entries = cli("rules", *PROFILE, "--format", "json").data
    assert [entry["rule"] for entry in entries] == [rule.id for rule in GENERIC.limits]
