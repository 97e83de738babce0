"""Checks that need the running job or the loaded model: named here, never decided."""

from parsolve.constraints.halo.sources import (
    LOADING,
    MESH,
    NVLINK,
    PARALLELISM_CONFIG,
    PIPELINE_RUNTIME,
    PIPELINE_SPLIT,
    TRAINER_BASE,
    TRAINER_PP_GATES,
)
from parsolve.constraints.rule import RunTimeCheck, Source

CROSS_RANK = "cross-rank"
RUN_TIME = "runtime"

RUN_TIME_CHECKS = (
    RunTimeCheck(
        "config-verdict-not-uniform",
        "any rank rejected its configuration: every rank raises that reason",
        CROSS_RANK,
        Source(PARALLELISM_CONFIG, "__post_init__"),
    ),
    RunTimeCheck(
        "nvlink-topology-divergent",
        "ranks disagree on the NVLink domain or on the GPUs per node",
        CROSS_RANK,
        Source(NVLINK, "cross-rank topology check"),
    ),
    RunTimeCheck(
        "mnnvl-prerequisites",
        "the domain is wider than a node and some rank has no IMEX channels, an unfinished "
        "fabric registration, or no clique",
        CROSS_RANK,
        Source(NVLINK, "multi-node NVLink prerequisites"),
    ),
    RunTimeCheck(
        "ranks-not-block-placed",
        "some block of consecutive ranks, one node wide, spans several hosts",
        CROSS_RANK,
        Source(NVLINK, "block placement check"),
    ),
    RunTimeCheck(
        "domain-wider-than-fabricless-node",
        "a domain whose ranks all report no fabric is wider than its narrowest node",
        CROSS_RANK,
        Source(NVLINK, "fabric check"),
    ),
    RunTimeCheck(
        "domain-spans-cliques",
        "a domain holds more than one fabric clique",
        CROSS_RANK,
        Source(NVLINK, "fabric check"),
    ),
    RunTimeCheck(
        "pipeline-runtime-missing",
        "pp_size > 1 in a configuration object built by hand: the runtime is not implemented",
        RUN_TIME,
        Source(PIPELINE_RUNTIME, "PipelineRuntime"),
    ),
    RunTimeCheck(
        "cp-sequence-not-divisible",
        "a batch's sequence length is no multiple of cp_size, is left-padded, carries pixels, or "
        "generate() is called under CP",
        RUN_TIME,
        Source(PARALLELISM_CONFIG, "context-parallel input checks"),
    ),
    RunTimeCheck(
        "pp-layer-split",
        "fewer layers than stages, pp_split not adding up to the layers, tied embeddings, a "
        "logit scale, built MTP layers, aux-loss balancing, or a boundary inside the model's "
        "layer pattern",
        RUN_TIME,
        Source(PIPELINE_SPLIT, "stage split"),
    ),
    RunTimeCheck(
        "pp-trainer-unknowns",
        "reference columns missing, a padding-free collator, packing with a batch other than "
        "the number of micro-batches, no pad token",
        RUN_TIME,
        Source(TRAINER_PP_GATES, "per-trainer pipeline gates"),
    ),
    RunTimeCheck(
        "dense-tp-plan-empty",
        "a dense model's TP plan shards no parameter, or a tied model's vocabulary is no "
        "multiple of tp_size",
        RUN_TIME,
        Source(LOADING, "dense TP load"),
    ),
    RunTimeCheck(
        "attention-sinks-not-divisible",
        "the number of attention sinks is no multiple of tp_size; MLA without qk_rope_head_dim "
        "under TP; CP with fp32 and flex attention",
        RUN_TIME,
        Source(LOADING, "attention sharding"),
    ),
    RunTimeCheck(
        "trainer-adapter-targets",
        "DoRA or lora_target_parameters with expert targets, adapter settings that the PEFT "
        "side disagrees with, merging under accelerate FSDP",
        RUN_TIME,
        Source(TRAINER_BASE, "_setup_distributed_modes"),
    ),
    RunTimeCheck(
        "optimizer-mixes-tensor-kinds",
        "stock AdamW where experts are not managed by FSDP, or bf16_optimizer together with a "
        "named optimizer",
        RUN_TIME,
        Source(TRAINER_BASE, "optimizer construction"),
    ),
    RunTimeCheck(
        "presharded-data-too-few",
        "pre-sharded data has fewer shards than data-parallel ranks",
        RUN_TIME,
        Source(MESH, "data loading"),
    ),
    RunTimeCheck(
        "dp-mesh-not-whole-world",
        "a data-parallel mesh without a group of its own does not span the whole world",
        RUN_TIME,
        Source(MESH, "mesh construction"),
    ),
)
