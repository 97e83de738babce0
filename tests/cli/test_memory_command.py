"""`parsolve memory`, and a bound on memory in check, list and solve."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from parsolve.constraints.fields import GIB
from parsolve.constraints.memory.hardware import GPUS
from parsolve.solver.answer import json_schema
from tests.cli.run import cli, command, process, process_environment

TOTAL = 74_850_089_728
"""Bytes of LLaMA 3 8B on 8 GPUs at 8,192 tokens, see tests/constraints/test_halo_memory.py."""

LLAMA = ("--model", "llama-3-8b", "--max-length", "8192")
EIGHT = ("memory", "--world", "8", *LLAMA)
PARTS = ("parameters", "gradients", "optimizer", "activations", "loss", "buffers", "reserve")


def data(*arguments: str) -> dict[str, Any]:
    """The answer as JSON."""
    answer = cli(*arguments, "--format", "json").data
    assert isinstance(answer, dict)
    return answer


class TestText:
    def test_parts_stand_in_the_order_of_their_size_with_bars(self) -> None:
        done = cli(*EIGHT, "--gpu-memory", "80")
        assert (done.code, done.err) == (0, "")
        lines = done.out.splitlines()
        assert lines[0] == (
            "fits  [halo] 69.71 GiB of 80.00 GiB on the fullest GPU; --max-length 8192 on 8 GPUs"
        )
        rows = [line.split() for line in lines[2:10]]
        assert [row[0] for row in rows] == [
            *("activations", "parameters", "loss", "reserve", "optimizer", "buffers", "gradients"),
            "total",
        ]
        sizes = [float(row[1]) for row in rows]
        assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
        assert abs(sum(sizes[:-1]) - sizes[-1]) < 0.05
        for name, size, unit, bar, share in rows:
            assert unit == "GiB"
            assert len(bar) == 24
            assert re.fullmatch(r"#*\.*", bar)
            assert abs(bar.count("#") - 24 * float(size) / 80) <= 0.51, name
            assert abs(float(share.rstrip("%")) - 100 * float(size) / 80) < 0.1

    def test_it_tells_the_peak_how_each_part_is_computed_and_what_is_assumed(self) -> None:
        words = cli(*EIGHT).words
        assert "at the start of the backward pass; 65.44 GiB as PyTorch reports it" in words
        for part in PARTS:
            assert f" {part}: " in words
        assert "assumed micro-batch 1, no gradient accumulation" in words
        assert "context window" not in words
        window = cli("memory", "--world", "8", "--model", "llama-3-8b").words
        assert "sequences as long as the model's context window" in window

    @pytest.mark.parametrize(
        ("limit", "word", "code"),
        [
            (str(TOTAL), "near the limit", 0),
            (f"{TOTAL - 1}b", "does not fit", 1),
            ("80", "fits", 0),
            ("72GiB", "near the limit", 0),
            ("40", "does not fit", 1),
        ],
    )
    def test_the_state_is_the_first_word_and_the_exit_code(
        self, limit: str, word: str, code: int
    ) -> None:
        done = cli(*EIGHT, "--gpu-memory", limit)
        assert done.code == code
        assert done.out.startswith(f"{word}  [halo] 69.71 GiB of ")
        assert ("nearest" in done.out) == (code == 1)

    def test_what_would_fit_is_offered_as_options(self) -> None:
        done = cli(*EIGHT, "--gpu-memory", "40")
        assert "nearest --gradient-checkpointing (one change away, accepted" in done.words
        assert "--cp 4" in done.words
        assert cli(*EIGHT, "--gpu-memory", "40", "--gradient-checkpointing").code == 0
        assert cli(*EIGHT, "--gpu-memory", "40", "--cp", "4").code == 0
        assert cli(*EIGHT, "--gpu-memory", "40", "--cp", "2").code == 1

    def test_repairs_are_as_many_as_asked_for(self) -> None:
        for count in (0, 1, 2):
            answer = data(*EIGHT, "--gpu-memory", "40", "--repairs", str(count))
            assert len(answer.get("repairs", ())) == count
        assert cli(*EIGHT, "--gpu-memory", "40", "--repairs", "-1").code == 2

    def test_where_nothing_near_fits_it_says_so(self) -> None:
        done = cli(*EIGHT, "--gpu-memory", "3")
        assert done.code == 1
        assert "no change of at most 4 knobs fits and is accepted" in done.words

    @pytest.mark.parametrize("verb", ["memory", "check"])
    def test_where_it_did_not_look_at_everything_it_says_that(self, verb: str) -> None:
        large = ("--world", "100800", "--gpus-per-node", "8", "--model", "deepseek-v3")
        done = cli(verb, *large, "--max-length", "4096", "--gpu-memory", "30")
        assert done.code == 1
        assert "nearest none was found before the search for them was cut short" in done.words
        assert "no change of at most" not in done.words

    def test_one_gpu_is_one(self) -> None:
        assert cli("memory", "--world", "1", *LLAMA).out.splitlines()[0].endswith("on 1 GPU")

    def test_a_refused_configuration_is_told_so(self) -> None:
        done = cli(*EIGHT, "--tp", "2", "--cp", "2")
        assert done.code == 0
        assert "refused by axis-set-unsupported, whatever its memory" in done.words

    @pytest.mark.parametrize("columns", [40, 80, 200])
    def test_lines_fit_a_terminal(self, columns: int) -> None:
        done = process(*EIGHT, "--gpu-memory", "40", columns=columns)
        widest = max(map(len, done.out.splitlines()))
        assert widest <= max(columns, 70)
        assert done.words == process(*EIGHT, "--gpu-memory", "40").words

    def test_a_pipe_gets_whole_lines_without_colours(self) -> None:
        done = process(*EIGHT, "--gpu-memory", "80")
        assert "\x1b" not in done.out
        assert done.out.splitlines()[0].endswith("on 8 GPUs")
        assert done.out == cli(*EIGHT, "--gpu-memory", "80").out

    def test_a_reader_that_is_gone(self) -> None:
        with subprocess.Popen(
            command(*EIGHT),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=process_environment(),
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.close()
            assert running.wait(timeout=60) == 141
            assert running.stderr.read() == b""

    def test_numbers_beyond_any_cluster_are_told_too(self) -> None:
        huge = str(10**18)
        for options in (
            ("--max-length", huge),
            ("--max-length", huge, "--micro-batch", huge),
            ("--max-length", huge, "--micro-batch", huge, "--gpu-memory", f"{huge}b"),
            ("--max-length", "1", "--micro-batch", huge, "--attn-implementation", "eager"),
            ("--max-length", huge, "--ep", "8"),
        ):
            done = cli("memory", "--world", "8", "--model", "llama-3-8b", *options)
            assert done.code in {0, 1}
            assert done.err == ""
            assert " GiB" in done.out
        assert cli("memory", "--world", str(10**9), *LLAMA).code == 0


def test_a_global_batch_that_no_run_reaches_refuses_whatever_the_memory() -> None:
    done = cli(*EIGHT, "--global-batch", "7")
    assert "refused by global-batch-not-divisible, whatever its memory" in done.words


class TestJson:
    def test_its_keys(self) -> None:
        answer = data(*EIGHT, "--gpu-memory", "80")
        assert list(answer) == [
            *("answer", "profile", "config", "bytes", "peak", "limit", "state", "assumed"),
            *("warnings", "violated"),
        ]
        assert (answer["answer"], answer["profile"]) == ("memory", "halo")
        assert list(answer["bytes"]) == [*PARTS, "allocated", "total"]
        assert all(isinstance(size, int) for size in answer["bytes"].values())
        assert answer["bytes"]["total"] == TOTAL == sum(answer["bytes"][part] for part in PARTS)
        assert answer["bytes"]["allocated"] == TOTAL - answer["bytes"]["reserve"]
        assert (answer["limit"], answer["state"]) == (80 * GIB, "fits")

    def test_without_a_bound_limit_and_state_are_null(self) -> None:
        answer = data(*EIGHT)
        assert answer["limit"] is None
        assert answer["state"] is None
        assert answer["bytes"]["total"] == TOTAL

    @pytest.mark.parametrize(
        ("limit", "state", "code"), [("40", "over", 1), ("72", "near", 0), ("80", "fits", 0)]
    )
    def test_states(self, limit: str, state: str, code: int) -> None:
        done = cli(*EIGHT, "--gpu-memory", limit, "--format", "json")
        assert done.code == code
        assert done.data["state"] == state
        assert ("repairs" in done.data) == (state == "over")

    def test_its_configuration_is_read_back_as_the_same(self, tmp_path: Path) -> None:
        answer = data(*EIGHT, "--gpu-memory", "79.65GiB", "--cp", "2")
        file = tmp_path / "one.jsonl"
        file.write_text(json.dumps(answer["config"]))
        (again,) = cli("check", "--jsonl", str(file)).lines
        assert again["config"] == answer["config"]
        assert again["memory"]["bytes"] == answer["bytes"]
        assert again["memory"]["limit"] == 85_523_536_281


SCHEMA_QUESTIONS = (
    EIGHT,
    (*EIGHT, "--gpu-memory", "40"),
    (*EIGHT, "--ep", "4"),
    ("memory", "--world", "8", "--model", "qwen3-30b-a3b", "--ep", "8", "--gpu", "h100"),
    ("check", "--world", "8", *LLAMA, "--gpu-memory", "40"),
    ("check", "--world", "8", *LLAMA),
    ("list", "--world", "8", *LLAMA, "--gpu-memory", "60"),
    ("list", "--world", "8", *LLAMA, "--gpu-memory", "2"),
    ("solve", "--world", "8", *LLAMA, "--gpu-memory", "60", "--minimize", "memory"),
    ("solve", "--world", "8", *LLAMA, "--pareto", "memory,dp"),
    ("solve", "--world", "8", *LLAMA, "--gpu-memory", "60", "--timeout", "0.000001"),
)


class TestSchema:
    @pytest.mark.parametrize("question", SCHEMA_QUESTIONS, ids=" ".join)
    def test_answers_about_memory_keep_to_it(self, question: tuple[str, ...]) -> None:
        answer = data(*question)
        jsonschema.validate(answer, json_schema())
        (kind,) = [
            definition
            for definition in json_schema()["$defs"].values()
            if definition.get("properties", {}).get("answer", {}).get("const") == answer["answer"]
        ]
        assert answer.keys() <= kind["properties"].keys()


class TestGpu:
    @pytest.mark.parametrize("name", sorted(GPUS))
    @pytest.mark.parametrize("world", [8, 12, 72, 144])
    def test_it_sets_the_bound_and_the_usual_cluster_where_that_divides(
        self, name: str, world: int
    ) -> None:
        node, domain = {"gb200": (4, 72)}.get(name, (8, 8))
        if world % node:
            # a world of several nodes is a number of whole ones
            done = cli("check", "--world", str(world), "--gpu", name, *LLAMA, "--format", "json")
            broken = [violation["rule"] for violation in done.data["violations"]]
            assert broken[0] == "world-not-multiple-of-node"
            return
        answer = data("memory", "--world", str(world), *LLAMA, "--gpu", name)
        assert answer["limit"] == GPUS[name].memory
        total = answer["bytes"]["total"]
        fits = "over" if total > GPUS[name].memory else "fits"
        assert answer["state"] in {fits, "near"}
        config = answer["config"]
        assert config["gpus_per_node"] == node
        wide = domain > node and world % domain == 0
        assert config["nvlink_domain_size"] == (domain if wide else 0)

    def test_what_is_said_stands_before_what_is_usual(self) -> None:
        answer = data(*EIGHT, "--gpu", "h100", "--gpu-memory", "40GB", "--gpus-per-node", "4")
        assert answer["limit"] == 40 * 10**9
        assert answer["config"]["gpus_per_node"] == 4

    def test_several_worlds_take_it_where_none_is_smaller(self) -> None:
        def nodes(worlds: str) -> set[int]:
            rows = cli("list", "--world", worlds, *LLAMA, "--gpu", "h200", "--format", "jsonl")
            return {row["config"]["gpus_per_node"] for row in rows.lines}

        assert nodes("8,16") == {8}
        assert nodes("4,8") == {0}

    @pytest.mark.parametrize(
        ("name", "says"),
        [("h10", 'did you mean "h100"?'), ("a100", "is it a100-40 or a100-80?"), ("", "no GPU ''")],
    )
    @pytest.mark.parametrize("verb", ["memory", "check", "list", "solve"])
    def test_an_unknown_one(self, verb: str, name: str, says: str) -> None:
        done = cli(verb, "--world", "8", *LLAMA, "--gpu", name)
        assert (done.code, done.out) == (2, "")
        assert says in done.words


UNCOUNTABLE = {"model_type": "mamba9", "hidden_size": 4096, "num_hidden_layers": 32}


class TestModel:
    @pytest.fixture
    def llama(self, tmp_path: Path) -> Path:
        """A config.json of a dense model with two layers."""
        file = tmp_path / "config.json"
        file.write_text(
            json.dumps(
                {
                    "model_type": "llama",
                    "hidden_size": 64,
                    "intermediate_size": 128,
                    "num_hidden_layers": 2,
                    "num_attention_heads": 4,
                    "num_key_value_heads": 2,
                    "vocab_size": 1000,
                    "max_position_embeddings": 512,
                    "tie_word_embeddings": False,
                }
            )
        )
        return file

    def test_a_file_and_its_folder_are_the_same(self, llama: Path) -> None:
        options = ("memory", "--world", "1", "--max-length", "128")
        answer = data(*options, "--model", str(llama))
        assert data(*options, "--model", str(llama.parent)) == answer
        layer = 64 * (64 + 32 + 32) + 64 * 64 + 3 * 64 * 128 + 2 * 64
        parameters = 2 * 1000 * 64 + 2 * layer + 64
        assert answer["bytes"]["parameters"] == 2 * parameters
        assert answer["bytes"]["optimizer"] == 4 * parameters

    @pytest.mark.parametrize("gpu", [(), ("--gpu", "h100")])
    def test_one_that_cannot_be_counted_says_what_is_missing(
        self, tmp_path: Path, gpu: tuple[str, ...]
    ) -> None:
        file = tmp_path / "config.json"
        file.write_text(json.dumps(UNCOUNTABLE))
        done = cli(*("memory", "--world", "8", "--max-length", "128", "--model", str(file), *gpu))
        assert (done.code, done.out) == (2, "")
        assert "model_type 'mamba9' cannot be counted" in done.words
        assert "give --model" not in done.words

    @pytest.mark.parametrize("verb", ["check", "list", "solve"])
    def test_it_is_in_nobody_s_way_where_no_memory_is_asked_for(
        self, tmp_path: Path, verb: str
    ) -> None:
        file = tmp_path / "config.json"
        file.write_text(json.dumps(UNCOUNTABLE))
        model = ("--model", str(file), "--max-length", "128")
        assert cli(verb, "--world", "8", *model).code == 0
        done = cli(verb, "--world", "8", *model, "--gpu-memory", "80")
        assert done.code == 2
        assert "model_type 'mamba9' cannot be counted" in done.words

    def test_none_at_all(self) -> None:
        done = cli("memory", "--world", "8")
        assert done.code == 2
        assert "the model's size is missing" in done.words
        assert "give --model" in done.words
        assert "no such file, folder or model" in cli(*EIGHT[:3], "--model", "llama-9").words


class TestMisuse:
    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (("--gpu-memory", "80 parsecs"), "takes a size such as 80GiB, 80GB or 80 (GiB)"),
            (("--gpu-memory", "1e9999999999"), "takes a size such as 80GiB"),
            (("--gpu-memory", ""), "takes a size such as 80GiB"),
            (("--gpu-memory", "0"), "gpu_memory is a size from 1MiB to 1000000000GB, got"),
            (("--gpu-memory=-80",), '1000000000GB, got "-80"'),
            (("--gpu-memory", "9" * 40), "gpu_memory is a size from"),
            (("--use-peft",), "the rank of its adapters is missing"),
            (("--precision-policy", "fp8"), "precision_policy has no value"),
            (("--where", "dp > 1"), "No such option: --where"),
            (("--format", "csv"), "csv"),
        ],
    )
    def test_messages_say_what_to_change(self, options: tuple[str, ...], says: str) -> None:
        done = cli(*EIGHT, *options)
        assert (done.code, done.out) == (2, "")
        assert says in done.words

    @pytest.mark.parametrize("form", ["text", "json"])
    def test_a_shape_that_has_no_memory_is_answered_as_a_check_does(self, form: str) -> None:
        done = cli(*EIGHT, "--tp", "3", "--format", form)
        assert done == cli("check", *EIGHT[1:], "--tp", "3", "--format", form)
        assert done.code == 1
        if form == "json":
            assert [repair["change"] for repair in done.data["repairs"]] == [
                {"tp_size": 4},
                {"tp_size": 2},
                {"tp_size": 8},
            ]
        none = cli(*EIGHT, "--tp", "3", "--repairs", "0")
        assert "nearest" not in none.out

    @pytest.mark.parametrize("world", ["8,16", "8..16", "0", "-8", "x", str(10**10)])
    def test_worlds(self, world: str) -> None:
        done = cli("memory", f"--world={world}", *LLAMA)
        assert (done.code, done.out) == (2, "")
        if "," in world or ".." in world:
            assert "memory takes one world" in done.words

    @pytest.mark.parametrize("verb", ["check", "list", "solve"])
    def test_a_bound_without_a_model(self, verb: str) -> None:
        for bound in (("--gpu-memory", "80"), ("--gpu", "h100")):
            done = cli(verb, "--world", "8", *bound)
            assert (done.code, done.out) == (2, "")
            assert "the model's size is missing" in done.words
            assert "give --model" in done.words

    def test_a_bound_without_a_length(self, tmp_path: Path) -> None:
        file = tmp_path / "config.json"
        shape = {
            "model_type": "llama",
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "vocab_size": 1000,
        }
        file.write_text(json.dumps(shape))
        for verb in ("memory", "check", "list", "solve"):
            done = cli(verb, "--world", "8", "--model", str(file), "--gpu-memory", "80")
            assert done.code == 2
            assert "the length of its sequences is missing" in done.words
            assert "give --max-length" in done.words

    @pytest.mark.parametrize(
        ("condition", "says"),
        [
            ("memory <= 40", "40 bytes? give a unit, such as 40GiB"),
            ("memory - 5GiB < 40", "40 bytes? give a unit"),
            ("2 * memory < 80", "80 bytes? give a unit"),
            ("max(memory, loss_bytes) < 40", "40 bytes? give a unit"),
            ("headroom >= -5", "-5 bytes? give a unit"),
            ("memory < 40 parsecs", "this is not an expression"),
            ("memory <= 40*2**30", "calculate with + - * // %"),
            ("memory", "memory is a number: compare it with something"),
            ("memory < 1.2.3GiB", "this is not an expression"),
            ("headroom > 5GiB", "give --gpu-memory"),
        ],
    )
    def test_conditions_on_memory(self, condition: str, says: str) -> None:
        done = cli("list", "--world", "8", *LLAMA, "--where", condition)
        assert (done.code, done.out) == (2, "")
        assert says in done.words


class TestCheck:
    def test_what_fits_is_accepted_with_its_memory(self) -> None:
        done = cli("check", "--world", "8", *LLAMA, "--gpu-memory", "80")
        assert done.code == 0
        assert (
            "memory fits: 69.71 GiB of 80.00 GiB on the fullest GPU (activations 38.50 GiB, "
            "parameters 16.83 GiB, loss 5.87 GiB, ...)"
        ) in done.words

    def test_what_does_not_is_rejected_with_the_numbers(self) -> None:
        done = cli("check", "--world", "8", *LLAMA, "--gpu-memory", "40")
        assert done.code == 1
        assert done.out.startswith("rejected  [halo] memory-exceeds-gpu")
        assert "because memory_per_gpu = 69.71 GiB > gpu_memory = 40.00 GiB" in done.words
        assert "nearest --gradient-checkpointing" in done.words

    def test_the_framework_s_verdict_comes_first(self) -> None:
        options = ("--tp", "2", "--cp", "2", "--gpu-memory", "10")
        answer = data("check", "--world", "8", *LLAMA, *options)
        rules = [violation["rule"] for violation in answer["violations"]]
        assert rules == ["axis-set-unsupported", "memory-exceeds-gpu"]

    def test_without_a_model_nothing_is_said_of_memory(self) -> None:
        assert "memory" not in data("check", "--world", "8")
        assert "memory" in data("check", "--world", "8", *LLAMA)

    def test_lines_may_state_the_bound(self, tmp_path: Path) -> None:
        lines: tuple[dict[str, object], ...] = (
            {"gpu_memory": 40},
            {"gpu_memory": "80GiB"},
            {"gpu_memory": 40 * GIB},
            {"gpu_memory": None},
            {},
            {"gpu_memory": "x"},
        )
        file = tmp_path / "lines.jsonl"
        file.write_text("".join(json.dumps({"world_size": 8} | line) + "\n" for line in lines))
        done = cli("check", "--jsonl", str(file), *LLAMA)
        assert done.code == 2
        answers = done.lines
        assert [answer["answer"] for answer in answers] == [
            "rejected",
            "accepted",
            "rejected",
            "accepted",
            "accepted",
            "error",
        ]
        limits = [answer["memory"].get("limit") for answer in answers[:5]]
        assert limits == [40 * GIB, 80 * GIB, 40 * GIB, None, None]
        assert answers[5]["line"] == 6
        assert 'got "x"' in answers[5]["error"]
        bounded = cli("check", "--jsonl", str(file), *LLAMA, "--gpu-memory", "60")
        assert [a["answer"] for a in bounded.lines][3:5] == ["accepted", "rejected"]

    def test_a_line_whose_account_lacks_a_number_is_an_error_of_its_own(
        self, tmp_path: Path
    ) -> None:
        file = tmp_path / "lines.jsonl"
        file.write_text('{"world_size": 8, "gpu_memory": 80}\n{"world_size": 8}\n')
        done = cli("check", "--jsonl", str(file))
        assert [answer["answer"] for answer in done.lines] == ["error", "accepted"]


class TestList:
    BOUNDED = ("list", "--world", "8", *LLAMA, "--gpu-memory", "60")

    def test_the_table_has_a_column(self) -> None:
        done = cli(*self.BOUNDED)
        assert done.code == 0
        heading, *rows, gap, given = done.out.splitlines()
        assert (gap, given.split()[:2]) == ("", ["all", "with"])
        assert heading.split()[-2:] == ["memory", "options"]
        assert [row.split("  ")[-2].strip() for row in rows] == [
            "46.41 GiB",
            "34.77 GiB",
            "29.26 GiB",
        ]
        assert [row.split("  ")[-1] for row in rows] == ["--cp 2", "--cp 4", "--cp 8"]
        assert "parsolve: complete: 3 valid; Z3 proved that no other is" in done.err

    def test_near_the_limit_is_said(self) -> None:
        done = cli("list", "--world", "8", *LLAMA, "--gpu-memory", "47GiB")
        assert [" near" in line for line in done.out.splitlines()[1:-2]] == [True, False, False]

    def test_without_a_model_there_is_no_column(self) -> None:
        assert "memory" not in cli("list", "--world", "8").out

    @pytest.mark.parametrize("form", ["json", "jsonl"])
    def test_json_states_the_bytes(self, form: str) -> None:
        done = cli(*self.BOUNDED, "--format", form)
        rows = done.data["solutions"] if form == "json" else done.lines
        assert [row["config"]["cp_size"] for row in rows] == [2, 4, 8]
        sizes = [row["derived"]["memory_per_gpu"] for row in rows]
        assert all(0 < size <= 60 * GIB for size in sizes)
        assert sizes == sorted(sizes, reverse=True)
        assert all(row["config"]["gpu_memory"] == 60 * GIB for row in rows)
        if form == "json":
            certificate = done.data["certificate"]
            assert certificate["status"] == "proved"
            assert done.data["complete"] is True
            assert "every configuration of the 7 shapes" in certificate["claim"]

    def test_csv_states_them_too(self) -> None:
        rows = list(csv.DictReader(io.StringIO(cli(*self.BOUNDED, "--format", "csv").out)))
        lines = cli(*self.BOUNDED, "--format", "jsonl").lines
        assert [int(row["memory_per_gpu"]) for row in rows] == [
            line["derived"]["memory_per_gpu"] for line in lines
        ]
        assert {row["gpu_memory"] for row in rows} == {str(60 * GIB)}
        bare = csv.DictReader(io.StringIO(cli("list", "--world", "8", "--format", "csv").out))
        assert "memory_per_gpu" not in (bare.fieldnames or ())

    @pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv"])
    def test_nothing_fits(self, form: str) -> None:
        done = cli("list", "--world", "8", *LLAMA, "--gpu-memory", "2", "--format", form)
        assert done.code == 1
        if form == "json":
            assert done.data["answer"] == "conflict"
            assert done.data["pins"] == {"gpu_memory": 2 * GIB}
            return
        assert "GiB > gpu_memory = 2.00 GiB" in done.words
        assert (done.out == "") == (form in {"jsonl", "csv"})


class TestSolve:
    @pytest.mark.parametrize("model", ["llama-3-8b", "llama-2-7b", "qwen3-8b"])
    def test_a_dense_model_named_is_solved(self, model: str) -> None:
        options = ("--model", model, "--max-length", "1024", "--gpu-memory", "80")
        answer = data("solve", "--world", "16", *options, "--maximize", "dp")
        assert answer["answer"] == "best"
        assert answer["objectives"][0]["value"] == 16
        assert answer["optimal"] is True
        assert all(s["config"]["model_kind"] == "dense" for s in answer["solutions"])

    def test_the_least_memory_is_told_in_its_unit(self) -> None:
        done = cli("solve", "--world", "8", *LLAMA, "--minimize", "memory")
        assert done.code == 0
        assert done.out.startswith("best  [halo] memory = 29.26 GiB (minimum), proved")
        assert "--cp 8" in done.words

    def test_the_smallest_cluster_that_fits(self) -> None:
        """Weights and states of 112.4 GB / n beside 63.8 GiB that no number of GPUs shares."""
        options = (*LLAMA, "--gpu-memory", "67", "--gpus-per-node", "4", "--cp", "1", "--tp", "1")
        answer = data("solve", "--world", "4..32", *options, "--minimize", "world")
        assert [goal["value"] for goal in answer["objectives"]] == [16]
        sizes = {
            world: data("memory", f"--world={world}", *options)["bytes"]["total"]
            for world in (4, 8, 12, 16)
        }
        assert [world for world, size in sizes.items() if size <= 67 * GIB] == [16]
        assert answer["optimal"] is True

    def test_a_conflict_offers_what_would_do(self) -> None:
        done = cli("solve", "--world", "8", *LLAMA, "--gpu-memory", "40", "--where", "dp >= 8")
        assert done.code == 1
        assert "asked --gpu-memory 40GiB" in done.words
        assert 'asked --where "dp >= 8"' in done.words
        assert "--gradient-checkpointing" in done.words
        assert "proof search: no smaller set of what was asked conflicts" in done.words

    def test_a_conflict_of_many_conditions_is_one_too(self) -> None:
        """Too many parts to try every subset: each that is told is needed, as was tried."""
        said = ["tp == 1", "cp == 1", "pp == 1", "dp == 8", "world == 8", "nodes == 1"]
        said += ["tokens_per_gpu > 10", "fsdp_width > 1"]
        conditions = [word for text in said for word in ("--where", text)]
        bounded = ("solve", "--world", "8", *LLAMA, "--gpu-memory", "40")
        done = cli(*bounded, *conditions)
        assert done.code == 1
        assert "these exclude each other:" in done.words
        assert "among these some" not in done.words
        assert "proof search: without any one of these something is valid" in done.words
        told = re.findall('asked --where "([^"]*)"', done.words)
        assert told
        assert cli(*bounded, *(word for text in told for word in ("--where", text))).code == 1
        for spared in told:
            fewer = [word for text in told if text != spared for word in ("--where", text)]
            assert cli(*bounded, *fewer).code == 0

    def test_out_of_time(self) -> None:
        done = cli(
            *("solve", "--world", "8", *LLAMA, "--gpu-memory", "40", "--timeout", "0.000001")
        )
        assert done.code == 3
        assert done.out.startswith("undecided")
