"""Precision policies: how many bytes a parameter costs, and for what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from parsolve.constraints.fields import Choice, Size
from parsolve.constraints.formula import Const, Named, Term, Variable, if_


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
        """The parts, as a sum."""
        parts = (self.weight, self.gradient, self.optimizer)
        return "+".join(map(str, parts))


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


PANEL = "Precision"


def policy_field(default: str) -> Choice:
    """The field of the policy."""
    return Choice(
        "precision_policy",
        default=default,
        choices=tuple(POLICIES),
        role="run",
        panel=PANEL,
        flag="precision-policy",
        about="Bytes per parameter of weights, gradients and optimizer state: "
        + ", ".join(f"{policy.name} {policy.words}" for policy in POLICIES.values())
        + ".",
    )


def _stated(what: str, of: str, *, minimum: int = 1, unset: int = 0) -> Size:
    return Size(
        f"{what}_bytes",
        default=None,
        optional=True,
        minimum=minimum,
        unset=unset,
        role="run",
        panel=PANEL,
        flag=f"{what}-bytes",
        about=f"Bytes per parameter of {of}, in place of the policy's.",
    )


weight_bytes = _stated("weight", "stored weights")
gradient_bytes = _stated("gradient", "gradients")
optimizer_bytes = _stated("optimizer", "optimizer state", minimum=0, unset=-1)


def width(stated: Size, otherwise: Term) -> Named:
    """Bytes of a parameter's weight, gradient or optimizer state: stated, or the policy's."""
    what = stated.name.removesuffix("_bytes")
    return Named(
        f"{what}_width",
        if_(stated > stated.unset, stated, otherwise),
        about=f"Bytes per parameter: {what}.",
    )
