"""Where Megatron-Core 0.19.2 decides: its files, and the lines that raise."""

from parsolve.constraints.rule import Source

VERSION = "0.19.2"

_ARGUMENTS = "megatron/training/arguments.py"
_CONFIG = "megatron/core/transformer/transformer_config.py"
_PARALLEL_CONFIG = "megatron/core/model_parallel_config.py"
_GROUPS = "megatron/core/parallel_state.py"
_BLOCK = "megatron/core/transformer/transformer_block.py"
_LAYOUT = "megatron/core/transformer/pipeline_parallel_layer_layout.py"


def arguments(*lines: int) -> Source:
    """The checks of the command line, before anything else runs."""
    return Source(_ARGUMENTS, "validate_args", lines)


def config(*lines: int) -> Source:
    """The model's configuration object."""
    return Source(_CONFIG, "__post_init__", lines)


def parallel_config(*lines: int) -> Source:
    """The parallel half of that object."""
    return Source(_PARALLEL_CONFIG, "__post_init__", lines)


def groups(*lines: int) -> Source:
    """The process groups."""
    return Source(_GROUPS, "initialize_model_parallel", lines)


def block(*lines: int) -> Source:
    """The number of layers that a stage builds."""
    return Source(_BLOCK, "get_num_layers_to_build", lines)


def layout(*lines: int) -> Source:
    """The layout that states every stage."""
    return Source(_LAYOUT, "validate_layer_layout", lines)


SHARDS = Source(_PARALLEL_CONFIG, "resolve_tensor_parallel_weight_shards", (32, 37))
CALCULATOR = Source("megatron/core/num_microbatches_calculator.py", "__init__", (381,))
NO_MICRO_BATCH = Source("megatron/core/num_microbatches_calculator.py", "__init__", (390,))
BUILD_MODULE = Source("megatron/core/transformer/spec_utils.py", "build_module", (120,))
_DISPATCHER = "megatron/core/transformer/moe/token_dispatcher.py"
FLEX_DISPATCHER = Source(_DISPATCHER, "__init__", (1770, 1788))
NCCL_DISPATCH = Source(_DISPATCHER, "__init__", (1564,))
GROUPED_EXPERTS = Source("megatron/core/transformer/moe/experts.py", "__init__", (204,))
DIVIDE = Source("megatron/core/utils.py", "ensure_divisibility", (558,))
MOE_LAYER = Source("megatron/core/transformer/moe/moe_layer.py", "forward", (630,))
SCATTER = Source("megatron/core/tensor_parallel/mappings.py", "_split_along_first_dim", (73,))
SCHEDULE = "megatron/core/pipeline_parallel/schedules.py"
INTERLEAVED = "forward_backward_pipelining_with_interleaving"
LOCAL_ATTENTION = Source("megatron/core/transformer/dot_product_attention.py", "__init__", (58,))
OPTIMIZER_CONFIG = Source(
    "megatron/core/optimizer/optimizer_config.py", "__post_init__", (432, 435)
)
DDP = Source("megatron/core/distributed/distributed_data_parallel.py", "__init__", (293,))
ENGINE = Source(
    "transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py",
    "attn_forward_func_with_cp",
)
