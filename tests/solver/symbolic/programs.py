"""Small programs, run for real and executed symbolically, and what both say compared.

A program is source text with a function ``f``. What a parameter takes goes by its first letter:
``a`` to ``l`` integers, ``m`` and ``n`` integers or None, ``p`` and ``q`` truth values, ``s`` and
``t`` texts, ``x`` lists of integers, ``y`` lists or None.
"""

from __future__ import annotations

import inspect
import linecache
import math
import random
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import count, product
from types import BuiltinFunctionType, ModuleType
from typing import Any

import z3

from parsolve.solver.arithmetic import PRODUCT, QUOTIENT, REMAINDER, Arithmetic
from parsolve.solver.symbolic.core import Builtin, Closure
from parsolve.solver.symbolic.execute import Exit, Gap, Machine
from parsolve.solver.symbolic.state import State, condition_of
from parsolve.solver.symbolic.values import (
    UNBOUND,
    Condition,
    Instance,
    Items,
    Label,
    Labels,
    Method,
    Mutable,
    Numbers,
    Opaque,
    Table,
    Text,
    Union,
    cases,
)

Values = Mapping[str, Any]
"""Arguments by name; lists are tuples."""

KINDS = {
    "m": "optional",
    "n": "optional",
    "p": "truth",
    "q": "truth",
    "s": "label",
    "t": "label",
    "x": "list",
    "y": "optional list",
}
"""What parameters take, by the first letter; all others take integers."""

ANOTHER_TEXT = -99
"""The number of a text that no program compares."""

INTEGERS = (0, 1, -1, 2, -3, 3, 8, -6, 7)
LISTS: tuple[tuple[int, ...], ...] = ((), (4,), (2, 4), (3, 6, -9), (1, 5), (0, 0), (6, 4, 8))
SAMPLES: dict[str, tuple[Any, ...]] = {
    "integer": INTEGERS,
    "optional": (None, *INTEGERS),
    "truth": (False, True),
    "label": ("auto", "", "node", "a", "other"),
    "list": LISTS,
    "optional list": (None, *LISTS),
}
MOST_INPUTS = 200
DEEPEST = 20
"""Collections within collections that are compared."""

_NUMBERS = count()


class _Anything:
    """What was not followed, or not further."""

    def __repr__(self) -> str:
        return "<anything>"


ANYTHING = _Anything()


@dataclass(frozen=True)
class Outcome:
    """What a program did: raise an exception, or return a value."""

    raised: type[BaseException] | None = None
    arguments: tuple[Any, ...] | None = None
    returned: Any = None


def kind_of(parameter: str) -> str:
    """What a parameter takes."""
    return KINDS.get(parameter[0], "integer")


class Program:
    """A program as text, as a module, and executed on unknown arguments."""

    def __init__(self, source: str, **modules: str) -> None:
        self.source = textwrap.dedent(source).strip() + "\n"
        self.file = f"<program {next(_NUMBERS)}>"
        others = {
            name: _module(textwrap.dedent(text).strip() + "\n", f"<{name} of {self.file[1:]}")
            for name, text in modules.items()
        }
        self.module = _module(self.source, self.file, others)
        self.function: Callable[..., Any] = self.module.__dict__["f"]
        self.parameters = list(inspect.signature(self.function).parameters)

    @cached_property
    def executed(self) -> Executed:
        """The program executed on unknown arguments."""
        return Executed(self)

    @property
    def exits(self) -> Sequence[Exit]:
        """How it raises."""
        return self.executed.machine.exits

    @property
    def gaps(self) -> Sequence[Gap]:
        """What could not be executed."""
        return self.executed.machine.gaps

    def run(self, values: Values) -> Outcome:
        """What the program really does."""
        given = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        try:
            return Outcome(returned=_plain(self.function(**given)))
        except Exception as error:  # noqa: BLE001  (that is what it does)
            return Outcome(type(error), _plain(error.args))

    def inputs(self) -> Iterator[Values]:
        """All combinations of sample arguments, or some if there are many."""
        choices = [SAMPLES[kind_of(name)] for name in self.parameters]
        chosen: Iterable[tuple[Any, ...]] = product(*choices)
        if math.prod(map(len, choices)) > MOST_INPUTS:
            source = random.Random(0)
            chosen = (tuple(map(source.choice, choices)) for _ in range(MOST_INPUTS))
        for values in chosen:
            yield dict(zip(self.parameters, values, strict=True))

    def line(self, text: str) -> int:
        """The line that has the text."""
        lines = self.source.splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)


