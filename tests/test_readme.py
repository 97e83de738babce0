"""The README does what it says: its Python, its two commands, its links."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.test_transcripts import ROOT, environment

README = ROOT / "README.md"

TEXT = README.read_text(encoding="utf-8")


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
