"""How one configuration stands: its numbers, its anti-patterns, the rungs that it does not need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any as Anything

from parsolve.constraints.ladder import Rung
from parsolve.constraints.memory.account import Account
from parsolve.constraints.memory.build import MEMORY_STAGE
from parsolve.constraints.profile import Config, Profile, holds
from parsolve.solver.advise.question import Climb
from parsolve.solver.answer import AntiPatternFound, Fields, Move, Standing
from parsolve.solver.memory import state, usage
from parsolve.solver.query import domain


def known(config: Config) -> dict[str, Anything]:
    """Every number that is known of the configuration, by name."""
    profile = config.profile
    return {**profile.filled(config.values), **profile.derive(config.values)}


def numbers(config: Config, names: Iterable[str]) -> Fields:
    """Those of these numbers that are known."""
    found = known(config)
    return Fields({name: found[name] for name in names if name in found})


def total(config: Config) -> int | None:
    """Bytes of the fullest GPU, where they are known."""
    size: int | None = known(config).get(_account(config.profile).total.name)
    return size


def _account(profile: Profile) -> Account:
    assert profile.account is not None  # noqa: S101  (a ladder comes with an account)
    return profile.account


def refusals(config: Config) -> tuple[str, ...]:
    """The rules that refuse the configuration, whatever its memory."""
    limits = (config.profile.limits[index] for index in config.profile.violated(config.values))
    return tuple(rule.id for rule in limits if rule.stage != MEMORY_STAGE)


def is_valid(config: Config) -> bool:
    """Whether the framework takes it, whatever its memory."""
    return config.profile.is_question(config.values) and not refusals(config)


def move(
    config: Config, change: Mapping[str, object], names: Iterable[str], rung: str | None = None
) -> Move | None:
    """The change, if it is one and its result is valid and known."""
    own = {name: value for name, value in change.items() if config[name] != value}
    changed = config.replaced(own)
    if not own or not is_valid(changed) or (size := total(changed)) is None:
        return None
    limit: int = config[_account(config.profile).limit.name]
    return Move(
        change=Fields(own),
        memory=size,
        state=state(size, limit),
        numbers=numbers(changed, names),
        rung=rung,
    )


def anti_patterns(config: Config) -> tuple[AntiPatternFound, ...]:
    """What the configuration does that costs without need, valid or not."""
    profile = config.profile
    assert profile.ladder is not None  # noqa: S101  (asked of a ladder's configurations)
    return tuple(
        AntiPatternFound(
            pattern=pattern.id,
            reason=pattern.reason,
            because=profile.because_of(pattern.when, config.values),
            instead=pattern.instead,
            source=str(pattern.source),
            numbers=numbers(config, pattern.numbers),
        )
        for pattern in profile.ladder.anti_patterns
        if holds(profile, pattern.when, config.values)
    )


def uses(config: Config, rung: Rung) -> bool:
    """Whether the configuration uses the rung."""
    return holds(config.profile, rung.used, config.values)


def lower(climb: Climb, config: Config, rung: Rung) -> Iterator[Mapping[str, object]]:
    """Steps down from a rung that the configuration uses, the longest first."""
    yield from climb.ladder.below(rung)
    if rung.size is None:
        return
    size: int = config[rung.size.name]
    for smaller in domain(config.profile, rung.size.name, config[config.profile.world]):
        if 1 < smaller < size:
            yield {rung.size.name: smaller}


def needless(climb: Climb, config: Config) -> tuple[Move, ...]:
    """For each rung in use, the longest step down from it after which it fits and costs less."""
    now = known(config)
    found = []
    for rung in reversed(climb.ladder.rungs):
        if not uses(config, rung):
            continue
        costs = tuple(name for name in rung.numbers if _is_cost(config.profile, name))
        for change in lower(climb, config, rung):
            made = move(config, change, ("comm_volume", *costs, "global_batch"), rung.name)
            if made is None or made.state == "over":
                continue
            if not costs or any(made.numbers.get(name, 0) < now.get(name, 0) for name in costs):
                found.append(made)
                break
    return tuple(found)


def _is_cost(profile: Profile, name: str) -> bool:
    """Whether people want less of the quantity."""
    return name in profile.less_is_better or getattr(profile.quantity_of[name], "unit", "") != ""


def standing(climb: Climb) -> Standing | None:
    """That of the stated configuration; None where nothing of the ladder was stated."""
    config = climb.config
    if not climb.is_stated:
        return None
    costs = {name: None for rung in climb.ladder.rungs for name in rung.numbers}
    return Standing(
        config=Fields({n: v for n, v in climb.settings(config).items() if v is not None}),
        memory=usage(config),
        numbers=numbers(config, ("comm_volume", *costs, "global_batch")),
        violated=refusals(config),
        anti_patterns=anti_patterns(config),
        needless=needless(climb, config) if is_valid(config) else (),
    )
