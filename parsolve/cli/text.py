"""Answers as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from parsolve.cli.account import show_memory
from parsolve.cli.ranking import show_best, show_solutions
from parsolve.cli.screen import NO, OPEN, Screen
from parsolve.cli.verdicts import SHORT, show_accepted, show_cautions, show_rejected
from parsolve.cli.wording import gpus, option
from parsolve.constraints import PROFILES
from parsolve.constraints.memory.build import MEMORY_STAGE
from parsolve.solver.answer import (
    Accepted,
    Best,
    Comparison,
    Conflict,
    Memory,
    RankLayout,
    Rejected,
    Schedule,
    Stages,
    Undecided,
)


def show_conflict(screen: Screen, answer: Conflict) -> None:
    """The smallest conflicting set and what to relax."""
    profile = PROFILES[answer.profile]
    cut_short = not answer.smallest and answer.method == "Z3"
    screen.headline(
        "conflict",
        f"[{profile.name}] nothing is valid on {_where(answer)}"
        f"{'among these some exclude' if cut_short else 'these exclude'} each other:",
        NO,
    )
    for name, value in answer.pins.items():
        screen.entry("asked", option(profile.field_of[name], value))
    for condition in answer.conditions:
        screen.entry("asked", f'--where "{condition}"')
    for name, value in answer.held.items():
        field = profile.field_of[name]
        vary = f" or --vary {name}" if field.role == "knob" else ""
        shown = str(value).lower() if isinstance(value, bool) else value
        screen.entry("default", f"{name} stays {shown}; set --{field.flag}{vary} to change that")
    for rule in answer.rules:
        screen.entry("rule", f"{rule.rule}: {rule.reason}")
        asks = rule.because if len(rule.because) <= SHORT else rule.remedy
        label = "at best" if rule.stage == MEMORY_STAGE else "it asks"
        screen.entry("", f"{label}: {asks}")
    screen.entry("searched", answer.searched)
    if not answer.repairs:
        screen.entry("relax", "nothing that was asked can be relaxed; change the world")
    for position, repair in enumerate(answer.repairs):
        changes = [option(profile.field_of[n], v) for n, v in repair.change.items()]
        drops = [f'without --where "{text}"' for text in repair.drop or ()]
        label = "relax" if position == 0 else "or"
        screen.entry(label, " ".join([*changes, *drops]))
    show_cautions(screen, answer.warnings)
    if answer.smallest:
        among = "of what was asked and rules" if answer.method == "Z3" else "of what was asked"
        screen.entry("proof", f"{answer.method}: no smaller set {among} conflicts")
    elif not cut_short:
        screen.entry("proof", f"{answer.method}: without any one of these something is valid")


def _where(answer: Conflict) -> str:
    if answer.worlds == 1:
        return f"{gpus(answer.world)}; "
    return f"any of the {answer.worlds} worlds; on {gpus(answer.world)} "


def show_undecided(screen: Screen, answer: Undecided, varied: Iterable[str]) -> None:
    """What is known, and that it is not an answer."""
    profile = PROFILES[answer.profile]
    screen.headline("undecided", f"[{profile.name}] {answer.reason}", OPEN)
    if answer.solutions:
        screen.entry("so far", f"{answer.count} found; whether others are better is not known")
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
        case Stages():
            from parsolve.cli.staging import show_stages  # noqa: PLC0415  (a check needs it not)

            show_stages(screen, answer)
        case RankLayout():
            from parsolve.cli.rank_layout import show_layout  # noqa: PLC0415  (a check needs it not)

            show_layout(screen, answer)
        case Best():
            show_best(screen, answer, varied)
        case Conflict():
            show_conflict(screen, answer)
        case Undecided():
            show_undecided(screen, answer, varied)
        case _:
            message = f"no text for {type(answer).__name__}"
            raise TypeError(message)
