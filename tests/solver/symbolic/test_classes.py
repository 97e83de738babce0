"""Dataclasses, plain classes, inheritance and enumerations."""

from __future__ import annotations

import pytest

from tests.solver.symbolic.programs import agree, gap_of

PROGRAMS = {
    "a dataclass that checks itself": """
        from dataclasses import dataclass, field

        @dataclass
        class Config:
            a: int
            b: int = 2
            names: list = field(default_factory=list)

            def __post_init__(self):
                if self.a < 1:
                    raise ValueError("a", self.a)
                self.total = self.a * self.b
                self.names.append("x")

        def f(a, b):
            one, two = Config(a), Config(1, b=b)
            return one.total + two.total, one.names, one.names is two.names
        """,
    "a frozen dataclass": """
        from dataclasses import dataclass

        @dataclass(frozen=True, slots=True, kw_only=True)
        class Config:
            a: int
            total: int = 0

            def __post_init__(self):
                object.__setattr__(self, "total", self.a + 1)

        def f(a):
            return Config(a=a).total
        """,
    "a frozen dataclass is not changed": """
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Config:
            a: int

            def __post_init__(self):
                if self.a > 2:
                    self.a = 2

        def f(a):
            return Config(a)
        """,
    "what a dataclass is not given": """
        from dataclasses import dataclass

        @dataclass
        class Config:
            a: int
            b: int

        def f(a, p):
            return Config(a) if p else Config(a, 1, 2)
        """,
    "fields that are no parameters": """
        from dataclasses import InitVar, dataclass, field
        from typing import ClassVar

        @dataclass
        class Config:
            LIMIT: ClassVar[int] = 5
            a: int
            scale: InitVar[int] = 2
            b: int = field(init=False)
            c: int = field(default=7, init=False)

            def __post_init__(self, scale):
                self.b = self.a * scale + self.LIMIT

        def f(a, b):
            return Config(a, b), Config(a).b
        """,
    "inheritance": """
        from dataclasses import dataclass

        @dataclass
        class Base:
            a: int

            def __post_init__(self):
                if self.a < 0:
                    raise ValueError("base")
                self.kind = "base"

            def describe(self):
                return 1

        @dataclass
        class Derived(Base):
            b: int = 3

            def __post_init__(self):
                super().__post_init__()
                if self.b < self.a:
                    raise TypeError("derived")
                self.kind = "derived"

            def describe(self):
                return super().describe() + self.b

        def f(a, b):
            made = Derived(a, b)
            return made.describe(), made.kind, isinstance(made, Base)
        """,
    "many bases": """
        class A:
            def __init__(self, a):
                self.a = a
            def name(self):
                return "A"

        class B(A):
            def name(self):
                return "B" + super().name()

        class C(A):
            def name(self):
                return "C" + super().name()

        class D(B, C):
            def __init__(self, a, b):
                super().__init__(a)
                self.b = b
            def name(self):
                return "D" + super(D, self).name()

        def f(a, b):
            d = D(a, b)
            return d.name(), d.a + d.b
        """,
    "super without a method": """
        class A:
            def g(self):
                return super().g()

        def f(a):
            return A().g()
        """,
    "super of plain objects": """
        class A:
            def __init__(self, a):
                super().__init__()
                self.a = a

        class B:
            def __init__(self, a):
                super().__init__(a)

        def f(a, p):
            return A(a).a if p else B(a)
        """,
    "super for setting": """
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class A:
            a: int

            def __post_init__(self):
                super().__setattr__("a", self.a + 1)

        def f(a):
            return A(a).a
        """,
    "the initialiser of a dataclass": """
        from dataclasses import dataclass

        @dataclass
        class A:
            a: int
            b: int = 1

        class B(A):
            def __init__(self, a):
                super().__init__(a, b=a + 1)

        def f(a):
            return B(a).b
        """,
    "properties": """
        import functools

        class A:
            def __init__(self, a):
                self._a = a
                self.seen = 0

            @property
            def a(self):
                self.seen += 1
                return self._a

            @a.setter
            def a(self, value):
                if value < 0:
                    raise ValueError(value)
                self._a = value

            @functools.cached_property
            def twice(self):
                self.seen += 10
                return self._a * 2

        def f(a, b):
            one = A(a)
            one.a = b
            one.a += 1
            return one.a, one.twice, one.twice, one.seen
        """,
    "a property that cannot be set": """
        class A:
            @property
            def a(self):
                return 1

        def f(a):
            A().a = a
        """,
    "methods of classes": """
        class A:
            LIMIT = 3
            SEEN = ("x",)

            def __init__(self, a):
                self.a = a

            @classmethod
            def of(cls, a):
                return cls(a + cls.LIMIT)

            @staticmethod
            def double(v):
                return v * 2

            def ok(self):
                return self.a > self.LIMIT and type(self).LIMIT == 3 and self.__class__ is A

        class B(A):
            LIMIT = 5

        def f(a):
            one, two = A.of(a), B.of(a)
            return one.a, two.a, one.double(a), A.double(1), one.ok(), two.ok(), "x" in one.SEEN
        """,
    "an object that can be called": """
        class A:
            def __init__(self, a):
                self.a = a
            def __call__(self, v):
                return self.a + v

        def f(a, b):
            return A(a)(b)
        """,
    "truth and length of objects": """
        class A:
            pass

        class B:
            def __init__(self, a):
                self.a = a
            def __bool__(self):
                return self.a > 1

        class C:
            def __init__(self, a):
                self.a = a
            def __len__(self):
                return self.a - 1

        def f(a):
            return bool(A()), bool(B(a)), not C(a), len(C(a)), A() and 1
        """,
    "objects of both branches": """
        class A:
            def __init__(self, a):
                self.a = a
            def more(self):
                self.a += 1
                return self.a

        class B(A):
            def more(self):
                self.a += 10
                return self.a

        def f(p, a, q):
            one = A(a)
            two = B(1) if p else one
            if q:
                two.a = 5
                two.extra = 1
            return two.more(), one.a, two is one, getattr(two, "extra", 0), hasattr(one, "extra")
        """,
    "an attribute of one branch": """
        class A:
            pass

        def f(p, a):
            one = A()
            if p:
                one.v = a
            return one.v
        """,
    "an attribute over a default of the class": """
        class A:
            v = 7

        def f(p, a):
            one = A()
            if p:
                one.v = a
            return one.v, A.v
        """,
    "attributes by name": """
        from dataclasses import dataclass, fields, replace

        @dataclass(frozen=True)
        class A:
            a: int
            b: int = 4

        def f(a):
            one = A(a)
            two = replace(one, b=a + 1)
            total = 0
            for each in fields(two):
                total += getattr(two, each.name)
            asked = hasattr(one, "c"), getattr(one, "z", 9)
            return total, one == two, one == A(a), one != A(1, 5), asked
        """,
    "attributes that are missing": """
        class A:
            pass

        def f(a, m, s, p):
            v = A() if p else (m if a > 1 else s)
            return v.missing
        """,
    "setting by name": """
        class A:
            pass

        def f(a):
            one = A()
            setattr(one, "v", a)
            one.v += 1
            return one.v
        """,
    "setting on None": """
        def f(m):
            m.v = 1
        """,
    "slots": """
        class A:
            __slots__ = ("a",)

            def __init__(self, a):
                if a > 1:
                    self.a = a
                if a > 5:
                    self.b = 1

        def f(a):
            return A(a).a
        """,
    "an enumeration": """
        import enum

        class Mode(enum.Enum):
            AUTO = "auto"
            NODE = "node"

            @property
            def size(self):
                return len(self.value)

        def f(s, a, p):
            mode = Mode.AUTO if p else Mode.NODE
            if mode is Mode.AUTO and mode != Mode.NODE:
                a += mode.size
            values = [m.value for m in Mode]
            return a, mode.name, mode in (Mode.NODE,), values, mode == s, Mode("auto") is mode
        """,
    "a member by an unknown value": """
        import enum

        class Mode(str, enum.Enum):
            AUTO = "auto"
            NODE = "node"

        def f(s):
            mode = Mode(s)
            if mode is Mode.NODE:
                return 1
            return mode == "auto", mode.value
        """,
    "enumerations of texts and numbers": """
        import enum

        class Mode(enum.StrEnum):
            AUTO = "auto"
            NODE = "node"

        class Level(enum.IntEnum):
            LOW = 1
            HIGH = 8

        def f(s, a):
            texts = s == Mode.AUTO, s in (Mode.AUTO, Mode.NODE), s in {Mode.NODE}, f"{Mode.AUTO}-x"
            order = a >= Level.HIGH, a == Level.LOW, Level.LOW < a
            return texts, order, a + Level.HIGH, a in list(Level)
        """,
    "a table of members": """
        import enum

        class Mode(enum.Enum):
            AUTO = 1
            NODE = 2

        SIZES = {Mode.AUTO: 3, Mode.NODE: 5}

        def f(p, q, a):
            mode = Mode.AUTO if p else (Mode.NODE if q else None)
            if mode is None:
                return 0
            return SIZES[mode] + a, SIZES.get(mode, 1)
        """,
    "an object of the module": """
        from dataclasses import dataclass

        @dataclass
        class Limits:
            low: int = 1
            high: int = 5

            def check(self, v):
                if not self.low <= v <= self.high:
                    raise ValueError(v)
                return self.width - v

            @property
            def width(self):
                return self.high - self.low

        LIMITS = Limits(high=7)

        def f(a):
            return LIMITS.check(a) + LIMITS.width
        """,
    "texts of objects": """
        from dataclasses import dataclass

        @dataclass
        class A:
            a: int

        class B:
            def __init__(self, a):
                self.a = a
            def __str__(self):
                if self.a > 3:
                    raise ValueError("text")
                return f"B {self.a}"

        class C:
            def __repr__(self):
                return "C"

        def f(a):
            return f"{A(a)}", str(C()), f"{C()!r}", f"{B(a)}", bool(f"{A(a)}")
        """,
    "an abstract class": """
        from abc import ABC, abstractmethod

        class A(ABC):
            @abstractmethod
            def g(self):
                ...

        class B(A):
            def g(self):
                return 1

        def f(p):
            return B().g() if p else A()
        """,
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(source: str) -> None:
    agree(source)


def test_a_validator_that_is_a_class() -> None:
    program = agree(
        """
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class f:
            a: int
            b: int = 1

            def __post_init__(self):
                if self.a % self.b:
                    raise ValueError("b does not divide a")
                object.__setattr__(self, "q", self.a // self.b)
        """
    )
    assert [exit_.kind for exit_ in program.exits] == [ZeroDivisionError, ValueError]
    held = program.executed.end.objects[program.executed.returned.place]
    assert set(held) == {"a", "b", "q"}


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ("def __setattr__(self, name, value): pass", "`__setattr__` of class A"),
        ("def __getattr__(self, name): return 1", "`__getattr__` of class A"),
        ("def __new__(cls): return object.__new__(cls)", "making an object of class A"),
    ],
)
def test_classes_with_rules_of_their_own_are_gaps(members: str, what: str) -> None:
    gap = gap_of(
        f"""
        class A:
            {members}

        def f(a):
            one = A()
            one.v = 1
            return one.w
        """
    )
    assert gap.what == what


MORE = {
    "private names": """
        class _A:
            __LIMIT = 3

            def __init__(self, a):
                self.__a = a
                self.__a += 1

            def get(self):
                return [self.__a + self.__LIMIT for _ in (1,)][0]

        class B(_A):
            __LIMIT = 7

            def more(self):
                self.__a = 1
                return self.get() + self.__LIMIT

        def f(a):
            one = B(a)
            return one.more(), one._A__a, hasattr(one, "_B__a"), hasattr(one, "__a")
        """,
    "objects in sets": """
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class A:
            a: int

        class B:
            pass

        def f(a):
            one = B()
            return len({A(a), A(1)}), A(2) in {A(a)}, len({one, one, B()})
        """,
    "objects that have no hash": """
        from dataclasses import dataclass

        @dataclass
        class A:
            a: int

        def f(a):
            return {A(a)}
        """,
}


@pytest.mark.parametrize("source", MORE.values(), ids=MORE)
def test_more_programs(source: str) -> None:
    agree(source)
