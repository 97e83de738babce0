"""Memory per GPU under Megatron-Core: the account of its peak, and the bound on it.

Gradient buffers are there all the time, so the peak is where every saved activation is: when the
backward pass starts. Of the first pipeline stage, which keeps most activations, and the last one,
which has the logits, the fuller one counts.
"""

from parsolve.constraints.formula import Const, Named
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import traffic
from parsolve.constraints.megatron.activations import activations_bytes, loss_bytes, tokens
from parsolve.constraints.megatron.states import (
    dense_parameters,
    expert_gradients_bytes,
    expert_optimizer_bytes,
    expert_parameters,
    expert_weights_bytes,
    gathered_bytes,
    gradients_bytes,
    local_parameters,
    optimizer_bytes,
    parameters_bytes,
)
from parsolve.constraints.memory.account import Part
from parsolve.constraints.memory.build import account, assumptions, memory_bound, needs
from parsolve.constraints.memory.terms import START_OF_BACKWARD, WORKSPACE, quantity
from parsolve.constraints.rule import Source

buffers_bytes = quantity(
    "buffers_bytes", WORKSPACE + gathered_bytes, "Gathered weights, and the libraries' workspaces."
)

ACCOUNT = account(
    parts=(
        Part(parameters_bytes, "bf16, cut by the axes; sharded by FSDP only"),
        Part(gradients_bytes, "fp32 buffers, there all the time; sharded by FSDP only"),
        Part(
            optimizer_bytes,
            "fp32 weights and both moments; sharded by the distributed optimizer over dp * cp",
        ),
        Part(
            activations_bytes,
            "first stage: as many micro-batches in flight as the schedule keeps; fused attention",
        ),
        Part(loss_bytes, "logits in bf16 and fp32 and their fp32 exponentials, cut by tp"),
        Part(buffers_bytes, "FSDP: two layers and the output layer gathered; workspaces"),
    ),
    experts={
        "parameters": expert_weights_bytes,
        "gradients": expert_gradients_bytes,
        "optimizer": expert_optimizer_bytes,
    },
    peak=Named(
        "peak", Const(START_OF_BACKWARD), about="The moment at which most memory is in use."
    ),
    quantities=(
        local_parameters,
        dense_parameters,
        expert_parameters,
        tokens,
        *traffic.QUANTITIES,
    ),
    assumptions=assumptions(
        f.micro_batch, (~f.given(f.requested_global_batch), "one micro-batch per rank and step")
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
            f.requested_global_batch,
            f.sequence_parallel,
            f.distributed_optimizer,
            f.recompute,
            f.recompute_method,
            f.recompute_num_layers,
            f.virtual_stages,
            f.optimizer_offload,
        )
    ),
)

BOUNDS = (
    memory_bound(
        ACCOUNT,
        Source("parsolve", "memory account of the Megatron-Core profile"),
        f.seq_length,
        {
            f.recompute.name: "full",
            f.recompute_method.name: "uniform",
            f.recompute_num_layers.name: 1,
            f.megatron_fsdp.name: True,
            f.ckpt_format.name: "fsdp_dtensor",
        },
    ),
)
