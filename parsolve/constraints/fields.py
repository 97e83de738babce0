"""Fields: the named slots of a configuration, with their domains and their spellings.

A field is at once a leaf of the rule language and the single place where its default, its
unit, its command line flag and its framework spellings stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, inf, prod
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, Union

from parsolve.constraints.formula import BoolVariable, Feature, Variable

Role: TypeAlias = Literal["cluster", "knob", "model", "run"]

LARGEST_SIZE = 10**18
"""No integer field takes more than this, positive or negative."""

LARGEST_CLUSTER = 10**9
"""No cluster has more GPUs than this; searches factorise such numbers at once."""

MOST_ENTRIES = 1024
"""Longest list that a field takes; no model has more distinct layers or stages."""


class Misuse(ValueError):  # noqa: N818  (what the user did; the errors are its kinds)
    """Something that the user can mend. The message says what to change."""


class FieldError(Misuse):
    """A value that a field cannot hold. The message names the field and what it takes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Spelling:
    """What every field carries beside its domain.

    ``flag`` is parsolve's command line spelling without dashes, ``launch`` the framework's own
    (empty: the framework takes no such argument), ``also`` are further spellings that files
    and frameworks use, ``about`` is one line with the unit, ``panel`` groups help. ``implied``
    says that leaving it out is an answer, which the framework has a meaning for.
    """

    about: str
    role: Role = "knob"
    panel: str = "Other"
    flag: str = ""
    launch: str = ""
    also: tuple[str, ...] = ()
    implied: bool = False


@dataclass(frozen=True, eq=False)
class Size(Variable, _Spelling):
    """An integer. With ``optional``, null means not given and reads as ``unset`` in formulas.

    A value below ``minimum`` is refused (``below`` adds why), unless the field is
    ``checked``: then it is taken as it is and a rule reports it. ``divides`` names a field
    that every accepted value divides (a claim that the solver proves before it relies on it);
    ``tried`` are the values of a size that a search varies though no cluster bounds it.
    ``zero`` is the word for what 0 means, such as auto. ``env`` names an environment
    variable that the framework takes the value from, and ``ignored`` what stands for a value
    there that the framework ignores: no positive integer.
    """

    default: int | None = 1
    minimum: int = 0
    maximum: int = LARGEST_SIZE
    optional: bool = False
    unset: int = 0
    checked: bool = False
    divides: str = ""
    tried: tuple[int, ...] = ()
    below: str = ""
    zero: str = ""
    env: str = ""
    ignored: int = 0

    @property
    def least(self) -> int:
        """The least value that a formula reads, legal fields assumed."""
        return min(self.unset, self.minimum) if self.optional else self.minimum

    def parse(self, value: object) -> int | None:
        """Return the value as this field holds it, or raise `FieldError`."""
        if type(value) is int and self.minimum <= value <= self.maximum:
            return value
        if value is None and self.optional:
            return None
        if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_SIZE:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            null = " or null" if self.optional else ""
            message = f"{self.name} must be an integer{null}, got {shown(value)}"
            raise FieldError(message)
        if abs(value) > self.maximum:
            message = f"{self.name} is beyond any real size: at most {self.maximum:,}"
            raise FieldError(message)
        if value < self.minimum and not self.checked:
            why = f" ({self.below})" if self.below else ""
            message = f"{self.name} must be at least {self.minimum}, got {value}{why}"
            raise FieldError(message)
        return value


MIB = 2**20
GIB = 2**30

BYTE_UNITS = {
    "": GIB, "gib": GIB, "gi": GIB, "g": GIB, "gb": 10**9, "tib": 2**40, "tb": 10**12,
    "mib": MIB, "mb": 10**6, "b": 1,
}  # fmt: skip
"""Bytes in a unit; a bare number of a GPU's memory means GiB, as vendors' "80 GB" do."""

PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?")
"""A longer exponent would only take ages to multiply out."""

MOST_GIB = 2_000
"""A bare number from here on is in another unit: nvidia-smi prints MiB."""

FEWEST_BYTES = MIB
"""A bare number from here on is a number of bytes: no GPU has a million GiB."""


