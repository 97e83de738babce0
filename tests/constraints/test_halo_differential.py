"""The catalogue against the independent validator: the same verdict, rule and quantities.

Exhaustive bound: every world of 1 to 16 GPUs, every node width from 1 to the world, every NVLink
domain from 0 (auto) to the world, with

* worlds up to 4: all five sizes from 0 to the world (+ 1 below 4), every scope;
* clusters that tile: every supported set of axes with sizes from 2 to the world + 1 (every pair,
  supported or not, up to world 8; every other set with sizes 2 and 3), and every scope where
  there is an expert group;
* clusters that do not tile: every set of up to two sizes out of 2 and the world;

each behind the release gate; those that tile once more with the gate where they have stages. Beyond
16 GPUs: worlds up to 72 with the divisors of the world and their successors.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from operator import attrgetter
from typing import Any as Anything

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsolve.constraints.describe import words
from parsolve.constraints.evaluate import Values, compiled, prologue, violated_source
from parsolve.constraints.fields import Choice, Field, Flag, Size, Sizes
from parsolve.constraints.formula import Formula
from parsolve.constraints.halo.fields import TRAINERS
from parsolve.reference import halo as reference
from parsolve.solver.prove.mutants import rule_mutants
from tests.near_valid import (
    AXES,
    CLUSTERS,
    GATED,
    HALO,
    LISTS,
    REFERENCE_FIELDS,
    divisors,
    near_valid,
    neighbours,
)

DERIVED = tuple(field.name for field in dataclasses.fields(reference.Derived))
read_derived = attrgetter(*DERIVED)
RULES = tuple(rule.id for rule in HALO.rules)
SCOPES = ("auto", "node", "global")

SILENCING = ("size-pp-min", "nvlink-domain-negative")
"""Rules that stand alone only because an illegal size silences what computes with it."""

NEVER_FIRST = ("ep-global-world-not-whole-domains", "ep-global-block-not-dividing-domain")
"""Rules that another rule always precedes."""


def expected(fields: dict[str, Anything]) -> tuple[str | None, tuple[Anything, ...]]:
    """The independent validator's first rule, or its derived values."""
    try:
        return None, read_derived(reference.validate(**fields))
    except reference.Rejected as rejection:
        return rejection.rule, ()


def found(values: Values) -> tuple[str | None, tuple[Anything, ...]]:
    """The catalogue's first rule, or its derived values."""
    violated = HALO.violated(values)
    assert HALO.accepts(values) == (not violated)
    if violated:
        return RULES[violated[0]], ()
    known = HALO.derive(values)
    return None, tuple(known[name] for name in DERIVED)


def values_of(fields: dict[str, Anything]) -> Values:
    """The values of a configuration, without parsing: fields are known to be of their type."""
    values = list(HALO.defaults)
    for name, value in fields.items():
        values[HALO.index_of[name]] = value
    return tuple(values)


def compare(fields: dict[str, Anything]) -> str | None:
    """Both voices on one configuration; the rule that they agree on."""
    verdict = expected({k: v for k, v in fields.items() if k in REFERENCE_FIELDS})
    assert found(values_of(fields)) == verdict, fields
    return verdict[0]


# Exhaustively, on small clusters.


def tiles(world: int, node: int, domain: int) -> bool:
    return world % node == 0 and (domain == 0 or (domain % node == 0 and world % domain == 0))


def clusters(worlds: range) -> Iterator[dict[str, int]]:
    for world in worlds:
        for node, domain in product(range(1, world + 1), range(world + 1)):
            yield {"world_size": world, "gpus_per_node": node, "nvlink_domain_size": domain}


def axis_sets(sizes: tuple[int, ...], most: int = 2) -> Iterator[dict[str, int]]:
    for count in range(most + 1):
        for axes in combinations(AXES, count):
            for values in product(sizes, repeat=count):
                yield dict(zip(axes, values, strict=True))


def agree(cluster: dict[str, int], axes: dict[str, int]) -> Iterator[str | None]:
    """Every scope that can matter, and both states of the release gate."""
    grouped = axes.get("ep_size", 1) * axes.get("expert_tp_size", 1) != 1
    fields = {**cluster, **axes, "assume_pp": True}
    yield compare(fields)
    if grouped:
        yield compare({**fields, "ep_scope": "node"})
        yield compare({**fields, "ep_scope": "global"})
    if axes.get("pp_size", 1) != 1:
        yield compare({**fields, "assume_pp": False})


