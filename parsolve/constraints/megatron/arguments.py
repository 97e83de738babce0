"""Stage "arguments": what Megatron refuses before anything runs, in its order."""

from collections.abc import Mapping

from parsolve.constraints.formula import ALWAYS, Formula, all_of, any_of, divides, largest, one_of
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.megatron.sources import SHARDS, arguments
from parsolve.constraints.rule import Example, Rule, Source

Given = Mapping[str, object]
SMALL: Given = {"world_size": 8}


def refusal(
    identity: str,
    source: Source,
    requires: Formula,
    reason: str,
    remedy: str,
    rejects: Given,
    instead: Given,
    when: Formula = ALWAYS,
    stage: str = "arguments",
) -> Rule:
    """A rule of this profile; its examples start from eight GPUs."""
    return Rule(
        id=identity,
        stage=stage,
        when=when,
        requires=requires,
        reason=reason,
        remedy=remedy,
        source=source,
        example=Example(rejects={**SMALL, **rejects}, instead={**SMALL, **instead}),
    )


LAYERS_KNOWN = f.num_hidden_layers > 0

GRID = (
    refusal(
        "weight-shards-not-multiple-of-tp",
        SHARDS,
        divides(f.tp_size, f.weight_shards),
        "Weight shards are counted over the tensor-parallel ranks and the ranks that gather "
        "them again, so they are a multiple of tp.",
        "Use a multiple of tp, or leave the number out.",
        {"tp_size": 4, "weight_shards": 6},
        {"tp_size": 4, "weight_shards": 8, "requested_global_batch": 2},
        f.weight_shards > 0,
    ),
    refusal(
        "world-not-divisible-by-model-parallel",
        arguments(430),
        divides(q.model_parallel_size, f.world_size),
        "The world is tp * cp * dp * pp. Neither ep nor etp is a factor of it.",
        "Use tp, pp and cp whose product divides the world.",
        {"tp_size": 2, "pp_size": 3},
        {"tp_size": 2, "pp_size": 2},
    ),
    refusal(
        "hierarchical-cp-sizes-not-cp",
        arguments(564),
        f.hierarchical_cp_sizes.product == f.cp_size,
        "The levels of context parallelism multiply to cp.",
        "Use sizes whose product is cp.",
        {"cp_size": 4, "hierarchical_cp_sizes": [2, 4]},
        {"cp_size": 4, "hierarchical_cp_sizes": [2, 2]},
        f.hierarchical_cp_sizes.length > 0,
    ),
    refusal(
        "hierarchical-cp-without-sizes",
        arguments(566),
        f.hierarchical_cp_sizes.length > 0,
        "Hierarchical context parallelism needs the sizes of its levels, at cp 1 too.",
        "Give the sizes, or choose another exchange.",
        {"cp_size": 4, "cp_comm_type": "a2a+p2p"},
        {"cp_size": 4, "cp_comm_type": "a2a+p2p", "hierarchical_cp_sizes": [2, 2]},
        f.cp_comm_type == "a2a+p2p",
    ),
)

BATCH = (
    refusal(
        "micro-batch-not-positive",
        arguments(676),
        any_of(~f.given(f.micro_batch), f.micro_batch >= 1),
        "A micro-batch holds at least one sequence.",
        "Use a positive micro-batch.",
        {"micro_batch": -1},
        {"micro_batch": 1},
    ),
    refusal(
        "global-batch-not-positive",
        arguments(687),
        any_of(~f.given(f.requested_global_batch), f.requested_global_batch >= 1),
        "A step takes at least one sequence.",
        "Use a positive global batch.",
        {"requested_global_batch": -1},
        {"requested_global_batch": 8},
    ),
    refusal(
        "global-batch-not-divisible",
        arguments(694),
        divides(largest(1, q.eval_sequences), q.eval_global_batch),
        "The global batch of evaluation, which is that of training unless it is given, must be a "
        "multiple of micro-batch times dp. --decrease-batch-size-if-needed does not help here.",
        "Use a multiple of micro-batch * dp.",
        {"requested_global_batch": 12},
        {"requested_global_batch": 16},
    ),
)

