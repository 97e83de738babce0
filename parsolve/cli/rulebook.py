"""Rules as a list, and one rule explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parsolve.cli.screen import Screen
from parsolve.cli.wording import option
from parsolve.constraints.describe import words
from parsolve.constraints.fields import Size
from parsolve.constraints.formula import ALWAYS
from parsolve.constraints.profile import Profile
from parsolve.solver.check import check


def entry(profile: Profile, index: int) -> dict[str, Any]:
    """Everything about the rule as plain data; the example's verdict is computed."""
    rule = profile.limits[index]
    rejected = profile.config(rule.example.rejects)
    return {
        "rule": rule.id,
        "stage": rule.stage,
        "position": index + 1,
        "when": None if rule.when is ALWAYS else words(rule.when),
        "requires": words(rule.requires),
        "reason": rule.reason,
        "remedy": rule.remedy,
        "source": str(rule.source),
        "implied_by": list(profile.implied.get(rule.id, ())),
        "example": {
            "rejects": dict(rule.example.rejects),
            "because": profile.because(index, rejected.values),
            "instead": dict(rule.example.instead),
        },
    }


def show_list(profile: Profile, indices: Sequence[int]) -> None:
    """Ids and reasons, stage by stage, in order of evaluation."""
    screen = Screen()
    stage = ""
    for index in indices:
        rule = profile.limits[index]
        if rule.stage != stage:
            stage = rule.stage
            screen.line(stage, "bold")
        screen.line(f"  {index + 1:>3}  {rule.id}")
        screen.entry("", rule.reason)


def show(profile: Profile, index: int) -> None:
    """The rule, its reason and source, what it rejects and what to do instead."""
    screen = Screen()
    rule = profile.limits[index]
    rejected = profile.config(rule.example.rejects)
    screen.headline(rule.id, f"[{profile.name}] rule {index + 1} of {len(profile.limits)}", "bold")
    screen.entry("stage", rule.stage)
    if rule.when is not ALWAYS:
        screen.entry("when", words(rule.when))
    screen.entry("requires", words(rule.requires))
    screen.entry("why", rule.reason)
    for variant in rule.variants:
        screen.entry("variant", f"{words(variant.when)}: {variant.reason}")
    screen.entry("remedy", rule.remedy)
    screen.entry("source", str(rule.source))
    if implying := profile.implied.get(rule.id):
        screen.entry("alone", f"never: one of {', '.join(implying)} is violated with it")
    screen.entry("rejects", _options(profile, rule.example.rejects))
    screen.entry("because", profile.because(index, rejected.values))
    screen.entry("instead", _options(profile, rule.example.instead))
    verdict = check(profile.config(rule.example.instead)).answer
    screen.entry("", f"checked just now: {verdict}")


def _options(profile: Profile, given: Any) -> str:  # noqa: ANN401  (an example's values)
    fields = {name: profile.field_of[name] for name in given}
    counted = [n for n, field in fields.items() if isinstance(field, Size) and not field.flag]
    shown = [option(fields[n], value) for n, value in given.items() if n not in counted]
    return " ".join([*shown, "(with a model's sizes)"] if len(counted) > 1 else shown)