def tally(
    some_clusters: Iterator[dict[str, int]], some_axes: list[dict[str, int]]
) -> Counter[str | None]:
    counts: Counter[str | None] = Counter()
    for cluster in some_clusters:
        for axes in some_axes:
            counts.update(agree(cluster, axes))
    return counts


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_all_sizes_on_the_smallest_worlds(world: int) -> None:
    sizes = range(min(world + 2, 5))
    every = [dict(zip(AXES, v, strict=True)) for v in product(sizes, repeat=5)]
    tiling = (c for c in clusters(range(world, world + 1)) if tiles(*c.values()))
    counts = tally(tiling, every)
    assert counts[None] >= world
    assert counts["size-cp-min"]
    if world > 1:
        assert counts["axis-set-unsupported"] > counts[None]


@pytest.mark.parametrize("world", range(1, 17))
def test_all_pairs_of_sizes_on_small_worlds(world: int) -> None:
    pairs = [
        axes
        for axes in axis_sets(tuple(range(2, world + 2)))
        if world <= 8 or frozenset(axes) in HALO.modes
    ]
    more = [axes for axes in axis_sets((2, 3), 5) if frozenset(axes) not in HALO.modes]
    tiling = (c for c in clusters(range(world, world + 1)) if tiles(*c.values()))
    counts = tally(tiling, pairs + more)
    assert counts["axis-set-unsupported"]
    assert counts[None]


def test_small_worlds_that_do_not_tile() -> None:
    counts: Counter[str | None] = Counter()
    for cluster in clusters(range(1, 17)):
        if not tiles(*cluster.values()):
            for axes in axis_sets(tuple({2, cluster["world_size"]})):
                counts[compare({**cluster, **axes, "assume_pp": True})] += 1
    topology = {rule.id for rule in HALO.rules if rule.stage == "topology"}
    assert topology - set(counts) == {
        "gpus-per-node-nonpositive",
        "nvlink-domain-negative",
        "nvlink-domain-exceeds-multinode-world",
        "world-not-multiple-of-pp",
    }


@pytest.mark.parametrize("node", [-8, -1, 0, 1, 4, 8, 16])
@pytest.mark.parametrize("domain", [-8, -1, 0, 4, 8, 24, 32, 72])
@pytest.mark.parametrize("world", [1, 4, 8, 16])
def test_clusters_beyond_the_tiling_range(world: int, node: int, domain: int) -> None:
    """Negative sizes, the automatic node, and domains wider than the world."""
    cluster = {"world_size": world, "gpus_per_node": node, "nvlink_domain_size": domain}
    for axes in axis_sets((2, 8)):
        for rule in agree(cluster, axes):
            assert rule is None or rule in RULES
        for environment in (-4, 4, 8, 72):
            compare({**cluster, **axes, "nvlink_domain_env": environment, "assume_pp": True})


@pytest.mark.parametrize("world", [18, 20, 24, 32, 48, 64, 72])
def test_divisors_and_their_successors_on_larger_worlds(world: int) -> None:
    sizes = tuple(sorted({size + step for size in divisors(world) for step in (0, 1)} - {1}))
    some = [
        axes
        for axes in axis_sets(sizes)
        if frozenset(axes) in HALO.modes and all(size <= world for size in axes.values())
    ]
    counts: Counter[str | None] = Counter()
    for node in (n for n in (4, 6, 8, world) if world % n == 0):
        domains = {0, node, 2 * node, world}
        several = [
            {"world_size": world, "gpus_per_node": node, "nvlink_domain_size": domain}
            for domain in sorted(domains)
        ]
        counts += tally(iter(several), some)
    assert counts[None] > 100
    assert counts["ep-single-domain-multi-group"]


# At random, near validity.


@dataclass(frozen=True)
class Sample:
    """A configuration, the validator's first rule, and every violated rule of the catalogue."""

    fields: dict[str, Anything]
    values: Values
    first: str | None
    violated: tuple[int, ...]


def sampled(fields: dict[str, Anything]) -> Sample:
    first = compare(fields)
    values = values_of(fields)
    return Sample(fields, values, first, tuple(HALO.violated(values)))


@cache
def corpus() -> tuple[Sample, ...]:
    """30,000 near-valid configurations; both voices agree on each."""
    rng = random.Random(20240601)
    return tuple(sampled(near_valid(rng)) for _ in range(30_000))


@cache
def directed() -> tuple[Sample, ...]:
    """Every rule's example and its neighbours, and some corners; both voices agree on each."""
    return tuple(sampled(fields) for fields in (*neighbours(), *CORNERS))


def test_near_valid_configurations() -> None:
    assert len(corpus()) == 30_000


def test_the_examples_and_their_neighbours() -> None:
    assert len(directed()) > 1_000


