"""`parsolve report` without a browser: which question, which answer, what stands in the file."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from parsolve.cli.report.markup import Markup, markup, script_json, tag
from parsolve.constraints import PROFILES
from tests.cli.run import ROOT, Outcome, cli, command, process, process_environment

BROKEN_PIPE = 141
HALO = ("--world", "16", "--gpus-per-node", "8", "--moe")
REJECTED = ("--world", "8", "--gpus-per-node", "8", "--ep", "4")
CONFLICT = ("solve", "--world", "64", "--gpus-per-node", "8", "--tp", "16")


class Text(HTMLParser):
    """The visible text of a page by the ids it stands in, its data, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.stack: list[tuple[str, str]] = []
        self.by_id: dict[str, str] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag_: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag_, dict(attrs)))
        if tag_ not in {"meta", "link", "input", "br"}:
            self.stack.append((tag_, dict(attrs).get("id") or ""))

    def handle_endtag(self, tag_: str) -> None:
        assert self.stack.pop()[0] == tag_, f"</{tag_}> closes something else"

    def handle_data(self, data: str) -> None:
        for _, identity in self.stack:
            if identity:
                self.by_id[identity] = self.by_id.get(identity, "") + data

    @property
    def data(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.by_id["data"])


def report(*arguments: str, env: dict[str, str] | None = None) -> tuple[Outcome, Text]:
    done = cli("report", *arguments, env=env)
    return done, Text(done.out)


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "ask", "answer", "code"),
    [
        (HALO, "solve", "best", 0),
        ((*HALO, "--ep", "8"), "check", "accepted", 0),
        (("solve", *HALO, "--ep", "8"), "solve", "best", 0),
        ((*HALO, "--ep", "8", "--maximize", "dp"), "solve", "best", 0),
        ((*HALO, "--ep", "8", "--where", "tp <= 2"), "solve", "best", 0),
        (("--world", "8,16", "--gpus-per-node", "8", "--ep", "8"), "solve", "best", 0),
        (("check", *HALO), "check", "accepted", 0),
        (REJECTED, "check", "rejected", 1),
        (CONFLICT, "solve", "conflict", 1),
    ],
)
def test_which_question_is_asked_and_how_it_ends(
    arguments: tuple[str, ...], ask: str, answer: str, code: int
) -> None:
    done, page = report(*arguments)
    assert done.code == code
    assert done.err == f"parsolve: wrote standard output ({ask}: {answer})\n"
    assert page.by_id["verdict"]


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_has_a_report(name: str) -> None:
    done, page = report("--profile", name, "--world", "16", "--gpus-per-node", "8")
    assert done.code in {0, 1}
    assert PROFILES[name].title in page.by_id["question"]
    assert page.data["options"]


@pytest.mark.parametrize("arguments", [HALO, REJECTED, CONFLICT])
def test_the_same_flags_give_the_same_bytes(arguments: tuple[str, ...]) -> None:
    assert cli("report", *arguments).out == cli("report", *arguments).out


def test_two_processes_give_the_same_bytes() -> None:
    one, other = (process("report", *HALO, env={"PYTHONHASHSEED": seed}).out for seed in "12")
    assert one == other


def test_a_verdict_has_all_that_a_check_says() -> None:
    done, page = report(*REJECTED)
    answer = cli("check", *REJECTED, "--format", "json").data
    text = words(page.by_id["answer"])
    for violation in answer["violations"]:
        assert words(violation["rule"]) in text
        keys = ("stage", "reason", "because", "remedy", "source")
        places = [text.index(words(violation[key])) for key in keys]
        assert places == sorted(places)
    assert done.code == 1
    marks = page.data["marks"]
    assert marks[0] == "rejected"
    assert marks.count("nearest") == len(answer["repairs"])
    assert page.data["accepted"].count(False) == 1


def test_an_acceptance_has_all_that_a_check_says() -> None:
    _, page = report(*HALO, "--ep", "8")
    text = words(page.by_id["answer"])
    for line in cli("check", *HALO, "--ep", "8").out.splitlines():
        label, _, said = line.strip().partition(" ")
        if label in {"effective", "derived", "unjudged"}:
            assert words(said) in text, label


def test_a_late_stage_says_what_let_it_pass() -> None:
    late = ("--profile", "megatron", "--world", "8", "--tp", "3")
    _, page = report("check", *late)
    stage = next(s for line in cli("check", *late).out.splitlines() if "stage " in (s := line))
    assert words(stage.partition("stage")[2]) in words(page.by_id["answer"])


