"""Unknown lists of integers: what is said of all their entries, or of some."""

from __future__ import annotations

import pytest

from tests.solver.symbolic.programs import agree, agree_on

EXPRESSIONS = {
    "all divisible": "all(v % a == 0 for v in x)",
    "all divisible by a constant": "all(v % 2 == 0 for v in x)",
    "all divisible by a negative constant": "all(v % -3 == 0 for v in x)",
    "not all divisible": "not all(v % a == 0 for v in x)",
    "any not divisible": "any(v % a != 0 for v in x)",
    "any not divisible, as a number": "any(v % a for v in x)",
    "any remainder above 0": "any(v % 2 > 0 for v in x)",
    "none not divisible": "not any(v % a for v in x)",
    "all not not divisible": "all(not v % a for v in x)",
    "in a list": "all([v % a == 0 for v in x])",
    "a zero on the left": "all(0 == v % 2 for v in x)",
    "all at least": "all(v >= a for v in x)",
    "all more than": "all(v > 1 for v in x)",
    "all more than, turned round": "all(1 < v for v in x)",
    "any less than": "any(v < a for v in x)",
    "any at most": "any(v <= 1 for v in x)",
    "any at most, turned round": "any(a >= v for v in x)",
    "all not less than": "all(not v < 1 for v in x)",
    "all of two things": "all(v >= 1 and v % 2 == 0 for v in x)",
    "any of two things": "any(v < 1 or v % 2 for v in x)",
    "a condition beside": "all(p or v % 2 == 0 for v in x)",
    "another condition beside": "any(p and v < 1 for v in x)",
    "a condition after": "any(v < 1 and p for v in x)",
    "all or any by a condition": "all(v >= 1 if p else v >= 3 for v in x)",
    "all are zero": "all(v == 0 for v in x)",
    "any is not zero": "any(v != 0 for v in x)",
    "any": "any(x)",
    "all integers": "all(isinstance(v, int) for v in x)",
    "all integers that are positive": "all(isinstance(v, int) and v > 0 for v in x)",
    "any of another type": "any(isinstance(v, str) or v < 1 for v in x)",
    "any is None": "any(v is None for v in x)",
    "all are something": "all(v is not None and v >= 1 for v in x)",
    "nothing about entries": "(all(True for v in x), any(p for v in x), all(p for v in x))",
    "filtered": "all(v % 2 == 0 for v in x if p)",
    "filtered by a statement": "any(True for v in x if v % 2)",
    "filtered list": "bool([v for v in x if v % a])",
    "filtered list twice": "any(v < 1 for v in [u for u in x if p])",
    "with places": "any(v < 1 for i, v in enumerate(x))",
    "length": "len(x)",
    "length of a list made from it": "len([v + 0 if p else 0 for v in []]) + len([1 for v in x])",
    "truth": "(bool(x), not x, 1 if x else 0)",
    "length and truth": "len(x) == 0 or not x",
    "equal to nothing": "(x == [], x != [], x is None)",
    "smallest": "min(x)",
    "smallest with a default": "min(x, default=a)",
    "smallest of a generator": "min(v for v in x)",
    "a copy": "(len(list(x)), isinstance(tuple(x), tuple), isinstance(x, list))",
    "guarded": "bool(x and min(x) >= 1)",
    "optional": "y is None or all(v % 2 == 0 for v in y)",
    "optional length": "0 if y is None else len(y)",
    "optional truth": "bool(y)",
    "optional or nothing": "len(y or [])",
    "optional smallest": "min(y)",
    "optional or nothing, counted": "any(v < 1 for _, v in enumerate(y or []))",
    "optional or nothing, copied": "len(list(y or ()))",
    "optional, copied": "len(tuple(y))",
    "optional entries": "all(v > 0 for v in y)",
    "optional guarded": "y is not None and len(y) != a",
    "through a helper": "every(x, a)",
    "by a function": "all(even(v) for v in x)",
    "divided by an optional": "any(v % m for v in x)",
}


HELPERS = """
    def every(values, divisor):
        if not values:
            return True
        return all(value % divisor == 0 for value in values)

    def even(v):
        return v % 2 == 0
    """


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions(expression: str) -> None:
    agree_on(expression, before=HELPERS)


