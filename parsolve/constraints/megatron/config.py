"""Stages "batch" and "config": the batch calculator, and the model's configuration object."""

from functools import partial

from parsolve.constraints.formula import Formula, all_of, any_of, divides, largest, one_of
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.megatron.arguments import LAYERS_KNOWN, Given, refusal
from parsolve.constraints.megatron.sources import (
    CALCULATOR,
    NO_MICRO_BATCH,
    OPTIMIZER_CONFIG,
    config,
    layout,
    parallel_config,
)
from parsolve.constraints.rule import Rule

_refusal = partial(refusal, stage="config")

BATCH = (
    refusal(
        "training-batch-not-divisible",
        CALCULATOR,
        divides(largest(1, q.per_pass), q.asked_batch),
        "A step is a whole number of forward passes on every data-parallel rank.",
        "Use a multiple of micro-batch * dp (times GTP), or let Megatron round it down.",
        {"requested_global_batch": 12, "eval_global_batch": 8},
        {"requested_global_batch": 12, "eval_global_batch": 8, "decrease_batch": True},
        ~f.decrease_batch,
        stage="batch",
    ),
    refusal(
        "training-batch-rounded-to-nothing",
        NO_MICRO_BATCH,
        q.microbatches >= 1,
        "Rounded down to whole forward passes, nothing is left of the global batch.",
        "Use at least micro-batch * dp.",
        {"requested_global_batch": 4, "eval_global_batch": 8, "decrease_batch": True},
        {"requested_global_batch": 12, "eval_global_batch": 8, "decrease_batch": True},
        f.decrease_batch,
        stage="batch",
    ),
)

PARALLEL = (
    _refusal(
        "deferred-embedding-wgrad-without-pp",
        parallel_config(546),
        f.pp_size > 1,
        "The work is put into the pipeline's flush, and there is no pipeline.",
        "Use pp of at least 2, or do not defer.",
        {"defer_embedding_wgrad": True},
        {"defer_embedding_wgrad": True, "pp_size": 2},
        f.defer_embedding_wgrad,
    ),
    _refusal(
        "deferred-embedding-wgrad-without-fusion",
        parallel_config(551),
        f.gradient_accumulation_fusion,
        "Deferred weight gradients are added inside the matrix product.",
        "Keep gradient accumulation fused.",
        {"pp_size": 2, "defer_embedding_wgrad": True, "gradient_accumulation_fusion": False},
        {"pp_size": 2, "defer_embedding_wgrad": True},
        f.defer_embedding_wgrad,
    ),
)

DELTA_NET: Given = {"attention_variant": "gated_delta_net", "linear_attention_freq": 4}
_is_delta_net = f.attention_variant == "gated_delta_net"

HEADS = (
    _refusal(
        "heads-not-divisible-by-tp",
        config(1324),
        divides(f.tp_size, f.num_attention_heads),
        "Tensor parallelism gives each rank whole attention heads, equally many.",
        "Use a tp that divides the heads.",
        {"tp_size": 8, "num_attention_heads": 28},
        {"tp_size": 4, "num_attention_heads": 28},
        f.num_attention_heads > 0,
    ),
    _refusal(
        "query-groups-not-shared-equally",
        config(1342),
        any_of(
            divides(f.tp_size, q.num_query_groups),
            divides(largest(1, q.num_query_groups), f.tp_size),
        ),
        "Each rank gets whole key/value heads, or each head is copied to equally many ranks.",
        "Use a tp that divides the query groups or is a multiple of them.",
        {"tp_size": 4, "num_attention_heads": 12, "num_key_value_heads": 6},
        {"tp_size": 2, "num_attention_heads": 12, "num_key_value_heads": 6},
        q.num_query_groups > 0,
    ),
    _refusal(
        "linear-attention-without-frequency",
        config(1349),
        f.linear_attention_freq > 0,
        "Nothing says which layers have linear attention.",
        "Give the frequency.",
        {"attention_variant": "gated_delta_net"},
        DELTA_NET,
        _is_delta_net,
    ),
    _refusal(
        "linear-value-heads-not-shared-equally",
        config(1368),
        divides(largest(1, q.linear_key_heads), q.linear_value_heads),
        "Every key head of gated delta net serves equally many value heads.",
        "Use a multiple of the key heads.",
        {**DELTA_NET, "linear_value_heads": 24},
        DELTA_NET,
        _is_delta_net,
    ),
    _refusal(
        "linear-attention-heads-not-divisible",
        config(1375, 1379),
        all_of(
            divides(f.tp_size * f.cp_size, q.linear_key_heads),
            divides(f.tp_size * f.cp_size, q.linear_value_heads),
        ),
        "Gated delta net splits its key and value heads over tensor and context ranks.",
        "Use tp * cp that divides both.",
        {**DELTA_NET, "world_size": 24, "tp_size": 3},
        {**DELTA_NET, "world_size": 24, "tp_size": 4},
        _is_delta_net,
    ),
    _refusal(
        "sparse-attention-with-bias",
        config(1386),
        ~f.bias_linear,
        "Sparse attention (DSA) is made of linear layers without biases.",
        "Use --disable-bias-linear.",
        {"attention_variant": "dsa"},
        {"attention_variant": "dsa", "bias_linear": False},
        f.attention_variant == "dsa",
    ),
)

