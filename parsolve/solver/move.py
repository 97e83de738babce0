"""A recipe on another cluster: what must change, and what that changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from parsolve.constraints.fields import FieldError, Misuse, Size
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.answer import Accepted, Fields, FileEdit, Moves, Way
from parsolve.solver.check import check
from parsolve.solver.difference import differing, side_of
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.format import CLUSTER, GPUS_PER_NODE, NODES, WORLD
from parsolve.solver.files.judging import Facts
from parsolve.solver.files.reading import interpreted, parsed
from parsolve.solver.files.rewriting import edits, rewritten
from parsolve.solver.repair import MOST_CHANGES, mends
from parsolve.solver.sides import Told
from parsolve.solver.ways import Found, samples_of, unit_of, ways

SHOWN = 3
"""Moves that are as good, or need fewer knobs, which are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """The cluster that a recipe goes to, and options that hold there; the one that it is from.

    An option for what the recipe says nothing of holds on both. ``names_gpu`` says that the facts
    are those of a GPU: then what the recipe says of its own counts no more.
    """

    facts: Facts
    cluster: Cluster
    given: Mapping[str, object] = field(default_factory=dict)
    names_gpu: bool = False
    from_facts: Facts
    from_cluster: Cluster = field(default_factory=Cluster)
    kept: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """The answer, the recipe here and there, and what of it counts no more there."""

    answer: Moves
    recipe: Told
    target: Told
    dropped: frozenset[str]


def move(recipe: Told, to: Elsewhere, *, shown: int = SHOWN) -> Moved:
    """The smallest changes with which the recipe runs on another cluster, its global batch kept.

    Raises `Misuse`.
    """
    profile = recipe.profile
    origin = _origin(recipe, to)
    dropped = _dropped(profile, to)
    target = _target(recipe, to, origin, dropped)
    before = origin.config() if origin.own_cluster().sizes()[0] is not None else None
    config = target.config()
    samples = _samples(before, config)
    found = ways(config, samples, _held(profile, to))
    moves: list[Way] = []
    nearest = 0
    for step in reversed(found.steps):
        moves += [_move(recipe, config, c, samples) for c in step.changes[:shown]]
        nearest = nearest or len(moves)
    best = config.replaced(moves[0].change) if moves else None
    name = f"{recipe.name} there"
    difference = None
    if best is not None:
        one, old = (target, config) if before is None else (origin, before)
        difference = differing(one, old, replace(origin, name=name), best)
    answer = Moves(
        profile=profile.name,
        name=recipe.name,
        origin=None if before is None else side_of(origin, before),
        unchanged=side_of(replace(target, name=name), config),
        global_batch=samples,
        moves=tuple(moves),
        nearest=nearest,
        more=_more(found, shown),
        most_knobs=MOST_CHANGES,
        unmended=_unmended(config) if not moves else (),
        searched=_searched(profile, samples),
        complete=found.complete,
        difference=difference,
    )
    return Moved(answer, recipe, target, dropped)


def _origin(recipe: Told, to: Elsewhere) -> Told:
    """The recipe on its own cluster: with options for what it says nothing of."""
    profile = recipe.profile
    known = {of for of, each in recipe.reading.said.items() if not each.unknown}
    known |= {profile.spellings.get(name, name) for name in recipe.given}
    fills = {
        name: value
        for name, value in to.given.items()
        if profile.field_of[name].role != "cluster" and name not in known
    }
    return replace(
        recipe.over(fills, to.from_cluster),
        facts=to.from_facts,
    )


def _dropped(profile: Profile, to: Elsewhere) -> frozenset[str]:
    """What the recipe says of its own cluster."""
    fields = [each.name for each in profile.fields if each.role == "cluster" and to.names_gpu]
    return frozenset({"gpus_per_node", *CLUSTER, *fields})


def _target(recipe: Told, to: Elsewhere, origin: Told, dropped: frozenset[str]) -> Told:
    """The recipe on the other cluster, nothing changed in it but what options say."""
    spellings = recipe.profile.spellings
    was = _per_node(origin)
    if to.names_gpu:
        was = Cluster(world=was.sizes()[0])
    said = {of: each for of, each in recipe.reading.said.items() if of not in dropped}
    given = {
        name: value
        for name, value in recipe.given.items()
        if spellings.get(name, name) not in dropped
    }
    plain = replace(
        recipe,
        reading=replace(recipe.reading, said=said),
        given=given,
        facts=to.facts,
        cluster=to.cluster.over(was),
    )
    return plain.over(to.given, Cluster())


def _per_node(origin: Told) -> Cluster:
    """The recipe's cluster, with GPUs of a node that are said as a field."""
    cluster = origin.own_cluster()
    said = origin.reading.said.get("gpus_per_node")
    spellings = origin.profile.spellings
    value: Any = None if said is None else said.value
    for name, given in origin.given.items():
        if spellings.get(name, name) == "gpus_per_node":
            value = given
    if cluster.gpus_per_node is None and isinstance(value, int) and value > 0:
        return replace(cluster, gpus_per_node=value)
    return cluster


def _held(profile: Profile, to: Elsewhere) -> frozenset[str]:
    """Fields that options say, or say to keep. Raises `FieldError` for an unknown one."""
    held = set(to.given)
    for word in to.kept:
        name = profile.spellings.get(word.replace("-", "_"))
        if name is None:
            message = f"nothing to keep is called {word!r:.60}{profile.hint(word)}"
            raise FieldError(message)
        held.add(name)
    return frozenset(held)


