"""Memory in every answer: does it fit, what would make it fit, what is best that fits, and why not.

Everything is compared with plain loops over the knobs, and `Profile.accepts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import combinations, pairwise, product
from typing import Any as Anything

import pytest

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import GIB, FieldError
from parsolve.constraints.halo import HALO
from parsolve.constraints.profile import Config, holds
from parsolve.solver.answer import Best, Conflict, Rejected, Solutions, Undecided, as_data
from parsolve.solver.check import check
from parsolve.solver.deadline import Deadline
from parsolve.solver.huggingface import read_model_facts
from parsolve.solver.memory import memory, state, usage
from parsolve.solver.query import Query, QueryError
from parsolve.solver.relax import releasable, widened
from parsolve.solver.repair import repairs
from parsolve.solver.solve import best, solutions
from parsolve.solver.where import ConditionError, parse_condition
from tests.solver.questions import question

BOUND = "memory-exceeds-gpu"
Given = dict[str, Anything]


@cache
def model(name: str) -> Mapping[str, Anything]:
    """What a run of this model states of it."""
    facts = read_model_facts(name)
    return {**facts.fields, **{field: size for field, size in facts.memory().items() if size}}


LLAMA: Given = {**model("llama-3-8b"), "max_length": 8192, "gpus_per_node": 8}
QWEN: Given = {**model("qwen3-30b-a3b"), "max_length": 4096, "gpus_per_node": 8}


def config(world: int, **given: Anything) -> Config:  # noqa: ANN401 - values of any field
    return HALO.config({**LLAMA, "world_size": world, **given})


def total(values: Values) -> int:
    """Memory of the fullest GPU in bytes."""
    size = HALO.filled(values)["memory_per_gpu"]
    assert isinstance(size, int)
    return size


# One configuration.

TOTAL = 74_850_089_728
"""LLaMA 3 8B on 8 GPUs at 8,192 tokens; what `tests/constraints/test_halo_memory` computes."""


@pytest.mark.parametrize(
    ("limit", "word"),
    [
        (TOTAL - 1, "over"),
        (TOTAL, "near"),
        # 95% of 78,789,568,134 is 74,850,089,727.3; of one byte more it is enough
        (78_789_568_134, "near"),
        (78_789_568_135, "fits"),
        (10**18, "fits"),
        (2**20, "over"),
    ],
)
def test_a_state_changes_at_the_very_byte(limit: int, word: str) -> None:
    assert total(config(8).values) == TOTAL
    assert state(TOTAL, limit) == word
    answer = memory(config(8, gpu_memory=limit))
    assert (answer.state, answer.limit, answer.bytes["total"]) == (word, limit, TOTAL)
    verdict = check(config(8, gpu_memory=limit))
    assert verdict.answer == ("rejected" if word == "over" else "accepted")
    assert verdict.memory is not None
    assert (verdict.memory.state, verdict.memory.bytes) == (word, answer.bytes)


def test_without_a_bound_there_is_no_state_and_nothing_to_repair() -> None:
    answer = memory(config(8))
    assert (answer.state, answer.limit, answer.repairs, answer.status) == (
        None,
        None,
        None,
        "known",
    )
    data = as_data(answer)
    assert data["limit"] is None
    assert data["state"] is None
    assert "repairs" not in data


def test_parts_are_those_of_the_account_and_add_up() -> None:
    sizes = memory(config(8)).bytes
    parts = ("parameters", "gradients", "optimizer", "activations", "loss", "buffers", "reserve")
    assert tuple(sizes) == (*parts, "allocated", "total")
    assert sum(sizes[part] for part in parts) == sizes["total"]
    assert sizes["allocated"] + sizes["reserve"] == sizes["total"]
    assert sizes["parameters"] == 2 * 8_030_261_248 + 2 * 8_030_261_248 // 8
    assert sizes["optimizer"] == 4 * 8_030_261_248 // 8


def test_what_nobody_said_is_told() -> None:
    window = {key: value for key, value in LLAMA.items() if key != "max_length"}
    bare = HALO.config({**window, "world_size": 8})
    assert memory(bare).assumed == (
        "micro-batch 1",
        "sequences as long as the model's context window",
        "no gradient accumulation",
    )
    said = config(8, per_device_train_batch_size=1, gradient_accumulation_steps=1)
    assert memory(said).assumed == ()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "the model's size is missing: it decides weights"),
        (LLAMA | {"max_length": None, "max_position_embeddings": None}, "the length of its"),
        (LLAMA | {"use_peft": True}, "the rank of its adapters is missing"),
        (LLAMA | {"tp_size": 3}, "while these rules are violated: "),
        (LLAMA | {"pp_size": 3}, "while these rules are violated: "),
    ],
)
def test_unknown_memory_says_why(given: Given, says: str) -> None:
    one = HALO.config({"world_size": 8, **given})
    assert usage(one) is None
    with pytest.raises(QueryError) as caught:
        memory(one)
    assert says in str(caught.value)


def test_a_refused_configuration_whose_memory_is_known_names_the_rules() -> None:
    answer = memory(config(8, tp_size=2, cp_size=2))
    assert answer.violated == ("axis-set-unsupported",)
    assert memory(config(8)).violated == ()
    over = memory(config(8, gpu_memory=40))
    assert over.violated == ()


def test_a_check_tells_the_bound_after_the_framework_s_own_verdict() -> None:
    answer = check(config(8, tp_size=2, cp_size=2, gpu_memory=10))
    assert isinstance(answer, Rejected)
    told = [violation.rule for violation in answer.violations]
    assert told == ["axis-set-unsupported", BOUND]
    size = answer.memory
    assert size is not None
    said = answer.violations[-1].because
    assert said == f"memory_per_gpu = {size.bytes['total'] / GIB:.2f} GiB > gpu_memory = 10.00 GiB"


# Repairs.

SHORT_OF_MEMORY: tuple[tuple[int, Given], ...] = (
    (8, {"gpu_memory": 64}),
    (8, {"gpu_memory": 40}),
    (8, {"gpu_memory": 40, "per_device_train_batch_size": 8}),
    (16, {"gpu_memory": 30, "use_hsdp": True}),
    (8, {"gpu_memory": 24, "tp_size": 2}),
    (8, {"gpu_memory": 12}),
    (8, {"gpu_memory": 3}),
)


@pytest.mark.parametrize(("world", "given"), SHORT_OF_MEMORY)
def test_repairs_fit_and_are_accepted_and_change_knobs_alone(world: int, given: Given) -> None:
    one = config(world, **given)
    assert [HALO.limits[index].id for index in HALO.violated(one.values)] == [BOUND]
    found = repairs(one)
    assert found.complete
    for change in found.changes:
        mended = one.replaced(change)
        assert HALO.accepts(mended.values)
        assert total(mended.values) <= one["gpu_memory"]
        assert all(HALO.field_of[name].role == "knob" for name in change)
        assert all(one[name] != value for name, value in change.items())
    shown = memory(one, shown_repairs=2).repairs
    assert shown is not None
    assert [dict(repair.change) for repair in shown] == [dict(c) for c in found.changes[:2]]


LEVERS: Mapping[str, tuple[Anything, ...]] = {
    "gradient_checkpointing": (False, True),
    "fsdp_reshard_after_forward": (False, True),
    "fsdp_shard_ep1_experts": (False, True),
    "fsdp_defer_grad_sync": (False, True),
    "use_hsdp": (False, True),
    "fused_linear_cross_entropy": (False, True),
    "tp_size": (1, 2, 4, 8, 16),
    "cp_size": (1, 2, 4, 8, 16),
    "ep_size": (1, 2, 4, 8, 16),
    "expert_tp_size": (1, 2, 4, 8, 16),
    "pp_size": (1, 2, 4, 8, 16),
    "per_device_train_batch_size": (1, 2, 3, 4, 5, 6, 7, 8),
}


def mending(one: Config, changes: int) -> Iterator[frozenset[str]]:
    """Sets of so many levers that make the configuration fit, by brute force."""
    for names in combinations(LEVERS, changes):
        if any(name == "per_device_train_batch_size" and one[name] is None for name in names):
            continue
        for values in product(*(LEVERS[name] for name in names)):
            if any(one[n] == value for n, value in zip(names, values, strict=True)):
                continue
            if any(one["world_size"] % v for v in values if v is not True and v):
                continue
            if HALO.accepts(one.replaced(dict(zip(names, values, strict=True))).values):
                yield frozenset(names)
                break


@pytest.mark.parametrize(("world", "given"), SHORT_OF_MEMORY[:6])
def test_no_repair_needs_fewer_changes(world: int, given: Given) -> None:
    one = config(world, **given)
    changes = repairs(one).changes
    size = len(changes[0]) if changes else 3
    assert all(len(change) == size for change in changes)
    for fewer in range(1, size):
        assert not list(mending(one, fewer))
    if changes:
        assert {frozenset(change) for change in changes} <= set(mending(one, size))
        switches = {frozenset([n]) for n in LEVERS if LEVERS[n] == (False, True)}
        if size == 1:
            missed = set(mending(one, 1)) & switches - {frozenset(c) for c in changes}
            assert not missed


def test_the_first_repairs_of_what_is_too_long_for_40_gib() -> None:
    """By hand: 34 GB of activations go with checkpointing, 12 GB stay with two ranks of CP."""
    changes = [dict(change) for change in repairs(config(8, gpu_memory=40)).changes]
    assert {"gradient_checkpointing": True} in changes
    assert {"cp_size": 4} in changes
    assert {"cp_size": 2} not in changes


def test_what_no_gpu_of_that_size_can_hold_has_no_repair() -> None:
    """3 GiB: the optimizer's states alone take 4 GB, sharded as far as 8 GPUs go."""
    assert repairs(config(8, gpu_memory=3)).changes == ()
    assert memory(config(8, gpu_memory=3)).repairs == ()
    assert memory(config(8, gpu_memory=40), shown_repairs=0).repairs is None


