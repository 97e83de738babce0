"""Advice: the ladder as data, the climb against brute force, what is said of a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import parsolve
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import GIB
from parsolve.constraints.formula import fields_of
from parsolve.constraints.ladder import Ladder, SymptomName
from parsolve.constraints.profile import Config, Profile, holds
from parsolve.solver.answer import Advice, LadderRung, Undecided, to_json
from parsolve.solver.facts import with_facts

LADDERS: dict[str, Ladder] = {
    name: profile.ladder for name, profile in PROFILES.items() if profile.ladder is not None
}
SYMPTOMS: tuple[SymptomName, ...] = ("oom", "slow", "bubbles", "long-context", "imbalance")


def advised(**question: Any) -> Advice:  # noqa: ANN401  (as the function takes them)
    """Advice that must be no `Undecided`."""
    answer = parsolve.advise(**question)
    assert isinstance(answer, Advice)
    return answer


def climbed(answer: Advice) -> list[LadderRung]:
    return [rung for rung in answer.rungs if rung.state in {"over", "fits"}]


# --- the ladder as data -----------------------------------------------------------------------


def test_whoever_has_a_memory_account_has_a_ladder() -> None:
    accounts = {name for name, profile in PROFILES.items() if profile.account is not None}
    assert accounts == LADDERS.keys()


@pytest.mark.parametrize("name", LADDERS)
def test_a_ladder_names_what_its_profile_has(name: str) -> None:
    """Fields, quantities and notices: nothing that the profile does not know."""
    profile, ladder = PROFILES[name], LADDERS[name]
    own = {id(field) for field in profile.fields}
    for rung in ladder.rungs:
        assert all(id(knob) in own for knob in rung.knobs), rung.name
        assert {*rung.numbers} <= profile.quantity_of.keys(), rung.name
        assert not rung.forbidden or rung.forbidden in {each.id for each in profile.rules}
        assert bool(rung.need) == bool(fields_of(rung.only)), rung.name
    for pattern in ladder.anti_patterns:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", pattern.id)
        assert {*pattern.numbers} <= profile.quantity_of.keys(), pattern.id
    for symptom in ladder.symptoms:
        assert {symptom.measure, *symptom.shows} <= profile.quantity_of.keys(), symptom.name
        assert all(id(turn.knob) in own for turn in symptom.turns), symptom.name
        assert all(turn.of in profile.quantity_of for turn in symptom.turns if turn.times)
    assert tuple(symptom.name for symptom in ladder.symptoms) == SYMPTOMS
    assert {knob.name for knob in ladder.knobs} == ladder.start.keys()


@pytest.mark.parametrize("name", LADDERS)
def test_names_on_a_ladder_are_unique(name: str) -> None:
    ladder = LADDERS[name]
    for names in (
        [rung.name for rung in ladder.rungs],
        [pattern.id for pattern in ladder.anti_patterns],
    ):
        assert len(names) == len(set(names))


# --- the climb against brute force ------------------------------------------------------------

Settings = Mapping[str, object]

SHARDING: dict[str, list[Settings]] = {
    "generic": [{"zero_stage": str(stage)} for stage in range(4)],
    "halo": [{"fsdp_reshard_after_forward": on} for on in (False, True)],
    "megatron": [
        {},
        {"distributed_optimizer": True},
        *(
            {
                "distributed_optimizer": True,
                "megatron_fsdp": True,
                "sharding_strategy": strategy,
                "ckpt_format": "fsdp_dtensor",
            }
            for strategy in ("optim_grads", "optim_grads_params")
        ),
    ],
}
RECOMPUTATION: dict[str, list[Settings]] = {
    "generic": [{"recompute": each} for each in ("none", "full")],
    "halo": [{"gradient_checkpointing": on} for on in (False, True)],
    "megatron": [
        {"recompute": "none"},
        {"recompute": "selective"},
        {"recompute": "full", "recompute_method": "uniform", "recompute_num_layers": 1},
    ],
}
AXES = {
    "generic": ("tp_size", "pp_size", "ep_size", "expert_tp_size", "cp_size"),
    "megatron": ("tp_size", "pp_size", "ep_size", "expert_tp_size", "cp_size"),
    "halo": ("ep_size", "expert_tp_size", "cp_size", "tp_size"),
}
"""By hand, in the order of each ladder; pipelines are none of halo's."""

