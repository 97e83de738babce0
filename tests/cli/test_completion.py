"""What shells offer: commands, options of the profile that is named, and values."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import get_args

import pytest

from parsolve.cli.commands.advise import SymptomOption
from parsolve.cli.entry import COMPLETE
from parsolve.cli.exporting import ExportName
from parsolve.constraints.ladder import SymptomName
from parsolve.solver.files.export import EXPORTS
from tests.cli.run import cli, run_process

BASH = shutil.which("bash")

LINES = [
    ("parsolve lay", {"layout"}),
    ("parsolve check --prof", {"--profile"}),
    ("parsolve check --profile tor", {"torchtitan"}),
    ("parsolve check --profile a", {"accelerate", "all"}),
    ("parsolve solve --profile a", {"accelerate"}),
    ("parsolve check --model qwen3-30", {"qwen3-30b-a3b"}),
    ("parsolve check --gpu h", {"h100", "h200"}),
    ("parsolve check --ep-scope ", {"auto", "node", "global"}),
    ("parsolve check --trainer unspec", set()),
    ("parsolve check --profile megatron --recompute-me", {"--recompute-method"}),
    ("parsolve check --profile=megatron --ckpt-format torch_", {"torch_dist", "torch_dcp"}),
    ("parsolve check --profile nonsense --ep-s", {"--ep-scope"}),
    ("parsolve check --format ", {"text", "json", "github", "sarif"}),
    ("parsolve solve --world 64 --minimize bub", {"bubble"}),
    ("parsolve solve --world 64 --vary use_h", {"use_hsdp"}),
    ("parsolve solve --profile megatron --prefer tp", {"tp-in-domain"}),
    ("parsolve --world 64 --gpus-p", {"--gpus-per-node"}),
    ("parsolve --worl", {"--world"}),
    ("parsolve --world 64 --gpu gb", {"gb200"}),
    ("parsolve rules ep-single", {"ep-single-domain-multi-group"}),
    ("parsolve rules --profile accelerate --stage acc", {"accelerator"}),
    ("parsolve layout --axis disp", {"dispatch"}),
    ("parsolve stages --profile meg", {"megatron"}),
    ("parsolve models deepseek-v3", {"deepseek-v3"}),
    ("parsolve prove cl", {"claims"}),
]  # fmt: skip


def words(line: str) -> list[str]:
    """The words of a line, the one that is being typed last."""
    return [*shlex.split(line), *([""] if line.endswith(" ") else [])]


@pytest.mark.parametrize(("line", "offered"), LINES)
def test_bash_is_offered(line: str, offered: set[str]) -> None:
    position = str(len(words(line)) - 1)
    asked = {COMPLETE: "complete_bash", "COMP_WORDS": line, "COMP_CWORD": position}
    done = cli(env=asked)
    assert (done.code, done.err) == (0, "")
    assert {*done.out.split()} == offered


@pytest.mark.parametrize(("line", "offered"), [each for each in LINES if each[1]])
def test_zsh_is_offered_the_same(line: str, offered: set[str]) -> None:
    done = cli(env={COMPLETE: "complete_zsh", "_TYPER_COMPLETE_ARGS": line})
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("_arguments '*: :((")
    assert all(f'"{each}"' in done.out for each in offered)


def test_where_nothing_is_offered_zsh_takes_files() -> None:
    asked = {COMPLETE: "complete_zsh", "_TYPER_COMPLETE_ARGS": "parsolve check --jsonl "}
    assert cli(env=asked).out == "_files\n"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_asks_parsolve(shell: str) -> None:
    done = cli(env={COMPLETE: f"source_{shell}"})
    assert (done.code, done.err) == (0, "")
    assert f"{COMPLETE}=complete_{shell}" in done.out
    assert "_parsolve_completion" in done.out


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_in_a_real_bash(tmp_path: Path) -> None:
    """The script is sourced, and its function called as bash calls it."""
    assert BASH is not None
    command = tmp_path / "parsolve"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m parsolve "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    script = cli(env={COMPLETE: "source_bash"}).out
    asks = (
        f"{script}\nCOMP_WORDS=(parsolve --world 64 --gpu h)\nCOMP_CWORD=4\n"
        '_parsolve_completion parsolve\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    done = run_process([BASH, "-c", asks], env={"PATH": path})
    assert (done.code, done.err, done.out.split()) == (0, "", ["h100", "h200"])


def test_choices_that_load_nothing_are_those_that_there_are() -> None:
    assert [*ExportName] == [*EXPORTS]
    assert [*SymptomOption] == [*get_args(SymptomName)]
