"""Sets of axes: every supported one is inhabited, every other one refused before arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations

import z3

from parsolve.constraints.formula import Arith, Divides, Node, Quotient, children
from parsolve.constraints.profile import Profile
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.instances import find, is_question, off_default, smaller
from parsolve.solver.prove.obligation import Finding, Goal, Obligation, Status
from parsolve.solver.prove.prover import Prover

NONE = "none"
"""Name of the empty set of axes."""


def obligations(profile: Profile) -> Iterator[Obligation]:
    """One for each set of axes."""
    sets = _AxisSets(profile)
    for size in range(len(profile.axes) + 1):
        for axes in combinations(profile.axes, size):
            active = frozenset(axes)
            name = "+".join(profile.field_of[axis].flag for axis in axes) or NONE
            supported = active in profile.modes
            yield Obligation(
                name=f"allowlist/{name}",
                says=f"some configuration with exactly {name} active is accepted"
                if supported
                else f"{name} active together is refused by the axis rule, before any arithmetic",
                decide=partial(sets.inhabited if supported else sets.refused, active),
            )


class _AxisSets:
    """What the obligations about one profile's axes share."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.catalogue = Catalogue(profile)
        theory = [*self.catalogue.inputs.axioms, *self.catalogue.meaning]
        self.prover = Prover(self.catalogue.encoder.arithmetic, theory)

    def _active(self, axes: frozenset[str]) -> list[z3.BoolRef]:
        return [
            z3.Int(axis) > 1 if axis in axes else z3.Int(axis) <= 1 for axis in self.profile.axes
        ]

    def inhabited(self, axes: frozenset[str], deadline: Deadline) -> Finding:
        """Find the smallest accepted configuration with these axes."""
        profile = self.profile
        places = {axis: profile.index_of[axis] for axis in profile.axes}

        def fits(values: tuple[object, ...]) -> bool:
            sizes = {axis: values[place] for axis, place in places.items()}
            exact = all((size > 1) == (axis in axes) for axis, size in sizes.items())  # type: ignore[operator]
            return exact and is_question(profile, values) and profile.accepts(values)

        wanted = [*self._active(axes), self.catalogue.accepted]
        found = find(self.catalogue, self.prover.solver("laws"), wanted, fits, deadline)
        if found.values is None:
            status: Status = "refuted" if found.impossible else "undecided"
            return Finding(status=status, note="nothing of this mode is ever accepted")
        values = smaller(profile, found.values, fits)
        fixed = self.catalogue.inputs.exactly(values)
        definitions = self.catalogue.encoder.arithmetic.definitions()
        goal = Goal("inhabited", (*self.prover.theory, *definitions, *fixed, *wanted), "sat")
        return Finding(status="proved", witness=off_default(profile, values), goals=(goal,))

    def refused(self, axes: frozenset[str], deadline: Deadline) -> Finding:
        """Prove that the axis rule speaks, and that nothing before it computes anything."""
        rules = self.profile.rules
        index = next(
            (i for i, rule in enumerate(rules) if rule.reads == frozenset(self.profile.axes)), None
        )
        if index is None:
            return Finding(status="refuted", note="no rule reads exactly the axes")
        legal = [i for i in self.profile.legality if rules[i].reads <= rules[index].reads]
        speaks = z3.Or(*(self.catalogue.marks[i] for i in (index, *legal)))
        verdict = self.prover.refute(
            "refused", *self._active(axes), z3.Not(speaks), deadline=deadline
        )
        if not verdict.proved:
            return self._admitted(axes, index, deadline)
        early = [rule.id for rule in rules[: index + 1] if any(map(_computes, rule.nodes))]
        if early:
            note = f"{', '.join(early)} computes before {rules[index].id} speaks"
            return Finding(status="refuted", note=note)
        return Finding(status="proved", note=f"by {rules[index].id}", goals=(verdict.goal,))

    def _admitted(self, axes: frozenset[str], index: int, deadline: Deadline) -> Finding:
        """A configuration with these axes that the axis rule lets pass."""
        profile = self.profile
        places = {axis: profile.index_of[axis] for axis in profile.axes}

        def fits(values: tuple[object, ...]) -> bool:
            sizes = {axis: values[place] for axis, place in places.items()}
            exact = all((size > 1) == (axis in axes) for axis, size in sizes.items())  # type: ignore[operator]
            passes = not any(broken <= index for broken in profile.violated(values))
            return exact and passes and is_question(profile, values)

        wanted = [*self._active(axes), *map(z3.Not, self.catalogue.marks[: index + 1])]
        found = find(self.catalogue, self.prover.solver("laws"), wanted, fits, deadline)
        if found.values is None:
            return Finding(status="undecided")
        values = smaller(profile, found.values, fits)
        return Finding(status="refuted", counterexample=off_default(profile, values))


def _computes(node: Node) -> bool:
    return isinstance(node, (Arith, Divides, Quotient)) or any(map(_computes, children(node)))
