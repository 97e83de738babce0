"""Trainer construction: what a trainer refuses once it knows the model and its arguments."""

from parsolve.constraints.fields import Flag
from parsolve.constraints.formula import Formula, all_of, any_of, divides, one_of
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.entry import GIVEN
from parsolve.constraints.halo.sources import (
    CP_VALIDATION,
    EP_INTROSPECTION,
    TRAINER_BASE,
    TRAINER_PIPELINE,
    TRAINER_PP_GATES,
    TRAINER_VALIDATION,
)
from parsolve.constraints.rule import Example, Rule, Source

STAGE = "trainer-construction"
PREPARE = Source(TRAINER_PIPELINE, "_maybe_prepare_pipeline_model")
PP_GATES = Source(TRAINER_PP_GATES, "per-trainer pipeline gate")
LORA_TP = Source(TRAINER_VALIDATION, "_validate_lora_tp_compatibility")
AUX_LOSS = Source(TRAINER_VALIDATION, "_validate_router_aux_loss_consumable")
LOAD_BEST = Source(TRAINER_VALIDATION, "_validate_load_best_model_reloadable")
QLORA = Source(TRAINER_VALIDATION, "_reject_fsdp_knobs_under_qlora")
LORA_EP = Source(TRAINER_VALIDATION, "_validate_lora_ep_compatibility")
REALIZED = Source(TRAINER_VALIDATION, "_validate_expert_lora_realized")
CHECKPOINTING = Source(EP_INTROSPECTION, "_setup_ep_gradient_checkpointing")
MERGE = Source(TRAINER_VALIDATION, "_validate_merge_expert_lora_save")
SHARDED_SAVE = Source(TRAINER_VALIDATION, "validate_ep_sharded_save")
SETUP = Source(TRAINER_BASE, "_setup_distributed_modes")
CP_ARGUMENTS = Source(CP_VALIDATION, "validate_trainer_args_for_cp")

PIPELINED = all_of(GIVEN, f.pp_size > 1)
FULL_FINE_TUNE = all_of(~f.use_peft, ~f.expert_lora)
STAGED = {
    "world_size": 16,
    "gpus_per_node": 8,
    "pp_size": 2,
    "assume_pp": True,
    "trainer": "sft",
    "max_length": 4096,
}


def _pipeline(
    identity: str,
    requires: Formula,
    reason: str,
    remedy: str,
    bad: dict[str, object],
    source: Source = PREPARE,
    instead: dict[str, object] | None = None,
) -> Rule:
    return Rule(
        id=identity,
        stage=STAGE,
        when=PIPELINED,
        requires=requires,
        reason=reason,
        remedy=remedy,
        source=source,
        example=Example(rejects={**STAGED, **bad}, instead={**STAGED, **(instead or {})}),
    )


def _switch_off(
    identity: str,
    knob: Flag,
    when: Formula,
    reason: str,
    source: Source,
    bad: dict[str, object],
    remedy: str = "",
) -> Rule:
    return Rule(
        id=identity,
        stage=STAGE,
        when=when,
        requires=~knob,
        reason=reason,
        remedy=remedy or f"Switch {knob.name} off, or drop the axis.",
        source=source,
        example=Example(
            rejects={**bad, knob.name: True},
            instead={name: value for name, value in bad.items() if name != knob.name},
        ),
    )


