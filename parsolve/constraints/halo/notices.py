"""What halo accepts and a user should still know."""

from parsolve.constraints.formula import Formula, all_of, any_of, divides
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.entry import LOWP_KNOBS
from parsolve.constraints.halo.sources import (
    PARALLELISM_ARGS,
    PARALLELISM_CONFIG,
    TRAINER_VALIDATION,
)
from parsolve.constraints.rule import Notice, Source

RESOLVE = Source(PARALLELISM_CONFIG, "_resolve_and_validate")

UNREAD = Source("parsolve", "no rule and no line of the memory account reads it then")


def _inert(name: str, when: Formula, reason: str) -> Notice:
    """An option that was given and changes nothing, given the others."""
    return Notice(id=name, when=when, reason=reason, source=UNREAD)


INERT = (
    _inert(
        "lora-rank-without-peft",
        all_of(f.lora_rank > 0, ~f.use_peft),
        "A rank was given, but no adapters are trained: all weights are. use_peft trains them.",
    ),
    _inert(
        "peft-target-without-peft",
        all_of(f.peft_inside_ep_layers, ~f.use_peft),
        "A target of adapters was given, but none are trained; use_peft trains them.",
    ),
    _inert(
        "reentrant-without-checkpointing",
        all_of(f.reentrant_checkpointing, ~f.gradient_checkpointing),
        "Nothing is computed again, so how it would be has no effect; gradient_checkpointing "
        "does it.",
    ),
    _inert(
        "eval-batch-without-eval",
        all_of(f.per_device_eval_batch_size > 0, ~f.do_eval),
        "The run does not evaluate, so the evaluation's batch has no effect; do_eval does it.",
    ),
    _inert(
        "aux-loss-coefficient-without-aux-loss",
        all_of(f.aux_loss_coefficient_positive, f.moe_balancing != "aux_loss"),
        "The router is not balanced by an auxiliary loss, so its coefficient has no effect here.",
    ),
    _inert(
        "ep-buffer-without-ep",
        all_of(f.ep_buffer_backend != "auto", f.ep_size <= 1),
        "Without EP nothing is dispatched, so the buffer's kind has no effect.",
    ),
    _inert(
        "fused-loss-under-cp",
        all_of(f.fused_linear_cross_entropy, f.cp_size > 1),
        "Under CP the loss reads whole logits: the account takes it as not fused.",
    ),
)

NOTICES = (
    Notice(
        id="model-changed",
        when=f.model_changes != "none",
        reason="Numbers were given in place of the model's own: all that is counted follows them.",
        source=Source("parsolve", "constraints/models/changed.py"),
    ),
    Notice(
        id="pp-not-in-release",
        when=f.pp_size > 1,
        reason="Pipeline parallelism is not part of this release and cannot be launched: this "
        "shows only what the contracts behind the release gate would say.",
        source=Source(PARALLELISM_ARGS, "parallelism_config_from_args"),
        launchable=False,
    ),
    Notice(
        id="gpus-per-node-assumed",
        when=f.gpus_per_node == 0,
        reason="gpus_per_node was not given: 8 are assumed, or the world if it is smaller. The "
        "job itself would detect it.",
        source=RESOLVE,
    ),
    Notice(
        id="nvlink-domain-from-environment",
        when=all_of(f.nvlink_domain_size == 0, f.nvlink_domain_env > 0),
        reason="nvlink_domain_size was taken from NVLINK_DOMAIN_SIZE.",
        source=RESOLVE,
    ),
    Notice(
        id="nvlink-domain-environment-ignored",
        when=all_of(f.nvlink_domain_size == 0, f.nvlink_domain_env < 0),
        reason="NVLINK_DOMAIN_SIZE is not a positive integer and is ignored.",
        source=RESOLVE,
    ),
    Notice(
        id="nvlink-domain-clamped",
        when=q.is_domain_clamped,
        reason="The NVLink domain is cut to the world, since the job runs on one node.",
        source=RESOLVE,
    ),
    Notice(
        id="ep-scope-forced-to-node",
        when=all_of(f.ep_scope == "global", q.ep_group_size == 1),
        reason="A one-rank expert group is always node-local: the requested scope has no effect.",
        source=RESOLVE,
    ),
    Notice(
        id="pp-fp32-grad-buffer",
        when=all_of(f.pp_size > 1, any_of(f.fp32_grad_reduce, f.fp32_non_ep_params)),
        reason="The schedule holds an fp32 gradient buffer for the whole step.",
        source=Source(PARALLELISM_CONFIG, "_validate_pipeline_parallel"),
    ),
    Notice(
        id="hsdp-single-domain-noop",
        when=all_of(f.use_hsdp, q.num_nvlink_domains <= 1),
        reason="With one NVLink domain HSDP is plain FSDP: nothing is replicated.",
        source=Source(PARALLELISM_CONFIG, "_validate_hsdp"),
    ),
    Notice(
        id="lowp-knobs-inert",
        when=all_of(f.lowp_precision == "bf16", LOWP_KNOBS),
        reason="Low precision is off, so its tuning knobs do nothing.",
        source=Source(PARALLELISM_CONFIG, "_validate_lowp"),
    ),
    Notice(
        id="legacy-buffer-straddles-nodes",
        when=all_of(
            f.ep_buffer_backend == "legacy",
            f.ep_size > 1,
            q.ep_scope == "node",
            ~divides(f.ep_size, q.gpus_per_node),
        ),
        reason="The rule checks only that a dispatch group is no wider than a node; in a domain "
        "of several nodes some of these groups lie across two, where CUDA IPC ends. Accepted by "
        "the framework, but unlikely to run.",
        source=Source(PARALLELISM_CONFIG, "_validate_ep_buffer_backend"),
    ),
    Notice(
        id="explicit-ref-model-dense-replica",
        when=all_of(f.reference_model == "live", any_of(q.ep_group_size > 1, f.tp_size > 1)),
        reason="The live reference model is loaded whole on every rank. An older tree refused "
        "this; the newer one only warns.",
        source=Source(TRAINER_VALIDATION, "_validate_reference_model"),
    ),
    *INERT,
)
