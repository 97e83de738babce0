"""Which trainer runs with which axis."""

from __future__ import annotations

import re
from collections.abc import Mapping

from parsolve.cli.matrix.axes import COLUMN_ORDER, ordered, short
from parsolve.cli.matrix.configs import Given, first_violated, gate, known
from parsolve.cli.matrix.markdown import bullets, code, link, lower, prose, table
from parsolve.cli.matrix.modes import SUPPORTED, smallest
from parsolve.cli.wording import option
from parsolve.constraints.fields import Choice
from parsolve.constraints.profile import Profile

TRAINER = "trainer"
"""The field that names the trainer."""

TRAINER_NEEDS: Mapping[str, Given] = {"pp_size": {"max_length": 4096}}
"""What a run with any trainer must state as soon as this axis is active."""


def trainers_by_axis(profile: Profile) -> list[str]:
    """Every trainer under every axis alone, and what else bears on it."""
    field = profile.field_of.get(TRAINER)
    if not isinstance(field, Choice):
        return []
    columns = {
        axis: config
        for axis in ordered(profile.axes, COLUMN_ORDER)
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
            run = config.replaced({TRAINER: label, **_needs(profile, axis)})
            gated = gate(run)
            if run.accepted():
                cells.append(f"yes (behind `{gated}`)" if gated else "yes")
            else:
                refused = first_violated(run)
                named.add(refused)
                cells.append(f"no (`{refused}`)")
        rows.append((code(label), ", ".join(map(code, also)), *cells))
    stated = [
        f"{code(option(profile.field_of[name], value))} under {short(profile, axis)}"
        for axis in columns
        for name, value in _needs(profile, axis).items()
    ]
    stating = f" and with {', '.join(stated)}" if stated else ""
    blocks = [
        prose(
            profile,
            "Each cell is the smallest accepted configuration with this axis alone (see "
            f"{link(SUPPORTED)}), checked with the trainer{stating}.",
        ),
        table(("Trainer", "Also spelled", *(short(profile, axis) for axis in columns)), rows),
    ]
    if others := _other_rules(profile, named):
        text = f"Other settings of the run may still turn a yes into a no: {', '.join(others)}."
        blocks.append(prose(profile, text))
    if notes := _notes(profile, named):
        blocks.append(bullets(profile, notes))
    return blocks


def _needs(profile: Profile, axis: str) -> Given:
    return known(profile, TRAINER_NEEDS.get(axis, {}))


def _other_rules(profile: Profile, named: set[str]) -> list[str]:
    """Rules over the trainer and an axis that the table does not name."""
    return [
        rule.id
        for rule in profile.rules
        if TRAINER in rule.reads and rule.reads & set(profile.axes) and rule.id not in named
    ]


def _notes(profile: Profile, named: set[str]) -> list[str]:
    """Disagreements about the rules that the table names."""
    return [
        f"Sources differ on {lower(note.topic)}. {note.sources} Taken: {lower(note.taken)}"
        for note in profile.disagreements
        if any(re.search(rf"(?<![\w-]){rule}(?![\w-])", note.taken) for rule in named)
    ]
