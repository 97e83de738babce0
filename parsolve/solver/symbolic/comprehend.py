"""Comprehensions and generator expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from parsolve.solver.symbolic.collect import entries, hashable
from parsolve.solver.symbolic.containers import Body, Lazy, each, set_of, with_key
from parsolve.solver.symbolic.core import Action, Core, Frame, Raised
from parsolve.solver.symbolic.kinds import kind_of
from parsolve.solver.symbolic.lists import (
    Each,
    Mapped,
    Statement,
    as_mapped,
    conjoined,
    empty,
    is_unknown,
    statement,
)
from parsolve.solver.symbolic.names import assign
from parsolve.solver.symbolic.operators import truth
from parsolve.solver.symbolic.scopes import Comprehension, scope_of_comprehension
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import Departed, Table, Unsupported, Value, opposite


def list_comprehension(machine: Core, state: State, node: ast.ListComp) -> Value:
    """``[element for ...]``."""

    def make(here: State, loops: _Loops) -> Value:
        if is_unknown(loops.source):
            return loops.mapped(here)
        return machine.made_list(here, loops.gathered(here))

    return _over(machine, state, node, make)


def set_comprehension(machine: Core, state: State, node: ast.SetComp) -> Value:
    """``{element for ...}``."""

    def make(here: State, loops: _Loops) -> Value:
        found = loops.gathered(here, hashable, in_order=False)
        return set_of(machine, here, set, found)

    return _over(machine, state, node, make)


def dict_comprehension(machine: Core, state: State, node: ast.DictComp) -> Value:
    """``{key: value for ...}``."""

    def make(here: State, loops: _Loops) -> Value:
        table = Table({})
        for present, (key, value) in loops.gathered(here, lambda pair: hashable(pair[0])):
            table = with_key(machine, table, key, value, present)
        return machine.made(here, dict, table)

    return _over(machine, state, node, make)


def generator(machine: Core, state: State, node: ast.GeneratorExp) -> Value:
    """``(element for ...)``: computed when something asks for it."""

    def make(here: State, loops: _Loops) -> Value:
        unknown = is_unknown(loops.source)
        if not unknown and kind_of(loops.source) is not Iterator:
            entries(here, loops.source)  # which refuses what has none, now
        lazy = Lazy(loops.run, loops.mapped if unknown else None)
        return machine.made(here, Iterator, lazy)

    return _over(machine, state, node, make)


def _over(
    machine: Core,
    state: State,
    node: Comprehension,
    make: Callable[[State, _Loops], Value],
) -> Value:
    """What is made of the loops over the first source, which is evaluated at once."""
    source = machine.evaluate(state, node.generators[0].iter)
    outer = machine.frame
    scope = scope_of_comprehension(node)
    place = machine.new(state, {})
    frame = Frame(outer.file, outer.globals, scope, place, outer, outer.owner, outer.cells)
    elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    loops = partial(
        _Loops, machine, frame, node.generators, elements, isinstance(node, ast.GeneratorExp)
    )
    return machine.lifted(state, lambda here, held: make(here, loops(held)), source)


@dataclass(frozen=True, slots=True)
class _Loops:
    """The loops of a comprehension over a source, ready to run."""

    machine: Core
    frame: Frame
    generators: Sequence[ast.comprehension]
    elements: Sequence[ast.expr]
    lazy: bool
    source: Value

    def gathered(
        self,
        state: State,
        check: Callable[[Value], None] = lambda _: None,
        *,
        in_order: bool = True,
    ) -> Value:
        """Every element, with when it is present."""
        place = self.machine.new(state, ())

        def keep(here: State, value: Value) -> None:
            check(value)
            here.objects[place] = (*here.objects[place], (True, value))

        self.run(state, keep, in_order=in_order)
        if not self.frame.scope.captured:
            del state.objects[self.frame.place]
        return state.objects.pop(place)

    def run(self, state: State, body: Body, *, in_order: bool) -> None:
        """Run a body for each element, one after the other, where the consumer is."""
        consumer = self.machine.frame

        def emit(here: State) -> None:
            value = self._element(here)
            self.machine.inside(consumer, here, body, value)

        def level(here: State, place: int, source: Value) -> None:
            if place == len(self.generators) - 1:
                inside: Action = emit
            else:
                following = self.generators[place + 1].iter

                def inside(inner: State) -> None:
                    level(inner, place + 1, self._evaluated(inner, following))

            def enter(inner: State, value: Value) -> None:
                assign(self.machine, inner, self.generators[place].target, value)
                self._filtered(inner, self.generators[place].ifs, inside)

            def framed(inner: State, value: Value) -> None:
                self.machine.inside(self.frame, inner, enter, value)

            each(self.machine, here, source, framed, in_order=in_order)

        level(state, 0, self.source)

    def _evaluated(self, state: State, node: ast.expr) -> Value:
        """An expression of ours; a generator lets no `StopIteration` out."""
        if not self.lazy:
            return self.machine.evaluate(state, node)
        before = len(self.machine.raised)
        value = self.machine.attempt(state, self.machine.evaluate, node)
        for place, raised in enumerate(self.machine.raised[before:], before):
            if issubclass(raised.kind, StopIteration):
                gone = Raised(RuntimeError, raised.place, raised.state)
                self.machine.raised[place] = gone
        if state.dead:
            raise Departed
        return value

    def _element(self, state: State) -> Value:
        found = [self._evaluated(state, node) for node in self.elements]
        return found[0] if len(found) == 1 else tuple(found)

    def _filtered(self, state: State, tests: Sequence[ast.expr], inside: Action) -> None:
        """Go on inside where all tests hold."""
        if not tests:
            inside(state)
            return
        holds = truth(self.machine, state, self._evaluated(state, tests[0]))
        self.machine.when(state, holds, self._filtered, tests[1:], inside)

    def mapped(self, state: State) -> Mapped:
        """What becomes of any entry of an unknown list."""
        if len(self.generators) > 1:
            message = "a loop within a loop over an unknown list"
            raise Unsupported(message)
        source = as_mapped(self.source)
        found: list[Mapped] = []

        def enter(here: State) -> None:
            assign(self.machine, here, self.generators[0].target, source.element)
            before = here.copy()
            with self.machine.opened(source.member):
                found.append(self._mapped_entry(here, source))
            if not here.agrees(before):
                message = "what a loop over an unknown list changes"
                raise Unsupported(message)

        filled = opposite(empty(source.member.source))
        self.machine.when(state, filled, partial(self.machine.inside, self.frame), enter)
        return found[0] if found else Mapped(source.member, present=False, element=None)

    def _mapped_entry(self, state: State, source: Mapped) -> Mapped:
        present = source.present
        for test in self.generators[0].ifs:
            present = conjoined(present, self._said(state, present, test))
        elements: list[Value] = []

        def evaluate(here: State) -> None:
            elements.append(self._element(here))

        if isinstance(present, Each):
            self.machine.aside(state, evaluate)
        else:
            self.machine.when(state, present, evaluate)
        return Mapped(source.member, present, elements[0] if elements else None)

    def _said(self, state: State, present: Statement, test: ast.expr) -> Statement:
        """What a test says of an entry for which the tests before it hold."""

        def evaluate(here: State) -> Statement:
            value = self.machine.evaluate(here, test)
            return statement(value) or truth(self.machine, here, value)

        return evaluate(state) if present is True else self.machine.aside(state, evaluate)
