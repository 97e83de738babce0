"""Bytes that a GPU sends per optimizer step, axis by axis, if every collective is a ring.

A ring over n ranks sends (n-1)/n of a buffer in a reduce-scatter or an all-gather, and twice
that in an all-reduce. Counted for the fullest stage and a micro-batch in bf16:

* dp, for P parameters on a GPU of which T are trained (under LoRA the adapters, and no expert),
  s ranks that shard them, r replicas of the shards (``dp_replicate``), and ring(B, n) =
  B * (n - 1) / n; dense parameters and experts each over their own ranks:
  gradients G of T: ring(G, s) + 2 ring(G / s, r), a reduce-scatter among the shards and an
  all-reduce of the shard across replicas, once per step (ZeRO-0: 2 ring(G, s * r)); for every
  micro-batch under ZeRO-2 and 3, which keep shards only, but once in a pipeline. Weights: ZeRO-1
  and 2 gather what the step changed, ring(2 T, s); ZeRO-3 gathers ring(2 P, s) for the forward
  pass of every micro-batch (once in a pipeline, if they stay gathered) and, resharded, again for
  the backward pass.
* tp: per layer two all-reduces forward and two backward of s*b*h; with sequence parallelism a
  reduce-scatter and an all-gather each, the same bytes. Full recomputation repeats the forward.
* cp: a ring passes keys and values c-1 times forward, with their gradients twice that
  backward; Ulysses exchanges queries, keys, values and outputs once each way.
* ep: dispatch and combine, forward and backward: four all-to-alls of top-k rows per token.
* pp: each chunk's output forward and its gradient backward.
"""

from parsolve.constraints.formula import Term, all_of, if_, one_of
from parsolve.constraints.generic import batch
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import quantities as q
from parsolve.constraints.generic.activations import norm_split, tokens
from parsolve.constraints.generic.states import (
    dense_parameters,
    dense_shards,
    expert_parameters,
    gradient_width,
    stage_layers,
    stage_moe_layers,
    trained_dense,
    trained_experts,
)
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.terms import BF16, ring, split, volume, volumes

_passes = batch.microbatches
_is_zero3 = f.zero_stage == "3"
_reductions = if_(all_of(one_of(f.zero_stage, ("2", "3")), f.pp_size <= 1), _passes, 1)
_gathers = if_(f.reshard_after_forward, 2 * _passes, if_(f.pp_size <= 1, _passes, 1))


def _data(shards: Term, replicas: Term, parameters: Term, trained: Term) -> Term:
    """Gradients, and the weights that follow."""
    gradients = trained * gradient_width
    reduced = ring(gradients, shards) + 2 * ring(split(gradients, shards), replicas)
    return if_(
        f.zero_stage == "0",
        2 * ring(gradients, shards * replicas),
        if_(
            _is_zero3,
            _reductions * reduced + _gathers * ring(parameters * BF16, shards),
            _reductions * reduced + ring(trained * BF16, shards),
        ),
    )


dp = volume(
    "dp",
    _data(dense_shards, f.dp_replicate_size, dense_parameters, trained_dense)
    + _data(
        q.expert_shard_size,
        q.expert_data_parallel_size // q.expert_shard_size,
        expert_parameters,
        trained_experts,
    ),
    "Bytes that a GPU sends per step for data parallelism and ZeRO.",
)
_rows = tokens * m.hidden_size * BF16
tp = volume(
    "tp",
    _passes * stage_layers * if_(f.recompute == "full", 6, 4) * 2 * ring(_rows, f.tp_size),
    "Bytes that a GPU sends per step for tensor and sequence parallelism.",
)
_pairs = split(tokens * (m.key_width + m.value_width) * BF16, f.tp_size)
_heads = split(
    tokens * (m.query_width + m.key_width + m.value_width + m.attention_output_width) * BF16,
    f.tp_size,
)
cp = volume(
    "cp",
    _passes
    * stage_layers
    * if_(f.cp_kind == "ring", 3 * (f.cp_size - 1) * _pairs, 2 * ring(_heads, f.cp_size)),
    "Bytes that a GPU sends per step for context parallelism.",
)
ep = volume(
    "ep",
    _passes
    * stage_moe_layers
    * 4
    * ring(split(_rows * m.num_experts_per_tok, norm_split), f.ep_size),
    "Bytes that a GPU sends per step to spread tokens over experts.",
)
pp = volume(
    "pp",
    if_(
        f.pp_size > 1,
        2 * _passes * f.virtual_stages * split(_rows, norm_split),
        0,
    ),
    "Bytes that a GPU sends per step to neighbouring pipeline stages.",
)
QUANTITIES = volumes(dp, tp, cp, ep, pp)
