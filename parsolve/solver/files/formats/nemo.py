"""NeMo's and Megatron-Bridge's configuration: YAML, and the same as overrides of a command line.

Names are those of Megatron-Core 0.19.2's configuration classes, in the sections of
Megatron-Bridge 0.3.1 (``model``, ``train``, ``ddp``, ``optimizer``, ``dataset``), of NeMo
(``trainer``, ``trainer.strategy``, ``model``), and of Megatron-LM's ``--yaml-cfg``. What a file
leaves out is the recipe's, which the file does not show: the rules' own defaults stand for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from parsolve.constraints import PROFILES
from parsolve.solver.files.format import GPUS_PER_NODE, NODES, OFF, Format, Key, plain, switch
from parsolve.solver.files.formats.megatron import CONNECTIONS

SECTIONS = (
    "model",
    "train",
    "ddp",
    "optimizer",
    "dataset",
    "trainer",
    "trainer.strategy",
    "strategy",
    "model.data",
    "language_model",
    "model_parallel",
)
AXES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "virtual_pipeline_model_parallel_size",
)
BATCH = ("micro_batch_size", "global_batch_size")
RENAMED = {
    "num_moe_experts": "num_experts",
    "num_layers_in_first_pipeline_stage": "first_stage_layers",
    "num_layers_in_last_pipeline_stage": "last_stage_layers",
    "microbatch_group_size_per_vp_stage": "microbatch_group_size",
    "overlap_p2p_comm": "overlap_p2p",
}
"""Names of the configuration classes that are no option of the command line."""

MODEL_SECTIONS = ("model", "trainer.strategy", "strategy", "language_model", "model_parallel")


def _below(sections: tuple[str, ...], names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(f"{section}.{name}" for section in sections for name in names)


ELSEWHERE = {
    "train": {"micro_batch", "requested_global_batch"},
    "ddp": {
        "distributed_optimizer",
        "optimizer_instances",
        "overlap_grad_reduce",
        "overlap_param_gather",
        "megatron_fsdp",
        "sharding_strategy",
    },
    "optimizer": {"optimizer", "optimizer_offload", "precision_aware_optimizer"},
}
"""Fields that Megatron-Bridge keeps in another section than ``model``."""


def _home(of: str) -> str:
    return next((section for section, names in ELSEWHERE.items() if of in names), "model")


def _class_names() -> Iterator[Key]:
    """Each field where Megatron-Bridge keeps it, by the name that the option shares with it."""
    for field in PROFILES["megatron"].fields:
        name = next((also for also in field.also if "model_parallel" in also), "")
        name = name or plain(field.launch.rpartition("--")[2])
        if name and field.name not in {*RENAMED.values(), "untie_embeddings"}:
            yield Key(path=f"{_home(field.name)}.{name}", of=field.name)


KEYS = (
    Key(path="trainer.num_nodes", of=NODES),
    Key(path="trainer.devices", of=GPUS_PER_NODE),
    *(
        Key(path=f"{section}.{name}", of=of)
        for name, of in RENAMED.items()
        for section in MODEL_SECTIONS
    ),
    *(
        Key(
            path=f"{section}.share_embeddings_and_output_weights",
            of="untie_embeddings",
            values=switch(on=False, off=True),
        )
        for section in MODEL_SECTIONS
    ),
    *_class_names(),
    *(
        Key(path=path, of="distributed_optimizer", values=switch(on=True, off=OFF))
        for path in ("ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer")
    ),
    *(
        Key(path=f"model.{label}", of="precision", values=switch(on=label, off=OFF))
        for label in ("bf16", "fp16")
    ),
)
NEMO = Format(
    name="megatron-config",
    title="NeMo or Megatron-Bridge configuration (what it leaves out is its recipe's)",
    kinds=frozenset({"yaml", "json"}),
    profile_name="megatron",
    marks=frozenset({*AXES[:2], *AXES[3:4], *_below(SECTIONS, AXES), *_below(SECTIONS, BATCH)}),
    keys=KEYS,
    sections=("", *SECTIONS),
)
NEMO_OVERRIDES = replace(
    NEMO,
    name="megatron-overrides",
    title="NeMo or Megatron-Bridge overrides (what they leave out is their recipe's)",
    kinds=frozenset({"script"}),
    overrides=True,
    marks=_below(SECTIONS, AXES) | _below(SECTIONS, BATCH),
    keys=(CONNECTIONS, *KEYS),
    sections=SECTIONS,
)