LENGTH = {"generic": "seq_length", "megatron": "seq_length", "halo": "max_length"}


def everything(
    profile: Profile, facts: Mapping[str, object]
) -> Iterator[tuple[tuple[int, ...], Config]]:
    """Every accepted configuration that a guided climb may use, whatever its memory.

    Its place stands before it. Places compare as the order of the ladder does.
    """
    name, world = profile.name, int(str(facts[profile.world]))
    is_moe = facts.get("model_kind") == "moe"
    sizes = [n for n in range(1, world + 1) if world % n == 0]
    domains = [
        sizes if is_moe or axis not in {"ep_size", "expert_tp_size"} else [1] for axis in AXES[name]
    ]
    without = {key: value for key, value in facts.items() if key != "gpu_memory"}
    for shard, settings in enumerate(SHARDING[name]):
        for again, more in enumerate(RECOMPUTATION[name]):
            for chosen in product(*domains):
                axes = dict(zip(AXES[name], chosen, strict=True))
                if not guided(profile, facts, axes):
                    continue
                if not is_moe:
                    axes = {a: n for a, n in axes.items() if a not in {"ep_size", "expert_tp_size"}}
                if name != "halo":
                    axes["sequence_parallel"] = axes["tp_size"] > 1
                values = profile.config({**without, **settings, **more, **axes})
                if values.accepted():
                    yield (*reversed(chosen), again, shard), values


def guided(profile: Profile, facts: Mapping[str, object], axes: Mapping[str, int]) -> bool:
    """Whether the guide allows these sizes, as the documentation says it."""
    length = int(str(facts[LENGTH[profile.name]]))
    if axes["cp_size"] > 1 and length <= 8192:
        return False
    if profile.name == "halo":
        return True
    node = int(str(facts["gpus_per_node"]))
    if axes["pp_size"] > 1 and int(str(facts[profile.world])) <= node:
        return False
    return node % axes["tp_size"] == node % axes["expert_tp_size"] == 0


def total(config: Config) -> int:
    account = config.profile.account
    assert account is not None
    return int(config.profile.filled(config.values)[account.total.name])


QUESTIONS = [
    ("generic", "qwen2.5-0.5b", 4, 4096, None),
    ("generic", "llama-3-8b", 8, 8192, None),
    ("generic", "qwen3-30b-a3b", 8, 4096, None),
    ("generic", "qwen3-30b-a3b", 16, 32768, None),
    ("generic", "llama-3.1-70b", 16, 16384, None),
    ("generic", "mixtral-8x7b", 16, 16384, 40),
    ("halo", "qwen3-8b", 8, 4096, None),
    ("halo", "qwen3-30b-a3b", 16, 32768, None),
    ("halo", "qwen3-30b-a3b", 16, 32768, 32),
    ("halo", "llama-3.1-70b", 16, 65536, None),
    ("halo", "gpt-oss-120b", 8, 16384, None),
    ("megatron", "llama-3.1-8b", 8, 8192, None),
    ("megatron", "qwen3-30b-a3b", 16, 32768, None),
    ("megatron", "qwen3-30b-a3b", 8, 4096, 48),
    ("megatron", "llama-3.1-70b", 16, 32768, None),
]


