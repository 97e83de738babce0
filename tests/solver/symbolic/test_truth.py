"""Truth, comparison, identity and membership."""

from __future__ import annotations

import pytest

from tests.solver.symbolic.programs import agree, agree_on

EXPRESSIONS = {
    "and gives a value": "a and b",
    "or gives a value": "a or b",
    "three parts": "a and p or b",
    "a default for None": "m or 8",
    "a default for an absent one": "None or m",
    "and with None": "m and m > 2",
    "or of truth values": "p or q or a > 1",
    "not": "not a",
    "not of an optional": "not m",
    "not of a text": "not s",
    "not of collections": "(not [], not [a], not {}, not (), not '')",
    "chain": "1 <= a < b",
    "long chain": "0 < a <= b < 8",
    "chain with equality": "a == b == 2",
    "chain that stops early": "1 < 0 < None",
    "equality of numbers and truth values": "(a == p, p == 1, True == a, p == q)",
    "equality of other types": "(a == s, a == None, s == None, p == 'x', a == [], a == (1,))",
    "inequality": "(a != b, s != t, m != 3, m != None)",
    "equality of texts": "(s == 'auto', s == t, 'a' == 'b')",
    "equality of optionals": "m == n",
    "optional and number": "m == a",
    "None is less than nothing": "m < 3",
    "None is in no order": "m <= n",
    "is None": "(m is None, m is not None, a is None, s is None)",
    "is True": "(p is True, p is False, p is not True, a is True)",
    "is of types": "(type(a) is int, type(p) is bool, type(s) is str, type(m) is int)",
    "is of different things": "(None is False, [] is None, s is f, {} is [])",
    "in a tuple": "a in (1, 2, b)",
    "in a list": "a in [1, 2, b]",
    "in a set": "a in {1, 2, 3}",
    "in a frozenset": "a in frozenset({1, 2, 3})",
    "in a dict": "a in {1: 'x', 2: 'y'}",
    "in a range": "(a in range(2, 7), a in range(5), a in range(0, 9, 2), p in range(1))",
    "in an empty range": "a in range(3, 3)",
    "in a text": "'u' in 'auto'",
    "text in a text that is known": "(s in ('auto', 'node'), s not in ['a'], s in {'a', 'b'})",
    "not in": "a not in (1, 2)",
    "optional in a tuple with None": "(m in (None, 0), None in (m, 3), m in [1, 2])",
    "truth value in numbers": "(p in (0, 2), True in [a], p in {1})",
    "number in texts": "a in ('1', '2')",
    "in nothing": "(a in (), a in [], a in {}, a in set())",
    "in None": "a in None",
    "in a number": "1 in a",
    "a number in a text": "a in 'abc'",
    "a list in a set": "[1] in {1, 2}",
    "a set in a set of frozensets": "{a} in {frozenset({1}), frozenset()}",
    "in a mixed tuple": "(s in ('auto', 1, None), a in ('auto', 1, None))",
    "conditional": "a if a > b else b",
    "nested conditional": "1 if a > 1 else 2 if b > 1 else None",
    "conditional of types": "(s if p else a) == 'auto'",
    "conditional by an optional": "m if m is not None else -1",
    "arithmetic after a test for None": "m is not None and m * 2 > 5",
    "two optionals": "m is not None and n is not None and m + n > 3",
    "or with a test for None": "m is None or m % 2 == 0",
    "division guarded": "b != 0 and a % b == 0",
    "division guarded by or": "b == 0 or a // b > 1",
    "division unguarded": "a % b == 0 and b > 0",
    "truth of a condition twice": "(a > 1) == (b > 1)",
    "conditions as numbers": "(a > 1) + (b > 1) == 1",
    "conditions compared": "(a > 1) < (b > 1)",
    "conditions differ": "(a > 1) != p",
    "any of conditions": "any([a > 1, b > 1])",
    "all of values": "(all([a, s, m]), any([m, 0, '']), all([]), any([]))",
    "any stops": "any([a, 1 % b])",
    "all of a generator stops": "all(12 % v == 0 for v in (a, b))",
    "any of a generator stops": "any(12 % v == 1 for v in (a, b))",
    "any of a generator with a condition": "any(v > 3 for v in (a, b, 5) if v < 5)",
    "isinstance": "(isinstance(a, int), isinstance(p, int), isinstance(p, bool))",
    "isinstance of another type": "(isinstance(a, bool), isinstance(a, str))",
    "isinstance of optionals": "(isinstance(m, int), isinstance(m, (str, type(None))))",
    "isinstance of texts": "(isinstance(s, str), isinstance(s, (int, float)))",
    "isinstance of a union": "(isinstance(s, int | str), isinstance(m, int | None))",
    "isinstance of lists": "(isinstance([a], list), isinstance([a], tuple))",
    "isinstance of tuples": "(isinstance((a,), tuple), isinstance((a,), (list, set)))",
    "isinstance of sets and dicts": "(isinstance({a}, set), isinstance({1: a}, dict))",
    "isinstance of a generator": "isinstance((v for v in (a,)), list)",
    "subclass": "(issubclass(bool, int), issubclass(type(a), str))",
    "callable": "(callable(a), callable(f), callable(lambda: 1), callable(int))",
    "walrus": "(c := a + b) > 3 and c < 9",
    "walrus in one branch": "(c := a) > 3 or (c := b) > 3 or c",
    "equality of lists": "([a, b] == [1, 2], [a] == [a], [a] == [b, b], [] == [])",
    "equality of tuples": "((a, s) == (1, 'auto'), (a,) == (b,), (a, b) != (b, a))",
    "equality of list and tuple": "[a] == (a,)",
    "equality of sets": "({a, b} == {1, 2}, {a} == {b}, {a, b} == {a})",
    "order of sets": "({a} <= {1, 2}, {a} < {1, a}, {a, b} >= {1}, {1, 2} > {a})",
    "order of lists that are known": "([1, 2] < [1, 3], (3, 1) >= (2, 9))",
    "floats": "1.5 < 2",
    "known texts in order": "'a' < 'b'",
}


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions(expression: str) -> None:
    agree_on(expression)


def test_identity_of_integers_is_a_gap() -> None:
    program = agree_on("a is b", gaps=True)
    assert program.gaps[0].what == "the identity of an unknown integer and an unknown integer"


def test_identity_of_what_the_program_made() -> None:
    agree(
        """
        def f(p):
            one, two = [1], [1]
            three = one if p else two
            return one is one, one is two, three is one, three is two, f is f, int is int
        """
    )


def test_the_end_of_a_path_is_known_to_the_next_test() -> None:
    program = agree(
        """
        def f(a):
            if a < 1:
                raise ValueError("small")
            if a <= 0:
                raise TypeError("never")
            return "large" if a > 0 else None
        """
    )
    assert [exit_.kind for exit_ in program.exits] == [ValueError]
    assert program.executed.returned == "large"
