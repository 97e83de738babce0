"""Batch arithmetic that every profile shares: the global batch, its bounds, the bubble.

A step takes micro-batch * dp samples (examples, sequences) in one forward pass of every
data-parallel rank, as many times as gradients are accumulated. A global batch that somebody
asks for (``requested_global_batch``) is a wish, no framework's rule: where it is given it
bounds the run, whose own ``global_batch`` must be it.
"""

from dataclasses import dataclass

from parsolve.constraints.fields import Size
from parsolve.constraints.formula import (
    Formula,
    Named,
    Operand,
    Term,
    any_of,
    divides,
    known_where,
    largest,
)
from parsolve.constraints.rule import Example, Rule, Source


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Batch:
    """What makes up the samples of an optimizer step, so that another cluster can keep them.

    ``samples`` are those of a step, ``per_pass`` those that all ranks take in one forward pass,
    ``tokens`` those of a step where the length of a sample counts. The rest are names of fields:
    ``micro_batch`` is the samples per GPU and pass, ``passes`` count the passes of a step (the
    one to change first, first), ``asked`` states the samples of a step. ``ranks`` count the
    data-parallel ranks, where they do not follow from the cluster.
    """

    samples: Named
    per_pass: Term
    tokens: Named | None = None
    micro_batch: str
    passes: tuple[str, ...] = ()
    asked: str = ""
    ranks: tuple[str, ...] = ()

    @property
    def knobs(self) -> tuple[str, ...]:
        """Every field of which the batch is made, those to change first, first."""
        return (*self.passes, *filter(None, (self.asked,)), self.micro_batch)


def requested(panel: str) -> Size:
    """The field of the global batch that is asked for."""
    return Size(
        "requested_global_batch",
        default=None,
        optional=True,
        minimum=1,
        panel=panel,
        flag="global-batch",
        also=("global_batch_size",),
        about="Samples per optimizer step over all GPUs: accumulation follows from it, or is "
        "checked against it.",
    )


def samples_per_pass(micro_batch: Term, data_parallel_size: Term) -> Named:
    """Samples that all ranks together take in one forward pass."""
    return Named(
        "samples_per_pass",
        micro_batch * data_parallel_size,
        about="Samples that all data-parallel ranks take in one forward pass.",
    )


def global_batch(samples: Term, passes: Term) -> Named:
    """Samples of a step: so many of each forward pass."""
    return Named(
        "global_batch", samples * passes, about="Samples per optimizer step over all GPUs."
    )


def tokens_per_step(batch: Term, length: Term) -> Named:
    """Tokens of a step, where the length of a sample is known."""
    return Named(
        "tokens_per_step",
        known_where(length > 0, batch * length),
        about="Tokens per optimizer step over all GPUs, every sequence full.",
    )


def bubble(stages: Term, microbatches: Term, chunks: Operand = 1) -> Named:
    """What a pipeline idles (Narayanan et al., arXiv 2104.04473), as a share of the whole."""
    return Named(
        "bubble",
        1000 * (stages - 1) // largest(1, microbatches * chunks + stages - 1),
        about="Share of a step that a pipeline stage idles, in thousandths: (p - 1) / (m + p - 1), "
        "m times the chunks of an interleaved stage.",
    )


def batch_bounds(
    asked: Size, samples: Term, batch: Term, follows: Formula, source: Source
) -> tuple[Rule, Rule]:
    """What a global batch that is asked for demands of ``samples`` and of the run's ``batch``.

    ``follows`` holds where nothing else says how often a step accumulates.
    """
    eight = {"world_size": 8}
    return (
        Rule(
            id="global-batch-not-divisible",
            stage="batch",
            when=asked > 0,
            requires=divides(largest(1, samples), asked),
            reason="Every data-parallel rank takes whole micro-batches, and all the same number.",
            remedy="Use a global batch that is a multiple of the micro-batch times the "
            "data-parallel size.",
            source=source,
            example=Example(
                rejects={**eight, asked.name: 100},
                instead={**eight, asked.name: 104},
            ),
        ),
        Rule(
            id="global-batch-not-reached",
            stage="batch",
            when=asked > 0,
            requires=any_of(follows, batch == asked),
            reason="Micro-batch, data-parallel size and accumulation, all of them given, multiply "
            "to another global batch. A pipeline may accumulate its micro-batches only.",
            remedy="Leave the accumulation out, and it follows from the global batch where the "
            "framework can accumulate; or choose the micro-batch.",
            source=source,
            example=Example(
                rejects={**eight, asked.name: 64, "gradient_accumulation_steps": 4},
                instead={**eight, asked.name: 64},
            ),
        ),
    )