def test_a_ranking_has_all_that_a_search_finds_and_all_that_is_valid() -> None:
    _, page = report(*HALO)
    found = cli("solve", *HALO, "--format", "json").data
    listed = cli("list", *HALO, "--format", "json").data
    data = page.data
    assert data["marks"].count("best") == found["count"]
    assert len(data["options"]) == listed["count"]
    assert "Z3: nothing valid lies outside this list; for every cl" in page.by_id["configurations"]
    dp = next(c for c in data["columns"] if c["name"] == "data_parallel_size")["values"]
    assert dp == sorted(dp, reverse=True)
    assert words(found["certificate"]["claim"]) in words(page.by_id["answer"])


def test_a_conflict_says_what_excludes_each_other() -> None:
    _, page = report(*CONFLICT)
    answer = cli(*CONFLICT, "--format", "json").data
    text = words(page.by_id["answer"])
    for rule in answer["rules"]:
        assert rule["rule"] in text
        assert words(rule["reason"]) in text
        assert rule["source"] in text
    assert "--tp 8" in text
    assert "Z3: no smaller set" in text
    assert set(page.data["marks"]) == {"relaxed"}
    assert "The table shows what relaxing the question gives." in page.by_id["configurations"]


LLAMA = ("--model", "llama-3-8b", "--gpu", "h100", "--gpus-per-node", "8", "--max-length", "4096")
LARGE = ("--model", "qwen3-235b-a22b", "--gpu", "h100", "--max-length", "4096", "--tp", "1")
SEVERAL = [
    word
    for text in (
        "tp == 1", "cp == 1", "pp == 1", "dp == 8", "world == 8", "nodes == 1",
        "tokens_per_gpu > 10", "fsdp_width > 1",
    )
    for word in ("--where", text)
]  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        CONFLICT[1:],
        ("--world", "8", "--gpus-per-node", "8", "--moe", "--where", "use_hsdp"),
        ("--world", "64", "--gpus-per-node", "8", *LARGE, "--ep", "1"),
        ("--world", "8", *LLAMA, "--gpu-memory", "40", *SEVERAL),
    ],
    ids=["rule", "default", "memory", "minimal"],
)
def test_a_conflict_is_worded_as_in_the_terminal(arguments: tuple[str, ...]) -> None:
    _, page = report("solve", *arguments)
    text = words(page.by_id["answer"])
    lines = cli("solve", *arguments).out.splitlines()
    assert lines[0].startswith("conflict")
    for line in lines[1:]:
        label, said = line[2:13].strip(), words(line[13:])
        if label in {"", "it asks", "rule"}:
            label, _, said = said.partition(": ")
            assert label in text
        if label != "warning":
            assert said in text


def test_out_of_time_is_no_answer() -> None:
    done, page = report(*HALO, "--timeout", "0.000001")
    assert done.code == 3
    assert "the time limit of 1e-06 s passed" in page.by_id["verdict"]
    assert "before all were found" in page.by_id["configurations"]


def test_a_limit_keeps_the_best_and_says_so() -> None:
    _, page = report("--profile", "generic", "--world", "64", "--moe", "--limit", "10")
    _, whole = report("--profile", "generic", "--world", "64", "--moe")
    assert page.data["options"] == whole.data["options"][:10]
    assert (
        f"{len(whole.data['options']):,} configurations are valid; the table has the best 10"
        in (page.by_id["configurations"])
    )


def test_warnings_stand_beside_the_answer() -> None:
    _, page = report("--world", "16", "--gpus-per-node", "8")
    assert "dense-assumed" in page.by_id["answer"]


def test_a_list_says_what_was_evaluated_and_not_encoded() -> None:
    model = ("--model", "gpt-oss-20b", "--gpu", "h100", "--max-length", "4096")
    _, page = report(*HALO, *model)
    claim = "Z3: nothing valid lies outside this list; bounds, and what is asked of memory, were"
    assert claim in words(page.by_id["configurations"])


def test_each_row_has_the_warnings_of_its_check() -> None:
    _, page = report("--profile", "megatron", "--world", "16", "--model", "qwen3-30b-a3b")
    texts, of = page.data["warnings"]["texts"], page.data["warnings"]["of"]
    assert len(texts) == len({tuple(text) for text in texts}) > 1
    for place in range(0, len(of), 11):
        done = cli(*shlex.split(row(page, place))[1:], "--format", "json").data
        assert [texts[each][1] for each in of[place]] == [w["warning"] for w in done["warnings"]]