@pytest.mark.parametrize(("name", "model", "world", "length", "gib"), QUESTIONS)
def test_the_climb_is_what_brute_force_finds(
    name: str, model: str, world: int, length: int, gib: int | None
) -> None:
    """The simplest that fits, the least memory of every rung, and how many fit."""
    profile = PROFILES[name]
    given: dict[str, object] = {"world_size": world, LENGTH[name]: length}
    if gib is not None:
        given["gpu_memory"] = f"{gib}GiB"
    facts = with_facts(profile, given, model, "h100", [world], needs_size=True)
    limit = profile.config(facts)["gpu_memory"]
    found = [(place, config, total(config)) for place, config in everything(profile, facts)]
    fitting = sorted((place, config) for place, config, size in found if size <= limit)

    answer = advised(profile=name, model=model, gpu="h100", **given)
    assert answer.certificate.status == "proved"
    if not fitting:
        assert answer.status in {"nothing-fits", "outside-guide"}
    else:
        assert answer.status == "advised"
        assert answer.advised is not None
        expected = fitting[0][1].replaced({"gpu_memory": limit})
        off_ladder = {"expert_tp_size"} if name == "megatron" else set()
        said = {k: v for k, v in answer.advised.config.items() if k not in off_ladder}
        assert said == {k: v for k, v in expected.as_dict().items() if k not in off_ladder}

    heights = _heights(name, answer)
    for rung in climbed(answer):
        below = [
            (size, place) for place, _, size in found if _height(name, place) <= heights[rung.rung]
        ]
        assert rung.valid == len(below), rung.rung
        assert rung.fitting == sum(size <= limit for size, _ in below), rung.rung
        if rung.state == "over":
            assert rung.memory == min(below)[0] > limit, rung.rung
        else:
            assert rung.memory == total(fitting[0][1]), rung.rung


def _height(name: str, place: tuple[int, ...]) -> int:
    """How many rungs of settings and axes a place has climbed: the last one it uses."""
    *sizes, again, shard = place
    settings = len(SHARDING[name]) - 1, len(RECOMPUTATION[name]) - 1
    for index, size in enumerate(sizes):
        if size > 1:
            return sum(settings) + len(sizes) - index
    return settings[0] + again if again else shard


def _heights(name: str, answer: Advice) -> dict[str, int]:
    """The place of each rung, pipelines that cannot run left out."""
    has = [rung.rung for rung in answer.rungs if not (name == "halo" and rung.rung == "PP")]
    return {rung: index for index, rung in enumerate(has)}


def test_every_rung_is_told_and_the_climb_ends_at_the_first_that_fits() -> None:
    answer = advised(
        profile="generic", model="qwen3-30b-a3b", world_size=16, gpu="h100", seq_len=32768
    )
    ladder = LADDERS["generic"]
    assert [r.rung for r in answer.rungs] == [ladder.base, *(r.name for r in ladder.rungs)]
    states = [rung.state for rung in answer.rungs]
    assert states.count("fits") == 1
    assert set(states[: states.index("fits")]) == {"over"}
    assert set(states[states.index("fits") + 1 :]) == {"unneeded"}
    for below, rung in zip(answer.rungs, climbed(answer)[1:], strict=False):
        assert rung.before == below.memory


def test_a_model_without_experts_has_no_rung_for_them() -> None:
    answer = advised(model="llama-3-8b", world_size=8, gpu="h100", seq_len=4096)
    told = {rung.rung: rung for rung in answer.rungs}
    assert told["EP"].state == told["expert TP"].state == "impossible"
    assert "no routed experts" in told["EP"].why


def test_a_rung_that_the_framework_forbids_names_what_forbids_it() -> None:
    answer = advised(model="llama-3-8b", world_size=16, gpu="h100", seq_len=4096)
    (pipeline,) = (rung for rung in answer.rungs if rung.rung == "PP")
    assert pipeline.state == "impossible"
    assert pipeline.why.startswith("pp-release-gate: ")
    answer = advised(
        model="llama-3-70b", world_size=16, gpu="h100", seq_len=4096, gpu_memory="16GiB",
        assume_pp=True,
    )  # fmt: skip
    (pipeline,) = (rung for rung in answer.rungs if rung.rung == "PP")
    assert pipeline.state in {"idle", "over"}


def test_a_rung_that_no_valid_configuration_uses_says_why() -> None:
    """With 13 heads nothing splits them over the GPUs of a node."""
    answer = advised(
        profile="generic",
        model="llama-3-70b",
        world_size=8,
        gpu="h100",
        seq_len=4096,
        num_attention_heads=[13],
        num_key_value_heads=[13],
        hidden_size=8320,
    )
    told = {rung.rung: rung for rung in answer.rungs}
    assert told["TP"].state == "idle"
    assert told["TP"].why == "refused by heads-not-divisible-by-tp, kv-heads-not-shared-equally"
    assert told["PP"].why == "there must be several nodes: num_nodes > 1"
    assert told["CP"].why == "sequences must be long: seq_length > 8192"


