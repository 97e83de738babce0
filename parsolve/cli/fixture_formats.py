"""Fixtures as JSON, one JSON object a line, YAML, or a file of tests for pytest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Misuse
from parsolve.solver.answer import Fixtures, as_data, to_json

WIDTH = 100
"""Columns of a YAML file."""


def check_asked(form: str, against: str | None) -> None:
    """Refuse before the work what makes no file. Raises `Misuse`."""
    if against is None:
        return
    if form != "pytest":
        message = "--against goes with --format pytest: only that file calls a validator"
        raise Misuse(message)
    from parsolve.cli.fixture_tests import check_against  # noqa: PLC0415  (rarely needed)

    check_against(against)


def written(answer: Fixtures, form: str, against: str | None) -> str:
    """The fixtures in one of the formats; the same text for the same answer.

    ``against`` names the validator that a pytest file calls.
    """
    match form:
        case "jsonl":
            head = {"version": answer.version, "profile": answer.profile}
            lines = ({**head, **each} for each in as_data(answer)["fixtures"])
            return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        case "yaml":
            return _yaml(as_data(answer))
        case "pytest":
            from parsolve.cli.fixture_tests import tests  # noqa: PLC0415

            return tests(answer, PROFILES[answer.profile], against)
        case _:
            return to_json(answer, indent=2) + "\n"


def _yaml(data: Mapping[str, Any]) -> str:
    import yaml  # noqa: PLC0415  (only one format needs it)

    text: str = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=WIDTH)
    return text


def summary(answer: Fixtures) -> str:
    """What there is and what is left out, in a few lines for standard error."""
    verdicts = Counter(fixture.verdict for fixture in answer.fixtures)
    text = (
        f"parsolve: {len(answer.fixtures)} fixtures of {answer.profile}: "
        f"{verdicts['accepted']} accepted, {verdicts['rejected']} rejected"
    )
    if answer.combinations is not None:
        together = "settings" if answer.strength == 1 else f"settings of {answer.strength} knobs"
        text += f"; {answer.combinations:,} {together} covered"
    left = Counter(each.why for each in answer.left_out)
    if left:
        text += (
            f"\nparsolve: left out: {left['proved impossible']} proved impossible, "
            f"{left['not found']} not found (named in --format json)"
        )
    return text + "\n"
