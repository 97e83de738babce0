"""``parsolve rules``."""

from __future__ import annotations

from typing import Annotated

import typer

from parsolve.cli import completion
from parsolve.cli.common import ASK, AnswerFormat, Format, ProfileName, reports_misuse, write_json
from parsolve.cli.options import profile_named
from parsolve.constraints import DEFAULT_PROFILE
from parsolve.constraints.fields import FieldError, suggestion


@reports_misuse
def rules(
    rule: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="Explain this rule.",
            show_default="list all",
            autocompletion=completion.rules,
        ),
    ] = None,
    profile: ProfileName = DEFAULT_PROFILE,
    stage: Annotated[
        str | None,
        typer.Option(
            "--stage",
            metavar="STAGE",
            help="Only rules of this stage, such as composition.",
            rich_help_panel=ASK,
            show_default="all",
            autocompletion=completion.stages,
        ),
    ] = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Run ``parsolve rules``."""
    from parsolve.cli import rulebook  # noqa: PLC0415

    chosen = profile_named(profile)
    if rule is not None:
        known = tuple(r.id for r in chosen.limits)
        if rule not in known:
            message = f"{chosen.name} has no rule {rule!r}{suggestion(rule, known)}"
            raise FieldError(message)
        entry = rulebook.entry(chosen, known.index(rule))
        if format is Format.JSON:
            write_json(entry)
        else:
            rulebook.show(chosen, known.index(rule))
        return
    if stage is not None and stage not in chosen.stages:
        hint = suggestion(stage, chosen.stages)
        message = f"{chosen.name} has no stage {stage!r}{hint}"
        raise FieldError(message)
    indices = [i for i, r in enumerate(chosen.limits) if stage in {None, r.stage}]
    if format is Format.JSON:
        write_json([rulebook.entry(chosen, i) for i in indices])
    else:
        rulebook.show_list(chosen, indices)
