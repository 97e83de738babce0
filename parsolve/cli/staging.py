"""Splits of layers over pipeline stages as text."""

from __future__ import annotations

from itertools import groupby

from parsolve.cli.launching import argument
from parsolve.cli.screen import Screen
from parsolve.cli.wording import listed
from parsolve.constraints import PROFILES
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Stages, StageSplit

LONGEST = 67
"""Characters of a layout's option that is shown beside others that say the same: a line's rest."""

NAMES = {"layer": "layer", "embedding": "embedding", "mtp_layer": "MTP layer", "loss": "loss"}


def show_stages(screen: Screen, answer: Stages) -> None:
    """What each part costs, then for each pipeline the splits and why none is better."""
    profile = PROFILES[answer.profile]
    beside = f" and {answer.mtp_layers} MTP" if answer.mtp_layers else ""
    ways = profile.splits
    by_layout = ways is not None and any(ways.layout in s.settings for s in answer.splits)
    layout = ", and the best layout" if by_layout else ""
    screen.headline(
        "stages",
        f"[{profile.name}] {answer.layers} layers{beside}: {answer.count} "
        f"split{'s' if answer.count != 1 else ''} by options{layout}; "
        f"{len(answer.splits)} shown, best balanced first",
        "bold",
    )
    parts = [
        f"{NAMES[part]} {cost:g}"
        for part, cost in answer.costs.items()
        if part != "mtp_layer" or answer.mtp_layers
    ]
    screen.entry("cost", f"{', '.join(parts)} ({answer.costs_are})")
    for (pp, chunks), splits in groupby(answer.splits, lambda s: (s.pp, s.virtual_stages)):
        interleaved = f", {chunks} virtual stages each" if chunks > 1 else ""
        screen.line()
        screen.line(f"  {pp} pipeline rank{'s' if pp > 1 else ''}{interleaved}", "bold")
        shown = list(splits)
        for position, split in enumerate(shown, 1):
            _show_split(screen, profile, position, split)
        best = shown[0]
        screen.entry(
            "proof",
            f"the slowest rank costs at least {best.slowest:g}: were every rank cheaper, all "
            f"together would hold {best.room_below} of the {answer.layers} layers",
        )


def _show_split(screen: Screen, profile: Profile, position: int, split: StageSplit) -> None:
    screen.entry(
        f"{position}.",
        f"slowest rank {split.slowest:g}, mean {split.mean:.4g}; layers "
        f"{listed([list(chunks) for chunks in split.layers_per_stage])}",
    )
    splits = profile.splits
    assert splits is not None  # noqa: S101  (an answer about splits comes from a profile with some)
    ranks = argument(profile, profile.field_of[splits.ranks], split.pp)
    layout = profile.field_of[splits.layout]
    by_layout = argument(profile, layout, layout.parse(split.layout))
    if splits.layout not in split.settings:
        given = (argument(profile, profile.field_of[n], v) for n, v in split.settings.items())
        screen.entry("", f"{ranks}{''.join(given)}".strip())
        said = f"{ranks}{by_layout}".strip()
        short = len(by_layout) < LONGEST
        screen.entry("or", said if short else "a layout that is long: --format json has it")
    else:
        screen.entry("", f"{ranks}{by_layout}".strip())
