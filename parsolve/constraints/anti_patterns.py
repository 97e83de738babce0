"""Configurations that run and cost without need, the same in every framework.

Each is a formula over what a profile calls its sizes; the words stand here once.
"""

from dataclasses import dataclass

from parsolve.constraints.formula import (
    Formula,
    Term,
    all_of,
    any_of,
    divides,
    largest,
    least,
)
from parsolve.constraints.ladder import AntiPattern
from parsolve.constraints.rule import Source

LADDER = Source("curryTrain, stage4-parallel-primitive-intro", "anti-patterns")
GUIDE = Source("Megatron-Core parallelism guide", "best practices")
GPIPE = Source("arXiv 1811.06965", "section 2.3: bubbles are negligible from 4 p micro-batches on")
ZERO = Source("arXiv 1910.02054", "section 5: states are sharded over data-parallel ranks")

LONG_SEQUENCE = 8192
"""Tokens above which a sequence is worth splitting."""

MICROBATCHES_PER_STAGE = 4
"""Micro-batches per pipeline stage from which the bubble is small."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shape:
    """What the patterns read: sizes as terms.

    ``microbatches`` pass ``chunks`` of every stage, one where there is no such term. ``zero`` holds
    where some state is sharded by request, ``whole`` where sharding leaves a state whole that it
    could shard over ``shards`` ranks. ``length`` is 0 where it is not known.
    """

    tp: Term
    pp: Term
    cp: Term
    ep: Term
    ep_group: Term
    experts: Term
    is_dense: Formula
    domain: Term
    nodes: Term
    length: Term
    microbatches: Term
    shards: Term
    chunks: Term | None = None
    zero: Formula | None = None
    whole: Formula | None = None


def within_domain(size: Term, domain: Term) -> Formula:
    """Whether every group of so many consecutive ranks lies inside one NVLink domain."""
    return all_of(size <= domain, divides(_divisor(size), domain))


def _leaves(size: Term, domain: Term) -> Formula:
    return any_of(size > domain, ~divides(_divisor(size), domain))


def _divisor(size: Term) -> Term:
    """The size, guarded only where it may be unset."""
    return size if least(size) >= 1 else largest(1, size)


def anti_patterns(of: Shape) -> tuple[AntiPattern, ...]:
    """Those that a profile with these sizes can have."""
    in_turn = of.microbatches if of.chunks is None else of.microbatches * of.chunks
    found = []
    if of.whole is not None:
        found.append(
            AntiPattern(
                id="tp-before-sharding",
                when=all_of(of.tp > 1, of.shards > 1, of.whole),
                reason="Layers are split though weights, gradients or optimizer state are whole "
                "on every data-parallel rank. Sharding these needs no collective inside a layer.",
                instead="Shard the states first; split layers if a step still does not fit.",
                source=LADDER,
                numbers=("comm_volume_tp", "comm_volume_dp"),
            )
        )
    found += [
        AntiPattern(
            id="tp-across-domains",
            when=all_of(of.tp > 1, _leaves(of.tp, of.domain)),
            reason="Every layer waits for collectives that leave the NVLink domain.",
            instead="Use a tensor-parallel size that divides the domain; cross it with pipeline "
            "or data parallelism.",
            source=GUIDE,
            numbers=("comm_volume_tp",),
        ),
        AntiPattern(
            id="pp-inside-one-node",
            when=all_of(of.pp > 1, of.nodes <= 1),
            reason="Stages idle in the bubble, and inside one node there is no slow link that a "
            "pipeline would spare.",
            instead="Shard states, and split layers with tensor parallelism, inside a node.",
            source=LADDER,
            numbers=("bubble",),
        ),
        AntiPattern(
            id="pp-short-of-microbatches",
            when=all_of(of.pp > 1, in_turn < MICROBATCHES_PER_STAGE * of.pp),
            reason="There are too few micro-batches to fill the pipeline, so stages idle.",
            instead="Use a larger global batch or a smaller micro-batch, an interleaved schedule, "
            "or fewer stages.",
            source=GPIPE,
            numbers=("bubble", "microbatches"),
        ),
        AntiPattern(
            id="ep-beyond-experts",
            when=all_of(of.experts > 0, of.ep > of.experts),
            reason="There are more expert-parallel ranks than experts, so some would hold none.",
            instead="Use an expert-parallel size that divides the experts.",
            source=GUIDE,
        ),
        AntiPattern(
            id="ep-without-experts",
            when=all_of(of.ep > 1, of.is_dense),
            reason="The model has no routed experts to spread.",
            instead="Leave expert parallelism at one.",
            source=LADDER,
        ),
        AntiPattern(
            id="ep-across-domains",
            when=all_of(of.ep > 1, _leaves(of.ep_group, of.domain)),
            reason="Tokens are dispatched over the network in every layer with experts.",
            instead="Use an expert group that divides the NVLink domain, if its memory fits.",
            source=GUIDE,
            numbers=("comm_volume_ep",),
        ),
        AntiPattern(
            id="cp-without-long-sequences",
            when=all_of(of.cp > 1, of.length <= LONG_SEQUENCE, of.length > 0),
            reason="Sequences are split though they are short: attention exchanges keys and "
            "values for activations that were small.",
            instead="Leave context parallelism at one; recompute activations first.",
            source=GUIDE,
            numbers=("comm_volume_cp",),
        ),
    ]
    if of.zero is not None:
        found.append(
            AntiPattern(
                id="zero-at-dp-1",
                when=all_of(of.zero, of.shards == 1),
                reason="ZeRO shards over data-parallel ranks, of which there is one: it saves "
                "nothing.",
                instead="Split less, so that data-parallel ranks are left, or count on no saving.",
                source=ZERO,
            )
        )
    return tuple(found)
