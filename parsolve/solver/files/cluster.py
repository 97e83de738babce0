"""The cluster of a job, from nodes, GPUs of a node, and GPUs in all, as far as they are said."""

from __future__ import annotations

from dataclasses import dataclass

from parsolve.constraints.fields import Misuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """GPUs in all, OS nodes, and processes (one per GPU) of each node; None where unsaid."""

    world: int | None = None
    nodes: int | None = None
    gpus_per_node: int | None = None

    def sizes(self) -> tuple[int | None, int | None]:
        """The world and the GPUs of a node, as far as they follow. Raises `Misuse`."""
        nodes, per_node, world = self.nodes, self.gpus_per_node, self.world
        if nodes is not None and per_node is not None:
            whole = nodes * per_node
            if world is not None and world != whole:
                message = f"{nodes} nodes of {per_node} GPUs are {whole} GPUs, not {world}"
                raise Misuse(message)
            return whole, per_node
        if nodes is not None and world is not None:
            if world % nodes:
                message = f"{world} GPUs are not the same number on each of {nodes} nodes"
                raise Misuse(message)
            return world, world // nodes
        return world, per_node

    def over(self, other: Cluster) -> Cluster:
        """Take what the other cluster says where nothing is said here.

        Where this says how many GPUs there are, the other one's nodes are not those: only its
        GPUs of a node, where they tile the world.
        """
        world, nodes, per_node = self.world, self.nodes, self.gpus_per_node
        if world is None and nodes is None:
            nodes = other.nodes
        if per_node is None and (
            world is None or not other.gpus_per_node or world % other.gpus_per_node == 0
        ):
            per_node = None if world is not None and nodes is not None else other.gpus_per_node
        if world is None and None in {nodes, per_node}:
            world = other.world
        return Cluster(world=world, nodes=nodes, gpus_per_node=per_node)
