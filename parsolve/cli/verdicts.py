"""Verdicts, repairs and warnings as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from parsolve.cli.launching import show_launch
from parsolve.cli.screen import NO, YES, Screen
from parsolve.cli.wording import cluster, differences, effective, option, quantities, usage_words
from parsolve.constraints import PROFILES
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import (
    Accepted,
    Caution,
    Rejected,
    Repair,
    Violation,
)
from parsolve.solver.repair import MOST_CHANGES

SHORT = 160
"""A formula beyond so many characters is better said by its remedy."""


def show_model(screen: Screen, profile: Profile, config: Mapping[str, Any]) -> None:
    """What the answer takes the model for: every fact of it that has an option."""
    kinds = {offer.given for offer in profile.offers}
    facts = [
        option(field, config[field.name])
        for field in profile.fields
        if field.role == "model"
        and (field.flag or field.name in kinds)
        and config.get(field.name, field.default) != field.default
    ]
    if facts:
        screen.entry("model", " ".join(facts))


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
    from parsolve.solver.unjudged import unjudged  # noqa: PLC0415  (a rejection needs it not)

    for name, rules in unjudged(profile.config(answer.config)).items():
        screen.entry("unjudged", f"{', '.join(rules)}: give --{profile.field_of[name].flag}")
    show_launch(screen, "launch", profile, answer, answer.warnings)


def show_rejected(screen: Screen, answer: Rejected) -> None:
    """Every violated rule, the framework's own verdict first, and the nearest repairs."""
    profile = PROFILES[answer.profile]
    for position, violation in enumerate(answer.violations):
        word = "rejected" if position == 0 else "also violated"
        screen.headline(word, f"[{profile.name}] {violation.rule}", NO)
        show_violation(screen, profile, violation, first=position == 0)
    on = cluster(profile, answer.config, answer.derived)
    screen.entry("given", f"{differences(profile, answer.config)} on {on}")
    show_model(screen, profile, answer.config)
    if changed := effective(profile, answer.config, answer.derived):
        screen.entry("effective", changed)
    if answer.memory is not None:
        screen.entry("memory", usage_words(answer.memory))
    show_cautions(screen, answer.warnings)
    if answer.repairs:
        show_repairs(screen, profile, answer.repairs)
        if answer.more_repairs:
            screen.entry("", f"and {answer.more_repairs} more that are as near")
    elif answer.repairs is not None and answer.repairs_complete is not False:
        screen.entry(
            "nearest",
            f"no change of at most {MOST_CHANGES} knobs is accepted; facts of the model and of "
            "the trainer were not changed",
        )
    if answer.repairs_complete is False:
        show_cut_short(screen, answer.repairs)


def show_violation(
    screen: Screen, profile: Profile, violation: Violation, *, first: bool = False
) -> None:
    """One violated rule; of the first one, also which stages let the configuration pass."""
    screen.entry("stage", stage_words(profile, violation.stage, first=first))
    screen.entry("why", violation.reason)
    screen.entry("because", violation.because)
    screen.entry("remedy", violation.remedy)
    screen.entry("source", violation.source)


def stage_words(profile: Profile, stage: str, *, first: bool = False) -> str:
    """A stage and what happens in it; of the first violation, also which stages let it pass."""
    about = profile.stages_about.get(stage)
    if not about:
        return stage
    passed = profile.stages[: profile.stages.index(stage)] if first else ()
    return f"{stage}: {about}" + (f", after {', '.join(passed)} let it pass" if passed else "")


def show_repairs(screen: Screen, profile: Profile, repairs: Iterable[Repair]) -> None:
    """The nearest alternatives, one a line."""
    for position, repair in enumerate(repairs):
        axes = [name for name in profile.axes if repair.config.get(name, 1) != 1]
        shown = {**repair.config, **repair.change}
        text = differences(profile, _only(shown, (*axes, *repair.change)), repair.change)
        if position == 0:
            count = len(repair.change)
            away = "one change" if count == 1 else f"{count} changes"
            off = any(repair.change.get(name) == 1 for name in profile.axes)
            text += f"    ({away} away, accepted{'' if off else '; no axis switched off'})"
        screen.entry("nearest" if position == 0 else "", text)


def show_cut_short(screen: Screen, found: Iterable[Repair] | None) -> None:
    """That other alternatives may exist."""
    if found:
        screen.entry("", "the search for alternatives was cut short: there may be nearer ones")
    else:
        screen.entry("nearest", "none was found before the search for them was cut short")


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
