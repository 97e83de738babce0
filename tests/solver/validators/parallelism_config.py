"""A training project's own configuration object, which checks itself where it is made."""

from __future__ import annotations

from dataclasses import dataclass, field

USUAL_GPUS_PER_NODE = 8
LEGACY_MAX_RANKS = 8
LEGACY_TUNED_RANKS = (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 144, 160)
EP_SCOPES = ("auto", "node", "global")
EP_BUFFER_BACKENDS = ("auto", "elastic", "legacy")

SUPPORTED_AXIS_SETS = frozenset(
    {
        frozenset(),
        frozenset({"ep"}),
        frozenset({"etp"}),
        frozenset({"tp"}),
        frozenset({"cp"}),
        frozenset({"pp"}),
        frozenset({"ep", "tp"}),
        frozenset({"ep", "cp"}),
        frozenset({"ep", "etp"}),
        frozenset({"pp", "ep"}),
        frozenset({"pp", "etp"}),
    }
)
"""Axes that were tried together on real clusters."""


def divides(divisor: int, number: int) -> bool:
    """Whether the number is a whole multiple of the divisor."""
    return number % divisor == 0


@dataclass(frozen=True)
class ParallelismConfig:
    """How the ranks of a job are divided."""

    world_size: int
    gpus_per_node: int = 0
    nvlink_domain_size: int = 0
    tensor_parallel_size: int = 1
    context_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    expert_parallel_size: int = 1
    expert_tensor_parallel_size: int = 1
    ep_scope: str = "auto"
    ep_buffer_backend: str = "auto"
    use_hsdp: bool = False
    fsdp_reshard_after_forward: bool = False
    fsdp_reshard_after_backward: bool = True
    fsdp_defer_grad_sync: bool = False
    fsdp_shard_ep1_experts: bool = True
    num_attention_heads: list[int] | None = None
    num_key_value_heads: list[int] | None = None
    data_parallel_size: int = field(init=False)

    def __post_init__(self) -> None:
        """Refuse what would hang, crash or train something else."""
        self._validate_values()
        self._validate_axis_set()
        self._validate_cluster()
        self._resolve_data_parallel()
        self._validate_pipeline()
        self._validate_expert_groups()
        self._validate_context_parallel()
        self._validate_tensor_parallel()
        self._validate_expert_tensor_parallel()
        self._validate_experts_with_context()
        self._validate_expert_races()
        self._validate_buffer()
        self._validate_hsdp()
        self._validate_fsdp()
        self._validate_heads()

    @property
    def node_size(self) -> int:
        """Ranks of one node."""
        return self.gpus_per_node or min(USUAL_GPUS_PER_NODE, self.world_size)

    @property
    def domain_size(self) -> int:
        """Ranks that reach each other over NVLink."""
        domain = self.nvlink_domain_size or self.node_size
        return min(domain, self.world_size)

    @property
    def stage_world_size(self) -> int:
        """Ranks of one pipeline stage."""
        return self.world_size // self.pipeline_parallel_size

    @property
    def num_nvlink_domains(self) -> int:
        """Domains of one pipeline stage."""
        return self.stage_world_size // self.domain_size

    @property
    def num_nodes(self) -> int:
        """Machines of the job."""
        return self.world_size // self.node_size

    @property
    def ep_group_size(self) -> int:
        """Ranks that together hold every expert once."""
        return self.expert_parallel_size * self.expert_tensor_parallel_size

    @property
    def is_ep_mode(self) -> bool:
        """Whether experts are divided at all."""
        return self.ep_group_size > 1

    @property
    def resolved_scope(self) -> str:
        """Whether expert groups stay in a domain ("node") or cut through all of them."""
        if not self.is_ep_mode:
            return "node"
        if self.ep_scope == "auto":
            return "node" if self.ep_group_size <= self.domain_size else "global"
        return self.ep_scope

    @property
    def active_axes(self) -> frozenset[str]:
        """Axes along which something is divided."""
        sizes = {
            "tp": self.tensor_parallel_size,
            "cp": self.context_parallel_size,
            "pp": self.pipeline_parallel_size,
            "ep": self.expert_parallel_size,
            "etp": self.expert_tensor_parallel_size,
        }
        return frozenset(axis for axis, size in sizes.items() if size > 1)

    def _validate_values(self) -> None:
        for name in ("expert", "tensor", "context", "expert_tensor", "pipeline"):
            size = getattr(self, f"{name}_parallel_size")
            if size < 1:
                raise ValueError(f"{name}_parallel_size must be at least 1, got {size}")
        if self.ep_scope not in EP_SCOPES:
            raise ValueError(f"ep_scope must be one of {EP_SCOPES}, got {self.ep_scope!r}")
        if self.ep_buffer_backend not in EP_BUFFER_BACKENDS:
            raise ValueError(f"unknown ep_buffer_backend {self.ep_buffer_backend!r}")

    def _validate_axis_set(self) -> None:
        if self.active_axes not in SUPPORTED_AXIS_SETS:
            raise ValueError(f"{' + '.join(sorted(self.active_axes))} is not supported")

    def _validate_cluster(self) -> None:
        if self.node_size <= 0:
            raise ValueError(f"gpus_per_node must be positive, got {self.gpus_per_node}")
        if not divides(self.node_size, self.world_size):
            raise ValueError(f"{self.world_size} ranks do not fill nodes of {self.node_size}")
        if self.nvlink_domain_size < 0:
            raise ValueError(f"nvlink_domain_size is negative: {self.nvlink_domain_size}")
        if self.nvlink_domain_size > self.world_size and self.num_nodes > 1:
            raise ValueError("the NVLink domain is larger than a job of several nodes")
        if not divides(self.node_size, self.domain_size):
            raise ValueError(f"an NVLink domain of {self.domain_size} splits a node")
        if not divides(self.domain_size, self.world_size):
            raise ValueError(f"{self.world_size} ranks do not fill domains of {self.domain_size}")
        if not divides(self.pipeline_parallel_size, self.world_size):
            raise ValueError(f"{self.world_size} ranks make no equal stages")

    def _resolve_data_parallel(self) -> None:
        shared = max(
            self.tensor_parallel_size,
            self.context_parallel_size,
            self.expert_tensor_parallel_size,
        )
        object.__setattr__(self, "data_parallel_size", self.stage_world_size // shared)

    def _validate_pipeline(self) -> None:
        if self.pipeline_parallel_size == 1:
            return
        if not divides(self.domain_size, self.stage_world_size):
            raise ValueError(f"a stage of {self.stage_world_size} ranks splits an NVLink domain")
        if self.stage_world_size == 1:
            raise ValueError("a stage needs at least two ranks")
        if not self.is_ep_mode and not self.fsdp_shard_ep1_experts:
            raise ValueError("fsdp_shard_ep1_experts must stay on under pipeline parallelism")
        if self.use_hsdp:
            raise ValueError("use_hsdp does not work within a stage")
        if self.fsdp_reshard_after_forward:
            raise ValueError("the pipeline schedule keeps parameters gathered")

    def _validate_expert_groups(self) -> None:
        if not self.is_ep_mode:
            return
        group, domain, stage = self.ep_group_size, self.domain_size, self.stage_world_size
        domains = self.num_nvlink_domains
        if self.resolved_scope == "node":
            if group > domain:
                raise ValueError(f"an expert group of {group} leaves its NVLink domain")
            if domain % group != 0:
                raise ValueError(f"expert groups of {group} do not tile a domain of {domain}")
            return
        if group > stage:
            raise ValueError(f"an expert group of {group} exceeds the stage of {stage}")
        if stage % group != 0:
            raise ValueError(f"expert groups of {group} do not tile the stage of {stage}")
        if group % domains != 0 or domain % (group // domains) != 0:
            raise ValueError(f"an expert group of {group} has no equal part in {domains} domains")

    def _validate_context_parallel(self) -> None:
        size = self.context_parallel_size
        if size == 1:
            return
        if size > self.domain_size:
            raise ValueError(f"context-parallel groups of {size} leave their NVLink domain")
        if self.domain_size % size != 0:
            raise ValueError(f"context-parallel groups of {size} straddle NVLink domains")

    def _validate_tensor_parallel(self) -> None:
        size, experts = self.tensor_parallel_size, self.expert_parallel_size
        if size == 1:
            return
        if size > self.stage_world_size or self.stage_world_size % size != 0:
            raise ValueError(f"tensor-parallel groups of {size} do not tile the stage")
        if experts > 1 and experts % size != 0:
            raise ValueError(f"{experts} expert ranks hold no whole groups of {size}")
        if not divides(size, self.domain_size):
            raise ValueError(f"tensor-parallel groups of {size} straddle NVLink domains")
        groups = self.stage_world_size // self.ep_group_size
        if experts > 1 and self.num_nvlink_domains > 1 and groups > 1:
            raise ValueError("expert and tensor parallelism over several domains and groups")

    def _validate_expert_tensor_parallel(self) -> None:
        size, experts = self.expert_tensor_parallel_size, self.expert_parallel_size
        if size == 1:
            return
        if not divides(size, self.domain_size):
            raise ValueError(f"expert shards of {size} ranks straddle NVLink domains")
        groups = self.stage_world_size // self.ep_group_size
        if experts > 1 and self.num_nvlink_domains > 1 and groups > 1:
            raise ValueError("divided experts over several domains and groups")
        if self.resolved_scope == "global":
            domains = self.num_nvlink_domains
            per_domain = self.ep_group_size // domains
            if size != per_domain or experts != domains:
                raise ValueError(f"a domain must hold one group of {per_domain} expert shards")

    def _validate_experts_with_context(self) -> None:
        if not self.is_ep_mode or self.context_parallel_size == 1:
            return
        if self.resolved_scope == "global":
            raise ValueError("context parallelism needs node-scope expert groups")
        if self.ep_group_size != self.domain_size:
            raise ValueError("beside context parallelism an expert group must be the whole domain")

    def _validate_expert_races(self) -> None:
        several_groups = self.domain_size > self.ep_group_size
        if self.num_nvlink_domains == 1 and self.expert_parallel_size > 2 and several_groups:
            raise ValueError("dispatch groups would race the sharded gather of their domain")

    def _validate_buffer(self) -> None:
        width = self.expert_parallel_size
        if self.ep_buffer_backend != "legacy" or width == 1:
            return
        if self.num_nodes > 1 and self.resolved_scope != "node":
            raise ValueError("the legacy buffer does not cross nodes")
        if width > LEGACY_MAX_RANKS or width > self.node_size:
            raise ValueError(f"the legacy buffer does not reach {width} ranks")
        if width not in LEGACY_TUNED_RANKS:
            raise ValueError(f"the legacy buffer is not tuned for {width} ranks")

    def _validate_hsdp(self) -> None:
        if not self.use_hsdp:
            return
        if self.tensor_parallel_size > 1 or self.expert_tensor_parallel_size > 1:
            raise ValueError("use_hsdp goes with no tensor parallelism")
        if self.expert_parallel_size > 1:
            raise ValueError("use_hsdp goes with no expert parallelism")

    def _validate_fsdp(self) -> None:
        tensor, pipeline = self.tensor_parallel_size > 1, self.pipeline_parallel_size > 1
        if not self.fsdp_reshard_after_backward:
            if self.fsdp_reshard_after_forward:
                raise ValueError("parameters cannot be both kept and resharded")
            if tensor or pipeline:
                raise ValueError("parameters are always resharded under tensor parallelism")
        if self.fsdp_defer_grad_sync:
            if self.fsdp_reshard_after_forward:
                raise ValueError("deferred gradients are held whole, which ZeRO-3 shards")
            if pipeline or (tensor and self.data_parallel_size == 1):
                raise ValueError("there is no gradient reduction to defer")
        if not self.fsdp_shard_ep1_experts and (tensor or self.context_parallel_size > 1):
            raise ValueError("experts are sharded in any case")
        if self.fsdp_reshard_after_forward:
            if self.is_ep_mode:
                raise ValueError("ZeRO-3 races the combine of expert groups")
            if tensor and self.data_parallel_size > 1:
                raise ValueError("ZeRO-3 cannot gather what tensor parallelism divides")

    def _validate_heads(self) -> None:
        for size in (self.tensor_parallel_size, self.context_parallel_size):
            self._validate_heads_of("attention", self.num_attention_heads, size)
            self._validate_heads_of("key/value", self.num_key_value_heads, size)

    def _validate_heads_of(self, kind: str, counts: list[int] | None, size: int) -> None:
        if counts is not None and any(count % size != 0 for count in counts):
            raise ValueError(f"{size} ranks would share one of {counts} {kind} heads")
