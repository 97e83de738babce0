"""Configurations that a validator and a catalogue judge differently, as small as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any

import z3

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Choice, Field, FieldError, Flag, Size, Sizes
from parsolve.constraints.profile import Profile
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.decide import SeparateSolver
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.instances import (
    Holds,
    divisors,
    fewest,
    find,
    is_question,
    smaller,
)
from parsolve.solver.prove.validator import Validator

ACCEPTS = "accepts"
LARGEST_SWEPT = 16
"""GPUs of the largest cluster that is tried where nothing can be proved."""

MOST_AXES = 2
"""Axes of an accepted configuration that is changed field by field."""

LARGEST_NEAR = 8
"""GPUs of the largest cluster whose accepted configurations are changed field by field."""

NEAR = 2
"""Fields in which a shown difference is another configuration than an accepted one, at most."""

LONGEST = 5.0
"""Seconds that the search for one difference may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """A configuration with both verdicts: a rule's id, "accepts", or what was raised.

    ``derived`` are quantities on which both differ though both accept.
    """

    values: Values
    ours: str
    theirs: str
    crashed: bool = False
    derived: tuple[str, ...] = ()

    @property
    def verdicts_differ(self) -> bool:
        """One accepts and the other does not."""
        return (self.ours == ACCEPTS) != (self.theirs == ACCEPTS)

    def __str__(self) -> str:
        if self.derived:
            return f"both accept, and differ in {', '.join(self.derived)}"
        ours = self.ours if self.ours == ACCEPTS else f"rejects ({self.ours})"
        theirs = self.theirs if self.theirs == ACCEPTS else f"rejects ({self.theirs})"
        return f"the profile {ours}, the validator {theirs}"


def nearby(profile: Profile) -> Iterator[Values]:
    """Each rule's example, what to use instead, and their neighbours in the fields it reads."""
    for rule in profile.rules:
        for example in (rule.example.instead, rule.example.rejects):
            values = profile.config(example).values
            yield values
            yield from neighbours(profile, values, rule.reads)


def neighbours(profile: Profile, values: Values, names: frozenset[str]) -> Iterator[Values]:
    """The configuration with one of the named fields changed."""
    for name in sorted(names):
        place = profile.index_of[name]
        for value in _others(profile.field_of[name], values[place]):
            yield (*values[:place], value, *values[place + 1 :])


