"""Exports: what is written reads back as the same configuration, and nothing is lost in silence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Choice, Field, FieldError, Flag, Size, Sizes
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.export import EXPORTS, Export, text, translated, written
from parsolve.solver.files.format import CLUSTER
from parsolve.solver.files.judging import Asked, configured
from parsolve.solver.files.reading import read

FILES = {name: export for name, export in EXPORTS.items() if export.kind != "script"}
WORLDS = (1, 2, 4, 8, 12, 16, 24, 64, 72)


def values_of(field: Field, world: int) -> st.SearchStrategy[Any]:
    """Values near those that people give; mostly the default."""
    match field:
        case Flag():
            drawn: st.SearchStrategy[Any] = st.booleans()
        case Choice():
            drawn = st.sampled_from(field.choices)
        case Size() if field.divides:
            drawn = st.sampled_from([n for n in range(1, world + 1) if world % n == 0])
        case Size():
            drawn = st.integers(max(1, field.minimum), 64)
        case Sizes():
            drawn = st.lists(st.integers(1, 32), min_size=1, max_size=4)
    return drawn if isinstance(field, Size) and field.divides else st.just(field.default) | drawn


@st.composite
def configs(draw: st.DrawFn, profile: Profile) -> Config:
    """Configurations that are a question, whatever the verdict."""
    world = draw(st.sampled_from(WORLDS))
    names = draw(st.sets(st.sampled_from([each.name for each in profile.fields]), max_size=12))
    fields = [profile.field_of[name] for name in sorted(names)]
    values = {
        each.name: draw(values_of(each, world))
        for each in fields
        if each.role != "cluster" and type(each) in {Size, Flag, Choice, Sizes}
    }
    try:
        return profile.config({**values, profile.world: world})
    except FieldError:  # such as a dense model with experts
        return profile.config({profile.world: world})


def read_back(config: Config, export: Export, content: str) -> Config:
    """The configuration that the file says, on the same cluster."""
    reading = read(export.file, content, config.profile.name)
    assert reading.format is export.format
    world = config[config.profile.world]
    asked = Asked(
        facts=lambda _profile, said, _model, _sizes: dict(said),
        given={},
        cluster=Cluster(world=world),
    )
    return configured(reading, asked)


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_what_is_written_reads_back(name: str, data: st.DataObject) -> None:
    export = FILES[name]
    config = data.draw(configs(export.profile))
    found = written(config, export)
    back = read_back(config, export, text(export, found.settings, ["launch: torchrun SCRIPT"]))
    same = {each.name for each in export.profile.fields} - {"gpus_per_node", *found.unsaid}
    filled = {of for of in same if config[of] is None}
    assert {of: back[of] for of in same - filled} == {of: config[of] for of in same - filled}
    for of in filled:
        assert back[of] is None or export.format.filled is not None


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_what_a_file_has_a_key_for_is_said(name: str, data: st.DataObject) -> None:
    export = FILES[name]
    config = data.draw(configs(export.profile))
    unsaid = written(config, export).unsaid
    for of, value in unsaid.items():
        field = export.profile.field_of[of]
        assert value != field.default or name in {"deepspeed", "torchtitan"}
        assert not export.format.written(field, value) or value is None


@pytest.mark.parametrize("name", FILES)
def test_every_key_of_a_field_can_be_written(name: str) -> None:
    """One field off its default at a time: as many settings as the tables say, and no more."""
    export = FILES[name]
    profile = export.profile
    said = {key.of for key in export.format.keys} - set(CLUSTER)
    for of in said & set(profile.field_of) - {"precision_policy"}:
        value = off_default(profile.field_of[of])
        if value is None:  # it has one value only
            continue
        try:
            config = profile.config({profile.world: 64, of: value})
        except FieldError:
            continue
        assert of not in written(config, export).unsaid


def off_default(field: Field) -> object:
    match field:
        case Flag():
            return not field.default
        case Choice():
            labels = [label for label in field.choices if label != field.default]
            return labels[0] if labels else None
        case Size():
            return 4
        case _:
            return [1]


def test_a_plain_run_is_a_file_too() -> None:
    for export in FILES.values():
        config = export.profile.config({export.profile.world: 8})
        content = text(export, written(config, export).settings, [])
        assert read_back(config, export, content)[export.profile.world] == 8


@pytest.mark.parametrize(
    ("source", "given_", "target", "said"),
    [
        (
            "halo",
            {"ep_size": 8, "per_device_train_batch_size": 2, "model_kind": "moe"},
            "megatron",
            {"ep_size": 8, "expert_tp_size": 1, "micro_batch": 2, "model_kind": "moe"},
        ),
        ("halo", {"tp_size": 2}, "torchtitan", {"tp_size": 2, "dp_shard_size": -1}),
        ("halo", {"tp_size": 2}, "accelerate", {"tp_size": 2, "dp_shard_size": 8}),
        (
            "generic",
            {"dp_replicate_size": 2, "cp_size": 2},
            "accelerate",
            {"dp_replicate_size": 2, "cp_size": 2, "dp_shard_size": 4},
        ),
        (
            "generic",
            {"tp_size": 2, "gradient_accumulation_steps": 4, "micro_batch": 1},
            "megatron",
            {"tp_size": 2, "requested_global_batch": 32, "micro_batch": 1},
        ),
    ],
)
def test_another_frameworks_words(
    source: str, given_: dict[str, Any], target: str, said: dict[str, Any]
) -> None:
    config = PROFILES[source].config({"world_size": 16, **given_})
    moved = translated(config, EXPORTS[target])
    assert {of: moved.config[of] for of in said} == said
    assert moved.axes == {}


def test_an_axis_without_counterpart_is_told_apart() -> None:
    config = PROFILES["halo"].config({"world_size": 16, "ep_size": 8, "trainer": "sft"})
    moved = translated(config, EXPORTS["accelerate"])
    assert moved.axes == {"ep_size": 8}
    assert moved.lost == {"ep_size": 8, "trainer": "sft"}