def _module(source: str, file: str, names: Mapping[str, Any] | None = None) -> ModuleType:
    module = ModuleType(f"program_{next(_NUMBERS)}")
    module.__dict__.update(names or {})
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    sys.modules[module.__name__] = module  # where dataclasses look
    try:
        exec(compile(source, file, "exec"), module.__dict__)  # noqa: S102  (that is the test)
    finally:
        del sys.modules[module.__name__]
    return module


class Executed:
    """What a machine says of a program, and what that comes to for concrete arguments."""

    def __init__(self, program: Program) -> None:
        self.labels = Labels()
        self.steps: dict[int, Step] = {}
        self.machine = Machine(self.labels, Arithmetic())
        self.end = State()
        arguments = {name: _argument(name) for name in program.parameters}
        self.returned = self.machine.enter(self.end, program.function, arguments)

    def step(self, term: z3.ExprRef) -> Step:
        """How the term is computed; each of its subterms has a step, too."""
        rest = [term]
        while rest:
            top = rest.pop()
            if top.get_id() not in self.steps:
                children = top.children()
                self.steps[top.get_id()] = _step(top, tuple(each.get_id() for each in children))
                rest += children
        return self.steps[term.get_id()]

    def outcome(self, values: Values) -> Outcome | None:
        """What the formulas say of these arguments; None in a gap. Exactly one thing holds."""
        read = Reading(self, values)
        ends = [exit_ for exit_ in self.machine.exits if read.number(exit_.condition)]
        gaps = [gap for gap in self.machine.gaps if read.number(gap.condition)]
        returns = not self.end.dead and read.number(condition_of(self.end.path))
        assert len(ends) + len(gaps) + returns == 1, (ends, gaps, returns, values)
        if gaps:
            return None
        if returns:
            return Outcome(returned=read.value(self.returned))
        (found,) = ends
        known = found.stated or found.arguments
        return Outcome(found.kind, read.value(found.arguments) if known else None)


@dataclass(frozen=True)
class Step:
    """How a term is computed from its parts. It is kept, so that its name stays its own."""

    term: z3.ExprRef
    compute: Callable[[Values, Sequence[Any]], Any]
    parts: tuple[int, ...]


def _step(term: z3.ExprRef, parts: tuple[int, ...]) -> Step:
    declared = term.decl()
    if z3.is_int_value(term):
        value = term.as_long()
        return Step(term, lambda _, __: value, ())
    if declared.kind() == z3.Z3_OP_UNINTERPRETED and not parts:
        name = declared.name()
        if name.startswith("changed text"):  # of a text that nothing is compared with: any text
            return Step(term, lambda _, __: ANOTHER_TEXT, ())
        return Step(term, lambda inputs, _: inputs[name], ())
    if declared.kind() == z3.Z3_OP_UNINTERPRETED:
        operation = _FUNCTIONS[declared.name()]
    else:
        operation = _OPERATIONS[declared.kind()]
    return Step(term, lambda _, known: operation(*known), parts)


def _argument(name: str) -> Any:  # noqa: ANN401
    absent = z3.Bool(f"{name} is None")
    numbers = Numbers(*(z3.Int(f"{name}.{part}") for part in ("length", "smallest", "gcd")))
    match kind_of(name):
        case "truth":
            return z3.Bool(name)
        case "label":
            return Label(z3.Int(name))
        case "list":
            return numbers
        case "optional":
            return Union(((absent, None), (z3.Not(absent), z3.Int(name))))
        case "optional list":
            return Union(((absent, None), (z3.Not(absent), numbers)))
        case _:
            return z3.Int(name)


