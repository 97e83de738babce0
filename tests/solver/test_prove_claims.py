"""What is said of the rules is proved for all sizes, by a prover that can say no."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, product
from typing import Any

import pytest
import z3

from parsolve.constraints.claim import (
    ACCEPTED,
    Claim,
    Instead,
    Verdict,
    at_default,
    equivalent,
    first,
    violates,
)
from parsolve.constraints.evaluate import (
    Values,
    compiled,
    defined_source,
    formula_source,
    prologue,
    term_source,
)
from parsolve.constraints.fields import FieldError
from parsolve.constraints.formula import (
    All,
    Formula,
    Not,
    Term,
    Truth,
    all_of,
    any_of,
    divides,
    fields_of,
    if_,
    one_of,
    quotient,
    stated_in,
)
from parsolve.constraints.formula import Any as AnyOf
from parsolve.constraints.halo import claims as said
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.axes import exactly
from parsolve.constraints.profile import Profile
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove import claims as proving
from parsolve.solver.prove.claims import obligations
from parsolve.solver.prove.obligation import UNBOUNDED, Finding, Goal
from tests.near_valid import HALO, near_valid, others

CLAIMS = {claim.id: claim for claim in HALO.claims}
TRUE = [claim.id for claim in HALO.claims if claim.holds]
UNTRUE = [claim.id for claim in HALO.claims if not claim.holds]


def findings(profile: Profile) -> dict[str, Finding]:
    """What becomes of each claim of the profile."""
    return {
        obligation.name.removeprefix("claims/"): obligation.decide(Deadline())
        for obligation in obligations(profile)
    }


def finding(claim: Claim, profile: Profile = HALO) -> Finding:
    """What becomes of one claim."""
    (found,) = findings(dataclasses.replace(profile, claims=(claim,))).values()
    return found


@pytest.fixture(scope="module")
def found() -> dict[str, Finding]:
    return findings(HALO)


# An independent reading: verdicts become constants, and what is left is read as any formula is.


@cache
def reader(formula: Formula) -> Any:  # noqa: ANN401 - a compiled function
    """The formula's truth at given values; None where it is undefined."""
    source = f"return {formula_source(formula)} if {defined_source(formula)} else None"
    return compiled("read", [*prologue(HALO.fields, [formula]), source])


@cache
def term_reader(term: Term) -> Any:  # noqa: ANN401 - a compiled function
    source = f"return {term_source(term)} if {defined_source(term)} else None"
    return compiled("read", [*prologue(HALO.fields, [term]), source])


