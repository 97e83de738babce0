"""How it is said: the command line tool."""

from parsolve.cli.entry import main

__all__ = ["main"]