class Reading:
    """Formulas and values at concrete arguments."""

    def __init__(self, executed: Executed, values: Values) -> None:
        self.executed = executed
        self.inputs: dict[str, Any] = {}
        for name, value in values.items():
            self.inputs[f"{name} is None"] = value is None
            if kind_of(name) == "label":
                self.inputs[name] = executed.labels.code(value)
            elif "list" in kind_of(name):
                entries = value or ()
                self.inputs[f"{name}.length"] = len(entries)
                self.inputs[f"{name}.smallest"] = min(entries, default=-77)
                self.inputs[f"{name}.gcd"] = math.gcd(*entries)
            else:
                self.inputs[name] = -77 if value is None else value
        self._known: dict[int, Any] = {}
        self._depth = 0

    def number(self, term: Condition | z3.ArithRef | int) -> Any:  # noqa: ANN401
        """What the term comes to."""
        if not isinstance(term, z3.ExprRef):
            return term
        rest = [self.executed.step(term)]
        while rest:
            top = rest[-1]
            missing = [each for each in top.parts if each not in self._known]
            if missing:
                rest += [self.executed.steps[each] for each in missing]
                continue
            parts = [self._known[each] for each in top.parts]
            self._known[top.term.get_id()] = top.compute(self.inputs, parts)
            rest.pop()
        return self._known[term.get_id()]

    def value(self, value: Any) -> Any:  # noqa: ANN401
        """The value of the program that it stands for."""
        objects = self.executed.end.objects
        match value:
            case z3.ExprRef():
                return self.number(value)
            case Label():
                code, texts = self.number(value.code), self.executed.labels.numbers
                return next(text for text, known in texts.items() if known == code)
            case Union():
                (held,) = [inner for guard, inner in cases(value) if self.number(guard)]
                return self.value(held)
            case Text() | Opaque() | Method() | Closure() | Builtin():
                return ANYTHING
            case Items(kind, entries):
                return self._collected(kind, entries)
            case Mutable(kind, place) if place in objects:
                return self._collected(kind, objects[place])
            case Mutable():  # an argument of an exception, whose state is gone
                return ANYTHING
            case Instance(kind, place):
                found = {k: self.value(v) for k, v in objects.get(place, {}).items()}
                known = {name: each for name, each in found.items() if each is not UNBOUND}
                return (kind, tuple(sorted(known.items())))
            case tuple():
                return tuple(self.value(each) for each in value)
            case _:
                return _plain(value)

    def _collected(self, kind: type, entries: Any) -> Any:  # noqa: ANN401
        if isinstance(entries, Table):
            held = {key: v for key, (p, v) in entries.entries.items() if self.number(p)}
            return {key: self.value(each) for key, each in held.items()}
        if kind not in {list, tuple, set, frozenset}:  # an iterator, or a view of a dict
            return ANYTHING
        self._depth += 1
        if self._depth > DEEPEST:  # a list that is in itself
            return ANYTHING
        found = [self.value(value) for present, value in entries if self.number(present)]
        self._depth -= 1
        unread = any(each is ANYTHING for each in found) and kind in {set, frozenset}
        return ANYTHING if unread else kind(found)


