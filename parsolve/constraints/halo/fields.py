"""Every field of the halo profile.

They are the framework's configuration object, its entry script's arguments, and the facts of
the model and of the training run that its gates read. Names, defaults and legal values follow
`ParallelismConfig` in ``src/distributed/parallelism_config.py`` and the arguments in
``src/args/``.
"""

from parsolve.constraints import experts
from parsolve.constraints.batch import requested
from parsolve.constraints.fields import (
    LARGEST_CLUSTER,
    Choice,
    Flag,
    Size,
    Sizes,
)
from parsolve.constraints.memory import facts, policy
from parsolve.constraints.memory.policy import policy_field

POWERS = (1, 2, 4, 8, 16, 32, 64)
"""Micro-batches, and numbers of them, that a search tries."""

CLUSTER = "Cluster"
AXES = "Parallel axes"
EXPERTS = "Expert dispatch"
PIPELINE = "Pipeline"
SHARDING = "FSDP and HSDP"
PRECISION = "Precision"
ENTRY = "Entry script"
MODEL = "Model"
RUN = "Training run"

# --- cluster --------------------------------------------------------------------------------

world_size = Size(
    "world_size",
    default=0,
    minimum=1,
    maximum=LARGEST_CLUSTER,
    role="cluster",
    panel=CLUSTER,
    flag="world",
    below="halo never checks this: a configuration object built by hand takes any world",
    about="World size: GPUs in the job, one rank each.",
)
gpus_per_node = Size(
    "gpus_per_node",
    zero="auto",
    checked=True,
    default=0,
    maximum=LARGEST_CLUSTER,
    role="cluster",
    panel=CLUSTER,
    flag="gpus-per-node",
    about="GPUs per OS node; 0 means 8, or the world if smaller.",
)
nvlink_domain_size = Size(
    "nvlink_domain_size",
    zero="auto",
    checked=True,
    default=0,
    maximum=LARGEST_CLUSTER,
    role="cluster",
    panel=CLUSTER,
    flag="nvlink-domain",
    launch="nvlink_domain_size",
    also=("domain",),
    about="GPUs per NVLink domain; 0 means NVLINK_DOMAIN_SIZE if set, else the node.",
)
nvlink_domain_env = Size(
    "nvlink_domain_env",
    zero="unset",
    checked=True,
    default=0,
    maximum=LARGEST_CLUSTER,
    role="cluster",
    panel=CLUSTER,
    env="NVLINK_DOMAIN_SIZE",
    ignored=-1,
    about="Value of the environment variable NVLINK_DOMAIN_SIZE; 0 means unset.",
)

gpu_memory = facts.gpu_memory

# --- axes -----------------------------------------------------------------------------------

tp_size = Size(
    "tp_size",
    checked=True,
    minimum=1,
    divides="world_size",
    panel=AXES,
    flag="tp",
    launch="tensor_parallel_size",
    about="Tensor-parallel size: ranks that split each attention layer.",
)
cp_size = Size(
    "cp_size",
    checked=True,
    minimum=1,
    divides="world_size",
    panel=AXES,
    flag="cp",
    launch="context_parallel_size",
    about="Context-parallel size: ranks that split each sequence (Ulysses).",
)
ep_size = Size(
    "ep_size",
    checked=True,
    minimum=1,
    divides="world_size",
    panel=AXES,
    flag="ep",
    launch="expert_parallel_size",
    about="Expert-parallel size: ranks that one dispatch group spreads the experts over.",
)
expert_tp_size = Size(
    "expert_tp_size",
    checked=True,
    minimum=1,
    divides="world_size",
    panel=AXES,
    flag="etp",
    launch="expert_tensor_parallel_size",
    about="Expert-tensor-parallel size: ranks that split each expert.",
)
pp_size = Size(
    "pp_size",
    checked=True,
    minimum=1,
    divides="world_size",
    panel=AXES,
    flag="pp",
    launch="pipeline_parallel_size",
    about="Pipeline-parallel size: stages that split the layers.",
)

# --- expert dispatch ------------------------------------------------------------------------

