"""The search finds exactly the accepted configurations: compared with trying everything."""

from __future__ import annotations

import random
from itertools import islice, product
from typing import Any as Anything

import pytest

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import FieldError, Flag, Size
from parsolve.constraints.formula import quotient
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.numbers import divisors
from parsolve.solver.query import Query, QueryError, domain
from parsolve.solver.search import _loops, search
from parsolve.solver.solve import solutions
from tests.solver.questions import HALO, brute_force, question, rows

SHAPES = ((0, 0), (1, 0), (2, 4), (3, 0), (4, 0), (4, 8), (8, 8), (6, 12))
"""GPUs per node and NVLink domain."""


def fields(values: Values, *names: str) -> tuple[object, ...]:
    return tuple(values[HALO.index_of[name]] for name in names)


@pytest.mark.parametrize(("node", "domain_size"), SHAPES)
@pytest.mark.parametrize("kind", ["moe", "dense"])
def test_small_worlds_equal_brute_force(kind: str, node: int, domain_size: int) -> None:
    """Every world that these nodes and domains tile, and one that they do not."""
    whole = max(node, domain_size, 1)
    worlds = [w for w in range(1, 25) if w % whole == 0 or w == whole + 1]
    if (node, domain_size) != (0, 0):
        worlds = [w for w in worlds if w != 24 or whole in {6, 12}]
    asked = question(
        *worlds,
        model_kind=kind,
        gpus_per_node=node,
        nvlink_domain_size=domain_size,
        assume_pp=True,
    )
    found = rows(asked)
    assert set(found) == set(brute_force(asked))
    assert len(found) == len(set(found))
    gated = question(*worlds, model_kind=kind, gpus_per_node=node, nvlink_domain_size=domain_size)
    pipeless = {v for v in found if fields(v, "pp_size") == (1,)}
    off = HALO.index_of["assume_pp"]
    assert set(rows(gated)) == {(*v[:off], False, *v[off + 1 :]) for v in pipeless}


@pytest.mark.parametrize("kind", ["moe", "dense"])
def test_the_release_gate_equals_brute_force(kind: str) -> None:
    asked = question(*range(1, 19), model_kind=kind)
    assert set(rows(asked)) == set(brute_force(asked))


QUESTIONS: tuple[tuple[dict[str, Anything], tuple[str, ...]], ...] = (
    ({}, ("tp*cp <= 2",)),
    ({}, ("ep_group_size > 4", "dp >= 4")),
    ({}, ("ep_scope == 'global'",)),
    ({}, ("domains > 1 and not is_ep_mode",)),
    ({}, ("divides(tp, 12) or cp in (3, 6)",)),
    ({}, ("num_nodes == 2",)),
    ({"tp_size": 2}, ()),
    ({"tp_size": 1, "cp_size": 1}, ("ep != etp",)),
    ({"ep_scope": "global"}, ()),
    ({"ep_scope": "node"}, ("ep > 1",)),
    ({"ep_size": 4, "expert_tp_size": 2}, ()),
    ({"use_hsdp": True}, ()),
    ({"num_experts": 6}, ()),
    ({"num_attention_heads": [12, 18], "num_key_value_heads": 4}, ()),
    ({"trainer": "sft", "max_length": 4096}, ("pp > 1",)),
    ({"fsdp_reshard_after_forward": True}, ()),
    ({"save_sharded_ep": True}, ()),
    ({"nvlink_domain_size": 12, "gpus_per_node": 4}, ()),
    ({"pp_size": 2, "per_device_train_batch_size": 4, "trainer": "sft"}, ()),
    ({"ep_size": 0}, ()),
    ({"expert_tp_size": -2}, ()),
    ({"tp_size": 5}, ()),
    ({"gpus_per_node": 5}, ("nodes >= 1",)),
)


