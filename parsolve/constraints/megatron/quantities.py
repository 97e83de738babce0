"""Derived quantities of Megatron-Core: both grids, batches, chunks of layers, the bubble."""

from parsolve.constraints import cluster, experts
from parsolve.constraints.batch import (
    Batch,
    bubble,
    global_batch,
    samples_per_pass,
    tokens_per_step,
)
from parsolve.constraints.formula import (
    Named,
    NamedFormula,
    all_of,
    any_of,
    divides,
    if_,
    known_where,
    largest,
    quotient,
)
from parsolve.constraints.locality import crossing
from parsolve.constraints.megatron import fields as f

gpus_per_node = cluster.gpus_per_node
nvlink_domain_size = cluster.nvlink_domain_size
num_nodes = cluster.num_nodes
is_moe = experts.is_moe

# --- the dense grid: tp x cp x dp x pp --------------------------------------------------------

gtp_size = Named(
    "gtp_size",
    if_(f.weight_shards == 0, 1, largest(1, f.weight_shards // f.tp_size)),
    about="Ranks that gather a weight's shards again (GTP): weight shards / tp.",
)
model_parallel_size = Named(
    "model_parallel_size",
    f.tp_size * f.pp_size * f.cp_size * gtp_size,
    about="tp * pp * cp (times GTP).",
)
data_parallel_size = Named(
    "data_parallel_size",
    quotient(f.world_size, model_parallel_size),
    about="Distinct batches per step: world / (tp * pp * cp). Neither ep nor etp divides it.",
)
dp_cp_size = Named(
    "dp_cp_size",
    data_parallel_size * f.cp_size,
    about="Ranks that hold the same dense weights: dp * cp.",
)
shard_group_size = Named(
    "shard_group_size",
    quotient(dp_cp_size, f.optimizer_instances),
    about="Ranks that a distributed optimizer shards dense states over: dp * cp / instances.",
)

# --- the expert grid: etp x ep x expert-dp x pp -----------------------------------------------

expert_tp_size = Named(
    "expert_tp_size",
    if_(f.expert_tp_size == 0, f.tp_size, largest(1, f.expert_tp_size)),
    about="Ranks that split each expert: etp, or tp where it is not given.",
)
expert_ffn_size = Named(
    "expert_ffn_size",
    if_(f.moe_intermediate_size == 0, f.intermediate_size, f.moe_intermediate_size),
    about="Width of each expert: its own, or the FFN's where it is not given.",
)
expert_gtp_size = Named(
    "expert_gtp_size",
    if_(f.expert_weight_shards == 0, 1, largest(1, f.expert_weight_shards // expert_tp_size)),
    about="Ranks that gather an expert weight's shards again: expert weight shards / etp.",
)
expert_model_parallel_size = Named(
    "expert_model_parallel_size",
    expert_tp_size * f.ep_size * f.pp_size * expert_gtp_size,
    about="etp * ep * pp. Experts ignore cp.",
)
expert_data_parallel_size = Named(
    "expert_data_parallel_size",
    quotient(f.world_size, expert_model_parallel_size),
    about="Copies of each expert: world / (etp * ep * pp).",
)
expert_shard_size = Named(
    "expert_shard_size",
    quotient(expert_data_parallel_size, f.optimizer_instances),
    about="Ranks that a distributed optimizer shards experts over.",
)
ep_group_size = Named(
    "ep_group_size", f.ep_size * expert_tp_size, about="Ranks that hold all experts of a layer."
)
experts_per_rank = Named(
    "experts_per_rank",
    known_where(f.num_experts > 0, quotient(f.num_experts, f.ep_size)),
    about="Routed experts per rank and layer.",
)

# --- what Megatron changes in silence -----------------------------------------------------------

sequence_parallel = NamedFormula(
    "sequence_parallel",
    all_of(f.sequence_parallel, f.tp_size > 1),
    about="Sequence parallelism, after Megatron switches it off where tp is 1.",
)
distributed_optimizer = NamedFormula(
    "distributed_optimizer",
    all_of(any_of(f.distributed_optimizer, f.megatron_fsdp), ~f.freeze_all_layers),
    about="The distributed optimizer, after FSDP switches it on and freezing off.",
)
is_emerging = NamedFormula(
    "is_emerging",
    all_of(f.optimizer != "adam", f.optimizer != "sgd"),
    about="An optimizer that works on whole layers.",
)

# --- batch --------------------------------------------------------------------------------------

micro_batch = Named(
    "micro_batch", largest(1, f.micro_batch), about="Sequences per forward pass; 1 if unset."
)
_samples = samples_per_pass(micro_batch, data_parallel_size)
asked_batch = Named(
    "asked_batch",
    if_(f.given(f.requested_global_batch), f.requested_global_batch, _samples),
    about="Samples per optimizer step, before rounding; one micro-batch each where none is asked.",
)
per_pass = Named(
    "per_pass", _samples * gtp_size, about="Samples that one micro-batch of every rank takes."
)
microbatches = Named(
    "microbatches",
    if_(
        f.decrease_batch,
        asked_batch // largest(1, per_pass),
        quotient(asked_batch, largest(1, per_pass)),
    ),
    about="Micro-batches per rank and step: global batch / (micro-batch * dp).",
)
_batch = global_batch(per_pass, microbatches)
_tokens = tokens_per_step(_batch, f.seq_length)
STEP = Batch(
    samples=_batch,
    per_pass=per_pass,
    tokens=_tokens,
    micro_batch=f.micro_batch.name,
    asked=f.requested_global_batch.name,
)
eval_sequences = Named(
    "eval_sequences",
    if_(f.eval_micro_batch == 0, micro_batch, f.eval_micro_batch) * data_parallel_size,
    about="Sequences of one forward pass of evaluation.",
)
eval_global_batch = Named(
    "eval_global_batch",
    if_(f.eval_global_batch == 0, asked_batch, f.eval_global_batch),
    about="Sequences per step of evaluation; the training batch where it is not given.",
)

# --- the pipeline: layers by rank and chunk -------------------------------------------------------

_first, _last = f.first_stage_layers, f.last_stage_layers
counted_layers = Named(
    "counted_layers",
    f.num_hidden_layers + if_(f.account_for_embedding, 1, 0) + if_(f.account_for_loss, 1, 0),
    about="Layers that the stages share, with the embedding and the loss where they count.",
)
is_uneven = NamedFormula(
    "is_uneven",
    any_of(f.given(_first), f.given(_last)),
    about="The first or the last stage has a number of layers of its own.",
)
has_layout = NamedFormula(
    "has_layout", f.pipeline_layout.length > 0, about="Every stage is stated by a layout."
)
virtual_stages = Named(
    "virtual_stages",
    if_(
        has_layout,
        quotient(f.pipeline_layout.length, f.pp_size),
        if_(
            f.layers_per_virtual_stage > 0,
            quotient(quotient(counted_layers, f.pp_size), largest(1, f.layers_per_virtual_stage)),
            largest(1, f.virtual_stages),
        ),
    ),
    about="Chunks of layers per pipeline rank; 1 where the schedule is not interleaved.",
)
is_interleaved = NamedFormula(
    "is_interleaved", virtual_stages > 1, about="The schedule is interleaved."
)
middle_stages = Named(
    "middle_stages",
    f.pp_size - if_(f.given(_first), 1, 0) - if_(f.given(_last), 1, 0),
    about="Pipeline ranks whose number of layers is not stated.",
)
middle_layers = Named(
    "middle_layers",
    f.num_hidden_layers - if_(f.given(_first), _first, 0) - if_(f.given(_last), _last, 0),
    about="Layers that those ranks share.",
)
layers_per_stage = Named(
    "layers_per_middle_stage",
    known_where(
        all_of(f.num_hidden_layers > 0, ~has_layout),
        if_(
            is_uneven,
            if_(middle_stages > 0, quotient(middle_layers, largest(1, middle_stages)), 0),
            quotient(counted_layers, f.pp_size),
        ),
    ),
    about="Layers of each middle pipeline rank, the embedding and the loss where they count.",
)
microbatch_group_size = Named(
    "microbatch_group_size",
    largest(1, if_(f.microbatch_group_size == 0, f.pp_size, f.microbatch_group_size)),
    about="Micro-batches that a chunk takes in a row; pp where it is not given.",
)
# --- model ----------------------------------------------------------------------------------------

num_query_groups = Named(
    "num_query_groups",
    if_(f.num_key_value_heads == 0, f.num_attention_heads, f.num_key_value_heads),
    about="Key/value heads; one for each attention head where nothing is given.",
)
max_position_embeddings = Named(
    "max_position_embeddings",
    if_(
        f.max_position_embeddings == 0,
        known_where(f.seq_length > 0, f.seq_length),
        f.max_position_embeddings,
    ),
    about="Positions that embeddings are made for; the sequence's length where none is given.",
)
linear_key_heads = Named(
    "linear_key_heads",
    if_(f.linear_key_heads == 0, 16, f.linear_key_heads),
    about="Key heads of gated delta net; 16 where nothing is given.",
)
linear_value_heads = Named(
    "linear_value_heads",
    if_(f.linear_value_heads == 0, 32, f.linear_value_heads),
    about="Value heads of gated delta net; 32 where nothing is given.",
)
padded_vocab_size = Named(
    "padded_vocab_size",
    known_where(
        f.vocab_size > 0,
        (f.vocab_size + (128 * f.tp_size - 1)) // (128 * f.tp_size) * (128 * f.tp_size),
    ),
    about="Rows of the embedding table, padded to a multiple of 128 * tp.",
)

# --- locality -------------------------------------------------------------------------------------

_stage_ranks = f.world_size // f.pp_size
CROSSINGS = (
    crossing("tp", f.tp_size, f.tp_size, nvlink_domain_size),
    crossing("cp", f.cp_size, f.tp_size * gtp_size * f.cp_size, nvlink_domain_size),
    crossing(
        "dp",
        data_parallel_size,
        if_(f.tp_pp_dp_order, f.world_size, _stage_ranks),
        nvlink_domain_size,
    ),
    crossing(
        "pp",
        f.pp_size,
        if_(f.tp_pp_dp_order, f.tp_size * f.cp_size * gtp_size * f.pp_size, f.world_size),
        nvlink_domain_size,
    ),
    crossing("etp", expert_tp_size, expert_tp_size, nvlink_domain_size),
    crossing("ep", f.ep_size, ep_group_size, nvlink_domain_size),
    crossing(
        "expert_dp",
        expert_data_parallel_size,
        if_(f.tp_pp_dp_order, f.world_size, _stage_ranks),
        nvlink_domain_size,
    ),
)
stages_in_part_of_domain = Named(
    "stages_in_part_of_domain",
    if_(all_of(f.pp_size > 1, ~divides(nvlink_domain_size, _stage_ranks)), 1, 0),
    about="1 where pipeline stages do not consist of whole NVLink domains, else 0.",
)

DERIVED = (
    gpus_per_node,
    nvlink_domain_size,
    num_nodes,
    model_parallel_size,
    data_parallel_size,
    dp_cp_size,
    shard_group_size,
    expert_tp_size,
    expert_data_parallel_size,
    ep_group_size,
    experts_per_rank,
    sequence_parallel,
    distributed_optimizer,
    micro_batch,
    _samples,
    microbatches,
    _batch,
    _tokens,
    virtual_stages,
    layers_per_stage,
    bubble(f.pp_size, microbatches, virtual_stages),
    padded_vocab_size,
    max_position_embeddings,
    *CROSSINGS,
    stages_in_part_of_domain,
)
