"""List every configuration of a query, or find the best ones, with a certificate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any as Anything

from parsolve.constraints.formula import Term, Variable
from parsolve.constraints.profile import Config
from parsolve.solver.answer import (
    Best,
    Certificate,
    Conflict,
    Fields,
    Goal,
    Solution,
    Solutions,
    Undecided,
)
from parsolve.solver.check import cautions
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.query import Condition, Query, QueryError, assumptions
from parsolve.solver.search import Cut, Found, search

Progress = Callable[[int], None]
"""Told the world that is being worked on."""


def _silent(_: int) -> None:
    pass


@dataclass
class Listing:
    """A stream of solutions.

    Once it has run dry, ``count``, ``complete`` and ``certificate`` say what it was.
    """

    query: Query
    limit: int | None = None
    deadline: Deadline = Deadline()  # noqa: RUF009  (no limit has no state)
    progress: Progress = _silent
    count: int = 0
    complete: bool = False
    certificate: Certificate | None = None
    stopped: str = ""
    timed_out: bool = False

    def __iter__(self) -> Iterator[Solution]:
        try:
            yield from self._solutions()
        except TimedOut:
            self.timed_out = True
            self.stopped = f"the time limit of {self.deadline.seconds:g} s passed"

    @property
    def undecided_yet(self) -> bool:
        """Whether it ended without an answer: out of time, or not certified."""
        return self.timed_out or (self.certificate is not None and not self.complete)

    def undecided(self, found: Sequence[Solution]) -> Undecided:
        """The answer of a listing that ran out of time."""
        return Undecided(
            profile=self.query.profile.name,
            reason=self.stopped,
            searched=searched(self.query),
            solutions=tuple(found),
            count=self.count,
        )

    def _solutions(self) -> Iterator[Solution]:
        from parsolve.solver.certify import Certifier  # noqa: PLC0415  (imports z3)

        query = self.query
        if query.narrow is not query:
            yield from self._evaluated()
            return
        half = (len(query.free) + 1) // 2
        proved = True
        solver_seconds = 0.0
        for world, rows in _by_world(query, search(query, deadline=self.deadline)):
            self.progress(world)
            certifier: Certifier | None = None
            for prefix, group in groupby(rows, key=lambda row: row[1][:half]):
                found: list[tuple[Anything, ...]] = []
                for _, chosen, _ in group:
                    if self.limit is not None and self.count >= self.limit:
                        self.stopped = f"stopped at the limit of {self.limit}"
                        return
                    self.count += 1
                    found.append(chosen)
                    yield solution(query, world, chosen)
                before = time.monotonic()
                certifier = certifier or Certifier(query, world, self.deadline)
                proved &= certifier.group_is_whole(prefix, found) == "proved"
                solver_seconds += time.monotonic() - before
            before = time.monotonic()
            certifier = certifier or Certifier(query, world, self.deadline)
            proved &= certifier.nothing_outside() == "proved"
            solver_seconds += time.monotonic() - before
        self._certified("nothing valid lies outside this list", proved, solver_seconds)

    def _certified(self, claim: str, proved: bool, seconds: float) -> None:  # noqa: FBT001
        self.certificate = certificate(
            self.query, claim, proved=proved, seconds=seconds, deadline=self.deadline
        )
        self.complete = self.certificate.status == "proved"
        if not self.complete:
            self.stopped = "Z3 did not decide whether anything else is valid"

    def _evaluated(self) -> Iterator[Solution]:
        """The same where some of the question is evaluated, not encoded."""
        query = self.query
        for world, rows in _by_world(query, search(query, deadline=self.deadline)):
            self.progress(world)
            for _, chosen, _ in rows:
                if self.limit is not None and self.count >= self.limit:
                    self.stopped = f"stopped at the limit of {self.limit}"
                    return
                self.count += 1
                yield solution(query, world, chosen)
        before = time.monotonic()
        proved, shapes = whole(query.narrow, self.deadline)
        claim = f"nothing valid lies outside this list{computed(shapes)}"
        self._certified(claim, proved, time.monotonic() - before)


def computed(shapes: int) -> str:
    """How a claim goes on where bounds and conditions were evaluated, not encoded."""
    many = f"the {shapes:,} shapes" if shapes != 1 else "the one shape"
    return (
        f"; bounds, and what is asked of memory, were evaluated on every configuration of {many} "
        "that the rest allows"
    )


def whole(query: Query, deadline: Deadline) -> tuple[bool, int]:
    """Whether Z3 proves that the loops miss nothing that the query allows; and how many."""
    from parsolve.solver.certify import Certifier  # noqa: PLC0415  (imports z3)

    half = (len(query.free) + 1) // 2
    proved, count = True, 0
    for world, rows in _by_world(query, search(query, deadline=deadline)):
        certifier = Certifier(query, world, deadline)
        for prefix, group in groupby(rows, key=lambda row: row[1][:half]):
            found = [chosen for _, chosen, _ in group]
            count += len(found)
            proved &= certifier.group_is_whole(prefix, found) == "proved"
        proved &= certifier.nothing_outside() == "proved"
    return proved, count


def _by_world(query: Query, rows: Iterator[Found]) -> Iterator[tuple[int, Iterator[Found]]]:
    """Rows grouped by world; a world without rows has an empty group."""
    groups = groupby(rows, key=lambda row: row[0])
    waiting = next(groups, None)
    for world in query.worlds:
        if waiting is not None and waiting[0] == world:
            yield world, waiting[1]
            waiting = next(groups, None)
        else:
            yield world, iter(())


def certificate(
    query: Query, claim: str, *, proved: bool, seconds: float, deadline: Deadline
) -> Certificate:
    """The certificate of a claim that Z3 did or did not confirm."""
    from parsolve.solver.arithmetic import LONGEST  # noqa: PLC0415  (imports z3)
    from parsolve.solver.claims import divisor_claims  # noqa: PLC0415  (imports z3)

    started = time.monotonic()
    left = deadline.milliseconds()
    limit = LONGEST if left is None else left / 1000
    claims = divisor_claims(query.profile, limit)
    sizes = [n for n in query.free if getattr(query.profile.field_of[n], "divides", "")]
    divisors_proved = all(claims.get(name) == "proved" for name in sizes)
    if not divisors_proved:  # some hold only where a knob has the value that the query gives it
        claims = divisor_claims(query.profile, limit, query.held)
        divisors_proved = all(claims.get(name) == "proved" for name in sizes)
    seconds += time.monotonic() - started
    return Certificate(
        status="proved" if proved and divisors_proved else "undecided",
        claim=claim,
        seconds=round(seconds, 3),
        domains=searched(query),
        divisors="proved" if divisors_proved else "undecided",
    )


def searched(query: Query) -> str:
    """Which knobs were varied over which values, as a sentence."""
    profile = query.profile
    sizes = [n for n in query.free if getattr(profile.field_of[n], "divides", "")]
    parts = []
    if sizes:
        parts.append(f"{', '.join(sizes)} over the divisors of {profile.world}")
    for name in query.free:
        if name not in sizes:
            values = ", ".join(str(v).lower() for v in query.domain(name, query.worlds[0]))
            parts.append(f"{name} over {values}")
    for offer in profile.offers:
        closed = [n for n in offer.knobs if n not in query.free and n not in query.pins]
        if closed and query.pins.get(offer.given) != offer.value:
            kind = f"{offer.given} is {query.pins[offer.given]}"
            parts.append(f"{', '.join(closed)} not offered, since {kind}")
    if query.canonical:
        parts.append("one spelling of each configuration")
    fixed = "every other knob at its default unless pinned"
    return "; ".join([*parts, fixed]) if parts else f"nothing: {fixed}"


def solution(
    query: Query,
    world: int,
    chosen: Sequence[Anything],
    objectives: Fields | None = None,
) -> Solution:
    """The completed configuration, certified by the plain evaluator."""
    profile = query.profile
    values = query.completed(world, query.free, chosen)
    if not profile.accepts(values):
        message = f"the search reported a rejected configuration: {chosen}; please report this bug"
        raise RuntimeError(message)
    return Solution(
        config=Fields(Config(profile, values).as_dict()),
        derived=Fields(profile.described(values)),
        objectives=objectives,
    )


def solutions(
    query: Query, *, limit: int | None = None, deadline: Deadline | None = None
) -> Solutions | Undecided | Conflict:
    """Every accepted completion of the query, at most ``limit`` of them."""
    _check_limit(limit)
    listing = Listing(query, limit, deadline or Deadline())
    found = tuple(listing)
    if not found and listing.complete:
        return no_solution(query, listing.deadline)
    if listing.undecided_yet:
        return listing.undecided(found)
    return Solutions(
        profile=query.profile.name,
        searched=searched(query),
        solutions=found,
        count=listing.count,
        complete=listing.complete,
        certificate=listing.certificate,
    )


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        message = f"a limit is at least 1 configuration, got {limit}; leave it out for all"
        raise QueryError(message)


def no_solution(query: Query, deadline: Deadline) -> Conflict | Undecided:
    """Why nothing is left, as a smallest conflict."""
    from parsolve.solver.explain import explain  # noqa: PLC0415  (imports z3)
    from parsolve.solver.fit import explain_fit, is_about_memory  # noqa: PLC0415  (imports us)

    try:
        if is_about_memory(query, deadline):
            return explain_fit(query, deadline)
        return explain(replace(query.narrow, free=query.free), deadline)
    except TimedOut:
        return Undecided(
            profile=query.profile.name,
            reason="nothing valid was found, but the time limit passed before the conflict "
            "was explained",
            searched=searched(query),
        )


@dataclass(frozen=True)
class _Row:
    world: int
    chosen: tuple[Anything, ...]
    scores: tuple[int, ...]
    order: tuple[Anything, ...]


def best(
    query: Query,
    *,
    limit: int | None = None,
    deadline: Deadline | None = None,
    progress: Progress = _silent,
) -> Best | Conflict | Undecided:
    """The best completions of the query: all that reach the optimum, or the Pareto front.

    ``limit`` bounds how many are shown, not how many are counted.
    """
    _check_limit(limit)
    deadline = deadline or Deadline()
    rows: list[_Row] = []
    try:
        seen = _collect(query, rows, deadline)
        if not rows:
            if seen:
                raise QueryError(_unknown(query))
            return _nothing(query, deadline)
        rows.sort(key=lambda row: row.order)
        claim = (
            "no valid configuration dominates one of these, and none that is equally good is "
            "missing"
            if query.pareto
            else "no valid configuration is better, and none that is equally good is missing"
        )
        relevant = _worlds_that_matter(query, rows)
        if relevant.narrow is relevant:
            proved, seconds = _certify(relevant, rows, deadline, progress)
        else:
            started = time.monotonic()
            proved, shapes = whole(_at_least_as_good(relevant, rows), deadline)
            seconds = time.monotonic() - started
            claim += computed(shapes)
        proof = certificate(query, claim, proved=proved, seconds=seconds, deadline=deadline)
    except TimedOut:
        rows.sort(key=lambda row: row.order)
        return _undecided(query, rows, limit, f"the time limit of {deadline.seconds:g} s passed")
    if proof.status != "proved":
        return _undecided(query, rows, limit, "Z3 did not decide whether this is the optimum")
    return Best(
        profile=query.profile.name,
        searched=searched(query),
        objectives=_goals(query, rows),
        pareto=query.pareto,
        solutions=_shown(query, rows, limit),
        count=len(rows),
        optimal=True,
        order=tuple(preference.words for preference in query.profile.preferences),
        certificate=proof,
        warnings=(*assumptions(query), *cautions(_first(query, rows))),
    )


def _unknown(query: Query) -> str:
    """That no valid configuration has a value of the objectives, and what would give it one."""
    from parsolve.solver.unsaid import unsaid  # noqa: PLC0415  (rarely needed)

    world, chosen, scores = next(search(query, [goal.term for goal in query.objectives]))
    values = query.completed(world, query.free, chosen)
    lacking = [
        f"{goal.text} is unknown in every valid configuration: "
        f"{unsaid(query.profile, goal.term, values)}"
        for goal, score in zip(query.objectives, scores, strict=True)
        if score is None
    ]
    return "; ".join(lacking)


def _first(query: Query, rows: Sequence[_Row]) -> Config:
    return Config(query.profile, query.completed(rows[0].world, query.free, rows[0].chosen))


def _collect(query: Query, rows: list[_Row], deadline: Deadline) -> int:
    """Keep the best rows found so far in ``rows``; return how many were seen."""
    goals = query.objectives
    terms: list[Term] = [goal.term for goal in goals]
    terms += [preference.term for preference in query.profile.preferences]
    seen = 0
    cut = Cut(goals[0].maximize) if goals and not query.pareto else None
    for world, chosen, scores in search(query, terms, deadline, cut):
        if rows and world > rows[0].world and _wants_few_gpus(query):
            break
        seen += 1
        values = scores[: len(goals)]
        if None in values:
            continue
        fixed: tuple[int, ...] = values  # type: ignore[assignment]
        order = (scores[len(goals) :], world, tuple(map(_key, chosen)))
        row = _Row(world, chosen, fixed, order)
        if query.pareto:
            if not any(_dominates(query, other.scores, fixed) for other in rows):
                rows[:] = [r for r in rows if not _dominates(query, fixed, r.scores)]
                rows.append(row)
            continue
        if rows and fixed != rows[0].scores:
            if not _precedes(query, fixed, rows[0].scores):
                continue
            rows.clear()
        rows.append(row)
        if cut is not None:
            cut.value = fixed[0]
    return seen


def _wants_few_gpus(query: Query) -> bool:
    """Whether fewer GPUs are better whatever else: larger worlds need no look then."""
    first = query.objectives[0]
    is_world = isinstance(first.term, Variable) and first.term.name == query.profile.world
    return is_world and not first.maximize and not query.pareto


def _worlds_that_matter(query: Query, rows: Sequence[_Row]) -> Query:
    """The question without the worlds that are worse by themselves than what was found."""
    if not _wants_few_gpus(query):
        return query
    worlds = tuple(world for world in query.worlds if world <= rows[0].world)
    return replace(query, worlds=worlds)


def _key(value: object) -> tuple[int, str]:
    return (value, "") if isinstance(value, int) else (0, str(value))


def _precedes(query: Query, one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether the first objective in which the two differ is better."""
    pairs = zip(query.objectives, one, other, strict=True)
    return next(goal.better(a, b) for goal, a, b in pairs if a != b)


