"""The generic profile: its catalogue, quantities by hand, and memory in public threads."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from parsolve.constraints.fields import GIB, FieldError
from parsolve.constraints.formula import fields_of
from parsolve.constraints.generic import GENERIC
from parsolve.constraints.generic.traffic import QUANTITIES
from parsolve.constraints.models.config import shape_of
from parsolve.constraints.models.parameters import facts
from parsolve.constraints.profile import Config
from parsolve.constraints.rule import Rule
from parsolve.solver.answer import Best, Solutions
from parsolve.solver.claims import divisor_claims
from parsolve.solver.huggingface import model_fields, read_model_facts
from parsolve.solver.memory import usage
from parsolve.solver.query import build_query
from parsolve.solver.solve import best, solutions

KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
LLAMA_3_8B = {k: v for k, v in GENERIC.bounds[-1].example.rejects.items() if k != "gpu_memory"}


def config(**given: object) -> Config:
    return GENERIC.config({"world_size": 8, **given})


def rules_broken(**given: object) -> list[str]:
    return [GENERIC.limits[i].id for i in GENERIC.violated(config(**given).values)]


def notices(**given: object) -> set[str]:
    return {GENERIC.warnings[i].id for i in GENERIC.warned(config(**given).values)}


def derived(**given: object) -> dict[str, Any]:
    return GENERIC.derive(config(**given).values)


def filled(**given: object) -> dict[str, Any]:
    return GENERIC.filled(config(**{**LLAMA_3_8B, **given}).values)


# --- the catalogue --------------------------------------------------------------------------


@pytest.mark.parametrize("rule", GENERIC.limits, ids=[rule.id for rule in GENERIC.limits])
def test_a_rule_alone_rejects_its_example_and_nothing_its_remedy(rule: Rule) -> None:
    assert rules_broken(**rule.example.rejects) == [rule.id]
    assert rules_broken(**rule.example.instead) == []


def test_ids_and_prose_are_in_order() -> None:
    ids = [rule.id for rule in GENERIC.limits] + [notice.id for notice in GENERIC.warnings]
    assert len(ids) == len(set(ids))
    assert all(map(KEBAB.fullmatch, ids))
    for rule in GENERIC.limits:
        assert rule.reason.endswith(".")
        assert rule.remedy.endswith(".")


def test_names_and_flags_are_unique() -> None:
    flags = [field.flag for field in GENERIC.fields if field.flag]
    assert len(flags) == len(set(flags))
    assert len(GENERIC.field_of) == len(GENERIC.fields)
    assert all(field.about.endswith(".") for field in GENERIC.fields)


def test_every_field_is_read() -> None:
    """What no rule, notice or account reads would promise something."""
    account = GENERIC.account
    assert account is not None
    nodes: list[Any] = [node for rule in GENERIC.limits for node in rule.nodes]
    nodes += [notice.when for notice in GENERIC.warnings] + list(account.named)
    unread = set(GENERIC.field_of) - fields_of(*nodes)
    assert unread == {"launcher"}


def test_the_defaults_are_accepted() -> None:
    assert config(world_size=1).accepted()
    assert rules_broken(world_size=1_000_003) == []


def test_a_zero_stage_is_a_number_or_text() -> None:
    assert config(zero_stage=1)["zero_stage"] == config(zero="1")["zero_stage"] == "1"
    for wrong in (4, True, 1.5, None):
        with pytest.raises(FieldError, match="zero_stage"):
            config(zero_stage=wrong)


# --- what is not refused --------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        # EP neither divides dp nor stays below it: experts fold over dp * cp * tp
        {"world_size": 16, "tp_size": 8, "ep_size": 16, "num_experts": 64},
        {"world_size": 1024, "tp_size": 2, "pp_size": 16, "ep_size": 64, "num_experts": 256},
        {"world_size": 12},
        {"world_size": 64, "pp_size": 4, "num_hidden_layers": 61},
        {"world_size": 16, "tp_size": 16, "num_attention_heads": [64], "num_key_value_heads": [8]},
        {"world_size": 16, "cp_size": 16, "num_attention_heads": [40]},
        {"world_size": 8, "tp_size": 8, "num_key_value_heads": [1], "mla": True},
        {"world_size": 8, "tp_size": 8, "cp_size": 1, "seq_length": 4097},
        {"world_size": 8, "pp_size": 8, "zero_stage": "3"},
    ],
)
def test_legal_somewhere_means_accepted(given: dict[str, object]) -> None:
    assert rules_broken(**given) == []


@pytest.mark.parametrize(
    ("given", "notice"),
    [
        ({"world_size": 8, "tp_size": 8, "zero_stage": "1"}, "zero-shards-nothing"),
        ({"world_size": 16, "tp_size": 16, "gpus_per_node": 8}, "tp-leaves-nvlink-domain"),
        ({"world_size": 16, "ep_size": 16, "gpus_per_node": 8}, "ep-leaves-nvlink-domain"),
        (
            {"world_size": 72, "gpus_per_node": 12, "tp_size": 8},
            "tp-splits-nvlink-domain",
        ),
        (
            {"world_size": 288, "gpus_per_node": 4, "nvlink_domain_size": 72, "ep_size": 32},
            "ep-splits-nvlink-domain",
        ),
        ({"world_size": 8, "pp_size": 8, "num_microbatches": 1}, "microbatches-below-stages"),
        ({"world_size": 8, "tp_size": 8, "num_key_value_heads": [4]}, "kv-heads-replicated"),
        ({"world_size": 8, "pp_size": 8, "num_hidden_layers": 61}, "stages-uneven"),
        ({"world_size": 8, "cp_size": 8, "seq_length": 4088}, "sequence-padded"),
        ({"world_size": 8, "pp_size": 8}, "zero-with-pipeline"),
        (
            {"world_size": 8, "zero_stage": 0, "dp_replicate_size": 2},
            "replicas-of-nothing-sharded",
        ),
        (
            {"world_size": 8, "zero_stage": 1, "reshard_after_forward": False},
            "reshard-without-sharded-weights",
        ),
        ({"world_size": 8, "cp_kind": "ulysses"}, "cp-kind-without-cp"),
        ({"world_size": 8, "pp_schedule": "gpipe"}, "schedule-without-stages"),
    ],
)
def test_what_runs_and_should_be_known(given: dict[str, object], notice: str) -> None:
    assert rules_broken(**given) == []
    assert notice in notices(**given)
    assert notice not in notices(world_size=8, gpus_per_node=8)


def test_every_violated_rule_is_told() -> None:
    """A user with three GPUs met these one after the other."""
    broken = rules_broken(world_size=3, tp_size=3, ep_size=3, num_experts=8,
                          num_attention_heads=[32], num_key_value_heads=[8])  # fmt: skip
    assert broken == [
        "heads-not-divisible-by-tp", "kv-heads-not-shared-equally", "experts-not-divisible-by-ep",
    ]  # fmt: skip


HEADS_40 = {"num_attention_heads": [40], "num_key_value_heads": [8]}
GRID_THREADS: list[tuple[str, dict[str, object], list[str]]] = [
    # id in ../shared/cases/threads.jsonl, the job, rules broken
    ("B01", {"world_size": 1, "cp_size": 2}, ["dense-grid-not-tiling-world"]),
    ("B01", {"world_size": 8, "cp_size": 2}, []),
    ("B05", {"tp_size": 4, "dp_replicate_size": 2, "zero_stage": "0", **HEADS_40}, []),
    (
        "B06",
        {"world_size": 7, "micro_batch": 2, "global_batch": 256},
        ["global-batch-not-divisible"],
    ),
    ("B06", {"world_size": 7, "micro_batch": 2, "global_batch": 126}, []),
    ("B11", {"tp_size": 2, "cp_size": 2, "ep_size": 4}, []),
    ("B11", {"tp_size": 2, "cp_size": 2, "ep_size": 8}, []),
    ("B11", {"tp_size": 2, "cp_size": 2, "ep_size": 3}, ["expert-grid-not-tiling-world"]),
    (
        "B12",
        {"world_size": 3, "tp_size": 3, "ep_size": 3, "num_experts": 256,
         "num_attention_heads": [64]},
        ["heads-not-divisible-by-tp", "experts-not-divisible-by-ep"],
    ),
    (
        "B12",
        {"world_size": 4, "tp_size": 4, "ep_size": 4, "num_experts": 256,
         "num_attention_heads": [64]},
        [],
    ),
    (
        "B15",
        {"tp_size": 8, "num_attention_heads": [28], "num_key_value_heads": [4]},
        ["heads-not-divisible-by-tp"],
    ),
    ("B15", {"tp_size": 4, "num_attention_heads": [28], "num_key_value_heads": [4]}, []),
    ("B21", {"world_size": 4, "tp_size": 4, "num_attention_heads": [64]}, []),
    (
        "B34",
        {"world_size": 16, "cp_size": 4, "cp_kind": "ulysses", "dp_replicate_size": 2},
        [],
    ),
    ("B61", {"world_size": 16, "pp_size": 2, "ep_size": 8, "num_hidden_layers": 43}, []),
]  # fmt: skip


@pytest.mark.parametrize(("thread", "given", "broken"), GRID_THREADS)
def test_threads_about_grids(thread: str, given: dict[str, object], broken: list[str]) -> None:
    assert rules_broken(**given) == broken, thread


@pytest.mark.parametrize(
    ("thread", "given", "notice"),
    [
        # legal in one framework and refused in another: said, not refused
        (
            "B13",
            {"tp_size": 8, "num_attention_heads": [32], "num_key_value_heads": [4]},
            "kv-heads-replicated",
        ),
        (
            "B17",
            {"world_size": 4, "cp_size": 4, "cp_kind": "ulysses", "num_attention_heads": [16],
             "num_key_value_heads": [2]},
            "kv-heads-replicated",
        ),
        ("B22", {"world_size": 64, "pp_size": 4, "num_hidden_layers": 46}, "stages-uneven"),
        ("B23", {"pp_size": 8, "num_hidden_layers": 92}, "stages-uneven"),
        (
            "B24",
            {"world_size": 16, "pp_size": 16, "pp_schedule": "interleaved", "virtual_stages": 2,
             "num_hidden_layers": 80},
            "stages-uneven",
        ),
        ("B25", {"pp_size": 4, "num_hidden_layers": 30}, "stages-uneven"),
        ("B29", {"pp_size": 8, "num_microbatches": 1}, "microbatches-below-stages"),
    ],
)  # fmt: skip
def test_threads_that_only_some_frameworks_refuse(
    thread: str, given: dict[str, object], notice: str
) -> None:
    assert rules_broken(**given) == [], thread
    assert notice in notices(**given)


# --- quantities by hand ---------------------------------------------------------------------


def test_deepseek_v3_on_1024_gpus() -> None:
    """The seed guide multiplies EP into the world; it has a grid of its own."""
    found = derived(world_size=1024, tp_size=2, pp_size=16, ep_size=64, num_experts=256)
    assert found["data_parallel_size"] == 32
    assert found["expert_data_parallel_size"] == 1
    assert found["experts_per_rank"] == 4
    assert found["microbatches"] == 16
    assert found["bubble"] == 1000 * 15 // 31


def test_batches_and_tokens() -> None:
    found = derived(world_size=64, tp_size=4, pp_size=4, cp_size=2, micro_batch=2, global_batch=64,
                    seq_length=8192, dp_replicate_size=2)  # fmt: skip
    assert found["data_parallel_size"] == 2
    assert found["shard_group_size"] == 2
    assert found["microbatches"] == 16
    assert found["tokens_per_step"] == 64 * 8192
    assert found["bubble"] == 1000 * 3 // 19
    interleaved = derived(world_size=64, pp_size=4, pp_schedule="interleaved", virtual_stages=2,
                          num_microbatches=8, gradient_accumulation_steps=2)  # fmt: skip
    assert interleaved["microbatches"] == 16
    assert interleaved["global_batch"] == 16 * 16
    assert interleaved["bubble"] == 1000 * 3 // (2 * 8 + 3)


def test_a_batch_that_is_no_multiple_says_so_with_its_numbers() -> None:
    given = config(world_size=14, gpus_per_node=7, global_batch=128)
    (index,) = GENERIC.violated(given.values)
    assert "14 does not divide requested_global_batch = 128" in GENERIC.because(index, given.values)


@pytest.mark.parametrize(
    ("world", "node"), [(1, 1), (6, 6), (12, 4), (22, 2), (24, 8), (64, 8), (7919, 1)]
)
def test_nodes_that_nobody_stated_tile_the_world(world: int, node: int) -> None:
    found = derived(world_size=world)
    assert found["gpus_per_node"] == node
    assert found["num_nodes"] * node == world


# --- searches -------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [1, 7, 12, 24])
def test_a_search_finds_what_loops_find(world: int) -> None:
    found = solutions(build_query(GENERIC, [world], {"model_kind": "moe"}))
    assert isinstance(found, Solutions)
    assert found.complete
    assert found.certificate is not None
    names = GENERIC.searched
    listed = {tuple(s.config[n] for n in names) for s in found.solutions}
    divisors = [n for n in range(1, world + 1) if world % n == 0]
    expected = {
        (pp, tp, cp, etp, ep)
        for pp, tp, cp, etp, ep in product(divisors, repeat=5)
        if world % (tp * pp * cp) == 0 and (ep * etp == 1 or world % (ep * etp * pp) == 0)
    }
    assert listed == expected


def test_sizes_divide_the_world_by_proof() -> None:
    assert set(divisor_claims(GENERIC).values()) == {"proved"}


def test_the_smallest_cluster_that_fits_is_found() -> None:
    given = {**LLAMA_3_8B, "gpu_memory": 24 * GIB, "recompute": "full"}
    given.pop("world_size")
    query = build_query(GENERIC, range(1, 17), given, objectives=[("world_size", False)])
    found = best(query)
    assert isinstance(found, Best)
    world = found.solutions[0].config["world_size"]
    fits = [
        any(
            config(**given, world_size=n, tp_size=tp, pp_size=pp, cp_size=cp).accepted()
            for tp, pp, cp in product(range(1, n + 1), repeat=3)
            if n % (tp * pp * cp) == 0
        )
        for n in range(1, world + 1)
    ]
    assert fits == [False] * (world - 1) + [True]


# --- memory by hand -------------------------------------------------------------------------

FREED: dict[str, object] = {"zero_stage": "0", "optimizer_offload": True}
"""No optimizer on the GPU, so that its step is not the peak."""

DENSE = 525_336_576 * 2 + 1_342_177_280 + 5_637_144_576 + 266_240


@pytest.mark.parametrize(
    ("stage", "parameters", "optimizer"),
    [("0", 2, 12), ("1", 2, 1.5), ("2", 2, 1.5), ("3", 0.25, 1.5)],
)
def test_zero_stages_shard_what_they_say(stage: str, parameters: float, optimizer: float) -> None:
    found = filled(zero_stage=stage, recompute="full")
    assert found["parameters_bytes"] == pytest.approx(DENSE * parameters, abs=8)
    assert found["optimizer_state_bytes"] == pytest.approx(DENSE * optimizer, abs=16)


def test_offload_empties_the_optimizer_and_hsdp_shards_less() -> None:
    assert filled(optimizer_offload=True)["optimizer_state_bytes"] == 0
    halves = filled(dp_replicate_size=2)["optimizer_state_bytes"]
    assert halves == pytest.approx(2 * filled()["optimizer_state_bytes"], abs=16)


def test_cp_divides_tokens_and_no_weights() -> None:
    alone, split = filled(recompute="full"), filled(recompute="full", cp_size=4)
    assert split["tokens_per_gpu"] * 4 == alone["tokens_per_gpu"] == 8192
    assert split["local_parameters"] == alone["local_parameters"] == DENSE


def test_saved_inputs_of_full_recomputation() -> None:
    """A layer's input for each layer and token, as B59 counts: layers * s * h * 2."""
    inputs = 32 * 8192 * 4096 * 2
    assert filled(recompute="full")["activations_bytes"] == inputs