@pytest.mark.parametrize(("pins", "where"), QUESTIONS)
@pytest.mark.parametrize("worlds", [(8,), (12, 16)])
def test_pins_and_conditions_equal_brute_force(
    pins: dict[str, Anything], where: tuple[str, ...], worlds: tuple[int, ...]
) -> None:
    asked = question(*worlds, where=where, **{"model_kind": "moe", "assume_pp": True, **pins})
    assert set(rows(asked)) == set(brute_force(asked))


@pytest.mark.parametrize(
    ("vary", "pins"),
    [
        (("use_hsdp",), {}),
        (("use-hsdp", "fsdp_reshard_after_forward"), {"ep_size": 1}),
        (("hsdp", "ep_buffer_backend"), {"tp_size": 1}),
        (("trainer",), {"cp_size": 2}),
        (("dtype", "lowp_precision"), {"tp_size": 1, "cp_size": 1}),
        (("expert_lora", "merge_expert_lora_on_save"), {"cp_size": 1}),
        (("assume_pp",), {"tp_size": 1}),
    ],
)
def test_varied_knobs_equal_brute_force(vary: tuple[str, ...], pins: dict[str, Anything]) -> None:
    asked = question(16, model_kind="moe", gpus_per_node=8, vary=vary, **pins)
    found = rows(asked)
    assert set(found) == set(brute_force(asked))
    for spelling in vary:
        name = HALO.spellings[spelling.replace("-", "_")]
        assert name in asked.free
        assert len({fields(values, name) for values in found}) > 1


def test_adding_a_pin_or_a_condition_never_adds_a_solution() -> None:
    rng = random.Random(3)
    pins: list[tuple[str, Anything]] = [
        ("tp_size", 2),
        ("cp_size", 2),
        ("ep_size", 8),
        ("ep_scope", "global"),
        ("pp_size", 1),
    ]
    wheres = ["dp > 1", "tp <= 4", "ep_scope == 'node'", "domains > 1", "not is_tp_mode"]
    for _ in range(25):
        world = rng.choice((8, 16, 24, 40, 64, 72))
        given: dict[str, Anything] = dict(rng.sample(pins, 2))
        where = rng.sample(wheres, 2)
        moe: dict[str, Anything] = {"model_kind": "moe", "assume_pp": True}
        first: dict[str, Anything] = dict([*given.items()][:1])
        less = set(rows(question(world, where=where[:1], **moe, **first)))
        by_pin = question(world, where=where[:1], **moe, **given)
        by_condition = question(world, where=where, **moe, **first)
        if "ep_scope" in given:  # a pinned scope has one spelling: compare what it comes to
            sizes = (*HALO.axes, "world_size")
            scopes = {(*fields(v, *sizes), HALO.derive(v)["ep_scope"]) for v in less}
            pinned = {(*fields(v, *sizes), HALO.derive(v)["ep_scope"]) for v in rows(by_pin)}
            assert pinned <= scopes
        else:
            assert set(rows(by_pin)) <= less
        assert set(rows(by_condition)) <= less


def test_several_worlds_at_once_equal_one_by_one() -> None:
    several = (1, 2, 6, 8, 12, 16, 24, 40, 48, 64, 72, 120)
    asked: tuple[dict[str, Anything], ...] = (
        {},
        {"assume_pp": True, "gpus_per_node": 8},
        {"use_hsdp": True},
    )
    for pins in asked:
        at_once = rows(question(*several, model_kind="moe", **pins))
        assert at_once == [
            values
            for world in several
            for values in rows(question(world, model_kind="moe", **pins))
        ]


