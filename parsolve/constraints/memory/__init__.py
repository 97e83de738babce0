"""Bytes per GPU, as formulas: what every framework's memory model is made of."""

from parsolve.constraints.memory.account import GIB, Account, Part

__all__ = ["GIB", "Account", "Part"]