def test_two_switches_are_found_among_the_sizes_of_a_large_cluster() -> None:
    given = {**model("deepseek-v3"), "max_length": 4096, "gpus_per_node": 8}
    one = HALO.config({**given, "world_size": 100_800, "gpu_memory": 100})
    changes = [dict(change) for change in repairs(one).changes]
    assert {"gradient_checkpointing": True, "fsdp_reshard_after_forward": True} in changes


def test_a_search_that_was_cut_short_does_not_say_that_there_is_nothing() -> None:
    given = {**model("deepseek-v3"), "max_length": 4096, "gpus_per_node": 8}
    one = HALO.config({**given, "world_size": 100_800, "gpu_memory": 30})
    assert not repairs(one).complete
    answer = memory(one)
    assert answer.repairs_complete is False
    assert memory(config(8, gpu_memory=40)).repairs_complete is None
    assert memory(config(8, gpu_memory=3)).repairs_complete is None


# All that fits, and the best of it.

Row = tuple[Values, dict[str, Anything]]


def every(
    worlds: tuple[int, ...], given: Given, vary: Mapping[str, tuple[Anything, ...]]
) -> Iterator[Row]:
    """Everything accepted, with all numbers known of it, by plain loops."""
    experts = given.get("model_kind") == "moe"
    axes = ("pp_size", "tp_size", "cp_size", "expert_tp_size", "ep_size")
    for world in worlds:
        sizes = [size for size in range(1, world + 1) if world % size == 0]
        loops: list[tuple[Anything, ...]] = []
        for axis in axes:
            only_one = axis in given or (axis in axes[3:] and not experts)
            loops.append((given.get(axis, 1),) if only_one else tuple(sizes))
        loops.append((given["ep_scope"],) if "ep_scope" in given else ("auto", "node", "global"))
        loops += vary.values()
        base = HALO.config({**given, "world_size": world})
        for chosen in product(*loops):
            one = base.replaced(dict(zip((*axes, "ep_scope", *vary), chosen, strict=True)))
            group = one["ep_size"] * one["expert_tp_size"]
            if "ep_scope" not in given and one["ep_scope"] != "auto":
                auto = HALO.derive(one.replaced({"ep_scope": "auto"}).values)["ep_scope"]
                if group == 1 or one["ep_scope"] == auto:
                    continue  # another spelling of auto
            if HALO.accepts(one.values):
                yield one.values, {**HALO.derive(one.values), **HALO.filled(one.values)}


