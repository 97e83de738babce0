"""Megatron-Core 0.19.2's own checks as it would run them: early exits, one refusal, one answer.

A configuration has to pass several places, each of which knows only what it reads itself:
the arguments, the batch calculator, the config objects, the process groups, the layers that each
pipeline stage builds, the model, and the first training step. `STEPS` is the order in which the
training script visits them.

Paths are those of the released wheel: `where` names the file and the line that raises, and the
function that contains it. Not covered: CUDA graphs, hybrid (Mamba) models, FP4, reinforcement
learning, checkpoint conversion, and the version of Transformer Engine beyond "recent" or "none".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

LIMIT = 10_000_000
"""No size above this is read: nothing real comes near, and lists stay short."""

LAYOUT_LIMIT = 100_000
"""Characters of a pipeline layout after its repetitions are written out."""

CHOICES: dict[str, tuple[str | None, ...]] = {
    "ckpt_format": ("torch", "torch_dist", "torch_dcp", "fsdp_dtensor"),
    "data_parallel_sharding_strategy": ("no_shard", "optim", "optim_grads", "optim_grads_params"),
    "dataloader_type": (None, "single", "cyclic", "external"),
    "experimental_attention_variant": (None, "gated_delta_net", "dsa"),
    "fp8": (None, "e4m3", "hybrid"),
    "fp8_recipe": ("tensorwise", "delayed", "mxfp8", "blockwise"),
    "main_grads_dtype": ("fp32", "bf16"),
    "moe_flex_dispatcher_backend": ("deepep", "hybridep", "ncclep"),
    "moe_router_load_balancing_type": (
        "aux_loss",
        "seq_aux_loss",
        "global_aux_loss",
        "sinkhorn",
        "quantile_balancing",
        "none",
    ),
    "moe_router_score_function": ("softmax", "sigmoid", "sqrtsoftplus"),
    "moe_token_dispatcher_type": ("allgather", "alltoall", "flex"),
    "optimizer": ("adam", "sgd", "muon", "dist_muon", "lion", "soap", "adaptive_muon"),
    "pipeline_model_parallel_comm_backend": (None, "nccl", "ucc"),
    "position_embedding_type": ("learned_absolute", "rope", "yarn", "relative", "none"),
    "recompute_granularity": (None, "full", "selective"),
    "recompute_method": (None, "uniform", "block"),
    "transformer_impl": ("local", "transformer_engine"),
}
"""What the command line lets through (`megatron/training/arguments.py`, `choices`)."""

RECOMPUTE_MODULES = (
    "core_attn",
    "moe_act",
    "layernorm",
    "mla_up_proj",
    "mlp",
    "moe",
    "shared_experts",
    "gdn_norm_out",
)

DIVISORS = (
    "world_size",
    "num_layers",
    "hidden_size",
    "num_attention_heads",
    "seq_length",
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "num_query_groups",
    "kv_channels",
    "ffn_hidden_size",
    "moe_ffn_hidden_size",
    "num_layers_per_virtual_pipeline_stage",
    "num_virtual_stages_per_pipeline_rank",
    "num_distributed_optimizer_instances",
    "eval_micro_batch_size",
    "linear_num_key_heads",
    "linear_num_value_heads",
)
"""Fields that Megatron divides by, or that mean nothing below 1: it has no rule for such values."""

REQUIRED = (
    "world_size",
    "num_layers",
    "hidden_size",
    "num_attention_heads",
    "seq_length",
    "max_position_embeddings",
    "micro_batch_size",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the command line sets, under Megatron's own names and with its own defaults.

    `num_query_groups` counts as given only with a number: then grouped queries are on. The last
    three are no arguments: an environment variable, the major compute capability of the GPU, and
    whether a recent Transformer Engine is installed.
    """

    world_size: int
    num_layers: int
    hidden_size: int
    num_attention_heads: int
    seq_length: int
    max_position_embeddings: int
    micro_batch_size: int

    tensor_model_parallel_size: int = 1
    pipeline_model_parallel_size: int = 1
    context_parallel_size: int = 1
    expert_model_parallel_size: int = 1
    expert_tensor_parallel_size: int | None = None
    tensor_parallel_num_weight_shards: int | None = None
    expert_tensor_parallel_num_weight_shards: int | None = None
    sequence_parallel: bool = False
    use_tp_pp_dp_mapping: bool = False
    hierarchical_context_parallel_sizes: tuple[int, ...] | None = None
    hybrid_context_parallel: bool = False
    cp_comm_type: tuple[str, ...] = ("p2p",)
    tp_comm_overlap: bool = False
    pipeline_model_parallel_comm_backend: str | None = None

    num_query_groups: int | None = None
    kv_channels: int | None = None
    ffn_hidden_size: int | None = None
    swiglu: bool = False
    multi_latent_attention: bool = False
    experimental_attention_variant: str | None = None
    linear_attention_freq: int | None = None
    linear_num_key_heads: int = 16
    linear_num_value_heads: int = 32
    add_bias_linear: bool = True
    untie_embeddings_and_output_weights: bool = False
    position_embedding_type: str = "learned_absolute"
    apply_rope_fusion: bool = True
    mtp_num_layers: int | None = None
    transformer_impl: str = "transformer_engine"
    init_model_with_meta_device: bool = False

    num_experts: int | None = None
    moe_ffn_hidden_size: int | None = None
    moe_shared_expert_intermediate_size: int | None = None
    moe_shared_expert_overlap: bool = False
    moe_grouped_gemm: bool = False
    moe_single_grouped_weight: bool = False
    moe_token_dispatcher_type: str = "allgather"
    moe_flex_dispatcher_backend: str = "deepep"
    moe_expert_capacity_factor: float | None = None
    moe_pad_expert_input_to_capacity: bool = False
    moe_router_topk: int = 2
    moe_router_score_function: str = "softmax"
    moe_router_pre_softmax: bool = False
    moe_router_load_balancing_type: str = "aux_loss"
    moe_router_enable_expert_bias: bool = False
    moe_router_num_groups: int | None = None
    moe_router_group_topk: int | None = None
    moe_router_topk_limited_devices: int | None = None

    global_batch_size: int | None = None
    decrease_batch_size_if_needed: bool = False
    eval_global_batch_size: int | None = None
    eval_micro_batch_size: int | None = None
    calculate_per_token_loss: bool = False
    dataloader_type: str | None = None

    num_layers_per_virtual_pipeline_stage: int | None = None
    num_virtual_stages_per_pipeline_rank: int | None = None
    pipeline_model_parallel_layout: str | None = None
    decoder_first_pipeline_num_layers: int | None = None
    decoder_last_pipeline_num_layers: int | None = None
    account_for_embedding_in_pipeline_split: bool = False
    account_for_loss_in_pipeline_split: bool = False
    microbatch_group_size_per_vp_stage: int | None = None
    overlap_p2p_comm: bool = True
    overlap_p2p_comm_warmup_flush: bool = False

    optimizer: str = "adam"
    use_distributed_optimizer: bool = False
    num_distributed_optimizer_instances: int = 1
    overlap_grad_reduce: bool = False
    overlap_param_gather: bool = False
    overlap_param_gather_with_optimizer_step: bool = False
    ddp_average_in_collective: bool = False
    gradient_accumulation_fusion: bool = True
    use_precision_aware_optimizer: bool = False
    optimizer_cpu_offload: bool = False
    freeze_all_layers: bool = False
    use_torch_fsdp2: bool = False
    use_megatron_fsdp: bool = False
    data_parallel_sharding_strategy: str = "optim_grads_params"
    check_weight_hash_across_dp_replicas_interval: int | None = None
    nccl_ub: bool = False
    fsdp_manual_registration: bool = False
    ckpt_format: str = "torch_dist"
    dist_ckpt_optim_fully_reshardable: bool = False
    distrib_optim_fully_reshardable_mem_efficient: bool = False
    use_gloo_process_groups: bool = True
    fake_process_group: bool = False

    fp16: bool = False
    bf16: bool = False
    fp8: str | None = None
    fp8_recipe: str = "delayed"
    fp8_param_gather: bool = False
    reuse_grad_buf_for_mxfp8_param_ag: bool = False
    fp32_residual_connection: bool = False
    accumulate_allreduce_grads_in_fp32: bool = False
    main_grads_dtype: str = "fp32"

    recompute_activations: bool = False
    recompute_granularity: str | None = None
    recompute_method: str | None = None
    recompute_num_layers: int | None = None
    recompute_modules: tuple[str, ...] | None = None
    distribute_saved_activations: bool = False
    moe_layer_recompute: bool = False
    cpu_offloading_num_layers: int = 0

    overlap_moe_expert_parallel_comm: bool = False
    delay_wgrad_compute: bool = False
    overlap_dispatch_backward_with_experts_wgrad: bool = False
    ep_overlap_early_attn_memory_release: bool = False
    defer_embedding_wgrad_compute: bool = False
    wgrad_deferral_limit: int = 0

    cuda_device_max_connections: int | None = None
    device_arch_version: int = 9
    transformer_engine: bool = True