OFFLOAD = (
    _refusal(
        "offloaded-layers-not-fewer",
        config(1710),
        f.cpu_offloading_layers < f.num_hidden_layers,
        "Some layer's activations must stay on the GPU.",
        "Offload fewer layers than there are.",
        {"num_hidden_layers": 8, "cpu_offloading_layers": 8},
        {"num_hidden_layers": 8, "cpu_offloading_layers": 4},
        all_of(f.cpu_offloading_layers > 0, LAYERS_KNOWN),
    ),
    _refusal(
        "activation-offload-with-pp",
        config(1715),
        f.pp_size == 1,
        "Activations of several micro-batches in flight are not offloaded.",
        "Use pp 1, or recompute in place of offloading.",
        {"pp_size": 2, "cpu_offloading_layers": 2},
        {"cpu_offloading_layers": 2},
        f.cpu_offloading_layers > 0,
    ),
    _refusal(
        "activation-offload-with-recompute",
        config(1720),
        f.recompute == "none",
        "What is computed again is not kept, on the host neither.",
        "Offload or recompute, not both.",
        {"cpu_offloading_layers": 2, "recompute": "selective"},
        {"recompute": "selective"},
        f.cpu_offloading_layers > 0,
    ),
)

FULL: Given = {"recompute": "full", "recompute_method": "uniform", "recompute_num_layers": 1}

