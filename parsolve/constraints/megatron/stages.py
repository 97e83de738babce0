"""Layers of every pipeline rank, chunk by chunk, as Megatron builds them.

Source: megatron/core/transformer/transformer_block.py, get_num_layers_to_build, and for a layout
megatron/core/transformer/pipeline_parallel_layer_layout.py.
"""

from collections.abc import Mapping
from typing import Any

from parsolve.constraints.locality import crossing_groups

MOST_STAGES = 1024
"""No list of more pipeline ranks is made."""


def layers_per_stage(given: Mapping[str, Any], known: Mapping[str, Any]) -> list[list[int]] | None:
    """Layers by pipeline rank and chunk; None where the layers or their split are not known.

    ``given`` are field values, ``known`` derived quantities that are defined.
    """
    ranks, chunks = given["pp_size"], known.get("virtual_stages")
    layout, layers = given["pipeline_layout"], given["num_hidden_layers"]
    if chunks is None or ranks > MOST_STAGES:
        return None
    if layout:
        counts = [stage.count("t") for stage in layout]
        return [counts[rank::ranks] for rank in range(ranks)]
    middle = known.get("layers_per_middle_stage")
    if layers is None or middle is None:
        return None
    first, last = given["first_stage_layers"], given["last_stage_layers"]
    whole = [middle] * ranks
    if first:
        whole[0] = first
    if last:
        whole[-1] = last
    if any(count % chunks for count in whole):
        return None
    found = [[count // chunks] * chunks for count in whole]
    found[0][0] -= given["account_for_embedding"]
    found[-1][-1] -= given["account_for_loss"]
    return found


def lists(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer shows as lists."""
    found = layers_per_stage(given, known)
    stages = {} if found is None else {"layers_per_stage": found}
    return {**stages, "crossing_groups": crossing_groups(known)}
