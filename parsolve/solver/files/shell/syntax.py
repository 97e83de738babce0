"""The syntax tree of a shell script, with places that people count."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from tree_sitter import Language, Node, Parser
from tree_sitter_bash import language

from parsolve.solver.files.document import FileProblem, Place
from parsolve.solver.files.shell.gaps import Gap, candidates, filled, stands_alone

LARGEST_SCRIPT = 2**17
"""Bytes; launch scripts have some thousands."""

MOST_SECONDS = 2.0
"""A parser of ambiguous languages can take long over nonsense; scripts take milliseconds."""

MOST_BRACKETS = 64
"""Brackets open at once in one command, from where on the parser slows down and fills memory."""

MOST_PIPES = 1000
"""In a script. The parser takes 0.1 MiB for each that leads nowhere, and looks at no deadline."""

MOST_GAPS = 8
"""Statements of a script that are not understood, and left out."""

_FATAL = re.compile(rb"\{[\d.]*[\xf1-\xf4]")
"""The grammar asks C whether a digit follows, which beyond plane 3 reads foreign memory."""

_CHUNK = 2**11

_TAIL = 0x80
"""What the upper two bits say of a byte that is not the first of its character."""


class Source:
    """A text of shell: a file, or a string of it that another shell reads.

    Such a string stands at a place of the file: where it is ``whole`` as written, what is in it
    has places of its own, and otherwise all of it has that one.
    """

    def __init__(
        self, name: str, text: str, at: Place | None = None, *, whole: bool = False
    ) -> None:
        self.name = name
        self.at = at
        self.whole = whole
        self.data = text.encode(errors="replace")
        self.lines = self.data.split(b"\n")
        self.gaps: list[Gap] = []
        self._tails: dict[int, list[int]] = {}

    def place(self, node: Node) -> Place:
        """Where a node begins."""
        if self.at is not None and not self.whole:
            return self.at
        point = node.start_point
        return self._at(point.row, point.column)

    def row(self, row: int) -> Place:
        """Where a row begins; they count from 0."""
        return self._at(row, 0) if self.spread else self.at or Place(1, 1)

    def gap(self, node: Node) -> Gap | None:
        """The gap that a command fills."""
        return next((gap for gap in self.gaps if (gap.first, 0) == tuple(node.start_point)), None)

    @property
    def spread(self) -> bool:
        """Whether what is in it has places of its own."""
        return self.at is None or self.whole

    def line_ends_after(self, node: Node) -> bool:
        """Whether the line, and no backslash continues it, ends behind a node."""
        follows = re.compile(rb"[ \t]*(#|\n)").match(self.data, node.end_byte)
        return follows is not None

    def end(self, node: Node) -> Place:
        """Where a node has ended."""
        if not self.spread:
            return self.place(node)
        point = node.end_point
        return self._at(point.row, point.column)

    def _at(self, row: int, column: int) -> Place:
        if row not in self._tails:
            line = self.lines[row]
            tails = (
                [] if line.isascii() else [i for i, byte in enumerate(line) if byte & 0xC0 == _TAIL]
            )
            self._tails[row] = tails
        column -= bisect_left(self._tails[row], column)
        if self.at is None:
            return Place(row + 1, column + 1)
        return Place(self.at.line + row, column + (self.at.column if row == 0 else 1))

    def problem(self, place: Place, message: str) -> FileProblem:
        """An error at a place of this file."""
        return FileProblem(self.name, place, message)

    @cached_property
    def tree(self) -> Node:
        """The tree. Raises `FileProblem` where the text is no shell, too large, too nested."""
        start = self.at or Place(1, 1)
        if len(self.data) > LARGEST_SCRIPT:
            raise self.problem(
                start, f"larger than {LARGEST_SCRIPT:,} bytes, which no launch script is"
            )
        if _FATAL.search(self.data):
            raise self.problem(start, "a character of a private plane stands behind a brace")
        if (at := self.data.find(b"\0")) >= 0:
            row = self.data.count(b"\n", 0, at)
            column = at - (self.data.rfind(b"\n", 0, at) + 1)
            raise self.problem(self._at(row, column), "a NUL byte: this is no text file")
        self._refuse_deep_nesting(start)
        self._refuse_many_pipes(start)
        deadline = time.monotonic() + MOST_SECONDS
        try:
            root = _parsed(self.data, deadline)
        except ValueError:
            message = (
                f"its syntax is not understood within {MOST_SECONDS:.0f} s:"
                " give the launch command alone"
            )
            raise self.problem(start, message) from None
        if not root.has_error:
            return root
        problem = self._syntax_problem(root)
        try:
            return self._with_gaps(root, deadline)
        except ValueError:
            raise problem from None

    def _with_gaps(self, root: Node, deadline: float) -> Node:
        """The tree without what is not understood. Raises ValueError where that may matter."""
        lines = _without_inline_comments(self.data).split(b"\n")
        root = _parsed(b"\n".join(lines), deadline)
        while root.has_error:
            if len(self.gaps) == MOST_GAPS:
                raise ValueError
            gap, root = self._next_gap(lines, root, deadline)
            lines = filled(lines, gap)
            self.gaps.append(gap)
        self.data = b"\n".join(lines)
        self.lines = self.data.split(b"\n")
        return root

    def _next_gap(self, lines: list[bytes], root: Node, deadline: float) -> tuple[Gap, Node]:
        """The smallest gap that leaves no error, or else none before it and in it."""
        error = next(_errors(root))
        partly: tuple[Gap, Node] | None = None
        for gap in candidates(lines, error.start_point.row, error.end_point.row):
            without = _parsed(b"\n".join(filled(lines, gap)), deadline)
            if not stands_alone(without, gap):
                continue
            if not without.has_error:
                return gap, without
            if partly is None and next(_errors(without)).start_point.row > gap.last:
                partly = gap, without
        if partly is None:
            raise ValueError
        return partly

    def _refuse_deep_nesting(self, start: Place) -> None:
        depth = 0
        for match in re.finditer(rb"([(\[{])|([)\]}])|\n\s*\n", self.data):
            depth = depth + 1 if match[1] else max(depth - 1, 0) if match[2] else 0
            if depth > MOST_BRACKETS:
                raise self.problem(start, f"more than {MOST_BRACKETS} brackets are open at once")

    def _refuse_many_pipes(self, start: Place) -> None:
        if self.data.count(b"|") > MOST_PIPES:
            raise self.problem(start, f"more than {MOST_PIPES} pipes in one script")

    def _syntax_problem(self, root: Node) -> FileProblem:
        node = next(_errors(root))
        place = self.place(node)
        opened = _unclosed_quote(node)
        if opened is not None:
            return self.problem(self.place(opened), f"the quote {text_of(opened)} is never closed")
        if node.is_missing:
            return self.problem(place, f"{node.type!r} is missing here, or before it")
        written = " ".join(text_of(node).split())[:40]
        space = text_of(node)[: -len(text_of(node).lstrip()) or None]
        if space and not space.strip(" \t"):
            place = Place(place.line, place.column + len(space))
        if written[:1] in {'"', "'"} and written.count(written[0]) % 2:
            return self.problem(place, f"the quote {written[0]} is never closed")
        return self.problem(place, f"this is not understood as shell: {written}")


def _parsed(data: bytes, deadline: float) -> Node:
    """The tree of a text. Raises ValueError after the deadline."""
    Parser(Language(language())).parse(
        lambda offset, _: data[offset : offset + _CHUNK],
        progress_callback=lambda *_: time.monotonic() > deadline,
    )
    return Parser(Language(language())).parse(data).root_node  # whose nodes know their text


def _without_inline_comments(data: bytes) -> bytes:
    """Blanks for words such as `# this`, a comment between two others that expands to nothing."""
    return re.sub(rb"(?<=[ \t])`#[^`\n]*`(?=[ \t\n])", lambda found: b" " * len(found[0]), data)


def text_of(node: Node) -> str:
    """A node as it is written."""
    return (node.text or b"").decode(errors="replace")


def _errors(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_missing or (node.is_error and not any(c.has_error for c in node.children)):
            yield node
        waiting += [c for c in reversed(node.children) if c.has_error or c.is_missing or c.is_error]
    yield root


def _unclosed_quote(node: Node) -> Node | None:
    opened = None
    for child in node.children:
        if child.type in ('"', "'", "`"):
            opened = child if opened is None else None
    return opened
