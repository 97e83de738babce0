"""The halo catalogue as data: every rule proves itself, every field is unambiguous."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, combinations
from typing import TYPE_CHECKING
from typing import Any as Anything

import pytest

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import (
    LARGEST_SIZE,
    MOST_ENTRIES,
    Choice,
    FieldError,
    Flag,
    Size,
    Sizes,
)
from parsolve.constraints.formula import Formula, fields_of, named_in
from parsolve.constraints.halo import MODE_ORDER
from parsolve.constraints.halo.axes import (
    AXES,
    SHORT,
    SUPPORTED_AXIS_SETS,
    exactly,
    refused_cores,
    refused_sets,
)
from parsolve.constraints.profile import holds

if TYPE_CHECKING:
    from parsolve.constraints.rule import Rule, Variant

HALO = PROFILES["halo"]
INDEX = {rule.id: index for index, rule in enumerate(HALO.limits)}
NUMBER_NAMES = re.compile(r"ZeRO-[123]|1f1b|FSDP2|fp8|fp4|bf16|fp16|fp32|mxfp4")
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
SHADOWED = {
    "ep-global-world-not-whole-domains": "pp-stage-not-whole-domains",
    "ep-global-block-not-dividing-domain": "ep-global-group-not-dividing-stage",
    "etp-not-dividing-domain": "ep-node-group-not-dividing-domain",
}
"""Rules whose example another rule refuses first: the dead two, and expert TP, which is a group."""


def every_rule() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("rule", HALO.limits, ids=[rule.id for rule in HALO.limits])


# Rules.


@every_rule()
def test_the_example_is_rejected_by_its_rule(rule: Rule) -> None:
    """First of all, unless it is said which rule stands before it."""
    violated = HALO.violated(HALO.config(rule.example.rejects).values)
    assert INDEX[rule.id] in violated
    assert HALO.limits[violated[0]].id == SHADOWED.get(rule.id, rule.id)


@every_rule()
def test_the_remedy_is_accepted_by_every_rule(rule: Rule) -> None:
    instead = HALO.config(rule.example.instead)
    assert [HALO.limits[index].id for index in HALO.violated(instead.values)] == []
    assert instead.accepted()
    assert not HALO.config(rule.example.rejects).accepted()


@every_rule()
def test_the_remedy_changes_something_that_the_rule_reads(rule: Rule) -> None:
    rejects, instead = HALO.config(rule.example.rejects), HALO.config(rule.example.instead)
    assert any(rejects[name] != instead[name] for name in rule.reads)


@every_rule()
def test_prose_is_whole_sentences_without_numbers(rule: Rule) -> None:
    """Numbers come from reading the formula, so that they cannot go stale."""
    texts = [rule.reason, rule.remedy]
    texts += [text for variant in rule.variants for text in (variant.reason, variant.remedy)]
    for text in texts:
        bare = NUMBER_NAMES.sub("", text)
        for field in HALO.fields:
            bare = bare.replace(field.name, "")
        assert not re.search(r"\d", bare), text
        assert text.endswith("."), text
        assert text[0].isupper() or text.startswith(tuple(HALO.field_of)), text
        assert text == " ".join(text.split()), text


@every_rule()
def test_the_source_names_a_file_and_a_function(rule: Rule) -> None:
    ours = rule in HALO.bounds
    assert ours or re.fullmatch(r"src/[a-z_/]+\.py", rule.source.file)
    assert rule.source.function
    assert str(rule.source) == f"{rule.source.file} · {rule.source.function}"


def test_ids_name_the_offence_in_kebab_case_once() -> None:
    ids = [rule.id for rule in HALO.rules]
    ids += [notice.id for notice in HALO.warnings]
    ids += [check.id for check in HALO.run_time_checks]
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert [name for name in ids if not KEBAB.fullmatch(name)] == []


def test_a_run_time_check_says_when_it_fires() -> None:
    for check in HALO.run_time_checks:
        assert check.when
        assert check.stage in {"cross-rank", "runtime"}
        assert check.source.file.startswith("src/")


def test_every_tree_reads_fields_that_exist() -> None:
    nodes: list[Anything] = [node for rule in HALO.rules for node in rule.nodes]
    nodes += [variant.when for rule in HALO.rules for variant in rule.variants]
    nodes += [notice.when for notice in HALO.warnings]
    nodes += [check.requires for check in HALO.input_checks]
    nodes += [preference.term for preference in HALO.preferences]
    nodes += [*HALO.canonical.values(), *HALO.derived]
    nodes += [column.where for column in HALO.summary]
    assert fields_of(*nodes) <= set(HALO.field_of)
    names = [quantity.name for quantity in named_in(*nodes)]
    assert len(names) == len(set(names)), "two quantities of one name would overwrite each other"


def test_lists_of_names_are_names() -> None:
    names = set(HALO.field_of)
    assert {HALO.world, *HALO.axes, *HALO.searched, *HALO.shown, *HALO.canonical} <= names
    assert set(chain.from_iterable(HALO.modes)) == set(HALO.axes)
    assert HALO.account is not None
    quantities = {quantity.name for quantity in (*HALO.derived, *HALO.account.named)}
    assert {HALO.nodes, HALO.node, *HALO.short_names.values()} <= quantities
    assert {column.quantity for column in HALO.summary} <= quantities
    assert not set(HALO.short_names) & {*quantities, *HALO.spellings}
    for offer in HALO.offers:
        assert {*offer.knobs, *offer.implied_by, offer.given} <= names
        choice = HALO.field_of[offer.given]
        assert isinstance(choice, Choice)
        assert {offer.unknown, offer.value, offer.otherwise} <= set(choice.choices)
    for field in HALO.fields:
        if isinstance(field, Size) and field.divides:
            assert field.divides in names


def test_stages_come_in_the_order_of_evaluation() -> None:
    assert HALO.stages == (
        "trainer-construction",
        "release-gate",
        "field-sanity",
        "capability-matrix",
        "topology",
        "composition",
        "axis-locality",
        "fsdp",
        "low-precision",
        "model-aware",
        "batch",
        "memory",
    )


def test_every_field_is_read_or_says_that_it_is_not() -> None:
    """A field that no tree reads would be a knob that promises something."""
    nodes: list[Anything] = [node for rule in HALO.rules for node in rule.nodes]
    nodes += [notice.when for notice in HALO.warnings]
    nodes += [node for bound in HALO.bounds for node in bound.nodes]
    unread = set(HALO.field_of) - fields_of(*nodes)
    assert unread == {f.name for f in HALO.fields if "(no rule reads it)" in f.about}


def test_disagreements_that_name_a_rule_name_a_real_one() -> None:
    known = {rule.id for rule in HALO.rules} | {notice.id for notice in HALO.warnings}
    for disagreement in HALO.disagreements:
        named = re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", disagreement.taken)
        cited = [name for name in named if "(" in disagreement.taken and name.count("-") >= 2]
        assert set(cited) <= known, disagreement.topic


# Axis sets.


SUBSETS = [
    frozenset(names)
    for size in range(6)
    for names in combinations([axis.name for axis in AXES], size)
]
SPECIFIC = {
    frozenset(names.split())
    for names in (
        "tp_size cp_size",
        "expert_tp_size cp_size",
        "tp_size expert_tp_size",
        "ep_size tp_size expert_tp_size",
        "pp_size tp_size",
        "pp_size cp_size",
        "pp_size ep_size expert_tp_size",
        "pp_size ep_size tp_size",
        "pp_size ep_size cp_size",
    )
}


def with_axes(names: frozenset[str]) -> dict[str, object]:
    return {"world_size": 64, "assume_pp": True, **dict.fromkeys(names, 2)}


def test_every_subset_of_a_supported_set_is_supported() -> None:
    assert len(SUPPORTED_AXIS_SETS) == len(set(SUPPORTED_AXIS_SETS)) == 11
    for supported in SUPPORTED_AXIS_SETS:
        assert all(s in SUPPORTED_AXIS_SETS for s in SUBSETS if s <= supported)


@pytest.mark.parametrize("names", SUBSETS, ids=lambda names: "+".join(sorted(names)) or "none")
def test_the_axis_rule_is_membership_and_tells_the_mechanism(names: frozenset[str]) -> None:
    rule = HALO.rules[INDEX["axis-set-unsupported"]]
    values = HALO.config(with_axes(names)).values
    refused = INDEX[rule.id] in HALO.violated(values)
    assert refused == (names not in SUPPORTED_AXIS_SETS)
    applying = [variant for variant in rule.variants if holds(HALO, variant.when, values)]
    if names in SPECIFIC:
        (variant,) = applying
        assert HALO.prose(INDEX[rule.id], values) == (variant.reason, variant.remedy)
        assert variant.reason != rule.reason
    else:
        assert applying == []
        assert HALO.prose(INDEX[rule.id], values) == (rule.reason, rule.remedy)


def test_refused_sets_are_those_that_contain_a_refused_core() -> None:
    assert len(refused_sets()) == 21
    cores = refused_cores()
    assert all((s in refused_sets()) == any(core <= s for core in cores) for s in SUBSETS)
    assert not any(a < b for a in cores for b in cores)
    assert set(refused_sets()) >= SPECIFIC


def test_only_the_axis_rule_has_variants_and_they_exclude_each_other() -> None:
    with_variants = {rule.id for rule in HALO.rules if rule.variants}
    assert with_variants == {"axis-set-unsupported"}
    variants: tuple[Variant, ...] = HALO.rules[INDEX["axis-set-unsupported"]].variants
    assert len(variants) == len(SPECIFIC)
    assert len({variant.reason for variant in variants}) == len(variants)


@pytest.mark.parametrize(
    ("names", "word"),
    [
        ("tp_size cp_size", "Ulysses"),
        ("expert_tp_size cp_size", "position by position"),
        ("pp_size tp_size", "norm-gradient"),
        ("pp_size cp_size", "too small"),
        ("pp_size ep_size expert_tp_size", "deferred"),
        ("pp_size ep_size tp_size", "two-dimensional"),
        ("pp_size ep_size cp_size", "replicas"),
    ],
)
def test_the_mechanism_fits_the_set(names: str, word: str) -> None:
    values = HALO.config(with_axes(frozenset(names.split()))).values
    reason, _ = HALO.prose(INDEX["axis-set-unsupported"], values)
    assert word in reason


def test_modes_of_the_stated_order_are_the_supported_sets() -> None:
    long_name = {short: name for name, short in SHORT.items()}
    modes = [frozenset(long_name[word] for word in mode.split()) for mode in MODE_ORDER]
    assert len(modes) == len(set(modes))
    assert set(modes) == set(SUPPORTED_AXIS_SETS)


def test_exactly_means_no_other_axis() -> None:
    formula: Formula = exactly("ep tp")
    for names in SUBSETS:
        values = HALO.config(with_axes(names)).values
        assert holds(HALO, formula, values) == (names == {"ep_size", "tp_size"})


# Fields.


def test_spellings_are_unambiguous() -> None:
    """A name, a flag or another framework's word means one field, dashes or not."""
    owners: dict[str, set[str]] = {}
    for field in HALO.fields:
        for spelling in filter(None, (field.name, field.flag, field.launch, *field.also)):
            owners.setdefault(spelling.replace("-", "_").lower(), set()).add(field.name)
    assert {s: names for s, names in owners.items() if len(names) > 1} == {}
    assert all(name in HALO.field_of for name in HALO.spellings.values())


