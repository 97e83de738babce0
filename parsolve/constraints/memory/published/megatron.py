"""Megatron-LM's own estimator of the fullest GPU.

Source: ``megatron/training/theoretical_memory_usage.py`` of Megatron-LM 0.19.2, which
calculates in floating point; this is the same in exact fractions, so the two differ by less
than a byte in 2^50. Vocabulary sizes are those after padding.
"""

from __future__ import annotations

from dataclasses import dataclass

from parsolve.constraints.formula import (
    Formula,
    Operand,
    Term,
    Truth,
    as_term,
    if_,
    largest,
    smallest,
)
from parsolve.constraints.memory.published.ratio import Ratio, either, ratio

YES, NO = Truth(value=True), Truth(value=False)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Model:
    """A model by Megatron's arguments.

    ``ffn_matrices`` is 3 where the FFN is gated, else 2; ``norm_vectors`` 1 for RMSNorm, 2 for
    LayerNorm; ``latent`` is the width that experts read (0: the hidden size). MLA is meant
    where ``kv_lora_rank`` is not 0; queries are then projected at once if ``q_lora_rank`` is 0.
    MTP layers have experts if ``mtp_moe`` holds.
    """

    layers: Operand
    hidden: Operand
    heads: Operand
    groups: Operand
    kv_channels: Operand
    ffn: Operand
    vocabulary: Operand
    ffn_matrices: Operand = 2
    norm_vectors: Operand = 2
    tied: Formula = NO
    moe_layers: Operand = 0
    experts: Operand = 0
    moe_ffn: Operand = 0
    shared_ffn: Operand = 0
    latent: Operand = 0
    router_bias: Formula = NO
    shared_gate: Formula = NO
    mtp_layers: Operand = 0
    mtp_moe: Formula = NO
    q_lora_rank: Operand = 0
    kv_lora_rank: Operand = 0
    qk_head_dim: Operand = 0
    qk_rope_dim: Operand = 0
    v_head_dim: Operand = 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Job:
    """Parallel sizes of a job."""

    world: Operand
    tp: Operand = 1
    pp: Operand = 1
    cp: Operand = 1
    ep: Operand = 1
    etp: Operand = 1
    distributed_optimizer: Formula = NO


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """Parameters of a layer's parts."""

    attention: Term
    dense: Term
    shared: Term
    routed: Term
    norms: Term
    router: Term


def _of_layer(model: Model) -> _Layer:
    h, a, n, r = as_term(model.hidden), model.heads, model.norm_vectors, model.ffn_matrices
    latent, queries = as_term(model.latent), as_term(model.qk_head_dim) + model.qk_rope_dim
    compressed_queries = as_term(model.q_lora_rank) * (h + as_term(a) * queries + n)
    mla = (
        if_(as_term(model.q_lora_rank) >= 1, compressed_queries, h * a * queries)
        + as_term(model.kv_lora_rank)
        * (h + as_term(a) * (as_term(model.qk_head_dim) + model.v_head_dim) + n)
        + h * model.qk_rope_dim
        + as_term(a) * model.v_head_dim * h
    )
    grouped = 2 * h * model.kv_channels * (as_term(a) + model.groups)
    width = if_(latent >= 1, latent, h)
    router = (
        h * model.experts
        + if_(model.router_bias, model.experts, 0)
        + if_(latent >= 1, 2 * h * latent, 0)
        + if_(model.shared_gate, h, 0)
    )
    return _Layer(
        attention=if_(as_term(model.kv_lora_rank) >= 1, mla, grouped),
        dense=h * model.ffn * r,
        shared=h * model.shared_ffn * r,
        routed=width * model.moe_ffn * model.experts * r,
        norms=2 * h * n,
        router=router,
    )


def parameters(model: Model) -> Term:
    """Parameters that the estimator counts: no biases, no learned positions, no QK norms."""
    part, h = _of_layer(model), as_term(model.hidden)
    layers, moe = as_term(model.layers) + model.mtp_layers, as_term(model.moe_layers)
    moe += if_(model.mtp_moe, model.mtp_layers, 0)
    table = h * model.vocabulary
    return (
        (part.attention + part.norms) * layers
        + part.dense * (layers - moe)
        + (part.shared + part.routed + part.router) * moe
        + h * model.norm_vectors
        + table * if_(model.tied, 1, 2)
    )


def _states(parameters: Ratio, replicas: Operand, distributed: Formula) -> Ratio:
    """18 bytes per parameter, of which a distributed optimizer shards the last 12."""
    return parameters * either(distributed, ratio(12, replicas) + 6, 18)


def weights_and_optimizer(model: Model, job: Job) -> Term:
    """Weights, gradients and optimizer state of the fullest GPU, in bytes."""
    part, h = _of_layer(model), as_term(model.hidden)
    moe, dense = as_term(model.moe_layers), as_term(model.layers) - model.moe_layers
    mtp, mtp_moe = as_term(model.mtp_layers), if_(model.mtp_moe, model.mtp_layers, 0)
    pp, tp = as_term(job.pp), as_term(job.tp)
    table = h * model.vocabulary
    split = (
        ratio(part.attention * model.layers + part.dense * dense + part.shared * moe, pp)
        + (part.attention * mtp + part.dense * (mtp - mtp_moe) + part.shared * mtp_moe)
        + table
        + if_(model.tied, 0, if_(pp <= 1, table, 0))
    ) / tp
    replicated = ratio(
        part.norms * model.layers + part.router * moe + h * model.norm_vectors, pp
    ) + (part.norms * mtp + part.router * mtp_moe)
    routed = (ratio(part.routed * moe, pp) + part.routed * mtp_moe) / (as_term(job.etp) * job.ep)
    dp = largest(1, as_term(job.world) // (tp * pp * job.cp))
    expert_dp = largest(1, as_term(job.world) // (as_term(job.etp) * job.ep * pp))
    shares = _states(split + replicated, dp, job.distributed_optimizer)
    return (shares + _states(routed, expert_dp, job.distributed_optimizer)).floor()


def activations(
    model: Model,
    job: Job,
    *,
    sequence: Operand,
    micro_batch: Operand,
    sequence_parallel_and_selective: Formula,
    virtual_stages: Operand = 0,
    microbatches: Operand = 0,
) -> Term:
    """Activations of the first pipeline stage, in bytes.

    One formula where sequence parallelism and selective recomputation are both on, another
    everywhere else. ``virtual_stages`` and ``microbatches`` are 0 where they are not given.
    """
    h, pp, tp = as_term(model.hidden), as_term(job.pp), as_term(job.tp)
    sb = as_term(sequence) * micro_batch
    embedding = (8 + h) * sb * pp
    chunks = as_term(virtual_stages)
    interleaved = ratio(pp * chunks + pp - 1, pp * largest(1, chunks))
    partly_filled = either(as_term(microbatches) >= 1, ratio(smallest(microbatches, pp), pp), 1)
    factor = either(chunks >= 1, interleaved, either(pp > 1, partly_filled, 1))

    both = sb * (18 * h + 4 * as_term(model.ffn)) * model.layers + embedding
    head = if_(pp <= 1, 4 * sb * (h + model.vocabulary), 0)
    sparing = (factor * both + head) / tp

    plain = ratio(sb * h * model.layers * (10 * tp + 24), tp) + embedding
    logits = either(pp <= 1, ratio(2 * sb * model.vocabulary, tp) + 2 * sb * h, 0)
    generous = (factor * plain + logits) * ratio(105, 100)
    return either(sequence_parallel_and_selective, sparing, generous).floor()
