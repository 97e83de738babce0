"""Bytes that a GPU sends per optimizer step, axis by axis, if every collective is a ring.

A ring over n ranks sends (n-1)/n of a buffer in a reduce-scatter or an all-gather, and twice
that in an all-reduce. Counted for the fullest stage and a micro-batch in bf16:

* dp: gradients all-reduced once (ZeRO-0, 1, 2: a reduce-scatter and an all-gather); ZeRO-3
  gathers weights for the forward pass and, resharded, again for the backward pass, and
  reduces gradients, for every micro-batch (once per step in a pipeline).
* tp: per layer two all-reduces forward and two backward of s*b*h; with sequence parallelism a
  reduce-scatter and an all-gather each, the same bytes. Full recomputation repeats the forward.
* cp: a ring passes keys and values c-1 times forward, with their gradients twice that
  backward; Ulysses exchanges queries, keys, values and outputs once each way.
* ep: dispatch and combine, forward and backward: four all-to-alls of top-k rows per token.
* pp: each chunk's output forward and its gradient backward.
"""

from parsolve.constraints.formula import Named, Term, all_of, if_, largest
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import memory as a
from parsolve.constraints.generic import quantities as q
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.terms import BF16, split


def _volume(axis: str, term: Term, about: str) -> Named:
    return Named(f"{axis}_volume", term, about=about, unit="bytes")


def _ring(size: Term, buffer: Term) -> Term:
    """What one pass around a ring sends of a buffer."""
    return (size - 1) * buffer // largest(1, size)


_passes = q.microbatches
_is_zero3 = f.zero_stage == "3"
_reductions = if_(all_of(_is_zero3, f.pp_size <= 1), _passes, 1)
_gathers = if_(f.reshard_after_forward, 2 * _passes, if_(f.pp_size <= 1, _passes, 1))


def _data(replicas: Term, parameters: Term) -> Term:
    """Gradients, and the weights that follow."""
    gradients = parameters * a.gradient_width
    return if_(
        _is_zero3,
        _reductions * _ring(replicas, gradients) + _gathers * _ring(replicas, parameters * BF16),
        _ring(replicas, gradients)
        + _ring(replicas, if_(f.zero_stage == "0", gradients, parameters * BF16)),
    )


dp_volume = _volume(
    "dp",
    _data(q.data_parallel_size * f.cp_size, a.dense_parameters)
    + _data(q.expert_data_parallel_size, a.expert_parameters),
    "Bytes that a GPU sends per step for data parallelism and ZeRO.",
)
_rows = a.tokens * m.hidden_size * BF16
tp_volume = _volume(
    "tp",
    _passes * a.stage_layers * if_(f.recompute == "full", 6, 4) * 2 * _ring(f.tp_size, _rows),
    "Bytes that a GPU sends per step for tensor and sequence parallelism.",
)
_pairs = split(a.tokens * (m.key_width + m.value_width) * BF16, f.tp_size)
_heads = split(
    a.tokens * (m.query_width + m.key_width + m.value_width + m.attention_output_width) * BF16,
    f.tp_size,
)
cp_volume = _volume(
    "cp",
    _passes
    * a.stage_layers
    * if_(f.cp_kind == "ring", 3 * (f.cp_size - 1) * _pairs, 2 * _ring(f.cp_size, _heads)),
    "Bytes that a GPU sends per step for context parallelism.",
)
ep_volume = _volume(
    "ep",
    _passes
    * a.stage_moe_layers
    * 4
    * _ring(f.ep_size, split(_rows * m.num_experts_per_tok, a.norm_split)),
    "Bytes that a GPU sends per step to spread tokens over experts.",
)
pp_volume = _volume(
    "pp",
    if_(
        f.pp_size > 1,
        2 * _passes * f.virtual_stages * split(_rows, a.norm_split),
        0,
    ),
    "Bytes that a GPU sends per step to neighbouring pipeline stages.",
)
VOLUMES = (dp_volume, tp_volume, cp_volume, ep_volume, pp_volume)
comm_volume = Named(
    "comm_volume",
    dp_volume + tp_volume + cp_volume + ep_volume + pp_volume,
    about="Bytes that a GPU sends per step, all axes together.",
    unit="bytes",
)
