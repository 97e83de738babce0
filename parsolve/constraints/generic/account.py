"""The memory account of the generic profile, and the bound that a GPU sets."""

from parsolve.constraints.fields import GIB
from parsolve.constraints.generic import communication as c
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import memory as a
from parsolve.constraints.memory import facts as m
from parsolve.constraints.memory.account import Account, Assumption, Need, Part
from parsolve.constraints.rule import Example, Rule, Source

NEEDS = (
    Need(
        met=m.num_hidden_layers > 0,
        guards=m.FACT_NAMES,
        lacks="the model's size",
        decides="weights, gradients, optimizer state and activations",
        option="--model",
    ),
    Need(
        met=f.seq_length > 0,
        guards=frozenset({f.seq_length.name}),
        lacks="the length of its sequences",
        decides="activations and logits",
        option="--seq-length",
    ),
)

ACCOUNT = Account(
    parts=(
        Part(a.parameters_bytes, "cut by the axes; sharded by ZeRO-3"),
        Part(
            a.gradients_bytes,
            "at the peak; sharded by ZeRO-2, but whole while a pipeline accumulates them",
        ),
        Part(a.optimizer_bytes, "sharded from ZeRO-1 on"),
        Part(
            a.activations_bytes,
            "bf16; first stage: as many micro-batches in flight as the schedule keeps",
        ),
        Part(
            a.loss_bytes,
            "logits in bf16 and fp32 and their fp32 log-probabilities, cut by tp; or fused",
        ),
        Part(
            a.buffers_bytes,
            "ZeRO-3: two layers and the output layer gathered; Adam's temporaries; workspaces",
        ),
        Part(a.reserve_bytes, "1 GiB of CUDA context and NCCL; 5% allocator slack"),
    ),
    experts={
        "parameters": a.expert_weights_bytes,
        "gradients": a.expert_gradients_bytes,
        "optimizer": a.expert_optimizer_bytes,
    },
    reserve=a.reserve_bytes,
    allocated=a.allocated_bytes,
    total=a.memory_per_gpu,
    limit=f.gpu_memory,
    peak=a.peak,
    quantities=(
        a.local_parameters,
        a.dense_parameters,
        a.expert_parameters,
        m.model_parameters,
        a.tokens,
        a.headroom,
        a.peaks_at_loss,
        a.peaks_at_step,
        *c.VOLUMES,
        c.comm_volume,
    ),
    assumptions=(
        Assumption(when=f.micro_batch < 1, words="micro-batch 1"),
        Assumption(
            when=(f.global_batch < 1)
            & (f.gradient_accumulation_steps < 1)
            & (f.num_microbatches < 1),
            words="one micro-batch per step and pipeline stage",
        ),
    ),
    needs=NEEDS,
    levers=(
        *(axis.name for axis in (f.tp_size, f.pp_size, f.cp_size, f.ep_size, f.expert_tp_size)),
        *(
            lever.name
            for lever in (
                f.micro_batch,
                f.zero_stage,
                f.recompute,
                f.sequence_parallel,
                f.attention,
                f.reshard_after_forward,
                f.optimizer_offload,
                f.fused_cross_entropy,
                f.dp_replicate_size,
            )
        ),
    ),
)

LLAMA_3_8B = {
    "world_size": 8,
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "vocab_size": 128_256,
    "embedding_parameters": 525_336_576,
    "output_parameters": 525_336_576,
    "attention_parameters": 1_342_177_280,
    "dense_ffn_parameters": 5_637_144_576,
    "other_parameters": 266_240,
    "layer_dense_parameters": 218_112_000,
    "query_width": 4096,
    "key_width": 1024,
    "value_width": 1024,
    "attention_output_width": 4096,
    "intermediate_size": 14_336,
    "ffn_matrices": 3,
    "seq_length": 8192,
    "gpu_memory": 48 * GIB,
}

BOUNDS = (
    Rule(
        id="memory-exceeds-gpu",
        stage="memory",
        when=f.gpu_memory > 0,
        requires=a.memory_per_gpu <= f.gpu_memory,
        reason="The fullest GPU would need more memory at its peak than it has.",
        remedy="Shard more (ZeRO-3, wider EP), recompute activations, shorten or split the "
        "sequences, lower the micro-batch, or use more or larger GPUs.",
        source=Source("parsolve", "memory account of the generic profile"),
        example=Example(rejects=LLAMA_3_8B, instead={**LLAMA_3_8B, "recompute": "full"}),
    ),
)
