"""The JSON of a check written straight from the values, for streams of them.

The text is that of `check` and `to_json`, byte by byte, without the objects in between, which
take most of the time of a verdict. Whatever is the same on every line is taken from those
classes, once: their keys and their order are written nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import compress
from json.encoder import encode_basestring as quoted
from operator import is_not

from parsolve.constraints.evaluate import (
    DEFINED,
    Values,
    compiled,
    defined_source,
    prologue,
    violated_source,
)
from parsolve.constraints.formula import NamedFormula, is_label
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.answer import Accepted, Caution, Fields, Rejected, Violation, to_json
from parsolve.solver.check import check

HOLE = '"because": '
"""After it stands what differs between two violations of one rule."""


def verdict_line(config: Config, *, shown_repairs: int) -> tuple[bool, str]:
    """Whether the configuration is accepted, and the JSON of its check."""
    account = config.profile.account
    if shown_repairs or (account is not None and config[account.size]):
        answer = check(config, shown_repairs=shown_repairs)
        return answer.answer == "accepted", to_json(answer)
    return _writer(config.profile).line(config.values)


@cache
def _writer(profile: Profile) -> _Writer:
    accepted = to_json(Accepted(profile=profile.name, config=Fields(), derived=Fields()))
    nothing = Rejected(profile=profile.name, config=Fields(), derived=Fields(), violations=())
    return _Writer(
        profile, _judge(profile), _config(profile), _format(accepted), _format(to_json(nothing))
    )


def _format(text: str) -> str:
    """The text with a place for whatever is empty in it."""
    return text.replace("%", "%%").replace("{}", "{%s}").replace("[]", "[%s]")


@dataclass(frozen=True, slots=True)
class _Writer:
    profile: Profile
    judge: Callable[[Values], tuple[list[int], str]]
    config: Callable[[Values], str]
    accepted: str
    rejected: str

    def line(self, values: Values) -> tuple[bool, str]:
        profile = self.profile
        fired, derived = self.judge(values)
        for name, entries in profile.lists_of(values).items():
            derived += f', "{name}": {json.dumps(entries)}'
        violated = profile.heard(fired, values)
        warned = profile.warned(values)
        warnings = ", ".join([_warning(profile, i, values) for i in warned]) if warned else ""
        if not violated:
            return True, self.accepted % (self.config(values), derived, warnings)
        violations = ", ".join([_violation(profile, i, values) for i in violated])
        return False, self.rejected % (self.config(values), derived, violations, warnings)


def _judge(profile: Profile) -> Callable[[Values], tuple[list[int], str]]:
    """Rules that are broken, and the derived quantities that are known, as inside of an object."""
    nodes = [node for rule in profile.rules for node in rule.nodes]
    lines = [*prologue(profile.fields, [*nodes, *profile.derived]), "fired = []"]
    for index, rule in enumerate(profile.rules):
        lines.append(f"if {violated_source(*rule.nodes)}: fired.append({index})")
    pairs = ""
    parts: list[str] = []
    for quantity in profile.derived:
        its = f"its_{quantity.name}"
        if isinstance(quantity, NamedFormula):
            place, value = "%s", f"'true' if {its} else 'false'"
        elif is_label(quantity):
            place, value = "%s", f"quoted({its})"
        else:
            place, value = "%d", its
        defined = defined_source(quantity)
        pair = f', "{quantity.name}": {place}'
        if defined == DEFINED:
            pairs += pair
            parts.append(f"({value})")
        else:
            pairs += "%s"
            parts.append(f"({pair!r} % ({value},) if {defined} else '')")
    lines.append(f"text = {pairs!r} % ({''.join(f'{part}, ' for part in parts)})")
    return compiled("judge", [*lines, "return fired, text[2:]"], quoted=quoted)


def _config(profile: Profile) -> Callable[[Values], str]:
    """`Config.as_dict`, as the inside of an object."""
    places = [profile.index_of[name] for name in profile.shown]
    shown = ", ".join(f'"{name}": %s' for name in profile.shown)
    start = 0 if profile.shown else 2
    defaults = profile.defaults
    keys = tuple(
        None if field.name in profile.shown else f', "{field.name}": ' for field in profile.fields
    )

    def text(values: Values) -> str:
        found = shown % tuple([_json(values[place]) for place in places])
        # almost every value is the very object of the default: looked at in C first
        touched = map(is_not, values, defaults)
        for key, value, default in compress(zip(keys, values, defaults, strict=True), touched):
            if key is not None and value != default:
                found += key + _json(value)
        return found[start:]

    return text


def _json(value: object) -> str:
    if type(value) is int:
        return str(value)
    if type(value) is str:
        return quoted(value)
    return to_json(value)


def _violation(profile: Profile, index: int, values: Values) -> str:
    start, end = _violation_around(profile, index, profile.prose(index, values))
    return start + quoted(profile.because(index, values)) + end


@cache
def _violation_around(profile: Profile, index: int, prose: tuple[str, str]) -> tuple[str, str]:
    rule = profile.limits[index]
    reason, remedy = prose
    return _around(
        Violation(
            rule=rule.id,
            stage=rule.stage,
            reason=reason,
            because="",
            remedy=remedy,
            source=str(rule.source),
        )
    )


def _warning(profile: Profile, index: int, values: Values) -> str:
    start, end = _warning_around(profile, index)
    return start + quoted(profile.warned_because(index, values)) + end


@cache
def _warning_around(profile: Profile, index: int) -> tuple[str, str]:
    notice = profile.warnings[index]
    return _around(
        Caution(
            warning=notice.id,
            reason=notice.reason,
            because="",
            source=str(notice.source),
            kind=notice.kind,
        )
    )


def _around(part: object) -> tuple[str, str]:
    start, _, end = to_json(part).partition(f'{HOLE}""')
    return start + HOLE, end
