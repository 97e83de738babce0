"""The memory account as text."""

from __future__ import annotations

from parsolve.cli.screen import Screen
from parsolve.cli.verdicts import show_cautions, show_cut_short, show_model, show_repairs
from parsolve.cli.wording import STATES, differences, gpus
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import GIB, gib
from parsolve.constraints.memory.account import NEAR_PERCENT
from parsolve.solver.answer import (
    Memory,
)
from parsolve.solver.repair import MOST_CHANGES

BAR = 24
"""Characters of a bar that stands for the GPU's memory, or for the total."""


def show_memory(screen: Screen, answer: Memory) -> None:
    """The account: each part with a bar and how it is computed, the state, what would fit."""
    profile = PROFILES[answer.profile]
    word, style = STATES[answer.state] if answer.state else ("memory", "bold")
    limit = "" if answer.limit is None else f" of {gib(answer.limit)}"
    screen.headline(
        word,
        f"[{profile.name}] {gib(answer.bytes['total'])}{limit} on the fullest GPU; "
        f"{differences(profile, answer.config)} on {gpus(answer.config[profile.world])}",
        style,
    )
    screen.line()
    whole = max(answer.limit or 0, answer.bytes["total"])
    account = profile.account
    assert account is not None  # noqa: S101  (an answer about memory comes from an account)
    assumes = {part.name: part.assumes for part in account.parts}
    sizes = {**{name: answer.bytes[name] for name in assumes}, "total": answer.bytes["total"]}
    for name, size in sorted(sizes.items(), key=lambda part: (part[0] == "total", -part[1])):
        filled = round(BAR * size / whole)
        bar = screen.styled("#" * filled, style if name == "total" else "") + "." * (BAR - filled)
        screen.line(f"  {name:<12} {size / GIB:>8.2f} GiB  {bar}  {100 * size / whole:5.1f}%")
    screen.line()
    show_model(screen, profile, answer.config)
    if answer.experts is not None:
        shares = (f"{gib(size)} of {part}" for part, size in answer.experts.items())
        screen.entry("experts", f"{', '.join(shares)} are those of routed experts")
    if answer.state == "near":
        screen.entry("near", f"over {NEAR_PERCENT}% of the GPU's memory: fragmentation decides")
    screen.entry(
        "peak",
        f"at the {answer.peak}; {gib(answer.bytes['allocated'])} as PyTorch "
        "reports it, without the reserve",
    )
    for position, (name, how) in enumerate(assumes.items()):
        screen.entry("how" if position == 0 else "", f"{name}: {how}")
    if answer.assumed:
        screen.entry("assumed", ", ".join(answer.assumed))
    show_cautions(screen, answer.warnings)
    if answer.violated:
        screen.entry("refused", f"by {', '.join(answer.violated)}, whatever its memory")
    if answer.repairs:
        show_repairs(screen, profile, answer.repairs)
    elif answer.repairs is not None and answer.repairs_complete is not False:
        screen.entry("nearest", f"no change of at most {MOST_CHANGES} knobs fits and is accepted")
    if answer.repairs_complete is False:
        show_cut_short(screen, answer.repairs)
