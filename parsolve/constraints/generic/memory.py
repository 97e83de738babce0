"""Bytes per GPU that follow from the arithmetic alone, for stacks made of PyTorch's parts.

Dense weights are cut by tp * pp and then sharded over dp * cp, experts by ep * etp * pp and
then over expert-dp; ZeRO's stage says what is sharded. What the backward pass needs is counted
by widths, as in Korthikanti et al. (arXiv 2205.05198), with FlashAttention and gated FFNs.

Three moments can be the peak: the loss, when every saved activation is there; the end of the
backward pass, when all gradients are; and the optimizer step, with its temporaries. The first
pipeline stage keeps most activations and the last one the logits; the fuller one counts.
"""

from parsolve.constraints.formula import (
    Formula,
    Named,
    NamedFormula,
    Term,
    all_of,
    any_of,
    if_,
    known_where,
    largest,
    one_of,
    smallest,
)
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import quantities as q
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.policy import of_policy
from parsolve.constraints.memory.terms import (
    BF16,
    CUDA_CONTEXT,
    END_OF_BACKWARD,
    FP32,
    OPTIMIZER_STEP,
    SLACK_PERCENT,
    START_OF_BACKWARD,
    WORKSPACE,
    attention_elements,
    ffn_elements,
    lora_elements,
    quantity,
    split,
)

UNITS_IN_FLIGHT = 2
"""Layers that ZeRO-3 holds whole at once: the one in use and the one prefetched or reduced."""


# --- parameters of the fullest stage --------------------------------------------------------

stage_layers = quantity(
    "stage_layers", split(m.num_hidden_layers, f.pp_size), "Layers of the largest stage."
)
stage_moe_layers = quantity(
    "stage_moe_layers",
    smallest(stage_layers, m.num_moe_layers),
    "Layers with experts of the stage that has most.",
)


def _part_of(parameters: Term, layers: Term, of: Term) -> Term:
    return split(parameters * layers, largest(1, of))


_embeddings = if_(
    f.pp_size <= 1,
    m.embedding_parameters + m.output_parameters,
    largest(m.embedding_parameters, m.output_parameters),
)
dense_parameters = quantity(
    "dense_parameters_per_gpu",
    split(
        _embeddings
        + _part_of(m.attention_parameters, stage_layers, m.num_hidden_layers)
        + _part_of(
            m.dense_ffn_parameters,
            stage_layers - stage_moe_layers,
            m.num_hidden_layers - m.num_moe_layers,
        )
        + _part_of(m.shared_expert_parameters, stage_moe_layers, m.num_moe_layers),
        f.tp_size,
    )
    + _part_of(m.other_parameters, stage_layers, m.num_hidden_layers),
    "Parameters outside of routed experts on one GPU, before ZeRO shards them.",
)
expert_parameters = quantity(
    "expert_parameters_per_gpu",
    split(
        _part_of(m.routed_expert_parameters, stage_moe_layers, m.num_moe_layers),
        q.ep_group_size,
    ),
    "Parameters of routed experts on one GPU, before ZeRO shards them.",
)
local_parameters = quantity(
    "local_parameters",
    dense_parameters + expert_parameters,
    "Parameters on one GPU, before ZeRO shards them.",
)
_is_lora = f.lora_rank > 0
lora_parameters = quantity(
    "lora_parameters",
    f.lora_rank * lora_elements(stage_layers, stage_moe_layers, f.tp_size, f.tp_size),
    "Parameters of LoRA adapters on every linear layer outside of routed experts.",
)
trained_dense = if_(_is_lora, lora_parameters, dense_parameters)
trained_experts = if_(_is_lora, 0, expert_parameters)

# --- what shards them -----------------------------------------------------------------------


def _stage(*stages: str) -> Formula:
    return one_of(f.zero_stage, stages)


def _width_of(field: Term, unset: int, part: Term) -> Term:
    return if_(field > unset, field, part)


weight_width = quantity(
    "weight_width",
    _width_of(f.weight_bytes, 0, of_policy(f.precision_policy, lambda p: p.weight)),
    "Bytes of a stored parameter.",
)
gradient_width = quantity(
    "gradient_width",
    _width_of(f.gradient_bytes, 0, of_policy(f.precision_policy, lambda p: p.gradient)),
    "Bytes of a parameter's gradient.",
)
optimizer_width = quantity(
    "optimizer_width",
    _width_of(f.optimizer_bytes, -1, of_policy(f.precision_policy, lambda p: p.optimizer)),
    "Bytes of a parameter's optimizer state.",
)
_dense_shards = largest(1, q.shard_group_size)
_shards_weights = all_of(_stage("3"), any_of(q.shard_group_size > 1, q.expert_shard_size > 1))
_shards_experts = all_of(_stage("3"), q.expert_shard_size > 1)


