"""Questions about halo, as the solver takes them, and the values of configurations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.constraints.profile import Config, holds
from parsolve.solver.query import Query, build_query
from parsolve.solver.search import search

HALO = PROFILES["halo"]


def question(
    *worlds: int,
    where: str | Sequence[str] = (),
    vary: Sequence[str] = (),
    objectives: Sequence[tuple[str, bool]] = (),
    pareto: bool = False,
    **given: object,
) -> Query:
    """A query about these worlds in which these fields are pinned."""
    conditions = (where,) if isinstance(where, str) else where
    return build_query(
        HALO, worlds, given, where=conditions, vary=vary, objectives=objectives, pareto=pareto
    )


def rows(query: Query) -> list[Values]:
    """Values of every configuration that the search finds, in its order."""
    return [query.completed(world, query.free, chosen) for world, chosen, _ in search(query)]


def brute_force(query: Query) -> list[Values]:
    """Accepted values at every point of the query's domains at which its conditions hold."""
    found: list[Values] = []
    needs = [*query.canonical, *(condition.formula for condition in query.conditions)]
    for world in query.worlds:
        for chosen in product(*(query.domain(name, world) for name in query.free)):
            values = query.completed(world, query.free, chosen)
            if HALO.accepts(values) and all(holds(HALO, need, values) for need in needs):
                found.append(values)
    return found


def config(**given: object) -> Config:
    """The configuration with these fields."""
    return HALO.config(given)
