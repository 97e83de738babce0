"""`parsolve models`: the models known by name, and one counted; and names for `--model`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parsolve.constraints.models.catalogue import PRESETS
from tests.cli.run import cli, process

PARTS = (
    *("embedding", "output", "attention", "dense_ffn"),
    *("routed_experts", "shared_experts", "router", "norms"),
)
TINY = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 10,
}
SMALL = ("check", "--world", "8", "--gpus-per-node", "8")


def written(folder: Path, config: object) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    return file


class TestList:
    def test_every_model_on_a_line_that_fits(self) -> None:
        done = cli("models")
        assert (done.code, done.err) == (0, "")
        head, *lines = done.out.splitlines()
        columns = ["name", "total", "active", "layers", "hidden", "experts", "kind"]
        assert head.split() == columns
        assert [line.split()[0] for line in lines] == [preset.name for preset in PRESETS]
        assert all(len(line) <= 80 for line in (head, *lines))
        words = "qwen3-30b-a3b 30.53B 3.35B 48 2048 128 top 8 moe"
        assert words.split() in [line.split() for line in lines]

    def test_is_the_same_in_a_pipe_and_on_a_narrow_terminal(self) -> None:
        assert process("models").out == process("models", columns=60).out == cli("models").out

    def test_json_is_an_entry_each(self) -> None:
        entries = cli("models", "--format", "json").data
        assert [entry["name"] for entry in entries] == [preset.name for preset in PRESETS]
        assert entries[0] == cli("models", PRESETS[0].name, "--format", "json").data


class TestOne:
    def test_part_by_part(self) -> None:
        done = cli("models", "deepseek-ai/DeepSeek-V3", columns=80)
        assert (done.code, done.err) == (0, "")
        lines = done.out.splitlines()
        assert all(len(line) <= 80 for line in lines)
        assert lines[0] == (
            "deepseek-v3  671,026,419,200 parameters, 37,552,297,472 active per token"
        )
        assert "  routed experts  653,908,770,816   97.4%" in lines
        assert "  total           671,026,419,200  100.0%" in lines
        assert "layers 58 x (128 heads of 192 over MLA of rank 512; 256 experts of" in done.words
        assert "left out 1 layer of multi-token prediction: in no number above" in done.words
        assert "published 671,026,419,200; exactly this" in done.words
        assert "source huggingface.co/deepseek-ai/DeepSeek-V3" in done.words

    def test_what_there_is_none_of_is_no_line(self) -> None:
        done = cli("models", "gpt3-175b")
        assert "expert" not in done.out
        assert "51200 x 12288, tied output, 2048 learned positions" in done.words
        assert "published 175,000,000,000; this is -0.22%" in done.words

    def test_json_has_the_split_and_the_shape(self) -> None:
        data = cli("models", "qwen3-30b-a3b", "--format", "json").data
        assert list(data) == ["name", "parameters", "published", "source", "shape"]
        assert list(data["parameters"]) == ["total", "active", *PARTS]
        assert data["parameters"]["total"] == data["published"] == 30_532_122_624
        assert sum(data["parameters"][part] for part in PARTS) == 30_532_122_624
        assert data["parameters"]["embedding"] == data["parameters"]["output"] == 151936 * 2048
        shape = data["shape"]
        assert (shape["num_hidden_layers"], shape["num_experts"]) == (48, 128)
        assert [layer["count"] for layer in shape["layers"]] == [48]
        assert shape["layers"][0]["attention"]["kv_heads"] == 4
        assert not any(name.endswith("_parameters") for name in shape)

    def test_a_file_of_ones_own(self, tmp_path: Path) -> None:
        file = written(tmp_path, TINY)
        for path in (file, tmp_path):
            data = cli("models", str(path), "--format", "json").data
            assert (data["name"], data["parameters"]["total"]) == (str(file), 1352)
            assert (data["published"], data["source"]) == (None, None)
        text = cli("models", str(file)).out
        assert "1,352 parameters" in text
        assert "published" not in text

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({**TINY, "vocab_size": None}, "vocab_size is missing: it decides the embedding and"),
            ({**TINY, "model_type": "mamba"}, "of mamba cannot be counted: Mamba layers not model"),
            ({**TINY, "hidden_size": "wide"}, "hidden_size or n_embd is not a positive integer"),
        ],
    )
    def test_what_cannot_be_counted_is_misuse(
        self, tmp_path: Path, config: object, message: str
    ) -> None:
        file = written(tmp_path, config)
        done = cli("models", str(file))
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"parsolve: {file}: ")
        assert message in done.err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("lama-3-8b",), "no such file, folder or model: did you mean llama-3-8b"),
            (("banana",), "(parsolve models lists the names; a config.json works too)"),
            (("./llama-3-8b",), "cannot read llama-3-8b: No such file or directory"),
            (("",), "no such file, folder or model"),
            (("llama-3-8b", "x"), "unexpected extra argument"),
            (("--format", "csv"), "'csv' is not one of 'text', 'json'"),
        ],
    )
    def test_misuse_says_what_there_is(self, arguments: tuple[str, ...], message: str) -> None:
        done = cli("models", *arguments)
        assert (done.code, done.out) == (2, "")
        assert message in done.words


class TestModelOption:
    def test_takes_a_name(self) -> None:
        done = cli(*SMALL, "--ep", "8", "--model", "Qwen/Qwen3-30B-A3B", "--format", "json")
        assert done.code == 0, done.words
        config = done.data["config"]
        assert (config["num_experts"], config["moe_intermediate_size"]) == (128, 768)

    def test_a_file_of_that_name_wins(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert cli("models", "llama-2-7b").out.startswith("llama-2-7b  6,738,415,616 ")
        written(tmp_path, TINY).rename(tmp_path / "llama-2-7b")
        assert cli("models", "llama-2-7b").out.startswith("llama-2-7b  1,352 ")

    def test_an_unknown_name_is_misuse(self) -> None:
        done = cli(*SMALL, "--model", "lama-3-8b")
        assert (done.code, done.out) == (2, "")
        assert "did you mean llama-3-8b" in done.words

    def test_rules_need_no_size(self, tmp_path: Path) -> None:
        """A file whose parameters cannot be counted still tells the rules what they ask."""
        file = written(tmp_path, {"model_type": "mamba", "num_attention_heads": 2})
        done = cli(*SMALL, "--tp", "4", "--model", str(file))
        assert done.code == 1, done.words
        assert "heads" in done.words
