"""`parsolve check --jsonl` over near-valid configurations, against the reference validator.

The reference is called in a plain loop, on keyword arguments made beforehand, and stops at the
first broken rule. parsolve reads and parses each line, evaluates every rule, derives
every quantity, and writes the verdict with every violation, its numbers and every warning.
Verdict and first rule are compared line by line before anything is timed.
"""

from __future__ import annotations

import io
import json
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import PARSOLVE, Row, Target, Timed, in_turns, quiet_process, same
from parsolve.cli.jsonl import check_lines
from parsolve.constraints import PROFILES
from parsolve.reference import halo as reference
from tests.near_valid import REFERENCE_FIELDS, near_valid

LINES = 20_000
REPAIRED = 2_000
SEED = 20_261_129
HALO = PROFILES["halo"]

Arguments = Sequence[Mapping[str, Any]]


def rows(runs: int) -> Iterator[Row]:
    rng = random.Random(SEED)
    configs = [near_valid(rng) for _ in range(LINES)]
    arguments = [{k: v for k, v in c.items() if k in REFERENCE_FIELDS} for c in configs]
    with TemporaryDirectory() as folder:
        many, few = Path(folder) / "many.jsonl", Path(folder) / "few.jsonl"
        lines = [json.dumps(config) + "\n" for config in configs]
        many.write_text("".join(lines), encoding="utf-8")
        few.write_text("".join(lines[:REPAIRED]), encoding="utf-8")
        same("verdicts", verdicts(many), list(map(reference_verdict, arguments)))

        accepted = sum(map(reference_accepts, arguments))
        validate = partial(validate_all, arguments)
        timed = in_turns(partial(checked, many, 0), validate, runs)
        note = f"{LINES:,} configurations, {accepted:,} of them accepted; seed {SEED}."
        yield row("`check_lines`, in process", timed, LINES, Target(0.1, at_least=True), note)

        command = (*PARSOLVE, "check", "--jsonl", str(many))
        timed = in_turns(partial(quiet_process, *command), validate, runs)
        note = "The same file; start-up counts on our side only."
        yield row("`parsolve check --jsonl`, a process", timed, LINES, None, note)

        timed = in_turns(
            partial(checked, few, 6), partial(validate_all, arguments[:REPAIRED]), min(runs, 3)
        )
        note = f"The first {REPAIRED:,} of them, and up to six repairs for each rejected one."
        yield row("`check_lines` with six repairs", timed, REPAIRED, None, note)


def row(what: str, timed: Timed, lines: int, target: Target | None, note: str) -> Row:
    return Row(
        what=what,
        ours=lines / timed.ours,
        unit="rows/s",
        against="reference `validate`",
        theirs=lines / timed.theirs,
        ratio=1 / timed.ratio,
        target=target,
        note=note,
    )


def checked(path: Path, repairs: int) -> None:
    with Path(os.devnull).open("w", encoding="utf-8") as sink, redirect_stdout(sink):
        check_lines(HALO, str(path), {}, repairs)


def validate_all(arguments: Arguments) -> None:
    for given in arguments:
        try:
            reference.validate(**given)
        except reference.Rejected:
            continue


def reference_accepts(given: Mapping[str, Any]) -> bool:
    return reference_verdict(given) is None


def reference_verdict(given: Mapping[str, Any]) -> str | None:
    try:
        reference.validate(**given)
    except reference.Rejected as rejection:
        return rejection.rule
    return None


def verdicts(path: Path) -> list[str | None]:
    """First violated rule, or None, of every line."""
    with redirect_stdout(io.StringIO()) as out:
        tally = check_lines(HALO, str(path), {}, 0)
    same("unreadable lines", tally.unreadable, 0)
    sys.stdout.flush()
    answers = map(json.loads, out.getvalue().splitlines())
    return [a["violations"][0]["rule"] if a["answer"] == "rejected" else None for a in answers]
