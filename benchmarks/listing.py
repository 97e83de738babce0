"""Every valid configuration of 8,192 GPUs, against hand-written loops over divisors.

The hand-written loops (`benchmarks/handwritten.py`) know this one question: which axes exist,
what divides what, which sets of axes are supported. One variant ends each candidate with the
reference validator; the other has only the conditions that are left, inline. parsolve's search
starts from the rules each time: it folds in what is known, writes its loops and compiles them;
the certified listing also has Z3 prove that nothing is missing (that sizes divide the world is
proved once in a process, before the timing; `optimum` shows what it adds). The sets of layouts
are compared first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks.handwritten import Layout, inline, validated
from benchmarks.measure import Row, Target, in_turns, same
from parsolve import solutions
from parsolve.constraints import PROFILES
from parsolve.solver.answer import Solutions
from parsolve.solver.deadline import Deadline
from parsolve.solver.query import Query, build_query
from parsolve.solver.search import Found, _loops, _open_residue, search

WORLD, NODE = 8_192, 8
HALO = PROFILES["halo"]
ORDER = ("pp_size", "tp_size", "cp_size", "expert_tp_size", "ep_size")


def question(assume_pp: bool) -> Query:  # noqa: FBT001
    given = {"gpus_per_node": NODE, "model_kind": "moe", "assume_pp": assume_pp}
    return build_query(HALO, [WORLD], given)


def layout(config: dict[str, Any], derived: dict[str, Any]) -> Layout:
    return Layout._make([*(config[name] for name in ORDER), derived["ep_scope"]])


def rows(runs: int) -> Iterator[Row]:
    for assume_pp in (False, True):
        query = question(assume_pp)
        found = list(search(query))
        by_hand = partial(validated, WORLD, NODE, assume_pp=assume_pp)
        harder = partial(inline, WORLD, NODE, assume_pp=assume_pp)
        listing = certified(assume_pp)
        layouts = set(searched_layouts(query, found))
        same("search, each once", len(layouts), len(found))
        same("search", layouts, set(by_hand()))
        same("inline conditions", layouts, set(harder()))
        same("listing", layouts, {layout(s.config, s.derived) for s in listing.solutions})

        count = f"{'assume_pp, ' if assume_pp else ''}{len(found)} layouts"
        search_it = partial(searched, assume_pp)
        loops = _loops(query.shape, (), None)
        loop = partial(looped, partial(loops, query.worlds, query.domain, Deadline().check, None))
        proofs: list[float] = []
        list_it = partial(timed_proof, assume_pp, proofs)
        validator, conditions = "by hand, with the validator", "by hand, inline"
        cases = (
            (f"search, {count}", search_it, validator, by_hand, 10 * runs, Target(10)),
            (f"search, {count}", search_it, conditions, harder, 10 * runs, None),
            (
                f"its loops alone, compiled, {count}",
                loop,
                conditions,
                harder,
                10 * runs,
                None,
            ),
            (f"certified listing, {count}", list_it, validator, by_hand, runs, None),
        )
        for what, ours, against, theirs, many, target in cases:
            timed = in_turns(ours, theirs, many)
            yield Row(
                what=what,
                ours=timed.ours,
                against=against,
                theirs=timed.theirs,
                ratio=timed.ratio,
                target=target,
                note=f"Certified listing, {count}: {median(proofs):.3f} s of it are Z3's."
                if ours is list_it
                else "",
            )


def searched(assume_pp: bool) -> list[Found]:  # noqa: FBT001
    _loops.cache_clear()
    _open_residue.cache_clear()
    return list(search(question(assume_pp)))


def looped(loops: Callable[[], Iterator[Found]]) -> list[Found]:
    return list(loops())


def timed_proof(assume_pp: bool, proofs: list[float]) -> None:  # noqa: FBT001
    certificate = certified(assume_pp).certificate
    assert certificate is not None
    proofs.append(certificate.seconds)


def certified(assume_pp: bool) -> Solutions:  # noqa: FBT001
    answer = solutions(world=WORLD, moe=True, gpus_per_node=NODE, assume_pp=assume_pp)
    assert isinstance(answer, Solutions)
    assert answer.complete
    assert answer.certificate is not None
    assert answer.certificate.status == "proved"
    return answer


def searched_layouts(query: Query, found: Sequence[Found]) -> Iterator[Layout]:
    for world, chosen, _ in found:
        values = query.completed(world, query.free, chosen)
        yield layout(dict(zip(query.free, chosen, strict=True)), HALO.derive(values))
