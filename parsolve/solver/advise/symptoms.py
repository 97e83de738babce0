"""What a symptom asks of a configuration: the numbers behind it, and what relieves them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import sqrt
from typing import Any as Anything

from parsolve.constraints.fields import Size, gib
from parsolve.constraints.formula import Named
from parsolve.constraints.ladder import Rung, Symptom, SymptomName, Turn
from parsolve.constraints.profile import Config, holds
from parsolve.solver.advise.question import Climb
from parsolve.solver.advise.standing import known, lower, move, numbers, refusals, total, uses
from parsolve.solver.answer import Diagnosis, Move, RankLayout
from parsolve.solver.deadline import Deadline
from parsolve.solver.layout import MOST_RANKS, groups_unsaid, layout
from parsolve.solver.query import domain
from parsolve.solver.search import search

MOST_VALUES = 3
"""Values of one knob that are shown: the nearest."""


def diagnosis(
    climb: Climb, config: Config, name: SymptomName, deadline: Deadline, *, of_advised: bool
) -> Diagnosis:
    """The symptom at this configuration. Raises `TimedOut` at the deadline."""
    profile = climb.profile
    symptom = _named(climb, name)
    absent = holds(profile, symptom.absent, config.values)
    return Diagnosis(
        symptom=symptom.name,
        about=symptom.about,
        of="advised" if of_advised else "current",
        measure=symptom.measure,
        numbers=numbers(config, (symptom.measure, *symptom.shows)),
        found=(*_refused(config), *((symptom.otherwise,) if absent else _found(config, symptom))),
        moves=() if absent or refusals(config) else tuple(_moves(climb, config, symptom)),
        least=_least(climb, config, symptom, deadline) if symptom.sweeps else None,
        hints=tuple(
            hint.words
            for hint in symptom.hints
            if not absent and holds(profile, hint.when, config.values)
        ),
    )


def instead(climb: Climb, config: Config) -> tuple[Move, ...] | None:
    """Changes of knobs that are no rungs, with which the configuration would fit."""
    symptom = _named(climb, "oom")
    found = [
        made
        for turn in symptom.turns
        if (made := _first_that_fits(_turned(config, turn, symptom))) is not None
    ]
    return tuple(found) or None


def _first_that_fits(moves: Iterable[Move]) -> Move | None:
    return next((made for made in moves if made.state != "over"), None)


def _moves(climb: Climb, config: Config, symptom: Symptom) -> Iterator[Move]:
    """Single changes that relieve the symptom, in the order in which to try them."""
    is_memory = symptom.climbs
    pick = _cheapest if is_memory else _few
    for turn in symptom.turns:
        yield from pick(_relieving(config, symptom, _turned(config, turn, symptom)))
    if symptom.climbs:
        for rung in climb.rungs:
            climbed = _higher(climb, config, rung, symptom)
            yield from pick(_relieving(config, symptom, climbed))
    if symptom.descends:
        for rung in reversed(climb.rungs):
            if uses(config, rung):
                changes = lower(climb, config, rung)
                made = _made(config, changes, symptom, rung.name)
                yield from pick(_relieving(config, symptom, made))


def lighter(climb: Climb, config: Config, deadline: Deadline) -> Move | None:
    """The change to what sends least per sample of everything that fits, if that is less."""
    return _least(climb, config, _named(climb, "slow"), deadline)


def _named(climb: Climb, name: SymptomName) -> Symptom:
    return next(each for each in climb.ladder.symptoms if each.name == name)


def _least(climb: Climb, config: Config, symptom: Symptom, deadline: Deadline) -> Move | None:
    """The change to what has the least of the measure, of all that is valid and fits.

    Without the rungs whose traffic nobody counts.
    """
    query = climb.question([rung for rung in climb.rungs if rung.counted])
    names = [name for name in (symptom.measure, symptom.per) if name]
    measures = [climb.profile.quantity_of[name] for name in names]
    numbers_ = (each for each in measures if isinstance(each, Named))  # each of them is
    best: tuple[tuple[Fraction, list[int]], tuple[object, ...]] | None = None
    for _, chosen, scores in search(
        query, (*numbers_, *climb.order, climb.account.total), deadline
    ):
        amount = _measured(dict(zip(names, scores, strict=False)), symptom)
        *levels, size = (score or 0 for score in scores[len(names) :])
        if amount is None or None in scores or size > climb.limit:
            continue
        score = (amount, [*levels, size])
        if best is None or score < best[0]:
            best = (score, chosen)
    if best is None:
        return None
    (world,) = query.worlds
    found = Config(climb.profile, query.completed(world, query.free, best[1]))
    change = {name: found[name] for name in climb.offered}
    return next(_relieving(config, symptom, _made(config, [change], symptom)), None)


def _relieving(config: Config, symptom: Symptom, moves: Iterable[Move]) -> Iterator[Move]:
    """Those after which the measure is better; where it is not of memory, that must not suffer.

    Memory does not suffer where it fits afterwards, or is no more than it was.
    """
    now, size = _measured(known(config), symptom), total(config)
    for made in moves:
        then = _measured(made.numbers, symptom)
        if now is None or then is None or not (then > now if symptom.rises else then < now):
            continue
        if symptom.climbs or made.state != "over" or (size is not None and made.memory <= size):
            yield made


def _measured(found: Mapping[str, Anything], symptom: Symptom) -> Fraction | None:
    """The measure, per one of what it is compared by."""
    amount, per = found.get(symptom.measure), found.get(symptom.per) if symptom.per else 1
    return Fraction(amount, per) if amount is not None and per else None


def _cheapest(moves: Iterator[Move]) -> Sequence[Move]:
    """The first that fits; where none does, the one with the least memory."""
    found = list(moves)
    fitting = _first_that_fits(found)
    if fitting is not None:
        return (fitting,)
    return (min(found, key=lambda made: made.memory),) if found else ()


def _few(moves: Iterator[Move]) -> Sequence[Move]:
    return list(moves)[:MOST_VALUES]


def _made(
    config: Config,
    changes: Iterable[Mapping[str, object]],
    symptom: Symptom,
    rung: str | None = None,
) -> Iterator[Move]:
    names = (symptom.measure, *symptom.shows)
    for change in changes:
        made = move(config, change, names, rung)
        if made is not None:
            yield made


def _turned(config: Config, turn: Turn, symptom: Symptom) -> Iterator[Move]:
    """The configurations that a turn of a knob makes, the nearest first."""
    if not holds(config.profile, turn.where, config.values):
        return
    beside = {knob.name: value for knob, value in turn.beside}
    changes = ({turn.knob.name: value, **beside} for value in _values(config, turn))
    yield from _made(config, changes, symptom)


def _values(config: Config, turn: Turn) -> Sequence[object]:
    if turn.times:
        now = known(config).get(turn.of)
        return () if now is None else [times * now for times in turn.times]
    tried = turn.values or domain(config.profile, turn.knob.name, config[config.profile.world])
    if not isinstance(turn.knob, Size):
        return tried
    return sorted(tried, key=_distance(config[turn.knob.name] or 1))


def _distance(now: int) -> Callable[[Anything], float]:
    return lambda value: max(value, now) / max(1, min(value, now))


def _higher(climb: Climb, config: Config, rung: Rung, symptom: Symptom) -> Iterator[Move]:
    """Steps up a rung from where the configuration is, the smallest first."""
    settings = dict(climb.ladder.settings(rung, rung))
    changes: list[Mapping[str, object]]
    if rung.size is None:
        below = [other for other in climb.rungs if rung.name != other.name]
        if any(
            uses(config, other) and dict(s) == settings
            for other in below
            for s in climb.ladder.below(other)
        ):
            return
        changes = [settings]
    else:
        # one that follows from another is unset
        size: int = known(config).get(rung.size.name, config[rung.size.name]) or 1
        changes = [
            {**settings, rung.size.name: larger}
            for larger in domain(config.profile, rung.size.name, config[config.profile.world])
            if larger > size
        ]
    for made in _made(config, changes, symptom, rung.name):
        if holds(config.profile, rung.only, config.replaced(made.change).values):
            yield made


def _found(config: Config, symptom: Symptom) -> Iterator[str]:
    """What lies behind the symptom, in words with numbers."""
    match symptom.name:
        case "oom":
            yield from _parts(config)
        case "slow":
            yield from _far(config)
        case "imbalance":
            yield from _spread(config)
        case "bubbles" | "long-context":
            return


def _refused(config: Config) -> Iterator[str]:
    if rules := refusals(config):
        yield f"refused by {', '.join(rules)}: mend that first; parsolve check says how"


def _parts(config: Config) -> Iterator[str]:
    account = config.profile.account
    assert account is not None  # noqa: S101  (a ladder comes with an account)
    found = known(config)
    sizes = {part.name: found.get(part.bytes.name, 0) for part in account.parts}
    largest = sorted(sizes.items(), key=lambda part: -part[1])
    if any(sizes.values()):
        yield ", ".join(f"{name} {gib(size)}" for name, size in largest if size)
    size, limit = total(config), config[account.limit.name]
    if size is not None and size <= limit:
        yield (
            f"by the account it fits with {gib(limit - size)} to spare: compare with the peak that "
            "PyTorch reports; another process or what the account leaves out has the rest"
        )


def _far(config: Config) -> Iterator[str]:
    """Which groups leave their node or NVLink domain, and what they send."""
    profile = config.profile
    whole = config.replaced(dict.fromkeys(profile.bounding))
    if not profile.layout.kinds or config[profile.world] > MOST_RANKS or not whole.accepted():
        return
    if groups_unsaid(whole):
        return
    laid = layout(whole)
    assert isinstance(laid, RankLayout)  # noqa: S101  (it is accepted)
    for kind in laid.kinds:
        if kind.traffic and kind.across_nodes:
            domains = f", {kind.across_domains} NVLink domains" if kind.across_domains else ""
            yield (
                f"{kind.name}: {kind.across_nodes} of {kind.count} groups of {kind.size} cross "
                f"nodes{domains}; {gib(kind.traffic)} per GPU and step"
            )


def _spread(config: Config) -> Iterator[str]:
    per_rank = known(config).get("experts_per_rank")
    if per_rank:
        yield (
            f"a rank holds {per_rank} experts of a layer: loads that vary independently vary "
            f"{1 / sqrt(per_rank):.2f} times as much by rank as by expert"
        )
