"""Questions that have no answer, or none in time, as text."""

from __future__ import annotations

from collections.abc import Iterable

from parsolve.cli.ranking import show_solutions
from parsolve.cli.screen import NO, OPEN, Screen
from parsolve.cli.verdicts import show_cautions
from parsolve.cli.wording import (
    NOTHING_TO_RELAX,
    change_words,
    conflict_asked,
    conflict_excludes,
    conflict_held,
    conflict_proof,
    conflict_where,
    demand,
    found_so_far,
    gpus,
)
from parsolve.constraints import PROFILES
from parsolve.solver.answer import Conflict, Undecided


def show_conflict(screen: Screen, answer: Conflict) -> None:
    """The smallest conflicting set and what to relax."""
    profile = PROFILES[answer.profile]
    first = "; " if answer.worlds == 1 else f"; on {gpus(answer.world)} "
    screen.headline(
        "conflict",
        f"[{profile.name}] nothing is valid on {conflict_where(answer)}{first}"
        f"{conflict_excludes(answer)}:",
        NO,
    )
    for text in conflict_asked(profile, answer):
        screen.entry("asked", text)
    for text in conflict_held(profile, answer):
        screen.entry("default", text)
    for rule in answer.rules:
        screen.entry("rule", f"{rule.rule}: {rule.reason}")
        screen.entry("", ": ".join(demand(rule)))
    screen.entry("searched", answer.searched)
    if not answer.repairs:
        screen.entry("relax", NOTHING_TO_RELAX)
    for position, repair in enumerate(answer.repairs):
        screen.entry("relax" if position == 0 else "or", change_words(profile, repair))
    show_cautions(screen, answer.warnings)
    if proof := conflict_proof(answer):
        screen.entry("proof", proof)


def show_undecided(screen: Screen, answer: Undecided, varied: Iterable[str]) -> None:
    """What is known, and that it is not an answer."""
    profile = PROFILES[answer.profile]
    screen.headline("undecided", f"[{profile.name}] {answer.reason}", OPEN)
    if answer.solutions:
        screen.entry("so far", found_so_far(answer))
        show_solutions(screen, profile, answer.solutions, answer.objectives, varied)
    screen.entry("searched", answer.searched)
