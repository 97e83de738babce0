"""Lists of which rules read more than how long they are, their least entry and common divisor.

A layout's text, a list of labels, or a product of entries: Z3 knows each feature as an integer of
its own, and nothing of how they hang together but that an empty list has none. So a proof speaks
of at least all lists. A configuration to show needs a real one: it is looked for among the lists
that the rules' examples have, and those near them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Any

import z3

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import FieldError, Sizes
from parsolve.constraints.formula import features_in
from parsolve.constraints.profile import Profile
from parsolve.solver.integers import IntegerEncoder

UNDERSTOOD = frozenset({"length", "smallest", "gcd"})
"""Features from which `inputs` makes a list."""

LARGEST_PLAIN = 8
"""Numbers up to which lists of one number and of two are among the known ones."""


class Lists:
    """Those fields of a profile, and real lists for them."""

    def __init__(self, profile: Profile, encoder: IntegerEncoder) -> None:
        self.profile = profile
        nodes = [node for rule in profile.rules for node in rule.nodes]
        checks = [check.requires for check in profile.input_checks]
        read = features_in(*nodes, *checks)
        beyond = {name for name, feature in read if feature not in UNDERSTOOD}
        self.features: dict[str, tuple[str, ...]] = {
            name: tuple(sorted({"length", *(f for other, f in read if other == name)}))
            for name in sorted(beyond)
        }
        self._unknown = {
            name: tuple(encoder.integer(f"{name}.{feature}") for feature in features)
            for name, features in self.features.items()
        }
        self._known = {name: self._named(name) for name in self.features}

    @property
    def axioms(self) -> list[z3.BoolRef]:
        """What is known of every list: how long, and that an empty one has no features."""
        found = []
        for name, unknown in self._unknown.items():
            length = unknown[self.features[name].index("length")]
            found.append(length >= 0)
            found.append(z3.Implies(length == 0, z3.And([each == 0 for each in unknown])))
        return found

    @cached_property
    def among(self) -> list[z3.BoolRef]:
        """That every one of these lists is a known one."""
        return [
            z3.Or([_equal(unknown, numbers) for numbers in self._known[name]])
            for name, unknown in self._unknown.items()
        ]

    def real(self, model: z3.ModelRef, values: Values) -> Values:
        """The values with known lists that have the model's features.

        Where none has, a list of numbers is left as near as `inputs` came, and a text left out.
        """
        found = list(values)
        for name, unknown in self._unknown.items():
            numbers = tuple(model.eval(each, model_completion=True).as_long() for each in unknown)
            place = self.profile.index_of[name]
            found[place] = self._known[name].get(numbers, self._taken(name, values[place]))
        return tuple(found)

    def _taken(self, name: str, value: Any) -> Any:  # noqa: ANN401
        try:
            return self.profile.field_of[name].parse(value)
        except FieldError:
            return None

    def fixed(self, values: Mapping[str, Any]) -> list[z3.BoolRef]:
        """That these lists are exactly those."""
        return [
            _equal(self._unknown[name], self._numbers(name, value))
            for name, value in values.items()
        ]

    def near(self, name: str) -> tuple[Any, ...]:
        """Every known list of a field, one of those that rules do not tell apart."""
        return tuple(self._known[name].values())

    def _numbers(self, name: str, value: tuple[Any, ...] | None) -> tuple[int, ...]:
        field = self.profile.field_of[name]
        features = field.features(value) if isinstance(field, Sizes) else {}
        return tuple(features[each] for each in self.features[name])

    def _named(self, name: str) -> dict[tuple[int, ...], Any]:
        """Known lists by their features, simple ones first."""
        field = self.profile.field_of[name]
        shown = [
            self.profile.config(side).values[self.profile.index_of[name]]
            for rule in self.profile.rules
            for side in (rule.example.instead, rule.example.rejects)
        ]
        shown = [None, *dict.fromkeys(filter(None, shown))]
        numbers = range(1, LARGEST_PLAIN + 1)
        plain = [*product(numbers), *product(numbers, numbers)]
        joined = [("".join(each),) for each in shown[1:] if isinstance(each[0], str)]
        changed = [each for entries in (*shown[1:], *joined) for each in _changed(entries)]
        found: dict[tuple[int, ...], Any] = {}
        for entries in (*shown, *plain, *joined, *changed):
            try:
                value: Any = field.parse(entries)
            except FieldError:
                continue
            found.setdefault(self._numbers(name, value), value)
        return found


def _changed(entries: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The list with an entry less or one twice, or a text with a letter less, twice or moved."""
    for place, entry in enumerate(entries):
        before, after = entries[:place], entries[place + 1 :]
        yield (entry,)
        yield (*before, *after)
        yield (*before, entry, entry, *after)
        if isinstance(entry, str):
            for letter in range(len(entry)):
                yield (*before, entry[:letter] + entry[letter + 1 :], *after)
                yield (*before, entry[:letter] + entry[letter] + entry[letter:], *after)
                moved = entry[letter : letter + 2][::-1]
                yield (*before, entry[:letter] + moved + entry[letter + 2 :], *after)


def _equal(unknown: tuple[z3.ArithRef, ...], numbers: tuple[int, ...]) -> z3.BoolRef:
    return z3.And([each == number for each, number in zip(unknown, numbers, strict=True)])
