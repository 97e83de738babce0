"""Answers in words, piece by piece, for the terminal and the report alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby
from shlex import quote
from typing import Any, TypeAlias

from parsolve.cli.screen import NO, OPEN, YES
from parsolve.constraints.fields import Bytes, Field, Flag, Size, Sizes, gib, size_text
from parsolve.constraints.locality import SUFFIX
from parsolve.constraints.memory.build import MEMORY_STAGE
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import (
    Certificate,
    Conflict,
    Goal,
    Rejected,
    Repair,
    Undecided,
    Usage,
    Violation,
)

Vocabulary: TypeAlias = Callable[[Field, object], str]
"""How a setting is spelled outside of parsolve; empty where it cannot be."""

_SPEAKS: ContextVar[tuple[Vocabulary, str] | None] = ContextVar("speaks", default=None)


@contextmanager
def speaking(vocabulary: Vocabulary, between: str) -> Iterator[None]:
    """Have settings spelled so, with ``between`` between several, instead of as options."""
    token = _SPEAKS.set((vocabulary, between))
    try:
        yield
    finally:
        _SPEAKS.reset(token)


def together(settings: Iterable[str]) -> str:
    """Several settings in one line."""
    parts, speaks = list(settings), _SPEAKS.get()
    plain = speaks is None or all(part.startswith("--") for part in parts)
    return (" " if speaks is None or plain else speaks[1]).join(parts)


def option(field: Field, value: object) -> str:
    """The command line option, or the environment, that gives the field this value."""
    speaks = _SPEAKS.get()
    if speaks is not None and (said := speaks[0](field, value)):
        return said
    if not field.flag:
        if isinstance(field, Size) and field.env:
            return f"{field.env}={value}"
        return f"--{value}" if value in {"moe", "dense"} else f"({field.name} = {value})"
    if isinstance(field, Flag):
        return f"--{field.flag}" if value else f"--no-{field.flag}"
    if isinstance(field, Sizes) and isinstance(value, (list, tuple)):
        return f"--{field.flag} {quote(field.written(value))}"
    if isinstance(field, Bytes) and isinstance(value, int):
        return f"--{field.flag} {size_text(value)}"
    return f"--{field.flag} {'unset' if value is None else quote(str(value))}"


CHOSEN = frozenset({"knob", "run"})
"""Roles of what somebody chose for a run: an answer states it wherever it is off its default."""


def differences(profile: Profile, config: Mapping[str, Any], also: Iterable[str] = ()) -> str:
    """Options for what was chosen off its default, and for the fields named in ``also``."""
    wanted = set(also)
    parts = [
        option(field, config.get(field.name, field.default))
        for field in profile.fields
        if field.flag and (field.name in wanted or _is_chosen(field, config))
    ]
    return together(parts) or "(defaults)"


def _is_chosen(field: Field, config: Mapping[str, Any]) -> bool:
    return field.role in CHOSEN and config.get(field.name, field.default) != field.default


def model_facts(profile: Profile, config: Mapping[str, Any]) -> list[str]:
    """What the answer takes the model for: every fact of it that has an option."""
    kinds = {offer.given for offer in profile.offers}
    return [
        option(field, config[field.name])
        for field in profile.fields
        if field.role == "model"
        and (field.flag or field.name in kinds)
        and config.get(field.name, field.default) != field.default
    ]


def gpus(count: int) -> str:
    """So many GPUs, in words."""
    return f"{count} GPU{'s' if count != 1 else ''}"


def cluster(profile: Profile, config: Mapping[str, Any], derived: Mapping[str, Any]) -> str:
    """The cluster in words, effective sizes beside requested ones."""
    world = config[profile.world]
    limit = config.get(profile.account.limit.name) if profile.account is not None else None
    text = gpus(world) + (f" of {gib(limit)}" if limit is not None else "")
    if (nodes := derived.get(profile.nodes)) is not None:
        text += f", {nodes} node{'s' if nodes != 1 else ''} of {derived[profile.node]}"
    if (domain := derived.get(profile.domain)) is not None:
        text += f", NVLink domain {domain}"
    return text


def effective(profile: Profile, config: Mapping[str, Any], derived: Mapping[str, Any]) -> str:
    """Requested values that resolved to something else."""
    parts = []
    for field in profile.fields:
        name = field.name
        if name in derived and name in config and derived[name] != config[name]:
            if isinstance(config[name], int) and config[name] < 0:
                continue
            asked = (config[name] == 0 and getattr(field, "zero", "")) or config[name]
            asked = "unset" if asked is None else asked
            parts.append(f"{name} = {derived[name]} (requested {asked})")
    return ", ".join(parts)


def quantities(derived: Mapping[str, Any]) -> str:
    """The derived quantities that are numbers, labels or lists; a list says which groups cross."""
    return ", ".join(
        f"{name} = {listed(value) if isinstance(value, list) else value}"
        for name, value in derived.items()
        if not isinstance(value, bool) and not name.endswith(SUFFIX)
    )


def listed(entries: list[Any]) -> str:
    """Entries in order, equal neighbours once with how often: ``3, 4 x 14, 2``; ``-`` for none."""
    words = ["+".join(map(str, e)) if isinstance(e, list) else str(e) for e in entries]
    runs = [(word, len(list(equal))) for word, equal in groupby(words)]
    return ", ".join(f"{word} x {n}" if n > 1 else word for word, n in runs) or "-"


STATES = {
    "fits": ("fits", YES),
    "near": ("near the limit", OPEN),
    "over": ("does not fit", NO),
}


def usage_words(usage: Usage) -> str:
    """The total against the limit, and its largest parts."""
    parts = sorted(
        ((n, size) for n, size in usage.bytes.items() if n not in {"allocated", "total"}),
        key=lambda part: -part[1],
    )
    largest = ", ".join(f"{name.replace('_', ' ')} {gib(size)}" for name, size in parts[:3] if size)
    against = f" of {gib(usage.limit)}" if usage.limit is not None else ""
    word = f"{STATES[usage.state][0]}: " if usage.state else ""
    return f"{word}{gib(usage.bytes['total'])}{against} on the fullest GPU ({largest}, ...)"


def unjudged_words(profile: Profile, config: Mapping[str, Any]) -> Iterator[str]:
    """What else to give, so that the rules that wait for it can judge."""
    from parsolve.solver.unjudged import unjudged  # noqa: PLC0415  (a rejection needs it not)

    for name, rules in unjudged(profile.config(config)).items():
        yield f"{', '.join(rules)}: give --{profile.field_of[name].flag}"


def rule_facts(
    profile: Profile, violation: Violation, *, first: bool = False
) -> list[tuple[str, str]]:
    """What is said of a violated rule; of the first one, also which stages let it pass."""
    return [
        ("stage", stage_words(profile, violation.stage, first=first)),
        ("why", violation.reason),
        ("because", violation.because),
        ("remedy", violation.remedy),
        ("source", violation.source),
    ]


def stage_words(profile: Profile, stage: str, *, first: bool = False) -> str:
    """A stage and what happens in it; of the first violation, also which stages let it pass."""
    about = profile.stages_about.get(stage)
    if not about:
        return stage
    passed = profile.stages[: profile.stages.index(stage)] if first else ()
    return f"{stage}: {about}" + (f", after {', '.join(passed)} let it pass" if passed else "")


def away_words(profile: Profile, repair: Repair) -> str:
    """How far an alternative is, and that it uses all axes that were asked for."""
    count = len(repair.change)
    away = "one change" if count == 1 else f"{count} changes"
    off = any(repair.change.get(name) == 1 for name in profile.axes)
    return f"{away} away, accepted{'' if off else '; no axis switched off'}"


def change_words(profile: Profile, repair: Repair) -> str:
    """What a repair changes as options, and the conditions that it gives up."""
    changes = [option(profile.field_of[name], value) for name, value in repair.change.items()]
    drops = [f'without --where "{text}"' for text in repair.drop or ()]
    return together([*changes, *drops])


def repair_notes(answer: Rejected) -> list[str]:
    """What is to be said of the nearest alternatives beside those that are shown."""
    from parsolve.solver.repair import MOST_CHANGES  # noqa: PLC0415  (only a rejection needs it)

    notes = []
    if answer.repairs and answer.more_repairs:
        notes.append(f"and {answer.more_repairs} more that are as near")
    if answer.repairs_complete is False:
        notes.append(cut_short_words(answer.repairs))
    elif answer.repairs is not None and not answer.repairs:
        notes.append(
            f"no change of at most {MOST_CHANGES} knobs is accepted; facts of the model and of "
            "the trainer were not changed"
        )
    return notes


def cut_short_words(found: Iterable[Repair] | None) -> str:
    """That other alternatives may exist."""
    if found:
        return "the search for alternatives was cut short: there may be nearer ones"
    return "none was found before the search for them was cut short"


def extreme(goal: Goal) -> str:
    """What the best value of an objective is."""
    return "maximum" if goal.direction == "maximize" else "minimum"


def certificate_words(certificate: Certificate, *, timed: bool = True) -> str:
    """What Z3 confirmed; not how long that took where the same words are wanted again."""
    how = f"Z3 in {certificate.seconds:g} s, building included" if timed else "Z3"
    return (
        f"{how}: {certificate.claim}; for every cluster, each searched size must divide the world"
    )


def found_so_far(answer: Undecided) -> str:
    """What was found, and that it is not an answer."""
    return f"{answer.count} found; whether others are better is not known"


def conflict_where(answer: Conflict) -> str:
    """Where nothing is valid."""
    return gpus(answer.world) if answer.worlds == 1 else f"any of the {answer.worlds} worlds"


def conflict_excludes(answer: Conflict) -> str:
    """Whether all that is listed is needed to exclude each other."""
    return f"{'among these some' if _is_cut_short(answer) else 'these'} exclude each other"


def _is_cut_short(answer: Conflict) -> bool:
    return not answer.smallest and answer.method == "Z3"


def conflict_asked(profile: Profile, answer: Conflict) -> list[str]:
    """Options and conditions that take part in a conflict."""
    pins = [option(profile.field_of[name], value) for name, value in answer.pins.items()]
    return [*pins, *(f'--where "{condition}"' for condition in answer.conditions)]


def conflict_held(profile: Profile, answer: Conflict) -> Iterator[str]:
    """Defaults that take part in a conflict, and how to leave them."""
    for name, value in answer.held.items():
        field = profile.field_of[name]
        vary = f" or --vary {name}" if field.role == "knob" else ""
        shown = str(value).lower() if isinstance(value, bool) else value
        yield f"{name} stays {shown}; set --{field.flag}{vary} to change that"


SHORT = 160
"""A formula beyond so many characters is better said by its remedy."""


def demand(rule: Violation) -> tuple[str, str]:
    """What a rule of a conflict asks for, which no configuration breaks; and a label for that."""
    asks = rule.because if len(rule.because) <= SHORT else rule.remedy
    return "at best" if rule.stage == MEMORY_STAGE else "it asks", asks


NOTHING_TO_RELAX = "nothing that was asked can be relaxed; change the world"


def conflict_proof(answer: Conflict) -> str:
    """What is known of the size of a conflict; nothing where the search for it was cut short."""
    if answer.smallest:
        among = "of what was asked and rules" if answer.method == "Z3" else "of what was asked"
        return f"{answer.method}: no smaller set {among} conflicts"
    if _is_cut_short(answer):
        return ""
    return f"{answer.method}: without any one of these something is valid"
