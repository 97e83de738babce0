"""The answer: the climb told rung by rung, what it ends in, and how sure that is."""

from __future__ import annotations

import time
from collections.abc import Sequence

from parsolve.constraints.fields import gib
from parsolve.constraints.ladder import Rung, SymptomName
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.advise.checks import checks
from parsolve.solver.advise.climb import Step, step, steps
from parsolve.solver.advise.question import Climb
from parsolve.solver.advise.standing import (
    anti_patterns,
    is_valid,
    numbers,
    standing,
    total,
)
from parsolve.solver.advise.symptoms import diagnosis, instead
from parsolve.solver.answer import Advice, Certificate, Fields, LadderRung, Solution, Undecided
from parsolve.solver.check import cautions
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.memory import usage
from parsolve.solver.query import assumptions
from parsolve.solver.solve import certificate, whole


def advise(
    climb: Climb, *, symptom: SymptomName | None = None, deadline: Deadline | None = None
) -> Advice | Undecided:
    """The simplest configuration that is valid and fits, by a climb that is certified complete."""
    deadline = deadline or Deadline()
    climbed: list[Step] = []
    try:
        climbed.extend(steps(climb, deadline))
        last = climbed[-1]
        beyond = None
        if last.simplest is None:
            beyond = step(climb, climb.rungs, deadline, guided=False)
        top = last if beyond is None or beyond.simplest is None else beyond
        proof = _certificate(climb, beyond or last, deadline)
    except TimedOut:
        return _undecided(climb, climbed, f"the time limit of {deadline.seconds:g} s passed")
    if proof.status != "proved":
        return _undecided(climb, climbed, "Z3 did not decide whether the climb missed anything")
    advised = top.simplest
    status = "advised" if last.simplest else "outside-guide" if advised else "nothing-fits"
    looked_at = climb.config if not climb.given.isdisjoint(climb.moved) else advised or climb.plain
    return Advice(
        profile=climb.profile.name,
        status=status,  # type: ignore[arg-type]  # a conditional of three literals
        config=Fields(climb.config.as_dict()),
        order=tuple(f"least {rung.name}" for rung in reversed(climb.rungs)),
        rungs=_told(climb, climbed),
        advised=None if advised is None else _solution(advised),
        memory=usage(advised or top.least or climb.plain),
        anti_patterns=() if advised is None else anti_patterns(advised),
        current=standing(climb),
        diagnosis=None
        if symptom is None
        else diagnosis(climb, looked_at, symptom, of_advised=looked_at is not climb.config),
        checks=() if advised is None else checks(climb, advised),
        certificate=proof,
        warnings=(*assumptions(top.query), *cautions(advised or climb.plain)),
    )


def _solution(config: Config) -> Solution:
    """The configuration, certified by the plain evaluator."""
    profile = config.profile
    if not profile.accepts(config.values):
        message = f"the climb ended in a rejected configuration: {config.as_dict()}; please report"
        raise RuntimeError(message)
    return Solution(
        config=Fields(config.as_dict()), derived=Fields(profile.described(config.values))
    )


def _certificate(climb: Climb, top: Step, deadline: Deadline) -> Certificate:
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
            told.append(_bare(rung, "impossible", _forbidden(climb.profile, rung)))
    return tuple(told)


def _bare(rung: Rung, state: str, why: str) -> LadderRung:
    return LadderRung(
        rung=rung.name,
        state=state,  # type: ignore[arg-type]  # one of its literals
        about=rung.about,
        cost=rung.cost,
        why=why,
    )


def _forbidden(profile: Profile, rung: Rung) -> str:
    for notice in profile.warnings:
        if notice.id == rung.forbidden:
            return f"{notice.id}: {notice.reason}"
    return "the model has no routed experts"


def _climbed(climb: Climb, climbed: Sequence[Step], index: int) -> LadderRung:
    found, below = climbed[index], climbed[index - 1] if index else None
    rung, best = found.rung, found.best
    name = _name(climb, rung)
    about = "no primitive beyond this" if rung is None else rung.about
    cost = "gradients are reduced once per step" if rung is None else rung.cost
    if best is None:
        return LadderRung(
            rung=name,
            state="idle",
            about=about,
            cost=cost,
            why=_why_none(climb.plain),
            valid=found.valid,
            fitting=0,
        )
    names = ("comm_volume_dp",) if rung is None else rung.numbers
    before = None if below is None else below.best
    if rung is not None and not found.using:
        return LadderRung(
            rung=name,
            state="idle",
            about=about,
            cost=cost,
            why=_why_unused(climb, rung, best),
            valid=found.valid,
            fitting=found.fitting,
        )
    size = total(best)
    return LadderRung(
        rung=name,
        state="over" if found.simplest is None else "fits",
        about=about,
        cost=cost,
        why=_why(climb, found),
        settings=Fields({n: best[n] for n in climb.offered if best[n] != climb.ladder.start[n]}),
        memory=size,
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
    if size is None:
        return "its memory is not known"
    if found.simplest is not None:
        return f"{gib(climb.limit - size)} to spare"
    return f"{gib(size - climb.limit)} too much at best"


def _why_none(config: Config) -> str:
    profile = config.profile
    rules = ", ".join(profile.limits[index].id for index in profile.violated(config.values))
    return f"refused by {rules}"


def _why_unused(climb: Climb, rung: Rung, best: Config) -> str:
    """Why no valid configuration uses a rung: the guide, or the rules that refuse its first step."""
    profile = climb.profile
    settings = dict(climb.ladder.settings(rung, rung))
    if rung.size is not None:
        world: int = best[profile.world]
        settings[rung.size.name] = next((n for n in range(2, world + 1) if world % n == 0), 2)
    tried = best.replaced(settings)
    if not is_valid(tried):
        return _why_none(tried)
    return rung.need or "no valid configuration uses it"
