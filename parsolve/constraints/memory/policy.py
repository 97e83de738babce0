"""Precision policies: how many bytes a parameter costs, and for what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from parsolve.constraints.formula import Const, Term, Variable, if_


@dataclass(frozen=True, slots=True)
class Policy:
    """Bytes per parameter of stored weights, gradients and optimizer state."""

    name: str
    weight: int
    gradient: int
    optimizer: int
    about: str

    @property
    def words(self) -> str:
        """The sum and its parts."""
        parts = (self.weight, self.gradient, self.optimizer)
        return f"{sum(parts)} = {' + '.join(map(str, parts))}: {self.about}"


POLICIES = {
    policy.name: policy
    for policy in (
        Policy("bf16", 2, 2, 4, "bf16 weights, gradients and both Adam moments, no fp32 copy"),
        Policy("mixed-adam", 2, 2, 12, "fp32 master weights and moments (ZeRO paper)"),
        Policy("megatron", 2, 4, 12, "as mixed-adam, with fp32 main gradients"),
        Policy("fp32", 4, 4, 8, "fp32 sharded weights and gradients, bf16 when gathered"),
        Policy("8bit-adam", 2, 2, 2, "one byte for each moment, no fp32 copy"),
    )
}


def of_policy(choice: Variable, part: Callable[[Policy], int]) -> Term:
    """One number of the chosen policy."""
    first, *others = POLICIES.values()
    term: Term = Const(part(first))
    for policy in others:
        term = if_(choice == policy.name, part(policy), term)
    return term