RECOMPUTE = (
    _refusal(
        "full-recompute-without-method",
        config(1737),
        f.recompute_method != "none",
        "Full recompute needs to know which layers: uniform chunks, or the first of each stage.",
        "Give --recompute-method uniform or block.",
        {"recompute": "full", "recompute_num_layers": 1},
        FULL,
        f.recompute == "full",
    ),
    _refusal(
        "full-recompute-without-layers",
        config(1743),
        f.recompute_num_layers > 0,
        "Full recompute needs to know how many layers.",
        "Give --recompute-num-layers, such as 1.",
        {"recompute": "full", "recompute_method": "block"},
        FULL,
        f.recompute == "full",
    ),
    _refusal(
        "selective-recompute-with-layers",
        config(1752),
        f.recompute_num_layers == 0,
        "Selective recompute takes modules of every layer.",
        "Drop the number of layers, or recompute fully.",
        {"recompute": "selective", "recompute_num_layers": 1},
        {"recompute": "selective"},
        f.recompute == "selective",
    ),
    _refusal(
        "distributed-activations-with-sequence-parallel",
        config(1758),
        ~q.sequence_parallel,
        "Sequence parallelism has split the saved activations already.",
        "Use one of the two.",
        {**FULL, "tp_size": 2, "distribute_saved_activations": True, "sequence_parallel": True},
        {**FULL, "tp_size": 2, "sequence_parallel": True},
        all_of(f.distribute_saved_activations, f.recompute != "none"),
    ),
    _refusal(
        "recompute-module-unknown",
        config(1779),
        f.recompute_modules.feature("unknown") == 0,
        "Selective recompute knows these modules: core_attn, moe_act, layernorm, mla_up_proj, "
        "mlp, moe, shared_experts, gdn_norm_out.",
        "Use one of those.",
        {"recompute": "selective", "recompute_modules": ["attention"]},
        {"recompute": "selective", "recompute_modules": ["core_attn"]},
        f.recompute == "selective",
    ),
    _refusal(
        "moe-act-recompute-without-grouped-gemm",
        config(1785),
        f.grouped_gemm,
        "Experts' activations are computed again inside the grouped product.",
        "Use --moe-grouped-gemm, or other modules.",
        {"recompute": "selective", "recompute_modules": ["moe_act"]},
        {"recompute": "selective", "recompute_modules": ["moe_act"], "grouped_gemm": True},
        all_of(f.recompute == "selective", f.recompute_modules.has("moe_act")),
    ),
    _refusal(
        "mla-recompute-without-mla",
        config(1790),
        f.mla,
        "There is no up-projection of latent attention.",
        "Use other modules.",
        {"recompute": "selective", "recompute_modules": ["mla_up_proj"]},
        {"recompute": "selective", "recompute_modules": ["mla_up_proj"], "mla": True},
        all_of(f.recompute == "selective", f.recompute_modules.has("mla_up_proj")),
    ),
    _refusal(
        "delta-net-recompute-without-delta-net",
        config(1799),
        _is_delta_net,
        "There is no gated delta net.",
        "Use other modules.",
        {"recompute": "selective", "recompute_modules": ["gdn_norm_out"]},
        {
            "recompute": "selective",
            "recompute_modules": ["gdn_norm_out"],
            **DELTA_NET,
        },
        all_of(f.recompute == "selective", f.recompute_modules.has("gdn_norm_out")),
    ),
    _refusal(
        "shared-experts-recompute-with-overlap",
        config(1817),
        ~f.shared_expert_overlap,
        "Shared experts that run beside the exchange of tokens cannot be computed again.",
        "Recompute other modules, or do not overlap shared experts.",
        {
            "recompute": "selective",
            "recompute_modules": ["shared_experts"],
            "shared_intermediate_size": 1024,
            "shared_expert_overlap": True,
            "dispatcher": "alltoall",
        },
        {
            "recompute": "selective",
            "recompute_modules": ["shared_experts"],
            "shared_intermediate_size": 1024,
        },
        all_of(
            f.recompute == "selective",
            f.recompute_modules.has("shared_experts"),
            f.shared_intermediate_size > 0,
        ),
    ),
)

DISPATCH = (
    _refusal(
        "expert-ffn-without-experts",
        config(1551),
        f.moe_intermediate_size == 0,
        "There are no experts that the width would be that of.",
        "Leave the experts' width out, or give the number of experts.",
        {"moe_intermediate_size": 1408, "model_kind": "dense"},
        {"moe_intermediate_size": 1408, "num_experts": 8, "bias_linear": False},
        f.model_kind == "dense",
    ),
    _refusal(
        "single-grouped-weight-without-grouped-gemm",
        config(1558),
        f.grouped_gemm,
        "One weight for all of a rank's experts is what the grouped product reads.",
        "Use --moe-grouped-gemm too.",
        {"single_grouped_weight": True},
        {"single_grouped_weight": True, "grouped_gemm": True},
        f.single_grouped_weight,
    ),
    _refusal(
        "nccl-dispatch-without-flex-dispatcher",
        config(1611),
        f.dispatcher == "flex",
        "NCCL's expert-parallel backend is one of the flex dispatcher's.",
        "Use the flex dispatcher.",
        {"flex_backend": "ncclep"},
        {"flex_backend": "ncclep", "dispatcher": "flex"},
        f.flex_backend == "ncclep",
    ),
    _refusal(
        "shared-expert-overlap-dispatcher",
        config(1648),
        one_of(f.dispatcher, ("alltoall", "flex")),
        "Shared experts overlap with the all-to-all and flex dispatchers only.",
        "Use one of those.",
        {"shared_intermediate_size": 1024, "shared_expert_overlap": True},
        {
            "shared_intermediate_size": 1024,
            "shared_expert_overlap": True,
            "dispatcher": "alltoall",
        },
        all_of(f.shared_intermediate_size > 0, f.shared_expert_overlap),
    ),
)

UNEVEN: Given = {"pp_size": 4, "num_hidden_layers": 20}

_is_split = all_of(LAYERS_KNOWN, q.is_uneven, ~q.has_layout)

