"""The rule language: integer terms and truth values over named fields, held as data.

Nothing here computes. A tree is *read* elsewhere, each reading one exhaustive ``match``:
as Python (`evaluate`), as words (`describe`), as Z3 (`parsolve.solver`).

Two properties keep the readings equal:

* A tree has no truth value, so ``if``, ``and``, ``in`` on one raise instead of lying.
* Every partial operation is explicit. A divisor must be a term that cannot be 0, and a
  `Quotient` is *undefined* where the division leaves a remainder. Junctions and `If` are
  read from left to right and stop as soon as they are settled, as Python does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias, Union

Operation: TypeAlias = Literal["+", "-", "*", "//", "%", "max", "min"]
Relation: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

NEGATED: dict[Relation, Relation] = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip


class _Tree:
    """What terms and formulas share: they are data, never a Python truth value."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        message = (
            "a term or formula has no truth value: combine with & | ~ (or all_of, any_of) "
            "instead of and/or/not/in/if, and read it with parsolve.constraints.evaluate"
        )
        raise TypeError(message)


class _TermOperators(_Tree):
    """Integer operators. Comparing builds a formula, so identity is the only equality."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __add__(self, other: Operand) -> Arith:
        return Arith("+", as_term(self), as_term(other))

    def __radd__(self, other: Operand) -> Arith:
        return Arith("+", as_term(other), as_term(self))

    def __sub__(self, other: Operand) -> Arith:
        return Arith("-", as_term(self), as_term(other))

    def __rsub__(self, other: Operand) -> Arith:
        return Arith("-", as_term(other), as_term(self))

    def __mul__(self, other: Operand) -> Arith:
        return Arith("*", as_term(self), as_term(other))

    def __rmul__(self, other: Operand) -> Arith:
        return Arith("*", as_term(other), as_term(self))

    def __floordiv__(self, other: Operand) -> Arith:
        return Arith("//", as_term(self), as_term(other))

    def __mod__(self, other: Operand) -> Arith:
        return Arith("%", as_term(self), as_term(other))

    def __eq__(self, other: object) -> Compare:  # type: ignore[override]
        return Compare("==", as_term(self), as_term(other))

    def __ne__(self, other: object) -> Compare:  # type: ignore[override]
        return Compare("!=", as_term(self), as_term(other))

    def __lt__(self, other: Operand) -> Compare:
        return Compare("<", as_term(self), as_term(other))

    def __le__(self, other: Operand) -> Compare:
        return Compare("<=", as_term(self), as_term(other))

    def __gt__(self, other: Operand) -> Compare:
        return Compare(">", as_term(self), as_term(other))

    def __ge__(self, other: Operand) -> Compare:
        return Compare(">=", as_term(self), as_term(other))


class _FormulaOperators(_Tree):
    """Boolean operators."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __and__(self, other: Formula | bool) -> All:
        return All((_formula(self), _formula(other)))

    def __or__(self, other: Formula | bool) -> Any:
        return Any((_formula(self), _formula(other)))

    def __invert__(self) -> Formula:
        own = _formula(self)
        return own.part if isinstance(own, Not) else Not(own)


@dataclass(frozen=True, slots=True, eq=False)
class Const(_TermOperators):
    """An integer, or a label such as ``"node"``."""

    value: int | str