CORNERS: tuple[dict[str, Anything], ...] = (
    {"world_size": 8, "tp_size": 2, "num_attention_heads": (7,)},
    {"world_size": 8, "tp_size": 2, "num_key_value_heads": (7,)},
    {"world_size": 8, "cp_size": 2, "num_attention_heads": (7,)},
    {"world_size": 8, "cp_size": 2, "num_key_value_heads": (7,)},
    {"world_size": 8, "num_experts": 1, "fp32_non_ep_params": True},
    {"world_size": 8, "expert_tp_size": 2, "moe_intermediate_size": 1},
    {"world_size": 2, "tp_size": 2, "fsdp_defer_grad_sync": True},
    {"world_size": 9, "ep_size": 9, "gpus_per_node": 9, "ep_buffer_backend": "legacy"},
    {"world_size": 9, "ep_size": 2, "gpus_per_node": 3, "ep_scope": "global"},
    {
        "world_size": 2,
        "gpus_per_node": 1,
        "nvlink_domain_size": 2,
        "ep_size": 2,
        "ep_buffer_backend": "legacy",
    },
    *(
        {"world_size": 16, "pp_size": 2, "assume_pp": True, **more}
        for more in (
            {"init_from_scratch": True},
            {"pp_split": (1,)},
            {"trainer": "sft", "max_length": 1, "pp_microbatches": 1}
            | {"gradient_accumulation_steps": 2},
            {"trainer": "sft", "max_length": 1, "do_eval": True}
            | {"per_device_train_batch_size": 2, "per_device_eval_batch_size": 1},
        )
    ),
    *(
        {"world_size": 8, "ep_size": 8, "num_experts_per_tok": 8, "hidden_size": 8192}
        | {"max_length": 16384, "per_device_train_batch_size": 1, "trainer": trainer}
        for trainer in TRAINERS
    ),
    *(
        {"world_size": 16, "ep_size": 16, "ep_rows_per_device": 1, **more}
        for more in (
            {"max_length": 1, "gin_max_tokens_per_rank": 255},
            {"max_length": 1, "gin_max_tokens_per_rank": 1},
            {"max_length": 1, "num_experts_per_tok": 2**12, "hidden_size": 2**11},
            {"max_length": 2**15, "num_experts_per_tok": 1, "hidden_size": 2**16},
            {"max_length": 2**20, "num_experts_per_tok": 8, "hidden_size": 1},
        )
    ),
)
"""Where neither examples nor the generator get: the smallest sizes at which a rule applies, and
the rows of every trainer."""


def any_value(field: Field) -> st.SearchStrategy[object]:
    match field:
        case Flag():
            return st.booleans()
        case Choice(choices=choices, checked=checked):
            return st.sampled_from((*choices, "nonsense") if checked else choices)
        case Sizes(name=name):
            return st.none() | st.sampled_from(LISTS[name])
        case Size(minimum=minimum, optional=optional, checked=checked):
            sizes = st.integers(-2 if checked else minimum, 40) | st.just(16_384)
            return (st.none() | sizes) if optional else sizes


VALUES = {field.name: any_value(field) for field in GATED}


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Anything]:
    world, node, domain = draw(st.sampled_from(CLUSTERS))
    fields: dict[str, Anything] = {
        "world_size": world,
        "gpus_per_node": node,
        "nvlink_domain_size": domain,
        "assume_pp": True,
    }
    for axis in sorted(draw(st.sampled_from(HALO.modes))):
        fields[axis] = draw(st.sampled_from(divisors(min(world, 72))))
    for name in draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=6, unique=True)):
        fields[name] = draw(VALUES[name])
    if fields.get("model_kind") == "dense":
        fields.pop("num_experts", None)
    return fields


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(configurations())
def test_drawn_configurations(fields: dict[str, Anything]) -> None:
    """Hypothesis finds and shrinks what the seeded loop might miss."""
    compare(HALO.config(fields).as_dict(everything=True))


