"""`parsolve rules`: the catalogue, and one rule explained."""

from __future__ import annotations

import shlex

import pytest

from parsolve.constraints.halo import HALO
from parsolve.constraints.rule import Rule
from tests.cli.run import cli, process

KEYS = (
    *("rule", "stage", "position", "when", "requires"),
    *("reason", "remedy", "source", "implied_by", "example"),
)


class TestList:
    def test_every_rule_in_order_under_its_stage(self) -> None:
        done = cli("rules")
        assert (done.code, done.err) == (0, "")
        lines = done.out.splitlines()
        heads = [line.split() for line in lines if line.startswith("  ") and line[4:5].isdigit()]
        assert heads == [[str(n), rule.id] for n, rule in enumerate(HALO.limits, 1)]
        stages = [line for line in lines if not line.startswith(" ")]
        assert list(dict.fromkeys(stages)) == list(HALO.stages)
        assert all(f" {rule.reason}" in done.out for rule in HALO.limits)

    def test_fits_a_terminal(self) -> None:
        done = process("rules", columns=80)
        assert all(len(line) <= 80 for line in done.out.splitlines())

    def test_json_has_every_part_of_every_rule(self) -> None:
        entries = cli("rules", "--format", "json").data
        assert [entry["rule"] for entry in entries] == [rule.id for rule in HALO.limits]
        assert [entry["position"] for entry in entries] == list(range(1, len(entries) + 1))
        for entry in entries:
            assert tuple(entry) == KEYS
            assert all(entry[key] for key in KEYS if key not in {"when", "implied_by"})
            assert set(entry["example"]) == {"rejects", "because", "instead"}
            assert all(entry["example"].values())

    @pytest.mark.parametrize("stage", HALO.stages)
    def test_of_one_stage(self, stage: str) -> None:
        entries = cli("rules", "--stage", stage, "--format", "json").data
        expected = [rule.id for rule in HALO.limits if rule.stage == stage]
        assert [entry["rule"] for entry in entries] == expected
        text = cli("rules", "--stage", stage).out
        assert text.startswith(f"{stage}\n")
        assert all(rule in text for rule in expected)


class TestOne:
    @pytest.mark.parametrize("rule", HALO.rules, ids=lambda rule: rule.id)
    def test_is_explained_by_an_example_that_can_be_typed(self, rule: Rule) -> None:
        done = cli("rules", rule.id)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"{rule.id}  [halo] rule ")
        for label in ("stage", "requires", "why", "remedy", "source", "rejects", "instead"):
            assert f"\n  {label:<10} " in done.out
        assert rule.reason in done.out
        assert done.out.endswith(" checked just now: accepted\n")
        for label, code in (("rejects", 1), ("instead", 0)):
            shown = done.out.split(f"\n  {label:<10} ")[1].split("\n")[0]
            if "(" not in shown:  # else it takes a file to say it
                again = cli("check", *shlex.split(shown), "--repairs", "0")
                assert again.code == code, again.words
                assert (f"[halo] {rule.id}\n" in again.out) is (code == 1)

    def test_json_is_one_entry(self) -> None:
        entry = cli("rules", "ep-single-domain-multi-group", "--format", "json").data
        assert tuple(entry) == KEYS
        assert entry["example"]["because"].startswith("num_nvlink_domains = 1")


class TestMisuse:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ("ep-single-domain-multi-groups",),
                "no rule 'ep-single-domain-multi-groups': did you mean \"ep-single-",
            ),
            (("ep_single_domain_multi_group",), 'did you mean "ep-single-domain-multi-group"?'),
            (("banana",), "halo has no rule 'banana'"),
            (("",), "halo has no rule ''"),
            (("--stage", "compostion"), "no stage 'compostion': did you mean \"composition\"?"),
            (("--stage", "zzz"), "no stage 'zzz'; it takes trainer-construction, release-gate"),
            (("--profile", "hallo"), "no profile 'hallo'; there are: halo"),
            (("--format", "csv"), "'csv' is not one of 'text', 'json'"),
            (("a", "b"), "unexpected extra argument"),
        ],
    )
    def test_says_what_there_is(self, arguments: tuple[str, ...], message: str) -> None:
        done = cli("rules", *arguments)
        assert (done.code, done.out) == (2, "")
        assert message in done.words
