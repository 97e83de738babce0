"""One shape under the rules of every profile at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from parsolve.constraints import PROFILES
from parsolve.constraints.elsewhere import counterpart
from parsolve.constraints.fields import Field, FieldError, Flag, Misuse, Size, suggestion
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.answer import Accepted, Comparison, Fields, ProfileVerdict
from parsolve.solver.check import check
from parsolve.solver.facts import single

GENERAL = "generic"
"""The profile whose fields are taken first where several share one."""


@cache
def every() -> Profile:
    """The fields of every profile, each once, by all its spellings: what may be said of a shape."""
    general = PROFILES[GENERAL]
    fields = {field.name: field for field in general.fields}
    flags = {field.flag: field.name for field in general.fields if field.flag}
    words: dict[str, dict[str, None]] = {name: {} for name in fields}
    for profile in PROFILES.values():
        for field in profile.fields:
            name = field.name if field.name in fields else flags.get(field.flag, field.name)
            if name not in fields:
                fields[name] = field
                flags |= {field.flag: name} if field.flag else {}
            if type(field) is type(fields[name]):
                words.setdefault(name, {}).update(dict.fromkeys((*field.also, field.launch)))
    taken = {*fields, *(flag.replace("-", "_") for flag in flags)}
    for name, field in fields.items():
        spelled = (
            word.replace("-", "_") for word in words.get(name, {}) if word and " " not in word
        )
        others = tuple(word for word in dict.fromkeys(spelled) if word not in taken)
        fields[name] = replace(field, also=others)
    return replace(general, name="all", title="every profile", fields=tuple(fields.values()))


def known_as(profile: Profile, word: str, value: object) -> Field | None:
    """The profile's field that goes by this word, or by another profile's word for it.

    None where there is none, or where it is a switch and the value is not, or the reverse.
    """
    name = profile.spellings.get(word.replace("-", "_"))
    field = profile.field_of[name] if name is not None else counterpart(profile, word)
    is_switch = isinstance(value, bool)
    return field if field is not None and isinstance(field, Flag) == is_switch else None


def compare(
    given: Mapping[str, object],
    read: Callable[[Profile, Mapping[str, object]], Config],
    *,
    shown_repairs: int = 1,
) -> Comparison:
    """The verdict of every profile; ``read`` makes a profile's configuration of its part.

    Raises `FieldError` for what no profile knows, or none can read.
    """
    _refuse_unknown(given)
    verdicts = tuple(_verdict(PROFILES[name], given, read, shown_repairs) for name in PROFILES)
    errors = [each.error for each in verdicts if each.error is not None]
    if len(errors) == len(verdicts):
        raise FieldError(errors[0])
    return Comparison(
        given=Fields(given),
        verdicts=verdicts,
        accepted=sum(each.verdict == "accepted" for each in verdicts),
    )


def _refuse_unknown(given: Mapping[str, object]) -> None:
    for word, value in given.items():
        if all(known_as(PROFILES[name], word, value) is None for name in PROFILES):
            plain = word.replace("-", "_")
            known = any(plain in PROFILES[name].spellings for name in PROFILES)
            kind = "is no switch" if isinstance(value, bool) else "is a switch: true or false"
            why = f"{kind}; got {value!r:.40}" if known else "is known to no profile"
            hint = "" if known else suggestion(word, tuple(every().spellings))
            message = f"{word} {why}{hint}"
            raise FieldError(message)


def _verdict(
    profile: Profile,
    given: Mapping[str, object],
    read: Callable[[Profile, Mapping[str, object]], Config],
    shown_repairs: int,
) -> ProfileVerdict:
    taken: dict[str, object] = {}
    ignored: dict[str, object] = {}
    for word, value in given.items():
        field = known_as(profile, word, value)
        if field is None:
            ignored[word] = value
        else:
            taken[field.name] = value
    lacks = tuple(
        word for word, value in ignored.items() if _is_axis(word) and divides_ranks(value)
    )
    try:
        said = {name: single(profile.field_of[name], value) for name, value in taken.items()}
        answer = check(read(profile, said), shown_repairs=shown_repairs)
    except Misuse as error:
        return _said(profile, ignored, "no question", error=str(error))
    if lacks:
        return _said(profile, ignored, "no such axis", lacks=lacks)
    verdict: Literal["accepted", "rejected"] = (
        "accepted" if isinstance(answer, Accepted) else "rejected"
    )
    return _said(profile, ignored, verdict, detail=answer)


def _said(
    profile: Profile,
    ignored: Mapping[str, object],
    verdict: Literal["accepted", "rejected", "no such axis", "no question"],
    **more: Any,  # noqa: ANN401  (whatever else the verdict has)
) -> ProfileVerdict:
    return ProfileVerdict(
        profile=profile.name,
        title=profile.title,
        verdict=verdict,
        ignored=Fields(ignored),
        **more,
    )


@cache
def _is_axis(word: str) -> bool:
    """Whether some profile splits the ranks by it."""
    return any(
        PROFILES[name].spellings.get(word.replace("-", "_")) in PROFILES[name].axes
        for name in PROFILES
    )


@cache
def is_size(word: str) -> bool:
    """Whether some profile has a size of that name that divides the world."""
    names = (
        (PROFILES[name], PROFILES[name].spellings.get(word.replace("-", "_"))) for name in PROFILES
    )
    fields = (profile.field_of[name] for profile, name in names if name is not None)
    return any(isinstance(field, Size) and bool(field.divides) for field in fields)


def divides_ranks(value: object) -> bool:
    """Whether a size of this value splits anything."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 1
