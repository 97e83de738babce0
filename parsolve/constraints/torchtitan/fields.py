"""Every field of the torchtitan profile, with torchtitan's own arguments."""

from parsolve.constraints import cluster, experts
from parsolve.constraints.fields import Choice, Flag, Size
from parsolve.constraints.memory import facts

AXES = "Parallel axes"
PIPELINE = "Pipeline"
BATCH = "Batch and sequence"
MODEL = "Model"
RUN = "Training run"

world_size = cluster.world_size
gpus_per_node = cluster.stated_gpus_per_node
nvlink_domain_size = cluster.stated_nvlink_domain_size
num_experts = facts.num_experts
num_hidden_layers = facts.num_hidden_layers


def _axis(name: str, flag: str, word: str, about: str) -> Size:
    return Size(
        name,
        minimum=1,
        checked=True,
        divides="world_size",
        panel=AXES,
        flag=flag,
        launch=f"parallelism.{word}_degree",
        also=(f"{word}_degree",),
        about=about,
    )


def _count(
    name: str,
    panel: str,
    flag: str,
    launch: str,
    default: int | None,
    about: str,
    *also: str,
    minimum: int = 1,
    checked: bool = False,
) -> Size:
    return Size(
        name,
        default=default,
        optional=default is None,
        minimum=minimum,
        checked=checked,
        panel=panel,
        flag=flag,
        launch=launch,
        also=(*also, launch.rpartition(".")[2]),
        about=about,
    )


