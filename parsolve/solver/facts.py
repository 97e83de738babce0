"""What a model and a GPU, given by name, say about a profile's fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from parsolve.constraints.fields import Misuse
from parsolve.constraints.memory.hardware import gpu_named
from parsolve.constraints.profile import Profile


def with_facts(  # noqa: PLR0913  (one question, and where its facts stand)
    profile: Profile,
    given: Mapping[str, object],
    model: str | PathLike[str] | Mapping[str, Any] | None = None,
    gpu: str | None = None,
    worlds: Sequence[int] = (),
    *,
    needs_size: bool = False,
) -> dict[str, object]:
    """What was given, over what the model and the GPU say.

    ``model`` is a name, a path, or a loaded ``config.json``. A GPU's usual node counts, or the
    whole of a smaller world; its NVLink domain where it divides the worlds. A model that cannot
    be counted is an error only where its size is needed, as a bound does: raises `ModelError`
    then, and `Misuse` for unknown names.
    """
    facts = dict(given)
    if gpu is not None:
        facts = {**_of_gpu(profile, gpu, worlds, facts), **facts}
    if model is not None:
        needed = needs_size or bool(facts.get("gpu_memory"))
        facts = {**_of_model(profile, model, needed=needed), **facts}
    return facts


def _of_model(
    profile: Profile, model: str | PathLike[str] | Mapping[str, Any], *, needed: bool
) -> dict[str, object]:
    from parsolve.solver.huggingface import loaded_model_facts, read_model_facts  # noqa: PLC0415

    if isinstance(model, Mapping):
        found = loaded_model_facts(model)
    else:
        found = read_model_facts(str(model))
    counted = found.memory() if found.shape is not None or needed else {}
    sizes = {name: value for name, value in counted.items() if value}  # 0: there are none
    known = {**found.fields, **sizes}
    return {name: value for name, value in known.items() if name in profile.field_of}


def _of_gpu(
    profile: Profile, name: str, worlds: Sequence[int], given: Mapping[str, object]
) -> dict[str, object]:
    gpu = gpu_named(name)
    facts: dict[str, object] = {"gpu_memory": gpu.memory}
    if worlds and min(worlds) >= gpu.gpus_per_node:
        facts["gpus_per_node"] = gpu.gpus_per_node
    elif len(worlds) == 1:
        facts["gpus_per_node"] = worlds[0]
    said = {profile.spellings.get(spelling) for spelling in given}
    if gpu.nvlink_domain > gpu.gpus_per_node and "nvlink_domain_size" not in said:
        whole = [world for world in worlds if world % gpu.nvlink_domain == 0]
        if whole and len(whole) < len(worlds):
            message = (
                f"{gpu.name} joins {gpu.nvlink_domain} GPUs by NVLink, which divides some of the "
                "worlds and not others; ask about them apart, or give --nvlink-domain"
            )
            raise Misuse(message)
        if whole:
            facts["nvlink_domain_size"] = gpu.nvlink_domain
    return {name: value for name, value in facts.items() if name in profile.field_of}