PIPELINE = (
    refusal(
        "virtual-stages-stated-twice",
        arguments(894),
        any_of(
            all_of(f.layers_per_virtual_stage == 0, f.virtual_stages == 0),
            all_of(f.layers_per_virtual_stage == 0, ~q.has_layout),
            all_of(f.virtual_stages == 0, ~q.has_layout),
        ),
        "Layers per virtual stage, the number of virtual stages and a layout each decide how many "
        "chunks a rank has.",
        "Give only one of them.",
        {"pp_size": 2, "virtual_stages": 2, "layers_per_virtual_stage": 2, "num_hidden_layers": 8},
        {"pp_size": 2, "virtual_stages": 2, "num_hidden_layers": 8, "requested_global_batch": 8},
    ),
    refusal(
        "layout-stages-not-multiple-of-pp",
        arguments(911),
        divides(f.pp_size, f.pipeline_layout.length),
        "A layout has the same number of chunks for every pipeline rank.",
        "State a multiple of pp stages.",
        {"pp_size": 2, "pipeline_layout": "Et|t|tL", "num_hidden_layers": 3},
        {"pp_size": 2, "pipeline_layout": "Ett|tL", "num_hidden_layers": 3},
        q.has_layout,
    ),
    refusal(
        "uneven-stages-with-layers-per-virtual-stage",
        arguments(921),
        ~q.is_uneven,
        "With layers of its own for the first or the last stage, chunks must be counted, not "
        "measured.",
        "Give the number of virtual stages instead.",
        {
            "pp_size": 4,
            "num_hidden_layers": 20,
            "first_stage_layers": 4,
            "last_stage_layers": 4,
            "layers_per_virtual_stage": 2,
        },
        {
            "pp_size": 4,
            "num_hidden_layers": 20,
            "first_stage_layers": 4,
            "last_stage_layers": 4,
            "virtual_stages": 2,
            "requested_global_batch": 8,
        },
        all_of(f.layers_per_virtual_stage > 0, f.virtual_stages == 0, ~q.has_layout),
    ),
    refusal(
        "layers-not-divisible-by-pp",
        arguments(934, 963),
        divides(f.pp_size, q.counted_layers),
        "Every pipeline rank gets the same number of layers, the embedding and the loss counted "
        "where they are accounted for.",
        "Use a pp that divides the layers, give the first and last stage layers of their own, "
        "account for the embedding or the loss, or state a layout (parsolve stages finds them).",
        {"pp_size": 4, "num_hidden_layers": 46},
        {
            "pp_size": 4,
            "num_hidden_layers": 46,
            "first_stage_layers": 11,
            "last_stage_layers": 11,
        },
        all_of(LAYERS_KNOWN, f.virtual_stages == 0, ~q.has_layout, ~q.is_uneven),
    ),
    refusal(
        "layers-not-divisible-by-virtual-stage",
        arguments(938),
        divides(largest(1, f.layers_per_virtual_stage), q.layers_per_stage),
        "A pipeline rank's layers are cut into chunks of equal size.",
        "Use a number of layers per virtual stage that divides a rank's layers.",
        {
            "pp_size": 2,
            "num_hidden_layers": 16,
            "layers_per_virtual_stage": 3,
            "requested_global_batch": 8,
        },
        {
            "pp_size": 2,
            "num_hidden_layers": 16,
            "layers_per_virtual_stage": 2,
            "requested_global_batch": 8,
        },
        all_of(LAYERS_KNOWN, f.layers_per_virtual_stage > 0, ~q.is_uneven, ~q.has_layout),
    ),
    refusal(
        "interleaving-without-pipeline",
        arguments(968),
        f.pp_size > 1,
        "An interleaved schedule needs several pipeline ranks.",
        "Use pp of at least 2, or one virtual stage.",
        {"virtual_stages": 2, "num_hidden_layers": 8},
        {"pp_size": 2, "virtual_stages": 2, "num_hidden_layers": 8, "requested_global_batch": 8},
        all_of(q.is_interleaved, f.overlap_p2p),
    ),
    refusal(
        "interleaving-of-two-ranks-without-overlap",
        arguments(972),
        f.pp_size > 2,
        "Without overlap of the pipeline's sends, two ranks would exchange several messages at "
        "once in an interleaved schedule.",
        "Use pp of at least 3, or overlap the sends.",
        {
            "pp_size": 2,
            "virtual_stages": 2,
            "num_hidden_layers": 8,
            "requested_global_batch": 8,
            "overlap_p2p": False,
        },
        {"pp_size": 2, "virtual_stages": 2, "num_hidden_layers": 8, "requested_global_batch": 8},
        all_of(q.is_interleaved, ~f.overlap_p2p),
    ),
)

