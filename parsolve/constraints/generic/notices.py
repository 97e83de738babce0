"""What runs and a user should still know."""

from parsolve.constraints.cluster import NODE_ASSUMED
from parsolve.constraints.formula import all_of, any_of, divides, largest
from parsolve.constraints.generic import batch
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import quantities as q
from parsolve.constraints.generic.rules import ARITHMETIC
from parsolve.constraints.memory import facts as m
from parsolve.constraints.rule import Notice, Source

NOTICES = (
    Notice(
        id="model-changed",
        when=f.model_changes != "none",
        reason="Numbers were given in place of the model's own: all that is counted follows them.",
        source=Source("parsolve", "constraints/models/changed.py"),
    ),
    NODE_ASSUMED,
    Notice(
        id="zero-shards-nothing",
        when=all_of(f.zero_stage != "0", f.world_size > 1, q.shard_group_size == 1),
        reason="ZeRO shards over the ranks of dp * cp within one replica; with one such rank "
        "every state stays whole.",
        source=ARITHMETIC,
    ),
    Notice(
        id="tp-leaves-nvlink-domain",
        when=f.tp_size > q.nvlink_domain_size,
        reason="A tensor-parallel group is wider than an NVLink domain: every layer waits for the "
        "network.",
        source=ARITHMETIC,
    ),
    Notice(
        id="ep-leaves-nvlink-domain",
        when=all_of(f.ep_size > 1, q.ep_group_size > q.nvlink_domain_size),
        reason="An expert group is wider than an NVLink domain: its dispatcher must reach other "
        "nodes. Kernels for one node hang there.",
        source=ARITHMETIC,
    ),
    Notice(
        id="tp-splits-nvlink-domain",
        when=all_of(
            f.tp_size > 1,
            f.tp_size <= q.nvlink_domain_size,
            ~divides(f.tp_size, q.nvlink_domain_size),
        ),
        reason="The tensor-parallel size does not divide the NVLink domain, so some groups of "
        "consecutive ranks lie in two domains.",
        source=ARITHMETIC,
    ),
    Notice(
        id="ep-splits-nvlink-domain",
        when=all_of(
            f.ep_size > 1,
            q.ep_group_size <= q.nvlink_domain_size,
            ~divides(q.ep_group_size, q.nvlink_domain_size),
        ),
        reason="The expert group does not divide the NVLink domain, so some groups of consecutive "
        "ranks lie in two domains unless the scheduler places them in segments.",
        source=ARITHMETIC,
    ),
    Notice(
        id="microbatches-below-stages",
        when=all_of(f.pp_size > 1, batch.microbatches_in_pipeline < f.pp_size),
        reason="There are fewer micro-batches than pipeline stages, so some stages always idle; "
        "some frameworks refuse that.",
        source=ARITHMETIC,
    ),
    Notice(
        id="kv-heads-replicated",
        when=all_of(
            f.num_key_value_heads.length > 0, ~f.mla, q.head_ranks > f.num_key_value_heads.smallest
        ),
        reason="There are more ranks that share heads than key/value heads, so heads are copied; "
        "not every framework can.",
        source=ARITHMETIC,
    ),
    Notice(
        id="stages-uneven",
        when=all_of(
            m.num_hidden_layers > 0,
            ~divides(f.pp_size * largest(1, f.virtual_stages), m.num_hidden_layers),
        ),
        reason="The layers do not divide by the stages: some have one layer more, and the memory "
        "account takes it for the fullest one. Some frameworks refuse that or drop layers.",
        source=ARITHMETIC,
    ),
    Notice(
        id="sequence-padded",
        when=all_of(
            f.seq_length > 0,
            any_of(
                all_of(f.cp_size > 1, ~divides(2 * f.cp_size, f.seq_length)),
                all_of(f.sequence_parallel, ~divides(f.tp_size * f.cp_size, f.seq_length)),
            ),
        ),
        reason="Sequences are padded to whole chunks: two per context-parallel rank, and whole "
        "tokens per rank with sequence parallelism.",
        source=ARITHMETIC,
    ),
    Notice(
        id="zero-with-pipeline",
        when=all_of(f.pp_size > 1, any_of(f.zero_stage == "2", f.zero_stage == "3")),
        reason="Every micro-batch of a pipeline adds to the gradients, which stay whole until the "
        "last: DeepSpeed refuses ZeRO-2 and 3 there, FSDP keeps whole gradients.",
        source=ARITHMETIC,
    ),
    Notice(
        id="replicas-of-nothing-sharded",
        when=all_of(f.dp_replicate_size > 1, f.zero_stage == "0"),
        reason="Without ZeRO every rank holds the whole states, so replicas of shards have no "
        "effect.",
        source=ARITHMETIC,
    ),
    Notice(
        id="reshard-without-sharded-weights",
        when=all_of(~f.reshard_after_forward, f.zero_stage != "3"),
        reason="Only ZeRO-3 gathers weights, so whether they stay gathered has no effect.",
        source=ARITHMETIC,
    ),
    Notice(
        id="cp-kind-without-cp",
        when=all_of(f.cp_kind != "ring", f.cp_size <= 1),
        reason="Without context parallelism nothing is exchanged, so its kind has no effect.",
        source=ARITHMETIC,
    ),
    Notice(
        id="schedule-without-stages",
        when=all_of(f.pp_schedule != "1f1b", f.pp_size <= 1),
        reason="Without pipeline stages there is nothing to schedule, so the schedule has no "
        "effect.",
        source=ARITHMETIC,
    ),
)