def _shared(dense: Term, experts: Term, sharded: Formula) -> Term:
    """So many dense and expert parameters, sharded where the condition holds."""
    return if_(
        sharded, split(dense, _dense_shards) + split(experts, q.expert_shard_size), dense + experts
    )


def _of_experts(experts: Term, sharded: Formula) -> Term:
    """The experts' share of `_shared`."""
    return if_(sharded, split(experts, q.expert_shard_size), experts)


parameters_bytes = quantity(
    "parameters_bytes",
    weight_width * _shared(dense_parameters, expert_parameters, _stage("3")),
    "Stored weights.",
)
expert_weights_bytes = quantity(
    "expert_weights_bytes",
    weight_width * _of_experts(expert_parameters, _stage("3")),
    "Stored weights of routed experts.",
)
_layer = quantity(
    "layer_parameters",
    split(m.layer_dense_parameters, f.tp_size)
    + if_(_shards_experts, split(m.layer_expert_parameters, q.ep_group_size), 0),
    "Parameters that ZeRO-3 gathers for one layer.",
)
_head = split(largest(m.embedding_parameters, m.output_parameters), f.tp_size)
gathered_bytes = quantity(
    "gathered_bytes",
    if_(
        _shards_weights,
        BF16
        * if_(
            f.reshard_after_forward,
            UNITS_IN_FLIGHT * _layer + _head,
            dense_parameters + if_(_shards_experts, expert_parameters, 0),
        ),
        0,
    ),
    "Weights gathered in bf16 while they are used.",
)
optimizer_bytes = quantity(
    "optimizer_state_bytes",
    if_(
        f.optimizer_offload,
        0,
        optimizer_width * _shared(trained_dense, trained_experts, _stage("1", "2", "3")),
    ),
    "Optimizer state.",
)
expert_optimizer_bytes = quantity(
    "expert_optimizer_bytes",
    if_(
        f.optimizer_offload,
        0,
        optimizer_width * _of_experts(trained_experts, _stage("1", "2", "3")),
    ),
    "Optimizer state of routed experts.",
)
_accumulates = q.microbatches > 1
_waits = all_of(f.pp_size > 1, _accumulates)
"""A pipeline's micro-batches add to whole gradients, which are reduced after the last."""

