"""The page of `parsolve report` in a real browser: what readers do with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from parsolve.constraints import PROFILES
from parsolve.constraints.profile import Config, holds
from parsolve.solver.memory import usage
from tests.browser.conftest import Opened
from tests.cli.run import cli

SMALL = ("--world", "16", "--gpus-per-node", "8", "--moe")
MODEL = ("--model", "gpt-oss-20b", "--max-length", "4096", "--gpu", "h100")
REJECTED = ("--world", "8", "--gpus-per-node", "8", "--ep", "4")
CONFLICT = ("solve", "--world", "64", "--gpus-per-node", "8", "--tp", "16")
PIPELINE = (
    "--profile", "megatron", "--world", "16", "--gpus-per-node", "8", "--model", "qwen3-30b-a3b",
    "--seq-length", "4096", "--global-batch", "32", "--maximize", "pp_size",
)  # fmt: skip
MANY = (
    "--profile", "generic", "--world", "4096", "--gpus-per-node", "8", "--moe",
    "--model", "qwen3-30b-a3b", "--seq-length", "4096",
)  # fmt: skip

MOST_NODES = 12_000
"""Elements of a page of 5,000 configurations, of which the table holds one page of rows."""

Made: TypeAlias = Callable[..., Path]
Open: TypeAlias = Callable[..., Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The file of a report with the given arguments, made once."""
    folder, known = tmp_path_factory.mktemp("reports"), dict[tuple[str, ...], Path]()

    def make(*arguments: str) -> Path:
        if arguments not in known:
            path = folder / f"{len(known)}.html"
            done = cli("report", "-o", str(path), *arguments)
            assert done.code in {0, 1}, done.err
            known[arguments] = path
        return known[arguments]

    return make


@pytest.fixture
def opened(browser: Browser, made: Made) -> Open:
    """A context that opens a report, and checks that it complained about nothing."""

    @contextmanager
    def open_(*arguments: str, scheme: str = "light", width: int = 1200) -> Iterator[Page]:
        shown = Opened(browser, made(*arguments), scheme, width)
        yield shown.page
        shown.close()

    return open_


