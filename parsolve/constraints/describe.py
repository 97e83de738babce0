"""The tree read as words: what a formula says, and which numbers make it true or false."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from parsolve.constraints.evaluate import formula_source, term_source
from parsolve.constraints.fields import GIB
from parsolve.constraints.formula import (
    NEGATED,
    UNDEFINED,
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
    Not,
    Quotient,
    Relation,
    Term,
    Truth,
    Variable,
)


def term_words(term: Term) -> str:
    """The term as people write it."""
    match term:
        case Const(value):
            return str(value)
        case Variable(name) | Named(name, _):
            return name
        case Feature(name, feature):
            return f"{feature} of {name}"
        case Arith(("max" | "min") as function, left, right):
            return f"{function}({', '.join(_flat(function, left) + _flat(function, right))})"
        case Arith("*", left, right):
            return " * ".join(_factors(left) + _factors(right))
        case Arith(operation, left, right):
            return f"{_bracketed(left)} {operation} {_bracketed(right)}"
        case Quotient(left, right):
            return f"{_bracketed(left)} / {_bracketed(right)}"
        case If(condition, then, other) if other is UNDEFINED:
            return f"{term_words(then)}, where {words(condition)}"
        case If(condition, then, other):
            return f"{term_words(then)} if {words(condition)} else {term_words(other)}"
        case _:
            assert_never(term)


def _flat(function: str, term: Term) -> list[str]:
    if isinstance(term, Arith) and term.operation == function:
        return _flat(function, term.left) + _flat(function, term.right)
    return [term_words(term)]


def _factors(term: Term) -> list[str]:
    if isinstance(term, Arith) and term.operation == "*":
        return _factors(term.left) + _factors(term.right)
    return [_bracketed(term)]


def _bracketed(term: Term) -> str:
    text = term_words(term)
    if isinstance(term, Arith) and term.operation in {"max", "min"}:
        return text
    return f"({text})" if isinstance(term, (Arith, Quotient, If)) else text


def _sided(term: Term) -> str:
    """One side of a comparison: arithmetic binds tighter, a conditional does not."""
    return _bracketed(term) if isinstance(term, If) else term_words(term)


def _same_subject(parts: tuple[Formula, ...]) -> tuple[Term, list[str]] | None:
    """The term and the values, where every part compares the same term for equality."""
    values: list[str] = []
    subject: Term | None = None
    for part in parts:
        match part:
            case Compare("==", left, Const(value)) if subject is None or left is subject:
                subject = left
                values.append(str(value))
            case _:
                return None
    return (subject, values) if subject is not None and len(values) > 1 else None


def words(formula: Formula) -> str:
    """The formula as people say it."""
    match formula:
        case Truth(value):
            return "always" if value else "never"
        case BoolVariable(name):
            return name
        case NamedFormula(name, _):
            return name
        case Any(parts) if (several := _same_subject(parts)) is not None:
            subject, values = several
            return f"{_bracketed(subject)} is one of {', '.join(values)}"
        case Compare("==", left, Const(str() as value)):
            return f"{term_words(left)} is {value}"
        case Compare("!=", left, Const(str() as value)):
            return f"{term_words(left)} is not {value}"
        case Compare(relation, left, right):
            return f"{_sided(left)} {relation} {_sided(right)}"
        case Divides(divisor, dividend):
            return f"{_bracketed(divisor)} divides {_bracketed(dividend)}"
        case All(parts):
            return " and ".join(_grouped(part, Any) for part in parts) or "always"
        case Any((Not(condition), then)):
            return f"if {words(condition)} then {words(then)}"
        case Any(parts):
            return " or ".join(_grouped(part, All) for part in parts) or "never"
        case Not(Compare(relation, left, right)):
            return words(Compare(NEGATED[relation], left, right))
        case Not(Divides(divisor, dividend)):
            return f"{_bracketed(divisor)} does not divide {_bracketed(dividend)}"
        case Not((All() | Any()) as part):
            return f"not ({words(part)})"
        case Not(part):
            return f"not {words(part)}"
        case _:
            assert_never(formula)


def _grouped(formula: Formula, around: type[All | Any]) -> str:
    text = words(formula)
    return f"({text})" if isinstance(formula, around) and len(formula.parts) > 1 else text


Fact: TypeAlias = tuple[str, tuple[str, ...]]
"""One fact as text, and the ``name = value`` statements that it makes."""


def because_source(formula: Formula, *, holds: bool) -> str:
    """A Python expression for the list of facts that make the formula hold, or fail.

    It reads the same names as `evaluate.formula_source` and is only meaningful at values
    where the formula's truth is ``holds``. `told` turns the facts into a line.
    """
    match formula:
        case Truth():
            return "[]"
        case BoolVariable(name):
            return repr([_fact(f"{name} = {str(holds).lower()}")])
        case NamedFormula(_, inner):
            return because_source(inner, holds=holds)
        case Not(part):
            return because_source(part, holds=not holds)
        case Compare(relation, left, right):
            return _relation_source(relation if holds else NEGATED[relation], left, right)
        case Divides(divisor, dividend):
            verb = "divides" if holds else "does not divide"
            return _facts(f"{_value(divisor)} {verb} {_value(dividend)}", divisor, dividend)
        case All(parts):
            return _every(parts, holds=True) if holds else _first(parts, holds=False)
        case Any(parts):
            return _first(parts, holds=True) if holds else _every(parts, holds=False)
        case _:
            assert_never(formula)


def told(facts: Iterable[Fact]) -> str:
    """The facts as one line; one that only repeats values already stated is left out."""
    stated: set[str] = set()
    kept: list[str] = []
    for text, statements in facts:
        if not stated.issuperset(statements):
            kept.append(text)
            stated.update(statements)
    return ", ".join(kept)


def _relation_source(relation: Relation, left: Term, right: Term) -> str:
    if isinstance(left, Feature) and left.feature == "length" and relation == ">":
        return "[]"
    if isinstance(right, Const):
        alone = _facts(_value(left), left)
        if relation in {"==", "!="}:
            return alone
        related = _facts(f"{_value(left)} {relation} {right.value}", left)
        if relation in {"<", ">"} or not isinstance(right.value, int) or right.value > 1:
            return related
        return f"({alone} if {term_source(left)} == {right.value} else {related})"
    if relation == "==":
        return _facts(f"{term_words(left)} = {_value(right)}", left, right)
    word = "is not" if relation == "!=" else relation
    return _facts(f"{_value(left)} {word} {_value(right)}", left, right)


def _fact(text: str) -> Fact:
    return (text, (text,))


def _facts(text: str, *terms: Term) -> str:
    statements = "".join(f"f'{_value(term)}', " for term in terms)
    return f"[(f'{text}', ({statements}))]"


def _value(term: Term) -> str:
    """The inside of an f-string that states the term's value."""
    if isinstance(term, Const):
        return str(term.value)
    if isinstance(term, Feature) and term.feature in {"smallest", "largest", "gcd", "product"}:
        return f'{term.name} = {{", ".join(map(str, {term.name}_entries)) or "unset"}}'
    source = term_source(term).replace("'", '"')
    if getattr(term, "unit", ""):
        return f"{term_words(term)} = {{{source} / {GIB}:.2f}} GiB"
    zero = getattr(term, "zero", "")
    if zero:
        source = f'"{zero}" if {source} == 0 else {source}'
    elif getattr(term, "optional", False):
        source = f'"unset" if {source} == {getattr(term, "unset", 0)} else {source}'
    return f"{term_words(term)} = {{{source}}}"


def _every(parts: tuple[Formula, ...], *, holds: bool) -> str:
    return " + ".join(because_source(part, holds=holds) for part in parts) or "[]"


def _first(parts: tuple[Formula, ...], *, holds: bool) -> str:
    """The facts of the first part that is ``holds``; the last part needs no test."""
    if not parts:
        return "[]"
    *earlier, last = parts
    text = because_source(last, holds=holds)
    for part in reversed(earlier):
        test = formula_source(part) if holds else f"not {formula_source(part)}"
        text = f"({because_source(part, holds=holds)} if {test} else {text})"
    return text
