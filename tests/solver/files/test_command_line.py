"""Launches of training as settings: the program's options, the cluster, the environment."""

from __future__ import annotations

from typing import Any

import pytest

from parsolve.solver.files.command_line import document
from parsolve.solver.files.document import FileProblem, Place


def read(text: str) -> dict[str, Any]:
    """Settings by key; an unknown one is its reason in a tuple."""
    found = document("run.sh", text)
    assert found is not None
    assert found.kind == "script"
    return {e.key: (e.unknown,) if e.unknown else e.value for e in found.entries}


def cluster(text: str) -> list[Any]:
    """Nodes, GPUs of a node, world; None where unsaid, a tuple where unknown."""
    found = read(text)
    return [found.get(f"cluster.{key}") for key in ("nodes", "gpus_per_node", "world_size")]


GPT3 = """#!/bin/bash
# trains a large GPT
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=16
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CHECKPOINT_PATH=$1
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
    --master_addr $MASTER_ADDR
)
MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288   # as in the paper
    --micro-batch-size 1
    --init-method-std 0.006
    --lr 6.0e-5
    --bf16
)
PARALLEL_ARGS=(
\t--tensor-model-parallel-size 8
\t--pipeline-model-parallel-size 16
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \\
    "${MODEL_ARGS[@]}" \\
    ${PARALLEL_ARGS[@]} \\
    --save $CHECKPOINT_PATH 2>&1 | tee train.log
"""

MIXTRAL = """TP=${TP:-2}
EP=8
OPTIONS=" \\
    --tensor-model-parallel-size $TP \\
    --expert-model-parallel-size ${EP} \\
    --moe-layer-freq ([0]*3+[1]*58) \\
    --data-path $DATA"
if [ $TP -gt 1 ]; then
    OPTIONS="$OPTIONS --sequence-parallel"
fi
if [ "$FP8" = true ]; then
    OPTIONS="$OPTIONS --fp8-format hybrid"
fi
cmd="torchrun --nproc_per_node 8 --nnodes ${WORLD:-4} pretrain_gpt.py $OPTIONS"
echo $cmd
eval $cmd
"""

SLURM = """#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1 --gpus-per-node=8
#SBATCH -J train
module load cuda
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --container-image=img.sqsh bash -c '
  torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 --rdzv_endpoint '"$head"':29500 \\
    -m torchtitan.train --job.config_file llama.toml --parallelism.tensor_parallel_degree 4'
"""

TITAN = """#!/usr/bin/bash
set -ex
NGPU=${NGPU:-"8"}
export LOG_RANK=${LOG_RANK:-0}
CONFIG_FILE=${CONFIG_FILE:-"./debug.toml"}
PYTORCH_ALLOC_CONF="expandable_segments:True" \\
torchrun --nproc_per_node=${NGPU} --rdzv_backend c10d --local-ranks-filter ${LOG_RANK} \\
  --role rank --tee 3 -m torchtitan.train --job.config_file ${CONFIG_FILE} "$@"
"""


def test_a_script_of_arrays() -> None:
    assert read(GPT3) == {
        "cluster.nodes": 16,
        "cluster.gpus_per_node": 8,
        "env.CUDA_DEVICE_MAX_CONNECTIONS": 1,
        "program": "pretrain_gpt.py",
        "num-layers": 96,
        "hidden-size": 12288,
        "micro-batch-size": 1,
        "init-method-std": 0.006,
        "lr": 6e-5,
        "bf16": True,
        "tensor-model-parallel-size": 8,
        "pipeline-model-parallel-size": 16,
        "save": ("it takes its argument 1 from its caller (line 7)",),
    }
    found = document("run.sh", GPT3)
    assert found is not None
    assert {e.key: e.place for e in found.entries}["tensor-model-parallel-size"] == Place(22, 2)


def test_a_command_in_a_string() -> None:
    text = MIXTRAL.replace("([0]*3+[1]*58)", "1")
    found = read(text)
    assert found["tensor-model-parallel-size"] == 2
    assert found["expert-model-parallel-size"] == 8
    assert found["sequence-parallel"] is True
    assert found["fp8-format"] == ("line 12 sets OPTIONS where a condition holds",)
    assert found["data-path"] == ("it takes DATA from its caller (line 7)",)
    assert cluster(text) == [4, 8, None]


