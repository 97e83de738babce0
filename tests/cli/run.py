"""Run the command line: quickly inside this process, or as a process of its own.

Both start from an environment in which nothing that changes the output is set.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from parsolve.cli import main

ROOT = Path(__file__).resolve().parents[2]

UNSET = (
    "COLUMNS",
    "FORCE_COLOR",
    "GITHUB_ACTIONS",
    "LINES",
    "NO_COLOR",
    "NVLINK_DOMAIN_SIZE",
    "PYTHONIOENCODING",
    "PY_COLORS",
    "TERMINAL_WIDTH",
    "TYPER_USE_RICH",
    "_PARSOLVE_COMPLETE",
)
"""Variables that change what is printed, or what is checked."""

SIGNALLED = 128
"""A shell reports a process that a signal ended as this and the signal's number."""


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:  # noqa: ANN401 - JSON has no narrower type
        """Standard output as one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def words(self) -> str:
        """Standard output and error without wrapping, frames and colours."""
        plain = re.sub(r"\x1b\[[0-9;]*m", "", f"{self.out}\n{self.err}")
        return " ".join(re.sub("[\u2500-\u257f]", " ", plain).split())


def environment(
    columns: int | None = None, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment without what changes the output, and what is asked for."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    if columns is not None:
        kept["COLUMNS"] = str(columns)
    return {**kept, **(extra or {})}


def cli(
    *arguments: str,
    stdin: str | bytes = b"",
    columns: int | None = None,
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run the command line in this process."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    streams = {
        "stdin": io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"),
        "stdout": io.TextIOWrapper(io.BytesIO(), encoding="utf-8"),
        "stderr": io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace"),
    }
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, environment(columns, env), clear=True))
        for name, stream in streams.items():
            stack.enter_context(mock.patch.object(sys, name, stream))
        with pytest.raises(SystemExit) as caught:
            main(arguments)
    code = caught.value.code
    assert isinstance(code, int)
    return Outcome(code, _text(streams["stdout"]), _text(streams["stderr"]))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def command(*arguments: str) -> list[str]:
    """The command line of a process of its own."""
    return [sys.executable, "-m", "parsolve", *arguments]


def process_environment(
    columns: int | None = None, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """An environment in which a process finds this tree's parsolve wherever it starts."""
    return environment(columns, {"PYTHONPATH": str(ROOT), **(extra or {})})


def process(
    *arguments: str,
    stdin: str | bytes = b"",
    columns: int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
) -> Outcome:
    """Run the command line as a process of its own."""
    return run_process(command(*arguments), stdin=stdin, columns=columns, env=env, cwd=cwd)


def run_process(
    words: Sequence[str],
    *,
    stdin: str | bytes = b"",
    columns: int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
) -> Outcome:
    """Run any program in the same environment."""
    done = subprocess.run(
        words,
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        check=False,
        cwd=cwd,
        env=process_environment(columns, env),
        timeout=120,
    )
    return Outcome(exit_code(done.returncode), done.stdout.decode(), done.stderr.decode())


def exit_code(returned: int) -> int:
    """An exit code as a shell reports it."""
    return returned if returned >= 0 else SIGNALLED - returned


def without_seconds(text: str) -> str:
    """The text with Z3's seconds, which differ from run to run, replaced."""
    return re.sub(r"(Z3 in )[0-9.e+-]+( s)", r"\1N\2", text)
