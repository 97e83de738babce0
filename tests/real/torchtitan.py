"""Torchtitan's own verdict on a configuration, and configurations near valid ones.

The real trainer's constructor runs, on fake process groups, up to where the model is sharded; a
stand-in takes the place of the model. Triton's kernels, the only part that needs a GPU to be
imported, are left out.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import logging
import random
import sys
import traceback
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from pathlib import PurePath
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from parsolve.constraints.torchtitan import TORCHTITAN
from tests.real.accelerate import split

VERSION = "0.3.0"
WORLDS = (2, 4, 6, 8, 12, 16, 24, 32)
AXES = ("dp_replicate_size", "dp_shard_size", "tp_size", "pp_size", "cp_size")
KERNELS = "torchtitan.distributed.minimal_async_ep.kernels"


class _Kernels(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname == KERNELS else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return MagicMock(__name__=spec.name, __spec__=spec)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Done(Exception):  # noqa: N818  (no error: the configuration is accepted)
    pass


def drawn(rng: random.Random) -> dict[str, Any]:
    """A configuration near a valid one: fields of the profile, those off their default."""
    world = rng.choice(WORLDS)
    used = rng.sample(AXES, rng.randint(1, 4))
    given: dict[str, Any] = dict.fromkeys(AXES, 1)
    given.update(zip(used, split(rng, world, len(used)), strict=True))
    if rng.random() < 0.6:
        given["dp_shard_size"] = -1
    pp = given["pp_size"]
    moe = rng.random() < 0.5
    given["disable_cuda_graphs"] = rng.random() < 0.9
    if moe:
        given |= {"model_kind": "moe", "ep_dispatcher": "standard"}
        if rng.random() < 0.7:
            given["ep_size"] = rng.choice((1, 2, 2, 3, 4, 4, 6, 8))
        if rng.random() < 0.4:
            given["ep_dispatcher"] = rng.choice(("deepep", "hybridep", "minimal_async_ep"))
            given["static_dispatch"] = rng.random() < 0.5
            given["sequence_parallel"] = rng.random() < 0.6
            given["seq_length"] = rng.choice((2044, 2048, 2048, 2052, 4096))
        if rng.random() < 0.5:
            given["num_experts"] = rng.choice((8, 12, 64))
    for name in (*AXES, "ep_size"):
        if rng.random() < 0.015:
            given[name] = rng.choice((-1, 0, 2, 3, 4, 5))
    if given.get("ep_size", 1) < 1:  # the check of CUDA graphs reads it before anyone refuses it
        given["disable_cuda_graphs"] = True
    given["num_hidden_layers"] = rng.choice((2, 4, 6, 14, 16, 30, 32))
    single = rng.random() < 0.5
    schedules = ("1F1B", "GPipe") if single else TORCHTITAN.field_of["pp_schedule"].choices[2:]  # type: ignore[union-attr]
    given["pp_schedule"] = rng.choice(schedules)
    given["micro_batch"] = rng.choice((1, 2, 4, 8, 8, 16, 16, 32, 12, 9))
    one_stage = -(-(given["num_hidden_layers"] + 2) // max(pp, 1))
    chances: tuple[tuple[str, float, tuple[Any, ...]], ...] = (
        ("pp_microbatch", 0.15, (0, 2, 3, 4)),
        ("layers_per_stage", 0.4, (1, 2, 3, 4, 8, one_stage)),
        ("first_stage_less", 0.2, (0, 2, 3)),
        ("last_stage_less", 0.2, (0, 2, 3)),
        ("requested_global_batch", 0.3, (64, 96, 128, 100, 256, 512)),
        ("seq_length", 0.3, (2044, 2052, 1000, 4096, 2056)),
        ("max_position_embeddings", 0.2, (2048, 4096)),
        ("num_attention_heads", 0.4, (8, 12, 16, 20, 32)),
        ("sequence_parallel", 0.2, (False,)),
        ("spmd_backend", 0.3, ("partial_dtensor", "full_dtensor")),
        ("spmd_typechecking", 0.1, (True,)),
        ("tied_embeddings", 0.1, (True,)),
        ("activation_checkpoint", 0.6, ("full",)),
    )
    for name, chance, values in chances:
        if rng.random() < chance:
            given[name] = rng.choice(values)
    if "num_attention_heads" in given and rng.random() < 0.7:
        given["num_key_value_heads"] = rng.choice((2, 4, 8))
    fields = TORCHTITAN.field_of
    kept = {name: value for name, value in given.items() if value != fields[name].default}
    return {"world_size": world, **kept}


@cache
def _titan() -> SimpleNamespace:
    """The modules that are asked, with stand-ins for what needs a GPU or a model."""
    sys.meta_path.insert(0, _Kernels())
    trainer: Any = import_module("torchtitan.trainer")
    utils = SimpleNamespace(
        device_module=MagicMock(),
        device_type="cpu",
        get_local_device=lambda: import_module("torch").device("cpu"),
        GarbageCollection=MagicMock(),
        Color=MagicMock(),
        NoColor=MagicMock(),
        set_default_dtype=lambda *_: nullcontext(),
    )
    trainer.utils = utils
    trainer.has_quantization = lambda *_: False
    trainer.Trainer.Config.to_dict = lambda _: {}
    dims: Any = import_module("torchtitan.distributed.parallel_dims")
    dims.device_type = "cpu"
    pipelines: Any = import_module("torchtitan.distributed.pipeline_parallel")
    pipelines._pipeline_module_split = _stages
    logging.disable(logging.CRITICAL)
    checkpoints = import_module("torchtitan.distributed.activation_checkpoint")
    return SimpleNamespace(
        checkpoints={
            "selective": checkpoints.SelectiveAC.Config,
            "full": checkpoints.FullAC.Config,
        },
        trainer=trainer,
        pipelines=pipelines,
        configs=import_module("torchtitan.config.configs"),
        decoder=import_module("torchtitan.models.common.decoder").Decoder,
        dispatchers=import_module("torchtitan.models.common.config_utils"),
    )


def _stages(_model: Any, mesh: Any, schedule: str, _device: Any, names: Any, **_: Any) -> Any:  # noqa: ANN401
    """Stages without a model in them, numbered by the real code."""
    count = len(names)
    indices = _titan().pipelines._get_pp_rank_to_stage_indices_mapping(
        mesh.get_local_rank(), mesh.size(), schedule, count
    )
    stages = [
        SimpleNamespace(
            stage_index=index,
            num_stages=count,
            group_size=mesh.size(),
            group_rank=mesh.get_local_rank(),
            is_first=index == 0,
            is_last=index == count - 1,
            submod=None,
            has_backward=False,
            group=None,
        )
        for index in indices
    ]
    return stages, [None] * len(stages)


def _ranks(world: int) -> None:
    """Fake process groups of so many ranks."""
    distributed = import_module("torch.distributed")
    if distributed.is_initialized():
        if distributed.get_world_size() == world:
            return
        distributed.destroy_process_group()
    store = import_module("torch.testing._internal.distributed.fake_pg").FakeStore()
    distributed.init_process_group("fake", rank=0, world_size=world, store=store)


def _model(titan: SimpleNamespace, values: dict[str, Any]) -> Any:  # noqa: ANN401
    """What the trainer reads of a model's configuration; the decoder's own checks are real."""
    moe = None
    dispatchers = []
    if values["model_kind"] == "moe":
        made = titan.dispatchers.make_token_dispatcher_config(
            num_experts=values["num_experts"] or 720720,
            top_k=2,
            comm_backend=values["ep_dispatcher"],
            non_blocking_capacity_factor=1.0 if values["static_dispatch"] else None,
        )
        dispatchers = [made]
        moe = SimpleNamespace(
            routed_experts=SimpleNamespace(token_dispatcher=made), router=SimpleNamespace()
        )
    heads = values["num_attention_heads"]
    attention = None
    if heads is not None:
        attention = SimpleNamespace(n_heads=heads, n_kv_heads=values["num_key_value_heads"])
    model = SimpleNamespace(
        dim=64,
        enable_weight_tying=values["tied_embeddings"],
        first_attention=attention,
        max_seq_len=values["max_position_embeddings"] or 10**9,
        layers=[
            SimpleNamespace(attention=None, moe=moe) for _ in range(values["num_hidden_layers"])
        ],
        build=MagicMock,
        get_nparams_and_flops=lambda *_: (1, 1),
    )
    model.traverse = lambda kind: [("", d, None, "") for d in dispatchers if isinstance(d, kind)]
    model.update_from_config = lambda **told: titan.decoder.Config.update_from_config(model, **told)
    return model


def asked(given: dict[str, Any], _: object = None) -> str:
    """Where the real package raises, as ``file:line function``; nothing if it accepts."""
    values = TORCHTITAN.config(given).as_dict(everything=True)
    titan = _titan()
    _ranks(values["world_size"])

    def done(*_: object, **__: object) -> None:
        if values["pp_size"] == 1:
            raise _Done

    def pipelined(*args: Any, **told: Any) -> None:  # noqa: ANN401
        titan.pipelines.pipeline_llm(*args, **told)
        raise _Done

    trainer = titan.trainer
    trainer.dist_utils.init_distributed = lambda *_, **__: values["world_size"]
    launch = {
        field.name: field.launch.partition(".")
        for field in TORCHTITAN.fields
        if getattr(field, "launch", "")
    }

    def part(name: str) -> dict[str, Any]:
        return {
            word: values[field]
            for field, (section, _, word) in launch.items()
            if section == name and (values[field] is not None or word.endswith("per_stage"))
        }

    try:
        config = trainer.Trainer.Config(
            parallelism=titan.configs.ParallelismConfig(**part("parallelism")),
            training=titan.configs.TrainingConfig(**part("training")),
            activation_checkpoint=titan.checkpoints[values["activation_checkpoint"]](),
            debug=titan.configs.DebugConfig(**part("debug")),
            model_spec=SimpleNamespace(
                name="",
                flavor="",
                model=_model(titan, values),
                pipelining_fn=pipelined,
                parallelize_fn=done,
            ),
        )
        config.metrics = MagicMock()
        config.loss = MagicMock()
        made = trainer.Trainer.__new__(trainer.Trainer)
        trainer.Trainer.__init__.__wrapped__(made, config)
    except _Done:
        return ""
    except (ValueError, AssertionError, RuntimeError, NotImplementedError) as error:
        return _raised(error)
    finally:
        gc.enable()
    message = "the trainer went on where the model is sharded"
    raise AssertionError(message)


def _raised(error: BaseException) -> str:
    """Where torchtitan raised, or PyTorch's schedules: not the mesh that it asked PyTorch for."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        parts = PurePath(frame.filename).parts
        for package in ("torchtitan", "torch"):
            wanted = package == "torchtitan" or "pipelining" in parts
            if wanted and "site-packages" in parts and package in parts:
                if frame.name == "unflatten_mesh":
                    break
                file = "/".join(parts[parts.index("site-packages") + 1 :])
                return f"{file}:{frame.lineno} {frame.name}"
    return traceback.format_exc()
