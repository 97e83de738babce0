"""Batch arithmetic of halo: micro-batches, accumulation, the global batch, the pipeline's bubble.

The global batch of a step is the micro-batch of every data-parallel rank, as many times as
gradients are accumulated (transformers' `Trainer`).

With a pipeline nothing is multiplied: ``pp_microbatches``, or else
``gradient_accumulation_steps``, says into how many parts the stage cuts the batch of its device
(``_maybe_prepare_pipeline_model`` of ``src/trainers/mixins/pipeline.py``, which refuses a batch
that the parts do not divide). An optimizer step is one run of the pipeline: those parts are its
window, its accumulation is 1, and a larger global batch is a larger batch per device.
"""

from parsolve.constraints.formula import Named, all_of, any_of, divides, if_, known_where, largest
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.rule import Example, Rule, Source

micro_batch = Named(
    "micro_batch",
    largest(1, f.per_device_train_batch_size),
    about="Examples per GPU and forward pass; 1 where none is given.",
)
examples_per_pass = Named(
    "examples_per_pass",
    micro_batch * q.data_parallel_size,
    about="Examples that all data-parallel ranks take in one forward pass.",
)
accumulation_steps = Named(
    "accumulation_steps",
    if_(
        f.pp_size > 1,
        1,
        if_(
            f.gradient_accumulation_steps > 0,
            f.gradient_accumulation_steps,
            largest(1, f.global_batch // largest(1, examples_per_pass)),
        ),
    ),
    about="Batches of all devices per optimizer step: given, or what the global batch comes to; "
    "1 with a pipeline, which cuts one into its micro-batches.",
)
global_batch = Named(
    "global_batch",
    examples_per_pass * accumulation_steps,
    about="Examples per optimizer step over all GPUs.",
)
tokens_per_step = Named(
    "tokens_per_step",
    known_where(q.row_length > 0, global_batch * q.row_length),
    about="Tokens per optimizer step over all GPUs, every row full.",
)
microbatches = Named(
    "microbatches",
    if_(f.pp_size > 1, q.pipeline_batch_parts, accumulation_steps),
    about="Micro-batches between two optimizer steps that a pipeline, or a GPU, goes through.",
)
bubble_permille = Named(
    "bubble_permille",
    1000 * (f.pp_size - 1) // largest(1, microbatches + f.pp_size - 1),
    about="Share of a step that a pipeline stage idles: (p - 1) / (m + p - 1), in thousandths.",
)

QUANTITIES = (
    micro_batch,
    accumulation_steps,
    global_batch,
    tokens_per_step,
    microbatches,
    bubble_permille,
)

BATCH = (
    Rule(
        id="global-batch-not-divisible",
        stage="batch",
        when=f.global_batch > 0,
        requires=divides(largest(1, examples_per_pass), f.global_batch),
        reason="Every data-parallel rank takes whole micro-batches, and all the same number.",
        remedy="Use a global batch that is a multiple of the micro-batch times the data-parallel "
        "size.",
        source=Source("parsolve", "batch arithmetic of the halo profile"),
        example=Example(
            rejects={"world_size": 8, "global_batch": 100},
            instead={"world_size": 8, "global_batch": 104},
        ),
    ),
    Rule(
        id="global-batch-not-reached",
        stage="batch",
        when=f.global_batch > 0,
        requires=any_of(
            all_of(f.gradient_accumulation_steps < 1, f.pp_size <= 1),
            global_batch == f.global_batch,
        ),
        reason="Micro-batch, data-parallel size and accumulation steps multiply to another "
        "global batch; with a pipeline, which accumulates its parts only, the first two do.",
        remedy="Leave gradient_accumulation_steps out, and it is derived from the global batch; "
        "with a pipeline, choose the batch per device.",
        source=Source("parsolve", "batch arithmetic of the halo profile"),
        example=Example(
            rejects={"world_size": 8, "global_batch": 64, "gradient_accumulation_steps": 4},
            instead={"world_size": 8, "global_batch": 64},
        ),
    ),
)
