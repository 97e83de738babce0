"""Claims: sentences about a profile's rules, as formulas that must hold for all sizes.

A claim says that ``then`` holds wherever ``when`` does. Both are ordinary formulas over the
profile's fields and quantities, and over two things more:

* a `Verdict`: what the rules say of the configuration, as a truth value;
* `Instead`: the same configuration with some fields changed, whose quantities and verdicts
  may stand in the same formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Literal, TypeAlias, Union, assert_never

from parsolve.constraints.fields import Choice, Field, Flag, Size, Sizes
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
    Operand,
    Quotient,
    Term,
    Truth,
    Variable,
    all_of,
    any_of,
    children,
    fields_of,
)
from parsolve.constraints.rule import Source

Kind: TypeAlias = Literal["accepted", "violates", "first", "same"]
Change: TypeAlias = Union[Operand, bool]  # noqa: UP007


@dataclass(frozen=True, slots=True, eq=False)
class Verdict(BoolVariable):
    """What the rules say of a configuration.

    ``accepted``: no rule is violated. ``violates``: ``rule`` is violated. ``first``: it is the
    first that is. ``same``: the rules say of the changed configuration what they say of the
    unchanged one, and every derived quantity is the same or as unknown.
    """

    kind: Kind
    rule: str = ""
    instead: Instead | None = None


def _verdict(kind: Kind, rule: str = "", instead: Instead | None = None) -> Verdict:
    parts = (kind, rule.replace("-", "_"), instead.name if instead else "")
    return Verdict("_".join(filter(None, parts)), kind, rule, instead)


ACCEPTED = _verdict("accepted")
"""No rule is violated."""


def violates(rule: str) -> Verdict:
    """The rule is violated, whatever else is."""
    return _verdict("violates", rule)


def first(rule: str) -> Verdict:
    """The rule is the first violated one: the framework's own verdict."""
    return _verdict("first", rule)


class Instead:
    """The same configuration with some fields changed.

    A changed size or choice gets what its term is at the unchanged configuration. Where that is
    undefined there is no such configuration, and a claim that asks for its verdict says nothing.
    ``name`` sets its quantities and verdicts apart: ``without_tp``.
    """

    def __init__(self, name: str, **changes: Change) -> None:
        self.name = name
        self.terms: dict[str, Term] = {}
        self.flags: dict[str, bool] = {}
        for field, change in changes.items():
            if isinstance(change, bool):
                self.flags[field] = change
            else:
                self.terms[field] = Const(change) if isinstance(change, (int, str)) else change
        self.fields = frozenset(changes)
        self.accepted = _verdict("accepted", instead=self)
        self.same = _verdict("same", instead=self)
        self._read: dict[int, Term] = {}
        self._kept: list[Term] = []

    def violates(self, rule: str) -> Verdict:
        """The changed configuration violates the rule."""
        return _verdict("violates", rule, self)

    def of(self, term: Term) -> Term:
        """The term, read at the changed configuration."""
        if id(term) not in self._read:
            self._kept.append(term)
            self._read[id(term)] = self._term(term) if self._concerns(term) else term
        return self._read[id(term)]

    def _concerns(self, node: Node) -> bool:
        return not fields_of(node).isdisjoint(self.fields)

    def _term(self, term: Term) -> Term:
        match term:
            case Variable(name):
                return self.terms[name]
            case Arith(operation, left, right):
                return Arith(operation, self.of(left), self.of(right))
            case Quotient(left, right):
                return Quotient(self.of(left), self.of(right))
            case If(condition, then, other):
                return If(self._formula(condition), self.of(then), self.of(other))
            case Named(name, inner):
                return Named(f"{name}_{self.name}", self.of(inner), term.about)
            case Const() | Feature():
                message = f"a list cannot be changed: {term}"
                raise TypeError(message)
            case _:
                assert_never(term)

    def _formula(self, formula: Formula) -> Formula:
        match formula:
            case Truth():
                return formula
            case BoolVariable(name):
                return Truth(self.flags[name]) if name in self.flags else formula
            case Compare(relation, left, right):
                return Compare(relation, self.of(left), self.of(right))
            case Divides(divisor, dividend):
                return Divides(self.of(divisor), self.of(dividend))
            case All(parts):
                return All(tuple(map(self._formula, parts)))
            case Any(parts):
                return Any(tuple(map(self._formula, parts)))
            case Not(part):
                return Not(self._formula(part))
            case NamedFormula(name, inner):
                if not self._concerns(inner):
                    return formula
                return NamedFormula(f"{name}_{self.name}", self._formula(inner), formula.about)
            case _:
                assert_never(formula)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Claim:
    """Wherever ``when`` holds, ``then`` holds too: for all configurations, of any size.

    ``says`` is the sentence in words and ``source`` where it is said; the id reads as the fact.
    A sentence that is not true stays: then ``truth`` is the id of the claim that says what is,
    and ``fails_at`` has the fields of a configuration that shows it.
    """

    id: str
    says: str
    source: Source
    then: Formula
    when: Formula = ACCEPTED
    truth: str = ""
    fails_at: Mapping[str, object] = dataclass_field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether the sentence is said to be true."""
        return not self.truth

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every verdict that the claim speaks of, once each."""
        found = {verdict.name: verdict for verdict in _verdicts(self.when, self.then)}
        return tuple(found.values())

    @property
    def changed(self) -> tuple[Instead, ...]:
        """The changed configurations whose verdicts the claim speaks of."""
        found = {verdict.instead: None for verdict in self.verdicts if verdict.instead}
        return tuple(found)


def _verdicts(*nodes: Node) -> Iterator[Verdict]:
    """Verdicts in the trees. No derived quantity has any inside."""
    for node in nodes:
        if isinstance(node, Verdict):
            yield node
        elif not isinstance(node, (Named, NamedFormula)):
            yield from _verdicts(*children(node))


def at_default(field: Field) -> Formula:
    """The field has its default value."""
    match field:
        case Flag():
            return field if field.default else ~field
        case Choice():
            return field == field.default
        case Sizes():
            return field.length == 0
        case Size():
            return field == (field.unset if field.default is None else field.default)


def equivalent(left: Formula, right: Formula) -> Formula:
    """Both hold, or neither does."""
    return any_of(all_of(left, right), all_of(~left, ~right))
