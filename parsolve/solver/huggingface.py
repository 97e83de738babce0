"""A model's ``config.json`` in Hugging Face form, read as the facts that the rules ask for.

Spellings and their order follow halo's lookup: for each spelling, the first value that is not
null over the configuration and then its ``text_config``; the first spelling with a value that
is not 0 wins. ``n_routed_experts`` (DeepSeek, GLM) reaches halo through an attribute map of
transformers, so a reader of the raw file must add it.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parsolve.constraints.fields import Misuse

LARGEST_FILE = 10 * 2**20
"""Bytes; no config.json comes near."""

DEEPEST = 4
"""Levels of nested configurations that are looked at."""

EXPERTS = (
    "num_experts",
    "num_local_experts",
    "num_routed_experts",
    "num_moe_experts",
    "moe_num_experts",
    "n_routed_experts",
)
TOP_K = ("num_experts_per_tok", "top_k_experts", "moe_router_topk", "num_active_experts", "top_k")
EXPERT_FFN = (
    "moe_intermediate_size",
    "expert_intermediate_size",
    "moe_ffn_hidden_size",
    "intermediate_size",
)
WINDOW = ("max_position_embeddings", "max_seq_length", "n_positions")
HEADS = ("num_attention_heads", "num_attention_heads_per_layer", "n_head")
KV_HEADS = ("num_key_value_heads",)
SINK_FAMILIES = ("gpt_oss",)


class ModelError(Misuse):
    """A model file that cannot be read. The message says what is wrong with which file."""


def read_model(path: str | Path) -> dict[str, object]:
    """Fields of the halo profile that the file states: a config.json, or a folder with one.

    Raises `ModelError`.
    """
    file = Path(path)
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
        message = f"{file} {what}"
        raise ModelError(message) from None
    if not isinstance(loaded, dict):
        message = f"{file} holds no JSON object"
        raise ModelError(message)
    return model_fields(loaded, str(file))


def model_fields(config: Mapping[str, Any], name: str = "the configuration") -> dict[str, object]:
    """Fields of the halo profile that a loaded config.json states."""
    nested = config.get("text_config")
    places = (config, nested) if isinstance(nested, Mapping) else (config,)
    inner = places[-1]
    facts: dict[str, object] = {"model_config": True}

    experts = _count(places, EXPERTS, name)
    facts["model_kind"] = "moe" if experts else "dense"
    if not experts and _speaks_of_experts(config):
        facts["model_kind"] = "unknown"
    for field, where, spellings in (
        ("num_experts", places, EXPERTS),
        ("num_experts_per_tok", (inner,), TOP_K),
        ("moe_intermediate_size", places, EXPERT_FFN),
        ("hidden_size", places, ("hidden_size",)),
        ("max_position_embeddings", (inner,), WINDOW),
    ):
        if value := _count(where, spellings, name):
            facts[field] = value
    for field, spellings in (("num_attention_heads", HEADS), ("num_key_value_heads", KV_HEADS)):
        if heads := _heads(places, spellings, name):
            facts[field] = heads
    facts["mla"] = bool(_first(places, ("kv_lora_rank",)) or _first(places, ("qk_rope_head_dim",)))
    layer_types = _first(places, ("layer_types",))
    if isinstance(layer_types, list):
        facts["linear_attention_layers"] = "linear_attention" in layer_types
    kind = config.get("model_type")
    if isinstance(kind, str) and kind:
        facts["model_type"] = kind
        facts["live_attention_sinks"] = kind in SINK_FAMILIES
    quantization = _first(places, ("quantization_config",))
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


def _first(places: Sequence[Mapping[str, Any]], spellings: Sequence[str]) -> Any:  # noqa: ANN401
    """The first spelling's first value that is not null and not 0."""
    for spelling in spellings:
        value = next((p[spelling] for p in places if p.get(spelling) is not None), None)
        if value:
            return value
    return None


def _count(places: Sequence[Mapping[str, Any]], spellings: Sequence[str], name: str) -> int:
    value = _first(places, spellings)
    if isinstance(value, list):
        # per-layer counts of the same quantity: expert layers agree, others state 0
        stated = [entry for entry in value if entry]
        if all(entry == stated[0] for entry in stated):
            value = stated[0] if stated else None
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        message = f"{name}: {' or '.join(spellings[:2])} is not a positive integer: {value!r:.60}"
        raise ModelError(message)
    return value


def _heads(places: Sequence[Mapping[str, Any]], spellings: Sequence[str], name: str) -> list[int]:
    """Every distinct number of heads, per-layer lists included."""
    value = _first(places, spellings)
    entries = value if isinstance(value, list) else [] if value is None else [value]
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in entries):
        message = f"{name}: {spellings[0]} is neither an integer nor a list of them"
        raise ModelError(message)
    return sorted({n for n in entries if n})
