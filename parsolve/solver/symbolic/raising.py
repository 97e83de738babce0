"""Raising, asserting and handling exceptions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from parsolve.solver.symbolic.core import Core, Raised
from parsolve.solver.symbolic.kinds import described
from parsolve.solver.symbolic.names import bind
from parsolve.solver.symbolic.operators import truth
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    UNBOUND,
    Departed,
    Instance,
    Refused,
    Unsupported,
    Value,
    is_concrete,
    opposite,
)


def raise_statement(machine: Core, state: State, node: ast.Raise) -> None:
    """``raise exception from cause``."""
    if node.exc is None:
        value = next((each.handled[-1] for each in reversed(machine.frames) if each.handled), None)
        if value is None:
            raise Refused(RuntimeError)
    else:
        value = machine.evaluate(state, node.exc)
    if node.cause is not None:
        machine.evaluate(state, node.cause)
    machine.line = node.lineno
    machine.lifted(state, lambda here, held: _raise(machine, here, held), value)


def _raise(machine: Core, state: State, value: Value) -> None:
    if isinstance(value, type) and issubclass(value, BaseException):
        value = machine.call(state, value)
    if isinstance(value, Instance) and issubclass(value.type, BaseException):
        known = "args" in state.held(value.place)
        made = value if known else None
        gone = Raised(value.type, machine.place, state.leave(), made, stated=known)
        machine.raised.append(gone)
        raise Departed
    if is_concrete(value) and not isinstance(value, BaseException):
        raise Refused(TypeError)
    message = f"raising {described(value)}"
    raise Unsupported(message)


def assert_statement(machine: Core, state: State, node: ast.Assert) -> None:
    """``assert test, message``: an operation that may go wrong."""
    holds = truth(machine, state, machine.evaluate(state, node.test))
    machine.when(state, opposite(holds), partial(fail, machine), node)


def fail(machine: Core, state: State, node: ast.Assert) -> None:
    """What an assertion does that does not hold."""
    message = () if node.msg is None else (machine.evaluate(state, node.msg),)
    machine.line = node.lineno
    made = Instance(AssertionError, machine.new(state, {"args": message}))
    machine.raised.append(Raised(AssertionError, machine.place, state.leave(), made))
    raise Departed


def try_statement(machine: Core, state: State, node: ast.Try) -> None:
    """``try``, with whatever parts it has."""
    if node.finalbody:
        _with_finally(machine, state, node)
    else:
        _try(machine, state, node)


def _try(machine: Core, state: State, node: ast.Try) -> None:
    _, raised = machine.watching(state, machine.execute, node.body)
    machine.execute(state, node.orelse)
    caught: list[list[Raised]] = [[] for _ in node.handlers]
    for each in raised:
        place = _handler(machine, each, node.handlers)
        if place is not None:
            caught[place].append(each)
        elif not each.state.dead:
            machine.raised.append(each)
    ends: list[tuple[State, Value]] = [(state, None)]
    for handler, exceptions in zip(node.handlers, caught, strict=True):
        if exceptions:
            ends.append((_handled(machine, handler, exceptions), None))
    machine.meet(state, ends)


def _handler(machine: Core, raised: Raised, handlers: Sequence[ast.ExceptHandler]) -> int | None:
    """The place of the first handler that takes the exception."""
    for place, handler in enumerate(handlers):
        if handler.type is None:
            return place
        kinds = machine.attempt(raised.state, machine.evaluate, handler.type)
        if raised.state.dead:
            return None
        if not is_concrete(kinds):
            machine.give_up(raised.state, f"an exception handler for {described(kinds)}")
            return None
        try:
            if issubclass(raised.kind, kinds):
                return place
        except TypeError:
            machine.depart(raised.state, Refused(TypeError))
            return None
    return None


def _handled(machine: Core, handler: ast.ExceptHandler, exceptions: Sequence[Raised]) -> State:
    """Where the handler of these exceptions ends."""
    ends = []
    for each in exceptions:
        made = each.made or Instance(each.kind, machine.new(each.state, {}))
        ends.append((each.state, made))
    state = State(dead=True)
    value = machine.meet(state, ends)
    machine.frame.handled.append(value)
    if handler.name is not None:
        bind(machine, state, handler.name, value)
    machine.execute(state, handler.body)
    machine.frame.handled.pop()
    if handler.name is not None and not state.dead:
        bind(machine, state, handler.name, UNBOUND)
    return state


def _with_finally(machine: Core, state: State, node: ast.Try) -> None:
    """Run the last part on every way out of the others."""
    frame = machine.frame
    returns, breaks, continues = frame.returns, frame.breaks, frame.continues
    frame.returns, frame.breaks, frame.continues = [], [], []
    _, raised = machine.watching(state, partial(_try, machine), node)
    frame.returns, returns = returns, frame.returns
    frame.breaks, breaks = breaks, frame.breaks
    frame.continues, continues = continues, frame.continues

    def goes_on(end: State) -> bool:
        machine.execute(end, node.finalbody)
        return not end.dead

    machine.raised += [each for each in raised if goes_on(each.state)]
    frame.returns += [each for each in returns if goes_on(each[0])]
    frame.breaks += filter(goes_on, breaks)
    frame.continues += filter(goes_on, continues)
    if not goes_on(state):
        raise Departed
