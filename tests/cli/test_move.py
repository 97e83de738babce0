"""``parsolve move``: what must change, in the words of the file, and the file written anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import Outcome, cli

RECIPE = """\
# an SFT run
model_name_or_path: Qwen/Qwen3-30B-A3B
expert_parallel_size: 8
per_device_train_batch_size: 1
gradient_accumulation_steps: 8   # 128 in all
max_length: 16384
gradient_checkpointing: true
learning_rate: 1.0e-5
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


def move(recipe: Path, *arguments: str) -> Outcome:
    return cli("move", str(recipe), "--from-world", "16", *arguments)


def test_the_batch_is_kept_in_the_words_of_the_file(recipe: Path) -> None:
    done = move(recipe, "--world", "8", "--gpu", "h100")
    assert (done.code, done.err) == (0, "")
    assert "16 -> 8 GPUs, global batch 128 kept; no knob changes" in done.words
    assert "the global batch becomes 64, not 128" in done.words
    assert "change gradient_accumulation_steps 8 -> 16 (line 5)" in done.words
    assert "data_parallel_size 16 8" in done.words
    assert "only what makes up the batch changes" in done.words


def test_the_file_is_written_anew_and_the_old_one_left(recipe: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.yaml"
    done = move(recipe, "--world", "4", "--gpu", "h100", "-o", str(target))
    assert done.code == 0
    assert f"parsolve: wrote {target}" in done.err
    assert recipe.read_text(encoding="utf-8") == RECIPE
    expected = RECIPE.replace("parallel_size: 8", "parallel_size: 4")
    expected = expected.replace("steps: 8 ", "steps: 128 ") + "context_parallel_size: 4\n"
    assert target.read_text(encoding="utf-8") == expected
    checked = cli("check", str(target), "--world", "4", "--gpu", "h100", "--format", "json")
    assert checked.code == 0
    (file,) = checked.data["files"]
    assert file["detail"]["memory"]["state"] in {"fits", "near"}


def test_to_standard_output_goes_the_file_alone(recipe: Path) -> None:
    done = move(recipe, "--world", "8", "-o", "-")
    assert (done.code, done.err) == (0, "")
    assert done.out == RECIPE.replace("steps: 8 ", "steps: 16 ")


def test_in_place_only_if_asked(recipe: Path) -> None:
    refused = move(recipe, "--world", "8", "-o", str(recipe))
    assert refused.code == 2
    assert "is the recipe itself; --write changes it in place" in refused.words
    assert recipe.read_text(encoding="utf-8") == RECIPE
    done = move(recipe, "--world", "8", "--write")
    assert done.code == 0
    assert recipe.read_text(encoding="utf-8") == RECIPE.replace("steps: 8 ", "steps: 16 ")


def test_a_byte_order_mark_and_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    content = b"\xef\xbb\xbf" + RECIPE.replace("\n", "\r\n").encode()
    path.write_bytes(content)
    assert move(path, "--world", "8", "--write").code == 0
    assert path.read_bytes() == content.replace(b"steps: 8 ", b"steps: 16 ")


def test_another_of_the_ways_is_written(recipe: Path) -> None:
    ways = move(recipe, "--world", "4", "--format", "json").data["moves"]
    assert len(ways) > 1
    done = move(recipe, "--world", "4", "--rank", "2", "-o", "-")
    for edit in ways[1]["edits"]:
        assert f"{edit['key']}: {edit['after']}" in done.out
    many = move(recipe, "--world", "4", "--rank", "99", "-o", "-")
    assert many.code == 2
    assert "there is no number 99" in many.words


def test_options_on_the_command_line_are_written_too(recipe: Path) -> None:
    done = move(recipe, "--world", "8", "--ep", "2", "-o", "-")
    assert "expert_parallel_size: 2\n" in done.out
    assert "gradient_accumulation_steps: 16 " in done.out


def test_a_recipe_of_options() -> None:
    done = cli("move", "--world 16 --ep 8 --gradient-accumulation-steps 8", "--world", "8")
    assert done.code == 0
    assert "change --gradient-accumulation-steps 16 (was 8)" in done.words
    written = cli("move", "--world 16 --ep 8", "--world", "8", "-o", "-")
    assert written.code == 2
    assert "names no file to write anew" in written.words


def test_a_batch_that_is_not_kept_says_why() -> None:
    done = cli(
        "move", "--world 8 --ep 8 --gradient-accumulation-steps 16", "--world", "7",
        "--keep", "tp", "--keep", "cp", "--keep", "etp", "--keep", "pp",
    )  # fmt: skip
    assert done.code == 0
    assert "global batch 128 -> 126" in done.words
    assert "a multiple of 7 samples" in done.words
    assert "the nearest are 126 and 133" in done.words
    assert "the learning rate was chosen for a global batch of 128" in done.words


def test_what_no_knob_mends() -> None:
    done = cli("move", "--world 16 --ep 8", "--world", "12")
    assert done.code == 1
    assert "stuck" in done.words
    assert "stops world-not-multiple-of-node, which no knob mends" in done.words
    assert cli("move", "--world 16 --ep 8", "--world", "12", "--nproc-per-node", "6").code == 0


def test_without_an_origin_it_says_how_to_give_one(recipe: Path) -> None:
    done = cli("move", str(recipe), "--world", "8")
    assert done.code == 0
    assert "no global batch is kept" in done.words
    assert "--from-world tells" in done.words


def test_another_gpu_on_as_many(recipe: Path) -> None:
    done = cli("move", f"{recipe} --world 16 --gpu h100", "--gpu", "a100-40")
    assert done.code == 0
    assert "16 GPUs of 79.65 GiB" in done.words
    assert "16 GPUs of 40.00 GiB" in done.words
    assert "memory from to change" in done.words


def test_json_is_one_answer(recipe: Path) -> None:
    data = move(recipe, "--world", "8", "--format", "json").data
    assert data["answer"] == "moves"
    assert data["moves"][0]["edits"] == [
        {"key": "gradient_accumulation_steps", "line": 5, "before": 8, "after": 16}
    ]
    assert data["difference"]["before"]["global_batch"] == 128


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--world", "8", "--keep", "nothing"), "nothing to keep is called 'nothing'"),
        (("--world", "8", "--write", "-o", "x.yaml"), "either change the file in place"),
        (("--world", "8", "-o", "no/such/folder.yaml"), "there is no folder"),
        (("--world", "8,16"), "move takes one world"),
        (("--world", "8", "--gpu", "nothing"), "nothing"),
    ],
)
def test_misuse(recipe: Path, arguments: tuple[str, ...], said: str) -> None:
    done = move(recipe, *arguments)
    assert done.code == 2
    assert said in done.words
    assert recipe.read_text(encoding="utf-8") == RECIPE


