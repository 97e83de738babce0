"""Sets of axes: every supported one is inhabited, every other one refused before arithmetic.

A set is supported if it is accepted with some values of the other fields. One that is not is
refused whatever these are: by rules that read nothing but axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

import z3

from parsolve.constraints.evaluate import Values
from parsolve.constraints.formula import Arith, Divides, Node, Quotient, children
from parsolve.constraints.profile import Profile, read_values
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.instances import fewest, find, is_question, off_default, smaller
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
                else f"{name} active together is refused by rules about axes alone, "
                "before any arithmetic",
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

    def _is_exactly(self, axes: frozenset[str], values: Values) -> bool:
        """Whether these axes are active in the configuration, and no others."""
        known = read_values(self.profile, values)
        return all((known[axis] > 1) == (axis in axes) for axis in self.profile.axes)  # type: ignore[operator]

    def inhabited(self, axes: frozenset[str], deadline: Deadline) -> Finding:
        """Find the smallest accepted configuration with these axes."""
        profile = self.profile

        def fits(values: Values) -> bool:
            exact = self._is_exactly(axes, values)
            return exact and is_question(profile, values) and profile.accepts(values)

        wanted = [*self._active(axes), self.catalogue.accepted]
        found = find(self.catalogue, self.prover.solver("laws"), wanted, fits, deadline)
        if found.values is None:
            status: Status = "refuted" if found.impossible else "undecided"
            nothing = "nothing of this mode is ever accepted"
            note = nothing if found.impossible else "no accepted configuration was found"
            return Finding(status=status, note=note)
        places = [profile.index_of[axis] for axis in profile.axes if axis in axes]
        easy = smaller(profile, found.values, fits)
        values = smaller(profile, fewest(profile, easy, fits, places), fits)
        fixed = self.catalogue.exactly(values)
        definitions = self.catalogue.encoder.arithmetic.definitions()
        goal = Goal("inhabited", (*self.prover.theory, *definitions, *fixed, *wanted), "sat")
        return Finding(status="proved", witness=off_default(profile, values), goals=(goal,))

    def refused(self, axes: frozenset[str], deadline: Deadline) -> Finding:
        """Prove that rules about axes speak, and that no rule up to them computes anything."""
        rules, marks = self.profile.rules, self.catalogue.marks
        about = [i for i, rule in enumerate(rules) if rule.reads <= frozenset(self.profile.axes)]
        illegal = [i for i in about if i in self.profile.legality]
        together = [i for i in about if i not in self.profile.legality]
        for count, last in enumerate(together, 1):
            speaking = {*together[:count], *illegal}
            silent = [z3.Not(marks[i]) for i in sorted(speaking)]
            verdict = self.prover.refute("refused", *self._active(axes), *silent, deadline=deadline)
            if not verdict.proved:
                continue
            early = [rule.id for rule in rules[: last + 1] if any(map(_computes, rule.nodes))]
            if early:
                note = f"{', '.join(early)} computes before {rules[last].id} speaks"
                return Finding(status="refuted", note=note)
            note = f"by {', '.join(rules[i].id for i in together[:count])}"
            return Finding(status="proved", note=note, goals=(verdict.goal,))
        return self._admitted(axes, about, deadline)

    def _admitted(self, axes: frozenset[str], about: Sequence[int], deadline: Deadline) -> Finding:
        """A configuration with these axes that every rule about axes alone lets pass."""
        profile = self.profile

        def fits(values: Values) -> bool:
            passes = not set(about).intersection(profile.violated(values))
            return self._is_exactly(axes, values) and passes and is_question(profile, values)

        wanted = [*self._active(axes), *(z3.Not(self.catalogue.marks[i]) for i in about)]
        found = find(self.catalogue, self.prover.solver("laws"), wanted, fits, deadline)
        if found.values is None:
            return Finding(status="undecided")
        values = smaller(profile, found.values, fits)
        note = "" if about else "no rule reads axes alone"
        return Finding(status="refuted", counterexample=off_default(profile, values), note=note)


def _computes(node: Node) -> bool:
    return isinstance(node, (Arith, Divides, Quotient)) or any(map(_computes, children(node)))
