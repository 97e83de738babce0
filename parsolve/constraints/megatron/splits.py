"""The ways in which Megatron-Core's options split layers over pipeline ranks and their chunks.

Source: megatron/training/arguments.py, validate_args; megatron/core/transformer/
transformer_config.py, __post_init__.
"""

from collections.abc import Iterator, Mapping

from parsolve.constraints.megatron import fields as f
from parsolve.constraints.profile import Splits

Split = tuple[Mapping[str, object], list[list[int]]]
"""Settings, and the layers of every pipeline rank and chunk that they make."""

_FIRST, _LAST = f.first_stage_layers.name, f.last_stage_layers.name
_EMBEDDING, _LOSS = f.account_for_embedding.name, f.account_for_loss.name


def options(layers: int, ranks: int, chunks: int) -> Iterator[Split]:
    """Every setting that splits so many layers without a layout; simple ones first."""
    for settings, middle in _settings(layers, ranks, chunks):
        counts = [[middle // chunks] * chunks for _ in range(ranks)]
        if _FIRST in settings:
            counts[0] = [settings[_FIRST] // chunks] * chunks
        if _LAST in settings:
            counts[-1] = [settings[_LAST] // chunks] * chunks
        counts[0][0] -= settings.get(_EMBEDDING, 0)
        counts[-1][-1] -= settings.get(_LOSS, 0)
        virtual: dict[str, object] = {f.virtual_stages.name: chunks} if chunks > 1 else {}
        yield {**virtual, **settings}, counts


def _settings(layers: int, ranks: int, chunks: int) -> Iterator[tuple[dict[str, int], int]]:
    """Settings that split the layers, with the layers of a middle rank."""
    even = ranks * chunks
    counted: tuple[dict[str, int], ...] = ({},)
    if ranks > 1:
        counted = ({}, {_LOSS: True}, {_EMBEDDING: True}, {_EMBEDDING: True, _LOSS: True})
    for more in counted:
        if (layers + len(more)) % even == 0:
            yield more, (layers + len(more)) // ranks
    if ranks > 1:
        yield from _ends(layers, ranks, chunks)


def _ends(layers: int, ranks: int, chunks: int) -> Iterator[tuple[dict[str, int], int]]:
    """Layers of the first rank, of the last one, and of both, that leave the rest equal."""
    whole = range(chunks, layers + 1, chunks)
    for name in (_FIRST, _LAST):
        for stated in whole:
            if (middle := _shared(layers - stated, ranks - 1, chunks)) is not None:
                yield {name: stated}, middle
    for first in whole:
        for last in range(chunks, layers - first + 1, chunks):
            if (middle := _shared(layers - first - last, ranks - 2, chunks)) is not None:
                yield {_FIRST: first, _LAST: last}, middle


def _shared(layers: int, ranks: int, chunks: int) -> int | None:
    """Layers of each of so many ranks, if these are equally many and whole chunks."""
    if ranks == 0:
        return None if layers else 0
    return layers // ranks if layers and layers % (ranks * chunks) == 0 else None


SPLITS = Splits(
    options=options,
    layout=f.pipeline_layout.name,
    counts=(_FIRST, _LAST),
    layers=f.num_hidden_layers.name,
    mtp_layers=f.mtp_layers.name,
    ranks=f.pp_size.name,
    chunks=f.virtual_stages.name,
    batch=f.requested_global_batch.name,
)
