"""Tables of what Python's own functions do on symbolic values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from parsolve.solver.symbolic.core import Builtin
from parsolve.solver.symbolic.values import Value

Handler: TypeAlias = Callable[..., Value]
"""Takes the machine, the state, and the arguments of the call."""


class Handlers(dict[Any, Handler]):
    """What functions do, by the functions themselves."""

    def of(self, *functions: object) -> Callable[[Handler], Handler]:
        """Let the decorated function say what these do."""

        def register(handler: Handler) -> Handler:
            for function in functions:
                self[function] = handler
            return handler

        return register


class Methods(dict[tuple[type, str], Builtin]):
    """What methods do, by the class and the name of the method."""

    def of(self, *kinds: type, name: str = "") -> Callable[[Handler], Handler]:
        """Let the decorated function, or one under another name, say what it does for these."""

        def register(handler: Handler) -> Handler:
            for kind in kinds:
                self[kind, name or handler.__name__.strip("_")] = Builtin(handler)
            return handler

        return register
