"""YAML, JSON and TOML as settings with their places."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parsolve.solver.files.document import DEEPEST, MOST_ENTRIES, Document, FileProblem, Place
from parsolve.solver.files.trees import json_document, toml_document, yaml_document

Reader: TypeAlias = Callable[[str, str], Document | None]

YAML = """\
# a comment
tensor_parallel_size: 4
fsdp_config: {version: 2, reshard: true}
base: &base
  micro: 1
run:
  <<: *base
  lr: 1e-5
  targets: [q, k]
  nothing:
"""

TOML = """\
title = "run"

[parallelism]
tensor_parallel_degree = 4
"odd name".deep = 1
[training]
  seq_len = 4_096
inline = {a = 1, b = {c = 2}}
[[extra]]
x = 1
"""


def settings(document: Document | None) -> dict[str, tuple[Any, tuple[int, int]]]:
    assert document is not None
    return {
        each.key: (each.value, (each.place.line, each.place.column)) for each in document.entries
    }


def test_yaml() -> None:
    assert settings(yaml_document("run.yaml", YAML)) == {
        "tensor_parallel_size": (4, (2, 1)),
        "fsdp_config.version": (2, (3, 15)),
        "fsdp_config.reshard": (True, (3, 27)),
        "base.micro": (1, (5, 3)),
        "run.micro": (1, (5, 3)),
        "run.lr": ("1e-5", (8, 3)),
        "run.targets": (["q", "k"], (9, 3)),
        "run.nothing": (None, (10, 3)),
    }


def test_toml() -> None:
    assert settings(toml_document("run.toml", TOML)) == {
        "title": ("run", (1, 1)),
        "parallelism.tensor_parallel_degree": (4, (4, 1)),
        "parallelism.odd name.deep": (1, (5, 1)),
        "training.seq_len": (4096, (7, 3)),
        "training.inline.a": (1, (8, 11)),
        "training.inline.b.c": (2, (8, 23)),
        "extra": ([{"x": 1}], (1, 1)),
    }


def test_json() -> None:
    text = '{"zero_optimization": {"stage": 2},\n "x:y": "a { b",\n\t"z": [{"w": 1}], "e": {}}'
    assert settings(json_document("ds.json", text)) == {
        "zero_optimization.stage": (2, (1, 24)),
        "x:y": ("a { b", (2, 2)),
        "z": ([{"w": 1}], (3, 2)),
        "e": ({}, (3, 19)),
    }


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (yaml_document, "a: [1\nb: 2", "bad:2:2: not YAML: while parsing a flow sequence"),
        (yaml_document, "a:\n\t- 1", "bad:2:1: not YAML: while scanning for the next token"),
        (yaml_document, "\x00", "bad: not YAML: unacceptable character"),
        (yaml_document, "? [a]\n: 1", "bad:1:3: the name of a setting must be a text"),
        (yaml_document, "a: *nothing", "bad:1:4: not YAML: found undefined alias"),
        (yaml_document, "a: &a {b: *a}", "levels deep"),
        (yaml_document, "a: &a [*a]", "bad: nested too deeply"),
        (json_document, '{"a": }', "bad:1:7: not JSON: Expecting value"),
        (yaml_document, "a: 1\n---\nb: 2", "bad:3:1: several YAML documents"),
        (yaml_document, "---\n---\na: 1", "bad:3:1: several YAML documents"),
        (json_document, "[" * 100_000, "bad: not JSON: "),
        (json_document, '{"a": ' + "9" * 5000 + "}", "bad: not JSON: "),
        (toml_document, "a =\n", "bad:1:4: not TOML: Invalid value"),
        (toml_document, "a = 1\na = 2", "bad:2:6: not TOML: Cannot overwrite a value"),
    ],
)
def test_what_cannot_be_parsed_has_a_place(read: Reader, text: str, said: str) -> None:
    with pytest.raises(FileProblem) as problem:
        read("bad", text)
    assert said in str(problem.value)


def test_a_tag_constructs_nothing() -> None:
    document = yaml_document("run.yaml", "a: !!python/object/apply:os.getcwd []\nb: !mine 3\n")
    assert settings(document) == {"a": ([], (1, 1)), "b": ("3", (2, 1))}


def test_aliases_do_not_multiply() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    with pytest.raises(FileProblem, match=f"more than {MOST_ENTRIES:,} settings"):
        yaml_document("bomb.yaml", "\n".join(lines))


@pytest.mark.parametrize("read", [yaml_document, json_document, toml_document])
def test_nesting_has_a_limit(read: Reader) -> None:
    deep = DEEPEST + 1
    text = "{" + '"a": {' * deep + '"b": 1' + "}" * deep + "}"
    if read is toml_document:
        text = f"[{'.'.join(['a'] * (deep + 1))}]\nb = 1"
    with pytest.raises(FileProblem, match=f"nested more than {DEEPEST} levels deep"):
        read("deep", text)


def test_no_mapping_no_settings() -> None:
    assert yaml_document("list.yaml", "- 1\n- 2") is None
    assert yaml_document("empty.yaml", "") is None
    assert json_document("list.json", "[1]") is None


NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(
    lambda name: name not in {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
)
SCALARS = st.one_of(
    st.integers(-(10**6), 10**6),
    st.booleans(),
    st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=8),
)
TREES = st.dictionaries(
    NAMES,
    st.recursive(SCALARS, lambda deeper: st.dictionaries(NAMES, deeper, max_size=4), max_leaves=12),
    max_size=5,
)


def flat(tree: dict[str, Any], *path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            found |= flat(value, *path, key)
        else:
            found[".".join((*path, key))] = value
    return found


@given(TREES, st.sampled_from([None, 1, 3]))
def test_json_holds_what_its_library_reads(tree: dict[str, Any], indent: int | None) -> None:
    document = json_document("tree.json", json.dumps(tree, indent=indent))
    assert document is not None
    assert {each.key: each.value for each in document.entries} == flat(tree)


@given(TREES.filter(bool))
def test_yaml_holds_what_its_library_reads(tree: dict[str, Any]) -> None:
    document = yaml_document("tree.yaml", yaml.safe_dump(tree, sort_keys=False))
    assert document is not None
    assert {each.key: each.value for each in document.entries} == flat(tree)


@given(TREES)
def test_the_place_of_a_key_is_where_it_stands(tree: dict[str, Any]) -> None:
    text = json.dumps(tree, indent=1)
    document = json_document("tree.json", text)
    assert document is not None
    lines = text.splitlines()
    for each in document.entries:
        name = json.dumps(each.key.rpartition(".")[2])
        assert lines[each.place.line - 1][each.place.column - 1 :].startswith(name)


def test_places_count_from_one() -> None:
    document = yaml_document("run.yaml", "a: 1")
    assert document is not None
    assert document.entries[0].place == Place(1, 1)


def test_json_as_python_reads_it() -> None:
    found = json_document("x.json", '{"a": NaN, "b": {"c": 1,\n "c": -Infinity}}')
    assert found is not None
    read = [(each.key, each.value, each.place.line) for each in found.entries]
    assert read == [("b.c", 1, 1), ("a", "NaN", 1), ("b.c", "-Infinity", 2)]
