"""Every field of the Megatron-Core profile, with Megatron's own flag for each."""

from dataclasses import replace

from parsolve.constraints import cluster, experts
from parsolve.constraints.fields import (
    LARGEST_SIZE,
    Choice,
    Flag,
    Size,
    Sizes,
)
from parsolve.constraints.formula import Formula
from parsolve.constraints.megatron.labels import Labels
from parsolve.constraints.megatron.pipeline_layout import PipelineLayout
from parsolve.constraints.memory import facts, policy
from parsolve.constraints.memory.policy import policy_field

CLUSTER = "Cluster"
AXES = "Parallel axes"
PIPELINE = "Pipeline"
BATCH = "Batch and sequence"
SHARDING = "Distributed optimizer and FSDP"
RECOMPUTE = "Recompute and offload"
EXPERTS = "Mixture of experts"
MODEL = "Model"
RUN = "Training run"


NOT_GIVEN = -LARGEST_SIZE - 1
"""Below every number that anyone can give, of which Megatron judges 0 and less itself."""


def given(field: Size) -> Formula:
    """Whether the number is given at all."""
    return field != field.unset


def _count(name: str, panel: str, launch: str, about: str, *, flag: str = "") -> Size:
    """A number that Megatron takes as None where it is not given; 0 and less are no question."""
    return Size(
        name,
        default=None,
        optional=True,
        minimum=1,
        panel=panel,
        flag=flag or launch,
        launch=launch,
        about=about,
    )


def _switch(name: str, panel: str, launch: str, about: str, *, flag: str = "") -> Flag:
    return Flag(name, panel=panel, flag=flag or launch, launch=launch, about=about)


def _on(name: str, panel: str, flag: str, off: str, about: str) -> Flag:
    """A switch that is on unless Megatron is told to switch it off."""
    return Flag(name, default=True, panel=panel, flag=flag, launch_off=off, about=about)


# --- cluster --------------------------------------------------------------------------------

world_size = cluster.world_size
gpus_per_node = cluster.stated_gpus_per_node
nvlink_domain_size = cluster.stated_nvlink_domain_size
gpu_memory = facts.gpu_memory
model_kind = experts.model_kind
compute_capability = Size(
    "compute_capability",
    default=9,
    minimum=1,
    role="cluster",
    panel=CLUSTER,
    flag="compute-capability",
    about="Major compute capability of the GPUs: 8 is Ampere, 9 Hopper, 10 Blackwell.",
)
cuda_device_max_connections = Size(
    "cuda_device_max_connections",
    default=None,
    optional=True,
    minimum=1,
    role="cluster",
    panel=CLUSTER,
    flag="device-max-connections",
    about="Queues of work per GPU: CUDA_DEVICE_MAX_CONNECTIONS in the job's environment.",
)

# --- axes -----------------------------------------------------------------------------------


def _axis(name: str, flag: str, launch: str, about: str) -> Size:
    return Size(
        name,
        minimum=1,
        divides="world_size",
        panel=AXES,
        flag=flag,
        launch=launch,
        also=(launch.replace("-", "_"),),
        about=about,
    )


