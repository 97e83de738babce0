"""Uneven pipeline stages: the valid splits of a number of layers, best balanced first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest
from operator import attrgetter

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Sizes
from parsolve.constraints.models.shape import Shape
from parsolve.constraints.profile import Profile, Splits
from parsolve.solver.answer import Fields, Stages, StageSplit
from parsolve.solver.pipeline import costs as costing
from parsolve.solver.pipeline.balance import Split, balanced, placed, room_below
from parsolve.solver.pipeline.costs import LAYER, Costs
from parsolve.solver.query import QueryError

MOST_LAYERS = 1000
LONGEST = 10**9
"""Tokens of a sequence."""
PROPOSED = 4
"""Splits whose values are tried to repair a configuration."""

MOST_STAGES = 1024
"""Stages of a layout, pp * virtual stages."""


@dataclass(frozen=True)
class _Option:
    """A split, the settings that make it, and their place among equally good ones."""

    split: Split
    settings: Mapping[str, object]
    order: tuple[int, ...]


def stages(  # noqa: PLR0913  (a question has many parts)
    profile: Profile,
    *,
    ranks: Sequence[int],
    chunks: Sequence[int] = (1,),
    layers: int | None = None,
    mtp_layers: int = 0,
    shape: Shape | None = None,
    sequence: int | None = None,
    embedding_cost: str | float | None = None,
    loss_cost: str | float | None = None,
    mtp_cost: str | float | None = None,
    limit: int = 5,
) -> Stages:
    """The ``limit`` best splits for each number of pipeline ranks and of chunks per rank.

    ``layers`` counts decoder layers without the MTP layers; the model's if it is not given.
    Costs are in layers, see `costs.Costs`; ``sequence`` is in tokens. Raises `QueryError`.
    """
    splits = splits_of(profile)
    if layers is None:
        if shape is None:
            message = "layers is missing; give the layers, or a model that has some"
            raise QueryError(message)
        layers = len(shape.layers)
    if mtp_cost is not None and not mtp_layers:
        message = "mtp_cost is that of MTP layers, and there are none; give mtp_layers too"
        raise QueryError(message)
    costs = _costs(shape, sequence, embedding=embedding_cost, loss=loss_cost, mtp=mtp_cost)
    _within("layers", layers, 1, MOST_LAYERS)
    _within("mtp_layers", mtp_layers, 0, MOST_LAYERS)
    _within("limit", limit, 1, None)
    found: list[StageSplit] = []
    count = 0
    for pp in ranks:
        for vpp in chunks:
            _check(pp, vpp)
            options = _options(splits, layers, pp, vpp, mtp_layers, costs)
            count += sum(splits.layout not in option.settings for option in options)
            best = nsmallest(limit, options, key=attrgetter("order"))
            found.extend(_said(profile, splits, option) for option in best)
    return Stages(
        profile=profile.name,
        layers=layers,
        mtp_layers=mtp_layers,
        costs=Fields(
            layer=1.0,
            embedding=costs.embedding / LAYER,
            mtp_layer=costs.mtp / LAYER,
            loss=costs.loss / LAYER,
        ),
        costs_are=costs.said,
        splits=tuple(found),
        count=count,
    )


@lru_cache(maxsize=1024)
def proposals(
    profile: Profile, layers: int, pp: int, vpp: int, mtp_layers: int
) -> Mapping[str, tuple[object, ...]]:
    """Values that the best splits give to each field; nothing where there is no such pipeline."""
    splits = splits_of(profile)
    if not (layers <= MOST_LAYERS and mtp_layers <= MOST_LAYERS and pp * vpp <= MOST_STAGES):
        return {}
    costs = Costs()
    best = balanced(layers, pp, vpp, mtp_layers, costs)
    options = _options(splits, layers, pp, vpp, mtp_layers, costs)
    found: dict[str, dict[object, None]] = {splits.layout: {tuple(best.stages()): None}}
    for option in nsmallest(PROPOSED, options, key=attrgetter("order")):
        for name, value in option.settings.items():
            found.setdefault(name, {})[value] = None
    return {name: tuple(values) for name, values in found.items()}


def splits_of(profile: Profile) -> Splits:
    """How the profile splits layers. Raises `QueryError` where it has one way only."""
    if profile.splits is None:
        able = ", ".join(name for name in PROFILES if PROFILES[name].splits is not None)
        message = f"{profile.name} splits layers in one way only; profiles with others: {able}"
        raise QueryError(message)
    return profile.splits


def _costs(shape: Shape | None, sequence: int | None, **said: str | float | None) -> Costs:
    """The model's costs, or the usual ones, and what was said over them."""
    if sequence is not None:
        _within("seq_length", sequence, 1, LONGEST)
        if shape is None:
            message = "seq_length changes what a layer of a model costs; name the model too"
            raise QueryError(message)
    known = Costs() if shape is None else costing.of_shape(shape, sequence)
    given = {
        name: cost
        for name, value in said.items()
        if (cost := costing.thousandths(f"{name}_cost", value)) is not None
    }
    if not given:
        return known
    return Costs(
        embedding=given.get("embedding", known.embedding),
        loss=given.get("loss", known.loss),
        mtp=given.get("mtp", known.mtp),
        said=f"{' and '.join(given)} as given" + (f", the rest {known.said}" if shape else ""),
    )


