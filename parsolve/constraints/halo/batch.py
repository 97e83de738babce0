"""Batches of halo: micro-batches and how they are accumulated.

The global batch of a step is the micro-batch of every data-parallel rank, as many times as
gradients are accumulated (transformers' `Trainer`).

With a pipeline nothing is multiplied: ``pp_microbatches``, or else
``gradient_accumulation_steps``, says into how many parts the stage cuts the batch of its device
(``_maybe_prepare_pipeline_model`` of ``src/trainers/mixins/pipeline.py``, which refuses a batch
that the parts do not divide). An optimizer step is one run of the pipeline: those parts are its
window, its accumulation is 1, and a larger global batch is a larger batch per device.
"""

from parsolve.constraints.batch import (
    Batch,
    batch_bounds,
    bubble,
    global_batch,
    samples_per_pass,
    tokens_per_step,
)
from parsolve.constraints.formula import Named, all_of, if_, largest
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.rule import Source

micro_batch = Named(
    "micro_batch",
    largest(1, f.per_device_train_batch_size),
    about="Samples per GPU and forward pass; 1 where none is given.",
)
_samples = samples_per_pass(micro_batch, q.data_parallel_size)
accumulation_steps = Named(
    "accumulation_steps",
    if_(
        f.pp_size > 1,
        1,
        if_(
            f.gradient_accumulation_steps > 0,
            f.gradient_accumulation_steps,
            largest(1, f.requested_global_batch // largest(1, _samples)),
        ),
    ),
    about="Batches of all devices per optimizer step: given, or what the global batch comes to; "
    "1 with a pipeline, which cuts one into its micro-batches.",
)
_batch = global_batch(_samples, accumulation_steps)
_tokens = tokens_per_step(_batch, q.row_length)
microbatches = Named(
    "microbatches",
    if_(f.pp_size > 1, q.pipeline_batch_parts, accumulation_steps),
    about="Micro-batches between two optimizer steps that a pipeline, or a GPU, goes through.",
)

QUANTITIES = (
    micro_batch,
    _samples,
    accumulation_steps,
    _batch,
    _tokens,
    microbatches,
    bubble(f.pp_size, microbatches),
)

BATCH = batch_bounds(
    f.requested_global_batch,
    _samples,
    _batch,
    all_of(f.gradient_accumulation_steps < 1, f.pp_size <= 1),
    Source("parsolve", "batch arithmetic of the halo profile"),
)

STEP = Batch(
    samples=_batch,
    per_pass=_samples,
    tokens=_tokens,
    micro_batch=f.per_device_train_batch_size.name,
    passes=(f.gradient_accumulation_steps.name,),
    asked=f.requested_global_batch.name,
)
