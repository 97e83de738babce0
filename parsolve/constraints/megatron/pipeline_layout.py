"""Megatron's layout of a pipeline, as text or stage by stage.

Source: megatron/core/transformer/pipeline_parallel_layer_layout.py, parse_str_to_list: commas
mean nothing, ``(...)*n`` repeats what is in the brackets, ``x*n`` one letter, ``|`` ends a
stage. Stages are numbered chunk by chunk: stage ``v * pp + r`` is chunk v of pipeline rank r.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import ClassVar

from parsolve.constraints.fields import MOST_ENTRIES, FieldError, Sizes, shown
from parsolve.constraints.formula import Feature

LETTERS = "EtmL"
"""Embedding, decoder layer, layer of multi-token prediction, loss."""

MOST_LETTERS = 100_000
"""Longer layouts are refused: repeats multiply quickly."""

_GROUP = re.compile(r"\(([^()]+)\)\*([0-9]{1,6})")
_LETTER = re.compile(r"([EtmL|])\*([0-9]{1,6})")


@dataclass(frozen=True, eq=False, kw_only=True)
class PipelineLayout(Sizes):
    """A layout: one text per stage, such as ``("Et", "tt", "tL")``."""

    reading: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "length": "len(entries)",
            "embeddings": "''.join(entries).count('E')",
            "decoders": "''.join(entries).count('t')",
            "mtps": "''.join(entries).count('m')",
            "losses": "''.join(entries).count('L')",
            "starts": "int(''.join(entries).startswith('E'))",
            "ends": "int(''.join(entries).endswith('L'))",
            "late_decoders": "''.join(entries).partition('m')[2].count('t')",
            "mtp_stages": "sum('m' in stage for stage in entries)",
            "first_mtp_stage": "next((i for i, s in enumerate(entries) if 'm' in s), len(entries))",
            "largest": "max(stage.count('t') for stage in entries)",
        }
    )
    separator: ClassVar[str] = "|"

    def written(self, entries: Sequence[str]) -> str:
        """The layout as short as repeats make it: ``Ettt|(t*4|)*14ttL``."""
        text = ""
        for stage, group in groupby(entries[:-1]):
            count = len(list(group))
            one = f"{_short(stage)}|"
            text += min(f"({one})*{count}", one * count, key=len)
        return text + _short(entries[-1])

    def feature(self, name: str) -> Feature:
        """A number that is read off the layout; 0 where there is none."""
        return Feature(self.name, name)

    def parse(self, value: object) -> tuple[str, ...] | None:
        """Return the stages, or raise `FieldError`."""
        if value is None:
            return None
        if isinstance(value, (list, tuple)) and all(isinstance(stage, str) for stage in value):
            value = "|".join(value)
        if not isinstance(value, str):
            message = f"{self.name} takes a text such as Ettt|tttL, got {shown(value)}"
            raise FieldError(message)
        text = self._repeated(value.replace(",", "").replace(" ", ""))
        for letter in text:
            if letter in "()*":
                message = (
                    f"{self.name} has {shown(letter)} outside of a repeat: write (...)*n, brackets "
                    "closed and not nested, or x*n"
                )
                raise FieldError(message)
            if letter not in f"{LETTERS}|":
                message = (
                    f"{self.name} knows the letters E (embedding), t (layer), m (MTP), L (loss), "
                    f'"|", ",", "(...)*n" and "t*n", not {shown(letter)}'
                )
                raise FieldError(message)
        stages = tuple(text.split("|"))
        if len(stages) > MOST_ENTRIES:
            message = f"{self.name} takes at most {MOST_ENTRIES} stages, got {len(stages)}"
            raise FieldError(message)
        return stages

    def _repeated(self, text: str) -> str:
        for pattern in (_GROUP, _LETTER):
            size = len(text) + sum(
                len(found[1]) * int(found[2]) for found in pattern.finditer(text)
            )
            if size > MOST_LETTERS:
                message = f"{self.name} is too long: at most {MOST_LETTERS:,} letters"
                raise FieldError(message)
            text = pattern.sub(lambda found: found[1] * int(found[2]), text)
        return text


def _short(stage: str) -> str:
    runs = ((letter, len(list(group))) for letter, group in groupby(stage))
    return "".join(min(f"{letter}*{count}", letter * count, key=len) for letter, count in runs)
