"""The verdict on one configuration, and what every answer is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

ALWAYS = {"null": True}
"""Marks an attribute that is in the JSON even where it is null."""


class Fields(dict[str, Any]):
    """Names and values of an answer: a dictionary that cannot be changed."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        message = "an answer cannot be changed; copy it with dict(...)"
        raise TypeError(message)

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[type[Fields], tuple[dict[str, Any]]]:
        """Copied and pickled as a whole: item by item would be a change."""
        return (type(self), (dict(self),))

    @classmethod
    def __get_pydantic_core_schema__(cls, _: object, handler: Callable[[Any], Any]) -> object:
        """To a schema it is an object with any values."""
        return handler(dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that the configuration breaks."""

    rule: str
    stage: str
    reason: str
    because: str
    remedy: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """Something that is accepted and worth knowing.

    A ``change`` is one that the framework makes in silence, a ``hazard`` something that it takes
    and that hurts or trains wrongly; absent for any other warning.
    """

    warning: str
    reason: str
    because: str
    source: str
    kind: Literal["change", "hazard"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A smallest change that is accepted: fields to change, and the whole result.

    ``drop`` names conditions of the question that the change gives up.
    """

    change: Fields
    config: Fields
    drop: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What fills the fullest GPU at its peak.

    ``bytes`` holds each part, their sum as ``total``, and as ``allocated`` the sum without the
    reserve, which is what the framework's allocator reports; ``experts`` how much of a part is
    that of routed experts. ``limit`` is the GPU's memory in
    bytes; ``state`` says whether the total fits, is near the limit, or over it. ``peak`` is the
    moment at which most is in use; ``assumed`` what nobody said.
    """

    bytes: Fields
    peak: str
    experts: Fields | None = None
    limit: int | None = None
    state: Literal["fits", "near", "over"] | None = None
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What a configuration needs of each GPU, part by part, see `Usage`.

    ``violated`` are rules that refuse the configuration whatever its memory; ``repairs`` the
    nearest accepted configurations where it does not fit, and ``repairs_complete`` is false where
    the search for them was cut short.
    """

    profile: str
    config: Fields
    bytes: Fields
    peak: str
    experts: Fields | None = None
    limit: int | None = field(metadata=ALWAYS)
    state: Literal["fits", "near", "over"] | None = field(metadata=ALWAYS)
    assumed: tuple[str, ...] = ()
    warnings: tuple[Caution, ...] = ()
    violated: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] | None = None
    repairs_complete: bool | None = None
    answer: Literal["memory"] = "memory"

    @property
    def status(self) -> str:
        """What decides the exit code."""
        return self.state or "known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """No rule is violated. ``memory`` is there where the model's size is known."""

    profile: str
    config: Fields
    derived: Fields
    memory: Usage | None = None
    warnings: tuple[Caution, ...] = ()
    answer: Literal["accepted"] = "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """At least one rule is violated; the first is the framework's own verdict.

    ``repairs`` are the nearest accepted configurations, absent where they were not asked
    for; ``more_repairs`` counts equally near ones that are not shown. ``repairs_complete`` is
    false where the search for them was cut short, and absent elsewhere.
    """

    profile: str
    config: Fields
    derived: Fields
    violations: tuple[Violation, ...]
    memory: Usage | None = None
    warnings: tuple[Caution, ...] = ()
    repairs: tuple[Repair, ...] | None = None
    more_repairs: int | None = None
    repairs_complete: bool | None = None
    answer: Literal["rejected"] = "rejected"
