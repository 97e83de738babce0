"""Terms, paths and joining: formulas stay as short as what they say."""

from __future__ import annotations

from itertools import product

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from parsolve.solver.symbolic import terms
from parsolve.solver.symbolic.state import State, joined
from parsolve.solver.symbolic.values import Condition, Label, Labels, Union, both, either, opposite

TRUE, FALSE = True, False
A, B, C, D = z3.Bools("a b c d")
X, Y = z3.Ints("x y")


def valid(statement: z3.BoolRef) -> bool:
    """Whether it holds always."""
    solver = z3.Solver()
    solver.add(z3.Not(statement))
    return bool(solver.check() == z3.unsat)


def same(one: Condition, two: Condition) -> bool:
    """Whether it is one term."""
    return not isinstance(one, bool) and bool(one.eq(two))


def truth(condition: Condition) -> z3.BoolRef:
    return z3.BoolVal(condition) if isinstance(condition, bool) else condition


def test_what_is_known_stays_a_python_value() -> None:
    assert both() is True
    assert same(both(A, TRUE), A)
    assert both(A, FALSE) is False
    assert same(both(A, A), A)
    assert both(A, opposite(A)) is False
    assert either() is False
    assert either(A, TRUE) is True
    assert either(A, opposite(A)) is True
    assert same(opposite(opposite(A)), A)
    assert opposite(TRUE) is False


@pytest.mark.parametrize("then", [True, False, A, B])
@pytest.mark.parametrize("other", [True, False, A, C])
def test_conditional_truth(then: Condition, other: Condition) -> None:
    found = terms.if_then_else(D, then, other)
    assert valid(truth(found) == z3.If(D, truth(then), truth(other)))
    assert terms.if_then_else(TRUE, then, other) is then
    assert valid(truth(terms.same_truth(then, other)) == (truth(then) == truth(other)))


@given(st.sampled_from([0, 1, -3, X, Y]), st.sampled_from([0, 1, 4, X, Y]))
def test_arithmetic(a: terms.Integer, b: terms.Integer) -> None:
    one, two = (z3.IntVal(each) if isinstance(each, int) else each for each in (a, b))
    assert valid(truth(terms.equal(a, b)) == (one == two))
    assert valid(truth(terms.at_most(a, b)) == (one <= two))
    assert valid(truth(terms.less(a, b)) == (one < two))
    assert valid(terms.integer(terms.plus(a, b)) == one + two)
    assert valid(terms.integer(terms.minus(a, b)) == one - two)
    assert valid(terms.integer(terms.times(X, 3)) == X * 3)
    known = isinstance(a, int) and isinstance(b, int)
    assert isinstance(terms.at_most(a, b), bool) == (known or a is b)


def test_one_statement_is_one_term() -> None:
    """However it is written, so that a path knows what it knows."""
    assert same(terms.less(X, 2), terms.at_most(X, 1))
    assert same(terms.less(1, X), opposite(terms.at_most(X, 1)))
    assert same(terms.at_most(2, X), terms.less(1, X))
    assert same(terms.equal(2, X), terms.equal(X, 2))


def test_the_table_of_opposites_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "_MOST_OPPOSITES", 10)
    for number in range(100):
        fresh = z3.Bool(f"fresh {number}")
        assert same(opposite(opposite(fresh)), fresh)
        assert len(terms._OPPOSITES) <= 14


def test_impossible() -> None:
    assert terms.is_impossible(FALSE)
    assert terms.is_impossible(z3.And(X > 1, X < 2))
    assert not terms.is_impossible(TRUE)
    assert not terms.is_impossible(z3.And(X > 1, X < 3))


def on(*conditions: Condition, start: State | None = None) -> State:
    """A state on the path of the conditions."""
    state = start.copy() if start else State()
    for condition in conditions:
        state.assume(condition)
    return state


def test_a_path_decides_what_it_has_met() -> None:
    start = State()
    state = on(both(A, B), opposite(C), start=start)
    assert state.settled(A) is True
    assert state.settled(opposite(B)) is False
    assert state.settled(C) is False
    assert state.settled(D) is D
    assert start.settled(A) is A
    assert on(A, opposite(A)).dead
    assert state.narrowed(Union(((C, 1), (opposite(C), "x")))) == "x"
    left = state.narrowed(Union(((C, 1), (D, "x"), (opposite(D), None))))
    assert [value for _, value in left.cases] == ["x", None]


