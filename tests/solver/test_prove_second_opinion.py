"""A second solver that contradicts, or does not know, is reported as such."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import z3

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Misuse
from parsolve.solver.answer import Recheck
from parsolve.solver.prove.answers import proof, proofs, together
from parsolve.solver.prove.obligation import Finding, Goal, Obligation
from parsolve.solver.prove.run import Result
from parsolve.solver.prove.smtlib import Script, Solver, recheck, scripts

a, b = z3.Ints("a b")


def result(*goals: Goal, **finding: Any) -> Result:  # noqa: ANN401
    obligation = Obligation(name="some/thing", says="", decide=lambda _: Finding(status="proved"))
    return Result(obligation, Finding(status="proved", goals=goals, **finding), 0.0)


def asked(*goals: Goal) -> list[Script]:
    return scripts([result(*goals)])


TRUE = Goal("two odds | in one", (a == 2 * b, a == 2 * b + 1))
FALSE = Goal("a mistake", (a == 2 * b, a == 4))


def test_a_solver_confirms_and_contradicts() -> None:
    known = Goal("a witness", (a * a == 49, a > 0), "sat")
    second = recheck(asked(TRUE, FALSE, known), Solver("cvc5"))
    assert (second.confirmed, second.unknown) == (2, 0)
    assert second.contradicted == ("some.thing-2",)


def test_what_it_does_not_decide_is_unknown() -> None:
    c = z3.Int("c")
    hard = Goal("cubes", (a * a * a + b * b * b + c * c * c == 114, a > 10**9))
    second = recheck(asked(hard), Solver("cvc5", seconds=0.2))
    assert (second.confirmed, second.unknown, second.contradicted) == (0, 1, ())


def test_a_contradiction_refutes_whatever_was_proved() -> None:
    second = Recheck(solver="cvc5", confirmed=0, unknown=0, contradicted=("x",))
    assert together(["proved"], second) == "refuted"
    assert proofs(PROFILES["halo"], [proof(result())], 0.0, recheck=second).status == "refuted"
    assert together(["proved", "undecided"]) == "undecided"
    assert together(["undecided", "refuted"]) == "refuted"
    assert together(["proved"]) == "proved"


def test_a_script_holds_only_what_is_needed_and_reads_back() -> None:
    spare = [z3.Int(f"spare{i}") > i for i in range(50)]
    (script,) = asked(Goal("short", (*spare, *TRUE.assertions)))
    assert "spare" not in script.text
    solver = z3.Solver()
    solver.from_string(script.text)
    assert solver.check() == z3.unsat


def test_what_it_cannot_read_is_an_error_not_an_opinion() -> None:
    with pytest.raises(RuntimeError, match="not declared"):
        recheck(
            [Script("x", "(set-logic ALL)(assert (> a 0))(check-sat)", "unsat")], Solver("cvc5")
        )


def test_without_cvc5_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvc5", None)
    with pytest.raises(Misuse, match=r"pip install 'parsolve\[recheck\]'"):
        Solver("cvc5")
