"""HSDP and FSDP: which sharding of the data-parallel states composes with which axis."""

from parsolve.constraints.formula import all_of, any_of
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.sources import PARALLELISM_CONFIG
from parsolve.constraints.rule import Example, Rule, Source

HSDP_SOURCE = Source(PARALLELISM_CONFIG, "_validate_hsdp")
FSDP_SOURCE = Source(PARALLELISM_CONFIG, "_validate_fsdp_settings")
TWO_NODES = {"world_size": 16, "gpus_per_node": 8}
ONE_NODE = {"world_size": 8}

HSDP = (
    Rule(
        id="hsdp-with-tp-or-etp",
        stage="fsdp",
        when=f.use_hsdp,
        requires=~any_of(f.tp_size > 1, f.expert_tp_size > 1),
        reason="HSDP wraps only the plain data-parallel path, pure or with CP.",
        remedy="Use plain FSDP with TP or expert TP.",
        source=HSDP_SOURCE,
        example=Example(
            rejects={**TWO_NODES, "use_hsdp": True, "tp_size": 2},
            instead={**TWO_NODES, "tp_size": 2},
        ),
    ),
    Rule(
        id="hsdp-with-ep",
        stage="fsdp",
        when=f.use_hsdp,
        requires=f.ep_size <= 1,
        reason="EP already shards over the EP group; HSDP wraps only the plain data-parallel path.",
        remedy="Use plain FSDP with EP.",
        source=HSDP_SOURCE,
        example=Example(
            rejects={**TWO_NODES, "use_hsdp": True, "ep_size": 8},
            instead={**TWO_NODES, "ep_size": 8},
        ),
    ),
)

FSDP = (
    Rule(
        id="fsdp-backward-keep-vs-full-shard",
        stage="fsdp",
        when=~f.fsdp_reshard_after_backward,
        requires=~f.fsdp_reshard_after_forward,
        reason="Keeping parameters gathered after the backward pass defeats ZeRO-3.",
        remedy="Switch fsdp_reshard_after_forward off.",
        source=FSDP_SOURCE,
        example=Example(
            rejects={
                **ONE_NODE,
                "fsdp_reshard_after_backward": False,
                "fsdp_reshard_after_forward": True,
            },
            instead={**ONE_NODE, "fsdp_reshard_after_backward": False},
        ),
    ),
    Rule(
        id="fsdp-defer-vs-full-shard",
        stage="fsdp",
        when=f.fsdp_defer_grad_sync,
        requires=~f.fsdp_reshard_after_forward,
        reason="Deferring holds the full gradient, which is the state that ZeRO-3 shards.",
        remedy="Defer under ZeRO-2: switch fsdp_reshard_after_forward off.",
        source=FSDP_SOURCE,
        example=Example(
            rejects={**ONE_NODE, "fsdp_defer_grad_sync": True, "fsdp_reshard_after_forward": True},
            instead={**ONE_NODE, "fsdp_defer_grad_sync": True},
        ),
    ),
    Rule(
        id="fsdp-backward-keep-with-tp-or-pp",
        stage="fsdp",
        when=~f.fsdp_reshard_after_backward,
        requires=~any_of(f.tp_size > 1, f.pp_size > 1),
        reason="Keeping parameters gathered after the backward pass is not wired for TP or PP.",
        remedy="Leave fsdp_reshard_after_backward on.",
        source=FSDP_SOURCE,
        example=Example(
            rejects={**ONE_NODE, "fsdp_reshard_after_backward": False, "tp_size": 2},
            instead={**ONE_NODE, "tp_size": 2},
        ),
    ),
    Rule(
        id="fsdp-defer-without-reduce",
        stage="fsdp",
        when=f.fsdp_defer_grad_sync,
        requires=~any_of(f.pp_size > 1, all_of(f.tp_size > 1, q.data_parallel_size == 1)),
        reason="There is no reduction per micro-step that could be deferred.",
        remedy="Drop fsdp_defer_grad_sync.",
        source=FSDP_SOURCE,
        example=Example(
            rejects={**ONE_NODE, "fsdp_defer_grad_sync": True, "tp_size": 8},
            instead={**ONE_NODE, "fsdp_defer_grad_sync": True, "tp_size": 4},
        ),
    ),
    Rule(
        id="fsdp-unsharded-ep1-with-tp-or-cp",
        stage="fsdp",
        when=~f.fsdp_shard_ep1_experts,
        requires=~any_of(f.tp_size > 1, f.cp_size > 1),
        reason="The TP and CP wraps shard these experts whatever the flag says.",
        remedy="Leave fsdp_shard_ep1_experts on, or use pure data parallelism.",
        source=FSDP_SOURCE,
        example=Example(
            rejects={**ONE_NODE, "fsdp_shard_ep1_experts": False, "cp_size": 2},
            instead={**ONE_NODE, "cp_size": 2},
        ),
    ),
    Rule(
        id="fsdp-full-shard-with-expert-group",
        stage="fsdp",
        when=f.fsdp_reshard_after_forward,
        requires=q.ep_group_size <= 1,
        reason="Gathering parameters again in the backward pass races the expert combine; pure "
        "expert TP shares that path.",
        remedy="Use ZeRO-2 with activation checkpointing.",
        source=FSDP_SOURCE,
        example=Example(
            rejects={**ONE_NODE, "fsdp_reshard_after_forward": True, "ep_size": 8},
            instead={**ONE_NODE, "ep_size": 8},
        ),
    ),
    Rule(
        id="fsdp-full-shard-with-tp-dp",
        stage="fsdp",
        when=all_of(f.fsdp_reshard_after_forward, f.tp_size > 1),
        requires=q.data_parallel_size <= 1,
        reason="DTensor has no strategy to gather parameters that TP and FSDP both shard.",
        remedy="Switch fsdp_reshard_after_forward off.",
        source=FSDP_SOURCE,
        example=Example(
            rejects={**ONE_NODE, "fsdp_reshard_after_forward": True, "tp_size": 2},
            instead={**ONE_NODE, "tp_size": 2},
        ),
    ),
)
