"""`parsolve layout`: the groups of the answer, drawn in text and SVG and written as JSON."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree as ET

import jsonschema
import pytest

import parsolve
from parsolve.cli.rank_grid import FIRST_ROWS, LAST_ROWS, MOST_ROWS
from parsolve.cli.rank_layout import members, show_layout
from parsolve.cli.rank_svg import MOST_BOXES, svg
from parsolve.cli.screen import Screen
from parsolve.solver.answer import RankLayout, as_data, json_schema
from tests.cli.run import ROOT, cli, command, environment, process, process_environment

SVG = "{http://www.w3.org/2000/svg}"
TWO_NODES = ("layout", "--world", "16", "--gpus-per-node", "8")
GLOBAL = (*TWO_NODES, "--ep", "8", "--ep-scope", "global")
MEGATRON = ("layout", "--profile", "megatron")
RACKS = ("layout", "--world", "144", "--gpus-per-node", "4", "--nvlink-domain", "72", "--ep", "36")
MANY = ("layout", "--world", "16384", "--gpus-per-node", "8", "--ep", "8")
MODEL = ("--model", "qwen3-30b-a3b", "--max-length", "4096")

QUESTIONS = [
    GLOBAL,
    (*GLOBAL, "--rank", "10"),
    (*GLOBAL, *MODEL),
    (*GLOBAL, *MODEL, "--rank", "3,10", "--axis", "ep"),
    ("layout", "--world", "1"),
    ("layout", "--world", "1", "--rank", "0"),
    RACKS,
    ("layout", "--world", "288", "--gpus-per-node", "72", "--ep", "8"),
    (*MEGATRON, "--world", "24", "--tp", "3", "--nvlink-domain", "4", "--gpus-per-node", "6"),
    (*MEGATRON, "--world", "12", "--tp", "4", "--gpus-per-node", "8"),
    (*MEGATRON, "--world", "8", "--tp", "2", "--gpus-per-node", "1"),
    (*MEGATRON, "--world", "100", "--tp", "2", "--gpus-per-node", "50"),
    MANY,
    (*MANY, "--rank", "16383"),
    ("layout", "--world", "16384", "--gpus-per-node", "16384", "--tp", "8"),
    ("layout", "--profile", "torchtitan", "--world", "64", "--tp", "4", "--ep", "8"),
    ("layout", "--profile", "accelerate", "--world", "64", "--tp", "4", "--dp-shard", "16"),
]


def rows(out: str) -> list[str]:
    """The drawn rows of the grids, label and all."""
    label = r"^ +(?:domains? [\d-]+ +)?(?:node \d+ +)?\d+(?:-\d+)? {3,}"
    return re.findall(rf"{label}\d[\d*+| ]*$", out, re.MULTILINE)


def cells(out: str, title: str, node: int) -> list[str]:
    """What stands for the GPUs of a node in the grid with this title, if it stands alone."""
    lines = out.splitlines()
    start = next(n for n, line in enumerate(lines) if line.strip() == title)
    line = next(line for line in lines[start:] if re.match(rf".*\bnode {node} ", line))
    return re.split(r"[ |]+", re.sub(r"^.*node \d+ +\d+(-\d+)? +", "", line).strip())


class TestText:
    def test_the_picture_is_that_of_the_groups(self) -> None:
        done = cli(*GLOBAL, columns=80)
        assert (done.code, done.err) == (0, "")
        assert done.out.splitlines()[:2] == [
            "layout  [halo] --ep 8 --ep-scope global on 16 GPUs, 2 nodes of 8, NVLink domain",
            "    8",
        ]
        picture = [
            "                  ep, dispatch, fsdp *   expert-replicas",
            "  node 0   0-7    0 0 0 0 1 1 1 1        0 1 2 3 0 1 2 3",
            "  node 1   8-15   0 0 0 0 1 1 1 1        4 5 6 7 4 5 6 7",
        ]
        assert "\n".join(picture) in done.out
        assert (
            "2 groups of 8: 0-3, 8-11 | 4-7, 12-15; * each leaves its NVLink domain" in done.words
        )
        assert "8 groups of 2: 0, 4 | 1, 5 | .. | 11, 15" in done.words
        assert "dispatch Ranks of an expert group that send each other tokens." in done.words
        assert "the groups of ep" in done.words
        assert "numbers of groups; all count from 0; * leaves its NVLink domain" in done.words
        assert "not drawn dp, same-batch: one group of all, or of one each" in done.words

    def test_cells_have_signs_where_groups_differ(self) -> None:
        options = ("--world", "12", "--tp", "3", "--gpus-per-node", "4", "--axis", "tp")
        out = cli(*MEGATRON, *options, columns=80).out
        assert cells(out, "tp", 0) == ["0", "0", "0", "1*"]
        assert cells(out, "tp", 1) == ["1*", "1*", "2*", "2*"]
        assert "* 2 of 4 (1, 2) leave their NVLink domain" in " ".join(out.split())

    def test_a_domain_of_several_nodes_is_named_where_it_starts(self) -> None:
        out = cli(*RACKS, "--axis", "ep", columns=80).out
        labels = re.findall(r"^  (domain \d+|        )  node (\d+) ", out, re.MULTILINE)
        assert labels == [
            ("domain 0", "0"),
            *((" " * 8, str(node)) for node in range(1, 4)),
            ("domain 1", "34"),
            (" " * 8, "35"),
        ]
        assert "+ leaves its node, not its NVLink domain" in " ".join(out.split())

    def test_a_domain_inside_of_a_node_starts_at_a_bar(self) -> None:
        options = ("--world", "8", "--tp", "2", "--gpus-per-node", "8", "--nvlink-domain", "4")
        out = cli(*MEGATRON, *options, "--axis", "tp", columns=80).out
        assert "0 0 1 1|2 2 3 3" in out
        assert "domains 0-1  node 0" in out

    def test_a_wide_node_takes_several_rows_of_equal_length(self) -> None:
        options = ("--world", "144", "--gpus-per-node", "72", "--tp", "8", "--axis", "tp")
        out = cli("layout", *options, columns=80).out
        lines = re.findall(r"^  (?:node (\d+)|      ) +(\d+)-(\d+)", out, re.MULTILINE)
        assert [(int(a), int(b)) for _, a, b in lines] == [(n, n + 7) for n in range(0, 144, 8)]
        assert [node for node, *_ in lines if node] == ["0", "1"]

    def test_of_many_gpus_both_ends_are_drawn_and_the_rest_is_counted(self) -> None:
        out = cli(*MANY, "--axis", "ep", columns=80).out
        drawn = re.findall(r"^  node (\d+)", out, re.MULTILINE)
        assert drawn == ["0", "1", "2", "3", "2046", "2047"]
        assert len(drawn) == FIRST_ROWS + LAST_ROWS < MOST_ROWS
        assert "... 16,336 GPUs are not drawn ..." in out
        assert "2,048 groups of 8: 0-7 | 8-15 | .. | 16376-16383" in out
        assert cells(out, "ep", 2047) == ["2047"] * 8

    def test_ranks_that_are_asked_for(self) -> None:
        done = cli(*GLOBAL, *MODEL, "--rank", "10", columns=80)
        assert (done.code, done.err) == (0, "")
        assert (
            "rank 10 GPU 2 of node 1, NVLink domain 1, data-parallel rank 10, pipeline stage 0, "
            "layers 0-47, experts 96-111"
        ) in done.words
        table = [line.split() for line in done.out.splitlines() if re.match(r"  [a-z-]+ +\d", line)]
        assert [line[0] for line in table[:3]] == ["rank", "dp", "ep"]
        assert table[2][:6] == ["ep", "0", "6", "8", "domain", "*"]
        assert table[3] == ["expert-replicas", "6", "0", "2", "-", *table[3][5:7], "10,", "14"]
        assert table[4][-3:] == ["GiB", "0-3,", "8-11"]
        assert "node 0" not in done.out

    def test_several_ranks_in_one_option_or_in_many(self) -> None:
        once = cli(*GLOBAL, "--rank", "3,8..9")
        assert re.findall(r"^  rank (\d+)", once.out, re.MULTILINE) == ["3", "8", "9"]
        assert cli(*GLOBAL, "--rank", "3", "--rank", "8..9") == once

    def test_traffic_is_beside_the_groups_that_carry_it(self) -> None:
        done = cli(*GLOBAL, *MODEL)
        answer = parsolve.layout(
            world_size=16,
            gpus_per_node=8,
            ep_size=8,
            ep_scope="global",
            max_length=4096,
            model="qwen3-30b-a3b",
        )
        assert isinstance(answer, RankLayout)
        for kind in answer.kinds:
            size = f"{(kind.traffic or 0) / 2**30:.2f} GiB per GPU and step"
            assert (size in done.out) == bool(kind.traffic)
        assert "none is counted for ep, same-batch alone" in done.out

    @pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
    @pytest.mark.parametrize("columns", [60, 80, 100])
    def test_is_within_the_screen(self, question: tuple[str, ...], columns: int) -> None:
        done = cli(*question, columns=columns)
        assert (done.code, done.err) == (0, "")
        assert [line for line in done.out.splitlines() if len(line) > columns] == []

    @pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
    def test_a_pipe_gets_the_picture_of_80_columns(self, question: tuple[str, ...]) -> None:
        assert rows(cli(*question).out) == rows(cli(*question, columns=80).out)

    def test_colours_are_on_a_terminal_alone(self) -> None:
        answer = parsolve.layout(world_size=16, gpus_per_node=8, ep_size=2)

        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        assert isinstance(answer, RankLayout)
        with mock.patch.dict(os.environ, environment(80, {"TERM": "xterm"}), clear=True):
            coloured, plain = Terminal(), io.StringIO()
            show_layout(Screen(coloured), answer)
            show_layout(Screen(plain), answer)
        assert "\x1b[" in coloured.getvalue()
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured.getvalue()) == plain.getvalue()


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([3], "3"),
        ([0, 1, 2, 3], "0-3"),
        ([0, 8], "0, 8"),
        ([0, 1, 8, 9], "0-1, 8-9"),
        ([0, 8, 16, 24], "0, 8, .., 24"),
        ([0, 1, 8, 9, 16, 17, 24, 25], "0-1, 8-9, .., 24-25"),
        ([0, 2, 8, 10, 16], "0, 2, 8, ... 16 (5 ranks)"),
        ([0, 1, 4, 6, 7, 9], "0-1, 4, 6-7, ... 9 (6 ranks)"),
        ([0, 8, 1, 9], "0, 8, 1, ... 9 (4 ranks)"),
        ([9, 8, 7, 6], "9, 8, .., 6"),
    ],
)
def test_members_in_words(ranks: list[int], words: str) -> None:
    assert members(ranks) == words


class TestJson:
    @pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
    def test_follows_the_schema(self, question: tuple[str, ...]) -> None:
        done = cli(*question, "--format", "json")
        assert (done.code, done.err) == (0, "")
        jsonschema.validate(done.data, json_schema())

    def test_is_the_answer_of_the_python_api(self) -> None:
        answer = parsolve.layout(
            world_size=16, gpus_per_node=8, ep_size=8, ep_scope="global", ranks=10
        )
        done = cli(*GLOBAL, "--rank", "10", "--format", "json")
        assert done.data == as_data(answer)

    def test_a_group_is_one_line(self) -> None:
        done = cli(*GLOBAL, "--format", "json")
        assert "[0, 1, 2, 3, 8, 9, 10, 11]" in done.out
        assert done.data == json.loads(done.out)

    def test_all_groups_are_there_however_many(self) -> None:
        data = cli(*MANY, "--format", "json").data
        ep = next(kind for kind in data["kinds"] if kind["name"] == "ep")
        assert ep["groups"] == [list(range(n, n + 8)) for n in range(0, 16384, 8)]


class TestSvg:
    @pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
    def test_has_a_box_for_every_rank_that_is_drawn(self, question: tuple[str, ...]) -> None:
        done = cli(*question, "--format", "svg")
        assert (done.code, done.err) == (0, "")
        root = ET.fromstring(done.out)  # noqa: S314 - our own output
        assert root.tag == f"{SVG}svg"
        assert [root.findtext(f"{SVG}{tag}") for tag in ("title", "desc", "style")] != [None] * 3
        boxes = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}rect") is not None]
        tips = [group.findtext(f"{SVG}title") or "" for group in boxes]
        assert 0 < len(tips) <= MOST_BOXES
        world = int(question[question.index("--world") + 1])
        for panel in root.findall(f"{SVG}g"):
            shown = len(panel.findall(f"{SVG}g"))
            assert shown == world or (
                f"{world - shown:,} of {world:,} GPUs are left out"
                in (root.findtext(f"{SVG}desc") or "")
            )

    def test_tips_are_what_the_groups_say(self) -> None:
        done = cli(*GLOBAL, "--format", "svg")
        answer = cli(*GLOBAL, "--format", "json").data
        names = ("ep, dispatch, fsdp", "expert-replicas")
        for name in names:
            kind = next(k for k in answer["kinds"] if k["name"] == name.partition(",")[0])
            for number, group in enumerate(kind["groups"]):
                leaves = "; it leaves its NVLink domain" if kind["across_domains"] else ""
                for position, rank in enumerate(group):
                    assert (
                        f"<title>rank {rank}: position {position} in group {number} of {name}"
                        f"{leaves}; node {rank // 8}, NVLink domain {rank // 8}</title>"
                    ) in done.out

    def test_ranks_that_are_asked_for_are_framed(self) -> None:
        done = cli(*GLOBAL, "--rank", "10", "--format", "svg")
        root = ET.fromstring(done.out)  # noqa: S314 - our own output
        classes = [rect.attrib.get("class", "") for rect in root.iter(f"{SVG}rect")]
        assert sum(name.endswith(" own") for name in classes) == 2
        assert sum(name.endswith(" with") for name in classes) == 7 + 1
        assert "Framed are rank 10 and the ranks in its groups." in done.out

    def test_refers_to_nothing_outside(self) -> None:
        out = cli(*GLOBAL, "--format", "svg").out
        assert re.findall(r"(?:https?:)?//[^\"' ]+", out) == ["http://www.w3.org/2000/svg"]
        assert "prefers-color-scheme: dark" in out
        assert not re.search(r"url\(|href|@import|<script", out)

    def test_is_escaped(self) -> None:
        answer = parsolve.layout(world_size=8, tp_size=2)
        assert isinstance(answer, RankLayout)
        text = svg(dataclasses.replace(answer, traffic_unknown="<it> & 'that'"))
        assert "&lt;it&gt; &amp; 'that'" in text
        ET.fromstring(text)  # noqa: S314 - our own output

    def test_boxes_lie_beside_each_other(self) -> None:
        root = ET.fromstring(cli(*GLOBAL, "--format", "svg").out)  # noqa: S314
        for panel in root.findall(f"{SVG}g"):
            places = [
                (float(box.attrib["y"]), float(box.attrib["x"]), float(box.attrib["width"]))
                for box in panel.iter(f"{SVG}rect")
            ]
            assert places == sorted(places)
            for (y, x, wide), (other, after, _) in pairwise(places):
                assert other > y or after >= x + wide


class TestFile:
    @pytest.mark.parametrize("form", ["text", "json", "svg"])
    def test_holds_what_standard_output_would(self, form: str, tmp_path: Path) -> None:
        file = tmp_path / "layout"
        done = cli(*GLOBAL, "--format", form, "-o", str(file))
        assert (done.code, done.out) == (0, "")
        assert done.err == f"parsolve: wrote {file}\n"
        assert file.read_text(encoding="utf-8") == cli(*GLOBAL, "--format", form).out

    def test_that_cannot_be_written(self) -> None:
        done = cli(*GLOBAL, "-o", "/")
        assert (done.code, done.out) == (2, "")
        assert "cannot write /" in done.err


class TestRejected:
    REFUSED = ("--world", "8", "--gpus-per-node", "8", "--ep", "4")

    @pytest.mark.parametrize("form", ["text", "json"])
    def test_is_answered_as_a_check_is(self, form: str) -> None:
        done = cli("layout", *self.REFUSED, "--format", form)
        assert done.code == 1
        assert done == cli("check", *self.REFUSED, "--format", form)

    def test_is_text_where_a_picture_was_asked_for(self, tmp_path: Path) -> None:
        file = tmp_path / "layout.svg"
        done = cli("layout", *self.REFUSED, "--format", "svg", "-o", str(file))
        assert done == cli("check", *self.REFUSED)
        assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((), ("--world",)),
        (("--world", "8,16"), ("layout takes one world",)),
        (("--world", "8", "--rank", "8"), ("there is no rank 8", "ranks 0 to 7")),
        (("--world", "8", "--rank=-1"), ("there is no rank -1",)),
        (("--world", "8", "--rank", "x"), ("--rank", "'x'")),
        (("--world", "99999", "--rank", "0..2000"), ("--rank", "at most 1,024 ranks")),
        (("--world", "8", "--axis", "foo"), ("no kind of group 'foo'", "tp", "dispatch")),
        (("--world", "8", "--axis", "tp"), ("no tp groups", "dp, fsdp, same-batch")),
        (("--world", "8", "--profile", "generic"), ("generic profile does not say", "megatron")),
        (("--world", "8", "--profile", "all"), ("only parsolve check takes all",)),
        (("--world", "8", "--format", "png"), ("--format", "svg")),
        (("--world", "8", "--tp", "2", "--tp", "4"), ("contradictory options", "--tp 2 and 4")),
        (("--world", "8", "--zero", "3"), ("No such option: --zero", "generic")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_misuse(arguments: tuple[str, ...], parts: tuple[str, ...]) -> None:
    done = cli("layout", *arguments)
    assert (done.code, done.out) == (2, "")
    for part in parts:
        assert part in done.words


def test_as_a_process_of_its_own() -> None:
    done = process(*GLOBAL, "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert done.data == cli(*GLOBAL, "--format", "json").data


@pytest.mark.parametrize("form", ["text", "json", "svg"])
def test_a_reader_that_is_gone_is_no_error(form: str) -> None:
    with subprocess.Popen(
        command(*MANY, "--format", form),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=process_environment(),
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.wait(timeout=60) == 141
        assert running.stderr.read() == b""


def test_no_solver_is_loaded() -> None:
    code = (
        "import sys; from parsolve.cli import main\n"
        f"try: main({list(MANY)!r})\n"
        "except SystemExit: pass\n"
        "sys.exit('z3' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=process_environment(),
        timeout=60,
    )
    assert done.returncode == 0


class TestMisuseBesideARejection:
    ASKED = ("layout", "--world", "8", "--ep", "4")

    @pytest.mark.parametrize("wrong", [("--axis", "foo"), ("--rank", "99")])
    def test_misuse_is_said_whatever_the_verdict(self, wrong: tuple[str, str]) -> None:
        done = cli(*self.ASKED, *wrong)
        assert (done.code, done.out) == (2, "")
        assert wrong[1] in done.err

    def test_as_json_it_goes_where_the_groups_would_go(self, tmp_path: Path) -> None:
        file = tmp_path / "layout.json"
        done = cli(*self.ASKED, "--format", "json", "-o", str(file))
        assert (done.code, done.out) == (1, "")
        assert json.loads(file.read_text(encoding="utf-8"))["answer"] == "rejected"
