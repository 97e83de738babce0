"""`parsolve.fixtures`: each is what it says, none is missing, what is left out is said."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from itertools import combinations, product
from operator import attrgetter
from pathlib import Path
from typing import Any as Anything

import pytest

import parsolve
from benchmarks import mutants
from parsolve.cli.fixture_tests import tests as written_tests
from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Bytes, Choice, Field, FieldError, Flag, Size
from parsolve.constraints.formula import All, Any, Formula, NamedFormula, Not, Truth
from parsolve.constraints.profile import Profile, holds
from parsolve.solver.answer import Accepted, Fixture, Fixtures, Shows, to_json
from parsolve.solver.deadline import Deadline
from parsolve.solver.fixtures.build import fixtures
from parsolve.solver.fixtures.conditions import Condition, Side, conditions
from parsolve.solver.prove import rules as proved
from parsolve.solver.prove.differences import neighbours
from parsolve.solver.prove.instances import off_default
from parsolve.solver.prove.mutants import ProgramMutant
from parsolve.solver.prove.validator import Validator, loaded
from tests.cli.run import run_process

NAMES = ("accelerate", "generic", "torchtitan", "halo")
FAST = ("accelerate", "generic")
HALO = PROFILES["halo"]
BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
"""An environment in which pytest is all that the file of tests has."""

SMALL_SIZES = range(-1, 18)
"""Numbers that are tried in place of a size."""

WORLDS = (8, 16, 64)
"""GPUs whose combinations with the knobs are covered where no worlds are given."""

MOST_NUMBERS = 4
"""Values of a number of which combinations are made, its default among them."""

FAR = "+ world_size < 0"
"""What the condition of a size far below its bound ends in; it is no part of the rule."""

every_profile = pytest.mark.parametrize("name", NAMES)


def made(name: str, **options: Anything) -> Fixtures:  # noqa: ANN401  (as the function)
    """The fixtures of a profile; of the fast ones with every pair of settings, unless told."""
    if name in FAST and not options:
        options = {"strength": 2}
    return kept(name, tuple(sorted(options.items())))


@cache
def kept(name: str, options: tuple[tuple[str, Anything], ...]) -> Fixtures:
    return parsolve.fixtures(profile=name, **dict(options))


def by_id(answer: Fixtures) -> dict[str, Fixture]:
    return {fixture.id: fixture for fixture in answer.fixtures}


def at(profile: Profile, fixture: Fixture) -> Values:
    return profile.config(fixture.config).values


def shown(answer: Fixtures, *kinds: str) -> Iterator[tuple[Fixture, Shows]]:
    """Every reason of these kinds, and the fixture that has it."""
    for fixture in answer.fixtures:
        for shows in fixture.shows:
            if shows.kind in kinds:
                yield fixture, shows


def agrees(answer: Fixtures) -> None:
    """That every fixture says what `parsolve.check` says."""
    for fixture in answer.fixtures:
        verdict = parsolve.check(fixture.config, profile=answer.profile, repairs=0)
        assert verdict.answer == fixture.verdict, fixture.id
        if isinstance(verdict, Accepted):
            assert (fixture.rule, fixture.violated) == (None, ()), fixture.id
        else:
            rules = tuple(violation.rule for violation in verdict.violations)
            assert (fixture.rule, fixture.violated) == (rules[0], rules), fixture.id
        assert fixture.derived == verdict.derived, fixture.id


class TestEachFixture:
    @every_profile
    def test_it_says_what_check_says(self, name: str) -> None:
        agrees(made(name))

    @every_profile
    def test_names_and_configurations_are_unique_and_names_can_be_typed(self, name: str) -> None:
        answer = made(name)
        assert len(by_id(answer)) == len(answer.fixtures)
        configurations = {at(PROFILES[name], fixture) for fixture in answer.fixtures}
        assert len(configurations) == len(answer.fixtures)
        assert all(re.fullmatch(r"[a-z0-9_.+/-]+", fixture.id) for fixture in answer.fixtures)

    @every_profile
    def test_it_shows_something_and_states_the_world_and_no_default(self, name: str) -> None:
        profile = PROFILES[name]
        for fixture in made(name).fixtures:
            assert fixture.shows
            assert profile.world in fixture.config
            assert fixture.config == off_default(profile, at(profile, fixture))

    def test_the_independent_validator_agrees_on_halo(self) -> None:
        validator = Validator(loaded(HALO.reference or ""), HALO)
        for fixture in made("halo").fixtures:
            assert not set(fixture.config) & set(validator.unread), fixture.id
            outcome = validator.run(at(HALO, fixture))
            assert outcome.accepted == (fixture.verdict == "accepted"), fixture.id
            assert outcome.rule(HALO) == fixture.rule, fixture.id
            if outcome.accepted:
                known = {name: getattr(outcome.returned, name) for name in fixture.derived
                         if hasattr(outcome.returned, name)}  # fmt: skip
                assert known.items() <= fixture.derived.items(), fixture.id
                assert len(known) >= 15

    def test_the_answer_says_what_was_asked(self) -> None:
        answer = made("accelerate", worlds=(72, 8), per_rule=2, strength=1, seed=7)
        asked = attrgetter("profile", "worlds", "per_rule", "strength", "seed", "answer")
        assert asked(answer) == ("accelerate", (8, 72), 2, 1, 7, "fixtures")
        assert made("halo").combinations is None
        assert made("halo").worlds is None


class TestWhatARuleRejects:
    @every_profile
    def test_every_rule_alone_unless_it_is_recorded_as_implied(self, name: str) -> None:
        profile = PROFILES[name]
        seen = set()
        for fixture, shows in shown(made(name), "rejects"):
            assert shows.rule
            seen.add(shows.rule)
            implying = profile.implied.get(shows.rule)
            assert shows.implied_by == implying
            if implying is None:
                assert fixture.violated == (shows.rule,)
            else:
                assert shows.rule in fixture.violated
                assert set(implying) & set(fixture.violated)
        assert seen == {rule.id for rule in profile.rules}

    @every_profile
    def test_nothing_smaller_exists(self, name: str) -> None:
        """As few GPUs and fields as the witnesses that the prover proves to be the smallest."""
        profile = PROFILES[name]
        first: dict[str, Fixture] = {}
        for fixture, shows in shown(made(name), "rejects"):
            first.setdefault(shows.rule or "", fixture)
        compared = 0
        for obligation in proved.obligations(profile):
            rule = obligation.name.partition("/")[2]
            if rule in profile.implied:
                continue
            finding = obligation.decide(Deadline(None))
            assert (finding.status, finding.note) == ("proved", "violated alone")
            assert finding.witness is not None
            fixture = first[rule]
            smallest = (finding.witness[profile.world], len(finding.witness))
            assert (fixture.config[profile.world], len(fixture.config)) == smallest, rule
            compared += 1
        assert compared == len(profile.rules) - len(profile.implied)

    def test_as_many_as_asked_all_different(self) -> None:
        name = "accelerate"
        profile, answer = PROFILES[name], made(name, per_rule=3)
        agrees(answer)
        rejected: dict[str, list[Fixture]] = {}
        for fixture, shows in shown(answer, "rejects"):
            rejected.setdefault(shows.rule or "", []).append(fixture)
            if shows.rule not in profile.implied:
                assert fixture.violated == (shows.rule,)
        for rule in profile.rules:
            several = rejected[rule.id]
            assert 1 < len(several) <= 3
            assert len({at(profile, fixture) for fixture in several}) == len(several)
        assert Counter(map(len, rejected.values())).most_common(1)[0][0] == 3
        least = {shows.rule: fixture for fixture, shows in reversed([*shown(answer, "rejects")])}
        one = {shows.rule: fixture for fixture, shows in shown(made(name), "rejects")}
        assert {r: f.config for r, f in least.items()} == {r: f.config for r, f in one.items()}


SEVERAL_FIELDS = {"accelerate": {"cp-with-sp/rejects"}}
"""What is accepted only where two fields are changed."""

NO_KNOB = {
    "generic": {"world-not-multiple-of-node/rejects"},
    "torchtitan": {"minimal-async-ep-not-dividing-experts/rejects"},
    "halo": {
        "gpus-per-node-nonpositive/rejects",
        "nvlink-domain-negative/rejects",
        "world-not-multiple-of-node/rejects",
        "nvlink-domain-exceeds-multinode-world/rejects",
        "nvlink-domain-not-multiple-of-node/rejects",
        "world-not-multiple-of-domain/rejects",
        "ep-global-world-not-whole-domains/rejects",
    },
}
"""What is accepted where one field is changed that is no knob, and with no knob changed."""


def tried(field: Field, value: object) -> list[Anything]:
    """Other values of a field: all of them, or small numbers."""
    match field:
        case Flag():
            return [not value]
        case Choice(choices=choices):
            return [each for each in choices if each != value]
        case Size():
            small = [number for number in SMALL_SIZES if is_taken(field, number)]
            return [each for each in (*small, *([None] * field.optional)) if each != value]
        case _:
            return [each for each in (None, (1,), (2,), (4, 4)) if each != value]


def is_taken(field: Size, number: int) -> bool:
    try:
        return field.parse(number) == number
    except FieldError:
        return False


def moved(before: object, after: object) -> int:
    """How far a number moves; of anything else a change is a change."""
    if isinstance(before, bool) or not isinstance(before, int) or not isinstance(after, int):
        return 1
    return abs(before - after)


def accepted_beside(profile: Profile, values: Values) -> Iterator[tuple[bool, int]]:
    """Of each accepted change of one field: whether it is no knob, and how far it goes."""
    for place, field in enumerate(profile.fields):
        for value in tried(field, values[place]):
            other = (*values[:place], value, *values[place + 1 :])
            if profile.is_question(other) and profile.accepts(other):
                yield field.role != "knob", moved(values[place], value)


class TestWhatIsAcceptedBesideIt:
    @every_profile
    def test_it_differs_in_exactly_what_it_says(self, name: str) -> None:
        profile, answer = PROFILES[name], made(name)
        fixtures = by_id(answer)
        for fixture, shows in shown(answer, "accepts"):
            rejected = fixtures[shows.beside or ""]
            assert (fixture.verdict, rejected.verdict) == ("accepted", "rejected")
            assert any((s.kind, s.rule) == ("rejects", shows.rule) for s in rejected.shows)
            before, after = at(profile, rejected), at(profile, fixture)
            pairs = zip(profile.fields, before, after, strict=True)
            assert shows.change == {field.name: new for field, old, new in pairs if old != new}

    @every_profile
    def test_every_rejected_one_has_one(self, name: str) -> None:
        answer = made(name)
        beside = {(shows.rule, shows.beside) for _, shows in shown(answer, "accepts")}
        assert beside == {(shows.rule, each.id) for each, shows in shown(answer, "rejects")}

    @every_profile
    def test_one_knob_differs_wherever_one_is_enough_and_nothing_is_nearer(self, name: str) -> None:
        """Every field of the rejected configuration is tried, and every small number."""
        profile, answer = PROFILES[name], made(name)
        fixtures = by_id(answer)
        several, given = set[str](), set[str]()
        for _, shows in shown(answer, "accepts"):
            assert shows.beside
            assert shows.change
            before = at(profile, fixtures[shows.beside])
            nearest = min(accepted_beside(profile, before), default=None)
            if len(shows.change) > 1:
                several.add(shows.beside)
                assert nearest is None, shows
                continue
            [(field, value)] = shows.change.items()
            is_given = profile.field_of[field].role != "knob"
            if is_given:
                given.add(shows.beside)
            assert nearest is not None
            assert (is_given, moved(before[profile.index_of[field]], value)) <= nearest, shows
        assert several == SEVERAL_FIELDS.get(name, set())
        assert given == NO_KNOB.get(name, set())


# Conditions.

Path_ = tuple[int, ...]


def parts(formula: Formula) -> tuple[Formula, ...]:
    """What a formula is made of, if it is no condition."""
    match formula:
        case NamedFormula(_, inner) | Not(inner):
            return (inner,)
        case All(inner) | Any(inner):
            return inner
        case _:
            return ()


def places(formula: Formula, path: Path_ = ()) -> Iterator[tuple[Path_, Formula]]:
    """Where each condition stands in a formula."""
    inner = parts(formula)
    if not inner and not isinstance(formula, Truth | All | Any):
        yield path, formula
    for place, part in enumerate(inner):
        yield from places(part, (*path, place))


def truth(profile: Profile, formula: Formula, values: Values, other: Path_ | None = None) -> bool:
    """Whether a formula holds, if the condition in one place were the ``other`` way round."""
    if other == ():
        return not holds(profile, formula, values)
    found = [
        truth(profile, part, values, other[1:] if other and other[0] == place else None)
        for place, part in enumerate(parts(formula))
    ]
    match formula:
        case NamedFormula():
            return found[0]
        case Not():
            return not found[0]
        case All():
            return all(found)
        case Any():
            return any(found)
        case _:
            return holds(profile, formula, values)


def decides(profile: Profile, shows: Shows, values: Values) -> bool:
    """Whether the rule's verdict would be the other one if the condition were, all else alike."""
    rule = next(rule for rule in profile.rules if rule.id == shows.rule)
    when, requires = (truth(profile, node, values) for node in rule.nodes)
    for formula in rule.nodes:
        for path, atom in places(formula):
            if Condition(atom, ()).text != (shows.condition or "").partition(" (occurrence")[0]:
                continue
            if holds(profile, atom, values) != shows.holds:
                continue
            turned = truth(profile, formula, values, path)
            other = (turned, requires) if formula is rule.when else (when, turned)
            if (when and not requires) != (other[0] and not other[1]):
                return True
    return False


