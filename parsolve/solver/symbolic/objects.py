"""Objects of classes: what their attributes are, and setting them."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from types import FunctionType, MemberDescriptorType

from parsolve.solver.symbolic.core import Builtin, Core
from parsolve.solver.symbolic.instances import initialise, put
from parsolve.solver.symbolic.kinds import (
    MISSING,
    check_inside,
    described,
    is_written,
    kind_of,
    static_attribute,
)
from parsolve.solver.symbolic.methods import method_of
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    UNBOUND,
    Instance,
    Items,
    Label,
    Method,
    Mutable,
    Numbers,
    Refused,
    Symbolic,
    Text,
    Unsupported,
    Value,
    cases,
    is_concrete,
    is_numeric,
    tried,
)

CACHED = type(functools.cache(lambda: None))


@dataclass(frozen=True, slots=True, eq=False)
class Super(Symbolic):
    """What `super` gives: an object as the classes after one of its own see it."""

    after: type
    owner: Value


def attribute(machine: Core, state: State, owner: Value, name: str) -> Value:
    """``owner.name``."""
    return machine.lifted(state, lambda here, held: _attribute(machine, here, held, name), owner)


def _attribute(machine: Core, state: State, owner: Value, name: str) -> Value:
    match owner:
        case Instance():
            return _of_instance(machine, state, owner, name)
        case Super():
            return _of_super(machine, state, owner, name)
    method = method_of(kind_of(owner), name, owner)
    if method is not None:
        return method
    if is_concrete(owner):
        check_inside(owner)
        return tried(getattr, owner, name)
    if isinstance(owner, (Label, Text, Items, Mutable, Numbers)) or is_numeric(owner):
        if not hasattr(kind_of(owner), name):
            raise Refused(AttributeError)
        if name == "__class__":
            return kind_of(owner)
    message = f"the attribute `{name}` of {described(owner)}"
    raise Unsupported(message)


def attribute_or_not(
    machine: Core, state: State, owner: Value, name: str
) -> tuple[Value, list[State]]:
    """The attribute, and the states in which there is none; `Core.meet` them."""
    value, raised = machine.watching(state, lambda here: attribute(machine, here, owner, name))
    machine.raised += [each for each in raised if not issubclass(each.kind, AttributeError)]
    return value, [each.state for each in raised if issubclass(each.kind, AttributeError)]


def _of_instance(machine: Core, state: State, owner: Instance, name: str) -> Value:
    if name == "__class__":
        return owner.type
    if is_written(owner.type.__getattribute__):
        message = f"`__getattribute__` of class {owner.type.__name__}"
        raise Unsupported(message)
    static = static_attribute(owner.type, name)
    if isinstance(static, property):
        if static.fget is None:
            raise Refused(AttributeError)
        return machine.call(state, static.fget, (owner,))
    held = state.narrowed(state.held(owner.place).get(name, UNBOUND))
    if all(value is not UNBOUND for _, value in cases(held)):
        return held
    return machine.each_case(
        state,
        cases(held),
        lambda here, value: (
            _of_class(machine, here, owner, name, static) if value is UNBOUND else value
        ),
    )


def _of_class(machine: Core, state: State, owner: Instance, name: str, static: Value) -> Value:
    """An attribute that the object itself does not have."""
    if isinstance(static, functools.cached_property):
        found = machine.call(state, static.func, (owner,))
        put(state, owner, name, found)
        return found
    if static is MISSING or isinstance(static, MemberDescriptorType):
        if hasattr(owner.type, "__getattr__"):
            message = f"`__getattr__` of class {owner.type.__name__}"
            raise Unsupported(message)
        raise Refused(AttributeError)
    return bound_to(owner, owner.type, name, static)


def bound_to(owner: Value, kind: type, name: str, static: Value) -> Value:
    """What stands in a class, as an object of the class has it."""
    match static:
        case FunctionType():
            return Method(static, owner)
        case staticmethod():
            return static.__func__
        case classmethod():
            return Method(static.__func__, kind)
        case _ if isinstance(static, CACHED):
            return Method(static, owner)
        case _ if isinstance(static, type) or not hasattr(static, "__get__"):
            return static
        case _:
            message = f"the attribute `{name}` of class {kind.__name__}"
            raise Unsupported(message)


def _of_super(machine: Core, state: State, owner: Super, name: str) -> Value:
    real = owner.owner
    kind = real if isinstance(real, type) else kind_of(real)
    later = kind.__mro__[kind.__mro__.index(owner.after) + 1 :]
    base = next((each for each in later if name in vars(each)), None)
    if base is None:
        raise Refused(AttributeError)
    found = vars(base)[name]
    if name == "__init__" and isinstance(real, Instance):
        return Method(Builtin(functools.partial(_initialise_as, base)), real)
    if name == "__setattr__" and base is object:
        return Method(Builtin(set_plainly), real)
    if isinstance(found, property) and found.fget is not None:
        return machine.call(state, found.fget, (real,))
    if isinstance(real, type) and isinstance(found, FunctionType):
        return found
    return bound_to(real, kind, name, found)


def _initialise_as(
    base: type, machine: Core, state: State, owner: Instance, *given: Value, **named: Value
) -> None:
    initialise(machine, state, owner, base, (given, named))


def set_plainly(machine: Core, state: State, owner: Value, name: Value, value: Value) -> None:
    """``object.__setattr__(owner, name, value)``, which asks no class whether it is frozen."""
    if not isinstance(owner, Instance) or not isinstance(name, str):
        message = f"setting an attribute of {described(owner)}"
        raise Unsupported(message)
    _set(machine, state, owner, name, value)


def set_attribute(machine: Core, state: State, owner: Value, name: str, value: Value) -> None:
    """``owner.name = value``."""

    def change(here: State, held: Value) -> None:
        if isinstance(held, Instance):
            _check_frozen(held.type, name)
            _set(machine, here, held, name, value)
        elif held is None or is_numeric(held) or isinstance(held, (str, Label, tuple)):
            raise Refused(AttributeError)
        else:
            message = f"setting an attribute of {described(held)}"
            raise Unsupported(message)

    machine.lifted(state, change, owner)


def _check_frozen(kind: type, name: str) -> None:
    """Refuse what a frozen dataclass refuses."""
    for base in kind.__mro__:
        method = vars(base).get("__setattr__")
        if method is None:
            continue
        if is_written(method):
            message = f"`__setattr__` of class {base.__name__}"
            raise Unsupported(message)
        if base is object or not dataclasses.is_dataclass(base):
            return
        if name in base.__dataclass_fields__:
            raise Refused(dataclasses.FrozenInstanceError)
        if not kind.__dictoffset__:  # Python's own answer differs from release to release
            message = f"setting {name} on a frozen class with slots"
            raise Unsupported(message)
        if kind is base:
            raise Refused(dataclasses.FrozenInstanceError)


def _set(machine: Core, state: State, owner: Instance, name: str, value: Value) -> None:
    static = static_attribute(owner.type, name)
    if isinstance(static, property):
        if static.fset is None:
            raise Refused(AttributeError)
        machine.call(state, static.fset, (owner, value))
        return
    if hasattr(static, "__set__") and not isinstance(static, MemberDescriptorType):
        message = f"the attribute `{name}` of class {owner.type.__name__}"
        raise Unsupported(message)
    if not owner.type.__dictoffset__ and not isinstance(static, MemberDescriptorType):
        raise Refused(AttributeError)
    put(state, owner, name, value)
