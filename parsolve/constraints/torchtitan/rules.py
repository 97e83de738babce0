"""What torchtitan 0.3.0 refuses, in its order."""

from collections.abc import Mapping

from parsolve.constraints.fields import Size
from parsolve.constraints.formula import (
    ALWAYS,
    Formula,
    all_of,
    any_of,
    divides,
    if_,
    largest,
    one_of,
)
from parsolve.constraints.rule import Example, Rule, Source
from parsolve.constraints.torchtitan import fields as f
from parsolve.constraints.torchtitan import quantities as q

TRAINER = "torchtitan/trainer.py"
DIMS = "torchtitan/distributed/parallel_dims.py"
PIPELINING = "torchtitan/distributed/pipeline_parallel.py"
SCHEDULES = "torch/distributed/pipelining/schedules.py"

CONFIG = "__post_init__"
GRAPHS = "_validate_cuda_graphs"
METADATA = "_get_pipeline_metadata"
NAMES = "_generate_llm_fqn_per_model_part"

NO_GRAPHS: Mapping[str, object] = {"disable_cuda_graphs": True}


def _refusal(
    identity: str,
    stage: str,
    source: Source,
    requires: Formula,
    reason: str,
    remedy: str,
    rejects: Mapping[str, object],
    instead: Mapping[str, object],
    when: Formula = ALWAYS,
) -> Rule:
    eight = {"world_size": 8}
    return Rule(
        id=identity,
        stage=stage,
        when=when,
        requires=requires,
        reason=reason,
        remedy=remedy,
        source=source,
        example=Example(rejects={**eight, **rejects}, instead={**eight, **instead}),
    )


def _positive(size: Size) -> Rule:
    return _refusal(
        f"{size.flag}-not-positive",
        "dims",
        Source(DIMS, "_validate", (180,)),
        size >= 1,
        "A size counts ranks; only dp_shard may be left to torchtitan.",
        "Use 1 to leave the axis off.",
        {size.name: 0},
        {},
    )


SETTINGS = (
    _refusal(
        "pp-microbatch-not-positive",
        "config",
        Source(TRAINER, CONFIG, (126,)),
        f.pp_microbatch >= 1,
        "A micro-batch holds at least one sequence, with or without a pipeline.",
        "Use a positive number.",
        {"pp_microbatch": 0},
        {},
    ),
    _refusal(
        "local-batch-not-whole-microbatches",
        "config",
        Source(TRAINER, CONFIG, (134,)),
        divides(f.pp_microbatch, f.micro_batch),
        "The local batch is cut into micro-batches of one size.",
        "Use a micro-batch that divides the local batch.",
        {"pp_size": 2, "micro_batch": 8, "pp_microbatch": 3, **NO_GRAPHS},
        {"pp_size": 2, "micro_batch": 9, "pp_microbatch": 3, **NO_GRAPHS},
        f.pp_size > 1,
    ),
    _refusal(
        "cuda-graphs-with-pp",
        "config",
        Source(TRAINER, GRAPHS, (184,)),
        f.pp_size <= 1,
        "CUDA graphs, which are on unless switched off, record no pipeline.",
        "Switch CUDA graphs off.",
        {"pp_size": 2},
        {"pp_size": 2, **NO_GRAPHS},
        ~f.disable_cuda_graphs,
    ),
    _refusal(
        "cuda-graphs-with-waiting-dispatcher",
        "config",
        Source(TRAINER, GRAPHS, (203,)),
        any_of(
            f.ep_dispatcher == "minimal_async_ep",
            all_of(f.ep_dispatcher == "hybridep", f.static_dispatch),
        ),
        "CUDA graphs, which are on unless switched off, cannot record a dispatcher that waits "
        "for the host.",
        "Switch CUDA graphs off, or use HybridEP with a capacity factor or MinimalAsyncEP.",
        {"ep_size": 8, "model_kind": "moe"},
        {"ep_size": 8, "model_kind": "moe", **NO_GRAPHS},
        all_of(~f.disable_cuda_graphs, f.ep_size != 1, q.is_moe),
    ),
    _refusal(
        "typechecking-with-pp",
        "config",
        Source(TRAINER, CONFIG, (149,)),
        f.pp_size <= 1,
        "The placement of tensors cannot be checked across pipeline stages.",
        "Check the same sizes without a pipeline.",
        {"pp_size": 2, "spmd_typechecking": True, **NO_GRAPHS},
        {"spmd_typechecking": True},
        all_of(f.spmd_backend == "spmd_types", f.spmd_typechecking),
    ),
)

