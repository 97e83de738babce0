"""What else a process asked of Z3 makes no difference to a proof."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import z3

from parsolve.solver import arithmetic
from parsolve.solver.deadline import Deadline
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.prove import completeness
from tests.solver.questions import HALO

HERE = Path(__file__).parent
SANE = 300.0
"""Seconds for what takes 20 on a quiet machine, and took more than ten minutes."""


def test_proofs_after_many_other_questions_take_no_longer() -> None:
    """One process, in the order that once made Z3 search for minutes."""
    before = "test_prove_claims.py::test_a_solver_that_does_not_know_decides_nothing"
    after = "test_prove_completeness.py::test_the_catalogue_is_complete_and_sound_for_every_cluster"
    tests = [str(HERE / name) for name in (before, after)]
    environment = {n: v for n, v in os.environ.items() if not n.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *tests],
        cwd=HERE.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SANE,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


@pytest.mark.parametrize("seed", ["2", "3"])
def test_proofs_hold_whichever_factor_comes_first(
    monkeypatch: pytest.MonkeyPatch, seed: str
) -> None:
    """Orders in which the two sides write equal products differently."""
    monkeypatch.setattr(
        arithmetic, "in_order", lambda factor: zlib.crc32((seed + factor.sexpr()).encode())
    )
    limit = Deadline(SANE)
    statuses = {each.decide(limit).status for each in completeness.obligations(HALO)}
    assert statuses == {"proved"}


def test_a_separate_solver_answers_in_the_terms_that_it_was_asked_in() -> None:
    a, b, c = z3.Ints("a b c")
    solver = SeparateSolver(z3.SolverFor, "QF_UFLIA")
    assert solver.ctx != z3.main_ctx()
    solver.add(a == b + 1)
    solver.push()
    solver.add(b == 4, c == 0)
    assert decide(solver, Deadline(100)) == z3.sat
    assert solver.model().eval(a).as_long() == 5
    assert solver.model().ctx == z3.main_ctx()
    solver.pop()
    assumed = [a <= 1, c <= 7, b >= 1]
    assert decide(solver, Deadline(100), assumed) == z3.unsat
    core = {literal.get_id() for literal in solver.unsat_core()}
    assert core == {assumed[0].get_id(), assumed[2].get_id()}


def test_numbers_of_terms_in_a_separate_solver_are_the_same_each_time() -> None:
    x, y = z3.Ints("x y")
    formulas = [x + y >= 2, z3.Or(x == 3, y > x)]

    def numbers() -> list[int]:
        solver = SeparateSolver()
        solver.add(*formulas)
        return [formula.get_id() for formula in solver.assertions()]

    before = numbers()
    kept = [z3.Int(f"unknown {number}") * 2 >= number for number in range(1000)]
    assert numbers() == before
    assert kept
