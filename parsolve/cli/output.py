"""Where a command writes: a file that ``-o`` names, or standard output."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TextIO

import typer

from parsolve.constraints.fields import Misuse

PANEL = "Output"
STANDARD_OUTPUT = "-"

OutputFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE|-",
        help="File to write.",
        rich_help_panel=PANEL,
        show_default="standard output",
    ),
]


class FileError(Misuse):
    """A file that cannot be read or written. The message says which and why."""


def is_standard(output: str | None) -> bool:
    """Whether standard output is meant."""
    return output in {None, STANDARD_OUTPUT}


def check_writable(output: str | None) -> None:
    """Refuse before the work what would be refused after it. Raises `FileError`."""
    if output is None or is_standard(output):
        return
    path = Path(output)
    if path.is_dir():
        raise FileError(f"cannot write {output}: it is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileError(f"cannot write {output}: there is no folder {path.parent}")


def write_to(output: str | None, write: Callable[[TextIO], object], about: str = "") -> None:
    """Have something written, and say so on standard error if it goes to a file.

    Raises `FileError`.
    """
    if output is None or is_standard(output):
        write(sys.stdout)
        sys.stdout.flush()  # a closed pipe is noticed here, not at the end
        return
    text = io.StringIO()
    write(text)
    try:
        _replace(Path(output), text.getvalue())
    except OSError as error:
        raise FileError(f"cannot write {output}: {error.strerror or error}") from None
    sys.stderr.write(f"parsolve: wrote {output}{about}\n")


def _replace(path: Path, text: str) -> None:
    """Write all of a file or nothing: what was there stays until the new text is whole."""
    # an argument may hold bytes that are no text
    content = text.encode("utf-8", "backslashreplace")
    if path.exists() and not path.is_file():  # a device, a pipe
        path.write_bytes(content)
        return
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
