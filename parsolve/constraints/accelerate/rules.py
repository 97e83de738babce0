"""What accelerate 1.15.0 refuses, in its order."""

from collections.abc import Mapping

from parsolve.constraints.accelerate import fields as f
from parsolve.constraints.accelerate import quantities as q
from parsolve.constraints.fields import Size
from parsolve.constraints.formula import ALWAYS, Formula, all_of, any_of, one_of
from parsolve.constraints.rule import Example, Rule, Source

_CONFIG = "accelerate/parallelism_config.py"


def config(*lines: int) -> Source:
    """The configuration object."""
    return Source(_CONFIG, "__post_init__", lines)


def against_accelerator(*lines: int) -> Source:
    """The object against the processes that run."""
    return Source(_CONFIG, "_validate_accelerator", lines)


def handler(*lines: int) -> Source:
    """The handler of one axis, made before the sizes are looked at."""
    return Source("accelerate/utils/dataclasses.py", "__post_init__", lines)


def state(*lines: int) -> Source:
    """The state that every accelerator shares."""
    return Source("accelerate/state.py", "__init__", lines)


def _refusal(
    identity: str,
    stage: str,
    source: Source,
    requires: Formula,
    reason: str,
    remedy: str,
    rejects: Mapping[str, object],
    instead: Mapping[str, object],
    when: Formula = ALWAYS,
) -> Rule:
    eight = {"world_size": 8}
    return Rule(
        id=identity,
        stage=stage,
        when=when,
        requires=requires,
        reason=reason,
        remedy=remedy,
        source=source,
        example=Example(rejects={**eight, **rejects}, instead={**eight, **instead}),
    )


def _positive(size: Size, line: int) -> Rule:
    return _refusal(
        f"{size.flag}-not-positive",
        "config",
        config(line),
        size >= 1,
        "A size counts ranks; accelerate derives none of them.",
        "Use 1 to leave the axis off.",
        {size.name: 0, "distributed": "deepspeed"},
        {},
    )


HANDLERS = (
    _refusal(
        "cp-comm-strategy-unknown",
        "config",
        handler(2247),
        one_of(f.cp_comm_strategy, ("allgather", "alltoall")),
        "Keys and values are gathered, or exchanged by all-to-all. Nobody looks while cp is 1.",
        "Use allgather or alltoall.",
        {"cp_size": 8, "cp_comm_strategy": "ring"},
        {"cp_size": 8, "cp_comm_strategy": "alltoall"},
        f.cp_size > 1,
    ),
    _refusal(
        "sp-fixed-length-unknown",
        "config",
        handler(2282),
        any_of(f.variable_seq_length, f.seq_length > 0),
        "Sequences of one length are promised, and the length is missing.",
        "Give the sequence length, or let batches differ.",
        {"sp_size": 8, "variable_seq_length": False, "distributed": "deepspeed"},
        {
            "sp_size": 8,
            "variable_seq_length": False,
            "seq_length": 4096,
            "distributed": "deepspeed",
        },
        f.sp_size > 1,
    ),
    _refusal(
        "sp-attention-unsupported",
        "config",
        handler(2299),
        all_of(f.sp_attention != "eager", f.sp_attention != "flex_attention"),
        "Ulysses wraps SDPA and FlashAttention only.",
        "Use sdpa or a FlashAttention.",
        {"sp_size": 8, "sp_attention": "eager", "distributed": "deepspeed"},
        {"sp_size": 8, "sp_attention": "flash_attention_2", "distributed": "deepspeed"},
        f.sp_size > 1,
    ),
)