def _dominates(query: Query, one: Sequence[int], other: Sequence[int]) -> bool:
    if one == other:
        return False
    pairs = zip(query.objectives, one, other, strict=True)
    return all(a == b or goal.better(a, b) for goal, a, b in pairs)


def _at_least_as_good(query: Query, rows: Sequence[_Row]) -> Query:
    """The narrow question, among what is no worse than the optimum as far as that is known."""
    first, narrow = query.objectives[0], query.narrow
    if query.pareto or first not in narrow.objectives:
        return narrow
    best_value = rows[0].scores[0]
    bound = first.term >= best_value if first.maximize else first.term <= best_value
    condition = Condition(f"{first.text} {'>=' if first.maximize else '<='} {best_value}", bound)
    return replace(narrow, conditions=(*narrow.conditions, condition))


def _certify(
    query: Query, rows: Sequence[_Row], deadline: Deadline, progress: Progress
) -> tuple[bool, float]:
    """Whether Z3 proves the optimum and the ties at every world, and in how many seconds."""
    from parsolve.solver.certify import Certifier  # noqa: PLC0415  (imports z3)

    started = time.monotonic()
    front = sorted({row.scores for row in rows})
    proved = True
    for world in query.worlds:
        progress(world)
        deadline.check()
        certifier = Certifier(query, world, deadline)
        proved &= certifier.nothing_better(front, pareto=query.pareto) == "proved"
        for scores in front:
            ties = [row.chosen for row in rows if row.world == world and row.scores == scores]
            proved &= certifier.no_more_ties(scores, ties) == "proved"
    return proved, time.monotonic() - started


