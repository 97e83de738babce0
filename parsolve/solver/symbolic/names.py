"""What names stand for, and giving them something to stand for."""

from __future__ import annotations

import ast
import builtins

from parsolve.solver.symbolic.containers import gathered
from parsolve.solver.symbolic.core import Core, Frame
from parsolve.solver.symbolic.kinds import described
from parsolve.solver.symbolic.lists import is_unknown
from parsolve.solver.symbolic.objects import set_attribute
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.subscripts import deleted, store
from parsolve.solver.symbolic.values import (
    UNBOUND,
    Refused,
    Union,
    Unsupported,
    Value,
    either,
    is_concrete,
    is_text,
)


def read(machine: Core, state: State, name: str) -> Value:
    """What the name stands for."""
    frame = machine.frame
    while name not in frame.scope.names and name not in frame.scope.shared:
        if frame.outer is None:
            if name in frame.cells:
                return _bound(machine, state, frame.cells[name], NameError)
            break
        frame = frame.outer
    if name in frame.scope.names:
        found = state.held(frame.place).get(name, UNBOUND)
        own = frame is machine.frame
        return _bound(machine, state, found, UnboundLocalError if own else NameError)
    if name in frame.globals:
        return frame.globals[name]
    if hasattr(builtins, name):
        return getattr(builtins, name)
    raise Refused(NameError)


def _bound(machine: Core, state: State, value: Value, error: type[NameError]) -> Value:
    """The value, without the alternative that there is none."""
    value = state.narrowed(value)
    if value is UNBOUND:
        raise Refused(error)
    if not isinstance(value, Union) or all(inner is not UNBOUND for _, inner in value.cases):
        return value
    missing = either(*(guard for guard, inner in value.cases if inner is UNBOUND))
    machine.refuse(state, missing, error)
    left = tuple((guard, inner) for guard, inner in value.cases if inner is not UNBOUND)
    return left[0][1] if len(left) == 1 else Union(left)


def bind(machine: Core, state: State, name: str, value: Value, *, around: bool = False) -> None:
    """Let the name stand for the value; ``around`` comprehensions, for an assignment in one."""
    frame = machine.frame
    while around and frame.scope.comprehension and frame.outer is not None:
        frame = frame.outer
    if name in frame.scope.outside:
        frame = _holder(frame, name)
    elif name in frame.scope.shared:
        message = f"changing the global {name}"
        raise Unsupported(message)
    state.objects[frame.place] = {**state.held(frame.place), name: value}


def _holder(frame: Frame, name: str) -> Frame:
    outer = frame.outer
    while outer is not None:
        if name in outer.scope.names:
            return outer
        outer = outer.outer
    message = f"changing {name} of a function that has returned"
    raise Unsupported(message)


def assign(machine: Core, state: State, target: ast.expr, value: Value) -> None:
    """Bind a name, an attribute, an entry, or several of these."""
    match target:
        case ast.Name(name):
            bind(machine, state, name, value)
        case ast.Attribute(owner, name):
            held = machine.evaluate(state, owner)
            set_attribute(machine, state, held, machine.private(name), value)
        case ast.Subscript(owner, key):
            held = machine.evaluate(state, owner)
            store(machine, state, held, machine.evaluate(state, key), value)
        case ast.Tuple(targets) | ast.List(targets):
            machine.lifted(state, lambda here, held: _unpack(machine, here, targets, held), value)
        case _:
            message = f"assigning to `{ast.unparse(target)}`"
            raise Unsupported(message)


def _unpack(machine: Core, state: State, targets: list[ast.expr], value: Value) -> None:
    if is_unknown(value) or (is_text(value) and not is_concrete(value)):
        message = f"unpacking {described(value)}"
        raise Unsupported(message)
    found = gathered(machine, state, value)
    if any(present is not True for present, _ in found):
        message = "unpacking a collection of unknown length"
        raise Unsupported(message)
    parts = [part for _, part in found]
    star = next((i for i, each in enumerate(targets) if isinstance(each, ast.Starred)), None)
    if star is None:
        if len(parts) != len(targets):
            raise Refused(ValueError)
    else:
        after = len(targets) - star - 1
        if len(parts) < star + after:
            raise Refused(ValueError)
        middle = parts[star : len(parts) - after]
        packed = machine.made_list(state, ((True, each) for each in middle))
        parts = [*parts[:star], packed, *parts[len(parts) - after :]]
    for each, part in zip(targets, parts, strict=True):
        assign(machine, state, each.value if isinstance(each, ast.Starred) else each, part)


def unbind(machine: Core, state: State, target: ast.expr) -> None:
    """``del target``."""
    match target:
        case ast.Name(name):
            read(machine, state, name)
            bind(machine, state, name, UNBOUND)
        case ast.Subscript(owner, key):
            held = machine.evaluate(state, owner)
            deleted(machine, state, held, machine.evaluate(state, key))
        case ast.Tuple(targets):
            for each in targets:
                unbind(machine, state, each)
        case _:
            message = f"deleting `{ast.unparse(target)}`"
            raise Unsupported(message)
