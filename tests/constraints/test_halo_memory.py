"""Memory per GPU under halo, against a plain computation of the same and numbers by hand."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parsolve.constraints.fields import GIB, FieldError
from parsolve.constraints.generic import GENERIC
from parsolve.constraints.halo import HALO
from parsolve.constraints.memory.policy import POLICIES
from parsolve.constraints.profile import Profile
from parsolve.solver.memory import usage

Given = dict[str, Any]

DENSE: Given = {
    "num_hidden_layers": 4,
    "hidden_size": 16,
    "vocab_size": 100,
    "embedding_parameters": 1600,
    "output_parameters": 1600,
    "attention_parameters": 4 * 768,
    "dense_ffn_parameters": 4 * 1536,
    "other_parameters": 4 * 32 + 16,
    "layer_dense_parameters": 768 + 1536 + 32,
    "query_width": 16,
    "key_width": 8,
    "value_width": 8,
    "attention_output_width": 16,
    "intermediate_size": 32,
    "ffn_matrices": 3,
    "num_attention_heads": [4],
    "model_kind": "dense",
}
"""A model of which every number can be followed."""

FACTS_OF_DENSE = {name: value for name, value in DENSE.items() if name in GENERIC.field_of}

MIXED: Given = {
    **DENSE,
    "num_moe_layers": 3,
    "dense_ffn_parameters": 1536,
    "routed_expert_parameters": 3 * 8 * 3 * 16 * 12,
    "shared_expert_parameters": 3 * 3 * 16 * 20,
    "other_parameters": 4 * 32 + 16 + 3 * 8 * 16,
    "layer_dense_parameters": 768 + 1536 + 32,
    "layer_expert_parameters": 8 * 3 * 16 * 12,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 12,
    "shared_intermediate_size": 20,
    "model_kind": "moe",
}
"""Its first layer is dense, three have eight experts of which two work, and a shared one."""

ALL_EXPERTS: Given = {
    **MIXED,
    "num_moe_layers": 4,
    "dense_ffn_parameters": 0,
    "routed_expert_parameters": 4 * 8 * 3 * 16 * 12,
    "shared_expert_parameters": 0,
    "shared_intermediate_size": 0,
    "intermediate_size": 0,
}

SHAPES = {"dense": DENSE, "mixed": MIXED, "all experts": ALL_EXPERTS}

LLAMA_3_8B: Given = {
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "vocab_size": 128_256,
    "embedding_parameters": 525_336_576,
    "output_parameters": 525_336_576,
    "attention_parameters": 1_342_177_280,
    "dense_ffn_parameters": 5_637_144_576,
    "other_parameters": 266_240,
    "layer_dense_parameters": 218_112_000,
    "query_width": 4096,
    "key_width": 1024,
    "value_width": 1024,
    "attention_output_width": 4096,
    "intermediate_size": 14_336,
    "ffn_matrices": 3,
    "model_kind": "dense",
}

PARTS = (
    "parameters_bytes",
    "gradients_bytes",
    "optimizer_state_bytes",
    "activations_bytes",
    "loss_bytes",
    "buffers_bytes",
)
WIDTHS = {
    "bf16": (2, 2, 4),
    "mixed-adam": (2, 2, 12),
    "megatron": (2, 4, 12),
    "fp32": (4, 4, 8),
    "8bit-adam": (2, 2, 2),
}
"""Bytes of a parameter's weight, gradient and optimizer state."""


