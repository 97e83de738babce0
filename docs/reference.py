"""The reference, read off the commands and the catalogue of each profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.text import Text

from parsolve.cli.app import EXAMPLES, SUMMARIES, build
from parsolve.cli.manual import spell_out
from parsolve.cli.matrix import RULES, SECTIONS, matrix_text
from parsolve.cli.matrix.markdown import code, marked, table
from parsolve.cli.rulebook import entry
from parsolve.cli.wording import option
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import gib
from parsolve.constraints.memory.hardware import GPUS
from parsolve.constraints.memory.policy import POLICIES
from parsolve.constraints.profile import Profile

HEAD = (
    "Generated from `--help`. Without a command, `solve` is meant. Exit codes: 0 yes (accepted, "
    "found, proved), 1 no (rejected, conflict, refuted), 2 misuse, 3 undecided (a time limit "
    "passed)."
)


def pages() -> Iterator[tuple[str, str]]:
    """Each page's path in the site, and its text."""
    yield "reference/commands.md", commands()
    for profile in PROFILES.values():
        yield f"reference/{profile.name}-options.md", options(profile)
        yield f"reference/{profile.name}-rules.md", rules(profile)


def commands() -> str:
    """Every command with its own options; those that stand for fields are on other pages."""
    blocks = ["# Commands", HEAD]
    for name, summary in SUMMARIES.items():
        command = build(name, None)
        spell_out(command.profile, command.params)
        fields = {*command.fields}
        blocks += [f"## {name}", summary, f"```sh\n{EXAMPLES[name]}\n```"]
        if fields:
            blocks.append(
                "It also takes the fields of its profile: "
                + ", ".join(f"[{each}]({each}-options.md)" for each in PROFILES)
                + "."
            )
        blocks += by_panel(p for p in command.params if p.name not in fields)
    return "\n\n".join(blocks) + "\n"


def options(profile: Profile) -> str:
    """The options that stand for a profile's fields, and what they choose from."""
    command = build("check", ["--profile", profile.name, "--help"])
    spell_out(profile, command.params)
    fields = {*command.fields}
    takers = ", ".join(code(name) for name in SUMMARIES if build(name, None).fields)
    about = (
        f"{profile.title}. Taken with `--profile {profile.name}` by {takers}, and by the field's "
        "name in lines of JSON. A framework's own spelling of an option works too."
    )
    blocks = [f"# Options of {profile.name}", about]
    blocks += by_panel((p for p in command.params if p.name in fields), profile)
    if "precision_policy" in fields:
        blocks += [
            "## Precision policies",
            table(
                ("Policy", "Bytes of weights, gradients, optimizer state", "What"),
                ((code(each.name), each.words, each.about) for each in POLICIES.values()),
            ),
        ]
    if "gpu_memory" in fields:
        blocks += [
            "## GPUs",
            table(
                ("`--gpu`", "Memory"),
                ((code(name), gib(gpu.memory)) for name, gpu in GPUS.items()),
            ),
        ]
    return "\n\n".join(blocks) + "\n"


def rules(profile: Profile) -> str:
    """The profile's matrix, in which each rule has a heading: so it can be linked to and found."""
    return matrix_text(profile, {**SECTIONS, RULES: one_by_one})


def one_by_one(profile: Profile) -> list[str]:
    """Every rule with all that is known of it, in order of evaluation."""
    blocks = []
    stage = ""
    for index, rule in enumerate(profile.limits):
        if rule.stage != stage:
            stage = rule.stage
            blocks.append(f"### {stage}")
        known = entry(profile, index)
        said = {
            "where": known["when"] and code(known["when"]),
            "requires": code(known["requires"]),
            "remedy": marked(profile, rule.remedy),
            "source": code(known["source"]),
            "alone": known["implied_by"]
            and f"never: with it, one of {', '.join(map(code, known['implied_by']))} is violated",
            "rejects": code(given(profile, rule.example.rejects)),
            "because": code(known["example"]["because"]),
            "instead": code(given(profile, rule.example.instead)),
        }
        lines = [f"- *{word}*: {text}" for word, text in said.items() if text]
        blocks += [f"#### {rule.id}", marked(profile, rule.reason), "\n".join(lines)]
    return blocks


def given(profile: Profile, values: Mapping[str, object]) -> str:
    """An example's values as options."""
    return " ".join(option(profile.field_of[name], value) for name, value in values.items())


def by_panel(parameters: Iterable[Any], fields: Profile | None = None) -> Iterator[str]:
    """A heading and a table for each panel of help; of fields, their names too."""
    shown = [p for p in parameters if not getattr(p, "hidden", False) and p.name != "help"]
    for panel in dict.fromkeys(map(panel_of, shown)):
        head = ("Option", "Value", "What", "Field")[: 4 if fields else 3]
        yield f"## {panel}" if fields else f"### {panel}"
        yield table(head, (row(p, fields) for p in shown if panel_of(p) == panel))


def panel_of(parameter: Any) -> str:  # noqa: ANN401  (typer's own)
    """Under which heading help shows it."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    return parameter.rich_help_panel or "Options"


def row(parameter: Any, fields: Profile | None) -> list[str]:  # noqa: ANN401  (typer's own)
    """Spellings, value, what help says, and the field's name."""
    argument = parameter.param_type_name == "argument"
    spellings = [] if argument else [*parameter.opts, *parameter.secondary_opts]
    choices = getattr(parameter.type, "choices", ())
    value = (parameter.metavar or "|".join(str(c) for c in choices)).strip()
    said = Text.from_markup(parameter.help).plain
    required = " [required]" if parameter.required else ""
    names = " ".join(map(code, spellings)) or code(value)
    cells = [names, code(value) if value else "", said + required]
    if fields is not None:
        given = {offer.value: offer.given for offer in fields.offers}
        cells.append(code(given.get(parameter.name, parameter.name)))
    return cells