def sides(profile: Profile) -> Iterator[tuple[str, Condition, Side, str]]:
    """Every side of every condition of every rule, and the words for it where it is left out."""
    for rule in profile.rules:
        for condition in conditions(rule):
            for side in condition.sides:
                what = f"{rule.id}: the verdict hangs on {condition.text}, which {side.says}"
                yield rule.id, condition, side, what


class TestConditions:
    @every_profile
    def test_the_verdict_hangs_on_the_condition_alone(self, name: str) -> None:
        profile = PROFILES[name]
        for fixture, shows in shown(made(name), "boundary", "condition"):
            if shows.rule is None or (shows.condition or "").endswith(FAR):
                continue
            assert decides(profile, shows, at(profile, fixture)), (fixture.id, shows)

    @every_profile
    def test_every_side_is_shown_or_left_out(self, name: str) -> None:
        profile, answer = PROFILES[name], made(name)
        left_out = {each.what for each in answer.left_out}
        fixtures: dict[tuple[str, str, bool], list[Values]] = {}
        for fixture, shows in shown(answer, "boundary", "condition"):
            key = (shows.rule or "", shows.condition or "", bool(shows.holds))
            fixtures.setdefault(key, []).append(at(profile, fixture))
        for rule, condition, side, what in sides(profile):
            known = fixtures.get((rule, condition.text, side.holds(condition.atom)), [])
            there = any(holds(profile, side.formula, values) for values in known)
            assert there or what in left_out, what

    @every_profile
    def test_a_boundary_compares_numbers_and_a_condition_does_not(self, name: str) -> None:
        kinds = {(rule, c.text): c.kind for rule, c, _, _ in sides(PROFILES[name])}
        for _, shows in shown(made(name), "boundary", "condition"):
            if shows.rule and not (shows.condition or "").endswith(FAR):
                assert shows.kind == kinds[shows.rule, shows.condition or ""]

    @pytest.mark.parametrize("name", NAMES[:3])
    def test_what_is_proved_impossible_is_not_one_change_from_a_fixture(self, name: str) -> None:
        profile, answer = PROFILES[name], made(name)
        every = list(sides(profile))
        repeated = Counter(what for _, _, _, what in every)
        proved_impossible = {e.what for e in answer.left_out if e.why == "proved impossible"}
        order = [rule.id for rule in profile.limits]
        claims = [
            (what, {rule, *profile.implied.get(rule, ())}, (*condition.needs, side.formula))
            for rule, condition, side, what in every
            if what in proved_impossible and repeated[what] == 1
        ]
        assert claims
        fields = frozenset(field.name for field in profile.fields)
        for fixture in answer.fixtures:
            values = at(profile, fixture)
            for other in (values, *neighbours(profile, values, fields)):
                if not profile.is_question(other):
                    continue
                violated = {order[index] for index in profile.violated(other)}
                for what, may, needs in claims:
                    is_there = violated <= may and all(holds(profile, n, other) for n in needs)
                    assert not is_there, (what, off_default(profile, other))

    @every_profile
    def test_a_quantity_is_on_the_side_that_is_said(self, name: str) -> None:
        profile = PROFILES[name]
        seen = 0
        for fixture, shows in shown(made(name), "boundary", "condition"):
            if shows.quantity is None:
                assert shows.rule
                continue
            assert shows.rule is None
            formula = comparison(profile, shows.condition or "")
            if formula is not None:
                seen += 1
                assert holds(profile, formula, at(profile, fixture)) == shows.holds
        assert seen


