"""What is asked of every profile whose framework's own validator can be run."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from parsolve.constraints.profile import Profile

DATA = Path(__file__).parent.parent / "data"


def predicted(profile: Profile, given: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
    """The first violated rule, and where it says that the framework raises; nothing if none."""
    violated = profile.violated(profile.config(given).values)
    if not violated:
        return "", ()
    rule = profile.limits[violated[0]]
    source = rule.source
    return rule.id, tuple(f"{source.file}:{line} {source.function}" for line in source.lines)


def recorded(name: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Configurations and where the real one raised; the first row names fields and places."""
    with (DATA / f"{name}_verdicts.jsonl").open() as lines:
        head = json.loads(next(lines))
        for line in lines:
            *given, place = json.loads(line)
            names = [head["fields"][index] for index in given[::2]]
            yield dict(zip(names, given[1::2], strict=True)), head["places"][place]


def agrees(profile: Profile, given: Mapping[str, object], place: str) -> bool:
    """Whether verdict and raising line are the real one's."""
    _, places = predicted(profile, given)
    return place in places if place else not places


def installed(package: str, version: str) -> None:
    """Skip the test unless exactly this version can be asked."""
    try:
        found = metadata.version(package)
    except metadata.PackageNotFoundError:
        found = "none"
    if found != version:
        pytest.skip(f"needs {package} {version}, and {found} is installed")


def fresh(
    profile: Profile,
    drawn: Callable[[random.Random], dict[str, Any]],
    asked: Callable[[dict[str, Any]], str],
    seed: int,
) -> list[tuple[int, dict[str, Any], str]]:
    """Configurations never seen before on which the profile and the real one differ.

    ``PARSOLVE_FRESH`` says how many are drawn.
    """
    rng = random.Random(seed)
    differing = []
    for _ in range(int(os.environ.get("PARSOLVE_FRESH", "1000"))):
        given = drawn(rng)
        place = asked(given)
        if not agrees(profile, given, place):
            differing.append((seed, given, place))
    return differing
