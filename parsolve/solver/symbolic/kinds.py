"""Of what class a value is, known or not."""

from __future__ import annotations

import dataclasses
import os
from functools import partial
from types import FunctionType, MethodType

import z3

from parsolve.solver.symbolic.core import Closure, Partial
from parsolve.solver.symbolic.values import (
    Instance,
    Items,
    Label,
    Method,
    Mutable,
    Numbers,
    Opaque,
    Text,
    Union,
    Unsupported,
    Value,
)

MISSING = object()


def kind_of(value: Value) -> type:
    """The class of the value as the program sees it; a class of ours where that is unknown."""
    match value:
        case z3.BoolRef():
            return bool
        case z3.ArithRef():
            return int
        case Label() | Text():
            return str
        case Items(kind) | Mutable(kind) | Numbers(kind=kind) | Instance(kind):
            return kind
        case Closure():
            return FunctionType
        case Method():
            return MethodType
        case Partial():
            return partial
        case _:
            return type(value)


def described(value: Value) -> str:
    """What kind of value it is, for messages."""
    match value:
        case z3.BoolRef():
            return "an unknown truth value"
        case z3.ArithRef():
            return "an unknown integer"
        case Label() | Text():
            return "an unknown text"
        case Numbers():
            return "an unknown list"
        case Items(kind) | Mutable(kind):
            return f"a {kind.__name__}"
        case Instance(kind):
            return f"an object of class {kind.__name__}"
        case Union():
            return "a value of unknown type"
        case Opaque(what):
            return what
        case Closure() | Method() | Partial():
            return "a function"
        case _:
            return f"a value of type {type(value).__name__}"


def is_written(method: object) -> bool:
    """Whether a method is a function that somebody wrote: not built in, nor a dataclass's own."""
    code = getattr(method, "__code__", None)
    return code is not None and code.co_filename not in {"<string>", dataclasses.__file__}


def static_attribute(kind: type, name: str) -> Value:
    """A class attribute as it stands in the class, undescribed."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return MISSING


def is_called(kind: type) -> bool:
    """Whether objects of the class can be called."""
    return any("__call__" in vars(base) for base in kind.__mro__)


def check_inside(value: Value) -> None:
    """Refuse to look at what is not the program's: it may be otherwise where that runs."""
    if isinstance(value, os._Environ):  # noqa: SLF001  (it has no public name)
        message = "the environment of the process"
        raise Unsupported(message)
