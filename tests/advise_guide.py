"""The three decision tables of the Megatron-Core parallelism guide, each row with an example.

Source: the guide's sections by model size, by hardware topology and by sequence length. A row's
``shape`` is what it recommends, ``ranges`` the sizes that it allows; what it does not mention is
off. `docs/advise.md` shows each beside the advice under the megatron profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import parsolve
from parsolve.constraints.fields import GIB
from parsolve.constraints.megatron import MEGATRON
from parsolve.constraints.profile import Config
from parsolve.solver.answer import Advice
from parsolve.solver.facts import with_facts

AXES = {"tp_size": "TP", "pp_size": "PP", "cp_size": "CP", "ep_size": "EP"}
GPU = "h100"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table: what it says, and an example of it.

    ``batch`` is the global batch. ``why`` says why the advice is another, where it is.
    """

    table: Literal["size", "topology", "length"]
    says: str
    recommends: str
    model: str
    world: int
    length: int
    batch: int
    shape: Mapping[str, Any] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    why: str = ""

    @property
    def question(self) -> dict[str, Any]:
        """What is asked, whoever answers."""
        return {
            "world_size": self.world,
            "seq_length": self.length,
            "requested_global_batch": self.batch,
        }

    def advice(self) -> Advice:
        """What parsolve advises."""
        answer = parsolve.advise(profile="megatron", model=self.model, gpu=GPU, **self.question)
        assert isinstance(answer, Advice)
        return answer

    def guided(self) -> Config:
        """What the guide recommends."""
        extra = {"sequence_parallel": True} if self.shape.get("tp_size", 1) > 1 else {}
        given = {**self.question, **extra, **self.shape}
        facts = with_facts(MEGATRON, given, self.model, GPU, [self.world], needs_size=True)
        return MEGATRON.config(facts)

    def agrees(self, advice: Advice) -> bool:
        """Whether the advice uses the axes that the row recommends, in the sizes that it allows."""
        if advice.advised is None:
            return False
        config = advice.advised.config
        return all(
            low <= config.get(axis, 1) <= high
            for axis in AXES
            for low, high in [self.ranges.get(axis, (1, 1))]
        )


SHARDING = (
    "as it stands it does not fit: the guide leaves the optimizer whole on every data-parallel "
    "rank. Sharding and recomputation fit without splitting a layer. What they send is the price: "
    "where the network bounds a step, take the answer's `lighter`"
)

