"""What the backward pass needs of a GPU, and the loss.

Counted by widths, as in Korthikanti et al. (arXiv 2205.05198), with fused attention and as many
micro-batches in flight as the schedule keeps (Narayanan et al., arXiv 2104.04473).
"""

from parsolve.constraints.formula import (
    NamedFormula,
    Term,
    all_of,
    if_,
    known_where,
    largest,
    smallest,
)
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.megatron.states import stage_layers, stage_moe_layers
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.terms import (
    BF16,
    FP32,
    attention_elements,
    ffn_elements,
    quantity,
    split,
)

LOGIT_BYTES = BF16 + 2 * FP32
"""Logits in bf16 and fp32, and the fp32 exponentials that cross entropy keeps."""

element = if_(f.precision == "fp32", FP32, BF16)
tokens = quantity(
    "tokens_per_gpu",
    known_where(f.seq_length > 0, split(q.micro_batch * f.seq_length, f.cp_size)),
    "Tokens per GPU and forward pass.",
)
norm_split = if_(q.sequence_parallel, f.tp_size, 1)
_input = split(m.hidden_size, norm_split)
_attention = split(4 * m.hidden_size, norm_split) + split(
    attention_elements() - 4 * m.hidden_size, f.tp_size
)
dense_layer = quantity(
    "dense_layer_elements",
    _attention + _input + split(m.ffn_matrices * m.intermediate_size, f.tp_size),
    "What one dense layer keeps for the backward pass, in elements per token.",
)
_recomputes_moe = all_of(f.recompute == "selective", f.recompute_modules.has("moe"))
_routed = split(
    m.num_experts_per_tok
    * (2 * m.hidden_size + split(m.ffn_matrices * m.moe_intermediate_size, q.expert_tp_size))
    * smallest(q.expert_tp_size, norm_split),
    norm_split,
)
_shared = if_(
    m.shared_intermediate_size > 0,
    split(ffn_elements(m.shared_intermediate_size), f.tp_size),
    0,
)
moe_layer = quantity(
    "moe_layer_elements",
    _attention + _input + if_(_recomputes_moe, 0, _routed + _shared),
    "What one MoE layer keeps for the backward pass, in elements per token.",
)
_kept = stage_moe_layers * moe_layer + (stage_layers - stage_moe_layers) * dense_layer
_fullest = largest(
    if_(m.num_moe_layers > 0, moe_layer, 0),
    if_(m.num_moe_layers < m.num_hidden_layers, dense_layer, 0),
)
_recomputed_layers = smallest(stage_layers, largest(1, f.recompute_num_layers))
_checkpoint = if_(f.distribute_saved_activations, split(m.hidden_size, f.tp_size), _input)
saved = quantity(
    "saved_elements",
    if_(
        f.recompute == "full",
        if_(
            f.recompute_method == "block",
            _recomputed_layers * _checkpoint + (stage_layers - _recomputed_layers) * _fullest,
            split(stage_layers, largest(1, _recomputed_layers)) * _checkpoint,
        ),
        _kept,
    ),
    "Activations that one micro-batch leaves on a stage, in elements per token.",
)
_all = largest(1, q.microbatches) * q.virtual_stages
first_in_flight = quantity(
    "first_in_flight",
    if_(
        f.pp_size <= 1,
        q.virtual_stages,
        smallest(
            _all,
            if_(
                q.is_interleaved,
                (q.virtual_stages - 1) * q.microbatch_group_size + 2 * f.pp_size - 1,
                f.pp_size,
            ),
        ),
    ),
    "Chunks of layers with saved activations on the first stage.",
)
last_in_flight = quantity(
    "last_in_flight",
    if_(
        f.pp_size <= 1,
        first_in_flight,
        smallest(_all, (q.virtual_stages - 1) * q.microbatch_group_size + 1),
    ),
    "Chunks of layers with saved activations on the last stage.",
)


def _saved_bytes(in_flight: Term) -> Term:
    return split(element * saved * tokens * in_flight, largest(1, q.virtual_stages))


_widest = split(
    (m.ffn_matrices - 1)
    * largest(m.intermediate_size, m.num_experts_per_tok * m.moe_intermediate_size),
    f.tp_size,
)
_again = if_(
    f.recompute == "full",
    if_(f.recompute_method == "block", 1, _recomputed_layers) * _fullest,
    if_(_recomputes_moe, _routed + _shared, 0),
)
recomputed_bytes = quantity(
    "recomputed_bytes",
    element * tokens * (_widest + _again),
    "Activations computed again in the backward pass, and a layer's widest gradients.",
)
logits_bytes = quantity(
    "logits_bytes",
    split(tokens * q.padded_vocab_size * LOGIT_BYTES, f.tp_size),
    "Logits and the loss, cut by tp.",
)
_first = _saved_bytes(first_in_flight) + if_(
    f.pp_size <= 1, largest(logits_bytes, recomputed_bytes), recomputed_bytes
)
_last = _saved_bytes(last_in_flight) + largest(logits_bytes, recomputed_bytes)
is_last_fuller = NamedFormula(
    "is_last_stage_fuller",
    all_of(f.pp_size > 1, _last > _first),
    about="The last pipeline stage needs more for activations and the loss than the first one.",
)
_has_logits = if_(is_last_fuller, 1, if_(f.pp_size <= 1, 1, 0)) == 1
_logits_lead = all_of(_has_logits, logits_bytes >= recomputed_bytes)
activations_bytes = quantity(
    "activations_bytes",
    if_(is_last_fuller, _saved_bytes(last_in_flight), _saved_bytes(first_in_flight))
    + if_(_logits_lead, 0, recomputed_bytes),
    "Activations at the peak.",
)
loss_bytes = quantity(
    "loss_bytes", if_(_logits_lead, logits_bytes, 0), "Logits and loss at the peak."
)