STAGES = (
    _refusal(
        "uneven-stages-with-accounting",
        config(1929),
        all_of(~f.account_for_embedding, ~f.account_for_loss),
        "Layers of the first and last stage are stated, or follow from counting the embedding and "
        "the loss, not both.",
        "Use one of the two.",
        {**UNEVEN, "first_stage_layers": 5, "account_for_loss": True},
        {**UNEVEN, "first_stage_layers": 5},
        q.is_uneven,
    ),
    _refusal(
        "layout-with-stage-layers",
        config(1946),
        all_of(~q.is_uneven, ~f.account_for_embedding, ~f.account_for_loss),
        "A layout states every stage itself.",
        "Drop the other options that split the layers.",
        {
            "pp_size": 2,
            "num_hidden_layers": 3,
            "pipeline_layout": "Ett|tL",
            "account_for_loss": True,
        },
        {"pp_size": 2, "num_hidden_layers": 3, "pipeline_layout": "Ett|tL"},
        q.has_layout,
    ),
)

LAYOUT: Given = {"pp_size": 2, "num_hidden_layers": 3, "pipeline_layout": "Ett|tL"}


def _layout(
    identity: str,
    lines: tuple[int, ...],
    requires: Formula,
    reason: str,
    bad: Given,
    when: Formula = q.has_layout,
) -> Rule:
    return _refusal(
        f"layout-{identity}",
        layout(*lines),
        requires,
        reason,
        "Change the layout (parsolve stages makes one).",
        {**LAYOUT, **bad},
        LAYOUT,
        when,
    )


_read = f.pipeline_layout.feature
_mtp = f.mtp_layers

LAYOUTS = (
    _layout(
        "embedding-not-first",
        (95,),
        _read("starts") == 1,
        "The first stage starts with the embedding (E).",
        {"pipeline_layout": "tt|tL"},
    ),
    _layout(
        "loss-not-last",
        (98,),
        _read("ends") == 1,
        "The last stage ends with the loss (L).",
        {"pipeline_layout": "Ett|t"},
    ),
    _layout(
        "embedding-not-once",
        (103,),
        _read("embeddings") == 1,
        "There is one embedding.",
        {"pipeline_layout": "EtE|ttL"},
    ),
    _layout(
        "loss-not-once",
        (105,),
        _read("losses") == 1,
        "There is one loss.",
        {"pipeline_layout": "EttL|tL"},
    ),
    _layout(
        "layers-not-all",
        (106,),
        _read("decoders") == f.num_hidden_layers,
        "The layout holds every layer once.",
        {"pipeline_layout": "Ettt|tL"},
        all_of(q.has_layout, LAYERS_KNOWN),
    ),
    _layout(
        "mtp-not-all",
        (112,),
        _read("mtps") == _mtp,
        "The layout holds every MTP layer once.",
        {"pipeline_layout": "Ett|tmL"},
    ),
    _layout(
        "mtp-before-layer",
        (117,),
        _read("late_decoders") == 0,
        "MTP layers come after all other layers.",
        {"pipeline_layout": "Etm|ttL", "mtp_layers": 1},
    ),
    _layout(
        "mtp-not-in-last-chunk",
        (123,),
        _read("first_mtp_stage") >= _read("length") - f.pp_size,
        "MTP layers are in the last chunk of their rank.",
        {"pipeline_layout": "Et|tm|t|L", "mtp_layers": 1, "requested_global_batch": 8},
        all_of(q.has_layout, _read("mtps") > 0),
    ),
    _layout(
        "mtp-in-several-stages",
        (129,),
        _read("mtp_stages") <= 1,
        "All MTP layers are in one stage.",
        {"pipeline_layout": "Ettt|m|m|L", "mtp_layers": 2, "pp_size": 4},
    ),
)


def _stage(
    identity: str,
    line: int,
    requires: Formula,
    reason: str,
    bad: Given,
    instead: Given,
    when: Formula,
) -> Rule:
    return _refusal(
        identity,
        config(line),
        requires,
        reason,
        "Change the layers of the first or last stage (parsolve stages finds valid ones).",
        {**UNEVEN, "requested_global_batch": 8, **bad},
        {**UNEVEN, "requested_global_batch": 8, **instead},
        all_of(when, ~q.has_layout),
    )