tp_size = _axis(
    "tp_size",
    "tp",
    "tensor-model-parallel-size",
    "Tensor-parallel size: ranks that split each layer.",
)
pp_size = _axis(
    "pp_size",
    "pp",
    "pipeline-model-parallel-size",
    "Pipeline-parallel size: stages that split the layers.",
)
cp_size = _axis(
    "cp_size",
    "cp",
    "context-parallel-size",
    "Context-parallel size: ranks that split each sequence.",
)
ep_size = _axis(
    "ep_size",
    "ep",
    "expert-model-parallel-size",
    "Expert-parallel size: ranks that the experts of a layer are spread over.",
)
expert_tp_size = Size(
    "expert_tp_size",
    default=None,
    optional=True,
    minimum=1,
    divides="world_size",
    panel=AXES,
    flag="etp",
    launch="expert-tensor-parallel-size",
    also=("expert_tensor_parallel_size",),
    about="Expert-tensor-parallel size: ranks that split each expert; unset means tp.",
)
sequence_parallel = Flag(
    "sequence_parallel",
    panel=AXES,
    flag="sequence-parallel",
    launch="sequence-parallel",
    also=("sp",),
    about="Split norms, dropouts and residuals over the tensor-parallel ranks too.",
)
weight_shards = _count(
    "weight_shards",
    AXES,
    "tensor-parallel-num-weight-shards",
    "Shards of each weight over tp and the ranks that gather it again (GTP); unset means tp.",
    flag="weight-shards",
)
expert_weight_shards = _count(
    "expert_weight_shards",
    AXES,
    "expert-tensor-parallel-num-weight-shards",
    "Shards of each expert's weight over etp and the ranks that gather it again; unset means etp.",
    flag="expert-weight-shards",
)
cp_comm_type = Choice(
    "cp_comm_type",
    default="p2p",
    choices=("p2p", "all_gather", "a2a", "a2a+p2p"),
    open=True,
    panel=AXES,
    flag="cp-comm-type",
    launch="cp-comm-type",
    about="How context parallelism exchanges keys and values; Megatron takes any text.",
)
hierarchical_cp_sizes = Sizes(
    name="hierarchical_cp_sizes",
    minimum=1,
    panel=AXES,
    flag="hierarchical-cp-sizes",
    launch="hierarchical-context-parallel-sizes",
    also=("hierarchical_context_parallel_sizes",),
    about="Sizes of the levels of context parallelism, inner one first; their product is cp.",
)
hybrid_cp = _switch(
    "hybrid_cp",
    AXES,
    "hybrid-context-parallel",
    "Choose the context-parallel size sample by sample, from data and context ranks together.",
)
tp_pp_dp_order = _switch(
    "tp_pp_dp_order",
    AXES,
    "use-tp-pp-dp-mapping",
    "Order ranks tp-cp-ep-pp-dp in place of tp-cp-ep-dp-pp.",
)

# --- pipeline -------------------------------------------------------------------------------

virtual_stages = Size(
    "virtual_stages",
    default=None,
    optional=True,
    minimum=1,
    panel=PIPELINE,
    flag="virtual-stages",
    launch="num-virtual-stages-per-pipeline-rank",
    also=("vpp", "virtual_pipeline_model_parallel_size"),
    tried=(2, 3, 4, 5, 6, 8, 10, 12),
    about="Chunks of layers per pipeline rank (interleaved schedule); 1 means none.",
)
layers_per_virtual_stage = _count(
    "layers_per_virtual_stage",
    PIPELINE,
    "num-layers-per-virtual-pipeline-stage",
    "Layers in each chunk of an interleaved pipeline; the number of chunks follows.",
    flag="layers-per-virtual-stage",
)
first_stage_layers = Size(
    "first_stage_layers",
    default=None,
    optional=True,
    minimum=1,
    unset=NOT_GIVEN,
    checked=True,
    panel=PIPELINE,
    flag="first-stage-layers",
    launch="decoder-first-pipeline-num-layers",
    about="Layers of the first pipeline rank, all of its chunks together.",
)
last_stage_layers = Size(
    "last_stage_layers",
    default=None,
    optional=True,
    minimum=1,
    unset=NOT_GIVEN,
    checked=True,
    panel=PIPELINE,
    flag="last-stage-layers",
    launch="decoder-last-pipeline-num-layers",
    about="Layers of the last pipeline rank, all of its chunks together.",
)
account_for_embedding = _switch(
    "account_for_embedding",
    PIPELINE,
    "account-for-embedding-in-pipeline-split",
    "Count the embedding as one layer of the first stage.",
    flag="account-for-embedding",
)
account_for_loss = _switch(
    "account_for_loss",
    PIPELINE,
    "account-for-loss-in-pipeline-split",
    "Count the loss as one layer of the last stage.",
    flag="account-for-loss",
)
pipeline_layout = PipelineLayout(
    name="pipeline_layout",
    panel=PIPELINE,
    flag="pipeline-layout",
    launch="pipeline-model-parallel-layout",
    about='What each stage holds, chunk by chunk: E embedding, t layer, m MTP layer, L loss, "|" '
    'between stages, "*n" repeats: "Ettt|(tt|)*14,tL".',
)
microbatch_group_size = _count(
    "microbatch_group_size",
    PIPELINE,
    "microbatch-group-size-per-virtual-pipeline-stage",
    "Micro-batches that a chunk takes in a row (interleaved schedule); unset means pp.",
    flag="microbatch-group-size",
)
overlap_p2p = _on(
    "overlap_p2p",
    PIPELINE,
    "overlap-p2p",
    "no-overlap-p2p-communication",
    "Overlap the pipeline's sends with computation (interleaved schedule).",
)
defer_embedding_wgrad = _switch(
    "defer_embedding_wgrad",
    PIPELINE,
    "defer-embedding-wgrad-compute",
    "Compute the output layer's weight gradients after the pipeline's flush.",
)

