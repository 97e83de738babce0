"""Answers as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from parsolve.cli.account import show_memory
from parsolve.cli.ranking import show_best, show_solutions
from parsolve.cli.screen import NO, OPEN, Screen
from parsolve.cli.verdicts import show_accepted, show_cautions, show_rejected
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
from parsolve.solver.answer import (
    Accepted,
    Advice,
    Best,
    Comparison,
    Conflict,
    Difference,
    Files,
    Memory,
    Moves,
    RankLayout,
    Rejected,
    Schedule,
    Stages,
    Undecided,
)


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


def show(answer: object, stream: TextIO | None = None, varied: Iterable[str] = ()) -> None:
    """Write an answer for people, to standard output unless told otherwise.

    ``varied`` are knobs that were searched because somebody asked for that.
    """
    screen = Screen(stream)
    match answer:
        case Accepted():
            show_accepted(screen, answer)
        case Rejected():
            show_rejected(screen, answer)
        case Memory():
            show_memory(screen, answer)
        case Schedule():
            from parsolve.cli.timeline import show_schedule  # noqa: PLC0415  (a check needs it not)

            show_schedule(screen, answer)
        case Comparison():
            from parsolve.cli.comparing import show_comparison  # noqa: PLC0415  (a check needs it not)

            show_comparison(screen, answer)
        case Files():
            from parsolve.cli.files import show_files  # noqa: PLC0415  (a check needs it not)

            show_files(screen, answer)
        case Difference():
            from parsolve.cli.differing import show_difference  # noqa: PLC0415  (a check needs it not)

            show_difference(screen, answer)
        case Moves():
            from parsolve.cli.moving import show_moves  # noqa: PLC0415  (a check needs it not)

            show_moves(screen, answer)
        case Stages():
            from parsolve.cli.staging import show_stages  # noqa: PLC0415  (a check needs it not)

            show_stages(screen, answer)
        case RankLayout():
            from parsolve.cli.rank_layout import show_layout  # noqa: PLC0415  (a check needs it not)

            show_layout(screen, answer)
        case Advice():
            from parsolve.cli.advice import show_advice  # noqa: PLC0415  (a check needs it not)

            show_advice(screen, answer)
        case Best():
            show_best(screen, answer, varied)
        case Conflict():
            show_conflict(screen, answer)
        case Undecided():
            show_undecided(screen, answer, varied)
        case _:
            message = f"no text for {type(answer).__name__}"
            raise TypeError(message)
