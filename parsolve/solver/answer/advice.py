"""Which primitive of parallelism to add next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parsolve.solver.answer.file import FileVerdict
from parsolve.solver.answer.move import FileEdit
from parsolve.solver.answer.search import Certificate, Solution
from parsolve.solver.answer.verdict import Caution, Fields, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A change of a configuration that is accepted, and what it comes to.

    ``change`` are fields with their new values, ``memory`` bytes of the fullest GPU and ``state``
    whether that fits. ``numbers`` are the quantities that are looked at, after the change. ``rung``
    names the rung of the ladder that it climbs or steps down from, absent for any other knob.
    """

    change: Fields
    memory: int
    state: Literal["fits", "near", "over"]
    numbers: Fields
    rung: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRung:
    """One rung of a ladder, in the order of the climb.

    ``over``: nothing that uses the rungs up to this one fits; ``fits``: something does, and the
    climb ends; ``idle``: no valid configuration uses it; ``impossible``: the framework or the model
    does not have it; ``unneeded``: it lies above the rung that fits. ``why`` says it with numbers.

    ``settings`` are the ladder's fields off their start in the best configuration up to here: the
    simplest that fits, or what needs least memory, which is ``memory`` bytes on the fullest GPU;
    ``before`` was that of the rung below. ``numbers`` measure ``cost``, and ``numbers_before`` are
    those of the rung below. Of ``valid`` configurations ``fitting`` fit. ``instead`` are changes of
    other knobs with which the rung below would fit.
    """

    rung: str
    state: Literal["over", "fits", "idle", "impossible", "unneeded"]
    about: str
    cost: str
    why: str
    settings: Fields | None = None
    memory: int | None = None
    before: int | None = None
    numbers: Fields | None = None
    numbers_before: Fields | None = None
    valid: int | None = None
    fitting: int | None = None
    instead: tuple[Move, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AntiPatternFound:
    """Something that a configuration does and that costs without need.

    ``because`` are the numbers that make it so, ``numbers`` what it costs.
    """

    pattern: str
    reason: str
    because: str
    instead: str
    source: str
    numbers: Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a stated configuration stands on the ladder.

    ``numbers`` measure what its rungs cost. ``violated`` are rules that refuse it. ``needless`` are
    steps down from a rung that it uses after which it still fits and costs less, each alone.
    """

    config: Fields
    memory: Usage | None = None
    numbers: Fields
    violated: tuple[str, ...]
    anti_patterns: tuple[AntiPatternFound, ...]
    needless: tuple[Move, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What lies behind a symptom, in numbers, and what relieves it.

    ``measure`` names the quantity that should fall, ``numbers`` it and those beside it, now.
    ``moves`` are single changes that lower it, in the order in which to try them; ``least`` is the
    change to what has the least of everything on the ladder that fits; ``hints`` are levers that no
    formula measures. ``of`` says which configuration is looked at: the one that was
    stated, or the one advised where none was.
    """

    symptom: Literal["oom", "slow", "bubbles", "long-context", "imbalance"]
    about: str
    of: Literal["current", "advised"]
    measure: str
    numbers: Fields
    found: tuple[str, ...]
    moves: tuple[Move, ...]
    least: Move | None = None
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceCheck:
    """What to do before the next primitive is stacked, and ``how``.

    ``split`` and ``unsplit`` are the two runs of the same few ``layers`` that must agree; they are
    absent where no such run fits one GPU, or the check needs none.
    """

    check: Literal["same-step", "measure"]
    how: str
    layers: int | None = None
    split: Solution | None = None
    unsplit: Solution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The simplest configuration of a ladder that is valid and fits, and the climb to it.

    ``status``: ``advised`` where something fits as the ladder is meant to be climbed;
    ``outside-guide`` where something fits only if rungs are used where they are not meant to be;
    ``nothing-fits``. ``order`` says what simplest means, ``config`` what was stated. ``advised`` is
    the configuration, ``settings`` what of it is on the ladder, ``memory`` its account,
    ``global_batch`` the samples of its step, ``anti_patterns`` what even it does, ``lighter`` the
    change to what sends least per sample of everything on the ladder that fits; where nothing fits,
    ``memory`` is the least, and ``enough`` the fewest GPUs, among doublings of the world, with
    which something fits. ``current`` is there where any of the ladder's fields was stated. ``file``
    is what a file was read as, if one was; ``edits`` are what to change in it, absent if it has no
    key for that.
    """

    profile: str
    status: Literal["advised", "outside-guide", "nothing-fits"]
    config: Fields
    order: tuple[str, ...]
    rungs: tuple[LadderRung, ...]
    advised: Solution | None = None
    settings: Fields | None = None
    memory: Usage | None = None
    global_batch: int | None = None
    anti_patterns: tuple[AntiPatternFound, ...] = ()
    lighter: Move | None = None
    current: Standing | None = None
    diagnosis: Diagnosis | None = None
    enough: int | None = None
    checks: tuple[AdviceCheck, ...] = ()
    certificate: Certificate
    warnings: tuple[Caution, ...] = ()
    file: FileVerdict | None = None
    edits: tuple[FileEdit, ...] | None = None
    answer: Literal["advice"] = "advice"
