"""`parsolve solve`, and `parsolve` without a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import parsolve
from parsolve.solver.answer import json_schema
from tests.cli.run import ROOT, cli, process, without_seconds

MAIN = ("--world", "64", "--gpus-per-node", "8", "--moe", "--maximize", "dp")
SMALL = ("solve", "--world", "8", "--gpus-per-node", "8")

Data = dict[str, Any]


def options(config: Data) -> tuple[int, int, int, int, str]:
    return (
        config["ep_size"],
        config["expert_tp_size"],
        config["tp_size"],
        config["cp_size"],
        config["ep_scope"],
    )


class TestMainJob:
    def test_says_what_is_best_how_many_reach_it_and_that_it_is_proved(self) -> None:
        done = process(*MAIN, columns=80)
        assert done.code == 0
        assert done.err == ""
        lines = done.out.splitlines()
        assert (
            lines[0] == "best  [halo] dp = 64 (maximum), proved: no valid configuration is better"
        )
        assert lines[1] == "  count      8 configurations reach it"
        assert "  cluster    64 GPUs, 8 nodes of 8, NVLink domain 8" in lines
        assert all(len(line) <= 80 for line in lines)
        proof = "Z3 in N s, building included: no valid configuration is better, and none"
        assert proof in " ".join(without_seconds(done.out).split())
        assert (
            "torchrun --nnodes 8 --nproc_per_node 8 --rdzv_endpoint HOST:PORT SCRIPT "
            "--expert_parallel_size 8" in done.words
        )

    def test_shows_every_tie_in_the_stated_order(self) -> None:
        rows = cli(*MAIN).out.split("FSDP\n")[1].split("\n\n")[0].splitlines()
        assert [row.split() for row in rows] == [
            ["1", "--ep", "8", "64", "8", "node", "8", "8"],
            ["2", "--ep", "4", "64", "16", "node", "8", "4"],
            ["3", "--ep", "2", "64", "32", "node", "8", "2"],
            ["4", "--ep", "64", "64", "1", "global", "8", "64"],
            ["5", "--ep", "32", "64", "2", "global", "8", "32"],
            ["6", "--ep", "16", "64", "4", "global", "8", "16"],
            ["7", "--ep", "8", "--ep-scope", "global", "64", "8", "global", "8", "8"],
            ["8", "(defaults)", "64", "-", "-", "8", "64"],
        ]

    def test_without_a_command_it_is_solve(self) -> None:
        assert without_seconds(cli(*MAIN).out) == without_seconds(cli("solve", *MAIN).out)

    def test_maximises_dp_unless_told_otherwise(self) -> None:
        assert without_seconds(cli(*MAIN[:-2]).out) == without_seconds(cli(*MAIN).out)

    def test_json_says_the_same(self) -> None:
        done = cli(*MAIN, "--format", "json")
        assert (done.code, done.err) == (0, "")
        answer = done.data
        assert answer["answer"] == "best"
        assert answer["optimal"] is True
        assert answer["count"] == len(answer["solutions"]) == 8
        assert answer["objectives"] == [
            {"quantity": "dp", "direction": "maximize", "value": 64},
        ]
        assert answer["certificate"]["status"] == "proved"
        assert [options(s["config"])[0] for s in answer["solutions"]] == [8, 4, 2, 64, 32, 16, 8, 1]
        for solution in answer["solutions"]:
            assert solution["derived"]["data_parallel_size"] == 64
            checked = parsolve.check(solution["config"])
            assert checked.answer == "accepted"
            assert checked.derived == solution["derived"]


class TestShown:
    def test_limit_bounds_what_is_shown_not_what_is_counted(self) -> None:
        text = cli(*MAIN, "--limit", "2")
        assert "8 configurations reach it; the first 2 are shown" in text.words
        assert "--ep 4" in text.out
        assert "--ep 2" not in text.out
        answer = cli(*MAIN, "--limit", "2", "--format", "json").data
        assert (answer["count"], len(answer["solutions"])) == (8, 2)

    def test_a_limit_of_as_many_as_there_are_says_nothing(self) -> None:
        assert "are shown" not in cli(*MAIN, "--limit", "8").out

    def test_one_solution_is_said_in_the_singular_and_needs_no_order(self) -> None:
        done = cli(*SMALL)
        assert "1 configuration reaches it" in done.out
        assert "\n  order" not in done.out

    def test_an_objective_that_is_no_column_gets_one(self) -> None:
        done = cli(*SMALL, "--maximize", "tp*cp")
        assert "tp*cp = 8 (maximum)" in done.out
        header = next(line for line in done.out.splitlines() if "  options" in line)
        assert header.split()[:3] == ["#", "tp*cp", "options"]

    def test_a_nvlink_domain_of_several_nodes(self) -> None:
        done = cli(
            *("--world", "144", "--gpus-per-node", "4", "--nvlink-domain", "72"),
            *("--moe", "--ep", "72"),
        )
        assert done.code == 0
        assert "144 GPUs, 36 nodes of 4, NVLink domain 72" in done.out
        assert "--nvlink_domain_size 72 --expert_parallel_size 72" in done.words


class TestObjectives:
    @pytest.mark.parametrize(
        ("typed", "order", "optimum"),
        [
            (("--maximize", "cp", "--minimize", "fsdp_width"), "cp fsdp_width", (8, 8)),
            (("--minimize", "fsdp_width", "--maximize", "cp"), "fsdp_width cp", (2, 1)),
            (("--minimize=fsdp_width", "--maximize=cp"), "fsdp_width cp", (2, 1)),
            (("--maximize=cp", "--minimize", "fsdp_width"), "cp fsdp_width", (8, 8)),
            (("--maximise", "cp", "--minimise=fsdp_width"), "cp fsdp_width", (8, 8)),
            (("--minimise=fsdp_width", "--maximise", "cp"), "fsdp_width cp", (2, 1)),
        ],
    )
    def test_count_in_the_order_in_which_they_were_typed(
        self, typed: tuple[str, ...], order: str, optimum: tuple[int, int]
    ) -> None:
        done = cli(*MAIN[:5], *typed, "--format", "json")
        assert done.code == 0, done.err
        goals = done.data["objectives"]
        assert [goal["quantity"] for goal in goals] == order.split()
        assert tuple(goal["value"] for goal in goals) == optimum
        directions = {goal["quantity"]: goal["direction"] for goal in goals}
        assert directions == {"cp": "maximize", "fsdp_width": "minimize"}

    def test_the_text_names_them_in_that_order_too(self) -> None:
        text = cli(*MAIN[:5], "--minimize", "fsdp_width", "--maximize", "cp").out
        assert text.startswith("best  [halo] fsdp_width = 2 (minimum), cp = 1 (maximum), proved")

    def test_pareto_shows_what_no_other_beats_in_everything(self) -> None:
        asked = ("--maximize", "dp", "--maximize", "cp", "--pareto")
        answer = cli(*MAIN[:5], *asked, "--format", "json").data
        assert (answer["answer"], answer["pareto"], answer["optimal"]) == ("best", True, True)
        assert [goal.get("value") for goal in answer["objectives"]] == [None, None]
        front = {(s["objectives"]["dp"], s["objectives"]["cp"]) for s in answer["solutions"]}
        assert front == {(64, 1), (32, 2), (16, 4), (8, 8)}
        text = cli(*MAIN[:5], *asked)
        assert text.out.startswith(
            "pareto  [halo] maximize dp, maximize cp (proved: none is missing"
        )
        assert f"{answer['count']} configurations lie on the front" in text.out

    def test_the_front_is_that_of_the_listing(self) -> None:
        listed = cli("list", "--world", "16", "--moe", "--format", "jsonl").lines
        points = [(d["derived"]["data_parallel_size"], d["config"]["tp_size"]) for d in listed]
        best = {
            p for p in points if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in points)
        }
        asked = ("--world", "16", "--moe", "--maximize", "dp", "--maximize", "tp", "--pareto")
        shown = cli(*asked, "--format", "json").data["solutions"]
        assert {(s["objectives"]["dp"], s["objectives"]["tp"]) for s in shown} == best
        assert len(shown) == sum(p in best for p in points)

    @pytest.mark.parametrize(
        ("typed", "message"),
        [
            (("--pareto",), "a Pareto front needs at least two objectives"),
            (("--maximize", "pareto_size"), "unknown name pareto_size"),
            (("--maximize", ""), "must not be empty"),
            (("--maximize", "requires_rdma"), "not a number and cannot be an objective"),
            (("--minimize", "ep_scope"), "not a number and cannot be an objective"),
            (("--maximize", "tp/2"), "calculate with + - * // %"),
        ],
    )
    def test_an_objective_that_is_none_is_misuse(
        self, typed: tuple[str, ...], message: str
    ) -> None:
        done = cli(*SMALL, *typed)
        assert (done.code, done.out) == (2, "")
        assert message in done.words


class TestWorlds:
    @pytest.mark.parametrize("worlds", ["8,16,32", "8..32", "32,8..16", "16, 16,8"])
    def test_the_world_itself_can_be_minimised(self, worlds: str) -> None:
        asked = ("--world", worlds, "--moe", "--where", "dp >= 12", "--minimize", "world")
        answer = cli(*asked, "--format", "json").data
        assert answer["objectives"][0]["value"] == 16
        assert {s["config"]["world_size"] for s in answer["solutions"]} == {16}

    def test_a_range_includes_both_ends(self) -> None:
        asked = ("--world", "1..3", "--maximize", "0*world", "--format", "json")
        solutions = cli(*asked).data["solutions"]
        assert {s["config"]["world_size"] for s in solutions} == {1, 2, 3}

    def test_several_worlds_have_a_column(self) -> None:
        done = cli("--world", "1..3", "--maximize", "0*world")
        assert "  world  " in done.out

    @pytest.mark.parametrize(
        ("world", "message"),
        [
            ("", "a world is a number, a list (8,16) or a range (8..512), got ''"),
            (",", "got ''"),
            ("3.5", "got '3.5'"),
            ("1..", "got '1..'"),
            ("eight", "got 'eight'"),
            ("0", "must be at least 1, got 0"),
            ("-5", "must be at least 1, got -5"),
            ("8..4", "the range 8..4 is empty"),
            ("1..1000000", "at most 100,000 worlds at once"),
            (str(10**18), "beyond any real size"),
            (str(10**30), "beyond any real size"),
            ("9" * 5000, "a world is a number"),
        ],
    )
    def test_what_is_no_world_is_misuse(self, world: str, message: str) -> None:
        done = cli("solve", "--world", world)
        assert (done.code, done.out) == (2, "")
        assert message in done.words
        assert len(done.err) < 1500

    def test_a_world_must_be_given(self) -> None:
        done = cli("--tp", "2")
        assert done.code == 2
        assert "Missing option '--world'" in done.words


class TestModelKind:
    def test_a_model_without_experts_is_offered_no_ep(self) -> None:
        for said in ((), ("--dense",)):
            done = cli(*SMALL, *said, "--format", "json")
            assert [options(s["config"])[:2] for s in done.data["solutions"]] == [(1, 1)]
            assert "ep_size, expert_tp_size not offered" in done.data["searched"]
            assert "since model_kind is dense" in done.data["searched"]
            assert done.data["solutions"][0]["config"]["model_kind"] == "dense"

    @pytest.mark.parametrize(
        "pin", [("--ep", "2"), ("--etp", "2"), ("--experts", "8"), ("--expert-ffn", "512")]
    )
    def test_what_only_experts_have_implies_moe(self, pin: tuple[str, str]) -> None:
        answer = cli(*SMALL, *pin, "--format", "json").data
        assert {s["config"]["model_kind"] for s in answer["solutions"]} == {"moe"}
        assert "not offered" not in answer["searched"]

    @pytest.mark.parametrize("pin", [("--ep", "1"), ("--etp", "1"), ("--tp", "2"), ("--cp", "2")])
    def test_other_pins_do_not(self, pin: tuple[str, str]) -> None:
        answer = cli(*SMALL, *pin, "--format", "json").data
        assert {s["config"]["model_kind"] for s in answer["solutions"]} == {"dense"}

    @pytest.mark.parametrize("pin", ["--ep", "--etp"])
    def test_a_dense_model_with_expert_axes_is_a_contradiction(self, pin: str) -> None:
        done = cli(*SMALL, "--dense", pin, "2")
        assert (done.code, done.out) == (2, "")
        assert "needs model_kind moe, but it is dense; drop one" in done.words

    def test_moe_and_dense_exclude_each_other(self) -> None:
        done = cli(*SMALL, "--moe", "--dense")
        assert done.code == 2
        assert "contradictory options: --moe and --dense; give one" in done.words


class TestNodeSize:
    @pytest.mark.parametrize(
        ("world", "nodes"), [("64", "8 nodes of 8"), ("4", "1 node of 4"), ("1", "1 node of 1")]
    )
    def test_defaults_to_eight_or_the_world_and_says_so(self, world: str, nodes: str) -> None:
        done = cli("--world", world, "--dense")
        assert nodes in done.out
        assert "gpus_per_node was not given: 8 are assumed, or the world if it is" in done.words
        warnings = cli("--world", world, "--dense", "--format", "json").data["warnings"]
        assert [warning["warning"] for warning in warnings] == ["gpus-per-node-assumed"]

    def test_a_dense_model_is_assumed_aloud(self) -> None:
        """Who forgets --moe is told why no expert axis is offered."""
        asked = ("--world", "8", "--gpus-per-node", "8", "--format", "json")
        assert [w["warning"] for w in cli(*asked).data["warnings"]] == ["dense-assumed"]
        for said in (("--dense",), ("--moe",), ("--ep", "8"), ("--where", "ep > 1")):
            assert cli(*asked, *said).data["warnings"] == []

    def test_given_nothing_is_said(self) -> None:
        done = cli("--world", "64", "--gpus-per-node", "8", "--dense")
        assert "assumed" not in done.out


class TestConditions:
    def test_restrict_the_search(self) -> None:
        asked = (*MAIN, "--where", "tp*cp <= 8 and ep_group_size > 4", "--format", "json")
        groups = {s["derived"]["ep_group_size"] for s in cli(*asked).data["solutions"]}
        assert groups == {8, 16, 32, 64}

    def test_may_be_repeated(self) -> None:
        asked = (*MAIN, "--where", "ep > 4", "--where", "ep_scope == 'node'", "--format", "json")
        assert [options(s["config"])[0] for s in cli(*asked).data["solutions"]] == [8]

    @pytest.mark.parametrize(
        ("condition", "message", "token"),
        [
            ("tpp > 2", 'unknown name tpp: did you mean "tp"?', "tpp"),
            ("tp > 1 and cpp > 2", "unknown name cpp", "cpp"),
            ("tp >", "this is not an expression", ""),
            ("tp = 2", "this is not an expression", "= 2"),
            ("tp", "tp is a number: compare it with something", "tp"),
            ("__import__('os').system('true')", "expected a condition", "__import__"),
            ("ep_scope == 'nod'", 'ep_scope has no value "nod": did you mean "node"?', "'nod'"),
            ("ep_scope > 'node'", "labels are compared with == or !=", "'node'"),
            ("tp / 2 > 1", "calculate with + - * // %", "2"),
            ("tp ** 9 > 1", "calculate with + - * // %", "9"),
            ("1 < use_hsdp", "is a flag, not a number", "use_hsdp"),
            ("num_attention_heads > 2", "is a list and cannot be used", "num_attention_heads"),
        ],
    )
    def test_errors_point_at_the_token(self, condition: str, message: str, token: str) -> None:
        done = cli(*SMALL, "--where", condition)
        assert (done.code, done.out) == (2, "")
        said, shown, arrow = done.err.splitlines()
        assert said.startswith("parsolve: ")
        assert message in said
        assert shown == f"  {condition}"
        assert arrow.strip() == "^"
        assert shown[arrow.index("^") :].startswith(token)

    @pytest.mark.parametrize(
        "condition", ["", "(" * 3000, "+".join(["tp"] * 300) + " > 1", "tp > " + "9" * 4000, "\0"]
    )
    def test_nonsense_is_misuse_or_an_answer(self, condition: str) -> None:
        done = cli(*SMALL, "--where", condition)
        assert done.code in {0, 1, 2}
        assert "Traceback" not in done.err


class TestConflict:
    ASKED = ("--world", "64", "--gpus-per-node", "8", "--moe", "--ep", "16")
    TWO = ("--where", "tp*cp >= 4")

    def test_text_says_what_excludes_each_other_and_what_to_relax(self) -> None:
        done = cli(*self.ASKED, *self.TWO)
        assert (done.code, done.err) == (1, "")
        lines = done.out.splitlines()
        assert lines[0] == (
            "conflict  [halo] nothing is valid on 64 GPUs; these exclude each other:"
        )
        assert "  asked      --ep 16" in lines
        assert '  asked      --where "tp*cp >= 4"' in lines
        assert any(line.startswith("  rule       ep-cp-global-scope:") for line in lines)
        assert "  relax      --ep 8" in lines
        assert '  or         without --where "tp*cp >= 4"' in lines
        assert "Z3: no smaller set of what was asked and rules conflicts" in done.out

    def test_json_says_the_same_and_every_repair_is_accepted(self) -> None:
        done = cli(*self.ASKED, *self.TWO, "--format", "json")
        assert done.code == 1
        answer = done.data
        assert (answer["answer"], answer["world"], answer["smallest"]) == ("conflict", 64, True)
        assert answer["pins"]["ep_size"] == 16
        assert answer["conditions"] == ["tp*cp >= 4"]
        assert [repair["change"] for repair in answer["repairs"]] == [{"ep_size": 8}, {}]
        assert answer["repairs"][1]["drop"] == ["tp*cp >= 4"]
        for rule in answer["rules"]:
            assert all(rule[part] for part in ("rule", "stage", "reason", "because", "source"))
        for repair in answer["repairs"]:
            assert parsolve.check(repair["config"]).answer == "accepted"

    def test_what_is_said_to_conflict_does(self) -> None:
        """Only the pins and conditions that are named, nothing else: still nothing is valid."""
        answer = cli("--world", "8", "--tp", "3", "--cp", "1", "--format", "json").data
        assert answer["pins"] == {"tp_size": 3}
        assert [rule["rule"] for rule in answer["rules"]] == ["tp-not-dividing-stage"]
        assert cli("--world", "8", "--tp", "3").code == 1
        assert cli("--world", "8", "--cp", "1").code == 0

    def test_a_world_on_which_nothing_is_valid(self) -> None:
        done = cli("--world", "10", "--format", "json")
        assert done.code == 1
        assert [rule["rule"] for rule in done.data["rules"]] == ["world-not-multiple-of-node"]

    def test_pipelines_meet_the_release_gate(self) -> None:
        refused = cli("--world", "16", "--pp", "2", "--format", "json")
        assert refused.code == 1
        assert "pp-release-gate" in {rule["rule"] for rule in refused.data["rules"]}
        lifted = cli("--world", "16", "--pp", "2", "--assume-pp", "--format", "json")
        assert lifted.code == 0
        assert {s["config"]["pp_size"] for s in lifted.data["solutions"]} == {2}


class TestSchema:
    FILE = ROOT / "docs" / "schema" / "answer.schema.json"

    @pytest.mark.parametrize(
        ("arguments", "answer"),
        [
            (MAIN, "best"),
            ((*MAIN, "--maximize", "cp", "--pareto", "--limit", "1"), "best"),
            (("--world", "8", "--tp", "3", "--where", "dp > 2"), "conflict"),
            (("--world", "1..20000", "--moe", "--timeout", "0.05"), "undecided"),
            (("check", "--world", "8", "--use-hsdp"), "accepted"),
            (("check", "--world", "8", "--ep", "4"), "rejected"),
            (("check", "--world", "8", "--ep", "4", "--repairs", "0"), "rejected"),
            (("list", "--world", "8", "--limit", "2"), "solutions"),
            (("list", "--world", "8"), "solutions"),
        ],
        ids=lambda value: value if isinstance(value, str) else None,
    )
    def test_every_kind_of_answer_validates(self, arguments: tuple[str, ...], answer: str) -> None:
        data = cli(*arguments, "--format", "json").data
        assert data["answer"] == answer
        kind = {"$ref": f"#/$defs/{answer.capitalize()}", "$defs": json_schema()["$defs"]}
        jsonschema.validate(data, json_schema())
        jsonschema.validate(data, kind)

    def test_so_does_every_line_of_a_stream(self) -> None:
        lines = '{"world_size": 8}\n{"world_size": 8, "ep": 4}\nnope\n'
        answers = cli("check", "--jsonl", "-", stdin=lines).lines
        assert [line["answer"] for line in answers] == ["accepted", "rejected", "error"]
        for line in answers:
            jsonschema.validate(line, json_schema())

    def test_the_published_one_is_fresh(self) -> None:
        published = self.FILE.read_text(encoding="utf-8")
        assert published == cli("schema").out, f"run `parsolve schema > {self.FILE.name}`"


class TestTimeLimit:
    LONG = ("solve", "--world", "1..20000", "--moe", "--timeout", "0.05")

    def test_a_timeout_is_undecided(self) -> None:
        done = cli(*self.LONG)
        assert done.code == 3
        assert done.out.startswith("undecided  [halo] the time limit of 0.05 s passed")

    def test_in_json_too(self) -> None:
        done = cli(*self.LONG, "--format", "json")
        assert done.code == 3
        answer = done.data
        assert (answer["answer"], answer["optimal"], answer["complete"]) == (
            "undecided",
            False,
            False,
        )
        assert "time limit" in answer["reason"]

    def test_a_generous_one_changes_nothing(self) -> None:
        done = cli(*SMALL, "--timeout", "60")
        assert without_seconds(done.out) == without_seconds(cli(*SMALL).out)

    @pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "-inf"])
    def test_what_is_no_time_is_misuse(self, seconds: str) -> None:
        done = cli(*SMALL, "--timeout", seconds)
        assert done.code == 2
        assert "a time limit is a positive number of seconds" in done.words


class TestVary:
    @pytest.mark.parametrize("spelling", ["use_hsdp", "use-hsdp", "hsdp"])
    def test_searches_further_knobs(self, spelling: str) -> None:
        answer = cli(*SMALL, "--vary", spelling, "--format", "json").data
        assert [s["config"].get("use_hsdp", False) for s in answer["solutions"]] == [False, True]
        assert "use_hsdp over false, true" in answer["searched"]

    @pytest.mark.parametrize(
        ("typed", "message"),
        [
            (("--vary", "use_hspd"), "unknown knob 'use_hspd': did you mean \"use_hsdp\"?"),
            (("--vary", "heads"), "no finite set of values to search; pin it instead"),
            (("--vary", "use_hsdp", "--use-hsdp"), "use_hsdp is both pinned and varied"),
            (("--vary", "model_kind"), "cannot be varied; pin it"),
        ],
    )
    def test_what_cannot_be_varied_is_misuse(self, typed: tuple[str, ...], message: str) -> None:
        done = cli(*SMALL, *typed)
        assert (done.code, done.out) == (2, "")
        assert message in done.words


class TestModelFile:
    MODEL: Data = {  # noqa: RUF012 - read only
        "model_type": "qwen3_moe",
        "num_experts": 6,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 768,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "hidden_size": 2048,
    }

    def write(self, folder: Path, config: object) -> str:
        file = folder / "config.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        return str(file)

    def sizes(self, *arguments: str) -> set[int]:
        asked = (*SMALL, "--maximize", "0*dp", "--where", "ep > 1", *arguments, "--format", "json")
        done = cli(*asked)
        assert done.code == 0, done.words
        return {s["config"]["ep_size"] for s in done.data["solutions"]}

    def test_its_rules_are_checked(self, tmp_path: Path) -> None:
        assert self.sizes("--moe") == {2, 4, 8}
        assert self.sizes("--model", self.write(tmp_path, self.MODEL)) == {2}

    def test_a_folder_and_a_nested_text_config_will_do(self, tmp_path: Path) -> None:
        kind = self.MODEL["model_type"]
        nested = {"model_type": kind, "text_config": {**self.MODEL, "model_type": "x"}}
        self.write(tmp_path, nested)
        assert self.sizes("--model", str(tmp_path)) == {2}

    def test_what_is_typed_wins(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, self.MODEL)
        assert self.sizes("--model", path, "--experts", "8") == {2, 4, 8}

    def test_a_dense_model_is_dense(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, {"model_type": "llama", "num_attention_heads": 32})
        answer = cli(*SMALL, "--model", path, "--format", "json").data
        assert answer["solutions"][0]["config"]["model_kind"] == "dense"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty"),
            (b"{", "is not JSON at line 1"),
            (b"[]", "holds no JSON object"),
            (b"\xff\xfe\x00", "is not UTF-8 text"),
            (b'{"num_experts": "many"}', "is not a positive integer"),
            (b'{"num_experts": ' + b"9" * 5000 + b"}", "holds a number of more digits"),
            (b"[" * 100_000, "is not JSON"),
            (b'{"text_config": [1]}', "text_config is no object: [1]"),
        ],
    )
    def test_a_file_that_is_no_model_is_misuse(
        self, tmp_path: Path, content: bytes, message: str
    ) -> None:
        file = tmp_path / "config.json"
        file.write_bytes(content)
        done = cli(*SMALL, "--model", str(file))
        assert (done.code, done.out) == (2, "")
        assert message in done.words.replace(str(file), "FILE")

    def test_a_missing_file_is_misuse(self, tmp_path: Path) -> None:
        for path in (tmp_path / "absent.json", tmp_path):
            done = cli(*SMALL, "--model", str(path))
            assert done.code == 2
            assert "No such file or directory" in done.words
