"""Random small programs, as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Choose = Callable[[Sequence[Any]], Any]
"""Takes one of several."""

PARAMETERS = {"integer": ("a", "b"), "truth": ("p", "q"), "optional": ("m", "n"), "label": ("s",)}
TEXTS = ("'auto'", "'node'", "'a'", "''")
EXCEPTIONS = ("ValueError", "KeyError", "TypeError", "ArithmeticError", "LookupError")


class Grammar:
    """Writes programs. Locals are ``u`` to ``w``; what they hold is not always bound."""

    def __init__(self, choose: Choose, *, structured: bool, depth: int = 3) -> None:
        self.choose = choose
        self.structured = structured
        self.depth = depth
        self.loops = 0
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.names = {kind: list(names) for kind, names in PARAMETERS.items()}
        self.inner: list[str] = []

    def program(self) -> str:
        """A whole program."""
        if self.structured:
            self._classes()
            for name in ("g", "h"):
                self.lines.append(f"def {name}(k, v=None, *, w=1):")
                names = self.names
                self.names = {"integer": ["k", "w"], "truth": [], "optional": ["v"], "label": []}
                self._block(1, self.depth - 1)
                self.lines.append(f"    return {self.integer(2)}")
                self.names = names
                self.functions.append(name)
        parameters = ", ".join(name for names in PARAMETERS.values() for name in names)
        self.lines.append(f"def f({parameters}):")
        self.lines.append("    u = v = w = 1")
        self.names["integer"] += ["u", "w"]
        self.names["optional"] += ["v"]
        if self.structured:
            self.lines.append("    seen, table, few = [a], {'x': b}, {1, a}")
        self._block(1, self.depth)
        result = "u, v, w, seen, table, len(few)" if self.structured else "u, v, w"
        self.lines.append(f"    return {result}")
        return "\n".join(self.lines) + "\n"

    def _classes(self) -> None:
        self.lines += [
            "from dataclasses import dataclass",
            "SIZES = {'auto': 1, 'node': 3}",
            "GROUPS = {frozenset(): 0, frozenset({'x'}): 1, frozenset({'x', 'y'}): 2}",
            "@dataclass",
            "class Base:",
            "    i: int",
            "    j: int = 2",
            "    def __post_init__(self):",
            f"        if {self._over('self.i', 'self.j')}:",
            "            raise ValueError('base', self.i)",
            "        self.k = self.i + self.j",
            "    def more(self, by):",
            f"        self.i {self.choose(('+=', '-=', '*='))} by",
            "        return self.i",
            "class Derived(Base):",
            "    def __post_init__(self):",
            "        super().__post_init__()",
            f"        if {self._over('self.k', 'self.i')}:",
            "            raise KeyError('derived')",
            "    @property",
            "    def both(self):",
            f"        return self.i {self.choose(('+', '//', '%'))} self.j",
        ]

    def _over(self, one: str, two: str) -> str:
        return f"{one} {self.choose(('<', '==', '>'))} {self.choose((two, '0', '3'))}"

    # --- expressions ----------------------------------------------------------------------

    def integer(self, depth: int) -> str:
        """Mostly an integer."""
        if depth <= 0:
            return str(self.choose((*self.names["integer"], "1", "2", "-3", "0", *self.inner)))
        kinds = [
            "leaf",
            "leaf",
            "binary",
            "binary",
            "minus",
            "choice",
            "function",
            "default",
            "count",
        ]
        if self.structured:
            kinds += ["call", "collection", "entry", "object", "generator"]
        d = depth - 1
        match self.choose(kinds):
            case "binary":
                operation = self.choose(("+", "-", "*", "//", "%"))
                return f"({self.integer(d)} {operation} {self.integer(d)})"
            case "minus":
                return f"{self.choose(('-', 'abs', 'int', '+', '~'))}({self.integer(d)})"
            case "choice":
                return f"({self.integer(d)} if {self.truth(d)} else {self.integer(d)})"
            case "function":
                name = self.choose(("max", "min"))
                return f"{name}({self.integer(d)}, {self.integer(d)})"
            case "default":
                return f"({self.optional(d)} or {self.integer(d)})"
            case "count":
                return f"sum([{self.truth(d)}, {self.truth(d)}])"
            case "call":
                if not self.functions:
                    return self.integer(d)
                arguments = self.choose(
                    (
                        f"{self.integer(d)}",
                        f"{self.integer(d)}, {self.optional(d)}",
                        f"{self.integer(d)}, w={self.integer(d)}",
                        f"v={self.optional(d)}, k={self.integer(d)}",
                    )
                )
                return f"{self.choose(self.functions)}({arguments})"
            case "collection":
                name = self.choose(("sum", "len", "max", "min", "set"))
                found = self.collection(d)
                return f"len(set({found}))" if name == "set" else f"{name}({found})"
            case "entry":
                return str(
                    self.choose(
                        (
                            f"{self.collection(d)}[{self.choose(('0', '-1', '1', self.integer(0)))}]",
                            f"SIZES[{self.label(d)}]",
                            f"SIZES.get({self.label(d)}, {self.integer(d)})",
                            f"GROUPS[{self.active(d)}]",
                            f"{{1: {self.integer(d)}, 2: 5}}[{self.integer(d)}]",
                        )
                    )
                )
            case "object":
                name = self.choose(("Base", "Derived"))
                made = f"{name}({self.integer(d)}, {self.integer(d)})"
                return str(
                    self.choose(
                        (
                            f"{made}.k",
                            f"{made}.more({self.integer(d)})",
                            f"getattr({made}, 'both', 4)",
                        )
                    )
                )
            case "generator":
                return str(
                    self.choose(
                        (
                            f"next((i for i in {self.collection(d)} if {self.inside(d)}), {self.integer(d)})",
                            f"sum(i for i in {self.collection(d)} if {self.inside(d)})",
                            f"max((i for i in {self.collection(d)} if {self.inside(d)}), default=7)",
                        )
                    )
                )
            case _:
                return self.integer(0)

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
            case "seen":
                return "seen" if "def f" in "\n".join(self.lines) else f"[{one}]"
            case "sliced":
                return f"[{one}, {two}, 3][{self.choose(('1:', ':-1', '::2'))}]"
            case _:
                return f"[{one}, {two}]"

    def active(self, depth: int) -> str:
        """A set of names."""
        return (
            f"frozenset(i for i, j in (('x', {self.truth(depth - 1)}), "
            f"('y', {self.truth(depth - 1)})) if j)"
        )

    def optional(self, depth: int) -> str:
        """An integer or None."""
        if depth <= 0:
            return str(self.choose((*self.names["optional"], "None")))
        return str(
            self.choose(
                (
                    self.optional(0),
                    f"({self.optional(depth - 1)} if {self.truth(depth - 1)} else {self.integer(depth - 1)})",
                    f"({self.optional(depth - 1)} and {self.integer(depth - 1)})",
                )
            )
        )

    def label(self, depth: int) -> str:
        """A text."""
        if depth <= 0 or self.choose((True, False)):
            return str(self.choose((*self.names["label"], *TEXTS)))
        return f"({self.label(0)} if {self.truth(depth - 1)} else {self.label(0)})"

    def truth(self, depth: int) -> str:
        """Mostly a truth value."""
        if depth <= 0:
            return str(self.choose((*self.names["truth"], "True", f"{self.integer(0)} > 1")))
        d = depth - 1
        kinds = [
            "leaf",
            "order",
            "order",
            "chain",
            "and",
            "or",
            "not",
            "none",
            "label",
            "in",
            "is",
            "mixed",
        ]
        if self.structured:
            kinds += ["all", "any", "table", "sets", "equal"]
        match self.choose(kinds):
            case "order":
                operation = self.choose(("<", "<=", ">", ">=", "==", "!="))
                return f"{self.integer(d)} {operation} {self.integer(d)}"
            case "chain":
                return f"{self.integer(0)} <= {self.integer(d)} < {self.integer(0)}"
            case "and":
                return f"({self.truth(d)} and {self.truth(d)})"
            case "or":
                return f"({self.truth(d)} or {self.truth(d)})"
            case "not":
                return f"(not {self.choose((self.truth(d), self.optional(d), self.integer(d)))})"
            case "none":
                return f"{self.optional(d)} {self.choose(('is', 'is not'))} None"
            case "label":
                operation = self.choose(("== 'auto'", "in ('auto', 'node')", "not in ['a', '']"))
                return f"{self.label(d)} {operation}"
            case "in":
                held = self.choose(
                    ("(1, 2)", "{0, 3}", "range(4)", "[None, 2]", f"({self.integer(0)},)")
                )
                return f"{self.choose((self.integer(d), self.optional(d)))} in {held}"
            case "is":
                return f"isinstance({self.choose((self.optional(d), self.label(d)))}, (int, bool))"
            case "mixed":
                return f"{self.optional(d)} {self.choose(('==', '<', '!='))} {self.integer(d)}"
            case "all":
                return f"all({self.inside(d)} for i in {self.collection(d)})"
            case "any":
                return f"any([{self.truth(d)}, {self.integer(d)}])"
            case "table":
                return f"{self.active(d)} in GROUPS"
            case "sets":
                one, two = self.integer(d), self.integer(d)
                return f"{{{one}, {two}}} {self.choose(('<=', '==', '>'))} {{1, {self.integer(0)}}}"
            case "equal":
                return f"{self.collection(d)} == {self.collection(d)}"
            case _:
                return self.truth(0)

    # --- statements -----------------------------------------------------------------------

    def _block(self, level: int, depth: int) -> None:
        for _ in range(self.choose((1, 2, 2, 3))):
            self._statement(level, depth)

    def _write(self, level: int, text: str) -> None:
        self.lines.append("    " * level + text)

    def _statement(self, level: int, depth: int) -> None:  # noqa: PLR0915  (one case a kind)
        kinds = ["assign", "assign", "label", "augment", "raise", "assert", "return", "unbound"]
        in_f = any(line.startswith("def f") for line in self.lines)
        if depth > 0:
            kinds += ["if", "if", "if", "if"]
        if self.structured and depth > 0:
            kinds += ["for", "for", "while", "try", "try", "match", "nested"]
            if in_f:
                kinds += ["change", "change", "alias"]
        if self.loops:
            kinds += ["break", "continue"]
        local = self.choose(("u", "v", "w")) if in_f else "k"
        match self.choose(kinds):
            case "assign":
                value = self.choose(
                    (self.integer(2), self.integer(2), self.truth(2), self.optional(2))
                )
                self._write(level, f"{local} = {value}")
            case "label":
                self._write(
                    level, f"{local} = {self.label(2)}" if self.choose((0, 0, 1)) else "pass"
                )
            case "augment":
                self._write(
                    level,
                    f"{local} {self.choose(('+=', '-=', '*=', '//=', '%='))} {self.integer(1)}",
                )
            case "raise":
                self._write(level, f"if {self.truth(2)}:")
                argument = self.choose(
                    ("", f"('x', {self.integer(1)})", f"(f'{{{self.integer(0)}}}')")
                )
                self._write(level + 1, f"raise {self.choose(EXCEPTIONS)}{argument}")
            case "assert":
                self._write(
                    level,
                    f"assert {self.truth(2)}, {self.choose((self.label(0), self.integer(0)))}",
                )
            case "return":
                self._write(level, f"if {self.truth(1)}:")
                self._write(
                    level + 1,
                    f"return {self.choose((self.integer(2), self.label(1), self.optional(1)))}",
                )
            case "unbound":
                self._write(level, f"if {self.truth(1)}:")
                self._write(level + 1, f"z = {self.integer(1)}")
                self._write(level, f"if {self.truth(1)}:")
                self._write(level + 1, f"{local} = z")
            case "if":
                self._write(level, f"if {self.truth(2)}:")
                self._block(level + 1, depth - 1)
                if self.choose((True, False)):
                    self._write(level, f"elif {self.truth(1)}:")
                    self._block(level + 1, depth - 1)
                if self.choose((True, False)):
                    self._write(level, "else:")
                    self._block(level + 1, depth - 1)
            case "for":
                self._write(level, f"for {local} in {self.collection(2)}:")
                self._body(level, depth)
            case "while":
                turn = f"t{len(self.lines)}"
                self._write(level, f"{turn} = 0")
                self._write(level, f"while {turn} < 2:")
                self._write(level + 1, f"{turn} += 1")
                self._body(level, depth)
            case "try":
                self._try(level, depth)
            case "match":
                self._match(level, depth)
            case "nested":
                name = f"n{len(self.lines)}"
                self._write(level, f"def {name}(k, j={self.integer(1)}):")
                if in_f and self.choose((True, False)):
                    self._write(level + 1, "nonlocal u")
                    self._write(level + 1, f"u = {self.integer(1)}")
                self._write(level + 1, f"return k + j + {self.integer(1)}")
                self._write(level, f"{local} = {name}({self.integer(1)})")
            case "change":
                self._write(
                    level,
                    self.choose(
                        (
                            f"seen.append({self.integer(1)})",
                            f"seen.extend({self.collection(1)})"
                            if self.choose((0, 1))
                            else "seen += [1]",
                            f"table['y'] = {self.integer(1)}",
                            f"table['x'] {self.choose(('+=', '-='))} {self.integer(1)}",
                            f"few.add({self.integer(1)})",
                            f"few.discard({self.integer(1)})",
                            "seen.pop()",
                            "table.pop('y', None)",
                            f"seen[0] = {self.integer(1)}",
                        )
                    ),
                )
            case "alias":
                self._write(level, f"other = seen if {self.truth(1)} else [{self.integer(1)}]")
                self._write(level, f"other.append({self.integer(1)})")
                self._write(level, f"{local} = len(other)")
            case "break":
                self._write(level, f"if {self.truth(1)}:")
                self._write(level + 1, "break")
            case "continue":
                self._write(level, f"if {self.truth(1)}:")
                self._write(level + 1, "continue")

    def _body(self, level: int, depth: int) -> None:
        self.loops += 1
        self._block(level + 1, depth - 1)
        self.loops -= 1
        if self.choose((True, False, False)):
            self._write(level, "else:")
            self._block(level + 1, depth - 1)

    def _try(self, level: int, depth: int) -> None:
        self._write(level, "try:")
        self._block(level + 1, depth - 1)
        handled = self.choose((0, 1, 1, 2))
        for kind in ("(ArithmeticError, AssertionError)", "Exception as error")[:handled]:
            self._write(level, f"except {kind}:")
            self._block(level + 1, depth - 1)
            if self.choose((False, False, True)):
                self._write(level + 1, f"if {self.truth(1)}:")
                self._write(level + 2, self.choose(("raise", "raise ValueError('again')")))
        if handled and self.choose((False, False, True)):
            self._write(level, "else:")
            self._block(level + 1, depth - 1)
        if not handled or self.choose((False, False, True)):
            self._write(level, "finally:")
            loops, self.loops = self.loops, 0
            self._block(level + 1, 0)
            self.loops = loops

    def _match(self, level: int, depth: int) -> None:
        subject, patterns = self.choose(
            (
                (self.optional(2), ("None", "0 | 1", "int(y) if y > 2", "y")),
                (self.label(1), ("'auto' | 'node'", "'a'", "_")),
                (
                    f"({self.integer(1)}, {self.truth(1)})",
                    ("(1, True)", "(y, False) if y", "(y, *z)"),
                ),
            )
        )
        self._write(level, f"match {subject}:")
        for pattern in patterns:
            self._write(level + 1, f"case {pattern}:")
            self._block(level + 2, depth - 1)