PIPELINE = (
    _pipeline(
        "pp-trainer-live-ref-model",
        f.reference_model != "live",
        "A second model cannot be run beside the pipeline's stages.",
        "Precompute the reference log-probabilities.",
        {"trainer": "dpo", "reference_model": "live"},
        PP_GATES,
        {"trainer": "dpo", "reference_model": "precomputed"},
    ),
    _pipeline(
        "pp-trainer-max-length",
        f.max_length > 0,
        "Stages exchange activations of one fixed length, which must be stated.",
        "Set max_length.",
        {"max_length": None},
    ),
    _pipeline(
        "pp-trainer-sharded-save",
        ~f.save_sharded_ep,
        "The sharded save knows nothing of stages.",
        "Switch save_sharded_ep off.",
        {"save_sharded_ep": True, "ep_size": 8},
        instead={"ep_size": 8},
    ),
    _pipeline(
        "pp-trainer-reentrant-gc",
        ~all_of(f.gradient_checkpointing, f.reentrant_checkpointing),
        "Reentrant checkpointing runs its own backward passes inside the schedule's.",
        "Use the non-reentrant implementation.",
        {"gradient_checkpointing": True, "reentrant_checkpointing": True},
    ),
    _pipeline(
        "pp-trainer-eval-batch",
        ~all_of(
            f.do_eval,
            f.per_device_eval_batch_size > 0,
            f.per_device_train_batch_size > 0,
            f.per_device_eval_batch_size != f.per_device_train_batch_size,
        ),
        "The pipeline is built for one batch shape; checked only if an evaluation runs.",
        "Evaluate with the training batch size, or do not evaluate.",
        {"do_eval": True, "per_device_train_batch_size": 2, "per_device_eval_batch_size": 4},
    ),
    _pipeline(
        "pp-trainer-peft",
        ~f.use_peft,
        "PEFT adapters carry layer numbers that are local to a stage.",
        "Fine-tune fully, or drop PP.",
        {"use_peft": True},
    ),
    _pipeline(
        "pp-trainer-activation-offloading",
        ~f.activation_offloading,
        "Offloading hooks do not follow the schedule's order.",
        "Switch activation_offloading off.",
        {"activation_offloading": True},
    ),
    _pipeline(
        "pp-trainer-image-data",
        ~f.image_data,
        "Images enter at one stage only; a text-only run of the same model is fine.",
        "Train on text, or drop PP.",
        {"image_data": True},
    ),
    _pipeline(
        "pp-trainer-torch-compile",
        ~f.torch_compile,
        "The compiled graph does not survive the cut into stages.",
        "Switch torch_compile off.",
        {"torch_compile": True},
    ),
    _pipeline(
        "pp-trainer-microbatches-and-grad-accum",
        ~all_of(f.pp_microbatches > 0, f.gradient_accumulation_steps > 1),
        "Both knobs say how many micro-batches a step has.",
        "Set one of them.",
        {"pp_microbatches": 4, "gradient_accumulation_steps": 4},
    ),
    Rule(
        id="pp-trainer-batch-not-divisible",
        stage=STAGE,
        when=all_of(PIPELINED, f.per_device_train_batch_size > 0),
        requires=divides(q.pipeline_batch_parts, f.per_device_train_batch_size),
        reason="The pipeline cuts each batch into equal micro-batches.",
        remedy="Use a batch that is a multiple of the number of micro-batches.",
        source=PREPARE,
        example=Example(
            rejects={**STAGED, "per_device_train_batch_size": 3},
            instead={**STAGED, "per_device_train_batch_size": 4},
        ),
    ),
)

