"""Asking Z3, the same way everywhere: with the time that is left, and Ctrl-C heard.

Proofs ask a `SeparateSolver`. Z3 numbers the terms of a context and breaks ties by number, so what
was asked before could make a proof of milliseconds take minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import z3

from parsolve.solver.deadline import Deadline


class SeparateSolver(z3.Solver):  # type: ignore[misc]
    """A solver with a context of its own: what else was asked in the process makes no difference.

    Formulas are copied into that context, in the order in which they come; models and cores are
    copied back. ``kind`` makes the solver: ``SeparateSolver(z3.SolverFor, "QF_UFLIA")``.
    """

    def __init__(self, kind: Callable[..., z3.Solver] = z3.Solver, *arguments: object) -> None:
        made = kind(*arguments, ctx=z3.Context())
        super().__init__(made.solver, made.ctx)

    def assert_exprs(self, *formulas: z3.BoolRef) -> None:
        """Assert formulas of the main context, which is what ``add`` does."""
        super().assert_exprs(*self._copied(formulas))

    def check(self, *assumptions: z3.BoolRef) -> z3.CheckSatResult:
        """Whether the assertions and the assumptions can hold together."""
        return super().check(*self._copied(assumptions))

    def model(self) -> z3.ModelRef:
        """The model, in the main context."""
        return super().model().translate(z3.main_ctx())

    def unsat_core(self) -> z3.AstVector:
        """The assumptions that contradict the assertions, in the main context."""
        return super().unsat_core().translate(z3.main_ctx())

    def _copied(self, formulas: Sequence[z3.BoolRef]) -> z3.AstVector:
        """All in one go: what they share is copied once."""
        vector = z3.AstVector()
        for formula in formulas:
            vector.push(formula)
        return vector.translate(self.ctx)


def decide(
    solver: z3.Solver, deadline: Deadline, assumptions: Sequence[z3.BoolRef] = ()
) -> z3.CheckSatResult:
    """Z3's verdict within the deadline: sat, unsat, or unknown.

    Z3 catches Ctrl-C while it works and answers unknown; that is passed on as the interrupt
    that it was. Raises `TimedOut` where no time is left to begin with.
    """
    left = deadline.milliseconds()
    if left is not None:
        solver.set("timeout", left)
    result = solver.check(*assumptions)
    if result == z3.unknown and "interrupted" in solver.reason_unknown():
        raise KeyboardInterrupt
    return result
