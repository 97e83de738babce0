"""What the commands share: options, misuse, answers and their exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, NoReturn, TextIO

import typer

from parsolve.cli import completion, output
from parsolve.cli.entry import CLOSED_PIPE, INTERRUPTED, drop_output
from parsolve.cli.options import UsageError, with_environment, worlds
from parsolve.constraints.fields import Misuse
from parsolve.constraints.profile import Profile

YES, NO, MISUSE, UNDECIDED = 0, 1, 2, 3
EXIT = {
    "accepted": YES,
    "fits": YES,
    "near": YES,
    "advised": YES,
    "outside-guide": YES,
    "nothing-fits": NO,
    "known": YES,
    "stages": YES,
    "layout": YES,
    "same": YES,
    "differ": NO,
    "moved": YES,
    "stuck": NO,
    "over": NO,
    "solutions": YES,
    "best": YES,
    "proved": YES,
    "rejected": NO,
    "conflict": NO,
    "refuted": NO,
    "unreadable": MISUSE,
    "undecided": UNDECIDED,
}

ASK = "Question"
OUTPUT = output.PANEL


class Format(StrEnum):
    """How an answer is written."""

    TEXT = "text"
    JSON = "json"


class CheckFormat(StrEnum):
    """How a verdict is written; the last two annotate lines of files."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


WORLD = typer.Option(
    "--world",
    metavar="N",
    help="World size: GPUs in the job, one rank each.",
    rich_help_panel="Cluster",
)
World = Annotated[str, WORLD]
Nodes = Annotated[
    int | None,
    typer.Option(
        "--nnodes",
        metavar="N",
        min=1,
        help="OS nodes of the job, as torchrun takes them; each has --nproc-per-node GPUs.",
        rich_help_panel="Cluster",
    ),
]
PerNode = Annotated[
    int | None,
    typer.Option(
        "--nproc-per-node",
        metavar="N",
        min=1,
        help="Processes of each node, one per GPU, as torchrun takes them.",
        rich_help_panel="Cluster",
    ),
]
ProfileName = Annotated[
    str,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Framework whose rules hold.",
        rich_help_panel=ASK,
        autocompletion=completion.profiles,
    ),
]
ProfileOfFile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Framework whose rules hold.",
        show_default="the file's own; halo for options",
        rich_help_panel=ASK,
        autocompletion=completion.profiles,
    ),
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
        metavar="NAME",  # a longer one cuts the options' names in help of 80 columns
        help="A model that parsolve models lists, or the path of a config.json in Hugging Face "
        "form, or of the folder that holds it.",
        rich_help_panel="Model",
        autocompletion=completion.models,
    ),
]
Gpu = Annotated[
    str | None,
    typer.Option(
        "--gpu",
        metavar="NAME",
        help="GPU, such as h100, a100-40 or gb200: sets its memory as a bound, and the usual "
        "GPUs per node and NVLink domain where they divide the world.",
        rich_help_panel="Cluster",
        autocompletion=completion.gpus,
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
        help="Search this knob too, such as use_hsdp; repeatable. The axes are always searched.",
        rich_help_panel=ASK,
        autocompletion=completion.knobs,
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
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        help="Processes that share the work; 0 means one for each core. The answer is the same.",
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
        try:
            command(*arguments, **options)
        except Misuse as error:
            sys.stderr.write(f"parsolve: {error}\n")
            raise typer.Exit(MISUSE) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            drop_output()
            raise typer.Exit(CLOSED_PIPE) from None

    return run


def write_json(value: object) -> None:
    """Indented JSON on standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def gathered(
    chosen: Profile,
    given: Mapping[str, object],
    model: str | None,
    gpu: str | None = None,
    sizes: Sequence[int] = (),
    *,
    needs_size: bool = False,
) -> dict[str, object]:
    """What the user said, over what the model and the GPU say, over the environment."""
    from parsolve.solver.facts import with_facts  # noqa: PLC0415

    facts = with_facts(chosen, given, model, gpu, sizes, needs_size=needs_size)
    return with_environment(chosen, facts)


def one_world(text: str, command: str = "check") -> int:
    """A single world size."""
    found = worlds(text)
    if len(found) != 1:
        message = f"{command} takes one world; parsolve list and solve take several"
        raise UsageError(message, param_hint="'--world'")
    return found[0]


def on_each_node(given: Mapping[str, object], processes: int | None) -> int | None:
    """GPUs of a node, by either of their names; a process has one. Raises `UsageError`."""
    stated = given.get("gpus_per_node")
    if not isinstance(stated, int) or stated < 1:
        return processes
    if processes not in {None, stated}:
        message = f"{processes} processes of each node have one GPU each, not {stated}"
        raise UsageError(message, param_hint="'--gpus-per-node'")
    return stated


def time_limit(timeout: float | None) -> Any:  # noqa: ANN401  (imported late)
    """A time limit in seconds, or none."""
    from parsolve.solver.deadline import Deadline  # noqa: PLC0415

    if timeout is not None and not 0 < timeout < float("inf"):
        message = "a time limit is a positive number of seconds"
        raise UsageError(message, param_hint="'--timeout'")
    return Deadline(timeout)


@contextmanager
def progress_bar(steps: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, if that is a terminal that shows nothing else meanwhile."""
    if steps <= 1 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("worlds", total=steps)

        def step(world: int) -> None:
            bar.update(task, advance=1, description=f"world {world}")

        yield step


@contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    """What is being worked on, on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(f"[dim]{text}[/]")


def finish(
    answer: Any,  # noqa: ANN401  (imported late)
    format_: Format,
    stream: TextIO | None = None,
    varied: Sequence[str] = (),
) -> NoReturn:
    """Write an answer, to standard output unless told otherwise, and exit with its code.

    ``varied`` are knobs that were searched because somebody asked for that.
    """
    if format_ is Format.JSON:
        from parsolve.solver.answer import to_json  # noqa: PLC0415

        sys.stdout.write(to_json(answer, indent=2) + "\n")
    else:
        from parsolve.cli.text import show  # noqa: PLC0415

        show(answer, stream, varied)
    raise typer.Exit(EXIT[getattr(answer, "status", answer.answer)])
