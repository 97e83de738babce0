"""Files recognised and read: what is understood, what is ignored and why, what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Accepted, Rejected
from parsolve.solver.facts import with_facts
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.document import LARGEST_FILE, FileProblem, Unrecognised
from parsolve.solver.files.formats import FORMATS
from parsolve.solver.files.judging import Asked, check_files, configured
from parsolve.solver.files.reading import CLOSE, contents, decoded, files_in, read

HALO = next(each for each in FORMATS if each.profile_name == "halo" and "yaml" in each.kinds)
HALO_WORDS = {*HALO.of_path, *HALO.profile.spellings}

RUN = """\
model_name_or_path: Qwen/Qwen3-30B-A3B
expert_parallel_size: 8
learning_rate: 1e-5
expert_paralel_size: 3
max_length: null
"""


def facts(
    profile: Profile, said: Mapping[str, object], model: str | None, worlds: list[int]
) -> dict[str, Any]:
    return with_facts(profile, said, model, None, worlds)


def asked(world: int | None = None, **given: object) -> Asked:
    return Asked(facts=facts, given=given, cluster=Cluster(world=world))


def test_what_is_understood_and_what_is_not() -> None:
    reading = read("run.yaml", RUN)
    assert reading.profile.name == "halo"
    assert {of: each.value for of, each in reading.said.items()} == {
        "model": "Qwen/Qwen3-30B-A3B",
        "ep_size": 8,
    }
    assert [(each.key, each.place.line, each.why) for each in reading.ignored] == [
        ("learning_rate", 3, ""),
        ("expert_paralel_size", 4, "did you mean expert_parallel_size?"),
        ("max_length", 5, "null: the default holds"),
    ]


def test_a_model_that_is_known_by_name_brings_its_numbers() -> None:
    config = configured(read("run.yaml", RUN), asked(8))
    assert config["num_experts"] == 128
    assert config["model_kind"] == "moe"


def test_a_model_that_is_not_known_is_said_to_be() -> None:
    reading = read("run.yaml", RUN.replace("Qwen/Qwen3-30B-A3B", "me/mine"))
    assert "model" not in reading.said
    assert "no model that is known by name" in reading.ignored[0].why


def test_options_replace_what_the_file_says() -> None:
    config = configured(read("run.yaml", RUN), asked(8, ep_size=4))
    assert config["ep_size"] == 4
    assert configured(read("run.yaml", RUN), asked(8, expert_parallel_size=4)) == config


def test_of_a_key_that_is_given_twice_the_last_one_counts() -> None:
    reading = read("run.yaml", "expert_parallel_size: 8\nexpert_parallel_size: 4\n")
    assert reading.said["ep_size"].value == 4
    assert [each.why for each in reading.ignored] == ["given again on line 2, which counts"]


def test_two_keys_of_one_field_must_agree() -> None:
    with pytest.raises(FileProblem, match=r"run.yaml:2:1: ep and expert_parallel_size \(line 1\)"):
        read("run.yaml", "expert_parallel_size: 8\nep: 4\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("expert_parallel_size: eight", "run.yaml:1:1: expert_parallel_size: ep_size must be an"),
        ("expert_parallel_size: 8\npacking: 3", "run.yaml:2:1: packing: packing must be true"),
        ("expert_parallel_size: [8]", "run.yaml:1:1: expert_parallel_size: ep_size must be an"),
        ("a: 1", "run.yaml: nothing in it is about parallelism or the batch"),
        ("- 1", "run.yaml: nothing in it is about parallelism or the batch"),
    ],
)
def test_what_is_wrong_has_a_place(text: str, said: str) -> None:
    with pytest.raises(FileProblem) as problem:
        read("run.yaml", text)
    assert said in str(problem.value)


def test_the_world_must_be_said() -> None:
    with pytest.raises(FileProblem, match="how many GPUs: give --world, or --nnodes"):
        configured(read("run.yaml", RUN), asked())


@pytest.mark.parametrize(
    ("own", "other", "sizes"),
    [
        (Cluster(world=16), Cluster(nodes=1, gpus_per_node=8), (16, 8)),
        (Cluster(world=4), Cluster(gpus_per_node=8), (4, None)),
        (Cluster(nodes=2), Cluster(nodes=1, gpus_per_node=8), (16, 8)),
        (Cluster(gpus_per_node=4), Cluster(nodes=2, gpus_per_node=8), (8, 4)),
        (Cluster(world=16, nodes=4), Cluster(gpus_per_node=8), (16, 4)),
        (Cluster(gpus_per_node=8), Cluster(world=32), (32, 8)),
        (Cluster(), Cluster(world=32, nodes=4), (32, 8)),
        (Cluster(), Cluster(nodes=4), (None, None)),
    ],
)
def test_options_say_more_of_the_cluster_than_files(
    own: Cluster, other: Cluster, sizes: tuple[int | None, int | None]
) -> None:
    assert own.over(other).sizes() == sizes


def test_folders_hold_other_files_too(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "run.yaml").write_text(RUN, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("expert_parallel_size: 3\n", encoding="utf-8")
    (tmp_path / "other.yaml").write_text("name: ci\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("expert_parallel_size: 3\n", encoding="utf-8")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "run.yaml").write_text(RUN, encoding="utf-8")
    answer = check_files([str(tmp_path)], asked(8))
    assert [Path(each.file).name for each in answer.files] == ["bad.yaml", "run.yaml"]
    assert [Path(each).name for each in answer.skipped] == ["other.yaml"]
    assert (answer.accepted, answer.rejected, answer.unreadable) == (1, 1, 0)
    assert answer.status == "rejected"


def test_a_rule_names_the_lines_that_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("# c\nexpert_parallel_size: 3\nlearning_rate: 1\n", encoding="utf-8")
    verdict = check_files([str(path)], asked(8)).files[0]
    assert isinstance(verdict.detail, Rejected)
    first = verdict.detail.violations[0].rule
    lines = {rule.rule: [each.line for each in rule.settings] for rule in verdict.rules}
    assert lines[first] == [2]


def test_a_folder_skips_no_training_file_that_is_wrong(tmp_path: Path) -> None:
    texts = {
        "chart.yaml": "{{ template }}: [\n",
        "syntax.yaml": "expert_parallel_size: [8\n",
        "tool.sh": "if then fi (\n",
        "value.yaml": "expert_parallel_size: eight\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "data.json").write_bytes(b" " * (LARGEST_FILE + 1))
    answer = check_files([str(tmp_path)], asked(8))
    assert [Path(each.file).name for each in answer.files] == ["syntax.yaml", "value.yaml"]
    assert [Path(each).name for each in answer.skipped] == ["chart.yaml", "data.json", "tool.sh"]
    assert answer.unreadable == 2


def test_files_of_no_known_format_are_skipped_where_that_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text("name: ci\n", encoding="utf-8")
    assert check_files([str(path)], asked(8)).unreadable == 1
    answer = check_files([str(path)], replace(asked(8), skips_unknown=True))
    assert (answer.files, answer.skipped, answer.status) == ((), (str(path),), "accepted")


def test_one_unreadable_file_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(RUN, encoding="utf-8")
    paths = [str(tmp_path / "none.yaml"), str(tmp_path / "run.yaml")]
    answer = check_files(paths, asked(8))
    assert [each.verdict for each in answer.files] == ["unreadable", "accepted"]
    assert answer.files[0].error == "cannot be read: No such file or directory"
    assert isinstance(answer.files[1].detail, Accepted)
    assert answer.status == "unreadable"


def test_what_is_no_text_has_a_place() -> None:
    with pytest.raises(FileProblem, match=r"run\.yaml:2:3: not UTF-8 text"):
        decoded("run.yaml", b"a: 1\nb:\xff")
    assert decoded("run.yaml", "a: ü".encode("utf-16")) == "a: ü"
    assert decoded("run.yaml", "\ufeffa: ü".encode()) == "a: ü"


def test_large_files_and_others_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_bytes(b" " * (LARGEST_FILE + 1))
    with pytest.raises(FileProblem, match="larger than 1,048,576 bytes"):
        contents(large)
    with pytest.raises(FileProblem, match="not a file"):
        contents("/dev/null")
    with pytest.raises(FileProblem, match="is no path"):
        contents("a\0b")


def test_a_key_that_is_given_twice_in_json() -> None:
    said = '{"train_batch_size": 8,\n "train_batch_size": 16, "zero_optimization": {"stage": 1}}'
    with pytest.raises(FileProblem, match=r"ds\.json:2:2: train_batch_size is given again"):
        read("ds.json", said)  # DeepSpeed refuses it
    other = read("halo.json", '{"expert_parallel_size": 8,\n "expert_parallel_size": 4}')
    assert other.said["ep_size"].value == 4
    assert [each.why for each in other.ignored] == ["given again on line 2, which counts"]


def test_folders_with_what_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "noise.yaml").write_bytes(bytes(range(128, 256)))
    (tmp_path / "named.yaml").write_bytes(b"expert_parallel_size: 8 # \xff\n")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    assert [each.name for each in files_in(tmp_path)] == [
        "gone.yaml", "loop.yaml", "named.yaml", "noise.yaml",
    ]  # fmt: skip
    with pytest.raises(Unrecognised):
        contents(tmp_path / "noise.yaml")
    for name in ("named", "gone", "loop"):
        with pytest.raises(FileProblem) as raised:
            contents(tmp_path / f"{name}.yaml")
        assert not isinstance(raised.value, Unrecognised)


def test_slips_are_found_among_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(word: str, among: list[str], *, n: int, cutoff: float) -> list[str]:
        nonlocal compared
        compared += len(among)
        return get_close_matches(word, among, n=n, cutoff=cutoff)

    monkeypatch.setattr("parsolve.solver.files.reading.get_close_matches", counted)
    many = "".join(f"some_key_{i}: {i}\n" for i in range(500))
    reading = read("x.yaml", f"{RUN}{many}")
    why = {each.key: each.why for each in reading.ignored}
    assert why["expert_paralel_size"] == "did you mean expert_parallel_size?"
    assert not any(why[f"some_key_{i}"] for i in range(500))
    assert compared < 500  # of some 170 that each key might be compared with


@given(st.sampled_from(sorted(HALO_WORDS)), st.data())
def test_no_slip_is_missed(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 1))
    letter = data.draw(st.sampled_from("aeimnrst_xq"))
    slip = data.draw(
        st.sampled_from([word[:at] + word[at + 1 :], word[:at] + letter + word[at:], word + letter])
    )
    reading = read("x.yaml", f"expert_parallel_size: 8\n{slip}: 1\n", "halo")
    if slip not in HALO_WORDS:
        close = get_close_matches(slip, HALO_WORDS, n=1, cutoff=CLOSE)
        why = {each.key: each.why for each in reading.ignored}
        assert why[slip] == (f"did you mean {close[0]}?" if close else "")