@dataclass(frozen=True, slots=True)
class Derived:
    """Effective and derived values of an accepted configuration; sizes in ranks.

    `layers_per_stage` has one row per pipeline rank and one number per virtual stage.
    `group_sizes` is keyed as the recorded data is: tp, pp, cp, dp, dp_cp, ep, etp, edp.
    """

    data_parallel_size: int
    expert_data_parallel_size: int
    expert_tensor_parallel_size: int
    gtp_weight_remat_size: int
    expert_gtp_weight_remat_size: int
    sequence_parallel: bool
    virtual_pipeline_model_parallel_size: int | None
    microbatch_group_size_per_vp_stage: int
    overlap_p2p_comm: bool
    global_batch_size: int
    running_global_batch_size: int
    num_microbatches: int
    num_experts: int | None
    layers_per_stage: tuple[tuple[int, ...], ...]
    use_distributed_optimizer: bool
    overlap_param_gather: bool
    recompute_granularity: str | None
    optimizer_shard_size: int
    expert_optimizer_shard_size: int
    order: str
    group_sizes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Accepted with what follows from it, or the first refusal with its place in the source."""

    accepted: bool
    stage: str | None = None
    rule: str | None = None
    where: str | None = None
    message: str | None = None
    derived: Derived | None = None


class _Refused(Exception):  # noqa: N818 - a verdict, not a malfunction
    """A rule that a configuration breaks, and the line of the source that raises."""

    def __init__(self, rule: str, where: str, message: str) -> None:
        super().__init__(rule, where, message)
        self.rule = rule
        self.where = where
        self.message = message


@dataclass(slots=True)
class _Run:
    """What earlier checks settle for later ones: Megatron overwrites its arguments as it goes."""

    config: Config
    gtp: int = 1
    expert_gtp: int = 1
    data_parallel_size: int = 0
    expert_tensor_parallel_size: int = 0
    expert_data_parallel_size: int = 0
    virtual: int | None = None
    overlap_p2p_comm: bool = True
    sequence_parallel: bool = False
    apply_rope_fusion: bool = False
    num_experts: int | None = None
    ffn_hidden_size: int = 0
    moe_ffn_hidden_size: int | None = None
    kv_channels: int = 0
    query_groups: int = 0
    global_batch_size: int = 0
    running_global_batch_size: int = 0
    num_microbatches: int = 0
    microbatch_group: int = 0
    recompute_granularity: str | None = None
    recompute_modules: tuple[str, ...] = ()
    optimizer: str = "adam"
    use_distributed_optimizer: bool = False
    overlap_param_gather: bool = False
    layout: list[list[str]] | None = None
    layers_per_stage: tuple[tuple[int, ...], ...] = ()


def _args(line: int) -> str:
    return f"megatron/training/arguments.py:{line} validate_args"


def _parallel_config(line: int) -> str:
    return f"megatron/core/model_parallel_config.py:{line} __post_init__"


def _transformer_config(line: int) -> str:
    return f"megatron/core/transformer/transformer_config.py:{line} __post_init__"


def _groups_at(line: int) -> str:
    return f"megatron/core/parallel_state.py:{line} initialize_model_parallel"


def _layout_at(line: int, function: str) -> str:
    return f"megatron/core/transformer/pipeline_parallel_layer_layout.py:{line} {function}"


def _layers_at(line: int) -> str:
    return f"megatron/core/transformer/transformer_block.py:{line} get_num_layers_to_build"


# Input: what is no configuration at all.


def _validate_input(c: Config) -> None:
    """Raise ValueError for what argparse would not parse, or Megatron could only crash on."""
    for field in fields(Config):
        value = getattr(c, field.name)
        kind = str(field.type)
        if value is None:
            if "None" not in kind:
                raise ValueError(f"{field.name} is missing")
            continue
        if kind.startswith("tuple"):
            _validate_tuple(field.name, value, kind)
        elif kind.startswith("bool"):
            if not isinstance(value, bool):
                raise ValueError(f"{field.name} = {value!r} is neither True nor False")
        elif kind.startswith(("int", "float")):
            _validate_number(field.name, value, kind)
        elif not isinstance(value, str):
            raise ValueError(f"{field.name} = {value!r} is no string")
        if field.name in CHOICES and value not in CHOICES[field.name]:
            raise ValueError(f"{field.name} = {value!r} is none of {CHOICES[field.name]}")


def _validate_number(name: str, value: object, kind: str) -> None:
    """Admit whole numbers within the limit; a divisor has to be positive."""
    numeric = (int, float) if kind.startswith("float") else int
    if isinstance(value, bool) or not isinstance(value, numeric):
        raise ValueError(f"{name} = {value!r} is no number")
    if not -LIMIT <= value <= LIMIT:
        raise ValueError(f"{name} = {value} is beyond {LIMIT}")
    if name in DIVISORS and value < 1:
        raise ValueError(f"{name} = {value} < 1")


def _validate_tuple(name: str, value: object, kind: str) -> None:
    """Admit a tuple of what the field holds; sizes in it are positive."""
    if not isinstance(value, tuple):
        raise ValueError(f"{name} = {value!r} is no tuple")
    if not value and kind.endswith("...]"):
        raise ValueError(f"{name} is empty")
    for item in value:
        if "str" in kind:
            if not isinstance(item, str):
                raise ValueError(f"{name} holds {item!r}, no string")
        else:
            _validate_number(name, item, "int")
            if item < 1:
                raise ValueError(f"{name} holds {item} < 1")


# Arguments: `validate_args`, in its order.


def _resolve_weight_shards(shards: int | None, width: int) -> int:
    """Find how many ranks beyond tensor parallelism share a weight.

    Source: `megatron/core/model_parallel_config.py` `resolve_tensor_parallel_weight_shards`.
    """
    place = "megatron/core/model_parallel_config.py:{} resolve_tensor_parallel_weight_shards"
    if shards is None:
        return 1
    if shards < width:
        raise _Refused("too-few-weight-shards", place.format(32), f"{shards} shards < {width}")
    if shards % width != 0:
        raise _Refused("uneven-weight-shards", place.format(37), f"{shards} shards, width {width}")
    return shards // width


def _arguments(r: _Run) -> None:
    """Check and complete the arguments (`megatron/training/arguments.py` `validate_args`)."""
    _world(r)
    _context_sizes(r)
    _batch_arguments(r)
    _virtual_stages(r)
    _interleaving(r)
    _overlapped_gathers(r)
    _torch_fsdp(r)
    _gather_with_step(r)
    _megatron_fsdp(r)
    _precision(r)
    _shape(r)
    _recompute_arguments(r)
    _sequence_parallelism(r)
    _hybrid_context(r)
    _max_connections(r)
    _generalized_tensor_parallelism(r)
    _position_embedding(r)
    _expert_arguments(r)
    _checkpoint_formats(r)
    _other_optimizers(r)
    _gloo(r)
    _frozen(r)
    _late_arguments(r)


def _world(r: _Run) -> None:
    """Split the world into model replicas; experts are no factor (arguments.py:414-445)."""
    c = r.config
    r.gtp = _resolve_weight_shards(
        c.tensor_parallel_num_weight_shards, c.tensor_model_parallel_size
    )
    model = (
        c.tensor_model_parallel_size
        * c.pipeline_model_parallel_size
        * c.context_parallel_size
        * r.gtp
    )
    if c.world_size % model != 0:
        raise _Refused("world-not-divisible", _args(430), f"{c.world_size} ranks, model {model}")
    r.data_parallel_size = c.world_size // model


def _context_sizes(r: _Run) -> None:
    """Check the levels of hierarchical context parallelism (arguments.py:562-569)."""
    c = r.config
    sizes = c.hierarchical_context_parallel_sizes
    if sizes is not None:
        product = 1
        for size in sizes:
            product *= size
        if product != c.context_parallel_size:
            raise _Refused("context-levels-product", _args(564), f"{sizes} multiply to {product}")
    if "a2a+p2p" in c.cp_comm_type and sizes is None:
        raise _Refused("context-levels-missing", _args(566), "a2a+p2p without levels")
    r.expert_tensor_parallel_size = c.tensor_model_parallel_size
    if c.expert_tensor_parallel_size is not None:
        r.expert_tensor_parallel_size = c.expert_tensor_parallel_size
    r.recompute_granularity = c.recompute_granularity
    if c.recompute_activations:
        r.recompute_granularity = "selective"


def _batch_arguments(r: _Run) -> None:
    """Check the batch sizes; evaluation defaults to training (arguments.py:675-696)."""
    c = r.config
    if c.micro_batch_size <= 0:
        raise _Refused("micro-batch-not-positive", _args(676), f"{c.micro_batch_size} <= 0")
    r.global_batch_size = c.micro_batch_size * r.data_parallel_size
    if c.global_batch_size is not None:
        r.global_batch_size = c.global_batch_size
    if r.global_batch_size <= 0:
        raise _Refused("global-batch-not-positive", _args(687), f"{r.global_batch_size} <= 0")
    batch = r.global_batch_size
    if c.eval_global_batch_size is not None:
        batch = c.eval_global_batch_size
    micro = c.micro_batch_size
    if c.eval_micro_batch_size is not None:
        micro = c.eval_micro_batch_size
    if batch % (micro * r.data_parallel_size) != 0:
        raise _Refused(
            "evaluation-batch-not-divisible",
            _args(694),
            f"{batch} samples, micro-batch {micro} on {r.data_parallel_size} replicas",
        )


def _accounted_layers(c: Config) -> int:
    """Count the layers, and the embedding and the loss where they are to count as one."""
    layers = c.num_layers
    if c.account_for_embedding_in_pipeline_split:
        layers += 1
    if c.account_for_loss_in_pipeline_split:
        layers += 1
    return layers


def _virtual_stages(r: _Run) -> None:
    """Derive the virtual stages per pipeline rank; one is none (arguments.py:856-964)."""
    c = r.config
    if c.mtp_num_layers and c.position_embedding_type not in ("rope", "none"):
        raise _Refused("mtp-position-embedding", _args(857), c.position_embedding_type)
    given = 0
    for way in (
        c.num_layers_per_virtual_pipeline_stage,
        c.num_virtual_stages_per_pipeline_rank,
        c.pipeline_model_parallel_layout,
    ):
        if way is not None:
            given += 1
    if given > 1:
        raise _Refused("virtual-stages-twice", _args(894), f"{given} ways to set virtual stages")
    if c.pipeline_model_parallel_layout is not None:
        virtual = _layout_stages(r, c.pipeline_model_parallel_layout)
    elif c.num_virtual_stages_per_pipeline_rank is not None:
        virtual = c.num_virtual_stages_per_pipeline_rank
    else:
        virtual = _stages_of_equal_ranks(c)
    r.virtual = None if virtual == 1 else virtual


def _layout_stages(r: _Run, text: str) -> int:
    """Read the layout and deal its stages to the pipeline ranks (arguments.py:907-917)."""
    r.layout = parse_layout(text)
    pp = r.config.pipeline_model_parallel_size
    if len(r.layout) % pp != 0:
        raise _Refused("layout-not-divisible", _args(911), f"{len(r.layout)} stages, pp {pp}")
    return len(r.layout) // pp


def _stages_of_equal_ranks(c: Config) -> int:
    """Split the layers over ranks, and those of a rank into virtual stages (arguments.py:919-964).

    Given first or last counts, nothing is divided here.
    """
    per_virtual = c.num_layers_per_virtual_pipeline_stage
    uneven = (
        c.decoder_first_pipeline_num_layers is not None
        or c.decoder_last_pipeline_num_layers is not None
    )
    if per_virtual is not None and uneven:
        raise _Refused("uneven-ranks-by-layers", _args(921), "layers per virtual stage, uneven")
    if uneven:
        return 1
    layers = _accounted_layers(c)
    pp = c.pipeline_model_parallel_size
    if layers % pp != 0:
        line = 963 if per_virtual is None else 934
        raise _Refused("layers-not-divisible", _args(line), f"{layers} layers, pp {pp}")
    if per_virtual is None:
        return 1
    per_rank = layers // pp
    if per_rank % per_virtual != 0:
        raise _Refused(
            "rank-layers-not-divisible", _args(938), f"{per_rank} layers by {per_virtual}"
        )
    return per_rank // per_virtual


def _interleaving(r: _Run) -> None:
    """Ask for enough pipeline ranks to interleave on (arguments.py:966-985)."""
    pp = r.config.pipeline_model_parallel_size
    r.overlap_p2p_comm = r.config.overlap_p2p_comm
    if r.virtual is None:
        r.overlap_p2p_comm = False
    elif r.overlap_p2p_comm:
        if pp < 2:
            raise _Refused("interleaved-on-one-rank", _args(968), f"pp {pp}, {r.virtual} stages")
    elif pp < 3:
        raise _Refused("interleaved-without-overlap", _args(972), f"pp {pp}, no overlap")


def _overlapped_gathers(r: _Run) -> None:
    """Check what overlapped parameter gathers rest on (arguments.py:990-995)."""
    c = r.config
    if not c.overlap_param_gather:
        return
    if not (c.use_distributed_optimizer or c.use_megatron_fsdp or c.optimizer == "dist_muon"):
        raise _Refused("gather-overlap-unsharded", _args(992), "no sharded optimizer")
    if not c.overlap_grad_reduce:
        raise _Refused("gather-overlap-alone", _args(994), "overlap_grad_reduce is off")


def _torch_fsdp(r: _Run) -> None:
    """Check what PyTorch's FSDP2 goes without (arguments.py:997-1015)."""
    c = r.config
    if not c.use_torch_fsdp2:
        return
    if c.pipeline_model_parallel_size != 1:
        raise _Refused("fsdp2-with-pp", _args(1000), f"pp {c.pipeline_model_parallel_size}")
    if c.expert_model_parallel_size != 1:
        raise _Refused("fsdp2-with-ep", _args(1002), f"ep {c.expert_model_parallel_size}")
    if c.use_distributed_optimizer:
        raise _Refused("fsdp2-with-distributed-optimizer", _args(1004), "both are on")
    if c.gradient_accumulation_fusion:
        raise _Refused("fsdp2-with-accumulation-fusion", _args(1006), "both are on")
    if c.ckpt_format not in ("torch_dist", "torch_dcp"):
        raise _Refused("fsdp2-checkpoint-format", _args(1008), c.ckpt_format)
    if not c.untie_embeddings_and_output_weights:
        raise _Refused("fsdp2-tied-embeddings", _args(1010), "embeddings are tied")
    if c.fp16:
        raise _Refused("fsdp2-with-fp16", _args(1012), "both are on")
    if c.cuda_device_max_connections == 1:
        raise _Refused("fsdp2-one-connection", _args(1014), "one connection")


