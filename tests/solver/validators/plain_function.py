"""The same checks as one function of a launch script, under the names of its options."""

from __future__ import annotations

FORBIDDEN_PAIRS = (("tp", "cp"), ("tp", "etp"), ("cp", "etp"), ("pp", "tp"), ("pp", "cp"))
MOST_AXES = 2
LEGACY_WIDTHS = {2, 4, 8}


def check(
    *,
    world: int,
    node: int,
    domain: int,
    tp: int,
    cp: int,
    pp: int,
    ep: int,
    etp: int,
    scope: str,
    backend: str,
    hsdp: bool,
    zero3: bool,
    reshard_backward: bool,
    defer_sync: bool,
    shard_ep1: bool,
) -> None:
    """Refuse where the job would not work."""
    check_axes({"tp": tp, "cp": cp, "pp": pp, "ep": ep, "etp": etp})
    if scope not in {"auto", "node", "global"} or backend not in {"auto", "elastic", "legacy"}:
        raise ValueError(f"no such scope or backend: {scope}, {backend}")

    node, domain = resolved_cluster(world, node, domain)
    if world % pp:
        raise ValueError(f"{world} ranks make no {pp} equal stages")

    # Pipeline stages.
    stage = world // pp
    group = ep * etp
    if pp > 1 and (stage % domain or stage == 1):
        raise ValueError(f"a stage of {stage} ranks is no whole number of domains")
    if pp > 1 and (hsdp or zero3 or (group == 1 and not shard_ep1)):
        raise ValueError("a pipeline goes with plain FSDP only")
    domains = stage // domain

    # Expert groups.
    if group == 1:
        scope = "node"
    elif scope == "auto":
        scope = "global" if group > domain else "node"
    if scope == "node" and domain % group:
        raise ValueError(f"groups of {group} do not tile a domain of {domain}")
    if scope == "global" and (stage % group or group % domains or domain % (group // domains)):
        raise ValueError(f"groups of {group} do not tile {domains} domains of {domain}")

    # Axes inside a domain.
    for size in (tp, cp, etp):
        if domain % size:
            raise ValueError(f"groups of {size} straddle domains of {domain}")
    if ep > 1 and ep % tp:
        raise ValueError(f"{ep} expert ranks, {tp} tensor ranks")
    if ep > 1 and (tp > 1 or etp > 1) and domains > 1 and stage > group:
        raise ValueError("several expert groups over several domains go with EP alone")
    if etp > 1 and scope == "global" and (etp != group // domains or ep != domains):
        raise ValueError("one expert-TP group per domain, please")
    if group > 1 and cp > 1 and (scope == "global" or group != domain):
        raise ValueError("beside CP an expert group is one domain")
    if domains == 1 and ep > 2 and domain > group:
        raise ValueError(f"{domain // group} groups of {ep} would race")
    if backend == "legacy" and ep > 1:
        if world != node and scope == "global":
            raise ValueError("the legacy buffer stays in a node")
        if ep not in LEGACY_WIDTHS or ep > node:
            raise ValueError(f"no legacy buffer for {ep} ranks")

    if hsdp and (tp > 1 or etp > 1 or ep > 1):
        raise ValueError("HSDP goes with CP or nothing")
    if not shard_ep1 and (tp > 1 or cp > 1):
        raise ValueError("these wraps shard experts anyway")
    if not reshard_backward and (zero3 or tp > 1 or pp > 1):
        raise ValueError("parameters cannot be kept after the backward pass")
    single = tp > 1 and stage // max(tp, cp, etp) == 1
    if defer_sync and (zero3 or pp > 1 or single):
        raise ValueError("gradients cannot be deferred")
    if zero3 and (group > 1 or (tp > 1 and not single)):
        raise ValueError("ZeRO-3 goes with data parallelism, CP or TP alone")


def check_axes(sizes: dict[str, int]) -> None:
    """Refuse axes without a rank, and those that were never tried together."""
    if min(sizes.values()) < 1:
        raise ValueError(f"every axis needs at least one rank: {sizes}")
    active = [axis for axis, size in sizes.items() if size > 1]
    if len(active) > MOST_AXES:
        raise ValueError(f"too many axes at once: {active}")
    for one, other in FORBIDDEN_PAIRS:
        if one in active and other in active:
            raise ValueError(f"{one} and {other} exclude each other")


def resolved_cluster(world: int, node: int, domain: int) -> tuple[int, int]:
    """GPUs of a node and of an NVLink domain, neither of them 0."""
    if node == 0:
        node = min(8, world)
    if node < 1 or world % node:
        raise ValueError(f"{world} ranks do not fill nodes of {node}")
    if domain == 0:
        return node, node
    if domain > world:
        if world > node:
            raise ValueError(f"{world} ranks on several nodes, {domain} in an NVLink domain")
        return node, world
    if domain < 0 or domain % node or world % domain:
        raise ValueError(f"{world} ranks, {node} a node, {domain} a domain")
    return node, domain
