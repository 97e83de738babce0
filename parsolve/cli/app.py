"""The commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from parsolve.cli import objectives
from parsolve.cli.options import (
    CONTEXT,
    UsageError,
    profile_named,
    takes_fields,
    with_environment,
    worlds,
)
from parsolve.constraints.fields import FieldError, suggestion
from parsolve.constraints.profile import Profile

YES, NO, MISUSE, UNDECIDED = 0, 1, 2, 3
EXIT = {
    "accepted": YES,
    "solutions": YES,
    "best": YES,
    "rejected": NO,
    "conflict": NO,
    "undecided": UNDECIDED,
}

ASK = "Question"
OUTPUT = "Output"

app = typer.Typer(
    name="parsolve",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings=CONTEXT,
    pretty_exceptions_enable=False,
    help="Which parallelism configurations are valid on your cluster, why not, what is nearest, "
    "and which is best. Without a command, [bold]solve[/] is meant.",
    epilog="Exit codes: 0 yes (accepted, found), 1 no (rejected, conflict), 2 misuse, "
    "3 undecided (a time limit passed).",
)


class Format(StrEnum):
    """How an answer is written."""

    TEXT = "text"
    JSON = "json"


class ListFormat(StrEnum):
    """How a listing is written."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"


ProfileName = Annotated[
    str, typer.Option("--profile", help="Framework whose rules hold.", rich_help_panel=ASK)
]
Worlds = Annotated[
    str,
    typer.Option(
        "--world",
        metavar="N|N,N|N..N",
        help="World size: GPUs in the job; a list or a range searches every one.",
        rich_help_panel="Cluster",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="PATH",
        help="A model's config.json in Hugging Face form, or the folder that holds it.",
        rich_help_panel="Model",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help='Extra condition, such as "tp*cp <= 8 and ep_group_size > 4"; repeatable.',
        rich_help_panel=ASK,
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KNOB",
        help="Search this knob too, such as use_hsdp; repeatable. Always searched: the axes and "
        "ep_scope.",
        rich_help_panel=ASK,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="Give up after so long and answer undecided.",
        rich_help_panel=ASK,
    ),
]
AnswerFormat = Annotated[
    Format, typer.Option("--format", help="How to write the answer.", rich_help_panel=OUTPUT)
]


def reports_misuse(command: Callable[..., None]) -> Callable[..., None]:
    """Turn what the user can mend into one message and exit code 2."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:  # noqa: ANN401  (typer passes what it parsed)
        from parsolve.cli.jsonl import FileError  # noqa: PLC0415
        from parsolve.solver.huggingface import ModelError  # noqa: PLC0415
        from parsolve.solver.query import QueryError  # noqa: PLC0415
        from parsolve.solver.where import ConditionError  # noqa: PLC0415

        try:
            command(*arguments, **options)
        except (FieldError, QueryError, ConditionError, ModelError, FileError) as error:
            sys.stderr.write(f"parsolve: {error}\n")
            raise typer.Exit(MISUSE) from None

    return run


def _version(*, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415

        sys.stdout.write(f"parsolve {version('parsolve')}\n")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[  # noqa: ARG001, FBT002  (typer reads it)
        bool,
        typer.Option(
            "--version",
            callback=lambda value: _version(wanted=value),
            is_eager=True,
            help="Show the version.",
        ),
    ] = False,
) -> None:
    """Set up what every command shares."""


@app.command(context_settings=CONTEXT, cls=objectives.RemembersOrder)
@takes_fields
@reports_misuse
def solve(  # noqa: PLR0913
    world: Worlds,
    given: Mapping[str, object],
    profile: ProfileName = "halo",
    model: Model = None,
    maximize: objectives.Maximize = None,
    minimize: objectives.Minimize = None,
    pareto: objectives.Pareto = False,  # noqa: FBT002
    where: Where = None,
    vary: Vary = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Show at most so many.", rich_help_panel=OUTPUT)
    ] = 20,
    timeout: Timeout = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Find the best configurations of a cluster, with a proof that none is better.

    Example: parsolve --world 64 --gpus-per-node 8 --moe --maximize dp
    """
    from parsolve.solver.query import build_query  # noqa: PLC0415
    from parsolve.solver.solve import best  # noqa: PLC0415

    chosen = profile_named(profile)
    asked = objectives.in_order(maximize, minimize) or [("dp", True)]
    query = build_query(
        chosen,
        worlds(world),
        _facts(chosen, given, model),
        where=where or (),
        objectives=asked,
        pareto=pareto,
        vary=vary or (),
    )
    with _progress(len(query.worlds)) as progress:
        answer = best(query, limit=limit, deadline=_deadline(timeout), progress=progress)
    _answer(answer, format)