PARAM_GATHER = (
    refusal(
        "param-gather-overlap-without-sharding",
        arguments(992),
        any_of(f.distributed_optimizer, f.megatron_fsdp, f.optimizer == "dist_muon"),
        "Weights are gathered only where they, or the optimizer's state, are sharded.",
        "Use the distributed optimizer.",
        {"overlap_param_gather": True, "overlap_grad_reduce": True},
        {
            "overlap_param_gather": True,
            "overlap_grad_reduce": True,
            "distributed_optimizer": True,
        },
        f.overlap_param_gather,
    ),
    refusal(
        "param-gather-overlap-without-grad-reduce-overlap",
        arguments(994),
        f.overlap_grad_reduce,
        "The overlap of the gather is built on that of the reduction.",
        "Overlap the gradient reduction too.",
        {"overlap_param_gather": True, "distributed_optimizer": True},
        {
            "overlap_param_gather": True,
            "overlap_grad_reduce": True,
            "distributed_optimizer": True,
        },
        f.overlap_param_gather,
    ),
)

FSDP2: Given = {
    "torch_fsdp2": True,
    "gradient_accumulation_fusion": False,
    "untie_embeddings": True,
}


def _fsdp2(identity: str, line: int, requires: Formula, reason: str, **bad: object) -> Rule:
    return refusal(
        f"torch-fsdp2-{identity}",
        arguments(line),
        requires,
        reason,
        "Change that, or use the distributed optimizer or Megatron's FSDP.",
        {**FSDP2, **bad},
        FSDP2,
        f.torch_fsdp2,
    )


TORCH_FSDP2 = (
    _fsdp2(
        "with-pp",
        1000,
        f.pp_size == 1,
        "PyTorch's FSDP2 is not supported with pipeline parallelism.",
        pp_size=2,
    ),
    _fsdp2(
        "with-ep",
        1002,
        f.ep_size == 1,
        "PyTorch's FSDP2 is not supported with expert parallelism.",
        ep_size=2,
    ),
    _fsdp2(
        "with-distributed-optimizer",
        1004,
        ~f.distributed_optimizer,
        "FSDP2 shards optimizer state itself.",
        distributed_optimizer=True,
    ),
    _fsdp2(
        "with-gradient-accumulation-fusion",
        1006,
        ~f.gradient_accumulation_fusion,
        "Fused accumulation writes to buffers that FSDP2 does not have.",
        gradient_accumulation_fusion=True,
    ),
    _fsdp2(
        "checkpoint-format",
        1008,
        one_of(f.ckpt_format, ("torch_dist", "torch_dcp")),
        "FSDP2's weights are saved as torch_dist or torch_dcp only.",
        ckpt_format="torch",
    ),
    _fsdp2(
        "with-tied-embeddings",
        1010,
        f.untie_embeddings,
        "FSDP2 cannot share one weight between the embedding and the output layer.",
        untie_embeddings=False,
    ),
    _fsdp2("with-fp16", 1012, f.precision != "fp16", "FSDP2 has no fp16 here.", precision="fp16"),
    _fsdp2(
        "one-device-connection",
        1014,
        f.cuda_device_max_connections != 1,
        "FSDP overlaps collectives over several queues of the GPU.",
        cuda_device_max_connections=1,
    ),
)

