"""Climbing: rung by rung, everything valid up to it, until something fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parsolve.constraints.ladder import Rung
from parsolve.constraints.profile import Config
from parsolve.solver.advise.question import Climb
from parsolve.solver.deadline import Deadline
from parsolve.solver.query import Query
from parsolve.solver.search import search


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What is valid with the rungs up to one of them, the last of ``rungs``; none: no rung.

    ``valid`` configurations, of which ``using`` use that rung and ``fitting`` fit. ``least``
    needs the least memory of them all, ``simplest`` is the simplest one that fits.
    """

    rungs: tuple[Rung, ...]
    query: Query
    valid: int
    using: int
    fitting: int
    least: Config | None
    simplest: Config | None

    @property
    def rung(self) -> Rung | None:
        """The rung that was added."""
        return self.rungs[-1] if self.rungs else None

    @property
    def best(self) -> Config | None:
        """What stands for this rung: the simplest that fits, or what needs least."""
        return self.simplest or self.least


def steps(climb: Climb, deadline: Deadline) -> Iterator[Step]:
    """Each rung after the other; the last one is the first on which something fits."""
    for height in range(len(climb.rungs) + 1):
        found = step(climb, climb.rungs[:height], deadline)
        yield found
        if found.simplest is not None:
            return


def step(climb: Climb, rungs: Sequence[Rung], deadline: Deadline, *, guided: bool = True) -> Step:
    """Everything that is valid with these rungs."""
    query = climb.question(rungs, guided=guided)
    (world,) = query.worlds
    levels = [rung.level for rung in reversed(rungs)]
    valid = using = fitting = 0
    least: tuple[tuple[int, ...], tuple[object, ...]] | None = None
    simplest: tuple[tuple[int, ...], tuple[object, ...]] | None = None
    for _, chosen, scores in search(query, (climb.account.total, *levels), deadline):
        total, *amounts = scores
        assert None not in amounts  # noqa: S101  (sizes and settings are always known)
        order: tuple[int, ...] = tuple(amounts)  # type: ignore[arg-type]
        valid += 1
        using += bool(rungs) and order[0] > (0 if rungs[-1].size is None else 1)
        if total is None:
            continue
        if least is None or (total, *order) < least[0]:
            least = ((total, *order), chosen)
        if total <= climb.limit:
            fitting += 1
            if simplest is None or order < simplest[0]:
                simplest = (order, chosen)

    def completed(found: tuple[tuple[int, ...], tuple[object, ...]] | None) -> Config | None:
        if found is None:
            return None
        values = query.completed(world, query.free, found[1])
        return Config(climb.profile, values).replaced({climb.account.limit.name: climb.limit})

    return Step(tuple(rungs), query, valid, using, fitting, completed(least), completed(simplest))


def something_fits(climb: Climb, deadline: Deadline) -> bool:
    """Whether anything on the whole ladder fits."""
    query = climb.question(climb.rungs)
    rows = search(query, (climb.account.total,), deadline)
    return any(total is not None and total <= climb.limit for _, _, (total,) in rows)
