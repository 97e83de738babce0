"""Best configurations, fronts and their tables as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parsolve.cli.launching import show_launch
from parsolve.cli.plot import scatter
from parsolve.cli.screen import YES, Screen
from parsolve.cli.table import NARROWEST, measured, room_beside, show_table
from parsolve.cli.verdicts import _only, show_cautions, show_model
from parsolve.cli.wording import (
    CHOSEN,
    certificate_words,
    cluster,
    differences,
    extreme,
    listed,
)
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import gib
from parsolve.constraints.profile import Column, Profile, holds
from parsolve.solver.answer import (
    Best,
    Fields,
    Goal,
    Solution,
)
from parsolve.solver.memory import state


def show_best(screen: Screen, answer: Best, varied: Iterable[str] = ()) -> None:
    """The optimum, who reaches it, how to launch the first, and why it is the optimum.

    ``varied`` are knobs that were searched because somebody asked for that.
    """
    profile = PROFILES[answer.profile]
    proved = "proved: no valid configuration is better"
    if answer.pareto:
        screen.headline(
            "pareto", f"[{profile.name}] {reached(profile, answer)} (proved: none is missing)", YES
        )
        reach = "lie on the front" if answer.count != 1 else "lies on the front"
    else:
        screen.headline("best", f"[{profile.name}] {reached(profile, answer)}, {proved}", YES)
        reach = "reach it" if answer.count != 1 else "reaches it"
    plural = "configurations" if answer.count != 1 else "configuration"
    shown = len(answer.solutions)
    rest = f"; the first {shown} are shown" if shown < answer.count else ""
    screen.entry("count", f"{answer.count} {plural} {reach}{rest}")
    if answer.count > 1:
        screen.entry("order", "; ".join(answer.order))
    screen.line()
    show_solutions(screen, profile, answer.solutions, answer.objectives, varied)
    screen.line()
    if answer.pareto and len(answer.objectives) == FRONT and shown > 1:
        show_front(screen, profile, answer)
    first = answer.solutions[0]
    screen.entry("cluster", cluster(profile, first.config, first.derived))
    show_model(screen, profile, first.config)
    show_launch(screen, "launch 1", profile, first, answer.warnings)
    show_cautions(screen, answer.warnings)
    screen.entry("searched", answer.searched)
    screen.entry("proof", certificate_words(answer.certificate))


FRONT = 2
"""Objectives of a front that can be drawn."""


def show_front(screen: Screen, profile: Profile, answer: Best) -> None:
    """The front as a plot: each configuration at its two objectives, by its number."""
    names = [goal.quantity for goal in answer.objectives]
    scored = [s.objectives for s in answer.solutions if s.objectives is not None]
    points = [(scores[names[0]], scores[names[1]]) for scores in scored]
    ends = [
        (amount(profile, name, min(axis)), amount(profile, name, max(axis)))
        for name, axis in zip(names, zip(*points, strict=True), strict=True)
    ]
    for line in scatter(points, ends, (names[0], names[1]), screen.width or 80):
        screen.line(line)
    screen.line()


def reached(profile: Profile, answer: Best) -> str:
    """The objectives: in which direction each, or what is reached in it."""
    if answer.pareto:
        return ", ".join(f"{goal.direction} {goal.quantity}" for goal in answer.objectives)
    return ", ".join(
        f"{goal.quantity} = {amount(profile, goal.quantity, goal.value)} ({extreme(goal)})"
        for goal in answer.objectives
    )


def show_solutions(
    screen: Screen,
    profile: Profile,
    solutions: Sequence[Solution],
    objectives: Iterable[Goal] = (),
    varied: Iterable[str] = (),
) -> None:
    """A table: rank, world if it varies, objectives, options, summary quantities.

    What was chosen alike everywhere is said once, below; what differs, in every row.
    """
    columns = summary_columns(profile, solutions[0].derived)
    shown_quantities = {
        getattr(profile.quantity_of.get(goal.quantity), "name", goal.quantity): goal.quantity
        for goal in objectives
    }
    configs = [solution.config for solution in solutions]
    same, differ = alike(profile, configs, varied)
    lead = ["#"]
    if len({config[profile.world] for config in configs}) > 1:
        lead.append("world")
    said = _names(columns)
    if len(lead) > 1:
        said |= {text for text, name in profile.spellings.items() if name == profile.world}
    extra = [text for name, text in shown_quantities.items() if name not in said]
    rows = []
    for position, solution in enumerate(solutions, 1):
        row = [str(position), str(solution.config[profile.world])][: len(lead)]
        row += [
            amount(profile, text, solution.objectives[text]) if solution.objectives else "-"
            for text in extra
        ]
        own = _only(solution.config, solution.config.keys() - same)
        row.append(differences(profile, own, differ))
        row += summary_cells(profile, solution, columns)
        rows.append(row)
    headings = [*lead, *extra, OPTIONS, *(column.heading for column in columns)]
    headings, rows, everywhere = narrowed(screen, headings, rows, len(lead) + len(extra) + 1)
    show_table(screen, headings, rows, OPTIONS)
    everyone = [differences(profile, _only(configs[0], same), same)] if same else []
    if everyone or everywhere:
        screen.line()
        screen.entry("all with", ", ".join([*everyone, *everywhere]))


OPTIONS = "options"
"""Heading of the options of each configuration."""


def narrowed(
    screen: Screen, headings: Sequence[str], rows: Sequence[Sequence[str]], first: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """The table without empty columns and, where it is too wide, without constant ones.

    Those from ``first`` on are looked at. What a constant column says is returned as well.
    """
    cells = list(zip(*rows, strict=True))
    gone = {place for place in range(first, len(headings)) if {*cells[place]} == {"-"}}

    def left(of: Sequence[str]) -> list[str]:
        return [cell for place, cell in enumerate(of) if place not in gone]

    everywhere = []
    for place in range(first, len(headings)):
        columns = measured(left(headings), [left(row) for row in rows], OPTIONS)
        wanted = max(column.width for column in columns if column.wraps)
        if room_beside(screen, columns) >= min(wanted, NARROWEST):
            break
        if place not in gone and len(rows) > 1 and len({*cells[place]}) == 1:
            gone.add(place)
            everywhere.append(f"{headings[place]} {cells[place][0]}")
    return left(headings), [left(row) for row in rows], everywhere


def alike(
    profile: Profile, configs: Sequence[Fields], varied: Iterable[str]
) -> tuple[set[str], set[str]]:
    """What was chosen and is alike everywhere, and what differs. Axes stay in their rows.

    Knobs that a search varies unasked are told from their default in their rows.
    """
    asked = set(varied)
    same, differ = set(), set()
    for field in profile.fields:
        if not field.flag or field.role not in CHOSEN or field.name in profile.axes:
            continue
        values = [config.get(field.name, field.default) for config in configs]
        if any(value != values[0] for value in values):
            if field.name not in profile.searched:
                differ.add(field.name)
        elif values[0] != field.default or field.name in asked:
            same.add(field.name)
    return same, differ


def _names(columns: Iterable[object]) -> set[str]:
    return {getattr(column, "quantity", "") for column in columns}


def summary_columns(profile: Profile, derived: Mapping[str, Any]) -> list[Column]:
    """The profile's summary, and the memory of a GPU where it is known."""
    total = () if profile.account is None else (profile.account.total.name,)
    return [*profile.summary, *(Column(name, "memory") for name in total if name in derived)]


def summary_cells(profile: Profile, solution: Solution, columns: Iterable[Column]) -> list[str]:
    """The cells of the summary for one configuration; memory near the bound is said so."""
    near = _is_near(profile, solution)
    values = tuple(solution.config.get(f.name, f.default) for f in profile.fields)
    return [
        amount(profile, column.quantity, solution.derived.get(column.quantity, "-"))
        + (" near" if near and column.heading == "memory" else "")
        if holds(profile, column.where, values)
        else "-"
        for column in columns
    ]


def _is_near(profile: Profile, solution: Solution) -> bool:
    account = profile.account
    if account is None:
        return False
    limit = solution.config.get(account.limit.name)
    total = solution.derived.get(account.total.name)
    return bool(limit and total and state(total, limit) == "near")


def amount(profile: Profile, quantity: str, value: object) -> str:
    """A quantity's value in its unit."""
    if isinstance(value, list):
        return listed(value)
    unit = getattr(profile.quantity_of.get(quantity), "unit", "")
    return gib(value) if unit and isinstance(value, int) else str(value)
