"""Fixtures as a file of tests for pytest that needs nothing but the validator under test."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from keyword import iskeyword

from parsolve.constraints.fields import Misuse, Size
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Fixture, Fixtures, Shows

TO_EDIT = "from mypackage.config import ParallelismConfig as validate  # <- edit this line"

WIDTH = 100
"""Columns of the file, where no text is longer."""

HEAD = '''\
"""{count} test cases for a validator of the parallelism rules of {profile}.

{title}

Made by parsolve {version}: {command}

The validator is called with the fields of each case as keyword arguments, under its own names for
them. It refuses a configuration by raising an exception; whatever it returns, it accepts. Where the
exception's first argument is the name of a rule, that is compared too, and so is each attribute of
what it returns that has the name of a derived quantity.
"""

import inspect

import pytest

{validator}

'''

TAIL = '''
PARAMETERS = inspect.signature(validate).parameters
OPEN = any(each.kind is each.VAR_KEYWORD for each in PARAMETERS.values())
CRASHES = (ArithmeticError, AttributeError, LookupError, NameError)
"""What a program raises by accident rather than to refuse."""


def parameter_of(field):
    """The validator's own name for a field, or None."""
    for name in (field, *SPELLINGS.get(field, ())):
        if name in PARAMETERS:
            return name
    return field if OPEN else None


def arguments_of(config, monkeypatch):
    """A case's fields as keyword arguments; what the validator reads elsewhere is set there."""
    for variable in ENVIRONMENT.values():
        monkeypatch.delenv(variable, raising=False)
    arguments = {}
    for field, value in config.items():
        name = parameter_of(field)
        if name is not None:
            arguments[name] = value
        elif field in ENVIRONMENT:
            monkeypatch.setenv(ENVIRONMENT[field], str(value))
        else:
            pytest.skip(f"the validator takes no {field}")
    for field, value in DEFAULTS.items():
        name = parameter_of(field)
        if name in PARAMETERS and PARAMETERS[name].default is inspect.Parameter.empty:
            arguments.setdefault(name, value)
    inspect.signature(validate).bind(**arguments)
    return arguments


def test_some_case_is_run():
    run = [
        case.id
        for case in CASES
        if all(parameter_of(field) or field in ENVIRONMENT for field in case.values[2])
    ]
    assert run, "the validator takes no case: add its names for the fields to SPELLINGS"


@pytest.mark.parametrize(("verdict", "rule", "config", "derived", "shows"), CASES)
def test_verdict(verdict, rule, config, derived, shows, monkeypatch):
    arguments = arguments_of(config, monkeypatch)
    reasons = "\\n".join(shows)
    try:
        returned = validate(**arguments)
    except CRASHES:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        assert verdict == "rejected", f"refused, though valid: {said}\\n{reasons}"
        named = error.args[0] if error.args else None
        if isinstance(named, str) and named in RULES:
            assert named == rule, f"refused by another rule first: {said}\\n{reasons}"
        return
    assert verdict == "accepted", f"accepted, though {rule} forbids it: {RULES[rule]}\\n{reasons}"
    for name, value in derived.items():
        found = getattr(returned, name, value) if name not in PARAMETERS else value
        if not callable(found):
            assert found == value, f"{name} = {found}, not {value}\\n{reasons}"