def test_flags_and_names_are_unique() -> None:
    flags = [field.flag for field in HALO.fields if field.flag]
    names = [field.name for field in HALO.fields]
    assert len(flags) == len(set(flags))
    assert len(names) == len(set(names)) == len(HALO.field_of)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", flag) for flag in flags)


def test_every_field_explains_itself() -> None:
    for field in HALO.fields:
        assert field.about.endswith("."), field.name
        assert field.panel != "Other", field.name


@pytest.mark.parametrize("field", HALO.fields, ids=[field.name for field in HALO.fields])
def test_defaults_are_values_of_their_field(field: Size | Flag | Choice | Sizes) -> None:
    if field.name != HALO.world:
        assert field.parse(field.default) == field.default


@pytest.mark.parametrize(
    "choice",
    [field for field in HALO.fields if isinstance(field, Choice)],
    ids=lambda field: field.name,
)
def test_choices_and_aliases_are_labels(choice: Choice) -> None:
    assert choice.default in choice.choices
    assert len(choice.choices) == len(set(choice.choices))
    for label in choice.choices:
        assert choice.parse(label) == label
    for spelling, label in choice.aliases:
        assert spelling not in choice.choices
        assert choice.parse(spelling) == label
        assert label in choice.choices


def test_defaults_are_accepted() -> None:
    config = HALO.config({"world_size": 1})
    assert config.accepted()
    assert HALO.violated(config.values) == []
    assert config.as_dict(everything=True).keys() == HALO.field_of.keys()


