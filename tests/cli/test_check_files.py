"""``parsolve check FILE`` as people see it, for every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import ROOT, cli

RECIPES = [
    json.loads(row)
    for row in (ROOT / "tests" / "data" / "halo_recipes.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: Path(recipe["source"]).stem)
def test_a_shipped_recipe_from_its_file(recipe: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / Path(recipe["source"]).name
    file.write_text(yaml.safe_dump({"model_name_or_path": recipe["model"], **recipe["fields"]}))
    world = recipe["topology"]["world_size"]
    node = recipe["topology"]["gpus_per_node"] or 8
    kind = "--dense" if recipe["model"] == "Qwen/Qwen3.5-9B" else "--moe"
    done = cli(
        "check", str(file), "--world", str(world), "--gpus-per-node", str(node),
        "--trainer", recipe["trainer"], kind,
    )  # fmt: skip
    assert done.code == 0, done.words
    assert done.out.startswith(f"{file}: halo training arguments\n")


def test_the_verdict_is_in_the_words_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "ds.json"
    file.write_text('{\n "train_batch_size": 100,\n "train_micro_batch_size_per_gpu": 3\n}\n')
    done = cli("check", str(file), "--world", "8")
    assert done.code == 1
    assert "judged by generic" in done.words
    assert "global-batch-not-divisible" in done.words
    assert "lines train_batch_size (2), train_micro_batch_size_per_gpu (3)" in done.words
    assert 'nearest "train_batch_size": 96' in done.words


def test_an_axis_that_no_rule_knows_is_undecided(tmp_path: Path) -> None:
    file = tmp_path / "axolotl.yaml"
    file.write_text("base_model: x/y\nmicro_batch_size: 1\nexpert_parallel_size: 8\n")
    done = cli("check", str(file), "--world", "8")
    assert done.code == 3
    assert done.out.startswith(f"undecided  {file}:3:1: expert_parallel_size 8 cannot be judged")
    answer = cli("check", str(file), "--world", "8", "--format", "json").data
    assert (answer["undecided"], answer["accepted"]) == (1, 0)
    assert answer["files"][0]["settings"][1]["of"] == "axis"
    annotated = cli("check", str(file), "--world", "8", "--format", "github")
    assert annotated.code == 3
    assert "line=3,col=1,title=parsolve undecided" in annotated.out.replace("%3A", ":")


def test_overrides_are_answered_as_overrides(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "torchrun --nnodes 1 --nproc_per_node 8 pretrain.py "
        "model.tensor_model_parallel_size=3 train.micro_batch_size=1\n"
    )
    done = cli("check", str(script))
    assert done.code == 1
    assert "model.tensor_model_parallel_size=3 train.micro_batch_size=1" in done.words
    assert "nearest model.tensor_model_parallel_size=" in done.words


def test_launch_options_of_accelerate(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "accelerate launch --num_machines 2 --num_processes 16 --use_fsdp --fsdp_version 2 "
        "--use_parallelism_config --parallelism_config_tp_size 2 "
        "--parallelism_config_dp_shard_size 8 train.py\n"
    )
    answer = cli("check", str(script), "--format", "json").data["files"][0]
    assert (answer["verdict"], answer["format"]) == ("accepted", "accelerate-options")
    assert answer["detail"]["config"]["world_size"] == 16


def test_names_with_line_ends_stay_in_their_row(tmp_path: Path) -> None:
    for name in ("a\nb.yaml", "c\x1b[1m.yaml"):
        (tmp_path / name).write_text("expert_parallel_size: 8\n")
    done = cli("check", str(tmp_path), "--world", "8")
    assert done.code == 0
    assert "a\\nb.yaml" in done.out
    assert "c\\x1b[1m.yaml" in done.out
    assert "\x1b" not in done.out
