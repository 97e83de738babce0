"""`parsolve fixtures`: four formats of one answer, and a file of tests that finds mistakes."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

import jsonschema
import pytest
import yaml

import parsolve
from parsolve.solver.answer import Fixture, Fixtures, as_data, json_schema
from tests.cli.run import (
    Outcome,
    cli,
    command,
    exit_code,
    process,
    process_environment,
    run_process,
)

ACCELERATE = ("fixtures", "--profile", "accelerate")
FORMATS = ("json", "jsonl", "yaml", "pytest")
ONE_WORLD = (*ACCELERATE, "--world", "8")
"""Takes less than a second."""

BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
"""An environment in which pytest is all that the file of tests has."""

LINE_TO_EDIT = "from mypackage.config import ParallelismConfig as validate  # <- edit this line"


@cache
def answer() -> Fixtures:
    return parsolve.fixtures(profile="accelerate")


@cache
def written(form: str) -> Outcome:
    return cli(*ACCELERATE, "--format", form)


def ids(wanted: Callable[[Fixture], bool]) -> set[str]:
    return {fixture.id for fixture in answer().fixtures if wanted(fixture)}


class TestFormats:
    @pytest.mark.parametrize("form", FORMATS)
    def test_data_goes_to_standard_output_and_a_summary_to_the_other(self, form: str) -> None:
        done = written(form)
        accepted = len(ids(lambda fixture: fixture.verdict == "accepted"))
        rejected = len(answer().fixtures) - accepted
        impossible = sum(each.why == "proved impossible" for each in answer().left_out)
        not_found = len(answer().left_out) - impossible
        assert done.code == 0
        assert done.out.endswith("\n")
        assert done.err == (
            f"parsolve: {accepted + rejected} fixtures of accelerate: {accepted} accepted, "
            f"{rejected} rejected\n"
            f"parsolve: left out: {impossible} proved impossible, {not_found} not found "
            "(named in --format json)\n"
        )

    def test_json_is_the_answer_and_fits_the_schema(self) -> None:
        data = written("json").data
        assert data == as_data(answer())
        jsonschema.validate(data, json_schema())
        assert data["answer"] == "fixtures"
        assert data["version"] == cli("--version").out.split()[-1]
        assert json.loads(cli("schema").out) == json_schema()

    def test_yaml_is_the_same_data(self) -> None:
        text = written("yaml").out
        assert yaml.safe_load(text) == as_data(answer())
        assert not re.search(r"[&*]id\d", text)

    def test_lines_carry_version_and_profile(self) -> None:
        lines = written("jsonl").lines
        data = as_data(answer())
        head = {"version": data["version"], "profile": "accelerate"}
        assert lines == [{**head, **fixture} for fixture in data["fixtures"]]

    def test_a_line_is_judged_as_it_says_by_check(self) -> None:
        """What `parsolve check --jsonl` makes of the configurations."""
        lines = written("jsonl").lines
        configs = "".join(json.dumps(line["config"]) + "\n" for line in lines)
        judged = cli("check", "--profile", "accelerate", "--jsonl", "-", stdin=configs).lines
        verdicts = [(each["answer"], each.get("rule")) for each in judged]
        assert [verdict for verdict, _ in verdicts] == [line["verdict"] for line in lines]

    def test_json_is_the_format_unless_another_is_asked_for(self) -> None:
        assert cli(*ACCELERATE).out == written("json").out

    def test_options_are_in_the_answer(self) -> None:
        options = ("--world", "72,8", "--per-rule", "2", "--strength", "1", "--seed", "7")
        done = cli(*ACCELERATE, *options)
        keys = ("worlds", "per_rule", "strength", "seed")
        assert [done.data[key] for key in keys] == [[8, 72], 2, 1, 7]
        assert f"; {done.data['combinations']} settings covered" in done.err
        jsonschema.validate(done.data, json_schema())
        pairs = cli(*ACCELERATE, "--strength", "2")
        assert f"; {pairs.data['combinations']} settings of 2 knobs covered" in pairs.err


class TestDeterminism:
    @pytest.mark.parametrize("form", ["json", "pytest"])
    def test_the_same_bytes_whatever_strings_hash_to(self, form: str) -> None:
        options = ("--strength", "2", "--per-rule", "2", "--format", form)
        one, other = (
            process(*ONE_WORLD, *options, env={"PYTHONHASHSEED": seed}) for seed in ("0", "12345")
        )
        assert one == other
        assert one.code == 0


class TestOutput:
    def test_to_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "cases"
        done = cli(*ACCELERATE, "--format", "yaml", "-o", str(file))
        assert (done.code, done.out) == (0, "")
        assert f"parsolve: wrote {file}\n" in done.err
        assert file.read_text(encoding="utf-8") == written("yaml").out

    def test_that_cannot_be_written(self) -> None:
        done = cli(*ONE_WORLD, "-o", "/")
        assert (done.code, done.out) == (2, "")
        assert "cannot write /" in done.err

    def test_that_nobody_reads(self) -> None:
        with subprocess.Popen(
            command(*ONE_WORLD, "--format", "yaml"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=process_environment(),
        ) as running:
            assert running.stdout
            assert running.stderr
            running.stdout.close()
            said = running.stderr.read().decode()
            assert exit_code(running.wait(timeout=60)) == 141
            assert "Traceback" not in said


class TestMisuse:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--profile", "nope"), "no profile 'nope'; there are: halo"),
            (("--profile", "all"), "no profile 'all'"),
            (("--world", "abc"), "a world is a number, a list (8,16) or a range"),
            (("--world", ""), "a world is a number, a list (8,16) or a range"),
            (("--world", "8,,16"), "a world is a number, a list (8,16) or a range"),
            (("--world", "0"), "world_size must be at least 1, got 0"),
            (("--world", "-1"), "world_size must be at least 1, got -1"),
            (("--world", "8..4"), "the range 8..4 is empty"),
            (("--world", "1..33"), "at most 32 worlds at once"),
            (("--world", "9" * 30), "world_size is beyond any real size"),
            (("--per-rule", "0"), "the number per rule is from 1 to 100, got 0"),
            (("--per-rule", "101"), "the number per rule is from 1 to 100, got 101"),
            (("--per-rule", "x"), "'x' is not a valid int"),
            (("--strength", "9"), "the strength is from 0 to 3, got 9"),
            (("--strength", "-1"), "the strength is from 0 to 3, got -1"),
            (("--seed", "x"), "'x' is not a valid int"),
            (("--format", "xml"), "'xml' is not one of 'json', 'jsonl', 'yaml', 'pytest'"),
        ],
    )
    def test_it_says_what_is_wrong(self, arguments: tuple[str, ...], said: str) -> None:
        profile = () if "--profile" in arguments else ACCELERATE[1:]
        done = cli("fixtures", *profile, *arguments, columns=200)
        assert (done.code, done.out) == (2, "")
        assert said in done.words

    @pytest.mark.parametrize(
        "against", ["", "module", "module:", ":name", "a-b:name", "m:name as x", "m\n:n"]
    )
    def test_what_is_no_callable_is_refused(self, against: str) -> None:
        done = cli(*ONE_WORLD, "--format", "pytest", "--against", against)
        assert (done.code, done.out) == (2, "")
        assert "--against takes package.module:callable, got" in done.err

    @pytest.mark.parametrize("form", FORMATS[:3])
    def test_a_validator_goes_with_tests_only(self, form: str) -> None:
        done = cli(*ONE_WORLD, "--format", form, "--against", "module:name")
        assert (done.code, done.out) == (2, "")
        assert "--against goes with --format pytest" in done.err


# The file of tests.


@dataclass(frozen=True)
class Run:
    """What pytest made of the file."""

    code: int
    out: str

    def named(self, outcome: str) -> set[str]:
        """The ids of the tests with this outcome."""
        pattern = rf"^{outcome} test_cases\.py::test_verdict\[(.*?)\]"
        return set(re.findall(pattern, self.out, re.MULTILINE))

    @property
    def failed(self) -> set[str]:
        return self.named("FAILED")

    @property
    def passed(self) -> set[str]:
        return self.named("PASSED")


def pytest_run(folder: Path, *options: str, env: Mapping[str, str] | None = None) -> Run:
    words = (
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-q",
        "-rA",
        "--tb=short",
        *options,
    )
    done = run_process([*words, "test_cases.py"], cwd=folder, env={**BARE, **(env or {})})
    return Run(done.code, done.out)


def file_against(folder: Path, against: str = "mine:validate") -> None:
    """Write the file of tests that `parsolve fixtures` makes for this validator."""
    text = written("pytest").out
    module, _, name = against.partition(":")
    line = f"from {module} import {name} as validate"
    text = text.replace("--format pytest\n", f"--format pytest --against {against}\n", 1)
    (folder / "test_cases.py").write_text(text.replace(LINE_TO_EDIT, line), encoding="utf-8")


def run_against(
    folder: Path, validator: str, *options: str, env: Mapping[str, str] | None = None
) -> Run:
    """What the file of tests says of a validator with this source."""
    (folder / "mine.py").write_text(dedent(validator), encoding="utf-8")
    file_against(folder)
    return pytest_run(folder, *options, env=env)


ASKS_CHECK = """
    import parsolve

    def refuse(**fields):
        found = parsolve.check(fields, profile="accelerate", repairs=0)
        if found.answer == "rejected":
            raise ValueError(found.violations[0].rule, "and why")
        return found