def _samples(before: Config | None, config: Config) -> int | None:
    """The samples of a step that are to be kept; of an unknown cluster only if they are stated."""
    if before is not None:
        return samples_of(before)
    batch = config.profile.batch
    if batch is None or not batch.asked:
        return None
    asked: int | None = config[batch.asked]
    return asked


def _move(recipe: Told, config: Config, change: Mapping[str, object], samples: int | None) -> Way:
    profile = config.profile
    batch = () if profile.batch is None or samples is None else profile.batch.knobs
    order = profile.index_of
    ordered = sorted(change.items(), key=lambda item: (item[0] in batch, order[item[0]]))
    changed = config.replaced(change)
    verdict = check(changed, shown_repairs=0)
    if not isinstance(verdict, Accepted):
        message = f"a move was found that is rejected: {change}; please report this bug"
        raise AssertionError(message)  # noqa: TRY004  (not the caller's fault)
    count = samples_of(changed)
    return Way(
        change=Fields(ordered),
        knobs=tuple(name for name, _ in ordered if name not in batch),
        global_batch=count,
        off=None if samples is None or count is None else abs(count - samples),
        unit=unit_of(changed),
        edits=file_edits(recipe, changed, dict(ordered)),
        detail=verdict,
    )


def _more(found: Found, shown: int) -> int | None:
    if not found.steps:
        return None
    return max(0, len(found.steps[-1].changes) - shown) or None


def _searched(profile: Profile, samples: int | None) -> str:
    """Among which values a smallest change was looked for."""
    batch = () if profile.batch is None or samples is None else profile.batch.knobs
    sizes = [
        each.name
        for each in profile.fields
        if isinstance(each, Size) and each.role == "knob" and each.divides
    ]
    parts = [
        f"{', '.join(sizes)} over the divisors of the world",
        "every label and switch",
        "other counts near their value, its halves, and the multiples that a rule asks for",
    ]
    if batch:
        parts.append(f"{', '.join(batch)} over all that give the batch, or come nearest")
    if profile.account is not None:
        parts.append("to save memory, the levers that its account names")
    parts.append("the model, the trainer, lengths and what options say stay as they are")
    return "; ".join(parts)


def _unmended(config: Config) -> tuple[str, ...]:
    """Violated rules that no knob mends."""
    profile = config.profile
    return tuple(
        profile.limits[index].id
        for index in profile.violated(config.values)
        if not mends(profile, index, cluster=False)
    )


# --- the file ---------------------------------------------------------------------------------


def _intended(recipe: Told, config: Config, move_: Mapping[str, Any]) -> dict[str, Any]:
    """What the file is to say: the changes, what options say otherwise, and the cluster."""
    profile, derived = config.profile, config.profile.derive(config.values)
    values = dict(move_)
    for of, said in recipe.reading.said.items():
        if of in profile.field_of and of not in values and not said.unknown:
            value = config[of]
            if profile.field_of[of].role == "cluster":
                value = derived.get(of, value)
            if value != said.value:
                values[of] = value
    return {
        **values,
        WORLD: config[profile.world],
        NODES: derived.get(profile.nodes),
        GPUS_PER_NODE: derived.get(profile.node),
    }


def file_edits(
    recipe: Told, config: Config, change: Mapping[str, Any]
) -> tuple[FileEdit, ...] | None:
    """What to change in the file of a recipe, None where there is none or it has no key for it."""
    if not recipe.is_file:
        return None
    try:
        found = list(edits(recipe.reading, _intended(recipe, config, change)))
    except Misuse:
        return None
    return tuple(
        FileEdit(
            key=each.key,
            line=None if each.entry is None else each.entry.place.line,
            before=None if each.entry is None else each.entry.value,
            after=each.value,
        )
        for each in found
    )


def file_moved(moved: Moved, text: str, place: int = 0) -> str:
    """The text of the recipe's file as one of the moves has it, the first unless told otherwise.

    What comes out is read again and must be the configuration of the move. Raises `Misuse`.
    """
    recipe, target = moved.recipe, moved.target
    chosen = moved.answer.moves[place]
    config = target.config().replaced(chosen.change)
    new = rewritten(
        text, recipe.reading, list(edits(recipe.reading, _intended(recipe, config, chosen.change)))
    )
    document = parsed(recipe.reading.document.name, new)
    assert document is not None  # noqa: S101  (it is what was rewritten)
    again = interpreted(document, recipe.reading.format)
    kept = {of: each for of, each in again.said.items() if of not in moved.dropped}
    told = replace(target, reading=replace(again, said=kept))
    sizes = (
        config[recipe.profile.world],
        config.profile.derive(config.values).get(recipe.profile.node),
    )
    stated = replace(told, reading=again, cluster=Cluster()).own_cluster().sizes()
    if told.config() != config or any(
        a not in {None, b} for a, b in zip(stated, sizes, strict=True)
    ):
        if recipe.reading.format.filled is not None:
            message = "what the framework fills in changes with it; change it by hand"
            raise document.problem(None, message)
        message = f"{recipe.name} was rewritten into something else; please report this bug"
        raise AssertionError(message)
    return new
