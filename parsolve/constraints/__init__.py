"""What must hold: the rule language and the rules of each training framework."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from parsolve.constraints.profile import Profile

DEFAULT_PROFILE = "halo"


class _Profiles(Mapping[str, Profile]):
    """Every profile by name, loaded when it is first asked for: one is all that most runs need."""

    _NAMES = (DEFAULT_PROFILE, "generic", "megatron", "accelerate", "torchtitan")

    def __getitem__(self, name: str) -> Profile:
        if name not in self._NAMES:
            raise KeyError(name)
        return _loaded(name)

    def __contains__(self, name: object) -> bool:
        return name in self._NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(self._NAMES)

    def __len__(self) -> int:
        return len(self._NAMES)


@cache
def _loaded(name: str) -> Profile:
    """A profile's folder holds it under its own name in capitals."""
    profile: Profile = getattr(import_module(f"{__name__}.{name}"), name.upper())
    return profile


PROFILES: Mapping[str, Profile] = _Profiles()