GRID = (
    *map(_positive, (f.dp_replicate_size, f.cp_size, f.tp_size, f.pp_size, f.ep_size)),
    _refusal(
        "dp-shard-not-positive",
        "dims",
        Source(DIMS, "_validate", (181,)),
        any_of(f.dp_shard_size == -1, f.dp_shard_size >= 1),
        "A size counts ranks, or is -1 for what the others leave.",
        "Use -1.",
        {"dp_shard_size": 0},
        {"dp_shard_size": -1},
    ),
    _refusal(
        "nothing-left-for-dp-shard",
        "dims",
        Source(DIMS, "_validate", (184,)),
        q.unsharded_size <= f.world_size,
        "The other sizes need more ranks than there are.",
        "Use smaller sizes.",
        {"tp_size": 16, "seq_length": 4096},
        {"tp_size": 8},
        f.dp_shard_size == -1,
    ),
    _refusal(
        "sizes-not-the-world",
        "dims",
        Source(DIMS, "_validate", (186,)),
        any_of(
            all_of(
                f.dp_shard_size == -1,
                any_of(
                    q.unsharded_size > f.world_size,
                    divides(q.unsharded_size, f.world_size),
                ),
            ),
            all_of(f.dp_shard_size != -1, q.unsharded_size * f.dp_shard_size == f.world_size),
        ),
        "The world is dp_replicate * dp_shard * cp * tp * pp; ep is no factor of it.",
        "Use sizes whose product divides the world, and leave dp_shard to torchtitan.",
        {"tp_size": 2, "dp_shard_size": 2},
        {"tp_size": 2},
    ),
)

TRAINING = (
    _refusal(
        "sequence-not-divisible",
        "trainer",
        Source(TRAINER, "__init__", (311,)),
        divides(
            if_(f.sequence_parallel, f.tp_size, 1) * if_(f.cp_size > 1, 2 * f.cp_size, 1),
            f.seq_length,
        ),
        "With sequence parallelism every tensor-parallel rank has equally many tokens, and with "
        "context parallelism every rank has two equal chunks.",
        "Use a multiple of tp * 2 * cp.",
        {"cp_size": 4, "seq_length": 2052},
        {"cp_size": 4, "seq_length": 2056},
    ),
    _refusal(
        "ep-not-dividing-shards",
        "trainer",
        Source(DIMS, "build_mesh", (336,)),
        divides(f.ep_size * f.pp_size * f.dp_replicate_size, f.world_size),
        "Experts have a grid of their own over dp_shard * cp * tp ranks. The constructor of the "
        "sizes does not look; PyTorch refuses the mesh.",
        "Use an ep that divides dp_shard * cp * tp.",
        {"ep_size": 3, "disable_cuda_graphs": True},
        {"ep_size": 4, "disable_cuda_graphs": True},
        f.ep_size > 1,
    ),
)

