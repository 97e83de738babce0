"""The tables of docs/files.md are fresh; ``python tests/test_files_page.py --write``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from parsolve.solver.files.format import (
    AXIS,
    CLUSTER,
    MODEL,
    Format,
    Key,
    Unjudged,
    Unsaid,
)
from parsolve.solver.files.formats import FORMATS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "files.md"

TABLES = re.compile(r"(?<=<!-- keys -->\n).*(?=<!-- end of keys -->)", re.DOTALL)


def about(format_: Format, of: str) -> str:
    """What a key tells of."""
    if of in CLUSTER:
        return {"nodes": "OS nodes", "gpus_per_node": "GPUs of a node"}.get(
            of.partition(".")[2], "GPUs in all"
        )
    if of == MODEL:
        return "the model, where it is known by name"
    if of == AXIS:
        return "an axis that the rules do not know: undecided above 1"
    return f"`{of}`: {format_.profile.field_of[of].about}"


def meanings(key: Key) -> str:
    """Values that mean something else to the field."""
    told = []
    for (_, text), meant in key.values.items():
        shown = str(text).lower() if isinstance(text, bool) else str(text)
        if isinstance(meant, (Unsaid, Unjudged)):
            told.append(f"`{shown}`: {meant.why.removeprefix(f'{shown}: ')}")
        elif str(meant) != shown:
            told.append(f"`{shown}` is {str(meant).lower() if isinstance(meant, bool) else meant}")
    return "; ".join(told)


def rows(format_: Format) -> Iterator[str]:
    """A line for every field that keys tell of, and for every key that only seems to."""
    told = {key.path: key for key in format_.keys}
    for field in format_.profile.fields:
        path = format_.path_of(field)
        if path and path not in told and field.role != "cluster":
            told[path] = Key(path=path, of=field.name)
    for of in dict.fromkeys(key.of for key in told.values()):
        keys = [key for key in told.values() if key.of == of]
        by_name = {key.path.rpartition(".")[2]: key for key in reversed(keys)}
        paths = ", ".join(f"`{key.path}`" for key in reversed(by_name.values()))
        words = dict.fromkeys(filter(None, map(meanings, keys)))
        yield f"| {paths} | {about(format_, of)} | {'; '.join(words)} |\n"
    said: dict[tuple[str, str], list[str]] = {}
    for phrase in format_.phrases:
        if phrase.says and not isinstance(phrase.value, Unjudged):
            held = " and ".join(f"`{path}: {text}`" for path, text in phrase.says.items())
            said.setdefault((phrase.of, phrase.value), []).append(held)
    for (of, value), texts in said.items():
        yield f"| {', '.join(texts)} | `{of}` is {value} | |\n"
    for path, why in format_.remarks.items():
        yield f"| `{path}` | nothing | {why} |\n"


def tables() -> str:
    """The tables of all files that are no command line."""
    parts = []
    for format_ in FORMATS:
        if format_.kinds == {"script"}:
            continue
        kinds = ", ".join(sorted(format_.kinds - {"script"})).upper()
        judge = f"`{format_.profile_name}`" if format_.judged_by_another else "its own profile"
        parts.append(
            f"\n### {format_.title}\n\n{kinds}, judged by {judge}.\n\n"
            "| key | says | |\n|---|---|---|\n"
        )
        parts += rows(format_)
    return "".join(parts) + "\n"


def page(text: str) -> str:
    """The page as it must be."""
    return TABLES.sub(lambda _: tables(), text)


def test_the_tables_are_fresh() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(TABLES.findall(text)) == 1
    assert text == page(text), "run python tests/test_files_page.py --write"


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
