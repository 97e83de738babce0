"""Every field of the generic profile: the cluster, the axes, the batch, the model, precision."""

from dataclasses import dataclass

from parsolve.constraints import cluster, experts
from parsolve.constraints.batch import requested
from parsolve.constraints.fields import (
    Choice,
    Flag,
    Size,
    Sizes,
)
from parsolve.constraints.memory import facts, policy
from parsolve.constraints.memory.policy import policy_field

CLUSTER = "Cluster"
AXES = "Parallel axes"
BATCH = "Batch"
SHARDING = "ZeRO and FSDP"
PRECISION = "Precision"
MODEL = "Model"
RUN = "Training run"

# --- cluster --------------------------------------------------------------------------------

world_size = cluster.world_size
gpus_per_node = cluster.stated_gpus_per_node
nvlink_domain_size = cluster.stated_nvlink_domain_size
gpu_memory = facts.gpu_memory
model_kind = experts.model_kind

# --- axes -----------------------------------------------------------------------------------


def _axis(name: str, flag: str, also: str, about: str) -> Size:
    return Size(
        name, minimum=1, divides="world_size", panel=AXES, flag=flag, also=(also,), about=about
    )


tp_size = _axis(
    "tp_size",
    "tp",
    "tensor_parallel_size",
    "Tensor-parallel size: ranks that split each layer.",
)
pp_size = _axis(
    "pp_size",
    "pp",
    "pipeline_parallel_size",
    "Pipeline-parallel size: stages that split the layers.",
)
cp_size = _axis(
    "cp_size",
    "cp",
    "context_parallel_size",
    "Context-parallel size: ranks that split each sequence.",
)
ep_size = _axis(
    "ep_size",
    "ep",
    "expert_parallel_size",
    "Expert-parallel size: ranks that the experts of a layer are spread over.",
)
expert_tp_size = _axis(
    "expert_tp_size",
    "etp",
    "expert_tensor_parallel_size",
    "Expert-tensor-parallel size: ranks that split each expert (unset: 1, not tp).",
)
cp_kind = Choice(
    "cp_kind",
    default="ring",
    choices=("ring", "ulysses"),
    panel=AXES,
    flag="cp-kind",
    about="How context parallelism exchanges: keys and values around a ring, or heads at once.",
)
sequence_parallel = Flag(
    "sequence_parallel",
    panel=AXES,
    flag="sequence-parallel",
    also=("sp",),
    about="Split norms, dropouts and residuals over the tensor-parallel ranks too.",
)
pp_schedule = Choice(
    "pp_schedule",
    default="1f1b",
    choices=("gpipe", "1f1b", "interleaved"),
    panel=AXES,
    flag="pp-schedule",
    about="Pipeline schedule.",
)
virtual_stages = Size(
    "virtual_stages",
    default=1,
    minimum=1,
    panel=AXES,
    flag="virtual-stages",
    also=("virtual_pipeline_parallel_size", "vpp"),
    about="Chunks of layers per rank of an interleaved pipeline.",
)

# --- batch ----------------------------------------------------------------------------------


POWERS = (1, 2, 4, 8, 16, 32, 64)
"""Micro-batches, and numbers of them, that a search tries."""


def _count(name: str, flag: str, about: str, *also: str, tried: tuple[int, ...] = ()) -> Size:
    return Size(
        name,
        default=None,
        optional=True,
        minimum=1,
        panel=BATCH,
        flag=flag,
        also=also,
        about=about,
        tried=tried,
    )


micro_batch = _count(
    "micro_batch",
    "micro-batch",
    "Sequences per data-parallel rank and forward pass.",
    "micro_batch_size",
    "per_device_train_batch_size",
    tried=POWERS,
)
requested_global_batch = requested(BATCH)
gradient_accumulation_steps = _count(
    "gradient_accumulation_steps",
    "gradient-accumulation-steps",
    "Forward passes, or runs of the pipeline, per optimizer step.",
    tried=POWERS,
)
num_microbatches = _count(
    "num_microbatches",
    "num-microbatches",
    "Micro-batches in one run of the pipeline.",
    tried=POWERS,
)
seq_length = _count(
    "seq_length", "seq-length", "Tokens per sequence.", "max_length", "sequence_length", "seq_len"
)

