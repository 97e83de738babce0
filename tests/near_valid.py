"""A generator of near-valid halo configurations, and the independent verdict on them.

Uniformly random configurations are useless: almost none is accepted and almost none breaks
one rule alone. This one starts from sizes that tile the cluster and knobs at their defaults,
then disturbs a few of them.
"""

from __future__ import annotations

import dataclasses
import inspect
import random
from typing import Any

from parsolve.constraints import PROFILES
from parsolve.constraints.fields import Choice, Flag, Size, Sizes
from parsolve.reference import halo as reference

HALO = PROFILES["halo"]
AXES = ("pp_size", "tp_size", "cp_size", "expert_tp_size", "ep_size")
CLUSTERS = (
    (1, 1, 0),
    (6, 6, 0),
    (8, 8, 0),
    (8, 0, 0),
    (16, 8, 0),
    (16, 8, 16),
    (16, 2, 4),
    (24, 8, 0),
    (24, 6, 12),
    (32, 4, 0),
    (40, 8, 0),
    (64, 8, 0),
    (64, 8, 32),
    (72, 4, 72),
    (144, 4, 72),
    (144, 8, 72),
    (512, 8, 0),
)
COUNTS = {
    "num_experts": (8, 64, 100, 128),
    "num_experts_per_tok": (2, 8),
    "moe_intermediate_size": (768, 1020),
    "hidden_size": (2880, 8192),
    "max_position_embeddings": (16384, 32768),
    "max_length": (4096, 16384, 32768),
    "per_device_train_batch_size": (1, 2, 3),
    "per_device_eval_batch_size": (1, 2),
    "gradient_accumulation_steps": (1, 4),
    "pp_microbatches": (0, 2, 4, -1),
    "max_concurrent_loading": (0, 2, -1),
    "lowp_keep_first_blocks": (1, -1),
    "lowp_keep_last_blocks": (2,),
    "ep_rows_per_device": (0, 1, 2),
    "gin_max_tokens_per_rank": (0, 4096),
    "nvlink_domain_env": (0, -4, 4, 16),
}
LISTS = {
    "pp_split": ((1, 1), (4, 4), (2, 0), (3, 3, 3)),
    "num_attention_heads": ((32,), (12,), (4, 6)),
    "num_key_value_heads": ((8,), (2,), (4, 6)),
}


REFERENCE_FIELDS = frozenset(inspect.signature(reference.validate).parameters)
"""What the independent validator reads; it has no parameter for fields that no rule reads."""


def divisors(n: int) -> list[int]:
    """Every divisor, in order."""
    return [d for d in range(1, n + 1) if n % d == 0]


def near_valid(rng: random.Random) -> dict[str, Any]:
    """Fields of one configuration: a plausible layout with a few knobs disturbed."""
    world, node, domain = rng.choice(CLUSTERS)
    given: dict[str, Any] = {
        "world_size": world,
        "gpus_per_node": node,
        "nvlink_domain_size": domain,
        "assume_pp": rng.random() < 0.9,
    }
    local = min(domain or node or 8, world)
    mode = rng.choice(HALO.modes) if rng.random() < 0.85 else frozenset(rng.sample(AXES, 2))
    for axis in mode:
        wide = axis in {"ep_size", "pp_size"} and rng.random() < 0.6
        given[axis] = rng.choice(divisors(world if wide else local))
    if rng.random() < 0.4:
        given["ep_scope"] = rng.choice(("node", "global"))
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 3, 6))):
        field = rng.choice(HALO.fields)
        if field.name in given and field.name not in AXES:
            continue
        match field:
            case Flag(default=default):
                given[field.name] = not default
            case Choice(choices=choices, checked=checked):
                illegal = ("nonsense",) if checked and rng.random() < 0.2 else ()
                given[field.name] = rng.choice((*choices, *illegal))
            case Sizes(name=name):
                given[name] = rng.choice(LISTS[name])
            case Size(name=name):
                small = (0, 1, 2, 3, 4, 5, 6, 8, 16)
                given[name] = rng.choice(COUNTS[name] if name in COUNTS else small)
    if given.get("model_kind") == "dense":
        given.pop("num_experts", None)
    given["world_size"] = max(1, given["world_size"])
    return given


def reference_verdict(given: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """First rule that the independent validator raises, or None and its derived values."""
    try:
        derived = reference.validate(**{k: v for k, v in given.items() if k in REFERENCE_FIELDS})
    except reference.Rejected as rejection:
        return rejection.rule, {}
    return None, dataclasses.asdict(derived)


def catalogue_verdict(given: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """First violated rule of the catalogue, or None and its derived values."""
    config = HALO.config(given)
    violated = HALO.violated(config.values)
    if violated:
        return HALO.rules[violated[0]].id, {}
    return None, HALO.derive(config.values)
