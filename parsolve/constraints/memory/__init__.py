"""Bytes per GPU, as formulas: what every framework's memory model is made of."""

from parsolve.constraints.memory.account import Account, Part

__all__ = ["Account", "Part"]
