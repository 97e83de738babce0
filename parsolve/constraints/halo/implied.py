"""Rules that never decide a verdict: they only decide which reason comes first.

Wherever one of these is violated, so is one of the rules beside it. `parsolve prove rules` finds
them, and proves that each list suffices and that none of it can be spared.
"""

from collections.abc import Mapping

IMPLIED: Mapping[str, tuple[str, ...]] = {
    "world-not-multiple-of-node": (
        "nvlink-domain-negative",
        "nvlink-domain-not-multiple-of-node",
        "world-not-multiple-of-domain",
    ),
    "nvlink-domain-exceeds-multinode-world": ("world-not-multiple-of-domain",),
    "ep-node-group-exceeds-domain": ("ep-node-group-not-dividing-domain",),
    "ep-global-group-exceeds-stage": ("ep-global-group-not-dividing-stage",),
    "ep-global-group-not-dividing-stage": (
        "ep-global-world-not-whole-domains",
        "ep-global-not-multiple-of-domains",
        "ep-global-block-not-dividing-domain",
    ),
    "ep-global-world-not-whole-domains": (
        "world-not-multiple-of-domain",
        "pp-stage-not-whole-domains",
    ),
    "ep-global-block-not-dividing-domain": ("ep-global-group-not-dividing-stage",),
    "cp-exceeds-domain": ("cp-not-dividing-domain",),
    "tp-exceeds-stage": ("tp-not-dividing-stage",),
    "tp-not-dividing-stage": (
        "size-ep-min",
        "size-cp-min",
        "size-etp-min",
        "axis-set-unsupported",
        "gpus-per-node-nonpositive",
        "nvlink-domain-negative",
        "world-not-multiple-of-domain",
        "tp-not-dividing-domain",
    ),
    "etp-not-dividing-domain": (
        "size-ep-min",
        "size-pp-min",
        "ep-scope-enum",
        "world-not-multiple-of-pp",
        "ep-node-group-not-dividing-domain",
        "ep-global-world-not-whole-domains",
        "ep-global-not-multiple-of-domains",
        "ep-global-block-not-dividing-domain",
        "etp-global-not-one-group-per-domain",
    ),
    "pp-trainer-sharded-save": (
        "size-ep-min",
        "size-etp-min",
        "ep-scope-enum",
        "gpus-per-node-nonpositive",
        "nvlink-domain-negative",
        "world-not-multiple-of-pp",
        "pp-stage-not-whole-domains",
        "ep-node-group-not-dividing-domain",
        "ep-global-group-exceeds-stage",
        "sharded-save-not-single-group",
    ),
    "sharded-save-with-merge": (
        "trainer-merge-without-expert-lora",
        "sharded-save-expert-lora",
    ),
}
