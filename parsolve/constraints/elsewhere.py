"""Words that this profile does not know and another one does."""

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Field
from parsolve.constraints.profile import Profile


def elsewhere(profile: Profile, word: str) -> str:
    """What a profile calls what another one calls so, or whose it is; nothing if nobody's."""
    others = [other.name for other in _others(profile, word)]
    if not others:
        return ""
    field = counterpart(profile, word)
    if field is not None:
        return f': did you mean "{field.name}"?'
    if len(others) == 1:
        return f"; the {others[0]} profile has it"
    return f"; the profiles {', '.join(others)} have it"


def counterpart(profile: Profile, word: str) -> Field | None:
    """The field for which this profile and another one share a spelling, as ``max_length``."""
    plain = word.replace("-", "_")
    for other in _others(profile, word):
        shared = (
            profile.spellings[spelling]
            for spelling, name in other.spellings.items()
            if name == other.spellings[plain] and spelling in profile.spellings
        )
        for name in shared:
            return profile.field_of[name]
    return None


def _others(profile: Profile, word: str) -> list[Profile]:
    plain = word.replace("-", "_")
    return [p for p in PROFILES.values() if p is not profile and plain in p.spellings]
