"""What to do with advice before the next primitive is stacked on it."""

from __future__ import annotations

from collections.abc import Iterator

from parsolve.constraints.fields import Misuse
from parsolve.constraints.profile import Config
from parsolve.solver.advise.question import Climb
from parsolve.solver.advise.standing import is_valid, known, numbers, total
from parsolve.solver.answer import AdviceCheck, Fields, Solution

LAYERS, MOE = "num_hidden_layers", "num_moe_layers"

FEWEST = 2
"""Layers of the smallest model that is compared: what one layer hands to the next counts."""

LONGEST = 4096
"""Tokens of the longest sequences that are compared."""

DOUBLED_BY_FP32 = ("activations_bytes", "loss_bytes")
"""Parts that are in bf16 otherwise; weights, gradients and Adam's moments cost 16 bytes in both."""

SAME_STEP = (
    "run one step of both, in fp32 and without dropout{exactly}, from one checkpoint and on the "
    "same samples; with their losses and gradient norms as fp32 tensors, "
    "torch.testing.assert_close(split, unsplit) must pass at its defaults for fp32 "
    "(rtol 1.3e-6, atol 1e-5): what differs by more is no rounding"
)
MEASURE = (
    "compare the peak memory and the time of a step with those from before the change; stack the "
    "next primitive only if this one brought what the climb says of it"
)


def checks(climb: Climb, advised: Config) -> tuple[AdviceCheck, ...]:
    """Two checks: the same step as an unsplit run, and what the change was meant to bring."""
    measure = AdviceCheck(check="measure", how=MEASURE)
    more = climb.ladder.exactly
    how = SAME_STEP.format(exactly=f" ({more})" if more else "")
    pair = next(_pairs(climb, advised), None)
    if pair is None:
        return (AdviceCheck(check="same-step", how=how), measure)
    split, unsplit = pair
    same = AdviceCheck(
        check="same-step",
        how=how,
        layers=split[LAYERS],
        split=_solution(split),
        unsplit=_solution(unsplit),
    )
    return (same, measure)


def _solution(config: Config) -> Solution:
    described = config.profile.described(config.values)
    return Solution(config=Fields(config.as_dict()), derived=Fields(described))


def _pairs(climb: Climb, advised: Config) -> Iterator[tuple[Config, Config]]:
    """The advised configuration and an unsplit one, of as few layers as it can have.

    The unsplit one fits one GPU in fp32, its sequences cut to `LONGEST`.
    """
    layers: int = advised[LAYERS]
    length = climb.ladder.length.name
    exact = {knob.name: value for knob, value in climb.ladder.exact}
    advised = advised.replaced({length: min(advised[length] or LONGEST, LONGEST), **exact})
    for fewer in range(min(FEWEST, layers), layers + 1):
        split = advised if fewer == layers else _with_layers(climb, advised, fewer)
        if split is None or not is_valid(split) or bool(split[MOE]) != bool(advised[MOE]):
            continue
        unsplit = _unsplit(climb, split)
        size = _in_fp32(unsplit)
        if size is not None and size > climb.limit:
            return
        if is_valid(unsplit) and size is not None:
            yield split, unsplit


def _in_fp32(config: Config) -> int | None:
    """Bytes of the fullest GPU in fp32, where they are known; no less than that."""
    size, ladder = total(config), config.profile.ladder
    if size is None or (ladder is not None and ladder.exact):
        return size
    doubled: int = sum(numbers(config, DOUBLED_BY_FP32).values())
    return size + doubled


def _with_layers(climb: Climb, advised: Config, layers: int) -> Config | None:
    """The same with so many layers, or None where the model cannot have them."""
    if climb.changed is None:
        return None
    try:
        changed = climb.changed({LAYERS: layers})
    except Misuse:
        return None
    exact = (knob.name for knob, _ in climb.ladder.exact)
    same = (*climb.moved, climb.ladder.length.name, *exact)
    return changed.replaced({name: advised[name] for name in same})


def _unsplit(climb: Climb, split: Config) -> Config:
    """On one GPU, every rung off: what is left of its batch is accumulated."""
    profile = climb.profile
    start = {name: climb.ladder.start[name] for name in climb.offered}
    one = {
        profile.world: 1,
        profile.node: 0 if split[profile.node] == 0 else 1,
        profile.domain: 0,
    }
    batch = known(split).get("global_batch")
    asked = (
        {"requested_global_batch": batch} if "requested_global_batch" in profile.field_of else {}
    )
    return split.replaced({**start, **one, **asked})
