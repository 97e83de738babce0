"""What a configuration needs of each GPU: the account of its profile, read at its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from parsolve.constraints.memory.account import NEAR_PERCENT, Account
from parsolve.constraints.memory.build import MEMORY_STAGE
from parsolve.constraints.profile import Config, holds
from parsolve.solver.answer import Fields, Memory, Usage

State: TypeAlias = Literal["fits", "near", "over"]


def usage(config: Config) -> Usage | None:
    """The memory of the fullest GPU, or None where the model's size is not known."""
    profile, account = config.profile, config.profile.account
    if account is None or not config[account.size]:
        return None
    known = profile.filled(config.values)
    if account.total.name not in known:
        return None
    parts = {part.name: known[part.bytes.name] for part in account.parts}
    total = known[account.total.name]
    limit: int | None = config[account.limit.name]
    return Usage(
        bytes=Fields({**parts, "allocated": known[account.allocated.name], "total": total}),
        peak=known[account.peak.name],
        experts=_experts(account, known),
        limit=limit,
        state=None if limit is None else state(total, limit),
        assumed=_assumed(account, config),
    )


def state(total: int, limit: int) -> State:
    """Whether so many bytes fit: near from `NEAR_PERCENT` of the limit on."""
    if total > limit:
        return "over"
    return "near" if total * 100 > limit * NEAR_PERCENT else "fits"


def _experts(account: Account, known: Mapping[str, int]) -> Fields | None:
    """The share of routed experts in parts, None for a model without any."""
    shares = {part: known[share.name] for part, share in account.experts.items()}
    return Fields(shares) if any(shares.values()) else None


def _assumed(account: Account, config: Config) -> tuple[str, ...]:
    return tuple(
        assumption.words
        for assumption in account.assumptions
        if holds(config.profile, assumption.when, config.values)
    )


def memory(config: Config, *, shown_repairs: int = 6) -> Memory:
    """The account of a configuration, and what would make it fit.

    Raises `QueryError` where the memory is not known, saying which number is missing.
    """
    from parsolve.solver.check import cautions, shown  # noqa: PLC0415  (a check shows the usage)
    from parsolve.solver.query import QueryError  # noqa: PLC0415  (a check asks no query)
    from parsolve.solver.repair import repairs  # noqa: PLC0415

    profile = config.profile
    found = usage(config)
    if found is None:
        raise QueryError(missing(config))
    violated = profile.violated(config.values)
    nearest = repairs(config, violated) if violated and shown_repairs else None
    return Memory(
        profile=profile.name,
        config=Fields(config.as_dict()),
        bytes=found.bytes,
        peak=found.peak,
        experts=found.experts,
        limit=found.limit,
        state=found.state,
        assumed=found.assumed,
        warnings=cautions(config),
        violated=tuple(
            profile.limits[i].id for i in violated if profile.limits[i].stage != MEMORY_STAGE
        ),
        repairs=shown(config, nearest.changes[:shown_repairs]) if nearest else None,
        repairs_complete=False if nearest and not nearest.complete else None,
    )


def missing(config: Config) -> str:
    """Which number the account lacks, and what it would decide."""
    profile, account = config.profile, config.profile.account
    if account is None:
        return f"the {profile.name} profile has no memory account"
    for need in account.needs:
        if not holds(profile, need.met, config.values):
            return f"{need.lacks} is missing: it decides {need.decides}; give {need.option}"
    broken = ", ".join(profile.limits[index].id for index in profile.violated(config.values))
    return f"the memory is not known while these rules are violated: {broken}"
