"""Verdicts on files for machines that show them beside the line: GitHub, and SARIF readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import PurePath
from typing import Any, Literal, TextIO

from parsolve.cli.files import vocabulary
from parsolve.cli.wording import change_words, speaking
from parsolve.constraints import PROFILES
from parsolve.solver.answer import Files, FileVerdict, Rejected


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to show at a line: ``line`` and ``column`` from 1, None for the whole file."""

    level: Literal["error", "warning", "notice"]
    rule: str
    message: str
    file: str
    line: int | None
    column: int | None


def findings(verdict: FileVerdict) -> Iterator[Finding]:
    """What is wrong with a file: violated rules, then warnings, then settings that nobody reads."""
    if verdict.error is not None:
        place = (verdict.file, verdict.line, verdict.column)
        yield Finding("error", verdict.verdict, verdict.error, *place)
    elif verdict.detail is not None:
        yield from _of_rules(verdict)
    for each in verdict.ignored:
        if each.why is not None:
            message = f"{each.key} is not read: {each.why}"
            yield Finding("notice", "not-read", message, verdict.file, each.line, each.column)


def _of_rules(verdict: FileVerdict) -> Iterator[Finding]:
    detail = verdict.detail
    if detail is None:
        return
    lines = {rule.rule: rule.settings for rule in verdict.rules}

    def place(rule: str) -> tuple[str, int | None, int | None]:
        first = lines.get(rule, ())[:1]
        where = (first[0].line, first[0].column) if first else (None, None)
        return (verdict.file, *where)

    if isinstance(detail, Rejected):
        nearest = ""
        if detail.repairs:
            with speaking(*vocabulary(verdict)):
                change = change_words(PROFILES[detail.profile], detail.repairs[0])
            nearest = f" Nearest valid: {change}."
        for violation in detail.violations:
            message = f"{violation.reason} Here: {violation.because}. {violation.remedy}{nearest}"
            yield Finding("error", violation.rule, message, *place(violation.rule))
    for caution in detail.warnings:
        if caution.kind is not None:
            numbers = f" Here: {caution.because}." if caution.because else ""
            message = f"{caution.reason}{numbers}"
            yield Finding("warning", caution.warning, message, *place(caution.warning))


def write_github(answer: Files, stream: TextIO) -> None:
    """Workflow commands: one annotation a line, then a summary."""
    for verdict in answer.files:
        for each in findings(verdict):
            place = [f"file={_property(each.file)}"]
            place += [f"line={each.line}"] if each.line else []
            place += [f"col={each.column}"] if each.line and each.column else []
            place.append(f"title={_property(f'parsolve {each.rule}')}")
            stream.write(f"::{each.level} {','.join(place)}::{_data(each.message)}\n")
    undecided = f"{answer.undecided} undecided, " if answer.undecided else ""
    stream.write(
        f"parsolve: {answer.accepted} accepted, {answer.rejected} rejected, "
        f"{undecided}{answer.unreadable} unreadable\n"
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "notice": "note"}


def write_sarif(answer: Files, stream: TextIO) -> None:
    """A SARIF 2.1.0 log with one run."""
    found = [each for verdict in answer.files for each in findings(verdict)]
    about = _rules(answer)
    ids = list(dict.fromkeys(each.rule for each in found))
    driver = {
        "name": "parsolve",
        "version": version("parsolve"),
        "rules": [{"id": rule, **about.get(rule, {})} for rule in ids],
    }
    results = [
        {
            "ruleId": each.rule,
            "ruleIndex": ids.index(each.rule),
            "level": LEVELS[each.level],
            "message": {"text": each.message},
            "locations": [{"physicalLocation": _location(each)}],
        }
        for each in found
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    json.dump({"$schema": SARIF, "version": "2.1.0", "runs": [run]}, stream, indent=2)
    stream.write("\n")


def _rules(answer: Files) -> dict[str, dict[str, Any]]:
    """What the rules that were met say of themselves."""
    about: dict[str, dict[str, Any]] = {}
    for name in {each.profile for each in answer.files if each.profile is not None}:
        profile = PROFILES[name]
        for rule in profile.limits:
            about[rule.id] = {
                "shortDescription": {"text": rule.reason},
                "help": {"text": f"{rule.remedy} Source: {rule.source}"},
            }
        for notice in profile.warnings:
            about[notice.id] = {"shortDescription": {"text": notice.reason}}
    return about


def _location(finding: Finding) -> dict[str, Any]:
    path = PurePath(finding.file)
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(path)}}
    if finding.line:
        location["region"] = {"startLine": finding.line, "startColumn": finding.column or 1}
    return location


def _uri(path: PurePath) -> str:
    from urllib.parse import quote  # noqa: PLC0415

    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
