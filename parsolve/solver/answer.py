"""Answers: a closed union of frozen values. Their JSON is a public format.

``docs/schema/answer.schema.json`` is generated from these classes. A key that does not apply
is left out of the JSON (`to_json`), so a consumer tests for presence.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, NoReturn, TypeAlias, Union

ALWAYS = {"null": True}
"""Marks an attribute that is in the JSON even where it is null."""


class Fields(dict[str, Any]):
    """Names and values of an answer: a dictionary that cannot be changed."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        message = "an answer cannot be changed; copy it with dict(...)"
        raise TypeError(message)

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[type[Fields], tuple[dict[str, Any]]]:
        """Copied and pickled as a whole: item by item would be a change."""
        return (type(self), (dict(self),))

    @classmethod
    def __get_pydantic_core_schema__(cls, _: object, handler: Callable[[Any], Any]) -> object:
        """To a schema it is an object with any values."""
        return handler(dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that the configuration breaks."""

    rule: str
    stage: str
    reason: str
    because: str
    remedy: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """Something that is accepted and worth knowing.

    A ``change`` is one that the framework makes in silence, a ``hazard`` something that it takes
    and that hurts or trains wrongly; absent for any other warning.
    """

    warning: str
    reason: str
    because: str
    source: str
    kind: Literal["change", "hazard"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A smallest change that is accepted: fields to change, and the whole result.

    ``drop`` names conditions of the question that the change gives up.
    """

    change: Fields
    config: Fields
    drop: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """An accepted configuration, with its derived quantities."""

    config: Fields
    derived: Fields
    objectives: Fields | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """An objective. ``value`` is its optimum, absent on a Pareto front."""

    quantity: str
    direction: Literal["maximize", "minimize"]
    value: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What Z3 confirmed, and in how much time.

    ``claim`` is the statement whose negation Z3 found unsatisfiable; ``domains`` says which
    values were searched; ``divisors`` whether Z3 proved, for every cluster, that no other
    values can be accepted.
    """

    status: Literal["proved", "undecided"]
    claim: str
    seconds: float
    domains: str
    divisors: Literal["proved", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What fills the fullest GPU at its peak.

    ``bytes`` holds each part, their sum as ``total``, and as ``allocated`` the sum without the
    reserve, which is what the framework's allocator reports; ``experts`` how much of a part is
    that of routed experts. ``limit`` is the GPU's memory in
    bytes; ``state`` says whether the total fits, is near the limit, or over it. ``peak`` is the
    moment at which most is in use; ``assumed`` what nobody said.
    """

    bytes: Fields
    peak: str
    experts: Fields | None = None
    limit: int | None = None
    state: Literal["fits", "near", "over"] | None = None
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What a configuration needs of each GPU, part by part, see `Usage`.

    ``violated`` are rules that refuse the configuration whatever its memory; ``repairs`` the
    nearest accepted configurations where it does not fit, and ``repairs_complete`` is false where
    the search for them was cut short.
    """

    profile: str
    config: Fields
    bytes: Fields
    peak: str
    experts: Fields | None = None
    limit: int | None = field(metadata=ALWAYS)
    state: Literal["fits", "near", "over"] | None = field(metadata=ALWAYS)
    assumed: tuple[str, ...] = ()
    warnings: tuple[Caution, ...] = ()
    violated: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] | None = None
    repairs_complete: bool | None = None
    answer: Literal["memory"] = "memory"

    @property
    def status(self) -> str:
        """What decides the exit code."""
        return self.state or "known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """No rule is violated. ``memory`` is there where the model's size is known."""

    profile: str
    config: Fields
    derived: Fields
    memory: Usage | None = None
    warnings: tuple[Caution, ...] = ()
    answer: Literal["accepted"] = "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """At least one rule is violated; the first is the framework's own verdict.

    ``repairs`` are the nearest accepted configurations, absent where they were not asked
    for; ``more_repairs`` counts equally near ones that are not shown. ``repairs_complete`` is
    false where the search for them was cut short, and absent elsewhere.
    """

    profile: str
    config: Fields
    derived: Fields
    violations: tuple[Violation, ...]
    memory: Usage | None = None
    warnings: tuple[Caution, ...] = ()
    repairs: tuple[Repair, ...] | None = None
    more_repairs: int | None = None
    repairs_complete: bool | None = None
    answer: Literal["rejected"] = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileVerdict:
    """What one profile says of a shape that several are asked about.

    ``ignored`` is what it has no field for; where axes are among that, it ``lacks`` them and there
    is no verdict, nor where the profile cannot read the question, which ``error`` explains.
    """

    profile: str
    title: str
    verdict: Literal["accepted", "rejected", "no such axis", "no question"]
    ignored: Fields
    lacks: tuple[str, ...] | None = None
    error: str | None = None
    detail: Accepted | Rejected | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The verdicts of all profiles on one shape; ``accepted`` counts those that take it."""

    given: Fields
    verdicts: tuple[ProfileVerdict, ...]
    accepted: int
    answer: Literal["comparison"] = "comparison"

    @property
    def status(self) -> str:
        """What decides the exit code: whether all accept."""
        return "accepted" if self.accepted == len(self.verdicts) else "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSetting:
    """A setting of a file: its ``key`` there, and the field that it is ``of``.

    ``of`` may also be ``model``, ``axis`` (one that the rules do not know), or ``cluster.nodes``,
    ``cluster.gpus_per_node`` and ``cluster.world_size``. Without ``line`` and ``column`` (from 1)
    it is what the absence of a key means to the framework.
    """

    key: str
    of: str
    value: Any = field(metadata=ALWAYS)
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIgnored:
    """A setting of a file that no rule asks for; ``why`` where there is more to say."""

    key: str
    value: Any = field(metadata=ALWAYS)
    line: int
    column: int
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRule:
    """A violated rule, or a warning, and the settings of the file that it reads."""

    rule: str
    settings: tuple[FileSetting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdict:
    """What one file comes to.

    ``format`` names whose file it is. ``settings`` were understood, ``overridden`` are fields of
    them that an option replaced. An unreadable file has an ``error``, with its place where that
    is known; so has one that is undecided, since it says what no rule can judge.
    """

    file: str
    verdict: Literal["accepted", "rejected", "undecided", "unreadable"]
    format: str | None = None
    syntax: Literal["yaml", "json", "toml", "script"] | None = None
    profile: str | None = None
    settings: tuple[FileSetting, ...] = ()
    overridden: tuple[str, ...] = ()
    ignored: tuple[FileIgnored, ...] = ()
    rules: tuple[FileRule, ...] = ()
    detail: Accepted | Rejected | None = None
    error: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The verdicts on files; ``skipped`` are those in folders that configure no training."""

    files: tuple[FileVerdict, ...]
    accepted: int
    rejected: int
    undecided: int
    unreadable: int
    skipped: tuple[str, ...] = ()
    answer: Literal["files"] = "files"

    @property
    def status(self) -> str:
        """What decides the exit code."""
        if self.unreadable:
            return "unreadable"
        if self.rejected:
            return "rejected"
        return "undecided" if self.undecided else "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """No configuration satisfies pins, conditions and rules together.

    ``pins``, ``conditions``, ``rules`` and what is ``held`` at its default though a condition
    speaks of it are a smallest set that already excludes each other at ``world``, one of
    ``worlds`` on which nothing is valid; ``searched`` says within which values. ``repairs``
    are smallest relaxations of the question that have an answer. ``method`` is how it was found
    that no smaller set conflicts.
    """

    profile: str
    world: int
    worlds: int
    pins: Fields
    held: Fields
    conditions: tuple[str, ...]
    rules: tuple[Violation, ...]
    smallest: bool
    searched: str
    repairs: tuple[Repair, ...] = ()
    warnings: tuple[Caution, ...] = ()
    method: Literal["Z3", "search"] = "Z3"
    answer: Literal["conflict"] = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Solutions:
    """The accepted configurations; ``complete`` says whether these are all of them."""

    profile: str
    searched: str
    solutions: tuple[Solution, ...]
    count: int
    complete: bool
    certificate: Certificate | None = None
    answer: Literal["solutions"] = "solutions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best configurations, in the profile's stated order of preference.

    ``count`` is how many reach the optimum (or lie on the Pareto front). ``optimal`` is true
    only where Z3 proved that nothing valid is better and nothing equally good is missing.
    """

    profile: str
    searched: str
    objectives: tuple[Goal, ...]
    pareto: bool
    solutions: tuple[Solution, ...]
    count: int
    optimal: bool
    order: tuple[str, ...]
    certificate: Certificate
    warnings: tuple[Caution, ...] = ()
    answer: Literal["best"] = "best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """The time limit passed, or a solver did not know. ``solutions`` are the best found."""

    profile: str
    reason: str
    searched: str
    solutions: tuple[Solution, ...] = ()
    count: int = 0
    objectives: tuple[Goal, ...] = ()
    optimal: bool = False
    complete: bool = False
    answer: Literal["undecided"] = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A mistake planted into a rule or into a validator.

    It is killed by a configuration that shows it, proved equivalent for all integers, or
    survives: nobody would notice it.
    """

    name: str
    outcome: Literal["killed", "equivalent", "survived"]
    counterexample: Fields | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What became of one statement about the rules.

    ``scope`` is "unbounded" for all integers, else the bound. ``counterexample`` is a
    configuration at which the statement fails, null if there is none; ``witness`` one that
    shows what the statement says to exist.
    """

    name: str
    status: Literal["proved", "refuted", "undecided"]
    seconds: float
    scope: str
    counterexample: Fields | None = field(metadata=ALWAYS)
    says: str
    note: str | None = None
    witness: Fields | None = None
    mutants: tuple[Mistake, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """What a second solver said of the same questions: how many it confirmed.

    ``unknown`` are those it did not decide within its limit, ``contradicted`` the names of
    those that it answered the other way round.
    """

    solver: str
    confirmed: int
    unknown: int
    contradicted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """Statements about the rules, for all sizes; ``status`` is proved only if all are.

    ``against`` names the validator that the rules were compared with, where it was the user's.
    Where it is the profile's own, ``out_of_reach`` names fields that stay at their default, and
    why, and ``assumed`` says what is taken for granted.
    """

    profile: str
    status: Literal["proved", "refuted", "undecided"]
    seconds: float
    obligations: tuple[Proof, ...]
    out_of_reach: Fields | None = None
    assumed: tuple[str, ...] | None = None
    against: str | None = None
    recheck: Recheck | None = None
    answer: Literal["proofs"] = "proofs"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSplit:
    """A valid split of layers over pipeline ranks; costs are in layers.

    ``settings`` are the fields that make it beside the number of ranks, ``layout`` states the
    same split stage by stage. ``layers_per_stage`` and ``costs`` are by rank, the former by chunk
    too. ``slowest`` is the dearest rank's cost and ``slowest_chunk`` the dearest chunk's; were
    every rank cheaper than that, they would hold ``room_below`` layers.
    """

    pp: int
    virtual_stages: int
    settings: Fields
    layout: str
    layers_per_stage: tuple[tuple[int, ...], ...]
    costs: tuple[float, ...]
    slowest: float
    slowest_chunk: float
    mean: float
    room_below: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Valid splits, for each number of ranks and of chunks the best first.

    ``count`` is how many there are without stating every stage; the best layout is beside them
    where none of them is as good. ``costs`` of the parts are in layers: an MTP layer's is without
    its loss, which the last stage computes.
    """

    profile: str
    layers: int
    mtp_layers: int
    costs: Fields
    costs_are: str
    splits: tuple[StageSplit, ...]
    count: int
    answer: Literal["stages"] = "stages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An exact fraction, and how many thousandths of the whole it is, rounded down."""

    numerator: int
    denominator: int
    per_mille: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubble:
    """Time that the busiest rank of a pipeline idles, as a share of two wholes.

    ``of_ideal`` is relative to that rank's work, ``of_step`` to the whole step.
    """

    of_ideal: Share
    of_step: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A forward (F) or backward (B) of one chunk of a rank for one micro-batch, in ticks."""

    kind: Literal["F", "B"]
    microbatch: int
    chunk: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTimeline:
    """What one pipeline rank does in a step; times are in ticks.

    ``warmup`` counts forwards before the steady state, each of one chunk. ``in_flight`` is the
    largest number of micro-batches of which the rank keeps activations at once,
    ``in_flight_chunks`` that of (micro-batch, chunk) pairs, which is what fills memory.
    """

    rank: int
    warmup: int
    busy_time: int
    idle_time: int
    in_flight: int
    in_flight_chunks: int
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The timeline of one step of a pipeline, simulated from each rank's order of work.

    A forward takes ``forward_time`` units per stage, or per layer where ``layers`` are given (by
    rank and chunk); a backward ``backward_time``. Other times are ticks, of which a unit has
    ``ticks_per_unit``, so that all are integers. ``ideal_time`` is the work of the busiest rank.
    ``formula`` is what the published formula says of the bubble, absent for unequal stages.
    ``microbatch_group_size`` is there for the interleaved schedule alone.
    """

    schedule: Literal["gpipe", "1f1b", "interleaved"]
    pp: int
    microbatches: int
    virtual_stages: int
    microbatch_group_size: int | None = None
    layers: tuple[tuple[int, ...], ...] | None = None
    forward_time: int
    backward_time: int
    ticks_per_unit: int
    total_time: int
    ideal_time: int
    bubble: Bubble
    formula: Bubble | None = None
    ranks: tuple[RankTimeline, ...]
    answer: Literal["schedule"] = "schedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shows:
    """One reason why a fixture is among the others.

    ``rejects``: the rule alone rejects it (with those in ``implied_by``, where there are any).
    ``accepts``: the nearest accepted configuration to the fixture ``beside``, ``change`` away.
    ``boundary`` and ``condition``: the rule's verdict, or what the derived ``quantity`` comes to,
    hangs on this condition alone, which ``holds`` or does not; a boundary compares numbers.
    ``mode``: a supported set of ``axes``, the ``smallest`` configuration or a ``realistic`` one;
    ``unsupported``: a set that is not.
    ``combination``: settings of some knobs that no fixture before it has together.
    """

    kind: Literal[
        "rejects", "accepts", "boundary", "condition", "mode", "unsupported", "combination"
    ]
    rule: str | None = None
    quantity: str | None = None
    implied_by: tuple[str, ...] | None = None
    beside: str | None = None
    change: Fields | None = None
    condition: str | None = None
    holds: bool | None = None
    axes: tuple[str, ...] | None = None
    size: Literal["smallest", "realistic"] | None = None
    combinations: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """A test case for a validator: a configuration and the verdict that is expected of it.

    ``config`` holds the world and the fields that are not at their default. ``rule`` is the first
    of those ``violated``, absent where it is accepted; ``derived`` are quantities that are known.
    """

    id: str
    verdict: Literal["accepted", "rejected"]
    rule: str | None = None
    violated: tuple[str, ...]
    config: Fields
    derived: Fields
    shows: tuple[Shows, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something for which there is no fixture: none can exist, or none was found."""

    what: str
    why: Literal["proved impossible", "not found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixtures:
    """Test cases made from a profile's rules, the same for the same version and options.

    ``worlds`` are the only numbers of GPUs, where they were given. ``combinations`` counts the
    settings of ``strength`` knobs that the fixtures cover.
    """

    version: str
    profile: str
    title: str
    worlds: tuple[int, ...] | None = None
    per_rule: int
    strength: int
    seed: int
    fixtures: tuple[Fixture, ...]
    combinations: int | None = None
    left_out: tuple[LeftOut, ...]
    answer: Literal["fixtures"] = "fixtures"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKind:
    """One kind of group: ``count`` groups of ``size`` ranks each.

    ``across_nodes`` and ``across_domains`` count the groups that have ranks on several OS nodes or
    in several NVLink domains. ``traffic`` is what a GPU sends inside its group per optimizer step,
    in bytes, and ``carries`` what that is; absent where it is not known or not counted. ``groups``
    are the ranks of each group in the order of their positions; a group's number is its place, and
    the last two attributes are places in ``groups``. These three are absent where ranks are asked
    for.
    """

    name: str
    about: str
    size: int
    count: int
    across_nodes: int
    across_domains: int
    traffic: int | None = None
    carries: str | None = None
    groups: tuple[tuple[int, ...], ...] | None = None
    groups_across_nodes: tuple[int, ...] | None = None
    groups_across_domains: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The group of one kind that a rank is in, and the rank's position in it, both from 0 on."""

    kind: str
    group: int
    position: int
    ranks: tuple[int, ...]
    leaves_node: bool
    leaves_domain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlace:
    """Where a rank is, what it holds, and its groups. Everything counts from 0.

    ``local_rank`` is its place on the node. ``layers`` are the first and last layer of each of its
    chunks, ``experts`` the first and last routed expert of every layer that it holds, a slice of
    each under expert TP; absent where not known. ``stage`` is absent where there are no pipelines.
    """

    rank: int
    node: int
    local_rank: int
    domain: int
    data_parallel_rank: int
    stage: int | None = None
    layers: tuple[tuple[int, int], ...] | None = None
    experts: tuple[int, int] | None = None
    groups: tuple[Membership, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLayout:
    """Which ranks form which group.

    Rank r is on node r // ``gpus_per_node`` and in NVLink domain r // ``nvlink_domain_size``.
    ``traffic_unknown`` says why no traffic is known; ``ranks`` are those that were asked for.
    """

    profile: str
    config: Fields
    world: int
    nodes: int
    gpus_per_node: int
    domains: int
    nvlink_domain_size: int
    kinds: tuple[GroupKind, ...]
    ranks: tuple[RankPlace, ...] | None = None
    traffic_unknown: str | None = None
    warnings: tuple[Caution, ...] = ()
    answer: Literal["layout"] = "layout"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two configurations that a difference is between, and its verdict.

    ``format`` and ``syntax`` are those of the file that ``name`` names, if it names one. A step of
    the optimizer takes ``global_batch`` samples, which are ``tokens`` in all; absent if not known.
    """

    name: str
    format: str | None = None
    syntax: Literal["yaml", "json", "toml", "script"] | None = None
    global_batch: int | None = None
    tokens: int | None = None
    detail: Accepted | Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """A setting on one side: the field that it is ``of``, what is asked for, what it comes to.

    ``key`` and ``line`` say where a file has it; a default or an option has neither.
    """

    of: str
    value: Any = field(metadata=ALWAYS)
    effective: Any = field(metadata=ALWAYS)
    key: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A setting that is not the same on both sides; a side whose framework has none is absent.

    ``matters`` is false where both come to the same.
    """

    before: Spelled | None = None
    after: Spelled | None = None
    matters: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityChange:
    """A derived quantity, or the bytes of a part of memory, that changes; null is not known."""

    name: str
    before: Any = field(metadata=ALWAYS)
    after: Any = field(metadata=ALWAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """A kind of group whose groups change, see `GroupKind`; absent on a side without any."""

    name: str
    before: GroupKind | None = None
    after: GroupKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changes between two configurations: what is the same is left out.

    ``violated`` are rules that refuse the second and not the first, ``cured`` the reverse;
    ``warned`` and ``unwarned`` are warnings likewise. ``memory`` has bytes of the fullest GPU, by
    part, and their ``total``. ``groups_unknown`` says why no groups are compared, and ``apart``
    names given fields for which the other side's framework has no counterpart.
    """

    before: Side
    after: Side
    settings: tuple[SettingChange, ...]
    quantities: tuple[QuantityChange, ...]
    memory: tuple[QuantityChange, ...]
    groups: tuple[GroupChange, ...]
    groups_unknown: str | None = None
    violated: tuple[str, ...] = ()
    cured: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    unwarned: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    answer: Literal["difference"] = "difference"

    @property
    def status(self) -> str:
        """What decides the exit code: whether anything differs that has an effect."""
        same = not (
            self.quantities
            or self.memory
            or self.groups
            or self.violated
            or self.cured
            or self.warned
            or self.unwarned
            or self.apart
            or any(each.matters for each in self.settings)
        )
        return "same" if same else "differ"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """A setting of a file to change: ``key`` and values as the file spells them.

    ``line`` and ``before`` are absent where the setting is new.
    """

    key: str
    line: int | None = None
    before: Any = None
    after: Any = field(metadata=ALWAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way to run a recipe on another cluster: fields to change, and what it comes to.

    ``knobs`` are those of them that do not make up the global batch. That is ``off`` by so many
    samples, and a multiple of ``unit``; all three are absent where it is not known. ``edits``
    are what to change in the file, with what the cluster is called there.
    """

    change: Fields
    knobs: tuple[str, ...]
    global_batch: int | None = None
    off: int | None = None
    unit: int | None = None
    edits: tuple[FileEdit, ...] | None = None
    detail: Accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """How a recipe runs on another cluster, with the fewest knobs changed, best first.

    ``origin`` is the recipe on its own cluster, where that is known, and ``unchanged`` the same on
    the other one. ``global_batch`` is what was to be kept. The moves come nearest to it, and those
    after ``nearest`` of them change fewer knobs for a global batch that is further off; ``more``
    counts those that are as good and not shown. Rules in ``unmended`` are violated whatever knob
    changes. ``searched`` says among which values. ``complete`` is false where the search was cut
    short: fewer changes may do, or some.
    ``difference`` is between the origin and the first move.
    """

    profile: str
    name: str
    origin: Side | None = None
    unchanged: Side
    global_batch: int | None = None
    moves: tuple[Way, ...]
    nearest: int
    more: int | None = None
    most_knobs: int
    unmended: tuple[str, ...] = ()
    searched: str
    complete: bool
    difference: Difference | None = None
    answer: Literal["moves"] = "moves"

    @property
    def status(self) -> str:
        """What decides the exit code."""
        if self.moves:
            return "moved"
        return "stuck" if self.complete else "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A line of ``check --jsonl`` that is no configuration."""

    line: int
    error: str
    answer: Literal["error"] = "error"


Answer: TypeAlias = Union[  # noqa: UP007
    Accepted,
    Rejected,
    Comparison,
    Memory,
    Conflict,
    Solutions,
    Best,
    Undecided,
    Proofs,
    Schedule,
    Stages,
    Fixtures,
    RankLayout,
    Files,
    Advice,
    Difference,
    Moves,
]


@cache
def _keys(kind: type[Any]) -> tuple[str, ...]:
    """Attributes of an answer's part in the order of its JSON: the kind of answer first."""
    names = [field.name for field in fields(kind)]
    return ("answer", *names[:-1]) if names[-1] == "answer" else tuple(names)


def plain(value: object) -> dict[str, Any]:
    """One answer or part of one as a dictionary, attributes that are None left out."""
    keys = _keys(type(value))  # type: ignore[arg-type]  # a class is hashable
    shown = {key: item for key in keys if (item := getattr(value, key)) is not None}
    missing = _nullable(type(value)) - shown.keys()  # type: ignore[arg-type]
    return (
        {key: shown.get(key) for key in keys if key in shown or key in missing}
        if missing
        else shown
    )


@cache
def _nullable(kind: type[Any]) -> frozenset[str]:
    """Attributes that are in the JSON even where they are null."""
    return frozenset(each.name for each in fields(kind) if each.metadata == ALWAYS)


def _encoder(indent: int | None) -> json.JSONEncoder:
    return json.JSONEncoder(default=plain, ensure_ascii=False, indent=indent, check_circular=False)


_COMPACT = _encoder(None)


def to_json(answer: object, *, indent: int | None = None) -> str:
    """The public JSON of an answer, or of a part of one."""
    return (_COMPACT if indent is None else _encoder(indent)).encode(answer)


def as_data(answer: object) -> Any:  # noqa: ANN401  (JSON has no narrower type)
    """The same as nested dictionaries and lists."""
    return json.loads(to_json(answer))


def json_schema() -> dict[str, Any]:
    """JSON schema of every answer, draft 2020-12."""
    from pydantic import TypeAdapter  # noqa: PLC0415  (only the schema needs it)

    schema = TypeAdapter(Union[Answer, Unreadable]).json_schema(  # noqa: UP007
        mode="serialization"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "parsolve answer",
        **schema,
    }
