"""What torchtitan fills in in silence, and what it takes though it hurts."""

from parsolve.constraints.cluster import NODE_ASSUMED
from parsolve.constraints.formula import all_of, divides
from parsolve.constraints.rule import Notice, Source
from parsolve.constraints.torchtitan import fields as f
from parsolve.constraints.torchtitan import quantities as q
from parsolve.constraints.torchtitan.rules import DIMS, PIPELINING, TRAINER

_MESH = Source(DIMS, "build_mesh", (284,))

NOTICES = (
    Notice(
        id="global-batch-defaulted",
        when=f.requested_global_batch == 0,
        reason="global_batch was not given, so it becomes one local batch for each "
        "data-parallel rank.",
        source=Source(TRAINER, "__init__", (419,)),
        kind="change",
    ),
    Notice(
        id="ep-without-experts",
        when=all_of(f.ep_size > 1, f.model_kind == "dense"),
        reason="The model has no routed experts, so ep has no effect, and nobody says so.",
        source=Source("torchtitan/config/configs.py", "ParallelismConfig", (279,)),
        kind="hazard",
    ),
    Notice(
        id="experts-not-divisible-by-ep",
        when=all_of(f.num_experts > 0, ~divides(f.ep_size, f.num_experts)),
        reason="The experts do not divide by ep. Nobody checks: dispatchers round the experts of "
        "a rank down.",
        source=Source("torchtitan/models/common/token_dispatcher.py", "dispatch", (857,)),
        kind="hazard",
    ),
    Notice(
        id="microbatches-below-stages",
        when=all_of(f.pp_size > 1, q.microbatches < q.num_stages),
        reason="There are fewer micro-batches than stages, so stages idle; torchtitan logs it.",
        source=Source(PIPELINING, "_build_pipeline_schedule", (315,)),
        kind="hazard",
    ),
    NODE_ASSUMED,
    Notice(
        id="tp-leaves-nvlink-domain",
        when=f.tp_size > q.nvlink_domain_size,
        reason="A tensor-parallel group is wider than an NVLink domain: every layer waits for "
        "the network.",
        source=_MESH,
        kind="hazard",
    ),
    Notice(
        id="tp-splits-nvlink-domain",
        when=all_of(
            f.tp_size > 1,
            f.tp_size <= q.nvlink_domain_size,
            ~divides(f.tp_size, q.nvlink_domain_size),
        ),
        reason="tp does not divide the NVLink domain, so some groups of consecutive ranks lie in "
        "two.",
        source=_MESH,
        kind="hazard",
    ),
    Notice(
        id="ep-leaves-nvlink-domain",
        when=f.ep_size > q.nvlink_domain_size,
        reason="An expert-parallel group is wider than an NVLink domain: its dispatcher must "
        "reach other nodes.",
        source=Source(DIMS, "build_mesh", (336,)),
        kind="hazard",
    ),
)