dp_replicate_size = _axis(
    "dp_replicate_size",
    "dp-replicate",
    "data_parallel_replicate",
    "Replicas of the model, or of its shards (HSDP).",
)
dp_shard_size = Size(
    "dp_shard_size",
    default=-1,
    minimum=-1,
    checked=True,
    panel=AXES,
    flag="dp-shard",
    launch="parallelism.data_parallel_shard_degree",
    also=("data_parallel_shard_degree",),
    about="Data-parallel ranks that FSDP shards over; -1 means what the other sizes leave.",
)
tp_size = _axis(
    "tp_size", "tp", "tensor_parallel", "Tensor-parallel size: ranks that split each layer."
)
pp_size = _axis(
    "pp_size", "pp", "pipeline_parallel", "Pipeline-parallel size: ranks that split the layers."
)
cp_size = _axis(
    "cp_size", "cp", "context_parallel", "Context-parallel size: ranks that split each sequence."
)
ep_size = _axis(
    "ep_size",
    "ep",
    "expert_parallel",
    "Expert-parallel size: ranks that the experts of a layer are spread over, taken from "
    "dp_shard, cp and tp.",
)
sequence_parallel = Flag(
    "sequence_parallel",
    default=True,
    panel=AXES,
    flag="sequence-parallel",
    launch="parallelism.enable_sequence_parallel",
    launch_off="parallelism.no-enable_sequence_parallel",
    also=("enable_sequence_parallel",),
    about="Split norms and residuals over the tensor-parallel ranks too.",
)
spmd_backend = Choice(
    "spmd_backend",
    default="spmd_types",
    choices=("partial_dtensor", "full_dtensor", "spmd_types"),
    panel=AXES,
    flag="spmd-backend",
    launch="parallelism.spmd_backend",
    about="What places tensors on the meshes.",
)
spmd_typechecking = Flag(
    "spmd_typechecking",
    panel=AXES,
    flag="spmd-typechecking",
    launch="debug.spmd_typechecking",
    about="Check the placement of every tensor while training.",
)
ep_dispatcher = Choice(
    "ep_dispatcher",
    default="standard",
    choices=("standard", "deepep", "hybridep", "minimal_async_ep"),
    panel=AXES,
    flag="ep-dispatcher",
    also=("moe_comm_backend",),
    about="What sends tokens to experts; the model's configuration states it.",
)
static_dispatch = Flag(
    "static_dispatch",
    panel=AXES,
    flag="static-dispatch",
    also=("non_blocking_capacity_factor",),
    about="HybridEP has a non-blocking capacity factor, so that it never waits for the host.",
)
pp_schedule = Choice(
    "pp_schedule",
    default="1F1B",
    choices=(
        "1F1B",
        "GPipe",
        "Interleaved1F1B",
        "LoopedBFS",
        "InterleavedZeroBubble",
        "ZBVZeroBubble",
        "DualPipeV",
    ),
    aliases=(("1f1b", "1F1B"), ("gpipe", "GPipe"), ("interleaved", "Interleaved1F1B")),
    panel=PIPELINE,
    flag="pp-schedule",
    launch="parallelism.pipeline_parallel_schedule",
    also=("pipeline_parallel_schedule",),
    about="Pipeline schedule; all but the first two give a rank several stages.",
)
layers_per_stage = _count(
    "layers_per_stage",
    PIPELINE,
    "layers-per-stage",
    "parallelism.pipeline_parallel_layers_per_stage",
    None,
    "Layers of a stage; without it, every rank has one stage, or two.",
)
first_stage_less = _count(
    "first_stage_less",
    PIPELINE,
    "first-stage-less",
    "parallelism.pipeline_parallel_first_stage_less_layers",
    1,
    "Layers that the embedding counts as.",
    minimum=0,
)
last_stage_less = _count(
    "last_stage_less",
    PIPELINE,
    "last-stage-less",
    "parallelism.pipeline_parallel_last_stage_less_layers",
    1,
    "Layers that the output layer counts as.",
    minimum=0,
)
pp_microbatch = _count(
    "pp_microbatch",
    PIPELINE,
    "pp-microbatch",
    "parallelism.pipeline_parallel_microbatch_size",
    1,
    "Sequences of a pipeline's micro-batch.",
    checked=True,
)
micro_batch = _count(
    "micro_batch",
    BATCH,
    "micro-batch",
    "training.local_batch_size",
    8,
    "Sequences per data-parallel rank and pass, of which a pipeline makes micro-batches.",
    "micro_batch_size",
)
requested_global_batch = _count(
    "requested_global_batch",
    BATCH,
    "global-batch",
    "training.global_batch_size",
    None,
    "Sequences per optimizer step over all GPUs: accumulation follows from it.",
)
seq_length = _count(
    "seq_length",
    BATCH,
    "seq-length",
    "training.seq_len",
    2048,
    "Tokens per sequence.",
    "max_length",
    "sequence_length",
)
disable_cuda_graphs = Flag(
    "disable_cuda_graphs",
    panel=RUN,
    flag="disable-cuda-graphs",
    launch="training.disable_cuda_graphs",
    about="Record no CUDA graphs, which neither pipelines nor most expert dispatchers allow.",
)
activation_checkpoint = Choice(
    "activation_checkpoint",
    default="selective",
    choices=("none", "selective", "full"),
    panel=RUN,
    flag="recompute",
    about="Activations computed again in the backward pass: activation-checkpoint:full and such.",
)
launcher = Choice(
    "launcher",
    default="torchrun",
    choices=("torchrun",),
    panel=RUN,
    flag="launcher",
    about="Process launcher.",
)
model_kind = experts.model_kind
tied_embeddings = Flag(
    "tied_embeddings",
    role="model",
    panel=MODEL,
    flag="tied-embeddings",
    also=("tie_word_embeddings",),
    about="Embedding and output layer share their weight.",
)


def _of_model(name: str, flag: str, about: str, *also: str) -> Size:
    return Size(
        name,
        default=None,
        optional=True,
        minimum=1,
        role="model",
        panel=MODEL,
        flag=flag,
        also=also,
        about=about,
    )


num_attention_heads = _of_model(
    "num_attention_heads", "heads", "Attention heads of the first layer with attention."
)
num_key_value_heads = _of_model(
    "num_key_value_heads", "kv-heads", "Key/value heads; unset means one per attention head."
)
max_position_embeddings = _of_model(
    "max_position_embeddings",
    "context-window",
    "Tokens of the longest sequence that the model's RoPE allows.",
)

FIELDS = (
    world_size,
    gpus_per_node,
    nvlink_domain_size,
    dp_replicate_size,
    dp_shard_size,
    tp_size,
    pp_size,
    cp_size,
    ep_size,
    sequence_parallel,
    spmd_backend,
    spmd_typechecking,
    ep_dispatcher,
    static_dispatch,
    pp_schedule,
    layers_per_stage,
    first_stage_less,
    last_stage_less,
    pp_microbatch,
    micro_batch,
    requested_global_batch,
    seq_length,
    disable_cuda_graphs,
    activation_checkpoint,
    launcher,
    model_kind,
    tied_embeddings,
    num_experts,
    num_attention_heads,
    num_key_value_heads,
    max_position_embeddings,
    num_hidden_layers,
)
