"""The reference matrix, `matrix.md`: everything a profile says, read off its catalogue.

Verdicts are computed and prose is the catalogue's, so that nothing here grows stale on its
own. The text is a function of the profile alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations, groupby, product
from textwrap import fill

from parsolve.cli.text import option
from parsolve.constraints.describe import term_words, words
from parsolve.constraints.fields import Choice
from parsolve.constraints.formula import (
    Arith,
    Feature,
    Formula,
    Named,
    NamedFormula,
    Node,
    Quotient,
    Term,
    Variable,
    children,
    named_in,
)
from parsolve.constraints.profile import Config, Profile, holds
from parsolve.constraints.rule import ALWAYS, Rule, Source
from parsolve.solver.answer import Accepted, Rejected
from parsolve.solver.check import check
from parsolve.solver.numbers import divisors

Given = Mapping[str, object]
Mode = frozenset[str]
Rows = Iterable[Sequence[str]]

SET_ORDER = ("pp_size", "ep_size", "tp_size", "expert_tp_size", "cp_size")
"""Order in which people name axes together; one that is missing here comes last."""

COLUMN_ORDER = ("ep_size", "tp_size", "expert_tp_size", "cp_size", "pp_size")
"""Order of axes as columns; one that is missing here comes last."""

LIFTED: Given = {"assume_pp": True}
"""What lifts a gate of the release, to see the contracts behind it."""

LARGEST_WORLD = 16
NODES = (8, 4, 2, 1)
"""GPUs per node among which the smallest configuration of a mode is searched, widest first."""

REFUSED_SIZE = 2
"""Size of every axis in a refused combination."""

TRAINER = "trainer"
TRAINER_NEEDS: Mapping[str, Given] = {"pp_size": {"max_length": 4096}}
"""What a run with any trainer must state as soon as this axis is active."""

NODE: Given = {"world_size": 8, "gpus_per_node": 8}
TWO_NODES: Given = {"world_size": 16, "gpus_per_node": 8}
THREE_NODES: Given = {"world_size": 24, "gpus_per_node": 8}
EIGHT_NODES: Given = {"world_size": 64, "gpus_per_node": 8}
SMALL_NODE: Given = {"world_size": 6, "gpus_per_node": 6}
RACK: Given = {"world_size": 72, "gpus_per_node": 4, "nvlink_domain_size": 72}
TWO_RACKS: Given = {**RACK, "world_size": 144}

EXAMPLES: Mapping[str, Mapping[str, Given]] = {
    "Clusters and layouts": {
        "one GPU": {"world_size": 1, "gpus_per_node": 1},
        "one node, no axis": NODE,
        "one node, EP with TP": {**NODE, "ep_size": 8, "tp_size": 4},
        "8 nodes, TP in each": {**EIGHT_NODES, "tp_size": 8},
        "8 nodes, TP over two": {**EIGHT_NODES, "tp_size": 16},
        "8 nodes, domains of two, TP over two": {
            **EIGHT_NODES,
            "nvlink_domain_size": 16,
            "tp_size": 16,
        },
        "8 nodes, EP fills each, with CP": {**EIGHT_NODES, "ep_size": 8, "cp_size": 4},
        "8 nodes, one EP group": {**EIGHT_NODES, "ep_size": 64},
        "2 nodes, EP with TP, a group in each": {**TWO_NODES, "ep_size": 8, "tp_size": 2},
        "2 nodes, EP with TP, one group": {**TWO_NODES, "ep_size": 16, "tp_size": 2},
        "2 nodes, expert TP fills each, EP across": {
            **TWO_NODES,
            "ep_size": 2,
            "expert_tp_size": 8,
        },
        "NVL72, one EP group": {**RACK, "ep_size": 72},
        "NVL72, EP as on a node of 8": {**RACK, "ep_size": 8},
        "NVL72, EP and expert TP fill it": {**RACK, "ep_size": 8, "expert_tp_size": 9},
        "two NVL72, EP fills each, with CP": {**TWO_RACKS, "ep_size": 72, "cp_size": 8},
        "3 nodes, half of each in an EP group": {**THREE_NODES, "ep_size": 12},
        "3 nodes, an EP group on two": {**THREE_NODES, "ep_size": 16},
        "one node of 6, EP and expert TP fill it": {
            **SMALL_NODE,
            "ep_size": 3,
            "expert_tp_size": 2,
        },
        "one node of 6, TP of 4": {**SMALL_NODE, "tp_size": 4},
        "5 nodes, one EP group": {"world_size": 40, "gpus_per_node": 8, "ep_size": 40},
        "2 nodes, PP with EP": {**TWO_NODES, "ep_size": 8, "pp_size": 2},
        "the same, behind the gate": {**TWO_NODES, "ep_size": 8, "pp_size": 2, **LIFTED},
    },
    "EP 4 on 8 GPUs, and its alternatives": {
        "four EP ranks": {**NODE, "ep_size": 4},
        "with attention TP": {**NODE, "ep_size": 4, "tp_size": 2},
        "two EP ranks": {**NODE, "ep_size": 2},
        "the whole domain": {**NODE, "ep_size": 8},
        "with expert TP": {**NODE, "ep_size": 4, "expert_tp_size": 2},
        "on fewer GPUs": {"world_size": 4, "gpus_per_node": 4, "ep_size": 4},
    },
}
"""Clusters and layouts that are worked through."""

WIDTH = 100
"""Columns of a line of prose."""

PADDED = 120
"""Widest table whose cells are padded; in a wider one the padding would be most of it."""

LONG = 200
"""A longer formula over the axes alone is said by the table of supported modes instead."""

SECTIONS = (
    "Supported modes",
    "Refused combinations",
    "Rules in order",
    "Warnings",
    "Trainer x mode",
    "Worked dp examples",
    "Not decidable before launch",
    "Where the framework's own sources disagree",
    "Quantities",
)


def matrix_text(profile: Profile) -> str:
    """The whole of `matrix.md` for a profile."""
    bodies = (
        _modes(profile),
        _refused(profile),
        _rules(profile),
        _warnings(profile),
        _trainers(profile),
        _examples(profile),
        _run_time(profile),
        _disagreements(profile),
        _quantities(profile),
    )
    kept = {heading: body for heading, body in zip(SECTIONS, bodies, strict=True) if body}
    blocks = _opening(profile, list(kept))
    for heading, body in kept.items():
        blocks += [f"## {heading}", *body]
    return "\n\n".join(blocks) + "\n"


# --- sections ---------------------------------------------------------------------------------


def _opening(profile: Profile, headings: Sequence[str]) -> list[str]:
    axes = [
        f"{_short(profile, name)}, `{name}`. {profile.field_of[name].about}"
        for name in _ordered(profile.axes, COLUMN_ORDER)
    ]
    legend = (
        *axes,
        "An axis is active if its size is larger than 1. A mode is the set of the active axes.",
        (
            "A rule rejects a configuration where its condition (applies when) holds and its "
            "requirement (requires) does not. Rules stand in the framework's order of "
            "evaluation: the first violated one is the verdict."
        ),
        (
            "A rule whose numbers are not defined, such as a quotient with a remainder, says "
            "nothing. While a size is itself illegal, other rules that read it say nothing."
        ),
        (
            "Options are those of `parsolve check`, which gives the verdict on any row. Names in "
            f"rules are fields, or quantities made of them: see {_link('Quantities')}."
        ),
    )
    return [
        f"# Parallelism matrix of {profile.title}",
        f"Generated by `parsolve matrix` from the profile `{profile.name}`; do not edit.",
        "How to read it:",
        _bullets(profile, legend),
        "Contents:",
        _bullets(profile, [_link(heading) for heading in headings]),
    ]


def _modes(profile: Profile) -> list[str]:
    rows = []
    for mode in profile.modes:
        config = smallest(profile, mode)
        if config is None:
            rows.append((_mode(profile, mode), f"none up to {LARGEST_WORLD} GPUs", "-", "no"))
            continue
        gate = _gate(config)
        runs = f"no: `{gate}`" if gate else "yes"
        rows.append((_mode(profile, mode), _options(config), _dp(config), runs))
    dp = profile.short_names["dp"]
    return [
        _prose(
            profile,
            f"These {len(profile.modes)} sets of axes may be active together. Each is shown with "
            f"the smallest configuration that is accepted, among worlds of up to {LARGEST_WORLD} "
            f"GPUs, and with its number of data-parallel ranks (dp, {dp}).",
        ),
        _table(("Mode", "Smallest accepted", "dp", "Runs in this release"), rows),
    ]


def _refused(profile: Profile) -> list[str]:
    by_prose: dict[tuple[str, str], list[str]] = {}
    rules: dict[str, None] = {}
    gates: dict[str, None] = {}
    for axes in _refused_sets(profile):
        config = _refused_config(profile, axes)
        first = profile.violated(config.values)[0]
        rules[profile.rules[first].id] = None
        gates[_gate(config)] = None
        names = by_prose.setdefault(profile.prose(first, config.values), [])
        names.append(_mode(profile, axes))
    count = sum(map(len, by_prose.values()))
    if not count:
        return [_prose(profile, "None: every set of axes is supported.")]
    text = (
        f"The other {count} of {2 ** len(profile.axes)} sets are refused by {', '.join(rules)}, "
        "whatever the sizes."
    )
    if earlier := [gate for gate in gates if gate not in rules]:
        text += f" In this release some meet {', '.join(earlier)} first."
    return [
        _prose(profile, text),
        _table(
            ("Axes", "Why", "Instead"),
            (
                (", ".join(names), _marked(profile, reason), _marked(profile, remedy))
                for (reason, remedy), names in sorted(
                    by_prose.items(), key=lambda item: len(item[1]) > 1
                )
            ),
        ),
    ]


def _rules(profile: Profile) -> list[str]:
    blocks = [
        _prose(
            profile,
            f"{len(profile.rules)} rules, in order of evaluation. A stage that the framework "
            "comes back to is continued.",
        )
    ]
    if given := _read_as_given(profile):
        shared = ", ".join(sorted({name for names in given.values() for name in names}))
        blocks.append(
            _prose(
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
            _table(
                ("#", "Rule", "Applies when", "Requires", "Why", "Instead", "Source"),
                (
                    (
                        str(number),
                        f"`{rule.id}`",
                        _formula(rule.when),
                        _requires(profile, rule),
                        _marked(profile, rule.reason)
                        + (f" Per set: {_link(SECTIONS[1])}." if rule.variants else ""),
                        _marked(profile, rule.remedy),
                        _source(profile, rule.source),
                    )
                    for number, rule in group
                ),
            )
        )
    return blocks


def _requires(profile: Profile, rule: Rule) -> str:
    text = _formula(rule.requires)
    if len(text) > LONG and rule.reads == frozenset(profile.axes):
        return f"the active axes are a supported set: see {_link(SECTIONS[0])}"
    return text


def _warnings(profile: Profile) -> list[str]:
    if not profile.warnings:
        return []
    return [
        _prose(profile, "Accepted all the same."),
        _table(
            ("Warning", "When", "What", "Source"),
            (
                (
                    f"`{notice.id}`",
                    _formula(notice.when),
                    _marked(profile, notice.reason),
                    _source(profile, notice.source),
                )
                for notice in profile.warnings
            ),
        ),
    ]


def _trainers(profile: Profile) -> list[str]:
    field = profile.field_of.get(TRAINER)
    if not isinstance(field, Choice):
        return []
    columns = {
        axis: config
        for axis in _ordered(profile.axes, COLUMN_ORDER)
        if (config := smallest(profile, frozenset((axis,)))) is not None
    }
    rows = []
    named: set[str] = set()
    for label in field.choices:
        if label == field.default:
            continue
        also = [spelling for spelling, meant in field.aliases if meant == label]
        cells = []
        for axis, config in columns.items():
            needs = _known(profile, TRAINER_NEEDS.get(axis, {}))
            run = config.replaced({TRAINER: label, **needs})
            gate = _gate(run)
            if run.accepted():
                cells.append(f"yes (behind `{gate}`)" if gate else "yes")
            else:
                refused = _first(run)
                named.add(refused)
                cells.append(f"no (`{refused}`)")
        rows.append((f"`{label}`", ", ".join(f"`{name}`" for name in also), *cells))
    stated = [
        f"{_code(option(profile.field_of[name], value))} under {_short(profile, axis)}"
        for axis in columns
        for name, value in _known(profile, TRAINER_NEEDS.get(axis, {})).items()
    ]
    stating = f" and with {', '.join(stated)}" if stated else ""
    blocks = [
        _prose(
            profile,
            "Each cell is the smallest accepted configuration with this axis alone (see "
            f"{_link(SECTIONS[0])}), checked with the trainer{stating}.",
        ),
        _table(("Trainer", "Also spelled", *(_short(profile, axis) for axis in columns)), rows),
    ]
    others = [
        rule.id
        for rule in profile.rules
        if TRAINER in rule.reads and rule.reads & set(profile.axes) and rule.id not in named
    ]
    if others:
        text = f"Other settings of the run may still turn a yes into a no: {', '.join(others)}."
        blocks.append(_prose(profile, text))
    notes = [
        f"Sources differ on {_lower(note.topic)}. {note.sources} Taken: {_lower(note.taken)}"
        for note in profile.disagreements
        if any(re.search(rf"(?<![\w-]){rule}(?![\w-])", note.taken) for rule in named)
    ]
    if notes:
        blocks.append(_bullets(profile, notes))
    return blocks


def _examples(profile: Profile) -> list[str]:
    dp = profile.quantity_of["dp"]
    columns = [column for column in profile.summary if column.quantity != dp.name]
    abouts = [f"dp: {_lower(dp.about)}"] + [
        f"{column.heading}: {_lower(profile.quantity_of[column.quantity].about)}"
        for column in columns
    ]
    blocks = [
        _prose(
            profile,
            "Computed for every row; the verdict is the first violated rule. The numbers of a "
            "rejected row are what its sizes would mean, and the nearest accepted ones change as "
            "few options as possible.",
        ),
        _bullets(profile, abouts),
    ]
    for heading, examples in EXAMPLES.items():
        rows = []
        for label, given in examples.items():
            if not set(given) <= set(profile.field_of):
                continue
            config = profile.config(given)
            derived = profile.derive(config.values)
            verdict, nearest = _verdict(config)
            cells = [
                str(derived.get(column.quantity, "not whole"))
                if holds(profile, column.where, config.values)
                else "-"
                for column in columns
            ]
            rows.append((label, _options(config), _worked_dp(config), *cells, verdict, nearest))
        if rows:
            head = ("Layout", "Options", "dp", *(column.heading for column in columns))
            blocks += [f"### {heading}", _table((*head, "Verdict", "Nearest accepted"), rows)]
    return blocks


def _verdict(config: Config) -> tuple[str, str]:
    answer = check(config)
    if isinstance(answer, Accepted):
        warned = ", ".join(f"`{caution.warning}`" for caution in answer.warnings)
        return f"accepted, warns {warned}" if warned else "accepted", "-"
    return f"rejected: `{answer.violations[0].rule}`", _nearest(config.profile, answer)


def _nearest(profile: Profile, answer: Rejected) -> str:
    changes = [
        f"`{' '.join(option(profile.field_of[n], v) for n, v in repair.change.items())}`"
        for repair in answer.repairs or ()
    ]
    more = f", {answer.more_repairs} more" if answer.more_repairs else ""
    return " or ".join(changes) + more


def _run_time(profile: Profile) -> list[str]:
    if not profile.run_time_checks:
        return []
    return [
        _prose(
            profile,
            "They need the running job or the loaded model: named here, never decided.",
        ),
        _table(
            ("Check", "Stage", "Rejected when", "Source"),
            (
                (
                    f"`{known.id}`",
                    known.stage,
                    _marked(profile, known.when),
                    _source(profile, known.source),
                )
                for known in profile.run_time_checks
            ),
        ),
    ]


def _disagreements(profile: Profile) -> list[str]:
    if not profile.disagreements:
        return []
    return [
        _table(
            ("Topic", "Who says what", "Taken here"),
            (
                [_marked(profile, text) for text in (note.topic, note.sources, note.taken)]
                for note in profile.disagreements
            ),
        )
    ]


def _quantities(profile: Profile) -> list[str]:
    short = {name: word for word, name in profile.short_names.items()}
    read = [node for rule in profile.rules for node in rule.nodes]
    read += [notice.when for notice in profile.warnings]
    return [
        _prose(profile, "What the rules compute from the fields, each after those it is made of."),
        _table(
            ("Quantity", "Short", "What", "How"),
            (
                (
                    f"`{quantity.name}`",
                    short.get(quantity.name, "-"),
                    _marked(profile, quantity.about),
                    _formula(quantity.formula)
                    if isinstance(quantity, NamedFormula)
                    else _code(_shortened(term_words(quantity.term))),
                )
                for quantity in named_in(*profile.derived, *read)
            ),
        ),
    ]


# --- computing --------------------------------------------------------------------------------


@cache
def smallest(profile: Profile, mode: Mode) -> Config | None:
    """The smallest accepted configuration in which exactly these axes are active.

    Least world first, then fewest nodes, then least sizes. What lifts the gates of the release
    is given only where nothing is accepted without.
    """
    axes = [name for name in profile.axes if name in mode]
    for lifted in ({}, _known(profile, LIFTED)):
        for world in range(1, LARGEST_WORLD + 1):
            for node in NODES:
                if world % node:
                    continue
                cluster = _known(profile, {profile.world: world, profile.node: node})
                for sizes in product(divisors(world)[1:], repeat=len(axes)):
                    given = {**cluster, **dict(zip(axes, sizes, strict=True)), **lifted}
                    config = profile.config(given)
                    if config.accepted():
                        return config
    return None


def _known(profile: Profile, given: Given) -> Given:
    """The part of the given values that the profile has fields for."""
    return {name: value for name, value in given.items() if name in profile.field_of}


def _refused_sets(profile: Profile) -> list[Mode]:
    """Every set of axes that is no mode, smaller sets first."""
    axes = _ordered(profile.axes, SET_ORDER)
    sets = (frozenset(s) for n in range(len(axes) + 1) for s in combinations(axes, n))
    return [axes for axes in sets if axes not in profile.modes]


def _refused_config(profile: Profile, axes: Mode) -> Config:
    """A refused set of axes on a cluster that all of them would tile."""
    world = REFUSED_SIZE ** len(profile.axes)
    sizes = dict.fromkeys(axes, REFUSED_SIZE)
    return profile.config({profile.world: world, **sizes, **_known(profile, LIFTED)})


def _first(config: Config) -> str:
    """The rule that the framework names: the first violated one, or nothing."""
    profile = config.profile
    violated = profile.violated(config.values)
    return profile.rules[violated[0]].id if violated else ""


def _gate(config: Config) -> str:
    """The rule that refuses the configuration in this release, gates not lifted; or nothing."""
    profile = config.profile
    standing = {name: profile.field_of[name].default for name in _known(profile, LIFTED)}
    return _first(config.replaced(standing))


def _dp(config: Config) -> str:
    profile = config.profile
    return str(profile.derive(config.values).get(profile.short_names["dp"], "not whole"))


def _worked_dp(config: Config) -> str:
    """The formula of the data-parallel size with the configuration's numbers."""
    dp = config.profile.quantity_of["dp"]
    text = _worked(config, dp.term) if isinstance(dp, Named) else dp.name
    value = _dp(config)
    return f"{text} = {value}" if value.isdecimal() else f"{text} is {value}"