"""
"""A validator whose rules are the profile's."""


class TestTheFile:
    def test_its_line_is_what_against_says(self, tmp_path: Path) -> None:
        done = cli(*ACCELERATE, "--format", "pytest", "--against", "mine:validate")
        file_against(tmp_path)
        assert done.out == (tmp_path / "test_cases.py").read_text(encoding="utf-8")

    def test_it_says_what_it_is_and_how_it_was_made(self) -> None:
        about = ast.get_docstring(ast.parse(written("pytest").out))
        assert about is not None
        assert f"{len(answer().fixtures)} test cases" in about
        assert answer().version in about
        assert "parsolve fixtures --profile accelerate --format pytest" in about

    def test_the_command_in_it_makes_it(self) -> None:
        options = ("--world", "8,16", "--per-rule", "2", "--strength", "1", "--seed", "3")
        text = cli(*ACCELERATE, *options, "--format", "pytest").out
        made_by = re.search(r"^Made by parsolve \S+: parsolve (.*)$", text, re.MULTILINE)
        assert made_by
        assert cli(*made_by[1].split()).out == text

    def test_unedited_it_fails_and_shows_the_line_to_edit(self, tmp_path: Path) -> None:
        (tmp_path / "test_cases.py").write_text(written("pytest").out, encoding="utf-8")
        done = pytest_run(tmp_path)
        assert done.code == 2
        assert LINE_TO_EDIT in done.out
        assert "No module named 'mypackage'" in done.out

    def test_it_needs_nothing_but_pytest(self) -> None:
        tree = ast.parse(written("pytest").out)
        named = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        assert named == {"inspect", "pytest"}

    def test_one_case_is_run_by_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text("def validate(**fields):\n    pass\n")
        file_against(tmp_path)
        name = "test_cases.py::test_verdict[cp-with-sp/rejects]"
        words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", name]
        done = run_process(words, cwd=tmp_path, env=BARE)
        assert "1 failed" in done.out
        assert "accepted, though cp-with-sp forbids it: Both split the sequence" in done.out