SPLIT = (
    _stage(
        "first-stage-without-layers",
        1998,
        f.first_stage_layers >= 1,
        "The first stage has a layer, or its number is left out.",
        {"first_stage_layers": -1},
        {"first_stage_layers": 5},
        f.given(f.first_stage_layers),
    ),
    _stage(
        "first-stage-not-whole-chunks",
        2006,
        divides(largest(1, q.virtual_stages), f.first_stage_layers),
        "The first rank's layers are cut into equally many chunks as all others.",
        {"first_stage_layers": 3, "last_stage_layers": 5, "virtual_stages": 2},
        {"first_stage_layers": 4, "last_stage_layers": 4, "virtual_stages": 2},
        all_of(f.first_stage_layers > 0, q.is_interleaved),
    ),
    _stage(
        "last-stage-without-layers",
        2017,
        f.last_stage_layers >= 1,
        "The last stage has a layer, or its number is left out.",
        {"last_stage_layers": -1},
        {"last_stage_layers": 5},
        f.given(f.last_stage_layers),
    ),
    _stage(
        "last-stage-not-whole-chunks",
        2025,
        divides(largest(1, q.virtual_stages), f.last_stage_layers),
        "The last rank's layers are cut into equally many chunks as all others.",
        {"first_stage_layers": 4, "last_stage_layers": 3, "virtual_stages": 2},
        {"first_stage_layers": 4, "last_stage_layers": 4, "virtual_stages": 2},
        all_of(f.last_stage_layers > 0, q.is_interleaved),
    ),
    _stage(
        "middle-stages-and-layers-differ",
        2036,
        any_of(
            all_of(q.middle_layers == 0, q.middle_stages == 0),
            all_of(q.middle_layers != 0, q.middle_stages != 0),
        ),
        "Layers are left where no stage is, or stages where no layer is.",
        {"pp_size": 2, "first_stage_layers": 4, "last_stage_layers": 4},
        {"pp_size": 2, "first_stage_layers": 10, "last_stage_layers": 10},
        _is_split,
    ),
    _stage(
        "middle-layers-not-divisible",
        2044,
        divides(largest(1, q.middle_stages), q.middle_layers),
        "The middle stages get equally many layers.",
        {"first_stage_layers": 4, "last_stage_layers": 5},
        {"first_stage_layers": 4, "last_stage_layers": 4},
        all_of(_is_split, q.middle_stages > 0),
    ),
    _stage(
        "middle-stages-not-whole-chunks",
        2058,
        divides(largest(1, q.virtual_stages), q.layers_per_stage),
        "A middle rank's layers are cut into equally many chunks as all others.",
        {
            "num_hidden_layers": 18,
            "first_stage_layers": 4,
            "last_stage_layers": 4,
            "virtual_stages": 2,
        },
        {"first_stage_layers": 4, "last_stage_layers": 4, "virtual_stages": 2},
        all_of(_is_split, q.middle_stages > 0, q.is_interleaved),
    ),
    _refusal(
        "accounted-layers-not-divisible-by-pp",
        config(2077, 2090),
        divides(f.pp_size, q.counted_layers),
        "With the embedding and the loss counted, every pipeline rank gets the same number of "
        "layers.",
        "Account for the other one too or for neither, or choose another pp.",
        {
            "pp_size": 2,
            "num_hidden_layers": 8,
            "account_for_loss": True,
            "virtual_stages": 3,
            "requested_global_batch": 8,
        },
        {"pp_size": 2, "num_hidden_layers": 7, "account_for_loss": True},
        all_of(
            LAYERS_KNOWN,
            ~q.has_layout,
            ~q.is_uneven,
            any_of(f.account_for_embedding, f.account_for_loss),
        ),
    ),
    _refusal(
        "accounted-layers-not-whole-chunks",
        config(2103),
        divides(largest(1, q.virtual_stages), q.layers_per_stage),
        "A rank's layers, the embedding and the loss counted, are cut into equal chunks.",
        "Use a number of virtual stages that divides them.",
        {
            "pp_size": 2,
            "num_hidden_layers": 8,
            "account_for_embedding": True,
            "account_for_loss": True,
            "virtual_stages": 2,
            "requested_global_batch": 8,
        },
        {
            "pp_size": 2,
            "num_hidden_layers": 6,
            "account_for_embedding": True,
            "account_for_loss": True,
            "virtual_stages": 2,
            "requested_global_batch": 8,
        },
        all_of(
            LAYERS_KNOWN,
            ~q.has_layout,
            ~q.is_uneven,
            q.is_interleaved,
            any_of(f.account_for_embedding, f.account_for_loss),
        ),
    ),
)

