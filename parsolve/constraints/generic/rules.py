"""What no framework can do: grids that do not tile, and parts that nothing cuts."""

from parsolve.constraints.formula import all_of, any_of, divides, largest
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import quantities as q
from parsolve.constraints.memory import facts as m
from parsolve.constraints.rule import Example, Rule, Source

ARITHMETIC = Source("arithmetic", "every framework")

GRIDS = (
    Rule(
        id="world-not-multiple-of-node",
        stage="grids",
        when=f.gpus_per_node > 0,
        requires=divides(q.gpus_per_node, f.world_size),
        reason="Launchers start the same number of ranks on every node.",
        remedy="Use whole nodes, or state the GPUs per node.",
        source=ARITHMETIC,
        example=Example(
            rejects={"world_size": 12, "gpus_per_node": 8},
            instead={"world_size": 12, "gpus_per_node": 4},
        ),
    ),
    Rule(
        id="dense-grid-not-tiling-world",
        stage="grids",
        requires=divides(q.model_parallel_size, f.world_size),
        reason="Ranks form a grid of data, pipeline, context and tensor parallelism: the world is "
        "their product. Expert parallelism is no factor of it.",
        remedy="Use tp, pp and cp whose product divides the world.",
        source=ARITHMETIC,
        example=Example(
            rejects={"world_size": 64, "tp_size": 8, "cp_size": 3},
            instead={"world_size": 64, "tp_size": 8, "cp_size": 4},
        ),
    ),
    Rule(
        id="expert-grid-not-tiling-world",
        stage="grids",
        when=q.ep_group_size > 1,
        requires=divides(q.ep_group_size * f.pp_size, f.world_size),
        reason="Experts have a grid of their own over the same ranks: expert-data, expert, "
        "expert-tensor and pipeline parallelism.",
        remedy="Use ep, etp and pp whose product divides the world.",
        source=ARITHMETIC,
        example=Example(
            rejects={
                "world_size": 1024,
                "tp_size": 2,
                "pp_size": 16,
                "ep_size": 64,
                "expert_tp_size": 2,
            },
            instead={"world_size": 1024, "tp_size": 2, "pp_size": 16, "ep_size": 64},
        ),
    ),
    Rule(
        id="replicas-not-dividing-dp",
        stage="grids",
        requires=divides(f.dp_replicate_size, q.data_parallel_size),
        reason="HSDP replicates over one part of the data-parallel ranks and shards over the rest.",
        remedy="Use a number of replicas that divides the data-parallel size.",
        source=ARITHMETIC,
        example=Example(
            rejects={"world_size": 16, "tp_size": 8, "dp_replicate_size": 4},
            instead={"world_size": 16, "tp_size": 8, "dp_replicate_size": 2},
        ),
    ),
    Rule(
        id="virtual-stages-without-interleaving",
        stage="grids",
        requires=any_of(f.virtual_stages <= 1, f.pp_schedule == "interleaved"),
        reason="Only an interleaved schedule gives a rank several chunks of layers.",
        remedy="Choose the interleaved schedule, or one chunk per rank.",
        source=ARITHMETIC,
        example=Example(
            rejects={"world_size": 8, "pp_size": 4, "virtual_stages": 2},
            instead={
                "world_size": 8,
                "pp_size": 4,
                "virtual_stages": 2,
                "pp_schedule": "interleaved",
            },
        ),
    ),
    Rule(
        id="sequence-parallel-without-tp",
        stage="grids",
        requires=any_of(~f.sequence_parallel, f.tp_size > 1),
        reason="Sequence parallelism splits norms and residuals over the tensor-parallel ranks.",
        remedy="Use tensor parallelism, or leave sequence parallelism off.",
        source=ARITHMETIC,
        example=Example(
            rejects={"world_size": 8, "sequence_parallel": True},
            instead={"world_size": 8, "sequence_parallel": True, "tp_size": 2},
        ),
    ),
)

