"""Every field of the accelerate profile, with the arguments of ``accelerate launch``."""

from parsolve.constraints import cluster
from parsolve.constraints.fields import Choice, Flag, Size

AXES = "Parallel axes"
BATCH = "Batch"
RUN = "Training run"

world_size = cluster.world_size
gpus_per_node = cluster.stated_gpus_per_node
nvlink_domain_size = cluster.stated_nvlink_domain_size


def _size(name: str, flag: str, about: str, *also: str, divides: str = "world_size") -> Size:
    return Size(
        name,
        minimum=1,
        checked=True,
        divides=divides,
        panel=AXES,
        flag=flag,
        launch=f"parallelism_config_{name}",
        also=also,
        about=about,
        env=f"PARALLELISM_CONFIG_{name.upper()}",
    )


dp_replicate_size = _size(
    "dp_replicate_size", "dp-replicate", "Replicas of the model, or of its shards (HSDP)."
)
dp_shard_size = _size(
    "dp_shard_size",
    "dp-shard",
    "Data-parallel ranks that FSDP shards over; not derived, 1 where it is not given.",
)
tp_size = _size(
    "tp_size",
    "tp",
    "Tensor-parallel size: ranks that split each layer.",
    "tensor_parallel_size",
)
cp_size = _size(
    "cp_size",
    "cp",
    "Context-parallel size: ranks that split each sequence, in a ring (FSDP2).",
    "context_parallel_size",
)
sp_size = _size(
    "sp_size",
    "sp",
    "Sequence-parallel size: ranks that exchange the sequence for heads (DeepSpeed's Ulysses).",
    "sequence_parallel_size",
    divides="",
)
cp_backend = Choice(
    "cp_backend",
    default="torch",
    choices=("torch",),
    checked=True,
    panel=AXES,
    flag="cp-backend",
    launch="parallelism_config_cp_backend",
    about="What context parallelism runs on.",
)
cp_comm_strategy = Choice(
    "cp_comm_strategy",
    default="allgather",
    choices=("allgather", "alltoall"),
    checked=True,
    panel=AXES,
    flag="cp-comm-strategy",
    launch="parallelism_config_cp_comm_strategy",
    about="How context parallelism exchanges keys and values.",
)
sp_backend = Choice(
    "sp_backend",
    default="deepspeed",
    choices=("deepspeed",),
    checked=True,
    panel=AXES,
    flag="sp-backend",
    launch="parallelism_config_sp_backend",
    about="What sequence parallelism runs on.",
)
sp_attention = Choice(
    "sp_attention",
    default="sdpa",
    choices=(
        "sdpa",
        "flash_attention_2",
        "flash_attention_3",
        "kernels-community/flash-attn2",
        "eager",
        "flex_attention",
    ),
    panel=AXES,
    flag="sp-attention",
    launch="parallelism_config_sp_attn_implementation",
    also=("sp_attn_implementation",),
    about="Attention under sequence parallelism; kernels-community/flash-attn2 stands for any "
    "such kernel of the hub.",
)
variable_seq_length = Flag(
    "variable_seq_length",
    default=True,
    panel=AXES,
    flag="variable-seq-length",
    also=("sp_seq_length_is_variable",),
    about="Under sequence parallelism, batches may differ in length.",
)
seq_length = Size(
    "seq_length",
    default=None,
    optional=True,
    minimum=1,
    panel=BATCH,
    flag="seq-length",
    launch="parallelism_config_sp_seq_length",
    also=("sp_seq_length", "max_length", "sequence_length"),
    about="Tokens per sequence.",
)
micro_batch = Size(
    "micro_batch",
    default=None,
    optional=True,
    minimum=1,
    panel=BATCH,
    flag="micro-batch",
    also=("micro_batch_size", "per_device_train_batch_size"),
    about="Sequences per data-parallel rank and forward pass.",
)
gradient_accumulation_steps = Size(
    "gradient_accumulation_steps",
    minimum=1,
    panel=BATCH,
    flag="gradient-accumulation-steps",
    about="Forward passes per optimizer step.",
)
distributed = Choice(
    "distributed",
    default="fsdp2",
    choices=("fsdp2", "fsdp1", "ddp", "deepspeed"),
    panel=RUN,
    flag="distributed",
    also=("distributed_type",),
    said=(
        ("fsdp2", "--use_fsdp --fsdp_version 2 --use_parallelism_config"),
        ("fsdp1", "--use_fsdp --fsdp_version 1"),
        ("ddp", "--multi_gpu"),
        ("deepspeed", "--use_deepspeed"),
    ),
    about="What accelerate wraps the model with.",
)
launcher = Choice(
    "launcher",
    default="accelerate",
    choices=("accelerate",),
    panel=RUN,
    flag="launcher",
    about="Process launcher.",
)

FIELDS = (
    world_size,
    gpus_per_node,
    nvlink_domain_size,
    dp_replicate_size,
    dp_shard_size,
    tp_size,
    cp_size,
    sp_size,
    cp_backend,
    cp_comm_strategy,
    sp_backend,
    sp_attention,
    variable_seq_length,
    seq_length,
    micro_batch,
    gradient_accumulation_steps,
    distributed,
    launcher,
)
