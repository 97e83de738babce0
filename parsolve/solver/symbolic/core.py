"""What executing needs everywhere: departures, forks of a state, calls in progress."""

from __future__ import annotations

import ast
import sysconfig
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from parsolve.solver.arithmetic import Arithmetic
from parsolve.solver.symbolic.scopes import Scope
from parsolve.solver.symbolic.sources import Sources
from parsolve.solver.symbolic.state import State, joined
from parsolve.solver.symbolic.terms import is_impossible
from parsolve.solver.symbolic.values import (
    UNBOUND,
    Condition,
    Departed,
    Entry,
    Instance,
    Labels,
    Mutable,
    Refused,
    Symbolic,
    Union,
    Unsupported,
    Value,
    cases,
    opposite,
)

Action: TypeAlias = Callable[..., Value]
"""Something to do in a state, which is its first argument."""

DEEPEST = 40
"""Calls within calls; a program that nests deeper is taken for a recursion without end."""

MOST_STEPS = 200_000
"""Statements, and rounds of loops."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a program."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, eq=False)
class Raised:
    """An exception on its way, and the state that it leaves from.

    ``made`` is the exception if it has arguments that are known. It is ``stated`` if a statement
    of the program raised it, not an operation that went wrong.
    """

    kind: type[BaseException]
    place: Place
    state: State
    made: Instance | None = None
    stated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """The program does something there that cannot be executed on symbolic values."""

    what: str
    place: Place
    condition: Condition


@dataclass(slots=True, eq=False)
class Frame:
    """One call, comprehension or lambda in progress: where names are, and what has left it.

    Local names are in the state, at ``place``; ``cells`` are variables of functions that the
    program did not define, around this one.
    """

    file: str
    globals: Mapping[str, Value]
    scope: Scope
    place: int
    outer: Frame | None = None
    owner: str = ""
    """The class whose method it is: what is private to that has another name."""
    cells: Mapping[str, Value] = field(default_factory=dict)
    returns: list[tuple[State, Value]] = field(default_factory=list)
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    handled: list[Value] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Closure(Symbolic):
    """A function that the program itself defined."""

    definition: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Partial(Symbolic):
    """A function together with some of its arguments."""

    function: Value
    arguments: tuple[Value, ...]
    named: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Builtin(Symbolic):
    """A function of Python's own, as it works on symbolic values."""

    run: Callable[..., Value]


@cache
def is_library(file: str) -> bool:
    """Whether the file is part of Python, not of a program or a package."""
    paths = sysconfig.get_paths()
    packages = (paths["purelib"], paths["platlib"])
    inside = file.startswith((paths["stdlib"], paths["platstdlib"], "<frozen "))
    return inside and not file.startswith(packages)


