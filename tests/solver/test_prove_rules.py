"""Every rule can be violated, alone or with what implies it; sets of axes are as they are said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import pytest
import z3

from parsolve.constraints.evaluate import Values
from parsolve.constraints.formula import Formula, divides, implies
from parsolve.constraints.halo import fields as f
from parsolve.constraints.profile import Profile
from parsolve.constraints.rule import Rule
from parsolve.solver.deadline import Deadline
from parsolve.solver.prove import allowlist, rules
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.prove.instances import find, is_question, smaller
from parsolve.solver.prove.obligation import Finding
from tests.solver.questions import HALO

IDS = [rule.id for rule in HALO.rules]


@cache
def found() -> dict[str, Finding]:
    """Every rule's finding."""
    return {
        obligation.name.partition("/")[2]: obligation.decide(Deadline(None))
        for obligation in rules.obligations(HALO)
    }


def at(finding: Finding) -> Values:
    assert finding.witness is not None
    return HALO.config(finding.witness).values


def test_every_rule_is_decided() -> None:
    assert list(found()) == IDS
    assert {finding.status for finding in found().values()} == {"proved"}


def test_about_ten_rules_never_decide_a_verdict() -> None:
    implied = {name for name, finding in found().items() if "implied" in finding.note}
    assert implied == set(HALO.implied)
    assert len(implied) == 13


@pytest.mark.parametrize("index", range(len(IDS)), ids=IDS)
def test_a_witness_violates_its_rule_and_others_only_where_they_imply_it(index: int) -> None:
    finding = found()[IDS[index]]
    violated = HALO.violated(at(finding))
    assert index in violated
    if IDS[index] in HALO.implied:
        assert {IDS[i] for i in violated} & set(HALO.implied[IDS[index]])
    else:
        assert violated == [index]
        assert finding.note == "violated alone"


def test_a_smallest_witness_cannot_lose_a_gpu_or_a_field() -> None:
    """One field back at its default, or one GPU fewer, and it is no witness any more."""
    for index, name in enumerate(IDS):
        if name in HALO.implied:
            continue
        values = at(found()[name])
        for place, field in enumerate(HALO.fields):
            less = field.default if field.name != HALO.world else values[place] - 1
            fewer = (*values[:place], less, *values[place + 1 :])
            if fewer != values and is_question(HALO, fewer):
                assert HALO.violated(fewer) != [index], (name, field.name)


def with_rules(*changed: Rule, **implied: tuple[str, ...]) -> Profile:
    return dataclasses.replace(
        HALO, rules=(*HALO.rules, *changed), implied={**HALO.implied, **implied}
    )


def extra(requires: Formula, **example: object) -> Rule:
    return dataclasses.replace(
        HALO.rules[IDS.index("tp-not-dividing-domain")],
        id="extra",
        requires=requires,
        example=dataclasses.replace(
            HALO.rules[0].example, rejects={"world_size": 8, **example}, instead={"world_size": 8}
        ),
    )


def decided(profile: Profile, name: str) -> Finding:
    every = {obligation.name: obligation for obligation in rules.obligations(profile)}
    return every[name].decide(Deadline(60))


def test_a_new_rule_that_others_imply_is_refuted_with_their_names() -> None:
    rule = extra(divides(f.tp_size, f.world_size), tp_size=3)
    finding = decided(with_rules(rule), "rules/extra")
    assert finding.status == "refuted"
    assert finding.note.startswith("never violated alone: implied by")


def test_a_rule_that_nothing_violates_is_refuted() -> None:
    rule = extra(f.world_size >= 1)
    finding = decided(with_rules(rule), "rules/extra")
    assert (finding.status, finding.note) == ("refuted", "never violated")


def test_a_wrong_record_is_refuted() -> None:
    """A rule that is violated alone, or implied by other rules than recorded."""
    lonely = with_rules(**{"hsdp-with-ep": ("cp-not-dividing-domain",)})
    finding = decided(lonely, "rules/hsdp-with-ep")
    assert finding.status == "refuted"
    assert finding.counterexample is not None
    assert HALO.violated(HALO.config(finding.counterexample).values) == [IDS.index("hsdp-with-ep")]
    for recorded in (("hsdp-with-ep",), ("cp-not-dividing-domain", "hsdp-with-ep")):
        wrong = with_rules(**{"cp-exceeds-domain": recorded})
        assert decided(wrong, "rules/cp-exceeds-domain").status == "refuted"


