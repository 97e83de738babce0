"""``parsolve models``."""

from __future__ import annotations

from typing import Annotated

import typer

from parsolve.cli import completion
from parsolve.cli.common import AnswerFormat, Format, reports_misuse, write_json


@reports_misuse
def models(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|PATH]",
            help="Count the parameters of this model, or of this config.json.",
            show_default="list all models",
            autocompletion=completion.models,
        ),
    ] = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Run ``parsolve models``."""
    from parsolve.cli import modelbook  # noqa: PLC0415
    from parsolve.constraints.models.catalogue import PRESETS  # noqa: PLC0415
    from parsolve.solver.huggingface import read_model_facts  # noqa: PLC0415

    names = [preset.name for preset in PRESETS] if model is None else [model]
    found = [read_model_facts(name) for name in names]
    if format is Format.JSON:
        entries = [modelbook.entry(facts) for facts in found]
        write_json(entries if model is None else entries[0])
    elif model is None:
        modelbook.show_list(found)
    else:
        modelbook.show(found[0])
