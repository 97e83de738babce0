"""Which ranks form which group in Megatron-Core.

Ranks are counted twice, tp-cp-dp-pp for dense layers and etp-ep-dp-pp for experts, the first axis
fastest; ``--use-tp-pp-dp-mapping`` lets pp turn before dp. A group turns one axis: its members lie
``stride`` ranks apart in a block of ``stride * size``.

Source: ``megatron/core/parallel_state.py``, `RankGenerator` and `initialize_model_parallel`.
"""

from functools import partial

from parsolve.constraints.formula import Term, all_of, if_, largest
from parsolve.constraints.layout import (
    GROUP,
    POSITION,
    RANK,
    Grouping,
    Layout,
    Unsaid,
    same_batch,
    turning,
)
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q
from parsolve.constraints.megatron import traffic
from parsolve.constraints.megatron.stages import layers_per_stage

_late_pp = f.tp_pp_dp_order
_plain = all_of(q.gtp_size == 1, q.expert_gtp_size == 1)
"""No weights are gathered again: that is an axis of its own, which these groups leave out."""

_dense = f.tp_size * f.cp_size
_experts = q.expert_tp_size * f.ep_size
_stride_of_dp = if_(_late_pp, _dense * f.pp_size, _dense)
_turning = partial(turning, world=f.world_size, where=_plain)


def _of_two_axes() -> Grouping:
    """The groups of dp and cp together, cp first; pp may turn between them."""
    low, ranks = largest(1, f.tp_size), largest(1, f.cp_size)
    stages: Term = if_(_late_pp, largest(1, f.pp_size), 1)
    batches = largest(1, q.data_parallel_size)
    block = low * ranks * stages
    whole = block * batches
    return Grouping(
        name="dp_cp",
        about="Ranks that hold the same dense weights: gradients are reduced over them.",
        index=RANK // whole * (low * stages) + RANK // (low * ranks) % stages * low + RANK % low,
        position=RANK // block % batches * ranks + RANK // low % ranks,
        member=GROUP // (low * stages) * whole
        + GROUP // low % stages * (low * ranks)
        + GROUP % low
        + POSITION // ranks * block
        + POSITION % ranks * low,
        size=batches * ranks,
        count=f.world_size // (batches * ranks),
        where=_plain,
        inside=whole,
        also=("fsdp",),
        traffic=traffic.dense,
    )


_pp = _turning(
    "pp",
    "The stages of one pipeline, in order.",
    size=f.pp_size,
    stride=if_(_late_pp, _dense, _dense * q.data_parallel_size),
    traffic=traffic.pp,
)
_ep = _turning(
    "ep",
    "Ranks that the experts are spread over.",
    size=f.ep_size,
    stride=q.expert_tp_size,
    also=("dispatch",),
    traffic=traffic.ep,
)

LAYOUT = Layout(
    groupings=(
        _turning(
            "tp", "Ranks that split each layer.", size=f.tp_size, stride=1, traffic=traffic.tp
        ),
        _turning(
            "cp",
            "Ranks that split each sequence.",
            size=f.cp_size,
            stride=f.tp_size,
            traffic=traffic.cp,
        ),
        _turning(
            "dp",
            "Ranks that hold the same dense weights and chunk of a sequence, with different "
            "batches.",
            size=q.data_parallel_size,
            stride=_stride_of_dp,
        ),
        _of_two_axes(),
        _pp,
        _turning(
            "etp",
            "Ranks that split each expert.",
            size=q.expert_tp_size,
            stride=1,
            also=("expert-tp",),
        ),
        _ep,
        _turning(
            "expert_dp",
            "Ranks that hold the same experts.",
            size=q.expert_data_parallel_size,
            stride=if_(_late_pp, _experts * f.pp_size, _experts),
            also=("edp", "expert-replicas"),
            traffic=traffic.experts,
        ),
    ),
    batches=same_batch(
        world=f.world_size, size=q.data_parallel_size, stride=_stride_of_dp, where=_plain
    ),
    stages=_pp,
    experts=_ep,
    layers=layers_per_stage,
    unsaid=(
        Unsaid(~_plain, "where weights are gathered again (weight shards), an axis of its own"),
    ),
)