def comparison(profile: Profile, text: str) -> Formula | None:
    """What compares a size with a number, such as ``tp_size > 1``, from its words."""
    words = text.split()
    if len(words) != 3 or words[1] not in {">", "==", "<=", ">=", "<"} or not words[2].isdecimal():
        return None
    field = profile.field_of.get(words[0])
    if not isinstance(field, Size):
        return None
    number = int(words[2])
    match words[1]:
        case ">":
            return field > number
        case "==":
            return field == number
        case "<=":
            return field <= number
        case ">=":
            return field >= number
        case _:
            return field < number


# Sets of axes.


def active(profile: Profile, fixture: Fixture) -> set[str]:
    values = at(profile, fixture)
    return {axis for axis in profile.axes if values[profile.index_of[axis]] > 1}


class TestModes:
    @every_profile
    def test_every_supported_set_has_a_smallest_and_a_realistic_one(self, name: str) -> None:
        profile = PROFILES[name]
        seen = Counter[tuple[frozenset[str], str]]()
        for fixture, shows in shown(made(name), "mode"):
            assert shows.axes is not None
            assert shows.size is not None
            assert fixture.verdict == "accepted"
            assert active(profile, fixture) == set(shows.axes)
            seen[frozenset(shows.axes), shows.size] += 1
        assert seen == Counter(product(profile.modes, ("smallest", "realistic")))

    @every_profile
    def test_every_other_set_has_a_rejected_one(self, name: str) -> None:
        profile = PROFILES[name]
        seen = []
        for fixture, shows in shown(made(name), "unsupported"):
            assert shows.axes is not None
            assert fixture.verdict == "rejected"
            assert active(profile, fixture) == set(shows.axes)
            seen.append(frozenset(shows.axes))
        every = {
            frozenset(axes)
            for count in range(len(profile.axes) + 1)
            for axes in combinations(profile.axes, count)
        }
        assert len(seen) == len(set(seen))
        assert set(seen) == every - set(profile.modes)

    @every_profile
    def test_a_realistic_one_is_a_model_on_whole_nodes_of_eight(self, name: str) -> None:
        profile = PROFILES[name]
        facts = {field.name for field in profile.fields if field.role == "model"}
        for fixture, shows in shown(made(name), "mode"):
            if shows.size == "realistic":
                assert fixture.config[profile.world] % 8 == 0
                if profile.node in profile.index_of:
                    assert fixture.config[profile.node] == 8
                if name in {"halo", "generic"}:
                    assert len(facts & set(fixture.config)) >= 3

    def test_only_the_rule_about_axes_refuses_an_unsupported_set_of_halo(self) -> None:
        for fixture, shows in shown(made("halo"), "unsupported"):
            assert fixture.violated == ("axis-set-unsupported",), shows


