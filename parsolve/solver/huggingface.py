"""A model, by name or as a ``config.json``, read as the facts that the rules and memory ask for."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from parsolve.constraints.models.catalogue import Preset
from parsolve.constraints.models.changed import changed
from parsolve.constraints.models.config import shape_of
from parsolve.constraints.models.lookup import (
    EXPERT_FFN,
    EXPERTS,
    HEADS,
    HIDDEN,
    KV_HEADS,
    TOP_K,
    WINDOW,
    ModelError,
    Places,
    count,
    first,
    places_of,
)
from parsolve.constraints.models.parameters import facts as memory_facts
from parsolve.constraints.models.presets import known, nearest
from parsolve.constraints.models.shape import Shape

__all__ = [
    "ModelError",
    "ModelFacts",
    "loaded_model_facts",
    "model_fields",
    "read_model",
    "read_model_facts",
]

LARGEST_FILE = 10 * 2**20
"""Bytes; no config.json comes near."""

DEEPEST = 4
"""Levels of nested configurations that are looked at."""

SINK_FAMILIES = ("gpt_oss",)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model: the fields that rules read, its shape, and the preset if it was named.

    Where the size cannot be counted, ``shape`` is None and ``uncounted`` says why. ``config``
    is what all of it was read from, and ``name`` how messages call it.
    """

    fields: Mapping[str, object]
    shape: Shape | None
    uncounted: str
    preset: Preset | None
    config: Mapping[str, Any]
    name: str

    def counted(self) -> Shape:
        """The shape. Raises `ModelError` where the size cannot be counted."""
        if self.shape is None:
            raise ModelError(self.uncounted)
        return self.shape

    def memory(self) -> dict[str, int]:
        """What a memory model needs (`parsolve.constraints.models.parameters.facts`).

        Raises `ModelError` where the size cannot be counted.
        """
        return memory_facts(self.counted())

    def changed(self, changes: Mapping[str, Any]) -> ModelFacts:
        """The model with these numbers in place of its own; its name says which.

        Raises `ModelError` where its counts could not follow them.
        """
        config, name = changed(self.config, self.name, self.counted(), changes)
        return loaded_model_facts(config, name, self.preset)


def read_model(model: str | Path) -> dict[str, object]:
    """Fields of the halo profile that the model states.

    It is a config.json, a folder with one, or the name of a preset; a path that exists wins,
    and ``./name`` is always a path. Raises `ModelError`.
    """
    preset = _preset(model)
    return model_fields(preset.config, preset.name) if preset else model_fields(*_read(Path(model)))


def read_model_facts(model: str | Path) -> ModelFacts:
    """Those fields, and the shape if its size can be counted. Raises `ModelError` as they do."""
    preset = _preset(model)
    config, name = (preset.config, preset.name) if preset else _read(Path(model))
    return loaded_model_facts(config, name, preset)


def model_facts(model: str | PathLike[str] | Mapping[str, Any]) -> ModelFacts:
    """The same of a name, a path or a loaded ``config.json``."""
    if isinstance(model, Mapping):
        return loaded_model_facts(model)
    return read_model_facts(str(model))


def loaded_model_facts(
    config: Mapping[str, Any], name: str = "the configuration", preset: Preset | None = None
) -> ModelFacts:
    """The same of a loaded ``config.json``."""
    fields = model_fields(config, name)
    try:
        return ModelFacts(fields, shape_of(config, name), "", preset, config, name)
    except ModelError as error:
        return ModelFacts(fields, None, str(error), preset, config, name)


def _preset(model: str | Path) -> Preset | None:
    """The preset of that name; None if it is a path."""
    if isinstance(model, Path) or _is_path(model):
        return None
    preset = known(model)
    if preset is None:
        message = f"cannot read {model:.80}: no such file, folder or model{nearest(model)}"
        raise ModelError(message)
    return preset