@pytest.mark.parametrize(
    ("world", "node", "domain_size"),
    [
        (8, 4, 0),
        (16, 8, 0),
        (12, 6, 0),
        (16, 4, 8),
        (12, 2, 4),
        (8, 8, 0),
        (8, 0, 0),
        (12, 12, 0),
        (4, 8, 0),
        (16, 4, 16),
    ],
)
def test_one_spelling_of_the_scope_hides_no_layout(world: int, node: int, domain_size: int) -> None:
    """Within one domain and between several, each effective scope is found once."""
    asked = question(
        world, model_kind="moe", gpus_per_node=node, nvlink_domain_size=domain_size, assume_pp=True
    )
    everything = [
        values
        for chosen in product(*(asked.domain(name, world) for name in asked.free))
        if HALO.accepts(values := asked.completed(world, asked.free, chosen))
    ]

    def layouts(found: list[Values]) -> list[tuple[object, ...]]:
        return [
            (*fields(values, *HALO.axes), derived["ep_scope"])
            for values in found
            if (derived := HALO.derive(values))
        ]

    found = layouts(rows(asked))
    assert set(found) == set(layouts(everything))
    assert len(found) == len(set(found))
    sizes = {fields(values, *HALO.axes) for values in everything}
    assert {fields(values, *HALO.axes) for values in rows(asked)} == sizes


def test_a_scope_is_spelled_where_it_is_not_what_auto_comes_to() -> None:
    """Also on one NVLink domain, where a global group is one that auto would call local."""
    for asked in (
        question(8, model_kind="moe", gpus_per_node=8),
        question(16, model_kind="moe", gpus_per_node=8),
        question(16, model_kind="moe", gpus_per_node=4, nvlink_domain_size=16),
    ):
        spelled = 0
        for values in rows(asked):
            (scope,) = fields(values, "ep_scope")
            as_auto = list(values)
            as_auto[HALO.index_of["ep_scope"]] = "auto"
            resolved = HALO.derive(tuple(as_auto))["ep_scope"]
            if scope != "auto":
                assert HALO.derive(values)["ep_scope"] == scope != resolved
                spelled += 1
        assert spelled
    local = rows(question(8, model_kind="moe", gpus_per_node=8, where="ep_scope == 'global'"))
    assert local
    assert {fields(values, "ep_scope") for values in local} == {("global",)}


def test_terms_are_scored_and_none_where_undefined() -> None:
    asked = question(8, 12, model_kind="moe", gpus_per_node=8)
    terms = (q.data_parallel_size, q.experts_per_rank, f.num_experts * 2)
    for world, chosen, scores in search(asked, terms):
        derived = HALO.derive(asked.completed(world, asked.free, chosen))
        assert scores == (derived["data_parallel_size"], derived.get("experts_per_rank"), 0)
    with_odd = quotient(f.tp_size, 2)
    halves = {row[1][1]: row[2] for row in search(question(8, cp_size=1), (with_odd,))}
    assert halves == {1: (None,), 2: (1,), 4: (2,), 8: (4,)}


def test_a_term_that_is_never_defined_is_none() -> None:
    asked = question(8, model_kind="moe", num_experts=7)
    assert {row[2] for row in search(asked, (quotient(f.num_experts, 2),))} == {(None,)}


def test_the_order_is_that_of_the_domains() -> None:
    asked = question(64, model_kind="moe", assume_pp=True, gpus_per_node=8)
    positions = [
        tuple(
            asked.domain(name, 64).index(value)
            for name, value in zip(asked.free, chosen, strict=True)
        )
        for _, chosen, _ in search(asked)
    ]
    assert positions == sorted(positions)
    assert asked.free == HALO.searched


def test_a_deadline_stops_the_search() -> None:
    asked = question(64, 128, model_kind="moe")
    with pytest.raises(TimedOut):
        next(search(asked, deadline=Deadline(0)))
    answer = solutions(asked, deadline=Deadline(0))
    assert answer.answer == "undecided"
    assert answer.reason == "the time limit of 0 s passed"
    assert not answer.complete


def test_a_listing_can_be_left_early() -> None:
    asked = question(*range(1, 2000), model_kind="moe")
    assert len(list(islice(search(asked), 5))) == 5