@app.command(context_settings=CONTEXT)
@takes_fields
@reports_misuse
def check(  # noqa: PLR0913
    given: Mapping[str, object],
    world: Annotated[
        str | None,
        typer.Option(
            "--world",
            metavar="N",
            help="World size: GPUs in the job, one rank each.",
            rich_help_panel="Cluster",
        ),
    ] = None,
    profile: ProfileName = "halo",
    model: Model = None,
    jsonl: Annotated[
        str | None,
        typer.Option(
            "--jsonl",
            metavar="FILE|-",
            rich_help_panel=ASK,
            help="Check many: one JSON object a line in, one verdict a line out. Other "
            "options hold for every line that does not say otherwise.",
        ),
    ] = None,
    repairs: Annotated[
        int | None,
        typer.Option(
            "--repairs",
            min=0,
            metavar="N",
            rich_help_panel=OUTPUT,
            help="Show at most so many of the nearest valid alternatives. "
            "[default: 6; 0 with --jsonl, where each takes about a millisecond]",
        ),
    ] = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """Say whether a configuration is valid: every violated rule, and the nearest valid ones.

    Example: parsolve check --world 8 --gpus-per-node 8 --ep 4
    """
    from parsolve.solver.check import SHOWN_REPAIRS  # noqa: PLC0415
    from parsolve.solver.check import check as check_config  # noqa: PLC0415

    chosen = profile_named(profile)
    facts = _facts(chosen, given, model)
    if jsonl is not None:
        from parsolve.cli.jsonl import check_lines  # noqa: PLC0415

        if world is not None:
            facts[chosen.world] = _one_world(world)
        tally = check_lines(chosen, jsonl, facts, repairs or 0)
        if tally.unreadable:
            raise typer.Exit(MISUSE)
        raise typer.Exit(NO if tally.rejected else YES)
    if world is None:
        message = "give the world size, or a file of configurations with --jsonl"
        raise UsageError(message, param_hint="'--world'")
    config = chosen.config({chosen.world: _one_world(world), **facts})
    shown = SHOWN_REPAIRS if repairs is None else repairs
    _answer(check_config(config, shown_repairs=shown), format)


@app.command("list", context_settings=CONTEXT)
@takes_fields
@reports_misuse
def list_(  # noqa: PLR0913
    world: Worlds,
    given: Mapping[str, object],
    profile: ProfileName = "halo",
    model: Model = None,
    where: Where = None,
    vary: Vary = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, metavar="N", help="Stop after so many.", rich_help_panel=OUTPUT
        ),
    ] = None,
    timeout: Timeout = None,
    format: Annotated[  # noqa: A002
        ListFormat,
        typer.Option("--format", help="How to write the listing.", rich_help_panel=OUTPUT),
    ] = ListFormat.TABLE,
) -> None:
    """List every valid configuration of a cluster, and say whether the list is complete.

    Example: parsolve list --world 64 --gpus-per-node 8 --moe --format jsonl
    """
    from parsolve.cli.listing import write_listing  # noqa: PLC0415
    from parsolve.solver.query import build_query  # noqa: PLC0415
    from parsolve.solver.solve import Listing, no_solution  # noqa: PLC0415

    chosen = profile_named(profile)
    query = build_query(
        chosen,
        worlds(world),
        _facts(chosen, given, model),
        where=where or (),
        vary=vary or (),
    )
    with _progress(len(query.worlds)) as progress:
        listing = Listing(query, limit, _deadline(timeout), progress)
        found = write_listing(listing, format.value)
    if not found and listing.complete:
        _answer(
            no_solution(query, listing.deadline),
            Format.TEXT if format is ListFormat.TABLE else Format.JSON,
        )
    if listing.stopped and limit is None:
        raise typer.Exit(UNDECIDED)
    certificate = listing.certificate
    if certificate is not None and certificate.status != "proved":
        raise typer.Exit(UNDECIDED)


