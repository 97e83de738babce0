"""Built-in functions about numbers, truth, texts, and all of a collection."""

from __future__ import annotations

import ast
import functools
import logging
import math
import operator
import warnings

from parsolve.solver.symbolic import folds, terms
from parsolve.solver.symbolic.core import Core, Partial
from parsolve.solver.symbolic.formats import text_of
from parsolve.solver.symbolic.kinds import described
from parsolve.solver.symbolic.merge import merged
from parsolve.solver.symbolic.methods import LEVELS, said_nothing
from parsolve.solver.symbolic.operators import binary, compare, truth, unary
from parsolve.solver.symbolic.registry import Handlers
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Condition,
    Unsupported,
    Value,
    is_concrete,
    is_numeric,
    number,
    opposite,
    tried,
)

HANDLERS = Handlers()


@HANDLERS.of(all)
def _all(machine: Core, state: State, values: Value) -> Value:
    return folds.quantified(machine, state, values, universal=True)


@HANDLERS.of(any)
def _any(machine: Core, state: State, values: Value) -> Value:
    return folds.quantified(machine, state, values, universal=False)


@HANDLERS.of(min)
def _min(machine: Core, state: State, *arguments: Value, **named: Value) -> Value:
    return folds.extreme(machine, state, ast.Lt, arguments, named)


@HANDLERS.of(max)
def _max(machine: Core, state: State, *arguments: Value, **named: Value) -> Value:
    return folds.extreme(machine, state, ast.Gt, arguments, named)


@HANDLERS.of(sum)
def _sum(machine: Core, state: State, values: Value, start: Value = 0) -> Value:
    return folds.total(machine, state, values, start)


@HANDLERS.of(math.prod)
def _prod(machine: Core, state: State, values: Value, *, start: Value = 1) -> Value:
    return machine.lifted(
        state, lambda here, held: folds.folded(machine, here, ast.Mult, held, start), values
    )


@HANDLERS.of(functools.reduce)
def _reduce(
    machine: Core, state: State, join: Value, values: Value, start: Value = folds.NOTHING
) -> Value:
    def call(here: State, a: Value, b: Value) -> Value:
        return machine.call(here, join, (a, b))

    return folds.reduced(machine, state, call, values, start)


@HANDLERS.of(functools.partial)
def _partial(
    _machine: Core, _state: State, function: Value, /, *arguments: Value, **named: Value
) -> Value:
    return Partial(function, arguments, named)


@HANDLERS.of(len)
def _len(machine: Core, state: State, value: Value) -> Value:
    return machine.lifted(state, lambda here, held: folds.length(machine, here, held), value)


@HANDLERS.of(sorted)
def _sorted(
    machine: Core, state: State, values: Value, *, key: Value = None, reverse: Value = False
) -> Value:
    return folds.in_order(machine, state, values, key, reverse)


@HANDLERS.of(next)
def _next(machine: Core, state: State, values: Value, default: Value = folds.NOTHING) -> Value:
    return folds.first_of(machine, state, values, default)


# --- numbers and truth -----------------------------------------------------------------


@HANDLERS.of(abs)
def _abs(machine: Core, state: State, value: Value) -> Value:
    def absolute(here: State, held: Value) -> Value:
        if not is_numeric(held):
            return unary(machine, here, ast.USub, held)  # which refuses what has no sign
        known = number(held)
        return merged(machine.labels, terms.less(known, 0), terms.minus(0, known), known)

    return machine.lifted(state, absolute, value)


@HANDLERS.of(int)
def _int(machine: Core, state: State, value: Value = 0) -> Value:
    def integer(_: State, held: Value) -> Value:
        if is_numeric(held):
            return number(held)
        if is_concrete(held):
            return tried(int, held)
        message = f"`int` of {described(held)}"
        raise Unsupported(message)

    return machine.lifted(state, integer, value)


@HANDLERS.of(bool)
def _bool(machine: Core, state: State, value: Value = None) -> Condition:
    return truth(machine, state, value)


@HANDLERS.of(operator.not_)
def _not(machine: Core, state: State, value: Value) -> Condition:
    return opposite(truth(machine, state, value))


@HANDLERS.of(divmod)
def _divmod(machine: Core, state: State, a: Value, b: Value) -> Value:
    quotient = binary(machine, state, ast.FloorDiv, a, b)
    return (quotient, binary(machine, state, ast.Mod, a, b))


@HANDLERS.of(pow)
def _pow(machine: Core, state: State, base: Value, exponent: Value) -> Value:
    return binary(machine, state, ast.Pow, base, exponent)


def _operator(function: object, operation: type[ast.operator]) -> None:
    HANDLERS[function] = lambda machine, state, a, b: binary(machine, state, operation, a, b)


def _relation(function: object, operation: type[ast.cmpop]) -> None:
    HANDLERS[function] = lambda machine, state, a, b: compare(machine, state, operation, a, b)


_operator(operator.add, ast.Add)
_operator(operator.sub, ast.Sub)
_operator(operator.mul, ast.Mult)
_operator(operator.floordiv, ast.FloorDiv)
_operator(operator.mod, ast.Mod)
_relation(operator.eq, ast.Eq)
_relation(operator.ne, ast.NotEq)
_relation(operator.lt, ast.Lt)
_relation(operator.le, ast.LtE)
_relation(operator.gt, ast.Gt)
_relation(operator.ge, ast.GtE)


# --- texts -----------------------------------------------------------------------------


@HANDLERS.of(str)
def _str(machine: Core, state: State, value: Value = "") -> Value:
    return text_of(machine, state, value)


@HANDLERS.of(repr)
def _repr(machine: Core, state: State, value: Value) -> Value:
    return text_of(machine, state, value, plain=False)


HANDLERS.of(print, warnings.warn, *(getattr(logging, level) for level in LEVELS))(said_nothing)


@HANDLERS.of(logging.getLogger)
def _logger(_machine: Core, _state: State, name: Value = None) -> Value:
    return logging.getLogger(name if isinstance(name, str) else None)
