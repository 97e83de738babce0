"""`match` statements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from parsolve.solver.symbolic.collect import known_entries, table_of
from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.kinds import described, kind_of
from parsolve.solver.symbolic.lists import is_unknown
from parsolve.solver.symbolic.merge import merged
from parsolve.solver.symbolic.names import bind
from parsolve.solver.symbolic.objects import attribute_or_not
from parsolve.solver.symbolic.operators import compare, truth
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Condition,
    Refused,
    Symbolic,
    Union,
    Unsupported,
    Value,
    both,
    cases,
    either,
    is_concrete,
    opposite,
)

ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional pattern is for the value itself."""


def match_statement(machine: Core, state: State, node: ast.Match) -> None:
    """``match subject``: the first case whose pattern fits and whose guard holds."""
    subject = machine.evaluate(state, node.subject)
    machine.each_case(
        state, cases(subject), lambda here, held: _match(machine, here, held, node.cases)
    )


def _match(machine: Core, state: State, subject: Value, clauses: Iterable[ast.match_case]) -> None:
    ends: list[tuple[State, Value]] = []
    for clause in clauses:
        fit = _Fit(machine)
        test = machine.attempt(state, fit.of, subject, clause.pattern)
        if state.dead:
            break
        taken = state.copy()
        taken.assume(test)
        state.assume(opposite(test))
        if not taken.dead:
            passed = machine.attempt(taken, fit.guarded, clause.guard)
            if not taken.dead:
                failing = taken.copy()
                failing.assume(opposite(passed))
                taken.assume(passed)
                machine.execute(taken, clause.body)
                machine.attempt(state, machine.meet, [(state, None), (failing, None)])
            ends.append((taken, None))
        if state.dead:
            break
    machine.meet(state, [(state, None), *ends])


@dataclass(slots=True)
class _Fit:
    """How a subject fits a pattern, and which names that binds."""

    machine: Core
    names: dict[str, Value] = field(default_factory=dict)

    def guarded(self, state: State, guard: ast.expr | None) -> Condition:
        """Bind the names, and say whether the guard holds."""
        for name, value in self.names.items():
            bind(self.machine, state, name, value)
        if guard is None:
            return True
        return state.settled(truth(self.machine, state, self.machine.evaluate(state, guard)))

    def of(self, state: State, subject: Value, pattern: ast.pattern) -> Condition:
        """When the subject fits."""
        machine = self.machine
        match pattern:
            case ast.MatchValue(value):
                return compare(machine, state, ast.Eq, subject, machine.evaluate(state, value))
            case ast.MatchSingleton(value):
                return compare(machine, state, ast.Is, subject, value)
            case ast.MatchAs(inner, name):
                fits = True if inner is None else self.of(state, subject, inner)
                if name is not None:
                    self.names[name] = subject
                return fits
            case ast.MatchOr(patterns):
                return self._any(state, subject, patterns)
        if isinstance(subject, Union) or is_unknown(subject):
            message = f"the pattern `{ast.unparse(pattern)}` on {described(subject)}"
            raise Unsupported(message)
        match pattern:
            case ast.MatchSequence(patterns):
                return self._sequence(state, subject, patterns)
            case ast.MatchMapping(keys, patterns, None):
                return self._mapping(state, subject, keys, patterns)
            case ast.MatchClass():
                return self._class(state, subject, pattern)
        message = f"the pattern `{ast.unparse(pattern)}`"
        raise Unsupported(message)

    def _any(self, state: State, subject: Value, patterns: Sequence[ast.pattern]) -> Condition:
        found: list[tuple[Condition, dict[str, Value]]] = []
        before = self.names
        for pattern in patterns:
            self.names = {}
            found.append((self.of(state, subject, pattern), self.names))
        *others, (_, last) = found
        for fits, names in reversed(others):
            last = {
                name: merged(self.machine.labels, fits, value, last[name])
                for name, value in names.items()
            }
        self.names = {**before, **last}
        return either(*(fits for fits, _ in found))

    def _all(
        self, state: State, subjects: Sequence[Value], patterns: Sequence[ast.pattern]
    ) -> Condition:
        pairs = zip(subjects, patterns, strict=True)
        return both(*(self.of(state, part, pattern) for part, pattern in pairs))

    def _sequence(self, state: State, subject: Value, patterns: Sequence[ast.pattern]) -> Condition:
        kind = kind_of(subject)
        if kind not in {list, tuple, range}:
            if issubclass(kind, Symbolic) or (
                issubclass(kind, Sequence) and kind not in {str, bytes, bytearray}
            ):
                message = f"a sequence pattern on {described(subject)}"
                raise Unsupported(message)
            return False
        parts = known_entries(state, subject)
        star = next((i for i, each in enumerate(patterns) if isinstance(each, ast.MatchStar)), None)
        if star is None:
            return len(parts) == len(patterns) and self._all(state, parts, patterns)
        after = len(patterns) - star - 1
        if len(parts) < star + after:
            return False
        starred = patterns[star]
        if isinstance(starred, ast.MatchStar) and starred.name is not None:
            middle = parts[star : len(parts) - after]
            self.names[starred.name] = self.machine.made_list(state, ((True, x) for x in middle))
        parts = [*parts[:star], *parts[len(parts) - after :]]
        return self._all(state, parts, [*patterns[:star], *patterns[star + 1 :]])

    def _mapping(
        self,
        state: State,
        subject: Value,
        keys: Sequence[ast.expr],
        patterns: Sequence[ast.pattern],
    ) -> Condition:
        table = table_of(state, subject)
        if table is None:
            if not issubclass(kind_of(subject), (Symbolic, Mapping)):
                return False
            message = f"a mapping pattern on {described(subject)}"
            raise Unsupported(message)
        found = [table.get(self.machine.evaluate(state, key), (False, None)) for key in keys]
        if any(present is False for present, _ in found):
            return False
        values = [value for _, value in found]
        return both(*(p for p, _ in found), self._all(state, values, patterns))

    def _class(self, state: State, subject: Value, pattern: ast.MatchClass) -> Condition:
        kind = self.machine.evaluate(state, pattern.cls)
        own = kind_of(subject)
        if not isinstance(kind, type):
            raise Refused(TypeError)
        if issubclass(own, Symbolic):
            message = f"a class pattern on {described(subject)}"
            raise Unsupported(message)
        if not (isinstance(subject, kind) if is_concrete(subject) else issubclass(own, kind)):
            return False
        if pattern.patterns and kind in ITSELF:
            if len(pattern.patterns) > 1:
                raise Refused(TypeError)
            return both(
                self.of(state, subject, pattern.patterns[0]),
                self._attributes(state, subject, pattern.kwd_attrs, pattern.kwd_patterns),
            )
        names = getattr(kind, "__match_args__", ())
        if len(names) < len(pattern.patterns):
            raise Refused(TypeError)
        names = [*names[: len(pattern.patterns)], *pattern.kwd_attrs]
        return self._attributes(state, subject, names, [*pattern.patterns, *pattern.kwd_patterns])

    def _attributes(
        self,
        state: State,
        subject: Value,
        names: Sequence[str],
        patterns: Sequence[ast.pattern],
    ) -> Condition:
        found: list[Condition] = []
        values: list[Value] = []
        for name in names:
            value, missing = attribute_or_not(self.machine, state, subject, name)
            ends = [(state, (True, value)), *((end, (False, None)) for end in missing)]
            present, value = self.machine.meet(state, ends)
            found.append(present)
            values.append(value)
        return both(*found, self._all(state, values, patterns))
