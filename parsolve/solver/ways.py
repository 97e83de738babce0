"""The smallest changes that make a recipe run on another cluster, its global batch kept.

Wanted, in this order: no rule is violated and the memory fits; the global batch is as near to
the old one as can be; the fewest knobs change; they change least. Fields that make up the batch
(`Batch`) change freely, since they are what keeps it.

For each number of other knobs, from none on, all changes of so many knobs are found that can
serve. Such a change needs a knob of every violated rule that reads no field of the batch; where
there is no such rule, one of a rule that does, or one that decides the batch. Branching on these,
change by change, is therefore complete (Reiter's hitting-set tree), as in `repair`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from math import log2

from parsolve.constraints.batch import Batch
from parsolve.constraints.evaluate import Values, compiled, defined_source, prologue, term_source
from parsolve.constraints.formula import fields_of
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.numbers import divisors
from parsolve.solver.repair import (
    MOST_CHANGES,
    Change,
    candidates,
    effective_values,
    given_up,
    mends,
    movement,
    within,
)

MOST_TRIED = 60_000
"""Changes of knobs tried before the search gives up."""

UNSAID = 100.0
"""Doublings that leaving a number out counts as."""

Cost = tuple[int, int, int, float]
"""How far a batch is off, how many of its fields change, the last of them, and how far."""


@dataclass(frozen=True, slots=True)
class Step:
    """All changes of ``knobs`` fields beside the batch with which it is ``off`` by so many samples.

    ``off`` is None where no batch is to be kept.
    """

    knobs: int
    off: int | None
    changes: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Ways to make a configuration run: each step has more knobs, and a nearer batch.

    ``complete`` is false where the search gave up at `MOST_TRIED`: there may be another step, or
    another way of the last one.
    """

    steps: tuple[Step, ...]
    complete: bool


def ways(
    config: Config, samples: int | None, held: Container[str] = (), *, most: int = MOST_TRIED
) -> Found:
    """How a configuration of the new cluster can run with a global batch of so many samples.

    Fields in ``held`` do not change, nor what decides the tokens of a sample. At most
    `MOST_CHANGES` knobs change beside the batch, and ``most`` changes are tried.
    """
    search = _Search(config, samples, held, most)
    steps: list[Step] = []
    for knobs in range(MOST_CHANGES + 1):
        step = search.step(knobs)
        if step is not None:
            steps.append(step)
        if search.left < 0 or (step is not None and not step.off):
            break
    return Found(tuple(steps), complete=search.left >= 0)


def samples_of(config: Config) -> int | None:
    """The samples of an optimizer step, None where they are not known."""
    batch = config.profile.batch
    return None if batch is None else _counts(config.profile, batch)(config.values)[0]


def unit_of(config: Config) -> int | None:
    """What the samples of a step are a multiple of, whatever the batch; None if not known."""
    profile, batch = config.profile, config.profile.batch
    if batch is None:
        return None
    one = config.replaced({batch.micro_batch: 1})
    return _counts(profile, batch)(one.values)[1]


@cache
def _counts(profile: Profile, batch: Batch) -> Callable[[Values], tuple[int | None, int | None]]:
    """Reads the samples of a step and those of a pass."""
    terms = (batch.samples, batch.per_pass)
    read = ", ".join(f"{term_source(t)} if {defined_source(t)} else None" for t in terms)
    return compiled("counts", [*prologue(profile.fields, terms), f"return {read}"])