def _worked(config: Config, term: Term) -> str:
    profile = config.profile
    match term:
        case Variable(name) if name == profile.world:
            return str(config[name])
        case Variable(name):
            return f"{profile.field_of[name].flag or name} {config[name]}"
        case Named(_, Quotient(left, Variable(name))) if config[name] == 1:
            return _worked(config, left)
        case Named(_, inner):
            return f"({_worked(config, inner)})"
        case Quotient(left, right):
            return f"{_worked(config, left)} / {_worked(config, right)}"
        case Arith("max"):
            return f"max({', '.join(_worked(config, part) for part in _alternatives(term))})"
        case _:
            return term_words(term)


def _alternatives(term: Term) -> list[Term]:
    """What a maximum is the largest of."""
    if isinstance(term, Arith) and term.operation == "max":
        return _alternatives(term.left) + _alternatives(term.right)
    return [term]


def _read_as_given(profile: Profile) -> dict[str, set[str]]:
    """Rules and warnings that read a field for which a quantity has the same name."""
    nodes: dict[str, tuple[Node, ...]] = {rule.id: rule.nodes for rule in profile.rules}
    nodes |= {notice.id: (notice.when,) for notice in profile.warnings}
    shared = {quantity.name for quantity in profile.derived} & set(profile.field_of)
    found = {identity: _bare(trees) & shared for identity, trees in nodes.items()}
    return {identity: names for identity, names in found.items() if names}