# --- sharding -------------------------------------------------------------------------------

dp_replicate_size = Size(
    "dp_replicate_size",
    minimum=1,
    divides="world_size",
    panel=SHARDING,
    flag="dp-replicate",
    also=("data_parallel_replicate_degree",),
    about="Replicas of the sharded states (HSDP); 1 shards over every data-parallel rank.",
)


@dataclass(frozen=True, eq=False)
class Level(Choice):
    """A choice between numbers, taken as a number or as text."""

    def parse(self, value: object) -> str:
        """Return the label, or raise `FieldError`."""
        return Choice.parse(self, str(value) if type(value) is int else value)


zero_stage = Level(
    "zero_stage",
    default="3",
    choices=("0", "1", "2", "3"),
    panel=SHARDING,
    flag="zero",
    also=("zero",),
    about="ZeRO stage: 0 shards nothing, 1 optimizer state, 2 gradients too, 3 (FSDP) weights too.",
)
reshard_after_forward = Flag(
    "reshard_after_forward",
    default=True,
    panel=SHARDING,
    flag="reshard-after-forward",
    about="ZeRO-3: give up gathered weights after the forward pass; else they stay.",
)
optimizer_offload = Flag(
    "optimizer_offload",
    panel=SHARDING,
    flag="optimizer-offload",
    about="Keep optimizer state in host memory and step there.",
)

# --- precision ------------------------------------------------------------------------------

precision_policy = policy_field("mixed-adam")
weight_bytes = policy.weight_bytes
gradient_bytes = policy.gradient_bytes
optimizer_bytes = policy.optimizer_bytes

# --- model ----------------------------------------------------------------------------------

model_changes = facts.model_changes
num_experts = facts.num_experts
num_experts_per_tok = facts.num_experts_per_tok
moe_intermediate_size = facts.moe_intermediate_size
hidden_size = facts.hidden_size
num_attention_heads = Sizes(
    name="num_attention_heads",
    minimum=1,
    role="model",
    panel=MODEL,
    flag="heads",
    about="Attention heads; several numbers where layers differ, separated by commas.",
)
num_key_value_heads = Sizes(
    name="num_key_value_heads",
    minimum=1,
    role="model",
    panel=MODEL,
    flag="kv-heads",
    also=("num_query_groups",),
    about="Key/value heads; several numbers where layers differ, separated by commas.",
)
mla = Flag(
    "mla",
    role="model",
    panel=MODEL,
    flag="mla",
    about="Multi-head latent attention (kv_lora_rank or qk_rope_head_dim is set).",
)

# --- training run ---------------------------------------------------------------------------

launcher = Choice(
    "launcher",
    default="torchrun",
    choices=("torchrun", "accelerate", "deepspeed"),
    panel=RUN,
    flag="launcher",
    about="Process launcher.",
)
recompute = Choice(
    "recompute",
    default="none",
    choices=("none", "selective", "full"),
    panel=RUN,
    flag="recompute",
    also=("activation_checkpointing",),
    about="Activations computed again in the backward pass: none, attention scores, whole layers.",
)
attention = Choice(
    "attention",
    default="flash",
    choices=("flash", "eager"),
    panel=RUN,
    flag="attention",
    about="Attention that keeps no scores (flash), or all of them (eager).",
)
lora_rank = Size(
    "lora_rank",
    default=None,
    optional=True,
    minimum=1,
    panel=RUN,
    flag="lora-r",
    also=("lora_r",),
    about="Train LoRA adapters of this rank on every linear layer outside the experts.",
)
fused_linear_cross_entropy = Flag(
    "fused_linear_cross_entropy",
    panel=RUN,
    flag="fused-linear-cross-entropy",
    also=("flce",),
    about="The loss is computed chunk by chunk from the hidden states; logits are never whole.",
)

NAMED_FIELDS = tuple(
    value for value in list(globals().values()) if isinstance(value, (Size, Flag, Choice, Sizes))
)
FIELDS = (*NAMED_FIELDS, *facts.FACTS)
