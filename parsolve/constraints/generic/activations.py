"""What the backward pass needs of a GPU, and the loss.

Counted by widths, as in Korthikanti et al. (arXiv 2205.05198), with FlashAttention and gated
FFNs. The first pipeline stage keeps most activations and the last one the logits.
"""

from parsolve.constraints.formula import (
    Term,
    any_of,
    if_,
    known_where,
    largest,
    smallest,
)
from parsolve.constraints.generic import batch
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic.states import head_parameters, stage_layers, stage_moe_layers
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.terms import (
    BF16,
    FP32,
    attention_elements,
    ffn_elements,
    quantity,
    split,
)

tokens = quantity(
    "tokens_per_gpu",
    known_where(f.seq_length > 0, split(batch.micro_batch * f.seq_length, f.cp_size)),
    "Tokens per GPU and forward pass.",
)
norm_split = if_(f.sequence_parallel, f.tp_size, 1)
_scores = if_(
    f.attention == "eager",
    split(5 * f.num_attention_heads.largest * f.seq_length, f.tp_size),
    0,
)
"""Bytes per token of unfused attention: the paper's 5 a s."""

_saved_scores = if_(f.recompute == "none", _scores, 0)
_recomputed_scores = if_(f.recompute == "none", 0, _scores)
"""Every layer's are kept, or one layer's are computed again."""

_attention = split(BF16 * 4 * m.hidden_size, norm_split) + split(
    BF16 * (attention_elements() - 4 * m.hidden_size), f.tp_size
)
_ffn_inner = m.ffn_matrices * m.intermediate_size
dense_layer_bytes = quantity(
    "dense_layer_bytes",
    _attention
    + _saved_scores
    + split(BF16 * m.hidden_size, norm_split)
    + split(BF16 * _ffn_inner, f.tp_size),
    "What one dense layer keeps for the backward pass, per token.",
)
_token_share = smallest(f.expert_tp_size, norm_split)
_routed = split(
    BF16
    * m.num_experts_per_tok
    * (2 * m.hidden_size + split(m.ffn_matrices * m.moe_intermediate_size, f.expert_tp_size))
    * _token_share,
    norm_split,
)
_shared_expert = if_(
    m.shared_intermediate_size > 0,
    split(BF16 * ffn_elements(m.shared_intermediate_size), f.tp_size),
    0,
)
moe_layer_bytes = quantity(
    "moe_layer_bytes",
    _attention + _saved_scores + split(BF16 * m.hidden_size, norm_split) + _routed + _shared_expert,
    "What one MoE layer keeps for the backward pass, per token.",
)
_input = split(BF16 * m.hidden_size, norm_split)
saved_bytes_per_token = quantity(
    "saved_bytes_per_token",
    if_(
        f.recompute == "full",
        stage_layers * _input,
        stage_moe_layers * moe_layer_bytes + (stage_layers - stage_moe_layers) * dense_layer_bytes,
    ),
    "Activations that one micro-batch leaves on a stage, per token.",
)
_chunks = if_(f.pp_schedule == "interleaved", f.virtual_stages, 1)
_all_chunks = batch.microbatches_in_pipeline * _chunks
_interleaved = f.virtual_stages > 1
first_in_flight = quantity(
    "first_in_flight",
    if_(
        f.pp_size <= 1,
        _chunks,
        if_(
            f.pp_schedule == "gpipe",
            _all_chunks,
            smallest(_all_chunks, f.pp_size * _chunks + if_(_interleaved, f.pp_size - 1, 0)),
        ),
    ),
    "Chunks of layers with saved activations on the first stage.",
)
last_in_flight = quantity(
    "last_in_flight",
    if_(
        any_of(f.pp_size <= 1, f.pp_schedule == "gpipe"),
        first_in_flight,
        smallest(_all_chunks, (_chunks - 1) * f.pp_size + 1),
    ),
    "Chunks of layers with saved activations on the last stage.",
)


def saved_bytes(in_flight: Term) -> Term:
    """Activations of so many chunks of layers."""
    return split(saved_bytes_per_token * tokens * in_flight, largest(1, _chunks))


_widest = largest(m.intermediate_size, m.num_experts_per_tok * m.moe_intermediate_size)
_layer = largest(
    if_(m.num_moe_layers > 0, moe_layer_bytes, 0),
    if_(m.num_moe_layers < m.num_hidden_layers, dense_layer_bytes, 0),
)
_gradients = split(BF16 * (m.ffn_matrices - 1) * _widest, f.tp_size) + _recomputed_scores
recomputed_bytes = quantity(
    "recomputed_bytes",
    tokens * (_gradients + if_(f.recompute == "full", _layer, 0)),
    "One layer's activations, computed again in the backward pass, and its widest gradients.",
)
last_layer_bytes = quantity(
    "last_layer_bytes",
    tokens * (_gradients + _layer),
    "What the last layer of the backward pass reads, kept or computed again, and its widest "
    "gradients.",
)

LOGIT_BYTES = BF16 + 2 * FP32
"""Logits in bf16 and fp32, and the fp32 log-probabilities that cross entropy keeps."""

logits_bytes = quantity(
    "logits_bytes",
    if_(
        f.fused_linear_cross_entropy,
        tokens * m.hidden_size * BF16 + head_parameters * FP32,
        split(tokens * m.vocab_size * LOGIT_BYTES, f.tp_size),
    ),
    "Logits and the loss; where it is fused, the gradients of what it reads.",
)
