"""Which ranks form which group in accelerate: a device mesh, its last dimension the fastest.

The mesh is (dp_replicate, dp_shard, cp, tp); FSDP shards over dp_shard and cp together. Where
every size is 1 there is no mesh, and the wrapper spans all ranks.

Source: ``accelerate/parallelism_config.py``, `_get_mesh` and `build_device_mesh`;
``accelerate/data_loader.py``, `prepare_data_loader`, for who gets which batch.
"""

from functools import partial

from parsolve.constraints.accelerate import fields as f
from parsolve.constraints.accelerate import quantities as q
from parsolve.constraints.formula import all_of, any_of, if_
from parsolve.constraints.layout import Layout, Unsaid, same_batch, turning

_is_ours = all_of(f.sp_size <= 1, any_of(q.total_size == 1, f.distributed != "deepspeed"))
"""DeepSpeed makes the groups of what it is given, and those of sequence parallelism."""

_model = f.tp_size * f.cp_size
_dp = if_(q.is_ignored, f.world_size, f.dp_replicate_size * f.dp_shard_size)
_turning = partial(turning, world=f.world_size)

LAYOUT = Layout(
    groupings=(
        _turning(
            "tp",
            "Ranks that split each layer.",
            size=f.tp_size,
            stride=1,
            where=all_of(_is_ours, f.tp_size > 1),
        ),
        _turning(
            "cp",
            "Ranks that split each sequence.",
            size=f.cp_size,
            stride=f.tp_size,
            where=all_of(_is_ours, f.cp_size > 1),
        ),
        _turning(
            "dp",
            "Ranks that hold the same chunk of a sequence, with different batches.",
            size=_dp,
            stride=_model,
            where=_is_ours,
        ),
        _turning(
            "fsdp",
            "Ranks that FSDP shards the model over: dp_shard and cp together.",
            size=if_(q.is_ignored, f.world_size, f.dp_shard_size * f.cp_size),
            stride=f.tp_size,
            where=all_of(_is_ours, f.distributed == "fsdp2"),
            also=("dp-shard-cp",),
        ),
        _turning(
            "dp_replicate",
            "Ranks that hold the same shard.",
            size=f.dp_replicate_size,
            stride=_model * f.dp_shard_size,
            where=all_of(_is_ours, f.dp_replicate_size > 1),
        ),
    ),
    batches=same_batch(world=f.world_size, size=_dp, stride=_model, where=_is_ours),
    unsaid=(
        Unsaid(
            ~_is_ours,
            "where DeepSpeed makes them",
        ),
    ),
)