def test_where_nothing_fits_more_gpus_are_named() -> None:
    question: dict[str, Any] = {
        "profile": "generic", "model": "llama-3-70b", "gpu": "h100", "seq_len": 4096,
    }  # fmt: skip
    answer = advised(world_size=8, **question)
    assert answer.status == "nothing-fits"
    assert answer.advised is None
    assert answer.enough == 32
    assert answer.memory is not None
    assert answer.memory.state == "over"
    assert advised(world_size=16, **question).status == "nothing-fits"
    assert advised(world_size=32, **question).status == "advised"


def test_nothing_is_valid_on_a_world_that_the_rules_refuse() -> None:
    answer = advised(model="llama-3-8b", world_size=12, gpu="h100", seq_len=4096)
    assert answer.status == "nothing-fits"
    assert answer.memory is None
    assert answer.enough is None
    assert all(rung.state in {"idle", "impossible"} for rung in answer.rungs)
    assert "world-not-multiple-of-node" in answer.rungs[0].why


def test_what_fits_against_the_guide_only_is_named_as_that() -> None:
    """CP splits sequences of 4,096 tokens where nothing else is left."""
    answer = advised(
        model="llama-3-70b", world_size=8, gpu="h100", seq_len=4096, requested_global_batch=64
    )
    assert answer.status == "outside-guide"
    assert answer.advised is not None
    assert answer.advised.config["cp_size"] == 2
    assert [found.pattern for found in answer.anti_patterns] == ["cp-without-long-sequences"]
    assert all(rung.state != "fits" for rung in answer.rungs)


def test_a_spent_time_limit_is_no_advice() -> None:
    answer = parsolve.advise(
        model="llama-3-8b", world_size=8, gpu="h100", seq_len=4096, timeout=1e-9
    )
    assert isinstance(answer, Undecided)


