"""Models as a list, and one model's parameters part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from parsolve.cli.screen import Screen
from parsolve.cli.table import show_table
from parsolve.constraints.models.parameters import Parameters, count, facts
from parsolve.constraints.models.shape import Experts, Layer, Shape
from parsolve.solver.huggingface import ModelFacts

BILLION = 10**9


def entry(model: ModelFacts) -> dict[str, Any]:
    """The model's parameters and shape as plain data; widths are elements per token."""
    shape, preset = model.counted(), model.preset
    widths = {name: n for name, n in facts(shape).items() if not name.endswith("_parameters")}
    return {
        "name": shape.name,
        "parameters": _split(count(shape)),
        "published": preset.published if preset else None,
        "source": preset.source if preset else None,
        "shape": {
            "model_type": shape.model_type,
            **widths,
            "tied_embeddings": shape.tied,
            "learned_positions": shape.positions,
            "norm_vectors": shape.norm_vectors,
            "left_out": list(shape.left_out),
            "layers": [{"count": n, **asdict(layer)} for n, layer in _runs(shape)],
        },
    }


def show_list(models: Sequence[ModelFacts]) -> None:
    """One line for each model."""
    rows = []
    for model in models:
        shape = model.counted()
        whole = count(shape)
        experts = shape.experts[0] if shape.experts else None
        rows.append(
            [
                shape.name,
                _billions(whole.total),
                _billions(whole.active),
                str(len(shape.layers)),
                str(shape.hidden_size),
                f"{experts.count:>3} top {experts.top_k}" if experts else "-",
                _kind(shape),
            ]
        )
    headings = ("name", "   total", "  active", "layers", "hidden", "experts", "kind")
    show_table(Screen(), headings, rows)


def show(model: ModelFacts) -> None:
    """The parameters part by part, the shape, and the published total with its source."""
    shape, preset = model.counted(), model.preset
    whole = count(shape)
    parts = _split(whole)
    total = parts.pop("total")
    active = parts.pop("active")
    screen = Screen()
    screen.headline(shape.name, f"{total:,} parameters, {active:,} active per token", "bold")
    screen.line()
    rows = [*((part.replace("_", " "), n) for part, n in parts.items() if n), ("total", total)]
    wide = len(f"{total:,}")
    cells = [(part, f"{n:>{wide},}", f"{n / total:>6.1%}") for part, n in rows]
    show_table(screen, ("part", f"{'parameters':>{wide}}", f"{'share':>6}"), cells)
    screen.line()
    for n, layer in _runs(shape):
        screen.entry("layers", f"{n} x {_layer(layer)}")
    tied = "tied output" if shape.tied else "output of its own"
    positions = f", {shape.positions} learned positions" if shape.positions else ""
    words = f"{shape.vocab_size} x {shape.hidden_size}, {tied}{positions}"
    screen.entry("vocabulary", words)
    for part in shape.left_out:
        screen.entry("left out", f"{part}: in no number above")
    if preset:
        off = total / preset.published - 1
        said = "exactly this" if total == preset.published else f"this is {off:+.2%}"
        screen.entry("published", f"{preset.published:,}; {said}")
        screen.entry("source", preset.source)


def _billions(number: int) -> str:
    return f"{number / BILLION:>7.2f}B"


def _split(parameters: Parameters) -> dict[str, int]:
    return {
        "total": parameters.total,
        "active": parameters.active,
        "embedding": parameters.embedding,
        "output": parameters.output,
        "attention": parameters.attention,
        "dense_ffn": parameters.dense_ffn,
        "routed_experts": parameters.routed_experts,
        "shared_experts": parameters.shared_experts,
        "router": parameters.router,
        "norms": parameters.norms,
    }


def _runs(shape: Shape) -> Iterator[tuple[int, Layer]]:
    """Equal layers that follow each other, and how many they are."""
    for layer, equal in groupby(shape.layers):
        yield len(list(equal)), layer


def _kind(shape: Shape) -> str:
    latent = ", MLA" if any(layer.attention.kv_lora_rank for layer in shape.layers) else ""
    return f"{'moe' if shape.experts else 'dense'}{latent}"


def _layer(layer: Layer) -> str:
    a, ffn = layer.attention, layer.ffn
    if a.kv_lora_rank:
        heads = f"{a.heads} heads of {a.head_dim} over MLA of rank {a.kv_lora_rank}"
    else:
        heads = f"{a.heads} heads of {a.head_dim}, {a.kv_heads} for keys and values"
    if not isinstance(ffn, Experts):
        return f"({heads}; FFN of {ffn.width}, {ffn.matrices} matrices)"
    shared = f" and {ffn.shared_width} shared" if ffn.shared_width else ""
    return f"({heads}; {ffn.count} experts of {ffn.width}, top {ffn.top_k}{shared})"