def test_what_is_rejected_is_counted_by_the_rule_that_says_so_first() -> None:
    _, page = report("--world", "8", "--gpus-per-node", "8", "--moe", "--where", "dp >= 4")
    text = words(page.by_id["refused"])
    assert re.search(r"ep-single-domain-multi-group refuses \d+, such as --ep 4", text)
    assert re.search(r'the condition "dp >= 4" refuses \d+', text)
    assert "src/distributed/parallelism_config.py" in text


def row(page: Text, place: int, verb: str = "check") -> str:
    """The command that checks a row, as the page puts it together."""
    data, said = page.data, page.data["command"]
    own = data["options"][place]
    parts = (
        said["program"], verb, said["before"], f"--world {data['worlds'][place]}", said["after"],
        data["everywhere"], "" if own == "(defaults)" else own,
    )  # fmt: skip
    return " ".join(part for part in parts if part)


@pytest.mark.parametrize(
    "arguments",
    [
        (*HALO, "--model", "gpt-oss-20b", "--gpu", "h100", "--max-length", "4096"),
        ("--profile", "megatron", "--world", "8..16", "--model", "qwen3-30b-a3b", "--gpu", "h100",
         "--seq-length", "4096", "--global-batch", "64"),
        ("--world", "16", "--gpus-per-node", "8", "--vary", "use_hsdp"),
    ],
)  # fmt: skip
def test_the_command_of_a_row_accepts_it_with_the_same_numbers(arguments: tuple[str, ...]) -> None:
    _, page = report(*arguments)
    columns = {c["name"]: c["values"] for c in page.data["columns"]}
    for place in range(0, len(page.data["options"]), 7):
        done = cli(*shlex.split(row(page, place))[1:], "--format", "json")
        assert done.code == 0, done.words
        for name, value in done.data["derived"].items():
            if name in columns and isinstance(value, int) and not isinstance(value, bool):
                shown = columns[name]
                shown = shown[place] if isinstance(shown, list) else shown
                assert shown in {value, None}, name


def test_a_relaxed_question_has_the_options_that_relax_it() -> None:
    _, page = report("--world", "7", "--gpus-per-node", "8", "--moe")
    assert page.data["marks"] == ["relaxed"] * 2
    assert "--gpus-per-node 7" in page.data["options"][0]
    for place in range(2):
        assert cli(*shlex.split(row(page, place))[1:]).code == 0


def test_the_page_says_how_to_make_it_again(tmp_path: Path) -> None:
    path = tmp_path / "a report.html"
    first = cli("report", "-o", str(path), *HALO)
    text = path.read_bytes()
    again = Text(text.decode()).by_id["command"]
    assert again == shlex.join(["parsolve", "report", "-o", str(path), *HALO])
    path.unlink()
    for name in ("parsolve", "z3-solver", "vl-convert-python"):
        assert f"{name} {version(name)}" in Text(text.decode()).by_id["reproduce"]
    assert cli(*shlex.split(again)[1:]).code == first.code
    assert path.read_bytes() == text


def test_the_environment_belongs_to_the_command() -> None:
    _, page = report("--world", "16", "--gpus-per-node", "8", env={"NVLINK_DOMAIN_SIZE": "4"})
    assert page.by_id["command"].startswith("NVLINK_DOMAIN_SIZE=4 parsolve report ")
    assert row(page, 0).startswith("NVLINK_DOMAIN_SIZE=4 parsolve check ")


def test_groups_and_what_they_send_are_those_of_the_layout() -> None:
    arguments = ("--profile", "megatron", "--world", "16", "--model", "qwen3-30b-a3b",
                 "--seq-length", "4096", "--global-batch", "32")  # fmt: skip
    _, page = report(*arguments)
    data = page.data["layout"]
    assert set(data["unknown"]) == {""}
    for place in range(0, len(data["traffic"]), 9):
        asked = shlex.split(row(page, place, "layout"))[1:]
        kinds = cli(*asked, "--format", "json").data["kinds"]
        sent = {kind["name"]: kind["traffic"] for kind in kinds if "traffic" in kind}
        assert data["traffic"][place] == sent


def test_groups_that_are_not_known_say_why() -> None:
    _, page = report("--profile", "generic", "--world", "8")
    assert "does not say which ranks form which group" in page.data["layout"]["unknown"][0]
    _, page = report(*REJECTED)
    assert "the configuration is rejected" in page.data["layout"]["unknown"][0]