def found(answer: Solutions | Best) -> list[Values]:
    return [HALO.config(row.config).values for row in answer.solutions]


def listed(query: Query) -> Solutions:
    answer = solutions(query)
    assert isinstance(answer, Solutions), answer
    return answer


def optimum(query: Query) -> Best:
    answer = best(query)
    assert isinstance(answer, Best), answer
    return answer


def proved(answer: Solutions | Best) -> bool:
    certificate = answer.certificate
    return (
        certificate is not None
        and certificate.status == certificate.divisors == "proved"
        and "what is asked of memory" in certificate.claim
    )


Condition = Callable[[dict[str, Anything]], bool]

LISTINGS: tuple[
    tuple[tuple[int, ...], Given, dict[str, tuple[Anything, ...]], str, Condition], ...
] = (
    ((8,), LLAMA | {"gpu_memory": 60}, {}, "", lambda _: True),
    ((8,), LLAMA | {"gpu_memory": 60, "assume_pp": True}, {}, "", lambda _: True),
    (
        (16,),
        LLAMA | {"gpu_memory": 30},
        {"gradient_checkpointing": (False, True), "use_hsdp": (False, True)},
        "",
        lambda _: True,
    ),
    ((8,), QWEN | {"gpu_memory": 110, "assume_pp": True}, {}, "", lambda _: True),
    (
        (16,),
        QWEN | {"gpu_memory": 64},
        {"fsdp_reshard_after_forward": (False, True)},
        "",
        lambda _: True,
    ),
    ((8,), LLAMA, {}, "memory <= 50GiB", lambda n: n["memory_per_gpu"] <= 50 * GIB),
    (
        (8, 12, 16),
        LLAMA | {"gpu_memory": 60, "gpus_per_node": 4},
        {},
        "headroom > 20GiB and dp > 1",
        lambda n: n["headroom"] > 20 * GIB and n["data_parallel_size"] > 1,
    ),
    (
        (16,),
        QWEN | {"gpu_memory": 80},
        {},
        "activations_bytes > parameters_bytes",
        lambda n: n["activations_bytes"] > n["parameters_bytes"],
    ),
    (
        (8,),
        LLAMA | {"gpu_memory": 60},
        {"per_device_train_batch_size": (1, 2, 4, 8, 16, 32, 64)},
        "peaks_at_loss",
        lambda n: n["peaks_at_loss"],
    ),
    (
        (8,),
        LLAMA | {"gpu_memory": 80},
        {"precision_policy": ("bf16", "mixed-adam", "megatron", "fp32", "8bit-adam")},
        "memory <= 70GiB",
        lambda n: n["memory_per_gpu"] <= 70 * GIB,
    ),
)


