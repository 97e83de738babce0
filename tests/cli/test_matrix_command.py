"""`parsolve matrix`: write the reference, or check that it is fresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsolve.cli.matrix import matrix_text
from parsolve.constraints import PROFILES
from parsolve.constraints.halo import HALO
from tests.cli.run import ROOT, cli, process

TEXT = matrix_text(HALO)


def test_the_repositorys_own_is_fresh() -> None:
    done = cli("matrix", "--check", "-o", str(ROOT / "matrix.md"))
    assert done.code == 0, "run `parsolve matrix`"
    assert done.err.endswith("matrix.md is fresh\n")


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_has_one(profile: str, tmp_path: Path) -> None:
    file = tmp_path / "matrix.md"
    assert cli("matrix", "--profile", profile, "-o", str(file)).code == 0
    text = file.read_text(encoding="utf-8")
    assert all(f"`{rule.id}`" in text for rule in PROFILES[profile].rules)


def test_stands_in_the_current_folder_unless_told_otherwise(tmp_path: Path) -> None:
    assert process("matrix", "--check", cwd=ROOT).code == 0
    done = process("matrix", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "parsolve: wrote matrix.md\n")
    assert (tmp_path / "matrix.md").read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_is_written_where_it_is_told(tmp_path: Path, option: str) -> None:
    file = tmp_path / "reference.md"
    file.write_text("old", encoding="utf-8")
    done = cli("matrix", option, str(file))
    assert (done.code, done.out, done.err) == (0, "", f"parsolve: wrote {file}\n")
    assert file.read_text(encoding="utf-8") == TEXT
    assert cli("matrix", "--check", option, str(file)).code == 0


@pytest.mark.parametrize("content", ["", TEXT[:-1], TEXT + "\n", TEXT.replace("EP", "PE", 1)])
def test_a_stale_one_fails_and_is_left_alone(tmp_path: Path, content: str) -> None:
    file = tmp_path / "matrix.md"
    file.write_text(content, encoding="utf-8")
    done = cli("matrix", "--check", "-o", str(file))
    assert (done.code, done.out) == (1, "")
    assert done.err == f"parsolve: {file} is stale; run parsolve matrix\n"
    assert file.read_text(encoding="utf-8") == content


def test_what_cannot_be_used_is_misuse(tmp_path: Path) -> None:
    missing, folder, binary = tmp_path / "absent.md", tmp_path, tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    for arguments, path, why in (
        (("--check",), missing, "No such file or directory"),
        (("--check",), folder, "Is a directory"),
        (("--check",), binary, "'utf-8' codec can't decode"),
        ((), folder, "Is a directory"),
        ((), tmp_path / "absent" / "matrix.md", "No such file or directory"),
    ):
        done = cli("matrix", *arguments, "-o", str(path))
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"parsolve: cannot use {path}: {why}")
    assert not missing.exists()