SCRIPT = """\
#!/bin/bash
TP=8
PP=${PP:-4}   # stages
ARGS=(
    --num-layers 80 --hidden-size 8192
    --num-attention-heads 64 --seq-length 4096 --max-position-embeddings 4096
)
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py \\
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size "${PP}" \\
    --micro-batch-size 2 --global-batch-size=512 --bf16 \\
    "${ARGS[@]}"
"""


def test_a_script_is_changed_where_its_values_stand(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(SCRIPT, encoding="utf-8")
    done = cli("move", str(path), "--nnodes", "4", "--keep", "tp", "-o", "-")
    assert (done.code, done.err) == (0, "")
    assert done.out == SCRIPT.replace("--nnodes 8", "--nnodes 4")  # Megatron states its batch
    pinned = cli("move", str(path), "--nnodes", "4", "--tp", "4", "--pp", "8", "-o", "-")
    assert (pinned.code, pinned.err) == (0, "")
    expected = SCRIPT.replace("--nnodes 8", "--nnodes 4").replace("TP=8", "TP=4")
    assert pinned.out == expected.replace("PP:-4", "PP:-8")


def test_slurm_is_asked_for_as_many_nodes_as_the_launcher(tmp_path: Path) -> None:
    path = tmp_path / "run.sbatch"
    for nodes in ("8", "$SLURM_NNODES"):
        text = SCRIPT.replace("\nTP=8", "\n#SBATCH --nodes=8\n#SBATCH -t 8\nTP=8")
        text = text.replace("--nnodes 8", f"--nnodes {nodes}")
        path.write_text(text, encoding="utf-8")
        done = cli("move", str(path), "--nnodes", "4", "--keep", "tp", "-o", "-")
        assert (done.code, done.err) == (0, "")
        assert done.out == text.replace("nodes=8", "nodes=4").replace("--nnodes 8", "--nnodes 4")


TITAN = """\
[parallelism]
tensor_parallel_degree = 4  # one node has 8
data_parallel_shard_degree = 4

[training]
local_batch_size = 2
seq_len = 4096
"""


def test_toml_gets_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "titan.toml"
    path.write_text(TITAN, encoding="utf-8")
    done = cli("move", str(path), "--from-world", "16", "--world", "8", "-o", "-")
    assert (done.code, done.err) == (0, "")
    assert done.out == TITAN.replace("shard_degree = 4", "shard_degree = 2") + (
        "global_batch_size = 8\n"
    )
