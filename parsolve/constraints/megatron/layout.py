"""Which ranks form which group in Megatron-Core.

Ranks are counted twice, tp-cp-dp-pp for dense layers and etp-ep-dp-pp for experts, the first axis
fastest; ``--use-tp-pp-dp-mapping`` lets pp turn before dp. A group turns one axis: its members lie
``stride`` ranks apart in a block of ``stride * size``.

Source: ``megatron/core/parallel_state.py``, `RankGenerator` and `initialize_model_parallel`.
"""

from parsolve.constraints.formula import Formula, Operand, Term, all_of, as_term, if_, largest
from parsolve.constraints.layout import GROUP, POSITION, RANK, Grouping, Layout
from parsolve.constraints.megatron import fields as f
from parsolve.constraints.megatron import quantities as q

_late_pp = f.tp_pp_dp_order
_plain = all_of(q.gtp_size == 1, q.expert_gtp_size == 1)
"""No weights are gathered again: that is an axis of its own, which these groups leave out."""

_dense = f.tp_size * f.cp_size
_experts = q.expert_tp_size * f.ep_size


def _turning(
    name: str, about: str, size: Term, stride: Operand, where: Formula = _plain
) -> Grouping:
    """The groups along an axis whose neighbours lie ``stride`` ranks apart."""
    apart = largest(1, stride)
    width = largest(1, size)
    block = apart * width
    return Grouping(
        name=name,
        about=about,
        index=RANK // block * apart + RANK % apart,
        position=RANK // apart % width,
        member=GROUP // apart * block + GROUP % apart + POSITION * apart,
        size=width,
        count=f.world_size // width,
        where=where,
        inside=block,
    )


_dp = _turning(
    "dp",
    "Ranks that hold the same dense weights and chunk of a sequence, with different batches.",
    q.data_parallel_size,
    if_(_late_pp, _dense * f.pp_size, _dense),
)

LAYOUT = Layout(
    groupings=(
        _turning("tp", "Ranks that split each layer.", f.tp_size, as_term(1)),
        _turning("cp", "Ranks that split each sequence.", f.cp_size, f.tp_size),
        _dp,
        _turning(
            "dp_cp",
            "Ranks that hold the same dense weights: gradients are reduced over them.",
            q.dp_cp_size,
            f.tp_size,
            all_of(_plain, ~_late_pp),
        ),
        _turning(
            "pp",
            "The stages of one pipeline, in order.",
            f.pp_size,
            if_(_late_pp, _dense, _dense * q.data_parallel_size),
        ),
        _turning("etp", "Ranks that split each expert.", q.expert_tp_size, as_term(1)),
        _turning("ep", "Ranks that the experts are spread over.", f.ep_size, q.expert_tp_size),
        _turning(
            "expert_dp",
            "Ranks that hold the same experts.",
            q.expert_data_parallel_size,
            if_(_late_pp, _experts * f.pp_size, _experts),
        ),
    ),
    batches=_dp,
)
