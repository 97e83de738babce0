"""The halo parallelism gate as its framework would run it: early exits, one reason, one answer.

Order of checks: entry script, config object, determinism, loader and model, trainer construction.
"PC" below is the framework's `src/distributed/parallelism_config.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

CP_TRAINERS = ("sft", "smpo")
PP_TRAINERS = ("sft", "smpo", "dpo", "kto", "offline_grpo", "reward", "classification")
PAIRED_TRAINERS = ("smpo", "dpo", "reward")

LEGACY_BUFFER_WIDTHS = (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 144, 160)
LOWP_PRECISIONS = ("bf16", "fp8", "fp4", "mxfp4")

TOKEN_ALIGNMENT = 256
WIRE_INDEX_LIMIT = 2_147_483_648

TP_ATTENTION_CLASSES = (
    "Cohere2MoeAttention",
    "GptOssAttention",
    "Qwen3MoeAttention",
    "Qwen3Attention",
    "Glm4MoeLiteAttention",
    "Lfm2MoeAttention",
    "Qwen3_5MoeAttention",
    "Qwen3_5Attention",
    "Qwen3VLTextAttention",
    "Mistral4Attention",
)
LATENT_ATTENTION_CLASSES = ("Glm4MoeLiteAttention", "Mistral4Attention")
BAILING_ATTENTION_CLASSES = (
    "BailingMoeV2Attention",
    "BailingMoeV2FlashAttention2",
    "BailingMoeV2SdpaAttention",
)
CP_ATTENTION_CLASSES = (
    "GptOssAttention",
    "Qwen3MoeAttention",
    "Qwen3Attention",
    "Qwen3VLTextAttention",
    "Glm4MoeLiteAttention",
    "Mistral4Attention",
    "Qwen3_5MoeAttention",
    "Qwen3_5Attention",
    "Cohere2MoeAttention",
    "BailingMoeV2Attention",
    "BailingMoeV2FlashAttention2",
    "BailingMoeV2SdpaAttention",
)
FLASH_IMPLEMENTATIONS = (
    "flash_attention_2",
    "flash_attention_3",
    "flash_attention_4",
    "hub_flash_attention_2",
    "hub_flash_attention_3",
)
FP32_NON_EP_REFUSING_FAMILIES = ("gemma4", "gemma4_moe")
CHECKPOINTING_REFUSING_FAMILIES = ("zaya",)
SHARDED_SAVE_FAMILIES = (
    "gpt_oss",
    "qwen3_moe",
    "qwen3_5_moe",
    "bailing_moe_linear",
    "glm4_moe_lite",
    "lfm2_moe",
    "zaya",
    "mistral4",
    "laguna",
)


class Rejected(Exception):  # noqa: N818 - a verdict, not a malfunction
    """The first rule a configuration breaks."""

    def __init__(self, rule: str, message: str) -> None:
        """Keep the rule's id and a sentence with the numbers in force."""
        super().__init__(rule, message)
        self.rule = rule
        self.message = message


@dataclass(frozen=True, slots=True)
class Derived:
    """Effective and derived values of an accepted configuration; K counts domains per stage."""

    gpus_per_node: int
    nvlink_domain_size: int
    ep_scope: str
    stage_world_size: int
    ep_group_size: int
    num_nodes: int
    num_nvlink_domains: int
    data_parallel_size: int
    num_ep_groups: int
    requires_rdma: bool
    is_ep_mode: bool
    needs_ep_wrappers: bool
    experts_fsdp_managed: bool
    is_hsdp: bool
    dp_shard_size: int
    dp_replicate_size: int
    is_deferred_dp: bool
    defer_grad_sync: bool
    fsdp_width: int


def _known(value: int | None) -> int:
    """Read an optional size; one that was not given counts as 0."""
    if value is None:
        return 0
    return value


def _all_divisible(counts: list[int] | None, divisor: int) -> bool:
    """Whether every count is a multiple of the divisor; true when there is none."""
    if counts is None:
        return True
    return all(count % divisor == 0 for count in counts)


def _detect_gpus_per_node(*, gpus_per_node: int, local_width: int, world_size: int) -> int:
    """Resolve an automatic node width (PC `_resolve_and_validate`)."""
    if gpus_per_node == 0:
        return min(local_width, world_size)
    return gpus_per_node


def _parallelism_config_from_args(
    *,
    trainer: str,
    cp_size: int,
    pp_size: int,
    assume_pp: bool,
    init_from_scratch: bool,
    lowp_precision: str,
    lowp_apply_dense_mlp: bool,
    lowp_apply_moe_experts: bool,
    lowp_keep_first_blocks: int,
    lowp_keep_last_blocks: int,
) -> None:
    """Refuse what the entry script never builds a config for.

    Source: `src/training/parallelism_args.py` `parallelism_config_from_args`.
    """
    if trainer not in ("unspecified", "sft"):
        if lowp_precision != "bf16":
            raise Rejected(
                "lowp-non-sft", f"lowp_precision = {lowp_precision} with trainer {trainer}, not sft"
            )
        if (
            not lowp_apply_dense_mlp
            or not lowp_apply_moe_experts
            or lowp_keep_first_blocks != 0
            or lowp_keep_last_blocks != 0
        ):
            raise Rejected(
                "lowp-shape-knob-non-sft",
                f"a low-precision shaping knob is set with trainer {trainer}, not sft",
            )
        if init_from_scratch:
            raise Rejected(
                "init-from-scratch-non-sft", f"init_from_scratch with trainer {trainer}, not sft"
            )
    if trainer != "unspecified":
        if cp_size > 1 and trainer not in CP_TRAINERS:
            raise Rejected(
                "trainer-no-cp",
                f"cp_size = {cp_size} > 1, but trainer {trainer} has no context parallelism",
            )
        if pp_size > 1 and trainer not in PP_TRAINERS:
            raise Rejected(
                "trainer-no-pp",
                f"pp_size = {pp_size} > 1, but trainer {trainer} cannot be pipelined",
            )
    if pp_size > 1 and not assume_pp:
        raise Rejected(
            "pp-release-gate",
            f"pp_size = {pp_size} > 1, and the schedule engine is not in this release",
        )


def _validate_determinism(*, full_determinism: bool, requires_rdma: bool) -> None:
    """Refuse determinism where tokens cross domains.

    Source: `src/training/parallelism_args.py` `parallelism_config_from_args`, after the config.
    """
    if full_determinism and requires_rdma:
        raise Rejected(
            "determinism-cross-domain-ep",
            "full_determinism with expert groups that span NVLink domains",
        )


def _validate_field_values(
    *,
    ep_size: int,
    tp_size: int,
    cp_size: int,
    expert_tp_size: int,
    pp_size: int,
    pp_schedule: str,
    pp_microbatches: int,
    ep_scope: str,
    ep_buffer_backend: str,
    max_concurrent_loading: int | None,
) -> None:
    """Check each field on its own (PC `_resolve_and_validate`, field sanity)."""
    if ep_size < 1:
        raise Rejected("size-ep-min", f"ep_size = {ep_size} < 1")
    if tp_size < 1:
        raise Rejected("size-tp-min", f"tp_size = {tp_size} < 1")
    if cp_size < 1:
        raise Rejected("size-cp-min", f"cp_size = {cp_size} < 1")
    if expert_tp_size < 1:
        raise Rejected("size-etp-min", f"expert_tp_size = {expert_tp_size} < 1")
    if pp_size < 1:
        raise Rejected("size-pp-min", f"pp_size = {pp_size} < 1")
    if pp_schedule not in ("1f1b", "gpipe"):
        raise Rejected("pp-schedule-enum", f"pp_schedule = {pp_schedule}, not 1f1b or gpipe")
    if pp_microbatches < 0:
        raise Rejected("pp-microbatches-min", f"pp_microbatches = {pp_microbatches} < 0")
    if ep_scope not in ("auto", "node", "global"):
        raise Rejected("ep-scope-enum", f"ep_scope = {ep_scope}, not auto, node or global")
    if ep_buffer_backend not in ("auto", "elastic", "legacy"):
        raise Rejected(
            "ep-buffer-backend-enum",
            f"ep_buffer_backend = {ep_buffer_backend}, not auto, elastic or legacy",
        )
    if max_concurrent_loading is not None and max_concurrent_loading < 0:
        raise Rejected(
            "max-concurrent-loading-min", f"max_concurrent_loading = {max_concurrent_loading} < 0"
        )


