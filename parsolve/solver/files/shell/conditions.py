"""Whether a condition of a script holds, where that can be told."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt, ne

from tree_sitter import Node  # noqa: TC002  (this folder is imported only where it is used)

from parsolve.solver.files.shell.arithmetic import NotKnown, integer
from parsolve.solver.files.shell.syntax import text_of
from parsolve.solver.files.shell.values import shown, why
from parsolve.solver.files.shell.words import Words

_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": eq, "-ne": ne, "-gt": gt, "-ge": ge, "-lt": lt, "-le": le,
}  # fmt: skip


def holds(node: Node, words: Words) -> bool | None:
    """Whether a test holds; None if that depends on what is not known."""
    match node.type:
        case "test_command" | "parenthesized_expression":
            inner = node.named_children
            if node.children[0].type == "((" or len(inner) != 1:
                return None
            return holds(inner[0], words)
        case "negated_command" | "unary_expression" if node.children[0].type == "!":
            value = holds(node.children[-1], words)
            return None if value is None else not value
        case "unary_expression":
            operator = text_of(node.children[0])
            if operator not in ("-z", "-n"):
                return None
            text = words.text(node.children[1])
            if why(text):
                return None
            return (not shown(text)) == (operator == "-z")
        case "binary_expression":
            return _compared(node, words)
        case "command" if text_of(node) in ("true", ":"):
            return True
        case "command" if text_of(node) == "false":
            return False
        case _:
            return None


def _compared(node: Node, words: Words) -> bool | None:
    left, operator, right = node.children[0], text_of(node.children[1]), node.children[-1]
    if operator in ("&&", "||", "-a", "-o"):
        both = {holds(left, words), holds(right, words)}
        stops = operator in ("||", "-o")
        return stops if stops in both else None if None in both else not stops
    texts = [words.text(left), words.text(right)]
    if any(why(text) for text in texts):
        return None
    first, second = (shown(text) for text in texts)
    if operator in _NUMBERS:
        try:
            return _NUMBERS[operator](integer(first), integer(second))
        except NotKnown:
            return None
    if operator in ("=", "==", "!="):
        return matches(first, second) == (operator != "!=")
    return None


def matches(text: str, pattern: str) -> bool:
    """Whether a text is what a pattern of the shell says."""
    return fnmatchcase(text, pattern)


def asks_whether_empty(node: Node) -> str:
    """The variable of ``[ -z "$NAME" ]``; empty for another condition."""
    while node.type == "test_command" and len(node.named_children) == 1:
        node = node.named_children[0]
    if node.type != "unary_expression" or text_of(node.children[0]) != "-z":
        return ""
    name = text_of(node.children[1]).strip('"').removeprefix("$").strip("{}")
    for end in (":-", "-", "+x", ":+x"):
        name = name.removesuffix(end)
    return name if name.isidentifier() else ""