def test_slurm_with_another_shell() -> None:
    text = SLURM.replace("'\"$head\"'", "x")
    assert cluster(text) == [4, 8, None]
    found = read(text)
    assert found["program"] == "torchtitan.train"
    assert found["parallelism.tensor_parallel_degree"] == 4


def test_torchtitan() -> None:
    assert read(TITAN) == {
        "cluster.nodes": 1,
        "cluster.gpus_per_node": 8,
        "env.LOG_RANK": 0,
        "env.PYTORCH_ALLOC_CONF": "expandable_segments:True",
        "program": "torchtitan.train",
        "job.config_file": "./debug.toml",
        "$@": ("it takes arguments from its caller (line 8)",),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torchrun train.py", [1, 1, None]),
        ("torchrun --standalone --nproc-per-node 4 train.py", [1, 4, None]),
        ("python3 -m torch.distributed.run --nnodes=2 --nproc_per_node=8 train.py", [2, 8, None]),
        ("python -u -m torch.distributed.launch --nproc_per_node 8 train.py", [1, 8, None]),
        ("torchrun --nnodes 1:4 --nproc_per_node gpu train.py",
         [("line 1 says --nnodes 1:4, which is no one number",),
          ("line 1 says --nproc-per-node gpu, which is no one number",), None]),
        ("torchrun $DIST train.py", [("it takes DIST from its caller (line 1)",)] * 2 + [None]),
        ("srun -N 4 -n 32 python train.py", [4, None, 32]),
        ("srun -N4 --ntasks-per-node=8 python train.py", [4, 8, None]),
        ("srun --nodes 4 --gres=gpu:h100:8 torchrun --nproc_per_node 8 train.py", [4, 8, None]),
        ("srun --nodes 4 --gpus-per-node a100:8 python train.py", [4, 8, None]),
        ("#SBATCH --nodes=2 --ntasks-per-node=8\nsrun python train.py", [2, 8, None]),
        ("#SBATCH --nodes=2\nsrun -N 1 torchrun --nproc_per_node 8 train.py", [1, 8, None]),
        ("#SBATCH --nodes=2\ntorchrun --nproc_per_node 8 train.py", [1, 8, None]),
        ("accelerate launch --num_machines 2 --num_processes 16 train.py", [2, None, 16]),
        ("deepspeed --num_nodes 2 --num_gpus 8 train.py", [2, 8, None]),
        ("deepspeed --hostfile hosts --num_gpus 8 train.py",
         [("line 1 takes the nodes from hosts",), 8, None]),
        ("mpirun -np 16 -npernode 8 -x A=1 --mca a b python train.py", [None, 8, 16]),
        ("mpiexec --np 16 --map-by ppr:8:node python train.py", [None, 8, 16]),
        ("tune run --nproc_per_node 8 recipe --config c.yaml", [1, 8, None]),
        ("CUDA_VISIBLE_DEVICES=0,1 python train.py --a 1", [None, None, None]),
    ],
)  # fmt: skip
def test_the_cluster(text: str, expected: list[Any]) -> None:
    assert cluster(text) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--tp 4 --pp=2 --bf16", {"tp": 4, "pp": 2, "bf16": True}),
        ("--lr 1e-4 --x .5 --n -1 --s 1.0.0", {"lr": 1e-4, "x": 0.5, "n": -1, "s": "1.0.0"}),
        ("--use true --recompute-modules moe layernorm",
         {"use": "true", "recompute-modules": ["moe", "layernorm"]}),
        ("model.tp=4 +trainer.devices=8 ++a.b=x --config-name=c d.e=1",
         {"model.tp": 4, "trainer.devices": 8, "a.b": "x", "config-name": "c", "d.e": 1}),
        ("~a.b", {"a.b": ("~a.b removes it (line 1)",)}),
        ("--a $A --b=$B c.d=$C $D",
         {"a": ("it takes A from its caller (line 1)",),
          "b": ("it takes B from its caller (line 1)",),
          "c.d": ("it takes C from its caller (line 1)",),
          "$D": ("it takes D from its caller (line 1)",)}),
        ("--a 1 $X", {"a": 1, "$X": ("it takes X from its caller (line 1)",)}),
        ("run.yaml --a 1", {"config": "run.yaml", "a": 1}),
        ("--config-file x.toml", {"config-file": "x.toml"}),
        ("--data 'a b'", {"data": "a b"}),
    ],
)  # fmt: skip
def test_arguments(arguments: str, expected: dict[str, Any]) -> None:
    found = read(f"torchrun train.py {arguments}")
    del found["cluster.nodes"], found["cluster.gpus_per_node"], found["program"]
    assert found == expected