def test_two_sides_that_meet_leave_nothing() -> None:
    start = State()
    end, value = joined(Labels(), [(on(A, start=start), 1), (on(opposite(A), start=start), 2)])
    assert end.path is start.path
    assert value.eq(z3.If(A, z3.IntVal(1), z3.IntVal(2)))


def test_what_one_side_learned_stays() -> None:
    start = State()
    end, _ = joined(Labels(), [(on(A, B, start=start), 1), (on(opposite(A), start=start), 2)])
    assert [each.sexpr() for each in end.path.conditions] == ["(not (and a (not b)))"]


def test_one_that_goes_on_is_taken_as_it_is() -> None:
    start = State()
    alive, gone = on(A, start=start), on(opposite(A), start=start)
    gone.dead = True
    end, value = joined(Labels(), [(alive, 1), (gone, 2)])
    assert end is alive
    assert value == 1
    assert joined(Labels(), [(gone, 2)])[0].dead


def test_early_returns_meet_in_a_chain() -> None:
    start = State()
    ends = [
        (on(A, start=start), "x"),
        (on(opposite(A), B, start=start), "y"),
        (on(opposite(A), opposite(B), C, start=start), "x"),
        (on(opposite(A), opposite(B), opposite(C), start=start), "z"),
    ]
    labels = Labels()
    for order in (ends, ends[::-1], [ends[2], ends[0], ends[3], ends[1]]):
        end, value = joined(labels, order)
        assert end.path is start.path
        assert isinstance(value, Label)


def test_hundreds_of_returns_meet() -> None:
    start, state = State(), State()
    state.path = start.path
    ends = []
    for number in range(600):
        test = z3.Bool(f"test {number}")
        ends.append((on(test, start=state), number))
        state.assume(opposite(test))
    end, _ = joined(Labels(), [*ends, (state, -1)])
    assert end.path is start.path


@st.composite
def partings(draw: st.DrawFn) -> tuple[State, list[State]]:
    """States whose paths part again and again from one start; some are dead."""
    start = State()
    if draw(st.booleans()):
        start.assume(D)
    states = [start.copy()]
    for _ in range(draw(st.integers(1, 6))):
        state = states.pop(draw(st.integers(0, len(states) - 1)))
        condition = draw(st.sampled_from([A, B, C, both(A, B), either(B, C), terms.less(X, 2)]))
        for side in (condition, opposite(condition)):
            other = state.copy()
            other.assume(side)
            if not other.dead:
                states.append(other)
        if draw(st.booleans()) and len(states) > 2:
            one, two = states.pop(), states.pop()
            states.append(joined(Labels(), [(one, None), (two, None)])[0])
    return start, states


@given(partings(), st.data())
def test_joining_keeps_paths_and_values(
    made: tuple[State, list[State]], data: st.DataObject
) -> None:
    """The joined path holds where one of them does, and has that one's value there."""
    _, states = made
    alive = data.draw(st.lists(st.sampled_from(states), unique_by=id, min_size=1))
    for place, state in enumerate(alive):
        state.objects[1] = {"v": place}
    end, value = joined(Labels(), [(state, place) for place, state in enumerate(alive)])
    places = terms.integer(value)
    kept = terms.integer(end.objects[1]["v"])
    solver = z3.Solver()
    for a, b, c, d, x in product([False, True], [False, True], [False, True], [True], [1, 2]):
        solver.push()
        solver.add(
            *(known == value for known, value in zip((A, B, C, D, X), (a, b, c, d, x), strict=True))
        )
        assert solver.check() == z3.sat
        model = solver.model()
        on_path = [
            place
            for place, state in enumerate(alive)
            if z3.is_true(model.eval(truth(state.condition), model_completion=True))
        ]
        assert len(on_path) <= 1
        holds = z3.is_true(model.eval(truth(end.condition), model_completion=True))
        assert holds == bool(on_path)
        if on_path:
            assert model.eval(places).as_long() == model.eval(kept).as_long() == on_path[0]
        solver.pop()
