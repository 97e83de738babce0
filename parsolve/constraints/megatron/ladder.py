"""The ladder of Megatron-Core: its distributed optimizer and its FSDP, recomputation, axes."""

from parsolve.constraints.anti_patterns import Shape, anti_patterns
from parsolve.constraints.axis_rungs import axis_rungs
from parsolve.constraints.formula import all_of
from parsolve.constraints.ladder import Hint, Ladder, Rung, Settings, Turn
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.rule import Source
from parsolve.constraints.symptoms import symptoms


def _fsdp(strategy: str) -> Settings:
    """Megatron's FSDP, which has a checkpoint format of its own."""
    return (
        (f.distributed_optimizer, True),
        (f.megatron_fsdp, True),
        (f.sharding_strategy, strategy),
        (f.ckpt_format, "fsdp_dtensor"),
    )


RUNGS = (
    Rung(
        name="ZeRO-1",
        about="shard optimizer state over the data-parallel ranks (distributed optimizer)",
        cost="gathers the updated weights once per step",
        numbers=("comm_volume_dp",),
        sets=((f.distributed_optimizer, True),),
    ),
    Rung(
        name="ZeRO-2",
        about="shard gradients too (Megatron's FSDP)",
        cost="reduces gradients to their shard, for every micro-batch; checkpoints are "
        "fsdp_dtensor",
        numbers=("comm_volume_dp",),
        sets=_fsdp("optim_grads"),
    ),
    Rung(
        name="ZeRO-3",
        about="shard weights too (Megatron's FSDP)",
        cost="gathers the weights of every layer, forward and backward",
        numbers=("comm_volume_dp",),
        sets=_fsdp("optim_grads_params"),
    ),
    Rung(
        name="selective recompute",
        about="compute attention's inner part again in the backward pass",
        cost="little computation; nothing is saved where attention is fused",
        sets=((f.recompute, "selective"),),
    ),
    Rung(
        name="full recompute",
        about="keep each layer's input only, and compute the layer again in the backward pass",
        cost="one more forward pass: a third more computation",
        sets=(
            (f.recompute, "full"),
            (f.recompute_method, "uniform"),
            (f.recompute_num_layers, 1),
        ),
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
    ground=((f.expert_tp_size, 1),),
    details=(
        f.virtual_stages,
        f.layers_per_virtual_stage,
        f.first_stage_layers,
        f.last_stage_layers,
        f.account_for_embedding,
        f.account_for_loss,
        f.pipeline_layout,
        f.microbatch_group_size,
        f.cp_comm_type,
        f.hierarchical_cp_sizes,
        f.tp_comm_overlap,
        f.overlap_ep,
        f.delay_wgrad,
    ),
    exact=((f.precision, "fp32"),),
    exactly="--attention-dropout 0 --hidden-dropout 0",
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
            microbatches=q.microbatches,
            chunks=q.virtual_stages,
            shards=q.dp_cp_size,
            zero=q.distributed_optimizer,
            whole=all_of(~q.distributed_optimizer, ~f.torch_fsdp2),
        )
    ),
    symptoms=symptoms(
        pp=f.pp_size,
        is_moe=q.is_moe,
        micro_batch=(Turn(knob=f.micro_batch),),
        more_microbatches=(
            Turn(knob=f.requested_global_batch, times=(2, 4, 8), of="global_batch"),
        ),
        states=(Turn(knob=f.optimizer_offload),),
        activations=(
            Turn(knob=f.sequence_parallel),
            Turn(knob=f.distribute_saved_activations),
        ),
        traffic=(),
        interleaving=(Turn(knob=f.virtual_stages),),
        hints={
            "slow": (
                Hint(
                    words="hide it: --overlap-grad-reduce --overlap-param-gather",
                    when=all_of(q.distributed_optimizer, ~f.overlap_grad_reduce),
                ),
                Hint(
                    words="hide it: --tp-comm-overlap",
                    when=all_of(f.tp_size > 1, ~f.tp_comm_overlap),
                ),
                Hint(
                    words="hide it: --overlap-moe-expert-parallel-comm",
                    when=all_of(f.ep_size > 1, ~f.overlap_ep),
                ),
            ),
            "imbalance": (
                Hint(
                    words="balance the router: --moe-router-load-balancing-type aux_loss "
                    "--moe-aux-loss-coeff 0.01",
                    when=f.load_balancing == "none",
                ),
                Hint(words="drop what overflows: --moe-expert-capacity-factor"),
                Hint(
                    words="dispatch whole groups at once: --moe-token-dispatcher-type alltoall or "
                    "flex",
                    when=f.dispatcher == "allgather",
                ),
            ),
        },
    ),
)