class TestAgainst:
    def test_a_right_one_passes_everything(self, tmp_path: Path) -> None:
        done = run_against(
            tmp_path,
            ASKS_CHECK
            + """
    def validate(**fields):
        return refuse(**fields)
""",
        )
        assert (done.code, done.passed) == (0, ids(lambda _: True))

    def test_its_own_names_for_fields_are_found(self, tmp_path: Path) -> None:
        """Other spellings, and parameters without a default."""
        done = run_against(
            tmp_path,
            ASKS_CHECK
            + """
    def validate(world, tp, context_parallel_size, sp_size, dp_replicate, dp_shard, *,
                 distributed_type, cp_backend, cp_comm_strategy, sp_backend,
                 sp_attn_implementation, sp_seq_length_is_variable, sequence_length=None,
                 gpus_per_node=0, domain=0):
        refuse(world_size=world, tp_size=tp, cp_size=context_parallel_size, sp_size=sp_size,
               dp_replicate_size=dp_replicate, dp_shard_size=dp_shard,
               distributed=distributed_type, cp_backend=cp_backend,
               cp_comm_strategy=cp_comm_strategy, sp_backend=sp_backend,
               sp_attention=sp_attn_implementation,
               variable_seq_length=sp_seq_length_is_variable, seq_length=sequence_length,
               gpus_per_node=gpus_per_node, nvlink_domain_size=domain)
""",
        )
        taken = ids(lambda fixture: "micro_batch" not in fixture.config)
        assert (done.code, done.passed) == (0, taken)

    def test_a_rule_that_is_missing_is_named(self, tmp_path: Path) -> None:
        done = run_against(
            tmp_path,
            ASKS_CHECK
            + """
    def validate(**fields):
        try:
            refuse(**fields)
        except ValueError as refusal:
            if refusal.args[0] != "cp-with-sp":
                raise
""",
        )
        assert done.code == 1
        assert done.failed == ids(lambda fixture: fixture.rule == "cp-with-sp")
        assert "cp-with-sp/rejects" in done.failed
        assert "accepted, though cp-with-sp forbids it: Both split the sequence" in done.out
        assert "cp-with-sp alone rejects it" in done.out

    def test_one_that_refuses_too_much_says_what_it_said(self, tmp_path: Path) -> None:
        done = run_against(
            tmp_path,
            ASKS_CHECK
            + """
    def validate(**fields):
        refuse(**fields)
        if fields.get("cp_size", 1) > 2:
            raise NotImplementedError("cp beyond 2")
""",
        )
        wide = ids(lambda f: f.verdict == "accepted" and f.config.get("cp_size", 1) > 2)
        assert wide
        assert done.failed == wide
        assert "refused, though valid: NotImplementedError: cp beyond 2" in done.out

    def test_another_rule_first_is_a_mistake_where_it_is_named(self, tmp_path: Path) -> None:
        done = run_against(
            tmp_path,
            ASKS_CHECK
            + """
    def validate(**fields):
        found = parsolve.check(fields, profile="accelerate", repairs=0)
        if found.answer == "rejected":
            raise ValueError(found.violations[-1].rule)
""",
        )
        assert done.failed == ids(lambda f: bool(f.violated) and f.violated[-1] != f.rule)
        assert done.failed
        assert "refused by another rule first: ValueError:" in done.out

    def test_what_is_raised_without_a_rule_is_a_verdict_only(self, tmp_path: Path) -> None:
        done = run_against(
            tmp_path,
            ASKS_CHECK
            + """
    def validate(**fields):
        try:
            refuse(**fields)
        except ValueError:
            raise RuntimeError("no") from None
""",
        )
        assert (done.code, done.failed) == (0, set())

    def test_what_is_derived_is_compared(self, tmp_path: Path) -> None:
        done = run_against(
            tmp_path,
            ASKS_CHECK
            + """
    from types import SimpleNamespace

    def validate(**fields):
        derived = refuse(**fields).derived
        wrong = derived["data_parallel_size"] + (fields["world_size"] == 2)
        return SimpleNamespace(**{**derived, "data_parallel_size": wrong})
""",
        )
        two = ids(lambda f: f.verdict == "accepted" and f.config["world_size"] == 2)
        assert two
        assert done.failed == two
        assert re.search(r"data_parallel_size = \d+, not \d+", done.out)

    def test_a_class_that_checks_itself(self, tmp_path: Path) -> None:
        done = run_against(
            tmp_path,
            ASKS_CHECK
            + """
    from dataclasses import asdict, dataclass

    @dataclass
    class validate:
        world_size: int
        tp_size: int = 1
        cp_size: int = 1
        sp_size: int = 1
        dp_replicate_size: int = 1
        dp_shard_size: int = 1
        distributed: str = "fsdp2"
        cp_backend: str = "torch"
        cp_comm_strategy: str = "allgather"
        sp_backend: str = "deepspeed"
        sp_attention: str = "sdpa"
        variable_seq_length: bool = True
        seq_length: int | None = None

        def __post_init__(self):
            refuse(**asdict(self))

        @property
        def total_size(self):
            return self.tp_size * self.cp_size * self.sp_size * self.dp_replicate_size \\
                * self.dp_shard_size
""",
        )
        fields = {"gpus_per_node", "nvlink_domain_size", "micro_batch"}
        without = ids(lambda fixture: not fields & set(fixture.config))
        assert done.code == 0
        assert done.passed == without

    def test_a_field_that_it_does_not_take_is_skipped_with_its_name(self, tmp_path: Path) -> None:
        done = run_against(
            tmp_path,
            """
    def validate(world_size, tp_size=1):
        if tp_size < 1 or world_size % tp_size:
            raise ValueError
""",
        )
        axes = {"tp_size", "cp_size", "sp_size", "dp_replicate_size", "dp_shard_size"}
        judged = ids(lambda f: set(f.config) <= {"world_size", *axes})
        assert done.passed
        assert done.passed | done.failed == judged
        assert f"{len(answer().fixtures) - len(judged)} skipped" in done.out
        assert "the validator takes no distributed" in done.out

    def test_what_it_reads_in_the_environment_is_set_there(self, tmp_path: Path) -> None:
        """As accelerate does it; what the caller has set there is hidden."""
        done = run_against(
            tmp_path,
            ASKS_CHECK
            + """
    import os

    NAMES = ("tp_size", "cp_size", "sp_size", "dp_replicate_size", "dp_shard_size")

    def validate(*, world_size, distributed="fsdp2", cp_backend="torch",
                 cp_comm_strategy="allgather", sp_backend="deepspeed", sp_attention="sdpa",
                 variable_seq_length=True, seq_length=None, gpus_per_node=0,
                 nvlink_domain_size=0):
        given = dict(locals())
        for name in NAMES:
            given[name] = int(os.environ.get("PARALLELISM_CONFIG_" + name.upper(), 1))
        refuse(**given)
""",
            env={"PARALLELISM_CONFIG_TP_SIZE": "7"},
        )
        taken = ids(lambda fixture: "micro_batch" not in fixture.config)
        assert (done.code, done.passed) == (0, taken)

    def test_an_accident_is_no_refusal(self, tmp_path: Path) -> None:
        """Whatever the verdict is."""
        done = run_against(
            tmp_path,
            """
    def validate(world_size, **fields):
        if world_size % 2:
            return [][1]
        return world_size // 0 if len(fields) > 1 else fields.nothing
""",
            "-k",
            "mode or cp-with-sp",
        )
        named = ids(lambda f: "mode" in f.id or "cp-with-sp" in f.id)
        assert done.failed == named
        for accident in ("IndexError", "ZeroDivisionError", "AttributeError"):
            assert accident in done.out

    def test_an_argument_that_no_field_is_fails_with_its_name(self, tmp_path: Path) -> None:
        done = run_against(
            tmp_path,
            """
    def validate(flavour, **fields):
        pass
""",
            "-k",
            "cp-with-sp",
        )
        assert done.failed == ids(lambda fixture: "cp-with-sp" in fixture.id)
        assert "missing a required argument: 'flavour'" in done.out
