"""Axes and sets of them: in which order they stand and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from parsolve.constraints.profile import Profile

Mode: TypeAlias = frozenset[str]
"""The set of the active axes."""

SET_ORDER = ("pp_size", "ep_size", "tp_size", "expert_tp_size", "cp_size")
"""Order in which people name axes together; one that is missing here comes last."""

COLUMN_ORDER = ("ep_size", "tp_size", "expert_tp_size", "cp_size", "pp_size")
"""Order of axes as columns; one that is missing here comes last."""


def ordered(axes: Iterable[str], order: Sequence[str]) -> list[str]:
    """The axes in that order."""
    return sorted(axes, key=lambda name: order.index(name) if name in order else len(order))


def short(profile: Profile, axis: str) -> str:
    """The axis as people abbreviate it."""
    return profile.field_of[axis].flag.upper()


def mode_name(profile: Profile, mode: Mode) -> str:
    """The mode by its active axes."""
    axes = ordered((name for name in profile.axes if name in mode), SET_ORDER)
    return "+".join(short(profile, name) for name in axes) or "plain data parallelism"
