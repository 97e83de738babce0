"""`parsolve schedule`: the drawn timeline is the simulated one, in text, JSON and SVG."""

from __future__ import annotations

import io
import json
import os
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree as ET

import jsonschema
import pytest

import parsolve
from parsolve.cli.screen import Screen
from parsolve.cli.timeline import show_schedule
from parsolve.solver.answer import Schedule, as_data, json_schema
from tests.cli.run import cli, environment, process

EIGHT = ("schedule", "--pp", "4", "--microbatches", "8")
INTERLEAVED = (*EIGHT, "--vpp", "2")
SVG = "{http://www.w3.org/2000/svg}"

QUESTIONS = [
    EIGHT,
    INTERLEAVED,
    (*EIGHT, "--schedule", "gpipe"),
    (*EIGHT, "--layers-per-stage", "4,4,4,3"),
    (*EIGHT, "--vpp", "3"),
    ("schedule", "--pp", "1", "--microbatches", "1"),
    ("schedule", "--pp", "4", "--microbatches", "200"),
    ("schedule", "--pp", "40", "--microbatches", "80"),
    ("schedule", "--pp", "1024", "--microbatches", "16"),
    ("schedule", "--pp", "2", "--microbatches", "272", "--vpp", "30"),
    ("schedule", "--pp", "4", "--microbatches", "200", "--schedule", "gpipe"),
    ("schedule", "--pp", "2", "--microbatches", "3", "--forward-time", "999999"),
]


def rows(out: str) -> list[str]:
    """The drawn rows without their labels."""
    return re.findall(r"^  rank \d+ +(.*)$", out, re.MULTILINE)


class TestText:
    def test_each_item_has_its_micro_batch(self) -> None:
        done = cli(*EIGHT)
        assert (done.code, done.err) == (0, "")
        head = "1f1b on 4 ranks, 8 micro-batches: 33 units a step, 24 of work and 9 of bubble"
        assert done.out.splitlines()[0] == f"schedule  {head}"
        assert rows(done.out) == [
            "F0F1F2F3............B0--F4B1--F5B2--F6B3--F7B4--..B5--..B6--..B7--",
            "..F0F1F2........B0--F3B1--F4B2--F5B3--F6B4--F7B5--..B6--..B7--....",
            "....F0F1....B0--F2B1--F3B2--F4B3--F5B4--F6B5--F7B6--..B7--........",
            "......F0B0--F1B1--F2B2--F3B3--F4B4--F5B5--F6B6--F7B7--............",
        ]
        assert "one column = 1/2 unit" in done.words
        assert "3/11 (27.3%) of the step, 3/8 (37.5%) of the ideal time" in done.words
        assert "(pp - 1) / (m + pp - 1) = 3/11 (27.3%)" in done.words
        assert "the same" in done.words
        assert "transfers take no time" in done.words

    def test_chunks_are_letters(self) -> None:
        done = cli(*INTERLEAVED)
        assert rows(done.out)[0] == "AAAABBBBAAA...bbAbb.BbbBbbBaaBaaaa.aa.bb.bb.bb.bbaaaaaaaa"
        assert "chunks in flight" in done.out
        assert "0 10 8 11 24 4.5 15.8%" in done.words
        assert "(pp - 1) / (m v + pp - 1) = 3/19 (15.8%) of the step" in done.words

    def test_of_a_long_step_both_ends_are_drawn(self) -> None:
        done = cli("schedule", "--pp", "4", "--microbatches", "200")
        first, last = rows(done.out)[0].split(" ~ ")
        assert first.startswith("FFFF......BBFBBF")
        assert last.endswith("FBB.BB.BB.BB")
        assert "~ leaves out 543 units of steady state" in done.words
        assert 609 - len(first) - len(last) == 543

    def test_columns_sum_up_where_the_ends_do_not_fit(self) -> None:
        done = cli("schedule", "--pp", "40", "--microbatches", "80")
        assert re.fullmatch(r"F+\.+x+B+\.", rows(done.out)[0])
        assert "one column = 6 units, which is longer than a piece of work" in done.words

    def test_many_ranks_are_an_even_sample_with_both_ends(self) -> None:
        done = cli("schedule", "--pp", "64", "--microbatches", "64")
        shown = [int(rank) for rank in re.findall(r"^  rank (\d+) ", done.out, re.MULTILINE)]
        assert len(shown) == 32
        assert (shown[0], shown[-1]) == (0, 63)
        assert {b - a for a, b in pairwise(shown)} <= {2, 3}
        assert "32 of 64" in done.words

    def test_unequal_stages(self) -> None:
        done = cli(*EIGHT, "--layers-per-stage", "4,4,4,3")
        assert "none, as the stages are unequal" in done.words
        assert "units per layer" in done.words
        chunks = cli(*INTERLEAVED, "--layers-per-stage", "2+2,2+2,2+2,2+1", "--format", "json")
        assert chunks.data["layers"] == [[2, 2], [2, 2], [2, 2], [2, 1]]

    @pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
    @pytest.mark.parametrize("columns", [60, 80, 100])
    def test_is_within_the_screen(self, question: tuple[str, ...], columns: int) -> None:
        done = cli(*question, columns=columns)
        assert (done.code, done.err) == (0, "")
        assert [line for line in done.out.splitlines() if len(line) > columns] == []

    @pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
    def test_a_pipe_gets_the_timeline_of_80_columns(self, question: tuple[str, ...]) -> None:
        assert rows(cli(*question).out) == rows(cli(*question, columns=80).out)

    def test_colours_are_on_a_terminal_alone(self) -> None:
        answer = parsolve.schedule(pp=4, microbatches=8, virtual_stages=2)

        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        with mock.patch.dict(os.environ, environment(80, {"TERM": "xterm"}), clear=True):
            coloured, plain = Terminal(), io.StringIO()
            show_schedule(Screen(coloured), answer)
            show_schedule(Screen(plain), answer)
        assert "\x1b[" in coloured.getvalue()
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured.getvalue()) == plain.getvalue()


