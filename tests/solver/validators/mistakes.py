"""Small changes of `ParallelismConfig`, as people get it wrong, and some that change nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsolve.constraints import PROFILES
from parsolve.solver.prove.validator import Validator
from parsolve.solver.symbolic.sources import Sources
from tests.solver.validators import parallelism_config

SOURCE = Path(parallelism_config.__file__).read_text(encoding="utf-8")
ENTRY = "ParallelismConfig"

FIELD_OF = {
    "world_size": "world_size",
    "gpus_per_node": "gpus_per_node",
    "nvlink_domain_size": "nvlink_domain_size",
    "tensor_parallel_size": "tp_size",
    "context_parallel_size": "cp_size",
    "pipeline_parallel_size": "pp_size",
    "expert_parallel_size": "ep_size",
    "expert_tensor_parallel_size": "expert_tp_size",
    "ep_scope": "ep_scope",
    "ep_buffer_backend": "ep_buffer_backend",
    "use_hsdp": "use_hsdp",
    "fsdp_reshard_after_forward": "fsdp_reshard_after_forward",
    "fsdp_reshard_after_backward": "fsdp_reshard_after_backward",
    "fsdp_defer_grad_sync": "fsdp_defer_grad_sync",
    "fsdp_shard_ep1_experts": "fsdp_shard_ep1_experts",
    "num_attention_heads": "num_attention_heads",
    "num_key_value_heads": "num_key_value_heads",
}
"""The class's own parameters, and the fields that they stand for."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """``right`` stands in the source once, and is replaced by ``wrong``.

    ``statement`` is what is no longer so: a rule that is violated unnoticed, or "accepts" where
    the validator refuses too much.
    """

    name: str
    right: str
    wrong: str
    statement: str = "accepts"

    def __str__(self) -> str:
        return self.name.replace(" ", "-")

    @property
    def text(self) -> str:
        """The changed source."""
        found = SOURCE.count(self.right)
        if found != 1:
            message = f"{self.name}: {self.right!r} stands {found} times in the source"
            raise ValueError(message)
        return SOURCE.replace(self.right, self.wrong)

    def made(self) -> tuple[Callable[..., Any], Sources]:
        """The changed class, and where its methods are written."""
        file = f"<{self.name}>"
        names: dict[str, Any] = {"__name__": parallelism_config.__name__}
        exec(compile(self.text, file, "exec"), names)  # noqa: S102  (our own text)
        return names[ENTRY], Sources({file: ast.parse(self.text)})

    def validator(self) -> Validator:
        """The changed class as it is compared."""
        made, sources = self.made()
        return Validator(made, PROFILES["halo"], sources=sources)


MISTAKES = (
    # What data parallelism is.
    Mistake(
        "ep multiplied into the world",
        "if not divides(self.pipeline_parallel_size, self.world_size):",
        "if not divides(\n"
        "            self.tensor_parallel_size\n"
        "            * self.pipeline_parallel_size\n"
        "            * self.expert_parallel_size,\n"
        "            self.world_size,\n"
        "        ):",
    ),
    Mistake(
        "dp divided by ep",
        "self.stage_world_size // shared",
        "self.stage_world_size // (shared * self.expert_parallel_size)",
        "data_parallel_size",
    ),
    Mistake(
        "dp of the world",
        "self.stage_world_size // shared",
        "self.world_size // shared",
        "data_parallel_size",
    ),
    Mistake(
        "dp without etp",
        "            self.context_parallel_size,\n            self.expert_tensor_parallel_size,\n",
        "            self.context_parallel_size,\n",
        "data_parallel_size",
    ),
    Mistake(
        "world for dp",
        "(tensor and self.data_parallel_size == 1)",
        "(tensor and self.world_size == 1)",
        "fsdp-defer-without-reduce",
    ),
    Mistake(
        "ep must not exceed dp",
        "if experts > 1 and experts % size != 0:",
        "if experts > 1 and (experts % size != 0 or experts > self.data_parallel_size):",
    ),
    # The cluster.
    Mistake(
        "gpus present instead of launched",
        "min(USUAL_GPUS_PER_NODE, self.world_size)",
        "USUAL_GPUS_PER_NODE",
    ),
    Mistake(
        "the clamp of the domain forgotten",
        "return min(domain, self.world_size)",
        "return domain",
    ),
    Mistake(
        "any domain is clamped",
        "if self.nvlink_domain_size > self.world_size and self.num_nodes > 1:",
        "if self.nvlink_domain_size > self.world_size and self.num_nvlink_domains > 1:",
        "nvlink-domain-exceeds-multinode-world",
    ),
    Mistake(
        "a negative domain",
        "if self.nvlink_domain_size < 0:",
        "if self.domain_size == 0:",
        "nvlink-domain-negative",
    ),
    Mistake(
        "a domain may split a node",
        "if not divides(self.node_size, self.domain_size):",
        "if not divides(self.node_size, self.world_size):",
        "nvlink-domain-not-multiple-of-node",
    ),
    Mistake(
        "the node for the domain in the race",
        "several_groups = self.domain_size > self.ep_group_size",
        "several_groups = self.node_size > self.ep_group_size",
        "ep-single-domain-multi-group",
    ),
    Mistake(
        "the node for the domain under cp",
        "if self.domain_size % size != 0:",
        "if self.node_size % size != 0:",
    ),
    Mistake(
        "domains counted over the world",
        "return self.stage_world_size // self.domain_size",
        "return self.world_size // self.domain_size",
        "ep-single-domain-multi-group",
    ),
    Mistake(
        "domains for nodes of the legacy buffer",
        "if self.num_nodes > 1 and self.resolved_scope",
        "if self.num_nvlink_domains > 1 and self.resolved_scope",
        "legacy-buffer-cross-node",
    ),
    # Divisibility.
    Mistake(
        "floor instead of exact division",
        "return number % divisor == 0",
        "return number // divisor > 0",
        "tp-not-dividing-domain",
    ),
    Mistake(
        "divisibility the wrong way round",
        "return number % divisor == 0",
        "return divisor % number == 0",
    ),
    Mistake(
        "tp groups hold ep groups",
        "experts % size != 0",
        "size % experts != 0",
    ),
    Mistake(
        "a node group only bounded",
        "if domain % group != 0:",
        "if domain < group:",
        "ep-node-group-not-dividing-domain",
    ),
    Mistake(
        "a global group that tiles no domain",
        "if group % domains != 0 or domain % (group // domains) != 0:",
        "if self.world_size % group != 0:",
        "ep-global-not-multiple-of-domains",
    ),
    Mistake(
        "a stage within a domain",
        "if not divides(self.domain_size, self.stage_world_size):",
        "if not divides(self.domain_size, self.world_size):",
        "pp-stage-not-whole-domains",
    ),
    Mistake(
        "kv heads forgotten",
        '            self._validate_heads_of("key/value", self.num_key_value_heads, size)\n',
        "",
        "tp-kv-heads-not-divisible",
    ),
    Mistake(
        "heads of a group wider than they are many",
        "any(count % size != 0 for count in counts)",
        "min(counts) < size",
        "tp-heads-not-divisible",
    ),
    # Bounds.
    Mistake(
        "sizes of zero",
        "if size < 1:",
        "if size < 0:",
        "only-refuses",
    ),
    Mistake(
        "a size without a check",
        '("expert", "tensor", "context", "expert_tensor", "pipeline")',
        '("expert", "tensor", "context", "pipeline")',
        "only-refuses",
    ),
    Mistake(
        "a group as large as the domain goes global",
        '"node" if self.ep_group_size <= self.domain_size',
        '"node" if self.ep_group_size < self.domain_size',
    ),
    Mistake(
        "the widest legacy buffer refused",
        "if width > LEGACY_MAX_RANKS",
        "if width >= LEGACY_MAX_RANKS",
    ),
    Mistake(
        "races from one rank on",
        "self.expert_parallel_size > 2",
        "self.expert_parallel_size > 1",
    ),
    Mistake(
        "races from two ranks on",
        "self.expert_parallel_size > 2",
        "self.expert_parallel_size >= 2",
    ),
    Mistake(
        "races from five ranks on",
        "self.expert_parallel_size > 2",
        "self.expert_parallel_size > 4",
        "ep-single-domain-multi-group",
    ),
    Mistake(
        "two stages may be one rank each",
        "if self.stage_world_size == 1:",
        "if self.world_size == 1:",
        "pp-single-rank-stage",
    ),
    # Expert groups.
    Mistake(
        "etp is tp unless given",
        "self.expert_parallel_size * self.expert_tensor_parallel_size",
        "self.expert_parallel_size * max(\n"
        "            self.expert_tensor_parallel_size, self.tensor_parallel_size\n"
        "        )",
    ),
    Mistake(
        "the larger axis for the group",
        "self.expert_parallel_size * self.expert_tensor_parallel_size",
        "max(self.expert_parallel_size, self.expert_tensor_parallel_size)",
    ),
    Mistake(
        "scope resolved by ep alone",
        '"node" if self.ep_group_size <= self.domain_size',
        '"node" if self.expert_parallel_size <= self.domain_size',
    ),
    Mistake(
        "the race of dispatch groups without etp",
        "several_groups = self.domain_size > self.ep_group_size",
        "several_groups = self.domain_size > self.expert_parallel_size",
    ),
    Mistake(
        "the width of the legacy buffer with etp",
        "width = self.expert_parallel_size",
        "width = self.ep_group_size",
    ),
    Mistake(
        "an expert group beside cp within the domain",
        "if self.ep_group_size != self.domain_size:",
        "if self.ep_group_size > self.domain_size:",
        "ep-cp-group-not-domain",
    ),
    # Sets of axes, and what goes with them.
    Mistake(
        "a missing set of axes",
        '        frozenset({"ep", "cp"}),\n',
        "",
    ),
    Mistake(
        "a set of axes too many",
        'frozenset({"ep", "cp"}),\n',
        'frozenset({"ep", "cp"}),\n        frozenset({"tp", "cp"}),\n',
        "axis-set-unsupported",
    ),
    Mistake(
        "and for or in an exclusion",
        "if self.tensor_parallel_size > 1 or self.expert_tensor_parallel_size > 1:",
        "if self.tensor_parallel_size > 1 and self.expert_tensor_parallel_size > 1:",
        "hsdp-with-tp-or-etp",
    ),
    Mistake(
        "hsdp with ep",
        "if self.expert_parallel_size > 1:",
        'if self.expert_parallel_size > 1 and self.resolved_scope == "global":',
        "hsdp-with-ep",
    ),
    Mistake(
        "zero-3 with pure etp",
        "            if self.is_ep_mode:\n                raise",
        "            if self.expert_parallel_size > 1:\n                raise",
        "fsdp-full-shard-with-expert-group",
    ),
    Mistake(
        "pure etp is no expert mode",
        "return self.ep_group_size > 1",
        "return self.expert_parallel_size > 1",
        "fsdp-full-shard-with-expert-group",
    ),
    Mistake(
        "kept parameters under a pipeline",
        "if tensor or pipeline:",
        "if tensor:",
        "fsdp-backward-keep-with-tp-or-pp",
    ),
    Mistake(
        "unsharded experts under cp",
        "and (tensor or self.context_parallel_size > 1)",
        "and tensor",
        "fsdp-unsharded-ep1-with-tp-or-cp",
    ),
)
"""What goes wrong, and which statement it makes false."""

NO_MISTAKES = (
    Mistake(
        "a product for the largest of axes that exclude each other",
        "        shared = max(\n"
        "            self.tensor_parallel_size,\n"
        "            self.context_parallel_size,\n"
        "            self.expert_tensor_parallel_size,\n"
        "        )",
        "        shared = self.tensor_parallel_size * self.context_parallel_size\n"
        "        shared *= self.expert_tensor_parallel_size",
    ),
    Mistake(
        "checks in another order",
        "        self._validate_cluster()\n        self._resolve_data_parallel()\n",
        "        self._validate_cluster()\n"
        "        self._resolve_data_parallel()\n"
        "        self._validate_fsdp()\n"
        "        self._validate_hsdp()\n",
    ),
    Mistake(
        "a node that does not divide the world, which its domain does not either",
        "if not divides(self.node_size, self.world_size):",
        "if self.world_size < 0:",
    ),
    Mistake(
        "a global group bounded by the world, of which it takes its part of every domain",
        "if group > stage:",
        "if group > self.world_size:",
    ),
)
"""Changes that no configuration tells from the original."""