def _validate_capability_matrix(
    *, ep_size: int, expert_tp_size: int, tp_size: int, cp_size: int, pp_size: int
) -> None:
    """Admit the eleven validated sets of active axes only.

    Source: PC `_validate_capability_matrix`, `SUPPORTED_AXIS_SETS`.
    """
    ep = ep_size > 1
    etp = expert_tp_size > 1
    tp = tp_size > 1
    cp = cp_size > 1
    if pp_size > 1:
        supported = not tp and not cp and not (ep and etp)
    else:
        supported = not (tp and cp) and not (tp and etp) and not (etp and cp)
    if not supported:
        raise Rejected(
            "axis-set-unsupported",
            f"no validated composition of ep = {ep_size}, etp = {expert_tp_size}, "
            f"tp = {tp_size}, cp = {cp_size}, pp = {pp_size}",
        )


def _validate_node_topology(
    *, world_size: int, gpus_per_node: int, nvlink_domain_size: int
) -> None:
    """Check that nodes tile the world and the domain is not negative (PC, same name)."""
    if gpus_per_node > 0 and world_size % gpus_per_node != 0:
        raise Rejected(
            "world-not-multiple-of-node",
            f"world_size = {world_size} is no multiple of gpus_per_node = {gpus_per_node}",
        )
    if gpus_per_node <= 0:
        raise Rejected("gpus-per-node-nonpositive", f"gpus_per_node = {gpus_per_node} <= 0")
    if nvlink_domain_size < 0:
        raise Rejected("nvlink-domain-negative", f"nvlink_domain_size = {nvlink_domain_size} < 0")


def _resolve_nvlink_domain(
    *, world_size: int, gpus_per_node: int, nvlink_domain_size: int, nvlink_domain_env: int
) -> int:
    """Choose the domain: given, else environment, else node; clamp it on one node.

    Source: PC `_resolve_and_validate`.
    """
    if nvlink_domain_size != 0:
        domain = nvlink_domain_size
    elif nvlink_domain_env > 0:
        domain = nvlink_domain_env
    else:
        domain = gpus_per_node
    if domain > world_size:
        if world_size > gpus_per_node:
            raise Rejected(
                "nvlink-domain-exceeds-multinode-world",
                f"nvlink_domain_size = {domain} > world_size = {world_size}, "
                f"which is more than one node of {gpus_per_node}",
            )
        domain = world_size
    return domain


def _validate_tiling(
    *, world_size: int, gpus_per_node: int, nvlink_domain_size: int, pp_size: int
) -> None:
    """Check that nodes tile domains, and domains and stages the world.

    Source: PC `_resolve_and_validate`.
    """
    if nvlink_domain_size % gpus_per_node != 0:
        raise Rejected(
            "nvlink-domain-not-multiple-of-node",
            f"nvlink_domain_size = {nvlink_domain_size} is no multiple of "
            f"gpus_per_node = {gpus_per_node}",
        )
    if world_size % nvlink_domain_size != 0:
        raise Rejected(
            "world-not-multiple-of-domain",
            f"world_size = {world_size} is no multiple of "
            f"nvlink_domain_size = {nvlink_domain_size}",
        )
    if world_size % pp_size != 0:
        raise Rejected(
            "world-not-multiple-of-pp",
            f"world_size = {world_size} is no multiple of pp_size = {pp_size}",
        )


def _resolve_ep_scope(*, ep_scope: str, ep_group_size: int, nvlink_domain_size: int) -> str:
    """Resolve `auto`, and make a group of one rank node-local (PC `_resolve_and_validate`)."""
    if ep_group_size == 1:
        return "node"
    if ep_scope != "auto":
        return ep_scope
    if ep_group_size <= nvlink_domain_size:
        return "node"
    return "global"


def _get_data_parallel_size(
    *, stage_world_size: int, tp_size: int, cp_size: int, expert_tp_size: int
) -> int:
    """Count distinct batches; expert parallelism never lowers it (PC `_resolve_and_validate`)."""
    replication = max(tp_size, cp_size, expert_tp_size)
    if replication > 1:
        return stage_world_size // replication
    return stage_world_size


def _validate_pipeline_parallel(
    *,
    pp_size: int,
    pp_split: list[int] | None,
    pp_microbatches: int,
    pp_schedule: str,
    stage_world_size: int,
    nvlink_domain_size: int,
    ep_group_size: int,
    needs_ep_wrappers: bool,
    expert_lora: bool,
    fsdp_shard_ep1_experts: bool,
    use_hsdp: bool,
    fsdp_reshard_after_forward: bool,
    lowp_precision: str,
) -> None:
    """Check pipeline knobs without a pipeline, or the stages with one (PC, same name)."""
    if pp_size == 1:
        if pp_split is not None:
            raise Rejected("pp-knob-split-without-pp", "pp_split is set while pp_size = 1")
        if pp_microbatches != 0:
            raise Rejected(
                "pp-knob-microbatches-without-pp",
                f"pp_microbatches = {pp_microbatches} is set while pp_size = 1",
            )
        if pp_schedule != "1f1b":
            raise Rejected(
                "pp-knob-schedule-without-pp",
                f"pp_schedule = {pp_schedule} is set while pp_size = 1",
            )
        return
    if expert_lora:
        raise Rejected("pp-expert-lora", f"expert_lora with pp_size = {pp_size}")
    if pp_split is not None:
        if len(pp_split) != pp_size:
            raise Rejected(
                "pp-split-length", f"pp_split has {len(pp_split)} entries for pp_size = {pp_size}"
            )
        if min(pp_split) < 1:
            raise Rejected(
                "pp-split-entry-min", f"the smallest entry of pp_split is {min(pp_split)} < 1"
            )
    if stage_world_size % nvlink_domain_size != 0:
        raise Rejected(
            "pp-stage-not-whole-domains",
            f"a stage of {stage_world_size} ranks is no multiple of "
            f"nvlink_domain_size = {nvlink_domain_size}",
        )
    if stage_world_size == 1:
        raise Rejected("pp-single-rank-stage", f"pp_size = {pp_size} leaves one rank per stage")
    if needs_ep_wrappers and ep_group_size == 1 and not fsdp_shard_ep1_experts:
        raise Rejected(
            "pp-unsharded-ep1-experts",
            f"fsdp_shard_ep1_experts is off at pp_size = {pp_size} without expert groups",
        )
    if use_hsdp:
        raise Rejected("pp-hsdp", f"use_hsdp with pp_size = {pp_size}")
    if fsdp_reshard_after_forward:
        raise Rejected(
            "pp-reshard-after-forward", f"fsdp_reshard_after_forward with pp_size = {pp_size}"
        )
    if lowp_precision != "bf16":
        raise Rejected("pp-lowp", f"lowp_precision = {lowp_precision} with pp_size = {pp_size}")


