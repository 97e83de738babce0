"""The tree read as Python: source text for terms, formulas, rules and the words of a verdict.

Readers are compiled once per profile and take the tuple of a configuration's values, so that
checking a configuration costs microseconds and never imports a solver. Undefined terms
follow `formula`: a rule whose reading meets one is neither satisfied nor violated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any as Anything
from typing import TypeAlias, assert_never

from parsolve.constraints.definedness import defined, together
from parsolve.constraints.fields import Field, Size, Sizes
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

Values: TypeAlias = tuple[Anything, ...]
"""One value per field of a profile, in the profile's order."""

DEFINED = "True"

MANY_FIELDS = 4
"""Where more than one in so many fields is read, binding all at once is less work."""


def term_source(term: Term) -> str:
    """Python for the term's value. Only meaningful where `defined_source` holds."""
    match term:
        case Const(value):
            return repr(value)
        case Variable(name):
            return name
        case Feature(name, feature):
            return f"{name}_{feature}"
        case Arith(("max" | "min") as function, left, right):
            a, b = term_source(left), term_source(right)
            if (a.isidentifier() or a.isdecimal()) and b.isidentifier():
                # comparing what is at hand costs less than a call
                return f"({a} if {a} {'>=' if function == 'max' else '<='} {b} else {b})"
            return f"{function}({a}, {b})"
        case Arith(operation, left, right):
            return f"({term_source(left)} {operation} {term_source(right)})"
        case Quotient(left, right):
            return f"({term_source(left)} // {term_source(right)})"
        case If(condition, then, other):
            condition_source = formula_source(condition)
            return f"({term_source(then)} if {condition_source} else {term_source(other)})"
        case Named(name, _):
            return f"its_{name}"
        case _:
            assert_never(term)


def formula_source(formula: Formula) -> str:
    """Python for the formula's truth. Only meaningful where `defined_source` holds."""
    match formula:
        case Truth(value):
            return repr(value)
        case BoolVariable(name):
            return name
        case Compare(relation, left, right):
            return f"({term_source(left)} {relation} {term_source(right)})"
        case Divides(Const() as divisor, dividend):
            return f"({term_source(dividend)} % {term_source(divisor)} == 0)"
        case Divides(divisor, dividend):
            by = term_source(divisor)
            return f"({by} > 0 and {term_source(dividend)} % {by} == 0)"
        case All(parts):
            return f"({' and '.join(map(formula_source, parts)) or 'True'})"
        case Any(parts):
            return f"({' or '.join(map(formula_source, parts)) or 'False'})"
        case Not(part):
            return f"(not {formula_source(part)})"
        case NamedFormula(name, _):
            return f"its_{name}"
        case _:
            assert_never(formula)


def defined_source(node: Node) -> str:
    """Python for whether the node's value is defined; `DEFINED` where it always is."""
    return formula_source(defined(node))


def violated_source(when: Formula, requires: Formula) -> str:
    """Python for "``when`` holds and ``requires`` does not, both defined"."""
    return formula_source(together(defined(when), when, defined(requires), Not(requires)))


def prologue(fields: Sequence[Field], nodes: Iterable[Node]) -> list[str]:
    """Statements that bind every name the nodes read, from ``values`` in field order."""
    nodes = tuple(nodes)
    reads, features = fields_of(*nodes), features_in(*nodes)
    names = [
        f"{field.name}_entries" if isinstance(field, Sizes) else field.name for field in fields
    ]
    if len(reads) * MANY_FIELDS > len(fields):
        lines = [f"({', '.join(names)},) = values"]
    else:
        lines = [
            f"{name} = values[{place}]"
            for place, (field, name) in enumerate(zip(fields, names, strict=True))
            if field.name in reads
        ]
    for field in fields:
        name = field.name
        if name not in reads:
            continue
        if isinstance(field, Sizes):
            wanted = [each for each in field.reading if (name, each) in features]
            lines.append(f"if {name}_entries is None: {name}_entries = ()")
            bound = "".join(f"{name}_{each}, " for each in wanted)
            found = "".join(f"{_read(field, each)}, " for each in wanted)
            lines.append(f"{bound} = ({found}) if {name}_entries else {(0,) * len(wanted)}")
        elif isinstance(field, Size) and field.optional:
            lines.append(f"if {name} is None: {name} = {field.unset}")
    return lines + derived_lines(named_in(*nodes))


def _read(field: Sizes, feature: str) -> str:
    """Python for a feature of the field's entries."""
    return re.sub(r"\bentries\b", f"{field.name}_entries", field.reading[feature])


def derived_lines(named: Iterable[Named | NamedFormula]) -> list[str]:
    """Statements that bind derived quantities, in the given order."""
    lines: list[str] = []
    for quantity in named:
        if isinstance(quantity, Named):
            source, defined = term_source(quantity.term), defined_source(quantity.term)
            undefined = "0"
        else:
            source, defined = formula_source(quantity.formula), defined_source(quantity.formula)
            undefined = "False"
        if defined == DEFINED:
            lines.append(f"its_{quantity.name} = {source}")
        else:
            lines.append(f"has_{quantity.name} = {defined}")
            lines.append(f"its_{quantity.name} = {source} if has_{quantity.name} else {undefined}")
    return lines


def compiled(
    name: str, lines: Iterable[str], **helpers: Callable[..., Anything]
) -> Callable[[Values], Anything]:
    """A function of a configuration's values, made of the given statements."""
    body = "\n    ".join(lines)
    scope: dict[str, Anything] = {"gcd": math.gcd, "prod": math.prod, **helpers}
    exec(f"def {name}(values):\n    {body}\n", scope)  # noqa: S102  (our own text)
    function: Callable[[Values], Anything] = scope[name]
    return function