ep_scope = Choice(
    "ep_scope",
    default="auto",
    choices=("auto", "node", "global"),
    checked=True,
    panel=EXPERTS,
    flag="ep-scope",
    launch="ep_scope",
    about="Where an EP group lives: one NVLink domain (node), all of them (global), or auto.",
)
ep_buffer_backend = Choice(
    "ep_buffer_backend",
    default="auto",
    choices=("auto", "elastic", "legacy"),
    checked=True,
    panel=EXPERTS,
    flag="ep-buffer-backend",
    launch="ep_buffer_backend",
    about="DeepEP buffer: elastic (what auto means) or legacy (intranode).",
)
use_grouped_gemm = Flag(
    "use_grouped_gemm",
    default=True,
    panel=EXPERTS,
    flag="use-grouped-gemm",
    launch="use_grouped_gemm",
    about="Run experts as grouped GEMMs (wraps MoE blocks even without EP).",
)
expert_lora = Flag(
    "expert_lora",
    object_or_null=True,
    panel=EXPERTS,
    flag="expert-lora",
    about="Train native LoRA adapters on the experts.",
)
merge_expert_lora_on_save = Flag(
    "merge_expert_lora_on_save",
    panel=EXPERTS,
    flag="merge-expert-lora-on-save",
    launch="merge_expert_lora_on_save",
    about="Fold expert adapters into the weights when saving.",
)
max_concurrent_loading = Size(
    "max_concurrent_loading",
    checked=True,
    default=None,
    optional=True,
    panel=EXPERTS,
    flag="max-concurrent-loading",
    launch="max_concurrent_loading",
    about="Ranks that load weights at once; unset means all.",
)
ep_lazy_loading = Flag(
    "ep_lazy_loading",
    default=True,
    panel=EXPERTS,
    flag="ep-lazy-loading",
    launch="ep_lazy_loading",
    about="Load only a rank's own experts (no rule reads it).",
)

# --- pipeline -------------------------------------------------------------------------------

pp_schedule = Choice(
    "pp_schedule",
    default="1f1b",
    choices=("1f1b", "gpipe"),
    checked=True,
    panel=PIPELINE,
    flag="pp-schedule",
    launch="pipeline_schedule",
    about="Pipeline schedule.",
)
pp_microbatches = Size(
    "pp_microbatches",
    checked=True,
    default=0,
    panel=PIPELINE,
    flag="pp-microbatches",
    launch="pipeline_microbatches",
    about="Micro-batches per step; 0 derives them from gradient accumulation.",
)
pp_split = Sizes(
    name="pp_split",
    panel=PIPELINE,
    flag="pp-split",
    launch="pipeline_split",
    about="Layers per stage, one number a stage, separated by commas.",
)

# --- sharding -------------------------------------------------------------------------------

fsdp_reshard_after_forward = Flag(
    "fsdp_reshard_after_forward",
    panel=SHARDING,
    flag="fsdp-reshard-after-forward",
    launch="fsdp_reshard_after_forward",
    about="ZeRO-3: shard parameters again after the forward pass.",
)
fsdp_reshard_after_backward = Flag(
    "fsdp_reshard_after_backward",
    default=True,
    panel=SHARDING,
    flag="fsdp-reshard-after-backward",
    launch="fsdp_reshard_after_backward",
    about="Shard parameters again after each backward pass of an accumulation window.",
)
fsdp_defer_grad_sync = Flag(
    "fsdp_defer_grad_sync",
    panel=SHARDING,
    flag="fsdp-defer-grad-sync",
    launch="fsdp_defer_grad_sync",
    about="Reduce gradients once per accumulation window.",
)
fsdp_shard_ep1_experts = Flag(
    "fsdp_shard_ep1_experts",
    default=True,
    panel=SHARDING,
    flag="fsdp-shard-ep1-experts",
    launch="fsdp_shard_ep1_experts",
    about="Let FSDP shard experts that no expert axis shards.",
)
use_hsdp = Flag(
    "use_hsdp",
    panel=SHARDING,
    flag="use-hsdp",
    launch="use_hsdp",
    also=("hsdp",),
    about="Shard inside an NVLink domain, replicate across domains.",
)

# --- precision ------------------------------------------------------------------------------