SETUP_RULES = (
    _switch_off(
        "trainer-tp-expert-lora",
        f.expert_lora,
        f.tp_size > 1,
        "Expert adapters live on weights that every TP gate skips.",
        LORA_TP,
        {"world_size": 8, "ep_size": 8, "tp_size": 2},
    ),
    _switch_off(
        "trainer-tp-lora",
        f.use_peft,
        f.tp_size > 1,
        "Adapters are plain tensors outside the TP graph: the replicated half diverges per rank, "
        "the sharded half is corrupted by the gradient sync.",
        LORA_TP,
        {"world_size": 8, "tp_size": 2},
        "Fine-tune fully, or use data parallelism, CP or expert TP without TP.",
    ),
    Rule(
        id="trainer-aux-loss-unconsumed",
        stage=STAGE,
        when=all_of(f.moe_balancing == "aux_loss", f.aux_loss_coefficient_positive),
        requires=f.loss_adds_aux_loss,
        reason="The trainer's loss never adds the router's auxiliary loss.",
        remedy="Balance by bias, or set the coefficient to zero.",
        source=AUX_LOSS,
        example=Example(
            rejects={
                "world_size": 8,
                "moe_balancing": "aux_loss",
                "aux_loss_coefficient_positive": True,
                "loss_adds_aux_loss": False,
            },
            instead={"world_size": 8, "moe_balancing": "bias", "loss_adds_aux_loss": False},
        ),
    ),
    Rule(
        id="trainer-load-best-ep-cp",
        stage=STAGE,
        when=all_of(f.load_best_model_at_end, FULL_FINE_TUNE),
        requires=~any_of(f.cp_size > 1, all_of(q.is_moe, q.needs_ep_wrappers)),
        reason="The best checkpoint could not be loaded back into wrapped modules.",
        remedy="Switch load_best_model_at_end off and load it afterwards.",
        source=LOAD_BEST,
        example=Example(
            rejects={"world_size": 8, "cp_size": 2, "load_best_model_at_end": True},
            instead={"world_size": 8, "cp_size": 2},
        ),
    ),
    Rule(
        id="trainer-load-best-tp-dp",
        stage=STAGE,
        when=all_of(f.load_best_model_at_end, FULL_FINE_TUNE, f.tp_size > 1),
        requires=q.data_parallel_size <= 1,
        reason="The best checkpoint could not be loaded back into weights sharded twice.",
        remedy="Switch load_best_model_at_end off and load it afterwards.",
        source=LOAD_BEST,
        example=Example(
            rejects={"world_size": 8, "tp_size": 2, "load_best_model_at_end": True},
            instead={"world_size": 8, "tp_size": 8, "load_best_model_at_end": True},
        ),
    ),
    Rule(
        id="trainer-qlora-fsdp-knobs",
        stage=STAGE,
        when=all_of(
            f.quantized,
            q.ep_group_size <= 1,
            f.tp_size <= 1,
            f.pp_size <= 1,
            f.world_size > 1,
            f.launcher == "torchrun",
        ),
        requires=all_of(
            ~f.use_hsdp,
            ~f.fsdp_reshard_after_forward,
            f.fsdp_reshard_after_backward,
            ~f.fsdp_defer_grad_sync,
        ),
        reason="Quantized weights are not wrapped by FSDP, so no FSDP shaping knob applies.",
        remedy="Leave the FSDP knobs at their defaults.",
        source=QLORA,
        example=Example(
            rejects={"world_size": 8, "quantized": True, "fsdp_defer_grad_sync": True},
            instead={"world_size": 8, "quantized": True},
        ),
    ),
    _switch_off(
        "trainer-peft-inside-ep-layer",
        f.peft_inside_ep_layers,
        f.use_peft,
        "A PEFT adapter inside an expert layer would see only this rank's tokens.",
        LORA_EP,
        {"world_size": 8, "ep_size": 8, "use_peft": True},
        "Target no module inside the expert layers; native expert adapters do that.",
    ),
    Rule(
        id="trainer-expert-lora-unrealized",
        stage=STAGE,
        when=f.expert_lora,
        requires=all_of(q.needs_ep_wrappers, ~q.is_dense),
        reason="Only a wrapped MoE block builds native expert adapters.",
        remedy="Use grouped GEMMs or EP on an MoE model, or drop the expert targets.",
        source=REALIZED,
        example=Example(
            rejects={"world_size": 8, "expert_lora": True, "use_grouped_gemm": False},
            instead={"world_size": 8, "expert_lora": True},
        ),
    ),
    Rule(
        id="trainer-ep-gc-family-unsupported",
        stage=STAGE,
        when=f.gradient_checkpointing,
        requires=f.model_type != "zaya",
        reason="This model family opts out of checkpointing around expert layers.",
        remedy="Switch gradient_checkpointing off.",
        source=CHECKPOINTING,
        example=Example(
            rejects={
                "world_size": 8,
                "ep_size": 8,
                "gradient_checkpointing": True,
                "model_type": "zaya",
            },
            instead={"world_size": 8, "ep_size": 8, "model_type": "zaya"},
        ),
    ),
    Rule(
        id="trainer-merge-without-expert-lora",
        stage=STAGE,
        when=f.merge_expert_lora_on_save,
        requires=f.expert_lora,
        reason="There are no expert adapters to merge.",
        remedy="Drop merge_expert_lora_on_save, or train expert adapters.",
        source=MERGE,
        example=Example(
            rejects={"world_size": 8, "merge_expert_lora_on_save": True},
            instead={"world_size": 8, "merge_expert_lora_on_save": True, "expert_lora": True},
        ),
    ),
)

WHOLE = {"world_size": 8, "ep_size": 8, "save_sharded_ep": True}


def _sharded(
    identity: str,
    requires: Formula,
    reason: str,
    remedy: str,
    bad: dict[str, object],
    instead: dict[str, object] | None = None,
) -> Rule:
    return Rule(
        id=f"sharded-save-{identity}",
        stage=STAGE,
        when=f.save_sharded_ep,
        requires=requires,
        reason=reason,
        remedy=remedy,
        source=SHARDED_SAVE,
        example=Example(rejects={**WHOLE, **bad}, instead={**WHOLE, **(instead or {})}),
    )


