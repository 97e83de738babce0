"""What the parts of a model cost a pipeline stage, in thousandths of a layer.

Source of a model's costs: multiplications per token of a forward pass, as Megatron-LM counts them
in megatron/training/training.py, num_floating_point_operations; a backward pass takes twice that
of every part, so it changes no balance.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from parsolve.constraints.models.parameters import layer_parameters
from parsolve.constraints.models.shape import Layer, Shape
from parsolve.solver.query import QueryError

LAYER = 1000
"""Cost of a layer."""

LEAST, MOST = Decimal("0.001"), 1000
"""Layers that one part may cost, unless it costs nothing."""


UNEVEN = 0.05
"""Layers that differ by more of their mean are pointed out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Costs in thousandths of a layer.

    ``mtp`` is that of one layer of multi-token prediction without its loss; the last stage
    computes ``loss`` (output projection and cross-entropy) once, and once more for each of them.
    """

    embedding: int = 0
    loss: int = LAYER
    mtp: int = LAYER
    said: str = "as --account-for-loss-in-pipeline-split counts it; --model measures it"


def thousandths(name: str, value: str | float | None) -> int | None:
    """A cost in layers, such as ``1.5``, as thousandths. Raises `QueryError`."""
    if value is None:
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        cost = Decimal("nan")
    if isinstance(value, bool) or not cost.is_finite() or not (cost == 0 or LEAST <= cost <= MOST):
        message = (
            f"{name} is a number of layers, 0 or from {LEAST} to {MOST}, such as 1.5, "
            f"got {value!r:.40}"
        )
        raise QueryError(message)
    return round(cost * LAYER)


def of_shape(shape: Shape, sequence: int | None) -> Costs:
    """Costs of a model; with ``sequence`` (tokens), causal attention's own work counts too."""
    layers = [_work(layer, shape, sequence) for layer in shape.layers]
    mean = Fraction(sum(layers), len(layers))
    hidden = shape.hidden_size
    joined = 2 * hidden * hidden  # an MTP layer first joins two hidden states
    said = f"by multiplications per token of {shape.name}"
    said += f" at {sequence} tokens" if sequence else ", attention scores left out (--seq-length)"
    least, most = (float(cost / mean) for cost in (min(layers), max(layers)))
    if most - least > UNEVEN:
        said += f"; layers from {least:.2f} to {most:.2f}"
    return Costs(
        embedding=0,
        loss=round(LAYER * hidden * shape.vocab_size / mean),
        mtp=round(LAYER * (layers[-1] + joined) / mean),
        said=said,
    )


def _work(layer: Layer, shape: Shape, sequence: int | None) -> int:
    """Multiplications per token of a forward pass through a layer."""
    counted = layer_parameters(layer, shape)
    attention = layer.attention
    scores = attention.heads * (attention.head_dim + attention.value_dim) * (sequence or 0) // 2
    return counted.active - counted.norms + scores
