"""A ``config.json`` read as a shape. Nothing is guessed: what is missing is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parsolve.constraints.fields import MOST_ENTRIES, suggestion
from parsolve.constraints.models.architectures import (
    ARCHITECTURES,
    NOT_MODELLED,
    Architecture,
    Switch,
)
from parsolve.constraints.models.lookup import (
    EXPERTS,
    FFN,
    HEADS,
    HIDDEN,
    KV_HEADS,
    LAYERS,
    SHARED_EXPERTS,
    TOP_K,
    WINDOW,
    ModelError,
    Places,
    count,
    first,
    places_of,
)
from parsolve.constraints.models.shape import Attention, Experts, Ffn, Layer, Shape

LARGEST_NUMBER = 10**9
"""No number of a config.json that sizes are made of is larger."""

ATTENTION_KINDS = {"full_attention", "sliding_attention", "chunked_attention"}
"""Entries of ``layer_types`` that change no parameter."""

DECIDES = {
    "num_hidden_layers": "how many layers there are, and with it every total",
    "hidden_size": "the width of every layer, and with it every number of parameters",
    "vocab_size": "the embedding and output parameters and the size of the logits",
    "num_attention_heads": "the attention parameters",
    "num_key_value_heads": "the key and value parameters",
    "kv_lora_rank": "the compressed keys and values of MLA",
    "qk_nope_head_dim": "the query and key width of MLA",
    "qk_rope_head_dim": "the query and key width of MLA",
    "v_head_dim": "the value and output width of MLA",
    "intermediate_size": "the feed-forward parameters",
    "intermediate_size_mlp": "the feed-forward parameters of layers without experts",
    "moe_intermediate_size": "the width of an expert, and with it most of the parameters",
    "shared_expert_intermediate_size": "the parameters of the shared expert",
    "n_shared_experts": "the parameters of the shared experts",
    "num_experts": "how many experts a layer has, and with it most of the parameters",
    "num_experts_per_tok": "how many experts are active per token",
    "first_k_dense_replace": "how many of the first layers have no experts",
    "max_position_embeddings": "the number of learned position embeddings",
}


def shape_of(config: Mapping[str, Any], name: str = "the configuration") -> Shape:
    """The shape of the text model that a loaded config.json describes.

    Raises `ModelError`, which names the missing number and what it decides, or what of the
    architecture is not modelled.
    """
    return _Reader(places_of(config), name).shape()


@dataclass(frozen=True, slots=True)
class _Reader:
    places: Places
    name: str

    def shape(self) -> Shape:
        kind = self.model_type()
        has = self.architecture(kind)
        hidden = self.need(HIDDEN)
        depth = self.need(LAYERS)
        if depth > MOST_ENTRIES:
            raise self.error(f"num_hidden_layers is beyond any real model: {depth}")
        self.refuse_unknown_layers(depth)
        if count(self.places, ("word_embed_proj_dim",), self.name) not in {0, hidden}:
            raise self.error("word_embed_proj_dim differs from hidden_size, which is not modelled")
        attention = self.attention(has, hidden, depth)
        sparse = self.sparse(has, depth)
        experts = self.experts(has) if any(sparse) else None
        dense = None if all(sparse) else self.dense(has, hidden, depth)
        return Shape(
            name=self.name,
            model_type=kind,
            hidden_size=hidden,
            vocab_size=self.need(("vocab_size",)),
            tied=self.switch(("tie_word_embeddings", has.tied)),
            layers=tuple(
                Layer(
                    attention=attention[i],
                    ffn=experts if experts and sparse[i] else (dense or ())[i],
                    norms=has.norms,
                )
                for i in range(depth)
            ),
            norm_vectors=has.norm_vectors,
            positions=0 if has.positions is None else self.need(WINDOW[:1], WINDOW) + has.positions,
            left_out=self.left_out(),
        )

    def model_type(self) -> str:
        kind = self.places[-1].get("model_type") or self.places[0].get("model_type")
        if not isinstance(kind, str):
            fault = "missing" if kind is None else f"no text ({kind!r:.60})"
            raise self.error(
                f"model_type is {fault}: it decides which biases, norms and routers there are"
            )
        return kind

    def architecture(self, kind: str) -> Architecture:
        if kind in NOT_MODELLED:
            raise self.error(
                f"the parameters of {kind} cannot be counted: {NOT_MODELLED[kind]} not modelled"
            )
        if kind not in ARCHITECTURES:
            hint = suggestion(kind, tuple(ARCHITECTURES))
            raise self.error(
                f"the parameters of model_type {kind!r:.60} cannot be counted: which biases, "
                f"norms and routers it has is not known{hint}"
            )
        has = ARCHITECTURES[kind]
        if not has.experts and count(self.places, EXPERTS, self.name):
            raise self.error(f"it states experts, and those of {kind} are not modelled")
        return has

    def refuse_unknown_layers(self, depth: int) -> None:
        kinds = {str(kind) for kind in self.listed("layer_types", depth) or ()}
        if unknown := sorted(kinds - ATTENTION_KINDS):
            raise self.error(
                f"the parameters cannot be counted: layers of type {', '.join(unknown):.80} "
                "are not modelled"
            )

    def attention(self, has: Architecture, hidden: int, depth: int) -> list[Attention]:
        all_heads = self.per_layer(HEADS, depth)
        if has.mla:
            return [self.latent(has, heads) for heads in all_heads]
        stated = first(self.places, KV_HEADS) is not None
        explicit_null = any(place.get(KV_HEADS[0], 0) is None for place in self.places)
        as_heads = has.kv_heads == "none" or (
            not stated and (explicit_null or has.kv_heads == "optional")
        )
        all_kv = all_heads if as_heads else self.per_layer(KV_HEADS, depth)
        norm = has.qk_norm if self.switch(has.qk_norm_if) else "none"
        found = []
        for heads, kv_heads in zip(all_heads, all_kv, strict=True):
            width = count(self.places, ("head_dim",), self.name) or has.head_dim
            if not width and hidden % heads:
                raise self.error(
                    f"head_dim is missing, and hidden_size {hidden} is no multiple of {heads} "
                    "heads: it decides the attention parameters"
                )
            if heads % kv_heads:
                raise self.error(f"num_key_value_heads {kv_heads} does not divide {heads} heads")
            width = width or hidden // heads
            found.append(
                Attention(
                    heads=heads,
                    kv_heads=kv_heads,
                    head_dim=width,
                    value_dim=width,
                    qkv_bias=self.switch(has.qkv_bias),
                    o_bias=self.switch(has.o_bias),
                    norm=norm,
                    sinks=has.sinks,
                )
            )
        return found

    def latent(self, has: Architecture, heads: int) -> Attention:
        rope = self.need(("qk_rope_head_dim",))
        return Attention(
            heads=heads,
            kv_heads=heads,
            head_dim=self.need(("qk_nope_head_dim",)) + rope,
            value_dim=self.need(("v_head_dim",)),
            q_lora_rank=count(self.places, ("q_lora_rank",), self.name),
            kv_lora_rank=self.need(("kv_lora_rank",)),
            rope_dim=rope,
            qkv_bias=self.switch(has.qkv_bias),
            o_bias=self.switch(has.o_bias),
        )

    def dense(self, has: Architecture, hidden: int, depth: int) -> list[Ffn]:
        spellings = (has.dense_ffn,) if has.experts else FFN
        if first(self.places, spellings) is None and self.model_type() == "gpt2":
            widths = [4 * hidden] * depth  # what GPT2Config takes a null n_inner for
        else:
            widths = self.per_layer(spellings, depth)
        bias = self.switch(has.mlp_bias)
        return [Ffn(width=width, matrices=has.matrices, bias=bias) for width in widths]

    def experts(self, has: Architecture) -> Experts:
        number = self.need(EXPERTS)
        top_k = self.need(TOP_K)
        if top_k > number:
            raise self.error(f"num_experts_per_tok {top_k} is more than {number} experts")
        width = self.need((has.experts,))
        shared = 0
        if has.shared == "one":
            shared = width
        elif has.shared == "width":
            shared = self.need(("shared_expert_intermediate_size",))
        elif has.shared == "count":
            shared = width * self.need_or_none(SHARED_EXPERTS)
        return Experts(
            count=number,
            top_k=top_k,
            width=width,
            matrices=has.matrices,
            bias=has.expert_bias,
            shared_width=shared,
            shared_bias=bool(shared) and self.switch(has.mlp_bias),
            shared_gate=has.shared_gate,
            router_bias=has.router_bias,
            score_bias=has.score_bias,
        )

    def sparse(self, has: Architecture, depth: int) -> list[bool]:
        """Which layers have experts."""
        if not has.experts:
            return [False] * depth
        listed = self.listed("mlp_layer_types", depth)
        if listed is not None:
            return [kind == "sparse" for kind in listed]
        frequencies = self.listed("moe_layer_freq", depth)
        if frequencies is not None:
            return [bool(frequency) for frequency in frequencies]
        chosen = first(self.places, ("moe_layers",))
        if isinstance(chosen, list):
            return [layer in chosen for layer in range(depth)]
        leading = self.need_or_none(("first_k_dense_replace",)) if has.first_dense else 0
        frequency = count(self.places, ("moe_layer_freq",), self.name) or 1
        steps = ("decoder_sparse_step", "interleave_moe_layer_step")
        step = count(self.places, steps, self.name) or 1
        dense = first(self.places, ("mlp_only_layers",))
        without = dense if isinstance(dense, list) else []
        return [
            layer >= leading
            and layer % frequency == 0
            and (layer + 1) % step == 0
            and layer not in without
            for layer in range(depth)
        ]

    def listed(self, key: str, depth: int) -> list[object] | None:
        """A list with one entry for every layer, if there is one."""
        value = first(self.places, (key,))
        if not isinstance(value, list):
            return None
        if len(value) != depth:
            raise self.error(f"{key} has {len(value)} entries for {depth} layers")
        return value

    def left_out(self) -> tuple[str, ...]:
        parts = []
        if layers := count(self.places, ("num_nextn_predict_layers",), self.name):
            parts.append(f"{layers} layer{'s' * (layers > 1)} of multi-token prediction")
        parts += [
            f"the {kind} tower"
            for kind in ("vision", "audio")
            if isinstance(self.places[0].get(f"{kind}_config"), Mapping)
        ]
        return tuple(parts)

    def need(self, spellings: Sequence[str], accepted: Sequence[str] = ()) -> int:
        """A number that is there, or the word of what it would decide."""
        value = count(self.places, accepted or spellings, self.name)
        if not value:
            stated = [s for s in accepted or spellings for p in self.places if p.get(s) == 0]
            fault = f"{stated[0]} is 0" if stated else f"{spellings[0]} is missing"
            raise self.error(f"{fault}: it decides {DECIDES[spellings[0]]}")
        if value > LARGEST_NUMBER:
            raise self.error(f"{spellings[0]} is beyond any real model: {value!r:.60}")
        return value

    def need_or_none(self, spellings: Sequence[str]) -> int:
        """A number that is there; 0 and null are such."""
        stated = any(spelling in place for place in self.places for spelling in spellings)
        return count(self.places, spellings, self.name) if stated else self.need(spellings)

    def per_layer(self, spellings: Sequence[str], depth: int) -> list[int]:
        """One number for every layer, from one for all or a list."""
        value = first(self.places, spellings)
        if not isinstance(value, list):
            return [self.need(spellings)] * depth
        if len(value) != depth:
            raise self.error(f"{spellings[0]} has {len(value)} entries for {depth} layers")
        if any(type(n) is not int or not 0 < n <= LARGEST_NUMBER for n in value):
            raise self.error(f"{spellings[0]} has an entry that is no positive integer")
        return value

    def switch(self, switch: Switch) -> bool:
        if isinstance(switch, bool):
            return switch
        key, default = switch
        stated = next((place[key] for place in self.places if place.get(key) is not None), default)
        if not isinstance(stated, bool):
            raise self.error(f"{key} is neither true nor false: {stated!r:.60}")
        return stated

    def error(self, message: str) -> ModelError:
        return ModelError(f"{self.name}: {message}")