GATHER_WITH_STEP: Given = {
    "pp_size": 2,
    "virtual_stages": 2,
    "num_hidden_layers": 8,
    "requested_global_batch": 8,
    "overlap_param_gather": True,
    "overlap_grad_reduce": True,
    "distributed_optimizer": True,
    "overlap_param_gather_with_step": True,
    "ckpt_format": "torch",
}


def _with_step(identity: str, line: int, requires: Formula, reason: str, **bad: object) -> Rule:
    return refusal(
        f"param-gather-with-step-{identity}",
        arguments(line),
        requires,
        reason,
        "Change that, or gather weights without the optimizer's step.",
        {**GATHER_WITH_STEP, **bad},
        GATHER_WITH_STEP,
        f.overlap_param_gather_with_step,
    )


PARAM_GATHER_WITH_STEP = (
    _with_step(
        "without-distributed-optimizer",
        1033,
        f.distributed_optimizer,
        "Only the distributed optimizer gathers weights after its step.",
        distributed_optimizer=False,
    ),
    _with_step(
        "without-overlap",
        1035,
        f.overlap_param_gather,
        "It is a kind of overlapped gather.",
        overlap_param_gather=False,
    ),
    _with_step(
        "without-interleaving",
        1037,
        q.is_interleaved,
        "The chunks of an interleaved schedule are what is gathered one by one.",
        virtual_stages=None,
    ),
    _with_step(
        "distributed-checkpoint",
        1039,
        f.ckpt_format == "torch",
        "Distributed checkpoints do not support it yet.",
        ckpt_format="torch_dist",
    ),
)

MEGATRON: Given = {"megatron_fsdp": True, "ckpt_format": "fsdp_dtensor"}


def _megatron(
    identity: str, line: int, requires: Formula, reason: str, bad: Given, base: Given = MEGATRON
) -> Rule:
    return refusal(
        f"megatron-fsdp-{identity}",
        arguments(line),
        requires,
        reason,
        "Change that, or use the distributed optimizer without FSDP.",
        {**base, **bad},
        base,
        f.megatron_fsdp,
    )


MEGATRON_FSDP = (
    _megatron(
        "single-grouped-weight",
        1120,
        ~f.single_grouped_weight,
        "Megatron's FSDP cannot hold a rank's experts in one weight.",
        {"single_grouped_weight": True},
    ),
    _megatron(
        "optimizer",
        1127,
        one_of(f.optimizer, ("adam", "sgd")),
        "Megatron's FSDP steps with Adam or SGD only.",
        {"optimizer": "muon"},
    ),
    _megatron(
        "weight-hash-check",
        1140,
        any_of(f.sharding_strategy != "optim_grads_params", f.weight_hash_check == 0),
        "Sharded weights have no replicas to compare.",
        {"weight_hash_check": 100},
    ),
    _megatron(
        "one-device-connection",
        1143,
        f.cuda_device_max_connections != 1,
        "FSDP overlaps collectives over several queues of the GPU.",
        {"cuda_device_max_connections": 1},
    ),
    _megatron(
        "checkpoint-format",
        1146,
        f.ckpt_format == "fsdp_dtensor",
        "Megatron's FSDP saves its weights as fsdp_dtensor only.",
        {"ckpt_format": "torch_dist"},
    ),
    _megatron(
        "meta-device-without-sharding",
        1161,
        any_of(~f.meta_device_init, f.sharding_strategy != "no_shard"),
        "Weights that are not sharded cannot be filled in shard by shard.",
        {"meta_device_init": True, "sharding_strategy": "no_shard"},
    ),
)