# Options.


class TestWorlds:
    @pytest.mark.parametrize(("name", "worlds"), [("accelerate", (72, 8)), ("generic", (16,))])
    def test_all_fixtures_are_of_these_worlds(self, name: str, worlds: tuple[int, ...]) -> None:
        profile = PROFILES[name]
        answer = made(name, worlds=worlds)
        agrees(answer)
        assert {f.config[profile.world] for f in answer.fixtures} == set(worlds)
        assert {s.rule for _, s in shown(answer, "rejects")} == {rule.id for rule in profile.rules}

    def test_one_world_is_a_number(self) -> None:
        assert parsolve.fixtures(profile="accelerate", worlds=3) == made("accelerate", worlds=(3,))

    def test_a_set_of_axes_that_no_such_world_allows_is_left_out(self) -> None:
        """Tensor and context parallelism do not multiply to 3."""
        profile, answer = PROFILES["accelerate"], made("accelerate", worlds=(3,))
        parts_ = [each.what.split(": ") for each in answer.left_out]
        left_out = {what for what, *rest in parts_ if rest == ["the smallest configuration"]}
        assert "mode tp+cp" in left_out
        smallest = [f for f, shows in shown(answer, "mode") if shows.size == "smallest"]
        assert len(smallest) + len(left_out) == len(profile.modes)
        assert {"tp_size", "cp_size"} not in [active(profile, fixture) for fixture in smallest]