@pytest.mark.parametrize("question", QUESTIONS[:6], ids=" ".join)
def test_numbers_of_the_axis_stand_where_their_units_start(question: tuple[str, ...]) -> None:
    done = cli(*question)
    lines = done.out.splitlines()
    margin = next(len(line) for line in re.findall(r"^  rank 0 +(?=[FA.])", done.out, re.MULTILINE))
    axis = next(line for line in lines if line.startswith("  units"))
    column = re.search(r"one column = (\S+) unit", done.out)
    assert column is not None
    marks = {int(mark[0]): mark.start() - margin for mark in re.finditer(r"\d+", axis)}
    assert marks == {unit: int(unit / Fraction(column[1])) for unit in marks}
    assert 0 in marks


class TestJson:
    @pytest.mark.parametrize("question", QUESTIONS[:6], ids=" ".join)
    def test_is_in_the_schema(self, question: tuple[str, ...]) -> None:
        done = cli(*question, "--format", "json")
        assert (done.code, done.err) == (0, "")
        jsonschema.validate(done.data, json_schema())
        assert done.data["answer"] == "schedule"

    def test_is_what_python_answers(self) -> None:
        answer = parsolve.schedule(pp=4, microbatches=8, virtual_stages=2)
        assert isinstance(answer, Schedule)
        assert cli(*INTERLEAVED, "--format", "json").data == as_data(answer)

    def test_spellings_of_the_framework(self) -> None:
        options = ("--pipeline_model_parallel_size", "4", "--microbatches=8")
        chunks = ("--num-virtual-stages-per-pipeline-rank", "2")
        assert cli("schedule", *options, *chunks) == cli(*INTERLEAVED)