MODEL = (
    Rule(
        id="heads-not-divisible-by-tp",
        stage="model",
        when=all_of(f.num_attention_heads.length > 0, f.tp_size > 1),
        requires=divides(f.tp_size, f.num_attention_heads.gcd),
        reason="Tensor parallelism gives each rank whole attention heads, equally many.",
        remedy="Use a tensor-parallel size that divides the heads.",
        source=ARITHMETIC,
        example=Example(
            rejects={"world_size": 12, "tp_size": 3, "num_attention_heads": [32]},
            instead={"world_size": 12, "tp_size": 2, "num_attention_heads": [32]},
        ),
    ),
    Rule(
        id="heads-not-divisible-by-ulysses",
        stage="model",
        when=all_of(f.cp_kind == "ulysses", f.num_attention_heads.length > 0, f.cp_size > 1),
        requires=divides(q.head_ranks, f.num_attention_heads.gcd),
        reason="Ulysses exchanges the sequence for heads: each rank of tp * cp gets whole heads. "
        "A ring has no such limit.",
        remedy="Use tp and cp whose product divides the heads, or a ring.",
        source=ARITHMETIC,
        example=Example(
            rejects={
                "world_size": 16,
                "cp_size": 16,
                "cp_kind": "ulysses",
                "num_attention_heads": [40],
            },
            instead={"world_size": 16, "cp_size": 16, "num_attention_heads": [40]},
        ),
    ),
    Rule(
        id="kv-heads-not-shared-equally",
        stage="model",
        when=all_of(f.num_key_value_heads.length > 0, q.head_ranks > 1, ~f.mla),
        requires=any_of(
            divides(q.head_ranks, f.num_key_value_heads.gcd),
            all_of(
                f.num_key_value_heads.smallest == f.num_key_value_heads.largest,
                divides(largest(1, f.num_key_value_heads.smallest), q.head_ranks),
            ),
        ),
        reason="Each rank gets whole key/value heads, or each head is copied to equally many "
        "ranks.",
        remedy="Use tp (times cp with Ulysses) that divides the key/value heads or is a multiple.",
        source=ARITHMETIC,
        example=Example(
            rejects={
                "world_size": 24,
                "tp_size": 12,
                "num_attention_heads": [96],
                "num_key_value_heads": [8],
            },
            instead={
                "world_size": 32,
                "tp_size": 16,
                "num_attention_heads": [96],
                "num_key_value_heads": [8],
            },
        ),
    ),
    Rule(
        id="experts-not-divisible-by-ep",
        stage="model",
        when=f.num_experts > 0,
        requires=divides(f.ep_size, f.num_experts),
        reason="Every expert-parallel rank holds the same number of whole experts.",
        remedy="Use an expert-parallel size that divides the experts.",
        source=ARITHMETIC,
        example=Example(
            rejects={"world_size": 12, "ep_size": 3, "num_experts": 8},
            instead={"world_size": 12, "ep_size": 4, "num_experts": 8},
        ),
    ),
    Rule(
        id="experts-absent",
        stage="model",
        when=f.model_kind == "dense",
        requires=q.ep_group_size <= 1,
        reason="The model has no routed experts to spread or to split.",
        remedy="Leave ep and etp at one, or use a model with experts.",
        source=ARITHMETIC,
        example=Example(
            rejects={"world_size": 8, "ep_size": 2, "model_kind": "dense"},
            instead={"world_size": 8, "ep_size": 2, "model_kind": "moe"},
        ),
    ),
    Rule(
        id="stages-without-layers",
        stage="model",
        when=m.num_hidden_layers > 0,
        requires=f.pp_size * f.virtual_stages <= m.num_hidden_layers,
        reason="Every pipeline stage, or every chunk of an interleaved one, needs a layer.",
        remedy="Use fewer stages or chunks than there are layers.",
        source=ARITHMETIC,
        example=Example(
            rejects={"world_size": 64, "pp_size": 64, "num_hidden_layers": 32},
            instead={"world_size": 64, "pp_size": 32, "num_hidden_layers": 32},
        ),
    ),
)

RULES = (*GRIDS, *MODEL)
