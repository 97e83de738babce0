"""Laws of rank groups: proved for all sizes, and refuted where the terms are wrong."""

from __future__ import annotations

import dataclasses
import math
import random

import pytest
import z3

from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.constraints.formula import (
    If,
    Named,
    Term,
    all_of,
    if_,
    known_where,
    largest,
    quotient,
)
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import layout as halo
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.layout import GROUP, POSITION, RANK, Grouping, Layout
from parsolve.constraints.profile import Profile, holds
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove import sizes, sums
from parsolve.solver.prove.digits import Digits, Unproved
from parsolve.solver.prove.layouts import Proofs, obligations
from parsolve.solver.prove.obligation import UNBOUNDED, Finding, Obligation
from parsolve.solver.prove.sizes import cases, met
from parsolve.solver.prove.small import completed, small
from parsolve.solver.prove.sums import LEMMAS, ONE, ZERO, Sum, lemmas_hold

HALO = PROFILES["halo"]
BATCHES = halo.BATCHES


def only(grouping: Grouping, *, batches: bool = False) -> Profile:
    """The profile with one kind of group."""
    layout = Layout((), grouping) if batches else Layout((grouping,))
    return dataclasses.replace(HALO, layout=layout)


def decided(profile: Profile) -> dict[str, Finding]:
    return {o.name.rpartition("/")[2]: o.decide(Deadline(60)) for o in obligations(profile)}


def finding_of(grouping: Grouping, law: str) -> Finding:
    (found,) = (
        obligation
        for obligation in obligations(only(grouping, batches=law == "cover"))
        if obligation.name.endswith(f"/{law}")
    )
    return found.decide(Deadline(60))


OBLIGATIONS = tuple(obligations(HALO))


@pytest.mark.parametrize("obligation", OBLIGATIONS, ids=lambda o: o.name)
def test_every_law_holds_for_all_sizes(obligation: Obligation) -> None:
    finding = obligation.decide(Deadline(60))
    assert (finding.status, finding.scope) == ("proved", UNBOUNDED), finding.note
    assert len(finding.goals) > 5
    assert all(goal.expected == "unsat" and goal.assertions for goal in finding.goals)


def test_every_kind_of_group_is_asked_about() -> None:
    names = [obligation.name for obligation in OBLIGATIONS]
    assert len(set(names)) == len(names) == 24
    assert all(obligation.family == "layouts" for obligation in OBLIGATIONS)
    for grouping in HALO.layout.groupings:
        assert f"layouts/{grouping.name}/partition" in names
        inside = f"layouts/{grouping.name}/inside" in names
        assert inside == (grouping.inside is not None) == (grouping.name != "pp")
    assert "layouts/same-batch/cover" in names
    assert not list(obligations(dataclasses.replace(HALO, layout=Layout())))


def test_the_groups_that_must_stay_in_a_domain_are_said_to() -> None:
    assert halo.TENSOR.inside is halo.CONTEXT.inside is halo.EXPERT_TENSOR.inside is halo.DOMAIN
    conditional = (halo.EXPERT.inside, halo.DISPATCH.inside, halo.REPLICAS.inside)
    for inside, node in zip(conditional, (True, True, False), strict=True):
        assert isinstance(inside, If)
        assert inside.condition is halo.NODE
        assert (inside.then if node else inside.other) is halo.DOMAIN


def test_each_goal_is_unsatisfiable_for_a_fresh_solver() -> None:
    finding = finding_of(halo.CONTEXT, "partition")
    for goal in finding.goals:
        solver = z3.SolverFor("QF_UFNIA")
        solver.add(*goal.assertions)
        assert solver.check() == z3.unsat, goal.name


# Teeth: every doctored layout is refuted, by a rank of an accepted configuration.

STRIDE = quotient(q.stage_world_size, f.tp_size)
SLOT = RANK % q.nvlink_domain_size
LOCAL = RANK % q.stage_world_size


def changed(grouping: Grouping, **terms: Term) -> Grouping:
    return dataclasses.replace(grouping, **terms)  # type: ignore[arg-type]