@pytest.mark.parametrize(("worlds", "given", "vary", "where", "holds_at"), LISTINGS)
def test_a_listing_is_all_that_fits(
    worlds: tuple[int, ...],
    given: Given,
    vary: dict[str, tuple[Anything, ...]],
    where: str,
    holds_at: Condition,
) -> None:
    answer = listed(question(*worlds, where=where or (), vary=list(vary), **given))
    everything = [values for values, known in every(worlds, given, vary) if holds_at(known)]
    assert everything
    assert sorted(map(repr, found(answer))) == sorted(map(repr, everything))
    assert answer.complete
    assert answer.count == len(everything)
    assert proved(answer)
    for row, values in zip(answer.solutions, found(answer), strict=True):
        assert row.derived["memory_per_gpu"] == total(values)


Score = Callable[[dict[str, Anything]], tuple[int, ...]]
QUESTIONS: tuple[tuple[tuple[int, ...], Given, list[str], list[tuple[str, bool]], Score], ...] = (
    (
        (8,),
        LLAMA | {"gpu_memory": 60},
        [],
        [("memory", False)],
        lambda n: (-n["memory_per_gpu"],),
    ),
    ((8,), LLAMA, [], [("memory", True)], lambda n: (n["memory_per_gpu"],)),
    (
        (16,),
        QWEN | {"gpu_memory": 80},
        [],
        [("dp", True), ("memory", False)],
        lambda n: (n["data_parallel_size"], -n["memory_per_gpu"]),
    ),
    (
        (8,),
        QWEN | {"gpu_memory": 110, "assume_pp": True},
        ["gradient_checkpointing"],
        [("memory", False), ("dp", True)],
        lambda n: (-n["memory_per_gpu"], n["data_parallel_size"]),
    ),
    (
        (8, 12, 16),
        LLAMA | {"gpu_memory": 40, "gpus_per_node": 4},
        ["use_hsdp"],
        [("headroom", True)],
        lambda n: (n["headroom"],),
    ),
    (
        (16,),
        LLAMA | {"gpu_memory": 40},
        [],
        [("activations_bytes + loss_bytes", False), ("dp", True)],
        lambda n: (-n["activations_bytes"] - n["loss_bytes"], n["data_parallel_size"]),
    ),
    (
        (8,),
        LLAMA | {"gpu_memory": 80},
        ["per_device_train_batch_size", "gradient_checkpointing"],
        [("tokens_per_gpu", True), ("memory", False)],
        lambda n: (n["tokens_per_gpu"], -n["memory_per_gpu"]),
    ),
)
SWITCH = (False, True)
VALUES: Mapping[str, tuple[Anything, ...]] = {
    "gradient_checkpointing": SWITCH,
    "use_hsdp": SWITCH,
    "fsdp_reshard_after_forward": SWITCH,
    "per_device_train_batch_size": (1, 2, 4, 8, 16, 32, 64),
}