ROWS = (
    Row(
        table="size",
        says="<1B, 1-8 GPUs",
        recommends="DP only",
        model="qwen2.5-0.5b",
        world=8,
        length=4096,
        batch=128,
    ),
    Row(
        table="size",
        says="1-10B, 8-16 GPUs",
        recommends="TP=2-4 + DP",
        model="llama-3.1-8b",
        world=16,
        length=4096,
        batch=128,
        shape={"tp_size": 2},
        ranges={"tp_size": (2, 4)},
        why="as it stands it does not fit; states sharded over 16 ranks do, and send more, since "
        "sharded gradients are reduced for every micro-batch: where the network bounds it, take "
        "the answer's `lighter`",
    ),
    Row(
        table="size",
        says="10-70B, 16-64 GPUs",
        recommends="TP=4 + PP=2-4 + DP",
        model="qwen2.5-32b",
        world=64,
        length=4096,
        batch=256,
        shape={"tp_size": 4, "pp_size": 2},
        ranges={"tp_size": (4, 4), "pp_size": (2, 4)},
        why=SHARDING,
    ),
    Row(
        table="size",
        says="70-175B, 64-256 GPUs",
        recommends="TP=8 + PP=4-8 + DP",
        model="mistral-large-123b",
        world=256,
        length=4096,
        batch=1024,
        shape={"tp_size": 8, "pp_size": 4},
        ranges={"tp_size": (8, 8), "pp_size": (4, 8)},
        why=SHARDING,
    ),
    Row(
        table="size",
        says="175-500B, 256-1024 GPUs",
        recommends="TP=8 + PP=8-16 + CP=2 + DP",
        model="llama-3.1-405b",
        world=1024,
        length=4096,
        batch=1024,
        shape={
            "tp_size": 8,
            "pp_size": 8,
            "cp_size": 2,
            "account_for_embedding": True,
            "account_for_loss": True,
        },
        ranges={"tp_size": (8, 8), "pp_size": (8, 16), "cp_size": (2, 2)},
        why=f"{SHARDING}. CP of sequences that are short is an anti-pattern by the ladder",
    ),
    Row(
        table="size",
        says="500B+, 1024+ GPUs",
        recommends="4D or 5D (with EP)",
        model="kimi-k2",
        world=1024,
        length=4096,
        batch=4096,
        shape={
            "tp_size": 2,
            "pp_size": 16,
            "ep_size": 64,
            "expert_tp_size": 1,
            "first_stage_layers": 3,
            "last_stage_layers": 2,
        },
        ranges={
            "tp_size": (2, 8),
            "pp_size": (2, 16),
            "ep_size": (2, 384),
            "cp_size": (1, 2),
        },
        why="EP, as the guide says; TP and PP are not needed once states are sharded and "
        "activations recomputed, and what sends least has neither",
    ),
    Row(
        table="topology",
        says="one node of 8 GPUs with NVLink, up to 70B",
        recommends="TP=8",
        model="llama-3.1-70b",
        world=8,
        length=4096,
        batch=64,
        shape={"tp_size": 8},
        ranges={"tp_size": (8, 8)},
        why="Megatron's weights, gradients and Adam states are 18 bytes per parameter, 148 GiB per "
        "GPU however they are split; TP=8 holds the weights, as for inference",
    ),
    Row(
        table="topology",
        says="the same, with a model that fits",
        recommends="TP=8",
        model="qwen2.5-32b",
        world=8,
        length=4096,
        batch=64,
        shape={"tp_size": 8},
        ranges={"tp_size": (8, 8)},
        why="TP, as the guide says; half as much is enough once activations are recomputed and "
        "states sharded over the other half, and sends about as much",
    ),
    Row(
        table="topology",
        says="several nodes with InfiniBand",
        recommends="TP=8 in the node, PP=N across, DP",
        model="llama-3.1-70b",
        world=64,
        length=4096,
        batch=512,
        shape={"tp_size": 8, "pp_size": 2},
        ranges={"tp_size": (8, 8), "pp_size": (2, 8)},
        why=SHARDING,
    ),
    Row(
        table="topology",
        says="limited network (Ethernet)",
        recommends="TP=1-4 in the node, many PP stages",
        model="llama-3.1-8b",
        world=16,
        length=4096,
        batch=128,
        shape={"tp_size": 2, "pp_size": 8},
        ranges={"tp_size": (1, 4), "pp_size": (2, 16)},
        why="the ladder counts bytes, not the time that a link takes for them; whoever has a slow "
        "network takes the answer's `lighter`, which is a pipeline, as the guide has it",
    ),
    Row(
        table="length",
        says="<2K",
        recommends="standard (TP + PP + DP)",
        model="llama-3.1-8b",
        world=16,
        length=2048,
        batch=128,
        ranges={"tp_size": (1, 8), "pp_size": (1, 16)},
    ),
    Row(
        table="length",
        says="2K-8K",
        recommends="+ SP",
        model="qwen2.5-32b",
        world=8,
        length=4096,
        batch=64,
        shape={"tp_size": 4},
        ranges={"tp_size": (2, 8)},
    ),
    Row(
        table="length",
        says="8K-32K",
        recommends="+ CP=2",
        model="llama-3.1-8b",
        world=16,
        length=32768,
        batch=128,
        shape={"cp_size": 2},
        ranges={"tp_size": (1, 8), "cp_size": (2, 2)},
        why="recomputation fits without splitting a sequence; CP=2 without it does not",
    ),
    Row(
        table="length",
        says="32K+",
        recommends="+ CP=4-8",
        model="llama-3.1-8b",
        world=16,
        length=131072,
        batch=128,
        shape={"tp_size": 2, "cp_size": 8},
        ranges={"tp_size": (1, 8), "cp_size": (4, 8)},
        why="TP with SP splits the same activations inside a node and comes before CP on the "
        "ladder; where TP fills the node, CP is what is left (next row)",
    ),
    Row(
        table="length",
        says="32K+, where TP fills the node",
        recommends="+ CP=4-8",
        model="llama-3.1-405b",
        world=512,
        length=131072,
        batch=64,
        shape={"tp_size": 8, "cp_size": 4},
        ranges={"tp_size": (1, 8), "cp_size": (4, 8)},
        why="CP, as the guide says, and half as much of it is enough once states are sharded and "
        "activations recomputed",
    ),
)


def _numbers(config: Config) -> str:
    known = {**MEGATRON.filled(config.values), **MEGATRON.derive(config.values)}
    size, limit = known["memory_per_gpu"], config["gpu_memory"]
    parts = [f"{size / GIB:.1f} GiB{', too big' if size > limit else ''}"]
    if known["bubble"]:
        parts.append(f"bubble {known['bubble'] / 10:.1f}%")
    parts.append(f"sends {known['comm_volume'] / GIB:.1f} GiB")
    return ", ".join(parts)


def _told(config: Config, otherwise: str) -> str:
    axes = ", ".join(f"{word} {config[axis]}" for axis, word in AXES.items() if config[axis] > 1)
    return f"{axes or otherwise}: {_numbers(config)}"


