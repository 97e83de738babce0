"""The whole page: question, answer, rows and what draws them, in one file that loads nothing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from string import Template

from parsolve.cli.report import charts, details
from parsolve.cli.report.answers import Reported, code, entries, headline
from parsolve.cli.report.answers import details as answer_details
from parsolve.cli.report.commands import Said
from parsolve.cli.report.markup import Markup, markup, script_json, tag
from parsolve.cli.report.rows import Rows, columns
from parsolve.cli.wording import (
    CHOSEN,
    certificate_words,
    cluster,
    differences,
    gpus,
    model_facts,
    option,
    rule_facts,
)
from parsolve.constraints.javascript import PRELUDE, groupings_source
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.query import Query
from parsolve.solver.survey import Refusals, Survey

SCRIPTS = ("state.js", "table.js", "plots.js", "memory.js", "ranks.js", "timeline.js", "page.js")
"""The page's own JavaScript, in the order in which it runs."""

SECTIONS = {
    "answer": "Answer",
    "question": "Question",
    "configurations": "Configurations",
    "comparison": "Compare",
    "selected": "Selected",
    "refused": "Rejected",
    "reproduce": "Reproduce",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a page is about.

    ``query`` is the search whose ``survey`` the table shows, absent where there is none, which
    ``silence`` explains.
    """

    profile: Profile
    asked: Config
    answer: Reported
    said: Said
    rows: Rows
    query: Query | None
    survey: Survey | None = None
    refusals: Refusals | None = None
    silence: str = ""


def page(report: Report) -> str:
    """The HTML file."""
    word, _, sentence = headline(report.answer)
    library, program = charts.library(), _program(report.profile)
    style = _own("style.css")
    return Template(_own("page.html")).substitute(
        policy=_policy([library, program]),
        version=markup(version("parsolve")),
        title=markup(f"{word}: {sentence} - parsolve"),
        style=style,
        navigation=markup([tag("a", text, href=f"#{name}") for name, text in SECTIONS.items()]),
        heading=_heading(report),
        verdict=_verdict(report),
        question=_question(report),
        statement=_statement(report),
        refused=_refused(report),
        reproduce=_reproduce(report),
        data=script_json(_data(report)),
        library=library,
        program=program,
    )


def _own(name: str) -> str:
    return files("parsolve.cli.report").joinpath(name).read_text(encoding="utf-8")


def _program(profile: Profile) -> str:
    """The page's own JavaScript, with the profile's groups compiled into it."""
    groupings = groupings_source(profile.layout.kinds)
    parts = [PRELUDE, f"const groupingsOf = {groupings};\n", *map(_own, SCRIPTS)]
    return f'"use strict";\n(() => {{\n{"".join(parts)}}})();\n'


def _policy(scripts: Iterable[str]) -> str:
    """Nothing is loaded and nothing sent; only the page's own scripts run."""
    digests = (b64encode(sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _heading(report: Report) -> Markup:
    profile, worlds = report.profile, () if report.query is None else report.query.worlds
    if len(worlds) > 1:
        on = f"{len(worlds)} worlds from {worlds[0]} to {worlds[-1]} GPUs"
    else:
        on = gpus(report.asked[profile.world])
    if report.answer.answer in {"accepted", "rejected"}:
        given = differences(profile, report.asked.as_dict())
        asked = ["Is ", code(given), f" valid on {on}?"]
    else:
        asked = [f"The best configurations on {on}"]
    return markup([*asked, tag("span", f" {profile.title}", class_="profile")])


def _verdict(report: Report) -> Markup:
    word, kind, sentence = headline(report.answer)
    banner = tag(
        "p", tag("strong", word), " ", tag("span", sentence), class_=f"verdict {kind}", id="verdict"
    )
    return markup([banner, answer_details(report.answer, report.rows)])


def _question(report: Report) -> Markup:
    profile, config, query = report.profile, report.asked, report.query
    derived = profile.derive(config.values)
    model = model_facts(profile, config.as_dict(everything=True))
    chosen = [
        option(field, config[field.name])
        for field in profile.fields
        if field.flag and field.role in CHOSEN and config[field.name] != field.default
    ]
    is_search = report.answer.answer not in {"accepted", "rejected"}
    worlds = () if query is None else query.worlds
    if len(worlds) > 1:
        many = f"{len(worlds)} worlds, from {worlds[0]} to {worlds[-1]} GPUs; at the first: "
    else:
        many = ""
    return entries(
        [
            ("framework", profile.title),
            ("cluster", f"{many}{cluster(profile, config.as_dict(everything=True), derived)}"),
            ("model", _model(report.said.model, model)),
            ("given" if not is_search else "pinned", code(" ".join(chosen)) if chosen else ""),
            *_asked(query if is_search else None),
        ]
    )


def _model(name: str | None, facts: Sequence[str]) -> Sequence[str]:
    """The model by the name or path that the user gave, and what is known of it."""
    if not facts:
        return ["nothing is said of it"]
    known = code(" ".join(facts))
    return [known] if name is None else [tag("strong", name), ": ", known]


def _asked(query: Query | None) -> Sequence[tuple[str, str | Iterable[str]]]:
    """What a search asks for beside its pins."""
    if query is None:
        return []
    goals = (", " if query.pareto else ", then ").join(
        f"{'maximize' if goal.maximize else 'minimize'} {goal.text}" for goal in query.objectives
    )
    conditions = [code(condition.text) for condition in query.conditions]
    between = [piece for text in conditions for piece in (markup(", "), text)][1:]
    return [
        ("conditions", between),
        ("wanted", f"the Pareto front of: {goals}" if query.pareto else goals),
    ]


def _statement(report: Report) -> Markup:
    """What the table holds, and what is known of the rest."""
    survey = report.survey
    if survey is None:
        return tag("p", report.silence)
    shown = len(survey.configs)
    count = f"{survey.count:,} configuration{'s are' if survey.count != 1 else ' is'} valid"
    if survey.stopped:
        said = f"At least {count}; {survey.stopped} before all were found."
    elif not survey.counted:
        said = (
            f"More than {count}; the table has the best {shown:,} of all. --limit changes how many."
        )
    elif survey.count > shown:
        said = f"{count}; the table has the best {shown:,} of them. --limit changes how many."
    elif survey.certificate is not None and survey.complete:
        said = f"{count}. {certificate_words(survey.certificate, timed=False)}."
    else:
        said = f"{count} of what was searched; Z3 did not decide whether any other is."
    rest = ""
    if report.answer.answer in {"accepted", "rejected"}:
        rest = " These are what is valid on the same cluster for the same model, axes left open."
    elif report.answer.answer == "conflict" and report.rows.rows:
        rest = " The table shows what relaxing the question gives."
    return tag("p", said, rest)


def _refused(report: Report) -> Markup:
    found, profile = report.refusals, report.profile
    if found is None:
        return tag("p", report.silence or "Not counted: the time limit passed.")
    if not found.refusals:
        return tag("p", f"Nothing: all {found.candidates:,} candidates are accepted.")
    many = (
        f"every combination of the {knobs} searched knobs"
        if found.knobs == (knobs := len(found.searched))
        else f"every combination that uses at most {found.knobs} of the {knobs} searched knobs"
    )
    rows = []
    for each in found.refusals:
        searched = {n: v for n, v in each.config.as_dict().items() if n in found.searched}
        example = code(differences(profile, searched))
        if each.rule is None:
            name, body = f'the condition "{each.condition}"', markup("")
        else:
            name, body = each.rule.rule, entries(rule_facts(profile, each.rule))
        summary = tag("summary", tag("strong", name), f" refuses {each.count:,}, such as ", example)
        rows.append(tag("details", summary, body, class_="rule"))
    return markup(
        [
            tag(
                "p",
                f"Of {found.candidates:,} candidates on {gpus(found.world)} ({many}), each rule "
                "refuses so many before any other does:",
            ),
            *rows,
        ]
    )


def _reproduce(report: Report) -> Markup:
    names = ("parsolve", "z3-solver", "vl-convert-python")
    model = "" if report.said.model is None else ", and the same config.json if --model names one"
    return markup(
        [
            tag("p", f"This page, to the byte, with the same versions{model}:"),
            _copied(report.said.command(), "command"),
            entries([("versions", ", ".join(f"{name} {version(name)}" for name in names))]),
        ]
    )


def _copied(text: str, name: str) -> Markup:
    """A command line with a button that copies it."""
    button = tag("button", "Copy", type="button", class_="control copy", data_copy=name)
    return tag("div", tag("pre", code(text, id=name)), button, class_="command")


def _data(report: Report) -> dict[str, object]:
    rows, query = report.rows, report.query
    objectives = () if query is None else query.objectives
    return {
        "world": report.profile.world,
        "marks": [row.mark for row in rows.rows],
        "accepted": [row.accepted for row in rows.rows],
        "worlds": [row.config[report.profile.world] for row in rows.rows],
        "everywhere": rows.everywhere,
        "options": rows.options,
        "columns": columns(rows),
        "objective": _name(report.profile, report.profile.objective),
        "objectives": [
            {"text": goal.text, "name": _name(report.profile, goal.text), "less": not goal.maximize}
            for goal in objectives
        ],
        "memory": details.memory(rows),
        "layout": details.layout(rows),
        "timelines": details.timelines(rows),
        "warnings": details.warnings(rows),
        "launch": details.launches(rows),
        "command": report.said.of_row(rows.unlike),
        "specs": {
            "comparison": charts.comparison(),
            "memory": charts.memory(),
            "timeline": charts.timeline(),
        },
    }


def _name(profile: Profile, text: str) -> str:
    """The column of a quantity that is spelled so."""
    quantity = profile.quantity_of.get(text)
    return quantity.name if quantity is not None else profile.spellings.get(text, text)