def test_what_z3_does_not_confirm_is_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parsolve.solver.advise.advise.whole", lambda *_: (False, 0))
    answer = parsolve.advise(model="llama-3-8b", world_size=8, gpu="h100", seq_len=8192)
    assert isinstance(answer, Undecided)
    assert answer.reason.startswith("Z3 did not decide")


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"model": "llama-3-8b", "seq_len": 4096}, "give --gpu or --gpu-memory"),
        ({"gpu": "h100", "seq_len": 4096}, "give --model"),
        ({"profile": "megatron", "gpu": "h100", "model": "llama-3-8b"}, "give --seq-length"),
        (
            {"profile": "torchtitan", "gpu": "h100", "model": "llama-3-8b"},
            "the torchtitan profile has no ladder",
        ),
        (
            {"gpu": "h100", "model": "llama-3-8b", "seq_len": 4096, "symptom": "noise"},
            "no symptom 'noise'; there are: oom, slow,",
        ),
    ],
)
def test_misuse_says_what_to_give(question: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        parsolve.advise(world_size=8, **question)


# --- a stated configuration -------------------------------------------------------------------

PATTERNS: dict[str, dict[str, Any]] = {
    "tp-before-sharding": {"tp_size": 4, "zero_stage": "1"},
    "tp-across-domains": {"tp_size": 16},
    "pp-inside-one-node": {"world_size": 8, "pp_size": 2, "requested_global_batch": 512},
    "pp-short-of-microbatches": {"pp_size": 4, "requested_global_batch": 32},
    "ep-beyond-experts": {"ep_size": 256, "world_size": 256},
    "ep-without-experts": {"ep_size": 2, "model": "llama-3-8b"},
    "ep-across-domains": {"ep_size": 16},
    "cp-without-long-sequences": {"cp_size": 2},
    "zero-at-dp-1": {"tp_size": 8, "pp_size": 4, "requested_global_batch": 512},
}
"""Each with the least that does it on 32 GPUs under the generic profile."""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_anti_pattern_is_named_with_its_numbers(pattern: str) -> None:
    """Valid or not; and not where the plain configuration is stated."""
    question: dict[str, Any] = {
        "profile": "generic", "model": "qwen3-30b-a3b", "gpu": "h100", "seq_len": 4096,
        "world_size": 32,
    }  # fmt: skip
    answer = advised(**question | PATTERNS[pattern])
    assert answer.current is not None
    found = {each.pattern: each for each in answer.current.anti_patterns}
    assert pattern in found
    (own,) = (each for each in LADDERS["generic"].anti_patterns if each.id == pattern)
    assert re.search(r"= ", found[pattern].because)
    if not answer.current.violated:
        assert found[pattern].numbers.keys() == {*own.numbers}
    plain = advised(**question, tp_size=1)
    assert plain.current is not None
    assert not plain.current.anti_patterns


OTHERS: dict[str, dict[str, dict[str, Any]]] = {
    "halo": {
        "tp-across-domains": {"tp_size": 16},
        "pp-inside-one-node": {"world_size": 8, "pp_size": 2, "assume_pp": True},
        "pp-short-of-microbatches": {"pp_size": 2, "assume_pp": True},
        "ep-beyond-experts": {"ep_size": 256, "world_size": 256},
        "ep-without-experts": {"ep_size": 2, "model": "llama-3-8b"},
        "ep-across-domains": {"ep_size": 16},
        "cp-without-long-sequences": {"cp_size": 2},
        "zero-at-dp-1": {"world_size": 1, "fsdp_reshard_after_forward": True},
    },
    "megatron": {
        **PATTERNS,
        "tp-before-sharding": {"tp_size": 4},
        "zero-at-dp-1": {"tp_size": 8, "pp_size": 4, "distributed_optimizer": True},
    },
}


@pytest.mark.parametrize(
    ("name", "pattern"), [(name, pattern) for name, each in OTHERS.items() for pattern in each]
)
def test_other_profiles_name_theirs(name: str, pattern: str) -> None:
    """Each has a formula over its own fields."""
    question: dict[str, Any] = {
        "profile": name, "model": "qwen3-30b-a3b", "gpu": "h100", LENGTH[name]: 4096,
        "world_size": 32,
    }  # fmt: skip
    answer = advised(**question | OTHERS[name][pattern])
    assert answer.current is not None
    assert pattern in {each.pattern for each in answer.current.anti_patterns}
    plain = advised(**question, ep_size=1)
    assert plain.current is not None
    assert pattern not in {each.pattern for each in plain.current.anti_patterns}
    assert OTHERS[name].keys() == {each.id for each in LADDERS[name].anti_patterns}


def test_every_anti_pattern_is_tried() -> None:
    names = {pattern.id for ladder in LADDERS.values() for pattern in ladder.anti_patterns}
    assert names == PATTERNS.keys()


def test_the_bubble_of_a_starved_pipeline_is_its_formula() -> None:
    """Four stages and four micro-batches: 3 of 7 parts of the step."""
    answer = advised(
        profile="generic", model="llama-3-8b", gpu="h100", seq_len=4096, world_size=32,
        pp_size=4, requested_global_batch=32,
    )  # fmt: skip
    assert answer.current is not None
    (found,) = answer.current.anti_patterns
    assert found.pattern == "pp-short-of-microbatches"
    assert found.numbers == {"bubble": 428, "microbatches": 4}
    assert found.because.startswith("pp_size = 4 > 1, ")
    assert found.because.endswith(" = 4 < 4 * pp_size = 16")


def test_a_stated_rung_that_is_not_needed_is_called_so() -> None:
    """Each step down is accepted and fits by itself, and costs less."""
    question: dict[str, Any] = {
        "profile": "megatron", "model": "qwen3-30b-a3b", "gpu": "h100", "seq_len": 32768,
        "world_size": 32, "requested_global_batch": 16, "expert_tp_size": 1,
        "distributed_optimizer": True, "sequence_parallel": True,
    }  # fmt: skip
    shape = {"tp_size": 4, "pp_size": 4, "ep_size": 8, "cp_size": 2}
    answer = advised(**question, **shape)
    assert answer.current is not None
    rungs = [move.rung for move in answer.current.needless]
    assert rungs == ["CP", "EP", "PP", "TP"]
    for move in answer.current.needless:
        changed = question | shape | move.change
        check = parsolve.check(
            profile="megatron", model="qwen3-30b-a3b", gpu="h100",
            **{k: v for k, v in changed.items() if k not in {"profile", "model", "gpu"}},
        )  # fmt: skip
        assert check.answer == "accepted", move.change
        assert check.memory is not None
        assert check.memory.bytes["total"] == move.memory


def test_how_a_stated_axis_is_used_does_not_bind_the_climb() -> None:
    """Virtual stages of a stated pipeline are refused without one, and are no question then."""
    question: dict[str, Any] = {
        "profile": "megatron", "model": "llama-3.1-8b", "gpu": "h100", "seq_len": 4096,
        "world_size": 16, "requested_global_batch": 128,
    }  # fmt: skip
    answer = advised(**question, pp_size=4, virtual_stages=2)
    assert answer.current is not None
    assert answer.current.config == {"pp_size": 4, "virtual_stages": 2}
    plain = advised(**question)
    assert answer.rungs == plain.rungs
    assert answer.settings == plain.settings
    assert answer.checks == plain.checks


@pytest.mark.parametrize("name", LADDERS)
def test_an_axis_that_the_model_has_not_is_part_of_what_was_stated(name: str) -> None:
    """And of no advice: on a dense model EP is refused, named, and left out."""
    answer = advised(
        profile=name,
        model="llama-3-8b",
        gpu="h200",
        world_size=8,
        ep_size=2,
        **{LENGTH[name]: 4096},
    )
    assert answer.current is not None
    assert answer.current.config["ep_size"] == 2
    assert [found.pattern for found in answer.current.anti_patterns] == ["ep-without-experts"]
    assert answer.advised is not None
    assert answer.advised.config["ep_size"] == 1


def test_nothing_stated_is_no_current_configuration() -> None:
    answer = advised(model="llama-3-8b", gpu="h100", seq_len=4096, world_size=8)
    assert answer.current is None


# --- symptoms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LADDERS)
@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_every_move_relieves_the_symptom(name: str, symptom: SymptomName) -> None:
    """What it promises is what its configuration comes to."""
    profile = PROFILES[name]
    given: dict[str, Any] = {
        "world_size": 32, LENGTH[name]: 16384, "ep_size": 8, "requested_global_batch": 64,
    }  # fmt: skip
    given |= RECOMPUTATION[name][-1]
    if name == "megatron":
        given["distributed_optimizer"] = True
    if name != "halo":
        given |= {"pp_size": 2, "expert_tp_size": 1}
    answer = advised(profile=name, model="qwen3-30b-a3b", gpu="b200", symptom=symptom, **given)
    found = answer.diagnosis
    assert found is not None
    assert found.of == "current"
    if name == "halo" and symptom == "bubbles":
        assert not found.moves
        assert found.found == ("there is no pipeline, so nothing idles in its bubble",)
        return
    (data,) = (each for each in LADDERS[name].symptoms if each.name == symptom)
    facts = with_facts(profile, given, "qwen3-30b-a3b", "b200", [32], needs_size=True)
    config = profile.config(facts)
    now = found.numbers[found.measure]
    known = {**profile.filled(config.values), **profile.derive(config.values)}
    assert now == known[found.measure]
    assert found.moves
    for move in found.moves:
        changed = config.replaced({**move.change, "gpu_memory": None})
        assert changed.accepted(), move.change
        assert total(changed) == move.memory
        after = {**profile.filled(changed.values), **profile.derive(changed.values)}
        then = after[found.measure]
        assert move.numbers[found.measure] == then
        if data.per:  # the same work: a smaller batch has less of everything
            then, now_ = then * known[data.per], now * after[data.per]
        else:
            now_ = now
        assert then > now_ if data.rises else then < now_, move.change
        assert data.climbs or move.state != "over" or move.memory <= total(config)


def batch(config: Config) -> int:
    """Samples of a step."""
    known = {**config.profile.filled(config.values), **config.profile.derive(config.values)}
    found: int = known["global_batch"]
    return found


@pytest.mark.parametrize(("name", "width"), [("generic", 2), ("megatron", 4)])
def test_sharded_gradients_are_reduced_for_every_micro_batch(name: str, width: int) -> None:
    """Whole ones wait for the last: ZeRO-1 sends the same, however many are accumulated."""
    profile, ladder = PROFILES[name], LADDERS[name]
    facts = {"world_size": 8, LENGTH[name]: 4096, "micro_batch": 1}
    sent = {
        (rung.name, samples): total_sent(
            profile.config(
                with_facts(
                    profile,
                    {
                        **facts,
                        **{knob.name: value for knob, value in rung.sets},
                        "requested_global_batch": samples,
                    },
                    "llama-3-8b",
                )
            )
        )
        for rung in ladder.rungs[:2]
        for samples in (8, 32)
    }
    assert sent["ZeRO-1", 8] == sent["ZeRO-1", 32] == sent["ZeRO-2", 8]
    gradients = width * 8_030_261_248
    assert sent["ZeRO-2", 32] - sent["ZeRO-2", 8] == pytest.approx(3 * gradients * 7 / 8, rel=1e-6)


def total_sent(config: Config) -> int:
    found: int = config.profile.filled(config.values)["comm_volume_dp"]
    return found


def test_what_sends_least_is_what_brute_force_finds() -> None:
    profile = PROFILES["generic"]
    given: dict[str, Any] = {"world_size": 16, "seq_length": 16384}
    facts = with_facts(profile, given, "qwen3-30b-a3b", "h100", [16], needs_size=True)
    limit = profile.config(facts)["gpu_memory"]
    sent = min(
        Fraction(profile.filled(config.values)["comm_volume"], batch(config))
        for _, config in everything(profile, facts)
        if total(config) <= limit and config["expert_tp_size"] == 1
    )
    answer = advised(
        profile="generic", model="qwen3-30b-a3b", gpu="h100", symptom="slow", tp_size=8, **given
    )
    assert answer.diagnosis is not None
    assert answer.diagnosis.least is not None
    numbers = answer.diagnosis.least.numbers
    assert Fraction(numbers["comm_volume"], numbers["global_batch"]) == sent


@pytest.mark.parametrize(("name", "model"), [("halo", "llama-3-8b"), ("megatron", "llama-3-8b")])
def test_what_makes_the_batch_small_is_not_called_lighter(name: str, model: str) -> None:
    """TP over all GPUs sends fewer bytes a step, and of one sample instead of eight."""
    facts: dict[str, Any] = {"world_size": 8, LENGTH[name]: 4096}
    wide = {"tp_size": 8, **({"sequence_parallel": True} if name == "megatron" else {})}
    profile = PROFILES[name]
    plain, split = (
        profile.config(with_facts(profile, {**facts, **axes}, model, "h100", [8], needs_size=True))
        for axes in ({}, wide)
    )
    sent = [profile.filled(each.values)["comm_volume"] for each in (plain, split)]
    assert sent[1] < sent[0]
    assert sent[1] * batch(plain) > sent[0] * batch(split)
    answer = advised(profile=name, model=model, gpu="h100", **facts)
    assert answer.lighter is None or answer.lighter.change.get("tp_size", 1) == 1


def test_out_of_memory_says_what_takes_it_and_the_cheapest_cure() -> None:
    """Parts in falling order; the first rung that frees enough is the one of the climb."""
    answer = advised(
        profile="generic", model="llama-3-8b", gpu="h100", seq_len=8192, world_size=8,
        zero_stage="2", symptom="oom",
    )  # fmt: skip
    assert answer.diagnosis is not None
    parts, *rest = answer.diagnosis.found
    assert not rest
    sizes = [float(text) for text in re.findall(r"([0-9.]+) GiB", parts)]
    assert sizes == sorted(sizes, reverse=True)
    rungs = [move for move in answer.diagnosis.moves if move.rung]
    first = next(move for move in rungs if move.state != "over")
    assert first.rung == "ZeRO-3"


def test_out_of_memory_where_nothing_fits_and_a_size_follows_another() -> None:
    """Expert TP is unset, which means the size of TP."""
    answer = advised(
        profile="megatron", model="qwen3-235b-a22b", gpu="h200", seq_len=1, world_size=12,
        symptom="oom",
    )  # fmt: skip
    assert answer.status == "nothing-fits"
    assert answer.diagnosis is not None
    assert answer.diagnosis.of == "current"


def test_a_refused_configuration_is_to_be_mended_first() -> None:
    """Nothing else is tried from it."""
    answer = advised(
        profile="megatron", model="qwen3-30b-a3b", gpu="h100", seq_len=4096, world_size=16,
        tp_size=2, symptom="slow",
    )  # fmt: skip
    assert answer.diagnosis is not None
    assert "experts-with-tp-without-sequence-parallel" in answer.diagnosis.found[0]
    assert not answer.diagnosis.moves


def test_without_a_stated_configuration_the_advised_one_is_looked_at() -> None:
    answer = advised(model="qwen3-30b-a3b", gpu="h100", seq_len=32768, world_size=16, symptom="oom")
    assert answer.diagnosis is not None
    assert answer.diagnosis.of == "advised"
    assert answer.memory is not None
    assert answer.diagnosis.numbers["memory_per_gpu"] == answer.memory.bytes["total"]


# --- what to do before the next rung ----------------------------------------------------------


@pytest.mark.parametrize("name", LADDERS)
def test_the_two_runs_that_must_agree_are_one_model(name: str) -> None:
    """The split one is the advised grid, the unsplit one has one GPU and the same batch."""
    profile = PROFILES[name]
    answer = advised(
        profile=name, model="qwen3-30b-a3b", gpu="h100", seq_len=32768, world_size=16,
        requested_global_batch=32,
    )  # fmt: skip
    same, measure = answer.checks
    assert (same.check, measure.check) == ("same-step", "measure")
    assert same.split is not None
    assert same.unsplit is not None
    assert answer.advised is not None
    split, unsplit = (
        profile.config({k: list(v) if isinstance(v, tuple) else v for k, v in run.config.items()})
        for run in (same.split, same.unsplit)
    )
    assert split.accepted()
    assert unsplit.accepted()
    assert split["world_size"] == 16
    assert unsplit["world_size"] == 1
    ladder = LADDERS[name]
    for knob, start in ladder.start.items():
        assert split[knob] == answer.advised.config.get(knob, profile.field_of[knob].default)
        assert unsplit[knob] == start
    for config in (split, unsplit):
        assert config["num_hidden_layers"] == same.layers == 2
        assert config["num_moe_layers"] == 2
        assert {**profile.filled(config.values), **profile.derive(config.values)}[
            "global_batch"
        ] == 32
    assert total(unsplit) < 80 * GIB


def test_a_model_of_which_no_layers_fit_one_gpu_has_no_unsplit_run() -> None:
    """One layer of its experts alone is too big."""
    answer = advised(
        profile="megatron", model="deepseek-v3", gpu="h100", seq_len=4096, world_size=1024,
        requested_global_batch=4096,
    )  # fmt: skip
    assert answer.checks[0].split is None
    assert answer.checks[0].unsplit is None


def test_advice_reads_back_as_json() -> None:
    answer = advised(model="qwen3-30b-a3b", gpu="h100", seq_len=32768, world_size=16)
    assert '"answer": "advice"' in to_json(answer)


def test_a_pattern_holds_by_its_formula() -> None:
    """What an answer names is what the data say."""
    profile = PROFILES["generic"]
    config = profile.config({"world_size": 32, "tp_size": 16})
    names = [
        p.id for p in LADDERS["generic"].anti_patterns if holds(profile, p.when, config.values)
    ]
    assert names == ["tp-across-domains"]
