"""Rules that never decide a verdict: they only decide which reason comes first.

Wherever one of these is violated, so is one of the rules beside it. `parsolve prove rules` finds
them, and proves that each list suffices and that none of it can be spared.
"""

from collections.abc import Mapping

IMPLIED: Mapping[str, tuple[str, ...]] = {
    "megatron-fsdp-optimizer": (
        "megatron-fsdp-checkpoint-format",
        "layer-wise-optimizer-checkpoint-format",
    ),
    "distributed-activations-without-method": (
        "distributed-activations-without-full-recompute",
        "full-recompute-without-method",
    ),
    "torch-dcp-with-pp": ("torch-fsdp2-with-pp", "torch-dcp-without-fsdp2"),
    "layer-wise-optimizer-checkpoint-format": (
        "megatron-fsdp-optimizer",
        "torch-dcp-without-fsdp2",
        "fsdp-dtensor-without-megatron-fsdp",
        "layer-wise-optimizer-with-fsdp2",
    ),
    "ep-overlap-with-full-recompute": (
        "full-recompute-without-method",
        "ep-overlap-with-recompute-method",
    ),
}
