"""Corners: patterns, attributes, names and calls that few programs have."""

from __future__ import annotations

import ast

import pytest

from parsolve.solver.symbolic.expressions import EXPRESSIONS
from tests.solver.symbolic.programs import agree, agree_on, gap_of

PROGRAMS = {
    "patterns of every kind on every value": """
        from dataclasses import dataclass

        @dataclass
        class P:
            u: int

            @property
            def none(self):
                raise AttributeError

        class Bare:
            pass

        def shape(v):
            match v:
                case []:
                    return "empty"
                case [_, _, *_, 3]:
                    return "ends in 3"
                case [x, *rest] if rest:
                    return "list", x, rest
                case {"x": 1, "y": y}:
                    return "mapping", y
                case {"x": x}:
                    return "x", x
                case P(u=0):
                    return "P of 0"
                case Bare(missing=1):
                    return "never"
                case bool(b):
                    return "bool", b
                case int(0 | 1 as n):
                    return "small", n
                case float() | None:
                    return "odd"
                case str("auto"):
                    return "auto"
                case set() | frozenset():
                    return "set"
            return "other"

        def f(a, p, s):
            found = [(), [a], (a, 1, 3), [a, 2], {"x": a, "y": 2}, {"x": 5}, {"z": a}, P(a)]
            found += [p, a, 2.5, None, s, {a}, frozenset(), len]
            return [shape(each) for each in found]
        """,
    "a class pattern without places": """
        class A:
            pass

        def f(a, p):
            match A() if p else a:
                case A(1):
                    return 1
            return 2
        """,
    "a class pattern that is none": """
        def g():
            return 3

        def f(a):
            match a:
                case g():
                    return 1
        """,
    "a class pattern with too many places": """
        def f(a):
            match a:
                case int(1, 2):
                    return 1
        """,
    "a union in a pattern": """
        def f(p, a, s):
            match (a if p else s, 1):
                case (1, x):
                    return x
                case ("auto" | "node" as y, _):
                    return y
            return None
        """,
    "a guard that goes wrong": """
        def f(a, b):
            match a:
                case 1 if 6 // b > 2:
                    return "one"
                case 1 | 2:
                    return "both"
            return "none"
        """,
    "names of every kind": """
        def f(a, b):
            global UNUSED
            (x, [y, *z]), k = (a, (b, 1, 2)), {}
            k["w"], k["v"] = x, y
            del x, (y, z)
            del k["v"]
            return k, x
        """,
    "unpacking in a loop": """
        def f(a, b):
            return [u + v * w for u, (v, *w) in ((a, (b, 1)), (1, (2,))) for w in (3,)]
        """,
    "unpacking too many": "def f(a):\n    x, y = (a, 1, 2)\n    return x",
    "a keyword twice": "def g(u): return u\ndef f(a): return g(**{'u': 1}, u=a)",
    "names that are no texts": "def g(u): return u\ndef f(a): return g(**{1: a})",
    "an object called that cannot be": "class A: pass\ndef f(a): return A()(a)",
    "a list called": "TABLE = [1]\ndef f(a): return TABLE(a)",
    "an integer called": "def f(a): return a()",
    "a function of an object": """
        class A:
            def __call__(self, v):
                return v + 1

        ADD = A()

        def f(a):
            return ADD(a)
        """,
    "a variable of an outer function that is gone": """
        def make():
            def g(v):
                return v + later
            if make is None:
                later = 1
            return g

        G = make()

        def f(a):
            return G(a)
        """,
    "keyword-only defaults": """
        def f(a):
            def g(*, u=a, v):
                return u + v
            return g(v=1)
        """,
    "attributes of every kind": """
        import functools

        class A:
            nothing = property()
            limit = 7
            kind = int

            @functools.cache
            def cached(self, v):
                return v + 1

            @functools.cached_property
            def slow(self):
                return self.limit

        class B(A):
            @property
            def limit(self):
                return super().limit + 1

            @classmethod
            def made(cls):
                return cls().limit

            @classmethod
            def of(cls, v):
                return super().kind(v) + 1

        def f(a, p, m):
            v = B() if p else A()
            return v.cached(a), v.kind, v.slow, v.limit, B.made(), B.of(a), (a).__class__
        """,
    "a property without a getter": """
        class A:
            nothing = property()

        def f(a):
            return A().nothing
        """,
    "an attribute that texts do not have": "def f(s): return s.missing",
    "an attribute that lists do not have": "def f(a, x): return [a].missing, x.missing",
    "an attribute set on a number": "def f(a): a.v = 1",
    "a property that cannot be set by its plain name": """
        class A:
            v = property(lambda self: 1)

        def f(a):
            object.__setattr__(A(), "v", a)
        """,
    "fields given twice": """
        from dataclasses import dataclass

        @dataclass
        class A:
            a: int

        def f(a):
            return A(a, a=1)
        """,
    "super of an unrelated class": """
        class A:
            pass

        class B:
            def g(self):
                return super(A, self).g()

        def f(a):
            return B().g()
        """,
    "exceptions for nothing": """
        def f(a):
            try:
                return 1 // a
            except None:
                return 2
        """,
    "a handler that is computed and fails": """
        def f(a):
            try:
                return 1 // a
            except (ValueError, KeyError)[3]:
                return 2
            except Exception:
                return 3
        """,
    "an exception that is caught on one path": """
        def f(a, b):
            total = 0
            for v in (a, b):
                try:
                    total += 12 // v
                except ZeroDivisionError:
                    total -= 1
                    if total < -1:
                        raise
                else:
                    if total > 20:
                        return "large"
                finally:
                    total += 100
            return total
        """,
    "messages in parts": """
        def f(a, s, p):
            text = "a" + f"{a}" if p else f"{s}" + s
            parts = ["x"] if p else [f"{a}"]
            return bool("x" + f"{a}"), ("%s" % (s,)) + text, ", ".join(parts)
        """,
    "tables of both branches": """
        def f(p, q, a):
            v = {"x": 1}
            if p:
                v["x"] = a
                v["y"] = 2
            if q:
                del v["x"]
            w = frozenset({1}) if p else frozenset([2, a])
            t = (1, "a") if q else (a, "b")
            return len(v), v.get("x"), v.get("y"), 2 in w, len(w), t
        """,
    "an iterator of both branches": """
        def f(p, a):
            v = iter((a, 2))
            if p:
                next(v)
            return p
        """,
    "the end of a loop that is known": """
        def f(p, q):
            return next((v for v in [u for u in (1, 2, 3) if p] if q), 0)
        """,
    "a statement about entries in a chain": """
        def f(x, a):
            return any(v < 1 for v in x) == all(1 <= v for v in x)
        """,
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(source: str) -> None:
    agree(source)


@pytest.mark.parametrize(
    ("subject", "pattern", "what"),
    [
        ("QUEUE", "[1, *_]", "a sequence pattern on a value of type deque"),
        ("COUNTS", "{1: 1, **rest}", "the pattern `{1: 1, **rest}`"),
        ("(m, 1)", "([], 1)", "the pattern `[]` on a value of unknown type"),
        ("[x]", "[{}]", "the pattern `{}` on an unknown list"),
    ],
)
def test_patterns_that_are_not_followed(subject: str, pattern: str, what: str) -> None:
    gap = gap_of(
        f"""
        import collections
        QUEUE, COUNTS = collections.deque(), {{1: 2}}

        def f(m, x):
            match {subject}:
                case {pattern}:
                    return 1
        """
    )
    assert gap.what == what


def test_an_attribute_that_a_pattern_asks_for_may_be_missing() -> None:
    agree(
        """
        class A:
            def __init__(self, a):
                self.a = a

            @property
            def half(self):
                if self.a % 2:
                    raise AttributeError
                return self.a // 2

        def f(a):
            match A(a):
                case A(half=3):
                    return "three"
                case A(half=h):
                    return h
            return None
        """
    )


@pytest.mark.parametrize(
    ("members", "body", "what"),
    [
        ("__getattribute__ = lambda self, name: 1", "A().v", "`__getattribute__` of class A"),
        (
            "v = type('D', (), {'__get__': print, '__set__': print})()",
            "setattr(A(), 'v', 1)",
            "the attribute `v` of class A",
        ),
        ("pass", "super(A)", "such a call of super"),
        (
            "@functools.singledispatchmethod\n    def v(self, a): pass",
            "A().v",
            "the attribute `v` of class A",
        ),
    ],
)
def test_attributes_that_are_not_followed(members: str, body: str, what: str) -> None:
    source = f"import functools\nclass A:\n    {members}\ndef f(a):\n    return {body}\n"
    assert gap_of(source).what == what


@pytest.mark.parametrize(
    ("decorator", "members", "what"),
    [
        ("@dataclass", "u: int\n    def __setattr__(self, n, v): pass", "`__setattr__` of class A"),
        (
            "@dataclass(frozen=True, slots=True)",
            "u: int\n    def more(self): self.v = 1",
            "setting v on a frozen class with slots",
        ),
        ("", "def __init__(self, u): super().__init__(u, name='x')", None),
    ],
)
def test_classes_that_are_not_followed(decorator: str, members: str, what: str | None) -> None:
    base = "" if what else "(ImportError)"
    source = (
        f"from dataclasses import dataclass\n{decorator}\nclass A{base}:\n    {members}\n"
        "def f(a):\n    made = A(a)\n    return made.more() if hasattr(made, 'more') else made\n"
    )
    assert gap_of(source).what == (what or "making an exception of class ImportError so")


def test_a_handler_for_an_unknown_kind_is_a_gap() -> None:
    gap = gap_of(
        """
        def f(a, b):
            try:
                return 1 // a
            except (ValueError, ZeroDivisionError)[b]:
                return 2
        """
    )
    assert gap.what == "an exception handler for a value of unknown type"


def test_an_expression_of_a_later_python_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(EXPRESSIONS, ast.Set)
    assert gap_of("def f(a):\n    return {a, 1}\n").what == "the expression `{a, 1}`"


def test_truth_that_raises() -> None:
    agree_on(
        "bool(ODD) or a",
        before="""
        class Odd:
            def __bool__(self):
                raise KeyError("odd")

            def __lt__(self, other):
                raise LookupError

            def __getattr__(self, name):
                raise AttributeError(name)

        ODD = Odd()
        """,
    )


def test_operators_of_objects_of_the_module() -> None:
    agree_on(
        "(ODD + 1, -ODD, ODD == 3, a)",
        before="""
        class Odd:
            def __add__(self, other):
                return 4 + other

            def __neg__(self):
                raise ValueError("odd")

            def __eq__(self, other):
                return NotImplemented

            __hash__ = None

        ODD = Odd()
        """,
    )
