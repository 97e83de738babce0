"""Moving a recipe: fewest changes, the global batch kept, and brute force finds nothing better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from random import Random

import pytest

import parsolve
from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.constraints.profile import Config
from parsolve.solver.answer import Accepted, Rejected, as_data
from parsolve.solver.repair import candidates
from parsolve.solver.ways import Found, samples_of, ways

OPEN = {
    "halo": ("tp_size", "cp_size", "ep_size", "expert_tp_size", "pp_size", "use_hsdp"),
    "generic": ("tp_size", "cp_size", "pp_size", "ep_size", "zero_stage"),
    "megatron": ("tp_size", "pp_size", "cp_size", "ep_size", "sequence_parallel"),
    "torchtitan": ("tp_size", "pp_size", "dp_shard_size", "dp_replicate_size"),
    "accelerate": ("dp_replicate_size", "dp_shard_size", "tp_size", "cp_size"),
}
"""Knobs that may change in the comparison with brute force."""

FAR = 10**9
MOST = 2
"""Knobs that brute force changes at once."""


def every_change(
    config: Config, names: tuple[str, ...], values: Values, size: int
) -> Iterator[Values]:
    """Every way to change exactly so many of these knobs, none left out."""
    if size == 0:
        yield values
        return
    index_of = config.profile.index_of
    for place, name in enumerate(names):
        for value in candidates(config.profile, values, name):
            changed = list(values)
            changed[index_of[name]] = value
            others = names[:place] + names[place + 1 :]
            yield from every_change(config, others, tuple(changed), size - 1)


def every_batch(config: Config, values: Values, samples: int) -> Iterator[Values]:
    """Every setting of the fields of the batch up to twice the samples."""
    batch = config.profile.batch
    assert batch is not None
    ranges: list[list[object]] = []
    for name in batch.knobs:
        now = values[config.profile.index_of[name]]
        stays = name == batch.asked and now is None and batch.passes
        counts: list[object] = [] if stays else list(range(1, 2 * samples + 1))
        if name in batch.passes[1:]:  # the first of them does what the others could
            counts = []
        default = [config.profile.field_of[name].default] if name in batch.passes else []
        ranges.append(list(dict.fromkeys([now, *counts, *default])))
    for chosen in product(*ranges):
        changed = list(values)
        for name, value in zip(batch.knobs, chosen, strict=True):
            changed[config.profile.index_of[name]] = value
        yield tuple(changed)


def nearest_by_brute_force(config: Config, samples: int, size: int) -> tuple[int, set[Values]]:
    """How near the batch can come with so many knobs changed, and all values of them that do."""
    profile = config.profile
    offs: dict[Values, int] = {}
    for knobs in set(every_change(config, OPEN[profile.name], config.values, size)):
        for values in every_batch(config, knobs, samples):
            off = abs((samples_of(Config(profile, values)) or 0) - samples)
            if off < offs.get(knobs, FAR) and profile.accepts(values):
                offs[knobs] = off
    best = min(offs.values(), default=FAR)
    return best, {knobs for knobs, off in offs.items() if off == best}


def without_batch(config: Config, change: Mapping[str, object]) -> Values:
    """What a change comes to, the batch left as it was."""
    batch = config.profile.batch
    assert batch is not None
    return config.replaced({n: v for n, v in change.items() if n not in batch.knobs}).values


def held(config: Config) -> frozenset[str]:
    """All knobs that do not take part in the comparison."""
    batch = config.profile.batch
    assert batch is not None
    free = {*OPEN[config.profile.name], batch.micro_batch, *batch.passes[:1], batch.asked}
    return frozenset(field.name for field in config.profile.fields) - free


def found_by(config: Config, samples: int) -> Found:
    return ways(config, samples, held(config))


TWO_NODES = {"assume_pp": True, "gpus_per_node": "half", "trainer": "sft", "max_length": 128}
CASES: list[tuple[str, int, int, dict[str, object]]] = [
    ("halo", 8, 4, {"ep_size": 8, "gradient_accumulation_steps": 1}),
    ("halo", 8, 6, {"ep_size": 8}),
    ("halo", 4, 8, {"ep_size": 2, "per_device_train_batch_size": 2}),
    ("halo", 8, 4, {"pp_size": 2, "per_device_train_batch_size": 4, "assume_pp": True}),
    ("generic", 8, 4, {"tp_size": 2, "pp_size": 2, "gradient_accumulation_steps": 2}),
    ("generic", 8, 6, {"tp_size": 4, "requested_global_batch": 8}),
    ("megatron", 8, 4, {"tp_size": 4, "pp_size": 2, "requested_global_batch": 8}),
    ("megatron", 8, 6, {"tp_size": 2, "pp_size": 2, "micro_batch": 2, "num_hidden_layers": 4}),
    ("megatron", 8, 6, {"tp_size": 4, "ep_size": 4, "expert_tp_size": 1, "num_experts": 12}),
    ("halo", 8, 6, {"pp_size": 2, "per_device_train_batch_size": 5, **TWO_NODES}),
    ("halo", 8, 4, {"pp_size": 2, "ep_size": 4, "per_device_train_batch_size": 3, **TWO_NODES}),
    ("torchtitan", 8, 4, {"tp_size": 4, "dp_shard_size": 2, "micro_batch": 4}),
    ("accelerate", 8, 4, {"tp_size": 2, "dp_shard_size": 4, "micro_batch": 2}),
    ("accelerate", 4, 6, {"tp_size": 2, "dp_shard_size": 2, "micro_batch": 2}),
]


def at(profile: str, world: int, given: Mapping[str, object]) -> Config:
    nodes = {"gpus_per_node": world // 2} if given.get("gpus_per_node") == "half" else {}
    return PROFILES[profile].config({"world_size": world, **given, **nodes})


@pytest.mark.parametrize(("profile", "before", "after", "given"), CASES)
def test_brute_force_finds_nothing_better(
    profile: str, before: int, after: int, given: dict[str, object]
) -> None:
    samples = samples_of(at(profile, before, given))
    assert samples is not None
    assert samples <= 20  # or it would take minutes
    config = at(profile, after, given)
    found = found_by(config, samples)
    assert found.complete
    said = {step.knobs: step for step in found.steps}
    nearest = FAR
    for size in range(MOST + 1):
        best, knobs = nearest_by_brute_force(config, samples, size)
        if best >= nearest:
            assert size not in said
            continue
        nearest = best
        assert said[size].off == best
        assert {without_batch(config, each) for each in said[size].changes} == knobs
        if best == 0:
            break


@pytest.mark.parametrize("seed", range(20))
def test_every_way_is_accepted_and_as_near_as_it_says(seed: int) -> None:
    random = Random(seed)
    profile = random.choice(list(OPEN))
    sizes = {name: random.choice((1, 2, 4)) for name in OPEN[profile] if name.endswith("_size")}
    before, after = random.choice(((16, 8), (8, 16), (16, 12), (8, 7), (32, 24)))
    given: dict[str, object] = {**sizes, "gpus_per_node": 0}
    batch = PROFILES[profile].batch
    assert batch is not None
    given[batch.micro_batch] = random.choice((1, 2, 4))
    samples = samples_of(at(profile, before, given))
    config = at(profile, after, given)
    found = ways(config, samples)
    offs = [step.off for step in found.steps]
    assert offs == sorted(offs, key=lambda off: -(off or 0))
    for step in found.steps:
        assert step.changes
        for change in step.changes:
            moved = config.replaced(change)
            assert moved.accepted()
            assert len([name for name in change if name not in batch.knobs]) == step.knobs
            if samples is not None:
                assert abs((samples_of(moved) or 0) - samples) == step.off


def test_what_accumulates_is_no_knob() -> None:
    answer = parsolve.move(
        {"world_size": 16, "ep_size": 8, "gradient_accumulation_steps": 8}, world_size=8
    )
    assert answer.status == "moved"
    first = answer.moves[0]
    assert dict(first.change) == {"gradient_accumulation_steps": 16}
    assert (first.knobs, first.off, first.global_batch) == ((), 0, 128)
    assert answer.unchanged.global_batch == 64
    assert answer.difference is not None
    assert answer.difference.before.global_batch == answer.difference.after.global_batch == 128


def test_memory_is_saved_by_the_micro_batch_before_anything_else() -> None:
    recipe = {
        "ep_size": 8,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 8,
        "max_length": 16384,
        "gradient_checkpointing": True,
    }
    answer = parsolve.move(recipe, world_size=8, from_world=16, model="qwen3-30b-a3b", gpu="h100")
    assert isinstance(answer.unchanged.detail, Rejected)
    assert dict(answer.moves[0].change) == {
        "gradient_accumulation_steps": 32,
        "per_device_train_batch_size": 1,
    }
    memory = answer.moves[0].detail.memory
    assert memory is not None
    assert memory.state in {"fits", "near"}


def test_a_batch_that_cannot_be_kept_comes_as_near_as_it_can() -> None:
    answer = parsolve.move(
        {"world_size": 8, "ep_size": 8, "gradient_accumulation_steps": 16},
        world_size=7,
        keep=("tp", "cp", "etp", "pp"),
    )
    first = answer.moves[0]
    assert (first.off, first.global_batch, first.unit) == (2, 126, 7)


def test_fewer_knobs_for_another_batch_are_shown_beside() -> None:
    answer = parsolve.move(
        {"world_size": 8, "ep_size": 8, "gradient_accumulation_steps": 16}, world_size=7
    )
    exact, rest = answer.moves[: answer.nearest], answer.moves[answer.nearest :]
    assert {len(each.knobs) for each in exact} == {2}
    assert {each.off for each in exact} == {0}
    assert {len(each.knobs) for each in rest} == {1}
    assert all(each.off for each in rest)


def test_options_hold_and_are_not_changed() -> None:
    recipe = {"world_size": 16, "ep_size": 8}
    answer = parsolve.move(recipe, world_size=8, ep_size=2)
    assert all("ep_size" not in each.change for each in answer.moves)
    assert answer.moves[0].detail.config["ep_size"] == 2
    origin = answer.origin
    assert origin is not None
    assert origin.detail.config["ep_size"] == 8
    kept = parsolve.move(recipe, world_size=4, keep="ep")
    assert kept.status == "stuck"
    assert kept.moves == ()


def test_lengths_are_never_changed() -> None:
    answer = parsolve.move(
        {"world_size": 8, "tp_size": 2, "max_length": 8190, "cp_size": 1},
        world_size=16,
        cp_size=4,
        keep=("tp",),
    )
    assert all("max_length" not in each.change for each in answer.moves)


def test_data_parallel_ranks_follow_the_cluster_before_the_model_is_split_otherwise() -> None:
    for profile in ("torchtitan", "accelerate"):
        answer = parsolve.move(
            {"world_size": 16, "tp_size": 4, "dp_shard_size": 4, "micro_batch": 2},
            world_size=8,
            profile=profile,
        )
        assert answer.moves[0].knobs == ("dp_shard_size",)
        assert answer.moves[0].off == 0


def test_rules_that_no_knob_mends_are_named() -> None:
    answer = parsolve.move({"world_size": 16, "ep_size": 8}, world_size=12)
    assert answer.status == "stuck"
    assert "world-not-multiple-of-node" in answer.unmended
    again = parsolve.move({"world_size": 16, "ep_size": 8}, world_size=12, gpus_per_node=6)
    assert again.status == "moved"


def test_without_an_origin_only_a_stated_batch_is_kept() -> None:
    answer = parsolve.move({"ep_size": 8}, world_size=8)
    assert (answer.origin, answer.global_batch) == (None, None)
    assert answer.moves[0].off is None
    stated = parsolve.move(
        {"tp_size": 2, "requested_global_batch": 64}, world_size=8, profile="megatron"
    )
    assert stated.global_batch == 64
    assert stated.moves[0].off == 0


def test_a_number_that_was_said_stays_said() -> None:
    answer = parsolve.move(
        {"world_size": 8, "ep_size": 8, "gradient_accumulation_steps": 2}, world_size=16
    )
    assert dict(answer.moves[0].change) == {"gradient_accumulation_steps": 1}


def test_a_search_that_is_cut_short_says_so() -> None:
    config = at("halo", 4, {"ep_size": 8})
    assert ways(config, 8, most=1) == Found((), complete=False)
    assert ways(config, 8).complete


def test_the_answer_is_plain_data() -> None:
    answer = parsolve.move({"world_size": 16, "ep_size": 8}, world_size=8)
    data = as_data(answer)
    assert data["answer"] == "moves"
    assert isinstance(answer.moves[0].detail, Accepted)
    assert data["moves"][0]["change"] == {"gradient_accumulation_steps": 2}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"world_size": 8, "keep": "nothing"}, "nothing to keep is called 'nothing'"),
        ({"world_size": 8, "no_such": 1}, "no_such is nothing of halo"),
        ({"world_size": 0}, "world_size"),
    ],
)
def test_misuse(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parsolve.move({"world_size": 16}, **given)  # type: ignore[arg-type]
