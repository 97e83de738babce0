"""Bytes per GPU under halo: FSDP2 over bf16 weights, experts apart, AdamW with bf16 states.

Which ranks shard what follows the sharding properties of `ParallelismConfig`
(``src/distributed/parallelism_config.py``) and of `EPConfig` (``expert_parallel/config.py``);
FSDP2 keeps its sharded weights beside the gathered bf16 copy that the forward pass uses.
What the backward pass needs follows transformers' modules and FlashAttention. The account is
compared with measured runs in ``benchmarks/memory.py``.

Two moments can be the peak: the start of the backward pass, when every saved activation and
the loss are there and gradients are not (unless earlier micro-batches left theirs), and its
end, when the gradients are there and the activations are gone.
"""

from typing import Literal

from parsolve.constraints.formula import (
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
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.account import GIB, Account, Assumption, Need, Part
from parsolve.constraints.memory.policy import of_policy
from parsolve.constraints.memory.terms import (
    BF16,
    FP32,
    attention_elements,
    ffn_elements,
    ranks_reached,
    split,
)
from parsolve.constraints.rule import Example, Rule, Source

ROUTING_IMBALANCE_PERCENT = 110
"""Tokens on the rank that gets most, per hundred on average."""

WORKSPACE = GIB // 2
"""cuBLAS, attention and collective workspaces inside of PyTorch's allocator."""

CUDA_CONTEXT = GIB
"""CUDA context, kernels and NCCL's own buffers, outside of PyTorch's allocator."""

SLACK_PERCENT = 5
"""What PyTorch's allocator reserves beyond what is in use, per hundred."""

UNITS_IN_FLIGHT = 2
"""Layers that FSDP holds whole at once: the one in use and the one prefetched or reduced."""

HEADLESS_TRAINERS = ("reward", "classification", "embedding")
"""Trainers whose model has no output over the vocabulary."""


def _named(name: str, term: Term, about: str) -> Named:
    unit: Literal["", "bytes"] = "bytes" if name.endswith("_bytes") else ""
    return Named(name, term, about=about, unit=unit)


# --- parameters of the fullest rank ---------------------------------------------------------

stage_layers = _named(
    "stage_layers",
    if_(
        f.pp_size <= 1,
        m.num_hidden_layers,
        if_(f.pp_split.length > 0, f.pp_split.largest, split(m.num_hidden_layers, f.pp_size)),
    ),
    "Layers of the largest pipeline stage.",
)


def _of_stage(parameters: Term) -> Term:
    return split(parameters * stage_layers, largest(1, m.num_hidden_layers))


_has_moe = m.routed_expert_parameters > 0
dense_parameters = _named(
    "dense_parameters_per_gpu",
    if_(
        f.pp_size <= 1,
        m.embedding_parameters + m.output_parameters,
        largest(m.embedding_parameters, m.output_parameters),
    )
    + _of_stage(m.shared_expert_parameters + m.other_parameters)
    + split(_of_stage(m.attention_parameters + if_(_has_moe, 0, m.dense_ffn_parameters)), f.tp_size)
    + _of_stage(if_(_has_moe, m.dense_ffn_parameters, 0)),
    "Parameters outside of routed experts on one GPU, before FSDP shards them.",
)
expert_parameters = _named(
    "expert_parameters_per_gpu",
    split(_of_stage(m.routed_expert_parameters), largest(1, q.ep_group_size)),
    "Parameters of routed experts on one GPU, before FSDP shards them.",
)
local_parameters = _named(
    "local_parameters",
    dense_parameters + expert_parameters,
    "Parameters on one GPU, before FSDP shards them.",
)
lora_parameters = _named(
    "lora_parameters",
    known_where(
        f.lora_rank > 0,
        f.lora_rank
        * stage_layers
        * (
            4 * m.hidden_size
            + m.query_width
            + m.key_width
            + m.value_width
            + m.attention_output_width
            + m.ffn_matrices * if_(m.intermediate_size > 0, m.hidden_size + m.intermediate_size, 0)
        ),
    ),
    "Parameters of LoRA adapters on every linear layer outside of routed experts.",
)

# --- what shards them -----------------------------------------------------------------------

_width = largest(1, q.fsdp_width)
sharded_parameters = _named(
    "sharded_parameters",
    dense_parameters + if_(q.experts_fsdp_managed, expert_parameters, 0),
    "Parameters that FSDP shards.",
)
_whole = local_parameters - sharded_parameters
_layer = _named(
    "layer_parameters",
    m.layer_dense_parameters + if_(q.experts_fsdp_managed, m.layer_expert_parameters, 0),
    "Parameters that FSDP gathers for one layer.",
)
_is_sharded = q.fsdp_width > 1

weight_width = _named(
    "weight_width",
    if_(
        f.weight_bytes > 0,
        f.weight_bytes,
        if_(f.dtype == "fp32", FP32, of_policy(f.precision_policy, lambda p: p.weight)),
    ),
    "Bytes of a stored parameter.",
)
_fp32_beside_experts = all_of(f.fp32_non_ep_params, weight_width < FP32)
gradient_width = _named(
    "gradient_width",
    if_(
        f.gradient_bytes > 0,
        f.gradient_bytes,
        of_policy(f.precision_policy, lambda p: p.gradient),
    ),
    "Bytes of a parameter's gradient.",
)
optimizer_width = _named(
    "optimizer_width",
    if_(
        f.optimizer_bytes >= 0,
        f.optimizer_bytes,
        of_policy(f.precision_policy, lambda p: p.optimizer),
    ),
    "Bytes of a parameter's optimizer state.",
)
_compute_width = if_(f.dtype == "fp32", FP32, BF16)
_dense_extra = if_(_fp32_beside_experts, FP32 - BF16, 0)

_gathered = if_(
    _is_sharded,
    _compute_width
    * if_(f.fsdp_reshard_after_forward, UNITS_IN_FLIGHT * _layer, sharded_parameters),
    0,
)
_stored = split(
    sharded_parameters * weight_width + dense_parameters * _dense_extra, _width
) + _whole * if_(f.quantized, 0, weight_width)
_reference = if_(
    f.reference_model == "live", split(sharded_parameters * BF16, _width) + _whole * BF16, 0
)
parameters_bytes = _named(
    "parameters_bytes", _gathered + _stored + _reference, "Weights: sharded and gathered."
)

_trained = if_(f.use_peft, lora_parameters, sharded_parameters)
_trained_whole = if_(f.use_peft, 0, _whole)
optimizer_bytes = _named(
    "optimizer_state_bytes",
    split(_trained * optimizer_width, _width)
    + _trained_whole * optimizer_width
    + if_(f.use_peft, 0, split(dense_parameters * 2 * _dense_extra, _width)),
    "Optimizer state.",
)
_all_gradients = (
    if_(
        f.fsdp_defer_grad_sync,
        _trained * gradient_width,
        split(_trained * gradient_width, _width),
    )
    + _trained_whole * gradient_width
)
accumulates = NamedFormula(
    "accumulates_gradients",
    any_of(f.gradient_accumulation_steps > 1, all_of(f.pp_size > 1, q.pipeline_batch_parts > 1)),
    about="Gradients of earlier micro-batches are there when a forward pass ends.",
)

# --- activations ----------------------------------------------------------------------------

sequence_length = _named(
    "sequence_length",
    known_where(q.row_length > 0, q.row_length),
    "Tokens of one row.",
)
rows = _named(
    "rows_per_pass",
    if_(
        f.ep_rows_per_device > 0,
        f.ep_rows_per_device,
        largest(1, f.per_device_train_batch_size) * if_(one_of(f.trainer, q.PAIRED_TRAINERS), 2, 1),
    ),
    "Rows per GPU and forward pass.",
)
tokens = _named(
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
    5 * f.num_attention_heads.smallest * sequence_length // BF16,
    0,
)
_attention = attention_elements() + _scores
dense_layer_bytes = _named(
    "dense_layer_bytes",
    BF16 * (_attention + ffn_elements(m.intermediate_size)),
    "What one dense layer keeps for the backward pass, per token.",
)
moe_layer_bytes = _named(
    "moe_layer_bytes",
    BF16 * (_attention + _routed + _shared + _dispatched),
    "What one MoE layer keeps for the backward pass, per token.",
)
_moe_share = split(m.num_moe_layers * stage_layers, largest(1, m.num_hidden_layers))
_moe_layers = smallest(_moe_share, stage_layers)
saved_bytes_per_token = _named(
    "saved_bytes_per_token",
    if_(
        f.gradient_checkpointing,
        stage_layers * BF16 * m.hidden_size + _moe_layers * BF16 * _dispatched,
        _moe_layers * moe_layer_bytes + (stage_layers - _moe_layers) * dense_layer_bytes,
    ),
    "Activations kept for the backward pass, all layers of the stage, per token.",
)
_in_flight = if_(
    f.pp_schedule == "gpipe",
    q.pipeline_batch_parts,
    smallest(q.pipeline_batch_parts, f.pp_size),
)
_tokens_of_part = if_(f.pp_size <= 1, tokens, split(tokens, largest(1, q.pipeline_batch_parts)))
saved_bytes = _named(
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
recomputed_bytes = _named(
    "recomputed_bytes",
    _tokens_of_part
    * (
        BF16 * _inner
        + if_(
            f.gradient_checkpointing,
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

_has_logits = all_of(*(f.trainer != trainer for trainer in HEADLESS_TRAINERS))
_is_fused = all_of(f.fused_linear_cross_entropy, f.cp_size <= 1)
_copies = BF16 + FP32 + if_(all_of(rows > 1, ~any_of(f.packing, f.padding_free)), BF16, 0)
logits_bytes = _named(
    "whole_logits_bytes",
    if_(
        all_of(_has_logits, ~_is_fused),
        _tokens_of_part * m.vocab_size * _copies * if_(f.tp_size > 1, 2, 1),
        0,
    ),
    "Logits in bf16, their fp32 copy, and the shifted copy of several rows.",
)
_head = m.vocab_size * m.hidden_size
head_gradient_bytes = _named(
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

# --- the peak -------------------------------------------------------------------------------

_at_loss = if_(accumulates, _all_gradients, 0)
_layer_gradients = if_(
    all_of(_is_sharded, ~f.fsdp_defer_grad_sync, ~f.use_peft),
    UNITS_IN_FLIGHT * _layer * gradient_width,
    0,
)
_start = saved_bytes + largest(logits_bytes, recomputed_bytes + head_gradient_bytes) + _at_loss
_end = _all_gradients + _layer_gradients + recomputed_bytes
peaks_at_loss = NamedFormula(
    "peaks_at_loss",
    _start >= _end,
    about="Most memory is in use when the backward pass starts, not when it ends.",
)
_loss_leads = logits_bytes >= recomputed_bytes + head_gradient_bytes
gradients_bytes = _named(
    "gradients_bytes", if_(peaks_at_loss, _at_loss, _all_gradients), "Gradients at the peak."
)
activations_bytes = _named(
    "activations_bytes",
    if_(
        peaks_at_loss,
        saved_bytes + if_(_loss_leads, 0, recomputed_bytes),
        recomputed_bytes,
    ),
    "Activations at the peak.",
)
loss_bytes = _named(
    "loss_bytes",
    if_(peaks_at_loss, if_(_loss_leads, logits_bytes, head_gradient_bytes), 0),
    "Logits and loss at the peak.",
)
buffers_bytes = _named(
    "buffers_bytes",
    WORKSPACE + if_(peaks_at_loss, 0, _layer_gradients),
    "Communication and library buffers.",
)
allocated_bytes = _named(
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
reserve_bytes = _named(
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

NEEDS = (
    Need(
        met=m.num_hidden_layers > 0,
        lacks="the model's size",
        decides="weights, gradients, optimizer state and activations",
        option="--model",
    ),
    Need(
        met=q.row_length > 0,
        lacks="the length of its sequences",
        decides="activations and logits",
        option="--max-length",
    ),
    Need(
        met=any_of(~f.use_peft, f.lora_rank > 0),
        lacks="the rank of its adapters",
        decides="their gradients and optimizer state",
        option="--lora-r",
    ),
)
"""What a run's memory depends on that nobody may have said."""

ACCOUNT = Account(
    parts=(
        Part(
            parameters_bytes,
            "sharded over the FSDP width, and gathered in bf16 while they are used; experts "
            "under EP or expert TP are held whole",
        ),
        Part(gradients_bytes, "at the peak: none before the first backward pass of a step"),
        Part(optimizer_bytes, "sharded like the weights"),
        Part(
            activations_bytes,
            "bf16, FlashAttention; with checkpointing each layer's input, what the dispatch "
            "received, and one layer computed again",
        ),
        Part(
            loss_bytes,
            "logits in bf16 and fp32, or the output layer's gradient where the loss is fused",
        ),
        Part(buffers_bytes, "library workspaces, and two layers' gradients being reduced"),
        Part(reserve_bytes, "1 GiB of CUDA context and NCCL; 5% allocator slack"),
    ),
    reserve=reserve_bytes,
    allocated=allocated_bytes,
    total=memory_per_gpu,
    limit=f.gpu_memory,
    peak=peaks_at_loss,
    quantities=(
        local_parameters,
        dense_parameters,
        expert_parameters,
        m.model_parameters,
        tokens,
        headroom,
    ),
    assumptions=(
        Assumption(when=f.per_device_train_batch_size < 1, words="micro-batch 1"),
        Assumption(when=f.max_length < 1, words="sequences as long as the model's context window"),
        Assumption(when=f.gradient_accumulation_steps < 1, words="no gradient accumulation"),
    ),
    needs=NEEDS,
    levers=(
        *(axis.name for axis in (f.tp_size, f.cp_size, f.ep_size, f.expert_tp_size, f.pp_size)),
        *(
            lever.name
            for lever in (
                f.per_device_train_batch_size,
                f.gradient_checkpointing,
                f.fsdp_reshard_after_forward,
                f.fsdp_shard_ep1_experts,
                f.fsdp_defer_grad_sync,
                f.use_hsdp,
                f.fused_linear_cross_entropy,
            )
        ),
    ),
)

LLAMA_3_8B = {
    "world_size": 8,
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "vocab_size": 128_256,
    "embedding_parameters": 525_336_576,
    "output_parameters": 525_336_576,
    "attention_parameters": 1_342_177_280,
    "dense_ffn_parameters": 5_637_144_576,
    "other_parameters": 266_240,
    "layer_dense_parameters": 218_112_000,
    "query_width": 4096,
    "key_width": 1024,
    "value_width": 1024,
    "attention_output_width": 4096,
    "intermediate_size": 14_336,
    "ffn_matrices": 3,
}

BOUNDS = (
    Rule(
        id="memory-exceeds-gpu",
        stage="memory",
        when=f.gpu_memory > 0,
        requires=memory_per_gpu <= f.gpu_memory,
        reason="The fullest GPU would need more memory at its peak than it has.",
        remedy="Shard more (ZeRO-3, wider EP), recompute activations, shorten or split the "
        "sequences, lower the micro-batch, or use more or larger GPUs.",
        source=Source("parsolve", "memory account of the halo profile"),
        example=Example(
            rejects={**LLAMA_3_8B, "gpu_memory": 40 * GIB, "max_length": 8192},
            instead={
                **LLAMA_3_8B,
                "gpu_memory": 40 * GIB,
                "max_length": 8192,
                "gradient_checkpointing": True,
            },
        ),
    ),
)
