"""The catalogue as tables: rules, warnings, run-time checks, disagreements and quantities."""

from __future__ import annotations

from itertools import groupby

from parsolve.cli.matrix.markdown import code, link, marked, prose, table
from parsolve.cli.matrix.modes import REFUSED, SUPPORTED
from parsolve.constraints.describe import term_words, words
from parsolve.constraints.formula import (
    ALWAYS,
    Formula,
    NamedFormula,
    Node,
    named_in,
    stated_in,
)
from parsolve.constraints.profile import Profile
from parsolve.constraints.rule import Rule, Source

QUANTITIES = "Quantities"
"""Heading of the quantities."""

LONG = 200
"""A longer formula over the axes alone is said by the table of supported modes instead."""


def rules_in_order(profile: Profile) -> list[str]:
    """Every rule, stage by stage, in order of evaluation."""
    blocks = [
        prose(
            profile,
            f"{len(profile.rules)} rules, in order of evaluation. A stage that the framework "
            "comes back to is continued.",
        )
    ]
    if given := _read_as_given(profile):
        shared = ", ".join(sorted({name for names in given.values() for name in names}))
        blocks.append(
            prose(
                profile,
                f"{shared} are fields and, after defaults are resolved, quantities. Rules and "
                f"warnings mean the quantity, except those that read the field as it was given: "
                f"{', '.join(given)}.",
            )
        )
    seen: set[str] = set()
    numbered = enumerate(profile.rules, 1)
    for stage, group in groupby(numbered, key=lambda pair: pair[1].stage):
        blocks.append(f"### {stage}{' (continued)' if stage in seen else ''}")
        seen.add(stage)
        blocks.append(
            table(
                ("#", "Rule", "Applies when", "Requires", "Alone", "Why", "Instead", "Source"),
                (
                    (
                        str(number),
                        code(rule.id),
                        _formula(rule.when),
                        _requires(profile, rule),
                        _alone(profile, rule),
                        marked(profile, rule.reason)
                        + (f" Per set: {link(REFUSED)}." if rule.variants else ""),
                        marked(profile, rule.remedy),
                        _source(profile, rule.source),
                    )
                    for number, rule in group
                ),
            )
        )
    return blocks


def _alone(profile: Profile, rule: Rule) -> str:
    """Whether the rule is ever violated alone, as `parsolve prove rules` has it."""
    implying = profile.implied.get(rule.id)
    if implying is None:
        return "yes"
    return f"no: implied by {', '.join(map(code, implying))}"


def _read_as_given(profile: Profile) -> dict[str, frozenset[str]]:
    """Rules and warnings that read a field for which a quantity has the same name."""
    nodes: dict[str, tuple[Node, ...]] = {rule.id: rule.nodes for rule in profile.rules}
    nodes |= {notice.id: (notice.when,) for notice in profile.warnings}
    shared = {quantity.name for quantity in profile.derived} & set(profile.field_of)
    found = {identity: stated_in(*trees) & shared for identity, trees in nodes.items()}
    return {identity: names for identity, names in found.items() if names}


def _requires(profile: Profile, rule: Rule) -> str:
    text = _formula(rule.requires)
    if len(text) > LONG and rule.reads == frozenset(profile.axes):
        return f"the active axes are a supported set: see {link(SUPPORTED)}"
    return text


def warnings(profile: Profile) -> list[str]:
    """Every warning."""
    if not profile.warnings:
        return []
    return [
        prose(profile, "Accepted all the same."),
        table(
            ("Warning", "When", "What", "Source"),
            (
                (
                    code(notice.id),
                    _formula(notice.when),
                    marked(profile, notice.reason),
                    _source(profile, notice.source),
                )
                for notice in profile.warnings
            ),
        ),
    ]


def run_time_checks(profile: Profile) -> list[str]:
    """What the framework rejects only once it runs."""
    if not profile.run_time_checks:
        return []
    return [
        prose(
            profile,
            "They need the running job or the loaded model: named here, never decided.",
        ),
        table(
            ("Check", "Stage", "Rejected when", "Source"),
            (
                (
                    code(known.id),
                    known.stage,
                    marked(profile, known.when),
                    _source(profile, known.source),
                )
                for known in profile.run_time_checks
            ),
        ),
    ]


def disagreements(profile: Profile) -> list[str]:
    """Where sources of the framework differ, and which one is taken."""
    if not profile.disagreements:
        return []
    return [
        table(
            ("Topic", "Who says what", "Taken here"),
            (
                [marked(profile, text) for text in (note.topic, note.sources, note.taken)]
                for note in profile.disagreements
            ),
        )
    ]


def quantities(profile: Profile) -> list[str]:
    """Every quantity that a rule or a warning reads, or that is derived."""
    short = {name: word for word, name in profile.short_names.items()}
    read = [node for rule in profile.rules for node in rule.nodes]
    read += [notice.when for notice in profile.warnings]
    account = () if profile.account is None else profile.account.named
    return [
        prose(profile, "What the rules compute from the fields, each after those it is made of."),
        table(
            ("Quantity", "Short", "What", "How"),
            (
                (
                    code(quantity.name),
                    short.get(quantity.name, "-"),
                    marked(profile, quantity.about),
                    _formula(quantity.formula)
                    if isinstance(quantity, NamedFormula)
                    else code(term_words(quantity.term)),
                )
                for quantity in named_in(*profile.derived, *read, *account)
                if quantity.about
            ),
        ),
    ]


def _formula(formula: Formula) -> str:
    return "always" if formula is ALWAYS else code(words(formula))


def _source(profile: Profile, source: Source) -> str:
    return f"{code(source.file)}, {marked(profile, source.function)}"
