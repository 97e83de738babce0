"""What cannot be executed is a gap with file and line, and nothing else suffers from it."""

from __future__ import annotations

import textwrap

import pytest
import z3

from parsolve.solver.arithmetic import Arithmetic
from parsolve.solver.symbolic.execute import Machine
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import Labels
from tests.solver.symbolic.programs import Program, agree, gap_of

STATEMENTS = {
    "with": ("with open('x') as g:\n    a = 1", "the statement `with`"),
    "import of nothing": ("import no_such_module", "importing no_such_module"),
    "import of no name": ("from math import no_such_name", "importing no_such_name from math"),
    "relative import": ("from . import x", "a relative import"),
    "class": ("class A: pass", "the statement `classdef`"),
    "asynchronous function": ("async def g(): pass", "the statement `asyncfunctiondef`"),
    "decorated function": ("@print\ndef g(): pass", "the decorators of g"),
    "global": ("global COUNT\nCOUNT = a", "changing the global COUNT"),
    "exception groups": (
        "try:\n    pass\nexcept* ValueError:\n    pass",
        "the statement `trystar`",
    ),
    "attribute of a module": ("math.tau = a", "setting an attribute of a value of type module"),
    "attribute of a class": ("KIND.limit = a", "setting an attribute of a value of type type"),
    "list of the module": (
        "SEEN.append(a)",
        "changing a value of type list that other programs see",
    ),
    "list of the module in place": (
        "s = SEEN\ns += [a]",
        "changing a value of type list that other programs see",
    ),
    "entry of a list of the module": ("SEEN[0] = a", "changing a value of type list in place"),
    "known method of a list of the module": ("SEEN.sort()", "a call of list.sort"),
    "dict of the module": ("TABLE['x'] = a", "changing a value of type dict in place"),
    "update of a dict of the module": (
        "TABLE.update(x=a)",
        "changing a value of type dict that other programs see",
    ),
    "deletion": ("del TABLE['x']", "deleting from a value of type dict"),
    "deletion of an attribute": ("del KIND.limit", "deleting `KIND.limit`"),
    "entry at an unknown place": ("v = [1, 2]\nv[a] = 3", "changing a list in place"),
    "unknown key": ("v = {}\nv[a] = 1", "a mapping with unknown keys"),
    "while": ("while a > 0:\n    a -= 1", "a loop whose end hangs on unknown values"),
    "while without end": (
        "while True:\n    if a == 1:\n        break\n    a += 2",
        "a loop whose end hangs on unknown values",
    ),
    "long loop": ("for v in range(10 ** 9):\n    pass", "a collection of 1000000000 entries"),
    "list that grows in a loop": (
        "v = [a]\nfor w in v:\n    v.append(w)",
        "a list that changes while a loop goes over it",
    ),
    "list that shrinks in a loop": (
        "v = [a, 1]\nfor w in v:\n    if w > 1:\n        v.pop()",
        "a list that changes while a loop goes over it",
    ),
    "dict that grows in a loop": (
        "v = {1: a}\nfor w in v:\n    v[2] = w",
        "a dict that changes while a loop goes over it",
    ),
    "list that grows in a loop over pairs": (
        "v = [a]\nfor i, w in enumerate(v):\n    v.append(w)",
        "a list that changes while a loop goes over it",
    ),
    "list that grows in a comprehension": (
        "v = [a]\nw = [v.append(u) for u in v]",
        "a list that changes while a loop goes over it",
    ),
    "order of a set": (
        "for w in {3, 2, 1}:\n    return w",
        "the order of a set",
    ),
    "exceptions in the order of a set": (
        "return any(1 // v for v in {u - 2 for u in (1, 2, 3) if u > a})",
        "what hangs on the order of a set",
    ),
    "order of a dict": (
        "v = {}\nif a > 1:\n    v[1] = 1\nv[2] = 2\nv[1] = 3\nreturn list(v)",
        "a mapping whose order hangs on unknown values",
    ),
    "iterator read in part": (
        "v = [a, 1]\nw = iter(v)\nfor u in w:\n    if u > 1:\n        break\nreturn list(w)",
        "an iterator that was read in part",
    ),
    "iterator read in part on one path": (
        "w = iter([a, 1])\nif a > 1:\n    for u in w:\n        break\nreturn list(w)",
        "an iterator that was read in part",
    ),
    "iterator read on one path": (
        "w = iter([a, 1])\nif a > 1:\n    list(w)\nreturn list(w)",
        "something that was read on one path and not on another",
    ),
    "pattern with the rest of a mapping": (
        "match {'x': a}:\n    case {'x': 1, **rest}:\n        pass",
        "the pattern `{'x': 1, **rest}`",
    ),
}


