"""The process: help, suggestions, bad input, exit codes; and never a traceback."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from parsolve.cli.app import EXAMPLES, SUMMARIES
from tests.cli.run import (
    Outcome,
    cli,
    command,
    process,
    process_environment,
    run_process,
    without_seconds,
)

NASTY = [
    (),
    ("",),
    ("-",),
    ("--",),
    ("--", "check"),
    ("-x",),
    ("--hlep",),
    ("help",),
    ("chek", "--world", "8"),
    ("solve",),
    ("solve", "extra"),
    ("check",),
    ("list",),
    ("list", "--world"),
    ("matrix", "extra"),
    ("schema", "--format", "json"),
    ("rules", "--stage", ""),
    ("--world",),
    ("--world", ""),
    ("--world", " "),
    ("--world", "0"),
    ("--world", "-5"),
    ("--world=-5",),
    ("--world", "3.5"),
    ("--world", "8,"),
    ("--world", "8,,16"),
    ("--world", ".."),
    ("--world", "..8"),
    ("--world", "8..16..32"),
    ("--world", "0x10"),
    ("--world", "1e3"),
    ("--world", "\u0661\u0662"),
    ("--world", str(10**9)),
    ("--world", str(10**9 + 1)),
    ("--world", str(10**18)),
    ("--world", str(10**30)),
    ("--world", f"1..{10**30}"),
    ("--world", "8", "--world", "16"),
    ("--world", "8", "--gpus-per-node", "0"),
    ("--world", "8", "--gpus-per-node", "-1"),
    ("--world", "8", "--gpus-per-node", str(10**18)),
    ("--world", "8", "--nvlink-domain", "-1"),
    ("--world", "8", "--nvlink-domain", "3"),
    ("--world", "8", "--nvlink-domain", str(10**18)),
    ("--world", "8", "--tp", "0"),
    ("--world", "8", "--tp", "-5"),
    ("--world", "8", "--tp", str(10**18)),
    ("--world", "8", "--tp", str(10**30)),
    ("--world", "8", "--ep", str(10**18 - 1)),
    ("--world", "8", "--pp", "0"),
    ("--world", "8", "--limit", "0"),
    ("--world", "8", "--limit", str(10**30)),
    ("--world", "8", "--timeout", "soon"),
    ("--world", "8", "--timeout", "1e-300"),
    ("--world", "8", "--timeout", "1e300"),
    ("--world", "8", "--where", "tp in (1, 2, 'x')"),
    ("--world", "8", "--where", "tp in ()"),
    ("--world", "8", "--where", "(lambda: 1)() > 0"),
    ("--world", "8", "--where", "[tp for tp in (1,)]"),
    ("--world", "8", "--where", "tp % 0 == 1"),
    ("--world", "8", "--where", "tp // (cp - 1) > 0"),
    ("--world", "8", "--where", "1 == 1"),
    ("--world", "8", "--where", "9" * 30 + " > tp"),
    ("--world", "8", "--where", "\ud800 > 1"),
    ("--world", "8", "--maximize", "tp if cp else ep"),
    ("--world", "8", "--maximize", "1"),
    ("--world", "8", "--maximize", "--minimize"),
    ("--world", "8", "--vary", ""),
    ("--world", "8", "--vary", "world"),
    ("--world", "8", "--vary", "trainer"),
    ("--world", "8", "--model", ""),
    ("--world", "8", "--model", "/dev/null"),
    ("--world", "8", "--model", "\0"),
    ("--world", "8", "--profile", ""),
    ("--world", "8", "--format", ""),
    ("--world", "8", "--trainer", ""),
    ("--world", "8", "--heads", ","),
    ("--world", "8", "--heads", "0"),
    ("--world", "8", "--heads", "-1,2"),
    ("--world", "8", "--heads", ",".join(["8"] * 2000)),
    ("--world", "8", "--ep-scope", "everywhere"),
    ("--world", "8", "--pp-split", "1,2,x"),
    ("check", "--world", "8", "--model-type", "\udcff"),
    ("check", "--world", "8", "--trainer", "\udcff"),
    ("check", "--world", "8", "--repairs", str(10**30)),
    ("check", "--world", "1", "--ep", "64", "--tp", "64", "--cp", "64"),
    ("check", "--world", str(10**9), "--ep", str(10**9 - 1)),
    ("check", "--world", "999999937", "--gpus-per-node", "1", "--tp", "7"),
    ("check", "--jsonl", ""),
    ("check", "--jsonl", "-", "--jsonl", "/dev/null"),
    ("list", "--world", "999999937", "--gpus-per-node", "1", "--limit", "2"),
    ("matrix", "--check", "-o", ""),
    ("matrix", "-o", "/"),
]


def helped(*arguments: str) -> Outcome:
    done = cli(*arguments, columns=80)
    assert done.err == ""
    return done


class TestHelp:
    @pytest.mark.parametrize("name", SUMMARIES)
    def test_of_a_command_fits_eighty_columns_and_cuts_nothing(self, name: str) -> None:
        done = helped(name, "--help")
        assert done.code == 0
        lines = done.out.splitlines()
        assert all(len(line) <= 80 for line in lines)
        assert "\u2026" not in done.out
        assert SUMMARIES[name] in done.words
        assert f"Example: {EXAMPLES[name]}" in done.words

    def test_lists_every_command_and_the_exit_codes(self) -> None:
        done = helped("--help")
        assert done.code == 0
        assert all(len(line) <= 80 for line in done.out.splitlines())
        assert all(summary in done.words for summary in SUMMARIES.values())
        assert "0 yes (accepted, found, proved), 1 no (rejected, conflict, refuted)" in done.words

    def test_short_form_and_no_arguments_show_the_same(self) -> None:
        done = helped("--help")
        assert process("--help", columns=80) == done
        assert helped("-h") == done
        assert helped().out.split() == done.out.split()
        assert helped("check", "-h") == helped("check", "--help")

    def test_of_a_switch_shows_the_side_that_changes_something(self) -> None:
        done = helped("check", "--help")
        assert "--use-hsdp " in done.out
        assert "--no-use-hsdp" not in done.out
        assert "--no-use-grouped-gemm" in done.out

    @pytest.mark.parametrize("name", ["solve", "check", "list"])
    def test_names_every_option_whole(self, name: str) -> None:
        words = helped(name, "--help").words.split()
        for flag in ("--world", "--natively-quantized-experts", "--moe", "--dense", "--model"):
            assert flag in words

    @pytest.mark.parametrize(
        "name",  # a shell would redirect; that of prove is a test of tests/solver
        [name for name in EXAMPLES if ">" not in EXAMPLES[name] and name != "prove"],
    )
    def test_examples_work(self, name: str, tmp_path: Path) -> None:
        arguments = shlex.split(EXAMPLES[name])[1:]
        if "-o" in arguments:
            place = arguments.index("-o") + 1
            arguments[place] = str(tmp_path / arguments[place])
        assert process(*arguments).code == (1 if name in {"check", "diff"} else 0)


class TestEntry:
    def test_version(self) -> None:
        done = cli("--version")
        assert (done.code, done.err) == (0, "")
        assert re.fullmatch(r"parsolve \d+\.\d+\.\d+\S*\n", done.out)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("chek",), "No such command 'chek'. Did you mean 'check'"),
            (("lst",), "No such command 'lst'. Did you mean 'list'"),
            (("zzz",), "No such command 'zzz'."),
            (("check", "--wrld", "8"), "No such option: --wrld (Possible options: --world)"),
            (("--wrld", "8"), "No such option: --wrld (Possible options: --where, --world)"),
            (("rules", "--stagee", "x"), "No such option: --stagee"),
            (("check", "--world", "8", "--max-lenght", "9"), "--max-length"),
        ],
    )
    def test_misspellings_are_answered_with_suggestions(
        self, arguments: tuple[str, ...], message: str
    ) -> None:
        done = cli(*arguments)
        assert (done.code, done.out) == (2, "")
        assert message in done.words

    def test_no_arguments_are_misuse(self) -> None:
        assert cli().code == 2

    def test_the_module_and_the_function_are_the_same(self) -> None:
        arguments = ("check", "--world", "8", "--ep", "4")
        assert process(*arguments) == cli(*arguments)

    def test_schema_is_json(self) -> None:
        done = cli("schema")
        assert (done.code, done.err) == (0, "")
        assert done.data["$schema"] == "https://json-schema.org/draft/2020-12/schema"

    def test_the_same_question_has_the_same_answer_whatever_hashes_are(self) -> None:
        asked = ("--world", "16", "--gpus-per-node", "8", "--cp", "1", "--ep", "3", "--tp", "5")
        outcomes = {
            without_seconds(process(*asked, env={"PYTHONHASHSEED": seed}).out) for seed in "123"
        }
        assert len(outcomes) == 1

    def test_colours_only_where_a_terminal_reads(self) -> None:
        assert "\x1b" not in process("check", "--world", "8", "--ep", "4").out

    def test_text_survives_an_encoding_without_its_characters(self) -> None:
        done = process(*("check", "--world", "8", "--ep", "4"), env={"PYTHONIOENCODING": "ascii"})
        assert (done.code, done.err) == (1, "")
        assert done.out.isascii()
        assert r"\u00b7 _validate_single_domain_multigroup_ep" in done.out

    @pytest.mark.parametrize(
        "arguments", ["--help", "check --help", "schema", "rules", "check --world 8"]
    )
    def test_a_reader_that_is_gone(self, arguments: str) -> None:
        with subprocess.Popen(
            command(*arguments.split()),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=process_environment(),
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.close()
            assert running.wait(timeout=60) == 141
            assert running.stderr.read() == b""

    @pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    @pytest.mark.parametrize("name", ["check --world 8", "list --world 8", "check --world 0"])
    def test_closed_streams(self, name: str, closed: str) -> None:
        shell = f'"$0" -m parsolve {name} {closed}'
        done = run_process(["sh", "-c", shell, sys.executable])
        assert done.code == (2 if name.endswith("0") else 0)
        assert "Traceback" not in done.err


class TestCompletion:
    def complete(self, words: str, position: int) -> set[str]:
        env = {
            "_PARSOLVE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(position),
        }
        done = process(env=env)
        assert (done.code, done.err) == (0, "")
        return set(done.out.split())

    def test_the_script_for_bash_is_printed(self) -> None:
        done = process(env={"_PARSOLVE_COMPLETE": "source_bash"})
        assert (done.code, done.err) == (0, "")
        assert "_PARSOLVE_COMPLETE=complete_bash" in done.out
        assert "complete -o default -F _parsolve_completion parsolve" in done.out

    def test_commands_and_options_are_completed(self) -> None:
        assert self.complete("parsolve ch", 1) == {"check"}
        assert self.complete("parsolve solve --max", 2) >= {"--maximize", "--max-length"}
        assert self.complete("parsolve check --tp 2 --gpus", 4) == {"--gpus-per-node"}
        assert self.complete("parsolve memory --format ", 3) == {"text", "json"}


class TestNoTraceback:
    @pytest.mark.parametrize("arguments", NASTY, ids=lambda a: ascii(a)[:50])
    def test_in_this_process(self, arguments: tuple[str, ...]) -> None:
        done = cli(*arguments)
        assert done.code in {0, 1, 2, 3}
        assert "Traceback" not in done.err
        assert len(done.err) < 6000
        if done.code in {0, 1, 3}:
            assert done.out
        else:
            assert done.err or "Usage" in done.out

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--world", "8", "--where", "("),
            ("--world", str(10**30)),
            ("check", "--world", "8", "--model-type", "\udcff", "--format", "json"),
            ("check", "--world", "8", "--trainer", "\udcff"),
            ("check", "--jsonl", "\udcff"),
            ("chek",),
        ],
        ids=ascii,
    )
    def test_in_a_process_of_its_own(self, arguments: tuple[str, ...]) -> None:
        done = process(*arguments)
        assert done.code in {0, 2}
        assert "Traceback" not in done.err
