"""`parsolve list`: every format says the same, and whether that is everything."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import parsolve
from parsolve.solver.answer import json_schema
from tests.cli.run import (
    Outcome,
    cli,
    command,
    exit_code,
    process_environment,
    without_seconds,
)

CLUSTER = ("list", "--world", "8", "--gpus-per-node", "8", "--moe")
COUNT = 31
COMPLETE = f"parsolve: complete: {COUNT} valid; Z3 proved that no other is (N s)\n"
LONG = ("list", "--world", "1..4000", "--gpus-per-node", "1", "--moe")

Data = dict[str, Any]


def listed(form: str, *arguments: str) -> Outcome:
    return cli(*CLUSTER, *arguments, "--format", form)


def complaint(done: Outcome) -> str:
    """Standard error, seconds replaced: Z3 writes them where the listing ends."""
    head, _, _ = done.err.rpartition("(")
    return f"{head}(N s)\n" if done.err.endswith(" s)\n") else done.err


class TestFormats:
    def test_jsonl_is_what_python_returns(self) -> None:
        answer = parsolve.solutions(world=8, gpus_per_node=8, moe=True)
        assert answer.answer == "solutions"
        done = listed("jsonl")
        assert (done.code, complaint(done)) == (0, COMPLETE)
        expected = [{"config": s.config, "derived": s.derived} for s in answer.solutions]
        assert done.lines == expected
        assert len(expected) == COUNT

    def test_json_holds_the_same_and_says_that_it_is_complete(self) -> None:
        done = listed("json")
        assert (done.code, complaint(done)) == (0, COMPLETE)
        answer = done.data
        assert answer["solutions"] == listed("jsonl").lines
        assert (answer["answer"], answer["profile"]) == ("solutions", "halo")
        assert (answer["count"], answer["complete"]) == (COUNT, True)
        assert answer["certificate"]["status"] == "proved"
        assert "over the divisors of world_size" in answer["searched"]

    def test_csv_holds_the_same(self) -> None:
        done = listed("csv")
        assert (done.code, complaint(done)) == (0, COMPLETE)
        rows = list(csv.DictReader(io.StringIO(done.out)))
        assert len(rows) == COUNT
        for row, solution in zip(rows, listed("jsonl").lines, strict=True):
            config, derived = solution["config"], solution["derived"]
            for name, cell in row.items():
                effective = name.removeprefix("effective_")
                value = config[name] if name in config else derived.get(effective, "")
                assert cell == (str(value).lower() if isinstance(value, bool) else str(value))
            assert set(solution["config"]) <= set(row)

    def test_the_table_holds_the_same(self) -> None:
        done = listed("table")
        assert (done.code, complaint(done)) == (0, COMPLETE)
        head, *rows = done.out.splitlines()
        assert head.split() == ["dp", "EP", "groups", "scope", "domains", "FSDP", "options"]
        assert len(rows) == COUNT
        for row, solution in zip(rows, listed("jsonl").lines, strict=True):
            dp, groups, scope, domains, fsdp, *options = row.split()
            derived = solution["derived"]
            assert int(dp) == derived["data_parallel_size"]
            assert int(domains) == derived["num_nvlink_domains"]
            assert int(fsdp) == derived["fsdp_width"]
            if (groups, scope) != ("-", "-"):
                assert int(groups) == derived["num_ep_groups"]
                assert scope == derived["ep_scope"]
            again = cli("check", *CLUSTER[1:], *(o for o in options if o != "(defaults)"))
            assert again.code == 0

    def test_the_table_is_the_default(self) -> None:
        assert cli(*CLUSTER).out == listed("table").out

    def test_several_worlds_are_told_apart(self) -> None:
        asked = ("list", "--world", "3,1,2", "--gpus-per-node", "1", "--where", "tp*cp == 1")
        table = cli(*asked).out.splitlines()
        assert table[0].split()[0] == "world"
        assert [row.split()[0] for row in table[1:]] == ["1", "2", "3"]
        rows = csv.DictReader(io.StringIO(cli(*asked, "--format", "csv").out))
        assert [row["world_size"] for row in rows] == ["1", "2", "3"]

    def test_pins_conditions_and_varied_knobs_are_columns(self) -> None:
        asked = ("--cp", "1", "--where", "tp == 1", "--vary", "use_hsdp", "--heads", "32,64")
        rows = list(csv.DictReader(io.StringIO(listed("csv", *asked).out)))
        assert {row["use_hsdp"] for row in rows} == {"false", "true"}
        assert {row["cp_size"] for row in rows} == {"1"}
        assert {row["tp_size"] for row in rows} == {"1"}
        assert {row["num_attention_heads"] for row in rows} == {"32,64"}

    @pytest.mark.parametrize("form", ["json", "jsonl"])
    def test_json_validates(self, form: str) -> None:
        schema = json_schema()
        if form == "jsonl":
            schema = {"$ref": "#/$defs/Solution", "$defs": schema["$defs"]}
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        done = listed(form)
        for value in [done.data] if form == "json" else done.lines:
            validator.validate(value)


class TestCompleteness:
    @pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv"])
    def test_a_limit_cuts_short_and_says_so(self, form: str) -> None:
        done = listed(form, "--limit", "3")
        assert done.code == 0
        assert done.err == "parsolve: incomplete: stopped at the limit of 3; 3 shown\n"
        if form == "json":
            answer = done.data
            assert (answer["count"], answer["complete"]) == (3, False)
            assert answer["solutions"] == listed("json").data["solutions"][:3]
            assert "certificate" not in answer
        else:
            assert listed(form).out.startswith(done.out)

    @pytest.mark.parametrize("limit", [COUNT, COUNT + 1, 10**6])
    def test_a_limit_that_cuts_nothing_leaves_it_complete(self, limit: int) -> None:
        done = listed("json", "--limit", str(limit))
        assert complaint(done) == COMPLETE
        assert (done.data["count"], done.data["complete"]) == (COUNT, True)

    def test_one_less_is_cut_short(self) -> None:
        done = listed("json", "--limit", str(COUNT - 1))
        assert done.data["complete"] is False

    def test_a_timeout_is_undecided_and_leaves_json(self) -> None:
        done = cli(*LONG, "--timeout", "0.5", "--format", "json")
        assert done.code == 3
        assert "incomplete: the time limit of 0.5 s passed" in done.err
        if done.data["answer"] == "solutions":
            assert done.data["complete"] is False
            assert done.data["count"] == len(done.data["solutions"])

    def test_a_node_size_that_was_assumed_is_said(self) -> None:
        done = cli("list", "--world", "4")
        assert "gpus_per_node was not given: 8 are assumed, or the world if it is" in done.err
        assert "assumed" not in cli("list", "--world", "4", "--gpus-per-node", "4", "--dense").err


class TestNothingValid:
    ASKED = ("list", "--world", "8", "--tp", "3")

    def test_is_a_conflict_like_that_of_solve(self) -> None:
        done = cli(*self.ASKED)
        assert (done.code, done.err) == (1, "")
        solved = cli("solve", *self.ASKED[1:])
        assert without_seconds(done.out) == without_seconds(solved.out)
        assert done.out.startswith("conflict  [halo] nothing is valid on 8 GPUs")

    def test_is_json_where_json_is_asked(self) -> None:
        done = cli(*self.ASKED, "--format", "json")
        assert done.code == 1
        assert done.data["answer"] == "conflict"
        assert done.data["pins"] == {"tp_size": 3}

    @pytest.mark.parametrize("form", ["jsonl", "csv"])
    def test_formats_of_rows_hold_rows_only(self, form: str) -> None:
        """Who reads rows gets none, and standard error says why."""
        done = cli(*self.ASKED, "--format", form)
        assert (done.code, done.out) == (1, "")
        assert "conflict  [halo] nothing is valid on 8 GPUs" in done.err


def stopped(running: subprocess.Popen[bytes]) -> tuple[str, str]:
    """What is printed after Ctrl-C, pressed again if unheard: Z3 may take the first for itself."""
    for _ in range(20):
        running.send_signal(signal.SIGINT)
        try:
            out, err = running.communicate(timeout=3)
        except subprocess.TimeoutExpired:
            continue
        return out.decode(), err.decode()
    running.kill()
    pytest.fail("Ctrl-C is not heard")


def started(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=process_environment(),
    )


def interrupted(form: str) -> Outcome:
    """A long listing that is interrupted once something was printed."""
    with started(*LONG, "--format", form) as running:
        assert running.stdout is not None
        begun = os.read(running.stdout.fileno(), 1)
        time.sleep(0.3)
        out, err = stopped(running)
    return Outcome(exit_code(running.returncode), begun.decode() + out, err)


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
class TestInterrupted:
    def test_json_stays_valid_and_says_that_it_is_incomplete(self) -> None:
        done = interrupted("json")
        assert done.code == 130
        answer = done.data
        assert answer["complete"] is False
        assert abs(answer["count"] - len(answer["solutions"])) <= 1  # Ctrl-C may come between
        jsonschema.validate(answer, json_schema())
        assert f"incomplete: interrupted; {answer['count']} shown" in done.err
        assert "Traceback" not in done.err

    @pytest.mark.parametrize("form", ["jsonl", "csv"])
    def test_lines_stay_whole(self, form: str) -> None:
        done = interrupted(form)
        assert done.code == 130
        assert done.out.endswith("\n")
        rows = list(csv.DictReader(io.StringIO(done.out))) if form == "csv" else done.lines
        assert rows
        assert "incomplete: interrupted" in done.err
        assert "Traceback" not in done.err

    @pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv"])
    def test_a_reader_that_leaves_ends_it_without_a_traceback(self, form: str) -> None:
        with started(*LONG, "--format", form) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            assert running.stdout.readline()
            running.stdout.close()
            assert exit_code(running.wait(timeout=60)) == 141
            assert running.stderr.read() == b""

    def test_a_search_without_output_ends_at_once(self) -> None:
        with started("solve", *LONG[1:]) as running:
            time.sleep(1)
            out, err = stopped(running)
        assert exit_code(running.returncode) == 130
        assert (out, err) == ("", "parsolve: interrupted\n")


def test_redirected_to_a_file_every_line_is_there(tmp_path: Path) -> None:
    file = tmp_path / "listing.jsonl"
    with file.open("wb") as out:
        subprocess.run(
            command(*CLUSTER, "--format", "jsonl"),
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=process_environment(),
            check=True,
            timeout=60,
        )
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len([json.loads(line) for line in lines]) == COUNT