PROGRAMS = {
    "a loop that checks": """
        def f(x, a):
            for v in x:
                if v % a:
                    raise ValueError(f"{v} is no multiple of {a}")
            return a
        """,
    "a loop that checks otherwise": """
        def f(x, a):
            for v in x:
                if v % a != 0:
                    raise ValueError("no multiple", a)
            else:
                return "all"
        """,
    "a loop that returns": """
        def check(values, d):
            for v in values:
                if v < d:
                    return False
            return True

        def f(x, a):
            return check(x, a)
        """,
    "a loop that breaks": """
        def f(x, a):
            for v in x:
                if v < a:
                    found = "small"
                    break
            else:
                found = "none"
            return found
        """,
    "a loop that asserts": """
        def f(x):
            for v in x:
                assert v >= 1, "small"
            return len(x)
        """,
    "a loop with places": """
        def f(x):
            for i, v in enumerate(x):
                if v < 1:
                    raise ValueError(f"entry {i} is {v}")
            return "ok"
        """,
    "a loop with a condition beside": """
        def f(x, p):
            for v in x:
                if p and v % 2:
                    raise ValueError("odd")
            return "end"
        """,
    "a loop that goes on": """
        def f(x):
            for v in x:
                "Only a text."
                if v < 1:
                    return "small"
                pass
                continue
                if v % 2:
                    return "never"
            return "end"
        """,
    "a loop of an optional list": """
        def f(y, a):
            if y is not None:
                for v in y:
                    if v % a:
                        raise ValueError(a)
            return 1
        """,
    "a loop over None": """
        def f(y):
            for v in y:
                if v < 1:
                    raise ValueError
            return 1
        """,
    "a loop over what was filtered": """
        def f(x):
            bad = [v for v in x if v % 2]
            if bad:
                raise ValueError(f"{bad}", len(x))
            return 1
        """,
    "checks as people write them": """
        def f(y, a, m):
            if y is not None:
                if len(y) != a:
                    raise ValueError("length", len(y))
                if min(y) < 1:
                    raise ValueError("entry", min(y))
                if m is not None and any(v % m for v in y):
                    raise ValueError("multiple")
            return "ok"
        """,
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(source: str) -> None:
    agree(source)


def test_two_checks_that_both_strike_are_a_gap_only_there() -> None:
    program = agree(
        """
        def f(x):
            for v in x:
                if v < 1:
                    raise ValueError("small")
                if v % 2:
                    raise TypeError("odd")
            return "ok"
        """,
        gaps=True,
    )
    assert [gap.what for gap in program.gaps] == [
        "which check of a loop over an unknown list strikes first"
    ]
    assert [exit_.kind for exit_ in program.exits] == [ValueError, TypeError]
    said = {
        values: program.executed.outcome({"x": values}) is None
        for values in ((2, 4), (1, 3), (0, 2), (0, 1), (-1,))
    }
    assert said == {(2, 4): False, (1, 3): False, (0, 2): False, (0, 1): True, (-1,): True}


@pytest.mark.parametrize(
    "expression",
    [
        "sum(x)",
        "max(x)",
        "x[0]",
        "sorted(x)",
        "set(x)",
        "len(set(x))",
        "a in x",
        "x == [1, 2]",
        "x + [1]",
        "list(zip(x, x))",
        "[v for v in x][0]",
        "len([v for v in x if v % 2])",
        "sum(1 for v in x if v % 2)",
        "sum(v % 2 for v in x)",
        "all(v % 2 for v in x)",
        "any(v % 2 == 0 for v in x)",
        "any(v > 3 for v in x)",
        "all(v == 1 for v in x)",
        "all(v * 2 > 1 for v in x)",
        "all(v > 0.5 for v in x)",
        "all(12 % v == 0 for v in x)",
        "any(v < 1 and v % 2 for v in x)",
        "any(v < 1 or 1 // a for v in x)",
        "all(v % 2 == 0 for v in x if v > 3)",
        "any(v < w for v in x for w in x)",
        "any(v < w for v in x for w in (1, 2))",
        "all([any(v % 2 for w in x) for v in x])",
        "all(all(v % 2 == 0 for w in b) for b in [[v for v in x]] for v in b)",
        "any((last := v) % 2 for v in x) and last",
        "{v for v in x}",
        "{v: 1 for v in x}",
        "max(v for v in x if p)",
        "min(x, key=abs)",
        "tuple([v for v in x])",
        "any(v % 2.5 for v in x)",
        "(*x, 1)",
        "print(*x)",
        "x.index(1)",
        "x.append(1)",
        "', '.join(str(v) for v in x)",
        "next(v for v in x if v < 1)",
        "x < [1]",
        "[*map(str, x)]",
        "any(v in (1, 2) for v in x)",
        "any(v < 1 for v in [u for u in x if u % 2])",
    ],
)
def test_what_hangs_on_single_entries_is_a_gap(expression: str) -> None:
    program = agree_on(expression, gaps=True)
    assert program.gaps
    assert {gap.place.line for gap in program.gaps} == {2}


@pytest.mark.parametrize(
    "body",
    [
        "total += v",
        "if v % 2:\n            total += 1",
        "if v % 2:\n            continue\n        total = 1",
        "if v % 2:\n            continue\n        if v < 1:\n            return 1",
        "if v < 1:\n            if v % 2:\n                continue\n            return 1",
        "if v % 2:\n            return 1\n        else:\n            total = 2",
        "seen.append(v)",
        "if seen.append(1):\n            return 2",
        "if v > 3:\n            return 1",
        "while v:\n            pass",
    ],
)
def test_loops_that_do_more_than_check_are_gaps(body: str) -> None:
    start = "def f(x):\n    total, seen = 0, []\n    for v in x:\n        "
    program = agree(f"{start}{body}\n    return total, seen\n", gaps=True)
    assert program.gaps
    assert all(gap.place.line >= 3 for gap in program.gaps)


def test_a_loop_within_a_loop_over_the_same_list_is_a_gap() -> None:
    program = agree(
        """
        def f(x, p, q):
            odd = [v for v in x if q]
            if p:
                return len(x)
            return all([any(v % 2 for w in odd) for v in odd])
        """,
        gaps=True,
    )
    assert {gap.what for gap in program.gaps} == {"a loop within a loop over the same unknown list"}


def test_the_variable_after_a_loop_is_not_followed() -> None:
    program = agree(
        """
        def f(x):
            for v in x:
                if v < 1:
                    break
            return any(v % 2 for w in x)
        """,
        gaps=True,
    )
    assert program.gaps
    assert {gap.place.line for gap in program.gaps} == {5}