@dataclass(frozen=True, slots=True, eq=False)
class Variable(_TermOperators):
    """A field read as an integer or a label; an unset size reads as its stand-in (0)."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Feature(_TermOperators):
    """A number read off a field that holds a list; an unset list is empty.

    The field says which there are, and how each is read (`Sizes.reading`).
    """

    name: str
    feature: str


@dataclass(frozen=True, slots=True, eq=False)
class Arith(_TermOperators):
    """Integer arithmetic with Python's floor division and modulo."""

    operation: Operation
    left: Term
    right: Term

    def __post_init__(self) -> None:
        if self.operation in {"//", "%"}:
            _check_divisor(self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Quotient(_TermOperators):
    """``left / right`` where that is exact, undefined elsewhere."""

    left: Term
    right: Term

    def __post_init__(self) -> None:
        _check_divisor(self.right)


@dataclass(frozen=True, slots=True, eq=False)
class If(_TermOperators):
    """``then`` where the condition holds, else ``other``."""

    condition: Formula
    then: Term
    other: Term


@dataclass(frozen=True, slots=True, eq=False)
class Named(_TermOperators):
    """A derived quantity: a term with the field's own name for it.

    With the unit "bytes", sentences state it in GiB.
    """

    name: str
    term: Term
    about: str = ""
    unit: Literal["", "bytes"] = ""
    total: bool = field(init=False)
    """Whether it is defined at every value."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", is_total(self.term))


@dataclass(frozen=True, slots=True, eq=False)
class Truth(_FormulaOperators):
    """A constant truth value."""

    value: bool


@dataclass(frozen=True, slots=True, eq=False)
class BoolVariable(_FormulaOperators):
    """A flag read as a truth value."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Compare(_FormulaOperators):
    """A relation of two integers; labels may only be compared for (in)equality."""

    relation: Relation
    left: Term
    right: Term

    def __post_init__(self) -> None:
        left, right = is_label(self.left), is_label(self.right)
        if left != right or (left and self.relation not in {"==", "!="}):
            message = "labels may only be compared with labels, by == or !="
            raise TypeError(message)


@dataclass(frozen=True, slots=True, eq=False)
class Divides(_FormulaOperators):
    """``divisor`` divides ``dividend`` without remainder."""

    divisor: Term
    dividend: Term

    def __post_init__(self) -> None:
        _check_divisor(self.divisor)


@dataclass(frozen=True, slots=True, eq=False)
class All(_FormulaOperators):
    """Every part holds; read from left to right up to the first that does not."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Any(_FormulaOperators):
    """Some part holds; read from left to right up to the first that does."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not(_FormulaOperators):
    """The part does not hold."""

    part: Formula


@dataclass(frozen=True, slots=True, eq=False)
class NamedFormula(_FormulaOperators):
    """A derived truth value with the field's own name for it."""

    name: str
    formula: Formula
    about: str = ""
    total: bool = field(init=False)
    """Whether it is defined at every value."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", is_total(self.formula))


Term: TypeAlias = Union[Const, Variable, Feature, Arith, Quotient, If, Named]  # noqa: UP007
Formula: TypeAlias = Union[  # noqa: UP007
    Truth, BoolVariable, Compare, Divides, All, Any, Not, NamedFormula
]
Operand: TypeAlias = Union[Term, int, str]  # noqa: UP007
Node: TypeAlias = Union[Term, Formula]  # noqa: UP007


_TERMS = (Const, Variable, Feature, Arith, Quotient, If, Named)
FORMULAS = (Truth, BoolVariable, Compare, Divides, All, Any, Not, NamedFormula)


def as_term(value: object) -> Term:
    """The term itself, or an integer or a label as one."""
    if isinstance(value, _TERMS):
        return value
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return Const(value)
    message = f"expected a term, an integer or a label, got {type(value).__name__}"
    raise TypeError(message)


def _formula(value: object) -> Formula:
    if isinstance(value, FORMULAS):
        return value
    if isinstance(value, bool):
        return Truth(value)
    message = f"expected a formula or a bool, got {type(value).__name__}"
    raise TypeError(message)


def _check_divisor(term: Term) -> None:
    if least(term) < 1:
        message = (
            "a divisor must be a term that cannot be 0: guard it with largest(1, ...) or "
            "divide by a field whose minimum is at least 1"
        )
        raise TypeError(message)


def least(term: Term) -> float:
    """A lower bound of the term over legal fields; minus infinity where none is known."""
    match term:
        case Const(value):
            return -float("inf") if isinstance(value, str) else value
        case Variable():
            return getattr(term, "least", -float("inf"))
        case Feature():
            return 0
        case Named(_, inner):
            return least(inner)
        case If(_, then, other):
            return min(least(then), least(other))
        case Quotient(left, right):
            return 1 if least(left) >= 1 and least(right) >= 1 else -float("inf")
        case Arith(operation, left, right):
            low, high = least(left), least(right)
            match operation:
                case "max":
                    return max(low, high)
                case "min":
                    return min(low, high)
                case "+":
                    return low + high
                case "*":
                    return low * high if min(low, high) >= 0 else -float("inf")
                case "//" | "%":
                    return 0 if low >= 0 else -float("inf")
                case "-":
                    return -float("inf")


def is_total(node: Node) -> bool:
    """Whether the node is defined at every value; a divisor that is no constant might be 0."""
    match node:
        case Named() | NamedFormula():
            return node.total
        case Quotient():
            return False
        case Arith(("//" | "%"), _, right) if not isinstance(right, Const):
            return False
        case _:
            return all(map(is_total, children(node)))


def is_label(term: Term) -> bool:
    """Whether the term stands for a label rather than an integer."""
    match term:
        case Const(value):
            return isinstance(value, str)
        case Variable():
            return getattr(term, "choices", None) is not None
        case If(_, then, _):
            return is_label(then)
        case Named(_, inner):
            return is_label(inner)
        case Feature() | Arith() | Quotient():
            return False


ALWAYS = Truth(value=True)
"""What always holds."""

UNDEFINED = Quotient(Const(1), Const(2))
"""A term that never has a value."""


def all_of(*parts: Formula | bool) -> All:
    """Every one of the parts."""
    return All(tuple(_formula(part) for part in parts))


def any_of(*parts: Formula | bool) -> Any:
    """At least one of the parts."""
    return Any(tuple(_formula(part) for part in parts))


def implies(condition: Formula, then: Formula) -> Any:
    """``then`` wherever ``condition`` holds."""
    return Any((~condition, then))


def one_of(term: Term, values: tuple[int | str, ...]) -> Any:
    """The term equals one of the constants."""
    return Any(tuple(term == value for value in values))


def divides(divisor: Operand, dividend: Operand) -> Divides:
    """``divisor`` divides ``dividend``."""
    return Divides(as_term(divisor), as_term(dividend))


def quotient(left: Operand, right: Operand) -> Quotient:
    """The exact quotient, undefined where there is a remainder."""
    return Quotient(as_term(left), as_term(right))


def if_(condition: Formula, then: Operand, other: Operand) -> If:
    """``then`` where ``condition`` holds, else ``other``."""
    return If(condition, as_term(then), as_term(other))


def largest(first: Operand, *others: Operand) -> Term:
    """The largest of the terms."""
    result = as_term(first)
    for other in others:
        result = Arith("max", result, as_term(other))
    return result


def smallest(first: Operand, *others: Operand) -> Term:
    """The smallest of the terms."""
    result = as_term(first)
    for other in others:
        result = Arith("min", result, as_term(other))
    return result


def known_where(condition: Formula, term: Operand) -> If:
    """The term where the condition holds, undefined elsewhere."""
    return If(condition, as_term(term), UNDEFINED)


def round_up(term: Operand, multiple: int) -> Arith:
    """The term rounded up to a multiple of a positive constant."""
    return (as_term(term) + (multiple - 1)) // multiple * multiple


def children(node: Node) -> tuple[Node, ...]:
    """The direct subtrees, in reading order."""
    match node:
        case Const() | Variable() | Feature() | Truth() | BoolVariable():
            return ()
        case Arith(_, left, right) | Quotient(left, right) | Compare(_, left, right):
            return (left, right)
        case Divides(divisor, dividend):
            return (divisor, dividend)
        case If(condition, then, other):
            return (condition, then, other)
        case All(parts) | Any(parts):
            return parts
        case Not(part):
            return (part,)
        case Named(_, term):
            return (term,)
        case NamedFormula(_, formula):
            return (formula,)


def fields_of(*nodes: Node) -> frozenset[str]:
    """Names of every field that the trees read, through derived quantities too."""
    found: set[str] = set()
    seen: set[int] = set()
    stack: list[Node] = list(nodes)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, (Variable, BoolVariable, Feature)):
            found.add(node.name)
        stack.extend(children(node))
    return frozenset(found)


def features_in(*nodes: Node) -> frozenset[tuple[str, str]]:
    """Features that the trees read, through derived quantities too: a field's name and which."""
    found: set[tuple[str, str]] = set()
    seen: set[int] = set()
    stack: list[Node] = list(nodes)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Feature):
            found.add((node.name, node.feature))
        stack.extend(children(node))
    return frozenset(found)


def stated_in(*nodes: Node) -> frozenset[str]:
    """Names of the fields that the trees read themselves, not through derived quantities."""
    found: set[str] = set()
    stack: list[Node] = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, (Variable, BoolVariable, Feature)):
            found.add(node.name)
        elif not isinstance(node, (Named, NamedFormula)):
            stack.extend(children(node))
    return frozenset(found)


def named_in(*nodes: Node) -> tuple[Named | NamedFormula, ...]:
    """Derived quantities that the trees use, each after those it is made of."""
    ordered: dict[int, Named | NamedFormula] = {}

    def visit(node: Node) -> None:
        if id(node) in ordered:
            return
        for child in children(node):
            visit(child)
        if isinstance(node, (Named, NamedFormula)):
            ordered[id(node)] = node

    for node in nodes:
        visit(node)
    return tuple(ordered.values())
