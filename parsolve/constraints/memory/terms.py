"""Pieces that memory formulas share. Widths are elements per token unless bytes are named."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Literal

from parsolve.constraints.fields import GIB
from parsolve.constraints.formula import (
    Const,
    Named,
    Operand,
    Term,
    as_term,
    if_,
    largest,
    smallest,
)
from parsolve.constraints.memory import facts as m

BF16 = 2
FP32 = 4

WORKSPACE = GIB // 2
"""cuBLAS, attention and collective workspaces inside of PyTorch's allocator, in bytes."""

CUDA_CONTEXT = GIB
"""CUDA context, kernels and NCCL's own buffers, outside of PyTorch's allocator, in bytes."""

SLACK_PERCENT = 5
"""What PyTorch's allocator reserves beyond what is in use, per hundred."""

START_OF_BACKWARD = "start of the backward pass"
END_OF_BACKWARD = "end of the backward pass"
OPTIMIZER_STEP = "optimizer step"
"""Moments at which most memory may be in use."""

LONGEST_POWER = 5
"""Bits of the largest exponent that `power` takes: of more experts per token, 31 count."""


def split(term: Operand, over: Operand) -> Term:
    """A share of the term, rounded up: the fullest rank counts."""
    whole, parts = as_term(term), as_term(over)
    return (whole + (parts - 1)) // parts


def power(name: str, base: Term, exponent: Term) -> Term:
    """The base to a power, of at most 31, by repeated squaring; steps are named after ``name``."""
    exponent = smallest(exponent, 2**LONGEST_POWER - 1)
    square = Named(f"{name}_power_1", base)
    result = Named(f"{name}_below_1", Const(1))
    for bit in range(LONGEST_POWER):
        times = if_(exponent // 2**bit % 2 == 1, square, 1)
        result = Named(f"{name}_below_{2 ** (bit + 1)}", result * times)
        square = Named(f"{name}_power_{2 ** (bit + 1)}", square * square)
    return result


def ranks_reached(ranks: Term, choices: Term) -> Term:
    """Ranks that hold one of a token's experts, on average and in thousandths.

    With k independent uniform choices, a rank among n is missed with probability
    ((n-1)/n)^k, so n * (1 - ((n-1)/n)^k) are reached.
    """
    every = largest(1, power("ranks", ranks, choices))
    return 1000 * ranks - 1000 * ranks * power("other_ranks", ranks - 1, choices) // every


def attention_elements() -> Term:
    """What one layer's attention keeps for the backward pass, its norms and residual included.

    The layer's input, two norms' outputs and the residual (4 h); queries, keys and values
    before and queries and keys after the rotary embedding; the output before its projection.
    FlashAttention keeps no scores.
    """
    projected = m.query_width + m.key_width + m.value_width
    rotated = m.query_width + m.key_width
    return 4 * m.hidden_size + projected + rotated + m.attention_output_width


def ffn_elements(width: Term) -> Term:
    """What an FFN keeps: the outputs of its first matrices, of the activation, and its own."""
    return m.ffn_matrices * width + m.hidden_size


def lora_elements(layers: Term, moe_layers: Term, ranks: Term, ffn_ranks: Operand) -> Term:
    """Parameters of LoRA adapters of rank 1 on a GPU: in + out for each linear layer.

    Routed experts have none. TP cuts the side that faces queries, keys, values, the attention
    output or an FFN's inner width; the side that faces the hidden size is whole on each rank.
    """
    inner = m.query_width + m.key_width + m.value_width + m.attention_output_width
    attention = 4 * m.hidden_size + split(inner, ranks)

    def ffn(width: Term) -> Term:
        sides = m.hidden_size + split(width, ffn_ranks)
        return if_(width > 0, m.ffn_matrices * sides, 0)

    return (
        layers * attention
        + (layers - moe_layers) * ffn(m.intermediate_size)
        + moe_layers * ffn(m.shared_intermediate_size)
    )


def quantity(name: str, term: Term, about: str) -> Named:
    """A named term; one whose name ends in ``_bytes`` is stated in GiB."""
    unit: Literal["", "bytes"] = "bytes" if name.endswith("_bytes") else ""
    return Named(name, term, about=about, unit=unit)


def ring(sent: Term, ranks: Term) -> Term:
    """The part of so many bytes that leaves a rank of a ring: (n - 1) / n."""
    width = largest(1, ranks)
    return sent * (width - 1) // width


def volume(axis: str, term: Term, about: str) -> Named:
    """Bytes that a GPU sends per optimizer step because of one axis."""
    return Named(f"comm_volume_{axis}", term, about=about, unit="bytes")


def volumes(*axes: Named) -> tuple[Named, ...]:
    """What each axis sends, and all of them together."""
    whole = Named(
        "comm_volume",
        reduce(add, axes),
        about="Bytes that a GPU sends per optimizer step, all axes together.",
        unit="bytes",
    )
    return (*axes, whole)
