"""The ZeRO paper's table of model states (Rajbhandari et al. 2020, arXiv 1910.02054)."""

from __future__ import annotations

from parsolve.constraints.formula import Operand, Term, as_term
from parsolve.constraints.memory.policy import POLICIES, Policy
from parsolve.constraints.memory.published.ratio import either, ratio

PAPER = POLICIES["mixed-adam"]
"""2 bytes of weight, 2 of gradient, 12 of Adam: what the paper takes for granted."""


def states(stage: Operand, parameters: Operand, shards: Operand, *, policy: Policy = PAPER) -> Term:
    """Weights, gradients and optimizer state per GPU, in bytes.

    Stage 1 shards the optimizer's state over the ranks, 2 the gradients too, 3 the weights
    too; 0 shards nothing.
    """
    total = ratio(0)
    for width, first_stage in ((policy.optimizer, 1), (policy.gradient, 2), (policy.weight, 3)):
        whole = width * as_term(parameters)
        total += either(as_term(stage) >= first_stage, ratio(whole, shards), whole)
    return total.floor()
