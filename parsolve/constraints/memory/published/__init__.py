"""Published memory formulas, exactly as published: to compare with, not to decide by.

Each takes integers or terms and gives a term in bytes, rounded down once, at its very end.
What each of them ignores stands in ``docs/memory.md``.
"""

from parsolve.constraints.memory.published import deepspeed, korthikanti, megatron, zero

__all__ = ["deepspeed", "korthikanti", "megatron", "zero"]
