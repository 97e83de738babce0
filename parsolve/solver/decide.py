"""Asking Z3, the same way everywhere: with the time that is left, and Ctrl-C heard."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from parsolve.solver.deadline import Deadline


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
