"""Bytes that one GPU sends per optimizer step, by the axis that makes it send them.

Ring algorithms (Patarasuk and Yuan 2009): over n ranks, an all-gather or reduce-scatter of B
bytes sends B * (n - 1) / n per rank, an all-reduce twice that; an all-to-all sends (n - 1) / n
of what a rank holds. Everything is bf16 (gradients fp32 under fp32_grad_reduce). A backward
pass sends what the forward pass does, and recomputation repeats the forward pass of TP and CP;
the dispatch of EP is kept.

Data parallelism, with ring(B, n) = B * (n - 1) / n, P parameters that FSDP shards over w ranks,
r replicas of those shards (HSDP: one per domain; EP groups in several domains: one per group),
G bytes of gradients of what is trained of P (under LoRA the adapters), E bytes of gradients of
whole experts on a rank that e ranks hold alike (none under LoRA), and a micro-batches per step:

* weights: ring(2 P, w), gathered twice per micro-batch by ZeRO-3, once by ZeRO-2, or once per
  step where they stay gathered;
* gradients: ring(G, w) + 2 ring(G / w, r), a reduce-scatter among the shards and an all-reduce
  of the shard across replicas; for every micro-batch, or once with deferred gradients. Across
  EP groups the average is taken once, after the backward pass;
* whole experts: 2 ring(E, e), once.

A quantized base is not sharded (w = 1), so its adapters' gradients are all-reduced.
"""

from parsolve.constraints.formula import all_of, any_of, if_, largest
from parsolve.constraints.halo import batch
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.activations import tokens
from parsolve.constraints.halo.states import (
    shard_width,
    sharded_parameters,
    stage_layers,
    stage_moe_layers,
    trained_experts,
    trained_parameters,
)
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.terms import (
    BF16,
    FP32,
    ranks_reached,
    ring,
    split,
    volume,
    volumes,
)

_passes = if_(f.gradient_checkpointing, 3, 2)
_hidden = tokens * m.hidden_size * BF16
_gathers = if_(f.fsdp_reshard_after_forward, 2, if_(f.fsdp_reshard_after_backward, 1, 0))
_gradient = if_(f.fp32_grad_reduce, FP32, BF16)
_ranks = if_(f.tp_size > 1, q.data_parallel_size, q.stage_world_size)
_shard = split(trained_parameters * _gradient, shard_width)
_reductions = if_(f.fsdp_defer_grad_sync, 1, batch.accumulation_steps)

_replicas = if_(q.is_deferred_dp, 1, _reductions) * 2 * ring(_shard, _ranks // shard_width)
sharded = volume(
    "fsdp",
    ring(sharded_parameters * BF16 * largest(1, _gathers * batch.accumulation_steps), shard_width)
    + _reductions * ring(trained_parameters * _gradient, shard_width),
    "Weights gathered and gradients reduced by FSDP.",
)
unsharded = volume(
    "unsharded", if_(f.quantized, _replicas, 0), "Gradients of adapters on a quantized base."
)
between_domains = volume(
    "hsdp",
    if_(any_of(f.quantized, q.is_deferred_dp), 0, _replicas),
    "Gradients of each shard, averaged over its replicas.",
)
between_expert_groups = volume(
    "expert_replicas",
    if_(all_of(~f.quantized, q.is_deferred_dp), _replicas, 0)
    + 2 * ring(trained_experts * _gradient, q.stage_world_size // largest(1, q.ep_group_size)),
    "Gradients of whole experts, and of dense shards where FSDP shards over an expert group.",
)
dp = volume(
    "dp",
    sharded + unsharded + between_domains + between_expert_groups,
    "Sent per step by data parallelism: weights gathered, gradients reduced.",
)
tp = volume(
    "tp",
    batch.accumulation_steps
    * stage_layers
    * _passes
    * if_(m.routed_expert_parameters > 0, 1, 2)
    * ring(2 * _hidden, f.tp_size),
    "Sent per step by TP: an all-reduce after attention, and after a dense model's FFN.",
)
cp = volume(
    "cp",
    batch.accumulation_steps
    * stage_layers
    * _passes
    * ring(
        tokens * BF16 * (m.query_width + m.key_width + m.value_width + m.attention_output_width),
        f.cp_size,
    ),
    "Sent per step by CP (Ulysses): queries, keys, values and outputs, all-to-all.",
)
ep = volume(
    "ep",
    batch.accumulation_steps
    * stage_moe_layers
    * 4
    * ring(_hidden * ranks_reached(f.ep_size, m.num_experts_per_tok) // 1000, f.ep_size),
    "Sent per step by EP: dispatch and combine, forward and backward.",
)
etp = volume(
    "etp",
    batch.accumulation_steps * stage_moe_layers * _passes * ring(2 * _hidden, f.expert_tp_size),
    "Sent per step by expert TP: an all-reduce of the experts' outputs.",
)
pp = volume(
    "pp",
    if_(f.pp_size > 1, 2 * _hidden * batch.accumulation_steps, 0),
    "Sent per step by PP: activations to the next stage, gradients to the one before.",
)
QUANTITIES = volumes(dp, tp, cp, ep, etp, pp)