def test_the_groups_of_a_huge_cluster_are_refused_as_in_the_terminal() -> None:
    huge = ("--world", "16000000", "--gpus-per-node", "8", "--ep", "8")
    _, page = report("check", *huge, "--repairs", "0", "--limit", "2")
    said = "the groups of at most 131,072 GPUs are told"
    assert said in page.data["layout"]["unknown"][0]
    done = cli(*shlex.split(row(page, 0, "layout"))[1:])
    assert done.code == 2
    assert said in done.err


def test_launch_lines_are_those_of_the_terminal() -> None:
    _, page = report(*HALO)
    found = cli("solve", *HALO).out
    assert page.data["launch"][0] in found


def test_the_memory_is_that_of_the_account() -> None:
    model = ("--model", "gpt-oss-20b", "--gpu", "h100", "--max-length", "4096")
    _, page = report(*HALO, *model)
    memory = page.data["memory"]
    command_ = shlex.split(row(page, 0))[2:]
    account = cli("memory", *command_, "--format", "json").data
    names = [part["name"] for part in memory["parts"]]
    assert dict(zip(names, memory["bytes"][0], strict=True)) == {
        name: account["bytes"][name] for name in names
    }
    assert memory["limit"] == account["limit"]


def test_what_fits_is_what_the_account_says() -> None:
    bounded = ("--world", "8", *LLAMA, "--gpu-memory", "30", "--repairs", "0")
    _, page = report("check", *bounded, "--tp", "1")
    memory = page.data["memory"]
    assert set(memory["states"]) == set(memory["words"])
    for place in (memory["states"].index(state) for state in ("near", "over", "fits")):
        command_ = shlex.split(row(page, place))[2:]
        account = cli("memory", *command_, "--format", "json").data
        assert account["state"] == memory["states"][place]


def test_timelines_are_simulated_once_each_within_bounds() -> None:
    arguments = ("--profile", "megatron", "--world", "64", "--model", "qwen3-30b-a3b",
                 "--seq-length", "4096", "--global-batch", "4096")  # fmt: skip
    _, page = report(*arguments)
    found = page.data["timelines"]
    commands = [each["command"] for each in found["timelines"]]
    assert len(commands) == len(set(commands)) > 1
    assert any("why" in each for each in found["timelines"])
    assert sum(len(r) for e in found["timelines"] for r in e.get("ranks", ())) <= 5 * 100_000
    drawn = next((each for each in found["timelines"] if "ranks" in each), None)
    if drawn is not None:
        answer = cli(*drawn["command"].split()[1:], "--format", "json").data
        assert len(drawn["ranks"]) == answer["pp"]


def test_the_commands_of_the_documentation_run(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    told = re.findall(r"^parsolve (report -o (\S+) .*)$", text, re.MULTILINE)
    assert len(told) == 2
    for line, name in told:
        done = cli(*shlex.split(line.replace(name, str(tmp_path / name))))
        assert done.code == int(name == "rejected.html")
        assert (tmp_path / name).exists()


HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_what_the_user_wrote_is_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(2)>"
    folder.mkdir()
    shape = {"model_type": HOSTILE, "hidden_size": 1024, "num_hidden_layers": 4,
             "num_attention_heads": 8, "vocab_size": 1000, "intermediate_size": 4096,
             "max_position_embeddings": 4096}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(shape), encoding="utf-8")
    arguments = ("--world", "8", "--model", str(folder), "--where", "dp<10 and tp_size<=8")
    done, page = report(*arguments)
    assert done.code == 0
    assert not [each for each, _ in page.tags if each == "img"]
    assert len([each for each, _ in page.tags if each == "script"]) == 3
    assert HOSTILE in page.by_id["question"]
    assert str(folder) in page.by_id["command"]
    assert "dp<10" in page.by_id["question"]


def test_what_the_user_wrote_is_one_word_of_a_command() -> None:
    """A reader copies these lines into a shell."""
    given = ("--profile", "megatron", "--world", "8", "--cp-comm-type", "p2p; touch x", "--cp", "2")
    _, page = report("solve", *given)
    assert "--cp-comm-type 'p2p; touch x'" in row(page, 0)
    assert "--cp-comm-type 'p2p; touch x'" in page.data["launch"][0]