def _gather_with_step(r: _Run) -> None:
    """Check parameter gathers overlapped with the optimizer step (arguments.py:1032-1040)."""
    c = r.config
    if not c.overlap_param_gather_with_optimizer_step:
        return
    if not c.use_distributed_optimizer:
        raise _Refused("step-overlap-unsharded", _args(1033), "no distributed optimizer")
    if not c.overlap_param_gather:
        raise _Refused("step-overlap-alone", _args(1035), "overlap_param_gather is off")
    if r.virtual is None:
        raise _Refused("step-overlap-not-interleaved", _args(1037), "no virtual stages")
    if c.ckpt_format != "torch":
        raise _Refused("step-overlap-distributed-checkpoint", _args(1039), c.ckpt_format)


def _megatron_fsdp(r: _Run) -> None:
    """Check Megatron's own FSDP, which turns the distributed optimizer on (arguments.py:1060-1168).

    FP8 parameters are gathered by a sharding optimizer only (line 1061).
    """
    c = r.config
    r.use_distributed_optimizer = c.use_distributed_optimizer
    if c.fp8_param_gather and not (
        c.use_distributed_optimizer or c.use_torch_fsdp2 or c.use_megatron_fsdp
    ):
        raise _Refused("fp8-gather-unsharded", _args(1061), "no sharded optimizer")
    manual = c.fsdp_manual_registration
    if c.use_megatron_fsdp:
        r.use_distributed_optimizer = True
        if c.moe_single_grouped_weight:
            raise _Refused("fsdp-grouped-weight", _args(1120), "one weight for all experts")
        if c.optimizer not in ("sgd", "adam"):
            raise _Refused("fsdp-optimizer", _args(1127), c.optimizer)
        if (
            c.data_parallel_sharding_strategy == "optim_grads_params"
            and c.check_weight_hash_across_dp_replicas_interval is not None
        ):
            raise _Refused("fsdp-weight-hash", _args(1140), "no replica holds whole weights")
        if c.cuda_device_max_connections == 1:
            raise _Refused("fsdp-one-connection", _args(1143), "one connection")
        if c.ckpt_format != "fsdp_dtensor":
            raise _Refused("fsdp-checkpoint-format", _args(1146), c.ckpt_format)
        if c.nccl_ub:
            manual = True
        if c.init_model_with_meta_device and c.data_parallel_sharding_strategy == "no_shard":
            raise _Refused("fsdp-meta-unsharded", _args(1161), "meta device with no_shard")
    if manual and not c.use_megatron_fsdp:
        raise _Refused("registration-without-fsdp", _args(1167), "no Megatron-FSDP")
    if manual and not c.nccl_ub:
        raise _Refused("registration-without-buffers", _args(1168), "nccl_ub is off")


def _precision(r: _Run) -> None:
    """Check the types of parameters and gradients (arguments.py:1171-1190)."""
    c = r.config
    if c.fp16 and c.bf16:
        raise _Refused("two-half-precisions", _args(1173), "fp16 and bf16")
    if c.bf16 and c.accumulate_allreduce_grads_in_fp32 and c.main_grads_dtype != "fp32":
        raise _Refused("fp32-reduce-into-bf16", _args(1187), c.main_grads_dtype)


def _default_ffn(c: Config) -> int:
    """Widen the hidden size fourfold, or by 8/3 to a multiple of 64 for gated units."""
    if c.ffn_hidden_size is not None:
        return c.ffn_hidden_size
    if c.swiglu:
        return int((4 * c.hidden_size * 2 / 3) / 64) * 64
    return 4 * c.hidden_size


