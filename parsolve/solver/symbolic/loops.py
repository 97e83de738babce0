"""`for` and `while`."""

from __future__ import annotations

import ast
from functools import partial
from itertools import takewhile

from parsolve.solver.symbolic.containers import each
from parsolve.solver.symbolic.core import Action, Core
from parsolve.solver.symbolic.folds import mapped_from
from parsolve.solver.symbolic.lists import (
    Mapped,
    conjoined,
    empty,
    hidden,
    negated,
    some,
    statement,
)
from parsolve.solver.symbolic.names import assign
from parsolve.solver.symbolic.operators import truth
from parsolve.solver.symbolic.raising import fail
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Condition,
    Departed,
    Unsupported,
    Value,
    both,
    either,
    opposite,
)

Check = tuple[Condition, Action]
"""When a check in a loop strikes, and what happens then."""

MORE = "a loop over an unknown list that does more than check entries"

MOST_BREAKS = 256
"""Places where a loop whose end hangs on unknown values may have ended."""


def for_statement(machine: Core, state: State, node: ast.For) -> None:
    """``for target in iterable``."""
    source = machine.evaluate(state, node.iter)
    machine.lifted(state, lambda here, held: _for(machine, here, node, held), source)


def while_statement(machine: Core, state: State, node: ast.While) -> None:
    """``while test``, for tests that are known each time."""

    def turns(here: State) -> None:
        while True:
            machine.step()
            holds = here.settled(truth(machine, here, machine.evaluate(here, node.test)))
            if holds is False:
                return
            if holds is not True or len(machine.frame.breaks) > MOST_BREAKS:
                message = "a loop whose end hangs on unknown values"
                raise Unsupported(message)
            _turn(machine, here, node.body)

    _loop(machine, state, node, turns)


def _for(machine: Core, state: State, node: ast.For, source: Value) -> None:
    mapped = mapped_from(state, source)

    def turn(here: State, value: Value) -> None:
        assign(machine, here, node.target, value)
        _turn(machine, here, node.body)

    def turns(here: State) -> None:
        if mapped is None:
            each(machine, here, source, turn)
        else:
            filled = opposite(empty(mapped.member.source))
            machine.when(here, filled, partial(_over_unknown, machine), node, mapped)

    _loop(machine, state, node, turns)


def _loop(machine: Core, state: State, node: ast.For | ast.While, turns: Action) -> None:
    """All turns of a loop, and what follows them."""
    frame = machine.frame
    outer = frame.breaks, frame.continues
    frame.breaks, frame.continues = [], []
    machine.attempt(state, turns)
    broken = frame.breaks
    frame.breaks, frame.continues = outer
    machine.execute(state, node.orelse)
    machine.meet(state, [(state, None), *((end, None) for end in broken)])


def _turn(machine: Core, state: State, body: list[ast.stmt]) -> None:
    frame = machine.frame
    frame.continues = []
    machine.execute(state, body)
    machine.meet(state, [(state, None), *((end, None) for end in frame.continues)])


def _over_unknown(machine: Core, state: State, node: ast.For, mapped: Mapped) -> None:
    """A loop over an unknown list that has entries: checks that leave it, and nothing else.

    Which of two checks strikes first hangs on the order of the entries, so where both do, that
    is a gap.
    """
    body = list(takewhile(lambda each: not isinstance(each, ast.Continue), node.body))
    checks: list[Check] = []
    with machine.opened(mapped.member):
        assign(machine, state, node.target, mapped.element)
        before = state.copy()
        for statement_ in body:
            checks += _check(machine, state, statement_, mapped, first=not checks)
        if not state.agrees(before):
            message = "what a loop over an unknown list changes"
            raise Unsupported(message)
    assign(machine, state, node.target, hidden(mapped.element))
    strikes = [strikes for strikes, _ in checks]

    def clash(_: State) -> None:
        message = "which check of a loop over an unknown list strikes first"
        raise Unsupported(message)

    cases: list[tuple[Condition, Action]] = []
    for place, (condition, action) in enumerate(checks):
        others = [opposite(other) for i, other in enumerate(strikes) if i != place]
        cases.append((both(condition, *others), action))
    cases.append((both(*map(opposite, strikes)), lambda _: None))
    alone = either(*(condition for condition, _ in cases))
    cases.append((opposite(alone), clash))
    machine.each_case(state, cases, lambda here, action: action(here))


def _check(
    machine: Core, state: State, node: ast.stmt, mapped: Mapped, *, first: bool
) -> list[Check]:
    """A statement of such a loop as a check; none for one that does nothing."""
    match node:
        case ast.Pass() | ast.Expr(ast.Constant()):
            return []
        case ast.If(test, body, []):
            denied = False

            def act(here: State) -> None:
                frame = machine.frame
                frame.continues = []
                machine.execute(here, body)
                for end in (here, *frame.continues):
                    machine.give_up(end, MORE)
                raise Departed

        case ast.Assert(test):
            denied = True

            def act(here: State) -> None:
                fail(machine, here, node)

        case _:
            raise Unsupported(MORE)

    def evaluate(here: State) -> Value:
        value = machine.evaluate(here, test)
        return statement(value) or truth(machine, here, value)

    sure = first and mapped.present is True
    said = evaluate(state) if sure else machine.aside(state, evaluate)
    strikes = conjoined(mapped.present, negated(said) if denied else said)
    return [(some(mapped.member, strikes), act)]
