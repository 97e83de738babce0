"""A report from a question: the answer, the table's rows, and what is rejected beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from parsolve.cli.report.answers import Reported
from parsolve.cli.report.commands import Said
from parsolve.cli.report.page import Report
from parsolve.cli.report.rows import Row, Rows
from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Misuse
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.answer import Best, Conflict, Rejected, Undecided
from parsolve.solver.check import SHOWN_REPAIRS, check
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.query import Query, build_query, preferred
from parsolve.solver.solve import best
from parsolve.solver.survey import Refusals, refusals, survey


def checked(
    profile: Profile,
    world: int,
    facts: Mapping[str, object],
    *,
    shown_repairs: int | None,
    limit: int,
    deadline: Deadline,
    said: Said,
) -> Report:
    """The verdict on one configuration, among the valid ones of the same cluster."""
    config = profile.config({profile.world: world, **facts})
    answer = check(config, shown_repairs=SHOWN_REPAIRS if shown_repairs is None else shown_repairs)
    marked = [Row(config, "asked")]
    if isinstance(answer, Rejected):
        marked = [Row(config, "rejected", accepted=False)]
        marked += _rows(profile, "nearest", (repair.config for repair in answer.repairs or ()))
    query, silence = _around(profile, world, facts)
    return _report(profile, config, answer, marked, query, limit, deadline, said, silence)


def _around(profile: Profile, world: int, facts: Mapping[str, object]) -> tuple[Query | None, str]:
    """The search of the same cluster with the axes open; or why there is none."""
    named = {profile.spellings[spelling]: value for spelling, value in facts.items()}
    opened = {name: value for name, value in named.items() if name not in profile.searched}
    for offer in profile.offers:
        used = any(
            named.get(knob, profile.field_of[knob].default) != profile.field_of[knob].default
            for knob in offer.knobs
        )
        if used and offer.given not in opened:
            opened[offer.given] = offer.value
    try:
        return build_query(profile, [world], opened, objectives=[(profile.objective, True)]), ""
    except Misuse as error:
        return None, f"What else is valid could not be searched: {error}."


def solved(
    profile: Profile,
    sizes: Sequence[int],
    facts: Mapping[str, object],
    *,
    goals: Sequence[tuple[str, bool]],
    prefer: Sequence[str],
    pareto: bool,
    where: Sequence[str],
    vary: Sequence[str],
    limit: int,
    deadline: Deadline,
    progress: Callable[[int], None],
    said: Said,
) -> Report:
    """The best configurations of a cluster, among all valid ones."""
    query = build_query(
        profile,
        sizes,
        facts,
        where=where,
        objectives=preferred(profile, prefer) + (list(goals) or [(profile.objective, True)]),
        pareto=pareto,
        vary=vary,
    )
    answer = best(query, limit=limit, deadline=deadline, progress=progress)
    marked: list[Row] = []
    match answer:
        case Best():
            mark = "front" if answer.pareto else "best"
            marked = _rows(profile, mark, (found.config for found in answer.solutions))
        case Undecided():
            marked = _rows(profile, "so far", (found.config for found in answer.solutions))
        case Conflict():
            marked = _rows(profile, "relaxed", (repair.config for repair in answer.repairs))
    config = Config(profile, query.base)
    return _report(profile, config, answer, marked, query, limit, deadline, said, "")


def _rows(profile: Profile, mark: str, configs: Iterable[Mapping[str, Any]]) -> list[Row]:
    return [Row(profile.config(config), mark) for config in configs]


def _report(
    profile: Profile,
    asked: Config,
    answer: Reported,
    marked: Sequence[Row],
    query: Query | None,
    limit: int,
    deadline: Deadline,
    said: Said,
    silence: str,
) -> Report:
    """Rows that mean something to the answer come first, then all others that are valid."""
    found = None if query is None else survey(query, limit=limit, deadline=deadline)
    rows: dict[Values, Row] = {}
    for row in (*marked, *(Row(config) for config in (() if found is None else found.configs))):
        rows.setdefault(_apart_from_kind(row.config), row)
    varied = () if query is None else [n for n in query.free if n not in profile.searched]
    return Report(
        profile=profile,
        asked=asked,
        answer=answer,
        said=said,
        rows=Rows.of(profile, rows.values(), () if query is None else query.objectives, varied),
        query=query,
        survey=found,
        refusals=None if query is None else _refusals(query, deadline),
        silence=silence,
    )


def _apart_from_kind(config: Config) -> Values:
    """The values but for those that a search takes for granted and a check leaves open."""
    return config.replaced({each.given: each.unknown for each in config.profile.offers}).values


def _refusals(query: Query, deadline: Deadline) -> Refusals | None:
    try:
        return refusals(query, deadline)
    except TimedOut:
        return None
