"""Stages "groups", "model" and "first-step": what dies once the job runs on every GPU."""

from functools import partial

from parsolve.constraints.formula import all_of, any_of, divides, if_, largest, one_of, quotient
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.megatron.arguments import LAYERS_KNOWN, refusal
from parsolve.constraints.megatron.config import MOE
from parsolve.constraints.megatron.sources import (
    BUILD_MODULE,
    DIVIDE,
    ENGINE,
    FLEX_DISPATCHER,
    INTERLEAVED,
    LOCAL_ATTENTION,
    MOE_LAYER,
    SCATTER,
    SCHEDULE,
    block,
    groups,
)
from parsolve.constraints.memory import facts as m
from parsolve.constraints.rule import Source

_groups = partial(refusal, stage="groups")
_model = partial(refusal, stage="model")
_step = partial(refusal, stage="first-step")

GROUPS = (
    _groups(
        "weight-shards-with-optimizer-instances",
        groups(808),
        f.optimizer_instances == 1,
        "Weights that are gathered again know one replica of the optimizer's state only.",
        "Use one instance, or no further weight shards.",
        {
            "weight_shards": 2,
            "requested_global_batch": 8,
            "optimizer_instances": 2,
            "distributed_optimizer": True,
        },
        {"weight_shards": 2, "requested_global_batch": 8},
        any_of(q.gtp_size > 1, q.expert_gtp_size > 1),
    ),
    _groups(
        "world-not-divisible-by-expert-parallel",
        groups(882),
        divides(q.expert_model_parallel_size, f.world_size),
        "Experts have a grid of their own over the same ranks, etp * ep * expert-dp * pp; cp is no "
        "factor of it, and etp is tp unless it is given.",
        "Use etp, ep and pp whose product divides the world; etp 1 usually does.",
        {"tp_size": 8, "ep_size": 2, **MOE, "sequence_parallel": True},
        {"tp_size": 8, "ep_size": 2, **MOE, "sequence_parallel": True, "expert_tp_size": 1},
    ),
    _groups(
        "dp-before-pp-order-with-different-grids",
        groups(901),
        q.expert_data_parallel_size == q.data_parallel_size,
        "With pp before dp in the order of ranks, stages coincide only where dense and expert "
        "data-parallel sizes do.",
        "Use the default order, or etp * ep = tp * cp.",
        {"pp_size": 2, "ep_size": 2, **MOE, "tp_pp_dp_order": True},
        {"pp_size": 2, "ep_size": 2, **MOE},
        all_of(f.tp_pp_dp_order, f.pp_size > 1),
    ),
    _groups(
        "optimizer-instances-not-dividing-dp-cp",
        groups(922),
        divides(f.optimizer_instances, q.dp_cp_size),
        "Replicas of the optimizer's state split the dp * cp ranks evenly.",
        "Use a number that divides dp * cp.",
        {"optimizer_instances": 3, "distributed_optimizer": True},
        {"optimizer_instances": 2, "distributed_optimizer": True},
    ),
    _groups(
        "hybrid-cp-odd-ranks",
        groups(1044),
        divides(2, q.dp_cp_size),
        "Groups of every power of two are made of the dp * cp ranks.",
        "Use an even dp * cp.",
        {"world_size": 3, "hybrid_cp": True, "calculate_per_token_loss": True},
        {"world_size": 4, "hybrid_cp": True, "calculate_per_token_loss": True},
        f.hybrid_cp,
    ),
    _groups(
        "optimizer-instances-not-dividing-expert-dp",
        groups(1448),
        divides(f.optimizer_instances, q.expert_data_parallel_size),
        "Replicas of the optimizer's state split the copies of each expert evenly, in a model "
        "without experts too (its expert grid is tp * pp).",
        "Use a number that divides world / (etp * ep * pp).",
        {"ep_size": 8, **MOE, "optimizer_instances": 2, "distributed_optimizer": True},
        {"ep_size": 4, **MOE, "optimizer_instances": 2, "distributed_optimizer": True},
    ),
)

_local = f.transformer_impl == "local"
_chunked = all_of(
    LAYERS_KNOWN,
    f.virtual_stages > 0,
    f.layers_per_virtual_stage == 0,
    ~q.has_layout,
    ~q.is_uneven,
    ~f.account_for_embedding,
    ~f.account_for_loss,
)

