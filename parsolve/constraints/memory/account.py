"""An account of a GPU's memory: named parts, each a formula in bytes, and what they assume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parsolve.constraints.formula import Formula, Named, NamedFormula, Variable
from parsolve.constraints.rule import InputCheck


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One part of the memory at the moment when most of it is in use, in bytes per GPU.

    ``assumes`` says how it is computed.
    """

    bytes: Named
    assumes: str

    @property
    def name(self) -> str:
        """The part's name without its unit."""
        return self.bytes.name.removesuffix("_bytes").removesuffix("_state")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Assumption:
    """Something that nobody said and that the account takes for granted where ``when`` holds."""

    when: Formula
    words: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Need:
    """A number without which the account is not known: it is where ``met`` holds.

    ``guards`` are fields that mean nothing without it.
    """

    met: Formula
    guards: frozenset[str]
    lacks: str
    decides: str
    option: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Account:
    """What fills one GPU: the fullest one of the job, at its peak.

    ``parts`` add up to ``total``; without ``reserve``, which lies outside of the framework's
    allocator, they are what it reports as its peak (``allocated``); ``peak`` is the moment, in
    words. ``experts`` is the share of routed experts in parts. ``limit`` is the field of the
    GPU's memory, ``size`` one without which nothing is known. ``quantities`` are further
    numbers and truth values that conditions and objectives may name. ``levers`` are the knobs
    that a repair turns to save memory; ``needs`` what must be known, in the order in which it
    is asked for; ``checks`` refuse numbers of which there is no account.
    """

    parts: tuple[Part, ...]
    reserve: Named
    allocated: Named
    total: Named
    limit: Variable
    peak: Named
    experts: Mapping[str, Named] = field(default_factory=dict)
    quantities: tuple[Named | NamedFormula, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    levers: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    checks: tuple[InputCheck, ...] = ()
    size: str = "num_hidden_layers"

    @property
    def named(self) -> tuple[Named | NamedFormula, ...]:
        """Everything that has a name."""
        parts = tuple(part.bytes for part in self.parts)
        shares = tuple(self.experts.values())
        return (*parts, *shares, self.allocated, self.total, self.peak, *self.quantities)


NEAR_PERCENT = 95
"""From this share of a GPU's memory on, a run is near the limit: fragmentation decides."""
