"""Which axes may be active together, each set with its smallest configuration, and which not."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

from parsolve.cli.matrix.axes import SET_ORDER, Mode, mode_name, ordered
from parsolve.cli.matrix.configs import LIFTED, dp, gate, known, options
from parsolve.cli.matrix.markdown import marked, prose, table
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.numbers import divisors

SUPPORTED = "Supported modes"
"""Heading of the supported modes."""

REFUSED = "Refused combinations"
"""Heading of the refused combinations."""

LARGEST_WORLD = 16
"""Most GPUs among which the smallest configuration of a mode is searched."""

NODES = (8, 4, 2, 1)
"""GPUs per node among which the smallest configuration of a mode is searched, widest first."""

REFUSED_SIZE = 2
"""Size of every axis in a refused combination."""


def supported_modes(profile: Profile) -> list[str]:
    """Every supported mode with its smallest accepted configuration."""
    rows = []
    for mode in profile.modes:
        config = smallest(profile, mode)
        if config is None:
            rows.append((mode_name(profile, mode), f"none up to {LARGEST_WORLD} GPUs", "-", "no"))
            continue
        gated = gate(config)
        runs = f"no: `{gated}`" if gated else "yes"
        rows.append((mode_name(profile, mode), options(config), dp(config), runs))
    name = profile.short_names["dp"]
    return [
        prose(
            profile,
            f"These {len(profile.modes)} sets of axes may be active together. Each is shown with "
            f"the smallest configuration that is accepted, among worlds of up to {LARGEST_WORLD} "
            f"GPUs, and with its number of data-parallel ranks (dp, {name}).",
        ),
        table(("Mode", "Smallest accepted", "dp", "Runs in this release"), rows),
    ]


@cache
def smallest(profile: Profile, mode: Mode) -> Config | None:
    """The smallest accepted configuration in which exactly these axes are active.

    Least world first, then fewest nodes, then least sizes. What lifts the gates of the release
    is given only where nothing is accepted without.
    """
    axes = [name for name in profile.axes if name in mode]
    for lifted in ({}, known(profile, LIFTED)):
        for world in range(1, LARGEST_WORLD + 1):
            for node in NODES:
                if world % node:
                    continue
                cluster = known(profile, {profile.world: world, profile.node: node})
                for sizes in product(divisors(world)[1:], repeat=len(axes)):
                    given = {**cluster, **dict(zip(axes, sizes, strict=True)), **lifted}
                    config = profile.config(given)
                    if config.accepted():
                        return config
    return None


def refused_combinations(profile: Profile) -> list[str]:
    """Every other set of axes, by why it is refused."""
    by_prose: dict[tuple[str, str], list[str]] = {}
    rules: dict[str, None] = {}
    gates: dict[str, None] = {}
    for axes in _refused_sets(profile):
        config = _refused_config(profile, axes)
        first = profile.violated(config.values)[0]
        rules[profile.rules[first].id] = None
        gates[gate(config)] = None
        names = by_prose.setdefault(profile.prose(first, config.values), [])
        names.append(mode_name(profile, axes))
    count = sum(map(len, by_prose.values()))
    if not count:
        return [prose(profile, "None: every set of axes is supported.")]
    text = (
        f"The other {count} of {2 ** len(profile.axes)} sets are refused by {', '.join(rules)}, "
        "whatever the sizes."
    )
    if earlier := [gated for gated in gates if gated not in rules]:
        text += f" In this release some meet {', '.join(earlier)} first."
    return [
        prose(profile, text),
        table(
            ("Axes", "Why", "Instead"),
            (
                (", ".join(names), marked(profile, reason), marked(profile, remedy))
                for (reason, remedy), names in sorted(
                    by_prose.items(), key=lambda item: len(item[1]) > 1
                )
            ),
        ),
    ]


def _refused_sets(profile: Profile) -> list[Mode]:
    """Every set of axes that is no mode, smaller sets first."""
    axes = ordered(profile.axes, SET_ORDER)
    sets = (frozenset(s) for n in range(len(axes) + 1) for s in combinations(axes, n))
    return [axes for axes in sets if axes not in profile.modes]


def _refused_config(profile: Profile, axes: Mode) -> Config:
    """A refused set of axes on a cluster that all of them would tile."""
    world = REFUSED_SIZE ** len(profile.axes)
    sizes = dict.fromkeys(axes, REFUSED_SIZE)
    return profile.config({profile.world: world, **sizes, **known(profile, LIFTED)})
