"""Where functions are written: their syntax trees, by the functions themselves."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from functools import cache
from types import FunctionType
from typing import TypeAlias
from weakref import WeakKeyDictionary

from parsolve.solver.symbolic.scopes import Definition
from parsolve.solver.symbolic.values import Unsupported

Found: TypeAlias = "dict[tuple[str, int], Definition | None]"
"""Definitions by name and first line; none where two share them."""

_FUNCTIONS: WeakKeyDictionary[ast.Module, Found] = WeakKeyDictionary()
_LAMBDAS: WeakKeyDictionary[ast.Module, Found] = WeakKeyDictionary()
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


class Sources:
    """Syntax trees of files, each read once. ``trees`` has those of changed sources."""

    def __init__(self, trees: Mapping[str, ast.Module] | None = None) -> None:
        self._trees = dict(trees or {})

    def of(self, function: FunctionType) -> Definition:
        """The definition of the function; `Unsupported` where its source cannot be read."""
        code = function.__code__
        tree = self._trees.get(code.co_filename) or _parsed(code.co_filename)
        found = (_lambdas if code.co_name == "<lambda>" else _functions)(tree)
        definition = found.get((code.co_name, code.co_firstlineno))
        if definition is None:
            message = f"the source of {function.__qualname__} cannot be read"
            raise Unsupported(message)
        return definition


@cache
def _parsed(filename: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _functions(tree: ast.Module) -> Found:
    """By statements alone: expressions, which are most of a tree, hold no functions."""
    found = _FUNCTIONS.get(tree)
    if found is None:
        found = _FUNCTIONS[tree] = {}
        rest: list[ast.AST] = [tree]
        while rest:
            node = rest.pop()
            if isinstance(node, ast.FunctionDef):
                line = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                found[node.name, line] = None if (node.name, line) in found else node
            for block in _BLOCKS:
                inner = getattr(node, block, ())
                if isinstance(inner, list):
                    rest += inner
    return found


def _lambdas(tree: ast.Module) -> Found:
    found = _LAMBDAS.get(tree)
    if found is None:
        found = _LAMBDAS[tree] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                name = ("<lambda>", node.lineno)
                found[name] = None if name in found else node
    return found
