"""What Megatron changes in silence, and what it takes though it hurts or trains wrongly."""

from parsolve.constraints.cluster import NODE_ASSUMED
from parsolve.constraints.formula import Formula, all_of, any_of, divides, largest, one_of
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.megatron.sources import (
    CALCULATOR,
    DDP,
    DIVIDE,
    ENGINE,
    GROUPED_EXPERTS,
    NCCL_DISPATCH,
    arguments,
    block,
    config,
    groups,
)
from parsolve.constraints.memory import facts as m
from parsolve.constraints.rule import Notice, Source

LAYERS_KNOWN = f.num_hidden_layers > 0


def _change(identity: str, when: Formula, reason: str, source: Source) -> Notice:
    return Notice(id=identity, when=when, reason=reason, source=source, kind="change")


def _hazard(identity: str, when: Formula, reason: str, source: Source) -> Notice:
    return Notice(id=identity, when=when, reason=reason, source=source, kind="hazard")


ASSUMED = (
    NODE_ASSUMED,
    Notice(
        id="micro-batch-assumed",
        when=~f.given(f.micro_batch),
        reason="micro_batch was not given: 1 is assumed; Megatron asks for it.",
        source=arguments(675),
    ),
    Notice(
        id="device-connections-needed",
        when=all_of(
            f.cuda_device_max_connections == 0,
            any_of(f.tp_size > 1, f.cp_size > 1),
            f.compute_capability < 10,
            ~f.torch_fsdp2,
            ~f.megatron_fsdp,
            ~f.overlap_ep,
        ),
        reason="The job's environment must set CUDA_DEVICE_MAX_CONNECTIONS=1, or Megatron stops.",
        source=arguments(1437),
    ),
)

CHANGES = (
    _change(
        "etp-follows-tp",
        all_of(f.expert_tp_size == 0, f.tp_size > 1, q.is_moe),
        "etp was not given, so it becomes tp: experts are split as dense layers are.",
        arguments(569),
    ),
    _change(
        "sequence-parallel-switched-off",
        all_of(f.sequence_parallel, f.tp_size == 1),
        "Sequence parallelism is switched off, since tp is 1; the library's own configuration "
        "object raises instead.",
        arguments(1393),
    ),
    _change(
        "one-virtual-stage-is-none",
        all_of(
            any_of(f.virtual_stages == 1, f.layers_per_virtual_stage > 0),
            q.virtual_stages == 1,
        ),
        "One virtual stage per rank means no interleaving.",
        arguments(941, 946),
    ),
    _change(
        "global-batch-defaulted",
        ~f.given(f.requested_global_batch),
        "global_batch was not given, so it becomes one micro-batch for each data-parallel rank.",
        arguments(683),
    ),
    _change(
        "global-batch-rounded-down",
        all_of(
            f.decrease_batch,
            ~divides(largest(1, q.per_pass), q.asked_batch),
        ),
        "The global batch is rounded down to whole forward passes.",
        CALCULATOR,
    ),
    _change(
        "distributed-optimizer-switched-on",
        all_of(f.megatron_fsdp, ~f.distributed_optimizer),
        "Megatron's FSDP switches the distributed optimizer on.",
        arguments(1114),
    ),
    _change(
        "distributed-optimizer-becomes-layer-wise",
        all_of(f.distributed_optimizer, q.is_emerging),
        "With this optimizer, the distributed optimizer becomes a layer-wise one.",
        arguments(1681),
    ),
    _change(
        "frozen-layers-switch-off-distributed-optimizer",
        all_of(f.freeze_all_layers, any_of(f.distributed_optimizer, f.overlap_param_gather)),
        "Freezing all layers switches off the distributed optimizer and the overlapped gather.",
        arguments(1758),
    ),
    Notice(
        id="estimate-rises-with-cp",
        when=all_of(
            q.dp_cp_size > q.data_parallel_size, q.distributed_optimizer, m.embedding_parameters > 0
        ),
        reason="Megatron's own estimate of memory divides the optimizer's state by dp, which cp "
        "lowers, and so goes up; its optimizer shards over dp * cp, as parsolve memory has it.",
        source=Source(
            "megatron/training/theoretical_memory_usage.py", "compute_weight_and_optimizer_memory"
        ),
    ),
)

