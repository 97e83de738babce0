"""What ``parsolve prove`` does: choosing statements, deciding them, showing what came out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from parsolve.cli.options import UsageError
from parsolve.cli.output import FileError
from parsolve.cli.screen import Screen
from parsolve.cli.table import show_table
from parsolve.cli.wording import option
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import suggestion
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Proof, Proofs, Recheck
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove.answers import proof, proofs
from parsolve.solver.prove.completeness import Comparison
from parsolve.solver.prove.obligation import UNBOUNDED, Obligation
from parsolve.solver.prove.run import FAMILIES, Result, decided
from parsolve.solver.prove.smtlib import Script, Solver, emit, recheck, scripts
from parsolve.solver.prove.validator import Validator, loaded

STYLE = {"proved": "green", "refuted": "red", "undecided": "yellow"}
AGAINST = "against"


def chosen(
    profile: Profile,
    names: Sequence[str],
    against: str | None,
    mapped: Sequence[str],
    pins: Mapping[str, object],
) -> list[Obligation]:
    """The statements that the user asks for."""
    if against is None:
        if mapped or pins:
            message = "--map and fields of a configuration go with --against"
            raise UsageError(message)
        return _named(profile, names)
    if names:
        message = "with --against, no family is named: it compares the whole validator"
        raise UsageError(message)
    _import_from_here()
    validator = Validator(loaded(against), profile, dict(map(_mapping, mapped)))
    return list(Comparison(profile, validator, AGAINST, pins).obligations())


def _import_from_here() -> None:
    """Modules of the current folder can be named, as with ``python -m``."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def _mapping(text: str) -> tuple[str, str]:
    parameter, equals, field = text.partition("=")
    if not equals or not parameter or not field:
        message = f"--map takes PARAMETER=FIELD, got {text!r}"
        raise UsageError(message)
    return parameter, field


def _named(profile: Profile, names: Sequence[str]) -> list[Obligation]:
    wanted = list(names) or list(FAMILIES)
    found: dict[str, Obligation] = {}
    for name in wanted:
        family, _, single = name.partition("/")
        if family not in FAMILIES:
            message = f"no family {name!r}{suggestion(name, tuple(FAMILIES))}"
            raise UsageError(message)
        _, make = FAMILIES[family]
        every = {obligation.name: obligation for obligation in make(profile)}
        if single:
            under = {n: o for n, o in every.items() if n == name or n.startswith(f"{name}/")}
            if not under:
                message = f"no statement {name!r}{suggestion(name, tuple(every))}"
                raise UsageError(message)
            every = under
        found |= every
    return list(found.values())


def results(obligations: Sequence[Obligation], deadline: Deadline) -> list[Result]:
    """Decide them, with progress on a terminal."""
    found: list[Result] = []
    with _progress(len(obligations)) as step:
        for result in decided(obligations, deadline):
            found.append(result)
            step(result.obligation.name)
    return found


@contextmanager
def _progress(steps: int) -> Iterator[Any]:
    if steps <= 1 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("proving", total=steps)
        yield lambda name: bar.update(task, advance=1, description=name)


def questions(found: Sequence[Result]) -> list[Script]:
    """What was asked of Z3, as files."""
    return scripts(found)


def second_solver(name: str) -> Solver:
    """The solver to ask for a second opinion, before anything is proved in vain."""
    return Solver(name)


def second_opinion(asked: Sequence[Script], solver: Solver) -> Recheck:
    """What another solver says of the same questions."""
    return recheck(asked, solver)


def writable(folder: Path) -> None:
    """Make the folder, so that nothing is proved in vain where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _trouble(folder, error) from None


def written(asked: Sequence[Script], folder: Path) -> None:
    """Write the questions as files."""
    try:
        count = emit(asked, folder)
    except OSError as error:
        raise _trouble(folder, error) from None
    sys.stderr.write(f"parsolve: wrote {count} files to {folder}\n")


def _trouble(folder: Path, error: OSError) -> FileError:
    return FileError(f"cannot write to {folder}: {error.strerror or error}")


def answer(
    profile: Profile,
    found: Sequence[Result],
    seconds: float,
    against: str | None,
    second: Recheck | None,
) -> Proofs:
    """Everything in public form."""
    return proofs(profile, list(map(proof, found)), seconds, against=against, recheck=second)


def show(answer: Proofs, *, verbose: bool) -> None:
    """A line for each family, and whatever is not proved."""
    screen = Screen()
    subject = f"the validator {answer.against}" if answer.against else "the rules"
    total = len(answer.obligations)
    screen.headline(
        answer.status,
        f"[{answer.profile}] {total} statement{'s' * (total != 1)} about {subject}, "
        f"{answer.seconds:.1f} s",
        STYLE[answer.status],
    )
    groups = groupby(answer.obligations, key=lambda each: each.name.partition("/")[0])
    rows = [_row(family, list(group)) for family, group in groups]
    headings = ("family", "proved", "refuted", "undecided", "seconds", "scope")
    show_table(screen, headings, rows)
    if answer.recheck is not None:
        _show_recheck(screen, answer.recheck)
    for position, (name, why) in enumerate((answer.out_of_reach or {}).items()):
        screen.entry("held" if position == 0 else "", f"{name}, at its default here: {why}")
    for position, words in enumerate(answer.assumed or ()):
        screen.entry("assumed" if position == 0 else "", words)
    for each in answer.obligations:
        if verbose or each.status != "proved":
            _show_one(screen, answer.profile, each, verbose=verbose)


def _row(family: str, group: Sequence[Proof]) -> tuple[str, ...]:
    counts = [sum(each.status == status for each in group) for status in STYLE]
    scopes = {each.scope for each in group}
    scope = UNBOUNDED if scopes == {UNBOUNDED} else "partly bounded"
    seconds = sum(each.seconds for each in group)
    return (family, *map(str, counts), f"{seconds:.1f}", scope)


def _show_recheck(screen: Screen, second: Recheck) -> None:
    text = f"{second.solver} confirms {second.confirmed}, does not decide {second.unknown}"
    if second.contradicted:
        text += f", contradicts {', '.join(second.contradicted)}"
    screen.entry("recheck", text)


def _show_one(screen: Screen, profile: str, each: Proof, *, verbose: bool) -> None:
    screen.line()
    screen.headline(each.status, each.name, STYLE[each.status])
    screen.entry("says", each.says)
    if each.note:
        screen.entry("found", each.note)
    if each.scope != UNBOUNDED:
        screen.entry("scope", each.scope)
    if each.counterexample is not None:
        screen.entry(
            "differs at" if each.name.startswith(AGAINST) else "fails at",
            _flags(profile, each.counterexample),
        )
    elif each.witness is not None:
        screen.entry("at", _flags(profile, each.witness))
    for mutant in each.mutants or ():
        if verbose or mutant.outcome == "survived":
            screen.entry(mutant.outcome, mutant.name)


def _flags(profile: str, config: Mapping[str, Any]) -> str:
    """The configuration as options of ``parsolve check``."""
    fields = PROFILES[profile].field_of
    return " ".join(
        option(fields[name], value) if name in fields else f"{name} = {value}"
        for name, value in config.items()
    )