MODEL = (
    _model(
        "chunked-layers-not-divisible-by-pp",
        block(151),
        divides(f.pp_size, f.num_hidden_layers),
        "Where the number of virtual stages is given, nobody looks at the layers until the model "
        "is built.",
        "Use a pp that divides the layers, or give the first and last stage layers of their own.",
        {"pp_size": 4, "virtual_stages": 2, "num_hidden_layers": 18, "requested_global_batch": 8},
        {"pp_size": 4, "virtual_stages": 2, "num_hidden_layers": 16, "requested_global_batch": 8},
        _chunked,
    ),
    _model(
        "layers-not-whole-chunks",
        block(170),
        divides(largest(1, f.virtual_stages), quotient(f.num_hidden_layers, f.pp_size)),
        "A rank's layers are cut into equal chunks; nobody looks until the model is built.",
        "Use a number of virtual stages that divides a rank's layers.",
        {"pp_size": 4, "virtual_stages": 3, "num_hidden_layers": 16, "requested_global_batch": 8},
        {"pp_size": 4, "virtual_stages": 2, "num_hidden_layers": 16, "requested_global_batch": 8},
        all_of(_chunked, f.pp_size > 1),
    ),
    _model(
        "local-attention-with-cp",
        LOCAL_ATTENTION,
        f.cp_size == 1,
        "Only Transformer Engine's attention knows context parallelism.",
        "Use --transformer-impl transformer_engine.",
        {"cp_size": 2, "transformer_impl": "local"},
        {"cp_size": 2},
        _local,
    ),
    _model(
        "local-attention-with-mla",
        BUILD_MODULE,
        ~f.mla,
        "The attention without Transformer Engine does not take the widths of latent attention.",
        "Use --transformer-impl transformer_engine.",
        {"mla": True, "transformer_impl": "local"},
        {"mla": True},
        _local,
    ),
    _model(
        "attention-width-not-divisible-by-tp",
        DIVIDE,
        divides(f.tp_size, (f.num_attention_heads + 2 * q.num_query_groups) * f.head_dim),
        "Queries, keys and values are one matrix, and tensor parallelism cuts its width.",
        "Use a tp that divides (heads + 2 * query groups) * kv channels.",
        {
            "tp_size": 8,
            "num_attention_heads": 16,
            "num_key_value_heads": 1,
            "head_dim": 3,
        },
        {
            "tp_size": 2,
            "num_attention_heads": 16,
            "num_key_value_heads": 1,
            "head_dim": 3,
        },
        all_of(f.num_attention_heads > 0, f.head_dim > 0, ~f.mla),
    ),
    _model(
        "ffn-not-divisible-by-tp",
        DIVIDE,
        divides(f.tp_size, f.intermediate_size),
        "Tensor parallelism cuts the FFN's width.",
        "Use a tp that divides it.",
        {"tp_size": 4, "intermediate_size": 11_002},
        {"tp_size": 2, "intermediate_size": 11_002},
        all_of(
            f.intermediate_size > 0,
            any_of(~q.is_moe, all_of(m.num_moe_layers > 0, m.num_moe_layers < m.num_hidden_layers)),
        ),
    ),
    _model(
        "flex-dispatcher-without-expert-ranks",
        FLEX_DISPATCHER,
        q.ep_group_size > 1,
        "DeepEP and NCCL's backend exchange tokens between ranks, of which there is one: ep * etp "
        "is 1.",
        "Use expert parallelism or another dispatcher.",
        {**MOE, "dispatcher": "flex"},
        {**MOE, "dispatcher": "flex", "ep_size": 2},
        all_of(q.is_moe, f.dispatcher == "flex", one_of(f.flex_backend, ("deepep", "ncclep"))),
    ),
    _model(
        "expert-ffn-not-divisible-by-etp",
        DIVIDE,
        divides(q.expert_tp_size, q.expert_ffn_size),
        "Expert tensor parallelism cuts the experts' width.",
        "Use an etp that divides it.",
        {**MOE, "expert_tp_size": 4, "moe_intermediate_size": 1410},
        {**MOE, "expert_tp_size": 2, "moe_intermediate_size": 1410},
        all_of(q.is_moe, q.expert_ffn_size > 0),
    ),
    _model(
        "shared-ffn-not-divisible-by-tp",
        DIVIDE,
        divides(f.tp_size, f.shared_intermediate_size),
        "Tensor parallelism cuts the shared experts' width.",
        "Use a tp that divides it.",
        {
            **MOE,
            "tp_size": 4,
            "expert_tp_size": 1,
            "sequence_parallel": True,
            "shared_intermediate_size": 1410,
        },
        {
            **MOE,
            "tp_size": 2,
            "expert_tp_size": 1,
            "sequence_parallel": True,
            "shared_intermediate_size": 1410,
        },
        all_of(q.is_moe, f.shared_intermediate_size > 0),
    ),
)

