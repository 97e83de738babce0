"""Answers as JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from typing import Any

from parsolve.solver.answer.verdict import ALWAYS


@cache
def _keys(kind: type[Any]) -> tuple[str, ...]:
    """Attributes of an answer's part in the order of its JSON: the kind of answer first."""
    names = [field.name for field in fields(kind)]
    return ("answer", *names[:-1]) if names[-1] == "answer" else tuple(names)


def plain(value: object) -> dict[str, Any]:
    """One answer or part of one as a dictionary, attributes that are None left out."""
    keys = _keys(type(value))  # type: ignore[arg-type]  # a class is hashable
    shown = {key: item for key in keys if (item := getattr(value, key)) is not None}
    missing = _nullable(type(value)) - shown.keys()  # type: ignore[arg-type]
    return (
        {key: shown.get(key) for key in keys if key in shown or key in missing}
        if missing
        else shown
    )


@cache
def _nullable(kind: type[Any]) -> frozenset[str]:
    """Attributes that are in the JSON even where they are null."""
    return frozenset(each.name for each in fields(kind) if each.metadata == ALWAYS)


def _encoder(indent: int | None) -> json.JSONEncoder:
    return json.JSONEncoder(default=plain, ensure_ascii=False, indent=indent, check_circular=False)


_COMPACT = _encoder(None)


def to_json(answer: object, *, indent: int | None = None) -> str:
    """The public JSON of an answer, or of a part of one."""
    return (_COMPACT if indent is None else _encoder(indent)).encode(answer)


def as_data(answer: object) -> Any:  # noqa: ANN401  (JSON has no narrower type)
    """The same as nested dictionaries and lists."""
    return json.loads(to_json(answer))
