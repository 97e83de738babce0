"""What to do with advice before the next primitive is stacked on it."""

from __future__ import annotations

from parsolve.constraints.profile import Config
from parsolve.solver.advise.question import Climb


def checks(climb: Climb, advised: Config) -> tuple[str, ...]:
    """Two checks: the same step as an unsplit run, and what the change was meant to bring."""
    del climb, advised
    return (
        "same step: run one step of this configuration and one of an unsplit run (every rung off, "
        "one GPU, fewer layers if it must fit), both in fp32 without dropout, from one checkpoint, "
        "on the same samples; loss and gradient norm must be equal within fp32 noise: "
        "torch.testing.assert_close of the two as fp32 tensors (rtol 1.3e-6, atol 1e-5)",
        "measure: compare peak memory and step time with those before the change, and stack the "
        "next primitive only if this one brought what it was meant to",
    )
