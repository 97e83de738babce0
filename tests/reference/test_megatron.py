"""The independent Megatron validator against recorded verdicts, and the catalogue against it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from parsolve.constraints.megatron import MEGATRON
from parsolve.constraints.profile import holds
from parsolve.reference.megatron import Config, check
from parsolve.reference.megatron_layout import ORDERS, layout
from tests.megatron_cases import broken, group_rows, is_recorded_as, recorded
from tests.near_valid_megatron import asked, drawn

SHORT = {
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "cp": "context_parallel_size",
    "ep": "expert_model_parallel_size",
    "etp": "expert_tensor_parallel_size",
    "sp": "sequence_parallel",
    "vpp": "num_virtual_stages_per_pipeline_rank",
    "layers_per_vpp": "num_layers_per_virtual_pipeline_stage",
    "mbs": "micro_batch_size",
    "gbs": "global_batch_size",
    "layers": "num_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "groups": "num_query_groups",
    "experts": "num_experts",
    "seq": "seq_length",
    "dist_opt": "use_distributed_optimizer",
    "recompute": "recompute_granularity",
    "recompute_layers": "recompute_num_layers",
    "first_layers": "decoder_first_pipeline_num_layers",
    "last_layers": "decoder_last_pipeline_num_layers",
}
STAGES = {
    "args": "arguments",
    "batch": "batch",
    "config": "config",
    "layers": "layers",
    "groups": "groups",
    "runtime": "first-step",
}


def test_recorded_verdicts() -> None:
    """Verdict, stage, raising line and what is derived, of every recorded configuration."""
    places = Counter[str]()
    for row in recorded():
        inputs = row["inputs"]
        given: dict[str, Any] = {SHORT.get(key, key): value for key, value in inputs.items()}
        config = Config(
            **given,
            bf16=True,
            gradient_accumulation_fusion=False,
            apply_rope_fusion=False,
            transformer_engine=False,
            cuda_device_max_connections=1,
            max_position_embeddings=inputs["seq"],
            add_bias_linear=not inputs.get("experts"),
        )
        verdict = check(config, steps=tuple(STAGES.values()))
        assert verdict.accepted == row["accept"], row
        if not verdict.accepted:
            assert (verdict.stage, verdict.where) == (STAGES[row["stage"]], row["where"]), row
            places[row["where"]] += 1
            continue
        derived, expected = verdict.derived, row["derived"]
        assert derived is not None
        assert derived.data_parallel_size == expected["dp"]
        assert derived.sequence_parallel == expected["sp"]
        assert derived.running_global_batch_size == expected["gbs"]
        assert derived.num_microbatches == expected["microbatches"]
        assert [list(rank) for rank in derived.layers_per_stage] == expected["layers_per_stage"]
        assert derived.group_sizes == expected["sizes"]
    assert len(places) == 28


@pytest.mark.parametrize("seed", range(3))
def test_the_catalogue_says_what_the_validator_says(seed: int) -> None:
    """Verdict, raising line of the first rule, and derived sizes, of near-valid configurations."""
    random_ = random.Random(seed)
    met = Counter[str]()
    for _ in range(4000):
        given = drawn(random_)
        config = MEGATRON.config(given)
        verdict = check(asked(config))
        rules = broken(config)
        assert verdict.accepted == (not rules), (given, verdict, rules)
        if verdict.derived is not None:
            found = MEGATRON.with_lists(config.values, MEGATRON.derive(config.values))
            assert found["data_parallel_size"] == verdict.derived.data_parallel_size
            assert found["expert_data_parallel_size"] == verdict.derived.expert_data_parallel_size
            assert found["microbatches"] == verdict.derived.num_microbatches, given
            assert found["sequence_parallel"] == verdict.derived.sequence_parallel
            stages = [list(rank) for rank in verdict.derived.layers_per_stage]
            assert found["layers_per_stage"] == stages, given
            met["accepted"] += 1
            continue
        assert verdict.where is not None
        met[rules[0].id] += 1
        file, _, line = verdict.where.split()[0].rpartition(":")
        source = rules[0].source
        place = (source.file, source.lines) if line.isdigit() else (source.file, ())
        assert (file or line) == place[0], (given, verdict, rules[0].id)
        assert not line.isdigit() or int(line) in place[1], (given, verdict, rules[0].id)
    assert met["accepted"] > 1000
    assert len(met) > 60


@pytest.mark.parametrize("row", group_rows(), ids=lambda row: "-".join(map(str, row.values()))[:40])
def test_groups_are_those_of_the_real_rank_generator(row: dict[str, Any]) -> None:
    """Both voices, up to 1,024 ranks and in both orders."""
    made = layout(
        world_size=row["world_size"],
        tensor_model_parallel_size=row["tp"],
        pipeline_model_parallel_size=row["pp"],
        context_parallel_size=row["cp"],
        expert_model_parallel_size=row["ep"],
        expert_tensor_parallel_size=row["etp"],
        order=row["order"],
    )
    for name, groups in row["groups"].items():
        assert is_recorded_as(getattr(made, name), groups), name
    config = MEGATRON.config(
        {
            "world_size": row["world_size"],
            "tp_size": row["tp"],
            "pp_size": row["pp"],
            "cp_size": row["cp"],
            "ep_size": row["ep"],
            "expert_tp_size": row["etp"],
            "tp_pp_dp_order": row["order"] == ORDERS[1],
        }
    )
    for grouping in MEGATRON.layout.groupings:
        if holds(MEGATRON, grouping.where, config.values):
            groups = grouping.groups(MEGATRON.fields)(config.values)
            name = {"expert_dp": "edp"}.get(grouping.name, grouping.name)
            assert is_recorded_as(groups, row["groups"][name]), grouping.name
