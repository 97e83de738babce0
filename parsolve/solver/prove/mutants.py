"""Wrong versions of a catalogue and of a validator: each has one mistake in one place."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from parsolve.constraints.describe import words
from parsolve.constraints.formula import All, Any, Compare, Const, Formula, Not, Truth
from parsolve.constraints.rule import Rule


@dataclass(frozen=True, slots=True, eq=False)
class RuleMutant:
    """A rule that is missing or weaker."""

    name: str
    when: Formula
    requires: Formula


def rule_mutants(rule: Rule) -> Iterator[RuleMutant]:
    """The rule removed, and weakened in every single place."""
    yield RuleMutant("removed", rule.when, Truth(value=True))
    for when in weakened(rule.when, weaker=False):
        yield RuleMutant(f"applies only where {words(when)}", when, rule.requires)
    for requires in weakened(rule.requires, weaker=True):
        yield RuleMutant(f"requires only {words(requires)}", rule.when, requires)


def weakened(formula: Formula, *, weaker: bool) -> Iterator[Formula]:
    """The formula with one place changed so that it holds more often (or less often).

    A part dropped, a bound moved by one, a division or a flag ignored.
    """
    match formula:
        case All(parts) | Any(parts):
            kind = type(formula)
            for place, part in enumerate(parts):
                before, after = parts[:place], parts[place + 1 :]
                if (kind is All) == weaker:
                    yield kind(before + after)
                yield from (kind((*before, p, *after)) for p in weakened(part, weaker=weaker))
        case Not(part):
            yield from map(Not, weakened(part, weaker=not weaker))
        case Compare("<" | "<=" as relation, left, Const(int() as bound)):
            yield Compare(relation, left, Const(bound + 1 if weaker else bound - 1))
        case Compare(">" | ">=" as relation, left, Const(int() as bound)):
            yield Compare(relation, left, Const(bound - 1 if weaker else bound + 1))
        case _:
            yield Truth(value=weaker)


@dataclass(frozen=True, slots=True, eq=False)
class ProgramMutant:
    """A program with one check changed: the function that holds it, whole, and what changed."""

    name: str
    line: int
    function: ast.FunctionDef


SHIFTED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
"""Comparisons that include their bound, for those that do not, and the other way round."""


def program_mutants(tree: ast.Module) -> Iterator[ProgramMutant]:
    """Every check of every function removed, and changed in every single place.

    A check is an ``if`` whose body raises or returns. Its test is made false; a part of it is
    dropped; a comparison takes in its bound, or no longer does; a constant is off by one; a
    remainder is ignored.
    """
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for check in ast.walk(function):
            if isinstance(check, ast.If) and isinstance(check.body[-1], (ast.Raise, ast.Return)):
                tests = {
                    ast.unparse(test): (change, test) for change, test in _changed_tests(check.test)
                }
                for change, test in tests.values():
                    mutated = _with_test(function, check, test)
                    name = f"{function.name}, line {check.lineno}: {change}"
                    yield ProgramMutant(name, check.lineno, mutated)


def _with_test(function: ast.FunctionDef, check: ast.If, test: ast.expr) -> ast.FunctionDef:
    """The function with another test of one check."""
    original, check.test = (
        check.test,
        ast.fix_missing_locations(ast.copy_location(test, check.test)),
    )
    try:
        return copy.deepcopy(function)
    finally:
        check.test = original


def _changed_tests(test: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    yield "removed", ast.Constant(value=False)
    yield from _changes(test)


def _changes(test: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match test:
        case ast.BoolOp(operation, values):
            for place, part in enumerate(values):
                rest = [*values[:place], *values[place + 1 :]]
                less = rest[0] if len(rest) == 1 else ast.BoolOp(operation, rest)
                yield f"drops {ast.unparse(part)}", less
                for change, other in _changes(part):
                    parts = [*values[:place], other, *values[place + 1 :]]
                    yield change, ast.BoolOp(operation, parts)
        case ast.UnaryOp(ast.Not(), operand):
            yield from ((change, ast.UnaryOp(ast.Not(), o)) for change, o in _changes(operand))
        case ast.Compare(left, [operation], [right]):
            text = ast.unparse(test)
            kind = SHIFTED.get(type(operation))
            if kind is not None:
                shifted = ast.Compare(left, [kind()], [right])
                yield f"{text} becomes {ast.unparse(shifted)}", shifted
            for step in (-1, 1):
                match right:
                    case ast.Constant(int() as bound) if not isinstance(bound, bool):
                        moved = ast.Compare(left, [operation], [ast.Constant(bound + step)])
                        yield f"{text} becomes {ast.unparse(moved)}", moved
            match left:
                case ast.BinOp(_, ast.Mod(), _):
                    yield f"ignores {text}", ast.Constant(value=False)
