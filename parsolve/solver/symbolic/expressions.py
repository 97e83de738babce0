"""What each kind of expression means."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from parsolve.solver.symbolic.collect import pairs_of, table_of
from parsolve.solver.symbolic.comprehend import (
    dict_comprehension,
    generator,
    list_comprehension,
    set_comprehension,
)
from parsolve.solver.symbolic.containers import gathered, set_of, with_key
from parsolve.solver.symbolic.core import Closure, Core
from parsolve.solver.symbolic.formats import formatted
from parsolve.solver.symbolic.kinds import described
from parsolve.solver.symbolic.lists import (
    Each,
    conjoined,
    disjoined,
    is_unknown,
    negated,
    statement,
)
from parsolve.solver.symbolic.names import bind, read
from parsolve.solver.symbolic.objects import attribute
from parsolve.solver.symbolic.operators import binary, compare, truth, unary
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.subscripts import item
from parsolve.solver.symbolic.values import (
    UNBOUND,
    Condition,
    Refused,
    Table,
    Union,
    Unsupported,
    Value,
    is_concrete,
    opposite,
)

Evaluator: TypeAlias = Callable[..., Value]
"""Takes the machine, the state and an expression of its kind."""


def _constant(_machine: Core, _state: State, node: ast.Constant) -> Value:
    return node.value


def _name(machine: Core, state: State, node: ast.Name) -> Value:
    found = state.held(machine.frame.place).get(node.id)
    if found is None or found is UNBOUND or type(found) is Union:
        return read(machine, state, node.id)
    return found


def _attribute(machine: Core, state: State, node: ast.Attribute) -> Value:
    owner = machine.evaluate(state, node.value)
    machine.line = node.lineno
    return attribute(machine, state, owner, machine.private(node.attr))


def _binary(machine: Core, state: State, node: ast.BinOp) -> Value:
    left = machine.evaluate(state, node.left)
    right = machine.evaluate(state, node.right)
    machine.line = node.lineno
    return binary(machine, state, type(node.op), left, right)


def _unary(machine: Core, state: State, node: ast.UnaryOp) -> Value:
    operand = machine.evaluate(state, node.operand)
    machine.line = node.lineno
    if not isinstance(node.op, ast.Not):
        return unary(machine, state, type(node.op), operand)
    said = statement(operand)
    return opposite(truth(machine, state, operand)) if said is None else negated(said)


def _junction(machine: Core, state: State, node: ast.BoolOp) -> Value:
    """``and`` and ``or``: the value of the part that settles it."""
    conjunctive = isinstance(node.op, ast.And)

    def go_on(here: State, place: int) -> Value:
        value = machine.evaluate(here, node.values[place])
        if place == len(node.values) - 1:
            return value
        said = statement(value)
        if said is not None:
            rest = machine.aside(here, lambda inner: said_by(inner, go_on(inner, place + 1)))
            return (conjoined if conjunctive else disjoined)(said, rest)
        holds = truth(machine, here, value)
        return machine.fork(
            here,
            holds if conjunctive else opposite(holds),
            lambda inner: go_on(inner, place + 1),
            lambda inner: inner.narrowed(value),
        )

    def said_by(here: State, value: Value) -> Each | Condition:
        said = statement(value)
        return truth(machine, here, value) if said is None else said

    return go_on(state, 0)


def _comparison(machine: Core, state: State, node: ast.Compare) -> Value:
    def go_on(here: State, left: Value, place: int) -> Value:
        right = _compared(machine, here, node, place)
        machine.line = node.lineno
        found = compare(machine, here, type(node.ops[place]), left, right)
        if place == len(node.ops) - 1:
            return found
        if isinstance(found, Each):
            rest = machine.aside(here, lambda inner: go_on(inner, right, place + 1))
            return conjoined(found, rest)
        return machine.fork(
            here,
            truth(machine, here, found),
            lambda inner: go_on(inner, inner.narrowed(right), place + 1),
            lambda _: False,
        )

    return go_on(state, machine.evaluate(state, node.left), 0)


def _compared(machine: Core, state: State, node: ast.Compare, place: int) -> Value:
    """An operand on the right; a list that is only searched need not be made."""
    operand, last = node.comparators[place], place == len(node.ops) - 1
    if last and isinstance(operand, ast.List) and isinstance(node.ops[place], (ast.In, ast.NotIn)):
        return tuple(elements(machine, state, operand.elts))
    return machine.evaluate(state, operand)


def _choice(machine: Core, state: State, node: ast.IfExp) -> Value:
    return machine.fork(
        state,
        truth(machine, state, machine.evaluate(state, node.test)),
        lambda here: machine.evaluate(here, node.body),
        lambda here: machine.evaluate(here, node.orelse),
    )


def _call(machine: Core, state: State, node: ast.Call) -> Value:
    function = machine.evaluate(state, node.func)
    arguments = elements(machine, state, node.args)
    named: dict[str, Value] = {}
    for keyword in node.keywords:
        value = machine.evaluate(state, keyword.value)
        given = {keyword.arg: value} if keyword.arg else _named(state, value)
        if set(given) & set(named):
            raise Refused(TypeError)
        named |= given
    machine.line = node.lineno
    return machine.lifted(
        state, lambda here, called: machine.call(here, called, arguments, named), function
    )


def _named(state: State, value: Value) -> dict[str, Value]:
    """``**value`` in a call."""
    table = table_of(state, value)
    if table is None:
        message = f"named arguments from {described(value)}"
        raise Unsupported(message)
    if any(present is not True for present, _ in table.values()):
        message = "a call with unknown named arguments"
        raise Unsupported(message)
    if not all(isinstance(name, str) for name in table):
        raise Refused(TypeError)
    return {name: held for name, (_, held) in table.items()}


def elements(machine: Core, state: State, nodes: list[ast.expr]) -> list[Value]:
    """The values of expressions, of which some may be starred."""
    result: list[Value] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            result.append(machine.evaluate(state, node))
            continue
        value = machine.evaluate(state, node.value)
        if is_unknown(value):
            message = "the entries of an unknown list one by one"
            raise Unsupported(message)
        found = gathered(machine, state, value)
        if any(present is not True for present, _ in found):
            message = "unpacking a collection of unknown length"
            raise Unsupported(message)
        result += [each for _, each in found]
    return result


def _formatted(machine: Core, state: State, node: ast.JoinedStr) -> Value:
    return formatted(machine, state, node.values)


def _tuple(machine: Core, state: State, node: ast.Tuple) -> Value:
    return tuple(elements(machine, state, node.elts))


def _list(machine: Core, state: State, node: ast.List) -> Value:
    found = elements(machine, state, node.elts)
    return machine.made_list(state, ((True, value) for value in found))


def _set(machine: Core, state: State, node: ast.Set) -> Value:
    found = elements(machine, state, node.elts)
    return set_of(machine, state, set, [(True, value) for value in found])


def _dict(machine: Core, state: State, node: ast.Dict) -> Value:
    """A mapping; pairs that stand side by side are all evaluated before any is put in."""
    table = Table({})
    waiting: list[tuple[Condition, Value, Value]] = []

    def put(pairs: list[tuple[Condition, Value, Value]]) -> Table:
        result = table
        for present, name, held in pairs:
            result = with_key(machine, result, name, held, present)
        return result

    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None:
            waiting.append((True, machine.evaluate(state, key), machine.evaluate(state, value)))
            continue
        table = put(waiting)
        held = machine.evaluate(state, value)
        if table_of(state, held) is None:
            message = f"unpacking {described(held)} into a mapping"
            raise Unsupported(message)
        table, waiting = put(pairs_of(state, held)), []
    return machine.made(state, dict, put(waiting))


def _subscript(machine: Core, state: State, node: ast.Subscript) -> Value:
    owner = machine.evaluate(state, node.value)
    key = machine.evaluate(state, node.slice)
    machine.line = node.lineno
    return item(machine, state, owner, key)


def _slice(machine: Core, state: State, node: ast.Slice) -> Value:
    parts = [
        None if part is None else machine.evaluate(state, part)
        for part in (node.lower, node.upper, node.step)
    ]
    if not all(map(is_concrete, parts)):
        message = "a slice with unknown bounds"
        raise Unsupported(message)
    return slice(*parts)


def _lambda(machine: Core, state: State, node: ast.Lambda) -> Value:
    return Closure(node, machine.frame, defaults(machine, state, node.args))


def defaults(machine: Core, state: State, spec: ast.arguments) -> dict[str, Value]:
    """What parameters stand for where nothing is given, evaluated at the definition."""
    positional = [*spec.posonlyargs, *spec.args]
    late = positional[len(positional) - len(spec.defaults) :]
    found = {
        parameter.arg: machine.evaluate(state, value)
        for parameter, value in zip(late, spec.defaults, strict=True)
    }
    for parameter, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        if value is not None:
            found[parameter.arg] = machine.evaluate(state, value)
    return found


def _walrus(machine: Core, state: State, node: ast.NamedExpr) -> Value:
    value = machine.evaluate(state, node.value)
    bind(machine, state, node.target.id, value, around=True)
    return value


EXPRESSIONS: dict[type[ast.expr], Evaluator] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _junction,
    ast.Compare: _comparison,
    ast.IfExp: _choice,
    ast.Call: _call,
    ast.JoinedStr: _formatted,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.ListComp: list_comprehension,
    ast.SetComp: set_comprehension,
    ast.DictComp: dict_comprehension,
    ast.GeneratorExp: generator,
}
"""By kind of expression."""
