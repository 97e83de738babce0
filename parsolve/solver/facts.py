"""What a model and a GPU, given by name, say about a profile's fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from parsolve.constraints.fields import Field, FieldError, Misuse, Size
from parsolve.constraints.memory.facts import FACT_NAMES
from parsolve.constraints.memory.hardware import gpu_named
from parsolve.constraints.models.changed import CHANGEABLE
from parsolve.constraints.profile import Profile

if TYPE_CHECKING:
    from parsolve.solver.huggingface import ModelFacts


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

    A number of the model that was given changes the model, so that every count follows it.
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
        facts = {**_of_model(profile, model, facts, needed=needed), **facts}
    return facts


def _of_model(
    profile: Profile,
    model: str | PathLike[str] | Mapping[str, Any],
    given: Mapping[str, object],
    *,
    needed: bool,
) -> dict[str, object]:
    from parsolve.solver.huggingface import model_facts  # noqa: PLC0415

    found = model_facts(model)
    said = _about_a_model(profile, given)
    own = _known(profile, found, needed=needed)
    _refuse_another_kind(found.name, own.get("model_kind"), said.pop("model_kind", None))
    if found.shape is None:
        return own
    before = _about_a_model(profile, own)
    changes = {name: value for name, value in said.items() if value != before.get(name)}
    if not changes:
        return own
    altered = found.changed(changes)
    said_so = {"model_changes": altered.name} if "model_changes" in profile.field_of else {}
    return _known(profile, altered, needed=True) | said_so


def _known(profile: Profile, model: ModelFacts, *, needed: bool) -> dict[str, object]:
    counted = model.memory() if model.shape is not None or needed else {}
    sizes = {name: value for name, value in counted.items() if value}  # 0: there are none
    known = {**model.fields, **sizes}
    if model.shape is not None and profile.of_model is not None:
        known |= profile.of_model(model.shape)
    fields = profile.field_of
    return {name: single(fields[name], value) for name, value in known.items() if name in fields}


def single(field: Field, value: object) -> object:
    """The value; where the field takes one number for all layers, the only one of a list."""
    match field, value:
        case Size(), [number]:
            return number
        case Size(), [_, *_]:
            message = f"{field.name} differs between the layers of this model"
            raise Misuse(message)
        case _:
            return value


def _about_a_model(profile: Profile, given: Mapping[str, object]) -> dict[str, Any]:
    """The numbers of a model among what is given, and its kind; 0 of something is none of it."""
    numbers = {*FACT_NAMES, *CHANGEABLE, "model_kind"}
    named = ((profile.spellings.get(spelling), value) for spelling, value in given.items())
    return {
        name: profile.field_of[name].parse(value) or None
        for name, value in named
        if name is not None and name in numbers
    }


def _refuse_another_kind(model: str, own: object, said: object) -> None:
    if {own, said} == {"moe", "dense"}:
        what = "routed experts" if own == "moe" else "no routed experts"
        message = f"{model} has {what}, but model_kind {said} was asked for; leave it out"
        raise Misuse(message)


def refuse_change(
    profile: Profile, known: Mapping[str, object], given: Mapping[str, object]
) -> None:
    """Refuse numbers of a model that what is counted in ``known`` would not follow."""
    said = _about_a_model(profile, given)
    if not said or FACT_NAMES.isdisjoint(known):
        return
    before = _about_a_model(profile, known)
    for name, value in said.items():
        if value != before.get(name):
            message = (
                f"{name} is not that of the model that was named for every line; name the model "
                "with this number, or give all its numbers line by line"
            )
            raise FieldError(message)


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
