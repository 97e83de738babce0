"""What changes between two configurations, of one framework or of two.

Two frameworks are compared by the words that both have: parsolve's options and quantities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from parsolve.constraints.fields import Field, Misuse
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.answer import (
    Accepted,
    Difference,
    GroupChange,
    GroupKind,
    QuantityChange,
    RankLayout,
    Rejected,
    SettingChange,
    Side,
    Spelled,
)
from parsolve.solver.check import check
from parsolve.solver.compare import known_as
from parsolve.solver.layout import layout
from parsolve.solver.sides import Told


class _Read:
    """One side, with all that is compared."""

    def __init__(self, told: Told, config: Config) -> None:
        self.told, self.config = told, config
        self.profile: Profile = config.profile
        self.verdict: Accepted | Rejected = check(config, shown_repairs=0)
        self.derived: Mapping[str, Any] = {**self.verdict.derived, **_of_account(config)}
        self.said = told.said()

    def side(self) -> Side:
        """The side as an answer has it."""
        reading = self.told.reading
        return Side(
            name=self.told.name,
            format=reading.format.name if self.told.is_file else None,
            syntax=reading.document.kind if self.told.is_file else None,
            global_batch=self._of_batch("samples"),
            tokens=self._of_batch("tokens"),
            detail=self.verdict,
        )

    def _of_batch(self, what: str) -> int | None:
        quantity = getattr(self.profile.batch, what, None)
        return None if quantity is None else self.derived.get(quantity.name)

    def spelled(self, field: Field) -> Spelled:
        """A field's value, and where a file has it."""
        value, said = self.config[field.name], self.said.get(field.name)
        return Spelled(
            of=field.name,
            value=value,
            effective=self.derived.get(field.name, value),
            key=None if said is None else said.key,
            line=None if said is None or said.place is None else said.place.line,
        )

    def is_given(self, field: Field) -> bool:
        """Whether the field says something: it is off its default."""
        return bool(self.config[field.name] != field.default)


def _of_account(config: Config) -> dict[str, Any]:
    """What the memory account counts beside bytes, such as the samples of a step."""
    account = config.profile.account
    if account is None:
        return {}
    known = config.profile.filled(config.values)
    return {
        each.name: known[each.name]
        for each in account.named
        if each.name in known and getattr(each, "unit", "") != "bytes"
    }


def side_of(told: Told, config: Config) -> Side:
    """One configuration as the side of a difference."""
    return _Read(told, config).side()


def difference(before: Told, after: Told) -> Difference:
    """What changes from one configuration to the other. Raises `Misuse`."""
    return differing(before, before.config(), after, after.config())


def differing(told_before: Told, config: Config, told_after: Told, changed: Config) -> Difference:
    """The same of configurations that are known already."""
    before, after = _Read(told_before, config), _Read(told_after, changed)
    settings, apart = _settings(before, after)
    groups, unknown = _groups(before, after)
    broken, mended = _rules(before), _rules(after)
    one_framework = before.profile is after.profile
    warned, warns = (_warnings(each) if one_framework else [] for each in (before, after))
    return Difference(
        before=before.side(),
        after=after.side(),
        settings=tuple(settings),
        quantities=tuple(_quantities(before, after)),
        memory=tuple(_memory(before, after)),
        groups=tuple(groups),
        groups_unknown=unknown,
        violated=tuple(rule for rule in mended if rule not in broken),
        cured=tuple(rule for rule in broken if rule not in mended),
        warned=tuple(each for each in warns if each not in warned),
        unwarned=tuple(each for each in warned if each not in warns),
        apart=tuple(apart),
    )


def _settings(before: _Read, after: _Read) -> tuple[list[SettingChange], list[str]]:
    """Settings that differ, and given ones without a counterpart."""
    found: list[SettingChange] = []
    apart: list[str] = []
    counterparts: set[str] = set()
    one_framework = before.profile is after.profile
    for field in before.profile.fields:
        other = _counterpart(field, before, after)
        if other is None:
            if before.is_given(field):
                apart.append(field.name)
            continue
        counterparts.add(other.name)
        one, two = before.spelled(field), after.spelled(other)
        if not one_framework and not (before.is_given(field) or after.is_given(other)):
            continue  # each has its own defaults
        matters = one.effective != two.effective
        if one.value != two.value or matters:
            found.append(SettingChange(before=one, after=two, matters=matters))
    apart += [
        field.name
        for field in after.profile.fields
        if field.name not in counterparts and after.is_given(field)
    ]
    return found, apart


def _counterpart(field: Field, before: _Read, after: _Read) -> Field | None:
    """The field of the other side's framework that says the same."""
    if before.profile is after.profile:
        return field
    if field.name in after.profile.field_of and type(field) is type(
        after.profile.field_of[field.name]
    ):
        return after.profile.field_of[field.name]
    if not field.flag:
        return None
    other = known_as(after.profile, field.flag, before.config[field.name])
    return other if type(other) is type(field) else None


def _quantities(before: _Read, after: _Read) -> Iterator[QuantityChange]:
    """Derived quantities that are no field's effective value, which settings show."""
    for name in dict.fromkeys((*before.derived, *after.derived)):
        sides = (before, after)
        if any(name in side.profile.field_of for side in sides):
            continue
        one, two = (side.derived.get(name) for side in sides)
        known = one is not None and two is not None
        if one != two and (known or before.profile is after.profile):
            yield QuantityChange(name=name, before=one, after=two)


def _memory(before: _Read, after: _Read) -> Iterator[QuantityChange]:
    usages = before.verdict.memory, after.verdict.memory
    if all(usage is None for usage in usages):
        return
    one, two = ({} if usage is None else usage.bytes for usage in usages)
    for name in dict.fromkeys((*one, *two)):
        if one.get(name) != two.get(name):
            yield QuantityChange(name=name, before=one.get(name), after=two.get(name))


def _groups(before: _Read, after: _Read) -> tuple[list[GroupChange], str | None]:
    """Kinds of group that change, or why that is not known."""
    rejected = [side.told.name for side in (before, after) if isinstance(side.verdict, Rejected)]
    if rejected:
        return [], f"{' and '.join(rejected)} {'are' if len(rejected) > 1 else 'is'} rejected"
    try:
        one, two = _kinds(before.config), _kinds(after.config)
    except Misuse as error:
        return [], str(error)
    names = list(dict.fromkeys((*one, *two)))
    if before.profile is not after.profile:
        names = [name for name in names if name in one and name in two]
    changes = [GroupChange(name=n, before=one.get(n), after=two.get(n)) for n in names]
    return [each for each in changes if _shape(each.before) != _shape(each.after)], None


def _kinds(config: Config) -> dict[str, GroupKind]:
    laid = layout(config, shown_repairs=0)
    assert isinstance(laid, RankLayout)  # noqa: S101  (no rejected one comes here)
    return {
        kind.name: replace(kind, groups=None, groups_across_nodes=None, groups_across_domains=None)
        for kind in laid.kinds
    }


def _shape(kind: GroupKind | None) -> tuple[int, ...] | None:
    if kind is None:
        return None
    return kind.size, kind.count, kind.across_nodes, kind.across_domains


def _rules(side: _Read) -> list[str]:
    return [each.rule for each in getattr(side.verdict, "violations", ())]


def _warnings(side: _Read) -> list[str]:
    return [each.warning for each in side.verdict.warnings]