def settled(formula: Formula, truths: Mapping[str, bool]) -> Formula:
    """The formula with constants for verdicts."""
    match formula:
        case Verdict(name):
            return Truth(truths[name])
        case All(parts):
            return All(tuple(settled(part, truths) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(settled(part, truths) for part in parts))
        case Not(part):
            return Not(settled(part, truths))
        case _:
            return formula


@cache
def sides(identity: Claim, truths: tuple[tuple[str, bool], ...]) -> tuple[Any, Any]:
    known = dict(truths)
    return reader(settled(identity.when, known)), reader(settled(identity.then, known))


def changed(instead: Instead, values: Values) -> Values | None:
    """The values of the changed configuration, if there is one."""
    result = list(values)
    for name, term in instead.terms.items():
        value = term_reader(term)(values)
        if value is None:
            return None
        result[HALO.index_of[name]] = value
    for name, flag in instead.flags.items():
        result[HALO.index_of[name]] = flag
    return tuple(result)


def verdict(profile: Profile, said_of: Verdict, here: Values, there: Values) -> bool:
    fired = [profile.rules[index].id for index in profile.violated(there)]
    match said_of.kind:
        case "accepted":
            return profile.accepts(there)
        case "violates":
            return said_of.rule in fired
        case "first":
            return fired[:1] == [said_of.rule]
        case "same":
            same_rules = profile.violated(here) == profile.violated(there)
            return same_rules and profile.derive(here) == profile.derive(there)


def truth(claim: Claim, values: Values, profile: Profile = HALO) -> bool | None:
    """Whether the claim is true at the values; None where it says nothing."""
    truths: list[tuple[str, bool]] = []
    for said_of in claim.verdicts:
        there = changed(said_of.instead, values) if said_of.instead else values
        if there is None:
            return None
        truths.append((said_of.name, verdict(profile, said_of, values, there)))
    when, then = sides(claim, tuple(truths))
    return bool(then(values)) if when(values) else None


def values_of(given: Mapping[str, Any] | None) -> Values:
    assert given is not None
    return HALO.config(given).values


# What the claims are.


def test_every_claim_is_proved_as_it_is_said(found: dict[str, Finding]) -> None:
    assert list(found) == list(CLAIMS)
    assert {
        name: f"{f.status}: {f.note}" for name, f in found.items() if f.status != "proved"
    } == {}
    assert {f.scope for f in found.values()} == {UNBOUNDED}


def test_there_are_many_and_each_has_a_name_of_its_own() -> None:
    assert len(HALO.claims) == len(CLAIMS) >= 100
    assert len(TRUE) >= 90
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", identity) for identity in CLAIMS)
    assert len({claim.says for claim in HALO.claims}) == len(CLAIMS)


@pytest.mark.parametrize("claim", HALO.claims, ids=list(CLAIMS))
def test_a_claim_is_one_sentence_with_a_source(claim: Claim) -> None:
    assert claim.says.endswith(".")
    assert ". " not in claim.says
    assert claim.source.file
    assert claim.source.function


@pytest.mark.parametrize("claim", HALO.claims, ids=list(CLAIMS))
def test_a_claim_speaks_of_what_there_is(claim: Claim) -> None:
    rules = {rule.id for rule in HALO.rules}
    assert {v.rule for v in claim.verdicts if v.rule} <= rules
    verdicts = {v.name for v in claim.verdicts}
    assert fields_of(claim.when, claim.then) - verdicts <= set(HALO.field_of)
    assert len({instead.name for instead in claim.changed}) == len(claim.changed)
    for instead in claim.changed:
        assert instead.fields <= set(HALO.field_of)
        assert fields_of(*instead.terms.values()) <= set(HALO.field_of)


def test_what_is_not_true_names_what_is() -> None:
    assert len(UNTRUE) >= 15
    for identity in UNTRUE:
        assert CLAIMS[CLAIMS[identity].truth].holds


def test_a_true_claim_comes_with_its_goal_and_a_witness(found: dict[str, Finding]) -> None:
    for identity in TRUE:
        result = found[identity]
        assert result.counterexample is None
        assert [goal.expected for goal in result.goals] == ["unsat"]
        assert truth(CLAIMS[identity], values_of(result.witness)) is True, identity


def test_an_accepted_witness_of_every_invariant(found: dict[str, Finding]) -> None:
    invariants = [
        identity
        for identity in TRUE
        if reader(settled(CLAIMS[identity].when, _truths(CLAIMS[identity])))(
            values_of(found[identity].witness)
        )
        is False
    ]
    assert len(invariants) >= 50
    assert all(HALO.accepts(values_of(found[identity].witness)) for identity in invariants)


def _truths(claim: Claim) -> dict[str, bool]:
    """Nothing is accepted: what then is no premise needed acceptance."""
    return {v.name: v.kind != "accepted" for v in claim.verdicts}


def test_an_untrue_claim_comes_with_a_counterexample(found: dict[str, Finding]) -> None:
    for identity in UNTRUE:
        result = found[identity]
        assert truth(CLAIMS[identity], values_of(result.counterexample)) is False, identity
        assert CLAIMS[identity].truth in result.note
        assert not result.goals


@pytest.mark.parametrize("identity", TRUE[::9])
def test_a_goal_is_unsatisfiable_to_a_solver_of_its_own(
    found: dict[str, Finding], identity: str
) -> None:
    (goal,) = found[identity].goals
    solver = z3.Solver()
    solver.add(*goal.assertions)
    assert solver.check() == z3.unsat


# The same claims at thousands of configurations, without Z3.

CLUSTERS = (
    (1, 1, 0),
    (2, 1, 0),
    (4, 2, 0),
    (6, 2, 6),
    (8, 8, 0),
    (8, 2, 0),
    (8, 1, 4),
    (9, 9, 0),
    (12, 4, 0),
    (12, 6, 12),
    (16, 8, 0),
    (16, 8, 16),
    (24, 6, 12),
    (32, 8, 0),
    (12, 8, 0),
    (8, 8, 4),
    (72, 4, 72),
)


def layouts() -> Iterator[dict[str, Any]]:
    """Every pair of axes on small clusters, with every scope; some break rules, as they should."""
    for (world, node, domain), scope in product(CLUSTERS, ("auto", "node", "global")):
        base = {"world_size": world, "gpus_per_node": node, "nvlink_domain_size": domain}
        sizes = [n for n in range(2, world + 1) if world % n == 0 or n == 3][:6]
        for pair in combinations(HALO.axes, 2):
            for chosen in product((1, *sizes), repeat=2):
                given: dict[str, Any] = {
                    **base,
                    "ep_scope": scope,
                    **dict(zip(pair, chosen, strict=True)),
                }
                yield given
                if given.get("pp_size", 1) > 1:
                    yield {**given, "assume_pp": True}


def configurations(count: int = 3000) -> Iterator[Values]:
    rng = random.Random(7)
    for given in layouts():
        yield HALO.config(given).values
    for rule in HALO.rules:
        for side in (rule.example.rejects, rule.example.instead):
            yield HALO.config(side).values
    for _ in range(count):
        try:
            yield HALO.config(near_valid(rng)).values
        except FieldError:
            continue


@pytest.fixture(scope="module")
def small() -> tuple[Values, ...]:
    return tuple(dict.fromkeys(configurations()))


def around(claim: Claim, values: Values) -> Iterator[Values]:
    """The configuration, and each with one or two fields changed that the claim states."""
    stated = stated_in(claim.when, claim.then)
    moved = [values, *_moved(values, stated)]
    layout = stated & {*HALO.searched, HALO.world}
    yield from dict.fromkeys((*moved, *(twice for once in moved for twice in _moved(once, layout))))


def _moved(values: Values, names: frozenset[str]) -> Iterator[Values]:
    for field, value, place in zip(HALO.fields, values, range(len(values)), strict=True):
        if field.name in names:
            for other in others(field, value):
                yield (*values[:place], field.parse(other), *values[place + 1 :])


@pytest.mark.parametrize("identity", TRUE)
def test_a_claim_fails_at_no_small_configuration(
    found: dict[str, Finding], small: tuple[Values, ...], identity: str
) -> None:
    claim = CLAIMS[identity]
    reading = proving.Reading(HALO, claim)
    applies = 0
    for values in (*small, *around(claim, values_of(found[identity].witness))):
        held = reading.truth(values)
        applies += held is not None
        assert held is not False, proving.off_default(HALO, values)
    assert applies


@pytest.mark.parametrize("identity", CLAIMS)
def test_the_prover_reads_a_claim_as_the_rules_do(small: tuple[Values, ...], identity: str) -> None:
    reading = proving.Reading(HALO, CLAIMS[identity])
    rng = random.Random(identity)
    for values in rng.sample(small, 60):
        assert reading.truth(values) is truth(CLAIMS[identity], values)


# Teeth.

DOCTORED: dict[str, dict[str, Any]] = {
    "ep-never-changes-dp": {"then": q.data_parallel_size == said.WITHOUT_TP.of(said.dp)},
    "tp-divides-dp-by-its-size": {"then": said.dp * f.cp_size == said.WITHOUT_TP.of(said.dp)},
    "pp-divides-dp-by-its-size": {"then": said.dp == said.WITHOUT_PP.of(said.dp)},
    "dp-times-inner-axis-times-pp-is-the-world": {"then": said.dp * said.replicas == f.world_size},
    "dp-is-at-least-one": {"then": said.dp >= 2},
    "tp-stays-in-one-domain": {"then": f.tp_size < q.nvlink_domain_size},
    "a-node-group-divides-its-domain": {"when": ACCEPTED},
    "global-widths-are-domains-times-a-divisor-of-the-domain": {
        "when": all_of(ACCEPTED, said.GROUP)
    },
    "expert-groups-tile-their-stage": {"then": q.num_ep_groups == q.stage_world_size},
    "auto-scope-equals-the-one-it-resolves-to": {"then": said.WITH_NODE_SCOPE.same},
    "the-scope-of-a-one-rank-group-is-node": {"when": one_of(f.ep_scope, ("auto", "global"))},
    "on-one-domain-pure-ep-is-two-or-the-domain": {
        "when": all_of(ACCEPTED, exactly("ep")),
    },
    "on-one-domain-these-ep-sizes-are-accepted": {
        "then": equivalent(ACCEPTED, said.PAIR_OR_WHOLE),
    },
    "on-72-gpus-in-one-domain-pure-ep-is-2-or-72": {
        "then": equivalent(ACCEPTED, one_of(f.ep_size, (2, 36, 72))),
    },
    "ep4-etp2-on-8-is-accepted": {
        "when": all_of(
            said.only(f.ep_size, f.expert_tp_size),
            said.ON_EIGHT,
            f.ep_size == 4,
            f.expert_tp_size == 4,
        )
    },
    "ep4-tp2-on-8-is-racy": {"then": ACCEPTED},
    "attention-tp-never-rescues-a-racy-shape": {
        "then": equivalent(violates(said.RACY), said.WITHOUT_ETP.violates(said.RACY)),
    },
    "above-one-domain-ep-etp-fills-each-domain-once": {
        "when": all_of(ACCEPTED, said.EP, said.ETP),
    },
    "ep-with-cp-fills-the-domain": {"then": q.ep_group_size < q.nvlink_domain_size},
    "the-allowlist-refuses-exactly-the-rest": {
        "then": equivalent(~violates(said.UNSUPPORTED), exactly("ep")),
    },
    "tp-alone-is-accepted": {"when": said.only(f.tp_size)},
    "the-release-gate-refuses-every-pipeline": {"when": said.PP},
    "a-one-rank-stage-needs-one-gpu-domains": {"when": violates("pp-single-rank-stage")},
    "hsdp-lives-on-pure-dp-or-cp": {"then": exactly("")},
    "zero3-exists-nowhere-beside-an-expert-group": {"when": said.ZERO3},
    "two-kv-heads-allow-a-tp-of-two": {"then": f.tp_size <= 1},
    "two-ep-ranks-cure-a-race-on-even-domains": {
        "then": equivalent(said.WITH_TWO_RANKS.accepted, divides(3, q.nvlink_domain_size)),
    },
    "one-group-cures-several-with-tp": {"then": said.WITH_EP_AS_TP.accepted},
}
"""Claims that are wrong by one, lack a premise, or speak of another change."""


WRONG = tuple(dataclasses.replace(CLAIMS[name], **parts) for name, parts in DOCTORED.items())


@pytest.fixture(scope="module")
def refuted() -> dict[str, Finding]:
    return findings(dataclasses.replace(HALO, claims=WRONG))


@pytest.mark.parametrize("doctored", WRONG, ids=list(DOCTORED))
def test_a_doctored_claim_is_refuted(refuted: dict[str, Finding], doctored: Claim) -> None:
    result = refuted[doctored.id]
    assert result.status == "refuted"
    assert truth(doctored, values_of(result.counterexample)) is False
    assert not result.goals


MUTED: dict[str, tuple[str, ...]] = {
    "cp-not-dividing-domain": ("cp-stays-in-one-domain",),
    "tp-not-dividing-domain": ("tp-stays-in-one-domain",),
    "ep-node-group-not-dividing-domain": ("a-node-group-divides-its-domain",),
    said.RACY: (
        "on-one-domain-pure-ep-is-two-or-the-domain",
        "on-one-domain-these-ep-sizes-are-accepted",
        "ep4-on-8-is-racy",
        "no-other-knob-makes-ep4-tp2-on-8-acceptable",
    ),
    "ep-tp-multi-domain-multi-group": ("above-one-domain-ep-with-tp-is-one-global-group",),
    "ep-etp-multi-domain-multi-group": ("above-one-domain-ep-etp-fills-each-domain-once",),
    "ep-cp-group-not-domain": ("ep-with-cp-fills-the-domain",),
    "ep-not-multiple-of-tp": ("an-ep-group-holds-whole-tp-groups",),
    said.UNSUPPORTED: ("accepted-axes-are-on-the-allowlist", "tp-cp-and-etp-never-meet"),
    "pp-release-gate": (
        "the-release-gate-refuses-every-pipeline",
        "the-release-gate-speaks-before-rank-math",
    ),
    "pp-stage-not-whole-domains": ("a-stage-is-whole-domains-of-two-ranks-or-more",),
    "hsdp-with-ep": ("hsdp-lives-on-pure-dp-or-cp",),
    "fsdp-full-shard-with-expert-group": ("zero3-exists-nowhere-beside-an-expert-group",),
    "trainer-tp-lora": ("adapters-never-meet-tp",),
    "determinism-cross-domain-ep": ("deterministic-runs-dispatch-inside-a-domain",),
    "tp-kv-heads-not-divisible": ("two-kv-heads-allow-a-tp-of-two",),
}
"""Rules, and claims that need them."""


@pytest.mark.parametrize("rule", MUTED)
def test_a_missing_rule_is_noticed(rule: str) -> None:
    rules = tuple(other for other in HALO.rules if other.id != rule)
    assert len(rules) == len(HALO.rules) - 1
    claims = tuple(CLAIMS[identity] for identity in MUTED[rule])
    lax = dataclasses.replace(HALO, rules=rules, claims=claims)
    for identity, result in findings(lax).items():
        assert result.status == "refuted", identity
        assert truth(CLAIMS[identity], values_of(result.counterexample), lax) is False


def test_a_true_sentence_may_not_be_called_untrue() -> None:
    called = dataclasses.replace(CLAIMS["dp-is-at-least-one"], truth="tp-stays-in-one-domain")
    result = finding(called)
    assert result.status == "refuted"
    assert result.counterexample is None
    assert len(result.goals) == 1


@pytest.mark.parametrize(
    "when",
    [
        all_of(ACCEPTED, f.tp_size > 1, f.cp_size > 1),
        all_of(ACCEPTED, exactly("ep"), said.ONE_DOMAIN, said.ON_EIGHT, f.ep_size == 4),
        Truth(value=False),
    ],
)
def test_what_is_said_of_nothing_is_refuted(when: Formula) -> None:
    result = finding(dataclasses.replace(CLAIMS["dp-is-at-least-one"], when=when))
    assert result.status == "refuted"
    assert "Vacuous" in result.note
    assert result.witness is None


# Undecided is an answer.


def test_without_time_nothing_is_proved() -> None:
    late = Deadline(0)
    for identity in ("ep-never-changes-dp", "auto-scope-equals-the-one-it-resolves-to"):
        claims = (CLAIMS[identity],)
        (obligation,) = obligations(dataclasses.replace(HALO, claims=claims))
        assert obligation.decide(late).status == "undecided"


def test_laws_that_are_not_proved_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "laws_hold", lambda: "undecided")
    assert finding(CLAIMS["dp-is-at-least-one"]).status == "undecided"


