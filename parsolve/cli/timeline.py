"""A pipeline schedule as text: a table of its ranks, the timeline, and its bubble."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from parsolve.cli.screen import Screen
from parsolve.cli.table import UNWRAPPED, Column, Table
from parsolve.cli.timeline_picture import Picture, picture
from parsolve.solver.answer import RankTimeline, Schedule, Share

MOST_ROWS = 32
"""Ranks that are shown; of more, an even sample."""

NARROWEST = 16
"""Columns of a timeline on however narrow a screen."""


def show_schedule(screen: Screen, answer: Schedule) -> None:
    """Headline, ranks, timeline, bubble."""
    bubble = answer.total_time - answer.ideal_time
    screen.headline(
        "schedule",
        f"{sizes(answer)}: {time(answer, answer.total_time)} units a step, "
        f"{time(answer, answer.ideal_time)} of work and {time(answer, bubble)} of bubble",
        "bold",
    )
    screen.line()
    shown = sample(answer.ranks)
    _show_ranks(screen, answer, shown)
    screen.line()
    margin = len(f"  rank {answer.pp - 1}  ")
    drawn = picture(answer, max(NARROWEST, (screen.width or UNWRAPPED) - margin))
    _show_timeline(screen, drawn, shown, margin)
    screen.line()
    screen.entry("legend", drawn.legend())
    if len(shown) < answer.pp:
        screen.entry("ranks", f"{len(shown)} of {answer.pp}, evenly spread; JSON and SVG have all")
    _show_bubble(screen, answer)


def sizes(answer: Schedule) -> str:
    """The schedule and its sizes in words."""
    if answer.schedule != "interleaved":
        ranks = _counted(answer.pp, "rank")
        return f"{answer.schedule} on {ranks}, {_counted(answer.microbatches, 'micro-batch')}"
    return (
        f"{answer.schedule} on {answer.pp} ranks of {answer.virtual_stages} virtual stages, "
        f"{answer.microbatches} micro-batches in groups of {answer.microbatch_group_size}"
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 'es' if what.endswith('h') else 's'}"


def time(answer: Schedule, ticks: int) -> str:
    """A time in units, with at most two decimals."""
    return f"{ticks / answer.ticks_per_unit:,.2f}".rstrip("0").rstrip(".")


def sample(ranks: Sequence[RankTimeline]) -> Sequence[RankTimeline]:
    """All ranks, or the first, the last and an even sample between."""
    if len(ranks) <= MOST_ROWS:
        return ranks
    return [ranks[place * (len(ranks) - 1) // (MOST_ROWS - 1)] for place in range(MOST_ROWS)]


def _show_ranks(screen: Screen, answer: Schedule, ranks: Sequence[RankTimeline]) -> None:
    interleaved = answer.schedule == "interleaved"
    headings = ["rank", "warm-up", "in flight", *["chunks in flight"] * interleaved]
    headings += ["busy", "idle", "idle %"]
    rows = [
        [
            str(rank.rank),
            str(rank.warmup),
            str(rank.in_flight),
            *[str(rank.in_flight_chunks)] * interleaved,
            time(answer, rank.busy_time),
            time(answer, rank.idle_time),
            f"{rank.idle_time / answer.total_time:.1%}",
        ]
        for rank in ranks
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = Table(screen, [Column(*pair) for pair in zip(headings, widths, strict=True)])
    for row in rows:
        table.row(row)


def _show_timeline(
    screen: Screen, drawn: Picture, ranks: Sequence[RankTimeline], margin: int
) -> None:
    for rank in ranks:
        cells = "".join(screen.styled(text, style) for text, style in drawn.cells(rank))
        screen.line(f"{f'  rank {rank.rank}':<{margin}}{cells}")
    screen.line(f"{'  units':<{margin}}{drawn.axis()}")


def _show_bubble(screen: Screen, answer: Schedule) -> None:
    """What the bubble is, what the formula says, and what both assume."""
    bubble, formula = answer.bubble, answer.formula
    screen.entry(
        "bubble",
        f"{_share(bubble.of_step)} of the step, {_share(bubble.of_ideal)} of the ideal time, "
        "which is the work of the busiest rank",
    )
    if formula is None:
        screen.entry("formula", "none, as the stages are unequal")
    else:
        work = "m v" if answer.virtual_stages > 1 else "m"
        below = f"({work})" if answer.virtual_stages > 1 else work
        virtual = " and v virtual stages" if answer.virtual_stages > 1 else ""
        verdict = "the same" if formula == bubble else "not what the schedule does"
        screen.entry(
            "formula",
            f"for m micro-batches{virtual}: "
            f"(pp - 1) / ({work} + pp - 1) = {_share(formula.of_step)} of the step, "
            f"(pp - 1) / {below} = {_share(formula.of_ideal)} of the ideal time: {verdict}",
        )
    each = "layer" if answer.layers else "stage"
    split = (
        f", a chunk 1/{answer.virtual_stages} of that"
        if answer.virtual_stages > 1 and not answer.layers
        else ""
    )
    screen.entry(
        "assumes",
        f"a forward takes {answer.forward_time:,} and a backward {answer.backward_time:,} units "
        f"per {each}{split}; transfers take no time",
    )


def _share(share: Share) -> str:
    part = Fraction(share.numerator, share.denominator)
    return f"{part} ({float(part):.1%})"
