"""The ladder of halo, in the order of its guide: shard, recompute, then experts, CP and TP.

FSDP2 shards weights, gradients and optimizer state always, so the ladder starts there. Experts
come before the other axes, since EP leaves data parallelism whole; TP is for attention that is
too big. Pipelines are not launched.
"""

from parsolve.constraints.anti_patterns import LONG_SEQUENCE, Shape, anti_patterns
from parsolve.constraints.halo import batch
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.ladder import Hint, Ladder, Rung, Turn
from parsolve.constraints.rule import Source
from parsolve.constraints.symptoms import symptoms

RUNGS = (
    Rung(
        name="ZeRO-3",
        about="give weights back after the forward pass, too",
        cost="gathers the weights of every layer once more per step",
        numbers=("comm_volume_dp",),
        sets=((f.fsdp_reshard_after_forward, True),),
    ),
    Rung(
        name="recompute",
        about="keep each layer's input only, and compute the layer again in the backward pass",
        cost="one more forward pass: a third more computation",
        sets=((f.gradient_checkpointing, True),),
    ),
    Rung(
        name="EP",
        about="spread whole experts over ranks; data parallelism stays whole",
        cost="tokens are dispatched and combined in every layer with experts",
        numbers=("comm_volume_ep",),
        size=f.ep_size,
    ),
    Rung(
        name="expert TP",
        about="split each expert over ranks of an NVLink domain",
        cost="every data-parallel rank that it takes, and sums inside each expert",
        numbers=("comm_volume_ep", "comm_volume_etp", "data_parallel_size"),
        size=f.expert_tp_size,
    ),
    Rung(
        name="CP",
        about="split each sequence over ranks of an NVLink domain (Ulysses)",
        cost="attention exchanges heads for sequence, and data parallelism shrinks",
        numbers=("comm_volume_cp", "data_parallel_size"),
        size=f.cp_size,
        only=q.row_length > LONG_SEQUENCE,
        need="sequences must be long",
    ),
    Rung(
        name="TP",
        about="split attention over ranks of an NVLink domain",
        cost="collectives in every layer, and data parallelism shrinks",
        numbers=("comm_volume_tp", "data_parallel_size"),
        size=f.tp_size,
    ),
    Rung(
        name="PP",
        about="split the layers into stages",
        cost="stages idle in the bubble",
        numbers=("bubble",),
        size=f.pp_size,
        forbidden="pp-release-gate",
    ),
)

LADDER = Ladder(
    base="FSDP2 (ZeRO-2)",
    source=Source("halo, parallelism skill", "how to pick a mode"),
    length=f.max_length,
    rungs=RUNGS,
    details=(f.ep_scope, f.pp_schedule, f.pp_microbatches, f.pp_split),
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
            length=q.row_length,
            microbatches=batch.microbatches,
            shards=q.fsdp_width,
            zero=f.fsdp_reshard_after_forward,
        )
    ),
    symptoms=symptoms(
        pp=f.pp_size,
        is_moe=q.is_moe,
        micro_batch=(Turn(knob=f.per_device_train_batch_size),),
        more_microbatches=(),
        states=(Turn(knob=f.fsdp_defer_grad_sync),),
        activations=(Turn(knob=f.fused_linear_cross_entropy),),
        traffic=(Turn(knob=f.fsdp_defer_grad_sync), Turn(knob=f.use_hsdp)),
        hints={
            "imbalance": (
                Hint(
                    words="balance the router: --moe_balancing bias, or aux_loss with a positive "
                    "coefficient",
                    when=f.moe_balancing == "none",
                ),
            ),
        },
    ),
)