@pytest.mark.parametrize(
    ("identity", "status"),
    [
        ("dp-is-at-least-one", "proved"),
        ("expert-groups-tile-their-stage", "undecided"),
        ("on-72-gpus-in-one-domain-pure-ep-is-2-or-72", "undecided"),
        ("unsharded-experts-go-with-no-tp-and-no-cp", "proved"),
        ("two-ep-ranks-cure-a-race", "undecided"),
    ],
)
def test_a_solver_that_does_not_know_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, identity: str, status: str
) -> None:
    monkeypatch.setattr(proving, "asked", lambda *_: (z3.unknown, None))
    claim = dataclasses.replace(CLAIMS[identity], fails_at={})
    assert finding(claim).status == status
    assert finding(dataclasses.replace(claim, truth="another")).status != "proved"


def test_a_model_that_is_none_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """By laws alone Z3 offers products that are none; the plain evaluator is not fooled."""
    squares = f.ep_size * f.ep_size == f.tp_size + 2
    claim = dataclasses.replace(CLAIMS["dp-is-at-least-one"], when=squares, then=f.tp_size == 2)

    def goal(theory: proving.Theory, name: str, *assertions: z3.BoolRef) -> Goal:
        return theory.prover.goal(name, proving.LAWS, assertions)

    monkeypatch.setattr(proving.Theory, "goal", goal)
    monkeypatch.setattr(proving.Proofs, "examples", ())
    result = finding(claim)
    assert result.status in {"refuted", "undecided"}
    if result.status == "refuted":
        assert truth(claim, values_of(result.counterexample)) is False