class Core(ABC):
    """The state of an execution apart from the program's own state."""

    def __init__(self, labels: Labels, arithmetic: Arithmetic, sources: Sources) -> None:
        self.labels = labels
        self.arithmetic = arithmetic
        self.sources = sources
        self.raised: list[Raised] = []
        self.gaps: list[Gap] = []
        self.frames: list[Frame] = []
        self.line = 0
        self._lines: list[int] = []
        """Where each frame's caller waits for it."""
        self.trying = 0
        """How many `try` statements are in progress: they need the states of exceptions."""
        self._open: list[object] = []
        self._steps = 0
        self._places = 0

    @abstractmethod
    def evaluate(self, state: State, node: ast.expr) -> Value:
        """The value of an expression."""

    @abstractmethod
    def execute(self, state: State, body: Iterable[ast.stmt]) -> None:
        """Run statements until they end or every path has left; never raises `Departed`."""

    @abstractmethod
    def call(
        self,
        state: State,
        function: Value,
        arguments: Sequence[Value] = (),
        named: Mapping[str, Value] | None = None,
    ) -> Value:
        """What the call returns; the state goes on after it."""

    @property
    def frame(self) -> Frame:
        """The innermost call."""
        return self.frames[-1]

    @property
    def place(self) -> Place:
        """Where the program is."""
        return Place(self.frame.file, self.line)

    @property
    def _own_place(self) -> Place:
        """Where the program is, or where it calls Python's own library if it is in there."""
        lines = [*self._lines[1:], self.line]
        for frame, line in zip(reversed(self.frames), reversed(lines), strict=True):
            if not is_library(frame.file):
                return Place(frame.file, line)
        return self.place

    def private(self, name: str) -> str:
        """The name as it stands in a class body: with the class's own if it is private."""
        owner = self.frame.owner.lstrip("_")
        if name.startswith("__") and not name.endswith("__") and owner:
            return f"_{owner}{name}"
        return name

    @contextmanager
    def within(self, frame: Frame) -> Iterator[None]:
        """Inside the frame."""
        if len(self.frames) > DEEPEST:
            message = "calls nested without end"
            raise Unsupported(message)
        self._lines.append(self.line)
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frames.pop()
            self.line = self._lines.pop()

    @contextmanager
    def opened(self, member: object) -> Iterator[None]:
        """While something goes over the entries of an unknown list, for which one stands."""
        if any(each is member for each in self._open):
            message = "a loop within a loop over the same unknown list"
            raise Unsupported(message)
        self._open.append(member)
        try:
            yield
        finally:
            self._open.pop()

    def step(self) -> None:
        """Count one more statement or round."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            message = f"a program of more than {MOST_STEPS} steps"
            raise Unsupported(message)

    # --- things that can change -----------------------------------------------------------

    def new(self, state: State, content: Value) -> int:
        """A place for something that can change."""
        self._places += 1
        state.objects[self._places] = content
        return self._places

    def made(self, state: State, kind: type, content: Value) -> Mutable:
        """A new list, set, dict or iterator with this content."""
        return Mutable(kind, self.new(state, content))

    def made_list(self, state: State, entries: Iterable[Entry]) -> Mutable:
        """A new list."""
        return self.made(state, list, tuple(entries))

    # --- departures -----------------------------------------------------------------------

    def refuse(self, state: State, condition: Condition, kind: type[BaseException]) -> None:
        """Raise the exception where the condition holds; go on where it does not."""
        condition = state.settled(condition)
        if condition is False:
            return
        gone = state.copy() if self.trying else State(state.path)
        gone.assume(condition)
        self.raised.append(Raised(kind, self.place, gone))
        state.assume(opposite(condition))
        if state.dead:
            raise Departed

    def give_up(self, state: State, what: str) -> None:
        """Leave a gap here: nothing is known of what follows on this path."""
        if not state.dead and not is_impossible(state.condition):
            self.gaps.append(Gap(what, self._own_place, state.condition))
        state.dead = True

    def attempt(self, state: State, action: Action, *given: Value) -> Value:
        """What the action gives, or nothing and a dead state if all its paths leave."""
        try:
            return action(state, *given)
        except Departed:
            pass
        except Exception as error:  # noqa: BLE001  (no error here may end the execution)
            self.depart(state, error)
        return UNBOUND

    def inside(self, frame: Frame, state: State, action: Action, *given: Value) -> Value:
        """What the action gives in a frame; what stops it is on record as stopped there."""
        with self.within(frame):
            value = self.attempt(state, action, *given)
        if state.dead:
            raise Departed
        return value

    def depart(self, state: State, error: Exception) -> None:
        """End the state, for what stopped it."""
        match error:
            case Refused(kind=kind):
                gone = state.leave()
                self.raised.append(Raised(kind, self.place, gone))
            case Unsupported():
                self.give_up(state, str(error))
            case RecursionError():
                self.give_up(state, "calls or expressions nested too deep")
            case _:
                self.give_up(state, f"an internal error: {type(error).__name__}: {error}")

    # --- forks ----------------------------------------------------------------------------

    def meet(self, state: State, ends: Sequence[tuple[State, Value]]) -> Value:
        """Continue where any of these ended, with the value that it ended with."""
        end, value = joined(self.labels, ends)
        state.become(end)
        if state.dead:
            raise Departed
        return value

    def fork(self, state: State, condition: Condition, then: Action, other: Action) -> Value:
        """Do one thing where the condition holds, and the other where it does not."""
        condition = state.settled(condition)
        if isinstance(condition, bool):
            return (then if condition else other)(state)
        taken = state.copy()
        taken.assume(condition)
        state.assume(opposite(condition))
        ends = [(taken, self.attempt(taken, then)), (state, self.attempt(state, other))]
        return self.meet(state, ends)

    def when(self, state: State, condition: Condition, action: Action, *given: Value) -> None:
        """Do something where the condition holds, and nothing where it does not."""
        self.fork(state, condition, lambda here: action(here, *given), lambda _: None)

    def each_case(self, state: State, alternatives: Iterable[Entry], action: Action) -> Value:
        """Do something with each of several alternatives, of which one is the case."""
        live: list[Entry] = []
        for condition, value in alternatives:
            holds = state.settled(condition)
            if holds is True:
                return action(state, value)
            if holds is not False:
                live.append((holds, value))
        if len(live) <= 1:
            if not live:  # the path contradicts itself
                state.dead = True
                raise Departed
            return action(state, live[0][1])
        ends = []
        for place, (condition, value) in enumerate(live):
            branch = state
            if place < len(live) - 1:
                branch = state.copy()
                branch.assume(condition)
                state.assume(opposite(condition))
            self._note_case(branch, live, place)
            if not branch.dead:
                ends.append((branch, self.attempt(branch, action, value)))
        return self.meet(state, ends)

    @staticmethod
    def _note_case(branch: State, live: Sequence[Entry], place: int) -> None:
        """That exactly this one of the alternatives is the case; the last node is its own."""
        for other, (condition, _) in enumerate(live):
            known = condition if other == place else opposite(condition)
            if not isinstance(known, bool) and branch.settled(known) is known:
                branch.path.note(known)

    def lifted(self, state: State, apply: Action, *operands: Value) -> Value:
        """Apply to every combination of alternatives, and merge what comes out."""
        for place, operand in enumerate(operands):
            if isinstance(operand, Union):
                return self.each_case(state, cases(operand), self._filled(apply, place, operands))
        return apply(state, *operands)

    def _filled(self, apply: Action, place: int, operands: Sequence[Value]) -> Action:
        """Apply with one of the alternatives of an operand in its place."""
        before, after = operands[:place], operands[place + 1 :]
        return lambda here, value: self.lifted(here, apply, *before, value, *after)

    def watching(self, state: State, action: Action, *given: Value) -> tuple[Value, list[Raised]]:
        """What the action gives, and the exceptions that it raises, now off their way."""
        before = len(self.raised)
        self.trying += 1
        try:
            value = self.attempt(state, action, *given)
        finally:
            self.trying -= 1
        raised = self.raised[before:]
        del self.raised[before:]
        return value, raised

    def aside(self, state: State, action: Action, *given: Value) -> Value:
        """What the action gives, provided that it neither leaves nor changes anything."""
        raised, gaps = len(self.raised), len(self.gaps)
        inner = state.copy()
        value = self.attempt(inner, action, *given)
        quiet = len(self.raised) == raised and len(self.gaps) == gaps
        if not quiet or inner.path is not state.path or not inner.agrees(state):
            del self.raised[raised:], self.gaps[gaps:]
            message = "what hangs on the entries of an unknown list one by one"
            raise Unsupported(message)
        state.objects = inner.objects
        return value
