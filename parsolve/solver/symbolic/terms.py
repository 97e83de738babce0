"""Z3 terms, built where they say something: what is known stays a Python value.

Formulas have one shape each, so that the same statement is the same term: only conjunction and
negation, only ``<=`` and ``==``, and a constant stands on the right. Terms are built through
Z3's C interface, which the Python layer above it makes several times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import z3
from z3 import z3core

from parsolve.solver.decide import SeparateSolver

Condition: TypeAlias = "z3.BoolRef | bool"
Integer: TypeAlias = "z3.ArithRef | int"

Maker: TypeAlias = Callable[..., "z3.Ast"]
"""A function of Z3's C interface that makes a term."""

_CONTEXT = z3.main_ctx()
_C = _CONTEXT.ref()
_OPPOSITES: dict[int, tuple[z3.BoolRef, z3.BoolRef]] = {}
_MOST_OPPOSITES = 1 << 16
_GLANCE = 200_000
"""Z3's steps, which are the same on every computer."""


def key(term: z3.ExprRef) -> int:
    """What tells the term from every other one that is in use: equal terms share it."""
    value: int = term.ast.value
    return value


def opposite(condition: Condition) -> Condition:
    """Negation; the negation of a negation is the condition itself."""
    if isinstance(condition, bool):
        return not condition
    found = _OPPOSITES.get(key(condition))
    if found is not None:
        return found[1]
    if len(_OPPOSITES) > _MOST_OPPOSITES:
        _OPPOSITES.clear()
    denied = condition.arg(0) if z3.is_not(condition) else _truth(z3core.Z3_mk_not, condition)
    _OPPOSITES[key(condition)] = (condition, denied)
    _OPPOSITES[key(denied)] = (denied, condition)
    return denied


def both(*conditions: Condition) -> Condition:
    """Conjunction."""
    unknown: dict[int, z3.BoolRef] = {}
    for condition in conditions:
        if condition is False:
            return False
        if condition is not True:
            known = _OPPOSITES.get(key(condition))
            if known is not None and key(known[1]) in unknown:
                return False
            unknown[key(condition)] = condition
    if not unknown:
        return True
    terms = list(unknown.values())
    if len(terms) == 1:
        return terms[0]
    array = (z3.Ast * len(terms))(*(term.ast for term in terms))
    return z3.BoolRef(z3core.Z3_mk_and(_C, len(terms), array), _CONTEXT)


def either(*conditions: Condition) -> Condition:
    """Disjunction."""
    return opposite(both(*map(opposite, conditions)))


def conjuncts(condition: z3.BoolRef) -> list[z3.BoolRef]:
    """The parts of a conjunction; a list of one for anything else."""
    return condition.children() if z3.is_and(condition) else [condition]


def if_then_else(condition: Condition, then: Condition, other: Condition) -> Condition:
    """``then`` where the condition holds, else ``other``."""
    if isinstance(condition, bool):
        return then if condition else other
    if then is other:
        return then
    if isinstance(then, bool):
        return either(condition, other) if then else both(opposite(condition), other)
    if isinstance(other, bool):
        return either(opposite(condition), then) if other else both(condition, then)
    if key(then) == key(other):
        return then
    return _truth(z3core.Z3_mk_ite, condition, then, other)


def same_truth(a: Condition, b: Condition) -> Condition:
    """Both hold or neither does."""
    if isinstance(a, bool):
        return b if a else opposite(b)
    if isinstance(b, bool):
        return a if b else opposite(a)
    return True if key(a) == key(b) else _truth(z3core.Z3_mk_eq, a, b)


@lru_cache(maxsize=4096)
def _constant(value: int) -> z3.ArithRef:
    return z3.IntVal(value)


def integer(value: Integer) -> z3.ArithRef:
    """The integer as Z3 has it."""
    return _constant(value) if isinstance(value, int) else value


def choose(condition: z3.BoolRef, then: Integer, other: Integer) -> z3.ArithRef:
    """The one integer where the condition holds, else the other."""
    return _number(z3core.Z3_mk_ite, condition, integer(then), integer(other))


def equal(a: Integer, b: Integer) -> Condition:
    """``a == b``."""
    if isinstance(a, int):
        if isinstance(b, int):
            return a == b
        a, b = b, a
    if isinstance(b, int):
        return _truth(z3core.Z3_mk_eq, a, _constant(b))
    return True if key(a) == key(b) else _truth(z3core.Z3_mk_eq, a, b)


def at_most(a: Integer, b: Integer) -> Condition:
    """``a <= b``."""
    if isinstance(a, int):
        return a <= b if isinstance(b, int) else opposite(at_most(b, a - 1))
    if isinstance(b, int):
        return _truth(z3core.Z3_mk_le, a, _constant(b))
    return True if key(a) == key(b) else _truth(z3core.Z3_mk_le, a, b)


def less(a: Integer, b: Integer) -> Condition:
    """``a < b``."""
    return opposite(at_most(b, a))


def plus(a: Integer, b: Integer) -> Integer:
    """``a + b``."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int) or isinstance(b, int):
        term, constant = (b, a) if isinstance(a, int) else (a, b)
        return _sum(z3core.Z3_mk_add, term, _constant(constant)) if constant else term
    return _sum(z3core.Z3_mk_add, a, b)


def minus(a: Integer, b: Integer) -> Integer:
    """``a - b``."""
    if isinstance(b, int):
        return plus(a, -b)
    return _sum(z3core.Z3_mk_sub, integer(a), b)


def times(a: z3.ArithRef, factor: int) -> Integer:
    """A multiple of an unknown integer."""
    if factor in {0, 1}:
        return a if factor else 0
    return _sum(z3core.Z3_mk_mul, a, _constant(factor))


def is_impossible(condition: Condition) -> bool:
    """Whether the condition never holds, as far as Z3 sees at a glance."""
    if isinstance(condition, bool):
        return not condition
    solver = SeparateSolver(z3.SolverFor, "QF_UFLIA")
    solver.set("rlimit", _GLANCE)
    solver.add(condition)
    return bool(solver.check() == z3.unsat)


def plain(term: z3.ExprRef) -> z3.ExprRef | bool | int:
    """A Python value where the term is a constant."""
    if z3.is_true(term) or z3.is_false(term):
        return z3.is_true(term)
    return term.as_long() if z3.is_int_value(term) else term


def _truth(make: Maker, *terms: z3.ExprRef) -> z3.BoolRef:
    return z3.BoolRef(make(_C, *(term.ast for term in terms)), _CONTEXT)


def _number(make: Maker, *terms: z3.ExprRef) -> z3.ArithRef:
    return z3.ArithRef(make(_C, *(term.ast for term in terms)), _CONTEXT)


def _sum(make: Maker, *terms: z3.ExprRef) -> z3.ArithRef:
    array = (z3.Ast * len(terms))(*(term.ast for term in terms))
    return z3.ArithRef(make(_C, len(terms), array), _CONTEXT)
