"""Filling new objects: what ``__init__`` does, be it written or Python's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.kinds import is_written
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import Instance, Method, Refused, Unsupported, Value

Given: TypeAlias = "tuple[Sequence[Value], Mapping[str, Value]]"
"""Arguments by position and by name."""

PARTICULAR = (OSError, SyntaxError, UnicodeError, BaseExceptionGroup)
"""Exceptions that do more with their arguments than keep them."""


def put(state: State, owner: Instance, name: str, value: Value) -> None:
    """Give the object an attribute."""
    state.objects[owner.place] = {**state.held(owner.place), name: value}


def initialise(machine: Core, state: State, owner: Instance, base: type, given: Given) -> None:
    """Run the ``__init__`` that stands in ``base`` on an object."""
    arguments, named = given
    start = vars(base)["__init__"]
    if is_written(start):
        machine.call(state, Method(start, owner), arguments, named)
    elif "__dataclass_fields__" in vars(base):
        _fill(machine, state, owner, base, given)
    elif base is object:
        if arguments or named:
            raise Refused(TypeError)
    elif issubclass(base, BaseException):
        many = len(arguments) > 1 or issubclass(base, (UnicodeError, BaseExceptionGroup))
        if named or (many and issubclass(base, PARTICULAR)):
            message = f"making an exception of class {base.__qualname__} so"
            raise Unsupported(message)
        put(state, owner, "args", tuple(arguments))
    else:
        message = f"making an object of class {base.__qualname__}"
        raise Unsupported(message)


def _fill(machine: Core, state: State, owner: Instance, base: type, given: Given) -> None:
    """What the ``__init__`` of a dataclass does."""
    arguments, named = given
    fields = [
        each
        for each in base.__dataclass_fields__.values()  # type: ignore[attr-defined]
        if each._field_type is not dataclasses._FIELD_CLASSVAR  # type: ignore[attr-defined]  # noqa: SLF001
    ]
    ordered = [each.name for each in fields if each.init and not each.kw_only]
    values = dict(zip(ordered, arguments, strict=False))
    known = {each.name for each in fields if each.init}
    if len(arguments) > len(ordered) or set(named) - known or set(named) & set(values):
        raise Refused(TypeError)
    values |= named
    for each in fields:
        without = (
            each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
        )
        if each.init and without and each.name not in values:
            raise Refused(TypeError)
    late: list[Value] = []
    for each in fields:
        if each.name in values:
            value = values[each.name]
        elif each.default is not dataclasses.MISSING:
            if not each.init and owner.type.__dictoffset__:
                continue  # the class has it
            value = each.default
        elif each.default_factory is not dataclasses.MISSING:
            value = machine.call(state, each.default_factory)
        else:
            continue
        if each._field_type is dataclasses._FIELD_INITVAR:  # type: ignore[attr-defined]  # noqa: SLF001
            late.append(value)
        else:
            put(state, owner, each.name, value)
    if hasattr(base, "__post_init__"):
        machine.call(state, Method(owner.type.__post_init__, owner), late)  # type: ignore[attr-defined]
