"""Strings and arrays of a script, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TypeAlias

from parsolve.solver.files.document import FileProblem, Place

MOST_WORK = 2**17
"""Characters, words and steps that reading a script may take: variables that double grow fast."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    ``unknown`` says why its text is not known; ``text`` is then what is written.
    """

    text: str
    place: Place
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a string.

    ``quoted``: the shell does not split it into words. ``absent``: it is unknown because the
    script's caller gives it, or does not, and then a default takes its place.
    """

    text: str
    place: Place
    unknown: str = ""
    quoted: bool = False
    absent: bool = False


Text: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """What a variable holds: one text, or those of an array; none if the script unset it."""

    items: tuple[Text, ...]
    array: bool = False
    exported: bool = False

    def same(self, other: Value) -> bool:
        """Whether both hold the same known text, wherever it is written."""
        return (
            self.array == other.array
            and self.exported == other.exported
            and [shown(item) for item in self.items] == [shown(item) for item in other.items]
            and [why(item) for item in self.items] == [why(item) for item in other.items]
        )


def shown(text: Text) -> str:
    """A string as far as known, with what is written where it is not."""
    return "".join(piece.text for piece in text)


def why(text: Text) -> str:
    """Why a string is not known; empty if it is."""
    return next((piece.unknown for piece in text if piece.unknown), "")


def word(text: Text, place: Place) -> Word:
    """A string as a word, at the place where its text begins."""
    begins = next((piece.place for piece in text if piece.text), place)
    return Word(shown(text), begins, why(text))


def known(words: Iterable[Word]) -> tuple[Text, ...]:
    """Words as strings again."""
    return tuple((Piece(w.text, w.place, w.unknown, quoted=True),) for w in words)


def fields(pieces: Iterable[Piece | None]) -> Iterator[Text]:
    """The words of what is written together; None ends a word.

    Unquoted known text splits at white space, as the shell's default IFS has it.
    """
    current: list[Piece] = []
    for piece in pieces:
        if piece is None:
            if current:
                yield tuple(current)
            current = []
        elif piece.quoted or piece.unknown:
            current.append(piece)
        else:
            end = 0
            for part in piece.text.split():
                start = piece.text.index(part, end)
                if start > end and current:
                    yield tuple(current)
                    current = []
                elif start > end:
                    current = []
                place = Place(piece.place.line, piece.place.column + start)
                current.append(replace(piece, text=part, place=place))
                end = start + len(part)
            if end < len(piece.text) and current:
                yield tuple(current)
                current = []
    if current:
        yield tuple(current)


def either(name: str, values: Sequence[Value | None], reason: str, place: Place) -> Value:
    """What a variable holds after branches of which one was taken.

    Words that all of them begin with are known; those that only some have are unknown, each with
    its text, so that an option among them still says its name.
    """
    first, *others = values
    exported = any(value is not None and value.exported for value in values)
    if first is not None and all(value is not None and first.same(value) for value in others):
        return first
    array = any(value is not None and value.array for value in values)
    branches = [_words(value) for value in values]
    if not array and not any(len(b) > 1 or shown(b[0]).startswith("-") for b in branches if b):
        return Value(((Piece(f"${name}", place, reason),),), exported=exported)
    common = [
        words[0]
        for words in takewhile(
            lambda words: len({(shown(w), why(w)) for w in words}) == 1,
            zip(*branches, strict=False),
        )
    ]
    rest = [
        (Piece(shown(text), word(text, place).place, reason, quoted=True),)
        for branch in branches
        for text in branch[len(common) :]
    ]
    items = tuple(common) + tuple(rest)
    if not array:
        items = (joined(items, place),)
    return Value(items, array, exported)


def _words(value: Value | None) -> list[Text]:
    if value is None:
        return []
    if value.array:
        return list(value.items)
    return list(fields(replace(p, quoted=False) for item in value.items for p in item))


def joined(items: Iterable[Text], place: Place) -> Text:
    """Strings with a space between them."""
    pieces: list[Piece] = []
    for item in items:
        if pieces:
            pieces.append(Piece(" ", item[0].place if item else place))
        pieces += item
    return tuple(pieces)


@dataclass
class Variables:
    """The variables of a script, one scope on top of the other, and the work done so far.

    Of the first ``inherited`` scopes, those of another shell, only what is exported counts.
    """

    name: str
    scopes: list[dict[str, Value]] = field(default_factory=lambda: [{}])
    positional: tuple[Text, ...] | None = None
    sources: list[str] = field(default_factory=list)
    exports: set[str] = field(default_factory=set)
    inherited: int = 0
    work: int = 0
    doubted: dict[str, Piece] = field(default_factory=dict)
    """What a statement that is not understood may assign, each with the reason."""

    def get(self, name: str) -> Value | None:
        """What the script has put there; None if nothing."""
        if name in self.doubted:
            return Value(((self.doubted[name],),))
        for level in range(len(self.scopes) - 1, -1, -1):
            if (value := self.scopes[level].get(name)) is not None:
                return value if level >= self.inherited or value.exported else None
        return None

    def put(self, name: str, value: Value) -> None:
        """Assign. What is exported stays so."""
        before = self.get(name)
        if before is not None and before.exported:
            value = replace(value, exported=True)
        if value.exported:
            self.exports.add(name)
        self.scopes[-1][name] = value

    def spend(self, work: int, place: Place) -> None:
        """Count work. Raises `FileProblem` when a script takes too much of it."""
        self.work += work
        if self.work > MOST_WORK:
            message = "what its variables and functions say grows beyond any launch script"
            raise FileProblem(self.name, place, message)

    def caller(self, name: str, place: Place) -> str:
        """Why a variable that the script never sets is unknown."""
        if any(name in scope for scope in self.scopes[: self.inherited]):
            return f"it is not exported to the shell that takes {name} (line {place.line})"
        origin = "".join(f", or from {source}" for source in self.sources[-1:])
        return f"it takes {name} from its caller{origin} (line {place.line})"

    def environment(self, place: Place) -> dict[str, Word]:
        """What is exported by now."""
        self.spend(len(self.exports), place)
        found = {name: self.get(name) for name in sorted(self.exports)}
        return {
            name: word(value.items[0], place)
            for name, value in found.items()
            if value is not None and value.exported and value.items
        }
