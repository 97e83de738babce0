"""What a model's shape says about Megatron's own arguments."""

from collections.abc import Mapping

from parsolve.constraints.models.lookup import ModelError
from parsolve.constraints.models.shape import Attention, Shape


def of_model(shape: Shape) -> Mapping[str, object]:
    """Fields of this profile that follow from the shape.

    Raises `ModelError` where layers differ in what Megatron has one number for.
    """
    kinds = {(a.heads, a.kv_heads, a.head_dim) for a in (layer.attention for layer in shape.layers)}
    if len(kinds) > 1:
        message = (
            f"{shape.name}: its layers differ in heads, key/value heads or the width of a head; "
            "Megatron-Core takes one number of each for all layers"
        )
        raise ModelError(message)
    attention = shape.layers[0].attention
    is_mla = attention.kv_lora_rank > 0
    dense = {} if shape.experts else {"moe_intermediate_size": None}
    return dense | {
        "num_attention_heads": attention.heads,
        "num_key_value_heads": None if is_mla else attention.kv_heads,
        "head_dim": None if is_mla else attention.head_dim,
        "untie_embeddings": not shape.tied,
        "bias_linear": _has_biases(shape, attention),
    }


def _has_biases(shape: Shape, attention: Attention) -> bool:
    """Whether linear layers outside of queries, keys and values have biases."""
    return attention.o_bias or any(layer.ffn.bias for layer in shape.layers)
