"""Certificates have teeth: whatever is left out or made worse, Z3 notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any as Anything

import pytest
import z3

from parsolve.constraints.formula import Term
from parsolve.solver import solve
from parsolve.solver.answer import Best, Conflict, Solutions, Undecided
from parsolve.solver.certify import Certifier, SolverDisagreementError
from parsolve.solver.claims import divisor_claims
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.explain import explain
from parsolve.solver.query import Query
from parsolve.solver.search import Cut, Found, search
from parsolve.solver.solve import Listing, best, no_solution, solutions
from tests.solver.questions import HALO, question

Chosen = tuple[Anything, ...]

MOE: dict[str, Anything] = {"model_kind": "moe", "assume_pp": True}
ASKED = question(16, gpus_per_node=8, **MOE)
DP = question(16, gpus_per_node=8, objectives=[("dp", True), ("domains", True)], **MOE)


class CountDown(Deadline):
    """A deadline that passes at so many looks at the clock: the same on every machine."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after, self.looks = after, 0

    def check(self) -> None:
        self.looks += 1
        if self.looks > self.after:
            raise TimedOut


def found(query: Query) -> list[Chosen]:
    return [chosen for _, chosen, _ in search(query)]


def certifier(query: Query, seconds: float | None = None) -> Certifier:
    return Certifier(query, query.worlds[-1], Deadline(seconds))


def groups(query: Query, chosen: Sequence[Chosen]) -> list[tuple[Chosen, list[Chosen]]]:
    half = (len(query.free) + 1) // 2
    return [(prefix, list(group)) for prefix, group in groupby(chosen, key=lambda c: c[:half])]


def certified(query: Query, chosen: Sequence[Chosen]) -> set[str]:
    """What the certifier says of a listing, group by group and as a whole."""
    z3_says = certifier(query)
    statuses = {z3_says.group_is_whole(prefix, group) for prefix, group in groups(query, chosen)}
    return statuses | {z3_says.nothing_outside()}


