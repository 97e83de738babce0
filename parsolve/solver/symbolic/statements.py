"""What each kind of statement does."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

from parsolve.solver.symbolic.core import Closure, Core
from parsolve.solver.symbolic.expressions import defaults
from parsolve.solver.symbolic.kinds import described
from parsolve.solver.symbolic.loops import for_statement, while_statement
from parsolve.solver.symbolic.methods import METHODS
from parsolve.solver.symbolic.names import assign, bind, unbind
from parsolve.solver.symbolic.objects import attribute, set_attribute
from parsolve.solver.symbolic.operators import binary, truth
from parsolve.solver.symbolic.patterns import match_statement
from parsolve.solver.symbolic.raising import assert_statement, raise_statement, try_statement
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.subscripts import item, store
from parsolve.solver.symbolic.values import Departed, Mutable, Unsupported, Value

Executor: TypeAlias = Callable[..., None]
"""Takes the machine, the state and a statement of its kind."""


def _expression(machine: Core, state: State, node: ast.Expr) -> None:
    machine.evaluate(state, node.value)


def _assign(machine: Core, state: State, node: ast.Assign) -> None:
    value = machine.evaluate(state, node.value)
    for target in node.targets:
        assign(machine, state, target, value)


def _annotated(machine: Core, state: State, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign(machine, state, node.target, machine.evaluate(state, node.value))


def _augmented(machine: Core, state: State, node: ast.AugAssign) -> None:
    """``target operation= value``: owner and key of the target are evaluated once."""
    match node.target:
        case ast.Name(name):
            old = machine.evaluate(state, ast.Name(name, ast.Load(), lineno=node.lineno))
            bind(machine, state, name, _changed(machine, state, old, node))
        case ast.Attribute(inner, name):
            owner, name = machine.evaluate(state, inner), machine.private(name)
            new = _changed(machine, state, attribute(machine, state, owner, name), node)
            set_attribute(machine, state, owner, name, new)
        case ast.Subscript(inner, place):
            owner = machine.evaluate(state, inner)
            key = machine.evaluate(state, place)
            new = _changed(machine, state, item(machine, state, owner, key), node)
            store(machine, state, owner, key, new)


def _changed(machine: Core, state: State, old: Value, node: ast.AugAssign) -> Value:
    """What the target holds afterwards: itself, changed in place, if it is a collection."""
    operation = type(node.op)

    def change(here: State, held: Value, by: Value) -> Value:
        if isinstance(held, (list, set, dict)):
            message = f"changing {described(held)} that other programs see"
            raise Unsupported(message)
        if not isinstance(held, Mutable):
            return binary(machine, here, operation, held, by)
        if held.kind is list and operation is ast.Add:
            METHODS[list, "extend"].run(machine, here, held, by)
        elif held.kind is dict and operation is ast.BitOr:
            METHODS[dict, "update"].run(machine, here, held, by)
        else:
            made = binary(machine, here, operation, held, by)
            here.objects[held.place] = here.held(made.place)
        return held

    by = machine.evaluate(state, node.value)
    machine.line = node.lineno
    return machine.lifted(state, change, old, by)


def _if(machine: Core, state: State, node: ast.If) -> None:
    test = truth(machine, state, machine.evaluate(state, node.test))
    machine.fork(
        state,
        test,
        lambda here: run(machine, here, node.body),
        lambda here: run(machine, here, node.orelse),
    )


def run(machine: Core, state: State, body: list[ast.stmt]) -> None:
    """Execute statements after which something else comes."""
    machine.execute(state, body)
    if state.dead:
        raise Departed


def _return(machine: Core, state: State, node: ast.Return) -> None:
    value = None if node.value is None else machine.evaluate(state, node.value)
    machine.frame.returns.append((state.leave(), value))
    raise Departed


def _break(machine: Core, state: State, _node: ast.Break) -> None:
    machine.frame.breaks.append(state.leave())
    raise Departed


def _continue(machine: Core, state: State, _node: ast.Continue) -> None:
    machine.frame.continues.append(state.leave())
    raise Departed


def _nothing(machine: Core, state: State, node: ast.stmt) -> None:
    """`pass`, and declarations, which the scope has already read."""


def _define(machine: Core, state: State, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        message = f"the decorators of {node.name}"
        raise Unsupported(message)
    given = defaults(machine, state, node.args)
    bind(machine, state, node.name, Closure(node, machine.frame, given))


def _delete(machine: Core, state: State, node: ast.Delete) -> None:
    for target in node.targets:
        unbind(machine, state, target)


def _import(machine: Core, state: State, node: ast.Import) -> None:
    for alias in node.names:
        module = _module(alias.name)
        if alias.asname is None:
            module = _module(alias.name.partition(".")[0])
        bind(machine, state, alias.asname or alias.name.partition(".")[0], module)


def _import_from(machine: Core, state: State, node: ast.ImportFrom) -> None:
    if node.level or node.module is None:
        message = "a relative import"
        raise Unsupported(message)
    module = _module(node.module)
    for alias in node.names:
        if not hasattr(module, alias.name):
            message = f"importing {alias.name} from {node.module}"
            raise Unsupported(message)
        bind(machine, state, alias.asname or alias.name, getattr(module, alias.name))


def _module(name: str) -> Value:
    """A module that is there already, or is Python's own."""
    if name in sys.modules:
        return sys.modules[name]
    if name.partition(".")[0] not in sys.stdlib_module_names:
        message = f"importing {name}"
        raise Unsupported(message)
    return import_module(name)


STATEMENTS: dict[type[ast.stmt], Executor] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.Return: _return,
    ast.Raise: raise_statement,
    ast.Assert: assert_statement,
    ast.Try: try_statement,
    ast.For: for_statement,
    ast.While: while_statement,
    ast.Match: match_statement,
    ast.FunctionDef: _define,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _nothing,
    ast.Global: _nothing,
    ast.Nonlocal: _nothing,
}
"""By kind of statement."""
