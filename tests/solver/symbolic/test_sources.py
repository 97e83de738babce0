"""Where programs are read, and sources that are not what was imported."""

from __future__ import annotations

import ast
import linecache

import pytest
import z3

from parsolve.solver.arithmetic import Arithmetic
from parsolve.solver.symbolic.execute import Machine
from parsolve.solver.symbolic.sources import Sources
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import Label, Labels, Union, Unsupported
from tests.solver.symbolic.programs import Program

SOURCE = """
def g(v, limit=3, *, name="x"):
    if v > limit:
        raise ValueError(name, v)
    return v

pick, other = lambda v: v + 1, lambda v: v - 1

def f(a):
    return g(a) + g(1)
"""


def executed(program: Program, *changes: tuple[str, str]) -> Machine:
    """The program, executed from a source with some changes."""
    text = program.source
    for right, wrong in changes:
        assert right in text
        text = text.replace(right, wrong)
    machine = Machine(Labels(), Arithmetic(), Sources({program.file: ast.parse(text)}))
    machine.enter(State(), program.function, {"a": z3.Int("a")})
    return machine


def test_changed_sources_are_executed() -> None:
    program = Program(SOURCE)
    (exit_,) = executed(program).exits
    assert exit_.condition.eq(z3.Not(z3.Int("a") <= 3))  # type: ignore[union-attr]
    (changed,) = executed(program, ("v > limit", "v > limit + 1")).exits
    assert changed.condition.eq(z3.Not(z3.Int("a") <= 4))  # type: ignore[union-attr]


def test_changed_defaults_that_are_constants_are_seen() -> None:
    program = Program(SOURCE)
    (changed,) = executed(program, ("limit=3", "limit=7"), ('name="x"', 'name="y"')).exits
    assert changed.condition.eq(z3.Not(z3.Int("a") <= 7))  # type: ignore[union-attr]
    assert changed.arguments[0] == "y"


def test_a_default_that_was_not_there_is_a_gap() -> None:
    program = Program(SOURCE)
    machine = executed(program, ("g(v, limit=3", "g(v=[], limit=3"))
    assert {gap.what for gap in machine.gaps} == {"a default of g that was not there at its import"}


def test_definitions_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(SOURCE)
    tree = ast.parse(program.source)
    sources = Sources({program.file: tree})
    g = program.module.__dict__["g"]
    first = sources.of(g)
    monkeypatch.setattr(ast, "parse", None)
    assert Sources({program.file: tree}).of(g) is first


def test_two_lambdas_of_one_line_are_not_told_apart() -> None:
    program = Program(SOURCE)
    with pytest.raises(Unsupported, match="the source of <lambda> cannot be read"):
        Sources().of(program.module.__dict__["pick"])


def test_what_is_no_python_has_no_definitions() -> None:
    program = Program("def f(a):\n    return 1\n")
    program.function.__code__ = program.function.__code__.replace(co_filename=__file__ + "c")
    assert [gap.what for gap in program.gaps] == ["the source of f cannot be read"]
    linecache.cache["<odd>"] = (1, None, ["def f(:\n"], "<odd>")
    program = Program("def f(a):\n    return 1\n")
    program.function.__code__ = program.function.__code__.replace(co_filename="<odd>")
    assert [gap.what for gap in program.gaps] == ["the source of f cannot be read"]


def test_constants_among_the_arguments() -> None:
    program = Program("def f(a, b, p, m, s):\n    return (a + b if p else 0), m, s\n")
    machine, state = Machine(Labels(), Arithmetic()), State()
    returned = machine.enter(
        state,
        program.function,
        {
            "a": z3.IntVal(3),
            "b": 4,
            "p": z3.BoolVal(val=True),
            "m": Union(((z3.BoolVal(val=False), None), (True, Union(((True, 5),))))),
            "s": "auto",
        },
    )
    assert returned == (7, 5, "auto")
    assert state.condition is True


def test_arguments_stay_the_same_objects() -> None:
    program = Program("def f(m, s):\n    return m, s\n")
    absent = z3.Bool("m is None")
    m = Union(((absent, None), (z3.Not(absent), z3.Int("m"))))
    s = Label(z3.Int("s"))
    machine, state = Machine(Labels(), Arithmetic()), State()
    one, two = machine.enter(state, program.function, {"m": m, "s": s})
    assert one is m
    assert two is s


def test_a_machine_keeps_what_it_executed() -> None:
    machine = Machine(Labels(), Arithmetic())
    for _ in range(2):
        machine.enter(State(), Program(SOURCE).function, {"a": z3.Int("a")})
    assert len(machine.exits) == 2
