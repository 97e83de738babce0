"""Every answer there is, and the JSON schema of them all."""

from __future__ import annotations

from typing import Any, TypeAlias, Union

from parsolve.solver.answer.advice import Advice
from parsolve.solver.answer.comparison import Comparison
from parsolve.solver.answer.difference import Difference
from parsolve.solver.answer.file import Files, Unreadable
from parsolve.solver.answer.fixtures import Fixtures
from parsolve.solver.answer.layout import RankLayout
from parsolve.solver.answer.move import Moves
from parsolve.solver.answer.pipeline import Schedule, Stages
from parsolve.solver.answer.proof import Proofs
from parsolve.solver.answer.search import Best, Conflict, Solutions, Undecided
from parsolve.solver.answer.verdict import Accepted, Memory, Rejected

Answer: TypeAlias = Union[  # noqa: UP007
    Accepted,
    Rejected,
    Comparison,
    Memory,
    Conflict,
    Solutions,
    Best,
    Undecided,
    Proofs,
    Schedule,
    Stages,
    Fixtures,
    RankLayout,
    Files,
    Advice,
    Difference,
    Moves,
]


def json_schema() -> dict[str, Any]:
    """JSON schema of every answer, draft 2020-12."""
    from pydantic import TypeAdapter  # noqa: PLC0415  (only the schema needs it)

    schema = TypeAdapter(Union[Answer, Unreadable]).json_schema(  # noqa: UP007
        mode="serialization"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "parsolve answer",
        **schema,
    }
