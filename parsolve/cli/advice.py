"""Advice as text: the climb, what it ends in, what the stated configuration does wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from parsolve.cli.launching import launch, show_launch
from parsolve.cli.ranking import amount as plain_amount
from parsolve.cli.screen import NO, OPEN, YES, Screen
from parsolve.cli.verdicts import show_cautions, show_model
from parsolve.cli.wording import (
    certificate_words,
    cluster,
    gpus,
    option,
    speaking,
    together,
    usage_words,
)
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import gib
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import (
    Advice,
    AdviceCheck,
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

COST = 4
"""Columns by which what a rung sets and costs is indented."""


def show_advice(screen: Screen, answer: Advice) -> None:
    """What was read, and the advice in the words of the file that it was read from."""
    if answer.file is None:
        _show(screen, answer)
        return
    from parsolve.cli.files import show_read, vocabulary  # noqa: PLC0415  (few ask about a file)

    show_read(screen, answer.file)
    with speaking(*vocabulary(answer.file)):
        _show(screen, answer)


def _show(screen: Screen, answer: Advice) -> None:
    """The climb, the configuration that it ends in, and what to do with it."""
    profile = PROFILES[answer.profile]
    word, style = HEADS[answer.status]
    screen.headline(word, f"[{profile.name}] {_summary(profile, answer)}", style)
    screen.line()
    _show_rungs(screen, profile, answer.rungs)
    screen.line()
    if answer.current is not None:
        _show_current(screen, profile, answer.current)
    _show_change(screen, answer)
    if answer.diagnosis is not None:
        _show_diagnosis(screen, profile, answer.diagnosis)
    if answer.advised is not None:
        screen.entry("cluster", cluster(profile, answer.advised.config, answer.advised.derived))
    show_model(screen, profile, answer.config)
    if answer.memory is not None:
        least = "" if answer.advised is not None else "at least: "
        screen.entry("memory", f"{least}{usage_words(answer.memory)}")
    _show_patterns(screen, profile, "beware", answer.anti_patterns)
    if answer.lighter is not None:
        screen.entry("lighter", _lighter(profile, answer, answer.lighter))
    if answer.advised is not None:
        show_launch(screen, "flags", profile, answer.advised, answer.warnings)
    for check in answer.checks:
        _show_check(screen, profile, check)
    show_cautions(screen, answer.warnings)
    screen.entry("simplest", ", then ".join(answer.order))
    screen.entry("searched", answer.certificate.domains)
    screen.entry("proof", certificate_words(answer.certificate))


def settings_words(profile: Profile, settings: Mapping[str, Any]) -> str:
    """Fields and their values as options."""
    return together(option(profile.field_of[name], value) for name, value in settings.items())


def amount(profile: Profile, name: str, value: object) -> str:
    """A quantity's value in its unit; the bubble per hundred."""
    if name == "bubble" and isinstance(value, int):
        return f"{value / 10:.1f}%"
    return plain_amount(profile, name, value)