MODEL = (
    refusal(
        "hidden-size-not-divisible-by-heads",
        arguments(1292),
        divides(largest(1, f.num_attention_heads), f.hidden_size),
        "A head's width is hidden size / heads unless it is given.",
        "Give --kv-channels, or heads that divide the hidden size.",
        {"hidden_size": 1000, "num_attention_heads": 16},
        {"hidden_size": 1000, "num_attention_heads": 16, "head_dim": 64},
        all_of(f.head_dim == 0, f.hidden_size > 0, f.num_attention_heads > 0),
    ),
    refusal(
        "sequence-not-divisible-by-cp",
        arguments(1296),
        divides(2 * f.cp_size, f.seq_length),
        "Each context-parallel rank takes two chunks of the sequence, one from either end.",
        "Use a length that is a multiple of 2 * cp.",
        {"cp_size": 4, "seq_length": 4100},
        {"cp_size": 4, "seq_length": 4096},
        all_of(f.cp_size > 1, f.seq_length > 0),
    ),
    refusal(
        "positions-fewer-than-sequence",
        arguments(1314),
        f.max_position_embeddings >= f.seq_length,
        "Positions are made for at most so many tokens, with rotary embeddings too.",
        "Raise --max-position-embeddings to the sequence's length.",
        {"seq_length": 32_768, "max_position_embeddings": 8192},
        {"seq_length": 32_768, "max_position_embeddings": 32_768},
        all_of(f.max_position_embeddings > 0, f.seq_length > 0),
    ),
    refusal(
        "grouped-gemm-on-old-gpu",
        arguments(1340),
        f.compute_capability >= 8,
        "Grouped products of experts need an Ampere GPU or a newer one.",
        "Leave --moe-grouped-gemm out.",
        {"grouped_gemm": True, "compute_capability": 7},
        {"grouped_gemm": True},
        f.grouped_gemm,
    ),
)

DELAYED: Given = {
    "ep_size": 2,
    "num_experts": 8,
    "bias_linear": False,
    "overlap_ep": True,
    "dispatcher": "alltoall",
    "delay_wgrad": True,
}
DISTRIBUTED: Given = {
    "tp_size": 2,
    "distribute_saved_activations": True,
    "recompute": "full",
    "recompute_method": "uniform",
    "recompute_num_layers": 1,
}


def _distributed(identity: str, line: int, requires: Formula, reason: str, **bad: object) -> Rule:
    return refusal(
        f"distributed-activations-{identity}",
        arguments(line),
        requires,
        reason,
        "Change that, or leave saved activations whole.",
        {**DISTRIBUTED, **bad},
        DISTRIBUTED,
        f.distribute_saved_activations,
    )


RECOMPUTE = (
    _distributed(
        "without-tp",
        1371,
        f.tp_size > 1,
        "Saved activations are split over tensor-parallel ranks.",
        tp_size=1,
    ),
    _distributed(
        "without-full-recompute",
        1374,
        f.recompute == "full",
        "Only the inputs of wholly recomputed layers can be split.",
        recompute="none",
    ),
    _distributed(
        "without-method",
        1377,
        f.recompute_method != "none",
        "A method decides which inputs are kept.",
        recompute_method="none",
    ),
    refusal(
        "recompute-method-with-selective",
        arguments(1386),
        f.recompute_method == "none",
        "Selective recompute is by modules; a method chooses among whole layers.",
        "Drop the method, or recompute fully.",
        {"recompute": "selective", "recompute_method": "uniform"},
        {"recompute": "selective"},
        f.recompute == "selective",
    ),
)

HYBRID: Given = {"cp_size": 2, "hybrid_cp": True, "calculate_per_token_loss": True}


def _hybrid(identity: str, line: int, requires: Formula, reason: str, **bad: object) -> Rule:
    return refusal(
        f"hybrid-cp-{identity}",
        arguments(line),
        requires,
        reason,
        "Change that, or use one context-parallel size for all samples.",
        {**HYBRID, **bad},
        HYBRID,
        f.hybrid_cp,
    )


