"""Random small programs, as text: mostly of matching types, with statements of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Choose = Callable[[Sequence[Any]], Any]
"""Takes one of several."""

PARAMETERS = {"integer": ("a", "b"), "truth": ("p", "q"), "optional": ("m", "n"), "label": ("s",)}
TEXTS = ("'auto'", "'node'", "'a'", "''")
EXCEPTIONS = ("ValueError", "KeyError", "TypeError", "ArithmeticError", "LookupError")
HELPERS = {"integer": ["k", "w"], "truth": [], "optional": ["v"], "label": []}
CLASSES = """from dataclasses import dataclass
SIZES = {{'auto': 1, 'node': 3}}
GROUPS = {{frozenset(): 0, frozenset({{'x'}}): 1, frozenset({{'x', 'y'}}): 2}}
@dataclass
class Base:
    i: int
    j: int = 2
    def __post_init__(self):
        if self.i {0} self.j:
            raise ValueError('base', self.i)
        self.k = self.i + self.j
    def more(self, by):
        self.i {1} by
        return self.i
class Derived(Base):
    def __post_init__(self):
        super().__post_init__()
        if self.k {2} self.i:
            raise KeyError('derived')
    @property
    def both(self):
        return self.i {3} self.j"""


class Expressions:
    """Writes expressions. Locals are ``u`` to ``w``; what they hold is not always bound."""

    def __init__(self, choose: Choose, *, structured: bool) -> None:
        self.choose = choose
        self.structured = structured
        self.functions: list[str] = []
        self.names = {kind: list(names) for kind, names in PARAMETERS.items()}
        self.inner: list[str] = []
        self.in_f = False

    def integer(self, depth: int) -> str:
        """Mostly an integer."""
        if depth <= 0:
            return str(self.choose((*self.names["integer"], "1", "2", "-3", "0", *self.inner)))
        kinds = ["leaf", "leaf", "binary", "binary", "sign", "choice", "best", "default", "count"]
        if self.structured:
            kinds += ["call", "whole", "entry", "object", "generator"]
        d = depth - 1
        one = self.integer
        match self.choose(kinds):
            case "binary":
                return f"({one(d)} {self.choose(('+', '-', '*', '//', '%'))} {one(d)})"
            case "sign":
                return f"{self.choose(('-', 'abs', 'int', '+', '~'))}({one(d)})"
            case "choice":
                return f"({one(d)} if {self.truth(d)} else {one(d)})"
            case "best":
                return f"{self.choose(('max', 'min'))}({one(d)}, {one(d)})"
            case "default":
                return f"({self.optional(d)} or {one(d)})"
            case "count":
                return f"sum([{self.truth(d)}, {self.truth(d)}])"
            case "call" if self.functions:
                return self._call(d)
            case "whole":
                name = self.choose(("sum", "len", "max", "min", "len(set"))
                return f"{name}({self.collection(d)}){')' if '(' in name else ''}"
            case "entry":
                return self._entry(d)
            case "object":
                return self._object(d)
            case "generator":
                loop = f"i for i in {self.collection(d)} if {self.inside(d)}"
                forms = (f"next(({loop}), {one(d)})", f"sum({loop})", f"max(({loop}), default=7)")
                return str(self.choose(forms))
            case _:
                return one(0)

    def _call(self, depth: int) -> str:
        first, other = self.integer(depth), self.optional(depth)
        forms = (first, f"{first}, {other}", f"{first}, w={first}", f"v={other}, k={first}")
        return f"{self.choose(self.functions)}({self.choose(forms)})"

    def _entry(self, depth: int) -> str:
        place = self.choose(("0", "-1", "1", self.integer(0)))
        forms = (
            f"{self.collection(depth)}[{place}]",
            f"SIZES[{self.label(depth)}]",
            f"SIZES.get({self.label(depth)}, {self.integer(depth)})",
            f"GROUPS[{self.active(depth)}]",
            f"{{1: {self.integer(depth)}, 2: 5}}[{self.integer(depth)}]",
        )
        return str(self.choose(forms))

    def _object(self, depth: int) -> str:
        name = self.choose(("Base", "Derived"))
        made = f"{name}({self.integer(depth)}, {self.integer(depth)})"
        more = f"{made}.more({self.integer(depth)})"
        return str(self.choose((f"{made}.k", more, f"getattr({made}, 'both', 4)")))

    def inside(self, depth: int) -> str:
        """A condition inside a comprehension over ``i``."""
        self.inner.append("i")
        found = self.truth(depth)
        self.inner.pop()
        return found

    def collection(self, depth: int) -> str:
        """A list or tuple of integers."""
        d = depth - 1
        one, two = self.integer(d), self.integer(d)
        kinds = ["list", "tuple"]
        if self.structured:
            kinds += ["filtered", "mapped", "joined", "seen", "sliced"]
        match self.choose(kinds):
            case "tuple":
                return f"({one}, {two})"
            case "filtered":
                return f"[i for i in ({one}, {two}, 2) if {self.inside(d)}]"
            case "mapped":
                self.inner.append("i")
                element = self.integer(d)
                self.inner.pop()
                return f"[{element} for i in ({one}, {two})]"
            case "joined":
                return f"([{one}] + [{two}] * 2)"
            case "seen" if self.in_f:
                return "seen"
            case "sliced":
                return f"[{one}, {two}, 3][{self.choose(('1:', ':-1', '::2'))}]"
            case _:
                return f"[{one}, {two}]"

    def active(self, depth: int) -> str:
        """A set of names."""
        pairs = f"('x', {self.truth(depth - 1)}), ('y', {self.truth(depth - 1)})"
        return f"frozenset(i for i, j in ({pairs}) if j)"

    def optional(self, depth: int) -> str:
        """An integer or None."""
        plain = self.choose((*self.names["optional"], "None"))
        if depth <= 0:
            return str(plain)
        d = depth - 1
        chosen = f"({self.optional(d)} if {self.truth(d)} else {self.integer(d)})"
        return str(self.choose((plain, chosen, f"({self.optional(d)} and {self.integer(d)})")))

    def label(self, depth: int) -> str:
        """A text."""
        if depth <= 0 or self.choose((True, False)):
            return str(self.choose((*self.names["label"], *TEXTS)))
        return f"({self.label(0)} if {self.truth(depth - 1)} else {self.label(0)})"

    def truth(self, depth: int) -> str:
        """Mostly a truth value."""
        if depth <= 0:
            return str(self.choose((*self.names["truth"], "True", f"{self.integer(0)} > 1")))
        kinds = ["leaf", "order", "order", "chain", "and", "or", "not"]
        kinds += ["none", "label", "in", "is", "mixed"]
        if self.structured:
            kinds += ["all", "any", "table", "sets", "equal"]
        d = depth - 1
        one = self.integer
        match self.choose(kinds):
            case "order":
                return f"{one(d)} {self.choose(('<', '<=', '>', '>=', '==', '!='))} {one(d)}"
            case "chain":
                return f"{one(0)} <= {one(d)} < {one(0)}"
            case "and" | "or" as word:
                return f"({self.truth(d)} {word} {self.truth(d)})"
            case "not":
                return f"(not {self.choose((self.truth(d), self.optional(d), one(d)))})"
            case "none":
                return f"{self.optional(d)} {self.choose(('is', 'is not'))} None"
            case "label":
                asked = ("== 'auto'", "in ('auto', 'node')", "not in ['a', '']")
                return f"{self.label(d)} {self.choose(asked)}"
            case "in":
                held = ("(1, 2)", "{0, 3}", "range(4)", "[None, 2]", f"({one(0)},)")
                return f"{self.choose((one(d), self.optional(d)))} in {self.choose(held)}"
            case "is":
                return f"isinstance({self.choose((self.optional(d), self.label(d)))}, (int, bool))"
            case "mixed":
                return f"{self.optional(d)} {self.choose(('==', '<', '!='))} {one(d)}"
            case "all":
                return f"all({self.inside(d)} for i in {self.collection(d)})"
            case "any":
                return f"any([{self.truth(d)}, {one(d)}])"
            case "table":
                return f"{self.active(d)} in GROUPS"
            case "sets":
                relation = self.choose(("<=", "==", ">"))
                return f"{{{one(d)}, {one(d)}}} {relation} {{1, {one(0)}}}"
            case "equal":
                return f"{self.collection(d)} == {self.collection(d)}"
            case _:
                return self.truth(0)


class Grammar(Expressions):
    """Writes programs."""

    def __init__(self, choose: Choose, *, structured: bool, depth: int = 3) -> None:
        super().__init__(choose, structured=structured)
        self.depth = depth
        self.loops = 0
        self.lines: list[str] = []

    def program(self) -> str:
        """A whole program."""
        if self.structured:
            order = [self.choose(("<", "==", ">")) for _ in range(2)]
            change, joined = self.choose(("+=", "-=", "*=")), self.choose(("+", "//", "%"))
            self.lines += CLASSES.format(order[0], change, order[1], joined).splitlines()
            names, self.names = self.names, HELPERS
            for name in ("g", "h"):
                self.lines.append(f"def {name}(k, v=None, *, w=1):")
                self._block(1, self.depth - 1)
                self.lines.append(f"    return {self.integer(2)}")
                self.functions.append(name)
            self.names = names
        parameters = ", ".join(name for names in PARAMETERS.values() for name in names)
        self.lines += [f"def f({parameters}):", "    u = v = w = 1"]
        self.in_f = True
        self.names["integer"] += ["u", "w"]
        self.names["optional"] += ["v"]
        if self.structured:
            self.lines.append("    seen, table, few = [a], {'x': b}, {1, a}")
        self._block(1, self.depth)
        result = "u, v, w, seen, table, len(few)" if self.structured else "u, v, w"
        self.lines.append(f"    return {result}")
        return "\n".join(self.lines) + "\n"

    def _write(self, level: int, *texts: str) -> None:
        """Lines, each one level deeper than the one before."""
        self.lines += ["    " * (level + more) + text for more, text in enumerate(texts)]

    def _block(self, level: int, depth: int) -> None:
        for _ in range(self.choose((1, 2, 2, 3))):
            self._statement(level, depth)

    def _statement(self, level: int, depth: int) -> None:
        kinds: list[Callable[[int, int], None]] = [self._assign, self._assign, self._augment]
        kinds += [self._raise, self._assert, self._return, self._unbound]
        if depth > 0:
            kinds += [self._if] * 4
        if self.structured and depth > 0:
            kinds += [self._for, self._for, self._while, self._try, self._try, self._match]
            kinds += [self._nested, *([self._change, self._change, self._alias] * self.in_f)]
        if self.loops:
            kinds += [self._leave]
        self.choose(kinds)(level, depth)

    @property
    def _local(self) -> str:
        return str(self.choose(("u", "v", "w") if self.in_f else ("k",)))

    def _assign(self, level: int, _depth: int) -> None:
        value = self.choose((self.integer, self.integer, self.truth, self.optional, self.label))
        self._write(level, f"{self._local} = {value(2)}")

    def _augment(self, level: int, _depth: int) -> None:
        operation = self.choose(("+=", "-=", "*=", "//=", "%="))
        self._write(level, f"{self._local} {operation} {self.integer(1)}")

    def _raise(self, level: int, _depth: int) -> None:
        given = self.choose(("", f"('x', {self.integer(1)})", f"(f'{{{self.integer(0)}}}')"))
        self._write(level, f"if {self.truth(2)}:", f"raise {self.choose(EXCEPTIONS)}{given}")

    def _assert(self, level: int, _depth: int) -> None:
        self._write(level, f"assert {self.truth(2)}, {self.choose((self.label, self.integer))(0)}")

    def _return(self, level: int, _depth: int) -> None:
        value = self.choose((self.integer, self.label, self.optional))(2)
        self._write(level, f"if {self.truth(1)}:", f"return {value}")

    def _unbound(self, level: int, _depth: int) -> None:
        self._write(level, f"if {self.truth(1)}:", f"z = {self.integer(1)}")
        self._write(level, f"if {self.truth(1)}:", f"{self._local} = z")

    def _if(self, level: int, depth: int) -> None:
        heads = [f"if {self.truth(2)}:"]
        heads += [f"elif {self.truth(1)}:"] * self.choose((0, 1))
        heads += ["else:"] * self.choose((0, 1))
        for head in heads:
            self._write(level, head)
            self._block(level + 1, depth - 1)

    def _for(self, level: int, depth: int) -> None:
        self._write(level, f"for {self._local} in {self.collection(2)}:")
        self._body(level, depth)

    def _while(self, level: int, depth: int) -> None:
        turn = f"t{len(self.lines)}"
        self._write(level, f"{turn} = 0")
        self._write(level, f"while {turn} < 2:", f"{turn} += 1")
        self._body(level, depth)

    def _body(self, level: int, depth: int) -> None:
        self.loops += 1
        self._block(level + 1, depth - 1)
        self.loops -= 1
        if self.choose((True, False, False)):
            self._write(level, "else:")
            self._block(level + 1, depth - 1)

    def _leave(self, level: int, _depth: int) -> None:
        self._write(level, f"if {self.truth(1)}:", self.choose(("break", "continue")))

    def _try(self, level: int, depth: int) -> None:
        self._write(level, "try:")
        self._block(level + 1, depth - 1)
        handled = self.choose((0, 1, 1, 2))
        for kind in ("(ArithmeticError, AssertionError)", "Exception as error")[:handled]:
            self._write(level, f"except {kind}:")
            self._block(level + 1, depth - 1)
            if self.choose((False, False, True)):
                again = self.choose(("raise", "raise ValueError('again')"))
                self._write(level + 1, f"if {self.truth(1)}:", again)
        if handled and self.choose((False, False, True)):
            self._write(level, "else:")
            self._block(level + 1, depth - 1)
        if not handled or self.choose((False, False, True)):
            self._write(level, "finally:")
            self._block(level + 1, 0)

    def _match(self, level: int, depth: int) -> None:
        pair = f"({self.integer(1)}, {self.truth(1)})"
        kinds = (
            (self.optional(2), ("None", "0 | 1", "int(y) if y > 2", "y")),
            (self.label(1), ("'auto' | 'node'", "'a'", "_")),
            (pair, ("(1, True)", "(y, False) if y", "(y, *z)")),
        )
        subject, patterns = self.choose(kinds)
        self._write(level, f"match {subject}:")
        for pattern in patterns:
            self._write(level + 1, f"case {pattern}:")
            self._block(level + 2, depth - 1)

    def _nested(self, level: int, _depth: int) -> None:
        name = f"n{len(self.lines)}"
        self._write(level, f"def {name}(k, j={self.integer(1)}):")
        if self.in_f and self.choose((True, False)):
            self._write(level + 1, "nonlocal u")
            self._write(level + 1, f"u = {self.integer(1)}")
        self._write(level + 1, f"return k + j + {self.integer(1)}")
        self._write(level, f"{self._local} = {name}({self.integer(1)})")

    def _change(self, level: int, _depth: int) -> None:
        value = self.integer(1)
        forms = (
            f"seen.append({value})",
            f"seen.extend({self.collection(1)})",
            f"seen += [{value}]",
            f"seen[0] = {value}",
            "seen.pop()",
            f"table['y'] = {value}",
            f"table['x'] {self.choose(('+=', '-='))} {value}",
            "table.pop('y', None)",
            f"few.add({value})",
            f"few.discard({value})",
        )
        self._write(level, self.choose(forms))

    def _alias(self, level: int, _depth: int) -> None:
        self._write(level, f"other = seen if {self.truth(1)} else [{self.integer(1)}]")
        self._write(level, f"other.append({self.integer(1)})")
        self._write(level, f"{self._local} = len(other)")
