"""Memory per GPU under halo: the account of its peak, and the bound on it.

Two moments can be the peak: the start of the backward pass, when every saved activation and
the loss are there and gradients are not (unless earlier micro-batches left theirs), and its
end, when the gradients are there and of the activations one layer's. The account is compared with
measured runs in ``benchmarks/accuracy.py``.
"""

from parsolve.constraints.formula import (
    Named,
    NamedFormula,
    all_of,
    any_of,
    if_,
    implies,
    largest,
    one_of,
)
from parsolve.constraints.halo import batch, traffic
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.activations import (
    head_gradient_bytes,
    last_layer_bytes,
    logits_bytes,
    recomputed_bytes,
    saved_bytes,
    tokens,
)
from parsolve.constraints.halo.states import (
    UNITS_IN_FLIGHT,
    accumulates,
    all_expert_gradients,
    all_gradients,
    dense_parameters,
    expert_optimizer_bytes,
    expert_parameters,
    experts_gathered_at_end,
    experts_gathered_at_start,
    gathered_at_end,
    gathered_at_start,
    is_sharded,
    local_parameters,
    optimizer_bytes,
    reduced_width,
    stored_bytes,
    stored_experts,
    whole_layer,
)
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.account import Need, Part
from parsolve.constraints.memory.build import account, assumptions, memory_bound, needs
from parsolve.constraints.memory.terms import (
    END_OF_BACKWARD,
    START_OF_BACKWARD,
    WORKSPACE,
    quantity,
)
from parsolve.constraints.rule import InputCheck, Source

_at_loss = if_(accumulates, all_gradients, 0)
_layer_gradients = if_(
    all_of(is_sharded, ~f.fsdp_defer_grad_sync, ~f.use_peft),
    UNITS_IN_FLIGHT * whole_layer * reduced_width,
    0,
)
_start = (
    gathered_at_start
    + saved_bytes
    + largest(logits_bytes, recomputed_bytes + head_gradient_bytes)
    + _at_loss
)
_end = gathered_at_end + all_gradients + _layer_gradients + last_layer_bytes
peaks_at_loss = NamedFormula(
    "peaks_at_loss",
    _start >= _end,
    about="Most memory is in use when the backward pass starts, not when it ends.",
)
peak = Named(
    "peak",
    if_(peaks_at_loss, START_OF_BACKWARD, END_OF_BACKWARD),
    about="The moment at which most memory is in use.",
)
_loss_leads = logits_bytes >= recomputed_bytes + head_gradient_bytes
parameters_bytes = quantity(
    "parameters_bytes",
    stored_bytes + if_(peaks_at_loss, gathered_at_start, gathered_at_end),
    "Weights at the peak: sharded and gathered.",
)
expert_weights_bytes = quantity(
    "expert_weights_bytes",
    stored_experts + if_(peaks_at_loss, experts_gathered_at_start, experts_gathered_at_end),
    "Weights of routed experts at the peak.",
)
gradients_bytes = quantity(
    "gradients_bytes", if_(peaks_at_loss, _at_loss, all_gradients), "Gradients at the peak."
)
expert_gradients_bytes = quantity(
    "expert_gradients_bytes",
    if_(
        peaks_at_loss,
        if_(accumulates, all_expert_gradients, 0),
        all_expert_gradients,
    ),
    "Gradients of routed experts at the peak.",
)
activations_bytes = quantity(
    "activations_bytes",
    if_(
        peaks_at_loss,
        saved_bytes + if_(_loss_leads, 0, recomputed_bytes),
        last_layer_bytes,
    ),
    "Activations at the peak.",
)
loss_bytes = quantity(
    "loss_bytes",
    if_(peaks_at_loss, if_(_loss_leads, logits_bytes, head_gradient_bytes), 0),
    "Logits and loss at the peak.",
)
buffers_bytes = quantity(
    "buffers_bytes",
    WORKSPACE + if_(peaks_at_loss, 0, _layer_gradients),
    "Communication and library buffers.",
)
REFERRING_TRAINERS = ("dpo", "kto")
"""Trainers whose loss compares with a reference; adapters switched off are one."""

ONLINE_TRAINERS = ("online_grpo", "sdpg", "env_grpo")
"""Trainers that sample from the model: from an engine elsewhere, as far as the account knows."""

TAUGHT_TRAINERS = ("distillation",)
"""Trainers that follow another model."""

_lacks_reference = all_of(
    one_of(f.trainer, REFERRING_TRAINERS), f.reference_model == "none", ~f.use_peft
)

SPLIT = InputCheck(
    implies(
        all_of(f.pp_split.length > 0, m.num_hidden_layers > 0),
        f.pp_split.total == m.num_hidden_layers,
    ),
    "pp_split adds up to {pp_split.total}, the model has {num_hidden_layers} layers",
)
"""The framework finds out when it cuts the loaded model (run-time check ``pp-layer-split``)."""

ACCOUNT = account(
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
            "bf16, FlashAttention unless eager; with checkpointing each layer's input, what the "
            "dispatch received, and one layer computed again; without it all that layers keep",
        ),
        Part(
            loss_bytes,
            "logits in bf16 and fp32, or the output layer's gradient where the loss is fused",
        ),
        Part(buffers_bytes, "library workspaces, and two layers' gradients being reduced"),
    ),
    experts={
        "parameters": expert_weights_bytes,
        "gradients": expert_gradients_bytes,
        "optimizer": expert_optimizer_bytes,
    },
    peak=peak,
    quantities=(
        local_parameters,
        dense_parameters,
        expert_parameters,
        peaks_at_loss,
        tokens,
        *batch.QUANTITIES,
        *traffic.QUANTITIES,
    ),
    assumptions=assumptions(
        f.per_device_train_batch_size,
        (f.max_length < 1, "sequences as long as the model's context window"),
        (
            all_of(f.pp_size <= 1, f.gradient_accumulation_steps < 1, f.requested_global_batch < 1),
            "no gradient accumulation",
        ),
        (_lacks_reference, "no reference model in memory"),
        (one_of(f.trainer, ONLINE_TRAINERS), "no generation engine in memory"),
        (one_of(f.trainer, TAUGHT_TRAINERS), "no teacher model in memory"),
        (f.quantized, "a quantized base whole on each GPU: 4 bits each, an fp32 constant per 64"),
        (f.expert_lora, "no adapters inside of experts"),
        (f.lowp_precision != "bf16", "no copies of weights in low precision"),
        (f.image_data, "no activations of images"),
    ),
    needs=needs(
        q.row_length,
        f.max_length,
        Need(
            met=any_of(~f.use_peft, f.lora_rank > 0),
            guards=frozenset({f.lora_rank.name}),
            lacks="the rank of its adapters",
            decides="their gradients and optimizer state",
            option="--lora-r",
        ),
    ),
    levers=tuple(
        lever.name
        for lever in (
            f.tp_size,
            f.cp_size,
            f.ep_size,
            f.expert_tp_size,
            f.pp_size,
            f.per_device_train_batch_size,
            f.gradient_checkpointing,
            f.fsdp_reshard_after_forward,
            f.fsdp_shard_ep1_experts,
            f.fsdp_defer_grad_sync,
            f.use_hsdp,
            f.fused_linear_cross_entropy,
            f.requested_global_batch,
            f.gradient_accumulation_steps,
        )
    ),
    checks=(SPLIT,),
)

BOUNDS = (
    *batch.BATCH,
    memory_bound(
        ACCOUNT,
        Source("parsolve", "memory account of the halo profile"),
        f.max_length,
        {f.gradient_checkpointing.name: True},
    ),
)
