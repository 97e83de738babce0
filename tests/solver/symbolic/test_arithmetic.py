"""Operators on unknown integers and truth values."""

from __future__ import annotations

import pytest

from tests.solver.symbolic.programs import agree, agree_on

EXPRESSIONS = {
    "sum and difference": "a + b - 3 - a",
    "product": "a * b * 2",
    "product with zero": "a * 0 + b * 1",
    "product of a choice": "(a if p else 2) * b",
    "quotient": "a // b",
    "quotient by a constant": "a // 3",
    "quotient by a negative constant": "a // -3",
    "quotient of a constant": "-7 // b",
    "negated quotient": "-a // b",
    "quotient by a negated one": "a // -b",
    "remainder": "a % b",
    "remainder by a constant": "a % 4",
    "remainder by a negative constant": "a % -3",
    "remainder of a constant": "-7 % b",
    "both at once": "divmod(a, b)",
    "both by a constant": "divmod(a, -2)",
    "division by a constant zero": "a // 0",
    "remainder by a truth value": "a % p",
    "quotient of truth values": "p // q",
    "powers": "(a ** 0, a ** 1, a ** 2, a ** 3)",
    "power of a truth value": "p ** 2",
    "the function for powers": "pow(a, 2)",
    "truth values count": "True + p + q - a",
    "truth values multiply": "p * a + q * 3",
    "minus a truth value": "-p",
    "plus a truth value": "+p",
    "inverted": "(~a, ~3)",
    "minus": "-a",
    "absolute": "abs(a) + abs(-4)",
    "absolute truth value": "abs(p)",
    "integer of a truth value": "int(p) + int(a)",
    "integer of texts": "int('12') + a",
    "truth of an integer": "bool(a)",
    "truth of nothing": "(bool(), int(), str())",
    "rounded": "a + round(2.5)",
    "conjunction of truth values": "p & q",
    "disjunction of truth values": "p | q",
    "exclusive disjunction": "p ^ q",
    "with a known truth value": "(p & True, p | True, p ^ True, False ^ q)",
    "largest": "max(a, b, 3)",
    "smallest": "min(a, b, 3)",
    "largest of truth value and number": "max(p, a)",
    "smallest of equal ones": "min(p, 1, True)",
    "largest of known ones": "max(1, 2.5, a > 0)",
    "largest of a list": "max([a, b])",
    "largest with a default": "max([], default=a)",
    "largest of nothing": "max([])",
    "largest of one number": "max(3)",
    "largest by rank": "max(a, b, key=lambda v: -v)",
    "smallest by rank in a list": "min(['aa', 'b', 'ccc'], key=len)",
    "sum": "sum([a, b, 1])",
    "sum from a start": "sum((a, b), 10)",
    "sum of conditions": "sum([a > 1, b > 1, p])",
    "sum of nothing": "sum([])",
    "sum of texts": "sum(['a', 'b'])",
    "sum onto a text": "sum([], 'a')",
    "sum of lists": "sum([[a], [b]], [])",
    "sum with None": "sum([a, None])",
    "floats": "(a == 2.0, a < 2.5, a <= 2.5, a > 2.0, a >= -0.5, 0.5 < a, 2.0 == p, a != 0.5)",
    "fields of constants": "a + (3).numerator",
    "division of known numbers": "a + int(7 / 2)",
    "bits of known numbers": "a + (6 & 3) + (1 << 4) + (5 >> 1)",
    "library functions of known numbers": "a + math.gcd(12, 18) + math.lcm(4, 6) + math.isqrt(17)",
    "product of a collection": "math.prod([a, b, 2]) + math.prod([2, 3], start=a)",
    "reduced": "functools.reduce(lambda u, v: u * v, [a, b, 3], 2)",
    "reduced by an operator": "functools.reduce(operator.add, (a, b))",
    "reduced from nothing": "functools.reduce(operator.add, ())",
    "operators by name": "(operator.mul(a, b), operator.le(a, b), operator.not_(p))",
}


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions(expression: str) -> None:
    agree_on(expression, before="import functools, math, operator")


@pytest.mark.parametrize("operation", ["+", "-", "*", "//", "%", "**", "<", "<=", "&"])
@pytest.mark.parametrize("other", ["None", "'x'", "s", "[1]", "(1,)", "{1}", "{1: 2}", "n"])
def test_operands_of_other_types(operation: str, other: str) -> None:
    """What Python refuses is refused; what it can do, or what is unknown, is done or a gap."""
    agree_on(f"a {operation} {other}", gaps=True)
    agree_on(f"{other} {operation} a", gaps=True)


@pytest.mark.parametrize("kind", ["None", "'x'", "s", "[]", "f", "1.5"])
@pytest.mark.parametrize("operation", ["-", "+", "~", "not "])
def test_signs_of_other_types(operation: str, kind: str) -> None:
    agree_on(f"type({operation}{kind}) is bool", gaps=True)


def test_augmented_assignment() -> None:
    agree(
        """
        def f(a, b):
            a += b
            a *= 2
            a -= 1
            a //= b
            a %= 5
            a **= 2
            return a
        """
    )


def test_a_quotient_that_is_no_integer_is_a_gap() -> None:
    program = agree_on("a / 2", gaps=True)
    assert [gap.what for gap in program.gaps] == ["`Div` on unknown integers"]
