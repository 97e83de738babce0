"""Every ``console`` block of README.md and docs/ is what its commands print.

A page is one session: its blocks run in order, in one folder that starts empty. A block of code
whose fence has a title (```` ```python title="config.py" ````) is that file in this folder. After a
change of what is printed, ``python tests/test_transcripts.py --write`` runs all of it and writes
what it prints into the pages. Only ``parsolve`` of the interpreter that runs it is used.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from parsolve.cli.app import SUMMARIES, build
from parsolve.cli.entry import OWN_OPTIONS, with_default_command

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

BLOCK = re.compile(
    r'(?P<before>^```(?:console|\w+ title="(?P<file>[^"]+)")\n)(?P<body>.*?)(?P<after>^```$)',
    re.DOTALL | re.MULTILINE,
)
PROMPT = "$ "
SECONDS = re.compile(r"(Z3 in )[0-9.e+-]+( s)")
PROOF = re.compile(r"^ +proof .*\n(?: {13}.*\n)*", re.MULTILINE)
"""A paragraph that wraps elsewhere where its seconds have more digits."""
UNSET = ("FORCE_COLOR", "GITHUB_ACTIONS", "NVLINK_DOMAIN_SIZE", "PYTHONIOENCODING")


@dataclass(frozen=True)
class Step:
    """A command of a transcript and what it prints."""

    command: str
    output: str

    @property
    def comparable(self) -> str:
        """The output without the seconds that Z3 took, nor where their paragraph wraps."""
        unwrapped = PROOF.sub(lambda found: " ".join(found[0].split()) + "\n", self.output)
        return SECONDS.sub(r"\1N\2", unwrapped)

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


def replayed(step: Step, folder: str) -> Step:
    """The same command with what it prints now."""
    done = subprocess.run(
        ["sh", "-c", step.command],  # noqa: S607 - whichever shell the reader has
        capture_output=True,
        check=False,
        cwd=folder,
        env=environment(),
        encoding="utf-8",
        timeout=300,
    )
    assert not done.stderr, f"{step.command} complains: {done.stderr}"
    return Step(step.command, done.stdout)


def rewritten(text: str) -> str:
    """The page with the outputs of today; where only seconds differ, the old ones stay."""
    with tempfile.TemporaryDirectory() as folder:

        def refresh(block: re.Match[str]) -> str:
            body = block["body"]
            if block["file"]:
                file = Path(folder, block["file"])
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(body, encoding="utf-8")
                return block[0]
            pairs = [(told, replayed(told, folder)) for told in steps(body)]
            kept = [old if old.comparable == new.comparable else new for old, new in pairs]
            return f"{block['before']}{''.join(map(str, kept))}{block['after']}"

        return BLOCK.sub(refresh, text)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


TEXTS = {named(page): page.read_text(encoding="utf-8") for page in PAGES}
SESSIONS = [name for name, text in TEXTS.items() if "```console" in text]


@pytest.mark.parametrize("name", SESSIONS)
def test_transcripts_are_what_is_printed(name: str) -> None:
    assert TEXTS[name] == rewritten(TEXTS[name]), "run python tests/test_transcripts.py --write"


@pytest.mark.parametrize("name", TEXTS)
def test_no_transcript_is_overlooked(name: str) -> None:
    """Whatever looks like one is a block that is run."""
    text = TEXTS[name]
    blocks = [block for block in BLOCK.finditer(text) if not block["file"]]
    assert len(blocks) == len(re.findall(r"^\s*```console", text, re.MULTILINE))
    prompts = sum(len(steps(block["body"])) for block in blocks)
    assert prompts == len(re.findall(r"^\s*\$ \S", text, re.MULTILINE))


COMMAND = re.compile(r"(?<![\w./-])parsolve ([^|;&>`\n]+)")


@pytest.mark.parametrize("name", TEXTS)
def test_commands_that_are_only_shown_can_be_read(name: str) -> None:
    """Blocks whose output nobody shows are not run; their options exist."""
    shown: list[str] = re.findall(
        r"^```(?:sh|yaml)\n(.*?)^```$", TEXTS[name], re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"(^| )#.*", "", "\n".join(shown).replace("\\\n", " "), flags=re.MULTILINE)
    for line in COMMAND.findall(text):
        verb, *words = with_default_command(shlex.split(line))
        if verb in SUMMARIES:
            build(verb, words).make_context(verb, words)
        else:
            assert verb in OWN_OPTIONS, line


def test_the_pages_are_found() -> None:
    assert {"README.md", "docs/layout.md", "docs/fixtures.md", "docs/pipelines.md"} <= {*SESSIONS}


def test_a_changed_transcript_is_written_anew_and_the_rest_left_alone() -> None:
    head = "text\n```console\n"
    old = f"{head}$ echo Z3 in 0.5 s\nZ3 in 0.2 s\n$ echo new\nold\n```\n$ echo outside\n"
    assert rewritten(old) == old.replace("\nold\n", "\nnew\n")


def test_where_a_proof_wraps_hangs_on_its_seconds_and_counts_for_nothing() -> None:
    one = Step(
        "", "best\n  proof      Z3 in 0.31 s, building included: no valid\n             one\n  x\n"
    )
    other = Step("", "best\n  proof      Z3 in 1 s, building included: no valid one\n  x\n")
    assert one.comparable == other.comparable
    assert one.comparable != Step("", other.output.replace("no valid", "any valid")).comparable
    assert one.comparable != Step("", other.output.replace("  x", "  y")).comparable


def test_a_page_is_one_session_with_its_files() -> None:
    page = '```sh title="a.txt"\nhello\n```\n```console\n$ cat a.txt > b\n```\nand\n'
    page += "```console\n$ cat b\nhello\n```\n"
    assert rewritten(page) == page


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/test_transcripts.py --write")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if (fresh := rewritten(text)) != text:
            page.write_text(fresh, encoding="utf-8")
