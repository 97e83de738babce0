"""docs/models.md says what the presets say; ``python tests/test_models_page.py --write``."""

from __future__ import annotations

import sys
from pathlib import Path

from parsolve.constraints.models.catalogue import PRESETS
from parsolve.constraints.models.config import shape_of
from parsolve.constraints.models.parameters import count

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"

HEAD = """# Models

Written by `python tests/test_models_page.py --write`. `--model` and `parsolve models` take each
name, also with the publisher before it and `-Instruct`, `-Base`, `-BF16` and the like after it;
a path that exists wins over a name. A `config.json`, or the folder that holds one, is counted in
the same way, if its `model_type` is one of those in
[architectures.py](../parsolve/constraints/models/architectures.py); any other is refused by name.

Counted is the language model without layers of multi-token prediction, and without the towers
that see or hear. *Active* is what one token passes through, both embeddings included; some
publishers leave those out. Weights are meant as they are trained, not quantized. Every count
equals the number of parameters of the model that transformers 5.24.0 builds from the same numbers
(recorded, see [tests/data](../tests/data/README.md)), and is within 0.5% of the published total.
A repository alone as the source means what its safetensors files add up to.

| name | counted | active | published | source |
|---|--:|--:|--:|---|
"""


def page() -> str:
    """The page as it must be."""
    lines = []
    for preset in PRESETS:
        whole = count(shape_of(preset.config))
        numbers = f"{whole.total:,} | {whole.active:,} | {preset.published:,}"
        lines.append(f"| `{preset.name}` | {numbers} | {preset.source} |\n")
    return HEAD + "".join(lines)


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run python tests/test_models_page.py --write"
    )


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    PAGE.write_text(page(), encoding="utf-8")
