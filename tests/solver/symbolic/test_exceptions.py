"""Raising and handling exceptions."""

from __future__ import annotations

import pytest

from tests.solver.symbolic.programs import agree

PROGRAMS = {
    "a class and an object": """
        def f(a, p):
            if a > 1:
                raise ValueError
            if p:
                raise KeyError("x", a)
            error = TypeError("y") if a else RuntimeError
            raise error
        """,
    "exceptions of the program": """
        class Rejected(Exception):
            def __init__(self, rule, message="none"):
                super().__init__(rule, message)
                self.rule = rule

        class Named(Exception):
            code = 7

        class Plain(ValueError):
            def __init__(self, a):
                self.a = a

        class Changed(Exception):
            def __init__(self, a, *, text):
                super().__init__(f"{text}")

        def f(a):
            if a == 0:
                raise Rejected("zero", "it is zero")
            if a == 1:
                raise Rejected("one")
            if a == 2:
                raise Named("two", Named.code)
            if a == 3:
                raise Plain(a)
            if a == 7:
                raise Changed(a, text="seven")
            if a == 8:
                raise Rejected
            if a < 0:
                raise Rejected(rule="negative", message="it is")
        """,
    "a dataclass of an exception": """
        from dataclasses import dataclass

        @dataclass
        class Rejected(Exception):
            rule: str
            value: int = 0

        def f(a, p):
            if p:
                raise Rejected("x", a)
            raise Rejected(rule="y")
        """,
    "from another one": """
        def f(a):
            try:
                return 10 // a
            except ZeroDivisionError as error:
                raise ValueError("zero") from error
        """,
    "from None": """
        def f(a):
            raise ValueError("x") from None
        """,
    "raising nothing": """
        def f(a):
            raise
        """,
    "raising no exception": """
        def f(a):
            raise None
        """,
    "raising None conditionally": """
        def f(p):
            raise ValueError if p else None
        """,
    "handlers in order": """
        def f(a, b, p):
            try:
                if a == 1:
                    raise ValueError("one")
                if a == 2:
                    raise KeyError("two")
                if p:
                    raise LookupError
                v = b // a
            except ValueError:
                return "value"
            except (KeyError, ZeroDivisionError):
                return "key or zero"
            except LookupError:
                v = 5
            return v
        """,
    "a handler that does not fit": """
        def f(a):
            try:
                v = 1 // a
            except ValueError:
                v = 0
            return v
        """,
    "a handler for all": """
        def f(a):
            try:
                if a > 2:
                    raise KeyboardInterrupt
                return 1 // a
            except Exception:
                return "exception"
            except:
                return "other"
        """,
    "else and finally": """
        def f(a, b):
            log = []
            try:
                if a > 1:
                    raise ValueError(a)
                log.append("body")
            except ValueError:
                log.append("handler")
                if b > 1:
                    return log
            else:
                log.append("else")
                1 // b
            finally:
                log.append("finally")
            log.append("end")
            return log
        """,
    "finally that returns": """
        def f(a, b):
            try:
                if a > 1:
                    raise ValueError
                return "body"
            finally:
                if b > 1:
                    return "finally"
        """,
    "finally on every way out": """
        def f(a, b):
            log = []
            for v in (a, b, 3):
                try:
                    if v == 1:
                        continue
                    if v == 2:
                        break
                    if v == 8:
                        return log
                    if v < 0:
                        raise ValueError(v)
                    log.append(v)
                finally:
                    log.append("f")
            else:
                log.append("else")
            return log
        """,
    "finally that raises": """
        def f(a, b):
            try:
                1 // a
            finally:
                if b > 1:
                    raise KeyError("finally")
            return 1
        """,
    "raised again": """
        def f(a):
            try:
                if a > 2:
                    raise ValueError("large", a)
                return 1 // a
            except (ValueError, ZeroDivisionError) as error:
                if a > 5 or a == 0:
                    raise
                if a == 3:
                    raise error
                return "handled"
        """,
    "raised again by a helper": """
        def again():
            raise

        def f(a):
            try:
                raise ValueError("x")
            except ValueError:
                if a > 1:
                    again()
            return 1
        """,
    "raised in a helper": """
        def check(v):
            if v < 1:
                raise ValueError("small", v)
            return v

        def f(a, b):
            total = 0
            try:
                total += check(a)
                total += check(b)
            except ValueError as error:
                return total, error.args, str(error)
            return total
        """,
    "what the body did before": """
        def f(a, b):
            v, log = 1, []
            try:
                v = 2
                log.append(a)
                if a > 1:
                    v = 3
                    raise ValueError
                v = 4 // b
                log.append(b)
            except ValueError:
                log.append("value")
            except ZeroDivisionError:
                log.append("zero")
            return v, log
        """,
    "the name of an exception is gone afterwards": """
        def f(a):
            error = 1
            try:
                1 // a
            except ZeroDivisionError as error:
                pass
            return error
        """,
    "nested": """
        def f(a, b):
            try:
                try:
                    if a > 1:
                        raise ValueError("inner")
                    if b > 1:
                        raise KeyError("inner")
                except ValueError:
                    raise TypeError("outer")
                finally:
                    a = 0
                return "end"
            except TypeError:
                return "type", a
            except KeyError:
                return "key", a
        """,
    "exceptions in a handler": """
        def f(a, b):
            try:
                v = 1 // a
            except ZeroDivisionError:
                v = 1 // b
            return v
        """,
    "checks that are collected": """
        def size(v):
            if v < 1:
                raise ValueError("size")

        def even(v):
            if v % 2:
                raise ValueError("odd")

        def f(a, b):
            errors = []
            for check in (size, even):
                for name, v in (("a", a), ("b", b)):
                    try:
                        check(v)
                    except ValueError as error:
                        errors.append((name, str(error)))
            if errors:
                raise RuntimeError(len(errors))
            return "ok"
        """,
    "in a loop": """
        def f(a, b):
            found = []
            for v in (a, b):
                try:
                    if v > 5:
                        break
                    found.append(6 // v)
                except ZeroDivisionError:
                    continue
            return found
        """,
    "an exception as a value": """
        class Bad(Exception):
            def __init__(self, rule):
                super().__init__(rule)
                self.rule = rule

        def problem(v):
            return Bad("small") if v < 1 else None

        def f(a, b):
            found = problem(a) or problem(b)
            if found is not None:
                found.rule += "!"
                raise found
            return 0
        """,
    "a conversion that fails": """
        def f(p):
            try:
                return int("x") if p else int("3")
            except ValueError:
                return None
        """,
    "a missing key": """
        SIZES = {"auto": 1, "node": 2}

        def f(s):
            try:
                return SIZES[s]
            except KeyError as error:
                raise ValueError(f"unknown {s}") from error
        """,
    "an absent value": """
        def f(m, n):
            try:
                return m + n
            except TypeError:
                return None
        """,
    "an assertion": """
        def f(a):
            try:
                assert a > 1, "small"
            except AssertionError as error:
                return error.args
            return a
        """,
    "a class of handlers that is computed": """
        KINDS = (ValueError, KeyError)

        def f(a, p):
            kinds = KINDS if p else ZeroDivisionError
            try:
                if a > 1:
                    raise KeyError(a)
                return 1 // a
            except KINDS:
                return "handled"
        """,
    "a generator that ends too early": """
        def f(a, b):
            first = next((v for v in (a, b) if v > 2), None)
            if first is None:
                return [next(u for u in (a,) if u > w) for w in (-1, 0)]
            return list(next(u for u in (a, w) if u > 5) for w in (b, 6))
        """,
    "a generator that fails": """
        def f(a, b):
            try:
                return sum(6 // v for v in (a, b))
            except ZeroDivisionError:
                return "zero"
        """,
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(source: str) -> None:
    agree(source)


def test_what_is_raised_again_keeps_whether_a_statement_said_it() -> None:
    program = agree(
        """
        def f(a):
            try:
                if a > 2:
                    raise ValueError("large")
                return 1 // a
            except Exception:
                raise
        """
    )
    assert {exit_.kind: exit_.stated for exit_ in program.exits} == {
        ValueError: True,
        ZeroDivisionError: False,
    }
    assert {exit_.place.line for exit_ in program.exits} == {7}


@pytest.mark.parametrize(
    "statement",
    [
        "raise ExceptionGroup('x', [ValueError()])",
        "raise OSError(2, 'x')",
        "raise ImportError('x', name='y')",
        "raise ERROR",
    ],
)
def test_exceptions_of_their_own_kind_are_gaps(statement: str) -> None:
    program = agree(
        f"ERROR = ValueError('x')\ndef f(a):\n    if a > 1:\n        {statement}\n    return a\n",
        gaps=True,
    )
    assert [gap.place.line for gap in program.gaps] == [4]