def _shape(r: _Run) -> None:
    """Check heads, sequence length and positions (arguments.py:1280-1340)."""
    c = r.config
    r.ffn_hidden_size = _default_ffn(c)
    if c.kv_channels is not None:
        r.kv_channels = c.kv_channels
    elif c.hidden_size % c.num_attention_heads != 0:
        raise _Refused("hidden-not-divisible-by-heads", _args(1292), f"{c.hidden_size}")
    else:
        r.kv_channels = c.hidden_size // c.num_attention_heads
    cp = c.context_parallel_size
    if cp > 1 and c.seq_length % (2 * cp) != 0:
        raise _Refused("sequence-not-divisible-by-cp", _args(1296), f"{c.seq_length}, cp {cp}")
    if c.max_position_embeddings < c.seq_length:
        raise _Refused("too-few-positions", _args(1314), f"{c.max_position_embeddings}")
    if c.fp32_residual_connection and not (c.fp16 or c.bf16):
        raise _Refused("fp32-residual-in-fp32", _args(1335), "neither fp16 nor bf16")
    if c.moe_grouped_gemm and c.device_arch_version < 8:
        raise _Refused("grouped-gemm-old-gpu", _args(1340), f"{c.device_arch_version} < 8")


def _recompute_arguments(r: _Run) -> None:
    """Check what is stored and recomputed (arguments.py:1370-1388)."""
    c = r.config
    if c.distribute_saved_activations:
        if c.tensor_model_parallel_size <= 1:
            raise _Refused("saved-activations-without-tp", _args(1371), "tp 1")
        if r.recompute_granularity != "full":
            raise _Refused("saved-activations-not-full", _args(1374), "not full recompute")
        if c.recompute_method is None:
            raise _Refused("saved-activations-no-method", _args(1377), "no recompute method")
    if r.recompute_granularity == "selective" and c.recompute_method is not None:
        raise _Refused("selective-with-method", _args(1386), c.recompute_method)


def _sequence_parallelism(r: _Run) -> None:
    """Drop sequence parallelism where nothing is split (arguments.py:1393-1402)."""
    c = r.config
    r.sequence_parallel = c.sequence_parallel and c.tensor_model_parallel_size > 1
    if c.tp_comm_overlap and not r.sequence_parallel:
        raise _Refused("tp-overlap-without-sp", _args(1402), "sequence parallelism is off")


def _hybrid_context(r: _Run) -> None:
    """Check context parallelism of changing width (arguments.py:1404-1409)."""
    c = r.config
    if not c.hybrid_context_parallel:
        return
    if c.pipeline_model_parallel_size > 1:
        raise _Refused("hybrid-context-with-pp", _args(1405), "pp > 1")
    if c.use_megatron_fsdp:
        raise _Refused("hybrid-context-with-fsdp", _args(1407), "Megatron-FSDP")
    if c.dataloader_type not in (None, "single"):
        raise _Refused("hybrid-context-loader", _args(1408), str(c.dataloader_type))
    if not c.calculate_per_token_loss:
        raise _Refused("hybrid-context-loss", _args(1409), "no loss per token")


def _max_connections(r: _Run) -> None:
    """Ask for one connection before Blackwell, unless something else rules (arguments.py:1413)."""
    c = r.config
    if c.tensor_model_parallel_size <= 1 and c.context_parallel_size <= 1:
        return
    if c.device_arch_version >= 10 or c.use_torch_fsdp2 or c.use_megatron_fsdp:
        return
    if c.overlap_moe_expert_parallel_comm:
        return
    if c.cuda_device_max_connections != 1:
        raise _Refused("several-connections", _args(1437), f"{c.cuda_device_max_connections}")


def _generalized_tensor_parallelism(r: _Run) -> None:
    """Check weights sharded beyond tensor parallelism (arguments.py:1455-1548)."""
    c = r.config
    r.expert_gtp = _resolve_weight_shards(
        c.expert_tensor_parallel_num_weight_shards, r.expert_tensor_parallel_size
    )
    if r.gtp == 1 and r.expert_gtp == 1:
        return
    if c.ddp_average_in_collective:
        raise _Refused("weight-shards-averaged", _args(1513), "averaging collectives")
    if c.ckpt_format not in ("torch", "torch_dist"):
        raise _Refused("weight-shards-checkpoint-format", _args(1518), c.ckpt_format)
    if c.dist_ckpt_optim_fully_reshardable and c.distrib_optim_fully_reshardable_mem_efficient:
        raise _Refused("weight-shards-resharding", _args(1522), "memory-efficient resharding")
    if c.fp8_recipe == "mxfp8" and not c.fp8_param_gather:
        raise _Refused("weight-shards-mxfp8-gather", _args(1536), "no FP8 parameter gather")
    reused = c.reuse_grad_buf_for_mxfp8_param_ag and not c.use_megatron_fsdp
    if c.fp8_recipe == "mxfp8" and not reused:
        raise _Refused("weight-shards-mxfp8-buffer", _args(1543), "gradient buffer not reused")


def _position_embedding(r: _Run) -> None:
    """Keep relative positions to Transformer Engine (arguments.py:1570-1585)."""
    c = r.config
    r.apply_rope_fusion = c.apply_rope_fusion and c.position_embedding_type == "rope"
    if c.position_embedding_type == "relative" and c.transformer_impl != "transformer_engine":
        raise _Refused("relative-positions-local", _args(1584), c.transformer_impl)


def _expert_arguments(r: _Run) -> None:
    """Split the experts; no experts are none (arguments.py:1591-1603)."""
    c = r.config
    r.num_experts = c.num_experts or None
    r.moe_ffn_hidden_size = c.moe_ffn_hidden_size
    if r.num_experts is not None and r.moe_ffn_hidden_size is None:
        r.moe_ffn_hidden_size = r.ffn_hidden_size
    ep = c.expert_model_parallel_size
    if ep == 1:
        return
    if r.num_experts is None:
        raise _Refused("ep-without-experts", _args(1601), f"ep {ep}")
    if r.num_experts % ep != 0:
        raise _Refused("experts-not-divisible", _args(1602), f"{r.num_experts} experts, ep {ep}")


def _checkpoint_formats(r: _Run) -> None:
    """Tie two checkpoint formats to their kinds of FSDP (arguments.py:1612-1621)."""
    c = r.config
    if c.ckpt_format == "torch_dcp":
        if not c.use_torch_fsdp2:
            raise _Refused("dcp-without-fsdp2", _args(1613), "torch_dcp")
        if c.tensor_model_parallel_size > 1:
            raise _Refused("dcp-with-tp", _args(1614), f"tp {c.tensor_model_parallel_size}")
        if c.pipeline_model_parallel_size > 1:
            raise _Refused("dcp-with-pp", _args(1616), f"pp {c.pipeline_model_parallel_size}")
    if c.ckpt_format == "fsdp_dtensor" and not c.use_megatron_fsdp:
        raise _Refused("dtensor-without-fsdp", _args(1621), "fsdp_dtensor")


def _other_optimizers(r: _Run) -> None:
    """Shard optimizers other than Adam and SGD by layer (arguments.py:1667-1686)."""
    c = r.config
    r.optimizer = "muon" if c.optimizer == "dist_muon" else c.optimizer
    if c.optimizer in ("sgd", "adam"):
        return
    r.use_distributed_optimizer = False
    if c.use_torch_fsdp2:
        raise _Refused("optimizer-with-fsdp2", _args(1684), c.optimizer)
    if c.use_megatron_fsdp:
        raise _Refused("optimizer-with-fsdp", _args(1685), c.optimizer)
    if c.ckpt_format not in ("torch", "torch_dist"):
        raise _Refused("optimizer-checkpoint-format", _args(1686), c.ckpt_format)


def _gloo(r: _Run) -> None:
    """Check runs without Gloo, or without any real group (arguments.py:1690-1703)."""
    c = r.config
    if not c.use_gloo_process_groups and r.use_distributed_optimizer:
        if c.ckpt_format == "torch":
            raise _Refused("no-gloo-legacy-checkpoint", _args(1695), c.ckpt_format)
        if c.dist_ckpt_optim_fully_reshardable and c.distrib_optim_fully_reshardable_mem_efficient:
            raise _Refused("no-gloo-resharding", _args(1698), "memory-efficient resharding")
    if c.fake_process_group and c.moe_token_dispatcher_type == "flex":
        raise _Refused("fake-groups-flex", _args(1702), "flex dispatcher")


def _frozen(r: _Run) -> None:
    """Shard nothing where nothing is trained (arguments.py:1758-1768)."""
    r.overlap_param_gather = r.config.overlap_param_gather
    if r.config.freeze_all_layers:
        r.use_distributed_optimizer = False
        r.overlap_param_gather = False


def _late_arguments(r: _Run) -> None:
    """Check offloading, delayed weight gradients and latent attention (arguments.py:1803-1894)."""
    c = r.config
    if c.optimizer_cpu_offload:
        if not c.use_precision_aware_optimizer:
            raise _Refused("optimizer-offload-imprecise", _args(1804), "not precision-aware")
        if c.fp8_param_gather and c.fp8_recipe != "delayed":
            raise _Refused("optimizer-offload-fp8", _args(1808), c.fp8_recipe)
    if c.delay_wgrad_compute:
        if c.transformer_impl != "transformer_engine":
            raise _Refused("delayed-gradients-local", _args(1823), c.transformer_impl)
        if c.overlap_grad_reduce and not c.transformer_engine:
            raise _Refused("delayed-gradients-reduce", _args(1826), "no Transformer Engine")
        if not c.gradient_accumulation_fusion and not c.transformer_engine:
            raise _Refused("delayed-gradients-unfused", _args(1849), "no Transformer Engine")
    if c.multi_latent_attention and c.num_query_groups is not None:
        raise _Refused("latent-attention-groups", _args(1893), f"{c.num_query_groups} groups")


