"""Known models found by the names that people use."""

from __future__ import annotations

from parsolve.constraints.models.catalogue import PRESETS, Preset
from parsolve.constraints.models.lookup import ModelError

SUFFIXES = (
    *("-hf", "-base", "-pt", "-bf16", "-instruct", "-chat", "-it", "-thinking"),
    *("-v0.1", "-v0.2", "-2507", "-0528", "-0324"),
)
"""Ends of a name that change no shape."""

_BY_NAME = {name: preset for preset in PRESETS for name in (preset.name, *preset.also)}


def find(name: str) -> Preset:
    """The preset of that name. Raises `ModelError` with the nearest names."""
    preset = known(name)
    if preset is None:
        message = f"no model is named {name!r:.80}{nearest(name)}"
        raise ModelError(message)
    return preset


def known(name: str) -> Preset | None:
    """The preset of that name, whoever publishes it: ``org/Name-Instruct`` is ``name``."""
    return _BY_NAME.get(_plain(name))


def nearest(name: str) -> str:
    """``: did you mean ...?`` and where all names stand."""
    from difflib import get_close_matches  # noqa: PLC0415  (only errors need it)

    close = get_close_matches(_plain(name)[:80], _BY_NAME, n=3, cutoff=0.6)
    hint = f": did you mean {' or '.join(dict.fromkeys(_BY_NAME[n].name for n in close))}?"
    return f"{hint if close else ''} (parsolve models lists the names; a config.json works too)"


def _plain(name: str) -> str:
    name = name.strip().lower().rpartition("/")[2].replace("_", "-")
    while name not in _BY_NAME and name.endswith(SUFFIXES):
        name = name[: -max(len(end) for end in SUFFIXES if name.endswith(end))]
    return name