def test_any_spelling_gives_the_same_configuration() -> None:
    plain = HALO.config({"world_size": 8, "ep_size": 8, "lowp_precision": "fp8"})
    other = HALO.config({"world": 8, "expert_parallel_size": 8, "lowp_precision": "fp8"})
    assert plain.values == other.values
    assert HALO.config({"world_size": 8.0, "ep": 8, "dtype": "bfloat16"})["dtype"] == "bf16"


def test_a_configuration_is_its_difference_from_the_defaults() -> None:
    config = HALO.config({"world_size": 8, "ep_size": 8, "trainer": "DistributedSFTTrainer"})
    told = config.as_dict()
    assert told["trainer"] == "sft"
    assert told["ep_size"] == 8
    assert "quantized" not in told
    assert config.replaced({"ep_size": 2})["ep_size"] == 2
    assert config["ep_size"] == 8


# Values that are none.


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ep_size", "8", 'ep_size must be an integer, got "8"'),
        ("ep_size", True, "ep_size must be an integer, got true"),
        ("ep_size", None, "ep_size must be an integer, got null"),
        ("ep_size", 1.5, "ep_size must be an integer, got 1.5"),
        ("ep_size", float("nan"), "ep_size must be an integer, got NaN"),
        ("ep_size", float("inf"), "ep_size must be an integer, got Infinity"),
        ("ep_size", 1e30, r"ep_size must be an integer, got 1e\+30"),
        ("ep_size", [8], r"ep_size must be an integer, got \[8\]"),
        ("ep_size", LARGEST_SIZE + 1, "ep_size is beyond any real size: at most 1,000"),
        ("ep_size", -LARGEST_SIZE - 1, "ep_size is beyond any real size"),
        ("ep_size", 10**5000, "ep_size is beyond any real size"),
        ("world_size", 10**9 + 1, "world_size is beyond any real size: at most 1,000,000,000"),
        ("world_size", 0, "world_size must be at least 1, got 0"),
        ("world_size", -8, r"must be at least 1, got -8 \(halo never checks this"),
        ("num_experts", 0, "num_experts must be at least 1, got 0"),
        ("num_experts", "many", 'num_experts must be an integer or null, got "many"'),
        ("gin_max_tokens_per_rank", -1, "must be at least 0, got -1"),
        ("ep_rows_per_device", -1, "must be at least 0, got -1"),
        ("use_hsdp", 1, "use_hsdp must be true or false, got 1"),
        ("use_hsdp", "yes", 'use_hsdp must be true or false, got "yes"'),
        ("use_hsdp", None, "use_hsdp must be true or false, got null"),
        ("trainer", "sfft", 'trainer has no value "sfft": did you mean "sft"?'),
        ("trainer", "zzzzz", 'trainer has no value "zzzzz"; it takes unspecified, sft, smpo'),
        ("trainer", 3, r"trainer must be text \(unspecified, sft, .*\), got 3"),
        ("trainer", None, "trainer must be text"),
        ("dtype", "int8", 'dtype has no value "int8"'),
        ("launcher", ["torchrun"], "launcher must be text"),
        ("pp_split", [], "pp_split must not be empty; leave it out instead"),
        ("pp_split", [1, True], "pp_split must be a list of integers"),
        ("pp_split", [1, "2"], "pp_split must be a list of integers"),
        ("pp_split", [1.0], "pp_split must be a list of integers"),
        ("pp_split", "1,1", 'pp_split must be a list of integers, got "1,1"'),
        ("pp_split", {1: 1}, "pp_split must be a list of integers"),
        ("pp_split", [LARGEST_SIZE + 1], "pp_split must be a list of integers"),
        ("pp_split", [10**5000], "must be a list of integers, got a number too long to show"),
        ("pp_split", [1] * (MOST_ENTRIES + 1), "pp_split takes at most 1024 entries, got 1025"),
        ("pp_split", ["a" * 10**6], r"got \['aaaa[a]*\.\.\.$"),
        ("use_hsdp", 10**5000, "use_hsdp must be true or false, got a number too long to show"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_a_wrong_value_is_refused_by_name(name: str, value: object, message: str) -> None:
    with pytest.raises(FieldError, match=message) as caught:
        HALO.config({"world_size": 8, name: value})
    assert len(str(caught.value)) < 300
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"world_size": 8, "tp_sise": 2}, "unknown field 'tp_sise': did you mean \"tp_size\"?"),
        ({"world_size": 8, "qqqqqqqq": 2}, "unknown field 'qqqqqqqq'$"),
        ({"world_size": 8, "ep": 2, "ep_size": 2}, "ep and ep_size are the same field; give one"),
        ({"world_size": 8, "ep": 2, "expert_parallel_size": 2}, "are the same field; give one"),
        ({"ep_size": 8}, "world_size is missing"),
        ({}, "world_size is missing"),
        (
            {"world_size": 8, "model_kind": "dense", "num_experts": 8},
            "model_kind is dense, yet num_experts is given; drop one of the two",
        ),
    ],
)
def test_what_makes_no_question_is_misuse(given: dict[str, object], message: str) -> None:
    with pytest.raises(FieldError, match=message):
        HALO.config(given)


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("ep_size", 0, 0),
        ("ep_size", -3, -3),
        ("ep_size", 8.0, 8),
        ("ep_scope", "rack", "rack"),
        ("pp_split", 4, (4,)),
        ("pp_split", (4, 4), (4, 4)),
        ("pp_split", None, None),
        ("num_experts", None, None),
        ("attention_class", "Step3p7Attention", "Step3p7Attention"),
        ("attn_implementation", "kernels-community/flash-attn2", "hub_flash_attention_2"),
        ("model_type", "llama", "llama"),
        ("max_length", LARGEST_SIZE, LARGEST_SIZE),
    ],
)
def test_what_a_rule_reports_or_a_field_knows_is_taken(
    name: str, value: object, held: object
) -> None:
    """Checked fields take illegal values: saying no is a rule's job, with a reason."""
    config = HALO.config({"world_size": 8, name: value})
    assert config[name] == held
    assert type(config[name]) is type(held)


