"""Files of every format: what is understood, what is said of the rest, and where."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parsolve.constraints.fields import Misuse
from parsolve.solver.answer import FileVerdict
from parsolve.solver.facts import with_facts
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.document import FileProblem
from parsolve.solver.files.format import Format, plain
from parsolve.solver.files.formats import FORMATS
from parsolve.solver.files.judging import Asked, verdict_on
from parsolve.solver.files.reading import interpreted, parsed, read

DATA = Path(__file__).parents[2] / "data"


def judged(name: str, content: str, world: int | None = None, **given: object) -> FileVerdict:
    asked = Asked(
        facts=lambda profile, said, model, sizes: with_facts(profile, said, model, None, sizes),
        given=given,
        cluster=Cluster(world=world),
    )
    return verdict_on(name, lambda: content, asked)


def understood(verdict: FileVerdict) -> dict[str, Any]:
    return {each.of: each.value for each in verdict.settings if each.line is not None}


def silent(verdict: FileVerdict) -> dict[str, Any]:
    return {each.of: each.value for each in verdict.settings if each.line is None}


def reasons(verdict: FileVerdict) -> dict[str, str | None]:
    return {each.key: each.why for each in verdict.ignored}


ACCELERATE = """\
compute_environment: LOCAL_MACHINE
debug: false
distributed_type: FSDP
downcast_bf16: 'no'
enable_cpu_affinity: false
fsdp_config:
  fsdp_activation_checkpointing: false
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
  fsdp_reshard_after_forward: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_version: 2
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 2
num_processes: 16
parallelism_config:
  parallelism_config_cp_comm_strategy: alltoall
  parallelism_config_cp_size: 2
  parallelism_config_dp_replicate_size: 1
  parallelism_config_dp_shard_size: 4
  parallelism_config_tp_size: 2
