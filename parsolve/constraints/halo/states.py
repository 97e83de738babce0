"""Weights, gradients and optimizer state of the fullest GPU under halo, and what shards them.

Which ranks shard what follows the sharding properties of `ParallelismConfig`
(``src/distributed/parallelism_config.py``) and of `EPConfig` (``expert_parallel/config.py``).
FSDP2 keeps its sharded weights beside the gathered bf16 copy that the forward pass uses.
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
from parsolve.constraints.memory.policy import of_policy
from parsolve.constraints.memory.terms import BF16, FP32, quantity, split

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
dense_parameters = quantity(
    "dense_parameters_per_gpu",
    root_parameters
    + _of_stage(m.shared_expert_parameters + m.other_parameters)
    + split(_of_stage(m.attention_parameters + if_(_has_moe, 0, m.dense_ffn_parameters)), f.tp_size)
    + _of_stage(if_(_has_moe, m.dense_ffn_parameters, 0)),
    "Parameters outside of routed experts on one GPU, before FSDP shards them.",
)
expert_parameters = quantity(
    "expert_parameters_per_gpu",
    split(_of_stage(m.routed_expert_parameters), largest(1, q.ep_group_size)),
    "Parameters of routed experts on one GPU, before FSDP shards them.",
)
local_parameters = quantity(
    "local_parameters",
    dense_parameters + expert_parameters,
    "Parameters on one GPU, before FSDP shards them.",
)
lora_parameters = quantity(
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

_width = largest(1, q.fsdp_width)
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
is_sharded = q.fsdp_width > 1

weight_width = quantity(
    "weight_width",
    if_(
        f.weight_bytes > 0,
        f.weight_bytes,
        if_(f.dtype == "fp32", FP32, of_policy(f.precision_policy, lambda p: p.weight)),
    ),
    "Bytes of a stored parameter.",
)
_fp32_beside_experts = all_of(f.fp32_non_ep_params, weight_width < FP32)
gradient_width = quantity(
    "gradient_width",
    if_(
        f.gradient_bytes > 0,
        f.gradient_bytes,
        of_policy(f.precision_policy, lambda p: p.gradient),
    ),
    "Bytes of a parameter's gradient.",
)
optimizer_width = quantity(
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


def _gathered(everything: Term, root: Term, layer: Term) -> tuple[Term, Term]:
    """Bytes that FSDP holds gathered when the backward pass starts, and when it ends.

    ZeRO-3 holds layers in flight. ZeRO-2 holds everything; its backward pass gives layer after
    layer back, but not the root: embeddings and output layer.
    """
    in_flight = UNITS_IN_FLIGHT * layer
    at_end = if_(f.fsdp_reshard_after_backward, smallest(everything, root + in_flight), everything)
    start, end = (
        if_(is_sharded, _compute_width * if_(f.fsdp_reshard_after_forward, in_flight, held), 0)
        for held in (everything, at_end)
    )
    return start, end


gathered_at_start, gathered_at_end = _gathered(sharded_parameters, root_parameters, whole_layer)
_stored = split(
    sharded_parameters * weight_width + dense_parameters * _dense_extra, _width
) + _whole * if_(f.quantized, 0, weight_width)
_reference = if_(
    f.reference_model == "live", split(sharded_parameters * BF16, _width) + _whole * BF16, 0
)
stored_bytes = quantity(
    "stored_bytes", _stored + _reference, "Weights that are always there: shards, whole experts."
)

_trained = if_(f.use_peft, lora_parameters, sharded_parameters)
_trained_whole = if_(f.use_peft, 0, _whole)
optimizer_bytes = quantity(
    "optimizer_state_bytes",
    split(_trained * optimizer_width, _width)
    + _trained_whole * optimizer_width
    + if_(f.use_peft, 0, split(dense_parameters * 2 * _dense_extra, _width)),
    "Optimizer state.",
)
all_gradients = (
    if_(
        f.fsdp_defer_grad_sync,
        _trained * gradient_width,
        split(_trained * gradient_width, _width),
    )
    + _trained_whole * gradient_width
)
accumulates = NamedFormula(
    "accumulates_gradients",
    any_of(batch.accumulation_steps > 1, all_of(f.pp_size > 1, q.pipeline_batch_parts > 1)),
    about="Gradients of earlier micro-batches are there when a forward pass ends.",
)

_sharded_experts = if_(q.experts_fsdp_managed, expert_parameters, 0)
stored_experts = split(_sharded_experts * weight_width, _width) + _whole * if_(
    f.quantized, 0, weight_width
)
experts_gathered_at_start, experts_gathered_at_end = _gathered(
    _sharded_experts, Const(0), if_(q.experts_fsdp_managed, m.layer_expert_parameters, 0)
)
expert_optimizer_bytes = quantity(
    "expert_optimizer_bytes",
    if_(
        f.use_peft, 0, split(_sharded_experts * optimizer_width, _width) + _whole * optimizer_width
    ),
    "Optimizer state of routed experts.",
)
all_expert_gradients = if_(
    f.use_peft,
    0,
    if_(
        f.fsdp_defer_grad_sync,
        _sharded_experts * gradient_width,
        split(_sharded_experts * gradient_width, _width),
    )
    + _whole * gradient_width,
)
