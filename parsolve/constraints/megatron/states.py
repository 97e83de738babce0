"""Weights, gradients and optimizer state of the fullest GPU, and what shards them.

Dense weights are cut by tp * pp and experts by etp * ep * pp; cp cuts neither. The distributed
optimizer shards optimizer state over dp * cp (experts: expert-dp), Megatron's FSDP gradients and
weights too, as its strategy says, and PyTorch's FSDP2 everything. Gradients live in fp32 buffers
from the start (megatron/core/distributed/param_and_grad_buffer.py), so a parameter costs 18
bytes, or 6 + 12/d where d ranks shard the optimizer, as Megatron's own estimator has it
(megatron/training/theoretical_memory_usage.py).
"""

from parsolve.constraints.formula import (
    NamedFormula,
    Term,
    all_of,
    any_of,
    if_,
    largest,
    one_of,
    smallest,
)
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.policy import of_policy, width
from parsolve.constraints.memory.terms import BF16, quantity, split

UNITS_IN_FLIGHT = 2
"""Layers that FSDP holds whole at once: the one in use and the one prefetched."""

# --- layers of the stages ---------------------------------------------------------------------

_even = split(q.counted_layers, f.pp_size)
_embedding, _loss = if_(f.account_for_embedding, 1, 0), if_(f.account_for_loss, 1, 0)
_middle = if_(
    q.middle_stages > 0, split(largest(0, q.middle_layers), largest(1, q.middle_stages)), 0
)
first_layers = quantity(
    "first_stage_layers_held",
    if_(
        q.has_layout,
        f.pipeline_layout.largest * largest(1, f.pipeline_layout.length // f.pp_size),
        if_(
            q.is_uneven,
            if_(f.first_stage_layers > 0, f.first_stage_layers, _middle),
            _even - _embedding - if_(f.pp_size <= 1, _loss, 0),
        ),
    ),
    "Layers of the first pipeline rank; under a layout, as many as of the fullest chunk in each.",
)
last_layers = quantity(
    "last_stage_layers_held",
    if_(
        q.has_layout,
        first_layers,
        if_(
            q.is_uneven,
            if_(f.last_stage_layers > 0, f.last_stage_layers, _middle),
            _even - _loss - if_(f.pp_size <= 1, _embedding, 0),
        ),
    ),
    "Layers of the last pipeline rank.",
)
middle_layers = quantity(
    "middle_stage_layers_held",
    if_(f.pp_size <= 2, 0, if_(q.has_layout, first_layers, if_(q.is_uneven, _middle, _even))),
    "Layers of a pipeline rank between them.",
)
stage_layers = quantity(
    "stage_layers",
    largest(first_layers, last_layers, middle_layers),
    "Layers of the largest stage.",
)
stage_moe_layers = quantity(
    "stage_moe_layers",
    smallest(stage_layers, m.num_moe_layers),
    "Layers with experts of the stage that has most.",
)

# --- parameters of the fullest stage ----------------------------------------------------------


def _part_of(parameters: Term, layers: Term, of: Term) -> Term:
    return split(parameters * layers, largest(1, of))


def _moe_of(layers: Term) -> Term:
    return smallest(layers, m.num_moe_layers)


def _dense(layers: Term, beside: Term) -> Term:
    """Dense parameters of a stage with so many layers, cut by tp; norms and routers are not."""
    return split(
        beside
        + _part_of(m.attention_parameters, layers, m.num_hidden_layers)
        + _part_of(
            m.dense_ffn_parameters,
            layers - _moe_of(layers),
            m.num_hidden_layers - m.num_moe_layers,
        )
        + _part_of(m.shared_expert_parameters, _moe_of(layers), m.num_moe_layers),
        f.tp_size,
    ) + _part_of(m.other_parameters, layers, m.num_hidden_layers)


_padding = largest(0, q.padded_vocab_size - m.vocab_size) * m.hidden_size
embedding_parameters = m.embedding_parameters + _padding
output_parameters = if_(
    m.output_parameters > 0,
    m.output_parameters + _padding,
    if_(f.pp_size <= 1, 0, embedding_parameters),
)
"""Tied embeddings stand on both the first and the last rank of a pipeline."""

dense_parameters = quantity(
    "dense_parameters_per_gpu",
    if_(
        f.pp_size <= 1,
        _dense(first_layers, embedding_parameters + output_parameters),
        largest(
            _dense(first_layers, embedding_parameters),
            _dense(middle_layers, 0 * m.num_hidden_layers),
            _dense(last_layers, output_parameters),
        ),
    ),
    "Parameters outside of routed experts on one GPU, before they are sharded.",
)
expert_parameters = quantity(
    "expert_parameters_per_gpu",
    split(
        _part_of(m.routed_expert_parameters, stage_moe_layers, m.num_moe_layers), q.ep_group_size
    ),
    "Parameters of routed experts on one GPU, before they are sharded.",
)
local_parameters = quantity(
    "local_parameters",
    dense_parameters + expert_parameters,
    "Parameters on one GPU, before they are sharded.",
)

# --- what shards them -------------------------------------------------------------------------

_strategy = f.sharding_strategy
shards_weights = NamedFormula(
    "shards_weights",
    any_of(f.torch_fsdp2, all_of(f.megatron_fsdp, _strategy == "optim_grads_params")),
    about="Weights are sharded over the data-parallel ranks.",
)
shards_gradients = NamedFormula(
    "shards_gradients",
    any_of(
        f.torch_fsdp2,
        all_of(f.megatron_fsdp, one_of(_strategy, ("optim_grads", "optim_grads_params"))),
    ),
    about="Gradients are sharded over the data-parallel ranks.",
)
shards_optimizer = NamedFormula(
    "shards_optimizer",
    any_of(
        f.torch_fsdp2,
        all_of(f.megatron_fsdp, _strategy != "no_shard"),
        all_of(q.distributed_optimizer, ~f.megatron_fsdp),
    ),
    about="Optimizer state is sharded over the data-parallel ranks.",
)
dense_shards = largest(1, q.shard_group_size)
expert_shards = largest(1, q.expert_shard_size)
_shrinks = f.precision == "fp32"
weight_width = if_(
    _shrinks, 4, width(f.weight_bytes, of_policy(f.precision_policy, lambda p: p.weight))
)
gradient_width = if_(
    _shrinks, 4, width(f.gradient_bytes, of_policy(f.precision_policy, lambda p: p.gradient))
)
optimizer_width = if_(
    _shrinks, 8, width(f.optimizer_bytes, of_policy(f.precision_policy, lambda p: p.optimizer))
)


def _states(width: Term, sharded: NamedFormula) -> tuple[Term, Term]:
    """Bytes of all parameters, and of those of routed experts."""
    experts = if_(sharded, split(expert_parameters, expert_shards), expert_parameters)
    dense = if_(sharded, split(dense_parameters, dense_shards), dense_parameters)
    return width * (dense + experts), width * experts


_weights, _expert_weights = _states(weight_width, shards_weights)
parameters_bytes = quantity("parameters_bytes", _weights, "Stored weights.")
expert_weights_bytes = quantity(
    "expert_weights_bytes", _expert_weights, "Stored weights of routed experts."
)
_gradients, _expert_gradients = _states(gradient_width, shards_gradients)
gradients_bytes = quantity(
    "gradients_bytes",
    if_(f.freeze_all_layers, 0, _gradients),
    "Gradients, in buffers that are there all the time.",
)
expert_gradients_bytes = quantity(
    "expert_gradients_bytes",
    if_(f.freeze_all_layers, 0, _expert_gradients),
    "Gradients of routed experts.",
)
_optimizer, _expert_optimizer = _states(optimizer_width, shards_optimizer)
_none = any_of(f.optimizer_offload, f.freeze_all_layers)
optimizer_bytes = quantity("optimizer_state_bytes", if_(_none, 0, _optimizer), "Optimizer state.")
expert_optimizer_bytes = quantity(
    "expert_optimizer_bytes", if_(_none, 0, _expert_optimizer), "Optimizer state of routed experts."
)
_layer = split(m.layer_dense_parameters, f.tp_size) + split(
    m.layer_expert_parameters, q.ep_group_size
)
gathered_bytes = quantity(
    "gathered_bytes",
    if_(
        shards_weights,
        BF16
        * (
            UNITS_IN_FLIGHT * _layer
            + split(largest(embedding_parameters, output_parameters), f.tp_size)
        ),
        0,
    ),
    "Weights that FSDP gathers in bf16 while they are used.",
)
