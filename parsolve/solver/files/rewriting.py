"""A file with some of its values changed, and every other byte as it was.

A value is replaced where it is written. A setting that the file has not is added beside its
neighbours. What comes out is read again: it must say what was intended and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, NamedTuple, NoReturn

from parsolve.constraints.fields import Flag
from parsolve.solver.files.document import Document, Entry, FileProblem, Place
from parsolve.solver.files.format import CLUSTER, ENVIRONMENT, NODES, OFF, Format, Key, plain
from parsolve.solver.files.reading import Reading, parsed
from parsolve.solver.files.written import Span, line_after, offset, written_in_script

SLURM_NODES = re.compile(r"^#SBATCH[ \t]+(?:--nodes(?:=|[ \t]+)|-N[ \t]*)(\d+)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of one setting of a file, in its own words; ``entry`` is None where it is new."""

    key: str
    of: str
    value: Any
    entry: Entry | None = None


class _Cut(NamedTuple):
    """A part of the text, and what takes its place."""

    begin: int
    end: int
    text: str


def edits(reading: Reading, values: Mapping[str, Any]) -> Iterator[Edit]:
    """What to change in a file so that its settings have these values, by what they are of.

    Of the cluster only what the file says is changed. Raises `FileProblem` for a setting that such
    files have no key for.
    """
    format_, document = reading.format, reading.document
    last = {plain(entry.key): entry for entry in document.entries}
    for of, held in values.items():
        value = list(held) if isinstance(held, tuple) else held
        places = [(key, entry) for key, entry in _keys(format_, last.values()) if key.of == of]
        for key, entry in places:
            if key.read(entry.value) != value:
                yield Edit(key=entry.key, of=of, value=key.write(value), entry=entry)
        if places or of in CLUSTER:
            continue
        field = format_.profile.field_of[of]
        written = format_.written(field, value)
        if value != field.default and not written:
            message = f"such a file has no key for {of}, which is to be {value}; set it by hand"
            raise document.problem(None, message)
        for path, told in written.items():
            there = last.get(plain(path))
            if there is not None and there.value != told:
                yield Edit(key=there.key, of=of, value=told, entry=there)
            elif there is None and value != field.default:
                yield Edit(key=path, of=of, value=told)


def _keys(format_: Format, entries: Any) -> Iterator[tuple[Key, Entry]]:  # noqa: ANN401  (any view)
    for entry in entries:
        key = format_.key(entry.key)
        if key is not None and key.read(entry.value) is not OFF:
            yield key, entry


def rewritten(text: str, reading: Reading, changes: Sequence[Edit]) -> str:
    """The text of the file with these changes. Raises `FileProblem` where they cannot be made."""
    if not changes:
        return text
    writer = _Writer(text, reading)
    cuts = [cut for edit in changes if edit.entry is not None for cut in writer.cuts(edit)]
    added = [edit for edit in changes if edit.entry is None]
    changed = _applied(text, cuts)
    for edit in added:  # one after the other: each may make place for the next
        document = parsed(reading.document.name, changed)
        assert document is not None  # noqa: S101  (it was one before)
        again = Reading(document, reading.format, {}, ())
        changed = _applied(changed, [_Writer(changed, again).addition(edit)])
    try:
        after = parsed(reading.document.name, changed)
    except FileProblem:  # such as an anchor that aliases name
        _by_hand(reading.document, changes[0])
    _check(reading.document, after, changes)
    return changed


def _applied(text: str, cuts: Sequence[_Cut]) -> str:
    for cut in sorted(set(cuts), reverse=True):
        text = text[: cut.begin] + cut.text + text[cut.end :]
    return text


def _check(before: Document, after: Document | None, changes: Sequence[Edit]) -> None:
    """Refuse a text in which anything else than the changes is changed."""
    changed = {plain(edit.key): edit for edit in changes}
    old = {plain(entry.key): entry.value for entry in before.entries}
    new = {} if after is None else {plain(entry.key): entry.value for entry in after.entries}
    for word, edit in changed.items():
        if edit.value is False and before.kind == "script" and word not in new:
            continue
        if word not in new or not _same(before, new[word], edit.value):
            _by_hand(before, edit)
    for word in old.keys() | new.keys():
        if word not in changed and old.get(word) != new.get(word):
            other = next(iter(changes))
            message = f"{word} is written in the same place as {other.key}: change them by hand"
            raise before.problem(None if other.entry is None else other.entry.place, message)


