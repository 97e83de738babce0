"""Branches, loops, matching and what leaves them early."""

from __future__ import annotations

import pytest

from tests.solver.symbolic.programs import agree

PROGRAMS = {
    "early returns": """
        def f(a, b):
            if a < 0:
                return "a"
            if b < 0:
                return "b"
            if a > b:
                if a > 5:
                    return "large"
                a = b
            return a
        """,
    "raises in branches": """
        def f(a, b, p):
            if a > 1:
                if b > 1:
                    raise ValueError("both", a)
                if p:
                    raise TypeError
                b = 5
            elif p:
                raise KeyError("p")
            else:
                b += 1
            return a + b
        """,
    "nothing returned": """
        def f(a):
            if a > 1:
                return
            a = 2
        """,
    "a name of one branch": """
        def f(p, a):
            if p:
                v = a
            return v
        """,
    "a name of one branch, never of the other": """
        def f(a):
            if a > 1:
                v = 1
            if a > 1:
                return v
            return 0
        """,
    "a name never bound": """
        def f(a):
            if a > 1:
                return v
            v = 1
            return v
        """,
    "a name that nobody knows": """
        def f(a):
            return a > 1 and unknown_name
        """,
    "a name of a module hidden by a local one": """
        v = 1
        def f(p):
            if p:
                return v
            v = 2
            return v
        """,
    "branches on labels": """
        def f(s, t):
            if s == "auto":
                s = t
            elif s in ("node", "a"):
                return 1
            if s == t:
                return 2
            return s
        """,
    "branches that assign different types": """
        def f(p, q, a, s):
            v = a if p else s
            w = None if q else v
            if w is None:
                return 0
            if isinstance(w, int):
                return w + 1
            return w
        """,
    "unions of unions": """
        def f(p, q, a, m, s):
            v = m if p else s
            w = v if q else (a, 1)
            x = w if p else m
            if isinstance(x, tuple):
                return x[0]
            return x
        """,
    "a union in arithmetic": """
        def f(p, a, s):
            v = a if p else s
            return v + 1
        """,
    "a union compared": """
        def f(p, a, s):
            v = a if p else s
            if v == "auto" or v == 3:
                return "hit"
            return v < 2
        """,
    "loop over constants": """
        def f(a):
            total = 0
            for v in (1, 2, 3):
                if v == a:
                    continue
                total += v
            else:
                total += 100
            return total
        """,
    "loop with break": """
        def f(a, b):
            for name, v in (("a", a), ("b", b), ("c", 3)):
                if v > 2:
                    break
            else:
                return None
            return name, v
        """,
    "loop with break and else": """
        def f(a, b):
            found = "none"
            for v in [a, b]:
                if v % 2:
                    found = v
                    break
                if v > 5:
                    raise ValueError(v)
            else:
                found = "else"
            return found
        """,
    "loop with return": """
        def f(a, b):
            for i, v in enumerate((a, b)):
                if v < 0:
                    return i
            return -1
        """,
    "loop with raise": """
        def f(a, b, c):
            for name, v in {"a": a, "b": b, "c": c}.items():
                if v < 1:
                    raise ValueError(name, v)
            return a * b * c
        """,
    "nested loops": """
        def f(a, b):
            total = 0
            for u in range(3):
                for v in range(3):
                    if u + v == a:
                        break
                    if u * v == b:
                        continue
                    total += u * 3 + v
                else:
                    total += 50
                if total > 60:
                    break
            return total
        """,
    "loop over a filtered list": """
        def f(a, b):
            total = 0
            for v in [w for w in (a, b, 3) if w > 0]:
                total += v
                if total > 8:
                    break
            return total, v if total else None
        """,
    "loop over nothing": """
        def f(a):
            for v in ():
                return 1
            return a
        """,
    "loop over None": """
        def f(m):
            for v in m:
                return 1
        """,
    "loop over a text": """
        def f(a):
            return [c for c in "abc"][:2], a
        """,
    "loop variable after the loop": """
        def f(a):
            for v in (1, a):
                pass
            return v
        """,
    "loop variable after no loop": """
        def f(p):
            for v in [w for w in (1,) if p]:
                pass
            return v
        """,
    "while": """
        def f(a):
            i, total = 0, 0
            while i < 4:
                i += 1
                if i == a:
                    continue
                total += i
            else:
                total += 100
            return total
        """,
    "while with break": """
        def f(a):
            i = 0
            while True:
                if i == a or i > 4:
                    break
                i += 1
            return i
        """,
    "while with return": """
        def f(a, b):
            i = 3
            while i:
                if i == a:
                    return "a"
                if i == b:
                    raise ValueError(i)
                i -= 1
            return "none"
        """,
    "bisection of constants": """
        def f(a):
            lo, hi = 0, 8
            while hi - lo > 1:
                mid = (lo + hi) // 2
                lo, hi = mid, hi
            return lo + a
        """,
    "match on values": """
        def f(s, a):
            match s:
                case "auto" | "node":
                    return 1
                case "a" if a > 1:
                    return 2
                case _:
                    return 3
        """,
    "match without a case": """
        def f(a):
            match a:
                case 1:
                    return "one"
                case -3:
                    return "minus"
        """,
    "match on optionals": """
        def f(m):
            match m:
                case None:
                    return "none"
                case 0:
                    return "zero"
                case int(v) if v > 2:
                    return v
                case v:
                    return -v
        """,
    "match on tuples": """
        def f(a, p, s):
            match (a, p, s):
                case (1, True, "auto"):
                    return 1
                case (x, False, _) if x > 2:
                    return x
                case (x, *rest):
                    return x, rest
        """,
    "match on lists": """
        def f(a, b):
            match [a, b]:
                case []:
                    return 0
                case [1, v] | [v, 1]:
                    return v
                case [first, *_]:
                    return first
        """,
    "match on classes": """
        from dataclasses import dataclass

        @dataclass
        class P:
            u: int
            v: object

        def f(a, m):
            match P(a, m):
                case P(1):
                    return "one"
                case P(u=x, v=None):
                    return x
                case P(x, int() as y):
                    return x + y
        """,
    "match on types": """
        def f(p, q, a, s):
            v = a if p else s
            w = v if q else [a]
            match w:
                case bool():
                    return "bool"
                case int() | float():
                    return "number"
                case str(t):
                    return t
                case list([x]):
                    return x
        """,
    "match on mappings": """
        def f(a, p):
            v = {"x": a}
            if p:
                v["y"] = 2
            match v:
                case {"x": 1}:
                    return "one"
                case {"y": y, "x": x}:
                    return x + y
                case {"z": _}:
                    return "never"
                case {}:
                    return "rest"
        """,
    "match on dotted names": """
        import enum

        class Mode(enum.Enum):
            A = 1
            B = 2

        def f(p):
            mode = Mode.A if p else Mode.B
            match mode:
                case Mode.A:
                    return "a"
                case Mode.B:
                    return "b"
        """,
    "a name bound by a case whose guard fails": """
        def f(a):
            v = 0
            match a:
                case v if v > 3:
                    return "large"
                case 2:
                    pass
            return v
        """,
    "assert": """
        def f(a, b):
            assert a > 0
            assert b > a, f"b is {b}"
            assert b != 7, "seven"
            return a
        """,
    "conditions that go wrong": """
        def f(a, b, m):
            if a % b == 1:
                return 1
            if m > 2:
                return 2
            return 3
        """,
    "an exception in one operand": """
        def f(a, m):
            if a > 1 and m > 1:
                return 1
            return 2
        """,
    "an exception in a default": """
        def f(m, a):
            return m or 12 // a
        """,
    "an exception in one branch of an expression": """
        def f(a, m):
            return (12 // a if a > -2 else m + 1) + 1
        """,
    "an exception in a union": """
        def f(p, m, a):
            v = m if p else a
            w = v + 1
            return w
        """,
    "walrus in a condition": """
        def f(a, b):
            if (v := a - b) > 0:
                return v
            if a > 5 and (w := b) < 0:
                return w
            return w if a > 5 else v
        """,
    "the same test twice": """
        def f(a, p):
            v = None
            if p and a > 1:
                v = a
            if p and a > 1:
                return v + 1
            return v
        """,
    "a flag kept in a name": """
        def f(m, a):
            given = m is not None
            if given:
                return m + a
            return a
        """,
    "both given or neither": """
        def f(m, n):
            if (m is None) != (n is None):
                raise ValueError("half")
            if m is None or n is None:
                return 0
            return m + n
        """,
    "clamped": """
        def f(a, b):
            low, high = min(a, b), max(a, b)
            v = max(low, min(3, high))
            assert low <= v <= high
            return v
        """,
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(source: str) -> None:
    agree(source)