MOE: Given = {"num_experts": 8, "bias_linear": False, "model_kind": "moe"}

EXPERTS = (
    _refusal(
        "expert-bias-with-etp",
        config(2281),
        q.expert_tp_size == 1,
        "Biases of experts are not split; etp is tp unless it is given. Megatron has biases "
        "unless --disable-bias-linear is given.",
        "Switch biases off (--no-bias-linear, Megatron's --disable-bias-linear), or use etp 1.",
        {"num_experts": 8, "tp_size": 2, "sequence_parallel": True},
        {**MOE, "tp_size": 2, "sequence_parallel": True},
        all_of(q.is_moe, f.bias_linear),
    ),
    _refusal(
        "top-one-without-pre-softmax",
        config(2336),
        any_of(f.router_score != "softmax", f.router_pre_softmax, f.load_balancing == "sinkhorn"),
        "A softmax over one expert is always one and has no gradient.",
        "Apply softmax before the choice (--moe-router-pre-softmax).",
        {**MOE, "num_experts_per_tok": 1},
        {**MOE, "num_experts_per_tok": 1, "router_pre_softmax": True},
        f.num_experts_per_tok == 1,
    ),
    _refusal(
        "router-group-topk-without-groups",
        config(2345),
        f.router_groups > 0,
        "Routing to the best groups needs groups.",
        "Give --moe-router-num-groups.",
        {**MOE, "router_group_topk": 2},
        {**MOE, "router_group_topk": 2, "router_groups": 4},
        f.router_group_topk > 0,
    ),
    _refusal(
        "router-groups-without-experts",
        config(2349),
        f.router_group_topk == 0,
        "There are no experts to group: Megatron fails on dividing nothing.",
        "Leave --moe-router-group-topk out.",
        {"model_kind": "dense", "router_group_topk": 2, "router_groups": 4},
        {**MOE, "router_group_topk": 2, "router_groups": 4},
        all_of(f.model_kind == "dense", f.router_groups > 0),
    ),
    _refusal(
        "experts-not-divisible-by-router-groups",
        config(2349),
        divides(largest(1, f.router_groups), f.num_experts),
        "Groups hold equally many experts.",
        "Use a number of groups that divides the experts.",
        {**MOE, "router_group_topk": 2, "router_groups": 3},
        {**MOE, "router_group_topk": 2, "router_groups": 4},
        all_of(f.router_group_topk > 0, f.router_groups > 0, f.num_experts > 0),
    ),
    _refusal(
        "router-group-topk-above-groups",
        config(2353),
        f.router_group_topk <= f.router_groups,
        "A token cannot go to more groups than there are.",
        "Lower the number of groups per token.",
        {**MOE, "router_group_topk": 6, "router_groups": 4},
        {**MOE, "router_group_topk": 2, "router_groups": 4},
        all_of(f.router_group_topk > 0, f.router_groups > 0, f.num_experts > 0),
    ),
)

OVERLAPPED: Given = {**MOE, "ep_size": 2, "overlap_ep": True, "dispatcher": "alltoall"}


def _overlap(
    identity: str, line: int, requires: Formula, reason: str, bad: Given, base: Given = OVERLAPPED
) -> Rule:
    return _refusal(
        f"ep-overlap-{identity}",
        config(line),
        requires,
        reason,
        "Change that, or do not overlap expert-parallel exchanges.",
        {**base, **bad},
        base,
        f.overlap_ep,
    )