def test_the_page_loads_nothing_and_may_send_nothing() -> None:
    _, page = report(*HALO)
    policy = next(
        attributes["content"]
        for each, attributes in page.tags
        if each == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    for each, attributes in page.tags:
        assert not attributes.get("src"), each
        href = attributes.get("href") or "#"
        assert href[0] == "#" or href == "data:,", each


def test_no_date_and_no_duration_stands_in_the_page() -> None:
    """Either would differ between two runs of the same flags."""
    _, page = report(*HALO)
    text = " ".join(
        page.by_id[name] for name in ("answer", "question", "configurations", "refused")
    )
    assert not re.search(r"\b20\d\d-\d\d|\d s\b", text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", *HALO, "--ep", "8", "--where", "dp > 1"), "asks for a search"),
        (("check", "--world", "8,16"), "report check takes one world"),
        (("solve", *HALO, "--repairs", "3"), "has no alternatives to show"),
        (("chekc", *HALO), "'chekc' is not one of 'check', 'solve'"),
        ((*HALO, "--limit", "0"), "0 is not in the range x>=1"),
        ((*HALO, "--profile", "all"), "only parsolve check takes all"),
        ((*HALO, "--maximize", "speed"), "speed"),
        ((), "Missing option '--world'"),
    ],
)
def test_misuse_says_what_to_change(arguments: tuple[str, ...], said: str) -> None:
    done = cli("report", *arguments)
    assert done.code == 2
    assert said in done.words
    assert done.out == ""


@pytest.mark.parametrize(
    ("name", "said"),
    [("nowhere/report.html", "there is no folder"), ("", "it is a folder; name a file in it")],
)
def test_a_path_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, name: str, said: str
) -> None:
    with mock.patch("parsolve.cli.report.making.solved", side_effect=AssertionError):
        done = cli("report", "-o", str(tmp_path / name), *HALO)
    assert done.code == 2
    assert done.err.startswith(f"parsolve: cannot write {tmp_path / name}: ")
    assert said in done.err


def test_a_disk_that_is_full_is_said() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = cli("report", "-o", "/dev/full", *HALO)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("parsolve: cannot write /dev/full: ")


def test_a_name_that_is_no_text_is_no_failure(tmp_path: Path) -> None:
    path = f"{tmp_path}/\udcff.html"
    done = cli("report", "-o", path, *HALO)
    assert done.code == 0
    assert "\\udcff.html" in Text(Path(path).read_text(encoding="utf-8")).by_id["command"]


def test_a_file_is_overwritten_and_named(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    done = cli("report", "-o", str(path), *HALO)
    assert (done.code, done.out) == (0, "")
    assert done.err == f"parsolve: wrote {path} (solve: best)\n"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_dash_is_standard_output() -> None:
    assert cli("report", "-o", "-", *HALO).out.startswith("<!doctype html>")


def test_a_terminal_gets_no_page_unasked() -> None:
    terminal, screen = pty.openpty()
    done = subprocess.run(
        command("report", *HALO),
        stdout=screen,
        stderr=subprocess.PIPE,
        check=False,
        cwd=ROOT,
        env=process_environment(),
        timeout=60,
    )
    os.close(screen)
    os.close(terminal)
    assert done.returncode == 2
    assert "give the file to write: -o report.html" in " ".join(done.stderr.decode().split())


def test_without_the_plots_package_it_says_what_to_install() -> None:
    with mock.patch.dict(sys.modules, {"vl_convert": None}):
        done = cli("report", *HALO)
    assert done.code == 2
    assert done.err == (
        "parsolve: parsolve report needs vl-convert-python: pip install 'parsolve[report]'\n"
    )


def test_a_closed_pipe_is_no_failure() -> None:
    with subprocess.Popen(
        command("report", *HALO),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=process_environment(),
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        said = running.stderr.read()
    assert (running.returncode, said) == (BROKEN_PIPE, b"")


def test_help_shows_both_questions() -> None:
    text = cli("report", "--help").words
    for expected in ("--output", "--maximize", "--repairs", "--ep", "Example: parsolve report"):
        assert expected in text


def test_markup_escapes_all_but_markup() -> None:
    assert tag("p", "<&>\"'", title='"<') == ('<p title="&quot;&lt;">&lt;&amp;&gt;&quot;&#x27;</p>')
    assert markup([Markup("<b>"), "<b>"]) == "<b>&lt;b&gt;"
    assert tag("input", disabled=True, hidden=False, data_x="1") == '<input disabled data-x="1">'


def test_json_in_a_script_starts_no_tag() -> None:
    value = {"x": "</script><!--&\u2028\u2029"}
    text = script_json(value)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == value
