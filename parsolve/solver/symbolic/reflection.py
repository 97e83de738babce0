"""Built-in functions about classes and attributes, and what type checkers are told."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator

from parsolve.solver.symbolic.core import Builtin, Closure, Core, Partial
from parsolve.solver.symbolic.equality import PLAIN
from parsolve.solver.symbolic.instances import fields_of
from parsolve.solver.symbolic.kinds import described, is_called, kind_of
from parsolve.solver.symbolic.lists import Member
from parsolve.solver.symbolic.objects import attribute, attribute_or_not, set_attribute, set_plainly
from parsolve.solver.symbolic.registry import Handlers
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Instance,
    Method,
    Refused,
    Symbolic,
    Unsupported,
    Value,
    is_concrete,
    tried,
)

HANDLERS = Handlers()


@HANDLERS.of(isinstance)
def _isinstance(machine: Core, state: State, value: Value, kinds: Value) -> Value:
    def fits(_: State, held: Value) -> bool:
        kind = int if isinstance(held, Member) else kind_of(held)
        if not is_concrete(kinds) or issubclass(kind, Symbolic):
            message = f"the class of {described(held)}"
            raise Unsupported(message)
        return tried(isinstance, held, kinds) if is_concrete(held) else _is_kind(kind, kinds)

    return machine.lifted(state, fits, value)


def _is_kind(kind: type, kinds: Value) -> bool:
    found: bool = tried(issubclass, kind, kinds)
    asked = kinds if isinstance(kinds, tuple) else (kinds,)
    if not found and kind is Iterator and not PLAIN.issuperset(asked):
        message = "the class of an iterator"
        raise Unsupported(message)
    return found


@HANDLERS.of(type)
def _type(machine: Core, state: State, value: Value) -> Value:
    def kind(_: State, held: Value) -> type:
        found = kind_of(held)
        if issubclass(found, Symbolic) or found is Iterator:
            message = f"the class of {described(held)}"
            raise Unsupported(message)
        return found

    return machine.lifted(state, kind, value)


@HANDLERS.of(callable)
def _callable(machine: Core, state: State, value: Value) -> Value:
    def is_callable(_: State, held: Value) -> bool:
        if isinstance(held, (Closure, Method, Builtin, Partial)):
            return True
        if isinstance(held, Instance):
            return is_called(held.type)
        return is_concrete(held) and callable(held)

    return machine.lifted(state, is_callable, value)


@HANDLERS.of(getattr)
def _getattr(machine: Core, state: State, owner: Value, name: Value, *default: Value) -> Value:
    if not isinstance(name, str):
        message = "an attribute of unknown name"
        raise Unsupported(message)
    if not default:
        return attribute(machine, state, owner, name)
    value, missing = attribute_or_not(machine, state, owner, name)
    return machine.meet(state, [(state, value), *((end, default[0]) for end in missing)])


@HANDLERS.of(hasattr)
def _hasattr(machine: Core, state: State, owner: Value, name: Value) -> Value:
    if not isinstance(name, str):
        message = "an attribute of unknown name"
        raise Unsupported(message)
    _, missing = attribute_or_not(machine, state, owner, name)
    return machine.meet(state, [(state, True), *((end, False) for end in missing)])


@HANDLERS.of(setattr)
def _setattr(machine: Core, state: State, owner: Value, name: Value, value: Value) -> None:
    if not isinstance(name, str):
        message = "an attribute of unknown name"
        raise Unsupported(message)
    set_attribute(machine, state, owner, name, value)


HANDLERS[object.__setattr__] = set_plainly


@HANDLERS.of(dataclasses.replace)
def _replace(machine: Core, state: State, owner: Value, /, **changes: Value) -> Value:
    def replace(here: State, held: Value) -> Value:
        if not isinstance(held, Instance) or not dataclasses.is_dataclass(held.type):
            message = f"`replace` of {described(held)}"
            raise Unsupported(message)
        if any(each.kind == "parameter" for each in fields_of(held.type)):
            message = "`replace` of a class with parameters that are no fields"
            raise Unsupported(message)
        given = dict(changes)
        for field in dataclasses.fields(held.type):
            if not field.init and field.name in given:
                raise Refused(ValueError)
            if field.init and field.name not in given:
                given[field.name] = attribute(machine, here, held, field.name)
        return machine.call(here, held.type, (), given)

    return machine.lifted(state, replace, owner)


@HANDLERS.of(dataclasses.fields)
def _fields(_machine: Core, _state: State, owner: Value) -> Value:
    kind = owner.type if isinstance(owner, Instance) else owner
    return tried(dataclasses.fields, kind)


@HANDLERS.of(typing.cast)
def _cast(_machine: Core, _state: State, _kind: Value, value: Value) -> Value:
    return value


@HANDLERS.of(typing.assert_never)
def _assert_never(_machine: Core, _state: State, _value: Value) -> None:
    raise Refused(AssertionError)