rdzv_backend: static
same_network: true
use_cpu: false
"""


class TestAccelerate:
    def test_a_file_of_accelerate_config(self) -> None:
        verdict = judged("default_config.yaml", ACCELERATE)
        assert verdict.verdict == "accepted"
        assert verdict.format == verdict.profile == "accelerate"
        assert understood(verdict) == {
            "distributed": "fsdp2",
            "cluster.nodes": 2,
            "cluster.world_size": 16,
            "cp_comm_strategy": "alltoall",
            "cp_size": 2,
            "dp_replicate_size": 1,
            "dp_shard_size": 4,
            "tp_size": 2,
        }
        assert verdict.detail is not None
        assert verdict.detail.config["gpus_per_node"] == 8

    @pytest.mark.parametrize(
        ("kind", "wrapper"),
        [
            ("FSDP\nfsdp_config:\n  fsdp_version: 2", "fsdp2"),
            ("FSDP\nfsdp_config:\n  version: 2", "fsdp2"),
            ("FSDP\nfsdp_config:\n  fsdp_version: 1", "fsdp1"),
            ("FSDP", "fsdp1"),
            ("DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3", "deepspeed"),
            ("MULTI_GPU", "ddp"),
            ("'NO'", "ddp"),
        ],
    )
    def test_what_wraps_the_model(self, kind: str, wrapper: str) -> None:
        verdict = judged("a.yaml", f"num_processes: 1\ndistributed_type: {kind}\n")
        assert verdict.detail is not None, verdict.error
        assert understood(verdict)["distributed"] == wrapper

    def test_a_bare_size_is_never_read(self) -> None:
        """It is set and never read: the world is not what it seems."""
        content = ACCELERATE.replace("parallelism_config_tp_size", "tp_size")
        verdict = judged("a.yaml", content)
        assert "tp_size" not in understood(verdict)
        why = reasons(verdict)["parallelism_config.tp_size"]
        assert why is not None
        assert "parallelism_config_tp_size" in why
        assert verdict.verdict == "rejected"

    @pytest.mark.parametrize("kind", ["MEGATRON_LM", "XLA", "MULTI_CPU"])
    def test_another_engine_is_undecided(self, kind: str) -> None:
        verdict = judged("a.yaml", ACCELERATE.replace("FSDP\n", f"{kind}\n", 1))
        assert (verdict.verdict, verdict.line, verdict.column) == ("undecided", 3, 1)

    def test_no_kind_is_undecided(self) -> None:
        verdict = judged("a.yaml", "num_processes: 8\nnum_machines: 1\n")
        assert verdict.verdict == "undecided"
        assert verdict.line is None

    def test_processes_that_accelerate_is_told(self) -> None:
        content = ACCELERATE.replace("num_processes: 16", "num_processes: -1")
        assert judged("a.yaml", content).verdict == "unreadable"
        assert judged("a.yaml", content, world=16).verdict == "accepted"


DEEPSPEED = {
    "train_batch_size": 128,
    "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": 4,
    "zero_optimization": {
        "stage": 2,
        "offload_optimizer": {"device": "cpu", "pin_memory": True},
        "contiguous_gradients": True,
    },
    "bf16": {"enabled": True},
    "fp16": {"enabled": False},
    "gradient_clipping": 1.0,
}


def deepspeed(world: int = 16, **changes: object) -> FileVerdict:
    tree = {key: held for key, held in (DEEPSPEED | changes).items() if held is not None}
    return judged("ds.json", json.dumps(tree, indent=2), world)


class TestDeepSpeed:
    def test_the_triple_that_multiplies(self) -> None:
        verdict = deepspeed()
        assert verdict.verdict == "accepted"
        assert (verdict.format, verdict.profile) == ("deepspeed", "generic")
        assert understood(verdict) == {
            "requested_global_batch": 128,
            "micro_batch": 2,
            "gradient_accumulation_steps": 4,
            "zero_stage": "2",
            "optimizer_offload": True,
            "precision_policy": "mixed-adam",
        }

    def test_the_triple_that_does_not(self) -> None:
        verdict = deepspeed(world=8)
        assert verdict.rules[0].rule == "global-batch-not-reached"
        assert {each.key: each.line for each in verdict.rules[0].settings} == {
            "train_batch_size": 2,
            "train_micro_batch_size_per_gpu": 3,
            "gradient_accumulation_steps": 4,
        }

    @pytest.mark.parametrize(
        ("whole", "micro", "steps", "world", "filled"),
        [
            (128, None, None, 16, {"gradient_accumulation_steps": 1, "micro_batch": 8}),
            (128, None, 4, 16, {"micro_batch": 2}),
            (None, 2, None, 16, {"gradient_accumulation_steps": 1}),
            (None, 2, 4, 16, {}),
            (128, 2, None, 16, {}),
            ("auto", "auto", "auto", 16, {}),
        ],
    )
    def test_what_deepspeed_computes(
        self, whole: object, micro: object, steps: object, world: int, filled: dict[str, int]
    ) -> None:
        verdict = deepspeed(
            world,
            train_batch_size=whole,
            train_micro_batch_size_per_gpu=micro,
            gradient_accumulation_steps=steps,
        )
        assert verdict.verdict == "accepted"
        assert {of: silent(verdict)[of] for of in silent(verdict)} == filled

    @pytest.mark.parametrize(("whole", "steps"), [(100, None), (100, 3), (8, None), (24, 4)])
    def test_a_batch_that_deepspeed_rounds_down_fails_its_assertion(
        self, whole: int, steps: int | None
    ) -> None:
        verdict = deepspeed(
            train_batch_size=whole,
            train_micro_batch_size_per_gpu=None,
            gradient_accumulation_steps=steps,
        )
        assert verdict.verdict == "rejected"

    def test_nothing_means_no_zero_and_fp32(self) -> None:
        verdict = deepspeed(zero_optimization=None, bf16=None, fp16=None)
        assert silent(verdict) == {"zero_stage": "0", "precision_policy": "fp32"}
        assert understood(deepspeed(zero_optimization=True))["zero_stage"] == "1"

    def test_tensor_and_sequence_parallelism(self) -> None:
        verdict = deepspeed(
            tensor_parallel={"autotp_size": 2}, sequence_parallel_size=2, train_batch_size=32
        )
        assert verdict.verdict == "accepted"
        assert (understood(verdict)["tp_size"], understood(verdict)["cp_size"]) == (2, 2)
        assert silent(verdict)["cp_kind"] == "ulysses"
        assert understood(deepspeed(tensor_parallel={"autotp_size": 0}))["tp_size"] == 1

    def test_auto_is_the_callers(self) -> None:
        verdict = deepspeed(bf16={"enabled": "auto"}, train_batch_size="auto")
        assert reasons(verdict)["train_batch_size"] == "auto: whoever calls fills it in"

    def test_stages_are_not_taken_from_here(self) -> None:
        why = reasons(deepspeed(pipeline={"stages": 4}))["pipeline.stages"]
        assert why is not None
        assert "--pp" in why


TITAN = """\
[job]
dump_folder = "./outputs"

