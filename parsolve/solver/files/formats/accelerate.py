"""Files of ``accelerate config``, and the command line of ``accelerate launch``.

Keys and defaults are those of accelerate 1.15.0 (``commands/config/config_args.py``,
``commands/launch.py``). Only keys with their whole name reach ``ParallelismConfig``: a bare
``tp_size`` below ``parallelism_config`` is set and never read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsolve.constraints import PROFILES
from parsolve.solver.files.format import (
    AUTO,
    AXIS,
    NODES,
    WORLD,
    Format,
    Key,
    Phrase,
    Unjudged,
    Unsaid,
    constant,
)

PREFIX = "parallelism_config_"
SIZES = {
    field.launch: field.name
    for field in PROFILES["accelerate"].fields
    if field.launch.startswith(PREFIX)
}
VERSION = "fsdp_config.fsdp_version"


def _wrapper(label: str, **says: object) -> Phrase:
    return Phrase(of="distributed", value=label, says=says)


def _unjudged(kind: str) -> Phrase:
    why = Unjudged("accelerate hands the run to another engine, whose rules are not these")
    return Phrase(of="distributed", value=why, says={"distributed_type": kind})


WRAPPERS = (
    _wrapper("fsdp2", **{"distributed_type": "FSDP", VERSION: 2}),
    _wrapper("fsdp2", **{"distributed_type": "FSDP", "fsdp_config.version": 2}),
    _wrapper("fsdp1", distributed_type="FSDP"),
    _wrapper("deepspeed", distributed_type="DEEPSPEED"),
    _wrapper("ddp", distributed_type="MULTI_GPU"),
    *(
        _wrapper("ddp", distributed_type=f"MULTI_{kind}")
        for kind in ("NPU", "MLU", "SDAA", "MUSA", "XPU", "HPU", "NEURON")
    ),
    _wrapper("ddp", distributed_type="NO"),
    *(_unjudged(kind) for kind in ("MEGATRON_LM", "XLA", "TPU", "MULTI_CPU")),
    Phrase(
        of="distributed",
        value=Unjudged("accelerate refuses a file without a distributed_type that it knows"),
        says={},
    ),
)
"""FSDP is the first one unless its version is given."""

ACCELERATE = Format(
    name="accelerate",
    title="accelerate configuration",
    kinds=frozenset({"yaml", "json"}),
    profile_name="accelerate",
    marks=frozenset(
        {
            "distributed_type",
            "num_processes",
            "num_machines",
            "compute_environment",
            "deepspeed_config.zero_stage",
            VERSION,
            *(f"parallelism_config.{launch}" for launch in SIZES),
        }
    ),
    keys=(
        Key(path="num_machines", of=NODES),
        Key(
            path="num_processes",
            of=WORLD,
            values=constant(-1, Unsaid("-1: accelerate launch --num_processes gives it")),
        ),
        *(Key(path=f"parallelism_config.{launch}", of=of) for launch, of in SIZES.items()),
        Key(
            path=f"parallelism_config.{PREFIX}sp_seq_length_is_variable",
            of="variable_seq_length",
        ),
        Key(
            path="deepspeed_config.gradient_accumulation_steps",
            of="gradient_accumulation_steps",
            values=constant("auto", AUTO),
        ),
        Key(path="megatron_lm_config.megatron_lm_tp_degree", of=AXIS),
        Key(path="megatron_lm_config.megatron_lm_pp_degree", of=AXIS),
    ),
    sections=(),
    phrases=WRAPPERS,
    remarks={
        "deepspeed_config.deepspeed_config_file": "another file; check it as well",
        **{
            f"parallelism_config.{launch.removeprefix(PREFIX)}": "accelerate reads "
            f"parallelism_config.{launch}, and never this key"
            for launch in SIZES
        },
    },
)


def launched(given: Mapping[str, Any]) -> Mapping[str, tuple[str | tuple[str, ...], Any]]:
    """The wrapper that options of ``accelerate launch`` ask for."""
    if given.get("use_fsdp"):
        second = str(given.get("fsdp_version", 1)) == "2"
        return {"distributed": (("use_fsdp", "fsdp_version"), "fsdp2" if second else "fsdp1")}
    if given.get("use_deepspeed"):
        return {"distributed": ("use_deepspeed", "deepspeed")}
    return {"distributed": ("multi_gpu", "ddp")}


ACCELERATE_OPTIONS = Format(
    name="accelerate-options",
    title="accelerate launch options",
    kinds=frozenset({"script"}),
    profile_name="accelerate",
    marks=frozenset({*SIZES, "use_fsdp", "use_deepspeed"}),
    keys=(
        *(Key(path=launch, of=of) for launch, of in SIZES.items()),
        Key(path="gradient_accumulation_steps", of="gradient_accumulation_steps"),
    ),
    sections=(),
    derived=launched,
    remarks={"config_file": "another file; check it as well"},
)
