"""Clusters and layouts, worked through: dp, verdict and what is accepted nearby."""

from __future__ import annotations

from collections.abc import Mapping

from parsolve.cli.matrix.configs import LIFTED, Given, dp, options
from parsolve.cli.matrix.markdown import bullets, code, lower, prose, table
from parsolve.cli.wording import option
from parsolve.constraints.describe import term_words
from parsolve.constraints.formula import Arith, Named, Quotient, Term, Variable
from parsolve.constraints.profile import Config, Profile, holds
from parsolve.solver.answer import Accepted, Rejected
from parsolve.solver.check import check

NODE: Given = {"world_size": 8, "gpus_per_node": 8}
"""A node of 8 GPUs."""

TWO_NODES: Given = {**NODE, "world_size": 16}
"""Two such nodes."""

THREE_NODES: Given = {**NODE, "world_size": 24}
"""Three such nodes."""

EIGHT_NODES: Given = {**NODE, "world_size": 64}
"""Eight such nodes."""

SMALL_NODE: Given = {"world_size": 6, "gpus_per_node": 6}
"""A node of 6 GPUs."""

RACK: Given = {"world_size": 72, "gpus_per_node": 4, "nvlink_domain_size": 72}
"""An NVL72: nodes of 4 GPUs in one NVLink domain."""

TWO_RACKS: Given = {**RACK, "world_size": 144}
"""Two of them, each a domain of its own."""

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


def worked_examples(profile: Profile) -> list[str]:
    """The examples that the profile has fields for, computed."""
    ranks = profile.quantity_of["dp"]
    columns = [
        column
        for column in profile.summary
        if column.quantity in profile.quantity_of and column.quantity != ranks.name
    ]
    abouts = [f"dp: {lower(ranks.about)}"] + [
        f"{column.heading}: {lower(profile.quantity_of[column.quantity].about)}"
        for column in columns
    ]
    blocks = [
        prose(
            profile,
            "Computed for every row; the verdict is the first violated rule. The numbers of a "
            "rejected row are what its sizes would mean, and the nearest accepted ones change as "
            "few options as possible.",
        ),
        bullets(profile, abouts),
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
            rows.append((label, options(config), _worked_dp(config), *cells, verdict, nearest))
        if rows:
            head = ("Layout", "Options", "dp", *(column.heading for column in columns))
            blocks += [f"### {heading}", table((*head, "Verdict", "Nearest accepted"), rows)]
    return blocks


def _verdict(config: Config) -> tuple[str, str]:
    """What is said of the configuration, and what is accepted instead."""
    answer = check(config)
    if isinstance(answer, Accepted):
        warned = ", ".join(code(caution.warning) for caution in answer.warnings)
        return f"accepted, warns {warned}" if warned else "accepted", "-"
    return f"rejected: `{answer.violations[0].rule}`", _nearest(config.profile, answer)


def _nearest(profile: Profile, answer: Rejected) -> str:
    changes = [
        code(" ".join(option(profile.field_of[n], v) for n, v in repair.change.items()))
        for repair in answer.repairs or ()
    ]
    more = f", {answer.more_repairs} more" if answer.more_repairs else ""
    return " or ".join(changes) + more


def _worked_dp(config: Config) -> str:
    """The formula of the data-parallel size with the configuration's numbers."""
    ranks = config.profile.quantity_of["dp"]
    text = _worked(config, ranks.term) if isinstance(ranks, Named) else ranks.name
    value = dp(config)
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