@pytest.mark.parametrize(("worlds", "given", "vary", "goals", "score"), QUESTIONS)
def test_the_best_of_what_fits(
    worlds: tuple[int, ...],
    given: Given,
    vary: list[str],
    goals: list[tuple[str, bool]],
    score: Score,
) -> None:
    answer = optimum(question(*worlds, vary=vary, objectives=goals, **given))
    varied = {name: VALUES[name] for name in vary}
    scored = [(score(known), values) for values, known in every(worlds, given, varied)]
    top = max(one for one, _ in scored)
    ties = [values for one, values in scored if one == top]
    assert sorted(map(repr, found(answer))) == sorted(map(repr, ties))
    assert answer.count == len(ties)
    assert answer.optimal
    assert proved(answer)
    signs = [1 if up else -1 for _, up in goals]
    said = [goal.value for goal in answer.objectives]
    assert said == [sign * one for sign, one in zip(signs, top, strict=True)]


FRONTS: tuple[tuple[tuple[int, ...], Given, list[str], list[tuple[str, bool]], Score], ...] = (
    (
        (8,),
        LLAMA | {"gpu_memory": 100},
        ["gradient_checkpointing", "fsdp_reshard_after_forward"],
        [("memory", False), ("dp", True)],
        lambda n: (-n["memory_per_gpu"], n["data_parallel_size"]),
    ),
    (
        (8, 16),
        QWEN,
        [],
        [("memory", False), ("dp", True)],
        lambda n: (-n["memory_per_gpu"], n["data_parallel_size"]),
    ),
    (
        (8,),
        QWEN | {"gpu_memory": 120},
        ["per_device_train_batch_size"],
        [("headroom", True), ("tokens_per_gpu", True), ("dp", True)],
        lambda n: (n["headroom"], n["tokens_per_gpu"], n["data_parallel_size"]),
    ),
)


@pytest.mark.parametrize(("worlds", "given", "vary", "goals", "score"), FRONTS)
def test_a_front_over_memory(
    worlds: tuple[int, ...],
    given: Given,
    vary: list[str],
    goals: list[tuple[str, bool]],
    score: Score,
) -> None:
    answer = optimum(question(*worlds, vary=vary, objectives=goals, pareto=True, **given))
    varied = {name: VALUES[name] for name in vary}
    scored = [(score(known), values) for values, known in every(worlds, given, varied)]
    points = {one for one, _ in scored}
    front = {
        one
        for one in points
        if not any(
            other != one and all(b >= a for a, b in zip(one, other, strict=True))
            for other in points
        )
    }
    on_it = [values for one, values in scored if one in front]
    assert len(front) > 1
    assert sorted(map(repr, found(answer))) == sorted(map(repr, on_it))
    assert answer.pareto
    assert answer.optimal
    assert proved(answer)
    assert all(goal.value is None for goal in answer.objectives)


@pytest.mark.parametrize("given", [LLAMA, QWEN], ids=["dense", "moe"])
def test_a_bound_that_binds_nothing_changes_nothing(given: Given) -> None:
    free = listed(question(8, assume_pp=True, **given))
    roomy = listed(question(8, assume_pp=True, gpu_memory=10**18, **given))
    without = [dict(row.config) for row in free.solutions]
    bounded = [dict(row.config) for row in roomy.solutions]
    assert [{**row, "gpu_memory": 10**18} for row in without] == [
        {**row, "gpu_memory": row["gpu_memory"]} for row in bounded
    ]
    assert [dict(row.derived) for row in free.solutions] == [
        dict(row.derived) for row in roomy.solutions
    ]
    certificate = free.certificate
    assert certificate is not None
    assert "memory" not in certificate.claim


