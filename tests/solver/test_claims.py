"""The claims that a search relies on, proved for every cluster, and only then."""

from __future__ import annotations

import dataclasses
from itertools import product

import pytest
import z3

from parsolve.constraints.fields import Size
from parsolve.constraints.profile import Profile
from parsolve.solver import arithmetic, claims
from parsolve.solver.answer import Solutions, Undecided
from parsolve.solver.arithmetic import DIVISIBILITY, LAWS, LONGEST, Arithmetic, Law, laws_hold
from parsolve.solver.claims import divisor_claims
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


def test_the_laws_of_arithmetic_hold_for_all_integers() -> None:
    assert laws_hold() == "proved"
    assert len({law.name for law in LAWS}) == len(LAWS)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_law_holds_at_small_integers(law: Law) -> None:
    """By Python's own arithmetic: the definitions that Z3 proves it from are Python's."""
    span = range(-3, 6) if law.integers == 2 else range(-1, 5)
    for numbers in product(span, repeat=law.integers):
        assert holds_at(law, numbers), numbers


def holds_at(law: Law, numbers: tuple[int, ...]) -> bool:
    """Whether the law's statement is true at these integers."""
    statement = law.states(Arithmetic(), *map(z3.IntVal, numbers))
    while (applied := arithmetic._innermost(statement)) is not None:
        left, right = (z3.simplify(term).as_long() for term in applied.children())
        if applied.decl() == arithmetic.PRODUCT:
            value = left * right
        elif right == 0:
            return True  # said of divisors only
        else:
            quotient, rest = divmod(left, right)
            value = quotient if applied.decl() == arithmetic.QUOTIENT else rest
        statement = z3.substitute(statement, (applied, z3.IntVal(value)))
    return bool(z3.is_true(z3.simplify(statement)))


WRONG = (
    Law("one divides only itself", "division", lambda w, a, b: z3.Implies(w.exact(a, b), a == 1)),
    Law(
        "division is symmetric",
        "division",
        lambda w, a, b: z3.Implies(w.exact(a, b), w.exact(b, a)),
    ),
    Law(
        "divisors of one number divide each other",
        "chain",
        lambda w, a, b, c: z3.Implies(z3.And(w.exact(a, c), w.exact(b, c)), w.exact(a, b)),
    ),
    Law("factors of any sign divide", "product", lambda w, a, b: w.exact(a, w.product(a, b))),
    Law(
        "a quotient with a rest divides",
        "division",
        lambda w, a, b: z3.Implies(z3.And(a >= b, b >= 1), w.exact(w.divided(a, b)[0], a)),
    ),
    Law(
        "the quotient of 0 is at least 1",
        "division",
        lambda w, a, b: z3.Implies(w.exact(b, a), w.divided(a, b)[0] >= 1),
    ),
)
"""The laws without one of their premises, or turned around."""


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("wrong", WRONG, ids=lambda law: law.name)
def test_the_check_of_the_laws_refutes_what_is_no_law(
    monkeypatch: pytest.MonkeyPatch, wrong: Law
) -> None:
    monkeypatch.setattr(claims, "DIVISIBILITY", (*DIVISIBILITY, wrong))
    assert laws_hold(LONGEST, (*LAWS, wrong)) == "refuted"
    assert set(divisor_claims(HALO).values()) == {"undecided"}


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
        assert laws_hold(LONGEST, DIVISIBILITY) == status
    assert set(divisor_claims(HALO).values()) == {"undecided"}


@pytest.mark.usefixtures("fresh")
def test_a_law_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (Law("all are equal", "division", lambda _, a, b: a == b),)
    monkeypatch.setattr(claims, "DIVISIBILITY", wrong)
    assert laws_hold(LONGEST, wrong) == "refuted"
    assert set(divisor_claims(HALO).values()) == {"undecided"}