# Batch: the calculator that `set_global_variables` makes.


def _batch(r: _Run) -> None:
    """Count the micro-batches of a step.

    Source: `megatron/core/num_microbatches_calculator.py`
    `ConstantNumMicroBatchesCalculator.__init__`; `megatron/training/global_vars.py:127`.
    """
    place = "megatron/core/num_microbatches_calculator.py:{} __init__"
    c = r.config
    batch = r.global_batch_size
    share = c.micro_batch_size * r.data_parallel_size * r.gtp
    if c.decrease_batch_size_if_needed:
        batch -= batch % share
    elif batch % share != 0:
        raise _Refused("global-batch-not-divisible", place.format(381), f"{batch} by {share}")
    if batch < share:
        raise _Refused("no-microbatch", place.format(390), f"{batch} < {share}")
    r.running_global_batch_size = batch
    r.num_microbatches = batch // share


# Config: `ModelParallelConfig`, then `TransformerConfig`.


def _config(r: _Run) -> None:
    """Check the config objects (`megatron/core/transformer/transformer_config.py`)."""
    _parallel(r)
    _heads(r)
    _attention_variant(r)
    _fp8(r)
    _experts(r)
    _dispatch(r)
    _offloading(r)
    _recompute(r)
    _recompute_selection(r)
    _pipeline_split(r)
    _router(r)
    _expert_overlap(r)
    _delayed_gradients(r)
    _context_types(r)
    _optimizer(r)


def _optimizer(r: _Run) -> None:
    """Check the optimizer's own object, which is made before any group (`optimizer_config.py`)."""
    c = r.config
    sharded = r.use_distributed_optimizer
    place = "megatron/core/optimizer/optimizer_config.py:{} __post_init__"
    if c.use_precision_aware_optimizer:
        if r.optimizer != "adam":
            raise _Refused("precision-aware-optimizer", place.format(432), r.optimizer)
        if not sharded:
            raise _Refused("precision-aware-unsharded", place.format(435), "not sharded")
    elif c.main_grads_dtype != "fp32":
        raise _Refused("low-precision-gradients", place.format(471), c.main_grads_dtype)


def _parallel(r: _Run) -> None:
    """Check what concerns parallelism alone (model_parallel_config.py `__post_init__`)."""
    c = r.config
    pp = c.pipeline_model_parallel_size
    if c.defer_embedding_wgrad_compute:
        if pp == 1:
            raise _Refused("deferred-embedding-without-pp", _parallel_config(546), "pp 1")
        if not c.gradient_accumulation_fusion:
            raise _Refused("deferred-embedding-unfused", _parallel_config(551), "no fusion")
        if c.wgrad_deferral_limit < 0:
            raise _Refused(
                "negative-deferral", _parallel_config(556), f"{c.wgrad_deferral_limit} < 0"
            )
    r.microbatch_group = pp
    if c.microbatch_group_size_per_vp_stage is not None:
        r.microbatch_group = c.microbatch_group_size_per_vp_stage
    if c.overlap_p2p_comm_warmup_flush and not r.overlap_p2p_comm:
        raise _Refused("flush-without-overlap", _parallel_config(572), "no overlapped transfers")


def _heads(r: _Run) -> None:
    """Split heads over tensor parallelism; few groups are replicated (lines 1323-1343)."""
    c = r.config
    tp = c.tensor_model_parallel_size
    heads = c.num_attention_heads
    if heads % tp != 0:
        raise _Refused("heads-not-divisible", _transformer_config(1324), f"{heads}, tp {tp}")
    r.query_groups = heads
    if c.num_query_groups is not None:
        r.query_groups = c.num_query_groups
    if r.query_groups % tp != 0 and tp % r.query_groups != 0:
        raise _Refused(
            "query-groups-not-divisible", _transformer_config(1342), f"{r.query_groups}, tp {tp}"
        )


def _attention_variant(r: _Run) -> None:
    """Check linear and sparse attention (lines 1346-1389)."""
    c = r.config
    if c.experimental_attention_variant == "gated_delta_net":
        if c.linear_attention_freq is None:
            raise _Refused("linear-attention-everywhere", _transformer_config(1349), "no frequency")
        split = c.tensor_model_parallel_size * c.context_parallel_size
        if c.linear_num_value_heads % c.linear_num_key_heads != 0:
            raise _Refused(
                "linear-heads-uneven", _transformer_config(1368), f"{c.linear_num_value_heads}"
            )
        if c.linear_num_key_heads % split != 0:
            raise _Refused(
                "linear-key-heads-not-divisible", _transformer_config(1375), f"by {split}"
            )
        if c.linear_num_value_heads % split != 0:
            raise _Refused(
                "linear-value-heads-not-divisible", _transformer_config(1379), f"by {split}"
            )
    if c.experimental_attention_variant == "dsa" and c.add_bias_linear:
        raise _Refused("sparse-attention-bias", _transformer_config(1386), "linear bias")


def _fp8(r: _Run) -> None:
    """Ask for FP8 where its parameters are gathered (line 1439)."""
    if r.config.fp8_param_gather and r.config.fp8 is None:
        raise _Refused("fp8-gather-without-fp8", _transformer_config(1440), "no fp8")


def _experts(r: _Run) -> None:
    """Check the number and width of experts (lines 1531-1588)."""
    c = r.config
    if r.num_experts is not None and r.num_experts <= 0:
        raise _Refused("experts-not-positive", _transformer_config(1532), f"{r.num_experts}")
    if r.num_experts is None and r.moe_ffn_hidden_size is not None:
        raise _Refused("expert-width-without-experts", _transformer_config(1551), "no experts")
    if c.moe_single_grouped_weight:
        if not c.moe_grouped_gemm:
            raise _Refused("grouped-weight-without-gemm", _transformer_config(1558), "no gemm")
        if not c.transformer_engine:
            raise _Refused("grouped-weight-local", _transformer_config(1563), "no TE")
        raise _Refused("grouped-weight-unfused", _transformer_config(1580), "no operator fuser")


def _dispatch(r: _Run) -> None:
    """Check how tokens reach experts (lines 1600-1690)."""
    c = r.config
    flex = c.moe_token_dispatcher_type == "flex"
    pads = c.moe_pad_expert_input_to_capacity
    if flex and pads and c.moe_flex_dispatcher_backend == "deepep":
        raise _Refused("deepep-padding", _transformer_config(1604), "padding to capacity")
    if c.moe_flex_dispatcher_backend == "ncclep" and not flex:
        raise _Refused(
            "ncclep-without-flex", _transformer_config(1611), c.moe_token_dispatcher_type
        )
    shared = c.moe_shared_expert_intermediate_size
    if shared is not None and shared <= 0:
        raise _Refused("shared-width-not-positive", _transformer_config(1639), f"{shared} <= 0")
    if (
        shared is not None
        and c.moe_shared_expert_overlap
        and c.moe_token_dispatcher_type == "allgather"
    ):
        raise _Refused("shared-overlap-allgather", _transformer_config(1648), "allgather")
    capacity = c.moe_expert_capacity_factor
    if capacity is not None and c.moe_router_load_balancing_type not in (
        "aux_loss",
        "seq_aux_loss",
        "global_aux_loss",
        "none",
    ):
        raise _Refused(
            "capacity-balancing", _transformer_config(1681), c.moe_router_load_balancing_type
        )
    if pads and (capacity is None or capacity < 0):
        raise _Refused("padding-without-capacity", _transformer_config(1688), "no capacity")


def _offloading(r: _Run) -> None:
    """Offload some layers, of a model in one piece (lines 1706-1722)."""
    c = r.config
    if c.cpu_offloading_num_layers <= 0:
        return
    if c.cpu_offloading_num_layers >= c.num_layers:
        raise _Refused(
            "offload-every-layer", _transformer_config(1710), f"{c.cpu_offloading_num_layers}"
        )
    if c.pipeline_model_parallel_size > 1:
        raise _Refused("offload-with-pp", _transformer_config(1715), "pp > 1")
    if r.recompute_granularity is not None:
        raise _Refused("offload-with-recompute", _transformer_config(1720), "recompute")


def _recompute(r: _Run) -> None:
    """Ask for a method and a count with full recompute only (lines 1724-1761)."""
    c = r.config
    if r.recompute_granularity is None:
        return
    full = r.recompute_granularity == "full"
    if full and c.recompute_method is None:
        raise _Refused("full-without-method", _transformer_config(1737), "no method")
    if full and c.recompute_num_layers is None:
        raise _Refused("full-without-layers", _transformer_config(1743), "no number of layers")
    if not full and c.recompute_num_layers is not None:
        raise _Refused(
            "selective-with-layers", _transformer_config(1752), f"{c.recompute_num_layers}"
        )
    if c.distribute_saved_activations and r.sequence_parallel:
        raise _Refused("saved-activations-with-sp", _transformer_config(1758), "both are on")


