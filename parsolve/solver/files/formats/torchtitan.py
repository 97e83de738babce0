"""torchtitan's job configuration: TOML up to 0.2, options of a command line ever since.

Keys and defaults are those of torchtitan 0.2.2 (``config/job_config.py``) and 0.3.0
(``config/configs.py``). 0.2 records no CUDA graphs, which 0.3 does unless they are switched off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsolve.constraints import PROFILES
from parsolve.solver.files.format import AXIS, Format, Key, Unsaid, constant

LAUNCH = {
    field.launch: field.name for field in PROFILES["torchtitan"].fields if "." in field.launch
}
SINCE_0_3 = frozenset(
    {
        "parallelism.enable_sequence_parallel",
        "parallelism.spmd_backend",
        "debug.spmd_typechecking",
        "training.disable_cuda_graphs",
    }
)
ALL_BATCHES = constant(-1, Unsaid("-1: one forward pass a step"))


def _keys(names: Mapping[str, str]) -> tuple[Key, ...]:
    return tuple(
        Key(path=path, of=of, values=ALL_BATCHES if path == "training.global_batch_size" else {})
        for path, of in names.items()
    )


OLDER = (
    Key(path="parallelism.expert_parallel_comm_backend", of="ep_dispatcher"),
    Key(path="parallelism.expert_tensor_parallel_degree", of=AXIS),
    Key(
        path="activation_checkpoint.mode",
        of="activation_checkpoint",
        values=constant("memory_budget", Unsaid("memory_budget: no rule tells it apart")),
    ),
)
MARKS = frozenset(
    path
    for path in LAUNCH
    if path.startswith("parallelism.")
    or path.removeprefix("training.") in {"local_batch_size", "global_batch_size", "seq_len"}
)


def absent(_: Mapping[str, Any]) -> Mapping[str, tuple[str, Any]]:
    """What 0.2 does that 0.3 would be told."""
    return {"disable_cuda_graphs": ("", True)}


TORCHTITAN = Format(
    name="torchtitan",
    title="torchtitan job configuration (TOML, read by torchtitan up to 0.2)",
    kinds=frozenset({"toml"}),
    profile_name="torchtitan",
    marks=MARKS,
    keys=(*_keys({path: of for path, of in LAUNCH.items() if path not in SINCE_0_3}), *OLDER),
    sections=(),
    derived=absent,
    remarks=dict.fromkeys(SINCE_0_3, "torchtitan knows it from 0.3 on, which reads no TOML"),
)

TORCHTITAN_OPTIONS = Format(
    name="torchtitan-options",
    title="torchtitan options",
    kinds=frozenset({"script"}),
    profile_name="torchtitan",
    marks=MARKS,
    keys=(*_keys(LAUNCH), *OLDER),
    sections=(),
    remarks={"job.config_file": "another file; check it as well"},
)
