"""``--export``: standard output is the file and nothing else; nothing is lost in silence."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parsolve.cli.exporting import artefact
from parsolve.constraints import PROFILES
from parsolve.constraints.memory.facts import FACT_NAMES
from parsolve.solver.files.export import EXPORTS
from tests.cli.run import Outcome, cli
from tests.solver.files.test_export import configs, read_back

CLUSTER = ("--world", "16", "--gpus-per-node", "8")


def test_a_halo_file_is_yaml_with_its_launch_line() -> None:
    done = cli("check", *CLUSTER, "--ep", "8", "--trainer", "sft", "--export", "halo")
    assert done.code == 0
    assert yaml.safe_load(done.out) == {"expert_parallel_size": 8}
    first, second, *_ = done.out.splitlines()
    assert first == (
        "# launch: torchrun --nnodes 2 --nproc_per_node 8 --rdzv_endpoint HOST:PORT SCRIPT "
        "train.yaml"
    )
    assert second == '# checked for: trainer = "sft"'
    assert done.err == 'parsolve: checked for: trainer = "sft"\n'


def test_an_accelerate_file() -> None:
    done = cli(
        "check", *CLUSTER, "--profile", "accelerate", "--tp", "2", "--dp-shard", "8",
        "--export", "accelerate",
    )  # fmt: skip
    assert done.code == 0
    assert yaml.safe_load(done.out) == {
        "compute_environment": "LOCAL_MACHINE",
        "machine_rank": 0,
        "num_machines": 2,
        "num_processes": 16,
        "distributed_type": "FSDP",
        "fsdp_config": {"fsdp_version": 2},
        "parallelism_config": {
            "parallelism_config_tp_size": 2,
            "parallelism_config_dp_shard_size": 8,
        },
    }


def test_sizes_beside_deepspeed_are_launched_by_a_file_though_not_by_options() -> None:
    done = cli(
        "check", *CLUSTER, "--profile", "accelerate", "--distributed", "deepspeed", "--sp", "4",
        "--export", "accelerate",
    )  # fmt: skip
    assert done.code == 0
    assert yaml.safe_load(done.out)["distributed_type"] == "DEEPSPEED"


def test_a_deepspeed_file_is_json_and_its_launch_line_is_beside_it() -> None:
    done = cli(
        "check", *CLUSTER, "--profile", "generic", "--zero", "2", "--tp", "2",
        "--micro-batch", "1", "--global-batch", "64", "--export", "deepspeed",
    )  # fmt: skip
    assert done.code == 0
    assert json.loads(done.out) == {
        "tensor_parallel": {"autotp_size": 2},
        "train_micro_batch_size_per_gpu": 1,
        "train_batch_size": 64,
        "zero_optimization": {"stage": 2},
        "bf16": {"enabled": True},
    }
    assert "launch: torchrun --nnodes 2" in done.err
    assert "--deepspeed_config ds_config.json" in done.err


def test_a_torchtitan_file_is_toml_with_both_launch_lines() -> None:
    done = cli("check", *CLUSTER, "--profile", "torchtitan", "--tp", "4", "--export", "torchtitan")
    assert done.code == 0
    assert tomllib.loads(done.out) == {"parallelism": {"tensor_parallel_degree": 4}}
    assert "-m torchtitan.train --job.config_file train.toml" in done.out
    assert "--parallelism.tensor_parallel_degree 4" in done.out
    assert "disable_cuda_graphs = false" in done.err


MEGATRON = (
    "check", *CLUSTER, "--profile", "megatron", "--tp", "4", "--micro-batch", "1",
    "--cuda-device-max-connections", "1", "--export", "megatron",
)  # fmt: skip


def test_megatron_is_a_whole_command_line(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    done = cli(*MEGATRON, "-o", str(script))
    assert (done.code, done.out) == (0, "")
    assert f"wrote {script}" in done.err
    text = script.read_text()
    assert text.splitlines()[0] == "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun \\"
    assert "    --tensor-model-parallel-size 4 \\\n" in text
    again = cli("check", str(script), "--format", "json").data["files"][0]
    assert again["verdict"] == "accepted"
    assert again["detail"]["config"]["tp_size"] == 4
    assert again["detail"]["config"]["cuda_device_max_connections"] == 1


MEG = PROFILES["megatron"]


@given(data=st.data())
def test_a_command_line_of_megatron_reads_back(data: st.DataObject) -> None:
    config = data.draw(configs(MEG))
    export = EXPORTS["megatron"]
    made = artefact(config, export, "train.sh", {})
    back = read_back(config, export, made.text)
    told = {each.name for each in MEG.fields if f"{each.name} = " in "\n".join(made.beside)}
    same = {each.name for each in MEG.fields} - told - {"gpus_per_node", "launcher", *FACT_NAMES}
    # a launch line states what follows, and without experts it is a dense model's
    follows = {each.field for each in MEG.settled if config[each.field] is None}
    same -= follows | ({"model_kind"} if config["model_kind"] == "unknown" else set())
    assert {of: back[of] for of in same} == {of: config[of] for of in same}


@pytest.mark.parametrize("export", ["halo", "megatron", "torchtitan"])
def test_what_is_rejected_is_not_exported(export: str) -> None:
    done = cli("check", "--world", "8", "--gpus-per-node", "8", "--ep", "4", "--export", export)
    assert (done.code, done.out) == (1, "")
    assert "ep-single-domain-multi-group" in done.err


def test_what_another_framework_rejects_is_refused_with_its_reasons() -> None:
    done = cli("check", *CLUSTER, "--ep", "8", "--moe", "--export", "torchtitan")
    assert (done.code, done.out) == (1, "")
    assert "in torchtitan 0.3.0's words it is rejected there" in done.err
    assert "cuda-graphs-with-waiting-dispatcher" in done.err


def test_an_axis_that_another_framework_lacks_is_refused() -> None:
    done = cli("check", *CLUSTER, "--ep", "8", "--export", "accelerate")
    assert (done.code, done.out) == (1, "")
    assert "has no such axis: ep_size = 8; nothing is exported" in done.err


def test_in_another_frameworks_words() -> None:
    done = cli("check", *CLUSTER, "--tp", "2", "--micro-batch", "2", "--trainer", "sft",
               "--export", "accelerate")  # fmt: skip
    assert done.code == 0
    assert "left out: trainer" in done.out
    assert "not said here, set it elsewhere: micro_batch = 2" in done.out
    sizes = yaml.safe_load(done.out)["parallelism_config"]
    assert sizes == {"parallelism_config_tp_size": 2, "parallelism_config_dp_shard_size": 8}


def test_a_file_becomes_another_frameworks_file(tmp_path: Path) -> None:
    source = tmp_path / "train.yaml"
    source.write_text("tensor_parallel_size: 2\nper_device_train_batch_size: 4\n")
    done = cli("check", str(source), *CLUSTER, "--export", "torchtitan")
    assert done.code == 0
    assert tomllib.loads(done.out) == {
        "parallelism": {"tensor_parallel_degree": 2},
        "training": {"local_batch_size": 4},
    }
    again = cli("check", str(source), *CLUSTER, "--ep", "3", "--export", "halo")
    assert (again.code, again.out) == (1, "")


def test_the_best_and_the_second_best() -> None:
    first = cli("--world", "64", "--gpus-per-node", "8", "--moe", "--export", "halo")
    second = cli(
        "--world", "64", "--gpus-per-node", "8", "--moe", "--export", "halo", "--rank", "2"
    )
    assert yaml.safe_load(first.out) == {"expert_parallel_size": 8}
    assert yaml.safe_load(second.out) == {"expert_parallel_size": 4}


def test_a_conflict_exports_nothing() -> None:
    done = cli("--world", "64", "--gpus-per-node", "8", "--tp", "16", "--export", "halo")
    assert (done.code, done.out) == (1, "")
    assert "tp-not-dividing-domain" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", *CLUSTER, "--export", "halo", "--format", "json"), "leave --format out"),
        (("check", *CLUSTER, "-o", "x.yaml"), "give --export"),
        (("solve", *CLUSTER, "--rank", "2"), "give --export"),
        (("solve", *CLUSTER, "--export", "halo", "--rank", "999"), "there is no number 999"),
        (("check", "--export", "halo", "--jsonl", "-"), "one configuration under one profile"),
        (("check", *CLUSTER, "--export", "halo", "--profile", "all"), "one configuration"),
        (("check", *CLUSTER, "--export", "halo", "-o", "/nowhere/x"), "there is no folder"),
        (("check", *CLUSTER, "--export", "nemo"), "nemo"),
    ],
)
def test_misuse(arguments: tuple[str, ...], said: str) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.words


def test_several_files_are_not_exported(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("expert_parallel_size: 8\n")
    done: Outcome = cli("check", str(tmp_path), *CLUSTER, "--export", "halo")
    assert done.code == 2
    assert "one file is exported at a time" in done.words
