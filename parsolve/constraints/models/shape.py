"""What the size of a decoder-only transformer depends on, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Attention of one layer. Widths are elements per head.

    Grouped-query attention if ``kv_lora_rank`` is 0, else multi-head latent attention, where
    ``head_dim`` counts the part with rotary positions (``rope_dim``) too, and ``q_lora_rank``
    is 0 if queries are projected at once. A ``norm`` spans one head or all of them.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    rope_dim: int = 0
    qkv_bias: bool = False
    o_bias: bool = False
    norm: Literal["none", "head", "all"] = "none"
    sinks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ffn:
    """A dense feed-forward network. Gated ones have 3 matrices, others 2."""

    width: int
    matrices: int = 3
    bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """Routed experts of one layer and what stands beside them.

    ``shared_width`` is the width of all shared experts together (0: none); ``score_bias`` is
    the router's correction per expert (``e_score_correction_bias``).
    """

    count: int
    top_k: int
    width: int
    matrices: int = 3
    bias: bool = False
    shared_width: int = 0
    shared_bias: bool = False
    shared_gate: bool = False
    router_bias: bool = False
    score_bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer: attention, a dense FFN or experts, and its norms over the hidden size."""

    attention: Attention
    ffn: Ffn | Experts
    norms: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A decoder-only transformer.

    ``norm_vectors`` is 1 for RMSNorm and LayerNorm without bias, 2 for LayerNorm, 0 for norms
    without parameters; ``positions`` counts learned position embeddings. ``left_out`` names the
    modules of the model that are no part of the shape, such as a vision tower or MTP layers.
    """

    name: str
    model_type: str
    hidden_size: int
    vocab_size: int
    tied: bool
    layers: tuple[Layer, ...]
    norm_vectors: int = 1
    positions: int = 0
    left_out: tuple[str, ...] = ()

    @property
    def experts(self) -> tuple[Experts, ...]:
        """The experts of every layer that has some, in order."""
        return tuple(layer.ffn for layer in self.layers if isinstance(layer.ffn, Experts))

    @property
    def dense(self) -> tuple[Ffn, ...]:
        """The FFN of every layer without experts, in order."""
        return tuple(layer.ffn for layer in self.layers if isinstance(layer.ffn, Ffn))
