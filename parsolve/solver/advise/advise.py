"""The answer: the climb told rung by rung, what it ends in, and how sure that is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Literal, TypeAlias

from parsolve.constraints.describe import words
from parsolve.constraints.fields import gib
from parsolve.constraints.ladder import Rung, SymptomName
from parsolve.constraints.profile import Config
from parsolve.solver.advise.checks import checks
from parsolve.solver.advise.climb import Step, something_fits, step, steps
from parsolve.solver.advise.question import Climb
from parsolve.solver.advise.standing import (
    anti_patterns,
    known,
    numbers,
    refusals,
    standing,
    total,
    uses,
)
from parsolve.solver.advise.symptoms import diagnosis, instead, lighter
from parsolve.solver.answer import (
    Advice,
    Certificate,
    Diagnosis,
    Fields,
    LadderRung,
    Solution,
    Undecided,
)
from parsolve.solver.check import cautions
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.memory import state, usage
from parsolve.solver.query import assumptions
from parsolve.solver.solve import certificate, whole

MOST_DOUBLINGS = 6
"""How often the world is doubled where nothing fits, to say how many GPUs would do."""

Status: TypeAlias = Literal["advised", "outside-guide", "nothing-fits"]
State: TypeAlias = Literal["over", "fits", "idle", "impossible", "unneeded"]


def advise(
    climb: Climb, *, symptom: SymptomName | None = None, deadline: Deadline | None = None
) -> Advice | Undecided:
    """The simplest configuration that is valid and fits, by a climb that is certified complete."""
    deadline = deadline or Deadline()
    climbed: list[Step] = []
    try:
        climbed.extend(steps(climb, deadline))
        last = climbed[-1]
        missed = last.simplest is None
        top = step(climb, climb.rungs, deadline, guided=False) if missed else last
        advised = top.simplest
        proof = _certificate(top, deadline)
        enough = _enough(climb, deadline) if top.valid and advised is None else None
        found = None if symptom is None else _diagnosis(climb, advised, symptom, deadline)
        less = None if advised is None else lighter(climb, advised, deadline)
    except TimedOut:
        return _undecided(climb, climbed, f"the time limit of {deadline.seconds:g} s passed")
    if proof.status != "proved":
        return _undecided(climb, climbed, "Z3 did not decide whether the climb missed anything")
    shown = advised or top.least
    return Advice(
        profile=climb.profile.name,
        status=_status(last, advised),
        config=Fields(climb.config.as_dict()),
        order=tuple(f"least {rung.name}" for rung in reversed(climb.rungs)),
        rungs=_told(climb, climbed),
        advised=None if advised is None else _solution(advised),
        settings=None if advised is None else Fields(climb.settings(advised)),
        memory=None if shown is None else usage(shown),
        global_batch=None if advised is None else known(advised).get("global_batch"),
        anti_patterns=() if advised is None else anti_patterns(advised),
        lighter=less,
        current=standing(climb),
        diagnosis=found,
        enough=enough,
        checks=() if advised is None else checks(climb, advised),
        certificate=proof,
        warnings=(*assumptions(top.query), *cautions(shown or climb.plain)),
    )


def _diagnosis(
    climb: Climb, advised: Config | None, symptom: SymptomName, deadline: Deadline
) -> Diagnosis:
    """Of what was stated, or else of what is advised."""
    if advised is None or climb.is_stated:
        return diagnosis(climb, climb.config, symptom, deadline, of_advised=False)
    return diagnosis(climb, advised, symptom, deadline, of_advised=True)


def _status(last: Step, advised: Config | None) -> Status:
    if last.simplest is not None:
        return "advised"
    return "nothing-fits" if advised is None else "outside-guide"


def _enough(climb: Climb, deadline: Deadline) -> int | None:
    """The fewest GPUs, among doublings of the world, on which something fits."""
    world: int = climb.config[climb.profile.world]
    larger = (world * 2**doubled for doubled in range(1, MOST_DOUBLINGS + 1))
    return next((size for size in larger if something_fits(climb.on(size), deadline)), None)


def _solution(config: Config) -> Solution:
    """The configuration, certified by the plain evaluator."""
    profile = config.profile
    if not profile.accepts(config.values):
        message = f"the climb ended in a rejected configuration: {config.as_dict()}; please report"
        raise RuntimeError(message)
    return Solution(
        config=Fields(config.as_dict()), derived=Fields(profile.described(config.values))
    )


def _certificate(top: Step, deadline: Deadline) -> Certificate:
    """Z3 on the widest question that was asked: the others ask for a part of it."""
    started = time.monotonic()
    proved, _ = whole(top.query.narrow, deadline)
    seconds = time.monotonic() - started
    many = f"the {top.valid:,} valid configurations" if top.valid != 1 else "the valid one"
    claim = (
        f"nothing valid lies outside of {many} whose memory was evaluated"
        f"; {'none of them fits' if top.simplest is None else 'no simpler one of them fits'}"
    )
    return certificate(top.query, claim, proved=proved, seconds=seconds, deadline=deadline)


def _undecided(climb: Climb, climbed: Sequence[Step], reason: str) -> Undecided:
    over = ", ".join(_name(climb, s.rung) for s in climbed if s.simplest is None)
    return Undecided(
        profile=climb.profile.name,
        reason=f"{reason}; nothing that uses only {over} fits" if over else reason,
        searched="the ladder, rung by rung",
    )


def _name(climb: Climb, rung: Rung | None) -> str:
    return climb.ladder.base if rung is None else rung.name


def _told(climb: Climb, climbed: Sequence[Step]) -> tuple[LadderRung, ...]:
    """Every rung of the ladder, climbed or not."""
    by_rung = {id(found.rung): index for index, found in enumerate(climbed)}
    told = [_climbed(climb, climbed, 0)]
    for rung in climb.ladder.rungs:
        index = by_rung.get(id(rung))
        if index is not None:
            told.append(_climbed(climb, climbed, index))
        elif climb.is_offered(rung):
            top = climbed[-1]
            spare = climb.limit - (total(top.best) or 0) if top.best else 0
            told.append(
                _bare(rung, "unneeded", f"{_name(climb, top.rung)} fits with {gib(spare)} to spare")
            )
        else:
            told.append(_bare(rung, "impossible", _forbidden(climb, rung)))
    return tuple(told)


def _bare(rung: Rung, state: State, why: str) -> LadderRung:
    return LadderRung(
        rung=rung.name,
        state=state,
        about=rung.about,
        cost=rung.cost,
        why=why,
    )


def _forbidden(climb: Climb, rung: Rung) -> str:
    rule = climb.forbidding(rung)
    return "the model has no routed experts" if rule is None else f"{rule.id}: {rule.reason}"


def _climbed(climb: Climb, climbed: Sequence[Step], index: int) -> LadderRung:
    found, below = climbed[index], climbed[index - 1] if index else None
    rung, best = found.rung, found.best
    told = partial(
        LadderRung,
        rung=_name(climb, rung),
        about="no primitive beyond data parallelism" if rung is None else rung.about,
        cost="gradients are reduced once per step" if rung is None else rung.cost,
    )
    if best is None:
        return told(state="idle", why=_refused(climb.plain), valid=0, fitting=0)
    if rung is not None and not found.using:
        return told(state="idle", why=_why_unused(climb, rung, best))
    before = None if below is None else below.best
    names = ("comm_volume_dp",) if rung is None else rung.numbers
    return told(
        state="over" if found.simplest is None else "fits",
        why=_why(climb, found),
        settings=Fields(climb.settings(best)),
        memory=total(best),
        before=None if before is None else total(before),
        numbers=numbers(best, names),
        numbers_before=None if before is None else numbers(before, names),
        valid=found.valid,
        fitting=found.fitting,
        instead=instead(climb, before) if found.simplest is not None and before else None,
    )


def _why(climb: Climb, found: Step) -> str:
    best = found.best
    size = None if best is None else total(best)
    if best is None or size is None:
        return "its memory is not known"
    if found.simplest is not None:
        near = state(size, climb.limit) == "near"
        rest = ": near the limit, where fragmentation decides" if near else ""
        return f"{gib(climb.limit - size)} to spare, so nothing more is needed{rest}"
    helps = found.rung is None or uses(best, found.rung)
    over = f"{gib(size - climb.limit)} too much at best"
    return f"{over}, so more is needed" if helps else f"{over}, and no less with it: more is needed"


def _refused(config: Config) -> str:
    return f"refused by {', '.join(refusals(config))}"


def _why_unused(climb: Climb, rung: Rung, best: Config) -> str:
    """Why nothing valid uses a rung: the guide, or the rules that refuse its first step."""
    profile = climb.profile
    settings = dict(climb.ladder.settings(rung, rung))
    if rung.size is not None:
        world: int = best[profile.world]
        settings[rung.size.name] = next((n for n in range(2, world + 1) if world % n == 0), 2)
    tried = best.replaced(settings)
    if refusals(tried):
        return _refused(tried)
    return f"{rung.need}: {words(rung.only)}" if rung.need else "no valid configuration uses it"