@app.command(context_settings=CONTEXT)
@reports_misuse
def rules(
    rule: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Explain this rule.", show_default=False)
    ] = None,
    profile: ProfileName = "halo",
    stage: Annotated[
        str | None, typer.Option("--stage", metavar="STAGE", help="Only rules of this stage.")
    ] = None,
    format: AnswerFormat = Format.TEXT,  # noqa: A002
) -> None:
    """List the rules in the order in which the framework applies them, or explain one.

    Example: parsolve rules ep-single-domain-multi-group
    """
    from parsolve.cli import rulebook  # noqa: PLC0415

    chosen = profile_named(profile)
    if rule is not None:
        known = tuple(r.id for r in chosen.rules)
        if rule not in known:
            message = f"{chosen.name} has no rule {rule!r}{suggestion(rule, known)}"
            raise FieldError(message)
        entry = rulebook.entry(chosen, known.index(rule))
        if format is Format.JSON:
            _write_json(entry)
        else:
            rulebook.show(chosen, known.index(rule))
        return
    if stage is not None and stage not in chosen.stages:
        hint = suggestion(stage, chosen.stages)
        message = f"{chosen.name} has no stage {stage!r}{hint}"
        raise FieldError(message)
    indices = [i for i, r in enumerate(chosen.rules) if stage in {None, r.stage}]
    if format is Format.JSON:
        _write_json([rulebook.entry(chosen, i) for i in indices])
    else:
        rulebook.show_list(chosen, indices)


@app.command(context_settings=CONTEXT)
@reports_misuse
def matrix(
    profile: ProfileName = "halo",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the matrix stands.")
    ] = Path("matrix.md"),
    check: Annotated[  # noqa: FBT002
        bool, typer.Option("--check", help="Write nothing; fail if the file is stale.")
    ] = False,
) -> None:
    """Write the reference matrix of modes, rules and sources, or check that it is fresh."""
    from parsolve.cli.jsonl import FileError  # noqa: PLC0415
    from parsolve.cli.matrix import matrix_text  # noqa: PLC0415

    text = matrix_text(profile_named(profile))
    try:
        if not check:
            output.write_text(text, encoding="utf-8")
            sys.stderr.write(f"parsolve: wrote {output}\n")
            return
        stale = output.read_text(encoding="utf-8") != text
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot use {output}: {getattr(error, 'strerror', None) or error}"
        raise FileError(message) from None
    if stale:
        sys.stderr.write(f"parsolve: {output} is stale; run parsolve matrix\n")
        raise typer.Exit(NO)
    sys.stderr.write(f"parsolve: {output} is fresh\n")


@app.command(context_settings=CONTEXT)
def schema() -> None:
    """Print the JSON schema of every answer."""
    from parsolve.solver.answer import json_schema  # noqa: PLC0415

    _write_json(json_schema())


def _write_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _facts(chosen: Profile, given: Mapping[str, object], model: str | None) -> dict[str, object]:
    """What the user said, over what the model's file says, over the environment."""
    facts = dict(given)
    if model is not None:
        from parsolve.solver.huggingface import read_model  # noqa: PLC0415

        facts = {**read_model(model), **facts}
    return with_environment(chosen, facts)


def _one_world(text: str) -> int:
    found = worlds(text)
    if len(found) != 1:
        message = "check takes one world; parsolve list and solve take several"
        raise UsageError(message, param_hint="'--world'")
    return found[0]


def _deadline(timeout: float | None) -> Any:  # noqa: ANN401  (imported late)
    from parsolve.solver.deadline import Deadline  # noqa: PLC0415

    if timeout is not None and not 0 < timeout < float("inf"):
        message = "a time limit is a positive number of seconds"
        raise UsageError(message, param_hint="'--timeout'")
    return Deadline(timeout)


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, if that is a terminal and there is more than one world."""
    if steps < 2 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("worlds", total=steps)

        def step(world: int) -> None:
            bar.update(task, advance=1, description=f"world {world}")

        yield step


def _answer(answer: Any, format_: Format) -> None:  # noqa: ANN401  (imported late)
    """Write an answer and exit with its code."""
    if format_ is Format.JSON:
        from parsolve.solver.answer import to_json  # noqa: PLC0415

        sys.stdout.write(to_json(answer, indent=2) + "\n")
    else:
        from parsolve.cli.text import show  # noqa: PLC0415

        show(answer)
    raise typer.Exit(EXIT[answer.answer])