def _advised(advice: Advice) -> tuple[str, str]:
    """What is advised, and what sends least."""
    if advice.advised is None:
        enough = f"; {advice.enough} GPUs would do" if advice.enough else ""
        return f"nothing fits{enough}", ""
    values = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in advice.advised.config.items()
    }
    config = MEGATRON.config(values)
    (top,) = (rung.rung for rung in advice.rungs if rung.state == "fits")
    said = _told(config, f"no axis ({top})")
    if advice.lighter is None:
        return said, "the same"
    return said, _told(config.replaced(advice.lighter.change), "no axis")


def told(row: Row) -> str:
    """The row in Markdown, the reason for another advice in its last cell."""
    advice = row.advice()
    example = f"{row.model} on {row.world}, {row.length:,} tokens, batch {row.batch}"
    cells = (
        row.says,
        row.recommends,
        example,
        _told(row.guided(), "no axis"),
        *_advised(advice),
        "agrees" if row.agrees(advice) else row.why,
    )
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| guide's row | it recommends | example | that, computed | advice | sends least "
    "| agrees, or why not |\n|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, kw_only=True)
class Item:
    """An item of halo's list of how to pick a mode, and an example in which only ``axes`` are used.

    ``why`` says why these are others than the list's, where they are.
    """

    number: str
    says: str
    model: str
    world: int
    length: int
    axes: frozenset[str]
    memory: str = ""
    why: str = ""

    def advice(self) -> Advice:
        """What parsolve advises."""
        given: dict[str, Any] = {"world_size": self.world, "max_length": self.length}
        if self.memory:
            given["gpu_memory"] = self.memory
        answer = parsolve.advise(given, model=self.model, gpu=GPU)
        assert isinstance(answer, Advice)
        return answer

    @staticmethod
    def used(advice: Advice) -> dict[str, int]:
        """The axes of the advice, with their sizes."""
        assert advice.settings is not None
        return {name: size for name, size in advice.settings.items() if name in HALO_AXES}

    def told(self) -> str:
        """The item in Markdown."""
        advice = self.advice()
        gpu = self.memory or "79.65 GiB"
        example = f"{self.model} on {self.world} GPUs of {gpu}, {self.length:,} tokens"
        axes = ", ".join(f"{HALO_AXES[name]} {n}" for name, n in self.used(advice).items())
        assert advice.memory is not None
        size = advice.memory.bytes["total"] / GIB
        (top,) = (rung.rung for rung in advice.rungs if rung.state == "fits")
        cells = (
            self.number,
            self.says,
            example,
            f"{axes or f'no axis ({top})'}: {size:.1f} GiB",
            self.why or "agrees",
        )
        return f"| {' | '.join(cells)} |"


HALO_AXES = {
    "tp_size": "TP",
    "cp_size": "CP",
    "ep_size": "EP",
    "expert_tp_size": "expert TP",
    "pp_size": "PP",
}

ITEMS = (
    Item(
        number="1",
        says="dense, and it fits: plain FSDP2",
        model="llama-3-8b",
        world=8,
        length=4096,
        axes=frozenset(),
    ),
    Item(
        number="2",
        says="experts: start with EP",
        model="gpt-oss-120b",
        world=16,
        length=8192,
        axes=frozenset({"ep_size"}),
    ),
    Item(
        number="2",
        says="experts, and it fits without: EP all the same",
        model="qwen3-30b-a3b",
        world=16,
        length=32768,
        axes=frozenset(),
        why="the simplest that fits has no axis; EP as the start is about speed, which `lighter` "
        "tells in bytes",
    ),
    Item(
        number="2",
        says="finer sharding of experts: expert TP beside EP",
        model="gpt-oss-120b",
        world=16,
        length=8192,
        memory="66GiB",
        axes=frozenset({"ep_size", "expert_tp_size"}),
    ),
    Item(
        number="2",
        says="experts and long sequences: EP with CP",
        model="qwen3-235b-a22b",
        world=64,
        length=32768,
        axes=frozenset({"cp_size"}),
        why="CP, as the list says; FSDP shards the experts well enough without EP",
    ),
    Item(
        number="3",
        says="dense and long sequences, out of memory on activations: CP",
        model="llama-3.1-70b",
        world=16,
        length=65536,
        axes=frozenset({"cp_size"}),
    ),
    Item(
        number="4",
        says="attention too big: TP",
        model="deepseek-v2",
        world=32,
        length=4096,
        memory="85GiB",
        axes=frozenset({"ep_size", "tp_size"}),
    ),
)
"""Item 5 is the pipeline, which no advice may use."""

HALO_HEAD = "| item | it says | example | advice | agrees, or why not |\n|---|---|---|---|---|"


def table(name: str) -> str:
    """One of the tables in Markdown."""
    if name == "halo":
        return "\n".join([HALO_HEAD, *(item.told() for item in ITEMS)]) + "\n"
    return "\n".join([HEAD, *(told(row) for row in ROWS if row.table == name)]) + "\n"
