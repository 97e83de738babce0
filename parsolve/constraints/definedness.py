"""When a node has a value, as a formula: one law for every language that the tree is read in.

`formula` says which operations are partial. Junctions and `If` are read from left to right and stop
as soon as they are settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from parsolve.constraints.formula import (
    ALWAYS,
    All,
    Any,
    Arith,
    BoolVariable,
    Compare,
    Const,
    Divides,
    Feature,
    Formula,
    If,
    Named,
    NamedFormula,
    Node,
    Not,
    Quotient,
    Truth,
    Variable,
)


def defined(node: Node) -> Formula:
    """That the node has a value; `ALWAYS` itself where it always has one.

    Of a derived quantity that may lack one it is a flag ``has_NAME``, which the reading binds.
    """
    match node:
        case Const() | Variable() | Feature() | Truth() | BoolVariable():
            return ALWAYS
        case Named(name) | NamedFormula(name):
            return ALWAYS if node.total else BoolVariable(f"has_{name}")
        case Compare(_, left, right) | Divides(left, right):
            return together(defined(left), defined(right))
        case Arith(("//" | "%"), left, right):
            positive = ALWAYS if isinstance(right, Const) else Compare(">", right, Const(0))
            return together(defined(left), defined(right), positive)
        case Arith(_, left, right):
            return together(defined(left), defined(right))
        case Quotient(left, right):
            return together(defined(left), defined(right), Divides(right, left))
        case If(condition, then, other):
            yes, no = defined(then), defined(other)
            if yes is no is ALWAYS:
                return defined(condition)
            branch = Any((All((condition, yes)), All((Not(condition), no))))
            return together(defined(condition), branch)
        case Not(part):
            return defined(part)
        case All(parts):
            return _up_to(tuple((part, Not(part)) for part in parts))
        case Any(parts):
            return _up_to(tuple((part, part) for part in parts))
        case _:
            assert_never(node)


def together(*formulas: Formula) -> Formula:
    """All of the formulas but those that always hold."""
    needed = tuple(formula for formula in formulas if formula is not ALWAYS)
    return All(needed) if needed else ALWAYS


def _up_to(parts: Sequence[tuple[Formula, Formula]]) -> Formula:
    """Defined up to the part that settles it, each beside what it is that settles."""
    result: Formula = ALWAYS
    for part, settles in reversed(parts):
        rest = result if result is ALWAYS else Any((settles, result))
        result = together(defined(part), rest)
    return result
