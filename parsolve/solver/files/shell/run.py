"""The statements of a script, followed without being executed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

from tree_sitter import Node  # noqa: TC002  (this folder is imported only where it is used)

from parsolve.solver.files.document import DEEPEST, Place
from parsolve.solver.files.shell.conditions import asks_whether_empty, holds, matches
from parsolve.solver.files.shell.syntax import Source, text_of
from parsolve.solver.files.shell.values import (
    Piece,
    Text,
    Value,
    Variables,
    Word,
    either,
    shown,
    why,
    word,
)
from parsolve.solver.files.shell.words import Words

_SHELLS = ("bash", "sh", "zsh", "dash")
_SCRIPT = re.compile(r"\.(sh|bash|slurm|sbatch|job|cmd)$")
_STRINGS = ("string", "raw_string", "concatenation", "word")
_ASSIGNED = re.compile(r"[\"']?([A-Za-z_]\w*)=")
_TESTS = ("test_command", "negated_command")
_STATEMENT = 8
"""What a statement takes, in the units of `MOST_WORK`."""

_SLURM = {
    "--nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "-N": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "--ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "-n": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "--ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "--gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
}
"""What Slurm sets from the options of a script."""


class Ran(NamedTuple):
    """A command that the script comes to."""

    words: tuple[Word, ...]
    environment: Mapping[str, Word]
    place: Place


class _Frame:
    """One text of shell, and what is in force in it."""

    def __init__(self, source: Source, variables: Variables, prefix: tuple[Text, ...] = ()) -> None:
        self.source = source
        self.words = Words(source, variables)
        self.prefix = prefix


class Run:
    """Follows one script."""

    def __init__(self, name: str, text: str) -> None:
        self.variables = Variables(name)
        self.frame = _Frame(Source(name, text), self.variables)
        self.functions: dict[str, tuple[Node, _Frame]] = {}
        self.calling: list[str] = []
        self.locals: list[dict[str, Value | None]] = []
        self.ran: list[Ran] = []
        self.depth = 0
        self.ended = False
        self.submitted = False
        """The next text of shell is one for Slurm."""

    def commands(self) -> list[Ran]:
        """What the script runs."""
        root = self._root(self.frame.source)
        self._directives(root)
        self._block(root.children)
        return self.ran

    def _root(self, source: Source) -> Node:
        """The tree of a text. What its gaps may assign is not known from here on."""
        root = source.tree
        for gap in source.gaps:
            place = source.row(gap.first)
            for name in gap.names:
                reason = f"line {place.line} is not understood, so {name} is not known"
                self.variables.doubted[name] = Piece(f"${name}", place, reason)
            text = Word(gap.text, place, f"line {place.line} is not understood as shell")
            self.ran.append(Ran((Word("#?", place), text), {}, place))
        return root

    # Lines for Slurm

    def _directives(self, root: Node) -> None:
        for node in root.children:
            if node.type != "comment":
                return
            line = text_of(node)
            if not re.match(r"#SBATCH\s", line):
                continue
            place = self.frame.source.place(node)
            try:
                parts = shlex.split(line.removeprefix("#SBATCH"), comments=True)
            except ValueError as error:
                raise self.frame.source.problem(place, f"#SBATCH: {error}") from None
            column = 0
            words = [Word("#SBATCH", place)]
            for part in parts:
                column = max(line.find(part, column), column)
                words.append(Word(part, Place(place.line, place.column + column)))
            self.ran.append(Ran(tuple(words), {}, place))
            self._slurm_sets(words[1:])

    def _slurm_sets(self, words: list[Word]) -> None:
        for i, item in enumerate(words):
            option, equals, value = item.text.partition("=")
            if not equals and option in _SLURM and i + 1 < len(words):
                value = words[i + 1].text
            elif not equals and option[:2] in ("-N", "-n"):
                option, value = option[:2], option[2:]
            if value.isdigit():
                for name in _SLURM.get(option, ()):
                    self.variables.put(name, Value(((Piece(value, item.place, quoted=True),),)))

    # Statements

    def _block(self, nodes: list[Node]) -> None:
        for node in nodes:
            if self.ended:
                return
            self._statement(node)

    def _statement(self, node: Node) -> None:
        place = self.frame.source.place(node)
        self.variables.spend(_STATEMENT, place)
        if self.depth > DEEPEST:
            raise self.frame.source.problem(place, f"nested more than {DEEPEST} levels deep")
        self.depth += 1
        self._one(node)
        self.depth -= 1

    def _one(self, node: Node) -> None:
        match node.type:
            case "command" if (gap := self.frame.source.gap(node)) is not None:
                if called := sorted(gap.names & self.functions.keys()):
                    place = self.frame.source.row(gap.first)
                    message = f"this is not understood, and it may call {called[0]}"
                    raise self.frame.source.problem(place, message)
            case "command":
                self._command(node, [])
            case "redirected_statement":
                self._redirected(node)
            case "variable_assignment":
                self._assign(node)
            case "variable_assignments" | "compound_statement" | "do_group":
                self._block(node.named_children)
            case "declaration_command":
                self._declare(node)
            case "unset_command":
                self._unset(node)
            case "negated_command":
                self._block(node.named_children)
            case "list":
                self._list(node)
            case "pipeline":
                for child in node.named_children:
                    self._apart(lambda child=child: self._statement(child))  # type: ignore[misc]
            case "subshell":
                self._apart(lambda: self._block(node.named_children))
            case "if_statement":
                self._if(node)
            case "case_statement":
                self._case(node)
            case "for_statement" | "c_style_for_statement" | "while_statement":
                self._loop(node)
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is not None and body is not None:
                    self.functions[text_of(name)] = (body, self.frame)
            case "postfix_expression" | "unary_expression" | "binary_expression":
                self._forget(_assigned(node), "works it out", node)
            case _:  # tests, comments, punctuation
                pass

    def _unset(self, node: Node) -> None:
        written = text_of(node)
        for child in node.named_children:
            name = re.match(r"[\"']?([A-Za-z_]\w*)", text_of(child))
            element = "[" in text_of(child) or f"{text_of(child)}[" in written
            if name and element:
                self._forget_all(name[1], "unsets an element of it", node)
            elif name:
                self.variables.put(name[1], Value(()))

    def _redirected(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
        documents = [each for each in redirects if each.type == "heredoc_redirect"]
        more = [
            extra
            for redirect in redirects
            for extra in redirect.children_by_field_name("destination")[1:]
        ]
        for redirect in documents:
            more += redirect.children_by_field_name("argument")
        document = self._document(documents[-1]) if documents else None
        if body is not None and body.type == "command":
            self._command(body, more, document)
        elif body is not None:
            self._statement(body)
        for redirect in documents:  # what the tree puts between << and the text
            self._behind(redirect, document)

    def _behind(self, redirect: Node, document: Text | None) -> None:
        for pipeline in (c for c in redirect.named_children if c.type == "pipeline"):
            for child in pipeline.named_children:
                if child.type == "command":  # as in cat << END | bash
                    self._apart(lambda child=child: self._command(child, [], document))  # type: ignore[misc]
                else:
                    self._apart(lambda child=child: self._statement(child))  # type: ignore[misc]
        right = redirect.child_by_field_name("right")
        operator = redirect.child_by_field_name("operator")
        if right is None or operator is None or self.ended:
            return
        if operator.type == "&&":
            self._statement(right)
        else:
            self._branches([lambda: self._statement(right)], right)

    def _document(self, redirect: Node) -> Text:
        """The text of a here-document."""
        body = next((c for c in redirect.named_children if c.type == "heredoc_body"), None)
        start = next((c for c in redirect.named_children if c.type == "heredoc_start"), None)
        if body is None or start is None:
            return ()
        pieces = self.frame.words.document(body, literal=text_of(start)[:1] in ("'", '"', "\\"))
        if redirect.children[0].type == "<<-":
            pieces = [
                replace(p, text=re.sub(r"^\t+", "", p.text, flags=re.MULTILINE)) for p in pieces
            ]
        return tuple(pieces)

    def _list(self, node: Node) -> None:
        """``A && B || C``: what follows a plain command and && is taken to run."""
        parts: list[Node] = []
        while node.type == "list":
            left, *_, right = node.children
            operator = next(child for child in node.children if child.type in ("&&", "||"))
            parts += [right, operator]
            node = left
        parts.append(node)
        parts.reverse()
        self._statement(parts[0])
        value = holds(parts[0], self.frame.words)
        before = parts[0]
        for operator, right in zip(parts[1::2], parts[2::2], strict=True):
            if self.ended:
                return
            runs = value if operator.type == "&&" or value is None else not value
            unset = operator.type == "&&" and self._gives_default(before, right)
            if (
                runs
                or unset
                or (runs is None and operator.type == "&&" and before.type not in _TESTS)
            ):
                self._statement(right)
                value = holds(right, self.frame.words)
            elif runs is None:
                self._branches([lambda right=right: self._statement(right)], right)  # type: ignore[misc]
                value = None
            before = right

    def _gives_default(self, condition: Node, body: Node) -> bool:
        """``[ -z "$X" ] && X=8``, where only the caller can have set X."""
        name = asks_whether_empty(condition)
        if not name or name not in _assigned(body):
            return False
        value = self.variables.get(name)
        return value is None or all(p.absent for item in value.items for p in item)

    def _apart(self, run: Callable[[], None]) -> dict[str, Value]:
        """Run in a shell of its own; return what it assigned."""
        self.variables.scopes.append({})
        ended = self.ended
        run()
        self.ended = ended
        return self.variables.scopes.pop()

    def _branches(
        self, branches: list[Callable[[], None]], node: Node, *, whole: bool = False
    ) -> None:
        """Alternatives, of which one is taken; or none, unless ``whole``."""
        outcomes: list[dict[str, Value]] = [] if whole else [{}]
        for branch in branches:
            self.variables.scopes.append({})
            branch()
            outcome = self.variables.scopes.pop()
            if not self.ended:
                outcomes.append(outcome)
            self.ended = False
        if not outcomes:
            self.ended = True
            return
        names = dict.fromkeys(name for outcome in outcomes for name in outcome)
        place = self.frame.source.place(node)
        for name in names:
            before = self.variables.get(name)
            values = [outcome.get(name, before) for outcome in outcomes]
            self.variables.spend(sum(_size(value) for value in values), place)
            if values[1:]:
                at = _first_line(values, before, place)
                reason = f"line {at} sets {name} where a condition holds"
                value = either(name, values, reason, place)
            else:
                value = values[0] or Value(())
            self.variables.put(name, value)

    def _if(self, node: Node) -> None:
        clauses: list[tuple[Node | None, list[Node]]] = []
        condition = node.child_by_field_name("condition")
        body = [c for c in node.named_children if c.type not in ("elif_clause", "else_clause")]
        clauses.append((condition, body[1:]))
        for clause in node.named_children:
            if clause.type == "elif_clause":
                clauses.append((clause.named_children[0], clause.named_children[1:]))
            elif clause.type == "else_clause":
                clauses.append((None, clause.named_children))
        branches: list[Callable[[], None]] = []
        whole = False
        for test, statements in clauses:
            if test is not None and test.type not in _TESTS:
                self._statement(test)
            value = True if test is None else holds(test, self.frame.words)
            if (
                test is not None
                and value is None
                and any(self._gives_default(test, statement) for statement in statements)
            ):
                value = True
            if value is not False:
                branches.append(lambda statements=statements: self._block(statements))  # type: ignore[misc]
            if value:
                whole = True
                break
        if whole and len(branches) == 1:
            branches[0]()
        else:
            self._branches(branches, node, whole=whole)

    def _case(self, node: Node) -> None:
        subject = node.child_by_field_name("value")
        text = () if subject is None else self.frame.words.text(subject)
        branches: list[Callable[[], None]] = []
        whole = falls = False
        for item in node.named_children:
            if item.type != "case_item" or whole:
                continue
            patterns = item.children_by_field_name("value")
            body = [c for c in item.named_children if c not in patterns]
            written = [text_of(pattern) for pattern in patterns]
            taken = (
                None
                if why(text)
                else any(
                    matches(shown(text), shown(self.frame.words.text(pattern)))
                    for pattern in patterns
                )
            )
            taken = taken if taken is not False or not falls else None
            falls = item.child_by_field_name("fallthrough") is not None
            if taken is not False:
                branches.append(lambda body=body: self._block(body))  # type: ignore[misc]
            whole = (bool(taken) or "*" in written) and not falls
        if whole and len(branches) == 1:
            branches[0]()
        else:
            self._branches(branches, node, whole=whole)

    def _loop(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        variable = node.child_by_field_name("variable")
        items = list(node.children_by_field_name("value"))
        assigned = _assigned(node)

        def once() -> None:
            self._forget(assigned, "changes it in a loop", node)
            if variable is not None:
                self._turn(text_of(variable), items, node)
            if body is not None:
                self._statement(body)

        self._branches([once], node)

    def _turn(self, name: str, items: list[Node], node: Node) -> None:
        texts = self.frame.words.of(items)
        place = self.frame.source.place(node)
        if len(texts) == 1:
            self.variables.put(name, Value((texts[0],)))
            return
        given = ", ".join(shown(text) for text in texts)[:60]
        reason = f"line {place.line} gives {name} {given} in turn"
        self.variables.put(name, Value(((Piece(f"${name}", place, reason),),)))

    def _forget(self, names: list[str], what: str, node: Node) -> None:
        place = self.frame.source.place(node)
        for name in names:
            reason = f"line {place.line} {what}, so {name} is not known"
            piece = Piece(f"${name}", place, reason)
            before = self.variables.get(name)
            if before is not None and before.array:
                self.variables.put(name, replace(before, items=(*before.items, (piece,))))
            else:
                self.variables.put(name, Value(((piece,),)))

    # Assignments

    def _declare(self, node: Node) -> None:
        keyword = text_of(node.children[0])
        options = "".join(text_of(c)[1:] for c in node.named_children if text_of(c).startswith("-"))
        exported = (keyword == "export" and "n" not in options) or "x" in options
        local = keyword == "local" or (keyword in ("declare", "typeset") and "g" not in options)
        for child in node.named_children:
            name = text_of(child) if child.type == "variable_name" else ""
            if child.type == "variable_assignment":
                name = text_of(child.named_children[0])
            quoted = _ASSIGNED.match(text_of(child)) if child.type in _STRINGS else None
            if quoted:
                name = quoted[1]
            if local and self.locals and name:
                self.locals[-1].setdefault(name, self.variables.get(name))
            if child.type == "variable_assignment":
                self._assign(child)
                if "i" in options:
                    self._forget([name], "reckons", child)
            if quoted:  # as in export "TP=4"
                text = tuple(piece for piece in self.frame.words.text(child) if piece.text)
                first = replace(text[0], text=text[0].text.partition("=")[2])
                self.variables.put(name, Value(((first, *text[1:]),)))
            if exported and name and (value := self.variables.get(name)) is not None:
                self.variables.put(name, replace(value, exported=True))

    def _assign(self, node: Node) -> None:
        target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if target is None:
            return
        place = self.frame.source.place(node)
        name = text_of(target)
        if target.type == "subscript":
            self._assign_element(node, target, value)
            return
        added = any(child.type == "+=" for child in node.children)
        new = self._value(value, place)
        before = self.variables.get(name) if added else None
        if before is not None:
            self.variables.spend(_size(before), place)
            if before.array or new.array:
                new = Value(before.items + new.items, array=True)
            else:
                new = Value(((*(before.items[0] if before.items else ()), *new.items[0]),))
        self.variables.put(name, new)

    def _assign_element(self, node: Node, target: Node, value: Node | None) -> None:
        """``NAME[2]=value``, where the elements before it are known."""
        name = text_of(target.named_children[0])
        index = text_of(target.named_children[-1])
        before = self.variables.get(name) or Value((), array=True)
        added = any(child.type == "+=" for child in node.children)
        known = index.isdecimal() and not any(why(item) for item in before.items)
        if added or not known or int(index) > len(before.items):
            self._forget_all(name, "sets an element of it", node)
            return
        items = list(before.items)
        items[int(index) : int(index) + 1] = self._value(value, self.frame.source.place(node)).items
        self.variables.put(name, replace(before, items=tuple(items), array=True))

    def _forget_all(self, name: str, what: str, node: Node) -> None:
        """Forget every element of an array, and how many it has."""
        self.variables.put(name, Value(()))
        self._forget([name], what, node)

    def _value(self, node: Node | None, place: Place) -> Value:
        if node is None:
            return Value(((Piece("", place, quoted=True),),))
        if node.type != "array":
            return Value((self.frame.words.text(node),))
        items = [child for child in node.named_children if child.type != "comment"]
        return Value(tuple(self.frame.words.of(items)), array=True)

    # Commands

    def _command(self, node: Node, more: list[Node], document: Text | None = None) -> None:
        place = self.frame.source.place(node)
        assignments = [c for c in node.named_children if c.type == "variable_assignment"]
        if any(self.frame.source.line_ends_after(each) for each in assignments):
            # `A=1 B=2` on a line of its own, which the grammar puts in front of the next command
            last = max(
                i for i, each in enumerate(assignments) if self.frame.source.line_ends_after(each)
            )
            for assignment in assignments[: last + 1]:
                self._assign(assignment)
            assignments = assignments[last + 1 :]
        rest = [
            child
            for child in node.named_children
            if child.type
            not in ("variable_assignment", "file_redirect", "herestring_redirect", "comment")
        ]
        texts = self.frame.words.of([*rest, *more])
        if not texts:
            for assignment in assignments:
                self._assign(assignment)
            return
        self.variables.scopes.append({})
        for assignment in assignments:
            self._assign(assignment)
            name = text_of(assignment.named_children[0])
            if (value := self.variables.get(name)) is not None:
                self.variables.put(name, replace(value, exported=True))
        environment = self.variables.environment(place)
        self.variables.scopes.pop()
        if document is not None and (shell := _reads_commands(texts)) is not None:
            prefix = tuple(texts[:shell])
            self.submitted = shown(texts[0]) == "sbatch"
            self._another_shell(document, prefix, environment, node, place)
            return
        self._run(texts, environment, node, place)

    def _run(
        self, texts: list[Text], environment: Mapping[str, Word], node: Node, place: Place
    ) -> None:
        name = "" if why(texts[0]) else shown(texts[0])
        arguments = [shown(text) for text in texts[1:]]
        match name:
            case "exit" | "return":
                self.ended = True
            case "eval":
                self._again(texts[1:], (), node, place)
            case "set" if "--" in arguments:
                self.variables.positional = tuple(texts[arguments.index("--") + 2 :])
            case "shift" if self.variables.positional is not None:
                count = int(arguments[0]) if arguments and arguments[0].isdecimal() else 1
                self.variables.positional = self.variables.positional[count:]
            case "source" | ".":
                self.variables.sources.append(f"{' '.join(arguments)} that line {place.line} reads")
                self._record(texts, environment, place)
            case "read" | "mapfile" | "readarray" | "getopts" | "let" | "printf":
                names = arguments if name != "printf" else arguments[1:2] * ("-v" in arguments[:1])
                found = [match[0] for n in names if (match := re.match(r"[A-Za-z_]\w*", n))]
                self._forget(found, "reads it" if name != "let" else "works it out", node)
                self._record(texts, environment, place)
            case _ if name in self.functions and name not in self.calling:
                self._call(name, texts[1:])
            case _:
                self._launch(texts, environment, node, place)

    def _launch(
        self, texts: list[Text], environment: Mapping[str, Word], node: Node, place: Place
    ) -> None:
        """Record a command, or those of the shell that it starts."""
        for i, text in enumerate(texts[:-2]):
            if PurePosixPath(shown(text)).name in _SHELLS and not why(text):
                for j in range(i + 1, len(texts) - 1):
                    option = shown(texts[j])
                    if re.fullmatch(r"-[a-z]*c", option):
                        self._another_shell(
                            texts[j + 1], tuple(texts[:i]), environment, node, place
                        )
                        return
                    if not option.startswith("-"):
                        break
        self._record(texts, environment, place)
        if shown(texts[0]) == "exec" and len(texts) > 1:
            self.ended = True

    def _another_shell(
        self,
        text: Text,
        prefix: tuple[Text, ...],
        environment: Mapping[str, Word],
        node: Node,
        place: Place,
    ) -> None:
        def run() -> None:
            for name, value in environment.items():
                piece = Piece(value.text, value.place, value.unknown, quoted=True)
                self.variables.put(name, Value(((piece,),), exported=True))
            self._again([text], prefix, node, place)

        outer = self.variables.inherited
        self.variables.inherited = len(self.variables.scopes)
        self._apart(run)
        self.variables.inherited = outer

    def _again(self, texts: list[Text], prefix: tuple[Text, ...], node: Node, place: Place) -> None:
        """Follow a text as shell. What is unknown in it stands in variables."""
        parts: list[str] = []
        for text in texts:
            for piece in text:
                if piece.unknown:
                    name = f"__unknown_{len(parts)}_{self.depth}"
                    self.variables.scopes[-1][name] = Value(((piece,),))
                    parts.append(f"${{{name}}}")
                else:
                    parts.append(piece.text)
            parts.append(" ")
        written = "".join(parts)[:-1]
        self.variables.spend(len(written), place)
        at = next((piece.place for text in texts for piece in text if piece.text), place)
        whole = len(texts) == 1 and not why(texts[0]) and _stands_whole(node, texts[0])
        source = Source(self.variables.name, written, at, whole=whole)
        outer = self.frame
        self.frame = _Frame(source, self.variables, (*outer.prefix, *prefix))
        self._statement_of(source)
        self.frame = outer

    def _statement_of(self, source: Source) -> None:
        if self.depth > DEEPEST:
            raise source.problem(source.at or Place(1, 1), f"more than {DEEPEST} shells in shells")
        self.depth += 1
        root = self._root(source)
        if self.submitted:
            self.submitted = False
            self._directives(root)
        self._block(root.children)
        self.depth -= 1

    def _call(self, name: str, arguments: list[Text]) -> None:
        body, frame = self.functions[name]
        outer, positional = self.frame, self.variables.positional
        self.frame = _Frame(frame.source, self.variables, outer.prefix)
        self.variables.positional = tuple(arguments)
        self.calling.append(name)
        self.locals.append({})
        exits = self.ended
        self._statement(body)
        self.ended = exits
        for variable, before in self.locals.pop().items():
            self.variables.put(variable, before if before is not None else Value(()))
        self.calling.pop()
        self.frame, self.variables.positional = outer, positional

    def _record(self, texts: list[Text], environment: Mapping[str, Word], place: Place) -> None:
        if self.frame.prefix and shown(texts[0]).startswith("-") and not why(texts[0]):
            message = f"a command begins with {shown(texts[0])}: what is above ends the one before"
            raise self.frame.source.problem(place, message)
        words = tuple(word(text, place) for text in (*self.frame.prefix, *texts))
        self.variables.spend(len(words), place)
        self.ran.append(Ran(words, environment, place))


def _reads_commands(texts: list[Text]) -> int | None:
    """Where the shell begins that reads its commands from a here-document; None if none does."""
    names = [PurePosixPath(shown(text)).name for text in texts]
    if names[0] == "sbatch":
        operands = [name for name in names[1:] if not name.startswith("-")]
        return None if any(_SCRIPT.search(each) for each in operands) else 0
    if names[0] == "ssh":
        return 0
    for i, name in enumerate(names):
        if name in _SHELLS:
            options = [shown(text) for text in texts[i + 1 :]]
            script = options and "-s" not in options and not all(o.startswith("-") for o in options)
            return None if script or any(re.fullmatch(r"-[a-z]*c", o) for o in options) else i
    return None


def _size(value: Value | None) -> int:
    return 1 if value is None else sum(1 + len(item) for item in value.items)


def _first_line(values: list[Value | None], before: Value | None, place: Place) -> int:
    """The line that sets a variable in a branch."""
    lines = [
        piece.place.line
        for value in values
        if value is not None and value is not before
        for item in value.items
        for piece in item
        if piece.place >= place
    ]
    return min(lines, default=place.line)


def _assigned(node: Node) -> list[str]:
    """The variables that a part of the script assigns."""
    found: dict[str, None] = {}
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if inner.type == "variable_assignment":
            target = inner.named_children[0]
            found[text_of(target.named_children[0] if target.type == "subscript" else target)] = (
                None
            )
        elif inner.type in ("postfix_expression", "unary_expression") and any(
            child.type in ("++", "--") for child in inner.children
        ):
            found.update((text_of(c), None) for c in inner.named_children)
        waiting += inner.named_children
    return list(found)


def _stands_whole(node: Node, text: Text) -> bool:
    """Whether a text is written in one piece, so that what is in it keeps its place."""
    written = shown(text)
    return any(
        child.type == "raw_string" and text_of(child)[1:-1] == written
        for child in node.named_children
    )