DECODER = "torchtitan/models/common/decoder.py"
DISPATCHER = Source(
    "torchtitan/models/common/token_dispatcher.py", "update_ep_token_dispatcher_config", (1225,)
)
ASYNC = "torchtitan/distributed/minimal_async_ep/api.py"
ASYNC_CHECK = "maybe_update_minimal_async_ep_config"
IS_ASYNC = all_of(q.is_moe, f.ep_dispatcher == "minimal_async_ep")
ASYNCHRONOUS: Mapping[str, object] = {
    "ep_size": 8,
    "model_kind": "moe",
    "ep_dispatcher": "minimal_async_ep",
    "activation_checkpoint": "full",
}
MODEL = (
    _refusal(
        "tied-embeddings-with-pp",
        "model",
        Source(DECODER, "update_from_config", (140,)),
        f.pp_size <= 1,
        "Embedding and output layer are on different stages.",
        "Use no pipeline, or a model with separate weights.",
        {"pp_size": 2, "tied_embeddings": True, **NO_GRAPHS},
        {"pp_size": 2, **NO_GRAPHS},
        f.tied_embeddings,
    ),
    _refusal(
        "heads-not-divisible-by-tp",
        "model",
        Source(DECODER, "update_from_config", (150,)),
        divides(f.tp_size, f.num_attention_heads),
        "Every tensor-parallel rank has whole attention heads, equally many.",
        "Use a tp that divides the heads.",
        {"tp_size": 8, "num_attention_heads": 20, "num_key_value_heads": 8},
        {"tp_size": 4, "num_attention_heads": 20, "num_key_value_heads": 4},
        all_of(f.tp_size > 1, f.num_attention_heads > 0),
    ),
    _refusal(
        "kv-heads-not-divisible-by-tp",
        "model",
        Source(DECODER, "update_from_config", (155,)),
        divides(f.tp_size, f.num_key_value_heads),
        "Key/value heads are never copied: every rank has whole ones, equally many.",
        "Use a tp that divides the key/value heads.",
        {"tp_size": 8, "num_attention_heads": 32, "num_key_value_heads": 4},
        {"tp_size": 4, "num_attention_heads": 32, "num_key_value_heads": 4},
        all_of(f.tp_size > 1, f.num_attention_heads > 0, f.num_key_value_heads > 0),
    ),
    _refusal(
        "tokens-not-divisible-for-dispatcher",
        "model",
        DISPATCHER,
        divides(f.cp_size * f.tp_size, f.seq_length),
        "This dispatcher needs equally many tokens on every rank of cp * tp, with sequence "
        "parallelism or without.",
        "Use a multiple of cp * tp.",
        {
            "tp_size": 8,
            "ep_size": 8,
            "seq_length": 2044,
            "sequence_parallel": False,
            "model_kind": "moe",
            "ep_dispatcher": "deepep",
            **NO_GRAPHS,
        },
        {
            "tp_size": 8,
            "ep_size": 8,
            "sequence_parallel": False,
            "model_kind": "moe",
            "ep_dispatcher": "deepep",
            **NO_GRAPHS,
        },
        all_of(q.is_moe, f.ep_dispatcher != "standard"),
    ),
    _refusal(
        "dispatcher-without-ep",
        "model",
        Source(DISPATCHER.file, DISPATCHER.function, (1239,)),
        f.ep_size > 1,
        "This dispatcher exchanges tokens between ranks, of which there must be several.",
        "Use expert parallelism, or the standard dispatcher.",
        {"model_kind": "moe", "ep_dispatcher": "deepep"},
        {"model_kind": "moe", "ep_dispatcher": "deepep", "ep_size": 8, **NO_GRAPHS},
        all_of(q.is_moe, f.ep_dispatcher != "standard"),
    ),
    _refusal(
        "minimal-async-ep-with-full-dtensor",
        "model",
        Source(ASYNC, ASYNC_CHECK, (112,)),
        f.spmd_backend != "full_dtensor",
        "MinimalAsyncEP knows the other two back-ends only.",
        "Use spmd_types.",
        {**ASYNCHRONOUS, "spmd_backend": "full_dtensor"},
        ASYNCHRONOUS,
        IS_ASYNC,
    ),
    _refusal(
        "minimal-async-ep-not-dividing-experts",
        "model",
        Source(ASYNC, ASYNC_CHECK, (120,)),
        divides(f.ep_size, f.num_experts),
        "Every expert-parallel rank holds the same number of whole experts; only MinimalAsyncEP "
        "checks that.",
        "Use an ep that divides the experts.",
        {**ASYNCHRONOUS, "num_experts": 12},
        {**ASYNCHRONOUS, "num_experts": 16},
        all_of(IS_ASYNC, f.num_experts > 0),
    ),
    _refusal(
        "minimal-async-ep-without-recompute",
        "model",
        Source(ASYNC, ASYNC_CHECK, (138,)),
        f.activation_checkpoint == "full",
        "MinimalAsyncEP keeps nothing for the backward pass, so all must be computed again.",
        "Checkpoint all activations.",
        {**ASYNCHRONOUS, "activation_checkpoint": "selective"},
        ASYNCHRONOUS,
        IS_ASYNC,
    ),
    _refusal(
        "sequence-beyond-model",
        "model",
        Source(DECODER, "update_from_config", (170,)),
        f.seq_length <= f.max_position_embeddings,
        "The model's RoPE is made for shorter sequences.",
        "Use a shorter sequence, or another RoPE.",
        {"seq_length": 8192, "max_position_embeddings": 4096},
        {"seq_length": 4096, "max_position_embeddings": 4096},
        f.max_position_embeddings > 0,
    ),
)

BATCH = (
    _refusal(
        "global-batch-not-divisible",
        "batch",
        Source(TRAINER, "__init__", (422,)),
        divides(largest(1, q.samples_per_pass), f.requested_global_batch),
        "Every data-parallel rank takes whole local batches, and all the same number.",
        "Use a multiple of the local batch times dp.",
        {"requested_global_batch": 96},
        {"requested_global_batch": 128},
        f.requested_global_batch > 0,
    ),
)

HAS_PP = f.pp_size > 1
STAGED = all_of(HAS_PP, f.layers_per_stage > 0, f.num_hidden_layers > 0)
LAYERS_KNOWN = all_of(HAS_PP, f.num_hidden_layers > 0)
TWO: Mapping[str, object] = {"pp_size": 2, "num_hidden_layers": 14, **NO_GRAPHS}

