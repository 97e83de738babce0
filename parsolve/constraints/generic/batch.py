"""Batches of the generic profile: micro-batches, accumulation, and a pipeline's runs.

A step is so many micro-batches of every data-parallel rank: accumulation steps times the
micro-batches of one run of the pipeline, or what the global batch comes to.
"""

from parsolve.constraints.batch import (
    Batch,
    batch_bounds,
    bubble,
    global_batch,
    samples_per_pass,
    tokens_per_step,
)
from parsolve.constraints.formula import Named, NamedFormula, all_of, any_of, if_, largest
from parsolve.constraints.generic import fields as f
from parsolve.constraints.generic import quantities as q
from parsolve.constraints.rule import Source

micro_batch = Named(
    "micro_batch",
    largest(1, f.micro_batch),
    about="Samples per GPU and forward pass; 1 where none is given.",
)
stated_microbatches = Named(
    "stated_microbatches",
    largest(1, f.gradient_accumulation_steps) * largest(1, f.num_microbatches),
    about="Micro-batches per rank and step, by accumulation and the pipeline's count.",
)
is_batch_stated = NamedFormula(
    "is_batch_stated",
    any_of(f.gradient_accumulation_steps > 0, f.num_microbatches > 0),
    about="Accumulation or the pipeline's micro-batches are given.",
)
_samples = samples_per_pass(micro_batch, q.data_parallel_size)
microbatches = Named(
    "microbatches",
    if_(
        all_of(f.requested_global_batch > 0, ~is_batch_stated),
        largest(1, f.requested_global_batch // largest(1, _samples)),
        if_(is_batch_stated, stated_microbatches, f.pp_size),
    ),
    about="Micro-batches per rank and step: global batch / (micro-batch * dp); one per stage "
    "where nothing is given.",
)
microbatches_in_pipeline = Named(
    "microbatches_in_pipeline",
    if_(f.num_microbatches > 0, f.num_microbatches, microbatches),
    about="Micro-batches of one run of the pipeline.",
)
_batch = global_batch(_samples, microbatches)
_tokens = tokens_per_step(_batch, f.seq_length)

DERIVED = (
    micro_batch,
    _samples,
    microbatches,
    _batch,
    _tokens,
    bubble(f.pp_size, microbatches_in_pipeline, f.virtual_stages),
)

BATCH = batch_bounds(
    f.requested_global_batch,
    _samples,
    _batch,
    ~is_batch_stated,
    Source("parsolve", "batch arithmetic of the generic profile"),
)

STEP = Batch(
    samples=_batch,
    per_pass=_samples,
    tokens=_tokens,
    micro_batch=f.micro_batch.name,
    passes=(f.gradient_accumulation_steps.name, f.num_microbatches.name),
    asked=f.requested_global_batch.name,
)