def test_an_illegal_size_silences_rules_that_compute_with_it() -> None:
    values = HALO.config({"world_size": 8, "tp_size": 0, "use_hsdp": True, "ep_size": 8}).values
    assert [HALO.rules[i].id for i in HALO.violated(values)] == ["size-tp-min", "hsdp-with-ep"]
    no_stage = HALO.config({"world_size": 8, "pp_size": 0, "pp_split": [4]}).values
    assert [HALO.rules[i].id for i in HALO.violated(no_stage)] == ["size-pp-min"]
    negative = HALO.config({"world_size": 8, "gpus_per_node": -1, "nvlink_domain_size": -8}).values
    assert [HALO.rules[i].id for i in HALO.violated(negative)] == [
        "gpus-per-node-nonpositive",
        "nvlink-domain-negative",
    ]


@pytest.mark.parametrize("size", [-8, -1, 0, 10**18])
@pytest.mark.parametrize(
    "name", [field.name for field in HALO.fields if isinstance(field, Size) and field.checked]
)
def test_no_size_makes_a_reading_fail(name: str, size: int) -> None:
    """Whatever a checked field holds, verdict, words, warnings and quantities can be read."""
    config = HALO.config({"world_size": 8, "pp_split": [1, 1], **_legal(name, size)})
    for index in HALO.violated(config.values):
        assert HALO.because(index, config.values)
        assert all(HALO.prose(index, config.values))
    for index in HALO.warned(config.values):
        assert isinstance(HALO.warned_because(index, config.values), str)
    assert set(HALO.derive(config.values)) <= set(HALO.quantity_of)
    assert config.accepted() == (not HALO.violated(config.values))


def _legal(name: str, size: int) -> dict[str, object]:
    field = HALO.field_of[name]
    assert isinstance(field, Size)
    return {name: max(-field.maximum, min(size, field.maximum))}