# Sets of axes.


@pytest.mark.parametrize("obligation", list(allowlist.obligations(HALO)), ids=lambda o: o.name)
def test_a_set_of_axes_is_inhabited_or_refused(obligation: object) -> None:
    finding = obligation.decide(Deadline(None))  # type: ignore[attr-defined]
    assert finding.status == "proved"
    if finding.witness is not None:
        values = HALO.config(finding.witness).values
        assert HALO.accepts(values)
        names = obligation.name.partition("/")[2]  # type: ignore[attr-defined]
        active = {HALO.field_of[a].flag for a in HALO.axes if values[HALO.index_of[a]] > 1}
        assert active == set(names.split("+")) - {"none"}


def statuses(profile: Profile) -> dict[str, Finding]:
    return {o.name: o.decide(Deadline(30)) for o in allowlist.obligations(profile)}


def test_all_32_sets_are_obligations_and_11_are_supported() -> None:
    every = list(allowlist.obligations(HALO))
    assert len(every) == 32
    assert sum("accepted" in obligation.says for obligation in every) == len(HALO.modes) == 11


def test_a_mode_that_no_configuration_has_is_refuted() -> None:
    doctored = dataclasses.replace(HALO, modes=(*HALO.modes, frozenset({"tp_size", "cp_size"})))
    finding = statuses(doctored)["allowlist/tp+cp"]
    assert finding.status == "refuted"


def test_an_axis_rule_that_lets_a_set_pass_is_refuted_with_a_configuration() -> None:
    place = IDS.index("axis-set-unsupported")
    weak = dataclasses.replace(
        HALO.rules[place],
        requires=implies(f.tp_size > 1, f.cp_size <= 1)
        & (f.ep_size + f.expert_tp_size + f.pp_size >= -9),
    )
    doctored = dataclasses.replace(
        HALO, rules=(*HALO.rules[:place], weak, *HALO.rules[place + 1 :])
    )
    found_ = statuses(doctored)
    assert found_["allowlist/tp+cp"].status == "refuted"  # it computes before it speaks
    assert found_["allowlist/etp+tp"].status == "refuted"
    assert found_["allowlist/etp+tp"].counterexample is not None


# Concrete configurations from models.


def holds(predicate: Callable[[Values], bool], *assertions: z3.BoolRef) -> Values | None:
    catalogue = Catalogue(HALO)
    solver = z3.SolverFor("QF_UFLIA")
    solver.add(*catalogue.inputs.axioms, *catalogue.meaning, *catalogue.encoder.arithmetic.laws())
    solver.add(catalogue.accepted)
    return find(catalogue, solver, assertions, predicate, Deadline(60)).values


def test_what_is_found_is_certified_whatever_z3_believes() -> None:
    size = z3.Int("ep_size")

    def wanted(values: Values) -> bool:
        return HALO.accepts(values) and values[HALO.index_of["ep_size"]] == 12

    values = holds(wanted, size == 12)
    assert values is not None
    assert wanted(values)


def test_nothing_is_found_where_plain_python_never_agrees() -> None:
    assert holds(lambda _: False, z3.Int("tp_size") == 2) is None


def test_smaller_keeps_the_property_and_ends() -> None:
    config = HALO.config(
        {"world_size": 64, "gpus_per_node": 8, "ep_size": 8, "tp_size": 4, "use_peft": True}
    )

    def wanted(values: Values) -> bool:
        return bool(values[HALO.index_of["tp_size"]] > 1) and HALO.violated(values) == [
            IDS.index("trainer-tp-lora")
        ]

    small = smaller(HALO, config.replaced({"ep_size": 1}).values, wanted)
    assert wanted(small)
    assert small[HALO.index_of["world_size"]] == 2
    assert small[HALO.index_of["tp_size"]] == 2