def _recompute_selection(r: _Run) -> None:
    """Check the modules that selective recompute names (lines 1764-1847)."""
    c = r.config
    r.recompute_modules = ("core_attn",)
    if c.recompute_modules is not None:
        r.recompute_modules = c.recompute_modules
    if r.recompute_granularity == "selective":
        _selected_modules(r)
    if c.moe_layer_recompute:
        if r.recompute_granularity == "full":
            raise _Refused("moe-recompute-with-full", _transformer_config(1841), "full")
        r.recompute_granularity = "selective"
        if "moe" not in r.recompute_modules:
            r.recompute_modules = (*r.recompute_modules, "moe")


def _selected_modules(r: _Run) -> None:
    """Check each selected module against the model (lines 1767-1833)."""
    c = r.config
    chosen = r.recompute_modules
    for module in chosen:
        if module not in RECOMPUTE_MODULES:
            raise _Refused("unknown-recompute-module", _transformer_config(1779), module)
    if "moe_act" in chosen and not c.moe_grouped_gemm:
        raise _Refused("recompute-moe-act", _transformer_config(1785), "no grouped gemm")
    if "mla_up_proj" in chosen and not c.multi_latent_attention:
        raise _Refused("recompute-latent", _transformer_config(1790), "no latent attention")
    if "gdn_norm_out" in chosen and c.experimental_attention_variant != "gated_delta_net":
        raise _Refused("recompute-linear", _transformer_config(1799), "no linear attention")
    if (
        "shared_experts" in chosen
        and c.moe_shared_expert_intermediate_size is not None
        and c.moe_shared_expert_overlap
    ):
        raise _Refused("recompute-shared-overlap", _transformer_config(1817), "overlapped")
    if c.fp8 is not None and ("moe_act" in chosen or "layernorm" in chosen):
        if c.fp8_recipe == "delayed":
            raise _Refused("recompute-fp8-delayed", _transformer_config(1824), "delayed scaling")
        if not c.transformer_engine:
            raise _Refused("recompute-fp8-local", _transformer_config(1829), "no TE")


def _pipeline_split(r: _Run) -> None:
    """Check one of the three ways to split layers over ranks (lines 1923-2108)."""
    c = r.config
    uneven = (
        c.decoder_first_pipeline_num_layers is not None
        or c.decoder_last_pipeline_num_layers is not None
    )
    accounted = c.account_for_embedding_in_pipeline_split or c.account_for_loss_in_pipeline_split
    if uneven and accounted:
        raise _Refused("uneven-and-accounted", _transformer_config(1929), "both are given")
    if r.layout is not None:
        if uneven or accounted:
            raise _Refused("layout-and-split", _transformer_config(1946), "both are given")
        validate_layout(r.layout, r.config)
    elif uneven:
        _uneven_split(r)
    elif accounted:
        _accounted_split(r)


