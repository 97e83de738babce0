"""Built-in functions that make collections and iterators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from parsolve.solver.symbolic.calls import handled
from parsolve.solver.symbolic.collect import entries, is_ordered, known_entries
from parsolve.solver.symbolic.containers import (
    Body,
    Lazy,
    collection_of,
    each,
    gathered,
    iterator_of,
    rounds,
    with_key,
)
from parsolve.solver.symbolic.core import Core
from parsolve.solver.symbolic.kinds import kind_of
from parsolve.solver.symbolic.lists import Mapped, as_mapped, is_unknown
from parsolve.solver.symbolic.methods import pairs_from
from parsolve.solver.symbolic.operators import truth
from parsolve.solver.symbolic.registry import Handler, Handlers
from parsolve.solver.symbolic.state import State
from parsolve.solver.symbolic.values import (
    Mutable,
    Numbers,
    Opaque,
    Refused,
    Table,
    Unsupported,
    Value,
)

HANDLERS = Handlers()


def _by_case(handler: Handler) -> Handler:
    """The handler, for arguments that may be one of several values."""

    def run(machine: Core, state: State, *arguments: Value, **named: Value) -> Value:
        return machine.lifted(
            state,
            lambda here, *held: handled(machine, here, handler, held, named),
            *arguments,
        )

    return run


def _collects(kind: type) -> Handler:
    def collect(machine: Core, state: State, values: Value = ()) -> Value:
        if is_unknown(values) and kind in {list, tuple}:
            if isinstance(values, Mapped):
                message = f"`{kind.__name__}` of what was made from an unknown list"
                raise Unsupported(message)
            return Numbers(values.length, values.smallest, values.gcd, kind)
        if kind is frozenset and kind_of(values) is frozenset:
            return values
        in_order = kind in {list, tuple}
        found = gathered(machine, state, values, in_order=in_order)
        return collection_of(machine, state, kind, found)

    return collect


for _kind in (tuple, list, set, frozenset):
    HANDLERS[_kind] = _by_case(_collects(_kind))


@HANDLERS.of(dict)
def _dict(machine: Core, state: State, values: Value = (), /, **named: Value) -> Value:
    table = Table({})
    for present, key, held in pairs_from(machine, state, values):
        table = with_key(machine, table, key, held, present)
    for name, held in named.items():
        table = with_key(machine, table, name, held)
    return machine.made(state, dict, table)


@HANDLERS.of(range)
def _range(_machine: Core, _state: State, *_bounds: Value) -> Value:
    message = "a range with unknown bounds"
    raise Unsupported(message)


def _lazily(
    machine: Core, state: State, sources: Sequence[Value], pairs: Callable[[State], Sequence[Value]]
) -> Value:
    """An iterator over what is read off collections when something asks for it."""
    watched = [each for each in sources if isinstance(each, Mutable)]

    def run(here: State, body: Body, *, in_order: bool) -> None:  # noqa: ARG001  (it is known)
        found = [(True, pair) for pair in pairs(here)]
        rounds(machine, here, found, body, watched)

    return machine.made(state, Iterator, Lazy(run))


@HANDLERS.of(zip)
@_by_case
def _zip(machine: Core, state: State, *sources: Value, strict: Value = False) -> Value:
    columns = [_readable(machine, state, each) for each in sources]

    def pairs(here: State) -> list[Value]:
        known = [known_entries(here, each) for each in columns]
        if strict is not False and len({len(each) for each in known}) > 1:
            message = "a strict zip of collections of several lengths"
            raise Unsupported(message)
        return list(zip(*known, strict=False))

    return _lazily(machine, state, columns, pairs)


@HANDLERS.of(enumerate)
@_by_case
def _enumerate(machine: Core, state: State, source: Value, start: Value = 0) -> Value:
    if is_unknown(source):
        mapped = as_mapped(source)
        return Mapped(mapped.member, mapped.present, (Opaque("a place"), mapped.element))
    if type(start) is not int:
        message = "counting from an unknown number"
        raise Unsupported(message)
    readable = _readable(machine, state, source)
    return _lazily(
        machine,
        state,
        [readable],
        lambda here: list(enumerate(known_entries(here, readable), start)),
    )


@HANDLERS.of(reversed)
@_by_case
def _reversed(machine: Core, state: State, source: Value) -> Value:
    if kind_of(source) in {set, frozenset, Iterator}:
        raise Refused(TypeError)
    entries(state, source)
    return _lazily(
        machine, state, [source], lambda here: list(reversed(known_entries(here, source)))
    )


def _readable(machine: Core, state: State, source: Value) -> Value:
    """A collection that can be read more than once: what an iterator has already computed."""
    if isinstance(source, Mutable) and source.kind is Iterator:
        if isinstance(state.held(source.place), Lazy):
            message = "an iterator over an iterator"
            raise Unsupported(message)
        return tuple(value for _, value in gathered(machine, state, source))
    entries(state, source)
    return source


def _check_entries(state: State, source: Value) -> None:
    """Refuse now what has no entries, though they are not read yet."""
    if kind_of(source) is not Iterator:
        entries(state, source)


@HANDLERS.of(map)
def _map(machine: Core, state: State, function: Value, *sources: Value) -> Value:
    if len(sources) != 1:
        message = "`map` over several collections"
        raise Unsupported(message)

    _check_entries(state, sources[0])

    def run(here: State, body: Body, *, in_order: bool) -> None:
        def enter(inner: State, value: Value) -> None:
            body(inner, machine.call(inner, function, (value,)))

        each(machine, here, sources[0], enter, in_order=in_order)

    return machine.made(state, Iterator, Lazy(run))


@HANDLERS.of(filter)
def _filter(machine: Core, state: State, function: Value, source: Value) -> Value:
    _check_entries(state, source)

    def run(here: State, body: Body, *, in_order: bool) -> None:
        def enter(inner: State, value: Value) -> None:
            kept = value if function is None else machine.call(inner, function, (value,))
            machine.when(inner, truth(machine, inner, kept), body, value)

        each(machine, here, source, enter, in_order=in_order)

    return machine.made(state, Iterator, Lazy(run))


@HANDLERS.of(iter)
@_by_case
def _iter(machine: Core, state: State, source: Value) -> Value:
    if isinstance(source, Mutable) and source.kind is Iterator:
        return source

    def run(here: State, body: Body, *, in_order: bool) -> None:
        each(machine, here, source, body, in_order=in_order)

    found = entries(state, source)
    if not isinstance(source, Mutable) and is_ordered(source, found):
        return iterator_of(machine, state, found)
    return machine.made(state, Iterator, Lazy(run))
