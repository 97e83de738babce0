"""The words that a part of the syntax tree expands to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tree_sitter import Node  # noqa: TC002  (this folder is imported only where it is used)

from parsolve.solver.files.document import Place
from parsolve.solver.files.shell.arithmetic import NotKnown, integer, result
from parsolve.solver.files.shell.syntax import Source, text_of
from parsolve.solver.files.shell.values import (
    Piece,
    Text,
    Value,
    Variables,
    fields,
    joined,
    shown,
    why,
)

_ALL = ("@", "*")
_ANSI_C = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}

_BRACES = re.compile(r"(?<![$\\])\{[^{}\s]*(,|\.\.)[^{}\s]*\}")

Pieces = list[Piece | None]


class Words:
    """Expands nodes of one source with the variables in force."""

    def __init__(self, source: Source, variables: Variables) -> None:
        self.source = source
        self.variables = variables

    def of(self, nodes: Iterable[Node]) -> list[Text]:
        """The words of nodes that stand one after the other, split where unquoted."""
        return [text for node in nodes for text in fields(self._counted(node))]

    def text(self, node: Node) -> Text:
        """A node as one string, as in an assignment: nothing is split."""
        groups: list[list[Piece]] = [[]]
        for piece in self._counted(node):
            if piece is None:
                groups.append([])
            else:
                groups[-1].append(replace(piece, quoted=True))
        return joined((tuple(group) for group in groups if group), self.source.place(node))

    def _counted(self, node: Node) -> Pieces:
        pieces = self._pieces(node)
        size = sum(1 if piece is None else 1 + len(piece.text) for piece in pieces)
        self.variables.spend(1 + size, self.source.place(node))
        return pieces

    def _pieces(self, node: Node, *, quoted: bool = False) -> Pieces:
        match node.type:
            case "word" | "concatenation" if _BRACES.search(_unquoted(node)):
                return self._unknown(node, "has several words in braces")
            case (
                "word" | "number" | "variable_name" | "extglob_pattern" | "regex" | "test_operator"
            ):
                if node.named_children:  # a number such as 16#ff, or with an expansion in it
                    return self._unknown(node, "is a number that parsolve does not work out")
                return [self._literal(node, re.sub(r"\\(\n?)(.?)", r"\2", text_of(node)))]
            case "raw_string":
                return self._lines(node, text_of(node)[1:-1], 1)
            case "ansi_c_string":
                return [self._literal(node, _ansi_c(text_of(node)[2:-1]))]
            case "string" | "translated_string":
                return self._string(node)
            case "concatenation" | "command_name":
                return self._concatenation(node, quoted=quoted)
            case "simple_expansion" | "expansion":
                return self._expansion(node, quoted=quoted)
            case "arithmetic_expansion":
                return self._arithmetic(node)
            case "command_substitution" | "process_substitution":
                return self._unknown(node, "takes it from the output of a command")
            case _:
                return [self._literal(node, text_of(node))]

    def _literal(self, node: Node, text: str) -> Piece:
        return Piece(text, self.source.place(node), quoted=True)

    def _lines(self, node: Node, text: str, skip: int) -> Pieces:
        """A text of one or more lines, each with its place."""
        start = self.source.place(node)
        place = Place(start.line, start.column + skip)
        lines = text.split("\n")
        pieces: Pieces = []
        for i, line in enumerate(lines):
            end = "\n" if i < len(lines) - 1 else ""
            pieces.append(Piece(line + end, place, quoted=True))
            place = Place(place.line + 1, 1) if self.source.spread else start
        return pieces

    def _string(self, node: Node) -> Pieces:
        pieces: Pieces = []
        inner = [child for child in node.children if child.type not in ('"', '$"')]
        lists = [child for child in inner if self._is_list(child)]
        if not lists or len(inner) > 1:
            pieces.append(self._literal(node, ""))
        before = node.children[0]
        for child in [*inner, node.children[-1]]:
            if child.type != "string_content":
                pieces += self._between(before, child)
                if child.type != '"':
                    pieces += self._space(child)
                    pieces += self._pieces(child, quoted=True)
                before = child
        return pieces

    def _space(self, node: Node) -> Pieces:
        """White space in a string, which the tree counts to the expansion after it."""
        written = text_of(node)
        space = written[: len(written) - len(written.lstrip())]
        return self._lines(node, space, 0) if space else []

    def _between(self, before: Node, after: Node) -> Pieces:
        """Literal text in double quotes, of which the tree may give only a part."""
        raw = self.source.data[before.end_byte : after.start_byte]
        if not raw:
            return []
        start = self.source.end(before)
        pieces: Pieces = []
        continued = False
        lines = raw.decode(errors="replace").split("\n")
        for i, line in enumerate(lines):
            place = start if i == 0 or not self.source.spread else Place(start.line + i, 1)
            if i and not continued:
                pieces.append(Piece("\n", place, quoted=True))
            continued = bool(len(line) - len(line.rstrip("\\")) & 1) and i < len(lines) - 1
            text = line[:-1] if continued else line
            pieces.append(Piece(re.sub(r'\\([$`"\\])', r"\1", text), place, quoted=True))
        return pieces

    def document(self, body: Node, *, literal: bool) -> list[Piece]:
        """The text of a here-document, in which expansions count unless it is ``literal``."""
        if literal or not body.named_children:
            pieces = self._lines(body, text_of(body), 0)
        else:
            pieces = []
            end = body.start_byte
            for child in [*body.named_children, None]:
                if child is not None and child.type == "heredoc_content":
                    continue
                raw = self.source.data[end : body.end_byte if child is None else child.start_byte]
                place = self.source.place(body if child is None else child)
                text = re.sub(r"\\([$`\\])", r"\1", raw.decode(errors="replace"))
                pieces.append(Piece(text, place, quoted=True))
                if child is not None:
                    pieces += self._pieces(child, quoted=True)
                    end = child.end_byte
        kept = [piece for piece in pieces if piece is not None]
        self.variables.spend(sum(1 + len(p.text) for p in kept), self.source.place(body))
        return kept

    def _concatenation(self, node: Node, *, quoted: bool) -> Pieces:
        pieces: Pieces = []
        end = node.start_byte
        for child in node.children:
            if child.start_byte > end:  # such as the $ that ends a word
                raw = (node.text or b"")[end - node.start_byte : child.start_byte - node.start_byte]
                gap = raw.decode(errors="replace").replace("\\\n", "")
                pieces.append(Piece(gap, self.source.place(child), quoted=True))
            pieces += self._pieces(child, quoted=quoted)
            end = child.end_byte
        return pieces

    def _unknown(self, node: Node, reason: str, *, absent: bool = False) -> Pieces:
        place = self.source.place(node)
        written = text_of(node).lstrip()
        full = reason if absent else f"line {place.line} {reason}: {' '.join(written.split())[:60]}"
        return [Piece(written, place, full, absent=absent)]

    def _is_list(self, node: Node) -> bool:
        return bool(re.fullmatch(r"\s*\$(@|\{(@|\w+\[@\])\})", text_of(node)))

    def _arithmetic(self, node: Node) -> Pieces:
        try:
            value = result(node, self._operand)
        except NotKnown as unknown:
            reason = str(unknown)
            place = self.source.place(node)
            if not reason.startswith(("it ", "line ")):
                reason = f"line {place.line} {reason}"
            return [Piece(text_of(node), place, reason)]
        return [self._literal(node, str(value))]

    def _operand(self, node: Node) -> str:
        if node.type in ("variable_name", "word") and not re.match(r"\d", text_of(node)):
            value = self._lookup(text_of(node), self.source.place(node))
            items: tuple[Text, ...] = value.items[:1]
            text: Text = items[0] if items else ()
        else:
            text = self.text(node)
        if why(text):
            raise NotKnown(why(text))
        return shown(text) or "0"

    def _lookup(self, name: str, place: Place) -> Value:
        """A variable's value; one that nobody sets is unknown, and absent."""
        variables = self.variables
        if name.isdigit() and name != "0" and variables.positional is not None:
            return Value(variables.positional[int(name) - 1 : int(name)])
        if name in _ALL and variables.positional is not None:
            return Value(variables.positional, array=True)
        if name == "#" and variables.positional is not None:
            return Value(((Piece(str(len(variables.positional)), place),),))
        value = variables.get(name)
        if value is not None:
            return value
        reason, absent = variables.caller(name, place), True
        if name in _ALL:
            reason = f"it takes arguments from its caller (line {place.line})"
        elif name.isdigit():
            reason = f"it takes its argument {name} from its caller (line {place.line})"
        elif not name.isidentifier():
            reason, absent = f"${name} is known only while it runs (line {place.line})", False
        written = f"${name}" if len(name) == 1 or name.isidentifier() else f"${{{name}}}"
        return Value(((Piece(written, place, reason, absent=absent),),), array=name in _ALL)

    def _expansion(self, node: Node, *, quoted: bool) -> Pieces:
        place = self.source.place(node)
        written = text_of(node).lstrip()
        simple = re.fullmatch(r"\$(?:\{(\w+|[@*#?$!-])\}|(\w+|[@*#?$!-]))", written)
        if simple:
            name = simple[1] or simple[2]
            value = self._lookup(name, place)
            return self._spread(node, value, name if name in _ALL else "", quoted=quoted)
        element = re.fullmatch(r"\$\{(#?)(\w+)\[(.*)\]\}", written, re.DOTALL)
        if element:
            return self._element(node, element[1], element[2], element[3], quoted=quoted)
        length = re.fullmatch(r"\$\{#(\w+)\}", written)
        if length:
            text = self._first(self._lookup(length[1], place))
            if why(text):
                return [Piece(written, place, why(text))]
            return [self._literal(node, str(len(shown(text))))]
        default = re.match(r"\$\{(\w+|[@*])(?:\[[@*]\])?(:?[-=?+])", written)
        if default:
            return self._default(node, default[1], default[2], quoted=quoted)
        return self._unknown(node, "works out text in a way that parsolve does not follow")

    def _first(self, value: Value) -> Text:
        return value.items[0] if value.items else ()

    def _spread(self, node: Node, value: Value, index: str, *, quoted: bool) -> Pieces:
        if not index:
            text = self._first(value)
            if not quoted and self._splits_otherwise(text):
                return self._unknown(node, "splits at what IFS says")
            return [replace(piece, quoted=quoted) for piece in text]
        pieces: Pieces = []
        for i, item in enumerate(value.items):
            if i and index == "*" and quoted:
                pieces.append(self._literal(node, " "))
            elif i:
                pieces.append(None)
            pieces += [replace(piece, quoted=quoted) for piece in item]
            if quoted and not item:
                pieces.append(self._literal(node, ""))
        return pieces

    def _splits_otherwise(self, text: Text) -> bool:
        """Whether the script has set IFS to other than white space, and the text has what splits.

        An IFS that is not known is one that the script restores.
        """
        found = self.variables.get("IFS")
        ifs = self._first(found) if found is not None else ()
        if not ifs or why(ifs) or shown(ifs) == " \t\n":
            return False
        return not set(shown(text)).isdisjoint({*shown(ifs), *" \t\n"})

    def _element(self, node: Node, count: str, name: str, index: str, *, quoted: bool) -> Pieces:
        place = self.source.place(node)
        value = self._lookup(name, place)
        unknown = next((why(item) for item in value.items if why(item)), "")
        if index in _ALL:
            if not count:
                return self._spread(node, value, index, quoted=quoted)
            if unknown:
                return [Piece(text_of(node), place, unknown)]
            return [self._literal(node, str(len(value.items)))]
        try:
            at = integer(self._index(index, place))
        except NotKnown:
            return self._unknown(node, "takes an element that is not known")
        item = self._first(Value(value.items[at:][:1]))
        if count or (unknown and not item):
            return self._unknown(node, "takes an element that is not known")
        return [replace(piece, quoted=quoted) for piece in item]

    def _index(self, index: str, place: Place) -> str:
        name = index.removeprefix("$").strip("{}")
        if not name.isidentifier():
            return index
        text = self._first(self._lookup(name, place))
        if why(text):
            raise NotKnown(why(text))
        return shown(text)

    def _default(self, node: Node, name: str, operator: str, *, quoted: bool) -> Pieces:
        place = self.source.place(node)
        value = self._lookup(name, place)
        index = "@" if value.array and ("[" in text_of(node) or name in _ALL) else ""
        own = self._spread(node, value, index, quoted=quoted)
        pieces = [piece for piece in own if piece is not None]
        unset = not value.items or (bool(pieces) and all(piece.absent for piece in pieces))
        if operator.startswith(":"):
            unset = unset or not any(piece.text for piece in pieces)
        if operator.endswith("?") or (not unset and not operator.endswith("+")):
            return own
        if operator.endswith("+"):
            if all(piece.absent for piece in pieces) and pieces:
                return [Piece(text_of(node), place, pieces[0].unknown)]
            if unset:
                return []
        rest = self._rest(node, operator, quoted=quoted)
        if operator.endswith("=") and name.isidentifier():
            text = tuple(replace(p, quoted=True) for p in rest if p is not None)
            self.variables.put(name, Value((text,)))
        return rest

    def _rest(self, node: Node, operator: str, *, quoted: bool) -> Pieces:
        """What stands behind the operator."""
        written = node.text or b""
        start = node.start_byte + written.index(operator.encode()) + len(operator)
        pieces: Pieces = []
        for child in node.children:
            if child.start_byte < start or child.type == "}":
                continue
            inner = self._pieces(child, quoted=quoted)
            if child.type in ("word", "number", "concatenation"):
                inner = [p and replace(p, quoted=quoted) for p in inner]
            pieces += inner
        return pieces


def _unquoted(node: Node) -> str:
    """A word as it is written, with x for what is quoted or expanded in it."""
    if node.type == "word":
        return text_of(node)
    plain = ("word", "number", "brace_expression", "{", "}", ",")
    return "".join(text_of(c) if c.type in plain else "x" for c in node.children)


def _ansi_c(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        letter = match[1]
        if letter[0] == "x":
            return chr(int(letter[1:], 16))
        if letter[0] in "01234567":
            return chr(int(letter, 8) & 0xFF)
        return _ANSI_C.get(letter, letter if letter in "\\'\"?" else "\\" + letter)

    return re.sub(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", one, text, flags=re.DOTALL)