def up(whole: int, parts: int) -> int:
    """A share, rounded up."""
    return -(-whole // parts)


@dataclass(frozen=True)
class Run:
    """The same account in plain Python: what a configuration says, and its defaults."""

    said: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a number, a switch or a label
        """A field's value; a number that is not given is 0."""
        value = self.said.get(name, HALO.field_of[name].default)
        return 0 if value is None else value

    # Who shards what.

    @property
    def stage(self) -> int:
        return int(self.world_size // self.pp_size)

    @property
    def domain(self) -> int:
        node = self.gpus_per_node or min(8, self.world_size)
        return int(self.nvlink_domain_size or node)

    @property
    def domains(self) -> int:
        return self.stage // self.domain

    @property
    def group(self) -> int:
        return int(self.ep_size * self.expert_tp_size)

    @property
    def groups(self) -> int:
        if self.group == 1:
            return self.stage
        scope = self.ep_scope
        if scope == "auto":
            scope = "node" if self.group <= self.domain else "global"
        if scope == "node":
            return self.domain // self.group * self.domains
        return self.domain // (self.group // self.domains)

    @property
    def width(self) -> int:
        """Ranks that FSDP shards over."""
        if self.tp_size > 1:
            return int(self.stage // max(self.tp_size, self.cp_size, self.expert_tp_size))
        spans = self.domains > 1
        if self.group > 1 and self.expert_tp_size == 1 and spans and self.groups > 1:
            return self.group
        return self.domain if self.use_hsdp and spans else self.stage

    @property
    def shards(self) -> int:
        """Ranks that share a sharded state: FSDP does not wrap what is quantized."""
        return 1 if self.quantized else self.width

    @property
    def fsdp_has_experts(self) -> bool:
        return bool(self.group == 1 and self.fsdp_shard_ep1_experts)

    # Parameters of the fullest GPU.

    @property
    def layers(self) -> int:
        if self.pp_size == 1:
            return int(self.num_hidden_layers)
        split = self.said.get("pp_split")
        return max(split) if split else up(self.num_hidden_layers, self.pp_size)

    @property
    def moe_layers(self) -> int:
        """A stage may be all MoE, or as much of it as the model has."""
        return int(min(self.layers, self.num_moe_layers))

    def of_stage(self, parameters: int) -> int:
        return up(parameters * self.layers, self.num_hidden_layers)

    def of_moe(self, parameters: int) -> int:
        """What the MoE layers have, cut to the stage that has most of them."""
        return up(parameters * self.moe_layers, self.num_moe_layers) if parameters else 0

    @property
    def dense_ffn(self) -> int:
        """FFNs of the layers that are left on that stage."""
        if not self.dense_ffn_parameters:
            return 0
        of = self.num_hidden_layers - self.num_moe_layers
        return up(self.dense_ffn_parameters * (self.layers - self.moe_layers), of)

    @property
    def dense(self) -> int:
        """Outside of routed experts. TP splits attention, and the FFN of models without experts."""
        moe = self.routed_expert_parameters > 0
        split = self.of_stage(self.attention_parameters) + (0 if moe else self.dense_ffn)
        return (
            self.as_loaded
            + self.of_moe(self.shared_expert_parameters)
            + up(split, self.tp_size)
            + (self.dense_ffn if moe else 0)
        )

    @property
    def as_loaded(self) -> int:
        """What quantization leaves alone: both ends, routers and norms."""
        ends = self.embedding_parameters, self.output_parameters
        root = int(sum(ends) if self.pp_size == 1 else max(ends))
        return root + self.of_stage(self.other_parameters)

    @property
    def experts(self) -> int:
        return up(self.of_moe(self.routed_expert_parameters), self.group)

    @property
    def sharded(self) -> int:
        return self.dense + (self.experts if self.fsdp_has_experts else 0)

    @property
    def whole(self) -> int:
        return self.dense + self.experts - self.sharded

    @property
    def one_layer(self) -> int:
        experts = self.layer_expert_parameters if self.fsdp_has_experts else 0
        return int(self.layer_dense_parameters + experts)

    @property
    def adapters(self) -> int:
        """A rank's rows and columns for every linear layer beside the experts.

        Of a layer that TP cuts, one of the two factors is cut and the other is not.
        """
        hidden, cut = self.hidden_size, self.query_width + self.key_width + self.value_width
        numbers = self.layers * (4 * hidden + up(cut + self.attention_output_width, self.tp_size))
        ranks = 1 if self.routed_expert_parameters else self.tp_size
        for layers, inner in (
            (self.layers - self.moe_layers, self.intermediate_size),
            (self.moe_layers, self.shared_intermediate_size),
        ):
            if inner:
                numbers += layers * self.ffn_matrices * (hidden + up(inner, ranks))
        return int(self.lora_rank * numbers)

    # Bytes of the states.

    @property
    def widths(self) -> tuple[int, int, int]:
        weight, gradient, optimizer = WIDTHS[self.precision_policy]
        if self.dtype == "fp32":
            weight = 4
        weight = self.weight_bytes or weight
        gradient = self.gradient_bytes or gradient
        said = self.said.get("optimizer_bytes")
        return weight, gradient, optimizer if said is None else said

    @property
    def is_wide_beside_experts(self) -> bool:
        return bool(self.fp32_non_ep_params and self.widths[0] < 4)

    @property
    def has_wide_experts(self) -> bool:
        return bool(self.ep_fp32_experts and self.group > 1 and self.widths[0] < 4)

    @property
    def has_bf16_moments(self) -> bool:
        return self.widths[2] == 4

    def gathered(self, *, at_end: bool) -> int:
        """Bytes of weights that FSDP holds whole: the backward pass gives layers back."""
        compute = 4 if self.dtype == "fp32" else 2
        if self.quantized:
            return self.one_layer * compute
        if self.width == 1:
            return 0
        both = (self.embedding_parameters, self.output_parameters)
        root = sum(both) if self.pp_size == 1 else max(both)
        held = self.sharded
        if at_end and self.fsdp_reshard_after_backward:
            held = min(held, root + 2 * self.one_layer)
        if self.fsdp_reshard_after_forward:
            held = 2 * self.one_layer
        return int(held * compute)

    @property
    def stored(self) -> int:
        weight = self.widths[0]
        wide = self.is_wide_beside_experts
        if self.quantized:
            # a block of 64: 64 halves of a byte and 4 bytes
            blocks = up((self.dense + self.experts - self.as_loaded) * (64 // 2 + 4), 64)
            held = blocks + self.as_loaded * (4 if wide else weight)
        else:
            held = up(
                self.sharded * weight + ((4 - weight) * self.dense if wide else 0), self.shards
            )
            held += self.whole * (4 if self.has_wide_experts else weight)
        if self.reference_model == "live":
            held += up(self.sharded * 2, self.shards) + self.whole * 2
        return held

    @property
    def trained(self) -> tuple[int, int]:
        """Parameters that are trained and sharded, trained and whole."""
        return (self.adapters, 0) if self.use_peft else (self.sharded, self.whole)

    @property
    def optimizer(self) -> int:
        """Moments in bf16 become fp32 with their weight."""
        width, (sharded, whole) = self.widths[2], self.trained
        widens = self.has_bf16_moments
        extra = self.is_wide_beside_experts and widens and not self.use_peft
        of_expert = width + (4 if self.has_wide_experts and widens else 0)
        return (
            up(sharded * width, self.shards)
            + whole * of_expert
            + up(4 * self.dense if extra else 0, self.shards)
        )

    @property
    def unreduced(self) -> int:
        """Bytes of a gradient that waits for its reduction."""
        return max(4, self.widths[1]) if self.fp32_grad_reduce else self.widths[1]

    @property
    def all_gradients(self) -> int:
        width, (sharded, whole) = self.widths[1], self.trained
        if self.fsdp_defer_grad_sync and self.shards > 1:
            reduced = sharded * self.unreduced
        else:
            reduced = up(sharded * width, self.shards)
        return reduced + whole * (max(4, width) if self.has_wide_experts else width)

    @property
    def parts(self) -> int:
        """Micro-batches that a pipeline cuts a batch into."""
        stated = max(1, self.pp_microbatches or self.gradient_accumulation_steps)
        return int(max(stated, self.pp_size if self.pp_schedule == "1f1b" else 1))

    @property
    def accumulates(self) -> bool:
        if self.pp_size > 1:
            return self.parts > 1
        return bool(self.gradient_accumulation_steps > 1)

    # Activations.

    @property
    def rows(self) -> int:
        if self.said.get("ep_rows_per_device", -1) > 0:
            return int(self.said["ep_rows_per_device"])
        pair = 2 if self.trainer in {"smpo", "dpo", "reward"} else 1
        return int(max(1, self.per_device_train_batch_size) * pair)

    @property
    def tokens(self) -> int:
        tokens = up(self.rows * (self.max_length or self.max_position_embeddings), self.cp_size)
        return tokens if self.pp_size == 1 else up(tokens, self.parts)

    @property
    def attention_elements(self) -> int:
        length = self.max_length or self.max_position_embeddings
        scores = 0
        if self.attn_implementation == "eager":
            scores = 5 * max(self.num_attention_heads) * length // 2
        twice = 2 * (self.query_width + self.key_width) + self.value_width
        return int(4 * self.hidden_size + twice + self.attention_output_width + scores)

    @property
    def dispatched(self) -> int:
        """Of a token under EP: what arrives on the ranks of its experts, and what comes back."""
        if self.ep_size == 1:
            return 0
        ranks, top_k = self.ep_size, self.num_experts_per_tok
        missed = 1000 * ranks * (ranks - 1) ** top_k // ranks**top_k
        reached = 1000 * ranks - missed
        return int(self.hidden_size + self.hidden_size * 110 * reached // 100_000)

    @property
    def dense_layer(self) -> int:
        ffn = self.ffn_matrices * self.intermediate_size + self.hidden_size
        return int(2 * (self.attention_elements + ffn))

    @property
    def moe_layer(self) -> int:
        one = 2 * self.hidden_size + self.ffn_matrices * self.moe_intermediate_size
        routed = (110 if self.ep_size > 1 else 100) * self.num_experts_per_tok * one // 100
        inner = self.shared_intermediate_size
        shared = self.ffn_matrices * inner + self.hidden_size if inner else 0
        return int(2 * (self.attention_elements + routed + shared + self.dispatched))

    @property
    def saved(self) -> int:
        if self.activation_offloading:
            return 0
        moe = self.moe_layers
        if self.gradient_checkpointing:
            token = 2 * self.layers * self.hidden_size + 2 * moe * self.dispatched
        else:
            token = moe * self.moe_layer + (self.layers - moe) * self.dense_layer
        flying = 1
        if self.pp_size > 1:
            flying = self.parts if self.pp_schedule == "gpipe" else min(self.parts, self.pp_size)
        return int(token * self.tokens * flying)

    @property
    def recomputed(self) -> int:
        wide = max(self.intermediate_size, self.num_experts_per_tok * self.moe_intermediate_size)
        inner = int(2 * (self.ffn_matrices - 1) * wide * self.tokens)
        return inner + (self.one_layer_kept if self.gradient_checkpointing else 0)

    @property
    def one_layer_kept(self) -> int:
        """What the backward pass of the costliest layer reads."""
        kinds = []
        if self.num_moe_layers > 0:
            kinds.append(self.moe_layer)
        if self.num_moe_layers < self.num_hidden_layers:
            kinds.append(self.dense_layer)
        return int(max(kinds) * self.tokens)

    @property
    def last_layer(self) -> int:
        """The backward pass ends in a layer that was kept, or is computed again."""
        kept = 0 if self.gradient_checkpointing else self.one_layer_kept
        return self.recomputed + kept

    # The loss.

    @property
    def has_logits(self) -> bool:
        return self.trainer not in {"reward", "classification", "embedding"}

    @property
    def is_fused(self) -> bool:
        return bool(self.fused_linear_cross_entropy and self.cp_size == 1)

    @property
    def logits(self) -> int:
        if not self.has_logits or self.is_fused:
            return 0
        copies = 6 + (2 if self.rows > 1 and not self.packing and not self.padding_free else 0)
        return int(self.tokens * self.vocab_size * copies * (2 if self.tp_size > 1 else 1))

    @property
    def head_gradient(self) -> int:
        head = self.vocab_size * self.hidden_size
        if not self.has_logits:
            return 0
        if self.is_fused:
            return int(6 * head + 10 * self.tokens * self.hidden_size)
        return 0 if self.use_peft else int(2 * head)

    # The peak.

    def account(self) -> dict[str, int]:
        """Bytes of every part, by name."""
        layers = 0
        if self.shards > 1 and not self.fsdp_defer_grad_sync and not self.use_peft:
            layers = 2 * self.one_layer * self.unreduced
        early = self.all_gradients if self.accumulates else 0
        late = self.recomputed + self.head_gradient
        at_start, at_end = (self.gathered(at_end=moment) for moment in (False, True))
        start = at_start + self.saved + max(self.logits, late) + early
        end = at_end + self.all_gradients + layers + self.last_layer
        if start >= end:
            leads = self.logits >= late
            activations = self.saved + (0 if leads else self.recomputed)
            loss = self.logits if leads else self.head_gradient
            peak = (early, self.optimizer, activations, loss, GIB // 2)
        else:
            peak = (self.all_gradients, self.optimizer, self.last_layer, 0, GIB // 2 + layers)
        parts = (self.stored + (at_start if start >= end else at_end), *peak)
        allocated = sum(parts)
        reserve = GIB + allocated * 5 // 100
        return {
            **dict(zip(PARTS, parts, strict=True)),
            "allocated_bytes": allocated,
            "reserve_bytes": reserve,
            "memory_per_gpu": allocated + reserve,
            "peaks_at_loss": start >= end,
        }


def filled(said: Given) -> dict[str, Any]:
    """The account of the configuration with these fields."""
    return HALO.filled(HALO.config(said).values)


def check(said: Given) -> dict[str, Any]:
    """The account, found equal to the plain one."""
    found = filled(said)
    expected = Run(said).account()
    assert {name: found.get(name) for name in expected} == expected
    return found


# Numbers that can be followed by hand.


def test_a_dense_model_on_one_gpu_by_hand() -> None:
    """Nothing is sharded or gathered: the stored weights are those that compute."""
    said = {**DENSE, "world_size": 1, "max_length": 10, "per_device_train_batch_size": 3}
    found = check(said)
    parameters = 1600 + 1600 + 3072 + 6144 + 144
    assert found["model_parameters"] == parameters == 12_560
    assert found["parameters_bytes"] == 2 * 12_560
    assert found["optimizer_state_bytes"] == 4 * 12_560
    # 30 tokens; a layer keeps 4*16 + 16+8+8 + 16+8 + 16 of attention and 3*32 + 16 of the FFN
    layer = 2 * (64 + 32 + 24 + 16 + 112)
    assert layer == 496
    saved, inner = 30 * 4 * 496, 30 * 2 * 2 * 32
    logits = 30 * 100 * (2 + 4 + 2)
    head = 2 * 100 * 16
    assert (saved, inner, logits, head) == (59_520, 3840, 24_000, 3200)
    # the logits are larger than the widest gradients and the head's
    assert found["activations_bytes"] == 59_520
    assert found["loss_bytes"] == 24_000
    assert found["gradients_bytes"] == 0
    assert found["buffers_bytes"] == 536_870_912
    allocated = 25_120 + 50_240 + 59_520 + 24_000 + 536_870_912
    assert found["allocated_bytes"] == allocated == 537_029_792
    assert found["reserve_bytes"] == 1_073_741_824 + 26_851_489
    assert found["memory_per_gpu"] == 1_637_623_105


def test_zero_2_and_zero_3_and_hsdp_by_hand() -> None:
    """LLaMA 3 8B, 8,030,261,248 parameters, on 16 GPUs in two nodes."""
    said = {**LLAMA_3_8B, "world_size": 16, "gpus_per_node": 8, "max_length": 4096}
    total = 8_030_261_248
    zero_2 = check(said)
    assert zero_2["model_parameters"] == total
    assert zero_2["parameters_bytes"] == 2 * total + 2 * total // 16
    assert zero_2["optimizer_state_bytes"] == 4 * total // 16
    zero_3 = check({**said, "fsdp_reshard_after_forward": True})
    assert zero_3["parameters_bytes"] == 2 * 2 * 218_112_000 + 2 * total // 16
    assert zero_3["optimizer_state_bytes"] == zero_2["optimizer_state_bytes"]
    hsdp = check({**said, "use_hsdp": True})
    assert hsdp["parameters_bytes"] == 2 * total + 2 * total // 8
    assert hsdp["optimizer_state_bytes"] == 4 * total // 8
    # 4096 tokens, logits in bf16 and fp32
    assert zero_2["loss_bytes"] == 4096 * 128_256 * 6
    assert zero_2["activations_bytes"] == 4096 * 32 * 2 * (
        4 * 4096 + (4096 + 1024 + 1024) + (4096 + 1024) + 4096 + 3 * 14_336 + 4096
    )


def test_short_sequences_peak_at_the_end_of_the_backward_pass_by_hand() -> None:
    """Where it keeps all weights gathered; else it ends with less than it started with."""
    said = {**LLAMA_3_8B, "world_size": 8, "max_length": 1}
    assert check(said)["peaks_at_loss"] is True
    found = check({**said, "fsdp_reshard_after_backward": False})
    total = 8_030_261_248
    assert found["peaks_at_loss"] is False
    assert found["gradients_bytes"] == 2 * total // 8
    assert found["buffers_bytes"] == GIB // 2 + 2 * 218_112_000 * 2
    assert found["loss_bytes"] == 0
    # the last layer's: norms and residual, queries and keys twice, values, attention, FFN
    layer = 4 * 4096 + 2 * (4096 + 1024) + 1024 + 4096 + 3 * 14_336 + 4096
    assert found["activations_bytes"] == 2 * layer + 2 * 2 * 14_336


EXPERTS = 3 * 8 * 3 * 16 * 12
"""All routed experts of `MIXED`: 13,824."""

BESIDE = 1600 + 1600 + 3072 + 1536 + 3 * 3 * 16 * 20 + 4 * 32 + 16 + 3 * 8 * 16
"""Its other parameters: 11,216."""


def test_the_backward_pass_gives_layers_back_but_not_the_root_by_hand() -> None:
    """EP over one node: experts are whole, and their gradients make the end the peak."""
    said = {**MIXED, "world_size": 8, "ep_size": 2, "max_length": 1}
    found, kept = check(said), check({**said, "fsdp_reshard_after_backward": False})
    assert found["peaks_at_loss"] is kept["peaks_at_loss"] is False
    always = 2 * 11_216 // 8 + 2 * 13_824 // 2
    assert found["parameters_bytes"] == always + 2 * (1600 + 1600 + 2 * 2336)
    assert kept["parameters_bytes"] == always + 2 * 11_216


@pytest.mark.parametrize(
    ("said", "parameters", "optimizer"),
    [
        # EP over one node: a rank holds an eighth of the experts whole
        ({"ep_size": 8}, 2 * 11_216 + 2 * 11_216 // 8 + 2 * 1728, 4 * 11_216 // 8 + 4 * 1728),
        # expert TP splits each expert in the same way
        ({"expert_tp_size": 8}, 2 * 11_216 + 2804 + 2 * 1728, 5608 + 4 * 1728),
        # FSDP has the experts of EP 1: gathered and sharded like the rest
        ({}, 2 * 25_040 + 2 * 25_040 // 8, 4 * 25_040 // 8),
        # unless they are held back: each rank has them all
        (
            {"fsdp_shard_ep1_experts": False},
            2 * 11_216 + 2804 + 2 * 13_824,
            5608 + 4 * 13_824,
        ),
        # ZeRO-3 gathers two layers; experts under EP are never gathered
        (
            {"ep_size": 8, "fsdp_reshard_after_forward": True},
            2 * 2 * 2336 + 2804 + 2 * 1728,
            5608 + 4 * 1728,
        ),
        (
            {"fsdp_reshard_after_forward": True},
            2 * 2 * (2336 + 4608) + 2 * 25_040 // 8,
            4 * 25_040 // 8,
        ),
    ],
)
def test_who_holds_experts_by_hand(said: Given, parameters: int, optimizer: int) -> None:
    assert (EXPERTS, BESIDE) == (13_824, 11_216)
    found = check({**MIXED, "world_size": 8, "max_length": 16, **said})
    assert found["parameters_bytes"] == parameters
    assert found["optimizer_state_bytes"] == optimizer


def test_ep_groups_in_several_domains_shard_over_the_group_alone() -> None:
    """Two groups of 8 in two domains: gradients are averaged across them, not sharded."""
    two = check({**MIXED, "world_size": 16, "gpus_per_node": 8, "ep_size": 8, "max_length": 16})
    assert two["optimizer_state_bytes"] == 4 * 11_216 // 8 + 4 * 1728
    one = check({**MIXED, "world_size": 8, "ep_size": 8, "max_length": 16})
    assert one["parameters_bytes"] == two["parameters_bytes"]
    wide = check({**MIXED, "world_size": 16, "gpus_per_node": 16, "ep_size": 8, "max_length": 16})
    assert wide["optimizer_state_bytes"] == 4 * 11_216 // 16 + 4 * 1728


def test_deferred_gradients_are_whole_by_hand() -> None:
    said = {**DENSE, "world_size": 8, "max_length": 1, "fsdp_reshard_after_backward": False}
    sharded, deferred = check(said), check({**said, "fsdp_defer_grad_sync": True})
    assert sharded["gradients_bytes"] == 2 * 12_560 // 8 == 3140
    assert deferred["gradients_bytes"] == 2 * 12_560
    # two layers' gradients wait for their reduction, or there is none
    assert sharded["buffers_bytes"] == GIB // 2 + 2 * 2336 * 2
    assert deferred["buffers_bytes"] == GIB // 2


@pytest.mark.parametrize("steps", [1, 2, 16])
def test_gradients_of_earlier_micro_batches_are_there_at_the_loss(steps: int) -> None:
    said = {**LLAMA_3_8B, "world_size": 8, "max_length": 8192}
    found = check({**said, "gradient_accumulation_steps": steps})
    assert found["peaks_at_loss"]
    assert found["gradients_bytes"] == (0 if steps == 1 else 2 * 8_030_261_248 // 8)


def test_context_parallelism_divides_tokens_and_undoes_the_fused_loss() -> None:
    said = {**DENSE, "world_size": 8, "max_length": 1024, "fused_linear_cross_entropy": True}
    whole, split = check(said), check({**said, "cp_size": 8})
    assert whole["tokens_per_gpu"] == 1024
    assert split["tokens_per_gpu"] == 128
    assert whole["loss_bytes"] == 6 * 1600 + 10 * 1024 * 16
    assert split["loss_bytes"] == 128 * 100 * 6
    assert split["parameters_bytes"] == whole["parameters_bytes"]


def test_a_pipeline_holds_its_largest_stage_by_hand() -> None:
    said = {
        **DENSE,
        "world_size": 8,
        "pp_size": 2,
        "assume_pp": True,
        "max_length": 16,
        "per_device_train_batch_size": 4,
        "pp_microbatches": 4,
    }
    found = check(said)
    stage = 1600 + 3072 // 2 + 6144 // 2 + 144 // 2
    assert found["local_parameters"] == stage == 6280
    assert found["optimizer_state_bytes"] == 4 * stage // 4
    # 64 tokens in 4 parts, of which 1F1B holds 2 and GPipe all
    assert found["activations_bytes"] == 2 * 496 * 16 * 2
    assert check({**said, "pp_schedule": "gpipe"})["activations_bytes"] == 2 * 496 * 16 * 4
    uneven = check({**said, "pp_split": [3, 1]})
    assert uneven["local_parameters"] == 1600 + 2304 + 4608 + 108
    assert uneven["activations_bytes"] == 3 * 496 * 16 * 2
    # of two stages of 4 layers, neither holds both embeddings
    assert check({**said, "output_parameters": 0})["local_parameters"] == stage


def test_lora_trains_adapters_alone_by_hand() -> None:
    said = {**DENSE, "world_size": 8, "max_length": 1, "use_peft": True, "lora_rank": 4}
    found = check(said)
    attention = (16 + 16) + (16 + 8) + (16 + 8) + (16 + 16)
    adapters = 4 * 4 * (attention + 3 * (16 + 32))
    assert adapters == 4096
    assert found["optimizer_state_bytes"] == 4 * adapters // 8
    assert found["parameters_bytes"] == 2 * 12_560 + 2 * 12_560 // 8
    assert found["buffers_bytes"] == GIB // 2


@pytest.mark.parametrize("policy", WIDTHS)
def test_every_policy_s_bytes_per_parameter(policy: str) -> None:
    weight, gradient, optimizer = WIDTHS[policy]
    assert set(WIDTHS) == set(POLICIES)
    chosen = POLICIES[policy]
    assert (chosen.weight, chosen.gradient, chosen.optimizer) == (weight, gradient, optimizer)
    assert chosen.words == f"{weight}+{gradient}+{optimizer}"
    page = (Path(__file__).parents[2] / "docs" / "memory.md").read_text(encoding="utf-8")
    assert f"| `{policy}` | {chosen.words} | {chosen.about} |\n" in page
    said = {**DENSE, "world_size": 1, "max_length": 1, "precision_policy": policy}
    found = check(said)
    assert found["parameters_bytes"] == weight * 12_560
    assert found["gradients_bytes"] == gradient * 12_560
    assert found["optimizer_state_bytes"] == optimizer * 12_560


@pytest.mark.parametrize("policy", WIDTHS)
def test_bytes_that_are_given_override_any_policy(policy: str) -> None:
    said = {**DENSE, "world_size": 1, "max_length": 1, "precision_policy": policy}
    for own in ({"weight_bytes": 1}, {"gradient_bytes": 8}, {"optimizer_bytes": 0}):
        found = check({**said, **own})
        weight, gradient, optimizer = WIDTHS[policy]
        weight = own.get("weight_bytes", weight)
        gradient = own.get("gradient_bytes", gradient)
        optimizer = own.get("optimizer_bytes", optimizer)
        assert found["parameters_bytes"] == weight * 12_560
        assert found["gradients_bytes"] == gradient * 12_560
        assert found["optimizer_state_bytes"] == optimizer * 12_560


def test_fp32_beside_bf16_experts_by_hand() -> None:
    """Two more bytes per weight and four more for the moments, of what is no expert."""
    said = {**MIXED, "world_size": 8, "ep_size": 8, "max_length": 16}
    plain, wide = check(said), check({**said, "fp32_non_ep_params": True})
    assert wide["parameters_bytes"] - plain["parameters_bytes"] == 2 * 11_216 // 8
    assert wide["optimizer_state_bytes"] - plain["optimizer_state_bytes"] == 4 * 11_216 // 8
    already = {**said, "weight_bytes": 4}
    assert check({**already, "fp32_non_ep_params": True}) == check(already)


def test_fp32_experts_by_hand() -> None:
    """Under EP a rank's 1,728 experts gain two bytes twice, and four for bf16 moments."""
    said = {**MIXED, "world_size": 8, "ep_size": 8, "max_length": 1, "optimizer_bytes": 4}
    plain, wide = check(said), check({**said, "ep_fp32_experts": True})
    assert plain["peaks_at_loss"] is wide["peaks_at_loss"] is False
    assert wide["parameters_bytes"] - plain["parameters_bytes"] == 2 * 1728
    assert wide["gradients_bytes"] - plain["gradients_bytes"] == 2 * 1728
    assert wide["optimizer_state_bytes"] - plain["optimizer_state_bytes"] == 4 * 1728
    fp32 = {**said, "optimizer_bytes": 12}
    same = check({**fp32, "ep_fp32_experts": True})
    assert same["optimizer_state_bytes"] == check(fp32)["optimizer_state_bytes"]
    alone = {**said, "ep_size": 1}
    assert check({**alone, "ep_fp32_experts": True}) == check(alone)


def test_gradients_that_are_reduced_in_fp32_by_hand() -> None:
    said = {**DENSE, "world_size": 8, "max_length": 1, "fsdp_reshard_after_backward": False}
    found = check({**said, "fp32_grad_reduce": True})
    assert found["gradients_bytes"] == 2 * 12_560 // 8
    assert found["buffers_bytes"] == GIB // 2 + 2 * 2336 * 4
    deferred = check({**said, "fp32_grad_reduce": True, "fsdp_defer_grad_sync": True})
    assert deferred["gradients_bytes"] == 4 * 12_560


@pytest.mark.parametrize("world", [1, 8])
def test_a_quantized_base_is_whole_at_4_bits_and_its_constants_by_hand(world: int) -> None:
    """FSDP wraps no quantized weights; 9/16 bytes each, but for both ends, norms and routers."""
    said = {"world_size": world, "max_length": 16, "use_peft": True, "lora_rank": 4}
    dense = check({**DENSE, **said, "quantized": True})
    loaded = 1600 + 1600 + 144
    assert dense["parameters_bytes"] == 2 * loaded + (3072 + 6144) * 9 // 16 + 2 * 2336
    assert dense["optimizer_state_bytes"] == 4 * 4096
    # sharded or whole, experts cost the same
    mixed = {**MIXED, **said, "quantized": True, "use_grouped_gemm": False}
    for shards in (False, True):
        found = check({**mixed, "fsdp_shard_ep1_experts": shards})
        loaded = 1600 + 1600 + 4 * 32 + 16 + 3 * 8 * 16
        codes = (BESIDE - loaded + EXPERTS) * 9 // 16
        copy = 2 * (2336 + (4608 if shards else 0))
        assert found["parameters_bytes"] == 2 * loaded + codes + copy
        weights = EXPERTS * 9 // 16 + (2 * 4608 if shards else 0)
        assert found["expert_weights_bytes"] == weights


def test_a_stage_may_have_more_experts_than_the_average_by_hand() -> None:
    """Of two stages of two layers, one is all MoE; three of four layers are."""
    said = {**MIXED, "world_size": 16, "pp_size": 2, "assume_pp": True, "max_length": 16}
    found = check({**said, "ep_size": 8})
    assert found["expert_parameters_per_gpu"] == 2 * 8 * 3 * 16 * 12 // 8
    stage = 1600 + 3072 // 2 + 2 * 3 * 16 * 20 + (4 * 32 + 16 + 3 * 8 * 16) // 2
    assert found["dense_parameters_per_gpu"] == stage


def test_layers_of_different_heads_count_as_those_with_most() -> None:
    said = {**DENSE, "world_size": 1, "max_length": 32, "attn_implementation": "eager"}
    assert check({**said, "num_attention_heads": [2, 4]}) == check(said)


@pytest.mark.parametrize("tp", [1, 2, 8])
def test_tp_cuts_one_side_of_an_adapter_by_hand(tp: int) -> None:
    """LoRA with TP is refused; the account counts as the generic profile's does."""
    said = {**DENSE, "world_size": 8, "max_length": 1, "use_peft": True, "lora_rank": 4}
    found = check({**said, "tp_size": tp})
    whole, cut = 4 * 16 + 3 * 16, (16 + 8 + 8 + 16) + 3 * 32
    adapters = 4 * 4 * (whole + cut // tp)
    assert found["optimizer_state_bytes"] == up(4 * adapters, 8 // tp)
    generic = GENERIC.config({**FACTS_OF_DENSE, "world_size": 8, "tp_size": tp, "lora_rank": 4})
    same = GENERIC.filled(generic.replaced({"seq_length": 1}).values)
    assert same["optimizer_state_bytes"] == 12 * up(adapters, 8 // tp)


def test_eager_attention_keeps_its_scores_by_hand() -> None:
    """5 bytes for each head, query and key: 4 heads, 32 tokens, 4 layers."""
    said = {**DENSE, "world_size": 1, "max_length": 32}
    flash = check({**said, "attn_implementation": "flash_attention_2"})
    assert flash == check(said)
    eager = check({**said, "attn_implementation": "eager"})
    scores = 4 * 32 * 32 * 5 * 4
    assert eager["activations_bytes"] - flash["activations_bytes"] == scores


@pytest.mark.parametrize("packs", ["packing", "padding_free"])
def test_several_rows_are_shifted_in_a_copy_unless_they_are_one(packs: str) -> None:
    said = {**DENSE, "world_size": 1, "max_length": 64, "per_device_train_batch_size": 2}
    assert check(said)["loss_bytes"] == 128 * 100 * 8
    assert check({**said, packs: True})["loss_bytes"] == 128 * 100 * 6
    assert check({**said, "per_device_train_batch_size": 1})["loss_bytes"] == 64 * 100 * 6


def test_a_pair_of_rows_for_each_example_and_no_logits_without_a_head() -> None:
    said = {**DENSE, "world_size": 1, "max_length": 64}
    assert check({**said, "trainer": "dpo"})["tokens_per_gpu"] == 128
    assert check({**said, "trainer": "sft"})["tokens_per_gpu"] == 64
    assert check({**said, "ep_rows_per_device": 5})["tokens_per_gpu"] == 320
    assert check({**said, "ep_rows_per_device": 0})["tokens_per_gpu"] == 64
    assert check({**said, "trainer": "classification"})["loss_bytes"] == 0


def test_a_live_reference_is_another_set_of_weights_by_hand() -> None:
    said = {**DENSE, "world_size": 8, "max_length": 16}
    live = check({**said, "reference_model": "live"})
    assert live["parameters_bytes"] - check(said)["parameters_bytes"] == 2 * 12_560 // 8
    assert check({**said, "reference_model": "precomputed"}) == check(said)


def test_offloaded_activations_leave_one_layer_by_hand() -> None:
    """The end of the backward pass is the peak: gradients are whole on one GPU."""
    said = {**DENSE, "world_size": 1, "max_length": 64, "gradient_checkpointing": True}
    found = check({**said, "activation_offloading": True})
    assert found["activations_bytes"] == 64 * (496 + 2 * 2 * 32)
    assert found["gradients_bytes"] == 2 * 12_560
    kept = check(said)
    assert kept["activations_bytes"] == 64 * (496 + 2 * 2 * 32)
    long = {**said, "max_length": 6400}
    kept, gone = check(long), check({**long, "activation_offloading": True})
    assert kept["activations_bytes"] == 6400 * (4 * 2 * 16 + 496 + 2 * 2 * 32)
    assert gone["activations_bytes"] == 6400 * (496 + 2 * 2 * 32)


@pytest.mark.parametrize("profile", [HALO, GENERIC], ids=lambda profile: profile.name)
def test_what_a_layer_keeps_is_there_until_the_backward_pass_has_gone_through_it(
    profile: Profile,
) -> None:
    """Kept or computed again: at the end, both have the activations of one layer."""
    said = {**FACTS_OF_DENSE, "world_size": 1, "max_length": 1}
    knob, off, on = {
        "halo": ("gradient_checkpointing", False, True),
        "generic": ("recompute", "none", "full"),
    }[profile.name]
    more = {"optimizer_bytes": 0} if profile is GENERIC else {}
    kept, again = (
        profile.filled(profile.config({**said, **more, knob: value}).values) for value in (off, on)
    )
    assert kept["peak"] == again["peak"] == "end of the backward pass"
    assert kept["activations_bytes"] == again["activations_bytes"]


# How a pipeline is cut.


def test_a_split_that_is_not_of_the_model_s_layers_is_refused_with_both_numbers() -> None:
    said = {**DENSE, "world_size": 2, "pp_size": 2, "assume_pp": True, "max_length": 16}
    with pytest.raises(FieldError, match="pp_split adds up to 5, the model has 4 layers"):
        HALO.config({**said, "pp_split": [3, 2]})
    assert HALO.config({**said, "pp_split": [3, 1]})["pp_split"] == (3, 1)
    unknown = {"world_size": 2, "pp_size": 2, "assume_pp": True, "pp_split": [3, 2]}
    assert HALO.config(unknown)["pp_split"] == (3, 2)


# Batches and what is sent.

PIPED: Given = {
    **DENSE,
    "world_size": 16,
    "pp_size": 2,
    "assume_pp": True,
    "max_length": 16,
    "per_device_train_batch_size": 8,
}


@pytest.mark.parametrize("parts", ["pp_microbatches", "gradient_accumulation_steps"])
def test_a_pipeline_cuts_the_batch_of_a_device_and_multiplies_nothing(parts: str) -> None:
    """Eight ranks of each stage take eight examples, in one part or in four."""
    whole, cut = filled(PIPED), filled({**PIPED, parts: 4})
    assert whole["global_batch"] == cut["global_batch"] == 64
    assert whole["accumulation_steps"] == cut["accumulation_steps"] == 1
    assert whole["tokens_per_step"] == cut["tokens_per_step"] == 64 * 16
    assert (whole["microbatches"], cut["microbatches"]) == (2, 4)
    assert (whole["bubble"], cut["bubble"]) == (333, 200)
    for axis in ("comm_volume_pp", "comm_volume_dp", "comm_volume"):
        assert whole[axis] == cut[axis]
    assert whole["comm_volume_pp"] == 2 * (8 * 16 * 16 * 2)


def test_the_global_batch_of_a_pipeline_is_that_of_its_devices() -> None:
    def broken(**said: object) -> list[str]:
        values = HALO.config({**PIPED, **said}).values
        return [HALO.limits[index].id for index in HALO.violated(values)]

    assert broken(global_batch=64) == []
    assert broken(global_batch=64, gradient_accumulation_steps=4) == []
    assert broken(global_batch=256) == ["global-batch-not-reached"]
    assert broken(global_batch=256, gradient_accumulation_steps=4) == ["global-batch-not-reached"]
    alone = {"pp_size": 1, "assume_pp": False, "global_batch": 512}
    assert broken(**alone) == []
    assert broken(**alone, gradient_accumulation_steps=4) == []


def ring(sent: int, ranks: int) -> int:
    """What a rank sends of it in an all-gather or a reduce-scatter."""
    return sent * (ranks - 1) // ranks


def sent_for_data(said: Given) -> int:
    found = filled(said)["comm_volume_dp"]
    assert isinstance(found, int)
    return found


def test_weights_are_gathered_and_gradients_of_what_is_trained_reduced_by_hand() -> None:
    said = {**DENSE, "world_size": 8, "max_length": 16}
    assert sent_for_data(said) == 2 * ring(2 * 12_560, 8)
    assert sent_for_data({**said, "fsdp_reshard_after_forward": True}) == (
        ring(4 * 12_560, 8) + ring(2 * 12_560, 8)
    )
    four = {**said, "gradient_accumulation_steps": 4}
    assert sent_for_data(four) == ring(8 * 12_560, 8) + 4 * ring(2 * 12_560, 8)
    kept = {**four, "fsdp_reshard_after_backward": False, "fsdp_defer_grad_sync": True}
    assert sent_for_data(kept) == 2 * ring(2 * 12_560, 8)
    wide = {**said, "fp32_grad_reduce": True}
    assert sent_for_data(wide) == ring(2 * 12_560, 8) + ring(4 * 12_560, 8)
    lora = {**said, "use_peft": True, "lora_rank": 4}
    assert sent_for_data(lora) == ring(2 * 12_560, 8) + ring(2 * 4096, 8)
    assert sent_for_data({**lora, "quantized": True}) == 2 * ring(2 * 4096, 8)


def test_hsdp_reduces_in_a_domain_and_then_across_domains_by_hand() -> None:
    said = {**DENSE, "world_size": 32, "gpus_per_node": 8, "max_length": 16, "use_hsdp": True}
    once = ring(2 * 12_560, 8) + 2 * ring(2 * 12_560 // 8, 4)
    assert sent_for_data(said) == ring(2 * 12_560, 8) + once
    two = {**said, "gradient_accumulation_steps": 2}
    assert sent_for_data(two) == ring(4 * 12_560, 8) + 2 * once
    assert sent_for_data({**two, "fsdp_defer_grad_sync": True}) == ring(4 * 12_560, 8) + once


def test_gradients_of_replicated_experts_are_all_reduced_by_hand() -> None:
    said = {**MIXED, "world_size": 8, "max_length": 16}
    dense = 2 * ring(2 * 11_216, 8)
    assert sent_for_data({**said, "ep_size": 8}) == dense
    assert sent_for_data({**said, "ep_size": 2}) == dense + 2 * ring(2 * 6912, 4)
    held = {**said, "fsdp_shard_ep1_experts": False}
    assert sent_for_data(held) == dense + 2 * ring(2 * 13_824, 8)
    lora = {**held, "use_peft": True, "lora_rank": 4}
    adapters = filled(lora)["optimizer_state_bytes"] // 4 * 8
    assert sent_for_data(lora) == ring(2 * 11_216, 8) + ring(2 * adapters, 8)
    # two groups in two domains: shards of a group, averaged once per step
    groups = {**said, "world_size": 16, "gpus_per_node": 8, "ep_size": 8}
    across = 2 * ring(2 * 11_216 // 8, 2) + 2 * ring(2 * 1728, 2)
    assert sent_for_data(groups) == dense + across
    twice = {**groups, "gradient_accumulation_steps": 2}
    assert sent_for_data(twice) == ring(4 * 11_216, 8) + 2 * ring(2 * 11_216, 8) + across


# What the account takes for granted.


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"trainer": "dpo"}, "no reference model in memory"),
        ({"trainer": "kto"}, "no reference model in memory"),
        ({"trainer": "online_grpo"}, "no generation engine in memory"),
        ({"trainer": "env_grpo"}, "no generation engine in memory"),
        ({"trainer": "sdpg"}, "no generation engine in memory"),
        ({"trainer": "distillation"}, "no teacher model in memory"),
        ({"expert_lora": True}, "no adapters inside of experts"),
        ({"lowp_precision": "fp8"}, "no copies of weights in low precision"),
        ({"image_data": True}, "no activations of images"),
        (
            {"quantized": True},
            "a quantized base whole on each GPU: 4 bits each, an fp32 constant per 64",
        ),
    ],
)
def test_what_is_left_out_is_said(said: Given, words: str) -> None:
    plain = {**MIXED, "world_size": 8, "max_length": 16, "per_device_train_batch_size": 1}
    plain["gradient_accumulation_steps"] = 1
    without, used = usage(HALO.config(plain)), usage(HALO.config({**plain, **said}))
    assert without is not None
    assert used is not None
    assert without.assumed == ()
    assert used.assumed == (words,)


def test_a_reference_that_is_there_or_implied_is_no_assumption() -> None:
    said = {**DENSE, "world_size": 8, "max_length": 16, "trainer": "dpo"}
    for more in (
        {"reference_model": "live"},
        {"reference_model": "precomputed"},
        {"use_peft": True, "lora_rank": 4},
        {"trainer": "smpo"},
    ):
        used = usage(HALO.config({**said, **more}))
        assert used is not None
        assert not any("reference" in words for words in used.assumed)


# Against the plain computation, over everything that halo accepts.


@st.composite
def configurations(draw: st.DrawFn, shapes: Sequence[str] = tuple(SHAPES)) -> Given:
    """A run of a small model: sizes that often tile, switches in any position."""
    name = draw(st.sampled_from(sorted(shapes)))
    world = draw(st.sampled_from([1, 2, 4, 8, 8, 16, 16, 24, 32, 64]))
    said: Given = {**SHAPES[name], "world_size": world}
    whole = [size for size in range(1, 65) if world % size == 0]
    nodes = [size for size in whole if size in {1, 2, 4, 8, 16}]
    said["gpus_per_node"] = draw(st.sampled_from(nodes))
    kind = draw(st.sampled_from(["", "ep", "etp", "tp", "cp", "pp", "ep tp", "ep cp", "ep etp"]))
    for axis in kind.split():
        field = {"etp": "expert_tp_size"}.get(axis, f"{axis}_size")
        said[field] = draw(st.sampled_from(whole))
    if said.get("pp_size", 1) > 1:
        said["assume_pp"] = True
        said["pp_schedule"] = draw(st.sampled_from(["1f1b", "gpipe"]))
        said["pp_microbatches"] = draw(st.sampled_from([0, 0, 2, 4, 8]))
        if said["pp_size"] == 2 and draw(st.booleans()):
            said["pp_split"] = draw(st.sampled_from([[2, 2], [1, 3], [3, 1]]))
    said["max_length"] = draw(st.sampled_from([1, 3, 16, 100, 1000, 4096]))
    optional: dict[str, st.SearchStrategy[Any]] = {
        "per_device_train_batch_size": st.integers(1, 9),
        "gradient_accumulation_steps": st.sampled_from([1, 2, 4]),
        "ep_rows_per_device": st.integers(0, 4),
        "max_position_embeddings": st.sampled_from([64, 8192]),
        "precision_policy": st.sampled_from(sorted(WIDTHS)),
        "weight_bytes": st.integers(1, 8),
        "gradient_bytes": st.integers(1, 8),
        "optimizer_bytes": st.integers(0, 16),
        "lora_rank": st.integers(1, 64),
        "dtype": st.sampled_from(["bf16", "fp16", "fp32"]),
        "attn_implementation": st.sampled_from(["eager", "sdpa", "flash_attention_2"]),
        "reference_model": st.sampled_from(["none", "live", "precomputed"]),
        "trainer": st.sampled_from(["sft", "dpo", "smpo", "reward", "classification"]),
        "ep_scope": st.sampled_from(["node", "global"]),
        "nvlink_domain_size": st.sampled_from(nodes),
    }
    switches = (
        "use_hsdp",
        "fsdp_reshard_after_forward",
        "fsdp_shard_ep1_experts",
        "fsdp_defer_grad_sync",
        "gradient_checkpointing",
        "activation_offloading",
        "fused_linear_cross_entropy",
        "fp32_non_ep_params",
        "ep_fp32_experts",
        "fp32_grad_reduce",
        "quantized",
        "packing",
        "padding_free",
    )
    for field in draw(st.lists(st.sampled_from([*optional, *switches]), max_size=6, unique=True)):
        said[field] = draw(optional.get(field, st.booleans()))
    if draw(st.integers(0, 4)) == 0:
        said |= {"use_peft": True, "lora_rank": said.get("lora_rank", 8)}
    return said


@settings(max_examples=300, deadline=None)
@given(configurations())
def test_the_account_is_the_plain_one(said: Given) -> None:
    config = HALO.config(said)
    assume(not HALO.violated(config.values))
    check(said)


def test_the_generator_reaches_every_axis_and_both_peaks() -> None:
    seen: set[str] = set()

    @settings(max_examples=800, deadline=None, database=None, derandomize=True)
    @given(configurations())
    def look(said: Given) -> None:
        config = HALO.config(said)
        if HALO.violated(config.values):
            return
        known = HALO.filled(config.values)
        seen.add(f"peaks_at_loss={known['peaks_at_loss']}")
        derived = HALO.derive(config.values)
        seen.update(
            name
            for name in ("is_ep_mode", "is_tp_mode", "is_cp_mode", "is_pp_mode", "is_hsdp")
            if derived[name]
        )
        seen.update(name for name in ("is_deferred_dp", "is_expert_tp_mode") if derived[name])
        seen.add("peft" if said.get("use_peft") else "full")
        seen.update(switch for switch in ("ep_fp32_experts", "quantized") if said.get(switch))

    look()
    assert seen == {
        "peaks_at_loss=True",
        "peaks_at_loss=False",
        "is_ep_mode",
        "is_tp_mode",
        "is_cp_mode",
        "is_pp_mode",
        "is_hsdp",
        "is_deferred_dp",
        "is_expert_tp_mode",
        "peft",
        "full",
        "ep_fp32_experts",
        "quantized",
    }


# Laws.


def total(said: Given) -> int:
    """The memory of the fullest GPU."""
    size = filled(said)["memory_per_gpu"]
    assert isinstance(size, int)
    return size


@settings(max_examples=100, deadline=None)
@given(configurations())
def test_parts_add_up(said: Given) -> None:
    config = HALO.config(said)
    assume(not HALO.violated(config.values))
    known = HALO.filled(config.values)
    assert known["allocated_bytes"] == sum(known[name] for name in PARTS)
    assert known["memory_per_gpu"] == known["allocated_bytes"] + known["reserve_bytes"]
    account = HALO.account
    assert account is not None
    assert sum(known[part.bytes.name] for part in account.parts) == known["memory_per_gpu"]
    assert all(known[part.bytes.name] >= 0 for part in account.parts)


@settings(max_examples=100, deadline=None)
@given(configurations(), st.integers(1, 64), st.integers(0, 64))
def test_a_larger_micro_batch_never_needs_less(said: Given, rows: int, more: int) -> None:
    assume(not HALO.violated(HALO.config(said).values))
    one = {**said, "per_device_train_batch_size": rows}
    assert total(one) <= total({**one, "per_device_train_batch_size": rows + more})


@settings(max_examples=100, deadline=None)
@given(configurations(), st.integers(1, 10_000), st.integers(0, 10_000))
def test_a_longer_sequence_never_needs_less(said: Given, length: int, more: int) -> None:
    assume(not HALO.violated(HALO.config(said).values))
    one = {**said, "max_length": length}
    assert total(one) <= total({**one, "max_length": length + more})


@settings(max_examples=100, deadline=None)
@given(configurations())
def test_checkpointing_never_needs_more_where_a_stage_has_several_layers(said: Given) -> None:
    """Of one layer, its input is kept beside all that is computed again."""
    assume(not HALO.violated(HALO.config(said).values))
    assume(Run(said).layers > 2)
    said = {**said, "activation_offloading": False, "max_length": 4096}
    both = [filled({**said, "gradient_checkpointing": on}) for on in (True, False)]
    less, more = (known["memory_per_gpu"] for known in both)
    assert less <= more


@settings(max_examples=100, deadline=None)
@given(configurations(), st.integers(1, 15), st.integers(0, 15))
def test_a_wider_state_never_needs_less(said: Given, width: int, more: int) -> None:
    assume(not HALO.violated(HALO.config(said).values))
    for field in ("gradient_bytes", "optimizer_bytes"):
        one = {**said, field: width}
        assert total(one) <= total({**one, field: width + more})


@settings(max_examples=100, deadline=None)
@given(configurations())
def test_offloading_and_packing_never_need_more(said: Given) -> None:
    assume(not HALO.violated(HALO.config(said).values))
    for saving in ("activation_offloading", "packing", "padding_free"):
        assert total({**said, saving: True}) <= total({**said, saving: False})
    for costly in ("fp32_non_ep_params", "ep_fp32_experts", "fp32_grad_reduce"):
        assert total({**said, costly: False}) <= total({**said, costly: True})


# What is not known.


def test_without_a_model_no_memory_is_known() -> None:
    known = filled({"world_size": 8, "max_length": 4096})
    assert "memory_per_gpu" not in known
    assert "allocated_bytes" not in known
    described = HALO.described(HALO.config({"world_size": 8, "max_length": 4096}).values)
    assert "memory_per_gpu" not in described


@pytest.mark.parametrize("lacks", ["max_length", "lora_rank"])
def test_what_depends_on_a_missing_number_is_unknown_and_the_rest_is_not(lacks: str) -> None:
    said = {**DENSE, "world_size": 8, "max_length": 16, "use_peft": True, "lora_rank": 8}
    del said[lacks]
    known = filled(said)
    assert known["local_parameters"] == 12_560
    assert "memory_per_gpu" not in known
    missing = {"max_length": "activations_bytes", "lora_rank": "optimizer_state_bytes"}[lacks]
    assert missing not in known
    assert "memory_per_gpu" not in HALO.described(HALO.config(said).values)


def test_the_context_window_stands_in_for_the_length() -> None:
    said = {**DENSE, "world_size": 1, "max_position_embeddings": 24}
    assert check(said)["tokens_per_gpu"] == 24
    assert check({**said, "max_length": 7})["tokens_per_gpu"] == 7


def test_headroom_is_what_is_left_and_unknown_without_a_gpu() -> None:
    said = {**DENSE, "world_size": 1, "max_length": 10, "per_device_train_batch_size": 3}
    assert "headroom" not in filled(said)
    assert filled({**said, "gpu_memory": 2})["headroom"] == 2 * GIB - 1_637_623_105
    assert filled({**said, "gpu_memory": "1MiB"})["headroom"] == 2**20 - 1_637_623_105


def test_more_experts_per_token_never_need_less() -> None:
    """Beyond 31 the ranks that they reach are counted as of 31: all of them, nearly."""
    said = {**MIXED, "num_experts": 128, "world_size": 8, "ep_size": 8, "max_length": 4096}
    sizes = [total({**said, "num_experts_per_tok": k}) for k in (1, 2, 8, 30, 31, 32, 33, 64, 65)]
    assert all(less <= more for less, more in itertools.pairwise(sizes))
    assert sizes[0] < sizes[1] < sizes[2]


# The bound.

BOUND = next(index for index, rule in enumerate(HALO.limits) if rule.id == "memory-exceeds-gpu")
FULL: Given = {**DENSE, "world_size": 1, "max_length": 10, "per_device_train_batch_size": 3}


@pytest.mark.parametrize(
    ("limit", "fits"), [(1_637_623_104, False), (1_637_623_105, True), (1_637_623_106, True)]
)
def test_the_bound_is_exact_to_the_byte(limit: int, fits: bool) -> None:  # noqa: FBT001
    values = HALO.config({**FULL, "gpu_memory": limit}).values
    assert HALO.violated(values) == ([] if fits else [BOUND])
    assert HALO.accepts(values) is fits


def test_bounds_stand_after_the_framework_s_rules() -> None:
    assert HALO.limits[: len(HALO.rules)] == HALO.rules
    assert len(HALO.rules) <= BOUND < len(HALO.limits)


@settings(max_examples=200, deadline=None)
@given(configurations(), st.sampled_from([None, 1, 2, 3, 1_500_000_000, 1_700_000_000]))
def test_the_readings_agree(said: Given, limit: int | None) -> None:
    said = {**said, "gpu_memory": limit}
    values = HALO.config(said).values
    violated, known = HALO.violated(values), HALO.filled(values)
    free = HALO.config({**said, "gpu_memory": None}).values
    assert HALO.accepts(values) is (not violated)
    assert violated == sorted(violated)
    assert HALO.judged(values) == (violated, HALO.derive(values))
    # a bound adds itself and changes nothing else: the framework's verdict is as before
    assert [index for index in violated if index != BOUND] == HALO.violated(free)
    size = known.get("memory_per_gpu")
    is_over = size is not None and limit is not None and size > HALO.config(said)["gpu_memory"]
    assert (BOUND in violated) == is_over
    described = HALO.described(values)
    assert described.get("memory_per_gpu") == size
    assert {k: v for k, v in described.items() if k != "memory_per_gpu"} == HALO.derive(values)


@settings(max_examples=100, deadline=None)
@given(configurations())
def test_memory_is_known_where_halo_accepts(said: Given) -> None:
    values = HALO.config(said).values
    assume(not HALO.violated(values))
    assert "memory_per_gpu" in HALO.filled(values)


def test_an_illegal_topology_has_no_memory_and_no_bound_on_it() -> None:
    said = {**DENSE, "world_size": 12, "gpus_per_node": 8, "max_length": 16, "tp_size": 5}
    values = HALO.config({**said, "gpu_memory": 1}).values
    assert "memory_per_gpu" not in HALO.filled(values)
    assert BOUND not in HALO.violated(values)
    assert HALO.violated(values)


# What makes no question.


@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        (("num_hidden_layers",), "the model's size is missing"),
        (("max_length",), "the length of its sequences is missing"),
        (("lora_rank",), "the rank of its adapters is missing"),
    ],
)
def test_a_bound_needs_what_the_account_needs(lacks: Sequence[str], says: str) -> None:
    said = {**DENSE, "world_size": 8, "max_length": 16, "use_peft": True, "lora_rank": 8}
    whole = {**said, "gpu_memory": 80}
    assert HALO.is_question(HALO.config(whole).values)
    for name in lacks:
        del whole[name], said[name]
    with pytest.raises(FieldError) as caught:
        HALO.config(whole)
    assert says in str(caught.value)
    assert "; give --" in str(caught.value)
    assert HALO.is_question(HALO.config(said).values)


def test_without_lora_no_rank_is_asked_for_and_a_window_is_a_length() -> None:
    said = {**DENSE, "world_size": 8, "gpu_memory": 80, "max_position_embeddings": 64}
    assert HALO.is_question(HALO.config(said).values)


def test_everything_missing_is_told_one_by_one_the_model_first() -> None:
    with pytest.raises(FieldError, match=r"the model's size is missing.*give --model"):
        HALO.config({"world_size": 8, "gpu_memory": 80, "use_peft": True})


def test_what_reads_the_account_is_evaluated_and_what_does_not_is_encoded() -> None:
    quantities = HALO.quantity_of
    for name in ("memory_per_gpu", "memory", "headroom", "activations_bytes", "local_parameters"):
        assert HALO.is_evaluated(quantities[name])
    for name in ("dp", "fsdp_width", "tokens_per_rank", "experts_per_rank"):
        assert not HALO.is_evaluated(quantities[name])
    assert HALO.is_evaluated(HALO.limits[BOUND].requires)
    assert not any(HALO.is_evaluated(node) for rule in HALO.rules for node in rule.nodes)


def test_policies_are_ordered_by_what_they_cost() -> None:
    """More bytes per parameter never need less memory, part by part."""
    order = ("8bit-adam", "bf16", "mixed-adam", "megatron")
    said = {**LLAMA_3_8B, "world_size": 8, "max_length": 64, "gradient_accumulation_steps": 2}
    sizes = [total({**said, "precision_policy": policy}) for policy in order]
    assert all(less < more for less, more in itertools.pairwise(sizes))
