"""Many configurations, one JSON object a line in, one verdict a line out, in order."""

from __future__ import annotations

import json
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import BinaryIO, NoReturn

from parsolve.cli.output import FileError
from parsolve.constraints.fields import FieldError
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Unreadable, to_json
from parsolve.solver.facts import refuse_change
from parsolve.solver.verdict_lines import verdict_line

LONGEST_LINE = 2**20
"""Bytes; a configuration has some hundreds."""


JSON_NAMES: dict[type, str] = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
}
"""What a reader of JSON calls the values that Python has for it."""


@dataclass
class Tally:
    """How the lines came out."""

    accepted: int = 0
    rejected: int = 0
    unreadable: int = 0


def check_lines(
    profile: Profile, path: str, defaults: dict[str, object], shown_repairs: int
) -> Tally:
    """Check every line of the file (``-`` is standard input), writing verdicts as they come.

    ``defaults`` hold for every line that does not say otherwise. A line that is no
    configuration gets an ``error`` object of its own, and the rest is still checked.
    """
    tally = Tally()
    write = sys.stdout.write
    # whoever writes into a pipe may wait for each answer; a file waits for nothing
    flush = _later if Path(path).is_file() else sys.stdout.flush
    for number, line in _lines(path):
        try:
            config = profile.config(_merged(profile, defaults, configuration(line)))
            accepted, text = verdict_line(config, shown_repairs=shown_repairs)
        except FieldError as error:
            tally.unreadable += 1
            sys.stderr.write(f"parsolve: {path}:{number}: {error}\n")
            text = to_json(Unreadable(line=number, error=str(error)))
        else:
            if accepted:
                tally.accepted += 1
            else:
                tally.rejected += 1
        write(text + "\n")
        flush()
    return tally


def _later() -> None:
    """Leave it to the stream when to write."""


def _merged(
    profile: Profile, defaults: dict[str, object], given: dict[str, object]
) -> dict[str, object]:
    if not defaults:
        return given
    refuse_change(profile, defaults, given)
    said = {profile.spellings.get(spelling, spelling) for spelling in given}
    return {**{k: v for k, v in defaults.items() if k not in said}, **given}


def configuration(line: bytes) -> dict[str, object]:
    """The fields that a JSON object names. Raises `FieldError`."""
    if len(line) > LONGEST_LINE:
        message = f"the line is longer than {LONGEST_LINE} bytes"
        raise FieldError(message)
    try:
        text = line.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8 text at byte {error.start + 1}"
        raise FieldError(message) from None
    try:
        value = READER.decode(text)
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} at column {error.colno}"
        raise FieldError(message) from None
    except RecursionError:
        message = "not a configuration: nested too deeply"
        raise FieldError(message) from None
    except FieldError:
        raise
    except ValueError:
        message = "not a configuration: a number has too many digits"
        raise FieldError(message) from None
    if not isinstance(value, dict):
        message = f"expected a JSON object, got {JSON_NAMES[type(value)]}"
        raise FieldError(message)
    return value


def _no_number(constant: str) -> NoReturn:
    message = f"{constant} is not a size"
    raise FieldError(message)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        message = f"{twice} is given twice"
        raise FieldError(message)
    return result


READER = json.JSONDecoder(parse_constant=_no_number, object_pairs_hook=_unique)


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank, read as they come and never held in memory."""
    try:
        if path == "-":
            yield from _numbered(sys.stdin.buffer)
            return
        with Path(path).open("rb") as file:
            yield from _numbered(file)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
        raise FileError(message) from None


def _numbered(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        whole = line.endswith(b"\n")
        while not whole and (rest := file.readline(LONGEST_LINE)):
            whole = rest.endswith(b"\n")
        if line.strip() or len(line) > LONGEST_LINE:
            yield number, line