@pytest.mark.parametrize(("body", "what"), STATEMENTS.values(), ids=STATEMENTS)
def test_statements(body: str, what: str) -> None:
    indented = "\n".join(f"        {line}" for line in body.splitlines())
    program = agree(
        f"import math\nSEEN, TABLE, COUNT = [1], {{'x': 1}}, 0\nclass KIND: limit = 1\n"
        f"def f(a, s):\n    if s == 'auto':\n{indented}\n    return 0\n",
        gaps=True,
    )
    assert what in {gap.what for gap in program.gaps}
    assert {gap.place.file for gap in program.gaps} == {program.file}
    assert all(6 <= gap.place.line < 6 + len(body.splitlines()) for gap in program.gaps)
    assert (
        program.executed.outcome({"a": 1, "s": "auto"}) is None
        or len(program.gaps) > 1
        or "while" in body
        or "for" in body
        or "if" in body
    )
    assert program.executed.outcome({"a": 1, "s": "node"}) is not None


EXPRESSIONS = {
    "text in title case": ("s.title()", "the attribute `title` of an unknown text"),
    "start of a text": ("s.startswith('a')", "the attribute `startswith` of an unknown text"),
    "length of a text": ("len(s)", "the entries of an unknown text"),
    "text in a text": ("'a' in s", "a search in an unknown text"),
    "search for a text": ("s in 'auto'", "a search in an unknown text"),
    "order of texts": ("s < 'b'", "the order of an unknown text and a value of type str"),
    "number of a text": ("int(s)", "`int` of an unknown text"),
    "character of a text": ("s[0]", "the entries of an unknown text"),
    "division": ("a / 2", "`Div` on unknown integers"),
    "high powers": ("2 ** a", "`Pow` on unknown integers"),
    "bits": ("a & (a - 1)", "`BitAnd` on unknown integers"),
    "shifts": ("1 << a", "`LShift` on unknown integers"),
    "greatest common divisor": ("math.gcd(a, 4)", "a call of gcd"),
    "ceiling": ("math.ceil(a)", "a call of ceil"),
    "square root": ("math.sqrt(a)", "a call of sqrt"),
    "range": ("range(a)", "a range with unknown bounds"),
    "product with a float": ("a * 0.5", "`Mult` on an unknown integer and a value of type float"),
    "comparison with infinity": (
        "a < math.inf",
        "the order of an unknown integer and a value of type float",
    ),
    "sorting": ("sorted([a, 1])", "an order of unknown values"),
    "repetition": ("[1] * a", "repeating a list"),
    "formatted text compared": ("f'{a}' == '1'", "the equality of a formatted text"),
    "formatted text that may be empty": ("bool('%s' % a)", "the truth of an unknown text"),
    "format that is not known": ("f'{1:{a}}'", "a format that is not known"),
    "character": ("f'{a:c}'", "an integer as a character"),
    "environment": ("os.environ.get('X')", "the environment of the process"),
    "environment as a function": ("os.getenv('X')", "the source of getenv cannot be read"),
    "environment searched": ("'X' in os.environ", "the environment of the process"),
    "environment by key": ("os.environ['X']", "the environment of the process"),
    "clock": ("time.time()", "a call of time"),
    "chance": ("random.random()", "a call of Random.random"),
    "input": ("input()", "a call of input"),
    "file": ("open('x')", "a call of open"),
    "code": ("eval('1')", "a call of eval"),
    "generator function": ("list(made())", "a generator function"),
    "yield": ("(yield a)", "a generator function"),
    "arguments of a built-in": ("len(a, a)", "such a call of `len`"),
    "an iterator over an iterator": (
        "list(enumerate(v for v in (a,)))",
        "an iterator over an iterator",
    ),
    "named tuple": ("Pair(a, 1)", "making an object of class Pair"),
    "counting": ("collections.Counter([a])", "making an object of class Counter"),
    "order of an object": (
        "object() < a",
        "the order of an object of class object and an unknown integer",
    ),
    "format by attribute": ("'{0.real}'.format(a)", "filling in a value of type str"),
    "identity of integers": (
        "a is COUNT",
        "the identity of an unknown integer and a value of type int",
    ),
    "an integer by its text": (
        "abs(Hashed())",
        "`Sub` on a value of type int and an object of class Hashed",
    ),
    "insertion at an unknown place": ("[1].insert(a, 2)", "an insertion at an unknown integer"),
    "taking from an unknown place": ("[1, 2].pop(a)", "taking the entry at an unknown integer"),
    "default for an unknown key": ("{}.setdefault(a, 1)", "a mapping with unknown keys"),
    "hash of an object": ("{Hashed()}", "the hash of an object of class Hashed"),
    "equality of objects": (
        "Hashed() == a",
        "the equality of an object of class Hashed and an unknown integer",
    ),
    "equality of dicts": ("{1: a} == {1: 1}", "the equality of a dict and a dict"),
    "equality of fractions": (
        "a == fractions.Fraction(1, 2)",
        "the equality of an unknown integer and a value of type Fraction",
    ),
    "equality of long lists": (
        "[v for v in range(40) if v > a] == [v for v in range(40) if v > 1 + a]",
        "the equality of long lists of unknown length",
    ),
    "search in an object": ("a in Hashed()", "a search in an object of class Hashed"),
    "search in an iterator": ("1 in iter([a])", "a search in a Iterator"),
    "a key that may be a list": ("{[] if a else 1}", "a key that may be a list"),
    "named arguments from nowhere": ("dict(**a)", "named arguments from an unknown integer"),
    "named arguments that may be missing": (
        "dict(**{k: 1 for k in ('x', 'y') if a > 1})",
        "a call with unknown named arguments",
    ),
    "arguments that may be missing": (
        "max(*[v for v in (1, 2) if v > a])",
        "unpacking a collection of unknown length",
    ),
    "pairs from nowhere": ("{**a}", "unpacking an unknown integer into a mapping"),
    "slice with unknown bounds": ("(1, 2)[a:]", "a slice with unknown bounds"),
    "next of a list": ("next([a])", "the next entry of a list"),
    "reduction of what may be empty": (
        "functools.reduce(max, [v for v in (1, 2) if v > a])",
        "a reduction of entries of which the first may be absent",
    ),
    "filling in a list": ("'%s' % [a]", "filling in a list"),
    "strict zip of other lengths": (
        "list(zip((a,), (1, 2), strict=True))",
        "a strict zip of collections of several lengths",
    ),
    "counting from an unknown number": (
        "list(enumerate((1,), a))",
        "counting from an unknown number",
    ),
    "map over two": ("list(map(max, (a,), (1,)))", "`map` over several collections"),
    "iterator without end": ("itertools.count()", "an iterator over more than 4096 entries"),
    "attribute of unknown name": ("getattr(math, s)", "an attribute of unknown name"),
    "attribute asked for by unknown name": ("hasattr(math, s)", "an attribute of unknown name"),
    "attribute set by unknown name": ("setattr(Hashed(), s, 1)", "an attribute of unknown name"),
    "class of an iterator": ("type(iter([a]))", "the class of a Iterator"),
    "kind of an iterator": ("isinstance(iter([a]), Hashed)", "the class of an iterator"),
    "unknown kinds": ("isinstance(a, [int][0] if a else [])", "the class of an unknown integer"),
    "replacement in no dataclass": (
        "dataclasses.replace(a, x=1)",
        "`replace` of an unknown integer",
    ),
    "replacement with a parameter": (
        "dataclasses.replace(Init(1, 2), x=1)",
        "`replace` of a class with parameters that are no fields",
    ),
    "replacement in the middle of a chain": ("len(s) < a < 3", "the entries of an unknown text"),
    "places in what may be short": (
        "(1, 2, 3)[a:] if a is None else [v for v in (1, 2) if v > a][s == 'auto']",
        "the places of entries in a list of unknown length",
    ),
    "unpacking a text": ("[*s]", "the entries of an unknown text"),
    "text of an exception": (
        "ValueError(s).__cause__",
        "the attribute `__cause__` of class ValueError",
    ),
    "extension by an unknown list": ("[1].extend(s)", "the entries of an unknown text"),
    "super of nothing": ("super(Hashed)", "such a call of super"),
    "super of a value": ("super(a, Hashed())", "super of an object of class Hashed"),
    "dict by its class": ("collections.OrderedDict(x=a)", "making an object of class OrderedDict"),
    "member by two values": ("Mode(a, 1)", "making an object of class Mode"),
    "a cached list": ("cached(a)", "a cached result that can be changed"),
    "a text that is no text": ("f'{Hashed()}'", "the text of an object of class Hashed"),
    "method that is found late": ("Hashed().odd", "the attribute `odd` of class Hashed"),
    "plain setting of no object": (
        "object.__setattr__(a, 'x', 1)",
        "setting an attribute of an unknown integer",
    ),
    "attributes of an integer": (
        "a.bit_length()",
        "the attribute `bit_length` of an unknown integer",
    ),
}


