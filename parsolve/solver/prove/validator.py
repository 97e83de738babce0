"""An imperative validator as formulas: when it accepts, and when it raises what.

The validator is a function of keyword arguments, or a dataclass that checks itself in
``__post_init__``. Its module is imported, so that its constants and helpers are known; the
function itself is executed on symbolic values, see `parsolve.solver.symbolic`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Misuse, suggestion
from parsolve.constraints.profile import Profile
from parsolve.solver.prove.catalogue import Catalogue
from parsolve.solver.symbolic.execute import Exit, Gap, Machine
from parsolve.solver.symbolic.sources import Sources
from parsolve.solver.symbolic.state import State, condition_of
from parsolve.solver.symbolic.values import Condition, Instance, Labels, either


def loaded(name: str) -> Callable[..., Any]:
    """The callable that ``package.module:name`` names; imports the module.

    Raises `Misuse` where there is no such module or callable.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        message = f"--against takes package.module:callable, got {name!r}"
        raise Misuse(message)
    try:
        found: Any = import_module(module_name)
    except ImportError as error:
        message = f"cannot import {module_name}: {error}"
        raise Misuse(message) from error
    except (Exception, SystemExit) as error:
        message = f"importing {module_name} raises {type(error).__name__}: {error}"
        raise Misuse(message) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            message = f"{module_name} has no {attribute}{suggestion(part, tuple(dir(found)))}"
            raise Misuse(message)
        found = getattr(found, part)
    if not callable(found):
        message = f"{name} is no function and no class"
        raise Misuse(message)
    return found  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a validator did with a configuration: nothing, or raise this."""

    raised: BaseException | None
    returned: Any = None

    @property
    def accepted(self) -> bool:
        """Whether it raised nothing."""
        return self.raised is None

    def rule(self, profile: Profile) -> str | None:
        """The rule that the exception names as its first argument, if it names one."""
        arguments = self.raised.args if self.raised else ()
        named = {rule.id for rule in profile.rules}
        first = arguments[0] if arguments else None
        return first if isinstance(first, str) and first in named else None


class Validator:
    """A callable that accepts or raises, given fields under its own names for them."""

    def __init__(
        self,
        function: Callable[..., Any],
        profile: Profile,
        names: Mapping[str, str] | None = None,
        sources: Sources | None = None,
    ) -> None:
        self.function = function
        self.profile = profile
        self.sources = sources
        self.parameters = _parameters(function, profile, names or {})

    def run(self, values: Values) -> Outcome:
        """What the validator really does with a configuration."""
        arguments = {
            parameter: list(value) if isinstance(value := values[index], tuple) else value
            for parameter, index in self._places
        }
        try:
            return Outcome(None, self.function(**arguments))
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # noqa: BLE001  (raising is its verdict)
            return Outcome(raised)

    @cached_property
    def _places(self) -> tuple[tuple[str, int], ...]:
        index = self.profile.index_of
        return tuple((parameter, index[name]) for parameter, name in self.parameters.items())

    @property
    def unread(self) -> tuple[str, ...]:
        """Fields that the validator does not take."""
        taken = set(self.parameters.values())
        return tuple(field.name for field in self.profile.fields if field.name not in taken)


def _parameters(
    function: Callable[..., Any], profile: Profile, names: Mapping[str, str]
) -> dict[str, str]:
    """The validator's parameters, and the field that each one stands for."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        message = f"the parameters of {function!r} cannot be read"
        raise Misuse(message) from error
    found: dict[str, str] = {}
    fields = profile.spellings
    for mapped in names:
        if mapped not in signature.parameters:
            known = tuple(signature.parameters)
            message = f"--map {mapped}=...: no such parameter{suggestion(mapped, known)}"
            raise Misuse(message)
    for parameter in signature.parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            message = f"a validator must name its parameters; this one takes {parameter}"
            raise Misuse(message)
        spelling = names.get(parameter.name, parameter.name)
        if spelling not in fields:
            if parameter.name not in names and parameter.default is not parameter.empty:
                continue
            message = (
                f"parameter {parameter.name} is no field of {profile.name}"
                f"{suggestion(spelling, tuple(fields))}; say which field it is with "
                f"--map {parameter.name}=FIELD"
            )
            raise Misuse(message)
        if fields[spelling] in found.values():
            message = f"two parameters stand for {fields[spelling]}: give it once"
            raise Misuse(message)
        found[parameter.name] = fields[spelling]
    if not found:
        message = f"no parameter is a field of {profile.name}; map some with --map"
        raise Misuse(message)
    return found


class Executed:
    """A validator executed once on unknown inputs, beside the catalogue's formulas."""

    def __init__(self, validator: Validator, catalogue: Catalogue) -> None:
        self.validator = validator
        self.catalogue = catalogue
        labels = Labels()
        labels.numbers = catalogue.encoder.labels
        self.labels = labels
        self.machine = Machine(labels, catalogue.encoder.arithmetic, validator.sources)
        profile = catalogue.profile
        self.arguments = {
            parameter: catalogue.inputs.argument(profile.field_of[name])
            for parameter, name in validator.parameters.items()
        }
        state = State()
        self.returned = self.machine.enter(state, validator.function, self.arguments)
        self.end = state

    @property
    def exits(self) -> Sequence[Exit]:
        """How it raises."""
        return self.machine.exits

    @property
    def gaps(self) -> Sequence[Gap]:
        """What could not be executed."""
        return self.machine.gaps

    @cached_property
    def accepted(self) -> Condition:
        """When it returns."""
        return False if self.end.dead else condition_of(self.end.path)

    @cached_property
    def unknown(self) -> Condition:
        """When it does something that could not be executed."""
        return either(*(gap.condition for gap in self.gaps))

    def raises(self, rule: str) -> Condition:
        """When it raises an exception that names the rule."""
        return either(*(exit_.condition for exit_ in self.exits if self.names(exit_) == rule))

    def names(self, exit_: Exit) -> str | None:
        """The rule that an exit names."""
        first = exit_.arguments[0] if exit_.arguments else None
        known = {rule.id for rule in self.catalogue.profile.rules}
        return first if isinstance(first, str) and first in known else None

    @cached_property
    def names_rules(self) -> bool:
        """Whether every exception that the program itself raises names a rule."""
        stated = [exit_ for exit_ in self.exits if exit_.stated]
        return bool(stated) and all(self.names(exit_) for exit_ in stated)

    def derived(self, name: str) -> Any:  # noqa: ANN401
        """The attribute of what is returned, if it has one of that name.

        An argument that is only kept, such as a dataclass's own field, says nothing.
        """
        held = (
            self.end.objects.get(self.returned.place) if isinstance(self.returned, Instance) else {}
        )
        value = (held or {}).get(name)
        return None if any(value is argument for argument in self.arguments.values()) else value
