"""Field sanity and the capability matrix: which sizes and which sets of axes exist at all."""

from itertools import combinations

from parsolve.constraints.fields import Size
from parsolve.constraints.formula import Compare, Formula, all_of, any_of, one_of
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo.sources import PARALLELISM_CONFIG
from parsolve.constraints.rule import Example, Rule, Source, Variant

RESOLVE = Source(PARALLELISM_CONFIG, "_resolve_and_validate")
MATRIX = Source(PARALLELISM_CONFIG, "_validate_capability_matrix, SUPPORTED_AXIS_SETS")

AXES = (f.ep_size, f.expert_tp_size, f.tp_size, f.cp_size, f.pp_size)
SHORT = {
    "ep_size": "ep",
    "expert_tp_size": "etp",
    "tp_size": "tp",
    "cp_size": "cp",
    "pp_size": "pp",
}

SUPPORTED_AXIS_SETS = tuple(
    frozenset(names.split())
    for names in (
        "",
        "ep_size",
        "expert_tp_size",
        "tp_size",
        "cp_size",
        "pp_size",
        "ep_size expert_tp_size",
        "ep_size cp_size",
        "ep_size tp_size",
        "pp_size ep_size",
        "pp_size expert_tp_size",
    )
)
"""Sets of axes that may be larger than 1 together; every subset of one is one too."""


def refused_sets() -> tuple[frozenset[str], ...]:
    """Every set of axes that is not supported, smaller sets first."""
    names = [axis.name for axis in AXES]
    subsets = (frozenset(s) for size in range(6) for s in combinations(names, size))
    return tuple(axes for axes in subsets if axes not in SUPPORTED_AXIS_SETS)


def refused_cores() -> tuple[frozenset[str], ...]:
    """The smallest refused sets: a set is refused exactly when it contains one of them."""
    refused = refused_sets()
    return tuple(axes for axes in refused if not any(other < axes for other in refused))


def active(axis: Size) -> Compare:
    """The axis is larger than 1."""
    return axis > 1


def exactly(names: str) -> Formula:
    """Exactly these axes (their short names) are active."""
    wanted = names.split()
    return all_of(*(active(a) if SHORT[a.name] in wanted else ~active(a) for a in AXES))


def _size_rule(identity: str, axis: Size) -> Rule:
    return Rule(
        id=identity,
        stage="field-sanity",
        requires=axis >= 1,
        reason="A parallel size counts ranks; below one there is nothing to form a group from.",
        remedy="Set it to one to switch the axis off.",
        source=RESOLVE,
        example=Example(
            rejects={"world_size": 8, axis.name: 0}, instead={"world_size": 8, axis.name: 1}
        ),
    )


FIELD_SANITY = (
    _size_rule("size-ep-min", f.ep_size),
    _size_rule("size-tp-min", f.tp_size),
    _size_rule("size-cp-min", f.cp_size),
    _size_rule("size-etp-min", f.expert_tp_size),
    _size_rule("size-pp-min", f.pp_size),
    Rule(
        id="pp-schedule-enum",
        stage="field-sanity",
        requires=one_of(f.pp_schedule, f.pp_schedule.choices),
        reason="The pipeline knows no schedule of this name.",
        remedy="Use 1f1b or gpipe.",
        source=RESOLVE,
        example=Example(
            rejects={"world_size": 8, "pp_schedule": "dualpipe"}, instead={"world_size": 8}
        ),
    ),
    Rule(
        id="pp-microbatches-min",
        stage="field-sanity",
        requires=f.pp_microbatches >= 0,
        reason="A negative number of micro-batches cannot be run.",
        remedy="Use zero to derive it from gradient accumulation.",
        source=RESOLVE,
        example=Example(
            rejects={"world_size": 8, "pp_microbatches": -1}, instead={"world_size": 8}
        ),
    ),
    Rule(
        id="ep-scope-enum",
        stage="field-sanity",
        requires=one_of(f.ep_scope, f.ep_scope.choices),
        reason="An EP group lives in one NVLink domain or across all of them; nothing else exists.",
        remedy="Use auto, node or global.",
        source=RESOLVE,
        example=Example(rejects={"world_size": 8, "ep_scope": "rack"}, instead={"world_size": 8}),
    ),
    Rule(
        id="ep-buffer-backend-enum",
        stage="field-sanity",
        requires=one_of(f.ep_buffer_backend, f.ep_buffer_backend.choices),
        reason="The dispatcher knows no buffer of this name; checked even where EP is off.",
        remedy="Use auto, elastic or legacy.",
        source=RESOLVE,
        example=Example(
            rejects={"world_size": 8, "ep_buffer_backend": "nccl"}, instead={"world_size": 8}
        ),
    ),
    Rule(
        id="max-concurrent-loading-min",
        stage="field-sanity",
        requires=f.max_concurrent_loading >= 0,
        reason="A negative number of ranks cannot load weights.",
        remedy="Leave it unset, or set a limit that is not negative.",
        source=RESOLVE,
        example=Example(
            rejects={"world_size": 8, "max_concurrent_loading": -1}, instead={"world_size": 8}
        ),
    ),
)

