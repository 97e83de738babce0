"""Accelerate's own verdict on a configuration, and configurations near valid ones.

No process group: the state is told how many processes there are, and the mesh is not built.
"""

from __future__ import annotations

import random
import traceback
from importlib import import_module
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any

from parsolve.constraints.accelerate import ACCELERATE

VERSION = "1.15.0"
WORLDS = (1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 72, 96, 128, 256)
SIZES = ("dp_replicate_size", "dp_shard_size", "tp_size", "cp_size", "sp_size")


def split(rng: random.Random, whole: int, parts: int) -> list[int]:
    """Factors whose product is the whole."""
    factors = [1] * parts
    while whole > 1:
        prime = next(p for p in range(2, whole + 1) if whole % p == 0)
        factors[rng.randrange(parts)] *= prime
        whole //= prime
    return factors


def drawn(rng: random.Random) -> dict[str, Any]:
    """A configuration near a valid one: fields of the profile, those off their default."""
    world = rng.choice(WORLDS)
    used = rng.sample(SIZES[:4], rng.randint(0, 4))
    if rng.random() < 0.2:
        used.append("sp_size")
    given: dict[str, Any] = dict.fromkeys(SIZES, 1)
    if used:
        given.update(zip(used, split(rng, world, len(used)), strict=True))
    for name in SIZES:
        if rng.random() < 0.06:
            given[name] = rng.choice((-1, 0, 1, 2, 3, 4, 8))
    given["distributed"] = rng.choices(("fsdp2", "fsdp1", "ddp", "deepspeed"), (6, 1, 2, 2))[0]
    chances: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("cp_comm_strategy", ("alltoall", "ring")),
        ("variable_seq_length", (False,)),
        ("seq_length", (4096,)),
        ("sp_attention", ("flash_attention_2", "kernels-community/flash-attn2", "eager")),
        ("cp_backend", ("deepspeed",)),
        ("sp_backend", ("torch",)),
    )
    for name, values in chances:
        if rng.random() < (0.02 if name.endswith("backend") else 0.15):
            given[name] = rng.choice(values)
    fields = ACCELERATE.field_of
    kept = {name: value for name, value in given.items() if value != fields[name].default}
    return {"world_size": world, **kept}


def asked(given: dict[str, Any], environment: Any) -> str:  # noqa: ANN401  (pytest's monkeypatch)
    """Where the real package raises, as ``file:line function``; nothing if it accepts."""
    state = import_module("accelerate.state")
    values = ACCELERATE.config(given).as_dict(everything=True)
    wrapper, world = values["distributed"], values["world_size"]
    environment.setenv("PARALLELISM_CONFIG_CP_COMM_STRATEGY", values["cp_comm_strategy"])
    environment.setenv("PARALLELISM_CONFIG_SP_ATTN_IMPLEMENTATION", values["sp_attention"])
    variable = str(values["variable_seq_length"]).lower()
    environment.setenv("PARALLELISM_CONFIG_SP_SEQ_LENGTH_IS_VARIABLE", variable)
    length = values["seq_length"]
    if length is None:
        environment.delenv("PARALLELISM_CONFIG_SP_SEQ_LENGTH", raising=False)
    else:
        environment.setenv("PARALLELISM_CONFIG_SP_SEQ_LENGTH", str(length))
    environment.setenv("ACCELERATE_USE_DEEPSPEED", str(wrapper == "deepspeed").lower())
    environment.setenv("ACCELERATE_USE_FSDP", str(wrapper.startswith("fsdp")).lower())
    plugin = SimpleNamespace(fsdp_version=int(wrapper[-1])) if wrapper.startswith("fsdp") else None
    zero = SimpleNamespace(
        set_mixed_precision=lambda *_: None, select=lambda **_: None, is_zero3=False
    )
    state.PartialState._shared_state.clear()
    state.AcceleratorState._shared_state.clear()
    state.PartialState._shared_state.update(
        _cpu=False,
        backend="nccl",
        device=SimpleNamespace(type="cuda"),
        debug=False,
        distributed_type=state.DistributedType.MULTI_GPU,
        num_processes=world,
        process_index=0,
        local_process_index=0,
        fork_launched=False,
    )
    try:
        config = import_module("accelerate.parallelism_config").ParallelismConfig(
            cp_backend=values["cp_backend"],
            sp_backend=values["sp_backend"],
            **{name: values[name] for name in SIZES},
        )
        made = state.AcceleratorState(
            mixed_precision="no",
            dynamo_plugin=SimpleNamespace(
                backend=import_module("accelerate.utils").DynamoBackend.NO
            ),
            deepspeed_plugin=zero if wrapper == "deepspeed" else None,
            fsdp_plugin=plugin,
            parallelism_config=config,
            _from_accelerator=True,
        )
        accelerator = import_module("accelerate").Accelerator
        told = SimpleNamespace(
            state=made,
            num_processes=made.num_processes,
            is_fsdp2=made.is_fsdp2,
            distributed_type=made.distributed_type,
            use_distributed=made.use_distributed,
            is_main_process=False,
        )
        told.multi_device = accelerator.multi_device.fget(told)
        config._validate_accelerator(told)
    except (ValueError, AssertionError) as error:
        return raised(error, "accelerate")
    finally:
        state.PartialState._shared_state.clear()
        state.AcceleratorState._shared_state.clear()
    return ""


def raised(error: BaseException, package: str) -> str:
    """Where the package raised: file from the package on, line and function."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    parts = PurePath(frame.filename).parts
    file = "/".join(parts[len(parts) - 1 - parts[::-1].index(package) :])
    return f"{file}:{frame.lineno} {frame.name}"