def never_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Z3 answer nothing from here on; claims are proved before, since they are kept."""
    assert set(divisor_claims(HALO).values()) == {"proved"}
    monkeypatch.setattr(z3.Solver, "check", lambda *_: z3.unknown)


def missing(
    monkeypatch: pytest.MonkeyPatch, left_out: Callable[[Chosen, tuple[int | None, ...]], bool]
) -> None:
    """Let the search overlook some of what it finds."""

    def lossy(
        query: Query,
        terms: Sequence[Term] = (),
        deadline: Deadline | None = None,
        cut: Cut | None = None,
    ) -> Iterator[Found]:
        return (row for row in search(query, terms, deadline, cut) if not left_out(row[1], row[2]))

    monkeypatch.setattr(solve, "search", lossy)


def test_a_whole_listing_is_proved() -> None:
    assert certified(ASKED, found(ASKED)) == {"proved"}


def test_any_row_dropped_from_its_group_is_noticed() -> None:
    whole = found(ASKED)
    shared = [group for _, group in groups(ASKED, whole) if len(group) > 1]
    assert len(shared) >= 3
    for dropped in (row for group in shared for row in group):
        with pytest.raises(SolverDisagreementError) as caught:
            certified(ASKED, [row for row in whole if row != dropped])
        named = dict(zip(ASKED.free, dropped, strict=True))
        assert f"world_size = 16, {named}" in str(caught.value)
        assert "(the rules accept it)" in str(caught.value)


def test_a_whole_prefix_dropped_is_noticed() -> None:
    whole = found(ASKED)
    for prefix, group in groups(ASKED, whole):
        left = [row for row in whole if row not in group]
        z3_says = certifier(ASKED)
        for start, rest in groups(ASKED, left):
            assert z3_says.group_is_whole(start, rest) == "proved"
        with pytest.raises(SolverDisagreementError, match="did not report"):
            z3_says.nothing_outside()
        assert len(prefix) == 3


def test_a_rejected_row_cannot_hide_an_accepted_one() -> None:
    whole = found(ASKED)
    with pytest.raises(SolverDisagreementError):
        certified(ASKED, [*whole[1:], (1, 16, 16, 16, 16, "auto")])


def test_a_worse_optimum_is_noticed() -> None:
    z3_says = certifier(DP)
    assert z3_says.nothing_better([(16, 2)], pareto=False) == "proved"
    for worse in ((15, 2), (16, 1), (16, -3), (8, 99), (1, 1), (-3, 0)):
        with pytest.raises(SolverDisagreementError):
            z3_says.nothing_better([worse], pareto=False)
    assert z3_says.nothing_better([(16, 2)], pareto=False) == "proved"
    assert z3_says.nothing_better([(17, 0)], pareto=False) == "proved"


DP_TERMS = tuple(objective.term for objective in DP.objectives)


def test_a_missing_tie_is_noticed() -> None:
    ties = [chosen for _, chosen, scores in search(DP, DP_TERMS) if scores == (16, 2)]
    assert len(ties) == 8
    z3_says = certifier(DP)
    assert z3_says.no_more_ties((16, 2), ties) == "proved"
    for tie in ties:
        with pytest.raises(SolverDisagreementError):
            z3_says.no_more_ties((16, 2), [other for other in ties if other != tie])
    assert z3_says.no_more_ties((17, 1), []) == "proved"
    assert z3_says.no_more_ties((16, 99), []) == "proved"


def test_a_missing_point_of_the_front_is_noticed() -> None:
    asked = question(
        16,
        gpus_per_node=8,
        objectives=[("dp", True), ("tp*cp*etp", True)],
        pareto=True,
        **MOE,
    )
    answer = best(asked)
    assert isinstance(answer, Best)
    front = sorted({tuple(row.objectives.values()) for row in answer.solutions if row.objectives})
    assert len(front) == 4
    z3_says = certifier(asked)
    assert z3_says.nothing_better(front, pareto=True) == "proved"
    for point in front:
        with pytest.raises(SolverDisagreementError):
            z3_says.nothing_better([p for p in front if p != point], pareto=True)


def test_what_the_rules_exclude_at_once_needs_no_z3() -> None:
    illegal: tuple[dict[str, Anything], ...] = (
        {"tp_size": 3},
        {"gpus_per_node": 5},
        {"gpus_per_node": -1},
    )
    for pins in illegal:
        z3_says = certifier(question(16, objectives=[("dp", True)], **pins))
        assert z3_says.empty
        assert z3_says.group_is_whole((), []) == "proved"
        assert z3_says.nothing_outside() == "proved"
        assert z3_says.nothing_better([(1,)], pareto=False) == "proved"
        assert z3_says.no_more_ties((1,), []) == "proved"
        assert "solver" not in vars(z3_says)
    assert certifier(question(16, where="world > 16")).empty


def test_a_quantity_that_no_field_is_free_in_is_certified_too() -> None:
    """An objective that is one number, or unknown at this world, has nothing better."""
    asked = question(16, objectives=[("world", False), ("dp", True)])
    assert certifier(asked).nothing_better([(16, 16)], pareto=False) == "proved"
    with pytest.raises(SolverDisagreementError):
        certifier(asked).nothing_better([(17, 16)], pareto=False)
    unknown = question(16, objectives=[("nodes", False)], gpus_per_node=5)
    assert certifier(unknown).left.terms == (None,)


# Through the public answers.


@pytest.mark.parametrize("dropped", [0, 7, -1])
def test_a_listing_that_overlooks_a_row_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, dropped: int
) -> None:
    overlooked = found(ASKED)[dropped]
    missing(monkeypatch, lambda chosen, _: chosen == overlooked)
    with pytest.raises(SolverDisagreementError, match="This is a bug; please report it"):
        solutions(ASKED)


def test_a_listing_that_overlooks_everything_is_no_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing(monkeypatch, lambda *_: True)
    with pytest.raises(SolverDisagreementError):
        solutions(ASKED)
    with pytest.raises(SolverDisagreementError):
        best(DP)


def test_an_optimum_that_overlooks_the_best_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch, lambda _, scores: scores[:2] == (16, 2))
    with pytest.raises(SolverDisagreementError):
        best(DP)


def test_an_optimum_that_overlooks_a_tie_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = best(DP)
    assert isinstance(answer, Best)
    tie = answer.solutions[-1].config["ep_size"]
    missing(monkeypatch, lambda chosen, scores: scores[:2] == (16, 2) and tie in chosen)
    with pytest.raises(SolverDisagreementError):
        best(DP)


def test_a_row_that_the_rules_reject_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def lying(query: Query, terms: Sequence[Term] = (), deadline: object = None) -> Iterator[Found]:
        del query, terms, deadline
        yield 16, (1, 16, 16, 16, 16, "auto"), ()

    monkeypatch.setattr(solve, "search", lying)
    with pytest.raises(RuntimeError, match="please report this bug"):
        solutions(ASKED)


def test_z3_that_does_not_decide_never_reads_as_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    never_decides(monkeypatch)
    assert certified(ASKED, found(ASKED)) == {"undecided"}
    listed = solutions(ASKED)
    assert isinstance(listed, Undecided)
    assert listed.reason == "Z3 did not decide whether anything else is valid"
    assert not listed.complete
    assert listed.count == len(listed.solutions) == len(found(ASKED))
    stream = Listing(ASKED)
    assert len(list(stream)) == listed.count
    assert (stream.complete, stream.undecided_yet) == (False, True)
    assert stream.certificate is not None
    assert stream.certificate.status == "undecided"
    assert stream.certificate.divisors == "proved"
    answer = best(DP)
    assert isinstance(answer, Undecided)
    assert answer.reason == "Z3 did not decide whether this is the optimum"
    assert not answer.optimal
    assert answer.count == len(answer.solutions) == 8
    assert [goal.value for goal in answer.objectives] == [16, 2]


def test_z3_that_does_not_decide_never_reads_as_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    never_decides(monkeypatch)
    for asked in (question(16, where="tp*cp > 8", **MOE),):
        for answer in (solutions(asked), best(asked)):
            assert isinstance(answer, Undecided), answer
            assert answer.solutions == ()


@pytest.mark.parametrize("seconds", [0, 0.001, 0.02, 0.1])
def test_a_time_limit_never_reads_as_proved(seconds: float) -> None:
    """Whenever the time ends, the answer says so, or it is whole and was proved in time."""
    large = question(*range(1000, 1100), **MOE)
    answer = solutions(large, deadline=Deadline(seconds))
    assert isinstance(answer, Undecided)
    assert answer.reason == f"the time limit of {seconds:g} s passed"
    assert answer.count == len(answer.solutions)
    goal = question(*range(1000, 1800), objectives=[("dp", True)], **MOE)
    optimum = best(goal, deadline=Deadline(seconds))
    assert isinstance(optimum, Undecided)
    assert not optimum.optimal


def test_a_time_limit_reaches_the_certifier() -> None:
    with pytest.raises(TimedOut):
        certifier(ASKED, 0).nothing_outside()
    with pytest.raises(TimedOut):
        certifier(DP, 0).nothing_better([(8, 2)], pareto=False)
    assert certifier(ASKED, 1000).group_is_whole((99, 99, 99), []) == "proved"


@pytest.mark.parametrize(
    "asked",
    [
        {"tp_size": 17, **MOE},
        {"gpus_per_node": 7207, **MOE},
        {"gpus_per_node": 7207, "where": "tp*cp*pp*etp*ep == 17", **MOE},
    ],
)
def test_a_time_limit_ends_the_encoding_of_a_conflict(asked: dict[str, Anything]) -> None:
    """On 720,720 GPUs, where it takes long to write down what Z3 is asked."""
    query = question(720720, **asked)
    deadline = CountDown(after=2000)
    with pytest.raises(TimedOut):
        explain(query, deadline)
    assert deadline.looks == 2001
    answer = no_solution(query, CountDown(after=2000))
    assert isinstance(answer, Undecided)
    assert answer.reason.startswith("nothing valid was found, but the time limit passed")


def test_a_time_limit_ends_the_encoding_of_a_certificate() -> None:
    large = question(720720, gpus_per_node=8, objectives=[("dp*tp + ep*etp", True)], **MOE)
    deadline = CountDown(after=1000)
    with pytest.raises(TimedOut):
        Certifier(large, 720720, deadline).nothing_better([(1,)], pareto=False)
    assert deadline.looks == 1001


def test_a_conflict_whose_explanation_runs_out_of_time_is_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(*_: object) -> Conflict:
        raise TimedOut

    monkeypatch.setattr("parsolve.solver.explain.explain", slow)
    answer = solutions(question(16, tp_size=3))
    assert isinstance(answer, Undecided)
    assert answer.reason.startswith("nothing valid was found, but the time limit passed")


# Certificates of whole answers.


@pytest.mark.parametrize(
    ("world", "cluster"),
    [
        (144, {"gpus_per_node": 4, "nvlink_domain_size": 72}),
        (1, {}),
        (24, {"gpus_per_node": 8}),
        (6, {}),
        (40, {"gpus_per_node": 8}),
        (100800, {"gpus_per_node": 8}),
        (131072, {"gpus_per_node": 8}),
        (7, {"gpus_per_node": 1}),
    ],
)
def test_clusters_of_every_kind_are_proved(world: int, cluster: dict[str, Anything]) -> None:
    listed = solutions(question(world, **MOE, **cluster))
    assert isinstance(listed, Solutions)
    assert listed.complete
    assert listed.count == len(listed.solutions) > 0
    assert listed.certificate is not None
    assert listed.certificate.status == listed.certificate.divisors == "proved"
    assert listed.certificate.claim == "nothing valid lies outside this list"
    optimum = best(question(world, objectives=[("dp", True)], **MOE, **cluster))
    assert isinstance(optimum, Best)
    assert optimum.certificate.status == "proved"
    top = max(row.derived["data_parallel_size"] for row in listed.solutions)
    assert optimum.objectives[0].value == top


def test_a_listing_without_free_knobs_is_proved() -> None:
    pins: dict[str, Anything] = {**dict.fromkeys(HALO.axes, 1), "ep_size": 8, "ep_scope": "auto"}
    listed = solutions(question(8, **pins))
    assert isinstance(listed, Solutions)
    assert (listed.count, listed.complete) == (1, True)
    assert listed.certificate is not None
    assert listed.certificate.status == "proved"
    assert listed.searched == "nothing: every other knob at its default unless pinned"


def test_a_limit_leaves_the_listing_incomplete_and_unproved() -> None:
    whole = len(found(ASKED))
    for limit in (1, whole - 1):
        listed = solutions(ASKED, limit=limit)
        assert isinstance(listed, Solutions)
        assert (listed.count, listed.complete, listed.certificate) == (limit, False, None)
    for limit in (whole, whole + 1):
        listed = solutions(ASKED, limit=limit)
        assert isinstance(listed, Solutions)
        assert (listed.count, listed.complete) == (whole, True)
        assert listed.certificate is not None
    stream = Listing(ASKED, limit=3)
    assert len(list(stream)) == 3
    assert stream.stopped == "stopped at the limit of 3"


def test_progress_is_told_every_world() -> None:
    told: list[int] = []
    listing = Listing(question(8, 9, 10), progress=told.append)
    assert list(listing)
    assert told == [8, 9, 10]
    assert listing.complete
    told.clear()
    best(question(8, 9, objectives=[("dp", True)]), progress=told.append)
    assert told == [8, 9]


def test_worlds_without_a_solution_are_certified_between_the_others() -> None:
    listing = Listing(question(8, 9, 10, 16, gpus_per_node=8))
    worlds = {row.config["world_size"] for row in listing}
    assert worlds == {8, 16}
    assert listing.complete
    assert listing.certificate is not None
    assert listing.certificate.status == "proved"
