"""The tree read as JavaScript, for a page that computes what it shows.

The text calls `div` and `mod`, which `PRELUDE` defines as Python's ``//`` and ``%``. A number is
exact while it and all it is made of lie between -2**52 and 2**53, as ranks of any cluster do.
Undefined terms follow `formula`: text for a value only means something where that value is defined.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import assert_never

from parsolve.constraints.definedness import defined, together
from parsolve.constraints.formula import (
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
    Term,
    Truth,
    Variable,
    features_in,
    fields_of,
    named_in,
)
from parsolve.constraints.layout import GROUP, POSITION, RANK, Grouping

PRELUDE = """\
const mod = (a, b) => ((a % b) + b) % b;
const div = (a, b) => (a - mod(a, b)) / b;
"""

DEFINED = "true"

SAME = {"==": "===", "!=": "!=="}


def term_source(term: Term) -> str:
    """JavaScript for the term's value. Only meaningful where `defined_source` holds."""
    match term:
        case Const(value):
            return json.dumps(value)
        case Variable(name):
            return name
        case Feature(name, feature):
            return f"{name}_{feature}"
        case Arith(("max" | "min") as function, left, right):
            return f"Math.{function}({term_source(left)}, {term_source(right)})"
        case Arith("%", left, right):
            return f"mod({term_source(left)}, {term_source(right)})"
        case Arith("//", left, right) | Quotient(left, right):
            return f"div({term_source(left)}, {term_source(right)})"
        case Arith(operation, left, right):
            return f"({term_source(left)} {operation} {term_source(right)})"
        case If(condition, then, other):
            condition_source = formula_source(condition)
            return f"({condition_source} ? {term_source(then)} : {term_source(other)})"
        case Named(name, _):
            return f"its_{name}"
        case _:
            assert_never(term)


def formula_source(formula: Formula) -> str:
    """JavaScript for the formula's truth. Only meaningful where `defined_source` holds."""
    match formula:
        case Truth(value):
            return json.dumps(value)
        case BoolVariable(name):
            return name
        case Compare(relation, left, right):
            return f"({term_source(left)} {SAME.get(relation, relation)} {term_source(right)})"
        case Divides(divisor, dividend):
            by = term_source(divisor)
            return f"({by} > 0 && mod({term_source(dividend)}, {by}) === 0)"
        case All(parts):
            return f"({' && '.join(map(formula_source, parts)) or 'true'})"
        case Any(parts):
            return f"({' || '.join(map(formula_source, parts)) or 'false'})"
        case Not(part):
            return f"(!{formula_source(part)})"
        case NamedFormula(name, _):
            return f"its_{name}"
        case _:
            assert_never(formula)


def defined_source(node: Node) -> str:
    """JavaScript for whether the node's value is defined; `DEFINED` where it always is."""
    return formula_source(defined(node))


def holds_source(formula: Formula) -> str:
    """JavaScript for whether the formula is defined and true."""
    return formula_source(together(defined(formula), formula))


def bound(nodes: Iterable[Node], *, but: Iterable[str] = ()) -> list[str]:
    """Statements that bind what the nodes read, from an object ``known``.

    Its keys are fields and ``name_feature`` of lists; those in ``but`` are bound elsewhere.
    """
    nodes = tuple(nodes)
    features = features_in(*nodes)
    lists = {name for name, _ in features}
    names = {*fields_of(*nodes), *(f"{name}_{each}" for name, each in features)}
    lines = [f"const {{{', '.join(sorted(names - lists - set(but)))}}} = known;"]
    for quantity in named_in(*nodes):
        if isinstance(quantity, Named):
            source, defined = term_source(quantity.term), defined_source(quantity.term)
        else:
            source, defined = formula_source(quantity.formula), defined_source(quantity.formula)
        if defined != DEFINED:
            lines.append(f"const has_{quantity.name} = {defined};")
        lines.append(f"const its_{quantity.name} = {source};")
    return lines


def groupings_source(groupings: Iterable[Grouping]) -> str:
    """A function from what is known of a configuration to its groupings, as `Grouping` has them.

    Of each one ``holds``, ``size`` and ``count`` are values; ``index`` and ``position`` are
    functions of a rank, ``member`` is one of a group and a position.
    """
    groupings = tuple(groupings)
    nodes: list[Node] = []
    for each in groupings:
        nodes += [each.where, each.size, each.count, each.index, each.position, each.member]
    lines = bound(nodes, but=(RANK.name, GROUP.name, POSITION.name))
    made = ",\n".join(map(_grouping, groupings))
    body = "\n".join(lines)
    return f"(known) => {{\n{body}\nreturn [\n{made}\n];\n}}"


def _grouping(grouping: Grouping) -> str:
    rank, place = f"({RANK.name})", f"({GROUP.name}, {POSITION.name})"
    parts = {
        "name": json.dumps(grouping.name),
        "about": json.dumps(grouping.about),
        "holds": holds_source(grouping.where),
        "size": term_source(grouping.size),
        "count": term_source(grouping.count),
        "index": f"{rank} => {term_source(grouping.index)}",
        "position": f"{rank} => {term_source(grouping.position)}",
        "member": f"{place} => {term_source(grouping.member)}",
    }
    return f"{{{', '.join(f'{name}: {source}' for name, source in parts.items())}}}"