lowp_precision = Choice(
    "lowp_precision",
    default="bf16",
    choices=("bf16", "fp8", "fp4", "mxfp4"),
    checked=True,
    panel=PRECISION,
    flag="lowp-precision",
    launch="lowp_precision",
    about="Compute precision of linear layers; bf16 turns low precision off.",
)
lowp_apply_dense_mlp = Flag(
    "lowp_apply_dense_mlp",
    default=True,
    panel=PRECISION,
    flag="lowp-apply-dense-mlp",
    launch="lowp_apply_dense_mlp",
    about="Low precision in dense MLPs.",
)
lowp_apply_moe_experts = Flag(
    "lowp_apply_moe_experts",
    default=True,
    panel=PRECISION,
    flag="lowp-apply-moe-experts",
    launch="lowp_apply_moe_experts",
    about="Low precision in experts.",
)
lowp_keep_first_blocks = Size(
    "lowp_keep_first_blocks",
    checked=True,
    default=0,
    panel=PRECISION,
    flag="lowp-keep-first-blocks",
    launch="lowp_keep_first_blocks",
    about="First blocks kept in bf16.",
)
lowp_keep_last_blocks = Size(
    "lowp_keep_last_blocks",
    checked=True,
    default=0,
    panel=PRECISION,
    flag="lowp-keep-last-blocks",
    launch="lowp_keep_last_blocks",
    about="Last blocks kept in bf16.",
)
fp32_non_ep_params = Flag(
    "fp32_non_ep_params",
    panel=PRECISION,
    flag="fp32-non-ep-params",
    launch="fp32_non_ep_params",
    about="Keep parameters outside the experts in fp32.",
)
fp32_grad_reduce = Flag(
    "fp32_grad_reduce",
    panel=PRECISION,
    flag="fp32-grad-reduce",
    launch="fp32_grad_reduce",
    about="Reduce gradients in fp32.",
)
ep_fp32_router = Flag(
    "ep_fp32_router",
    panel=PRECISION,
    flag="fp32-router",
    launch="fp32_router",
    about="Run the router in fp32 (no rule reads it).",
)
ep_fp32_experts = Flag(
    "ep_fp32_experts",
    panel=PRECISION,
    flag="fp32-experts",
    launch="fp32_experts",
    about="Keep expert weights in fp32 under EP or expert TP.",
)
bf16_optimizer = Flag(
    "bf16_optimizer",
    object_or_null=True,
    panel=PRECISION,
    flag="bf16-optimizer",
    launch="bf16_optimizer",
    about="Keep optimizer states in bf16 (no rule reads it).",
)
fp32_output_conversion = Flag(
    "fp32_output_conversion",
    panel=PRECISION,
    flag="fp32-output-conversion",
    launch="fp32_output_conversion",
    about="Convert model outputs to fp32 (no rule reads it).",
)

precision_policy = policy_field("bf16")
weight_bytes = policy.weight_bytes
gradient_bytes = policy.gradient_bytes
optimizer_bytes = policy.optimizer_bytes

# --- entry script ---------------------------------------------------------------------------

UNSPECIFIED = "unspecified"
TRAINER_CLASSES = (
    ("DistributedSFTTrainer", "sft"),
    ("SmoothMarginPOTrainer", "smpo"),
    ("DistributedDPOTrainer", "dpo"),
    ("DistributedKTOTrainer", "kto"),
    ("OfflineGRPOTrainer", "offline_grpo"),
    ("DistributedGRPOTrainer", "online_grpo"),
    ("DistributedSDPGTrainer", "sdpg"),
    ("DistributedAsyncEnvironmentalGRPOTrainer", "env_grpo"),
    ("DistributedRewardTrainer", "reward"),
    ("ClassificationTrainer", "classification"),
    ("DistributedDistillationTrainer", "distillation"),
    ("DistributedSelfDistillationTrainer", "self_distillation"),
    ("EmbeddingTrainer", "embedding"),
)
TRAINERS = tuple(label for _, label in TRAINER_CLASSES)

