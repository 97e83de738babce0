"""Mutation scores of generated fixtures: ``python -m benchmarks.mutants [PROFILE]``.

One mistake after the other is planted into the independent validator of a profile, as
`parsolve prove teeth` does: a check removed, a part of it dropped, a bound moved by one, a
remainder ignored. A mistake is caught where some fixture gets another verdict, first rule or
derived value than is expected of it. What is not caught is proved equivalent by Z3 (halo), or was
not caught by many thousands of other configurations either (megatron, whose validator takes
arguments that no field of the profile is). Random configurations of the same number are the
comparison: drawn from all values of all fields, and near valid ones, as the tests draw them.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Choice, Field, FieldError, Flag, Size
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.deadline import Deadline
from parsolve.solver.fixtures.build import fixtures
from parsolve.solver.prove.completeness import as_known
from parsolve.solver.prove.differences import nearby
from parsolve.solver.prove.instances import is_question
from parsolve.solver.prove.mutants import ProgramMutant
from parsolve.solver.prove.program import Program
from parsolve.solver.prove.teeth import Teeth
from parsolve.solver.prove.validator import Validator, loaded
from tests import near_valid, near_valid_megatron

SEED = 0
MORE = 15_000
"""Further near valid configurations for what nothing caught, where equivalence is not proved."""


@dataclass
class Subject:
    """A profile's validator, as a program into which mistakes can be planted."""

    profile: Profile
    program: Program
    asked: Callable[[dict[str, Any], Values], object]
    """What the validator in a namespace says of a configuration."""

    @property
    def mutants(self) -> list[ProgramMutant]:
        """Every mistake."""
        return [mutant for each in self.program.mutants.values() for mutant in each]

    def outcome(self, values: Values) -> object:
        """What can be compared: the answer, or what was raised."""
        try:
            return self.asked(self.program.names, values)
        except Exception as error:  # noqa: BLE001  (raising is an answer)
            return (type(error).__name__, error.args[:1])

    def caught(
        self, mutants: Iterable[ProgramMutant], configurations: Iterable[Values]
    ) -> set[str]:
        """Names of the mutants on which some configuration has another outcome.

        Where a function is not entered, a mistake in it makes no difference.
        """
        usual = [(values, *self._entered(values)) for values in dict.fromkeys(configurations)]
        found = set()
        for mutant in mutants:
            changed = mutant.function.name
            with self.program.changed(mutant):
                if any(
                    changed in entered and self.outcome(values) != outcome
                    for values, outcome, entered in usual
                ):
                    found.add(mutant.name)
        return found

    def _entered(self, values: Values) -> tuple[object, set[str]]:
        """The outcome, and the names of the functions that are entered on the way to it."""
        entered: set[str] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                entered.add(frame.f_code.co_name)

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            return self.outcome(values), entered
        finally:
            sys.setprofile(before)


def halo() -> Subject:
    profile = PROFILES["halo"]
    validator = Validator(loaded(profile.reference), profile)
    places = [(name, profile.index_of[each]) for name, each in validator.parameters.items()]

    def asked(names: dict[str, Any], values: Values) -> object:
        given = {name: values[place] for name, place in places}
        lists = {name: list(v) for name, v in given.items() if isinstance(v, tuple)}
        returned = names["validate"](**given | lists)
        return tuple((name, getattr(returned, name)) for name in returned.__slots__)

    return Subject(profile, Program(loaded(profile.reference)), asked)


def megatron() -> Subject:
    profile = PROFILES["megatron"]

    def asked(names: dict[str, Any], values: Values) -> object:
        verdict = names["check"](near_valid_megatron.asked(Config(profile, values)))
        return (verdict.accepted, verdict.rule, verdict.where, str(verdict.derived))

    return Subject(profile, Program(loaded("parsolve.reference.megatron:check")), asked)


SUBJECTS = {"halo": halo, "megatron": megatron}


def uniform(profile: Profile, number: int) -> Iterator[Values]:
    """Configurations drawn from all values of all fields, alike."""
    source = random.Random(SEED)
    drawn = 0
    while drawn < number:
        values = tuple(_any(source, each) for each in profile.fields)
        if is_question(profile, values):
            drawn += 1
            yield values


def _any(source: random.Random, each: Field) -> object:
    match each:
        case Flag():
            return source.random() < 0.5
        case Choice(choices=choices):
            return source.choice(choices)
        case Size(optional=True) if source.random() < 0.5:
            return None
        case Size():
            return source.choice((1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 4096))
        case _:
            return each.default


def near(subject: Subject, number: int) -> Iterator[Values]:
    """Near valid configurations, as the tests draw them."""
    source = random.Random(SEED)
    drawn = 0
    while drawn < number:
        if subject.profile.name == "halo":
            given = near_valid.near_valid(source)
        else:
            given = near_valid_megatron.drawn(source)
        try:
            values = subject.profile.config(given).values
        except FieldError:
            continue
        drawn += 1
        yield values


def equivalent(subject: Subject, mutants: Sequence[ProgramMutant]) -> tuple[set[str], set[str]]:
    """Which of them are equivalent, proved or for all that is known; and which are not."""
    if subject.profile.name == "halo":
        teeth = Teeth(subject.profile)
        outcome = {m.name: teeth.of_mutant(m, Deadline(None))[0].outcome for m in mutants}
        same = {name for name, each in outcome.items() if each == "equivalent"}
    else:
        known = as_known(subject.profile)
        more = [values for values in nearby(known) if is_question(known, values)]
        caught = subject.caught(mutants, [*more, *near(subject, MORE)])
        same = {m.name for m in mutants} - caught
    return same, {m.name for m in mutants} - same


@dataclass(frozen=True)
class Scores:
    """Mutants, those that each kind of configurations catches, and what is left."""

    mutants: int
    configurations: int
    fixtures: set[str]
    near: set[str]
    uniform: set[str]
    equivalent: set[str]
    missed: set[str]


def scores(subject: Subject, configurations: Sequence[Values]) -> Scores:
    """The scores of these fixtures, and of as many random configurations."""
    mutants = subject.mutants
    number = len(configurations)
    caught = subject.caught(mutants, configurations)
    same, missed = equivalent(subject, [m for m in mutants if m.name not in caught])
    return Scores(
        len(mutants),
        number,
        caught,
        subject.caught(mutants, near(subject, number)),
        subject.caught(mutants, uniform(subject.profile, number)),
        same,
        missed,
    )


def table(name: str, found: Scores) -> str:
    """The scores as text."""
    killable = found.mutants - len(found.equivalent)
    head = f"{name}: {found.mutants} mutants, {len(found.equivalent)} equivalent, "
    lines = [f"{head}{killable} to be caught by {found.configurations} configurations"]
    for kind in ("fixtures", "near", "uniform"):
        caught = len(getattr(found, kind))
        lines.append(f"  {kind:<10} {caught:>5}  {caught / killable:.1%}")
    lines += [f"  missed: {each}" for each in sorted(found.missed)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PROFILE", help=", ".join(SUBJECTS))
    parser.add_argument("--strength", type=int, default=0, metavar="N", help="as of fixtures")
    asked = parser.parse_args()
    for name in asked.names or SUBJECTS:
        subject = SUBJECTS[name]()
        made = fixtures(subject.profile, strength=asked.strength).fixtures
        found = scores(subject, [subject.profile.config(each.config).values for each in made])
        print(table(name, found), flush=True)


if __name__ == "__main__":
    main()
