"""Executing a program on symbolic input: how it can end, and when.

Each statement is executed under the path that leads to it. Where the program parts, both sides
run on their own copy of the state and are merged afterwards; each exception leaves with the
path under which it is raised. What cannot be executed leaves too, as a `Gap`, so that the rest
keeps its meaning: no gap's condition holds where an exit's or the end's does.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from parsolve.solver.arithmetic import Arithmetic
from parsolve.solver.symbolic import builtin, iterators, reflection
from parsolve.solver.symbolic.calls import called, handled
from parsolve.solver.symbolic.classes import made
from parsolve.solver.symbolic.collect import Unknown, known_object
from parsolve.solver.symbolic.core import Core, Frame, Gap, Place, Raised
from parsolve.solver.symbolic.expressions import EXPRESSIONS
from parsolve.solver.symbolic.natives import NOT_NATIVE, native
from parsolve.solver.symbolic.registry import Handlers
from parsolve.solver.symbolic.scopes import Scope
from parsolve.solver.symbolic.sources import Sources
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.statements import STATEMENTS
from parsolve.solver.symbolic.terms import plain
from parsolve.solver.symbolic.values import (
    Condition,
    Departed,
    Labels,
    Union,
    Unsupported,
    Value,
    cases,
)

HANDLERS = Handlers({**builtin.HANDLERS, **iterators.HANDLERS, **reflection.HANDLERS})

__all__ = ["Exit", "Gap", "Machine", "Place"]


@dataclass(frozen=True, slots=True, eq=False)
class Exit:
    """The program raises: which exception, with which arguments, where, and when."""

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    place: Place
    condition: Condition
    stated: bool = False
    """Raised by a statement of the program, not by an operation that went wrong."""


class Machine(Core):
    """Executes functions on symbolic arguments, and keeps how they can end."""

    def __init__(
        self, labels: Labels, arithmetic: Arithmetic, sources: Sources | None = None
    ) -> None:
        super().__init__(labels, arithmetic, sources or Sources())
        self.exits: list[Exit] = []

    def enter(self, state: State, function: Value, named: Mapping[str, Value]) -> Value:
        """Execute a whole program, which is a call of a function or of a class."""
        given = {name: _known(value) for name, value in named.items()}
        code = getattr(inspect.unwrap(function), "__code__", None)
        file = code.co_filename if code else getattr(function, "__module__", "") or ""
        self.line = code.co_firstlineno if code else 0
        with self.within(Frame(file, {}, Scope(frozenset()), self.new(state, {}))):
            returned = self.attempt(state, lambda here: self.call(here, function, (), given))
        self.exits += map(_exit, self.raised)
        self.raised.clear()
        return returned

    def evaluate(self, state: State, node: ast.expr) -> Value:
        """The value of an expression."""
        evaluator = EXPRESSIONS.get(type(node))
        self.line = node.lineno
        if evaluator is None:
            message = f"the expression `{ast.unparse(node)}`"
            raise Unsupported(message)
        return evaluator(self, state, node)

    def execute(self, state: State, body: Iterable[ast.stmt]) -> None:
        """Run statements until they end or every path has left."""
        for statement in body:
            if state.dead:
                return
            self.line = statement.lineno
            try:
                self.step()
                executor = STATEMENTS.get(type(statement))
                if executor is None:
                    message = f"the statement `{type(statement).__name__.lower()}`"
                    raise Unsupported(message)  # noqa: TRY301  (one place makes gaps)
                executor(self, state, statement)
            except Departed:
                return
            except Exception as error:  # noqa: BLE001  (no error here may end the execution)
                self.depart(state, error)

    def call(
        self,
        state: State,
        function: Value,
        arguments: Sequence[Value] = (),
        named: Mapping[str, Value] | None = None,
    ) -> Value:
        """What the call returns; the state goes on after it."""
        by_name = named or {}
        handler = HANDLERS.get(function) if _is_hashable(function) else None
        if handler is not None:
            found = native(self, state, function, arguments, by_name)
            if found is not NOT_NATIVE:
                return found
            return handled(self, state, handler, arguments, by_name)
        if isinstance(function, type):
            return made(self, state, function, (arguments, by_name))
        return called(self, state, function, arguments, by_name)


def _exit(raised: Raised) -> Exit:
    state = raised.state
    given = state.held(raised.made.place)["args"] if raised.made else ()
    arguments = tuple(_object(state, value) for value in given)
    return Exit(raised.kind, arguments, raised.place, state.condition, raised.stated)


def _object(state: State, value: Value) -> Value:
    """A collection that is known as a Python object: the state it is in is left behind."""
    try:
        return known_object(state, value)
    except Unknown:
        return value


def _is_hashable(value: Value) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _known(value: Value) -> Value:
    """The argument, flat, with Python values for constants; itself if that changes nothing."""
    if not isinstance(value, Union):
        return plain(value) if isinstance(value, z3.ExprRef) else value
    parts = [(_known(guard), _known(inner)) for guard, inner in cases(value)]
    sure = [inner for guard, inner in parts if guard is True]
    possible = tuple((guard, inner) for guard, inner in parts if guard is not False)
    if sure:
        return sure[0]
    same = len(possible) == len(value.cases) and all(
        new is old
        for one, two in zip(possible, value.cases, strict=True)
        for new, old in zip(one, two, strict=True)
    )
    return value if same else Union(possible)