def column(page: Page, name: str) -> list[str]:
    """The cells of a column on the shown page of the table."""
    place = page.locator(f"#table thead th[data-column='{name}']").evaluate(
        "each => each.cellIndex"
    )
    return [
        cells[place].strip()
        for cells in page.locator("#table tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
    ]


def data(page: Page) -> Any:  # noqa: ANN401 - JSON
    return json.loads(page.locator("#data").text_content() or "")


def sort(page: Page, name: str) -> Locator:
    heading = page.locator(f"#table thead th[data-column='{name}']")
    heading.get_by_role("button").click()
    return heading


def test_a_report_loads_says_its_answer_and_asks_the_network_for_nothing(opened: Open) -> None:
    with opened(*SMALL) as page:
        expect(page.get_by_role("heading", level=1)).to_contain_text("16 GPUs")
        expect(page.locator("#verdict")).to_contain_text("dp = 16 (maximum)")
        expect(page.locator("#table tbody tr").first).to_contain_text("best")
        expect(page.locator("#plot svg")).to_be_visible()


def test_the_policy_stops_what_would_leave_the_page(opened: Open, browser: Browser) -> None:
    with opened(*SMALL) as page:
        text = page.content()
    asked = browser.new_page()
    asked.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
    with asked.expect_console_message(lambda said: "Content Security Policy" in said.text):
        asked.set_content(text.replace("</main>", "<img src='https://example.org/x.png'></main>"))
    asked.close()


def test_a_heading_sorts_up_then_down_then_not_at_all(opened: Open) -> None:
    with opened(*SMALL) as page:
        first = column(page, "data_parallel_size")
        heading = sort(page, "data_parallel_size")
        expect(heading).to_have_attribute("aria-sort", "ascending")
        numbers = [int(cell) for cell in column(page, "data_parallel_size")]
        assert numbers == sorted(numbers)
        sort(page, "data_parallel_size")
        expect(heading).to_have_attribute("aria-sort", "descending")
        numbers = [int(cell) for cell in column(page, "data_parallel_size")]
        assert numbers == sorted(numbers, reverse=True)
        sort(page, "data_parallel_size")
        expect(heading).to_have_attribute("aria-sort", "none")
        assert column(page, "data_parallel_size") == first


def test_blank_cells_come_last_whichever_way_it_is_sorted(opened: Open) -> None:
    with opened(*SMALL) as page:
        for _ in range(2):
            sort(page, "num_ep_groups")
            cells = column(page, "num_ep_groups")
            assert "-" in cells
            assert cells[cells.index("-") :] == ["-"] * cells.count("-")


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        (">= 4", lambda tp: tp >= 4),
        ("> = 4", lambda tp: tp >= 4),
        ("2..4", lambda tp: 2 <= tp <= 4),
        ("4..", lambda tp: tp >= 4),
        ("..4", lambda tp: tp <= 4),
        ("2", lambda tp: tp == 2),
        ("!= 1", lambda tp: tp != 1),
        ("<2", lambda tp: tp < 2),
    ],
)
def test_a_column_is_filtered_by_a_condition(
    opened: Open, text: str, keeps: Callable[[int], bool]
) -> None:
    with opened(*SMALL) as page:
        before = [int(cell) for cell in column(page, "tp_size")]
        page.get_by_label("Filter tp,").fill(text)
        after = [int(cell) for cell in column(page, "tp_size")]
        assert after == [tp for tp in before if keeps(tp)]
        assert 0 < len(after) < len(before)
        expect(page.get_by_role("status").first).to_contain_text(f"{len(after)} of {len(before)}")
        page.get_by_role("button", name="Clear filters").click()
        expect(page.locator("#table tbody tr")).to_have_count(len(before))


@pytest.mark.parametrize("text", [">= many", "..", "!4", "4 GiB", ">= 2..4", "1,2", "-", ">="])
def test_a_filter_that_cannot_be_read_is_said_and_ignored(opened: Open, text: str) -> None:
    with opened(*SMALL) as page:
        rows = page.locator("#table tbody tr").count()
        box = page.get_by_label("Filter tp,")
        for before in ("", "4"):
            box.fill(before)
            box.fill(text)
            expect(box).to_have_attribute("aria-invalid", "true")
            expect(page.locator("#table-status")).to_contain_text(
                "filter of tp not understood, ignored"
            )
            assert page.locator("#table tbody tr").count() == rows
        box.fill("")
        expect(page.locator("#table-status")).not_to_contain_text("understood")


