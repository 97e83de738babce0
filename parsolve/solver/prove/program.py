"""A program with one mistake: a copy of a module, in which functions can be exchanged."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from parsolve.solver.prove.mutants import ProgramMutant, program_mutants
from parsolve.solver.symbolic.sources import Sources

MUTANT_FILE = "<mutant>"


class Program:
    """A copy of the module of an entry point, apart from the real one."""

    def __init__(self, entry: Callable[..., Any]) -> None:
        self.entry = entry.__name__
        module = sys.modules[entry.__module__]
        self.tree = ast.parse(inspect.getsource(module))
        self.names: dict[str, Any] = {"__name__": module.__name__}
        file = inspect.getsourcefile(module) or MUTANT_FILE
        exec(compile(self.tree, file, "exec"), self.names)  # noqa: S102  (the profile's own reference)

    @cached_property
    def mutants(self) -> dict[str, list[ProgramMutant]]:
        """Every mutant, by the function that it changes."""
        found: dict[str, list[ProgramMutant]] = {}
        for mutant in program_mutants(self.tree):
            found.setdefault(mutant.function.name, []).append(mutant)
        return found

    @property
    def functions(self) -> tuple[str, ...]:
        """Functions that have checks."""
        return tuple(self.mutants)

    def sources(self, mutant: ProgramMutant) -> Sources:
        """Where the changed function is written."""
        return Sources({MUTANT_FILE: ast.Module([mutant.function], [])})

    @contextmanager
    def changed(self, mutant: ProgramMutant) -> Iterator[Callable[..., Any]]:
        """The entry point while one function is exchanged, also in tables of functions."""
        name = mutant.function.name
        original = self.names[name]
        code = compile(ast.Module([mutant.function], []), MUTANT_FILE, "exec")
        exec(code, self.names)  # noqa: S102  (the same with one mistake)
        mistaken, self.names[name] = self.names[name], original
        self._exchange(original, mistaken)
        try:
            yield self.names[self.entry]
        finally:
            self._exchange(mistaken, original)

    def _exchange(self, old: object, new: object) -> None:
        tables = [v for n, v in self.names.items() if isinstance(v, dict) and n[:2] != "__"]
        for table in (self.names, *tables):
            for name, value in table.items():
                if value is old:
                    table[name] = new
