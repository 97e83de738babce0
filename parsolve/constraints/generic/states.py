"""Weights, gradients and optimizer state of the fullest GPU, and what shards them.

Dense weights are cut by tp * pp and then sharded over dp * cp, experts by ep * etp * pp and
then over expert-dp; ZeRO's stage says what is sharded.
"""

from parsolve.constraints.formula import (
    Formula,
    Term,
    all_of,
    any_of,
    if_,
    largest,
    one_of,
    smallest,
)
from parsolve.constraints.generic import batch
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import quantities as q
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.policy import of_policy, width
from parsolve.constraints.memory.terms import (
    BF16,
    FP32,
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
is_lora = f.lora_rank > 0
lora_parameters = quantity(
    "lora_parameters",
    f.lora_rank * lora_elements(stage_layers, stage_moe_layers, f.tp_size, f.tp_size),
    "Parameters of LoRA adapters on every linear layer outside of routed experts.",
)
trained_dense = if_(is_lora, lora_parameters, dense_parameters)
trained_experts = if_(is_lora, 0, expert_parameters)

# --- what shards them -----------------------------------------------------------------------


def _stage(*stages: str) -> Formula:
    return one_of(f.zero_stage, stages)


weight_width = width(f.weight_bytes, of_policy(f.precision_policy, lambda p: p.weight))
gradient_width = width(f.gradient_bytes, of_policy(f.precision_policy, lambda p: p.gradient))
optimizer_width = width(f.optimizer_bytes, of_policy(f.precision_policy, lambda p: p.optimizer))
dense_shards = largest(1, q.shard_group_size)
_shards_weights = all_of(_stage("3"), any_of(q.shard_group_size > 1, q.expert_shard_size > 1))
_shards_experts = all_of(_stage("3"), q.expert_shard_size > 1)


def _shared(dense: Term, experts: Term, sharded: Formula) -> Term:
    """So many dense and expert parameters, sharded where the condition holds."""
    return if_(
        sharded, split(dense, dense_shards) + split(experts, q.expert_shard_size), dense + experts
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
head_parameters = split(largest(m.embedding_parameters, m.output_parameters), f.tp_size)
gathered_bytes = quantity(
    "gathered_bytes",
    if_(
        _shards_weights,
        BF16
        * if_(
            f.reshard_after_forward,
            UNITS_IN_FLIGHT * _layer + head_parameters,
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
accumulates = batch.microbatches > 1
_waits = all_of(f.pp_size > 1, accumulates)
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
reducing_bytes = if_(
    all_of(_stage("2", "3"), ~is_lora), UNITS_IN_FLIGHT * _layer * gradient_width, 0
)
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

reduced_expert_gradients = gradient_width * _of_experts(trained_experts, _stage("2", "3"))
whole_expert_gradients = if_(_waits, gradient_width * trained_experts, reduced_expert_gradients)
