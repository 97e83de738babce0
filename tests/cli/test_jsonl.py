"""`parsolve check --jsonl`: many configurations, one verdict a line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import parsolve
from tests.cli.run import Outcome, cli, command, exit_code, process, process_environment

CHECK = ("check", "--jsonl", "-")
GOOD = b'{"world_size": 8, "gpus_per_node": 8, "ep_size": 8}'
BAD = b'{"world_size": 8, "gpus_per_node": 8, "ep_size": 4}'

UNREADABLE = [
    pytest.param(b"nope", "not JSON: Expecting value at column 1", id="no JSON"),
    pytest.param(b'{"world_size": 8', "not JSON", id="cut off"),
    pytest.param(b"{'world_size': 8}", "not JSON", id="single quotes"),
    pytest.param(GOOD + b" " + GOOD, "not JSON: Extra data", id="two on a line"),
    pytest.param(b"[8, 8]", "expected a JSON object, got an array", id="array"),
    pytest.param(b'"world_size"', "expected a JSON object, got a string", id="string"),
    pytest.param(b"null", "expected a JSON object, got null", id="null"),
    pytest.param(b"8", "expected a JSON object, got a number", id="number"),
    pytest.param(b"true", "expected a JSON object, got true or false", id="true"),
    pytest.param(b'{"world_size": NaN}', "NaN is not a size", id="NaN"),
    pytest.param(b'{"world_size": Infinity}', "Infinity is not a size", id="Infinity"),
    pytest.param(b'{"world_size": -Infinity}', "-Infinity is not a size", id="-Infinity"),
    pytest.param(b'{"world_size": 1e400}', "world_size must be an integer", id="1e400"),
    pytest.param(
        b'{"world_size": ' + b"9" * 5000 + b"}", "a number has too many digits", id="5000 digits"
    ),
    pytest.param(b'{"world_size": ' + b"9" * 400 + b"}", "beyond any real size", id="400 digits"),
    pytest.param(
        b'{"world_size": 8, "world_size": 16}', "world_size is given twice", id="duplicate key"
    ),
    pytest.param(
        b'{"world_size": 8, "tp": 2, "tp_size": 2}', "are the same field; give one", id="synonyms"
    ),
    pytest.param(
        b'{"world_size": 8, "tp_sise": 2}',
        "unknown field 'tp_sise': did you mean \"tp_size\"?",
        id="unknown field",
    ),
    pytest.param(b'{"world_size": 8, "": 2}', "unknown field ''", id="empty name"),
    pytest.param(
        b'{"world_size": 8, "trainer": "dop"}',
        'trainer has no value "dop": did you mean "dpo"?',
        id="unknown trainer",
    ),
    pytest.param(b'{"world_size": "8"}', 'must be an integer, got "8"', id="text for a size"),
    pytest.param(b'{"world_size": true}', "must be an integer", id="true for a size"),
    pytest.param(b'{"world_size": 8.5}', "must be an integer, got 8.5", id="fraction"),
    pytest.param(b'{"world_size": [8]}', "must be an integer", id="array for a size"),
    pytest.param(b'{"world_size": {"a": 8}}', "must be an integer", id="object for a size"),
    pytest.param(b'{"world_size": null}', "world_size must be an integer", id="null for a size"),
    pytest.param(
        b'{"world_size": 8, "use_hsdp": 1}', "must be true or false, got 1", id="1 for a flag"
    ),
    pytest.param(b'{"world_size": 8, "ep_scope": 1}', "ep_scope must be text", id="1 for text"),
    pytest.param(b'{"tp_size": 2}', "world_size is missing", id="no world"),
    pytest.param(b"{}", "world_size is missing", id="empty object"),
    pytest.param(b'{"world_size": 0}', "world_size must be at least 1, got 0", id="world 0"),
    pytest.param(b'{"world_size": -8}', "world_size must be at least 1, got -8", id="world -8"),
    pytest.param(b'{"world_size": 1000000000000000000}', "beyond any real size", id="10**18"),
    pytest.param(b'{"world_size": "\xff"}', "not UTF-8 text at byte 17", id="no UTF-8"),
    pytest.param(GOOD.decode().encode("utf-16"), "not UTF-8 text at byte 1", id="UTF-16"),
    pytest.param(b"\x00\x01\x02", "not JSON", id="binary"),
    pytest.param(b"[" * 100_000, "not a configuration: nested too deeply", id="deep"),
    pytest.param(b'{"world_size": ' + b" " * 2**21 + b"8}", "is longer than", id="2 MB line"),
    pytest.param(b" " * 2**21 + GOOD, "is longer than", id="2 MB of blanks before it"),
]


def check_lines(*lines: bytes, ending: bytes = b"\n") -> Outcome:
    return cli(*CHECK, stdin=ending.join(lines) + ending)


def answers(done: Outcome) -> list[str]:
    return [answer["answer"] for answer in done.lines]


class TestVerdicts:
    def test_one_line_out_for_each_line_in_in_order(self) -> None:
        sizes = [8, 4, 2, 3, 1, 8, 5]
        lines = [json.dumps({"world_size": 8, "ep_size": size}).encode() for size in sizes]
        done = check_lines(*lines)
        assert (done.code, done.err) == (1, "")
        assert [answer["config"]["ep_size"] for answer in done.lines] == sizes
        single = [parsolve.check(world_size=8, ep_size=size).answer for size in sizes]
        assert answers(done) == single

    def test_a_verdict_is_that_of_a_single_check(self) -> None:
        line = check_lines(BAD).lines[0]
        whole = cli(
            *("check", "--world", "8", "--gpus-per-node", "8", "--ep", "4"),
            *("--repairs", "0", "--format", "json"),
        ).data
        assert line == whole

    def test_repairs_are_computed_when_asked_for(self) -> None:
        assert "repairs" not in check_lines(BAD).lines[0]
        done = cli(*CHECK, "--repairs", "2", stdin=BAD)
        assert [r["change"] for r in done.lines[0]["repairs"]] == [{"ep_size": 2}, {"ep_size": 8}]
        assert done.lines[0]["more_repairs"] == 1

    def test_blank_lines_are_skipped_and_counted(self) -> None:
        done = check_lines(b"", GOOD, b"  \t", b"nope", b"", GOOD)
        assert answers(done) == ["accepted", "error", "accepted"]
        assert done.lines[1]["line"] == 4

    def test_a_file_is_read_like_standard_input(self, tmp_path: Path) -> None:
        file = tmp_path / "configurations.jsonl"
        content = b"\n".join([GOOD, BAD, b"nope"])
        file.write_bytes(content)
        from_file, from_stdin = cli("check", "--jsonl", str(file)), cli(*CHECK, stdin=content)
        assert from_file.out == from_stdin.out
        assert from_file.code == from_stdin.code == 2
        assert from_file.err == f"parsolve: {file}:3: not JSON: Expecting value at column 1\n"
        assert from_stdin.err == "parsolve: -:3: not JSON: Expecting value at column 1\n"

    @pytest.mark.parametrize(
        "content",
        [
            GOOD,
            GOOD + b"\n",
            GOOD + b"\r\n",
            b"\xef\xbb\xbf" + GOOD + b"\r\n\r\n",
            b"  " + GOOD + b"\t\n",
            b'{"world_size": 8.0, "gpus_per_node": 8e0, "ep_size": 8}',
            b'{"world": 8, "gpus-per-node": 8, "ep": 8}'.replace(b"-", b"_"),
        ],
        ids=["no newline", "LF", "CRLF", "BOM and CRLF", "blanks", "whole floats", "flag names"],
    )
    def test_spellings_of_a_line(self, content: bytes) -> None:
        done = cli(*CHECK, stdin=content)
        assert (done.code, done.err) == (0, "")
        assert answers(done) == ["accepted"]
        assert done.lines[0]["config"]["ep_size"] == 8


class TestExitCode:
    @pytest.mark.parametrize(
        ("lines", "code"),
        [
            ((), 2),
            ((GOOD, GOOD), 0),
            ((GOOD, BAD, GOOD), 1),
            ((GOOD, b"nope"), 2),
            ((b"nope", BAD, GOOD), 2),
        ],
    )
    def test_says_the_worst_that_was_found(self, lines: tuple[bytes, ...], code: int) -> None:
        assert check_lines(*lines).code == code


class TestBadLines:
    @pytest.mark.parametrize(("line", "message"), UNREADABLE)
    def test_are_reported_by_number_without_losing_the_others(
        self, line: bytes, message: str
    ) -> None:
        done = check_lines(GOOD, line, BAD)
        assert done.code == 2
        assert answers(done) == ["accepted", "error", "rejected"]
        error = done.lines[1]
        assert list(error) == ["answer", "line", "error"]
        assert error["line"] == 2
        assert message in error["error"]
        assert done.err == f"parsolve: -:2: {error['error']}\n"
        assert len(error["error"]) < 300

    def test_all_of_them_at_once(self) -> None:
        lines = [bad.values[0] for bad in UNREADABLE]
        assert all(isinstance(line, bytes) and b"\n" not in line for line in lines)
        done = check_lines(*(line for line in lines if isinstance(line, bytes)), GOOD)
        assert answers(done) == ["error"] * len(lines) + ["accepted"]
        assert [answer["line"] for answer in done.lines[:-1]] == list(range(1, len(lines) + 1))

    def test_a_label_that_is_no_unicode_is_escaped_again(self) -> None:
        done = process(*CHECK, stdin=b'{"world_size": 8, "ep_scope": "\\ud800"}')
        assert done.code == 1
        assert done.lines[0]["config"]["ep_scope"] == "\ud800"

    def test_a_terminal_without_unicode_gets_json_too(self) -> None:
        done = process(*CHECK, stdin=BAD, env={"PYTHONIOENCODING": "ascii"})
        assert (done.code, done.err) == (1, "")
        assert done.out.isascii()
        assert done.lines == check_lines(BAD).lines

    def test_an_empty_and_a_binary_file(self, tmp_path: Path) -> None:
        empty, binary = tmp_path / "empty", tmp_path / "binary"
        empty.write_bytes(b"")
        nothing = f"parsolve: {empty} holds no configuration\n"
        assert cli("check", "--jsonl", str(empty)) == Outcome(2, "", nothing)
        binary.write_bytes(bytes(range(256)) * 64)
        done = cli("check", "--jsonl", str(binary))
        assert done.code == 2
        assert set(answers(done)) == {"error"}


class TestDefaults:
    def test_options_hold_for_every_line_that_does_not_say_otherwise(self) -> None:
        given = ("--world", "8", "--gpus-per-node", "8", "--ep", "8", "--use-hsdp")
        lines = b'{}\n{"ep_size": 2}\n{"ep": 1}\n{"expert_parallel_size": 4}\n{"world_size": 16}\n'
        done = cli(*CHECK, *given, stdin=lines)
        assert [a["config"]["ep_size"] for a in done.lines] == [8, 2, 1, 4, 8]
        assert [a["config"]["world_size"] for a in done.lines] == [8, 8, 8, 8, 16]
        assert all(a["config"]["use_hsdp"] for a in done.lines)
        assert done.code == 1

    def test_a_model_file_holds_too(self, tmp_path: Path) -> None:
        file = tmp_path / "config.json"
        file.write_text('{"num_experts": 6, "num_experts_per_tok": 2}', encoding="utf-8")
        done = cli(*CHECK, "--model", str(file), stdin=GOOD)
        assert [v["rule"] for v in done.lines[0]["violations"]] == ["experts-not-divisible-by-ep"]

    def test_a_line_cannot_change_a_number_that_counts_rest_on(self) -> None:
        lines = b'{"world_size": 8, "num_hidden_layers": %d}\n' * 2 % (32, 40)
        done = cli(*CHECK, "--model", "llama-3-8b", stdin=lines)
        assert [line["answer"] for line in done.lines] == ["accepted", "error"]
        assert "name the model with this number" in done.lines[1]["error"]

    def test_a_bad_option_is_misuse_at_once(self) -> None:
        done = cli(*CHECK, "--world", "0", stdin=GOOD)
        assert (done.code, done.out) == (2, "")


class TestFiles:
    def test_that_cannot_be_read_are_misuse(self, tmp_path: Path) -> None:
        for path, why in (
            (tmp_path / "absent.jsonl", "No such file or directory"),
            (tmp_path, "Is a directory"),
            (tmp_path / "absent" / "x", "No such file or directory"),
        ):
            done = cli("check", "--jsonl", str(path))
            assert done == Outcome(2, "", f"parsolve: cannot read {path}: {why}\n")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    @pytest.mark.parametrize(
        "arguments",
        [CHECK, ("check", "--world", "8"), ("list", "--world", "8"), ("rules",), ("--help",)],
        ids=lambda arguments: arguments[0],
    )
    def test_a_full_disk_is_said(self, arguments: tuple[str, ...]) -> None:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                command(*arguments),
                input=GOOD,
                stdout=full,
                stderr=subprocess.PIPE,
                env=process_environment(),
                check=False,
                timeout=60,
            )
        assert done.returncode == 2
        assert done.stderr == b"parsolve: cannot write the output: No space left on device\n"


class TestStreaming:
    def test_each_line_is_answered_before_the_next_is_sent(self) -> None:
        with subprocess.Popen(
            command(*CHECK),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=process_environment(),
        ) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            for line, verdict in ((GOOD, "accepted"), (b"nope", "error"), (BAD, "rejected")) * 3:
                running.stdin.write(line + b"\n")
                running.stdin.flush()
                answer: dict[str, Any] = json.loads(running.stdout.readline())
                assert answer["answer"] == verdict
            running.stdin.close()
            assert running.stdout.read() == b""
            assert running.wait(timeout=60) == 2

    def test_a_reader_that_leaves_ends_it_without_a_traceback(self) -> None:
        with subprocess.Popen(
            command(*CHECK),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=process_environment(),
        ) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdin.write(GOOD + b"\n")
            running.stdin.flush()
            assert running.stdout.readline()
            running.stdout.close()
            running.stdin.write(GOOD + b"\n" + GOOD + b"\n")
            running.stdin.flush()
            assert exit_code(running.wait(timeout=60)) == 141
            assert running.stderr.read() == b""

    def test_a_closed_input_is_empty(self) -> None:
        done = subprocess.run(
            ["sh", "-c", '"$@" <&-', "sh", *command(*CHECK)],  # noqa: S607 - any shell will do
            capture_output=True,
            env={**process_environment(), "PATH": os.environ["PATH"]},
            check=False,
            timeout=60,
        )
        nothing = b"parsolve: standard input holds no configuration\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, b"", nothing)
