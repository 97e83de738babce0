"""The process groups of Megatron-Core 0.19.2: loops that fill lists of global ranks.

Megatron counts ranks twice, with one counter for attention and one for experts. A counter has a
wheel for each axis, and the order of axes says which wheel turns fastest: the leftmost.
Source: `megatron/core/parallel_state.py` `RankGenerator`, `initialize_model_parallel`.
"""

from __future__ import annotations

from dataclasses import dataclass

ORDERS = ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")
"""The default, and what `--use-tp-pp-dp-mapping` asks for."""

Groups = list[list[int]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Who is grouped with whom, in Megatron's order of groups and of ranks within a group.

    `gtp` shares weights beyond tensor parallelism, `mp` holds one copy of the dense model, and
    `tp_dp_cp` everyone but other pipeline stages. `ep` to `edp` are the groups of experts.
    """

    tp: Groups
    gtp: Groups
    cp: Groups
    dp: Groups
    pp: Groups
    dp_cp: Groups
    tp_cp: Groups
    tp_dp: Groups
    tp_dp_cp: Groups
    mp: Groups
    etp: Groups
    egtp: Groups
    ep: Groups
    edp: Groups
    etp_ep: Groups
    etp_ep_pp: Groups


def _turn(axes: list[tuple[str, int]], chosen: set[str], *, within: bool) -> list[int]:
    """List the ranks reached by turning only the chosen wheels, or only the others."""
    reached = [0]
    stride = 1
    for name, size in axes:
        if (name in chosen) == within:
            turned: list[int] = []
            for position in range(size):
                for rank in reached:
                    turned.append(rank + position * stride)  # noqa: PERF401 - loops are the point
            reached = turned
        stride *= size
    return reached


def _fill(axes: list[tuple[str, int]], *names: str) -> Groups:
    """Make one group for every position of the wheels that stand still."""
    chosen = set(names)
    members = _turn(axes, chosen, within=True)
    groups: Groups = []
    for start in _turn(axes, chosen, within=False):
        groups.append([start + member for member in members])
    return groups


def _axes(order: str, after: str, sizes: dict[str, int]) -> list[tuple[str, int]]:
    """Set the wheels up; the one of weight shards stands behind another."""
    axes: list[tuple[str, int]] = []
    for name in order.split("-"):
        axes.append((name, sizes.get(name, 1)))
        if name == after:
            axes.append(("gtp", sizes["gtp"]))
    return axes


def layout(
    *,
    world_size: int,
    tensor_model_parallel_size: int = 1,
    pipeline_model_parallel_size: int = 1,
    context_parallel_size: int = 1,
    expert_model_parallel_size: int = 1,
    expert_tensor_parallel_size: int | None = None,
    gtp_weight_remat_size: int = 1,
    expert_gtp_weight_remat_size: int = 1,
    order: str = ORDERS[0],
) -> Layout:
    """Create every group of an accepted configuration."""
    tp, pp, cp = tensor_model_parallel_size, pipeline_model_parallel_size, context_parallel_size
    etp = tp if expert_tensor_parallel_size is None else expert_tensor_parallel_size
    ep, gtp, egtp = expert_model_parallel_size, gtp_weight_remat_size, expert_gtp_weight_remat_size
    if order not in ORDERS:
        raise ValueError(f"order = {order!r} is none of {ORDERS}")
    if min(world_size, tp, pp, cp, ep, etp, gtp, egtp) < 1:
        raise ValueError("every size has to be 1 or more")
    if world_size % (tp * pp * cp * gtp) != 0 or world_size % (etp * ep * pp * egtp) != 0:
        raise ValueError(f"world_size = {world_size} does not split into these groups")
    dense = {"tp": tp, "pp": pp, "cp": cp, "gtp": gtp, "dp": world_size // (tp * pp * cp * gtp)}
    experts = {"tp": etp, "pp": pp, "ep": ep, "gtp": egtp}
    experts["dp"] = world_size // (etp * ep * pp * egtp)
    d = _axes(order, "tp", dense)
    e = _axes(order, "ep", experts)
    return Layout(
        tp=_fill(d, "tp"),
        gtp=_fill(d, "gtp"),
        cp=_fill(d, "cp"),
        dp=_fill(d, "dp"),
        pp=_fill(d, "pp"),
        dp_cp=_fill(d, "dp", "cp"),
        tp_cp=_fill(d, "tp", "cp"),
        tp_dp=_fill(d, "tp", "gtp", "dp"),
        tp_dp_cp=_fill(d, "tp", "gtp", "dp", "cp"),
        mp=_fill(d, "tp", "gtp", "pp"),
        etp=_fill(e, "tp"),
        egtp=_fill(e, "gtp"),
        ep=_fill(e, "ep"),
        edp=_fill(e, "dp"),
        etp_ep=_fill(e, "tp", "ep"),
        etp_ep_pp=_fill(e, "tp", "ep", "pp"),
    )