def test_scores_of_eager_attention_are_kept_or_one_layer_s_computed_again() -> None:
    """5 bytes per head, query and key: 32 heads, 8192 tokens."""
    given = {**FREED, "num_attention_heads": [32], "fused_linear_cross_entropy": True}
    scores, inner = 5 * 32 * 8192 * 8192, 8192 * 2 * 2 * 14_336
    layer = 8192 * 2 * (4 * 4096 + (4096 + 1024 + 1024) + (4096 + 1024) + 4096 + 3 * 14_336 + 4096)

    def kept(recompute: str, **more: object) -> object:
        return filled(**given, attention="eager", recompute=recompute, **more)["activations_bytes"]

    assert kept("none") == 32 * (layer + scores)
    assert kept("selective") == 32 * layer + inner + scores
    # with all gradients the end of the backward pass is the peak: the layers' inputs are gone
    assert kept("full") == layer + inner + scores
    cut = 8192 * 2 * ((4096 + 1024 + 1024) + (4096 + 1024) + 4096 + 3 * 14_336) + inner + scores
    # an eighth of them leaves the start as the peak
    assert kept("full", tp_size=8) == 8192 * 2 * (32 + 5) * 4096 + cut // 8


def test_a_pipeline_keeps_more_micro_batches_on_its_first_stage() -> None:
    given = {
        **FREED,
        "recompute": "full",
        "pp_size": 4,
        "num_microbatches": 16,
        "fused_linear_cross_entropy": True,
    }
    of_stage = 8 * 8192 * 4096 * 2
    plain = filled(**given)["activations_bytes"]
    interleaved = filled(**given, pp_schedule="interleaved", virtual_stages=2)["activations_bytes"]
    assert 4 * of_stage < plain < 8 * of_stage
    assert interleaved - plain == of_stage * 3 // 2
    assert filled(**given, pp_schedule="gpipe")["activations_bytes"] == 16 * of_stage