Setting = tuple[int, Anything]


def settings_of(profile: Profile, answer: Fixtures) -> dict[int, list[Anything]]:
    """The values of each knob, and of the world, that are combined."""
    worlds = answer.worlds or WORLDS
    shown_with = [
        at(profile, fixture)
        for fixture in answer.fixtures
        if fixture.verdict == "accepted" and {s.kind for s in fixture.shows} != {"combination"}
    ]
    found: dict[int, list[Anything]] = {}
    for place, field in enumerate(profile.fields):
        if field.name == profile.world:
            found[place] = list(worlds)
        elif field.role != "knob" or isinstance(field, Bytes):
            continue
        elif isinstance(field, Flag):
            found[place] = [False, True]
        elif isinstance(field, Choice):
            found[place] = list(field.choices)
        elif isinstance(field, Size):
            numbers = {values[place] for values in shown_with} - {field.default, None}
            if field.divides:
                numbers = {n for n in numbers if n > 0 and any(w % n == 0 for w in worlds)}
            found[place] = [field.default, *sorted(numbers)[: MOST_NUMBERS - 1]]
    return {place: values for place, values in found.items() if len(values) > 1}


def combinations_of(profile: Profile, answer: Fixtures) -> Iterator[tuple[Setting, ...]]:
    settings = settings_of(profile, answer)
    for chosen in combinations(sorted(settings), answer.strength):
        for values in product(*(settings[place] for place in chosen)):
            yield tuple(zip(chosen, values, strict=True))


