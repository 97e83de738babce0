"""Command line options made from a profile's fields: a field is written once."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, get_type_hints

import typer

from parsolve import MOST_WORLDS
from parsolve.cli.completion import Completer, offers
from parsolve.constraints import DEFAULT_PROFILE, PROFILES
from parsolve.constraints.fields import Bytes, Choice, Field, Flag, Size, Sizes
from parsolve.constraints.profile import Profile

ALL = "all"
"""What `parsolve check` takes for every profile at once."""

TORCHRUN = {"nproc_per_node": "nproc-per-node"}
"""Options that torchrun spells with underscores too."""

TAKE_PATHS = frozenset({"-o", "--output", "--jsonl", "--model"})
"""Options whose value may name a file that is no configuration."""

GIVEN = "given"

UNSET = "unset"
"""How answers and options spell that an optional number is not given."""

UNSAID = ("unknown", "unspecified")
"""Labels for what nobody said: no value to choose."""

WORD = re.compile(r"[\w+-]+")
"""A word of help that may be a label."""

SHORT_CHOICES = 160
"""Labels of so many characters together are spelled out in help."""


class UsageError(typer.BadParameter):
    """Misuse that is no fault of one option's text; exits with 2."""


def spelled_as_option(profile: Profile, name: str) -> str:
    """A framework's or file's spelling of an option, as parsolve spells it."""
    plain = name.replace("-", "_")
    if plain.startswith("no_") and (rest := spelled_as_option(profile, plain[3:])) != plain[3:]:
        return f"no-{rest}"
    field = profile.field_of.get(profile.spellings.get(plain, ""))
    if field is not None and field.flag:
        return field.flag
    off = (f"no-{field.flag}" for field in profile.fields if _switches_off(field, plain))
    return next(off, TORCHRUN.get(plain, name))


def _switches_off(field: Field, plain: str) -> bool:
    return (
        isinstance(field, Flag) and bool(field.flag) and field.launch_off.replace("-", "_") == plain
    )


def switches(profile: Profile) -> dict[str, bool]:
    """Fields that are on or off, and which of the two they are by default."""
    return {field.name: field.default for field in profile.fields if isinstance(field, Flag)}


def context(profile: Profile) -> dict[str, object]:
    """How every command reads its arguments."""
    return {
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": partial(spelled_as_option, profile),
    }


def takes_fields(command: Callable[..., None]) -> Callable[..., None]:
    """Mark a command that takes an option per field, collected in its parameter ``given``.

    ``given`` maps field names to values for what the user typed; nothing else is in it.
    """
    command.takes_fields = True  # type: ignore[attr-defined]
    return command


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Mark a command whose arguments may be files: their profile's fields are its options."""
    command.reads_files = True  # type: ignore[attr-defined]
    return command


def default_profile(command: Callable[..., None], arguments: Sequence[str] | None) -> str:
    """The profile whose fields a command takes where none is named; empty for the default one."""
    if hasattr(command, "reads_files") and arguments:
        return profile_of_file(arguments)
    return str(getattr(command, "speaks", ""))


def with_options(
    command: Callable[..., None], arguments: Sequence[str] | None
) -> Callable[..., None]:
    """The command with the options of the fields that these arguments may name.

    All of them for help, and where an option is unknown, so that typing errors find their
    neighbours; else only those that are used, since making eighty takes a while.
    """
    if not hasattr(command, "takes_fields"):
        return command
    profile = profile_of(arguments, default_profile(command, arguments))
    hints = get_type_hints(command, include_extras=True)
    kept = [
        p.replace(annotation=hints[p.name])
        for p in inspect.signature(command).parameters.values()
        if p.name != GIVEN
    ]
    own = {p.name.replace("_", "-") for p in kept}
    used = None if arguments is None else _used(profile, arguments, own)
    options = [
        _parameter(field)
        for field in profile.fields
        if field.flag and field.name != profile.world and (used is None or field.name in used)
    ]
    names = [p.name for p in options]

    def run(**values: Any) -> None:  # noqa: ANN401  (typer passes what it parsed)
        typed = {name: values.pop(name) for name in names}
        kinds = {
            offer.given: offer.value if said else offer.otherwise
            for offer in profile.offers
            if (said := values.pop(offer.value)) is not None
        }
        command(**values, given=_given(profile, typed) | kinds)

    parameters = [*kept[:2], *options, *_kinds(profile), *kept[2:]]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__doc__ = command.__doc__
    run.__name__ = command.__name__
    run.fields = (*names, *(o.value for o in profile.offers))  # type: ignore[attr-defined]
    return run


