"""Activations per GPU after Korthikanti et al. 2022 (arXiv 2205.05198), table 2 and section 4.

A GPT layer in half precision with dropout and an FFN four times as wide as the hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from parsolve.constraints.formula import Operand, Term, as_term, largest
from parsolve.constraints.memory.published.ratio import Ratio, either, ratio

Technique: TypeAlias = Literal["none", "tp", "tp+sp", "tp+selective", "tp+sp+selective", "full"]
"""What saves memory: tensor and sequence parallelism, selective or full recomputation."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shape:
    """Sequence length s, micro-batch b, hidden size h, attention heads a, tensor parallel t."""

    s: Operand
    b: Operand
    h: Operand
    a: Operand
    t: Operand

    @property
    def sbh(self) -> Term:
        """Elements of a layer's input."""
        return as_term(self.s) * self.b * self.h


def _layer(shape: Shape, technique: Technique) -> Ratio:
    sbh, t = shape.sbh, shape.t
    scores = 5 * as_term(shape.a) * shape.s * shape.s * shape.b
    match technique:
        case "none":
            return ratio(34 * sbh + scores)
        case "tp":
            return ratio(24 * sbh + scores, t) + 10 * sbh
        case "tp+sp":
            return ratio(34 * sbh + scores, t)
        case "tp+selective":
            return ratio(24 * sbh, t) + 10 * sbh
        case "tp+sp+selective":
            return ratio(34 * sbh, t)
        case "full":
            return ratio(2 * sbh)
        case _:
            assert_never(technique)


def layer(shape: Shape, technique: Technique) -> Term:
    """Bytes that one layer keeps for one micro-batch's backward pass."""
    return _layer(shape, technique).floor()


def stack(
    shape: Shape, technique: Technique, *, layers: Operand, p: Operand = 1, chunks: Operand = 0
) -> Term:
    """Bytes that the layers of the first of p stages keep.

    L/p layers, each for p micro-batches in flight: so p cancels out, but for the factor
    1 + (p-1)/(p m) of an interleaved schedule with m chunks per stage (0: not interleaved).
    """
    return _stack(shape, technique, layers, p, chunks).floor()


def _stack(
    shape: Shape, technique: Technique, layers: Operand, p: Operand, chunks: Operand
) -> Ratio:
    kept = _layer(shape, technique) * layers
    more = ratio(as_term(p) * chunks + p - 1, as_term(p) * largest(1, chunks))
    return either(as_term(chunks) >= 1, kept * more, kept)


def first_stage(
    shape: Shape,
    technique: Technique,
    *,
    layers: Operand,
    vocabulary: Operand,
    p: Operand = 1,
    chunks: Operand = 0,
) -> Term:
    """The layers of the first stage, and its embeddings.

    The embedding's dropout mask is kept for p micro-batches; a stage that is the last too
    keeps the final norm's input, the output layer's input and the logits in fp32.
    """
    sbh, sbv = shape.sbh, as_term(shape.s) * shape.b * vocabulary
    output = either(as_term(p) <= 1, ratio(4 * (sbh + sbv), shape.t), 0)
    dropout = ratio(sbh * p, shape.t)
    return (_stack(shape, technique, layers, p, chunks) + dropout + output).floor()