def _others(field: Field, value: Any) -> tuple[object, ...]:  # noqa: ANN401
    """Values of a field beside this one."""
    match field:
        case Flag():
            return (not value,)
        case Choice():
            return tuple(each for each in field.choices if each != value)
        case Sizes():
            if value is not None:
                return (None, value[:1])
            return tuple(entries for entries in ((1,), (3,), (2, 3)) if _takes(field, entries))
        case Size():
            least = field.minimum - 1 if field.checked else field.minimum
            known = value if value is not None else 0
            near = (known - 1, known + 1, known * 2, known // 2, least, least - 1, 1, 2, 3, 8, 16)
            taken = (n for n in near if n != value and (field.checked or n >= least))
            missing = (None,) if field.optional and value is not None else ()
            return (*dict.fromkeys(taken), *missing)


def _takes(field: Sizes, entries: tuple[int, ...]) -> bool:
    """Whether the field's entries are numbers such as these."""
    try:
        field.parse(entries)
    except FieldError:
        return False
    return True


class Differences:
    """Runs both, and searches where they differ."""

    def __init__(
        self, profile: Profile, validator: Validator, fixed: Mapping[str, object] | None = None
    ) -> None:
        self.profile = profile
        self.validator = validator
        self.fixed = {profile.index_of[name]: value for name, value in (fixed or {}).items()}

    def _is_compared(self, values: Values) -> bool:
        """Whether the configuration is one of those that are compared."""
        agrees = all(values[place] == value for place, value in self.fixed.items())
        return agrees and is_question(self.profile, values)

    def at(self, values: Values) -> Difference | None:
        """How the two differ on a configuration, if they do."""
        violated, known = self.profile.judged(values)
        ours = self.profile.rules[violated[0]].id if violated else ACCEPTS
        outcome = self.validator.run(values)
        named = outcome.rule(self.profile)
        if outcome.accepted:
            theirs = ACCEPTS
        else:
            theirs = named or f"{type(outcome.raised).__name__}: {outcome.raised}"
        crashed = isinstance(outcome.raised, ARITHMETIC) and named is None
        if ours == theirs:
            derived = () if violated else self._derived(known, outcome.returned)
            return Difference(values, ours, theirs, derived=derived) if derived else None
        if violated and not outcome.accepted and named is None and not crashed:
            return None  # both reject, and the validator does not say by which rule
        return Difference(values, ours, theirs, crashed)

    def _derived(self, known: dict[str, Any], returned: object) -> tuple[str, ...]:
        """Quantities that both derive, and not alike."""
        return tuple(
            quantity.name
            for quantity in self.profile.derived
            if (theirs := _held(returned, quantity.name)) is not ABSENT
            and known.get(quantity.name) != theirs
            and quantity.name not in self._kept
        )

    @cached_property
    def _kept(self) -> frozenset[str]:
        """Quantities under whose names the validator only keeps what it was given."""
        kept = {
            parameter: self.profile.index_of[name]
            for parameter, name in self.validator.parameters.items()
        }
        kept = {name: place for name, place in kept.items() if name in self._quantities}
        for values in filter(self._is_compared, self.candidates) if kept else ():
            outcome = self.validator.run(values)
            if outcome.accepted:
                kept = {
                    name: place
                    for name, place in kept.items()
                    if _held(outcome.returned, name) == values[place]
                }
        return frozenset(kept)

    @cached_property
    def _quantities(self) -> frozenset[str]:
        return frozenset(quantity.name for quantity in self.profile.derived)

    def search(
        self,
        catalogue: Catalogue,
        assertion: z3.BoolRef,
        matters: Callable[[Difference], bool],
        deadline: Deadline,
        solver: z3.Solver | None = None,
    ) -> Difference | None:
        """A smallest difference of the wanted kind: near what is known, else from Z3's models."""

        def differs(values: Values) -> bool:
            if not self._is_compared(values):
                return False
            found = self.at(values)
            return found is not None and matters(found)

        for source in (self._among_candidates, self._beside_accepted):
            known = self._clearest(filter(matters, source.found(deadline)))
            if known is not None:
                return self._smallest(known.values, differs, matters)
        if solver is None:
            solver = SeparateSolver(z3.SolverFor, "QF_UFLIA")
            solver.add(*catalogue.inputs.axioms, *catalogue.meaning)
            solver.add(*catalogue.encoder.arithmetic.laws())
        proposed = find(catalogue, solver, [assertion], differs, deadline.sooner(LONGEST))
        if proposed.values is None:
            return None
        return self._smallest(proposed.values, differs, matters)

    def _clearest(self, found: Iterable[Difference]) -> Difference | None:
        """The first that violates one rule at most, or the fewest."""
        best: tuple[int, Difference] | None = None
        for difference in found:
            broken = self._broken(difference.values)
            if best is None or broken < best[0]:
                best = (broken, difference)
            if broken <= 1:
                break
        return None if best is None else best[1]

    def _broken(self, values: Values) -> int:
        return len(self.profile.violated(values))

    def _smallest(
        self, values: Values, differs: Holds, matters: Callable[[Difference], bool]
    ) -> Difference | None:
        """The difference with fewer GPUs and fields, and as clear as it was.

        It breaks no more rules than before, and is near an accepted configuration if any is.
        """
        most = max(1, self._broken(values))
        limit = Deadline(LONGEST)

        def is_clear(changed: Values) -> bool:
            return not _passed(limit) and differs(changed) and self._broken(changed) <= most

        while True:
            values = smaller(self.profile, values, is_clear)
            fewer = fewest(self.profile, values, is_clear, self._resized(values))
            if fewer == values:
                break
            values = fewer
        if not self.is_near(values, NEAR):
            beside = self._beside_accepted.found(Deadline(LONGEST))
            near = next(filter(matters, beside), None)
            if near is not None:
                values = smaller(
                    self.profile, near.values, lambda v: differs(v) and self.is_near(v, 1)
                )
        return self.at(values)

    def _resized(self, values: Values) -> list[int]:
        """Places of the sizes that a smaller world may need changed."""
        places = []
        for place, field in enumerate(self.profile.fields):
            used = values[place] != field.default or field.name == self.profile.node
            if used and self._is_resizable(field):
                places.append(place)
        return places

    def _is_resizable(self, field: Field) -> bool:
        """Whether it is a compared size of the cluster or of an axis, but not the world."""
        profile = self.profile
        if field.name == profile.world or profile.index_of[field.name] in self.fixed:
            return False
        return isinstance(field, Size) and (field.role == "cluster" or field.name in profile.axes)

    def is_near(self, values: Values, fields: int) -> bool:
        """Whether the profile accepts the configuration, or one with so many fields changed."""
        known, reached = {values}, [values]
        for _ in range(fields):
            if any(map(self.profile.accepts, reached)):
                return True
            changed = dict.fromkeys(chain.from_iterable(map(self._changed, reached)))
            reached = [each for each in changed if each not in known]
            known.update(reached)
        return any(map(self.profile.accepts, reached))

    def _changed(self, values: Values) -> Iterator[Values]:
        """The configuration with one of the compared fields changed."""
        return filter(self._is_compared, neighbours(self.profile, values, self._free))

    @cached_property
    def _free(self) -> frozenset[str]:
        """Fields that have more than one value in what is compared."""
        names = enumerate(self.profile.index_of)
        return frozenset(name for place, name in names if place not in self.fixed)

    @cached_property
    def candidates(self) -> tuple[Values, ...]:
        """What `nearby` offers, with the fields that are not compared at their fixed values."""
        known: dict[Values, None] = {}
        for values in nearby(self.profile):
            moved = list(values)
            for place, value in self.fixed.items():
                moved[place] = value
            known[tuple(moved)] = None
        return tuple(known)

    @cached_property
    def _among_candidates(self) -> Once:
        return Once(self, filter(self._is_compared, self.candidates))

    @cached_property
    def _beside_accepted(self) -> Once:
        return Once(self, _unique(self._beside()))

    def _beside(self) -> Iterator[Values]:
        """Accepted configurations of small clusters, each followed by those one field away."""
        for values in filter(self._is_compared, self._accepted()):
            yield values
            yield from self._changed(values)

    def _accepted(self) -> Iterator[Values]:
        """One accepted configuration for each layout of a small cluster with up to two axes."""
        profile = self.profile
        place = profile.index_of
        cluster = [
            place[field.name]
            for field in profile.fields
            if self._is_resizable(field) and field.name not in profile.axes
        ]
        axes = [place[axis] for axis in profile.axes]
        known: set[object] = set()
        for world in range(1, LARGEST_NEAR + 1):
            one, *more = divisors(world)
            for count in range(MOST_AXES + 1):
                for chosen in combinations(axes, count):
                    options = [(0, one, *more)] * len(cluster) + [more] * count
                    for sizes in product(*options):
                        changes = dict(zip((*cluster, *chosen), sizes, strict=True))
                        values = self._with({**changes, place[profile.world]: world})
                        if not profile.accepts(values):
                            continue
                        layout = tuple(profile.derive(values).values())
                        layout += tuple(values[axis] for axis in axes)
                        if layout not in known:
                            known.add(layout)
                            yield values

    def _with(self, changes: Mapping[int, object]) -> Values:
        """The defaults with changes, and with what is fixed."""
        values = list(self.profile.defaults)
        for place, value in {**changes, **self.fixed}.items():
            values[place] = value
        return tuple(values)

    def sweep(self, deadline: Deadline) -> tuple[Difference | None, int]:
        """The first difference on small clusters, and how many configurations were tried.

        Larger ones among the candidates are tried too, and not counted.
        """
        limit = deadline.sooner(LONGEST)
        tried = 0

        def differs(values: Values) -> bool:
            return self._is_compared(values) and self.at(values) is not None

        for values in _unique(chain(self.candidates, self._beside(), self._small())):
            if not self._is_compared(values):
                continue
            tried += values[self.profile.index_of[self.profile.world]] <= LARGEST_SWEPT
            if self.at(values) is not None:
                return self._smallest(values, differs, lambda _: True), tried
            if _passed(limit):
                break
        return None, tried

    def _small(self) -> Iterator[Values]:
        """Every pair of axes with every size that fits, on every small world."""
        place = self.profile.index_of
        for world in range(1, LARGEST_SWEPT + 1):
            for pair in combinations(self.profile.axes, 2):
                for sizes in product(range(1, world + 1), repeat=2):
                    changes = {place[axis]: size for axis, size in zip(pair, sizes, strict=True)}
                    yield self._with({**changes, place[self.profile.world]: world})


def _unique(values: Iterable[Values]) -> Iterator[Values]:
    known: set[Values] = set()
    for each in values:
        if each not in known:
            known.add(each)
            yield each


class Once:
    """Configurations that are looked at once each, however often differences are asked for."""

    def __init__(self, differences: Differences, values: Iterator[Values]) -> None:
        self._at = differences.at
        self._unmet = values
        self._met: list[Difference] = []

    def found(self, deadline: Deadline) -> Iterator[Difference]:
        """What was found so far, and what else is found within a few seconds."""
        yield from tuple(self._met)
        limit = deadline.sooner(LONGEST)
        for values in self._unmet:
            found = self._at(values)
            if found is not None:
                self._met.append(found)
                yield found
            if _passed(limit):
                return


def _passed(limit: Deadline) -> bool:
    try:
        limit.check()
    except TimedOut:
        return True
    return False


ABSENT = object()


def _held(returned: object, name: str) -> object:
    """An attribute of what a validator returned; `ABSENT` where it has none, or cannot say."""
    try:
        return getattr(returned, name, ABSENT)
    except Exception:  # noqa: BLE001  (a property may raise what it likes)
        return ABSENT


ARITHMETIC = (ArithmeticError, TypeError, NameError, AttributeError, LookupError)
"""What a program raises by accident rather than to refuse."""
