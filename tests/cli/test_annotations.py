"""``check FILE --format github`` and ``--format sarif``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import cli

RUN = "# 100% mine, really\nexpert_parallel_size: 3\nexpert_paralel_size: 8\n"


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "a,b:c.yaml"
    file.write_text(RUN, encoding="utf-8")
    return str(file)


def test_github(path: str) -> None:
    outcome = cli("check", path, "--world", "8", "--format", "github")
    assert outcome.code == 1
    first, *rest = outcome.out.splitlines()
    escaped = path.replace(",", "%2C").replace(":", "%3A")
    assert first.startswith(f"::error file={escaped},line=2,col=1,title=parsolve ")
    assert "Nearest valid: expert_parallel_size: 2." in first
    assert any(
        "::notice " in line and "did you mean expert_parallel_size?" in line for line in rest
    )
    assert rest[-1] == "parsolve: 0 accepted, 1 rejected, 0 unreadable"


def test_sarif(path: str) -> None:
    outcome = cli("check", path, "--world", "8", "--format", "sarif")
    assert outcome.code == 1
    log = outcome.data
    assert log["version"] == "2.1.0"
    (run_,) = log["runs"]
    rules = [rule["id"] for rule in run_["tool"]["driver"]["rules"]]
    for result in run_["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].startswith("file:///")
    assert run_["results"][0]["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 2,
        "startColumn": 1,
    }


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("expert_parallel_size: [8\n", encoding="utf-8")
    outcome = cli("check", str(file), "--world", "8", "--format", "github")
    assert outcome.code == 2
    assert outcome.out.startswith(f"::error file={file},line=2,col=1,title=parsolve unreadable::")


@pytest.mark.parametrize("format_", ["github", "sarif"])
def test_annotations_need_a_file(format_: str) -> None:
    outcome = cli("check", "--world", "8", "--format", format_)
    assert outcome.code == 2
    assert "annotates lines of files; give FILE" in outcome.err