def test_a_record_that_contradicts_nothing_is_noticed() -> None:
    claims = [dataclasses.replace(CLAIMS[name], fails_at={"world_size": 1}) for name in UNTRUE]
    found = findings(dataclasses.replace(HALO, claims=tuple(claims)))
    assert list(found) == UNTRUE
    assert {each.status for each in found.values()} == {"refuted"}
    assert {each.counterexample is None for each in found.values()} == {True}


# The words that claims are made of.


def test_a_changed_term_is_the_term_at_the_changed_configuration(
    small: tuple[Values, ...],
) -> None:
    changes = (
        said.WITHOUT_EP,
        said.WITHOUT_TP,
        said.WITH_NODE_SCOPE,
        said.WITH_HSDP,
        said.WITH_RESOLVED_SCOPE,
        said.WITH_ETP_TO_FILL,
    )
    terms: tuple[Term, ...] = (
        said.dp,
        q.num_ep_groups,
        q.ep_scope,
        q.fsdp_width,
        q.dp_shard_size,
        f.world_size,
    )
    for instead, term in product(changes, terms):
        there = instead.of(term)
        for values in random.Random(3).sample(small, 40):
            elsewhere = changed(instead, values)
            if elsewhere is not None:
                assert term_reader(there)(values) == term_reader(term)(elsewhere)


