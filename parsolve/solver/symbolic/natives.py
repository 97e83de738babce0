"""Functions of Python's own that are simply called, where nothing they are given is unknown."""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType

from parsolve.solver.symbolic.collect import Unknown, known_object
from parsolve.solver.symbolic.containers import fresh
from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Value,
    tried,
)

MODULES = frozenset({"math", "itertools", "re", "fractions", "decimal", "typing"})
BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        *("abs", "ascii", "bin", "bool", "bytes", "callable", "chr", "complex", "divmod"),
        *("float", "format", "hex", "int", "isinstance", "issubclass", "len", "oct", "ord"),
        *("pow", "range", "repr", "round", "slice", "str"),
    )
)
OWNERS = (
    *(str, bytes, int, float, bool, tuple, list, dict, set, frozenset, range),
    *(re.Pattern, re.Match),
)
CHANGING = frozenset(
    {
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add"),
        *("discard", "update", "setdefault", "popitem", "intersection_update"),
        *("difference_update", "symmetric_difference_update"),
    }
)
"""Methods that change their owner; what is no value of ours is not the program's own."""

COPYING = frozenset({"copy", "union", "intersection", "difference", "symmetric_difference"})
"""Methods of collections that make a new one."""

NOT_NATIVE = object()
"""What `native` says where this is no such call."""


def native(
    machine: Core,
    state: State,
    function: Value,
    arguments: Sequence[Value],
    named: Mapping[str, Value],
) -> Value:
    """What Python itself makes of the call, if it may be asked."""
    makes = _makes(function)
    if makes is None:
        return NOT_NATIVE
    try:
        given = [known_object(state, each) for each in arguments]
        by_name = {name: known_object(state, each) for name, each in named.items()}
    except Unknown:
        return NOT_NATIVE
    found = tried(partial(function, *given, **by_name))
    return fresh(machine, state, found) if makes else found


def _makes(function: Value) -> bool | None:
    """Whether what the function returns is new; None where it is not ours to call."""
    if isinstance(function, MethodDescriptorType):
        if function.__objclass__ in OWNERS and function.__name__ not in CHANGING:
            return function.__objclass__ is str or function.__name__ in COPYING
        return None
    owner = getattr(function, "__self__", None)
    if isinstance(function, BuiltinFunctionType) and not isinstance(
        owner, (ModuleType, type(None))
    ):
        if type(owner) in OWNERS and function.__name__ not in CHANGING:
            return not isinstance(owner, (tuple, list, dict, set)) or function.__name__ in COPYING
        return None
    ours = isinstance(function, (BuiltinFunctionType, FunctionType, type)) and (
        function in BUILTINS or getattr(function, "__module__", None) in MODULES
    )
    return True if ours else None