STAGES = (
    _refusal(
        "stages-not-multiple-of-pp",
        "pipeline",
        Source(PIPELINING, METADATA, (234,)),
        divides(f.pp_size, q.num_stages),
        "Every rank has the same number of stages. Embedding and output count as layers.",
        "Use layers per stage that give a multiple of pp stages.",
        {**TWO, "layers_per_stage": 6},
        {**TWO, "layers_per_stage": 8},
        STAGED,
    ),
    _refusal(
        "several-stages-for-single-schedule",
        "pipeline",
        Source(PIPELINING, METADATA, (245,)),
        q.stages_per_rank == 1,
        "1F1B and GPipe give every rank exactly one stage.",
        "Use more layers per stage, or a schedule of several stages.",
        {**TWO, "layers_per_stage": 4},
        {**TWO, "layers_per_stage": 8},
        all_of(STAGED, q.is_single_stage),
    ),
    _refusal(
        "one-stage-for-multi-schedule",
        "pipeline",
        Source(PIPELINING, METADATA, (253,)),
        q.stages_per_rank >= 2,
        "This schedule gives every rank several stages.",
        "Use fewer layers per stage, or 1F1B or GPipe.",
        {**TWO, "layers_per_stage": 8, "pp_schedule": "Interleaved1F1B"},
        {**TWO, "layers_per_stage": 4, "pp_schedule": "Interleaved1F1B"},
        all_of(STAGED, ~q.is_single_stage),
    ),
    _refusal(
        "more-stages-than-layers",
        "pipeline",
        Source(PIPELINING, NAMES, (402,)),
        q.num_stages <= q.counted_layers,
        "Every stage needs a layer; embedding and output count as layers.",
        "Use fewer stages.",
        {
            "pp_size": 8,
            "num_hidden_layers": 5,
            "first_stage_less": 0,
            "last_stage_less": 0,
            **NO_GRAPHS,
        },
        {"pp_size": 8, "num_hidden_layers": 6, **NO_GRAPHS},
        LAYERS_KNOWN,
    ),
    _refusal(
        "embedding-fills-more-than-a-stage",
        "pipeline",
        Source(PIPELINING, NAMES, (422,)),
        f.first_stage_less <= q.least_layers,
        "The embedding counts as more layers than the smallest stage has.",
        "Let it count as fewer, or use fewer stages.",
        {**TWO, "num_hidden_layers": 4, "first_stage_less": 6},
        {**TWO, "num_hidden_layers": 4, "first_stage_less": 3},
        LAYERS_KNOWN,
    ),
    _refusal(
        "output-fills-more-than-a-stage",
        "pipeline",
        Source(PIPELINING, NAMES, (426,)),
        f.last_stage_less <= q.least_layers,
        "The output layer counts as more layers than the smallest stage has.",
        "Let it count as fewer, or use fewer stages.",
        {**TWO, "num_hidden_layers": 4, "last_stage_less": 6},
        {**TWO, "num_hidden_layers": 4, "last_stage_less": 3},
        LAYERS_KNOWN,
    ),
    _refusal(
        "v-schedule-without-two-stages",
        "pipeline",
        Source(PIPELINING, "_get_pp_rank_to_stage_indices_mapping", (571,)),
        q.stages_per_rank == 2,
        "The stages of this schedule form a V: two on every rank.",
        "Use layers per stage that give two stages per rank, or leave them out.",
        {**TWO, "layers_per_stage": 3, "pp_schedule": "ZBVZeroBubble"},
        {**TWO, "layers_per_stage": 4, "pp_schedule": "ZBVZeroBubble"},
        all_of(STAGED, one_of(f.pp_schedule, ("ZBVZeroBubble", "DualPipeV"))),
    ),
    _refusal(
        "fewer-microbatches-than-stages",
        "pipeline",
        Source(SCHEDULES, "__init__", (1021, 3440)),
        q.microbatches >= q.num_stages,
        "This schedule needs a micro-batch for every stage; PyTorch refuses fewer.",
        "Use a larger local batch, smaller micro-batches or fewer stages.",
        {"pp_size": 8, "micro_batch": 4, **NO_GRAPHS},
        {"pp_size": 8, "micro_batch": 8, **NO_GRAPHS},
        all_of(HAS_PP, one_of(f.pp_schedule, ("1F1B", "DualPipeV"))),
    ),
    _refusal(
        "microbatches-not-whole-rounds",
        "pipeline",
        Source(SCHEDULES, "__init__", (2938, 3049)),
        divides(q.rounds, q.microbatches),
        "Interleaved schedules run whole rounds: as many as pp fits into the micro-batches.",
        "Use a multiple of pp micro-batches.",
        {"pp_size": 4, "micro_batch": 9, "pp_schedule": "Interleaved1F1B", **NO_GRAPHS},
        {"pp_size": 4, "micro_batch": 8, "pp_schedule": "Interleaved1F1B", **NO_GRAPHS},
        all_of(HAS_PP, one_of(f.pp_schedule, ("Interleaved1F1B", "InterleavedZeroBubble"))),
    ),
)

RULES = (*SETTINGS, *GRID, *TRAINING, *MODEL, *BATCH, *STAGES)