# --- batch and sequence ---------------------------------------------------------------------


def _batch(name: str, launch: str, about: str, *also: str, tried: tuple[int, ...] = ()) -> Size:
    return Size(
        name,
        default=None,
        optional=True,
        minimum=1,
        unset=NOT_GIVEN,
        checked=True,
        panel=BATCH,
        flag=launch.removesuffix("-size"),
        launch=launch,
        also=also,
        about=about,
        tried=tried,
    )


micro_batch = _batch(
    "micro_batch",
    "micro-batch-size",
    "Sequences per data-parallel rank and forward pass.",
    "micro_batch_size",
    tried=(1, 2, 4, 8, 16, 32, 64),
)
requested_global_batch = _batch(
    "requested_global_batch",
    "global-batch-size",
    "Sequences per optimizer step, all ranks together; unset means one micro-batch each.",
    "global_batch_size",
)
decrease_batch = _switch(
    "decrease_batch",
    BATCH,
    "decrease-batch-size-if-needed",
    "Round the global batch down to a multiple of micro-batch times dp.",
)
eval_micro_batch = _count(
    "eval_micro_batch", BATCH, "eval-micro-batch-size", "Sequences per rank and evaluation pass."
)
eval_global_batch = _count(
    "eval_global_batch",
    BATCH,
    "eval-global-batch-size",
    "Sequences per evaluation step, all ranks together.",
)
seq_length = Size(
    "seq_length",
    default=None,
    optional=True,
    minimum=1,
    panel=BATCH,
    flag="seq-length",
    launch="seq-length",
    also=("max_length", "sequence_length"),
    about="Tokens per sequence.",
)
max_position_embeddings = Size(
    "max_position_embeddings",
    default=None,
    optional=True,
    minimum=1,
    role="model",
    panel=BATCH,
    flag="max-position-embeddings",
    launch="max-position-embeddings",
    about="Tokens that positions are made for; unset means the sequence's length.",
    implied=True,
)
calculate_per_token_loss = _switch(
    "calculate_per_token_loss", BATCH, "calculate-per-token-loss", "Average the loss over tokens."
)
dataloader_type = Choice(
    "dataloader_type",
    default="single",
    choices=("single", "cyclic", "external"),
    panel=BATCH,
    flag="dataloader-type",
    launch="dataloader-type",
    about="Data loader.",
)

# --- optimizer and sharding -----------------------------------------------------------------

