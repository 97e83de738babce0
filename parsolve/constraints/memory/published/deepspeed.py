"""DeepSpeed's own estimators of model states, on the GPU.

Source: ``estimate_zero2_model_states_mem_needs`` (``deepspeed/runtime/zero/stage_1_and_2.py``)
and ``estimate_zero3_model_states_mem_needs`` (``stage3.py``) of DeepSpeed 0.19.8. They count
18 bytes per parameter where the ZeRO paper counts 16: fp32 gradients beside the fp32 copies.
"""

from __future__ import annotations

from typing import Literal

from parsolve.constraints.formula import Operand, Term, as_term
from parsolve.constraints.memory.published.ratio import ratio

Offload = Literal["none", "optimizer", "all"]


def zero2(parameters: Operand, gpus: Operand, *, offload: bool = False) -> Term:
    """ZeRO-2: 2 bytes per parameter everywhere, 18 shared unless offloaded to the host."""
    weights = 2 * as_term(parameters)
    return weights if offload else (ratio(18 * as_term(parameters), gpus) + weights).floor()


def zero2_of_2022(parameters: Operand, gpus: Operand) -> Term:
    """What the same function gave in 2022: 4 bytes per parameter everywhere, 16 shared."""
    return (ratio(16 * as_term(parameters), gpus) + 4 * as_term(parameters)).floor()


def zero3(
    parameters: Operand, largest_layer: Operand, gpus: Operand, *, offload: Offload = "none"
) -> Term:
    """ZeRO-3: the largest layer gathered at 4 bytes per parameter, and what is sharded.

    Sharded are 18 bytes per parameter; 2 where the optimizer is offloaded to the host, none
    where the weights are offloaded too.
    """
    sharded = {"none": 18, "optimizer": 2, "all": 0}[offload]
    return (ratio(sharded * as_term(parameters), gpus) + 4 * as_term(largest_layer)).floor()
