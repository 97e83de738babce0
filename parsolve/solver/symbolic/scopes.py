"""Which names are local to a function, read off its definition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

Definition: TypeAlias = "ast.FunctionDef | ast.Lambda"
Comprehension: TypeAlias = "ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a function, lambda or comprehension binds."""

    names: frozenset[str]
    outside: frozenset[str] = frozenset()
    """Declared nonlocal."""
    shared: frozenset[str] = frozenset()
    """Declared global."""
    captured: bool = False
    """Whether functions or generators in it may outlive it."""
    yields: bool = False
    comprehension: bool = False
    first: str | None = None
    """The first parameter, which `super` asks for."""


_SCOPES: WeakKeyDictionary[ast.AST, Scope] = WeakKeyDictionary()


def scope_of(definition: Definition) -> Scope:
    """The scope of a function or lambda; each definition is read once."""
    found = _SCOPES.get(definition)
    if found is None:
        found = _SCOPES[definition] = _scope(definition)
    return found


def scope_of_comprehension(node: Comprehension) -> Scope:
    """The scope of a comprehension: what its loops bind."""
    found = _SCOPES.get(node)
    if found is None:
        names = {name for each in node.generators for name in _bound(each.target)}
        found = Scope(frozenset(names), captured=_captures(node), comprehension=True)
        _SCOPES[node] = found
    return found


def _captures(node: ast.AST) -> bool:
    """Whether something in it may be run after it, and see its names."""
    return any(isinstance(each, (ast.Lambda, ast.GeneratorExp)) for each in ast.walk(node))


def parameters_of(definition: Definition) -> list[str]:
    """The names of all parameters."""
    spec = definition.args
    packed = [each for each in (spec.vararg, spec.kwarg) if each]
    return [p.arg for p in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *packed)]


def _scope(definition: Definition) -> Scope:
    body: list[ast.AST] = (
        [definition.body] if isinstance(definition, ast.Lambda) else [*definition.body]
    )
    names = set(parameters_of(definition))
    outside: set[str] = set()
    shared: set[str] = set()
    captured = yields = False
    for node in _own(body):
        match node:
            case ast.Name(name, ast.Store() | ast.Del()):
                names.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
                captured = True
            case ast.Import() | ast.ImportFrom():
                names |= {(each.asname or each.name).partition(".")[0] for each in node.names}
            case ast.ExceptHandler(_, str(name)) | ast.MatchAs(_, str(name)):
                names.add(name)
            case ast.MatchStar(str(name)) | ast.MatchMapping(rest=str(name)):
                names.add(name)
            case ast.Nonlocal():
                outside |= set(node.names)
            case ast.Global():
                shared |= set(node.names)
            case ast.Lambda():
                captured = True
            case ast.Yield() | ast.YieldFrom():
                yields = True
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                captured |= _captures(node)
                walruses = (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
                names |= {each.target.id for each in walruses}
    names -= outside | shared
    return Scope(
        frozenset(names),
        frozenset(outside),
        frozenset(shared),
        captured,
        yields,
        first=next(iter(parameters_of(definition)), None),
    )


def _own(body: list[ast.AST]) -> Iterator[ast.AST]:
    """Every node that is executed in the scope itself, not in one within it."""
    rest = body
    while rest:
        node = rest.pop()
        yield node
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                rest += [*node.decorator_list, *node.args.defaults]
                rest += [each for each in node.args.kw_defaults if each]
            case ast.Lambda(arguments):
                rest += [*arguments.defaults, *(each for each in arguments.kw_defaults if each)]
            case ast.ClassDef():
                rest += node.decorator_list
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                rest.append(node.generators[0].iter)  # the only part that is not in its own scope
            case ast.Name() | ast.Constant():
                pass
            case _:
                rest += ast.iter_child_nodes(node)


def _bound(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
