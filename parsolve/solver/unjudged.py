"""What a check could not judge, because a fact of the model or of the run was not given.

Everything that is known is folded into the rules; a rule that is then neither satisfied nor
violated still depends on what nobody said.
"""

from __future__ import annotations

from parsolve.constraints.fields import Choice, Size, Sizes
from parsolve.constraints.formula import Formula, Truth, fields_of
from parsolve.constraints.profile import Config, read_values
from parsolve.constraints.simplify import Simplifier, Undefined


def unjudged(config: Config) -> dict[str, list[str]]:
    """Unsaid facts by field name, each with the ids of the rules that wait for it."""
    profile = config.profile
    unsaid = {
        field.name
        for field, value in zip(profile.fields, config.values, strict=True)
        if field.flag
        and not field.implied
        and value == field.default
        and (
            (isinstance(field, Choice) and value in {"unknown", "unspecified"})
            or (isinstance(field, (Size, Sizes)) and value is None and field.role == "model")
        )
    }
    simplifier = Simplifier(read_values(profile, config.values, but=unsaid))
    waiting: dict[str, list[str]] = {}
    for rule in profile.rules:
        try:
            when, requires = simplifier.formula(rule.when), simplifier.formula(rule.requires)
        except Undefined:
            continue
        if _is(when, value=False) or _is(requires, value=True):
            continue
        for name in sorted(fields_of(when, requires) & unsaid, key=profile.index_of.__getitem__):
            waiting.setdefault(name, []).append(rule.id)
    return waiting


def _is(formula: Formula, *, value: bool) -> bool:
    return isinstance(formula, Truth) and formula.value == value