def named(profile: Profile, combination: tuple[Setting, ...]) -> str:
    return " with ".join(f"{profile.fields[p].name} = {v}" for p, v in combination)


PAIRED = [
    ("accelerate", {"strength": 2}),
    ("accelerate", {"strength": 2, "seed": 1}),
    ("accelerate", {"strength": 2, "worlds": (2, 4)}),
    ("accelerate", {"strength": 3, "worlds": (4,)}),
    ("accelerate", {"strength": 1, "worlds": (72, 8), "per_rule": 2, "seed": 7}),
    ("generic", {"strength": 2}),
]


class TestCombinations:
    @pytest.mark.parametrize(("name", "options"), PAIRED)
    def test_each_is_covered_or_left_out_and_never_both(
        self, name: str, options: Mapping[str, Anything]
    ) -> None:
        profile, answer = PROFILES[name], made(name, **options)
        agrees(answer)
        accepted = [at(profile, f) for f in answer.fixtures if f.verdict == "accepted"]
        left_out = {each.what for each in answer.left_out}
        covered, named_there = 0, set[str]()
        for combination in combinations_of(profile, answer):
            has = any(all(v[p] == x for p, x in combination) for v in accepted)
            what = named(profile, combination)
            assert has != (what in left_out), what
            covered += has
            if not has:
                named_there.add(what)
        assert covered == answer.combinations
        assert {w for w in left_out if " hangs on " not in w and ":" not in w} == named_there

    @pytest.mark.parametrize(("name", "options"), PAIRED)
    def test_each_fixture_covers_what_none_before_it_does(
        self, name: str, options: Mapping[str, Anything]
    ) -> None:
        profile, answer = PROFILES[name], made(name, **options)
        uncovered = set(combinations_of(profile, answer))
        before = answer.combinations or 0
        added = 0
        for fixture in sorted(answer.fixtures, key=is_combination):
            if fixture.verdict == "rejected":
                continue
            values = at(profile, fixture)
            own = {c for c in uncovered if all(values[p] == x for p, x in c)}
            uncovered -= own
            for shows in fixture.shows:
                if shows.kind == "combination":
                    assert shows.combinations == len(own) > 0
                    added += len(own)
        assert 0 < added < before

    @pytest.mark.parametrize("options", [PAIRED[2][1], PAIRED[3][1]])
    def test_what_is_left_out_no_configuration_has(self, options: Mapping[str, Anything]) -> None:
        """Every split of two or four GPUs, every wrapper and attention: by brute force."""
        profile = PROFILES["accelerate"]
        answer = made("accelerate", **options)
        settings = settings_of(profile, answer)
        for axis in profile.axes:
            settings[profile.index_of[axis]] = [1, 2, 3, 4]
        left_out = {each.what for each in answer.left_out}
        missing = [c for c in combinations_of(profile, answer) if named(profile, c) in left_out]
        assert len(missing) > 5
        settings.setdefault(profile.index_of[profile.world], list(answer.worlds or ()))
        reads = frozenset[str]().union(*(rule.reads for rule in profile.rules))
        free = [place for place in settings if profile.fields[place].name in reads]
        base = profile.config({profile.world: (answer.worlds or ())[0]}).values
        accepted = set[Values]()
        for chosen in product(*(settings[place] for place in free)):
            values = list(base)
            for place, value in zip(free, chosen, strict=True):
                values[place] = value
            if profile.accepts(tuple(values)):
                accepted.add(tuple(values))
        assert accepted
        for combination in missing:
            tied = [(p, x) for p, x in combination if p in free]
            assert not any(all(v[p] == x for p, x in tied) for v in accepted), combination

    def test_a_pair_that_a_rule_forbids_is_proved_impossible(self) -> None:
        why = {each.what: each.why for each in made("accelerate").left_out}
        assert why["cp_size = 2 with sp_size = 2"] == "proved impossible"
        assert why["cp_size = 2 with distributed = ddp"] == "proved impossible"

    def test_strength_adds_fixtures_and_changes_none(self) -> None:
        more, less = made("accelerate", strength=2), made("accelerate", strength=0)
        assert more.fixtures[: len(less.fixtures)] == less.fixtures
        assert less.combinations is None
        added = more.fixtures[len(less.fixtures) :]
        assert {s.kind for fixture in added for s in fixture.shows} == {"combination"}


