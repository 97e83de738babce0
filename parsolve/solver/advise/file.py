"""Advice on a training file or launch script: what it says is the current configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from parsolve.constraints.ladder import SymptomName
from parsolve.constraints.profile import Config
from parsolve.solver.advise.advise import advise
from parsolve.solver.advise.question import Climb, climb_of, ladder_of
from parsolve.solver.answer import Advice, FileVerdict, Undecided
from parsolve.solver.deadline import Deadline
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.judging import verdict_on
from parsolve.solver.files.reading import contents
from parsolve.solver.move import file_edits
from parsolve.solver.sides import Told


def advise_file(
    side: Told, *, symptom: SymptomName | None = None, deadline: Deadline | None = None
) -> Advice | Undecided:
    """Advice, what was read of the file, and what to change in it. Raises `Misuse`."""
    climb = climb_of_file(side)
    answer = advise(climb, symptom=symptom, deadline=deadline)
    if isinstance(answer, Undecided):
        return answer
    advised = None if answer.advised is None else climb.profile.config(answer.advised.config)
    return replace(
        answer,
        file=_verdict(side),
        edits=None if advised is None else file_edits(side, advised, _change(climb, advised)),
    )


def climb_of_file(side: Told) -> Climb:
    """The climb of what a file and options over it say. Raises `Misuse`.

    A file is a whole configuration: a rung of which it says nothing is not used.
    """
    knobs = ladder_of(side.profile).knobs
    config = side.config()

    def changed(changes: Mapping[str, object]) -> Config:
        return side.over(changes, Cluster()).config()

    return climb_of(config, {*side.said(), *side.given, *(knob.name for knob in knobs)}, changed)


def _verdict(side: Told) -> FileVerdict:
    name = side.reading.document.name
    asked = replace(side.asked, shown_repairs=0, profile=side.profile.name)
    return verdict_on(name, lambda: contents(name), asked)


def _change(climb: Climb, advised: Config) -> dict[str, object]:
    """What of the ladder is to be other than it is."""
    return {name: advised[name] for name in climb.usual if advised[name] != climb.config[name]}
