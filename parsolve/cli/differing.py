"""A difference as text: what was, beside what is, in the words of each side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from parsolve.cli.files import format_of
from parsolve.cli.screen import OPEN, YES, Screen
from parsolve.cli.table import show_table
from parsolve.cli.wording import cluster, listed
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Bytes, Field, gib
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import (
    Difference,
    GroupChange,
    GroupKind,
    QuantityChange,
    Rejected,
    SettingChange,
    Side,
    Spelled,
)

ABSENT = "-"
LONG = 100_000
"""Numbers from here on are read in groups of digits."""


def show_difference(screen: Screen, answer: Difference) -> None:
    """The two sides, and tables of what changes."""
    if answer.status == "same":
        screen.headline("same", "nothing differs that has an effect", YES)
    else:
        screen.headline("differ", ", ".join(summary(answer)), OPEN)
    show_sides(screen, answer, ("A", "B"))
    show_changes(screen, answer, ("A", "B"))


def summary(answer: Difference) -> Iterable[str]:
    """What people look for first: GPUs, data-parallel size, global batch; then how much else."""
    profiles = [_profile(side) for side in (answer.before, answer.after)]
    worlds = [
        side.detail.config[profile.world]
        for side, profile in zip((answer.before, answer.after), profiles, strict=True)
    ]
    yield f"{arrow(*worlds)} GPUs" if worlds[0] != worlds[1] else f"{worlds[0]} GPUs"
    dp = next((each for each in answer.quantities if each.name == "data_parallel_size"), None)
    if dp is not None:
        yield f"dp {arrow(dp.before, dp.after)}"
    yield from batch_words(answer)
    if any(each.name == "total" for each in answer.memory):
        total = next(each for each in answer.memory if each.name == "total")
        yield f"memory {arrow(_bytes(total.before), _bytes(total.after))}"


def batch_words(answer: Difference) -> Iterable[str]:
    """The samples of a step, and their tokens, whether they change or not."""
    one, two = answer.before, answer.after
    if one.global_batch is None or two.global_batch is None:
        return
    tokens = ""
    if one.tokens is not None and two.tokens is not None:
        both = dict.fromkeys((f"{one.tokens:,}", f"{two.tokens:,}"))
        tokens = f" ({' -> '.join(both)} tokens)"
    yield f"global batch {_kept(one.global_batch, two.global_batch)}{tokens}"


def _kept(before: int, after: int) -> str:
    return f"{before:,} as before" if before == after else arrow(f"{before:,}", f"{after:,}")


def arrow(before: object, after: object) -> str:
    """A value that changes."""
    return f"{before} -> {after}"


def show_sides(screen: Screen, answer: Difference, labels: Sequence[str]) -> None:
    """Each side with its verdict and its cluster; rules that one breaks and the other does not."""
    for label, side in zip(labels, (answer.before, answer.after), strict=True):
        screen.entry(label, f"{side.name}: {verdict_words(side)}")
    second = answer.after.detail
    because = {v.rule: v.because for v in getattr(second, "violations", ())}
    for rule in answer.violated:
        screen.entry("violated", f"{rule}: {because[rule]}")
    if answer.cured:
        screen.entry("cured", ", ".join(answer.cured))
    if answer.warned:
        screen.entry("warned", ", ".join(answer.warned))
    if answer.unwarned:
        screen.entry("no longer", ", ".join(answer.unwarned))


def verdict_words(side: Side) -> str:
    """The verdict on a side, by whose rules, and its cluster."""
    detail, profile = side.detail, _profile(side)
    rules = ""
    if isinstance(detail, Rejected):
        more = len(detail.violations) - 1
        rules = f" {detail.violations[0].rule}" + (f" and {more} more" if more else "")
    on = cluster(profile, detail.config, detail.derived)
    return f"{detail.answer} [{profile.name}]{rules} on {on}"


def show_changes(screen: Screen, answer: Difference, labels: Sequence[str]) -> None:
    """Settings, quantities, memory and groups that change, a table each."""
    real = [each for each in answer.settings if each.matters]
    _table(screen, ("setting", *labels), [_setting_row(answer, each) for each in real])
    _table(screen, ("quantity", *labels), [_row(each, _quantity) for each in answer.quantities])
    _table(
        screen,
        ("memory", *labels, "change"),
        [(*_row(each, _bytes), _moved(each)) for each in answer.memory],
    )
    _table(
        screen,
        ("groups", "number x size", "leave node", "leave domain"),
        [_group_row(each) for each in answer.groups if _is_shared(each)],
    )
    idle = [_setting_row(answer, each) for each in answer.settings if not each.matters]
    if idle or answer.apart or answer.groups_unknown:
        screen.line()
    for name, *values in idle:
        screen.entry("no effect", f"{name}: {arrow(*values)}")
    if answer.apart:
        screen.entry("apart", f"{', '.join(answer.apart)}: the other framework has no such setting")
    if answer.groups_unknown:
        screen.entry("groups", f"not compared: {answer.groups_unknown}")


def _table(screen: Screen, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if rows:
        screen.line()
        show_table(screen, headings, rows)


def _profile(side: Side) -> Profile:
    return PROFILES[side.detail.profile]


def _setting_row(answer: Difference, change: SettingChange) -> tuple[str, str, str]:
    sides = ((answer.before, change.before), (answer.after, change.after))
    words = dict.fromkeys(word_for(side, each) for side, each in sides if each is not None)
    one, two = (ABSENT if each is None else _spelled(side, each) for side, each in sides)
    return " / ".join(words), one, two


def word_for(side: Side, spelled: Spelled) -> str:
    """What a side calls a setting: its key in the file, or the option."""
    if spelled.key is not None:
        return spelled.key
    field = _profile(side).field_of[spelled.of]
    if side.format is not None and (path := format_of(side).path_of(field)):
        return path
    return f"--{field.flag}" if field.flag else field.name


def _spelled(side: Side, spelled: Spelled) -> str:
    field = _profile(side).field_of[spelled.of]
    text = value_text(field, spelled.value)
    if spelled.effective != spelled.value:
        text += f" = {value_text(field, spelled.effective)}"
    return f"{text} (line {spelled.line})" if spelled.line is not None else text


def value_text(field: Field, value: Any) -> str:  # noqa: ANN401  (whatever a field holds)
    """A value of a field, in few characters."""
    if value is None:
        return "unset"
    if isinstance(field, Bytes):
        return gib(value)
    if value == 0 and (word := getattr(field, "zero", "")):
        return str(word)
    return _quantity(value)


def _quantity(value: Any) -> str:  # noqa: ANN401  (whatever is derived)
    match value:
        case None:
            return ABSENT
        case bool():
            return str(value).lower()
        case int() if abs(value) >= LONG:
            return f"{value:,}"
        case list() | tuple():
            return listed(list(value))
        case _:
            return str(value)


def _row(change: QuantityChange, text: Callable[[Any], str]) -> tuple[str, str, str]:
    return change.name, text(change.before), text(change.after)


def _bytes(size: int | None) -> str:
    return ABSENT if size is None else gib(size)


def _moved(change: QuantityChange) -> str:
    if change.before is None or change.after is None:
        return ""
    more = change.after - change.before
    return f"{'+' if more > 0 else '-'}{gib(abs(more))}"


def _is_shared(change: GroupChange) -> bool:
    """Whether a group has several ranks: who is alone talks to nobody."""
    return any(kind is not None and kind.size > 1 for kind in (change.before, change.after))


def _group_row(change: GroupChange) -> tuple[str, ...]:
    sides = (change.before, change.after)
    return (
        change.name,
        _both(sides, lambda kind: f"{kind.count} x {kind.size}"),
        _both(sides, lambda kind: str(kind.across_nodes)),
        _both(sides, lambda kind: str(kind.across_domains)),
    )


def _both(sides: Sequence[GroupKind | None], text: Callable[[GroupKind], str]) -> str:
    one, two = (ABSENT if kind is None else text(kind) for kind in sides)
    return one if one == two else arrow(one, two)
