"""The answer as HTML: the verdict or the ranking, with reasons, sources and proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

from parsolve.cli.ranking import amount
from parsolve.cli.report.markup import Markup, markup, tag
from parsolve.cli.report.rows import Rows
from parsolve.cli.verdicts import LABELS, SHORT, stage_words
from parsolve.cli.wording import (
    cluster,
    differences,
    effective,
    gpus,
    option,
    quantities,
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
from parsolve.solver.repair import MOST_CHANGES
from parsolve.solver.unjudged import unjudged

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
            goals = ", ".join(f"{g.direction} {g.quantity}" for g in answer.objectives)
            return "pareto front", "yes", f"{_configurations(answer.count)} on the front: {goals}"
        case Best():
            goals = ", ".join(
                f"{g.quantity} = {amount(profile, g.quantity, g.value)} "
                f"({'maximum' if g.direction == 'maximize' else 'minimum'})"
                for g in answer.objectives
            )
            return "best", "yes", f"{goals}, reached by {_configurations(answer.count)}"
        case Conflict():
            where = (
                f"on {gpus(answer.world)}"
                if answer.worlds == 1
                else f"on any of the {answer.worlds} worlds"
            )
            return "conflict", "no", f"nothing is valid {where}"
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
        told += [("derived", quantities(answer.derived)), *_not_judged(profile, answer)]
    return entries(told)


def _not_judged(profile: Profile, answer: Accepted) -> Iterator[tuple[str, str]]:
    """What else to give, so that the rules that wait for it can judge."""
    for name, rules in unjudged(profile.config(answer.config)).items():
        yield "unjudged", f"{', '.join(rules)}: give --{profile.field_of[name].flag}"


def rule_entries(profile: Profile, violation: Violation, *, first: bool = False) -> Markup:
    """Why a rule refuses, the numbers in force, the remedy, the stage and the source."""
    return entries(
        [
            ("why", violation.reason),
            ("because", violation.because),
            ("remedy", violation.remedy),
            ("stage", stage_words(profile, violation.stage, first=first)),
            ("source", violation.source),
        ]
    )


def _violation(profile: Profile, violation: Violation, *, first: bool) -> Markup:
    told = rule_entries(profile, violation, first=first)
    return tag("article", tag("h3", violation.rule), told, class_="rule")


def change_words(profile: Profile, change: Mapping[str, Any], drop: Sequence[str] = ()) -> str:
    """A repair as options, and the conditions that it gives up."""
    changes = [option(profile.field_of[name], value) for name, value in change.items()]
    return " ".join([*changes, *(f'without --where "{text}"' for text in drop)])


def _nearest(rows: Rows, answer: Rejected) -> Markup:
    profile = rows.profile
    cut = answer.repairs_complete is False
    rest = "The search for alternatives was cut short: there may be nearer ones. " if cut else ""
    if answer.repairs is None:
        return markup("")
    if not answer.repairs:
        said = rest or (
            f"No change of at most {MOST_CHANGES} knobs is accepted; facts of the model and of "
            "the trainer were not changed."
        )
        return markup([tag("h3", "Nearest valid configurations"), tag("p", said)])
    items = [
        tag("li", code(change_words(profile, repair.change)), _choose(rows, repair.config))
        for repair in answer.repairs
    ]
    count = len(answer.repairs[0].change)
    changes = "one change" if count == 1 else f"{count} changes"
    more = f"{answer.more_repairs} more are as near. " if answer.more_repairs else ""
    return markup(
        [
            tag("h3", "Nearest valid configurations"),
            tag("p", f"Each is accepted, the first {changes} away. {more}{rest}".rstrip()),
            tag("ul", *items, class_="repairs"),
        ]
    )


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
    certificate = answer.certificate
    return markup(
        [
            tag("ol", *items, class_="ranking"),
            tag("p", "All with ", code(rows.everywhere), ".") if rows.everywhere else "",
            tag("p", more) if more else "",
            entries(
                [
                    ("order", "" if answer.count == 1 else "; ".join(answer.order)),
                    ("searched", answer.searched),
                    (
                        "proof",
                        (
                            f"Z3: {certificate.claim}; for every cluster, each searched size must "
                            "divide the world"
                        ),
                    ),
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
    asked = [option(profile.field_of[name], value) for name, value in answer.pins.items()]
    asked += [f'--where "{text}"' for text in answer.conditions]
    held = [
        f"{name} stays {value} unless --{profile.field_of[name].flag} is given"
        for name, value in answer.held.items()
    ]
    cut_short = not answer.smallest and answer.method == "Z3"
    intro = "Among these some exclude each other" if cut_short else "These exclude each other"
    relaxed = [
        tag(
            "li",
            code(change_words(profile, repair.change, repair.drop or ())),
            _choose(rows, repair.config),
        )
        for repair in answer.repairs
    ]
    among = "of what was asked and rules" if answer.method == "Z3" else "of what was asked"
    proof = f"{answer.method}: no smaller set {among} conflicts" if answer.smallest else ""
    return markup(
        [
            tag("p", f"{intro} on {gpus(answer.world)}:"),
            tag("ul", *(tag("li", code(text)) for text in asked), *(tag("li", t) for t in held)),
            *(
                tag("article", tag("h3", rule.rule), _asks(profile, rule), class_="rule")
                for rule in answer.rules
            ),
            tag("h3", "What to relax"),
            tag("ul", *relaxed, class_="repairs")
            if relaxed
            else tag("p", "Nothing that was asked can be relaxed; change the world."),
            entries([("searched", answer.searched), ("proof", proof)]),
        ]
    )


def _asks(profile: Profile, rule: Violation) -> Markup:
    """A rule of a conflict: it asks for something, no configuration breaks it."""
    asks = rule.because if len(rule.because) <= SHORT else rule.remedy
    return entries(
        [
            ("why", rule.reason),
            ("it asks", asks),
            ("stage", stage_words(profile, rule.stage)),
            ("source", rule.source),
        ]
    )


def _undecided(answer: Undecided) -> Markup:
    found = (
        f"{_configurations(answer.count)} found so far; whether others are better is not known."
        if answer.solutions
        else "Nothing valid was found so far, which does not mean that there is nothing."
    )
    return markup(
        [
            tag("p", found, " A longer --timeout may decide it."),
            entries([("searched", answer.searched)]),
        ]
    )
