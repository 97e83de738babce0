"""Which ranks form which group in torchtitan: two device meshes, their last dimension the fastest.

The dense mesh is (pp, dp_replicate, dp_shard, cp, tp), that of experts (pp, dp_replicate, efsdp,
ep) over the same ranks.

Source: ``torchtitan/distributed/parallel_dims.py``, `ParallelDims.build_mesh`;
``torchtitan/trainer.py``, `Trainer.__init__`, for who gets which batch.
"""

from functools import partial

from parsolve.constraints.formula import if_, quotient
from parsolve.constraints.layout import Layout, same_batch, turning
from parsolve.constraints.torchtitan import fields as f
from parsolve.constraints.torchtitan import quantities as q

_model = f.cp_size * f.tp_size
_shards = if_(f.dp_shard_size == -1, quotient(f.world_size, q.unsharded_size), f.dp_shard_size)
_dp = f.dp_replicate_size * _shards
_turning = partial(turning, world=f.world_size)

_pp = _turning(
    "pp",
    "The stages of one pipeline, in order.",
    size=f.pp_size,
    stride=_dp * _model,
    where=f.pp_size > 1,
)
_ep = _turning(
    "ep",
    "Ranks that the experts are spread over.",
    size=f.ep_size,
    stride=1,
    where=f.ep_size > 1,
    also=("dispatch",),
)

LAYOUT = Layout(
    groupings=(
        _pp,
        _turning(
            "dp",
            "Ranks that hold the same chunk of a sequence, with different batches (the mesh "
            "axis called batch).",
            size=_dp,
            stride=_model,
        ),
        _turning(
            "dp_replicate",
            "Ranks that hold the same shard.",
            size=f.dp_replicate_size,
            stride=_model * _shards,
            where=f.dp_replicate_size > 1,
        ),
        _turning(
            "fsdp",
            "Ranks that FSDP shards the dense parameters over: dp_shard and cp together.",
            size=_shards * f.cp_size,
            stride=f.tp_size,
        ),
        _turning(
            "cp",
            "Ranks that split each sequence.",
            size=f.cp_size,
            stride=f.tp_size,
            where=f.cp_size > 1,
        ),
        _turning(
            "tp",
            "Ranks that split each layer.",
            size=f.tp_size,
            stride=1,
            where=f.tp_size > 1,
        ),
        _ep,
        _turning(
            "efsdp",
            "Ranks that hold the same experts and shard them, inside one replica.",
            size=quotient(f.world_size, f.ep_size * f.pp_size * f.dp_replicate_size),
            stride=f.ep_size,
            where=f.ep_size > 1,
            also=("expert-dp", "edp"),
        ),
        _turning(
            "loss",
            "Ranks that the loss is averaged over: dp and cp together.",
            size=_dp * f.cp_size,
            stride=f.tp_size,
            also=("dp-cp",),
        ),
    ),
    batches=same_batch(world=f.world_size, size=_dp, stride=_model),
    stages=_pp,
    experts=_ep,
)
