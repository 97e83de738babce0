"""Weights, gradients and optimizer state of the fullest GPU under halo, and what shards them.

Which ranks shard what follows the sharding properties of `ParallelismConfig`
(``src/distributed/parallelism_config.py``) and of `EPConfig` (``expert_parallel/config.py``).
FSDP2 keeps its sharded weights beside the gathered bf16 copy that the forward pass uses.

A quantized base (QLoRA) is not wrapped by FSDP (``_reject_fsdp_knobs_under_qlora`` of
``src/trainers/mixins/validation.py``): every rank holds all of it, and its adapters. Linear
layers and experts take half a byte per parameter and an fp32 constant per block of 64;
embeddings, output layer, routers and norms keep their width. A layer computes in a bf16 copy.
"""

from parsolve.constraints.formula import (
    Const,
    NamedFormula,
    Term,
    all_of,
    any_of,
    if_,
    known_where,
    largest,
    smallest,
)
from parsolve.constraints.halo import batch
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.policy import of_policy, width
from parsolve.constraints.memory.terms import BF16, FP32, lora_elements, quantity, split

UNITS_IN_FLIGHT = 2
"""Layers that FSDP holds whole at once: the one in use and the one prefetched or reduced."""

stage_layers = quantity(
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


stage_moe_layers = quantity(
    "stage_moe_layers",
    smallest(stage_layers, m.num_moe_layers),
    "Layers with experts of the stage that has most.",
)


def _of_moe(parameters: Term) -> Term:
    """Of parameters that only layers with experts have."""
    return split(parameters * stage_moe_layers, largest(1, m.num_moe_layers))


_dense_ffn = split(
    m.dense_ffn_parameters * (stage_layers - stage_moe_layers),
    largest(1, m.num_hidden_layers - m.num_moe_layers),
)
_has_moe = m.routed_expert_parameters > 0
root_parameters = quantity(
    "root_parameters",
    if_(
        f.pp_size <= 1,
        m.embedding_parameters + m.output_parameters,
        largest(m.embedding_parameters, m.output_parameters),
    ),
    "Parameters outside of layers on one GPU: embeddings and output layer.",
)
_unquantized = root_parameters + _of_stage(m.other_parameters)
dense_parameters = quantity(
    "dense_parameters_per_gpu",
    _unquantized
    + _of_moe(m.shared_expert_parameters)
    + split(_of_stage(m.attention_parameters) + if_(_has_moe, 0, _dense_ffn), f.tp_size)
    + if_(_has_moe, _dense_ffn, 0),
    "Parameters outside of routed experts on one GPU, before FSDP shards them.",
)
expert_parameters = quantity(
    "expert_parameters_per_gpu",
    split(_of_moe(m.routed_expert_parameters), largest(1, q.ep_group_size)),
    "Parameters of routed experts on one GPU, before FSDP shards them.",
)
local_parameters = quantity(
    "local_parameters",
    dense_parameters + expert_parameters,
    "Parameters on one GPU, before FSDP shards them.",
)
_ffn_ranks = if_(_has_moe, 1, f.tp_size)
lora_parameters = quantity(
    "lora_parameters",
    known_where(
        f.lora_rank > 0,
        f.lora_rank * lora_elements(stage_layers, stage_moe_layers, f.tp_size, _ffn_ranks),
    ),
    "Parameters of LoRA adapters on every linear layer outside of routed experts.",
)

shard_width = quantity(
    "shard_width",
    if_(f.quantized, 1, largest(1, q.fsdp_width)),
    "Ranks that FSDP shards over; it leaves a quantized base whole.",
)
is_sharded = shard_width > 1
sharded_parameters = quantity(
    "sharded_parameters",
    dense_parameters + if_(q.experts_fsdp_managed, expert_parameters, 0),
    "Parameters that FSDP shards.",
)
_whole = local_parameters - sharded_parameters
whole_layer = quantity(
    "layer_parameters",
    m.layer_dense_parameters + if_(q.experts_fsdp_managed, m.layer_expert_parameters, 0),
    "Parameters that FSDP gathers for one layer.",
)

weight_width = width(
    f.weight_bytes,
    if_(f.dtype == "fp32", FP32, of_policy(f.precision_policy, lambda p: p.weight)),
)
gradient_width = width(f.gradient_bytes, of_policy(f.precision_policy, lambda p: p.gradient))
optimizer_width = width(f.optimizer_bytes, of_policy(f.precision_policy, lambda p: p.optimizer))
_compute_width = if_(f.dtype == "fp32", FP32, BF16)
_missing = FP32 - weight_width
"""Bytes that a narrower weight gains in fp32."""

_dense_extra = if_(all_of(f.fp32_non_ep_params, _missing > 0), _missing, 0)
_expert_extra = if_(all_of(f.ep_fp32_experts, q.ep_group_size > 1, _missing > 0), _missing, 0)
"""Experts under EP or expert TP may be kept in fp32; without either nothing reads the switch."""

_expert_weight = weight_width + _expert_extra
_expert_gradient = if_(_expert_extra > 0, largest(FP32, gradient_width), gradient_width)
_has_bf16_moments = optimizer_width == 2 * BF16


def _moments(extra: Term) -> Term:
    """What two moments gain with the weight that they follow, unless they have a width anyway."""
    return if_(all_of(_has_bf16_moments, extra > 0), 2 * (FP32 - BF16), 0)


_expert_optimizer = optimizer_width + _moments(_expert_extra)

CODES = 9
CODES_OF = 16
"""A quantized parameter in sixteenths of a byte: 8 are 4 bits, 1 is a 64th of an fp32 constant."""


def _codes(parameters: Term) -> Term:
    return split(parameters * CODES, CODES_OF)


def _gathered(everything: Term, root: Term, layer: Term) -> tuple[Term, Term]:
    """Bytes that FSDP holds gathered when the backward pass starts, and when it ends.

    ZeRO-3 holds layers in flight. ZeRO-2 holds everything; its backward pass gives layer after
    layer back, but not the root: embeddings and output layer. Of a quantized base, one layer
    is de-quantized.
    """
    in_flight = UNITS_IN_FLIGHT * layer
    at_end = if_(f.fsdp_reshard_after_backward, smallest(everything, root + in_flight), everything)
    start, end = (
        _compute_width
        * if_(
            f.quantized,
            layer,
            if_(is_sharded, if_(f.fsdp_reshard_after_forward, in_flight, held), 0),
        )
        for held in (everything, at_end)
    )
    return start, end


gathered_at_start, gathered_at_end = _gathered(sharded_parameters, root_parameters, whole_layer)
_managed_experts = if_(q.experts_fsdp_managed, expert_parameters, 0)
_stored = if_(
    f.quantized,
    _codes(local_parameters - _unquantized) + _unquantized * (weight_width + _dense_extra),
    split(sharded_parameters * weight_width + dense_parameters * _dense_extra, shard_width)
    + _whole * _expert_weight,
)
_reference = if_(
    f.reference_model == "live", split(sharded_parameters * BF16, shard_width) + _whole * BF16, 0
)
stored_bytes = quantity(
    "stored_bytes", _stored + _reference, "Weights that are always there: shards, whole experts."
)

trained_parameters = quantity(
    "trained_parameters",
    if_(f.use_peft, lora_parameters, sharded_parameters),
    "Parameters that are trained, those of whole experts left out.",
)
trained_experts = quantity(
    "trained_experts", if_(f.use_peft, 0, _whole), "Parameters of whole experts that are trained."
)
optimizer_bytes = quantity(
    "optimizer_state_bytes",
    split(trained_parameters * optimizer_width, shard_width)
    + trained_experts * _expert_optimizer
    + if_(f.use_peft, 0, split(dense_parameters * _moments(_dense_extra), shard_width)),
    "Optimizer state.",
)
reduced_width = quantity(
    "reduced_width",
    if_(f.fp32_grad_reduce, largest(FP32, gradient_width), gradient_width),
    "Bytes of a parameter's gradient until it is reduced.",
)


def _gradients(sharded: Term) -> Term:
    """Gradients of parameters that FSDP shards: shards, or whole until they are reduced."""
    return if_(
        all_of(f.fsdp_defer_grad_sync, is_sharded),
        sharded * reduced_width,
        split(sharded * gradient_width, shard_width),
    )


all_gradients = _gradients(trained_parameters) + trained_experts * _expert_gradient
accumulates = NamedFormula(
    "accumulates_gradients",
    any_of(batch.accumulation_steps > 1, all_of(f.pp_size > 1, q.pipeline_batch_parts > 1)),
    about="Gradients of earlier micro-batches are there when a forward pass ends.",
)

stored_experts = if_(
    f.quantized,
    _codes(expert_parameters),
    split(_managed_experts * weight_width, shard_width) + _whole * _expert_weight,
)
experts_gathered_at_start, experts_gathered_at_end = _gathered(
    _managed_experts, Const(0), if_(q.experts_fsdp_managed, m.layer_expert_parameters, 0)
)
expert_optimizer_bytes = quantity(
    "expert_optimizer_bytes",
    if_(
        f.use_peft,
        0,
        split(_managed_experts * optimizer_width, shard_width) + _whole * _expert_optimizer,
    ),
    "Optimizer state of routed experts.",
)
all_expert_gradients = if_(f.use_peft, 0, _gradients(_managed_experts) + _whole * _expert_gradient)
