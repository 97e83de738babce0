"""Every valid configuration of 8,192 GPUs, against hand-written loops over divisors.

The hand-written loops (`benchmarks/handwritten.py`) know this one question: which axes exist,
what divides what, which sets of axes are supported. One variant ends each candidate with the
reference validator; the other has only the conditions that are left, inline. parsolve's search
starts from the rules each time: it folds in what is known, writes its loops and compiles them;
the certified listing also has Z3 prove that nothing is missing. The sets of layouts are
compared first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks.handwritten import Layout, inline, validated
from benchmarks.measure import Row, Target, in_turns, same
from parsolve import _query, solutions
from parsolve.constraints import PROFILES
from parsolve.solver.answer import Solutions
from parsolve.solver.query import Query
from parsolve.solver.search import Found, _loops, residue, search

WORLD, NODE = 8_192, 8
HALO = PROFILES["halo"]
ORDER = ("pp_size", "tp_size", "cp_size", "expert_tp_size", "ep_size")


def question(assume_pp: bool, world: int = WORLD) -> Query:  # noqa: FBT001
    given = {"gpus_per_node": NODE, "assume_pp": assume_pp}
    return _query(world, "halo", True, (), (), given, (), pareto=False)  # noqa: FBT003


def layout(config: dict[str, Any], derived: dict[str, Any]) -> Layout:
    return Layout(*(config[name] for name in ORDER), derived["ep_scope"])


def rows(runs: int) -> Iterator[Row]:
    for assume_pp in (False, True):
        query = question(assume_pp)
        found = list(search(query))
        by_hand = partial(validated, WORLD, NODE, assume_pp=assume_pp)
        harder = partial(inline, WORLD, NODE, assume_pp=assume_pp)
        listing = certified(assume_pp)
        ours = set(searched_layouts(query, found))
        same("search", (len(found), ours), (len(ours), set(by_hand())))
        same("inline conditions", ours, set(harder()))
        same("listing", ours, {layout(s.config, s.derived) for s in listing.solutions})

        release = "assume_pp, " if assume_pp else ""
        count = f"{release}{len(found)} layouts"
        many = 10 * runs
        timed = in_turns(lambda a=assume_pp: list(search(question(a))), by_hand, many)  # type: ignore[misc]
        yield Row(
            what=f"search, {count}",
            ours=timed.ours,
            against="by hand, with the validator",
            theirs=timed.theirs,
            ratio=timed.ratio,
            target=Target(10),
        )
        timed = in_turns(lambda a=assume_pp: list(search(question(a))), harder, many)  # type: ignore[misc]
        yield Row(
            what=f"search, {count}",
            ours=timed.ours,
            against="by hand, inline",
            theirs=timed.theirs,
            ratio=timed.ratio,
        )
        loops = _loops(query, residue(query, WORLD))
        compiled = partial(loops, query.worlds, query.domain, lambda: None)
        timed = in_turns(lambda compiled=compiled: list(compiled()), harder, many)  # type: ignore[misc]
        yield Row(
            what=f"its loops, compiled before, {count}",
            ours=timed.ours,
            against="by hand, inline",
            theirs=timed.theirs,
            ratio=timed.ratio,
        )
        timed = in_turns(partial(certified, assume_pp), by_hand, runs)
        certificate = listing.certificate
        assert certificate is not None
        yield Row(
            what=f"certified listing, {count}",
            ours=timed.ours,
            against="by hand, with the validator",
            theirs=timed.theirs,
            ratio=timed.ratio,
            note=f"{release}of the certified listing, the solver took "
            f"{certified_seconds(assume_pp):g} s, and {certificate.seconds:g} s the first time, "
            "when it also proves that sizes divide the world.",
        )


def certified(assume_pp: bool) -> Solutions:  # noqa: FBT001
    answer = solutions(world=WORLD, moe=True, gpus_per_node=NODE, assume_pp=assume_pp)
    assert isinstance(answer, Solutions)
    assert answer.complete
    assert answer.certificate is not None
    assert answer.certificate.status == "proved"
    return answer


def certified_seconds(assume_pp: bool) -> float:  # noqa: FBT001
    certificate = certified(assume_pp).certificate
    assert certificate is not None
    return certificate.seconds


def searched_layouts(query: Query, found: Sequence[Found]) -> Iterator[Layout]:
    for world, chosen, _ in found:
        values = query.completed(world, query.free, chosen)
        yield layout(dict(zip(query.free, chosen, strict=True)), HALO.derive(values))