def speaks(profile: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Mark a command whose own options are spelled as this profile's fields are."""

    def marked(command: Callable[..., None]) -> Callable[..., None]:
        command.speaks = profile  # type: ignore[attr-defined]
        return command

    return marked


def profile_of(arguments: Sequence[str] | None, default: str = "") -> Profile:
    """The profile that the arguments name: its fields are the options. Else the default one."""
    given = arguments or ()
    named = default = default or DEFAULT_PROFILE
    for position, argument in enumerate(given):
        option, has_value, value = argument.partition("=")
        if option == "--profile":
            named = value if has_value else "".join(given[position + 1 : position + 2])
    if named == ALL:
        from parsolve.solver.compare import every  # noqa: PLC0415  (it loads every profile)

        return every()
    return PROFILES[named if named in PROFILES else default]


def profile_of_file(arguments: Sequence[str]) -> str:
    """The profile of the first argument that is a configuration file; empty if none is."""
    for before, argument in pairwise(("", *arguments)):
        is_value = argument.startswith("-") or before in TAKE_PATHS
        if not is_value and os.path.isfile(argument):  # noqa: PTH113  (pathlib raises)
            from parsolve.solver.files.document import FileProblem  # noqa: PLC0415
            from parsolve.solver.files.reading import contents, read  # noqa: PLC0415

            try:
                return read(argument, contents(argument)).profile.name
            except FileProblem:
                continue
    return ""


def _used(profile: Profile, arguments: Sequence[str], own: set[str]) -> set[str] | None:
    """Fields that the arguments name; None if any argument is neither a field nor ``own``."""
    fields: set[str] = set()
    for argument in arguments:
        if argument.startswith("-") and not argument.lstrip("-").isdecimal():
            flag = argument.partition("=")[0].lstrip("-")
            if flag in own or any(flag in {o.value, o.otherwise} for o in profile.offers):
                continue
            name = profile.spellings.get(flag.removeprefix("no-").replace("-", "_"))
            if name is None:
                return None
            fields.add(name)
    return fields


def _kinds(profile: Profile) -> list[inspect.Parameter]:
    """A pair of switches for each offer, such as ``--moe`` and ``--dense``."""
    return [
        inspect.Parameter(
            offer.value,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                bool | None,
                typer.Option(
                    f"--{offer.value}/--{offer.otherwise}",
                    help=offer.about,
                    rich_help_panel=profile.field_of[offer.given].panel,
                    show_default=offer.unknown,
                ),
            ],
        )
        for offer in profile.offers
    ]


def _parameter(field: Field) -> inspect.Parameter:
    name = f"--{field.flag}"
    kind: Any
    metavar: str | None = None
    match field:
        case Flag():
            kind, name, metavar = bool | None, f"--{field.flag}/--no-{field.flag}", " "
        case Bytes():
            kind, metavar = str | None, "SIZE"
        case Size():
            kind, metavar = int | None, "N"
        case Choice():
            kind, metavar = str | None, "NAME"
        case Sizes():
            kind, metavar = str | None, "N,N" if type(field) is Sizes else "TEXT"
    option = typer.Option(
        name,
        parser=_number_or_unset
        if isinstance(field, Size) and field.optional and metavar == "N"
        else None,
        help=_help(field),
        rich_help_panel=field.panel,
        metavar=metavar,
        show_default=_default_words(field),
        autocompletion=_completion(field),
    )
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind, option],
    )


