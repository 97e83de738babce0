"""The ladder of stacks made of PyTorch's parts: sharding first, then recomputation, then axes."""

from parsolve.constraints.anti_patterns import Shape, anti_patterns
from parsolve.constraints.axis_rungs import axis_rungs
from parsolve.constraints.generic import batch
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import quantities as q
from parsolve.constraints.ladder import Ladder, Rung, Turn
from parsolve.constraints.rule import Source
from parsolve.constraints.symptoms import symptoms

RUNGS = (
    Rung(
        name="ZeRO-1",
        about="shard optimizer state over the data-parallel ranks",
        cost="gathers the updated weights once per step",
        numbers=("comm_volume_dp",),
        sets=((f.zero_stage, "1"),),
    ),
    Rung(
        name="ZeRO-2",
        about="shard gradients too",
        cost="reduces gradients to their shard, for every micro-batch",
        numbers=("comm_volume_dp",),
        sets=((f.zero_stage, "2"),),
    ),
    Rung(
        name="ZeRO-3",
        about="shard weights too (FSDP)",
        cost="gathers the weights of every layer, forward and backward",
        numbers=("comm_volume_dp",),
        sets=((f.zero_stage, "3"),),
    ),
    Rung(
        name="recompute",
        about="keep each layer's input only, and compute the layer again in the backward pass",
        cost="one more forward pass: a third more computation",
        sets=((f.recompute, "full"),),
    ),
    *axis_rungs(
        tp=f.tp_size,
        sequence_parallel=f.sequence_parallel,
        pp=f.pp_size,
        ep=f.ep_size,
        expert_tp=f.expert_tp_size,
        cp=f.cp_size,
        length=f.seq_length,
        domain=q.nvlink_domain_size,
        nodes=q.num_nodes,
    ),
)

LADDER = Ladder(
    base="DP",
    source=Source("curryTrain, stage4-parallel-primitive-intro", "the decision ladder"),
    length=f.seq_length,
    rungs=RUNGS,
    ground=((f.zero_stage, "0"),),
    details=(f.pp_schedule, f.virtual_stages, f.cp_kind),
    anti_patterns=anti_patterns(
        Shape(
            tp=f.tp_size,
            pp=f.pp_size,
            cp=f.cp_size,
            ep=f.ep_size,
            ep_group=q.ep_group_size,
            experts=f.num_experts,
            is_dense=f.model_kind == "dense",
            domain=q.nvlink_domain_size,
            nodes=q.num_nodes,
            length=f.seq_length,
            microbatches=batch.microbatches_in_pipeline,
            chunks=f.virtual_stages,
            shards=q.shard_group_size,
            zero=f.zero_stage != "0",
            whole=f.zero_stage != "3",
        )
    ),
    symptoms=symptoms(
        pp=f.pp_size,
        is_moe=q.is_moe,
        micro_batch=(Turn(knob=f.micro_batch),),
        more_microbatches=(
            Turn(knob=f.requested_global_batch, times=(2, 4, 8), of="global_batch"),
        ),
        states=(
            Turn(knob=f.reshard_after_forward, where=f.zero_stage == "3"),
            Turn(knob=f.optimizer_offload),
        ),
        activations=(
            Turn(knob=f.attention),
            Turn(knob=f.fused_linear_cross_entropy),
            Turn(knob=f.sequence_parallel),
        ),
        traffic=(
            Turn(knob=f.reshard_after_forward, where=f.zero_stage == "3"),
            Turn(knob=f.cp_kind),
        ),
        interleaving=(
            Turn(
                knob=f.virtual_stages,
                beside=((f.pp_schedule, "interleaved"),),
                values=(2, 3, 4, 6, 8),
            ),
        ),
        hints={},
    ),
)
