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

from parsolve.constraints.formula import Term, if_, largest
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
from parsolve.constraints.memory.terms import BF16, FP32, quantity, ranks_reached, split


def _ring(sent: Term, ranks: Term) -> Term:
    """The part of so many bytes that leaves a rank of a ring."""
    width = largest(1, ranks)
    return sent * (width - 1) // width


_passes = if_(f.gradient_checkpointing, 3, 2)
_hidden = tokens * m.hidden_size * BF16
_gathers = if_(f.fsdp_reshard_after_forward, 2, if_(f.fsdp_reshard_after_backward, 1, 0))
_gradient = if_(f.fp32_grad_reduce, FP32, BF16)
_ranks = if_(f.tp_size > 1, q.data_parallel_size, q.stage_world_size)
_shard = split(trained_parameters * _gradient, shard_width)
_reductions = if_(f.fsdp_defer_grad_sync, 1, batch.accumulation_steps)

comm_dp_bytes = quantity(
    "comm_dp_bytes",
    _ring(sharded_parameters * BF16 * largest(1, _gathers * batch.accumulation_steps), shard_width)
    + _reductions * _ring(trained_parameters * _gradient, shard_width)
    + if_(q.is_deferred_dp, 1, _reductions) * 2 * _ring(_shard, _ranks // shard_width)
    + 2 * _ring(trained_experts * _gradient, q.stage_world_size // largest(1, q.ep_group_size)),
    "Sent per step by data parallelism: weights gathered, gradients reduced.",
)
comm_tp_bytes = quantity(
    "comm_tp_bytes",
    batch.accumulation_steps
    * stage_layers
    * _passes
    * if_(m.routed_expert_parameters > 0, 1, 2)
    * _ring(2 * _hidden, f.tp_size),
    "Sent per step by TP: an all-reduce after attention, and after a dense model's FFN.",
)
comm_cp_bytes = quantity(
    "comm_cp_bytes",
    batch.accumulation_steps
    * stage_layers
    * _passes
    * _ring(
        tokens * BF16 * (m.query_width + m.key_width + m.value_width + m.attention_output_width),
        f.cp_size,
    ),
    "Sent per step by CP (Ulysses): queries, keys, values and outputs, all-to-all.",
)
comm_ep_bytes = quantity(
    "comm_ep_bytes",
    batch.accumulation_steps
    * stage_moe_layers
    * 4
    * _ring(_hidden * ranks_reached(f.ep_size, m.num_experts_per_tok) // 1000, f.ep_size),
    "Sent per step by EP: dispatch and combine, forward and backward.",
)
comm_etp_bytes = quantity(
    "comm_etp_bytes",
    batch.accumulation_steps * stage_moe_layers * _passes * _ring(2 * _hidden, f.expert_tp_size),
    "Sent per step by expert TP: an all-reduce of the experts' outputs.",
)
comm_pp_bytes = quantity(
    "comm_pp_bytes",
    if_(f.pp_size > 1, 2 * _hidden * batch.accumulation_steps, 0),
    "Sent per step by PP: activations to the next stage, gradients to the one before.",
)
comm_bytes = quantity(
    "comm_bytes",
    comm_dp_bytes + comm_tp_bytes + comm_cp_bytes + comm_ep_bytes + comm_etp_bytes + comm_pp_bytes,
    "Sent per GPU and optimizer step, all axes.",
)

QUANTITIES = (
    comm_dp_bytes,
    comm_tp_bytes,
    comm_cp_bytes,
    comm_ep_bytes,
    comm_etp_bytes,
    comm_pp_bytes,
    comm_bytes,
)