def _bare(nodes: Iterable[Node]) -> set[str]:
    """Fields that the trees read themselves, not through a quantity."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, (Variable, Feature)):
            found.add(node.name)
        elif not isinstance(node, (Named, NamedFormula)):
            found |= _bare(children(node))
    return found


# --- writing ----------------------------------------------------------------------------------


def _ordered(axes: Iterable[str], order: Sequence[str]) -> list[str]:
    return sorted(axes, key=lambda name: order.index(name) if name in order else len(order))


def _short(profile: Profile, axis: str) -> str:
    return profile.field_of[axis].flag.upper()


def _mode(profile: Profile, mode: Mode) -> str:
    axes = _ordered((name for name in profile.axes if name in mode), SET_ORDER)
    return "+".join(_short(profile, name) for name in axes) or "plain data parallelism"


def _options(config: Config) -> str:
    """Options that give the configuration, in a shell."""
    profile = config.profile
    names = [
        field.name
        for field in profile.fields
        if field.flag and (field.name == profile.world or config[field.name] != field.default)
    ]
    return f"`{' '.join(option(profile.field_of[name], config[name]) for name in names)}`"


def _formula(formula: Formula) -> str:
    return "always" if formula is ALWAYS else _code(_shortened(words(formula)))


SAME_SUBJECT = re.compile(
    r"\b(\w+) (?:is|==) (\w+)((?: or \1 (?:is|==) \w+)+)(?=$|\)| and | or | else )"
)


def _shortened(text: str) -> str:
    """``x is a or x is b`` as ``x is one of a, b``."""

    def one_of(match: re.Match[str]) -> str:
        others = re.findall(r" or \w+ (?:is|==) (\w+)", match[3])
        return f"{match[1]} is one of {', '.join((match[2], *others))}"

    return SAME_SUBJECT.sub(one_of, text)


@cache
def _names(profile: Profile) -> re.Pattern[str]:
    """Ids of the catalogue, and whatever is spelled like a name in code."""
    known = [rule.id for rule in profile.rules]
    known += [notice.id for notice in profile.warnings]
    known += [at_run_time.id for at_run_time in profile.run_time_checks]
    ids = "|".join(re.escape(identity) for identity in known if "-" in identity)
    return re.compile(rf"(?<![\w`-])(?:{ids}|\w*_\w*(?:\(\))?)(?![\w`-])")


def _marked(profile: Profile, text: str) -> str:
    """The text with names set as code."""
    return _names(profile).sub(lambda match: f"`{match[0]}`", text)


def _source(profile: Profile, source: Source) -> str:
    return f"`{source.file}`, {_marked(profile, source.function)}"


def _code(text: str) -> str:
    return f"`{text}`"


def _lower(text: str) -> str:
    """The text inside a sentence: first letter small, unless its word is an abbreviation."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _link(heading: str) -> str:
    anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
    return f"[{heading}](#{anchor})"


def _prose(profile: Profile, text: str, indent: str = "") -> str:
    return fill(
        _marked(profile, text),
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _bullets(profile: Profile, items: Iterable[str]) -> str:
    return "\n".join(_prose(profile, f"- {item}", indent="  ") for item in items)


def _table(head: Sequence[str], rows: Rows) -> str:
    cells = [[text.replace("|", "\\|") for text in row] for row in (head, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    if sum(widths) > PADDED:
        widths = [0] * len(widths)
    ruler = ["-" * max(3, width) for width in widths]
    lines = [
        f"| {' | '.join(text.ljust(width) for text, width in zip(row, widths, strict=True))} |"
        for row in (cells[0], ruler, *cells[1:])
    ]
    return "\n".join(lines)