def test_a_change_leaves_other_terms_alone() -> None:
    assert said.WITHOUT_EP.of(said.dp) is said.dp
    there = said.WITHOUT_TP.of(said.dp)
    assert there is said.WITHOUT_TP.of(said.dp)
    assert there.name == "data_parallel_size_without_tp"  # type: ignore[union-attr]


def test_every_kind_of_formula_can_be_changed() -> None:
    instead = Instead("there", tp_size=2, use_hsdp=True)
    inner = any_of(~f.use_hsdp, divides(f.tp_size, 4), Truth(value=False), q.is_tp_mode)
    term: Term = if_(all_of(inner, f.mla), f.tp_size % 2, quotient(4, f.tp_size))
    values = HALO.config({"world_size": 8, "mla": True, "tp_size": 3}).values
    assert term_reader(term)(values) == 1
    assert term_reader(instead.of(term))(values) == 0


def test_a_list_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match="list"):
        Instead("there", pp_split=1).of(f.pp_split.length)


def test_a_claim_knows_its_verdicts() -> None:
    claim = CLAIMS["attention-tp-never-rescues-a-racy-shape"]
    assert {v.name for v in claim.verdicts} == {
        "violates_ep_single_domain_multi_group",
        "violates_ep_single_domain_multi_group_without_tp",
    }
    assert claim.changed == (said.WITHOUT_TP,)
    assert not CLAIMS["ep4-on-8-is-racy"].changed
    assert first("a-b").name == "first_a_b"


