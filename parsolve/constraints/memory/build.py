"""The account and its bound, built of a profile's own parts.

A profile says what fills its fullest GPU and when. What follows from that for every one of
them stands here: what PyTorch reports, the reserve, the total, what is left of the GPU, what
must be known, and the rule that compares the two.
"""

from collections.abc import Mapping
from functools import reduce
from operator import add

from parsolve.constraints.fields import GIB, Size
from parsolve.constraints.formula import (
    Formula,
    Named,
    NamedFormula,
    Term,
    all_of,
    known_where,
)
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.account import Account, Assumption, Need, Part
from parsolve.constraints.memory.terms import CUDA_CONTEXT, SLACK_PERCENT, quantity
from parsolve.constraints.rule import Example, InputCheck, Rule, Source

MEMORY_STAGE = "memory"
"""Stage of the bound on memory."""

COUNTED = all_of(m.num_hidden_layers > 0, m.attention_parameters > 0)
"""Whether the model's parameters are known: layers alone, as a script says them, are no size."""


def needs(length: Term, option: Size, *more: Need) -> tuple[Need, ...]:
    """What every account must know: the model, and tokens per sequence; then a profile's own."""
    return (
        Need(
            met=COUNTED,
            guards=m.FACT_NAMES,
            lacks="the model's size",
            decides="weights, gradients, optimizer state and activations",
            option="--model",
        ),
        Need(
            met=length > 0,
            guards=frozenset({option.name}),
            lacks="the length of its sequences",
            decides="activations and logits",
            option=f"--{option.flag}",
        ),
        *more,
    )


def assumptions(micro_batch: Size, *more: tuple[Formula, str]) -> tuple[Assumption, ...]:
    """What every account takes for granted, and what a profile does beside it."""
    return tuple(
        Assumption(when=when, words=words)
        for when, words in ((micro_batch < 1, "micro-batch 1"), *more)
    )


def account(
    *,
    parts: tuple[Part, ...],
    experts: Mapping[str, Named],
    peak: Named,
    quantities: tuple[Named | NamedFormula, ...],
    needs: tuple[Need, ...],
    assumptions: tuple[Assumption, ...],
    levers: tuple[str, ...],
    checks: tuple[InputCheck, ...] = (),
) -> Account:
    """The account of these parts, which are what PyTorch's allocator holds at the peak.

    The reserve beside them is what the CUDA context and NCCL take, and the allocator's slack.
    """
    allocated = quantity(
        "allocated_bytes",
        known_where(COUNTED, reduce(add, (part.bytes for part in parts))),
        "What PyTorch reports as the peak of allocated memory.",
    )
    reserve = quantity(
        "reserve_bytes",
        CUDA_CONTEXT + allocated * SLACK_PERCENT // 100,
        "CUDA context and allocator slack.",
    )
    total = Named(
        "memory_per_gpu",
        allocated + reserve,
        about="Memory of the fullest GPU at its peak.",
        unit="bytes",
    )
    headroom = Named(
        "headroom",
        known_where(m.gpu_memory > 0, m.gpu_memory - total),
        about="Memory of a GPU that is left at the peak.",
        unit="bytes",
    )
    context = f"{CUDA_CONTEXT // GIB} GiB of CUDA context and NCCL"
    return Account(
        parts=(*parts, Part(reserve, f"{context}; {SLACK_PERCENT}% allocator slack")),
        experts=experts,
        reserve=reserve,
        allocated=allocated,
        total=total,
        limit=m.gpu_memory,
        peak=peak,
        quantities=(*quantities, m.model_parameters, headroom),
        assumptions=assumptions,
        levers=levers,
        needs=needs,
        checks=checks,
    )


LLAMA_3_8B = {
    "world_size": 8,
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "vocab_size": 128_256,
    "embedding_parameters": 525_336_576,
    "output_parameters": 525_336_576,
    "attention_parameters": 1_342_177_280,
    "dense_ffn_parameters": 5_637_144_576,
    "other_parameters": 266_240,
    "layer_dense_parameters": 218_112_000,
    "query_width": 4096,
    "key_width": 1024,
    "value_width": 1024,
    "attention_output_width": 4096,
    "intermediate_size": 14_336,
    "ffn_matrices": 3,
}
"""A model to show the bound with, on eight GPUs."""


def memory_bound(
    of: Account, source: Source, length: Size, recomputes: Mapping[str, object]
) -> Rule:
    """The bound that a GPU sets. Its example is cured by recomputing activations."""
    run = {**LLAMA_3_8B, length.name: 8192, of.limit.name: 48 * GIB}
    return Rule(
        id="memory-exceeds-gpu",
        stage=MEMORY_STAGE,
        when=of.limit > 0,
        requires=of.total <= of.limit,
        reason="The fullest GPU would need more memory at its peak than it has.",
        remedy="Shard more (ZeRO-3, wider EP), recompute activations, shorten or split the "
        "sequences, lower the micro-batch, or use more or larger GPUs.",
        source=source,
        example=Example(rejects=run, instead={**run, **recomputes}),
    )
