"""The answer as HTML: the verdict or the ranking, with reasons, sources and proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, assert_never

from parsolve.cli.ranking import amount, reached
from parsolve.cli.report.markup import Markup, markup, tag
from parsolve.cli.report.rows import Rows
from parsolve.cli.verdicts import LABELS
from parsolve.cli.wording import (
    NOTHING_TO_RELAX,
    away_words,
    certificate_words,
    change_words,
    cluster,
    conflict_asked,
    conflict_excludes,
    conflict_held,
    conflict_proof,
    conflict_where,
    demand,
    differences,
    effective,
    found_so_far,
    gpus,
    quantities,
    repair_notes,
    rule_facts,
    stage_words,
    unjudged_words,
    usage_words,
)
from parsolve.constraints import PROFILES
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import (
    Accepted,
    Best,
    Caution,
    Conflict,
    Rejected,
    Undecided,
    Violation,
)

Reported: TypeAlias = Accepted | Rejected | Best | Conflict | Undecided
"""Answers that a report may be about."""


def entries(pairs: Iterable[tuple[str, str | Iterable[str]]]) -> Markup:
    """Terms and what is said of each; a term without text is left out."""
    return tag(
        "dl", *(tag("div", tag("dt", term), tag("dd", text)) for term, text in pairs if text)
    )


def code(text: str, **attributes: str | bool) -> Markup:
    """A piece of a command line, whose lines end between words."""
    words = (tag("span", word) for word in text.split(" "))
    spaced = [piece for word in words for piece in (markup(" "), word)][1:]
    return tag("code", spaced, **attributes)


def headline(answer: Reported) -> tuple[str, str, str]:
    """The verdict in one word, its kind (yes, no or open), and the sentence it begins."""
    profile = PROFILES[answer.profile]
    match answer:
        case Accepted():
            on = cluster(profile, answer.config, answer.derived)
            return "accepted", "yes", f"{differences(profile, answer.config)} on {on}"
        case Rejected():
            first, *others = answer.violations
            more = f" and {len(others)} more" if others else ""
            return "rejected", "no", f"{first.rule}{more}"
        case Best(pareto=True):
            count = _configurations(answer.count)
            return "pareto front", "yes", f"{count} on the front: {reached(profile, answer)}"
        case Best():
            count = _configurations(answer.count)
            return "best", "yes", f"{reached(profile, answer)}, reached by {count}"
        case Conflict():
            return "conflict", "no", f"nothing is valid on {conflict_where(answer)}"
        case Undecided():
            return "undecided", "open", answer.reason
        case _:
            assert_never(answer)


def _configurations(count: int) -> str:
    return f"{count:,} configuration{'s' if count != 1 else ''}"


def details(answer: Reported, rows: Rows) -> Markup:
    """All that belongs to the verdict, with buttons that select rows."""
    profile = PROFILES[answer.profile]
    match answer:
        case Accepted():
            return markup([_of_config(profile, answer), _cautions(answer.warnings)])
        case Rejected():
            first, *others = answer.violations
            return markup(
                [
                    _violation(profile, first, first=True),
                    *(_violation(profile, each, first=False) for each in others),
                    _of_config(profile, answer),
                    _nearest(rows, answer),
                    _cautions(answer.warnings),
                ]
            )
        case Best():
            return markup([_ranking(rows, answer), _cautions(answer.warnings)])
        case Conflict():
            return markup([_conflict(rows, answer), _cautions(answer.warnings)])
        case Undecided():
            return _undecided(answer)
        case _:
            assert_never(answer)


def _of_config(profile: Profile, answer: Accepted | Rejected) -> Markup:
    told = [
        ("effective", effective(profile, answer.config, answer.derived)),
        ("memory", "" if answer.memory is None else usage_words(answer.memory)),
    ]
    if isinstance(answer, Accepted):
        told.append(("derived", quantities(answer.derived)))
        told += [("unjudged", text) for text in unjudged_words(profile, answer.config)]
    return entries(told)


def _violation(profile: Profile, violation: Violation, *, first: bool) -> Markup:
    told = entries(rule_facts(profile, violation, first=first))
    return tag("article", tag("h3", violation.rule), told, class_="rule")


def _nearest(rows: Rows, answer: Rejected) -> Markup:
    profile = rows.profile
    if answer.repairs is None:
        return markup("")
    items = [
        tag(
            "li",
            code(change_words(profile, repair)),
            f" ({away_words(profile, repair)})" if position == 0 else "",
            _choose(rows, repair.config),
        )
        for position, repair in enumerate(answer.repairs)
    ]
    return markup(
        [
            tag("h3", "Nearest valid configurations"),
            tag("ul", *items, class_="repairs") if items else "",
            *(tag("p", _sentence(note)) for note in repair_notes(answer)),
        ]
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _choose(rows: Rows, config: Mapping[str, Any]) -> Markup:
    """A button that selects the row of a configuration, if it has one."""
    place = rows.place(config)
    if place is None:
        return markup("")
    return tag(
        "button",
        "show",
        type="button",
        class_="control",
        data_place=str(place),
        aria_label=f"Show {differences(rows.profile, config)}",
    )


def _cautions(cautions: Iterable[Caution]) -> Markup:
    items = [
        tag(
            "li",
            tag("strong", f"{LABELS[caution.kind]}: {caution.warning}"),
            f" {caution.reason}",
            f" ({caution.because})" if caution.because else "",
            tag("span", f" {caution.source}", class_="source"),
        )
        for caution in cautions
    ]
    if not items:
        return markup("")
    return markup([tag("h3", "Worth knowing"), tag("ul", *items, class_="cautions")])


MOST_RANKED = 10
"""Best configurations that are listed above the table."""


def _ranking(rows: Rows, answer: Best) -> Markup:
    profile = rows.profile
    shown = answer.solutions[:MOST_RANKED]
    items = [
        tag(
            "li",
            code(_own_options(rows, solution.config)),
            f" on {gpus(solution.config[profile.world])}",
            _scores(profile, solution.objectives) if answer.pareto else "",
            _choose(rows, solution.config),
        )
        for solution in shown
    ]
    rest = answer.count - len(shown)
    more = f"{rest:,} more are as good; the table has them." if rest else ""
    return markup(
        [
            tag("ol", *items, class_="ranking"),
            tag("p", "All with ", code(rows.everywhere), ".") if rows.everywhere else "",
            tag("p", more) if more else "",
            entries(
                [
                    ("order", "" if answer.count == 1 else "; ".join(answer.order)),
                    ("searched", answer.searched),
                    ("proof", certificate_words(answer.certificate, timed=False)),
                ]
            ),
        ]
    )


def _own_options(rows: Rows, config: Mapping[str, Any]) -> str:
    """Options by which a configuration is told from the other rows."""
    place = rows.place(config)
    return differences(rows.profile, config) if place is None else rows.options[place]


def _scores(profile: Profile, scores: Mapping[str, Any] | None) -> str:
    words = (f"{text} = {amount(profile, text, value)}" for text, value in (scores or {}).items())
    return f": {', '.join(words)}"


def _conflict(rows: Rows, answer: Conflict) -> Markup:
    profile = rows.profile
    asked = (tag("li", code(text)) for text in conflict_asked(profile, answer))
    held = (tag("li", text) for text in conflict_held(profile, answer))
    relaxed = [
        tag("li", code(change_words(profile, repair)), _choose(rows, repair.config))
        for repair in answer.repairs
    ]
    return markup(
        [
            tag("p", f"On {gpus(answer.world)} {conflict_excludes(answer)}:"),
            tag("ul", *asked, *held),
            *(
                tag("article", tag("h3", rule.rule), _asks(profile, rule), class_="rule")
                for rule in answer.rules
            ),
            tag("h3", "What to relax"),
            tag("ul", *relaxed, class_="repairs")
            if relaxed
            else tag("p", _sentence(NOTHING_TO_RELAX)),
            entries([("searched", answer.searched), ("proof", conflict_proof(answer))]),
        ]
    )


def _asks(profile: Profile, rule: Violation) -> Markup:
    """A rule of a conflict: it asks for something, no configuration breaks it."""
    return entries(
        [
            ("stage", stage_words(profile, rule.stage)),
            ("why", rule.reason),
            demand(rule),
            ("source", rule.source),
        ]
    )


def _undecided(answer: Undecided) -> Markup:
    found = (
        f"So far: {found_so_far(answer)}."
        if answer.solutions
        else "Nothing valid was found so far, which does not mean that there is nothing."
    )
    return markup(
        [
            tag("p", found, " A longer --timeout may decide it."),
            entries([("searched", answer.searched)]),
        ]
    )