def test_a_default_is_a_formula() -> None:
    values = HALO.config({"world_size": 8}).values
    for field in HALO.fields:
        if field.name != HALO.world:
            assert reader(at_default(field))(values) is True
    assert reader(at_default(f.world_size))(values) is False


def test_a_rule_that_is_none_is_never_violated() -> None:
    claim = dataclasses.replace(
        CLAIMS["dp-is-at-least-one"], then=~any_of(violates("no-rule"), first("no-rule"))
    )
    assert finding(claim).status == "proved"


def test_a_change_that_does_not_exist_says_nothing() -> None:
    halves = Instead("halved", world_size=quotient(f.world_size, 2))
    claim = dataclasses.replace(
        CLAIMS["plain-data-parallelism-is-always-accepted"],
        id="halves",
        when=all_of(said.only(), f.gpus_per_node == 1, f.nvlink_domain_size == 1),
        then=halves.accepted,
    )
    result = finding(claim)
    assert result.status == "proved"
    assert result.witness is not None
    assert result.witness["world_size"] % 2 == 0


def test_the_shown_fields_are_those_off_their_default() -> None:
    values = HALO.config({"world_size": 8, "tp_size": 2, "ep_size": 1}).values
    assert proving.off_default(HALO, values) == {"world_size": 8, "tp_size": 2}


def test_no_two_claims_mean_different_things_by_one_name() -> None:
    named: dict[str, Instead] = {}
    for claim in HALO.claims:
        for instead in claim.changed:
            assert named.setdefault(instead.name, instead) is instead
