"""A profile: everything one training framework means, and a configuration under it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache, cached_property
from importlib import import_module
from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING, TypeAlias
from typing import Any as Anything

from parsolve.constraints.batch import Batch
from parsolve.constraints.claim import Claim
from parsolve.constraints.describe import because_source, told, words
from parsolve.constraints.evaluate import (
    DEFINED,
    Values,
    compiled,
    defined_source,
    formula_source,
    prologue,
    violated_source,
)
from parsolve.constraints.fields import Field, FieldError, Size, Sizes, suggestion
from parsolve.constraints.formula import (
    ALWAYS,
    Formula,
    Named,
    NamedFormula,
    Term,
    implies,
    named_in,
)
from parsolve.constraints.layout import Layout
from parsolve.constraints.memory.account import Account
from parsolve.constraints.models.shape import Shape
from parsolve.constraints.rule import InputCheck, Notice, Rule, RunTimeCheck, Source

if TYPE_CHECKING:
    from parsolve.constraints.ladder import Ladder

Known: TypeAlias = dict[str, int | str | bool]
"""Values as formulas read them, by field name or ``name.feature``."""

PLACE = re.compile(r"\{([a-z0-9_.]+)\}")
"""Where the message of an `InputCheck` states a value."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Knobs that a search varies only where the field ``given`` has the value ``value``.

    Pinning one of them, or one of the fields in ``implied_by``, away from its default gives
    the field that value; a search that is told nothing takes ``otherwise`` and says so with
    ``assumption``. ``unknown`` is the field's value for "nobody said"; ``about`` is help.
    """

    knobs: tuple[str, ...]
    given: str
    unknown: str
    value: str
    otherwise: str
    about: str
    assumption: str
    implied_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preference:
    """One step of the stated order of equally good configurations: least first."""

    term: Term
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A derived quantity in a table, blank where ``where`` does not hold."""

    quantity: str
    heading: str
    where: Formula = ALWAYS


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """A field whose value, where it is not given, follows from ``by`` where ``where`` holds.

    Both are named by any spelling. It is what the derived quantity comes to: a launch line says it.
    """

    field: str
    by: str
    quantity: str
    where: Formula = ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """How options split layers over pipeline ranks and their chunks.

    ``options`` yields, for so many layers, ranks and chunks per rank, settings of fields that
    split them, simple ones first, and the layers of every rank and chunk. ``layout`` is the field
    that states what every stage holds, in the order in which a micro-batch passes them: E
    embedding, t layer, m MTP layer, L loss; ``counts`` are those that take a number of layers.
    The rest are names of fields.
    """

    options: Callable[[int, int, int], Iterator[tuple[Mapping[str, object], list[list[int]]]]]
    layout: str
    counts: tuple[str, ...]
    layers: str
    mtp_layers: str
    ranks: str
    chunks: str
    batch: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pipeline:
    """What decides the timeline of a pipeline: terms for its sizes.

    ``schedule`` names the field that says which schedule runs, if there is one; the timeline is
    known where ``where`` holds. ``chunks`` are those of a rank, of which each takes ``group``
    micro-batches in a row.
    """

    ranks: Term
    microbatches: Term
    chunks: Term
    group: Term
    schedule: str = ""
    where: Formula = ALWAYS


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A point on which the framework's own sources differ, and what this profile takes."""

    topic: str
    sources: str
    taken: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Profile:
    """What one framework means. Rules stand in the framework's evaluation order.

    ``axes`` are the parallel sizes, ``searched`` the knobs that a search varies unless they
    are pinned, outermost first; ``canonical`` picks, for a knob, one of several spellings of
    the same configuration (it restricts searches that vary the knob, never verdicts);
    ``modes`` are the supported sets of axes.
    """

    name: str
    title: str
    fields: tuple[Field, ...]
    derived: tuple[Named | NamedFormula, ...]
    rules: tuple[Rule, ...]
    """What the framework refuses."""
    warnings: tuple[Notice, ...]
    run_time_checks: tuple[RunTimeCheck, ...]
    input_checks: tuple[InputCheck, ...]
    axes: tuple[str, ...]
    modes: tuple[frozenset[str], ...]
    searched: tuple[str, ...]
    offers: tuple[Offer, ...]
    canonical: Mapping[str, Formula]
    preferences: tuple[Preference, ...]
    world: str
    objective: str
    """What a search maximises unless told otherwise."""
    summary: tuple[Column, ...]
    """Derived quantities that a table of configurations shows."""
    launchers: tuple[str, Mapping[str, str]]
    """The field that names the process launcher, and each one's command line.

    The framework's arguments stand where a line says ``{arguments}``, else at its end."""
    settled: tuple[Settled, ...]
    """Fields that a launch line states because another one decides them."""
    nodes: str
    """Derived quantity that counts OS nodes."""
    node: str
    """Derived quantity that counts GPUs per OS node."""
    domain: str
    """Derived quantity that counts GPUs per NVLink domain."""
    short_names: Mapping[str, str]
    """Short spellings of derived quantities, for conditions and objectives."""
    account: Account | None = None
    """What fills a GPU's memory."""
    bounds: tuple[Rule, ...] = ()
    """What the hardware cannot hold, though the framework takes it: judged after its rules.

    They say nothing unless a field named in ``bounding`` is given."""
    bounding: tuple[str, ...] = ()
    less_is_better: frozenset[str] = frozenset()
    """Fields and quantities that people want small, beside every number of bytes."""
    more_is_better: frozenset[str] = frozenset({"headroom"})
    """Numbers of bytes of which people want more."""
    disagreements: tuple[Disagreement, ...] = ()
    stages_about: Mapping[str, str] = dataclass_field(default_factory=dict)
    """What happens in each stage, where a configuration may die late."""
    of_model: Callable[[Shape], Mapping[str, object]] | None = None
    """What a model's shape says about fields of the profile's own."""
    lists: (
        Callable[[Mapping[str, Anything], Mapping[str, Anything]], dict[str, Anything]] | None
    ) = None
    """Lists that an answer shows beside the derived quantities: of field values and those."""
    splits: Splits | None = None
    """How layers are split unevenly over a pipeline, where the framework can."""
    pipeline: Pipeline | None = None
    """How a pipeline's timeline follows from a configuration, where it can be simulated."""
    batch: Batch | None = None
    """What makes up the samples of an optimizer step."""
    prefers: Mapping[str, str] = dataclass_field(default_factory=dict)
    """What may be preferred above any objective: the quantity that is 0 where it holds."""
    reads_argparse: bool = False
    """Whether the framework's switches are bare (``--x``) and its lists are several words."""
    claims: tuple[Claim, ...] = ()
    """What is said of the rules, for all sizes."""
    shown: tuple[str, ...] = ()
    """Fields that an answer always shows first, default or not."""
    layout: Layout = dataclass_field(default_factory=Layout)
    """Which ranks form which group."""
    ladder_in: str = ""
    """The module whose ``LADDER`` is the profile's, empty where it has none."""
    implied: Mapping[str, tuple[str, ...]] = dataclass_field(default_factory=dict)
    """Rules that are never violated alone, each with rules one of which then is violated too."""
    reference: str = ""
    """The imperative validator of the same rules, written by other hands: module:callable."""
    reference_needs: Mapping[str, int] = dataclass_field(default_factory=dict)
    """Optional numbers without which it says nothing, each with a usual value."""
    reference_takes: tuple[InputCheck, ...] = ()
    """What else it takes for granted."""
    out_of_reach: Mapping[str, str] = dataclass_field(default_factory=dict)
    """Fields that are at their default wherever it is compared for all sizes, and why."""

    @cached_property
    def field_of(self) -> Mapping[str, Field]:
        """Fields by name."""
        return {field.name: field for field in self.fields}

    @cached_property
    def index_of(self) -> Mapping[str, int]:
        """Position of each field in a configuration's values."""
        return {field.name: index for index, field in enumerate(self.fields)}

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """Every spelling of a field's name (its own, its flag, the frameworks') to its name."""
        result: dict[str, str] = {}
        for field in self.fields:
            for spelling in (field.flag, field.launch, *field.also):
                if spelling and " " not in spelling:
                    result[spelling.replace("-", "_")] = field.name
        return result | {field.name: field.name for field in self.fields}

    def hint(self, word: str, *others: str) -> str:
        """What an unknown word may have meant: a spelling, one of ``others``, or elsewhere's."""
        from parsolve.constraints.elsewhere import elsewhere  # noqa: PLC0415  (it knows us)

        return elsewhere(self, word) or suggestion(word, (*others, *self.spellings))

    @cached_property
    def _slots(self) -> Mapping[str, tuple[str, int, Callable[[object], object]]]:
        """By spelling: the field's name, its place among the values, and its parser."""
        return {
            spelling: (name, self.index_of[name], self.field_of[name].parse)
            for spelling, name in self.spellings.items()
        }

    @cached_property
    def ladder(self) -> Ladder | None:
        """Which primitive to reach for, in which order; loaded when first asked for."""
        return import_module(self.ladder_in).LADDER if self.ladder_in else None

    @cached_property
    def limits(self) -> tuple[Rule, ...]:
        """Every rule that a verdict looks at: the framework's, then the hardware's bounds."""
        return (*self.rules, *self.bounds)

    @cached_property
    def questions(self) -> tuple[InputCheck, ...]:
        """What makes no question at all: also a bound on memory whose account lacks a number."""
        account = self.account
        if account is None:
            return self.input_checks
        return (
            *self.input_checks,
            *account.checks,
            *(
                InputCheck(
                    implies(account.limit > 0, need.met),
                    f"{account.limit.name} bounds what a run needs, and {need.lacks} is missing, "
                    f"which decides {need.decides}; give {need.option}",
                )
                for need in account.needs
            ),
        )

    @cached_property
    def defaults(self) -> Values:
        """The values of a configuration of which nothing is said."""
        return tuple(field.default for field in self.fields)

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """Stages of the rules, in the order of evaluation in which they first occur."""
        return tuple(dict.fromkeys(rule.stage for rule in self.limits))

    @cached_property
    def legality(self) -> tuple[int, ...]:
        """Rules that check one size alone; while one is violated, that size means nothing."""
        return tuple(
            index
            for index, rule in enumerate(self.rules)
            if len(rule.reads) == 1 and isinstance(self.field_of[min(rule.reads)], Size)
        )

    # --- readings -----------------------------------------------------------------------

    def accepts(self, values: Values) -> bool:
        """Whether no rule and no bound is violated, given the values of a configuration."""
        return self._accepts(values) and not self._exceeded(values)

    @cached_property
    def _bound(self) -> list[str]:
        """Statements that bind what the rules read."""
        return prologue(self.fields, [node for rule in self.rules for node in rule.nodes])

    @cached_property
    def _tests(self) -> list[str]:
        """Whether each rule is broken when it is read by itself, in Python."""
        return [violated_source(*rule.nodes) for rule in self.rules]

    @cached_property
    def _notes(self) -> list[str]:
        """Statements that list the broken rules as ``fired``."""
        tests = enumerate(self._tests)
        return ["fired = []", *(f"if {test}: fired.append({index})" for index, test in tests)]

    @cached_property
    def _accepts(self) -> Callable[[Values], bool]:
        """Like `violated`, but done at the first violation: searches ask this most."""
        lines = [*self._bound, *(f"if {test}: return False" for test in self._tests)]
        return compiled("accepts", [*lines, "return True"])

    @cached_property
    def _breaks(self) -> Callable[[Values], list[int]]:
        """Rules that are broken, where nobody asks what is derived."""
        return compiled("breaks", [*self._bound, *self._notes, "return fired"])

    @cached_property
    def _judge(self) -> Callable[[Values], tuple[list[int], dict[str, Anything]]]:
        """Rules that are broken, and what is derived: both need the same quantities."""
        nodes = [node for rule in self.rules for node in rule.nodes]
        lines = [*prologue(self.fields, [*nodes, *self.derived]), *self._notes, "known = {}"]
        for quantity in self.derived:
            defined = defined_source(quantity)
            keep = f"known['{quantity.name}'] = its_{quantity.name}"
            lines.append(keep if defined == DEFINED else f"if {defined}: {keep}")
        return compiled("judge", [*lines, "return fired, known"])

    def judged(self, values: Values) -> tuple[list[int], dict[str, Anything]]:
        """`violated` and `derive` at once."""
        fired, known = self._judge(values)
        return self.heard(fired, values), known

    def heard(self, fired: list[int], values: Values) -> list[int]:
        """`violated`, given the rules that are broken when each is read by itself."""
        return self._heard(fired) + self._exceeded(values)

    def with_lists(self, values: Values, derived: dict[str, Anything]) -> dict[str, Anything]:
        """The derived quantities, and the lists that an answer shows beside them."""
        return derived | self.lists_of(values)

    def lists_of(self, values: Values) -> dict[str, Anything]:
        """The lists that an answer shows beside the derived quantities."""
        if self.lists is None:
            return {}
        return self.lists(dict(zip(self.index_of, values, strict=True)), self.derive(values))

    def derive(self, values: Values) -> dict[str, Anything]:
        """Every derived quantity that is known, by name; an unknown one is left out."""
        return self._judge(values)[1]

    def violated(self, values: Values) -> list[int]:
        """Indices of every violated rule, in order: the first is the framework's verdict.

        While a size is itself illegal, rules that read it say nothing: arithmetic on a
        tensor-parallel size of 0 would only add noise.
        """
        return self.heard(self._breaks(values), values)

    def _exceeded(self, values: Values) -> list[int]:
        """Indices of the violated bounds, which come after the rules."""
        if all(values[place] is None for place in self._bounding):
            return []
        return self._exceed(values)

    @cached_property
    def _bounding(self) -> tuple[int, ...]:
        """Places of the fields without which no bound says anything."""
        return tuple(self.index_of[name] for name in self.bounding if name in self.index_of)

    @cached_property
    def _exceed(self) -> Callable[[Values], list[int]]:
        lines = prologue(self.fields, [node for bound in self.bounds for node in bound.nodes])
        lines.append("found = []")
        for index, bound in enumerate(self.bounds, len(self.rules)):
            lines.append(f"if {violated_source(*bound.nodes)}: found.append({index})")
        return compiled("exceed", [*lines, "return found"])

    def filled(self, values: Values) -> dict[str, Anything]:
        """Every number of the memory account that is known, by name; in bytes where it says so."""
        return self._fill(values)

    @cached_property
    def _fill(self) -> Callable[[Values], dict[str, Anything]]:
        named = () if self.account is None else self.account.named
        lines = [*prologue(self.fields, named), "known = {}"]
        for quantity in named:
            defined = defined_source(quantity)
            keep = f"known['{quantity.name}'] = its_{quantity.name}"
            lines.append(keep if defined == DEFINED else f"if {defined}: {keep}")
        return compiled("fill", [*lines, "return known"])

    def described(self, values: Values) -> dict[str, Anything]:
        """Every derived quantity that is known, and the memory of a GPU if the model is."""
        known = self.with_lists(values, self.derive(values))
        account = self.account
        if account is None or not values[self.index_of[account.size]]:
            return known
        filled = self.filled(values)
        return known | {q.name: filled[q.name] for q in (account.total,) if q.name in filled}

    def is_evaluated(self, node: Formula | Term) -> bool:
        """Whether the node reads the memory account: too wide for a table of its values."""
        return not self._accounted.isdisjoint(quantity.name for quantity in named_in(node))

    @cached_property
    def _accounted(self) -> frozenset[str]:
        return frozenset(q.name for q in (() if self.account is None else self.account.named))

    def _heard(self, fired: list[int]) -> list[int]:
        """Without the rules that read a size which is itself illegal."""
        if self._legality.isdisjoint(fired):
            return fired
        illegal = {min(self.rules[index].reads) for index in fired if index in self._legality}
        return [
            index
            for index in fired
            if index in self._legality or not self.rules[index].reads & illegal
        ]

    @cached_property
    def _legality(self) -> frozenset[int]:
        return frozenset(self.legality)

    @cached_property
    def warned(self) -> Callable[[Values], list[int]]:
        """Indices of every warning that applies."""
        lines = prologue(self.fields, [warning.when for warning in self.warnings])
        lines.append("found = []")
        for index, warning in enumerate(self.warnings):
            defined, holds = defined_source(warning.when), formula_source(warning.when)
            test = holds if defined == DEFINED else f"{defined} and {holds}"
            lines.append(f"if {test}: found.append({index})")
        return compiled("warned", [*lines, "return found"])

    @cached_property
    def _because(self) -> Callable[[int], Callable[[Values], str]]:
        @cache
        def reader(index: int) -> Callable[[Values], str]:
            rule = self.limits[index]
            facts = " + ".join(
                (because_source(rule.requires, holds=False), because_source(rule.when, holds=True))
            )
            lines = [*prologue(self.fields, rule.nodes), f"return told({facts})"]
            return compiled("because", lines, told=told)

        return reader

    def because(self, index: int, values: Values) -> str:
        """The numbers that break the rule with the given index, as one line."""
        return self._because(index)(values)

    @cached_property
    def _because_of(self) -> Callable[[Formula], Callable[[Values], str]]:
        @cache
        def reader(formula: Formula) -> Callable[[Values], str]:
            facts = because_source(formula, holds=True)
            lines = [*prologue(self.fields, [formula]), f"return told({facts})"]
            return compiled("because", lines, told=told)

        return reader

    def because_of(self, formula: Formula, values: Values) -> str:
        """The numbers that make a formula true, as one line."""
        return self._because_of(formula)(values)

    def warned_because(self, index: int, values: Values) -> str:
        """The numbers that raise the warning with the given index, as one line."""
        return self.because_of(self.warnings[index].when, values)

    def says(self, index: int) -> str:
        """What the rule with the given index asks for, in words."""
        rule = self.limits[index]
        needs = words(rule.requires)
        return needs if rule.when is ALWAYS else f"if {words(rule.when)}: {needs}"

    def prose(self, index: int, values: Values) -> tuple[str, str]:
        """Reason and remedy of the rule at these values: a variant's where one applies."""
        rule = self.limits[index]
        for variant in rule.variants:
            if holds(self, variant.when, values):
                return variant.reason, variant.remedy
        return rule.reason, rule.remedy

    # --- configurations -----------------------------------------------------------------

    def config(self, given: Mapping[str, object]) -> Config:
        """The configuration in which the given fields have these values, the rest defaults.

        Any spelling of a field is taken. Raises `FieldError` for an unknown field, a value of
        the wrong type, a field given twice, or a combination that is no question at all.
        """
        values: list[Anything] = list(self.defaults)
        by: dict[str, str] = {}
        slots = self._slots
        for spelling, value in given.items():
            slot = slots.get(spelling)
            if slot is None:
                message = f"unknown field {spelling!r}{self.hint(str(spelling))}"
                raise FieldError(message)
            name, index, parse = slot
            if by.setdefault(name, spelling) != spelling:
                message = f"{by[name]} and {spelling} are the same field; give one"
                raise FieldError(message)
            values[index] = parse(value)
        if self.world not in by:
            message = f"{self.world} is missing"
            raise FieldError(message)
        return self.checked(tuple(values))

    def checked(self, values: Values) -> Config:
        """The configuration of these parsed values, or `FieldError` if it is no question."""
        for check in self._failed_inputs(values):
            raise FieldError(self._told(check, values))
        return Config(self, values)

    def _told(self, check: int, values: Values) -> str:
        known = read_values(self, values)
        return PLACE.sub(lambda place: str(known[place[1]]), self.questions[check].message)

    def is_question(self, values: Values) -> bool:
        """Whether these parsed values together make a question."""
        return not self._failed_inputs(values)

    @cached_property
    def _failed_inputs(self) -> Callable[[Values], list[int]]:
        lines = prologue(self.fields, [check.requires for check in self.questions])
        lines.append("failed = []")
        for index, check in enumerate(self.questions):
            lines.append(f"if not {formula_source(check.requires)}: failed.append({index})")
        return compiled("failed", [*lines, "return failed"])

    @cached_property
    def quantity_of(self) -> Mapping[str, Named | NamedFormula]:
        """Derived quantities by name and by short name."""
        account = () if self.account is None else self.account.named
        named = {quantity.name: quantity for quantity in (*self.derived, *account)}
        return named | {short: named[name] for short, name in self.short_names.items()}


