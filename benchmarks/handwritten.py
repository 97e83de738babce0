"""What a good engineer would write instead: loops over divisors with the obvious prunings.

For an MoE model, every knob but the axes and the expert scope at its default, GPUs per node
given and the NVLink domain the node. Layouts state the scope in effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from parsolve.reference import halo as reference


class Layout(NamedTuple):
    """The axes, and the scope of the expert groups in effect."""

    pp: int
    tp: int
    cp: int
    etp: int
    ep: int
    scope: str


def divisors(number: int) -> list[int]:
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


def candidates(world: int, node: int, *, assume_pp: bool) -> Iterator[Layout]:
    """Sizes that tile their level of the cluster, in a supported set of axes."""
    whole, local = divisors(world), divisors(node)
    for pp in whole if assume_pp else (1,):
        stage = world // pp
        if stage % node or (pp > 1 and stage == 1):
            continue
        flat = pp == 1
        experts = [d for d in whole if stage % d == 0]
        for tp in local if flat else (1,):
            for cp in local if flat and tp == 1 else (1,):
                for etp in local if tp == cp == 1 else (1,):
                    for ep in experts:
                        if stage % (ep * etp) or (not flat and ep > 1 and etp > 1):
                            continue
                        for scope in scopes(ep * etp, node):
                            yield Layout(pp, tp, cp, etp, ep, scope)


def scopes(group: int, node: int) -> tuple[str, ...]:
    if group == 1:
        return ("node",)
    return ("node", "global") if group <= node else ("global",)


def validated(world: int, node: int, *, assume_pp: bool) -> list[Layout]:
    """Every valid layout; the reference validator has the last word on each candidate."""
    found = []
    for layout in candidates(world, node, assume_pp=assume_pp):
        pp, tp, cp, etp, ep, scope = layout
        try:
            reference.validate(
                world_size=world,
                gpus_per_node=node,
                model_kind="moe",
                assume_pp=assume_pp,
                pp_size=pp,
                tp_size=tp,
                cp_size=cp,
                expert_tp_size=etp,
                ep_size=ep,
                ep_scope=scope,
            )
        except reference.Rejected:
            continue
        found.append(layout)
    return found


def inline(world: int, node: int, *, assume_pp: bool) -> list[Layout]:
    """Every valid layout, by the conditions that are left for these candidates."""
    found = []
    for layout in candidates(world, node, assume_pp=assume_pp):
        pp, tp, cp, etp, ep, scope = layout
        stage, group = world // pp, ep * etp
        domains = stage // node
        if group > 1:
            if scope == "node":
                if node % group:
                    continue
            elif group % domains or node % (group // domains):
                continue
            if cp > 1 and (scope == "global" or group != node):
                continue
        if ep > 1:
            if ep % tp:
                continue
            if domains == 1 and ep > 2 and group < node:
                continue
            if domains > 1 and (tp > 1 or etp > 1) and group < stage:
                continue
        if etp > 1 and scope == "global" and ep != domains:
            continue
        found.append(layout)
    return found


def data_parallel(world: int, layout: Layout) -> int:
    """Distinct batches of a step."""
    return world // layout.pp // max(layout.tp, layout.cp, layout.etp)
