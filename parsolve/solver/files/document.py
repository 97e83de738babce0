"""A file as its settings, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from parsolve.constraints.fields import Misuse

LARGEST_FILE = 2**20
"""Bytes; configurations and launch scripts have some thousands."""

DEEPEST = 32
"""Levels of nesting."""

MOST_ENTRIES = 20_000
"""Settings of one file."""

Kind: TypeAlias = Literal["yaml", "json", "toml", "script"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Line and column, both counted from 1."""

    line: int
    column: int


class FileProblem(Misuse):
    """A file, or a value in it, that cannot be read. It says ``file:line:column`` first."""

    def __init__(self, name: str, place: Place | None, message: str) -> None:
        where = name if place is None else f"{name}:{place.line}:{place.column}"
        super().__init__(f"{where}: {message}")
        self.name = name
        self.place = place
        self.message = message


class Unjudgeable(FileProblem):
    """A file that was read, and that says something no rule here can judge."""


class Unrecognised(FileProblem):
    """A file that says nothing about training on GPUs, as far as anybody here knows."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting.

    ``key`` is the path to it, joined by dots (``parallelism.tensor_parallel_degree``), or an
    option without its dashes. ``value`` is a scalar, a list, or an empty object. ``unknown`` says
    why there is no value, as where a script takes it from its caller. ``span`` is where the value
    is written: its first character of the text and the one behind it, from 0; None if not known.
    """

    key: str
    value: Any
    place: Place
    unknown: str = ""
    span: tuple[int, int] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Document:
    """All settings of a file, in its order. ``name`` is what messages call the file."""

    name: str
    kind: Kind
    entries: tuple[Entry, ...]

    def problem(self, place: Place | None, message: str) -> FileProblem:
        """An error at a place of this file."""
        return FileProblem(self.name, place, message)


def flattened(name: str, tree: Any, placed: Any, spanned: Any) -> Iterator[Entry]:  # noqa: ANN401
    """The settings of a tree of objects.

    ``placed(path)`` is the place of the key at a path, ``spanned(path)`` the span of its value. A
    list is one setting, whatever it holds.
    Raises `FileProblem` beyond `DEEPEST` and `MOST_ENTRIES`.
    """
    count = 0
    waiting: list[tuple[tuple[str, ...], Any]] = [((), tree)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > DEEPEST:
            raise FileProblem(name, placed(path), f"nested more than {DEEPEST} levels deep")
        if isinstance(value, dict) and (value or not path):
            waiting += [((*path, str(key)), value[key]) for key in reversed(value)]
            continue
        count += 1
        if count > MOST_ENTRIES:
            raise FileProblem(name, None, f"more than {MOST_ENTRIES:,} settings")
        yield Entry(".".join(path), value, placed(path), span=spanned(path))
