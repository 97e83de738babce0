"""Verdicts on files as text, in the words of the file."""

from __future__ import annotations

from functools import partial

from parsolve.cli.launching import argument, text_of
from parsolve.cli.screen import OPEN, Screen
from parsolve.cli.table import show_table
from parsolve.cli.verdicts import show_accepted, show_rejected
from parsolve.cli.wording import Vocabulary, speaking
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Field, Flag
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Accepted, Files, FileSetting, FileVerdict, Rejected, Side
from parsolve.solver.files.format import (
    ENVIRONMENT,
    GPUS_PER_NODE,
    NODES,
    WORLD,
    Format,
)
from parsolve.solver.files.formats import FORMATS


def show_files(screen: Screen, answer: Files) -> None:
    """Every file that is not plainly accepted, then a table of all; one file alone in full."""
    alone = len(answer.files) == 1 and not answer.skipped
    shown = [each for each in answer.files if alone or _has_more(each)]
    for position, verdict in enumerate(shown):
        if position:
            screen.line()
        _show_file(screen, verdict)
    if alone:
        return
    if shown:
        screen.line()
    if answer.files:
        show_table(screen, ("file", "profile", "GPUs", "verdict", "first rule"), _rows(answer))
        screen.line()
    parts = [f"{answer.accepted} accepted", f"{answer.rejected} rejected"]
    parts += [f"{answer.undecided} undecided"] if answer.undecided else []
    parts += [f"{answer.unreadable} unreadable"] if answer.unreadable else []
    parts += [f"{len(answer.skipped)} skipped, of no known format"] if answer.skipped else []
    count = len(answer.files)
    screen.line(f"{count} file{'' if count == 1 else 's'}: {', '.join(parts)}")


def name_of(verdict: FileVerdict) -> str:
    """The file's name on a screen: what is no printable character is escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in verdict.file)


def _has_more(verdict: FileVerdict) -> bool:
    warned = verdict.detail is not None and any(each.kind for each in verdict.detail.warnings)
    return verdict.verdict != "accepted" or warned or any(each.why for each in verdict.ignored)


def _rows(answer: Files) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for each in answer.files:
        world = rule = ""
        if each.detail is not None:
            world = str(each.detail.config[PROFILES[each.detail.profile].world])
        if isinstance(each.detail, Rejected):
            more = len(each.detail.violations) - 1
            rule = each.detail.violations[0].rule + (f" and {more} more" if more else "")
        rows.append((name_of(each), each.profile or "", world, each.verdict, rule))
    return rows


def _show_file(screen: Screen, verdict: FileVerdict) -> None:
    place = f":{verdict.line}:{verdict.column}" if verdict.line else ""
    if verdict.error is not None:
        screen.headline(verdict.verdict, f"{name_of(verdict)}{place}: {verdict.error}", OPEN)
        show_judge(screen, verdict)
        if verdict.verdict == "undecided":
            show_settings(screen, verdict)
        show_ignored(screen, verdict)
        return
    show_read(screen, verdict)
    with speaking(*vocabulary(verdict)):
        match verdict.detail:
            case Accepted() as accepted:
                show_accepted(screen, accepted)
            case Rejected() as rejected:
                show_rejected(screen, rejected, rule_lines(verdict))
            case None:
                pass


def show_read(screen: Screen, verdict: FileVerdict) -> None:
    """Which file it is, what was read from it, and what was not."""
    screen.line(f"{name_of(verdict)}: {format_of(verdict).title}", "bold")
    show_judge(screen, verdict)
    show_settings(screen, verdict)
    show_ignored(screen, verdict)


def show_judge(screen: Screen, verdict: FileVerdict) -> None:
    """Whose rules judge the file, where that is not the framework it is for."""
    if verdict.profile is not None and format_of(verdict).judged_by_another:
        screen.entry("judged by", PROFILES[verdict.profile].title)


def rule_lines(verdict: FileVerdict) -> dict[str, str]:
    """For each rule, the settings of the file that it reads, with their lines."""
    return {
        rule.rule: ", ".join(_placed(each.key, each.line) for each in rule.settings)
        for rule in verdict.rules
    }


def _placed(key: str, line: int | None) -> str:
    return f"{key} ({line})"


def show_settings(screen: Screen, verdict: FileVerdict) -> None:
    """What was read from the file, with line numbers; what its silence means; what options say."""
    written = [each for each in verdict.settings if each.line is not None]
    kept = [each for each in written if each.of not in verdict.overridden]
    if kept:
        said = (f"{_setting(verdict, each)} ({each.line})" for each in kept)
        screen.entry("read", ", ".join(said))
    if replaced := [each for each in written if each.of in verdict.overridden]:
        words = ", ".join(_placed(each.key, each.line) for each in replaced)
        screen.entry("replaced", f"{words}: by what the command line says")
    silent = [each for each in verdict.settings if each.line is None and each.value is not None]
    if silent:
        words = ", ".join(f"{each.of} = {each.value}" for each in silent)
        screen.entry("unsaid", f"{words}: what leaving it out means")


CLUSTER_WORDS = {NODES: "nodes {}", GPUS_PER_NODE: "GPUs per node {}", WORLD: "GPUs {}"}


def _setting(verdict: FileVerdict, setting: FileSetting) -> str:
    """A setting in the words of the file."""
    key, value, format_ = setting.key, setting.value, format_of(verdict)
    if setting.of in CLUSTER_WORDS:
        return CLUSTER_WORDS[setting.of].format(value)
    if setting.of not in format_.profile.field_of:
        return f"{key} {text_of(value)}"
    known = format_.key(key)
    if known is None or known.of != setting.of:  # what several keys say together
        return f"{setting.of} = {text_of(value)} by {key}"
    if key.startswith(ENVIRONMENT):
        return f"{key.removeprefix(ENVIRONMENT)}={value}"
    words, _ = vocabulary(verdict)
    return words(format_.profile.field_of[setting.of], value) or f"{key} {text_of(value)}"


def show_ignored(screen: Screen, verdict: FileVerdict) -> None:
    """Every line that decided nothing; those that may be a slip first."""
    for each in verdict.ignored:
        if each.why:
            screen.entry("not read", f"{each.key} ({each.line}): {each.why}")
    if rest := [_placed(each.key, each.line) for each in verdict.ignored if not each.why]:
        screen.entry("ignored", f"{', '.join(rest)}: no rule asks for them")


def format_of(verdict: FileVerdict | Side) -> Format:
    """The format of a file that has one."""
    return next(each for each in FORMATS if each.name == verdict.format)


def vocabulary(verdict: FileVerdict) -> tuple[Vocabulary, str]:
    """How a file spells a setting, and what stands between two."""
    format_, syntax = format_of(verdict), verdict.syntax
    if syntax is None or (syntax == "script" and not format_.overrides):
        return partial(_as_argument, format_.profile), " "
    own = {each.of: each.key for each in verdict.settings if each.line is not None}
    return partial(format_.setting, syntax, own=own), " " if syntax == "script" else ", "


def _as_argument(profile: Profile, field: Field, value: object) -> str:
    said = argument(profile, field, value).strip()
    if not said and isinstance(field, Flag) and field.launch and not value:
        return f"(without --{field.launch})"
    return said
