"""What changes between two configurations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from parsolve.solver.answer.layout import GroupKind
from parsolve.solver.answer.verdict import ALWAYS, Accepted, Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two configurations that a difference is between, and its verdict.

    ``format`` and ``syntax`` are those of the file that ``name`` names, if it names one. A step of
    the optimizer takes ``global_batch`` samples, which are ``tokens`` in all; absent if not known.
    """

    name: str
    format: str | None = None
    syntax: Literal["yaml", "json", "toml", "script"] | None = None
    global_batch: int | None = None
    tokens: int | None = None
    detail: Accepted | Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """A setting on one side: the field that it is ``of``, what is asked for, what it comes to.

    ``key`` and ``line`` say where a file has it; a default or an option has neither.
    """

    of: str
    value: Any = field(metadata=ALWAYS)
    effective: Any = field(metadata=ALWAYS)
    key: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A setting that is not the same on both sides; a side whose framework has none is absent.

    ``matters`` is false where both come to the same.
    """

    before: Spelled | None = None
    after: Spelled | None = None
    matters: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityChange:
    """A derived quantity, or the bytes of a part of memory, that changes; null is not known."""

    name: str
    before: Any = field(metadata=ALWAYS)
    after: Any = field(metadata=ALWAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """A kind of group whose groups change, see `GroupKind`; absent on a side without any."""

    name: str
    before: GroupKind | None = None
    after: GroupKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changes between two configurations: what is the same is left out.

    ``violated`` are rules that refuse the second and not the first, ``cured`` the reverse;
    ``warned`` and ``unwarned`` are warnings likewise. ``memory`` has bytes of the fullest GPU, by
    part, and their ``total``. ``groups_unknown`` says why no groups are compared, and ``apart``
    names given fields for which the other side's framework has no counterpart.
    """

    before: Side
    after: Side
    settings: tuple[SettingChange, ...]
    quantities: tuple[QuantityChange, ...]
    memory: tuple[QuantityChange, ...]
    groups: tuple[GroupChange, ...]
    groups_unknown: str | None = None
    violated: tuple[str, ...] = ()
    cured: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    unwarned: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    answer: Literal["difference"] = "difference"

    @property
    def status(self) -> str:
        """What decides the exit code: whether anything differs that has an effect."""
        same = not (
            self.quantities
            or self.memory
            or self.groups
            or self.violated
            or self.cured
            or self.warned
            or self.unwarned
            or self.apart
            or any(each.matters for each in self.settings)
        )
        return "same" if same else "differ"
