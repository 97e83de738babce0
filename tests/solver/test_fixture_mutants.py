"""Generated fixtures catch mistakes in a validator, and more than random configurations do.

`python -m benchmarks.mutants` proves that the mistakes that nothing catches change nothing.
"""

from __future__ import annotations

from functools import cache

from benchmarks.mutants import halo, near, uniform
from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.solver.fixtures.build import fixtures
from parsolve.solver.prove.mutants import program_mutants

SUBJECT = halo()
MUTANTS = list(program_mutants(SUBJECT.tree))
EQUIVALENT = 58
"""Mutants of halo's validator that are proved equivalent, for all integers."""


@cache
def made() -> tuple[Values, ...]:
    profile = PROFILES["halo"]
    return tuple(profile.config(each.config).values for each in fixtures(profile).fixtures)


@cache
def caught() -> set[str]:
    return SUBJECT.caught(MUTANTS, made())


def test_every_mistake_that_changes_anything_is_caught() -> None:
    assert len(MUTANTS) - len(caught()) == EQUIVALENT


def test_random_configurations_of_the_same_number_catch_fewer() -> None:
    number = len(made())
    drawn = SUBJECT.caught(MUTANTS, near(SUBJECT, number))
    anything = SUBJECT.caught(MUTANTS, uniform(SUBJECT.profile, number))
    assert len(anything) < len(drawn) < len(caught())
    assert drawn | anything <= caught()


def test_a_copy_is_left_as_it_was() -> None:
    before = dict(SUBJECT.names)
    with SUBJECT.changed(MUTANTS[0]):
        assert SUBJECT.names != before
    assert SUBJECT.names == before
