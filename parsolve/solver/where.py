"""Conditions as people write them: ``tp*cp <= 8 and ep_group_size > 4``.

The text is parsed by Python's own parser and then read by a whitelist; nothing of it is
ever executed. Names are fields (any spelling) and derived quantities of the profile.
"""

from __future__ import annotations

import ast
import re
import warnings
from fractions import Fraction
from functools import lru_cache
from math import inf

from parsolve.constraints.fields import BYTE_UNITS, FEWEST_BYTES, Choice, Misuse, suggestion
from parsolve.constraints.formula import (
    All,
    Any,
    Arith,
    BoolVariable,
    Compare,
    Const,
    Formula,
    Named,
    NamedFormula,
    Operation,
    Relation,
    Term,
    Truth,
    Variable,
    divides,
    is_label,
    largest,
    least,
    smallest,
)
from parsolve.constraints.profile import Profile

LONGEST = 2000
SHOWN = 200
"""Characters of a condition that an error quotes."""
DEEPEST = 60
LARGEST = 10**18
MOST_ARGUMENTS = 20
KEPT = 256
"""Conditions that are kept as formulas: one text is one formula, whose searches are kept too."""

SIZE = re.compile(
    r"(?<![\w.])(\d{1,19})(\.\d{1,19})? ?([TGM]iB|[TGM]B)\b", re.ASCII | re.IGNORECASE
)
"""A number of bytes with its unit."""

OPERATIONS: dict[type[ast.operator], Operation] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
RELATIONS: dict[type[ast.cmpop], Relation] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class ConditionError(Misuse):
    """A condition that cannot be read. The message shows the text with a caret."""

    def __init__(self, problem: str, text: str, column: int) -> None:
        one_line = "".join(c if c.isprintable() else " " for c in text)
        line = one_line if len(text) <= SHOWN else f"{one_line[: SHOWN - 3]}..."
        caret = " " * min(column, len(line)) + "^"
        super().__init__(f"{problem}\n  {line}\n  {caret}")


@lru_cache(maxsize=KEPT)
def parse_condition(profile: Profile, text: str) -> Formula:
    """The condition as a formula over the profile's fields, or `ConditionError`."""
    return _Reader(profile, text).condition()


@lru_cache(maxsize=KEPT)
def parse_quantity(profile: Profile, text: str) -> Term:
    """An integer expression over the profile's fields, or `ConditionError`."""
    return _Reader(profile, text).quantity()


def _numbered(size: re.Match[str]) -> str:
    """The number alone, in as much room: columns stay where they were."""
    return size[1] + " " * (len(size[0]) - len(size[1]))


def _is_bytes(term: Term) -> bool:
    """Whether the term is a number of bytes: more or less of one, or a part or multiple."""
    match term:
        case Variable() | Named():
            return bool(getattr(term, "unit", ""))
        case Arith(("*" | "//"), left, Const(int() as factor)):
            return factor < FEWEST_BYTES and _is_bytes(left)
        case Arith("*", Const(int() as factor), right):
            return factor < FEWEST_BYTES and _is_bytes(right)
        case Arith(("+" | "-" | "max" | "min"), left, right):
            return _is_bytes(left) or _is_bytes(right)
        case _:
            return False


