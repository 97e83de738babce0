"""What Megatron-Core's docstrings and messages say of its configurations, one sentence each.

Each is proved for all sizes from the rules themselves, or kept with a counterexample where it is
not true.
"""

from parsolve.constraints.claim import ACCEPTED, Claim, Instead
from parsolve.constraints.formula import all_of, divides, implies
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.megatron.sources import (
    INTERLEAVED,
    MOE_LAYER,
    SCHEDULE,
    arguments,
    config,
    groups,
    parallel_config,
)
from parsolve.constraints.rule import Source

PARALLEL_CONFIG = "megatron/core/model_parallel_config.py"
FIELDS = "ModelParallelConfig: its fields"
DDP_CONFIG = Source(
    "megatron/core/distributed/distributed_data_parallel_config.py",
    "DistributedDataParallelConfig: its fields",
    (34,),
)
GTP = groups(686)
SCHEDULER = Source(SCHEDULE, INTERLEAVED, (1136,))

WITHOUT_EP = Instead("without_ep", ep_size=1)
WITHOUT_CP = Instead("without_cp", cp_size=1)
WITHOUT_TP = Instead("without_tp", tp_size=1)

dp = q.data_parallel_size
expert_dp = q.expert_data_parallel_size
PLAIN = all_of(q.gtp_size == 1, q.expert_gtp_size == 1)
"""No weights are gathered again."""

GRIDS = (
    Claim(
        id="the-dense-grid-tiles-the-world",
        says="tp, pp, cp, the ranks that gather weights again and dp multiply to the world, with "
        "no rank left over.",
        source=GTP,
        then=all_of(dp >= 1, q.model_parallel_size * dp == f.world_size),
    ),
    Claim(
        id="the-expert-grid-tiles-the-world",
        says="etp, ep, pp, the ranks that gather expert weights again and expert dp multiply to "
        "the world, with no rank left over, in a model without experts too.",
        source=groups(882),
        then=all_of(expert_dp >= 1, q.expert_model_parallel_size * expert_dp == f.world_size),
    ),
    Claim(
        id="ep-never-changes-dp",
        says="A configuration trains on as many distinct batches as it would without EP.",
        source=Source(PARALLEL_CONFIG, FIELDS, (128,)),
        then=all_of(dp >= 1, dp == WITHOUT_EP.of(dp)),
    ),
    Claim(
        id="ep-divides-copies-of-experts",
        says="EP leaves exactly one in ep of the copies of each expert that there would be "
        "without it.",
        source=groups(882),
        then=expert_dp * f.ep_size == WITHOUT_EP.of(expert_dp),
    ),
    Claim(
        id="cp-never-changes-copies-of-experts",
        says="Each expert has as many copies as it would have without CP.",
        source=groups(882),
        then=all_of(expert_dp >= 1, expert_dp == WITHOUT_CP.of(expert_dp)),
    ),
    Claim(
        id="cp-divides-dp-by-its-size",
        says="CP leaves exactly one in cp of the batches that there would be without it.",
        source=Source(PARALLEL_CONFIG, FIELDS, (101,)),
        then=dp * f.cp_size == WITHOUT_CP.of(dp),
    ),
    Claim(
        id="tp-divides-dp-by-its-size",
        says="Where no weights are gathered again, TP leaves exactly one in tp of the batches that "
        "there would be without it.",
        source=arguments(430),
        when=all_of(ACCEPTED, f.weight_shards == 0),
        then=dp * f.tp_size == WITHOUT_TP.of(dp),
    ),
    Claim(
        id="experts-are-spread-over-data-parallel-ranks",
        says="Experts are distributed across a part of the data-parallel dimension: ep divides dp.",
        source=Source(PARALLEL_CONFIG, FIELDS, (128,)),
        then=divides(f.ep_size, dp),
        truth="the-expert-grid-tiles-the-world",
        fails_at={
            "world_size": 2,
            "cp_size": 2,
            "ep_size": 2,
            "num_experts": 2,
            "bias_linear": False,
        },
    ),
    Claim(
        id="etp-follows-tp",
        says="Experts are split like all other layers unless etp is given.",
        source=parallel_config(507),
        when=all_of(ACCEPTED, f.expert_tp_size == 0),
        then=q.expert_tp_size == f.tp_size,
    ),
    Claim(
        id="stages-coincide-where-pp-turns-first",
        says="With pp before dp in the order of ranks, and a pipeline, dp and expert dp are equal.",
        source=groups(901),
        when=all_of(ACCEPTED, f.tp_pp_dp_order, f.pp_size > 1),
        then=dp == expert_dp,
    ),
)

