"""The table's rows: configurations with what is known of each, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parsolve.cli.objectives import wants_less
from parsolve.cli.ranking import alike, summary_columns
from parsolve.cli.wording import CHOSEN, differences, listed
from parsolve.constraints.evaluate import compiled, defined_source, prologue, term_source
from parsolve.constraints.fields import Field, Size
from parsolve.constraints.profile import Config, Profile, holds
from parsolve.solver.answer import Fields
from parsolve.solver.query import Objective


@dataclass(frozen=True, slots=True)
class Row:
    """A configuration, what it is to the question (``mark``), and whether no rule refuses it."""

    config: Config
    mark: str = ""
    accepted: bool = True


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a report, in their first order, and what is known of each by name."""

    profile: Profile
    rows: tuple[Row, ...]
    known: tuple[Mapping[str, Any], ...]
    objectives: tuple[Objective, ...]
    configs: tuple[Fields, ...]
    """The value of every field."""
    unlike: frozenset[str]
    """Fields of the cluster or the model in which rows differ, as relaxed questions do."""
    everywhere: str
    """Options that all rows have."""
    options: tuple[str, ...]
    """Options by which each row is told from the others."""

    @classmethod
    def of(
        cls,
        profile: Profile,
        rows: Iterable[Row],
        objectives: Sequence[Objective],
        varied: Iterable[str],
    ) -> Rows:
        """The rows with everything derived from them."""
        kept = tuple(rows)
        configs = tuple(Fields(row.config.as_dict(everything=True)) for row in kept)
        unlike = _unlike(profile, configs)
        everywhere, own = _options(profile, configs, unlike, varied)
        return cls(
            profile=profile,
            rows=kept,
            known=tuple(_known(profile, row.config) for row in kept),
            objectives=tuple(objectives),
            configs=configs,
            unlike=unlike,
            everywhere=everywhere,
            options=own,
        )

    def place(self, config: Mapping[str, Any]) -> int | None:
        """The row of a configuration, given as an answer has it."""
        wanted = self.profile.config(config)
        return next((at for at, row in enumerate(self.rows) if row.config == wanted), None)


def _unlike(profile: Profile, configs: Sequence[Fields]) -> frozenset[str]:
    return frozenset(
        field.name
        for field in profile.fields
        if field.flag
        and field.role not in CHOSEN
        and field.name != profile.world
        and any(config[field.name] != configs[0][field.name] for config in configs)
    )


def _options(
    profile: Profile, configs: Sequence[Fields], unlike: Iterable[str], varied: Iterable[str]
) -> tuple[str, tuple[str, ...]]:
    """What all configurations have in common, and what each has beside that."""
    if not configs:
        return "", ()
    same, differ = alike(profile, configs, varied)
    differ |= set(unlike)
    shared = {name: value for name, value in configs[0].items() if name in same}
    kept = [{n: v for n, v in config.items() if n not in same} for config in configs]
    return (
        differences(profile, shared, same) if same else "",
        tuple(differences(profile, config, differ) for config in kept),
    )


def _known(profile: Profile, config: Config) -> dict[str, Any]:
    values = config.values
    derived = profile.with_lists(values, profile.derive(values))
    sized = profile.account is not None and values[profile.index_of[profile.account.size]]
    return {**derived, **profile.filled(values)} if sized else derived


def columns(rows: Rows) -> list[dict[str, Any]]:
    """Columns as the page reads them, those of the table first, then other numbers to plot.

    ``values`` are numbers, texts or null by row; one value alone holds for every row. A number of
    ``unit`` "bytes" is shown in GiB. ``less`` says that people want little of it.
    """
    table = [*_worlds(rows), *_objectives(rows), *_axes(rows), *_summary(rows)]
    found: dict[str, dict[str, Any]] = {}
    for column in table:
        found.setdefault(column["name"], {**column, "table": True})
    for column in _numbers(rows):
        found.setdefault(column["name"], {**column, "table": False})
    return [_short(column) for column in found.values() if _says_something(column)]