def _is_path(model: str) -> bool:
    return (
        model.startswith((".", "/", "~"))
        or model.endswith((".json", "/"))
        or os.path.lexists(model)
    )


def _read(file: Path) -> tuple[Mapping[str, Any], str]:
    try:
        if file.is_dir():
            file = file / "config.json"
        if not stat.S_ISREG(file.stat().st_mode):
            message = f"{file} is no ordinary file"
            raise ModelError(message)
        with file.open("rb") as opened:
            raw = opened.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        if isinstance(error, ModelError):
            raise
        message = f"cannot read {file}: {getattr(error, 'strerror', None) or error}"
        raise ModelError(message) from None
    if len(raw) > LARGEST_FILE:
        message = f"{file} is too large for a config.json ({LARGEST_FILE} bytes at most)"
        raise ModelError(message)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        message = f"{file} is not UTF-8 text"
        raise ModelError(message) from None
    try:
        loaded = json.loads(text)
    except (RecursionError, ValueError) as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        what = "is empty" if not text.strip() else f"is not JSON{where}"
        if isinstance(error, ValueError) and not where:
            what = "holds a number of more digits than any model's"
        message = f"{file} {what}"
        raise ModelError(message) from None
    if not isinstance(loaded, dict):
        message = f"{file} holds no JSON object"
        raise ModelError(message)
    return loaded, str(file)


def model_fields(config: Mapping[str, Any], name: str = "the configuration") -> dict[str, object]:
    """Fields of the halo profile that a loaded config.json states."""
    places = places_of(config)
    inner = places[-1]
    facts: dict[str, object] = {"model_config": True}

    experts = count(places, EXPERTS, name)
    facts["model_kind"] = "moe" if experts else "dense"
    if not experts and _speaks_of_experts(config):
        facts["model_kind"] = "unknown"
    for field, where, spellings in (
        ("num_experts", places, EXPERTS),
        ("num_experts_per_tok", (inner,), TOP_K),
        ("moe_intermediate_size", places, EXPERT_FFN),
        ("hidden_size", places, HIDDEN),
        ("max_position_embeddings", (inner,), WINDOW),
    ):
        if value := count(where, spellings, name):
            facts[field] = value
    for field, spelled in (("num_attention_heads", HEADS), ("num_key_value_heads", KV_HEADS)):
        if heads := _heads(places, spelled, name):
            facts[field] = heads
    facts["mla"] = bool(first(places, ("kv_lora_rank",)) or first(places, ("qk_rope_head_dim",)))
    layer_types = first(places, ("layer_types",))
    if isinstance(layer_types, list):
        facts["linear_attention_layers"] = "linear_attention" in layer_types
    kind = config.get("model_type")
    if isinstance(kind, str) and kind:
        facts["model_type"] = kind
        facts["live_attention_sinks"] = kind in SINK_FAMILIES
    quantization = first(places, ("quantization_config",))
    if isinstance(quantization, Mapping):
        method = str(quantization.get("quant_method", ""))
        key = "natively_quantized_experts" if method == "mxfp4" else "quantized"
        facts[key] = True
    return facts


def _speaks_of_experts(config: Mapping[str, Any], depth: int = DEEPEST) -> bool:
    """Whether experts are mentioned in a way that this reader does not know how to count."""
    for key, value in config.items():
        said = str(value) if key == "model_type" else key if value else ""
        if "expert" in said or "moe" in said:
            return True
        for part in value if isinstance(value, list) else [value]:
            if depth and isinstance(part, Mapping) and _speaks_of_experts(part, depth - 1):
                return True
    return False


def _heads(places: Places, spellings: Sequence[str], name: str) -> list[int]:
    """Every distinct number of heads, per-layer lists included."""
    value = first(places, spellings)
    entries = value if isinstance(value, list) else [] if value is None else [value]
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in entries):
        message = f"{name}: {spellings[0]} is neither an integer nor a list of them"
        raise ModelError(message)
    return sorted({n for n in entries if n})