OVERLAP = (
    _overlap(
        "without-virtual-stages",
        2675,
        any_of(f.pp_size == 1, q.is_interleaved),
        "In a pipeline, the micro-batch to overlap with is another chunk's.",
        {"pp_size": 2},
    ),
    _overlap(
        "without-ep",
        2681,
        f.ep_size > 1,
        "Without expert parallelism there is no exchange to hide.",
        {"ep_size": 1},
    ),
    _overlap(
        "dispatcher",
        2683,
        one_of(f.dispatcher, ("alltoall", "flex")),
        "The overlap is written for the all-to-all and flex dispatchers.",
        {"dispatcher": "allgather"},
    ),
    _overlap(
        "with-full-recompute",
        2689,
        f.recompute != "full",
        "Layers that are recomputed whole leave nothing to interleave.",
        FULL,
    ),
    _overlap(
        "with-recompute-method",
        2692,
        f.recompute_method == "none",
        "A recompute method chooses whole layers.",
        {"recompute_method": "uniform"},
    ),
    _overlap(
        "with-recompute-layers",
        2695,
        f.recompute_num_layers == 0,
        "A number of recomputed layers chooses whole layers.",
        {"recompute_num_layers": 1},
    ),
    _overlap(
        "with-moe-recompute",
        2698,
        ~f.recompute_modules.has("moe"),
        "A recomputed MoE layer would exchange its tokens again. The list is read whether or not "
        "modules are recomputed.",
        {"recompute": "selective", "recompute_modules": ["moe"]},
    ),
    _overlap(
        "with-fp32",
        2703,
        f.precision != "fp32",
        "The overlap is written for bf16 and fp16.",
        {"precision": "fp32"},
    ),
    _overlap(
        "with-shared-expert-overlap",
        2707,
        ~f.shared_expert_overlap,
        "Shared experts cannot fill the same gap.",
        {"shared_expert_overlap": True},
    ),
    _overlap(
        "with-several-mtp-layers",
        2709,
        f.mtp_layers <= 1,
        "At most one MTP layer fits the schedule.",
        {"mtp_layers": 2},
    ),
    _refusal(
        "delayed-wgrad-without-ep-overlap",
        config(2750),
        f.overlap_ep,
        "Weight gradients are delayed to fill gaps of the overlap.",
        "Overlap expert-parallel exchanges too.",
        {**MOE, "ep_size": 2, "dispatcher": "alltoall", "delay_wgrad": True},
        {**OVERLAPPED, "delay_wgrad": True},
        f.delay_wgrad,
    ),
    _refusal(
        "early-attention-release-without-ep-overlap",
        config(2773),
        f.overlap_ep,
        "Attention's memory is freed early for the overlap.",
        "Overlap expert-parallel exchanges too.",
        {**MOE, "ep_size": 2, "dispatcher": "alltoall", "early_attention_release": True},
        {**OVERLAPPED, "early_attention_release": True},
        f.early_attention_release,
    ),
)

CONTEXT = (
    _refusal(
        "sparse-attention-cp-exchange",
        config(2845),
        one_of(f.cp_comm_type, ("all_gather", "allgather")),
        "This attention takes its keys from an all-gather.",
        "Use --cp-comm-type all_gather.",
        {"cp_size": 2, "attention_variant": "dsa", "bias_linear": False},
        {
            "cp_size": 2,
            "attention_variant": "dsa",
            "cp_comm_type": "all_gather",
            "bias_linear": False,
        },
        all_of(f.attention_variant == "dsa", f.cp_size > 1),
    ),
    _refusal(
        "batch-invariant-with-cp",
        config(2891),
        f.cp_size == 1,
        "Context parallelism uses attention kernels that depend on the batch.",
        "Use cp 1.",
        {"cp_size": 2, "batch_invariant": True},
        {"batch_invariant": True},
        f.batch_invariant,
    ),
)

OPTIMIZER = (
    _refusal(
        "precision-aware-optimizer-without-sharding",
        OPTIMIZER_CONFIG,
        all_of(f.optimizer == "adam", q.distributed_optimizer),
        "The precision-aware optimizer is a distributed Adam.",
        "Use Adam with the distributed optimizer.",
        {"precision_aware_optimizer": True},
        {"precision_aware_optimizer": True, "distributed_optimizer": True},
        f.precision_aware_optimizer,
    ),
)

CONFIG = (
    *BATCH,
    *PARALLEL,
    *HEADS,
    *DISPATCH,
    *OFFLOAD,
    *RECOMPUTE,
    *STAGES,
    *LAYOUTS,
    *SPLIT,
    *EXPERTS,
    *OVERLAP,
    *CONTEXT,
    *OPTIMIZER,
)
