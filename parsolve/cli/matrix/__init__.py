"""The reference matrix, `matrix.md`: everything a profile says, read off its catalogue.

Verdicts are computed and prose is the catalogue's, so that nothing here grows stale on its
own. The text is a function of the profile alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from parsolve.cli.matrix.claims import untrue_claims
from parsolve.cli.matrix.examples import worked_examples
from parsolve.cli.matrix.modes import REFUSED, SUPPORTED, refused_combinations, supported_modes
from parsolve.cli.matrix.opening import opening
from parsolve.cli.matrix.rules import (
    QUANTITIES,
    disagreements,
    quantities,
    rules_in_order,
    run_time_checks,
    warnings,
)
from parsolve.cli.matrix.trainers import trainers_by_axis
from parsolve.constraints.profile import Profile

RULES = "Rules in order"

Sections: TypeAlias = Mapping[str, Callable[[Profile], list[str]]]

SECTIONS: Sections = {
    SUPPORTED: supported_modes,
    REFUSED: refused_combinations,
    RULES: rules_in_order,
    "Warnings": warnings,
    "Trainer x mode": trainers_by_axis,
    "Worked dp examples": worked_examples,
    "Not decidable before launch": run_time_checks,
    "Where the framework's own sources disagree": disagreements,
    "Where the documents are wrong": untrue_claims,
    QUANTITIES: quantities,
}
"""Headings in order, each with what writes the blocks under it; without a block, no section."""


def matrix_text(profile: Profile, sections: Sections = SECTIONS) -> str:
    """The whole of `matrix.md` for a profile."""
    bodies = {heading: write(profile) for heading, write in sections.items()}
    kept = {heading: body for heading, body in bodies.items() if body}
    blocks = opening(profile, list(kept))
    for heading, body in kept.items():
        blocks += [f"## {heading}", *body]
    return "\n\n".join(blocks) + "\n"