whole_gradients_bytes = quantity(
    "whole_gradients_bytes",
    gradient_width
    * if_(
        _waits,
        trained_dense + trained_experts,
        _shared(trained_dense, trained_experts, _stage("2", "3")),
    ),
    "Gradients when the last backward pass ends.",
)
reduced_gradients_bytes = quantity(
    "reduced_gradients_bytes",
    gradient_width * _shared(trained_dense, trained_experts, _stage("2", "3")),
    "Gradients when the optimizer steps.",
)
_reducing = if_(all_of(_stage("2", "3"), ~_is_lora), UNITS_IN_FLIGHT * _layer * gradient_width, 0)
_stepped = _shared(trained_dense, trained_experts, _stage("1", "2", "3"))
_has_master = optimizer_width >= 3 * FP32
step_bytes = quantity(
    "step_bytes",
    if_(
        f.optimizer_offload,
        0,
        _stepped
        * (
            if_(optimizer_width >= 2 * BF16, smallest(FP32, optimizer_width // 2), 0)
            + if_(all_of(_has_master, gradient_width < FP32), FP32, 0)
        ),
    ),
    "Temporaries of Adam's step: the square root of a moment, and gradients cast to fp32 where "
    "there is an fp32 copy of the weights.",
)

# --- activations ----------------------------------------------------------------------------

tokens = quantity(
    "tokens_per_gpu",
    known_where(f.seq_length > 0, split(q.micro_batch * f.seq_length, f.cp_size)),
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
_all_chunks = q.microbatches_in_pipeline * _chunks
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


def _saved(in_flight: Term) -> Term:
    return split(saved_bytes_per_token * tokens * in_flight, largest(1, _chunks))


_widest = largest(m.intermediate_size, m.num_experts_per_tok * m.moe_intermediate_size)
recomputed_bytes = quantity(
    "recomputed_bytes",
    tokens
    * (
        split(BF16 * (m.ffn_matrices - 1) * _widest, f.tp_size)
        + _recomputed_scores
        + if_(
            f.recompute == "full",
            largest(
                if_(m.num_moe_layers > 0, moe_layer_bytes, 0),
                if_(m.num_moe_layers < m.num_hidden_layers, dense_layer_bytes, 0),
            ),
            0,
        )
    ),
    "One layer's activations, computed again in the backward pass, and its widest gradients.",
)

# --- loss -----------------------------------------------------------------------------------

LOGIT_BYTES = BF16 + 2 * FP32
"""Logits in bf16 and fp32, and the fp32 log-probabilities that cross entropy keeps."""

logits_bytes = quantity(
    "logits_bytes",
    if_(
        f.fused_cross_entropy,
        tokens * m.hidden_size * BF16 + _head * FP32,
        split(tokens * m.vocab_size * LOGIT_BYTES, f.tp_size),
    ),
    "Logits and the loss; where it is fused, the gradients of what it reads.",
)

# --- the peak -------------------------------------------------------------------------------

_at_loss = if_(_accumulates, whole_gradients_bytes, 0)
_first = _saved(first_in_flight) + if_(
    f.pp_size <= 1, largest(logits_bytes, recomputed_bytes), recomputed_bytes
)
_last = _saved(last_in_flight) + largest(logits_bytes, recomputed_bytes)
is_last_fuller = NamedFormula(
    "is_last_stage_fuller",
    all_of(f.pp_size > 1, _last > _first),
    about="The last pipeline stage needs more at the loss than the first one.",
)
_start = largest(_first, _last) + _at_loss + gathered_bytes
_end = whole_gradients_bytes + _reducing + recomputed_bytes + gathered_bytes
_step = reduced_gradients_bytes + step_bytes
peaks_at_loss = NamedFormula(
    "peaks_at_loss",
    all_of(_start >= _end, _start >= _step),
    about="Most memory is in use when the backward pass starts, not at its end or after.",
)
peaks_at_step = NamedFormula(
    "peaks_at_step",
    all_of(_step > _end, _step > _start),
    about="Most memory is in use while the optimizer steps.",
)
peak = Named(
    "peak",
    if_(peaks_at_loss, START_OF_BACKWARD, if_(peaks_at_step, OPTIMIZER_STEP, END_OF_BACKWARD)),
    about="The moment at which most memory is in use.",
)
_meets_logits = any_of(f.pp_size <= 1, is_last_fuller)
_logits_lead = all_of(_meets_logits, logits_bytes >= recomputed_bytes)
gradients_bytes = quantity(
    "gradients_bytes",
    if_(
        peaks_at_loss, _at_loss, if_(peaks_at_step, reduced_gradients_bytes, whole_gradients_bytes)
    ),
    "Gradients at the peak.",
)
_reduced_expert_gradients = gradient_width * _of_experts(trained_experts, _stage("2", "3"))
_whole_expert_gradients = if_(_waits, gradient_width * trained_experts, _reduced_expert_gradients)
expert_gradients_bytes = quantity(
    "expert_gradients_bytes",
    if_(
        peaks_at_loss,
        if_(_accumulates, _whole_expert_gradients, 0),
        if_(peaks_at_step, _reduced_expert_gradients, _whole_expert_gradients),
    ),
    "Gradients of routed experts at the peak.",
)
activations_bytes = quantity(
    "activations_bytes",
    if_(
        peaks_at_loss,
        if_(is_last_fuller, _saved(last_in_flight), _saved(first_in_flight))
        + if_(_logits_lead, 0, recomputed_bytes),
        if_(peaks_at_step, 0, recomputed_bytes),
    ),
    "Activations at the peak.",
)
loss_bytes = quantity(
    "loss_bytes",
    if_(all_of(peaks_at_loss, _logits_lead), logits_bytes, 0),
    "Logits and loss at the peak.",
)
buffers_bytes = quantity(
    "buffers_bytes",
    WORKSPACE + if_(peaks_at_step, step_bytes, gathered_bytes + if_(peaks_at_loss, 0, _reducing)),
    "Gathered weights, gradients being reduced, or the optimizer's temporaries; libraries.",
)
allocated_bytes = quantity(
    "allocated_bytes",
    known_where(
        m.num_hidden_layers > 0,
        parameters_bytes
        + gradients_bytes
        + optimizer_bytes
        + activations_bytes
        + loss_bytes
        + buffers_bytes,
    ),
    "What PyTorch reports as the peak of allocated memory.",
)
reserve_bytes = quantity(
    "reserve_bytes",
    CUDA_CONTEXT + allocated_bytes * SLACK_PERCENT // 100,
    "CUDA context and allocator slack.",
)
memory_per_gpu = Named(
    "memory_per_gpu",
    allocated_bytes + reserve_bytes,
    about="Memory of the fullest GPU at its peak.",
    unit="bytes",
)
headroom = Named(
    "headroom",
    known_where(f.gpu_memory > 0, f.gpu_memory - memory_per_gpu),
    about="Memory of a GPU that is left at the peak.",
    unit="bytes",
)