def test_memory_is_filtered_with_its_unit(opened: Open) -> None:
    with opened(*SMALL, *MODEL) as page:
        shown = [float(cell.removesuffix(" GiB")) for cell in column(page, "memory_per_gpu")]
        middle = sorted(shown)[len(shown) // 2]
        box = page.get_by_label("Filter memory in GiB,")
        for text, count in (
            (f"{middle:.2f} GiB", shown.count(middle)),
            (f"{middle:.2f}", shown.count(middle)),
            (f">= {middle - 0.01:.2f}GiB", sum(size >= middle for size in shown)),
            (f"{(middle - 0.01) * 1024:.2f} .. MiB", None),
            (f"{(middle - 0.01) * 1024:.2f} MiB..", sum(size >= middle for size in shown)),
        ):
            box.fill(text)
            if count is None:
                expect(box).to_have_attribute("aria-invalid", "true")
            else:
                expect(page.locator("#table tbody tr")).to_have_count(count)


def test_a_filter_that_matches_nothing_leaves_a_row_that_says_so(opened: Open) -> None:
    with opened(*SMALL) as page:
        expect(page.locator("#plot svg")).to_be_visible()
        box = page.get_by_label("Filter tp,")
        box.fill("> 1000")
        expect(page.locator("#table tbody tr")).to_have_text("nothing matches")
        expect(page.locator("#plot-legend")).to_contain_text("nothing matches")
        expect(page.locator("#plot svg")).to_have_count(0)
        before = page.locator("#selected-words").text_content()
        page.locator("#table tbody tr").click()
        expect(page.locator("#selected-words")).to_have_text(before or "")
        box.fill("")
        expect(page.locator("#plot svg")).to_be_visible()


def test_a_rank_that_does_not_exist_is_said(opened: Open) -> None:
    with opened(*SMALL) as page:
        box = page.get_by_label("Rank", exact=True)
        box.fill("16")
        expect(page.locator("#ranks-group")).to_have_text(
            "There is no rank 16: a world of 16 has ranks 0 to 15."
        )
        box.fill("15")
        expect(page.locator("#ranks-group")).to_contain_text("Rank 15:")


def test_words_filter_the_options_and_the_plot_follows(opened: Open) -> None:
    with opened(*SMALL) as page:
        page.get_by_label("Options contain").fill("--ep 8 cp")
        options = column(page, "options")
        assert options
        assert all("--ep 8" in each and "--cp" in each for each in options)
        expect(page.locator("#plot-legend")).to_contain_text(f"of {len(options)} configuration")


def selected_row(page: Page) -> int:
    row = page.locator("#table tr[aria-selected=true]").get_attribute("data-row")
    assert row is not None
    return int(row)


def selected_config(page: Page) -> Config:
    """The selected configuration, as the command that checks it has it."""
    words = page.locator("#selected-facts pre").first.text_content() or ""
    done = cli(*words.split()[1:], "--format", "json")
    profile = PROFILES[done.data["profile"]]
    return profile.config(done.data["config"])


def test_selecting_a_row_redraws_the_memory(opened: Open) -> None:
    with opened(*SMALL, *MODEL) as page:
        before = page.locator("#memory-words").text_content()
        page.locator("#table tbody tr").nth(4).click()
        assert page.locator("#memory-words").text_content() != before
        used = usage(selected_config(page))
        assert used is not None
        table = page.locator("#memory-table tbody tr")
        shown = dict(
            table.evaluate_all(
                "rows => rows.map((row) => [...row.cells].slice(0, 2).map((c) => c.textContent))"
            )
        )
        expected = {
            name.replace("_", " "): f"{size / 2**30:.2f}" for name, size in used.bytes.items()
        }
        del expected["allocated"]
        assert {name: shown[name] for name in expected} == expected
        expect(page.locator("#memory-plot svg")).to_contain_text("optimizer")


def test_what_is_near_or_over_the_memory_is_marked(opened: Open) -> None:
    bounded = ("--world", "8", "--gpus-per-node", "8", "--model", "llama-3-8b", "--gpu", "h100",
               "--max-length", "4096", "--gpu-memory", "30", "--tp", "1")  # fmt: skip
    with opened("check", *bounded, "--repairs", "0") as page:
        for state, words in (("over", "does not fit"), ("near", "near the limit")):
            page.locator(f"#table tbody td.{state}").first.click()
            expect(page.locator("#memory-words")).to_contain_text(f"of 30.00 GiB: {words};")


def test_without_a_model_it_says_what_is_missing(opened: Open) -> None:
    with opened(*SMALL) as page:
        expect(page.locator("#memory-words")).to_contain_text("give --model")
        expect(page.locator("#memory-plot svg")).to_have_count(0)


def test_selecting_a_row_redraws_the_rank_map(opened: Open) -> None:
    with opened(*SMALL) as page:
        for place in (0, 3, 7):
            page.locator("#table tbody tr").nth(place).click()
            config = selected_config(page)
            profile = config.profile
            applying = [g for g in profile.layout.kinds if holds(profile, g.where, config.values)]
            axes = page.locator("#ranks-axis option").evaluate_all("all => all.map((o) => o.value)")
            assert axes == [grouping.name for grouping in applying]
            for grouping in applying:
                page.locator("#ranks-axis").select_option(grouping.name)
                page.get_by_label("Rank", exact=True).fill("11")
                found = next(g for g in grouping.groups(profile.fields)(config.values) if 11 in g)
                expect(page.locator("#ranks-group")).to_contain_text(
                    f"Members: {', '.join(map(str, found))}."
                )


def test_a_huge_cluster_has_a_sentence_and_no_map(opened: Open) -> None:
    huge = ("check", "--world", "1000000000", "--gpus-per-node", "8", "--ep", "8")
    with opened(*huge, "--repairs", "0", "--limit", "2") as page:
        expect(page.locator("#ranks-words")).to_contain_text("a world of 1,000,000,000")
        expect(page.locator("#ranks-map")).not_to_be_visible()
        facts = page.locator("#selected-facts dt").all_text_contents()
        assert "check it" in facts
        assert "its groups" not in facts


def test_the_commands_of_a_row_are_about_it(opened: Open) -> None:
    with opened("--profile", "megatron", *SMALL) as page:
        said = page.locator("#selected-facts pre").all_text_contents()
        assert [text.split()[:4] for text in said[:2]] == [
            ["parsolve", verb, "--profile", "megatron"] for verb in ("check", "layout")
        ]
        for text in said[:2]:
            assert cli(*text.split()[1:]).code == 0


def test_hovering_a_gpu_says_its_group(opened: Open) -> None:
    with opened(*SMALL) as page:
        canvas = page.locator("#ranks-map")
        canvas.scroll_into_view_if_needed()
        canvas.hover(position={"x": 6 + 34 * 3 + 17, "y": 16 + 6 + 17})
        expect(page.locator("#ranks-group")).to_contain_text("Rank 3: node 0")
        before = canvas.screenshot()
        canvas.hover(position={"x": 6 + 34 * 5 + 17, "y": 16 + 6 + 17})
        expect(page.locator("#ranks-group")).to_contain_text("Rank 5: node 0")
        assert canvas.screenshot() != before


def test_the_keyboard_reaches_everything(opened: Open) -> None:
    with opened(*SMALL, *MODEL) as page:
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.locator("#table tbody tr").first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert selected_row(page) == 2
        expect(page.locator("#selected-words")).to_contain_text(column(page, "options")[2])
        page.keyboard.press("End")
        page.keyboard.press("Home")
        expect(page.locator("#table tbody tr").first).to_be_focused()
        page.locator("#ranks-map").focus()
        page.keyboard.press("End")
        expect(page.locator("#ranks-group")).to_contain_text("Rank 15")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#ranks-group")).to_contain_text("Rank 14")


def test_arrow_keys_turn_pages(opened: Open) -> None:
    with opened("--profile", "generic", "--world", "64", "--moe") as page:
        page.locator("#table tbody tr").last.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator("#page-number")).to_contain_text("Page 2")
        expect(page.locator("#table tbody tr").first).to_be_focused()
        page.keyboard.press("ArrowUp")
        expect(page.locator("#page-number")).to_contain_text("Page 1")