OVERLAP = (
    refusal(
        "tp-overlap-without-sequence-parallel",
        arguments(1402),
        q.sequence_parallel,
        "The collectives that are overlapped are those of sequence parallelism, which is off at "
        "tp 1 whatever is asked for.",
        "Use sequence parallelism and tp of at least 2.",
        {"tp_size": 2, "tp_comm_overlap": True},
        {"tp_size": 2, "tp_comm_overlap": True, "sequence_parallel": True},
        f.tp_comm_overlap,
    ),
    _hybrid(
        "with-pp",
        1405,
        f.pp_size == 1,
        "Stages would wait for samples of different sizes.",
        pp_size=2,
    ),
    _hybrid(
        "with-megatron-fsdp",
        1407,
        ~f.megatron_fsdp,
        "Megatron's FSDP expects one context-parallel size.",
        megatron_fsdp=True,
        ckpt_format="fsdp_dtensor",
    ),
    _hybrid(
        "dataloader",
        1408,
        f.dataloader_type == "single",
        "Only the single-pass loader sorts samples by size.",
        dataloader_type="cyclic",
    ),
    _hybrid(
        "without-per-token-loss",
        1409,
        f.calculate_per_token_loss,
        "Samples of different sizes must be weighed by their tokens.",
        calculate_per_token_loss=False,
    ),
    refusal(
        "device-connections-not-one",
        arguments(1437),
        any_of(f.cuda_device_max_connections == 0, f.cuda_device_max_connections == 1),
        "Before Blackwell, the order of kernels and collectives of tensor and context parallelism "
        "is kept by a single queue of the GPU.",
        "Set CUDA_DEVICE_MAX_CONNECTIONS to 1.",
        {"tp_size": 2, "cuda_device_max_connections": 8},
        {"tp_size": 2, "cuda_device_max_connections": 1},
        all_of(
            any_of(f.tp_size > 1, f.cp_size > 1),
            f.compute_capability < 10,
            ~f.torch_fsdp2,
            ~f.megatron_fsdp,
            ~f.overlap_ep,
        ),
    ),
)

WEIGHT_SHARDS = (
    refusal(
        "expert-weight-shards-not-multiple-of-etp",
        SHARDS,
        divides(q.expert_tp_size, f.expert_weight_shards),
        "Weight shards of experts are counted over the expert-tensor-parallel ranks and the ranks "
        "that gather them again.",
        "Use a multiple of etp, or leave the number out.",
        {"expert_tp_size": 4, "expert_weight_shards": 6},
        {"expert_tp_size": 4, "expert_weight_shards": 8},
        f.expert_weight_shards > 0,
    ),
    refusal(
        "weight-shards-checkpoint-format",
        arguments(1518),
        one_of(f.ckpt_format, ("torch", "torch_dist")),
        "Weights that are gathered again are saved as torch or torch_dist only.",
        "Use torch_dist.",
        {
            "weight_shards": 2,
            "requested_global_batch": 8,
            "megatron_fsdp": True,
            "ckpt_format": "fsdp_dtensor",
        },
        {"weight_shards": 2, "requested_global_batch": 8},
        any_of(q.gtp_size > 1, q.expert_gtp_size > 1),
    ),
)

EXPERTS = (
    refusal(
        "ep-without-experts",
        arguments(1601),
        f.ep_size == 1,
        "The model has no experts to spread.",
        "Use ep 1, or give the number of experts.",
        {"ep_size": 2, "model_kind": "dense"},
        {"ep_size": 2, "num_experts": 8, "bias_linear": False},
        f.model_kind == "dense",
    ),
    refusal(
        "experts-not-divisible-by-ep",
        arguments(1602),
        divides(f.ep_size, f.num_experts),
        "Every expert-parallel rank holds the same number of whole experts.",
        "Use an ep that divides the experts.",
        {"ep_size": 8, "num_experts": 60, "bias_linear": False},
        {"ep_size": 4, "num_experts": 60, "bias_linear": False},
        f.num_experts > 0,
    ),
)

