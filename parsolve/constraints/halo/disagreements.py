"""Points on which the framework's own sources differ, and what this profile takes."""

from parsolve.constraints.profile import Disagreement

DISAGREEMENTS = (
    Disagreement(
        "Offline GRPO with CP",
        "The guide and the framework's matrix refuse it; the newest trainer code accepts it for "
        "full fine-tuning.",
        "Refused (trainer-no-cp).",
    ),
    Disagreement(
        "LoRA with TP",
        "The guide refuses it always; the newest trainer allows it for dense SFT with one "
        "data-parallel rank.",
        "Refused (trainer-tp-lora).",
    ),
    Disagreement(
        "Dense model under EP or expert TP",
        'The guide says that the axes "do nothing"; the loader raises, since it patches no MoE '
        "layer, while the configuration gate stays silent.",
        "Refused (expert-axis-on-model-without-wrapped-moe) once the model is known to be dense.",
    ),
    Disagreement(
        "fsdp_shard_ep1_experts off under PP",
        "The guide refuses it always; the code only where MoE blocks are wrapped and no expert "
        "group exists.",
        "The code's narrower rule (pp-unsharded-ep1-experts).",
    ),
    Disagreement(
        "What is checked first",
        "The guide says that the allowlist of axis sets is; the code checks field sanity before "
        "it, and the entry script's gates before that.",
        "The code's order.",
    ),
    Disagreement(
        "EP with expert TP across nodes",
        "The framework's matrix allows node-local and cross-node shapes alike; the code allows, "
        "above one domain, only one group that fills the stage.",
        "The code (ep-etp-multi-domain-multi-group, etp-global-not-one-group-per-domain).",
    ),
    Disagreement(
        "Explicit reference model under EP or TP",
        "Older documents refuse it; the newest code warns.",
        "A warning (explicit-ref-model-dense-replica).",
    ),
    Disagreement(
        "Evaluation batch under PP",
        "The guide refuses a batch other than the training batch always; the code only if an "
        "evaluation runs.",
        "The code (pp-trainer-eval-batch).",
    ),
    Disagreement(
        "QLoRA and FSDP knobs",
        "The guide: every FSDP shaping knob is refused; the code: four knobs, on the plain "
        "data-parallel or CP path, with more than one rank, under torchrun.",
        "The code (trainer-qlora-fsdp-knobs).",
    ),
    Disagreement(
        "Explicit scope of a one-rank group",
        "The documents do not mention it; the code silently turns it into node.",
        "The code, with a warning (ep-scope-forced-to-node).",
    ),
    Disagreement(
        "Nodes or NVLink domains",
        "The documents count OS nodes in the deferred data-parallel path; the code counts NVLink "
        "domains.",
        "NVLink domains, per pipeline stage.",
    ),
    Disagreement(
        "A negative world",
        "The configuration object never checks it, and -8 ranks on nodes of 8 pass.",
        "Refused as input: parsolve asks for a world of at least 1.",
    ),
    Disagreement(
        "Legacy buffer in a domain of several nodes",
        'The stated reason is "within one OS node"; the rule compares widths only, so groups '
        "may lie across two nodes.",
        "Accepted as the framework does, with a warning (legacy-buffer-straddles-nodes).",
    ),
)
