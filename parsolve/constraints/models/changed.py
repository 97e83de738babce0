"""A model with some of its numbers changed: read again, so that all that is counted follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsolve.constraints.fields import suggestion
from parsolve.constraints.models.architectures import ARCHITECTURES
from parsolve.constraints.models.config import shape_of
from parsolve.constraints.models.lookup import (
    EXPERT_FFN,
    EXPERTS,
    FFN,
    HEADS,
    HIDDEN,
    KV_HEADS,
    LAYERS,
    TOP_K,
    WINDOW,
    ModelError,
    places_of,
)
from parsolve.constraints.models.shape import Shape

CHANGEABLE = {
    "num_hidden_layers": (LAYERS, "{} layers"),
    "hidden_size": (HIDDEN, "hidden size {}"),
    "num_attention_heads": (HEADS, "{} heads"),
    "num_key_value_heads": (KV_HEADS, "{} key/value heads"),
    "vocab_size": (("vocab_size",), "a vocabulary of {}"),
    "intermediate_size": (FFN, "FFN width {}"),
    "num_experts": (EXPERTS, "{} experts"),
    "num_experts_per_tok": (TOP_K, "{} experts per token"),
    "moe_intermediate_size": (EXPERT_FFN, "expert FFN width {}"),
    "max_position_embeddings": (WINDOW, "context window {}"),
}
"""Numbers of a ``config.json`` that may be changed: where they stand, and their words."""

UNCOUNTED = frozenset({"max_position_embeddings"})
"""Those on which no number of parameters need depend: rotary positions have none."""

PER_LAYER = ("layer_types", "mlp_layer_types", "moe_layer_freq", *HEADS, *KV_HEADS, *FFN)
"""Keys that may hold a list with an entry for every layer."""


def changed(
    config: Mapping[str, Any], name: str, shape: Shape, changes: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """The configuration with these numbers, and its name with their words.

    Raises `ModelError` for what is counted rather than stated, and for numbers that this
    model does not have: its counts would not follow them.
    """
    for field in changes:
        if field not in CHANGEABLE:
            known = tuple(CHANGEABLE)
            message = (
                f"{field} is counted from {name} and cannot be changed by itself"
                f"{suggestion(field, known)}; change what it is counted from ({', '.join(known)}), "
                "or give every number of the model without naming one"
            )
            raise ModelError(message)
        if changes[field] is None and field not in UNCOUNTED:
            message = f"{field} cannot be unset beside {name}, whose counts rest on it"
            raise ModelError(message)
    words = ", ".join(CHANGEABLE[f][1].format(_text(value)) for f, value in changes.items())
    renamed = f"{name} with {words}"
    for field, there in (
        ("intermediate_size", shape.dense),
        ("moe_intermediate_size", shape.experts),
    ):
        if field in changes and not there:
            raise _absent(name, field)
    result = _with(config, shape, changes)
    whole = shape_of(result, renamed)
    for field in changes:
        rest = {other: value for other, value in changes.items() if other != field}
        if field not in UNCOUNTED and _same(config, shape, rest, whole):
            raise _absent(name, field)
    return result, renamed


def _absent(name: str, field: str) -> ModelError:
    what = CHANGEABLE[field][1].replace("{}", "").strip()
    return ModelError(f"{name} has no {what} to change: leave {field} out")


def _text(value: Any) -> str:  # noqa: ANN401  (what a field holds)
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _same(config: Mapping[str, Any], shape: Shape, rest: Mapping[str, Any], whole: Shape) -> bool:
    """Whether the shape is the same without one of the changes, so that it changes nothing."""
    try:
        return shape_of(_with(config, shape, rest), whole.name) == whole
    except ModelError:
        return False


def _with(config: Mapping[str, Any], shape: Shape, changes: Mapping[str, Any]) -> dict[str, Any]:
    result = {k: dict(v) if k == "text_config" and v else v for k, v in config.items()}
    depth = changes.get("num_hidden_layers", len(shape.layers))
    if depth < len(shape.layers):
        for place in places_of(result):
            for key in PER_LAYER:
                if isinstance(place.get(key), list):
                    place[key] = place[key][:depth]  # type: ignore[index]
    for field, value in changes.items():
        for place, key in _where(result, field, shape):
            place[key] = list(value) if isinstance(value, tuple) and len(value) > 1 else _one(value)
    return result


def _one(value: Any) -> Any:  # noqa: ANN401
    return value[0] if isinstance(value, tuple) else value


def _where(config: dict[str, Any], field: str, shape: Shape) -> list[tuple[dict[str, Any], str]]:
    """Every place that states the number, else the innermost one, under its usual name."""
    spellings = CHANGEABLE[field][0]
    has = ARCHITECTURES[shape.model_type]
    # one key may be the width of experts in one architecture, and of dense layers in another
    if field == "moe_intermediate_size" and has.experts:
        spellings = (has.experts,)
    elif field == "intermediate_size" and has.experts:
        spellings = (has.dense_ffn,)
    places: list[dict[str, Any]] = list(places_of(config))  # type: ignore[arg-type]
    stated = [(p, key) for p in places for key in spellings if p.get(key) is not None]
    return stated or [(places[-1], spellings[0])]