def _uneven_split(r: _Run) -> None:
    """Give the end ranks what is asked and the middle ranks equal shares (lines 1985-2062).

    Only a middle of no layers counts as empty: one of negative size passes when it divides.
    """
    c = r.config
    layers = c.num_layers
    ranks = c.pipeline_model_parallel_size
    first = (c.decoder_first_pipeline_num_layers, "first", 1998, 2006)
    last = (c.decoder_last_pipeline_num_layers, "last", 2017, 2025)
    for count, name, sign, virtual in (first, last):
        if count is None:
            continue
        if count <= 0:
            raise _Refused(f"{name}-rank-empty", _transformer_config(sign), f"{count} <= 0")
        if r.virtual is not None and count % r.virtual != 0:
            raise _Refused(
                f"{name}-rank-not-divisible",
                _transformer_config(virtual),
                f"{count} by {r.virtual}",
            )
        layers -= count
        ranks -= 1
    if (layers == 0) != (ranks == 0):
        raise _Refused("middle-mismatch", _transformer_config(2036), f"{layers} on {ranks}")
    if ranks == 0:
        return
    if layers % ranks != 0:
        raise _Refused("middle-not-divisible", _transformer_config(2044), f"{layers} on {ranks}")
    if r.virtual is not None and (layers // ranks) % r.virtual != 0:
        raise _Refused("middle-rank-not-divisible", _transformer_config(2058), f"{layers // ranks}")


def _accounted_split(r: _Run) -> None:
    """Split layers, embedding and loss evenly (lines 2064-2108)."""
    layers = _accounted_layers(r.config)
    pp = r.config.pipeline_model_parallel_size
    if layers % pp != 0:
        line = 2077 if r.virtual is None else 2090
        raise _Refused("accounted-not-divisible", _transformer_config(line), f"{layers} on {pp}")
    if r.virtual is not None and (layers // pp) % r.virtual != 0:
        raise _Refused("accounted-rank-not-divisible", _transformer_config(2103), f"{layers // pp}")


def _router(r: _Run) -> None:
    """Check biases and routing (lines 2171-2357)."""
    c = r.config
    if r.apply_rope_fusion and not c.multi_latent_attention and not c.transformer_engine:
        raise _Refused("rope-fusion-local", _transformer_config(2185), "no Transformer Engine")
    if r.num_experts is not None and c.add_bias_linear and r.expert_tensor_parallel_size != 1:
        raise _Refused(
            "expert-bias-with-etp", _transformer_config(2281), f"{r.expert_tensor_parallel_size}"
        )
    if c.moe_router_enable_expert_bias and c.moe_router_score_function == "softmax":
        raise _Refused("router-bias-softmax", _transformer_config(2288), "softmax")
    if r.num_experts is not None and c.fp8 is not None and not c.transformer_engine:
        raise _Refused("fp8-experts-local", _transformer_config(2297), "no Transformer Engine")
    if (
        c.moe_router_topk == 1
        and c.moe_router_score_function == "softmax"
        and not c.moe_router_pre_softmax
        and c.moe_router_load_balancing_type != "sinkhorn"
    ):
        raise _Refused("one-expert-late-softmax", _transformer_config(2336), "top-k 1")
    _router_groups(r)


def _router_groups(r: _Run) -> None:
    """Check routing that is limited to groups of experts (lines 2338-2364)."""
    c = r.config
    if not c.moe_router_group_topk:
        return
    if c.moe_router_topk_limited_devices:
        raise _Refused("router-limited-twice", _transformer_config(2340), "devices and groups")
    if not c.moe_router_num_groups:
        raise _Refused("router-groups-missing", _transformer_config(2345), "no groups")
    if r.num_experts is None:
        raise _Refused("router-groups-dense", _transformer_config(2349), "no experts")
    if r.num_experts % c.moe_router_num_groups != 0:
        raise _Refused(
            "router-groups-uneven", _transformer_config(2349), f"{c.moe_router_num_groups}"
        )
    if c.moe_router_group_topk > c.moe_router_num_groups:
        raise _Refused(
            "router-groups-too-few", _transformer_config(2353), f"{c.moe_router_group_topk}"
        )


def _expert_overlap(r: _Run) -> None:
    """Check what stands in the way of overlapped expert dispatch (lines 2669-2713)."""
    c = r.config
    if not c.overlap_moe_expert_parallel_comm:
        return
    if c.pipeline_model_parallel_size > 1 and r.virtual is None:
        raise _Refused("expert-overlap-not-interleaved", _transformer_config(2675), "pp")
    if c.expert_model_parallel_size <= 1:
        raise _Refused("expert-overlap-without-ep", _transformer_config(2681), "ep 1")
    if c.moe_token_dispatcher_type == "allgather":
        raise _Refused("expert-overlap-allgather", _transformer_config(2683), "allgather")
    if r.recompute_granularity == "full":
        raise _Refused("expert-overlap-full-recompute", _transformer_config(2689), "full")
    if c.recompute_method is not None:
        raise _Refused("expert-overlap-method", _transformer_config(2692), c.recompute_method)
    if c.recompute_num_layers is not None:
        raise _Refused(
            "expert-overlap-layers", _transformer_config(2695), f"{c.recompute_num_layers}"
        )
    if "moe" in r.recompute_modules:
        raise _Refused("expert-overlap-moe-recompute", _transformer_config(2698), "moe")
    if not (c.bf16 or c.fp16):
        raise _Refused("expert-overlap-fp32", _transformer_config(2703), "fp32")
    if c.moe_shared_expert_overlap:
        raise _Refused("expert-overlap-shared", _transformer_config(2707), "shared overlap")
    if c.mtp_num_layers not in (None, 0, 1):
        raise _Refused("expert-overlap-mtp", _transformer_config(2709), f"{c.mtp_num_layers}")


def _delayed_gradients(r: _Run) -> None:
    """Tie delayed work to the overlap that it hides behind (lines 2748-2776)."""
    c = r.config
    overlap = c.overlap_moe_expert_parallel_comm
    if c.delay_wgrad_compute and not overlap:
        raise _Refused("delayed-gradients-alone", _transformer_config(2750), "no overlap")
    if c.overlap_dispatch_backward_with_experts_wgrad:
        if overlap:
            raise _Refused("two-expert-overlaps", _transformer_config(2760), "both are on")
        if not c.transformer_engine:
            raise _Refused("dispatch-overlap-local", _transformer_config(2764), "no TE")
    if c.ep_overlap_early_attn_memory_release and not overlap:
        raise _Refused("early-release-alone", _transformer_config(2773), "no overlap")


def _context_types(r: _Run) -> None:
    """Check how attention exchanges context: one way, or one for each layer (lines 2778-2851)."""
    c = r.config
    ways = c.cp_comm_type
    if c.context_parallel_size > 1 and len(ways) > 1 and len(ways) != c.num_layers:
        raise _Refused("context-types-not-layers", _transformer_config(2780), f"{len(ways)} types")
    if c.experimental_attention_variant != "dsa":
        return
    if r.apply_rope_fusion:
        raise _Refused("sparse-attention-rope-fusion", _transformer_config(2838), "fused rope")
    if c.context_parallel_size > 1:
        for way in ways:
            if way.replace("_", "").lower() != "allgather":
                raise _Refused("sparse-attention-context", _transformer_config(2845), way)


# The pipeline layout.


def _take_digits(text: str, start: int) -> tuple[str, int]:
    """Read the digits that begin at a position, and where they end."""
    end = start
    while end < len(text) and text[end].isdecimal():
        end += 1
    return text[start:end], end


def _repeated(unit: str, digits: str, length: int) -> str:
    """Repeat a unit, unless the layout gets longer than anyone means."""
    if len(digits) > 9 or length + len(unit) * int(digits) > LAYOUT_LIMIT:
        raise ValueError(f"pipeline_model_parallel_layout exceeds {LAYOUT_LIMIT} characters")
    return unit * int(digits)


def _repeat_groups(text: str) -> str:
    """Write out every `(...)*n`; a parenthesis without a factor stays as it is."""
    written = ""
    place = 0
    while place < len(text):
        if text[place] == "(":
            close = text.find(")", place)
            if close > place + 1 and text[close + 1 : close + 2] == "*":
                digits, end = _take_digits(text, close + 2)
                if digits:
                    written += _repeated(text[place + 1 : close], digits, len(written))
                    place = end
                    continue
        written += text[place]
        place += 1
    return written


def _repeat_letters(text: str) -> str:
    """Write out every `x*n`, where x is any one character."""
    written = ""
    place = 0
    while place < len(text):
        if text[place + 1 : place + 2] == "*" and text[place] != "\n":
            digits, end = _take_digits(text, place + 2)
            if digits:
                written += _repeated(text[place], digits, len(written))
                place = end
                continue
        written += text[place]
        place += 1
    return written


def parse_layout(text: str) -> list[list[str]]:
    """Read a pipeline layout: stages in the order of layers, each a list of E, t, m and L.

    Commas mean nothing, bars end a stage, factors repeat. Groups do not nest.
    Source: `pipeline_parallel_layer_layout.py` `parse_str_to_list`.
    """
    if len(text) > LAYOUT_LIMIT:
        raise ValueError(f"pipeline_model_parallel_layout exceeds {LAYOUT_LIMIT} characters")
    written = _repeat_letters(_repeat_groups(text.replace(",", "")))
    for letter in written:
        if letter not in "EtmL|":
            raise _Refused("layout-letter", _layout_at(315, "parse_str_to_list"), repr(letter))
    return [list(stage) for stage in written.split("|")]


def validate_layout(stages: list[list[str]], c: Config) -> None:
    """Check that a layout holds the model, in order.

    Source: `pipeline_parallel_layer_layout.py` `validate_layer_layout`.
    """
    flat = [letter for stage in stages for letter in stage]

    def refuse(rule: str, line: int, message: str) -> _Refused:
        return _Refused(rule, _layout_at(line, "validate_layer_layout"), message)

    if not flat or flat[0] != "E":
        raise refuse("layout-without-embedding-first", 95, "".join(flat[:1]))
    if flat[-1] != "L":
        raise refuse("layout-without-loss-last", 98, flat[-1])
    if flat.count("E") != 1:
        raise refuse("layout-embeddings", 103, f"{flat.count('E')} embeddings")
    if flat.count("L") != 1:
        raise refuse("layout-losses", 105, f"{flat.count('L')} losses")
    if flat.count("t") != c.num_layers:
        raise refuse("layout-layers", 106, f"{flat.count('t')} of {c.num_layers} layers")
    mtp = flat.count("m")
    if mtp != (c.mtp_num_layers or 0):
        raise refuse("layout-mtp-layers", 112, f"{mtp} MTP layers")
    if mtp == 0:
        return
    if "t" in flat[flat.index("m") :]:
        raise refuse("layout-mtp-early", 117, "a layer follows MTP")
    last_round = len(stages) - c.pipeline_model_parallel_size
    for place, stage in enumerate(stages):
        if "m" in stage and place < last_round:
            raise refuse("layout-mtp-inner-stage", 123, f"stage {place}")
    for place, stage in enumerate(stages):
        if "m" in stage and stage.count("m") != mtp:
            raise refuse("layout-mtp-split", 129, f"stage {place}")


# Groups: `initialize_model_parallel`.


def _groups(r: _Run) -> None:
    """Split the world for attention and again for experts.

    Source: `megatron/core/parallel_state.py` `initialize_model_parallel`.
    """
    c = r.config
    instances = c.num_distributed_optimizer_instances
    pp = c.pipeline_model_parallel_size
    if (r.gtp > 1 or r.expert_gtp > 1) and instances > 1:
        raise _Refused("weight-shards-with-instances", _groups_at(808), f"{instances} instances")
    expert_model = r.expert_tensor_parallel_size * c.expert_model_parallel_size * pp * r.expert_gtp
    if c.world_size % expert_model != 0:
        raise _Refused("expert-world-not-divisible", _groups_at(882), f"by {expert_model}")
    dp = r.data_parallel_size
    edp = c.world_size // expert_model
    r.expert_data_parallel_size = edp
    if c.use_tp_pp_dp_mapping and pp > 1 and edp != dp:
        raise _Refused("inner-pp-unequal-replicas", _groups_at(901), f"{edp} != {dp}")
    both = dp * c.context_parallel_size
    if both % instances != 0:
        raise _Refused("instances-not-divisible", _groups_at(922), f"{both} by {instances}")
    if c.hybrid_context_parallel and both % 2 != 0:
        raise _Refused("hybrid-context-odd", _groups_at(1044), f"{both} ranks")
    if c.pipeline_model_parallel_comm_backend == "ucc" and c.cuda_device_max_connections == 1:
        raise _Refused("ucc-one-connection", _groups_at(1206), "one connection")
    if edp % instances != 0:
        raise _Refused("expert-instances-not-divisible", _groups_at(1448), f"{edp}")


# Layers: what each pipeline stage builds.


def _layers(r: _Run) -> None:
    """Count the layers of every stage, rank after rank.

    Source: `megatron/core/transformer/transformer_block.py` `get_num_layers_to_build`.
    """
    rows: list[tuple[int, ...]] = []
    for rank in range(r.config.pipeline_model_parallel_size):
        row: list[int] = []
        for stage in range(r.virtual or 1):
            if r.layout is None:
                row.append(_layers_of(r, rank, stage))
            else:
                place = stage * r.config.pipeline_model_parallel_size + rank
                row.append(r.layout[place].count("t"))
        rows.append(tuple(row))
    r.layers_per_stage = tuple(rows)


def _layers_of_rank(c: Config, rank: int) -> int:
    """Count the layers of one rank, embedding and loss included (lines 93-152)."""
    pp = c.pipeline_model_parallel_size
    first = c.decoder_first_pipeline_num_layers
    last = c.decoder_last_pipeline_num_layers
    if first is None and last is None:
        layers = _accounted_layers(c)
        if layers % pp != 0:
            raise _Refused("built-layers-not-divisible", _layers_at(151), f"{layers} on {pp}")
        return layers // pp
    if last is not None and rank == pp - 1:
        return last
    if first is not None and rank == 0:
        return first
    middle = pp - (first is not None) - (last is not None)
    return (c.num_layers - (first or 0) - (last or 0)) // middle


def _layers_of(r: _Run, rank: int, stage: int) -> int:
    """Count the layers of one virtual stage (lines 154-196)."""
    c = r.config
    layers = _layers_of_rank(c, rank)
    if r.virtual is not None:
        if layers % r.virtual != 0:
            raise _Refused("built-rank-not-divisible", _layers_at(170), f"{layers} layers")
        layers //= r.virtual
    if c.account_for_embedding_in_pipeline_split and rank == 0 and stage == 0:
        layers -= 1
        if layers < 0:
            raise _Refused("no-room-for-embedding", _layers_at(189), f"{layers} < 0")
    at_end = rank == c.pipeline_model_parallel_size - 1 and stage == (r.virtual or 1) - 1
    if c.account_for_loss_in_pipeline_split and at_end:
        layers -= 1
        if layers < 0:
            raise _Refused("no-room-for-loss", _layers_at(195), f"{layers} < 0")
    return layers


# Model: the widths that are split.


def _divide(rule: str, whole: int, parts: int) -> None:
    """Refuse to split a width unevenly (`megatron/core/utils.py` `ensure_divisibility`)."""
    if whole % parts != 0:
        where = "megatron/core/utils.py:558 ensure_divisibility"
        raise _Refused(rule, where, f"{whole} by {parts}")


def _model(r: _Run) -> None:
    """Build the layers: attention before the MLP, experts before the shared one.

    Nothing is built where no stage has a layer. Sources: `megatron/core/transformer/attention.py`,
    `mlp.py`, `moe/moe_layer.py`; `dot_product_attention.py:58`.
    """
    c = r.config
    tp = c.tensor_model_parallel_size
    if any(count > 0 for row in r.layers_per_stage for count in row):
        if c.multi_latent_attention:
            _core_attention(c)
        else:
            _attention(r)
        if r.num_experts is None:
            _divide("ffn-not-divisible", r.ffn_hidden_size, tp)
        else:
            _dispatcher(r)
            _divide(
                "expert-ffn-not-divisible",
                r.moe_ffn_hidden_size or r.ffn_hidden_size,
                r.expert_tensor_parallel_size,
            )
            if c.moe_shared_expert_intermediate_size is not None:
                _divide("shared-ffn-not-divisible", c.moe_shared_expert_intermediate_size, tp)
    _wrapping(r)


def _dispatcher(r: _Run) -> None:
    """Make the token dispatcher, before any expert (`moe/token_dispatcher.py`)."""
    c = r.config
    if c.moe_token_dispatcher_type != "flex":
        return
    if r.expert_tensor_parallel_size * c.expert_model_parallel_size == 1:
        where = "megatron/core/transformer/moe/token_dispatcher.py:{} __init__"
        if c.moe_flex_dispatcher_backend == "deepep":
            raise _Refused("deepep-alone", where.format(1770), "one rank holds all experts")
        if c.moe_flex_dispatcher_backend == "ncclep":
            raise _Refused("nccl-alone", where.format(1788), "one rank holds all experts")


def _attention(r: _Run) -> None:
    """Split queries, keys and values (`megatron/core/transformer/attention.py`).

    Groups fewer than tensor-parallel ranks have to divide the heads (line 358); their projections
    are split all the same, so the joint width has to divide.
    """
    c = r.config
    tp = c.tensor_model_parallel_size
    if r.query_groups < tp:
        _divide("heads-not-divisible-by-groups", c.num_attention_heads, r.query_groups)
    _core_attention(c)
    width = (c.num_attention_heads + 2 * r.query_groups) * r.kv_channels
    _divide("attention-width-not-divisible", width, tp)


def _core_attention(c: Config) -> None:
    """Refuse to split a sequence without Transformer Engine, latent attention or not."""
    if c.transformer_impl != "local":
        return
    if c.multi_latent_attention:
        where = "megatron/core/transformer/spec_utils.py:120 build_module"
        raise _Refused("local-latent-attention", where, "widths of keys and values")
    if c.context_parallel_size > 1:
        where = "megatron/core/transformer/dot_product_attention.py:58 __init__"
        raise _Refused("local-attention-with-cp", where, f"cp {c.context_parallel_size}")


def _wrapping(r: _Run) -> None:
    """Wrap the model for data parallelism and set its optimizer up.

    Sources: `distributed_data_parallel.py` `__init__`; `optimizer_config.py` `__post_init__`.
    """
    c = r.config
    sharded = r.use_distributed_optimizer
    wraps = not (c.use_torch_fsdp2 or c.use_megatron_fsdp)
    if wraps and c.ddp_average_in_collective and c.calculate_per_token_loss:
        where = "megatron/core/distributed/distributed_data_parallel.py:181 __init__"
        raise _Refused("average-of-token-loss", where, "both are on")
    if wraps and c.num_distributed_optimizer_instances > 1 and not sharded:
        where = "megatron/core/distributed/distributed_data_parallel.py:294 __init__"
        raise _Refused("instances-unsharded", where, "no distributed optimizer")


# First step: what only a running step finds.


def _first_step(r: _Run) -> None:
    """Check the schedule, then the split of the sequence, then experts under tensor parallelism.

    Sources: `pipeline_parallel/schedules.py` `forward_backward_pipelining_with_interleaving`;
    `tensor_parallel/mappings.py` `_split_along_first_dim`; `moe/moe_layer.py` `forward`.
    """
    c = r.config
    tp = c.tensor_model_parallel_size
    if r.virtual is not None:
        _interleaved_schedule(r)
    rows = c.seq_length // c.context_parallel_size
    if r.sequence_parallel and rows % tp != 0:
        where = "megatron/core/tensor_parallel/mappings.py:73 _split_along_first_dim"
        raise _Refused("sequence-not-divisible-by-tp", where, f"{rows} tokens, tp {tp}")
    if r.num_experts is not None and tp > 1 and not r.sequence_parallel:
        where = "megatron/core/transformer/moe/moe_layer.py:630 forward"
        raise _Refused("experts-with-tp-without-sp", where, f"tp {tp}")


def _interleaved_schedule(r: _Run) -> None:
    """Deal micro-batches to virtual stages in groups (schedules.py:1133-1153)."""
    where = (
        "megatron/core/pipeline_parallel/schedules.py:{} "
        "forward_backward_pipelining_with_interleaving"
    )
    pp = r.config.pipeline_model_parallel_size
    group = r.microbatch_group
    if group > r.num_microbatches or group < pp:
        raise _Refused(
            "microbatch-group-range", where.format(1141), f"{pp}, {group}, {r.num_microbatches}"
        )
    if 0 < r.num_microbatches % group < pp:
        raise _Refused(
            "microbatch-remainder", where.format(1153), f"{r.num_microbatches % group} < {pp}"
        )


def _attention_library(r: _Run) -> None:
    """Check the all-to-all exchange of context, which splits heads; read, never run here.

    Source: Transformer Engine, `attention/dot_product_attention/context_parallel.py`.
    """
    c = r.config
    cp = c.context_parallel_size
    if c.transformer_impl != "transformer_engine" or cp == 1:
        return
    where = "transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py"
    tp = c.tensor_model_parallel_size
    for way in c.cp_comm_type:
        if way not in ("p2p", "a2a", "all_gather", "a2a+p2p"):
            raise _Refused("unknown-context-type", where, way)
        if way == "a2a":
            groups = max(1, r.query_groups // tp)
            if (c.num_attention_heads // tp) % cp != 0 or groups % cp != 0:
                raise _Refused("context-heads-not-divisible", where, f"cp {cp}")


STEPS: dict[str, Callable[[_Run], None]] = {
    "arguments": _arguments,
    "batch": _batch,
    "config": _config,
    "groups": _groups,
    "layers": _layers,
    "model": _model,
    "first-step": _first_step,
    "attention-library": _attention_library,
}
"""The places of refusal in the order of the training script.

`set_global_variables` makes the batch calculator before the script makes the config, and groups
exist before the model is built. Whoever uses the library alone may visit them in another order.
"""


def _derive(r: _Run) -> Derived:
    """Collect what follows from an accepted configuration."""
    c = r.config
    dp = r.data_parallel_size
    cp = c.context_parallel_size
    edp = r.expert_data_parallel_size
    instances = c.num_distributed_optimizer_instances
    return Derived(
        data_parallel_size=dp,
        expert_data_parallel_size=edp,
        expert_tensor_parallel_size=r.expert_tensor_parallel_size,
        gtp_weight_remat_size=r.gtp,
        expert_gtp_weight_remat_size=r.expert_gtp,
        sequence_parallel=r.sequence_parallel,
        virtual_pipeline_model_parallel_size=r.virtual,
        microbatch_group_size_per_vp_stage=r.microbatch_group,
        overlap_p2p_comm=r.overlap_p2p_comm,
        global_batch_size=r.global_batch_size,
        running_global_batch_size=r.running_global_batch_size,
        num_microbatches=r.num_microbatches,
        num_experts=r.num_experts,
        layers_per_stage=r.layers_per_stage,
        use_distributed_optimizer=r.use_distributed_optimizer,
        overlap_param_gather=r.overlap_param_gather,
        recompute_granularity=r.recompute_granularity,
        optimizer_shard_size=dp * cp // instances,
        expert_optimizer_shard_size=edp // instances,
        order="tp-cp-ep-pp-dp" if c.use_tp_pp_dp_mapping else "tp-cp-ep-dp-pp",
        group_sizes={
            "tp": c.tensor_model_parallel_size,
            "pp": c.pipeline_model_parallel_size,
            "cp": cp,
            "dp": dp,
            "dp_cp": dp * cp,
            "ep": c.expert_model_parallel_size,
            "etp": r.expert_tensor_parallel_size,
            "edp": edp,
        },
    )


def check(config: Config, *, steps: tuple[str, ...] = tuple(STEPS)) -> Verdict:
    """Visit the steps in order: the first refusal, or acceptance with what follows from it.

    A step reads what earlier ones derive: keep arguments, batch and config in front.
    Raise ValueError for what is no configuration: a missing or absurd number, an unknown choice.
    """
    _validate_input(config)
    run = _Run(config)
    for stage in steps:
        try:
            STEPS[stage](run)
        except _Refused as refused:
            return Verdict(
                accepted=False,
                stage=stage,
                rule=refused.rule,
                where=refused.where,
                message=refused.message,
            )
    return Verdict(accepted=True, derived=_derive(run))