def is_combination(fixture: Fixture) -> bool:
    return fixture.shows[0].kind == "combination"


class TestNumbersThatAreNeeded:
    """Megatron says nothing of a configuration without the model's numbers."""

    RULES = ("world-not-divisible-by-model-parallel", "hidden-size-not-divisible-by-heads",
             "sequence-not-divisible-by-cp")  # fmt: skip

    @cached_property
    def megatron(self) -> Profile:
        profile = PROFILES["megatron"]
        few = tuple(rule for rule in profile.rules if rule.id in self.RULES)
        assert len(few) == len(self.RULES)
        return dataclasses.replace(profile, rules=few, implied={}, modes=())

    def test_they_are_given_but_where_a_rule_speaks_without(self) -> None:
        needs = set(self.megatron.reference_needs)
        found = {each.id: each for each in fixtures(self.megatron).fixtures}
        lacking = {name: needs - each.config.keys() for name, each in found.items()}
        lacking = {name: fields for name, fields in lacking.items() if fields}
        assert lacking
        assert {name.partition("/")[0] for name in lacking} == {
            "hidden-size-not-divisible-by-heads"
        }
        assert lacking["hidden-size-not-divisible-by-heads/rejects"] == {"head_dim"}
        for rule in self.RULES:
            assert found[f"{rule}/rejects"].violated == (rule,)


class TestSeed:
    def test_another_one_may_take_others(self) -> None:
        drawn = {
            to_json(made("accelerate", worlds=(2, 4), strength=2, seed=seed)) for seed in range(3)
        }
        assert len(drawn) == 3

    def test_the_smallest_do_not_depend_on_it(self) -> None:
        one, other = made("accelerate", strength=0), made("accelerate", strength=0, seed=5)
        assert one.fixtures == other.fixtures

    @pytest.mark.parametrize(
        ("name", "options"), [("accelerate", {"strength": 2}), ("generic", {"worlds": (16,)})]
    )
    def test_what_was_asked_before_makes_no_difference(
        self, name: str, options: Mapping[str, Anything]
    ) -> None:
        """Z3 numbers its formulas as they come, in the whole process."""
        code = (
            "import parsolve; from parsolve.solver.answer import to_json\n"
            f"print(to_json(parsolve.fixtures(profile={name!r}, **{options!r})))"
        )
        alone = run_process([sys.executable, "-c", code], env={"PYTHONHASHSEED": "11"})
        assert (alone.code, alone.err) == (0, "")
        assert alone.out.strip() == to_json(made(name, **options))