SHARDED_SAVE_RULES = (
    _sharded(
        "with-merge",
        ~f.merge_expert_lora_on_save,
        "Merging needs whole expert weights, which a sharded save never assembles.",
        "Switch merge_expert_lora_on_save off.",
        {"merge_expert_lora_on_save": True, "expert_lora": True},
    ),
    _sharded(
        "no-ep-layers",
        all_of(q.needs_ep_wrappers, ~q.is_dense),
        "There are no wrapped expert layers to save by rank.",
        "Switch save_sharded_ep off.",
        {"world_size": 1, "ep_size": 1, "use_grouped_gemm": False},
    ),
    _sharded(
        "family-unregistered",
        any_of(f.model_type == "unknown", one_of(f.model_type, f.SHARDED_SAVE_FAMILIES)),
        "This model family has no registered expert layer class.",
        "Switch save_sharded_ep off.",
        {"model_type": "qwen3_next_moe"},
        {"model_type": "qwen3_moe"},
    ),
    _sharded(
        "expert-lora",
        ~f.expert_lora,
        "Expert adapters are saved whole, not by rank.",
        "Switch save_sharded_ep off.",
        {"expert_lora": True},
    ),
    _sharded(
        "etp",
        f.expert_tp_size <= 1,
        "The sharded format has no place for slices of an expert.",
        "Use EP without expert TP, or switch save_sharded_ep off.",
        {"ep_size": 4, "expert_tp_size": 2},
    ),
    _sharded(
        "cp",
        f.cp_size <= 1,
        "The sharded save is not wired for CP.",
        "Drop CP, or switch save_sharded_ep off.",
        {"cp_size": 2},
    ),
    _sharded(
        "not-single-group",
        q.ep_group_size == f.world_size,
        "Every rank must own different experts, so one EP group must span the world.",
        "Use one global EP group, or switch save_sharded_ep off.",
        {"world_size": 16},
        {"world_size": 16, "ep_size": 16},
    ),
    _sharded(
        "no-shared-filesystem",
        any_of(f.shared_filesystem, q.num_nodes <= 1),
        "Ranks on several nodes write parts of one checkpoint.",
        "Save to a file system that all nodes share.",
        {"world_size": 16, "ep_size": 16, "shared_filesystem": False},
        {"world_size": 16, "ep_size": 16},
    ),
)

REFERENCE = (
    _switch_off(
        "trainer-sync-ref-model",
        f.sync_ref_model,
        any_of(
            q.ep_group_size > 1,
            f.tp_size > 1,
            all_of(f.world_size > 1, f.launcher == "torchrun"),
        ),
        "Copying into the reference model does not follow sharded parameters.",
        SETUP,
        {"world_size": 8},
        "Keep the reference model fixed.",
    ),
)

CP_ON = f.cp_size > 1
CP_RUN = {"world_size": 8, "cp_size": 2, "trainer": "sft"}
CP_RULES = (
    _switch_off(
        "cp-trainer-label-smoothing",
        f.label_smoothing,
        CP_ON,
        "The smoothed loss is not computed per chunk.",
        CP_ARGUMENTS,
        CP_RUN,
    ),
    _switch_off(
        "cp-trainer-dft-loss",
        f.dft_loss,
        CP_ON,
        "The dft loss is not computed per chunk.",
        CP_ARGUMENTS,
        CP_RUN,
    ),
    _switch_off(
        "cp-trainer-compute-metrics",
        f.compute_metrics,
        CP_ON,
        "Metrics would see chunks of sequences.",
        CP_ARGUMENTS,
        CP_RUN,
    ),
    _switch_off(
        "cp-trainer-packing",
        f.packing,
        CP_ON,
        "Boundaries of packed examples would fall inside chunks.",
        CP_ARGUMENTS,
        CP_RUN,
    ),
    _switch_off(
        "cp-trainer-padding-free",
        f.padding_free,
        CP_ON,
        "Boundaries of concatenated examples would fall inside chunks.",
        CP_ARGUMENTS,
        CP_RUN,
    ),
)

TRAINER = (*PIPELINE, *SETUP_RULES, *SHARDED_SAVE_RULES, *REFERENCE, *CP_RULES)
