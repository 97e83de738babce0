"""Memory per GPU for stacks made of PyTorch's parts: the account of its peak, and the bound on it.

It follows from the arithmetic alone. Three moments can be the peak: the loss, when every saved
activation is there; the end of the backward pass, when all gradients are, and one layer's
activations; and the optimizer step, with its temporaries. Of the first pipeline stage, which
keeps most activations, and the last one, which has the logits, the fuller one counts.
"""

from parsolve.constraints.formula import (
    Named,
    NamedFormula,
    all_of,
    any_of,
    if_,
    largest,
)
from parsolve.constraints.generic import batch, traffic
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic.activations import (
    first_in_flight,
    last_in_flight,
    last_layer_bytes,
    logits_bytes,
    recomputed_bytes,
    saved_bytes,
    tokens,
)
from parsolve.constraints.generic.states import (
    accumulates,
    dense_parameters,
    expert_optimizer_bytes,
    expert_parameters,
    expert_weights_bytes,
    gathered_bytes,
    local_parameters,
    optimizer_bytes,
    parameters_bytes,
    reduced_expert_gradients,
    reduced_gradients_bytes,
    reducing_bytes,
    step_bytes,
    whole_expert_gradients,
    whole_gradients_bytes,
)
from parsolve.constraints.memory.account import Part
from parsolve.constraints.memory.build import account, assumptions, memory_bound, needs
from parsolve.constraints.memory.terms import (
    END_OF_BACKWARD,
    OPTIMIZER_STEP,
    START_OF_BACKWARD,
    WORKSPACE,
    quantity,
)
from parsolve.constraints.rule import Source

_at_loss = if_(accumulates, whole_gradients_bytes, 0)
_first = saved_bytes(first_in_flight) + if_(
    f.pp_size <= 1, largest(logits_bytes, recomputed_bytes), recomputed_bytes
)
_last = saved_bytes(last_in_flight) + largest(logits_bytes, recomputed_bytes)
is_last_fuller = NamedFormula(
    "is_last_stage_fuller",
    all_of(f.pp_size > 1, _last > _first),
    about="The last pipeline stage needs more at the loss than the first one.",
)
_start = largest(_first, _last) + _at_loss + gathered_bytes
_end = whole_gradients_bytes + reducing_bytes + last_layer_bytes + gathered_bytes
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
expert_gradients_bytes = quantity(
    "expert_gradients_bytes",
    if_(
        peaks_at_loss,
        if_(accumulates, whole_expert_gradients, 0),
        if_(peaks_at_step, reduced_expert_gradients, whole_expert_gradients),
    ),
    "Gradients of routed experts at the peak.",
)
activations_bytes = quantity(
    "activations_bytes",
    if_(
        peaks_at_loss,
        if_(is_last_fuller, saved_bytes(last_in_flight), saved_bytes(first_in_flight))
        + if_(_logits_lead, 0, recomputed_bytes),
        if_(peaks_at_step, 0, last_layer_bytes),
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
    WORKSPACE
    + if_(peaks_at_step, step_bytes, gathered_bytes + if_(peaks_at_loss, 0, reducing_bytes)),
    "Gathered weights, gradients being reduced, or the optimizer's temporaries; libraries.",
)

ACCOUNT = account(
    parts=(
        Part(parameters_bytes, "cut by the axes; sharded by ZeRO-3"),
        Part(
            gradients_bytes,
            "at the peak; sharded by ZeRO-2, but whole while a pipeline accumulates them",
        ),
        Part(optimizer_bytes, "sharded from ZeRO-1 on"),
        Part(
            activations_bytes,
            "bf16; first stage: as many micro-batches in flight as the schedule keeps",
        ),
        Part(
            loss_bytes,
            "logits in bf16 and fp32 and their fp32 log-probabilities, cut by tp; or fused",
        ),
        Part(
            buffers_bytes,
            "ZeRO-3: two layers and the output layer gathered; Adam's temporaries; workspaces",
        ),
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
        peaks_at_step,
        tokens,
        *traffic.QUANTITIES,
    ),
    assumptions=assumptions(
        f.micro_batch,
        (
            all_of(
                f.requested_global_batch < 1,
                f.gradient_accumulation_steps < 1,
                f.num_microbatches < 1,
            ),
            "one micro-batch per step and pipeline stage",
        ),
    ),
    needs=needs(f.seq_length, f.seq_length),
    levers=tuple(
        lever.name
        for lever in (
            f.tp_size,
            f.pp_size,
            f.cp_size,
            f.ep_size,
            f.expert_tp_size,
            f.micro_batch,
            f.zero_stage,
            f.recompute,
            f.sequence_parallel,
            f.attention,
            f.reshard_after_forward,
            f.optimizer_offload,
            f.fused_linear_cross_entropy,
            f.dp_replicate_size,
            f.requested_global_batch,
            f.gradient_accumulation_steps,
            f.num_microbatches,
        )
    ),
)

BOUNDS = (
    *batch.BATCH,
    memory_bound(
        ACCOUNT,
        Source("parsolve", "memory account of the generic profile"),
        f.seq_length,
        {f.recompute.name: "full"},
    ),
)