class _Reader:
    def __init__(self, profile: Profile, text: str) -> None:
        self.profile = profile
        self.text = text
        if len(text) > LONGEST:
            raise self.error(f"a condition has at most {LONGEST} characters", 0)
        if not text.strip():
            raise self.error("a condition must not be empty", 0)
        if "\n" in text or "\r" in text or "\0" in text:
            raise self.error("a condition is one line", 0)
        self.sizes = {m.start(): m for m in SIZE.finditer(text)}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python would comment on the style of `1or`
                plain = SIZE.sub(_numbered, text)
                self.tree = ast.parse(plain.strip(), mode="eval").body
        except SyntaxError as error:
            # Python points at nothing where the text ends too early
            offset = (error.offset - 1 if error.offset else len(text.strip())) + self.indent
            raise self.error("this is not an expression", offset) from None
        except UnicodeEncodeError as error:
            raise self.error("this is not text", error.start + self.indent) from None
        except (RecursionError, MemoryError, ValueError):
            raise self.error("the expression is nested too deeply", 0) from None

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())

    def error(self, problem: str, where: ast.expr | int) -> ConditionError:
        if isinstance(where, int):
            return ConditionError(problem, self.text, where)
        # ast counts bytes, people count characters
        before = self.text.lstrip().encode()[: where.col_offset]
        return ConditionError(problem, self.text, self.indent + len(before.decode()))

    def condition(self) -> Formula:
        return self.formula(self.tree, DEEPEST)

    def quantity(self) -> Term:
        term = self.term(self.tree, DEEPEST)
        if is_label(term):
            raise self.error("this is a label, not a number", self.tree)
        return term

    def formula(self, node: ast.expr, depth: int) -> Formula:
        if depth == 0:
            raise self.error("the expression is nested too deeply", node)
        match node:
            case ast.BoolOp(op, values):
                parts = tuple(self.formula(value, depth - 1) for value in values)
                return All(parts) if isinstance(op, ast.And) else Any(parts)
            case ast.UnaryOp(ast.Not(), operand):
                return ~self.formula(operand, depth - 1)
            case ast.Compare(left, operators, comparators):
                return self.comparison(left, operators, comparators, depth)
            case ast.Constant(bool() as value):
                return Truth(value)
            case ast.Name(name):
                found = self.lookup(node, name)
                if isinstance(found, (BoolVariable, NamedFormula)):
                    return found
                raise self.error(f"{name} is a number: compare it with something", node)
            case ast.Call(ast.Name("divides"), [divisor, dividend], []):
                by = self.integer(divisor, depth - 1)
                self.positive(by, divisor)
                return divides(by, self.integer(dividend, depth - 1))
            case _:
                raise self.error("expected a condition: comparisons joined by and, or, not", node)

    def comparison(
        self, left: ast.expr, operators: list[ast.cmpop], right: list[ast.expr], depth: int
    ) -> Formula:
        parts: list[Formula] = []
        for operator, comparator in zip(operators, right, strict=True):
            parts.append(self.relation(left, operator, comparator, depth - 1))
            left = comparator
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def relation(self, left: ast.expr, operator: ast.cmpop, right: ast.expr, depth: int) -> Formula:
        if isinstance(operator, (ast.In, ast.NotIn)):
            if not isinstance(right, (ast.Tuple, ast.List, ast.Set)) or not right.elts:
                raise self.error("after `in` comes a list of constants: tp in (1, 2)", right)
            choices = tuple(self.relation(left, ast.Eq(), element, depth) for element in right.elts)
            inside = Any(choices)
            return ~inside if isinstance(operator, ast.NotIn) else inside
        relation = RELATIONS.get(type(operator))
        if relation is None:
            raise self.error("compare with ==, !=, <, <=, >, >= or in", right)
        flag = self.flag(left)
        if flag is not None:
            wanted = right.value if isinstance(right, ast.Constant) else None
            if not isinstance(wanted, bool) or relation not in {"==", "!="}:
                raise self.error("a flag is compared with True or False", right)
            return flag if wanted == (relation == "==") else ~flag
        one, other = self.term(left, depth), self.term(right, depth)
        one, other = self.labelled(one, other, left), self.labelled(other, one, right)
        for term, beside in ((one, other), (other, one)):
            value = term.value if isinstance(term, Const) else ""
            is_bare = isinstance(value, int) and 0 < abs(value) < FEWEST_BYTES
            if is_bare and _is_bytes(beside):
                raise self.error(f"{value} bytes? give a unit, such as {value}GiB", right)
        if is_label(one) != is_label(other):
            raise self.error("a label cannot be compared with a number", right)
        if is_label(one) and relation not in {"==", "!="}:
            raise self.error("labels are compared with == or !=", right)
        return Compare(relation, one, other)

    def labelled(self, term: Term, beside: Term, node: ast.expr) -> Term:
        """A text constant must be a label of the choice it is compared with."""
        if isinstance(term, Const) and isinstance(term.value, str):
            if term.value == "auto" and isinstance(beside, Named):
                raise self.error(
                    f"{beside.name} is what auto resolved to; to fix the request itself, pin it",
                    node,
                )
            field = self.profile.field_of.get(getattr(beside, "name", ""))
            if isinstance(field, Choice) and term.value not in field.choices:
                hint = suggestion(term.value, field.choices)
                raise self.error(f'{field.name} has no value "{term.value}"{hint}', node)
        return term

    def flag(self, node: ast.expr) -> Formula | None:
        if isinstance(node, ast.Name):
            found = self.lookup(node, node.id)
            if isinstance(found, (BoolVariable, NamedFormula)):
                return found
        return None

    def term(self, node: ast.expr, depth: int) -> Term:
        if depth == 0:
            raise self.error("the expression is nested too deeply", node)
        match node:
            case ast.Constant(bool()) | ast.UnaryOp(ast.USub(), ast.Constant(bool())):
                raise self.error("True and False are no numbers", node)
            case ast.Constant(int() as value):
                return self.constant(self.size(node, value), node)
            case ast.Constant(str() as value):
                return Const(value)
            case ast.Constant(float() as value):
                if value in {inf, -inf}:
                    raise self.error("this number is beyond any quantity", node)
                unit = f"; if it is a size, give a unit, such as {value:g}GiB"
                raise self.error(f"{value:g} is no whole number{unit}", node)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() as value) as size):
                return self.constant(-self.size(size, value), node)
            case ast.Name(name):
                found = self.lookup(node, name)
                if isinstance(found, (BoolVariable, NamedFormula)):
                    raise self.error(f"{name} is a flag, not a number", node)
                return found
            case ast.BinOp(left, operator, right):
                operation = OPERATIONS.get(type(operator))
                if operation is None:
                    raise self.error(
                        "calculate with + - * // %; for exact division write divides(a, b)", right
                    )
                one, other = self.integer(left, depth - 1), self.integer(right, depth - 1)
                if operation in {"//", "%"}:
                    self.positive(other, right)
                return Arith(operation, one, other)
            case ast.Call(ast.Name(("max" | "min") as name), [_, _, *_] as arguments, []):
                if len(arguments) > MOST_ARGUMENTS:
                    raise self.error(f"{name} takes at most {MOST_ARGUMENTS} numbers", node)
                terms = [self.integer(argument, depth - 1) for argument in arguments]
                return largest(*terms) if name == "max" else smallest(*terms)
            case _:
                raise self.error("expected a number, a field or a derived quantity", node)

    def size(self, node: ast.expr, value: int) -> int:
        """The number in bytes where a unit stands behind it, else as it is; parts are cut off."""
        before = self.text.lstrip().encode()[: node.col_offset].decode()
        size = self.sizes.get(self.indent + len(before))
        if size is None:
            return value
        return int(Fraction(f"{size[1]}{size[2] or ''}") * BYTE_UNITS[size[3].lower()])

    def constant(self, value: int, node: ast.expr) -> Const:
        if abs(value) > LARGEST:
            raise self.error("no size is that large: at most 10**18", node)
        return Const(value)

    def integer(self, node: ast.expr, depth: int) -> Term:
        term = self.term(node, depth)
        if is_label(term):
            raise self.error("labels cannot be calculated with", node)
        return term

    def positive(self, term: Term, node: ast.expr) -> None:
        if least(term) < 1:
            raise self.error("a divisor must be at least 1 always; use max(1, ...)", node)

    def lookup(self, node: ast.expr, name: str) -> Variable | Named | BoolVariable | NamedFormula:
        profile = self.profile
        if name in profile.quantity_of:
            return profile.quantity_of[name]
        field = profile.field_of.get(profile.spellings.get(name, ""))
        if isinstance(field, (Variable, BoolVariable)):
            return field
        if field is not None:
            raise self.error(f"{name} is a list and cannot be used in a condition", node)
        raise self.error(f"unknown name {name}{profile.hint(name, *profile.quantity_of)}", node)
