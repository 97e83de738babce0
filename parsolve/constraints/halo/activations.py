"""What the backward pass needs of a GPU under halo, and the loss.

Sizes follow transformers' modules with FlashAttention. Under EP, checkpointing saves what the
dispatch received and what the combine returned, so that neither is communicated again.
"""

from parsolve.constraints.formula import all_of, any_of, if_, known_where, largest, one_of, smallest
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.states import stage_layers, stage_moe_layers
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.terms import (
    BF16,
    FP32,
    attention_elements,
    ffn_elements,
    quantity,
    ranks_reached,
    split,
)

ROUTING_IMBALANCE_PERCENT = 110
"""Tokens on the rank that gets most, per hundred on average."""

HEADLESS_TRAINERS = ("reward", "classification", "embedding")
"""Trainers whose model has no output over the vocabulary."""

sequence_length = quantity(
    "sequence_length",
    known_where(q.row_length > 0, q.row_length),
    "Tokens of one row.",
)
rows = quantity(
    "rows_per_pass",
    if_(
        f.ep_rows_per_device > 0,
        f.ep_rows_per_device,
        largest(1, f.per_device_train_batch_size) * if_(one_of(f.trainer, q.PAIRED_TRAINERS), 2, 1),
    ),
    "Rows per GPU and forward pass.",
)
tokens = quantity(
    "tokens_per_gpu", split(rows * sequence_length, f.cp_size), "Tokens per GPU and forward pass."
)
_spread = f.ep_size > 1
_routed = (
    if_(_spread, ROUTING_IMBALANCE_PERCENT, 100)
    * m.num_experts_per_tok
    * (2 * m.hidden_size + m.ffn_matrices * m.moe_intermediate_size)
    // 100
)
_shared = if_(m.shared_intermediate_size > 0, ffn_elements(m.shared_intermediate_size), 0)
_dispatched = if_(
    _spread,
    m.hidden_size
    + m.hidden_size
    * ROUTING_IMBALANCE_PERCENT
    * ranks_reached(f.ep_size, m.num_experts_per_tok)
    // 100_000,
    0,
)
_scores = if_(
    one_of(f.attn_implementation, ("eager",)),
    5 * f.num_attention_heads.largest * sequence_length // BF16,
    0,
)
_attention = attention_elements() + _scores
dense_layer_bytes = quantity(
    "dense_layer_bytes",
    BF16 * (_attention + ffn_elements(m.intermediate_size)),
    "What one dense layer keeps for the backward pass, per token.",
)
moe_layer_bytes = quantity(
    "moe_layer_bytes",
    BF16 * (_attention + _routed + _shared + _dispatched),
    "What one MoE layer keeps for the backward pass, per token.",
)
saved_bytes_per_token = quantity(
    "saved_bytes_per_token",
    if_(
        f.gradient_checkpointing,
        stage_layers * BF16 * m.hidden_size + stage_moe_layers * BF16 * _dispatched,
        stage_moe_layers * moe_layer_bytes + (stage_layers - stage_moe_layers) * dense_layer_bytes,
    ),
    "Activations kept for the backward pass, all layers of the stage, per token.",
)
_in_flight = if_(
    f.pp_schedule == "gpipe",
    q.pipeline_batch_parts,
    smallest(q.pipeline_batch_parts, f.pp_size),
)
_tokens_of_part = if_(f.pp_size <= 1, tokens, split(tokens, largest(1, q.pipeline_batch_parts)))
saved_bytes = quantity(
    "saved_bytes",
    if_(
        f.activation_offloading,
        0,
        saved_bytes_per_token * _tokens_of_part * if_(f.pp_size <= 1, 1, _in_flight),
    ),
    "Activations kept for the backward pass.",
)
_inner = (m.ffn_matrices - 1) * largest(
    m.intermediate_size, m.num_experts_per_tok * m.moe_intermediate_size
)
_layer = largest(
    if_(m.num_moe_layers > 0, moe_layer_bytes, 0),
    if_(m.num_moe_layers < m.num_hidden_layers, dense_layer_bytes, 0),
)
recomputed_bytes = quantity(
    "recomputed_bytes",
    _tokens_of_part * (BF16 * _inner + if_(f.gradient_checkpointing, _layer, 0)),
    "One layer's activations, computed again in the backward pass, and its widest gradients.",
)
last_layer_bytes = quantity(
    "last_layer_bytes",
    _tokens_of_part * (BF16 * _inner + _layer),
    "What the last layer of the backward pass reads, kept or computed again, and its widest "
    "gradients.",
)

_has_logits = all_of(*(f.trainer != trainer for trainer in HEADLESS_TRAINERS))
_is_fused = all_of(f.fused_linear_cross_entropy, f.cp_size <= 1)
_copies = BF16 + FP32 + if_(all_of(rows > 1, ~any_of(f.packing, f.padding_free)), BF16, 0)
logits_bytes = quantity(
    "whole_logits_bytes",
    if_(
        all_of(_has_logits, ~_is_fused),
        _tokens_of_part * m.vocab_size * _copies * if_(f.tp_size > 1, 2, 1),
        0,
    ),
    "Logits in bf16, their fp32 copy, and the shifted copy of several rows.",
)
_head = m.vocab_size * m.hidden_size
head_gradient_bytes = quantity(
    "head_gradient_bytes",
    if_(
        _has_logits,
        if_(
            _is_fused,
            _head * (BF16 + FP32) + _tokens_of_part * m.hidden_size * (BF16 + 2 * FP32),
            if_(f.use_peft, 0, _head * BF16),
        ),
        0,
    ),
    "The output layer's gradient; where the loss is fused, its fp32 sum and a chunk of logits.",
)
