"""The ladder of a profile: which primitive of parallelism to reach for, in which order, and why.

A ladder is data that one mechanism climbs (`parsolve.solver.advise`). Its rungs stand from the
least intrusive to the most; a configuration uses a rung where its settings are those of the rung,
or its size is above 1. Beside them stand the configurations that cost without need, and what to
look at when a run is out of memory, slow, or idle.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from parsolve.constraints.fields import Choice, Field, Flag, Size
from parsolve.constraints.formula import ALWAYS, Formula, Term, all_of, any_of, if_
from parsolve.constraints.rule import Source

Knob: TypeAlias = Size | Flag | Choice
Settings: TypeAlias = tuple[tuple[Knob, object], ...]
"""Fields, each with a value."""

SymptomName: TypeAlias = Literal["oom", "slow", "bubbles", "long-context", "imbalance"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rung:
    """One primitive: what it sets, or the size that it raises above 1 (then ``sets`` beside it).

    ``only`` is when a climb may use it, and ``need`` says that in words. ``cost`` says what it
    costs; ``numbers`` are the derived quantities that measure that. Where it is not ``counted``,
    what it sends is missing from the account of traffic. ``forbidden`` names the rule that refuses
    any use of it while it applies.
    """

    name: str
    about: str
    cost: str
    numbers: tuple[str, ...] = ()
    sets: Settings = ()
    size: Size | None = None
    only: Formula = ALWAYS
    need: str = ""
    counted: bool = True
    forbidden: str = ""

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """The fields that it moves."""
        return (*(knob for knob, _ in self.sets), *(() if self.size is None else (self.size,)))

    @property
    def used(self) -> Formula:
        """Whether a configuration uses it."""
        if self.size is not None:
            return self.size > 1
        return all_of(*(is_set(knob, value) for knob, value in self.sets))

    @property
    def level(self) -> Term:
        """How much of it a configuration uses: its size, or 1 or 0 for a setting."""
        return if_(self.used, 1, 0) if self.size is None else self.size


def is_set(knob: Knob, value: object) -> Formula:
    """Whether the field has the value."""
    match knob:
        case Flag():
            return knob if value else ~knob
        case Choice():
            return knob == value
        case _:
            return knob == (knob.unset if value is None else value)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AntiPattern:
    """A configuration that costs without need: where ``when`` holds.

    ``reason`` and ``instead`` are prose; the numbers come from the formula, and from
    ``numbers``, derived quantities that measure what it costs.
    """

    id: str
    when: Formula
    reason: str
    instead: str
    source: Source
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Hint:
    """A lever that no formula here measures, offered where ``when`` holds: words with flags."""

    words: str
    when: Formula = ALWAYS


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Turn:
    """A knob off the ladder that a symptom turns, with ``beside`` set too.

    ``values`` are those that are tried; else ``times`` so many times the quantity ``of``; else
    every value that a search tries. ``where`` is when turning it means something.
    """

    knob: Knob
    beside: Settings = ()
    values: tuple[object, ...] = ()
    times: tuple[int, ...] = ()
    of: str = ""
    where: Formula = ALWAYS


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Symptom:
    """What hurts, the quantity that measures it, and what to turn.

    The measure should fall, or rise where ``rises``; with ``per`` it is compared per one of that
    quantity, which is among ``shows``: quantities to look at beside it. ``turns`` come first, then
    rungs climbed (``climbs``) or stepped down from (``descends``). With ``sweeps``, the whole
    ladder is searched for the best measure of everything that fits.
    Where ``absent`` holds there is nothing to relieve, as ``otherwise`` says.
    """

    name: SymptomName
    about: str
    measure: str
    absent: Formula
    otherwise: str
    rises: bool = False
    per: str = ""
    shows: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    climbs: bool = False
    descends: bool = False
    sweeps: bool = False
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Ladder:
    """The rungs of a profile, its anti-patterns and symptoms.

    ``base`` names what a configuration without any rung is. ``ground`` are values of the
    ladder's fields there, where they are not the fields' defaults. ``details`` are fields that say
    how an axis is used: they are part of a stated configuration, and a climb leaves them at their
    default. ``length`` is the field of the tokens per sequence. ``exact`` makes a run one of fp32,
    and ``exactly`` is what else makes two runs comparable, in the framework's own options.
    """

    base: str
    length: Size
    source: Source
    rungs: tuple[Rung, ...]
    ground: Settings = ()
    details: tuple[Field, ...] = ()
    exact: Settings = ()
    exactly: str = ""
    anti_patterns: tuple[AntiPattern, ...] = ()
    symptoms: tuple[Symptom, ...] = ()

    @cached_property
    def knobs(self) -> tuple[Knob, ...]:
        """Every field that the ladder moves, by the first rung that does."""
        return tuple({knob.name: knob for rung in self.rungs for knob in rung.knobs}.values())

    @cached_property
    def start(self) -> Mapping[str, object]:
        """Each of these fields' value where no rung is used."""
        stated = {knob.name: value for knob, value in self.ground}
        return {knob.name: stated.get(knob.name, knob.default) for knob in self.knobs}

    def consistent(self, offered: Sequence[Rung], names: Container[str]) -> tuple[Formula, ...]:
        """That fields which move together do: for each group of them, an offered rung or none.

        ``names`` are the fields that mean something; groups of others are left out.
        """
        return tuple(
            any_of(
                self._settings(group, ()),
                *(self._settings(group, rung.sets, rung.size) for rung in offered if rung in group),
            )
            for group in self._groups
            if all(knob.name in names for rung in group for knob in rung.knobs)
        )

    def settings(self, rung: Rung | None, beside: Rung) -> Mapping[str, object]:
        """What a rung sets of the fields that move together with those of ``beside``; None: start.

        The size of a rung is not among them.
        """
        (group,) = (group for group in self._groups if beside in group)
        knobs = {knob.name: knob for other in group for knob in other.knobs}
        own = {} if rung is None else {knob.name: value for knob, value in rung.sets}
        size = None if rung is None else rung.size
        return {
            name: own.get(name, self.start[name])
            for name, knob in knobs.items()
            if knob is not size
        }

    def below(self, rung: Rung) -> tuple[Mapping[str, object], ...]:
        """Settings with less of what a rung does, from none of it on."""
        (group,) = (group for group in self._groups if rung in group)
        lower = group[: group.index(rung)]
        return tuple(self.settings(other, rung) for other in (None, *lower))

    @cached_property
    def _groups(self) -> list[list[Rung]]:
        """Rungs that share fields."""
        groups: list[list[Rung]] = []
        for rung in self.rungs:
            names = {knob.name for knob in rung.knobs}
            touching = [g for g in groups if any(k.name in names for r in g for k in r.knobs)]
            groups = [g for g in groups if g not in touching]
            groups.append([*(r for g in touching for r in g), rung])
        return groups

    def _settings(self, group: list[Rung], sets: Settings, size: Size | None = None) -> Formula:
        """That the fields of a group have these values, and else those that they start from."""
        knobs = {knob.name: knob for rung in group for knob in rung.knobs}
        own = {knob.name: value for knob, value in sets}
        parts = [
            knob > 1 if knob is size else is_set(knob, own.get(name, self.start[name]))
            for name, knob in knobs.items()
        ]
        return all_of(*parts)