MECHANISMS = (
    Variant(
        exactly("tp cp"),
        "TP and CP would cut the same contiguous rank blocks: partners would need equal tokens "
        "and different chunks at once, and Ulysses would re-split heads that TP already split.",
        "Use EP with TP, or EP with CP.",
    ),
    Variant(
        exactly("etp cp"),
        "Expert-TP partners add their outputs position by position and so need the same tokens, "
        "while CP gives them different chunks; data-parallel rank and size stop matching too.",
        "Drop one of the two.",
    ),
    Variant(
        exactly("tp etp"),
        "Attention sharding and expert sharding would claim one set of ranks along two axes.",
        "Use EP with TP, or expert TP with or without EP.",
    ),
    Variant(
        exactly("ep tp etp"),
        "Attention sharding and expert sharding would claim the same ranks inside the EP group.",
        "Use EP with TP, or EP with expert TP.",
    ),
    Variant(
        exactly("pp tp"),
        "Never run on real nodes, and the norm-gradient hook counts twice when the schedule "
        "switches it off on early micro-batches.",
        "Use PP with EP, or TP without PP.",
    ),
    Variant(
        exactly("pp cp"),
        "The pipeline loss lacks the factor that cancels the CP size, so gradients come out too "
        "small by that factor, silently.",
        "Use one or the other.",
    ),
    Variant(
        exactly("pp ep etp"),
        "The expert-TP backward reduction is model math that cannot be deferred, and interleaves "
        "with the dispatch combine; without EP there is no combine, so PP with expert TP is fine.",
        "Use PP with EP, or PP with expert TP.",
    ),
    Variant(
        exactly("pp ep tp"),
        "The deferred expert sweep wants a one-dimensional EP mesh; EP with TP needs a "
        "two-dimensional one.",
        "Use PP with EP.",
    ),
    Variant(
        exactly("pp ep cp"),
        "The sweep's divisor counts CP ranks as replicas, so gradients come out too small by the "
        "CP size, silently.",
        "Use PP with EP, without CP.",
    ),
)

CAPABILITY_MATRIX = (
    Rule(
        id="axis-set-unsupported",
        stage="capability-matrix",
        requires=all_of(
            *(
                ~all_of(*(active(axis) for axis in AXES if axis.name in core))
                for core in refused_cores()
            )
        ),
        reason="Nobody has compared this combination's gradients with an unsplit reference run.",
        remedy="Keep to a supported set of axes: one axis alone, EP with TP, CP or expert TP, "
        "or PP with EP or expert TP.",
        source=MATRIX,
        example=Example(
            rejects={"world_size": 16, "tp_size": 4, "cp_size": 4},
            instead={"world_size": 16, "ep_size": 8, "cp_size": 4},
        ),
        variants=MECHANISMS,
    ),
)

any_active = any_of(*(active(axis) for axis in AXES))