def test_a_deadline_that_is_no_time_is_refused() -> None:
    for seconds in (float("nan"), float("inf"), -1, "5"):
        with pytest.raises(ValueError, match="a time limit is a number of seconds, got"):
            Deadline(seconds)  # type: ignore[arg-type]
    assert Deadline().milliseconds() is None
    left = Deadline(100).milliseconds()
    assert left is not None
    assert 90_000 < left <= 100_000
    with pytest.raises(TimedOut):
        Deadline(0).milliseconds()


@pytest.mark.parametrize("number", [1, 2, 12, 97, 720, 1024, 1260, 9973, 100800])
def test_divisors_are_all_divisors(number: int) -> None:
    assert divisors(number) == tuple(d for d in range(1, number + 1) if number % d == 0)


def test_divisors_of_large_numbers_come_at_once() -> None:
    assert len(divisors(735134400)) == 1344
    assert divisors(999999937) == (1, 999999937)
    assert divisors(2**29)[-1] == 2**29


# What a query is.


def pinned(asked: Query) -> dict[str, Anything]:
    return dict(asked.pins)


def test_expert_axes_are_offered_only_for_experts() -> None:
    dense = ("pp_size", "tp_size", "cp_size", "ep_scope")
    assert question(8).free == dense
    assert pinned(question(8)) == {"model_kind": "dense"}
    assert question(8, model_kind="dense").free == dense
    experts: tuple[dict[str, Anything], ...] = (
        {"model_kind": "moe"},
        {"num_experts": 8},
        {"moe_intermediate_size": 64},
    )
    for told in experts:
        assert question(8, **told).free == HALO.searched
        assert question(8, **told).pins["model_kind"] == "moe"
    pinned_ep = question(8, ep_size=8)
    assert pinned_ep.free == ("pp_size", "tp_size", "cp_size", "expert_tp_size", "ep_scope")
    assert pinned_ep.pins["model_kind"] == "moe"
    assert question(8, ep_size=1).pins["model_kind"] == "dense"
    assert question(8, vary=["ep_size"], model_kind="dense").free == (
        *dense[:3],
        "ep_size",
        "ep_scope",
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"vary": ["tp"], "tp_size": 2}, "tp_size is both pinned and varied; drop one"),
        ({"vary": ["tpp"]}, "unknown knob 'tpp': did you mean \"tp\"?"),
        (
            {"vary": ["model_kind"]},
            "model_kind decides which knobs are offered and cannot be varied; pin it",
        ),
        (
            {"vary": ["max_length"]},
            "max_length has no finite set of values to search; pin it instead",
        ),
        (
            {"vary": ["pp_split"]},
            "pp_split has no finite set of values to search; pin it instead",
        ),
        (
            {"ep_size": 2, "model_kind": "dense"},
            "ep_size needs model_kind moe, but it is dense; drop one",
        ),
        ({"pareto": True}, "a Pareto front needs at least two objectives"),
        (
            {"pareto": True, "objectives": [("dp", True)]},
            "a Pareto front needs at least two objectives",
        ),
        (
            {"objectives": [("ep_scope", True)]},
            "ep_scope is not a number and cannot be an objective",
        ),
        (
            {"objectives": [(" is_ep_mode ", True)]},
            "is_ep_mode is not a number and cannot be an objective",
        ),
        (
            {"objectives": [("dp", True), ("tp", True), ("dp", True)]},
            "the same objective is given twice; give it once",
        ),
        (
            {"objectives": [("dp", True), ("dp", True)], "pareto": True},
            "the same objective is given twice; give it once",
        ),
        (
            {"objectives": [("num_experts // 2", True)]},
            '"num_experts // 2" asks about num_experts, which is not given; give --experts',
        ),
        (
            {"where": ["tp > 1", "ep == 1 or experts > 8"]},
            '"ep == 1 or experts > 8" asks about num_experts, which is not given; give --experts',
        ),
        (
            {"where": "1 < max(max_length, tp)"},
            (
                '"1 < max(max_length, tp)" asks about max_length, which is not given; '
                "give --max-length"
            ),
        ),
        (
            {"where": "rows_per_device < 0"},
            (
                '"rows_per_device < 0" asks about ep_rows_per_device, which is not given; '
                "give --rows-per-device"
            ),
        ),
        (
            {"world_size": 4},
            "world_size is given twice: as the world to search and as a pin",
        ),
    ],
)
def test_a_question_that_cannot_be_asked(asked: dict[str, Anything], message: str) -> None:
    with pytest.raises(QueryError) as caught:
        question(8, **asked)
    assert str(caught.value) == message


