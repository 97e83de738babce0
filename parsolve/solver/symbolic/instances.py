"""Filling new objects: what ``__init__`` does, be it written or Python's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.kinds import is_written, static_attribute
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
    fields = [each for each in fields_of(base) if each.kind != "class variable"]
    values = _given_values([each.field for each in fields], given)
    if is_written(owner.type.__setattr__):
        message = f"`__setattr__` of class {owner.type.__name__}"
        raise Unsupported(message)
    late: list[Value] = []
    for each in fields:
        field = each.field
        if field.name in values:
            value = values[field.name]
        elif field.default is not dataclasses.MISSING:
            if not field.init and owner.type.__dictoffset__:
                continue  # the class has it
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = machine.call(state, field.default_factory)
        else:
            continue
        if each.kind == "parameter":
            late.append(value)
        elif isinstance(static_attribute(owner.type, field.name), property):
            message = f"the attribute `{field.name}` of class {owner.type.__name__}"
            raise Unsupported(message)
        else:
            put(state, owner, field.name, value)
    if hasattr(base, "__post_init__"):
        machine.call(state, Method(owner.type.__post_init__, owner), late)  # type: ignore[attr-defined]


def _given_values(fields: Sequence[dataclasses.Field[Any]], given: Given) -> dict[str, Value]:
    """What a call gives to fields, by their names."""
    arguments, named = given
    known = [each for each in fields if each.init]
    ordered = [each.name for each in known if not each.kw_only]
    values = dict(zip(ordered, arguments, strict=False))
    if len(arguments) > len(ordered) or set(named) - {each.name for each in known}:
        raise Refused(TypeError)
    if set(named) & set(values):
        raise Refused(TypeError)
    values |= named
    for each in known:
        without = each.default is each.default_factory is dataclasses.MISSING
        if without and each.name not in values:
            raise Refused(TypeError)
    return values


Kind: TypeAlias = Literal["field", "class variable", "parameter"]


class FieldOf(NamedTuple):
    """A field of a dataclass, or what stands among its fields."""

    field: dataclasses.Field[Any]
    kind: Kind


def fields_of(kind: type) -> list[FieldOf]:
    """All that stands among the fields of a dataclass."""
    kinds: dict[object, Kind] = {
        dataclasses._FIELD_CLASSVAR: "class variable",  # type: ignore[attr-defined]  # noqa: SLF001
        dataclasses._FIELD_INITVAR: "parameter",  # type: ignore[attr-defined]  # noqa: SLF001
    }
    return [
        FieldOf(each, kinds.get(each._field_type, "field"))  # noqa: SLF001
        for each in kind.__dataclass_fields__.values()  # type: ignore[attr-defined]
    ]