optimizer = Choice(
    "optimizer",
    default="adam",
    choices=("adam", "sgd", "muon", "dist_muon", "adaptive_muon", "lion", "soap"),
    panel=SHARDING,
    flag="optimizer",
    launch="optimizer",
    about="Optimizer.",
)
distributed_optimizer = _switch(
    "distributed_optimizer",
    SHARDING,
    "use-distributed-optimizer",
    "Shard optimizer state over the data-parallel ranks (ZeRO-1).",
    flag="distributed-optimizer",
)
optimizer_instances = Size(
    "optimizer_instances",
    minimum=1,
    panel=SHARDING,
    flag="optimizer-instances",
    launch="num-distributed-optimizer-instances",
    about="Replicas of the sharded optimizer state (partial distributed optimizer).",
)
overlap_grad_reduce = _switch(
    "overlap_grad_reduce", SHARDING, "overlap-grad-reduce", "Reduce gradients while backward runs."
)
overlap_param_gather = _switch(
    "overlap_param_gather", SHARDING, "overlap-param-gather", "Gather weights while forward runs."
)
overlap_param_gather_with_step = _switch(
    "overlap_param_gather_with_step",
    SHARDING,
    "overlap-param-gather-with-optimizer-step",
    "Gather the first chunk's weights while the optimizer steps.",
    flag="overlap-param-gather-in-step",
)
precision_aware_optimizer = _switch(
    "precision_aware_optimizer",
    SHARDING,
    "use-precision-aware-optimizer",
    "Keep optimizer state in the precisions that are asked for.",
)
optimizer_offload = _switch(
    "optimizer_offload", SHARDING, "optimizer-cpu-offload", "Keep optimizer state in host memory."
)
gloo = _on(
    "gloo",
    SHARDING,
    "gloo-process-groups",
    "disable-gloo-process-groups",
    "Make Gloo process groups beside NCCL's.",
)
torch_fsdp2 = _switch("torch_fsdp2", SHARDING, "use-torch-fsdp2", "PyTorch FSDP2 (ZeRO-3).")
megatron_fsdp = _switch("megatron_fsdp", SHARDING, "use-megatron-fsdp", "Megatron's own FSDP.")
sharding_strategy = Choice(
    "sharding_strategy",
    default="optim_grads_params",
    choices=("no_shard", "optim", "optim_grads", "optim_grads_params"),
    panel=SHARDING,
    flag="sharding-strategy",
    launch="data-parallel-sharding-strategy",
    about="What Megatron's FSDP shards: ZeRO 0, 1, 2 or 3.",
)
meta_device_init = _switch(
    "meta_device_init", SHARDING, "init-model-with-meta-device", "Build the model without memory."
)
weight_hash_check = _count(
    "weight_hash_check",
    SHARDING,
    "check-weight-hash-across-dp-replicas-interval",
    "Steps between comparisons of the replicas' weights.",
    flag="weight-hash-check",
)
ckpt_format = Choice(
    "ckpt_format",
    default="torch_dist",
    choices=("torch", "torch_dist", "torch_dcp", "fsdp_dtensor"),
    panel=SHARDING,
    flag="ckpt-format",
    launch="ckpt-format",
    about="Checkpoint format; all but torch are distributed checkpoints.",
)
gradient_accumulation_fusion = _on(
    "gradient_accumulation_fusion",
    SHARDING,
    "accumulation-fusion",
    "no-gradient-accumulation-fusion",
    "Add weight gradients inside the matrix product.",
)
freeze_all_layers = _switch(
    "freeze_all_layers", SHARDING, "freeze-all-layers", "Train nothing but what is added."
)

# --- precision ------------------------------------------------------------------------------

precision = Choice(
    "precision",
    default="bf16",
    choices=("bf16", "fp16", "fp32"),
    panel=RUN,
    flag="precision",
    said=(("bf16", "--bf16"), ("fp16", "--fp16"), ("fp32", "")),
    about="Precision of weights and activations.",
)

precision_policy = policy_field("megatron")
weight_bytes = policy.weight_bytes
gradient_bytes = policy.gradient_bytes
optimizer_bytes = policy.optimizer_bytes

# --- recompute and offload ------------------------------------------------------------------

recompute = Choice(
    "recompute",
    default="none",
    choices=("none", "selective", "full"),
    panel=RECOMPUTE,
    flag="recompute",
    launch="recompute-granularity",
    also=("recompute_granularity",),
    about="Activations computed again in the backward pass: none, some modules, whole layers.",
)
recompute_method = Choice(
    "recompute_method",
    default="none",
    choices=("none", "uniform", "block"),
    panel=RECOMPUTE,
    flag="recompute-method",
    launch="recompute-method",
    about="Full recompute: uniform chunks of layers, or the first layers of each stage.",
)
recompute_num_layers = _count(
    "recompute_num_layers",
    RECOMPUTE,
    "recompute-num-layers",
    "Full recompute: layers per chunk (uniform), or layers per stage (block).",
)
recompute_modules = Labels(
    name="recompute_modules",
    labels=(
        "core_attn",
        "moe_act",
        "layernorm",
        "mla_up_proj",
        "mlp",
        "moe",
        "shared_experts",
        "gdn_norm_out",
    ),
    panel=RECOMPUTE,
    flag="recompute-modules",
    launch="recompute-modules",
    about="Selective recompute: the modules that are computed again; unset means core_attn.",
)
distribute_saved_activations = _switch(
    "distribute_saved_activations",
    RECOMPUTE,
    "distribute-saved-activations",
    "Split saved layer inputs over the tensor-parallel ranks.",
)
cpu_offloading_layers = _count(
    "cpu_offloading_layers",
    RECOMPUTE,
    "cpu-offloading-num-layers",
    "Layers whose activations go to host memory.",
)
tp_comm_overlap = _switch(
    "tp_comm_overlap",
    RECOMPUTE,
    "tp-comm-overlap",
    "Overlap tensor-parallel collectives with matrix products.",
)