def test_quantities_that_the_validator_does_not_state() -> None:
    """The others by their own plain arithmetic, on every accepted configuration."""
    for sample in corpus():
        if sample.first is not None:
            continue
        config = HALO.config(sample.fields)
        known = HALO.derive(config.values)
        ep, etp, tp, cp, pp = (
            config[name] for name in ("ep_size", "expert_tp_size", "tp_size", "cp_size", "pp_size")
        )
        assert known["non_dp_replication"] * known["data_parallel_size"] == config["world_size"]
        assert known["nodes_per_stage"] * pp == known["num_nodes"]
        assert known["is_expert_tp_mode"] == (etp > 1)
        assert known["is_tp_mode"] == (tp > 1)
        assert known["is_cp_mode"] == (cp > 1)
        assert known["is_pp_mode"] == (pp > 1)
        assert known["is_ep_tp_mode"] == (ep * etp > 1 and tp > 1)
        assert known["is_ep_cp_mode"] == (ep * etp > 1 and cp > 1)
        experts = config["num_experts"]
        whole = experts is not None and experts % ep == 0
        assert known.get("experts_per_rank") == (experts // ep if whole else None)
        rows = config["ep_rows_per_device"]
        if rows is not None:
            length = config["max_length"] or config["max_position_embeddings"] or 0
            assert known.get("tokens_per_rank", 0) == rows * length // cp


# The generator.


def test_the_generator_is_near_valid() -> None:
    accepted = sum(sample.first is None for sample in corpus())
    assert 0.25 <= accepted / len(corpus()) <= 0.75


def test_the_generator_breaks_every_rule_alone() -> None:
    """Except rules that never decide a verdict by themselves."""
    alone = {RULES[s.violated[0]] for s in corpus() if len(s.violated) == 1}
    assert set(RULES) - alone == set(HALO.implied)


def test_the_generator_is_the_same_every_time() -> None:
    first, second = random.Random(7), random.Random(7)
    assert [near_valid(first) for _ in range(50)] == [near_valid(second) for _ in range(50)]


def test_the_generator_draws_every_mode_and_many_configurations() -> None:
    seen = {frozenset(a for a in AXES if s.fields.get(a, 1) > 1) for s in corpus() if not s.first}
    assert seen == set(HALO.modes)
    assert len({s.values for s in corpus()}) > 15_000


# Teeth: a rule that is missing or weaker is noticed.


@pytest.mark.parametrize("index", range(len(RULES)), ids=RULES)
def test_a_missing_rule_is_noticed(index: int) -> None:
    """Without the rule some verdict, or the reason given first, is no longer the validator's."""
    rules = HALO.rules[:index] + HALO.rules[index + 1 :]
    maimed = dataclasses.replace(HALO, rules=rules)
    assert len(maimed.rules) == len(HALO.rules) - 1
    name = RULES[index]
    wrong_reason, wrong_verdict = 0, 0
    for sample in (*corpus(), *directed()):
        if index not in sample.violated:
            continue
        left = maimed.violated(sample.values)
        first = maimed.rules[left[0]].id if left else None
        wrong_reason += first != sample.first
        wrong_verdict += (first is None) != (sample.first is None)
        if wrong_verdict:
            break
    assert (wrong_reason == 0) == (name in NEVER_FIRST)
    assert (wrong_verdict == 0) == (name in {*HALO.implied, *SILENCING})


def mutants(index: int) -> Iterator[tuple[Formula, Formula]]:
    """The rule weakened in one place: it applies less often, or requires less."""
    removed, *weaker = rule_mutants(HALO.rules[index])
    assert removed.name == "removed"
    yield from ((mutant.when, mutant.requires) for mutant in weaker)


@cache
def in_question(index: int) -> tuple[Sample, ...]:
    """Samples whose first rule hangs on this rule or on those after it."""
    silencing = set(HALO.legality) - {index}
    return tuple(
        s
        for s in (*directed(), *corpus())
        if (not s.violated or s.violated[0] >= index) and not silencing.intersection(s.violated)
    )


def is_noticed(index: int, when: Formula, requires: Formula) -> bool:
    """Whether some sample gets another first rule than the validator's."""
    lines = prologue(HALO.fields, [when, requires])
    fires = compiled("fires", [*lines, f"return {violated_source(when, requires)}"])
    return any(bool(fires(s.values)) != (index in s.violated) for s in in_question(index))


EQUIVALENT = {
    "pp-split-entry-min": (1, "a split of one entry has the wrong length, which is said first"),
    "ep-global-world-not-whole-domains": (3, "never first"),
    "ep-global-block-not-dividing-domain": (3, "never first"),
    "etp-global-not-one-group-per-domain": (4, "either equation gives the other: g is EP * ETP"),
    "legacy-buffer-untuned-width": (1, "a width of two has a table"),
    "trainer-sync-ref-model": (4, "axes need torchrun, which is said first"),
}
"""How many weakenings of a rule change nothing at all, and why."""


@pytest.mark.parametrize("index", range(len(RULES)), ids=RULES)
def test_a_weakened_rule_is_noticed(index: int) -> None:
    """Every single place matters: no part can be dropped, no bound moved by one."""
    every = list(mutants(index))
    missed = [
        f"{words(when)}: {words(requires)}"
        for when, requires in every
        if not is_noticed(index, when, requires)
    ]
    assert every
    assert len(missed) == EQUIVALENT.get(RULES[index], (0, ""))[0], missed


def test_an_unchanged_rule_passes_for_itself() -> None:
    """The comparison behind the mutants does not cry wolf."""
    for index, rule in enumerate(HALO.rules):
        assert not is_noticed(index, rule.when, rule.requires)
