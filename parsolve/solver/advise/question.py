"""What a climb asks: every configuration that uses the ladder up to some rung, and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any as Anything
from typing import TypeAlias, get_args

from parsolve.constraints.describe import words
from parsolve.constraints.formula import Term, implies
from parsolve.constraints.ladder import Ladder, Rung, SymptomName
from parsolve.constraints.memory.account import Account
from parsolve.constraints.profile import Config, Profile, holds
from parsolve.constraints.rule import Rule
from parsolve.solver.memory import missing
from parsolve.solver.query import Condition, Query, QueryError, build_query

Reader: TypeAlias = Callable[[Mapping[str, object]], Config]
"""Makes the configuration in which some fields are stated otherwise."""


def ladder_of(profile: Profile) -> Ladder:
    """The profile's ladder; `QueryError` where it has none."""
    if profile.ladder is None:
        message = (
            f"the {profile.name} profile has no ladder: it has no memory account to say what fits"
        )
        raise QueryError(message)
    return profile.ladder


@dataclass(frozen=True, eq=False)
class Climb:
    """A cluster, a model and a run, whose ladder is to be climbed.

    ``given`` are the fields that somebody stated; those that the ladder moves are the current
    configuration, the rest holds throughout.
    """

    config: Config
    given: frozenset[str]
    changed: Reader | None = None
    """The same configuration with other numbers of the model, where a model was named."""

    @property
    def profile(self) -> Profile:
        """Whose ladder it is."""
        return self.config.profile

    @cached_property
    def ladder(self) -> Ladder:
        """The ladder; `QueryError` where the profile has none."""
        return ladder_of(self.profile)

    @cached_property
    def account(self) -> Account:
        """The memory account; `QueryError` where something is missing for it."""
        account = self.profile.account
        assert account is not None  # noqa: S101  (a ladder comes with an account)
        if self.config[account.limit.name] is None:
            message = "advice needs the memory of a GPU: give --gpu or --gpu-memory"
            raise QueryError(message)
        # a rule that the current shape violates is no reason to know nothing of the others
        if self.profile.filled(self.plain.values).get(account.total.name) is None:
            raise QueryError(missing(self.plain))
        return account

    @cached_property
    def limit(self) -> int:
        """Bytes of a GPU's memory."""
        limit: int = self.config[self.account.limit.name]
        return limit

    @cached_property
    def plain(self) -> Config:
        """The configuration without any rung."""
        return self.config.replaced(self.usual)

    @cached_property
    def usual(self) -> Mapping[str, Anything]:
        """Values of the ladder's fields, details included, where no rung is used.

        A field that means nothing for this model has its default.
        """
        start: dict[str, Anything] = {knob.name: knob.default for knob in self.ladder.knobs}
        start |= {name: self.ladder.start[name] for name in self.offered}
        return {**start, **{field.name: field.default for field in self.ladder.details}}

    @property
    def is_stated(self) -> bool:
        """Whether anything of the ladder was stated: a current configuration."""
        return not self.given.isdisjoint(self.moved)

    def settings(self, config: Config) -> dict[str, Anything]:
        """What of a configuration is on the ladder: fields off their start, details included."""
        found = {name: config[name] for name, usual in self.usual.items() if config[name] != usual}
        return dict(sorted(found.items(), key=lambda item: self.profile.index_of[item[0]]))

    @cached_property
    def moved(self) -> frozenset[str]:
        """Fields of a stated configuration: those that the ladder moves, and their details."""
        return frozenset(field.name for field in (*self.ladder.knobs, *self.ladder.details))

    @cached_property
    def _asked(self) -> Query:
        """The question about everything that is not on the ladder."""
        profile = self.profile
        off = self.moved | {profile.world}
        fixed = {
            field.name: self.config[field.name]
            for field in profile.fields
            if field.name not in off
            and (field.name in self.given or self.config[field.name] != field.default)
        }
        return build_query(profile, [self.config[profile.world]], fixed)

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """Fields of the ladder that mean something for this model, by the first rung that does."""
        closed = {
            name
            for offer in self.profile.offers
            if self._asked.pins.get(offer.given) != offer.value
            for name in offer.knobs
        }
        return tuple(knob.name for knob in self.ladder.knobs if knob.name not in closed)

    @cached_property
    def rungs(self) -> tuple[Rung, ...]:
        """The rungs that can be climbed."""
        return tuple(rung for rung in self.ladder.rungs if self.is_offered(rung))

    def is_offered(self, rung: Rung) -> bool:
        """Whether the model and the framework have this rung at all."""
        has_fields = all(knob.name in self.offered for knob in rung.knobs)
        return has_fields and self.forbidding(rung) is None

    def forbidding(self, rung: Rung) -> Rule | None:
        """The rule that refuses any use of the rung, if it applies here."""
        return next(
            (
                rule
                for rule in self.profile.rules
                if rule.id == rung.forbidden and holds(self.profile, rule.when, self.plain.values)
            ),
            None,
        )

    @cached_property
    def order(self) -> tuple[Term, ...]:
        """What is as small as can be, in this order: how much of each rung, the last one first."""
        return tuple(rung.level for rung in reversed(self.rungs))

    def on(self, world: int) -> Climb:
        """The same on another number of GPUs."""
        return replace(self, config=self.config.replaced({self.profile.world: world}))

    def question(self, rungs: Sequence[Rung], *, guided: bool = True) -> Query:
        """Every valid configuration that uses these rungs at most, whatever its memory.

        ``guided`` keeps each rung to where it is meant to be used.
        """
        asked = self._asked
        free = {knob.name for rung in rungs for knob in rung.knobs} & {*self.offered}
        sizes = {rung.size.name for rung in rungs if rung.size is not None}
        start = {name: self.ladder.start[name] for name in self.offered}
        tried = {name: self._tried(name, rungs) for name in free if name not in sizes}
        conditions = [*self.ladder.consistent(rungs, self.offered)]
        if guided:
            conditions += [implies(rung.used, rung.only) for rung in rungs]
        pins: Mapping[str, Anything] = {
            **asked.pins,
            **{name: value for name, value in start.items() if name not in free},
            self.account.limit.name: None,
        }
        return replace(
            asked,
            pins=pins,
            free=tuple(name for name in reversed(self.offered) if name in free),
            conditions=tuple(Condition(words(formula), formula) for formula in conditions),
            tried=tried,
        )

    def _tried(self, name: str, rungs: Sequence[Rung]) -> tuple[Anything, ...]:
        values = [self.ladder.start[name]]
        for rung in rungs:
            values += [v for knob, v in rung.sets if knob.name == name and v not in values]
        return tuple(values)


def climb_of(config: Config, given: Iterable[str], changed: Reader | None = None) -> Climb:
    """The question about a configuration of which somebody stated the fields in ``given``.

    Any spelling of a field is taken.
    """
    spellings = config.profile.spellings
    return Climb(config, frozenset(spellings.get(name, name) for name in given), changed)


def symptom_named(name: str | None) -> SymptomName | None:
    """The symptom, if there is one. Raises `QueryError` for an unknown name."""
    if name is None or name in get_args(SymptomName):
        return name  # type: ignore[return-value]  # one of its literals
    known = ", ".join(get_args(SymptomName))
    message = f"no symptom {name!r:.60}; there are: {known}"
    raise QueryError(message)