CHECKPOINTS = (
    refusal(
        "torch-dcp-without-fsdp2",
        arguments(1613),
        f.torch_fsdp2,
        "torch_dcp checkpoints are written by FSDP2 only.",
        "Use torch_dist.",
        {"ckpt_format": "torch_dcp"},
        {"ckpt_format": "torch_dist"},
        f.ckpt_format == "torch_dcp",
    ),
    refusal(
        "torch-dcp-with-tp",
        arguments(1614),
        f.tp_size == 1,
        "torch_dcp checkpoints do not know tensor parallelism.",
        "Use torch_dist.",
        {**FSDP2, "ckpt_format": "torch_dcp", "tp_size": 2},
        {**FSDP2, "ckpt_format": "torch_dist", "tp_size": 2},
        f.ckpt_format == "torch_dcp",
    ),
    refusal(
        "torch-dcp-with-pp",
        arguments(1616),
        f.pp_size == 1,
        "torch_dcp checkpoints do not know pipeline parallelism.",
        "Use torch_dist.",
        {"ckpt_format": "torch_dcp", "pp_size": 2},
        {"ckpt_format": "torch_dist", "pp_size": 2},
        f.ckpt_format == "torch_dcp",
    ),
    refusal(
        "fsdp-dtensor-without-megatron-fsdp",
        arguments(1621),
        f.megatron_fsdp,
        "fsdp_dtensor checkpoints are written by Megatron's FSDP only.",
        "Use torch_dist.",
        {"ckpt_format": "fsdp_dtensor"},
        {"ckpt_format": "torch_dist"},
        f.ckpt_format == "fsdp_dtensor",
    ),
)

OPTIMIZER = (
    refusal(
        "layer-wise-optimizer-with-fsdp2",
        arguments(1684),
        ~f.torch_fsdp2,
        "Optimizers that work on whole layers cannot step on FSDP2's shards.",
        "Use Adam or SGD, or no FSDP.",
        {**FSDP2, "optimizer": "muon"},
        {**FSDP2, "optimizer": "adam"},
        q.is_emerging,
    ),
    refusal(
        "layer-wise-optimizer-checkpoint-format",
        arguments(1686),
        one_of(f.ckpt_format, ("torch", "torch_dist")),
        "The state of optimizers that work on whole layers is saved as torch or torch_dist.",
        "Use torch_dist.",
        {**FSDP2, "optimizer": "lion", "ckpt_format": "torch_dcp"},
        {"optimizer": "lion", "ckpt_format": "torch_dist"},
        q.is_emerging,
    ),
    refusal(
        "no-gloo-without-distributed-checkpoint",
        arguments(1695),
        f.ckpt_format != "torch",
        "The plain checkpoint gathers the distributed optimizer's state over Gloo.",
        "Use a distributed checkpoint, or keep the Gloo groups.",
        {"gloo": False, "distributed_optimizer": True, "ckpt_format": "torch"},
        {"gloo": False, "distributed_optimizer": True, "ckpt_format": "torch_dist"},
        all_of(
            ~f.gloo,
            any_of(f.megatron_fsdp, all_of(f.distributed_optimizer, ~q.is_emerging)),
        ),
    ),
    refusal(
        "optimizer-offload-without-precision-aware",
        arguments(1804),
        f.precision_aware_optimizer,
        "The optimizer that steps on the host is a kind of the precision-aware one.",
        "Use the precision-aware optimizer.",
        {"optimizer_offload": True},
        {
            "optimizer_offload": True,
            "precision_aware_optimizer": True,
            "distributed_optimizer": True,
        },
        f.optimizer_offload,
    ),
    refusal(
        "delayed-wgrad-with-local-transformer",
        arguments(1823),
        f.transformer_impl == "transformer_engine",
        "Only Transformer Engine can compute gradients of weights later.",
        "Use --transformer-impl transformer_engine.",
        {**DELAYED, "transformer_impl": "local"},
        DELAYED,
        f.delay_wgrad,
    ),
    refusal(
        "mla-with-query-groups",
        arguments(1893),
        f.num_key_value_heads == 0,
        "Multi-head latent attention has keys and values for every head.",
        "Leave the query groups out.",
        {"mla": True, "num_attention_heads": 128, "num_key_value_heads": 8},
        {"mla": True, "num_attention_heads": 128},
        f.mla,
    ),
)

ARGUMENTS = (
    *GRID,
    *BATCH,
    *PIPELINE,
    *PARAM_GATHER,
    *TORCH_FSDP2,
    *PARAM_GATHER_WITH_STEP,
    *MEGATRON_FSDP,
    *MODEL,
    *RECOMPUTE,
    *OVERLAP,
    *WEIGHT_SHARDS,
    *EXPERTS,
    *CHECKPOINTS,
    *OPTIMIZER,
)
