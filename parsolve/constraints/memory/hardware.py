"""GPUs by the name people use: their memory, and how they are usually wired."""

from __future__ import annotations

from dataclasses import dataclass

from parsolve.constraints.fields import GIB, MIB, Misuse, suggestion


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: memory in bytes as its driver reports it, GPUs per OS node and NVLink domain."""

    name: str
    memory: int
    gpus_per_node: int
    nvlink_domain: int


GPUS = {
    gpu.name: gpu
    for gpu in (
        # name, memory as nvidia-smi prints it, GPUs of the usual server, GPUs joined by NVLink
        Gpu("v100-16", 16_384 * MIB, 8, 8),
        Gpu("v100-32", 32_768 * MIB, 8, 8),
        Gpu("a100-40", 40_960 * MIB, 8, 8),
        Gpu("a100-80", 81_920 * MIB, 8, 8),
        Gpu("l40s", 46_068 * MIB, 8, 8),  # no NVLink: frameworks take the node for its domain
        Gpu("h100", 81_559 * MIB, 8, 8),
        Gpu("h200", 143_771 * MIB, 8, 8),
        Gpu("b200", 183_359 * MIB, 8, 8),
        Gpu("b300", 275_040 * MIB, 8, 8),
        Gpu("gb200", 189_471 * MIB, 4, 72),
    )
}

MEMORY_SIZES = tuple(sorted({gpu.memory for gpu in GPUS.values()} | {80 * GIB}))
"""Sizes that a suggestion offers, in bytes."""


def gpu_named(name: str) -> Gpu:
    """The GPU, or `Misuse` naming those there are."""
    wanted = name.lower()
    found = GPUS.get(wanted)
    if found is None:
        sizes = [gpu for gpu in GPUS if gpu.partition("-")[0] == wanted]
        hint = f": is it {' or '.join(sizes)}?" if sizes else suggestion(wanted, tuple(GPUS))
        message = f"no GPU {name!r:.60}{hint}"
        raise Misuse(message)
    return found