# Every branch is computed, also those that are not taken: there a divisor may be 0.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    PRODUCT.name(): lambda a, b: a * b,
    QUOTIENT.name(): lambda a, b: a // b if b else 0,
    REMAINDER.name(): lambda a, b: a % b if b else 0,
}
_OPERATIONS: dict[int, Callable[..., Any]] = {
    z3.Z3_OP_TRUE: lambda: True,
    z3.Z3_OP_FALSE: lambda: False,
    z3.Z3_OP_AND: lambda *parts: all(parts),
    z3.Z3_OP_OR: lambda *parts: any(parts),
    z3.Z3_OP_NOT: lambda part: not part,
    z3.Z3_OP_ITE: lambda test, then, other: then if test else other,
    z3.Z3_OP_EQ: lambda a, b: a == b,
    z3.Z3_OP_LE: lambda a, b: a <= b,
    z3.Z3_OP_LT: lambda a, b: a < b,
    z3.Z3_OP_GE: lambda a, b: a >= b,
    z3.Z3_OP_GT: lambda a, b: a > b,
    z3.Z3_OP_ADD: lambda *parts: sum(parts),
    z3.Z3_OP_SUB: lambda a, *parts: a - sum(parts),
    z3.Z3_OP_UMINUS: lambda a: -a,
    z3.Z3_OP_MUL: lambda *parts: math.prod(parts),
    z3.Z3_OP_IDIV: lambda a, b: a // b,  # only ever by constants that are positive
    z3.Z3_OP_MOD: lambda a, b: a % b,
}


def _plain(value: Any, depth: int = 0) -> Any:  # noqa: ANN401
    """The value with objects of the program as their classes and attributes."""
    if depth > DEEPEST:
        return ANYTHING
    if type(value) in {list, tuple}:
        return type(value)(_plain(each, depth + 1) for each in value)
    if isinstance(value, dict):
        return {key: _plain(held, depth + 1) for key, held in value.items()}
    kind = type(value)
    if kind.__module__.startswith("program_") and not isinstance(value, (Enum, BaseException)):
        slots = {name for base in kind.__mro__ for name in getattr(base, "__slots__", ())}
        names = slots | set(getattr(value, "__dict__", ()))
        held = {name: _plain(getattr(value, name)) for name in names if hasattr(value, name)}
        return (kind, tuple(sorted(held.items())))
    return value


def same(real: Any, said: Any) -> bool:  # noqa: ANN401
    """Whether both are the same value of the same type."""
    if said is ANYTHING or real is ANYTHING:
        return True
    if type(real) is not type(said):
        return False
    if isinstance(real, BuiltinFunctionType):  # a method of another text of the same content
        return True
    if isinstance(said, (tuple, list)):
        return len(said) == len(real) and all(map(same, real, said))
    if isinstance(said, dict):
        return list(said) == list(real) and all(same(real[key], said[key]) for key in said)
    return bool(real == said)


def agree(source: str, *, gaps: bool = False, **modules: str) -> Program:
    """The program does what the formulas say, for every sample; without gaps unless allowed."""
    program = Program(source, **modules)
    compare(program, program.inputs(), gaps=gaps)
    return program


def agree_on(expression: str, *, before: str = "", gaps: bool = False) -> Program:
    """The same for an expression. Parameters are the names of one letter that have a kind."""
    letters = {*KINDS, "a", "b"}
    names = sorted(letters & set(re.findall(r"\b\w\b", re.sub(r"'\w*'", "", expression))))
    head = textwrap.dedent(before).strip()
    return agree(f"{head}\ndef f({', '.join(names)}):\n    return {expression}\n", gaps=gaps)


def compare(program: Program, inputs: Iterable[Values], *, gaps: bool) -> None:
    """The program does what the formulas say, for these inputs."""
    where = [f"{gap.place}: {gap.what}" for gap in program.gaps]
    assert gaps or not where, (where, program.source)
    assert not any("internal error" in each for each in where), (where, program.source)
    for values in inputs:
        said = program.executed.outcome(values)
        if said is None:
            continue
        real = program.run(values)
        context = f"{program.source}\n{values}\nreally: {real}\nsaid: {said}"
        assert real.raised is said.raised, context
        if said.raised is None:
            assert same(real.returned, said.returned), context
        elif said.arguments is not None:
            assert same(real.arguments, said.arguments), context


def gap_of(source: str, **modules: str) -> Gap:
    """The one gap of a program that otherwise does what the formulas say."""
    program = agree(source, gaps=True, **modules)
    (gap,) = program.gaps
    return gap