def _nothing(query: Query, deadline: Deadline) -> Conflict | Undecided:
    """Have Z3 confirm that no world has a solution, then explain."""
    from parsolve.solver.certify import Certifier  # noqa: PLC0415  (imports z3)

    if query.narrow is not query:
        proved = whole(query.narrow, deadline)[0]
    else:
        proved = all(
            Certifier(query, world, deadline).nothing_outside() == "proved"
            for world in query.worlds
        )
    if not proved:
        return _undecided(query, [], None, "Z3 did not decide whether anything is valid")
    return no_solution(query, deadline)


def _goals(query: Query, rows: Sequence[_Row]) -> tuple[Goal, ...]:
    return tuple(
        Goal(
            quantity=goal.text,
            direction="maximize" if goal.maximize else "minimize",
            value=None if query.pareto or not rows else rows[0].scores[index],
        )
        for index, goal in enumerate(query.objectives)
    )


def _shown(query: Query, rows: Sequence[_Row], limit: int | None) -> tuple[Solution, ...]:
    return tuple(
        solution(
            query,
            row.world,
            row.chosen,
            Fields({g.text: s for g, s in zip(query.objectives, row.scores, strict=True)}),
        )
        for row in rows[:limit]
    )


def _undecided(query: Query, rows: Sequence[_Row], limit: int | None, reason: str) -> Undecided:
    return Undecided(
        profile=query.profile.name,
        reason=reason,
        searched=searched(query),
        solutions=_shown(query, rows, limit),
        count=len(rows),
        objectives=_goals(query, rows),
    )
