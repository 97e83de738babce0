"""The verdicts of every profile on one shape, as a table and the reasons below it."""

from __future__ import annotations

from collections.abc import Mapping

from parsolve.cli.screen import NO, YES, Screen
from parsolve.cli.table import show_table
from parsolve.cli.verdicts import LABELS, show_repairs
from parsolve.cli.wording import gpus, option
from parsolve.constraints import PROFILES
from parsolve.solver.answer import Accepted, Comparison, ProfileVerdict, Rejected
from parsolve.solver.compare import divides_ranks, every, is_size


def show_comparison(screen: Screen, answer: Comparison) -> None:
    """One line for each profile, then why it refuses, what is nearest and what it ignored."""
    asked = every()
    known = {name: value for name, value in answer.given.items() if name != asked.world}
    said = _options(known) or "(defaults)"
    everybody = answer.accepted == len(answer.verdicts)
    screen.headline(
        f"{answer.accepted} of {len(answer.verdicts)} accept",
        f"{said} on {gpus(answer.given[asked.world])}",
        YES if everybody else NO,
    )
    screen.line()
    rows = [_row(verdict) for verdict in answer.verdicts]
    show_table(screen, ("profile", "verdict", "dp", "stage", "first rule"), rows)
    for verdict in answer.verdicts:
        if _has_more(verdict):
            screen.line()
            _explain(screen, verdict)


def _row(verdict: ProfileVerdict) -> list[str]:
    detail = verdict.detail
    dp = "" if detail is None else str(detail.derived.get("data_parallel_size", ""))
    stage = rule = ""
    if isinstance(detail, Rejected):
        first = detail.violations[0]
        more = len(detail.violations) - 1
        stage, rule = first.stage, first.rule + (f" and {more} more" if more else "")
    if verdict.lacks:
        rule = f"(it has no {_options(dict.fromkeys(verdict.lacks, None))})"
    elif missing := {n: v for n, v in verdict.ignored.items() if is_size(n) and divides_ranks(v)}:
        rule = f"{rule} (without {_options(missing)})".strip()
    return [verdict.profile, verdict.verdict, dp, stage, rule]


def _has_more(verdict: ProfileVerdict) -> bool:
    warned = verdict.detail is not None and any(w.kind for w in verdict.detail.warnings)
    return verdict.verdict != "accepted" or warned or bool(verdict.ignored)


def _explain(screen: Screen, verdict: ProfileVerdict) -> None:
    profile = PROFILES[verdict.profile]
    screen.line(f"  {verdict.title}", "bold")
    if verdict.error is not None:
        screen.entry("error", verdict.error)
    match verdict.detail:
        case Rejected() as rejected:
            first = rejected.violations[0]
            screen.entry("why", first.reason)
            screen.entry("because", first.because)
            if others := [violation.rule for violation in rejected.violations[1:]]:
                screen.entry("also", ", ".join(others))
            if rejected.repairs:
                show_repairs(screen, profile, rejected.repairs)
            _show_hazards(screen, rejected)
        case Accepted() as accepted:
            _show_hazards(screen, accepted)
        case None:
            pass
    if verdict.ignored:
        screen.entry("ignored", _options(verdict.ignored))


def _show_hazards(screen: Screen, detail: Accepted | Rejected) -> None:
    """What the framework changes in silence, or takes though it hurts."""
    for caution in detail.warnings:
        if caution.kind is not None:
            screen.entry(LABELS[caution.kind], caution.warning)


def _options(values: Mapping[str, object]) -> str:
    """The options that give these values; without the value where that is None."""
    asked = every()
    words = []
    for name, value in values.items():
        field = asked.field_of[asked.spellings[name]]
        words.append(f"--{field.flag}" if value is None else option(field, value))
    return " ".join(words)