def _amounts(profile: Profile, numbers: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Quantities, those that are other now as a change; what is and was nothing is left out."""
    return ", ".join(
        f"{name} {amount(profile, name, now[name])} -> {amount(profile, name, value)}"
        if name in now and now[name] != value
        else f"{name} {amount(profile, name, value)}"
        for name, value in numbers.items()
        if value or now.get(name)
    )


def _summary(profile: Profile, answer: Advice) -> str:
    if answer.advised is not None:
        options = settings_words(profile, answer.settings or {}) or "no primitive at all"
        if answer.status == "advised":
            return f"{options} is the simplest that is valid and fits (proved)"
        return f"nothing fits as the ladder is meant; the simplest that fits at all is {options}"
    world = gpus(answer.config[profile.world])
    more = "" if answer.enough is None else f"; on {gpus(answer.enough)} something does"
    if answer.memory is None:
        return f"no configuration of the ladder is valid on {world} (proved)"
    return f"no valid configuration of the ladder fits on {world} (proved){more}"


def _show_rungs(screen: Screen, profile: Profile, rungs: Iterable[LadderRung]) -> None:
    """The climb: a line per rung, what it sets, what it costs; others grouped by why they stay."""
    for (state, why), group in groupby(rungs, lambda rung: (rung.state, rung.why)):
        together = list(group)
        names = ", ".join(rung.rung for rung in together)
        first = together[0]
        if len(names) > NAME:
            screen.paragraph(names, 2)
            names = ""
        if first.memory is None:
            screen.entry(names, f"{WORDS[state]:<9} {why}", NAME)
            continue
        before = "" if first.before in {None, first.memory} else f"{gib(first.before)} -> "
        screen.entry(names, f"{WORDS[state]:<9} {before}{gib(first.memory)}: {why}", NAME)
        sets = settings_words(profile, first.settings or {})
        screen.entry("", f"{sets or 'every rung off'}", COST)
        costs = _amounts(profile, first.numbers or {}, first.numbers_before or {})
        screen.entry("", f"costs: {first.cost}{f' ({costs})' if costs else ''}", COST)
        for move in first.instead or ():
            screen.entry("", f"or, one rung lower: {_move(profile, move, {})}", COST)


NAME = 19
"""Columns of a rung's name."""


def _move(profile: Profile, move: Move, now: Mapping[str, Any]) -> str:
    """The change, and the numbers that it changes."""
    rung = f"{move.rung}: " if move.rung else ""
    return f"{rung}{settings_words(profile, move.change)} ({_beside(profile, move, now)})"


def _beside(profile: Profile, move: Move, now: Mapping[str, Any]) -> str:
    """The memory after a change, and the numbers that it changes."""
    total = "" if profile.account is None else profile.account.total.name
    changed = {n: v for n, v in move.numbers.items() if n != total and now.get(n) != v}
    beside = _amounts(profile, changed, now)
    fits = {"over": "too big: ", "near": "near the limit: ", "fits": ""}[move.state]
    return f"{fits}{gib(move.memory)}{', ' if beside else ''}{beside}"


def _lighter(profile: Profile, answer: Advice, move: Move) -> str:
    """Said like the advice: as what it has of the ladder, not as a change."""
    assert profile.ladder is not None  # noqa: S101  (it gave the advice)
    start = profile.ladder.start
    settings = {
        name: value
        for name, value in {**(answer.settings or {}), **move.change}.items()
        if value != start.get(name)
    }
    return (
        "sends least per sample of all that fits: "
        f"{settings_words(profile, settings) or 'every rung off'} ({_beside(profile, move, {})})"
    )


def _show_patterns(
    screen: Screen, profile: Profile, label: str, found: Iterable[AntiPatternFound]
) -> None:
    for pattern in found:
        costs = _amounts(profile, pattern.numbers, {})
        because = f"{pattern.because}{'; ' if costs else ''}{costs}"
        screen.entry(label, f"{pattern.pattern}: {pattern.reason} ({because}) {pattern.instead}")


def _show_current(screen: Screen, profile: Profile, current: Standing) -> None:
    screen.entry("current", settings_words(profile, current.config) or "every rung off")
    if current.memory is not None:
        screen.entry("", usage_words(current.memory))
    if current.violated:
        screen.entry("refused", f"by {', '.join(current.violated)}")
    _show_patterns(screen, profile, "costly", current.anti_patterns)
    for move in current.needless:
        screen.entry("needless", f"it still fits with {_move(profile, move, current.numbers)}")


def _show_change(screen: Screen, answer: Advice) -> None:
    """What to change in the file, and what that does to the samples of a step."""
    if answer.advised is None or answer.current is None:
        return
    if answer.file is not None:
        from parsolve.cli.moving import NO_KEY, edits_words  # noqa: PLC0415  (few have a file)

        script = answer.file.syntax == "script"
        words = (
            NO_KEY if answer.edits is None else "; ".join(edits_words(answer.edits, script=script))
        )
        screen.entry("change", words)
    before = answer.current.numbers.get(BATCH)
    after = answer.global_batch
    if None not in {before, after} and before != after:
        screen.entry(
            "batch", f"{BATCH} {before} -> {after}: adapt what is accumulated, or the learning rate"
        )


BATCH = "global_batch"


def _show_diagnosis(screen: Screen, profile: Profile, found: Diagnosis) -> None:
    numbers = _amounts(profile, found.numbers, {})
    beside = f" ({numbers})" if numbers else ""
    screen.entry("symptom", f"{found.symptom} ({found.of}): {found.about}{beside}")
    for text in found.found:
        screen.entry("", text)
    for position, move in enumerate(found.moves):
        screen.entry("try" if position == 0 else "or", _move(profile, move, found.numbers))
    if found.least is not None:
        screen.entry("least", f"on the ladder: {_move(profile, found.least, found.numbers)}")
    for text in found.hints:
        screen.entry("also", text)


def _show_check(screen: Screen, profile: Profile, check: AdviceCheck) -> None:
    screen.entry("then", f"{check.check}: {check.how}")
    if check.check != "same-step":
        return
    if check.split is None or check.unsplit is None:
        screen.entry(
            "", "no run of fewer layers fits one GPU unsplit: shrink its widths or experts too"
        )
        return
    for name, run in (("split", check.split), ("unsplit", check.unsplit)):
        line = launch(profile, run.config, run.derived)
        screen.entry("", f"{name}, {check.layers} layers: {line}")
