"""Proving in steps: with as little arithmetic as a statement needs.

Products and quotients are functions (see `arithmetic`). Most statements about rules follow
without knowing more of them, others from laws, a few from definitions. What is unsatisfiable
with less stays so with more, and a solver that is told less is faster by orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import z3

from parsolve.solver.arithmetic import Arithmetic
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.decide import SeparateSolver, decide
from parsolve.solver.prove.obligation import Goal

STEPS = ("equality", "laws", "chained laws", "definitions")
"""What a proof may know of products and quotients, less first."""

LONGEST = 10.0
"""Seconds that one step may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Whether a goal is unsatisfiable; ``model`` is one of the last step, if that found one.

    A model of a step before "definitions" may not be a model in truth.
    """

    proved: bool
    goal: Goal
    step: str
    model: z3.ModelRef | None = None


class Prover:
    """Decides goals that share a theory: what is asserted about every goal."""

    def __init__(
        self, arithmetic: Arithmetic, theory: Sequence[z3.BoolRef], steps: Sequence[str] = STEPS
    ) -> None:
        self.arithmetic = arithmetic
        self.theory = list(theory)
        self.steps = tuple(steps)
        self._solvers: dict[str, z3.Solver] = {}
        self._seen: dict[str, tuple[int, int]] = {}
        self._told: dict[str, int] = {}
        self._known: dict[tuple[str, int, int], list[z3.BoolRef]] = {}

    def learn(self, *facts: z3.BoolRef) -> None:
        """Assert more about every later goal: what was proved, or assumed from here on."""
        self.theory += facts

    def refute(
        self,
        name: str,
        *assertions: z3.BoolRef,
        deadline: Deadline,
        steps: Sequence[str] | None = None,
    ) -> Verdict:
        """Whether the assertions contradict the theory."""
        model = None
        for step in self.steps if steps is None else steps:
            solver = self.solver(step)
            solver.push()
            solver.add(*assertions)
            try:
                result = decide(solver, deadline.sooner(LONGEST))
            except TimedOut:
                result = z3.unknown
            if result == z3.sat:
                model = solver.model()
            solver.pop()
            if result == z3.unsat:
                return Verdict(True, self.goal(name, step, assertions), step)  # noqa: FBT003
        return Verdict(False, self.goal(name, step, assertions), step, model)  # noqa: FBT003

    def goal(self, name: str, step: str, assertions: Sequence[z3.BoolRef]) -> Goal:
        """The whole of what was asked."""
        return Goal(name, (*self.theory, *self._arithmetic(step), *assertions))

    def solver(self, step: str) -> z3.Solver:
        """The solver of a step, told of everything since it was asked last."""
        seen = (len(self.arithmetic.divisions), len(self.arithmetic.products))
        if self._seen.get(step) != seen:
            self._seen[step] = seen
            self._told[step] = 0
            linear = step != STEPS[-1]
            self._solvers[step] = (
                SeparateSolver(z3.SolverFor, "QF_UFLIA") if linear else SeparateSolver()
            )
            self._solvers[step].add(*self._arithmetic(step))
        solver = self._solvers[step]
        solver.add(*self.theory[self._told[step] :])
        self._told[step] = len(self.theory)
        return solver

    def _arithmetic(self, step: str) -> list[z3.BoolRef]:
        """What the step knows of everything that was multiplied or divided so far."""
        spoken = (step, len(self.arithmetic.divisions), len(self.arithmetic.products))
        if spoken not in self._known:
            self._known[spoken] = self._assumed(step)
        return self._known[spoken]

    def _assumed(self, step: str) -> list[z3.BoolRef]:
        match STEPS.index(step):
            case 0:
                return []
            case 1:
                return self.arithmetic.laws()
            case 2:
                return self.arithmetic.laws(chained=True)
            case _:
                return [*self.arithmetic.laws(), *self.arithmetic.definitions()]
