"""Statements that the grammar does not know: left out of a script where they start nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node  # noqa: TC002  (this folder is imported only where it is used)

MOST_ROWS = 40
"""Lines of one gap."""

_QUOTED = re.compile(
    r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|(?<![^\s;&|()])\#[^\n]*|(?P<open>['"`\\])""", re.DOTALL
)
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(['\"]?)([\w.-]+)\1")
_WORD = re.compile(r"[^\s;&|()]+")
_PAIRS = (("if", "fi"), ("do", "done"), ("case", "esac"), ("{", "}"))
_STARTS = re.compile(
    r"\b(torchrun|torch\.distributed|srun|sbatch|salloc|accelerate|deepspeed|mpi(run|exec)|axolotl"
    r"|trl|llamafactory-cli|swift|megatron|nemo|tune|python[\d.]*|bash|sh|zsh|dash|ssh|source"
    r"|eval|exec(?!\s*\d*[<>])|export|declare|typeset|set|shift|unset|alias)\b|\.py\b|(^|[;&|({]|\b(then|do|else))\s*\.\s|#SBATCH",
    re.MULTILINE,
)
"""What a statement must not say to be left out: it launches, or changes more than variables."""

_NAMES = re.compile(r"(?<![\w$])(?<!\$\{)([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)(?:\[[^]]*\])?:?=")


@dataclass(frozen=True, slots=True)
class Gap:
    """Rows of a script that are not understood, from 0; the last one included."""

    first: int
    last: int
    names: frozenset[str]
    """Whatever they may assign or call."""
    text: str


def candidates(lines: list[bytes], first: int, last: int) -> Iterator[Gap]:
    """Whole statements around the rows of an error that may be left out, the smallest first."""
    rows = min(MOST_ROWS, len(lines))
    for size in range(rows):
        for begin in range(max(first - size, 0), min(last, first + MOST_ROWS) + 1):
            if begin + size >= len(lines):
                break
            if (begin and _goes_on(lines[begin - 1])) or _goes_on(lines[begin + size]):
                continue
            text = b"\n".join(lines[begin : begin + size + 1]).decode(errors="replace")
            if text.strip() and not _STARTS.search(text) and _is_whole(text):
                names = frozenset(a or b for a, b in _NAMES.findall(text))
                yield Gap(begin, begin + size, names, " ".join(text.split()))


def filled(lines: list[bytes], gap: Gap) -> list[bytes]:
    """The lines with a command that does nothing in place of the gap."""
    empty = [b""] * (gap.last - gap.first)
    return [*lines[: gap.first], b":", *empty, *lines[gap.last + 1 :]]


def stands_alone(root: Node, gap: Gap) -> bool:
    """Whether what fills the gap is a command, and no part of a text or a list of words."""
    node = root.descendant_for_point_range((gap.first, 0), (gap.first, 1))
    while node is not None and node.type in ("word", "command_name"):
        node = node.parent
    return node is not None and node.type == "command" and node.text == b":"


def _goes_on(line: bytes) -> bool:
    return bool(len(line) - len(line.rstrip(b"\\")) & 1)


def _is_whole(text: str) -> bool:
    """Whether all that is opened in it is closed, as far as quotes and keywords tell."""
    for _, name in _HEREDOC.findall(text):
        if not re.search(rf"^\t*{re.escape(name)}$", text, re.MULTILINE):
            return False
    if any(found["open"] for found in _QUOTED.finditer(text)):
        return False
    plain = _QUOTED.sub(" q ", text)
    count = Counter(_WORD.findall(plain))
    brackets = plain.count("(") - plain.count(")")
    if brackets > 0 or (brackets and not count["case"]):  # whose patterns need no opening one
        return False
    return all(count[opens] == count[closes] for opens, closes in _PAIRS)
