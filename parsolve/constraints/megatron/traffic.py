"""Bytes that a GPU sends per optimizer step, axis by axis, if every collective is a ring.

A ring over n ranks sends (n-1)/n of a buffer in a reduce-scatter or an all-gather, and twice that
in an all-reduce. dp: the gradients once per step, over dp * cp (experts: expert-dp), where they are
sharded once per micro-batch; and with a sharded optimizer the weights that the step changed; FSDP
gathers weights twice per micro-batch.
tp: two all-reduces forward and two backward per layer, or reduce-scatter and all-gather with
sequence parallelism, the same bytes; full recompute repeats the forward ones. cp: keys and values
around a ring, gradients back; or heads exchanged all-to-all. ep: dispatch and combine, forward and
backward. pp: each chunk's output forward and its gradient backward.
"""

from parsolve.constraints.formula import Term, if_, one_of
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.megatron.activations import element, norm_split, tokens
from parsolve.constraints.megatron.states import (
    dense_parameters,
    expert_parameters,
    gradient_width,
    shards_gradients,
    shards_optimizer,
    shards_weights,
    stage_layers,
    stage_moe_layers,
)
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.terms import BF16, ring, split, volume, volumes


def _data(parameters: Term, ranks: Term) -> Term:
    once = ring(parameters * gradient_width, ranks)
    weights = ring(parameters * BF16, ranks)
    reduced = if_(shards_gradients, q.microbatches, 1) * once
    return if_(
        shards_weights,
        reduced + q.microbatches * 2 * weights,
        if_(shards_optimizer, reduced + weights, 2 * once),
    )


dense = volume(
    "dense",
    _data(dense_parameters, q.dp_cp_size),
    "Gradients of dense weights, and the weights that follow.",
)
experts = volume(
    "experts",
    _data(expert_parameters, q.expert_data_parallel_size),
    "Gradients of experts, and the weights that follow.",
)
dp = volume(
    "dp",
    dense + experts,
    "Bytes that a GPU sends per step for data parallelism.",
)
_rows = tokens * m.hidden_size * element
tp = volume(
    "tp",
    q.microbatches * stage_layers * if_(f.recompute == "full", 6, 4) * 2 * ring(_rows, f.tp_size),
    "Bytes that a GPU sends per step for tensor and sequence parallelism.",
)
_pairs = split(tokens * (m.key_width + m.value_width) * element, f.tp_size)
_heads = split(
    tokens * (m.query_width + m.key_width + m.value_width + m.attention_output_width) * element,
    f.tp_size,
)
cp = volume(
    "cp",
    q.microbatches
    * stage_layers
    * if_(
        one_of(f.cp_comm_type, ("a2a", "a2a+p2p")),
        2 * ring(_heads, f.cp_size),
        3 * (f.cp_size - 1) * _pairs,
    ),
    "Bytes that a GPU sends per step for context parallelism.",
)
ep = volume(
    "ep",
    q.microbatches
    * stage_moe_layers
    * 4
    * ring(split(_rows * m.num_experts_per_tok, norm_split), f.ep_size),
    "Bytes that a GPU sends per step to spread tokens over experts.",
)
pp = volume(
    "pp",
    if_(f.pp_size > 1, 2 * q.microbatches * q.virtual_stages * split(_rows, norm_split), 0),
    "Bytes that a GPU sends per step to neighbouring pipeline stages.",
)
QUANTITIES = volumes(dp, tp, cp, ep, pp)