@dataclass(frozen=True, eq=False)
class Bytes(Size):
    """A number of bytes, given as such or as text with a unit: ``80GiB``, ``80GB``, ``80``."""

    unit: Literal["", "bytes"] = "bytes"

    def parse(self, value: object) -> int | None:
        """Return the bytes, or raise `FieldError`."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = int(value) if FEWEST_BYTES <= abs(value) < inf else str(value)
        if isinstance(value, str):
            size = self._bytes(value)
            if not self.minimum <= size <= self.maximum:
                message = (
                    f"{self.name} is a size from {size_text(self.minimum)} to "
                    f"{size_text(self.maximum)}, got {shown(value)}"
                )
                raise FieldError(message)
            value = size
        return Size.parse(self, value)

    def _bytes(self, text: str) -> int:
        number, unit = text.strip().lower(), ""
        while number and number[-1].isalpha():
            number, unit = number[:-1], number[-1] + unit
        number = number.strip()
        try:
            if unit not in BYTE_UNITS or not PLAIN_NUMBER.fullmatch(number):
                raise ValueError  # noqa: TRY301  (said below)
            exact = Fraction(number)
        except ValueError:  # Python reads no number of more than a few thousand digits
            message = f"{self.name} takes a size such as 80GiB, 80GB or 80 (GiB), got {shown(text)}"
            raise FieldError(message) from None
        is_plain = not unit and exact >= FEWEST_BYTES
        if not unit and MOST_GIB <= exact < FEWEST_BYTES:
            message = f"{self.name}: no GPU has {number} GiB; did you mean {number}MiB?"
            raise FieldError(message)
        return int(exact if is_plain else exact * BYTE_UNITS[unit])


@dataclass(frozen=True, eq=False)
class Flag(BoolVariable, _Spelling):
    """A switch. ``launch_off`` is the framework's argument that switches it off.

    With ``object_or_null`` it takes what a framework may hold instead: null (off) or an
    object, such as an adapter's settings (on).
    """

    default: bool = False
    object_or_null: bool = False
    launch_off: str = ""

    def parse(self, value: object) -> bool:
        """Return the value as this field holds it, or raise `FieldError`."""
        if isinstance(value, bool):
            return value
        if self.object_or_null and (value is None or isinstance(value, dict)):
            return value is not None
        message = f"{self.name} must be true or false, got {shown(value)}"
        raise FieldError(message)


@dataclass(frozen=True, eq=False)
class Choice(Variable, _Spelling):
    """One of a few labels. ``said`` are the framework's words for each, always part of a launch.

    ``aliases`` maps other spellings to a label. ``open`` takes any other text too: the labels
    are those that rules tell apart. ``checked`` says that a rule reports an unknown label, so it is
    taken as it is.
    """

    choices: tuple[str, ...] = ()
    default: str = ""
    aliases: tuple[tuple[str, str], ...] = ()
    open: bool = False
    checked: bool = False
    said: tuple[tuple[str, str], ...] = ()

    def parse(self, value: object) -> str:
        """Return the label, or raise `FieldError` with the nearest legal spelling."""
        if type(value) is int and str(value) in self.choices:
            value = str(value)  # such as a ZeRO stage
        if not isinstance(value, str):
            message = f"{self.name} must be text ({', '.join(self.choices)}), got {shown(value)}"
            raise FieldError(message)
        if value in self.choices or self.checked:
            return value
        for spelling, label in self.aliases:
            if value == spelling:
                return label
        if self.open:
            return value
        message = f"{self.name} has no value {shown(value)}{suggestion(value, self.choices)}"
        raise FieldError(message)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sizes(_Spelling):
    """A list of integers, or null. Formulas read its features, never its entries.

    ``reading`` says how each feature is read: Python over ``entries``, of which there is at
    least one; without entries every feature is 0. ``separator`` stands between entries in text.
    """

    name: str
    default: tuple[Any, ...] | None = None
    minimum: int | None = None
    reading: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "length": "len(entries)",
            "smallest": "min(entries)",
            "largest": "max(entries)",
            "gcd": "gcd(*entries)",
            "product": "prod(entries)",
            "total": "sum(entries)",
        }
    )
    separator: ClassVar[str] = ","

    def written(self, entries: Sequence[Any]) -> str:
        """The entries as one word of a command line."""
        return self.separator.join(map(str, entries))

    def features(self, entries: tuple[Any, ...] | None) -> dict[str, int]:
        """Every feature of a value."""
        if not entries:
            return dict.fromkeys(self.reading, 0)
        scope = {"gcd": gcd, "prod": prod, "entries": entries}
        return {name: eval(source, scope) for name, source in self.reading.items()}  # noqa: S307  (our own text)

    def feature(self, name: str) -> Feature:
        """A feature by its name."""
        return Feature(self.name, name)

    @property
    def length(self) -> Feature:
        """How many entries; 0 if not given."""
        return Feature(self.name, "length")

    @property
    def smallest(self) -> Feature:
        """The least entry; 0 if there is none."""
        return Feature(self.name, "smallest")

    @property
    def largest(self) -> Feature:
        """The greatest entry; 0 if there is none."""
        return Feature(self.name, "largest")

    @property
    def gcd(self) -> Feature:
        """The greatest common divisor of the entries; 0 if there is none.

        A number divides every entry exactly when it divides this.
        """
        return Feature(self.name, "gcd")

    @property
    def product(self) -> Feature:
        """The product of the entries; 0 if there is none."""
        return Feature(self.name, "product")

    @property
    def total(self) -> Feature:
        """The sum of the entries; 0 if there is none."""
        return Feature(self.name, "total")

    def parse(self, value: object) -> tuple[Any, ...] | None:
        """Return the value as this field holds it, or raise `FieldError`."""
        if value is None:
            return None
        entries = list(value) if isinstance(value, (list, tuple)) else [value]
        if not entries:
            message = f"{self.name} must not be empty; leave it out instead"
            raise FieldError(message)
        if len(entries) > MOST_ENTRIES:
            message = f"{self.name} takes at most {MOST_ENTRIES} entries, got {len(entries)}"
            raise FieldError(message)
        numbers: list[int] = []
        for entry in entries:
            if isinstance(entry, bool) or not isinstance(entry, int) or abs(entry) > LARGEST_SIZE:
                message = f"{self.name} must be a list of integers, got {shown(value)}"
                raise FieldError(message)
            if self.minimum is not None and entry < self.minimum:
                message = f"every entry of {self.name} must be at least {self.minimum}, got {entry}"
                raise FieldError(message)
            numbers.append(entry)
        return tuple(numbers)


def gib(size: int) -> str:
    """Bytes as people compare them: ``79.65 GiB``."""
    return f"{size / GIB:.2f} GiB"


def size_text(size: int) -> str:
    """Bytes as an option takes them: ``80GiB``, ``80GB``, or the plain number."""
    for unit, name in ((GIB, "GiB"), (10**9, "GB"), (MIB, "MiB")):
        if size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size}B"


Field: TypeAlias = Union[Size, Flag, Choice, Sizes]  # noqa: UP007


def shown(value: object) -> str:
    """The value as an error message shows it: quoted text, at most 60 characters."""
    try:
        if value is None or isinstance(value, (bool, float)):
            text = json.dumps(value)
        else:
            text = f'"{value}"' if isinstance(value, str) else repr(value)
    except ValueError:  # Python writes no integer of more than a few thousand digits
        return "a number too long to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


def suggestion(word: str, known: tuple[str, ...]) -> str:
    """``: did you mean ...?`` when a known word is close, else the known words."""
    from difflib import get_close_matches  # noqa: PLC0415  (only errors need it)

    close = get_close_matches(word, known, n=1, cutoff=0.6)
    if not close:
        starts = {name[: len(word)]: name for name in reversed(known)}
        close = [starts[start] for start in get_close_matches(word, starts, n=1, cutoff=0.75)]
    if close:
        return f': did you mean "{close[0]}"?'
    return f"; it takes {', '.join(known)}" if len(known) <= 20 else ""