def _same(document: Document, one: Any, two: Any) -> bool:  # noqa: ANN401  (a file holds anything)
    """Whether two values are one: a script has texts alone, elsewhere true is not 1."""
    if document.kind == "script":
        return str(one).lower() == str(two).lower()
    return type(one) is type(two) and bool(one == two)


def _by_hand(document: Document, edit: Edit) -> NoReturn:
    place = None if edit.entry is None else edit.entry.place
    what = "cannot be added here" if edit.entry is None else "is not written in one place here"
    message = f"{edit.key} {what}; set it to {edit.value} by hand"
    raise FileProblem(document.name, place, message)


class _Writer:
    def __init__(self, text: str, reading: Reading) -> None:
        self.text = text
        self.format = reading.format
        self.document = reading.document
        self.newline = "\r\n" if "\r\n" in text else "\n"

    # --- a value that is there -----------------------------------------------------------------

    def cuts(self, edit: Edit) -> list[_Cut]:
        """The places of a value, and the new one as it is written there."""
        entry = edit.entry
        assert entry is not None  # noqa: S101  (asked only of what is there)
        if self.document.kind == "script":
            batch = self._cuts_of_batch(edit, entry) if edit.of == NODES else []
            if batch and written_in_script(self.text, entry) is None:
                return batch  # the launcher takes it from Slurm
            return [*batch, self._cut_of_script(edit, entry)]
        if entry.span is None or (edit.value is None and self.document.kind == "toml"):
            _by_hand(self.document, edit)
        begin, end = entry.span
        return [_Cut(begin, end, self._spelled(edit.value, self.text[begin:end]))]

    def _cuts_of_batch(self, edit: Edit, entry: Entry) -> list[_Cut]:
        """The nodes that a script asks Slurm for, which must be those of the launcher."""
        return [
            _Cut(*found.span(1), str(edit.value))
            for found in SLURM_NODES.finditer(self.text)
            if found[1] == str(entry.value)
        ]

    def _cut_of_script(self, edit: Edit, entry: Entry) -> _Cut:
        at = offset(self.text, entry.place)
        if entry.value is True and edit.value is False:
            found = re.compile(r"--?[\w.-]+").match(self.text, at)
            if found is None:
                _by_hand(self.document, edit)
            blanks = len(self.text[:at]) - len(self.text[:at].rstrip(" \t"))
            return _Cut(at - blanks, found.end(), "")
        span = written_in_script(self.text, entry)
        if span is None or edit.value is None or isinstance(edit.value, list):
            _by_hand(self.document, edit)
        begin, end = span.value
        return _Cut(begin, end, self._spelled(edit.value, self.text[begin:end]))

    def _spelled(self, value: Any, old: str = "") -> str:  # noqa: ANN401  (a file holds anything)
        """A value as such a file writes it, in the manner of the old one."""
        mark = old[:1] if old[:1] in {"'", '"'} and isinstance(value, str) else ""
        match self.document.kind:
            case "json":
                return json.dumps(value, ensure_ascii=False)
            case "toml":
                return f"'{value}'" if mark == "'" else json.dumps(value, ensure_ascii=False)
            case "script":
                return str(value).lower() if isinstance(value, bool) else quote(str(value))
            case "yaml":
                if isinstance(value, bool):
                    return _switch(value, old)
                return f"{mark}{value}{mark}" if mark else _yaml(value)

    # --- a new setting ---------------------------------------------------------------------------

    def addition(self, edit: Edit) -> _Cut:
        """Where a new setting stands, and its text."""
        match self.document.kind:
            case "script":
                return self._added_option(edit)
            case "yaml":
                return self._added(edit, ": ", comment="#")
            case "toml":
                return self._added(edit, " = ", comment="#")
            case "json":
                return self._added(edit, ": ", comment="")

    def _added(self, edit: Edit, between: str, comment: str) -> _Cut:
        *section, name = edit.key.split(".")
        name = json.dumps(name) if self.document.kind == "json" else name
        setting = f"{name}{between}{self._spelled(edit.value)}"
        beside = self._beside(section)
        if beside is None:
            return self._added_section(edit, section, setting)
        assert beside.span is not None  # noqa: S101  (only such are beside)
        end, indent = beside.span[1], self._indent(beside.place)
        if indent is None:  # several settings on a line
            return _Cut(end, end, f", {setting}")
        if not comment:
            return _Cut(end, end, f",{self.newline}{indent}{setting}")
        at = line_after(self.text, end)
        before = "" if at == 0 or self.text[at - 1] == "\n" else self.newline
        return _Cut(at, at, f"{before}{indent}{setting}{self.newline}")

    def _beside(self, section: Sequence[str]) -> Entry | None:
        """The last setting that stands directly in a section."""
        found = [
            entry
            for entry in self.document.entries
            if entry.span is not None and entry.key.split(".")[:-1] == list(section)
        ]
        return max(found, key=lambda entry: entry.span or (0, 0), default=None)

    def _indent(self, place: Place) -> str | None:
        """What stands before a key in its line, if that is blank."""
        at = offset(self.text, place)
        before = self.text[at - place.column + 1 : at]
        return before if not before.strip() else None

    def _added_section(self, edit: Edit, section: Sequence[str], setting: str) -> _Cut:
        """A section that the file has not, at its end."""
        there = any(entry.key.startswith(".".join(section)) for entry in self.document.entries)
        if not section or there:
            _by_hand(self.document, edit)
        line = self.newline
        match self.document.kind:
            case "toml":
                at, text = len(self.text), f"{line}[{'.'.join(section)}]{line}{setting}{line}"
            case "json":
                beside = self._beside(())
                if beside is None or beside.span is None:
                    _by_hand(self.document, edit)
                indent = self._indent(beside.place)
                for name in reversed(section):
                    setting = f"{json.dumps(name)}: {{{setting}}}"
                gap = " " if indent is None else f"{line}{indent}"
                return _Cut(beside.span[1], beside.span[1], f",{gap}{setting}")
            case _:
                beside = max(self.document.entries, key=lambda each: each.span or (0, 0))
                at = line_after(self.text, (beside.span or (0, 0))[1])
                heads = [f"{'  ' * depth}{name}:" for depth, name in enumerate(section)]
                text = line.join((*heads, f"{'  ' * len(section)}{setting}", ""))
        before = "" if at == 0 or self.text[at - 1] == "\n" else line
        return _Cut(at, at, f"{before}{text}")

    def _added_option(self, edit: Edit) -> _Cut:
        """Behind the last option of the program that is written out."""
        spans: list[Span] = []
        for _, entry in _keys(self.format, self.document.entries):
            if not entry.key.startswith((ENVIRONMENT, *CLUSTER)):
                span = written_in_script(self.text, entry)
                spans += [span] if span is not None else []
        if not spans or edit.value is None or isinstance(edit.value, list):
            _by_hand(self.document, edit)
        end = max(span.word[1] for span in spans)
        field = self.format.profile.field_of[edit.of]
        bare = isinstance(field, Flag) and self.format.profile.reads_argparse
        if bare and not edit.value:
            _by_hand(self.document, edit)
        value = "" if bare else f" {self._spelled(edit.value)}"
        return _Cut(end, end, f" --{edit.key}{value}")


def _switch(value: bool, old: str) -> str:  # noqa: FBT001  (the value itself)
    """True or false in the words of the old value."""
    for pair in (("yes", "no"), ("on", "off"), ("true", "false")):
        for told in (pair, tuple(map(str.title, pair)), tuple(map(str.upper, pair))):
            if old in told:
                return told[0] if value else told[1]
    return "true" if value else "false"


def _yaml(value: Any) -> str:  # noqa: ANN401  (a file holds anything)
    """A value as YAML writes it in one line."""
    import yaml  # noqa: PLC0415  (most commands read no file)

    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return text.removesuffix("...\n").strip()