# --- mixture of experts ---------------------------------------------------------------------

num_experts = replace(facts.num_experts, launch="num-experts")
num_experts_per_tok = replace(facts.num_experts_per_tok, launch="moe-router-topk")
moe_intermediate_size = replace(facts.moe_intermediate_size, launch="moe-ffn-hidden-size")
router_score = Choice(
    "router_score",
    default="softmax",
    choices=("softmax", "sigmoid", "sqrtsoftplus"),
    panel=EXPERTS,
    flag="moe-router-score-function",
    launch="moe-router-score-function",
    about="Score function of the router.",
)
router_pre_softmax = _switch(
    "router_pre_softmax",
    EXPERTS,
    "moe-router-pre-softmax",
    "Apply softmax before the best experts are chosen.",
)
load_balancing = Choice(
    "load_balancing",
    default="aux_loss",
    choices=(
        "aux_loss",
        "seq_aux_loss",
        "global_aux_loss",
        "sinkhorn",
        "quantile_balancing",
        "none",
    ),
    panel=EXPERTS,
    flag="moe-load-balancing",
    launch="moe-router-load-balancing-type",
    about="How the router's load is balanced.",
)
router_groups = _count(
    "router_groups", EXPERTS, "moe-router-num-groups", "Groups of experts (group-limited routing)."
)
router_group_topk = _count(
    "router_group_topk", EXPERTS, "moe-router-group-topk", "Groups that a token is routed to."
)
dispatcher = Choice(
    "dispatcher",
    default="allgather",
    choices=("allgather", "alltoall", "flex"),
    panel=EXPERTS,
    flag="moe-token-dispatcher-type",
    launch="moe-token-dispatcher-type",
    about="Token dispatcher.",
)
flex_backend = Choice(
    "flex_backend",
    default="deepep",
    choices=("deepep", "hybridep", "ncclep"),
    panel=EXPERTS,
    flag="moe-flex-dispatcher-backend",
    launch="moe-flex-dispatcher-backend",
    about="Backend of the flex dispatcher.",
)
overlap_ep = _switch(
    "overlap_ep",
    EXPERTS,
    "overlap-moe-expert-parallel-comm",
    "Overlap expert-parallel exchanges with another micro-batch's computation.",
    flag="overlap-ep",
)
delay_wgrad = _switch(
    "delay_wgrad",
    EXPERTS,
    "delay-wgrad-compute",
    "Compute weight gradients later, for the overlap.",
)
early_attention_release = _switch(
    "early_attention_release",
    EXPERTS,
    "ep-overlap-early-attn-memory-release",
    "Free attention's memory early, for the overlap.",
    flag="early-attention-release",
)
shared_expert_overlap = _switch(
    "shared_expert_overlap",
    EXPERTS,
    "moe-shared-expert-overlap",
    "Compute shared experts while tokens are exchanged.",
)
grouped_gemm = _switch("grouped_gemm", EXPERTS, "moe-grouped-gemm", "One product for all experts.")
single_grouped_weight = _switch(
    "single_grouped_weight",
    EXPERTS,
    "moe-single-grouped-weight",
    "Keep all of a rank's experts in one weight.",
)

# --- model ----------------------------------------------------------------------------------


def _shape(
    name: str, flag: str, launch: str, about: str, *also: str, implied: bool = False
) -> Size:
    return Size(
        name,
        default=None,
        optional=True,
        minimum=1,
        role="model",
        panel=MODEL,
        flag=flag,
        launch=launch,
        also=also,
        about=about,
        implied=implied,
    )


