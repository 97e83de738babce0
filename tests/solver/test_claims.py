"""The claims that a search relies on, proved for every cluster, and only then."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import z3

from parsolve.constraints.fields import Size
from parsolve.constraints.profile import Profile
from parsolve.solver import claims
from parsolve.solver.answer import Solutions, Undecided
from parsolve.solver.claims import divisor_claims, laws_hold
from parsolve.solver.integers import (
    LAWS,
    IntegerEncoder,
    division_is_transitive,
    factors_divide,
    one_divides,
    quotients_divide,
)
from parsolve.solver.query import build_query
from parsolve.solver.solve import Listing, best, solutions
from tests.solver.questions import HALO


def without(*identities: str) -> Profile:
    """The profile with these rules removed."""
    left = tuple(rule for rule in HALO.rules if rule.id not in identities)
    assert len(left) == len(HALO.rules) - len(identities)
    return dataclasses.replace(HALO, rules=left)


@pytest.fixture
def fresh() -> object:
    """Forget what was proved, before and after."""
    laws_hold.cache_clear()
    divisor_claims.cache_clear()
    yield
    laws_hold.cache_clear()
    divisor_claims.cache_clear()


def test_the_laws_of_divisibility_hold_for_all_integers() -> None:
    assert laws_hold() == "proved"
    assert {law for law, _ in LAWS.values()} == {
        one_divides,
        division_is_transitive,
        factors_divide,
        quotients_divide,
    }


Law = Callable[..., z3.BoolRef]

WRONG: dict[str, tuple[Law, int]] = {
    "one divides only itself": (lambda e, a, b: z3.Implies(e.exact(a, b), a == 1), 2),
    "division is symmetric": (lambda e, a, b: z3.Implies(e.exact(a, b), e.exact(b, a)), 2),
    "divisors of one number divide each other": (
        lambda e, a, b, c: z3.Implies(z3.And(e.exact(a, c), e.exact(b, c)), e.exact(a, b)),
        3,
    ),
    "factors of any sign divide": (lambda e, a, b: e.exact(a, a * b), 2),
    "a quotient with a rest divides": (
        lambda e, a, b: z3.Implies(z3.And(a >= b, b >= 1), e.exact(e.divided(a, b)[0], a)),
        2,
    ),
    "the quotient of 0 is at least 1": (
        lambda e, a, b: z3.Implies(e.exact(b, a), e.divided(a, b)[0] >= 1),
        2,
    ),
}
"""The laws without one of their premises, or turned around."""


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", WRONG)
def test_the_check_of_the_laws_refutes_what_is_no_law(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(claims, "LAWS", {**LAWS, name: WRONG[name]})
    assert laws_hold() == "refuted"
    assert set(divisor_claims(HALO).values()) == {"undecided"}


def test_a_wrong_law_is_refuted() -> None:
    """The same check with teeth: the converse of a law is no law."""
    a, b, c = z3.Ints("a b c")
    encoder = IntegerEncoder(())
    solver = z3.Solver()
    solver.add(a >= 1, b >= 1, c >= 1, encoder.exact(a, c), encoder.exact(b, c))
    solver.add(z3.Not(encoder.exact(a, b)), a <= 6, b <= 6, c <= 12)
    solver.add(*encoder.axioms)
    assert solver.check() == z3.sat


def test_every_claim_of_halo_is_proved() -> None:
    claimed = {field.name for field in HALO.fields if isinstance(field, Size) and field.divides}
    assert claimed == set(HALO.axes)
    assert divisor_claims(HALO) == dict.fromkeys(claimed, "proved")


@pytest.mark.parametrize(
    ("identities", "axis"),
    [
        (("tp-not-dividing-domain", "tp-not-dividing-stage"), "tp_size"),
        (("cp-not-dividing-domain",), "cp_size"),
        (("world-not-multiple-of-pp",), "pp_size"),
        (
            (
                "etp-not-dividing-domain",
                "ep-node-group-not-dividing-domain",
                "ep-global-group-not-dividing-stage",
            ),
            "expert_tp_size",
        ),
        (
            ("ep-node-group-not-dividing-domain", "ep-global-group-not-dividing-stage"),
            "ep_size",
        ),
    ],
)
def test_a_claim_without_its_rules_is_not_proved(identities: tuple[str, ...], axis: str) -> None:
    found = divisor_claims(without(*identities))
    assert found[axis] == "undecided"


def test_a_claim_that_is_not_proved_is_not_certified() -> None:
    doctored = without("tp-not-dividing-domain", "tp-not-dividing-stage")
    assert divisor_claims(doctored)["tp_size"] == "undecided"
    asked = build_query(doctored, [8], {})
    listed = solutions(asked)
    assert isinstance(listed, Undecided)
    assert not listed.complete
    stream = Listing(asked)
    assert len(list(stream)) == listed.count > 0
    assert stream.certificate is not None
    assert stream.certificate.divisors == stream.certificate.status == "undecided"
    answer = best(build_query(doctored, [8], {}, objectives=[("dp", True)]))
    assert isinstance(answer, Undecided)
    pinned = solutions(build_query(doctored, [8], {"tp_size": 1}))
    assert isinstance(pinned, Solutions)
    assert pinned.certificate is not None
    assert pinned.certificate.status == "proved"


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("result", "status"), [(z3.unknown, "undecided"), (z3.sat, "refuted")])
def test_laws_that_are_not_proved_prove_no_claim(
    monkeypatch: pytest.MonkeyPatch, result: z3.CheckSatResult, status: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(z3.Solver, "check", lambda *_: result)
        assert laws_hold(claims.LONGEST) == status
    assert set(divisor_claims(HALO).values()) == {"undecided"}


@pytest.mark.usefixtures("fresh")
def test_a_law_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "LAWS", {"all are equal": (lambda _, a, b: a == b, 2)})
    assert laws_hold() == "refuted"
    assert set(divisor_claims(HALO).values()) == {"undecided"}