[model]
name = "llama3"
flavor = "70B"

[training]
local_batch_size = 8
global_batch_size = -1
seq_len = 8192

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 8
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "Interleaved1F1B"
context_parallel_degree = 1
expert_tensor_parallel_degree = 1

[activation_checkpoint]
mode = "full"
"""


class TestTorchtitan:
    def test_a_job_configuration(self) -> None:
        verdict = judged("llama3_70b.toml", TITAN, 32)
        assert verdict.verdict == "accepted", verdict
        assert understood(verdict) == {
            "micro_batch": 8,
            "seq_length": 8192,
            "dp_replicate_size": 1,
            "dp_shard_size": -1,
            "tp_size": 8,
            "pp_size": 2,
            "pp_schedule": "Interleaved1F1B",
            "cp_size": 1,
            "activation_checkpoint": "full",
        }
        assert silent(verdict) == {"disable_cuda_graphs": True}

    def test_expert_tensor_parallelism_is_no_field(self) -> None:
        content = TITAN.replace(
            "expert_tensor_parallel_degree = 1", "expert_tensor_parallel_degree = 8"
        )
        verdict = judged("a.toml", content, 32)
        assert (verdict.verdict, verdict.line) == ("undecided", 20)
        assert verdict.error is not None
        assert "no such axis" in verdict.error

    def test_what_0_3_added_is_not_of_a_toml(self) -> None:
        why = reasons(judged("a.toml", TITAN + "\n[debug]\nspmd_typechecking = true\n", 32))
        assert "0.3" in (why["debug.spmd_typechecking"] or "")


AXOLOTL = """\
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
output_dir: ./out
sequence_len: 8192
sample_packing: true
micro_batch_size: 1
gradient_accumulation_steps: 4
dp_shard_size: 4
tensor_parallel_size: 2
fsdp_version: 2
fsdp_config:
  offload_params: false
  reshard_after_forward: true
bf16: true
"""


class TestAxolotl:
    def test_sizes_of_a_run(self) -> None:
        verdict = judged("qlora.yaml", AXOLOTL, 8)
        assert verdict.verdict == "accepted"
        assert (verdict.format, verdict.profile) == ("axolotl", "accelerate")
        assert understood(verdict) == {
            "model": "meta-llama/Llama-3.1-8B",
            "seq_length": 8192,
            "micro_batch": 1,
            "gradient_accumulation_steps": 4,
            "dp_shard_size": 4,
            "tp_size": 2,
            "distributed": "fsdp2",
        }

    def test_a_size_that_is_left_out_is_not_what_is_left(self) -> None:
        """What reaches accelerate is what the file says, and 1 for the rest."""
        verdict = judged("a.yaml", AXOLOTL.replace("dp_shard_size: 4\n", ""), 8)
        assert verdict.rules[0].rule == "sizes-not-the-world"

    def test_expert_parallelism_is_undecided(self) -> None:
        verdict = judged("a.yaml", AXOLOTL + "expert_parallel_size: 2\n", 16)
        assert (verdict.verdict, verdict.line) == ("undecided", 17)
        off = judged("a.yaml", AXOLOTL + "expert_parallel_size: 1\n", 8)
        assert off.verdict == "accepted"
        assert "off" in (reasons(off)["expert_parallel_size"] or "")

    @pytest.mark.parametrize(
        ("content", "wrapper"),
        [
            (AXOLOTL.replace("fsdp_version: 2\n", ""), "fsdp1"),
            ("base_model: x/y\nmicro_batch_size: 1\ndeepspeed: zero3.json\n", "deepspeed"),
            ("base_model: x/y\nmicro_batch_size: 1\n", "ddp"),
        ],
    )
    def test_what_wraps_the_model(self, content: str, wrapper: str) -> None:
        verdict = judged("a.yaml", content, 8)
        said = {each.of: each.value for each in verdict.settings}
        assert said["distributed"] == wrapper

    def test_what_axolotl_takes_for_granted(self) -> None:
        verdict = judged("a.yaml", "base_model: x/y\nsample_packing: true\n", 8)
        assert silent(verdict) == {"distributed": "ddp", "micro_batch": 1, "seq_length": 512}

    def test_sequences_split_without_fsdp_are_undecided(self) -> None:
        content = "base_model: x/y\nmicro_batch_size: 1\ncontext_parallel_size: 8\n"
        assert judged("a.yaml", content, 8).verdict == "undecided"

    def test_the_older_name_of_context_parallelism(self) -> None:
        content = AXOLOTL.replace("tensor_parallel_size", "sequence_parallel_degree")
        assert understood(judged("a.yaml", content, 8))["cp_size"] == 2


BRIDGE = """\
model:
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  virtual_pipeline_model_parallel_size: 2
  context_parallel_size: 1
  expert_model_parallel_size: 4
  expert_tensor_parallel_size: 1
  sequence_parallel: true
  num_moe_experts: 64
  num_layers: 48
  seq_length: 4096
  share_embeddings_and_output_weights: false
