"""Help of every command under every profile: width, panels, units and defaults."""

from __future__ import annotations

import re

import pytest
from rich.text import Text

from parsolve.cli.app import SUMMARIES, build
from parsolve.cli.manual import spell_out
from parsolve.cli.options import ALL
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Bytes, Field, Size
from tests.cli.run import cli

TAKES_PROFILE = [name for name in SUMMARIES if "--profile" in cli(name, "--help").out]
EVERY = [
    (name, profile)
    for name in TAKES_PROFILE
    for profile in (*PROFILES, *([ALL] if name == "check" else []))
]

UNITS = re.compile(
    r"\b(bytes|chunks?|examples?|experts|GPUs?|heads|layers?|micro-batch(es)?|passes|ranks|"
    r"replicas|rows|sequences|samples|shards|size|steps?|tokens?|width|groups|blocks|generations|"
    r"stages|queues|prompts|capability)\b",
    re.IGNORECASE,
)
NUMBERS = [
    (profile.name, field)
    for profile in PROFILES.values()
    for field in profile.fields
    if isinstance(field, Size) and not isinstance(field, Bytes) and field.flag
]


@pytest.mark.parametrize(("name", "profile"), EVERY)
def test_fits_eighty_columns_and_cuts_nothing(name: str, profile: str) -> None:
    done = cli(name, "--profile", profile, "--help", columns=80)
    assert done.code == 0
    assert [line for line in done.out.splitlines() if len(line) > 80 or "\u2026" in line] == []


@pytest.mark.parametrize(("name", "profile"), EVERY)
def test_every_option_has_a_panel_a_value_and_a_default(name: str, profile: str) -> None:
    command = build(name, ["--profile", profile, "--help"])
    spell_out(command.profile, command.params)
    for parameter in command.params:
        if parameter.name == "help" or getattr(parameter, "hidden", False):
            continue
        said = Text.from_markup(parameter.help).plain
        assert "(default" not in said, parameter.name
        assert parameter.required or re.search(r"[.] \[default: [^\]]+\]$", said), parameter.name
        if parameter.param_type_name == "option":
            assert parameter.rich_help_panel, parameter.name
            is_switch = parameter.is_flag or parameter.secondary_opts
            is_choice = hasattr(parameter.type, "choices")
            assert parameter.metavar or is_switch or is_choice, parameter.name


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_value_has_one_plain_name(name: str) -> None:
    """No type beside it, no range, no braces; choices are cut nowhere."""
    out = cli(name, "--help", columns=80).out
    assert not re.search(r"<[a-z|]+|\[x[<>]|\{[A-Z]", out)
    assert not re.search(r"\|\s*│$", out, re.MULTILINE)


def test_many_choices_are_listed_in_the_sentence() -> None:
    words = cli("advise", "--help", columns=80).words
    assert "NAME" in words
    assert "One of oom, slow, bubbles, long-context, imbalance. [default: none]" in words
    assert "--format text|json How to write" in words
    assert "Usage: parsolve diff [OPTIONS] A B" in cli("diff", "--help", columns=80).words


@pytest.mark.parametrize(
    ("profile", "field"), NUMBERS, ids=[f"{name}-{field.flag}" for name, field in NUMBERS]
)
def test_a_number_says_what_is_counted(profile: str, field: Field) -> None:
    assert UNITS.search(field.about), f"{profile}: {field.about}"


@pytest.mark.parametrize("profile", PROFILES)
def test_every_field_is_one_short_line(profile: str) -> None:
    for field in PROFILES[profile].fields:
        assert field.about.endswith("."), field.name
        assert len(field.about) <= 160, field.name
        assert "\n" not in field.about, field.name


@pytest.mark.parametrize("name", [name for name in SUMMARIES if name not in TAKES_PROFILE])
def test_the_others_say_their_defaults_too(name: str) -> None:
    done = cli(name, "--help", columns=80)
    assert done.code == 0
    assert "(default" not in done.out


def test_labels_are_named_once() -> None:
    words = cli("check", "--help").words
    assert "(global), or auto. [default: auto]" in words
    assert "Pipeline schedule. One of 1f1b, gpipe. [default: 1f1b]" in words
    assert "Switch off: Run experts as grouped GEMMs" in words
