"""The launch of a training run in a script or a command line, as settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from parsolve.solver.files.document import Document, Entry, FileProblem
from parsolve.solver.files.launchers import Launch, launch
from parsolve.solver.files.script import Command, Word, commands

_OPTION = re.compile(r"--?[A-Za-z][\w.\-/]*(?==|$)")
_OVERRIDE = re.compile(r"(\+{0,2})([A-Za-z_][\w.@/]*)=(.*)", re.DOTALL)
_REMOVAL = re.compile(r"~([A-Za-z_][\w.@/]*)(=.*)?", re.DOTALL)
_INTEGER = re.compile(r"[+-]?\d{1,19}")
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_CONFIG = re.compile(r"[^\s=]+\.(ya?ml|json|toml)")


def document(name: str, text: str) -> Document | None:
    """The settings that a script launches training with; None if it launches none.

    The keys are the options of the training program without their dashes, the paths of
    overrides (``model.tensor_model_parallel_size=4``), ``program``, ``config`` for a
    configuration that is named without an option, ``cluster.nodes``, ``cluster.gpus_per_node``
    and ``cluster.world_size`` as far as launchers say them, and ``env.NAME`` for what is
    exported. Arguments that are not known at all have what is written as key, such as
    ``$EXTRA_ARGS``. Raises
    `FileProblem` for what is no shell, and for several launches that differ.
    """
    ran = commands(name, text)
    for command in ran:
        first = command.words[0]
        if first.text.startswith("-") and not first.unknown:
            message = (
                f"a command begins with {first.text}: what is above ends the command before it,"
                " such as a comment or a line without a backslash at its end"
            )
            raise FileProblem(name, first.place, message)
    slurm = tuple(w for c in ran if c.words[0].text == "#SBATCH" for w in c.words[1:])
    found = [(c, start) for c in ran if (start := launch(c, slurm)) is not None]
    strongest = max((start.evidence for _, start in found), default=0)
    launches = [(c, _entries(start)) for c, start in found if start.evidence == strongest]
    if not launches:
        return None
    command, entries = launches[-1]
    differing = _differing(launches)
    if len(differing) > 1:
        lines = ", ".join(str(other.place.line) for other in differing)
        message = (
            f"lines {lines} launch with different settings: pass one of them, or split the file"
        )
        raise FileProblem(name, command.place, message)
    return Document(name, "script", (*entries, *_gaps(ran)))


def _gaps(ran: Sequence[Command]) -> Iterator[Entry]:
    """What is not understood of the script; it starts nothing."""
    for command in ran:
        if command.words[0].text == "#?":
            text = command.words[1]
            yield Entry(
                f"`{text.text[:40]}`", None, text.place, f"{text.unknown}; it starts nothing"
            )


def _differing(launches: Sequence[tuple[Command, tuple[Entry, ...]]]) -> list[Command]:
    distinct: dict[str, Command] = {}
    for command, entries in launches:
        settings = [(e.key, e.value, e.value is None and e.unknown) for e in entries]
        distinct.setdefault(repr(settings), command)
    return list(distinct.values())


def _entries(start: Launch) -> tuple[Entry, ...]:
    program = start.program
    if program is None:
        return ()
    return (
        *start.cluster,
        *(
            Entry(f"env.{name}", _known(word.text, word), word.place, word.unknown)
            for name, word in start.environment.items()
        ),
        Entry("program", None if program.unknown else program.text, program.place, program.unknown),
        *_arguments((*start.options, *start.rest)),
    )


def _known(text: str, word: Word) -> int | float | str | None:
    """What a part of a word says, if the word is known."""
    return None if word.unknown else parsed(text)


def parsed(text: str) -> int | float | str:
    """A text as an integer or a float where it is one."""
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _arguments(words: Sequence[Word]) -> Iterator[Entry]:
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        option = _OPTION.match(word.text)
        override = _OVERRIDE.fullmatch(word.text)
        removal = _REMOVAL.fullmatch(word.text)
        if option:
            key = option[0].lstrip("-")
            if option.end() < len(word.text):
                yield Entry(
                    key, _known(word.text[option.end() + 1 :], word), word.place, word.unknown
                )
                continue
            end = at
            while end < len(words) and _is_value(words[end], first=end == at):
                end += 1
            yield _option(key, word, words[at:end])
            at = end
        elif override:
            yield Entry(override[2], _known(override[3], word), word.place, word.unknown)
        elif removal:
            reason = f"{word.text} removes it (line {word.place.line})"
            yield Entry(removal[1], None, word.place, reason)
        elif word.unknown:
            yield Entry(word.text, None, word.place, word.unknown)
        elif _CONFIG.fullmatch(word.text):
            yield Entry("config", word.text, word.place)


def _is_value(word: Word, *, first: bool) -> bool:
    """Whether a word belongs to the option before it."""
    if _OPTION.match(word.text) or _REMOVAL.fullmatch(word.text) or word.text == "--":
        return False
    override = _OVERRIDE.fullmatch(word.text)
    if first:
        return not (override and ("." in override[2] or override[1]))
    return not override and not word.unknown


def _option(key: str, word: Word, values: Sequence[Word]) -> Entry:
    unknown = word.unknown or next((value.unknown for value in values if value.unknown), "")
    if unknown:
        return Entry(key, None, word.place, unknown)
    if not values:
        return Entry(key, value=True, place=word.place)
    texts = [parsed(value.text) for value in values]
    return Entry(key, texts[0] if len(texts) == 1 else texts, word.place)