def _validate_ep_group(
    *,
    ep_group_size: int,
    ep_scope: str,
    nvlink_domain_size: int,
    stage_world_size: int,
    num_nvlink_domains: int,
) -> None:
    """Check that expert groups are equal contiguous blocks of their scope.

    Source: PC `_validate_ep_group`; `src/distributed/group_layout.py`.
    """
    if ep_group_size <= 1:
        return
    if ep_scope == "node":
        if ep_group_size > nvlink_domain_size:
            raise Rejected(
                "ep-node-group-exceeds-domain",
                f"ep_group_size = {ep_group_size} > nvlink_domain_size = {nvlink_domain_size}",
            )
        if nvlink_domain_size % ep_group_size != 0:
            raise Rejected(
                "ep-node-group-not-dividing-domain",
                f"ep_group_size = {ep_group_size} does not divide "
                f"nvlink_domain_size = {nvlink_domain_size}",
            )
        return
    if ep_group_size > stage_world_size:
        raise Rejected(
            "ep-global-group-exceeds-stage",
            f"ep_group_size = {ep_group_size} > {stage_world_size} ranks of a stage",
        )
    if stage_world_size % ep_group_size != 0:
        raise Rejected(
            "ep-global-group-not-dividing-stage",
            f"ep_group_size = {ep_group_size} does not divide "
            f"the {stage_world_size} ranks of a stage",
        )
    if stage_world_size % nvlink_domain_size != 0:
        raise Rejected(
            "ep-global-world-not-whole-domains",
            f"a stage of {stage_world_size} ranks is no multiple of "
            f"nvlink_domain_size = {nvlink_domain_size}",
        )
    if ep_group_size % num_nvlink_domains != 0:
        raise Rejected(
            "ep-global-not-multiple-of-domains",
            f"ep_group_size = {ep_group_size} is no multiple of "
            f"the {num_nvlink_domains} domains of a stage",
        )
    if nvlink_domain_size % (ep_group_size // num_nvlink_domains) != 0:
        raise Rejected(
            "ep-global-block-not-dividing-domain",
            f"{ep_group_size // num_nvlink_domains} ranks per domain do not divide "
            f"nvlink_domain_size = {nvlink_domain_size}",
        )


def _validate_cp_locality(*, cp_size: int, nvlink_domain_size: int) -> None:
    """Keep context-parallel blocks inside a domain.

    Source: PC `_validate_cp_locality`; `context_parallel/config.py`.
    """
    if cp_size <= 1:
        return
    if cp_size > nvlink_domain_size:
        raise Rejected(
            "cp-exceeds-domain", f"cp_size = {cp_size} > nvlink_domain_size = {nvlink_domain_size}"
        )
    if nvlink_domain_size % cp_size != 0:
        raise Rejected(
            "cp-not-dividing-domain",
            f"cp_size = {cp_size} does not divide nvlink_domain_size = {nvlink_domain_size}",
        )


def _validate_tp(
    *,
    tp_size: int,
    ep_size: int,
    ep_group_size: int,
    stage_world_size: int,
    nvlink_domain_size: int,
    num_nvlink_domains: int,
) -> None:
    """Check tensor-parallel blocks, alone and inside expert groups (PC `_validate_tp`)."""
    if tp_size <= 1:
        return
    if tp_size > stage_world_size:
        raise Rejected(
            "tp-exceeds-stage", f"tp_size = {tp_size} > {stage_world_size} ranks of a stage"
        )
    if stage_world_size % tp_size != 0:
        raise Rejected(
            "tp-not-dividing-stage",
            f"tp_size = {tp_size} does not divide the {stage_world_size} ranks of a stage",
        )
    if ep_size > 1 and ep_size % tp_size != 0:
        raise Rejected(
            "ep-not-multiple-of-tp", f"ep_size = {ep_size} is no multiple of tp_size = {tp_size}"
        )
    if nvlink_domain_size % tp_size != 0:
        raise Rejected(
            "tp-not-dividing-domain",
            f"tp_size = {tp_size} does not divide nvlink_domain_size = {nvlink_domain_size}",
        )
    if ep_size > 1 and num_nvlink_domains > 1 and stage_world_size // ep_group_size > 1:
        raise Rejected(
            "ep-tp-multi-domain-multi-group",
            f"tp_size = {tp_size} with {stage_world_size // ep_group_size} expert groups "
            f"over {num_nvlink_domains} domains",
        )


def _validate_expert_tp(
    *,
    expert_tp_size: int,
    ep_size: int,
    ep_group_size: int,
    ep_scope: str,
    stage_world_size: int,
    nvlink_domain_size: int,
    num_nvlink_domains: int,
    expert_lora: bool,
) -> None:
    """Keep expert-tensor groups inside a domain, one group of experts across domains (PC)."""
    if expert_tp_size <= 1:
        return
    if expert_lora:
        raise Rejected("etp-expert-lora", f"expert_lora with expert_tp_size = {expert_tp_size}")
    if nvlink_domain_size % expert_tp_size != 0:
        raise Rejected(
            "etp-not-dividing-domain",
            f"expert_tp_size = {expert_tp_size} does not divide "
            f"nvlink_domain_size = {nvlink_domain_size}",
        )
    if ep_size > 1 and num_nvlink_domains > 1 and stage_world_size // ep_group_size > 1:
        raise Rejected(
            "ep-etp-multi-domain-multi-group",
            f"expert_tp_size = {expert_tp_size} with {stage_world_size // ep_group_size} "
            f"expert groups over {num_nvlink_domains} domains",
        )
    if ep_scope == "global":
        per_domain = ep_group_size // num_nvlink_domains
        if expert_tp_size != per_domain or ep_size != num_nvlink_domains:
            raise Rejected(
                "etp-global-not-one-group-per-domain",
                f"global scope needs expert_tp_size = {per_domain} and "
                f"ep_size = {num_nvlink_domains}, not {expert_tp_size} and {ep_size}",
            )


def _validate_ep_cp(
    *, ep_group_size: int, cp_size: int, ep_scope: str, nvlink_domain_size: int
) -> None:
    """Make an expert group a whole domain when context is split (PC `_validate_ep_cp`)."""
    if ep_group_size <= 1 or cp_size <= 1:
        return
    if ep_scope == "global":
        raise Rejected(
            "ep-cp-global-scope",
            f"global expert groups of {ep_group_size} ranks with cp_size = {cp_size}",
        )
    if ep_group_size != nvlink_domain_size:
        raise Rejected(
            "ep-cp-group-not-domain",
            f"ep_group_size = {ep_group_size} is not nvlink_domain_size = "
            f"{nvlink_domain_size}, with cp_size = {cp_size}",
        )


def _validate_single_domain_multigroup_ep(
    *, ep_size: int, ep_group_size: int, nvlink_domain_size: int, num_nvlink_domains: int
) -> None:
    """Refuse several wide dispatch groups on one domain.

    Source: PC `is_racy_single_domain_multigroup_ep`.
    """
    if num_nvlink_domains == 1 and ep_size > 2 and nvlink_domain_size > ep_group_size:
        raise Rejected(
            "ep-single-domain-multi-group",
            f"one domain, ep_size = {ep_size} > 2 and nvlink_domain_size = "
            f"{nvlink_domain_size} > ep_group_size = {ep_group_size}",
        )


def _validate_ep_buffer_backend(
    *, ep_buffer_backend: str, ep_size: int, ep_scope: str, num_nodes: int, gpus_per_node: int
) -> None:
    """Keep the legacy dispatch buffer on one node and at a tuned width.

    Source: PC `_validate_ep_buffer_backend`; `reject_legacy_backend_topology`.
    """
    if ep_buffer_backend != "legacy" or ep_size <= 1:
        return
    if num_nodes > 1 and ep_scope != "node":
        raise Rejected(
            "legacy-buffer-cross-node", f"legacy buffer with {ep_scope} scope on {num_nodes} nodes"
        )
    if ep_size > 8 or ep_size > gpus_per_node:
        raise Rejected(
            "legacy-buffer-width",
            f"legacy buffer with ep_size = {ep_size} > min(8, {gpus_per_node})",
        )
    if ep_size not in LEGACY_BUFFER_WIDTHS:
        raise Rejected(
            "legacy-buffer-untuned-width",
            f"legacy buffer has no tuned setting for ep_size = {ep_size}",
        )


def _validate_hsdp(*, use_hsdp: bool, tp_size: int, expert_tp_size: int, ep_size: int) -> None:
    """Admit hybrid sharding on plain DP and CP only (PC `_validate_hsdp`)."""
    if use_hsdp and (tp_size > 1 or expert_tp_size > 1):
        raise Rejected(
            "hsdp-with-tp-or-etp",
            f"use_hsdp with tp_size = {tp_size}, expert_tp_size = {expert_tp_size}",
        )
    if use_hsdp and ep_size > 1:
        raise Rejected("hsdp-with-ep", f"use_hsdp with ep_size = {ep_size}")


def _validate_fsdp_settings(
    *,
    tp_size: int,
    cp_size: int,
    pp_size: int,
    ep_group_size: int,
    data_parallel_size: int,
    fsdp_reshard_after_forward: bool,
    fsdp_reshard_after_backward: bool,
    fsdp_defer_grad_sync: bool,
    fsdp_shard_ep1_experts: bool,
) -> None:
    """Check the sharding knobs against each other and the axes (PC `_validate_fsdp_settings`)."""
    if not fsdp_reshard_after_backward and fsdp_reshard_after_forward:
        raise Rejected(
            "fsdp-backward-keep-vs-full-shard",
            "fsdp_reshard_after_backward is off while fsdp_reshard_after_forward is on",
        )
    if fsdp_defer_grad_sync and fsdp_reshard_after_forward:
        raise Rejected(
            "fsdp-defer-vs-full-shard",
            "fsdp_defer_grad_sync and fsdp_reshard_after_forward are both on",
        )
    if not fsdp_reshard_after_backward and (tp_size > 1 or pp_size > 1):
        raise Rejected(
            "fsdp-backward-keep-with-tp-or-pp",
            f"fsdp_reshard_after_backward is off with tp_size = {tp_size}, pp_size = {pp_size}",
        )
    if fsdp_defer_grad_sync and (pp_size > 1 or (tp_size > 1 and data_parallel_size == 1)):
        raise Rejected(
            "fsdp-defer-without-reduce",
            f"fsdp_defer_grad_sync with pp_size = {pp_size}, tp_size = {tp_size}, "
            f"data_parallel_size = {data_parallel_size}",
        )
    if not fsdp_shard_ep1_experts and (tp_size > 1 or cp_size > 1):
        raise Rejected(
            "fsdp-unsharded-ep1-with-tp-or-cp",
            f"fsdp_shard_ep1_experts is off with tp_size = {tp_size}, cp_size = {cp_size}",
        )
    if fsdp_reshard_after_forward and ep_group_size > 1:
        raise Rejected(
            "fsdp-full-shard-with-expert-group",
            f"fsdp_reshard_after_forward with ep_group_size = {ep_group_size} > 1",
        )
    if fsdp_reshard_after_forward and tp_size > 1 and data_parallel_size > 1:
        raise Rejected(
            "fsdp-full-shard-with-tp-dp",
            f"fsdp_reshard_after_forward with tp_size = {tp_size}, "
            f"data_parallel_size = {data_parallel_size}",
        )


def _validate_lowp(
    *,
    lowp_precision: str,
    lowp_apply_dense_mlp: bool,
    lowp_apply_moe_experts: bool,
    lowp_keep_first_blocks: int,
    lowp_keep_last_blocks: int,
) -> None:
    """Check the low-precision knobs (PC `_validate_lowp`)."""
    if lowp_precision not in LOWP_PRECISIONS:
        raise Rejected(
            "lowp-enum", f"lowp_precision = {lowp_precision}, not bf16, fp8, fp4 or mxfp4"
        )
    if lowp_keep_first_blocks < 0 or lowp_keep_last_blocks < 0:
        raise Rejected(
            "lowp-keep-blocks-min",
            f"lowp_keep_first_blocks = {lowp_keep_first_blocks}, "
            f"lowp_keep_last_blocks = {lowp_keep_last_blocks}, and one is negative",
        )
    if lowp_precision != "bf16" and not lowp_apply_dense_mlp and not lowp_apply_moe_experts:
        raise Rejected(
            "lowp-applies-to-nothing",
            f"lowp_precision = {lowp_precision} applies to neither MLPs nor experts",
        )


def _validate_launcher(
    *, launcher: str, ep_group_size: int, cp_size: int, tp_size: int, pp_size: int
) -> None:
    """Ask for torchrun once an axis is active.

    Source: `loading/model_loading.py`; trainer: `mixins/validation.py`
    `_validate_parallelism_modes`.
    """
    if launcher == "accelerate" and (
        ep_group_size > 1 or cp_size > 1 or tp_size > 1 or pp_size > 1
    ):
        raise Rejected(
            "accelerate-launch-with-custom-axes",
            f"accelerate launch with ep_group_size = {ep_group_size}, cp_size = {cp_size}, "
            f"tp_size = {tp_size}, pp_size = {pp_size}",
        )


def _validate_against_model_config(
    *,
    dtype: str,
    ep_size: int,
    expert_tp_size: int,
    num_experts: int,
    moe_intermediate_size: int,
    fp32_non_ep_params: bool,
    experts_fsdp_managed: bool,
) -> None:
    """Check expert count, expert width and parameter types.

    Source: PC `validate_against_model_config`; dtype: `loading/model_loading.py`.
    """
    if dtype == "fp32" and ep_size > 1:
        raise Rejected("fp32-training-with-ep", f"dtype = fp32 with ep_size = {ep_size}")
    if ep_size > 1 and num_experts > 0 and num_experts % ep_size != 0:
        raise Rejected(
            "experts-not-divisible-by-ep",
            f"num_experts = {num_experts} is no multiple of ep_size = {ep_size}",
        )
    if (
        expert_tp_size > 1
        and moe_intermediate_size > 0
        and moe_intermediate_size % expert_tp_size != 0
    ):
        raise Rejected(
            "expert-ffn-not-divisible-by-etp",
            f"moe_intermediate_size = {moe_intermediate_size} is no multiple of "
            f"expert_tp_size = {expert_tp_size}",
        )
    if fp32_non_ep_params and experts_fsdp_managed and num_experts > 0:
        raise Rejected(
            "fp32-non-ep-with-fsdp-managed-experts",
            f"fp32_non_ep_params with {num_experts} experts inside the FSDP shards",
        )


def _validate_attention_heads(
    *,
    tp_size: int,
    num_attention_heads: list[int] | None,
    num_key_value_heads: list[int] | None,
    mla: bool,
) -> None:
    """Keep every head whole under tensor parallelism.

    Source: PC `validate_against_model_config`; `tensor_parallel/parallelize_attention.py`.
    """
    if tp_size <= 1:
        return
    if not _all_divisible(num_attention_heads, tp_size):
        raise Rejected(
            "tp-heads-not-divisible",
            f"num_attention_heads = {num_attention_heads}, not all by tp_size = {tp_size}",
        )
    if not mla and not _all_divisible(num_key_value_heads, tp_size):
        raise Rejected(
            "tp-kv-heads-not-divisible",
            f"num_key_value_heads = {num_key_value_heads}, not all by tp_size = {tp_size}",
        )


def _get_rows_per_device(
    *, ep_rows_per_device: int | None, trainer: str, per_device_train_batch_size: int
) -> int:
    """Count sequences per device and step; 0 when unknown, which turns the token gate off."""
    if ep_rows_per_device is not None:
        return ep_rows_per_device
    if trainer == "unspecified" or per_device_train_batch_size <= 0:
        return 0
    if trainer in PAIRED_TRAINERS:
        return 2 * per_device_train_batch_size
    return per_device_train_batch_size


def _get_sequence_length(*, max_length: int, max_position_embeddings: int) -> int:
    """Take the declared length, else the model's window, else 0 = unknown."""
    if max_length > 0:
        return max_length
    if max_position_embeddings > 0:
        return max_position_embeddings
    return 0


def _round_up_to_alignment(value: int) -> int:
    """Round up to the dispatch buffer's granule."""
    return (value + TOKEN_ALIGNMENT - 1) // TOKEN_ALIGNMENT * TOKEN_ALIGNMENT


def _validate_ep_token_budget(
    *,
    ep_size: int,
    cp_size: int,
    requires_rdma: bool,
    rows: int,
    sequence_length: int,
    num_experts_per_tok: int,
    hidden_size: int,
    gin_max_tokens_per_rank: int,
) -> None:
    """Bound the tokens one rank dispatches (PC `_validate_ep_token_budget`)."""
    if ep_size <= 1 or rows <= 0 or sequence_length <= 0:
        return
    tokens = _round_up_to_alignment(rows * sequence_length // cp_size)
    if num_experts_per_tok > 0 and hidden_size > 0:
        slots = tokens * num_experts_per_tok * _round_up_to_alignment(hidden_size)
        if slots >= WIRE_INDEX_LIMIT:
            raise Rejected(
                "ep-token-budget-wire-index",
                f"{tokens} tokens per rank x top-{num_experts_per_tok} x hidden "
                f"{hidden_size} = {slots} >= {WIRE_INDEX_LIMIT}",
            )
    if requires_rdma and gin_max_tokens_per_rank > 0 and tokens > gin_max_tokens_per_rank:
        raise Rejected(
            "ep-token-budget-gin-ceiling",
            f"{tokens} tokens per rank across domains > {gin_max_tokens_per_rank}",
        )


def _load_model(
    *,
    launcher: str,
    is_moe: bool,
    use_grouped_gemm: bool,
    needs_ep_wrappers: bool,
    ep_size: int,
    ep_group_size: int,
    tp_size: int,
    cp_size: int,
    pp_size: int,
    live_attention_sinks: bool,
    fp32_non_ep_params: bool,
    model_type: str,
    quantized: bool,
    init_from_scratch: bool,
) -> None:
    """Refuse what the loader cannot place.

    Source: `loading/model_loading.py`; sinks: `context_parallel/validation.py`.
    """
    if launcher == "accelerate" and is_moe and use_grouped_gemm:
        # An active axis was refused by _validate_launcher already.
        raise Rejected(
            "accelerate-launch-with-grouped-gemm-moe",
            "accelerate launch of a MoE model with use_grouped_gemm",
        )
    if cp_size > 1 and live_attention_sinks:
        raise Rejected(
            "cp-live-attention-sinks", f"cp_size = {cp_size} with attention sinks in use"
        )
    if fp32_non_ep_params and ep_size > 1 and model_type in FP32_NON_EP_REFUSING_FAMILIES:
        raise Rejected(
            "fp32-non-ep-family-unsupported",
            f"fp32_non_ep_params with ep_size = {ep_size} on {model_type}",
        )
    if quantized and (
        ep_group_size > 1 or tp_size > 1 or pp_size > 1 or (needs_ep_wrappers and is_moe)
    ):
        raise Rejected(
            "qlora-with-ep-tp-pp-or-grouped-gemm-moe",
            f"quantized base with ep_group_size = {ep_group_size}, tp_size = {tp_size}, "
            f"pp_size = {pp_size}, use_grouped_gemm = {use_grouped_gemm}",
        )
    if init_from_scratch and (ep_group_size > 1 or tp_size > 1 or cp_size > 1 or pp_size > 1):
        raise Rejected(
            "init-from-scratch-with-axes",
            f"init_from_scratch with ep_group_size = {ep_group_size}, tp_size = {tp_size}, "
            f"cp_size = {cp_size}, pp_size = {pp_size}",
        )
    if init_from_scratch and quantized:
        raise Rejected("init-from-scratch-quantized", "init_from_scratch of a quantized model")


def _patch_moe_layers(
    *,
    model_kind: str,
    ep_group_size: int,
    needs_ep_wrappers: bool,
    natively_quantized_experts: bool,
) -> None:
    """Need something to wrap, in a float format (`expert_parallel/patching.py`)."""
    if ep_group_size > 1 and model_kind == "dense":
        raise Rejected(
            "expert-axis-on-model-without-wrapped-moe",
            f"ep_group_size = {ep_group_size} on a dense model",
        )
    if natively_quantized_experts and needs_ep_wrappers:
        raise Rejected(
            "ep-natively-quantized-experts",
            f"expert wrappers (ep_group_size = {ep_group_size}) over quantized experts",
        )


def _validate_model_for_cp(
    *,
    cp_size: int,
    linear_attention_layers: bool,
    attention_class: str,
    attn_implementation: str,
    model_config: bool,
    num_attention_heads: list[int] | None,
    num_key_value_heads: list[int] | None,
    mla: bool,
) -> None:
    """Check that attention can be re-split by heads (`context_parallel/validation.py`)."""
    if cp_size <= 1:
        return
    if linear_attention_layers:
        raise Rejected(
            "cp-linear-attention-layers", f"cp_size = {cp_size} with linear-attention layers"
        )
    if attention_class != "unknown" and attention_class not in CP_ATTENTION_CLASSES:
        raise Rejected(
            "cp-attention-class-unsupported",
            f"cp_size = {cp_size} with attention class {attention_class}",
        )
    if (
        attn_implementation != "unknown"
        and attn_implementation not in FLASH_IMPLEMENTATIONS
        and attention_class not in BAILING_ATTENTION_CLASSES
    ):
        raise Rejected(
            "cp-needs-flash-attention",
            f"cp_size = {cp_size} with attn_implementation = {attn_implementation}",
        )
    if model_config and (num_attention_heads is None or len(num_attention_heads) == 0):
        raise Rejected(
            "cp-heads-unknown", f"cp_size = {cp_size}, and the model states no num_attention_heads"
        )
    if not _all_divisible(num_attention_heads, cp_size):
        raise Rejected(
            "cp-heads-not-divisible",
            f"num_attention_heads = {num_attention_heads}, not all by cp_size = {cp_size}",
        )
    counts_query_heads = mla or attention_class in LATENT_ATTENTION_CLASSES
    if not counts_query_heads and not _all_divisible(num_key_value_heads, cp_size):
        # Latent attention counts its query heads, which passed above.
        raise Rejected(
            "cp-kv-heads-not-divisible",
            f"num_key_value_heads = {num_key_value_heads}, not all by cp_size = {cp_size}",
        )


def _parallelize_attention(*, tp_size: int, is_moe: bool, attention_class: str) -> None:
    """Find attention layers to shard in a MoE (`tensor_parallel/parallelize_attention.py`)."""
    if (
        tp_size > 1
        and is_moe
        and attention_class != "unknown"
        and attention_class not in TP_ATTENTION_CLASSES
    ):
        raise Rejected(
            "tp-attention-class-unsupported",
            f"tp_size = {tp_size} shards no layer of attention class {attention_class}",
        )


def _validate_lowp_base(*, lowp_precision: str, quantized: bool, dtype: str) -> None:
    """Need a bf16-like base for low precision (`loading/model_loading.py`)."""
    if lowp_precision != "bf16" and quantized:
        raise Rejected(
            "lowp-with-quantized-base", f"lowp_precision = {lowp_precision} over a quantized base"
        )
    if lowp_precision != "bf16" and dtype == "fp16":
        raise Rejected("lowp-with-fp16", f"lowp_precision = {lowp_precision} with dtype = fp16")


def _get_num_microbatches(
    *, pp_microbatches: int, gradient_accumulation_steps: int, pp_schedule: str, pp_size: int
) -> int:
    """Count microbatches: given, else accumulation steps; 1f1b fills the pipeline."""
    microbatches = max(gradient_accumulation_steps, 1)
    if pp_microbatches > 0:
        microbatches = pp_microbatches
    if pp_schedule == "1f1b":
        microbatches = max(microbatches, pp_size)
    return microbatches


def _maybe_prepare_pipeline_model(
    *,
    trainer: str,
    pp_size: int,
    pp_schedule: str,
    pp_microbatches: int,
    reference_model: str,
    max_length: int,
    save_sharded_ep: bool,
    gradient_checkpointing: bool,
    reentrant_checkpointing: bool,
    do_eval: bool,
    per_device_train_batch_size: int,
    per_device_eval_batch_size: int,
    gradient_accumulation_steps: int,
    use_peft: bool,
    activation_offloading: bool,
    image_data: bool,
    torch_compile: bool,
) -> None:
    """Check the run against a pipeline, reference model first.

    Source: `mixins/pipeline.py` `_maybe_prepare_pipeline_model`; `mixins/pp_gates.py`.
    """
    if pp_size <= 1 or trainer == "unspecified":
        return
    if reference_model == "live":
        raise Rejected(
            "pp-trainer-live-ref-model", f"a live reference model with pp_size = {pp_size}"
        )
    if max_length <= 0:
        raise Rejected("pp-trainer-max-length", f"no max_length with pp_size = {pp_size}")
    if save_sharded_ep:
        raise Rejected("pp-trainer-sharded-save", f"save_sharded_ep with pp_size = {pp_size}")
    if gradient_checkpointing and reentrant_checkpointing:
        raise Rejected(
            "pp-trainer-reentrant-gc", f"reentrant gradient checkpointing with pp_size = {pp_size}"
        )
    if (
        do_eval
        and per_device_train_batch_size > 0
        and per_device_eval_batch_size > 0
        and per_device_eval_batch_size != per_device_train_batch_size
    ):
        raise Rejected(
            "pp-trainer-eval-batch",
            f"per_device_eval_batch_size = {per_device_eval_batch_size} is not "
            f"per_device_train_batch_size = {per_device_train_batch_size}",
        )
    if use_peft:
        raise Rejected("pp-trainer-peft", f"PEFT adapters with pp_size = {pp_size}")
    if activation_offloading:
        raise Rejected(
            "pp-trainer-activation-offloading", f"activation_offloading with pp_size = {pp_size}"
        )
    if image_data:
        raise Rejected("pp-trainer-image-data", f"image inputs with pp_size = {pp_size}")
    if torch_compile:
        raise Rejected("pp-trainer-torch-compile", f"torch_compile with pp_size = {pp_size}")
    if pp_microbatches > 0 and gradient_accumulation_steps > 1:
        raise Rejected(
            "pp-trainer-microbatches-and-grad-accum",
            f"pp_microbatches = {pp_microbatches} and "
            f"gradient_accumulation_steps = {gradient_accumulation_steps}",
        )
    microbatches = _get_num_microbatches(
        pp_microbatches=pp_microbatches,
        gradient_accumulation_steps=gradient_accumulation_steps,
        pp_schedule=pp_schedule,
        pp_size=pp_size,
    )
    if per_device_train_batch_size > 0 and per_device_train_batch_size % microbatches != 0:
        raise Rejected(
            "pp-trainer-batch-not-divisible",
            f"per_device_train_batch_size = {per_device_train_batch_size} is no multiple of "
            f"{microbatches} microbatches",
        )


def _validate_lora_tp_compatibility(*, tp_size: int, expert_lora: bool, use_peft: bool) -> None:
    """Refuse any adapter under tensor parallelism (`mixins/validation.py`, same name)."""
    if tp_size > 1 and expert_lora:
        raise Rejected("trainer-tp-expert-lora", f"expert_lora with tp_size = {tp_size}")
    if tp_size > 1 and use_peft:
        raise Rejected("trainer-tp-lora", f"PEFT adapters with tp_size = {tp_size}")


def _validate_router_aux_loss_consumable(
    *, moe_balancing: str, aux_loss_coefficient_positive: bool, loss_adds_aux_loss: bool
) -> None:
    """Refuse a balancing loss that nothing adds (trainer mixin, same name)."""
    if moe_balancing == "aux_loss" and aux_loss_coefficient_positive and not loss_adds_aux_loss:
        raise Rejected(
            "trainer-aux-loss-unconsumed",
            "moe_balancing = aux_loss with a positive coefficient the loss never adds",
        )


def _validate_load_best_model_reloadable(
    *,
    load_best_model_at_end: bool,
    use_peft: bool,
    expert_lora: bool,
    cp_size: int,
    tp_size: int,
    is_moe: bool,
    needs_ep_wrappers: bool,
    data_parallel_size: int,
) -> None:
    """Refuse reloading a full checkpoint into a split model (trainer mixin, same name)."""
    if not load_best_model_at_end or use_peft or expert_lora:
        return
    if cp_size > 1 or (is_moe and needs_ep_wrappers):
        raise Rejected(
            "trainer-load-best-ep-cp",
            f"load_best_model_at_end with cp_size = {cp_size} or expert wrappers "
            f"({is_moe and needs_ep_wrappers})",
        )
    if tp_size > 1 and data_parallel_size > 1:
        raise Rejected(
            "trainer-load-best-tp-dp",
            f"load_best_model_at_end with tp_size = {tp_size}, "
            f"data_parallel_size = {data_parallel_size}",
        )


def _reject_fsdp_knobs_under_qlora(
    *,
    quantized: bool,
    ep_group_size: int,
    tp_size: int,
    pp_size: int,
    world_size: int,
    launcher: str,
    use_hsdp: bool,
    fsdp_reshard_after_forward: bool,
    fsdp_reshard_after_backward: bool,
    fsdp_defer_grad_sync: bool,
) -> None:
    """Refuse shaping a sharding that QLoRA does not use (trainer mixin, same name)."""
    if (
        quantized
        and ep_group_size == 1
        and tp_size == 1
        and pp_size == 1
        and world_size > 1
        and launcher == "torchrun"
        and (
            use_hsdp
            or fsdp_reshard_after_forward
            or not fsdp_reshard_after_backward
            or fsdp_defer_grad_sync
        )
    ):
        raise Rejected(
            "trainer-qlora-fsdp-knobs",
            f"an FSDP knob is off its default over a quantized base on {world_size} ranks",
        )


def _validate_adapters(
    *,
    use_peft: bool,
    peft_inside_ep_layers: bool,
    expert_lora: bool,
    needs_ep_wrappers: bool,
    model_kind: str,
) -> None:
    """Check adapters against the expert layers.

    Source: trainer mixins `_validate_lora_ep_compatibility`, `_validate_expert_lora_realized`.
    """
    if use_peft and peft_inside_ep_layers:
        raise Rejected("trainer-peft-inside-ep-layer", "PEFT adapters inside expert layers")
    if expert_lora and (not needs_ep_wrappers or model_kind == "dense"):
        raise Rejected(
            "trainer-expert-lora-unrealized",
            f"expert_lora, but no wrapper builds it: needs_ep_wrappers = {needs_ep_wrappers}, "
            f"model_kind = {model_kind}",
        )


def _setup_ep_gradient_checkpointing(*, gradient_checkpointing: bool, model_type: str) -> None:
    """Refuse checkpointing on a family that opts out of it.

    Source: `mixins/ep_introspection.py`. Its racy-shape test repeats the config gate's.
    """
    if gradient_checkpointing and model_type in CHECKPOINTING_REFUSING_FAMILIES:
        raise Rejected(
            "trainer-ep-gc-family-unsupported", f"gradient_checkpointing on {model_type}"
        )


def _validate_merge_expert_lora_save(*, merge_expert_lora_on_save: bool, expert_lora: bool) -> None:
    """Need adapters to merge (trainer mixin, same name)."""
    if merge_expert_lora_on_save and not expert_lora:
        raise Rejected(
            "trainer-merge-without-expert-lora", "merge_expert_lora_on_save without expert_lora"
        )


def _validate_ep_sharded_save(
    *,
    save_sharded_ep: bool,
    merge_expert_lora_on_save: bool,
    needs_ep_wrappers: bool,
    model_kind: str,
    model_type: str,
    expert_lora: bool,
    expert_tp_size: int,
    cp_size: int,
    ep_group_size: int,
    world_size: int,
    num_nodes: int,
    shared_filesystem: bool,
) -> None:
    """Check every precondition of a sharded expert checkpoint (`validate_ep_sharded_save`)."""
    if not save_sharded_ep:
        return
    if merge_expert_lora_on_save:
        raise Rejected("sharded-save-with-merge", "save_sharded_ep with merge_expert_lora_on_save")
    if not needs_ep_wrappers or model_kind == "dense":
        raise Rejected(
            "sharded-save-no-ep-layers",
            f"save_sharded_ep without expert layers: needs_ep_wrappers = {needs_ep_wrappers}, "
            f"model_kind = {model_kind}",
        )
    if model_type != "unknown" and model_type not in SHARDED_SAVE_FAMILIES:
        raise Rejected(
            "sharded-save-family-unregistered", f"save_sharded_ep with model_type = {model_type!r}"
        )
    if expert_lora:
        raise Rejected("sharded-save-expert-lora", "save_sharded_ep with expert_lora")
    if expert_tp_size > 1:
        raise Rejected(
            "sharded-save-etp", f"save_sharded_ep with expert_tp_size = {expert_tp_size}"
        )
    if cp_size > 1:
        raise Rejected("sharded-save-cp", f"save_sharded_ep with cp_size = {cp_size}")
    if ep_group_size != world_size:
        raise Rejected(
            "sharded-save-not-single-group",
            f"save_sharded_ep with ep_group_size = {ep_group_size}, not world_size = {world_size}",
        )
    if num_nodes > 1 and not shared_filesystem:
        raise Rejected(
            "sharded-save-no-shared-filesystem",
            f"save_sharded_ep on {num_nodes} nodes without a shared filesystem",
        )


def _setup_distributed_modes(
    *, sync_ref_model: bool, ep_group_size: int, tp_size: int, world_size: int, launcher: str
) -> None:
    """Refuse syncing a reference model with a split policy (`mixins/base.py`, same name)."""
    if sync_ref_model and (
        ep_group_size > 1 or tp_size > 1 or (world_size > 1 and launcher == "torchrun")
    ):
        raise Rejected(
            "trainer-sync-ref-model",
            f"sync_ref_model with ep_group_size = {ep_group_size}, tp_size = {tp_size}, "
            f"world_size = {world_size} under {launcher}",
        )


def _validate_trainer_args_for_cp(
    *,
    cp_size: int,
    label_smoothing: bool,
    dft_loss: bool,
    compute_metrics: bool,
    packing: bool,
    padding_free: bool,
) -> None:
    """Refuse losses, metrics and collators that need whole sequences.

    Source: `validate_trainer_args_for_cp` and the collators.
    """
    if cp_size <= 1:
        return
    if label_smoothing:
        raise Rejected("cp-trainer-label-smoothing", f"label smoothing with cp_size = {cp_size}")
    if dft_loss:
        raise Rejected("cp-trainer-dft-loss", f"DFT loss with cp_size = {cp_size}")
    if compute_metrics:
        raise Rejected("cp-trainer-compute-metrics", f"compute_metrics with cp_size = {cp_size}")
    if packing:
        raise Rejected("cp-trainer-packing", f"packing with cp_size = {cp_size}")
    if padding_free:
        raise Rejected("cp-trainer-padding-free", f"padding-free batches with cp_size = {cp_size}")


def _get_num_ep_groups(
    *,
    ep_group_size: int,
    ep_scope: str,
    stage_world_size: int,
    nvlink_domain_size: int,
    num_nvlink_domains: int,
) -> int:
    """Count expert groups of a stage; every rank is one when there is no expert axis."""
    if ep_group_size <= 1:
        return stage_world_size
    if ep_scope == "node":
        return nvlink_domain_size // ep_group_size * num_nvlink_domains
    return nvlink_domain_size // (ep_group_size // num_nvlink_domains)


def _get_fsdp_width(
    *,
    tp_size: int,
    data_parallel_size: int,
    is_deferred_dp: bool,
    ep_group_size: int,
    is_hsdp: bool,
    nvlink_domain_size: int,
    stage_world_size: int,
) -> int:
    """Count the ranks that share one copy of the parameters outside the experts."""
    if tp_size > 1:
        return data_parallel_size
    if is_deferred_dp:
        return ep_group_size
    if is_hsdp:
        return nvlink_domain_size
    return stage_world_size


def validate(
    *,
    world_size: int,
    gpus_per_node: int = 0,
    local_width: int = 8,
    nvlink_domain_size: int = 0,
    nvlink_domain_env: int = 0,
    ep_size: int = 1,
    expert_tp_size: int = 1,
    tp_size: int = 1,
    cp_size: int = 1,
    pp_size: int = 1,
    ep_scope: str = "auto",
    ep_buffer_backend: str = "auto",
    pp_schedule: str = "1f1b",
    pp_microbatches: int = 0,
    pp_split: list[int] | None = None,
    max_concurrent_loading: int | None = None,
    use_grouped_gemm: bool = True,
    fsdp_reshard_after_forward: bool = False,
    fsdp_reshard_after_backward: bool = True,
    fsdp_defer_grad_sync: bool = False,
    fsdp_shard_ep1_experts: bool = True,
    use_hsdp: bool = False,
    lowp_precision: str = "bf16",
    lowp_apply_dense_mlp: bool = True,
    lowp_apply_moe_experts: bool = True,
    lowp_keep_first_blocks: int = 0,
    lowp_keep_last_blocks: int = 0,
    fp32_non_ep_params: bool = False,
    fp32_grad_reduce: bool = False,  # noqa: ARG001 - part of the config, read by no refusal
    expert_lora: bool = False,
    merge_expert_lora_on_save: bool = False,
    trainer: str = "unspecified",
    assume_pp: bool = False,
    init_from_scratch: bool = False,
    full_determinism: bool = False,
    launcher: str = "torchrun",
    model_kind: str = "unknown",
    model_config: bool = False,
    num_experts: int | None = None,
    num_experts_per_tok: int | None = None,
    moe_intermediate_size: int | None = None,
    hidden_size: int | None = None,
    max_position_embeddings: int | None = None,
    num_attention_heads: list[int] | None = None,
    num_key_value_heads: list[int] | None = None,
    mla: bool = False,
    dtype: str = "bf16",
    quantized: bool = False,
    natively_quantized_experts: bool = False,
    live_attention_sinks: bool = False,
    linear_attention_layers: bool = False,
    attention_class: str = "unknown",
    attn_implementation: str = "unknown",
    model_type: str = "unknown",
    per_device_train_batch_size: int | None = None,
    per_device_eval_batch_size: int | None = None,
    max_length: int | None = None,
    gradient_accumulation_steps: int | None = None,
    ep_rows_per_device: int | None = None,
    gin_max_tokens_per_rank: int = 8192,
    use_peft: bool = False,
    peft_inside_ep_layers: bool = False,
    activation_offloading: bool = False,
    torch_compile: bool = False,
    image_data: bool = False,
    gradient_checkpointing: bool = False,
    reentrant_checkpointing: bool = False,
    do_eval: bool = False,
    load_best_model_at_end: bool = False,
    save_sharded_ep: bool = False,
    shared_filesystem: bool = True,
    reference_model: str = "none",
    sync_ref_model: bool = False,
    moe_balancing: str = "none",
    aux_loss_coefficient_positive: bool = False,
    loss_adds_aux_loss: bool = True,
    packing: bool = False,
    padding_free: bool = False,
    label_smoothing: bool = False,
    dft_loss: bool = False,
    compute_metrics: bool = False,
) -> Derived:
    """Accept a configuration and say what it amounts to, or raise the first rule it breaks.

    Checks that need live ranks (fabric, placement, agreement between ranks) are not made.
    """
    # Entry script.
    node = _detect_gpus_per_node(
        gpus_per_node=gpus_per_node, local_width=local_width, world_size=world_size
    )
    _parallelism_config_from_args(
        trainer=trainer,
        cp_size=cp_size,
        pp_size=pp_size,
        assume_pp=assume_pp,
        init_from_scratch=init_from_scratch,
        lowp_precision=lowp_precision,
        lowp_apply_dense_mlp=lowp_apply_dense_mlp,
        lowp_apply_moe_experts=lowp_apply_moe_experts,
        lowp_keep_first_blocks=lowp_keep_first_blocks,
        lowp_keep_last_blocks=lowp_keep_last_blocks,
    )

    # Config object.
    _validate_field_values(
        ep_size=ep_size,
        tp_size=tp_size,
        cp_size=cp_size,
        expert_tp_size=expert_tp_size,
        pp_size=pp_size,
        pp_schedule=pp_schedule,
        pp_microbatches=pp_microbatches,
        ep_scope=ep_scope,
        ep_buffer_backend=ep_buffer_backend,
        max_concurrent_loading=max_concurrent_loading,
    )
    _validate_capability_matrix(
        ep_size=ep_size,
        expert_tp_size=expert_tp_size,
        tp_size=tp_size,
        cp_size=cp_size,
        pp_size=pp_size,
    )
    _validate_node_topology(
        world_size=world_size, gpus_per_node=node, nvlink_domain_size=nvlink_domain_size
    )
    domain = _resolve_nvlink_domain(
        world_size=world_size,
        gpus_per_node=node,
        nvlink_domain_size=nvlink_domain_size,
        nvlink_domain_env=nvlink_domain_env,
    )
    _validate_tiling(
        world_size=world_size, gpus_per_node=node, nvlink_domain_size=domain, pp_size=pp_size
    )
    stage_world_size = world_size // pp_size
    ep_group_size = ep_size * expert_tp_size
    scope = _resolve_ep_scope(
        ep_scope=ep_scope, ep_group_size=ep_group_size, nvlink_domain_size=domain
    )
    num_nodes = world_size // node
    num_nvlink_domains = stage_world_size // domain
    data_parallel_size = _get_data_parallel_size(
        stage_world_size=stage_world_size,
        tp_size=tp_size,
        cp_size=cp_size,
        expert_tp_size=expert_tp_size,
    )
    is_ep_mode = ep_group_size > 1
    needs_ep_wrappers = is_ep_mode or use_grouped_gemm
    experts_fsdp_managed = fsdp_shard_ep1_experts and ep_group_size == 1
    requires_rdma = is_ep_mode and scope == "global" and num_nvlink_domains > 1
    _validate_pipeline_parallel(
        pp_size=pp_size,
        pp_split=pp_split,
        pp_microbatches=pp_microbatches,
        pp_schedule=pp_schedule,
        stage_world_size=stage_world_size,
        nvlink_domain_size=domain,
        ep_group_size=ep_group_size,
        needs_ep_wrappers=needs_ep_wrappers,
        expert_lora=expert_lora,
        fsdp_shard_ep1_experts=fsdp_shard_ep1_experts,
        use_hsdp=use_hsdp,
        fsdp_reshard_after_forward=fsdp_reshard_after_forward,
        lowp_precision=lowp_precision,
    )
    _validate_ep_group(
        ep_group_size=ep_group_size,
        ep_scope=scope,
        nvlink_domain_size=domain,
        stage_world_size=stage_world_size,
        num_nvlink_domains=num_nvlink_domains,
    )
    _validate_cp_locality(cp_size=cp_size, nvlink_domain_size=domain)
    _validate_tp(
        tp_size=tp_size,
        ep_size=ep_size,
        ep_group_size=ep_group_size,
        stage_world_size=stage_world_size,
        nvlink_domain_size=domain,
        num_nvlink_domains=num_nvlink_domains,
    )
    _validate_expert_tp(
        expert_tp_size=expert_tp_size,
        ep_size=ep_size,
        ep_group_size=ep_group_size,
        ep_scope=scope,
        stage_world_size=stage_world_size,
        nvlink_domain_size=domain,
        num_nvlink_domains=num_nvlink_domains,
        expert_lora=expert_lora,
    )
    _validate_ep_cp(
        ep_group_size=ep_group_size, cp_size=cp_size, ep_scope=scope, nvlink_domain_size=domain
    )
    _validate_single_domain_multigroup_ep(
        ep_size=ep_size,
        ep_group_size=ep_group_size,
        nvlink_domain_size=domain,
        num_nvlink_domains=num_nvlink_domains,
    )
    _validate_ep_buffer_backend(
        ep_buffer_backend=ep_buffer_backend,
        ep_size=ep_size,
        ep_scope=scope,
        num_nodes=num_nodes,
        gpus_per_node=node,
    )
    _validate_hsdp(
        use_hsdp=use_hsdp, tp_size=tp_size, expert_tp_size=expert_tp_size, ep_size=ep_size
    )
    _validate_fsdp_settings(
        tp_size=tp_size,
        cp_size=cp_size,
        pp_size=pp_size,
        ep_group_size=ep_group_size,
        data_parallel_size=data_parallel_size,
        fsdp_reshard_after_forward=fsdp_reshard_after_forward,
        fsdp_reshard_after_backward=fsdp_reshard_after_backward,
        fsdp_defer_grad_sync=fsdp_defer_grad_sync,
        fsdp_shard_ep1_experts=fsdp_shard_ep1_experts,
    )
    _validate_lowp(
        lowp_precision=lowp_precision,
        lowp_apply_dense_mlp=lowp_apply_dense_mlp,
        lowp_apply_moe_experts=lowp_apply_moe_experts,
        lowp_keep_first_blocks=lowp_keep_first_blocks,
        lowp_keep_last_blocks=lowp_keep_last_blocks,
    )
    _validate_determinism(full_determinism=full_determinism, requires_rdma=requires_rdma)

    # Loader and model.
    experts = _known(num_experts)
    is_moe = model_kind == "moe" or experts > 0
    _validate_launcher(
        launcher=launcher,
        ep_group_size=ep_group_size,
        cp_size=cp_size,
        tp_size=tp_size,
        pp_size=pp_size,
    )
    _validate_against_model_config(
        dtype=dtype,
        ep_size=ep_size,
        expert_tp_size=expert_tp_size,
        num_experts=experts,
        moe_intermediate_size=_known(moe_intermediate_size),
        fp32_non_ep_params=fp32_non_ep_params,
        experts_fsdp_managed=experts_fsdp_managed,
    )
    _validate_attention_heads(
        tp_size=tp_size,
        num_attention_heads=num_attention_heads,
        num_key_value_heads=num_key_value_heads,
        mla=mla,
    )
    _validate_ep_token_budget(
        ep_size=ep_size,
        cp_size=cp_size,
        requires_rdma=requires_rdma,
        rows=_get_rows_per_device(
            ep_rows_per_device=ep_rows_per_device,
            trainer=trainer,
            per_device_train_batch_size=_known(per_device_train_batch_size),
        ),
        sequence_length=_get_sequence_length(
            max_length=_known(max_length), max_position_embeddings=_known(max_position_embeddings)
        ),
        num_experts_per_tok=_known(num_experts_per_tok),
        hidden_size=_known(hidden_size),
        gin_max_tokens_per_rank=gin_max_tokens_per_rank,
    )
    _load_model(
        launcher=launcher,
        is_moe=is_moe,
        use_grouped_gemm=use_grouped_gemm,
        needs_ep_wrappers=needs_ep_wrappers,
        ep_size=ep_size,
        ep_group_size=ep_group_size,
        tp_size=tp_size,
        cp_size=cp_size,
        pp_size=pp_size,
        live_attention_sinks=live_attention_sinks,
        fp32_non_ep_params=fp32_non_ep_params,
        model_type=model_type,
        quantized=quantized,
        init_from_scratch=init_from_scratch,
    )
    _patch_moe_layers(
        model_kind=model_kind,
        ep_group_size=ep_group_size,
        needs_ep_wrappers=needs_ep_wrappers,
        natively_quantized_experts=natively_quantized_experts,
    )
    _validate_model_for_cp(
        cp_size=cp_size,
        linear_attention_layers=linear_attention_layers,
        attention_class=attention_class,
        attn_implementation=attn_implementation,
        model_config=model_config,
        num_attention_heads=num_attention_heads,
        num_key_value_heads=num_key_value_heads,
        mla=mla,
    )
    _parallelize_attention(tp_size=tp_size, is_moe=is_moe, attention_class=attention_class)
    _validate_lowp_base(lowp_precision=lowp_precision, quantized=quantized, dtype=dtype)

    # Trainer construction.
    _maybe_prepare_pipeline_model(
        trainer=trainer,
        pp_size=pp_size,
        pp_schedule=pp_schedule,
        pp_microbatches=pp_microbatches,
        reference_model=reference_model,
        max_length=_known(max_length),
        save_sharded_ep=save_sharded_ep,
        gradient_checkpointing=gradient_checkpointing,
        reentrant_checkpointing=reentrant_checkpointing,
        do_eval=do_eval,
        per_device_train_batch_size=_known(per_device_train_batch_size),
        per_device_eval_batch_size=_known(per_device_eval_batch_size),
        gradient_accumulation_steps=_known(gradient_accumulation_steps),
        use_peft=use_peft,
        activation_offloading=activation_offloading,
        image_data=image_data,
        torch_compile=torch_compile,
    )
    _validate_lora_tp_compatibility(tp_size=tp_size, expert_lora=expert_lora, use_peft=use_peft)
    _validate_router_aux_loss_consumable(
        moe_balancing=moe_balancing,
        aux_loss_coefficient_positive=aux_loss_coefficient_positive,
        loss_adds_aux_loss=loss_adds_aux_loss,
    )
    _validate_load_best_model_reloadable(
        load_best_model_at_end=load_best_model_at_end,
        use_peft=use_peft,
        expert_lora=expert_lora,
        cp_size=cp_size,
        tp_size=tp_size,
        is_moe=is_moe,
        needs_ep_wrappers=needs_ep_wrappers,
        data_parallel_size=data_parallel_size,
    )
    _reject_fsdp_knobs_under_qlora(
        quantized=quantized,
        ep_group_size=ep_group_size,
        tp_size=tp_size,
        pp_size=pp_size,
        world_size=world_size,
        launcher=launcher,
        use_hsdp=use_hsdp,
        fsdp_reshard_after_forward=fsdp_reshard_after_forward,
        fsdp_reshard_after_backward=fsdp_reshard_after_backward,
        fsdp_defer_grad_sync=fsdp_defer_grad_sync,
    )
    _validate_adapters(
        use_peft=use_peft,
        peft_inside_ep_layers=peft_inside_ep_layers,
        expert_lora=expert_lora,
        needs_ep_wrappers=needs_ep_wrappers,
        model_kind=model_kind,
    )
    _setup_ep_gradient_checkpointing(
        gradient_checkpointing=gradient_checkpointing, model_type=model_type
    )
    _validate_merge_expert_lora_save(
        merge_expert_lora_on_save=merge_expert_lora_on_save, expert_lora=expert_lora
    )
    _validate_ep_sharded_save(
        save_sharded_ep=save_sharded_ep,
        merge_expert_lora_on_save=merge_expert_lora_on_save,
        needs_ep_wrappers=needs_ep_wrappers,
        model_kind=model_kind,
        model_type=model_type,
        expert_lora=expert_lora,
        expert_tp_size=expert_tp_size,
        cp_size=cp_size,
        ep_group_size=ep_group_size,
        world_size=world_size,
        num_nodes=num_nodes,
        shared_filesystem=shared_filesystem,
    )
    _setup_distributed_modes(
        sync_ref_model=sync_ref_model,
        ep_group_size=ep_group_size,
        tp_size=tp_size,
        world_size=world_size,
        launcher=launcher,
    )
    _validate_trainer_args_for_cp(
        cp_size=cp_size,
        label_smoothing=label_smoothing,
        dft_loss=dft_loss,
        compute_metrics=compute_metrics,
        packing=packing,
        padding_free=padding_free,
    )

    # Accepted.
    num_ep_groups = _get_num_ep_groups(
        ep_group_size=ep_group_size,
        ep_scope=scope,
        stage_world_size=stage_world_size,
        nvlink_domain_size=domain,
        num_nvlink_domains=num_nvlink_domains,
    )
    is_hsdp = use_hsdp and num_nvlink_domains > 1
    if is_hsdp:
        dp_shard_size = domain
        dp_replicate_size = num_nvlink_domains
    else:
        dp_shard_size = stage_world_size
        dp_replicate_size = 1
    is_deferred_dp = (
        is_ep_mode and expert_tp_size == 1 and num_ep_groups > 1 and num_nvlink_domains > 1
    )
    return Derived(
        gpus_per_node=node,
        nvlink_domain_size=domain,
        ep_scope=scope,
        stage_world_size=stage_world_size,
        ep_group_size=ep_group_size,
        num_nodes=num_nodes,
        num_nvlink_domains=num_nvlink_domains,
        data_parallel_size=data_parallel_size,
        num_ep_groups=num_ep_groups,
        requires_rdma=requires_rdma,
        is_ep_mode=is_ep_mode,
        needs_ep_wrappers=needs_ep_wrappers,
        experts_fsdp_managed=experts_fsdp_managed,
        is_hsdp=is_hsdp,
        dp_shard_size=dp_shard_size,
        dp_replicate_size=dp_replicate_size,
        is_deferred_dp=is_deferred_dp,
        defer_grad_sync=(num_ep_groups > 1 or pp_size > 1) and not experts_fsdp_managed,
        fsdp_width=_get_fsdp_width(
            tp_size=tp_size,
            data_parallel_size=data_parallel_size,
            is_deferred_dp=is_deferred_dp,
            ep_group_size=ep_group_size,
            is_hsdp=is_hsdp,
            nvlink_domain_size=domain,
            stage_world_size=stage_world_size,
        ),
    )
