"""Python's operators on values of which some are unknown."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator

import z3

from parsolve.solver.symbolic import lists, terms
from parsolve.solver.symbolic.collect import Unknown, entries, is_set, known_object
from parsolve.solver.symbolic.containers import combined, fresh
from parsolve.solver.symbolic.core import Builtin, Closure, Core, Partial
from parsolve.solver.symbolic.equality import contains, equal, identical, included
from parsolve.solver.symbolic.formats import formatted_by_percent
from parsolve.solver.symbolic.kinds import described, kind_of
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Condition,
    Instance,
    Items,
    Label,
    Method,
    Mutable,
    Numbers,
    Refused,
    Text,
    Union,
    Unsupported,
    Value,
    both,
    cases,
    either,
    is_concrete,
    is_numeric,
    is_text,
    is_truth,
    number,
    opposite,
    tried,
)

BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Div: operator.truediv,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.MatMult: operator.matmul,
}
UNARY: dict[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
ORDERS: dict[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
HIGHEST_POWER = 4


def binary(
    machine: Core, state: State, operation: type[ast.operator], left: Value, right: Value
) -> Value:
    """``left operation right``."""

    def apply(here: State, a: Value, b: Value) -> Value:
        return _binary(machine, here, operation, a, b)

    return machine.lifted(state, apply, left, right)


def _binary(
    machine: Core, state: State, operation: type[ast.operator], a: Value, b: Value
) -> Value:
    if is_concrete(a) and is_concrete(b):
        return fresh(machine, state, tried(BINARY[operation], a, b))
    if is_numeric(a) and is_numeric(b):
        return _arithmetic(machine, state, operation, a, b)
    if operation is ast.Mod and is_text(a):
        return formatted_by_percent(machine, state, a, b)
    if operation is ast.Mod and isinstance(a, lists.Member):
        return lists.remainder(machine, state, a, b)
    if is_text(a) or is_text(b):
        return _on_texts(operation, a, b)
    found = combined(machine, state, operation, a, b)
    if found is not None:
        return found
    if _has_no_operators(a) and _has_no_operators(b):
        raise Refused(TypeError)
    message = f"`{operation.__name__}` on {described(a)} and {described(b)}"
    raise Unsupported(message)


def _has_no_operators(value: Value) -> bool:
    """Whether it takes part in no operation but those handled apart from this."""
    others = {str, list, tuple, dict, set, frozenset}
    return is_numeric(value) or value is None or kind_of(value) in others


def _on_texts(operation: type[ast.operator], a: Value, b: Value) -> Value:
    if operation is ast.Add and is_text(a) and is_text(b):
        return Text(filled=any(_filled(each) for each in (a, b)))
    if operation is ast.Mult and (is_numeric(a) or is_numeric(b)):
        return Text()
    if _has_no_operators(a) and _has_no_operators(b):
        raise Refused(TypeError)
    message = f"`{operation.__name__}` on {described(a)} and {described(b)}"
    raise Unsupported(message)


def _filled(text: Value) -> bool:
    return text.filled if isinstance(text, Text) else isinstance(text, str) and bool(text)


def _arithmetic(
    machine: Core, state: State, operation: type[ast.operator], a: Value, b: Value
) -> Value:
    if is_truth(a) and is_truth(b):
        if operation is ast.BitAnd:
            return both(a, b)
        if operation is ast.BitOr:
            return either(a, b)
        if operation is ast.BitXor:
            return opposite(terms.same_truth(a, b))
    x, y = number(a), number(b)
    if operation is ast.Add:
        return terms.plus(x, y)
    if operation is ast.Sub:
        return terms.minus(x, y)
    if operation is ast.Mult:
        return _product(machine, x, y)
    if operation is ast.FloorDiv or operation is ast.Mod:
        machine.refuse(state, terms.equal(y, 0), ZeroDivisionError)
        pair = machine.arithmetic.divided(terms.integer(x), terms.integer(y))
        return pair[operation is ast.Mod]
    if operation is ast.Pow and isinstance(y, int) and 0 <= y <= HIGHEST_POWER:
        result: Value = 1
        for _ in range(y):
            result = _product(machine, result, x)
        return result
    message = f"`{operation.__name__}` on unknown integers"
    raise Unsupported(message)


def _product(machine: Core, x: Value, y: Value) -> Value:
    if isinstance(x, int):
        return x * y if isinstance(y, int) else terms.times(y, x)
    return terms.times(x, y) if isinstance(y, int) else machine.arithmetic.product(x, y)


def unary(machine: Core, state: State, operation: type[ast.unaryop], operand: Value) -> Value:
    """Sign and inversion; `not` is a matter of `truth`."""

    def apply(here: State, value: Value) -> Value:
        if is_concrete(value):
            return tried(UNARY[operation], value)
        if is_numeric(value):
            if operation is ast.UAdd:
                return number(value)
            return terms.minus(0 if operation is ast.USub else -1, number(value))
        return _binary(machine, here, ast.Sub, 0, value)  # as little as minus can

    return machine.lifted(state, apply, operand)


def truth(machine: Core, state: State, value: Value) -> Condition:
    """Whether Python takes the value for true."""
    if isinstance(value, bool) or type(value) is z3.BoolRef:
        return value
    if isinstance(value, Union) and not any(isinstance(v, Instance) for _, v in cases(value)):
        parts = [(guard, each) for guard, each in cases(value) if state.settled(guard) is not False]
        if all(isinstance(each, (int, z3.ExprRef, Label, type(None))) for _, each in parts):
            return either(*(both(guard, _truth(machine, state, each)) for guard, each in parts))
    return machine.lifted(state, lambda here, each: _truth(machine, here, each), value)


def _truth(machine: Core, state: State, value: Value) -> Condition:
    match value:
        case bool() | z3.BoolRef():
            return value
        case z3.ArithRef():
            return opposite(terms.equal(value, 0))
        case Label():
            return opposite(terms.equal(value.code, machine.labels.code("")))
        case tuple():
            return bool(value)
        case Items() | Mutable():
            found = () if value.kind is Iterator else entries(state, value)
            return value.kind is Iterator or either(*(present for present, _ in found))
        case Numbers():
            return opposite(terms.equal(value.length, 0))
        case Text(filled=True) | Method() | Closure() | Partial() | Builtin():
            return True
        case Instance():
            return _truth_of_object(machine, state, value)
        case lists.Mapped():
            return lists.some(value.member, value.present)
        case _ if is_concrete(value):
            return tried(bool, value)
        case _:
            pass
    message = f"the truth of {described(value)}"
    raise Unsupported(message)


def _truth_of_object(machine: Core, state: State, value: Instance) -> Condition:
    method = getattr(value.type, "__bool__", None)
    if method is None:
        size = length_of_object(machine, state, value)
        return size is None or opposite(terms.equal(size, 0))
    found = machine.call(state, Method(method, value))
    if not is_truth(found):
        message = f"the truth of {described(value)}"
        raise Unsupported(message)
    return found


def length_of_object(machine: Core, state: State, value: Instance) -> terms.Integer | None:
    """What its ``__len__`` says, if it has one."""
    method = getattr(value.type, "__len__", None)
    if method is None:
        return None
    found = machine.call(state, Method(method, value))
    if not is_numeric(found):
        message = f"the length of {described(value)}"
        raise Unsupported(message)
    size = number(found)
    machine.refuse(state, terms.less(size, 0), ValueError)
    return size


def compare(
    machine: Core, state: State, operation: type[ast.cmpop], left: Value, right: Value
) -> Value:
    """``left operation right``, for every comparison operator."""
    if type(left) is not Union and type(right) is not Union:
        return _compare(machine, state, operation, left, right)
    return machine.lifted(
        state, lambda here, a, b: _compare(machine, here, operation, a, b), left, right
    )


def _compare(machine: Core, state: State, operation: type[ast.cmpop], a: Value, b: Value) -> Value:
    if isinstance(a, lists.ABOUT_ENTRIES) or isinstance(b, lists.ABOUT_ENTRIES):
        return lists.compared(operation, a, b)
    labels = machine.labels
    if operation is ast.Eq:
        return equal(labels, state, a, b)
    if operation is ast.NotEq:
        return opposite(equal(labels, state, a, b))
    if operation is ast.Is:
        return identical(labels, state, a, b)
    if operation is ast.IsNot:
        return opposite(identical(labels, state, a, b))
    if operation is ast.In:
        return contains(labels, state, b, a)
    if operation is ast.NotIn:
        return opposite(contains(labels, state, b, a))
    return ordered(machine, state, operation, a, b)


def ordered(
    machine: Core, state: State, operation: type[ast.cmpop], a: Value, b: Value
) -> Condition:
    """``a operation b`` for an operator of order."""
    if is_concrete(a) and is_concrete(b):
        return tried(lambda: bool(ORDERS[operation](a, b)))
    if operation is ast.Gt or operation is ast.GtE:
        flipped = ast.Lt if operation is ast.Gt else ast.LtE
        return _upwards(machine, state, b, a, strict=flipped is ast.Lt)
    return _upwards(machine, state, a, b, strict=operation is ast.Lt)


def _upwards(machine: Core, state: State, a: Value, b: Value, *, strict: bool) -> Condition:
    """``a < b``, or ``a <= b``."""
    if is_numeric(a) and is_numeric(b):
        return (terms.less if strict else terms.at_most)(number(a), number(b))
    if is_numeric(a) and isinstance(b, float) and math.isfinite(b):
        return terms.at_most(number(a), math.ceil(b) - 1 if strict else math.floor(b))
    if isinstance(a, float) and is_numeric(b) and math.isfinite(a):
        return terms.at_most(math.floor(a) + 1 if strict else math.ceil(a), number(b))
    if is_set(a) and is_set(b):
        inside = included(machine.labels, state, a, b)
        return both(inside, opposite(included(machine.labels, state, b, a))) if strict else inside
    if _has_no_operators(a) and _has_no_operators(b):
        one, two = kind_of(a), kind_of(b)
        if one is not two or one in {dict, type(None)}:
            raise Refused(TypeError)
        try:
            x, y = known_object(state, a), known_object(state, b)
        except Unknown:
            pass
        else:
            return ordered(machine, state, ast.Lt if strict else ast.LtE, x, y)
    message = f"the order of {described(a)} and {described(b)}"
    raise Unsupported(message)