train:
  train_iters: 1000
  micro_batch_size: 1
  global_batch_size: 512
ddp:
  use_distributed_optimizer: true
optimizer:
  use_distributed_optimizer: false
  lr: 3.0e-4
"""


class TestMegatronConfig:
    def test_overrides_of_megatron_bridge(self) -> None:
        verdict = judged("overrides.yaml", BRIDGE, 64, add_bias_linear=False)
        assert verdict.verdict == "accepted", verdict.detail
        assert understood(verdict) == {
            "tp_size": 4,
            "pp_size": 2,
            "virtual_stages": 2,
            "cp_size": 1,
            "ep_size": 4,
            "expert_tp_size": 1,
            "sequence_parallel": True,
            "num_experts": 64,
            "num_hidden_layers": 48,
            "seq_length": 4096,
            "untie_embeddings": True,
            "micro_batch": 1,
            "requested_global_batch": 512,
            "distributed_optimizer": True,
        }

    def test_a_nemo_file_says_its_cluster(self) -> None:
        content = (
            "trainer:\n  num_nodes: 2\n  devices: 8\n  precision: bf16\n"
            "model:\n  tensor_model_parallel_size: 2\n  micro_batch_size: 1\n"
        )
        verdict = judged("nemo.yaml", content)
        assert verdict.detail is not None
        assert verdict.detail.config["world_size"] == 16
        assert understood(verdict)["tp_size"] == 2

    def test_the_strategy_of_nemo_2(self) -> None:
        content = "trainer:\n  strategy:\n    tensor_model_parallel_size: 2\n"
        assert understood(judged("a.yaml", content, 8)) == {"tp_size": 2}


SAMPLES: dict[str, tuple[str, str]] = {
    "halo": ("a.yaml", "expert_parallel_size: 8\nlearning_rate: 1.0e-5\noutput_dir: null\n"),
    "accelerate": ("a.yaml", ACCELERATE),
    "deepspeed": ("a.json", json.dumps(DEEPSPEED, indent=1)),
    "torchtitan": ("a.toml", TITAN),
    "axolotl": ("a.yaml", AXOLOTL),
    "megatron-config": ("a.yaml", BRIDGE),
}


def test_every_format_that_is_no_command_line_has_a_sample() -> None:
    assert set(SAMPLES) == {each.name for each in FORMATS if each.kinds != {"script"}}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_told_from_all_others(name: str) -> None:
    assert read(*SAMPLES[name]).format.name == name


TREES = {each.name: each for each in FORMATS if each.kinds != {"script"}}
SCALARS = st.none() | st.booleans() | st.integers(-2, 64) | st.sampled_from(["auto", "x", "FSDP"])


def paths(format_: Format) -> list[str]:
    fields = {format_.path_of(each) for each in format_.profile.fields} - {""}
    own = {key.path for key in format_.keys} | set(format_.in_phrases) | set(format_.remarks)
    return sorted({path for path in fields | own | {"some_other_key", "a.b"} if path})


@pytest.mark.parametrize("name", TREES)
@given(data=st.data())
def test_every_entry_is_a_setting_or_ignored_and_not_both(name: str, data: st.DataObject) -> None:
    format_ = TREES[name]
    chosen = data.draw(st.lists(st.sampled_from(paths(format_)), unique_by=plain, max_size=8))
    leaves = [path for path in chosen if not any(o.startswith(f"{path}.") for o in chosen)]
    lines = {path: data.draw(SCALARS) for path in leaves}
    content = "\n".join(f"{json.dumps(path)}: {json.dumps(value)}" for path, value in lines.items())
    document = parsed("a.yaml", content or "{}")
    assert document is not None
    try:
        reading = interpreted(document, format_)
    except FileProblem:  # a value of another type, or two keys that differ
        return
    told = [each.place for each in (*reading.said.values(), *reading.beside) if each.place]
    told += [each.place for each in reading.ignored]
    assert Counter(told) == Counter(entry.place for entry in document.entries)


@pytest.mark.parametrize(
    ("name", "content", "line", "column"),
    [
        ("a.yaml", ACCELERATE.replace("cp_size: 2", "cp_size: two"), 21, 3),
        ("a.yaml", ACCELERATE.replace("num_machines: 2", "num_machines: 0"), 17, 1),
        ("a.json", '{"train_batch_size": 8,\n  "zero_optimization": {"stage": 4}}', 2, 25),
        ("a.toml", TITAN.replace("seq_len = 8192", 'seq_len = "8k"'), 11, 1),
        ("a.yaml", AXOLOTL.replace("dp_shard_size: 4", "dp_shard_size: 4.5"), 10, 1),
        ("a.yaml", BRIDGE.replace("sequence_parallel: true", "sequence_parallel: 4"), 8, 3),
        ("a.yaml", "expert_parallel_size: 8\nexpert_tensor_parallel_size: [2]\n", 2, 1),
    ],
)
def test_a_value_of_another_type_has_its_place(
    name: str, content: str, line: int, column: int
) -> None:
    verdict = judged(name, content, 16)
    assert (verdict.verdict, verdict.line, verdict.column) == ("unreadable", line, column)


@pytest.mark.parametrize(
    ("name", "content", "slip", "meant"),
    [
        ("a.yaml", AXOLOTL + "dp_replicate_sizes: 2\n", "dp_replicate_sizes", "dp_replicate_size"),
        ("a.yaml", ACCELERATE + "num_proceses: 8\n", "num_proceses", "num_processes"),
        (
            "a.toml",
            TITAN.replace("context_parallel_degree = 1", "context_paralel_degree = 1"),
            "parallelism.context_paralel_degree",
            "parallelism.context_parallel_degree",
        ),
        (
            "a.json",
            '{"train_batch_size": 8, "gradient_acumulation_steps": 2}',
            "gradient_acumulation_steps",
            "gradient_accumulation_steps",
        ),
        (
            "a.yaml",
            BRIDGE + "  tensor_model_paralel_size: 4\n",
            "optimizer.tensor_model_paralel_size",
            "optimizer.tensor_model_parallel_size",
        ),
    ],
)
def test_a_slip_of_the_pen(name: str, content: str, slip: str, meant: str) -> None:
    assert reasons(judged(name, content, 16))[slip] == f"did you mean {meant}?"


def test_the_last_of_a_key_counts() -> None:
    content = "expert_parallel_size: 4\nexpert_parallel_size: 8\n"
    verdict = judged("a.yaml", content, 16)
    assert understood(verdict) == {"ep_size": 8}
    assert [each.why for each in verdict.ignored] == ["given again on line 2, which counts"]


def test_null_is_the_default() -> None:
    verdict = judged("a.yaml", "expert_parallel_size: 8\ntensor_parallel_size: null\n", 16)
    assert reasons(verdict) == {"tensor_parallel_size": "null: the default holds"}


RECIPES = [json.loads(row) for row in (DATA / "halo_recipes.jsonl").read_text().splitlines()]
DENSE = {"Qwen/Qwen3.5-9B"}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: Path(recipe["source"]).stem)
def test_a_shipped_recipe_is_accepted_as_the_file_that_it_is(recipe: dict[str, Any]) -> None:
    topology = recipe["topology"]
    content = yaml.safe_dump(
        {"model_name_or_path": recipe["model"], **recipe["fields"]}, sort_keys=False
    )
    kind = "dense" if recipe["model"] in DENSE else "moe"
    verdict = judged(
        "recipe.yaml",
        content,
        topology["world_size"],
        gpus_per_node=topology["gpus_per_node"] or 8,
        trainer=recipe["trainer"],
        model_kind=kind,
    )
    assert verdict.verdict == "accepted", (verdict.error, verdict.rules)
    known = {each.key for each in verdict.settings} | {each.key for each in verdict.ignored}
    assert set(recipe["fields"]) <= known


def test_ties_are_named() -> None:
    with pytest.raises(Misuse, match="nothing in it is about parallelism"):
        read("a.yaml", "learning_rate: 1\n")
