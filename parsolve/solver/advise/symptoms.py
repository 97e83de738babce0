"""What a symptom asks of a configuration: the numbers behind it, and what lowers them."""

from __future__ import annotations

from parsolve.constraints.ladder import SymptomName
from parsolve.constraints.profile import Config
from parsolve.solver.advise.question import Climb
from parsolve.solver.answer import Diagnosis, Move


def instead(climb: Climb, config: Config) -> tuple[Move, ...] | None:
    """Changes of knobs that are no rungs, with which the configuration would fit."""
    del climb, config
    return None


def diagnosis(
    climb: Climb, config: Config, name: SymptomName, *, of_advised: bool
) -> Diagnosis | None:
    """The symptom at this configuration."""
    del climb, config, name, of_advised
    return None
