"""Uneven pipeline stages: every split is valid, the first is the best there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest

import parsolve
from parsolve.constraints import PROFILES
from parsolve.constraints.megatron import MEGATRON
from parsolve.constraints.models.catalogue import PRESETS
from parsolve.reference import megatron as reference
from parsolve.solver.answer import Stages
from parsolve.solver.pipeline.balance import Split, balanced, room_below
from parsolve.solver.pipeline.costs import Costs
from parsolve.solver.pipeline.stages import stages
from parsolve.solver.query import QueryError
from tests.near_valid_megatron import asked

LAYERS = (43, 46, 61, 78, 92, 94, 126)
PIPELINES = ((2, 1), (3, 1), (4, 1), (8, 1), (16, 1), (2, 2), (4, 2), (8, 2), (4, 3), (16, 4))


def unrolled(layout: str) -> list[str]:
    """The stages of a layout as Megatron's parse_str_to_list unrolls it, with its two patterns."""
    for pattern in (r"\(([^)]+)\)\*(\d+)", r"(.)\*(\d+)"):
        layout = re.sub(pattern, lambda found: found[1] * int(found[2]), layout.replace(",", ""))
    return layout.split("|")


@cache
def answered(layers: int, pp: int, vpp: int, mtp_layers: int) -> Stages:
    """The best splits of a question."""
    return stages(MEGATRON, layers=layers, ranks=(pp,), chunks=(vpp,), mtp_layers=mtp_layers)


@pytest.mark.parametrize("layers", LAYERS)
def test_every_split_is_taken_by_the_rules_and_by_the_independent_validator(layers: int) -> None:
    seen = 0
    for (pp, vpp), mtp in product(PIPELINES, (0, 1, 2)):
        for split in answered(layers, pp, vpp, mtp).splits:
            for settings in (split.settings, {"pipeline_layout": split.layout}):
                config = MEGATRON.config(
                    {
                        "world_size": 2 * pp,
                        "pp_size": pp,
                        "num_hidden_layers": layers,
                        "mtp_layers": mtp or None,
                        "requested_global_batch": 2 * pp,
                        "hidden_size": 64,
                        "num_attention_heads": 8,
                        "seq_length": 128,
                        **settings,
                    }
                )
                assert config.accepted(), settings
                assert MEGATRON.lists_of(config.values)["layers_per_stage"] == [
                    list(rank) for rank in split.layers_per_stage
                ]
                verdict = reference.check(asked(config))
                assert verdict.accepted, (settings, verdict)
                seen += 1
    assert seen > 100


@pytest.mark.parametrize("layers", LAYERS)
def test_a_layout_says_the_same_as_the_options(layers: int) -> None:
    for (pp, vpp), mtp in product(PIPELINES, (0, 1)):
        for split in answered(layers, pp, vpp, mtp).splits:
            held = unrolled(split.layout)
            assert len(held) == pp * vpp
            by_rank = tuple(tuple(s.count("t") for s in held[rank::pp]) for rank in range(pp))
            assert by_rank == split.layers_per_stage
            assert "".join(held) == "E" + "t" * layers + "m" * mtp + "L"


@pytest.mark.parametrize(
    ("layers", "pp", "expected"),
    [  # what maintainers and users came to: see the threads in tests/data, and megatron.md
        (61, 16, [3, *[4] * 14, 2]),
        (46, 4, [11, 12, 12, 11]),
        (92, 8, [11, *[12] * 6, 9]),
        (78, 4, [19, 20, 20, 19]),
        (30, 4, [7, 8, 8, 7]),
    ],
)
def test_splits_that_people_use(layers: int, pp: int, expected: list[int]) -> None:
    found = [[sum(rank) for rank in split.layers_per_stage] for split in
             stages(MEGATRON, layers=layers, ranks=(pp,), limit=50).splits]  # fmt: skip
    assert expected in found
    assert max(found[0]) <= max(expected)