DOCTORED: dict[str, tuple[Grouping, str]] = {
    "tp with the number of groups as stride": (
        changed(halo.TENSOR, member=GROUP * STRIDE + POSITION),
        "partition",
    ),
    "tp with quotient and remainder swapped": (
        changed(halo.TENSOR, index=LOCAL % f.tp_size, position=LOCAL // f.tp_size),
        "partition",
    ),
    "tp numbered from one": (changed(halo.TENSOR, index=halo.TENSOR.index + 1), "partition"),
    "tp with positions from one": (
        changed(halo.TENSOR, position=halo.TENSOR.position + 1),
        "partition",
    ),
    "tp groups of one rank less": (changed(halo.TENSOR, size=f.tp_size - 1), "partition"),
    "tp columns as wide as tp": (
        changed(halo.DATA, size=f.tp_size, count=STRIDE),
        "partition",
    ),
    "cp without the domain": (changed(halo.CONTEXT, index=SLOT // f.cp_size), "partition"),
    "cp counted in one domain": (
        changed(halo.CONTEXT, count=quotient(q.nvlink_domain_size, f.cp_size)),
        "partition",
    ),
    "ep groups without expert tp": (changed(halo.EXPERT, size=f.ep_size), "partition"),
    "ep without the stage": (
        changed(
            halo.EXPERT,
            index=halo.EXPERT.index - RANK // q.stage_world_size * q.num_ep_groups,
        ),
        "partition",
    ),
    "ep columns without the domain": (
        changed(halo.EXPERT, position=SLOT % q.ep_group_size),
        "partition",
    ),
    "replicas numbered as ep groups": (
        changed(halo.REPLICAS, index=halo.EXPERT.index, position=halo.EXPERT.position),
        "partition",
    ),
    "dispatch at the place of expert tp": (
        changed(halo.DISPATCH, position=halo.EXPERT_TENSOR.position),
        "partition",
    ),
    "dispatch and expert tp swapped": (
        changed(halo.EXPERT_TENSOR, index=halo.DISPATCH.index, position=halo.DISPATCH.position),
        "partition",
    ),
    "chains with stages as wide as a domain": (
        changed(halo.CHAINS, member=POSITION * q.nvlink_domain_size + GROUP),
        "partition",
    ),
    "hsdp with as many shards as domains": (
        changed(halo.REPLICATE, member=POSITION * q.num_nvlink_domains + GROUP),
        "partition",
    ),
    "dp of the ranks that share nothing": (changed(BATCHES, index=LOCAL), "partition"),
    "dp without context parallelism": (
        changed(BATCHES, index=LOCAL // f.tp_size, position=LOCAL % f.tp_size),
        "partition",
    ),
    "dp with ep instead of its groups": (
        changed(
            BATCHES,
            index=if_(
                halo.SPLIT,
                halo.DISPATCH.position * f.ep_size + halo.EXPERT.index,
                LOCAL // largest(f.tp_size, f.cp_size),
            ),
        ),
        "partition",
    ),
    "dp copies without the stage": (changed(BATCHES, position=LOCAL % f.tp_size), "partition"),
    "a size that is no whole number": (
        changed(halo.TENSOR, size=quotient(f.tp_size, 2) * 2),
        "partition",
    ),
    "ep always in a domain": (changed(halo.EXPERT, inside=halo.DOMAIN), "inside"),
    "dispatch always in a domain": (changed(halo.DISPATCH, inside=halo.DOMAIN), "inside"),
    "replicas always in a domain": (changed(halo.REPLICAS, inside=halo.DOMAIN), "inside"),
    "tp columns in a domain": (changed(halo.DATA, inside=halo.DOMAIN), "inside"),
    "chains in a stage": (changed(halo.CHAINS, inside=halo.STAGE), "inside"),
    "expert tp in a node": (changed(halo.EXPERT_TENSOR, inside=q.gpus_per_node), "inside"),
}


ASKED = {
    obligation.name: obligation
    for obligation in obligations(
        dataclasses.replace(
            HALO,
            layout=Layout(
                tuple(dataclasses.replace(g, name=name) for name, (g, _) in DOCTORED.items())
            ),
        )
    )
}
"""All of them beside each other, as if they were kinds of group of one profile."""


@pytest.mark.parametrize("name", DOCTORED)
def test_a_doctored_layout_is_refuted(name: str) -> None:
    grouping, law = DOCTORED[name]
    finding = ASKED[f"layouts/{name}/{law}"].decide(Deadline(60))
    assert finding.status == "refuted"
    given = dict(finding.counterexample or {})
    rank = given.pop("rank")
    config = HALO.config(given)
    assert config.accepted()
    assert holds(HALO, grouping.where, config.values)
    assert 0 <= rank < config["world_size"]
    assert finding.note.startswith((f"Rank {rank} ", "Some term has no value"))
    if finding.note.startswith("Rank"):
        assert obeys(grouping, config.values, rank, law) is False


def obeys(grouping: Grouping, values: Values, rank: int, law: str) -> bool:
    """Whether the rank's place leads back to it, or its whole group lies in its block."""
    places = grouping.places(HALO.fields, f.world_size)(values)
    groups = grouping.groups(HALO.fields)(values)
    index, position = places[rank]
    if law == "inside":
        assert grouping.inside is not None
        in_blocks = changed(grouping, index=RANK // grouping.inside)
        blocks = in_blocks.places(HALO.fields, f.world_size)(values)
        return len({blocks[mate][0] for mate, place in enumerate(places) if place[0] == index}) == 1
    if not (0 <= index < len(groups) and 0 <= position < len(groups[index])):
        return False
    whole = len(groups) * len(groups[0]) == len(places)
    return whole and groups[index][position] == rank


def test_doctored_batches_cover_unequally() -> None:
    finding = finding_of(changed(BATCHES, index=LOCAL), "cover")
    assert finding.status == "refuted"


def test_other_numberings_of_the_same_groups_are_proved() -> None:
    """A law is no comparison with halo: any terms that partition the ranks pass."""
    domain, block = q.nvlink_domain_size, f.ep_size
    strided = Grouping(
        name="strided",
        about="Ranks of an EP group at one place of their TP groups.",
        index=RANK // block * f.tp_size + RANK % f.tp_size,
        position=RANK % block // f.tp_size,
        member=GROUP // f.tp_size * block + POSITION * f.tp_size + GROUP % f.tp_size,
        size=quotient(block, f.tp_size),
        count=quotient(f.world_size, block) * f.tp_size,
        where=all_of(q.is_ep_tp_mode, q.ep_scope == "node"),
        inside=domain,
    )
    backwards = Grouping(
        name="backwards",
        about="CP groups, the last ranks first.",
        index=(f.world_size - 1 - RANK) // f.cp_size,
        position=(f.world_size - 1 - RANK) % f.cp_size,
        member=f.world_size - 1 - (GROUP * f.cp_size + POSITION),
        size=f.cp_size,
        count=quotient(f.world_size, f.cp_size),
        where=q.is_cp_mode,
    )
    for grouping in (strided, backwards):
        for law, finding in decided(only(grouping)).items():
            assert (finding.status, finding.note) == ("proved", ""), (grouping.name, law)


FEW = f.world_size < 1000
"""Something that is so on every small cluster."""

OPEN: dict[str, tuple[Grouping, str]] = {
    "a divisor that is no product of sizes": (
        changed(halo.TENSOR, index=LOCAL * 2 // (f.tp_size * 2)),
        "that 2*tp_size is a product of sizes",
    ),
    "a field that may be 0": (
        changed(halo.TENSOR, size=f.tp_size + f.gpus_per_node - f.gpus_per_node),
        "that gpus_per_node is at least 1",
    ),
    "groups that grow on large clusters": (
        changed(halo.TENSOR, size=if_(FEW, f.tp_size, f.tp_size + 1)),
        "that count * size is the world",
    ),
    "a term without a value on large clusters": (
        changed(halo.TENSOR, size=known_where(FEW, f.tp_size)),
        "2 divides 1",
    ),
    "a quantity without a value on large clusters": (
        changed(halo.TENSOR, size=Named("size", known_where(FEW, f.tp_size))),
        "(tp_size, where world_size < 1000) == (tp_size, where world_size < 1000)",
    ),
    "a condition without a value on large clusters": (
        changed(halo.TENSOR, size=if_(known_where(FEW, f.tp_size) > 0, f.tp_size, 1)),
        "there is no other case",
    ),
}
"""What small clusters do not refute and Z3 does not prove."""


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_shown_is_undecided(name: str) -> None:
    grouping, step = OPEN[name]
    finding = finding_of(grouping, "partition")
    assert finding.status == "undecided"
    assert finding.note.startswith("Z3 does not show ")
    assert step in finding.note
    assert not finding.goals


def test_what_z3_does_not_know_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "decide", lambda *_: z3.unknown)
    assert finding_of(halo.TENSOR, "partition").status == "undecided"


def test_groups_that_never_are_prove_nothing() -> None:
    never = dataclasses.replace(halo.TENSOR, where=all_of(q.is_tp_mode, q.is_cp_mode))
    findings = decided(only(never))
    assert {finding.status for finding in findings.values()} == {"undecided"}
    assert {finding.note for finding in findings.values()} == {"No small cluster has such groups."}


def test_without_time_nothing_is_decided() -> None:
    (partition, _) = obligations(only(halo.TENSOR))
    finding = partition.decide(Deadline(0))
    assert (finding.status, finding.note) == ("undecided", "The time limit was reached.")


def test_a_law_needs_the_rules() -> None:
    """Without the rule that tiles a domain with TP groups, some group leaves its domain."""
    rules = tuple(rule for rule in HALO.rules if rule.id != "tp-not-dividing-domain")
    profile = dataclasses.replace(only(halo.TENSOR), rules=rules)
    findings = decided(profile)
    assert findings["partition"].status == "proved"
    assert findings["inside"].status == "refuted"


def test_the_world_must_be_a_size() -> None:
    with pytest.raises(TypeError, match="is no size"):
        next(obligations(dataclasses.replace(HALO, world="ep_scope")))


# What the proofs are made of.


def test_cases_are_by_the_conditions_in_the_terms() -> None:
    assert len(cases(q.is_tp_mode, (halo.TENSOR.index,))) == 1
    assert len(cases(q.is_ep_mode, (halo.EXPERT.index, halo.EXPERT.member))) == 2
    assert len(cases(f.ep_size > 1, (halo.DISPATCH.index,))) == 4
    (first, second) = cases(q.is_ep_mode, (halo.EXPERT.position,))
    assert first.holds[1] is halo.NODE
    assert second.holds[1] is not halo.NODE
    columns = [id(node) for node in met((halo.EXPERT.position,), second.taken)]
    assert id(q.num_nvlink_domains) in columns
    blocks = [id(node) for node in met((halo.EXPERT.position,), first.taken)]
    assert id(q.num_nvlink_domains) not in blocks


def test_small_clusters_are_accepted_and_told_apart() -> None:
    nodes = (halo.TENSOR.index, halo.TENSOR.where, halo.DOMAIN)
    found = list(small(HALO, nodes))
    assert all(map(HALO.accepts, found))
    told = {(v[HALO.index_of["world_size"]], v[HALO.index_of["tp_size"]]) for v in found}
    assert {(8, 1), (8, 8), (12, 3), (16, 8)} <= told
    assert len(found) < 500


def test_a_pipeline_is_completed_by_lifting_its_gate() -> None:
    given = {"world_size": 16, "gpus_per_node": 8, "pp_size": 2}
    values = HALO.config(given).values
    assert not HALO.accepts(values)
    whole = completed(HALO, values, frozenset(given))
    assert whole is not None
    assert HALO.accepts(whole)
    assert completed(HALO, HALO.config({"world_size": 8, "tp_size": 3}).values, frozenset()) is None


def test_lemmas_hold_for_all_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    status, goals = lemmas_hold()
    assert status == "proved"
    assert len(goals) == len(LEMMAS)

    def wrong(a: Sum, b: Sum) -> z3.BoolRef:
        return (a * b).z3 >= a.z3

    lemmas_hold.cache_clear()
    monkeypatch.setattr(sums, "LEMMAS", (*LEMMAS, (wrong, 2)))
    assert lemmas_hold()[0] == "refuted"
    assert finding_of(halo.STAGES, "partition").status == "undecided"
    lemmas_hold.cache_clear()


def random_sum(rng: random.Random, names: str) -> Sum:
    parts = [tuple(sorted(rng.choices(names, k=rng.randrange(3)))) for _ in range(rng.randrange(4))]
    return Sum({part: rng.randrange(-3, 4) for part in parts})


def value(of: Sum, at: dict[str, int]) -> int:
    total = 0
    for product, times in of.parts.items():
        total += times * math.prod(at[name] for name in product)
    return total


def test_sums_calculate_as_integers_do() -> None:
    rng = random.Random(1)
    for _ in range(300):
        at = {name: rng.randrange(-5, 6) for name in "abc"}
        x, y = random_sum(rng, "abc"), random_sum(rng, "abc")
        a, b = value(x, at), value(y, at)
        assert (value(x + y, at), value(x - y, at), value(x * y, at)) == (a + b, a - b, a * b)
        assert value(x.replaced({"a": y}), at) == value(x, {**at, "a": b})
        fixed = [z3.Int(name) == number for name, number in at.items()]
        solver = z3.Solver()
        solver.add(*fixed, x.z3 != a)
        assert solver.check() == z3.unsat
        shared = (x * Sum.of("a")).divided(("a",))
        assert shared == x
    assert str(Sum.of("a") * Sum.of(2) + ONE) == "2*a + 1"
    assert str(ZERO) == "0"


@pytest.mark.parametrize("seed", range(30))
def test_digits_divide_as_integers_do(seed: int) -> None:
    """Every quotient and remainder, read at numbers that fit, is Python's."""
    rng = random.Random(seed)
    at = {name: rng.randrange(1, 5) for name in "pkdn"}
    at["world"] = math.prod(at.values())
    at["rank"] = rng.randrange(at["world"])
    digits = Digits("test", Deadline(30))
    p, k, d, n = map(digits.size, "pkdn")
    digits.equal(digits.size("world"), p * k * d * n)
    whole = digits.digit("rank", digits.size("world"))
    for _ in range(6):
        divisor = rng.choice((p, k, d, n, d * n, k * d * n, p * k))
        quotient_, remainder = digits.divide(whole, divisor)
        learn(digits, at)
        expected = divmod(value(whole, at), value(divisor, at))
        assert (value(quotient_, at), value(remainder, at)) == expected
        whole = rng.choice((quotient_, remainder, whole, quotient_ * divisor + remainder))


def learn(digits: Digits, at: dict[str, int]) -> None:
    """Give new digits the numbers that their divisions have at the known ones."""
    for (whole, divisor), (quotient_, remainder) in digits._divided.items():
        numbers = divmod(value(whole, at), value(divisor, at))
        for part, number in zip((quotient_, remainder), numbers, strict=True):
            if part.unknown is not None:
                at.setdefault(part.unknown, number)


def test_exact_quotients_are_known_once_they_follow() -> None:
    digits = Digits("test", Deadline(30))
    s, d, t = map(digits.size, "sdt")
    blocks, groups = digits.exact(s, d), digits.exact(s, t)
    assert digits.normal(s) in (blocks * d, groups * t)
    per = digits.exact(d, t)
    assert digits.normal(groups) == digits.normal(blocks * per)
    assert digits.exact(digits.normal(s), t) == digits.normal(groups)
    digits.show_equal("tiles", groups * t, s)
    with pytest.raises(Unproved, match="tiles"):
        digits.show_equal("tiles", groups, s)
    with pytest.raises(Unproved, match="fits"):
        digits.show_between("fits", s, d)
    with pytest.raises(Unproved, match="is a product of sizes"):
        digits.divide(s, d + ONE)


def test_a_sum_that_is_no_digit_has_a_quotient_below_what_an_equation_says() -> None:
    digits = Digits("test", Deadline(30))
    a, b, n, m = map(digits.size, "abnm")
    digits.equal(n * m, a * b)
    whole = digits.digit("x", a) * b + digits.digit("y", b)
    quotient_, remainder = digits.divide(whole, n)
    digits.show_between("quotient", quotient_, m)
    digits.show_between("remainder", remainder, n)
    digits.show_equal("whole", quotient_ * n + remainder, whole)
    digits.equal(a + b, n)
    digits.show_equal("sum", n - a, b)
    with pytest.raises(Unproved, match="of two digits"):
        digits.show_equal("of two digits", quotient_ * whole, ZERO)


def test_facts_hold_where_their_case_does() -> None:
    """What a proof takes from acceptance is true on larger clusters too."""
    proofs = Proofs(only(halo.EXPERT_TENSOR))
    settled = proofs._settle(halo.EXPERT_TENSOR, Deadline(60))
    given = {"world_size": 144, "gpus_per_node": 8, "nvlink_domain_size": 72}
    configs = [
        HALO.config({**given, "expert_tp_size": 72, "ep_size": 2}),
        HALO.config({**given, "expert_tp_size": 4}),
    ]
    assert all(config.accepted() for config in configs)
    for facts, scope in zip(settled.facts, ("node", "global"), strict=True):
        for config in configs:
            if HALO.derive(config.values)["ep_scope"] == scope:
                assert all(holds(HALO, fact, config.values) for fact in facts.stated)