def _within(name: str, value: int, least: int, most: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"{name} must be a whole number, got {value!r:.40}"
        raise QueryError(message)
    if value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        message = f"{name} must be {bounds}, got {value}"
        raise QueryError(message)


def _check(pp: int, vpp: int) -> None:
    _within("pp", pp, 1, MOST_STAGES)
    _within("virtual_stages", vpp, 1, MOST_STAGES)
    if pp * vpp > MOST_STAGES:
        message = f"at most {MOST_STAGES} stages: pp {pp} times {vpp} virtual stages is {pp * vpp}"
        raise QueryError(message)
    if vpp > 1 and pp == 1:
        message = (
            f"{vpp} virtual stages need several pipeline ranks: use pp of at least 2, or 1 of them"
        )
        raise QueryError(message)


def _options(  # noqa: PLR0913, PLR0917  (one question)
    splits: Splits, layers: int, pp: int, vpp: int, mtp_layers: int, costs: Costs
) -> list[_Option]:
    """Every split that options other than a layout make, and the best one of all."""
    found: dict[tuple[tuple[int, ...], ...], _Option] = {}
    for place, (settings, counts) in enumerate(splits.options(layers, pp, vpp)):
        split = placed(counts, mtp_layers, costs)
        key = tuple(map(tuple, counts))
        found.setdefault(key, _Option(split, settings, (*split.order, 0, place)))
    best = balanced(layers, pp, vpp, mtp_layers, costs)
    if all(best.order < option.split.order for option in found.values()):
        settings = {splits.layout: tuple(best.stages())}
        return [_Option(best, settings, (*best.order, 1, 0)), *found.values()]
    return list(found.values())


def _layout(profile: Profile, splits: Splits) -> Sizes:
    field = profile.field_of[splits.layout]
    assert isinstance(field, Sizes)  # noqa: S101  (a list, stage by stage)
    return field


def _said(profile: Profile, splits: Splits, option: _Option) -> StageSplit:
    """The split in an answer, once the profile's own rules have accepted it."""
    split = option.split
    pp = len(split.layers)
    config = profile.config(
        {
            profile.world: pp,
            splits.ranks: pp,
            splits.layers: sum(map(sum, split.layers)),
            splits.mtp_layers: split.mtp_layers or None,
            splits.batch: pp,
            **option.settings,
        }
    )
    refused = [profile.limits[index].id for index in profile.violated(config.values)]
    if refused or profile.lists_of(config.values)["layers_per_stage"] != split.layers:
        message = f"parsolve made a split that {profile.name} refuses: {option.settings} {refused}"
        raise AssertionError(message)
    slowest = max(split.rank_costs)
    return StageSplit(
        pp=pp,
        virtual_stages=len(split.layers[0]),
        settings=Fields(option.settings),
        layout=_layout(profile, splits).written(split.stages()),
        layers_per_stage=tuple(map(tuple, split.layers)),
        costs=tuple(cost / LAYER for cost in split.rank_costs),
        slowest=slowest / LAYER,
        slowest_chunk=max(map(max, split.chunk_costs)) / LAYER,
        mean=sum(split.rank_costs) / pp / LAYER,
        room_below=room_below(slowest, split),
    )