def _says_something(column: Mapping[str, Any]) -> bool:
    return any(value is not None for value in column["values"])


def _short(column: dict[str, Any]) -> dict[str, Any]:
    values = column["values"]
    same = len(values) > 1 and all(value == values[0] for value in values)
    return {**column, "values": values[0] if same else values}


def _column(
    rows: Rows, name: str, heading: str, values: list[Any], about: str = ""
) -> dict[str, Any]:
    quantity = rows.profile.quantity_of.get(name)
    numbers = all(value is None or isinstance(value, int) for value in values)
    return {
        "name": name,
        "heading": heading,
        "about": about or getattr(quantity, "about", ""),
        "unit": getattr(quantity, "unit", ""),
        "kind": "number" if numbers else "text",
        "less": wants_less(rows.profile, name),
        "values": values,
    }


def _worlds(rows: Rows) -> list[dict[str, Any]]:
    worlds = [row.config[rows.profile.world] for row in rows.rows]
    if len(set(worlds)) <= 1:
        return []
    return [_of_field(rows, rows.profile.field_of[rows.profile.world], "world", worlds)]


def _axes(rows: Rows) -> list[dict[str, Any]]:
    """The axes that any row uses."""
    found = []
    for name in rows.profile.axes:
        values = [row.config[name] for row in rows.rows]
        field = rows.profile.field_of[name]
        if any(value != field.default for value in values):
            found.append(_of_field(rows, field, field.flag, values))
    return found


def _of_field(rows: Rows, field: Field, heading: str, values: list[Any]) -> dict[str, Any]:
    return _column(rows, field.name, heading, values, field.about)


def _summary(rows: Rows) -> list[dict[str, Any]]:
    """The profile's summary; the memory, which people look for, stands first."""
    profile = rows.profile
    every = {name: None for known in rows.known for name in known}
    shown = summary_columns(profile, every)
    found = []
    for column in sorted(shown, key=lambda each: each not in shown[len(profile.summary) :]):
        values = [
            _cell(known.get(column.quantity))
            if holds(profile, column.where, row.config.values)
            else None
            for row, known in zip(rows.rows, rows.known, strict=True)
        ]
        found.append(_column(rows, column.quantity, column.heading, values))
    return found


def _cell(value: Any) -> int | str | None:  # noqa: ANN401  (a quantity's value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return listed(value) if isinstance(value, list) else value


def _objectives(rows: Rows) -> list[dict[str, Any]]:
    """Objectives that are no column already, by their own text."""
    profile = rows.profile
    found = []
    for goal in rows.objectives:
        name = getattr(profile.quantity_of.get(goal.text), "name", "")
        name = name or profile.spellings.get(goal.text.replace("-", "_"), "")
        if name in {column.quantity for column in profile.summary} or name in profile.axes:
            continue
        if name == profile.world:
            continue
        read = _reader(profile, goal)
        values = [read(row.config.values) for row in rows.rows]
        column = _column(rows, name or goal.text, goal.text, values)
        found.append({**column, "less": not goal.maximize})
    return found


def _reader(profile: Profile, goal: Objective) -> Any:  # noqa: ANN401  (a compiled function)
    source, defined = term_source(goal.term), defined_source(goal.term)
    lines = [*prologue(profile.fields, [goal.term]), f"return {source} if {defined} else None"]
    return compiled("score", lines)


def _numbers(rows: Rows) -> list[dict[str, Any]]:
    """Everything else that is a number and differs between rows."""
    profile = rows.profile
    found = []
    for field in profile.fields:
        if isinstance(field, Size) and field.role in {"knob", "run"} and field.flag:
            values = [row.config[field.name] for row in rows.rows]
            if len(set(values)) > 1:
                found.append(_of_field(rows, field, field.flag, values))
    for name in dict.fromkeys(name for known in rows.known for name in known):
        values = [known.get(name) for known in rows.known]
        numbers = all(v is None or type(v) is int for v in values)
        if numbers and len(set(values)) > 1:
            found.append(_column(rows, name, name.replace("_", " "), values))
    return found
