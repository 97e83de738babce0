"""Texts with values in them: f-strings, ``%`` and `str.format`.

What they say is not followed, only whether saying it goes wrong: that hangs on the types of
the values, so it is tried with examples of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence

from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.kinds import described, is_written, kind_of
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Instance,
    Items,
    Label,
    Method,
    Mutable,
    Text,
    Unsupported,
    Value,
    is_concrete,
    is_known_text,
    is_number,
    is_text,
    is_truth,
    tried,
)

CONVERSIONS: dict[int, Callable[[Value], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
NO_CONVERSION = -1
CHARACTER = re.compile(r"%[^%a-z]*c")
"""An integer as a character: whether that goes wrong hangs on which integer."""
PART = re.compile(r"\{[^{}]*(?:[.\[]|c\})")
"""The same in `str.format`, or a field that looks into its value."""
EXAMPLE_TEXT = "text"
EXAMPLE_NUMBER = 1


def example(state: State, value: Value) -> Value:
    """A Python object of the same type."""
    if is_truth(value):
        return value if isinstance(value, bool) else True
    if is_number(value):
        return value if isinstance(value, int) else EXAMPLE_NUMBER
    if is_text(value):
        return value if isinstance(value, str) else EXAMPLE_TEXT
    if isinstance(value, tuple):
        return tuple(example(state, each) for each in value)
    return value if is_concrete(value) else _Anything(kind_of(value).__name__)


class _Anything:
    """Something that says its name, and goes into no format but the empty one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def formatted(machine: Core, state: State, values: Sequence[ast.expr]) -> Value:
    """An f-string."""
    parts: list[Value] = []
    for part in values:
        if isinstance(part, ast.FormattedValue):
            value = machine.evaluate(state, part.value)
            spec = "" if part.format_spec is None else machine.evaluate(state, part.format_spec)
            parts.append(_spelled(machine, state, value, part.conversion, spec))
        else:
            parts.append(machine.evaluate(state, part))
    if all(type(part) is str for part in parts):
        return "".join(parts)
    if len(parts) == 1:
        return parts[0]
    return Text(filled=any(map(is_filled, parts)))


def is_filled(text: Value) -> bool:
    """Whether the text is known to have at least one character."""
    return text.filled if isinstance(text, Text) else isinstance(text, str) and text != ""


def _spelled(machine: Core, state: State, value: Value, conversion: int, spec: Value) -> Value:
    if not isinstance(spec, str):
        message = "a format that is not known"
        raise Unsupported(message)

    def spell(here: State, held: Value) -> Value:
        if isinstance(held, Label) and conversion in {NO_CONVERSION, ord("s")} and not spec:
            return held
        if isinstance(held, Instance) and (conversion != NO_CONVERSION or not spec):
            held = text_of(machine, here, held, plain=conversion in {NO_CONVERSION, ord("s")})
        elif conversion != NO_CONVERSION:
            if is_concrete(held):
                held = tried(CONVERSIONS[conversion], held)
            else:
                held = Text(filled=not isinstance(held, (Label, Text)) or conversion != ord("s"))
        if spec.endswith("c"):
            message = "an integer as a character"
            raise Unsupported(message)
        done = tried(format, example(here, held), spec)
        if is_concrete(held):
            return done
        return Text(filled=not is_text(held) or (isinstance(held, Text) and held.filled))

    return machine.lifted(state, spell, value)


def text_of(machine: Core, state: State, value: Value, *, plain: bool = True) -> Value:
    """``str(value)``, or ``repr(value)``."""

    def spell(here: State, held: Value) -> Value:
        if is_text(held) and plain and not is_known_text(held):
            return held
        if is_concrete(held):
            return tried(str if plain else repr, held)
        if isinstance(held, Instance):
            return _text_of_object(machine, here, held, plain=plain)
        return Text(filled=True)

    return machine.lifted(state, spell, value)


def _text_of_object(machine: Core, state: State, value: Instance, *, plain: bool) -> Value:
    names = ("__str__", "__repr__") if plain else ("__repr__",)
    for name in names:
        method = getattr(value.type, name)
        if is_written(method):
            found = machine.call(state, Method(method, value))
            if not is_text(found):
                message = f"the text of {described(value)}"
                raise Unsupported(message)
            return found
        if method is not object.__str__:
            break
    return Text(filled=not issubclass(value.type, BaseException))


def formatted_by_percent(machine: Core, state: State, template: Value, values: Value) -> Value:
    """``template % values``."""
    if isinstance(values, (Items, Mutable)):
        message = f"filling in {described(values)}"
        raise Unsupported(message)
    if not isinstance(template, str) or CHARACTER.search(template):
        message = f"filling in {described(template)}"
        raise Unsupported(message)

    def fill(here: State, *held: Value) -> None:
        examples = tuple(example(here, each) for each in held)
        tried(lambda: template % (examples if isinstance(values, tuple) else examples[0]))

    machine.lifted(state, fill, *(values if isinstance(values, tuple) else (values,)))
    return Text()


def formatted_by_name(
    machine: Core,
    state: State,
    template: Value,
    arguments: Sequence[Value],
    named: Mapping[str, Value],
) -> Value:
    """``template.format(...)``."""
    if not isinstance(template, str) or PART.search(template):
        message = f"filling in {described(template)}"
        raise Unsupported(message)

    def fill(here: State, *held: Value) -> None:
        examples = [example(here, each) for each in held]
        positional, rest = examples[: len(arguments)], examples[len(arguments) :]
        tried(lambda: template.format(*positional, **dict(zip(named, rest, strict=True))))

    machine.lifted(state, fill, *arguments, *named.values())
    return Text()
