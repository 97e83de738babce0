"""Where a setting is written in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from parsolve.solver.files.document import Entry, Place

WORD = r"(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"\\;&|)]+)"
OPTION = re.compile(rf"--?[\w.-]+(?:=|(?:[ \t]|\\\r?\n)+)({WORD})")
OVERRIDE = re.compile(rf"\+{{0,2}}[\w.@/]+=({WORD})")
VARIABLE = re.compile(r"\"?\$(?:\{(\w+)\}|(\w+))\"?")
LITERAL = re.compile(r"['\"]?([\w.+-]+)['\"]?")
DEFAULT = re.compile(r"['\"]?\$\{\w+:?[-=]([\w.+-]+)\}['\"]?")


@dataclass(frozen=True, slots=True)
class Span:
    """Where a script has an option's value, and where the word that stands for it ends.

    The two differ where the word is a variable, whose value is written elsewhere.
    """

    value: tuple[int, int]
    word: tuple[int, int]


def offset(text: str, place: Place) -> int:
    """The character of the text at a place, from 0."""
    at = 0
    for _ in range(place.line - 1):
        at = text.index("\n", at) + 1
    return at + place.column - 1


def line_after(text: str, at: int) -> int:
    """Where the next line begins; ``at`` itself where nothing stands before it in its line."""
    begin = text.rfind("\n", 0, at) + 1
    if not text[begin:at].strip():
        return begin
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def written_in_script(text: str, entry: Entry) -> Span | None:
    """Where the value of an option or a variable is written out; None where that is not plain."""
    at = offset(text, entry.place)
    found = OPTION.match(text, at) or OVERRIDE.match(text, at)
    if found is not None:
        return _resolved(text, found[1], found.span(1))
    word = re.compile(WORD).match(text, at)
    return None if word is None else _resolved(text, word[0], word.span())


def _resolved(text: str, word: str, span: tuple[int, int]) -> Span | None:
    """The value that a word is or names."""
    literal = LITERAL.fullmatch(word)
    if literal is not None and "$" not in word:
        return Span((span[0] + literal.start(1), span[0] + literal.end(1)), span)
    if (default := DEFAULT.fullmatch(word)) is not None:
        return Span((span[0] + default.start(1), span[0] + default.end(1)), span)
    if (variable := VARIABLE.fullmatch(word)) is None:
        return None
    name = variable[1] or variable[2]
    assigned = list(re.finditer(rf"(?<![\w$\"'-]){name}=({WORD})", text))
    if len(assigned) != 1:
        return None
    value = assigned[0]
    for pattern in (LITERAL, DEFAULT):
        if (inner := pattern.fullmatch(value[1])) is not None:
            begin = value.start(1)
            return Span((begin + inner.start(1), begin + inner.end(1)), span)
    return None