num_hidden_layers = _shape(
    "num_hidden_layers", "layers", "num-layers", "Layers of the decoder.", "num_layers"
)
hidden_size = _shape("hidden_size", "hidden-size", "hidden-size", "Hidden size.")
num_attention_heads = _shape(
    "num_attention_heads", "heads", "num-attention-heads", "Attention heads."
)
num_key_value_heads = _shape(
    "num_key_value_heads",
    "kv-heads",
    "group-query-attention --num-query-groups",
    "Key/value heads (query groups); unset means one for each attention head.",
    "num_query_groups",
    implied=True,
)
head_dim = _shape(
    "head_dim",
    "kv-channels",
    "kv-channels",
    "Width of an attention head; unset means hidden size / heads.",
    "kv_channels",
    implied=True,
)
intermediate_size = _shape(
    "intermediate_size",
    "ffn-hidden-size",
    "ffn-hidden-size",
    "FFN width; unset means four times the hidden size.",
    "ffn_hidden_size",
)
shared_intermediate_size = _shape(
    "shared_intermediate_size",
    "shared-expert-ffn",
    "moe-shared-expert-intermediate-size",
    "FFN width of all shared experts together.",
    "moe_shared_expert_intermediate_size",
    implied=True,
)
vocab_size = _shape("vocab_size", "vocab-size", "vocab-size", "Rows of the embedding table.")
mtp_layers = Size(
    "mtp_layers",
    default=None,
    optional=True,
    minimum=0,
    role="model",
    panel=MODEL,
    flag="mtp-num-layers",
    launch="mtp-num-layers",
    also=("mtp_num_layers",),
    about="Layers that predict further tokens (MTP).",
    implied=True,
)
mla = Flag(
    "mla",
    role="model",
    panel=MODEL,
    flag="mla",
    launch="multi-latent-attention",
    also=("multi_latent_attention",),
    about="Multi-head latent attention.",
)
bias_linear = Flag(
    "bias_linear",
    default=True,
    role="model",
    panel=MODEL,
    flag="bias-linear",
    launch_off="disable-bias-linear",
    also=("add_bias_linear",),
    about="Biases in linear layers. Megatron has them unless --disable-bias-linear is given.",
)
untie_embeddings = Flag(
    "untie_embeddings",
    role="model",
    panel=MODEL,
    flag="untie-embeddings",
    launch="untie-embeddings-and-output-weights",
    about="The output layer has weights of its own.",
)
attention_variant = Choice(
    "attention_variant",
    default="none",
    choices=("none", "gated_delta_net", "dsa"),
    panel=MODEL,
    flag="attention-variant",
    launch="experimental-attention-variant",
    about="Experimental attention.",
)
linear_attention_freq = _shape(
    "linear_attention_freq",
    "linear-attention-freq",
    "linear-attention-freq",
    "Gated delta net: one layer of so many keeps ordinary attention.",
    implied=True,
)
linear_key_heads = _shape(
    "linear_key_heads",
    "linear-num-key-heads",
    "linear-num-key-heads",
    "Key heads of gated delta net; unset means 16.",
    implied=True,
)
linear_value_heads = _shape(
    "linear_value_heads",
    "linear-num-value-heads",
    "linear-num-value-heads",
    "Value heads of gated delta net; unset means 32.",
    implied=True,
)

# --- training run ---------------------------------------------------------------------------

transformer_impl = Choice(
    "transformer_impl",
    default="transformer_engine",
    choices=("transformer_engine", "local", "inference_optimized"),
    panel=RUN,
    flag="transformer-impl",
    launch="transformer-impl",
    about="Implementation of the layers.",
)
batch_invariant = _switch(
    "batch_invariant", RUN, "batch-invariant-mode", "Results do not depend on the batch's makeup."
)
launcher = Choice(
    "launcher",
    default="torchrun",
    choices=("torchrun", "srun"),
    panel=RUN,
    flag="launcher",
    about="Process launcher.",
)

NAMED_FIELDS = tuple(
    value for value in list(globals().values()) if isinstance(value, (Size, Flag, Choice, Sizes))
)
_OWN = frozenset(field.name for field in NAMED_FIELDS)
FIELDS = (*NAMED_FIELDS, *(fact for fact in facts.FACTS if fact.name not in _OWN))
