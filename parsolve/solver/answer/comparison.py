"""The verdicts of several frameworks on one shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parsolve.solver.answer.verdict import Accepted, Fields, Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileVerdict:
    """What one profile says of a shape that several are asked about.

    ``ignored`` is what it has no field for; where axes are among that, it ``lacks`` them and there
    is no verdict, nor where the profile cannot read the question, which ``error`` explains.
    """

    profile: str
    title: str
    verdict: Literal["accepted", "rejected", "no such axis", "no question"]
    ignored: Fields
    lacks: tuple[str, ...] | None = None
    error: str | None = None
    detail: Accepted | Rejected | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The verdicts of all profiles on one shape; ``accepted`` counts those that take it."""

    given: Fields
    verdicts: tuple[ProfileVerdict, ...]
    accepted: int
    answer: Literal["comparison"] = "comparison"

    @property
    def status(self) -> str:
        """What decides the exit code: whether all accept."""
        return "accepted" if self.accepted == len(self.verdicts) else "rejected"
