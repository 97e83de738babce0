"""Random expressions of any type, most of which go wrong in some way."""

from __future__ import annotations

from tests.solver.symbolic.grammar import Choose

NAMES = ("a", "b", "m", "p", "s")
CONSTANTS = ("0", "1", "2", "-3", "True", "None", "'auto'", "''", "2.5", "()", "[]", "{}")
BINARY = ("+", "-", "*", "//", "%", "&", "|", "^", "**")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "in", "not in", "is", "is not")
FUNCTIONS = (
    *("len", "sum", "max", "min", "any", "all", "bool", "int", "str", "abs", "list", "tuple"),
    *("set", "frozenset", "dict", "sorted", "reversed", "enumerate", "iter", "next", "type"),
    *("callable", "repr", "divmod", "zip", "range", "isinstance", "getattr", "hasattr", "map"),
)
METHODS = (
    *("append", "extend", "pop", "insert", "index", "count", "copy", "clear", "add", "discard"),
    *("remove", "update", "union", "issubset", "isdisjoint", "get", "keys", "values", "items"),
    *("setdefault", "join", "format", "lower", "real", "missing"),
)
KINDS = (
    *("name", "name", "constant", "binary", "binary", "comparison", "comparison", "chain"),
    *("and", "or", "not", "minus", "choice", "choice", "call", "call", "method", "attribute"),
    *("list", "tuple", "set", "dict", "item", "slice", "comprehension", "generator", "text"),
    *("lambda", "walrus", "starred"),
)


class Untyped:
    """Writes expressions without a thought for types."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.names = list(NAMES)

    def program(self, depth: int = 3) -> str:
        """A function of some assignments and what came of them."""
        parameters = ", ".join(NAMES)
        lines = [f"def f({parameters}):", "    u = v = [a]"]
        self.names += ["u", "v"]
        for _ in range(self.choose((1, 2, 3))):
            target = self.choose(("u = ", "v = ", "u += ", "", "u, v = ", "if m: u = "))
            lines.append(f"    {target}{self.expression(depth)}")
        lines.append("    return u, v")
        return "\n".join(lines) + "\n"

    def _several(self, depth: int) -> str:
        return ", ".join(self.expression(depth) for _ in range(self.choose((0, 1, 1, 2, 2, 3))))

    def expression(self, depth: int) -> str:
        """Any expression."""
        if depth <= 0:
            return str(self.choose((*self.names, *self.names, *CONSTANTS)))
        d = depth - 1

        def one() -> str:
            return self.expression(d)

        match self.choose(KINDS):
            case "name":
                return str(self.choose(self.names))
            case "constant":
                return str(self.choose(CONSTANTS))
            case "binary":
                return f"({one()} {self.choose(BINARY)} {one()})"
            case "comparison":
                return f"({one()} {self.choose(COMPARISONS)} {one()})"
            case "chain":
                first, second = self.choose(COMPARISONS), self.choose(COMPARISONS)
                return f"({one()} {first} {one()} {second} {one()})"
            case "and" | "or" as word:
                return f"({one()} {word} {one()})"
            case "not":
                return f"(not {one()})"
            case "minus":
                return f"({self.choose('-+~')}{one()})"
            case "choice":
                return f"({one()} if {one()} else {one()})"
            case "call":
                return f"{self.choose(FUNCTIONS)}({self._several(d)})"
            case "method":
                return f"({one()}).{self.choose(METHODS)}({self._several(d)})"
            case "attribute":
                return f"({one()}).{self.choose(METHODS)}"
            case "list":
                return f"[{self._several(d)}]"
            case "tuple":
                return f"({one()}, {one()})"
            case "set":
                return f"{{{one()}, {one()}}}"
            case "dict":
                return f"{{{one()}: {one()}, {one()}: {one()}}}"
            case "item":
                return f"({one()})[{one()}]"
            case "slice":
                return f"({one()})[{self.choose(('1:', ':1', '::-1', ':'))}]"
            case "text":
                kind = self.choose(("", "!r", ":>3", ":d"))
                return f"f'{{{self.choose(self.names)}{kind}}}x'"
            case "lambda":
                return f"(lambda i=a: {self._inside(d)})({self._several(0)})"
            case "walrus":
                return f"(w := {one()})"
            case "starred":
                return f"[*({one()}), {one()}]"
            case "generator":
                function = self.choose(("any", "all", "sum", "list", "set", "max", "next", "tuple"))
                return f"{function}({self._loop(d)})"
            case _:
                return f"[{self._loop(d)}]"

    def _inside(self, depth: int) -> str:
        self.names.append("i")
        found = self.expression(depth)
        self.names.pop()
        return found

    def _loop(self, depth: int) -> str:
        test = f" if {self._inside(depth)}" if self.choose((True, False)) else ""
        return f"{self._inside(depth)} for i in {self.expression(depth)}{test}"
