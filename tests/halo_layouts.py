"""The rank groups that halo recorded, and how each record is read off groups and places."""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

Groups = list[list[int]]

ROWS: dict[int, dict[str, Any]] = dict(
    enumerate(
        map(
            json.loads,
            (Path(__file__).parent / "data" / "halo_layouts.jsonl")
            .read_text(encoding="utf-8")
            .splitlines(),
        ),
        start=1,
    )
)
NO_GROUPS = {34: "which rank writes a checkpoint is no group", 36: "laws of every shape"}


class Row(ABC):
    """Groups at the configuration of a row, and the rank that it asks about."""

    rank: int

    @abstractmethod
    def groups(self, name: str) -> Groups:
        """The groups of a kind; where there are none of it, those that the framework would make."""

    @abstractmethod
    def places(self, name: str) -> list[tuple[int, int]]:
        """Group and position of each rank."""

    def place(self, name: str) -> tuple[int, int]:
        return self.places(name)[self.rank]

    def own(self, name: str) -> list[int]:
        return self.groups(name)[self.place(name)[0]]

    def batches(self) -> list[int]:
        return [batch for batch, _ in self.places("same-batch")]

    def per_stage(self, name: str) -> int:
        return len(self.groups(name)) // len(self.groups("stage"))

    def confined(self, name: str) -> bool:
        """Whether no group of the kind leaves its stage."""
        stages = [stage for stage, _ in self.places("stage")]
        return all(len({stages[rank] for rank in group}) == 1 for group in self.groups(name))

    def partitions(self, *names: str) -> bool:
        ranks = list(range(len(self.batches())))
        return all(sorted(itertools.chain(*self.groups(name))) == ranks for name in names)

    def replicas(self) -> list[tuple[int, int]]:
        """EP group and EP rank of each replica of the rank's experts."""
        return [self.places("ep")[rank] for rank in self.own("expert-replicas")]


ANSWERS: dict[str, Callable[[Row], Any]] = {
    "ep_rank": lambda row: row.place("ep")[1],
    "ep_group_idx": lambda row: row.place("ep")[0],
    "num_ep_groups": lambda row: row.per_stage("ep"),
    "replica_count": lambda row: len(row.replicas()),
    "replicas_share_ep_rank": lambda row: len({at for _, at in row.replicas()}) == 1,
    "replica_group_indices": lambda row: [index for index, _ in row.replicas()],
    "data_parallel_rank": lambda row: row.batches()[row.rank],
    "data_parallel_rank_by_rank": lambda row: row.batches(),
    "data_parallel_size": lambda row: len(set(row.batches())),
    "ep_group_ranks": lambda row: row.own("ep"),
    "expert_replica_ranks": lambda row: row.own("expert-replicas"),
    "cp_group_ranks": lambda row: row.own("cp"),
    "cp_rank_by_rank": lambda row: [at for _, at in row.places("cp")],
    "pp_group_ranks": lambda row: row.own("pp"),
    "pp_rank": lambda row: row.place("pp")[1],
    "stage_base_rank": lambda row: row.own("stage")[0],
    "stage_local_rank": lambda row: row.place("stage")[1],
    "stage_world_size": lambda row: len(row.groups("stage")[0]),
    "stages": lambda row: row.groups("stage"),
    "dp_scope_groups": lambda row: row.groups("stage"),
    "chains": lambda row: row.groups("pp"),
    "ep_groups": lambda row: row.groups("ep"),
    "expert_replica_groups": lambda row: row.groups("expert-replicas"),
    "dispatch_groups": lambda row: row.groups("dispatch"),
    "expert_tp_groups": lambda row: row.groups("etp"),
    "cp_groups": lambda row: row.groups("cp"),
    "ep_groups_per_stage": lambda row: row.per_stage("ep"),
    "num_ep_groups_per_stage": lambda row: row.per_stage("ep"),
    "cp_groups_per_stage": lambda row: row.per_stage("cp"),
    "confined_to_stage": lambda row: row.confined("ep"),
    "replicas_confined_to_stage": lambda row: row.confined("expert-replicas"),
    "partition": lambda row: row.partitions("ep", "cp"),
    "expert_tp_groups_partition_world": lambda row: row.partitions("etp"),
}
CLAIMS: dict[str, Callable[[Row, Any], bool]] = {
    "same_data_parallel_rank_as": lambda row, other: (
        row.batches()[row.rank] == row.batches()[other]
    ),
    "an_expert_tp_group": lambda row, group: group in row.groups("etp"),
    "data_parallel_ranks_of_chains": lambda row, _: (
        [{row.batches()[rank] for rank in chain} for chain in row.groups("pp")]
        == [{0}, {1}, {2}, {3}]
    ),
}
"""Where a row records one example, a relation or a sentence."""


def check(row: Row, number: int) -> None:
    """That the row says what was recorded under this number."""
    for name, recorded in ROWS[number]["layout"].items():
        if name in CLAIMS:
            assert CLAIMS[name](row, recorded), name
        else:
            assert ANSWERS[name](row) == recorded, name
