"""Obligations as SMT-LIB 2 files, and a second solver's opinion of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import z3

from parsolve.constraints.fields import Misuse
from parsolve.solver.answer import Recheck
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.prove.obligation import Goal
from parsolve.solver.prove.run import Result

Reply: TypeAlias = Literal["sat", "unsat", "unknown"]

SOLVERS = ("cvc5",)
"""Solvers that can be asked for a second opinion."""

LONGEST_NAME = 120
"""Characters of a file's name."""

PATIENCE = 2.0
"""Seconds that the second solver has for one file."""


@dataclass(frozen=True, slots=True)
class Script:
    """One question as an SMT-LIB 2 file, and the answer that proves the statement."""

    name: str
    text: str
    expected: Literal["sat", "unsat"]

    @property
    def question(self) -> str:
        """The script without the answer: a solver that knows it reports an error instead."""
        return self.text.replace(f"(set-info :status {self.expected})\n", "")


def scripts(results: Iterable[Result]) -> list[Script]:
    """A script for each goal of each obligation."""
    found: list[Script] = []
    for result in results:
        goals = result.finding.goals
        for number, goal in enumerate(goals, 1):
            part = f"-{number}" if len(goals) > 1 else ""
            name = f"{_file_name(result.obligation.name)}{part}.smt2"
            found.append(Script(name, _text(goal), goal.expected))
    return found


def _text(goal: Goal) -> str:
    solver = SeparateSolver()
    solver.add(*_needed(goal))
    body = re.sub(
        r"^; benchmark.*\n|^\(set-info :status .*\n", "", solver.to_smt2(), flags=re.MULTILINE
    )
    title = re.sub(r"[|\s]+", " ", goal.name)
    return (
        "(set-info :smt-lib-version 2.6)\n"
        f"(set-info :source |parsolve: {title}|)\n"
        "(set-logic ALL)\n"
        f"(set-info :status {goal.expected})\n{body}"
    )


def _needed(goal: Goal) -> Sequence[z3.BoolRef]:
    """Assertions that already contradict each other, so that the file is short; else all."""
    if goal.expected == "sat":
        return goal.assertions
    solver = SeparateSolver(z3.SolverFor, "QF_UFLIA")
    marks = [z3.Bool(f"assertion {place}") for place in range(len(goal.assertions))]
    solver.add(*map(z3.Implies, marks, goal.assertions))
    if decide(solver, Deadline(PATIENCE), marks) != z3.unsat:
        return goal.assertions
    core = {mark.get_id() for mark in solver.unsat_core()}
    return [
        formula
        for mark, formula in zip(marks, goal.assertions, strict=True)
        if mark.get_id() in core
    ]


def _file_name(name: str) -> str:
    """The name with dots for slashes, safe on every file system."""
    plain = re.sub(r"[^A-Za-z0-9.+-]+", "_", name.replace("/", "."))
    if len(plain) <= LONGEST_NAME:
        return plain
    return f"{plain[: LONGEST_NAME - 20]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def emit(found: Iterable[Script], folder: Path) -> int:
    """Write one file per goal into a folder; says how many. Raises `OSError` if it cannot."""
    count = 0
    for script in found:
        (folder / script.name).write_text(script.text, encoding="utf-8")
        count += 1
    return count


def recheck(found: Iterable[Script], ask: Solver) -> Recheck:
    """Have a second solver decide the same scripts."""
    confirmed = unknown = 0
    contradicted: list[str] = []
    for script in found:
        reply = ask(script.question)
        if reply == "unknown":
            unknown += 1
        elif reply == script.expected:
            confirmed += 1
        else:
            contradicted.append(script.name.removesuffix(".smt2"))
    return Recheck(
        solver=ask.name, confirmed=confirmed, unknown=unknown, contradicted=tuple(contradicted)
    )


class Solver:
    """A second solver, asked script by script. Raises `Misuse` where it is not installed."""

    def __init__(self, name: str, seconds: float = PATIENCE) -> None:
        if name not in SOLVERS:
            message = f"--recheck takes {', '.join(SOLVERS)}, got {name!r}"
            raise Misuse(message)
        try:
            import cvc5  # noqa: PLC0415  (an optional dependency)
        except ImportError as error:
            message = "--recheck cvc5 needs the package cvc5: pip install 'parsolve[recheck]'"
            raise Misuse(message) from error
        self.name = name
        self.seconds = seconds
        self._cvc5 = cvc5

    def __call__(self, text: str) -> Reply:
        """What it says of a script. Raises `RuntimeError` for one that it cannot read."""
        engine = self._cvc5.Solver()
        engine.setOption("tlimit-per", str(int(self.seconds * 1000)))
        parser = self._cvc5.InputParser(engine)
        parser.setStringInput(self._cvc5.InputLanguage.SMT_LIB_2_6, text, "parsolve")
        symbols = parser.getSymbolManager()
        reply: Reply = "unknown"
        while not (command := parser.nextCommand()).isNull():
            said = str(command.invoke(engine, symbols)).strip()
            if said.startswith("(error"):
                message = f"{self.name} cannot read the question: {said}"
                raise RuntimeError(message)
            if said in {"sat", "unsat"}:
                reply = said  # type: ignore[assignment]
        return reply
