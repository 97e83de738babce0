"""Validators with a line that cannot be executed on unknown values.

Each is `plain` and one thing more. Those called `..._harmless` refuse nothing more.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

LIMITS = Path(__file__).with_name("limits.json")


def plain(world_size: int, tp_size: int) -> None:
    """Tensor parallelism within a node, of 8 GPUs or of all."""
    node = min(8, world_size)
    if world_size % node != 0:
        raise ValueError(f"{world_size} ranks do not fill nodes of {node}")
    if tp_size < 1 or node % tp_size != 0:
        raise ValueError(f"groups of {tp_size} do not tile a node of {node}")


def reads_a_file(world_size: int, tp_size: int) -> None:
    """The largest group is written in a file."""
    plain(world_size, tp_size)
    with LIMITS.open(encoding="utf-8") as file:
        limits = json.load(file)
    if tp_size > limits["largest_tp"]:
        raise ValueError(f"at most {limits['largest_tp']} ranks, got {tp_size}")


def reads_a_file_harmless(world_size: int, tp_size: int) -> None:
    """The largest node is written in a file, too."""
    plain(world_size, tp_size)
    with LIMITS.open(encoding="utf-8") as file:
        limits = json.load(file)
    if tp_size > limits["largest_node"]:
        raise ValueError(f"at most {limits['largest_node']} ranks, got {tp_size}")


def asks_the_environment(world_size: int, tp_size: int) -> None:
    """A variable switches tensor parallelism off unless it is set."""
    plain(world_size, tp_size)
    if tp_size > 1 and os.environ.get("PARSOLVE_TESTS_ALLOW_TP") is None:
        raise ValueError("tensor parallelism is switched off")


def asks_the_environment_harmless(world_size: int, tp_size: int) -> None:
    """A variable switches tensor parallelism off."""
    plain(world_size, tp_size)
    if tp_size > 1 and os.getenv("PARSOLVE_TESTS_FORBID_TP") is not None:
        raise ValueError("tensor parallelism is switched off")


def loops(world_size: int, tp_size: int) -> None:
    """Groups must be powers of two."""
    plain(world_size, tp_size)
    rest = tp_size
    while rest % 2 == 0:
        rest //= 2
    if rest != 1:
        raise ValueError(f"{tp_size} is no power of two")


def loops_harmless(world_size: int, tp_size: int) -> None:
    """Groups must not outnumber the ranks, which is found by counting."""
    plain(world_size, tp_size)
    groups = 0
    while groups * tp_size < world_size:
        groups += 1
    if groups * tp_size != world_size:
        raise ValueError(f"{groups} groups of {tp_size} are more than {world_size} ranks")


def calls_a_library(world_size: int, tp_size: int) -> None:
    """A share of at most a quarter of the job."""
    plain(world_size, tp_size)
    if Fraction(tp_size, world_size) > Fraction(1, 4):
        raise ValueError(f"groups of {tp_size} are more than a quarter of {world_size} ranks")


def calls_a_library_harmless(world_size: int, tp_size: int) -> None:
    """The same as a greatest common divisor says."""
    plain(world_size, tp_size)
    if math.gcd(tp_size, world_size) != tp_size:
        raise ValueError(f"groups of {tp_size} do not tile {world_size} ranks")


def on_one_branch(world_size: int, tp_size: int) -> None:
    """Only tensor parallelism over two ranks is looked up."""
    if tp_size == 2 and os.getenv("PARSOLVE_TESTS_FORBID_TP") is not None:
        raise ValueError("tensor parallelism is switched off")
    plain(world_size, tp_size)


def wrong_elsewhere(world_size: int, tp_size: int) -> None:
    """A mistake that has nothing to do with the line that cannot be executed."""
    if tp_size > 1 and os.getenv("PARSOLVE_TESTS_FORBID_TP") is not None:
        raise ValueError("tensor parallelism is switched off")
    if world_size % 8 != 0:
        raise ValueError(f"{world_size} ranks do not fill nodes of 8")
    plain(world_size, tp_size)


@dataclass
class Settings:
    """Keeps what it is given, and has a property that fails for the usual node."""

    world_size: int
    gpus_per_node: int = 0
    tp_size: int = 1

    def __post_init__(self) -> None:
        """Check what was given, and say so if asked to."""
        node = self.gpus_per_node or min(8, self.world_size)
        if node < 1 or self.world_size % node != 0:
            raise ValueError(f"{self.world_size} ranks do not fill nodes of {node}")
        if self.tp_size < 1 or node % self.tp_size != 0:
            raise ValueError(f"groups of {self.tp_size} do not tile a node of {node}")
        os.getenv("PARSOLVE_TESTS_VERBOSE")

    @property
    def num_nodes(self) -> int:
        """Machines, for whoever has said how large they are."""
        return self.world_size // self.gpus_per_node


@dataclass
class WrongSettings(Settings):
    """The same with an axis too many in what is derived."""

    @property
    def data_parallel_size(self) -> int:
        """Different batches in one step."""
        return self.world_size
