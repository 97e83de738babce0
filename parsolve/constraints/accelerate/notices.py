"""What accelerate changes in silence, and what it takes though it hurts."""

from parsolve.constraints.accelerate import fields as f
from parsolve.constraints.accelerate import quantities as q
from parsolve.constraints.accelerate.rules import against_accelerator
from parsolve.constraints.cluster import NODE_ASSUMED
from parsolve.constraints.formula import all_of, divides
from parsolve.constraints.rule import Notice, Source

NOTICES = (
    Notice(
        id="all-ones-become-replicas",
        when=all_of(q.is_ignored, f.distributed == "ddp"),
        reason="Every size is 1, so dp_replicate becomes the number of processes.",
        source=against_accelerator(363),
        kind="change",
    ),
    Notice(
        id="all-ones-are-ignored",
        when=all_of(q.is_ignored, f.distributed != "ddp"),
        reason="Every size is 1, so nothing is checked and no mesh is built: the wrapper shards "
        "over the whole world, or replicates, as it does without sizes.",
        source=against_accelerator(359),
        kind="change",
    ),
    Notice(
        id="sp-product-unchecked",
        when=all_of(f.sp_size > 1, q.total_size != f.world_size),
        reason="With sequence parallelism, accelerate does not compare the product of the sizes "
        "with the world. Here they differ: the batch that it tells DeepSpeed follows the sizes, "
        "the groups follow DeepSpeed.",
        source=against_accelerator(370),
        kind="hazard",
    ),
    Notice(
        id="sp-not-dividing-world",
        when=all_of(f.sp_size > 1, ~divides(f.sp_size, f.world_size)),
        reason="The world is no multiple of sp, so DeepSpeed cannot form its groups.",
        source=against_accelerator(370),
        kind="hazard",
    ),
    Notice(
        id="sp-without-deepspeed",
        when=all_of(f.sp_size > 1, f.distributed != "deepspeed"),
        reason="Only DeepSpeed splits sequences by sp, and no mesh is built for another wrapper: "
        "nothing is split, though it is accepted.",
        source=Source("accelerate/parallelism_config.py", "build_device_mesh", (220,)),
        kind="hazard",
    ),
    Notice(
        id="cp-with-deepspeed",
        when=all_of(f.cp_size > 1, f.distributed == "deepspeed"),
        reason="Context parallelism is meant for FSDP2, yet under DeepSpeed nobody refuses it.",
        source=Source("accelerate/state.py", "__init__", (974, 997)),
        kind="hazard",
    ),
    Notice(
        id="launch-refuses-sizes",
        when=all_of(f.distributed != "fsdp2", q.total_size != 1),
        reason="The launch command takes sizes with FSDP2 only. Make the configuration in the "
        "script, or name the sizes in the environment.",
        source=Source("accelerate/commands/launch.py", "_validate_launch_command", (1212,)),
        launchable=False,
    ),
    NODE_ASSUMED,
    Notice(
        id="tp-leaves-nvlink-domain",
        when=f.tp_size > q.nvlink_domain_size,
        reason="A tensor-parallel group is wider than an NVLink domain: every layer waits for "
        "the network.",
        source=Source("accelerate/parallelism_config.py", "_get_mesh", (267,)),
        kind="hazard",
    ),
    Notice(
        id="tp-splits-nvlink-domain",
        when=all_of(
            f.tp_size > 1,
            f.tp_size <= q.nvlink_domain_size,
            ~divides(f.tp_size, q.nvlink_domain_size),
        ),
        reason="tp does not divide the NVLink domain, so some groups of consecutive ranks lie in "
        "two.",
        source=Source("accelerate/parallelism_config.py", "_get_mesh", (267,)),
        kind="hazard",
    ),
)
