"""`parsolve check` of one configuration that flags describe."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

import parsolve
from parsolve.constraints.fields import Bytes, Choice, Field, Flag, Sizes
from parsolve.constraints.halo import HALO
from parsolve.constraints.rule import Rule
from tests.cli.run import cli, process, run_process

SEED = ("check", "--world", "8", "--gpus-per-node", "8", "--ep", "4")
EIGHT = ("check", "--world", "8", "--gpus-per-node", "8")
PARTS = ("rule", "stage", "reason", "because", "remedy", "source")
LABELS = ("stage", "why", "because", "remedy", "source")

Data = dict[str, Any]


def typed(given: Data) -> list[str]:
    """Command line options that give the fields these values."""
    words = []
    for name, value in given.items():
        flag = HALO.field_of[name].flag
        if name == "model_kind":
            words.append("--moe" if value == "moe" else "--dense")
        elif isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, (list, tuple)):
            words += [f"--{flag}", ",".join(map(str, value))]
        elif value is None:
            words += [f"--{flag}", "unset"]
        else:
            words += [f"--{flag}", str(value)]
    return words


def expressible(given: Data) -> bool:
    """Whether flags can say it: ``model_config`` comes from a file only."""
    return all(HALO.field_of[name].flag or name == "model_kind" for name in given)


class TestSeedExample:
    def test_text(self) -> None:
        done = process(*SEED, columns=80)
        assert (done.code, done.err) == (1, "")
        lines = done.out.splitlines()
        assert lines[0] == "rejected  [halo] ep-single-domain-multi-group"
        assert all(len(line) <= 80 for line in lines)
        assert lines[-3:] == [
            "  nearest    --ep 2    (one change away, accepted; no axis switched off)",
            "             --ep 8",
            "             --ep 4 --etp 2",
        ]
        assert "ep_size = 4 > 2, nvlink_domain_size = 8 > ep_group_size = 4" in done.words

    def test_json(self) -> None:
        done = cli(*SEED, "--format", "json")
        assert (done.code, done.err) == (1, "")
        answer = done.data
        assert (answer["answer"], answer["profile"]) == ("rejected", "halo")
        assert [v["rule"] for v in answer["violations"]] == ["ep-single-domain-multi-group"]
        changes = [repair["change"] for repair in answer["repairs"]]
        assert changes == [{"ep_size": 2}, {"ep_size": 8}, {"expert_tp_size": 2}]
        assert {"tp_size": 2} not in changes

    def test_every_repair_is_accepted_and_tp_2_is_not(self) -> None:
        for repair in cli(*SEED, "--format", "json").data["repairs"]:
            assert cli("check", *typed(repair["config"])).code == 0
        assert cli(*SEED, "--tp", "2").code == 1

    def test_flags_and_python_agree(self) -> None:
        answer = parsolve.check(world_size=8, gpus_per_node=8, ep_size=4)
        assert answer.answer == "rejected"
        assert answer.repairs is not None
        repairs = cli(*SEED, "--format", "json").data["repairs"]
        assert [repair.change for repair in answer.repairs] == [r["change"] for r in repairs]


class TestViolations:
    MANY = ("check", "--world", "8", "--ep", "4", "--tp", "3", "--pp", "2", "--cp", "0")

    def test_every_violated_rule_is_reported_the_first_one_first(self) -> None:
        done = cli(*self.MANY, "--format", "json")
        assert done.code == 1
        rules = [violation["rule"] for violation in done.data["violations"]]
        order = [rule.id for rule in HALO.rules]
        assert rules == sorted(rules, key=order.index)
        assert rules[0] == "pp-release-gate"
        assert {"size-cp-min", "tp-not-dividing-stage", "tp-not-dividing-domain"} <= set(rules)

    def test_text_shows_every_part_of_every_one(self) -> None:
        violations = cli(*self.MANY, "--format", "json").data["violations"]
        text = cli(*self.MANY).out
        heads = [f"[halo] {violation['rule']}\n" for violation in violations]
        assert text.startswith(f"rejected  {heads[0]}")
        assert text.count("also violated  [halo] ") == len(heads) - 1
        blocks = text.split("[halo] ")[1:]
        for block, violation in zip(blocks, violations, strict=True):
            values = ("stage", "reason", "because", "remedy", "source")
            for label, value in zip(LABELS, values, strict=True):
                assert f"  {label:<10} {violation[value]}\n" in block

    @pytest.mark.parametrize("rule", HALO.rules, ids=lambda rule: rule.id)
    def test_the_example_of_each_rule_is_rejected_and_its_way_out_accepted(
        self, rule: Rule
    ) -> None:
        rejects, instead = dict(rule.example.rejects), dict(rule.example.instead)
        if expressible(rejects):
            bad = cli("check", *typed(rejects), "--repairs", "0", "--format", "json")
        else:
            line = json.dumps(rejects)
            bad = cli("check", "--jsonl", "-", stdin=line)
        assert bad.code == 1, bad.words
        violation = next(v for v in bad.data["violations"] if v["rule"] == rule.id)
        assert tuple(violation) == PARTS
        assert all(isinstance(violation[part], str) and violation[part] for part in PARTS)
        assert (violation["stage"], violation["source"]) == (rule.stage, str(rule.source))
        good = cli("check", "--jsonl", "-", stdin=json.dumps(instead))
        assert good.code == 0, good.words

    def test_a_dense_model_under_ep_is_told_where_it_would_die(self) -> None:
        done = cli("check", "--world", "8", "--gpus-per-node", "8", "--dense", "--ep", "2")
        assert done.code == 1
        assert "patching.py" in done.words
        assert "--ep 1    (one change away, accepted)" in done.out


class TestAccepted:
    def test_says_what_was_requested_and_what_is_effective(self) -> None:
        done = cli("check", "--world", "8", "--ep", "8")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(
            "accepted  [halo] --ep 8 on 8 GPUs, 1 node of 8, NVLink domain 8"
        )
        assert (
            "gpus_per_node = 8 (requested auto), nvlink_domain_size = 8 (requested auto), "
            "ep_scope = node (requested auto)" in done.out
        )
        assert "torchrun --nnodes 1 --nproc_per_node 8 SCRIPT --expert_parallel_size 8" in done.out

    def test_nothing_is_effective_where_everything_was_said(self) -> None:
        said = ("--nvlink-domain", "8", "--ep-scope", "node")
        assert "\n  effective" not in cli(*EIGHT, *said).out

    def test_a_clamped_domain_is_effective_and_warned_of(self) -> None:
        done = cli(*EIGHT, "--nvlink-domain", "72")
        assert done.code == 0
        assert "nvlink_domain_size = 8 (requested 72)" in done.out
        assert "nvlink-domain-clamped" in done.out

    def test_a_scope_forced_to_node_is_effective_and_warned_of(self) -> None:
        done = cli(*EIGHT, "--ep-scope", "global")
        assert "ep_scope = node (requested global)" in done.out
        assert "ep-scope-forced-to-node" in done.out

    def test_json_has_requested_sizes_in_config_and_effective_ones_in_derived(self) -> None:
        done = cli("check", "--world", "144", "--gpus-per-node", "4", "--format", "json")
        answer = done.data
        assert answer["answer"] == "accepted"
        assert answer["config"]["nvlink_domain_size"] == 0
        assert answer["derived"]["nvlink_domain_size"] == 4
        assert answer["derived"]["num_nodes"] == 36
        assert answer["warnings"] == []
        assert "violations" not in answer
        assert "repairs" not in answer

    def test_warnings_have_all_their_parts(self) -> None:
        done = cli(*EIGHT, "--use-hsdp", "--format", "json")
        assert done.code == 0
        assert [w["warning"] for w in done.data["warnings"]] == ["hsdp-single-domain-noop"]
        for warning in done.data["warnings"]:
            assert list(warning) == ["warning", "reason", "because", "source"]
            assert all(warning.values())
        text = cli(*EIGHT, "--use-hsdp").out
        assert "  warning    hsdp-single-domain-noop: With one NVLink domain HSDP is plain" in text
        assert "(use_hsdp = true, num_nvlink_domains = 1)" in text

    @pytest.mark.parametrize("world", ["1", "2", "6", "8"])
    def test_node_size_is_assumed_and_said(self, world: str) -> None:
        done = cli("check", "--world", world)
        assert done.code == 0
        assert f"1 node of {world}" in done.out
        assert "gpus_per_node was not given: 8 are assumed, or the world if it is" in done.out


class TestEnvironment:
    NVL72 = ("check", "--world", "144", "--gpus-per-node", "4")

    def test_the_domain_is_taken_from_it_and_said(self) -> None:
        done = cli(*self.NVL72, env={"NVLINK_DOMAIN_SIZE": "72"})
        assert done.code == 0
        assert "NVLink domain 72" in done.out
        assert "nvlink-domain-from-environment" in done.out
        assert "nvlink_domain_size = 72 (requested auto)" in done.out

    @pytest.mark.parametrize(
        "text", ["0", "-4", "banana", "", " ", "--5", "7.5", "1e2", "9" * 5000]
    )
    def test_what_is_no_positive_integer_is_ignored_and_said(self, text: str) -> None:
        done = cli(*self.NVL72, env={"NVLINK_DOMAIN_SIZE": text})
        assert done.code == 0
        assert "NVLink domain 4" in done.out
        assert "nvlink-domain-environment-ignored" in done.out

    def test_what_no_cluster_has_is_misuse(self) -> None:
        done = cli(*self.NVL72, env={"NVLINK_DOMAIN_SIZE": str(10**30)})
        assert (done.code, done.out) == (2, "")
        assert "nvlink_domain_env is beyond any real size" in done.err

    def test_a_flag_comes_first(self) -> None:
        done = cli(*self.NVL72, "--nvlink-domain", "36", env={"NVLINK_DOMAIN_SIZE": "72"})
        assert done.code == 0
        assert "NVLink domain 36" in done.out
        assert "environment" not in done.out

    def test_an_explicit_zero_asks_for_the_environment_still(self) -> None:
        done = cli(*self.NVL72, "--nvlink-domain", "0", env={"NVLINK_DOMAIN_SIZE": "72"})
        assert "NVLink domain 72" in done.out

    def test_holds_for_every_command_and_line(self) -> None:
        env = {"NVLINK_DOMAIN_SIZE": "72"}
        solved = cli("--world", "144", "--gpus-per-node", "4", "--moe", "--ep", "72", env=env)
        assert "NVLink domain 72" in solved.out
        lines = '{"world_size": 144, "gpus_per_node": 4}\n' * 2
        for answer in cli("check", "--jsonl", "-", stdin=lines, env=env).lines:
            assert answer["derived"]["nvlink_domain_size"] == 72


class TestPipelineGate:
    PIPED = ("check", "--world", "16", "--gpus-per-node", "8", "--pp", "2")

    def test_refuses_first(self) -> None:
        done = cli(*self.PIPED, "--tp", "3", "--format", "json")
        assert done.code == 1
        assert done.data["violations"][0]["rule"] == "pp-release-gate"

    def test_can_be_lifted(self) -> None:
        done = cli(*self.PIPED, "--assume-pp")
        assert (done.code, done.err) == (0, "")
        assert "--pp 2" in done.out

    def test_behind_it_the_contracts_of_pipelines_hold(self) -> None:
        done = cli(*self.PIPED, "--assume-pp", "--tp", "2", "--format", "json")
        assert done.code == 1
        rules = [violation["rule"] for violation in done.data["violations"]]
        assert "pp-release-gate" not in rules
        assert rules


def sample(field: Field) -> str | None:
    """A value that the command line takes for the field; nothing for a switch."""
    if isinstance(field, Flag):
        return None
    if isinstance(field, Choice):
        return field.choices[-1] if field.choices else "x"
    return "4,8" if isinstance(field, Sizes) else "4"


class TestSpellings:
    @pytest.mark.parametrize(
        "option",
        [
            ("--tp", "2"),
            ("--tp=2",),
            ("--tp-size", "2"),
            ("--tp_size", "2"),
            ("--tensor_parallel_size", "2"),
            ("--tensor-parallel-size", "2"),
            ("--tensor-parallel_size=2",),
        ],
    )
    def test_hyphens_underscores_and_the_frameworks_names(self, option: tuple[str, ...]) -> None:
        done = cli(*EIGHT, *option, "--format", "json")
        assert done.code == 0, done.words
        assert done.data["config"]["tp_size"] == 2

    @pytest.mark.parametrize(
        "field", [f for f in HALO.fields if f.flag and f.name != HALO.world], ids=lambda f: f.name
    )
    def test_every_field_by_every_spelling(self, field: Field) -> None:
        value = sample(field)
        after = [] if value is None else [value]
        also = ("--model", "llama-3-8b") if isinstance(field, Bytes) else ()
        run = ("check", "--world", "8", *also, "--repairs", "0", "--format", "json")
        expected = cli(*run, f"--{field.flag}", *after)
        assert expected.code in {0, 1}, expected.words
        spellings = {s for s, name in HALO.spellings.items() if name == field.name}
        for spelling in spellings | {s.replace("_", "-") for s in spellings}:
            assert cli(*run, f"--{spelling}", *after) == expected

    @pytest.mark.parametrize("option", ["--max-length", "--experts", "--heads"])
    def test_unset_is_spelled_as_answers_spell_it(self, option: str) -> None:
        assert cli(*EIGHT, option, "unset") == cli(*EIGHT)

    @pytest.mark.parametrize("spelling", ["--world", "--world-size", "--world_size"])
    def test_the_world_too(self, spelling: str) -> None:
        assert cli("check", spelling, "8").code == 0

    @pytest.mark.parametrize(
        ("option", "message"),
        [
            (("--wrld", "8"), "No such option: --wrld (Possible options: --world)"),
            (("--tensor-size", "8"), "No such option: --tensor-size"),
            (("--ep-scop", "node"), "--ep-scope"),
            (("--use-hsdp=maybe",), "does not take a value"),
            (("--tp", "two"), "'two' is not a valid int"),
            (("--tp", "3.5"), "'3.5' is not a valid int"),
            (("--tp", ""), "'' is not a valid int"),
            (("--tp",), "requires an argument"),
            (("--heads", "4,x"), "--heads takes integers separated by commas, got '4,x'"),
            (("--heads", ""), "--heads takes integers separated by commas, got ''"),
            (("--trainer", "dop"), 'trainer has no value "dop": did you mean "dpo"?'),
            (("--tp", str(10**30)), "beyond any real size"),
            (("--profile", "hallo"), "no profile 'hallo'; there are: halo"),
            (("--format", "xml"), "'xml' is not one of 'text', 'json'"),
            (("--repairs", "-1"), "-1 is not in the range"),
            (("--world", "8,16"), "contradictory options: --world 8 and 8,16; give one"),
        ],
    )
    def test_what_is_not_understood_is_misuse(self, option: tuple[str, ...], message: str) -> None:
        done = cli(*EIGHT, *option)
        assert (done.code, done.out) == (2, "")
        assert message in done.words

    def test_one_world_must_be_given(self) -> None:
        assert "check takes one world" in cli("check", "--world", "8,16").words
        assert "give the world size, or a file" in cli("check").words


class TestContradictions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--tp", "2", "--tp", "4"), "--tp 2 and 4"),
            (("--tp=2", "--tp", "4"), "--tp 2 and 4"),
            (("--tp", "2", "--tensor-parallel-size=4"), "--tp 2 and 4"),
            (("--moe", "--dense"), "--moe and --dense"),
            (("--use-hsdp", "--no-use-hsdp"), "--use-hsdp and --no-use-hsdp"),
            (("--format", "json", "--format", "text"), "--format json and text"),
        ],
    )
    def test_are_misuse(self, options: tuple[str, ...], message: str) -> None:
        done = cli(*EIGHT, *options)
        assert (done.code, done.out) == (2, "")
        assert f"contradictory options: {message}; give one" in done.words

    @pytest.mark.parametrize(
        "options", [("--tp", "2", "--tp=2"), ("--moe", "--moe"), ("--tp_size=2", "--tp", "2")]
    )
    def test_saying_the_same_twice_is_none(self, options: tuple[str, ...]) -> None:
        assert cli(*EIGHT, *options).code == 0


class TestRepairs:
    @pytest.mark.parametrize(("limit", "shown", "more"), [(1, 1, 2), (2, 2, 1), (3, 3, 0)])
    def test_are_cut_and_the_cut_is_said(self, limit: int, shown: int, more: int) -> None:
        done = cli(*SEED, "--repairs", str(limit))
        rest = f"and {more} more that are as near"
        assert (rest in done.out) is bool(more)
        answer = cli(*SEED, "--repairs", str(limit), "--format", "json").data
        assert len(answer["repairs"]) == shown
        assert answer.get("more_repairs", 0) == more

    def test_none_leaves_them_out(self) -> None:
        assert "nearest" not in cli(*SEED, "--repairs", "0").out
        assert "repairs" not in cli(*SEED, "--repairs", "0", "--format", "json").data

    def test_are_nearest_first_each_no_further_than_it_says(self) -> None:
        done = cli("check", "--world", "16", "--ep", "16", "--tp", "3", "--cp", "5")
        assert done.code == 1
        assert "changes away, accepted)" in done.out

    @pytest.mark.parametrize("size", ["0", "-5", str(10**18), "3"])
    @pytest.mark.parametrize("axis", ["tp", "cp", "ep", "etp", "pp"])
    def test_any_size_is_judged(self, axis: str, size: str) -> None:
        done = cli(*EIGHT, f"--{axis}", size, "--format", "json")
        assert done.code == 1
        for repair in done.data["repairs"]:
            assert cli("check", *typed(repair["config"])).code == 0


def test_a_check_imports_no_solver() -> None:
    code = (
        "import sys; from parsolve.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as exit_: code = exit_.code\n"
        "heavy = {'z3', 'pydantic', 'rich'} & set(sys.modules)\n"
        "sys.stderr.write(' '.join(sorted(heavy))); sys.exit(code)\n"
    )
    for arguments in (SEED, (*SEED, "--format", "json"), EIGHT, ("check", "--jsonl", "-")):
        done = run_process(
            [sys.executable, "-c", code, *arguments], stdin='{"world_size": 8, "ep": 4}'
        )
        assert done.code in {0, 1}
        assert done.err == ""
        assert done.out
