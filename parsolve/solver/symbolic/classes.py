"""Making objects: of dataclasses, exceptions, enumerations and plain classes."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.equality import equal
from parsolve.solver.symbolic.instances import Given, initialise
from parsolve.solver.symbolic.kinds import described, is_written, kind_of
from parsolve.solver.symbolic.natives import NOT_NATIVE, native
from parsolve.solver.symbolic.objects import Super
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.subscripts import found_at
from parsolve.solver.symbolic.values import (
    Instance,
    Refused,
    Unsupported,
    Value,
    is_concrete,
    tried,
)

METACLASSES = (type, ABCMeta, type(Protocol))


def made(machine: Core, state: State, kind: type, given: Given) -> Value:
    """A new object of the class."""
    arguments, named = given
    if kind is super:
        return _super(machine, state, arguments)
    if issubclass(kind, Enum):
        return _member(machine, state, kind, given)
    found = native(machine, state, kind, arguments, named)
    if found is not NOT_NATIVE:
        return found
    if type(kind) not in METACLASSES or not (
        kind.__new__ is object.__new__ or issubclass(kind, BaseException)
    ):
        message = f"making an object of class {kind.__qualname__}"
        raise Unsupported(message)
    if inspect.isabstract(kind):
        raise Refused(TypeError)
    content: dict[str, Value] = {}
    if issubclass(kind, BaseException):
        content["args"] = tuple(arguments)
        if is_written(kind.__new__):
            message = f"making an object of class {kind.__qualname__}"
            raise Unsupported(message)
    new = Instance(kind, machine.new(state, content))
    base = next(each for each in kind.__mro__ if "__init__" in vars(each))
    initialise(machine, state, new, base, given)
    return new


def _member(machine: Core, state: State, kind: type[Enum], given: Given) -> Value:
    """A member of an enumeration by its value."""
    arguments, named = given
    if len(arguments) != 1 or named or "_missing_" in vars(kind):
        message = f"making an object of class {kind.__qualname__}"
        raise Unsupported(message)

    def find(here: State, value: Value) -> Value:
        if is_concrete(value):
            return tried(kind, value)
        fits = [(equal(machine.labels, here, each.value, value), each) for each in kind]
        return found_at(machine, here, fits, ValueError)

    return machine.lifted(state, find, arguments[0])


def _super(machine: Core, state: State, arguments: Sequence[Value]) -> Value:
    """`super`, with or without arguments."""
    frame = machine.frame
    while frame.outer is not None:
        frame = frame.outer
    if len(arguments) == 2:  # noqa: PLR2004  (a class and an object)
        after, owner = arguments
    elif not arguments and "__class__" in frame.cells and frame.scope.first:
        after = frame.cells["__class__"]
        owner = state.held(frame.place)[frame.scope.first]
    else:
        message = "such a call of super"
        raise Unsupported(message)
    kind = owner if isinstance(owner, type) else kind_of(owner)
    if not isinstance(after, type) or not is_concrete(kind):
        message = f"super of {described(owner)}"
        raise Unsupported(message)
    if not issubclass(kind, after):
        raise Refused(TypeError)
    return Super(after, owner)
