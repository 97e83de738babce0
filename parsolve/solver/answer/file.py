"""Verdicts on what files say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from parsolve.solver.answer.verdict import ALWAYS, Accepted, Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSetting:
    """A setting of a file: its ``key`` there, and the field that it is ``of``.

    ``of`` may also be ``model``, ``axis`` (one that the rules do not know), or ``cluster.nodes``,
    ``cluster.gpus_per_node`` and ``cluster.world_size``. Without ``line`` and ``column`` (from 1)
    it is what the absence of a key means to the framework.
    """

    key: str
    of: str
    value: Any = field(metadata=ALWAYS)
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIgnored:
    """A setting of a file that no rule asks for; ``why`` where there is more to say."""

    key: str
    value: Any = field(metadata=ALWAYS)
    line: int
    column: int
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRule:
    """A violated rule, or a warning, and the settings of the file that it reads."""

    rule: str
    settings: tuple[FileSetting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdict:
    """What one file comes to.

    ``format`` names whose file it is. ``settings`` were understood, ``overridden`` are fields of
    them that an option replaced. An unreadable file has an ``error``, with its place where that
    is known; so has one that is undecided, since it says what no rule can judge.
    """

    file: str
    verdict: Literal["accepted", "rejected", "undecided", "unreadable"]
    format: str | None = None
    syntax: Literal["yaml", "json", "toml", "script"] | None = None
    profile: str | None = None
    settings: tuple[FileSetting, ...] = ()
    overridden: tuple[str, ...] = ()
    ignored: tuple[FileIgnored, ...] = ()
    rules: tuple[FileRule, ...] = ()
    detail: Accepted | Rejected | None = None
    error: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The verdicts on files; ``skipped`` are those in folders that configure no training."""

    files: tuple[FileVerdict, ...]
    accepted: int
    rejected: int
    undecided: int
    unreadable: int
    skipped: tuple[str, ...] = ()
    answer: Literal["files"] = "files"

    @property
    def status(self) -> str:
        """What decides the exit code."""
        if self.unreadable:
            return "unreadable"
        if self.rejected:
            return "rejected"
        return "undecided" if self.undecided else "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A line of ``check --jsonl`` that is no configuration."""

    line: int
    error: str
    answer: Literal["error"] = "error"
