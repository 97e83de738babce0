"""Calling functions, and giving their parameters what the call gives."""

from __future__ import annotations

import ast
import functools
import typing
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType

from parsolve.solver.symbolic.collect import hashable
from parsolve.solver.symbolic.core import Builtin, Closure, Core, Frame, Partial
from parsolve.solver.symbolic.kinds import described, is_called, kind_of, static_attribute
from parsolve.solver.symbolic.natives import NOT_NATIVE, native
from parsolve.solver.symbolic.scopes import Definition, scope_of
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    UNBOUND,
    Instance,
    Method,
    Mutable,
    Refused,
    Table,
    Unsupported,
    Value,
    is_concrete,
)

CACHED = type(functools.cache(lambda: None))
NOT_CALLABLE = frozenset({int, bool, str, list, tuple, set, frozenset, dict})


def called(
    machine: Core,
    state: State,
    function: Value,
    arguments: Sequence[Value],
    named: Mapping[str, Value],
) -> Value:
    """What a call of something that is no class returns."""
    match function:
        case Builtin(handler):
            return handled(machine, state, handler, arguments, named)
        case Method(inner, owner):
            return machine.call(state, inner, (owner, *arguments), named)
        case MethodType():
            return machine.call(state, function.__func__, (function.__self__, *arguments), named)
        case Closure():
            return _call_closure(machine, state, function, arguments, named)
        case (
            Partial(inner, first, known) | functools.partial(func=inner, args=first, keywords=known)
        ):
            return machine.call(state, inner, (*first, *arguments), {**known, **named})
        case typing.NewType():
            return arguments[0]
        case Instance(kind):
            if not is_called(kind):
                raise Refused(TypeError)
            method = static_attribute(kind, "__call__")
            return machine.call(state, method, (function, *arguments), named)
    found = native(machine, state, function, arguments, named)
    if found is not NOT_NATIVE:
        return found
    if isinstance(function, FunctionType):
        return _call_function(machine, state, function, arguments, named)
    if isinstance(function, CACHED):
        return _call_cached(machine, state, function, arguments, named)
    if is_concrete(function):
        method = static_attribute(type(function), "__call__")
        if isinstance(method, FunctionType):
            return machine.call(state, method, (function, *arguments), named)
    if not callable(function) and (is_concrete(function) or kind_of(function) in NOT_CALLABLE):
        raise Refused(TypeError)
    message = f"a call of {getattr(function, '__qualname__', described(function))}"
    raise Unsupported(message)


def handled(
    machine: Core,
    state: State,
    handler: Callable[..., Value],
    arguments: Sequence[Value],
    named: Mapping[str, Value],
) -> Value:
    """What one of our own functions returns, which may take less than Python's does."""
    try:
        return handler(machine, state, *arguments, **named)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise  # it was not the call
        message = f"such a call of `{getattr(handler, '__name__', '').strip('_')}`"
        raise Unsupported(message) from error


def _call_cached(
    machine: Core,
    state: State,
    function: Value,
    arguments: Sequence[Value],
    named: Mapping[str, Value],
) -> Value:
    """A call of a function with a cache, which only matters where the result can change."""
    for value in (*arguments, *named.values()):
        hashable(value)
    found = machine.call(state, function.__wrapped__, arguments, named)
    if isinstance(found, (Mutable, Instance)):
        message = "a cached result that can be changed"
        raise Unsupported(message)
    return found


def _call_closure(
    machine: Core,
    state: State,
    closure: Closure,
    arguments: Sequence[Value],
    named: Mapping[str, Value],
) -> Value:
    definition, outer = closure.definition, closure.frame
    names = bound(machine, state, definition, closure.defaults, (arguments, named))
    frame = Frame(
        outer.file,
        outer.globals,
        scope_of(definition),
        machine.new(state, names),
        outer,
        outer.owner,
        outer.cells,
    )
    return run(machine, state, definition, frame)


def _call_function(
    machine: Core,
    state: State,
    function: FunctionType,
    arguments: Sequence[Value],
    named: Mapping[str, Value],
) -> Value:
    definition = machine.sources.of(function)
    names = bound(machine, state, definition, _defaults(function, definition), (arguments, named))
    code = function.__code__
    cells: dict[str, Value] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            cells[name] = UNBOUND
    place = machine.new(state, names)
    scope = scope_of(definition)
    *_, owner, _ = ("", *code.co_qualname.split("."))
    owner = "" if owner == "<locals>" else owner
    frame = Frame(code.co_filename, function.__globals__, scope, place, None, owner, cells)
    return run(machine, state, definition, frame)


def _defaults(function: FunctionType, definition: Definition) -> dict[str, Value]:
    """What parameters stand for where nothing is given; constants as the source has them now."""
    spec = definition.args
    found: dict[str, Value] = dict(function.__kwdefaults__ or {})
    given = function.__defaults__ or ()
    positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    late = positional[len(positional) - len(spec.defaults) :]
    if len(given) == len(late):
        found |= zip(late, given, strict=True)
    pairs = [*zip(late, spec.defaults, strict=True)]
    pairs += [
        (parameter.arg, node)
        for parameter, node in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        if node is not None
    ]
    for name, node in pairs:
        if isinstance(node, ast.Constant):
            found[name] = node.value
        elif name not in found:
            message = f"a default of {function.__qualname__} that was not there at its import"
            raise Unsupported(message)
    required = {name for name, _ in pairs}
    return {name: value for name, value in found.items() if name in required}


def bound(
    machine: Core,
    state: State,
    definition: Definition,
    defaults: Mapping[str, Value],
    given: tuple[Sequence[Value], Mapping[str, Value]],
) -> dict[str, Value]:
    """Parameters by name."""
    spec, (arguments, named) = definition.args, given
    alone = [each.arg for each in spec.posonlyargs]
    positional = [*alone, *(each.arg for each in spec.args)]
    later = [each.arg for each in spec.kwonlyargs]
    names = dict(zip(positional, arguments, strict=False))
    rest: dict[str, Value] = {}
    for name, value in named.items():
        if name in alone or name not in {*positional, *later}:
            rest[name] = value
        elif name in names:
            raise Refused(TypeError)
        else:
            names[name] = value
    extra = tuple(arguments[len(positional) :])
    if (extra and not spec.vararg) or (rest and not spec.kwarg):
        raise Refused(TypeError)
    for name in (*positional, *later):
        if name not in names:
            if name not in defaults:
                raise Refused(TypeError)
            names[name] = defaults[name]
    if spec.vararg:
        names[spec.vararg.arg] = extra
    if spec.kwarg:
        table = Table({name: (True, value) for name, value in rest.items()})
        names[spec.kwarg.arg] = machine.made(state, dict, table)
    return names


def run(machine: Core, state: State, definition: Definition, frame: Frame) -> Value:
    """Execute a body in a frame of its own, and merge what it returns."""
    if frame.scope.yields:
        message = "a generator function"
        raise Unsupported(message)
    inner = state.copy()
    with machine.within(frame):
        if isinstance(definition, ast.Lambda):
            body = definition.body
            value = machine.attempt(inner, lambda here: machine.evaluate(here, body))
            frame.returns.append((inner, value))
        else:
            machine.execute(inner, definition.body)
            frame.returns.append((inner, None))
    if not frame.scope.captured:
        for end, _ in frame.returns:
            end.objects.pop(frame.place, None)
    return machine.meet(state, frame.returns)