class TestSvg:
    @pytest.mark.parametrize("question", QUESTIONS[:9], ids=" ".join)
    def test_has_a_box_for_every_item(self, question: tuple[str, ...]) -> None:
        answer = cli(*question, "--format", "json").data
        done = cli(*question, "--format", "svg")
        assert (done.code, done.err) == (0, "")
        root = ET.fromstring(done.out)  # noqa: S314 - our own output
        assert root.tag == f"{SVG}svg"
        assert [root.findtext(f"{SVG}{tag}") for tag in ("title", "desc", "style")] != [None] * 3
        groups = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}rect") is not None]
        tips = [group.findtext(f"{SVG}title") or "" for group in groups]
        items = [(rank["rank"], item) for rank in answer["ranks"] for item in rank["items"]]
        assert len(tips) == len(items)
        for tip, (rank, item) in zip(tips, items, strict=True):
            kind = "forward" if item["kind"] == "F" else "backward"
            assert tip.startswith(f"{kind} of micro-batch {item['microbatch']}")
            assert f"on rank {rank}:" in tip

    def test_refers_to_nothing_outside(self) -> None:
        out = cli(*INTERLEAVED, "--format", "svg").out
        assert re.findall(r"(?:https?:)?//[^\"' ]+", out) == ["http://www.w3.org/2000/svg"]
        assert "prefers-color-scheme: dark" in out
        assert not re.search(r"url\(|href|@import|<script", out)

    def test_boxes_lie_beside_each_other(self) -> None:
        root = ET.fromstring(cli(*INTERLEAVED, "--format", "svg").out)  # noqa: S314
        for row in root.findall(f"{SVG}g"):
            free = 0.0
            for box in row.iter(f"{SVG}rect"):
                assert float(box.attrib["x"]) >= free - 0.02
                free = float(box.attrib["x"]) + float(box.attrib["width"])


class TestFile:
    @pytest.mark.parametrize("form", ["text", "json", "svg"])
    def test_holds_what_standard_output_would(self, form: str, tmp_path: Path) -> None:
        file = tmp_path / "timeline"
        done = cli(*EIGHT, "--format", form, "-o", str(file))
        assert (done.code, done.out) == (0, "")
        assert done.err == f"parsolve: wrote {file}\n"
        assert file.read_text(encoding="utf-8") == cli(*EIGHT, "--format", form).out

    def test_that_cannot_be_written(self) -> None:
        done = cli(*EIGHT, "-o", "/")
        assert (done.code, done.out) == (2, "")
        assert "cannot write /" in done.err


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((), ("--pp",)),
        (("--pp", "4"), ("--microbatches",)),
        (("--pp", "x", "--microbatches", "8"), ("--pp", "x")),
        (("--pp", "0", "--microbatches", "8"), ("pp must be at least 1",)),
        (("--pp", "4", "--microbatches", "-1"), ("microbatches must be at least 1",)),
        (("--pp", "9" * 40, "--microbatches", "8"), ("pp must be at most 1,024",)),
        (
            (*EIGHT[1:], "--schedule", "gpipe", "--vpp", "2"),
            ("gpipe", "virtual_stages=1", "interleaved"),
        ),
        ((*EIGHT[1:], "--schedule", "interleaved"), ("virtual_stages of at least 2",)),
        (("--pp", "4", "--microbatches", "10", "--vpp", "2"), ("microbatches=8 or 12",)),
        ((*EIGHT[1:], "--layers-per-stage", "4,4,x,3"), ("--layers-per-stage", "2+2,2+1")),
        ((*EIGHT[1:], "--layers-per-stage", ""), ("--layers-per-stage",)),
        ((*EIGHT[1:], "--layers-per-stage", "4,4"), ("pp=4", "got 2")),
        ((*EIGHT[1:], "--format", "png"), ("--format", "svg")),
        ((*EIGHT[1:], "--pp", "8"), ("contradictory options", "--pp 4", "8")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_misuse(arguments: tuple[str, ...], parts: tuple[str, ...]) -> None:
    done = cli("schedule", *arguments)
    assert (done.code, done.out) == (2, "")
    for part in parts:
        assert part in done.words


def test_as_a_process_of_its_own() -> None:
    done = process(*EIGHT, "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == cli(*EIGHT, "--format", "json").data
    assert "33 units a step" in process(*EIGHT).out