@dataclass(frozen=True, slots=True)
class Config:
    """A value for every field of a profile."""

    profile: Profile
    values: Values

    def __getitem__(self, name: str) -> Anything:  # noqa: ANN401  (a field has its own type)
        return self.values[self.profile.index_of[name]]

    def replaced(self, changes: Mapping[str, object]) -> Config:
        """The same configuration with some parsed values changed."""
        values = list(self.values)
        for name, value in changes.items():
            values[self.profile.index_of[name]] = value
        return Config(self.profile, tuple(values))

    def as_dict(self, *, everything: bool = False) -> dict[str, Anything]:
        """Field values by name: those always shown, then those off their default; or all."""
        profile = self.profile
        names = profile.index_of
        if everything:
            return dict(zip(names, self.values, strict=True))
        shown = {name: self.values[names[name]] for name in profile.shown}
        # almost every value is the very object of the default: looked at in C first
        touched = map(is_not, self.values, profile.defaults)
        for field, value in compress(zip(profile.fields, self.values, strict=True), touched):
            if value != field.default:
                shown[field.name] = value
        return shown

    def accepted(self) -> bool:
        """Whether no rule is violated."""
        return self.profile.accepts(self.values)


def read_values(profile: Profile, values: Values, but: Iterable[str] = ()) -> Known:
    """Field values as formulas read them: unset sizes and list features resolved."""
    known: Known = {}
    left_out = set(but)
    for field, value in zip(profile.fields, values, strict=True):
        if field.name in left_out:
            continue
        if isinstance(field, Sizes):
            for feature, number in field.features(value).items():
                known[f"{field.name}.{feature}"] = number
        elif isinstance(field, Size) and value is None:
            known[field.name] = field.unset
        else:
            known[field.name] = value
    return known


@cache
def _reader(profile: Profile, node: Formula) -> Callable[[Values], bool]:
    lines = prologue(profile.fields, [node])
    defined = defined_source(node)
    truth = formula_source(node)
    test = truth if defined == DEFINED else f"bool({defined} and {truth})"
    return compiled("holds", [*lines, f"return {test}"])


def holds(profile: Profile, formula: Formula, values: Values) -> bool:
    """Whether the formula is defined and true at the values."""
    return _reader(profile, formula)(values)


__all__ = [
    "Config",
    "Disagreement",
    "InputCheck",
    "Offer",
    "Pipeline",
    "Preference",
    "Profile",
    "Settled",
    "Source",
    "Splits",
    "holds",
]
