"""Functions: parameters, closures, helpers elsewhere, and what they are wrapped in."""

from __future__ import annotations

import pytest

from tests.solver.symbolic.programs import Program, agree, gap_of

PROGRAMS = {
    "helpers": """
        def double(v):
            return v * 2

        def check(v, limit=3, *, name):
            if v > limit:
                raise ValueError(name, v)
            return double(v)

        def f(a, b):
            return check(a, name="a") + check(b, 5, name="b") + check(name="c", v=1, limit=2)
        """,
    "keyword-only and positional-only parameters": """
        def g(u, /, v=2, *, w, x=4):
            return u, v, w, x

        def f(a, b):
            return g(a, w=b), g(1, 2, w=3, x=a)
        """,
    "too many arguments": "def g(u): return u\ndef f(a): return g(a, 1)",
    "a missing argument": "def g(u, v): return u\ndef f(a): return g(a)",
    "an argument twice": "def g(u): return u\ndef f(a): return g(a, u=1)",
    "an unknown argument": "def g(u): return u\ndef f(a): return g(a, v=1)",
    "a positional-only argument by name": "def g(u, /): return u\ndef f(a): return g(u=a)",
    "packed arguments": """
        def g(u, *rest, k=0, **named):
            return u, rest, k, named

        def f(a, b):
            v, w = [1, b], {"k": a, "z": 2}
            return g(a, *v), g(a, **w), g(*(a, b), k=1, y=b)
        """,
    "nested functions": """
        def f(a, b):
            def g(u):
                return u + b
            def h(u, v=a):
                return g(u) * v
            return h(1) + h(2, 3)
        """,
    "a closure sees later values": """
        def f(a, p):
            def g():
                return y
            y = a
            if p:
                y = 5
            return g()
        """,
    "a closure before its variable": """
        def f(p):
            def g():
                return y
            if p:
                y = 1
            return g()
        """,
    "a closure that outlives its function": """
        def make(k):
            total = k
            def add(v):
                return total + v
            total += 1
            return add

        def f(a, b):
            g, h = make(a), make(1)
            return g(b), h(b)
        """,
    "a nonlocal variable": """
        def f(a, b):
            count = 0
            def see(v):
                nonlocal count
                if v > 1:
                    count += 1
                return count
            see(a)
            see(b)
            return count
        """,
    "a shared list": """
        def f(a, b):
            errors = []
            def check(ok, text):
                if not ok:
                    errors.append(text)
            check(a > 0, "a")
            check(b > 0, f"b = {b}")
            if errors:
                raise ValueError(len(errors))
            return errors
        """,
    "one of two functions": """
        def f(p, a):
            if p:
                def g(v):
                    return v + 1
            else:
                def g(v):
                    return v * 2
            return g(a)
        """,
    "lambdas": """
        def f(a, b):
            g = lambda u, v=b, *w: (u, v, w)
            return g(a), g(a, 1, 2), (lambda: a)()
        """,
    "a global lambda": """
        larger = lambda u, v: u if u > v else v

        def f(a, b):
            return larger(a, b)
        """,
    "a default that is evaluated once": """
        def f(a, p):
            k = 1
            def g(v=k):
                return v + a
            k = 2
            return g()
        """,
    "a mutable default of a nested function": """
        def f(a, b):
            def g(v, seen=[]):
                seen.append(v)
                return len(seen), seen
            g(a)
            return g(b)
        """,
    "recursion": """
        def fact(n):
            return 1 if n <= 1 else n * fact(n - 1)

        def f(a):
            return fact(5) + a
        """,
    "partial": """
        import functools

        def g(u, v, w=0):
            return u * 100 + v * 10 + w

        def f(a, b):
            h = functools.partial(g, 1, w=a)
            return h(b), functools.partial(g, v=2)(a)
        """,
    "cached": """
        import functools

        @functools.cache
        def g(v):
            return v + 1

        @functools.lru_cache(maxsize=None)
        def h(v):
            return v * 2

        def f(a):
            return g(a) + h(3)
        """,
    "a list for a cached function": """
        import functools

        @functools.cache
        def g(v):
            return 1

        def f(a):
            return g([a])
        """,
    "decorated": """
        import functools

        def noted(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs) + 1
            return wrapper

        @noted
        def g(u, v=2):
            return u * v

        def f(a, b):
            return g(a), g(a, v=b)
        """,
    "made by a function at import": """
        def at_least(limit):
            def check(v):
                if v < limit:
                    raise ValueError(limit)
                return v
            return check

        positive, large = at_least(1), at_least(5)

        def f(a, b):
            return positive(a), large(b)
        """,
    "functions in a table": """
        def one(v):
            return v + 1

        CHECKS = {"auto": one, "node": lambda v: -v}
        ALL = [one, abs]

        def f(s, a):
            if s in CHECKS:
                return CHECKS[s](a)
            return [check(a) for check in ALL]
        """,
    "constants of the module": """
        LIMIT = 5
        SIZES = (1, 2, 3)

        def f(a):
            return a in SIZES, a > LIMIT
        """,
    "what only people see": """
        import logging, warnings
        LOG = logging.getLogger("x")

        def f(a, s):
            print("a =", a, end="")
            logging.getLogger(__name__).info("%s", s)
            LOG.warning("a is %d", a)
            warnings.warn(f"{a}", stacklevel=2)
            return a
        """,
    "for type checkers": """
        from typing import TYPE_CHECKING, Final, Literal, NewType, assert_never, cast
        if TYPE_CHECKING:
            from nowhere import Size
        Mode = Literal["auto", "node"]
        Width = NewType("Width", int)
        LIMIT: Final = 3

        def f(s: Mode, a: "Size"):
            k: int
            v: Mode = cast("Mode", s)
            w: int = Width(a)
            if v == "auto":
                return w + LIMIT
            elif v == "node":
                return k
            else:
                assert_never(v)
        """,
    "imports in a function": """
        def f(a):
            import math
            import os.path as p
            from functools import reduce as r
            return math.prod([a, 2]), r(lambda u, v: u + v, [a, 1]), p is not None
        """,
    "introspection of constants": """
        from typing import Literal, get_args
        Mode = Literal["auto", "node"]

        def f(s):
            if s not in get_args(Mode):
                raise ValueError(s)
            return s
        """,
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(source: str) -> None:
    agree(source)


def test_a_helper_in_another_module() -> None:
    program = agree(
        """
        def f(a, b):
            return other.checked(a) + other.LIMIT
        """,
        other="""
        LIMIT = 4

        def checked(v):
            if v > LIMIT:
                raise ValueError(v)
            return small(v)

        def small(v):
            return v % LIMIT
        """,
    )
    (exit_,) = program.exits
    assert exit_.place.file.startswith("<other of ")
    assert exit_.place.line == 5


def test_a_default_list_is_not_the_programs_to_change() -> None:
    gap = gap_of(
        """
        def g(v, seen=[]):
            seen.append(v)
            return len(seen)

        def f(a):
            return g(a)
        """
    )
    assert gap.what == "changing a value of type list that other programs see"
    assert gap.place.line == 2


def test_recursion_without_end_is_a_gap() -> None:
    program = agree(
        """
        def g(v):
            return 0 if v <= 0 else 1 + g(v - 1)

        def f(a):
            return g(a)
        """,
        gaps=True,
    )
    assert [gap.what for gap in program.gaps] == ["calls nested without end"]


def test_a_function_of_which_there_is_no_source_is_a_gap() -> None:
    program = Program("def f(a):\n    return 1\n")
    exec("def g(v):\n    return v", program.module.__dict__)  # noqa: S102  (no source on purpose)
    program.module.__dict__["f"].__code__ = compile(
        "def f(a):\n    return g(a)", "<none>", "exec"
    ).co_consts[0]
    assert [gap.what for gap in program.gaps] == ["the source of f cannot be read"]


def test_lines_of_exceptions() -> None:
    program = agree(
        """
        def g(v):
            return (
                1
                + 10 // v
            )

        def f(a, b):
            if b > 1:
                raise ValueError(
                    "x",
                    a,
                )
            return g(a)
        """
    )
    lines = {exit_.kind: exit_.place.line for exit_ in program.exits}
    assert lines == {
        ValueError: program.line("raise ValueError"),
        ZeroDivisionError: program.line("10 // v"),
    }
    assert {exit_.place.file for exit_ in program.exits} == {program.file}
    assert {exit_.kind: exit_.stated for exit_ in program.exits} == {
        ValueError: True,
        ZeroDivisionError: False,
    }
