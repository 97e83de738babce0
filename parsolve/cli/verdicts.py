"""Verdicts, repairs and warnings as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from parsolve.cli.launching import show_launch
from parsolve.cli.screen import NO, YES, Screen
from parsolve.cli.wording import (
    away_words,
    cluster,
    cut_short_words,
    differences,
    effective,
    model_facts,
    quantities,
    repair_notes,
    rule_facts,
    together,
    unjudged_words,
    usage_words,
)
from parsolve.constraints import PROFILES
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import (
    Accepted,
    Caution,
    Rejected,
    Repair,
    Violation,
)


def show_model(screen: Screen, profile: Profile, config: Mapping[str, Any]) -> None:
    """What the answer takes the model for."""
    if facts := model_facts(profile, config):
        screen.entry("model", together(facts))


def show_accepted(screen: Screen, answer: Accepted) -> None:
    """An accepted configuration, with what it means."""
    profile = PROFILES[answer.profile]
    screen.headline(
        "accepted",
        f"[{profile.name}] {differences(profile, answer.config)} on "
        f"{cluster(profile, answer.config, answer.derived)}",
        YES,
    )
    show_model(screen, profile, answer.config)
    if changed := effective(profile, answer.config, answer.derived):
        screen.entry("effective", changed)
    screen.entry("derived", quantities(answer.derived))
    if answer.memory is not None:
        screen.entry("memory", usage_words(answer.memory))
    show_cautions(screen, answer.warnings)
    for text in unjudged_words(profile, answer.config):
        screen.entry("unjudged", text)
    show_launch(screen, "launch", profile, answer, answer.warnings)


def show_rejected(
    screen: Screen, answer: Rejected, lines: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Every violated rule, the framework's own verdict first, and the nearest repairs.

    ``lines`` says of a rule which lines of a file it reads.
    """
    profile = PROFILES[answer.profile]
    for position, violation in enumerate(answer.violations):
        word = "rejected" if position == 0 else "also violated"
        screen.headline(word, f"[{profile.name}] {violation.rule}", NO)
        show_violation(screen, profile, violation, first=position == 0)
        if places := lines.get(violation.rule):
            screen.entry("lines", places)
    on = cluster(profile, answer.config, answer.derived)
    screen.entry("given", f"{differences(profile, answer.config)} on {on}")
    show_model(screen, profile, answer.config)
    if changed := effective(profile, answer.config, answer.derived):
        screen.entry("effective", changed)
    if answer.memory is not None:
        screen.entry("memory", usage_words(answer.memory))
    show_cautions(screen, answer.warnings)
    show_repairs(screen, profile, answer.repairs or ())
    for note in repair_notes(answer):
        screen.entry("" if answer.repairs else "nearest", note)


def show_violation(
    screen: Screen, profile: Profile, violation: Violation, *, first: bool = False
) -> None:
    """One violated rule; of the first one, also which stages let the configuration pass."""
    for label, text in rule_facts(profile, violation, first=first):
        screen.entry(label, text)


def show_repairs(screen: Screen, profile: Profile, repairs: Iterable[Repair]) -> None:
    """The nearest alternatives, one a line."""
    for position, repair in enumerate(repairs):
        axes = [name for name in profile.axes if repair.config.get(name, 1) != 1]
        shown = {**repair.config, **repair.change}
        text = differences(profile, _only(shown, (*axes, *repair.change)), repair.change)
        if position == 0:
            text += f"    ({away_words(profile, repair)})"
        screen.entry("nearest" if position == 0 else "", text)


def show_cut_short(screen: Screen, found: Iterable[Repair] | None) -> None:
    """That other alternatives may exist."""
    screen.entry("" if found else "nearest", cut_short_words(found))


def _only(config: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    kept = set(names)
    return {name: value for name, value in config.items() if name in kept}


LABELS = {None: "warning", "change": "changed", "hazard": "hazard"}
"""What a warning is headed by: the framework changes something in silence, or takes what hurts."""


def show_cautions(screen: Screen, cautions: Iterable[Caution]) -> None:
    """Every warning, with the numbers that raise it."""
    for caution in cautions:
        numbers = f" ({caution.because})" if caution.because else ""
        screen.entry(LABELS[caution.kind], f"{caution.warning}: {caution.reason}{numbers}")
