"""Where a number stands in a ``config.json``: every spelling of it, and how it is looked up.

Spellings and their order follow halo's lookup: for each spelling, the first value that is not
null over the configuration and then its ``text_config``; the first spelling with a value that
is not 0 wins. ``n_routed_experts`` (DeepSeek, GLM) and ``n_embd`` (GPT-2) reach halo through an
attribute map of transformers, so a reader of the raw file must add them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parsolve.constraints.fields import Misuse

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
HIDDEN = ("hidden_size", "n_embd")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers")
FFN = ("intermediate_size", "ffn_dim", "n_inner")
SHARED_EXPERTS = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")

Places = Sequence[Mapping[str, Any]]


class ModelError(Misuse):
    """A model that cannot be read or counted. The message says what is wrong with which file."""


def places_of(config: Mapping[str, Any]) -> Places:
    """The configuration, and the text's own where it is nested. Raises `ModelError`."""
    nested = config.get("text_config")
    if nested is not None and not isinstance(nested, Mapping):
        message = f"text_config is no object: {nested!r:.60}"
        raise ModelError(message)
    return (config, nested) if isinstance(nested, Mapping) else (config,)


def first(places: Places, spellings: Sequence[str]) -> Any:  # noqa: ANN401
    """The first spelling's first value that is not null and not 0."""
    for spelling in spellings:
        value = next((p[spelling] for p in places if p.get(spelling) is not None), None)
        if value:
            return value
    return None


def count(places: Places, spellings: Sequence[str], name: str) -> int:
    """A positive integer, or 0 where none is stated. Raises `ModelError`."""
    value = first(places, spellings)
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
