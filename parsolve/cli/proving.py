"""What ``parsolve prove`` does: choosing statements, deciding them, showing what came out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

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
from parsolve.solver.jobs import in_order
from parsolve.solver.prove.answers import proof, proofs
from parsolve.solver.prove.completeness import Comparison
from parsolve.solver.prove.obligation import UNBOUNDED, Finding, Obligation
from parsolve.solver.prove.run import FAMILIES, Result, decided
from parsolve.solver.prove.smtlib import Script, Solver, emit, recheck, scripts
from parsolve.solver.prove.validator import Validator, loaded

STYLE = {"proved": "green", "refuted": "red", "undecided": "yellow"}
AGAINST = "against"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The statements that the user asks for, as any process can make them."""

    profile: str
    names: tuple[str, ...] = ()
    against: str | None = None
    mapped: tuple[str, ...] = ()
    pins: tuple[tuple[str, object], ...] = ()

    def obligations(self) -> list[Obligation]:
        """The statements. Raises `UsageError`."""
        profile = PROFILES[self.profile]
        if self.against is None:
            if self.mapped or self.pins:
                message = "--map and fields of a configuration go with --against"
                raise UsageError(message)
            return _named(profile, self.names)
        if self.names:
            message = "with --against, no family is named: it compares the whole validator"
            raise UsageError(message)
        _import_from_here()
        validator = Validator(loaded(self.against), profile, dict(map(_mapping, self.mapped)))
        return list(Comparison(profile, validator, AGAINST, dict(self.pins)).obligations())


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


@dataclass(frozen=True, slots=True)
class _Task:
    """One statement of a question: its place, when to end (seconds since 1970), what to return.

    ``asked`` tells apart two times that the same is asked: the user's validator may be another.
    """

    question: Question
    asked: bytes
    place: int
    end: float | None
    scripted: bool


def results(
    question: Question, deadline: Deadline, jobs: int = 1, *, scripted: bool = False
) -> tuple[list[Result], list[Script]]:
    """Decide all statements, with progress on a terminal.

    If ``scripted``, also what was asked of Z3, as files. Raises `UsageError`, or `WorkerDied`.
    """
    obligations = question.obligations()
    end = None if deadline.left is None else time.time() + deadline.left
    asked_now = os.urandom(16)
    tasks = [_Task(question, asked_now, n, end, scripted) for n in range(len(obligations))]
    found: list[Result] = []
    asked: list[Script] = []
    with _progress(len(obligations)) as step:
        for obligation, (finding, seconds, texts) in zip(
            obligations, _in_order(obligations, tasks, jobs), strict=True
        ):
            found.append(Result(obligation, finding, seconds))
            asked += texts
            step(obligation.name)
    return found, asked


_Decided: TypeAlias = tuple[Finding, float, list[Script]]


def _in_order(
    obligations: Sequence[Obligation], tasks: Sequence[_Task], jobs: int
) -> Iterator[_Decided]:
    if jobs == 1 or len(tasks) <= 1:
        return map(_decided, obligations, tasks)
    return in_order(_decided_elsewhere, tasks, jobs)


@lru_cache(maxsize=1)
def _obligations(question: Question, _: bytes) -> list[Obligation]:
    return question.obligations()


def _decided_elsewhere(task: _Task) -> _Decided:
    return _decided(_obligations(task.question, task.asked)[task.place], task)


def _decided(obligation: Obligation, task: _Task) -> _Decided:
    """What became of a statement, without terms of Z3: they stay in the process that has them."""
    limit = None if task.end is None else max(0.0, task.end - time.time())
    (result,) = decided([obligation], Deadline(limit))
    texts = scripts([result]) if task.scripted else []
    return replace(result.finding, goals=()), result.seconds, texts


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
