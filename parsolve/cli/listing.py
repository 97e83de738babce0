"""A listing as a table, JSON, JSON lines or CSV, written as it is found.

Whatever interrupts it, what was written stays valid, and standard error says that it is
incomplete.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

from parsolve.cli.ranking import OPTIONS, summary_cells, summary_columns
from parsolve.cli.screen import Screen
from parsolve.cli.table import NARROWEST, UNWRAPPED, Column, Table, room_beside
from parsolve.cli.wording import CHOSEN, differences
from parsolve.constraints.formula import Named, fields_of, is_label
from parsolve.constraints.profile import Column as Summary
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Solution, as_data, to_json
from parsolve.solver.check import cautions
from parsolve.solver.query import Query, assumptions
from parsolve.solver.solve import Listing, searched

EVALUATED = " allowed by the rules, and bounds were evaluated on each that is"


def write_listing(listing: Listing, form: str) -> bool:
    """Write the listing; whether it has any solution."""
    stream = iter(listing)
    first = next(stream, None)
    if first is None:
        if not listing.complete:
            _statement(listing)
        return False
    writers = {"table": _table, "json": _json, "jsonl": _jsonl, "csv": _csv}
    with _interruptible(listing):
        writers[form](listing, chain((first,), stream))
    _cautions(listing.query, first)
    _statement(listing)
    return True


@contextmanager
def _interruptible(listing: Listing) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        listing.stopped = "interrupted"
        sys.stdout.flush()
        _statement(listing)
        raise


def _statement(listing: Listing) -> None:
    """Whether the listing is complete, on standard error."""
    if listing.complete and listing.certificate is not None:
        seconds = f"{listing.certificate.seconds:g} s"
        evaluated = "" if listing.query.narrow is listing.query else EVALUATED
        text = f"complete: {listing.count} valid; Z3 proved that no other is{evaluated} ({seconds})"
    else:
        text = f"incomplete: {listing.stopped}; {listing.count} shown"
    sys.stderr.write(f"parsolve: {text}\n")


def _cautions(query: Query, first: Solution) -> None:
    """Warnings that hold for every configuration of the listing, on standard error."""
    profile = query.profile
    varied = {*query.free, profile.world}
    same = {w.id for w in profile.warnings if not fields_of(w.when) & varied}
    found = (c for c in cautions(profile.config(first.config)) if c.warning in same)
    for caution in (*assumptions(query), *found):
        sys.stderr.write(f"parsolve: warning: {caution.warning}: {caution.reason}\n")


def _table(listing: Listing, solutions: Iterable[Solution]) -> None:
    """Rows with fixed columns, so that they can be printed as they come."""
    query, profile, screen = listing.query, listing.query.profile, Screen()
    rows = iter(solutions)
    first = next(rows)
    lead = [profile.world] if len(query.worlds) > 1 else []
    summary, everywhere = _fitting(query, screen, first, lead)
    table = Table(screen, _measured(query, screen, summary, lead))
    varied = {name for name in query.free if name not in profile.searched}
    pinned = {name for name in query.pins if name not in profile.axes}
    for solution in chain((first,), rows):
        shown = {n: value for n, value in solution.config.items() if n not in pinned}
        world = [str(solution.config[name]) for name in lead]
        cells = summary_cells(profile, solution, summary)
        table.row([*world, *cells, differences(profile, shown, varied)])
    chosen = [name for name in pinned if profile.field_of[name].role in CHOSEN]
    config = {name: value for name, value in first.config.items() if name in chosen}
    alike = [differences(profile, config, chosen)] if chosen else []
    if alike or everywhere:
        screen.line()
        screen.entry("all with", ", ".join([*alike, *everywhere]))


def _fitting(
    query: Query, screen: Screen, first: Solution, lead: Sequence[str]
) -> tuple[list[Summary], list[str]]:
    """Columns that may differ between rows, others as far as there is room; and what those say.

    Columns that are empty in every row are left out.
    """
    profile = query.profile
    open_ = {*query.free, *lead}
    kept, constant = [], []
    columns = summary_columns(profile, first.derived)
    for column, cell in zip(columns, summary_cells(profile, first, columns), strict=True):
        quantity = profile.quantity_of[column.quantity]
        if fields_of(column.where, quantity) & open_:
            kept.append(column)
        elif cell != "-":
            kept.append(column)
            constant.append((column, f"{column.heading} {cell}"))
    said = []
    for column, words in constant:
        if room_beside(screen, _measured(query, screen, kept, lead)) >= WIDE_OPTIONS:
            break
        kept.remove(column)
        said.append(words)
    return kept, said


WIDE_OPTIONS = 34
"""Columns that options of a listing get where constant columns can give way."""

NUMBERS, LABELS, BYTES = 4, 6, 15
"""Columns of a number; of a label; of bytes, with what says that it is near the limit."""


def _measured(
    query: Query, screen: Screen, summary: Sequence[Summary], lead: Sequence[str]
) -> list[Column]:
    digits = len(str(query.worlds[-1]))
    columns = [Column("world", max(digits, 5)) for _ in lead]
    for each in summary:
        quantity = query.profile.quantity_of[each.quantity]
        least = LABELS if isinstance(quantity, Named) and is_label(quantity) else NUMBERS
        unit = getattr(quantity, "unit", "")
        columns.append(Column(each.heading, BYTES if unit else max(least, digits)))
    whole = sum(max(len(column.heading), column.width) + 2 for column in columns)
    room = (screen.width or UNWRAPPED) - 2 - whole
    # headings wrap only where options would have little room
    width = room if room >= NARROWEST else screen.width or UNWRAPPED
    return [*columns, Column(OPTIONS, width, right=False, wraps=True)]


def _jsonl(_: Listing, solutions: Iterable[Solution]) -> None:
    for solution in solutions:
        sys.stdout.write(to_json(solution) + "\n")


def _json(listing: Listing, solutions: Iterable[Solution]) -> None:
    """One object, its array written as it comes; the end is written even when interrupted."""
    head = {
        "answer": "solutions",
        "profile": listing.query.profile.name,
        "searched": searched(listing.query),
    }
    write = sys.stdout.write
    write(json.dumps(head, ensure_ascii=False)[:-1] + ', "solutions": [')
    separator = "\n"
    written = 0
    try:
        for solution in solutions:
            write(separator + to_json(solution))
            separator = ",\n"
            written += 1
    finally:
        listing.count = written  # an interrupt may come between finding and writing
        tail: dict[str, object] = {"count": written, "complete": listing.complete}
        if listing.certificate is not None:
            tail["certificate"] = as_data(listing.certificate)
        write("\n], " + json.dumps(tail, ensure_ascii=False)[1:] + "\n")


def _csv(listing: Listing, solutions: Iterable[Solution]) -> None:
    profile = listing.query.profile
    knobs = columns(profile, listing)
    rows = iter(solutions)
    first = next(rows, None)
    known = first.derived if first else {}
    account = () if profile.account is None else (profile.account.total,)
    quantities = [quantity.name for quantity in profile.derived]
    quantities += [quantity.name for quantity in account if quantity.name in known]
    headings = [f"effective_{name}" if name in knobs else name for name in quantities]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*knobs, *headings])
    for solution in chain(() if first is None else (first,), rows):
        defaults = {f.name: f.default for f in profile.fields}
        row = [solution.config.get(name, defaults[name]) for name in knobs]
        row += [solution.derived.get(name, "") for name in quantities]
        writer.writerow(map(_cell, row))


def _cell(value: object) -> object:
    """A value as the command line takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def columns(profile: Profile, listing: Listing) -> list[str]:
    """Fields that a listing's rows state: always shown, free or pinned."""
    query = listing.query
    wanted = {*profile.shown, *query.free, *query.pins}
    return [field.name for field in profile.fields if field.name in wanted]
