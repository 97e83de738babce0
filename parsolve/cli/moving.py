"""The ways to run a recipe on another cluster, as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from parsolve.cli.differing import arrow, show_changes, value_text, verdict_words
from parsolve.cli.screen import NO, OPEN, YES, Screen
from parsolve.cli.verdicts import show_cautions
from parsolve.cli.wording import option
from parsolve.constraints import PROFILES
from parsolve.solver.answer import FileEdit, Moves, Rejected, Way


def show_moves(screen: Screen, answer: Moves) -> None:
    """Both clusters, what must change, in the recipe's own words, and what that changes."""
    _headline(screen, answer)
    if answer.origin is not None:
        screen.entry("from", verdict_words(answer.origin))
    screen.entry("as it is", _as_it_is(answer))
    if not answer.moves and isinstance(answer.unchanged.detail, Rejected):
        for violation in answer.unchanged.detail.violations:
            screen.entry("violated", f"{violation.rule}: {violation.because}")
    remedies = {v.rule: v.remedy for v in getattr(answer.unchanged.detail, "violations", ())}
    for rule in answer.unmended:
        screen.entry("stops", f"{rule}, which no knob mends: {remedies[rule]}")
    for position, move in enumerate(answer.moves):
        label = "change" if position == 0 else "or"
        screen.entry(label, f"{'; '.join(_change(answer, move))}{_note(answer, position)}")
        if position == 0:
            for text in _batch(answer, move):
                screen.entry("", text)
    if answer.more:
        screen.entry("", f"and {answer.more} more that change as few knobs")
    screen.entry("proof", _proof(answer))
    screen.entry("searched", answer.searched)
    if answer.difference is not None and answer.moves:
        first = answer.moves[0].detail
        news = {*answer.difference.warned}
        show_cautions(screen, [each for each in first.warnings if each.warning in news])
        labels = ("as it is" if answer.origin is None else "from", "to")
        show_changes(screen, answer.difference, labels)


def _headline(screen: Screen, answer: Moves) -> None:
    world = PROFILES[answer.profile].world
    to = answer.unchanged.detail.config[world]
    worlds = [] if answer.origin is None else [answer.origin.detail.config[world]]
    where = " -> ".join(map(str, dict.fromkeys((*worlds, to)))) + " GPUs"
    if not answer.moves:
        word, style = ("stuck", NO) if answer.complete else ("undecided", OPEN)
        screen.headline(word, f"{answer.name}: {where}, no way was found", style)
        return
    first = answer.moves[0]
    count = len(first.knobs)
    knobs = {0: "no knob changes", 1: "1 knob changes"}.get(count, f"{count} knobs change")
    kept = ""
    if answer.global_batch is not None:
        same = first.off == 0
        batch = f"{answer.global_batch:,}"
        kept = (
            f", global batch {batch} kept"
            if same
            else ", global batch " + arrow(batch, f"{first.global_batch:,}")
        )
    screen.headline("moved", f"{answer.name}: {where}{kept}; {knobs}", YES)


def _as_it_is(answer: Moves) -> str:
    side, wanted = answer.unchanged, answer.global_batch
    words = verdict_words(side)
    if isinstance(side.detail, Rejected) or side.global_batch is None or wanted is None:
        return words
    if side.global_batch == wanted:
        return f"{words}; the global batch stays {wanted:,}"
    return f"{words}; the global batch becomes {side.global_batch:,}, not {wanted:,}"


def _change(answer: Moves, move: Way) -> Iterator[str]:
    """What to change, in the words of the file or as options."""
    if move.edits is not None:
        yield from edits_words(move.edits, script=answer.unchanged.syntax == "script")
        return
    profile = PROFILES[answer.profile]
    for name, value in move.change.items():
        field = profile.field_of[name]
        before = answer.unchanged.detail.config.get(name, field.default)
        said = option(field, value)
        yield f"{said} (was {value_text(field, before)})"
    if not move.change:
        yield "nothing"
    elif answer.unchanged.format is not None:
        yield NO_KEY


NO_KEY = "such a file has no key for all of that: change it by hand"


def edits_words(edits: Iterable[FileEdit], *, script: bool) -> list[str]:
    """Changes of a file in its own words."""
    return [_edit(edit, script=script) for edit in edits] or ["nothing"]


def _edit(edit: FileEdit, *, script: bool) -> str:
    key = f"--{edit.key}" if script and "." not in edit.key else edit.key
    if edit.line is None:
        value = "" if script and edit.after is True else f" {_text(edit.after)}"
        return f"add {key}{value}"
    return f"{key} {arrow(_text(edit.before), _text(edit.after))} (line {edit.line})"


def _text(value: Any) -> str:  # noqa: ANN401  (a file holds anything)
    return value if isinstance(value, str) else json.dumps(value)


def _note(answer: Moves, position: int) -> str:
    """Of a way that is not as near as the first: how far its batch is off."""
    if position < answer.nearest or answer.global_batch is None:
        return ""
    move = answer.moves[position]
    count = len(move.knobs)
    knobs = "no other knob" if count == 0 else f"{count} knob{'s' if count > 1 else ''}"
    return f"    ({knobs}; the global batch becomes {move.global_batch:,})"


def _batch(answer: Moves, move: Way) -> Iterator[str]:
    """Why the global batch is not kept, and what depends on it."""
    wanted, unit = answer.global_batch, move.unit
    if wanted is None:
        tells = "; --from-world tells, and then it is kept" if answer.origin is None else ""
        yield f"no global batch is kept, since what it was is not known{tells}"
        return
    if not move.off or unit is None:
        return
    if wanted % unit:
        below = wanted // unit * unit
        near = " and ".join(f"{n:,}" for n in (below, below + unit) if n)
        yield (
            f"a step takes a multiple of {unit:,} samples, one of each data-parallel rank, and "
            f"{wanted:,} is none; the nearest are {near}"
        )
    else:
        yield f"no micro-batch and accumulation that are accepted give {wanted:,}"
    yield f"the learning rate was chosen for a global batch of {wanted:,}"


def _proof(answer: Moves) -> str:
    """What is known of other ways."""
    if not answer.complete:
        return "none: the search was cut short; fewer changes may do"
    if not answer.moves:
        return f"no change of at most {answer.most_knobs} knobs is accepted"
    first, wanted = answer.moves[0], answer.global_batch
    count = len(first.knobs)
    if first.off:
        return f"no change of at most {answer.most_knobs} knobs comes nearer to {wanted:,}"
    kept = "" if wanted is None else f" with a global batch of {wanted:,}"
    if count == 0:
        return f"its own knobs are accepted{kept}; only what makes up the batch changes"
    fewer = "as it is" if count == 1 else f"with fewer than {count} knobs changed"
    return f"it is not accepted {fewer}{kept}"
