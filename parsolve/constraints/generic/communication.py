"""Bytes that a GPU sends per optimizer step, axis by axis, if every collective is a ring.

A ring over n ranks sends (n-1)/n of a buffer in a reduce-scatter or an all-gather, and twice
that in an all-reduce. Counted for the fullest stage and a micro-batch in bf16:

* dp, for P parameters on a GPU of which T are trained (under LoRA the adapters, and no expert),
  s ranks that shard them, r replicas of the shards (``dp_replicate``), and ring(B, n) =
  B * (n - 1) / n; dense parameters and experts each over their own ranks:
  gradients G of T: ring(G, s) + 2 ring(G / s, r), a reduce-scatter among the shards and an
  all-reduce of the shard across replicas, once per step (ZeRO-0: 2 ring(G, s * r)); for every
  micro-batch under ZeRO-3, but once in a pipeline. Weights: ZeRO-1 and 2 gather what the step
  changed, ring(2 T, s); ZeRO-3 gathers ring(2 P, s) for the forward pass of every micro-batch
  (once in a pipeline, if they stay gathered) and, resharded, again for the backward pass.
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


def _data(shards: Term, replicas: Term, parameters: Term, trained: Term) -> Term:
    """Gradients, and the weights that follow."""
    gradients = trained * a.gradient_width
    reduced = _ring(shards, gradients) + 2 * _ring(replicas, split(gradients, shards))
    return if_(
        f.zero_stage == "0",
        2 * _ring(shards * replicas, gradients),
        if_(
            _is_zero3,
            _reductions * reduced + _gathers * _ring(shards, parameters * BF16),
            reduced + _ring(shards, trained * BF16),
        ),
    )


_dense_shards = largest(1, q.shard_group_size)
dp_volume = _volume(
    "dp",
    _data(_dense_shards, f.dp_replicate_size, a.dense_parameters, a.trained_dense)
    + _data(
        q.expert_shard_size,
        q.expert_data_parallel_size // q.expert_shard_size,
        a.expert_parameters,
        a.trained_experts,
    ),
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
