"""The application: its commands by name, each built only when it is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from parsolve.constraints.profile import Profile

SUMMARIES = {
    "solve": "Find the best configurations of a cluster, with a proof that none is better.",
    "check": "Say whether a configuration is valid: every violated rule, and the nearest valid "
    "ones.",
    "advise": "Say which primitive of parallelism to add next: a ladder climbed to the first rung "
    "that fits, with proof.",
    "diff": "Say what changes between two configurations or files: verdict, dp, global batch, "
    "memory, groups.",
    "move": "Say what must change for a recipe to run on another cluster with its global batch.",
    "list": "List every valid configuration of a cluster, and say whether the list is complete.",
    "prove": "Prove statements about the rules for all clusters, or compare them with your own "
    "validator.",
    "memory": "Say what fills each GPU, part by part, and whether it fits.",
    "layout": "Show which ranks form which group, where these lie on nodes and NVLink domains, and "
    "what they send.",
    "report": "Write one HTML file with the verdict or the ranking, every valid configuration, its "
    "memory, rank map and timeline.",
    "stages": "Split layers that do not divide evenly over pipeline ranks: the valid splits, best "
    "balanced first.",
    "schedule": "Draw the timeline of a pipeline schedule: when each rank works and waits, and "
    "what it keeps.",
    "fixtures": "Generate test cases for a validator: what each rule rejects, its nearest accepted "
    "neighbour, both sides of each bound.",
    "models": "List the models known by name, or count the parameters of one or of a config.json.",
    "rules": "List the rules in the order in which the framework applies them, or explain one.",
    "matrix": "Write the reference matrix of modes, rules and sources, or check that it is fresh.",
    "schema": "Print the JSON schema of every answer.",
}
EXAMPLES = {
    "solve": "parsolve --world 64 --gpus-per-node 8 --moe --maximize dp",
    "check": "parsolve check --world 8 --gpus-per-node 8 --ep 4",
    "advise": "parsolve advise --model qwen3-30b-a3b --world 16 --gpu h100 --max-length 32768",
    "diff": 'parsolve diff "--world 16 --ep 8" "--world 8 --ep 8"',
    "move": 'parsolve move "--world 16 --ep 8 --gradient-accumulation-steps 8" --world 8',
    "list": "parsolve list --world 64 --gpus-per-node 8 --moe --format jsonl",
    "prove": "parsolve prove completeness",
    "memory": "parsolve memory --world 8 --ep 8 --model gpt-oss-20b --max-length 4096 --gpu h100",
    "layout": "parsolve layout --world 16 --ep 8 --ep-scope global --rank 10",
    "report": "parsolve report -o report.html --world 64 --gpus-per-node 8 --moe",
    "stages": "parsolve stages --layers 61 --pp 16",
    "schedule": "parsolve schedule --pp 4 --microbatches 8",
    "fixtures": "parsolve fixtures --profile accelerate --format pytest -o test_parallelism.py",
    "models": "parsolve models qwen3-30b-a3b",
    "rules": "parsolve rules ep-single-domain-multi-group",
    "matrix": "parsolve matrix --check",
    "schema": "parsolve schema > answer.schema.json",
}
FUNCTIONS = {
    "solve": ("solve", "solve"),
    "check": ("check", "check"),
    "advise": ("advise", "advise"),
    "diff": ("diff", "diff"),
    "move": ("move", "move"),
    "list": ("listing", "list_configurations"),
    "prove": ("prove", "prove"),
    "memory": ("memory", "memory"),
    "layout": ("layout", "layout"),
    "report": ("report", "report"),
    "stages": ("stages", "stages"),
    "schedule": ("schedule", "schedule"),
    "fixtures": ("fixtures", "fixtures"),
    "models": ("models", "models"),
    "rules": ("rules", "rules"),
    "matrix": ("matrix", "matrix"),
    "schema": ("schema", "schema"),
}
"""Module under `parsolve.cli.commands` and function of each command."""

QUOTING = frozenset({"diff", "move"})
"""Commands of which an argument may be options in quotes: behind a space they are no options."""

QUOTED = re.compile(r"-\S*\s+\S")


class FieldsCommand(TyperCommand):
    """A command with options made of fields, which help spells out."""

    profile: Profile
    """Whose fields are its options."""
    fields: Sequence[str]
    """Names of the parameters that stand for fields."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  (typer's own)
        """Help in which every option says its default."""
        from parsolve.cli.manual import spell_out  # noqa: PLC0415  (only help needs it)

        spell_out(self.profile, self.get_params(ctx))
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  (typer's own)
        """Note the order of the objectives, which parsing loses, then parse as usual."""
        from parsolve.cli import objectives  # noqa: PLC0415

        ctx.meta["arguments"] = tuple(args)
        args = self._switched(ctx, objectives.expanded(args))
        self._refuse_foreign(ctx, args)
        self._refuse_contradictions(ctx, args)
        objectives.remember(args)
        return super().parse_args(ctx, args)

    def _switched(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Switches in the frameworks' form, ``--use_hsdp true`` or ``=false``, as switches."""
        from parsolve.cli.options import switches as of_profile  # noqa: PLC0415

        known_switches = of_profile(self.profile)
        switches = {p.opts[0]: p for p in self.params if p.name in known_switches}
        result: list[str] = []
        waiting = list(args)
        while waiting:
            argument = waiting.pop(0)
            typed, has_value, value = argument.partition("=")
            name = "--" + ctx.token_normalize_func(typed[2:]) if typed[:2] == "--" else typed
            if name in switches:
                if not has_value and waiting and waiting[0].lower() in {"true", "false"}:
                    has_value, value = "=", waiting.pop(0)
                if has_value and value.lower() in {"true", "false"}:
                    known = switches[name]
                    argument = (known.opts if value.lower() == "true" else known.secondary_opts)[0]
            result.append(argument)
        return result

    def _refuse_foreign(self, ctx: Any, args: list[str]) -> None:  # noqa: ANN401
        """An option of another profile: say what it is called here, or whose it is."""
        from parsolve.constraints.elsewhere import counterpart, elsewhere  # noqa: PLC0415

        known = {name for p in self.params for name in (*p.opts, *p.secondary_opts)}
        for argument in args:
            typed = argument.partition("=")[0]
            if typed[:2] != "--" or "--" + ctx.token_normalize_func(typed[2:]) in known:
                continue
            word = typed[2:].removeprefix("no-")
            field = counterpart(self.profile, word)
            if field is not None and f"--{field.flag}" in known:
                ctx.fail(f"No such option: {typed}. Did you mean --{field.flag}?")
            if field is None and (whose := elsewhere(self.profile, word)):
                ctx.fail(f"No such option: {typed}{whose}.")

    def _refuse_contradictions(self, ctx: Any, args: list[str]) -> None:  # noqa: ANN401
        """An option that takes one value must not be given two different ones."""
        option_of: dict[str, Any] = {}
        for parameter in self.params:
            if not getattr(parameter, "multiple", False):
                option_of |= dict.fromkeys((*parameter.opts, *parameter.secondary_opts), parameter)
        seen: dict[str, str] = {}
        for position, argument in enumerate(args):
            typed, has_value, value = argument.partition("=")
            name = "--" + ctx.token_normalize_func(typed[2:]) if typed[:2] == "--" else typed
            known = option_of.get(name)
            if known is None:
                continue
            if known.secondary_opts or getattr(known, "is_flag", False):
                said = name
            else:
                said = value if has_value else "".join(args[position + 1 : position + 2])
            before = seen.setdefault(known.name, said)
            if before != said:
                both = (
                    f"{before} and {said}" if before[:2] == "--" else f"{name} {before} and {said}"
                )
                ctx.fail(f"contradictory options: {both}; give one")


class Commands(TyperGroup):
    """Lists commands by name and summary; builds the one that runs."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002  (typer's own)
        """Every command, in the order of its help."""
        return list(SUMMARIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002
        """A stand-in that knows its summary: enough to be listed."""
        if cmd_name not in SUMMARIES:
            return None
        return TyperCommand(name=cmd_name, help=SUMMARIES[cmd_name], callback=lambda: None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401
        """The command to run, built from its module."""
        self.commands = {n: self.get_command(ctx, n) for n in SUMMARIES}  # for "did you mean"
        name, command, rest = super().resolve_command(ctx, args)
        if name in QUOTING:
            rest = [f" {each}" if QUOTED.match(each) else each for each in rest]
        # completion may ask for any option of the profile, as help does
        used = [*rest, "--help"] if ctx.resilient_parsing else rest
        return name, build(str(name), used) if command is not None else None, rest


def build(name: str, arguments: Sequence[str] | None) -> Any:  # noqa: ANN401  (typer's own)
    """The command with the options that the arguments need, or with all."""
    module, function = FUNCTIONS[name]
    body: Callable[..., None] = getattr(import_module(f"parsolve.cli.commands.{module}"), function)
    text = f"{SUMMARIES[name]}\n\nExample: {EXAMPLES[name]}"
    return command(name, body, text, arguments)


def command(
    name: str, body: Callable[..., None], text: str, arguments: Sequence[str] | None
) -> Any:  # noqa: ANN401  (typer's own)
    """A command that does this, with the options that the arguments need, or with all."""
    from parsolve.cli.options import context, default_profile, profile_of, with_options  # noqa: PLC0415

    profile = profile_of(arguments, default_profile(body, arguments))
    run = with_options(body, arguments)
    single = typer.Typer(add_completion=False, rich_markup_mode="rich")
    single.command(name, help=text, cls=FieldsCommand, context_settings=context(profile))(run)
    built: Any = typer.main.get_command(single)
    built.profile = profile
    built.fields = getattr(run, "fields", ())
    for parameter in built.params:
        if parameter.param_type_name == "argument":  # as it is written, required or not
            parameter.make_metavar = partial(_as_written, parameter.metavar)
    return built


def _as_written(metavar: str, *_: object, **__: object) -> str:
    return metavar


def _version(value: bool) -> None:
    if value:
        import sys  # noqa: PLC0415
        from importlib.metadata import version  # noqa: PLC0415

        sys.stdout.write(f"parsolve {version('parsolve')}\n")
        raise typer.Exit


app = typer.Typer(
    name="parsolve",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Which parallelism configurations are valid on your cluster, why not, what is nearest, "
    "and which is best. Without a command, [bold]solve[/] is meant.",
    epilog="Exit codes: 0 yes (accepted, found, proved), 1 no (rejected, conflict, refuted), "
    "2 misuse, 3 undecided (a time limit passed).",
)


@app.callback()
def _common(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Set up nothing: every command stands alone."""