def test_a_tighter_bound_leaves_a_part_of_what_a_wider_one_does() -> None:
    fitting = []
    for limit in (200, 60, 50, 40, 35):
        answer = listed(question(8, assume_pp=True, gpu_memory=limit, **LLAMA))
        free = [Config(HALO, values).replaced({"gpu_memory": None}) for values in found(answer)]
        fitting.append({repr(one.values) for one in free})
    assert all(fewer <= more for more, fewer in pairwise(fitting))
    assert 0 < len(fitting[-1]) < len(fitting[0])


def test_without_a_model_a_question_about_memory_is_misuse() -> None:
    size = "the model's size is missing, which decides weights"
    with pytest.raises(FieldError, match="the model's size is missing"):
        question(8, gpu_memory=80)
    with pytest.raises(QueryError, match=f'"memory" cannot be known: {size}'):
        question(8, objectives=[("memory", False)])
    with pytest.raises(QueryError, match=f'"dp \\* memory > 4GiB" cannot be known: {size}'):
        question(8, where="dp * memory > 4GiB")
    assert question(8, where="global_batch > 4").conditions


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"objectives": [("headroom", True)]}, '"headroom" asks about gpu_memory'),
        ({"where": "headroom > 4GiB"}, "not given; give --gpu-memory"),
        ({"where": "gpu_memory > 40GiB"}, "not given; give --gpu-memory"),
        ({"where": "memory > 4GiB", "use_peft": True}, "the rank of its adapters is missing"),
    ],
)
def test_a_question_about_what_nobody_said_names_the_option(asked: Given, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        question(8, **{**LLAMA, **asked})
    assert says in str(caught.value)


def test_a_limit_of_rows_is_no_whole_listing() -> None:
    query = question(8, gpu_memory=60, **LLAMA)
    answer = solutions(query, limit=1)
    assert isinstance(answer, Solutions)
    assert (answer.count, answer.complete, answer.certificate) == (1, False, None)


@pytest.mark.parametrize("seconds", [0, 1e-9])
def test_out_of_time_is_undecided(seconds: float) -> None:
    for limit in (60, 2):
        query = question(8, objectives=[("dp", True)], gpu_memory=limit, **LLAMA)
        for answer in (
            best(query, deadline=Deadline(seconds)),
            solutions(query, deadline=Deadline(seconds)),
        ):
            assert isinstance(answer, Undecided)
            assert "time limit" in answer.reason


# Sizes in conditions.


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("69GiB", 74_088_185_856),
        ("69.5 GiB", 74_625_056_768),
        ("69.70gib", 74_839_805_132),
        ("69.72 GIB", 74_861_279_969),
        ("74.8GB", 74_800_000_000),
        ("75gb", 75_000_000_000),
        ("0.07 TiB", 76_965_813_944),
        ("0.07TB", 70_000_000_000),
        ("71000MiB", 74_448_896_000),
        ("75000mb", 75_000_000_000),
        ("1000000MB - 900GB", 100_000_000_000),
        ("2 * 35GiB", 75_161_927_680),
        (str(TOTAL), TOTAL),
        (str(TOTAL - 1), TOTAL - 1),
    ],
)
def test_a_size_in_a_condition_is_the_number_of_bytes(text: str, size: int) -> None:
    """By hand: GiB are 2^30, GB 10^9, and a part of a byte is cut off."""
    values = config(8).values
    for relation, is_true in (
        ("<=", size >= TOTAL),
        ("<", size > TOTAL),
        (">", size < TOTAL),
        (">=", size <= TOTAL),
    ):
        formula = parse_condition(HALO, f"memory {relation} {text}")
        assert holds(HALO, formula, values) is is_true
        swapped = {"<=": ">=", "<": ">", ">": "<", ">=": "<="}[relation]
        mirrored = parse_condition(HALO, f"{text} {swapped} memory and dp == 8")
        assert holds(HALO, mirrored, values) is is_true
    one = parse_condition(HALO, f"memory - {text} == {TOTAL} - {text}")
    assert holds(HALO, one, values)


def test_a_negative_size_has_its_unit_too() -> None:
    values = config(8, gpu_memory="64GiB").values
    for text, is_true in (("-5GiB", False), ("-5.7GiB", False), ("-5.72 GiB", True)):
        assert holds(HALO, parse_condition(HALO, f"headroom > {text}"), values) is is_true