CONFIG = (
    _positive(f.dp_replicate_size, 311),
    _positive(f.dp_shard_size, 313),
    _positive(f.tp_size, 315),
    _positive(f.cp_size, 317),
    _refusal(
        "cp-backend-unknown",
        "config",
        config(320),
        f.cp_backend == "torch",
        "Context parallelism runs on PyTorch's own implementation only.",
        "Use torch.",
        {"cp_backend": "deepspeed"},
        {"cp_backend": "torch"},
    ),
    _positive(f.sp_size, 323),
    _refusal(
        "sp-backend-unknown",
        "config",
        config(326),
        f.sp_backend == "deepspeed",
        "Sequence parallelism runs on DeepSpeed only.",
        "Use deepspeed.",
        {"sp_backend": "torch"},
        {"sp_backend": "deepspeed"},
    ),
    _refusal(
        "cp-with-sp",
        "config",
        config(330),
        any_of(f.cp_size <= 1, f.sp_size <= 1),
        "Both split the sequence, each in its own way.",
        "Use one of the two.",
        {"cp_size": 2, "sp_size": 4, "distributed": "deepspeed"},
        {"sp_size": 4, "distributed": "deepspeed"},
    ),
    _refusal(
        "replicas-without-shards",
        "config",
        config(337),
        any_of(f.dp_replicate_size <= 1, f.dp_shard_size != 1),
        "Plain replication (DDP) is not combined with tensor or context parallelism.",
        "Shard over some of the data-parallel ranks: dp_shard above 1.",
        {"tp_size": 2, "dp_replicate_size": 4, "distributed": "deepspeed"},
        {"tp_size": 2, "dp_replicate_size": 2, "dp_shard_size": 2},
        any_of(f.tp_size > 1, f.cp_size > 1),
    ),
)

STATE = (
    _refusal(
        "cp-without-fsdp",
        "state",
        state(999),
        f.distributed != "ddp",
        "Context parallelism shards the model over its ranks as well, which needs FSDP2.",
        "Use FSDP2.",
        {"cp_size": 8, "distributed": "ddp"},
        {"cp_size": 8},
        f.cp_size > 1,
    ),
    _refusal(
        "cp-with-fsdp1",
        "state",
        state(1007),
        f.distributed != "fsdp1",
        "Context parallelism needs the second FSDP.",
        "Use FSDP2.",
        {"cp_size": 4, "distributed": "fsdp1", "dp_shard_size": 2},
        {"cp_size": 4, "dp_shard_size": 2},
        f.cp_size > 1,
    ),
)

ACCELERATOR = (
    _refusal(
        "sizes-not-the-world",
        "accelerator",
        against_accelerator(373),
        q.total_size == f.world_size,
        "The product of all sizes is the number of processes; dp_shard is 1 unless it is given, "
        "not what is left. With sequence parallelism nobody looks.",
        "State dp_shard so that the product is the world.",
        {"tp_size": 2, "dp_shard_size": 2},
        {"tp_size": 2, "dp_shard_size": 4},
        all_of(q.total_size != 1, f.sp_size <= 1),
    ),
    _refusal(
        "fsdp2-without-shards",
        "accelerator",
        against_accelerator(382),
        any_of(f.dp_shard_size > 1, f.cp_size > 1),
        "FSDP2 shards over dp_shard * cp, and both are 1.",
        "Leave ranks for dp_shard or cp, or use no FSDP.",
        {"tp_size": 8},
        {"tp_size": 4, "dp_shard_size": 2},
        all_of(f.distributed == "fsdp2", q.total_size != 1),
    ),
    _refusal(
        "wrapper-unsupported",
        "accelerator",
        against_accelerator(395),
        any_of(
            one_of(f.distributed, ("fsdp2", "deepspeed")),
            all_of(f.distributed == "ddp", f.world_size > 1),
        ),
        "Sizes need FSDP2, DeepSpeed, or plain processes of which there are several.",
        "Use FSDP2.",
        {"dp_shard_size": 8, "distributed": "fsdp1"},
        {"dp_shard_size": 8},
        q.total_size > 1,
    ),
)

RULES = (*HANDLERS, *CONFIG, *STATE, *ACCELERATOR)
