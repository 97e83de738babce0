"""The axes as rungs, in the order of the decision ladder, for frameworks that have all of them."""

from parsolve.constraints.anti_patterns import LONG_SEQUENCE, within_domain
from parsolve.constraints.fields import Flag, Size
from parsolve.constraints.formula import Term
from parsolve.constraints.ladder import Rung


def axis_rungs(
    *,
    tp: Size,
    sequence_parallel: Flag,
    pp: Size,
    ep: Size,
    expert_tp: Size,
    cp: Size,
    length: Size,
    domain: Term,
    nodes: Term,
) -> tuple[Rung, ...]:
    """Tensor, pipeline, expert, expert tensor and context parallelism.

    ``length`` counts the tokens of a sequence, ``domain`` the GPUs of an NVLink domain.
    """
    return (
        Rung(
            name="TP",
            about="split layers over the ranks of an NVLink domain, norms and residuals too",
            cost="collectives in every layer, forward and backward",
            numbers=("comm_volume_tp",),
            size=tp,
            sets=((sequence_parallel, True),),
            only=within_domain(tp, domain),
            need="its groups must lie inside an NVLink domain",
        ),
        Rung(
            name="PP",
            about="split the layers into stages",
            cost="stages idle in the bubble",
            numbers=("bubble", "comm_volume_pp"),
            size=pp,
            only=nodes > 1,
            need="there must be several nodes",
        ),
        Rung(
            name="EP",
            about="spread whole experts over ranks",
            cost="tokens are dispatched and combined in every layer with experts",
            numbers=("comm_volume_ep",),
            size=ep,
        ),
        Rung(
            name="expert TP",
            about="split each expert over ranks of an NVLink domain",
            cost="smaller matrix products, and tokens are copied to the ranks of an expert; what "
            "that sends is not counted",
            size=expert_tp,
            only=within_domain(expert_tp, domain),
            need="its groups must lie inside an NVLink domain",
            counted=False,
        ),
        Rung(
            name="CP",
            about="split each sequence over ranks",
            cost="attention exchanges keys and values, and the batch shrinks",
            numbers=("comm_volume_cp",),
            size=cp,
            only=length > LONG_SEQUENCE,
            need="sequences must be long",
        ),
    )