def test_a_point_of_the_plot_is_named_and_selects(opened: Open) -> None:
    with opened(*SMALL, *MODEL, "--pareto", "memory,dp") as page:
        point = page.locator("#plot svg .mark-symbol path").nth(5)
        point.hover()
        tip = page.locator("#tooltip")
        expect(tip).to_contain_text("memory (GiB)")
        expect(tip).to_contain_text("--")
        before = page.locator("#selected-words").text_content()
        point.click(force=True)
        expect(page.locator("#selected-words")).not_to_have_text(before or "")


def test_the_front_is_the_front(opened: Open) -> None:
    with opened(*SMALL, *MODEL, "--pareto", "memory,dp") as page:
        page.get_by_text("The Pareto front as a table").click()
        rows = page.locator("#front-table tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        shown = {(memory, dp) for _, memory, dp, _ in rows}
        found = data(page)
        memory, dp = (
            next(c for c in found["columns"] if c["name"] == name)["values"]
            for name in ("memory_per_gpu", "data_parallel_size")
        )
        places = list(zip(memory, dp, strict=True))
        best = {
            p for p in places
            if not any(o[0] <= p[0] and o[1] >= p[1] and o != p for o in places)
        }  # fmt: skip
        assert shown == {(f"{size / 2**30:.2f}", str(width)) for size, width in best}


def test_axes_of_the_plot_can_be_chosen(opened: Open) -> None:
    with opened(*SMALL, *MODEL) as page:
        page.locator("#plot-x").select_option(label="tp")
        expect(page.locator("#plot svg")).to_contain_text("tp")
        page.locator("#plot-x-less").select_option("less")
        expect(page.locator("#plot-legend")).to_contain_text("Pareto front")


def test_a_rejection_says_why_and_its_repairs_can_be_shown(opened: Open) -> None:
    with opened(*REJECTED) as page:
        expect(page.locator("#verdict")).to_contain_text("ep-single-domain-multi-group")
        expect(page.locator("#answer")).to_contain_text("src/distributed/parallelism_config.py")
        expect(page.locator("#ranks-words")).to_contain_text("rejected")
        page.get_by_role("button", name="Show --ep 8").click()
        expect(page.locator("#selected-words")).to_have_text("--ep 8 (nearest)")
        expect(page.locator("#ranks-group")).to_contain_text("Rank 0")


def test_a_conflict_offers_what_to_relax(opened: Open) -> None:
    with opened(*CONFLICT) as page:
        expect(page.locator("#verdict")).to_contain_text("nothing is valid")
        page.get_by_role("button", name="Show --tp 8").click()
        expect(page.locator("#selected-words")).to_contain_text("--tp 8")


def test_a_pipeline_has_its_timeline(opened: Open) -> None:
    with opened(*PIPELINE) as page:
        expect(page.locator("#timeline-words")).to_contain_text("micro-batches")
        expect(page.locator("#timeline-words")).to_contain_text("parsolve schedule --pp")
        bars = page.locator("#timeline-plot svg .mark-rect path")
        expect(bars.first).to_be_visible()
        words = page.locator("#timeline-words").text_content() or ""
        ranks, batches = [int(word) for word in words.split() if word.isdecimal()][:2]
        assert bars.count() == 2 * ranks * batches
        page.get_by_label("Filter pp,").fill("1")
        page.locator("#table tbody tr").first.click()
        expect(page.locator("#timeline-words")).to_contain_text("nothing to draw")
        expect(page.locator("#timeline-plot svg")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_reader(opened: Open, scheme: str) -> None:
    with opened(*SMALL, scheme=scheme) as page:
        other = "dark" if scheme == "light" else "light"
        colour = "getComputedStyle(document.body).backgroundColor"
        before = page.evaluate(colour)
        page.get_by_label("Theme").select_option(other)
        after = page.evaluate(colour)
        dark, light = (before, after) if scheme == "dark" else (after, before)
        assert (dark, light) == ("rgb(13, 17, 23)", "rgb(255, 255, 255)")
        page.wait_for_timeout(300)


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_that_of_wcag_aa(opened: Open, scheme: str) -> None:
    with opened(*SMALL, scheme=scheme) as page:

        def colour(name: str) -> str:
            read = (
                "(name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()"
            )
            return str(page.evaluate(read, f"--{name}"))

        for text in ("text", "muted", "link", "yes", "no", "open"):
            for ground in ("page", "panel", "chosen"):
                assert contrast(colour(text), colour(ground)) >= 4.5, (text, ground)
        for mark in ("point", "front", "bound", "part"):
            assert contrast(colour(mark), colour("page")) >= 3, mark
        for shade in range(8):
            assert contrast(colour(f"group-{shade}"), colour("on-group")) >= 4.5, shade


def test_paper_shows_all_sections_and_no_controls(opened: Open) -> None:
    with opened(*SMALL, *MODEL) as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        for control in page.locator(".control").all():
            expect(control).not_to_be_visible()
        for section in page.locator("main > section").all():
            expect(section).to_be_visible()
        assert page.locator("details:not([open])").count() == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details[open]").count() == 0


def test_a_narrow_screen_scrolls_only_downwards(opened: Open) -> None:
    with opened(*SMALL, *MODEL, width=360) as page:
        expect(page.locator("#plot svg")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_headings_are_in_order_and_controls_have_names(opened: Open) -> None:
    with opened(*SMALL, *MODEL) as page:
        levels = page.locator("h1, h2, h3").evaluate_all(
            "all => all.map((h) => Number(h.tagName[1]))"
        )
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        nameless = page.locator("button, input, select, canvas").evaluate_all(
            """all => all.filter((each) => !(each.labels?.length || each.textContent.trim()
                || each.getAttribute("aria-label") || each.getAttribute("aria-labelledby")))
                .map((each) => each.outerHTML)"""
        )
        assert nameless == []
        ids = page.locator("[id]").evaluate_all("all => all.map((each) => each.id)")
        assert len(ids) == len(set(ids))
        for landmark in ("banner", "navigation", "main", "search"):
            expect(page.get_by_role(landmark)).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("arguments", [(*SMALL, *MODEL), PIPELINE, REJECTED, CONFLICT])
def test_axe_finds_no_barrier(opened: Open, arguments: tuple[str, ...], scheme: str) -> None:
    width = 1200 if scheme == "light" else 360
    with opened(*arguments, scheme=scheme, width=width) as page:
        page.wait_for_timeout(300)
        found = Axe().run(page).response["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []


def test_a_report_without_any_configuration_says_so(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert cli("report", "-o", str(path), *SMALL, "--timeout", "0.000001").code == 3
    shown = Opened(browser, path)
    expect(shown.page.locator("#verdict")).to_contain_text("undecided")
    expect(shown.page.locator("#table-status")).to_contain_text("0 configurations")
    expect(shown.page.locator("#selected")).not_to_be_visible()
    shown.close()


def test_five_thousand_configurations_keep_the_page_small(opened: Open) -> None:
    """The cost of sorting, filtering and selecting follows the elements, not the configurations."""
    elements = "document.querySelectorAll('*').length"
    with opened(*MANY) as page:
        expect(page.locator("#configurations > p").first).to_contain_text("the best 5,000")
        expect(page.locator("#table-status")).to_contain_text("5,000 configurations")
        expect(page.locator("#plot svg")).to_be_visible()
        assert page.evaluate(elements) < MOST_NODES
        sort(page, "data_parallel_size")
        page.get_by_label("Filter tp,").fill(">= 2")
        page.locator("#table tbody tr").nth(3).click()
        expect(page.locator("#table-status")).to_contain_text("of 5,000")
        assert page.evaluate(elements) < MOST_NODES
        assert page.locator("#table tbody tr").count() == 25


HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_what_the_user_wrote_is_never_markup(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(2)>"
    folder.mkdir()
    config = {"model_type": HOSTILE, "hidden_size": 1024, "num_hidden_layers": 4,
              "num_attention_heads": 8, "vocab_size": 1000, "intermediate_size": 4096,
              "max_position_embeddings": 4096}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    path = tmp_path / "report.html"
    done = cli("report", "-o", str(path), "--world", "8", "--model", str(folder),
               "--where", "tp_size <= 8 and dp < 10")  # fmt: skip
    assert done.code == 0, done.err
    shown = Opened(browser, path)
    assert shown.page.locator("img").count() == 0
    expect(shown.page.locator("#command")).to_contain_text("<img src=x onerror=alert(2)>")
    expect(shown.page.locator("#question")).to_contain_text(HOSTILE)
    shown.close()
