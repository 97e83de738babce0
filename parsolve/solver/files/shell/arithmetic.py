"""Integer arithmetic of a script, worked out on its syntax tree."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, mul, sub

from tree_sitter import Node  # noqa: TC002  (this folder is imported only where it is used)

from parsolve.solver.files.document import DEEPEST
from parsolve.solver.files.shell.syntax import text_of

LARGEST = 2**63 - 1
"""Of the shell's integers."""


class NotKnown(Exception):  # noqa: N818  (not an error: the value is unknown, and the message why)
    """A number that cannot be told. The message says why."""


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise NotKnown("divides by 0")
    sign = 1 if (left < 0) == (right < 0) else -1
    return sign * (abs(left) // abs(right))


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": _quotient,
    "%": lambda left, right: left - right * _quotient(left, right),
}


def integer(text: str) -> int:
    """A number as the shell reads it: decimal, octal after 0, hexadecimal after 0x."""
    digits = text.strip()
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-") if len(digits) - len(digits.lstrip("+-")) <= 1 else ""
    octal = len(digits) > 1 and digits.startswith("0") and digits.isdigit()
    try:
        value = int(digits, 8 if octal else 0) if digits.isascii() and "_" not in digits else None
    except ValueError:
        value = None
    if value is None or value > LARGEST:
        raise NotKnown(f"reckons with {text[:40]!r}, which is no integer")
    return sign * value


def result(node: Node, operand: Callable[[Node], str], depth: int = 0) -> int:
    """The value of an arithmetic expression; ``operand`` is the text of what is no operator.

    Raises `NotKnown`.
    """
    if depth > DEEPEST:
        raise NotKnown("reckons in a formula that is nested too deep")
    depth += 1
    match node.type:
        case "arithmetic_expansion" | "parenthesized_expression":
            inner = node.named_children
            if len(inner) != 1:
                raise NotKnown(f"reckons {text_of(node)[:40]}")
            return result(inner[0], operand, depth)
        case "binary_expression":
            left, operator, right = node.children
            if operator.type not in _OPERATORS:
                raise NotKnown(f"reckons with {operator.type}")
            value = _OPERATORS[operator.type](
                result(left, operand, depth), result(right, operand, depth)
            )
        case "unary_expression" if node.children[0].type in ("-", "+"):
            value = result(node.children[1], operand, depth)
            value = -value if node.children[0].type == "-" else value
        case _:
            value = integer(operand(node))
    if abs(value) > LARGEST:
        raise NotKnown("reckons beyond 64 bits")
    return value
