"""Callables that cannot be compared with a profile, and one thing that is no callable."""

from __future__ import annotations

MAX_TENSOR_PARALLEL = 8


def check_tensor_parallel(world_size: int, tensor_paralel_size: int) -> None:
    """A parameter with a slip in its name."""
    if tensor_paralel_size > world_size:
        raise ValueError("too large")


def takes_any(world_size: int, *sizes: int) -> None:
    """Sizes by place."""
    if sum(sizes) > world_size:
        raise ValueError("too many")


def takes_all(world_size: int, **sizes: int) -> None:
    """Sizes by any name."""
    if sum(sizes.values()) > world_size:
        raise ValueError("too many")


def takes_twice(world_size: int, tp: int, tensor_parallel_size: int) -> None:
    """One field under two names."""
    if tp != tensor_parallel_size or tp > world_size:
        raise ValueError("which?")


def takes_nothing(threshold: float = 0.5) -> None:
    """No field at all."""
    if threshold > 1:
        raise ValueError("too large")