HAZARDS = (
    _hazard(
        "heads-not-multiple-of-query-groups",
        all_of(
            f.num_attention_heads > 0,
            f.num_key_value_heads > 0,
            ~divides(largest(1, f.num_key_value_heads), f.num_attention_heads),
        ),
        "Heads do not divide by the query groups; nobody checks, and the attention kernel decides.",
        config(1339),
    ),
    _hazard(
        "top-k-above-experts",
        all_of(f.num_experts > 0, f.num_experts_per_tok > f.num_experts),
        "Tokens are routed to more experts than there are; nobody checks before the router's "
        "top-k fails.",
        config(2336),
    ),
    _hazard(
        "cp-comm-type-unknown",
        ~one_of(f.cp_comm_type, ("p2p", "all_gather", "allgather", "a2a", "a2a+p2p")),
        "Megatron hands this exchange on unread; Transformer Engine knows p2p, all_gather, a2a "
        "and a2a+p2p, and refuses others in the first step.",
        ENGINE,
    ),
    _hazard(
        "stages-do-not-hold-all-layers",
        all_of(LAYERS_KNOWN, q.is_uneven, ~q.has_layout, q.middle_stages < 0),
        "The first and the last stage are one and the same rank, which builds the last stage's "
        "layers only: the rest of the model is missing.",
        block(133),
    ),
    _hazard(
        "middle-stages-with-negative-layers",
        all_of(LAYERS_KNOWN, q.is_uneven, ~q.has_layout, q.middle_layers < 0),
        "The first and the last stage hold more layers than the model has: the model is built "
        "larger, and nobody notices.",
        config(2036),
    ),
    _hazard(
        "recompute-beyond-stage",
        all_of(
            f.recompute == "full",
            LAYERS_KNOWN,
            f.recompute_num_layers * f.pp_size > f.num_hidden_layers,
        ),
        "More layers are recomputed than a stage has; nobody checks the upper bound that the "
        "message of Megatron speaks of.",
        config(1743),
    ),
    _hazard(
        "default-widths-not-divisible-by-tp",
        any_of(
            all_of(
                f.intermediate_size == 0,
                f.hidden_size > 0,
                ~q.is_moe,
                ~divides(f.tp_size, 4 * f.hidden_size),
            ),
            all_of(
                f.head_dim == 0,
                f.hidden_size > 0,
                f.num_attention_heads > 0,
                ~f.mla,
                ~divides(
                    f.tp_size,
                    (f.num_attention_heads + 2 * q.num_query_groups)
                    * (f.hidden_size // largest(1, f.num_attention_heads)),
                ),
            ),
        ),
        "Widths that were not given follow from the hidden size, and tp does not divide them: "
        "unless the model has others, it cannot be built.",
        DIVIDE,
    ),
    Notice(
        id="nccl-dispatch-needs-rank-capacity",
        when=all_of(q.is_moe, f.dispatcher == "flex", f.flex_backend == "ncclep"),
        reason="Megatron stops when the dispatcher is made unless "
        "--moe-expert-rank-capacity-factor is given.",
        source=NCCL_DISPATCH,
        kind="hazard",
        launchable=False,
    ),
    Notice(
        id="grouped-experts-with-bias",
        when=all_of(
            q.is_moe, f.grouped_gemm, f.bias_linear, f.transformer_impl == "transformer_engine"
        ),
        reason="Megatron stops when the experts are built unless --no-bias-dropout-fusion or "
        "--disable-bias-linear is given.",
        source=GROUPED_EXPERTS,
        kind="hazard",
        launchable=False,
    ),
    Notice(
        id="optimizer-instances-without-distributed-optimizer",
        when=all_of(f.optimizer_instances > 1, ~all_of(q.distributed_optimizer, ~q.is_emerging)),
        reason="There is no sharded state to replicate: Megatron stops when it wraps the model "
        "for data parallelism. Use the distributed optimizer, or one instance.",
        source=DDP,
        kind="hazard",
        launchable=False,
    ),
    _hazard(
        "tp-leaves-nvlink-domain",
        f.tp_size > q.nvlink_domain_size,
        "A tensor-parallel group is wider than an NVLink domain: every layer waits for the "
        "network. Megatron has no rule of locality.",
        groups(837),
    ),
    _hazard(
        "tp-splits-nvlink-domain",
        all_of(
            f.tp_size > 1,
            f.tp_size <= q.nvlink_domain_size,
            ~divides(f.tp_size, q.nvlink_domain_size),
        ),
        "tp does not divide the NVLink domain, so some groups of consecutive ranks lie in two.",
        groups(837),
    ),
    _hazard(
        "ep-leaves-nvlink-domain",
        all_of(f.ep_size > 1, q.ep_group_size > q.nvlink_domain_size),
        "An expert group is wider than an NVLink domain: its dispatcher must reach other nodes.",
        groups(887),
    ),
    _hazard(
        "ep-splits-nvlink-domain",
        all_of(
            f.ep_size > 1,
            q.ep_group_size <= q.nvlink_domain_size,
            ~divides(q.ep_group_size, q.nvlink_domain_size),
        ),
        "The expert group does not divide the NVLink domain, so some groups of consecutive ranks "
        "lie in two.",
        groups(887),
    ),
)

NOTICES = (*ASSUMED, *CHANGES, *HAZARDS)
