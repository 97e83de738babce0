"""Every kind of answer has a writer."""

from __future__ import annotations

from importlib import import_module
from typing import get_args

from parsolve.cli.text import OF_SEARCHES, WRITERS
from parsolve.solver.answer import Answer

BY_COMMANDS = {"solutions", "proofs", "fixtures"}
"""Answers that their commands write themselves, as they are found."""


def test_every_kind_of_answer_has_a_writer() -> None:
    kinds = {kind.__dataclass_fields__["answer"].default for kind in get_args(Answer)}
    assert kinds == {*WRITERS, *BY_COMMANDS}
    assert WRITERS.keys() > OF_SEARCHES
    for module, function in WRITERS.values():
        assert callable(getattr(import_module(f"parsolve.cli.{module}"), function))