def test_a_number_that_is_given_may_be_asked_about() -> None:
    assert rows(question(8, num_experts=16, where="experts == 16 and experts_per_rank == 2"))
    assert not rows(question(8, num_experts=16, where="experts > 16"))
    assert question(8, num_experts=16, objectives=[("experts - ep", True)]).objectives
    assert question(8, objectives=[("dp", True), ("dp", False)]).objectives
    optional = [
        f
        for f in HALO.fields
        if isinstance(f, Size) and f.optional and f.name not in HALO.quantity_of
    ]
    for field in optional:
        with pytest.raises(QueryError) as caught:
            question(8, where=f"{field.name} >= 0")
        assert str(caught.value) == (
            f'"{field.name} >= 0" asks about {field.name}, which is not given; give '
            f"--{field.flag or 'model'}"
        )
        if field.name == "gpu_memory":
            continue  # it asks for the model too
        given: dict[str, Anything] = {field.name: 8}
        assert question(8, where=f"{field.name} >= 0", **given).conditions


def test_a_quantity_of_numbers_that_are_not_given_satisfies_nothing() -> None:
    """It is unknown, not 0: neither a condition nor its opposite holds."""
    for text in ("experts_per_rank == 0", "experts_per_rank != 0", "not tokens_per_rank > 0"):
        assert rows(question(8, model_kind="moe", where=text)) == []
    known = question(8, num_experts=8, where="experts_per_rank != 0")
    assert set(rows(known)) == set(brute_force(known)) != set()


def test_worlds_are_checked_each() -> None:
    with pytest.raises(QueryError, match="no world to search: give world_size a number"):
        question()
    with pytest.raises(FieldError, match="world_size must be at least 1, got -4"):
        question(8, -4)
    assert question(8, 16, 8).worlds == (8, 16)


def test_too_many_knobs_at_once_are_refused() -> None:
    flags = [field.name for field in HALO.fields if isinstance(field, Flag)]
    with pytest.raises(QueryError, match="pin some"):
        question(8, vary=flags)


def test_domains_are_finite_or_refused() -> None:
    assert domain(HALO, "tp_size", 12) == (1, 2, 3, 4, 6, 12)
    assert domain(HALO, "use_hsdp", 12) == (False, True)
    assert domain(HALO, "ep_scope", 12) == ("auto", "node", "global")


@pytest.mark.parametrize("where", [(), ("ep_group_size > 4",), ("ep_group_size > 2",)])
@pytest.mark.parametrize("pins", [{}, {"tp_size": 2}, {"use_hsdp": True}])
@pytest.mark.parametrize("world", [8, 24, 64])
def test_what_is_kept_of_a_shape_answers_as_if_it_were_new(
    world: int, pins: dict[str, Anything], where: tuple[str, ...]
) -> None:
    """Asked in turns, so that each has been kept when the next is asked."""
    found = rows(question(world, where=where, **pins))
    again = rows(question(world, where=where, **pins))
    _loops.cache_clear()
    assert found == again == rows(question(world, where=where, **pins))


def test_one_text_is_one_shape() -> None:
    one, other = (question(world, where=("tp*cp <= 8",)) for world in (8, 16))
    assert one.shape == other.shape
    assert one.shape != question(8, where=("tp*cp <= 4",)).shape
    assert one.shape != question(8).shape