@pytest.mark.parametrize(
    "wrapper",
    [
        "exec", "nohup", "time", "env A=1", "numactl --membind=0", "nsys profile -o x -t cuda",
        "sudo -E", "conda run -n x", "uv run", "poetry run", "timeout -k 5 10h", "stdbuf -oL",
        "docker run --rm --gpus all -v /a:/b image", "singularity exec --nv -B /a image.sif",
        "apptainer exec --nv image.sif", "srun -N 2 --pty numactl -N 0",
    ],
)  # fmt: skip
def test_wrappers_are_seen_through(wrapper: str) -> None:
    found = read(f"{wrapper} torchrun --nproc_per_node 8 train.py --tp 4")
    assert (found["program"], found["tp"], found["cluster.gpus_per_node"]) == ("train.py", 4, 8)


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("axolotl train x.yaml", "axolotl train"),
        ("trl sft --config x.yaml", "trl sft"),
        ("llamafactory-cli train x.yaml", "llamafactory-cli train"),
        ("accelerate launch -m axolotl.cli.train x.yaml", "axolotl.cli.train"),
        (
            "python examples/megatron_gpt_pretraining.py a.b=1",
            "examples/megatron_gpt_pretraining.py",
        ),
        ("python prepare.py --x\npython train.py --tp 4", "train.py"),
        ("python train.py --a\ntorchrun run.py --tp 4", "run.py"),
        ("pretrain_gpt.py --tp 4", "pretrain_gpt.py"),
        ("for N in 1; do torchrun train.py; done", "train.py"),
    ],
)
def test_the_program(text: str, program: str) -> None:
    assert read(text)["program"] == program


@pytest.mark.parametrize(
    "text",
    ["", "ls -l", "pip install x", "python -c 'train'", "srun hostname", "axolotl preprocess x.yml",
     "mpirun -np 8 ./all_reduce_perf -b 8", "$X --a 1", "#SBATCH --nodes=4", "bash train.sh"],
)  # fmt: skip
def test_what_launches_nothing(text: str) -> None:
    assert document("run.sh", text) is None


def test_the_environment_in_force() -> None:
    found = read("export A=1\nB=2\nC=x env D=4 torchrun train.py")
    assert {k: v for k, v in found.items() if k.startswith("env.")} == {
        "env.A": 1,
        "env.C": "x",
        "env.D": 4,
    }


def test_options_of_accelerate_that_settle_more_are_kept() -> None:
    found = read("accelerate launch --config_file fsdp.yaml --use_fsdp --num_processes 8 train.py")
    assert (found["config_file"], found["use_fsdp"]) == ("fsdp.yaml", True)
    assert "num_processes" not in found


def test_launches_that_differ_are_refused() -> None:
    same = "torchrun train.py --tp 4\n"
    assert read(same * 2)["tp"] == 4
    with pytest.raises(FileProblem, match=r"^run\.sh:3:1: lines 1, 3 launch with different"):
        document("run.sh", same * 2 + "torchrun train.py --tp 8\n")


def test_a_comment_that_ends_a_command_is_refused() -> None:
    with pytest.raises(FileProblem, match=r"^run\.sh:3:3: a command begins with --b"):
        document("run.sh", "torchrun train.py \\\n  # --a 1 \\\n  --b 2\n")