OPTIMIZER = (
    Claim(
        id="optimizer-instances-share-dense-replicas",
        says="Instances of the optimizer's state and the ranks of each multiply to dp * cp.",
        source=DDP_CONFIG,
        then=q.shard_group_size * f.optimizer_instances == q.dp_cp_size,
    ),
    Claim(
        id="optimizer-instances-share-copies-of-experts",
        says="Instances of the optimizer's state and the ranks that shard an expert in each "
        "multiply to expert dp.",
        source=DDP_CONFIG,
        then=q.expert_shard_size * f.optimizer_instances == expert_dp,
    ),
    Claim(
        id="gathered-weights-have-one-optimizer-instance",
        says="Where weights are gathered again, the optimizer's state has one instance.",
        source=groups(808),
        when=all_of(ACCEPTED, ~PLAIN),
        then=f.optimizer_instances == 1,
    ),
)

BATCHES = (
    Claim(
        id="every-data-parallel-rank-has-a-sample",
        says="A step takes at least one micro-batch on every data-parallel rank.",
        source=arguments(694),
        then=all_of(q.microbatches >= 1, q.asked_batch >= dp),
    ),
    Claim(
        id="a-step-is-whole-micro-batches",
        says="Unless Megatron may round it down, the global batch is a whole number of "
        "micro-batches of every rank.",
        source=arguments(694),
        when=all_of(ACCEPTED, ~f.decrease_batch),
        then=q.microbatches * q.per_pass == q.asked_batch,
    ),
)

PIPELINE = (
    Claim(
        id="interleaving-needs-as-many-micro-batches-as-stages",
        says="An interleaved schedule has a pipeline and at least pp micro-batches, in groups of "
        "at least pp and at most all of them.",
        source=SCHEDULER,
        when=all_of(ACCEPTED, q.is_interleaved),
        then=all_of(
            f.pp_size >= 2,
            q.microbatches >= f.pp_size,
            q.microbatch_group_size >= f.pp_size,
            q.microbatch_group_size <= q.microbatches,
        ),
    ),
    Claim(
        id="interleaving-without-overlap-needs-three-ranks",
        says="Without overlap of the pipeline's sends, an interleaved pipeline has at least three "
        "ranks.",
        source=arguments(972),
        when=all_of(ACCEPTED, q.is_interleaved, ~f.overlap_p2p),
        then=f.pp_size >= 3,
    ),
    Claim(
        id="even-stages-share-all-layers",
        says="Where neither stage has layers of its own and no layout is stated, pp divides the "
        "layers, the embedding and the loss counted where they are accounted for.",
        source=arguments(963),
        when=all_of(ACCEPTED, f.num_hidden_layers > 0, ~q.has_layout, ~q.is_uneven),
        then=all_of(
            divides(f.pp_size, q.counted_layers),
            q.layers_per_stage * f.pp_size == q.counted_layers,
        ),
    ),
    Claim(
        id="a-layout-has-whole-chunks",
        says="A layout states equally many chunks for every pipeline rank, and nothing else "
        "splits the layers beside it.",
        source=arguments(911),
        when=all_of(ACCEPTED, q.has_layout),
        then=all_of(
            divides(f.pp_size, f.pipeline_layout.length),
            q.virtual_stages * f.pp_size == f.pipeline_layout.length,
            ~q.is_uneven,
        ),
    ),
)

SEQUENCES = (
    Claim(
        id="sequence-parallelism-is-off-at-tp-one",
        says="At tp 1 sequence parallelism is off, whatever is asked for.",
        source=arguments(1390),
        when=f.tp_size == 1,
        then=~q.sequence_parallel,
    ),
    Claim(
        id="experts-with-tp-have-sequence-parallelism",
        says="A model that is known to have experts trains with tensor parallelism only with "
        "sequence parallelism.",
        source=MOE_LAYER,
        when=all_of(ACCEPTED, q.is_moe, f.tp_size > 1),
        then=q.sequence_parallel,
    ),
    Claim(
        id="sequences-have-two-chunks-for-each-context-rank",
        says="With CP, the sequence is cut into 2 * cp equal chunks.",
        source=arguments(1296),
        when=all_of(ACCEPTED, f.cp_size > 1, f.seq_length > 0),
        then=divides(2 * f.cp_size, f.seq_length),
    ),
)

MODEL = (
    Claim(
        id="heads-and-experts-are-whole",
        says="Every tensor-parallel rank has equally many attention heads, every expert-parallel "
        "rank equally many experts.",
        source=config(1324),
        then=all_of(
            implies(f.num_attention_heads > 0, divides(f.tp_size, f.num_attention_heads)),
            implies(f.num_experts > 0, divides(f.ep_size, f.num_experts)),
        ),
    ),
    Claim(
        id="only-models-with-experts-spread-them",
        says="A model that is known to have no experts has ep 1.",
        source=arguments(1601),
        when=all_of(ACCEPTED, f.model_kind == "dense"),
        then=f.ep_size == 1,
    ),
    Claim(
        id="fsdp2-is-data-parallel-only",
        says="With PyTorch's FSDP2 there is neither a pipeline nor expert parallelism.",
        source=arguments(1000, 1002),
        when=all_of(ACCEPTED, f.torch_fsdp2),
        then=all_of(f.pp_size == 1, f.ep_size == 1),
    ),
)

CLAIMS = (*GRIDS, *OPTIMIZER, *BATCHES, *PIPELINE, *SEQUENCES, *MODEL)
