"""What is asked: worlds, pins, conditions, objectives; and the space that it leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any as Anything
from typing import assert_never

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Choice, Flag, Misuse, Size, Sizes
from parsolve.constraints.formula import (
    Formula,
    Named,
    NamedFormula,
    Term,
    fields_of,
    is_label,
    stated_in,
)
from parsolve.constraints.profile import Config, Known, Offer, Profile, holds, read_values
from parsolve.constraints.rule import Rule
from parsolve.solver.answer import Caution
from parsolve.solver.numbers import divisors
from parsolve.solver.where import parse_condition, parse_quantity

MOST_FREE = 19
"""Knobs that one search varies: the loops of one function that Python can nest, the world's off."""


class QueryError(Misuse):
    """A question that cannot be asked. The message says what to change."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An extra condition, with the text that the user wrote."""

    text: str
    formula: Formula


@dataclass(frozen=True, slots=True)
class Objective:
    """A quantity to maximise or minimise."""

    text: str
    term: Term
    maximize: bool

    def better(self, value: int, than: int) -> bool:
        """Whether ``value`` is strictly better."""
        return value > than if self.maximize else value < than


@dataclass(frozen=True, slots=True)
class Shape:
    """What a query asks apart from the worlds: two of the same shape are searched alike."""

    key: tuple[Anything, ...]
    query: Query = dataclass_field(compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Query:
    """A partial configuration and what is asked of its completions.

    ``pins`` holds parsed values of every field that the user fixed, the world apart;
    ``free`` names the knobs that the search varies, outermost first.
    """

    profile: Profile
    worlds: tuple[int, ...]
    pins: Mapping[str, Anything]
    conditions: tuple[Condition, ...] = ()
    objectives: tuple[Objective, ...] = ()
    pareto: bool = False
    free: tuple[str, ...] = ()
    bounded: bool = True
    """Whether the hardware's bounds hold too, and conditions that only an evaluation decides."""
    assumed: tuple[Offer, ...] = ()
    """Offers that nobody took or declined: the search takes the narrower kind."""
    tried: Mapping[str, tuple[Anything, ...]] = dataclass_field(default_factory=dict)
    """Values of free knobs that are asked about in place of all that there are."""

    @cached_property
    def base(self) -> Values:
        """Values of the fields that are not free: pins, then defaults; the first world."""
        profile = self.profile
        values = list(profile.defaults)
        for name, value in self.pins.items():
            values[profile.index_of[name]] = value
        values[profile.index_of[profile.world]] = self.worlds[0]
        return tuple(values)

    @cached_property
    def shape(self) -> Shape:
        """What is asked of every world."""
        parts = (
            self.profile,
            frozenset(self.pins.items()),
            tuple(condition.formula for condition in self.conditions),
            tuple((objective.term, objective.maximize) for objective in self.objectives),
            self.free,
            self.bounded,
            frozenset(self.tried.items()),
        )
        return Shape(parts, self)

    @cached_property
    def canonical(self) -> tuple[Formula, ...]:
        """Restrictions to one spelling, for the knobs that are free."""
        return tuple(
            formula for name, formula in self.profile.canonical.items() if name in self.free
        )

    @cached_property
    def narrow(self) -> Query:
        """The same without what only an evaluation decides, over the knobs that are left to Z3.

        Bounds, conditions and objectives over the memory account read nearly every knob; a
        table of their values would have a row for each configuration. The loops evaluate them
        on every configuration that the rest allows, and Z3 certifies that rest.
        """
        profile = self.profile
        conditions = tuple(c for c in self.conditions if not profile.is_evaluated(c.formula))
        objectives = tuple(o for o in self.objectives if not profile.is_evaluated(o.term))
        if (conditions, objectives) == (self.conditions, self.objectives) and not any(
            self.pins.get(name) is not None or name in self.free for name in profile.bounding
        ):
            return self
        read = fields_of(
            *(node for rule in profile.rules for node in rule.nodes),
            *(condition.formula for condition in conditions),
            *(objective.term for objective in objectives),
            *profile.canonical.values(),
            *(check.requires for check in profile.questions),
        )
        free = tuple(name for name in self.free if name in read)
        return replace(self, conditions=conditions, objectives=objectives, free=free, bounded=False)

    @property
    def limits(self) -> tuple[Rule, ...]:
        """The rules that an answer must not violate."""
        return self.profile.limits if self.bounded else self.profile.rules

    def domain(self, name: str, world: int) -> tuple[Anything, ...]:
        """Values that the search tries for a free knob."""
        return self.tried.get(name) or domain(self.profile, name, world)

    @property
    def held(self) -> tuple[tuple[str, Anything], ...]:
        """Knobs that are not searched, with their values; lists are left out."""
        return tuple(
            (field.name, value)
            for field, value in zip(self.profile.fields, self.base, strict=True)
            if field.role == "knob" and field.name not in self.free and not isinstance(field, Sizes)
        )

    @property
    def known(self) -> Known:
        """Values, as formulas read them, of every field that is neither free nor the world."""
        return read_values(self.profile, self.base, but=(*self.free, self.profile.world))

    def completed(self, world: int, free: Sequence[str], chosen: Sequence[Anything]) -> Values:
        """The values of the configuration in which the free knobs are so chosen."""
        values = list(self.base)
        index = self.profile.index_of
        values[index[self.profile.world]] = world
        for name, value in zip(free, chosen, strict=True):
            values[index[name]] = value
        return tuple(values)


def domain(profile: Profile, name: str, world: int) -> tuple[Anything, ...]:
    """Values that a search tries for a knob; `QueryError` if it has no finite domain."""
    field = profile.field_of[name]
    match field:
        case Flag():
            return (False, True)
        case Choice(choices=choices):
            return choices
        case Size(divides=whole) if whole == profile.world:
            return divisors(world)
        case Size(tried=(_, *_) as tried):
            return tried
        case Size() | Sizes():
            message = f"{name} has no finite set of values to search; pin it instead"
            raise QueryError(message)
        case _:
            assert_never(field)


def preferred(profile: Profile, names: Sequence[str]) -> list[tuple[str, bool]]:
    """Objectives that stand for what is preferred. Raises `QueryError` for an unknown name."""
    for name in names:
        if name not in profile.prefers:
            known = ", ".join(profile.prefers) or "none"
            message = (
                f"the {profile.name} profile has no preference {name!r:.60}; there are: {known}"
            )
            raise QueryError(message)
    return [(profile.prefers[name], False) for name in names]


def build_query(  # noqa: PLR0913  (a question has that many parts)
    profile: Profile,
    worlds: Sequence[int],
    given: Mapping[str, object],
    *,
    where: Sequence[str] = (),
    objectives: Sequence[tuple[str, bool]] = (),
    pareto: bool = False,
    vary: Sequence[str] = (),
) -> Query:
    """Read a question.

    ``given`` maps any spelling of a field to a value, ``objectives`` are pairs of a quantity
    and whether to maximise it, ``vary`` names further knobs to search. Raises `FieldError`,
    `QueryError` or `ConditionError`.
    """
    if not worlds:
        message = f"no world to search: give {profile.world} a number, a list or a range"
        raise QueryError(message)
    if any(profile.spellings.get(spelling) == profile.world for spelling in given):
        message = f"{profile.world} is given twice: as the world to search and as a pin"
        raise QueryError(message)
    config = profile.config({profile.world: worlds[0], **given})
    sizes = (profile.config({profile.world: world})[profile.world] for world in worlds)
    parsed: tuple[int, ...] = tuple(dict.fromkeys(sizes))
    stated = {name: config[name] for name in (profile.spellings[spelling] for spelling in given)}
    goals = tuple(
        Objective(text, _quantity(profile, text), maximize) for text, maximize in objectives
    )
    conditions = tuple(Condition(text, parse_condition(profile, text)) for text in where)
    named = stated_in(*(c.formula for c in conditions), *(goal.term for goal in goals))
    pins, offered, assumed = _offers(profile, stated, named)
    varied = tuple(_field_name(profile, spelling) for spelling in vary)
    for name in varied:
        domain(profile, name, parsed[0])
        if name in stated:
            message = f"{name} is both pinned and varied; drop one"
            raise QueryError(message)
        if name in pins:
            message = f"{name} decides which knobs are offered and cannot be varied; pin it"
            raise QueryError(message)
    free = tuple(
        name
        for name in dict.fromkeys((*profile.searched, *varied))
        if name not in pins and (name in offered or name in varied)
    )
    if len(free) > MOST_FREE:
        message = f"at most {MOST_FREE} knobs can be searched at once, not {len(free)}; pin some"
        raise QueryError(message)
    if len(set(objectives)) < len(objectives):
        message = "the same objective is given twice; give it once"
        raise QueryError(message)
    if pareto and len(goals) <= 1:
        message = "a Pareto front needs at least two objectives"
        raise QueryError(message)
    for text, node in (
        *((condition.text, condition.formula) for condition in conditions),
        *((goal.text, goal.term) for goal in goals),
    ):
        _refuse_unknown(profile, config, text, node)
        _refuse_unknown_memory(profile, config, text, node)
    return Query(profile, parsed, pins, conditions, goals, pareto, free, assumed=assumed)


def _refuse_unknown(profile: Profile, config: Config, text: str, node: Formula | Term) -> None:
    """An optional number that is not given is unknown, and nothing can be asked of it."""
    for name in sorted(stated_in(node)):
        field = profile.field_of[name]
        if isinstance(field, Size) and field.optional and config[name] is None:
            message = (
                f'"{text}" asks about {name}, which is not given; give --{field.flag or "model"}'
            )
            raise QueryError(message)


def _refuse_unknown_memory(
    profile: Profile, config: Config, text: str, node: Formula | Term
) -> None:
    """Nothing can be asked of a memory whose account lacks a number."""
    account = profile.account
    if account is None:
        return
    if profile.is_evaluated(node):
        read = fields_of(node)
        for need in account.needs:
            if not need.guards.isdisjoint(read) and not holds(profile, need.met, config.values):
                message = (
                    f'"{text}" cannot be known: {need.lacks} is missing, which decides '
                    f"{need.decides}; give {need.option}"
                )
                raise QueryError(message)
    limit = profile.field_of[account.limit.name]
    if limit.name in fields_of(node) and config[limit.name] is None:
        message = f'"{text}" asks about {limit.name}, which is not given; give --{limit.flag}'
        raise QueryError(message)


def _quantity(profile: Profile, text: str) -> Term:
    bare = text.strip()
    found = profile.quantity_of.get(bare)
    if isinstance(found, NamedFormula) or (isinstance(found, Named) and is_label(found)):
        message = f"{bare} is not a number and cannot be an objective"
        raise QueryError(message)
    return parse_quantity(profile, text)


def _field_name(profile: Profile, spelling: str) -> str:
    name = profile.spellings.get(spelling.replace("-", "_")) or profile.spellings.get(spelling)
    if name is None:
        message = f"unknown knob {spelling!r}{profile.hint(spelling)}"
        raise QueryError(message)
    return name


def _offers(
    profile: Profile, pins: dict[str, Anything], named: frozenset[str]
) -> tuple[dict[str, Anything], frozenset[str], tuple[Offer, ...]]:
    """Pins with what they imply, the knobs that a search may vary, and what was assumed.

    A knob that is pinned off its default, or that a condition or objective names, is asked for.
    What implies a kind does not contradict another: halo reads an expert's width in every model.
    """
    closed: set[str] = set()
    assumed: list[Offer] = []
    for offer in profile.offers:
        kind = pins.get(offer.given, offer.unknown)
        asked = [
            name
            for name in (*offer.knobs, *offer.implied_by)
            if name in named or pins.get(name) not in {None, profile.field_of[name].default}
        ]
        if kind == offer.unknown:
            kind = offer.value if asked else offer.otherwise
            pins = {**pins, offer.given: kind}
            if not asked:
                assumed.append(offer)
        elif kind != offer.value and any(name in pins for name in asked if name in offer.knobs):
            names = ", ".join(name for name in asked if name in pins and name in offer.knobs)
            message = f"{names} needs {offer.given} {offer.value}, but it is {kind}; drop one"
            raise QueryError(message)
        if kind != offer.value:
            closed.update(offer.knobs)
    return pins, frozenset(profile.field_of) - closed, tuple(assumed)


def assumptions(query: Query) -> tuple[Caution, ...]:
    """What a search took for granted because nobody said."""
    offered = tuple(
        Caution(
            warning=f"{offer.otherwise}-assumed",
            reason=offer.assumption,
            because=f"{offer.given} = {offer.unknown}",
            source="parsolve",
        )
        for offer in query.assumed
    )
    return (*offered, *_of_memory(query), *_left_out(query))


def _of_memory(query: Query) -> Iterator[Caution]:
    """The same of the memory account, where the answer rests on it."""
    account, profile = query.profile.account, query.profile
    if account is None or query.narrow is query or not query.pins.get(account.size):
        return
    words = [
        assumption.words
        for assumption in account.assumptions
        if holds(profile, assumption.when, query.base) and not _varies(query, assumption.when)
    ]
    if words:
        yield Caution(
            warning="memory-assumes",
            reason=f"Nobody said otherwise, so the memory is that of: {', '.join(words)}.",
            because="",
            source="parsolve",
        )


def _left_out(query: Query) -> Iterator[Caution]:
    """Values of searched knobs with which the memory in question is not known."""
    account, profile = query.profile.account, query.profile
    if account is None or query.narrow is query:
        return
    base = Config(profile, query.base)
    for need in account.needs:
        for name in sorted(fields_of(need.met) & {*query.free}):
            lost = [
                value
                for value in query.domain(name, query.worlds[0])
                if not holds(profile, need.met, base.replaced({name: value}).values)
            ]
            if lost and holds(profile, need.met, query.base):
                values = ", ".join(str(value).lower() for value in lost)
                yield Caution(
                    warning="variants-left-out",
                    reason=f"{name} = {values} was not searched: {need.lacks} is missing, which "
                    f"decides {need.decides}; give {need.option}.",
                    because="",
                    source="parsolve",
                )


def _varies(query: Query, formula: Formula) -> bool:
    return not fields_of(formula).isdisjoint(query.free)
