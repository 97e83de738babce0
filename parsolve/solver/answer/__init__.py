"""Answers: a closed union of frozen values. Their JSON is a public format.

``docs/schema/answer.schema.json`` is generated from these classes. A key that does not apply
is left out of the JSON (`to_json`), so a consumer tests for presence.

Each command's answers have a module of their own, which is loaded when something in it is first
asked for: a check needs one of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsolve.solver.answer.advice import *  # noqa: F403
    from parsolve.solver.answer.as_json import *  # noqa: F403
    from parsolve.solver.answer.comparison import *  # noqa: F403
    from parsolve.solver.answer.difference import *  # noqa: F403
    from parsolve.solver.answer.file import *  # noqa: F403
    from parsolve.solver.answer.fixtures import *  # noqa: F403
    from parsolve.solver.answer.layout import *  # noqa: F403
    from parsolve.solver.answer.move import *  # noqa: F403
    from parsolve.solver.answer.pipeline import *  # noqa: F403
    from parsolve.solver.answer.proof import *  # noqa: F403
    from parsolve.solver.answer.schema import *  # noqa: F403
    from parsolve.solver.answer.search import *  # noqa: F403
    from parsolve.solver.answer.verdict import *  # noqa: F403
else:
    MODULES = (
        "verdict",
        "search",
        "comparison",
        "file",
        "proof",
        "pipeline",
        "fixtures",
        "layout",
        "advice",
        "difference",
        "move",
        "as_json",
        "schema",
    )
    """Those that most commands need first."""

    def __getattr__(name: str) -> object:
        """What one of the modules defines under this name."""
        if not name.startswith("__"):
            for module in MODULES:
                defined = vars(import_module(f"{__name__}.{module}"))
                if name in defined:
                    return globals().setdefault(name, defined[name])
        message = f"no answer, nor part of one, is called {name}"
        raise AttributeError(message)
