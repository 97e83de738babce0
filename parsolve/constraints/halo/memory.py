"""Memory per GPU under halo: the account of its peak, and the bound on it.

Two moments can be the peak: the start of the backward pass, when every saved activation and
the loss are there and gradients are not (unless earlier micro-batches left theirs), and its
end, when the gradients are there and the activations are gone. The account is compared with
measured runs in ``benchmarks/accuracy.py``.
"""

from parsolve.constraints.fields import GIB
from parsolve.constraints.formula import (
    Named,
    NamedFormula,
    all_of,
    any_of,
    if_,
    known_where,
    largest,
    one_of,
)
from parsolve.constraints.halo import batch, traffic
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.activations import (
    head_gradient_bytes,
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
from parsolve.constraints.memory.account import Account, Assumption, Need, Part
from parsolve.constraints.memory.terms import (
    CUDA_CONTEXT,
    END_OF_BACKWARD,
    SLACK_PERCENT,
    START_OF_BACKWARD,
    WORKSPACE,
    quantity,
)
from parsolve.constraints.rule import Example, Rule, Source

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
_end = gathered_at_end + all_gradients + _layer_gradients + recomputed_bytes
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
        recomputed_bytes,
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

NEEDS = (
    Need(
        met=m.num_hidden_layers > 0,
        guards=m.FACT_NAMES,
        lacks="the model's size",
        decides="weights, gradients, optimizer state and activations",
        option="--model",
    ),
    Need(
        met=q.row_length > 0,
        guards=frozenset({f.max_length.name}),
        lacks="the length of its sequences",
        decides="activations and logits",
        option="--max-length",
    ),
    Need(
        met=any_of(~f.use_peft, f.lora_rank > 0),
        guards=frozenset({f.lora_rank.name}),
        lacks="the rank of its adapters",
        decides="their gradients and optimizer state",
        option="--lora-r",
    ),
)
"""What a run's memory depends on that nobody may have said."""

REFERRING_TRAINERS = ("dpo", "kto")
"""Trainers whose loss compares with a reference; adapters switched off are one."""

ONLINE_TRAINERS = ("online_grpo", "sdpg", "env_grpo")
"""Trainers that sample from the model: from an engine elsewhere, as far as the account knows."""

TAUGHT_TRAINERS = ("distillation",)
"""Trainers that follow another model."""

_lacks_reference = all_of(
    one_of(f.trainer, REFERRING_TRAINERS), f.reference_model == "none", ~f.use_peft
)

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
            "bf16, FlashAttention unless eager; with checkpointing each layer's input, what the "
            "dispatch received, and one layer computed again; without it all that layers keep",
        ),
        Part(
            loss_bytes,
            "logits in bf16 and fp32, or the output layer's gradient where the loss is fused",
        ),
        Part(buffers_bytes, "library workspaces, and two layers' gradients being reduced"),
        Part(reserve_bytes, "1 GiB of CUDA context and NCCL; 5% allocator slack"),
    ),
    experts={
        "parameters": expert_weights_bytes,
        "gradients": expert_gradients_bytes,
        "optimizer": expert_optimizer_bytes,
    },
    reserve=reserve_bytes,
    allocated=allocated_bytes,
    total=memory_per_gpu,
    limit=f.gpu_memory,
    peak=peak,
    quantities=(
        local_parameters,
        dense_parameters,
        expert_parameters,
        m.model_parameters,
        peaks_at_loss,
        tokens,
        headroom,
        *batch.QUANTITIES,
        *traffic.QUANTITIES,
    ),
    assumptions=(
        Assumption(when=f.per_device_train_batch_size < 1, words="micro-batch 1"),
        Assumption(when=f.max_length < 1, words="sequences as long as the model's context window"),
        Assumption(
            when=all_of(f.pp_size <= 1, f.gradient_accumulation_steps < 1, f.global_batch < 1),
            words="no gradient accumulation",
        ),
        *(
            Assumption(when=when, words=words)
            for when, words in (
                (_lacks_reference, "no reference model in memory"),
                (one_of(f.trainer, ONLINE_TRAINERS), "no generation engine in memory"),
                (one_of(f.trainer, TAUGHT_TRAINERS), "no teacher model in memory"),
                (
                    f.quantized,
                    "a quantized base whole on each GPU: 4 bits each, an fp32 constant per 64",
                ),
                (f.expert_lora, "no adapters inside of experts"),
                (f.lowp_precision != "bf16", "no copies of weights in low precision"),
                (f.image_data, "no activations of images"),
            )
        ),
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
                f.global_batch,
                f.gradient_accumulation_steps,
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
    *batch.BATCH,
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