def compositions(layers: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to give layers to stages, none included."""
    if parts == 1:
        yield (layers,)
        return
    for first in range(layers + 1):
        yield from ((first, *rest) for rest in compositions(layers - first, parts - 1))


COSTS = (
    Costs(),
    Costs(embedding=0, loss=0, mtp=1000),
    Costs(embedding=1000, loss=1000, mtp=1000),
    Costs(embedding=250, loss=2600, mtp=1154),
    Costs(embedding=3500, loss=400, mtp=500),
)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize(("pp", "vpp"), [(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (3, 2), (2, 3)])
def test_no_split_is_better(pp: int, vpp: int, costs: Costs) -> None:
    for layers, mtp in product((1, 2, 3, 5, 7), (0, 1, 2)):
        best = balanced(layers, pp, vpp, mtp, costs)
        orders = []
        for counts in compositions(layers, pp * vpp):
            held = [list(counts[rank::pp]) for rank in range(pp)]
            for place in range(pp) if mtp else (pp - 1,):
                if mtp and any(counts[(vpp - 1) * pp + place + 1 :]):
                    continue  # a layer after the MTP layers
                orders.append(Split(held, mtp, place, costs).order)
        assert best.order[:2] == min(orders)[:2]  # chunks are best for these ranks only
        assert room_below(best.order[0], best) < layers or max(best.rank_costs) == max(
            sum(extra) for extra in _alone(best)
        )


def _alone(split: Split) -> list[list[int]]:
    """Costs of what is no layer."""
    empty = [[0] * len(rank) for rank in split.layers]
    return Split(empty, split.mtp_layers, split.mtp_rank, split.costs).chunk_costs


WRONG = {"middle-stages-with-negative-layers", "stages-do-not-hold-all-layers"}
"""Hazards of splits that build another model."""


@pytest.mark.parametrize(("layers", "pp", "vpp"), [(7, 3, 1), (12, 4, 1), (10, 2, 2), (9, 2, 1)])
def test_every_setting_is_found(layers: int, pp: int, vpp: int) -> None:
    splits = MEGATRON.splits
    assert splits is not None
    found = {tuple(map(tuple, counts)) for _, counts in splits.options(layers, pp, vpp)}
    expected = set()
    for first, last, embedding, loss in product(
        range(layers + 1), range(layers + 1), (False, True), (False, True)
    ):
        config = MEGATRON.config(
            {
                "world_size": pp,
                "pp_size": pp,
                "num_hidden_layers": layers,
                "virtual_stages": vpp if vpp > 1 else None,
                "first_stage_layers": first or None,
                "last_stage_layers": last or None,
                "account_for_embedding": embedding,
                "account_for_loss": loss,
                "requested_global_batch": pp,
            }
        )
        hazards = {MEGATRON.warnings[index].id for index in MEGATRON.warned(config.values)}
        if config.accepted() and hazards.isdisjoint(WRONG):
            expected.add(tuple(map(tuple, MEGATRON.lists_of(config.values)["layers_per_stage"])))
    assert found == expected


def test_early_ranks_hold_fewer_layers_among_equals() -> None:
    held = [sum(rank) for rank in answered(43, 16, 1, 0).splits[0].layers_per_stage]
    assert held == [2] * 4 + [3] * 11 + [2]


def test_the_costs_of_a_model_are_its_multiplications() -> None:
    answer = parsolve.stages(model="deepseek-v3", pp=16)
    assert answer.layers == 61
    hidden, vocabulary = 7168, 129_280
    layer = (37_552_297_472 - 2 * hidden * vocabulary) / 61  # routers and MLA included, norms too
    assert answer.costs["loss"] == pytest.approx(hidden * vocabulary / layer, abs=0.002)
    assert parsolve.stages(model="deepseek-v3", pp=16, seq_length=65_536).costs["loss"] < 1


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_known_model_can_be_split(preset: object) -> None:
    answer = parsolve.stages(model=preset.name, pp=[2, 4, 8])  # type: ignore[attr-defined]
    assert {split.pp for split in answer.splits} == {2, 4, 8}


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"pp": 4}, "layers is missing; give the layers, or a model"),
        ({"pp": 0, "layers": 8}, "pp must be from 1 to 1024, got 0"),
        ({"pp": 4, "layers": 0}, "layers must be from 1 to 1000, got 0"),
        ({"pp": 4, "layers": 8, "virtual_stages": 300}, "pp 4 times 300 virtual stages is 1200"),
        ({"pp": 1, "layers": 8, "virtual_stages": 2}, "2 virtual stages need several"),
        ({"pp": 4, "layers": 8, "mtp_layers": -1}, "mtp_layers must be from 0 to 1000"),
        ({"pp": 4, "layers": 8, "loss_cost": -1}, "loss_cost is a number of layers, 0 or from"),
        ({"pp": 4, "layers": 8, "loss_cost": "nan"}, "loss_cost is a number of layers, 0 or from"),
        ({"pp": 4, "layers": 8, "loss_cost": "1e99999999"}, "0 or from 0.001 to 1000"),
        ({"pp": 4, "layers": 8, "loss_cost": "1e-99999999"}, "0 or from 0.001 to 1000"),
        ({"pp": 4, "layers": 8, "mtp_cost": 2}, "give mtp_layers too"),
        ({"pp": [], "layers": 8}, "pp is empty"),
        ({"pp": 4.0, "layers": 8}, "pp must be int or list"),
        ({"pp": 4, "model": "qwen3-8b", "seq_length": 10**30}, "seq_length must be from 1 to"),
        ({"pp": 4, "layers": 8, "seq_length": 4096}, "name the model too"),
        ({"pp": 4, "layers": 8, "limit": 0}, "limit must be at least 1, got 0"),
        ({"pp": 4, "layers": 8, "profile": "halo"}, "profiles with others: megatron"),
    ],
)
def test_misuse_says_what_to_change(question: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        parsolve.stages(**question)  # type: ignore[arg-type]


def test_only_a_profile_with_several_ways_takes_the_question() -> None:
    able = [name for name in PROFILES if PROFILES[name].splits is not None]
    assert able == ["megatron"]
    with pytest.raises(QueryError):
        stages(PROFILES["generic"], layers=8, ranks=(2,))


def test_layers_that_differ_are_said() -> None:
    config = {
        **next(preset.config for preset in PRESETS if preset.name == "deepseek-v3"),
        "intermediate_size": 65_536,
    }
    # 1,596 million multiplications against 585, of a mean of 635
    assert "; layers from 0.92 to 2.51" in parsolve.stages(model=config, pp=4).costs_are