PREAMBLE = textwrap.dedent(
    """
    import collections, dataclasses, enum, fractions, functools, itertools, math, os, random, time
    COUNT = 5
    Pair = collections.namedtuple("Pair", "u v")
    Mode = enum.Enum("Mode", "A B")

    class Hashed:
        odd = functools.partialmethod(print)

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return True

        def __str__(self):
            return 3

    @dataclasses.dataclass
    class Init:
        x: int
        y: dataclasses.InitVar[int]

    def made():
        yield 1

    @functools.cache
    def cached(v):
        return [v]
    """
)


@pytest.mark.parametrize(("expression", "what"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions(expression: str, what: str) -> None:
    source = f"{PREAMBLE}\ndef f(a, s):\n    return (\n        {expression}\n    )\n"
    program = Program(source)
    assert {gap.what for gap in program.gaps} == {what}
    assert program.executed.end.dead


def test_the_line_is_that_of_the_operation() -> None:
    program = agree(
        """
        def g(v):
            return v.title()

        def f(s, a):
            if a > 1:
                v = [
                    a,
                    s.upper(),
                ]
            return g(
                s,
            )
        """,
        gaps=True,
    )
    lines = {gap.what: gap.place.line for gap in program.gaps}
    assert lines == {
        "the attribute `upper` of an unknown text": program.line("s.upper()"),
        "the attribute `title` of an unknown text": program.line("v.title()"),
    }
    assert str(program.gaps[0].place) == f"{program.file}:8"


def test_a_gap_in_pythons_own_library_is_named_where_that_is_called() -> None:
    program = agree(
        """
        import pathlib, textwrap

        def g(v):
            return [
                pathlib.Path("x").exists()
                for _ in (1,)
            ]

        def f(a, s):
            if a > 1:
                return g(a)
            return textwrap.dedent(s)
        """,
        gaps=True,
    )
    assert {gap.place.file for gap in program.gaps} == {program.file}
    lines = {program.line("pathlib.Path("), program.line("textwrap.dedent")}
    assert {gap.place.line for gap in program.gaps} == lines


def test_the_rest_keeps_its_meaning() -> None:
    program = agree(
        """
        def f(a, b, s):
            if a > 2:
                raise ValueError("large")
            if a == 1:
                v = s.title()
            elif b > 1:
                v = "b"
            else:
                v = "c"
            if b == 2:
                raise KeyError(v)
            return v
        """,
        gaps=True,
    )
    assert len(program.gaps) == 1
    assert z3.simplify(program.gaps[0].condition) is not None
    assert program.executed.outcome({"a": 1, "b": 2, "s": "x"}) is None
    assert program.executed.outcome({"a": 3, "b": 2, "s": "x"}) is not None
    assert program.executed.outcome({"a": 0, "b": 2, "s": "x"}) is not None


def test_a_gap_in_one_operand_leaves_the_other_path() -> None:
    """What stops one side of an expression must not stop the other."""
    for expression in (
        "a > 1 and s.title() == 'x'",
        "a > 1 or s.title() == 'x'",
        "1 if a > 1 else s.title()",
        "0 < a < len(s)",
        "any(v > 1 or s.title() for v in (a, 2))",
        "[1 for v in (a, 3) if v > 1 or s.title()]",
    ):
        program = agree(f"def f(a, s):\n    return {expression}\n", gaps=True)
        assert program.gaps
        known = [program.executed.outcome({"a": a, "s": "x"}) is not None for a in (-5, 5)]
        assert known in ([True, False], [False, True]), expression


def test_a_gap_in_a_loop_leaves_those_that_left_before() -> None:
    program = agree(
        """
        def f(a, b, s):
            for v in (a, b):
                if v > 5:
                    break
                if v > 1:
                    return v
                if v == 1:
                    s.title()
            return v
        """,
        gaps=True,
    )
    assert program.executed.outcome({"a": 7, "b": 0, "s": "x"}) is not None
    assert program.executed.outcome({"a": 2, "b": 0, "s": "x"}) is not None
    assert program.executed.outcome({"a": 1, "b": 0, "s": "x"}) is None


def test_no_gap_where_no_path_leads() -> None:
    agree(
        """
        def f(p, q, a, s):
            v = (a,) if p else s
            w = v if q else s
            if isinstance(w, tuple):
                return w[0]
            return w
        """
    )


def test_a_deep_expression_is_a_gap() -> None:
    deep = "a" + " + 1" * 700
    gap = gap_of(f"def f(a, p):\n    if p:\n        return 0\n    return {deep}\n")
    assert gap.what == "calls or expressions nested too deep"
    assert gap.place.line == 4


def test_mutual_recursion_is_a_gap() -> None:
    gap = gap_of(
        """
        def g(v, w):
            return h(v + 1, [u for u in (w,)])

        def h(v, w):
            return g(*(v, w)) if v else 0

        def f(p):
            if p:
                return 1
            return g(1, 2)
        """
    )
    assert gap.what in {"calls nested without end", "calls or expressions nested too deep"}


def test_a_program_without_end_is_a_gap() -> None:
    gap = gap_of(
        """
        def f(p):
            if p:
                return 1
            total = 0
            for v in range(4000):
                for w in range(4000):
                    pass
            return total
        """
    )
    assert gap.what == "a program of more than 200000 steps"


def test_no_error_of_this_tool_leaves_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oops")

    program = Program("def f(a):\n    if a > 1:\n        return 1\n    return a - 1\n")
    monkeypatch.setattr("parsolve.solver.symbolic.operators.terms.minus", fail)
    assert [gap.what for gap in program.gaps] == ["an internal error: ZeroDivisionError: oops"]
    assert program.executed.outcome({"a": 3}) is not None


@pytest.mark.parametrize("function", [print, int, len, object(), "f", 3, None])
def test_what_is_no_function(function: object) -> None:
    machine, state = Machine(Labels(), Arithmetic()), State()
    machine.enter(state, function, {"a": z3.Int("a")})
    assert len(machine.gaps) + len(machine.exits) + (not state.dead) == 1


def test_wrong_arguments_for_the_whole_program() -> None:
    program = Program("def f(a):\n    return a\n")
    machine, state = Machine(Labels(), Arithmetic()), State()
    machine.enter(state, program.function, {"b": 1})
    (exit_,) = machine.exits
    assert exit_.kind is TypeError
    assert str(exit_.place) == f"{program.file}:1"
    assert state.dead