def test_logits_can_make_the_last_stage_the_fuller() -> None:
    found = filled(**FREED, pp_size=2, recompute="full", num_microbatches=1)
    assert found["loss_bytes"] == 8192 * 128_256 * 10
    fused = filled(
        **FREED, pp_size=2, recompute="full", num_microbatches=1, fused_linear_cross_entropy=True
    )
    assert fused["loss_bytes"] < found["loss_bytes"] / 2


def test_parts_add_up() -> None:
    account = GENERIC.account
    assert account is not None
    for given in (
        {},
        {"recompute": "full"},
        {"zero_stage": "0"},
        {"pp_size": 8},
        {"lora_rank": 16},
    ):
        found = filled(**given)
        assert sum(found[part.bytes.name] for part in account.parts) == found["memory_per_gpu"]
        assert found["memory_per_gpu"] == found["allocated_bytes"] + found["reserve_bytes"]


def test_experts_are_sharded_over_their_own_data_parallel_ranks() -> None:
    """Dense states over dp * cp = 64 / (2 * 2) * 2, experts over 64 / (8 * 2) = 4."""
    model = read_model_facts("qwen3-30b-a3b").memory()
    experts = model["routed_expert_parameters"] // 2 // 8
    given = {n: v for n, v in model.items() if n in GENERIC.field_of and v != 0}
    job = config(**given, world_size=64, tp_size=2, pp_size=2, ep_size=8, seq_length=4096)
    found = GENERIC.filled(job.values)
    assert found["expert_parameters_per_gpu"] == experts
    assert found["expert_weights_bytes"] == 2 * experts // 4
    assert found["expert_optimizer_bytes"] == 12 * experts // 4
    dense = found["dense_parameters_per_gpu"]
    rest = found["optimizer_state_bytes"] - found["expert_optimizer_bytes"]
    assert rest == pytest.approx(12 * dense / 16, abs=12)
    step = GENERIC.filled(job.replaced({"seq_length": 1}).values)
    assert step["expert_gradients_bytes"] < step["gradients_bytes"]