@dataclass
class _Search:
    config: Config
    samples: int | None
    held: Container[str]
    left: int
    nearest: float = float("inf")
    """How far the batch is off in the last step that was found."""
    seen: set[frozenset[tuple[str, object]]] = field(default_factory=set)

    @cached_property
    def profile(self) -> Profile:
        """Whose rules hold."""
        return self.config.profile

    @cached_property
    def batch(self) -> Batch | None:
        """What makes up the batch, if one is to be kept."""
        return None if self.samples is None else self.profile.batch

    @cached_property
    def free(self) -> frozenset[str]:
        """Fields of the batch that may change."""
        knobs = () if self.batch is None else self.batch.knobs
        return frozenset(name for name in knobs if name not in self.held)

    @cached_property
    def lengths(self) -> frozenset[str]:
        """Fields that decide the tokens of a sample."""
        batch = self.profile.batch
        if batch is None or batch.tokens is None:
            return frozenset()
        return fields_of(batch.tokens) - fields_of(batch.samples)

    def step(self, knobs: int) -> Step | None:
        """All that serve with so many knobs changed, and nearer than with fewer."""
        self.seen.clear()
        found: dict[tuple[tuple[str, object], ...], tuple[int, Change]] = {}
        best = self.nearest
        for change, values in self.changes(self.config.values, {}, knobs):
            served = self.served(values, best)
            if served is not None:
                off, batch = served
                best = min(best, off + 1)  # those that are as near are wanted too
                found[tuple(sorted(change.items()))] = off, {**change, **batch}
        nearest = min((off for off, _ in found.values()), default=None)
        if nearest is None:
            return None
        self.nearest = nearest
        kept = [change for off, change in found.values() if off == nearest]
        return Step(knobs, None if self.batch is None else nearest, self.sorted(kept))

    # --- knobs beside the batch -------------------------------------------------------------

    def changes(self, values: Values, change: Change, size: int) -> Iterator[tuple[Change, Values]]:
        """Changes of exactly ``size`` more knobs that may serve, with what they come to."""
        if size == 0:
            yield change, values
            return
        names, others = self.open(values)
        for name in names:
            rest = [fields for fields in others if name not in fields]
            if name in change or not within(size - 1, rest, change):
                continue
            index = self.profile.index_of[name]
            for value in candidates(self.profile, values, name):
                wider = {**change, name: value}
                if (key := frozenset(wider.items())) in self.seen:
                    continue
                self.seen.add(key)
                self.left -= 1
                if self.left < 0:
                    return
                changed = (*values[:index], value, *values[index + 1 :])
                yield from self.changes(changed, wider, size - 1)

    def open(self, values: Values) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Knobs of which one must change, and those of every rule that no batch can mend."""
        profile = self.profile
        rules = [
            self.mending(index)
            for index in profile.violated(values)
            if not profile.limits[index].reads & self.free
        ]
        return (min(rules, key=len), rules) if rules else (self.shared, [])

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Knobs of every rule that reads the batch, and those that decide the batch or a question.

        Where nothing else is violated, one of them must change.
        """
        profile = self.profile
        read: set[str] = set()
        for index, rule in enumerate(profile.limits):
            if not self.free or rule.reads & self.free:
                read.update(self.mending(index))
        if self.batch is not None:
            read |= fields_of(self.batch.samples)
        for check in profile.input_checks:
            read |= fields_of(check.requires)
        return tuple(f.name for f in profile.fields if f.name in read and self.is_open(f.name))

    def mending(self, rule: int) -> tuple[str, ...]:
        """Knobs beside the batch whose change may mend the rule."""
        return tuple(
            name for name in mends(self.profile, rule, cluster=False) if self.is_open(name)
        )

    def is_open(self, name: str) -> bool:
        """Whether a field may change, beside the batch."""
        return (
            self.profile.field_of[name].role == "knob"
            and name not in self.held
            and name not in self.free
            and name not in self.lengths
        )

    # --- the batch --------------------------------------------------------------------------

    def served(self, values: Values, below: float) -> tuple[int, Change] | None:
        """The best batch with which these values run, off by less than ``below``; its change."""
        profile = self.profile
        if self.batch is None:
            fits = profile.accepts(values) and profile.is_question(values)
            return (0, {}) if fits else None
        if any(not profile.limits[i].reads & self.free for i in profile.violated(values)):
            return None
        ranked = sorted(
            (
                (self.cost(values, batch, changed), batch, changed)
                for batch, changed in self.batches(values)
            ),
            key=lambda each: each[0],
        )
        for cost, batch, changed in ranked:
            if cost[0] >= below:
                return None
            if profile.accepts(changed) and profile.is_question(changed):
                return cost[0], batch
        return None

    def batches(self, values: Values) -> Iterator[tuple[Change, Values]]:
        """Settings of the batch that give the samples, or come nearest, each once."""
        batch, samples = self.batch, self.samples
        assert batch is not None  # noqa: S101  (asked only where one is to be kept)
        assert samples is not None  # noqa: S101  (the same)
        seen: set[Values] = set()
        for micro in self.micro_batches(values, batch, samples):
            one = self.with_value(values, batch.micro_batch, micro)
            parts = [(batch.asked, self.asked(one, batch, samples))] if batch.asked else []
            parts += [(name, self.passes(one, samples, name)) for name in batch.passes]
            for chosen in product(*(options for _, options in parts)):
                changed = one
                for (name, _), value in zip(parts, chosen, strict=True):
                    changed = self.with_value(changed, name, value)
                if changed not in seen:
                    seen.add(changed)
                    yield self.change(changed), changed

    def micro_batches(self, values: Values, batch: Batch, samples: int) -> tuple[object, ...]:
        """The one that is set, and those of which whole passes can make up the samples."""
        now = values[self.profile.index_of[batch.micro_batch]]
        if batch.micro_batch not in self.free:
            return (now,)
        _, ranks = self.count(self.with_value(values, batch.micro_batch, 1))
        if not ranks:
            return (now,)
        below = samples // ranks
        near = [below] if samples % ranks == 0 else [below, below + 1]
        return tuple(dict.fromkeys([now, *(d for n in near if n for d in divisors(n))]))

    def asked(self, values: Values, batch: Batch, samples: int) -> tuple[object, ...]:
        """What may state the samples of a step: nothing where nothing did and passes count."""
        now = values[self.profile.index_of[batch.asked]]
        if batch.asked not in self.free or (now is None and batch.passes):
            return (now,)
        _, ranks = self.count(values)
        return tuple(dict.fromkeys([now, samples, *_multiples(samples, ranks)]))

    def passes(self, values: Values, samples: int, name: str) -> tuple[object, ...]:
        """How many passes give the samples, or come nearest.

        Where passes only cut the micro-batch into parts, all that divide it.
        """
        now = values[self.profile.index_of[name]]
        if name not in self.free:
            return (now,)
        once, _ = self.count(self.with_value(values, name, 1))
        twice, _ = self.count(self.with_value(values, name, 2))
        if once == twice:
            assert self.batch is not None  # noqa: S101  (asked only where one is to be kept)
            micro = values[self.profile.index_of[self.batch.micro_batch]]
            counts = list(divisors(micro or 1))
        else:
            counts = [n // once for n in _multiples(samples, once)] if once else []
        default = self.profile.field_of[name].default
        return tuple(dict.fromkeys([now, *counts, default]))

    def count(self, values: Values) -> tuple[int | None, int | None]:
        """The samples of a step and those of a pass."""
        assert self.batch is not None  # noqa: S101  (asked only where one is to be kept)
        return _counts(self.profile, self.batch)(values)

    def with_value(self, values: Values, name: str, value: object) -> Values:
        """The values with one of them changed."""
        index = self.profile.index_of[name]
        return (*values[:index], value, *values[index + 1 :])

    def change(self, values: Values) -> Change:
        """Fields of the batch that differ from those of the recipe."""
        index_of, before = self.profile.index_of, self.config.values
        return {
            name: values[index_of[name]]
            for name in self.free
            if values[index_of[name]] != before[index_of[name]]
        }

    def cost(self, values: Values, change: Change, changed: Values) -> Cost:
        """What makes one batch better than another: less is better."""
        assert self.batch is not None  # noqa: S101  (asked only where one is to be kept)
        samples, _ = self.count(changed)
        off = abs((samples or 0) - (self.samples or 0))
        order = self.batch.knobs
        moved = 0.0
        for name, value in change.items():
            before = values[self.profile.index_of[name]]
            if value is None:  # saying nothing any more is the last that anybody wants
                moved += UNSAID
            elif isinstance(value, int) and isinstance(before, int):
                moved += abs(log2(value) - log2(max(1, before)))
            else:
                moved += 1
        return off, len(change), max(map(order.index, change), default=-1), moved

    # --- order ------------------------------------------------------------------------------

    def sorted(self, changes: list[Change]) -> tuple[Mapping[str, object], ...]:
        """In this order: without new hazards, fewest axes given up, ranks alone, least moved.

        What is equal in all that stands in the profile's order of preference.
        """
        effective = effective_values(self.config)
        known = set(self.hazards(self.config.values))
        ranks = () if self.profile.batch is None else self.profile.batch.ranks

        def key(change: Change) -> tuple[object, ...]:
            *moved, place = movement(self.config, effective, change)
            values = self.config.replaced(change).values
            new = sum(each not in known for each in self.hazards(values))
            others = sum(name not in ranks and name not in self.free for name in change)
            preferred = _preferred(self.profile)(values)
            return (new, given_up(self.config, change), others, *moved, preferred, place)

        return tuple(sorted(changes, key=key))

    def hazards(self, values: Values) -> Iterator[int]:
        """Warnings of what is taken and hurts, by number."""
        warnings = self.profile.warnings
        return (i for i in self.profile.warned(values) if warnings[i].kind == "hazard")


@cache
def _preferred(profile: Profile) -> Callable[[Values], tuple[object, ...]]:
    """Reads the profile's stated order of equally good configurations."""
    terms = [preference.term for preference in profile.preferences]
    read = "".join(f"({term_source(t)} if {defined_source(t)} else 0), " for t in terms)
    return compiled("preferred", [*prologue(profile.fields, terms), f"return ({read})"])


def _multiples(samples: int, unit: int | None) -> list[int]:
    """The number itself, if it is a multiple of the unit; else its neighbours that are."""
    if not unit:
        return []
    below = samples // unit * unit
    near = [below] if below == samples else [below, below + unit]
    return [n for n in near if n > 0]