_engine_heads = all_of(
    f.cp_size > 1,
    one_of(f.cp_comm_type, ("a2a", "a2a+p2p")),
    f.transformer_impl == "transformer_engine",
    f.num_attention_heads > 0,
)
_inner = if_(f.cp_comm_type == "a2a", f.cp_size, 1)

FIRST_STEP = (
    _step(
        "micro-batch-group-out-of-range",
        Source(SCHEDULE, INTERLEAVED, (1141,)),
        all_of(q.microbatch_group_size >= f.pp_size, q.microbatch_group_size <= q.microbatches),
        "In an interleaved schedule a chunk takes at least pp and at most all micro-batches in a "
        "row; nobody looks until the first step.",
        "Raise the global batch to at least pp micro-batches, or set the group between the two.",
        {"pp_size": 4, "virtual_stages": 2, "num_hidden_layers": 16},
        {"pp_size": 4, "virtual_stages": 2, "num_hidden_layers": 16, "requested_global_batch": 8},
        q.is_interleaved,
    ),
    _step(
        "micro-batch-group-remainder",
        Source(SCHEDULE, INTERLEAVED, (1153,)),
        any_of(
            q.microbatches % q.microbatch_group_size == 0,
            q.microbatches % q.microbatch_group_size >= f.pp_size,
        ),
        "The last group of micro-batches would be shorter than the pipeline.",
        "Use micro-batches that are a multiple of the group, which is pp unless it is given.",
        {"pp_size": 4, "virtual_stages": 2, "num_hidden_layers": 16, "requested_global_batch": 12},
        {"pp_size": 4, "virtual_stages": 2, "num_hidden_layers": 16, "requested_global_batch": 16},
        q.is_interleaved,
    ),
    _step(
        "sequence-not-divisible-by-tp",
        SCATTER,
        divides(f.tp_size, f.seq_length // f.cp_size),
        "Sequence parallelism splits what context parallelism leaves of the sequence over the "
        "tensor-parallel ranks.",
        "Use a length that is a multiple of tp * cp.",
        {"tp_size": 4, "sequence_parallel": True, "seq_length": 4098},
        {"tp_size": 4, "sequence_parallel": True, "seq_length": 4096},
        all_of(q.sequence_parallel, f.seq_length > 0),
    ),
    _step(
        "experts-with-tp-without-sequence-parallel",
        MOE_LAYER,
        q.sequence_parallel,
        "An MoE layer trains with tensor parallelism only where the tokens are split too. Every "
        "earlier check lets it pass.",
        "Add sequence parallelism.",
        {**MOE, "tp_size": 2, "ep_size": 4},
        {**MOE, "tp_size": 2, "ep_size": 4, "sequence_parallel": True},
        all_of(q.is_moe, f.tp_size > 1),
    ),
    _step(
        "heads-not-divisible-by-cp-exchange",
        ENGINE,
        all_of(
            divides(_inner, quotient(f.num_attention_heads, f.tp_size)),
            divides(_inner, largest(1, q.num_query_groups // f.tp_size)),
        ),
        "An all-to-all exchanges the sequence for heads: a rank's query and key/value heads must "
        "divide by cp. A ring (p2p) has no such limit.",
        "Use a cp that divides heads / tp and query groups / tp, or another exchange.",
        {
            "cp_size": 4,
            "cp_comm_type": "a2a",
            "num_attention_heads": 32,
            "num_key_value_heads": 2,
        },
        {
            "cp_size": 2,
            "cp_comm_type": "a2a",
            "num_attention_heads": 32,
            "num_key_value_heads": 2,
        },
        _engine_heads,
    ),
)