def test_lora_trains_its_adapters_only() -> None:
    found = filled(lora_rank=16)
    assert found["optimizer_state_bytes"] < filled()["optimizer_state_bytes"] / 50
    assert found["parameters_bytes"] == filled()["parameters_bytes"]


def test_gradients_of_what_is_trained_are_reduced() -> None:
    """Adapters of rank 16: 16 * (in + out) for seven matrices of 32 layers."""
    widths = 4 * 4096 + (4096 + 1024 + 1024 + 4096) + 3 * (4096 + 14_336)
    adapters = 16 * 32 * widths
    assert filled(lora_rank=16, zero_stage="1")["comm_volume_dp"] == 2 * (7 * 2 * adapters // 8)
    assert filled(lora_rank=16, zero_stage="0")["comm_volume_dp"] == 2 * (7 * 2 * adapters // 8)
    gathered = 2 * (7 * 2 * DENSE // 8)
    assert filled(lora_rank=16)["comm_volume_dp"] == gathered + 7 * 2 * adapters // 8


def test_replicas_reduce_among_shards_and_then_across_by_hand() -> None:
    """HSDP: two replicas of four shards."""
    shards = 3 * 2 * DENSE // 4
    across = 2 * ((-(-2 * DENSE // 4)) // 2)
    assert filled(dp_replicate_size=2)["comm_volume_dp"] == 3 * shards + across
    assert filled(dp_replicate_size=2, zero_stage="2")["comm_volume_dp"] == 2 * shards + across
    whole = filled(zero_stage="0")["comm_volume_dp"]
    assert filled(dp_replicate_size=2, zero_stage="0")["comm_volume_dp"] == whole
    assert whole == 2 * (7 * 2 * DENSE // 8)
    # eight replicas of one shard: an all-reduce, and nothing to gather
    assert filled(dp_replicate_size=8)["comm_volume_dp"] == whole
    # experts have ranks of their own: 16 hold each, in two replicas of eight shards
    given = {"world_size": 32, "ep_size": 2, "dp_replicate_size": 2, "zero_stage": "1"}
    moe = {"routed_expert_parameters": 32_000, "num_moe_layers": 32}
    experts = 2 * (7 * 2 * 16_000 // 8) + 2 * (2 * 16_000 // 8 // 2)
    dense_ffn = {"dense_ffn_parameters": 0, "layer_dense_parameters": 0}
    both = filled(**given, **moe, **dense_ffn)["comm_volume_dp"]
    dense = filled(**given, **dense_ffn)["comm_volume_dp"]
    assert both - dense == experts


def test_volumes_of_rings() -> None:
    """Eight ranks send 7/8 of a buffer per pass; tp all-reduces four times per layer."""
    zero = filled(zero_stage="1")
    assert zero["comm_volume_dp"] == 2 * (7 * 2 * DENSE // 8)
    assert filled()["comm_volume_dp"] == 3 * (7 * 2 * DENSE // 8)
    rows = 8192 * 4096 * 2
    tp = filled(tp_size=8)
    assert tp["comm_volume_tp"] == 32 * 4 * 2 * (7 * rows // 8)
    assert filled(cp_size=2)["comm_volume_cp"] == 32 * 3 * (4096 * 2048 * 2)
    assert filled(pp_size=2)["comm_volume_pp"] == 2 * 2 * rows
    assert tp["comm_volume"] == sum(tp[volume.name] for volume in QUANTITIES[:-1])


# --- public threads -------------------------------------------------------------------------

THREADS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/memory_threads.jsonl").read_text().splitlines()
]


def thread_config(row: dict[str, Any]) -> Config:
    if "model" in row:
        model = read_model_facts(row["model"])
        known = {**model.fields, **model.memory()}
    else:
        known = {**model_fields(row["config"]), **facts(shape_of(row["config"], row["id"]))}
    model_facts = {n: v for n, v in known.items() if n in GENERIC.field_of and v != 0}
    return GENERIC.config({**model_facts, **row["given"], "gpu_memory": row["gpu"]})


@pytest.mark.parametrize("row", THREADS, ids=lambda row: row["id"])
def test_a_thread_is_answered_right(row: dict[str, Any]) -> None:
    given = thread_config(row)
    used = usage(given)
    assert used is not None
    assert used.state == row["truth"], used.bytes["total"] / GIB
    broken = [GENERIC.limits[i].id for i in GENERIC.violated(given.values)]
    assert broken == (["memory-exceeds-gpu"] if row["truth"] == "over" else [])
    warned = {GENERIC.warnings[i].id for i in GENERIC.warned(given.values)}
    assert set(row["warns"]) <= warned
    assert ("ep-leaves-nvlink-domain" in warned) == ("ep-leaves-nvlink-domain" in row["warns"])


def test_adams_temporary_of_llama_7b_is_the_request_that_failed() -> None:
    """B51: Adam asked for 3.14 GiB, 4 bytes for each of a rank's parameters."""
    row = next(row for row in THREADS if row["id"] == "B51")
    parameters = GENERIC.filled(thread_config(row).values)["model_parameters"]
    assert round(4 * parameters / 8 / GIB, 2) == 3.14
