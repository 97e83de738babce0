"""``parsolve prove``: what it prints, its JSON, its exit codes, its files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from parsolve.solver.answer import json_schema
from tests.cli.run import cli

WRONG = '''
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    world_size: int
    tensor_parallel_size: int = 1
    ep_size: int = 1

    def __post_init__(self) -> None:
        if self.tensor_parallel_size < 1 or self.ep_size < 1:
            raise ValueError("sizes count ranks")
        if self.world_size % (self.tensor_parallel_size * self.ep_size):
            raise ValueError(f"{self.world_size} ranks do not split")


def leaves(world_size: int, tp_size: int = 1) -> None:
    """Refuses by leaving the process."""
    if world_size % tp_size:
        raise SystemExit(3)


def asserts(world_size: int, tp_size: int = 1) -> None:
    """Refuses by assertions."""
    assert tp_size >= 1, "sizes count ranks"
    assert world_size % tp_size == 0, "ranks do not split"


def reads(world_size: int) -> None:
    """Does what cannot be executed on unknown values."""
    if world_size > 2:
        with open("limits.txt") as limits:
            limits.read()
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with somebody's validator in it, as the current one."""
    (tmp_path / "theirs.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


class TestFamilies:
    def test_a_proved_family_is_one_line_and_exit_code_0(self) -> None:
        done = cli("prove", "allowlist", columns=80)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("proved  [halo] 32 statements about the rules, ")
        assert done.out.splitlines()[-1].split()[:4] == ["allowlist", "32", "0", "0"]

    def test_one_statement_can_be_named(self) -> None:
        data = cli("prove", "rules/tp-exceeds-stage", "--format", "json").data
        (proof,) = data["obligations"]
        assert proof["name"] == "rules/tp-exceeds-stage"
        assert proof["note"] == "implied by tp-not-dividing-stage"
        assert proof["witness"]["tp_size"] > proof["witness"]["world_size"]

    def test_json_has_what_is_promised_and_fits_the_schema(self) -> None:
        data = cli("prove", "laws", "rules/size-tp-min", "--format", "json").data
        jsonschema.validate(data, json_schema())
        assert (data["answer"], data["status"]) == ("proofs", "proved")
        for proof in data["obligations"]:
            assert {"name", "status", "seconds", "scope", "counterexample"} <= set(proof)
            assert (proof["scope"], proof["counterexample"]) == ("unbounded", None)

    def test_verbose_shows_every_statement(self) -> None:
        done = cli("prove", "rules/tp-exceeds-stage", "-v", columns=80)
        assert "found      implied by tp-not-dividing-stage" in done.out
        assert "at         --world 1 --tp 2" in done.out

    def test_no_time_left_is_undecided(self) -> None:
        done = cli("prove", "rules/tp-exceeds-stage", "--timeout", "0.001")
        assert done.code == 3
        assert "the time limit passed" in done.out

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("completenes",), "did you mean"),
            (("rules/tp-exceeds-stag",), "did you mean"),
            (("laws", "--tp", "2"), "go with --against"),
            (("laws", "--map", "a=tp_size"), "go with --against"),
            (("laws", "--recheck", "yices"), "takes cvc5"),
            (("laws", "--timeout", "-1"), "--timeout"),
            (("laws", "--against", "json:dumps"), "no family is named"),
            (("--against", "nowhere:f"), "cannot import nowhere"),
            (("--against", "json"), "module:callable"),
            (("--against", "json:dumbs"), 'did you mean "dumps"?'),
        ],
    )
    def test_misuse_says_what_to_change(self, arguments: tuple[str, ...], said: str) -> None:
        done = cli("prove", *arguments)
        assert done.code == 2
        assert said in done.words


class TestFiles:
    def test_questions_are_written_and_a_second_solver_agrees(self, tmp_path: Path) -> None:
        folder = tmp_path / "questions"
        done = cli(
            *("prove", "laws", "allowlist", "rules/tp-exceeds-stage"),
            *("--emit", str(folder), "--recheck", "cvc5", "--format", "json"),
        )
        files = sorted(folder.glob("*.smt2"))
        assert done.code == 0
        assert f"wrote {len(files)} files" in done.err
        second = json.loads(done.out)["recheck"]
        assert second["solver"] == "cvc5"
        assert second["contradicted"] == []
        assert second["confirmed"] + second["unknown"] == len(files) > 40
        assert second["confirmed"] > 40
        for file in files:
            text = file.read_text()
            assert text.count("(check-sat)") == 1
            assert "(set-info :status " in text

    def test_a_folder_that_cannot_be_made_is_misuse(self, tmp_path: Path) -> None:
        taken = tmp_path / "taken"
        taken.write_text("")
        done = cli("prove", "laws", "--emit", str(taken))
        assert done.code == 2
        assert "cannot write to" in done.err


@pytest.mark.usefixtures("here")
class TestAgainst:
    def test_differences_are_shown_with_both_verdicts(self) -> None:
        done = cli("prove", "--against", "theirs:Config", columns=80)
        assert done.code == 1
        assert done.out.startswith("refuted  [halo] ")
        assert "the profile rejects (ep-single-domain-multi-group), the validator accepts" in (
            done.words
        )
        assert "differs at --world" in done.words

    def test_what_cannot_be_executed_is_named_and_never_proved(self) -> None:
        done = cli("prove", "--against", "theirs:reads", "--format", "json")
        assert done.code in {1, 3}
        last = done.data["obligations"][-1]
        assert last["status"] in {"refuted", "undecided"}
        assert last["scope"].startswith("bounded to ")
        assert "theirs.py" in last["says"]
        assert all(each["status"] != "proved" for each in done.data["obligations"])

    def test_leaving_the_process_is_a_verdict_of_the_validator(self) -> None:
        done = cli("prove", "--against", "theirs:leaves", "--format", "json")
        assert done.code == 1
        assert done.data["status"] == "refuted"

    def test_assertions_refuse_and_are_no_crash(self) -> None:
        found = cli("prove", "--against", "theirs:asserts", "--format", "json").data["obligations"]
        statuses = {each["name"]: each["status"] for each in found}
        assert statuses["against/only-refuses"] == "proved"
        assert statuses["against/tp-not-dividing-stage"] == "proved"

    def test_help_says_that_code_is_run(self) -> None:
        done = cli("prove", "--help", columns=100)
        assert "only name code that you trust" in done.words
