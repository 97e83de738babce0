"""Advice as text: the climb, what it ends in, what the stated configuration does wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from parsolve.cli.launching import show_launch
from parsolve.cli.ranking import amount
from parsolve.cli.screen import NO, OPEN, YES, Screen
from parsolve.cli.verdicts import show_cautions, show_model
from parsolve.cli.wording import certificate_words, cluster, option, usage_words
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import gib
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import (
    Advice,
    AntiPatternFound,
    Diagnosis,
    LadderRung,
    Move,
    Standing,
)

HEADS = {
    "advised": ("advice", YES),
    "outside-guide": ("advice", OPEN),
    "nothing-fits": ("nothing fits", NO),
}
WORDS = {
    "over": "too big",
    "fits": "fits",
    "idle": "no use",
    "impossible": "not here",
    "unneeded": "unneeded",
}


def settings_words(profile: Profile, settings: Mapping[str, Any]) -> str:
    """Fields and their values as options."""
    return " ".join(option(profile.field_of[name], value) for name, value in settings.items())


def show_advice(screen: Screen, answer: Advice) -> None:
    """The climb, the configuration that it ends in, and what to do with it."""
    profile = PROFILES[answer.profile]
    word, style = HEADS[answer.status]
    screen.headline(word, f"[{profile.name}] {_summary(profile, answer)}", style)
    screen.line()
    _show_rungs(screen, profile, answer.rungs)
    screen.line()
    if answer.current is not None:
        _show_current(screen, profile, answer.current)
    if answer.diagnosis is not None:
        _show_diagnosis(screen, profile, answer.diagnosis)
    if answer.advised is not None:
        screen.entry("cluster", cluster(profile, answer.advised.config, answer.advised.derived))
    show_model(screen, profile, answer.config)
    if answer.memory is not None:
        screen.entry("memory", usage_words(answer.memory))
    _show_patterns(screen, profile, "beware", answer.anti_patterns)
    if answer.advised is not None:
        show_launch(screen, "flags", profile, answer.advised, answer.warnings)
    for position, check in enumerate(answer.checks):
        screen.entry("then" if position == 0 else "", check)
    show_cautions(screen, answer.warnings)
    screen.entry("simplest", f"{', then '.join(answer.order)}")
    screen.entry("searched", answer.certificate.domains)
    screen.entry("proof", certificate_words(answer.certificate))


def _summary(profile: Profile, answer: Advice) -> str:
    top = next((rung for rung in reversed(answer.rungs) if rung.settings is not None), None)
    if answer.status == "advised" and top is not None:
        options = settings_words(profile, top.settings or {}) or "no primitive"
        return f"{options} is the simplest that is valid and fits (proved)"
    if answer.advised is not None:
        return "only what the ladder advises against fits (proved)"
    return "no valid configuration of the ladder fits (proved)"


def _show_rungs(screen: Screen, profile: Profile, rungs: Iterable[LadderRung]) -> None:
    for rung in rungs:
        label = f"{rung.rung}: {WORDS[rung.state]}"
        if rung.memory is None:
            screen.entry(label, rung.why, RUNG)
            continue
        before = "" if rung.before is None else f"{gib(rung.before)} -> "
        screen.entry(label, f"{before}{gib(rung.memory)}, {rung.why}", RUNG)
        screen.entry("", settings_words(profile, rung.settings or {}) or "(start)", RUNG)
        screen.entry("", f"costs: {rung.cost}{_numbers(profile, rung)}", RUNG)
        for move in rung.instead or ():
            screen.entry("", f"or without it: {_move(profile, move)}", RUNG)


RUNG = 28


def _numbers(profile: Profile, rung: LadderRung) -> str:
    before = rung.numbers_before or {}
    parts = []
    for name, value in (rung.numbers or {}).items():
        said = amount(profile, name, value)
        if name in before and before[name] != value:
            said = f"{amount(profile, name, before[name])} -> {said}"
        parts.append(f"{name} {said}")
    return f" ({', '.join(parts)})" if parts else ""


def _amounts(profile: Profile, numbers: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {amount(profile, name, value)}" for name, value in numbers.items())


def _move(profile: Profile, move: Move) -> str:
    beside = _amounts(profile, move.numbers)
    return f"{settings_words(profile, move.change)} ({gib(move.memory)}, {beside})"


def _show_patterns(
    screen: Screen, profile: Profile, label: str, found: Iterable[AntiPatternFound]
) -> None:
    for pattern in found:
        costs = _amounts(profile, pattern.numbers)
        screen.entry(
            label,
            f"{pattern.pattern}: {pattern.reason} ({pattern.because}{'; ' if costs else ''}{costs})"
            f" {pattern.instead}",
        )


def _show_current(screen: Screen, profile: Profile, current: Standing) -> None:
    screen.entry("current", settings_words(profile, current.config) or "(start)")
    if current.memory is not None:
        screen.entry("", usage_words(current.memory))
    if current.violated:
        screen.entry("refused", f"by {', '.join(current.violated)}")
    _show_patterns(screen, profile, "pattern", current.anti_patterns)
    for move in current.needless:
        screen.entry("needless", f"{move.rung}: it still fits with {_move(profile, move)}")


def _show_diagnosis(screen: Screen, profile: Profile, found: Diagnosis) -> None:
    screen.entry("symptom", f"{found.symptom}: {found.about} ({_amounts(profile, found.numbers)})")
    for text in found.found:
        screen.entry("", text)
    for position, move in enumerate(found.moves):
        screen.entry("try" if position == 0 else "or", _move(profile, move))
    for text in found.hints:
        screen.entry("also", text)
