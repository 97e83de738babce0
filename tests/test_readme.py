"""The README does what it says: its transcripts, its Python, its links.

After a change of what is printed, ``python tests/test_readme.py --write`` runs every command of
every block that follows ``<!-- transcript -->`` and writes what it prints into README.md. Only
``parsolve`` of the interpreter that runs it is used.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"

TRANSCRIPT = re.compile(
    r"(?P<before><!-- transcript -->\n```console\n)(?P<body>.*?)(?P<after>^```$)",
    re.DOTALL | re.MULTILINE,
)
PROMPT = "$ "
SECONDS = re.compile(r"(Z3 in )[0-9.e+-]+( s)")
UNSET = ("FORCE_COLOR", "GITHUB_ACTIONS", "NVLINK_DOMAIN_SIZE", "PYTHONIOENCODING")


@dataclass(frozen=True)
class Step:
    """A command of a transcript and what it prints."""

    command: str
    output: str

    @property
    def comparable(self) -> str:
        """The output without the seconds that Z3 took."""
        return SECONDS.sub(r"\1N\2", self.output)

    def __str__(self) -> str:
        return f"{PROMPT}{self.command}\n{self.output}"


def steps(body: str) -> list[Step]:
    """The commands of a transcript, each with all lines up to the next one."""
    parts = re.split(rf"^{re.escape(PROMPT)}(.*)\n", body, flags=re.MULTILINE)
    assert not parts[0], f"a transcript starts with a command, not with {parts[0]!r}"
    return [Step(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]


def environment() -> dict[str, str]:
    """A terminal of 80 columns in which this interpreter's commands come first."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**kept, "COLUMNS": "80", "PATH": path}


def replayed(told: list[Step]) -> list[Step]:
    """The same commands with what they print now; all of them run in one empty folder."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for step in told:
            done = subprocess.run(
                ["sh", "-c", step.command],  # noqa: S607 - whichever shell the reader has
                capture_output=True,
                check=False,
                cwd=folder,
                env=environment(),
                encoding="utf-8",
                timeout=120,
            )
            assert not done.stderr, f"{step.command} complains: {done.stderr}"
            found.append(Step(step.command, done.stdout))
    return found


def rewritten(text: str) -> str:
    """The README with the outputs of today; where only seconds differ, the old ones stay."""

    def refresh(block: re.Match[str]) -> str:
        told = steps(block["body"])
        pairs = zip(told, replayed(told), strict=True)
        kept = [old if old.comparable == new.comparable else new for old, new in pairs]
        return f"{block['before']}{''.join(map(str, kept))}{block['after']}"

    return TRANSCRIPT.sub(refresh, text)


TEXT = README.read_text(encoding="utf-8")
BLOCKS = [steps(block["body"]) for block in TRANSCRIPT.finditer(TEXT)]


def test_every_marked_block_is_a_transcript() -> None:
    assert len(BLOCKS) == TEXT.count("<!-- transcript -->") >= 4
    assert TEXT.count("```console") == len(BLOCKS)


@pytest.mark.parametrize("told", BLOCKS, ids=lambda told: told[-1].command[:40])
def test_transcripts_are_what_is_printed(told: list[Step]) -> None:
    for old, new in zip(told, replayed(told), strict=True):
        assert old.comparable == new.comparable, "run `python tests/test_readme.py --write`"
        if not old.command.endswith(".jsonl"):  # it is redirected there
            assert old.output


def test_a_changed_transcript_is_written_anew_and_the_rest_left_alone() -> None:
    head = "text\n<!-- transcript -->\n```console\n"
    old = f"{head}$ echo Z3 in 0.5 s\nZ3 in 0.2 s\n$ echo new\nold\n```\n$ echo outside\n"
    assert rewritten(old) == old.replace("\nold\n", "\nnew\n")


def test_python_runs() -> None:
    blocks: list[str] = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", blocks[0]],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=environment(),
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("main-job", "parsolve --world 64 --gpus-per-node 8 --moe --maximize dp\n"),
        ("tests", "python -m pytest\n"),
    ],
)
def test_the_two_commands_are_where_the_build_reads_them(name: str, ending: str) -> None:
    reader = [sys.executable, str(ROOT / ".ci" / "readme_command.py"), str(README), name]
    done = subprocess.run(reader, capture_output=True, check=True, encoding="utf-8", timeout=60)
    assert done.stdout.endswith(ending)
    assert done.stdout.count("\n") == 1


def test_links_lead_to_files() -> None:
    targets: list[str] = re.findall(r"\]\(([^)#\s]+)[^)]*\)", TEXT)
    files = [target for target in targets if "://" not in target]
    assert files
    assert [target for target in files if not (ROOT / target).exists()] == []


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/test_readme.py --write")
    README.write_text(rewritten(TEXT), encoding="utf-8")
