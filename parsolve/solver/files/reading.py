"""A file as a configuration: what was understood, and what was not."""

from __future__ import annotations

import re
import stat
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from parsolve.constraints.fields import Flag, Misuse
from parsolve.constraints.models.presets import known
from parsolve.constraints.profile import Profile
from parsolve.solver.files.document import (
    LARGEST_FILE,
    Document,
    Entry,
    FileProblem,
    Place,
    Unrecognised,
)
from parsolve.solver.files.format import AXIS, CLUSTER, MODEL, Format, Unjudged, Unsaid, plain
from parsolve.solver.files.formats import FORMATS

SCRIPTS = (".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".job", ".ksh", ".cmd")
SUFFIXES = (".yaml", ".yml", ".json", ".toml", *SCRIPTS)
"""What a folder is searched for."""

CLOSE = 0.85
"""How alike a word and a key are before the word is taken for a slip of the pen."""

_NAME = re.compile(r"[\w.@/\-]+")
"""What a setting may be called; other words of a script stand for settings that are not known."""


@dataclass(frozen=True, slots=True)
class Said:
    """A setting that was understood: of a field, of the cluster or of the model (``of``).

    Without a place, its absence says it. ``unjudged`` tells why no rule can judge it.
    """

    of: str
    value: Any
    key: str
    place: Place | None
    unknown: str = ""
    unjudged: str = ""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A setting that decides nothing here, and why."""

    key: str
    value: Any
    place: Place
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file says. ``said`` has at most one setting of each field, by its name.

    ``beside`` are further settings that tell about a field together with the one in ``said``.
    """

    document: Document
    format: Format
    said: Mapping[str, Said]
    ignored: tuple[Ignored, ...]
    beside: tuple[Said, ...] = ()

    @property
    def profile(self) -> Profile:
        """Whose rules judge it."""
        return self.format.profile

    def without(self, fields: Container[str]) -> Reading:
        """The same, with settings that turn out to say nothing of this run."""
        vain = [each for each in (*self.said.values(), *self.beside) if each.of in fields]
        return replace(
            self,
            said={of: each for of, each in self.said.items() if of not in fields},
            beside=tuple(each for each in self.beside if each.of not in fields),
            ignored=(
                *self.ignored,
                *(
                    Ignored(each.key, each.value, each.place, "it says nothing of this model")
                    for each in vain
                    if each.place is not None
                ),
            ),
        )


def contents(path: str | Path) -> str:
    """The text of a file. Raises `FileProblem` for what is no text, or beyond `LARGEST_FILE`."""
    file, name = Path(path), str(path)
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise FileProblem(name, None, "not a file")
        if file.stat().st_size > LARGEST_FILE:
            raise Unrecognised(name, None, f"larger than {LARGEST_FILE:,} bytes")
        content = file.read_bytes()
        try:
            return decoded(name, content)
        except FileProblem as problem:
            if _speaks_of_training(content.decode("latin-1")):
                raise
            raise Unrecognised(name, problem.place, problem.message) from None
    except OSError as error:
        raise FileProblem(name, None, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a null character in the path
        if isinstance(error, Misuse):
            raise
        raise FileProblem(repr(name), None, "is no path") from None


def decoded(name: str, content: bytes) -> str:
    """UTF-8, with or without a byte order mark, or UTF-16 with one."""
    try:
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            return content.decode("utf-16")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        start = content.rfind(b"\n", 0, error.start) + 1
        place = Place(line, error.start - start + 1)
        raise FileProblem(name, place, "not UTF-8 text") from None


@lru_cache(maxsize=2)  # the command line looks at a file for its options, before it is judged
def read(name: str, text: str, profile: str | None = None) -> Reading:
    """What a file of this name says; ``profile`` names whose files it may be.

    Raises `FileProblem` where it cannot be parsed, `Unrecognised` where it is about nothing that
    is read here.
    """
    try:
        document = parsed(name, text)
    except FileProblem as problem:
        if _speaks_of_training(text):
            raise
        raise Unrecognised(problem.name, problem.place, problem.message) from None
    if document is not None:
        likely = likely_formats(document, profile)
        if len(likely) == 1:
            return interpreted(document, likely[0])
        if likely:
            names = " or ".join(dict.fromkeys(each.profile_name for each in likely))
            titles = ", ".join(each.title for each in likely)
            message = f"it may be any of {titles}: give --profile {names}"
            raise FileProblem(name, None, message)
    taken = [each for each in FORMATS if profile in {None, each.profile_name}]
    expected = "; ".join(dict.fromkeys(each.title for each in taken)) or "none for this profile"
    message = f"nothing in it is about parallelism or the batch; what is read: {expected}"
    raise Unrecognised(name, None, message)


def _speaks_of_training(text: str) -> bool:
    words = plain(text)
    return any(mark in words for each in FORMATS for mark in each.marks)


def parsed(name: str, text: str) -> Document | None:
    """The file as a document, by the end of its name; without a known one, by what it holds."""
    from parsolve.solver.files import trees  # noqa: PLC0415  (parsers, which few commands need)

    suffix = Path(name).suffix.lower()
    if suffix in {".yaml", ".yml"}:
        return trees.yaml_document(name, text)
    if suffix == ".json":
        return trees.json_document(name, text)
    if suffix == ".toml":
        return trees.toml_document(name, text)
    from parsolve.solver.files.command_line import document  # noqa: PLC0415

    if suffix in SCRIPTS:
        return document(name, text)
    if text.lstrip().startswith("{"):
        return trees.json_document(name, text)
    for attempt in (document, trees.toml_document, trees.yaml_document):
        try:
            found = attempt(name, text)
        except FileProblem:
            continue
        if found is not None and likely_formats(found):
            return found
    return None


def likely_formats(document: Document, profile: str | None = None) -> list[Format]:
    """Formats of which the file holds the most marks; several if as many."""
    held = {plain(entry.key) for entry in document.entries}
    found: dict[int, list[Format]] = {}
    for each in FORMATS:
        if (
            document.kind in each.kinds
            and profile in {None, each.profile_name}
            and each.needed <= held
        ):
            found.setdefault(len(each.marks & held), []).append(each)
    best = max(found, default=0)
    return found[best] if best else []


def interpreted(document: Document, format_: Format) -> Reading:
    """The document as this format reads it."""
    reader = _Reader(document, format_)
    reader.settings()
    return Reading(document, format_, reader.said, tuple(reader.ignored), tuple(reader.beside))


def values_of(document: Document) -> dict[str, Any]:
    """The values of a document by path, in the one spelling of dashes; the last of each counts."""
    return {plain(entry.key): entry.value for entry in document.entries}


class _Reader:
    def __init__(self, document: Document, format_: Format) -> None:
        self.document = document
        self.format = format_
        self.said: dict[str, Said] = {}
        self.ignored: list[Ignored] = []
        self.beside: list[Said] = []

    def settings(self) -> None:
        last = {plain(entry.key): entry for entry in self.document.entries}
        for entry in self.document.entries:
            final = last[plain(entry.key)]
            if final is not entry and self.format.once and entry.key == final.key:
                message = f"{entry.key} is given again here (first on line {entry.place.line})"
                raise self.document.problem(final.place, f"{message}, which the framework refuses")
            if final is not entry:
                self._ignore(entry, f"given again on line {final.place.line}, which counts")
            elif plain(entry.key) not in self.format.in_phrases:
                self._setting(entry)
        values = values_of(self.document)
        self._phrases(values, last)
        if self.format.derived is None:
            return
        for name, (path, value) in self.format.derived(values).items():
            paths = (path,) if isinstance(path, str) else path
            self._derived(name, value, [last[each] for each in map(plain, paths) if each in last])

    def _derived(self, name: str, value: Any, by: list[Entry]) -> None:  # noqa: ANN401
        """What several settings say of a field, instead of what one of them said."""
        places = {entry.place for entry in by}
        before = self.said.pop(name, None)
        if before is not None and before.place is not None and before.place not in places:
            entry = Entry(before.key, before.value, before.place)
            self._ignore(entry, "the framework ignores it here")
        if value is None:
            return
        self.said[name] = _together(name, value, by[0] if by else None)
        self.beside += [_together(name, value, entry) for entry in by[1:]]
        self.ignored = [each for each in self.ignored if each.place not in places]

    def _phrases(self, values: Mapping[str, Any], last: Mapping[str, Entry]) -> None:
        """What several keys say of a field: in the first one's place, the others beside it."""
        for of in dict.fromkeys(phrase.of for phrase in self.format.phrases):
            phrases = [each for each in self.format.phrases if each.of == of]
            paths = dict.fromkeys(plain(path) for each in phrases for path in each.says)
            held = [last[path] for path in paths if path in last]
            for phrase in phrases:
                if phrase.holds(values):
                    first = held[0] if held else None
                    self.said[of] = _together(of, phrase.value, first)
                    self.beside += [_together(of, phrase.value, each) for each in held[1:]]
                    break
            else:
                for entry in held:
                    self._ignore(entry, "alone it says nothing")

    def _setting(self, entry: Entry) -> None:
        key = self.format.key(entry.key)
        if key is None:
            remark = self.format.remarks.get(plain(entry.key))
            opaque = entry.unknown and not _NAME.fullmatch(entry.key)
            self._ignore(entry, remark or (entry.unknown if opaque else self._slip(entry.key)))
            return
        value = key.read(entry.value)
        if isinstance(value, Unsaid):
            self._ignore(entry, value.why)
        elif isinstance(value, Unjudged):
            self.said[key.of] = Said(
                key.of, entry.value, entry.key, entry.place, unjudged=value.why
            )
        elif key.of == AXIS:
            self._axis(entry, value)
        elif value is None and not entry.unknown:
            self._ignore(entry, "null: the default holds")
        elif key.of == MODEL and known(str(value)) is None:
            self._ignore(entry, "no model that is known by name; --model, --moe or --dense tells")
        elif (before := self.said.get(key.of)) is not None and before.value != value:
            message = f"{entry.key} and {before.key} (line {before.place and before.place.line}) "
            message += f"say different things: {entry.value} and {before.value}"
            raise self.document.problem(entry.place, message)
        else:
            if before is not None:  # the same, in another key
                self.beside.append(before)
            self.said[key.of] = self._typed(key.of, value, entry)

    def _axis(self, entry: Entry, value: Any) -> None:  # noqa: ANN401
        if value is None or (value == 1 and value is not True):
            self._ignore(entry, "off, as every axis that the rules do not know must be")
            return
        why = f"it splits ranks, and {self.format.profile.title} has no such axis"
        self.said[f"{AXIS} {entry.key}"] = Said(AXIS, value, entry.key, entry.place, unjudged=why)

    def _typed(self, of: str, value: Any, entry: Entry) -> Said:  # noqa: ANN401
        """The setting with its value as the field holds it. Raises `FileProblem`."""
        if entry.unknown or of == MODEL:
            return Said(of, value, entry.key, entry.place, entry.unknown)
        if of in CLUSTER:
            if type(value) is not int or value < 1:
                message = f"{entry.key} counts machines or GPUs, got {value!r:.60}"
                raise self.document.problem(entry.place, message)
            return Said(of, value, entry.key, entry.place)
        field = self.format.profile.field_of[of]
        if self.document.kind == "script" and isinstance(field, Flag) and isinstance(value, str):
            value = {"true": True, "false": False}.get(value.lower(), value)
        try:
            return Said(of, field.parse(value), entry.key, entry.place)
        except Misuse as error:
            message = f"{entry.key}: {error}"
            raise self.document.problem(entry.place, message) from None

    def _ignore(self, entry: Entry, why: str) -> None:
        self.ignored.append(Ignored(entry.key, entry.value, entry.place, why))

    def _slip(self, path: str) -> str:
        """What a key that nothing knows may have meant; nothing where it is like none."""
        word = plain(path)
        differ = 1 - CLOSE  # of the letters of both, how many may have no counterpart
        length, letters = len(word), _letters(word)
        alike = [
            known
            for known, size, others in self._sketches
            if max(abs(size - length), (letters ^ others).bit_count()) <= differ * (size + length)
        ]
        close = get_close_matches(word, alike, n=1, cutoff=CLOSE) if alike else ()
        return f"did you mean {close[0]}?" if close else ""

    @cached_property
    def _sketches(self) -> list[tuple[str, int, int]]:
        """What is known, with length and letters: comparing every key with all of it takes long."""
        return [(known, len(known), _letters(known)) for known in self._known()]

    def _known(self) -> Iterable[str]:
        yield from self.format.of_path
        for section in self.format.sections:
            for spelling in self.format.profile.spellings:
                yield f"{section}.{spelling}" if section else spelling


def _letters(word: str) -> int:
    """The letters of a word as a set of bits; those that share a bit only look more alike."""
    bits = 0
    for letter in set(word):
        bits |= 1 << (ord(letter) & 63)
    return bits


def _together(of: str, value: Any, by: Entry | None) -> Said:  # noqa: ANN401
    """What several keys say, in the place of one of them; or what their absence says."""
    key, place = ("", None) if by is None else (by.key, by.place)
    if isinstance(value, Unjudged):
        held = None if by is None else by.value
        return Said(of, held, key, place, unjudged=value.why)
    return Said(of, value, key, place)


def files_in(folder: Path) -> Iterator[Path]:
    """Files below a folder that may be configurations, in order; what is hidden is left out.

    Links that lead nowhere are among them: somebody means to launch with what is not there.
    """
    for found in sorted(folder.rglob("*")):
        inside = found.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in inside)
        if not hidden and found.suffix.lower() in SUFFIXES and (found.is_file() or _broken(found)):
            yield found


def _broken(link: Path) -> bool:
    return link.is_symlink() and not link.exists()