def _completion(field: Field) -> Completer | None:
    """What a shell offers as the field's value."""
    if not isinstance(field, Choice):
        return None
    choices = [label for label in field.choices if label not in UNSAID]
    return offers(lambda _: choices)


def _number_or_unset(text: str) -> int | str:
    """``4096``, or ``unset`` as answers say it."""
    try:
        return text if text == UNSET else int(text)
    except ValueError:
        message = f"{text!r:.60} is not a valid int."
        raise typer.BadParameter(message) from None


def _help(field: Field) -> str:
    if isinstance(field, Flag):
        return f"Switch off: {field.about}" if field.default else field.about
    if isinstance(field, Choice) and len(" ".join(field.choices)) <= SHORT_CHOICES:
        choices = [label for label in field.choices if label not in UNSAID]
        if not {*choices} <= {*WORD.findall(field.about)}:
            return f"{field.about} One of {', '.join(choices)}."
    return field.about


def _default_words(field: Field) -> str:
    if isinstance(field, Flag):
        return "on" if field.default else "off"
    return UNSET if field.default is None else str(field.default)


def _given(profile: Profile, typed: Mapping[str, Any]) -> dict[str, object]:
    given: dict[str, object] = {}
    for name, value in typed.items():
        if value is None:
            continue
        field = profile.field_of[name]
        if value == UNSET and isinstance(field, (Size, Sizes)):
            given[name] = None
        else:
            given[name] = numbers(field, value) if type(field) is Sizes else value
    return given


def numbers(field: Sizes, text: str) -> list[int]:
    """``4,4,8`` as a list."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        message = f"--{field.flag} takes integers separated by commas, got {text!r:.60}"
        raise UsageError(message) from None


def with_environment(profile: Profile, given: Mapping[str, object]) -> dict[str, object]:
    """Add what the framework itself would take from the environment.

    A value that the framework ignores becomes what the field says, which a warning reports.
    """
    found: dict[str, object] = {}
    for field in profile.fields:
        if isinstance(field, Size) and field.env and field.name not in given:
            text = os.environ.get(field.env)
            if text is None:
                continue
            try:
                value = int(text)
            except ValueError:
                value = -1
            if value > 0 or (value == 0 and not field.ignored):
                found[field.name] = value
            elif field.ignored:
                found[field.name] = field.ignored
    return {**found, **given}


def worlds(text: str) -> list[int]:
    """``64``, ``8,16,32`` or ``8..512`` (both ends included) as a list of worlds."""
    return ranges(text, "--world", ("world", "worlds"), MOST_WORLDS)


def ranges(text: str, option: str, noun: tuple[str, str], most: int) -> list[int]:
    """Numbers, lists and ranges as a list of at most so many; ``noun`` is one and several."""
    one, several = noun
    found: list[int] = []
    for part in text.split(","):
        low, dots, high = part.partition("..")
        try:
            first, last = int(low), int(high if dots else low)
        except ValueError:
            message = f"a {one} is a number, a list (8,16) or a range (8..512), got {part!r:.60}"
            raise UsageError(message, param_hint=f"'{option}'") from None
        if last < first:
            message = f"the range {part} is empty: write the smaller {one} first"
            raise UsageError(message, param_hint=f"'{option}'")
        if last - first >= most or len(found) + last - first >= most:
            message = f"at most {most:,} {several} at once"
            raise UsageError(message, param_hint=f"'{option}'")
        found.extend(range(first, last + 1))
    return sorted(dict.fromkeys(found))


def profile_named(name: str) -> Profile:
    """The profile, or a usage error naming those there are."""
    if name not in PROFILES:
        known = ", ".join(PROFILES) + (" (only parsolve check takes all)" if name == ALL else "")
        message = f"no profile {name!r}; there are: {known}"
        raise UsageError(message, param_hint="'--profile'")
    return PROFILES[name]
