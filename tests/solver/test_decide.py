"""Asking Z3: its verdict, the time that is left, and Ctrl-C."""

from __future__ import annotations

import pytest
import z3

from parsolve.solver.arithmetic import laws_hold
from parsolve.solver.claims import divisor_claims
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.decide import decide
from parsolve.solver.solve import best, solutions
from tests.solver.questions import HALO, question


class FakeSolver:
    """Answers what it is told to, and remembers what it was asked."""

    def __init__(self, result: z3.CheckSatResult, reason: str = "") -> None:
        self.result, self.reason = result, reason
        self.asked: list[tuple[object, ...]] = []
        self.timeouts: list[int] = []

    def check(self, *assumptions: object) -> z3.CheckSatResult:
        self.asked.append(assumptions)
        return self.result

    def reason_unknown(self) -> str:
        return self.reason

    def set(self, *arguments: object, **options: object) -> None:
        assert not options
        name, value = arguments
        assert name == "timeout"
        assert isinstance(value, int)
        self.timeouts.append(value)


@pytest.mark.parametrize("reason", ["interrupted from keyboard", "interrupted"])
def test_an_interrupt_that_z3_caught_is_raised_again(reason: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        decide(FakeSolver(z3.unknown, reason), Deadline())
    with pytest.raises(KeyboardInterrupt):
        decide(FakeSolver(z3.unknown, reason), Deadline(100), [z3.Bool("a")])


@pytest.mark.parametrize("reason", ["timeout", "canceled", "(incomplete (theory arithmetic))", ""])
def test_what_z3_does_not_know_is_unknown(reason: str) -> None:
    assert decide(FakeSolver(z3.unknown, reason), Deadline()) == z3.unknown


@pytest.mark.parametrize("result", [z3.sat, z3.unsat])
def test_a_verdict_that_was_reached_counts(result: z3.CheckSatResult) -> None:
    """Whatever the reason of an earlier unknown was."""
    assert decide(FakeSolver(result, "interrupted from keyboard"), Deadline()) == result


def test_what_is_asked_and_in_how_much_time() -> None:
    solver = FakeSolver(z3.unsat)
    a, b = z3.Bools("a b")
    assert decide(solver, Deadline(), [a, b]) == z3.unsat
    assert solver.asked == [(a, b)]
    assert solver.timeouts == []
    decide(solver, Deadline(100))
    assert solver.asked[1:] == [()]
    (left,) = solver.timeouts
    assert 90_000 < left <= 100_000
    with pytest.raises(TimedOut):
        decide(solver, Deadline(0))
    assert len(solver.asked) == 2


def test_z3_itself_is_asked() -> None:
    a = z3.Bool("a")
    solver = z3.Solver()
    solver.add(a)
    assert decide(solver, Deadline()) == z3.sat
    assert decide(solver, Deadline(100), [z3.Not(a)]) == z3.unsat


def test_time_that_runs_out_in_z3_is_no_interrupt() -> None:
    """A pigeonhole problem that no solver finishes: Z3 says timeout, and that is unknown."""
    for solver in (z3.Solver(), z3.SolverFor("QF_FD")):
        holes = [[z3.Bool(f"in {i} {j}") for j in range(12)] for i in range(13)]
        solver.add(*(z3.Or(row) for row in holes))
        for column in zip(*holes, strict=True):
            solver.add(
                *(z3.Or(z3.Not(a), z3.Not(b)) for k, a in enumerate(column) for b in column[:k])
            )
        assert decide(solver, Deadline(0.05)) == z3.unknown


def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on Z3 is interrupted whenever it is asked."""
    monkeypatch.setattr(z3.Solver, "check", lambda *_: z3.unknown)
    monkeypatch.setattr(z3.Solver, "reason_unknown", lambda _: "interrupted from keyboard")


def test_an_interrupt_ends_every_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never taken for a verdict, nor for one that Z3 could not reach."""
    assert set(divisor_claims(HALO).values()) == {"proved"}
    interrupted(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        solutions(question(8))
    with pytest.raises(KeyboardInterrupt):
        solutions(question(8, tp_size=3))
    with pytest.raises(KeyboardInterrupt):
        best(question(8, objectives=[("dp", True)]))


def test_an_interrupt_is_not_remembered_as_an_undecided_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for cached in (laws_hold, divisor_claims):
        cached.cache_clear()
    try:
        with monkeypatch.context() as patched:
            interrupted(patched)
            with pytest.raises(KeyboardInterrupt):
                laws_hold()
            with pytest.raises(KeyboardInterrupt):
                divisor_claims(HALO)
        assert laws_hold() == "proved"
        assert set(divisor_claims(HALO).values()) == {"proved"}
    finally:
        for cached in (laws_hold, divisor_claims):
            cached.cache_clear()