class TestMisuse:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"profile": "nope"}, "nope"),
            ({"per_rule": 0}, "the number per rule is from 1 to 100, got 0"),
            ({"per_rule": 101}, "the number per rule is from 1 to 100, got 101"),
            ({"per_rule": True}, "the number per rule is from 1 to 100, got True"),
            ({"per_rule": "3"}, "the number per rule is from 1 to 100, got '3'"),
            ({"strength": -1}, "the strength is from 0 to 3, got -1"),
            ({"strength": 4}, "the strength is from 0 to 3, got 4"),
            ({"seed": "x"}, "seed"),
            ({"worlds": 0}, "world_size"),
            ({"worlds": (8, -1)}, "world_size"),
            ({"worlds": range(1, 34)}, "the number of worlds is from 0 to 32, got 33"),
        ],
    )
    def test_it_says_what_is_wrong(self, options: dict[str, Anything], said: str) -> None:
        with pytest.raises(ValueError, match=re.escape(said)):
            parsolve.fixtures(**{"profile": "accelerate", **options})


# The file of tests, against the independent validator.


class TestAgainstTheReference:
    def run(self, folder: Path, against: str) -> tuple[int, str]:
        file = folder / "test_cases.py"
        file.write_text(written_tests(made("halo"), HALO, against), encoding="utf-8")
        done = run_process(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", file.name],
            cwd=folder,
            env={**BARE, "NVLINK_DOMAIN_SIZE": "3"},
        )
        return done.code, done.out

    def test_all_pass_and_none_is_skipped(self, tmp_path: Path) -> None:
        code, out = self.run(tmp_path, "parsolve.reference.halo:validate")
        assert code == 0
        cases = len(made("halo").fixtures)
        assert re.search(rf"^{cases + 1} passed in", out, re.MULTILINE)

    def test_a_mistake_is_named(self, tmp_path: Path) -> None:
        """One division the wrong way round."""
        (tmp_path / "mistaken.py").write_text(
            "from parsolve.reference import halo\n"
            "from parsolve.reference.halo import Rejected\n"
            "def validate(*, world_size, tp_size=1, **others):\n"
            "    try:\n"
            "        return halo.validate(world_size=world_size, tp_size=tp_size, **others)\n"
            "    except Rejected as refusal:\n"
            "        if refusal.rule != 'hsdp-with-ep':\n"
            "            raise\n"
        )
        code, out = self.run(tmp_path, "mistaken:validate")
        assert code == 1
        failed = set(re.findall(r"^FAILED test_cases.py::test_verdict\[(.*?)\]", out, re.MULTILINE))
        assert failed == {f.id for f in made("halo").fixtures if f.rule == "hsdp-with-ep"}
        assert "hsdp-with-ep/rejects" in failed
        assert "accepted, though hsdp-with-ep forbids it" in out


SUBJECT = mutants.halo()
EQUIVALENT = 58
"""Mutants of halo's validator that `python -m benchmarks.mutants` proves equivalent."""


@cache
def mistakes() -> list[ProgramMutant]:
    """Every mistake in halo's validator, one at a time."""
    return SUBJECT.mutants


@cache
def caught() -> set[str]:
    """Those that its fixtures catch."""
    return SUBJECT.caught(
        mistakes(), [at(PROFILES["halo"], each) for each in made("halo").fixtures]
    )


class TestMutants:
    def test_every_mistake_that_changes_anything_is_caught(self) -> None:
        assert len(mistakes()) - len(caught()) == EQUIVALENT

    def test_random_configurations_of_the_same_number_catch_fewer(self) -> None:
        number = len(made("halo").fixtures)
        drawn = SUBJECT.caught(mistakes(), mutants.near(SUBJECT, number))
        anything = SUBJECT.caught(mistakes(), mutants.uniform(SUBJECT.profile, number))
        assert len(anything) < len(drawn) < len(caught())
        assert drawn | anything <= caught()

    def test_a_copy_is_left_as_it_was(self) -> None:
        names = SUBJECT.program.names
        before = dict(names)
        with SUBJECT.program.changed(mistakes()[0]):
            assert before != names
        assert before == names