trainer = Choice(
    "trainer",
    default=UNSPECIFIED,
    choices=(UNSPECIFIED, *TRAINERS),
    aliases=(*TRAINER_CLASSES, ("grpo", "online_grpo"), ("cls", "classification")),
    role="run",
    panel=ENTRY,
    flag="trainer",
    about="Trainer of the run; without one, rules about which trainer it is say nothing.",
)
assume_pp = Flag(
    "assume_pp",
    role="run",
    panel=ENTRY,
    flag="assume-pp",
    about="Lift the release gate on pipeline parallelism, to see the contracts behind it.",
)
launcher = Choice(
    "launcher",
    default="torchrun",
    choices=("torchrun", "accelerate"),
    panel=ENTRY,
    flag="launcher",
    about="Process launcher.",
)
init_from_scratch = Flag(
    "init_from_scratch",
    panel=ENTRY,
    flag="init-from-scratch",
    launch="init_from_scratch",
    about="Start from random weights.",
)
full_determinism = Flag(
    "full_determinism",
    panel=ENTRY,
    flag="full-determinism",
    launch="full_determinism",
    about="Ask for bitwise reproducible steps.",
)

# --- model ----------------------------------------------------------------------------------

model_kind = experts.model_kind
model_config = Flag(
    "model_config",
    role="model",
    panel=MODEL,
    about="A whole model configuration was read: a number it lacks is missing, not unsaid.",
)
model_changes = facts.model_changes
num_experts = facts.num_experts
num_experts_per_tok = facts.num_experts_per_tok
moe_intermediate_size = facts.moe_intermediate_size
hidden_size = facts.hidden_size
max_position_embeddings = Size(
    "max_position_embeddings",
    default=None,
    optional=True,
    minimum=1,
    role="model",
    panel=MODEL,
    flag="context-window",
    about="Context window in tokens.",
)
num_attention_heads = Sizes(
    name="num_attention_heads",
    minimum=1,
    role="model",
    panel=MODEL,
    flag="heads",
    also=("num_attention_heads_per_layer",),
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
dtype = Choice(
    "dtype",
    default="bf16",
    choices=("bf16", "fp16", "fp32"),
    aliases=(("bfloat16", "bf16"), ("float16", "fp16"), ("float32", "fp32")),
    panel=MODEL,
    flag="dtype",
    also=("torch_dtype",),
    about="Precision that the model is loaded in.",
)
quantized = Flag(
    "quantized",
    role="run",
    panel=MODEL,
    flag="quantized",
    also=(
        "load_in_4bit",
        "qlora",
    ),
    about="The base weights are quantized (QLoRA).",
)
natively_quantized_experts = Flag(
    "natively_quantized_experts",
    role="model",
    panel=MODEL,
    flag="natively-quantized-experts",
    about="The checkpoint stores its experts in a packed format such as MXFP4.",
)
live_attention_sinks = Flag(
    "live_attention_sinks",
    role="model",
    panel=MODEL,
    flag="live-attention-sinks",
    about="Attention has learned sinks that are kept (GPT-OSS without reset_sinks).",
)
linear_attention_layers = Flag(
    "linear_attention_layers",
    role="model",
    panel=MODEL,
    flag="linear-attention-layers",
    about="Some layers carry a state along the sequence (linear attention, convolution, scan).",
)
TP_ATTENTION_CLASSES = (
    "Cohere2MoeAttention",
    "GptOssAttention",
    "Qwen3MoeAttention",
    "Qwen3Attention",
    "Glm4MoeLiteAttention",
    "Lfm2MoeAttention",
    "Qwen3_5MoeAttention",
    "Qwen3_5Attention",
    "Qwen3VLTextAttention",
    "Mistral4Attention",
)
BAILING_CLASSES = (
    "BailingMoeV2Attention",
    "BailingMoeV2FlashAttention2",
    "BailingMoeV2SdpaAttention",
)
CP_ATTENTION_CLASSES = (
    "GptOssAttention",
    "Qwen3MoeAttention",
    "Qwen3Attention",
    "Qwen3VLTextAttention",
    "Glm4MoeLiteAttention",
    "Mistral4Attention",
    "Qwen3_5MoeAttention",
    "Qwen3_5Attention",
    *BAILING_CLASSES,
    "Cohere2MoeAttention",
)
MLA_CLASSES = ("Glm4MoeLiteAttention", "Mistral4Attention")
attention_class = Choice(
    "attention_class",
    default="unknown",
    choices=(
        "unknown",
        *dict.fromkeys((*TP_ATTENTION_CLASSES, *CP_ATTENTION_CLASSES)),
    ),
    aliases=(
        ("BailingMoeV2FlashAttention", "BailingMoeV2FlashAttention2"),
        ("BailingMoeV2SdpaAttention2", "BailingMoeV2SdpaAttention"),
    ),
    open=True,
    role="model",
    panel=MODEL,
    flag="attention-class",
    about="Attention class of the loaded model.",
)
FLASH = (
    "flash_attention_2",
    "flash_attention_3",
    "flash_attention_4",
    "hub_flash_attention_2",
    "hub_flash_attention_3",
)
attn_implementation = Choice(
    "attn_implementation",
    default="unknown",
    choices=("unknown", "eager", "sdpa", "flex_attention", *FLASH),
    aliases=(
        ("kernels-community/flash-attn2", "hub_flash_attention_2"),
        ("kernels-community/flash-attn3", "hub_flash_attention_3"),
    ),
    panel=MODEL,
    flag="attn-implementation",
    launch="attn_implementation",
    about="Attention implementation.",
)
SHARDED_SAVE_FAMILIES = (
    "gpt_oss",
    "qwen3_moe",
    "qwen3_5_moe",
    "bailing_moe_linear",
    "glm4_moe_lite",
    "lfm2_moe",
    "zaya",
    "mistral4",
    "laguna",
)
GEMMA4 = ("gemma4", "gemma4_moe")
model_type = Choice(
    "model_type",
    default="unknown",
    choices=("unknown", *SHARDED_SAVE_FAMILIES, *GEMMA4),
    open=True,
    role="model",
    panel=MODEL,
    flag="model-type",
    about="model_type of the Hugging Face configuration.",
)

# --- training run ---------------------------------------------------------------------------

per_device_train_batch_size = Size(
    "per_device_train_batch_size",
    default=None,
    optional=True,
    minimum=1,
    tried=POWERS,
    panel=RUN,
    flag="micro-batch",
    launch="per_device_train_batch_size",
    about="Micro-batch: examples per GPU and forward pass.",
)
per_device_eval_batch_size = Size(
    "per_device_eval_batch_size",
    default=None,
    optional=True,
    minimum=1,
    panel=RUN,
    flag="eval-batch",
    launch="per_device_eval_batch_size",
    about="Examples per GPU and evaluation pass.",
)
gradient_accumulation_steps = Size(
    "gradient_accumulation_steps",
    default=None,
    optional=True,
    minimum=1,
    tried=POWERS,
    panel=RUN,
    flag="gradient-accumulation-steps",
    launch="gradient_accumulation_steps",
    about="Micro-batches per optimizer step.",
)
requested_global_batch = requested(RUN)
max_length = Size(
    "max_length",
    default=None,
    optional=True,
    minimum=1,
    panel=RUN,
    flag="max-length",
    launch="max_length",
    also=("ep_declared_max_length", "seq_len"),
    about="Longest example in tokens; unset means the context window.",
)
ep_rows_per_device = Size(
    "ep_rows_per_device",
    default=None,
    optional=True,
    unset=-1,
    role="run",
    panel=RUN,
    flag="rows-per-device",
    also=("per_device_rows",),
    about="Rows per GPU and forward pass; 0 lifts the token budget, unset derives the rows.",
)
gin_max_tokens_per_rank = Size(
    "gin_max_tokens_per_rank",
    default=8192,
    role="run",
    panel=RUN,
    flag="gin-max-tokens-per-rank",
    env="HALO_DEEPEP_GIN_MAX_TOKENS_PER_RANK",
    about="Ceiling of tokens per rank for cross-domain dispatch; 0 lifts it.",
)
use_peft = Flag(
    "use_peft",
    panel=RUN,
    flag="use-peft",
    launch="use_peft",
    also=("lora",),
    about="Train PEFT adapters (LoRA).",
)
peft_inside_ep_layers = Flag(
    "peft_inside_ep_layers",
    panel=RUN,
    flag="peft-inside-ep-layers",
    about="A PEFT adapter targets modules inside expert layers.",
)
gradient_checkpointing = Flag(
    "gradient_checkpointing",
    panel=RUN,
    flag="gradient-checkpointing",
    launch="gradient_checkpointing",
    about="Recompute activations in the backward pass.",
)
reentrant_checkpointing = Flag(
    "reentrant_checkpointing",
    panel=RUN,
    flag="reentrant-checkpointing",
    also=("use_reentrant",),
    about="Recompute with the reentrant implementation.",
)
activation_offloading = Flag(
    "activation_offloading",
    panel=RUN,
    flag="activation-offloading",
    launch="activation_offloading",
    about="Keep activations in host memory.",
)
torch_compile = Flag(
    "torch_compile",
    panel=RUN,
    flag="torch-compile",
    launch="torch_compile",
    about="Compile the model.",
)
image_data = Flag(
    "image_data", role="run", panel=RUN, flag="image-data", about="Batches carry images."
)
do_eval = Flag("do_eval", panel=RUN, flag="do-eval", launch="do_eval", about="The run evaluates.")
load_best_model_at_end = Flag(
    "load_best_model_at_end",
    panel=RUN,
    flag="load-best-model-at-end",
    launch="load_best_model_at_end",
    about="Reload the best checkpoint at the end.",
)
save_sharded_ep = Flag(
    "save_sharded_ep",
    panel=RUN,
    flag="save-sharded-ep",
    launch="save_sharded_ep",
    about="Let each rank save its own experts.",
)
shared_filesystem = Flag(
    "shared_filesystem",
    default=True,
    role="run",
    panel=RUN,
    flag="shared-filesystem",
    about="All nodes write to one file system.",
)
reference_model = Choice(
    "reference_model",
    default="none",
    choices=("none", "live", "precomputed"),
    role="run",
    panel=RUN,
    flag="reference-model",
    about="Reference model of a preference trainer: loaded (live) or precomputed log-probs.",
)
sync_ref_model = Flag(
    "sync_ref_model",
    panel=RUN,
    flag="sync-ref-model",
    launch="sync_ref_model",
    about="Update the reference while training.",
)
moe_balancing = Choice(
    "moe_balancing",
    default="none",
    choices=("none", "aux_loss", "bias"),
    panel=RUN,
    flag="moe-balancing",
    launch="moe_balancing",
    about="How the router is kept balanced.",
)
aux_loss_coefficient_positive = Flag(
    "aux_loss_coefficient_positive",
    panel=RUN,
    flag="aux-loss-coefficient-positive",
    about="The coefficient of the router's auxiliary loss is above 0.",
)
loss_adds_aux_loss = Flag(
    "loss_adds_aux_loss",
    default=True,
    role="run",
    panel=RUN,
    flag="loss-adds-aux-loss",
    about="The trainer's loss adds the router's auxiliary loss.",
)
packing = Flag(
    "packing", panel=RUN, flag="packing", launch="packing", about="Pack several examples in a row."
)
padding_free = Flag(
    "padding_free",
    panel=RUN,
    flag="padding-free",
    launch="padding_free",
    about="Concatenate examples without padding.",
)
label_smoothing = Flag(
    "label_smoothing",
    panel=RUN,
    flag="label-smoothing",
    about="The label smoothing factor is above 0.",
)
dft_loss = Flag("dft_loss", panel=RUN, flag="dft-loss", about="The loss type is dft.")
compute_metrics = Flag(
    "compute_metrics",
    panel=RUN,
    flag="compute-metrics",
    about="compute_metrics or preprocess_logits_for_metrics is set.",
)

lora_rank = Size(
    "lora_rank",
    default=None,
    optional=True,
    minimum=1,
    role="run",
    panel=RUN,
    flag="lora-r",
    launch="lora_r",
    also=("lora_r",),
    about="Rank of LoRA adapters on every linear layer outside the experts.",
)
fused_linear_cross_entropy = Flag(
    "fused_linear_cross_entropy",
    panel=RUN,
    flag="fused-linear-cross-entropy",
    launch="use_liger_kernel",
    also=("flce", "fused_cross_entropy"),
    about="The loss is computed chunk by chunk from the hidden states; logits are never whole.",
)

NAMED_FIELDS = tuple(
    value for value in list(globals().values()) if isinstance(value, (Size, Flag, Choice, Sizes))
)
FIELDS = (*NAMED_FIELDS, *facts.FACTS)