@pytest.mark.parametrize(
    ("condition", "column"),
    [
        ("memory <= 40 GiB and nope > 1", 21),
        ("dp > 1.5GiB and memory < nope", 25),
        ("memory < 4.5GiB and 40.5 > dp", 20),
        ("\N{GREEK SMALL LETTER MU} > 1GiB", 0),
    ],
)
def test_a_caret_stands_where_it_would_without_units(condition: str, column: int) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_condition(HALO, condition)
    *_, line, caret = str(caught.value).splitlines()
    assert line == f"  {condition}"
    assert caret == f"  {' ' * column}^"


# Nothing fits.

CONFLICTS: dict[str, tuple[tuple[int, ...], Given]] = {
    "nothing fits whatever else is asked": ((8,), LLAMA | {"gpu_memory": 2}),
    "two pins": ((8,), LLAMA | {"gpu_memory": 40, "tp_size": 1, "cp_size": 1}),
    "a batch": (
        (8,),
        LLAMA | {"gpu_memory": 40, "per_device_train_batch_size": 8, "ep_scope": "node"},
    ),
    "a condition": ((8,), LLAMA | {"gpu_memory": 40, "where": ("dp >= 4", "tp < 8")}),
    "a condition and a pin": (
        (8,),
        LLAMA | {"gpu_memory": 40, "where": ("dp >= 2", "cp <= 4"), "tp_size": 2},
    ),
    "a condition about memory alone": ((8,), LLAMA | {"where": "memory < 5GiB"}),
    "a condition that wants more than the bound": (
        (8,),
        LLAMA | {"gpu_memory": 40, "where": "memory > 50GiB"},
    ),
    "headroom": ((8,), LLAMA | {"gpu_memory": 40, "where": "headroom > 30GiB"}),
    "several worlds": ((6, 8), LLAMA | {"gpus_per_node": 2, "gpu_memory": 20}),
    "experts": ((8,), QWEN | {"gpu_memory": 40, "ep_size": 8, "cp_size": 1}),
}


def conflict_of(name: str) -> tuple[Query, Conflict]:
    worlds, given = CONFLICTS[name]
    query = question(*worlds, **given)
    answer = solutions(query)
    assert isinstance(answer, Conflict), answer
    return query, answer


@cache
def kept_by(name: str) -> frozenset[frozenset[str]]:
    """Parts of the question that a valid configuration keeps, by brute force; largest sets.

    Pins take any value that a conflict considers, and a bound that is let go binds nothing.
    """
    worlds, given = CONFLICTS[name]
    query = question(*worlds, **given)
    start = Config(HALO, query.completed(worlds[-1], (), ()))
    free = [pin for pin in query.pins if releasable(start, pin) and pin != "gpu_memory"]
    found: set[frozenset[str]] = set()
    for world in worlds:
        here = start.replaced({"world_size": world})
        names = tuple(dict.fromkeys((*query.free, *free)))
        for chosen in product(*(widened(query, here, name) for name in names)):
            one = here.replaced(dict(zip(names, chosen, strict=True)))
            if not all(holds(HALO, need, one.values) for need in query.canonical):
                continue
            if not HALO.accepts(one.replaced({"gpu_memory": None}).values):
                continue
            limits: tuple[int | None, ...] = (None,)
            if "gpu_memory" in query.pins:
                limits = (None, *widened(query, start, "gpu_memory"))
            for limit in limits:
                bound = one.replaced({"gpu_memory": limit})
                if not HALO.accepts(bound.values):
                    continue
                kept = {pin for pin in (*free, "gpu_memory") if pin in query.pins}
                kept = {pin for pin in kept if bound[pin] == start[pin]}
                kept |= {
                    condition.text
                    for condition in query.conditions
                    if holds(HALO, condition.formula, bound.values)
                }
                found.add(frozenset(kept))
    return frozenset(one for one in found if not any(one < other for other in found))


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_conflict_leaves_nothing_and_every_part_of_it_something(name: str) -> None:
    query, answer = conflict_of(name)
    core = {*answer.pins, *answer.conditions}
    assert core
    assert not any(core <= kept for kept in kept_by(name))
    for part in core:
        assert any(core - {part} <= kept for kept in kept_by(name)), part
    assert answer.method == "search"
    assert answer.held == {}
    assert answer.world == query.worlds[-1]
    assert answer.worlds == len(query.worlds)
    for pin, value in answer.pins.items():
        assert query.pins[pin] == value


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_conflict_is_smallest(name: str) -> None:
    query, answer = conflict_of(name)
    assert answer.smallest
    parts = {part for kept in kept_by(name) for part in kept} | {*answer.pins, *answer.conditions}
    size = len(answer.pins) + len(answer.conditions)
    for fewer in range(size):
        for chosen in combinations(sorted(parts), fewer):
            assert any(set(chosen) <= kept for kept in kept_by(name)), chosen
    assert query.profile is HALO


