"""``parsolve diff``: two configurations side by side, in the words of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import cli

BEFORE = """\
# an SFT run
model_name_or_path: Qwen/Qwen3-30B-A3B
expert_parallel_size: 8
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
max_length: 16384
gradient_checkpointing: true
learning_rate: 1.0e-5
"""
AFTER = BEFORE.replace("steps: 8", "steps: 16").replace("1.0e-5", "2.0e-5")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    paths = tmp_path / "a.yaml", tmp_path / "b.yaml"
    for path, text in zip(paths, (BEFORE, AFTER), strict=True):
        path.write_text(text, encoding="utf-8")
    return str(paths[0]), str(paths[1])


def test_options_in_quotes() -> None:
    done = cli("diff", "--world 16 --ep 8", "--world 8 --ep 8")
    assert done.code == 1
    assert done.err == ""
    assert "16 -> 8 GPUs, dp 16 -> 8, global batch 16 -> 8" in done.words
    assert "ep 2 x 8 -> 1 x 8 0 0" in done.words


def test_files_with_options_of_their_own_and_shared_ones(files: tuple[str, str]) -> None:
    one, two = files
    done = cli("diff", f"{one} --world 16", f"{two} --world 8", "--gpu", "h100")
    assert done.code == 1
    assert "global batch 128 as before (2,097,152 tokens)" in done.words
    assert "gradient_accumulation_steps 8 (line 5) 16 (line 5)" in done.words
    assert "learning_rate" not in done.words
    assert "of 79.65 GiB" in done.words


def test_what_makes_no_difference_is_told_and_is_none(files: tuple[str, str]) -> None:
    done = cli("diff", '{"world_size": 8, "ep_size": 8}', "--world 8 --ep 8 --ep-scope node")
    assert done.code == 0
    assert "same" in done.words
    assert "no effect --ep-scope: auto = node -> node" in done.words
    again = cli("diff", files[0], files[0], "--world", "8")
    assert (again.code, again.err) == (0, "")


def test_a_broken_rule_has_its_numbers_and_a_mended_one_its_name() -> None:
    done = cli("diff", "--world 8 --ep 8", "--world 8 --ep 4")
    assert done.code == 1
    assert "violated ep-single-domain-multi-group: num_nvlink_domains = 1" in done.words
    assert "groups not compared: --world 8 --ep 4 is rejected" in done.words
    assert "cured ep-single" in cli("diff", "--world 8 --ep 4", "--world 8 --ep 8").words


def test_two_frameworks_are_compared_by_what_both_have() -> None:
    done = cli("diff", "--profile megatron --world 16 --tp 2 --recompute full", "--world 16 --tp 4")
    assert done.code == 1
    assert "data_parallel_size 8 4" in done.words
    assert "--tp 2 4" in done.words
    assert "apart recompute: the other framework has no such setting" in done.words


def test_memory_part_by_part(files: tuple[str, str]) -> None:
    one, _ = files
    done = cli("diff", f"{one} --world 8", f"{one} --world 8 --ep 2", "--format", "json")
    assert done.code == 1
    (answer,) = (done.data,)
    parts = {each["name"]: each for each in answer["memory"]}
    total = parts.pop("total")
    allocated = parts.pop("allocated")
    assert total["after"] > total["before"]
    moved = sum(each["after"] - each["before"] for each in parts.values())
    assert moved == total["after"] - total["before"]
    assert allocated["after"] - allocated["before"] == moved - (
        parts["reserve"]["after"] - parts["reserve"]["before"]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--world 8 --epp 3", "--world 8 --ep 8"), "No such option: --epp"),
        (("--world 8 --ep 'x", "--world 8 --ep 8"), "cannot be read as options"),
        (("{", "--world 8 --ep 8"), "not JSON"),
        (("--ep 8 --tp 1", "--world 8 --ep 8"), "does not say how many GPUs"),
        (("--world 8 --profile x", "--world 8 --ep 8"), "no profile 'x'"),
        (("no-such-file.yaml", "--world 8 --ep 8"), "no-such-file.yaml: cannot be read"),
        (("", "--world 8 --ep 8"), "an empty argument says nothing"),
    ],
)
def test_misuse_says_what_to_change(arguments: tuple[str, str], said: str) -> None:
    done = cli("diff", *arguments)
    assert done.code == 2
    assert said in done.words
