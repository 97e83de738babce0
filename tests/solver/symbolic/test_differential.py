"""Random programs: what the formulas say is what running the program does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.solver.symbolic.grammar import Grammar
from tests.solver.symbolic.programs import SAMPLES, Program, compare, kind_of
from tests.solver.symbolic.untyped import Untyped

Draw = st.DrawFn
INPUTS = 25

MANY = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def programs(draw: Draw, *, structured: bool, depth: int) -> str:
    """A program of the grammar."""

    def choose(options: Sequence[Any]) -> Any:  # noqa: ANN401
        return draw(st.sampled_from(options))

    return Grammar(choose, structured=structured, depth=depth).program()


@st.composite
def untyped_programs(draw: Draw) -> str:
    """A program without a thought for types."""

    def choose(options: Sequence[Any]) -> Any:  # noqa: ANN401
        return draw(st.sampled_from(options))

    return Untyped(choose).program(depth=2)


@st.composite
def inputs(draw: Draw, program: Program) -> list[dict[str, Any]]:
    """Some arguments of the program."""
    one = st.fixed_dictionaries(
        {
            name: st.sampled_from(SAMPLES[kind_of(name)])
            | (st.integers(-30, 30) if kind_of(name) == "integer" else st.nothing())
            for name in program.parameters
        }
    )
    return draw(st.lists(one, min_size=INPUTS, max_size=INPUTS))


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@settings(MANY, max_examples=120)
@given(st.data(), programs(structured=False, depth=2))
def test_arithmetic_and_branches(data: st.DataObject, source: str) -> None:
    program = Program(source)
    compare(program, iter(data.draw(inputs(program))), gaps=True)
    assert not program.gaps or "unknown text" in str(program.gaps)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@settings(MANY, max_examples=60)
@given(st.data(), programs(structured=True, depth=1))
def test_functions_loops_and_collections(data: st.DataObject, source: str) -> None:
    program = Program(source)
    compare(program, iter(data.draw(inputs(program))), gaps=True)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@settings(MANY, max_examples=150)
@given(st.data(), untyped_programs())
def test_expressions_of_any_type(data: st.DataObject, source: str) -> None:
    try:
        program = Program(source)
    except SyntaxError:  # what the compiler itself finds wrong
        return
    compare(program, iter(data.draw(inputs(program))), gaps=True)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@settings(MANY, max_examples=60)
@given(st.integers(0, 2**32), st.data())
def test_long_programs(seed: int, data: st.DataObject) -> None:
    program = Program(Grammar(random.Random(seed).choice, structured=True).program())
    compare(program, iter(data.draw(inputs(program))), gaps=True)
