"""How many parameters a shape has, exactly, and what a memory model needs of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from parsolve.constraints.models.shape import Attention, Ffn, Layer, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Numbers of parameters. The eight parts sum to `total`.

    ``embedding`` includes learned positions; ``output`` is 0 if it is tied to the embedding.
    ``active`` is what one token passes through: of the routed experts only its top k,
    everything else in full, both embeddings included.
    """

    embedding: int = 0
    output: int = 0
    attention: int = 0
    dense_ffn: int = 0
    routed_experts: int = 0
    shared_experts: int = 0
    router: int = 0
    norms: int = 0
    idle: int = 0

    @property
    def total(self) -> int:
        """All parameters."""
        return self.without_routed + self.routed_experts

    @property
    def without_routed(self) -> int:
        """All parameters but those of the routed experts."""
        return (
            (self.embedding + self.output + self.attention + self.dense_ffn)
            + (self.shared_experts + self.router)
            + self.norms
        )

    @property
    def active(self) -> int:
        """The parameters that one token passes through."""
        return self.total - self.idle


def count(shape: Shape) -> Parameters:
    """The parameters of the model, without what ``shape.left_out`` names."""
    layers = [layer_parameters(layer, shape) for layer in shape.layers]
    table = shape.vocab_size * shape.hidden_size
    return Parameters(
        embedding=table + shape.positions * shape.hidden_size,
        output=0 if shape.tied else table,
        attention=sum(layer.attention for layer in layers),
        dense_ffn=sum(layer.dense_ffn for layer in layers),
        routed_experts=sum(layer.routed_experts for layer in layers),
        shared_experts=sum(layer.shared_experts for layer in layers),
        router=sum(layer.router for layer in layers),
        norms=sum(layer.norms for layer in layers) + shape.norm_vectors * shape.hidden_size,
        idle=sum(layer.idle for layer in layers),
    )


def facts(shape: Shape) -> dict[str, int]:
    """What a memory model needs: parameters by part, and elements per token of a layer.

    Every width is the largest over the layers; those of MLA are the ones after its
    up-projections. The seven ``*_parameters`` up to ``other_parameters`` sum to the total;
    ``layer_dense_parameters`` and ``layer_expert_parameters`` are the largest layer's.
    """
    whole = count(shape)
    layers = [layer_parameters(layer, shape) for layer in set(shape.layers)]
    attention = {layer.attention for layer in shape.layers}
    experts, dense = set(shape.experts), set(shape.dense)
    return {
        "num_hidden_layers": len(shape.layers),
        "num_moe_layers": len(shape.experts),
        "hidden_size": shape.hidden_size,
        "vocab_size": shape.vocab_size,
        "embedding_parameters": whole.embedding,
        "output_parameters": whole.output,
        "attention_parameters": whole.attention,
        "dense_ffn_parameters": whole.dense_ffn,
        "routed_expert_parameters": whole.routed_experts,
        "shared_expert_parameters": whole.shared_experts,
        "other_parameters": whole.router + whole.norms,
        "layer_dense_parameters": _largest(layer.without_routed for layer in layers),
        "layer_expert_parameters": _largest(layer.routed_experts for layer in layers),
        "query_width": _largest(a.heads * a.head_dim for a in attention),
        "key_width": _largest(a.kv_heads * a.head_dim for a in attention),
        "value_width": _largest(a.kv_heads * a.value_dim for a in attention),
        "attention_output_width": _largest(a.heads * a.value_dim for a in attention),
        "intermediate_size": _largest(f.width for f in dense),
        "moe_intermediate_size": _largest(e.width for e in experts),
        "shared_intermediate_size": _largest(e.shared_width for e in experts),
        "num_experts": _largest(e.count for e in experts),
        "num_experts_per_tok": _largest(e.top_k for e in experts),
        "ffn_matrices": _largest(layer.ffn.matrices for layer in shape.layers),
    }


def _largest(values: Iterable[int]) -> int:
    return max(values, default=0)


def layer_parameters(layer: Layer, shape: Shape) -> Parameters:
    """The parameters of one layer of a model."""
    hidden = shape.hidden_size
    attention, ffn = layer.attention, layer.ffn
    norms = layer.norms * shape.norm_vectors * hidden + _inner_norms(attention)
    if isinstance(ffn, Ffn):
        return Parameters(
            attention=_attention(attention, hidden),
            dense_ffn=_ffn(ffn.width, ffn.matrices, hidden, bias=ffn.bias),
            norms=norms,
        )
    expert = _ffn(ffn.width, ffn.matrices, hidden, bias=ffn.bias)
    shared = _ffn(ffn.shared_width, ffn.matrices, hidden, bias=ffn.shared_bias)
    return Parameters(
        attention=_attention(attention, hidden),
        routed_experts=ffn.count * expert,
        idle=(ffn.count - ffn.top_k) * expert,
        shared_experts=shared + ffn.shared_gate * hidden,
        router=ffn.count * (hidden + ffn.router_bias + ffn.score_bias),
        norms=norms,
    )


def _attention(a: Attention, hidden: int) -> int:
    queries = a.heads * a.head_dim
    output = a.heads * a.value_dim * hidden + a.o_bias * hidden + a.sinks * a.heads
    if a.kv_lora_rank:
        # biases stand on the down-projections only
        q_down = (hidden + a.qkv_bias) * a.q_lora_rank
        q_up = queries * (a.q_lora_rank or hidden)
        kv_down = (hidden + a.qkv_bias) * (a.kv_lora_rank + a.rope_dim)
        kv_up = a.kv_lora_rank * a.heads * (a.head_dim - a.rope_dim + a.value_dim)
        return q_down + q_up + kv_down + kv_up + output
    width = queries + a.kv_heads * (a.head_dim + a.value_dim)
    return (hidden + a.qkv_bias) * width + output


def _inner_norms(a: Attention) -> int:
    if a.kv_lora_rank:
        return a.q_lora_rank + a.kv_lora_rank
    spans = {"none": 0, "head": 2, "all": a.heads + a.kv_heads}
    return spans[a.norm] * a.head_dim


def _ffn(width: int, matrices: int, hidden: int, *, bias: bool) -> int:
    return matrices * hidden * width + bias * ((matrices - 1) * width + hidden)
