"""A profile's verdicts as formulas: which rule is the first, and when none is violated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import z3

from parsolve.constraints.evaluate import Values
from parsolve.constraints.profile import Profile
from parsolve.solver.integers import IntegerEncoder
from parsolve.solver.prove.inputs import Inputs
from parsolve.solver.prove.lists import Lists


class Catalogue:
    """The rules of a profile over unknown inputs.

    Another catalogue of the same profile may stand beside it in one statement, about a second
    configuration: it shares arithmetic and labels, and differs in the fields that are ``given``.
    ``name`` tells its marks apart.
    """

    def __init__(
        self,
        profile: Profile,
        beside: Catalogue | None = None,
        given: Mapping[str, z3.ExprRef] | None = None,
        name: str = "",
    ) -> None:
        self.profile = profile
        self.name = name
        shared = beside.encoder if beside is not None else IntegerEncoder()
        self.encoder: IntegerEncoder = IntegerEncoder(shared.arithmetic, shared.labels, given)
        self.inputs = Inputs(profile, self.encoder)
        self.lists = Lists(profile, self.encoder)
        self.inputs.axioms += self.lists.axioms

    def values(self, model: z3.ModelRef) -> Values:
        """The configuration that a model stands for."""
        return self.lists.real(model, self.inputs.values(model))

    def exactly(self, values: Values) -> list[z3.BoolRef]:
        """That the configuration is this one."""
        given = dict(zip(self.profile.index_of, values, strict=True))
        lists = {name: given.pop(name) for name in self.lists.features}
        return [*self.inputs.fixed(given), *self.lists.fixed(lists)]

    @cached_property
    def broken(self) -> tuple[z3.BoolRef, ...]:
        """When each rule's own formulas say that it is violated."""
        return tuple(self.breaks(*rule.nodes) for rule in self.profile.rules)

    def breaks(self, when: object, requires: object) -> z3.BoolRef:
        """That ``when`` holds and ``requires`` does not, both defined."""
        applies, _ = self.encoder.formula(when)  # type: ignore[arg-type]
        _, fails = self.encoder.formula(requires)  # type: ignore[arg-type]
        return z3.And(applies, fails)

    @cached_property
    def violated(self) -> tuple[z3.BoolRef, ...]:
        """When each rule is reported: not while a size that it reads is itself illegal."""
        return tuple(self.heard(index, broken) for index, broken in enumerate(self.broken))

    def heard(self, index: int, broken: z3.BoolRef) -> z3.BoolRef:
        """The rule's violation, unless another rule about a size that it reads silences it."""
        rules, legality = self.profile.rules, self.profile.legality
        if index in legality:
            return broken
        silencing = [self.broken[i] for i in legality if rules[i].reads <= rules[index].reads]
        return z3.And(broken, *map(z3.Not, silencing))

    @cached_property
    def marks(self) -> tuple[z3.BoolRef, ...]:
        """One truth value per rule, see `meaning`: formulas about verdicts stay short."""
        return tuple(z3.Bool(f"{self.name}violates {rule.id}") for rule in self.profile.rules)

    @cached_property
    def meaning(self) -> tuple[z3.BoolRef, ...]:
        """What the marks stand for."""
        return tuple(a == b for a, b in zip(self.marks, self.violated, strict=True))

    def first(self, index: int) -> z3.BoolRef:
        """The rule is the first violated one."""
        return z3.And(self.marks[index], *map(z3.Not, self.marks[:index]))

    @cached_property
    def accepted(self) -> z3.BoolRef:
        """No rule is violated."""
        return z3.And(*map(z3.Not, self.marks))