@pytest.mark.parametrize("name", CONFLICTS)
def test_every_relaxation_is_accepted_and_gives_up_what_it_says(name: str) -> None:
    query, answer = conflict_of(name)
    for repair in answer.repairs:
        one = HALO.config(repair.config)
        assert one.accepted()
        assert repair.change or repair.drop
        for field, value in repair.change.items():
            assert one[field] == value
            assert value != {**dict.fromkeys(HALO.index_of), **query.pins}[field]
        changed = {pin for pin, value in query.pins.items() if one[pin] != value}
        assert changed == set(repair.change) & set(query.pins)
        broken = {c.text for c in query.conditions if not holds(HALO, c.formula, one.values)}
        assert broken == set(repair.drop or ())


def test_a_conflict_tells_the_bound_with_the_least_memory_there_is() -> None:
    _, answer = conflict_of("nothing fits whatever else is asked")
    (rule,) = answer.rules
    # with everything let go that is not in the conflict, however short the sequences
    lengths = [int(LLAMA["max_length"]) >> bits for bits in range(14)]
    least = min(
        total(values)
        for length in lengths
        if length
        for values, _ in every((8,), LLAMA | {"max_length": length}, {})
    )
    assert rule.rule == BOUND
    assert rule.because == f"memory_per_gpu = {least / GIB:.2f} GiB > gpu_memory = 2.00 GiB"
    assert (answer.pins, answer.conditions) == ({"gpu_memory": 2 * GIB}, ())


def test_what_the_bound_does_not_break_is_told_in_words() -> None:
    """The smallest of all would fit: numbers of it would read as if they broke the bound."""
    _, answer = conflict_of("a condition that wants more than the bound")
    assert [rule.because for rule in answer.rules] == [
        "if gpu_memory > 0: memory_per_gpu <= gpu_memory"
    ]


def test_a_condition_over_headroom_conflicts_with_the_gpu_that_it_speaks_of() -> None:
    _, answer = conflict_of("headroom")
    assert "gpu_memory" in answer.pins
    assert answer.conditions == ("headroom > 30GiB",)


def test_a_batch_that_is_too_large_is_halved_until_it_fits_not_left_unsaid() -> None:
    query = question(8, gpu_memory=60, per_device_train_batch_size=64, cp_size=8, **LLAMA)
    answer = solutions(query)
    assert isinstance(answer, Conflict)
    offered = [dict(repair.change) for repair in answer.repairs]
    sizes = [64, 32, 16, 8, 4, 2, 1]
    fits = [
        size
        for size in sizes
        if HALO.accepts(
            config(8, gpu_memory=60, per_device_train_batch_size=size, cp_size=8).values
        )
    ]
    assert fits
    assert fits[0] < 64
    assert {"per_device_train_batch_size": fits[0]} in offered


def test_the_best_of_what_does_not_fit_is_the_same_conflict() -> None:
    worlds, given = CONFLICTS["two pins"]
    one = best(question(*worlds, objectives=[("dp", True)], **given))
    assert as_data(one) == as_data(conflict_of("two pins")[1])


def test_what_the_framework_refuses_is_not_blamed_on_memory() -> None:
    answer = solutions(question(8, tp_size=3, gpu_memory=80, **LLAMA))
    assert isinstance(answer, Conflict)
    assert "gpu_memory" not in answer.pins
    assert BOUND not in [rule.rule for rule in answer.rules]
    assert answer.method == "Z3"


# Models whose file states more than it means.


@pytest.mark.parametrize("name", ["llama-3-8b", "llama-3-70b", "qwen2.5-7b", "gpt3-175b"])
def test_a_dense_model_can_be_searched(name: str) -> None:
    """The width of an expert is read from every config, as halo does; it implies no experts."""
    query = question(8, max_length=512, gpu_memory=10**17, **model(name))
    answer = solutions(query, limit=1)
    assert isinstance(answer, Solutions)
    assert query.pins["model_kind"] == "dense"
    assert "not offered, since model_kind is dense" in answer.searched