'''


def tests(answer: Fixtures, profile: Profile, against: str | None) -> str:
    """The whole file; ``against`` is ``module:callable``, or None for a line to edit."""
    used = [
        field for field in profile.fields if any(field.name in f.config for f in answer.fixtures)
    ]
    spellings = {
        name: tuple(sorted(s for s, field in profile.spellings.items() if field == name != s))
        for name in (field.name for field in profile.fields)
    }
    constants = {
        "SPELLINGS": ({k: v for k, v in spellings.items() if v}, "Other names of fields."),
        "ENVIRONMENT": (
            {f.name: f.env for f in used if isinstance(f, Size) and f.env},
            "Fields that the framework reads from the environment.",
        ),
        "DEFAULTS": (
            {f.name: f.default for f in profile.fields if f.name != profile.world},
            "What a field is where a case does not name it, for parameters without a default.",
        ),
        "RULES": (
            {rule.id: rule.reason for rule in profile.limits},
            "Every rule, and why it is one.",
        ),
    }
    text = HEAD.format(
        title=answer.title,
        profile=answer.profile,
        count=len(answer.fixtures),
        version=answer.version,
        command=command(answer, against),
        validator=_validator(against),
    )
    for name, (value, about) in constants.items():
        text += f'{name} = {_literal(value, before=len(name) + 3)}\n"""{about}"""\n\n'
    return text + "CASES = [\n" + "".join(map(_case, answer.fixtures)) + "]\n" + TAIL


def command(answer: Fixtures, against: str | None) -> str:
    """The command line that makes the file."""
    parts = ["parsolve", "fixtures", "--profile", answer.profile]
    if answer.worlds is not None:
        parts += ["--world", ",".join(map(str, answer.worlds))]
    for option, value, default in (
        ("--per-rule", answer.per_rule, 1),
        ("--strength", answer.strength, 0),
        ("--seed", answer.seed, 0),
    ):
        if value != default:
            parts += [option, str(value)]
    parts += ["--format", "pytest", *(() if against is None else ("--against", against))]
    return shlex.join(parts)


def _validator(against: str | None) -> str:
    """The line that names the validator."""
    if against is None:
        return TO_EDIT
    module, _, name = against.partition(":")
    return f"from {module} import {name} as validate"


def check_against(against: str) -> None:
    """Raise `Misuse` where the text is not ``module:callable`` in names that Python can import."""
    module, colon, name = against.partition(":")
    parts = [*module.split("."), name]
    if not colon or not all(part.isidentifier() and not iskeyword(part) for part in parts):
        message = f"--against takes package.module:callable, got {against!r:.60}"
        raise Misuse(message)


def _case(fixture: Fixture) -> str:
    parts = (
        fixture.verdict,
        fixture.rule,
        dict(fixture.config),
        dict(fixture.derived),
        [said(each) for each in fixture.shows],
    )
    lines = "".join(f"        {_literal(part, 8)},\n" for part in parts)
    return f"    pytest.param(\n{lines}        id={_literal(fixture.id)},\n    ),\n"


def _literal(value: object, indent: int = 0, before: int = 0) -> str:
    """Python for a value, broken into lines where it is wide; so much stands before it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (Mapping, list, tuple)):
        return repr(value)
    if isinstance(value, Mapping):
        ends = "{}"
        keys = [f"{_literal(key)}: " for key in value]
        items = [
            key + _literal(item, indent + 4, len(key))
            for key, item in zip(keys, value.values(), strict=True)
        ]
    else:
        ends = "[]"
        items = [_literal(item, indent + 4) for item in value]
    flat = ends[0] + ", ".join(items) + ends[1]
    if indent + before + len(flat) < WIDTH and "\n" not in flat:
        return flat
    space = " " * (indent + 4)
    return "".join([ends[0], "\n", *(f"{space}{item},\n" for item in items), " " * indent, ends[1]])


def said(shows: Shows) -> str:
    """Why a fixture is there, in words."""
    match shows.kind:
        case "rejects":
            alone = f", which {', '.join(shows.implied_by)} imply" if shows.implied_by else ""
            return f"{shows.rule} rejects it{alone}" if alone else f"{shows.rule} alone rejects it"
        case "accepts":
            changes = ", ".join(f"{k} = {v}" for k, v in (shows.change or {}).items())
            return f"accepted beside {shows.beside}: {changes}"
        case "boundary" | "condition":
            how = "holds" if shows.holds else "fails"
            return f"{shows.rule or shows.quantity} hangs on {shows.condition}, which {how}"
        case "mode":
            return f"{shows.size} of the supported axes {_axes(shows)}"
        case "unsupported":
            return f"the axes {_axes(shows)} together"
        case "combination":
            return f"covers {shows.combinations} combinations"


def _axes(shows: Shows) -> str:
    return ", ".join(shows.axes or ()) or "none"
