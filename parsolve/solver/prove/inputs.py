"""A profile's fields as unknowns: any value that makes a question, legal or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd
from typing import Any

import z3

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Choice, Field, Flag, Size, Sizes
from parsolve.constraints.profile import Profile
from parsolve.solver.integers import IntegerEncoder
from parsolve.solver.symbolic.values import Label, Numbers, Union

OTHER = "other"
"""How a label that no rule knows is shown; underscores are added while one knows it."""


class Inputs:
    """Unknown values of a profile's fields, and what is known of them."""

    def __init__(self, profile: Profile, encoder: IntegerEncoder) -> None:
        self.profile = profile
        self.encoder = encoder
        self.axioms: list[z3.BoolRef] = []
        for field in profile.fields:
            self.axioms += self._known(field)
        for check in profile.input_checks:
            self.axioms.append(encoder.formula(check.requires)[0])

    def _known(self, field: Field) -> list[z3.BoolRef]:
        match field:
            case Flag():
                return []
            case Choice():
                return [] if field.checked else self.encoder.legal(field)
            case Size():
                value, absent = z3.Int(field.name), self.absent(field)
                least = -field.maximum if field.checked else field.minimum
                lowest = [value >= least] if least > field.unset or not field.checked else []
                if absent is None:
                    return lowest
                return [
                    z3.Implies(absent, value == field.unset),
                    *(z3.Or(absent, bound) for bound in lowest),
                ]
            case Sizes():
                length, smallest, common = self._features(field)
                _, rest = self.encoder.arithmetic.divided(smallest, common)
                known = [
                    length >= 0,
                    z3.Implies(common >= 1, rest == 0),
                    common >= 0,
                    z3.Implies(length == 0, z3.And(smallest == 0, common == 0)),
                    z3.Implies(z3.And(length > 0, smallest != 0), common >= 1),
                    z3.Implies(length == 1, z3.Or(common == smallest, common == -smallest)),
                    z3.Implies(smallest > 0, common <= smallest),
                ]
                if field.minimum is not None:
                    known.append(z3.Implies(length > 0, smallest >= field.minimum))
                return known

    def absent(self, field: Size) -> z3.BoolRef | None:
        """That an optional size is not given."""
        return z3.Bool(f"{field.name} is None") if field.optional else None

    @staticmethod
    def _features(field: Sizes) -> tuple[z3.ArithRef, z3.ArithRef, z3.ArithRef]:
        length, smallest, gcd = (
            z3.Int(f"{field.name}.{feature}") for feature in ("length", "smallest", "gcd")
        )
        return length, smallest, gcd

    def off_default(self, field: Field) -> list[z3.BoolRef]:
        """That the field is not at its default; nothing of the world, which has none."""
        match field:
            case Size(name=self.profile.world):
                return []
            case Flag(name, default=default):
                return [z3.Not(z3.Bool(name)) if default else z3.Bool(name)]
            case Choice(name, default=default):
                return [z3.Int(name) != self.encoder.label(default)]
            case Size():
                absent = self.absent(field)
                if absent is not None:
                    return [z3.Not(absent)]
                return [z3.Int(field.name) != field.default]
            case Sizes():
                return [z3.Int(f"{field.name}.length") != 0]

    def argument(self, field: Field) -> Any:  # noqa: ANN401
        """The field as a program's argument."""
        match field:
            case Flag():
                return z3.Bool(field.name)
            case Choice():
                return Label(z3.Int(field.name))
            case Size():
                absent = self.absent(field)
                if absent is None:
                    return z3.Int(field.name)
                return Union(((absent, None), (z3.Not(absent), z3.Int(field.name))))
            case Sizes():
                length, smallest, gcd = self._features(field)
                return Union(
                    (
                        (length == 0, None),
                        (z3.Not(length == 0), Numbers(length, smallest, gcd)),
                    )
                )

    def values(self, model: z3.ModelRef) -> Values:
        """The configuration that a model stands for."""
        names = {number: text for text, number in self.encoder.labels.items()}
        return tuple(self._value(model, field, names) for field in self.profile.fields)

    def _value(self, model: z3.ModelRef, field: Field, labels: Mapping[int, str]) -> Any:  # noqa: ANN401
        match field:
            case Flag():
                found = model.eval(z3.Bool(field.name))
                return z3.is_true(found) if _decided(found) else field.default
            case Choice():
                found = model.eval(z3.Int(field.name))
                if not _decided(found):
                    return field.default
                return labels.get(found.as_long()) or unknown_label(labels.values())
            case Size():
                absent = self.absent(field)
                found = model.eval(z3.Int(field.name))
                if absent is not None and (z3.is_true(model.eval(absent)) or not _decided(found)):
                    return None
                return found.as_long() if _decided(found) else field.default
            case Sizes():
                length, smallest, gcd = (
                    model.eval(feature, model_completion=True).as_long()
                    for feature in self._features(field)
                )
                return entries_of(length, smallest, gcd)

    def fixed(self, values: Mapping[str, Any]) -> list[z3.BoolRef]:
        """That the named fields have exactly these values."""
        found: list[z3.BoolRef] = []
        for name, value in values.items():
            field = self.profile.field_of[name]
            match field:
                case Flag():
                    found.append(z3.Bool(name) == z3.BoolVal(value))
                case Choice():
                    found.append(z3.Int(name) == self.encoder.label(value))
                case Size():
                    absent = self.absent(field)
                    if absent is not None:
                        found.append(absent == z3.BoolVal(value is None))
                    found.append(z3.Int(name) == (field.unset if value is None else value))
                case Sizes():
                    entries = value or ()
                    features = (len(entries), min(entries, default=0), gcd(*entries))
                    pairs = zip(self._features(field), features, strict=True)
                    found += [unknown == known for unknown, known in pairs]
        return found

    def exactly(self, values: Values) -> list[z3.BoolRef]:
        """That the configuration is this one."""
        return self.fixed(dict(zip(self.profile.index_of, values, strict=True)))


def unknown_label(known: Iterable[str]) -> str:
    """A text that none of the labels is."""
    text = OTHER
    taken = set(known)
    while text in taken:
        text += "_"
    return text


def entries_of(length: int, smallest: int, gcd: int) -> tuple[int, ...] | None:
    """A list with these features, or one as near as lists come; None for no entries."""
    if length <= 0:
        return None
    step = gcd or abs(smallest) or 1
    return (smallest, *(smallest + step * (place == 0) for place in range(min(length, 1024) - 1)))


def _decided(value: z3.ExprRef) -> bool:
    return bool(z3.is_true(value) or z3.is_false(value) or z3.is_int_value(value))
